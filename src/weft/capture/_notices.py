"""What a program tells its user: warnings and log records. They stay calls of the graph, in order, as prints do."""

from __future__ import annotations

import functools
import logging
import types
import warnings
from typing import Any

from weft._objects import opened, put_back
from weft.graph._effects import WITHIN, has_side_effect

_FILTERS = frozenset({"simplefilter", "filterwarnings", "resetwarnings"})
_LOGS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})


def notice(recorder: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Record a call that tells the user something; False where the function does something else."""
    if function is warnings.warn:
        if args and isinstance(args[0], Warning):
            args = (str(args[0]), type(args[0]), *args[2:])
        recorder.create(warn, args, kwargs, None)
        return True
    if getattr(function, "__module__", None) == "warnings" and getattr(function, "__name__", None) in _FILTERS:
        recorder.create(filter_warnings, (function.__name__, *args), kwargs, None)
        return True
    logger = _logger(function)
    if logger is None:
        return False
    recorder.create(log, (logger.name, function.__name__, *args), kwargs, None)
    return True


def _logger(function: Any) -> logging.Logger | None:
    """The logger that a function logs with, where it can be found by its name."""
    if isinstance(function, types.MethodType) and isinstance(function.__self__, logging.Logger):
        logger, known = function.__self__, getattr(logging.Logger, function.__name__, None)
        found = function.__func__ is known and logging.getLogger(logger.name) is logger
    else:
        logger, known = logging.root, getattr(logging, getattr(function, "__name__", ""), None)
        found = function is known and isinstance(function, types.FunctionType)
    return logger if found and function.__name__ in _LOGS else None


class CatchingWarnings:
    """`with warnings.catch_warnings()`: the filters are as before where the block ends, whatever is raised in it."""

    def __init__(self, recorder: Any) -> None:
        self.recorder = recorder

    def __enter__(self) -> None:
        self.recorder.create(catch_warnings, (), {}, None)

    def __exit__(self, kind: Any, *rest: object) -> None:
        if kind is None:
            self.recorder.create(end_catching, (), {}, None)


@has_side_effect
def catch_warnings() -> None:
    """Begin of `with warnings.catch_warnings()` where the graph runs."""
    catching = warnings.catch_warnings()
    catching.__enter__()
    opened.get().append(functools.partial(catching.__exit__, None, None, None))


@has_side_effect
def end_catching() -> None:
    """The end of it."""
    opened.get().pop()()


@has_side_effect
def filter_warnings(method: str, *args: Any, **kwargs: Any) -> None:
    """`warnings.simplefilter` and its kin where the graph runs."""
    if method not in _FILTERS:  # a graph from a file could name anything
        raise ValueError(f"filter_warnings: {method!r} is none of {', '.join(sorted(_FILTERS))}")
    getattr(warnings, method)(*args, **kwargs)


for _function in (catch_warnings, end_catching):
    setattr(_function, WITHIN, put_back)


@has_side_effect
def warn(message: Any, category: type[Warning] | None = None, stacklevel: int = 1, source: Any = None) -> None:
    """`warnings.warn` where the graph runs."""
    warnings.warn(message, category, stacklevel + 1, source)


@has_side_effect
def log(name: str, method: str, *args: Any, **kwargs: Any) -> None:
    """A call of a method of the logger of that name."""
    if method not in _LOGS:  # a graph from a file could name any function of logging, one that opens files too
        raise ValueError(f"log: {method!r} is none of {', '.join(sorted(_LOGS))}")
    # logging.info and its kin set up a handler where there is none.
    owner: Any = logging if name == logging.root.name else logging.getLogger(name)
    getattr(owner, method)(*args, **{**kwargs, "stacklevel": kwargs.get("stacklevel", 1) + 1})
