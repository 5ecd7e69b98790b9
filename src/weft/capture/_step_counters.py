"""Numbers outside that a captured program changes: `self.steps += 1`, `nonlocal total`, a global that counts.

Such a number is read when the graph runs, and set when everything is computed. Whether the program changes it is known
only when it does: the program is then captured once more, from the beginning.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from weft._step import Holder, number_of, set_number
from weft.capture._outside import made_in
from weft.capture._step_gradients import Gradients
from weft.capture._values import Scalar
from weft.ops import Spec

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
Place = tuple[Any, str]
"""An object, a cell or the dict of a module, and the name of a number in it."""


class Counted(BaseException):  # no error: no handler of the program may catch it
    """A program changes a number outside, and has to be captured again with that in mind."""

    def __init__(self, place: Place) -> None:
        self.place = place


class Counters(Gradients):
    """The part of a capture of a step that counts."""

    def __init__(self, recorder: Any) -> None:
        super().__init__(recorder)
        self.counted: dict[tuple[int, str], Place] = {}  # what the program is known to change
        self.counts: dict[tuple[int, str], Any] = {}  # what that is where the program is now
        self.began: dict[tuple[int, str], Any] = {}  # what it was in the beginning

    def number(self, owner: Any, name: str) -> Any:
        """A number that the program changes, as it is now; None where it is not one."""
        key = (id(owner), name)
        if key not in self.counted:
            return None
        if key not in self.counts:
            value, recorder = _present(owner, name), self.recorder
            holder = Holder(owner)
            is_plain = type(value) in (bool, int, float)
            type_ = type(value) if is_plain else Spec((), value.dtype)
            with recorder.within(recorder.root):
                node = recorder.create(number_of, (self.held(holder, "holder"), name), {}, type_, name)
            recorder.computed[node] = (holder, name)
            made = recorder.wrap(node, type_)
            made.hint = value if is_plain else None
            self.began[key] = self.counts[key] = made
        return self.counts[key]

    def set_number(self, owner: Any, name: str, value: Any) -> bool:
        """Set a number outside when the graph has run; False where that is not what the program does."""
        recorder, key = self.recorder, (id(owner), name)
        if recorder.untyped or not recorder.keeps_raising or recorder.region is not self.region:
            return False
        is_number = isinstance(value, _NUMBERS) or (isinstance(value, Scalar) and isinstance(value.spec, Spec))
        if not is_number or not isinstance(_present(owner, name), _NUMBERS) or made_in(recorder, owner):
            return False
        if key not in self.counted:
            raise Counted((owner, name))
        self.number(owner, name)
        recorder.python_effects += 1
        self.counts[key] = value
        return True

    def set_variable(self, space: Any, name: str, value: Any) -> None:
        """The same for a global or a variable of a function that is over; refused where it is something else."""
        is_global = isinstance(space, dict)
        if self.set_number(space, name, value):
            return
        what = f"the global {name}" if is_global else f"{name}, a variable of a function that is over"
        self.recorder.refuse(
            f"an assignment to {what}: it would happen once, when the program is captured",
            help=f"return the {'value' if is_global else 'new value'}, or write into an array: a[...] = value",
        )

    def finish_counts(self) -> None:
        """Append what the program has made of the numbers."""
        for key, value in self.counts.items():
            if value is not self.began[key]:
                holder = self.recorder.computed[self.began[key].node][0]
                args = (self.held(holder, "holder"), key[1], value)
                self.recorder.create(set_number, args, {}, None)

    def held(self, value: Any, name: str) -> Any:
        """The node by which the graph reads an object of Python's."""
        raise NotImplementedError


def _present(owner: Any, name: str) -> Any:
    if isinstance(owner, types.CellType):
        return owner.cell_contents
    space = owner if isinstance(owner, dict) else getattr(owner, "__dict__", {})
    return space.get(name)
