"""`einsum` against NumPy's on random subscripts, and the order it contracts in."""

from __future__ import annotations

import numpy as np
import pytest

import weft


def test_einsum_of_many_operands_takes_pairs() -> None:
    """Three products of 60 x 60 matrices at once would take 60^5 multiplications."""
    a = np.ones((60, 60))
    np.testing.assert_allclose(weft.einsum("ij,jk,kl,lm->im", a, a, a, a), np.full((60, 60), 60.0**3))


@pytest.mark.parametrize("seed", range(60))
def test_einsum_like_numpy(seed: int) -> None:
    """Random subscripts: repeated labels, dimensions of one that broadcast, empty ones, up to four operands."""
    generator = np.random.default_rng(seed)
    sizes = dict(zip("abcd", generator.choice([0, 1, 2, 3], 4, p=[0.05, 0.15, 0.4, 0.4]), strict=True))
    inputs = [
        "".join(generator.choice(list("abcd"), generator.integers(0, 4))) for _ in range(generator.integers(1, 5))
    ]
    shapes = []
    for labels in inputs:
        own = {c: 1 if generator.random() < 0.1 else sizes[c] for c in labels}
        shapes.append(tuple(own[c] for c in labels))
    present = sorted(set("".join(inputs)))
    output = "".join(generator.permutation([c for c in present if generator.random() < 0.5]))
    arrays = [generator.standard_normal(s) for s in shapes]
    subscripts = ",".join(inputs) + "->" + output
    np.testing.assert_allclose(weft.einsum(subscripts, *arrays), np.einsum(subscripts, *arrays), rtol=1e-12, atol=1e-12)
