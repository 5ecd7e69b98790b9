"""Which calls of libraries stay whole, found out by one capture and known to the next."""

from __future__ import annotations

from collections import Counter
from typing import Any

_MANY = 3  # functions of one code that cannot be captured, until none of that code is tried any more


class StaysWhole(BaseException):  # no error: no handler of the program may catch it
    """A call of a library cannot be captured: the program is captured again with that call as it is."""

    def __init__(self, function: Any) -> None:
        self.function = function


class Whole:
    """The functions of libraries whose calls stay whole, as far as captures of one function have found out."""

    def __init__(self) -> None:
        self._functions: dict[int, Any] = {}
        self._codes: Counter[Any] = Counter()  # some functions and objects are made anew by each call

    def add(self, function: Any) -> None:
        """Let calls of a function stay whole."""
        self._functions[id(function)] = function
        self._codes[_code_of(function)] += 1

    def __contains__(self, function: Any) -> bool:
        if not self._functions:
            return False
        code = _code_of(function)
        return id(function) in self._functions or (code is not None and self._codes[code] > _MANY)


def _code_of(function: Any) -> Any:
    """The code that a call runs, that of an object's `__call__` included; None of what is not written in Python."""
    return getattr(function, "__code__", None) or getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004
