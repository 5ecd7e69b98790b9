"""Whatever a test does with loaders and pipelines, it leaves no thread and no process behind."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_stays_behind() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before
    assert multiprocessing.active_children() == []
