"""An optimiser in a captured program: its `_update` runs on traced arrays and numbers.

Options are read when the graph runs. What decides which way `_update` goes (whether there is a momentum) is settled at
capture, under a guard.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._step import complexes, option, prepare, reals, remember, remembered
from weft.autograd import Tensor
from weft.capture._values import Array, Scalar
from weft.errors import DtypeError, ShapeError
from weft.graph import Node
from weft.ops import Spec
from weft.ops._op import TABLE

if TYPE_CHECKING:
    from weft.capture._steps import Training

_GONE: Any = object()


class Stepped:
    """An optimiser that makes a step."""

    def __init__(self, training: Training, optimizer: Any) -> None:
        self.training = training
        self.recorder = training.recorder
        self.optimizer = optimizer
        self.groups = [tuple(group["params"]) for group in optimizer.param_groups]
        self.fixed: dict[tuple[int, str], Any] = {}  # options that are no numbers, as they were read
        self.states: dict[int, State] = {}

    @property
    def node(self) -> Node:
        """The node by which the graph reads the optimiser."""
        return self.training.held(self.optimizer, "optimizer")

    def step(self) -> None:
        """Record the updates of all parameters that have a gradient."""
        training, recorder = self.training, self.recorder
        ready = []
        for number, group in enumerate(self.groups):
            for index, parameter in enumerate(group):
                gradient = training.grad(parameter)
                if gradient is not None:
                    self._check(parameter, gradient)
                    ready.append((number, index, parameter))
        places = tuple((number, index) for number, index, _ in ready)
        recorder.create(prepare, (self.node, places), {}, None)
        options = [Options(self, number) for number in range(len(self.groups))]
        update = recorder.bind(type(self.optimizer)._update)
        before, training.by_hints = training.by_hints, True
        try:
            for number, index, parameter in ready:
                state = self._state(number, index, parameter)
                recorder._deeper(update, (self.optimizer, parameter, state, options[number]), {})
        finally:
            training.by_hints = before

    def _check(self, parameter: Tensor, gradient: Array) -> None:
        name = type(self.optimizer).__name__
        if gradient.spec.shape != parameter.shape:
            raise ShapeError(f"{name}: a gradient of shape {gradient.spec.shape} for a parameter of {parameter.shape}")
        if gradient.spec.dtype.kind not in ("f" if parameter.dtype.kind == "f" else "fc"):
            raise DtypeError(f"{name}: a gradient of {gradient.spec.dtype} for a parameter of {parameter.dtype}")

    def _state(self, number: int, index: int, parameter: Tensor) -> State:
        known = self.states.get(id(parameter))
        if known is None:
            known = self.states[id(parameter)] = State(self, number, index, parameter)
            self.recorder.made(known)
        return known

    def finish(self) -> None:
        """Append what the optimiser remembers of this step."""
        known = self.training.buffers()
        for state in self.states.values():
            if any(id(value) in known for value in self.optimizer.state.get(state.parameter, {}).values()):
                self.recorder.refuse(
                    f"the state of {type(self.optimizer).__name__}, read or written in the step that changes it",
                    help="read it outside of the captured function",
                )
            state.finish()


class Options(dict[str, Any]):
    """The options of a parameter group: numbers are those of the running graph."""

    def __init__(self, stepped: Stepped, number: int) -> None:
        super().__init__(stepped.optimizer.param_groups[number])
        self.stepped = stepped
        self.number = number
        self.read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.read:
            self.read[name] = self._value(name, super().__getitem__(name))
        return self.read[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401  # this is `get` itself

    def _value(self, name: str, value: Any) -> Any:
        if name == "params":
            return value
        if isinstance(value, (list, tuple)) and all(map(_is_number, value)):
            return type(value)(self._number(name, part, place) for place, part in enumerate(value))
        if _is_number(value):
            return self._number(name, value)
        self.stepped.fixed[self.number, name] = value
        return value

    def _number(self, name: str, value: Any, *place: int) -> Scalar:
        recorder, optimizer = self.stepped.recorder, self.stepped.optimizer
        node = recorder.create(option, (self.stepped.node, self.number, name, *place), {}, float, name)
        recorder.computed[node] = (optimizer, self.number, name, *place)
        return Scalar(recorder, float, node, hint=float(value))


def _is_number(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.ndim == 0
    return isinstance(value, Number) and not isinstance(value, (bool, complex))


class State(MutableMapping[str, Any]):
    """What an optimiser remembers of one parameter, in a captured step."""

    def __init__(self, stepped: Stepped, number: int, index: int, parameter: Tensor) -> None:
        self.stepped = stepped
        self.number, self.index, self.parameter = number, index, parameter
        optimizer = stepped.optimizer
        group = optimizer.param_groups[number]
        begun: dict[str, Any] = {}
        optimizer._prepare(parameter, begun, group)
        self.begun = frozenset(begun)  # what is there whenever the graph reads it
        present = dict(optimizer.state.get(parameter, {}))
        optimizer._prepare(parameter, present, group)
        follows = optimizer._buffers
        self.kinds = {
            name: _kind(value, parameter.dtype if name in follows else None) for name, value in present.items()
        }
        self.held: dict[str, Any] = {}
        self.first: dict[str, Any] = {}  # the node of what an array held when the step began
        self.plain = {name: value for name, value in present.items() if self.kinds[name] is None}

    def __getitem__(self, name: str) -> Any:
        if name in self.held:
            value = self.held[name]
            if value is _GONE:
                raise KeyError(name)
            return value
        kind = self.kinds[name]
        if kind is None:
            return self.plain[name]
        recorder = self.stepped.recorder
        node = recorder.create(remembered, (self.stepped.node, self.number, self.index, name), {}, kind, name)
        made = recorder.wrap(node, kind, array=True, tensor=True)
        self.held[name], self.first[name] = made, node
        return made

    def __setitem__(self, name: str, value: Any) -> None:
        recorder = self.stepped.recorder
        if isinstance(value, (Tensor, np.ndarray)):
            # Made by code that is not captured, once: the graph makes it each time anew.
            value = recorder.call_op(TABLE["copy"], (recorder.constant(value),), {})
        self.held[name] = value
        self.first.pop(name, None)

    def __delitem__(self, name: str) -> None:
        self[name]
        self.held[name] = _GONE

    def __iter__(self) -> Iterator[str]:
        names = {**self.kinds, **self.held}
        return iter([name for name in names if self.held.get(name) is not _GONE])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return (name in self.held or name in self.kinds) and self.held.get(name) is not _GONE  # type: ignore[call-overload]  # any key may be asked for

    def finish(self) -> None:
        """Append the effects of what has changed."""
        from weft._step import forget

        recorder = self.stepped.recorder
        where = (self.stepped.node, self.number, self.index)
        for name, value in self.held.items():
            if value is _GONE:
                recorder.create(forget, (*where, name), {}, None)
            elif name not in self.first:
                new = (True,) if isinstance(value, Array) else ()
                recorder.create(remember, (*where, name, value, *new), {}, None)
            elif isinstance(value, Array) and value.node is not self.first[name]:
                recorder.create(remember, (*where, name, value), {}, None)


def _kind(value: Any, dtype: Any = None) -> Any:
    """The type of what is remembered, of another dtype where one is given; None of what counts as it is."""
    if isinstance(value, Tensor):
        return Spec(value.shape, value.dtype if dtype is None else dtype)
    return type(value) if type(value) in (int, float) else None


# Blocks


def traced_blocks(recorder: Any, parameter: Tensor, state: tuple[Any, ...], scratch: int) -> Iterator[list[Any]]:
    """What `weft.optim._blocks.blocks` gives in a captured step: one block, of the whole arrays."""
    training = recorder.training
    p = _values(recorder, recorder.constant(parameter), copy=True)
    g = _values(recorder, training.grad(parameter), copy=True)
    if g.spec.dtype != parameter.dtype:
        g = recorder.call_op(TABLE["astype"], (g, parameter.dtype), {})
    arrays = [_values(recorder, one if isinstance(one, Array) else recorder.constant(one)) for one in state]
    shown = [p, g, *arrays]
    is_complex = parameter.dtype.kind == "c"
    if is_complex:
        shown = [_reals(recorder, array) for array in shown]
    room = [recorder.numpy.function(np.empty, (shown[0].shape, shown[0].dtype), {}) for _ in range(scratch)]
    yield [*shown, *room]
    if is_complex:
        for array, parts in zip([p, *arrays], [shown[0], *shown[2:]], strict=True):
            spec = array.spec
            recorder.store(array, recorder.create(complexes, (parts, spec.shape, spec.dtype), {}, spec))
    training.write(parameter, p.node)


def _values(recorder: Any, array: Array, copy: bool = False) -> Array:
    """The array of a traced Tensor: its memory, or with `copy` what that holds now."""
    if not copy:
        return Array(recorder, array.buffer, array.path, array.spec)
    node = array.node
    recorder.named.add(node)  # it has a name already, better than what an optimiser calls all of them
    made: Array = recorder.wrap(node, array.spec, array=True)
    return made


def _reals(recorder: Any, array: Array) -> Array:
    count = 2
    for size in array.spec.shape:
        count = count * size
    spec = Spec((count,), np.empty(0, array.spec.dtype).real.dtype)
    made: Array = recorder.wrap(recorder.create(reals, (array,), {}, spec), spec, array=True)
    return made
