"""Functions of NumPy that are more than one op on traced values: creation, parts, questions of type."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor
from weft.capture._iterables import Collected, Items, RangeItems
from weft.capture._kinds import REPRESENTATIVES
from weft.capture._layouts import Like, is_contiguous, lies_as_given, surely_contiguous
from weft.capture._lists import GrownList
from weft.capture._memory import taken_out
from weft.capture._merge import is_open
from weft.capture._numpy_calls import call_named, special
from weft.capture._numpy_probe import Shared
from weft.capture._opaque import Opaque
from weft.capture._values import Array, Scalar, Traced, is_traced
from weft.capture._views import held
from weft.graph._list_arrays import with_rows
from weft.ops import Spec
from weft.ops._dim import Dim, hint_of
from weft.ops._numpy import op_call
from weft.ops._op import TABLE

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
    copies = getattr(copy, "name", None) != "IF_NEEDED" and bool(copy)
    object = _without_copy(recorder, np.array, object, dtype, order, copy)
    made = _as_array(recorder, taken_out(object), dtype, copy=copies, order=order)
    if isinstance(made, Opaque):
        return recorder.opaque(np.array, (made,), {"copy": False, "ndmin": ndmin}) if ndmin else made
    missing = ndmin - len(made.spec.shape)
    return made if missing <= 0 else call_named(recorder, "reshape", made, (*(1,) * missing, *made.shape))


def _without_copy(recorder: Recorder, function: Any, value: Any, dtype: Any, order: Any, copy: Any) -> Any:
    """The value; where `copy=False` asks for no copy and one is needed, NumPy's error."""
    if copy is None or getattr(copy, "name", None) == "IF_NEEDED" or copy:  # IF_NEEDED has no truth
        return value
    value = taken_out(value)
    if isinstance(value, Opaque) or (order or "K") != "K":
        return recorder.refuse(
            f"np.{function.__name__}(…, copy=False) of what may need a copy", help="use np.asarray(x)"
        )
    kept = isinstance(value, (Array, np.ndarray))
    if not kept or not (dtype is None or np.dtype(dtype) == value.dtype):
        function([], copy=False)  # raises
    return value


def _as_array(recorder: Recorder, value: Any, dtype: Any, *, copy: bool, order: Any = None) -> Any:
    """A value as an array: itself where it is one of the dtype and order asked for and `copy` is false."""
    dtype, order = None if dtype is None else np.dtype(dtype), order or "K"
    if isinstance(value, Array):
        # NumPy says that float64 equals None.
        if copy or not (dtype is None or dtype == value.spec.dtype):
            return copied(recorder, value, value.spec.dtype if dtype is None else dtype, order)
        return in_order(recorder, value, order)
    if isinstance(value, (np.ndarray, Tensor)):
        return _as_array(recorder, recorder.constant(value), dtype, copy=copy, order=order)
    if isinstance(value, GrownList):
        return in_order(recorder, value.array(dtype), order)
    if isinstance(value, RangeItems):
        return _of_range(recorder, value, dtype)
    if isinstance(value, Collected):
        return _as_array(recorder, value.listed(dtype), dtype, copy=copy, order=order)
    if isinstance(value, Opaque):
        given = {**({} if dtype is None else {"dtype": dtype}), **({} if order == "K" else {"order": order})}
        return recorder.opaque(np.array if copy else np.asarray, (value,), given)
    if not is_traced(value):
        given = {} if dtype is None else {"dtype": dtype}
        return in_order(recorder, recorder.made_array(np.array, (value,), given, np.array(value, dtype)), order)
    if isinstance(value, (list, tuple)):
        value = _nested(recorder, value)
    made = call_named(recorder, "asarray", value, **({} if dtype is None else {"dtype": dtype}))
    return in_order(recorder, made, order)


def _of_range(recorder: Recorder, numbers: RangeItems, dtype: Any) -> Any:
    """The numbers of a range, which NumPy makes floats of where there are none, as of an empty list."""
    bounds = (numbers.start, numbers.stop, numbers.step)
    filled = numbers.filled if dtype is None else True
    if isinstance(filled, Scalar) and not recorder.can_decide(filled):
        made = recorder.numpy.function(np.arange, bounds, {"dtype": np.int64})
        return recorder.wrap(recorder.create(with_rows, (made,), {}, made.spec), made.spec)
    decided = recorder.decide(filled) if isinstance(filled, Scalar) else filled
    return recorder.numpy.function(np.arange, bounds, {"dtype": dtype or (np.int64 if decided else np.float64)})


def _nested(recorder: Recorder, value: Any) -> Any:
    """A nested sequence as a nested list; what iterates, such as a generator, is listed."""
    if isinstance(value, (list, tuple)):
        return [_nested(recorder, part) for part in value]
    return value


def copied(recorder: Recorder, value: Any, dtype: Any = None, order: Any = "K") -> Any:
    """An array of its own with the same elements, laid out by rows ("C"), by columns ("F") or as they were."""
    spec = Spec(value.spec.shape, value.spec.dtype if dtype is None else dtype)
    np.empty(0).copy(order)  # raises what NumPy raises
    if isinstance(value, Scalar):
        return Scalar(recorder, spec.dtype, recorder.create(np.generic.astype, (value, spec.dtype), {}, spec))
    if len(spec.shape) < 2:
        kept = lies_as_given(value) or surely_contiguous(recorder, value, unguarded=True)
        kept = kept or not spec.shape or bool(recorder.deriving)
        order = "C"  # which is every order
    else:
        kept = order == "K" or (order == "C" and surely_contiguous(recorder, value, unguarded=True))
    node = recorder.create(TABLE["astype"], (value, spec.dtype), {} if kept else {"order": order}, spec)
    tensor = getattr(type(value), "_is_tensor", False)
    layout = order if order in ("C", "F") else Like(value, order)
    return recorder.wrap(node, spec, array=True, tensor=tensor, layout=layout)


def laid_out(recorder: Recorder, made: Any, order: str) -> Any:
    """A result that nothing else has yet, in the order that `order=` asks for."""
    np.empty(0).copy(order)  # type: ignore[arg-type]  # raises what NumPy raises
    if not isinstance(made, Array) or len(made.spec.shape) < 2 or order in ("K", "k"):
        return made
    if order in ("A", "a"):
        made.buffer.layout = False
        return made
    return made if is_contiguous(recorder, made, order.upper()) else copied(recorder, made, order=order.upper())


def in_order(recorder: Recorder, array: Any, order: str) -> Any:
    """The array itself where its elements lie as asked for, a copy where they do not."""
    if order in ("K", "A") or not isinstance(array, Array):
        return array
    lies = is_contiguous(recorder, array, order)
    if lies is None:
        target = np.ascontiguousarray if order == "C" else np.asfortranarray
        node = recorder.create(target, (array,), {}, array.spec)
        return recorder.view(array, Shared(node, held(recorder, array.buffer), f"np.{target.__name__}"), array.spec)
    return array if lies else copied(recorder, array, order=order)


@special(np.asarray, np.asanyarray)
def _asarray(recorder: Recorder, a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **_: Any) -> Any:
    a = _without_copy(recorder, np.asarray, a, dtype, order, copy)
    return _as_array(recorder, taken_out(a), dtype, copy=bool(copy), order=order)


@special(np.copy)
def _copy(recorder: Recorder, a: Any, order: Any = "K", subok: bool = False) -> Any:
    return _as_array(recorder, a, None, copy=True, order=order)


@special(np.ndarray)
def _ndarray(recorder: Recorder, shape: Any, dtype: Any = float, buffer: Any = None, **rest: Any) -> Any:
    if buffer is not None or rest:
        recorder.refuse("np.ndarray with a buffer or strides", help="use np.zeros(shape, dtype) and write into it")
    return call_named(recorder, "empty", shape, dtype=np.dtype(dtype))


@special(np.identity)
def _identity(recorder: Recorder, n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return call_named(recorder, "eye", n, dtype=dtype)


@special(np.arange)
def _arange(recorder: Recorder, *bounds: Any, **given: Any) -> Any:
    numbers = (*bounds, *given.values())
    if any(isinstance(n, Scalar) and np.dtype(n.kind).kind not in "iub" for n in numbers):
        return recorder.numpy._as_it_is(np.arange, bounds, given)  # how many numbers it gives depends on rounding
    return recorder.numpy.with_op(np.arange, bounds, given)


_SCIMATH = "sqrt log log2 log10 logn power arccos arcsin arctanh".split()
for _function in (np.linalg.eig, np.linalg.eigvals, np.roots, np.poly, *(getattr(np.emath, name) for name in _SCIMATH)):
    # Whether they give real numbers or complex ones depends on the values: the type is unknown until they run. Of
    # complex matrices all eigenvalues are complex, and there is an op.

    def _by_values(recorder: Recorder, *args: Any, _target: Any = _function, **kwargs: Any) -> Any:
        by_op = op_call(_target, args, kwargs) is not None
        return recorder.numpy.with_op(_target, args, kwargs) if by_op else recorder.opaque(_target, args, kwargs)

    special(_function)(_by_values)


@special(np.trim_zeros)
def _trim_zeros(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    return recorder.numpy._as_it_is(np.trim_zeros, args, kwargs)  # a view, which the op is not


@special(np.histogramdd)
def _histogramdd(recorder: Recorder, sample: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(sample, Array) and len(sample.spec.shape) == 2:
        operator.index(sample.shape[1])  # as many edges as columns
    return recorder.numpy._as_it_is(np.histogramdd, (sample, *args), kwargs)


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
    a = recorder.numpy.of_traced(a)
    return a.shape if isinstance(a, Array) else () if isinstance(a, Scalar) else np.shape(a)


@special(np.ndim)
def _ndim(recorder: Recorder, a: Any) -> int:
    a = recorder.numpy.of_traced(a)
    return len(a.spec.shape) if isinstance(a, (Array, Scalar)) else np.ndim(a)


@special(np.size)
def _size(recorder: Recorder, a: Any, axis: Any = None) -> Any:
    shape = _shape(recorder, a)
    return count_of(shape) if axis is None else shape[axis]


@special(np.asarray_chkfinite)
def _asarray_chkfinite(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    if not recorder.branches:
        return recorder.numpy._as_it_is(np.asarray_chkfinite, args, kwargs)
    return recorder._deeper(recorder.bind(np.asarray_chkfinite), args, kwargs)


@special(np.require)
def _require(recorder: Recorder, *args: Any, **kwargs: Any) -> Any:
    return recorder._deeper(recorder.bind(np.require), args, kwargs)


def count_of(shape: Any) -> Any:
    count: Any = 1
    for dim in shape:
        count = count * dim
    return count


@special(np.result_type)
def _result_type(recorder: Recorder, *values: Any) -> Any:
    if any(map(is_open, values)):
        return recorder.opaque(np.result_type, values, {})
    return np.result_type(*map(_typed, values))


def _typed(value: Any) -> Any:
    """A dtype, or a plain number of the same type, for a traced value."""
    if isinstance(value, Scalar) and isinstance(value.kind, type):
        return REPRESENTATIVES[value.kind]
    return value.spec.dtype if isinstance(value, (Array, Scalar)) else value


@special(np.min_scalar_type)
def _min_scalar_type(recorder: Recorder, a: Any) -> Any:
    a = recorder.numpy.of_traced(a)
    if isinstance(a, Array) and a.spec.shape:
        return a.spec.dtype
    if isinstance(a, Traced) and not recorder.can_decide(a):
        return recorder.opaque(np.min_scalar_type, (a,), {})
    return np.min_scalar_type(recorder.concrete(a, "np.min_scalar_type"))


@special(np.isscalar)
def _isscalar(recorder: Recorder, element: Any) -> bool:
    return isinstance(element, Scalar)


@special(np.iscomplexobj)
def _iscomplexobj(recorder: Recorder, x: Any) -> bool:
    x = recorder.numpy.of_traced(x)
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


def _sections(recorder: Recorder, count: Any) -> int:
    """A number of sections: NumPy takes a float for one too."""
    if isinstance(count, (float, np.floating)):
        return int(count)
    return operator.index(recorder.python.call(int, (count,), {}) if isinstance(count, Scalar) else count)


@special(np.array_split)
def _array_split(recorder: Recorder, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    ary = _as_array(recorder, ary, None, copy=False)
    size = ary.shape[axis]
    if isinstance(indices_or_sections, Array) and len(indices_or_sections.spec.shape) == 1:
        count = indices_or_sections.spec.shape[0]
        if isinstance(count, Dim) and hint_of(count) is None:
            return recorder.wrapped(np.array_split, (ary, indices_or_sections, axis), {})
        points = [0, *recorder.items(indices_or_sections), None]
    elif isinstance(indices_or_sections, (list, tuple, np.ndarray)):
        points = [0, *indices_or_sections, None]
    else:
        sections = _sections(recorder, indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        total = operator.index(size)
        each, extra = divmod(total, sections)
        points = [0]
        for k in range(sections):
            points.append(points[-1] + each + (k < extra))
    before = (slice(None),) * (axis % len(ary.spec.shape))
    return [recorder.getitem(ary, (*before, slice(a, b))) for a, b in itertools.pairwise(points)]


@special(np.split)
def _split(recorder: Recorder, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if isinstance(indices_or_sections, (int, float, np.number, Scalar)):
        sections = _sections(recorder, indices_or_sections)
        if sections != indices_or_sections or operator.index(ary.shape[axis]) % sections:
            raise ValueError("array split does not result in an equal division")
    return _array_split(recorder, ary, indices_or_sections, axis)


@special(np.hsplit)
def _hsplit(recorder: Recorder, ary: Any, indices_or_sections: Any) -> Any:
    return _split(recorder, ary, indices_or_sections, 0 if len(ary.spec.shape) == 1 else 1)


@special(np.vsplit)
def _vsplit(recorder: Recorder, ary: Any, indices_or_sections: Any) -> Any:
    return _split(recorder, ary, indices_or_sections, 0)


@special(np.dsplit)
def _dsplit(recorder: Recorder, ary: Any, indices_or_sections: Any) -> Any:
    return _split(recorder, ary, indices_or_sections, 2)


@special(np.where)
def _where(recorder: Recorder, condition: Any, *choices: Any) -> Any:
    if not choices:
        return recorder.numpy.function(np.nonzero, (condition,), {})
    if len(choices) == 1:
        raise ValueError("either both or neither of x and y should be given")
    listed = (_as_array(recorder, a, None, copy=False) if isinstance(a, (list, tuple)) else a for a in choices)
    if isinstance(condition, (list, tuple)):
        condition = _as_array(recorder, condition, None, copy=False)
    return call_named(recorder, "where", condition, *listed)


@special(np.nonzero)
def _nonzero(recorder: Recorder, a: Any) -> Any:
    type_ = recorder.numpy.probe(np.nonzero, (a,), {})
    size = recorder.sizes.fresh("nonzero")
    type_ = tuple(Spec((size,), part.dtype) for part in type_)
    node = recorder.create(TABLE["nonzero"], (a,), {}, type_)
    return recorder.wrap(node, type_, layout="C" if len(type_) == 1 else False)  # else columns of one array


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


def traced_in(args: Any, kwargs: Any) -> bool:
    """Whether a call is given a traced value."""
    return any(map(_is_known, args)) or any(map(_is_known, kwargs.values()))


def _is_known(value: Any) -> bool:
    return is_traced(value) or isinstance(value, Items)


def is_poly1d(function: Any) -> bool:
    """Whether a call of an object is the value of a polynomial: a class derived from np.poly1d may call it another."""
    return getattr(type(function), "__call__", None) is np.poly1d.__call__  # noqa: B004


def called_poly1d(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The polynomial that `np.poly1d.__call__` is called for, and its argument; any other call as it is."""
    if function is np.poly1d.__call__ and args and isinstance(args[0], np.poly1d):
        return args[0], args[1:]
    return (function.__self__ if getattr(function, "__func__", None) is np.poly1d.__call__ else function), args


def polynomial_value(recorder: Recorder, polynomial: Any, x: Any) -> Any:
    """`polynomial(x)` of a class of np.polynomial: its series, of `x` mapped from its domain to its window."""
    old, new, coefficients = (recorder.attribute(polynomial, name) for name in ("domain", "window", "coef"))
    if type(x) not in (int, float, complex) and not isinstance(x, (np.generic, Scalar)):
        x = recorder.run(np.asanyarray, (x,), {})
    length = old[1] - old[0]
    offset, scale = (old[1] * new[0] - old[0] * new[1]) / length, (new[1] - new[0]) / length
    return recorder.run(type(polynomial)._val, (offset + scale * x, coefficients), {})
