"""Thousands of random structured programs behave the same converted: events, results, exceptions, lines."""

from __future__ import annotations

import warnings

import pytest
from converted_programs import Writer, define, outcome, plain


@pytest.mark.parametrize("batch", range(20))
def test_random_programs(batch: int) -> None:
    ran = 0
    for seed in range(batch * 60, batch * 60 + 60):
        # Every program stores these, perhaps: nested functions may declare them nonlocal.
        text = Writer(seed).program().replace("def program(e, p):\n", "def program(e, p):\n    if e(-1): q = r = s = 0\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            try:
                function, file = define(text)
            except SyntaxError:  # a name both parameter and nonlocal, a case that can never be reached
                continue
            made = plain(function)
        ran += 1
        for run in range(4):
            assert outcome(made, file, run) == outcome(function, file, run), text
    assert ran > 50
