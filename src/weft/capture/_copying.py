"""`copy.copy` and `copy.deepcopy` in a captured program.

A copy is the program's own, to be changed. Arrays from outside are copied when the graph runs, as they are then. So is
what an object from outside holds, where its class leaves copying to Python; any other object is refused: it would be
copied once, as it is when the program is captured.
"""

from __future__ import annotations

import copy
import functools
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from weft._module import Module
from weft._objects import dict_of
from weft.autograd import Tensor
from weft.capture._object_calls import own_dict
from weft.capture._one_of import OneOf
from weft.capture._outside import made_in
from weft.capture._state_places import CONTAINERS, is_object, is_own
from weft.capture._values import Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

COPYING = (copy.copy, copy.deepcopy)
_FILLED = (list, dict, defaultdict, OrderedDict, Counter, deque)


def copied(recorder: Recorder, function: Any, value: Any) -> Any:
    """`function(value)`, where that is one of the two."""
    if isinstance(value, OneOf):
        return value.given_to(function, 0, (value,), {})
    return _deep(recorder, value, {}) if function is copy.deepcopy else _shallow(recorder, value, function)


def _deep(recorder: Recorder, value: Any, memo: dict[int, Any]) -> Any:
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, OneOf):
        recorder.refuse(
            "copy.deepcopy of what holds one of several objects: whether others in it hold that one too, only running "
            "tells",
            help="copy the parts one by one",
        )
    kind = type(value)
    made: Any
    if kind in _FILLED:
        made = memo[id(value)] = _emptied(recorder, value)
        if isinstance(value, dict):
            made.update({_deep(recorder, key, memo): _deep(recorder, part, memo) for key, part in value.items()})
        else:
            made.extend(_deep(recorder, part, memo) for part in value)
    elif kind is tuple:
        made = tuple(_deep(recorder, part, memo) for part in value)
        made = value if all(part is same for part, same in zip(made, value, strict=True)) else made
    elif kind is types.MethodType:
        made = types.MethodType(value.__func__, _deep(recorder, value.__self__, memo))
    else:
        method = getattr(kind, "__deepcopy__", None)
        if isinstance(method, types.FunctionType) and is_own(method):
            made = recorder.run(method, (value, {}), {})
        elif _by_attributes(kind):
            return _object(recorder, value, memo)
        else:
            made = _shallow(recorder, value, functools.partial(_at_once, recorder, memo))
    memo[id(value)] = made
    if made is not value:
        recorder.made(made)
    return made


def _emptied(recorder: Recorder, value: Any) -> Any:
    """A container like another, in which nothing is yet."""
    factory = getattr(value, "default_factory", None)
    if factory is not None and not isinstance(factory, (type, types.FunctionType, types.BuiltinFunctionType)):
        _refuse(recorder, value, copy.deepcopy)
    made = value.copy()
    made.clear()
    return made


def _at_once(recorder: Recorder, memo: dict[int, Any], value: Any) -> Any:
    """What Python copies when the program is captured: that holds nothing of which there may be another copy."""
    known: dict[int, Any] = dict(memo)
    made = copy.deepcopy(value, known)
    copied_too = [one for one in known.get(id(known), ()) if one is not value]
    if any(is_object(one) or isinstance(one, (*CONTAINERS, np.ndarray)) for one in copied_too):
        _refuse(recorder, value, copy.deepcopy)
    return made


def _object(recorder: Recorder, value: Any, memo: dict[int, Any] | None) -> Any:
    """An object with what another holds; copies of that where there is a memo of those made so far."""
    made = object.__new__(type(value))
    recorder.made(made)
    if memo is not None:
        memo[id(value)] = made
    for name, part in own_dict(recorder, value).items():
        part = part if memo is None else _deep(recorder, part, memo)
        object.__setattr__(made, name, part)
    return made


def _by_attributes(kind: type) -> bool:
    """Whether Python copies objects of a class by what their attributes hold, and nothing else."""
    sizes = (kind.__dictoffset__ != 0, kind.__basicsize__)
    if not is_own(kind) or issubclass(kind, (type, Module, BaseException)) or sizes != (True, _PLAIN_SIZE):
        return False
    same = ("__new__", "__reduce_ex__", "__reduce__", "__getstate__")
    if any(getattr(kind, name, None) is not getattr(object, name, None) for name in same):
        return False
    return not any(hasattr(kind, name) for name in ("__setstate__", "__next__"))


class _Plain:
    """Has attributes, and nothing in C."""


_PLAIN_SIZE = _Plain.__basicsize__


def _shallow(recorder: Recorder, value: Any, function: Any) -> Any:
    if isinstance(value, (np.ndarray, Tensor)):
        value = recorder.constant(value)
    if isinstance(value, Traced):
        return function(value)
    if function is copy.copy:
        method = getattr(type(value), "__copy__", None)
        if isinstance(method, types.FunctionType) and is_own(method):
            return recorder.run(method, (value,), {})
        if _by_attributes(type(value)):
            return _object(recorder, value, None)
    changes = dict_of(value) is not None or (hasattr(type(value), "__slots__") and is_own(type(value)))
    copies = changes and (isinstance(value, Module) or not callable(value))
    if copies and not made_in(recorder, value):
        _refuse(recorder, value, copy.copy if function is copy.copy else copy.deepcopy)
    made = function(value)
    if made is not value:
        recorder.made(made)
    return made


def _refuse(recorder: Recorder, value: Any, function: Any) -> NoReturn:
    recorder.refuse(
        f"copy.{function.__name__} of a {type(value).__name__} that the program did not make itself: "
        "it would be copied once, when the program is captured",
        help="copy it outside, and pass the copy as an argument; or copy the arrays that it holds",
    )
