"""What movement, joining, padding and sorting refuse, in the same words for arrays and Specs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tape import Traced, gradients

import weft
from weft.errors import NotDifferentiable, ShapeError, UnknownShape

X = np.ones((2, 3))

REFUSED = [
    (lambda x: weft.reshape(x, (4, 2)), r"reshape: \(2, 3\) has 6 elements, \(4, 2\) has 8"),
    (lambda x: weft.reshape(x, (-1, -1)), r"reshape: \(2, 3\) does not fit \(-1, -1\)"),
    (lambda x: weft.reshape(x, (-1, 4)), r"reshape: \(2, 3\) does not fit \(-1, 4\)"),
    (lambda x: weft.permute_dims(x, (0,)), r"permute_dims: axes \(0,\) do not name all 2 dimensions of \(2, 3\)"),
    (lambda x: weft.permute_dims(x, (0, 0)), r"permute_dims: axis \(0, 0\) names a dimension twice"),
    (lambda x: weft.permute_dims(x, (0, 2)), r"permute_dims: axis 2 is out of range for an array of 2 dimensions"),
    (lambda x: weft.moveaxis(x, (0, 1), 0), r"moveaxis: 2 sources but 1 destinations"),
    (lambda x: weft.moveaxis(x, 2, 0), r"moveaxis: axis 2 is out of range"),
    (lambda x: weft.swapaxes(x, 0, -3), r"swapaxes: axis -3 is out of range"),
    (lambda x: weft.expand_dims(x, 4), r"expand_dims: axis 4 is out of range for an array of 3 dimensions"),
    (lambda x: weft.squeeze(x, 1), r"squeeze: axis 1 of \(2, 3\) has size 3, expected 1"),
    (lambda x: weft.flatten(x, 1, 0), r"flatten: start_dim 1 comes after end_dim 0 in \(2, 3\)"),
    (lambda x: weft.broadcast_to(x, (2, 4)), r"broadcast_to: shapes \(2, 3\) and \(2, 4\) do not broadcast: 3 != 4"),
    (lambda x: weft.broadcast_to(x, (3,)), r"broadcast_to: \(2, 3\) does not broadcast to \(3,\)"),
    (lambda x: weft.broadcast_arrays(x, np.ones(2)), r"broadcast_arrays: shapes \(2, 3\) and \(2,\) do not broadcast"),
    (lambda x: weft.repeat(x, [1, 2], axis=1), r"repeat: 2 repeats for axis 1 of \(2, 3\), expected 1 or 3"),
    (lambda x: weft.repeat(x, 2, axis=2), r"repeat: axis 2 is out of range"),
    (lambda x: weft.flip(x, 2), r"flip: axis 2 is out of range"),
    (lambda x: weft.roll(x, 1, 2), r"roll: axis 2 is out of range"),
    (lambda x: weft.roll(x, (1, 2, 3), (0, 1)), r"roll: 3 shifts for 2 axes"),
    (
        lambda x: weft.concat([x, np.ones((2, 4))]),
        r"concat: shapes \(2, 3\) and \(2, 4\) \(array 1\) differ outside axis 0",
    ),
    (lambda x: weft.concat([x, np.ones(3)]), r"concat: shapes \(2, 3\) and \(3,\) \(array 1\) differ outside axis 0"),
    (lambda x: weft.concat([x, x], axis=2), r"concat: axis 2 is out of range"),
    (lambda x: weft.stack([x, x[0]]), r"stack: all shapes must be equal; \(2, 3\) and \(3,\) \(array 1\) differ"),
    (lambda x: weft.stack([x, x], 3), r"stack: axis 3 is out of range for an array of 3 dimensions"),
    (lambda x: weft.unstack(x, 2), r"unstack: axis 2 is out of range"),
    (
        lambda x: weft.split(x, 2, 1),
        r"split: 3 elements do not divide into 2 equal parts\n  (at .*\n  )?help: give indices",
    ),
    (lambda x: weft.split(x, 0), r"split: 2 elements do not divide into 0 equal parts"),
    (lambda x: weft.chunk(x, 0), r"chunk: expected a positive number of chunks, got 0"),
    (lambda x: weft.pad(x, [1, 2, 3]), r"pad: pad_width \[1, 2, 3\] does not fit 2 dimensions\n  (at .*\n  )?help: "),
    (lambda x: weft.pad(x, -1), r"pad: widths are not negative, got \(-1, -1\)\n  (at .*\n  )?help: slice"),
    (lambda x: weft.pad(x[:0], 1, "edge"), r"pad: axis 0 of \(0, 3\) is empty, so mode 'edge' has nothing to take"),
    (lambda x: weft.sort(x, 2), r"sort: axis 2 is out of range"),
    (lambda x: weft.argsort(x, -3), r"argsort: axis -3 is out of range"),
    (lambda x: weft.topk(x, 4), r"topk: k is 4, expected 0 to 3, the size of axis 1 of \(2, 3\)"),
    (lambda x: weft.topk(x, -1), r"topk: k is -1, expected 0 to 3"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=lambda v: v[:20] if isinstance(v, str) else "")
def test_shapes_that_do_not_fit(call: Any, message: str) -> None:
    for x in (X, weft.spec((2, 3))):
        with pytest.raises(ShapeError, match=message):
            call(x)


def test_wrong_arguments() -> None:
    for x in (X, weft.spec((2, 3))):
        with pytest.raises(ValueError, match="pad: mode 'mirror' is not one of constant, reflect"):
            weft.pad(x, 1, "mirror")
    for op in (weft.concat, weft.stack):
        with pytest.raises(TypeError, match=f"{op.name}: expected a list or tuple of arrays, got one array"):
            op(X)
    for op in (weft.concat, weft.stack, weft.hstack, weft.vstack):
        with pytest.raises(ShapeError, match=f"{op.name}: expected at least one array, got none"):
            op([])
    with pytest.raises(
        ShapeError, match=r"concat: expected arrays of one or more dimensions, got a scalar\n  (at .*\n  )?help: "
    ):
        weft.concat([np.array(1.0), np.array(2.0)])
    with pytest.raises(ValueError, match="reshape: copy=False, but this shape cannot be had without copying"):
        weft.reshape(X.T, (6,), copy=False)


def test_sizes_computed_from_values_are_unknown() -> None:
    n, x = weft.spec((), "int64"), weft.spec((6,))
    for call in (
        lambda: weft.reshape(x, (n, 3)),
        lambda: weft.reshape(x, n),
        lambda: weft.broadcast_to(x, (n, 6)),
        lambda: weft.tile(x, n),
        lambda: weft.repeat(x, n),
        lambda: weft.split(x, [n]),
        lambda: weft.pad(x, n),
        lambda: weft.pad(x, (1, n)),
        lambda: weft.split(x, n),
        lambda: weft.topk(x, n),
    ):
        with pytest.raises(UnknownShape, match=r"known only when it runs"):
            call()
    for op in (weft.unique_all, weft.unique_counts, weft.unique_inverse, weft.unique_values):
        with pytest.raises(
            UnknownShape, match=f"{op.name}: how many distinct values there are is known only when it runs"
        ):
            op(x)


def test_no_gradient_says_why() -> None:
    x = Traced(np.array([3.0, 1.0, 2.0]))
    with pytest.raises(NotDifferentiable, match="how many distinct values there are changes with the values"):
        gradients(weft.unique_values(x), [x])
    c = Traced(np.array(1.0))
    with pytest.raises(
        NotDifferentiable, match=r"pad: constant_values in a list or tuple\n  (at .*\n  )?help: give them as one array"
    ):
        gradients(weft.pad(x, 1, constant_values=(c, 2.0)), [c])
