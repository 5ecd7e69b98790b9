"""`sorted`, `list.sort`, `min` and `max` of values that are traced, or ordered by a key that is.

The order is found when the graph runs, by Python's own sort: ties and NaNs come out as in the plain call. What then
stands at each place is chosen from the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._convert import is_converted
from weft.capture._iterables import Items
from weft.capture._opaque import Opaque
from weft.capture._values import Array, is_traced
from weft.graph._looping import place_of, sort_order, sort_places
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_MOST = 64  # values that are put in order one by one


def ordered(recorder: Recorder, values: Any, key: Any = None, reverse: Any = False) -> list[Any]:
    """`sorted(values, key=key, reverse=reverse)` of a known number of values."""
    rows = _rows(recorder, values, "sorted(...)")
    keys = _keys(recorder, rows, key)
    if not is_traced(keys):
        return [rows[k] for k in sort_order(keys, reverse)]
    if len(rows) > _MOST:
        recorder.refuse(f"{len(rows)} values sorted by traced keys, one by one", help=_HELP)
    return [_row(recorder, rows, k) for k in _placed(recorder, sort_order, keys, reverse, [int] * len(rows))]


def ordered_array(recorder: Recorder, values: Array, reverse: Any) -> list[Any]:
    """`sorted(values, reverse=reverse)` of an array of one dimension: it is read once, in that order."""
    type_ = Spec(values.spec.shape, np.intp)
    order = recorder.wrap(recorder.create(sort_places, (values, reverse), {}, type_), type_)
    return list(recorder.items(recorder.run_getitem(values, order)))


def extreme(recorder: Recorder, function: Any, values: Any, key: Any, default: dict[str, Any]) -> Any:
    """`min(values, key=key)`, or `max`."""
    if recorder.branches and key is not None and not default and _is_unknown(recorder, values):
        return one_by_one(recorder, function, values, key)
    rows = _rows(recorder, values, f"{function.__name__}(…, key=…)")
    keys = _keys(recorder, rows, key)
    if not rows:
        return function(rows, **default)
    if not is_traced(keys):
        return rows[place_of(keys, function is max)]
    return _row(recorder, rows, _placed(recorder, place_of, keys, function is max, int))


def is_by_outside(recorder: Recorder, given: dict[str, Any]) -> bool:
    """Whether a key is all that is given, and reads variables of the program: it cannot run on its own."""
    key: Any = given.get("key")
    if not recorder.branches or len(given) != 1 or not is_converted(key):
        return False
    written = recorder.libraries.callbacks.template(key)
    return bool(written.__code__.co_freevars or written.__defaults__ or key.__defaults__ or key.__kwdefaults__)


def one_by_one(recorder: Recorder, function: Any, values: Any, key: Any) -> Any:
    """`min(values, key=key)`, or `max`, as a loop of the graph."""
    return recorder._deeper(recorder.bind(greatest if function is max else least), (values, key), {})


_HELP = "use arrays: order = np.argsort(keys, kind='stable'), then values[order]; np.argmin and np.argmax find a place"


def _rows(recorder: Recorder, values: Any, what: str) -> list[Any]:
    grown = recorder.lists.get(values)
    values = values if grown is None else grown
    if _is_unknown(recorder, values):
        recorder.refuse(f"{what} of traced values of which the number is known only when the graph runs", help=_HELP)
    return list(recorder.items(values)) if isinstance(values, Array) else list(values)


def _is_unknown(recorder: Recorder, values: Any) -> bool:
    """Whether only running tells how many values there are."""
    grown = recorder.lists.get(values)
    values = values if grown is None else grown
    unknown = isinstance(values, Opaque) or (isinstance(values, Items) and values.traced)
    return unknown and not (isinstance(values, Items) and recorder.can_decide(values.length))


def _keys(recorder: Recorder, rows: list[Any], key: Any) -> list[Any]:
    return rows if key is None else [recorder.call(key, (row,), {}) for row in rows]


def _placed(recorder: Recorder, function: Any, keys: list[Any], flag: Any, type_: Any) -> Any:
    if not recorder.untyped:
        return recorder.wrap(recorder.create(function, (keys, flag), {}, type_), type_)
    found = recorder.opaque(function, (keys, flag), {})
    return found if type_ is int else [found[k] for k in range(len(keys))]


def _row(recorder: Recorder, rows: list[Any], place: Any) -> Any:
    """The value at a traced place; of `range(n)` that is the place itself."""
    if all(type(row) is int and row == k for k, row in enumerate(rows)):
        return place
    return recorder.run_getitem(rows, place)


# Captured themselves, as the program's own loops are: of values whose number only running tells.


def greatest(values: Any, key: Any) -> Any:
    """`max(values, key=key)`."""
    items = list(values)
    if not items:
        return max(())
    found = items[0]
    most = key(found)
    for value in items[1:]:
        rank = key(value)
        if rank > most:
            found, most = value, rank
    return found


def least(values: Any, key: Any) -> Any:
    """`min(values, key=key)`."""
    items = list(values)
    if not items:
        return min(())
    found = items[0]
    most = key(found)
    for value in items[1:]:
        rank = key(value)
        if rank < most:
            found, most = value, rank
    return found
