"""Cases of `ops/linalg.py`: products, diagonals, traces."""

import numpy as np
from cases import case, integers, normal

C = np.complex128

for a, b in [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 2)),
    ((2, 2, 3), (3,)),
    ((3,), (2, 3, 2)),
    ((2, 2, 3), (3, 2)),
    ((2, 3), (2, 3, 2)),
    ((2, 1, 2, 3), (3, 3, 1)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
    ((0, 2, 3), (3, 2)),
]:
    case("matmul", normal(*a), normal(*b, seed=1), ref=np.matmul)
    case("matmul", normal(*a, dtype=C), normal(*b, dtype=C, seed=1), ref=np.matmul)
case("matmul", normal(2, 3), normal(3, 2, dtype=C), ref=np.matmul)
case("matmul", normal(2, 3, dtype=np.float32), normal(3, 2, dtype=np.float32), ref=np.matmul, _rtol=1e-6)
case("matmul", normal(2, 3, dtype=np.float16), normal(3, 2, dtype=np.float32), ref=np.matmul, _rtol=1e-3)
case("matmul", integers(0, 9, 2, 3, dtype=np.int8), integers(0, 9, 3, dtype=np.int32), ref=np.matmul)
case("matmul", integers(0, 2, 2, 3, dtype=bool), integers(0, 2, 3, 2, dtype=bool), ref=np.matmul)

case("matrix_transpose", normal(2, 3), ref=np.matrix_transpose)
case("matrix_transpose", normal(2, 3, 1, dtype=C), ref=np.matrix_transpose)
case("matrix_transpose", normal(0, 3, dtype=np.float16), ref=np.matrix_transpose)

case("tensordot", normal(2, 3, 2), normal(3, 2, 2, seed=1), ref=np.tensordot)
case("tensordot", normal(2, 3, dtype=C), normal(3, 2, dtype=C, seed=1), axes=1, ref=np.tensordot)
case("tensordot", normal(2), normal(3), axes=0, ref=np.tensordot)
case("tensordot", normal(2, 3, 4), normal(4, 2, seed=1), axes=((0, -1), (1, 0)), ref=np.tensordot)
case("tensordot", normal(2, 3, 4), normal(3, 2, seed=1), ([1], [0]), ref=np.tensordot)
case("tensordot", normal(2, 0), normal(0, 3), axes=1, ref=np.tensordot)
case("tensordot", integers(0, 5, 2, 3), integers(0, 5, 3, dtype=np.int16), axes=1, ref=np.tensordot)

case("vecdot", normal(3), normal(3, seed=1), ref=np.vecdot)
case("vecdot", normal(2, 3, dtype=C), normal(3, dtype=C, seed=1), ref=np.vecdot)
case("vecdot", normal(3, 2), normal(3, 2, dtype=C, seed=1), axis=0, ref=np.vecdot)
case("vecdot", normal(2, 3, 2), normal(3, 2, seed=1), axis=-2, ref=np.vecdot)
case("vecdot", normal(2, 0), normal(0), ref=np.vecdot)
case("vecdot", integers(0, 5, 3, dtype=np.int8), integers(0, 5, 3, dtype=np.int8), ref=np.vecdot)

case("dot", normal(3), normal(3, seed=1), ref=np.dot)
case("dot", normal(2, 3), normal(3, dtype=C), ref=np.dot)
case("dot", normal(2, 3), normal(2, 3, 2, seed=1), ref=np.dot)
case("dot", normal(3), normal(2, 3, 2, seed=1), ref=np.dot)
case("dot", normal(2, 2, 3), normal(3, 2, seed=1), ref=np.dot)
case("dot", normal(), normal(2, 3), ref=np.dot)
case("dot", normal(2), 3.0, ref=np.dot)

case("inner", normal(2, 3), normal(4, 3, seed=1), ref=np.inner)
case("inner", normal(3, dtype=C), normal(3, dtype=C, seed=1), ref=np.inner)
case("inner", normal(2), normal(), ref=np.inner)

case("vdot", normal(2, 3, dtype=C), normal(3, 2, dtype=C, seed=1), ref=np.vdot)
case("vdot", normal(3), normal(3, seed=1), ref=np.vdot)

case("outer", normal(2), normal(3, seed=1), ref=np.outer)
case("outer", normal(2, 2, dtype=C), normal(3), ref=np.outer)
case("outer", normal(), normal(0), ref=np.outer)
case("outer", integers(0, 9, 2, dtype=np.int8), integers(0, 9, 3, dtype=np.int16), ref=np.outer)

case("kron", normal(2, 2), normal(1, 3, seed=1), ref=np.kron)
case("kron", normal(2), normal(2, 2, dtype=C), ref=np.kron)
case("kron", normal(2, 1, 2), normal(2), ref=np.kron)
case("kron", normal(), normal(2), ref=np.kron)

case("diagonal", normal(3, 3), ref=np.diagonal)
case("diagonal", normal(3, 4), offset=1, ref=np.diagonal)
case("diagonal", normal(4, 2, dtype=C), offset=-1, ref=np.diagonal)
case("diagonal", normal(2, 3, 4), 1, 2, 0, ref=np.diagonal)
case("diagonal", normal(2, 3, 2), axis1=-1, axis2=-2, offset=-1, ref=np.diagonal)
case("diagonal", normal(2, 3), offset=5, ref=np.diagonal)
case("diagonal", normal(0, 3), ref=np.diagonal)
case("diagonal", integers(0, 9, 2, 2), ref=np.diagonal)


def from_diagonal(x, shape, offset=0, axis1=-2, axis2=-1):
    result = np.zeros(shape, x.dtype)
    for index in np.ndindex(np.shape(x)):
        at = list(index[:-1])
        for axis, step in sorted([(axis1 % len(shape), max(-offset, 0)), (axis2 % len(shape), max(offset, 0))]):
            at.insert(axis, index[-1] + step)
        result[tuple(at)] = x[index]
    return result


case("from_diagonal", normal(3), (3, 3), ref=from_diagonal)
case("from_diagonal", normal(2, 2, dtype=C), (2, 4, 2), -1, ref=from_diagonal)
case("from_diagonal", normal(3, 2), (2, 3, 3), 1, 0, 2, ref=from_diagonal)
case("from_diagonal", normal(3, 2), (3, 3, 2), 1, 2, 0, ref=from_diagonal)

case("diag", normal(3), ref=np.diag)
case("diag", normal(2, dtype=C), k=-1, ref=np.diag)
case("diag", normal(3, 4), k=1, ref=np.diag)

case("trace", normal(3, 3), ref=np.trace)
case("trace", normal(3, 2, 2), 1, 1, 2, ref=np.trace)
case("trace", normal(2, 3, 4, dtype=C), ref=np.trace)
case("trace", integers(0, 99, 3, 3, dtype=np.int8), ref=np.trace)
case("trace", integers(0, 99, 3, 3), dtype=np.float32, ref=np.trace)

case("linalg_diagonal", normal(2, 3, 3), ref=np.linalg.diagonal)
case("linalg_diagonal", normal(2, 3, 4, dtype=C), offset=-1, ref=np.linalg.diagonal)
case("linalg_trace", normal(2, 3, 3), ref=np.linalg.trace)
case("linalg_trace", normal(3, 4, dtype=C), offset=1, ref=np.linalg.trace)
case("linalg_trace", integers(0, 99, 3, 3, dtype=np.int16), dtype=np.int32, ref=np.linalg.trace)

case("cross", normal(3), normal(3, seed=1), ref=np.linalg.cross)
case("cross", normal(2, 3, dtype=C), normal(3, seed=1), ref=np.linalg.cross)
case("cross", normal(3, 2), normal(3, 2, seed=1), axis=0, ref=np.linalg.cross)
case("cross", normal(2, 3, 2), normal(3, 1, seed=1), axis=-2, ref=np.linalg.cross)
case("cross", integers(-5, 5, 3, dtype=np.int8), integers(-5, 5, 3, dtype=np.int8, seed=1), ref=np.linalg.cross)
case("cross", normal(0, 3), normal(3), ref=np.linalg.cross)
