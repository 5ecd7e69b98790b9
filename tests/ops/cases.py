"""The calls every op is tested on, each with an independent reference.

Pointwise ops get their cases from their declaration (`domain`); the `cases_*.py` files beside this one state the rest:

    case("sum", normal(3, 4), axis=1, ref=np.sum)

`test_table.py` checks each case: value, dtype and shape against the reference, the shape rule, gradients to second
order.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CASES: dict[str, list[Case]] = {}
REFERENCES: dict[str, Callable[..., Any]] = {}
"""References of pointwise ops that NumPy does not have under the same name."""


@dataclass
class Case:
    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    ref: Callable[..., Any] | None  # called with the same arguments; None: the case states `check` instead
    check: Callable[..., None] | None = None  # check(result, *args, **kwargs) where no single reference value exists
    grad: bool = True  # differentiate float and complex arguments
    order: int = 2  # up to this order
    infer: bool = True  # compare the shape rule; False only where the size depends on values
    rtol: float = 1e-12  # a few roundings of float64
    same: bool = True  # compare the body of a composite that NumPy evaluates; False where only floats go through it
    name: str = field(default="")


def by_op(cases: Iterable[Case]) -> Any:
    """One test for each op, over all of its cases: `each` goes through them."""
    groups: dict[str, list[Case]] = {}
    for found in cases:
        groups.setdefault(found.op, []).append(found)
    return pytest.mark.parametrize("cases", groups.values(), ids=groups)


def case(op: str, *args: Any, ref: Callable[..., Any] | None = None, **options: Any) -> None:
    """Add a case. Options of Case go by name with an underscore in front (`_grad=False`); the rest are the op's."""
    settings = {k[1:]: v for k, v in options.items() if k.startswith("_")}
    kwargs = {k: v for k, v in options.items() if not k.startswith("_")}
    cases = CASES.setdefault(op, [])
    cases.append(Case(op, args, kwargs, ref, name=f"{op}-{len(cases)}", **settings))


def rng(*key: Any) -> np.random.Generator:
    """A generator whose numbers depend on the key alone."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def normal(*shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """Standard normal numbers; complex ones where dtype is complex."""
    generator = rng(shape, seed)
    x = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(dtype)


def uniform(low: float, high: float, *shape: int, dtype: Any = np.float64, seed: int = 0) -> np.ndarray:
    """Uniform numbers in an interval."""
    return rng(shape, seed).uniform(low, high, shape).astype(dtype)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int64, seed: int = 0) -> np.ndarray:
    """Integers in [low, high)."""
    return rng(shape, seed).integers(low, high, shape).astype(dtype)


def load_all() -> dict[str, list[Case]]:
    """Import every cases file and return all cases."""
    for path in sorted(Path(__file__).parent.glob("cases_*.py")):
        importlib.import_module(f"{__package__}.{path.stem}" if __package__ else path.stem)
    return CASES
