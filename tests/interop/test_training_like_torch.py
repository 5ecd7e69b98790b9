"""Everyday training programs give the same numbers on weft as on torch, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import training_loops
from training_programs import PROGRAMS, running

import weft

assert training_loops  # its programs are in PROGRAMS now
torch.set_num_threads(1)  # the arrays are small: threads would only wait for each other


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    ours, theirs = running(weft, name), running(torch, name)
    assert [label for label, _ in ours] == [label for label, _ in theirs]
    assert _trained(theirs), "nothing was trained"
    for (label, got), (_, wanted) in zip(ours, theirs, strict=True):
        _same(f"{name}: {label}", got, wanted)


def _trained(notes: list[tuple[str, Any]]) -> bool:
    """Whether a number that was noted at every step changed on the way."""
    seen: dict[str, set[float]] = {}
    for label, value in notes:
        if isinstance(value, np.ndarray | float) and np.ndim(value) == 0:
            seen.setdefault(label, set()).add(float(value))
    return any(len(values) > 2 for values in seen.values())


def _same(label: str, got: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray | float):
        assert np.asarray(got).dtype == np.asarray(wanted).dtype, label
        # Sums are taken in another order on each kind of processor.
        np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-12, err_msg=label)
    else:
        assert got == wanted, label
