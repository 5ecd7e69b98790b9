"""Functions that answer otherwise at each call: the clock, Python's random numbers, what a user types.

A captured program would call them once, when it is captured, and go on with that answer for ever.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import secrets
import time
from typing import Any

_HELP = "call it outside and pass the value as an argument; for random numbers use rng = np.random.default_rng(seed)"

_ANSWERS: dict[int, Any] = {
    id(function): function
    for function in (
        *(time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns),
        *(time.process_time, time.process_time_ns, time.thread_time, time.thread_time_ns),
        *(time.localtime, time.gmtime, time.ctime, time.sleep, os.urandom, input),
        *(secrets.token_bytes, secrets.token_hex, secrets.token_urlsafe, secrets.randbelow),
    )
}
_NOW = {"now", "utcnow", "today"}


def refuse_outside(recorder: Any, function: Any) -> None:
    """Refuse a call whose answer another call would not get."""
    owner = getattr(function, "__self__", None)
    if id(function) in _ANSWERS:
        name = f"{function.__module__}.{function.__name__}"
    elif isinstance(owner, random.Random) and not _made(recorder, owner):
        name = f"random.{function.__name__}"
    elif isinstance(owner, type) and issubclass(owner, dt.date) and function.__name__ in _NOW:
        name = f"{owner.__name__}.{function.__name__}"
    else:
        return
    recorder.refuse(f"{name}(): it would be called once, when the program is captured", help=_HELP)


def _made(recorder: Any, value: Any) -> bool:
    """Whether the program made an object itself."""
    region = recorder.region
    while region is not None:
        if id(value) in region.made:
            return True
        region = region.parent
    return False
