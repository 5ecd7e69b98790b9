"""Guards of compiled functions: what makes a call be captured again, and calls whose arrays share memory."""

from __future__ import annotations

import copy
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import weft
from weft.capture import _reads

SCALE = 2.0
COUNT = 3
NAME = "double"
OUTER = np.ones(4)
INNER = OUTER[1:3]


def same(compiled: Any, *args: Any, **kwargs: Any) -> None:
    """The compiled call gives what the plain one gives, in its result and in its arguments."""
    plain_args, plain_kwargs = copy.deepcopy((args, kwargs))
    expected = compiled.__weft_original__(*plain_args, **plain_kwargs)
    got = compiled(*args, **kwargs)
    for one, other in zip(
        weft.pytree.leaves_of([got, args, kwargs]),
        weft.pytree.leaves_of([expected, plain_args, plain_kwargs]),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
        assert type(one) is type(other)


class Pair(NamedTuple):
    a: Any
    b: Any


def pair_sum(p: Any) -> Any:
    return sum_of(p)


def sum_of(p: Any) -> Any:
    values = list(p.values()) if isinstance(p, dict) else list(p)
    total = values[0]
    for value in values[1:]:
        total = total * 2 + value
    return total


STRUCTURES = [
    (np.ones(2), np.zeros(2)),
    [np.ones(2), np.zeros(2)],
    {"a": np.ones(2), "b": np.zeros(2)},
    {"b": np.ones(2), "a": np.zeros(2)},
    {"a": np.ones(2), "b": np.zeros(2), "c": np.ones(2)},
    (np.ones(2), np.zeros(2), np.ones(2)),
    Pair(np.ones(2), np.zeros(2)),
    (np.ones(2), 3),
    (np.ones(2), 3.0),
    (np.ones(2), True),
]


def test_another_structure_is_another_graph() -> None:
    compiled = weft.compile(pair_sum)
    for count, value in enumerate(STRUCTURES, 1):
        same(compiled, value)
        assert compiled.cache_info().misses == count, value
    for value in STRUCTURES:
        same(compiled, value)
    assert compiled.cache_info().misses == len(STRUCTURES)
    assert "the structure of p is another" in compiled.why_recompiled()


def nested(p: Any) -> Any:
    return p["x"][0] + p["x"][1]["y"] * p["z"]


def test_nested_structures_are_taken_apart() -> None:
    compiled = weft.compile(nested)
    for scale in (1.0, 2.0, 3.0):
        same(compiled, {"x": (np.ones(3), {"y": np.arange(3.0)}), "z": scale})
    same(compiled, {"x": (np.ones(3), {"y": np.arange(3)}), "z": 2.0})
    assert compiled.cache_info().misses == 2
    assert compiled.why_recompiled() == ["p['x'][1]['y'] has dtype int64, was float64"]


def awkward(run: Any, type: Any, compiled: Any = 2.0, p0: Any = 3.0, MISS: Any = 4.0, *, v0: Any = 5.0) -> Any:
    return run * type + compiled * p0 - MISS / v0


def test_parameters_may_have_any_name() -> None:
    compiled = weft.compile(awkward)
    for _ in range(2):
        same(compiled, np.arange(3.0), 2.0)
        same(compiled, np.arange(3.0), type=2.0, v0=1.0, MISS=7.0)


def reads_globals(x: Any) -> Any:
    return x * SCALE + COUNT if NAME == "double" else x


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("SCALE", [2.0, 3.0, 2, True, 0.0, -0.0, float("nan"), float("inf"), np.float32(2)]),
        ("COUNT", [3, 4, 3.0, True, 1, np.int8(3)]),
        ("NAME", ["double", "other"]),
    ],
)
def test_globals_are_compared_by_type_and_value(name: str, values: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = weft.compile(reads_globals)
    for count, value in enumerate(values, 1):
        monkeypatch.setitem(globals(), name, value)
        same(compiled, np.ones(2, np.float32))
        same(compiled, np.ones(2, np.float32))
        assert compiled.cache_info().misses == count, value


def test_hits_are_counted() -> None:
    compiled = weft.compile(lambda x: x + 1)
    for _ in range(4):
        compiled(np.ones(2))
    compiled(np.ones((2, 2)))
    info = compiled.cache_info()
    assert (info.hits, info.misses, info.currsize) == (3, 2, 2)


def write_first(a: Any, b: Any) -> Any:
    before = b * 1.0
    a[0] = 7.0
    return before + b


def test_arrays_that_share_memory_run_as_the_plain_call() -> None:
    compiled = weft.compile(write_first)
    for _ in range(3):
        base = np.arange(6.0)
        expected = write_first(base[:4], base[:4][::-1])
        base = np.arange(6.0)
        np.testing.assert_array_equal(compiled(base[:4], base[:4][::-1]), expected)
        assert base[0] == 7.0
    assert compiled.cache_info().currsize == 1  # calls of the kind are not captured again and again
    same(compiled, np.arange(4.0), np.ones(4))
    assert compiled.cache_info().misses == 1
    shared = np.arange(4.0)
    np.testing.assert_array_equal(compiled(shared, shared), [7.0, 2.0, 4.0, 6.0])
    assert compiled.cache_info().misses == 2  # one array given twice is captured as such


def test_one_array_twice_and_then_two() -> None:
    compiled = weft.compile(write_first)
    shared = np.arange(4.0)
    np.testing.assert_array_equal(compiled(shared, shared), [7.0, 2.0, 4.0, 6.0])
    same(compiled, np.arange(4.0), np.ones(4))
    base = np.arange(8.0)
    np.testing.assert_array_equal(compiled(base[1:5], base[:4]), [0.0, 8.0, 4.0, 6.0])


def test_a_tensor_over_an_array_that_is_written() -> None:
    array = np.arange(4.0)
    compiled = weft.compile(write_first)
    np.testing.assert_array_equal(compiled(array, weft.Tensor(array)).numpy(), [7.0, 2.0, 4.0, 6.0])


def write_and_read_outer(x: Any) -> Any:
    before = OUTER * 1.0
    x[0] = 7.0
    return before + OUTER


def test_an_argument_that_shares_memory_with_an_array_from_outside() -> None:
    compiled = weft.compile(write_and_read_outer)
    OUTER[:] = 1.0
    np.testing.assert_array_equal(compiled(np.zeros(2)), [2.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(compiled(OUTER[1:]), [2.0, 8.0, 2.0, 2.0])
    OUTER[:] = 1.0
    np.testing.assert_array_equal(compiled(OUTER), [8.0, 2.0, 2.0, 2.0])
    OUTER[:] = 1.0


def write_outer(x: Any) -> Any:
    before = INNER * 1.0
    OUTER[1] = x
    return before + INNER


def test_arrays_from_outside_that_share_memory() -> None:
    compiled = weft.compile(write_outer)
    for value in (3.0, 5.0):
        OUTER[:] = 1.0
        np.testing.assert_array_equal(compiled(value), [1.0 + value, 2.0])
    OUTER[:] = 1.0


def test_threads_that_miss_at_once_capture_once() -> None:
    compiled = weft.compile(lambda x: x * 2 + 1)
    start = threading.Barrier(4)
    results: list[Any] = []

    def call() -> None:
        start.wait()
        results.append(compiled(np.arange(3.0)))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled.cache_info().misses == 1
    for result in results:
        np.testing.assert_array_equal(result, [1.0, 3.0, 5.0])


AXES = {"xyz": (0, 1, (2, 0.0)), "zyx": (2, 1, (0, 0.5))}


def test_tuples_that_nothing_can_change_are_told_by_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    def turned(x: Any, order: str) -> Any:
        first, second, (third, by) = AXES[order]
        return x[first] - x[second] * x[third] + by

    compiled, x = weft.compile(turned), np.arange(3.0)
    assert compiled(x, "xyz") == turned(x, "xyz")
    with monkeypatch.context() as patch:
        patch.setattr(_reads, "_content", None)  # nobody looks at what they hold
        assert compiled(x, "xyz") == turned(x, "xyz")
    monkeypatch.setitem(AXES, "xyz", (0, 1, (2, 0 * 1.0)))
    assert compiled(x, "xyz") == turned(x, "xyz")
    assert compiled.cache_info().misses == 1
    for other in ((0, 1, (2, -0.0)), (0, np.int64(1), (2, 0.0)), (0, 1, (1, 0.0)), (0, 1, [2, 0.0])):
        monkeypatch.setitem(AXES, "xyz", other)
        assert compiled(x, "xyz") == turned(x, "xyz")
    assert compiled.cache_info().misses == 5
