"""The names a torch user writes every day: the same call on weft and on torch, values and gradients.

Each line of `CALLS` is evaluated with `lib` (weft or torch) and the tensors of `_names`. What means something else in
weft, because NumPy and the array API have the name too, is in `DIFFERENT`, with what to write; docs/torch.md lists it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from like_torch import TOLERANCE

import weft

torch.set_num_threads(1)  # the arrays are small: threads would only wait for each other

# x, y: (3, 4); p: (3, 4) in (0.05, 0.95); v, w: (4,); m: (4, 4), invertible; b: (2, 3, 4); c: (2, 4, 5); s: a number;
# mask: (3, 4) of booleans; i: (3, 2) and j: (3,) of indices below 3; n: (6,) of small integers.
CALLS = """
lib.nn.utils.rnn.pad_sequence([v, v[:2], w[1:]]) | lib.nn.utils.rnn.pad_sequence([x, x[:1]], batch_first=True)
lib.nn.utils.rnn.pad_sequence([x, x[:1]], True, padding_value=-1.0, padding_side="left")
lib.nn.utils.rnn.unpad_sequence(x, lib.tensor(COUNTS), batch_first=True)
lib.nn.utils.rnn.unpad_sequence((x * 1)[:, :3], lib.tensor(COUNTS)) | x.abs() | x.absolute() | x.neg() | x.sign()
x.sgn() | x.square() | p.sqrt() | p.rsqrt() | x.reciprocal() | x.exp() | x.exp2() | x.expm1() | p.log() | p.log2()
p.log10() | p.log1p() | x.sin() | x.cos() | x.tan() | x.asinh() | x.atan() | p.asin() | p.acos() | p.atanh()
x.sinh() | x.cosh() | x.tanh() | x.sigmoid() | x.relu() | x.erf() | x.erfc() | p.logit() | p.logit(eps=0.2)
x.floor() | x.ceil() | x.round() | x.round(decimals=1) | x.trunc() | x.deg2rad() | x.rad2deg() | x.sinc()
x.softmax(1) | x.softmax(dim=0) | x.log_softmax(dim=-1) | x.isnan() | x.isinf() | x.isfinite() | x.signbit()
x.add(y) | x.add(y, alpha=2.5) | x.sub(y, alpha=0.5) | x.subtract(y) | x.mul(y) | x.multiply(y) | x.div(p)
x.divide(p) | x.true_divide(p) | x.div(p, rounding_mode="floor") | x.div(p, rounding_mode="trunc") | p.pow(2)
p.pow(exponent=y) | x.fmod(0.3) | x.remainder(0.3) | x.detach().floor_divide(0.3) | x.maximum(y) | x.minimum(y)
x.atan2(y) | x.hypot(y) | x.logaddexp(y) | x.copysign(y) | x.lerp(y, 0.3) | x.lerp(y, p) | x.addcmul(y, p, value=0.5)
x.addcdiv(y, p, value=2) | x.clamp(-0.5, 0.5) | x.clamp(min=0.1) | x.clamp(max=0.2) | x.clip(-1, 1) | x.clamp_min(0.0)
x.clamp_max(0.1) | x.eq(y) | x.ne(y) | x.lt(y) | x.le(y) | x.gt(y) | x.ge(y) | x.greater(y) | x.less_equal(y)
x.isclose(y, atol=0.5) | x.allclose(x) | x.allclose(y) | (x > 0).logical_and(y > 0) | (x > 0).logical_not()
(x > 0).bitwise_not() | (x > 0).logical_or(y > 0) | (x > 0).logical_xor(y > 0) | n.bitwise_and(3) | n.bitwise_or(8)
n.bitwise_xor(1) | +x | -x | ~mask | mask & (x > 0) | mask.__or__(y > 0) | 1 - x | 2 / p | p**2 | 2**x
x.detach() // 0.3 | x % 0.3 | abs(x) | x @ m | x.sum() | x.sum(1) | x.sum(dim=0, keepdim=True) | b.sum((0, 2))
b.sum(dim=(0, 1), keepdim=True) | x.mean() | x.mean(1) | x.mean(-1, True) | x.prod() | x.prod(dim=1) | x.amax(dim=1)
x.amin(dim=1, keepdim=True) | x.max() | x.min() | x.argmax() | x.argmax(dim=1) | x.argmax(1, keepdim=True)
x.argmin(dim=0) | mask.all() | mask.any(dim=1) | mask.all(dim=0, keepdim=True) | x.var(dim=1, unbiased=False)
x.std(1, unbiased=True) | x.std(dim=0, correction=1) | x.var(dim=(0, 1), correction=1, keepdim=True)
x.logsumexp(dim=1) | x.logsumexp(1, keepdim=True) | x.norm() | x.norm(2) | x.norm(1) | x.norm(p=2, dim=1)
x.norm(p=float("inf"), dim=0, keepdim=True) | x.norm("fro") | x.norm(3, 1) | x.cumsum(0) | x.cumsum(dim=1)
x.cumprod(dim=1) | x.diff() | x.diff(dim=0) | mask.count_nonzero() | x.count_nonzero(dim=1) | x.quantile(0.3)
x.quantile(0.3, dim=1) | x.quantile(lib.tensor(Q), dim=1, keepdim=True) | x.dist(y) | x.dist(y, 1) | x.nansum()
x.nanmean(dim=1) | n.bincount() | n.bincount(minlength=9) | n.bincount(weights=six.detach())
x.detach().histc(5, -1, 1) | x.topk(2) | x.topk(2, dim=0, largest=False) | x.argsort(dim=1)
x.argsort(dim=0, descending=True) | n.unique() | n.unique(return_inverse=True) | n.unique(return_counts=True)
x.view(2, 6) | x.view(-1) | x.view((4, 3)) | x.reshape(4, -1) | x.view_as(y) | x.reshape_as(y) | x.flatten()
b.flatten(1) | b.flatten(start_dim=0, end_dim=1) | x.ravel() | x.unflatten(1, (2, -1)) | x.unsqueeze(0)
x.unsqueeze(-1) | x.unsqueeze(dim=1) | x.unsqueeze(0).squeeze() | x.unsqueeze(0).squeeze(0) | x.squeeze(0) | x.t()
x.T | b.mT | x.H | x.transpose(0, 1) | b.transpose(-2, -1) | b.permute(2, 0, 1) | b.permute((1, 2, 0))
b.permute(dims=(2, 1, 0)) | b.movedim(0, 2) | b.moveaxis((0, 1), (1, 2)) | b.swapaxes(0, 2) | b.swapdims(1, 2)
v.expand(3, 4) | x.expand(2, -1, -1) | v.expand_as(x) | v.broadcast_to((3, 4)) | x.tile(2, 1) | x.tile((2,))
x.repeat_interleave(2) | x.repeat_interleave(2, dim=1) | x.repeat_interleave(lib.tensor(COUNTS), dim=0) | x.flip(0)
x.flip(0, 1) | x.flip((1,)) | x.flip(dims=(0,)) | x.fliplr() | x.flipud() | x.roll(1, 0) | x.roll(shifts=2, dims=1)
x.roll((1, 2), (0, 1)) | x.roll(3) | x.rot90() | x.rot90(2, (0, 1)) | x.tril() | x.tril(diagonal=-1) | x.triu(1)
x.triu(diagonal=1) | x.diag() | v.diag() | v.diag(1) | x.diagonal() | x.diagonal(offset=1)
b.diagonal(0, dim1=1, dim2=2) | v.diag_embed() | x.diag_embed(1) | x.trace() | x.chunk(2, dim=1) | x.chunk(3)
x.split(2, dim=1) | x.split([1, 3], dim=1) | x.split(2) | x.unbind() | x.unbind(dim=1) | x.unbind(1)[0]
x.tensor_split(3, dim=1) | x.tensor_split((1, 2), dim=0) | x.narrow(1, 1, 2) | x.narrow(0, -2, 1) | x.select(1, 2)
x.select(0, -1) | v.unfold(0, 2, 1) | b.unfold(2, 3, 1) | b.unfold(1, 2, 1) | x[0] | x[:, 1:3] | x[..., -1] | x[mask]
x[j] | x[:, [0, 2]] | x[None] | x[j, j] | x[1:, ::2] | x[mask.any(dim=1)] | x.gather(1, i) | x.gather(0, i)
x.gather(dim=1, index=i[:2]) | x.take(j) | x.index_select(0, j) | x.index_select(dim=1, index=j)
x.masked_select(mask) | x.masked_fill(mask, -1.0) | x.masked_fill(mask[0], s) | x.where(mask, y) | x.where(mask, 0.0)
x.scatter(1, i, y[:, :2]) | x.scatter(1, i, y.detach()) | x.scatter(1, i, 2.5) | x.scatter(0, i[:2], y[:2, :2])
x.scatter(1, i, value=3.0) | x.scatter_add(1, i, y[:, 2:]) | x.scatter_add(0, i[:2], y[1:, :2]) | x.index_add(0, j, y)
x.index_add(1, j, y[:, :3], alpha=-0.5) | x.index_fill(1, j, 0.5) | x.index_copy(0, lib.tensor(ORDER), y)
x.index_put((j, j), s) | x.index_put((j,), y, accumulate=True) | x.take_along_dim(i, dim=1) | x.matmul(m) | x.mm(m)
b.bmm(c) | m.mv(v) | v.dot(w) | v.outer(w) | v.inner(w) | v.vdot(w) | v.kron(w) | b.matmul(m)
m.addmm(m, m, beta=0.5, alpha=2) | v.addmv(m, w) | m.addr(v, w, beta=2) | b @ c
(b @ c).baddbmm(b, c, beta=0.1, alpha=0.3) | m.det() | m.inverse() | m.pinverse() | m.slogdet() | m.matrix_power(2)
x[:, :3].cross(y[:, :3], dim=1) | x.dim() | x.ndim | x.numel() | x.nelement() | x.size(0) | x.size(-1)
tuple(x.size()) | tuple(x.shape) | x.element_size() | x.is_floating_point() | x.is_complex() | x.is_contiguous()
x.is_cuda | x.itemsize | x.nbytes | x.requires_grad | x.is_leaf | len(x) | x.tolist() | s.item() | float(s.detach())
int(s.detach()) | bool(s > 0) | x.stride() | [row.sum() for row in x] | x.is_signed() | x.float().double()
x.double() | n.long() | n.int() | n.short() | n.byte() | n.bool() | x.half().double() | x.to(lib.float32)
x.to("cpu") | x.to("cpu", lib.float64) | n.to(dtype=lib.float64) | n.to(x) | n.type_as(x) | n.type(lib.float64)
x.cpu() | x.clone() | x.detach() | x.contiguous() | x.data | x.detach().numpy() | x.new_zeros(2, 3) | x.new_ones((2,))
x.real | x.new_full((2, 2), 7.0) | x.new_tensor([1, 2]) | tuple(x.new_empty(2, 3).shape) | x.nan_to_num()
x.positive() | x.conj() | lib.cat([x, y]) | lib.cat((x, y), dim=1) | lib.concat([x, y], dim=-1) | lib.stack([x, y])
lib.stack([x, y], dim=1) | lib.hstack([x, y]) | lib.vstack([x, v]) | lib.chunk(x, 2, dim=1) | lib.unbind(x, dim=1)
lib.where(mask, x, y) | lib.where(mask, x, 0.0) | lib.sum(x, dim=1) | lib.mean(x, dim=0, keepdim=True)
lib.prod(x, dim=1) | lib.amax(x, dim=1) | lib.argmax(x, dim=1, keepdim=True) | lib.topk(x, 2, dim=1)
lib.softmax(x, dim=1) | lib.log_softmax(x, dim=1) | lib.logsumexp(x, dim=1) | lib.exp(x) | lib.log(p) | lib.tanh(x)
lib.sigmoid(x) | lib.relu(x) | lib.abs(x) | lib.sqrt(p) | lib.sin(x) | lib.square(x) | lib.maximum(x, y)
lib.minimum(x, y) | lib.clamp(x, -1, 1) | lib.clamp(x, min=0) | lib.clip(x, 0, 1) | lib.matmul(x, m) | lib.mm(x, m)
lib.bmm(b, c) | lib.mv(m, v) | lib.dot(v, w) | lib.outer(v, w) | lib.kron(v, w) | lib.einsum("ij,kj->ik", x, y)
lib.einsum("bij,bjk->bik", b, c) | lib.tensordot(x, y, 2) | lib.addmm(x[:, :1], x, m, alpha=0.5)
lib.baddbmm(b @ c, b, c) | lib.lerp(x, y, 0.25) | lib.reshape(x, (2, 6)) | lib.flatten(b, 1)
lib.flatten(b, start_dim=1) | lib.squeeze(x[None]) | lib.unsqueeze(x, 0) | lib.unsqueeze(x, dim=1)
lib.permute(b, (2, 0, 1)) | lib.t(x) | lib.numel(x) | lib.movedim(b, 0, 1) | lib.swapaxes(b, 0, 1)
lib.broadcast_to(v, (3, 4)) | lib.broadcast_tensors(x, v) | lib.tile(x, (2, 1)) | lib.repeat_interleave(x, 2, dim=0)
lib.flip(x, dims=(0,)) | lib.roll(x, shifts=1, dims=0) | lib.rot90(x, 1, (0, 1)) | lib.tril(x, diagonal=1)
lib.triu(x) | lib.diag(v) | lib.diagonal(x) | lib.diag_embed(v) | lib.cumsum(x, dim=1) | lib.cumprod(x, dim=0)
lib.diff(x, dim=1) | lib.gather(x, 1, i) | lib.scatter(x, 1, i, y[:, :2]) | lib.index_select(x, 0, j)
lib.masked_select(x, mask) | lib.narrow(x, 1, 0, 2) | lib.take_along_dim(x, i, dim=1) | lib.nan_to_num(x)
lib.isnan(x) | lib.isclose(x, y, rtol=0.5) | lib.allclose(x, x) | lib.eq(x, y) | lib.gt(x, y)
lib.logical_and(mask, mask) | lib.neg(x) | lib.mul(x, y) | lib.sub(x, y) | lib.div(x, p) | lib.add(x, y)
lib.pow(p, 2) | lib.true_divide(x, p) | lib.fmod(x, 0.3) | lib.remainder(x, 0.3) | lib.atan2(x, y)
lib.quantile(x, 0.3, dim=1) | lib.cdist(x, y) | lib.cdist(b, b, p=1.0) | lib.dist(x, y) | lib.bincount(n)
lib.histc(x.detach(), bins=4, min=-2, max=2) | lib.nansum(x) | lib.nanmean(x, dim=0) | lib.var(x, dim=1, correction=0)
lib.std(x, dim=1, unbiased=True) | lib.logaddexp(x, y) | lib.searchsorted(lib.tensor(LINE), v)
lib.unflatten(x, 1, (2, 2)) | lib.tensor_split(x, 2, dim=1) | lib.count_nonzero(x) | lib.zeros_like(x)
lib.ones_like(x) | lib.full_like(x, 2.0) | lib.zeros((2, 3), dtype=lib.float64) | lib.ones((2,), dtype=lib.float64)
lib.full((2, 2), 1.5, dtype=lib.float64) | lib.arange(5) | lib.arange(1, 7, 2) | lib.arange(3, dtype=lib.float64)
lib.linspace(0, 1, 5, dtype=lib.float64) | lib.eye(3, dtype=lib.float64)
lib.linspace(0, 1, steps=5, dtype=lib.float64) | lib.meshgrid(v, w, indexing="ij") | lib.tril_indices(3, 4)
lib.triu_indices(3, 3, 1) | lib.tensor([1.0, 2.0], dtype=lib.float64) | lib.tensor([1, 2]) | lib.tensor(True)
lib.as_tensor([1, 2]) | lib.from_numpy(LINE) | lib.is_tensor(x) | lib.is_tensor(1) | lib.is_floating_point(x)
lib.numel(b) | lib.is_grad_enabled() | lib.cuda.is_available() | x.to(lib.device("cpu")) | lib.linalg.norm(x)
lib.linalg.inv(m) | lib.linalg.det(m) | lib.linalg.solve(m, v) | lib.linalg.cholesky(m @ m.T) | lib.linalg.svdvals(m)
lib.linalg.cross(x[:, :3], y[:, :3]) | lib.trunc(x) | lib.reciprocal(x) | lib.rsqrt(p) | lib.erf(x) | lib.expm1(x)
lib.hypot(x, y) | lib.cov(x)
"""


def _lines() -> list[str]:
    return [call for line in CALLS.strip().splitlines() for call in line.split(" | ")]


DIFFERENT = [
    # torch, and what to write in weft
    ("x.max(dim=1)", "(x.amax(dim=1), x.argmax(dim=1))"),
    ("x.min(1)", "(x.amin(1), x.argmin(1))"),
    ("x.max(y)", "x.maximum(y)"),
    ("x.sort(dim=1)", "(x.sort(dim=1), x.argsort(dim=1))"),
    ("x.std()", "x.std(correction=1)"),
    ("x.var(dim=1)", "x.var(dim=1, correction=1)"),
    ("lib.std(x)", "lib.std(x, correction=1)"),
    ("x.repeat(2, 1)", "x.tile(2, 1)"),
    ("x.equal(y)", "bool((x == y).all())"),
    ("mask.nonzero()", "lib.stack(mask.nonzero(), dim=1)"),
    ("x.median()", "x.flatten().sort()[(x.numel() - 1) // 2]"),
    ("lib.split(x, 3, dim=1)", "x.split(3, dim=1)"),
    ("lib.transpose(x, 0, 1)", "lib.swapaxes(x, 0, 1)"),
    ("x.svd(some=True)[1]", "lib.linalg.svdvals(x)"),
    ("lib.zeros(2, 3, dtype=lib.float64)", "lib.zeros((2, 3))"),
]


@pytest.mark.parametrize("call", _lines())
def test_means_the_same(call: str) -> None:
    _compare(call, call)


@pytest.mark.parametrize(("theirs", "ours"), DIFFERENT, ids=[theirs for theirs, _ in DIFFERENT])
def test_what_to_write_instead(theirs: str, ours: str) -> None:
    _compare(ours, theirs)
    try:
        _compare(theirs, theirs)
    except Exception:  # it fails, or gives something else: either is a difference
        return
    pytest.fail(f"{theirs} is not a difference any more")


WRITES = """
x.abs_() x.add_(y) x.add_(y,alpha=2) x.sub_(y,alpha=2) x.mul_(y) x.div_(p) x.pow_(2) x.neg_() x.exp_() x.sigmoid_()
x.tanh_() x.relu_() x.clamp_(-0.5,0.5) x.clamp_min_(0.1) x.clamp_max_(0.1) x.zero_() x.fill_(2) x.copy_(y)
x.lerp_(y,0.3) x.addcmul_(y,p,value=0.5) x.addcdiv_(y,p) x.masked_fill_(mask,0.5) x.scatter_(1,i,y[:,:2])
x.scatter_(1,i,2.0) x.scatter_add_(1,i,y[:,:2]) x.index_add_(0,j,y) x.index_fill_(0,j,1.0)
x.index_copy_(0,lib.tensor(ORDER),y) x.index_put_((j,j),s) x.sqrt_() x.round_() x.floor_() x.sin_() x.cos_()
x.square_() x.reciprocal_() x.tril_() x.triu_() m.addmm_(v.outer(w),w.outer(v)) m.fill_diagonal_(0.5) p.logit_()
x.remainder_(0.3) x.cumsum_(0) x.sign_() x.rsqrt_()
""".split()


@pytest.mark.parametrize("call", WRITES)
def test_writes_the_same(call: str) -> None:
    """In place, on a value computed from leaves: the value and the gradients of the leaves."""
    _compare(call, call, written=True)


def _names(lib: Any, leaves: list[Any], written: bool) -> dict[str, Any]:
    random = np.random.default_rng(7)

    def leaf(values: Any) -> Any:
        leaves.append(lib.tensor(values, requires_grad=True))
        return leaves[-1] * 1 if written else leaves[-1]

    normal = random.standard_normal
    floats = {"x": normal((3, 4)), "y": normal((3, 4)), "p": random.uniform(0.05, 0.95, (3, 4)), "v": normal(4)}
    floats |= {"w": normal(4), "m": normal((4, 4)) + 4 * np.eye(4), "b": normal((2, 3, 4)), "c": normal((2, 4, 5))}
    floats |= {"s": np.array(1.5), "six": normal(6)}
    if written:  # roots of these are taken too
        floats["x"] = np.abs(floats["x"]) + 0.1
    names = {name: leaf(value) for name, value in floats.items()}
    rows = np.array([[0, 2], [2, 1], [1, 0]])
    plain = {"mask": normal((3, 4)) > 0, "i": rows, "j": np.array([2, 0, 1]), "n": np.array([1, 0, 5, 2, 1, 1])}
    names |= {name: lib.tensor(value) for name, value in plain.items()}
    constants = {"Q": np.array([0.1, 0.5]), "COUNTS": np.array([1, 0, 2]), "ORDER": np.array([1, 0, 2])}
    return {"lib": lib, **names, **constants, "LINE": np.linspace(-2, 2, 5)}


def _compare(ours: str, theirs: str, written: bool = False) -> None:
    mine: list[Any] = []
    peers: list[Any] = []
    got = list(_flat(eval(ours, _names(weft, mine, written))))
    wanted = list(_flat(eval(theirs, _names(torch, peers, written))))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        if not isinstance(other, torch.Tensor | np.ndarray):
            assert one == other
            continue
        expected = other.detach().numpy() if isinstance(other, torch.Tensor) else other
        array = np.asarray(one)
        assert array.shape == expected.shape
        assert array.dtype == expected.dtype
        np.testing.assert_allclose(array, expected, **TOLERANCE)
    _compare_gradients(got, wanted, mine, peers)


def _compare_gradients(got: list[Any], wanted: list[Any], mine: list[Any], peers: list[Any]) -> None:
    slopes = [isinstance(one, torch.Tensor) and one.requires_grad for one in wanted]
    assert slopes == [isinstance(one, weft.Tensor) and one.requires_grad for one in got]
    weights = [np.random.default_rng(k).standard_normal(tuple(one.shape)) for k, one in enumerate(wanted) if slopes[k]]
    if not weights:
        return
    chosen = [[one for one, has in zip(side, slopes, strict=True) if has] for side in (got, wanted)]
    for lib, values in ((weft, chosen[0]), (torch, chosen[1])):
        gradients = [lib.tensor(w).to(one.dtype) for w, one in zip(weights, values, strict=True)]
        lib.autograd.backward(values, gradients)
    for leaf, peer in zip(mine, peers, strict=True):
        assert (leaf.grad is None) == (peer.grad is None)
        if peer.grad is not None:
            np.testing.assert_allclose(leaf.grad.numpy(), peer.grad.numpy(force=True), **TOLERANCE)


def _flat(value: Any) -> Any:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _flat(part)
    else:
        yield value
