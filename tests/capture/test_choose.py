"""Plain lists, tuples and texts indexed by a traced place: the item has the type it has in Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import SAME, fates

import weft
from weft.errors import CaptureError

TABLE = (3, 1, 4, 1, 5)
ITEMS: list[Callable[[Any, int], Any]] = [
    lambda x, k: TABLE[k],
    lambda x, k: [0.5, 1.5, 2.5][k],
    lambda x, k: [True, False, True][k],
    lambda x, k: [1j, 2.0 + 0j, 3j][k],
    lambda x, k: ["low", "middle", "high"][k],
    lambda x, k: [np.float32(1), np.float32(2), np.float32(3)][k],
    lambda x, k: [x, x + 1, x * 2][k],
    lambda x, k: [x[0], x[1], x.sum()][k],
    lambda x, k: ((1, 0), (0, 1), (-1, 0))[k],
    lambda x, k: [[1, 2], [3, 4], [5, 6]][k],
    lambda x, k: [[1, 2], [3, 4], [5, 6]][k][k],
    lambda x, k: [("a", 1.5), ("b", 2.5), ("c", 3.5)][k],
    lambda x, k: [x, x + 1, x * 2][k].copy() * 2,
    lambda x, k: [(slice(len(x)), 1), (slice(k, None), 2), (slice(None, 2), 3)][k],
    lambda x, k: x[[slice(2), slice(1, None), slice(None, None, 2)][k]],
    lambda x, k: "low"[k],
    lambda x, k: ("abcdef"[k : k + 3], "abcdef"[-k:], "abc"[k] == "b", "abc"[k] in "bc", f"{'abc'[k]}!"),
    lambda x, k: {"a": 1.5, "b": 2.5, "c": 3.5}["abc"[k]] * x if "abc"[k] != "a" else x,
    lambda x, k: (b"low"[k], b"abcdef"[k : k + 3], [b"abc"[int(v) % 3] + 1 for v in x]),
]


@pytest.mark.parametrize("pick", ITEMS, ids=range(len(ITEMS)))
def test_items_keep_their_type(pick: Callable[[Any, int], Any]) -> None:
    def program(x: Any) -> Any:
        return pick(x, int(x[0]))

    compiled = weft.compile(program)
    for first in (0.0, 1.0, -1.0):
        x = np.array([first, 4.0, 2.5])
        got, expected = compiled(x.copy()), program(x.copy())
        assert repr(got) == repr(expected)
        assert type(got) is type(expected)
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize("pick", [*(ITEMS[k] for k in (0, 4, 6)), lambda x, k: [2, 2][k]])
def test_a_place_out_of_range_is_an_index_error(pick: Callable[[Any, int], Any]) -> None:
    compiled = weft.compile(lambda x: pick(x, int(x[0])))
    compiled(np.array([1.0, 0.0]))
    with pytest.raises(IndexError):
        compiled(np.array([9.0, 0.0]))


def written_after(x):
    items = [x, x * 2]
    item = items[int(x[0])]
    x[1] = 9
    return item


def written_through(x):
    item = [x, x * 2][int(x[0])]
    item[1] = 9
    return x


def row_written(x):
    rows = [[1, 2], [3, 4]]
    row = rows[int(x[0])]
    row[0] = 5
    return rows


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            lambda x: [1, (2, np.ones(2))][int(x[0])],
            "a list of a number of type int and a tuple of 2, indexed by a traced value",
        ),
        (lambda x: [2**70, 1][int(x[0])], "a list of a number of type int, indexed by a traced value"),
        (written_after, "x was written after"),
        (written_through, "a write to"),
        (row_written, "a list, which stands for one of the items of a list, is changed"),
    ],
)
def test_what_is_refused(program: Callable[[Any], Any], message: str) -> None:
    x = np.array([1.0, 0.0])
    with pytest.raises(CaptureError) as caught:
        weft.compile(program)(copy.copy(x))
    assert message in caught.value.message
    assert caught.value.help


def fewest_coins(coins, amount):
    fewest = [float("inf")] * (amount + 1)
    fewest[0] = 0
    for i in range(1, amount + 1):
        for coin in coins:
            if coin <= i:
                fewest[i] = min(fewest[i], fewest[i - coin] + 1)
    return fewest[amount] if fewest[amount] != float("inf") else -1


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        (lambda x: [1, 2.5][int(x[0])], [(np.array([0.0]),), (np.array([1.0]),), (np.array([5.0]),)]),
        (lambda x: [x[0], 1.0, "none", True][int(x[0])] * 2, [(np.array([float(k)]),) for k in (0, 1, 2, 3, -1)]),
        (fewest_coins, [(np.array([1, 2, 5]), 11), (np.array([2]), 3), (np.array([5, 2]), 4)]),
    ],
)
def test_numbers_and_texts_of_several_types(program: Callable[..., Any], calls: list[Any]) -> None:
    assert fates(program, *calls)[0] == SAME


def test_numbers_of_several_types_have_no_derivative() -> None:
    with pytest.raises(CaptureError, match="a number of type int and a number of type float, indexed by"):
        weft.grad(lambda x: x[0] * [1, 2.5][int(x[0])])(np.array([1.0]))
