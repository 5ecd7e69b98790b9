"""L-BFGS: Newton's method with the inverse Hessian estimated from past gradients (Nocedal and Wright, chapter 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from weft._tracing import current_recorder
from weft.autograd import Tensor, enable_grad
from weft.optim import _options
from weft.optim._blocks import put, reals
from weft.optim._lbfgs_search import Search
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

    _search = Search  # a step, where a graph makes it
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
        size = sum(reals(p.numpy()).size for p in self._parameters)
        found = [entry.get("d"), entry.get("prev_flat_grad"), *entry.get("old_dirs", ()), *entry.get("old_stps", ())]
        wrong = super()._check_state(number, parameter, entry)
        if any(vector is not None and tuple(vector.shape) != (size,) for vector in found):
            wrong.append(f"state {number}: its vectors are not of length {size}, as the parameters are")
        return wrong

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Call `closure` as often as it takes; the loss of its first call is returned."""
        if closure is None:
            raise TypeError("LBFGS.step: a closure is needed that computes the loss, calls backward and returns it")
        recorder = current_recorder.get()
        if recorder is not None:
            return recorder.training.search(self, closure)
        search = Search(self, self._values(), self.state[self._parameters[0]])
        try:
            first = loss = self._called(closure)
            while search.tell(float(loss), self._values(), self._gradients()):
                self._put(search.point)
                loss = self._called(closure)
        except BaseException:  # whatever stops the closure must not leave the parameters at a trial step
            self._put(search.reached)
            raise
        finally:
            self.state[self._parameters[0]] = search.state
        self._put(search.point)
        return first

    @staticmethod
    def _called(closure: Callable[[], Any]) -> Any:
        with enable_grad():
            return closure()

    @property
    def _parameters(self) -> list[Tensor]:
        return self.param_groups[0]["params"]  # type: ignore[no-any-return]  # groups hold anything

    def _gradients(self) -> list[Array | None]:
        for p in self._parameters:
            if p.grad is not None:
                self._check(p)
        return [None if p.grad is None else p.grad.numpy() for p in self._parameters]

    def _values(self) -> list[Array]:
        return [p.numpy() for p in self._parameters]

    def _put(self, values: Sequence[Array]) -> None:
        for p, array in zip(self._parameters, values, strict=True):
            put(p, array)
