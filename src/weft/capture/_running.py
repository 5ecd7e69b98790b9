"""How a captured program calls functions: its own are converted and captured, others have a rule or are refused."""

from __future__ import annotations

import dis
import functools
import inspect
import operator
import sys
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.polynomial._polybase import ABCPolyBase

from weft import _where, pytree
from weft._generator import get_state, initial_seed, isolated, manual_seed, seed, set_state
from weft._module import Module, exchanged, functional_call
from weft._objects import dict_of
from weft._where import package_name
from weft.autograd import Tensor
from weft.capture._changes import ordering, takes_grown, uncaptured
from weft.capture._choose import choose
from weft.capture._contexts import captured_seterr
from weft.capture._convert import convert, is_converted
from weft.capture._copying import COPYING
from weft.capture._generators import Generated
from weft.capture._iterables import Items
from weft.capture._notices import notice
from weft.capture._numpy_applied import held_function, run_held
from weft.capture._numpy_calls import SPECIAL, BoundMethod
from weft.capture._numpy_special import called_poly1d, is_poly1d, polynomial_value, traced_in
from weft.capture._object_calls import by_method
from weft.capture._one_of import OneOf, class_by_node, is_class
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._outside import asked_of_files, refuse_outside
from weft.capture._own_operators import called_operator, overridden, refuse_changing
from weft.capture._parts import call_module
from weft.capture._post_init import construct, finishes_itself
from weft.capture._pure import attempt_pure
from weft.capture._refusals import WRAP, refuse_class_of_arrays
from weft.capture._region import Region
from weft.capture._sizes import SizeNodes, rename
from weft.capture._special import unrouted
from weft.capture._tensor_calls import TENSOR_CALLS
from weft.capture._values import Array, Scalar, Traced, is_traced
from weft.capture._views import scalars_in
from weft.capture._wrap import is_wrapped, record_call, wrap
from weft.errors import CaptureError, TraceError
from weft.graph._control import CONTROL
from weft.graph._looping import check_unpacked, unpacked
from weft.ops import Op
from weft.ops._dim import Dim

_CREATION = frozenset(
    {
        *(np.zeros, np.ones, np.empty, np.full, np.arange, np.linspace, np.eye, np.identity, np.array, np.asarray),
        *(np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.ndarray, np.copy, np.tri, np.diag, np.indices),
        *(np.fromfunction, np.meshgrid, np.logspace, np.geomspace),
    }
)
_GROWING: dict[Any, str] = {
    deque: "use a list, which may grow in a loop: .append(value) and .pop(0); or an array with two indices",
}
_TAKING_OBJECTS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)
_SEEDING: frozenset[Any] = frozenset(
    {get_state, initial_seed, manual_seed, seed, set_state}
)  # of the generator of each run
_BUILTIN = (types.BuiltinFunctionType, type)
_TAKING_CHOSEN = (map, filter, functools.reduce)
_NESTED = 32  # branches within branches: a program that recurses on a traced value never ends


class Running(SizeNodes):
    """The part of a recorder that runs functions."""

    refused: Any
    programs_error: Any = None  # the latest exception that an operation of plain values raised

    def call(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that the program makes."""
        from weft.capture._calls import call

        return call(self, function, args, kwargs)

    def run(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`function(*args, **kwargs)` in a captured program."""
        found = self.libraries.call(function, args, kwargs)
        if function is np.seterr:
            found = captured_seterr(self, args, kwargs)
        return self.run_own(function, args, kwargs) if found is None else found[0]

    def run_own(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same, of what is no call of another library, or one that is to be captured."""
        if isinstance(function, (BoundMethod, OneOf, Op, Opaque)):
            if self.untyped and isinstance(function, Op):
                return self.opaque(function, args, kwargs)
            if isinstance(function, Op) and not traced_in(args, kwargs):
                return self.run_op(function, args, kwargs)
            return function(*args, **kwargs)
        refuse_outside(self, function)
        if notice(self, function, args, kwargs):
            return None
        if isinstance(function, types.FunctionType):
            if is_converted(function):
                return self._deeper(function, args, kwargs)
            return self.run_function(function, args, kwargs)
        captured = getattr(type(function), "__weft_captured__", None)
        if captured is not None:  # a derivative, for instance: it says itself what a call of it records
            return captured(function, self, args, kwargs)
        if isinstance(function, types.MethodType):
            return self._run_method(function, args, kwargs)
        if function.__class__ in _BUILTIN:
            for place, value in enumerate(args):
                by_node = function in _TAKING_CHOSEN or (is_class(value) and self._is_numpy(function))
                if type(value) is OneOf and not by_node:
                    return value.given_to(function, place, args, kwargs)
            own = called_operator(self, function, args)
            if own is not None:
                return own[0]
        if self._is_numpy(function):
            return self.run_numpy(function, args, kwargs)
        if isinstance(function, functools.partial):
            self.reads.partial(function)
            return self.call(function.func, (*function.args, *args), {**function.keywords, **kwargs})
        if function is print:
            return self.python.print(args, kwargs)
        if self.python.has_rule(function):
            return self.python.call(function, args, kwargs)
        if isinstance(function, Module):
            return call_module(self, function, args, kwargs)
        original = getattr(function, "__weft_original__", None)
        if original is not None:
            from weft.capture._loaded_inside import edited_inside

            edited = edited_inside(self, function, args, kwargs)
            return self.run(original, args, kwargs) if edited is None else edited[0]
        return self.run_other(function, args, kwargs)

    def _run_method(self: Any, method: types.MethodType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A method written in Python, of an object that the capture has as it is."""
        owner = method.__self__
        if isinstance(owner, (np.random.Generator, np.random.RandomState)):
            return self.run_numpy(method, args, kwargs)
        if method.__name__ in getattr(type(owner), "__weft_effects__", ()):
            return self.training.of_schedule(method, args, kwargs)
        if isinstance(owner, Tensor):
            return getattr(self.constant(owner), method.__name__)(*args, **kwargs)
        asked = asked_of_files(self, method, args, kwargs)
        return self.call(method.__func__, (owner, *args), kwargs) if asked is None else asked

    def _deeper(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call within calls: as deep as the plain program may go, and not endlessly into branches."""
        self.allowance.spend()
        depth = len(self.active)
        if depth % _NESTED == _NESTED - 1 and function in self.active and self.region.depth >= _NESTED:
            self._endless(function)
        if depth >= self.deepest:
            raise RecursionError("maximum recursion depth exceeded")
        self.active.append(function)
        try:
            return function(*args, **kwargs)
        finally:
            self.active.pop()

    def _endless(self: Any, function: Any) -> Any:
        if _where.is_library(function.__code__.co_filename, self.package):
            self.refuse(f"{function.__module__}.{function.__name__} cannot be captured", help=WRAP)
        return self.refuse(
            f"{function.__name__} calls itself without end: what would stop it is known only when the graph runs",
            help="write it as a loop",
        )

    def run_function(self: Any, function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function = unrouted(function)
        if is_wrapped(function) or function in _SEEDING:
            return self.wrapped(function, args, kwargs)  # also where nothing traced is given: each call runs it anew
        if function is isolated:
            self.refuse(
                "weft.random.isolated would take effect when the program is captured, not when it runs",
                help="use it around the call of the captured function",
            )
        if function is wrap:
            self.refuse(
                "weft.wrap inside of what is captured", help="mark the function outside, at the top of the module"
            )
        if function in TENSOR_CALLS:
            return TENSOR_CALLS[function](self, *args, **kwargs)
        if function is functional_call:
            return self.with_parameters(*args, **kwargs)
        if function in COPYING:
            return self.python.call(function, args, kwargs)
        if function in CONTROL and not self.untyped:
            return self.control(function, args, kwargs)  # once: what its bodies change is not to be changed twice
        if function in CONTROL or _is_library(function):
            if package_name(function) == "numpy":
                return self.run_numpy(function, args, kwargs)
            if _only_reads(function, args, kwargs) and is_opaque((args, kwargs)):
                return self.opaque(function, args, kwargs)
            return function(*args, **kwargs) if function in CONTROL else uncaptured(self, function, args, kwargs)
        if inspect.iscoroutinefunction(function):
            self.refuse(f"{function.__name__} is a coroutine", help="call it outside of what is captured")
        if inspect.isgeneratorfunction(function):
            return Generated(self, function, args, kwargs)
        return self.reads.noted(self._deeper(self.bind(function), args, kwargs))

    def with_parameters(
        self: Any, module: Any, values: Any, args: Any = None, kwargs: Any = None, *, strict: bool = False
    ) -> Any:
        """`functional_call` in a captured program."""
        given = () if args is None else args if isinstance(args, tuple) else (args,)
        # Traced, all of them: what the module holds meanwhile is nothing that a later call can be compared with.
        traced = pytree.map(lambda v: self.constant(v) if isinstance(v, (np.ndarray, Tensor)) else v, values)
        with exchanged(module, traced, strict):
            return self.run(module, given, kwargs or {})

    def run_op(self: Any, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of an op on plain values: an array that it makes or a number that it draws is new each time."""
        if op.draws(args, kwargs):
            return self.call_op(op, args, kwargs)
        result = op(*args, **kwargs)
        return self.made_array(op, args, kwargs, result) if _holds_arrays(result) else result

    def wrapped(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a function that runs as it is: it may do anything, so it stays even where nothing reads it."""

        def create(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Opaque:
            node = self.create(target, args, kwargs, None)
            if target is function:
                node.meta["must_run"] = node.meta["handed"] = True
            return Opaque(self, node)

        self.touched.meet(function, (args, kwargs))
        self.hand_out((args, kwargs))
        result = record_call(create, function, args, kwargs, lambda value: self.lists.get(value) is not None)
        self.check_apart(result, (args, kwargs))
        return result

    @property
    def hooks(self: Any) -> Any:
        """The hooks of no function in particular."""
        return self.hooks_for((), {})

    def hooks_for(self: Any, sites: Any, space: dict[str, Any]) -> Any:
        """The hooks that a function's converted code calls, given its sites and its globals."""
        from weft.capture._hooks import Hooks

        return Hooks(self, sites, space)

    def bind(self: Any, function: Any, collect: bool = False) -> Any:
        """A function converted for this capture; with `collect`, a generator as one that gives a list."""
        known = self.bound.get((function, collect))
        if known is None:
            try:
                converted = convert(function, collect)
            except CaptureError as error:
                if not self.active:
                    raise
                if _is_straight(function.__code__) and not collect:
                    self.reads.function(function)
                    self.bound[function, collect] = function
                    return function  # Python's own operations on traced values are all there is to capture
                self.refuse(error.message, help=error.help)  # where it is called, not where it was defined
            self.reads.function(function)
            hooks = self.hooks_for(converted.sites, function.__globals__)
            hooks.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
            known = self.bound[function, collect] = converted.bind(function, hooks)
            self.allowance.add(function)
        return known

    @staticmethod
    def _is_numpy(function: Any) -> bool:
        if isinstance(function, np.ufunc) or is_poly1d(function) or function is np.ndarray:
            return True
        if isinstance(function, type) and issubclass(function, BaseException):
            return False
        owner = getattr(function, "__self__", None)
        if isinstance(owner, (np.ufunc, np.ndarray, np.random.Generator, np.random.RandomState)):
            return True
        return package_name(function) == "numpy"

    def run_numpy(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of NumPy's."""
        function, args = called_poly1d(function, args)
        args, kwargs = tuple(map(class_by_node, args)), {key: class_by_node(value) for key, value in kwargs.items()}
        special = self.reads.special
        if special.methods:
            dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None) if function in _TAKING_OBJECTS else None
            args, kwargs = special.arrays(args, dtype), {key: special.array(value) for key, value in kwargs.items()}
        if isinstance(function, np.poly1d):
            evaluate = self.opaque if args and isinstance(args[0], np.poly1d) else self.run
            return evaluate(np.polyval, (self.attribute(function, "coeffs"), *args), kwargs)
        if isinstance(function, ABCPolyBase) and len(args) == 1:
            return polynomial_value(self, function, *args)
        own = overridden(self, function, args, kwargs)
        if own is not None:
            return own[0]
        for value in (*args, *kwargs.values()):
            refuse_changing(self, value if isinstance(function, np.ufunc) else (value,))
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.ndarray):
            return self.run(getattr(self.constant(owner), function.__name__), args, kwargs)
        from weft.capture._draws import draws, run_draw

        if draws(function, owner):
            return run_draw(self, function, owner, args, kwargs)
        held = held_function(function if owner is None else owner)
        if held is not None:
            return run_held(self, function, held, args, kwargs)
        if isinstance(owner, np.ufunc) and traced_in(args, kwargs):
            return self.numpy.ufunc(owner, function.__name__, args, kwargs)
        if not traced_in(args, kwargs):
            if function in _CREATION:
                return self.numpy.function(function, args, kwargs)
            result = function(*args, **kwargs)
            return self.made_array(function, args, kwargs, result) if _holds_arrays(result) else result
        if isinstance(function, np.ufunc):
            return self.numpy.ufunc(function, "__call__", args, kwargs)
        if isinstance(function, type):
            return self._numpy_class(function, args, kwargs)
        self.libraries.derived(function, args)
        return self.numpy.function(function, args, kwargs)

    def made_array(self: Any, function: Any, args: Any, kwargs: Any, result: Any) -> Any:
        """An array that a call of plain values gave: it is made when the graph runs, each time anew."""
        from weft.graph._shapes import type_of

        if isinstance(result, np.ndarray) and any(result is value for value in args):
            return self.constant(result)
        type_ = type_of(result)
        if not isinstance(result, (np.ndarray, tuple, list)):
            return result
        node = self.create(function, args, kwargs, type_)
        parts = result if isinstance(result, (tuple, list)) else [result]
        ordered = all(part.flags.c_contiguous for part in parts if isinstance(part, np.ndarray))
        return self.wrap(node, type_, array=True, layout="C" if ordered else False)

    def _numpy_class(self: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`np.float32(x)`, `np.ndarray(shape)`."""
        if cls in SPECIAL:
            return SPECIAL[cls](self, *args, **kwargs)
        if issubclass(cls, np.generic):
            value = args[0]
            dtype = np.dtype(cls)
            if isinstance(value, Array) and value.spec.shape:
                return self.numpy.function(np.asarray, (value,), {"dtype": dtype})
            from weft.ops import Spec

            return Scalar(self, dtype, self.create(cls, (value,), {}, Spec((), dtype)))
        copies = cls is np.matrix and len(args) < 3 and "copy" not in kwargs
        if copies or cls in (np.poly1d, np.dtype, np.finfo, np.iinfo) or issubclass(cls, ABCPolyBase):
            return self.opaque(cls, args, kwargs)
        return self.refuse(f"{cls.__module__}.{cls.__name__} of a traced value")

    def run_other(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A builtin, a class, or an object with `__call__`."""
        if isinstance(function, type):
            if issubclass(function, np.ndarray) and traced_in(args, kwargs):
                refuse_class_of_arrays(self, function)
            found = self.libraries.compiled(function, args, kwargs)
            return self._construct(function, args, kwargs) if found is None else found[0]
        call = getattr(type(function), "__call__", None)  # noqa: B004  # the function itself is wanted, not whether there is one
        if isinstance(call, types.FunctionType) and not _is_library(call):
            return self.run(call, (function, *args), kwargs)
        found = self.libraries.compiled(function, args, kwargs)
        if found is not None:
            return found[0]
        if traced_in(args, kwargs) and isinstance(function, (types.BuiltinFunctionType, types.MethodDescriptorType)):
            return self._builtin(function, args, kwargs)
        return uncaptured(self, function, args, kwargs)

    def _builtin(self: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        owner = getattr(function, "__self__", None)
        if isinstance(owner, (list, tuple, dict, set, frozenset, str, deque)):
            from weft.capture._lookups import method

            return method(self, function, owner, args, kwargs)
        if is_opaque((args, kwargs)) and function in _ASKING:
            return self.opaque(function, args, kwargs)
        if takes_grown(self, args, kwargs):
            return uncaptured(self, function, args, kwargs)
        if (
            getattr(function, "__module__", None) in ("_heapq", "_bisect")
            and self.branches
            and not callable(kwargs.get("key"))
        ):
            return ordering(self, function, args, kwargs)
        name = f"{getattr(function, '__module__', None) or 'builtins'}.{function.__qualname__}"
        return self.refuse(
            f"{name} has no rule for traced values and no source to capture",
            help="mark it with weft.wrap, which then runs as Python when the graph runs",
        )

    def _construct(self: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An object of a class of the program's own, whose `__init__` is captured."""
        self.reads.making(cls)
        init: Any = cls.__dict__.get("__init__") or getattr(cls, "__init__", None)
        made: Any
        if cls is Tensor and traced_in(args, kwargs):
            return TENSOR_CALLS[cls](self, *args, **kwargs)
        if cls in (list, tuple, set, dict, frozenset, Counter):
            from weft.capture._lookups import container, hashes_unknown

            if hashes_unknown(self, cls, args):
                return self.opaque(cls, args, kwargs)
            if cls is not Counter:
                return container(self, cls, args, kwargs)
        if cls in _OF_BYTES and is_opaque(args):
            return self.opaque(cls, args, kwargs)
        if issubclass(cls, BaseException):
            own = isinstance(init, types.FunctionType) and not _is_library(init)
            made = cls.__new__(cls, *args, **kwargs) if own else cls(*args, **kwargs)
            self.made(made)
            if own:
                self.run(init, (made, *args), kwargs)
            return made
        if finishes_itself(cls) and type(cls).__call__ is type.__call__:
            return construct(self, cls, args, kwargs)
        plain = isinstance(init, types.FunctionType) and not _is_library(init) and cls.__new__ is object.__new__
        plain = plain and init.__code__.co_filename != "<string>"  # as that of a dataclass, made by exec
        if not plain or type(cls).__call__ is not type.__call__:
            try:
                made = uncaptured(self, cls, args, kwargs)
            except TraceError:
                if traced_in(args, kwargs):
                    self.libraries.stays_whole(cls)
                raise
            self.reads.made_object(made)
            return made
        made = cls.__new__(cls)
        self.made(made)
        self.run(init, (made, *args), kwargs)
        return made

    # Objects of Python's

    def made(self: Any, value: Any) -> None:
        """Remember an object as made by the captured program, which may then change it."""
        if id(value) not in self.region.made:
            self.region.made.add(id(value))
            self.region.kept.append(value)

    def change_object(self: Any, target: Any, what: str) -> None:
        """Allow a change of an object made on this path, refuse any other."""
        if id(target) in self.lists.held:
            why = self.lists.held[id(target)][1]
            self.refuse(
                f"a {type(target).__name__}, {why}, is changed ({what}): what it stands for would have to change too",
                help="change a copy of it, or write into an array",
            )
        self.stand_ins.check_change(target, what)
        self.python_effects += 1
        self.changed.append(id(target))
        if id(target) in self.region.made:
            return
        region: Region | None = self.region
        while region is not None:
            if id(target) in region.made:
                self.refuse(
                    f"a {type(target).__name__} made outside a branch or loop is changed inside it ({what})",
                    help=_GROWING.get(type(target), "use an array of known size and write into it: a[i] = value"),
                )
            region = region.parent
        self.state.changes(target)
        kept = self.reads.origins.get(id(target), (None, None))[1]
        if isinstance(kept, types.FunctionType):
            self.refuse(
                f"{what} changes a default argument of {kept.__name__}: it would happen once, when the program is "
                "captured",
                help="let the default be None, and make the value in the function; or mark it with weft.wrap",
            )
        self.refuse(
            f"{what} changes a {type(target).__name__} that the program did not make itself: "
            "it would happen once, when the program is captured",
            help="return the new value, or write into an array",
        )

    def set_attribute(self: Any, target: Any, name: str, value: Any) -> None:
        frozen = getattr(getattr(type(target), "__dataclass_params__", None), "frozen", False)
        if frozen or (isinstance(target, tuple) and dict_of(target) is None):
            setattr(target, name, value)  # raises, as in the plain call
        self.reads.made(value)
        if name == "__dict__" and self.state.may_have(target):
            if self.state.dicts.get(id(value), (None, None))[1] is target:
                return  # it is changed already: `target.__dict__ |= ...`
            self.refuse(
                f".__dict__ = … of a {type(target).__name__} that the program did not make itself",
                help="assign its attributes one by one, or use .__dict__.update(...)",
            )
        if by_method(self, target, name, "__setattr__", value) or self.state.assign(target, name, value):
            return
        if type(target) is types.FunctionType and self.region.straight and is_converted(target):
            self.made(target)  # the program defined it
        if isinstance(target, types.FunctionType) and name in vars(types.FunctionType) and is_traced(value):
            self.refuse(f".{name} = … of a function takes no traced value", help="give the function another attribute")
        if dict_of(target) is not None or hasattr(type(target), "__slots__"):
            self.change_place(target, name, f".{name}")
        else:
            self.change_object(target, f".{name} = …")  # it takes values of its own kinds only
        setattr(target, name, value)

    def change_place(self: Any, target: Any, key: Any, label: str) -> None:
        """Allow a change of an attribute or an item of an object that the program made."""
        home = self._home(target)
        if home is None or home is self.region or id(target) in self.lists.held:
            self.change_object(target, f"{label} = …")
            return
        self.stand_ins.check_change(target, f"{label} = …")
        self.python_effects += 1
        self.changed.append(id(target))
        self.places.changed(target, key, label, home)

    def _home(self: Any, target: Any) -> Region | None:
        """The region in which the program made an object; None where it did not make it."""
        region: Region | None = self.region
        while region is not None and id(target) not in region.made:
            region = region.parent
        return region

    # Regions

    def enter(self: Any, parent: Region | None = None) -> Region:
        """Begin a region inside the present one."""
        self.region = made = Region(parent or self.region)
        return made

    def leave(self: Any, region: Region) -> None:
        """Go back to where a region was begun."""
        parent = region.parent
        while parent is not None and parent.virtual:
            parent = parent.parent
        assert parent is not None
        self.region = parent

    @contextmanager
    def within(self: Any, region: Region) -> Iterator[None]:
        """Record into a region that was left already."""
        present, self.region = self.region, region
        try:
            yield
        finally:
            self.region = present

    def is_outer(self: Any, value: Any, inside: Region | None = None) -> bool:
        """Whether a value exists in a region, the present one unless given, or in one around it."""
        if inside is not None:
            with self.within(inside):
                return bool(self.is_outer(value))
        if isinstance(value, Array):
            scalars = (leaf for step in value.path for leaf in scalars_in(step.args))
            return bool(self.region.knows(value.buffer)) and all(map(self.is_outer, scalars))
        if value._node is not None and self.region.sees(value._node):
            return True
        from weft.capture._merge import _visible

        known = isinstance(value, Scalar) and value.dim is not None and value.kind is int
        return known and _visible(value.dim, self.region)

    def attempt_pure(self: Any, compute: Callable[[], Any]) -> tuple[Any] | None:
        """What a computation gives where it does nothing but arithmetic on numbers, which cannot fail; else None."""
        return attempt_pure(self, compute)

    def name(self: Any, value: Any, name: str) -> None:
        """Call the node of a value by the program's variable, where it has no such name yet."""
        if name.startswith("_weft"):
            return
        if isinstance(value, Scalar):
            value.name = value.name or name
            node = value._node
        elif isinstance(value, Opaque):
            value.keep()
            node = value._node
        elif isinstance(value, Array) and not value.path:
            node = self.region.held.get(value.buffer)
            if node is not None and value.buffer.name == node._name:
                value.buffer.name = name
        else:
            return
        if node is None or node.graph is not self.region.graph or node in self.named:
            return
        if node._op != "placeholder":
            self.named.add(node)
            if node._name != name:
                rename(node, name)

    def unpacked(self: Any, items: Any, count: int) -> Any:
        """The items of an array, or of a list collected in arrays, that is unpacked into so many names."""
        array = items if isinstance(items, Array) else next(iter(items.arrays), None)
        if array is None or not array.spec.shape:
            return items
        size = array.spec.shape[0]
        if isinstance(size, Dim) and size.env.known("==", size, count) is None:
            self.create(check_unpacked, (self.size_node(size), count), {}, None)
        elif size != count:
            many = "too many values to unpack (expected" if size > count else "not enough values to unpack (expected"
            raise ValueError(f"{many} {count})" if size > count else f"{many} {count}, got {size})")
        return [self.getitem(items, k) if items is array else items.item(k) for k in range(count)]

    def unpacked_unknown(self: Any, value: Any, before: int, after: int, starred: bool) -> list[Any]:
        """The items that a value of unknown type is unpacked into."""
        counts = (before,) if not starred else (before, after, True)
        items = self.opaque(unpacked, (value, *counts), {})
        return [items[k] for k in range(before + after + starred)]

    def run_getitem(self: Any, value: Any, key: Any) -> Any:
        """`value[key]` where the key is traced or the value an array of the caller's."""
        if isinstance(value, (np.ndarray, Tensor)):
            return self.constant(value)[key]
        if isinstance(value, Traced):
            return value[key]  # type: ignore[index]  # an Array; anything else raises as it should
        if isinstance(value, Items):
            return value[key]
        grid = self.grid(value, key)
        if grid is not None:
            return grid
        chosen = isinstance(key, Scalar) and key.hint is None and not self.untyped
        if chosen and isinstance(value, (list, tuple, deque)):
            return choose(self, value, key)
        bounds = (key.start, key.stop, key.step) if type(key) is slice else (key,)
        if isinstance(value, (str, bytes)) and any(isinstance(k, Scalar) and not self.can_decide(k) for k in bounds):
            return self.opaque(operator.getitem, (value, key), {})
        from weft.capture._lookups import item_of

        return item_of(self, value, key)

    def grid(self: Any, value: Any, key: Any) -> Any:
        """`np.mgrid[...]`, `np.ogrid[...]`, `np.r_[...]`, `np.c_[...]`; None for anything else."""
        from weft.capture._grids import GRIDS, NAMES, grid_of

        maker = GRIDS.get(id(value))
        if maker is not None and (self.untyped or is_opaque(key)):
            return self.opaque(grid_of, (NAMES[id(value)], key), {})
        return None if maker is None else maker(self, key)


_OF_BYTES = frozenset({bytes, bytearray, memoryview})
_OTHER_THAN_STRAIGHT = (
    *("CALL", "JUMP", "STORE_", "DELETE_", "FOR_", "IMPORT", "SETUP", "YIELD", "CONTAINS", "IS_OP", "UNPACK", "ITER"),
    *("ATTR", "METHOD", "SUBSCR", "GLOBAL", "LOAD_NAME", "FORMAT", "RAISE", "DEREF"),
)


def _is_straight(code: types.CodeType) -> bool:
    """Whether code only computes values from its arguments, one after the other, and calls nothing."""
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    other = [name for name in names if any(word in name for word in _OTHER_THAN_STRAIGHT)]
    return not set(other) - {"STORE_FAST"} and not code.co_freevars


_PATHS = ("join", "split", "splitext", "basename", "dirname")
_READING = {
    "re": ("match", "search", "fullmatch", "sub", "subn", "split", "findall", "escape"),
    "textwrap": ("wrap", "fill", "shorten", "dedent", "indent"),
    "posixpath": _PATHS,
    "ntpath": _PATHS,
}
_ASKING = frozenset({vars, iter, next, hasattr, getattr, callable, chr, ord, hash, ascii, bin, hex, oct, issubclass})


def _is_library(function: Any) -> bool:
    """Whether a function is part of weft, NumPy or the standard library, and so not the program's own."""
    module = getattr(function, "__module__", None) or ""
    root = module.partition(".")[0]
    if getattr(getattr(function, "__code__", None), "co_filename", "").startswith("<doctest"):
        return False  # an example, which the module it stands in did not define
    if root in ("numpy", "weft"):
        return not module.startswith(("weft.nn", "weft.random"))  # those draw numbers, new ones in each call
    return root in sys.stdlib_module_names and root != "__main__"


def _only_reads(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function of the standard library reads the objects or texts that it is given, and nothing else."""
    module = function.__module__
    if module == "dataclasses":
        return True
    calls = any(isinstance(value, types.FunctionType) for value in (*args, *kwargs.values()))
    return not calls and function.__name__ in _READING.get(module, ())


def _holds_arrays(result: Any) -> bool:
    return isinstance(result, np.ndarray) or (
        isinstance(result, (tuple, list)) and any(isinstance(part, np.ndarray) for part in result)
    )
