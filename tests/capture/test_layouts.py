"""Whether NumPy gives a view or a copy depends on how arrays lie in memory; a captured program does the same."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.capture import _layouts


def columns_flattened(a, n):
    for i in range(n):
        v = a[:, :i].ravel()
        v[:] = -1
    return a


def first_columns(a, n):
    v = a[:, :n].reshape(-1)
    v[:] = -1


def one_row(a, n):
    v = a[n - 1 : n].ravel()
    v[:] = -1


def one_column(a, n):
    v = a[:, n - 1 : n].ravel()
    v[:] = -1


def turned(a, n):
    v = a.T.ravel()
    v[:] = n


def every_other_row(a, n):
    v = a[::n].ravel()
    v[:] = -1


def every_other_column(a, n):
    v = a[:, ::2].reshape(-1)
    v[:] = n


def last_rows_turned(a, n):
    v = a[a.shape[0] - n :, :].T.reshape(-1)
    v *= 2


def in_order(a, n):
    t = np.ascontiguousarray(a.T)
    t += n
    return t


def in_other_order(a, n):
    t = np.asfortranarray(a)
    t += n
    return t


def columns_in_order(a, n):
    for i in range(min(n, a.shape[1])):
        column = np.ascontiguousarray(a[:, i])
        column += 1
    return a


def rows_in_order(a, n):
    for i in range(min(n, a.shape[0])):
        row = np.ascontiguousarray(a[i])
        row += 1
    return a


def by_columns(a, n):
    v = a.reshape(-1, order="F")
    v[0] = n


def raveled_or_reshaped(a, n):
    r = a.ravel()
    r[0] += n
    q = a.reshape(-1)
    q[0] += 2 * n
    return r, q


def raveled_vector(a, n):
    row = a[0]
    v = row.ravel()
    v[:] = n
    w = a[:, 0][::-1].ravel()
    w[:] = n


def places_of_labels(a, n):
    labels, places = np.unique(a % 3, return_inverse=True)
    flat = places.reshape(-1)
    flat[flat < 2] += n
    labels.reshape(-1, 1)[0] = n
    return flat, places, labels


def grids() -> Iterator[Any]:
    def grid(rows: int, columns: int) -> Any:
        return np.arange(float(rows * columns)).reshape(rows, columns)

    yield from (grid(3, 4), grid(1, 4), grid(4, 1), grid(4, 4), grid(1, 1), grid(2, 3))
    yield from (np.asfortranarray(grid(3, 4)), np.asfortranarray(grid(4, 2)), grid(8, 4)[::2], grid(3, 8)[:, ::2])
    yield from (grid(3, 4)[::-1], grid(4, 1)[::2])


PROGRAMS = (
    *(columns_flattened, first_columns, one_row, one_column, turned, every_other_row, every_other_column),
    *(last_rows_turned, in_order, in_other_order, columns_in_order, rows_in_order, by_columns),
    *(raveled_or_reshaped, raveled_vector, places_of_labels),
)


@pytest.mark.parametrize("dynamic", [None, False])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_view_where_numpy_gives_one(program: Callable[..., Any], dynamic: bool | None) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for n in (1, 2, 4, 3):
        for given, other in zip(grids(), grids(), strict=True):
            assert_same(call(compiled, (given, n)), call(program, (other, n)), identity=True)


def raveled(x):
    v = x.ravel()
    v[0] = 5
    w = np.ascontiguousarray(x)
    w[-1] = 7


@pytest.mark.parametrize("makers", [(0, 1), (1, 0)])
def test_a_vector_with_gaps_is_copied(makers: tuple[int, ...]) -> None:
    compiled = weft.compile(raveled)
    for which in makers:
        given, other = ((np.arange(4.0), np.arange(8.0)[::2])[which] for _ in range(2))
        assert_same(call(compiled, (given,)), call(raveled, (other,)))


def tiles_to_image(x):
    b, h, w, p, q, c = x.shape
    return x.transpose(0, 5, 1, 3, 2, 4).reshape(b, c, h * p, w * q) * 2


def turned_in_a_loop(a, n):
    x = a
    for _ in range(n):
        x = x.T + 0  # in the order of what it was computed from
    v = x.ravel()
    v[0] = 99
    return x


def turned_on_one_side(a, n):
    x = a.T + 1 if a.sum() > n else a * 2
    v = x.ravel()
    v[0] = 99
    return x


def at_most_three_columns(a, n):
    v = a[:, :3].ravel()
    v[:] = -1
    return v


def copies_in_orders(a, n):
    found = [a.T.copy(), a.copy("F"), np.array(a.T, order="C"), a.T.astype(np.float32), np.copy(a.T, order="A")]
    for copied in found:
        flat = copied.ravel()
        flat[:1] = n
    return found


def parts_of_weft(a, n):
    for part in weft.unstack(a):
        part += n
    weft.flatten(a)[0] = 7
    return a


def diagonal_seen(a, n):
    y = a[:3, :3] * 1
    d, rows = np.linalg.diagonal(y), np.broadcast_arrays(y, y[0])
    y[0, 0] = n
    return d * 1, y, rows[0] * 1


@pytest.mark.parametrize("program", [turned_in_a_loop, turned_on_one_side])
def test_what_is_known_where_paths_meet(program: Callable[..., Any]) -> None:
    for n in (1, 2, 3, 20):
        expected = program(np.arange(9.0).reshape(3, 3), n)
        with contextlib.suppress(weft.errors.CaptureError):
            np.testing.assert_array_equal(weft.compile(program)(np.arange(9.0).reshape(3, 3), n), expected)
    with pytest.raises(weft.errors.CaptureError, match="whether the two share memory depends on how it lies"):
        weft.compile(program)(np.ones((3, 3)), 20)


@pytest.mark.parametrize("program", [at_most_three_columns, copies_in_orders, parts_of_weft, diagonal_seen])
def test_parts_and_copies_lie_as_in_numpy(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for shape in ((3, 100), (3, 3), (4, 3), (3, 3)):
        (given, other) = (np.arange(float(np.prod(shape))).reshape(shape) for _ in range(2))
        got, expected = call(compiled, (given, 5)), call(program, (other, 5))
        assert_same(got, expected, identity=True)


def test_no_memory_is_made_up() -> None:
    x = np.arange(288.0).reshape(2, 3, 4, 2, 2, 3)
    np.testing.assert_array_equal(weft.compile(tiles_to_image)(x), tiles_to_image(x))


def flattened(a):
    return a.ravel()


@pytest.mark.parametrize("make", [lambda a: a[::2], lambda a: a[::-1], lambda a: a[1:], lambda a: a[:1:2]])
def test_ravel_copies_where_numpy_does(make: Any) -> None:
    a = make(np.arange(12.0))
    for dynamic in (None, False):
        shared = np.shares_memory(weft.compile(flattened, dynamic=dynamic)(a), a)
        assert shared == np.shares_memory(flattened(a), a)


def test_a_reshape_that_nothing_writes() -> None:
    traced = weft.trace(lambda x: x.T.reshape(-1), weft.spec(("n", "m")))
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(traced(x), x.T.reshape(-1))


def test_memory_order_of_results() -> None:
    a = np.arange(12.0).reshape(3, 4)
    for got, expected in zip(weft.compile(copies_in_orders)(a, 5), copies_in_orders(a, 5), strict=True):
        assert got.strides == expected.strides


def test_how_an_array_may_be_used_is_not_changed() -> None:
    def fixed(x):
        y = x * 2
        y.flags.writeable = False
        return y

    def fixed_by_key(x):
        y = x * 2
        y.flags["WRITEABLE"] = False
        return y

    def opened(x):
        y = np.diag(np.outer(x, x))
        y.flags.writeable = True
        return y

    def as_it_is(x):
        y = x * 2
        y.flags.writeable = True
        y[0] = 7.0
        return y

    for program in (fixed, fixed_by_key, opened):
        with pytest.raises(weft.errors.CaptureError, match="changes how an array may be used"):
            weft.compile(program)(np.ones(3))
    np.testing.assert_array_equal(weft.compile(as_it_is)(np.ones(3)), as_it_is(np.ones(3)))


def test_a_question_asks_how_each_array_lies_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(a):
        for _ in range(7):
            c = np.zeros_like(a)
            for k in range(3):
                u = np.copy(a[:, k])
                for j in range(k):
                    u -= np.dot(c[:, j], a[:, k]) * c[:, j]
                c[:, k] = u
            a = (c.T @ a) @ c + a[0, 0] * np.eye(3)
        return a

    asked = []
    of_buffer = _layouts._Question._of_buffer
    monkeypatch.setattr(_layouts._Question, "_of_buffer", lambda own, one: asked.append(one) or of_buffer(own, one))
    a = np.arange(9.0).reshape(3, 3) / 20
    np.testing.assert_allclose(weft.trace(program, a)(a), program(a))
    assert len(asked) < 5000
