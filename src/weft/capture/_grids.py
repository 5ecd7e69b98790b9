"""`np.mgrid[...]`, `np.ogrid[...]`, `np.r_[...]` and `np.c_[...]` with traced bounds or arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._numpy_special import _as_array, _typed
from weft.capture._python_calls import python_class
from weft.capture._values import Scalar, is_traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    return 0 if part.start is None else part.start, part.stop, 1 if part.step is None else part.step


def _line(recorder: Recorder, part: slice) -> Any:
    """The numbers of a slice: by step, or, where the step is imaginary, so many of them."""
    start, stop, step = _bounds(part)
    if _is_complex(step):
        return recorder.numpy.function(np.linspace, (start, stop, _count(recorder, step)), {})
    return recorder.numpy.function(np.arange, (start, stop, step), {})


def _is_complex(step: Any) -> bool:
    return issubclass(python_class(step) if isinstance(step, Scalar) else type(step), (complex, np.complexfloating))


def _count(recorder: Recorder, step: Any) -> Any:
    return recorder.python.call(int, (abs(step),), {})


def _axis(recorder: Recorder, part: slice, dtype: Any) -> Any:
    """The same of a grid, which multiplies where `np.r_` takes `np.linspace`."""
    start, stop, step = _bounds(part)
    if _is_complex(step):
        count = _count(recorder, step)
        step = (stop - start) / recorder.python.call(max, (count - 1, 1), {})
    else:
        line = _line(recorder, part)
        if line.spec.dtype.kind in "iu":
            return line
        count = line.shape[0]
    return recorder.numpy.function(np.arange, (count,), {"dtype": dtype}) * step + start


def _grids(recorder: Recorder, key: Any, dense: bool) -> Any:
    key = tuple(key) if isinstance(key, list) else key
    bounds = [_bounds(part) for part in (key if isinstance(key, tuple) else (key,))]
    known = [_typed(1.0 if _is_complex(bound) else bound) for line in bounds for bound in line]
    whole = np.result_type(0, *known)
    if not isinstance(key, tuple):
        return _axis(recorder, key, whole) if _is_complex(bounds[0][2]) else _line(recorder, key)
    lines = [_axis(recorder, part, whole) for part in key]
    lines = [line.astype(whole) if line.spec.dtype != whole else line for line in lines]
    sizes = [line.shape[0] for line in lines]
    spread = []
    for axis, line in enumerate(lines):
        shape = tuple(size if k == axis else 1 for k, size in enumerate(sizes))
        made = recorder.numpy.function(np.reshape, (line, shape), {})
        spread.append(recorder.numpy.function(np.broadcast_to, (made, tuple(sizes)), {}) if dense else made)
    if not dense:
        return tuple(spread)
    whole = recorder.numpy.function(np.stack, (spread,), {})
    whole.buffer.layout = "C"  # NumPy makes it in order
    return whole


def _mgrid(recorder: Recorder, key: Any) -> Any:
    return _grids(recorder, key, True)


def _ogrid(recorder: Recorder, key: Any) -> Any:
    return _grids(recorder, key, False)


def _rows(recorder: Recorder, key: Any) -> Any:
    if not is_traced(key):
        return None
    made = []
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, str):
            recorder.refuse("np.r_ with a text that says how", help="use np.concatenate or np.stack")
        line = _line(recorder, part) if isinstance(part, slice) else part
        made.append(_as_array(recorder, line, None, copy=False) if isinstance(line, (list, tuple)) else line)
    dtype = np.result_type(*map(_typed, made))  # numbers of Python's do not promote
    made = [_as_array(recorder, line, dtype, copy=False) for line in made]
    lines = [line if line.spec.shape else recorder.numpy.function(np.reshape, (line, (1,)), {}) for line in made]
    return recorder.numpy.function(np.concatenate, (lines,), {})


def _columns(recorder: Recorder, key: Any) -> Any:
    if not is_traced(key):
        return None
    parts = [_line(recorder, p) if isinstance(p, slice) else p for p in (key if isinstance(key, tuple) else (key,))]
    return recorder.numpy.function(np.column_stack, (parts,), {})


def grid_of(name: str, key: Any) -> Any:
    """`np.mgrid[key]`, or another of its kin by name."""
    if name not in NAMES.values():  # a graph from a file could name anything
        raise ValueError(f"grid_of: {name!r} is none of {', '.join(NAMES.values())}")
    return getattr(np, name)[key]


NAMES = {id(getattr(np, name)): name for name in ("mgrid", "ogrid", "r_", "c_")}
GRIDS: dict[int, Callable[..., Any]] = {
    id(np.mgrid): _mgrid,
    id(np.ogrid): _ogrid,
    id(np.r_): _rows,
    id(np.c_): _columns,
}
"""By identity: the objects themselves do not hash."""
