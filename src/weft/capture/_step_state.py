"""An optimiser in a captured program: its `_update` runs on traced arrays and numbers.

What decides which way `_update` goes (whether there is a momentum) is settled at capture, under a guard.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._step import complexes, end_search, forget, prepare, reals, remember, remembered
from weft.autograd import Tensor
from weft.capture._refusals import known_sizes
from weft.capture._step_options import Options
from weft.capture._values import Array
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
        self.shown: list[Options] = []  # what stands for `param_groups`
        self.search: Any = None  # the last one, of an optimiser that searches
        # Options that the program itself has set: the number, where it is known at capture.
        self.options_set: dict[tuple[int, str], float | None] = {}

    @property
    def node(self) -> Node:
        """The node by which the graph reads the optimiser."""
        return self.training.held(self.optimizer, "optimizer")

    @property
    def stepped(self) -> bool:
        """Whether it has made a step."""
        return bool(self.states) or self.search is not None

    def step(self) -> None:
        """Record the updates of all parameters that have a gradient."""
        training, recorder = self.training, self.recorder
        ready = []
        for number, group in enumerate(self.groups):
            for index, parameter in enumerate(group):
                gradient = training.grad(parameter)
                if gradient is not None:
                    self.check(parameter, gradient)
                    ready.append((number, index, parameter, training.came(parameter)))
        places, came = tuple(one[:2] for one in ready), tuple(one[3] for one in ready)
        certain = all(one is True for one in came)
        recorder.create(prepare, (self.node, places, *(() if certain else (came,))), {}, None)
        options = [Options(self, number) for number in range(len(self.groups))]
        update = recorder.bind(type(self.optimizer)._update)
        before, training.by_hints = training.by_hints, True
        try:
            for number, index, parameter, there in ready:
                state = self._state(number, index, parameter)
                training.write_if = there
                if there is not True:
                    state.skips(there)
                recorder._deeper(update, (self.optimizer, parameter, state, options[number]), {})
        finally:
            training.by_hints, training.write_if = before, True

    def param_groups(self) -> list[Options]:
        """`optimizer.param_groups` in the program."""
        if not self.shown:
            self.shown = [Options(self, number) for number in range(len(self.groups))]
            for options in self.shown:
                self.recorder.made(options)  # it may be changed
        return self.shown

    def forget_options(self) -> None:
        """Read all options anew: a schedule has changed some."""
        self.options_set = dict.fromkeys(self.options_set)
        for options in self.shown:
            options.read.clear()

    def knows(self, number: int, name: str) -> bool:
        """Whether an option is what it was when the call began, so that the program may go by it, under a guard.

        A schedule may have changed the learning rate; what decides in an `_update` is something else.
        """
        advanced = id(self.optimizer) in self.training.advanced and not self.training.by_hints
        return not advanced and (number, name) not in self.options_set

    def check(self, parameter: Tensor, gradient: Array) -> None:
        name = type(self.optimizer).__name__
        if gradient.spec.shape != parameter.shape:
            shape = known_sizes(gradient.spec.shape)
            raise ShapeError(f"{name}: a gradient of shape {shape} for a parameter of shape {parameter.shape}")
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
        if self.search is not None:
            self.recorder.create(end_search, (self.node, self.search), {}, None)
        known = self.training.buffers()
        for state in self.states.values():
            if any(id(value) in known for value in self.optimizer.state.get(state.parameter, {}).values()):
                self.recorder.refuse(
                    f"the state of {type(self.optimizer).__name__}, read or written in the step that changes it",
                    help="read it outside of the captured function",
                )
            state.finish()


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
        self.came: tuple[Any, ...] = ()  # whether its gradient came, where only running the graph tells

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

    def skips(self, came: Any) -> None:
        """Remember nothing of a step that the running graph may leave out."""
        if self.held:
            self.stepped.recorder.refuse(
                "two steps of an optimiser in one call, and a parameter that may or may not have a gradient",
                help="call the optimiser's step once in the function, and the function once for each step",
            )
        self.came = (came,)

    def finish(self) -> None:
        """Append the effects of what has changed."""
        recorder = self.stepped.recorder
        where = (self.stepped.node, self.number, self.index)
        for name, value in self.held.items():
            if value is _GONE:
                recorder.create(forget, (*where, name, *self.came), {}, None)
            elif name not in self.first:
                self._remember(name, value, isinstance(value, Array))
            elif isinstance(value, Array) and value.node is not self.first[name]:
                self._remember(name, value, False)

    def _remember(self, name: str, value: Any, new: bool) -> None:
        how = (new, *self.came) if new or self.came else ()
        where = (self.stepped.node, self.number, self.index)
        self.stepped.recorder.create(remember, (*where, name, value, *how), {}, None)


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
