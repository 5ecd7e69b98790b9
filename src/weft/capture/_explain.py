"""`explain`: what of a program can be captured, and all that cannot, at once.

>>> import numpy as np, weft
>>> found = weft.explain(lambda x: bytes(x.data), np.ones(3))
>>> found.captured, [(problem.reason, problem.help) for problem in found.problems]
(False, [('.data of a traced array', 'compute with the array itself')])
>>> print(weft.explain(lambda x, n: x * n, np.ones(3), 2))
<lambda> is captured: 4 nodes, 0 loops, 0 branches
  inputs
    x: float64[x_0]
    n: int
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from weft import _where
from weft._frames import without_frames
from weft._module import Module
from weft.capture._budget import OverBudget
from weft.capture._callables import check_callable
from weft.capture._captured import original_function
from weft.capture._compile import CompiledFunction, Entry, called, capture_call
from weft.capture._report import Explanation, report
from weft.capture._survey import Problem, Surveyor, place_of, problem_at, raised
from weft.errors import NotDifferentiable, TraceError


@without_frames
def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Capture a call as `weft.compile` does, without running it, and tell what was captured or what stands against it.

    The arguments are those of a call, or a `weft.spec(shape, dtype)` in place of an array. All problems are found at
    once: behind each the capture goes on with a value that it knows nothing of. Of a compiled function without
    arguments it tells what `f.explain()` does: the graphs of the calls that were made.
    """
    check_callable("explain", function)
    name = called(function)
    if isinstance(function, CompiledFunction) and not (args or kwargs) and (function._entries or function._ran_plainly):
        return function.explain()
    if isinstance(function, CompiledFunction) and function._plain is not function:  # else a derivative, or loaded
        function = function.__weft_original__
    function = function.forward if isinstance(function, Module) else function  # its parameters are read from outside
    original_function(function)  # raises where there is none
    try:
        entry = _entry(function, args, kwargs, dynamic=True)
    except OverBudget as error:
        return Explanation(name, plain={str(error): 0})
    except Exception as error:  # whatever it is, it is what there is to explain
        problems, stopped = _survey(function, args, kwargs, error)
    else:
        return Explanation(name, (report(entry),))
    fixed = Explanation(name, (), problems, _stopped=stopped)
    several = ("with variables of several types", "with one type for each variable")
    for how, way in (
        ({"dynamic": False}, fixed._way),
        ({"dynamic": True, "joins": True}, several),
        ({"dynamic": False, "joins": True}, several),
    ):
        with contextlib.suppress(Exception, OverBudget):  # it is told of already, with open sizes
            entry = _entry(function, args, kwargs, **how)
            return Explanation(name, (report(entry),), problems, _way=way)
    return fixed


def _entry(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic: bool, joins: bool = False
) -> Entry:
    how: dict[str, Any] = {"keeps_raising": True, "joins": joins, "budget": 1.0, "itself": True}
    return Entry(capture_call(function, args, kwargs, dynamic, **how), not dynamic)


def _survey(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], first: Exception
) -> tuple[tuple[Problem, ...], str | None]:
    """All problems of a call, and what ended the search early; `first` is what any capture runs into."""
    made: list[Surveyor] = []

    def make(**options: Any) -> Surveyor:
        made[:] = [Surveyor(**options)]
        return made[0]

    stopped = None
    try:
        capture_call(function, args, kwargs, True, keeps_raising=True, budget=1.0, make=make)
    except OverBudget as error:
        stopped = f"the search ended there: {error}"
    except TraceError as error:
        if not made:  # a function that is refused whole
            return (problem_at(_place_in(function, lambda code: 0), error.message, error.help),), None
        made[0].note(error, place_of(error, made[0].package) or _end_of(function))
    except Exception as error:  # the program's own, or one that a missing value led to
        if not made:
            raise  # the arguments do not fit the function
        place = place_of(error, made[0].package)
        if place is not None:  # else it is over the graph, which nobody is to use
            stopped = f"the search ended at line {place.line}: {type(error).__name__}: {error}"
    recorder = made[0]
    if not recorder.problems:
        problem = first if isinstance(first, (TraceError, NotDifferentiable)) else raised(first)
        place = _said(first) or place_of(first, recorder.package) or _end_of(function)
        recorder.note(problem, place)
        stopped = None
    found = sorted(recorder.problems, key=lambda problem: (problem.file, problem.line, problem.column or 0))
    return tuple(found), stopped


def _end_of(function: Any) -> _where.Location:
    """Where a function returns: what is wrong with its result has no line of its own."""
    return _place_in(function, _where.return_offset)


def _place_in(function: Any, offset: Callable[[CodeType], int]) -> _where.Location:
    """A place in a function, or in the one that is differentiated; the line that asks where there is no code of it."""
    plain = original_function(function)[0]
    while isinstance(plain, CompiledFunction) and hasattr(plain, "__weft_original__"):
        plain = original_function(plain.__weft_original__)[0]
    if isinstance(plain, FunctionType):
        return _where.locate((plain.__code__, offset(plain.__code__), None))
    place = _where.user_location()
    assert place is not None
    return place


def _said(error: Exception) -> _where.Location | None:
    """The line that has no derivative, which was captured before that was asked for."""
    found = re.match(r"(.+?):(\d+): (.*)", getattr(error, "where", None) or "")
    if found is None or not isinstance(error, NotDifferentiable):
        return None
    return _where.Location(found[1], int(found[2]), None, None, None, "", None, found[3])


__all__ = ["Explanation", "Problem", "explain"]
