"""The options of an optimiser in a captured program: `optimizer.param_groups`, and what its `_update` is given.

Numbers among them are read when the graph runs, where the program reads them: a schedule may have made a step before.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._step import option, set_option
from weft.autograd import Tensor
from weft.capture._values import Scalar

if TYPE_CHECKING:
    from weft.capture._step_state import Stepped


class Options(MutableMapping[str, Any]):
    """The options of a parameter group: numbers are those of the running graph."""

    def __init__(self, stepped: Stepped, number: int) -> None:
        self.stepped = stepped
        self.number = number
        self.group = stepped.optimizer.param_groups[number]
        self.read: dict[str, Any] = {}  # what stays as it is until a schedule or the program changes it

    def __getitem__(self, name: str) -> Any:
        if name not in self.read:
            self.read[name] = self._value(name, self.group[name])
        return self.read[name]

    def __setitem__(self, name: str, value: Any) -> None:
        stepped = self.stepped
        training, recorder = stepped.training, stepped.recorder
        training.begin("setting an option of an optimiser")
        is_number = isinstance(value, (Scalar, int, float, np.number)) and not isinstance(value, bool)
        if not is_number or name not in self.group or not _is_number(self.group[name]):
            recorder.refuse(
                f"setting {name!r} of {type(stepped.optimizer).__name__}: only numbers among its options are captured",
                help="set a number, float(x), or set it outside of the captured function",
            )
        recorder.create(set_option, (stepped.node, self.number, name, value), {}, None)
        stepped.options_set[self.number, name] = None if isinstance(value, Scalar) else float(value)
        for options in stepped.shown:
            options.read.pop(name, None)

    def __delitem__(self, name: str) -> None:
        self.stepped.recorder.refuse(
            f"deleting {name!r} of {type(self.stepped.optimizer).__name__}", help="do it outside the captured function"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.group)

    def __len__(self) -> int:
        return len(self.group)

    def _value(self, name: str, value: Any) -> Any:
        if name == "params":
            self.stepped.recorder.reads.from_outside(value)
            return value
        if isinstance(value, (list, tuple)) and all(map(_is_number, value)):
            return type(value)(self._number(name, part, place) for place, part in enumerate(value))
        if _is_number(value):
            known = self.stepped.options_set.get((self.number, name))
            return self._number(name, value) if known is None else known
        self.stepped.fixed[self.number, name] = value
        return value

    def _number(self, name: str, value: Any, *place: int) -> Scalar:
        stepped, recorder = self.stepped, self.stepped.recorder
        with recorder.within(recorder.root):  # no branch or loop changes it
            node = recorder.create(option, (stepped.node, self.number, name, *place), {}, float, name)
        if not stepped.knows(self.number, name):
            return Scalar(recorder, float, node)
        recorder.computed[node] = (stepped.optimizer, self.number, name, *place)
        return Scalar(recorder, float, node, hint=float(value))


def _is_number(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.ndim == 0
    return isinstance(value, Number) and not isinstance(value, (bool, complex))
