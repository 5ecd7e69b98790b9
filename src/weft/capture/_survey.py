"""A capture that goes on after what it cannot capture, with a value it knows nothing of, and notes each problem.

`Surveyor` is the recorder of such a capture. What follows from a problem is no problem of its own: a `Missing` value
lets everything be done with it. Where a loop may still be written out step by step, errors end the attempt as they do
in any capture, and only what the steps themselves run into is noted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CodeType, FrameType
from typing import Any, NoReturn

import numpy as np

from weft import _where
from weft.capture._convert import is_converted_code
from weft.capture._opaque import Opaque
from weft.capture._recorder import Recorder
from weft.errors import TraceError, WeftError
from weft.graph import Graph, Node


@dataclass(frozen=True)
class Problem:
    """Something that cannot be captured: where it is in the program, why, and what to write instead."""

    file: str
    line: int
    column: int | None
    function: str
    text: str
    caret: str
    reason: str
    help: str | None

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line}" + (f", in {self.function}" if self.function else "")]
        lines += [f"    {part}" for part in (self.text, self.caret) if part]
        lines.append(self.reason)
        return "\n".join(lines if self.help is None else [*lines, f"help: {self.help}"])


def unknown() -> Any:
    """Stands in the graph of a survey for a value that could not be captured."""


class Missing(Opaque):
    """A value that a problem left behind. Nothing that is done with it is a problem again."""

    __slots__ = ()

    @property
    def node(self) -> Node:
        return self.recorder.region.graph.create_node("call_function", unknown, (), {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter((self,))

    def __len__(self) -> int:  # of other unknown values it is refused
        return 1

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.ones(())

    def __format__(self, spec: str) -> str:
        return "?"

    def __str__(self) -> str:
        return "?"


class Surveyor(Recorder):
    """Records a capture and notes its problems."""

    def __init__(self, *, branches: bool, boundary: FrameType | None = None) -> None:
        super().__init__(branches=branches, boundary=boundary)
        self.problems: list[Problem] = []
        self.strict = 0  # how many attempts that may fail are under way: errors leave them
        self.inside = False  # whether weft's own code runs for the program: errors leave it
        self.missing = Missing(self, Graph().create_node("call_function", unknown, (), {}))
        self._noted: set[Any] = set()

    def hooks_for(self, sites: Any, space: dict[str, Any]) -> Any:
        from weft.capture._hooks import Hooks
        from weft.capture._survey_hooks import SurveyHooks

        library = _where.is_library(space.get("__file__") or "", self.package)  # a call of it is one problem
        return (Hooks if library else SurveyHooks)(self, sites, space)

    # Problems

    def refuse(self, message: str, **details: Any) -> NoReturn:
        try:
            super().refuse(message, **details)
        finally:
            self.refused = None  # it is noted where it is caught

    def note(self, error: WeftError, at: _where.Location | None = None, once: Any = None) -> None:
        """Take down a problem, once for each place and reason; `once` is a key for those that have many places."""
        self.trying = ()  # what else happens in that `try` is the same problem
        place = at or place_of(error, self.package) or self.here()
        problem = problem_at(place, error.message, error.help)
        key = once or (problem.file, problem.line, problem.column, problem.reason)
        if key not in self._noted:
            self._noted.add(key)
            self.problems.append(problem)

    def here(self) -> _where.Location:
        """The line of the program that is running, else where it begins."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and (not is_converted_code(frame.f_code) or _where.is_internal(frame)):
            frame = frame.f_back
        if frame is None or not self.active:
            return _where.locate(self.start)
        return _located(frame.f_code, frame.f_lasti)

    def is_missing(self, value: Any) -> bool:
        """Whether a value, or something in it, comes of a problem."""
        if isinstance(value, Opaque):
            if isinstance(value, Missing) or value.example is not None or value._node is None:
                return isinstance(value, Missing)
            # A branch or a loop around a missing value gives one of unknown type.
            return bool(self.problems) and value._node.meta.get("type") is None and _is_joined(value._node)
        if type(value) in (tuple, list, set):
            return any(map(self.is_missing, value))
        if type(value) is dict:
            return any(map(self.is_missing, value.values()))
        return isinstance(value, slice) and self.is_missing((value.start, value.stop, value.step))

    def attempt(self, operands: Any, compute: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What a part of the program gives; `missing`, and a problem noted, where it cannot be captured."""
        if self.inside or self.strict:
            return compute(*args, **kwargs)
        region, self.inside = self.region, True
        try:
            return compute(*args, **kwargs)
        except TraceError as error:
            self.region = region
            if not self.is_missing(operands):
                self.note(error)
            return self.missing
        except Exception as error:  # whatever a missing value leads to is no problem of its own
            if not self.is_missing(operands):
                if self.trying or region is not self.root or place_of(error, self.package) is not None:
                    raise  # the program handles it, or raises it when the graph runs, or raised it itself
                self.note(raised(error))
            self.region = region
            return self.missing
        finally:
            self.inside = False

    @contextmanager
    def program(self) -> Iterator[None]:
        """The program's own code runs again, called by weft's."""
        was, self.inside = self.inside, False
        try:
            yield
        finally:
            self.inside = was

    def of_program(self, function: Any) -> Any:
        """A part of the program that weft's code calls directly."""

        def run(*args: Any) -> Any:
            with self.program():
                return function(*args)

        return None if function is None else run

    def _deeper(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _where.is_library(function.__code__.co_filename, self.package):
            return super()._deeper(function, args, kwargs)
        with self.program():
            return super()._deeper(function, args, kwargs)

    # What a program does to traced values without a hook

    def operate(self, function: Callable[..., Any], *args: Any) -> Any:
        return self.attempt(args, super().operate, function, *args)

    def run(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.attempt((args, kwargs), super().run, function, args, kwargs)

    def getitem(self, value: Any, key: Any) -> Any:
        return self.attempt((value, key), super().getitem, value, key)

    def setitem(self, array: Any, key: Any, value: Any) -> None:
        self.attempt((array, key, value), super().setitem, array, key, value)

    def update(self, array: Any, function: Callable[..., Any], other: Any) -> Any:
        return self.attempt((array, other), super().update, array, function, other)

    def opaque(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_missing(args) or self.is_missing(kwargs):
            return self.missing
        return super().opaque(function, args, kwargs)

    def decide(self, value: Any) -> bool:
        return True if self.is_missing(value) else super().decide(value)

    def concrete(self, value: Any, what: str) -> Any:
        return 1 if self.is_missing(value) else super().concrete(value, what)

    def is_outer(self, value: Any, inside: Any = None) -> bool:
        return isinstance(value, Missing) or super().is_outer(value, inside)

    def attempt_pure(self, compute: Callable[[], Any]) -> tuple[Any] | None:
        self.strict += 1
        try:
            return super().attempt_pure(compute)
        finally:
            self.strict -= 1


def _is_joined(node: Node) -> bool:
    """Whether a node stands for what a branch or a loop gives, or carries."""
    source = node.args[0] if node.args and isinstance(node.args[0], Node) else None
    return node.op == "placeholder" or (source is not None and bool(source.bodies))


def place_of(error: BaseException, own: str | None = None) -> _where.Location | None:
    """The innermost line of the captured program that an error passed on its way; None where it passed none.

    Lines of installed packages do not count, but for the one that the program is part of.
    """
    found, trace = None, error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if is_converted_code(frame.f_code) and not _where._is_others(frame, own):
            found = _located(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return found


def _located(code: CodeType, offset: int) -> _where.Location:
    """A place in converted code; the parts of an expression that have become lambdas belong to their function."""
    name = code.co_qualname
    while name.endswith(".<locals>.<lambda>"):
        name = name.removesuffix(".<locals>.<lambda>")
    return replace(_where.locate((code, offset, None)), function=name.rpartition(".")[2])


def raised(error: Exception) -> WeftError:
    """The problem that capturing raises an exception which is no refusal."""
    message = error.message if isinstance(error, WeftError) else str(error)
    return WeftError(
        f"capturing it raises {type(error).__name__}: {message}",
        help="compiled, the call runs as plain Python; mark what cannot take traced values with weft.wrap",
    )


def problem_at(place: _where.Location, reason: str, help: str | None) -> Problem:
    """A problem at a place of the program; of one in weft's own code, such as a layer's, at the line that asked."""
    if _where.is_own_file(place.file):
        place = _where.user_location() or place
    caret = "" if place.column is None or not place.text else _where._caret(place, place.column)
    return Problem(place.file, place.line, place.column, place.function, place.text, caret, reason, help)
