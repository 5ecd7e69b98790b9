"""Samples to batches and back."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.data import default_collate, default_uncollate


class Point(NamedTuple):
    x: Any
    label: Any


@dataclasses.dataclass
class Sample:
    image: Any
    info: dict[str, Any]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([1, 2], np.array([1, 2])),
        ([1.5, 2], np.array([1.5, 2.0])),
        ([True, False], np.array([True, False])),
        ([1j, 2], np.array([1j, 2])),
        ([np.float32(1), np.float32(2)], np.array([1, 2], np.float32)),
        ([np.zeros((2, 3), np.int8)] * 4, np.zeros((4, 2, 3), np.int8)),
        ([np.array(1), np.array(2)], np.array([1, 2])),
    ],
)
def test_leaves(samples: list[Any], expected: Any) -> None:
    batch = default_collate(samples)
    assert type(batch) is np.ndarray
    assert batch.dtype == expected.dtype
    np.testing.assert_array_equal(batch, expected)


def test_strings_and_tensors() -> None:
    assert default_collate(["a", "bc"]) == ["a", "bc"]
    assert default_collate([b"a", b"bc"]) == [b"a", b"bc"]
    batch = default_collate([weft.tensor([1.0, 2.0]), weft.tensor([3.0, 4.0])])
    assert isinstance(batch, weft.Tensor)
    assert batch.tolist() == [[1, 2], [3, 4]]


def test_containers() -> None:
    batch = default_collate([Point(np.array([1, 2]), "a"), Point(np.array([3, 4]), "b")])
    assert type(batch) is Point
    assert batch.x.tolist() == [[1, 2], [3, 4]] and batch.label == ["a", "b"]

    batch = default_collate([Sample(np.eye(2), {"n": [i, (i, "s")]}) for i in range(3)])
    assert type(batch) is Sample
    assert batch.image.shape == (3, 2, 2)
    assert batch.info["n"][0].tolist() == [0, 1, 2]
    assert batch.info["n"][1][1] == ["s"] * 3

    batch = default_collate([collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=4, a=3)])
    assert type(batch) is collections.OrderedDict
    assert {key: value.tolist() for key, value in batch.items()} == {"a": [1, 3], "b": [2, 4]}


def test_registered_classes() -> None:
    class Pair:
        def __init__(self, left: Any, right: Any) -> None:
            self.left, self.right = left, right

    weft.pytree.register(Pair, lambda p: ([p.left, p.right], None), lambda _, parts: Pair(*parts))
    batch = default_collate([Pair(1, "a"), Pair(2, "b")])
    assert batch.left.tolist() == [1, 2] and batch.right == ["a", "b"]


@pytest.mark.parametrize(
    ("samples", "kind", "message"),
    [
        ([], ValueError, "no samples"),
        ([None], TypeError, "no rule for NoneType; give the loader a collate_fn"),
        ([{"a": (1, object())}], TypeError, r"no rule for object at sample\['a'\]\[1\]"),
        ([Sample(1, {"k": {1}})], TypeError, r"no rule for set at sample.info\['k'\]"),
        ([np.zeros(2), np.zeros(3)], ValueError, r"shapes differ: \(2,\), \(3,\); pad or crop"),
        ([(1, np.zeros(2)), (1, np.zeros(3))], ValueError, r"shapes differ at sample\[1\]"),
        ([1, "a"], TypeError, "int in the first, str in number 1"),
        (["a", 1], TypeError, "str in the first, int in number 1"),
        ([(1, 2), (1, 2, 3)], TypeError, "samples differ in structure: tuple of 2 and tuple of 3"),
        ([{"a": 1}, {"b": 1}], TypeError, r"dict with keys \['a'\] and dict with keys \['b'\]"),
        ([[1], 1], TypeError, "list of 1 and int"),
    ],
)
def test_what_does_not_fit(samples: list[Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        default_collate(samples)


LEAVES = st.one_of(
    st.integers(-(2**40), 2**40).map(lambda i: lambda j: i + j),
    st.floats(allow_nan=False, width=32, min_value=-1e6, max_value=1e6).map(lambda x: lambda j: x * j),
    st.text(max_size=3).map(lambda s: lambda j: f"{s}{j}"),
    st.lists(st.integers(1, 3), max_size=2).map(lambda shape: lambda j: np.full(shape, j)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, min_size=1, max_size=3),
        st.tuples(inner, inner).map(lambda pair: Point(*pair)),
    ),
    max_leaves=5,
)


def same(a: Any, b: Any) -> bool:
    left, right = weft.pytree.flatten(a), weft.pytree.flatten(b)
    return left[1] == right[1] and all(np.array_equal(x, y) for x, y in zip(left[0], right[0], strict=True))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(TREES, st.integers(1, 4))
def test_uncollate_is_the_inverse(tree: Any, count: int) -> None:
    samples = [weft.pytree.map(lambda make, j=j: make(j), tree) for j in range(count)]
    parts = default_uncollate(default_collate(samples))
    assert len(parts) == count
    assert all(same(part, sample) for part, sample in zip(parts, samples, strict=True))


@pytest.mark.parametrize(
    "batch", [(), np.array(1), (np.zeros(2), np.zeros(3)), {"a": np.zeros(2), "b": 5}, "text", ("ab", np.zeros(2))]
)
def test_what_is_not_a_batch(batch: Any) -> None:
    with pytest.raises(ValueError, match="the parts of a batch have one length in common"):
        default_uncollate(batch)
