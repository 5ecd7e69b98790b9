"""`copy.copy` and `copy.deepcopy` in a captured program.

A copy is the program's own, to be changed. Arrays from outside are copied when the graph runs, as they are then. So is
what an object from outside holds, where its class leaves copying to Python; any other object is refused: it would be
copied once, as it is when the program is captured.
"""

from __future__ import annotations

import copy
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._module import Module
from weft._objects import dict_of
from weft.autograd import Tensor
from weft.capture._object_calls import own_dict
from weft.capture._one_of import OneOf
from weft.capture._outside import made_in
from weft.capture._state_places import is_own
from weft.capture._values import Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

COPYING = (copy.copy, copy.deepcopy)


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
    if kind is list:
        made = memo[id(value)] = []
        made.extend(_deep(recorder, part, memo) for part in value)
    elif kind is dict:
        made = memo[id(value)] = {}
        made.update({key: _deep(recorder, part, memo) for key, part in value.items()})
    elif kind is tuple:
        made = tuple(_deep(recorder, part, memo) for part in value)
    else:
        method = getattr(kind, "__deepcopy__", None)
        if isinstance(method, types.FunctionType) and is_own(method):
            made = recorder.run(method, (value, {}), {})
        elif _by_attributes(kind):
            return _object(recorder, value, memo)
        else:
            made = _shallow(recorder, value, copy.deepcopy)
    memo[id(value)] = made
    recorder.made(made)
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
        recorder.refuse(
            f"copy.{function.__name__} of a {type(value).__name__} that the program did not make itself: "
            "it would be copied once, when the program is captured",
            help="copy it outside, and pass the copy as an argument; or copy the arrays that it holds",
        )
    made = function(value)
    recorder.made(made)
    return made
