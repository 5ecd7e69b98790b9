"""The room keeps to itself: what it offers, and what importing it loads."""

from __future__ import annotations

import subprocess
import sys

import weft
from weft import data


def test_everything_offered_is_there_and_documented() -> None:
    assert len(set(data.__all__)) == len(data.__all__)
    for name in data.__all__:
        assert getattr(data, name).__doc__, name
    assert weft.data is data


def test_importing_is_light() -> None:
    code = """
import sys, weft
assert "weft.data" not in sys.modules
weft.data.DataLoader([1, 2], prefetch=1)
heavy = {"multiprocessing", "tqdm", "concurrent.futures"} & set(sys.modules)
assert not heavy, heavy
try:
    weft.nothing
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "module 'weft' has no attribute 'nothing'\n"
