"""`Proxy`: a stand-in for a value that records what is done to it.

Operators become `call_function` nodes of `operator.*`, methods become `call_method`, attributes become `getattr`, weft
ops and NumPy functions become `call_function` of the op. What would need the value itself (a branch, a length, a loop)
raises, with the line it happened on.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy, deepcopy
from types import NotImplementedType
from typing import TYPE_CHECKING, Any

from weft.capture import _numpy
from weft.errors import TraceError
from weft.graph import Node
from weft.ops import Op

if TYPE_CHECKING:
    from weft.capture._tracer_base import TracerBase


class Proxy:
    """Stands for the value of a node while a program is recorded, or while a graph is edited by writing Python."""

    __slots__ = ("__weakref__", "node", "tracer")
    __weft_priority__ = 100
    _is_proxy = True  # so that a graph can tell, which knows no class of this room

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            from weft.capture._tracer_base import GraphAppendingTracer

            tracer = GraphAppendingTracer(node.graph)
        self.node = node
        self.tracer = tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    # What can be recorded

    def __weft_op__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(op, Op):
            op.bind(args, kwargs)  # a wrong keyword fails here, on its line, rather than when the graph runs
        return self.tracer.create_proxy("call_function", op, args, kwargs)

    def __weft_control__(self, primitive: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from weft.capture._control import control  # only a program with control flow needs it

        return control(self, primitive, args, kwargs)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        target, inputs, kwargs = _numpy.ufunc_call(ufunc, method, inputs, kwargs)
        return self.tracer.create_proxy("call_function", target, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target, args, kwargs = _numpy.function_call(function, args, kwargs)
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def __getattr__(self, name: str) -> Attribute:
        # NumPy, copy and pickle ask objects for special names; answering them with a node would record nonsense.
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __round__(self, *digits: Any) -> Any:
        return self.tracer.create_proxy("call_function", round, (self, *digits), _NO_KWARGS)

    def __floor__(self) -> Any:
        return self.tracer.create_proxy("call_function", math.floor, (self,), _NO_KWARGS)

    def __ceil__(self) -> Any:
        return self.tracer.create_proxy("call_function", math.ceil, (self,), _NO_KWARGS)

    def __trunc__(self) -> Any:
        return self.tracer.create_proxy("call_function", math.trunc, (self,), _NO_KWARGS)

    def __pow__(self, other: Any, *modulus: Any) -> Any:
        function = pow if modulus else operator.pow
        return self.tracer.create_proxy("call_function", function, (self, other, *modulus), _NO_KWARGS)

    def __copy__(self) -> Any:
        return self.tracer.create_proxy("call_function", copy, (self,), _NO_KWARGS)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.tracer.create_proxy("call_function", deepcopy, (self,), _NO_KWARGS)

    def __iter__(self) -> Any:
        return self._ask("iter")

    def keys(self) -> Any:
        """Called by Python for `**proxy`."""
        return self._ask("keys")

    # What needs the value

    def _ask(self, question: str, *why: str) -> Any:
        """The tracer's answer. Its refusal is noted, in case the program catches the error and goes on."""
        try:
            return getattr(self.tracer, question)(self, *why)
        except TraceError as error:
            self.tracer._refused = self.tracer._refused or error
            raise

    def __bool__(self) -> Any:
        return self._ask("to_bool")

    def __len__(self) -> Any:
        return self._ask("refuse", "len")

    def __index__(self) -> Any:
        return self._ask("refuse", "index")

    def __int__(self) -> Any:
        return self._ask("refuse", "int")

    def __float__(self) -> Any:
        return self._ask("refuse", "float")

    def __complex__(self) -> Any:
        return self._ask("refuse", "complex")

    def __hash__(self) -> Any:
        return self._ask("to_hash")

    def __contains__(self, item: object) -> Any:
        return self._ask("refuse", "in")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("refuse", "array")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._ask("refuse", "setitem")

    def __delitem__(self, key: Any) -> None:
        self._ask("refuse", "delitem")


class Attribute(Proxy):
    """`proxy.name`: becomes a method call when it is called, and a `getattr` node when it is used as a value."""

    __slots__ = ("_last", "_node", "_position", "attr", "root")

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = tracer = root.tracer
        self._node: Node | None = None
        self._last = tracer.graph._root.prev
        self._position = tracer._position(sys._getframe(1)) if tracer.record_stack_traces else None

    @property
    def node(self) -> Node:  # type: ignore[override]  # made when it is first needed: most attributes are called
        if self._node is None:
            with self._where_read():
                self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
            self._node._position = self._position
        return self._node

    def _where_read(self) -> AbstractContextManager[None]:
        """Here, or, if something that may have changed the object came in between, where the attribute was read."""
        wrote, last = self.tracer._wrote, self._last
        if wrote is None or wrote.graph is not last.graph or wrote <= last or last._erased:
            return nullcontext()
        return last.graph.inserting_before(last.next)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _numpy.check_method(self.attr, args, kwargs)
        called = self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)
        if self.attr not in _numpy.READING_METHODS and isinstance(called, Proxy):
            self.tracer._wrote = called.node
        return called


class ParameterProxy(Proxy):
    """A parameter of which shape, size and dtype are plain values, so that a program may branch on them."""

    __slots__ = ("param",)

    def __init__(self, node: Node, tracer: TracerBase, param: Any) -> None:
        super().__init__(node, tracer)
        self.param = param

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.param.shape)

    @property
    def ndim(self) -> int:
        return len(self.param.shape)

    @property
    def size(self) -> int:
        return int(self.param.size)

    @property
    def dtype(self) -> Any:
        return self.param.dtype

    def dim(self) -> int:
        return self.ndim

    def numel(self) -> int:
        return self.size

    nelement = numel

    def __len__(self) -> int:
        return len(self.param)


def _binary(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, other), _NO_KWARGS)

    return method


def _reflected(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Proxy, other: Any) -> Any | NotImplementedType:
        return self.tracer.create_proxy("call_function", function, (other, self), _NO_KWARGS)

    return method


def _unary(function: Callable[..., Any]) -> Callable[[Any], Any]:
    def method(self: Proxy) -> Any:
        return self.tracer.create_proxy("call_function", function, (self,), _NO_KWARGS)

    return method


_NO_KWARGS: dict[str, Any] = {}
_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
    "matmul",
)

for _name in (*_ARITHMETIC, "getitem", "eq", "ne", "lt", "le", "gt", "ge", "divmod"):
    _function = divmod if _name == "divmod" else getattr(operator, f"{_name}_" if _name in ("and", "or") else _name)
    if _name != "pow":
        setattr(Proxy, f"__{_name}__", _binary(_function))
    if _name in _ARITHMETIC or _name == "divmod":
        setattr(Proxy, f"__r{_name}__", _reflected(_function))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(Proxy, f"__{_name}__", _unary(getattr(operator, _name)))
