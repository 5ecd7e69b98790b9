"""The tape: what was computed, and what of it the gradients need.

Each op on a tensor that requires a gradient leaves a `Step`: the op, the values its derivative reads, and where each
argument came from. Steps are numbered as they are made, so a larger number never feeds a smaller one. The walk back
over them is in `_walk`; the shortest way to make one is in `_fast`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from math import prod
from typing import Any, Union

import numpy as np
from numpy import ndarray

from weft import _where
from weft.autograd import _versions
from weft.autograd._versions import clock
from weft.errors import AutogradError, NotDifferentiable
from weft.ops._op import Op, like
from weft.ops._spec import Spec

keep_below = 4096  # bytes: arrays smaller than this cost less to keep than to describe

Source = Union["Step", "AccumulateGrad", "tuple[Step, int]"]
"""Where a value came from: the step that made it, with the number of the result unless that is the first; or a leaf."""


class AccumulateGrad:
    """Stands on the tape for a leaf, a tensor the user made: where gradients come to rest."""

    __slots__ = ("__weakref__", "variable")

    next_functions = ()

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable

    def name(self) -> str:
        """What it is called, as `Step.name`."""
        return "AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad of a tensor of shape {self.variable.shape}>"


class Step:
    """One recorded call.

    `sources` says, for each array parameter of the op, where its value came from, None where no gradient is wanted; it
    is a list of those where the parameter is a list. `kept` has the value of every parameter, arrays that no rule reads
    replaced by their Specs; it and `result`, which is there if a rule reads it, are dropped after use.
    """

    # Defaults on the class, as with Tensor: recording sets only what differs.
    code: Any = None  # the line of the program: a code object, and the offset of an instruction
    offset: int = 0
    result: Any = None
    shapes: tuple[Spec, ...] | None = None  # of the results, where there are several
    hooks: dict[int, dict[int, Callable[[Any], Any]]] | None = None
    retained: dict[int, Any] | None = None
    is_shown: bool = False  # whether its class has its name; recording takes no time for that
    fills: bool = True  # whether the gradient of a result that nothing used is zeros, rather than None
    kept_at: int | None = None  # the number of the step these values come from, where that is another
    again: tuple[Any, int] | None = None  # where dropped values can be computed anew; see _checkpoint

    def __init__(self, op: Any, kept: Any, sources: tuple[Any, ...], position: Any) -> None:
        self.op = op
        self.kept = kept
        self.sources = sources
        if position is not None:
            self.code, self.offset, _ = position
        self.number = next(clock)

    def name(self) -> str:
        """What made the value, such as `MultiplyBackward`."""
        return "".join(part.capitalize() for part in self.op.name.split("_")) + "Backward"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The steps and leaves the gradient flows on to, with the number of the result it belongs to."""
        pairs = (source if type(source) is tuple else (source, 0) for source in self.origins())
        return tuple((source.shown() if isinstance(source, Step) else source, slot) for source, slot in pairs)

    def shown(self) -> Step:
        """The step, of a class that is named as it is: those who draw a tape read the names of classes."""
        if not self.is_shown:
            self.__class__ = _class_named(type(self), self.name())  # type: ignore[arg-type]  # classes are hashable
        return self

    def origins(self) -> Iterator[Any]:
        """Every Source there is among the sources."""
        for source in self.sources:
            if type(source) is list:
                yield from (each for each in source if each is not None)
            elif source is not None:
                yield source

    @property
    def simple(self) -> bool:
        """Whether the step has one result, whose gradient nobody wants to see."""
        return self.shapes is None and self.hooks is None and self.retained is None

    @property
    def position(self) -> _where.Position | None:
        """Where in the program the value was computed."""
        return None if self.code is None else (self.code, self.offset, None)

    @property
    def location(self) -> _where.Location | None:
        """Where in the program the value was computed, for people."""
        return None if self.position is None else _where.locate(self.position)

    @property
    def where(self) -> str | None:
        """The same, for errors."""
        return None if self.location is None else str(self.location)

    def __repr__(self) -> str:
        return f"<{self.name()} #{self.number}>"

    def gradients(self, g: Any, as_tensors: bool) -> list[tuple[Source, Any]]:
        """The gradient of each argument that wants one, from that of the result; None where the op is flat."""
        if self.kept is None:
            self.restore()
        op = self.op
        if self.number < _versions.latest():
            self._check_unwritten(g)
        arguments, result, rules = self.kept, self.result, op.array_rules
        if as_tensors:
            arguments, result, rules = self._arguments(), self._result(), op.vjp
        found: list[tuple[Source, Any]] = []
        for which, source in enumerate(self.sources):
            if source is None:
                continue
            rule = rules[which]
            if type(rule) is NotDifferentiable:
                message = f"{op.name} has no derivative with respect to {op.arrays[which]}: {rule.message}"
                raise NotDifferentiable(message, where=self.where)
            gradient = rule(g, result, *arguments)
            x = arguments[op.positions[which]]
            if type(source) is list:
                pairs = zip(source, gradient, x, strict=True)
                found += [(target, like(each, part)) for target, each, part in pairs if target is not None]
            elif type(gradient) is int:  # 0
                found.append((source, None))
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
                where=self.where,
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
        since = self.kept_at or self.number
        named = zip(self.op.__signature__.parameters, self.kept, strict=True)
        arguments = [_described(value, name, since, changed) for name, value in named]
        result = _described(self.result, "result", since, changed)
        if not changed:
            return
        plain = unwrap(g)
        for source, rule in zip(self.sources, self.op.vjp, strict=True):
            # Run on the shapes of what was changed: a gradient that comes out as a shape depends on the values.
            if source is not None and callable(rule) and _unknown(rule(plain, result, *arguments)):
                name, position = changed[0]
                raise written_error(f"the gradient of {self.op.name} needs its {name}", self.position, position)

    def _arguments(self) -> list[Any]:
        """What is kept, as tensors that lead where the arguments came from."""
        arguments = list(self.kept)
        for at, source in zip(self.op.positions, self.sources, strict=True):
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


@cache
def _class_named(kind: type[Step], name: str) -> Any:
    return type(name, (kind,), {"is_shown": True, "__module__": kind.__module__})


def record(op: Op, arguments: Sequence[Any], result: Any, position: Any) -> Step | None:
    """Leave a step for `op(*arguments)`; None where no argument wants a gradient."""
    followed = zip(op.positions, op.depends, strict=True)
    sources = tuple(_source_of(arguments[at]) if depends else None for at, depends in followed)
    if not any(sources):
        return None
    read = frozenset().union(*(reads for reads, source in zip(op.reads, sources, strict=True) if source))
    named = zip(unwrap(arguments), op.__signature__.parameters, strict=True)
    step = Step(op, tuple(kept(value, name in read) for value, name in named), sources, position)
    several = isinstance(result, (tuple, list))
    if several:
        step.shapes = tuple(Spec(r.shape, r.dtype) for r in result)
    if "y" in read:
        step.result = tuple(result) if several else result
    return step


def _source_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._source() if value._requires_grad else None
    if isinstance(value, (list, tuple)):
        found = [_source_of(part) for part in value]
        return found if any(found) else None
    return None


def kept(value: Any, read: bool) -> Any:
    """What the tape holds on to: the value where a rule reads it, else its shape, where that is much smaller."""
    if type(value) in (list, tuple) and not read:
        return type(value)(kept(part, False) for part in value)
    if read or not isinstance(value, ndarray) or value.nbytes < keep_below:
        return value
    return Spec(value.shape, value.dtype)


def at_source(value: Any, source: Source | None) -> Any:
    """A kept array as the tensor that came from there."""
    if source is None or not isinstance(value, ndarray):
        return value
    if isinstance(source, tuple):
        return from_step(value, *source)
    if isinstance(source, Step):
        return from_step(value, source, 0)
    made = Tensor(value, requires_grad=True)
    made._leaf = weakref.ref(source)
    return made


def written_error(what: str, used: Any, written: Any) -> AutogradError:
    """Say that values were overwritten between forward and backward, and where."""
    lines = [f"{what}, whose values were written in place since"]
    for label, position in (("used at", used), ("written at", written)):
        if position is not None:
            lines.append(f"  {label} {_where.locate(position)}")
    return AutogradError(
        "\n".join(lines), where="", help="write to a copy (t.clone()), or call backward before the write"
    )


def _described(value: Any, name: str, since: int, changed: list[tuple[str, Any]]) -> Any:
    """A kept value, or its Spec where it was written after step `since`; `changed` gets its name and the line."""
    if isinstance(value, (list, tuple)):
        return type(value)(_described(part, name, since, changed) for part in value)
    if not isinstance(value, ndarray):
        return value
    position = _versions.written_after(since, value)
    if position is None:
        return value
    changed.append((name, position))
    return Spec(value.shape, value.dtype)


def _unknown(gradient: Any) -> bool:
    """Whether a gradient, or a part of it, is known by its shape alone."""
    return any(map(_unknown, gradient)) if isinstance(gradient, (list, tuple)) else isinstance(gradient, Spec)


def _fit(gradient: Any, x: Any) -> Any:
    """`like` on arrays, where the gradient only has more dimensions or longer ones."""
    shape, got = x.shape, gradient.shape
    extra = len(got) - len(shape)
    axes = (*range(extra), *(i + extra for i, d in enumerate(shape) if d == 1 and got[i + extra] != 1))
    if extra < 0 or x.dtype != gradient.dtype or not axes:
        return like(gradient, x)
    summed = np.add.reduce(gradient, axes)
    return summed.reshape(shape) if summed.size == prod(shape) else like(gradient, x)


# Tensors hold steps and steps hold tensors: the two files need each other, this one only when it runs.
from weft.autograd._tensor import Tensor, from_step, unwrap  # noqa: E402  # they need each other, this one only when it runs
