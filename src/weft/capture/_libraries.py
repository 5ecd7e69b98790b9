"""Calls of functions of other libraries, which stay calls in the graph where they cannot be captured.

    lu = scipy.linalg.lu_factor(a)      # lu_factor = scipy.linalg.lu_factor(a)
    x = scipy.linalg.lu_solve(lu, b)    # lu_solve = scipy.linalg.lu_solve(lu_factor, b)

A function with a source is captured like one of the program's own, so that its derivative is known. Where that fails,
the capture begins again and leaves the call whole: `StaysWhole` says so, and `capture` remembers it. Compiled code has
no source and stays whole at once. When the graph runs, a whole call is given plain values, and functions of the
program (see `weft.capture._callbacks`). Of what it gives nothing is known.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import io
import itertools
import operator
import random
import sys
import types
import warnings
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import _where, pytree
from weft.capture._budget import OverBudget
from weft.capture._callbacks import Callbacks
from weft.capture._numpy_special import traced_in
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._state_places import is_object, is_own
from weft.capture._values import Traced
from weft.capture._whole import StaysWhole, Whole
from weft.errors import TraceError
from weft.graph._shapes import type_of
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_MOST = 1_000
"""Operations that a call of a library may record before it stays whole."""
_OURS = frozenset({"weft", "numpy"})
_OF_ITSELF = frozenset({isinstance, issubclass, type, callable, id, getattr, hasattr, setattr, delattr, vars, dir})
_PYTHONS = (types.FunctionType, types.MethodType)
_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
_ON_HEAP = 1 << 9  # a flag of classes: Py_TPFLAGS_HEAPTYPE
_BUILTINS = (
    *(types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType),
    *(types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, types.GenericAlias),
    *(staticmethod, classmethod, property),
)


class Libraries:
    """The calls of other libraries in one capture."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.whole = Whole()
        self.callbacks = Callbacks(recorder)
        self.inside: Any = None  # the function of a library that is being captured
        self.results: dict[int, tuple[Any, Any]] = {}  # by id, objects that such functions made, and the function
        self._packages: dict[Any, bool] = {}

    # Which functions

    def is_other(self, function: Any) -> bool:
        """Whether a function or class belongs to a library, and not to the program."""
        if type(function) is types.FunctionType:
            file = function.__code__.co_filename
            if file.startswith("<"):  # made of text by the module that it reads its globals from
                file = function.__globals__.get("__file__") or file
        elif isinstance(function, type):
            file = function.__module__
        else:
            file = getattr(function, "__module__", None) or type(function).__module__
            if type(file) is not str:
                return False
        known = self._packages.get(file)
        if known is None:
            known = self._packages[file] = self._of_library(file)
        return known

    def _of_library(self, file: str) -> bool:
        """The same of a source file, or of a module by its name."""
        if not file.endswith(".py"):
            module = sys.modules.get(file.partition(".")[0])
            file = getattr(module, "__file__", None) or ""
        package = _where.package_of(file)
        return package not in (None, *_OURS, self.recorder.package)

    # Calls

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """The result of a call, in a tuple; None of one that is no call of a library, or one inside of another."""
        of_object = type(function) is types.MethodType and self.is_open(function.__self__)
        if self.inside is not None or (type(function) is types.MethodType and not of_object):
            return None
        if not self.is_other(function) and not (isinstance(function, type) and function in self.whole):
            return None
        function, args = _of_class(function, args)
        code = function.__func__ if of_object else function
        recorder = self.recorder
        if isinstance(function, type) and issubclass(function, BaseException):
            return None
        if code in self.whole or recorder.untyped or is_opaque(args) or is_opaque(kwargs):
            return (self.of_object(function, args, kwargs) if of_object else self.record(function, args, kwargs),)
        self.inside, allowed = code, recorder.allowance.left
        recorder.allowance.left = min(allowed, _MOST)
        before = recorder.allowance.left
        try:
            result = recorder.run_own(function, args, kwargs)
        except (Exception, OverBudget) as error:
            if recorder.allowance.left < 0 and allowed <= _MOST:
                raise  # the program itself is too large
            if recorder.catches(type(error)) and isinstance(error, Exception) and not isinstance(error, TraceError):
                raise  # the program may catch it
            raise StaysWhole(self.results.get(id(code), (None, code))[1]) from None
        finally:
            self.inside = None
            recorder.allowance.left += allowed - before
        if not isinstance(result, Traced):
            self.results[id(result)] = (result, code)
        return (result,)

    def is_open(self, value: Any) -> bool:
        """Whether a value is an object of a library that the graph has as the caller has it."""
        return self.recorder.state.is_outside(value) and self.is_other(type(value))

    def of_object(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a method of such an object, as a node of the graph."""
        owner, name, callbacks = method.__self__, method.__name__, self.callbacks
        self.recorder.touched.meet_computed(owner, name)
        return self.recorder.call_method(self.opened(owner), name, callbacks.of(args), callbacks.of(kwargs))

    def opened(self, value: Any) -> Any:
        """Such an object as a value of which nothing is known; any other as it is."""
        if self.inside is not None or not self.is_open(value):
            return value
        return Opaque(self.recorder, self.recorder.state.node(value))

    def asked(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """What Python gives for such an object, in a tuple: `frame[key]`, `len(frame)`; None of any other call."""
        if self.inside is not None or kwargs or not args or not self.is_open(args[0]):
            return None
        pythons = isinstance(function, type) or isinstance(getattr(function, "__self__", None), types.ModuleType)
        if not pythons or function.__module__ not in ("builtins", "_operator") or function in _OF_ITSELF:
            return None
        return (self.record(function, args, kwargs),)

    def compiled(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """The result of a call of compiled code that is given traced values, in a tuple; None of any other.

        The program's own compiled code counts as well, but none of Python's or NumPy's.
        """
        if not (traced_in(args, kwargs) and _is_compiled(function)):
            return None
        if self.inside is not None:
            raise StaysWhole(self.inside)
        function, args = _of_class(function, args)
        return (self.record(function, args, kwargs),)

    def computes(self, holder: type, found: Any) -> bool:
        """Whether an attribute of a class of the program's is a descriptor of compiled code, which may run anything."""
        kind = type(found)
        return kind not in _BUILTINS and not callable(found) and _is_compiled(kind) and not self.is_other(holder)

    def reads_later(self, owner: Any, name: str) -> bool:
        """Whether an attribute of such an object is read when the graph runs.

        Something may have changed it by then, or each read gives another object of a library, as `frame.column` does.
        """
        if not self.is_open(owner):
            return False
        if self.recorder.touched.reaches(owner, name):
            if self.inside is not None:
                raise StaysWhole(self.inside)
            return True
        value = None if self.inside is not None else getattr(owner, name, None)
        return is_object(value) and self.is_other(type(value)) and getattr(owner, name) is not value

    def computed(self, owner: Any, name: str) -> Any:
        """What such a descriptor gives when the graph runs."""
        self.recorder.touched.meet_computed(owner, name)
        return self.record(getattr, (owner, name), {})

    def record(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call as a node of the graph; one that makes an object of the program's is the call of its whole class."""
        recorder = self.recorder
        callbacks = self.callbacks
        made = args[0] if args and getattr(function, "__name__", None) == "__init__" else None
        if recorder._home(made) is not None and type(made) not in self.whole:
            raise StaysWhole(type(made))
        for value in args:
            callbacks.check(value)
        if isinstance(function, type) and recorder.state.known is not None and not recorder.untyped:
            args = tuple(map(recorder.state.given_away, args))  # its objects may keep them
            kwargs = {name: recorder.state.given_away(value) for name, value in kwargs.items()}
        callbacks.begin()
        if self.is_other(function) and all(map(_is_plain, (*args, *kwargs.values()))):
            type_ = _type_now(function, args, kwargs)
            if type_ is not None:
                node = recorder.create(function, args, kwargs, type_)
                node.meta["must_run"] = True
                made = recorder.wrap(node, type_)
                recorder.hand_out(made)  # its library may keep it
                return made
        result = recorder.wrapped(function, callbacks.of(args), callbacks.of(kwargs))
        callbacks.end(result)
        return result

    def settle(self, result: Any) -> None:
        """A result that holds itself is no tree: its class, where it is the program's, makes it when the graph runs."""
        endless = pytree.holding_itself(result)
        if endless is not None:
            if self.recorder._home(endless) is not None:
                self.stays_whole(type(endless))
            self.recorder.refuse(
                f"a result that holds itself: a {type(endless).__name__}",
                help="return its parts, or make it in a function marked with weft.wrap",
            )

    def stays_whole(self, cls: type) -> None:
        """Capture again, with calls of a class of the program's as they are, where that was not so."""
        if is_own(cls) and cls not in self.whole and not self.recorder.untyped:
            raise StaysWhole(cls)

    def derived(self, function: Any, args: tuple[Any, ...]) -> None:
        """An object of a class derived from one of NumPy's, made of traced values, is made when the graph runs."""
        cls = type(args[0]) if args else object
        if is_init(function) and is_own(cls):
            self.stays_whole(cls)
            self.recorder.refuse(
                f"{cls.__name__}, a class derived from one of NumPy's, of traced values",
                help="make the object in a function marked with weft.wrap",
            )

    def check_made(self, value: Any) -> None:
        """An object that a function of a library has made is made by a call of that when the graph runs."""
        found = self.results.get(id(value))
        if found is not None:
            raise StaysWhole(found[1])

    def constant(self, value: Any) -> Any:
        """The node of a module, a path or a dtype's limits; an object that only its library can make is left to it."""
        self.check_made(value)
        if isinstance(value, (np.finfo, np.iinfo)):
            return self.recorder.create(type(value), (value.dtype,), {}, None)
        if isinstance(value, types.UnionType):
            return self.recorder.create(functools.reduce, (operator.or_, [*value.__args__]), {}, None)
        if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
            return self.recorder.create(import_module, (value.__name__,), {}, None)
        if isinstance(value, PurePath) and _where.package_name(type(value)) == "pathlib":
            return self.recorder.create(type(value), (str(value),), {}, None)
        return None


def _is_compiled(function: Any) -> bool:
    """Whether a function or class was not written in Python, and is not part of Python or NumPy."""
    if isinstance(function, type):
        own: Any = None if _is_of_source(function) else function.__module__
    elif isinstance(function, _PYTHONS):
        own = None
    else:
        owner, kind = getattr(function, "__self__", None), type(function)
        own = getattr(function, "__module__", None)
        if own is None and owner is not None and not isinstance(owner, types.ModuleType):
            cls = owner if isinstance(owner, type) else type(owner)
            found: Any = (vars(base).get(function.__name__) for base in cls.__mro__)  # the program's own may hide it
            own = next((part.__objclass__ for part in found if hasattr(part, "__objclass__")), cls).__module__
        if own is None:
            objclass = getattr(function, "__objclass__", None)
            own = kind.__module__ if objclass is None else objclass.__module__
            if own == "builtins" and kind not in _BUILTINS and getattr(builtins, kind.__name__, None) is not kind:
                return True  # Fortran, by f2py
    root = own.partition(".")[0] if type(own) is str else "builtins"
    return root not in _OURS and root not in sys.stdlib_module_names and root != "__main__"


def is_init(function: Any) -> bool:
    """Whether a function is the `__init__` of a class, written in Python."""
    return isinstance(function, types.FunctionType) and function.__name__ == "__init__"


def _is_plain(value: Any) -> bool:
    """Whether an argument is a number, a text or a tuple of them: the same call gives the same each time."""
    return type(value) in _PLAIN or (type(value) is tuple and all(map(_is_plain, value)))


def _type_now(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The type of what a call of plain values gives; None where it draws random numbers, or is no array or number."""
    drawn = np.random.get_state(), random.getstate()
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*args, **kwargs)
        type_ = type_of(result)
        one: Any = np.random.get_state()
        other: Any = drawn[0]
        same = random.getstate() == drawn[1] and one[2] == other[2] and np.array_equal(one[1], other[1])
        return type_ if same and _is_known(type_) and _are_apart(result) else None
    except Exception:  # it happens again when the graph runs
        return None
    finally:
        np.random.set_state(drawn[0])
        random.setstate(drawn[1])


def _are_apart(result: Any) -> bool:
    """Whether a result holds arrays and numbers alone, and its arrays have dimensions, and each memory of its own."""
    leaves = pytree.leaves_of(result)
    if not all(isinstance(leaf, np.generic) or type(leaf) in (np.ndarray, *_PLAIN) for leaf in leaves):
        return False  # what is like an array, a column of a table, is none
    arrays = [leaf for leaf in leaves if type(leaf) is np.ndarray]
    pairs = itertools.combinations(arrays, 2)
    return all(array.ndim for array in arrays) and not any(np.may_share_memory(a, b) for a, b in pairs)


def _is_known(type_: Any) -> bool:
    if isinstance(type_, (tuple, list)):
        return type(type_) in (tuple, list) and all(map(_is_known, type_))
    return isinstance(type_, Spec) or type_ in (int, float, complex, bool)


def _is_of_source(cls: type) -> bool:
    """Whether a class was made by a `class` statement, or by Python code."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or ".py"
    return bool(cls.__flags__ & _ON_HEAP) and file.endswith((".py", ".pyc"))


def _of_class(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """A method of an object, written in C, as the method of its class."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, (types.ModuleType, type)) or isinstance(function, types.FunctionType):
        return function, args
    method = getattr(type(owner), getattr(function, "__name__", ""), None)
    if isinstance(method, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return method, (owner, *args)
    return function, args
