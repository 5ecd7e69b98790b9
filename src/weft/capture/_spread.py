"""`f(*values, **options)` and `[*values, x]` of values of which only running tells how many they hold.

    colours = names(*found.shape)       # gathered = (*found.shape,); colours = apply(names, gathered, ())

While it is captured, one `Spread` stands for all that such a value holds.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._iterables import Collected
from weft.capture._opaque import Opaque
from weft.capture._values import Traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_KINDS: dict[str, Any] = {"tuple": tuple, "list": list, "set": set}
_DRAWING = (np.random.Generator, np.random.RandomState)


class Spread:
    """The items of a value, or of a dict its keywords."""

    __slots__ = ("value",)

    def __init__(self, value: Opaque) -> None:
        self.value = value


def spread(recorder: Recorder, value: Any) -> Any:
    """What stands for the items of `*value` while it is captured."""
    if isinstance(value, Collected) and not recorder.can_decide(value.length):
        value = Opaque(recorder, value.as_list())
    return (Spread(value),) if isinstance(value, Opaque) else value


def gathered(kind: str, *parts: Any) -> Any:
    """`[*a, *b]`, or a tuple or set of them."""
    return _KINDS[kind](itertools.chain(*parts))


def apply(function: Any, args: Any, named: Any) -> Any:
    """`function(*args, **a, **b)`, where `named` holds a and b."""
    keywords: dict[str, Any] = {}
    for part in named:
        for key in keywords.keys() & part.keys():
            function(**{key: None}, **{key: None})  # raises, in the function's name
        keywords.update(part)
    return function(*args, **keywords)


def keywords_of(value: Any, count: int) -> Any:
    """What stands for the keywords of a call that `**value` gives."""
    return {f"**{count}": Spread(value)} if isinstance(value, Opaque) else value


def has_spread(values: Any) -> bool:
    """Whether something stands for values of unknown number."""
    return any(type(value) is Spread for value in values)


def display(recorder: Recorder, value: Any) -> Any:
    """A tuple, list or set as it was written, with stars."""
    if not has_spread(value):
        return value
    return recorder.opaque(gathered, (type(value).__name__, *_segments(value)), {})


def call_spread(recorder: Recorder, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A call that is given so many arguments as running tells: it is made when the graph runs."""
    if function is np.seterr:
        return recorder.run(function, args, dict(kwargs))
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _DRAWING) or getattr(function, "__module__", None) == "numpy.random":
        recorder.refuse("random numbers drawn with arguments of unknown number", help="give the arguments one by one")
    positional: Any = args
    if has_spread(args):
        positional = recorder.opaque(gathered, ("tuple", *_segments(args)), {})
    named: list[Any] = []
    for name, value in kwargs.items():
        if type(value) is Spread:
            named.append(value.value)
        elif named and type(named[-1]) is dict:
            named[-1][name] = value
        else:
            named.append({name: value})
    if isinstance(function, types.MethodType) and not isinstance(owner, (Traced, type, types.ModuleType)):
        recorder.touched.meet_computed(owner, function.__name__)
        function = recorder.opaque(getattr, (owner, function.__name__), {})
    elif isinstance(function, (types.FunctionType, type)):
        recorder.touched.meet(function, (args, dict(kwargs)))
    return recorder.libraries.record(apply, (function, positional, tuple(named)), {})


def _segments(values: Any) -> list[Any]:
    """What a display is made of: tuples of values, and values that hold an unknown number."""
    made: list[Any] = []
    for value in values:
        if type(value) is Spread:
            made.append(value.value)
        elif made and type(made[-1]) is tuple:
            made[-1] = (*made[-1], value)
        else:
            made.append((value,))
    return made
