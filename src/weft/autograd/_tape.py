"""The tape: what was computed, and the one walk back over it that gives every gradient.

Each op on a tensor that requires a gradient leaves a `Step`: the op, its arguments, and where each argument came from.
Steps are numbered as they are made, so a larger number never feeds a smaller one: walking back in order of falling
numbers meets a step only after everything that used it. That walk is `pull_back`; it is the same eagerly, where rules
run on arrays, and for gradients of gradients, where they run on tensors and leave steps of their own.
"""

from __future__ import annotations

import heapq
import weakref
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy import ndarray

from weft import _where
from weft.autograd import _versions
from weft.autograd._mode import anomaly, recording
from weft.autograd._versions import clock
from weft.errors import AutogradError, NotDifferentiable
from weft.ops._op import Op, like
from weft.ops._spec import Spec

keep_below = 4096  # bytes: arrays smaller than this cost less to keep than to describe

Source = tuple[Any, int]
"""Where a value came from: (the step that made it, which of its results) or (the `Leaf` of a tensor, 0)."""

Edge = tuple[int, Any]
"""(which array parameter, its Source; a list of Sources, None for constants, where the parameter is a list)."""


class Leaf:
    """Stands on the tape for a tensor the user made: where gradients come to rest."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"<AccumulateGrad of a tensor of shape {self.tensor.shape}>"


class Step:
    """One recorded call. `edges` lead to what its gradient flows on to; `kept` (the arrays and other values of its
    arguments) and `result` are dropped after use."""

    # Defaults on the class, as with Tensor: recording sets only what differs.
    result: Any = None
    shapes: tuple[Spec, ...] | None = None  # of the results, where there are several
    hooks: dict[int, dict[int, Callable[[Any], Any]]] | None = None
    retained: dict[int, Any] | None = None
    kept_at: int | None = None  # the number of the step these values come from, where that is another
    again: tuple[Any, int] | None = None  # where dropped values can be computed anew; see _checkpoint

    def __init__(self, op: Any, kept: Any, edges: tuple[Edge, ...], position: Any) -> None:
        self.op = op
        self.kept = kept
        self.edges = edges
        self.position = position
        self.number = next(clock)

    @property
    def name(self) -> str:
        """What made the value, such as `MultiplyBackward`."""
        return "".join(part.capitalize() for part in self.op.name.split("_")) + "Backward"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The steps the gradient flows on to, with the number of the result it belongs to."""
        found: list[Source] = []
        for _, source in self.edges:
            found += [s for s in (source if isinstance(source, list) else [source]) if s is not None]
        return tuple(found)

    @property
    def simple(self) -> bool:
        """Whether the step has one result, whose gradient nobody wants to see."""
        return self.shapes is None and self.hooks is None and self.retained is None

    @property
    def location(self) -> _where.Location | None:
        """Where in the program the value was computed."""
        return None if self.position is None else _where.locate(self.position)

    def __repr__(self) -> str:
        return f"<{self.name} #{self.number}>"

    def gradients(self, g: Any, as_tensors: bool) -> list[tuple[Source, Any]]:
        """The gradient of each argument that wants one, from that of the result."""
        if self.kept is None:
            self.restore()
        held, op = self.kept, self.op
        if self.number < _versions.latest():
            self._check_unwritten(g)
        arguments, result, rules = held, self.result, op.array_rules
        if as_tensors:
            arguments, result, rules = self._arguments(), self._result(), op.vjp
        found: list[tuple[Source, Any]] = []
        for which, source in self.edges:
            rule = rules[which]
            if isinstance(rule, NotDifferentiable):
                raise NotDifferentiable(
                    f"{op.name} has no derivative with respect to {op.arrays[which]}: {rule.message}",
                    where=None if self.location is None else str(self.location),
                )
            gradient = rule(g, result, *arguments)
            x = arguments[op.positions[which]]
            if type(source) is list:
                pairs = zip(source, gradient, x, strict=True)
                found += [(target, like(each, part)) for target, each, part in pairs if target is not None]
            elif type(gradient) is ndarray:
                fits = gradient.shape == x.shape and gradient.dtype == x.dtype
                found.append((source, gradient if fits else _fit(gradient, x)))
            else:
                found.append((source, like(gradient, x)))
        return found

    def restore(self) -> None:
        """Get back the values that the gradient needs: by computing them again, or not at all."""
        if self.again is None:
            raise AutogradError(
                "the values this gradient needs were freed by an earlier backward",
                where=None if self.location is None else str(self.location),
                help="pass retain_graph=True to the first backward",
            )
        region, index = self.again
        same = region.step(index)
        self.take_from(same)
        if self.kept is None:  # computed inside another checkpoint, which let go of it too
            self.again = same.again
            self.restore()

    def let_go(self, again: tuple[Any, int]) -> None:
        """Drop what is kept; it can be computed `again`, as that step of that region."""
        self.kept = self.result = None
        self.again = again

    def take_from(self, same: Any) -> None:
        """Take what the same step kept in another run."""
        self.kept, self.result, self.kept_at = same.kept, same.result, same.kept_at or same.number

    def _check_unwritten(self, g: Any) -> None:
        """Refuse to go on with values that were written after they were kept, where a gradient depends on them."""
        changed: list[tuple[str, Any]] = []

        def described(name: str, value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return type(value)(described(name, part) for part in value)
            if not isinstance(value, ndarray):
                return value
            position = _versions.written_after(self.kept_at or self.number, value)
            if position is None:
                return value
            changed.append((name, position))
            return Spec(value.shape, value.dtype)

        named = zip(self.op.__signature__.parameters, self.kept, strict=True)
        arguments = [described(name, value) for name, value in named]
        result = described("result", self.result)
        if not changed:
            return
        plain = unwrap(g)
        for which, _ in self.edges:
            rule = self.op.vjp[which]
            # Run on the shapes of what was changed: a gradient that comes out as a shape depends on the values.
            if not isinstance(rule, NotDifferentiable) and _unknown(rule(plain, result, *arguments)):
                name, position = changed[0]
                raise written_error(f"the gradient of {self.op.name} needs its {name}", self.position, position)

    def _arguments(self) -> list[Any]:
        """What is kept, as tensors that lead where the arguments came from."""
        arguments = list(self.kept)
        for which, source in self.edges:
            at = self.op.positions[which]
            if type(source) is list:
                arguments[at] = [at_source(v, s) for v, s in zip(arguments[at], source, strict=True)]
            else:
                arguments[at] = at_source(arguments[at], source)
        return arguments

    def _result(self) -> Any:
        """The result as tensors that lead back here."""
        if isinstance(self.result, tuple):
            return tuple(None if part is None else from_step(part, self, i) for i, part in enumerate(self.result))
        return None if self.result is None else from_step(self.result, self, 0)


def record(op: Op, arguments: Sequence[Any], result: Any, position: Any) -> Step | None:
    """Leave a step for `op(*arguments)`; None where no argument wants a gradient."""
    edges: list[Edge] = []
    for which, position_of in enumerate(op.positions):
        value = arguments[position_of]
        if isinstance(value, Tensor):
            if value._requires_grad:
                edges.append((which, value._source()))
        elif isinstance(value, (list, tuple)):
            sources = [v._source() if isinstance(v, Tensor) and v._requires_grad else None for v in value]
            if any(source is not None for source in sources):
                edges.append((which, sources))
    if not edges:
        return None
    read = frozenset().union(*(op.reads[which] for which, _ in edges))
    named = zip(unwrap(arguments), op.__signature__.parameters, strict=True)
    held = tuple(kept(value, name in read) for value, name in named)
    step = Step(op, held, tuple(edges), position)
    if isinstance(result, (tuple, list)):
        step.result, step.shapes = tuple(result), tuple(Spec(r.shape, r.dtype) for r in result)
    elif "y" in read:
        step.result = result
    return step


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
    walk = _Walk(create)
    token = recording.set(create)
    try:
        for tensor, g in zip(outputs, gradients, strict=True):
            walk.give(tensor._source(), g, False)
        if wanted is None:
            walk.everywhere(retain)
        else:
            walk.towards(wanted, _needed(outputs, wanted), retain)
    finally:
        recording.reset(token)
    return walk.arrived


class _Walk:
    """Gradients on their way: those still growing, by step, and those that have arrived."""

    def __init__(self, create: bool) -> None:
        self.create = create
        self.checking = anomaly.get()
        self.arrived: dict[Source, Any] = {}
        self.pending: dict[Step, Any] = {}
        self.waiting: list[tuple[int, Step]] = []  # a heap; the newest step comes first

    def give(self, source: Source, g: Any, fresh: bool) -> None:
        """Add to the gradient of a value; `fresh` says that nobody else holds the array."""
        step, slot = source
        if type(step) is Leaf:
            if source in self.arrived:
                self.arrived[source] = self.arrived[source] + g
            else:  # a leaf's gradient may be changed in place: its memory must be its own
                self.arrived[source] = g if fresh or self.create else g.copy()
            return
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
        if step.shapes is not None or step.hooks is not None or step.retained is not None:
            g = _settled(step, g, self.create)
        return step, g

    def everywhere(self, retain: bool) -> None:
        """Go on until every leaf has its gradient."""
        give, create, waiting, pending = self.give, self.create, self.waiting, self.pending
        step: Step | None = None
        while waiting or step is not None:
            if step is None:
                step, g = self.take()
            gradients = step.gradients(g, create)
            if not retain:
                step.kept = step.result = None
            if len(gradients) == 1 and not self.checking:
                ((target, slot), found) = gradients[0]
                if (
                    type(target) is Step
                    and target.simple
                    and target not in pending
                    and (not waiting or waiting[0][0] > -target.number)
                ):
                    step, g = target, found  # the next in any case, and nothing else can add to its gradient
                    continue
            for source, found in gradients:
                if self.checking:
                    _check(found, step)
                give(source, found, found is not g and type(found) is ndarray and found.base is None)
            step = None

    def towards(self, wanted: set[Source], needed: set[Step], retain: bool) -> None:
        """Go on only where the way leads to a wanted value."""
        while self.waiting:
            step, g = self.take()
            for slot, part in enumerate(g if step.shapes is not None else (g,)):
                if (step, slot) in wanted:
                    self.arrived[step, slot] = part
            if step not in needed:
                continue
            for source, found in step.gradients(g, self.create):
                if source in wanted or source[0] in needed:
                    if self.checking:
                        _check(found, step)
                    self.give(source, found, found is not g and type(found) is ndarray and found.base is None)
            if not retain:
                step.kept = step.result = None
        self.arrived = {source: g for source, g in self.arrived.items() if source in wanted}


def _settled(step: Step, g: Any, create: bool) -> Any:
    """A step's whole gradient: missing parts filled with zeros, hooks run, kept where somebody asked."""
    if step.shapes is not None:
        g = [_zeros(spec, create) if part is None else part for part, spec in zip(g, step.shapes, strict=True)]
    parts = g if step.shapes is not None else [g]
    for slot, hooks in (step.hooks or {}).items():
        parts[slot] = run_hooks(hooks, parts[slot], create)
    for slot, reference in (step.retained or {}).items():
        tensor = reference()
        if tensor is not None:
            tensor._accumulate(parts[slot])
    return tuple(parts) if step.shapes is not None else parts[0]


def run_hooks(hooks: dict[int, Callable[[Any], Any]], g: Any, as_tensor: bool) -> Any:
    """Let each hook see the gradient, and change it by returning another."""
    for hook in list(hooks.values()):
        changed = hook(g if as_tensor else Tensor(g))
        if changed is not None:
            g = changed if as_tensor else changed._array if isinstance(changed, Tensor) else np.asarray(changed)
    return g


def _needed(outputs: Sequence[Tensor], wanted: set[Source]) -> set[Step]:
    """The steps on a way from the outputs to a wanted value."""
    from_leaves = any(not isinstance(step, Step) for step, _ in wanted)
    oldest = 0 if from_leaves else min((step.number for step, _ in wanted), default=0)
    reached: dict[Step, None] = {}
    waiting = [source[0] for tensor in outputs if isinstance((source := tensor._source())[0], Step)]
    while waiting:
        step = waiting.pop()
        if step in reached or step.number < oldest:
            continue
        reached[step] = None
        waiting += [target for target, _ in step.next_functions if isinstance(target, Step)]
    needed: set[Step] = set()
    for step in sorted(reached, key=lambda step: step.number):
        if any(source in wanted or source[0] in needed for source in step.next_functions):
            needed.add(step)
    return needed


def written_error(what: str, used: Any, written: Any) -> AutogradError:
    """Say that values were overwritten between forward and backward, and where."""
    lines = [f"{what}, whose values were written in place since"]
    for label, position in (("used at", used), ("written at", written)):
        if position is not None:
            lines.append(f"  {label} {_where.locate(position)}")
    return AutogradError("\n".join(lines), help="write to a copy (t.clone()), or call backward before the write")


def _unknown(gradient: Any) -> bool:
    """Whether a gradient, or a part of it, is known by its shape alone."""
    return any(map(_unknown, gradient)) if isinstance(gradient, (list, tuple)) else isinstance(gradient, Spec)


def kept(value: Any, read: bool) -> Any:
    """What the tape holds on to: the value where a rule reads it, else its shape, where that is much smaller."""
    if type(value) in (list, tuple) and not read:
        return type(value)(kept(part, False) for part in value)
    if read or not isinstance(value, ndarray) or value.nbytes < keep_below:
        return value
    return Spec(value.shape, value.dtype)


def _fit(gradient: Any, x: Any) -> Any:
    """`like` on arrays, where the gradient only has more dimensions or longer ones."""
    shape, got = x.shape, gradient.shape
    extra = len(got) - len(shape)
    axes = (*range(extra), *(i + extra for i, d in enumerate(shape) if d == 1 and got[i + extra] != 1))
    if extra < 0 or x.dtype != gradient.dtype or not axes:
        return like(gradient, x)
    summed = np.add.reduce(gradient, axes)
    return summed.reshape(shape) if summed.size == prod(shape) else like(gradient, x)


def at_source(value: Any, source: Source | None) -> Any:
    """A kept array as the tensor that came from there."""
    if source is None or not isinstance(value, ndarray):
        return value
    step, slot = source
    if isinstance(step, Step):
        return from_step(value, step, slot)
    made = Tensor(value, requires_grad=True)
    made._leaf = weakref.ref(step)
    return made


def _zeros(spec: Spec, as_tensor: bool) -> Any:
    zeros = np.zeros(spec.shape, spec.dtype)
    return Tensor(zeros) if as_tensor else zeros


def _check(g: Any, step: Step) -> None:
    if np.isnan(np.asarray(g)).any():
        raise AutogradError(
            f"the derivative of {step.op.name} gave NaN",
            where=None if step.location is None else str(step.location),
            help="look at the values this line computes with; 0/0, log(0) and sqrt(0) are the usual causes",
        )


# Tensors hold steps and steps hold tensors: the two files need each other, this one only when it runs.
from weft.autograd._tensor import Tensor, from_step, unwrap  # noqa: E402
