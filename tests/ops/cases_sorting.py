"""Cases of `ops/sorting.py`. References sort one line at a time with Python's stable `sorted`."""

import numpy as np
from cases import case, integers, normal

TIES = np.array([[2.0, 1.0, 2.0, 1.0], [0.0, 0.0, -1.0, 3.0]])


def _order(line, descending):
    def rank(i):
        value = line[i]
        return (bool(np.isnan(value)), value.real, value.imag)

    # `reverse` of Python's sort keeps equal elements in their order.
    return sorted(range(len(line)), key=rank, reverse=descending)


def ref_argsort(x, axis=-1, descending=False, stable=True):
    if axis is None:
        x, axis = x.reshape(-1), 0
    if not x.size:
        return np.zeros(x.shape, np.intp)
    return np.apply_along_axis(lambda line: np.array(_order(line, descending)), axis, x)


def ref_sort(x, axis=-1, descending=False, stable=True):
    order = ref_argsort(x, axis, descending)
    return x.reshape(-1)[order] if axis is None else np.take_along_axis(x, order, axis)


def ref_topk(x, k, axis=-1, largest=True, sorted=True):
    indices = np.take(ref_argsort(x, axis, largest), range(k), axis)
    return np.take_along_axis(x, indices, axis), indices


for op, ref in (("argsort", ref_argsort), ("sort", ref_sort)):
    for descending in (False, True):
        case(op, normal(3, 4), descending=descending, ref=ref)
        case(op, normal(3, 4), 0, descending=descending, ref=ref)
        case(op, normal(2, 3, 2), axis=-2, descending=descending, stable=False, ref=ref)
        case(op, normal(2, 3), axis=None, descending=descending, ref=ref)
        case(op, normal(0, 3), axis=0, descending=descending, ref=ref)
        case(op, normal(5, dtype=complex), descending=descending, ref=ref)
        case(op, TIES, descending=descending, ref=ref, _grad=False)
        case(op, np.array([1.0, np.nan, -np.inf, np.inf, 0.0]), descending=descending, ref=ref, _grad=False)
        for dtype in (np.float32, np.float16, np.int8, np.uint64, np.bool_, np.complex64):
            case(op, integers(0, 3, 2, 5).astype(dtype), descending=descending, ref=ref)

for largest in (True, False):
    case("topk", normal(3, 4), 2, largest=largest, ref=ref_topk)
    case("topk", normal(3, 4), 3, 0, largest, ref=ref_topk)
    case("topk", normal(2, 3, 2), 1, axis=-2, largest=largest, sorted=False, ref=ref_topk)
    case("topk", normal(4), 0, largest=largest, ref=ref_topk)
    case("topk", normal(4), 4, largest=largest, ref=ref_topk)
    case("topk", normal(0, 3), 2, largest=largest, ref=ref_topk)
    case("topk", TIES, 2, largest=largest, ref=ref_topk, _grad=False)
    case("topk", integers(0, 5, 6, dtype=np.uint8), 3, largest=largest, ref=ref_topk)
    case("topk", normal(5, dtype=np.float32), 3, largest=largest, ref=ref_topk)

for x in (
    integers(0, 4, 3, 4),
    normal(3),
    normal(0),
    np.array(3.0),
    np.array([1.0, np.nan, 1.0, np.nan]),
    integers(0, 2, 5).astype(bool),
    integers(0, 3, 5).astype(np.float16),
    integers(0, 2, 4) + 1j * integers(0, 2, 4, seed=1),
):
    case("unique_all", x, ref=np.unique_all, _infer=False)
    case("unique_counts", x, ref=np.unique_counts, _infer=False)
    case("unique_inverse", x, ref=np.unique_inverse, _infer=False)
    case("unique_values", x, ref=lambda x: np.sort(np.unique_values(x)), _infer=False)
