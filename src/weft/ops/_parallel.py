"""Parts of a kernel on several threads at once: NumPy lets go of the interpreter while it computes.

Results do not depend on the number of threads: the parts are the same, and so is the order in which sums are formed.
Products of matrices have threads of their own, BLAS's, which are not counted here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_chosen: int | None = None
_pool: tuple[int, int, ThreadPoolExecutor] | None = None  # whose it is: the process, and the number of threads
_lock = threading.Lock()
_inside = threading.local()


def get_num_threads() -> int:
    """How many threads weft's own kernels compute with: the number of cores, or OMP_NUM_THREADS, or what was set.

    >>> get_num_threads() >= 1
    True
    """
    if _chosen is not None:
        return _chosen
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(count: Any) -> None:
    """Let weft's own kernels compute with so many threads; BLAS has its own.

    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    """
    global _chosen
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"set_num_threads: expected a positive number of threads, got {count!r}")
    _chosen = count


def each(work: Callable[[Any], None], parts: Sequence[Any]) -> None:
    """Call `work` with every part, on several threads; it must not matter which comes first."""
    count = min(len(parts), 1 if getattr(_inside, "busy", False) else get_num_threads())
    if count < 2:
        for part in parts:
            work(part)
        return
    shares = [parts[i::count] for i in range(count)]
    pool = _threads(count - 1)
    # A copy of the context for each: what NumPy is to say of overflow is kept there.
    others = [pool.submit(copy_context().run, _share, work, share) for share in shares[1:]]
    try:
        for part in shares[0]:
            work(part)
    finally:
        for other in others:
            other.result()


def _share(work: Callable[[Any], None], parts: Sequence[Any]) -> None:
    _inside.busy = True
    for part in parts:
        work(part)


def _threads(count: int) -> ThreadPoolExecutor:
    """A pool of so many threads; a process that was forked has none of its parent's, and gets its own."""
    from concurrent.futures import ThreadPoolExecutor  # which not every program needs

    global _pool
    with _lock:
        if _pool is None or _pool[:2] != (os.getpid(), count):
            _pool = (os.getpid(), count, ThreadPoolExecutor(count, thread_name_prefix="weft-kernel"))
        return _pool[2]


if hasattr(os, "register_at_fork"):

    def _forget() -> None:
        global _lock
        _lock = threading.Lock()  # another thread may have held it

    os.register_at_fork(after_in_child=_forget)
