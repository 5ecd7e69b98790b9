"""Cases of `ops/selecting.py`: NumPy's loops and keys as the reference."""

import numpy as np
from cases import case, integers, normal

X, Y, B = normal(3, 4), normal(3, 4, seed=1), normal(2, 3, 4)
INDEX, J = np.array([[0, 2], [2, 1], [1, 0]]), np.array([2, 0])


def ref_gather(x, dim, index):
    found = np.empty(index.shape, x.dtype)
    for at in np.ndindex(index.shape):
        source = list(at)
        source[dim] = index[at]
        found[at] = x[tuple(source)]
    return found


def ref_scatter(x, dim, index, src):
    written = x.copy()
    for at in np.ndindex(index.shape):
        target = list(at)
        target[dim] = index[at]
        written[tuple(target)] = src if np.ndim(src) == 0 else src[at]
    return written


def ref_along(x, dim, index, values):
    written = x.copy()
    written[(*(slice(None),) * (dim % x.ndim), index)] = values
    return written


def ref_masked_fill(x, mask, value):
    written = x.copy()
    written[np.broadcast_to(mask, x.shape)] = value
    return written


def ref_narrow(x, dim, start, length):
    start = start % x.shape[dim] if start < 0 else start
    return np.take(x, range(start, start + length), dim)


def ref_unflatten(x, dim, sizes):
    dim = dim % x.ndim
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


def ref_diag_embed(x, offset=0, dim1=-2, dim2=-1):
    rows = [np.diag(row, offset) for row in x.reshape(-1, x.shape[-1])]
    return np.moveaxis(np.reshape(rows, (*x.shape[:-1], *rows[0].shape)), (-2, -1), (dim1, dim2))


case("gather", X, 1, INDEX, ref=ref_gather)
case("gather", X, 0, INDEX, ref=ref_gather)
case("gather", X, -1, INDEX[:2], ref=ref_gather)
case("gather", X, 0, INDEX[:1], ref=ref_gather)
case("gather", normal(4), 0, np.array([3, 3, 0, 1, 1]), ref=ref_gather)
case("gather", normal(3, 4, dtype=complex), 1, INDEX, ref=ref_gather)
case("gather", integers(0, 9, 3, 4), 1, INDEX, ref=ref_gather)
case("scatter", X, 1, INDEX, Y, ref=ref_scatter)
case("scatter", X, 0, INDEX[:2], Y, ref=ref_scatter)
case("scatter", X, 1, INDEX[:1], 2.5, ref=ref_scatter)
case("scatter", normal(4), 0, J, normal(2), ref=ref_scatter)
case("scatter", integers(0, 9, 3, 4), 1, INDEX, 7, ref=ref_scatter)
case("index_select", X, 0, J, ref=lambda x, dim, index: np.take(x, index, dim))
case("index_select", B, -1, J, ref=lambda x, dim, index: np.take(x, index, dim))
case("index_select", X, 1, np.array(3), ref=lambda x, dim, index: np.take(x, [index], dim))
case("index_fill", X, 1, J, 0.5, ref=ref_along)
case("index_fill", B, -2, J, 2.0, ref=ref_along)
case("index_copy", X, 0, J, normal(2, 4), ref=ref_along)
case("index_copy", B, -1, J, normal(2, 3, 2), ref=ref_along)
case("masked_fill", X, X > 0, -1.0, ref=ref_masked_fill)
case("masked_fill", X, X[0] > 0, normal(), ref=ref_masked_fill)
# In float32 differences are too coarse to check a gradient by.
case("masked_fill", normal(3, 4, dtype=np.float32), X > 0, normal(), ref=ref_masked_fill, _grad=False)
case("masked_fill", integers(0, 9, 3, 4), X > 0, 3, ref=ref_masked_fill)
case("masked_select", X, X > 0, ref=lambda x, mask: x[mask], _infer=False)
case("masked_select", X, X[0] > 0, ref=lambda x, mask: x[:, mask].reshape(-1), _infer=False)
case("narrow", X, 1, 1, 2, ref=ref_narrow)
case("narrow", X, 0, -2, 1, ref=ref_narrow)
case("narrow", B, -1, 0, 0, ref=ref_narrow)
case("repeat_interleave", X, 2, ref=np.repeat)
case("repeat_interleave", X, 3, 1, ref=np.repeat)
case("repeat_interleave", X, np.array([1, 0, 2]), dim=0, ref=lambda x, n, dim: np.repeat(x, n, dim), _infer=False)
case("tensor_split", normal(7), 3, ref=np.array_split)
case("tensor_split", X, 2, 1, ref=np.array_split)
case("tensor_split", X, (1, 3), dim=1, ref=lambda x, cuts, dim: np.array_split(x, cuts, dim))
case("tensor_split", X, (2,), ref=np.array_split)
case("unflatten", X, 1, (2, 2), ref=ref_unflatten)
case("unflatten", B, -1, (2, -1), ref=ref_unflatten)
case("diag_embed", normal(3), ref=ref_diag_embed)
case("diag_embed", X, 1, ref=ref_diag_embed)
case("diag_embed", X, -2, 0, 2, ref=ref_diag_embed)
case("diag_embed", X, offset=0, dim1=1, dim2=0, ref=ref_diag_embed)
