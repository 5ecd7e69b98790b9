"""Random structured programs: the code gives what running the graph node by node gives, to results and arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from body_builder import compiled
from structured_programs import arguments, program

import weft
from weft.graph._code_program import Program
from weft.graph._storage import Storage

_BATCH = 100


def expected(graph: weft.Graph, seed: int) -> tuple[list[np.ndarray], list[Any]]:
    """The arguments afterwards, and the results; None for one that shows an argument, whose content is then new."""
    given = arguments(seed)
    results = weft.Interpreter(None, graph=graph).run(*given)
    return given, [None if any(np.may_share_memory(one, arg) for arg in given) else one for one in results]


def compare(graph: weft.Graph, seed: int, **options: Any) -> None:
    after, results = expected(graph, seed)
    given = arguments(seed)
    found = compiled(graph, **options)(*given)
    for one, other in zip(given, after, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=f"an argument of program {seed}")
    for one, other in zip(found, results, strict=True):
        if other is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other, err_msg=f"a result of program {seed}")


@pytest.mark.parametrize("batch", range(20))
def test_random_programs(batch: int) -> None:
    for seed in range(batch * _BATCH, (batch + 1) * _BATCH):
        compare(program(seed), seed)


def test_random_programs_without_writing_in_place() -> None:
    for seed in range(_BATCH):
        compare(program(seed), seed, in_place=False)


def forget_types(graph: weft.Graph) -> None:
    for node in graph.nodes:
        node.meta.pop("type", None)
        for argument in node.args:
            for part in argument if isinstance(argument, list) else [argument]:
                if isinstance(part, weft.Graph):
                    forget_types(part)


def test_random_programs_without_types() -> None:
    for seed in range(2 * _BATCH):
        graph = program(seed)
        forget_types(graph)
        compare(graph, seed)


def test_random_programs_write_in_place_often() -> None:
    """The comparison means little unless much is written in place, through views and in carries too."""
    written = added = silent = copied = rows = 0
    for seed in range(3 * _BATCH):
        storage = Storage(Program(program(seed)))
        written += len(storage.in_place)
        added += sum(statement.node.target is weft.index_add for statement in storage.in_place)
        silent += len(storage.silent)
        copied += len(storage.copied)
        rows += len(storage.kept_rows)
    assert written > 500
    assert added > 100
    assert silent > 10
    assert copied > 50
    assert rows > 0
