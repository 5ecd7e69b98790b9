"""`Function`: an op of your own, with the derivative you give it.

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x ** 2

    y = Cube.apply(x)

`backward` computes with tensors, so what it returns can itself be differentiated.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from weft._where import user_position
from weft.autograd import _versions
from weft.autograd._mode import no_grad, recording
from weft.autograd._tape import Source, Step, written_error
from weft.autograd._tensor import Tensor, from_step
from weft.autograd._view import adopt, check_lineage
from weft.errors import AutogradError
from weft.ops._spec import Spec


class Context:
    """What `forward` leaves for `backward`; attributes of your own may be set on it too."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: tuple[Any, ...] = ()
        self._not_differentiable: set[int] = set()
        self._dirty: set[int] = set()
        self._materialize = True
        self._step: _FunctionStep | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or results for `backward`, where they are `saved_tensors`."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(f"save_for_backward takes tensors, not {type(tensor).__name__}; set an attribute")
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        step = self._step
        if step is None:
            return self._saved
        if step.kept is None:
            step.restore()
        since = step.kept_at or step.number
        for tensor in self._saved:
            position = None if tensor is None else _versions.written_after(since, tensor._array)
            if position is not None:
                raise written_error(f"backward of {step.op.__name__} reads a saved tensor", step.position, position)
        return self._saved

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that `forward` wrote to these arguments in place; it must return them."""
        self._dirty.update(id(tensor) for tensor in tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these results of `forward` have no derivative."""
        self._not_differentiable.update(id(tensor) for tensor in tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for results that nothing used."""
        self._materialize = value


class Function:
    """Base class: define `forward(ctx, *args)` and `backward(ctx, *gradients)` as static methods, call `apply`."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Compute the result; `ctx` keeps what `backward` needs."""
        raise NotImplementedError("define forward(ctx, *args) as a static method")

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradient of each argument of `forward`, None where there is none."""
        raise NotImplementedError("define backward(ctx, *gradients) as a static method")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run `forward`, and record it where an argument requires its gradient."""
        needs = tuple(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        ctx = Context(needs)
        with no_grad():
            result = cls.forward(ctx, *args)
        if not recording.get() or not any(needs):
            return result
        results = result if isinstance(result, tuple) else (result,)
        for part in results:
            if not isinstance(part, Tensor):
                raise TypeError(f"{cls.__name__}.forward must return tensors, got {type(part).__name__}")
        for arg in args:
            if id(arg) in ctx._dirty:
                check_lineage(arg)
        sources = tuple(arg._source() if wanted else None for arg, wanted in zip(args, needs, strict=True))
        step = _FunctionStep(cls, ctx, args, sources, results, user_position(sys._getframe(1)))
        inputs = {id(arg) for arg in args if isinstance(arg, Tensor)}
        made = []
        for slot, part in enumerate(results):
            if id(part) in ctx._dirty:
                adopt(part, step, slot, step.position)
                made.append(part)
            elif id(part) in ctx._not_differentiable:
                made.append(part)
            else:
                # An input returned as it is becomes a value of its own, or its history would be overwritten.
                made.append(from_step(part._array.view() if id(part) in inputs else part._array, step, slot))
        replaced = {id(old): new for old, new in zip(results, made, strict=True) if id(old) not in inputs}
        ctx._saved = tuple(replaced.get(id(tensor), tensor) for tensor in ctx._saved)
        return tuple(made) if isinstance(result, tuple) else made[0]


class _FunctionStep(Step):
    """A step whose rule is the user's."""

    def __init__(
        self,
        function: type[Function],
        ctx: Context,
        args: tuple[Any, ...],
        sources: tuple[Source | None, ...],
        results: tuple[Any, ...],
        position: Any,
    ) -> None:
        shapes = [Spec(arg.shape, arg.dtype) if isinstance(arg, Tensor) else None for arg in args]
        super().__init__(function, shapes, sources, position)
        self.ctx: Context | None = ctx
        ctx._step = self
        self.shapes = tuple(Spec(part.shape, part.dtype) for part in results)

    @property
    def name(self) -> str:
        """What made the value."""
        return f"{self.op.__name__}Backward"

    def let_go(self, again: tuple[Any, int]) -> None:
        """Drop what the user's forward left, too."""
        super().let_go(again)
        self.ctx = None

    def take_from(self, same: Any) -> None:
        """Take what the same step kept in another run."""
        super().take_from(same)
        self.ctx = same.ctx

    def gradients(self, g: Any, as_tensors: bool) -> list[tuple[Source, Any]]:
        """Ask the user's `backward`."""
        if self.kept is None:
            self.restore()
        given = tuple(part if isinstance(part, Tensor) else Tensor(part) for part in g)
        found = self.op.backward(self.ctx, *given)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(self.kept):
            raise AutogradError(
                f"{self.op.__name__}.backward returned {len(found)} gradients for {len(self.kept)} arguments",
                help="return one gradient for each argument, None where there is none",
            )
        pairs = []
        for which, source in enumerate(self.sources):
            if source is None:
                continue
            value, spec = found[which], self.kept[which]
            if value is None:
                value = Tensor(np.zeros(spec.shape, spec.dtype))
            value = value if isinstance(value, Tensor) else Tensor(value)
            if value.shape != spec.shape:
                raise AutogradError(
                    f"{self.op.__name__}.backward: argument {which} got shape {value.shape}, not {spec.shape}"
                )
            if value.dtype != spec.dtype:
                value = value.astype(spec.dtype)
            pairs.append((source, value if as_tensors else value._array))
        return pairs
