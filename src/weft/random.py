"""Random numbers: explicit generators that can be split, distributions, and the generator used where none is given.

    >>> manual_seed(7)
    >>> first = normal((2, 3))
    >>> manual_seed(7)
    >>> bool((normal((2, 3)) == first).all())
    True

The numbers are the same eagerly and in a captured graph, on every machine; docs/random.md says how they are made.
"""

from __future__ import annotations

from typing import Any

from weft._generator import (
    Generator,
    current,
    generator,
    get_state,
    initial_seed,
    isolated,
    manual_seed,
    seed,
    set_state,
    split,
)
from weft._listing import listing as _listing
from weft.ops.choices import categorical, choice, choice_indices, multinomial, permutation, randperm
from weft.ops.random import (
    bernoulli,
    beta,
    exponential,
    gamma,
    gumbel,
    integers,
    normal,
    poisson,
    rand_like,
    randn_like,
    standard_exponential,
    standard_gamma,
    standard_gumbel,
    standard_normal,
    standard_uniform,
    truncated_normal,
    uniform,
)

__all__ = [
    "bernoulli",
    "beta",
    "categorical",
    "choice",
    "choice_indices",
    "current",
    "exponential",
    "gamma",
    "Generator",
    "generator",
    "get_state",
    "gumbel",
    "initial_seed",
    "integers",
    "isolated",
    "manual_seed",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_state",
    "split",
    "standard_exponential",
    "standard_gamma",
    "standard_gumbel",
    "standard_normal",
    "standard_uniform",
    "truncated_normal",
    "uniform",
]


def rand(*size: Any, dtype: Any = None, generator: Generator | None = None) -> Any:
    """Numbers drawn evenly from [0, 1), of a shape given as numbers or as a sequence.

    >>> rand(2, 3).shape, rand((4,)).shape
    ((2, 3), (4,))
    """
    return standard_uniform(_size(size), dtype, generator=generator)


def randn(*size: Any, dtype: Any = None, generator: Generator | None = None) -> Any:
    """Standard normal numbers, of a shape given as numbers or as a sequence.

    >>> randn(2, 3).shape
    (2, 3)
    """
    return standard_normal(_size(size), dtype, generator=generator)


def randint(low: Any, high: Any = None, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Any:
    """Whole numbers from `low` up to, not including, `high`: `randint(high, size)` or `randint(low, high, size)`.

    >>> randint(10, (2, 3)).shape, int(randint(5, 6))
    ((2, 3), 5)
    """
    if size is None and isinstance(high, (tuple, list)):
        high, size = None, high
    return integers(low, high, () if size is None else size, dtype, generator=generator)


def _size(size: tuple[Any, ...]) -> Any:
    return size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


__dir__ = _listing(__name__)
