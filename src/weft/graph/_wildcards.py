"""What a pattern may hold besides ops: a choice of ops, and parameters that match only some values.

The public names are in `weft.patterns`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.errors import GraphError
from weft.graph._arguments import nodes_in
from weft.graph._node import Node
from weft.ops._op import _handler


class OneOf:
    """One of several functions: in a pattern it matches any of them, in the replacement it calls the one found.

    The same object stands for the same function throughout a match; use two objects for two choices.
    """

    def __init__(self, *choices: Callable[..., Any] | str) -> None:
        if not choices or not all(callable(choice) or isinstance(choice, str) for choice in choices):
            raise TypeError("one_of takes functions, or names of methods, at least one")
        self.choices = choices
        self.__name__ = "one_of"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        handler = None
        for arg in (*args, *kwargs.values()):
            handler = _handler(arg, handler)
        if handler is None:
            raise GraphError("one_of(…) stands for a function in a pattern; outside one there is nothing to choose by")
        return handler.__weft_op__(self, args, kwargs)

    def __repr__(self) -> str:
        names = (
            choice if isinstance(choice, str) else getattr(choice, "__name__", repr(choice)) for choice in self.choices
        )
        return f"one_of({', '.join(names)})"


class Restriction:
    """A condition on what a pattern's parameter matches, written as its annotation or as a guard."""

    def __init__(self, name: str, test: Callable[[Any], bool], doc: str) -> None:
        self.__name__ = name
        self.__doc__ = doc
        self._test = test

    def __call__(self, value: Any) -> bool:
        return self._test(value)

    def __repr__(self) -> str:
        return f"weft.patterns.{self.__name__}"


def is_constant(value: Any) -> bool:
    """Whether an argument holds no node: its value is known."""
    return not nodes_in(value)


def is_node(value: Any) -> bool:
    """Whether an argument is a node: its value is known only when the graph runs."""
    return isinstance(value, Node)


def is_number(value: Any) -> bool:
    """Whether an argument is a number written in the program."""
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)
