"""Where in the user's program something came from.

A `Position` is what a running frame gives away for next to nothing: its code object, its instruction offset, and the
position it was called from. `Location` is what a person wants: file, line, column, source text, and the variable the
result is assigned to. One becomes the other only when somebody asks.
"""

from __future__ import annotations

import bisect
import dis
import linecache
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from weft.errors import WeftError

Position = tuple["CodeType | Location", int, Any]
"""(code object, offset of the instruction, Position of the caller or None); in a loaded graph the Location itself."""

_INSTALLED = frozenset({"site-packages", "dist-packages"})
_OWN_FILES = os.path.dirname(__file__) + os.sep
_STANDARD_FILES = os.path.dirname(os.__file__) + os.sep
_ASSIGNING = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})
_PASSIVE = frozenset({"CACHE", "NOP", "EXTENDED_ARG", "COPY", "TO_BOOL", "RESUME", "NOT_TAKEN"})


@dataclass(frozen=True)
class Location:
    """A place in source code. Columns count characters from 1, as editors do; None where Python kept none."""

    file: str
    line: int
    column: int | None
    end_line: int | None
    end_column: int | None
    function: str
    variable: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f": {self.text}" if self.text else "")


class _Internal(dict[str, bool]):
    """Whether a module, by name, is part of weft; worked out once for each."""

    def __missing__(self, name: str) -> bool:
        self[name] = found = name == "weft" or name.startswith("weft.")
        return found


_INTERNAL = _Internal()


def is_internal(frame: FrameType) -> bool:
    """Whether the frame belongs to weft itself rather than to the user, as the examples in weft's docstrings do."""
    return _INTERNAL[frame.f_globals.get("__name__", "")] and not frame.f_code.co_filename.startswith("<doctest")


def package_name(value: Any) -> str:
    """The package of a function or class by its name: numpy for np.linalg.inv; empty where none is known."""
    return str(getattr(value, "__module__", None) or "").partition(".")[0]


def is_own_file(file: str) -> bool:
    """Whether a file is one of weft's own."""
    return file.startswith(_OWN_FILES)


def capture(frame: FrameType | None, boundary: FrameType | None, outer: Position | None) -> Position | None:
    """The position of the innermost user frame from `frame` out to `boundary`; `outer` is where that was called."""
    found = []
    while frame is not boundary and frame is not None:  # the way is long, and this is done for every node
        try:
            internal = _INTERNAL[frame.f_globals["__name__"]]
        except KeyError:
            internal = False
        if not internal:
            found.append(frame)
        frame = frame.f_back
    for user in reversed(found):
        outer = (user.f_code, user.f_lasti, outer)
    return outer


def user_position(frame: FrameType | None) -> Position | None:
    """The position of the innermost user frame at or above `frame`, without where that was called from."""
    while frame is not None and _INTERNAL[frame.f_globals.get("__name__", "")]:
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti, None)


@lru_cache(maxsize=1000)
def package_of(file: str) -> str | None:
    """The name of the installed package that a file belongs to; None for what is the user's own."""
    parts = file.replace(os.sep, "/").split("/")
    return next((parts[k + 1] for k, part in enumerate(parts[:-1]) if part in _INSTALLED), None)


def is_library(file: str, own: str | None = None) -> bool:
    """Whether a file belongs to an installed package; `own` is the one that counts as the user's, if there is one."""
    return package_of(file) not in (None, own)


def is_users(frame: FrameType) -> bool:
    """Whether a frame is of the user's own code: of neither weft, nor an installed package, nor Python's library."""
    root = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    standard = root in sys.stdlib_module_names and root != "__main__"
    return not (standard or is_internal(frame) or is_library(frame.f_code.co_filename))


@lru_cache(maxsize=1000)
def _is_standard(file: str) -> bool:
    """Whether a file is of Python's own library."""
    return file.startswith(_STANDARD_FILES) and package_of(file) is None


def _is_others(frame: FrameType, own: str | None) -> bool:
    file = frame.f_code.co_filename
    return is_internal(frame) or is_library(file, own) or _is_standard(file)


def user_frame(own: str | None = None) -> FrameType | None:
    """The innermost frame of user code now running; what was installed, NumPy say, is not the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_others(frame, own):
        frame = frame.f_back
    return frame


def user_location(own: str | None = None) -> Location | None:
    """The innermost line of user code now running."""
    frame = user_frame(own)
    return None if frame is None else locate((frame.f_code, frame.f_lasti, None))


def library_call(own: str | None = None) -> str | None:
    """The function of an installed package that the innermost line of user code is calling now, by its public name."""
    frame: FrameType | None = sys._getframe(1)
    found = None
    while frame is not None and _is_others(frame, own):
        found = found if is_internal(frame) else frame
        frame = frame.f_back
    if found is None or frame is None:
        return None
    parts = found.f_globals.get("__name__", "").split(".")
    if parts[0] == "numpy":  # what it calls of its own is no news
        return None
    public = [part for part in parts if not part.startswith("_")]
    return ".".join([*public, *found.f_code.co_qualname.replace(".<locals>", "").split(".")])


def warn_user(message: str) -> None:
    """Warn on the innermost line of user code now running."""
    level, frame = 1, sys._getframe()
    while _is_others(frame, None) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def user_line(own: str | None = None) -> str | None:
    """The innermost line of user code now running, as an error shows it: where it is, its text, and what of it ran."""
    place = user_location(own)
    return None if place is None else _shown(place)


def line_of(error: BaseException) -> str | None:
    """The innermost line of the user's program that an error came through, as `user_line` shows it."""
    trace, position = error.__traceback__, None
    while trace is not None:
        if not _is_others(trace.tb_frame, None):
            position = (trace.tb_frame.f_code, trace.tb_lasti, None)
        trace = trace.tb_next
    return None if position is None else _shown(locate(position))


def _shown(place: Location) -> str:
    shown = f"{place.file}:{place.line}, in {place.function}"
    if not place.text:  # typed at a prompt, or made by exec
        return shown
    shown += f"\n    {place.text}"
    return shown if place.column is None else f"{shown}\n    {_caret(place, place.column)}"


def located(error: Exception) -> Exception:
    """The error; one of weft's own is given the line of the user's program that runs now, if it names none yet."""
    if isinstance(error, WeftError) and error.where is None:
        place = user_location()
        if place is not None and place.text:
            WeftError.__init__(error, error.message, where=str(place), help=error.help)
    return error


def _caret(place: Location, column: int) -> str:
    raw = _line(place.file, place.line)
    start = column - 1 - (len(raw) - len(raw.lstrip()))
    same_line = place.end_line in (None, place.line)
    width = max(1, (place.end_column or 0) - column) if same_line else max(1, len(place.text) - start)
    return " " * start + "^" * width


def locate(position: Position, variable: str | None = None) -> Location:
    """Resolve a position to file, line, column, text and assigned variable (`variable` where the caller knows it)."""
    code, offset, _ = position
    if isinstance(code, Location):
        return code
    line, end_line, start, end = _positions(code)[offset // 2]
    line = line or code.co_firstlineno
    raw = _line(code.co_filename, line)
    if offset == 0 and raw.lstrip().startswith("@"):  # the function, not its first decorator
        line, raw, start, end_line = *_behind_decorators(code.co_filename, line), None, None
    column = None if start is None else _characters(raw, start) + 1
    end_raw = raw if end_line in (None, line) else _line(code.co_filename, end_line)
    end_column = None if end is None else _characters(end_raw, end) + 1
    return Location(
        file=code.co_filename,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        function=code.co_name,
        variable=variable or assigned_variable(code, offset),
        text=raw.strip(),
    )


def _behind_decorators(file: str, line: int) -> tuple[int, str]:
    """The line on which a decorated function begins, and its text; where that is not found, the line given."""
    for number in range(line, line + 50):
        raw = _line(file, number)
        if raw.lstrip().startswith(("def ", "async def ")):
            return number, raw
    return line, _line(file, line)


def stack(position: Position | None) -> list[Location]:
    """Every location on the way, the outermost call first."""
    found = []
    while position is not None:
        found.append(locate(position))
        position = position[2]
    return found[::-1]


def assigned_variable(code: CodeType | Location, offset: int, item: int = 0) -> str | None:
    """The name the instruction's result is stored under at once: `y = f(x)` and `self.h = f(x)` give y and self.h.

    Where the instruction unpacks (`a, b = f(x)`), `item` says which of the names is meant.
    """
    if isinstance(code, Location):
        return code.variable
    instructions, index = _instructions(code)
    at = index.get(offset)
    if at is None:
        return None
    # By index: a slice would copy the rest of a long function for each of its calls.
    rest = (instructions[i] for i in range(at + 1, len(instructions)))
    following = (i for i in rest if i.opname not in _PASSIVE)
    wanted = item if instructions[at].opname == "UNPACK_SEQUENCE" else 0
    for instruction in following:
        names = _stored(instruction, following)
        if wanted < len(names):
            return names[wanted]
        if not names:
            return None
        wanted -= len(names)
    return None


def _stored(instruction: dis.Instruction, following: Iterator[dis.Instruction]) -> list[str]:
    """The names an instruction stores to; none where it does something else."""
    name = instruction.opname
    if name in _ASSIGNING:
        return [str(instruction.argval)]
    if name == "STORE_FAST_STORE_FAST":
        return list(instruction.argval)
    if name == "STORE_FAST_LOAD_FAST":
        return [instruction.argval[0]]
    # `obj.attr = value` loads obj between the value and the store.
    if name.startswith("LOAD_FAST") or name in ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF"):
        store = next(following, None)
        if store is not None and store.opname == "STORE_ATTR":
            return [f"{instruction.argval}.{store.argval}"]
    return []


def return_offset(code: CodeType) -> int:
    """The offset of the function's one `return`; of its beginning where it has several."""
    returns = [i for i in _instructions(code)[0] if i.opname in ("RETURN_VALUE", "RETURN_CONST")]
    # Python may copy one `return` to the end of each branch before it.
    places = {i.positions for i in returns}
    return returns[0].offset if len(places) == 1 else 0


def return_line(function: Any) -> str | None:
    """The line on which a function of the user's returns, as `user_line` shows it; its `def` where it has several."""
    code = getattr(getattr(function, "_plain", function), "__code__", None)
    if code is None or is_own_file(code.co_filename):
        return None
    place = locate((code, return_offset(code), None))
    return f"{place.file}:{place.line}, in {place.function}\n    {place.text}" if place.text else None


def unpack_count(frame: FrameType) -> int | None:
    """How many values the frame's current instruction unpacks where it is `a, b = …`; None for any other."""
    instructions, index = _instructions(frame.f_code)
    at = index.get(frame.f_lasti)
    if at is None or instructions[at].opname != "UNPACK_SEQUENCE":
        return None
    return instructions[at].arg


def instruction(frame: FrameType) -> str | None:
    """The name of the instruction at which a frame stands."""
    instructions, index = _instructions(frame.f_code)
    at = index.get(frame.f_lasti)
    return None if at is None else instructions[at].opname


def following_instruction(frame: FrameType) -> str | None:
    """The name of the instruction that takes the result of the one at which a frame stands."""
    instructions, index = _instructions(frame.f_code)
    at = index.get(frame.f_lasti)
    if at is None:
        return None
    return next((i.opname for i in instructions[at + 1 :] if i.opname not in _PASSIVE), None)


@lru_cache(maxsize=256)
def _positions_of(key: _Identity) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(key.code.co_positions())


def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return _positions_of(_Identity(code))


def line_at(code: CodeType, offset: int) -> int:
    """The line of the instruction at an offset, or of the function where Python kept none."""
    starts, lines = _lines_of(_Identity(code))
    return lines[bisect.bisect_right(starts, offset) - 1] or code.co_firstlineno


@lru_cache(maxsize=256)
def _lines_of(key: _Identity) -> tuple[list[int], list[int | None]]:
    """Where the runs of instructions of one line start, and their lines."""
    starts: list[int] = []
    lines: list[int | None] = []
    before: int | None = -1
    for start, _, line in key.code.co_lines():
        if line != before:
            starts.append(start)
            lines.append(line)
            before = line
    return starts, lines


def _instructions(code: CodeType) -> tuple[list[dis.Instruction], dict[int, int]]:
    return _instructions_of(_Identity(code))


@lru_cache(maxsize=256)
def _instructions_of(key: _Identity) -> tuple[list[dis.Instruction], dict[int, int]]:
    instructions = list(dis.get_instructions(key.code))
    ends = [*(instruction.offset for instruction in instructions[1:]), len(key.code.co_code)]
    # While a Python function runs, its caller may stand at one of the cache entries that follow the call.
    return instructions, {
        offset: i
        for i, (instruction, end) in enumerate(zip(instructions, ends, strict=True))
        for offset in range(instruction.offset, end, 2)
    }


class _Identity:
    """A cache key that compares code objects by identity: hashing one reads all of its constants."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.code is other.code


def _characters(line: str, byte_offset: int) -> int:
    """Python counts columns in bytes of UTF-8; people count characters. Without the text, bytes have to do."""
    return byte_offset if not line else len(line.encode()[:byte_offset].decode(errors="replace"))


def _line(file: str, number: int) -> str:
    """A line of source; none of `<string>`, under which Python files whatever was given to it as text last."""
    return "" if file == "<string>" else linecache.getline(file, number)
