"""`weft` as a namespace of the Python array API standard 2024.12, measured against array_api_strict.

Three questions: is every name there, does each function take every parameter the standard gives it, and does it give
what array_api_strict gives on small arrays.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import weft

# array_api_strict's own switches, and what its modules import for themselves.
OWN = {"ArrayAPIStrictFlags", "Device", "get_array_api_strict_flags", "reset_array_api_strict_flags"} | {
    "set_array_api_strict_flags",
    "ModuleType",
    "broadcast_shapes",  # of 2025.12
}


def names(module: Any) -> list[str]:
    """What the standard, not the module, defines: no imports, no helpers."""
    listed = getattr(module, "__all__", None) or dir(module)
    standard = (n for n in listed if n not in OWN and (not n.startswith("_") or n.startswith("__array")))
    return [n for n in standard if not isinstance(getattr(module, n), types.ModuleType)]


def functions() -> dict[str, tuple[Callable[..., Any] | None, Callable[..., Any]]]:
    """Every function by dotted name: ours, or None where it is missing, and array_api_strict's."""
    found = {}
    for prefix, ours, theirs in (
        ("", weft, strict),
        ("linalg.", getattr(weft, "linalg", None), strict.linalg),
        ("fft.", getattr(weft, "fft", None), strict.fft),
    ):
        for name in names(theirs):
            function = getattr(theirs, name)
            if callable(function) and not isinstance(function, type):
                found[prefix + name] = (getattr(ours, name, None), function)
    return found


FUNCTIONS = functions()


def test_no_name_is_missing() -> None:
    missing = [n for n in names(strict) if not hasattr(weft, n)]
    missing += [n for n, (ours, _) in FUNCTIONS.items() if ours is None and "." in n]
    assert missing == []


def test_the_standard_is_found_whole() -> None:
    # If array_api_strict changed so that `names` found little, the test above would pass for nothing.
    assert len(FUNCTIONS) > 165
    assert {"sin", "linalg.svd", "fft.irfftn", "take_along_axis", "unique_all", "__array_namespace_info__"} <= set(
        FUNCTIONS
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    assert ours is not None, f"weft.{name} is missing"
    mine = inspect.signature(ours).parameters
    positions = [p for p in mine.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for index, wanted in enumerate(inspect.signature(theirs).parameters.values()):
        if wanted.kind is wanted.VAR_POSITIONAL:
            assert any(p.kind is p.VAR_POSITIONAL for p in mine.values()), f"weft.{name} takes no *{wanted.name}"
            continue
        if wanted.kind in (wanted.POSITIONAL_ONLY, wanted.POSITIONAL_OR_KEYWORD):
            assert index < len(positions), f"weft.{name} takes no argument in place {index} ({wanted.name})"
        if wanted.kind in (wanted.KEYWORD_ONLY, wanted.POSITIONAL_OR_KEYWORD):
            got = mine.get(wanted.name)
            assert got is not None and got.kind is not got.POSITIONAL_ONLY, f"weft.{name} takes no {wanted.name}="
            _same_default(name, wanted, got)


def _same_default(name: str, wanted: inspect.Parameter, got: inspect.Parameter) -> None:
    """A parameter that may be left out may be left out here, and then means the same."""
    if wanted.default is wanted.empty or type(wanted.default).__name__ in ("Undef", "object"):
        return
    assert got.default == wanted.default, (
        f"weft.{name}({wanted.name}={got.default!r}), the standard has {wanted.default!r}"
    )


def test_constants_and_dtypes() -> None:
    assert (weft.e, weft.pi, weft.inf, weft.newaxis) == (np.e, np.pi, np.inf, None)
    assert np.isnan(weft.nan)
    for name in ("bool", "int8", "uint64", "float32", "float64", "complex64", "complex128"):
        assert np.dtype(getattr(weft, name)) == np.dtype(name)
        assert weft.zeros(2, dtype=getattr(weft, name)).dtype == getattr(weft, name)
    assert weft.__array_api_version__ == "2024.12"


def test_namespace_info() -> None:
    ours, theirs = weft.__array_namespace_info__(), strict.__array_namespace_info__()
    assert ours.capabilities().keys() == theirs.capabilities().keys()
    assert ours.default_device() in ours.devices()
    for kind, dtype in theirs.default_dtypes().items():
        assert ours.default_dtypes()[kind] == dtype._np_dtype
    for kind in (None, "bool", "integral", "real floating", ("signed integer", "complex floating")):
        expected = {name: dtype._np_dtype for name, dtype in theirs.dtypes(kind=kind).items()}
        assert ours.dtypes(kind=kind) == expected
    with pytest.raises(ValueError, match="expected a kind among"):
        ours.dtypes(kind="text")
    with pytest.raises(ValueError, match="expected device None or 'cpu'"):
        ours.dtypes(device="gpu")


# ── The same results ──────────────────────────────────────────────────────────────────────────────────────────────────

F = np.array([[0.9, -0.5, 0.3], [0.2, 0.8, -0.7], [-0.1, 0.4, 0.6]])
POSITIVE = np.abs(F) + 1.1
C = F + 1j * F.T
N = np.array([[3, 1, 2], [5, 4, 1], [1, 7, 6]])
B = N > 2
SYMMETRIC = F + F.T
DEFINITE = F @ F.T + np.eye(3)

CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}


def call(name: str, *args: Any, **kwargs: Any) -> None:
    CALLS.setdefault(name, []).append((args, kwargs))


def each(names: str) -> list[str]:
    return names.split()


for _name in each(
    "abs acos asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log1p negative positive round "
    "sign signbit sin sinh square tan tanh trunc reciprocal"
):
    call(_name, F)
for _name in each("acosh log log10 log2 sqrt"):
    call(_name, POSITIVE)
for _name in each("abs exp sin sqrt conj real imag sign isfinite square negative"):
    call(_name, C)
for _name in each("abs floor ceil round trunc sign square negative positive bitwise_invert"):
    call(_name, N)
for _name in each(
    "add subtract multiply divide atan2 copysign equal floor_divide greater greater_equal hypot less less_equal "
    "logaddexp maximum minimum nextafter not_equal remainder"
):
    call(_name, F, POSITIVE)
    call(_name, F, 0.5)
    call(_name, F.astype(np.float32), F[0].astype(np.float32))
for _name in each("add subtract multiply divide pow equal"):
    call(_name, C, C.T)
for _name in each(
    "add subtract multiply floor_divide remainder pow bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
    "bitwise_right_shift maximum less"
):
    call(_name, N, N.T)
    call(_name, N.astype(np.uint8), 2)
for _name in each("logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor"):
    call(_name, B, B.T)
call("logical_not", B)
call("pow", POSITIVE, F)
call("clip", F, -0.2, 0.5)
call("clip", F, max=0.1)
call("clip", F)
call("where", B, F, POSITIVE)
call("where", B, 0.0, F)

for _name in each("sum prod mean max min var std"):
    call(_name, F)
    call(_name, F, axis=1, keepdims=True)
    call(_name, F.astype(np.float32), axis=0)
for _name in each("sum prod max min"):
    call(_name, N, axis=(0, 1))
for _name in each("sum prod cumulative_sum cumulative_prod"):
    call(_name, N.astype(np.int8), axis=0)
    call(_name, F, axis=1, dtype="float64")
for _name in each("var std"):
    call(_name, F, axis=0, correction=1.0)
for _name in each("all any count_nonzero"):
    call(_name, B)
    call(_name, B, axis=0, keepdims=True)
for _name in each("argmax argmin"):
    call(_name, F)
    call(_name, F, axis=1, keepdims=True)
for _name in each("cumulative_sum cumulative_prod"):
    call(_name, F[0])
    call(_name, F, axis=1, include_initial=True)
call("diff", F)
call("diff", F, axis=0, n=2, prepend=F[:1], append=F[1:])

call("arange", 5)
call("arange", 1, 7, 2, dtype="float32")
call("eye", 3, 4, k=1)
call("full", (2, 3), 7)
call("full_like", F, 2)
call("linspace", 0, 1, 5)
call("linspace", 0, 1, num=5, endpoint=False, dtype="float32")
call("meshgrid", F[0], F[1], indexing="ij")
for _name in each("zeros ones"):
    call(_name, (2, 3))
    call(f"{_name}_like", N)
for _name in each("tril triu"):
    call(_name, F, k=1)
call("asarray", F, dtype="float32", copy=True)
call("astype", N, "float32", copy=False)

call("broadcast_arrays", F, F[0])
call("broadcast_to", F[0], (2, 3))
call("concat", [F, POSITIVE], axis=1)
call("concat", [F, POSITIVE], axis=None)
call("expand_dims", F, axis=1)
call("flip", F, axis=0)
call("moveaxis", F[None], 0, -1)
call("permute_dims", F[None], (2, 0, 1))
call("repeat", F, 2, axis=0)
call("reshape", F, (9,), copy=True)
call("roll", F, 1, axis=0)
call("squeeze", F[None], axis=0)
call("stack", [F, POSITIVE], axis=-1)
call("tile", F, (2, 1))
call("unstack", F, axis=1)

call("take", F, np.array([2, 0]), axis=1)
call("take_along_axis", F, np.argsort(F, axis=1), axis=1)
call("nonzero", B)
call("searchsorted", np.sort(F[0]), F[1], side="right")
call("argsort", F, axis=0, descending=True)
call("sort", F, axis=0, descending=True)
for _name in each("unique_all unique_counts unique_inverse unique_values"):
    call(_name, N)

call("matmul", F, F)
call("matrix_transpose", F)
call("tensordot", F, F, axes=1)
call("vecdot", F, F, axis=-2)
for _name in each("det inv svdvals pinv matrix_rank trace diagonal matrix_norm vector_norm slogdet"):
    call(f"linalg.{_name}", F)
call("linalg.cholesky", DEFINITE, upper=True)
call("linalg.cross", F, F.T, axis=-2)
call("linalg.eigvalsh", SYMMETRIC)
call("linalg.matmul", F, F)
call("linalg.matrix_power", F, 3)
call("linalg.matrix_transpose", F)
call("linalg.outer", F[0], F[1])
call("linalg.qr", F)
call("linalg.solve", F, POSITIVE)
call("linalg.tensordot", F, F, axes=1)
call("linalg.vecdot", F, F)
call("linalg.matrix_norm", F, ord=1, keepdims=True)
call("linalg.vector_norm", F, axis=1, ord=3)
for _name in each("fft ifft fftn ifftn"):
    call(f"fft.{_name}", C)
for _name in each("rfft rfftn ihfft"):
    call(f"fft.{_name}", F)
for _name in each("irfft irfftn hfft"):
    call(f"fft.{_name}", C, norm="ortho")
call("fft.fft", C, n=5, axis=0)
call("fft.fftfreq", 5, d=0.5)
call("fft.rfftfreq", 5)
call("fft.fftshift", F, axes=0)
call("fft.ifftshift", F)

# Found by other means: they return classes, dtypes or arrays of no definite content, or their results are not unique.
ELSEWHERE = {
    "__array_namespace_info__",
    "can_cast",
    "empty",
    "empty_like",
    "finfo",
    "from_dlpack",
    "iinfo",
    "isdtype",
    "result_type",
    "linalg.eig",
    "linalg.eigh",
    "linalg.eigvals",
    "linalg.svd",
    "isin",
}


def test_every_function_is_called() -> None:
    assert sorted(set(FUNCTIONS) - set(CALLS) - ELSEWHERE) == []


@pytest.mark.parametrize("name", CALLS)
def test_same_results(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    assert ours is not None, f"weft.{name} is missing"
    for args, kwargs in CALLS[name]:
        got = ours(*args, **{k: _dtype(k, v, weft) for k, v in kwargs.items()})
        strict_args = [strict.float32 if isinstance(a, str) else _lift(a) for a in args]
        expected = theirs(*strict_args, **{k: _dtype(k, _lift(v), strict) for k, v in kwargs.items()})
        _assert_same(got, expected)


def _dtype(key: str, value: Any, namespace: Any) -> Any:
    return getattr(namespace, value) if key == "dtype" else value


def _lift(value: Any) -> Any:
    """The argument in array_api_strict's own arrays."""
    if isinstance(value, np.ndarray):
        return strict.asarray(value)
    return [_lift(v) for v in value] if isinstance(value, list) else value


def _assert_same(got: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        assert isinstance(got, tuple | list) and len(got) == len(expected)
        if hasattr(expected, "_fields"):
            assert got._fields == expected._fields
        for g, e in zip(got, expected, strict=True):
            _assert_same(g, e)
        return
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    # Sums may be taken in another order.
    np.testing.assert_allclose(got, expected, rtol=1e-6 if got.dtype.itemsize == 4 else 1e-12, atol=1e-14)


# ── Questions about dtypes ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric"])
def test_isdtype(kind: str) -> None:
    for name in ("bool", "int8", "uint16", "float32", "float64", "complex64"):
        expected = strict.isdtype(getattr(strict, name), kind)
        assert weft.isdtype(getattr(weft, name), kind) is expected
        assert weft.isdtype(np.dtype(name), (kind, weft.complex64)) is (expected or name == "complex64")


def test_isdtype_refuses_an_unknown_kind() -> None:
    with pytest.raises(ValueError, match="'text' is not a kind of dtype"):
        weft.isdtype(weft.int8, "text")


def test_result_type_and_can_cast() -> None:
    everything = ("bool", "int8", "int64", "uint8", "float32", "float64", "complex64")
    for a in everything:
        for b in everything:
            assert weft.can_cast(getattr(weft, a), getattr(weft, b)) == np.can_cast(a, b)
            assert weft.result_type(getattr(weft, a), weft.spec((2,), b)) == np.result_type(a, b)
    assert weft.result_type(np.zeros(2, np.float32), 1.0) == np.float32
    assert weft.result_type(weft.spec((), "int8"), 3, 1.0) == np.float64
    assert weft.result_type(np.float64(1.0), weft.float32) == np.float64
    assert weft.can_cast(weft.spec((3,), "int8"), weft.float32)


def test_limits() -> None:
    for name in ("float32", "float64", "complex64"):
        ours, theirs = weft.finfo(weft.spec((2,), name)), strict.finfo(getattr(strict, name))
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(ours, field) == getattr(theirs, field)
        assert ours.dtype == np.finfo(name).dtype
    for name in ("int8", "uint32"):
        ours, theirs = weft.iinfo(getattr(weft, name)), strict.iinfo(getattr(strict, name))
        assert (ours.bits, ours.max, ours.min, ours.dtype) == (theirs.bits, theirs.max, theirs.min, np.dtype(name))
    assert weft.iinfo(np.zeros(3, np.int16)).max == 2**15 - 1


def test_from_dlpack_shares_memory_unless_told_to_copy() -> None:
    x = np.arange(3.0)
    shared, copied = weft.from_dlpack(x), weft.from_dlpack(x, copy=True)
    x[0] = 7
    assert shared[0] == 7 and copied[0] == 0
    assert weft.from_dlpack(strict.asarray([1, 2])).tolist() == [1, 2]
    t = weft.tensor([1.0, 2.0])
    for device in (None, "cpu", t.device):
        for copy in (None, False, True):
            assert np.shares_memory(weft.from_dlpack(t, device=device, copy=copy), t.numpy()) == (copy is not True)
    with pytest.raises(BufferError, match="without a copy"):
        weft.from_dlpack(t[::-1], copy=False)
    with pytest.raises(TypeError, match=r"with __dlpack__, got list; use weft.asarray"):
        weft.from_dlpack([1, 2])


class Far:
    """An array that has to be brought to the CPU, by whom it belongs to."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, *, dl_device: Any = None, **options: Any) -> Any:
        assert dl_device == (1, 0)
        return np.arange(3).__dlpack__(dl_device=dl_device, **options)


class Old:
    """An array that knows no options, as they were added later."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, stream: Any = None) -> Any:
        return np.arange(3).__dlpack__()


def test_from_dlpack_asks_for_what_is_needed() -> None:
    assert weft.from_dlpack(Far(), device="cpu").tolist() == [0, 1, 2]
    for device in (None, "cpu"):
        for copy in (None, True):
            assert weft.from_dlpack(Old(), device=device, copy=copy).tolist() == [0, 1, 2]


def test_dlpack_of_a_tensor_takes_the_parameters_of_the_standard() -> None:
    t = weft.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert list(inspect.signature(t.__dlpack__).parameters) == ["stream", "max_version", "dl_device", "copy"]
    assert t.__dlpack_device__() == (1, 0)

    def taken(of: Any, **options: Any) -> Any:
        given = types.SimpleNamespace(capsule=of.__dlpack__(**options))

        class Given:
            def __dlpack__(self, **_: Any) -> Any:
                return given.capsule

            def __dlpack_device__(self) -> Any:
                return of.__dlpack_device__()

        return np.from_dlpack(Given())

    for version in (None, (0, 8), (1, 0), (1, 1), (2, 0)):
        for device in (None, (1, 0)):
            for copy in (None, False, True):
                array = taken(t, stream=None, max_version=version, dl_device=device, copy=copy)
                assert array.tolist() == [1.0, 2.0, 3.0]
                assert np.shares_memory(array, t.numpy()) == (copy is not True)
    for copy in (None, True):
        array = taken(t.detach()[::-1], copy=copy)
        assert array.tolist() == [3.0, 2.0, 1.0] and array.strides == (8,)
    for options in ({"dl_device": (2, 0)}, {"stream": 1}):
        with pytest.raises(BufferError, match="__dlpack__: a tensor"):
            t.__dlpack__(**options)


@pytest.mark.parametrize("make", [np.array, weft.tensor])
def test_to_device(make: Any) -> None:
    def moved(x: Any) -> Any:
        return x.to_device("cpu") * 2 + x.to_device(x.device, stream=None)

    x = make([1.0, 2.0])
    assert x.to_device("cpu") is x
    ways = (moved, weft.compile(moved), weft.script(moved), weft.symbolic_trace(moved), weft.trace(moved, x))
    for run in ways:
        assert run(x).tolist() == [3.0, 6.0] and type(run(x)) is type(x)
    first = weft.compile(lambda x: x[0].to_device("cpu") * 2)
    assert first(x).item() == 2.0
    assert weft.grad(lambda x: moved(x).sum())(x).tolist() == [3.0, 3.0]
    for run in (lambda x: x.to_device("gpu"), weft.compile(lambda x: x.to_device("gpu"))):
        with pytest.raises(ValueError, match="gpu"):
            run(x)


def test_isin() -> None:
    np.testing.assert_array_equal(weft.isin(N, np.array([1, 7])), np.isin(N, [1, 7]))
    np.testing.assert_array_equal(weft.isin(N, np.array([1, 7]), invert=True), ~np.isin(N, [1, 7]))
