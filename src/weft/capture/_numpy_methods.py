"""Methods and attributes of traced arrays, and the functions of NumPy that mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._collect import numbers_of
from weft.capture._layouts import is_contiguous, lies_in_order
from weft.capture._memory import taken_out
from weft.capture._numpy_calls import PROPERTIES, call_named, method, special
from weft.capture._numpy_special import _as_array, copied, count_of, in_order
from weft.capture._opaque import Opaque
from weft.capture._refusals import refuse_class_of_arrays
from weft.capture._values import Array, Scalar, Traced
from weft.capture._views import Step
from weft.graph import Node
from weft.ops import Spec
from weft.ops._dim import Dim
from weft.ops._op import TABLE, op_of

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

PROPERTIES.update(
    {
        "T": lambda recorder, a: call_named(recorder, "permute_dims", a) if isinstance(a, Array) else a,
        "mT": lambda recorder, a: call_named(recorder, "swapaxes", a, -1, -2),
        "size": lambda recorder, a: count_of(a.shape),
        "ndim": lambda recorder, a: len(a.shape),
        "itemsize": lambda recorder, a: a.spec.dtype.itemsize,
        "nbytes": lambda recorder, a: count_of(a.shape) * a.spec.dtype.itemsize,
        "base": lambda recorder, a: _base(recorder, a) if isinstance(a, Array) else None,
        "device": lambda recorder, a: "cpu",
    }
)


_OWNING = frozenset(
    "zeros ones empty full eye arange zeros_like ones_like empty_like full_like concat stack copy astype where sum "
    "mean prod max min any all std var cumsum cumprod sort argsort_by unique take repeat clip_between insert "
    "delete".split()
)
"""Ops whose arrays own their memory, besides those of NumPy's ufuncs: what others give may be a view of it."""
_SURE_VIEWS = ("getitem", "permute_dims", "matrix_transpose", "swapaxes", "moveaxis", "expand_dims", "flip")


def _base(recorder: Recorder, a: Array) -> Any:
    """The array that owns the memory; of what the caller gave, the running graph tells."""
    buffer, op = a.buffer, op_of(a.buffer.made_by)
    owns = op is not None and (op.name in _OWNING or any(isinstance(one, np.ufunc) for one in op.numpy))
    views = all(getattr(step.target, "__name__", "") in _SURE_VIEWS for step in a.path)
    if buffer.joined or buffer.choice is not None or not views or not (owns or buffer.target is not None):
        recorder.refuse(".base of what may be a view", help="compute with the array itself, or copy it: .copy()")
    if buffer.target is None:
        return type(a)(recorder, buffer, (), buffer.spec) if a.path else None
    if _was_written(recorder, buffer):
        recorder.refuse(".base of an array that was written before", help="ask for it before the write")
    recorder.hand_out(a)
    return recorder.opaque(getattr, (a, "base"), {})


def _was_written(recorder: Recorder, buffer: Any) -> bool:
    """Whether the program has written an array of the caller's."""
    region: Any = recorder.region
    while region is not None and buffer not in region.written:
        region = region.parent
    return region is not None or recorder.root.held.get(buffer, buffer.target) is not buffer.target


@method("copy", "__copy__")
def _method_copy(recorder: Recorder, a: Any, order: Any = "C") -> Any:
    return copied(recorder, a, order=order) if isinstance(a, Array) else a


@method("astype")
def _astype(
    recorder: Recorder,
    a: Any,
    dtype: Any,
    order: Any = "K",
    casting: Any = "unsafe",
    subok: Any = True,
    copy: Any = True,
) -> Any:
    if isinstance(dtype, Traced) and copy is True:
        return recorder.call_method(a, "astype", (dtype, order, casting), {})
    if isinstance(dtype, Opaque):  # it may give the array itself
        return recorder.wrapped(np.ndarray.astype, (a, dtype, order, casting, subok, copy), {})
    dtype = np.dtype(dtype)
    np.empty(0, a.spec.dtype).astype(dtype, casting=casting)
    if not copy and dtype == a.spec.dtype:
        return in_order(recorder, a, order)
    return copied(recorder, a, dtype, order)


@method("to_device")
def _to_device(recorder: Recorder, a: Any, device: Any, /, *, stream: Any = None) -> Any:
    np.empty(0).to_device(device, stream=stream)  # raises for what is not there
    return a


@method("reshape")
def _reshape(recorder: Recorder, a: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    wanted = recorder.sizes_in(shape[0]) if len(shape) == 1 else shape
    wanted = wanted if isinstance(wanted, (tuple, list)) else shape
    return _reshape_function(recorder, a, tuple(wanted), order, copy=copy)


def _of_order(recorder: Recorder, a: Any, order: str) -> tuple[Array, str]:
    """A value as an array, and "C" or "F" for an order; refused where that depends on how it lies in memory."""
    array: Array = a if isinstance(a, Array) else _as_array(recorder, a, None, copy=False)
    if order not in ("A", "K") or lies_in_order(recorder, array):
        return array, "F" if order == "F" else "C"
    by_columns = is_contiguous(recorder, array, "F")
    if by_columns is None or (order == "K" and not by_columns):
        recorder.refuse(
            f"order={order!r} of an array whose elements do not lie in order", help="say which order: 'C' or 'F'"
        )
    return array, "F" if by_columns else "C"


@special(np.reshape)
def _reshape_function(
    recorder: Recorder, a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    shape = recorder.sizes_in(newshape if shape is None else shape)
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    a, order = _of_order(recorder, a, order)
    if order == "F":
        turned = call_named(recorder, "permute_dims", a)
        whole = call_named(recorder, "reshape", turned, tuple(reversed(shape)), copy=copy)
        return call_named(recorder, "permute_dims", whole)
    return call_named(recorder, "reshape", a, shape, copy=copy)


@method("ravel")
def _ravel(recorder: Recorder, a: Any, order: str = "C") -> Any:
    return _ravel_function(recorder, a, order)


@special(np.ravel)
def _ravel_function(recorder: Recorder, a: Any, order: str = "C") -> Any:
    a, order = _of_order(recorder, a, order)
    return call_named(recorder, "ravel", call_named(recorder, "permute_dims", a) if order == "F" else a)


@method("flatten")
def _flatten(recorder: Recorder, a: Any, order: str = "C") -> Any:
    return copied(recorder, _reshape_function(recorder, a, (-1,), order))


@method("transpose")
def _transpose(recorder: Recorder, a: Any, *axes: Any) -> Any:
    wanted = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes or None
    return call_named(recorder, "permute_dims", a, wanted)


@special(np.transpose, np.permute_dims)
def _transpose_function(recorder: Recorder, a: Any, axes: Any = None) -> Any:
    if isinstance(a, Scalar) and not a.python:
        return a  # as its method gives it
    return call_named(recorder, "permute_dims", _as_array(recorder, a, None, copy=False), axes)


@method("view")
def _view(recorder: Recorder, a: Any, dtype: Any = None, type: Any = None) -> Any:
    if isinstance(dtype, builtin_type) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type is not None and type is not np.ndarray:
        refuse_class_of_arrays(recorder, type)
    if dtype is None or (not isinstance(dtype, builtin_type) and np.dtype(dtype) == a.spec.dtype):
        return recorder.view(a, _whole(), a.spec)
    if np.dtype(dtype) == a.spec.dtype:
        return recorder.view(a, _whole(), a.spec)
    node_type = Spec(a.spec.shape, np.dtype(dtype))
    if np.dtype(dtype).itemsize != a.spec.dtype.itemsize:
        recorder.refuse(".view() as a dtype of another size", help="use .astype, or .copy().view in a wrapped function")
    return recorder.view(a, _Reinterpreted(np.dtype(dtype)), node_type)


builtin_type = type


class _Reinterpreted(Step):
    """The same memory read as another dtype of the same size."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: Any) -> None:
        super().__init__(np.ndarray.view, (dtype,), None)
        self.dtype = dtype

    def apply(self, recorder: Recorder, x: Node, type_: Any = None) -> Node:
        return self._as(recorder, x, self.dtype)

    def put(self, recorder: Recorder, x: Node, value: Node) -> Node:
        return self._as(recorder, value, x.meta["type"].dtype)

    @staticmethod
    def _as(recorder: Recorder, x: Node, dtype: Any) -> Node:
        spec: Spec = x.meta["type"]
        # Of a copy: in the graph no value shares memory with another.
        own = recorder.create(TABLE["astype"], (x, spec.dtype), {}, spec)
        return recorder.create(np.ndarray.view, (own, dtype), {}, Spec(spec.shape, dtype))


def _whole() -> Any:
    from weft.capture._views import step_for_key

    return step_for_key(...)


@method("item")
def _item(recorder: Recorder, a: Any, *index: Any) -> Any:
    a = taken_out(a)
    if index:
        where = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        if len(where) == 1 and isinstance(a, Array):
            a = call_named(recorder, "reshape", a, (-1,))
        a = recorder.getitem(a, where if len(where) > 1 else where[0])
    dtype = a.spec.dtype
    wide = dtype.char in "gG"  # no number of Python's holds it
    kind = dtype if wide else {"b": bool, "i": int, "u": int, "f": float, "c": complex}[dtype.kind]
    a = recorder.python.one_number(np.ndarray.item, a)
    if isinstance(a, Array) and any(type(dim) is not int or dim != 1 for dim in a.spec.shape):
        node = recorder.create_method(a, "item", (), {})  # it fails where there is not one element
        type_ = Spec((), dtype) if wide else kind
        node.meta.update({"type": type_, **({"raises": True} if recorder.keeps_raising else {})})
        return Scalar(recorder, kind, node)
    value = recorder.numpy.item(a)
    return value if wide else recorder.python.call(kind, (value,), {})


@method("tolist")
def _tolist(recorder: Recorder, a: Any) -> Any:
    if isinstance(a, Scalar) or not a.spec.shape:
        return _item(recorder, a)
    count = a.spec.shape[0]
    if isinstance(count, Dim) and count.hint is None and recorder.branches and a.spec.dtype.char not in "gG":
        return numbers_of(recorder, a)
    return [_tolist(recorder, part) for part in recorder.items(a)]


@method("squeeze")
def _squeeze(recorder: Recorder, a: Any, axis: Any = None) -> Any:
    made = recorder.numpy.function(np.squeeze, (a,), {"axis": axis})
    if isinstance(made, Opaque):
        return made
    return a if isinstance(a, Array) and len(made.spec.shape) == len(a.spec.shape) else made


@method("dot")
def _dot(recorder: Recorder, a: Any, b: Any, out: Any = None) -> Any:
    return recorder.numpy.function(np.dot, (a, b), {} if out is None else {"out": out})


@method("clip")
def _clip(recorder: Recorder, a: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return recorder.numpy.function(np.clip, (a, min, max), kwargs if out is None else {"out": out, **kwargs})


@method("choose")
def _choose(recorder: Recorder, a: Any, *choices: Any, out: Any = None, mode: str = "raise") -> Any:
    given = choices[0] if len(choices) == 1 else choices
    return recorder.numpy.function(np.choose, (a, given), {"out": out, "mode": mode})


@method("conj", "conjugate")
def _conj(recorder: Recorder, a: Any) -> Any:
    if isinstance(a, Array) and a.spec.dtype.kind != "c":
        return a
    return recorder.numpy.ufunc(np.conjugate, "__call__", (a,), {})


@method("round")
def _round(recorder: Recorder, a: Any, decimals: int = 0, out: Any = None) -> Any:
    return recorder.numpy.function(np.round, (a, decimals), {} if out is None else {"out": out})


@method("compress")
def _compress(recorder: Recorder, a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return recorder.numpy.function(np.compress, (condition, a), {"axis": axis, "out": out})


for _name in ("mean", "std", "var", "sum", "prod", "min", "max", "all", "any", "cumsum", "cumprod", "argmin", "argmax"):

    def _reduce(recorder: Any, a: Any, *args: Any, _function: str = _name, **kwargs: Any) -> Any:
        if _function in ("std", "var") and "correction" in kwargs:
            raise TypeError(f"_{_function}() got an unexpected keyword argument 'correction'")
        if _function in ("all", "any") and len(args) > 1:  # their second argument by position is a dtype
            if args[1] is not None:
                raise TypeError(f"{_function}(): the result is a bool, of whatever dtype {args[1]!r} is")
            args, kwargs = args[:1], {**dict(zip(("out", "keepdims"), args[2:], strict=False)), **kwargs}
        return recorder.numpy.function(getattr(np, _function), (a, *args), kwargs)

    method(_name)(_reduce)
