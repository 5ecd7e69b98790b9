"""An exception on its way from one process to another: itself where it can be pickled, and its traceback as text.

The consumer sees the original type, with the worker's traceback as a note below the message.
"""

from __future__ import annotations

import contextlib
import pickle
import traceback

from weft.errors import WorkerError

__all__ = ["Failure", "add_note"]


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception of any class, where that class lets it be added."""
    with contextlib.suppress(Exception):  # a frozen dataclass can be raised, and refuses to be changed
        error.add_note(note)


class Failure:
    """What went wrong in a worker."""

    def __init__(self, error: BaseException, place: str) -> None:
        self.place = place
        self.said = "".join(traceback.format_exception_only(error)).strip()
        self.text = "".join(traceback.format_exception(error))
        try:
            self.pickled: bytes | None = pickle.dumps(error)
        except Exception:  # anything may be in an exception, and may say anything when pickled
            self.pickled = None

    def error(self) -> BaseException:
        """The exception to raise here."""
        note = f"\nThe traceback in {self.place}:\n\n{self.text}"
        error = _unpickled(self.pickled)
        if error is not None:
            add_note(error, note)
            if note in getattr(error, "__notes__", ()):
                return error
        reason = "it cannot be pickled" if error is None else "it takes no note of where it was raised"
        told = WorkerError(
            f"{self.place} failed: {self.said}", help=f"the exception itself could not be sent: {reason}"
        )
        told.add_note(note)
        return told


def _unpickled(text: bytes | None) -> BaseException | None:
    if text is None:
        return None
    try:
        error = pickle.loads(text)
    except Exception:  # many classes lose the arguments they were made with
        return None
    return error if isinstance(error, BaseException) else None
