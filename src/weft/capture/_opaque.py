"""Values of which the type is not known: what wrapped functions give, lists that grow, and everything in a script.

What is done with one is recorded as Python does it: operators and attributes as they are, writes in their order.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._values import CONTAINERS, Array, Scalar, Traced
from weft.graph import Node
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


NUMERIC = "biufc"
"""The kinds of dtypes that operations are known of."""


class Opaque(Traced):
    """A value of unknown type. `example`, where there is one, is an object of the same class."""

    __slots__ = ("_node", "example", "name", "spent")

    def __init__(self, recorder: Recorder, node: Node | None, example: Any = None) -> None:
        self.recorder = recorder
        self._node = node
        self.example = example
        self.name: str | None = None
        self.spent = False  # whether it is an iterator whose items were taken out all at once

    @property
    def node(self) -> Node:
        assert self._node is not None
        if self.spent:
            self.recorder.refuse(
                "an iterator that is used again: how far it was gone through is known only when it runs",
                help="make an iterator for each use, iter(...), or go through the items by their places",
            )
        return self.recorder.region.lift(self._node)

    def _described(self) -> str:
        return f"<traced {self._node.name if self._node is not None else 'attribute'}>"

    def __copy__(self) -> Any:
        return self.recorder.opaque(copy.copy, (self,), {})

    def __deepcopy__(self, memo: Any) -> Any:
        return self.recorder.opaque(copy.deepcopy, (self,), {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__class__":
            raise AttributeError(name)
        return self.recorder.numpy.opaque_attribute(self, name)

    def keep(self) -> None:
        """Note that the program has it in a variable."""

    @property
    def real(self) -> Any:
        return self.recorder.opaque_member(self, "real")

    @property
    def imag(self) -> Any:
        return self.recorder.opaque_member(self, "imag")

    def __getitem__(self, key: Any) -> Any:
        return self.recorder.opaque(operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        from weft.capture._own_operators import refuse_changing

        state = self.recorder.state
        type_ = None if self._node is None else self._node.meta.get("type")
        if isinstance(type_, Spec) and type_.dtype.hasobject:
            refuse_changing(self.recorder, (value,))
        self.recorder.lists.hold(value)
        self.recorder.stores += 1
        (kept,) = state.handed((value,)) if state.used else (value,)
        self.recorder.create(operator.setitem, (self, key, kept), {}, None)

    def assign(self, name: str, value: Any) -> None:
        """`self.name = value`."""
        self.recorder.create(setattr, (self, name, value), {}, None)

    def delete(self, name: str) -> None:
        """`del self.name`."""
        self.recorder.create(delattr, (self, name), {}, None)

    def __len__(self) -> int:
        raise self.recorder.refuse_value(self, "len() in code that is not captured")

    def __iter__(self) -> Iterator[Any]:
        return self.recorder.refuse(
            "a loop over a value of unknown length, in code that is not captured", help="loop over it with `for`"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.opaque(operator.call, (self, *args), kwargs)


class Member(Opaque):
    """An attribute of a value of unknown type, read where the program reads it.

    Called at once it is a call of a method, and nothing needs what was read.
    """

    __slots__ = ("attribute", "kept", "owner")

    def __init__(self, recorder: Recorder, owner: Opaque, attribute: str) -> None:
        super().__init__(recorder, recorder.create(getattr, (owner, attribute), {}, None))
        self.owner = owner
        self.attribute = attribute
        self.kept = False

    def keep(self) -> None:
        self.kept = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.kept:
            return super().__call__(*args, **kwargs)
        if self._node is not None and not self._node.users:
            self._node.meta.pop("raises", None)
        return self.recorder.call_method(self.owner, self.attribute, args, kwargs)


def _in_place(function: Any) -> Any:
    def changed(self: Opaque, other: Any) -> Any:
        self.recorder.stores += 1
        return self.recorder.opaque(function, (self, other), {})

    return changed


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    setattr(Opaque, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))


_OF_KNOWN_TYPE = frozenset({bool, int, float, complex, str, type(None), Array, Scalar})


def is_opaque(value: Any) -> bool:
    """Whether a value, or something a plain container holds, is of unknown type."""
    kind = type(value)
    if kind in _OF_KNOWN_TYPE:
        return False
    if kind is tuple or kind is list:
        parts = value
    elif kind is dict:
        parts = value.values()
    elif kind is slice:
        parts = (value.start, value.stop, value.step)
    elif isinstance(value, CONTAINERS):
        parts = value.values() if isinstance(value, dict) else value
    else:
        return isinstance(value, Opaque)
    # Asked of every argument of every call: the test in the loop spares a call for each part.
    for part in parts:  # noqa: SIM110  # a generator would cost more than all else here
        if type(part) not in _OF_KNOWN_TYPE and is_opaque(part):
            return True
    return False


def is_traceable(value: Any) -> bool:
    """Whether an array or a Tensor does what is known of arrays of numbers; texts, records and np.matrix do not."""
    return value.dtype.kind in NUMERIC and (not isinstance(value, np.ndarray) or type(value) in (np.ndarray, np.memmap))
