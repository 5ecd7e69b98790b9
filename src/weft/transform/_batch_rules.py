"""How ops are batched: pointwise ops, reductions and other ops along axes, movement of elements, products of matrices.

A rule is called with the Batch, the op, the value of each parameter (Rows where examples differ, else a Value or a
constant) and the type of one example's result. It gives a Value with a row for each example, or a tuple of such;
NotImplemented where it does not cover the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.capture._kinds import REPRESENTATIVES
from weft.ops import Op, Spec
from weft.ops._dim import Dim
from weft.ops._families import Reals
from weft.ops._op import TABLE
from weft.transform._batch import Batch, Rows, _mapped
from weft.transform._builder import Value

Rule = Callable[[Batch, Op, Sequence[Any], Any], Any]
RULES: dict[str, Rule] = {}


def rule(*names: str, static: bool = True) -> Callable[[Rule], Rule]:
    """Declare how ops are batched. With `static` only arrays may differ between examples, else the rule looks."""

    def declare(function: Rule) -> Rule:
        for name in names:
            assert name in TABLE, name
            RULES[name] = _static(function) if static else function
        return function

    return declare


def _static(function: Rule) -> Rule:
    def guarded(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
        for argument, array in zip(args, op.takes_arrays, strict=True):
            if not array and varies(argument):
                return NotImplemented
        return function(batch, op, args, type_)

    return guarded


def varies(argument: Any) -> bool:
    """Whether an argument, or a part of it, differs between examples."""
    found = False

    def leaf(part: Any) -> Any:
        nonlocal found
        found = found or isinstance(part, Rows)
        return part

    _mapped(argument, leaf)
    return found


def rule_of(op: Op) -> Rule | None:
    """The rule of an op, None where it has none."""
    from weft.transform import _batch_index, _batch_nn  # noqa: F401  # whose rules register themselves

    return RULES.get(op.name) or (pointwise if op.domain is not None else None)


def invoke(batch: Batch, op: Op, values: Sequence[Any]) -> Any:
    """Write a call of an op with these values of its parameters, those that have their defaults left out."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    skipped = False
    for parameter, value in zip(op.__signature__.parameters.values(), values, strict=True):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.default is not inspect.Parameter.empty and value is parameter.default:
            skipped = True
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY or skipped:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return batch.builder.call(op, *args, **kwargs)


def rank(entry: Any) -> int:
    """How many dimensions an example of an entry has."""
    return entry.ndim if isinstance(entry, Rows) else len(entry.shape) if hasattr(entry, "shape") else np.ndim(entry)


# Pointwise


def pointwise(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """Element by element: dimensions are aligned, and broadcasting does the rest."""
    arrays = [arg for arg, array in zip(args, op.takes_arrays, strict=True) if array and arg is not None]
    ndim = max(map(rank, arrays), default=0)
    strong = strengthened(batch, op, args, type_)
    if batch.mask is not None and op.domain is not None:
        strong = _in_domain(batch, op, strong)
    return invoke(batch, op, [batch.aligned(arg, ndim) for arg in strong])


_STEEP = frozenset({"exp", "exp2", "expm1", "sinh", "cosh", "divide", "pow", "reciprocal"})


def _in_domain(batch: Batch, op: Op, args: Sequence[Any]) -> list[Any]:
    """The arguments, for examples that do not count, amid where the op is defined and smooth.

    What those compute is thrown away, but a warning is not, nor is the derivative where it is not finite: 0 * inf.
    """
    domains = op.domain if isinstance(op.domain, tuple) else (op.domain,) * len(args)
    usual = Reals()
    found = []
    for arg, domain in zip(args, domains, strict=True):
        narrow = op.name in _STEEP or (domain.low, domain.high) != (usual.low, usual.high)
        if narrow and isinstance(arg, Rows) and arg.dtype.kind in "fc" and domain.kind == "f":
            middle = 1.0 if op.name in _STEEP else (domain.low + domain.high) / 2
            mask = batch.mask if not arg.ndim else batch.call("reshape", batch.mask, (batch.size, *(1,) * arg.ndim))
            arg = Rows(batch.call("where", mask, arg.value, middle), arg.type)
        found.append(arg)
    return found


def strengthened(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> list[Any]:
    """The arguments with rows of Python's numbers in the dtype that such numbers take on beside the others."""
    arrays = [arg for arg, array in zip(args, op.takes_arrays, strict=True) if array]
    others = [kind for kind in map(_strong_dtype, arrays) if kind is not None]
    found = []
    for arg, array in zip(args, op.takes_arrays, strict=True):
        if array and isinstance(arg, Rows) and not isinstance(arg.type, Spec) and op.name != "ldexp":
            if others:
                dtype = np.result_type(*others, REPRESENTATIVES[arg.type])
            else:
                whole = arg.type is bool and (type_ is int or (isinstance(type_, Spec) and type_.dtype.kind == "i"))
                dtype = np.dtype(int) if whole else arg.dtype
            arg = arg if arg.dtype == dtype else Rows(batch.call("astype", arg.value, dtype))
        found.append(arg)
    return found


def _strong_dtype(entry: Any) -> Any:
    if isinstance(entry, (Rows, Value)):
        return entry.dtype if isinstance(entry.type, Spec) else None
    return getattr(entry, "dtype", None)


rule(
    *(
        "clip",
        "nan_to_num",
        "copy",
        "astype",
        "stop_gradient",
        "softplus",
        "hardtanh",
        "leaky_relu_slope",
        "leaky_relu",
    ),
    *("gelu", "gelu_slope", "isclose", "divmod", "modf", "frexp", "class_indices"),
)(pointwise)


# Along axes


def position(op: Op, name: str) -> int:
    """Where a parameter stands."""
    return list(op.__signature__.parameters).index(name)


def shifted(axis: Any, ndim: int) -> Any:
    """Axes of an example as axes of the batch, counted from the front."""
    if isinstance(axis, (tuple, list)):
        return tuple(shifted(each, ndim) for each in axis)
    return (axis if axis >= 0 else axis + ndim) + 1


def known_axis(axis: Any) -> bool:
    """Whether axes are plain numbers."""
    parts = axis if isinstance(axis, (tuple, list)) else (axis,)
    return all(isinstance(part, (int, np.integer)) for part in parts)


def with_axis(op: Op, args: Sequence[Any], axis: Any, **arrays: Any) -> list[Any]:
    """The arguments with another axis and other arrays."""
    values = list(args)
    values[position(op, "axis")] = axis
    for name, value in arrays.items():
        values[position(op, name)] = value
    return values


def flat(batch: Batch, value: Value) -> Value:
    """The elements of each example in one row."""
    count: Any = 1
    for dim in value.shape[1:]:
        count = count * dim
    return batch.call("reshape", value, (batch.size, count))  # type: ignore[no-any-return]  # a Value


@rule("sum", "prod", "mean", "logsumexp", "max", "min", "all", "any", "count_nonzero", "vector_norm")
def _reduced(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, axis = args[0], args[position(op, "axis")]
    if axis is not None and not known_axis(axis):
        return NotImplemented
    if isinstance(axis, (tuple, list)) and not axis:
        return invoke(batch, op, with_axis(op, args, (), **{op.arrays[0]: x.value}))
    if x.ndim == 0:
        values = with_axis(op, args, 1, **{op.arrays[0]: batch.call("expand_dims", x.value, axis=1)})
        values[position(op, "keepdims")] = False
        return invoke(batch, op, values)
    axes = tuple(range(1, x.ndim + 1)) if axis is None else shifted(axis, x.ndim)
    return invoke(batch, op, with_axis(op, args, axes, **{op.arrays[0]: x.value}))


@rule("argmax", "argmin", "nanargmax", "nanargmin")
def _position_of(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, axis = args[0], args[position(op, "axis")]
    name = op.arrays[0]
    if axis is not None:
        if not known_axis(axis) or x.ndim == 0:
            return NotImplemented
        return invoke(batch, op, with_axis(op, args, shifted(axis, x.ndim), **{name: x.value}))
    values = with_axis(op, args, 1, **{name: flat(batch, x.value)})
    values[position(op, "keepdims")] = False
    return batch.call("reshape", invoke(batch, op, values), (batch.size, *type_.shape))


_ALONG = (
    *("cumulative_sum", "cumulative_prod", "sort", "argsort", "argsort_by", "topk", "partition", "argpartition"),
    *("fft", "ifft", "rfft", "irfft", "softmax", "log_softmax", "packbits", "unpackbits", "unstack", "split"),
    *(f"{name}_accumulate" for name in ("maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or")),
    *(f"bitwise_{name}_accumulate" for name in ("and", "or", "xor")),
)


@rule(*_ALONG)
def _along(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """Each line of an array along one axis by itself; without an axis, all elements in one line."""
    x, axis = args[0], args[position(op, "axis")]
    if not isinstance(x, Rows) or (axis is None and op.name in ("packbits", "unpackbits")):
        return NotImplemented
    if axis is None:
        if op.name.startswith("cumulative") and x.ndim != 1:
            return NotImplemented
        return invoke(batch, op, with_axis(op, args, 1, **{op.arrays[0]: flat(batch, x.value)}))
    if not known_axis(axis) or x.ndim == 0:
        return NotImplemented
    return invoke(batch, op, with_axis(op, args, shifted(axis, x.ndim), **{op.arrays[0]: x.value}))


@rule("add_reduceat", "multiply_reduceat", "maximum_reduceat", "minimum_reduceat")
def _reduceat(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return NotImplemented if isinstance(args[1], Rows) else _along(batch, op, args, type_)


@rule("softmax_input", "log_softmax_input")
def _both(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """Two arrays of one shape, along an axis."""
    g, y, axis = args
    if not known_axis(axis) or rank(y) == 0:
        return NotImplemented
    return invoke(batch, op, [batch.front(g), batch.front(y), shifted(axis, rank(y))])


@rule("linear_recurrence")
def _together(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    """Two arrays that broadcast, along an axis of the result."""
    first, second, *rest = args
    ndim = max(rank(first), rank(second))
    axis = args[position(op, "axis")]
    if not known_axis(axis) or ndim == 0:
        return NotImplemented
    values = [batch.aligned(first, ndim), batch.aligned(second, ndim), *rest]
    return invoke(batch, op, with_axis(op, values, shifted(axis, ndim)))


# Movement


@rule("reshape", "squeeze", "expand_dims")
def _reshaped(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    shape = list(type_.shape)
    given = args[1] if op.name == "reshape" and isinstance(args[1], tuple) else ()
    for axis, (size, dim) in enumerate(zip(given, shape, strict=False)):
        # A size that only the result tells, of the graph of one example: the call is given it as a number.
        if isinstance(dim, Dim) and any(map(batch.is_gone, dim.atoms())) and not isinstance(size, Rows):
            number = batch.builder.integer_of(size.node) if isinstance(size, Value) else size
            shape[axis] = dim if isinstance(number, int) and number < 0 else number
    return batch.call("reshape", args[0].value, (batch.size, *shape))


@rule("permute_dims")
def _permuted(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, axes = args
    axes = tuple(reversed(range(x.ndim))) if axes is None else axes
    return batch.call("permute_dims", x.value, (0, *shifted(tuple(axes), x.ndim)))


@rule("broadcast_to")
def _broadcast_to(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return batch.call("broadcast_to", batch.aligned(args[0], len(type_.shape)), (batch.size, *type_.shape))


@rule("broadcast_arrays")
def _broadcast_arrays(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    whole = [(batch.size, *each.shape) for each in type_]
    return tuple(
        batch.call("broadcast_to", batch.aligned(x, len(shape) - 1), shape)
        for x, shape in zip(args[0], whole, strict=True)
    )


@rule("tile")
def _tiled(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, repetitions = args
    counts = tuple(repetitions) if isinstance(repetitions, (tuple, list)) else (repetitions,)
    ndim = max(x.ndim, len(counts))
    counts = (1,) * (ndim + 1 - len(counts)) + counts
    return batch.call("tile", batch.aligned(x, ndim), counts)


@rule("repeat")
def _repeated(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, repeats, axis = args
    if not isinstance(x, Rows) or isinstance(repeats, Rows) or (axis is not None and not known_axis(axis)):
        return NotImplemented
    if axis is None:
        return batch.call("repeat", flat(batch, x.value), repeats, axis=1)
    return batch.call("repeat", x.value, repeats, axis=shifted(axis, x.ndim)) if x.ndim else NotImplemented


@rule("flip", "roll")
def _turned(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, axis = args[0], args[position(op, "axis")]
    if axis is not None and not known_axis(axis):
        return NotImplemented
    if axis is None and op.name == "roll":
        moved = invoke(batch, op, with_axis(op, args, 1, x=flat(batch, x.value)))
        return batch.call("reshape", moved, x.value.shape)
    axes = tuple(range(1, x.ndim + 1)) if axis is None else shifted(axis, x.ndim)
    return invoke(batch, op, with_axis(op, args, axes, x=x.value))


@rule("concat")
def _joined(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    arrays, axis = args
    if axis is None:
        parts = [flat(batch, batch.front(x)) for x in arrays]
        return batch.call("concat", parts, axis=1)
    if not known_axis(axis):
        return NotImplemented
    return batch.call("concat", [batch.front(x) for x in arrays], axis=shifted(axis, len(type_.shape)))


@rule("stack")
def _stacked(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    arrays, axis = args
    if not known_axis(axis):
        return NotImplemented
    entries = [batch.front(x) for x in arrays]
    return batch.call("stack", entries, axis=shifted(axis, len(type_.shape)))


@rule("sum_to")
def _summed_to(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, wanted = args[0], type_.shape
    missing = x.ndim - len(wanted)
    value = batch.call("sum", x.value, axis=tuple(range(1, missing + 1))) if missing else x.value
    return batch.call("sum_to", value, (batch.size, *wanted))


@rule("zeros_like", "ones_like", "empty_like")
def _filled_like(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return batch.call(op.name.removesuffix("_like"), type_.shape, type_.dtype).node  # all examples have the same


@rule("full", "full_like")
def _full(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    fill = args[position(op, "fill_value")]
    if not isinstance(fill, Rows):
        return batch.call("full", type_.shape, fill, dtype=type_.dtype).node
    value = batch.call("astype", batch.aligned(fill, len(type_.shape)), type_.dtype)
    return batch.call("broadcast_to", value, (batch.size, *type_.shape))


@rule("linspace")
def _linspace(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    ndim = max(rank(args[0]), rank(args[1]))
    values = [*(batch.aligned(arg, ndim) for arg in args[:2]), *args[2:]]
    if not any(isinstance(arg, Rows) and rank(arg) == ndim for arg in args[:2]):
        values[0] = batch.front(args[0]) if not isinstance(args[0], Rows) else values[0]
    made = invoke(batch, op, values)
    return batch.call("moveaxis", made, 0, 1)


@rule("tril", "triu")
def _triangle(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    return invoke(batch, op, [args[0].value, *args[1:]]) if args[0].ndim >= 2 else NotImplemented


@rule("diagonal")
def _diagonal(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, offset, axis1, axis2 = args
    return batch.call("diagonal", x.value, offset, shifted(axis1, x.ndim), shifted(axis2, x.ndim))


@rule("from_diagonal")
def _from_diagonal(batch: Batch, op: Op, args: Sequence[Any], type_: Any) -> Any:
    x, _, offset, axis1, axis2 = args
    ndim = len(type_.shape)
    shape = (batch.size, *type_.shape)
    return batch.call("from_diagonal", x.value, shape, offset, shifted(axis1, ndim), shifted(axis2, ndim))
