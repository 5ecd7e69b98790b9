"""What a hunt for wrong gradients, lost gradients and shared memory found; each of these was wrong once."""

from __future__ import annotations

import contextlib
import gc
import threading
from typing import Any

import numpy as np
import pytest

import weft
from weft import tensor
from weft.autograd import Function, backward, checkpoint, grad
from weft.errors import AutogradError


def t(*values: Any) -> Any:
    return tensor(np.array(values), requires_grad=True)


# --- gradients that were lost ---


def test_a_leaf_that_shares_the_memory_written_keeps_its_gradient() -> None:
    x = t(0.5, 2.0)
    d = x.detach()
    d *= x
    (d * 3).sum().backward()
    assert x.grad.tolist() == [1.5, 6.0]
    x = t(0.5, 2.0)
    with weft.no_grad():
        v = x[:1]
    other = v.detach()
    np.multiply(other, x[:1], out=other)
    other.sum().backward()
    assert x.grad.tolist() == [0.5, 0.0]


def test_a_constant_written_where_it_stands_already_is_a_constant() -> None:
    x = t(1.0, 2.0)
    y = x * 2
    with weft.no_grad():
        fixed = y[:1]
    y[:1] = fixed
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0]


def test_a_tensor_that_shares_memory_takes_the_history_of_what_is_assigned() -> None:
    x = t(1.0, 2.0)
    y = x * 2
    z = y.detach()
    z[:1] = y[:1]
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0]


def test_nested_lists_of_tensors_are_assigned_with_their_history() -> None:
    w = [t(float(i)) for i in range(4)]
    y = tensor(np.zeros((2, 2)))
    y[:] = [[w[0][0], w[1][0]], [w[2][0], 5.0]]
    (y * np.array([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert [None if p.grad is None else p.grad.item() for p in w] == [1.0, 2.0, 3.0, None]
    assert y.tolist() == [[0.0, 1.0], [2.0, 5.0]]


def test_bounds_of_a_slice_are_read_when_it_is_taken() -> None:
    x = t(1.0, 2.0, 3.0)
    i = tensor(1)
    y = x[i:] * 1
    i += 1
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0]


def test_a_base_has_the_gradient_of_the_views_that_were_written() -> None:
    """After a write through a view, the view is again a part of its base, for everyone who asks."""
    x = t(1.0, 2.0)
    y = x * 2
    v = y[:1]
    v *= 3
    loss = (y * y).sum() + v.sum()
    (first,) = grad(loss, y, retain_graph=True)
    assert first.tolist() == [13.0, 8.0]
    assert grad(loss, v)[0].tolist() == [1.0]


@pytest.mark.parametrize(
    "same",
    [
        lambda y: weft.atleast_1d(x=y),
        lambda y: weft.nn.functional.dropout(input=y, p=0.0, training=True),
        lambda y: weft.diff(x=y, n=0),
        lambda y: weft.ops.TABLE["getitem"]((y, y), 1),
    ],
)
def test_a_result_that_is_its_argument_is_a_view_of_it_however_it_was_called(same: Any) -> None:
    x = t(1.0, 2.0)
    y = x * 1
    z = same(y)
    assert np.shares_memory(z.numpy(), y.numpy())
    z *= 3
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_stop_gradient_by_keyword_is_a_constant_too() -> None:
    x = t(1.0, 2.0)
    y = x * 1
    fixed = weft.stop_gradient(x=y)
    y *= 2
    assert not fixed.requires_grad and fixed.is_leaf


# --- gradients kept where they belong ---


def test_a_retained_gradient_follows_the_tensor_through_writes() -> None:
    x = t(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    y.mul_(2)
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [12.0, 24.0]
    x = t(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    y[0] = 1.0
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [0.0, 3.0]


def test_a_retained_gradient_asked_for_by_inputs_is_added_once() -> None:
    x = t(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward(inputs=[y, x])
    assert y.grad.tolist() == [4.0, 8.0] and x.grad.tolist() == [8.0, 16.0]


def test_a_leaf_that_wants_no_gradient_any_more_gets_none() -> None:
    x, w = t(1.0), t(2.0)
    y = x * w
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None and w.grad.item() == 1.0


def test_no_two_gradients_share_memory() -> None:
    class Twin(Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    seen: list[Any] = []
    for create in (False, True):
        a, b = t(1.0, 2.0), t(3.0, 4.0)
        y, z = a * 1, b * 1
        for one in (a, y, z):
            one.register_hook(seen.append)
        y.retain_grad()
        z.retain_grad()
        seed = tensor([1.0, 1.0])
        backward([Twin.apply(y, z) * tensor([2.0, 3.0]), Twin.apply(a, b)], [seed, seed], create_graph=create)
        found = [seed, a.grad, b.grad, y.grad, z.grad, *grad(y + z, [y, z], seed), *seen]
        for i, one in enumerate(found):
            assert one.numpy().flags.writeable
            assert not any(np.shares_memory(one.numpy(), other.numpy()) for other in found[:i]), i
        seen.clear()


def test_gradients_can_be_written() -> None:
    for create in (False, True):
        x = t(1.0, 2.0)
        y = x * 2
        y.retain_grad()
        y.sum().backward(create_graph=create)
        with weft.no_grad():
            x.grad.zero_()
            y.grad.zero_()
    y = x * 2
    grad(y.sum(), y)[0].zero_()


def test_a_gradient_that_is_no_tensor_is_refused() -> None:
    x = t(1.0, 2.0)
    x.grad = np.zeros(2)
    with pytest.raises(TypeError, match="grad holds a tensor or None, not ndarray"):
        x.sum().backward()
    x.grad = tensor([1.0, 2.0, 3.0])
    with pytest.raises(AutogradError, match=r"\.grad has shape \(3,\), the tensor \(2,\)"):
        x.sum().backward()


def test_what_depends_on_a_shape_alone_is_a_constant() -> None:
    x = t(1.0, 2.0)
    for made in (weft.zeros_like(x), np.ones_like(x), weft.full_like(x, 3.0), weft.empty_like(x), weft.randn_like(x)):
        assert not made.requires_grad and made.is_leaf
    value = t(2.0)[0]
    full = weft.full_like(x, value)
    assert full.requires_grad and [type(source).__name__ for source in full.grad_fn.origins()] == ["Step"]


def test_bad_arguments_are_named() -> None:
    x = t(1.0, 2.0)
    y = (x * x).sum()
    wrong: Any = 1.0
    with pytest.raises(TypeError, match="grad: outputs are tensors; got float"):
        grad(wrong, x)
    with pytest.raises(TypeError, match="grad: inputs are tensors; got float"):
        grad(y, wrong)
    with pytest.raises(TypeError, match="backward: inputs are tensors; got ndarray"):
        y.backward(inputs=[np.ones(2)])  # type: ignore[list-item]  # on purpose
    with pytest.raises(AutogradError, match="backward: input 1 does not require a gradient"):
        y.backward(inputs=[x, tensor([1.0])])
    with pytest.raises(AutogradError, match="a tensor of float64 got a complex gradient"):
        (x * x).backward(np.array([1j, 1.0]))
    with pytest.raises(TypeError, match="a hook is a function of the gradient, not int"):
        x.register_hook(wrong if callable(wrong) else 3)  # type: ignore[arg-type]  # on purpose
    assert x.grad is None


# --- hooks ---


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("leaf", [False, True])
def test_hooks_return_gradients_that_fit(leaf: bool, create: bool) -> None:
    def run(hook: Any) -> Any:
        x = tensor(np.float32([1.0, 2.0]), requires_grad=True)
        y = x * 1
        (x if leaf else y).register_hook(hook)
        (y * y).sum().backward(create_graph=create)
        return x.grad

    with pytest.raises(AutogradError, match=r"a hook returned a gradient of shape \(\), not \(2,\)"):
        run(lambda g: g.sum())
    with pytest.raises(AutogradError, match="a hook returned a complex gradient for a tensor of float32"):
        run(lambda g: g * 1j)
    taken = run(lambda g: np.array([5.0, 6.0]))
    assert taken.tolist() == [5.0, 6.0] and taken.dtype == np.float32


def test_a_hook_that_writes_its_gradient_changes_that_one_alone() -> None:
    x = t(1.0, 2.0)
    y, z = x * 1, x * 10
    y.register_hook(lambda g: g.mul_(2))
    z.register_hook(lambda g: None)
    seed = np.ones(2)
    (y + z).backward(seed)
    assert x.grad.tolist() == [12.0, 12.0] and seed.tolist() == [1.0, 1.0]


# --- memory ---


def _write(x: Any) -> None:
    y = x * 2
    y.mul_(3)
    (y * y).sum().backward()


def _write_a_view(x: Any) -> None:
    y = x * 2
    y[1:] *= 3
    weft.split(y, 3)[0].sin_()
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.sum().backward()


def _check_again(x: Any) -> None:
    y = x * 2
    (checkpoint(lambda z: z.exp().sum(), y * 0.1) + np.concatenate([y, x]).sum()).backward()


def _differentiate_twice(x: Any) -> None:
    (g,) = grad((x.exp() * x).sum(), x, create_graph=True)
    g.sum().backward()


@pytest.mark.parametrize("work", [_write, _write_a_view, _check_again, _differentiate_twice])
def test_nothing_is_left_for_the_collector(work: Any) -> None:
    x = t(1.0, 2.0, 3.0)
    work(x)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(50):
            work(x)
        assert len(gc.get_objects()) - before < 30
    finally:
        gc.enable()


# --- threads ---


def test_leaves_shared_by_threads_are_one_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads meet where a tensor gets its place on the tape."""
    from weft.autograd import _tensor

    both = threading.Barrier(2, timeout=5)

    class Slow(_tensor.AccumulateGrad):  # type: ignore[misc]  # for this test alone
        def __init__(self, of: Any) -> None:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.2)
            super().__init__(of)

    monkeypatch.setattr(_tensor, "AccumulateGrad", Slow)
    x = t(1.0)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(x._source())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] is found[1]


def test_threads_add_to_one_gradient() -> None:
    w = t(0.0)

    def work() -> None:
        for _ in range(300):
            (w * 1.0).backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.grad.item() == 1200.0


# --- writes that are allowed ---


def test_a_quotient_may_be_written() -> None:
    x = t(1.0, 2.0)
    y = x / x.sum()
    y *= 3
    (y * tensor([1.0, 2.0])).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.array([1 / 3 - 5 / 9, 2 / 3 - 5 / 9]))


def test_contiguous_is_a_copy_where_it_lies_otherwise_in_memory() -> None:
    x = tensor(np.arange(4.0).reshape(2, 2), requires_grad=True)
    y = x * 1
    assert y.contiguous() is y
    laid = y.T.contiguous()
    assert laid.numpy().flags.c_contiguous
    laid *= 2
    assert y.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    (laid * tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [[2.0, 6.0], [4.0, 8.0]]


def test_cumulative_methods_take_their_axis_by_position() -> None:
    x = tensor(np.arange(1.0, 5.0).reshape(2, 2))
    assert x.cumsum(0).tolist() == [[1.0, 2.0], [4.0, 6.0]]
    assert x.cumprod(dim=1).tolist() == [[1.0, 2.0], [3.0, 12.0]]


def test_checkpoint_with_a_leaf_that_was_let_go() -> None:
    x, w = t(1.0, 2.0), t(3.0, 4.0)
    y = checkpoint(lambda a: (a * w).exp().log() * a, x)
    w.requires_grad_(False)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 16.0] and w.grad is None


def test_dlpack_gives_no_negative_strides() -> None:
    class Sees:
        """Takes what a tensor gives, as another library would."""

        def __init__(self, of: Any, **options: Any) -> None:
            self.capsule, self.device = of.__dlpack__(**options), of.__dlpack_device__()

        def __dlpack__(self, **_: Any) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> Any:
            return self.device

    x = tensor([1.0, 2.0, 3.0])
    taken = np.from_dlpack(Sees(x[::-1]))
    assert taken.tolist() == [3.0, 2.0, 1.0] and taken.strides == (8,)
    assert np.shares_memory(np.from_dlpack(Sees(x[1:])), x.numpy())
    with pytest.raises(BufferError, match="without a copy"):
        x[::-1].__dlpack__(copy=False)
