"""Which worker process this is, for a dataset or a `worker_init_fn` that wants to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True)
class WorkerInfo:
    """A worker process: its index, how many there are, the seed of its `random` and `np.random`, its dataset."""

    index: int
    count: int
    seed: int
    dataset: Any


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The worker process this code runs in; None outside of one.

    >>> get_worker_info() is None
    True
    """
    return _info


def set_worker_info(info: WorkerInfo) -> None:
    """Say that this process is a worker."""
    global _info
    _info = info
