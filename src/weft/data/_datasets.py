"""Where samples come from: datasets with numbered samples, streams, and ways to divide and join them.

>>> train, test = random_split(range(10), [0.8, 0.2], seed=0)
>>> len(train), len(test), sorted([*train, *test]) == list(range(10))
(8, 2, True)
"""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.data._seeds import Seed, generator, seed_of

__all__ = [
    "ArrayDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class Dataset:
    """Numbered samples: `dataset[i]` for i from 0 to `len(dataset) - 1`.

    >>> class Squares(Dataset):
    ...     def __len__(self): return 4
    ...     def __getitem__(self, index): return index**2
    >>> list(Squares() + Squares())
    [0, 1, 4, 9, 0, 1, 4, 9]
    """

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} has no length: it does not define __len__")

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])

    def batch(self, indices: Sequence[int]) -> Any:
        """The samples at these indices as `default_collate` makes of them, or None where there is no shorter way."""
        return None


class IterableDataset:
    """A stream of samples: `__iter__` starts it from its beginning.

    Worker processes each read the whole stream and keep the batches that are theirs, so that the batches and their
    order do not depend on the number of workers.
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def at_epoch(self, epoch: int) -> Iterable[Any]:
        """The stream as it is in one epoch; a stream that is the same in all of them gives itself."""
        return self


class ArrayDataset(Dataset):
    """Rows of arrays of one length: tuples of rows, or dicts where the arrays are given by name.

    >>> ArrayDataset(np.arange(6).reshape(3, 2), np.array([7, 8, 9]))[1]
    (array([2, 3]), np.int64(8))
    >>> ArrayDataset(x=[1.5, 2.5])[0]
    {'x': np.float64(1.5)}
    """

    def __init__(self, *arrays: Any, **named: Any) -> None:
        if bool(arrays) == bool(named):
            raise TypeError(f"{type(self).__name__} takes arrays, either all by position or all by name")
        self.arrays = tuple(self._convert(array) for array in (*arrays, *named.values()))
        self.names = tuple(named)
        lengths = [len(array) if array.ndim else None for array in self.arrays]
        if None in lengths or len(set(lengths)) != 1:
            raise ValueError(f"the arrays differ in length: {', '.join(str(a.shape) for a in self.arrays)}")

    @staticmethod
    def _convert(array: Any) -> Any:
        return np.asarray(array)

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getitem__(self, index: Any) -> Any:
        rows = tuple(array[index] for array in self.arrays)
        return dict(zip(self.names, rows, strict=True)) if self.names else rows

    def batch(self, indices: Sequence[int]) -> Any:
        """The rows at these indices, each array indexed once."""
        if not _is_own(self, ArrayDataset) or not indices:
            return None
        return self[np.asarray(indices)]


class TensorDataset(ArrayDataset):
    """Rows of tensors of one length; see `ArrayDataset`.

    >>> TensorDataset([[1.0, 2.0], [3.0, 4.0]])[1]
    (tensor([3., 4.]),)
    """

    @staticmethod
    def _convert(array: Any) -> Any:
        return array if isinstance(array, Tensor) else Tensor(array)


class Subset(Dataset):
    """The samples of another dataset at the given indices.

    >>> list(Subset("abcde", [3, 0]))
    ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = [operator.index(index) for index in indices]

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[self.indices[index]]

    def batch(self, indices: Sequence[int]) -> Any:
        """What the dataset itself makes of the indices these stand for."""
        if not _is_own(self, Subset) or not isinstance(self.dataset, Dataset):
            return None
        return self.dataset.batch([self.indices[index] for index in indices])


class ConcatDataset(Dataset):
    """Datasets one after another.

    >>> "".join(ConcatDataset(["ab", "cde"]))
    'abcde'
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: no datasets given")
        for dataset in self.datasets:
            if not hasattr(dataset, "__getitem__"):
                raise TypeError(f"ConcatDataset: {type(dataset).__name__} has no numbered samples")
        self._ends = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, index: int) -> Any:
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"ConcatDataset: index {index} of {len(self)} samples")
        which = bisect.bisect_right(self._ends, at)
        return self.datasets[which][at - (self._ends[which - 1] if which else 0)]


def random_split(dataset: Any, lengths: Sequence[float], seed: Seed = None) -> list[Subset]:
    """Divide a dataset at random into subsets of these lengths, or of these fractions of the whole.

    >>> [len(part) for part in random_split(range(10), [0.5, 0.25, 0.25], seed=1)]
    [6, 2, 2]
    """
    counts = _counts(len(dataset), lengths)
    order = generator(seed_of(seed)).permutation(len(dataset)).tolist()
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends, strict=True)]


def _counts(total: int, lengths: Sequence[float]) -> list[int]:
    if any(not length >= 0 for length in lengths):
        raise ValueError(f"random_split: lengths are not negative, got {list(lengths)}")
    if all(float(length).is_integer() for length in lengths) and sum(lengths) == total:
        return [int(length) for length in lengths]
    if not math.isclose(sum(lengths), 1):
        raise ValueError(
            f"random_split: lengths add up to {sum(lengths)}, expected the {total} samples of the dataset, "
            "or 1 where they are fractions"
        )
    counts = [math.floor(total * fraction) for fraction in lengths]
    # What rounding down leaves over goes to the first subsets, one sample each.
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    return counts


def _is_own(dataset: Dataset, owner: type[Dataset]) -> bool:
    """Whether the dataset indexes as `owner` does: a subclass that indexes in its own way has no shorter way."""
    return type(dataset).__getitem__ is owner.__getitem__ and type(dataset).__len__ is owner.__len__
