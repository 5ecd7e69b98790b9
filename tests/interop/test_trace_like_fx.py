"""One program, traced by torch.fx and by weft: the same kinds of node, names, edges and numbers.

Each program is written once and given the library it is to use, so only the tracer differs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.fx

import weft

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[make.__name__] = make
    return make


@program
def operators(lib: Any) -> Any:
    def f(x, y):
        z = (x + y) * 2 - x / (y * y + 3) ** 2
        return -z @ y + (1 - x)

    return f


@program
def repeated_names(lib: Any) -> Any:
    def f(x, y):
        for _ in range(12):
            x = lib.relu(x + 1)
        return x + y

    return f


@program
def functions_and_methods(lib: Any) -> Any:
    def f(x, y):
        return lib.tanh(x).sum() + lib.sigmoid(y).reshape(-1)[0]

    return f


@program
def indexing(lib: Any) -> Any:
    def f(x, y):
        return x[0] + x[:, 1:3].sum() + y[..., None][1, 2]

    return f


@program
def containers(lib: Any) -> Any:
    def f(x, y):
        return {"a": x + 1, "b": [y * 2, (x - y, 3)]}

    return f


@program
def default_and_keyword(lib: Any) -> Any:
    def f(x, y, scale=2.0):
        return x * scale + y

    return f


@program
def attributes(lib: Any) -> Any:
    def f(x, y):
        return x.reshape(x.shape[0], -1) + y.T.T

    return f


@program
def names_that_clash(lib: Any) -> Any:
    def f(x, y):
        add = x + y
        add_1 = add + y
        return lib.abs(add_1) + lib.abs(add)

    return f


@program
def model(lib: Any) -> Any:
    class Block(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = lib.nn.Conv2d(1, 2, 3, padding=1)
            self.bn = lib.nn.BatchNorm2d(2)
            self.act = lib.nn.ReLU()

        def forward(self, x):
            return self.act(self.bn(self.conv(x)))

    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = Block()
            self.again = self.block
            self.layers = lib.nn.Sequential(lib.nn.Linear(4, 4), lib.nn.Dropout(0.5), lib.nn.Linear(4, 4))

        def forward(self, x, y):
            z = self.block(x[None, None])
            return self.layers(lib.flatten(z, 0, 2)) + self.again.bn.weight[0] + lib.nn.functional.gelu(y)[0]

    return Net().eval()


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_same_graph(name: str) -> None:
    ours, theirs = _both(name)
    assert [_row(node) for node in ours.graph.nodes] == [_row(node) for node in theirs.graph.nodes]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_same_numbers(name: str) -> None:
    ours, theirs = _both(name)
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, 4, 4)).astype(np.float32)
    # float32 sums of up to a hundred terms, in another order.
    _assert_close(ours(x, y), theirs(torch.from_numpy(x), torch.from_numpy(y)), 1e-4)


def _both(name: str) -> tuple[Any, Any]:
    ours, theirs = PROGRAMS[name](weft), PROGRAMS[name](torch)
    if isinstance(theirs, torch.nn.Module):
        ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    return weft.symbolic_trace(ours), torch.fx.symbolic_trace(theirs)


def _row(node: Any) -> tuple[Any, ...]:
    """What a node is, without the library's own objects."""
    inputs = [other.name for other in node.all_input_nodes]
    users = [other.name for other in node.users]
    return node.op, node.name, _target(node.target), inputs, users


def _target(target: Any) -> str:
    if isinstance(target, str):
        return target
    if getattr(operator, target.__name__, None) is target:
        return f"operator.{target.__name__}"
    return str(target.__name__).removeprefix("_")


def _assert_close(ours: Any, theirs: Any, tolerance: float) -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, list | tuple):
        assert type(ours) is type(theirs)
        for one, other in zip(ours, theirs, strict=True):
            _assert_close(one, other, tolerance)
    elif isinstance(theirs, torch.Tensor):
        expected = theirs.detach().numpy()
        assert np.asarray(ours).dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(ours), expected, rtol=tolerance, atol=tolerance)
    else:
        assert ours == theirs
