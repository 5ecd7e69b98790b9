"""An exception on its way from one process to another: itself where it can be pickled, and its traceback as text.

The consumer sees the original type, with the worker's traceback as a note below the message.
"""

from __future__ import annotations

import pickle
import traceback

from weft.errors import WorkerError

__all__ = ["Failure"]


class Failure:
    """What went wrong in a worker."""

    def __init__(self, error: BaseException, place: str) -> None:
        self.place = place
        self.said = "".join(traceback.format_exception_only(error)).strip()
        self.text = "".join(traceback.format_exception(error))
        try:
            self.pickled: bytes | None = pickle.dumps(error)
        except Exception:
            self.pickled = None

    def error(self) -> BaseException:
        """The exception to raise here."""
        error = _unpickled(self.pickled)
        if error is None:
            error = WorkerError(
                f"{self.place} failed: {self.said}", help="the exception itself could not be sent: it cannot be pickled"
            )
        error.add_note(f"\nThe traceback in {self.place}:\n\n{self.text}")
        return error


def _unpickled(text: bytes | None) -> BaseException | None:
    if text is None:
        return None
    try:
        error = pickle.loads(text)
    except Exception:  # many classes lose the arguments they were made with
        return None
    return error if isinstance(error, BaseException) else None
