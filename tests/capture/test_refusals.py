"""What cannot be captured is refused with one clear error; what the page says to write instead is captured."""

from __future__ import annotations

import contextlib
import copy
import io
import re
from typing import Any

import numpy as np
import pytest
import refused_flow  # noqa: F401  # enters its programs
import refused_things
from refused import REFUSED, Refusal, fresh

import weft
from weft.errors import CaptureError

each = pytest.mark.parametrize("program", REFUSED, ids=lambda program: program.name)


@each
def test_the_error(program: Refusal) -> None:
    error = program.capture()
    assert isinstance(error, CaptureError)
    assert program.relative(error.message) == program.message
    assert error.help == program.help
    assert pointed_at(error.where or "") == program.at


def pointed_at(where: str) -> str:
    """The text above the caret of an error's place."""
    *_, text, caret = ["", "", *where.splitlines()]
    marks = re.search(r"\^+", caret)
    return text[marks.start() : marks.end()] if marks else ""


@each
def test_nothing_is_left_half_changed(program: Refusal) -> None:
    arguments = fresh(program.arguments)
    before = outside(arguments)
    compiled = weft.compile(program.function)
    if program.front_end == "compile":
        for _ in range(2):  # the second call meets the same error
            with pytest.raises(CaptureError):
                compiled(*arguments)
        assert compiled.cache_info().currsize == 0
    else:
        program.capture()
    assert outside(arguments) == before


@pytest.mark.parametrize(
    "program", [program for program in REFUSED if program.instead], ids=lambda program: program.name
)
def test_what_to_write_instead(program: Refusal) -> None:
    """It is captured, and gives what the refused program gives when Python runs it."""
    assert program.instead is not None
    for scale in (1.0, -1.0, 0.4):
        arguments = tuple(value * scale if isinstance(value, np.ndarray) else value for value in program.arguments)
        expected = outcome(program.function, fresh(arguments))
        if isinstance(expected[0], Exception):
            continue
        compiled = weft.compile(program.instead)
        got = outcome(compiled, fresh(arguments))
        assert got[1] == expected[1]
        np.testing.assert_allclose(got[0], expected[0], rtol=1e-14)  # another formula may round otherwise
        assert compiled.cache_info().currsize == 1, "it was not captured"
        if program.front_end == "trace":
            weft.trace(program.instead, *fresh(arguments))


def outside(arguments: tuple[Any, ...]) -> str:
    """All that a program could have changed."""
    things = refused_things
    return repr((arguments, things.LAST, things.SETTINGS, vars(things.METER)))


def outcome(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, str]:
    """What a call gives or raises, and prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result = function(*arguments)
        except Exception as error:  # what a program raises is part of what it does
            result = error
    return copy.deepcopy(result), printed.getvalue()


def test_there_are_many_kinds() -> None:
    assert len(REFUSED) >= 30
    assert len({program.group for program in REFUSED}) >= 8
    assert sum(program.instead is not None for program in REFUSED) >= 12
