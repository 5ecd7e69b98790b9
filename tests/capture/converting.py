"""What the tests of conversion share: functions from text, and the comparison of a function with its converted form."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from copy import deepcopy
from itertools import count
from typing import Any

from weft.capture._convert import convert
from weft.capture._plain import PlainHooks

_NUMBERS = count()


def define(text: str, name: str = "program", **names: Any) -> Any:
    """A function from source text that Python keeps."""
    file = f"<written here {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names[name]


def plain(function: Any) -> Any:
    return convert(function).bind(function, PlainHooks())


def result(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result, or the exception's type and text."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


def same(function: Any, *calls: tuple[Any, ...]) -> None:
    made = plain(function)
    for args in calls:
        expected, got = result(function, *deepcopy(args)), result(made, *deepcopy(args))
        assert expected == got, (args, expected, got)
