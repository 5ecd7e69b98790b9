"""Cases of `ops/linalg_decompositions.py`.

Factors are checked by their product and their structure. Gradients with respect to a Hermitian argument, and of factors
that are determined only up to a phase, are in `test_linalg_gradients.py`: the differences taken here move one element
alone and weigh every element of every factor.
"""

import numpy as np
from cases import case, integers, normal

C = np.complex128
TOLERANCE = {"f": 1e-4, "d": 1e-10, "F": 1e-4, "D": 1e-10}  # single and double precision


def h(x):
    return np.swapaxes(x, -1, -2).conj()


def positive(*shape, dtype=np.float64):
    """Hermitian positive definite matrices."""
    x = normal(*shape, dtype=dtype)
    return x @ h(x) + np.eye(shape[-1]).astype(dtype)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE.get(a.dtype.char, 1e-10) * max(1, np.abs(b).max(initial=0)))


def orthonormal_columns(x):
    close(h(x) @ x, np.broadcast_to(np.eye(x.shape[-1]), (*x.shape[:-2], x.shape[-1], x.shape[-1])))


def check_dtypes(results, x, real=()):
    dtype = np.linalg.inv(np.ones((1, 1), x.dtype)).dtype
    for i, each in enumerate(results):
        assert each.dtype == (np.empty(0, dtype).real.dtype if i in real else dtype)


def check_qr(result, x, mode="reduced"):
    q, r = result.Q, result.R
    m, n = x.shape[-2:]
    k = min(m, n) if mode == "reduced" else m
    assert (q.shape, r.shape) == ((*x.shape[:-2], m, k), (*x.shape[:-2], k, n))
    check_dtypes(result, x)
    close(q @ r, x)
    orthonormal_columns(q)
    assert np.all(np.tril(r, -1) == 0)


def check_svd(result, x, full_matrices=True):
    u, s, vh = result.U, result.S, result.Vh
    m, n = x.shape[-2:]
    k = min(m, n)
    assert u.shape[-2:] == ((m, m) if full_matrices else (m, k))
    assert vh.shape[-2:] == ((n, n) if full_matrices else (k, n))
    check_dtypes(result, x, real=(1,))
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    orthonormal_columns(u)
    orthonormal_columns(h(vh))
    assert np.all(s >= 0) and np.all(np.diff(s, axis=-1) <= 0)


def check_eigh(result, x, UPLO="L"):
    w, v = result.eigenvalues, result.eigenvectors
    half = np.tril(x, -1) if UPLO == "L" else np.triu(x, 1)
    full = half + h(half) + np.where(np.eye(x.shape[-1]), x.real, 0)
    check_dtypes(result, x, real=(0,))
    close((v * w[..., None, :]) @ h(v), full)
    orthonormal_columns(v)
    assert np.all(np.diff(w, axis=-1) >= 0)


def check_eig(result, x):
    w, v = result.eigenvalues, result.eigenvectors
    assert w.dtype == v.dtype == np.result_type(np.linalg.inv(np.ones((1, 1), x.dtype)).dtype, np.complex64)
    close(x @ v, v * w[..., None, :])
    close(np.sum(np.abs(v) ** 2, axis=-2), np.ones(w.shape))


def check_eigvals(w, x):
    """The coefficients of the characteristic polynomial do not depend on the order."""
    assert w.dtype == np.result_type(np.linalg.inv(np.ones((1, 1), x.dtype)).dtype, np.complex64)
    for index in np.ndindex(w.shape[:-1]):
        close(np.asarray(np.poly(w[index])), np.poly(np.linalg.eig(x[index]).eigenvalues))


DTYPES = (np.float64, C)
for dtype in (*DTYPES, np.float32, np.complex64):
    rtol = 1e-12 if dtype in DTYPES else 1e-5
    for shape in [(3, 3), (2, 2, 2), (1, 1), (0, 2, 2), (0, 0)]:
        x = positive(*shape, dtype=dtype)
        case("cholesky", x, ref=np.linalg.cholesky, _grad=False, _rtol=rtol)
        case("cholesky", x, upper=True, ref=np.linalg.cholesky, _grad=False, _rtol=rtol)
        case("eigh", x, _check=check_eigh, _grad=False)
        case("eigh", normal(*shape, dtype=dtype), UPLO="U", _check=check_eigh, _grad=False)
        case("eigvalsh", normal(*shape, dtype=dtype), ref=np.linalg.eigvalsh, _grad=False, _rtol=rtol)
        case("eigvalsh", normal(*shape, dtype=dtype), "U", ref=np.linalg.eigvalsh, _grad=False, _rtol=rtol)
        case("eig", normal(*shape, dtype=dtype), _check=check_eig, _grad=False)
        case("eigvals", normal(*shape, dtype=dtype), _check=check_eigvals)
    for shape in [(3, 2), (2, 3), (3, 3), (2, 3, 2), (2, 1, 3), (0, 3, 2), (2, 0), (0, 2)]:
        x = normal(*shape, dtype=dtype)
        # A square or wide complete QR is the reduced one, and a tall complete one refuses: see the gradient tests.
        case("qr", x, _check=check_qr)
        case("qr", x, mode="complete", _check=check_qr, _grad=shape[-2] <= shape[-1])
        # Real singular vectors have a sign, which stays as it is nearby; complex ones have a phase.
        case("svd", x, full_matrices=False, _check=check_svd, _grad=dtype == np.float64)
        case("svd", x, _check=check_svd, _grad=dtype == np.float64 and shape[-2] == shape[-1])
        case("svdvals", x, ref=np.linalg.svdvals, _rtol=rtol)
case("cholesky", 4 * np.eye(2, dtype=int), ref=np.linalg.cholesky)
case("eigh", integers(0, 9, 2, 2), _check=check_eigh)
case("eigvalsh", integers(0, 9, 2, 2), ref=np.linalg.eigvalsh)
case("qr", integers(0, 9, 3, 2), _check=check_qr)
case("svd", integers(0, 9, 3, 2), _check=check_svd)
case("svd", normal(3, 2, dtype=C), compute_uv=False, ref=np.linalg.svd)
case("svdvals", np.eye(2, dtype=bool), ref=np.linalg.svdvals)
case("eig", integers(1, 9, 2, 2), _check=check_eig)

case("refuse_nonzero", np.zeros(3), "reason enough", ref=lambda x, reason: np.zeros(()), _grad=False)
