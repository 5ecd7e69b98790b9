"""What the graph of a training step calls when it runs: gradients, parameters and optimisers are read and set here.

All of them are effects to a graph: they stay, in the order in which the program has them.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.graph._effects import has_side_effect

Array = np.ndarray[Any, Any]


def _array(value: Any) -> Array:
    return value._array if isinstance(value, Tensor) else np.asarray(value)


@has_side_effect
def grad_of(tensor: Tensor) -> Array:
    """The gradient that a tensor has when the step begins."""
    assert tensor.grad is not None, "a guard has looked"
    return tensor.grad._array


@has_side_effect
def set_grad(tensor: Tensor, gradient: Any, keep: bool = False, came: Any = True) -> None:
    """`tensor.grad = gradient`, or None where none `came`; with `keep` the Tensor that is there gets the numbers."""
    if gradient is None or not came:
        tensor.grad = None
    elif keep and tensor.grad is not None:
        tensor.grad._array = _array(gradient)
    else:
        tensor.grad = Tensor(_array(gradient))


def memory(tensor: Tensor) -> Array:
    """The array in a tensor, fit to be written."""
    if not tensor._array.flags.writeable:
        tensor._array = np.array(tensor._array)
    return tensor._array


@has_side_effect
def put(tensor: Tensor, values: Any) -> None:
    """Write into the memory of a tensor; where that is read-only, it gets memory of its own."""
    _write(tensor, values)
    tensor._mark_written()


def _write(tensor: Tensor, values: Any) -> None:
    array = tensor._array
    if not array.flags.writeable:
        tensor._array = np.array(_array(values), array.dtype)
    elif values is not array:  # it is where the values were written into the memory itself
        array[...] = _array(values)


class Holder:
    """Holds an object, such as a module, for a graph that is to read it, and not to be made of it."""

    def __init__(self, value: Any) -> None:
        self.value = value


@has_side_effect
def set_mode(holder: Holder, mode: bool) -> None:
    """`module.train(mode)`."""
    holder.value.train(mode)


# Optimisers


@has_side_effect
def option(optimizer: Any, group: int, name: str, part: int | None = None) -> float:
    """A number among the options of a parameter group, as it is now."""
    value = optimizer.param_groups[group][name]
    return float(value if part is None else value[part])


@has_side_effect
def set_option(optimizer: Any, group: int, name: str, value: Any) -> None:
    """Set a number among the options of a parameter group."""
    optimizer.param_groups[group][name] = float(value)


@has_side_effect
def prepare(optimizer: Any, places: tuple[tuple[int, int], ...], came: tuple[Any, ...] | None = None) -> None:
    """Let an optimiser begin what it remembers of parameters, where it has not yet; they are named by their places.

    `came` says of each whether it has a gradient, where that is not certain.
    """
    for group, index in places if came is None else itertools.compress(places, came):
        options = optimizer.param_groups[group]
        parameter = options["params"][index]
        state = optimizer.state[parameter]
        optimizer._prepare(parameter, state, options)
        for name in optimizer._buffers:  # a module may have been cast since
            kept = state.get(name)
            if kept is not None and kept._array.dtype != parameter._array.dtype:
                kept._array = kept._array.astype(parameter._array.dtype)


@has_side_effect
def remembered(optimizer: Any, group: int, index: int, name: str) -> Any:
    """What an optimiser remembers of a parameter: an array, or a number."""
    options = optimizer.param_groups[group]
    parameter = options["params"][index]
    state = optimizer.state.get(parameter, {})
    if name not in state:  # no gradient came, so that nothing will be made of it
        optimizer._prepare(parameter, state := dict(state), options)
    value = state[name]
    return value._array if isinstance(value, Tensor) else value


@has_side_effect
def remember(
    optimizer: Any, group: int, index: int, name: str, value: Any, new: bool = False, came: Any = True
) -> None:
    """Let an optimiser remember something of a parameter; an array is written over the one before, unless `new`.

    Nothing is done where no gradient `came` to the parameter.
    """
    if not came:
        return
    state = optimizer.state[optimizer.param_groups[group]["params"][index]]
    before = state.get(name)
    if isinstance(before, Tensor) and not new:
        _write(before, value)
    elif isinstance(value, (Tensor, np.ndarray, np.generic)):
        state[name] = Tensor(np.array(_array(value)))
    else:
        state[name] = value


@has_side_effect
def forget(optimizer: Any, group: int, index: int, name: str, came: Any = True) -> None:
    """Let an optimiser forget something of a parameter."""
    if came:
        optimizer.state[optimizer.param_groups[group]["params"][index]].pop(name, None)


@has_side_effect
def begin_search(optimizer: Any, parameters: tuple[Any, ...], before: Any = None) -> Any:
    """Begin a step of an optimiser that asks for losses where it likes; `before` is one that this call has made."""
    state = optimizer.state.get(optimizer.param_groups[0]["params"][0], {}) if before is None else before.state
    return optimizer._search(optimizer, [_array(value) for value in parameters], state)


@has_side_effect
def tell(
    search: Any,
    loss: Any,
    parameters: tuple[Any, ...],
    gradients: tuple[Any, ...],
    came: tuple[Any, ...] | None = None,
) -> bool:
    """Let a search know what was found where it asked for it; whether it asks for more."""
    there = zip(gradients, came or (True,) * len(gradients), strict=True)
    found = [None if one is None or not is_there else _array(one) for one, is_there in there]
    given = map(_array, parameters)
    values = [one if one is asked else one.copy() for one, asked in zip(given, search.point, strict=True)]
    going: bool = search.tell(float(_array(loss).item()), values, found)
    return going


@has_side_effect
def point_of(search: Any) -> tuple[Array, ...]:
    """Where a search wants to know the loss; in the end, what it has found."""
    return tuple(search.point)


@has_side_effect
def end_search(optimizer: Any, search: Any) -> None:
    """Let an optimiser remember a search."""
    optimizer.state[optimizer.param_groups[0]["params"][0]] = search.state


@has_side_effect
def last_rate(schedule: Any, group: int) -> float:
    """`schedule.get_last_lr()[group]`."""
    return float(schedule.get_last_lr()[group])


@has_side_effect
def advance(schedule: Any, *args: Any, **kwargs: Any) -> None:
    """`schedule.step(*args)`: the next learning rate."""
    schedule.step(*args, **kwargs)


def to_tensor(values: Any) -> Tensor:
    """A Tensor of a result, which may be one."""
    return values if isinstance(values, Tensor) else Tensor(_array(values))


def to_array(values: Any) -> Any:
    """An array, or a number of NumPy's, of a result that may be a Tensor."""
    if not isinstance(values, Tensor):
        return values
    return values._array if values.ndim else values._array[()]


EFFECTS = frozenset({grad_of, set_grad, put})
"""Those that take a Tensor itself, not the array in it."""


# Numbers of two parts


def reals(values: Any) -> Array:
    """A complex array as twice as many real numbers."""
    flat: Array = _array(values).reshape(-1)
    shown: Array = flat.view(flat.real.dtype)
    return shown


def complexes(values: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Pairs of real numbers as a complex array."""
    whole: Array = np.ascontiguousarray(_array(values)).view(dtype).reshape(shape)
    return whole
