"""What Python's own functions mean on traced values: `abs`, `min`, `len`, `int`, `math.sqrt`, `isinstance`, `print`."""

from __future__ import annotations

import cmath
import functools
import math
import operator
import types
import warnings
from collections import deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._changes import uncaptured
from weft.capture._copying import COPYING, copied
from weft.capture._generators import Generated, all_of, any_of, mapped, mapped_rows
from weft.capture._iterables import Collected, EnumerateItems, Items, RangeItems, ReversedItems, ZipItems, items_of
from weft.capture._kinds import REPRESENTATIVES, joined_kind, same_kind
from weft.capture._lists import GrownList, containers_in
from weft.capture._lookups import in_container
from weft.capture._memory import taken_out
from weft.capture._merge import is_open, refuse_mixed
from weft.capture._missing import in_globals, is_globals
from weft.capture._once import once
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._ordering import extreme, is_by_outside, one_by_one, ordered, ordered_array
from weft.capture._own_methods import with_begun
from weft.capture._own_operators import is_own_class
from weft.capture._plain import SIGNS
from weft.capture._values import Array, Scalar, Traced, is_traced, shows_traced
from weft.ops import Spec
from weft.ops._dim import REASONED, Dim, dim_max, dim_min, hint_of
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

PYTHON: dict[Any, Callable[..., Any]] = {}
"""Function → what it does where an argument is traced: `handler(calls, *args, **kwargs)`."""

_WHOLE = {math.floor, math.ceil, math.trunc, math.gcd, math.lcm, math.factorial, math.comb, math.perm, math.isqrt}
_TRUTHS = {math.isnan, math.isinf, math.isfinite, math.isclose, cmath.isnan, cmath.isinf, cmath.isfinite, cmath.isclose}
_FLOATS_OF_COMPLEX = {cmath.phase}
_OF_FINITE = {math.isnan, math.isinf, math.isfinite, cmath.isnan, cmath.isinf, cmath.isfinite}


_OF_MANY = (math.prod, math.fsum, math.dist)
_ORDERING = (sorted, min, max)
_APPLYING = (map, filter, functools.reduce)
_TAKING_ALL = (*_ORDERING, sum)
_AMBIGUOUS = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
_SHOWING = (str, repr, format)
_OF_ITSELF = (isinstance, type, callable, id)  # they ask nothing of what a container holds
_OF_CLASS = (isinstance, type, callable, hasattr)
_REDUCING = (max, min, sum, any, all, sorted)
_ASKING_ALONE = frozenset({type, isinstance, hasattr, callable, len})  # these take no items of a generator
_LOOPING = frozenset({range, zip, enumerate, reversed, map, print, list, tuple, iter, filter})


def python(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(handler: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            PYTHON[function] = handler
        return handler

    return add


class PythonCalls:
    """Python's builtins and `math` as seen by one capture."""

    def __init__(self, recorder: Recorder) -> None:
        from weft.capture import _python_operators, _totals  # noqa: F401  # they fill the table above

        self.recorder = recorder

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function of Python's; plain where nothing traced is given."""
        args = with_begun(self.recorder, function, args)
        if args and type(args[0]) is Generated and _hashable(function) and function in _ASKING_ALONE:
            return args[0].asked(function, *args[1:])
        if args and type(args[0]) is Generated and _hashable(function) and function in (any, all):
            return self.recorder._deeper(self.recorder.bind(any_of if function is any else all_of), args, {})
        lists = self.recorder.lists
        args = lists.of(tuple(map(lists.taken, lists.whole(args))) if function in _TAKING_ALL else args)
        if function is len and len(args) == 1 and type(args[0]) in (list, tuple):
            return len(args[0])  # whatever it holds, which may be much
        handler = PYTHON.get(function) if _hashable(function) else None
        if function in _REDUCING and args and type(args[0]) is Collected and kwargs.get("key") is None:
            args = (self._reduced(function, args[0]), *args[1:])
        if function is filter and _is_applied(args[0]):
            return _filter(self, *args)
        if function is functools.reduce and is_opaque(args[1:2]) and (_is_applied(args[0]) or containers_in(args[2:])):
            self.recorder.refuse("functools.reduce over a value of unknown length", help="write it as a loop")
        if function in _APPLYING and _is_applied(args[0]) and not any(map(is_known, args)):
            of_program = args[0]  # it runs as the program's own, whoever calls it
            return function(lambda *row: self.recorder.run(of_program, row, {}), *args[1:], **kwargs)
        if function in _ORDERING and kwargs.get("key") is not None and not isinstance(args[0], Opaque):
            return PYTHON[function](self, *args, **kwargs)  # the key may give what is traced
        if function in (min, max) and len(args) == 1 and is_by_outside(self.recorder, kwargs):
            return one_by_one(self.recorder, function, *args, **kwargs)
        if function in _OF_ITSELF and args and not is_traced_itself(args[0]) and not is_opaque(args[1:]):
            return function(*args, **kwargs)
        if function is operator.getitem and len(args) == 2 and not isinstance(args[0], Traced):
            return self.recorder.run_getitem(*args)
        if function in _OF_CLASS and _is_example(args):
            return function(args[0].example, *args[1:])
        if (is_opaque(args) or is_opaque(kwargs)) and function not in _LOOPING:
            return self.recorder.opaque(function, args, kwargs)
        if handler is not None and (any(map(is_known, args)) or any(map(is_known, kwargs.values()))):
            return handler(self, *args, **kwargs)
        if function in _SHOWING and any(map(shows_traced, args)):
            return PYTHON[function](self, *args, **kwargs)
        if (
            function is sum
            and isinstance(args[0], (list, tuple))
            and any(is_own_class(type(v)) for v in (*args[0], *args[1:]))
        ):
            return _sum(self, *args, **kwargs)
        if function in COPYING:
            return copied(self.recorder, function, args[0])
        module = getattr(function, "__module__", None)
        if module in ("math", "cmath") and (any(map(is_traced, args))):
            return self._math(function, args, kwargs)
        return uncaptured(self.recorder, function, args, kwargs)

    def _reduced(self, function: Any, items: Collected) -> Any:
        """What `max`, `sum` and their like go over: arrays of numbers, or the list of tuples or other containers."""
        numbers = items.tree == LEAF and (function is sum or len(items.arrays[0].spec.shape) == 1)
        return items if numbers else Opaque(self.recorder, items.as_list())

    def print(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A call of `print`."""
        _print(self, *args, **kwargs)

    def has_rule(self, function: Any) -> bool:
        return _hashable(function) and (function in PYTHON or getattr(function, "__module__", "") in ("math", "cmath"))

    def contains(self, item: Any, container: Any) -> Any:
        """`item in container`."""
        if is_globals(container) and type(item) is str:
            return in_globals(self.recorder, container, item)
        if isinstance(container, KeysView) and hasattr(container, "mapping"):
            container = dict(container.mapping)
        elif isinstance(container, (ValuesView, ItemsView)):
            container = tuple(container)
        unknown = in_container(self.recorder, item, container)
        if unknown is not None:
            return unknown
        hashed = isinstance(item, Traced) or (type(item) is tuple and any(isinstance(part, Scalar) for part in item))
        if isinstance(container, (set, frozenset, dict)) and hashed:
            if isinstance(item, Array):
                raise TypeError(f"unhashable type: '{python_class(item).__module__}.{python_class(item).__name__}'")
            container = tuple(container)
        if isinstance(container, Array):
            found = self.recorder.operate(operator.eq, container, item)
            return self.call(bool, (self.recorder.numpy.function(np.any, (found,), {}),), {})
        if isinstance(container, (list, tuple, deque)) and (is_traced(item) or is_traced(container)):
            from weft.capture._lookups import compare_sequences

            result: Any = False
            for part in container:
                same = self.call(bool, (part is item or compare_sequences(self.recorder, "==", part, item),), {})
                if same is True and not is_traced(result):
                    return True
                result = same if result is False else self.either(result, same)
            return result
        if isinstance(container, Collected):
            node = self.recorder.create(operator.contains, (container.as_list(), item), {}, bool)
            return self.recorder.wrap(node, bool)
        if isinstance(container, Items) and isinstance(container, RangeItems):
            inside = self.both(item >= container.start, item < container.stop)
            return inside if container.step == 1 else self.both(inside, (item - container.start) % container.step == 0)
        return item in container

    def both(self, a: Any, b: Any) -> Any:
        return self.recorder.operate(operator.and_, a, b) if is_traced(a) or is_traced(b) else a and b

    def either(self, a: Any, b: Any) -> Any:
        return self.recorder.operate(operator.or_, a, b) if is_traced(a) or is_traced(b) else a or b

    def number(self, function: Any, args: tuple[Any, ...], kind: Any, **kwargs: Any) -> Scalar:
        """Record a call that gives a number."""
        node = self.recorder.create(function, args, kwargs, kind if isinstance(kind, type) else Spec((), kind))
        return Scalar(self.recorder, kind, node, hint=None if kwargs else self.recorder._hint(function, args))

    def one_of(self, function: Any, args: tuple[Any, ...], kinds: list[Any], **kwargs: Any) -> Scalar:
        """Record a call that gives a number of one of several types."""
        made = self.number(function, args, joined_kind(kinds), **kwargs)
        if not all(same_kind(kind, kinds[0]) for kind in kinds):
            made.node.meta["mixed"] = True
        return made

    def grown(self, function: Any, items: Any, *more: Any) -> Any:
        """sum, min or max of a list that has grown: of the list itself, as the program does."""
        found = items.types[0] if items.tree == LEAF else None
        if found is None or found.unknown or (found.spec is not None and function is not sum):
            return self.recorder.opaque(function, (items.handle, *more), {})
        if found.spec is not None:
            recorder = self.recorder
            dtype = np.result_type(found.spec.dtype, *(() if is_traced(more) else more))
            type_ = Spec([recorder.sizes.fresh("sum") for _ in found.spec.shape], dtype)
            return recorder.wrap(recorder.create(function, (items.handle, *more), {}, type_), type_)
        kinds = [found.kind, *(kind_of(value) for value in more), *([int] if function is sum else [])]
        return self.one_of(function, (items.handle, *more), kinds)

    def _math(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args = tuple(map(taken_out, args))
        if function in _OF_FINITE and isinstance(args[0], Scalar) and args[0].kind in (int, bool):
            return function(0)
        kind: Any = complex if function.__module__ == "cmath" else float
        if function in _WHOLE:
            kind = int
        elif function in _TRUTHS:
            kind = bool
        elif function in _FLOATS_OF_COMPLEX:
            kind = float
        elif function in (math.modf, math.frexp, math.sumprod if hasattr(math, "sumprod") else None):
            type_ = {math.modf: (float, float), math.frexp: (float, int)}.get(function, float)
            return self.recorder.wrap(self.recorder.create(function, args, kwargs, type_), type_)
        if function not in _OF_MANY:
            args = tuple(self.one_number(function if len(args) == 1 else float, a) for a in args)
        args = tuple(self.recorder.numpy.item(a) if isinstance(a, Array) and not a.spec.shape else a for a in args)
        return self.number(function, args, kind, **kwargs)

    def one_number(self, function: Any, value: Any) -> Any:
        """What a call that wants one number is given: of an array, the element it has.

        NumPy's own error is raised where there are more, or where it takes none out of an array that has dimensions,
        as newer versions do not. The array itself is given where only running tells how many there are.
        """
        if not isinstance(value, Array) or not value.spec.shape:
            return value
        open_ = any(hint_of(size) is None for size in value.spec.shape)
        sizes = [1 if open_ or size == 1 else 2 for size in value.spec.shape]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # versions that do take it
            try:
                function(np.ones(sizes, value.spec.dtype))
            except Exception as error:
                self.recorder.programs_error = error
                raise
        return value if open_ else self.recorder.numpy.item(value)

    def attribute(self, value: Scalar, name: str) -> Any:
        """An attribute or method of a number of Python's."""
        from weft.capture._numpy_calls import BoundMethod

        found = getattr(value.kind, name, None)
        if found is None:
            refuse_mixed(value)
            raise AttributeError(f"'{value.kind.__name__}' object has no attribute '{name}'", name=name, obj=value)  # type: ignore[union-attr]  # a type of Python's
        kinds = {"bit_length": int, "bit_count": int, "is_integer": bool, "conjugate": value.kind}
        if name not in kinds:
            self.recorder.refuse(f".{name} of a traced {value.kind}", help="compute with the number itself")
        return BoundMethod(value, name, lambda *args: self.number(found, (value, *args), kinds[name]))


def _is_applied(function: Any) -> bool:
    """Whether a function that a builtin calls is the program's, or an operator, which may ask the program's classes."""
    if isinstance(function, types.BuiltinFunctionType):
        return function in SIGNS
    return isinstance(function, (FunctionType, MethodType))


def is_traced_itself(value: Any) -> bool:
    """Whether a value itself, and not just what it holds, is known only when the graph runs."""
    return isinstance(value, (Traced, Items, Collected, GrownList))


def is_known(value: Any) -> bool:
    """Whether a value is traced, holds something traced, or is something to loop over."""
    return is_traced(value) or isinstance(value, Items)


def _hashable(value: Any) -> bool:
    """Whether a function may be looked up: an object whose class defines its hash, or has none, is the program's."""
    return isinstance(type(value).__hash__, types.WrapperDescriptorType)


def kind_of(value: Any) -> Any:
    """The type of a number: Python's, or a dtype."""
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, Array):
        return value.spec.dtype
    return value.dtype if isinstance(value, np.generic) else type(value)


@python(abs)
def _abs(calls: PythonCalls, x: Any) -> Any:
    if isinstance(x, Scalar) and x.kind is complex:
        return calls.number(abs, (x,), float)
    return operator.abs(x)


def _extreme(function: Any, combine: Any) -> Callable[..., Any]:
    def handler(calls: PythonCalls, *args: Any, key: Any = None, **default: Any) -> Any:
        recorder = calls.recorder
        if key is not None:
            return extreme(recorder, function, args[0] if len(args) == 1 else args, key, default)
        if default and len(args) == 1 and isinstance(args[0], (GrownList, Collected, Opaque)):
            items = recorder.opaque(list, (args[0],), {}) if isinstance(args[0], Collected) else args[0]
            return recorder.opaque(function, (items,), default)
        if len(args) == 1 and isinstance(args[0], GrownList):
            return calls.grown(function, args[0])
        if len(args) == 1 and isinstance(args[0], Collected):
            found = calls.number(function, (args[0].array(),), args[0].array().spec.dtype)
            return found if args[0].kinds[0] is None else calls.call(args[0].kinds[0], (found,), {})
        if len(args) == 1 and isinstance(args[0], Array):
            array = args[0]
            if "default" in default and recorder.python.call(len, (array,), {}) == 0:
                return default["default"]
            if len(array.spec.shape) != 1:
                return handler(calls, *recorder.items(array), **default)
            return calls.number(function, (array,), array.spec.dtype)
        values = tuple(args[0]) if len(args) == 1 else args
        if len(values) == 1:
            return values[0]
        if not values:
            return function(values, **default)
        kinds = [kind_of(value) for value in values]
        if any(kind not in REPRESENTATIVES and not isinstance(kind, np.dtype) for kind in kinds):
            return _extreme_of_others(recorder, function, values, kinds)
        if all(kind is int for kind in kinds):
            dims = [recorder.dim(value) for value in values]
            if sum(dim.weight for dim in dims if isinstance(dim, Dim)) > REASONED // 2:
                return Scalar(
                    recorder, int, recorder.create(function, values, {}, int), hint=recorder._hint(function, values)
                )
            return recorder.integer(combine(*dims))
        if any(isinstance(value, Array) and value.spec.shape not in ((), (1,)) for value in values):
            raise ValueError(_AMBIGUOUS)
        if any(isinstance(value, Array) for value in values):
            values = tuple(recorder.numpy.item(v) if isinstance(v, Array) else v for v in values)
        return calls.one_of(function, values, kinds)

    return handler


def _extreme_of_others(recorder: Recorder, function: Any, values: tuple[Any, ...], kinds: list[Any]) -> Any:
    """`min` or `max` of what are no numbers: tuples with traced parts, for instance."""
    if any(kind in REPRESENTATIVES for kind in kinds):
        shown = [REPRESENTATIVES.get(kind, value) for kind, value in zip(kinds, values, strict=True)]
        return function(shown)  # raises what Python does
    return extreme(recorder, function, values, lambda value: value, {})


PYTHON[min], PYTHON[max] = _extreme(min, dim_min), _extreme(max, dim_max)


def added(values: Any, start: Any) -> Any:
    """The sum of an array's elements as Python's numbers, one after the other."""
    return sum(values.tolist(), start)


@python(sum)
def _sum(calls: PythonCalls, iterable: Any, /, start: Any = 0) -> Any:
    recorder = calls.recorder
    if isinstance(iterable, GrownList):
        return calls.grown(sum, iterable, start)
    if isinstance(iterable, Collected):
        if iterable.kinds == [None] or len(iterable.kinds) > 1:
            return _sum(calls, iterable.array(), start)
        kind = type(iterable.kinds[0](0) + (start if not is_traced(start) else 0))
        return calls.number(added, (iterable.array(), start), kind)
    if isinstance(iterable, Array) and iterable.spec.shape:
        from weft.capture._totals import total

        return total(calls, sum, iterable, start)
    result = start
    for item in iterable:
        result = recorder.hooks.operate("+", result, item)
    return result


@python(len)
def _len(calls: PythonCalls, x: Any) -> Any:
    if isinstance(x, Items):
        return x.length
    if isinstance(x, Array):
        if not x.spec.shape:
            raise TypeError("len() of unsized object")
        return x.shape[0]
    return len(x)


@python(round)
def _round(calls: PythonCalls, x: Any, ndigits: Any = None) -> Any:
    if isinstance(x, Array):
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if not isinstance(x, Scalar):
        return round(x)  # raises
    if ndigits is None:
        return x if x.kind is int else calls.number(round, (x,), int)
    return calls.number(round, (x, ndigits), x.kind)


def _conversion(kind: Any) -> Callable[..., Any]:
    def handler(calls: PythonCalls, x: Any = 0, *rest: Any) -> Any:
        if isinstance(x, Scalar) and x.kind is kind and not rest:
            return x
        if isinstance(x, Array) and kind is bool and not calls.recorder.branches and len(x.spec.shape):
            return calls.recorder.decide(x)
        if isinstance(x, Items) and kind is bool:
            return x.filled
        if isinstance(x, Scalar) and x.kind in (int, bool) and kind is bool and x.hint is not None:
            return operator.ne(x, 0) if x.kind is int else x
        return calls.number(kind, (calls.one_number(kind, taken_out(x)), *rest), kind)

    return handler


for _kind in (int, float, bool, complex):
    PYTHON[_kind] = _conversion(_kind)


@python(range)
def _range(calls: PythonCalls, *bounds: Any) -> RangeItems:
    return RangeItems.of(calls.recorder, *bounds)


def _parts(calls: PythonCalls, iterables: Any) -> list[Items] | None:
    found = [items_of(calls.recorder, iterable) for iterable in iterables]
    return None if any(part is None for part in found) else found  # type: ignore[return-value]  # none of them is None


@python(zip)
def _zip(calls: PythonCalls, *iterables: Any, strict: bool = False) -> Any:
    parts = _parts(calls, iterables)
    return (
        zip(*iterables, strict=strict)
        if parts is None
        else once(calls.recorder, ZipItems(calls.recorder, parts, strict))
    )


@python(enumerate)
def _enumerate(calls: PythonCalls, iterable: Any, start: Any = 0) -> Any:
    parts = _parts(calls, [iterable])
    return (
        enumerate(iterable, start)
        if parts is None
        else once(calls.recorder, EnumerateItems(calls.recorder, parts[0], start))
    )


@python(reversed)
def _reversed(calls: PythonCalls, sequence: Any) -> Any:
    parts = _parts(calls, [sequence])
    return reversed(sequence) if parts is None else once(calls.recorder, ReversedItems(calls.recorder, parts[0]))


def _truth_of_all(function: Any, combine: str) -> Callable[..., Any]:
    def handler(calls: PythonCalls, iterable: Any) -> Any:
        if isinstance(iterable, Collected):
            iterable = iterable.array()
        if isinstance(iterable, (Array, GrownList)):
            return calls.number(function, (iterable,), bool)
        result: Any = function is all
        recorder, effects = calls.recorder, None
        for item in iterable:
            now = recorder.python_effects, len(recorder.places.log)
            if is_traced(result) and effects is not None and now != effects:
                recorder.refuse(
                    f"{function.__name__}() of what changes variables or objects: only running tells how far it goes",
                    help="write the loop",
                )
            effects = now
            value = calls.call(bool, (item,), {})
            result = getattr(calls, combine)(result, value) if is_traced(result) or is_traced(value) else value
            if not is_traced(result) and bool(result) is (function is any):
                return result
        return result

    return handler


PYTHON[any], PYTHON[all] = _truth_of_all(any, "either"), _truth_of_all(all, "both")


@python(iter)
def _iter(calls: PythonCalls, x: Any, *sentinel: Any) -> Any:
    if is_opaque(x):
        return calls.recorder.opaque(iter, (x, *sentinel), {})
    return iter(x, *sentinel) if sentinel else iter(list(x))


@python(dir)
def _dir(calls: PythonCalls, x: Any) -> list[str]:
    return dir(python_class(x))


@python(callable)
def _callable(calls: PythonCalls, x: Any) -> bool:
    return callable(x) if not isinstance(x, Traced) else False


def _is_example(args: tuple[Any, ...]) -> bool:
    """Whether a value of which an example is known is asked what its class tells."""
    return bool(args) and isinstance(args[0], Opaque) and args[0].example is not None and not is_opaque(args[1:])


def attribute(value: Traced, name: str) -> Any:
    """`value.name` as the program means it: what a traced value has for the capture's own use does not count."""
    if isinstance(value, Opaque):
        own = name.startswith("__")  # asked for by the program, not by copy or pickle
        return value.recorder.opaque_member(value, name) if own else value.__getattr__(name)
    known = python_class(value)
    if name in ("__class__", "dtype") and is_open(value):
        return value.recorder.opaque(getattr, (value, name), {})
    if name == "__class__":
        return asked(value, known)
    if name == "dtype":
        asked(value, (known, getattr(value, "dtype", None)))
    if name == "__hash__":
        return getattr(known, name)
    if name in _OF_NUMPY and _have(known, name):
        from weft.capture._numpy_calls import BoundMethod

        return BoundMethod(value, name, functools.partial(_OF_NUMPY[name], value))
    if hasattr(type(value), name) and not _have(known, name):
        raise AttributeError(f"'{known.__name__}' object has no attribute '{name}'", name=name, obj=value)
    try:
        return getattr(value, name)
    except AttributeError:
        if not _have(known, name):
            raise
    kind = "array" if isinstance(value, Array) else "number"
    return value.recorder.refuse(f".{name} of a traced {kind}", help=f"compute with the {kind} itself")


def _as_array(value: Any, *args: Any, **how: Any) -> Any:
    """`x.__array__()`."""
    return value.recorder.numpy.function(np.asarray, (value, *args), how)


def _like_array(value: Any, array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
    """`x.__array_wrap__(array)`: the array itself, where both are of one class."""
    if not (isinstance(value, Array) and isinstance(array, (Array, np.ndarray))):
        value.recorder.refuse(".__array_wrap__() of a number, or with one", help="give it arrays")
    return array[()] if return_scalar and not array.ndim else array


_OF_NUMPY: dict[str, Any] = {"__array__": _as_array, "__array_wrap__": _like_array}


@python(getattr)
def _getattr(calls: PythonCalls, x: Any, name: str, *default: Any) -> Any:
    if not isinstance(x, Traced):
        return getattr(x, name, *default)
    if default and isinstance(x, (Array, Scalar)) and not asked(x, _have(python_class(x), name)):
        return default[0]
    return attribute(x, name)


@python(hasattr)
def _hasattr(calls: PythonCalls, x: Any, name: str) -> Any:
    if is_open(x):
        return calls.recorder.opaque(hasattr, (x, name), {})
    return asked(x, _have(python_class(x), name)) if isinstance(x, (Array, Scalar)) else hasattr(x, name)


def _have(cls: type, name: str) -> bool:
    """Whether objects of a class have an attribute: a class has some of its own beside, such as `__name__`."""
    return any(name in vars(base) for base in cls.__mro__)


@python(filter)
def _filter(calls: PythonCalls, function: Any, iterable: Any) -> Any:
    return Generated(calls.recorder, filtered, (bool if function is None else function, iterable), {}, filter)


def filtered(function: Any, iterable: Any) -> Iterator[Any]:
    """What `filter` does; captured, as the program's own generators are."""
    for item in iterable:
        if function(item):
            yield item


_ONE_OF_EACH = (False, 0, 0.0, 0j, *(np.zeros((), kind)[()] for kind in "?ilfdFD"), np.zeros(()))


def _tells_numbers_apart(classes: Any) -> bool:
    """Whether some numbers are of one of the classes and others are not."""
    if isinstance(classes, type) and issubclass(classes, (*REPRESENTATIVES, np.generic)):
        return True
    if isinstance(classes, tuple):
        return any(map(_tells_numbers_apart, classes))
    return len({isinstance(one, classes) for one in _ONE_OF_EACH}) > 1


@python(isinstance)
def _isinstance(calls: PythonCalls, x: Any, classes: Any) -> Any:
    if _tells_numbers_apart(classes) and is_open(x):
        return calls.recorder.opaque(isinstance, (x, classes), {})
    known = isinstance(x, (Traced, Collected, GrownList))
    return asked(x, issubclass(python_class(x), classes)) if known else isinstance(x, classes)


def asked(value: Any, answer: Any) -> Any:
    """The answer to a question about the type of a traced value; noted, as turns of a loop may differ in it."""
    recorder = getattr(value, "recorder", None)
    if recorder is not None and recorder.region is not recorder.root:
        recorder.asked.append((recorder.position(), answer))
    return answer


def asked_of(recorder: Any, answer: Any, args: tuple[Any, ...]) -> Any:
    """What a call gave that may be such an answer: `np.result_type(x)`, `np.isscalar(x)`."""
    if isinstance(answer, (bool, np.dtype)) and recorder.region is not recorder.root and is_traced(args):
        recorder.asked.append((recorder.position(), answer))
    return answer


def python_class(value: Any) -> type:
    """The class of what a traced value stands for."""
    if isinstance(value, Scalar):
        return value.kind if isinstance(value.kind, type) else value.kind.type
    if isinstance(value, Array):
        from weft.autograd import Tensor

        return Tensor if getattr(type(value), "_is_tensor", False) else np.ndarray
    return list if isinstance(value, (Collected, GrownList)) else object


@python(type)
def _type(calls: PythonCalls, x: Any, *rest: Any) -> Any:
    if not rest and is_open(x):
        return calls.recorder.opaque(type, (x,), {})
    known = isinstance(x, (Traced, Collected, GrownList))
    return type(x, *rest) if rest else asked(x, python_class(x)) if known else type(x)


@python(pow)
def _pow(calls: PythonCalls, base: Any, exp: Any, mod: Any = None) -> Any:
    return base**exp if mod is None else calls.number(pow, (base, exp, mod), int)


@python(divmod)
def _divmod(calls: PythonCalls, a: Any, b: Any) -> Any:
    return a // b, a % b


@python(map)
def _map(calls: PythonCalls, function: Any, *iterables: Any) -> Any:
    return Generated(calls.recorder, mapped if len(iterables) == 1 else mapped_rows, (function, *iterables), {}, map)


@python(sorted)
def _sorted(calls: PythonCalls, iterable: Any, *, key: Any = None, reverse: Any = False) -> Any:
    if isinstance(iterable, GrownList) and key is None:
        return calls.recorder.opaque(sorted, (iterable,), {"reverse": reverse} if reverse is not False else {})
    recorder = calls.recorder
    if key is None and isinstance(iterable, Collected) and not recorder.can_decide(iterable.length):
        return recorder.opaque(sorted, (iterable,), {"reverse": reverse} if reverse is not False else {})
    if key is not None or python_class(iterable) is not np.ndarray or len(iterable.spec.shape) != 1:
        return ordered(recorder, iterable, key, reverse)
    return ordered_array(recorder, iterable, reverse)


@python(functools.reduce)
def _reduce(calls: PythonCalls, function: Any, iterable: Any, *initial: Any) -> Any:
    items = list(iterable)
    total = initial[0] if initial else items.pop(0)
    for item in items:
        total = calls.recorder.call(function, (total, item), {})
    return total


@python(print)
def _print(calls: PythonCalls, *args: Any, **kwargs: Any) -> None:
    from weft.capture._text import captured_print

    captured_print(calls.recorder, args, kwargs)
