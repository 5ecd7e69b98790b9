"""`with` blocks of a captured program."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import re
import warnings
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from weft._objects import dict_of, opened, put_back
from weft._where import package_name
from weft.autograd import _mode
from weft.capture._branch import PathEnded
from weft.capture._budget import OverBudget
from weft.capture._cells import Restart
from weft.capture._convert import is_converted_code
from weft.capture._notices import CatchingWarnings, catch_warnings, end_catching
from weft.capture._opaque import Opaque
from weft.capture._raising import ANYTHING, QUIET, caught_classes
from weft.capture._region import NotArithmetic
from weft.capture._spread import Spread
from weft.capture._state_places import Learned, is_own
from weft.capture._touched import codes
from weft.capture._values import Array, Scalar, Traced
from weft.capture._whole import StaysWhole
from weft.errors import TraceError, UnknownShape, WeftError
from weft.graph import Node
from weft.graph._effects import HOLDS, WITHIN, has_side_effect
from weft.ops.indexing import index_update

if TYPE_CHECKING:
    from weft.capture._hooks import Hooks
    from weft.capture._recorder import Recorder

_KNOWN = ("contextlib", "weft", "numpy", "warnings")  # packages whose contexts are known
_MODES = tuple(kind for kind in vars(_mode).values() if isinstance(kind, type) and hasattr(kind, "__enter__"))


OWN = (Restart, PathEnded, NotArithmetic, Learned, OverBudget, StaysWhole)
"""Ways of the capture's own to leave a part of the program, which no handler of the program is to see."""


@has_side_effect
def set_errors(**how: Any) -> None:
    """`np.seterr(**how)` of a captured `with np.errstate(...)`; the code of a graph restores it, whatever it raises."""
    opened.get().append(functools.partial(change_errors, **np.seterr(**how)))


@has_side_effect
def reset_errors() -> None:
    """The end of that: what was set before it."""
    opened.get().pop()()


for _function in (set_errors, reset_errors):
    setattr(_function, WITHIN, put_back)

QUIET += [set_errors, reset_errors, catch_warnings, end_catching]


@has_side_effect
def change_errors(**how: Any) -> dict[str, Any]:
    """`np.seterr(**how)` of a captured program."""
    return {**np.seterr(**how)}


@has_side_effect
def change_errors_back(before: dict[str, Any]) -> None:
    """`np.seterr(**before)` of what another call has given."""
    np.seterr(**before)


setattr(change_errors_back, HOLDS, True)
QUIET += [change_errors, change_errors_back]


def captured_seterr(recorder: Recorder, args: tuple[Any, ...], kwargs: Any) -> tuple[Any] | None:
    """What `np.seterr(...)` gives: done when the graph runs, and for now, until the program is captured; else None."""
    given = [value for value in (*args, *kwargs.values()) if value is not None]
    if recorder.errors_before is None:
        recorder.errors_before = np.geterr()
    if len(given) == 1 and type(given[0]) is Spread and given[0].value.node.target is change_errors:
        recorder.create(change_errors_back, (given[0].value,), {}, None)
        np.seterr(**recorder.errors_before)
        return (None,)
    if not all(type(mode) is str and mode in ("ignore", "warn") for mode in given):
        return None  # what raises, the program may catch
    how = dict(zip(("all", "divide", "over", "under", "invalid"), args, strict=False)) | kwargs
    np.seterr(**how)
    return (Opaque(recorder, recorder.create(change_errors, (), how, None)),)


class _ErrorState:
    """`with np.errstate(...)`: set where the block begins, set back where it ends."""

    def __init__(self, hooks: Hooks, manager: Any) -> None:
        self.recorder = hooks.recorder
        self.manager = manager

    def __enter__(self) -> None:
        given = {name: getattr(self.manager, f"_{name}") for name in ("all", *np.geterr())}
        if getattr(self.manager, "_call") is not getattr(np.errstate(), "_call"):  # noqa: B009  # the type has none
            self.recorder.refuse("np.errstate(call=...)", help="let it warn or raise, or put it around the call")
        self.manager.__enter__()
        how = {name: mode for name, mode in given.items() if mode is not None}
        self.recorder.create(set_errors, (), how, None)

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self.manager.__exit__(kind, *rest)
        if kind is None:
            self.recorder.create(reset_errors, (), {}, None)


class _Recording:
    """`with weft.no_grad()` and its kin: no gradient goes through what Tensors give inside."""

    def __init__(self, hooks: Hooks, manager: Any) -> None:
        self.recorder = hooks.recorder
        self.manager = manager
        self.before = False

    def __enter__(self) -> Any:
        self.before = self.recorder.no_grad
        entered = self.manager.__enter__()
        self.recorder.no_grad = not _mode.is_grad_enabled()
        return entered

    def __exit__(self, *exception: Any) -> Any:
        self.recorder.no_grad = self.before
        return self.manager.__exit__(*exception)


_OF_STAND_INS = re.compile(rf"\b({Array.__name__}|{Opaque.__name__}|{Scalar.__name__})(\b[^'\"]*\(\)|['\"])")
"""What Python says of values that are traced, in its own errors."""


class _Captured:
    """A context manager of the program's own class: its methods are captured.

    What is raised when the graph runs does not come to its `__exit__`. So nothing may raise then where that could tell:
    where it swallows exceptions, or does what is seen outside.
    """

    def __init__(self, hooks: Hooks, manager: Any) -> None:
        self.recorder = hooks.recorder
        self.manager = manager
        self.swallows = _may_swallow(manager)
        self.final: Any = None

    def __enter__(self) -> Any:
        entered = self.recorder.run(type(self.manager).__enter__, (self.manager,), {})
        self.recorder.trying += (ANYTHING,) * self.swallows
        self.final = Final(self.recorder)
        return entered

    def __exit__(self, *exception: Any) -> Any:
        self.recorder.trying = self.recorder.trying[: -1 if self.swallows else None]
        if exception[0] is not None and issubclass(exception[0], (*OWN, TraceError)):
            return None
        if self.swallows:
            _check_raised(self.recorder, exception[1])
        if self.swallows and isinstance(exception[1], WeftError):
            plain = _as_plain(self.recorder, exception[1])
            exception = (type(plain), plain, exception[2])
        with self.final:
            return self.recorder.run(type(self.manager).__exit__, (self.manager, *exception), {})


class _Suppressing:
    """`with contextlib.suppress(...)`."""

    def __init__(self, hooks: Hooks, manager: Any) -> None:
        self.recorder = hooks.recorder
        self.manager = manager

    def __enter__(self) -> Any:
        self.recorder.trying += (self.manager._exceptions,)

    def __exit__(self, kind: Any, *rest: Any) -> Any:
        self.recorder.trying = self.recorder.trying[:-1]
        _check_raised(self.recorder, rest[0])
        return kind is not None and issubclass(kind, Exception) and self.manager.__exit__(kind, *rest)


def _may_swallow(manager: Any) -> bool:
    """Whether an `__exit__` may give something true, or raise another exception, going by its code."""
    code = getattr(type(manager).__exit__, "__code__", None)
    if code is None:
        return True
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_VALUE":
            # What is jumped to is the end of an expression such as `a or False`.
            if instruction.is_jump_target or before.opname != "LOAD_CONST" or before.argval:
                return True
        elif instruction.opname == "RETURN_CONST" and instruction.argval:
            return True
        before = instruction
    held = [value for value in vars(manager).values() if is_own(type(value))] if dict_of(manager) is not None else []
    return _may_raise(type(manager).__exit__, [manager, *held], set())


def _may_raise(function: Any, objects: list[Any], seen: set[Any]) -> bool:
    """Whether a function has a `raise`, or one of the program's that it names: a global, or a method of `objects`."""
    if isinstance(function, property):
        function = function.fget
    elif isinstance(function, (staticmethod, classmethod, MethodType)):
        function = function.__func__
    if not isinstance(function, FunctionType) or function in seen or not is_own(function):
        return False
    seen.add(function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for code in codes(function.__code__):
        if any(instruction.opname == "RAISE_VARARGS" for instruction in dis.get_instructions(code)):
            return True
        for name in (*code.co_names, *code.co_freevars):
            found = [inspect.getattr_static(type(one), name, None) for one in objects]
            found += [(dict_of(one) or {}).get(name) for one in objects]
            found.append(function.__globals__.get(name))
            with contextlib.suppress(ValueError):
                found.append(cells[name].cell_contents if name in cells else None)
            if any(_may_raise(one, objects, seen) for one in found):
                return True
    return False


def _check_raised(recorder: Recorder, error: BaseException | None) -> None:
    """Refuse what only the capture could not do: the plain program raises nothing there that it could catch."""
    recorder.reads.unbound(error)
    if isinstance(error, TraceError) and recorder.refused is None:
        recorder.refused = error  # the handlers of the program are not for what capturing cannot do
    if isinstance(error, UnknownShape):
        recorder.refuse(error.message, help=error.help)
    if isinstance(error, (TypeError, AttributeError)) and _OF_STAND_INS.search(str(error)):
        recorder.refuse(
            "a traced value inside a `try` or `with`, given to code that is not captured and does not take it",
            help="move it out of the try",
        )


def _as_plain(recorder: Recorder, error: WeftError) -> Exception:
    """What the plain program raises where the capture has raised an error of weft's."""
    outside = re.match(r"getitem: (index -?\d+ is out of) range for (axis \d+) of (size \d+)$", error.message)
    if outside is None:
        recorder.refuse(
            f"an exception in a variable that NumPy words in another way: {error.message}",
            help="let the handler do without the exception: except ValueError:",
        )
    return IndexError(f"{outside[1]} bounds for {outside[2]} with {outside[3]}")


class Final:
    """What runs whether the part before it raises or not: a `finally`, an `__exit__`.

    In a graph it runs only where nothing is raised. So it may do nothing that is seen outside where something may be,
    but take back what the program has changed: then the graph changes nothing in the first place.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.raising = recorder.raising
        self.begun = recorder.state.mark()
        self.last: Any = None

    def __enter__(self) -> Any:
        self.last = self.recorder.region.graph._root._prev
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        recorder = self.recorder
        if recorder.raising == self.raising or kind is not None:
            return
        seen = [node for node in self._nodes() if node.is_impure() or node.target is index_update]
        if not recorder.state.takes_back(seen, self.begun, self.raising):
            recorder.refuse(
                "a `finally` or an __exit__ that prints or writes, after what may raise when the graph runs",
                help="do it after the `try` or `with`, or around the call of the captured function",
            )

    def _nodes(self) -> Iterator[Node]:
        """The nodes of the part itself."""
        graph = self.recorder.region.graph
        node = graph._root._prev
        while node is not self.last and node is not graph._root:
            if node.op not in ("placeholder", "get_attr") and not self.recorder.state.is_undone(node):
                yield node
            node = node._prev


def _is_numpy(manager: Any) -> bool:
    return package_name(getattr(manager, "func", None)) == "numpy"


def captured_context(hooks: Hooks, manager: Any) -> Any:
    """What a `with` of a captured program enters."""
    if isinstance(manager, Traced):
        return _refuse(hooks, "a traced value")
    if isinstance(manager, np.errstate):
        return _ErrorState(hooks, manager)
    if isinstance(manager, _MODES):
        return _Recording(hooks, manager)
    if isinstance(manager, contextlib.suppress):
        return _Suppressing(hooks, manager)
    if type(manager) is warnings.catch_warnings and vars(manager) == vars(warnings.catch_warnings()):
        return CatchingWarnings(hooks.recorder)
    if isinstance(manager, contextlib.nullcontext):
        return manager
    if isinstance(manager, contextlib._GeneratorContextManager) and not _is_numpy(manager):
        code = getattr(manager.gen, "gi_code", None)
        if code is not None and not is_converted_code(code) and _own_function(manager.func):
            made = cast(Any, manager)
            made.gen = hooks.recorder.bind(made.func)(*made.args, **made.kwds)
        return manager
    if type(manager).__enter__.__class__.__name__ == "function" and package_name(type(manager)) not in _KNOWN:
        return _Captured(hooks, manager)
    return _refuse(hooks, f"np.{manager.func.__name__}" if _is_numpy(manager) else f"a {type(manager).__name__}")


def _own_function(function: Any) -> bool:
    return isinstance(function, FunctionType) and package_name(function) not in _KNOWN


def _refuse(hooks: Hooks, what: str) -> Any:
    return hooks.recorder.refuse(
        f"`with` {what}: it would be entered once, when the program is captured",
        help="put it around the call of the captured function",
    )


class Trying:
    """The part of a `try` of which an exception may be caught: nothing may raise that there when the graph runs."""

    def __init__(self, recorder: Recorder, swallows: bool, named: bool, caught: Any) -> None:
        self.recorder = recorder
        self.caught = caught_classes(swallows, caught)
        self.named = named  # whether a handler gives the exception a name, and so may read it
        self.swallows = swallows  # whether the statement lets nothing pass, ways of the capture's own included

    def __enter__(self) -> None:
        self.recorder.trying += (self.caught,)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.recorder.trying = self.recorder.trying[:-1]
        _check_raised(self.recorder, error)
        if self.named and isinstance(error, WeftError) and not isinstance(error, TraceError):
            raise _as_plain(self.recorder, error) from None
        if self.swallows and kind is not None and not issubclass(kind, Exception):
            self.recorder.refuse(
                "a branch or loop on traced values in a `try` whose `finally` returns, or jumps out of it",
                help="return after the `try`",
            )
