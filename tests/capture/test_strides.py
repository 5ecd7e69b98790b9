"""How views and copies lie in memory is worked out from numbers, and is as NumPy has it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.capture._strides import Ask, Layout

_ASK = Ask()
Step = tuple[str, Any]


def arrays(rng: random.Random) -> np.ndarray[Any, Any]:
    """An array of any layout: in order or not, with gaps, backwards, repeated, with axes of one or no element."""
    shape = tuple(rng.choice((0, 1, 2, 2, 3, 4)) for _ in range(rng.randrange(5)))
    whole = np.arange(float(np.prod([2 * n for n in shape]))).reshape([2 * n for n in shape])
    array = whole[(*(slice(0, n) if rng.random() < 0.7 else slice(None, None, 2) for n in shape), ...)]
    way = rng.randrange(6)
    if way < 2:
        array = array.copy(order="CF"[way])
    elif way == 2 and shape:
        array = np.flip(array, rng.randrange(len(shape)))
    elif way == 3:
        array = array.transpose(rng.sample(range(len(shape)), len(shape)))
    elif way == 4 and shape and shape[0]:
        array = np.broadcast_to(array[:1], (3, *array.shape[1:]))
    if rng.random() < 0.15:
        array = array[...]
        array.flags.writeable = False
    return array


def steps(rng: random.Random, array: Any) -> Iterator[tuple[Step, Any]]:
    """A chain of views and copies, each with what NumPy makes of it."""
    for _ in range(rng.randrange(1, 5)):
        step = _step(rng, array)
        array = APPLIED[step[0]](array, step[1])
        yield step, array


def _step(rng: random.Random, array: Any) -> Step:
    name = rng.choice(("transpose", "part", "part", "reshape", "reshape", "copy", "astype", "spread", "ravel", "add"))
    if name == "transpose":
        return name, tuple(rng.sample(range(array.ndim), array.ndim))
    if name == "part":
        return name, tuple(_key(rng, n) for n in array.shape[: rng.randrange(array.ndim + 1)])
    if name == "reshape":
        return name, _shape(rng, array.size)
    if name == "spread":
        return name, (rng.choice((1, 2)), *(n if n != 1 else rng.choice((1, 3)) for n in array.shape))
    return name, rng.choice("CFAK")


def _key(rng: random.Random, size: int) -> Any:
    way = rng.randrange(6)
    if way == 0 and size:
        return rng.randrange(size)
    return (slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(0, 2), slice(None))[way]


def _shape(rng: random.Random, count: int) -> tuple[int, ...]:
    shape: list[int] = []
    while count > 1 and rng.random() < 0.8:
        factor = rng.choice([k for k in range(1, count + 1) if count % k == 0])
        shape.append(factor)
        count //= factor
    return (*shape, count) if count != 1 or not shape else tuple(shape)


APPLIED: dict[str, Any] = {
    "transpose": lambda a, axes: a.transpose(axes),
    "part": lambda a, key: a[(*key, ...)],
    "reshape": lambda a, shape: a.reshape(shape),
    "spread": lambda a, shape: np.broadcast_to(a, shape),
    "copy": lambda a, order: a.copy(order=order),
    "astype": lambda a, order: a.astype(np.float32, order=order),
    "ravel": lambda a, order: a.ravel(),
    "add": lambda a, order: a[None],
}


def predicted(layout: Layout, step: Step, array: Any) -> Layout:
    """The layout after a step; `array` is what NumPy has made of it."""
    name, given = step
    if name == "transpose":
        return layout.permuted(given)
    if name == "part":
        return layout.part((*given, ...), array.shape)
    if name == "add":
        return layout.part((None,), array.shape)
    if name == "spread":
        return layout.spread(given, _ASK)
    if name in ("copy", "astype"):
        return layout.copied(given, array.itemsize, _ASK)
    copied = layout.copied("C", array.itemsize, _ASK)
    if name == "ravel":
        return copied._replace(shape=array.shape, strides=(array.itemsize,))
    return layout.reshaped(given, _ASK) or copied.reshaped(given, _ASK)  # type: ignore[return-value]  # a copy in order


def seen(shape: Any, strides: Any) -> Any:
    """The strides that make a difference: where there is more than one element along an axis."""
    return [s for n, s in zip(shape, strides, strict=True) if n > 1] if 0 not in shape else []


def test_predicted_strides_are_those_of_numpy() -> None:
    for seed in range(600):
        check_chain(random.Random(seed))


def check_chain(rng: random.Random) -> None:
    array = arrays(rng)
    layout = Layout(array.shape, array.strides, array.itemsize)
    for step, made in steps(rng, array):
        shared = made.size > 0 and np.may_share_memory(array, made)
        if step[0] in ("reshape", "ravel") and made.size:
            views = layout.reshaped(step[1], _ASK) is not None if step[0] == "reshape" else layout.in_order("C", _ASK)
            assert views == shared, (step, array.strides, array.shape)
        layout, array = predicted(layout, step, made), made
        assert seen(made.shape, layout.strides) == seen(made.shape, made.strides), step
        for order in "CF":
            assert layout.in_order(order, _ASK) == made.flags[f"{order}_CONTIGUOUS"], (step, order)


def written(a, chain):
    v = a
    for name, given in chain:
        v = APPLIED[name](v, given)
    before = a * 1
    if v.ndim:
        v[...] = v + 100
    after = v * 1
    a[...] = a - before
    return before, after, v


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("seed", range(120))
def test_writes_through_views_reach_what_they_reach_in_numpy(seed: int, dynamic: bool | None) -> None:
    rng = random.Random(seed)
    given, other = arrays(rng), arrays(random.Random(seed))
    chain = tuple(step for step, _ in steps(rng, given))
    compiled = weft.compile(written, dynamic=dynamic)
    assert_same(call(compiled, (given, chain)), call(written, (other, chain)), identity=True)
