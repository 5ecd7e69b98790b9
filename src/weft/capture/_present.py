"""Dicts with a key that one side of a branch has brought, and the order of keys that branches have added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft import pytree
from weft.capture._values import MaybeUnbound, PartlyDefined, Scalar, Undefined

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def only_there(values: dict[Any, Any], key: Any, there: Any) -> dict[Any, Any]:
    """The dict, without a key where that is not there.

    >>> only_there({"a": 1, "b": 2}, "b", False)
    {'a': 1}
    """
    return values if there else {name: value for name, value in values.items() if name != key}


def missing_last(recorder: Recorder, value: dict[Any, Any]) -> Any:
    """A dict of which the last key may be missing, as the call that leaves it out; None of any other dict.

    Of several such keys, or one before others, only running would tell the order.
    """
    if recorder.unordered:
        check_order(recorder, value)
    missing = [key for key, part in value.items() if isinstance(part, Undefined)]
    if len(missing) != 1 or missing[0] != next(reversed(value)):
        return None
    held = value[missing[0]]
    if not isinstance(held, (MaybeUnbound, PartlyDefined)):
        return None
    parts = {key: recorder.arg(held.value if part is held else part) for key, part in value.items()}
    return recorder.create(only_there, (parts, missing[0], held.ran), {}, None)


def has_missing(value: Any) -> bool:
    """Whether a value is a dict with a key that may be missing."""
    return type(value) is dict and any(isinstance(part, Undefined) for part in value.values())


def key_asked(recorder: Recorder, mapping: Any, key: Any) -> Any:
    """The key that a dict is asked for: where one may be missing, a number that this call knows is that number."""
    if not isinstance(key, Scalar) or not isinstance(mapping, dict) or not recorder.can_decide(key):
        return key
    missing = any(isinstance(part, Undefined) for part in dict.values(mapping))
    return recorder.concrete(key, "a key of a dict") if missing else key


def check_order(recorder: Recorder, value: Any) -> None:
    """Refuse what shows the order of the keys of a dict, where branches have added them in different orders."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in recorder.unordered:
            recorder.refuse(
                "the order of the keys of a dict is known only when the graph runs: it depends on a branch",
                help="give the keys a value before the branch, such as None",
            )
        opened = pytree.parts_of(one)
        waiting += [] if opened is None else opened[0]


def note_assigned(recorder: Recorder, target: dict[Any, Any], key: Any) -> None:
    """A key is assigned; where that may be missing until now, and others came after it, its place is open."""
    held = dict.get(target, key)
    if isinstance(held, (MaybeUnbound, PartlyDefined)) and next(reversed(target)) != key:
        recorder.unordered[id(target)] = target


def orders(holders: list[Any]) -> list[list[Any]]:
    """The keys of dicts, in their order."""
    return [[key for key, part in holder.items() if type(part) is not Undefined] for holder in holders]


def note_orders(recorder: Recorder, holders: list[Any], first: list[list[Any]], second: list[list[Any]]) -> None:
    """Compare the orders in which the sides of a branch leave the keys of dicts."""
    for holder, one, other in zip(holders, first, second, strict=True):
        if [key for key in one if key in other] != [key for key in other if key in one]:
            recorder.unordered[id(holder)] = holder
