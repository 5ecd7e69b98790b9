"""What the graph of a compiled program calls to change Python objects that its caller owns.

All of them are effects to a graph: they stay, in the order in which the program has them.
"""

from __future__ import annotations

import functools
import types
from contextvars import ContextVar
from typing import Any

from weft.graph._effects import HOLDS, WITHIN, has_side_effect


@has_side_effect
def set_state(owner: Any, name: str, value: Any) -> Any:
    """`owner.name = value`, past any `__setattr__` of a class of the program's own; `value` itself.

    `owner` may be the cell of a variable or the dict of a module, too.
    """
    if isinstance(owner, types.CellType):
        owner.cell_contents = value
    elif type(owner) is dict:
        owner[name] = value
    elif isinstance(owner, type):
        type.__setattr__(owner, name, value)
    elif isinstance(type(owner).__setattr__, types.FunctionType):
        object.__setattr__(owner, name, value)
    else:
        setattr(owner, name, value)
    return value


opened: ContextVar[list[Any]] = ContextVar("weft_opened")
"""What takes back what the running graph has changed for now, the last change last."""


@has_side_effect
def set_for_now(owner: Any, name: str, value: Any) -> Any:
    """The same, until `set_back`, or something that is raised, takes it back."""
    was = own_value(owner, name)
    set_state(owner, name, value)
    opened.get().append(functools.partial(restore, owner, name, was))
    return value


@has_side_effect
def set_back(owner: Any, name: str, value: Any) -> Any:
    """`owner.name = value`, which is what it was before."""
    opened.get().pop()
    return set_state(owner, name, value)


class put_back:
    """Within, what `set_for_now` has changed is as before where something is raised.

    >>> made = Space({"level": 1})
    >>> with put_back():
    ...     _ = set_for_now(made, "level", 2)
    ...     raise ValueError
    Traceback (most recent call last):
        ...
    ValueError
    >>> made.level
    1
    """

    def __enter__(self) -> None:
        self.token = opened.set([])

    def __exit__(self, *raised: object) -> None:
        changes = opened.get()
        opened.reset(self.token)
        for take_back in reversed(changes):
            take_back()


@has_side_effect
def delete_state(owner: Any, name: str) -> None:
    """`del owner.name`."""
    if isinstance(owner, types.CellType):
        del owner.cell_contents
    elif type(owner) is dict:
        del owner[name]
    elif isinstance(owner, type):
        type.__delattr__(owner, name)
    elif isinstance(type(owner).__delattr__, types.FunctionType):
        object.__delattr__(owner, name)
    else:
        delattr(owner, name)


@has_side_effect
def new_object(cls: Any, names: tuple[str, ...], *values: Any) -> Any:
    """An object of a class, with these attributes."""
    made = cls.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


@has_side_effect
def new_container(value: Any) -> Any:
    """A container that was made for this call of it."""
    return value


def one_of(test: Any, first: Any, second: Any) -> Any:
    """One of two functions or objects.

    >>> one_of(1 > 2, len, sum)
    <built-in function sum>
    """
    return first if test else second


MISSING: Any = object()


def of_class(cls: type, name: str) -> Any:
    """What a class holds by a name, a descriptor itself and not what that gives; None where there is nothing."""
    return next((part.__dict__[name] for part in cls.__mro__ if name in part.__dict__), None)


def own_value(owner: Any, name: str) -> Any:
    """What a place itself holds, not the class of an object: MISSING where that is nothing."""
    if isinstance(owner, types.CellType):
        try:
            return owner.cell_contents
        except ValueError:
            return MISSING
    if type(owner) is dict:
        return owner.get(name, MISSING)
    if name in (dict_of(owner) or ()):
        return owner.__dict__[name]
    slot = of_class(type(owner), name)
    try:
        return slot.__get__(owner) if isinstance(slot, types.MemberDescriptorType) else MISSING
    except AttributeError:  # nothing was assigned yet
        return MISSING


def dict_of(value: Any) -> Any:
    """The attributes of an object by name, None where it has none: a `__getattr__` of its class is not asked."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return _dict_of_compiled(value)


def _dict_of_compiled(value: Any) -> Any:
    """The same of an object whose class, in C, looks attributes up itself: a `threading.local`, a Fortran function."""
    cls = type(value)
    if hasattr(cls, "__getattr__") or isinstance(cls.__getattribute__, types.FunctionType):
        return None
    found = getattr(value, "__dict__", None)
    return found if type(found) is dict else None


def restore(owner: Any, name: str, was: Any) -> None:
    """Let a place hold what it held."""
    if was is not MISSING:
        set_state(owner, name, was)
    elif own_value(owner, name) is not MISSING:
        delete_state(owner, name)


class Space:
    """What a saved graph reads and changes of an object that is not there any more: its attributes."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    def train(self, mode: bool) -> None:
        """What `module.train(mode)` says."""
        self.__dict__["training"] = mode


@has_side_effect
def set_saved(owner: Any, name: str, value: Any) -> Any:
    """What `set_state` is in a file: of what came with it, and of nothing else."""
    return set_state(_saved(owner), name, value)


@has_side_effect
def delete_saved(owner: Any, name: str) -> None:
    """What `delete_state` is in a file."""
    del _saved(owner).__dict__[name]


def _saved(owner: Any) -> Any:
    if type(owner) is not Space:
        raise TypeError(f"a {type(owner).__name__} did not come with the file, which may not change it")
    return owner


_HOLDING: tuple[Any, ...] = (set_state, set_for_now, set_back, set_saved, new_object, new_container, one_of)
for _function in _HOLDING:
    setattr(_function, HOLDS, True)
for _function in _HOLDING[1:3]:
    setattr(_function, WITHIN, put_back)
