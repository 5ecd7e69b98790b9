"""Arrays that a program closes over, kept as they were when the program used them.

A program may change such an array between two uses of it. A graph that read the array itself would see its last state
at both places:

    mask = np.zeros(3)
    mask[0] = 1
    a = x * mask
    mask[:] = 1
    b = x * mask

So what an array holds is noted with each use. One that is the same when tracing ends is kept itself, its memory shared
with the program; of one that changed, a copy is kept for each state that was used.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from weft._module import as_array
from weft.autograd import Tensor

State = tuple[tuple[int, ...], np.dtype[Any], Any]


class Constants:
    """What a tracer met of arrays, and the names it gave them."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}  # by name; held, so that their ids stay theirs
        self._states: dict[str, State | None] = {}
        self._names: dict[int, str] = {}  # of the latest state of each array

    def name(self, array: Any, make: Callable[[], str]) -> str:
        """The name of the array in its present state; `make` gives a new one."""
        now = _state(array)
        known = self._names.get(id(array))
        if known is not None and self._states[known] == now:
            return known
        self._names[id(array)] = name = make()
        self._arrays[name], self._states[name] = array, now
        return name

    def note(self, name: str, array: Any) -> None:
        """Note what an array that has a name of its own holds when it is first used."""
        if name not in self._states:
            self._arrays[name], self._states[name] = array, _state(array)

    def changed(self) -> dict[str, Any]:
        """By name, copies of the arrays that are no longer what they were."""
        return {
            name: _rebuilt(array, state)
            for name, array in self._arrays.items()
            if (state := self._states[name]) is not None and _state(array) != state
        }


def _state(array: Any) -> State | None:
    """All that an array holds; nothing of one that stands for a file, which may be larger than memory."""
    if isinstance(array, np.memmap):
        return None
    plain = as_array(array)
    if isinstance(array, np.ndarray) and type(array) is not np.ndarray:  # a masked array, say, holds more
        return plain.shape, plain.dtype, pickle.dumps(array)
    held = tuple(map(_Same, plain.flat)) if plain.dtype.hasobject else plain.tobytes()
    return plain.shape, plain.dtype, held


class _Same:
    """An object that equals itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]  # so says Python that there is none


def _rebuilt(array: Any, state: State) -> Any:
    shape, dtype, held = state
    if isinstance(array, np.ndarray) and type(array) is not np.ndarray:
        return pickle.loads(held)
    copied = np.empty(shape, dtype)
    if dtype.hasobject:
        copied.reshape(-1)[:] = [same.value for same in held]
    else:
        copied[...] = np.frombuffer(held, dtype).reshape(shape)
    return copied if not isinstance(array, Tensor) else type(array)(copied, requires_grad=array.requires_grad)
