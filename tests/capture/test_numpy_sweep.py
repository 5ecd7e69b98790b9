"""Every function of NumPy's that is captured, with its parameters by position and by keyword and with every dtype.

What a call gives captured is what it gives plainly: see `sweep` for what is compared, `numpy_table` for the calls.
`WEFT_SWEEP_DENSE=1` runs every spelling with every pair of dtypes, which takes some minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy_table import FUNCTIONS, METHODS, NO_DERIVATIVE, NOT_CALLED, NOT_OF_TENSORS, REFUSED
from numpy_ufuncs import names, pairs
from numpy_ufuncs import texts as ufunc_texts
from sweep import (
    DENSE,
    DTYPES,
    FEW,
    SOME,
    compared,
    derivative_fault,
    parsed,
    spellings,
    tensor_fault,
    with_dtypes,
    with_pairs,
)

import weft
from weft.ops import op_of

Texts = tuple[list[str], list[str], list[str]]


def _find(path: str) -> Any:
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def _calls() -> dict[str, Callable[[], Texts]]:
    """How each function, method and ufunc is called: see `spellings`."""
    made: dict[str, Callable[[], Texts]] = {}
    for name, given in parsed(FUNCTIONS).items():
        if _find(name) is not None:  # older versions of NumPy lack some
            made[name] = lambda name=name, given=given: spellings(f"np.{name}", _find(name), given)
    for name, given in parsed(METHODS).items():
        method = getattr(np.ndarray, name)
        made[f"x.{name}"] = lambda name=name, given=given, m=method: spellings(f"x.{name}", m, given, bound=True)
    for name in names():
        made[f"ufunc {name}"] = lambda name=name: ufunc_texts(name)
    return made


CALLS = _calls()


def test_every_function_of_numpy_is_called() -> None:
    listed = {name for name in CALLS if not name.startswith(("x.", "ufunc "))} | NOT_CALLED
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name in module.__all__:
            found = getattr(module, name)
            if callable(found) and not isinstance(found, (type, np.ufunc)):
                assert prefix + name in listed, (
                    f"np.{prefix}{name} stands neither in the table nor among those left out"
                )


@pytest.mark.parametrize("name", CALLS)
def test_captured_as_plain(name: str) -> None:
    plain, dtyped, out = CALLS[name]()
    sets = [(text, with_dtypes(FEW if k else DTYPES)) for k, text in enumerate(plain)]
    for texts, letter in ((dtyped, "D"), (out, "O"), (pairs(name[6:]) if name.startswith("ufunc") else [], "P")):
        few = (SOME, SOME) if DENSE else (FEW[1:3], FEW)
        sets += [(text, with_pairs(*(few if k else (SOME, SOME)), letter)) for k, text in enumerate(texts)]
    faults = [fault for text, cases in sets for fault in compared(text, cases)]
    if name in REFUSED:
        faults = [fault for fault in faults if fault[0] != "refused"]
    assert not faults, _told(faults)


@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("ufunc ")])
def test_scripted_and_traced_as_plain(name: str) -> None:
    plain, dtyped, out = CALLS[name]()
    # The op sorts what NumPy gives in any order.
    makers = (weft.script,) if name == "unique_values" else (weft.script, _traced)
    plain = plain if DENSE else plain[:: max(1, len(plain) // 4)]
    faults = [f for text in plain for make in makers for f in compared(text, with_dtypes(FEW[2:3]), make)]
    faults += [fault for text in dtyped[:1] for fault in compared(text, with_pairs(FEW, FEW, "D"), weft.script)]
    faults += [
        f for text in out[:4] for f in compared(text, with_pairs(FEW[2:3], FEW[1:2] + FEW[2:3], "O"), weft.script)
    ]
    if name in REFUSED:
        faults = [fault for fault in faults if fault[0] != "refused"]
    assert not faults, _told(faults)


def _traced(function: Any) -> Any:
    return lambda *args: weft.trace(function, *args)(*args)


@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("ufunc ")])
def test_derivatives_are_right_in_every_spelling(name: str) -> None:
    without = NO_DERIVATIVE.get(name)
    faults = []
    for text in CALLS[name]()[0]:
        fault = derivative_fault(text)
        if without is not None and without.search(text):
            assert fault is None or fault[0] == "refused", (text, fault)
        elif fault is not None:
            faults.append((fault[0], text, fault[1]))
    assert not faults, _told(faults)


@pytest.mark.parametrize("name", [name for name in CALLS if op_of(_find(name)) is not None])
def test_given_tensors_as_plain(name: str) -> None:
    without = [pattern for table in (NO_DERIVATIVE, NOT_OF_TENSORS) if (pattern := table.get(name)) is not None]
    faults = []
    for text in CALLS[name]()[0]:
        fault = tensor_fault(text)
        if fault is not None and not (fault[0] == "refused" and any(pattern.search(text) for pattern in without)):
            faults.append((fault[0], text, fault[1]))
    assert not faults, _told(faults)


def _told(faults: list[tuple[str, str, str]]) -> str:
    """The faults, the first of each text."""
    first = {text.split("  [")[0] + kind: f"{kind}: {text}: {how:.300}" for kind, text, how in reversed(faults)}
    return f"{len(faults)} calls differ, among them\n" + "\n".join(reversed(first.values()))
