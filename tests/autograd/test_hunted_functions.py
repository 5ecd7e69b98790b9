"""Functions of the user's own, and modes: what a hunt found; each of these was wrong once."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft
from weft import tensor
from weft.autograd import Function, detect_anomaly, grad, is_grad_enabled
from weft.errors import AutogradError


def t(*values: Any) -> Any:
    return tensor(np.array(values), requires_grad=True)


# --- functions ---


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * 2 * y / x


def test_functions_leave_no_cycle_and_free_what_they_saved() -> None:
    x = tensor(np.ones(3), requires_grad=True)
    Square.apply(x).sum().backward()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            y = Square.apply(x * 1)
            y.sum().backward()
            Square.apply(x)  # and one that is never asked
        array = weakref.ref(y.grad_fn.next_functions[0][0])
        saved = weakref.ref(y.numpy())
        del y
        assert saved() is None and array() is None
        assert len(gc.get_objects()) - before < 30
    finally:
        gc.enable()


def test_saved_tensors_are_freed_by_backward() -> None:
    x = tensor(np.ones(3), requires_grad=True)
    h = x * 2
    gone = weakref.ref(h.numpy())
    y = Square.apply(h)
    del h
    assert gone() is not None
    y.sum().backward()
    assert gone() is None
    with pytest.raises(AutogradError, match="freed by an earlier backward"):
        y.sum().backward()


def test_a_function_that_gives_no_gradient_gives_none() -> None:
    class First(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, None

    a, b = t(1.0), t(2.0)
    First.apply(a, b).backward()
    assert a.grad.item() == 1.0 and b.grad is None
    assert grad(First.apply(a, b), b, allow_unused=True) == (None,)


def test_gradients_of_unused_results_are_zeros_or_none_as_asked() -> None:
    given: list[Any] = []

    class Two(Function):
        zeros = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(Two.zeros)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            given.append(b)
            return a * 2

    for Two.zeros in (True, False):
        x = t(1.0)
        Two.apply(x)[0].backward()
        assert x.grad.item() == 2.0
    assert given[0].tolist() == [0.0] and given[1] is None


def test_what_was_marked_dirty_is_returned() -> None:
    class Forgets(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            x.mul_(2)
            return x * 1

    with pytest.raises(AutogradError, match=r"Forgets\.forward marked an argument dirty and did not return it"):
        Forgets.apply(t(1.0) * 1)


def test_anomaly_names_functions_too() -> None:
    class Bad(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * np.nan

    y = Bad.apply(t(1.0))  # here
    with detect_anomaly(), pytest.raises(AutogradError, match=r"the derivative of Bad gave NaN\n.*# here"):
        y.backward()


# --- modes ---


def test_modes_hold_inside_generators_and_coroutines_alone() -> None:
    @weft.no_grad()
    def numbers() -> Iterator[bool]:
        try:
            got = yield is_grad_enabled()
            yield got
        except KeyError:
            yield is_grad_enabled()

    run = numbers()
    assert next(run) is False and is_grad_enabled()
    assert run.send(7) == 7 and is_grad_enabled()  # type: ignore[attr-defined]  # a generator
    other = numbers()
    next(other)
    assert other.throw(KeyError()) is False and is_grad_enabled()  # type: ignore[attr-defined]  # a generator
    other.close()  # type: ignore[attr-defined]  # a generator
    assert list(numbers()) == [False, None]

    @weft.no_grad
    async def waits() -> bool:
        await asyncio.sleep(0)
        return is_grad_enabled()

    @weft.no_grad()
    async def many() -> Any:
        for _ in range(2):
            await asyncio.sleep(0)
            yield is_grad_enabled()

    async def main() -> list[bool]:
        seen = [await waits(), is_grad_enabled()]
        async for one in many():
            seen += [one, is_grad_enabled()]
        return seen

    assert asyncio.run(main()) == [False, True, False, True, False, True]


def test_a_block_may_be_left_in_another_context() -> None:
    def inside() -> Iterator[None]:
        with weft.no_grad():
            yield

    run = inside()
    contextvars.copy_context().run(next, run)
    assert is_grad_enabled()
    run.close()  # type: ignore[attr-defined]  # a generator
    assert is_grad_enabled()


def test_set_grad_enabled_holds_from_the_call_on() -> None:
    try:
        weft.set_grad_enabled(False)
        assert not is_grad_enabled()
        with weft.set_grad_enabled(True):
            assert is_grad_enabled()
        assert not is_grad_enabled()
    finally:
        weft.set_grad_enabled(True)
    assert is_grad_enabled()

    @weft.set_grad_enabled(False)
    def inside() -> bool:
        return is_grad_enabled()

    assert is_grad_enabled() and not inside() and is_grad_enabled()


def test_inference_mode_by_a_flag() -> None:
    with weft.inference_mode(False):
        assert is_grad_enabled()
    with weft.inference_mode(True):
        assert not is_grad_enabled()
    with weft.inference_mode():
        assert not is_grad_enabled()


def test_a_result_in_the_memory_of_an_argument_is_not_written() -> None:
    class Passes(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, flat: bool) -> Any:
            return x.reshape(-1) if flat else x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.reshape(2, 1), None

    for flat in (False, True):
        y = tensor(np.ones((2, 1)), requires_grad=True) * 1
        z = Passes.apply(y, flat)
        with pytest.raises(ValueError, match=r"write to t\.clone\(\)"):
            z *= 2
        assert y.tolist() == [[1.0], [1.0]]
        (z.clone().mul_(2) * 1).sum().backward()
