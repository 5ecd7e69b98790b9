"""`checkpoint`: trade time for memory by computing intermediate values again when backward needs them.

The function runs as always, so its steps are on the tape and lead wherever they lead, to parameters it closes over
too. Then what the steps keep is dropped. When backward reaches the first of them, the function runs once more with the
random numbers of the first run, and its steps hand their values over to the ones on the tape.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from weft import pytree, random
from weft._where import user_position
from weft.autograd import _versions
from weft.autograd._mode import enable_grad, recording
from weft.autograd._tape import AccumulateGrad, Step, written_error
from weft.autograd._tensor import Tensor
from weft.errors import AutogradError


def checkpoint(function: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """Call `function(*args, **kwargs)` and keep none of its intermediate values: backward computes them again.

    Calls that draw random numbers, such as dropout, draw the same ones again unless `preserve_rng_state` is false.

    >>> import weft
    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x.exp() * x).sum(), x).backward()
    >>> x.grad
    tensor([ 5.4366, 22.1672])
    """
    if not recording.get():
        return function(*args, **kwargs)
    region = _Region(function, args, kwargs, random.get_state() if preserve_rng_state else None)
    region.position = user_position(sys._getframe(1))
    result = function(*args, **kwargs)
    steps = _steps(result, region.start)
    region.ops = [step.op for step in steps]
    for index, step in enumerate(steps):
        step.let_go((region, index))
    return result


class _Region:
    """A call whose steps keep nothing. It holds no step of the first run: they hold it."""

    ops: list[Any]
    position: Any

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, random_state: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self.random_state = random_state
        self.start = next(_versions.clock)
        self.steps: list[Step | None] = []

    def step(self, index: int) -> Step:
        """The step that did in a second run what the one of that index did in the first."""
        found = self.steps[index] if self.steps else None
        if found is None:
            self._run()
            found = self.steps[index]
            assert found is not None, "every step is there after a run"
        self.steps[index] = None  # handed over, and held no longer than the one that asked holds it
        return found

    def _run(self) -> None:
        self._check(value for value in pytree.leaves_of((self.args, self.kwargs)) if isinstance(value, Tensor))
        before = random.get_state()
        start = next(_versions.clock)
        try:
            if self.random_state is not None:
                random.set_state(self.random_state)
            with enable_grad():
                result = self.function(*self.args, **self.kwargs)
        finally:
            random.set_state(before)
        steps = _steps(result, start)
        if [step.op for step in steps] != self.ops:
            raise AutogradError(
                "checkpoint: the function did not compute the same when it ran again for its gradient",
                help="it must depend on nothing but its arguments, and values that stay as they are until backward",
            )
        self._check(leaf.variable for step in steps for leaf in step.origins() if isinstance(leaf, AccumulateGrad))
        self.steps = list(steps)

    def _check(self, tensors: Any) -> None:
        for tensor in tensors:
            position = _versions.written_after(self.start, tensor._array)
            if position is not None:
                raise written_error("checkpoint computes with this tensor again", self.position, position)


def _steps(result: Any, start: int) -> list[Step]:
    """The steps after number `start` that the tensors in a result came from, oldest first."""
    found: set[Step] = set()
    waiting = [value._step for value in pytree.leaves_of(result) if isinstance(value, Tensor)]
    while waiting:
        step = waiting.pop()
        if step is not None and step.number > start and step not in found:
            found.add(step)
            waiting += [source for source, _ in step.next_functions if isinstance(source, Step)]
    return sorted(found, key=lambda step: step.number)
