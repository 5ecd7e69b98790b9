"""RMSprop (Hinton, 2012), and its centred form (Graves, 2013)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.optim import _options
from weft.optim._blocks import begin, blocks, downhill
from weft.optim._optimizer import Group, Optimizer


class RMSprop(Optimizer):
    """Divides the gradient by the root of its mean square, or of its variance where `centered`.

    `foreach` is accepted and changes nothing.

    >>> import weft
    >>> x = weft.tensor([4.0], requires_grad=True)
    >>> optimizer = RMSprop([x], lr=0.1, alpha=0.75)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([3.8000], requires_grad=True)
    """

    _buffers = frozenset({"square_avg", "grad_avg", "momentum_buffer"})
    _remembers = _buffers | {"step"}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _check_options(self, group: Group) -> None:
        _options.not_negative("RMSprop", group, "lr", "eps", "momentum", "weight_decay", "alpha")
        _options.one_way_to_run("RMSprop", group)

    def _prepare(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        begin(state, _kept(group), parameter)
        state.setdefault("step", 0)

    def _update(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        lr, alpha, eps, momentum = (float(group[name]) for name in ("lr", "alpha", "eps", "momentum"))
        decay, maximize = float(group["weight_decay"]), group["maximize"]
        kept = _kept(group)
        state["step"] = state["step"] + 1
        for p, g, square, *rest, t, u in blocks(parameter, *(state[name] for name in kept), scratch=2):
            g = downhill(g, p, u, decay, maximize)
            np.multiply(g, 1 - alpha, out=t)
            np.multiply(square, alpha, out=square)
            if group["centered"]:
                mean = rest[0]
                np.multiply(mean, alpha, out=mean)
                np.add(mean, t, out=mean)
            np.multiply(t, g, out=t)
            np.add(square, t, out=square)
            if group["centered"]:
                np.square(mean, out=t)
                np.subtract(square, t, out=t)
            np.sqrt(t if group["centered"] else square, out=t)
            np.add(t, eps, out=t)
            np.divide(g, t, out=t)
            if momentum:
                speed = rest[-1]
                np.multiply(speed, momentum, out=speed)
                np.add(speed, t, out=speed)
                t = np.multiply(speed, lr, out=t)
            else:
                np.multiply(t, lr, out=t)
            np.subtract(p, t, out=p)


def _kept(group: Group) -> list[str]:
    kept = ["square_avg"]
    if group["centered"]:
        kept.append("grad_avg")
    if group["momentum"]:
        kept.append("momentum_buffer")
    return kept
