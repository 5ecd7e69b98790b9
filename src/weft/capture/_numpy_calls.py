"""What NumPy's functions mean on traced values: an op of the table, a write, a view, or the function itself.

Functions that need more than an op are in the tables of `_numpy_special` and `_numpy_writes`. A pure function of NumPy
that has neither op nor entry is recorded as it is; what it gives is learnt by calling it on small arrays of ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._iterables import Collected, RangeItems
from weft.capture._lists import GrownList
from weft.capture._numpy_probe import elementwise_type, name_of, sampled, shared, type_of_sample
from weft.capture._one_of import class_by_node
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._values import Array, Scalar, Traced, is_traced
from weft.errors import ShapeError, TraceError, UnknownRank, UnknownShape
from weft.graph._effects import has_side_effect
from weft.ops import Op, Spec
from weft.ops._numpy import arguments_given, op_call, positional
from weft.ops._op import TABLE, op_of

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

SPECIAL: dict[Any, Callable[..., Any]] = {}
"""Function of NumPy → what it does on traced values: `handler(recorder, *args, **kwargs)`."""

METHODS: dict[str, Callable[..., Any]] = {}
"""Method of arrays → what it does: `handler(recorder, array, *args, **kwargs)`."""

PROPERTIES: dict[str, Callable[[Any, Any], Any]] = {}

# Parameters that take several arrays, and ops that take arrays in containers of a structure of their own.
_SEVERAL = frozenset({"arrays", "condlist", "choicelist", "choices", "keys", "multi_index"})
_NESTED = frozenset({"asarray", "block", "histogramdd", "histogram2d", "einsum", "contract"})

_IGNORED = frozenset({"order", "subok", "like", "device"})  # how a result lies in memory, not what it is
_LATER = _IGNORED | {"out"}
# Functions whose `order` says what the result is.
_IN_ORDER = frozenset(
    {np.unravel_index, np.ravel_multi_index, np.sort, np.argsort, np.partition, np.argpartition, np.sort_complex}
)


_RANGES = frozenset({range, RangeItems})
_SEQUENCES = (list, tuple, range, RangeItems)
_SHORT = 64  # a range up to this length may also be what names axes, or where to split


def special(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(handler: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            SPECIAL[function] = handler
        return handler

    return add


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(handler: Callable[..., Any]) -> Callable[..., Any]:
        METHODS.update(dict.fromkeys(names, handler))
        return handler

    return add


_ASKED = frozenset({"strides", "tobytes", "ctypes", "dumps"})
"""Attributes of arrays that a graph reads when it runs."""


class BoundMethod:
    """A method of a traced array, ready to be called."""

    __slots__ = ("_run", "array", "name")

    def __init__(self, array: Traced, name: str, run: Callable[..., Any]) -> None:
        self.array = array
        self.name = name
        self._run = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*map(class_by_node, args), **{name: class_by_node(value) for name, value in kwargs.items()})


class NumpyCalls:
    """NumPy as seen by one capture."""

    def __init__(self, recorder: Recorder) -> None:
        from weft.capture import _numpy_applied, _numpy_joining, _numpy_methods, _numpy_views, _numpy_writes  # noqa: F401  # fill the tables above  # noqa: F401  # these too

        self.recorder = recorder

    def function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function of NumPy."""
        recorder = self.recorder
        args = recorder.lists.of(args)
        if deque in map(type, args):
            args = tuple(list(value) if type(value) is deque else value for value in args)
        if recorder.untyped or is_opaque(args) or is_opaque(kwargs):
            return self.untyped(function, args, kwargs)
        args, kwargs = with_out_named(function, args, kwargs)
        if not _RANGES.isdisjoint(map(type, args)) and function is not np.asarray:
            args = tuple(self.of_range(value) for value in args)
        handler = SPECIAL.get(function)
        if handler is not None:
            return handler(recorder, *args, **kwargs)
        if str(getattr(function, "__module__", "")).startswith("numpy.testing"):
            recorder.wrapped(function, args, kwargs)
            return None
        if kwargs.get("out") is not None:
            from weft.capture._numpy_out import into

            rest = {key: value for key, value in kwargs.items() if key != "out"}
            return into(recorder, function, args, rest, kwargs["out"])
        return self.with_op(function, args, kwargs)

    def untyped(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call on values of unknown type, as it is; what it writes into is named, so that the call stays."""
        from weft.capture._numpy_applied import holding_written

        recorder, function = self.recorder, holding_written(self.recorder, function)
        if isinstance(function, np.ufunc) and len(args) > function.nin:
            args, kwargs = args[: function.nin], {**kwargs, "out": args[function.nin :]}
        if isinstance(getattr(function, "__self__", None), np.ufunc) and function.__name__ == "at":
            recorder.create(write_at, (function.__self__, *args), kwargs, None)
            return None
        given = arguments_given(function, args, {})
        if given.get("out") is not None:
            names = list(given)
            args = tuple(value for name, value in zip(names, args, strict=False) if name != "out")
            kwargs = {**kwargs, "out": given["out"]}
        return recorder.opaque(function, args, kwargs)

    def with_op(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function of NumPy that writes nowhere: by its op, or as it is."""
        recorder = self.recorder
        args = tuple(map(_listed, args))
        if kwargs.get("order") is not None and function not in _IN_ORDER:
            from weft.capture._numpy_special import laid_out

            made = self.with_op(function, args, {key: value for key, value in kwargs.items() if key != "order"})
            return (
                made if function is np.einsum else laid_out(recorder, made, kwargs["order"])
            )  # it gives a view all the same
        if not _LATER.isdisjoint(kwargs):
            kept = "order" if function in _IN_ORDER else ""
            kwargs = {key: value for key, value in kwargs.items() if key == kept or key not in _LATER}
        meant = op_call(function, args, kwargs)
        failed: Exception | None = None
        if meant is not None:
            op, ours, more = meant
            called = function if ours is args and more is kwargs else None
            ours, more = self.of_traced_lists(op, ours, more)
            for as_lists in (True, False):
                try:
                    given, options = (ours, more) if as_lists else self._as_arrays(op, ours, more)
                    made = recorder.call_op(op, given, options, called=called)
                    named = isinstance(made, tuple) and hasattr(made, "_fields")
                    return _named_result(function)(*made) if named else made
                except UnknownRank:
                    raise
                except UnknownShape:
                    failed = None
                    break
                except TraceError:
                    raise
                except ShapeError as error:  # NumPy may take more shapes than the op, and says so if all are known
                    if has_open_sizes(given) or has_open_sizes(list(options.values())):
                        if recorder.may_catch((ValueError,)):
                            recorder.refuse(
                                f"{name_of(function)}() inside a `try` or `with`: whether NumPy takes what it is "
                                "given is known only when the graph runs",
                                help="move it out of the try",
                            )
                        raise
                    failed = failed or error
                except (AttributeError, TypeError) as error:  # no rule for a list, or for a number of Python's
                    failed = failed or error
        return self._as_it_is(function, args, kwargs, failed)

    def of_traced_lists(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The arguments of an op, with arrays in place of lists where one holds traced values: it has no dtype."""
        if not (any(map(_is_traced_list, args)) or any(map(_is_traced_list, kwargs.values()))):
            return args, kwargs
        if not isinstance(op, Op) or op.name in _NESTED or is_opaque(args) or is_opaque(kwargs):
            return args, kwargs
        names = [*op.__signature__.parameters]
        at = op.__signature__.parameters[names[0]]
        if at.kind is at.VAR_POSITIONAL:
            return tuple(self.made(value) for value in args), kwargs
        first = tuple(self._listed(op, name, value) for name, value in zip(names, args, strict=False))
        return (*first, *args[len(first) :]), {name: self._listed(op, name, value) for name, value in kwargs.items()}

    def of_traced_numbers(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same for an op that was called by its own name: a list of arrays may be what it takes."""
        given = [value for value in (*args, *kwargs.values()) if _is_traced_list(value)]
        parts = [part for value in given for part in ([value] if _is_of_numbers(value) else value)]
        if all(_is_of_numbers(part) or isinstance(part, Array) for part in parts) and any(map(_is_of_numbers, parts)):
            return self.of_traced_lists(op, args, kwargs)
        return args, kwargs

    def _listed(self, op: Any, name: str, value: Any) -> Any:
        if name in _SEVERAL and isinstance(value, (list, tuple)):
            return [self.made(part) for part in value]
        return self.made(value) if name in op.arrays else value

    def made(self, value: Any) -> Any:
        """An array in place of a list or a range; of anything else, itself."""
        return self.function(np.asarray, (value,), {}) if isinstance(value, _SEQUENCES) else value

    def of_range(self, value: Any) -> Any:
        """What a function of NumPy's that takes an array, or several numbers, makes of a range."""
        if type(value) is range and len(value) <= _SHORT:
            return list(value)
        return self.made(value) if type(value) in _RANGES else value

    def of_traced(self, value: Any) -> Any:
        """An array in place of a list of traced values."""
        return self.made(value) if _is_traced_list(value) else value

    def _as_arrays(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The arguments of an op with arrays in place of lists, and of a number where it takes its first array."""

        def array(name: str, value: Any) -> Any:
            listed = name in op.arrays and isinstance(value, (list, tuple))
            number = name in op.arrays[:1] and isinstance(value, (int, float, complex, Scalar))
            return self.function(np.asarray, (value,), {}) if listed or number else value

        made = tuple(array(name, value) for name, value in zip(op.__signature__.parameters, args, strict=False))
        return (*made, *args[len(made) :]), {name: array(name, value) for name, value in kwargs.items()}

    def write_whole(self, target: Any, result: Any, casting: Any = "same_kind") -> Any:
        """Write a result into the whole of an array."""
        recorder = self.recorder
        target = recorder.constant(target) if isinstance(target, np.ndarray) else target
        result = self.cast_into(target, result, casting)
        if isinstance(result, (Array, Scalar)):
            recorder.store(target, recorder.fitted(result.node, result.spec, target))
        else:
            recorder.setitem(target, ..., result)
        return target

    def cast_into(self, target: Any, result: Any, casting: Any) -> Any:
        """A result in the dtype of the array it is written into; raises what NumPy raises where it does not fit."""
        spec = result.spec if isinstance(result, (Array, Scalar)) else Spec(np.shape(result), np.asarray(result).dtype)
        dtype = target.spec.dtype
        np.copyto(np.empty(0, dtype), np.empty(0, spec.dtype), casting=casting)
        if spec.dtype == dtype:
            return result
        from weft.capture._numpy_special import copied

        return copied(self.recorder, result, dtype) if isinstance(result, Traced) else np.asarray(result).astype(dtype)

    def ufunc(self, ufunc: Any, how: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a ufunc or of one of its methods."""
        from weft.capture import _numpy_ufuncs

        inputs = tuple(map(_listed, inputs))
        if is_opaque(inputs) or is_opaque(kwargs):
            return self.untyped(ufunc if how == "__call__" else getattr(ufunc, how), inputs, kwargs)
        if how != "__call__":
            return _numpy_ufuncs.method(self.recorder, ufunc, how, inputs, kwargs)
        if kwargs or len(inputs) > ufunc.nin:
            return _numpy_ufuncs.call(self.recorder, ufunc, inputs, kwargs)
        inputs = tuple(map(self.made, inputs))
        op = op_of(ufunc)
        return self._as_it_is(ufunc, inputs, {}) if op is None else self.recorder.call_op(op, inputs, {}, called=ufunc)

    # Arrays' own names

    def attribute(self, array: Array, name: str) -> Any:
        """An attribute of a traced array that the class does not have itself."""
        found = PROPERTIES.get(name)
        if found is not None:
            return found(self.recorder, array)
        run = METHODS.get(name)
        if run is not None:
            return BoundMethod(array, name, lambda *args, **kwargs: run(self.recorder, array, *args, **kwargs))
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'", name=name, obj=array)
        function = getattr(np, name, None)
        if function is None or not callable(getattr(np.ndarray, name)):
            return self._asked(array, name)
        return BoundMethod(array, name, lambda *args, **kwargs: self.function(function, (array, *args), kwargs))

    def _asked(self, array: Array, name: str) -> Any:
        """An attribute of an array, or what a method gives, that is known when the graph runs."""
        recorder = self.recorder
        if name == "flags":
            from weft.capture._layouts import Flags

            return Flags(recorder, array)
        if name not in _ASKED:
            recorder.refuse(f".{name} of a traced array", help="compute with the array itself")
        if not callable(getattr(np.ndarray, name)):
            recorder.hand_out(array)
            return recorder.opaque(getattr, (array, name), {})
        return BoundMethod(
            array, name, lambda *args, **kwargs: recorder.opaque(getattr(np.ndarray, name), (array, *args), kwargs)
        )

    def scalar_attribute(self, value: Scalar, name: str) -> Any:
        """An attribute of a traced number."""
        if name.startswith("__"):
            raise AttributeError(name)
        if value.python:
            return self.recorder.python.attribute(value, name)
        if name in PROPERTIES:
            return PROPERTIES[name](self.recorder, value)
        run = METHODS.get(name)
        if run is not None:
            return BoundMethod(value, name, lambda *args, **kwargs: run(self.recorder, value, *args, **kwargs))
        function = getattr(np, name, None)
        own = getattr(value.kind.type, name, None)  # type: ignore[union-attr]  # a dtype: numbers of Python's left above
        if own is not None and function is None and callable(own):
            result = getattr(value.kind.type(1), name)  # type: ignore[union-attr]  # as above
            return BoundMethod(
                value, name, lambda *args: self.recorder.python.number(own, (value, *args), type(result(*args)))
            )
        if own is None or function is None:
            raise AttributeError(f"'numpy.{value.kind}' object has no attribute '{name}'", name=name, obj=value)
        return BoundMethod(value, name, lambda *args, **kwargs: self.function(function, (value, *args), kwargs))

    def opaque_attribute(self, value: Opaque, name: str) -> Any:
        """An attribute of a value of unknown type: a method of a random generator, else refused."""
        from weft.capture._draws import generator_method

        return generator_method(self.recorder, value, name)

    def flat(self, array: Array) -> Any:
        """`array.flat`."""
        from weft.capture._numpy_views import flat

        return flat(self.recorder, array)

    def item(self, value: Any) -> Any:
        """The one element of an array, as a number of NumPy's."""
        if isinstance(value, Scalar):
            return value
        recorder = self.recorder
        flat = value
        for _ in value.spec.shape:
            flat = recorder.getitem(flat, 0)
        return recorder.getitem(flat, ()) if isinstance(flat, Array) else flat

    # Functions without a rule

    def _as_it_is(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], otherwise: Exception | None = None
    ) -> Any:
        """A call without a rule, recorded as it is; `otherwise` is the error where it cannot be."""
        recorder = self.recorder
        result, samples = sampled(recorder, function, args, kwargs, otherwise)
        if isinstance(result, (type, np.dtype)):
            return result
        type_ = elementwise_type(result, function, args, kwargs)
        if type_ is None:
            type_ = type_of_sample(recorder, result, function)
        node = recorder.create(function, args, kwargs, type_)
        if samples.open:  # it raises for some sizes
            recorder.may_not_fit(node, function)
        return shared(recorder, recorder.wrap(node, type_, tensor=False), result, samples, function)

    def probe(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The type of what a function gives; sizes are left open."""
        result, _ = sampled(self.recorder, function, args, kwargs, None)
        return type_of_sample(self.recorder, result, function)


def with_out_named(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call with `out`, and what says how a result lies in memory, by name, and all that stands behind them."""
    first = _first_later(function)
    if len(args) <= first or len(args) > len(positional(function)):
        return args, kwargs
    return args[:first], {**dict(zip(positional(function)[first:], args[first:], strict=False)), **kwargs}


@lru_cache(maxsize=1024)
def _first_later(function: Any) -> int:
    names = positional(function)
    return next((k for k, name in enumerate(names) if name in _LATER), 1000)


def has_open_sizes(values: Any) -> bool:
    """Whether one of some values, or of the items of a list among them, is an array of a size not known."""
    return any(
        has_open_sizes(value)
        if isinstance(value, (list, tuple))
        else isinstance(value, Array) and not all(isinstance(dim, int) for dim in value.spec.shape)
        for value in values
    )


def _is_traced_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and is_traced(value)


def _is_of_numbers(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return all(isinstance(part, (Scalar, int, float, complex)) or _is_of_numbers(part) for part in value)


def _listed(value: Any) -> Any:
    """A list of unknown length as the array that NumPy makes of it; anything else as it is."""
    return value.listed() if isinstance(value, (Collected, GrownList)) else value


@lru_cache(maxsize=64)
def _named_result(function: Any) -> Any:
    """The class of the named tuples that a function of NumPy gives."""
    return type(function(np.eye(1)))


@has_side_effect
def write_at(ufunc: Any, array: Any, indices: Any, *values: Any) -> None:
    """`ufunc.at(array, indices, values)`, which writes into the array."""
    ufunc.at(array, indices, *values)


def call_named(recorder: Recorder, name: str, *args: Any, **kwargs: Any) -> Any:
    """Record a call of an op by name."""
    return recorder.call_op(TABLE[name], args, kwargs)
