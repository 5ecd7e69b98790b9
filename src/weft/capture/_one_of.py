"""One of several functions, classes or objects, chosen by traced values: what is done with it is a branch.

A call of it calls one of the two on each side, an attribute is that of one or of the other, and so on. What it does is
written as Python below, and captured as the program is.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._objects import one_of
from weft.capture._opaque import Opaque
from weft.capture._state_places import is_object
from weft.capture._values import Scalar, Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

CALLED = (
    *(type, types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial, np.ufunc),
    type(np.sum),
)


_EXACT = 2**53
"""Integers below are numbers of their own as floats as well."""
_AS_PYTHON = "?bBhHiIlLqQd"
"""Dtypes of which a number is the key that Python's number of the same value is: not so float32."""


class OneOf(Traced):
    """One of two functions, classes or objects, or of more: each of the two may be one itself."""

    __slots__ = ("_first", "_second", "_test")

    def __init__(self, recorder: Recorder, test: Any, first: Any, second: Any) -> None:
        self.recorder, self._test, self._first, self._second = recorder, test, first, second

    @property
    def sides(self) -> tuple[Any, Any, Any]:
        """The condition, and what there is where it holds and where it does not."""
        return self._test, self._first, self._second

    @property
    def node(self) -> Any:
        recorder = self.recorder
        if recorder.state.known is None or recorder.deriving or recorder.untyped:
            recorder.refuse(
                "one of several functions or objects leaves the program: which one, only running tells",
                help="return what a call of it gives, or a part of it, instead of itself",
            )
        return recorder.create(one_of, self.sides, {}, None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.each(_called, args, kwargs)

    def attribute(self, name: str) -> Any:
        return self.each(_attribute, name)

    def set_attribute(self, name: str, value: Any) -> None:
        self.each(_set_attribute, name, value)

    def is_object(self, other: Any) -> Any:
        """Whether it is a given object."""
        return True if other is self else self.each(_is, other)

    def given_to(self, function: Any, place: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a function gives, as whose argument it stands at a place."""
        return self.each(_given, function, args[:place], args[place + 1 :], kwargs)

    def each(self, function: Callable[..., Any], *args: Any) -> Any:
        """What is done with it, on each side with the one that it is there."""
        return _captured(self.recorder, function, *self.sides, *args)

    def __iter__(self) -> Any:
        return self.given_to(iter, 0, (self,), {})

    def _described(self) -> str:
        return f"<{self._first!r} or {self._second!r}>"


def _operator(function: Any, reflected: bool = False) -> Any:
    if reflected:
        return lambda self, other: self.given_to(function, 1, (other, self), {})
    return lambda self, *others: self.given_to(function, 0, (self, *others), {})


for _name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split():
    setattr(OneOf, f"__{_name.rstrip('_')}__", _operator(getattr(operator, _name)))
    setattr(OneOf, f"__r{_name.rstrip('_')}__", _operator(getattr(operator, _name), reflected=True))
for _name in "lt le gt ge eq ne neg pos invert getitem setitem".split():
    setattr(OneOf, f"__{_name}__", _operator(getattr(operator, _name)))
OneOf.__hash__ = Traced.__hash__  # type: ignore[method-assign]


def is_called(value: Any) -> bool:
    """Whether a value is a function, a class or one of some."""
    return isinstance(value, (OneOf, *CALLED))


def class_by_node(value: Any) -> Any:
    """One of several classes, which NumPy takes as a dtype, as a value of unknown type; any other value as it is."""
    return Opaque(value.recorder, value.node) if type(value) is OneOf and is_class(value) else value


def is_class(value: Any) -> bool:
    """Whether a value is a class or a dtype, or one of some."""
    if type(value) is not OneOf:
        return isinstance(value, (type, np.dtype))
    sides = value.sides[1:]
    return any(map(is_class, sides)) and all(is_class(side) or isinstance(side, Opaque) for side in sides)


def may_be_either(a: Any, b: Any) -> bool:
    """Whether the capture goes on with one of the two where only running tells which one."""
    kinds = [is_called(value) or is_object(value) for value in (a, b)]
    return all(kinds) or (any(kinds) and any(value is None or isinstance(value, Opaque) for value in (a, b)))


def function_at(recorder: Recorder, functions: Any, key: Scalar) -> Any:
    """The function at a traced place of a list."""
    place = recorder.getitem(recorder.constant(np.arange(len(functions))), key)  # raises where there is none
    found = functions[-1]
    for k in reversed(range(len(functions) - 1)):
        found = OneOf(recorder, place == k, functions[k], found)
    return found


def item_of_key(recorder: Recorder, mapping: dict[Any, Any], keys: Any, key: Any) -> Any:
    """`mapping[key]`, where the key is traced and one of some numbers."""
    return _captured(recorder, _item, [*mapping.values()], keys, key)


def get_of_key(recorder: Recorder, mapping: dict[Any, Any], keys: Any, key: Any, default: Any = None) -> Any:
    """The same of `mapping.get(key, default)`."""
    return _captured(recorder, _get, [*mapping.values()], keys, key, default)


def number_keys(mapping: dict[Any, Any]) -> Any:
    """The keys of a dict as an array, where all are numbers that an array tells apart as the dict does; else None."""
    plain = [key.item() if isinstance(key, np.generic) and key.dtype.char in _AS_PYTHON else key for key in mapping]
    for kinds in ((bool, int), (float,)):
        if plain and all(type(key) in kinds for key in plain):
            return np.array(plain, kinds[-1]) if all(abs(key) < _EXACT for key in plain) else None
    return None


def _captured(recorder: Any, function: Callable[..., Any], *args: Any) -> Any:
    return recorder._deeper(recorder.bind(function), args, {})


def _called(test: Any, first: Any, second: Any, args: Any, kwargs: Any) -> Any:
    if test:
        return first(*args, **kwargs)
    return second(*args, **kwargs)


def _attribute(test: Any, first: Any, second: Any, name: Any) -> Any:
    if test:
        return getattr(first, name)
    return getattr(second, name)


def _set_attribute(test: Any, first: Any, second: Any, name: Any, value: Any) -> None:
    if test:
        setattr(first, name, value)
    else:
        setattr(second, name, value)


def _is(test: Any, first: Any, second: Any, other: Any) -> Any:
    if test:
        return first is other
    return second is other


def _given(test: Any, first: Any, second: Any, function: Any, before: Any, after: Any, kwargs: Any) -> Any:
    if test:
        return function(*before, first, *after, **kwargs)
    return function(*before, second, *after, **kwargs)


def _item(values: Any, keys: Any, key: Any) -> Any:
    found = keys == key
    if not found.any():
        raise KeyError(key)
    return values[found.argmax()]


def _get(values: Any, keys: Any, key: Any, default: Any) -> Any:
    found = keys == key
    if found.any():
        return values[found.argmax()]
    return default
