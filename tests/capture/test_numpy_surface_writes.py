"""Writes into arrays, out=, views and in-place methods, in compiled functions."""

from __future__ import annotations

import pytest
from surface import check_captured, texts

STATEMENTS = r"""
x.sort() ;; X.sort(axis=0) ;; X.sort(0) ;; X.sort(axis=-1, kind="stable")
x.sort()\nreturn x
x.fill(0) ;; x.fill(k) ;; i.fill(3.7) ;; x.fill(x[0]) ;; x.put([0, 2], [9, 8]) ;; x.put([0, 2], 5) ;; x.put(j, y)
np.put(x, [0, 1, 2], [7, 8]) ;; np.put(X, [0, 4], [9, 8]) ;; np.put(x, [0, 20], 5, mode="wrap")
np.put(x, [0, 20], 5, mode="clip") ;; np.put(x, k, r) ;; x.partition(2) ;; np.copyto(x, y) ;; np.copyto(x, 0)
np.copyto(x, y, where=b) ;; np.copyto(X, x[:, None]) ;; np.copyto(i, x, casting="unsafe") ;; np.putmask(x, b, 0)
np.putmask(x, x > 0, y) ;; np.putmask(x, b, [1, 2]) ;; np.putmask(X, B, 5) ;; np.place(x, b, 0)
np.place(x, b, [1, 2]) ;; np.place(X, B, [1.5]) ;; np.put_along_axis(X, np.argmax(X, axis=1)[:, None], 0, axis=1)
np.put_along_axis(X, np.argsort(X, axis=0), Y, axis=0) ;; np.fill_diagonal(S, 0) ;; np.fill_diagonal(S, x)
np.fill_diagonal(X, 5) ;; np.fill_diagonal(X, 5, wrap=True) ;; np.fill_diagonal(S, [1, 2])
np.add.at(x, [0, 0, 1], 1) ;; np.add.at(x, j, y) ;; np.add.at(x, j, 1) ;; np.add.at(X, (j, 0), 1)
np.add.at(X, (slice(None), [0, 0]), 2.0) ;; np.add.at(i, j, 2) ;; np.add.at(f, j, r) ;; np.add.at(u, j, 100)
np.add.at(i, j, 2.5) ;; np.subtract.at(x, j, y) ;; np.subtract.at(u, j, 3) ;; np.maximum.at(x, j, y)
np.minimum.at(x, [0, 1], 0) ;; np.multiply.at(x, j, 2) ;; np.negative.at(x, [0, 1]) ;; np.logical_or.at(b, j, True)
np.bitwise_xor.at(i, j, 7) ;; np.add(x, y, out=x) ;; np.add(x, y, x) ;; np.add(x, y, out=(x,))
np.add(x, y, x, where=b) ;; np.add(x, y, out=x, where=b) ;; np.multiply(x, 2, out=x, where=x > 0) ;; np.sqrt(p, p)
np.sqrt(x, out=y, where=x > 0) ;; np.divide(x, y, out=np.zeros_like(x), where=y > 0) ;; np.true_divide(i, 2, out=x)
np.add(x, y, out=i, casting="unsafe") ;; np.add(x, y, out=f) ;; np.add(x, 1, out=X[:, 0])
np.add(x[:, None], X, out=X) ;; np.add(X, 1, X[::-1]) ;; np.modf(x, y, p) ;; np.modf(x, out=(y, p))
np.modf(x, y, p, where=b) ;; np.divmod(x, 2, out=(y, p), where=x > 0)
np.modf(x, out=(x, p), where=b) ;; np.divmod(i, 3, out=(i, j), where=i > 1)
np.modf(x, out=(y, None)) ;; np.divmod(i, 3, out=(i, j)) ;; np.frexp(x, y) ;; np.sum(X, axis=1, out=x)
np.sum(X, 1, None, x) ;; np.cumsum(x, out=y) ;; np.cumsum(x, 0, None, y) ;; np.mean(X, axis=1, out=x)
np.max(X, axis=1, out=x) ;; np.argmax(X, axis=1, out=j) ;; np.clip(x, 0, 1, out=x) ;; np.clip(x, 0, 1, x)
x.clip(0, 1, out=x) ;; x.sum(out=z) ;; X.sum(axis=1, out=x) ;; X.mean(0, out=Y[0]) ;; np.dot(S, x, out=y)
np.dot(S, x, y) ;; S.dot(x, y) ;; np.matmul(S, X, out=Y) ;; np.matmul(S, X, Y) ;; np.take(x, j, out=y)
np.take(x, j, 0, y) ;; np.round(x, 1, out=x) ;; x.round(1, x) ;; np.concatenate([x[:2], y[2:]], out=p)
np.stack([x, y], out=np.zeros((2, len(x)))) ;; np.stack([x, y], axis=1, out=np.zeros((len(x), 2)))
np.einsum("ij,ij->i", X, Y, out=x) ;; np.outer(x, y, out=S) ;; np.add.reduce(X, axis=1, out=x)
np.add.accumulate(x, out=y) ;; np.add.accumulate(x, 0, None, y) ;; np.multiply.outer(x, y, out=S)
np.add.reduce(X, 1, None, x) ;; np.nan_to_num(nan, copy=False) ;; np.nan_to_num(nan, False, 1.5)
np.nan_to_num(nan, copy=False, nan=7.0)\nreturn nan
np.cumprod(x, out=x) ;; np.median(x, overwrite_input=True) ;; np.std(X, axis=1, out=x) ;; np.any(B, axis=1, out=b)
np.compress(b, x, out=np.empty(b.sum())) ;; np.choose(j % 2, [x, y], out=p) ;; np.logical_not(b, out=b)
np.logical_and(x > 0, y > 0, out=b) ;; np.greater(x, y, out=b)
np.exp(x, out=x)\nreturn x.sum()
np.fft.fft(x, out=c) ;; np.linalg.solve(S, x, ) ;; np.ma.filled(x) ;; x.shape = (len(x), 1)
x.shape = (1, -1)\nreturn x
X.shape = -1
X.shape = X.shape[::-1]\nreturn X
a = x.copy()\na.shape = (1, len(x))\nreturn a
x.flat[2] = 9 ;; x.flat = 5 ;; x.flat = y ;; x.flat[1:3] = [1, 2] ;; X.flat[3] = 9 ;; X.flat[1:6:2] = 0
X.flat[[0, 3]] = 7 ;; X.T.flat[1] = 5 ;; S.flat[::len(S) + 1] = 1 ;; X.flat = y ;; X.flat = [1, 2]
for v in X.flat:\n    print(v)
n = 0\nfor v in X.flat:\n    n += v\nreturn n
X.flat[j] ;; X.flat.copy() ;; len(X.flat) ;; X.T[0] = 5 ;; X.T[0, 1] = 5 ;; X.T[:] = 1 ;; X.T[:, 0] = y[:X.shape[1]]
c.real = 0 ;; c.real = x ;; c.imag[0] = 5 ;; c.imag[:] = x ;; c.real[1:] += 1 ;; c.real *= 2 ;; C.real[:, 0] = 1
C.T.imag[0] = 3 ;; x.real[0] = 4 ;; x[0] = 1 ;; x[-1] = k ;; x[k] = r ;; x[k:] = 0 ;; x[:k] = y[:k] ;; x[::2] = 1
x[::-1] = y ;; x[1:] = x[:-1] ;; x[:-1] = x[1:] ;; x[[0, 1]] = [5, 6] ;; x[[0, 1]] = 5 ;; x[j] = y ;; x[b] = 0
x[b] = y[b] ;; x[~b] *= 2 ;; x[b] += 1 ;; x[x > 0] = -x[x > 0] ;; x[...] = 7 ;; x[...] = y ;; x[:] = y ;; x[:] = l[0]
x[:] = range(len(x)) ;; x[:3] = [k, r, 1] ;; x[:3] = (1, 2, 3) ;; x[None] = y ;; x[None, :] = 5 ;; x[()] = 3
X[0] = 1 ;; X[0, 1] = 2 ;; X[0][1] = 2 ;; X[:, 0] = x ;; X[:, [0, 1]] = 0 ;; X[[0, 1], [1, 0]] = [5, 6]
X[[0, 1]][:, 0] = 5 ;; X[j, 0] = y ;; X[j] = 0 ;; X[B] = 0 ;; X[B] = Y[B] ;; X[b] = 0 ;; X[b, 0] = 9 ;; X[b] = X[0]
X[:, b[:X.shape[1]]] = 0 ;; X[..., 0] = x ;; X[..., None] = 1 ;; X[0, ...] = 1 ;; X[1:, 1:] = 0
X[k:, :2] += Y[k:, :2] ;; X[np.ix_([0, 1], [0, 2])] = 1 ;; X[np.arange(len(X)), 0] = x
X[np.arange(len(X)), np.argmax(X, axis=1)] = 0 ;; X[(0, 1)] = 2 ;; X[np.array([0, 1]), np.array([1, 1])] += 1
X[0, :], X[1, :] = X[1, :], X[0, :].copy() ;; X[[0, 1]] = X[[1, 0]] ;; x[0], x[1] = x[1], x[0] ;; T3[0, :, 1] = x
T3[:, 0, [0, 1]] = 7 ;; T3[[0, 1], :, [0, 1]] = 3 ;; T3[..., 0][0] = 5 ;; x[0] = y[1] = 0
X[0] = Y[:, 1][:X.shape[1]] = 0 ;; x[0] = X[:, 1] = 0 ;; i[0] = 3.7 ;; i[:] = x ;; u[0] = 255 ;; u[:] = i
u[0] += 100 ;; u += 100 ;; u -= 200 ;; u *= 3 ;; u <<= 2 ;; i8 += 100
i8[0] = 127\ni8[0] += 1
f[0] = r ;; f[:] = x ;; f += x ;; f += k ;; f *= r ;; i += 1 ;; i //= 2 ;; i **= 2 ;; i %= 3 ;; i &= 3 ;; i |= 4
i ^= 5 ;; i >>= 1 ;; b &= x > 0 ;; b |= True ;; b ^= b[::-1] ;; b[0] = 5 ;; b[:] = x ;; x **= 2 ;; x //= 0.3 ;; x %= 1
x @= S ;; S @= S ;; c *= 1j ;; c += w ;; x -= x ;; x += x[::-1] ;; X += x[:, None] ;; X -= X.mean(axis=0)
X /= X.sum(axis=1, keepdims=True) ;; x[1:] += x[:-1] ;; x[1:-1] = (x[2:] + x[:-2]) / 2 ;; x[0] += 1 ;; x[k] *= 2
X[k, 1] -= r ;; z += 1 ;; z[...] = 5 ;; z[()] = k ;; zi += 1 ;; z.fill(2) ;; e[:] = 1 ;; E += 1
v = x[1:]\nv[0] = 3
v = x.reshape(-1, 1)\nv[0, 0] = 3
v = X.ravel()\nv[0] = 3
v = X.flatten()\nv[0] = 3
v = X.T.ravel()\nv[0] = 3
v = X.T\nv += 1
v = X[::2, ::-1]\nv[:] = 0
v = np.transpose(T3, (2, 0, 1))\nv[0] = 1
v = np.diagonal(S)\nreturn v.sum()
v = np.squeeze(X[:1])\nv[0] = 8
v = x.view()\nv[0] = 8
v = np.asarray(x)\nv[0] = 8
v = np.array(x)\nv[0] = 8
v = np.array(x, copy=False)\nv[0] = 8
v = np.atleast_2d(x)\nv[0, 0] = 8
v = np.atleast_1d(x)\nv[0] = 8
v = np.swapaxes(T3, 0, 1)\nv[0] = 8
v = np.moveaxis(T3, 0, -1)\nv[0] = 8
v = np.rollaxis(T3, 1)\nv[0] = 8
v = np.flip(x)\nv[0] = 8
v = np.flipud(X)\nv[0] = 8
v = np.fliplr(X)\nv[0] = 8
v = np.rot90(X)\nv[0] = 8
v = np.expand_dims(x, 0)\nv[0, 0] = 8
v = np.atleast_3d(X)\nv[0] = 8
v, w2 = np.split(x, [2])\nv[0] = 8
v = np.array_split(X, 2, axis=0)[0]\nv[0] = 8
v = np.ravel(X)\nv[0] = 8
v = np.real(c)\nv[0] = 8
v = np.imag(c)\nv[0] = 8
v = np.matrix_transpose(X)\nv[0] = 8
v = np.meshgrid(x, y, copy=False)[0]\nreturn v.sum()
v = np.broadcast_arrays(x, X[:, :1])[0]\nreturn v.sum()
v = x.astype(float, copy=False)\nv[0] = 8
v = x.astype(float)\nv[0] = 8
v = np.ascontiguousarray(x)\nv[0] = 8
v = np.ascontiguousarray(X.T)\nv[0] = 8
v = np.asfortranarray(X)\nv[0] = 8
v = np.lib.stride_tricks.sliding_window_view(x, 2)\nreturn v.sum()
v = np.nan_to_num(x)\nv[0] = 8
v = np.real_if_close(x)\nv[0] = 8
v = x.squeeze()\nv[0] = 8
v = x.conj()\nv[0] = 8
v = +x\nv[0] = 8
v = x.round(20)\nv[0] = 8
v = np.diag(S)\nreturn v.sum()
v = x.T\nv[0] = 8
v = X.mT\nv[0] = 8
v = x[b]\nv[0] = 8
v = x[[0, 1]]\nv[0] = 8
v = x[...]\nv[0] = 8
v = X[0]\nv[0] = 8
for row in X:\n    row[0] = 1
for row in X:\n    row += 1
for row in X:\n    row[:] = row / row.sum()
for n, row in enumerate(X):\n    row[n % 2] = 0
for a, d in zip(X, Y):\n    a[:] = d
for row in X.T:\n    row.sort()
x[0] = x[1] = x[2] ;; x[np.newaxis, 0] = 4 ;; x[slice(1, None)] = 0 ;; x[np.array([True, False] * 10)[:len(x)]] = 4
x.__setitem__(0, 5) ;; operator.setitem(x, 0, 5) ;; operator.iadd(x, 1) ;; operator.itemgetter(0)(x)
operator.itemgetter(0, 2)(x) ;; operator.attrgetter("T")(X) ;; operator.methodcaller("sum")(x) ;; del x
np.random.shuffle(x) ;; np.random.shuffle(X) ;; np.random.permutation(x) ;; np.random.permutation(k) ;; x[0] = np.nan
x[0:0] = 5 ;; x[k - 5:] = 3 ;; x[-k:] = 3 ;; x[:-k] = 3 ;; X[-1, -1] = k ;; X[k % 2, k % 3] = 1.5
"""


@pytest.mark.parametrize("text", texts(STATEMENTS))
def test_captured_as_plain(text: str) -> None:
    check_captured(text)
