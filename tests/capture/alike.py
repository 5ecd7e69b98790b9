"""Runs a program plainly, compiled and scripted, call after call, and compares all that a caller can notice."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import weft
from programs._compare import assert_same, call
from weft.errors import TraceError

SAME, PLAINLY, REFUSED = "same", "plainly", "refused"


def fates(function: Callable[..., Any], *calls: tuple[Any, ...]) -> list[str]:
    """What became of the program compiled and scripted: of each, the worst of its calls. What is wrong raises."""
    return [_compiled(function, calls), _scripted(function, calls)]


def _compiled(function: Callable[..., Any], calls: tuple[tuple[Any, ...], ...]) -> str:
    compiled = weft.compile(function)
    found = _compare(function, compiled, calls)
    return PLAINLY if found == SAME and compiled._ran_plainly else found


def _scripted(function: Callable[..., Any], calls: tuple[tuple[Any, ...], ...]) -> str:
    try:
        scripted = weft.script(function)
    except TraceError:
        return REFUSED
    return _compare(function, scripted, calls)


def _compare(function: Callable[..., Any], captured: Callable[..., Any], calls: tuple[tuple[Any, ...], ...]) -> str:
    found = SAME
    for arguments in calls:
        expected = call(function, copy.deepcopy(arguments))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*ran as plain Python")
            got = call(captured, copy.deepcopy(arguments))
        if isinstance(got.exception, TraceError) and not isinstance(expected.exception, TraceError):
            found = REFUSED
        else:
            assert_same(got, expected)
    return found
