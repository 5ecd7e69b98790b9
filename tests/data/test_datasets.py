"""Datasets and samplers against plain Python."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.data import (
    ArrayDataset,
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    random_split,
)

quick = settings(derandomize=True, deadline=None, max_examples=50)


def test_array_dataset() -> None:
    x, y = np.arange(12).reshape(4, 3), np.array([5, 6, 7, 8])
    pairs = ArrayDataset(x, y)
    assert len(pairs) == 4
    assert [(row.tolist(), int(label)) for row, label in pairs] == list(zip(x.tolist(), y.tolist(), strict=True))
    assert pairs[-1][1] == 8
    named = ArrayDataset(x=x, y=[0.5] * 4)
    assert list(named[2]) == ["x", "y"]
    with pytest.raises(IndexError):
        pairs[4]


@pytest.mark.parametrize("arrays", [(), (np.zeros(2), np.zeros(3)), (np.array(1),)])
def test_array_dataset_refuses(arrays: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"takes arrays|differ in length: "):
        ArrayDataset(*arrays)
    with pytest.raises(TypeError, match="all by position or all by name"):
        TensorDataset(np.zeros(1), x=np.zeros(1))


def test_tensor_dataset() -> None:
    t = weft.tensor([[1.0], [2.0]])
    dataset = TensorDataset(t, np.array([1, 0]))
    assert dataset.arrays[0] is t
    x, y = dataset[1]
    assert isinstance(x, weft.Tensor) and isinstance(y, weft.Tensor)
    x, y = next(iter(DataLoader(dataset, 2)))
    assert isinstance(x, weft.Tensor) and x.shape == (2, 1) and y.tolist() == [1, 0]


def test_the_shorter_way_to_a_batch_is_the_same_batch() -> None:
    rng = np.random.default_rng(0)
    dataset = ArrayDataset(a=rng.normal(size=(9, 2)), b=rng.integers(5, size=9))
    for short in (dataset, Subset(dataset, [8, 1, 1, 3]), Subset(Subset(dataset, [8, 1, 1, 3]), [2, 0])):
        long = [short[i] for i in range(len(short))]
        for size in (1, 2, 3):
            fast = DataLoader(short, size)
            slow = DataLoader(long, size)
            for quickly, slowly in zip(fast, slow, strict=True):
                for key in "ab":
                    np.testing.assert_array_equal(quickly[key], slowly[key])
                    assert quickly[key].dtype == slowly[key].dtype


def test_a_subclass_that_indexes_in_its_own_way_has_no_shorter_way() -> None:
    class Named(ArrayDataset):
        def __getitem__(self, index: Any) -> Any:
            return f"{index}: {super().__getitem__(index)[0]}"

    class Reversed(Subset):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(len(self) - 1 - index)

    named = Named(np.arange(4) * 2)
    assert next(iter(DataLoader(named, 2))) == ["0: 0", "1: 2"]
    assert next(iter(DataLoader(Subset(named, [3, 0]), 2))) == ["3: 6", "0: 0"]
    assert next(iter(DataLoader(Reversed(ArrayDataset(np.arange(4)), [1, 2]), 2)))[0].tolist() == [2, 1]


def test_concat() -> None:
    joined = ConcatDataset([range(3), [], "ab"]) + Subset(["end"], [0])
    assert list(joined) == [0, 1, 2, "a", "b", "end"]
    assert [joined[i] for i in range(-6, 0)] == list(joined)
    for index in (6, -7):
        with pytest.raises(IndexError, match=f"index {index} of 6 samples"):
            joined[index]
    with pytest.raises(ValueError, match="no datasets"):
        ConcatDataset([])
    with pytest.raises(TypeError, match="generator has no numbered samples"):
        ConcatDataset([(i for i in range(2))])


def test_what_is_not_defined_says_so() -> None:
    with pytest.raises(TypeError, match="Dataset has no length"):
        len(Dataset())
    with pytest.raises(NotImplementedError, match="no __getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match="no __iter__"):
        iter(IterableDataset())
    with pytest.raises(NotImplementedError, match="no __iter__"):
        iter(Sampler())


@quick
@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(0, 5))
def test_random_split_is_a_partition(lengths: list[int], seed: int) -> None:
    whole = [f"s{i}" for i in range(sum(lengths))]
    parts = random_split(whole, lengths, seed)
    assert [len(part) for part in parts] == lengths
    assert Counter(sample for part in parts for sample in part) == Counter(whole)
    again = random_split(whole, lengths, seed)
    assert [part.indices for part in parts] == [part.indices for part in again]


@pytest.mark.parametrize(
    ("total", "fractions", "counts"),
    [(10, [0.9, 0.1], [9, 1]), (7, [0.5, 0.5], [4, 3]), (11, [0.25] * 4, [3, 3, 3, 2]), (3, [1.0], [3]), (1, [1], [1])],
)
def test_random_split_by_fractions(total: int, fractions: list[float], counts: list[int]) -> None:
    assert [len(part) for part in random_split(range(total), fractions, seed=0)] == counts


@pytest.mark.parametrize("lengths", [[1, 2], [0.5, 0.4], [-1, 11], [float("nan"), 1]])
def test_random_split_refuses(lengths: list[float]) -> None:
    with pytest.raises(ValueError, match="random_split: lengths"):
        random_split(range(10), lengths)


@quick
@given(st.integers(0, 30), st.integers(1, 7), st.booleans())
def test_batch_sampler(total: int, size: int, drop_last: bool) -> None:
    batches = BatchSampler(SequentialSampler(range(total)), size, drop_last)
    expected = [list(range(i, min(i + size, total))) for i in range(0, total, size)]
    if drop_last:
        expected = [batch for batch in expected if len(batch) == size]
    assert list(batches) == expected
    assert len(batches) == len(expected)


@quick
@given(st.integers(0, 30), st.integers(0, 2**64), st.integers(0, 3))
def test_random_sampler_is_a_permutation(total: int, seed: int, epoch: int) -> None:
    sampler = RandomSampler(range(total), seed)
    sampler.set_epoch(epoch)
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(total)) and len(sampler) == total
    assert sampler.epoch == epoch + 2
    if total > 15:
        assert first != second
        assert first != list(RandomSampler(range(total), seed + 1))


def test_every_permutation_comes_equally_often() -> None:
    sampler = RandomSampler(range(3), seed=0)
    found = Counter(tuple(sampler) for _ in range(1200))
    assert len(found) == 6
    # 200 expected of each, standard deviation 13: five of them allowed.
    assert all(abs(count - 200) < 65 for count in found.values())


def test_random_sampler_with_numbers_of_its_own() -> None:
    assert len(set(RandomSampler(range(50), 1, num_samples=20))) == 20
    twice = list(RandomSampler(range(5), 1, num_samples=8))
    assert sorted(twice[:5]) == list(range(5)) and len(twice) == 8 and len(set(twice[5:])) == 3
    drawn = list(RandomSampler(range(3), 1, replacement=True, num_samples=100))
    assert set(drawn) == {0, 1, 2} and len(drawn) == 100
    assert list(RandomSampler([], 0)) == list(RandomSampler([], 0, replacement=True)) == []
    with pytest.raises(ValueError, match="4 samples of an empty dataset"):
        iter(RandomSampler([], 0, num_samples=4))
    with pytest.raises(ValueError, match="not negative"):
        RandomSampler([1], 0, num_samples=-1)


def test_seeds() -> None:
    assert list(RandomSampler(range(20), np.random.default_rng(3))) == list(
        RandomSampler(range(20), np.random.default_rng(3))
    )
    with weft.random.isolated(5):
        first = list(RandomSampler(range(20)))
    with weft.random.isolated(5):
        assert list(RandomSampler(range(20))) == first
    with pytest.raises(ValueError, match="not negative, got -1"):
        RandomSampler([], -1)
    for wrong in (1.5, "a", True):
        with pytest.raises(TypeError, match="a seed is a whole number"):
            RandomSampler([], wrong)  # type: ignore[arg-type]


def test_datasets_pickle() -> None:
    dataset = ConcatDataset([Subset(ArrayDataset(np.arange(4)), [1, 2]), range(2)])
    assert list(pickle.loads(pickle.dumps(dataset))) == list(dataset)
