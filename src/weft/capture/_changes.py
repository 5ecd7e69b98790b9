"""Calls of code that is not captured: builtins, methods written in C, the standard library.

Which of the program's objects such code changes is not known beforehand, so all it can reach are looked at before and
after. What has changed counts as any other change of the program's: allowed where the object was made here, kept in the
graph where it is a list that only running can tell the contents of, refused otherwise, and taken back then.

    if x[0] > 0:
        heapq.heappush(heap, 1.0)       # a node of that branch, which changes the list of the running graph

Functions of the program that such code calls are captured when it calls them.
"""

from __future__ import annotations

import array
import collections
import copyreg
import functools
import gc
import inspect
import re
import sys
import types
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from weft import _where
from weft._module import Module
from weft.autograd import Tensor
from weft.capture._cells import has_places
from weft.capture._convert import is_converted
from weft.capture._generators import Generated
from weft.capture._iterables import Collected, Items
from weft.capture._opaque import Opaque
from weft.capture._outside import refuse_file
from weft.capture._own_methods import run_own, with_begun
from weft.capture._present import note_assigned
from weft.capture._raising import ANYTHING
from weft.capture._refusals import WRAP
from weft.capture._special import unrouted
from weft.capture._touched import codes
from weft.capture._values import Array, Scalar, Traced, calls_of_programs
from weft.errors import TraceError

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_CACHED = type(functools.lru_cache(lambda: None))
_ATOMS = frozenset(
    {
        *(bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), type, range),
        *(
            types.ModuleType,
            types.CodeType,
            types.FunctionType,
            types.GetSetDescriptorType,
            types.WrapperDescriptorType,
        ),
        *(types.MethodDescriptorType, types.MemberDescriptorType, np.ufunc, np.dtype, np.ndarray),
    }
)
"""Types of what cannot be changed, or is looked after otherwise: arrays are constants of the graph."""
_VALUES = (np.generic, Traced, Tensor, Module, type, BaseException)
_BYTES = (bytearray, array.array)
_HOLDING = (list, collections.deque, dict, set)
_ITERATING = frozenset({"builtins", "itertools", "collections", "_collections"})
_SHOWING = (tuple, frozenset, functools.partial, types.MappingProxyType, memoryview)
_VIEWS = frozenset(map(type, ({}.keys(), {}.values(), {}.items(), collections.OrderedDict().keys())))
_PURE: frozenset[Any] = frozenset(
    {
        *(len, isinstance, issubclass, type, id, range, abs, round, int, float, bool, complex, chr, ord, divmod, pow),
        *(callable, hash, hasattr, slice, object, bin, hex, oct, ascii, vars, dir),
    }
)
"""Builtins that change nothing, whatever they are given."""
_FINDING = frozenset({"index", "count", "remove", "get", "pop", "setdefault", "add", "discard"})
_ADDING: dict[type, tuple[str, ...]] = {
    list: ("append",), collections.deque: ("append", "appendleft"), set: ("add", "discard")
}  # fmt: skip
"""Methods of one argument that run nothing of the program's: a set asks for the hash of a number or text only."""
_HELD_HERE = 2  # references to an object in a variable: that, and the argument of who counts them
_CAPTURED = "__weft_captured_when_called__"  # marks what stands for a function of the program
_APPLYING = (map, filter, functools.reduce, iter)
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)


class Watch:
    """What a call can reach of the program's objects, as it was before the call."""

    def __init__(self, recorder: Recorder, *roots: Any) -> None:
        self.recorder = recorder
        self.since = len(recorder.changed)
        self.objects: dict[int, tuple[Any, Any]] = {}
        self.iterators: list[Any] = []
        self.traced = False  # whether it can come by a traced value
        self.seen: set[int] = set()
        seen = self.seen
        waiting = list(roots)
        while waiting:
            value = waiting.pop()
            kind = type(value)
            if kind in _ATOMS or id(value) in seen:
                if kind is types.FunctionType and (is_converted(value) or hasattr(value, _CAPTURED)):
                    self.traced = True  # it may give one
                continue
            seen.add(id(value))
            if isinstance(value, _VALUES):
                self.traced = self.traced or isinstance(value, Traced)
                continue
            waiting += self._meet(value, kind)

    def _meet(self, value: Any, kind: type) -> Iterable[Any]:
        """Take down what an object holds; what there is to look at inside of it."""
        if kind is tuple or kind is frozenset:
            return value  # type: ignore[no-any-return]  # of parts
        if isinstance(value, (*_METHODS, types.MethodType)):
            return [value.__self__]
        if kind is Generated or (isinstance(value, Iterator) and kind.__module__ in _ITERATING):
            self.iterators.append(value)
            return [] if kind in (Generated, types.GeneratorType) else gc.get_referents(value)
        if kind.__module__.startswith("weft."):
            self.traced = True
            inside = vars(value).values() if isinstance(value, Items) else ()
            return [part for part in inside if part is not self.recorder]
        if (
            isinstance(value, (tuple, frozenset, functools.partial, types.MappingProxyType, memoryview))
            or kind in _VIEWS
        ):
            return gc.get_referents(value)
        held = _state(value)
        self.objects[id(value)] = (value, held)
        if isinstance(value, _BYTES):
            return []
        if not (_own(kind) or isinstance(value, Collection)):  # a queue, for instance, and the deque in it
            holding = [part for part in held[2] if isinstance(part, (*_HOLDING, *_BYTES))]
            return gc.get_referents(value) if held[3:] else holding
        return [part for piece in held for part in piece]

    def changed(self) -> list[tuple[Any, Any]]:
        """The objects that the call has changed, and not the capture itself; with what they held."""
        if not self.objects:
            return []
        known = set(self.recorder.changed[self.since :])
        return [
            (value, held)
            for key, (value, held) in self.objects.items()
            if key not in known and self.recorder.lists.get(value) is None and not _same(value, held, _state(value))
        ]


def _state(value: Any) -> Any:
    """What an object holds: its items, the names of its attributes, and those; asked of no code of its class."""
    if isinstance(value, _BYTES):
        return (bytes(value),)
    own = _attributes(value)
    names, held = tuple(own), tuple(own.values())
    if hasattr(type(value), "__slots__"):
        slotted = [name for name in _slot_names(cast(Hashable, type(value))) if hasattr(value, name)]
        names, held = (*names, *slotted), (*held, *(getattr(value, name) for name in slotted))
    if isinstance(value, dict):
        kind: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
        return (*kind.keys(value), *kind.values(value)), names, held
    if isinstance(value, _HOLDING):
        base: Any = next(kind for kind in _HOLDING if isinstance(value, kind))
        return tuple(base.__iter__(value)), names, held
    if names or _own(type(value)):
        return (), names, held
    return (), names, held, *_reduced(value)


def _attributes(value: Any) -> dict[str, Any]:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return own if type(own) is dict else {}


@functools.cache
def _slot_names(cls: Hashable) -> tuple[str, ...]:
    names: Any = getattr(copyreg, "_slotnames")(cls)  # noqa: B009  # no part of copyreg's stubs
    return tuple(names)


def _reduced(value: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """What an object of which nothing else is known would be pickled as, as text; and its state."""
    try:
        made = value.__reduce_ex__(4)
        return (repr(made),), made[2:3]
    except Exception:  # it does not say: a lock, a hash, a file
        return (), ()


def _same(value: Any, before: Any, now: Any) -> bool:
    if isinstance(value, _BYTES):
        return bool(before == now)
    if isinstance(value, set):
        before, now = ((frozenset(map(id, state[0])), *state[1:]) for state in (before, now))
        if before[0] != now[0]:
            return False
        before, now = before[1:], now[1:]
    if not _own(type(value)) and not isinstance(value, _HOLDING):
        # What a class of the standard library takes down for itself, such as a text it has made, is no change.
        before, now = _without_caches(before), _without_caches(now)
    pairs = zip(before[:4], now[:4], strict=True)  # what comes behind them is there to be restored
    return all(len(a) == len(b) and all(map(_is, a, b)) for a, b in pairs)


def _is(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) is str and a == b)


def _without_caches(state: Any) -> Any:
    items, names, held, *rest = state
    kept = [(n, v) for n, v in zip(names, held, strict=True) if not n.startswith("_")]
    return items, tuple(n for n, _ in kept), tuple(v for _, v in kept), *rest


def _own(cls: type) -> bool:
    return cls.__module__.partition(".")[0] not in sys.stdlib_module_names or cls.__module__ == "__main__"


def restore(value: Any, held: Any) -> None:
    """Let an object hold again what it held."""
    if isinstance(value, array.array):
        del value[:]
        value.frombytes(held[0])
        return
    if isinstance(value, bytearray):
        value[:] = held[0]
        return
    items, names, parts = held[:3]
    if isinstance(value, dict):
        kind: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
        kind.clear(value)
        for key, part in zip(items[: len(items) // 2], items[len(items) // 2 :], strict=True):
            kind.__setitem__(value, key, part)
    elif isinstance(value, list):
        list.__setitem__(value, slice(None), items)
    elif isinstance(value, collections.deque):
        collections.deque.clear(value)
        collections.deque.extend(value, items)
    elif isinstance(value, set):
        set.clear(value)
        set.update(value, items)
    _attributes(value).clear()
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(value, name, part)
    for state in held[4] if held[4:] else ():
        value.__setstate__(state)


def uncaptured(recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)` of code that is not captured."""
    own = None if kwargs else run_own(recorder, function, args)
    own = recorder.libraries.asked(function, args, kwargs) if own is None else own
    if own is not None:
        return own[0]
    args = with_begun(recorder, function, args)
    if function is collections.namedtuple and "module" not in kwargs:  # it asks whose code called it
        frame = _where.user_frame(recorder.package)
        kwargs = kwargs if frame is None else {**kwargs, "module": frame.f_globals.get("__name__", "__main__")}
    if _is_pure(function) or str(getattr(function, "__module__", None)).startswith("weft."):
        return function(*args, **kwargs)
    if getattr(function, "__name__", None) in _FINDING and args:
        recorder.stand_ins.check_found(args[0])
    grown = takes_grown(recorder, args, kwargs)
    if grown and _recordable(function):
        return _recorded(recorder, function, args, kwargs)
    if not _only_stores(function):
        if grown:
            recorder.refuse(
                f"{_name(function)}() of a list whose length only running tells",
                help="make it an array first: np.array(items)",
            )
        args = tuple(callback(recorder, function, value) for value in args)
        kwargs = {name: callback(recorder, function, value) for name, value in kwargs.items()}
    for value in (getattr(function, "__self__", None), *args, *kwargs.values()):
        refuse_file(recorder, value)
    if len(args) == 1 and not kwargs and _adds(recorder, function, args):
        return function(*args, **kwargs)
    watch = Watch(recorder, function, *args, *kwargs.values())
    for iterator in watch.iterators:
        refuse_advance(recorder, iterator)
    if watch.traced and str(getattr(function, "__module__", None)).startswith("json"):
        recorder.refuse(f"{_name(function)}() of traced values, of which it does not know the classes", help=WRAP)
    error: BaseException | None = None
    result: Any = None
    trying = recorder.trying
    if _may_handle(function, set()):  # its handlers are not seen
        recorder.trying = (*trying, ANYTHING)
    try:
        result = function(*args, **kwargs)
    except BaseException as raised:  # whatever it has changed until then is changed
        error = raised
    finally:
        recorder.trying = trying
    changed = [(value, held) for value, held in watch.changed() if not _allowed(recorder, value)]
    if changed:
        return _settled(recorder, function, args, kwargs, changed, result, error, watch.traced)
    if error is not None:
        return _raise(recorder, function, error, watch.traced)
    held = sys.getrefcount(result) > _HELD_HERE
    return result if type(result) in _ATOMS else _noted(recorder, result, watch, held)


def _noted(recorder: Recorder, result: Any, watch: Watch, held: bool) -> Any:
    """What a call gave, noted as made by the program; or as there before, if somebody else holds it."""
    if held:
        recorder.reads.from_outside(result)
        return result
    for key, (value, _) in Watch(recorder, result).objects.items():
        if key not in watch.seen:
            recorder.made(value)
    return result


calls_of_programs.add(uncaptured.__code__)


def _may_handle(function: Any, seen: set[Any], cls: type | None = None) -> bool:
    """Whether code in Python that a call runs as it is, the functions that it names included, handles exceptions.

    Nothing of the program's runs to find out: attributes are looked up as they are held.
    """
    function = unrouted(function)
    if isinstance(function, type):
        made = (inspect.getattr_static(function, name, None) for name in ("__init__", "__new__", "__post_init__"))
        return any(_may_handle(method, seen, function) for method in made)
    if type(function) in (staticmethod, classmethod, types.MethodType):
        function = function.__func__
    elif type(function) is property:
        function = function.fget
    elif type(function) is _CACHED:
        function = function.__wrapped__
    if type(function) is not types.FunctionType or function.__code__ in seen:
        return False
    found = [*codes(function.__code__)]
    seen.add(function.__code__)
    if any(code.co_exceptiontable for code in found):
        return True
    space, names = function.__globals__, {name for code in found for name in code.co_names}
    named = (space.get(name) if cls is None else inspect.getattr_static(cls, name, space.get(name)) for name in names)
    held = gc.get_referents(*(function.__closure__ or ()))  # what its cells hold
    return any(_may_handle(each, seen, cls) for each in (*named, *held))


_OF_STAND_INS = re.compile(rf"\b({Array.__name__}|{Opaque.__name__}|{Scalar.__name__})\b")


def _raise(recorder: Recorder, function: Any, error: BaseException, traced: bool) -> NoReturn:
    """Raise what a call has raised: of a traced value it may have done so as that is not what it stands for."""
    if not traced:
        recorder.programs_error = error
    # In a script, a trace or a derivative there is no function that would raise it of the values themselves.
    here = recorder.region is recorder.root and not recorder.untyped and recorder.itself is not None
    here = here and not recorder.catches(type(error))
    if here or not traced or isinstance(error, TraceError) or not isinstance(error, Exception):
        raise error
    if isinstance(error, TypeError) and _OF_STAND_INS.search(str(error)):
        recorder.refuse(f"{_name(function)}() of traced values, which it does not take", help=WRAP)
    recorder.refuse(f"{_name(function)}() of traced values raises {type(error).__name__}: {error}", help=WRAP)


def _is_pure(function: Any) -> bool:
    try:
        return function in _PURE
    except TypeError:  # it has no hash
        return False


def _allowed(recorder: Recorder, value: Any) -> bool:
    """Whether an object was made where the program is now; its change is then noted."""
    held = id(value) in recorder.lists.held or id(value) in recorder.stand_ins.fixed
    allowed = id(value) in recorder.region.made and not held
    recorder.python_effects += allowed
    return allowed


def _settled(
    recorder: Recorder,
    function: Any,
    args: Any,
    kwargs: Any,
    changed: list[tuple[Any, Any]],
    result: Any,
    error: Any,
    traced: bool,
) -> Any:
    """What a call gives that has changed objects made elsewhere: see the beginning of this file."""
    after = [(value, _state(value)) for value, _ in changed]
    for value, held in changed:
        restore(value, held)
    if error is not None and (isinstance(error, TraceError) or not isinstance(error, Exception)):
        raise error
    values = [value for value, _ in changed]
    direct = all(any(value is given for given in (*args, *kwargs.values())) for value in values)
    if error is None and recorder.branches and direct and _recordable(function) and recorder.lists.may_own(values):
        recorder.python_effects += 1
        recorder.lists.own(*values)
        return _recorded(recorder, function, args, kwargs)
    _learn(recorder, (getattr(function, "__self__", None), *args, *kwargs.values()), values)
    for (value, held), (_, now) in zip(changed, after, strict=True):
        places = None if recorder._home(value) is None else _places(value, held, now)
        for key, label in places or ():
            if has_places(value):
                note_assigned(recorder, value, key)
            recorder.change_place(value, key, label)
        if places is None:
            recorder.change_object(value, f"{_name(function)}()")
    for value, held in after:
        restore(value, held)
    if error is not None:
        _raise(recorder, function, error, traced)
    return result


def _learn(recorder: Recorder, given: Iterable[Any], changed: list[Any]) -> None:
    """Tell of containers from outside that a call was given and has changed, in what they hold themselves as well."""
    known = [value for value in given if id(value) in recorder.reads.origins]
    for container in known:
        reached = Watch(recorder, container).objects
        if any(id(value) in reached for value in changed):
            recorder.state.changes(container)


def _places(value: Any, before: Any, now: Any) -> list[tuple[Any, str]] | None:
    """The items of a dict, or the attributes of an object, that were set; None where more than that has changed."""
    if has_places(value):
        halves = [len(state[0]) // 2 for state in (before, now)]
        old, new = (
            dict(zip(state[0][:half], state[0][half:], strict=True))
            for state, half in zip((before, now), halves, strict=True)
        )
        label = "[{!r}]"
    elif isinstance(value, (*_HOLDING, *_BYTES)) or not _own(type(value)):
        return None
    else:
        old, new = (dict(zip(held[1], held[2], strict=True)) for held in (before, now))
        label = ".{}"
    if [key for key in new if key in old] != list(old):  # some are gone, or stand elsewhere
        return None
    return [(key, label.format(key)) for key, part in new.items() if key not in old or old[key] is not part]


def _recorded(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call that may change lists of the running graph: it happens when the graph runs, in its place."""
    values = (*args, *kwargs.values())
    for value in values:
        grown = recorder.lists.get(value)
        if grown is not None:
            grown.anything()
            recorder.lists.hold(values)  # it may hold the others from now on
    if any(isinstance(value, Collected) for value in values):
        recorder.refuse(
            f"{_name(function)}() may change a list of which only running tells how many elements it has",
            help="append them to an empty list in a loop",
        )
    node = recorder.create(function, args, kwargs, None)
    node.meta["must_run"] = True
    return Opaque(recorder, node)


def ordering(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of `heapq` or `bisect` with a traced value, which is made when the graph runs."""
    changes = not function.__name__.startswith("bisect")
    for value in args:
        if recorder.lists.get(value) is not None:
            continue
        if recorder.lists.may_own([value]):
            recorder.python_effects += 1
            recorder.lists.own(value)
        elif changes and isinstance(value, list):
            recorder.change_object(value, f"{function.__name__}()")
            recorder.refuse(f"{function.__name__}() of a {type(value).__name__} and traced values", help=WRAP)
    found = _recorded(recorder, function, args, kwargs)
    if changes:
        return found
    found.node.meta["type"] = int
    return Scalar(recorder, int, found.node)


def may_change_unseen(recorder: Recorder, value: Any) -> bool:
    """Whether code that is not converted could change a value without a trace: one not made here, or of the graph."""
    if isinstance(value, Traced):
        return isinstance(value, Opaque)
    if type(value) in _ATOMS - {np.ndarray} or isinstance(value, (tuple, frozenset, type, np.generic)):
        return False
    if isinstance(value, types.BuiltinFunctionType):
        return not isinstance(value.__self__, types.ModuleType)
    return recorder.lists.get(value) is not None or recorder._home(value) is None


def takes_grown(recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    get = recorder.lists.get
    return bool(recorder.lists.grown) and any(get(value) is not None for value in (*args, *kwargs.values()))


def _recordable(function: Any) -> bool:
    """Whether a function can be called by the graph: one of a module, which holds nothing itself."""
    if isinstance(function, types.FunctionType):
        return function.__closure__ is None and not is_converted(function)
    return isinstance(function, types.BuiltinFunctionType) and isinstance(
        getattr(function, "__self__", None), (types.ModuleType, type(None))
    )


def _adds(recorder: Recorder, function: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call only adds to a container that was made where the program is now; its change is then noted.

    What such a container holds is not looked through: loops that fill one would take the square of their turns.
    """
    owner: Any = getattr(function, "__self__", None)
    known: Any = _ADDING.get(type(owner), ())
    known = known and function.__name__ in known and (type(owner) is not set or type(args[0]) in _ATOMS)
    return bool(known) and _allowed(recorder, owner)


def _only_stores(function: Any) -> bool:
    """Whether a function calls none of those it is given: containers, and their methods but for `sort(key=…)`."""
    if getattr(function, "__module__", None) == "inspect":  # it asks about them
        return True
    if isinstance(function, type):
        return not (function in _APPLYING or function.__module__ == "itertools")
    owner = getattr(function, "__self__", None)
    return owner is not None and not isinstance(owner, (types.ModuleType, type))


def callback(recorder: Recorder, function: Any, value: Any) -> Any:
    """A function of the program as code that is not captured is to call it."""
    kind = type(value)
    if kind is types.FunctionType:
        own = not is_converted(value) and _of_program(value)
        return _calling(recorder, value) if own else value
    if kind in _METHODS or kind is functools.partial or kind is types.MethodType:
        held = value.func if kind is functools.partial else value.__self__
        return value if kind is not functools.partial and type(held) in _ATOMS else _calling(recorder, value)
    if isinstance(value, type):
        applied = function in _APPLYING or getattr(function, "__module__", None) == "itertools"
        return _calling(recorder, value) if applied and _own(value) else value
    return value


def _calling(recorder: Recorder, function: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return recorder.call(function, args, kwargs)

    setattr(call, _CAPTURED, True)
    return functools.update_wrapper(call, function, updated=()) if hasattr(function, "__name__") else call


def _of_program(function: Any) -> bool:
    from weft.capture._running import _is_library

    return not _is_library(function)


def holds_traced(recorder: Recorder, value: Any) -> bool:
    """Whether an object that can be called, but is no function or class, holds something traced."""
    kind = type(value)
    return kind not in _ATOMS and not isinstance(value, type) and Watch(recorder, value).traced


def refuse_advance(recorder: Recorder, value: Any) -> None:
    """Refuse to take items of an iterator, here, that was made outside a branch or loop."""
    if not hasattr(type(value), "__next__"):
        return
    refuse_file(recorder, value)
    if recorder.region is recorder.root:
        return
    if recorder._home(value) not in (None, recorder.region):
        recorder.refuse(
            f"an iterator made outside a branch or loop is advanced inside it (a {type(value).__name__})",
            help="count in a variable, and take the elements of a list or an array by it",
        )


def _name(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", type(function).__name__)
    if owner is not None and not isinstance(owner, types.ModuleType):
        return f".{name}"
    module = getattr(function, "__module__", None) or ""
    module = {"builtins": "", "_operator": "operator", "_heapq": "heapq", "_bisect": "bisect"}.get(module, module)
    return f"{module}.{name}" if module else name
