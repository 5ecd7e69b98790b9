"""Values that leave a tensor for NumPy or Python, and leave their derivative behind: a warning says so.

Only where that is done by the way: `t.numpy()`, `np.asarray(t)`, `t.item()` and `float(t)` say that they are meant.
"""

from __future__ import annotations

import linecache
import re
from types import FrameType
from typing import Any

import numpy as np

from weft._where import instruction, locate, warn_user
from weft.autograd._mode import recording

_FORGOTTEN = (
    "the values of a tensor that requires its gradient are taken out of it here, and what they were computed from is "
    "forgotten; weft's functions keep it (weft.stack for np.array, weft.full for np.full); t.detach() is quiet"
)

_CONVERTING = (np.asarray, np.array, np.asanyarray, np.ascontiguousarray, np.asfortranarray)
_VARIABLE = re.compile(r"[^\W\d]\w*(?=\s*[,)])")


def as_array(frame: FrameType) -> None:
    """Warn where NumPy makes an array of a tensor by the way, as `np.full(3, t)` and `np.array([t])` do.

    `np.asarray(t)` says that it is meant; ops know what they do, and tests only compare.
    """
    name: str = frame.f_globals.get("__name__", "")
    if not recording.get() or name.startswith(("numpy.testing", "weft.ops.")):
        return
    if name.startswith(("numpy.", "weft.")) or not _is_asked_for(frame):
        warn_user(_FORGOTTEN)


def as_number(frame: FrameType) -> None:
    """Warn where Python makes a number of a tensor to compute with it: `y[i] = t`, `math.exp(t)`."""
    if recording.get() and (instruction(frame) == "STORE_SUBSCR" or _calls_math(frame)):
        warn_user(_FORGOTTEN)


def _is_asked_for(frame: FrameType) -> bool:
    function, given = _called(frame)
    if function not in _CONVERTING:
        return False
    variable = _VARIABLE.match(given)
    if variable is None:
        return not given.startswith(("[", "("))
    return not isinstance(_named(frame, variable[0]), (list, tuple))


def _calls_math(frame: FrameType) -> bool:
    return getattr(_called(frame)[0], "__module__", None) in ("math", "cmath")


def _called(frame: FrameType) -> tuple[Any, str]:
    """The function that a frame calls now, where the text of the program tells it, and the text of its arguments."""
    place = locate((frame.f_code, frame.f_lasti, None))
    text, _, given = linecache.getline(place.file, place.line)[(place.column or 1) - 1 :].partition("(")
    name, _, attribute = text.partition(".")
    function = _named(frame, name)
    return getattr(function, attribute, None) if attribute else function, given.lstrip()


def _named(frame: FrameType, name: str) -> Any:
    return frame.f_locals.get(name, frame.f_globals.get(name))
