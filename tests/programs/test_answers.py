"""The programs do what their names say: some of them against NumPy, SciPy or the standard library."""

from __future__ import annotations

import binascii
import math

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse.csgraph
import scipy.spatial
import scipy.stats

from programs import (
    bits_crc,
    cellular,
    fractals,
    graphs_dp,
    image,
    linalg_dense,
    linalg_loops,
    ode_physics,
    rnn_conv,
    signal,
    sorting,
    sparse,
    statistics,
    strings_of_numbers,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def positive(rng, n):
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def test_factorisations(rng) -> None:
    a = positive(rng, 5)
    b = rng.standard_normal(5)
    factors = a.copy()
    linalg_loops.lu(factors)
    np.testing.assert_allclose((np.tril(factors, -1) + np.eye(5)) @ np.triu(factors), a)
    factor = a.copy()
    linalg_loops.cholesky(factor)
    np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(a))
    for q, r in (linalg_loops.gram_schmidt(a.copy()), linalg_loops.householder_qr(a)):
        np.testing.assert_allclose(q @ r, a, atol=1e-12)
        np.testing.assert_allclose(q.T @ q, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(linalg_loops.solve_with_pivoting(a, b), np.linalg.solve(a, b))
    np.testing.assert_allclose(linalg_loops.trisolv(np.tril(a), b), np.linalg.solve(np.tril(a), b))
    np.testing.assert_allclose(linalg_loops.jacobi_eigenvalues(a, 1e-13, 200), np.linalg.eigvalsh(a))
    np.testing.assert_allclose(linalg_loops.determinant(a), np.linalg.det(a))
    r = 0.1 * rng.random(6)
    yule_walker = scipy.linalg.toeplitz(np.concatenate([[1.0], r[:-1]]))
    np.testing.assert_allclose(linalg_loops.durbin(r), np.linalg.solve(yule_walker, -r))


def test_iterations(rng) -> None:
    a, b = positive(rng, 5), rng.standard_normal(5)
    np.testing.assert_allclose(sparse.conjugate_gradient(a, b, 1e-12, 50)[0], np.linalg.solve(a, b), rtol=1e-9)
    np.testing.assert_allclose(linalg_dense.power_iteration(a, 1e-14, 5000)[0], np.linalg.eigvalsh(a)[-1], rtol=1e-9)
    data = rng.random((9, 4))
    np.testing.assert_allclose(linalg_dense.covariance(data), np.cov(data.T))
    np.testing.assert_allclose(linalg_dense.correlation(data), np.corrcoef(data.T))
    lower, diagonal, upper, rhs = rng.random(6), 4 + rng.random(6), rng.random(6), rng.random(6)
    matrix = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    np.testing.assert_allclose(linalg_loops.thomas(lower, diagonal, upper, rhs), np.linalg.solve(matrix, rhs))


def test_sparse_products(rng) -> None:
    dense = rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)
    matrix = scipy.sparse.csr_array(dense)
    x = rng.random(5)
    for product in (sparse.spmv_csr, sparse.spmv_scalar):
        np.testing.assert_allclose(product(matrix.data, matrix.indices, matrix.indptr, x), dense @ x)


def test_paths(rng) -> None:
    weights = rng.random((6, 6)) + 0.1
    np.fill_diagonal(weights, 0)
    expected = scipy.sparse.csgraph.floyd_warshall(weights)
    np.testing.assert_allclose(graphs_dp.floyd_warshall_scalar(weights)[0], expected)
    np.testing.assert_allclose(graphs_dp.dijkstra(weights, 2), expected[2])
    graphs_dp.floyd_warshall(weights)
    np.testing.assert_allclose(weights, expected)


def test_tables() -> None:
    def codes(text):
        return np.frombuffer(text.encode(), np.uint8)

    assert graphs_dp.edit_distance(codes("kitten"), codes("sitting")) == 3
    assert graphs_dp.edit_distance(codes("abcd"), codes("b")) == graphs_dp.edit_distance(codes("b"), codes("abcd")) == 3
    assert graphs_dp.longest_common_subsequence(codes("ABCBDAB"), codes("BDCABA")).size == 4
    assert graphs_dp.knapsack(np.array([1, 3, 4, 5]), np.array([1, 4, 5, 7]), 7) == 9
    assert graphs_dp.matrix_chain(np.array([10, 30, 5, 60]))[0] == 4500
    assert graphs_dp.coin_change(np.array([1, 2, 5]), 11) == (3, 11)
    assert graphs_dp.union_find(5, np.array([[0, 1], [3, 4]]))[0] == 3
    assert strings_of_numbers.longest_increasing(np.array([10, 9, 2, 5, 3, 7, 101, 18])) == 4
    assert strings_of_numbers.maximum_subarray(np.array([-2, 1, -3, 4, -1, 2, 1, -5, 4])) == (6, 3, 7)
    assert list(np.flatnonzero(strings_of_numbers.knuth_morris_pratt(codes("abababa"), codes("aba")))) == [0, 2, 4]
    assert strings_of_numbers.extended_gcd(240, 46) == (2, -9, 47)
    assert list(strings_of_numbers.add_digits(np.array([9, 9]), np.array([1]))) == [1, 0, 0]


@pytest.mark.parametrize(
    "sort",
    [
        sorting.bubble_sort,
        sorting.insertion_sort,
        sorting.quick_sort,
        sorting.bitonic_sort,
        sorting.radix_sort,
        lambda a: sorting.counting_sort(a, 50),
        lambda a: sorting.merge(np.sort(a[:7]), np.sort(a[7:])),
    ],
)
def test_sorts(sort, rng) -> None:
    a = rng.integers(0, 50, 16).astype(np.uint32)
    expected = np.sort(a)
    result = sort(a)
    np.testing.assert_array_equal(result if isinstance(result, np.ndarray) else a, expected)


def test_searches(rng) -> None:
    a = rng.random(8)
    np.testing.assert_array_equal(sorting.sorting_network(a.copy()), np.sort(a))
    assert sorting.quickselect(a, 3) == np.sort(a)[3]
    assert sorting.binary_search(np.arange(0, 20, 2), 14) == 7
    points = rng.random((15, 2))
    assert set(sorting.convex_hull(points)) == set(scipy.spatial.ConvexHull(points).vertices)


def test_transforms(rng) -> None:
    x = rng.standard_normal(16)
    np.testing.assert_allclose(signal.fft_recursive(x), np.fft.fft(x))
    np.testing.assert_allclose(signal.dft_matrix(x)[0], np.fft.fft(x))
    z = x + 0j
    signal.fft_in_place(z)
    np.testing.assert_allclose(z, np.fft.fft(x))
    b, a = np.array([0.2, 0.5]), np.array([1.5, -0.3, 0.1])
    np.testing.assert_allclose(signal.iir_filter(b, a, x), scipy.signal.lfilter(b, a, x))
    np.testing.assert_allclose(signal.convolve_by_hand(x, b), np.convolve(x, b))
    np.testing.assert_array_equal(signal.peaks(x, -9.0), scipy.signal.find_peaks(x)[0])
    knots = np.cumsum(0.1 + rng.random(7))
    spline = scipy.interpolate.CubicSpline(knots, x[:7], bc_type="natural")
    at = np.linspace(knots[0], knots[-1], 20)
    np.testing.assert_allclose(signal.natural_spline(knots, x[:7], at), spline(at))


def test_statistics(rng) -> None:
    x = rng.integers(0, 5, 12)
    np.testing.assert_allclose(statistics.ranks_with_ties(x), scipy.stats.rankdata(x))
    np.testing.assert_allclose(statistics.welford(x), (x.mean(), x.var(ddof=1)))
    y = rng.random(9)
    expected = scipy.stats.ttest_ind(x, y, equal_var=False)
    np.testing.assert_allclose(statistics.t_statistic(x, y), (expected.statistic, expected.df))


def test_pictures(rng) -> None:
    picture = rng.integers(0, 256, (7, 6)).astype(np.uint8)
    np.testing.assert_array_equal(image.median_filter(picture), scipy.ndimage.median_filter(picture, 3, mode="nearest"))
    expected = scipy.ndimage.gaussian_filter(picture / 1.0, 1.0, mode="nearest", truncate=3.0)
    np.testing.assert_allclose(image.gaussian_blur(picture / 1.0, 1.0), expected)
    mask = rng.random((8, 8)) > 0.4
    labels, _ = scipy.ndimage.label(mask)
    y, x = np.argwhere(mask)[0]
    np.testing.assert_array_equal(image.flood_fill(mask, y, x), labels == labels[y, x])
    kernel = rng.random((3, 3))
    expected = scipy.signal.correlate2d(picture, kernel, mode="valid")
    np.testing.assert_allclose(rnn_conv.conv2d_scalar(picture / 1.0, kernel, 1, 0), expected)


def test_numbers_and_cells(rng) -> None:
    data = rng.integers(0, 256, 30).astype(np.uint8)
    assert bits_crc.crc32(data) == binascii.crc32(data.tobytes())
    assert bits_crc.crc16_bitwise(0x1021, np.frombuffer(b"123456789", np.uint8)) == 0x29B1
    assert bits_crc.power_modulo(7, 130, 1000) == pow(7, 130, 1000)
    np.testing.assert_array_equal(bits_crc.popcounts(data), np.bitwise_count(data))
    np.testing.assert_array_equal(cellular.sieve(20), [2, 3, 5, 7, 11, 13, 17, 19])
    grid = rng.integers(0, 2, (6, 6))
    grid[0] = grid[-1] = 0
    grid[:, 0] = grid[:, -1] = 0
    bounded = cellular.life_with_loops(grid, 1)
    torus = cellular.life_on_a_torus(grid, 1)
    np.testing.assert_array_equal(bounded[1:-1, 1:-1], torus[1:-1, 1:-1])
    cells = grid.copy()
    cellular.life_in_place(cells, 1)
    np.testing.assert_array_equal(cells[1:-1, 1:-1], bounded[1:-1, 1:-1])


def test_fractals_agree() -> None:
    counts = fractals.mandelbrot_shrinking(-2.0, 0.5, -1.25, 1.25, 6, 5, 12)
    x, y = np.linspace(-2.0, 0.5, 6), np.linspace(-1.25, 1.25, 5)
    for i in range(6):
        for j in range(5):
            # One counts the step that leaves, the other the steps before it.
            assert counts[i, j] == fractals.escape_time(x[i], y[j], 13) % 13


def test_equations() -> None:
    assert math.isclose(ode_physics.newton_sqrt(2.0, 1e-14)[0], math.sqrt(2))
    assert math.isclose(ode_physics.bisection(0.0, 2.0, 1e-12), 0.7390851332151607, rel_tol=1e-9)
    y, *_ = ode_physics.adaptive_rk45(0.0, 2.0, np.array([1.0, 0.0]), 1e-9)
    np.testing.assert_allclose(y, [math.cos(2), -math.sin(2)], atol=1e-6)
    found = ode_physics.integrals(0.0, math.pi, 40)
    assert math.isclose(found["simpson"], 2.0, rel_tol=1e-5)
    assert math.isclose(found["halved"], 0.5 * (1 + math.exp(-math.pi)), rel_tol=1e-4)
