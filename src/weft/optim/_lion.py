"""Lion: evolved sign momentum (Chen et al., 2023, "Symbolic Discovery of Optimization Algorithms")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from weft.autograd import Tensor
from weft.optim import _options
from weft.optim._blocks import begin, blocks
from weft.optim._optimizer import Group, Optimizer


class Lion(Optimizer):
    """Moves every number by lr, in the direction of the sign of beta1·m + (1 − beta1)·g; m ← beta2·m + (1 − beta2)·g.

    Weight decay shrinks the parameters apart from the gradient, as in AdamW. A learning rate three to ten times
    smaller than AdamW's, with as much more weight decay, is where to start.

    >>> import weft
    >>> x = weft.tensor([4.0, -1.0], requires_grad=True)
    >>> optimizer = Lion([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [3.5, -0.5]
    """

    _buffers = frozenset({"exp_avg"})
    _remembers = _buffers

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize})

    def _check_options(self, group: Group) -> None:
        _options.not_negative("Lion", group, "lr", "weight_decay")
        _options.betas("Lion", group)

    def _prepare(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        begin(state, ["exp_avg"], parameter)

    def _update(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        lr, maximize = float(group["lr"]), group["maximize"]
        shrink = 1 - lr * float(group["weight_decay"])
        beta1, beta2 = map(float, group["betas"])
        for p, g, m, t, u, v in blocks(parameter, state["exp_avg"], scratch=3):
            if shrink != 1:
                np.multiply(p, shrink, out=p)
            g = np.negative(g, out=v) if maximize else g
            np.multiply(m, beta1, out=t)
            np.multiply(g, 1 - beta1, out=u)
            np.add(t, u, out=t)
            np.sign(t, out=t)
            np.multiply(t, lr, out=t)
            np.subtract(p, t, out=p)
            np.multiply(m, beta2, out=m)
            np.multiply(g, 1 - beta2, out=t)
            np.add(m, t, out=m)
