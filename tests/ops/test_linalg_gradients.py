"""Gradients the cases cannot state: of Hermitian arguments, of factors with a free phase, at degenerate points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import normal
from tape import Traced, gradients

import weft
from weft import linalg
from weft.errors import NotDifferentiable
from weft.ops import TABLE

C = np.complex128
DTYPES = (np.float64, C)
both = pytest.mark.parametrize("dtype", DTYPES)


def h(x: Any) -> Any:
    return weft.conj(weft.matrix_transpose(x)) if x.dtype.kind == "c" else weft.matrix_transpose(x)


def hermitian(x: Any) -> Any:
    return 0.5 * (x + h(x))


def positive(x: Any) -> Any:
    return x @ h(x) + np.eye(x.shape[-1])


def weigh(y: Any, seed: int = 0) -> Any:
    """A real number that depends smoothly on each element."""
    weight = normal(*y.shape, seed=seed)
    if y.dtype.kind == "c":
        return weft.sum(weft.real(y) * weight) + weft.sum(weft.sin(weft.imag(y)) * weight)
    return weft.sum(weft.sin(y) * weight)


def squares(x: Any) -> Any:
    """|x|^2 of each element, which no phase changes."""
    return weft.real(x * weft.conj(x)) if x.dtype.kind == "c" else x * x


def differences(f: Callable[[Any], Any], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of a real function."""
    result = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            move = np.zeros_like(x)
            move[index] = step * unit
            result[index] += unit * float(np.asarray(_data(f(x + move)) - _data(f(x - move)))) / (2 * step)
    return result


def _data(y: Any) -> Any:
    return y.data if isinstance(y, Traced) else y


def gradient(f: Callable[[Any], Any], x: Any) -> Any:
    x = x if isinstance(x, Traced) else Traced(x)
    return gradients(f(x), [x])[0]


def check(f: Callable[[Any], Any], x: np.ndarray) -> None:
    """First and second derivatives against differences."""
    np.testing.assert_allclose(gradient(f, x).data, differences(f, x), rtol=2e-5, atol=2e-6)
    weight = normal(*x.shape, seed=9, dtype=x.dtype)

    def slope(x: Any) -> Any:
        return weft.sum(weft.real(gradient(f, x) * weight))

    lifted = Traced(x)
    second = gradients(slope(lifted), [lifted])[0]
    np.testing.assert_allclose(second.data, differences(lambda x: slope(Traced(x)), x), rtol=2e-4, atol=2e-5)


@both
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_cholesky(dtype: Any, upper: bool, shape: tuple[int, ...]) -> None:
    check(lambda x: weigh(linalg.cholesky(positive(x), upper=upper)), normal(*shape, dtype=dtype))


@both
@pytest.mark.parametrize("UPLO", ["L", "U"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_eigh_values(dtype: Any, UPLO: str, shape: tuple[int, ...]) -> None:
    x = normal(*shape, dtype=dtype)
    check(lambda x: weigh(linalg.eigvalsh(hermitian(x), UPLO)), x)
    check(lambda x: weigh(linalg.eigh(hermitian(x), UPLO).eigenvalues), x)


@both
@pytest.mark.parametrize("upper", [False, True])
def test_only_the_triangle_that_is_read_has_a_gradient(dtype: Any, upper: bool) -> None:
    x = normal(3, 3, dtype=dtype) + 6 * np.eye(3)
    UPLO = "U" if upper else "L"
    for f in (
        lambda x: weigh(linalg.eigvalsh(x, UPLO)),
        lambda x: weigh(squares(linalg.eigh(x, UPLO).eigenvectors)),
        lambda x: weigh(linalg.cholesky(x, upper=upper)),
    ):
        check(f, x)
        ignored = np.tril(np.ones(x.shape), -1) if upper else np.triu(np.ones(x.shape), 1)
        assert not np.any(gradient(f, x).data * ignored)


@both
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_eigh_vectors(dtype: Any, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        w, v = linalg.eigh(hermitian(x))
        exponential = (v * weft.expand_dims(weft.exp(w), -2)) @ h(v)
        return weigh(exponential) + weigh(squares(v), 1)

    check(f, normal(*shape, dtype=dtype))


@both
@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2)])
def test_eig(dtype: Any, shape: tuple[int, ...]) -> None:
    x = normal(*shape, dtype=dtype, seed=3)

    def f(x: Any) -> Any:
        w, v = linalg.eig(x)
        # Sums over all eigenvalues: their order is NumPy's to choose.
        powers = weft.sum(w * w * w, axis=-1) + weft.sum(weft.sum(squares(v) * squares(v), axis=-2) * w * w, axis=-1)
        return weigh(powers)

    check(f, x)
    check(lambda x: weigh(weft.sum(weft.sin(linalg.eigvals(x)), axis=-1)), x)


@both
@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize("full_matrices", [False, True])
def test_svd(dtype: Any, shape: tuple[int, ...], full_matrices: bool) -> None:
    k = min(shape[-2:])

    def f(x: Any) -> Any:
        u, s, vh = linalg.svd(x, full_matrices=full_matrices)
        u, vh = u[..., :k], vh[..., :k, :]
        cubed = (u * weft.expand_dims(s * s * s, -2)) @ vh
        return weigh(cubed) + weigh(squares(u), 1) + weigh(squares(vh), 2) + weigh(u @ vh, 3)

    check(f, normal(*shape, dtype=dtype))


@both
def test_qr_complete(dtype: Any) -> None:
    def f(x: Any) -> Any:
        q, r = linalg.qr(x, mode="complete")
        return weigh(q[:, :2]) + weigh(r)

    check(f, normal(4, 2, dtype=dtype))


def test_what_has_no_derivative_says_so() -> None:
    x = normal(3, 2)
    with pytest.raises(NotDifferentiable, match="extra columns of U and rows of Vh are any basis"):
        gradient(lambda x: weigh(linalg.svd(x).U), x)
    with pytest.raises(NotDifferentiable, match="extra columns of U and rows of Vh are any basis"):
        gradient(lambda x: weigh(linalg.svd(x).Vh), np.swapaxes(x, 0, 1))
    with pytest.raises(NotDifferentiable, match="last 1 columns of a complete Q"):
        gradient(lambda x: weigh(linalg.qr(x, mode="complete").Q), x)
    with pytest.raises(NotDifferentiable, match="the rank is an integer"):
        linalg.matrix_rank.gradient("x", 1.0, 2, (x, None))


# Degenerate points: values alone are differentiable (their symmetric functions are smooth), vectors are not.


@both
def test_values_at_a_repeated_value(dtype: Any) -> None:
    eye = np.eye(3, dtype=dtype)
    for f in (lambda x: weft.sum(linalg.eigh(x).eigenvalues), lambda x: weft.sum(linalg.eigvalsh(x))):
        np.testing.assert_allclose(gradient(f, eye).data, eye, atol=1e-14)
    for f in (lambda x: weft.sum(linalg.svd(x).S), lambda x: weft.sum(linalg.svdvals(x))):
        np.testing.assert_allclose(gradient(f, eye).data, eye, atol=1e-14)
    tripled = gradient(lambda x: weft.sum(weft.real(linalg.eigvals(x) * 3)), eye).data
    np.testing.assert_allclose(tripled, 3 * eye, atol=1e-14)


def test_vectors_of_a_repeated_value_are_nan() -> None:
    assert np.isnan(gradient(lambda x: weigh(linalg.eigh(hermitian(x)).eigenvectors), np.eye(3)).data).all()
    assert np.isnan(gradient(lambda x: weigh(linalg.svd(x).U), np.eye(3)).data).all()


@pytest.mark.parametrize(("values", "at"), [([1.0, 2.0, 2.0], 0), ([2.0, 2.0, 5.0], 2)])
def test_a_simple_value_beside_a_repeated_one(values: list[float], at: int) -> None:
    def f(x: Any) -> Any:
        vector = linalg.eigh(hermitian(x)).eigenvectors[:, at]
        return weigh(weft.outer(vector, vector))

    x = np.diag(values)
    np.testing.assert_allclose(gradient(f, x).data, differences(f, x), rtol=2e-5, atol=2e-6)


def test_second_derivative_of_values_at_a_repeated_value_is_not_silently_wrong() -> None:
    # The second derivative of sum(w^2) is 2, but it would need vectors that are not determined.
    x = Traced(np.eye(2))
    first = gradient(lambda x: weft.sum(linalg.eigvalsh(hermitian(x)) ** 2), x)
    second = gradients(weft.sum(first * np.ones((2, 2))), [x])[0].data
    assert np.isnan(second).all()


@both
def test_zero_singular_values(dtype: Any) -> None:
    x = np.outer(normal(3, dtype=dtype), normal(2, dtype=dtype, seed=1))
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    first = np.array([1.0, 0.0])
    got = gradient(lambda x: weft.sum(linalg.svdvals(x) * first), x).data
    np.testing.assert_allclose(got, np.outer(u[:, 0], vh[0]), atol=1e-12)
    for f in (lambda x: weft.sum(linalg.svd(x, full_matrices=False).S), lambda x: linalg.matrix_norm(x, ord="nuc")):
        assert np.isfinite(gradient(f, np.zeros((3, 2), dtype)).data).all()


def test_det_of_singular_matrices() -> None:
    x = np.array([[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(gradient(linalg.det, x).data, [[4.0, -2.0], [-2.0, 1.0]], atol=1e-14)
    lifted = Traced(np.zeros((2, 2)))
    slope = gradients(linalg.det(lifted), [lifted])[0]
    # det = ad - bc: the derivative of d (at [0, 0]) with respect to d is one.
    np.testing.assert_allclose(gradients(slope[0, 0], [lifted])[0].data, [[0.0, 0.0], [0.0, 1.0]], atol=1e-14)


@both
def test_third_derivative_of_det(dtype: Any) -> None:
    x, a, b, c = (normal(3, 3, dtype=dtype, seed=s) for s in range(4))
    direction = [np.conj(each) for each in (a, b, c)]  # a gradient pairs with the conjugate

    def along(f: Callable[[Any], Any], v: np.ndarray) -> Callable[[Any], Any]:
        return lambda x: weft.sum(gradient(lambda y: weft.real(f(y)), x) * np.conj(v))

    got = along(along(along(linalg.det, direction[0]), direction[1]), direction[2])(Traced(x)).data
    # The coefficient of t1 t2 t3 in det(x + ...) by inclusion and exclusion; det is cubic, so it does not depend on x.
    real = [np.conj(v) for v in (a, b, c)]
    sums = [real[0] + real[1] + real[2], real[0] + real[1], real[0] + real[2], real[1] + real[2], *real]
    signs = [1, -1, -1, -1, 1, 1, 1]
    expected = sum(s * np.linalg.det(m) for s, m in zip(signs, sums, strict=True))
    if dtype is C:
        got, expected = np.real(got), np.real(expected)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


@both
@pytest.mark.parametrize("ord", [0, 0.5, 1, 1.5, 2, 3, np.inf, -np.inf, -1])
def test_norm_of_zero_is_flat(dtype: Any, ord: float) -> None:
    x = np.zeros((2, 3), dtype)
    got = gradient(lambda x: weft.sum(linalg.vector_norm(x, axis=1, ord=ord)), x).data
    np.testing.assert_array_equal(got, x)


def test_norm_of_zeros_among_others() -> None:
    x = np.array([1.0, -1.0, 0.0])
    # The subgradients that torch gives: ties share, a zero element has none.
    for ord, expected in [
        (0.5, [2.0, -2.0, 0.0]),
        (1, [1.0, -1.0, 0.0]),
        (1.5, np.array([1.0, -1.0, 0.0]) / 2 ** (1 / 3)),
        (2, np.array([1.0, -1.0, 0.0]) / np.sqrt(2)),
        (3, np.array([1.0, -1.0, 0.0]) / 2 ** (2 / 3)),
        (np.inf, [0.5, -0.5, 0.0]),
        (-np.inf, [0.0, 0.0, 0.0]),
        (-1, [0.0, 0.0, 0.0]),
    ]:
        got = gradient(lambda x, ord=ord: linalg.vector_norm(x, ord=ord), x).data
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_norm_scales_do_not_overflow() -> None:
    got = gradient(lambda x: linalg.vector_norm(x, ord=4), np.array([1e70, -1e70])).data
    np.testing.assert_allclose(got, np.array([1.0, -1.0]) / 2**0.75)


@pytest.mark.parametrize(
    ("ord", "expected"), [("fro", 0.5**0.5), ("nuc", 1.0), (2, 0.5), (-2, 0.5), (1, 0.5), (-1, 0.5)]
)
def test_matrix_norms_at_the_identity(ord: Any, expected: float) -> None:
    # Ties share evenly, as torch has it.
    got = gradient(lambda x: linalg.matrix_norm(x, ord=ord), np.eye(2)).data
    np.testing.assert_allclose(got, expected * np.eye(2), atol=1e-14)


def test_pinv_of_a_matrix_without_full_rank() -> None:
    left, right = normal(3, 2), normal(2, 3, seed=1)

    def f(left: Any) -> Any:
        return weigh(linalg.pinv(left @ right, rtol=1e-9))

    np.testing.assert_allclose(gradient(f, left).data, differences(f, left), rtol=2e-5, atol=2e-6)


def test_gradient_of_an_argument_made_hermitian_is_hermitian() -> None:
    x = normal(3, 3, dtype=C)
    x = x @ np.conj(x.T) + np.eye(3)
    for f in (
        lambda x: weigh(linalg.cholesky(hermitian(x))),
        lambda x: weigh(linalg.eigvalsh(hermitian(x))),
        lambda x: weigh(squares(linalg.eigh(hermitian(x)).eigenvectors)),
    ):
        got = gradient(f, x).data
        np.testing.assert_allclose(got, np.conj(got.T), atol=1e-13)


def test_rules_work_on_shapes_alone() -> None:
    """Every rule of this area runs on Specs: it asks for shapes and dtypes, never for values."""
    wanted = {
        "cholesky": (weft.spec((2, 3, 3), C), False),
        "eigh": (weft.spec((2, 3, 3), C), "L"),
        "eigvalsh": (weft.spec((2, 3, 3)), "L"),
        "eig": (weft.spec((2, 3, 3)),),
        "eigvals": (weft.spec((2, 3, 3)),),
        "qr": (weft.spec((2, 3, 4)), "reduced"),
        "svd": (weft.spec((2, 4, 3), C), True, True),
        "svdvals": (weft.spec((2, 3, 4)),),
        "det": (weft.spec((2, 3, 3)),),
        "slogdet": (weft.spec((2, 3, 3), C),),
        "inv": (weft.spec((2, 3, 3)),),
        "pinv": (weft.spec((2, 3, 4)), None),
        "matmul": (weft.spec((2, 3, 4)), weft.spec((4, 5))),
        "solve": (weft.spec((2, 3, 3)), weft.spec((3,))),
        "rfft": (weft.spec((2, 5)), 4, -1, "backward"),
        "irfft": (weft.spec((2, 5), C), 7, -1, "backward"),
        "vector_norm": (weft.spec((2, 5), C), 1, False, 3),
        "contract": ("iij,jk->k", [weft.spec((2, 2, 3)), weft.spec((3, 4), C)]),
    }
    for name, arguments in wanted.items():
        op = TABLE[name]
        y = op.infer(*arguments)
        for parameter in op.arrays:
            x = arguments[list(op.__signature__.parameters).index(parameter)]
            found = op.gradient(parameter, y, y, arguments)
            assert found == x, name
