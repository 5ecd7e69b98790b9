"""One step of L-BFGS, which says where it wants to know the loss next, and is told.

So it is the same step whether a closure is called in between, or the graph that was captured of one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.optim._blocks import reals
from weft.optim._line_search import Looking, Point, look, strong_wolfe

Array = np.ndarray[Any, Any]


class Search:
    """A step from the values of some parameters; `state` is what the optimiser remembers of earlier ones.

    `point` is where the loss is wanted next, or in the end where the parameters are to be. `reached` is where the line
    begins that is being searched.
    """

    def __init__(self, optimizer: Any, parameters: Sequence[Array], state: dict[str, Any]) -> None:
        self.group = optimizer.param_groups[0]
        self.state = dict(state)
        self.reached = [array.copy() for array in parameters]
        self.point: Sequence[Array] = self.reached
        self._iterations = self._iterate()
        next(self._iterations)

    def tell(self, loss: float, parameters: Sequence[Array], gradients: Sequence[Array | None]) -> bool:
        """What was found at `point`, and the parameters, which a closure may have changed. Whether it wants more."""
        self.point = parameters
        parts = []
        for array, gradient in zip(self.reached, gradients, strict=True):
            parts.append(reals((np.zeros(array.shape) if gradient is None else gradient).astype(array.dtype)))
        self.state["func_evals"] = self.state.get("func_evals", 0) + 1
        try:
            self._iterations.send((loss, np.concatenate(parts)))
        except StopIteration:
            return False
        return True

    def _iterate(self) -> Generator[None, tuple[float, Array], None]:
        loss, g = yield
        group, state, evaluations = self.group, self.state, self.state["func_evals"] - 1
        state.setdefault("n_iter", 0)
        for iteration in range(1, group["max_iter"] + 1):
            if np.abs(g).max(initial=0.0) <= group["tolerance_grad"]:
                break
            self.reached = [array.copy() for array in self.point]
            d = self._direction(g)
            state["prev_flat_grad"], state["prev_loss"] = Tensor(g), loss
            slope = float(g @ d)
            fresh = state["n_iter"] == 1
            t = float(group["lr"]) * (min(1.0, 1.0 / float(np.abs(g).sum())) if fresh else 1.0)
            state["d"], state["t"] = Tensor(d), t
            if slope > -group["tolerance_change"]:
                break
            before, start = loss, Point(0.0, loss, g, slope)
            if iteration == group["max_iter"] and group["line_search_fn"] is None:
                # Nobody would look at the loss: the next step computes it first of all.
                self._go(d, t)
                break
            _, loss, g, _ = point = yield from self._along(start, d, t)
            state["t"] = point.t
            moved = float(np.abs(d).max()) * abs(point.t)
            if state["func_evals"] - evaluations >= group["max_eval"] or moved <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break

    def _along(self, start: Point, d: Array, t: float) -> Generator[None, tuple[float, Array], Point]:
        """Go along a direction: by t, or as far as a line search says."""
        looking: Looking[Point] = look(t, d)
        if self.group["line_search_fn"] is not None:
            looking = strong_wolfe(t, d, start, 1e-9)
        t = next(looking)
        while True:
            self._go(d, t)
            found = yield
            try:
                t = looking.send(found)
            except StopIteration as end:
                point: Point = end.value
                if self.group["line_search_fn"] is not None:
                    self._go(d, point.t)
                return point

    def _go(self, d: Array, t: float) -> None:
        """Let `point` be a step of length t from the point reached."""
        start, point = 0, []
        for x in self.reached:
            values = reals(x).copy()
            values += t * d[start : start + values.size]
            start += values.size
            point.append(values.view(x.dtype).reshape(x.shape))
        self.point = point

    def _direction(self, g: Array) -> Array:
        """Minus the inverse Hessian times the gradient, by the two-loop recursion, having learnt from the last step."""
        state, size = self.state, self.group["history_size"]
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -g
        y = g - state["prev_flat_grad"].numpy()
        s = state["d"].numpy() * state["t"]
        curvature = float(y @ s)
        if curvature > 1e-10:
            for name, value in (("old_dirs", Tensor(y)), ("old_stps", Tensor(s)), ("ro", 1.0 / curvature)):
                state[name] = [*state[name], value][-size:]
            state["H_diag"] = curvature / float(y @ y)
        steps = [
            (y.numpy(), s.numpy(), float(r))
            for y, s, r in zip(state["old_dirs"], state["old_stps"], state["ro"], strict=True)
        ]
        d, weights = -g, []
        for y, s, r in reversed(steps):
            weights.append(float(s @ d) * r)
            d -= weights[-1] * y
        d *= float(state["H_diag"])
        for (y, s, r), weight in zip(steps, reversed(weights), strict=True):
            d += s * (weight - float(y @ d) * r)
        return d
