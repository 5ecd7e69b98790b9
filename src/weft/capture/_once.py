"""Iterators of the program whose items only the running graph counts: generator expressions, `zip`, `enumerate`, `map`.

In a graph they are sequences, which could be gone through again and again. In Python they give their items once, and a
generator expression computes them where they are asked for. So the items are taken once, in the branch or loop in
which the iterator was made, and before anything that the expression reads has changed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft import pytree
from weft.capture._iterables import Items
from weft.capture._numpy_views import FlatArray
from weft.capture._opaque import Opaque

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_HELP = "make a list of them where they are made: list(...), [... for ...]"


class Once:
    """What is known of one iterator."""

    def __init__(self, recorder: Recorder, value: Any, functions: tuple[Callable[..., Any] | None, ...]) -> None:
        self.value, self.region = value, recorder.region
        self.taken: Any = None  # the place in the program where they were
        self._cells = [cell for function in functions for cell in getattr(function, "__closure__", None) or ()]
        self._before = self._now(recorder)

    def _now(self, recorder: Recorder) -> list[Any]:
        return [recorder.stores if self._cells else 0, *(id(_content(cell)) for cell in self._cells)]

    def take(self, recorder: Recorder) -> Any:
        """The items, which are there no more afterwards."""
        place = recorder.position()
        if self.taken is not None and (self.taken != place or not isinstance(self.value, list)):
            recorder.refuse("the items of a generator, zip or the like are taken a second time", help=_HELP)
        if self.region is not recorder.region:
            recorder.refuse("the items of a generator, zip or the like made outside a branch or loop", help=_HELP)
        if self._now(recorder) != self._before:
            recorder.refuse("the items of a generator expression after what it reads has changed", help=_HELP)
        self.taken = place
        return copy.copy(self.value) if isinstance(self.value, Items) else self.value


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is assigned yet
        return cell


def once(recorder: Recorder, value: Any, *functions: Callable[..., Any] | None) -> Any:
    """Let the items of an iterator be taken once. `functions` compute them, as those of a generator expression do."""
    recorder.once[id(value)] = Once(recorder, value, functions)
    return value


def take(recorder: Recorder, value: Any) -> Any:
    """The items of such an iterator; any other value as it is."""
    found = recorder.once.get(id(value)) if recorder.once else None
    return value if found is None else found.take(recorder)


def leave(recorder: Recorder, iterator: Any) -> None:
    """Note that a loop over an iterator may have ended before its items did, as only the running graph tells."""
    made = iterator._node.target if isinstance(iterator, Opaque) and iterator._node is not None else None
    if hasattr(type(iterator), "__next__") or made is iter:
        recorder.once[id(iterator)] = Once(recorder, iterator, ())
        recorder.once[id(iterator)].taken = "a loop"


def check_asked(recorder: Recorder, value: Any) -> None:
    """Refuse to look for an item, which takes those before it."""
    if recorder.once and id(value) in recorder.once:
        recorder.refuse("`in` of a generator, zip or the like, which takes the items before", help=_HELP)


def check_given_back(recorder: Recorder, result: Any) -> None:
    """Refuse a result that is such an iterator, or holds one."""
    leaves = pytree.flatten(result, is_leaf=lambda value: id(value) in recorder.once)[0] if recorder.once else []
    if any(type(leaf) is FlatArray for leaf in pytree.leaves_of(result)):
        recorder.refuse(".flat is given back: it is an iterator of NumPy's", help="give back .ravel(), or list(a.flat)")
    if any(id(leaf) in recorder.once for leaf in leaves):
        recorder.refuse("a generator, zip or the like is given back, and a graph gives its result at once", help=_HELP)
