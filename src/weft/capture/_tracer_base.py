"""`TracerBase`: turns what happens to proxies into nodes, and notes where in the program it happened."""

from __future__ import annotations

import dataclasses
import enum
import operator
import re
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FrameType, FunctionType
from typing import Any, NoReturn

import numpy as np

from weft import _where, pytree
from weft.autograd import Tensor
from weft.capture._proxy import Attribute, Proxy
from weft.errors import TraceError
from weft.graph import Graph, Node
from weft.graph._arguments import ImmutableDict, ImmutableList
from weft.ops import Op, Spec
from weft.random import Generator

_NUMPY_FUNCTION = type(np.sum)  # np.sum and most others are no plain Python functions
_CONSTANTS = frozenset({int, float, bool, str, complex, bytes, type(None), type(...), type, np.dtype, range})

_WHY = {
    "bool": ("a branch on a traced value", "symbolic tracing has no value to decide by: it records one path only"),
    "len": ("len() of a traced value", "symbolic tracing does not know sizes"),
    "iter": ("a loop over a traced value", "symbolic tracing does not know how many items there are"),
    "keys": ("** of a traced value", "symbolic tracing does not know the keys"),
    "int": ("int() of a traced value", "symbolic tracing has no value to convert"),
    "float": ("float() of a traced value", "symbolic tracing has no value to convert"),
    "complex": ("complex() of a traced value", "symbolic tracing has no value to convert"),
    "index": ("a traced value used as an index or a count", "Python needs the number itself here"),
    "in": ("`in` on a traced value", "symbolic tracing has no value to search"),
    "array": ("a traced value converted to a NumPy array", "symbolic tracing has no value to convert"),
    "setitem": ("item assignment on a traced value", "symbolic tracing records no writes"),
    "hash": ("a traced value as a key of a dict or a member of a set", "symbolic tracing has no value to look up"),
    "delitem": ("item deletion on a traced value", "symbolic tracing records no writes"),
}
_CONTAINERS = (tuple, list, dict, ImmutableList, ImmutableDict)
_NUMBER = "mark the function that needs the number with weft.wrap: it is then called when the graph runs"
_HELP = {
    "bool": "choose with weft.where(condition, a, b), write & | ~ for and, or, not; or fix it with concrete_args",
    "len": "use x.shape[0], which is recorded, or mark len with weft.wrap('len')",
    "iter": "unpack a known number of items (a, b = x), index them, or mark the function that loops with weft.wrap",
    "keys": "read the keys you need (kwargs['scale'])",
    "int": _NUMBER,
    "float": _NUMBER,
    "complex": _NUMBER,
    "index": _NUMBER,
    "in": "write (x == item).any(), which is recorded",
    "hash": "index a list or an array with it, or mark the function that looks it up with weft.wrap",
    "array": "use x as it is, weft.asarray([x, y]), or weft's own function for it; or mark yours with weft.wrap",
    "setitem": "use weft.where(condition, a, b) or weft.index_update(x, key, value), which give a new array",
}
_HELP["delitem"] = _HELP["setitem"]
_SIZES = (
    "weft.zeros(x.shape), weft.ones, weft.full and weft.arange take traced sizes and are recorded; NumPy's functions "
    "need the numbers"
)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, np.ufunc, _NUMPY_FUNCTION, Op)
_KEPT = (np.generic, np.dtype, type, enum.Enum, Spec, Generator, Graph, *_FUNCTIONS)


class TracerBase:
    """Records calls on proxies into `graph`."""

    graph: Graph
    root: Any = None
    record_stack_traces: bool = True
    proxy_buffer_attributes: bool = False
    trace_asserts: bool = False
    traced_func_name: str = "forward"

    _boundary: FrameType | None = None  # frames from here outwards are described by _outer
    _outer: _where.Position | None = None  # where the module now being traced was called
    _module_stack: dict[str, Any] | None = None
    _wrote: Node | None = None  # the latest call that may have changed an object the program holds
    _refused: TraceError | None = None  # the first thing that was refused, in case the program catches the error
    _inner: Any = None  # the tracer of the body of control flow that is being recorded, which gets everything meanwhile
    _own_arguments = False  # whether a subclass has its own create_arg
    _own_code: frozenset[int] = frozenset()  # ids of code objects of the user's tracer itself, which is not the program

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._own_arguments = cls.create_arg is not TracerBase.create_arg

    def create_node(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Insert a node; every recorded node passes here."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self._module_stack:
            node._meta = {"nn_module_stack": self._module_stack}
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy that stands for a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:
        """Record a call and return the proxy of its result."""
        if self._inner is not None:
            return self._inner.create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        create_arg, graph = self.create_arg, self.graph
        if self._own_arguments:
            node_args = tuple([create_arg(a) for a in args])
        else:  # what create_arg does for most arguments, without calling it
            node_args = tuple(
                [
                    a.node
                    if type(a) is Proxy and a.node.graph is graph
                    else a
                    if type(a) in _CONSTANTS
                    else create_arg(a)
                    for a in args
                ]
            )
        node_kwargs = {key: create_arg(value) for key, value in kwargs.items()} if kwargs else kwargs
        node = self.create_node(kind, target, node_args, node_kwargs, name, type_expr)
        if self.record_stack_traces:
            node._position = self._position(sys._getframe(1))
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call of a function and return the proxy of its result."""
        return self.create_proxy("call_function", function, args, kwargs)

    def create_arg(self, a: Any) -> Any:
        """What a value becomes as an argument of a node: a node, a constant, or a container of them."""
        kind = type(a)
        if kind is Proxy or kind is Attribute:
            return self._node_of(a)
        if kind in _CONSTANTS:
            return a
        if isinstance(a, Proxy):
            return self._node_of(a)
        if isinstance(a, Node):
            return a
        if isinstance(a, (np.ndarray, Tensor)):
            return self.array_arg(a)
        if isinstance(a, (tuple, list, dict)):
            return self._container_arg(a)
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, _KEPT):
            return a
        own = getattr(type(a), "__fx_create_arg__", None)
        if own is not None:
            return own(a, self)
        if dataclasses.is_dataclass(a):
            return self._dataclass_arg(a)
        raise _no_argument(a)

    def array_arg(self, array: Any) -> Node:
        """What an array becomes as an argument: a read of a constant kept with the graph."""
        path = f"_tensor_constant{len(self.graph.constants)}"
        self.graph.constants[path] = array
        if self.graph.owning_module is not None:
            setattr(self.graph.owning_module, path, array)
        return self.create_node("get_attr", path, (), {})

    def _container_arg(self, a: Any) -> Any:
        kind = type(a)
        plain: Any
        if isinstance(a, dict):
            plain = self._dict_arg(a)
        else:
            parts = [self.create_arg(part) for part in a]
            if hasattr(a, "_fields"):
                return kind(*parts)
            plain = tuple(parts) if isinstance(a, tuple) else parts
        if kind in _CONTAINERS:
            return plain
        if isinstance(a, defaultdict):
            return self.create_node("call_function", kind, (self.create_arg(a.default_factory), plain), {})
        # A class of its own, whose objects are nothing but what they contain, makes another of the same contents.
        base: Any = next(cls for cls in (tuple, list, OrderedDict, Counter, dict) if isinstance(a, cls))
        if kind.__new__ is not base.__new__ or kind.__init__ is not base.__init__ or getattr(a, "__dict__", None):
            raise _no_argument(a)
        return self.create_node("call_function", kind, (plain,), {})

    def _dataclass_arg(self, a: Any) -> Any:
        fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a) if hasattr(a, f.name)}
        if pytree.made_of_fields(a):
            return self.create_node("call_function", type(a), (), fields)
        # Its constructor has run on the proxies, and must not run again on what it made of them.
        rest = {name: value for name, value in getattr(a, "__dict__", {}).items() if name not in fields}
        if any(isinstance(leaf, Proxy) for leaf in pytree.leaves_of(rest)):
            raise _no_argument(a)
        return pytree.build(type(a), **rest, **fields)

    def _dict_arg(self, a: dict[Any, Any]) -> dict[Any, Any]:
        if any(isinstance(key, Proxy) for key in a):
            raise TraceError(
                "a traced value cannot be a key of a dict", where=_where.user_line(), help="use it as a value"
            )
        return {key: self.create_arg(value) for key, value in a.items()}

    def _node_of(self, proxy: Proxy) -> Node:
        if proxy.node.graph is not self.graph:
            raise TraceError(
                f"{proxy.node.name} belongs to another trace",
                where=_where.user_line(),
                help="values of an outer trace cannot enter an inner one: pass them as arguments",
            )
        return proxy.node

    # What the value of a proxy would be needed for

    def undo_point(self) -> Callable[[], None]:
        """What takes back, later, the effects recorded from now on: a loop was begun as Python and is then recorded."""
        tracer = self
        while tracer._inner is not None:
            tracer = tracer._inner
        graph, last = tracer.graph, tracer.graph._root.prev

        def undo() -> None:
            doomed: dict[Node, None] = {}  # effects, and what reads their results; the rest is harmless
            node = last.next
            while node is not graph._root:
                effect = node.op != "placeholder" and node.is_impure()
                if effect or any(read in doomed for read in node._input_nodes):
                    doomed[node] = None
                node = node.next
            for node in reversed(doomed):
                if not node.users:
                    graph.erase_node(node)

        return undo

    def to_bool(self, obj: Proxy) -> bool:
        """Called where Python branches on a proxy; a tracer may answer instead of raising."""
        self.refuse(obj, "bool")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where Python iterates over a proxy; unpacking into a known number of names is recorded."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _where.is_internal(frame):
            frame = frame.f_back
        count = None if frame is None else _where.unpack_count(frame)
        if count is None:
            self.refuse(obj, "iter")
        return iter([obj[i] for i in range(count)])  # type: ignore[index]  # Proxy gets __getitem__ by a loop

    def to_hash(self, obj: Proxy) -> int:
        """Called where a proxy is put into a dict or set, or looked up there: by identity, unless a tracer refuses."""
        return object.__hash__(obj)

    def keys(self, obj: Proxy) -> Any:
        """Called where Python unpacks a proxy with **."""
        self.refuse(obj, "keys")

    def refuse(self, obj: Proxy, why: str) -> NoReturn:
        """Raise the error that explains what cannot be recorded, and what to do."""
        what, reason = _WHY[why]
        where = _where.user_line()
        called = re.match(r"(?:np|numpy)(?:\.\w+)+", _marked(where or "")) if _is_size(obj) else None
        if called is not None:
            what, reason = f"{called[0]} with a traced size", "NumPy needs the number itself"
        instead = _HELP[why] if called is None else _SIZES
        help = f"{instead}; weft.script captures branches, loops and writes from source"
        raise TraceError(f"{what} cannot be recorded: {reason}", where=where, help=help)

    def _position(self, frame: FrameType) -> _where.Position | None:
        own = self._own_code
        if own:
            while id(frame.f_code) in own or _where.is_internal(frame):
                if frame.f_back is None:
                    return self._outer
                frame = frame.f_back
        return _where.capture(frame, self._boundary, self._outer)


def _marked(where: str) -> str:
    """The part of a line that the carets under it mark."""
    *_, text, carets = ("", "", *where.splitlines())
    return text[carets.find("^") : carets.rfind("^") + 1] if "^" in carets else ""


def _is_size(obj: Proxy) -> bool:
    """Whether a proxy stands for the shape of an array, or a size of it."""
    node = obj.node
    if node.target is operator.getitem and isinstance(node.args[0], Node):
        node = node.args[0]
    return node.target is getattr and node.args[1] in ("shape", "size", "ndim")


def _no_argument(a: Any) -> TraceError:
    kind = type(a)
    return TraceError(
        f"a value of type {kind.__module__}.{kind.__qualname__} cannot be an argument or a result in a graph",
        where=_where.user_line(),
        help="use numbers, strings, arrays, dtypes and containers of them, or mark the function with weft.wrap",
    )


class GraphAppendingTracer(TracerBase):
    """Records at a graph's insertion point: for editing a graph by computing with `Proxy(node)`."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.record_stack_traces = False
