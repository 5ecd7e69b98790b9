"""What the graph of a compiled program calls to change Python objects that its caller owns.

All of them are effects to a graph: they stay, in the order in which the program has them.
"""

from __future__ import annotations

import types
from typing import Any

from weft.graph._effects import HOLDS, has_side_effect


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


for _function in (set_state, set_saved, new_object, new_container):
    setattr(_function, HOLDS, True)
