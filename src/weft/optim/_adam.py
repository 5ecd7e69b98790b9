"""Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.optim import _options
from weft.optim._blocks import begin, blocks, downhill
from weft.optim._optimizer import Group, Optimizer


class Adam(Optimizer):
    """Steps of even size: the mean gradient over the root of the mean square, both corrected for starting at zero.

    `amsgrad` divides by the largest mean square so far; `decoupled_weight_decay` shrinks the parameters themselves in
    place of adding to the gradient. `foreach` and `fused` are accepted and change nothing.

    >>> import weft
    >>> x = weft.tensor([4.0], requires_grad=True)
    >>> optimizer = Adam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([3.5000], requires_grad=True)
    """

    _buffers = frozenset({"exp_avg", "exp_avg_sq", "max_exp_avg_sq"})
    _remembers = _buffers | {"step"}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _check_options(self, group: Group) -> None:
        _options.not_negative(self._name, group, "lr", "eps", "weight_decay")
        _options.betas(self._name, group)
        _options.one_way_to_run(self._name, group)

    def _prepare(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        state.setdefault("step", 0)
        begin(state, _kept(group), parameter)

    def _update(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        kept = _kept(group)
        step = state["step"] = state["step"] + 1
        lr, decay, maximize = float(group["lr"]), float(group["weight_decay"]), group["maximize"]
        beta1, beta2 = map(float, group["betas"])
        shrink = 1 - lr * decay if group["decoupled_weight_decay"] else 1.0
        decay = 0.0 if group["decoupled_weight_decay"] else decay
        # lr/c₁ · m / (√v/√c₂ + eps), with √c₂ taken out of the fraction to save one pass over the memory.
        root = math.sqrt(1 - beta2**step)
        rate, eps = lr * root / (1 - beta1**step), float(group["eps"]) * root
        adjusts = bool(decay) or maximize
        for p, g, m, v, *rest in blocks(parameter, *(state[name] for name in kept), scratch=2 if adjusts else 1):
            t = rest[-1]
            if shrink != 1:
                np.multiply(p, shrink, out=p)
            if adjusts:
                g = downhill(g, p, rest[-2], decay, maximize)
            _average(m, g, beta1, t)
            np.multiply(g, 1 - beta2, out=t)
            np.multiply(t, g, out=t)
            np.multiply(v, beta2, out=v)
            np.add(v, t, out=v)
            if group["amsgrad"]:
                v = np.maximum(rest[0], v, out=rest[0])
            np.sqrt(v, out=t)
            np.add(t, eps, out=t)
            np.divide(m, t, out=t)
            np.multiply(t, rate, out=t)
            np.subtract(p, t, out=p)


class AdamW(Adam):
    """Adam that shrinks the parameters by lr·weight_decay at each step, apart from the gradient."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


def _kept(group: Group) -> list[str]:
    return ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"][: 3 if group["amsgrad"] else 2]


def _average(m: Any, g: Any, beta: float, t: Any) -> None:
    """Set m to beta·m + (1 − beta)·g."""
    np.multiply(g, 1 - beta, out=t)
    np.multiply(m, beta, out=m)
    np.add(m, t, out=m)
