"""Learning rates that change from step to step, under the names of `torch.optim.lr_scheduler`.

Make the schedule after the optimiser, and call its `step` after the optimiser's.

>>> import weft
>>> optimizer = weft.optim.SGD([weft.tensor([1.0], requires_grad=True)], lr=8.0)
>>> schedule = StepLR(optimizer, step_size=2, gamma=0.5)
>>> rates = []
>>> for _ in range(6):
...     rates += schedule.get_last_lr()
...     optimizer.step()
...     schedule.step()
>>> rates
[8.0, 8.0, 4.0, 4.0, 2.0, 2.0]
"""

from weft.optim.lr_scheduler._composed import ChainedScheduler, SequentialLR
from weft.optim.lr_scheduler._cycles import CosineAnnealingWarmRestarts, OneCycleLR
from weft.optim.lr_scheduler._factors import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from weft.optim.lr_scheduler._plateau import ReduceLROnPlateau
from weft.optim.lr_scheduler._scheduler import LRScheduler

# fmt: off
__all__ = [
    "LRScheduler",
    "LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ExponentialLR",
    "ConstantLR", "LinearLR", "PolynomialLR", "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts", "OneCycleLR", "ReduceLROnPlateau",
    "SequentialLR", "ChainedScheduler",
]
# fmt: on
