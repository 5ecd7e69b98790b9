"""What a program may find missing: a variable, an item of a dict, an attribute that a branch or a loop assigns.

Where it is known only when the graph runs whether there is one, reading it raises then, as in Python. Whether it is
there is a truth value of the graph, where that is carried; else to ask is refused.
"""

from __future__ import annotations

import copy
import operator
from ast import literal_eval
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, NoReturn

from weft._objects import dict_of
from weft.capture._branch import Branch, PathEnded, end_path
from weft.capture._convert_site import Site
from weft.capture._once import take
from weft.capture._present import check_order, key_asked
from weft.capture._values import MaybeUnbound, Traced, Unassigned, Undefined, is_traced
from weft.errors import CaptureError

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_READING = (
    *(len, bool, list, tuple, dict, set, frozenset, iter, reversed, sorted, enumerate, zip, map, filter),
    *(any, all, sum, max, min, repr, str, print, operator.contains, operator.getitem, operator.truth, operator.not_),
    *(copy.copy, copy.deepcopy),
)
_ALL_KEYS = frozenset({"keys", "values", "items", "copy", "__iter__", "__len__", "__eq__", "__or__"})
_ONE_KEY = frozenset({"get", "setdefault", "pop", "__contains__", "__getitem__"})
_READING_ONE = frozenset({"get", "__contains__", "__getitem__"})
_BY_NAME = "ask for variables by their names, such as globals()['name']"
_HELP = "give it a value before the branch or the loop, such as None or 0"


def bound(recorder: Recorder, value: Any, owner: Any = None) -> Any:
    """The value of what may be missing, as an attribute of `owner` may: where it is, reading it raises as in Python."""
    if not isinstance(value.ran, Traced):
        if not value.ran:
            raise _error(value.name, owner)
        return value.value
    if value.late is not None:
        value.late.note_read()
    site = Site("if", "", 0, 0, 0, 0, "")
    for side in Branch(recorder, site, recorder.truth(value.ran), ()):
        with side:
            if not side.taken:
                error = _error(value.name, owner)
                if recorder.catches(type(error)):
                    recorder.doubt(f"{value.name.partition(' #')[0]} may be missing, inside a `try` with handlers")
                end_path(recorder, error)
                raise PathEnded
        side.leave(())
    return value.value


def held_item(owner: Any, key: Any) -> Any:
    """What a dict holds by a key, or None; of the `__dict__` of an object it is an item too."""
    held = dict.get(owner, key) if isinstance(owner, dict) and not is_traced(key) else None
    return held.remade(f"[{key!r}]", held.value, held.ran) if isinstance(held, MaybeUnbound) else held


def unassigned(recorder: Recorder, value: Unassigned) -> NoReturn:
    """A variable is read before this turn of a loop assigns it: the path ends, and the loop is captured again."""
    before = recorder.refused
    try:
        recorder.undefined(value)
    except CaptureError as error:
        value.refusal, recorder.refused = value.refusal or error, before
    value.note_read()
    end_path(recorder, _error(value.name))
    raise PathEnded


def _error(name: str, owner: Any = None) -> Exception:
    """What reading it raises where it is missing; places are named `.attribute` and `[key]`, and numbered."""
    name = name.partition(" #")[0]
    if name.startswith("."):
        whose = "the object" if owner is None else f"'{type(owner).__name__}' object"
        return AttributeError(f"{whose} has no attribute '{name[1:]}'")
    if name.startswith("["):
        try:
            return KeyError(literal_eval(name[1:-1]))
        except (ValueError, SyntaxError):
            return KeyError(name[1:-1])
    return UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")


def whole(recorder: Recorder, value: Any) -> Any:
    """A value all of which is read: refused of a dict with a key that only one side of a branch has brought."""
    if isinstance(value, dict):
        if is_globals(value) and recorder._home(value) is None:
            recorder.refuse(
                "all that globals() holds is read at once, which may be more by the next call", help=_BY_NAME
            )
        if recorder.unordered:
            check_order(recorder, value)
        for key, part in value.items():
            if isinstance(part, Undefined):
                _maybe_there(recorder, f"a dict has the key {key!r}")
    return value


def is_globals(value: Any) -> bool:
    """Whether a dict holds the variables of a module, as `globals()` gives it."""
    return type(value) is dict and "__builtins__" in value


def in_globals(recorder: Recorder, space: dict[str, Any], name: str) -> bool:
    """Whether a module has a variable, which the graph then takes for granted."""
    if name in space:
        recorder.reads.item(space, name)
        return True
    recorder.reads.names.setdefault((id(space), name), (space, name, ("missing",)))
    return False


def _of_globals(recorder: Recorder, function: Any, space: dict[str, Any], name: str, *default: Any) -> tuple[Any]:
    there = in_globals(recorder, space, name)
    if function.__name__ == "__contains__":
        return (there,)
    if there:
        return (recorder.hooks.getitem(space, name),)
    return (function(name, *default),)


def question(recorder: Recorder, function: Any, owner: Any, args: tuple[Any, ...]) -> tuple[Any] | None:
    """The answer of a call that asks for what may be missing; None of any other call.

    Such calls are `len(d)` and `d.items()`, which read a dict whole, `d.get(key)` and `hasattr(object, name)`.
    """
    if function is next and args and hasattr(type(args[0]), "take"):  # of a generator expression
        return (args[0].take(*args[1:]),)
    if (function is any or function is all) and args and hasattr(type(args[0]), "take"):
        return (args[0].truth(function),)
    if function is next and args:
        take(recorder, args[0])  # refused where a loop has left the iterator before its end, as only running tells
    if function is next and args and recorder._home(args[0]) not in (None, recorder.region):
        recorder.refuse(
            "an iterator made outside a branch or loop is advanced inside it (next())",
            help="count in a variable, and take the elements of a list or an array by it",
        )
    if function is vars and args:
        own_attributes(recorder, args[0])
    if function is hasattr or function is getattr:
        return _attribute(recorder, function, args)
    if isinstance(owner, dict):
        if function.__name__ in _ALL_KEYS:
            whole(recorder, owner)
        elif is_globals(owner) and function.__name__ in _READING_ONE and args and type(args[0]) is str:
            return _of_globals(recorder, function, owner, *args)
        elif function.__name__ in _ONE_KEY and args:
            key = key_asked(recorder, owner, args[0])
            held = None if is_traced(key) else owner.get(key)
            if isinstance(held, Undefined):
                return _item(recorder, function.__name__, held, (key, *args[1:]))
    elif any(isinstance(each, dict) for each in args) and any(function is each for each in _READING):
        for each in args:
            whole(recorder, each)
    return None


def _attribute(recorder: Recorder, function: Any, args: tuple[Any, ...]) -> tuple[Any] | None:
    if len(args) < 2 or isinstance(args[0], Traced) or not isinstance(args[1], str):
        return None
    slot = getattr(type(args[0]), args[1], None)
    held: Any = dict_of(args[0]) or {}
    found: Any = held.get(args[1])
    if isinstance(slot, MemberDescriptorType):
        found = getattr(args[0], args[1], None)
    if not isinstance(found, Undefined):
        return None
    there = is_there(recorder, found, f"an object has .{args[1]}")
    if function is hasattr:
        return (there,)
    return (_or_default(recorder, found, args[2]) if len(args) > 2 else bound(recorder, found, args[0]),)


def _item(recorder: Recorder, name: str, held: Any, args: tuple[Any, ...]) -> tuple[Any]:
    what = f"a dict has the key {args[0]!r}"
    there = is_there(recorder, held, what)
    if name == "__contains__":
        return (there,)
    if name == "__getitem__":
        return (bound(recorder, held),)
    if name == "get":
        return (_or_default(recorder, held, args[1] if len(args) > 1 else None),)
    return _maybe_there(recorder, what)


def own_attributes(recorder: Recorder, owner: Any) -> None:
    """Refuse a look at those attributes an object has of its own, where a branch or loop gives it one of its class."""
    if recorder.region is recorder.root or id(owner) in recorder.region.made:
        return
    for place in recorder.places.all():
        if place.holder is owner and place.inherited:
            _maybe_there(recorder, f"an object has .{place.key} of its own")


def is_there(recorder: Recorder, held: Any, what: str) -> Any:
    """Whether there is something, where the graph carries that."""
    return held.ran if isinstance(held, MaybeUnbound) else _maybe_there(recorder, what)


def _or_default(recorder: Recorder, held: Any, default: Any) -> Any:
    if not isinstance(held.ran, Traced):
        return held.value if held.ran else default
    value: Any = Undefined("_weft_value")
    site = Site("if", "", 0, 0, 0, 0, "", names=("_weft_value",), live=frozenset({"_weft_value"}))
    refused = recorder.refused
    try:
        for side in Branch(recorder, site, recorder.truth(held.ran), (value,)):
            with side:
                value = held.value if side.taken else default
            (value,) = side.leave((value,))
    except CaptureError:  # the default is of another type
        recorder.refused = refused
        _maybe_there(recorder, f"there is {held.name}")
    return value


def _maybe_there(recorder: Recorder, what: str) -> NoReturn:
    recorder.refuse(
        f"whether {what} is known only when the graph runs: one side of a branch, or a loop, assigns it", help=_HELP
    )
