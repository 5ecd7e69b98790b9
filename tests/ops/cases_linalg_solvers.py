"""Cases of `ops/linalg_solvers.py`: determinants, inverses, systems, norms."""

import numpy as np
from cases import case, integers, normal

C = np.complex128
F32 = np.float32


def regular(*shape, dtype=np.float64, seed=0):
    """Square matrices far from singular."""
    return normal(*shape, dtype=dtype, seed=seed) + 3 * np.eye(shape[-1]).astype(dtype)


for dtype in (np.float64, C):
    for shape in [(1, 1), (3, 3), (2, 2, 2), (0, 2, 2), (0, 0)]:
        case("det", regular(*shape, dtype=dtype), ref=np.linalg.det)
        case("slogdet", regular(*shape, dtype=dtype), ref=np.linalg.slogdet)
        case("inv", regular(*shape, dtype=dtype), ref=np.linalg.inv)
case("det", -np.eye(3), ref=np.linalg.det)
case("slogdet", -np.eye(3), ref=np.linalg.slogdet)

# Singular matrices: the determinant is a polynomial, so its derivatives exist there; of rank n - 1, n - 2 and 0.
low_rank = normal(3, 2) @ normal(2, 3, seed=1)
case("det", low_rank, ref=np.linalg.det)
case("det", np.stack([low_rank, np.eye(3)]), ref=np.linalg.det)
case("det", normal(3, 2, dtype=C) @ normal(2, 3, dtype=C, seed=1), ref=np.linalg.det)
case("det", np.outer(normal(3), normal(3, seed=1)), ref=np.linalg.det)
case("det", np.zeros((2, 2)), ref=np.linalg.det)
case("det", np.zeros((3, 3)), ref=np.linalg.det)
case("det", np.zeros((1, 1)), ref=np.linalg.det)


def cofactor(x):
    """Signed minors."""
    n = x.shape[-1]
    result = np.zeros_like(x)
    for *stack, i, j in np.ndindex(x.shape):
        minor = np.delete(np.delete(x[tuple(stack)], i, 0), j, 1)
        result[(*stack, i, j)] = (-1) ** (i + j) * (np.linalg.det(minor) if n > 1 else 1)
    return result


def cofactor_along(x, direction):
    """Exact for a polynomial: an interpolation of the cofactors of x + t direction at enough points gives the slope."""
    n = x.shape[-1]
    t = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    values = np.stack([cofactor(x + each * direction) for each in t]).reshape(n, -1)
    powers = np.vander(t, n, increasing=True)
    return np.linalg.solve(powers, values)[1 if n > 1 else 0].reshape(x.shape) * (n > 1)


for x in (regular(3, 3), regular(2, 3, 3, dtype=C), regular(1, 1)):
    case("cofactor", x, ref=cofactor, _rtol=1e-10)
# The third derivative of det needs an inverse, so at singular matrices these stop one order earlier.
for x in (low_rank, np.zeros((2, 2)), np.ones((2, 2), C), np.zeros((1, 1))):
    case("cofactor", x, ref=cofactor, _rtol=1e-10, _order=1)
case("cofactor_along", regular(3, 3), normal(3, 3), ref=cofactor_along, _rtol=1e-10)
case("cofactor_along", regular(3, 3, dtype=C), normal(3, 3, dtype=C), ref=cofactor_along, _rtol=1e-10)
case("cofactor_along", low_rank, normal(3, 3), ref=cofactor_along, _rtol=1e-10, _grad=False)
case("cofactor_along", np.ones((3, 3), C), normal(3, 3, dtype=C), ref=cofactor_along, _rtol=1e-10, _grad=False)

for name in ("det", "slogdet", "inv"):
    case(name, regular(2, 2).astype(F32), ref=getattr(np.linalg, name), _rtol=1e-5)
    case(name, regular(2, 2, dtype=np.complex64), ref=getattr(np.linalg, name), _rtol=1e-5)
    case(name, integers(1, 9, 2, 2), ref=getattr(np.linalg, name))

for dtype in (np.float64, C):
    for a, b in [((2, 2), (2,)), ((2, 2), (2, 3)), ((3, 2, 2), (2,)), ((2, 2), (2, 2, 1)), ((2, 1, 2, 2), (2, 2, 1))]:
        case("solve", regular(*a, dtype=dtype), normal(*b, dtype=dtype, seed=1), ref=np.linalg.solve)
case("solve", regular(2, 2), normal(2, dtype=C), ref=np.linalg.solve)
case("solve", regular(0, 0), normal(0, 2), ref=np.linalg.solve)
case("solve", regular(2, 2).astype(F32), normal(2, dtype=F32), ref=np.linalg.solve, _rtol=1e-5)
case("solve", integers(1, 9, 2, 2), integers(1, 9, 2), ref=np.linalg.solve)


def pinv(x, rtol=None):
    return np.linalg.pinv(x) if rtol is None else np.linalg.pinv(x, rtol)


for dtype in (np.float64, C):
    case("pinv", normal(2, 3, dtype=dtype), ref=pinv, _rtol=1e-10)
    case("pinv", normal(3, 2, dtype=dtype), ref=pinv, _rtol=1e-10)
    case("pinv", regular(2, 2, 2, dtype=dtype), ref=pinv, _rtol=1e-10)
case("pinv", np.diag([1.0, 1e-10]), rtol=1e-2, ref=pinv)
case("pinv", normal(2, 3, dtype=F32), ref=pinv, _rtol=1e-4)
case("pinv", normal(0, 3), ref=pinv)
case("pinv", low_rank, ref=lambda x: np.linalg.pinv(x, 1e-9), _rtol=1e-9, _grad=False)  # differences leave the rank

case("matrix_rank", low_rank, ref=np.linalg.matrix_rank)
case("matrix_rank", np.stack([low_rank, np.eye(3), np.zeros((3, 3))]), ref=np.linalg.matrix_rank)
case("matrix_rank", normal(2, 4, dtype=C), ref=np.linalg.matrix_rank)
case("matrix_rank", np.diag([1.0, 1e-3]), rtol=1e-2, ref=np.linalg.matrix_rank)
case("matrix_rank", np.ones((2, 2, 3), F32), rtol=np.array([1e-3, 1e-2]), ref=np.linalg.matrix_rank)

for n in (0, 1, 2, 3, 5, -1, -2):
    case("matrix_power", regular(2, 2) / 2, n, ref=np.linalg.matrix_power)
case("matrix_power", regular(2, 2, 2, dtype=C), 3, ref=np.linalg.matrix_power)
case("matrix_power", integers(0, 4, 2, 2), 5, ref=np.linalg.matrix_power)
case("matrix_power", integers(0, 4, 2, 2), 0, ref=np.linalg.matrix_power)

ORDS = (2, 1, np.inf, -np.inf, 0, 3, 0.5, -1, 2.5)
for ord in ORDS:
    case("vector_norm", normal(2, 3), ord=ord, ref=np.linalg.vector_norm)
    case("vector_norm", normal(2, 3, 2), ord=ord, axis=1, keepdims=True, ref=np.linalg.vector_norm)
    case("vector_norm", normal(2, 3, dtype=C), ord=ord, axis=(0, -1), ref=np.linalg.vector_norm)
    case("vector_norm", normal(2, 2, 2), ord=ord, axis=(2, 0), ref=np.linalg.vector_norm)
case("vector_norm", normal(), ref=np.linalg.vector_norm)
case("vector_norm", normal(2, 0), axis=-1, ref=np.linalg.vector_norm)
case("vector_norm", normal(3, dtype=F32), ref=np.linalg.vector_norm, _rtol=1e-6)
case("vector_norm", normal(3, dtype=np.complex64), ord=3, ref=np.linalg.vector_norm, _rtol=1e-6)
case("vector_norm", normal(3, dtype=np.float16), ref=np.linalg.vector_norm, _rtol=1e-3)
case("vector_norm", integers(-5, 5, 3, dtype=np.int8), ref=np.linalg.vector_norm)

for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
    case("matrix_norm", normal(2, 3), ord=ord, ref=np.linalg.matrix_norm)
    case("matrix_norm", normal(2, 3, 2), ord=ord, keepdims=True, ref=np.linalg.matrix_norm)
    case("matrix_norm", normal(2, 2, dtype=C), ord=ord, ref=np.linalg.matrix_norm)
    case("matrix_norm", normal(2, 3, dtype=F32), ord=ord, ref=np.linalg.matrix_norm, _rtol=1e-5)
    case("matrix_norm", integers(-5, 5, 2, 2), ord=ord, ref=np.linalg.matrix_norm)
    case("norm", normal(2, 3, 2), ord=ord, axis=(2, 0), ref=np.linalg.norm)
case("matrix_norm", normal(2, 3, dtype=np.float16), ref=np.linalg.matrix_norm, _rtol=1e-3)

case("norm", normal(2, 3), ref=np.linalg.norm)
case("norm", normal(2, 3, 2, dtype=C), keepdims=True, ref=np.linalg.norm)
case("norm", normal(3), 1, ref=np.linalg.norm)
case("norm", normal(2, 3), 3, 1, True, ref=np.linalg.norm)
case("norm", normal(2, 3), "nuc", (0, 1), True, ref=np.linalg.norm)
case("norm", normal(2, 3), axis=-1, ref=np.linalg.norm)
case("norm", normal(2, 3), -np.inf, ref=np.linalg.norm)
