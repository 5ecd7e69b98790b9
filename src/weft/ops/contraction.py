"""`einsum`: sums of products in index notation.

    einsum("bij,bjk->bik", x, y)     a stack of matrix products
    einsum("ii->", x)                the trace
    einsum(x, [0, 1], y, [1, 2])     the same notation with numbers for letters

`einsum` reads the notation and calls `contract`, whose subscripts are always explicit: letters only, with an output.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from weft import ops
from weft.errors import ShapeError
from weft.ops._cost import Cost
from weft.ops._families import composite, conj, op
from weft.ops._matrices import put_in
from weft.ops._op import ANY_ORDER, like
from weft.ops._spec import Shape, Spec, dtype_of, shape_of
from weft.ops.linalg import from_diagonal

__all__ = ["einsum"]


def _split(equation: str) -> tuple[list[str], str]:
    """The labels of each operand and of the result, from explicit subscripts."""
    inputs, output = equation.split("->")
    return inputs.split(","), output


def _sizes(equation: str, shapes: Sequence[Shape]) -> dict[str, int]:
    """The size of each label; a dimension of one broadcasts."""
    inputs, _ = _split(equation)
    if len(inputs) != len(shapes):
        raise ShapeError(f"einsum: {equation!r} names {len(inputs)} operands, got {len(shapes)}")
    sizes: dict[str, int] = {}
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        if len(labels) != len(shape):
            raise ShapeError(f"einsum: {labels!r} has {len(labels)} labels, operand {i} has shape {shape}")
        for label, dim in zip(labels, shape, strict=True):
            known = sizes.setdefault(label, dim)
            if known == 1:
                sizes[label] = dim
            elif dim not in (1, known):
                raise ShapeError(
                    f"einsum: {label!r} in {equation!r} stands for {known} and for {dim} (operand {i}, {shape})"
                )
        for label in set(labels):
            own = [dim for each, dim in zip(labels, shape, strict=True) if each == label]
            if any(dim != own[0] for dim in own[1:]):
                raise ShapeError(f"einsum: {label!r} is repeated in {labels!r} over different dimensions of {shape}")
    return sizes


def _contract_spec(equation: str, operands: Sequence[Any]) -> Spec:
    sizes = _sizes(equation, [shape_of(x) for x in operands])
    return Spec((sizes[label] for label in _split(equation)[1]), np.result_type(*(dtype_of(x) for x in operands)))


def _contract_rule(g: Any, y: Any, equation: str, operands: Sequence[Any]) -> list[Any]:
    """For each operand: contract the gradient with all the others, then undo what was summed or repeated in it."""
    inputs, output = _split(equation)
    return [_pullback(g, inputs, output, operands, i) for i in range(len(operands))]


def _pullback(g: Any, inputs: list[str], output: str, operands: Sequence[Any], i: int) -> Any:
    x, labels = operands[i], inputs[i]
    others = [output, *inputs[:i], *inputs[i + 1 :]]
    present = "".join(label for label in dict.fromkeys(labels) if any(label in other for other in others))
    values = [g, *(conj(other) for j, other in enumerate(operands) if j != i)]
    pulled = contract(f"{','.join(others)}->{present}", *values)
    unique = "".join(dict.fromkeys(labels))
    dims = dict(zip(labels, shape_of(x), strict=True))
    got = dict(zip(present, shape_of(pulled), strict=True))
    # What was summed away on its own comes back by repetition; a size of one that was broadcast keeps its full size
    # here, and `like` sums it.
    pulled = ops.reshape(pulled, tuple(got.get(label, 1) for label in unique))
    full = tuple(dims[label] if dims[label] != 1 else got.get(label, 1) for label in unique)
    if shape_of(pulled) != full:
        pulled = ops.broadcast_to(pulled, full)
    return like(_repeated(pulled, unique, labels), x)


def _repeated(x: Any, unique: str, labels: str) -> Any:
    """Lay x out along the diagonals of repeated labels: `unique` names its axes now, `labels` the axes wanted."""
    names = list(unique)
    for label in unique:
        for _ in range(labels.count(label) - 1):
            axis, shape = names.index(label), shape_of(x)
            x = from_diagonal(ops.moveaxis(x, axis, -1), (*shape[:axis], *shape[axis + 1 :], shape[axis], shape[axis]))
            names = [*names[:axis], *names[axis + 1 :], label, label]
    order: list[int] = []
    for label in labels:
        order.append(next(k for k, name in enumerate(names) if name == label and k not in order))
    return ops.permute_dims(x, tuple(order)) if order != sorted(order) else x


def _all_indices(y: Any, equation: str, operands: Sequence[Any]) -> float:
    """One product for each combination of the indices, and its sum."""
    sizes: dict[str, float] = {}
    for letters, operand in zip(_split(equation)[0], operands, strict=True):
        if operand is not None:
            sizes.update(zip(letters, operand.shape, strict=False))
    return 2 * math.prod(sizes.values())


@op(
    arrays=("operands",),
    infer=_contract_spec,
    vjp=(_contract_rule,),
    memory=None,
    cost=Cost(_all_indices),
    order=ANY_ORDER,
)
def contract(equation: str, /, *operands: Any) -> Any:
    """Sum of products of the operands in explicit index notation, evaluated pair by pair."""
    arrays = [np.asarray(x) for x in operands]
    for pair, subscripts, product in _plan(equation, tuple(x.shape for x in arrays)):
        chosen = [arrays[i] for i in pair]
        arrays = [x for i, x in enumerate(arrays) if i not in pair]
        arrays.append(np.einsum(subscripts, *chosen) if product is None else product(*chosen))
    return arrays[0] if arrays[0].shape else arrays[0][()]


class _Product(NamedTuple):
    """One product of two arrays as a stack of matrix products: how to lay out each side, and the result."""

    left: tuple[str | None, list[int], list[int]]  # einsum that sums what only this side has, transpose, reshape
    right: tuple[str | None, list[int], list[int]]
    shape: list[int]
    order: list[int]

    def __call__(self, a: Any, b: Any) -> Any:
        product = np.matmul(_laid_out(a, *self.left), _laid_out(b, *self.right))
        return product.reshape(self.shape).transpose(self.order)


def _laid_out(x: Any, alone: str | None, order: list[int], shape: list[int]) -> Any:
    return (x if alone is None else np.einsum(alone, x)).transpose(order).reshape(shape)


@lru_cache(maxsize=1024)
def _plan(equation: str, shapes: tuple[Shape, ...]) -> list[tuple[tuple[int, ...], str, _Product | None]]:
    """The steps of a contraction: which operands to take together, their subscripts, and how matmul can do it."""
    _sizes(equation, shapes)
    inputs, output = _split(equation)
    dims = [dict(zip(labels, shape, strict=True)) for labels, shape in zip(inputs, shapes, strict=True)]
    steps = []
    for pair in _order(equation, shapes):
        taken, own = [inputs[i] for i in pair], [dims[i] for i in pair]
        inputs = [labels for i, labels in enumerate(inputs) if i not in pair]
        dims = [d for i, d in enumerate(dims) if i not in pair]
        kept = set(output).union(*inputs)
        found = "".join(dict.fromkeys(label for labels in taken for label in labels if label in kept))
        target = found if inputs else output
        steps.append((pair, f"{','.join(taken)}->{target}", _as_matmul(taken, target, own)))
        inputs.append(target)
        dims.append({c: next((d[c] for d in own if d.get(c, 1) != 1), 1) for c in target})
    return steps


def _order(equation: str, shapes: tuple[Shape, ...]) -> list[tuple[int, ...]]:
    """Which operands to take together, in turn; NumPy's search for a cheap order where there is a choice."""
    if len(shapes) <= 2:
        return [tuple(range(len(shapes)))]
    path, _ = np.einsum_path(equation, *(np.broadcast_to(np.float64(0), shape) for shape in shapes), optimize="greedy")
    return [tuple(step) for step in path[1:]]


def _as_matmul(inputs: list[str], output: str, dims: list[dict[str, int]]) -> _Product | None:
    """The product as a stack of matrix products; None where nothing is summed between two operands."""
    if len(inputs) != 2:
        return None
    left, right = (
        "".join(c for c in dict.fromkeys(labels) if c in output or c in other)
        for labels, other in zip(inputs, reversed(inputs), strict=True)
    )
    shared = [c for c in left if c in right]
    batch, summed = [c for c in shared if c in output], [c for c in shared if c not in output]
    if not summed or any(dims[0][c] != dims[1][c] for c in shared):  # a size of one that broadcasts
        return None
    rows, columns = [c for c in left if c not in right], [c for c in right if c not in left]
    sizes = dims[0] | dims[1]

    def side(labels: str, kept: str, *groups: list[str]) -> tuple[str | None, list[int], list[int]]:
        order = [kept.index(c) for group in groups for c in group]
        shape = [math.prod(sizes[c] for c in group) for group in groups]
        return None if kept == labels else f"{labels}->{kept}", order, shape

    result = [*batch, *rows, *columns]
    return _Product(
        side(inputs[0], left, batch, rows, summed),
        side(inputs[1], right, batch, summed, columns),
        [sizes[c] for c in result],
        [result.index(c) for c in output],
    )


@composite(arrays=("subscripts", "operands"), numpy=(np.einsum,), memory=None, order=ANY_ORDER)
def einsum(subscripts: Any, /, *operands: Any, optimize: Any = True) -> Any:
    """Sum of products of the operands in index notation; see the module for examples."""
    if not isinstance(subscripts, str):
        subscripts, operands = _interleaved((subscripts, *operands))
    return contract(_explicit(subscripts, tuple(len(shape_of(x)) for x in operands)), *operands)


def _interleaved(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The string form of `einsum(x, [0, 1], y, [1, 2], [0, 2])`."""
    pairs = len(arguments) // 2
    lists = [arguments[2 * i + 1] for i in range(pairs)]
    output = arguments[2 * pairs :]
    letters = string.ascii_uppercase + string.ascii_lowercase

    def text(labels: Sequence[Any]) -> str:
        return "".join("..." if label is Ellipsis else letters[label] for label in labels)

    subscripts = ",".join(map(text, lists)) + ("->" + text(output[0]) if output else "")
    return subscripts, tuple(arguments[2 * i] for i in range(pairs))


@lru_cache(maxsize=1024)
def _explicit(subscripts: str, ndims: tuple[int, ...]) -> str:
    """Subscripts with every ellipsis spelled out and the output stated."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ndims):
        raise ShapeError(f"einsum: {subscripts!r} names {len(inputs)} operands, got {len(ndims)}")
    for part in (*inputs, right):
        if not all(c in string.ascii_letters for c in part.replace("...", "", 1)):
            raise ShapeError(f"einsum: {part!r} in {subscripts!r} is not made of letters and at most one '...'")
    widths = [n - len(part.replace("...", "")) if "..." in part else 0 for part, n in zip(inputs, ndims, strict=True)]
    for i, (width, part, ndim) in enumerate(zip(widths, inputs, ndims, strict=True)):
        if width < 0:
            raise ShapeError(f"einsum: {part!r} has too many labels for operand {i} of {ndim} dimensions")
    unused = [c for c in string.ascii_letters if c not in text]
    rest = "".join(unused[: max(widths)])
    inputs = [part.replace("...", rest[len(rest) - width :]) for part, width in zip(inputs, widths, strict=True)]
    if not arrow:
        once = sorted(c for c in set(left) - set(".,") if left.count(c) == 1)
        right = rest + "".join(once)
    elif "..." in right:
        right = right.replace("...", rest)
    elif rest:
        raise ShapeError(
            f"einsum: the output of {subscripts!r} leaves out the dimensions of '...'", help="sum them first"
        )
    for label in right:
        if right.count(label) > 1 or not any(label in part for part in inputs):
            raise ShapeError(f"einsum: {label!r} in the output of {subscripts!r} is repeated or in no operand")
    return ",".join(inputs) + "->" + right


put_in("weft.ops.contraction", contract)
