"""`wrap`: make a function of your own one node of the graph instead of tracing into it.

What a wrapped function does to arrays shows: they are the same arrays when the graph runs. A list or dict that the
program made is another one at each run, so one that a wrapped function changes is an error when the graph runs.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from weft import _where, pytree
from weft.capture._proxy import Proxy
from weft.errors import CaptureError
from weft.graph._effects import CHECKS, has_side_effect

_READING = (len, sum, min, max, sorted, any, all, abs, str, repr, list, tuple, print)
"""Functions of Python's that change nothing they are given."""
_later: list[tuple[dict[str, Any], str]] = []
"""Names given to `wrap` before they were defined, with the globals they will be in."""


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Record calls of a function as one `call_function` node.

    `@weft.wrap` and `half = weft.wrap(half)` give the wrapped function. As a statement, `weft.wrap(half)` and
    `weft.wrap("half")` rebind the name in the module (or class body) they stand in: a function of it, an imported one,
    a builtin such as `len`. Given as text the name may be defined later. Called with ordinary values the function does
    what it always did.

    >>> import weft
    >>> @weft.wrap
    ... def half(x):
    ...     return x / 2 if x > 1 else x
    >>> print(weft.symbolic_trace(lambda x: half(x) + 1).graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %half : [num_users=1] = call_function[target=half](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=operator.add](args = (%half, 1), kwargs = {})
        return add
    """
    frame = sys._getframe(1)
    if isinstance(fn_or_name, str):
        _wrap_name(frame, fn_or_name)
        return fn_or_name
    function: Any = fn_or_name
    if isinstance(function, (staticmethod, classmethod)):
        made: Any = type(function)(_recorded(function.__func__))
    elif callable(function) and not isinstance(function, type):
        made = _recorded(function)
    else:
        kind = "a class" if isinstance(function, type) else type(function).__name__
        raise TypeError(f"wrap takes a function or the name of one, not {kind}")
    if made is not function and _is_statement(frame):
        _rebind(frame, function, made)
    return made


def _wrap_name(frame: FrameType, name: str) -> None:
    if not name.isidentifier():
        raise NameError(f"wrap: {name!r} is not a name; import the function and wrap the name it then has")
    if not _is_module(frame):
        raise RuntimeError("wrap('name') must be called at the top level of a module; use it as a decorator elsewhere")
    scope = frame.f_globals
    if name not in scope and not hasattr(builtins, name):
        _later.append((scope, name))
        return
    function = scope.get(name, getattr(builtins, name, None))
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"wrap: {name!r} is {'a class' if isinstance(function, type) else 'no function'} here")
    scope[name] = _recorded(function)


def wrap_later_names() -> None:
    """Wrap what was named before it was defined; every capture begins with this."""
    for scope, name in [*_later]:
        if name in scope:
            _later.remove((scope, name))
            if not callable(scope[name]):
                raise TypeError(f"weft.wrap({name!r}): {name} of {scope.get('__name__')} is no function")
            scope[name] = _recorded(scope[name])


def _is_module(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>" or frame.f_locals is frame.f_globals


def _is_statement(frame: FrameType) -> bool:
    """Whether nothing takes the result of the call that a frame stands at."""
    return _where.following_instruction(frame) == "POP_TOP"


def _rebind(frame: FrameType, function: Any, made: Any) -> None:
    """Give a function's names in a module or class body to what replaces it."""
    name = getattr(function, "__name__", "f")
    if not _is_module(frame) and "__qualname__" not in frame.f_locals:
        raise RuntimeError(
            f"weft.wrap({name}) as a statement has no effect in a function: write {name} = weft.wrap({name})"
        )
    scope = frame.f_globals if _is_module(frame) else frame.f_locals
    names = [key for key, value in scope.items() if value is function]
    if not names:
        raise NameError(
            f"weft.wrap({name}) as a statement: no name of this module stands for it; import it by name, or write "
            f"f = weft.wrap({name})"
        )
    scope.update(dict.fromkeys(names, made))


def is_wrapped(function: Any) -> bool:
    """Whether calls of a function are recorded whole."""
    return getattr(function, "_weft_wrapped", False) is True


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(function, "_weft_wrapped", False):
        return function

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        for leaf in pytree.leaves_of((args, kwargs)):
            if isinstance(leaf, Proxy):
                called = record_call(leaf.tracer.create_call, wrapped, args, kwargs)
                leaf.tracer._wrote = getattr(called, "node", None)
                return called
        return function(*args, **kwargs)

    wrapped._weft_wrapped = True  # type: ignore[attr-defined]  # functions take attributes
    return wrapped


class ProxyableClassMeta(type):
    """The class of classes of which an object that is made of traced values is a node of the graph.

    >>> import weft
    >>> class Pair(metaclass=weft.ProxyableClassMeta):
    ...     def __init__(self, left, right): self.left, self.right = left, right
    >>> gm = weft.symbolic_trace(lambda x: Pair(x, x + 1))
    >>> gm(1).right
    2
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        for leaf in pytree.leaves_of((args, kwargs)):
            if isinstance(leaf, Proxy):
                return leaf.tracer.create_call(cls, args, kwargs)
        return super().__call__(*args, **kwargs)


# What a wrapped function may do to what it is given


def record_call(
    create: Callable[..., Any],
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    is_real: Callable[[Any], bool] = lambda value: False,
) -> Any:
    """Record a call of a wrapped function by `create(function, args, kwargs)`, and the check that follows it.

    `is_real` says of a container that the running graph has it as an object of its own: changes of that one show.
    """
    if getattr(function, "__wrapped__", None) in _READING:
        return create(function, args, kwargs)
    held: list[tuple[Any, Any]] = []
    passing = _Temporary()

    def shared(place: int | str, value: Any) -> Any:
        if not _is_changeable(value, is_real) or passing.holds(place, value):
            return value
        made = create(as_given, (value,), {})
        held.append((made, value))
        return made

    args = tuple([shared(k, value) for k, value in enumerate(args)])
    kwargs = {key: shared(key, value) for key, value in kwargs.items()}
    result = create(function, args, kwargs)
    for made, value in held:
        create(still_as_given, (made, value, getattr(function, "__name__", "a function"), result), {})
    return result


def _is_changeable(value: Any, is_real: Callable[[Any], bool] = lambda value: False) -> bool:
    """Whether a value holds a list or the like that exists for the call alone."""
    opened = pytree.parts_of(value)
    if opened is None:
        return isinstance(value, set)
    frozen = isinstance(value, tuple) or getattr(getattr(value, "__dataclass_params__", None), "frozen", False)
    return any(_is_changeable(part, is_real) for part in opened[0]) if frozen else not is_real(value)


class _Temporary:
    """Which arguments of the call now running are written out in it: nobody sees what becomes of them."""

    def __init__(self) -> None:
        self._call: ast.Call | None = None
        self._looked = False

    def holds(self, place: int | str, value: Any) -> bool:
        """Whether the argument at a position, or of a name, is such a one."""
        if not self._looked:
            self._call, self._looked = _call_now(), True
        if self._call is None:
            return False
        if isinstance(place, str):
            return any(word.arg == place and _is_fresh(word.value, value) for word in self._call.keywords)
        given = self._call.args[: place + 1]
        starred = any(isinstance(arg, ast.Starred) for arg in given)
        return len(given) > place and not starred and _is_fresh(given[place], value)


def _call_now() -> ast.Call | None:
    """The call that the innermost line of the user's program stands at, as it is written."""
    place = _where.user_location()
    if place is None or place.column is None or place.end_line is None or place.end_column is None:
        return None
    lines = [linecache.getline(place.file, number) for number in range(place.line, place.end_line + 1)]
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    try:
        written = ast.parse(f"({''.join(lines)})", mode="eval").body
    except SyntaxError:
        return None
    return written if isinstance(written, ast.Call) else None


def _is_fresh(written: ast.expr, value: Any) -> bool:
    """Whether an expression makes every list and dict that its value holds."""
    if not _is_changeable(value):
        return True
    if isinstance(written, (ast.List, ast.Tuple)) and isinstance(value, (list, tuple)):
        return len(written.elts) == len(value) and all(map(_is_fresh, written.elts, value))
    if isinstance(written, ast.Dict) and isinstance(value, dict):
        return len(written.values) == len(value) and all(map(_is_fresh, written.values, value.values()))
    parts = value.values() if isinstance(value, dict) else value
    return isinstance(written, (ast.ListComp, ast.DictComp)) and not any(map(_is_changeable, parts))


def as_given(value: Any) -> Any:
    """The value itself: a container that the call of a wrapped function and the check after it share."""
    return value


@has_side_effect
def still_as_given(now: Any, before: Any, name: str, result: Any = None) -> None:
    """Raise an error where a wrapped function has changed a container that it was given, or gives that one back.

    >>> still_as_given([1, 2], [1, 2], "add")
    >>> still_as_given([1, 2, 3], [1, 2], "add")
    Traceback (most recent call last):
        ...
    weft.errors.CaptureError: add changes a list that it was given: the program around it would not see that
      help: return the new contents, change a copy, or leave out weft.wrap
    """
    if not _same(now, before):
        raise CaptureError(
            f"{name} changes a {type(now).__name__} that it was given: the program around it would not see that",
            help="return the new contents, change a copy, or leave out weft.wrap",
        )
    given = {id(value) for value in _changeable_in(now)}
    for value in _changeable_in(result):
        if id(value) in given:
            raise CaptureError(
                f"{name} gives back a {type(value).__name__} that it was given: the program around it has its own",
                help="return a copy, or leave out weft.wrap",
            )


setattr(still_as_given, CHECKS, True)


def reading_arrays(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function on arrays that it may not change: a derivative would not follow that.

    >>> import numpy as np
    >>> reading_arrays(np.ndarray.fill, np.ones(2), 3)
    Traceback (most recent call last):
        ...
    weft.errors.CaptureError: fill changes an array that it was given: no derivative follows that
      help: return the new array, or change a copy
    """
    name = getattr(function, "__name__", "a function")
    args, kwargs = pytree.map(_fixed, (args, kwargs))
    given = [*args, *kwargs.values()]
    before = pytree.map(lambda leaf: leaf, given)
    try:
        result = function(*args, **kwargs)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        message = f"{name} changes an array that it was given: no derivative follows that"
        raise CaptureError(message, help="return the new array, or change a copy") from error
    for now, was in zip(given, before, strict=True):
        still_as_given(now, was, name)
    return result


def _fixed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def _changeable_in(value: Any) -> list[Any]:
    """The containers in a value that can be changed."""
    waiting, found, seen = [value], [], set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            opened = pytree.parts_of(value)
            waiting += opened[0] if opened else []
            if isinstance(value, set) or (opened is not None and not isinstance(value, tuple)):
                found.append(value)
    return found


def _same(now: Any, before: Any) -> bool:
    """Whether containers hold the same objects."""
    if now is before:
        return True
    if type(now) is not type(before):
        return False
    opened, other = pytree.parts_of(now), pytree.parts_of(before)
    if opened is None or other is None:
        return isinstance(now, (int, float, complex, str, bytes, set)) and bool(now == before or now != now)
    return opened[1] == other[1] and len(opened[0]) == len(other[0]) and all(map(_same, opened[0], other[0]))
