"""Cases of `ops/_masked.py` and `ops/_ufunc_methods.py`: NumPy as the reference."""

import numpy as np
from cases import case, integers, normal

X, C = normal(3, 4), normal(3, 4, dtype=complex)
SOME = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]], bool)
ROW = SOME[0]

for name, start in (("sum", 1.5), ("prod", 1.5), ("max", 0.25), ("min", 0.25)):
    op, ref = f"{name}_where", getattr(np, name)
    case(op, X, initial=start, ref=ref)
    case(op, X, axis=1, initial=start, where=SOME, ref=ref)
    case(op, X, axis=(0, 1), keepdims=True, initial=start, where=ROW, ref=ref)
    case(op, X, -1, initial=np.float64(start), where=np.zeros(4, bool), ref=ref)
    case(op, X.astype(np.float32), 0, initial=start, where=SOME, ref=ref, _rtol=1e-6)  # float32
    case(op, integers(0, 9, 3, 4), 1, initial=2, where=SOME, ref=ref)
    case(op, integers(0, 9, 3, 4, dtype=np.int8), 0, initial=2, ref=ref)
    case(op, normal(0, 2), 0, initial=start, ref=ref)
    case(op, normal(0, 2), 1, ref=ref)
for name in ("sum", "prod"):
    op, ref = f"{name}_where", getattr(np, name)
    case(op, C, 1, where=SOME, ref=ref)
    case(op, X, 1, np.float32, where=SOME, ref=ref, _rtol=1e-6, _grad=False)
    case(op, SOME, 1, where=SOME, initial=3, ref=ref)
for name in ("mean", "var", "std"):
    op, ref = f"{name}_where", getattr(np, name)
    case(op, X, where=SOME, ref=ref)
    case(op, X, 1, where=SOME, keepdims=True, ref=ref)
    case(op, C, 0, where=np.array([[True], [False], [True]]), ref=ref)
    case(op, X, 1, np.float32, where=SOME, ref=ref, _rtol=1e-5, _grad=False)  # float32
    case(op, X.astype(np.float16), 1, where=SOME, ref=ref, _rtol=1e-3)  # float16
    case(op, integers(0, 9, 3, 4), 1, where=SOME, ref=ref)
    case(op, integers(0, 9, 3, 4), axis=(0, 1), dtype=np.float32, ref=ref, _rtol=1e-6)
for name in ("var", "std"):
    case(f"{name}_where", X, 0, ddof=1, where=np.array([[True], [False], [True]]), ref=getattr(np, name))
for name in ("all", "any"):
    case(f"{name}_where", X > 0, 1, where=SOME, ref=getattr(np, name))
    case(f"{name}_where", X, where=SOME, keepdims=True, ref=getattr(np, name))
    case(f"{name}_where", X > 0, (0, 1), where=np.zeros(4, bool), ref=getattr(np, name))

BITS = integers(0, 100, 3, 4)
for name in "bitwise_and bitwise_or bitwise_xor logical_xor fmax fmin gcd lcm".split():
    op, ref = f"{name}_reduce", getattr(np, name).reduce
    case(op, BITS, ref=ref)
    case(op, BITS, 1, keepdims=True, ref=ref)
    if name not in ("gcd", "lcm"):  # whose order matters to NumPy
        case(op, BITS, axis=(0, 1), where=True, ref=ref)
    case(op, BITS, -1, initial=5, where=SOME, ref=ref)
    case(op, BITS.astype(np.int8), 0, ref=ref)
for name in ("hypot", "logaddexp", "logaddexp2"):
    op, ref = f"{name}_reduce", getattr(np, name).reduce
    case(op, X, ref=ref)
    case(op, X, 1, keepdims=True, ref=ref)
    case(op, normal(4), ref=ref)
    case(op, X, -1, initial=0.5, where=SOME, ref=ref, _grad=False)
    case(op, X.astype(np.float32), 0, ref=ref, _rtol=1e-6, _grad=False)  # float32
case("logaddexp_accumulate", X, 1, ref=np.logaddexp.accumulate)
case("logaddexp_accumulate", normal(2, 3, 2), 1, ref=np.logaddexp.accumulate)
case("logaddexp_accumulate", np.array([900.0, -900.0, 0.0, 901.0]), ref=np.logaddexp.accumulate, _grad=False)
for name in "maximum minimum fmax fmin logical_and logical_or bitwise_and bitwise_or bitwise_xor".split():
    op, ref = f"{name}_accumulate", getattr(np, name).accumulate
    case(op, BITS, ref=ref)
    case(op, BITS.astype(np.uint8), 1, ref=ref)
for name in ("maximum", "minimum"):
    op, ref = f"{name}_accumulate", getattr(np, name).accumulate
    case(op, X, ref=ref)
    case(op, X, axis=-1, ref=ref)
    case(op, normal(2, 3, 2), 1, ref=ref)
    case(op, X, 1, np.float32, ref=ref, _grad=False)
    case(op, np.array([1.0, np.nan, 2.0, 0.0]), ref=ref, _grad=False)
for name in "add multiply maximum minimum logical_and logical_or bitwise_and bitwise_or bitwise_xor".split():
    op, ref = f"{name}_reduceat", getattr(np, name).reduceat
    case(op, integers(0, 9, 8), np.array([0, 4, 1, 5, 2]), ref=ref)
    case(op, integers(0, 9, 3, 4, dtype=np.int16), np.array([0, 2]), axis=1, ref=ref)
case("add_reduceat", normal(8), np.array([0, 4, 1, 5, 2, 2, 7]), ref=np.add.reduceat)
case("add_reduceat", X, [0, 2, 1], 1, ref=np.add.reduceat)
case("add_reduceat", C, np.array([1, 2]), ref=np.add.reduceat)
for name in ("add", "subtract", "multiply", "power", "maximum", "hypot", "less", "arctan2"):
    ref = (lambda ufunc: lambda x1, x2, ufunc_name: ufunc.outer(x1, x2))(getattr(np, name))
    a = np.abs(normal(3)) + 0.5
    case("ufunc_outer", a, normal(2, 2), name, ref=ref)
    case("ufunc_outer", a, np.float64(1.5), name, ref=ref)
case("ufunc_outer", integers(0, 9, 3, dtype=np.int8), 2, "add", ref=lambda a, b, _: np.add.outer(a, b))
case("ufunc_outer", integers(0, 9, 3), integers(0, 9, 2), "bitwise_xor", ref=lambda a, b, _: np.bitwise_xor.outer(a, b))
for name in ("var", "std"):
    case(f"{name}_where", X, 1, mean=normal(3, 1, seed=7), keepdims=True, ref=getattr(np, name))
    case(f"{name}_where", X, correction=1, ref=getattr(np, name))

HOLES = np.where(np.eye(3, 4, dtype=bool), np.nan, X)
for name, start in (("sum", 1.5), ("prod", 1.5), ("max", 0.25), ("min", 0.25)):
    op, ref = f"nan{name}_where", getattr(np, f"nan{name}")
    case(op, X, initial=start, ref=ref)
    case(op, X, axis=1, initial=start, where=SOME, ref=ref)
    case(op, HOLES, axis=(0, 1), keepdims=True, initial=start, where=ROW, ref=ref, _grad=False)
    case(op, HOLES.astype(np.float32), 0, initial=start, where=SOME, ref=ref, _rtol=1e-6, _grad=False)  # float32
    case(op, integers(0, 9, 3, 4), 1, initial=2, where=SOME, ref=ref)
for name in ("mean", "var", "std"):
    op, ref = f"nan{name}_where", getattr(np, f"nan{name}")
    case(op, X, where=SOME, ref=ref)
    case(op, X, 1, where=SOME, keepdims=True, ref=ref)
    case(op, HOLES, 0, where=SOME, ref=ref, _grad=False)
    case(op, HOLES.astype(np.float32), 1, where=SOME, ref=ref, _rtol=1e-6, _grad=False)  # float32
    case(op, integers(0, 9, 3, 4), axis=1, where=SOME, ref=ref)
for name in ("var", "std"):
    case(f"nan{name}_where", X, 1, mean=normal(3, 1, seed=7), keepdims=True, ref=getattr(np, f"nan{name}"))
    case(f"nan{name}_where", HOLES, ddof=1, ref=getattr(np, f"nan{name}"), _grad=False)
