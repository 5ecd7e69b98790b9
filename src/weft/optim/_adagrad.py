"""Adagrad (Duchi, Hazan and Singer, 2011)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.optim import _options
from weft.optim._blocks import blocks, downhill
from weft.optim._optimizer import Group, Optimizer


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of its squares so far.

    `foreach` and `fused` are accepted and change nothing.

    >>> import weft
    >>> x = weft.tensor([4.0], requires_grad=True)
    >>> optimizer = Adagrad([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([3.5000], requires_grad=True)
    """

    _buffers = frozenset({"sum"})
    _remembers = _buffers | {"step"}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add parameters with options of their own; their sums of squares begin at once."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for parameter in group["params"]:
            self._begin(parameter, group)

    def _check_options(self, group: Group) -> None:
        _options.not_negative("Adagrad", group, "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
        _options.one_way_to_run("Adagrad", group)

    def _begin(self, parameter: Tensor, group: Group) -> None:
        self._prepare(parameter, self.state[parameter], group)

    def _prepare(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        if "sum" in state:
            return
        start = float(group["initial_accumulator_value"])
        complex_start = complex(start, start)  # real and imaginary parts have sums of their own
        fill = complex_start if parameter.dtype.kind == "c" else start
        state["step"], state["sum"] = 0, Tensor(np.full(parameter.shape, fill, parameter.dtype))

    def _update(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        state["step"] = state["step"] + 1
        rate = float(group["lr"]) / (1 + (state["step"] - 1) * float(group["lr_decay"]))
        decay, eps, maximize = float(group["weight_decay"]), float(group["eps"]), group["maximize"]
        for p, g, total, t, u in blocks(parameter, state["sum"], scratch=2):
            g = downhill(g, p, u, decay, maximize)
            np.square(g, out=t)
            np.add(total, t, out=total)
            np.sqrt(total, out=t)
            np.add(t, eps, out=t)
            np.divide(g, t, out=t)
            np.multiply(t, rate, out=t)
            np.subtract(p, t, out=p)
