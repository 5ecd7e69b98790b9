"""Batching of programs that make an object and change it in a loop: each example makes and changes its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft

TURNS = 12  # more than a loop may have to be written out


def _appended(x: Any) -> Any:
    out = []
    for each in x:
        out.append(each * 2.0)  # noqa: PERF401  # an append is what is tested
    return np.stack(out)


def _sums(x: Any) -> Any:
    sums = [0.0, 0.0]
    for k in range(TURNS):
        sums[k % 2] += x[0] * k
    return sums[0] + 2 * sums[1]


def _in_a_branch(x: Any) -> Any:
    out = []
    for k in range(TURNS):
        if k % 3 == 0:
            out.append(x[1] * k)  # noqa: PERF401  # an append is what is tested
    total = 0.0
    for each in out:
        total = total + each
    return total


def _as_long_as_needed(x: Any) -> Any:
    out, s = [], x[1] + 1
    while s < 100:
        out.append(s)
        s = s * 2
    return out[-1] + len(out)


def _nested(x: Any) -> Any:
    found = [0.0]
    for i in range(TURNS):
        for j in range(TURNS):
            found[0] = found[0] + x[1] * i * j
        found.append(found[-1] * x[0])
    return found[0] + found[3]


def _list_in_a_list(x: Any) -> Any:
    rows: list[list[Any]] = [[0.0], [0.0]]
    for k in range(TURNS):
        rows[k % 2].append(x[0] * k)
    return rows[0][3] + rows[1][2]


def _drawn(x: Any) -> Any:
    generator, t = np.random.default_rng(7), 0.0
    for _ in range(TURNS):
        t = t + x[0] * generator.normal()
    return t


def _drawn_in_a_branch(x: Any) -> Any:
    generator, t = np.random.default_rng(7), 0.0
    for i in range(TURNS):
        if i % 2:
            t = t + x[0] * generator.normal()
        else:
            for _ in range(TURNS):
                t = t + generator.uniform()
    return t


def _drawn_by_some(x: Any) -> Any:
    generator, t = np.random.default_rng(7), x[0]
    if x[0] > 1.0:
        for _ in range(TURNS):
            t = t + generator.normal()
    return t


PROGRAMS = [
    _appended,
    _sums,
    _in_a_branch,
    _as_long_as_needed,
    _nested,
    _list_in_a_list,
    _drawn,
    _drawn_in_a_branch,
    _drawn_by_some,
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_example_has_its_own(program: Any, compiled: bool) -> None:
    examples = np.arange(9.0).reshape(3, 3) / 4
    batched = weft.vmap(program)
    found = (weft.compile(batched) if compiled else batched)(examples)
    np.testing.assert_allclose(found, np.stack([program(each) for each in examples]), rtol=1e-12)


def test_a_generator_of_each_example() -> None:
    def program(x: Any, seed: Any) -> Any:
        generator, t = np.random.default_rng(seed), 0.0
        for _ in range(TURNS):
            t = t + x * generator.normal()
        return t

    xs, seeds = np.array([1.0, 2.0, 3.0]), np.array([5, 6, 5])
    found = weft.vmap(program)(xs, seeds)
    np.testing.assert_allclose(found, [program(*each) for each in zip(xs, seeds, strict=True)], rtol=1e-12)
