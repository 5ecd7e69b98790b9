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
from dataclasses import dataclass
from types import CodeType
from typing import Any

from weft import _where
from weft._frames import without_frames
from weft._module import Module
from weft.capture._budget import OverBudget
from weft.capture._captured import original_function
from weft.capture._compile import CompiledFunction, Entry, capture_call
from weft.capture._report import report
from weft.capture._survey import Problem, Surveyor, place_of, problem_at, raised
from weft.errors import NotDifferentiable, TraceError
from weft.graph import Graph


@dataclass(frozen=True)
class Explanation:
    """What `explain` found out; it prints as text.

    `problems` is everything that could not be captured, in the order of the program's lines. `graph` is the captured
    program, None where there is none. Both are there where only sizes and numbers had to be fixed.
    """

    name: str
    problems: list[Problem]
    graph: Graph | None
    details: str
    stopped: str | None = None
    way: tuple[str, str] = ("with its sizes and numbers fixed", "with open sizes and numbers")  # captured, and not

    @property
    def captured(self) -> bool:
        """Whether `weft.compile` captures the call."""
        return self.graph is not None

    def __str__(self) -> str:
        count = f"{len(self.problems)} problem{'s' * (len(self.problems) != 1)}"
        if not self.problems and self.captured:
            return f"{self.name} is captured: {self.details}"
        if not self.problems:
            return f"{self.name} runs as plain Python: {self.stopped}"
        if self.captured:
            head = f"{self.name} is captured {self.way[0]}: {self.details}"
            parts = [head, f"{self.way[1]}: {count}"]
        else:
            parts = [f"{self.name} cannot be captured: {count}"]
        parts += [_numbered(number, problem) for number, problem in enumerate(self.problems, 1)]
        return "\n\n".join(parts if self.stopped is None else [*parts, self.stopped])


@without_frames
def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Capture a call as `weft.compile` does, without running it, and tell what was captured or what stands against it.

    The arguments are those of a call, or a `weft.spec(shape, dtype)` in place of an array. All problems are found at
    once: behind each the capture goes on with a value that it knows nothing of.
    """
    if isinstance(function, CompiledFunction) and function._plain is not function:  # as a derivative is
        function = function.__weft_original__
    name = getattr(function, "__name__", None) or type(function).__name__
    function = function.forward if isinstance(function, Module) else function  # its parameters are read from outside
    original_function(function)  # raises where there is none
    try:
        entry = _entry(function, args, kwargs, dynamic=True)
    except OverBudget as error:
        return Explanation(name, [], None, "", str(error))
    except Exception as error:  # whatever it is, it is what there is to explain
        problems, stopped = _survey(function, args, kwargs, error)
    else:
        return Explanation(name, [], entry.graph, "\n".join(report(entry)))
    fixed = Explanation(name, problems, None, "", stopped)
    for how, way in (
        ({"dynamic": False}, fixed.way),
        ({"dynamic": True, "joins": True}, ("with variables of several types", "with one type for each variable")),
    ):
        with contextlib.suppress(Exception, OverBudget):  # it is told of already, with open sizes
            entry = _entry(function, args, kwargs, **how)
            return Explanation(name, problems, entry.graph, "\n".join(report(entry)), None, way)
    return fixed


def _entry(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, dynamic: bool, joins: bool = False
) -> Entry:
    how: dict[str, Any] = {"keeps_raising": True, "joins": joins, "budget": 1.0}
    return Entry(capture_call(function, args, kwargs, dynamic, **how), not dynamic)


def _survey(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], first: Exception
) -> tuple[list[Problem], str | None]:
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
            return [problem_at(_where.locate((_code(function), 0, None)), error.message, error.help)], None
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
    return sorted(recorder.problems, key=lambda problem: (problem.file, problem.line, problem.column or 0)), stopped


def _end_of(function: Any) -> _where.Location:
    """Where a function returns: what is wrong with its result has no line of its own."""
    code = _code(function)
    return _where.locate((code, _where.return_offset(code), None))


def _code(function: Any) -> CodeType:
    """The code of a function, or of the one that is differentiated."""
    plain = original_function(function)[0]
    while isinstance(plain, CompiledFunction):
        plain = original_function(plain.__weft_original__)[0]
    code: CodeType = plain.__code__
    return code


def _said(error: Exception) -> _where.Location | None:
    """The line that has no derivative, which was captured before that was asked for."""
    found = re.match(r"(.+?):(\d+): (.*)", getattr(error, "where", None) or "")
    if found is None or not isinstance(error, NotDifferentiable):
        return None
    return _where.Location(found[1], int(found[2]), None, None, None, "", None, found[3])


def _numbered(number: int, problem: Problem) -> str:
    first, *rest = str(problem).splitlines()
    return "\n".join([f"{number}. {first}", *(f"   {line}" for line in rest)])


__all__ = ["Explanation", "Problem", "explain"]
