"""Random programs over what weft's tensors and torch's have in common, each action run on both sides.

Left out is what the two mean differently: NumPy's flip is a view and torch's a copy, NumPy's diagonal cannot be written
and its x[0] of a vector is no view; torch gives every value assigned to one place the gradient of that place.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint as torch_checkpoint

import weft

torch.set_num_threads(1)
SHAPES = [(2, 3), (3,), (2, 3, 2), (3, 3), (1, 3), ()]
Action = Callable[["Side"], Any]


class Side:
    """One library, and the values of a program run with it."""

    def __init__(self, lib: Any, arrays: Sequence[np.ndarray[Any, Any]], tracked: int) -> None:
        self.lib = lib
        self.is_torch = lib is torch
        self.values = [lib.tensor(a, requires_grad=i < tracked) for i, a in enumerate(arrays)]
        self.leaves = list(self.values)
        self.seen: list[Any] = []  # what hooks saw

    def __getitem__(self, i: int) -> Any:
        return self.values[i]

    def constant(self, array: Any) -> Any:
        return self.lib.tensor(array)

    def cat(self, parts: Any, axis: int) -> Any:
        return self.lib.cat(parts, dim=axis) if self.is_torch else weft.concat(parts, axis=axis)

    def stack(self, parts: Any, axis: int) -> Any:
        return self.lib.stack(parts, dim=axis) if self.is_torch else weft.stack(parts, axis=axis)

    def split(self, x: Any, axis: int) -> Any:
        return torch.tensor_split(x, x.shape[axis], dim=axis) if self.is_torch else weft.split(x, x.shape[axis], axis)

    def checkpoint(self, f: Any, *args: Any) -> Any:
        if self.is_torch:
            return torch_checkpoint(f, *args, use_reentrant=False)
        return weft.autograd.checkpoint(f, *args)

    def flipped(self, x: Any, axis: int) -> Any:
        return x.flip(axis) if self.is_torch else x.flip(axis).clone()

    def diagonal(self, x: Any) -> Any:
        return x.diagonal().clone()


def numpy(value: Any) -> np.ndarray[Any, Any]:
    return value.detach().resolve_conj().numpy(force=True) if isinstance(value, torch.Tensor) else value.numpy()


class Draw:
    """Random choices, by what is there on the side of torch."""

    def __init__(self, seed: int, side: Side) -> None:
        self.random = np.random.default_rng(seed)
        self.side = side

    def one(self, options: Sequence[Any]) -> Any:
        return options[self.random.integers(len(options))]

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def index(self, least: int = 0, good: Callable[[Any], bool] = lambda t: True) -> int:
        """A value of at least so many dimensions, later ones more often."""
        fit = [i for i, v in enumerate(self.side.values) if v.ndim >= least and v.numel() and good(v)]
        if not fit:
            raise LookupError
        return fit[-1 - min(int(self.random.exponential(3)), len(fit) - 1)]

    def fitting(self, i: int, within: bool = False) -> int:
        """A value that broadcasts with value i, into it where `within`."""
        shape = tuple(self.side[i].shape)

        def good(v: Any) -> bool:
            try:
                joint = np.broadcast_shapes(shape, tuple(v.shape))
            except ValueError:
                return False
            same = v.dtype == self.side[i].dtype
            if within and shares(v, self.side[i]) and place(v) != place(self.side[i]):
                return False  # torch reads what it has just written
            return same and (not within or joint == shape) and np.prod(joint) < 200

        return self.index(good=good)

    def axis(self, i: int) -> int:
        return int(self.random.integers(self.side[i].ndim))

    def array(self, shape: Sequence[int]) -> Any:
        return self.random.uniform(0.5, 1.5, tuple(shape))

    def basic_key(self, i: int, steps: bool = True) -> Any:
        """Slices, None, Ellipsis, and integers as long as a dimension is left: NumPy gives no view of one element."""
        key: list[Any] = []
        shape = tuple(self.side[i].shape)
        whole = len(shape)
        for n in shape:
            kind = self.one(["slice", "slice", "integer", "all", "stop"])
            if kind == "stop":
                break
            if kind == "integer" and whole > 1:
                key.append(int(self.random.integers(-n, n)))
                whole -= 1
            elif kind == "all" or n == 0:
                key.append(slice(None))
            else:
                start = int(self.random.integers(0, n))
                key.append(slice(start, None, self.one([None, 1, 2])) if self.chance(0.5) else slice(None, start + 1))
        if self.chance(0.2):
            key.insert(int(self.random.integers(len(key) + 1)), None)
        elif self.chance(0.2):
            key.append(...)
        return tuple(key)

    def array_key(self, i: int, once: bool = False) -> Any:
        """An index array, or a mask."""
        shape = tuple(self.side[i].shape)
        if self.chance(0.4):
            return self.random.random(shape[: self.random.integers(1, len(shape) + 1)]) < 0.6
        if once:
            where = self.random.permutation(shape[0])[: self.random.integers(1, shape[0] + 1)]
            return where - shape[0] if self.chance(0.3) else where
        where = self.random.integers(-shape[0], shape[0], self.one([(2,), (4,), (2, 2)]))
        if len(shape) > 1 and self.chance(0.4):
            return (where, self.random.integers(0, shape[1], where.shape))
        return where

    def key(self, i: int) -> Any:
        if self.side[i].ndim == 0:
            return ...
        return self.basic_key(i) if self.chance(0.6) else self.array_key(i, once=True)


def shares(a: Any, b: Any) -> bool:
    return bool(a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())


def place(t: Any) -> tuple[Any, ...]:
    return t.data_ptr(), t.shape, t.stride()


def as_key(side: Side, key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(as_key(side, k) for k in key)
    return side.constant(key) if isinstance(key, np.ndarray) else key


# --- values ---

UNARY = [
    lambda x: x.sin(), lambda x: x.tanh(), lambda x: (x * 0.5).exp(), lambda x: -x, lambda x: x * 0.7 + 0.1,
    lambda x: 1.5 - x, lambda x: x.sigmoid(), lambda x: (x * x + 1).sqrt(), lambda x: (x * x + 0.5).log(),
    lambda x: x**2, lambda x: x.abs(), lambda x: 2.0 / (x * x + 1), lambda x: x.clamp(-0.8, 0.9), lambda x: x.relu(),
    lambda x: x.clone(), lambda x: x.cos().square(), lambda x: x.detach(), lambda x: x.cumsum(dim=0) if x.ndim else x,
    lambda x: x.softmax(-1) if x.ndim else x.exp(),
]  # fmt: skip
COMPLEX = [lambda x: x.sin(), lambda x: x * (0.5 - 0.2j), lambda x: x.conj() * 0.5, lambda x: x * x * 0.5,
           lambda x: (x * 0.3).exp(), lambda x: x.abs() * x, lambda x: x.clone(), lambda x: 1j - x,
           lambda x: x.detach()]  # fmt: skip
BINARY = [operator.add, operator.sub, operator.mul, lambda a, b: a / (b * b + 1)]
REDUCTIONS = [lambda x, d: x.sum(d), lambda x, d: x.mean(d), lambda x, d: x.sum(d, keepdim=True),
              lambda x, d: x.prod(d), lambda x, d: (x * x).sum().sqrt() if d else x.sum()]  # fmt: skip
REAL_REDUCTIONS = [
    *REDUCTIONS,
    lambda x, d: x.amax(d),
    lambda x, d: x.logsumexp(d),
    lambda x, d: x.var(d, correction=0),
]


def is_complex(v: Any) -> bool:
    return bool(v.dtype.is_complex)


def unary(draw: Draw) -> Action:
    i = draw.index()
    f = draw.one(COMPLEX if is_complex(draw.side[i]) else UNARY)
    return lambda s: f(s[i])


def binary(draw: Draw) -> Action:
    i = draw.index()
    j, f = draw.fitting(i), draw.one(BINARY)
    return lambda s: f(s[i], s[j])


def matrix(draw: Draw) -> Action:
    i = draw.index(2)
    inner = draw.side[i].shape[-1]
    j = draw.index(1, lambda v: v.dtype == draw.side[i].dtype and v.ndim < 3 and v.shape[0] == inner)
    return lambda s: s[i] @ s[j] * 0.3


def reduction(draw: Draw) -> Action:
    i = draw.index(1)
    axis, f = draw.axis(i), draw.one(REDUCTIONS if is_complex(draw.side[i]) else REAL_REDUCTIONS)
    return lambda s: f(s[i], axis)


def joined(draw: Draw) -> Action:
    i = draw.index(1)
    j = draw.index(1, lambda v: v.shape == draw.side[i].shape and v.dtype == draw.side[i].dtype)
    axis = draw.axis(i)
    if draw.chance(0.5):
        return lambda s: s.cat([s[i], s[j], s[i]], axis)
    return lambda s: s.stack([s[i], s[j]], axis)


def chosen(draw: Draw) -> Action:
    i = draw.index(good=lambda v: not is_complex(v))
    j = draw.fitting(i)
    limit = float(draw.random.uniform(0.2, 1))
    return lambda s: s.lib.where(s[i] > limit, s[i], s[j])


def picked(draw: Draw) -> Action:
    i = draw.index(1)
    key = draw.array_key(i)
    return lambda s: s[i][as_key(s, key)]


def without_grad(draw: Draw) -> Action:
    i = draw.index()

    def run(s: Side) -> Any:
        with s.lib.no_grad():
            return s[i] * 0.5

    return run


def checkpointed(draw: Draw) -> Action:
    i = draw.index(good=lambda v: not is_complex(v))
    j = draw.fitting(i)
    writes = draw.chance(0.5)

    def block(a: Any, b: Any) -> Any:
        y = (a * b) * 0.5
        if writes:
            y += a
            y *= 0.7
        return y * y.sin()

    return lambda s: s.checkpoint(block, s[i], s[j])


# --- views ---


def view(draw: Draw) -> Action:
    i = draw.index(1)
    shape = tuple(draw.side[i].shape)
    axis = draw.axis(i)
    key = draw.basic_key(i)
    order = tuple(int(d) for d in draw.random.permutation(len(shape)))
    options: list[Action] = [
        lambda s: s[i][key],
        lambda s: s[i][key],
        lambda s: s[i].reshape(-1) if len(shape) > 1 else s[i][...],
        lambda s: s[i].permute(order),
        lambda s: s[i].unsqueeze(axis),
        lambda s: s[i].squeeze(),
        lambda s: s[i].transpose(0, -1),
        lambda s: s[i].flatten() if len(shape) > 1 else s[i][...],
        lambda s: s[i].unsqueeze(0).expand(2, *shape).clone(),
        lambda s: s[i].view(1, *shape),
        lambda s: s[i].detach(),
        lambda s: s.flipped(s[i], axis),
    ]
    if len(shape) > 1:
        options.append(lambda s: s.diagonal(s[i]))
        options += [lambda s: s.split(s[i], axis), lambda s: s[i].chunk(2, axis), lambda s: s[i].unbind(axis)]
    return draw.one(options)


# --- writes ---


def assigned(draw: Draw) -> Action:
    i = draw.index()
    key = draw.key(i)
    part = draw.side[i].detach()[as_key(draw.side, key)]
    number = float(draw.random.uniform(0.5, 1.5))
    kind = draw.one(["number", "value", "add", "multiply", "array"])
    apart = [(k, v) for k, v in enumerate(draw.side.values) if not shares(v, draw.side[i])]
    at = [k for k, v in apart if v.dtype == part.dtype and broadcasts(v.shape, part.shape)]
    array = draw.array(part.shape)
    if kind == "value" and at:
        j = draw.one(at)

        def run(s: Side) -> None:
            s[i][as_key(s, key)] = s[j]
    elif kind == "add":

        def run(s: Side) -> None:
            s[i][as_key(s, key)] += number
    elif kind == "multiply" and at:
        j = draw.one(at)

        def run(s: Side) -> None:
            s[i][as_key(s, key)] *= s[j]
    elif kind == "array":

        def run(s: Side) -> None:
            s[i][as_key(s, key)] = s.constant(array).to(s[i].dtype)
    else:

        def run(s: Side) -> None:
            s[i][as_key(s, key)] = number

    return run


def broadcasts(shape: Sequence[int], into: Sequence[int]) -> bool:
    try:
        return np.broadcast_shapes(tuple(shape), tuple(into)) == tuple(into)
    except ValueError:
        return False


def changed(draw: Draw) -> Action:
    i = draw.index()
    j = draw.fitting(i, within=True)
    mask = draw.random.random(tuple(draw.side[i].shape)) < 0.5
    options: list[Action] = [
        lambda s: operator.iadd(s[i], s[j]),
        lambda s: operator.imul(s[i], s[j]),
        lambda s: operator.isub(s[i], 0.3),
        lambda s: operator.itruediv(s[i], 2.0),
        lambda s: s[i].add_(s[j], alpha=0.5),
        lambda s: s[i].mul_(s[j]),
        lambda s: s[i].sub_(s[j]),
        lambda s: s[i].zero_(),
        lambda s: s[i].fill_(0.4),
        lambda s: s[i].copy_(s[j] + 0),
        lambda s: s[i].sin_(),
        lambda s: s[i].neg_(),
        lambda s: s[i].addcmul_(s[j], s[j], value=0.5),
        lambda s: s[i].masked_fill_(s.constant(mask), 0.6),
    ]
    if not is_complex(draw.side[i]):
        options += [lambda s: s[i].clamp_(-0.9, 0.8), lambda s: s[i].tanh_(), lambda s: s[i].sigmoid_()]
        options += [lambda s: operator.ipow(s[i], 2), lambda s: s[i].div_(s[j] * s[j] + 1), lambda s: s[i].relu_()]
    act = draw.one(options)

    def run(s: Side) -> None:
        act(s)

    def quiet(s: Side) -> None:
        with s.lib.no_grad():
            act(s)

    return quiet if draw.chance(0.1) else run


# --- the tape ---


def hooked(draw: Draw) -> Action:
    i = draw.index(good=lambda v: v.requires_grad and v._base is None)
    kind = draw.one(["scale", "see"])

    def run(s: Side) -> None:
        def hook(g: Any) -> Any:
            s.seen.append(numpy(g).copy())
            return None if kind == "see" else g * 0.5

        s[i].register_hook(hook)

    return run


def toggled(draw: Draw) -> Action:
    i = draw.index(good=lambda v: v.requires_grad and v.is_leaf and not v._backward_hooks)

    def run(s: Side) -> None:
        s[i].requires_grad_(False)

    return run


def kept(draw: Draw) -> Action:
    i = draw.index(good=lambda v: v.requires_grad)

    def run(s: Side) -> None:
        s[i].retain_grad()

    return run


ACTIONS = [unary] * 4 + [binary] * 4 + [matrix, reduction, joined, chosen, picked] + [view] * 6 + [assigned] * 4
ACTIONS += [changed] * 6 + [without_grad, checkpointed, hooked, toggled, kept]
