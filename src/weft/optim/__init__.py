"""Optimisers and learning-rate schedules, under the names of `torch.optim`. See `Optimizer` and `lr_scheduler`.

>>> import weft
>>> x = weft.tensor([3.0], requires_grad=True)
>>> optimizer = weft.optim.SGD([x], lr=0.25)
>>> for _ in range(3):
...     optimizer.zero_grad()
...     ((x - 1) ** 2).sum().backward()
...     optimizer.step()
>>> x.tolist()
[1.25]
"""

from weft._listing import listing as _listing
from weft.optim import lr_scheduler
from weft.optim._adagrad import Adagrad
from weft.optim._adam import Adam, AdamW
from weft.optim._lbfgs import LBFGS
from weft.optim._lion import Lion
from weft.optim._optimizer import Optimizer
from weft.optim._rmsprop import RMSprop
from weft.optim._sgd import SGD

__all__ = ["Optimizer", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Lion", "LBFGS", "lr_scheduler"]

__dir__ = _listing(__name__)
