"""`Tracer` and `symbolic_trace`: run a program on proxies and keep what it did.

    >>> import weft
    >>> gm = weft.symbolic_trace(lambda x, y=2: weft.relu(x) + y)
    >>> print(gm.code)
    def forward(self, x, y = 2):
        relu = weft.relu(x);  x = None
        add = relu + y;  relu = y = None
        return add
    <BLANKLINE>

Nothing is patched while tracing: modules ask the current tracer (a context variable) what to do, ops ask their
arguments. So any number of threads trace at the same time.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from weft import _where
from weft._collector import paused_collector
from weft._frames import without_frames
from weft._module import Module
from weft._tracing import current_tracer
from weft.autograd import Tensor
from weft.capture._callables import check_callable, check_gives_at_once, class_name, no_source
from weft.capture._constants import Constants
from weft.capture._placeholders import PH, annotation_of, is_free, placeholders_for, prepare_call
from weft.capture._proxy import ParameterProxy, Proxy
from weft.capture._tracer_base import TracerBase
from weft.capture._wrap import wrap_later_names
from weft.errors import TraceError
from weft.graph import Graph, GraphModule, Node

__all__ = ["PH", "Tracer", "symbolic_trace"]

_ARRAYS = (np.ndarray, Tensor)


class Tracer(TracerBase):
    """Records a module or function symbolically. Override its methods to change what is recorded and how.

    With `param_shapes_constant` the shape of a parameter is a plain tuple, on which the program may branch. Functions
    to be kept whole are marked with `wrap`: `autowrap_functions` would need patching of other modules, and is refused.
    """

    param_shapes_constant: bool = False

    def __init__(
        self,
        autowrap_modules: tuple[Any, ...] = (),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        # `math` is what torch.fx wraps by default; here its functions refuse a traced value with an error of their own.
        patched = [m.__name__ for m in autowrap_modules if m is not math] + [f.__name__ for f in autowrap_functions]
        if patched:
            raise TraceError(
                f"{', '.join(patched)} cannot be wrapped by a tracer: nothing is patched while tracing",
                help="mark the functions with weft.wrap",
            )
        self.param_shapes_constant = param_shapes_constant
        self.root: Any = None
        self._paths: dict[int, str] = {}
        self._parameters: dict[int, str] | None = None
        self._arrays: dict[int, str] | None = None
        self._parameter_proxies: dict[str, Proxy] = {}
        self._constants, self._held = Constants(), Constants()  # arrays the program closes over, those of the root
        self._fresh: dict[str, int] = {}

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Run `root` on proxies and return the graph of what it did.

        `concrete_args` fixes parameters to values by name, and gives structure to nested inputs: a pytree with `PH` at
        the leaves that stay inputs, for `*args` a tuple and for `**kwargs` a dict. What was fixed in a GraphModule
        stays fixed when that is traced again.
        """
        wrap_later_names()
        if isinstance(root, Module) and root._fixed_when_traced:
            parameters = inspect.signature(root.forward).parameters
            fixed = {name: parameters[name].default for name in root._fixed_when_traced}
            concrete_args = {**fixed, **(concrete_args or {})}
        if isinstance(root, GraphModule) and root.graph.signature is not None:
            concrete_args = {**root.graph.signature.concrete(PH), **(concrete_args or {})}
        function = self._start(root)
        self.graph = Graph(tracer_cls=type(self))
        token = current_tracer.set(self)
        self._boundary = sys._getframe()
        try:
            arguments, signature = placeholders_for(self, function, concrete_args)
            run, args, kwargs = self._call_of(function, arguments)
            with paused_collector():
                output = self.create_arg(run(*args, **kwargs))
            self._check()
            self.create_node("output", "output", (output,), {}, None, annotation_of(signature.return_annotation))
            self._place_ends(function)
        except Exception as error:  # noted, and raised again
            refused = self._refused
            if refused is not None and not isinstance(error, TraceError):
                if isinstance(error, (TypeError, ValueError)) and refused.where == _where.line_of(error):
                    raise refused from None  # compiled code that asked the proxy has put a text of its own in its place
                error.add_note(f"before that: {refused}")
            raise
        finally:
            self._boundary = self._outer = self._module_stack = None
            current_tracer.reset(token)
        return self.graph

    def _start(self, root: Any) -> Callable[..., Any]:
        """Note what `root` holds, and return the function to run."""
        function: Callable[..., Any]
        if isinstance(root, Module):
            forward = getattr(type(root), self.traced_func_name, None)
            if forward is None:
                raise TraceError(f"{type(root).__name__} has no method {self.traced_func_name!r} to trace")
            # A `forward` given to this one module is the one its calls run.
            self.root, function = root, root.__dict__.get(self.traced_func_name, forward)
        else:
            check_callable("symbolic_trace", root)
            if isinstance(root, np.ufunc) or (isinstance(root, type) and issubclass(root, Module)):
                raise no_source(root, TraceError)
            check_gives_at_once(root)
            self.root, function = Module(), root
        self._paths, self._parameters, self._arrays = {}, None, None
        for path, module in self.root.named_modules():
            self._paths[id(module)] = path
        self._parameter_proxies, self._fresh = {}, {}
        self._constants, self._held = Constants(), Constants()
        self._refused = self._wrote = None
        own = [cls for cls in type(self).__mro__ if not cls.__module__.startswith("weft.") and cls is not object]
        self._own_code = frozenset(
            id(value.__code__) for cls in own for value in vars(cls).values() if isinstance(value, FunctionType)
        )
        return function

    def _call_of(self, function: Callable[..., Any], arguments: Any) -> Any:
        """What to call, and with what; hooks of the root are part of what its call does."""
        receiver = None if is_free(self, function) else self.root
        run, args, kwargs = prepare_call(function, arguments, receiver)
        hooked = self.root._forward_hooks or self.root._forward_pre_hooks
        if not hooked or self.traced_func_name != "forward":
            return run, args, kwargs
        if run is not function:
            raise TraceError(
                f"{type(self.root).__name__} has hooks and takes *args or **kwargs: what to give the hooks is unknown",
                help="take the hooks off, or name the parameters of forward",
            )
        return self.root._call, args if receiver is None else args[1:], kwargs

    def _check(self) -> None:
        """Refuse a program that ran to its end, but not as it would have run on values."""
        if self._refused is not None:
            raise TraceError(
                f"{self._refused.message}; the program caught this error and went on, as it might not on a value",
                where=self._refused.where,
                help=self._refused.help,
            )
        self.graph.constants.update(self._constants.changed())
        if held := list(self._held.changed()):
            raise TraceError(
                f"{held[0]} is an array of the module that the program used and then changed; symbolic tracing records "
                "no writes",
                help="compute a new array instead of changing this one",
            )

    def _place_ends(self, function: Any) -> None:
        """Inputs are written where the function is defined, the output at its `return`."""
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is None or not self.record_stack_traces:
            return
        for node in itertools.takewhile(lambda node: node.op == "placeholder", self.graph.nodes):
            node._position = (code, 0, None)
        self.graph.output_node()._position = (code, _where.return_offset(code), None)

    # Rules a subclass may change

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module becomes one `call_module` node; by default those of `weft.nn`, containers excepted."""
        return m.__module__.startswith("weft.nn") and not m._is_container

    def path_of_module(self, mod: Module) -> str:
        """The name of a module in the root; its first one where it has several."""
        try:
            return self._paths[id(mod)]
        except KeyError:
            raise NameError(
                f"module {type(mod).__name__} is called but is not a submodule of the traced root: make it an attribute"
            ) from None

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called for every module call: records a leaf; traces into others, and into those the root does not hold."""
        try:
            path = self.path_of_module(m)
        except NameError:
            path = type(m).__name__
        else:
            if self.is_leaf_module(m, path) and self._inner is None:  # bodies of control flow hold no modules
                outside, self._module_stack = self._module_stack, {**(self._module_stack or {}), path: type(m)}
                try:
                    return self.create_proxy("call_module", path, args, kwargs)
                finally:
                    self._module_stack = outside
        saved = self._boundary, self._outer, self._module_stack
        self._outer = self._position(sys._getframe(1))
        self._boundary = sys._getframe()
        self._module_stack = {**(self._module_stack or {}), path: type(m)}
        try:
            return forward(*args, **kwargs)
        finally:
            self._boundary, self._outer, self._module_stack = saved

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """Called when the program reads a parameter of a module: gives the proxy that stands for it."""
        path = self._parameter_paths().get(id(attr_val))
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            own = (lambda node: ParameterProxy(node, self, attr_val)) if self.param_shapes_constant else None
            parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=own)
        return parameter_proxy_cache[path]

    def module_getattr(self, module: Module, name: str, value: Any) -> Any:
        """Called by `Module` for every read of a parameter, buffer or submodule."""
        if isinstance(value, Module):
            return value
        if self.proxy_buffer_attributes and not getattr(type(value), "_is_parameter", False):
            path = self._array_paths().get(id(value))
            return value if path is None else self.create_proxy("get_attr", path, (), {})
        return self.getattr(name, value, self._parameter_proxies)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name of the root that nothing has yet: prefix0, prefix1 and so on."""
        number = self._fresh.get(prefix, 0)
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._fresh[prefix] = number + 1
        return f"{prefix}{number}"

    def to_hash(self, obj: Proxy) -> int:
        """Called where Python looks a proxy up in a dict or set: it would not be found by its value."""
        if current_tracer.get() is self:
            self.refuse(obj, "hash")
        return super().to_hash(obj)

    # Arrays that the program closes over

    def array_arg(self, array: Any) -> Node:
        """A `get_attr` of where the array lives in the root, or of a constant kept with the graph."""
        path = self._parameter_paths().get(id(array)) or self._array_paths().get(id(array))
        if path is None:
            path = self._constants.name(array, lambda: self.get_fresh_qualname("_tensor_constant"))
            self.graph.constants.setdefault(path, array)
        else:
            self._held.note(path, array)
        node: Node = self.create_proxy("get_attr", path, (), {}).node
        return node

    def _parameter_paths(self) -> dict[int, str]:
        """Where the parameters of the root live, by identity; worked out when the first one is met."""
        if self._parameters is None:
            self._parameters = {id(p): path for path, p in self.root._named("_parameters", "", True, True)}
        return self._parameters

    def _array_paths(self) -> dict[int, str]:
        """Where the arrays of the root live, by identity; worked out when the first one is met."""
        if self._arrays is None:
            self._arrays = {}
            for path, module in self.root.named_modules():
                named = {**vars(module), **module._buffers}
                for name, value in named.items():
                    if isinstance(value, _ARRAYS):
                        self._arrays.setdefault(id(value), f"{path}.{name}" if path else name)
        return self._arrays


@without_frames
def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Record a module or function as a GraphModule, without inputs.

    >>> import weft
    >>> gm = symbolic_trace(lambda x: weft.sin(x) * 2)
    >>> float(gm(0.0))
    0.0
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    return GraphModule(tracer.root, graph, class_name(root))
