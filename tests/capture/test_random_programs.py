"""Random programs that branch, loop, alias and write: captured they do what plain Python does, or are refused.

Compared are results, dtypes, written arguments, printed text and exceptions. Arguments are not compared after an
exception: what a graph writes, it writes when all is computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from random_programs import Writer, arguments, define

import weft
from programs._compare import assert_same, call
from weft.errors import TraceError

# What may be refused: each says that something is decided only when the graph runs.
UNDECIDABLE = re.compile(
    r"a write to .*, which is .* depending on a branch or loop"
    r"|was written after a branch or loop made .* that array or another"
    r"|was written in the loop at line \d+ as .*, which is another array by now"
    r"|share memory in the loop at line \d+, and one of them is written"
    r"|is assigned on one side of a branch only"
    r"|is read in the loop at line \d+ before that iteration assigns it"
    r"|the loop at line \d+ changes what .* is"
    r"|the two sides of the branch at line \d+ disagree on"
    r"|was reshaped before: whether the two share memory"
    r"|was computed in a branch or loop that has ended"
    r"|the condition of a `while` that writes, prints or raises"
)

_BATCHES, _EACH = 20, 8


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def agrees(text: str, function: Callable[..., Any], plain: Callable[..., Any], which: int) -> bool:
    """Whether a call was captured and does what the plain one does; False where it was refused with reason."""
    expected, got = call(plain, arguments(which)), call(function, arguments(which))
    if isinstance(got.exception, TraceError):
        assert UNDECIDABLE.search(str(got.exception)), f"{got.exception}\n{text}"
        return False
    if expected.exception is not None:
        raised = f"{got.exception!r}, not {expected.exception!r}"
        assert isinstance(got.exception, type(expected.exception)), f"{raised}\n{text}"
        return True
    try:
        assert_same(got, expected)
    except AssertionError as error:
        raise AssertionError(f"{error}\nfor arguments({which}) of\n{text}") from got.exception
    return True


def written(seed: int) -> tuple[str, Callable[..., Any]]:
    text = Writer(seed, longest=3, deepest=2).program()
    return text.split("\n\ndef program")[1], define(text)


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_compiled(batch: int) -> None:
    captured = 0
    for seed in range(batch * _EACH, batch * _EACH + _EACH):
        text, program = written(seed)
        compiled = weft.compile(program)
        same = [agrees(text, compiled, program, which) for which in (0, 2, 1, 0)]
        captured += all(same)
    assert captured > 0.6 * _EACH


@pytest.mark.parametrize("batch", range(_BATCHES // 2))
def test_compiled_for_fixed_sizes(batch: int) -> None:
    captured = 0
    for seed in range(1000 + batch * _EACH, 1000 + batch * _EACH + _EACH):
        text, program = written(seed)
        captured += agrees(text, weft.compile(program, dynamic=False), program, seed % 4)
    assert captured > 0.6 * _EACH


@pytest.mark.parametrize("batch", range(_BATCHES // 2))
def test_scripts(batch: int) -> None:
    captured = 0
    for seed in range(2000 + batch * _EACH, 2000 + batch * _EACH + _EACH):
        text, program = written(seed)
        made = call(weft.script, (program,))
        if isinstance(made.exception, TraceError):
            assert UNDECIDABLE.search(str(made.exception)), f"{made.exception}\n{text}"
            continue
        module = made.result
        module.graph.lint()
        same = [agrees(text, module, program, which) for which in (0, 1, 3)]
        captured += all(same)
    assert captured > 0.6 * _EACH
