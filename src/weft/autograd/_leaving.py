"""Values that leave a tensor for NumPy or Python, and leave their derivative behind: a warning says so.

Only where somebody goes on to compute with them: `t.numpy()`, `t.item()` and `float(t)` say that they are meant.
"""

from __future__ import annotations

import linecache
from types import FrameType

from weft._where import instruction, locate, warn_user
from weft.autograd._mode import recording

_FORGOTTEN = (
    "the values of a tensor that requires its gradient are taken out of it here, and what they were computed from is "
    "forgotten; weft's functions keep it (weft.stack for np.array, weft.full for np.full); t.detach() is quiet"
)


def as_array(frame: FrameType) -> None:
    """Warn where NumPy makes an array of a tensor, other than to compare it in a test; ops know what they do."""
    name: str = frame.f_globals.get("__name__", "")
    if recording.get() and not name.startswith(("numpy.testing", "weft.ops.")):
        warn_user(_FORGOTTEN)


def as_number(frame: FrameType) -> None:
    """Warn where Python makes a number of a tensor to compute with it: `y[i] = t`, `math.exp(t)`."""
    if recording.get() and (instruction(frame) == "STORE_SUBSCR" or _calls_math(frame)):
        warn_user(_FORGOTTEN)


def _calls_math(frame: FrameType) -> bool:
    place = locate((frame.f_code, frame.f_lasti, None))
    text = linecache.getline(place.file, place.line)[(place.column or 1) - 1 :]
    name, _, attribute = text.partition("(")[0].partition(".")
    function = frame.f_locals.get(name, frame.f_globals.get(name))
    if attribute:
        function = getattr(function, attribute, None)
    return getattr(function, "__module__", None) in ("math", "cmath")
