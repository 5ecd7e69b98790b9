"""Updates in place, a block at a time, so that what is computed in between stays in the processor's cache.

`blocks` gives a parameter, its gradient and its state as flat arrays of real numbers. Writing to the first, or to the
state, changes them; the gradient is read only. A complex array appears as twice as many real ones, which is how
torch's optimisers treat it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from weft._tracing import current_recorder
from weft.autograd import Tensor

Array = np.ndarray[Any, Any]

BLOCK = 1 << 20  # bytes of one array: with fewer, Python's share of the time grows; with more, caches overflow


def blocks(parameter: Tensor, *state: Tensor, scratch: int = 0) -> Iterator[list[Array]]:
    """Blocks of the parameter, its gradient, the tensors of its state, and `scratch` arrays to compute in.

    Must be exhausted: after the last block the parameter is marked as written.
    """
    recorder = current_recorder.get()
    if recorder is not None:
        yield from recorder.training.blocks(parameter, state, scratch)
        return
    array = parameter.numpy()
    in_place = array.flags.writeable and array.flags.c_contiguous
    target = array if in_place else np.array(array, order="C")
    gradient = np.asarray(parameter.grad.numpy(), target.dtype, order="C")  # type: ignore[union-attr]  # steps need one
    arrays = [reals(target), reals(gradient), *(reals(_ready(tensor, target.dtype)) for tensor in state)]
    size, length = arrays[0].size, max(1, BLOCK // arrays[0].itemsize)
    room = [np.empty(min(size, length), arrays[0].dtype) for _ in range(scratch)]
    if size <= length:
        yield [*arrays, *room]
    else:
        for start in range(0, size, length):
            stop = min(start + length, size)
            yield [a[start:stop] for a in arrays] + [r[: stop - start] for r in room]
    if not in_place:
        put(parameter, target)
    parameter._mark_written()


def put(parameter: Tensor, values: Array) -> None:
    """Write values into a parameter's memory; where that is read-only, the parameter gets the values' own."""
    array = parameter.numpy()
    if array.flags.writeable:
        array[...] = values
    else:
        parameter.data = values.astype(array.dtype, copy=False)
    parameter._mark_written()


def downhill(g: Array, p: Array, out: Array, weight_decay: float, maximize: bool) -> Array:
    """The gradient to follow: turned round where the aim is a maximum, with `weight_decay` times the parameter added.

    The gradient itself where there is nothing to do, otherwise `out`.
    """
    if weight_decay:
        np.multiply(p, weight_decay, out=out)
        return np.subtract(out, g, out=out) if maximize else np.add(out, g, out=out)
    return np.negative(g, out=out) if maximize else g


def zeros_like(parameter: Tensor) -> Tensor:
    """Zeros of a parameter's shape and dtype, in C order."""
    return Tensor(np.zeros(parameter.shape, parameter.dtype))


def begin(state: dict[str, Any], names: Iterable[str], parameter: Tensor) -> None:
    """Let a state hold zeros under each name that it does not know yet."""
    for name in names:
        if name not in state:
            state[name] = zeros_like(parameter)


def reals(array: Array) -> Array:
    """The numbers of an array, one after another; a complex one is two."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _ready(tensor: Tensor, dtype: np.dtype[Any]) -> Array:
    """The array of a state, in the parameter's dtype (a module may have been cast since) and fit to be written to."""
    array = tensor.numpy()
    if array.dtype != dtype or not (array.flags.writeable and array.flags.c_contiguous):
        tensor.data = array = np.array(array, dtype, order="C")
    return array
