"""Writes in place: values as NumPy's, derivatives through them, and refusals where a derivative would be wrong."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft import tensor
from weft.autograd import Function, gradgradcheck, numerical_diff
from weft.errors import AutogradError, DtypeError, ShapeError

Program = Callable[[Any, Any], Any]


def base(x: Any) -> Any:
    """A computed tensor with memory of its own."""
    return x * 1.5


def item(x: Any, w: Any) -> Any:
    y = base(x)
    y[1] = w[0] * 2
    return y * y


def item_by_mask(x: Any, w: Any) -> Any:
    y = base(x)
    y[weft.tensor([[True, False, True], [False, True, False]])] = w[0]
    return y.sin()


def item_by_integers(x: Any, w: Any) -> Any:
    y = base(x)
    y[np.array([0, 1, 0]), np.array([2, 0, 2])] = w[:1].reshape(-1)[:3] * 3  # one place twice: the last one stays
    return y * y


def augmented(x: Any, w: Any) -> Any:
    y = base(x)
    y += w
    y *= w
    y -= 1
    y /= w + 3
    y **= 2
    return y


def augmented_item(x: Any, w: Any) -> Any:
    y = base(x)
    y[0] *= w[1]
    y[:, 1] += y[:, 0]
    return y * w


def methods(x: Any, w: Any) -> Any:
    y = base(x)
    y.mul_(w).add_(w, alpha=0.5).sub_(2, alpha=3).exp_().sqrt_().clamp_(0.1, 2.0).addcmul_(w, w, value=2).tanh_()
    return y


def by_itself(x: Any, w: Any) -> Any:
    y = base(x)
    y.mul_(y)
    y += y.T.reshape(2, 3)
    return y * w


def through_a_view(x: Any, w: Any) -> Any:
    y = base(x)
    part = y[1:, ::2]
    part *= w[:1, :2]
    return y * y + part.sum()


def through_views_of_views(x: Any, w: Any) -> Any:
    y = base(x)
    flat = y.reshape(-1)
    turned = flat[::-1]
    turned[1:3] = w[0, :2] * y[0, 0]
    return flat * turned + y.T.reshape(-1)


def seen_by_other_views(x: Any, w: Any) -> Any:
    y = base(x)
    first, second, across = y[0], y[1], y.T
    first *= w[0]
    kept = second * 2
    y += 1
    second.mul_(3)
    return kept + across.T + first * second


def through_one_of_several(x: Any, w: Any) -> Any:
    y = base(x)
    left, _, right = weft.split(y, 3, axis=1)
    left.mul_(w[:, :1])
    return y * right.exp()


def into_zeros(x: Any, w: Any) -> Any:
    out = weft.tensor(np.zeros((3, 2)))
    rows = [out[i] for i in range(3)]
    for i in range(3):
        out[i] = x[:, i] * w[:, i]
        if i:
            out[i] += out[i - 1]
    return rows[2] * rows[1] + out.sum()


def whole(x: Any, w: Any) -> Any:
    y = base(x)
    z = y * 2
    y.copy_(w)
    y[0].fill_(x[0, 0])
    y[1, 1:].zero_()
    return y * z


def rows(x: Any, w: Any) -> Any:
    y = base(x)
    for row in y:
        row += w[0]
    return y * y


def by_numpy(x: Any, w: Any) -> Any:
    y = base(x)
    np.multiply(y, w, out=y)
    return y.cos()


def recurrence(x: Any, w: Any) -> Any:
    out = weft.tensor(np.zeros((4, 3)))
    out[0] = x[0]
    for i in range(1, 4):
        out[i] = (out[i - 1] * w[0]).sin() + out[i - 1, 0] * out[0, 1]
    flat = weft.tensor(np.ones(5))
    for i in range(2, 5):
        flat[i] = flat[i - 1] * flat[i - 2] * x[1, 0]
    return out.sum() * flat


def disjoint_parts(x: Any, w: Any) -> Any:
    y = base(x)
    product = y[:, ::2] * y[0, 1]
    y.reshape(-1)[4] = w[0, 0]
    y[1:, 1:2] *= w[1, 1]
    return product.sum() * y


PROGRAMS = [recurrence, disjoint_parts, item, item_by_mask, item_by_integers, augmented, augmented_item, methods]
PROGRAMS += [by_itself, through_a_view]
PROGRAMS += [through_views_of_views, seen_by_other_views, through_one_of_several, into_zeros, whole, rows, by_numpy]
X, W = np.random.default_rng(5).uniform(0.4, 1.6, (2, 2, 3))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_through_writes(program: Program) -> None:
    x, w = tensor(X, requires_grad=True), tensor(W, requires_grad=True)
    value = program(x, w)
    value.sum().backward()
    with weft.no_grad():
        np.testing.assert_array_equal(program(tensor(X), tensor(W)).numpy(), value.numpy())
    for leaf, other in ((x, 0), (w, 1)):
        expected = numerical_diff(program, X, W)[other]
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_second_derivatives_through_writes(program: Program) -> None:
    assert gradgradcheck(program, (tensor(X, requires_grad=True), tensor(W, requires_grad=True)))


def test_writes_without_a_tape_are_numpys() -> None:
    t, a = tensor(X), X.copy()
    for x in (t, a):
        x[0, 1] = 7
        x[:, 0] += x[:, 2]
        x *= 2
        x -= x[0]
        x[x > 1] = -1.5
        x[np.array([1, 1]), 2] = np.array([4.0, 5.0])
    np.testing.assert_array_equal(t.numpy(), a)
    whole = tensor([6, 7, 8])
    whole //= 2
    whole %= 3
    whole <<= 3
    whole |= 1
    whole ^= 3
    whole &= 14
    assert whole.tolist() == [2, 2, 10]
    assert tensor([1, 2]).zero_().dtype == np.int64


def test_memory_stays_the_same() -> None:
    array = np.ones(3)
    t = weft.Tensor(array)
    same, view = t, t[1:]
    t += 1
    t.mul_(3)
    t[0] = 4
    view -= 1
    assert same is t
    assert t.numpy() is array
    assert array.tolist() == [4, 5, 5]
    assert t.fill_(2) is t and t.copy_([1, 2, 3]) is t and t.zero_() is t
    assert view.tolist() == [0, 0]


def line_of(text: str) -> int:
    """The line of this file that holds a text marked with a comment."""
    with open(__file__, encoding="utf-8") as file:
        return 1 + next(i for i, line in enumerate(file) if line.rstrip().endswith(f"# {text}"))


def names_both(error: pytest.ExceptionInfo[AutogradError], used: str, written: str) -> None:
    text = str(error.value)
    assert re.search(rf"used at .*test_inplace.py:{line_of(used)}: ", text), text
    assert re.search(rf"written at .*test_inplace.py:{line_of(written)}: ", text), text


def test_a_needed_value_that_was_written_raises_with_both_lines() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y  # needed
    y[0] = 5.0  # written
    with pytest.raises(AutogradError, match="the gradient of multiply needs its x1") as error:
        z.sum().backward()
    names_both(error, "needed", "written")
    assert x.grad is None


def test_a_needed_result_that_was_written_raises() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()  # result needed
    y.add_(1)  # result written
    with pytest.raises(AutogradError, match="the gradient of exp needs its result") as error:
        y.sum().backward()
    names_both(error, "result needed", "result written")


@pytest.mark.parametrize("write", ["view", "view of view", "detached", "no_grad", "numpy view", "method"])
def test_writes_are_seen_whoever_shares_the_memory(write: str) -> None:
    w = tensor([3.0, 4.0, 5.0])
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    view = w[1:]
    y = (x * w).sum()
    if write == "view":
        view[0] = 0
    elif write == "view of view":
        view.reshape(2, 1)[1:].zero_()
    elif write == "detached":
        w.detach().mul_(2)
    elif write == "no_grad":
        with weft.no_grad():
            w += 1
    elif write == "numpy view":
        weft.Tensor(w.numpy()[:1])[0] = 1
    else:
        w.copy_(x.detach())
    with pytest.raises(AutogradError, match="needs its x2, whose values were written in place since"):
        y.backward()


def test_values_that_were_replaced_are_still_known() -> None:
    w = tensor([3.0, 4.0], requires_grad=True)
    x = tensor([1.0, 2.0], requires_grad=True)
    y = (x * w).sum()
    w.data = np.zeros(2)
    y.backward()
    assert x.grad.tolist() == [3.0, 4.0]
    view = (x * 2)[:1]
    view.data = np.ones(1)
    view *= x[1:]
    view.sum().backward()
    assert x.grad.tolist() == [7.0, 5.0]


def test_values_that_are_not_needed_may_be_written() -> None:
    x = tensor(X, requires_grad=True)
    w = tensor(W)
    y = x * 3
    total = y.sum() + (y + w).mean() + y.reshape(-1)[2] + weft.concat([y, w]).sum() + weft.where(w > 1, y, w).sum()
    y.zero_()
    w.zero_()
    total.backward()
    expected = 3 * (1 + 1 / 6 + 1 + (W > 1))
    expected[0, 2] += 3
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_a_write_before_the_use_does_no_harm() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    w = tensor([1.0, 1.0])
    w += 1
    y = x * w
    other = tensor([0.0])
    other += 1
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_parameter_changed_between_forward_and_backward_raises() -> None:
    w = weft.Parameter([2.0])
    x = tensor([3.0], requires_grad=True)
    y = x * w
    with weft.no_grad():
        w -= 0.1
    with pytest.raises(AutogradError, match="written in place"):
        y.backward()
    (x * w).backward()
    assert w.grad.tolist() == [3.0]


def test_leaves_that_require_gradients_are_not_written() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    view = x[1:]
    with pytest.raises(AutogradError, match="this tensor is a leaf that requires its gradient"):
        x += 1
    with pytest.raises(AutogradError, match="this tensor is a leaf"):
        x[0] = 1
    with pytest.raises(AutogradError, match="what this tensor is a view of is a leaf"):
        view.zero_()
    assert x.tolist() == [1.0, 2.0]
    with weft.no_grad():
        x += 1
        x[0] = 9
        view.zero_()
    assert x.tolist() == [9.0, 0.0]
    assert x.is_leaf and x.requires_grad


def test_a_view_made_without_recording_is_not_written_with_it() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with weft.no_grad():
        view = y[:1]
    with pytest.raises(AutogradError, match="made without recording"):
        view += 1
    with weft.no_grad():
        view += 1
    assert y.tolist() == [3.0, 4.0]


def test_a_leaf_view_that_was_overwritten_says_so() -> None:
    x = tensor([1.0, 2.0])
    leaf = x[:1].requires_grad_()
    x[0] = tensor(3.0, requires_grad=True)
    with pytest.raises(AutogradError, match="a leaf that requires its gradient was overwritten"):
        leaf * 2


def test_what_does_not_fit_is_refused_and_nothing_changes() -> None:
    t = tensor([1, 2, 3])
    with pytest.raises(DtypeError, match="add: the result of float64 does not fit into a tensor of int64"):
        t += 1.5
    with pytest.raises(ShapeError, match=r"multiply: the result of shape \(2, 3\) does not fit into .* \(3,\)"):
        t *= np.ones((2, 3), int)
    with pytest.raises(ShapeError, match="index_update: a value of shape"):
        t[:2] = [1, 2, 3]
    with pytest.raises(IndexError):
        t[7] = 1
    with pytest.raises(DtypeError, match="cannot hold a value that requires its gradient"):
        t[0] = tensor(2.0, requires_grad=True)
    with pytest.raises(ShapeError, match="fill_: expected a single number"):
        t.fill_([1, 2, 3])
    with pytest.raises(ValueError, match=r"write to t.clone\(\)"):
        tensor([1.0]).expand(3).add_(1)
    with pytest.raises(TypeError, match="being captured"):
        weft.symbolic_trace(lambda x: t.copy_(x))
    assert t.tolist() == [1, 2, 3]


def test_writing_through_a_part_of_a_complex_number_is_refused() -> None:
    x = tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * 2
    with pytest.raises(AutogradError, match=r"writing through imag\(\)"):
        y.imag.zero_()
    plain = tensor([1 + 2j])
    plain.imag.zero_()
    assert plain.tolist() == [1 + 0j]


def test_integers_take_numbers_by_assignment_as_in_numpy() -> None:
    t = tensor([1, 2])
    t[0] = 7.9
    assert t.tolist() == [7, 2]


def test_numpys_out() -> None:
    array = np.ones(2)
    array += tensor([1.0, 2.0])
    assert array.tolist() == [2.0, 3.0]
    with pytest.raises(AutogradError, match="the derivative would be lost"):
        array += tensor([1.0, 2.0], requires_grad=True)
    t = tensor([4.0, 9.0])
    assert np.sqrt(t, out=t) is t
    assert t.tolist() == [2.0, 3.0]


def test_a_function_that_writes_its_argument() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    part = y[:1]
    assert Double.apply(part) is part
    (y * 3).sum().backward()
    assert x.grad.tolist() == [12.0, 12.0]


def test_saved_tensors_that_were_written_raise() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = Square.apply(y)  # saved
    y += 1  # saved written
    with pytest.raises(AutogradError, match="backward of Square reads a saved tensor") as error:
        z.sum().backward()
    names_both(error, "saved", "saved written")


def test_views_are_tensors_like_others() -> None:
    import copy
    import pickle

    x = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    view = (x * 2)[0]
    assert isinstance(view, weft.Tensor) and not view.is_leaf and repr(view).startswith("tensor([2., 4.]")
    for copied in (pickle.loads(pickle.dumps(tensor([1.0, 2.0])[1:])), copy.deepcopy(tensor([1.0, 2.0])[1:])):
        assert type(copied) is weft.Tensor and copied.tolist() == [2.0]
    view.retain_grad()
    seen = []
    view.register_hook(seen.append)
    view.sum().backward()
    assert view.grad.tolist() == [1.0, 1.0] and len(seen) == 1


def test_writes_leave_nothing_behind() -> None:
    array = np.ones(4)
    gone = weakref.ref(array)
    t = weft.Tensor(array)
    t += 1
    del t, array
    assert gone() is None

    def steps() -> int:
        gc.collect()
        return sum(type(one).__name__ in ("Step", "Overwrite", "View") for one in gc.get_objects())

    before = steps()
    x = tensor(X, requires_grad=True)
    for program in PROGRAMS:
        program(x, x)
        program(x, x).sum().backward()
    x.grad = None
    assert steps() == before


def test_a_long_row_of_writes_is_not_quadratic_in_views() -> None:
    """Each write makes other views find out when they are used next, not all of them at once."""
    x = tensor(np.ones((300, 2)), requires_grad=True)
    y = x * 1
    for row in list(y):
        row *= 2
    y.sum().backward()
    assert (x.grad.numpy() == 2).all()


def test_random_numbers_in_place() -> None:
    weft.manual_seed(2)
    t = tensor(np.zeros((50, 40), np.float32))
    normal, uniform = t.clone().normal_(5, 0.5), t.clone().uniform_(2, 3)
    exponential, coins = t.clone().exponential_(4), tensor(np.zeros(2000, int)).bernoulli_(0.25)
    assert abs(normal.mean().item() - 5) < 0.05 and abs(normal.std().item() - 0.5) < 0.05
    assert 2 <= uniform.min().item() < 2.01 and 2.99 < uniform.max().item() <= 3
    assert abs(exponential.mean().item() - 0.25) < 0.02
    assert normal.dtype == uniform.dtype == exponential.dtype == np.float32
    assert coins.dtype == np.int64 and set(coins.tolist()) == {0, 1} and abs(coins.numpy().mean() - 0.25) < 0.04
    weft.manual_seed(2)
    np.testing.assert_array_equal(t.clone().normal_(5, 0.5).numpy(), normal.numpy())


def test_a_view_that_caught_up_keeps_its_history() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    view = y[1:]
    y *= 3
    view.retain_grad()
    seen: list[Any] = []
    view.register_hook(lambda g: seen.append(g.tolist()))
    assert view.grad_fn is view.grad_fn
    (view * 2).sum().backward()
    assert view.grad.tolist() == [2.0] and seen == [[2.0]] and x.grad.tolist() == [0.0, 6.0]


def test_a_write_of_another_precision_has_a_gradient_of_its_own() -> None:
    x = tensor(np.ones(2, np.float32), requires_grad=True)
    w = tensor([2.0, 3.0], requires_grad=True)
    y = x * 1
    y *= w
    assert y.dtype == np.float32
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.dtype))
    y.sum().backward()
    assert seen == [np.float32] and x.grad.dtype == np.float32 and w.grad.dtype == np.float64


@pytest.mark.parametrize("key", [1, -2, np.int64(1)])
def test_one_element_is_a_view(key: Any) -> None:
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y[key].mul_(x[0])
    assert tensor([[1, 2], [3, 4]])[1, 0].item() == 3 and tensor([5.0])[0].shape == ()
    (y * y).sum().backward()
    assert y.tolist() == [1.0, 2.0, 3.0] and x.grad.tolist() == [2.0 + 8.0, 4.0, 6.0]
    plain = tensor([[1, 2], [3, 4]])
    plain[0, 1].zero_()
    assert plain.tolist() == [[1, 0], [3, 4]]
    for each in plain[1]:
        each += 1
    assert plain.tolist() == [[1, 0], [4, 5]]


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_only_the_part_that_was_written_counts(dtype: Any) -> None:
    y = tensor(np.ones((4, 5), dtype), requires_grad=True) * 1
    beside, across, inside = y[:, :2] * y[:, :2], y[::-1, 3] * y[:, 4], y.T[1:3, 2] * y[1, 1]
    y[np.array([0, 2]), 2] = 3  # by integers, which give no view
    beside.sum().real.backward(retain_graph=True)
    across.sum().real.backward(retain_graph=True)
    with pytest.raises(AutogradError, match="written in place") as error:
        inside.sum().real.backward(retain_graph=True)
    assert f":{line_of('by integers, which give no view')}: " in str(error.value)
    y[y.real > 2] = 0
    across.sum().real.backward(retain_graph=True)
    y += 1
    with pytest.raises(AutogradError, match="written in place"):
        across.sum().real.backward()


def test_lines_that_write_are_told_apart() -> None:
    y = tensor(np.ones(6), requires_grad=True) * 1
    squares = [y[i : i + 1] * y[i : i + 1] for i in range(3)]
    for _ in range(3):
        y[0] = 2.0  # the first line
        y[1] = 3.0  # the second line
    for i, line in enumerate(["the first line", "the second line"]):
        with pytest.raises(AutogradError) as error:
            squares[i].sum().backward()
        assert re.search(rf"written at .*:{line_of(line)}: ", str(error.value))
    squares[2].sum().backward()
