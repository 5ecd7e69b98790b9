"""The same programs and the same edits, done with torch.fx and with weft: the same things happen.

The scenarios are in the `fx_*` modules beside this one; `sides` says how they are compared.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from sides import SCENARIOS, TORCH, WEFT, Log

for path in sorted(Path(__file__).parent.glob("fx_*.py")):
    importlib.import_module(path.stem)


@pytest.mark.parametrize("name", SCENARIOS)
def test_same(name: str) -> None:
    theirs, ours = Log(TORCH), Log(WEFT)
    SCENARIOS[name](TORCH, theirs)
    SCENARIOS[name](WEFT, ours)
    assert ours.entries, "the scenario notes nothing"
    assert [label for label, _ in ours.entries] == [label for label, _ in theirs.entries]
    different = [
        {"at": label, "weft": mine, "torch": other}
        for (label, mine), (_, other) in zip(ours.entries, theirs.entries, strict=True)
        if mine != other
    ]
    assert not different
