"""The progress bar, and its absence."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from weft.data import pipeline, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_sees_a_bar() -> None:
    screen = Terminal()
    assert list(progress(range(5), description="reading", file=screen)) == list(range(5))
    shown = screen.getvalue()
    assert "reading: " in shown and "5/5" in shown and "100%" in shown and shown.endswith("\n")


def test_total_and_unknown_length() -> None:
    screen = Terminal()
    bar = progress(pipeline(lambda: iter("abc")), total=3, file=screen)
    assert len(bar) == 3 and list(bar) == ["a", "b", "c"]
    assert "3/3" in screen.getvalue()
    screen = Terminal()
    assert list(progress(iter("abc"), file=screen)) == ["a", "b", "c"]
    assert "3it" in screen.getvalue()
    with pytest.raises(TypeError):
        len(progress(iter("abc")))


def test_a_text_where_the_total_goes() -> None:
    with pytest.raises(TypeError, match=r"total is a number of items, got 'epoch 1'\n  help: write description="):
        progress(range(5), "epoch 1")  # type: ignore[arg-type]
    assert repr(progress([1, 2])) == "<progress of [1, 2]>"


def test_leaving_early_finishes_the_line() -> None:
    screen = Terminal()
    for item in progress(range(5), file=screen):
        if item == 2:
            break
    assert screen.getvalue().endswith("\n") and "2/5" in screen.getvalue()


def test_nobody_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress([1, 2])) == [1, 2]
    assert capsys.readouterr() == ("", "")
    quiet = io.StringIO()
    assert list(progress([1, 2], file=quiet)) == [1, 2]
    assert quiet.getvalue() == ""


def test_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    screen = Terminal()
    bar = progress([1, 2], file=screen)
    monkeypatch.setattr("weft.data._progress._Line.advised", False)
    assert list(bar) == [1, 2] == list(bar)
    assert "2/2 (100 %), 0.0 s" in screen.getvalue() and screen.getvalue().endswith("\n")
    assert screen.getvalue().count("pip install tqdm") == 1


def test_the_plain_line_of_unknown_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr("weft.data._progress._Line.every", 0.0)
    screen = Terminal()
    assert list(progress(iter("ab"), description="reading", file=screen)) == ["a", "b"]
    shown = [line.partition(",")[0] for line in screen.getvalue().split("\r")[1:]]
    assert shown[:3] == ["reading: 0", "reading: 1", "reading: 2"]


def test_without_any_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert list(progress([1, 2])) == [1, 2]


def test_exceptions_pass_through() -> None:
    def numbers() -> Iterator[Any]:
        yield 1
        raise LookupError

    with pytest.raises(LookupError):
        list(progress(numbers(), file=Terminal()))
