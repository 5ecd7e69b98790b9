"""Operators on objects of the program's own classes.

`a + b` is `type(a).__add__(a, b)`, or `type(b).__radd__(b, a)`: methods of the program, which are captured as its
functions are, branches and loops included. Which one it is follows Python's rules, and NumPy's beside an array:

    2 * vector, x[0] * vector     vector.__rmul__
    np.sin(dual)                  dual.__array_ufunc__, where the class has it
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from weft.capture._opaque import Opaque
from weft.capture._plain import COMPARISONS, OPERATORS, SIGNS, UPDATES
from weft.capture._special import unrouted
from weft.capture._state_places import is_own, is_own_module
from weft.capture._touched import changes
from weft.capture._values import Array, Scalar, Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_METHODS = {sign: (f"__{name}__", f"__r{name}__") for sign, name in _NAMES.items()}
_METHODS |= {
    "<": ("__lt__", "__gt__"),
    ">": ("__gt__", "__lt__"),
    "<=": ("__le__", "__ge__"),
    ">=": ("__ge__", "__le__"),
}
_METHODS |= {"==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__")}
_IN_PLACE = {f"{sign}=": f"__i{name}__" for sign, name in _NAMES.items()}
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_UFUNCS: dict[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
    "**": np.power, "@": np.matmul, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<<": np.left_shift, ">>": np.right_shift, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
PLAIN = frozenset(
    {Array, Scalar, Opaque, int, float, bool, complex, str, bytes, list, tuple, dict, set, frozenset, range, slice,
     type(None), type, np.ndarray, np.float64, np.float32, np.int64, np.bool_, types.FunctionType, types.MethodType}
)  # fmt: skip
"""Classes that are met most, of which none is the program's."""
_CALLED = {name for names in _METHODS.values() for name in names} | {*_UNARY.values()}
_CALLED |= {"__abs__", "__bool__", "__complex__", "__float__", "__index__", "__int__", "__divmod__", "__rdivmod__"}
_CALLED |= {name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
"""Methods that NumPy calls of the elements of an array of objects."""
_ARRAYS = (np.asarray, np.array, np.asanyarray)
_WRITING = ("functools", "numpy.lib.mixins")  # what these write for a class calls methods that it has
_MISSING: Any = object()


def is_own_class(cls: type) -> bool:
    """Whether a class is the program's: its special methods may be code to capture."""
    return cls not in PLAIN and is_own(cls) and not issubclass(cls, Traced)


def own_method(value: Any, name: str) -> Any:
    """A special method that the program has written for objects of this class; None of any other."""
    cls = type(value)
    if not is_own_class(cls):
        return None
    found = unrouted(next((vars(part)[name] for part in cls.__mro__ if name in vars(part)), None))
    if not isinstance(found, types.FunctionType) or found.__code__.co_filename == "<string>":  # made by exec
        return None
    module = found.__globals__.get("__name__", "")
    return found if module in _WRITING or is_own_module(module) else None


def refuse_changing(recorder: Recorder, value: Any) -> None:
    """Refuse to give NumPy objects whose operators change something: it calls them, which nothing captures."""
    if type(value) is np.ndarray:
        value = value.ravel().tolist() if value.dtype.hasobject else ()
    if type(value) in (list, tuple):
        classes = {type(part) for part in value}
        for part in () if classes.isdisjoint((list, tuple, np.ndarray)) else value:
            refuse_changing(recorder, part)
        for cls in filter(is_own_class, classes):
            _refuse_class(recorder, cls)


def _refuse_class(recorder: Recorder, cls: type) -> None:
    for name in sorted(_CALLED.intersection(dir(cls))):
        if changes(recorder, cls, name):
            recorder.refuse(
                f"NumPy is given objects of {cls.__name__}, whose {name} changes something when NumPy calls it",
                help="write a loop over them, or mark the function that gives them to NumPy with weft.wrap",
            )


def run_method(recorder: Recorder, method: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of such a method; one that the standard library has written for the class is captured as well."""
    if is_own(method):
        return recorder.run(method, args, kwargs)
    return recorder._deeper(recorder.bind(method), args, kwargs)


def operate(recorder: Recorder, sign: str, left: Any, right: Any) -> Any:
    """`left + right` and its like, where one of the two is of the program's own class."""
    first, second = _methods(sign, left, right)
    if first is None and second is None:
        function = _FUNCTIONS[sign]
        return between(function, left, right) if isinstance(right, Traced) else function(left, right)
    if first is None and isinstance(left, (Traced, np.ndarray, np.generic)):
        return _beside_numpy(recorder, sign, left, right, cast(_Method, second))
    if type(left) is str and sign == "%":
        return left % right
    tries = [(first, left, right), (second, right, left)]
    if type(left) is type(right):
        tries = tries if sign in COMPARISONS else tries[:1]
    elif issubclass(type(right), type(left)) and second != _Method.of(left, _METHODS[sign][1]):
        tries.reverse()
    for method, owner, other in tries:
        found = NotImplemented if method is None else method.run(recorder, owner, other)
        if found is not NotImplemented:
            return found
    return _unsupported(recorder, sign, left, right)


def between(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """An operator of Python's. NumPy's numbers and arrays would make a call of a ufunc of it beside a traced value.

    The ufunc may give another last digit: `np.multiply(z, w)` is not `z * w` for all complex numbers.
    """
    numeric = isinstance(left, (np.number, complex)) or (type(left) is np.ndarray and left.dtype.kind in "biufc")
    if numeric and isinstance(right, Traced):
        found = right.recorder.operate(function, left, right)
        if found is not NotImplemented:
            return found
    return function(left, right)


def defines(sign: str, left: Any, right: Any) -> bool:
    """Whether the class of one of the two has a method for an operator."""
    return any(method is not None for method in _methods(sign, left, right))


def _methods(sign: str, left: Any, right: Any) -> tuple[_Method | None, _Method | None]:
    forward, reflected = _METHODS[sign]
    return _Method.of(left, forward), _Method.of(right, reflected)


class _Method(NamedTuple):
    """A special method of the program's; where it has no `!=`, that is the opposite of its `==`."""

    function: Any
    opposite: bool = False

    @staticmethod
    def of(value: Any, name: str) -> _Method | None:
        found, cls = own_method(value, name), cast(Any, type(value))
        if found is None and name == "__ne__" and cls.__ne__ is object.__ne__:
            found = own_method(value, "__eq__")
            return None if found is None else _Method(found, True)
        return None if found is None else _Method(found)

    def run(self, recorder: Recorder, value: Any, other: Any) -> Any:
        found = run_method(recorder, self.function, value, other)
        return found if not self.opposite or found is NotImplemented else recorder.hooks.not_(found)


def _beside_numpy(recorder: Recorder, sign: str, left: Any, right: Any, method: _Method) -> Any:
    """An array or a number of NumPy's on the left asks the object whether it is to be one too; Python's do not ask."""
    if isinstance(left, Scalar) and left.python:
        found = method.run(recorder, right, left)
        return _unsupported(recorder, sign, left, right) if found is NotImplemented else found
    is_array = isinstance(left, (Array, np.ndarray))
    ufunc = getattr(type(right), "__array_ufunc__", _MISSING)
    if isinstance(ufunc, types.FunctionType):
        return run_method(recorder, ufunc, right, _UFUNCS[sign], "__call__", left, right)
    of_numpy = 0.0 if is_array else -1000000.0
    steps_back = ufunc is None or (ufunc is _MISSING and getattr(right, "__array_priority__", -1000000.0) > of_numpy)
    kinds = ("__array__", "__getitem__", "__array_interface__")
    if not steps_back and (is_array or any(hasattr(type(right), name) for name in kinds)):
        recorder.refuse(
            f"an array and a {type(right).__name__}: NumPy makes an array of objects",
            help=f"let the class say what it is: __array_ufunc__ = None leaves {sign} to its own methods",
        )
    if not steps_back:
        left = recorder.run(left.item, (), {})
    found = method.run(recorder, right, left)
    if found is NotImplemented:
        return _unsupported(recorder, sign, left, right)
    return found if steps_back or sign not in COMPARISONS else recorder.run(np.bool_, (found,), {})


def _unsupported(recorder: Recorder, sign: str, left: Any, right: Any) -> Any:
    """What Python does where neither side has an answer."""
    from weft.capture._python_calls import python_class

    if sign in ("==", "!="):
        return (left is right) is (sign == "==")
    shown = sign if sign != "**" else "** or pow()"
    names = [python_class(v).__name__ if isinstance(v, Traced) else type(v).__name__ for v in (left, right)]
    if sign in COMPARISONS:
        raise TypeError(f"{sign!r} not supported between instances of {names[0]!r} and {names[1]!r}")
    raise TypeError(f"unsupported operand type(s) for {shown}: {names[0]!r} and {names[1]!r}")


def updated_own(recorder: Recorder, sign: str, value: Any, by: Any) -> tuple[Any] | None:
    """What `value += by` stores, in a tuple; None where neither is of the program's own class."""
    if not (is_own_class(type(value)) or is_own_class(type(by))):
        return None
    method = own_method(value, _IN_PLACE[sign])
    if method is not None:
        found = run_method(recorder, method, value, by)
        if found is not NotImplemented:
            return (found,)
    plain = isinstance(value, (Array, np.ndarray, list)) or (method is None and hasattr(type(value), _IN_PLACE[sign]))
    return None if plain else (operate(recorder, sign[:-1], value, by),)


def operate_one(recorder: Recorder, sign: str, value: Any) -> tuple[Any] | None:
    """`-value` and its like, in a tuple; None where the class has no method of the program's for it."""
    method = own_method(value, _UNARY[sign])
    return None if method is None else (run_method(recorder, method, value),)


def called_operator(recorder: Recorder, function: Any, args: tuple[Any, ...]) -> tuple[Any] | None:
    """What a function of `operator` gives of objects of the program's own, in a tuple; None of any other call."""
    sign = SIGNS.get(function)
    if sign is None or len(args) != 2:
        return None
    if not (is_own_class(type(args[0])) or is_own_class(type(args[1]))):
        beside = isinstance(args[0], (np.number, complex)) and isinstance(args[1], Traced)
        return (between(function, *args),) if beside else None
    if sign in COMPARISONS:
        return (recorder.hooks.compare(sign, *args),)
    return updated_own(recorder, sign, *args) if sign in UPDATES else (operate(recorder, sign, *args),)


def overridden(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
    """What a function of NumPy's gives where an argument's class has its own meaning for it; None of any other call."""
    ufunc = function if isinstance(function, np.ufunc) else getattr(function, "__self__", None)
    is_ufunc = isinstance(ufunc, np.ufunc)
    name = "__array_ufunc__" if is_ufunc else "__array_function__"
    found = [value for value in (*args, *kwargs.values()) if own_method(value, name) is not None]
    if function in _ARRAYS and len(args) == 1 and kwargs.keys() <= {"dtype"}:
        method = own_method(args[0], "__array__")
        copy = {"copy": True} if function is np.array else {}
        if method is None or not copy.keys() <= set(inspect.signature(method).parameters):
            return None
        made = run_method(recorder, method, args[0], *kwargs.values(), **copy)
        return (recorder.run_numpy(np.asarray, (made,), kwargs),)
    if len({type(value) for value in found}) != 1:  # of several classes NumPy asks one after the other
        return None
    method = own_method(found[0], name)
    if is_ufunc:
        way = "__call__" if function is ufunc else function.__name__
        given = run_method(recorder, method, found[0], ufunc, way, *args, **kwargs)
    else:
        given = run_method(recorder, method, found[0], function, (type(found[0]),), args, kwargs)
    return None if given is NotImplemented else (given,)


_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {**OPERATORS, **COMPARISONS}
