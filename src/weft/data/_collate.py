"""From samples to a batch, and back.

>>> batch = default_collate([{"x": [1.0, 2.0], "name": "a"}, {"x": [3.0, 4.0], "name": "b"}])
>>> batch
{'x': [array([1., 3.]), array([2., 4.])], 'name': ['a', 'b']}
>>> default_uncollate(batch)[1]
{'x': [np.float64(3.0), np.float64(4.0)], 'name': 'b'}
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.ops import stack

__all__ = ["default_collate", "default_uncollate"]


def default_collate(samples: Sequence[Any]) -> Any:
    """One batch of samples of the same structure: a first axis is added to what is at the leaves.

    Numbers and arrays give arrays, Tensors give Tensors, strings give lists; dicts, lists, tuples, named tuples,
    dataclasses and what `weft.pytree.register` was told of stay as they are around them.
    """
    if not samples:
        raise ValueError("default_collate: no samples")
    return _collate(list(samples), "")


def _collate(samples: list[Any], path: str) -> Any:
    first = samples[0]
    if isinstance(first, (np.ndarray, np.generic, numbers.Number, Tensor)):
        return _stacked(samples, path)
    if isinstance(first, (str, bytes)):
        _same_type(samples, (str, bytes), path)
        return samples
    _, tree = _open(first)
    if tree.kind is None:
        raise TypeError(
            f"default_collate: no rule for {type(first).__name__}{_at(path)}; "
            "give the loader a collate_fn, or register the class with weft.pytree.register"
        )
    rows = [_children(sample, first, tree, path) for sample in samples]
    columns = zip(*rows, strict=True)
    names = pytree.steps(tree)
    done = [_collate(list(column), path + name) for name, column in zip(names, columns, strict=True)]
    return pytree.from_parts(tree.kind, tree.context, done)


def default_uncollate(batch: Any) -> list[Any]:
    """The samples of a batch: what `default_collate` made one, taken apart along the first axis."""
    leaves, tree = pytree.flatten(batch, is_leaf=_is_strings)
    lengths = {len(leaf) if np.ndim(leaf) else None for leaf in leaves if not isinstance(leaf, (str, bytes))}
    if len(lengths) != 1 or None in lengths or any(isinstance(leaf, (str, bytes)) for leaf in leaves):
        shapes = ", ".join(str(np.shape(leaf)) for leaf in leaves)
        raise ValueError(f"unbatch: the parts of a batch have one length in common, got shapes {shapes or 'none'}")
    return [tree.unflatten(row) for row in zip(*leaves, strict=True)]


def _stacked(samples: list[Any], path: str) -> Any:
    _same_type(samples, (np.ndarray, np.generic, numbers.Number, Tensor), path)
    shapes = {np.shape(sample) for sample in samples}
    if len(shapes) != 1:
        listed = ", ".join(str(shape) for shape in sorted(shapes))
        raise ValueError(f"default_collate: shapes differ{_at(path)}: {listed}; pad or crop the samples to one shape")
    if isinstance(samples[0], Tensor):
        return stack(samples)
    if isinstance(samples[0], np.ndarray):
        return np.stack(samples)
    return np.array(samples)


def _same_type(samples: list[Any], kinds: tuple[type, ...], path: str) -> None:
    for position, sample in enumerate(samples):
        if not isinstance(sample, kinds):
            raise TypeError(
                f"default_collate: samples differ in structure{_at(path)}: "
                f"{type(samples[0]).__name__} in the first, {type(sample).__name__} in number {position}"
            )


def _open(value: Any) -> tuple[list[Any], pytree.Tree]:
    """The outermost container alone."""
    return pytree.flatten(value, is_leaf=lambda part: part is not value)


def _children(sample: Any, first: Any, tree: pytree.Tree, path: str) -> list[Any]:
    if isinstance(first, dict) and isinstance(sample, dict) and sample.keys() == first.keys():
        return [sample[key] for key in first]
    if tree.kind in (tuple, list) and type(sample) is tree.kind and len(sample) == len(tree.children):
        return [*sample]
    parts, own = _open(sample)
    if own.kind is not tree.kind or len(parts) != len(tree.children) or own.context != tree.context:
        raise TypeError(
            f"default_collate: samples differ in structure{_at(path)}: {_outline(first)} and {_outline(sample)}"
        )
    return parts


def _outline(value: Any) -> str:
    if isinstance(value, dict):
        return f"dict with keys {list(value)}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def _at(path: str) -> str:
    return f" at sample{path}" if path else ""


def _is_strings(value: Any) -> bool:
    """Strings are collated to a list, which is then a column and not a container."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, (str, bytes)) for item in value)
