"""`Transformed`: a function made of another one, captured when it is called, as a compiled function is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any

import numpy as np

from weft._frames import hide_frames
from weft._tracing import current_recorder
from weft.capture._budget import OverBudget
from weft.capture._callables import check_callable, check_gives_at_once
from weft.capture._compile import CompiledFunction
from weft.capture._loaded_inside import edited_inside
from weft.capture._recorder import Recorder
from weft.capture._signatures import call_signature
from weft.errors import CaptureError
from weft.ops import Op

Record = Callable[[Recorder, Any, tuple[Any, ...], dict[str, Any]], Any]
"""Records what a call means: `record(recorder, function, args, kwargs)` gives traced values."""


class Transformed(CompiledFunction):
    """A function whose calls are recorded by `record`.

    It has the parameters of the function it was made of. Where those have defaults, it takes any arguments: what is
    not given is no argument, and `argnums=-1` means the last one that is.
    """

    _keeps_raising = False  # a derivative computes what it needs

    def __init__(self, function: Callable[..., Any], record: Record, name: str, of: Any = None) -> None:
        """`of` is the function that `function` calls, where that only hands arguments on."""
        check_callable(name, function)
        check_gives_at_once(function)
        self._record = record
        self._made_by = f"{name} of"
        self._function = function
        self.__name__ = self.__qualname__ = name  # unless the function has one
        if not _has_parameters(function):
            self.__signature__ = inspect.signature(lambda *args, **kwargs: None)
        super().__init__(function, "numpy", None)
        of = function if of is None else of
        if isinstance(of, Transformed):
            self._allowed = of._allowed
        else:
            budget = of._budget if isinstance(of, CompiledFunction) else 1.0
            self._allowed = None if budget is None else budget * _MORE

    def _resolve(self) -> None:
        self._plain, self._held = self, ()
        self._defaults = self._keywords = None
        self._call = self._dispatcher()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder = current_recorder.get()
        if recorder is not None:
            return self.__weft_captured__(recorder, args, kwargs)
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def _symbolic(self, args: Any, kwargs: Any) -> Any:
        raise CaptureError(
            f"{self.__name__}: a derivative of traced values cannot be recorded: symbolic tracing does not know what "
            "they are",
            help="capture the program with weft.trace or weft.compile, or mark the function with weft.wrap",
        )

    def _plainly(self, args: Any, kwargs: Any, given_up: Any, why: str) -> Any:
        # A guard does not hold of the very call that it was made for.
        raise CaptureError(
            f"{self.__name__}: the function reads an object from outside that is another one at each read",
            help="read it before the call, and pass what was read as an argument",
        )

    def _entry_for(self, values: Any, args: Any, kwargs: Any) -> Any:
        entry, error = super()._entry_for(values, args, kwargs)
        if isinstance(error, OverBudget):
            raise CaptureError(f"{self._made_by} {self.__name__}: {str(error).partition(_HELP)[0]}", help=_ADVICE)
        if error is not None:  # there is no plain call to run in its place
            raise error
        return entry, None

    def __weft_captured__(self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        edited = edited_inside(recorder, self, args, kwargs)
        return self._record(recorder, self._function, args, kwargs) if edited is None else edited[0]


_MORE = 10  # times as much as a compiled function may record: a derivative has no plain call to give way to
_HELP = "\n  help: "
_ADVICE = (
    "write what repeats as loops or as one expression over arrays; a derivative of weft.compile(f, budget=10) may "
    "record ten times as many, one of weft.compile(f, budget=None) any number"
)


def _has_parameters(function: Any) -> bool:
    """Whether a call gives all parameters of a function, and nothing else."""
    if isinstance(function, (np.ufunc, Op)):
        return False
    try:
        parameters = call_signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(parameter.default is parameter.empty for parameter in parameters)


_MADE = "__weft_transformed__"  # an attribute of functions, which goes when they go


def made_once(function: Any, key: Hashable, make: Callable[[], Transformed]) -> Transformed:
    """What `make` gives for a function, made at the first call with this key: it knows what it has captured."""
    known = getattr(function, "__dict__", {}).get(_MADE)
    if known is None:
        known = {}
        if isinstance(function, (FunctionType, Transformed)):
            setattr(function, _MADE, known)
    if key not in known:
        known[key] = make()
    made: Transformed = known[key]
    return made
