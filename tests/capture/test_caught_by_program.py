"""What only the capture cannot do is no exception that a program catches: it is refused, or runs plainly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError

X = np.array([1.0, 2.0, 3.0])


def handler(x: Any) -> Any:
    try:
        return np.squeeze(x[x > 1]).sum()
    except Exception:
        return -1.0


def suppressed(x: Any) -> Any:
    with contextlib.suppress(ValueError):
        return np.squeeze(x[x > 1]).sum()
    return -1.0


class Swallows:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: Any) -> bool:
        return True


def swallowed(x: Any) -> Any:
    with Swallows():
        return np.squeeze(x[x > 1]).sum()
    return -1.0  # type: ignore[unreachable]


def objects(x: Any) -> Any:
    try:
        return x + None
    except TypeError:
        return -1.0


@pytest.mark.parametrize("function", [handler, suppressed, swallowed, objects])
def test_it_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError):
        weft.compile(function)(X)


def of_wrong_shape(x: Any) -> Any:
    try:
        return x @ np.ones(7)
    except ValueError:
        return -1.0


def of_wrong_type(x: Any) -> Any:
    try:
        return np.add(x, "a")
    except TypeError:
        return -1.0


def without_such_an_attribute(x: Any) -> Any:
    try:
        return x.rows
    except AttributeError:
        return -1.0


def without_a_length(x: Any) -> Any:
    try:
        return len(x.sum())
    except TypeError:
        return -1.0


@pytest.mark.parametrize("function", [of_wrong_shape, of_wrong_type, without_such_an_attribute, without_a_length])
def test_what_the_plain_program_catches_is_caught(function: Callable[..., Any]) -> None:
    compiled = weft.compile(function)
    assert compiled(X) == function(X) == compiled(X) == -1.0
