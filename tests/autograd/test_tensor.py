"""`Tensor`: an array with methods that are ops, NumPy's protocols, torch's everyday names."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import weft
from weft.autograd import Parameter, Tensor, tensor
from weft.errors import AutogradError
from weft.ops import TABLE

A = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])


def same(result: Any, expected: Any) -> None:
    assert isinstance(result, Tensor), type(result)
    expected = np.asarray(expected)
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda t: t.relu(), np.maximum(A, 0)),
        (lambda t: t.sum(), A.sum()),
        (lambda t: t.sum(dim=1), A.sum(1)),
        (lambda t: t.sum(1, True), A.sum(1, keepdims=True)),
        (lambda t: t.mean(dim=(0, 1), keepdim=True), A.mean(keepdims=True)),
        (lambda t: t.max(axis=0), A.max(0)),
        (lambda t: t.amax(dim=1), A.max(1)),
        (lambda t: t.argmax(dim=1), A.argmax(1)),
        (lambda t: t.std(dim=0, unbiased=True), A.std(0, ddof=1)),
        (lambda t: t.cumsum(dim=1), A.cumsum(1)),
        (lambda t: t.softmax(dim=0), np.exp(A) / np.exp(A).sum(0)),
        (lambda t: t.clamp(-1, 1), A.clip(-1, 1)),
        (lambda t: t.clamp(min=0), A.clip(0)),
        (lambda t: t.clamp(max=0), A.clip(None, 0)),
        (lambda t: t.view(3, 2), A.reshape(3, 2)),
        (lambda t: t.view((-1,)), A.ravel()),
        (lambda t: t.reshape(1, 6), A.reshape(1, 6)),
        (lambda t: t.permute(1, 0), A.T),
        (lambda t: t.permute((-1, 0)), A.T),
        (lambda t: t.transpose(0, 1), A.T),
        (lambda t: t.transpose(-1, -2), A.T),
        (lambda t: t.t(), A.T),
        (lambda t: t.T, A.T),
        (lambda t: t.mT, A.T),
        (lambda t: t.unsqueeze(0), A[None]),
        (lambda t: t.unsqueeze(-1), A[..., None]),
        (lambda t: t.unsqueeze(1).squeeze(1), A),
        (lambda t: t.unsqueeze(0).unsqueeze(0).squeeze(), A),
        (lambda t: t.squeeze(0), A),
        (lambda t: t.flatten(), A.ravel()),
        (lambda t: t.unsqueeze(0).flatten(1), A.reshape(1, 6)),
        (lambda t: t.unsqueeze(0).expand(4, -1, 3), np.broadcast_to(A, (4, 2, 3))),
        (lambda t: t.float(), A.astype(np.float32)),
        (lambda t: t.half().double(), A),
        (lambda t: t.long(), A.astype(np.int64)),
        (lambda t: t.int(), A.astype(np.int32)),
        (lambda t: t.bool(), A.astype(bool)),
        (lambda t: t.to("cpu").to("float32").type_as(t), A),
        (lambda t: t.mul(2).sub(1).div(3).neg(), -(A * 2 - 1) / 3),
        (lambda t: t.mm(t.t()), A @ A.T),
        (lambda t: t.eq(1), A == 1),
        (lambda t: t.masked_fill(t > 2, 0.0), np.where(A > 2, 0, A)),
        (lambda t: t.where(t > 0, 9.0), np.where(A > 0, A, 9)),
        (lambda t: t.index_select(1, np.array([2, 0])), A[:, [2, 0]]),
        (lambda t: t.gather(1, np.array([[2], [0]])), [[3.0], [4.0]]),
        (lambda t: t.contiguous().clone().detach().data, A),
        (lambda t: t[1, ::2], A[1, ::2]),
        (lambda t: t[t > 0], A[A > 0]),
        (lambda t: t.real, A),
    ],
)
def test_methods(call: Any, expected: Any) -> None:
    same(call(tensor(A)), expected)


def test_operators_with_arrays_scalars_and_tensors() -> None:
    t, u = tensor(A), tensor(A + 1)
    for result, expected in [
        (t + u, A + A + 1),
        (1 - t, 1 - A),
        (t / 2, A / 2),
        (2**t, 2**A),
        (t // 2, A // 2),
        (t % 2, A % 2),
        (t @ A.T, A @ A.T),
        (A @ t.T, A @ A.T),
        (A * t, A * A),
        (np.float64(2) * t, 2 * A),
        (-t, -A),
        (abs(t), abs(A)),
        (t == A, A == A),
        (t != 1, A != 1),
        (t <= 1, A <= 1),
        (np.greater(A, t), A > A),
    ]:
        same(result, expected)
    same(tensor(np.float32([1, 2])) * 2.5, np.float32([2.5, 5]))  # a Python scalar never promotes


def test_every_op_with_an_array_first_is_a_method() -> None:
    t = tensor(np.ones((2, 2)))
    reserved = {"split", "where"}  # `where` has torch's order of arguments as a method
    for op in TABLE.values():
        first = next(iter(op.__signature__.parameters), None)
        plain = op.arrays and first == op.arrays[0] and first not in ("arrays", "operands")
        if plain and op.name not in reserved and "." not in op.name:
            assert callable(getattr(t, op.name)) or op.name in ("real", "imag"), op.name
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'concat'"):
        _ = t.concat
    with pytest.raises(AttributeError, match="no attribute 'zeros'"):
        _ = t.zeros


def test_size_is_a_number_and_a_method() -> None:
    t = tensor(A)
    assert t.size == 6 and t.size() == (2, 3) and t.size(-1) == 3 and t.numel() == 6 and t.dim() == t.ndim == 2
    assert t.device == "cpu" and t.shape == (2, 3)


def test_several_results() -> None:
    q, r = weft.linalg.qr(tensor(A.T))
    same(q @ r, A.T)
    result = weft.linalg.eigh(tensor(np.eye(2)))
    assert type(result)._fields and isinstance(result.eigenvalues, Tensor)
    parts = tensor(A).unbind(0)
    assert [p.tolist() for p in parts] == A.tolist()


def test_numpy_functions() -> None:
    t = tensor(A)
    same(np.sin(t), np.sin(A))
    same(np.add(A, t), A + A)
    same(np.sum(t, axis=0), A.sum(0))
    same(np.concatenate([t, A]), np.concatenate([A, A]))
    assert np.allclose(t, A) and np.array_equal(t, A) and np.shape(t) == (2, 3)
    with pytest.raises(TypeError, match=r"numpy.polymul has no weft op, so it does not take a Tensor; pass t.numpy"):
        np.polymul(t, t)
    with pytest.raises(TypeError, match=r"np\.add with where has no weft op"):
        np.add(t, 1, where=False)
    same(np.add.reduce(t), A.sum(0))
    with pytest.raises(TypeError, match=r"np\.subtract\.reduce has no weft op"):
        np.subtract.reduce(t)


def test_leaving_for_numpy_and_python() -> None:
    t = tensor(A)
    assert np.asarray(t) is t.numpy() and np.from_dlpack(t).tolist() == A.tolist()
    assert np.asarray(t, np.float32).dtype == np.float32 and np.array(t) is not t.numpy()
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(t, np.float32, copy=False)
    one = tensor(2.5)
    assert (float(one), int(one), complex(one), one.item(), bool(one)) == (2.5, 2, 2.5 + 0j, 2.5, True)
    assert [10, 20, 30][tensor(1)] == 20 and f"{one:.2f}" == "2.50" and f"{tensor([1.0])}" == "tensor([1.])"
    assert len(t) == 2 and [row.tolist() for row in t] == A.tolist() and 5.0 in t and 7.0 not in t
    for call in (len, iter):
        with pytest.raises(TypeError, match="no dimensions"):
            call(one)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(t)
    assert t.tolist() == A.tolist()


def test_construction() -> None:
    data = np.ones(2)
    assert tensor(data).numpy() is not data and Tensor(data).numpy() is data
    assert tensor([1, 2]).dtype == np.int64 and tensor([1.0]).dtype == np.float64
    assert tensor([tensor(1.0), tensor(2.0)]).tolist() == [1, 2]
    assert tensor([1, 2], dtype="float32").dtype == np.float32
    assert tensor([1.0], requires_grad=True).requires_grad
    with pytest.raises(TypeError, match="this one is int64"):
        tensor([1], requires_grad=True)
    with pytest.raises(TypeError, match="holds booleans or numbers"):
        Tensor(["a"])
    shared = tensor([1.0])
    shared.data.numpy()[0] = 5
    assert shared.item() == 5
    shared.data = tensor([7.0, 8.0])
    assert shared.tolist() == [7, 8]
    assert shared.requires_grad_().requires_grad and not shared.detach().requires_grad


def test_parameter() -> None:
    p = Parameter(np.ones(2, np.float32))
    assert p.requires_grad and p._is_parameter and not (p * 1)._is_parameter
    assert type(p + 1) is Tensor
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], dtype=float32, requires_grad=True)"
    assert not Parameter([1, 2], requires_grad=False).requires_grad


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies(duplicate: Any) -> None:
    p = Parameter([1.0, 2.0])
    p.grad = tensor([3.0, 4.0])
    p.note = "kept"
    twin = duplicate(p)
    assert type(twin) is Parameter and twin is not p and twin.requires_grad and twin.note == "kept"
    assert twin.tolist() == [1, 2] and twin.grad.tolist() == [3, 4]
    if duplicate is copy.deepcopy:
        assert twin.numpy() is not p.numpy() and twin.grad is not p.grad
        assert copy.deepcopy([p, p])[0] is not p and len({id(t) for t in copy.deepcopy([p, p])}) == 1


def test_hash_is_identity() -> None:
    t = tensor([1.0])
    assert {t: 1}[t] == 1 and hash(t) != hash(t.clone())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([1.0, 2.0], "tensor([1., 2.])"),
        (np.float32([0.5, 2]), "tensor([0.5000, 2.0000], dtype=float32)"),
        ([1, 2], "tensor([1, 2])"),
        (np.int32([1]), "tensor([1], dtype=int32)"),
        ([True], "tensor([ True])"),
        (3.5, "tensor(3.5000)"),
        ([], "tensor([])"),
        (np.zeros((0, 3)), "tensor([], size=(0, 3))"),
        ([[1.0, 2.0], [3.0, 4.0]], "tensor([[1., 2.],\n        [3., 4.]])"),
    ],
)
def test_repr(value: Any, text: str) -> None:
    assert repr(tensor(value)) == text


def test_spec_has_the_methods_too() -> None:
    spec = weft.spec((2, 3), "float32")
    assert spec.relu().sum(dim=1, keepdim=True) == weft.spec((2, 1), "float32")
    assert spec.view(-1).long() == weft.spec(6, "int64") and spec.size(0) == 2 and spec.size == 6
    assert tensor(A) @ weft.spec((3, 5)) == weft.spec((2, 5))


def test_forgetting_and_retaining() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    assert y.retains_grad and not (x * 2).retains_grad and not x.retains_grad
    assert y.detach_() is y and y.is_leaf and not y.requires_grad and y.grad_fn is None
    with pytest.raises(AutogradError, match="a view cannot forget"):
        (x * 2)[:1].detach_()


def test_a_list_of_recorded_tensors_warns_that_it_forgets_them() -> None:
    a = weft.tensor([1.0, 2.0], requires_grad=True)
    for data in ([a[0], a[1] * 2], [0.0, a[1]], ([1.0], (a[1],)), [[1.0], [a.sum()]]):
        with pytest.warns(UserWarning, match=r"tensor: .*weft\.stack keeps") as caught:
            weft.tensor(data)
        assert caught[0].filename == __file__
    weft.tensor([a[0].detach(), a[1].item()]), weft.tensor(a), weft.tensor([1.0, 2.0])
    with weft.no_grad():
        weft.tensor([a[0], a[1]])
