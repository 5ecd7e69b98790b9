"""Calls of NumPy's functions as programs write them: the op chosen gives what NumPy gives, of the same type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.ops import op_of
from weft.ops._numpy import op_call

X = np.array([[3.0, -1.0, 2.5, 0.5], [1.5, 4.0, -2.0, 0.0], [0.25, 1.0, 2.0, 3.0]])
V, N, B = np.array([1.0, -2.0, 3.0]), np.arange(12).reshape(3, 4), X > 0
A = X @ X.T + np.eye(3)
CALLS = """
np.where(B, X, 0) | np.clip(X, 0, 1) | np.clip(X, a_min=0, a_max=1) | np.clip(N, 1.5, None)
np.roll(X, 1) | np.roll(X, (1, 2), axis=(0, 1)) | np.diff(X, n=2, axis=0) | np.diff(X, prepend=0) | np.outer(V, X)
np.diff(X, append=V[:, None]) | np.vdot(X, X) | np.cross(V, V[::-1]) | np.cross(A, V)
np.cross(A, A, axisa=0, axisb=0) | np.dot(X, X.T) | np.dot(X, 2.0) | np.dot(2.0, X) | np.dot(V, V) | np.inner(X, X)
np.inner(V, V) | np.kron(X, V) | np.tensordot(X, X, axes=([1], [1])) | np.trace(X, 1) | np.trace(N, dtype=float)
np.triu(X, 1) | np.tril(X) | np.hstack((X, X)) | np.vstack((V, V)) | np.dstack((V, V)) | np.column_stack((V, V))
np.concatenate((X, X), axis=None) | np.stack([V, V], axis=-1) | np.tile(V, (2, 1)) | np.repeat(X, [1, 0, 2], axis=0)
np.rot90(X, 3) | np.append(V, 5.0) | np.split(X, 2, axis=1) | np.array_split(V, 2) | np.hsplit(X, 2)
np.insert(V, 1, 5.0) | np.delete(V, 1) | np.fliplr(X) | np.searchsorted(np.sort(V), 1.0)
np.searchsorted(np.sort(V), X, "right") | np.bincount(N.ravel(), weights=X.ravel())
np.searchsorted(V, X, sorter=np.argsort(V)) | np.bincount(N.ravel(), minlength=20) | np.bincount(B.ravel())
np.argsort(X, axis=0, kind="stable") | np.argsort(X, axis=None) | np.argsort(N % 3, None)
np.argsort(X, kind="mergesort") | np.sort(X, 0, "quicksort") | np.sort(X, axis=None) | np.sort(X, stable=True)
np.partition(X, 1) | np.lexsort((V, V)) | np.sum(X, 1, keepdims=True) | np.sum(N, dtype=float) | np.sum(X, where=B)
np.sum(X, initial=2) | np.sum(a=X, axis=0) | np.mean(X, axis=(0, 1)) | np.mean(N, dtype=np.float32)
np.mean(X, where=B) | np.std(X, ddof=1) | np.std(X) | np.var(X, 0, ddof=1, keepdims=True) | np.var(X, correction=1)
np.var(N, dtype=np.float32) | np.max(X, initial=5.0) | np.max(X, axis=1, where=B, initial=0.0) | np.min(X, (0, 1))
np.amax(X, 1) | np.argmax(X, axis=1, keepdims=True) | np.all(X, axis=0) | np.any(B, where=B)
np.count_nonzero(X, axis=1) | np.cumsum(X) | np.cumsum(N, axis=1, dtype=float) | np.cumprod(X, 0)
np.prod(X, axis=-1) | np.ptp(X) | np.reshape(X, (4, 3)) | np.reshape(X, -1) | np.ravel(X) | np.squeeze(X[None])
np.expand_dims(X, (0, 2)) | np.moveaxis(X, 0, 1) | np.swapaxes(X, 0, 1) | np.flip(X, 0) | np.transpose(X)
np.broadcast_to(V, (2, 3)) | np.broadcast_arrays(X, X[0]) | np.take(X, [0, 5]) | np.diag(V)
np.take(X, [0, 50], mode="clip") | np.take(X, [0, 9], axis=1, mode="wrap") | np.take_along_axis(X, N[:, :1] % 4, 1)
np.compress([True, False, True], X, axis=0) | np.nonzero(X) | np.argwhere(B)
np.isin(N, [1, 2, 3], assume_unique=True) | np.zeros_like(X) | np.zeros_like(X, dtype=int) | np.full_like(X, 3)
np.eye(3, k=1) | np.eye(3, 4, dtype=int) | np.tri(3) | np.linspace(V, 2 * V, 3)
np.linspace(V, 2 * V, num=3, retstep=True) | np.meshgrid(V, V) | np.indices((2, 2))
np.meshgrid(V, V, sparse=True, indexing="ij") | np.pad(X, 1) | np.pad(X, ((1, 0), (0, 2)), "edge") | np.diagonal(X, 1)
np.pad(X, 1, mode="constant", constant_values=2.0) | np.nan_to_num(X, nan=1.0) | np.round(X, 1)
np.around(X, decimals=-1) | np.median(X, axis=0) | np.median(X) | np.percentile(X, [25, 75], axis=0)
np.quantile(X, 0.5, method="nearest") | np.average(X, weights=X**2) | np.cov(X) | np.cov(V) | np.corrcoef(X)
np.polyval(V, X) | np.polyfit(V, V**2, 1) | np.convolve(V, V, "same") | np.correlate(V, V) | np.gradient(X)
np.gradient(X, 2.0, axis=0) | np.trapezoid(X, dx=0.5) | np.interp(X, np.sort(V), V) | np.interp(0.5, np.sort(V), V)
np.histogram(X, bins=3) | np.histogram(X, 3, weights=X) | np.nansum(X, axis=0) | np.nanmean(X, 1) | np.nanmean(X)
np.nanmax(X) | np.nanstd(X, ddof=1) | np.nanpercentile(X, 30) | np.einsum("ij,kj->ik", X, X)
np.einsum("ij,kj", X, X, optimize=True) | np.einsum("ij,ij->", X, X) | np.einsum("ii", A) | np.linalg.norm(X)
np.linalg.norm(X, axis=1) | np.linalg.norm(X, ord=1) | np.linalg.norm(X, "nuc") | np.linalg.norm(V, 0)
np.linalg.norm(X, 2, (0, 1), True) | np.linalg.norm(N) | np.linalg.norm(V, -np.inf) | np.linalg.inv(A)
np.linalg.solve(A, V) | np.linalg.det(A) | np.linalg.slogdet(A) | np.linalg.eigh(A) | np.linalg.eigvalsh(A, "U")
np.linalg.svd(X) | np.linalg.svd(X, full_matrices=False) | np.linalg.svd(X, False, False) | np.linalg.qr(X)
np.linalg.qr(X, mode="complete") | np.linalg.qr(X, "r") | np.linalg.cholesky(A) | np.linalg.cholesky(A, upper=True)
np.linalg.pinv(X) | np.linalg.pinv(X, rcond=1e-3) | np.linalg.matrix_rank(X) | np.linalg.matrix_rank(X, tol=1e-3)
np.linalg.matrix_power(A, 3) | np.linalg.multi_dot([X, X.T]) | np.linalg.lstsq(X, V, rcond=None) | np.linalg.cond(A)
np.linalg.tensorsolve(A, V) | np.linalg.vector_norm(X, axis=0) | np.linalg.outer(V, V) | np.linalg.tensorinv(A, 1)
np.fft.fft(V) | np.fft.fft(V, n=8, norm="ortho") | np.fft.fft(V, norm=None) | np.fft.ifft(V) | np.fft.rfft(V)
np.fft.irfft(V) | np.fft.fft2(X) | np.fft.fftn(X, axes=(0,)) | np.fft.rfftn(X) | np.fft.fftshift(X) | np.fft.hfft(V)
np.fft.fftfreq(8, 0.1) | np.fft.fftfreq(8, d=0.1) | np.fft.rfftfreq(8) | np.fft.ifftn(X) | np.fft.irfft2(X)
np.unwrap(V) | np.arange(0, 5, 2) | np.arange(5.0) | np.zeros((2, 3), dtype=int) | np.full((2, 2), 7) | np.unique(N)
np.sinc(X) | np.unique(N, return_inverse=True) | np.allclose(X, X) | np.isclose(X, X + 1e-9) | np.array_equal(X, X)
np.vander(V) | np.digitize(X, [0, 1, 2]) | np.select([B], [X]) | np.copysign(X, -1) | np.ldexp(X, 2) | np.vecdot(X, X)
np.vecdot(V, V) | np.matmul(X, X.T) | np.matmul(V, V) | np.real(X) | np.iscomplex(X) | np.atleast_2d(V)
np.atleast_1d(V, X) | np.modf(X) | np.bitwise_count(N) | np.packbits(B) | np.gcd(N, 4) | np.divmod(N, 5) | np.frexp(X)
np.hypot(X, 1.0) | np.angle(X)
"""
EACH = [call.strip() for line in CALLS.strip().splitlines() for call in line.split("|")]


def _same(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        # A named tuple of ours stands for one of NumPy's.
        assert isinstance(got, tuple) == isinstance(expected, tuple) and len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            _same(g, e)
        return
    assert isinstance(got, np.ndarray) == isinstance(expected, np.ndarray)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    # The op may add up in another order.
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("call", EACH)
def test_the_op_gives_what_the_call_gives(call: str) -> None:
    name, _, arguments = call.partition("(")
    function = eval(name)
    args, kwargs = eval(f"(lambda *args, **kwargs: (args, kwargs))({arguments}")
    meant = op_call(function, args, kwargs)
    assert meant is not None
    op, ours, named = meant
    _same(op(*ours, **named), function(*args, **kwargs))


# What no op stands for: it calls Python, writes, prints, reads files, asks about types or memory, or its dtype or the
# type of its result depends on values.
WITHOUT_AN_OP = """
apply_along_axis apply_over_axes piecewise vectorize frompyfunc fromfunction fromiter nested_iters
copyto fill_diagonal place put put_along_axis putmask
array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific typename info
fromfile fromregex fromstring frombuffer genfromtxt load loadtxt save savetxt savez savez_compressed from_dlpack
get_include get_printoptions getbufsize geterr geterrcall printoptions set_printoptions setbufsize seterr seterrcall
show_config show_runtime test
can_cast common_type isdtype issubdtype iscomplexobj isrealobj isscalar isfortran iterable min_scalar_type mintypecode
ndim shape size promote_types result_type broadcast_shapes einsum_path may_share_memory shares_memory
array asarray asanyarray asarray_chkfinite ascontiguousarray asfortranarray asmatrix bmat require mask_indices
busday_count busday_offset datetime_as_string datetime_data is_busday isnat
real_if_close roots poly polydiv polymul row_stack in1d trapz matvec vecmat
""".split()


def test_every_function_of_numpy_has_an_op_or_a_reason() -> None:
    def names(module: Any) -> set[str]:
        public = {name for name in dir(module) if not name.startswith("_")}
        return {n for n in public if callable(getattr(module, n)) and not isinstance(getattr(module, n), type)}

    missing = {name for name in names(np) if op_of(getattr(np, name)) is None}
    missing |= {f"linalg.{name}" for name in names(np.linalg) if op_of(getattr(np.linalg, name)) is None}
    missing |= {f"fft.{name}" for name in names(np.fft) if op_of(getattr(np.fft, name)) is None}
    assert missing - {*WITHOUT_AN_OP, "linalg.test", "fft.test"} == set()


def test_calls_that_mean_no_op() -> None:
    assert op_call(np.sum, (X,), {"out": np.zeros(())}) is None
    assert op_call(np.concatenate, ([V, V],), {"dtype": np.float32}) is None
    assert op_call(np.linalg.eig, (A,), {}) is None  # real or complex by the values
    assert op_call(np.pad, (X, 1, "mean"), {}) is None
    assert op_call(np.argsort, (X,), {"stable": True}) == (weft.argsort, (X,), {"stable": True})
