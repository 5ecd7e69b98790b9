"""A layer of `weft.nn` and the same layer of `torch.nn`: the same state, and then the same values and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import weft
from weft import nn

# Both compute in float64; sums of a few hundred terms in another order differ by far less.
TOLERANCE = {"rtol": 1e-10, "atol": 1e-12}
torch.set_num_threads(1)  # the arrays are small: threads would only wait for each other
RANDOM = np.random.default_rng(0)


class Fixed(np.ndarray):
    """An array that torch has no derivative for: made by `x.view(Fixed)`."""


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape)


def unit(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.05, 0.95, shape)


def pair(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The layer of weft and the layer of torch, in float64 and with the same random state."""
    ours = getattr(nn, name)(*args, **kwargs)
    theirs = getattr(torch.nn, name)(*each(torch.from_numpy, args), **each(torch.from_numpy, kwargs))
    return share(ours.double(), theirs.double())


def share(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Both with the same random numbers for state, after seeing that its names and shapes are the same."""
    mine, state = ours.state_dict(), {}
    assert list(mine) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        assert tuple(value.shape) == mine[key].shape
        state[key] = unit(*value.shape) if value.dtype.is_floating_point else value.numpy()
    ours.load_state_dict(state)
    theirs.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in state.items()})
    return ours, theirs


def compare(ours: Any, theirs: Any, *args: Any, _slope: float = 1e-10, **kwargs: Any) -> None:
    """Values, then gradients of every float input and parameter for a random gradient of every float result.

    `_slope` is how far gradients may be apart; running statistics are compared too.
    """
    mine: list[Any] = []
    peers: list[Any] = []
    result = ours(*each(leaf(weft.tensor, mine), args), **each(leaf(weft.tensor, mine), kwargs))
    # Cloned, because torch refuses to change a leaf in place.
    expected = theirs(*each(leaf(torch.tensor, peers), args, torch.clone), **each(leaf(torch.tensor, peers), kwargs))
    results, wanted = list(flat(result)), list(flat(expected))
    assert len(results) == len(wanted)
    for got, value in zip(results, wanted, strict=True):
        assert got.shape == tuple(value.shape)
        np.testing.assert_allclose(np.asarray(got), value.detach().numpy(), **TOLERANCE)
    floats = [i for i, value in enumerate(wanted) if value.dtype == torch.float64]
    assert all(results[i].dtype == np.float64 for i in floats)
    weights = [normal(*results[i].shape) for i in floats]
    if len(floats) == 1:
        results[floats[0]].backward(weights[0])
    else:
        weft.autograd.backward([results[i] for i in floats], [weft.tensor(w) for w in weights])
    torch.autograd.backward([wanted[i] for i in floats], [torch.from_numpy(np.asarray(w)) for w in weights])
    named = dict(ours.named_parameters()).items(), dict(theirs.named_parameters()).items()
    ends = [(f"input {i}", t) for i, t in enumerate(mine)], [(f"input {i}", t) for i, t in enumerate(peers)]
    for (name, got), (_, value) in zip([*named[0], *ends[0]], [*named[1], *ends[1]], strict=True):
        assert (got.grad is None) == (value.grad is None), name
        if value.grad is not None:
            assert got.grad.dtype == np.float64
            np.testing.assert_allclose(got.grad.numpy(), value.grad.numpy(), rtol=_slope, atol=1e-12, err_msg=name)
    for key, value in theirs.state_dict().items():
        np.testing.assert_allclose(np.asarray(ours.state_dict()[key]), value.numpy(), **TOLERANCE, err_msg=key)
    ours.zero_grad()
    theirs.zero_grad()


def spread_alike(ours: Any, theirs: Any, bounded: bool) -> None:
    """Whether first values come from the same distributions; `bounded` where these are even or constant."""
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    for name, mine in ours.state_dict().items():
        values, expected = mine.numpy(), state[name].numpy()
        assert values.dtype == expected.dtype
        size, spread = values.size, float(expected.std())
        # Spread and mean of so many numbers are found within a few times 1 / sqrt(size), here twice.
        assert values.std() == pytest.approx(spread, rel=min(5 / math.sqrt(size), 0.5), abs=1e-12), name
        assert values.mean() == pytest.approx(expected.mean(), abs=7 * spread / math.sqrt(size) + 1e-12), name
        if bounded:  # the largest of n even numbers is within a few parts in n of the bound
            assert np.abs(values).max() == pytest.approx(np.abs(expected).max(), rel=20 / size), name


def leaf(make: Callable[..., Any], made: list[Any]) -> Callable[[np.ndarray], Any]:
    """Turns arrays into tensors, those of floats into ones that want a gradient, collected in `made`."""

    def convert(x: np.ndarray) -> Any:
        if x.dtype != np.float64 or isinstance(x, Fixed):
            return make(np.asarray(x))
        made.append(make(x, requires_grad=True))
        return made[-1]

    return convert


def each(convert: Callable[[Any], Any], value: Any, then: Callable[[Any], Any] = lambda t: t) -> Any:
    """Every array in tuples, lists and dicts converted."""
    if isinstance(value, np.ndarray):
        return then(convert(value))
    if isinstance(value, dict):
        return {k: each(convert, v, then) for k, v in value.items()}
    return type(value)(each(convert, v, then) for v in value) if isinstance(value, tuple | list) else value


def flat(value: Any) -> Iterator[Any]:
    """Every tensor of nested results; None stands for none."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from flat(part)
    elif value is not None:
        yield value
