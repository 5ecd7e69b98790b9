"""The one walk back over the tape that gives every gradient.

Going back in order of falling numbers meets a step only after everything that used it, so its gradient is whole by
then. The walk is the same eagerly, where rules run on arrays, and for gradients of gradients, where they run on tensors
and leave steps of their own.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy import ndarray

from weft.autograd._mode import NAN_CAUSES, anomaly, recording
from weft.autograd._tape import AccumulateGrad, Source, Step
from weft.autograd._tensor import Tensor
from weft.errors import AutogradError
from weft.ops._spec import Spec


def pull_back(
    outputs: Sequence[Tensor],
    gradients: Sequence[Any],
    *,
    inputs: Sequence[Tensor] | None = None,
    retain: bool = False,
    create: bool = False,
) -> dict[Source, Any]:
    """Walk the tape back from `outputs`; returns the gradient of every leaf met, or of `inputs` alone where given.

    With `create` gradients are tensors with a tape of their own, else arrays.
    """
    wanted = None if inputs is None else {tensor._source() for tensor in inputs}
    needed = None if wanted is None else _needed(outputs, wanted)
    walk = _Walk(create)
    token = recording.set(create)
    try:
        for tensor, g in zip(outputs, gradients, strict=True):
            source = tensor._source()
            if wanted is None or tensor._step is not None or source in wanted:
                walk.give(source, g, False)
        # A derivative may divide by zero where the function itself did not; the result says so, as an inf or NaN.
        with np.errstate(all="ignore"):
            walk.run(wanted or (), needed, retain)
    finally:
        recording.reset(token)
    walk.fill(inputs)
    return walk.arrived


class _Walk:
    """Gradients on their way: those still growing, by step, and those that have arrived."""

    def __init__(self, create: bool) -> None:
        self.create = create
        self.checking = anomaly.get()
        self.arrived: dict[Source, Any] = {}
        self.pending: dict[Step, Any] = {}
        self.waiting: list[tuple[int, Step]] = []  # a heap; the newest step comes first
        self.flat: dict[Source, None] = {}  # values behind a flat op: zeros where no gradient arrives another way

    def give(self, source: Source, g: Any, fresh: bool) -> None:
        """Add to the gradient of a value; `fresh` says that nobody else holds the array."""
        if isinstance(source, AccumulateGrad):
            if source in self.arrived:
                self.arrived[source] = self.arrived[source] + g
            else:  # a leaf's gradient may be changed in place: its memory must be its own
                self.arrived[source] = g if fresh or self.create else g.copy()
            return
        step, slot = _step_of(source)
        held = self.pending.get(step)
        if held is None:
            heapq.heappush(self.waiting, (-step.number, step))
            if step.shapes is None:
                self.pending[step] = g
            else:
                self.pending[step] = [g if i == slot else None for i in range(len(step.shapes))]
        elif step.shapes is None:
            self.pending[step] = held + g
        else:
            held[slot] = g if held[slot] is None else held[slot] + g

    def take(self) -> tuple[Step, Any]:
        """The newest step that waits, with its whole gradient."""
        step = heapq.heappop(self.waiting)[1]
        g = self.pending.pop(step)
        return (step, g) if step.simple else (step, _settled(step, g, self.create))

    def run(self, wanted: Collection[Source], needed: Collection[Step] | None, retain: bool) -> None:
        """Go on until every leaf has its gradient; where only some steps are `needed`, only there.

        Computed values among the `wanted` have theirs noted on the way.
        """
        create, waiting = self.create, self.waiting
        ends = {_step_of(source)[0] for source in wanted if not isinstance(source, AccumulateGrad)}
        step: Step | None = None
        target: Any
        while waiting or step is not None:
            if step is None:
                step, g = self.take()
                if ends and step in ends:
                    self.note(step, g, wanted)
                if needed is not None and step not in needed:
                    step = None
                    continue
            gradients = step.gradients(g if step.shapes is None else _filled(step, g, create), create)
            if not retain:
                step.kept = step.result = None
            if needed is not None:
                gradients = [pair for pair in gradients if _leads(pair[0], wanted, needed)]
            if len(gradients) == 1 and not self.checking:
                target, found = gradients[0]
                newest = type(target) is Step and (not waiting or waiting[0][0] > -target.number)
                if newest and target.simple and found is not None and target not in ends:
                    step, g = target, found  # the next in any case, and nothing else can add to its gradient
                    continue
            self.give_all(step, g, gradients)
            step = None

    def note(self, step: Step, g: Any, wanted: Collection[Source]) -> None:
        """Keep the gradients of a step's results that are wanted."""
        for slot, part in enumerate(g if step.shapes is not None else (g,)):
            source: Source = (step, slot) if slot else step
            if source in wanted and part is not None:
                self.arrived[source] = part if self.create else part.copy()

    def give_all(self, step: Step, g: Any, gradients: list[tuple[Source, Any]]) -> None:
        """Hand on what a step made of its gradient g."""
        own = type(step) is Step  # others may hand on what is the user's
        for source, found in gradients:
            if found is None:
                self.stop(source)
                continue
            if self.checking:
                _check(found, step)
            self.give(source, found, own and found is not g and type(found) is ndarray and found.base is None)

    def stop(self, source: Source) -> None:
        """Note that nothing of a gradient passes to a value: multiplied further back, zeros could become NaN."""
        reached = [source]
        while reached:
            here = reached.pop()
            if here not in self.flat:
                self.flat[here] = None
                if not isinstance(here, AccumulateGrad):
                    reached += _step_of(here)[0].origins()

    def fill(self, inputs: Sequence[Tensor] | None) -> None:
        """Give zeros to the leaves, or the `inputs`, that only flat ops lead to."""
        if not self.flat:
            return
        if inputs is None:
            inputs = [here.variable for here in self.flat if isinstance(here, AccumulateGrad)]
        for tensor in inputs:
            here = tensor._source()
            if here in self.flat and here not in self.arrived:
                self.arrived[here] = _zeros(Spec(tensor.shape, tensor.dtype), self.create)


def _settled(step: Step, g: Any, create: bool) -> Any:
    """A step's whole gradient: hooks run, kept where somebody asked."""
    parts = g if step.shapes is not None else [g]
    for slot, hooks in (step.hooks or {}).items():
        if parts[slot] is not None:
            parts[slot] = run_hooks(hooks, parts[slot], create)
    for slot, reference in (step.retained or {}).items():
        tensor = reference()
        if tensor is not None and parts[slot] is not None:
            tensor._accumulate(parts[slot] if create else parts[slot].copy())
    return tuple(parts) if step.shapes is not None else parts[0]


def _filled(step: Step, g: Any, create: bool) -> Any:
    """The gradient of a step with several results: zeros for those that nothing used."""
    if not step.fills:
        return g
    pairs = zip(g, step.shapes or (), strict=True)
    return tuple(_zeros(spec, create) if part is None else part for part, spec in pairs)


def run_hooks(hooks: dict[int, Callable[[Any], Any]], g: Any, as_tensor: bool) -> Any:
    """Let each hook see the gradient, and change it by writing to it or returning another."""
    for hook in list(hooks.values()):
        given = g.clone() if as_tensor else Tensor(np.array(g))  # the gradient itself may be that of others too
        changed = hook(given)
        made = given if changed is None else changed if isinstance(changed, Tensor) else Tensor(changed)
        if made.shape != g.shape:
            raise AutogradError(f"a hook returned a gradient of shape {made.shape}, not {g.shape}")
        if made.dtype.kind == "c" and g.dtype.kind != "c":
            raise AutogradError(f"a hook returned a complex gradient for a tensor of {g.dtype}")
        made = made if made.dtype == g.dtype else made.astype(g.dtype)
        g = made if as_tensor else np.array(made._array)
    return g


def _step_of(source: Any) -> tuple[Step, int]:
    """A source that is no leaf: the step, and which of its results."""
    return source if type(source) is tuple else (source, 0)


def _leads(source: Source, wanted: Collection[Source], needed: Collection[Step]) -> bool:
    return source in wanted or (source[0] if type(source) is tuple else source) in needed


def _needed(outputs: Sequence[Tensor], wanted: set[Source]) -> set[Step] | None:
    """The steps on a way from the outputs to a wanted value; None where every way leads to one."""
    ends = [source[0] if type(source) is tuple else source for source in wanted]
    oldest = min((end.number if isinstance(end, Step) else 0 for end in ends), default=0)
    reached: set[Step] = set()
    every = True
    waiting: list[Any] = [tensor._source() for tensor in outputs]
    while waiting:
        source = waiting.pop()
        kind = type(source)
        if kind is tuple:
            source = source[0]
        if kind is list:
            waiting += source
        elif source is None or source in reached:
            continue
        elif isinstance(source, AccumulateGrad):
            every = every and source in wanted
        elif source.number < oldest:
            every = False
        else:
            reached.add(source)
            waiting += source.sources
    if every:
        return None
    needed: set[Step] = set()
    for step in sorted(reached, key=attrgetter("number")):
        for source in step.origins():
            if _leads(source, wanted, needed):
                needed.add(step)
                break
    return needed


def _zeros(spec: Spec, as_tensor: bool) -> Any:
    zeros = np.zeros(spec.shape, spec.dtype)
    return Tensor(zeros) if as_tensor else zeros


def _check(g: Any, step: Step) -> None:
    if np.isnan(np.asarray(g)).any():
        raise AutogradError(
            f"the derivative of {step.op.__name__} gave NaN",
            where=step.where,
            help=NAN_CAUSES,
        )
