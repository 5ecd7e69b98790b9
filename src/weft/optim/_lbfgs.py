"""L-BFGS: Newton's method with the inverse Hessian estimated from past gradients (Nocedal and Wright, chapter 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from weft.autograd import Tensor, enable_grad
from weft.optim import _options
from weft.optim._blocks import put
from weft.optim._line_search import Point, strong_wolfe
from weft.optim._optimizer import Group, Optimizer

Array = np.ndarray[Any, Any]


class LBFGS(Optimizer):
    """Minimises a closure that computes the loss and its gradients; each step makes up to `max_iter` iterations.

    The steps have length `lr`, or with line_search_fn="strong_wolfe" the length a line search finds. It suits losses
    that are the same at each call, and parameters that fit in memory `history_size` times over, twice.

    >>> import weft
    >>> x = weft.tensor([-1.0, 2.0], requires_grad=True)
    >>> optimizer = LBFGS([x], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> for _ in range(3):
    ...     first = optimizer.step(closure)
    >>> x
    tensor([1.0000, 1.0000], requires_grad=True)
    """

    _remembers = frozenset(
        "func_evals n_iter d t old_dirs old_stps ro H_diag prev_flat_grad prev_loss al".split()
    )  # al: torch keeps its working memory here

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Refused after the first: all parameters are one vector here."""
        if self.param_groups:
            raise ValueError("LBFGS: all parameters are in one group; per-group options are not possible")
        super().add_param_group(param_group)

    def _check_options(self, group: Group) -> None:
        numbers = ("lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change")
        _options.not_negative("LBFGS", group, *numbers)
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(f"LBFGS: line_search_fn is None or 'strong_wolfe', got {group['line_search_fn']!r}")
        if group["history_size"] < 1:
            raise ValueError(f"LBFGS: history_size is at least 1, got {group['history_size']}")

    def _check_state(self, number: int, parameter: Tensor, entry: Mapping[str, Any]) -> list[str]:
        size = sum(_real(p.numpy()).size for p in self._parameters)
        found = [entry.get("d"), entry.get("prev_flat_grad"), *entry.get("old_dirs", ()), *entry.get("old_stps", ())]
        wrong = super()._check_state(number, parameter, entry)
        if any(vector is not None and tuple(vector.shape) != (size,) for vector in found):
            wrong.append(f"state {number}: its vectors are not of length {size}, as the parameters are")
        return wrong

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Call `closure` as often as it takes; the loss of its first call is returned."""
        self._not_captured("the step of LBFGS, which calls the closure as often as the values it finds ask for")
        if closure is None:
            raise TypeError("LBFGS.step: a closure is needed that computes the loss, calls backward and returns it")
        group, state = self.param_groups[0], self.state[self._parameters[0]]
        with enable_grad():
            first = closure()
        loss, g = float(first), self._gradient()
        state["func_evals"] = state.get("func_evals", 0) + 1
        evaluations = 1
        state.setdefault("n_iter", 0)
        for iteration in range(1, group["max_iter"] + 1):
            if np.abs(g).max(initial=0.0) <= group["tolerance_grad"]:
                break
            d = self._direction(state, g, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = Tensor(g), loss
            slope = float(g @ d)
            fresh = state["n_iter"] == 1
            t = float(group["lr"]) * (min(1.0, 1.0 / float(np.abs(g).sum())) if fresh else 1.0)
            state["d"], state["t"] = Tensor(d), t
            if slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            point, used = self._move(closure, Point(0.0, loss, g, slope), d, t, last)
            before, loss, g, state["t"] = loss, point.loss, point.gradient, point.t
            evaluations += used
            state["func_evals"] += used
            moved = float(np.abs(d).max()) * abs(point.t)
            if evaluations >= group["max_eval"] or moved <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break
        return first

    def _direction(self, state: dict[str, Any], g: Array, history_size: int) -> Array:
        """Minus the inverse Hessian times the gradient, by the two-loop recursion, having learnt from the last step."""
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -g
        y = g - state["prev_flat_grad"].numpy()
        s = state["d"].numpy() * state["t"]
        curvature = float(y @ s)
        if curvature > 1e-10:
            for name, value in (("old_dirs", Tensor(y)), ("old_stps", Tensor(s)), ("ro", 1.0 / curvature)):
                state[name] = [*state[name], value][-history_size:]
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

    def _move(self, closure: Callable[[], Any], start: Point, d: Array, t: float, last: bool) -> tuple[Point, int]:
        """Go along the direction: by t, or as far as a line search says. The point there, and how often it looked."""
        group = self.param_groups[0]
        origin = [p.numpy().copy() for p in self._parameters]

        def evaluate(t: float) -> tuple[float, Array]:
            self._go(origin, d, t)
            with enable_grad():
                loss = float(closure())
            return loss, self._gradient()

        if last and group["line_search_fn"] is None:
            # Nobody would look at the loss: the next step computes it first of all.
            self._go(origin, d, t)
            return start._replace(t=t, loss=float("inf")), 0
        try:
            if group["line_search_fn"] is None:
                loss, g = evaluate(t)
                return Point(t, loss, g, float(g @ d)), 1
            point, used = strong_wolfe(evaluate, t, d, start, 1e-9)
        except BaseException:  # whatever stops the closure must not leave the parameters at a trial step
            self._go(origin, d, None)
            raise
        self._go(origin, d, point.t)
        return point, used

    @property
    def _parameters(self) -> list[Tensor]:
        return self.param_groups[0]["params"]  # type: ignore[no-any-return]  # groups hold anything

    def _gradient(self) -> Array:
        """The gradients of all parameters as one vector of its own; zeros where there is none."""
        parts = []
        for p in self._parameters:
            if p.grad is not None:
                self._check(p)
            grad = np.zeros(p.shape) if p.grad is None else p.grad.numpy()
            parts.append(_real(grad.astype(p.dtype)))
        return np.concatenate(parts)

    def _go(self, origin: list[Array], d: Array, t: float | None) -> None:
        """Put the parameters at origin + t·d, or back at the origin."""
        start = 0
        for p, x in zip(self._parameters, origin, strict=True):
            values = _real(x).copy()
            if t is not None:
                values += t * d[start : start + values.size]
            start += values.size
            put(p, values.view(x.dtype).reshape(x.shape))


def _real(array: Array) -> Array:
    """The numbers of an array, one after another; a complex one is two."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
