"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.optim import _options
from weft.optim._blocks import blocks, downhill, zeros_like
from weft.optim._optimizer import Group, Optimizer


class SGD(Optimizer):
    """Gradient descent: p ← p − lr·b, where b ← momentum·b + (1 − dampening)·g gathers speed, starting with g.

    With `nesterov`, g + momentum·b takes the place of b. `foreach` and `fused` are accepted and change nothing.

    >>> import weft
    >>> x = weft.tensor([4.0], requires_grad=True)
    >>> optimizer = SGD([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [2.0]
    """

    _buffers = frozenset({"momentum_buffer"})
    _remembers = _buffers

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _check_options(self, group: Group) -> None:
        _options.not_negative("SGD", group, "lr", "momentum", "weight_decay")
        _options.number("SGD", "dampening", group["dampening"])
        _options.one_way_to_run("SGD", group)
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError("SGD: nesterov needs a momentum and no dampening")

    def _prepare(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        # Speed gathered from zero is the gradient itself, unless the gradient is dampened: the first is not.
        if group["momentum"] and not group["dampening"] and state.get("momentum_buffer") is None:
            state["momentum_buffer"] = zeros_like(parameter)

    def _update(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        lr, momentum, fresh = float(group["lr"]), float(group["momentum"]), 1 - float(group["dampening"])
        decay, maximize = float(group["weight_decay"]), group["maximize"]
        if not momentum:
            for p, g, t in blocks(parameter, scratch=1):
                np.multiply(downhill(g, p, t, decay, maximize), lr, out=t)
                np.subtract(p, t, out=p)
            return
        first = state.get("momentum_buffer") is None
        if first:
            state["momentum_buffer"] = Tensor(np.empty(parameter.shape, parameter.dtype))
        for p, g, b, t, u in blocks(parameter, state["momentum_buffer"], scratch=2):
            g = downhill(g, p, t, decay, maximize)
            if first:
                b[...] = g
            else:
                np.multiply(b, momentum, out=b)
                np.add(b, g if fresh == 1 else np.multiply(g, fresh, out=u), out=b)
            ahead = np.add(np.multiply(b, momentum, out=u), g, out=u) if group["nesterov"] else b
            np.multiply(ahead, lr, out=t)
            np.subtract(p, t, out=p)
