"""Cases of `ops/indexing.py`. Keys of every kind are also drawn at random in `test_indexing.py`."""

import numpy as np
from cases import case, integers, normal

X = normal(3, 4)
Y = normal(2, 3, 4)
MASK = integers(0, 2, 3, 4).astype(bool)
ROW = np.array([True, False, True])
FIRST = np.array([2, 0, 2])
PAIRS = np.array([[0, 1], [1, -1]])


def ref_place(value, key, shape):
    return ref_add(np.zeros(shape, np.asarray(value).dtype), key, value)


def ref_getitem(x, key):
    return x[key]


def ref_update(x, key, value):
    x = np.array(x)
    x[key] = value
    return x


def ref_add(x, key, value):
    """Element by element, so that nothing of NumPy's fancy addition is used."""
    x = np.array(x)
    positions = np.arange(x.size).reshape(x.shape)[key]
    flat = x.reshape(-1)
    for at, v in zip(np.ravel(positions), np.ravel(np.broadcast_to(value, positions.shape)), strict=True):
        flat[at] = flat[at] + v
    return x


def ref_scatter_add(x, indices, values, axis=-1):
    shape = x.shape
    x = np.array(x).reshape(-1) if axis is None else np.array(x)
    axis = 0 if axis is None else axis
    around = [list(s) for s in (x.shape, indices.shape)]
    around[0][axis] = around[1][axis] = 1
    outside = list(np.broadcast_shapes(*map(tuple, around)))
    outside[axis] = indices.shape[axis]
    indices, values = np.broadcast_to(indices, outside), np.broadcast_to(values, outside)
    for at in np.ndindex(*outside):
        to = [i if d != 1 else 0 for i, d in zip(at, x.shape, strict=True)]
        to[axis] = indices[at]
        x[tuple(to)] += values[at]
    return x.reshape(shape)


def ref_put(x, indices, values, axis=-1):
    x = np.array(x)
    np.put_along_axis(x, indices, values, axis)
    return x


KEYS = [
    (X, 1),
    (X, -1),
    (X, np.int64(2)),
    (X, np.array(2)),
    (X, (1, 2)),
    (X, slice(None)),
    (X, slice(1, None)),
    (X, slice(None, None, -2)),
    (X, (slice(2, 0, -1), slice(-3, -1))),
    (X, (slice(5, 9),)),
    (X, None),
    (X, ...),
    (X, (..., None, 0)),
    (X, ()),
    (Y, (0, ..., slice(None, None, 2))),
    (X, FIRST),
    (X, [0, 0, 1]),
    (X, []),
    (X, (FIRST, slice(1, 3))),
    (X, (slice(1, 3), PAIRS)),
    (X, (PAIRS, PAIRS)),
    (X, (PAIRS, 1)),
    (Y, (0, slice(None), FIRST)),
    (Y, ([0, 1], slice(None), [1, 1])),
    (Y, (slice(None), [0, 1], [1, 1])),
    (Y, ([[0], [1]], None, [0, 2])),
    (X, MASK),
    (X, ROW),
    (X, ~ROW & False),
    (X, (slice(None), np.array([True, True, False, True]))),
    (Y, (slice(None), MASK)),
    (Y, (1, ROW)),
    (Y, ([0, 1], ROW)),
    (X, True),
    (X, False),
    (X, (True, FIRST)),
    (normal(), ()),
    (normal(), None),
    (normal(), True),
    (normal(0, 3), (slice(None), 1)),
    (normal(0, 3), (slice(None), [1, 2])),
    (normal(3, dtype=complex), FIRST),
    (normal(3, dtype=complex), slice(None, None, 2)),
]

for x, key in KEYS:
    case("getitem", x, key, ref=ref_getitem)
    part = x[key].shape
    value = normal(*part, seed=7, dtype=x.dtype)
    case("place_at", value, key, x.shape, ref=ref_place)
    case("place_at", normal(seed=8), key, x.shape, ref=ref_place)
    for op, ref in (("index_update", ref_update), ("index_add", ref_add)):
        case(op, x, key, value, ref=ref)
        case(op, x, key, normal(seed=8), ref=ref)
        case(op, x, key, 2, ref=ref)
for op, ref in (("index_update", ref_update), ("index_add", ref_add)):
    case(op, X, slice(1, 3), normal(4), ref=ref)
    case(op, X, (slice(1, 3), FIRST), normal(2, 1), ref=ref)
    case(op, X, slice(1, 3), normal(1, 1, 2, 4), ref=lambda x, key, v, ref=ref: ref(x, key, v[0, 0]))
    case(op, X, [0, 0], normal(1, 2, 4), ref=lambda x, key, v, ref=ref: ref(x, key, v[0]))
    case(op, X, MASK, normal(1), ref=ref)
    case(op, Y, np.array([True, False]), normal(3, 1), ref=ref)
    case(op, X, (1, slice(1, 2)), normal(1, 1), ref=lambda x, key, v, ref=ref: ref(x, key, v[0]))
    case(op, normal(3, dtype=complex), FIRST, normal(3), ref=ref)
    for dtype in (np.float32, np.float16, np.int8, np.uint64, np.complex64):
        case(op, integers(0, 5, 3, 4).astype(dtype), FIRST, integers(0, 5, 4).astype(dtype), ref=ref)
    case(op, X.astype(np.float16), FIRST, np.full(4, 2.0), ref=ref, _grad=False)  # differences of float16 say nothing
    case(op, np.zeros((3,), bool), [1, 1], True, ref=ref)
case("index_update", np.arange(4), [1, 2], np.array([1.7, -2.2]), ref=ref_update)
for dtype in (np.float32, np.float16, np.int8, np.uint64, np.bool_, np.complex64):
    case("getitem", integers(0, 5, 3, 4).astype(dtype), (FIRST, 1), ref=ref_getitem)
    case("take", integers(0, 5, 3, 4).astype(dtype), FIRST, axis=0, ref=np.take)

# A tuple, list or dict gives its item, array or not.
case("getitem", (normal(2), normal(3)), 1, ref=ref_getitem)
case("getitem", [normal(2), integers(0, 3, 2)], -2, ref=ref_getitem)
case("getitem", {"a": 1.0}, "a", ref=ref_getitem)

# take
case("take", X, FIRST, axis=0, ref=np.take)
case("take", X, PAIRS, 1, ref=np.take)
case("take", X, PAIRS, axis=-1, ref=np.take)
case("take", X, np.array([0, 11, 0]), ref=np.take)
case("take", X, 1, axis=1, ref=np.take)
case("take", X, np.array([], int), axis=0, ref=np.take)
case("take", normal(0, 3), np.array([2]), axis=1, ref=np.take)
case("take", normal(3), np.array([-1, 0]), ref=np.take)
case("take", normal(3, dtype=complex), FIRST, axis=0, ref=np.take)

# along an axis
for x, indices, axis in [
    (X, integers(0, 4, 3, 4), -1),
    (X, integers(-4, 4, 3, 2), 1),
    (X, integers(0, 3, 5, 4), 0),
    (X, integers(0, 4, 1, 2), 1),
    (normal(1, 4), integers(0, 4, 3, 2), 1),
    (Y, integers(0, 3, 2, 2, 1), 1),
    (X, integers(0, 12, 5), None),
    (X, integers(0, 4, 3, 0), 1),
    (normal(0, 3), integers(0, 3, 0, 2), 1),
    (normal(2, 2, dtype=complex), integers(0, 2, 2, 3), 1),
]:
    case("take_along_axis", x, indices, axis=axis, ref=np.take_along_axis)
    part = np.take_along_axis(x, indices, axis).shape
    case("scatter_add", x, indices, normal(*part, seed=3), axis=axis, ref=ref_scatter_add)
    case("scatter_add", x, indices, 0.5, axis, ref=ref_scatter_add)
    case("put_along_axis", x, indices, normal(*part, seed=4), axis=axis, ref=ref_put)
    case("put_along_axis", x, indices, normal(seed=4), axis, ref=ref_put)
case("take_along_axis", X, integers(0, 4, 3, 2), ref=lambda x, i: np.take_along_axis(x, i, -1))
case("scatter_add", X, integers(0, 4, 3, 2), normal(3, 1), ref=ref_scatter_add)
case("put_along_axis", X, integers(0, 4, 3, 2), normal(3, 2), ref=ref_put)
for dtype in (np.float32, np.float16, np.int8, np.complex64):
    x, i = integers(0, 9, 2, 3).astype(dtype), integers(0, 3, 2, 3)
    case("take_along_axis", x, i, 1, ref=np.take_along_axis)
    case("scatter_add", x, i, x, 1, ref=ref_scatter_add)
    case("put_along_axis", x, i, x, 1, ref=ref_put)

# searching
case("nonzero", np.array([[0.0, 2.0], [3.0, 0.0]]), ref=np.nonzero, _infer=False)
case("nonzero", integers(0, 2, 3, 2, 2), ref=np.nonzero, _infer=False)
case("nonzero", normal(0), ref=np.nonzero, _infer=False)
case("nonzero", MASK, ref=np.nonzero, _infer=False)
EDGES = np.array([-1.0, 0.0, 0.0, 2.0])
case("searchsorted", EDGES, normal(2, 3), ref=np.searchsorted)
case("searchsorted", EDGES, np.array([0.0, 2.0, np.nan]), side="right", ref=np.searchsorted)
case("searchsorted", EDGES, 0.0, "left", ref=np.searchsorted)
case("searchsorted", EDGES[::-1], normal(3), sorter=np.array([3, 2, 1, 0]), ref=np.searchsorted)
case("searchsorted", normal(0), normal(2, 0), ref=np.searchsorted)
case("searchsorted", np.array([1, 3], np.int8), np.array([0.5, 4.0], np.float32), ref=np.searchsorted)
case("isin", integers(0, 9, 2, 3), np.array([1, 4, 7]), ref=np.isin)
case("isin", normal(3), normal(3)[:1], invert=True, ref=np.isin)
case("isin", np.array(2), [1, 2], ref=np.isin)
case("isin", normal(0), normal(2), ref=np.isin)
