"""The constants and dtypes of the array API standard, and what this namespace tells about itself."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "bool",
    "complex128",
    "complex64",
    "e",
    "float16",
    "float32",
    "float64",
    "inf",
    "int16",
    "int32",
    "int64",
    "int8",
    "nan",
    "newaxis",
    "pi",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]

__array_api_version__ = "2024.12"

e = np.e
inf = np.inf
nan = np.nan
newaxis = None
pi = np.pi

bool = np.bool
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128

_DTYPES = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
_DTYPES["integral"] = _DTYPES["signed integer"] + _DTYPES["unsigned integer"]
_DTYPES["numeric"] = _DTYPES["integral"] + _DTYPES["real floating"] + _DTYPES["complex floating"]


class _Info:
    """What an array API namespace says of itself, as the standard asks; float16 is ours on top of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Which optional behaviour is supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where arrays live unless told otherwise."""
        return "cpu"

    def devices(self) -> list[str]:
        """Everywhere arrays can live."""
        return ["cpu"]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]:
        """The dtype of each kind that new arrays get."""
        _check(device)
        names = {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The dtypes of a kind, of several kinds, or all of them, by name."""
        _check(device)
        kinds = ("bool", "numeric") if kind is None else kind if isinstance(kind, tuple) else (kind,)
        for unknown in (k for k in kinds if k not in _DTYPES):
            raise ValueError(f"dtypes: expected a kind among {sorted(_DTYPES)}, got {unknown!r}")
        return {name: np.dtype(name) for k in kinds for name in _DTYPES[k]}


def _check(device: str | None) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"expected device None or 'cpu', got {device!r}")


def __array_namespace_info__() -> _Info:
    """What this namespace supports: `capabilities()`, `default_device()`, `default_dtypes()`, `devices()`, `dtypes()`.

    >>> __array_namespace_info__().default_dtypes()["real floating"]
    dtype('float64')
    """
    return _Info()
