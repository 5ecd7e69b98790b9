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
import weakref
from importlib import import_module
from typing import Any

from weft._tracing import current_recorder
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
        self._step: weakref.ref[_FunctionStep] | None = None
        self._since = 0  # the number of the step when `forward` ran, and where that was
        self._position: Any = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or results for `backward`, where they are `saved_tensors`."""
        for tensor in tensors:
            if tensor is not None and not _is_tensor(tensor):
                raise TypeError(f"save_for_backward takes tensors, not {type(tensor).__name__}; set an attribute")
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given."""
        step = None if self._step is None else self._step()
        if step is None:
            return self._saved
        found = []
        for saved in self._saved:
            array = saved[0] if type(saved) is tuple else None if saved is None else saved._array
            position = None if array is None else _versions.written_after(self._since, array)
            if position is not None:
                raise written_error(f"backward of {step.op.__name__} reads a saved tensor", self._position, position)
            found.append(from_step(array, step, saved[1]) if type(saved) is tuple else saved)
        return tuple(found)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say that `forward` wrote to these arguments in place; it must return them."""
        self._dirty.update(id(tensor) for tensor in tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these results of `forward` have no derivative."""
        self._not_differentiable.update(id(tensor) for tensor in tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (the default) or None for results that nothing used."""
        self._materialize = value


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or getattr(type(value), "_is_tensor", False)


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
        recorder = current_recorder.get()
        if recorder is not None:
            # How a captured program records it is the business of a room above this one.
            return import_module("weft.transform._custom").record_function(recorder, cls, args)
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
                if not any(arg is part for part in results):
                    raise AutogradError(
                        f"{cls.__name__}.forward marked an argument dirty and did not return it",
                        help="return what was written in place: its history goes on from there",
                    )
                check_lineage(arg)
        sources = tuple(arg._source() if wanted else None for arg, wanted in zip(args, needs, strict=True))
        step = _FunctionStep(cls, ctx, args, sources, results, user_position(sys._getframe(1)))
        memory = [_versions.owner(arg._array) for arg in args if isinstance(arg, Tensor)]
        inputs = {id(arg) for arg in args}
        made = []
        saved: dict[int, Any] = {}
        for slot, part in enumerate(results):
            if id(part) in ctx._not_differentiable:
                made.append(part)
                continue
            if id(part) in ctx._dirty:
                adopt(part, step, slot, step.position)
                made.append(part)
            else:
                made.append(from_step(_apart(part._array, memory), step, slot))
            if id(part) in ctx._dirty or id(part) not in inputs:
                # Results are kept without their step, which keeps the context: both would wait for the collector.
                saved[id(part)] = (part._array, slot)
        ctx._saved = tuple(saved.get(id(tensor), tensor) for tensor in ctx._saved)
        return tuple(made) if isinstance(result, tuple) else made[0]


def _apart(array: Any, memory: list[Any]) -> Any:
    """A result; one that lies in the memory of an argument cannot be written, for the argument would not know."""
    owner = _versions.owner(array)
    if not any(owner is one for one in memory):
        return array
    view = array.view()
    view.flags.writeable = False
    return view


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
        super().__init__(function, (ctx, shapes), sources, position)
        ctx._step, ctx._since, ctx._position = weakref.ref(self), self.number, self.position
        self.shapes = tuple(Spec(part.shape, part.dtype) for part in results)
        self.fills = ctx._materialize

    def name(self) -> str:
        """What made the value."""
        return f"{self.op.__name__}Backward"

    def gradients(self, g: Any, as_tensors: bool) -> list[tuple[Source, Any]]:
        """Ask the user's `backward`."""
        if self.kept is None:
            self.restore()
        ctx, shapes = self.kept
        ctx._step = weakref.ref(self)  # that of the first run, where a checkpoint ran again
        given = tuple(part if part is None or isinstance(part, Tensor) else Tensor(part) for part in g)
        found = self.op.backward(ctx, *given)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(shapes):
            raise AutogradError(
                f"{self.op.__name__}.backward returned {len(found)} gradients for {len(shapes)} arguments",
                help="return one gradient for each argument, None where there is none",
            )
        pairs = []
        for which, source in enumerate(self.sources):
            value, spec = found[which], shapes[which]
            if source is None or value is None:
                continue
            value = value if isinstance(value, Tensor) else Tensor(value)
            if value.shape != spec.shape:
                raise AutogradError(
                    f"{self.op.__name__}.backward: argument {which} got shape {value.shape}, not {spec.shape}"
                )
            if value.dtype != spec.dtype:
                value = value.astype(spec.dtype)
            pairs.append((source, value if as_tensors else value._array))
        return pairs
