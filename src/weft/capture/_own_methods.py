"""Special methods of the program's own classes: `items[k]`, `len(items)`, `for item in items` and `str(item)` run them.

Python would call them itself, uncaptured: branches on traced values could not be kept there, text would be made of
traced values, and random numbers would be drawn once. So what asks an object of such a class calls the method.
"""

from __future__ import annotations

import operator
import sys
from types import FunctionType, NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._once import take
from weft.capture._opaque import is_opaque
from weft.capture._values import Traced, shows_traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_METHODS: dict[Any, tuple[str, ...]] = {
    operator.getitem: ("__getitem__",),
    operator.setitem: ("__setitem__",),
    operator.delitem: ("__delitem__",),
    operator.contains: ("__contains__",),
    len: ("__len__",),
    iter: ("__iter__",),
    next: ("__next__",),
    abs: ("__abs__",),
    float: ("__float__",),
    int: ("__int__",),
    round: ("__round__",),
    reversed: ("__reversed__",),
    bool: ("__bool__", "__len__"),
    repr: ("__repr__",),
    str: ("__str__", "__repr__"),
    format: ("__format__", "__str__", "__repr__"),
}
"""Function → the methods that it calls, the first that there is."""
_TAKING_ALL = frozenset(
    {list, tuple, set, frozenset, sum, sorted, min, max, any, all, enumerate, zip, map, filter, np.array, np.asarray}
)
_PLAIN = frozenset({bool, int, float, complex, str, bytes, list, tuple, dict, set, range, slice, NoneType, np.ndarray})
_RESULTS: dict[Any, type] = {bool: bool, int: int, float: float, len: int, str: str, repr: str, format: str}
_ITERATORS: Any = (type(iter(())), type(iter([])))
_SLOTS = (object.__repr__, object.__str__, object.__format__)


def own_method(function: Any, value: Any) -> FunctionType | None:
    """The method of the program's own that `function(value)` calls; None where it is none."""
    kind = type(value)
    if kind in _PLAIN or isinstance(value, Traced):
        return None
    for name in _METHODS.get(function, ()) if type(function).__hash__ is not None else ():
        found = getattr(kind, name, None)
        if found is not None and found not in _SLOTS:
            return found if isinstance(found, FunctionType) and _is_programs(found) else None
    return None


def _is_programs(function: FunctionType) -> bool:
    from weft._where import is_library
    from weft.capture._running import _is_library

    file = function.__code__.co_filename  # of a dataclass "<string>", as it is made by exec
    if _is_library(function) or is_library(file) or file == "<string>":
        return False
    # The `__repr__` of a dataclass is a wrapper of the standard library, which goes by the class's own module.
    root = function.__globals__.get("__name__", "").partition(".")[0]
    return root not in sys.stdlib_module_names or root == "__main__"


def run_own(recorder: Recorder, function: Any, args: tuple[Any, ...]) -> tuple[Any] | None:
    """What `function(*args)` gives that calls a method of the program's own, in a tuple; None of any other call."""
    found = own_method(function, args[0]) if args else None
    if found is None or (function is next and len(args) > 1):  # what the default is for has to be caught
        return None
    if function is format:
        spec = args[1] if len(args) > 1 else ""
        if found.__name__ != "__format__" and spec != "":
            return None  # what `object.__format__` says to that
        args = (args[0], spec) if found.__name__ == "__format__" else args[:1]
    result = recorder.run(found, args, {})
    if function is bool and found.__name__ == "__len__":
        return (result != 0,)
    return (_fitting(recorder, function, found.__name__, result),)


def _fitting(recorder: Recorder, function: Any, name: str, found: Any) -> Any:
    """What a built-in function makes of what the method has given: of the type that it is to be, or an error."""
    from weft.capture._python_calls import python_class

    wanted = _RESULTS.get(function)
    kind = python_class(found) if isinstance(found, Traced) else type(found)
    if wanted is None or kind is wanted or is_opaque(found):
        return found
    if (function is len and issubclass(kind, np.integer)) or (function is float and issubclass(kind, float)):
        return recorder.run(wanted, (found,), {})
    raise TypeError(f"{name} returned non-{wanted.__name__} (type {kind.__name__})")


def with_begun(recorder: Recorder, function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a function that takes the items of some: those that the program's own methods give."""
    if type(function).__hash__ is None or function not in _TAKING_ALL or (function in (min, max) and len(args) > 1):
        return args
    taken = slice(1, None) if function in (map, filter) else slice(None) if function is zip else slice(0, 1)
    given = list(args)
    found = [(value, begun(recorder, value)) for value in args[taken]]
    given[taken] = [list(v) if v is not value and isinstance(v, _ITERATORS) else v for value, v in found]
    return tuple(given)


def begun(recorder: Recorder, value: Any) -> Any:
    """What gives the items of `value`, one after the other, where methods of the program's own do; else `value`."""
    value = recorder.libraries.opened(take(recorder, value))
    begin = own_method(iter, value)
    if begin is not None:
        value = recorder.run(begin, (value,), {})
    step = own_method(next, value)
    return value if step is None else _Steps(recorder, value, step)


class _Steps:
    """The items that a captured `__next__` gives."""

    def __init__(self, recorder: Recorder, value: Any, step: FunctionType) -> None:
        self.recorder, self.value, self.step = recorder, value, step

    def __iter__(self) -> _Steps:
        return self

    def __next__(self) -> Any:
        return self.recorder.run(self.step, (self.value,), {})


def shown(recorder: Recorder, value: Any, conversion: str | None = None) -> Any:
    """The text that an object of the program's own shows in a text; any other value as it is."""
    function: Any = {None: format, "r": repr, "s": str}.get(conversion)
    own = None if function is None else run_own(recorder, function, (value,))
    if own is None and function is not None and isinstance(value, BaseException):
        own_text = any(isinstance(getattr(type(value), name), FunctionType) for name in ("__str__", "__repr__"))
        return value if own_text or shows_traced(value.args) else function(value)
    return value if own is None else own[0]
