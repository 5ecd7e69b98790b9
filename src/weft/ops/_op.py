"""`Op`, the table of all ops, and how a call finds who answers it.

An op is declared once, whole: how it evaluates on arrays, what shape and dtype it gives, its derivative, one line of
documentation. Calling an op evaluates it with NumPy when it is given arrays. When an argument (or an element of a list,
tuple or dict argument) implements the protocol, that argument receives the call instead:

    class Loud:
        __weft_priority__ = 10          # the highest priority among the arguments answers
        def __weft_op__(self, op, args, kwargs):
            print(op.name)

So this room knows nothing of tensors, proxies or tapes, and each of them serves every op.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypedDict, Unpack

import numpy as np

from weft._frames import hide_frames
from weft._tracing import current_recorder, current_tracer
from weft._where import located
from weft.errors import DtypeError, NotDifferentiable, UnknownShape, WeftError
from weft.ops._cost import Cost
from weft.ops._raises import BAD_VALUES, Raises
from weft.ops._reads import RESULT, values_read

Rule = Callable[..., Any]
Rules = tuple["Rule | NotDifferentiable", ...]

# What torch calls the parameters that NumPy and the array API call otherwise.
_TORCH_NAMES = {
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "unbiased": "correction",
    "diagonal": "k",
    "shifts": "shift",
    "steps": "num",
    "dim1": "axis1",
    "dim2": "axis2",
}

_ops: dict[str, Op] = {}
_by_function: dict[Any, Op] = {}

TABLE: Mapping[str, Op] = MappingProxyType(_ops)
"""Every op by name."""

OWN, VIEW, SHOWN = "own", "view", "shown"
"""Where the arrays lie that an op gives: see `Facts`."""
ROWS, ORDER_KEPT, ANY_ORDER = "rows", "kept", "any"
"""How the axes of arrays are ordered that an op gives: see `Facts`."""


class Facts(TypedDict, total=False):
    """What passes, captures and transforms ask about an op. An op that says nothing may do anything.

    `memory` says where the arrays lie that a call gives. OWN: in memory of their own. VIEW: in that of the first
    argument, each element of it in one place at most, so that it may be written through the result; a copy is made only
    where no view can show the elements. SHOWN: in that of the arguments too, but not to be written, because an element
    stands in several places, the result is read-only, or there are several results. None: any of these, or the argument
    itself.

    `raises` says what a call may raise because of the values it is given, though shapes and dtypes fit, and when. None:
    nothing.

    `always_array` says that results without dimensions are arrays too, where most ops give NumPy's scalars.

    `order` says how an array of its own lies in memory. ROWS: its elements lie in order, by rows, where those of the
    arguments do. ORDER_KEPT: the axes are ordered as those of the arguments are. ANY_ORDER: neither is certain.

    `cost` says what a call takes, where that is not one operation for each element.
    """

    memory: str | None
    raises: Raises | None
    always_array: bool
    order: str
    cost: Cost


class Op:
    """One operation: evaluation, shape rule, derivative and documentation in one place.

    `arrays` names the parameters that take arrays; `vjp` holds one rule for each of them, or the reason there is none.
    A rule is called as `rule(g, y, *arguments)`: the gradient of the result, the result, and every parameter of the op
    in order. It calls ops, never NumPy, so one rule serves eager gradients, graph gradients and gradients of gradients.
    For an op with several results `g` and `y` are tuples. `linear` says that the op is linear in the arrays that have
    rules, taken together. `random` says whether calls draw random numbers, or tells it
    from the arguments of a call: see `draws`. What else is known of an op are its `Facts`.
    """

    def __init__(
        self,
        name: str,
        *,
        eval: Callable[..., Any],
        infer: Callable[..., Any],
        vjp: Rules,
        arrays: Sequence[str],
        doc: str,
        signature: inspect.Signature | None = None,
        numpy: Sequence[Any] = (),
        body: Callable[..., Any] | None = None,
        commutative: bool = False,
        linear: bool = False,
        random: bool | Callable[..., bool] = False,
        domain: Any = None,
        **facts: Unpack[Facts],
    ) -> None:
        self.name = self.__name__ = self.__qualname__ = name
        self.__module__ = "weft"
        self.__doc__ = doc
        self.eval = eval
        self.infer = infer
        self.vjp = vjp
        self.arrays = tuple(arrays)
        self.numpy = tuple(numpy)
        self.body = body
        self.commutative = commutative
        self.linear = linear
        self.random = random
        self.domain = domain
        self.memory = facts.get("memory")
        self.raises = facts.get("raises", BAD_VALUES)
        self.always_array = facts.get("always_array", False)
        self.order = facts.get("order", ANY_ORDER)
        self.cost = facts.get("cost", Cost())
        if signature is not None:
            self.__signature__ = signature
        # What NumPy's functions take beyond an op's parameters, such as an array to write into, must not reach them.
        self.exactly = None if signature is None or body is not None else _fixed_count(signature)
        _register(self)

    @cached_property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.eval)

    @property
    def composite(self) -> bool:
        """Whether the op is a function over other ops, which `decompose` can open."""
        return self.body is not None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.dispatch(args, kwargs)

    def call_by(self, function: Callable[..., Any]) -> None:
        """Let calls go straight to a function, which may leave them to `dispatch`.

        Python looks for `__call__` on the class of an object, so the op gets a class of its own.
        """
        kind = type(self)
        self.__class__ = type(
            kind.__name__, (kind,), {"__call__": staticmethod(function), "__module__": kind.__module__}
        )

    def dispatch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Find who answers a call with these arguments, and let them."""
        if kwargs and not _TORCH_NAMES.keys().isdisjoint(kwargs):
            kwargs = self.renamed(kwargs)
        handler = None
        for arg in args:
            if type(arg) not in _PLAIN:
                handler = _handler(arg, handler)
        if kwargs:
            for arg in kwargs.values():
                if type(arg) not in _PLAIN:
                    handler = _handler(arg, handler)
        if handler is None:
            if self.exactly is not None and (kwargs or len(args) != self.exactly):
                self.bind(args, kwargs)
            try:
                try:
                    return self.eval(*args, **kwargs)
                except Exception as error:
                    clearer = located(self.explain(error, args, kwargs))
                    if clearer is error:
                        raise
                    raise clearer from error
            except Exception as error:
                hide_frames(error)
                raise
        try:
            return handler.__weft_op__(self, args, kwargs)
        except WeftError as error:
            if not getattr(type(handler), "_is_proxy", False):
                located(error)
            if current_recorder.get() is None and current_tracer.get() is None:
                hide_frames(error)
            raise

    def renamed(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments with torch's `dim`, `keepdim` and their like under the names the op has for them."""
        parameters = self.__signature__.parameters
        return {
            _TORCH_NAMES[key] if key not in parameters and _TORCH_NAMES.get(key) in parameters else key: value
            for key, value in kwargs.items()
        }

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The value of every parameter, in order, defaults filled in."""
        try:
            bound: tuple[Any, ...] = self._binder(*args, **kwargs)
        except TypeError:
            pass
        else:
            return bound
        try:
            self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            bare = [p.replace(annotation=p.empty) for p in self.__signature__.parameters.values()]
            hint = "; an op gives an array: write weft.tensor(..., requires_grad=True)" * ("requires_grad" in kwargs)
            raise TypeError(f"{self.name}{inspect.Signature(bare)}: {error}{hint}") from None
        raise AssertionError(f"{self.name}: its binder and its signature disagree")

    @cached_property
    def reads(self) -> tuple[frozenset[str], ...]:
        """For each array parameter, the parameters (and `y`, the result) whose values its derivative rule reads."""
        parameters = list(self.__signature__.parameters)
        # The derivative of a linear map is the same wherever it is taken.
        varied = [name for name, rule in zip(self.arrays, self.vjp, strict=True) if callable(rule)]
        unread = {RESULT, *varied} if self.linear else set()
        return tuple(values_read(rule, parameters) - unread for rule in self.vjp)

    @cached_property
    def takes_arrays(self) -> tuple[bool, ...]:
        """For each parameter, whether it is an array."""
        return tuple(name in self.arrays for name in self.__signature__.parameters)

    @cached_property
    def depends(self) -> tuple[bool, ...]:
        """For each array parameter, whether the result depends on its values: not on its shape and dtype alone."""
        return tuple(rule is not independent for rule in self.vjp)

    @cached_property
    def array_rules(self) -> Rules:
        """The rules of `vjp` as functions of NumPy's arrays alone."""
        from weft.ops._direct import direct

        return tuple(map(direct, self.vjp))

    @cached_property
    def tails(self) -> tuple[tuple[Any, ...] | None, ...]:
        """For each number of arguments, the defaults of the parameters they leave out; None where one has none."""
        parameters = list(self.__signature__.parameters.values())
        defaults = [parameter.default for parameter in parameters]
        fixed = inspect.Parameter.VAR_POSITIONAL not in {parameter.kind for parameter in parameters}
        rests = (tuple(defaults[n:]) for n in range(len(defaults) + 1))
        return tuple(rest if fixed and inspect.Parameter.empty not in rest else None for rest in rests)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """Where each array parameter stands among all parameters."""
        parameters = list(self.__signature__.parameters)
        return tuple(parameters.index(name) for name in self.arrays)

    @cached_property
    def _binder(self) -> Callable[..., tuple[Any, ...]]:
        """A function with the op's parameters that returns them in order: what `Signature.bind` does, much faster."""
        parameters = list(self.__signature__.parameters.values())
        defaults = {f"default_{p.name}": p.default for p in parameters if p.default is not p.empty}
        bare = [
            p.replace(annotation=p.empty, default=_Named(f"default_{p.name}") if p.default is not p.empty else p.empty)
            for p in parameters
        ]
        names = "".join(f"{p.name}, " for p in parameters)
        exec(f"def bind{inspect.Signature(bare)}: return ({names})", defaults)
        binder: Callable[..., tuple[Any, ...]] = defaults["bind"]
        return binder

    def explain(self, error: Exception, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Exception:
        """Why evaluating the op failed, in the words of its shape rule where that finds fault, else in NumPy's."""
        from weft.ops._spec import spec_of

        if isinstance(error, WeftError):
            return error
        for (name, parameter), value in zip(self.__signature__.parameters.items(), args, strict=False):
            missing = value is None and name == self.arrays[0] and parameter.default is not None
            if name in self.arrays and (isinstance(value, (str, bytes)) or missing):
                return DtypeError(f"{self.name}: {name} is an array, a Tensor or a number, got {_shown(value)}")
        try:
            arguments = zip(self.__signature__.parameters, self.bind(args, kwargs), strict=True)
            self.infer(*(spec_of(value) if name in self.arrays else value for name, value in arguments))
        except UnknownShape:
            return self.named(error)
        except Exception as clearer:
            found = isinstance(clearer, WeftError) or str(clearer).startswith(self.name)
            return clearer if found else self.named(error)
        return self.named(error)

    def named(self, error: Exception) -> Exception:
        """An error of Python's or NumPy's own with the name of the op in front, unless an op is named there already."""
        if isinstance(error, WeftError) or str(error).split(":")[0].split("(")[0] in _ops:
            return error
        kind = next((kind for kind in _KINDS if isinstance(error, kind)), None)
        return error if kind is None else kind(f"{self.name}: {error}")

    def draws(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether the call `self(*args, **kwargs)` draws random numbers; yes, where that depends on unknown values."""
        if not callable(self.random):
            return self.random
        try:
            return bool(self.random(*self.bind(args, kwargs)))
        except Exception:  # a value yet unknown, such as a node, does not compare as a number
            return True

    def gradient(self, parameter: str, g: Any, y: Any, arguments: Sequence[Any]) -> Any:
        """Pull the gradient `g` of the result `y` back to one array parameter of the call `self(*arguments)`."""
        rule = self.vjp[self.arrays.index(parameter)]
        if isinstance(rule, NotDifferentiable):
            raise NotDifferentiable(f"{self.name} has no derivative with respect to {parameter}: {rule.message}")
        position = list(self.__signature__.parameters).index(parameter)
        x = arguments[position]
        gradient = rule(g, y, *arguments)
        if isinstance(x, (list, tuple)):
            return [like(part, each) for part, each in zip(gradient, x, strict=True)]
        return like(gradient, x)

    def __repr__(self) -> str:
        return f"<weft op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_lookup, (self.name,))

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: Any) -> Op:
        return self


def no_gradient(reason: str) -> NotDifferentiable:
    """Stand in for a derivative rule and say why there is none."""
    return NotDifferentiable(reason)


def independent(*_: Any) -> int:
    """Stand in for a derivative rule where only the shape and dtype of the argument count: the derivative is 0."""
    return 0


def is_flat(factor: Any, arguments: Sequence[Any]) -> bool:
    """Return True if a slope is the 0 of an op that is flat: no gradient passes it.

    A 0 that the program gave as an argument is a factor like any other, since inf * 0 is nan.
    """
    return type(factor) is int and factor == 0 and not any(argument is factor for argument in arguments)


def op_of(function: Any) -> Op | None:
    """The op that means the same as `function`: itself, a NumPy function, a function of `operator`; None otherwise."""
    if isinstance(function, Op):
        return function
    try:
        return _by_function.get(function)
    except TypeError:
        return None


def like(gradient: Any, x: Any) -> Any:
    """Bring a gradient to the shape and dtype of its variable: sum what was broadcast, drop what is not real."""
    from weft.ops._spec import dtype_of, shape_of

    shape, dtype = shape_of(x), dtype_of(x)
    if isinstance(gradient, (int, float)):
        gradient = _ops["full"](shape, gradient, dtype=dtype)
    got = shape_of(gradient)
    if got != shape:
        extra = len(got) - len(shape)
        if extra < 0:
            gradient, got = _ops["broadcast_to"](gradient, shape), shape
        else:
            axes = (*range(extra), *(i + extra for i, d in enumerate(shape) if d == 1 and got[i + extra] != 1))
            gradient = _ops["reshape"](_ops["sum"](gradient, axis=axes), shape) if axes else gradient
            if not axes or shape_of(gradient) != shape:
                gradient = _ops["broadcast_to"](gradient, shape)
    if dtype_of(gradient) != dtype:
        if dtype.kind != "c" and dtype_of(gradient).kind == "c":
            gradient = _ops["real"](gradient)
        if dtype_of(gradient) != dtype:
            gradient = _ops["astype"](gradient, dtype)
    return gradient


def alias(function: Any, op: Op) -> None:
    """Declare that calling `function` (of NumPy or `operator`) on weft values means `op`."""
    if _by_function.setdefault(function, op) is not op:
        raise ValueError(f"{function!r} already stands for {_by_function[function]!r}")


def _register(op: Op) -> None:
    if op.name in _ops:
        raise ValueError(f"op {op.name!r} is declared twice")
    if len(op.vjp) != len(op.arrays):
        raise ValueError(
            f"op {op.name!r} needs one derivative rule, or a reason, for each of {op.arrays}; got {len(op.vjp)}"
        )
    if not op.__doc__:
        raise ValueError(f"op {op.name!r} has no documentation")
    _ops[op.name] = op
    for function in op.numpy:
        alias(function, op)


def _fixed_count(signature: inspect.Signature) -> int | None:
    """How many arguments every call has, where that is all there is to say of the parameters."""
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    return len(signature.parameters) if kinds == {inspect.Parameter.POSITIONAL_ONLY} else None


class _Named:
    """A default value that prints as the name it is found under."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _lookup(name: str) -> Op:
    return _ops[name]


_KINDS = (np.linalg.LinAlgError, IndexError, ValueError, TypeError, OverflowError, ZeroDivisionError, AttributeError)
_PLAIN = frozenset({np.ndarray, float, int, bool, complex, str, type(None), np.float64, np.int64, np.bool_, type})


def _handler(arg: Any, best: Any) -> Any:
    """The argument, or part of it, that should answer the call: the highest priority, the first among equals."""
    if hasattr(type(arg), "__weft_op__"):
        if best is None or type(arg).__weft_priority__ > type(best).__weft_priority__:
            return arg
    elif isinstance(arg, (list, tuple)):
        for part in arg:
            if type(part) not in _PLAIN:
                best = _handler(part, best)
    elif isinstance(arg, dict):
        best = _handler(list(arg.values()), best)
    elif isinstance(arg, slice):
        best = _handler((arg.start, arg.stop, arg.step), best)
    return best


def answers(value: Any) -> bool:
    """Whether the value, or a part of it, takes calls of ops itself, rather than being plain data."""
    return _handler(value, None) is not None


def with_shape(name: str, parameter: str, value: Any) -> Any:
    """An argument of an op that asks for its shape: what has none, such as a list, is made an array as NumPy does."""
    if hasattr(value, "ndim"):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise DtypeError(f"{name}: {parameter} is an array, a Tensor or a number, got {_shown(value)}")
    return array


def _shown(value: Any) -> str:
    if value is None or not isinstance(value, (str, bytes)):
        return "None" if value is None else f"an object of class {type(value).__name__}"
    return f"the text {str(value)[:20]!r}"
