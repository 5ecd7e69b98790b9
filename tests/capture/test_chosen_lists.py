"""Lists that are one of several, as a traced index says, are the same objects under their other names."""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from alike import REFUSED, SAME, fates

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


class Pair(NamedTuple):
    items: list[float]
    number: float


@dataclasses.dataclass
class Held:
    number: float
    items: list[float]


class Items(list[Any]):
    pass


class Filled(dict[Any, Any]):
    def __missing__(self, key: Any) -> Any:
        self[key] = []
        return self[key]


def in_a_tuple(x: float) -> Any:
    held = [([1.0], 2), ([3.0], 4)]
    held[int(x) % 2][0].append(x)
    return held


def unpacked_from_a_tuple(x: float) -> Any:
    held = (([1.0], 2), ([3.0], 4))
    items, _ = held[int(x) % 2]
    items.append(x)
    return held


def in_a_named_tuple(x: float) -> Any:
    held = [Pair([1.0], 2), Pair([3.0], 4)]
    held[int(x) % 2].items.append(x)
    return held


def in_a_dataclass(x: float) -> Any:
    held = [Held(1.0, [1.0]), Held(2.0, [2.0])]
    held[int(x) % 2].items.append(x)
    return held


def a_field_of_a_dataclass(x: float) -> Any:
    held = [Held(1.0, [1.0]), Held(2.0, [2.0])]
    held[int(x) % 2].number = x
    return held


def a_deque(x: float) -> Any:
    held = [deque([1.0]), deque([2.0])]
    held[int(x) % 2].append(x)
    return held


def an_ordered_dict(x: float) -> Any:
    held = [OrderedDict(a=1.0), OrderedDict(a=2.0)]
    held[int(x) % 2]["a"] = x
    return held


def a_counter(x: float) -> Any:
    held = [Counter(a=1), Counter(a=2)]
    held[int(x) % 2].update("aab")
    return held


def a_list_of_another_class(x: float) -> Any:
    held = [Items([1.0]), Items([2.0])]
    held[int(x) % 2].append(x)
    return held


def in_a_slice(x: float) -> Any:
    held = [[1.0], [2.0]]
    for items in held[int(x) % 2 :]:
        items.append(x)
    return held


def in_a_copy(x: float) -> Any:
    held = [[[1, 2], [3]], [[4], [5]]]
    copied = held[int(x) % 2].copy()
    copied[0].append(9)
    return held


def of_a_dict_by_a_text(x: float) -> Any:
    held = {"a": ([1.0],), "b": ([2.0],)}
    held["a" if x > 2 else "b"][0].append(x)
    return held


def of_a_dict_by_get(x: float) -> Any:
    held = {"a": [1.0], "b": [2.0]}
    held.get("a" if x > 2 else "b").append(x)  # type: ignore[union-attr]
    return held


def by_values(x: float) -> Any:
    held = {"a": {"l": [1.0]}, "b": {"l": [2.0]}}
    for items in held["a" if x > 2 else "b"].values():
        items.append(x)
    return held


def by_items(x: float) -> Any:
    held = {"a": {"l": [1.0]}, "b": {"l": [2.0]}}
    for _, items in held["a" if x > 2 else "b"].items():  # noqa: PERF102  # what is tested
        items.append(x)
    return held


def by_the_function(x: float) -> Any:
    held = [[1.0], [2.0]]
    operator.getitem(held, int(x) % 2).append(x)
    return held


def made_where_it_is_missing(x: float) -> Any:
    held = defaultdict(list)
    held["a" if x > 2 else "b"].append(x)
    return held


def made_by_the_function(x: float) -> Any:
    held: Any = defaultdict(list)
    operator.getitem(held, "a" if x > 2 else "b")
    return held


def made_in_a_loop(x: float) -> Any:
    held = defaultdict(list)
    for k in range(3):
        held["a" if x > k else "b"].append(x)
    return held


def made_inside(x: float) -> Any:
    held: Any = [defaultdict(int), defaultdict(int)]
    held[int(x) % 2]["a"] += 1
    return held


def made_by_a_class(x: float) -> Any:
    held = Filled()
    held["a" if x > 2 else "b"].append(x)
    return dict(held)


CHANGES = [
    *(in_a_tuple, unpacked_from_a_tuple, in_a_named_tuple, in_a_dataclass, a_field_of_a_dataclass, a_deque),
    *(an_ordered_dict, a_counter, a_list_of_another_class, in_a_slice, in_a_copy, of_a_dict_by_a_text),
    *(of_a_dict_by_get, by_values, by_items, by_the_function, made_where_it_is_missing, made_by_the_function),
    *(made_in_a_loop, made_inside, made_by_a_class),
]


@pytest.mark.parametrize("program", CHANGES)
def test_what_is_chosen_is_changed_in_its_place_or_refused(program: Callable[..., Any]) -> None:
    assert set(fates(program, (1.0,), (4.0,))) <= {REFUSED, SAME}


def reads_much(x: float) -> Any:
    held = {"a": {"n": 1, "l": [1.0]}, "b": {"n": 2, "l": [2.0]}}
    one = held["a" if x > 2 else "b"]
    number, more, total, count = one["n"], one.get("n", 0), sum(one["l"]), len(one["l"])
    number += 1
    more += 1
    total += 1.0
    count += 1
    copied = one["l"].copy()
    copied.append(x)
    return number, more, total, count, copied, held


def test_numbers_and_copies_of_what_is_chosen_may_change() -> None:
    assert fates(reads_much, (1.0,), (4.0,)) == [SAME, SAME]


def keyed_by_a_float(x: Any) -> Any:
    held = {}
    for value in x.tolist():
        held[value] = 1
    return held


def test_a_dict_keyed_by_what_only_running_tells_is_refused_in_words() -> None:
    with pytest.raises(CaptureError, match="a key of a dict that is traced: which one it is"):
        weft.compile(keyed_by_a_float)(np.ones(3))
