"""Functions that read or change the world: the clock, Python's random numbers, files, what a user types.

A captured program would call them once, when it is captured: it would go on with that answer for ever, and write a file
no more. What a path asks of the files is a call in the graph.

    there = Path("a.csv").exists()      # PosixPath_1 = pathlib.PosixPath('a.csv');  exists = PosixPath_1.exists()
"""

from __future__ import annotations

import datetime as dt
import io
import os
import random
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from weft._where import package_name
from weft.capture._opaque import Opaque

_HELP = "call it outside, and pass what it gives as an argument"
_SAVE = "return the arrays, and save them outside"
_SET = "call it before the captured function; with np.errstate(...): inside works"
_DRAW = "use a generator: rng = np.random.default_rng(seed), then rng.random(), rng.integers(n), rng.choice(items)"

_SETTINGS = (*(np.seterr, np.seterrcall, np.setbufsize),)
_ANSWERS: dict[int, Any] = {
    id(function): function
    for function in (
        *(time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns),
        *(time.process_time, time.process_time_ns, time.thread_time, time.thread_time_ns),
        *(time.localtime, time.gmtime, time.ctime, time.sleep, os.urandom, input, open),
        *(secrets.token_bytes, secrets.token_hex, secrets.token_urlsafe, secrets.randbelow),
        *_SETTINGS,
        *(np.save, np.savez, np.savez_compressed, np.savetxt, np.load, np.loadtxt, np.genfromtxt, np.fromfile),
    )
}
_MODULES: dict[str, str] = {"numpy": "np", "builtins": "", "_io": "", "io": "", "posix": "os", "nt": "os"}
_NOW = {"now", "utcnow", "today"}
_OF_FILES = frozenset(
    {
        *("open", "write_text", "write_bytes", "iterdir", "glob", "rglob", "mkdir", "unlink", "touch", "rename"),
    }
)
_ASKING = frozenset({"exists", "is_file", "is_dir", "stat", "resolve", "read_text", "read_bytes"})


def refuse_iterator(recorder: Any, value: Any) -> None:
    """Refuse an iterator that the program did not make: the capture would use it up."""
    if not hasattr(type(value), "__next__"):  # asked first, as it is several times as fast
        return
    if isinstance(value, Iterator) and type(value).__module__ in ("builtins", "itertools", "_csv"):
        recorder.refuse(
            f"a {type(value).__name__} from outside: what it gives would be used up when the program is captured",
            help="give the program a list or an array of it: list(...)",
        )


def refuse_file(recorder: Any, value: Any) -> None:
    """Refuse to read or write a file that the program did not make: it would happen when the program is captured."""
    if hasattr(type(value), "__next__") and isinstance(value, io.IOBase) and not made_in(recorder, value):
        recorder.refuse(
            f"a {type(value).__name__} from outside is read or written: that would happen once, at the capture",
            help="read or write it outside, and pass what it gives as an argument",
        )


def asked_of_files(recorder: Any, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the method of a path finds in the files, asked when the graph runs; None of any other method."""
    path = method.__self__
    if not isinstance(path, Path) or package_name(type(path)) != "pathlib" or method.__name__ not in _ASKING:
        return None
    return recorder.call_method(Opaque(recorder, recorder.arg(path)), method.__name__, args, kwargs)


def refuse_outside(recorder: Any, function: Any) -> None:
    """Refuse a call whose answer another call would not get."""
    owner = getattr(function, "__self__", None)
    if id(function) in _ANSWERS:
        module = _MODULES.get(function.__module__, function.__module__)
        name = f"{module}.{function.__name__}" if module else function.__name__
    elif isinstance(owner, random.Random) and recorder._home(owner) is not recorder.region:
        name = f"random.{function.__name__}"
    elif isinstance(owner, type) and issubclass(owner, dt.date) and function.__name__ in _NOW:
        name = f"{owner.__name__}.{function.__name__}"
    elif owner is os.environ:
        name = f"os.environ.{function.__name__}"
    elif _is_of_system(function, owner):
        name = f"{_MODULES.get(function.__module__, function.__module__)}.{function.__name__}"
    else:
        return
    help = _DRAW if isinstance(owner, random.Random) else _SAVE if name.startswith("np.save") else _HELP
    help = _SET if function in _SETTINGS else help
    recorder.refuse(f"{name}(): it would be called once, when the program is captured", help=help)


def _is_of_system(function: Any, owner: Any) -> bool:
    """Whether a function asks the system, or changes it: other processes, files, the environment."""
    module = getattr(function, "__module__", None)
    if function is os.getenv:
        return True
    if module in ("posix", "nt") and function.__name__ not in ("fspath", "cpu_count"):
        return True
    if package_name(type(owner)) == "pathlib":
        return function.__name__ in _OF_FILES
    return module in ("uuid", "subprocess", "tempfile", "shutil", "socket", "urllib.request", "getpass")


def made_in(recorder: Any, value: Any) -> bool:
    """Whether the program made an object itself."""
    return recorder._home(value) is not None
