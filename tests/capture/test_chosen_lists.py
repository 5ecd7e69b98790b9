"""Lists that are one of several, as a traced index says, are the same objects under their other names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import weft
from weft.errors import CaptureError


def _rows() -> list[list[float]]:
    return [[1.0, 2.0], [3.0, 4.0]]


def written_through_the_last(x: Any) -> Any:
    rows: Any = _rows()
    last: Any = None
    for k in range(6):
        last = rows[k % 2]
    last[0] = 9.0
    return rows[0][0] + rows[1][0] + x


def read_after_a_write(x: Any) -> Any:
    rows, total, row = _rows(), 0.0, [0.0]
    for k in range(6):
        row = rows[k % 2]
        total = total + row[0]
    rows[1][0] = 9.0
    return total + row[0] + x


def kept_in_a_list(x: Any) -> Any:
    rows, kept = _rows(), []
    for k in range(6):
        kept.append(rows[k % 2])  # noqa: PERF401  # as people write it
    rows[0][0] = 9.0
    return kept[0][0] + x


def kept_in_a_dict(x: Any) -> Any:
    rows: Any = _rows()
    kept: Any = {}
    for k in range(6):
        kept = {"row": (rows[k % 2], 1)}
    rows[1][0] = 9.0
    return kept["row"][0][0] + x


def kept_by_a_function(x: Any) -> Any:
    rows: Any = _rows()
    kept: Any = None

    def keep(row: Any) -> None:
        nonlocal kept
        kept = row

    for k in range(6):
        keep(rows[k % 2])
    rows[1][0] = 9.0
    return kept[0] + x


def kept_under_a_condition(x: Any) -> Any:
    rows = _rows()
    kept = rows[0]
    for k in range(6):
        if x > 0:
            kept = rows[k % 2]
    rows[1][0] = 9.0
    return kept[0] + x


PROGRAMS = [
    written_through_the_last,
    read_after_a_write,
    kept_in_a_list,
    kept_in_a_dict,
    kept_by_a_function,
    kept_under_a_condition,
]
WAYS: dict[str, Callable[..., Any]] = {
    "compile": weft.compile,
    "script": lambda function: lambda x: weft.script(function)(x),
    "grad": lambda function: lambda x: weft.value_and_grad(function)(x)[0],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_right_or_refused(program: Callable[..., Any], way: str) -> None:
    try:
        found = WAYS[way](program)(1.0)
    except CaptureError:
        return
    assert found == program(1.0)


def test_lists_that_a_loop_has_only_read_may_change_after_it() -> None:
    def program(x: Any) -> Any:
        rows, total = _rows(), 0.0
        for k in range(6):
            for value in rows[k % 2]:
                total = total + value * x
        rows[0][0] = 9.0
        return total * rows[0][0]

    compiled = weft.compile(program)
    assert compiled(2.0) == program(2.0)
    assert compiled.cache_info().misses == 1
    assert weft.grad(program)(2.0) == pytest.approx(270.0)
