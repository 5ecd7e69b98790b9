"""Functions of NumPy that are more than one op on traced values: creation, views of several parts, questions of type."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor
from weft.capture._iterables import Collected, Items
from weft.capture._kinds import REPRESENTATIVES
from weft.capture._lists import GrownList
from weft.capture._numpy_calls import PROPERTIES, call_named, method, special
from weft.capture._values import Array, Scalar, is_traced
from weft.ops import Spec
from weft.ops._op import TABLE
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

# Creation


@special(np.array)
def _array(
    recorder: Recorder,
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = None,
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    made = _as_array(recorder, object, dtype, copy=bool(copy))
    missing = ndmin - len(made.spec.shape)
    return made if missing <= 0 else call_named(recorder, "reshape", made, (*(1,) * missing, *made.shape))


def _as_array(recorder: Recorder, value: Any, dtype: Any, *, copy: bool) -> Any:
    dtype = None if dtype is None else np.dtype(dtype)
    if isinstance(value, Array):
        if not copy and dtype in (None, value.spec.dtype):
            return value
        return copied(recorder, value, dtype or value.spec.dtype)
    if isinstance(value, (np.ndarray, Tensor)):
        return _as_array(recorder, recorder.constant(value), dtype, copy=copy)
    if isinstance(value, (Collected, GrownList)):
        return _as_array(recorder, value.array(), dtype, copy=copy)
    if not is_traced(value):
        given = {} if dtype is None else {"dtype": dtype}
        return recorder.made_array(np.array, (value,), given, np.array(value, dtype))
    if isinstance(value, (list, tuple)):
        value = _nested(recorder, value)
    return call_named(recorder, "asarray", value, **({} if dtype is None else {"dtype": dtype}))


def _nested(recorder: Recorder, value: Any) -> Any:
    """A nested sequence as a nested list; what iterates, such as a generator, is listed."""
    if isinstance(value, (list, tuple)):
        return [_nested(recorder, part) for part in value]
    return value


def copied(recorder: Recorder, value: Any, dtype: Any = None) -> Any:
    """An array of its own with the same elements."""
    spec = Spec(value.spec.shape, dtype or value.spec.dtype)
    node = recorder.create(TABLE["astype"], (value, spec.dtype), {}, spec)
    return recorder.wrap(node, spec, array=isinstance(value, Array), tensor=getattr(type(value), "_is_tensor", False))


@special(np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)
def _asarray(recorder: Recorder, a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **_: Any) -> Any:
    return _as_array(recorder, a, dtype, copy=bool(copy))


@special(np.copy)
def _copy(recorder: Recorder, a: Any, order: Any = "K", subok: bool = False) -> Any:
    return _as_array(recorder, a, None, copy=True)


@special(np.ndarray)
def _ndarray(recorder: Recorder, shape: Any, dtype: Any = float, buffer: Any = None, **rest: Any) -> Any:
    if buffer is not None or rest:
        recorder.refuse("np.ndarray with a buffer or strides", help="use np.zeros(shape, dtype) and write into it")
    return call_named(recorder, "empty", shape, dtype=np.dtype(dtype))


@special(np.identity)
def _identity(recorder: Recorder, n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return call_named(recorder, "eye", n, dtype=dtype)


@special(np.fromfunction)
def _fromfunction(
    recorder: Recorder, function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kw: Any
) -> Any:
    grids = recorder.numpy.function(np.indices, (shape,), {"dtype": dtype})
    parts = [recorder.getitem(grids, k) for k in range(len(shape))]
    return recorder.python.call(function, tuple(parts), kw)


# Questions of type


@special(np.shape)
def _shape(recorder: Recorder, a: Any) -> Any:
    return a.shape if isinstance(a, Array) else () if isinstance(a, Scalar) else np.shape(a)


@special(np.ndim)
def _ndim(recorder: Recorder, a: Any) -> int:
    return len(a.spec.shape) if isinstance(a, (Array, Scalar)) else np.ndim(a)


@special(np.size)
def _size(recorder: Recorder, a: Any, axis: Any = None) -> Any:
    shape = _shape(recorder, a)
    return count_of(shape) if axis is None else shape[axis]


def count_of(shape: Any) -> Any:
    count: Any = 1
    for dim in shape:
        count = count * dim
    return count


@special(np.result_type)
def _result_type(recorder: Recorder, *values: Any) -> Any:
    return np.result_type(*map(_typed, values))


def _typed(value: Any) -> Any:
    """A dtype, or a plain number of the same type, for a traced value."""
    if isinstance(value, Scalar) and isinstance(value.kind, type):
        return REPRESENTATIVES[value.kind]
    return value.spec.dtype if isinstance(value, (Array, Scalar)) else value


@special(np.isscalar)
def _isscalar(recorder: Recorder, element: Any) -> bool:
    return isinstance(element, Scalar)


@special(np.iscomplexobj)
def _iscomplexobj(recorder: Recorder, x: Any) -> bool:
    return bool(
        np.dtype(_typed(x) if not isinstance(_typed(x), (int, float, complex)) else type(_typed(x))).kind == "c"
    )


@special(np.isrealobj)
def _isrealobj(recorder: Recorder, x: Any) -> bool:
    return not _iscomplexobj(recorder, x)


@special(np.shares_memory, np.may_share_memory)
def _shares(recorder: Recorder, a: Any, b: Any, max_work: Any = None) -> bool:
    return isinstance(a, Array) and isinstance(b, Array) and a.buffer is b.buffer


# Parts


@special(np.array_split)
def _array_split(recorder: Recorder, ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    size = ary.shape[axis]
    if isinstance(indices_or_sections, (list, tuple)) or isinstance(indices_or_sections, np.ndarray):
        points = [0, *indices_or_sections, None]
    else:
        sections = operator.index(indices_or_sections)
        total = operator.index(size)
        each, extra = divmod(total, sections)
        points = [0]
        for k in range(sections):
            points.append(points[-1] + each + (k < extra))
    before = (slice(None),) * (axis % len(ary.spec.shape))
    return [recorder.getitem(ary, (*before, slice(a, b))) for a, b in zip(points, points[1:], strict=False)]


@special(np.split)
def _split(recorder: Recorder, ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if isinstance(indices_or_sections, (int, Scalar)):
        sections = operator.index(indices_or_sections)
        if operator.index(ary.shape[axis]) % sections:
            raise ValueError("array split does not result in an equal division")
    return _array_split(recorder, ary, indices_or_sections, axis)


@special(np.hsplit)
def _hsplit(recorder: Recorder, ary: Any, indices_or_sections: Any) -> list[Any]:
    return _split(recorder, ary, indices_or_sections, 0 if len(ary.spec.shape) == 1 else 1)


@special(np.vsplit)
def _vsplit(recorder: Recorder, ary: Any, indices_or_sections: Any) -> list[Any]:
    return _split(recorder, ary, indices_or_sections, 0)


@special(np.dsplit)
def _dsplit(recorder: Recorder, ary: Any, indices_or_sections: Any) -> list[Any]:
    return _split(recorder, ary, indices_or_sections, 2)


@special(np.where)
def _where(recorder: Recorder, condition: Any, *choices: Any) -> Any:
    if not choices:
        return recorder.numpy.function(np.nonzero, (condition,), {})
    return call_named(recorder, "where", condition, *choices)


@special(np.nonzero)
def _nonzero(recorder: Recorder, a: Any) -> Any:
    type_ = recorder.numpy.probe(np.nonzero, (a,), {})
    size = recorder.sizes.fresh("nonzero")
    type_ = tuple(Spec((size,), part.dtype) for part in type_)
    node = recorder.create(TABLE["nonzero"], (a,), {}, type_)
    return recorder.wrap(node, type_)


@special(np.ix_)
def _ix(recorder: Recorder, *args: Any) -> Any:
    made = []
    for k, arg in enumerate(args):
        part = _as_array(recorder, arg, None, copy=False)
        if part.spec.dtype.kind == "b":
            (part,) = _nonzero(recorder, part)
        shape = [1] * len(args)
        shape[k] = part.shape[0]
        made.append(call_named(recorder, "reshape", part, tuple(shape)))
    return tuple(made)


@special(np.broadcast_shapes)
def _broadcast_shapes(recorder: Recorder, *shapes: Any) -> Any:
    from weft.ops._spec import broadcast_shapes

    known = [tuple(map(recorder.dim, s if isinstance(s, tuple) else (s,))) for s in shapes]
    return tuple(map(recorder.integer, broadcast_shapes("broadcast_shapes", *known)))


# Lists of a traced number of arrays


@special(np.stack)
def _stack(recorder: Recorder, arrays: Any, axis: int = 0, out: Any = None, **rest: Any) -> Any:
    if isinstance(arrays, GrownList):
        return _joined(recorder, np.stack, arrays, 1, axis=axis)
    if isinstance(arrays, Collected):
        return recorder.numpy.function(np.moveaxis, (arrays.array(), 0, axis), {})
    return call_named(recorder, "stack", _listed(arrays), axis=axis)


def _listed(arrays: Any) -> Any:
    return list(arrays) if not isinstance(arrays, (list, tuple)) else arrays


def _joined(recorder: Recorder, function: Any, arrays: GrownList, more: int, **kwargs: Any) -> Any:
    """A function that joins arrays, on a list that has grown: `more` is how many dimensions it adds."""
    found = arrays.types[0] if arrays.tree == LEAF else None
    if found is None or found.unknown:
        return recorder.opaque(function, (arrays.handle,), kwargs)
    spec = Spec((), np.dtype(found.kind)) if found.spec is None else found.spec
    rank = max(len(spec.shape) + more, 2 if function in (np.vstack, np.column_stack) else 1)
    type_ = Spec([recorder.sizes.fresh(function.__name__) for _ in range(rank)], spec.dtype)
    return recorder.wrap(recorder.create(function, (arrays.handle,), kwargs, type_), type_)


@special(np.concatenate)
def _concatenate(recorder: Recorder, arrays: Any, axis: Any = 0, out: Any = None, **rest: Any) -> Any:
    if isinstance(arrays, GrownList):
        return _joined(recorder, np.concatenate, arrays, 0, axis=axis)
    if isinstance(arrays, Collected):
        whole = arrays.array()
        if axis != 0 or len(whole.spec.shape) < 2:
            recorder.refuse("np.concatenate of a traced number of arrays along another axis than the first")
        made = recorder.numpy.function(np.reshape, (whole, (-1, *whole.shape[2:])), {})
    else:
        made = call_named(recorder, "concat", _listed(arrays), axis=axis)
        if rest.get("dtype") is not None:
            made = copied(recorder, made, np.dtype(rest["dtype"]))
    return made if out is None else recorder.numpy.write_whole(out, made)


@special(np.vstack)
def _vstack(recorder: Recorder, tup: Any, **rest: Any) -> Any:
    if isinstance(tup, GrownList):
        return _joined(recorder, np.vstack, tup, 0)
    if isinstance(tup, Collected):
        whole = tup.array()
        return whole if len(whole.spec.shape) == 2 else _concatenate(recorder, tup)
    return recorder.numpy.with_op(np.vstack, (_listed(tup),), rest)


@special(np.column_stack)
def _column_stack(recorder: Recorder, tup: Any) -> Any:
    if isinstance(tup, GrownList):
        return _joined(recorder, np.column_stack, tup, 0)
    if isinstance(tup, Collected):
        whole = tup.array()
        if len(whole.spec.shape) != 2:
            recorder.refuse("np.column_stack of a traced number of matrices")
        return call_named(recorder, "permute_dims", whole)
    return recorder.numpy.with_op(np.column_stack, (_listed(tup),), {})


@special(np.hstack)
def _hstack(recorder: Recorder, tup: Any, **rest: Any) -> Any:
    if isinstance(tup, GrownList):
        return _joined(recorder, np.hstack, tup, 0)
    if isinstance(tup, Collected):
        whole = tup.array()
        if len(whole.spec.shape) != 2:
            recorder.refuse("np.hstack of a traced number of matrices")
        return recorder.numpy.function(np.reshape, (whole, (-1,)), {})
    return recorder.numpy.with_op(np.hstack, (_listed(tup),), rest)


# Ufunc methods


def ufunc_method(recorder: Recorder, ufunc: Any, how: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.add.reduce(x)`, `.accumulate`, `.outer`, `.at`, `.reduceat`."""
    from weft.capture._numpy_writes import add_at
    from weft.ops._ufunc_methods import method_arguments
    from weft.ops._ufunc_methods import ufunc_method as op_for_method

    if how == "at":
        return add_at(recorder, ufunc, *inputs)
    out = kwargs.pop("out", None)
    target = out[0] if isinstance(out, tuple) else out
    if how == "outer":
        first, second = (_as_array(recorder, a, None, copy=False) for a in inputs)
        spread = call_named(recorder, "reshape", first, (*first.shape, *(1,) * len(second.spec.shape)))
        result = recorder.numpy.ufunc(ufunc, "__call__", (spread, second), kwargs)
    else:
        inputs, kwargs = method_arguments(how, inputs, kwargs)
        given = {key: value for key, value in kwargs.items() if value is not None or key == "axis"}
        op = op_for_method(ufunc, how, given)
        if op is not None and _accepts(op, inputs, given):
            result = recorder.call_op(op, inputs, given)
        else:
            result = recorder.numpy._as_it_is(getattr(ufunc, how), inputs, kwargs)
    return result if target is None else recorder.numpy.write_whole(target, result)


def _accepts(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        op.bind(args, kwargs)
    except TypeError:
        return False
    return True


# Names of arrays


PROPERTIES.update(
    {
        "T": lambda recorder, a: call_named(recorder, "permute_dims", a) if isinstance(a, Array) else a,
        "mT": lambda recorder, a: call_named(recorder, "swapaxes", a, -1, -2),
        "size": lambda recorder, a: count_of(a.shape),
        "ndim": lambda recorder, a: len(a.shape),
        "itemsize": lambda recorder, a: a.spec.dtype.itemsize,
        "nbytes": lambda recorder, a: count_of(a.shape) * a.spec.dtype.itemsize,
        "base": lambda recorder, a: None,
    }
)


@method("copy", "__copy__")
def _method_copy(recorder: Recorder, a: Any, order: Any = "C") -> Any:
    return copied(recorder, a) if isinstance(a, Array) else a


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
    dtype = np.dtype(dtype)
    np.empty(0, a.spec.dtype).astype(dtype, casting=casting)
    if not copy and dtype == a.spec.dtype:
        return a
    return copied(recorder, a, dtype)


@method("reshape")
def _reshape(recorder: Recorder, a: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return _reshape_function(recorder, a, tuple(wanted), order)


@special(np.reshape)
def _reshape_function(
    recorder: Recorder, a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    shape = newshape if shape is None else shape
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    a = a if isinstance(a, Array) else _as_array(recorder, a, None, copy=False)
    if order == "F":
        turned = call_named(recorder, "permute_dims", a)
        whole = call_named(recorder, "reshape", turned, tuple(reversed(shape)))
        return call_named(recorder, "permute_dims", whole)
    return call_named(recorder, "reshape", a, shape)


@method("ravel")
def _ravel(recorder: Recorder, a: Any, order: str = "C") -> Any:
    return _reshape_function(recorder, a, (-1,), order)


@special(np.ravel)
def _ravel_function(recorder: Recorder, a: Any, order: str = "C") -> Any:
    return _reshape_function(recorder, a, (-1,), order)


@method("flatten")
def _flatten(recorder: Recorder, a: Any, order: str = "C") -> Any:
    return copied(recorder, _reshape_function(recorder, a, (-1,), order))


@method("transpose")
def _transpose(recorder: Recorder, a: Any, *axes: Any) -> Any:
    wanted = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes or None
    return call_named(recorder, "permute_dims", a, wanted)


@special(np.transpose)
def _transpose_function(recorder: Recorder, a: Any, axes: Any = None) -> Any:
    return call_named(recorder, "permute_dims", _as_array(recorder, a, None, copy=False), axes)


@method("view")
def _view(recorder: Recorder, a: Any, dtype: Any = None, type: Any = None) -> Any:
    if dtype is None or (not isinstance(dtype, builtin_type) and np.dtype(dtype) == a.spec.dtype):
        return recorder.view(a, _whole(), a.spec)
    if np.dtype(dtype) == a.spec.dtype:
        return recorder.view(a, _whole(), a.spec)
    node_type = Spec(a.spec.shape, np.dtype(dtype))
    if np.dtype(dtype).itemsize != a.spec.dtype.itemsize:
        recorder.refuse(".view() as a dtype of another size", help="use .astype, or .copy().view in a wrapped function")
    node = recorder.create(np.ndarray.view, (copied(recorder, a), np.dtype(dtype)), {}, node_type)
    return recorder.wrap(node, node_type, array=True)


builtin_type = type


def _whole() -> Any:
    from weft.capture._views import step_for_key

    return step_for_key(...)


@method("item")
def _item(recorder: Recorder, a: Any, *index: Any) -> Any:
    if index:
        where = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
        if len(where) == 1 and isinstance(a, Array):
            a = call_named(recorder, "reshape", a, (-1,))
        a = recorder.getitem(a, where if len(where) > 1 else where[0])
    value = recorder.numpy.item(a)
    kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[value.spec.dtype.kind]
    return recorder.python.call(kind, (value,), {})


@method("tolist")
def _tolist(recorder: Recorder, a: Any) -> Any:
    if isinstance(a, Scalar) or not a.spec.shape:
        return _item(recorder, a)
    return [_tolist(recorder, part) for part in recorder.items(a)]


@method("dot")
def _dot(recorder: Recorder, a: Any, b: Any, out: Any = None) -> Any:
    return recorder.numpy.function(np.dot, (a, b), {} if out is None else {"out": out})


@method("conj", "conjugate")
def _conj(recorder: Recorder, a: Any) -> Any:
    return recorder.numpy.ufunc(np.conjugate, "__call__", (a,), {})


@method("round", "__round__")
def _round(recorder: Recorder, a: Any, decimals: int = 0, out: Any = None) -> Any:
    return recorder.numpy.function(np.round, (a, decimals), {} if out is None else {"out": out})


for _name in ("mean", "std", "var", "sum", "prod", "min", "max", "all", "any", "cumsum", "cumprod", "argmin", "argmax"):

    def _reduce(recorder: Any, a: Any, *args: Any, _function: Any = getattr(np, _name), **kwargs: Any) -> Any:
        return recorder.numpy.function(_function, (a, *args), kwargs)

    method(_name)(_reduce)


def traced_in(args: Any, kwargs: Any) -> bool:
    """Whether a call is given a traced value."""
    return any(map(_is_known, args)) or any(map(_is_known, kwargs.values()))


def _is_known(value: Any) -> bool:
    return is_traced(value) or isinstance(value, Items)
