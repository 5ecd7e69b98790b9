"""Tracebacks and warnings in the lines of the user's program.

Code that was generated from a captured program carries the lines of that program: a warning from it names them. Where
it raises, its frame is replaced by those of the captured functions that were running, and weft's own frames are left
out. With `WEFT_DEBUG=1` in the environment tracebacks stay as they are.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple, TypeVar, cast

from weft import _where

_LINES = "__weft_lines__"  # the global of generated code that tells its lines


class _Place(NamedTuple):
    """Where in a file something stands; columns count bytes from 0, None where Python kept none."""

    file: str
    function: str
    line: int
    end_line: int | None
    column: int | None
    end_column: int | None


class UserLines:
    """The user's lines behind each instruction of a generated function."""

    def __init__(self, code: CodeType, positions: dict[int, Any]) -> None:
        """Take the generated code, and for its lines the positions that they were captured at."""
        self._generated, self._positions = code, positions

    def code(self) -> CodeType:
        """The generated code with the user's lines for its own; lines of other files are those that called them.

        Columns are left out: tracebacks have them from `stack`, and warnings ask for lines only.
        """
        code = self._generated
        file = next((_outermost_file(each) for each in self._positions.values() if each is not None), None)
        if file is None:
            return code
        lines = {here: _line_in(file, position) for here, position in self._positions.items()}
        line, began = code.co_firstlineno, 0
        runs: list[tuple[int, bytes, int]] = []
        for start, _, here in code.co_lines():
            at = lines.get(here) or line  # type: ignore[arg-type]  # of no line: the line before
            if at != line:
                runs.append((line, b"", (start - began) // 2))
                line, began = at, start
        runs.append((line, b"", (len(code.co_code) - began) // 2))
        return code.replace(co_filename=file, co_linetable=_line_table(code.co_firstlineno, runs))

    def stack(self, offset: int) -> list[_Place]:
        """The places that an instruction was captured at, the outermost call first."""
        position = None
        for start, _, here in self._generated.co_lines():
            if start > offset:
                break
            position = position if here is None else self._positions.get(here, position)
        return _stack(position)


def tell_user_lines(function: FunctionType, positions: dict[int, Any]) -> None:
    """Let a generated function warn and raise in the user's lines: `positions` are those that its lines came from."""
    lines = UserLines(function.__code__, positions)
    function.__globals__[_LINES] = lines
    function.__code__ = lines.code()


def hide_frames(error: BaseException) -> None:
    """Take weft's own frames out of the tracebacks of an error and of those behind it.

    To be called in an `except` that ends with a bare `raise`, which adds no frame.
    """
    if os.environ.get("WEFT_DEBUG", "0") not in ("", "0"):
        return
    seen: dict[int, BaseException] = {}
    inner: set[int] = set()  # of those that were raised inside of weft alone
    waiting: list[BaseException | None] = [error]
    while waiting:
        here = waiting.pop()
        if here is not None and id(here) not in seen:
            seen[id(here)] = here
            if here.__traceback__ is not None:
                here.__traceback__ = _shown(here.__traceback__)
                inner.update([id(here)] * (here.__traceback__ is None))
            waiting += [here.__cause__, here.__context__]
    for here in seen.values():
        if here.__cause__ is not None and id(here.__cause__) in inner:
            here.__cause__ = None
        if here.__context__ is not None and id(here.__context__) in inner:
            here.__context__ = None


F = TypeVar("F", bound=Callable[..., Any])


def without_frames(function: F) -> F:
    """Decorate a function of weft's whose errors show the frames of the user's program alone."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return cast(F, call)


def _shown(trace: TracebackType | None) -> TracebackType | None:
    kept: list[tuple[Any, int, int]] = []
    while trace is not None:
        lines = trace.tb_frame.f_globals.get(_LINES)
        places = [] if lines is None else lines.stack(trace.tb_lasti)
        if places:
            kept += map(_frame_at, places)
        elif not _where.is_internal(trace.tb_frame):
            kept.append((trace.tb_frame, trace.tb_lasti, trace.tb_lineno))
        trace = trace.tb_next
    made = None
    for frame, offset, line in reversed(kept):
        made = TracebackType(made, frame, offset, line)
    return made


def _frame_at(place: _Place) -> tuple[Any, int, int]:
    """A frame that stands at a place, with the offset and line that a traceback has of it."""
    code = compile("raise error", place.file, "exec")
    units = len(code.co_code) // 2
    code = code.replace(
        co_name=place.function,
        co_qualname=place.function,
        co_firstlineno=place.line,
        co_linetable=_line_table(place.line, [(place.line, _columns(place), units)]),
    )
    try:
        exec(code, {"error": RuntimeError(), "__name__": "__main__"})
    except RuntimeError as error:
        inner = error.__traceback__.tb_next  # type: ignore[union-attr]  # it was raised one frame down
        return inner.tb_frame, inner.tb_lasti, place.line  # type: ignore[union-attr]
    raise AssertionError("the code raises")


def _stack(position: Any) -> list[_Place]:
    """The places of a position, the outermost call first."""
    found = []
    while position is not None:
        code, offset, position = position
        if isinstance(code, _where.Location):
            end = code.line if code.end_line is None else code.end_line
            found.append(_Place(code.file, code.function, code.line, end, None, None))
            continue
        line, end_line, column, end_column = _where._positions(code)[offset // 2]
        line = code.co_firstlineno if line is None else line
        found.append(_Place(code.co_filename, code.co_name, line, end_line, column, end_column))
    return found[::-1]


def _outermost_file(position: Any) -> str:
    while position[2] is not None:
        position = position[2]
    code = position[0]
    return code.file if isinstance(code, _where.Location) else code.co_filename


def _line_in(file: str, position: Any) -> int | None:
    """The line of a file that a position is at, or was called from; None where it has none."""
    while position is not None:
        code, offset, position = position
        if isinstance(code, _where.Location):
            if code.file == file:
                return code.line
        elif code.co_filename == file:
            return _where.line_at(code, offset)
    return None


# Python's table of lines: https://github.com/python/cpython/blob/3.11/Objects/locations.md


def _line_table(first: int, runs: Iterable[tuple[int, bytes, int]]) -> bytes:
    """The table that gives each run of units of code, which are two bytes long, its line and its columns or b""."""
    made = bytearray()
    before = first
    for line, columns, count in runs:
        kind = 0x80 | (14 if columns else 13) << 3
        while count > 0:
            delta, before = line - before, line
            made.append(kind | min(count, 8) - 1)
            made += _varint(delta << 1 if delta >= 0 else -delta << 1 | 1) + columns
            count -= 8
    return bytes(made)


def _columns(place: _Place) -> bytes:
    """The columns of a place as the table of lines has them; b"" where it has none."""
    if place.end_line is None or place.column is None or place.end_column is None:
        return b""
    return _varint(place.end_line - place.line) + _varint(place.column + 1) + _varint(place.end_column + 1)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value >= 64:
        made.append(64 | value & 63)
        value >>= 6
    made.append(value)
    return bytes(made)


__all__ = ["UserLines", "hide_frames", "tell_user_lines", "without_frames"]
