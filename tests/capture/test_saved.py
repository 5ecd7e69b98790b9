"""Graphs of captured programs in files: saved, loaded without anything allowed, and run as before."""

from __future__ import annotations

import copy
import logging
import re
import sys
import warnings
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import _same
from weft.errors import FileError
from weft.graph import Graph


def text(x, n):
    print(f"{n:>4} of {x.sum()!r:{12}}", "{} and {k:.2f}".format(n, k=x[0]))  # noqa: UP032  # also so
    print("%d%%" % n)  # noqa: UP031  # and so
    print("to error", n, file=sys.stderr)
    return f"{n}", format(x[0], ".1f"), str(n)


def errors(x, n):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = x / (x - x[0])
    return np.any(np.isnan(y)), np.all(y > n), np.pad(x, 1)


def random_numbers(x, n):
    rng = np.random.default_rng(n)
    other = np.random.RandomState(n)
    y = x.copy()
    rng.shuffle(y)
    return rng.random(3), rng.integers(n, size=2), other.normal(size=2), rng.permutation(x), y


def writes(x, n):
    np.add.at(x, [0, 0], 1.0)
    x.fill(n)
    x.flat[1] = 3.0
    np.put(x, [0, 1], [7.0, 8.0])
    x.shape = (1, -1)
    return np.add.reduce(x[0]), np.multiply.accumulate(x[0]), np.add.outer(x[0], x[0])


def lists(x, n):
    items, queue = [1.0], deque([x[0], x[1]], maxlen=2)
    for i in range(n):
        if x[i % len(x)] > 0:
            items.append(x[i % len(x)])
        elif len(items) > 1:
            items.pop()
    items.insert(0, 2.0)
    items.reverse()
    return items, queue, sorted([x[0], x[1]], key=lambda v: -v), copy.deepcopy(x), min([x[0], x[1]], key=abs)


def notices(x, n):
    logging.getLogger("weft.saved").info("n is %s", n)
    if x[0] > 100:
        warnings.warn("large", stacklevel=2)
    assert x.ndim == 1, f"{n}"
    return np.mgrid[0:n], n.bit_length()


@pytest.mark.parametrize("program", [text, errors, random_numbers, writes, lists, notices], ids=lambda f: f.__name__)
@pytest.mark.parametrize("how", ["compile", "script"])
def test_what_capture_makes_is_loaded_by_default(
    program: Any, how: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    x = np.array([2.0, -1.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of setting a shape
        expected = program(x.copy(), 3)
        printed = capfd.readouterr()
        if how == "script":
            module = weft.script(program)
        else:
            compiled = weft.compile(program)
            compiled(x.copy(), 3)
            module = compiled
        capfd.readouterr()
        module.save(tmp_path / "g.weft")
        _same("the result", weft.load(tmp_path / "g.weft")(x.copy(), 3), expected, 0.0)
    assert capfd.readouterr() == printed


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (str.format, ("{0.__class__}", 1)),
        (str.format, ("{0[0]}", (1,))),
        (str.format, ("{0:{1.real}}", 1, 2)),
        (str.format, ("{", 1)),
        (setattr, (1, "dtype", object)),
        (setattr, (1, "__class__", int)),
    ],
)
def test_calls_that_reach_further_need_allowing(function: Any, args: tuple[Any, ...], tmp_path: Path) -> None:
    graph = Graph()
    graph.output(graph.call_function(function, args))
    graph.save(tmp_path / "g.weft")
    with pytest.raises(FileError, match=r"was not allowed|harmless|private") as caught:
        weft.load(tmp_path / "g.weft")
    allow = re.search(r"allow=\[(.*)\]", str(caught.value))
    if function is str.format:  # the help helps
        assert allow is not None
        weft.load(tmp_path / "g.weft", allow=[allow[1].strip("'")])


def test_functions_that_look_things_up_check_what_they_are_given() -> None:
    from weft.capture._draws import draw, make_generator
    from weft.capture._grids import grid_of
    from weft.capture._lookups import call_text

    for call in (
        lambda: draw(None, "__class__"),
        lambda: draw(None, "test"),
        lambda: draw(np.random.default_rng(0), "__reduce__"),
        lambda: make_generator(print, 1),
        lambda: grid_of("load", "file"),
        lambda: call_text("{0.__class__}", "format", 1),
        lambda: call_text("{a}", "format_map", {}),
        lambda: call_text([], "append", 1),
        lambda: call_text("", "__class__"),
    ):
        with pytest.raises(ValueError):
            call()
