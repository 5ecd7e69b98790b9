"""Functions of NumPy, of np.linalg and np.fft, in compiled functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from surface import check_captured, texts

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

EXPRESSIONS = r"""
np.poly1d(x)(r) ;; np.poly1d(x).deriv()(r) ;; (np.poly1d(x) * np.poly1d(y)).coeffs ;; np.poly1d([r, 1, k]).roots
np.polynomial.Polynomial(x)(y) ;; np.polynomial.Chebyshev(l).integ()(x) ;; np.poly1d(x).order + k
np.vectorize(lambda v: v * 2, otypes=[float])(i) ;; np.vectorize(lambda v, w: v + w, otypes="f")(x, y)
np.vectorize(lambda v: v + 0.7, otypes=[int])(x) ;; np.vectorize(lambda v: v > 2, otypes=[bool])(X)
np.vectorize(lambda v: v, otypes=[float])(e) ;; np.nansum(nan, where=b) ;; np.nanmean(nan, where=b)
np.nanmax(nan, initial=r, where=b) ;; np.nanvar(nan, ddof=1, where=b) ;; np.nanstd(nan, mean=r)
np.sum(x) ;; np.sum(l) ;; np.sum(X, axis=0) ;; np.sum([x, y], axis=0) ;; np.sum(X, 1, keepdims=True)
np.sum(u, dtype=np.uint8) ;; np.sum(b) ;; np.sum([k, k, r]) ;; np.prod(x) ;; np.prod(l) ;; np.prod([k, k])
np.mean(x) ;; np.mean(l) ;; np.mean([k, r]) ;; np.mean(X, axis=(0, 1)) ;; np.mean(b) ;; np.average(x)
np.average(x, weights=p) ;; np.average(X, axis=0, weights=p) ;; np.average(x, weights=p, returned=True)
np.std(x, ddof=1) ;; np.var(X, axis=1, keepdims=True) ;; np.var(l) ;; np.max(x) ;; np.max(l) ;; np.max([k, 7])
np.amax(X, axis=0) ;; np.min(X, 1) ;; np.argmax(x) ;; np.argmax(l) ;; np.argmin(X, axis=0) ;; np.median(x)
np.median(X, axis=0) ;; np.median(X, axis=1, keepdims=True) ;; np.median(l) ;; np.percentile(x, 30)
np.percentile(x, [10, 50]) ;; np.percentile(X, r, axis=0) ;; np.percentile(x, 40, method="nearest")
np.quantile(x, 0.3) ;; np.quantile(x, [0.1, 0.9]) ;; np.quantile(X, 0.25, axis=1) ;; np.nanmean(nan) ;; np.nansum(nan)
np.nanstd(nan) ;; np.nanvar(nan) ;; np.nanmax(nan) ;; np.nanmin(nan) ;; np.nanprod(nan) ;; np.nancumsum(nan)
np.nancumprod(nan) ;; np.nanmedian(nan) ;; np.nanpercentile(nan, 40) ;; np.nanquantile(nan, 0.4) ;; np.nanargmax(nan)
np.nanargmin(nan) ;; np.nan_to_num(nan) ;; np.nan_to_num(nan, nan=r) ;; np.nan_to_num(nan, copy=False)
np.nan_to_num(r) ;; np.cumsum(x) ;; np.cumsum(X) ;; np.cumsum(X, axis=1) ;; np.cumsum(l) ;; np.cumsum(b)
np.cumprod(x) ;; np.diff(x) ;; np.diff(X, axis=0) ;; np.diff(x, n=2) ;; np.diff(x, prepend=0) ;; np.diff(i)
np.diff(b) ;; np.ediff1d(x) ;; np.gradient(x) ;; np.gradient(x, 0.5) ;; np.gradient(X) ;; np.gradient(X, axis=0)
np.gradient(x, y) ;; np.gradient(X, r, axis=1) ;; np.gradient(x, edge_order=2) ;; np.trapezoid(x, y)
np.trapezoid(x, dx=r) ;; np.trapezoid(X, axis=0) ;; np.cross(X[:, :3], Y[:, :3]) ;; np.cross(x[:3], y[:3])
np.dot(x, y) ;; np.dot(X, X.T) ;; np.dot(x, k) ;; np.dot(l, l) ;; np.dot(S, x) ;; np.vdot(x, y) ;; np.vdot(c, c)
np.vdot(X, Y) ;; np.inner(x, y) ;; np.inner(X, Y) ;; np.outer(x, y) ;; np.outer(x, i) ;; np.outer(X, x)
np.outer(l, x) ;; np.matmul(X, X.T) ;; np.kron(x, y) ;; np.kron(X, np.eye(2)) ;; np.tensordot(X, Y, axes=2)
np.tensordot(X, Y, axes=([0], [0])) ;; np.tensordot(X, X.T, 1) ;; np.einsum("ij,ij->i", X, Y)
np.einsum("i,i", x, y) ;; np.einsum("ij->ji", X) ;; np.einsum("ii", S) ;; np.einsum("ij,jk", S, X)
np.einsum("...i,...i->...", X, Y) ;; np.einsum(X, [0, 1], Y, [0, 1]) ;; np.linalg.multi_dot([S, S, x]) ;; np.trace(S)
np.vecdot(X, Y) ;; np.linalg.norm(x) ;; np.linalg.norm(X) ;; np.linalg.norm(X, axis=1) ;; np.linalg.norm(X, ord=1)
np.linalg.norm(x, 1) ;; np.linalg.norm(x, np.inf) ;; np.linalg.norm(X, "fro") ;; np.linalg.norm(S, 2)
np.linalg.norm(x, ord=3) ;; np.linalg.norm(X, axis=0, keepdims=True) ;; np.linalg.norm(l) ;; np.linalg.norm(c)
np.linalg.norm(i) ;; np.linalg.norm(f) ;; np.linalg.norm(S, "nuc") ;; np.linalg.inv(S) ;; np.linalg.pinv(X)
np.linalg.det(S) ;; np.linalg.slogdet(S) ;; np.linalg.solve(S, x) ;; np.linalg.solve(S, X)
np.linalg.lstsq(X, x, rcond=None) ;; np.linalg.lstsq(X, x)[0] ;; np.linalg.eig(S) ;; np.linalg.eig(S)[0]
np.linalg.eigh(S + S.T) ;; np.linalg.eigvals(S) ;; np.linalg.eigvalsh(S @ S.T) ;; np.linalg.svd(X)
np.linalg.svd(X, full_matrices=False) ;; np.linalg.svd(X, compute_uv=False) ;; np.linalg.svdvals(X) ;; np.linalg.qr(X)
np.linalg.qr(X, mode="complete") ;; np.linalg.qr(X, mode="r") ;; np.linalg.cholesky(S @ S.T)
np.linalg.cholesky(S @ S.T, upper=True) ;; np.linalg.matrix_rank(X) ;; np.linalg.matrix_rank(S)
np.linalg.matrix_power(S, 3) ;; np.linalg.matrix_power(S, -1) ;; np.linalg.matrix_power(S, k) ;; np.linalg.cond(S)
np.linalg.cond(S, 1) ;; np.linalg.tensorsolve(S, x) ;; np.linalg.tensorinv(S, ind=1) ;; np.linalg.vector_norm(x)
np.linalg.matrix_norm(X) ;; np.linalg.vecdot(X, Y) ;; np.linalg.outer(x, y) ;; np.linalg.cross(X[:, :3], Y[:, :3])
np.linalg.diagonal(S) ;; np.linalg.trace(S) ;; np.linalg.matmul(S, X) ;; np.linalg.tensordot(X, Y) ;; np.fft.fft(x)
np.fft.fft(X) ;; np.fft.fft(X, axis=0) ;; np.fft.fft(x, 8) ;; np.fft.fft(x, n=k) ;; np.fft.fft(c, norm="ortho")
np.fft.fft(f) ;; np.fft.fft(l) ;; np.fft.ifft(c) ;; np.fft.rfft(x) ;; np.fft.rfft(X, axis=0) ;; np.fft.irfft(c)
np.fft.irfft(c, 6) ;; np.fft.irfft(c, n=len(x)) ;; np.fft.fft2(X) ;; np.fft.ifft2(X) ;; np.fft.rfft2(X)
np.fft.irfft2(C) ;; np.fft.fftn(T3) ;; np.fft.ifftn(T3) ;; np.fft.rfftn(T3) ;; np.fft.irfftn(T3) ;; np.fft.hfft(c)
np.fft.ihfft(x) ;; np.fft.fftfreq(k) ;; np.fft.fftfreq(len(x), d=r) ;; np.fft.rfftfreq(len(x))
np.fft.rfftfreq(len(x), r) ;; np.fft.fftshift(x) ;; np.fft.fftshift(X, axes=0) ;; np.fft.ifftshift(X)
np.where(x > 0, x, y) ;; np.where(x > 0, x, 0) ;; np.where(x > 0, 1, 0) ;; np.where(b, k, r) ;; np.where(b, k, 0)
np.where(b, 1, 2.5) ;; np.where(x > 0) ;; np.where(x > 0)[0] ;; np.where(X > 0) ;; np.where(t, x, y)
np.where(k > 2, r, 0.0) ;; np.where(b, f, 0) ;; np.where(b, i, 1.5) ;; np.where(b, l[0], i)
np.select([x > 0, x < -1], [x, y]) ;; np.select([x > 0, x < -1], [x, y], default=k) ;; np.select([b], [i], 7)
np.choose(i % 2, [x, y]) ;; np.choose(j % 2, (i, i * 2)) ;; np.piecewise(x, [x < 0, x >= 0], [-1, 1])
np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v]) ;; np.clip(x, 0, 1) ;; np.clip(x, y, None)
np.clip(i, 0, r) ;; np.clip(k, 0, 1) ;; np.clip(r, 0, 1) ;; np.clip(x, a_min=-1, a_max=1) ;; np.clip(u, 10, 100)
np.clip(l, 0, 1) ;; np.clip(x, min=0, max=1) ;; np.round(x, 2) ;; np.round(x) ;; np.round(k) ;; np.round(r, 1)
np.around(x, 1) ;; np.fix(x) ;; np.real(c) ;; np.imag(c) ;; np.real(x) ;; np.imag(x) ;; np.real(w) ;; np.imag(r)
np.angle(c) ;; np.angle(c, deg=True) ;; np.angle(x) ;; np.angle(w) ;; np.unwrap(x) ;; np.sinc(x) ;; np.sinc(r)
np.i0(x) ;; np.hypot(x, y) ;; np.interp(x, np.sort(y), p) ;; np.interp(0.5, np.sort(y), p)
np.interp(r, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]) ;; np.interp(x, np.arange(len(x)), y, left=0, right=1)
np.interp(x, np.sort(y), p, period=3) ;; np.convolve(x, y) ;; np.convolve(x, [1, 2, 1], mode="same")
np.convolve(x, y[:3], "valid") ;; np.correlate(x, y) ;; np.correlate(x, y, "full") ;; np.polyval([1.0, 2.0, 3.0], x)
np.polyval(x, r) ;; np.polyval(x, y) ;; np.polyfit(x, y, 2) ;; np.polyfit(x, y, 1) ;; np.polyadd(x, y)
np.polysub(x, y) ;; np.polymul(x, y) ;; np.polyder(x) ;; np.polyint(x) ;; np.polydiv(x, y[:2]) ;; np.roots(x)
np.poly(x) ;; np.polynomial.polynomial.polyval(r, x) ;; np.polynomial.chebyshev.chebval(x, y)
np.polynomial.legendre.legval(x, [1, 2, 3]) ;; np.histogram(x) ;; np.histogram(x, bins=5)
np.histogram(x, bins=4, range=(-1, 1)) ;; np.histogram(x, bins=4, weights=p) ;; np.histogram(x, bins=[-1.0, 0.0, 1.0])
np.histogram(x, bins=k) ;; np.histogram(x, bins=np.linspace(-2, 2, 5), density=True) ;; np.histogram(i, bins=3)
np.histogram2d(x, y) ;; np.histogram2d(x, y, bins=(3, 4)) ;; np.histogramdd(X, bins=2) ;; np.histogram_bin_edges(x, 4)
np.bincount(j) ;; np.bincount(j, minlength=9) ;; np.bincount(j, weights=x) ;; np.bincount(u)
np.digitize(x, np.array([-1.0, 0.0, 1.0])) ;; np.digitize(x, [0.0, 1.0], right=True) ;; np.digitize(r, [0.0, 1.0])
np.searchsorted(np.sort(x), y) ;; np.searchsorted(np.sort(x), 0.5) ;; np.searchsorted(np.sort(x), y, side="right")
np.searchsorted([0, 1, 2], r) ;; np.cov(x, y) ;; np.cov(X) ;; np.cov(X, rowvar=False) ;; np.cov(X.T, ddof=0)
np.cov(x) ;; np.corrcoef(x, y) ;; np.corrcoef(X) ;; np.sort(x) ;; np.sort(X, axis=0) ;; np.sort(X, axis=None)
np.sort(l) ;; np.sort(x)[::-1] ;; np.sort(x, kind="stable") ;; np.argsort(x) ;; np.argsort(X, axis=0)
np.argsort(-x) ;; np.argsort(l) ;; np.lexsort((x, y)) ;; np.lexsort((i, j)) ;; np.partition(x, 2)
np.argpartition(x, 2) ;; np.sort_complex(x) ;; np.unique(i) ;; np.unique(i, return_counts=True)
np.unique(i, return_index=True, return_inverse=True) ;; np.unique(I, axis=0) ;; np.unique_values(i)
np.unique_counts(i) ;; np.unique_all(i) ;; np.unique_inverse(i) ;; np.union1d(i, j) ;; np.intersect1d(i, j)
np.setdiff1d(i, j) ;; np.setxor1d(i, j) ;; np.isin(i, j) ;; np.isin(i, [1, 2]) ;; np.isin(i, [1, 2], invert=True)
np.isin(k, i) ;; np.nonzero(x) ;; np.flatnonzero(b) ;; np.argwhere(x > 0) ;; np.argwhere(B) ;; np.count_nonzero(b)
np.count_nonzero(X > 0, axis=0) ;; np.count_nonzero(i) ;; np.all(b) ;; np.any(B, axis=0) ;; np.all(x > -10)
np.all([b[0], b[1]]) ;; np.any([x > 9, y > 0]) ;; np.allclose(x, y) ;; np.allclose(x, x + 1e-12)
np.allclose(x, y, rtol=10) ;; np.isclose(x, y) ;; np.isclose(k, r) ;; np.isclose(x, 0, atol=0.5)
np.array_equal(x, y) ;; np.array_equal(x, x) ;; np.array_equal(x, X) ;; np.array_equiv(x, y) ;; np.take(x, j)
np.take(X, [0, 1], axis=1) ;; np.take(x, 1) ;; np.take(x, j + 1, mode="wrap") ;; np.take(x, [[0, 1], [1, 0]])
np.take(l, [0, 1]) ;; np.take_along_axis(X, np.argsort(X, axis=1), axis=1)
np.take_along_axis(X, np.argmax(X, axis=1)[:, None], 1) ;; np.compress(b, x) ;; np.compress([True, False], X, axis=1)
np.extract(b, x) ;; np.unravel_index(5, (2, 3)) ;; np.unravel_index(np.argmax(X), X.shape)
np.unravel_index(j, (3, 4)) ;; np.ravel_multi_index((j, j), (9, 9)) ;; np.ravel_multi_index((k, 1), X.shape)
np.vectorize(lambda v: v * 2 if v > 0 else v)(f) ;; np.vectorize(lambda v, q: v + q)(f, i.astype("h"))
np.vectorize(lambda v: v + 1)(i.astype("b")) ;; np.vectorize(lambda v: v > 1)(F)
np.apply_along_axis(np.sum, 1, X) ;; np.apply_along_axis(lambda v: v.max() - v.min(), 0, X)
np.apply_over_axes(np.sum, T3, [0, 2]) ;; np.vectorize(lambda v: v + 1)(x)
np.vectorize(lambda v, q: v if v > q else q)(x, y) ;; list(np.ndenumerate(x))
[(a, v) for (a,), v in np.ndenumerate(x)] ;; list(np.ndindex(2, 3)) ;; [X[a] for a in np.ndindex(*X.shape)]
[X[a] for a in np.ndindex(X.shape)] ;; np.packbits(b) ;; np.unpackbits(u) ;; np.packbits(B, axis=1)
np.bitwise_and(i, 3) ;; np.left_shift(u, 1) ;; np.right_shift(i, 1) ;; np.invert(u) ;; np.binary_repr(5)
np.base_repr(k) ;; np.array2string(x) ;; np.array_str(x) ;; np.array_repr(x) ;; np.format_float_positional(r)
np.isscalar(k) ;; np.isscalar(x) ;; np.isscalar(x[0]) ;; np.iscomplex(c) ;; np.isreal(c) ;; np.iscomplexobj(c)
np.isrealobj(x) ;; np.isneginf(x) ;; np.isposinf(x) ;; np.ndim(X) ;; np.ndim(k) ;; np.shape(X) ;; np.shape(l)
np.size(X) ;; np.size(X, 1) ;; np.size(k) ;; np.result_type(x, f) ;; np.result_type(f, k)
np.promote_types(x.dtype, f.dtype) ;; np.can_cast(x.dtype, np.int64) ;; np.can_cast(i.dtype, x.dtype)
np.issubdtype(x.dtype, np.floating) ;; np.min_scalar_type(k) ;; np.min_scalar_type(k * 100)
np.min_scalar_type(i.max()) ;; np.finfo((x * k).dtype).eps
np.min_scalar_type(-r) ;; np.min_scalar_type(X) ;; np.common_type(x, f) ;; np.dtype(x.dtype)
np.isdtype(x.dtype, "real floating") ;; np.shares_memory(x, x[1:]) ;; np.may_share_memory(x, y) ;; np.float32(x)
np.float32(r) ;; np.int64(r) ;; np.int32(k) ;; np.uint8(k) ;; np.float64(k) ;; np.complex128(x[0]) ;; np.bool_(k)
np.int8(i) ;; np.float32(l) ;; np.hanning(k) ;; np.hamming(len(x)) ;; np.blackman(5) ;; np.bartlett(k)
np.kaiser(k, 14) ;; np.lib.stride_tricks.sliding_window_view(x, 2) ;; np.lib.stride_tricks.sliding_window_view(x, k)
np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)) ;; np.lib.stride_tricks.sliding_window_view(X, (2, 2))
np.trim_zeros(x) ;; np.heaviside(x, 0.5) ;; np.modf(x) ;; np.frexp(x) ;; np.ldexp(x, j) ;; np.divmod(i, 3)
np.spacing(x) ;; np.nextafter(x, y) ;; np.copysign(x, y) ;; np.signbit(x) ;; np.sign(c) ;; np.float_power(i, 2)
np.positive(x) ;; np.logaddexp(x, y) ;; np.fmod(x, 0.7) ;; np.gcd(i, j) ;; np.lcm(i, j) ;; np.rint(x) ;; np.degrees(x)
np.deg2rad(x) ;; np.square(i8) ;; np.matmul(x, X) ;; np.maximum(x, 0) ;; np.maximum(x, y) ;; np.fmax(nan, x)
np.minimum(k, x) ;; np.maximum(k, r) ;; np.add(x, y, dtype=np.float32) ;; np.add(k, r) ;; np.sqrt(k) ;; np.exp(r)
np.power(x, 2) ;; np.power(i, 2) ;; np.power(i, 0.5) ;; np.mod(x, 1.0) ;; np.floor_divide(i, 3)
np.true_divide(i, 2) ;; np.pi * x ;; np.e + k ;; x[:, np.newaxis] ;; x[np.newaxis, :, None] ;; np.inf > x
np.set_printoptions(precision=8) ;; np.geterr() ;; np.iterable(x) ;; np.char.add("a", "b")
np.datetime64("2020-01-01") ;; np.fromstring("1 2 3", sep=" ") ;; np.frombuffer(b"abcd", dtype=np.uint8)
np.polynomial.polynomial.polyfit(x, y, 1) ;; np.random.default_rng ;; np.mask_indices(3, np.triu) ;; np.require(x)
np.add(x, range(len(x))) ;; np.dot(range(len(x)), x) ;; np.cumsum(range(len(x))) * x ;; range(len(x)) @ x
np.interp(x, range(3), range(3)) ;; np.transpose(T3, range(3)) ;; np.split(x, range(1, 3)) ;; np.poly1d([1.0, 2.0])(x)
np.poly1d([1.0, 2.0])(3) * r ;; weft.allclose(x, x) ;; weft.allclose(x, y) * x ;; weft.hstack(X) ;; weft.vstack(X)
np.apply_along_axis(lambda v: v.sum(), 0, X[:0]) ;; np.apply_along_axis(np.sum, 0, X[:0])
np.r_[f, 1, 2.5] ;; np.r_[f, r] ;; np.r_[i8, k] ;; np.r_[f, [1, 2]] ;; np.r_[i8, 0:3] ;; np.c_[f, f] ;; np.c_[f, i8]
np.max(x, out=np.zeros(())) ;; np.sum(X, None, float, np.zeros(())) ;; np.asarray(f, dtype=float)
np.asarray(i, float) ;; np.add(f, f, dtype=float) ;; np.multiply(f, 2, dtype=float)
o = np.zeros(())\nnp.add.reduce(x, out=o)\nreturn o
o = np.zeros(())\no[...] = np.max(x)\nreturn o
o = np.zeros(len(F))\nnp.sum(F / 3, axis=1, out=o)\nreturn o
np.nan_to_num(x, posinf=0) ;; np.vectorize(lambda v: v + 1)(x) ;; np.vectorize(lambda v: v + 1)(X)
np.vectorize(lambda v: v if v > 0 else 0.0)(x) ;; np.vectorize(lambda v, q: v if v > q else q)(x, y)
np.vectorize(lambda v, q: v * q)(X, x[:, None]) ;; np.vectorize(math.exp)(x) ;; np.vectorize(lambda v: v * r)(x)
np.vectorize(lambda v: v * 2 if v > 0 else v)(f) ;; np.vectorize(lambda v, q: v + q)(f, i.astype("h"))
np.vectorize(lambda v: v + 1)(i.astype("b")) ;; np.vectorize(lambda v: v > 1)(F)
np.apply_along_axis(np.sum, 1, X) ;; np.apply_along_axis(lambda v: v.max() - v.min(), 0, X)
np.apply_along_axis(lambda v: v / v.sum(), 1, X) ;; np.apply_along_axis(lambda v: v / v.sum(), 0, X)
np.apply_along_axis(lambda v: v / v.sum(), 0, x) ;; np.piecewise(x, [x < 0, x >= 0], [-1, 1])
np.apply_along_axis(lambda v: np.outer(v, v), 0, X) ;; np.apply_along_axis(lambda v: np.outer(v, v)[:1], -2, X)
np.apply_along_axis(lambda v, s, t=1: v * s + t, 1, X, 3, t=r)
np.apply_along_axis(lambda v, s: v * s, axis=0, arr=X, s=r)
np.apply_along_axis(lambda v: 0 if v[0] == X[0, 0] else 1.7, 1, X) ;; np.apply_along_axis(lambda v: [v.sum(), 1], 1, F)
np.piecewise(x, [x < 0], [lambda v: -v, lambda v: v * r]) ;; np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 3])
np.piecewise(x, [x < 0, x > 1], [lambda v: np.sqrt(-v), lambda v: v ** 2]) ;; list(np.ndenumerate(x))
[v for (a, d), v in np.ndenumerate(X)]
n = 0.0\nfor (a, d), v in np.ndenumerate(X):\n    n += v * a - d\nreturn n
for a, v in np.ndenumerate(X):\n    Y[a] = v + 1
np.linalg.eig(S)[0] * 2
w2, v2 = np.linalg.eig(S)\nreturn np.abs(w2)
w2 = np.linalg.eigvals(S)\nreturn np.zeros_like(w2)
w2 = np.linalg.eigvals(S)\na = np.zeros(len(w2))\na[:] = np.abs(w2)\nreturn a
np.zeros_like(np.linalg.eigvals(np.array([[0.0, -r], [r, 0.0]]))) ;; np.zeros_like(np.roots(np.array([1.0, 0.0, r])))
"""


@pytest.mark.parametrize("text", texts(EXPRESSIONS))
def test_captured_as_plain(text: str) -> None:
    check_captured(text)


class Scaled(np.poly1d):
    """A class of the program's that NumPy's makes ready."""

    def __init__(self, coefficients: Any, scale: Any = 2.0) -> None:
        super().__init__(coefficients * scale)
        self.scale = scale

    def __call__(self, value: Any) -> Any:
        return np.poly1d.__call__(self, value) + self.scale


def test_a_class_derived_from_one_of_numpys_is_made_when_the_graph_runs() -> None:
    def program(x: Any) -> Any:
        made = Scaled(x, x[1])
        return made(x), made.deriv().coeffs, made.scale, isinstance(made, np.poly1d), Scaled(np.ones(2))(x)

    def of_traced(x: Any) -> Any:
        return Scaled(x)(3.0)

    def of_plain(x: Any) -> Any:
        return Scaled([1.0, 2.0], 1)(x)

    x = np.array([1.0, 2.0, 3.0])
    assert_same(call(weft.compile(program), (x,)), call(program, (x,)))
    assert_same(call(weft.script(of_plain), (x,)), call(of_plain, (x,)))
    with pytest.raises(CaptureError, match="Scaled, a class derived from one of NumPy's, of traced values"):
        weft.script(of_traced)(x)


POLYNOMIAL = Scaled(np.array([1.0, 2.0]))


@pytest.mark.parametrize("polynomial", [np.poly1d([1.0, 2.0]), Scaled(np.array([1.0, 2.0]))])
def test_a_polynomial_is_called_as_its_class_says_and_with_what_it_holds_by_then(polynomial: Any) -> None:
    def program(x: Any) -> Any:
        return polynomial(x), polynomial(3.0) * x, polynomial(np.poly1d([1.0, 3.0]))

    x = np.array([1.0, 2.0, 3.0])
    compiled = weft.compile(program)
    assert_same(call(compiled, (x,)), call(program, (x,)))
    polynomial.coeffs[0] = 5.0
    assert_same(call(compiled, (x,)), call(program, (x,)))
    polynomial[4] = 1.0
    assert_same(call(compiled, (x,)), call(program, (x,)))


def test_a_polynomial_in_a_script_is_called_as_its_class_says() -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert_same(call(weft.script(lambda x: POLYNOMIAL(x)), (x,)), call(POLYNOMIAL, (x,)))
