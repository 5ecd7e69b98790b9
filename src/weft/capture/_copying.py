"""`copy.copy` and `copy.deepcopy` in a captured program.

A copy is the program's own, to be changed. Arrays from outside are copied when the graph runs, as they are then; an
object from outside would be copied once, as it is when the program is captured, and so is refused.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from weft._module import Module
from weft.autograd import Tensor
from weft.capture._outside import made_in
from weft.capture._values import Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

COPYING = (copy.copy, copy.deepcopy)


def copied(recorder: Recorder, function: Any, value: Any) -> Any:
    """`function(value)`, where that is one of the two."""
    return _deep(recorder, value, {}) if function is copy.deepcopy else _shallow(recorder, value, function)


def _deep(recorder: Recorder, value: Any, memo: dict[int, Any]) -> Any:
    if id(value) in memo:
        return memo[id(value)]
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
        made = _shallow(recorder, value, copy.deepcopy)
    memo[id(value)] = made
    recorder.made(made)
    return made


def _shallow(recorder: Recorder, value: Any, function: Any) -> Any:
    if isinstance(value, (np.ndarray, Tensor)):
        value = recorder.constant(value)
    if isinstance(value, Traced):
        return function(value)
    copies = hasattr(value, "__dict__") and (isinstance(value, Module) or not callable(value))
    if copies and not made_in(recorder, value):
        recorder.refuse(
            f"copy.{function.__name__} of a {type(value).__name__} that the program did not make itself: "
            "it would be copied once, when the program is captured",
            help="copy it outside, and pass the copy as an argument; or copy the arrays that it holds",
        )
    made = function(value)
    recorder.made(made)
    return made
