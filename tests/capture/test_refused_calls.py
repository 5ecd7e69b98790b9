"""A call that cannot be captured is refused again without another attempt, as long as nothing it depends on differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.capture import _compile
from weft.errors import CaptureError

STYLE = "text"


class Settings:
    def __init__(self, style: str) -> None:
        self.style = style


SETTINGS = Settings("text")


def by_global(x: Any) -> Any:
    return str(bytes(x)) if STYLE == "text" else x.sum()


def by_attribute(x: Any) -> Any:
    return str(bytes(x)) if SETTINGS.style == "text" else x.sum()


def by_argument(x: Any, style: str = "text") -> Any:
    return str(bytes(x)) if style == "text" else x.sum()


def by_size(x: Any) -> Any:
    return str(bytes(x)) if len(x) > 3 else x.sum()


def by_number(x: Any, n: int = 4) -> Any:
    return str(bytes(x)) if n > 3 else x.sum()


def shown(x: Any) -> Any:
    return str(bytes(x))


def by_function(x: Any) -> Any:
    return len(shown(x))


X = np.arange(8, dtype=np.uint8)


def _set_global(patch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    patch.setitem(globals(), "STYLE", "sum")
    return (X,)


def _set_attribute(patch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    patch.setattr(SETTINGS, "style", "sum")
    return (X,)


def _wrap(patch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    patch.setitem(globals(), "shown", weft.wrap(shown))
    return (X,)


CASES: dict[str, tuple[Any, Callable[[pytest.MonkeyPatch], tuple[Any, ...]]]] = {
    "a global": (by_global, _set_global),
    "an attribute": (by_attribute, _set_attribute),
    "a text": (by_argument, lambda patch: (X, "sum")),
    "a size": (by_size, lambda patch: (X[:2],)),
    "a number": (by_number, lambda patch: (X, 2)),
    "a dtype": (by_number, lambda patch: (X.astype(float), 2)),
    "a wrapped function": (by_function, _wrap),
}


@pytest.fixture
def captures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every capture that is begun."""
    found: list[Any] = []
    capture = _compile.capture
    monkeypatch.setattr(_compile, "capture", lambda f, *args, **how: (found.append(f), capture(f, *args, **how))[1])
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_refused_call_is_refused_at_once(name: str, captures: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    function, change = CASES[name]
    compiled = weft.compile(function)
    told: list[Any] = []
    begun = 0
    for _ in range(3):
        with pytest.raises(CaptureError) as found:
            compiled(X)
        told.append((str(found.value), found.value.where, found.value.help))
        begun = len(captures) if len(told) == 1 else begun
    assert len(captures) == begun and len(set(told)) == 1 and told[0][1]
    args = change(monkeypatch)
    assert compiled(*args) == function(*args)
    assert len(captures) > begun and not compiled._ran_plainly


def test_a_refused_call_shows_the_lines_of_the_program_alone(captures: list[Any]) -> None:
    compiled = weft.compile(by_size)
    frames = []
    for _ in range(2):
        with pytest.raises(CaptureError) as found:
            compiled(X)
        frames.append([entry.path for entry in found.traceback])
    assert str(frames[1][0]) == __file__ and not any("refused_calls.py" in str(path) for path in frames[1][1:])


def test_a_class_that_is_registered_later_is_a_reason_to_try_again(captures: list[Any]) -> None:
    compiled = weft.compile(by_size)
    for change in (
        lambda: None,
        lambda: weft.pytree.register(type("Odd", (), {}), lambda odd: ((), None), lambda *_: None),
    ):
        change()
        begun = len(captures)
        with pytest.raises(CaptureError):
            compiled(X)
        assert len(captures) > begun


def test_few_refusals_are_kept() -> None:
    compiled = weft.compile(by_size)
    for n in range(4, 60):
        with pytest.raises(CaptureError):
            compiled(np.zeros(n, np.uint8))
    assert len(compiled._refused._known) <= 16
