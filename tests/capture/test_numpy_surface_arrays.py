"""Creation, joining, shapes, and what arrays themselves offer, in compiled functions."""

from __future__ import annotations

import pytest
from surface import check_captured, texts

EXPRESSIONS = r"""
np.array([x[0], x[1]]) ;; np.array([[x[0], 1], [k, r]]) ;; np.array([x, y]) ;; np.array(x)
np.array(x, dtype=np.float32) ;; np.array(x, ndmin=3) ;; np.array([k, k + 1]) ;; np.array([k, r]) ;; np.array(k)
np.array(r, dtype=int) ;; np.array((x[0], x[1]), dtype=np.float32) ;; np.array([f[0], 1.5]) ;; np.array([i[0], 1.5])
np.array([u[0], u[1]]) ;; np.array([t, k]) ;; np.array([w, r]) ;; np.array(l) ;; np.array([l, l])
np.array(q, dtype=float) ;; np.asarray(x) ;; np.asarray(l) ;; np.asarray(k) ;; np.asarray(ns)
np.ascontiguousarray(X.T) ;; np.asfortranarray(X) ;; np.asarray_chkfinite(x) ;; np.copy(x) ;; np.zeros(k)
np.zeros((k, 2)) ;; np.zeros(x.shape) ;; np.zeros(len(x), dtype=int) ;; np.ones((len(x), k), dtype=np.float32)
np.full(k, r) ;; np.full((k, 2), k) ;; np.full(len(x), x[0]) ;; np.full(3, x[0], dtype=np.float32) ;; np.full(3, ni)
np.full(3, nf) ;; np.full((2, len(x)), x) ;; np.empty(k).shape ;; np.zeros_like(x) ;; np.zeros_like(X, dtype=int)
np.ones_like(f) ;; np.ones_like(x, shape=(2, 2)) ;; np.full_like(x, k) ;; np.full_like(i, r)
np.full_like(i, r, dtype=float) ;; np.zeros_like(k) ;; np.zeros_like(r) ;; np.zeros_like(l) ;; np.ones_like(ns)
np.arange(k) ;; np.arange(r) ;; np.arange(1, k) ;; np.arange(0, r, 0.25) ;; np.arange(k, dtype=float)
np.arange(k, 0, -1) ;; np.arange(ni) ;; np.arange(nf) ;; np.arange(0, len(x), 2) ;; np.arange(len(x), dtype=np.uint8)
np.arange(stop=k) ;; np.arange(start=0, stop=k, step=2) ;; np.linspace(0, r, 5) ;; np.linspace(0, 1, k)
np.linspace(0, 1, len(x), endpoint=False) ;; np.linspace(0, r, k, retstep=True) ;; np.linspace(k, k + 3, 4)
np.linspace(0, 10, 5, dtype=int) ;; np.linspace(x[0], x[1], 4) ;; np.linspace(x, y, 4) ;; np.linspace(f[0], f[1], 4)
np.logspace(0, r, 4) ;; np.geomspace(1, r + 1, 4) ;; np.eye(k) ;; np.eye(k, 3) ;; np.eye(len(x), k=1)
np.eye(3, dtype=int) ;; np.identity(k) ;; np.identity(len(x), dtype=np.float32) ;; np.diag(x) ;; np.diag(x, 1)
np.diag(S) ;; np.diag(X, k=-1) ;; np.diagflat(x) ;; np.tri(k) ;; np.tri(len(x), k, -1) ;; np.tril(X) ;; np.triu(X, 1)
np.tril(S, -1) ;; np.tril_indices(k) ;; np.triu_indices(len(x), 1) ;; np.triu_indices_from(S)
np.tril_indices_from(S, -1) ;; np.diag_indices(k) ;; np.diag_indices_from(S) ;; np.vander(x, 3) ;; np.vander(x)
np.indices((k, 2)) ;; np.indices(X.shape) ;; np.indices((k, 2), dtype=float) ;; np.indices((k, 2), sparse=True)
np.fromfunction(lambda a, c: a + c, (k, 3)) ;; np.fromfunction(lambda a: a * r, (k,), dtype=int)
np.fromfunction(lambda a, c: a == c, X.shape, dtype=int) ;; np.fromiter((v * 2 for v in x), float)
np.meshgrid(x, y) ;; np.meshgrid(x, y, indexing="ij") ;; np.meshgrid(x, y, sparse=True) ;; np.meshgrid(x, i)
np.meshgrid(np.arange(k), np.arange(3)) ;; np.mgrid[0:k, 0:3] ;; np.mgrid[0:k] ;; np.mgrid[0:1:3j, 0:r:4j]
np.mgrid[0:len(x), 0:2] ;; np.mgrid[-r:r:k * 1j] ;; np.mgrid[:r:k * 1j, 0:k, 0:1:f[0] + 1] ;; np.r_[-r:r:k * 1j]
np.mgrid[-r:r:5j] ;; np.mgrid[[slice(0, k), slice(0, 3)]] ;; np.ogrid[:r:k * 2j, 0:r:0.1] ;; np.ogrid[0:k, 0:3]
np.ogrid[0:k] ;; np.r_[x, y] ;; np.r_[x, 0]
np.r_[0, x, k] ;; np.r_[0:k] ;; np.r_[0:k, 5] ;; np.r_[x[:2], 1:4] ;; np.r_[0:1:5j] ;; np.c_[x, y] ;; np.c_[x, y, i]
np.c_[X, x] ;; np.s_[1:3] ;; x[np.s_[1:3]] ;; x[np.s_[1:k]] ;; np.ix_(j, [0, 1]) ;; S[np.ix_(j, j)]
X[np.ix_(b, [0, 2])] ;; np.index_exp[1:3] ;; np.ndarray((k, 2)).shape ;; np.block([[X, X], [X, X]])
np.block([x, y]) ;; np.block([[S, X], [X.T, np.eye(X.shape[1])]]) ;; np.concatenate([x, y])
np.concatenate((X, Y), axis=1) ;; np.concatenate((X, Y), axis=None) ;; np.concatenate([x, i])
np.concatenate([x, [1, 2]]) ;; np.concatenate([f, [1.5]])
np.concatenate([x, y], dtype=np.float32, casting="same_kind") ;; np.concatenate([i, u]) ;; np.concat([x, y])
np.stack([x, y]) ;; np.stack([x, y], axis=1) ;; np.stack([x, y], axis=-1) ;; np.stack([x, i]) ;; np.stack([k, r])
np.vstack([x, y]) ;; np.vstack((X, X[0])) ;; np.hstack([x, y]) ;; np.hstack((X, Y)) ;; np.hstack([k, x])
np.hstack([x, 0.0]) ;; np.dstack([x, y]) ;; np.dstack([X, Y]) ;; np.column_stack([x, y]) ;; np.column_stack([x, X])
np.append(x, 1) ;; np.append(x, y) ;; np.append(X, Y, axis=0) ;; np.append(i, r) ;; np.append(x, [k])
np.insert(x, 1, 5) ;; np.insert(x, [1, 2], [5, 6]) ;; np.insert(X, 1, 9, axis=1) ;; np.insert(x, k, r)
np.delete(x, 1) ;; np.delete(x, [0, 2]) ;; np.delete(X, 1, axis=0) ;; np.delete(x, slice(1, 3)) ;; np.delete(x, b)
np.delete(x, k) ;; np.repeat(x, 2) ;; np.repeat(x, k) ;; np.repeat(X, 2, axis=1) ;; np.repeat(x, j) ;; np.repeat(k, 3)
np.repeat(x, [1] * len(x)) ;; np.tile(x, 2) ;; np.tile(x, (2, k)) ;; np.tile(X, (2, 1)) ;; np.tile(k, 3)
np.resize(x, (2, 3)) ;; np.resize(x, k) ;; np.pad(x, 1) ;; np.pad(x, k) ;; np.pad(X, ((1, 0), (0, 2)))
np.pad(X, 1, mode="edge") ;; np.pad(x, (1, 2), constant_values=(4, 6)) ;; np.pad(x, 2, mode="reflect")
np.pad(x, 2, mode="wrap") ;; np.pad(x, 2, mode="linear_ramp", end_values=(5, -4)) ;; np.pad(x, 2, mode="mean")
np.pad(x, 2, mode="maximum") ;; np.pad(X, (1, 2), "constant", constant_values=r)
np.trim_zeros(np.array([0.0, r, 0.0])) ;; np.reshape(X, -1) ;; np.reshape(X, (X.shape[1], X.shape[0]))
np.reshape(X, (-1, 1)) ;; np.reshape(X, X.shape[::-1], order="F") ;; np.reshape(l, (2, 2))
np.reshape(X, (-1,), "F") ;; np.reshape(k, (1, 1)) ;; np.ravel(X) ;; np.ravel(X, order="F") ;; np.ravel(X.T)
np.ravel(k) ;; np.ravel([X[0], X[1]]) ;; np.squeeze(X[None]) ;; np.squeeze(X[:, :1], axis=1) ;; np.expand_dims(x, 0)
np.expand_dims(x, (0, 2)) ;; np.expand_dims(k, 0) ;; np.atleast_1d(k) ;; np.atleast_1d(x) ;; np.atleast_1d(x, k)
np.atleast_2d(x) ;; np.atleast_2d(x, X) ;; np.atleast_3d(x) ;; np.atleast_3d(X) ;; np.transpose(X)
np.transpose(T3, (1, 0, 2)) ;; np.transpose(T3, axes=(2, 0, 1)) ;; np.permute_dims(T3, (1, 0, 2))
np.matrix_transpose(X) ;; np.swapaxes(T3, 0, 2) ;; np.moveaxis(T3, 0, -1) ;; np.moveaxis(T3, [0, 1], [-1, 0])
np.rollaxis(T3, 2) ;; np.flip(x) ;; np.flip(X, 1) ;; np.flip(X, axis=(0, 1)) ;; np.flipud(X) ;; np.fliplr(X)
np.rot90(X) ;; np.rot90(X, k) ;; np.rot90(X, 2) ;; np.rot90(T3, axes=(1, 2)) ;; np.roll(x, 1) ;; np.roll(x, k)
np.roll(X, 1, axis=0) ;; np.roll(X, (1, 2), axis=(0, 1)) ;; np.roll(X, -1) ;; np.roll(x, -k)
np.broadcast_to(x, (2, len(x))) ;; np.broadcast_to(k, (2, 3)) ;; np.broadcast_to(r, x.shape)
np.broadcast_arrays(x, X[:, :1]) ;; np.broadcast_shapes(x.shape, X.T.shape) ;; np.split(x[:4], 2)
np.split(x, [1, 3]) ;; np.split(X, [1], axis=1) ;; np.array_split(x, 3) ;; np.array_split(X, 2, axis=1)
np.array_split(x, k) ;; np.hsplit(X, [1]) ;; np.vsplit(X, [1, 2]) ;; np.dsplit(T3, [1]) ;; x.shape ;; x.ndim ;; x.size
X.size ;; X.nbytes ;; x.itemsize ;; x.dtype ;; str(x.dtype) ;; x.dtype == np.float64 ;; len(X) ;; X.T ;; T3.T ;; T3.mT
X.flat[3] ;; X.flat[1:4] ;; list(X.flat) ;; [v for v in X.flat] ;; c.real ;; c.imag ;; i.imag ;; x.base is None
x.tolist() ;; X.tolist() ;; i.tolist() ;; z.tolist() ;; x.item(0) ;; X.item(1, 1) ;; X.item((0, 1)) ;; z.item()
i[0].item() ;; x[0].item() ;; b[0].item() ;; c[0].item() ;; x.copy() ;; x.astype(int) ;; x.astype(np.float32)
x.astype("f4") ;; x.astype("int64", copy=False) ;; x.astype(complex) ;; x.astype(bool) ;; i.astype(np.uint8)
x.astype(str) ;; x.astype(object) ;; x.view() ;; x.view(np.int64) ;; f.view(np.int32) ;; X.reshape(-1)
X.reshape(X.shape[1], -1) ;; X.reshape((-1, 1)) ;; X.reshape(-1, order="F") ;; X.ravel() ;; X.ravel("F")
X.flatten() ;; X.flatten("F") ;; X.flatten(order="F") ;; X.transpose() ;; T3.transpose(1, 0, 2)
T3.transpose((1, 0, 2)) ;; X.swapaxes(0, 1) ;; X[None].squeeze() ;; X[None].squeeze(0) ;; X[None].squeeze(axis=0)
X.sum() ;; X.sum(0) ;; X.sum(axis=1, keepdims=True) ;; X.sum(axis=(0, 1)) ;; X.sum(dtype=np.float32) ;; X.sum(where=B)
X.sum(initial=r) ;; i.sum() ;; u.sum() ;; b.sum() ;; f.sum() ;; i8.sum() ;; X.prod(1) ;; X.mean() ;; X.mean(axis=0)
X.mean(0, keepdims=True) ;; i.mean() ;; f.mean() ;; F.mean(axis=0) ;; u.mean(dtype=np.float32) ;; X.var()
X.std(axis=0) ;; X.std(ddof=1) ;; X.var(0, ddof=1) ;; X.min() ;; X.max(axis=1) ;; X.max(1) ;; i.min()
X.max(initial=0) ;; X.min(where=B, initial=5) ;; X.argmax() ;; X.argmin(axis=1) ;; X.argmax(1)
X.argmax(axis=0, keepdims=True) ;; X.cumsum() ;; X.cumsum(1) ;; X.cumsum(axis=0) ;; u.cumsum() ;; X.cumprod(axis=1)
b.all() ;; b.any() ;; B.all(axis=0) ;; B.any(1) ;; x.all() ;; np.ptp(X) ;; np.ptp(X, axis=0) ;; x.clip(0, 1)
x.clip(min=0) ;; x.clip(max=0.5) ;; x.clip(-r, r) ;; i.clip(0, 5) ;; x.clip(None, 0.5) ;; x.round() ;; x.round(2)
x.round(decimals=1) ;; x.dot(y) ;; X.dot(X.T) ;; x.dot(X) ;; X.trace() ;; S.trace() ;; S.trace(1) ;; S.trace(offset=1)
S.diagonal() ;; S.diagonal(1) ;; X.take([0, 1]) ;; X.take([0, 1], axis=1) ;; x.take(j) ;; X.take(1)
X.take(1, axis=0) ;; x.compress(b) ;; X.compress(b, axis=0) ;; x.repeat(2) ;; x.repeat(k) ;; x.nonzero()
X.nonzero() ;; x.argsort() ;; X.argsort(axis=0) ;; x.argsort(kind="stable") ;; x.searchsorted(0.5)
np.sort(x).searchsorted(y) ;; x.conj() ;; c.conj() ;; c.conjugate() ;; j.choose([x, y, x, y, x, y, x, y])
(j % 2).choose([x, y]) ;; x.argpartition(2) ;; x.__len__() ;; x.__getitem__(0) ;; x.__add__(y) ;; x.__radd__(1)
x.__abs__() ;; abs(x) ;; x.max().item() ;; x.sum().astype(int) ;; x.mean().round(2)
"""


@pytest.mark.parametrize("text", texts(EXPRESSIONS))
def test_captured_as_plain(text: str) -> None:
    check_captured(text)
