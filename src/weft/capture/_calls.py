"""`function(*args, **kwargs)` of a captured program: what is asked of objects, and changes of containers by methods."""

from __future__ import annotations

import operator
import types
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from weft.capture._changes import refuse_advance, uncaptured
from weft.capture._chosen import Joined
from weft.capture._generators import Generated
from weft.capture._iterables import Items
from weft.capture._lists import STANDING
from weft.capture._missing import question
from weft.capture._object_calls import object_call, update_dict
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._ordering import ordered
from weft.capture._own_operators import between, updated_own
from weft.capture._plain import OPERATORS, UPDATES
from weft.capture._python_calls import asked_of
from weft.capture._special import hashed
from weft.capture._state_places import KEEPING
from weft.capture._values import Array, Traced
from weft.graph._effects import _WRITING_METHODS

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_CHANGING: dict[Any, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"}),
    dict: frozenset({"pop", "popitem", "clear", "update", "setdefault"}),
    set: frozenset({"add", "remove", "discard", "pop", "clear", "update", "intersection_update", "difference_update"}),
}
"""Methods that lists, dicts and sets of the running graph have too. Of all others it is found out what they change."""
_SETTING = frozenset({"update", "setdefault"})
_STATEMENTS = {operator.setitem: "setitem", operator.delitem: "delitem", setattr: "setattr", delattr: "delattr"}
"""Functions that do what a statement does."""
_UPDATES = {function: sign for sign, function in UPDATES.items()}
_BY_OPERATOR = {f"__{function.__name__}__": function for function in (operator.setitem, operator.delitem, *_UPDATES)}
_OF_A_CLASS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def call(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that the program makes."""
    unknown = isinstance(function, _OF_A_CLASS) and bool(args) and isinstance(args[0], Opaque)
    if isinstance(function, _OF_A_CLASS) and args and isinstance(args[0], function.__objclass__) and not unknown:
        function, args = function.__get__(args[0]), args[1:]  # `list.append(items, x)`
    elif unknown:
        if not isinstance(args[0], Joined):
            return _of_class(recorder, function, args, kwargs)
        function, args = recorder.hooks.attr(args[0], function.__name__), args[1:]
    elif type(function) is types.MethodWrapperType and function.__name__ == "__call__":
        return call(recorder, function.__self__, args, kwargs)
    owner: Any = getattr(function, "__self__", None)
    if type(function) is operator.methodcaller and len(args) == 1:
        made: Any = cast(Any, function).__reduce__()  # the class or a partial of it, and arguments
        given: tuple[Any, ...] = (*getattr(made[0], "args", ()), *made[1])
        return call(recorder, recorder.hooks.attr(args[0], given[0]), given[1:], getattr(made[0], "keywords", {}))
    answer = question(recorder, function, owner, args)
    if answer is None:
        answer = object_call(recorder, function, owner, args, kwargs)
    if answer is not None:
        return answer[0]
    special = recorder.reads.special
    if function is hash and len(args) == 1:
        return hashed(recorder, args[0])
    if type(owner) is str and function.__name__ == "join" and len(args) == 1:
        given = args[0].whole() if isinstance(args[0], Generated) else args[0]
        args = (_texts(recorder, given),)
        if is_opaque(args):
            return recorder.opaque(str.join, (owner, *args), {})
    if special.methods:
        found = special.call(function, args, kwargs)
        if found is not None:
            return found[0]
    recorder.reads.made((*args, *kwargs.values()))
    if type(owner) in _CHANGING or (type(owner) in STANDING and recorder.lists.get(owner) is not None):
        changed = _by_method(recorder, function, owner, args, kwargs)
        if changed is not None:
            return changed[0]
    elif isinstance(owner, types.ModuleType):
        if function in _STATEMENTS:
            return getattr(recorder.hooks, _STATEMENTS[function])(*args)
        if function in _UPDATES:
            return updated(recorder, _UPDATES[function], *args)
    return asked_of(recorder, recorder.run(function, args, kwargs), args)


def _of_class(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`list.append(items, x)` of a value of unknown class, which may have a method of that name of its own."""
    if function.__name__ in KEEPING:
        recorder.lists.hold(args[1:])
        args = (args[0], *(recorder.state.handed(args[1:]) if recorder.state.used else args[1:]))
    recorder.stores += function.__name__ in _WRITING_METHODS
    return recorder.wrapped(function, args, kwargs)


def _texts(recorder: Recorder, given: Any) -> Any:
    """What is joined to one text, as a list where it is not of the running graph."""
    if isinstance(given, (str, Traced, Items)) or recorder.lists.get(given) is not None:
        return given
    refuse_advance(recorder, given)
    return list(given)


def _by_method(recorder: Recorder, function: Any, owner: Any, args: Any, kwargs: Any) -> tuple[Any] | None:
    """What a method of a list, dict or set gives, in a tuple; None where it is to be called like any other function."""
    name, lists = function.__name__, recorder.lists
    for value in args:
        refuse_advance(recorder, value)
    if name in _BY_OPERATOR:
        return (call(recorder, _BY_OPERATOR[name], (owner, *args), kwargs),)
    if name not in _CHANGING.get(type(owner), ()):
        known = lists.get(owner)
        if name == "__init__":
            recorder.change_object(owner, f".{name}()") if known is None else known.anything()
        if known is not None and name.startswith("__"):
            return (recorder.call_method(known.handle, name, args, kwargs),)
        return None if known is None else (getattr(known, name)(*args, **kwargs),)
    grown = lists.grown_by(owner)
    grown = lists.held_by(owner, (args, kwargs)) if grown is None else grown
    if grown is None and name in ("insert", "pop") and args:
        grown = lists.changed_at(owner, args[0])
    if grown is None and name == "extend" and len(args) == 1:
        grown = lists.lengthened(owner, args[0])
    if (
        grown is None
        and type(owner) is dict
        and name in _SETTING
        and recorder._home(owner) not in (None, recorder.region)
    ):
        return None  # it is found out which items it sets
    if grown is not None:
        return (getattr(grown, name)(*args, **kwargs),)
    recorder.change_object(owner, f".{name}()")
    if name == "sort" and not args:
        owner[:] = ordered(recorder, owner, **kwargs)
        return (None,)
    return None


def whole_list(recorder: Recorder, value: Any) -> Any:
    """A list as an operand of an array's operator."""
    grown = recorder.lists.get(value)
    return value if grown is None else grown.array()


def updated(recorder: Recorder, sign: str, value: Any, by: Any) -> Any:
    """What `value += by` stores, which a list or the like does by changing itself."""
    own = updated_own(recorder, sign, value, by)
    if own is not None:
        return own[0]
    if sign == "|=" and update_dict(recorder, value, by):
        return value
    if isinstance(value, np.number) and isinstance(by, Traced):
        return between(OPERATORS[sign[:-1]], value, by)
    refuse_advance(recorder, by)
    known = type(value) in _CHANGING or recorder.lists.get(value) is not None
    if known and hasattr(value, f"__{UPDATES[sign].__name__}__"):
        if isinstance(by, Array):
            return UPDATES[sign](whole_list(recorder, value), by)  # an array, and the list stays as it is
        grown = recorder.lists.grown_by(value)
        if grown is None and sign == "+=":
            grown = recorder.lists.lengthened(value, by)
        if grown is not None and type(value) is not list:
            recorder.create(UPDATES[sign], (grown.handle, by), {}, None).meta["must_run"] = True
            return value
        if grown is not None and sign == "+=" and isinstance(by, Opaque):
            grown.anything()
            return recorder.opaque(operator.iadd, (grown.handle, by), {})
        if grown is not None and sign in ("+=", "*="):
            grown.extend(by) if sign == "+=" else grown.repeat(by)
            return value
        recorder.change_object(value, sign)
    elif type(value) in recorder.reads.special.methods:
        return UPDATES[sign](value, by)
    elif not isinstance(value, Traced):
        return uncaptured(recorder, UPDATES[sign], (value, by), {})
    return UPDATES[sign](value, by)
