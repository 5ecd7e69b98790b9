"""What goes through the pipes between a consumer and its workers: pickles, with the memory of arrays beside them.

>>> import multiprocessing, numpy as np
>>> reader, writer = multiprocessing.Pipe(duplex=False)
>>> send(writer, packed({"x": np.arange(3)}))
>>> unpacked(receive(reader))
{'x': array([0, 1, 2])}
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

__all__ = ["Message", "Parcel", "packed", "receive", "send", "unpacked"]

Message = tuple[bytes, Sequence[bytes | bytearray]]


def packed(value: Any) -> Message:
    """A value as a pickle, and the memory of its arrays.

    The memory is copied: a dataset may fill the same array again while this one waits to be sent.
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, 5, buffer_callback=buffers.append)
    return head, [bytes(buffer.raw()) for buffer in buffers]


def unpacked(message: Message) -> Any:
    """The value; its arrays own the message's memory."""
    head, buffers = message
    return pickle.loads(head, buffers=buffers)


def send(pipe: Any, message: Message) -> None:
    """Write a message to a pipe."""
    head, buffers = message
    pipe.send_bytes(pickle.dumps([len(buffer) for buffer in buffers]))
    pipe.send_bytes(head)
    for buffer in buffers:
        if buffer:
            pipe.send_bytes(buffer)


def receive(pipe: Any) -> Message:
    """Read a message from a pipe. EOFError and OSError are about the pipe: nothing sent is made yet."""
    sizes = pickle.loads(pipe.recv_bytes())
    head = pipe.recv_bytes()
    buffers = [bytearray(size) for size in sizes]
    for buffer in buffers:
        if buffer:
            pipe.recv_bytes_into(buffer)
    return head, buffers


class Parcel:
    """A value on its way to a new process. What it is made of is pickled with the process, and made when asked for.

    So a value that cannot be made over there fails where the failure can be sent back. A forked process has the value.
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._pickled: Any = None

    def __getstate__(self) -> bytes:
        return bytes(ForkingPickler.dumps(self._value))

    def __setstate__(self, pickled: bytes) -> None:
        self._pickled = pickled

    def open(self) -> Any:
        """The value, which the parcel gives up."""
        if self._pickled is not None:
            self._value = pickle.loads(self._pickled)
            self._pickled = None
        return self.__dict__.pop("_value")
