"""Special methods of the program's own classes, which Python calls by itself: operators, `len`, items, `str`.

They are captured as other methods are. Code written in C finds them in the class: so each class that a capture meets
has, as long as that lasts, functions in their place that let the recorder run the methods. Where no program is being
captured, in another thread say, these are what they stand for. What code in C takes as a number or a text has to be
one; so the statements and builtins that ask for it run the methods without a detour, and may get what is traced.
"""

from __future__ import annotations

import inspect
import operator
import threading
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import _where
from weft._module import Module
from weft._tracing import current_recorder
from weft.capture._iterables import Items
from weft.capture._memory import is_tensor
from weft.capture._opaque import is_opaque
from weft.capture._own_methods import begun
from weft.capture._state_places import is_own
from weft.capture._values import Array, Scalar, Traced, is_traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_AS_EVER = frozenset(
    {
        *("__new__", "__init__", "__post_init__", "__del__", "__init_subclass__", "__class_getitem__", "__set_name__"),
        *("__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__get__", "__set__", "__delete__"),
        *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__", "__sizeof__"),
        *("__dir__", "__array_finalize__", "__array_wrap__", "__instancecheck__", "__subclasscheck__"),
        *("__subclasshook__", "__mro_entries__", "__fspath__", "__enter__", "__exit__"),
    }
)
"""Those that are run captured where the program asks for them, or that say what an object is before there is one."""
_TRUTHS = frozenset({"__bool__", "__contains__"})
_WHOLE = frozenset({"__len__", "__index__", "__int__", "__hash__", "__length_hint__"})
_TEXTS = frozenset({"__str__", "__repr__", "__format__"})
_ASKED: dict[Any, tuple[str, ...]] = {
    len: ("__len__",),
    bool: ("__bool__", "__len__"),
    operator.truth: ("__bool__", "__len__"),
    int: ("__int__", "__index__", "__trunc__"),
    float: ("__float__", "__index__"),
    complex: ("__complex__", "__float__", "__index__"),
    str: ("__str__", "__repr__"),
    repr: ("__repr__",),
    abs: ("__abs__",),
    round: ("__round__",),
    operator.getitem: ("__getitem__",),
    operator.contains: ("__contains__",),
}
"""Builtins and the methods that they ask, the first that there is."""
_BUILTIN = (types.BuiltinFunctionType, type)
_lock = threading.Lock()
_routed: dict[type, int] = {}  # by how many captures


class Special:
    """The special methods that one capture runs."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.methods: dict[type, dict[str, Any]] = {}
        self.active = False
        self._parts: list[type] = []
        self._others: set[type] = set()  # classes that have no such methods

    # Classes

    def meet(self, cls: type) -> None:
        """Route the special methods of a class, and those that it inherits."""
        if not self.active or issubclass(cls, (type, Module)) or cls in self.methods:
            return
        own = [part for part in cls.__mro__ if part not in self._parts and self._is_routed(part)]
        with _lock:
            for part in own:
                self._parts.append(part)
                _routed[part] = _routed.get(part, 0) + 1
                if _routed[part] == 1:
                    for name, method in [*_special_methods(part)]:
                        type.__setattr__(part, name, _routing(name, method))
        found = {name: getattr(cls, name, None) for part in cls.__mro__ for name in vars(part) if name[:2] == "__"}
        methods = {name: unrouted(method) for name, method in found.items() if unrouted(method) is not method}
        if methods:
            self.methods[cls] = methods

    def end(self) -> None:
        """Give the classes their own methods back."""
        with _lock:
            for part in self._parts:
                _routed[part] -= 1
                if not _routed[part]:
                    del _routed[part]
                    for name, method in [*vars(part).items()]:
                        if unrouted(method) is not method:
                            type.__setattr__(part, name, unrouted(method))
        self._parts.clear()

    def _is_routed(self, part: type) -> bool:
        methods = [method for _, method in _special_methods(part)]
        installed = (_where.package_of(unrouted(method).__code__.co_filename) for method in methods)
        return bool(methods) and is_own(part) and all(one in (None, self.recorder.package) for one in installed)

    # What the program does with objects of theirs

    def run(self, value: Any, names: tuple[str, ...], *args: Any) -> tuple[Any] | None:
        """What the first of these methods of a value gives, in a tuple; None where its class has none of its own."""
        methods = self.of(type(value))
        name = next((name for name in names if name in methods), None)
        return None if name is None else (self.recorder.run(methods[name], (value, *args), {}),)

    def of(self, cls: type) -> dict[str, Any]:
        """The special methods of a class by name; a class that is met in a container is routed now."""
        known = self.methods.get(cls)
        if known is None and cls not in self._others:
            self.recorder.reads.meet(cls)
            known = self.methods.get(cls)
            if known is None:
                self._others.add(cls)
        return known or {}

    def truth(self, value: Any) -> tuple[Any] | None:
        """Whether a value counts as true, as its class says, in a tuple; None where that has nothing of its own."""
        found = self.run(value, ("__bool__", "__len__"))
        return None if found is None else (self._truth(found[0]),)

    def contains(self, container: Any, item: Any) -> tuple[Any] | None:
        """The same of `item in container`."""
        found = self.run(container, ("__contains__",), item)
        return None if found is None else (self._truth(found[0]),)

    def _truth(self, found: Any) -> Any:
        return self.recorder.python.call(bool, (found,), {}) if isinstance(found, Traced) else bool(found)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """What a builtin gives of an object with a method for that; None of any other call."""
        if type(function) not in _BUILTIN or not args or not self.of(type(args[0])):
            return None
        if function is format:
            return self.run(args[0], ("__format__",), *(args[1:] or ("",)))
        if function is bool or function is operator.truth:
            return self.truth(args[0])
        if function in (min, max) and len(args) == 1 and "__iter__" in self.of(type(args[0])):
            return (self.recorder.call(function, (list(begun(self.recorder, args[0])),), kwargs),)
        if kwargs:
            return None
        names = _ASKED.get(function)
        return None if names is None else self.run(args[0], names, *args[1:])

    def defers(self, operands: tuple[Any, ...]) -> bool:
        """Whether an operator leaves it to the class of an object what comes of a traced value and that object."""
        if all(isinstance(one, Scalar) and one.python for one in operands if isinstance(one, Traced)):
            return True
        owners = [one for one in operands if type(one) in self.methods]
        by_ufunc = [one for one in owners if hasattr(type(one), "__array_ufunc__")]
        if by_ufunc:
            return any(one.__array_ufunc__ is None for one in by_ufunc)
        return any(getattr(one, "__array_priority__", 0) > 0 for one in owners)

    def arrays(self, args: tuple[Any, ...], dtype: Any = None) -> tuple[Any, ...]:
        """The arguments of a function of NumPy's, with the arrays that objects say they are."""
        return tuple([self.array(value, dtype) for value in args])

    def array(self, value: Any, dtype: Any = None) -> Any:
        """The array that an object says it is; anything else as it is."""
        if type(value) in (list, tuple):
            parts = [self.array(part) for part in value]
            return value if all(map(operator.is_, parts, value)) else type(value)(parts)
        methods = self.of(type(value))
        if "__array__" not in methods or "__array_ufunc__" in methods:
            return value
        return self.recorder.run(methods["__array__"], (value,) if dtype is None else (value, np.dtype(dtype)), {})


def hashed(recorder: Recorder, value: Any) -> Any:
    """`hash(value)`."""
    special = recorder.reads.special

    def taken_apart(value: Any) -> tuple[int, Any]:
        if isinstance(value, Array):
            raise TypeError(f"unhashable type: '{'Tensor' if is_tensor(value) else 'numpy.ndarray'}'")
        if type(value) is tuple:
            return 2, tuple(map(taken_apart, value))
        found = special.run(value, ("__hash__",))
        return (0, value) if found is None else (1, found[0])

    parts = taken_apart(value)
    if not is_traced(parts):
        return hash_of(*parts)
    if is_opaque(parts):
        return recorder.opaque(hash_of, parts, {})
    return recorder.python.number(hash_of, parts, int)


def hash_of(kind: int, held: Any) -> int:
    """The hash of a value (0), a hash itself (1), or that of a tuple of these (2).

    >>> hash_of(2, ((0, "a"), (2, ((0, 1), (1, hash(2.5)))))) == hash(("a", (1, 2.5)))
    True
    """
    return hash(held) if kind == 0 else held if kind == 1 else hash(tuple([_Hashed(hash_of(*one)) for one in held]))


class _Hashed:
    """Has the hash that it is made of."""

    __slots__ = ("hash",)

    def __init__(self, hash: int) -> None:
        self.hash = hash

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other


def _special_methods(part: type) -> Iterator[tuple[str, Any]]:
    """The special methods that a class defines itself, in Python that can be found."""
    for name, method in vars(part).items():
        if name[:2] == name[-2:] == "__" and name not in _AS_EVER and type(method) is types.FunctionType:
            plain = unrouted(method)
            written = is_own(plain) and is_own(types.ModuleType(plain.__globals__.get("__name__", "")))
            if written and plain.__code__.co_filename != "<string>" and not inspect.iscoroutinefunction(plain):
                yield name, method


def _routing(name: str, method: Any) -> Callable[..., Any]:
    def special(*args: Any, **kwargs: Any) -> Any:
        recorder = current_recorder.get()
        if recorder is None:
            return method(*args, **kwargs)
        return _wanted(recorder, name, recorder.run(method, args, kwargs))

    special.__name__, special.__qualname__, special.__module__ = name, method.__qualname__, method.__module__
    special.__doc__, special.__weft_special__ = method.__doc__, method  # type: ignore[attr-defined]  # functions take attributes
    return special


def unrouted(value: Any) -> Any:
    """The method itself, in place of what lets a recorder run it; anything else as it is."""
    if type(value) is types.MethodType:
        plain = unrouted(value.__func__)
        return value if plain is value.__func__ else types.MethodType(plain, value.__self__)
    return getattr(value, "__weft_special__", value) if type(value) is types.FunctionType else value


def _wanted(recorder: Recorder, name: str, result: Any) -> Any:
    """What a method gives, as code in C takes it."""
    if isinstance(result, Items):
        return iter(result)
    if not isinstance(result, Traced):
        return result
    if name in _TRUTHS:
        return bool(result)
    if name in _WHOLE:
        return operator.index(result)
    if name in _TEXTS:
        recorder.refuse_value(result, "text made of it")
    if name in ("__float__", "__complex__"):
        return (float if name == "__float__" else complex)(result)
    return iter(result) if name in ("__iter__", "__reversed__") and isinstance(result, Array) else result
