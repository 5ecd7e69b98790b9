"""Orders and choices: which results are possible, how often each comes, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import weft
from weft import random
from weft.errors import DtypeError, ShapeError
from weft.random import Generator

N = 20_000


def fits(found: list[Any], probabilities: dict[Any, float]) -> None:
    counts = {key: 0 for key, p in probabilities.items() if p > 0}
    for each in found:
        counts[each] += 1  # a KeyError is a result that cannot be
    expected = [probabilities[key] * len(found) for key in counts]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-4


def without_replacement(p: list[float], k: int) -> dict[Any, float]:
    """The probability of each ordered draw, one after the other from what is left."""
    total = sum(p)
    found = {}
    for drawn in itertools.permutations(range(len(p)), k):
        left, chance = total, 1.0
        for i in drawn:
            chance *= p[i] / left if left > 1e-12 else 0.0
            left -= p[i]
        found[drawn] = chance
    return found


def test_every_order_is_equally_likely() -> None:
    g = Generator(1)
    orders = [tuple(weft.randperm(4, generator=g).tolist()) for _ in range(5000)]
    fits(orders, dict.fromkeys(itertools.permutations(range(4)), 1 / 24))
    large = random.permutation(1000, generator=g)
    assert sorted(large.tolist()) == list(range(1000)) and large.dtype == np.int64
    assert abs(np.corrcoef(large, np.arange(1000))[0, 1]) < 5 / np.sqrt(1000)
    assert weft.randperm(0).shape == (0,) and weft.randperm(3, np.int8).dtype == np.int8


def test_permutation_of_an_array() -> None:
    x = np.arange(12.0).reshape(3, 4)
    for axis in (0, 1, -1):
        order = random.randperm(x.shape[axis], generator=Generator(2))
        np.testing.assert_array_equal(random.permutation(x, axis, generator=Generator(2)), np.take(x, order, axis))
    t = weft.tensor(np.arange(4.0), requires_grad=True)
    (random.permutation(t, generator=Generator(3)) * np.arange(4.0)).sum().backward()
    order = random.randperm(4, generator=Generator(3))
    assert t.grad is not None
    np.testing.assert_array_equal(t.grad.numpy()[order], np.arange(4.0))


P = [0.1, 0.0, 0.6, 0.3]


def test_choice_with_replacement() -> None:
    fits(random.choice(5, (N,), generator=Generator(1)).tolist(), dict.fromkeys(range(5), 0.2))
    fits(random.choice(4, (N,), p=P, generator=Generator(1)).tolist(), dict(enumerate(P)))
    fits(random.choice(4, (N,), p=[7 * p for p in P], generator=Generator(1)).tolist(), dict(enumerate(P)))
    names = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    drawn = random.choice(names, (2, 5), generator=Generator(4))
    index = random.choice(3, (2, 5), generator=Generator(4))
    np.testing.assert_array_equal(drawn, names[index])
    assert random.choice(names, (2, 5), axis=1).shape == (3, 2, 5)


def test_choice_without_replacement() -> None:
    g = Generator(2)
    draws = [tuple(random.choice(4, (2,), False, generator=g).tolist()) for _ in range(4000)]
    fits(draws, dict.fromkeys(itertools.permutations(range(4), 2), 1 / 12))
    weighted = [tuple(random.choice(4, (2,), False, P, generator=g).tolist()) for _ in range(4000)]
    fits(weighted, without_replacement(P, 2))
    assert sorted(random.choice(4, (3,), False, P).tolist()) == [0, 2, 3]


def test_multinomial() -> None:
    weights = np.array([[1.0, 0.0, 6.0, 3.0], [2.0, 2.0, 0.0, 4.0]])
    drawn = weft.multinomial(weights, N, replacement=True, generator=Generator(3))
    assert drawn.shape == (2, N) and drawn.dtype == np.int64
    for row, w in zip(drawn, weights, strict=True):
        fits(row.tolist(), dict(enumerate(w / w.sum())))
    rows = weft.multinomial(np.tile(weights[0], (4000, 1)), 2, generator=Generator(4))
    fits(list(map(tuple, rows.tolist())), without_replacement(P, 2))
    assert weft.multinomial(weights[0], 3).shape == (3,)
    assert isinstance(weft.multinomial(weft.tensor(weights), 2), weft.Tensor)


def test_the_end_of_the_weights_is_never_passed() -> None:
    """A uniform number next to 1 times a total that is next to 0 rounds up to the total."""
    from weft.ops import _samplers

    last = np.full((1, 1), 2**64 - 1, np.uint64)
    for size in range(1, 20):
        for each in (0.1, 1.0, 5e-324, 1e300):
            weights = np.concatenate([np.full(size, each), np.zeros(3)])[None]
            assert _samplers.weighted(last, weights)[0, 0] == size - 1
    assert _samplers.weighted(np.zeros((1, 1), np.uint64), np.array([[0.0, 1.0]]))[0, 0] == 1


def test_categorical() -> None:
    logits = np.log(np.array([[1.0, 2.0, 7.0], [0.0, 5.0, 5.0]]) + 1e-300)
    logits[1, 0] = -np.inf
    drawn = random.categorical(logits, (N,), generator=Generator(5))
    assert drawn.shape == (N, 2) and drawn.dtype == np.int64
    fits(drawn[:, 0].tolist(), {0: 0.1, 1: 0.2, 2: 0.7})
    fits(drawn[:, 1].tolist(), {0: 0.0, 1: 0.5, 2: 0.5})
    np.testing.assert_array_equal(
        random.categorical(logits.T, (9,), axis=0, generator=Generator(5)),
        random.categorical(logits, (9,), generator=Generator(5)),
    )


BAD: list[tuple[Callable[[], Any], Any, str]] = [
    (lambda: weft.randperm(-1), (ShapeError, DtypeError), "not negative"),
    (lambda: weft.randperm(2.5), TypeError, "n is a whole number"),
    (lambda: weft.randperm(300, np.int8), DtypeError, "int8 does not hold the numbers below 300"),
    (lambda: random.permutation(np.zeros((2, 3)), 2), ShapeError, "axis 2 is out of range"),
    (lambda: random.choice(3, (4,), replace=False), ValueError, "4 cannot be drawn from 3 without replacement"),
    (lambda: random.choice(3, (3,), False, [1.0, 1.0, 0.0]), ValueError, "3 cannot be drawn from 2"),
    (lambda: random.choice(3, (3,), p=[1.0, 1.0]), ShapeError, "one weight for each of 3"),
    (lambda: random.choice(2, (3,), p=[1.0, -1.0]), ValueError, "weights are finite, at least 0"),
    (lambda: random.choice(2, (3,), p=[0.0, 0.0]), ValueError, "not all 0"),
    (lambda: random.choice(0, (3,)), ValueError, "nothing to choose from"),
    (lambda: weft.multinomial(np.ones((2, 2, 2)), 1), ShapeError, "a row of weights or a matrix"),
    (lambda: weft.multinomial(np.array([np.inf, 1.0]), 1), ValueError, "weights are finite"),
    (lambda: random.choice(2, (3,), p=[1e308, 1e308]), ValueError, "weights are finite"),
    (lambda: weft.multinomial(np.ones(2), 3), ValueError, "3 cannot be drawn from 2"),
    (lambda: random.categorical(np.array([np.nan, 1.0])), ValueError, "logits are numbers"),
    (lambda: random.categorical(np.full(2, -np.inf)), ValueError, "not all -inf"),
    (lambda: random.categorical(np.zeros((3, 0))), ShapeError, "nothing to choose from"),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_errors_are_clear_and_draw_nothing(case: int) -> None:
    call, kind, words = BAD[case]
    with random.isolated(1):
        with pytest.raises(kind, match=words):
            call()
        assert random.current().position == 0
