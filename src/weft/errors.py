"""Every exception weft raises on purpose.

A message has three parts: what broke (with expected and got), where in the user's program, and what to do instead.

    >>> raise ShapeError("matmul: inner dimensions differ: (3, 4) @ (5, 6)", where="model.py:12: h = x @ w")
    Traceback (most recent call last):
        ...
    weft.errors.ShapeError: matmul: inner dimensions differ: (3, 4) @ (5, 6)
      at model.py:12: h = x @ w
"""

from __future__ import annotations

from weft._listing import listing as _listing


class WeftError(Exception):
    """Base of all errors weft raises; catches any of them."""

    def __init__(self, message: str, *, where: str | None = None, help: str | None = None) -> None:
        self.message = message
        self.where = where
        self.help = help
        place = f"\n  at {where}" if where else ""
        advice = f"\n  help: {help}" if help else ""
        # In a script the message may be text that the running graph makes: it is not looked at here.
        super().__init__(message + place + advice if place or advice else message)


class ShapeError(WeftError, ValueError):
    """Shapes or axes that do not fit together."""


class DtypeError(WeftError, TypeError):
    """A data type that the operation does not accept."""


class IndexingError(WeftError, IndexError):
    """A key that does not fit the array it indexes."""


class NotDifferentiable(WeftError, TypeError):
    """A derivative was asked for where none exists; the message says why."""


class UnknownShape(WeftError, ValueError):
    """A result whose size depends on values, asked for before the values are known."""


class UnknownRank(UnknownShape):
    """A result whose number of dimensions depends on values, asked for before the values are known."""


class TraceError(WeftError, TypeError):
    """Something symbolic tracing cannot record, such as a branch on a traced value."""

    attempt: object = None  # what was captured until then


class CaptureError(TraceError):
    """Something a program contains that cannot be captured.

    `decides_path` says that a value known only when the graph runs would have to decide which way the program goes.
    """

    decides_path = False


class NotCovered(TraceError):
    """A call of a function that was loaded from a file, where none of the graphs in it is for such a call."""


class ControlError(WeftError, TypeError):
    """A call of control flow whose bodies are no functions, or whose branches or iterations disagree."""


class GraphError(WeftError, RuntimeError):
    """An edit or a graph that breaks an invariant of the graph."""


class StateError(WeftError, RuntimeError):
    """A state dict that does not fit the module it is loaded into."""


class FileError(WeftError, ValueError):
    """A saved file that is damaged, hostile, or of another version."""


class AutogradError(WeftError, RuntimeError):
    """A gradient that cannot be computed: no tape, freed values, values changed since, or NaN where that is checked.

    It names the line of the program that asked, unless it names others; `where=""` says that it does.
    """

    def __init__(self, message: str, *, where: str | None = None, help: str | None = None) -> None:
        from weft._where import user_location

        place = user_location() if where is None else None
        super().__init__(message, where=str(place) if place is not None and place.text else where, help=help)


class WorkerError(WeftError, RuntimeError):
    """A data worker that died, or whose own exception could not be sent."""


class WorkerTimeout(WorkerError, TimeoutError):
    """A data worker that did not answer in the time it was given."""


__dir__ = _listing(__name__)
