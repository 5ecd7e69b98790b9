"""What the members of a family of ops share: shape rule, promotion, and how a derivative becomes a gradient.

    tanh = unary("tanh", eval=np.tanh, derivative=lambda y, x: 1 - y * y, doc="Hyperbolic tangent of each element.")

Pointwise ops give the plain derivative dy/dx, for real and for complex numbers; the family multiplies it into the
gradient (conjugated, so that for a real loss the gradient points along steepest ascent). Where the function is not
holomorphic, or another form is better, `vjp` states the pullback itself. Ops outside every family use `op`; functions
over other ops use `composite`. Every declaration takes `Facts` of its op; where it says nothing else, what the op
gives lies in memory of its own and no values in its arguments make it raise. The tests call every op to see whether
that is so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

import numpy as np

from weft.errors import DtypeError, NotDifferentiable
from weft.ops._dim import Dim
from weft.ops._drawing import RandomOp
from weft.ops._op import ORDER_KEPT, OWN, ROWS, TABLE, VIEW, Facts, Op, Rule, Rules, is_flat
from weft.ops._spec import Spec, broadcast_shapes, dtype_of, is_complex, normalize_axes, shape_of, spec_of

Derivative = Rule | NotDifferentiable


def usual(facts: Facts, memory: str = OWN) -> Facts:
    """The facts of an op of a family, where its declaration does not say otherwise."""
    return {"memory": memory, "raises": None, "order": ROWS, **facts}


@dataclass(frozen=True)
class Reals:
    """Where an op is defined and smooth, per argument: the interval that tests and documentation sample from."""

    low: float = -4.0
    high: float = 4.0
    complex: bool = True
    kind: str = "f"  # of the samples: "f" floats, "i" integers, "b" booleans


def unary(
    name: str,
    *,
    eval: Callable[..., Any],
    doc: str,
    derivative: Derivative | None = None,
    vjp: Derivative | None = None,
    numpy: Sequence[Any] | None = None,
    domain: Reals | None = None,
    linear: bool = False,
    **facts: Unpack[Facts],
) -> Op:
    """Declare an op of one array, element by element."""
    return _pointwise(name, ("x",), eval, (derivative,), (vjp,), doc, numpy, domain, linear=linear, **facts)


def binary(
    name: str,
    *,
    eval: Callable[..., Any],
    doc: str,
    derivative: tuple[Derivative, Derivative] | NotDifferentiable | None = None,
    vjp: tuple[Derivative, Derivative] | None = None,
    numpy: Sequence[Any] | None = None,
    domain: Reals | tuple[Reals, Reals] | None = None,
    commutative: bool = False,
    **facts: Unpack[Facts],
) -> Op:
    """Declare an op of two arrays that broadcast, element by element."""
    if isinstance(derivative, NotDifferentiable):
        derivative = (derivative, derivative)
    return _pointwise(
        name,
        ("x1", "x2"),
        eval,
        derivative or (None, None),
        vjp or (None, None),
        doc,
        numpy,
        domain,
        commutative=commutative,
        **facts,
    )


def pointwise(
    name: str,
    arrays: tuple[str, ...],
    *,
    eval: Callable[..., Any],
    doc: str,
    vjp: tuple[Derivative, ...],
    numpy: Sequence[Any] | None = None,
    domain: Reals | tuple[Reals, ...] | None = None,
    **facts: Unpack[Facts],
) -> Op:
    """Declare an op of any number of arrays that broadcast, element by element."""
    return _pointwise(name, arrays, eval, (None,) * len(arrays), vjp, doc, numpy, domain, **facts)


def reduction(
    *,
    vjp: Derivative,
    numpy: Sequence[Any] = (),
    linear: bool = False,
    **facts: Unpack[Facts],
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op that reduces `axis` (None, an int or a tuple) of its first argument, evaluated by the function.

    Its parameters include `x`, `axis` and `keepdims`, and may include others.
    """

    def declare(function: Callable[..., Any]) -> Op:
        name = function.__name__
        signature = inspect.signature(function)
        parameters = list(signature.parameters)
        axis_at, keep_at = parameters.index("axis"), parameters.index("keepdims")

        def infer(*arguments: Any) -> Spec:
            x = arguments[0]
            shape = reduced_shape(name, shape_of(x), arguments[axis_at], arguments[keep_at])
            extra = {p: v for p, v in zip(parameters, arguments, strict=True) if p not in ("x", "axis", "keepdims")}
            return Spec(shape, _result_dtype(function, (np.dtype(dtype_of(x)),), tuple(extra.items())))

        return Op(
            name,
            eval=function,
            infer=infer,
            vjp=(vjp,),
            arrays=("x",),
            doc=_doc(function),
            signature=signature,
            numpy=numpy,
            linear=linear,
            **usual(facts),
        )

    return declare


def movement(
    *,
    shape: Callable[..., Sequence[int]],
    vjp: Derivative,
    numpy: Sequence[Any] = (),
    **facts: Unpack[Facts],
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op that only moves elements of its first argument; `shape(shape, *parameters)` gives the new shape."""

    def declare(function: Callable[..., Any]) -> Op:
        def infer(x: Any, *parameters: Any) -> Spec:
            return Spec(shape(shape_of(x), *parameters), dtype_of(x))

        first = next(iter(inspect.signature(function).parameters))
        return Op(
            function.__name__,
            eval=function,
            infer=infer,
            vjp=(vjp,),
            arrays=(first,),
            doc=_doc(function),
            numpy=numpy,
            linear=True,
            **usual(facts, VIEW),
        )

    return declare


def op(
    *,
    arrays: Sequence[str],
    infer: Callable[..., Any],
    vjp: Rules | Derivative,
    numpy: Sequence[Any] = (),
    linear: bool = False,
    random: bool | Callable[..., bool] = False,
    **facts: Unpack[Facts],
) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op outside the families; the function decorated evaluates it on arrays.

    `infer` receives every parameter in order, Specs in place of arrays. One reason in place of the rules serves all.
    """

    def declare(function: Callable[..., Any]) -> Op:
        rules = vjp if isinstance(vjp, tuple) else (vjp,) * len(arrays)
        return (RandomOp if random else Op)(
            function.__name__,
            eval=function,
            infer=infer,
            vjp=rules,
            arrays=arrays,
            doc=_doc(function),
            numpy=numpy,
            linear=linear,
            random=random,
            **usual(facts),
        )

    return declare


def composite(
    *,
    arrays: Sequence[str] = ("x",),
    numpy: Sequence[Any] = (),
    random: bool | Callable[..., bool] = False,
    eval: Callable[..., Any] | None = None,
    infer: Callable[..., Any] | None = None,
    scalar: bool = False,
    **facts: Unpack[Facts],
) -> Callable[[Callable[..., Any]], Op]:
    """Declare a function over other ops. Its shape rule and its derivatives are those of its body.

    `eval` is what evaluates it on arrays where that is not the body itself: the same function of NumPy, to the last
    bit. It is called with the arguments of the call as they are. `infer` states the shape rule where the body cannot.
    `scalar` makes an array without dimensions a number, as the functions of NumPy that reduce do.
    """

    def declare(function: Callable[..., Any]) -> Op:
        through_body = NotDifferentiable(f"{function.__name__} is a composite: differentiate its body")

        def by_numpy(*args: Any, **kwargs: Any) -> Any:
            made.bind(args, kwargs)  # what NumPy's function takes beyond, such as an array to write into, is refused
            return eval(*args, **kwargs)  # type: ignore[misc]  # used where it is given

        made = (RandomOp if random else Op)(
            function.__name__,
            eval=by_numpy if eval else _number(function) if scalar else function,
            infer=infer or (_described if eval else spread_call)(function),
            vjp=(through_body,) * len(arrays),
            arrays=arrays,
            doc=_doc(function),
            signature=inspect.signature(function) if eval or scalar else None,
            numpy=numpy,
            body=function,
            random=random,
            **usual(facts),
        )
        return made

    return declare


def reduced_shape(name: str, shape: Sequence[int], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """Shape after reducing `axis`."""
    axes = normalize_axes(name, axis, len(shape))
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def conj(x: Any) -> Any:
    """The conjugate of a complex value; a real one as it is."""
    dtype = getattr(x, "dtype", None)
    if dtype is not None and dtype.kind != "c":
        return x
    return TABLE["conj"](x) if is_complex(x) else x


def pointwise_dtype(function: Callable[..., Any], *values: Any) -> np.dtype[Any]:
    """The dtype NumPy gives `function` of these Specs and Python scalars, which do not promote."""
    key = tuple(
        (None, v.dtype) if hasattr(v, "dtype") else _SOME_INTEGER if isinstance(v, Dim) else (type(v), v)
        for v in values
    )
    return _pointwise_dtype(function, key)


def _pointwise(
    name: str,
    arrays: tuple[str, ...],
    eval: Callable[..., Any],
    derivatives: Sequence[Derivative | None],
    vjps: Sequence[Derivative | None],
    doc: str,
    numpy: Sequence[Any] | None,
    domain: Any,
    *,
    commutative: bool = False,
    linear: bool = False,
    **facts: Unpack[Facts],
) -> Op:
    def infer(*values: Any) -> Spec:
        shape = broadcast_shapes(name, *map(shape_of, values))
        try:
            return Spec(shape, pointwise_dtype(eval, *values))
        except DtypeError:
            raise
        except TypeError:
            raise DtypeError(f"{name}: not defined for {' and '.join(str(dtype_of(v)) for v in values)}") from None

    kind = inspect.Parameter.POSITIONAL_ONLY
    return Op(
        name,
        eval=eval,
        infer=infer,
        vjp=tuple(_pullback(name, d, v) for d, v in zip(derivatives, vjps, strict=True)),
        arrays=arrays,
        doc=doc,
        signature=inspect.Signature([inspect.Parameter(a, kind) for a in arrays]),
        numpy=numpy if numpy is not None else ((eval,) if isinstance(eval, np.ufunc) else ()),
        commutative=commutative,
        linear=linear,
        domain=domain or Reals(),
        **usual({"order": ORDER_KEPT if isinstance(eval, np.ufunc) else ROWS, **facts}),
    )


_SOME_INTEGER = (int, 2)  # what a size counts as
_SIGNS = frozenset({-1, 1})


def _pullback(name: str, derivative: Derivative | None, vjp: Derivative | None) -> Derivative:
    """One pullback from either form of declaration."""
    if (derivative is None) == (vjp is None):
        raise ValueError(f"op {name!r} needs either derivative= or vjp=, or the reason there is none")
    if vjp is not None or isinstance(derivative, NotDifferentiable):
        return vjp or derivative  # type: ignore[return-value]  # one of the two is given, checked above
    slope = derivative

    def rule(g: Any, y: Any, *arguments: Any) -> Any:
        factor = slope(y, *arguments)  # type: ignore[misc]  # not None, checked above
        if is_flat(factor, arguments):
            return 0
        if type(factor) is int and factor in _SIGNS:
            return g if factor == 1 else -g
        return g * conj(factor)

    rule.slope = slope  # type: ignore[attr-defined]  # functions take attributes; `_reads` looks here
    return rule


@lru_cache(maxsize=4096)
def _pointwise_dtype(function: Callable[..., Any], key: tuple[tuple[Any, Any], ...]) -> np.dtype[Any]:
    operands = [np.empty(0, value) if kind is None else value for kind, value in key]
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands)).dtype


@lru_cache(maxsize=4096)
def _result_dtype(
    function: Callable[..., Any], dtypes: tuple[np.dtype[Any], ...], extra: tuple[tuple[str, Any], ...]
) -> np.dtype[Any]:
    with np.errstate(all="ignore"):
        return np.asarray(function(*(np.ones(2, d) for d in dtypes), **dict(extra))).dtype


def spread_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as a function of the values of its parameters in order, `*args` and keyword-only ones included."""
    kinds = [(p.name, p.kind) for p in inspect.signature(function).parameters.values()]
    if not {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.KEYWORD_ONLY} & {kind for _, kind in kinds}:
        return function

    def call(*values: Any) -> Any:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for (name, kind), value in zip(kinds, values, strict=True):
            if kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = value
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                args.extend(value)
            else:
                args.append(value)
        return function(*args, **kwargs)

    return call


def _number(function: Callable[..., Any]) -> Callable[..., Any]:
    def eval(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return found[()] if type(found) is np.ndarray and not found.shape else found

    return eval


def _described(function: Callable[..., Any]) -> Callable[..., Any]:
    """The shape rule of a body, also where a part of its result does not depend on its arrays and comes out as one."""
    call = spread_call(function)
    return lambda *values: spec_of(call(*values))


def _doc(function: Callable[..., Any]) -> str:
    return inspect.cleandoc(function.__doc__ or "")
