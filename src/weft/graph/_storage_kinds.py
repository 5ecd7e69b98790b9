"""What the result of a node may share memory with, and what a key selects: the facts `_storage` reasons from.

Only functions known to give memory of their own are taken to do so. Of everything else the result may be, or show, any
of the arguments; of functions that are not ours it may also be memory from elsewhere.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from weft.graph._code_program import GETITEMS, INDEX_ADD, INDEX_UPDATE, Program
from weft.graph._code_values import Plain
from weft.graph._effects import CHECKS, DRAWS, HOLDS, MEMORY
from weft.graph._node import Node
from weft.ops._op import OWN, VIEW, Op, op_of
from weft.ops._spec import Spec

NUMBERS = (int, float, bool, complex)

_OPERATORS = frozenset(
    getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift neg pos invert abs "
    "lt le eq ne gt ge".split()
)
_CONCATENATES = frozenset({operator.add, operator.mul})
_NO_ARRAYS = frozenset({len, int, float, bool, complex, str, isinstance, operator.not_, operator.truth, operator.index})
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes"})
_OWN_METHODS = frozenset(
    "copy sum mean max min prod std var all any argmax argmin cumsum cumprod dot item tolist clip round".split()
)
_LIST_METHODS = frozenset("append clear extend insert pop remove reverse".split())
_VIEW_METHODS = frozenset("reshape transpose swapaxes ravel squeeze view".split())

OTHER, NOTHING = "other", "nothing"
_WITHOUT_OUT = 4  # arguments that a call of `draw` has at the most where none is an array to write into


def sharing(statement: Plain, keys: Keys) -> str:
    """Where the memory of a result may lie: OWN and VIEW as ops say it, OTHER: anywhere, NOTHING: it has none."""
    node = statement.node
    known = statement.value.type
    if isinstance(known, type) and known in NUMBERS:
        return NOTHING
    if node.op == "call_method":
        name = node.target
        return OWN if name in _OWN_METHODS else VIEW if name in _VIEW_METHODS else OTHER
    if node.op != "call_function":
        return OTHER
    target = node.target
    if target in GETITEMS and len(statement.args) == 2 and not statement.kwargs:
        return _item(statement, keys)
    if target is getattr and len(statement.args) == 2:
        name = statement.args[1]
        return NOTHING if name in _FACTS else VIEW if name in ("T", "mT") else OTHER
    try:
        if target in _OPERATORS:
            return VIEW if target in _CONCATENATES and not is_spec(statement.value.type) else OWN
        if target in _NO_ARRAYS:
            return NOTHING
    except TypeError:
        return OTHER
    if getattr(target, "__module__", None) == "math":
        return NOTHING
    found = op_of(target)
    if found is None:
        return str(getattr(target, MEMORY, OTHER))
    return OTHER if "out" in statement.kwargs else _of_op(found, statement)


def gives_own(node: Node) -> bool:
    """Whether the result of a node surely lies in memory of its own."""
    if node.op != "call_function" or not is_spec(node.meta.get("type")):
        return False
    try:
        if node.target in _OPERATORS:
            return True
    except TypeError:
        return False
    op = op_of(node.target)
    return op is not None and "out" not in node.kwargs and _of_op(op, node) == OWN  # type: ignore[arg-type]  # both have kwargs


def _of_op(op: Op, statement: Plain) -> str:
    if op.name == "astype":
        return OWN if statement.kwargs.get("copy", True) is True else OTHER
    if op.name == "reshape" and statement.kwargs.get("copy") is True:
        return OWN
    return op.memory if op.memory in (OWN, VIEW) else OTHER


def _item(statement: Plain, keys: Keys) -> str:
    kinds = keys.kinds(statement.args[1])
    if "array" in kinds or "mask" in kinds:
        return OWN
    spec = statement.value.type
    # An element of an array is a scalar of its own, but with an Ellipsis it is an array that shows the element.
    return NOTHING if is_spec(spec) and spec.shape == () and kinds <= {"number"} else VIEW


# Keys


def parts_of(key: Any) -> tuple[Any, ...]:
    return key if type(key) is tuple else (key,)


def _part(part: Any) -> str:
    if part is None or part is Ellipsis:
        return "plain"
    if isinstance(part, slice):
        return "plain"
    if isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
        return "number"
    if isinstance(part, np.ndarray):
        return "mask" if part.dtype.kind == "b" else "array"
    return "unknown"


class Keys:
    """What keys are made of, by what is known of the values in them."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def kinds(self, key: Any) -> set[str]:
        """The kinds of the parts of a key: plain, number, mask, array, unknown."""
        return {self._kind(part) for part in parts_of(key)}

    def is_basic(self, key: Any) -> bool:
        """Whether a key is made of integers and slices."""
        return self.kinds(key) <= {"plain", "number"}

    def is_view(self, key: Any) -> bool:
        """Whether a key surely selects a view. An integer in an array of no dimensions selects a copy."""
        computed = [part for part in parts_of(key) if isinstance(part, Node)]
        return self.is_basic(key) and all(self._program.values[part].type is int for part in computed)

    def is_simple(self, key: Any) -> bool:
        """Whether `x[key] = value` is what index_update means: no index twice, or in the order they are given."""
        kinds = [self._kind(part) for part in parts_of(key)]
        return "unknown" not in kinds and kinds.count("array") + kinds.count("mask") <= 1

    def adds_simply(self, array: Any, key: Any, value: Any) -> bool:
        """Whether `x[key] += value` is what index_add means: no index twice, and to the bit the same sum.

        Integers are not: an element of an array, once taken out of it, warns where it overflows.
        """
        base = self.type(array)
        kinds = [self._kind(part) for part in parts_of(key)]
        if not is_spec(base) or base.dtype.kind not in "fc" or "unknown" in kinds or "array" in kinds:
            return False
        rank = len(base.shape) - kinds.count("number") + sum(part is None for part in parts_of(key))
        given = self.type(value)
        if given in (int, float, complex):
            # A number of Python's takes the precision of the array, but where it is computed it may be one of NumPy's.
            wide = base.dtype in (np.dtype(float), np.dtype(complex)) or not isinstance(value, Node)
            return wide and (given is not complex or base.dtype.kind == "c")
        return (
            is_spec(given)
            and np.result_type(base.dtype, given.dtype) == base.dtype
            and len(given.shape) <= (0 if "mask" in kinds else rank)
        )

    def rank(self, update: Plain) -> int:
        """How many dimensions the part of an array has that a basic key selects; 1 where that is not known."""
        base, parts = self.type(update.args[0]), parts_of(update.args[1])
        if not is_spec(base):
            return 1
        numbers = sum(self._kind(part) == "number" for part in parts)
        return len(base.shape) - numbers + sum(part is None for part in parts)

    def type(self, argument: Any) -> Any:
        """What is known of an argument: a Spec, a Python type, or None."""
        if isinstance(argument, Node):
            return self._program.values[argument].type if argument in self._program.values else None
        if isinstance(argument, (np.ndarray, np.generic)):
            return Spec(argument.shape, argument.dtype)
        return type(argument) if type(argument) in NUMBERS else None

    def _kind(self, part: Any) -> str:
        if isinstance(part, slice):
            bounds = (self._kind(bound) for bound in (part.start, part.stop, part.step) if bound is not None)
            return "plain" if all(kind == "number" for kind in bounds) else "unknown"
        if isinstance(part, list) and part and all(self._kind(each) == "number" for each in part):
            return "array"
        if not isinstance(part, Node):
            return _part(part)
        known: Any = self._program.values[part].type if part in self._program.values else None
        if known is int:
            return "number"
        if not is_spec(known):
            return "unknown"
        if known.dtype.kind == "b":
            return "mask"
        return ("number" if known.shape == () else "array") if known.dtype.kind in "iu" else "unknown"


def is_spec(known: Any) -> bool:
    return isinstance(known, Spec)


def is_update(statement: Any) -> bool:
    """Whether a statement is `index_update(x, key, value)`, or `index_add`, of a value of the program."""
    return (
        isinstance(statement, Plain)
        and (statement.node.target is INDEX_UPDATE or statement.node.target is INDEX_ADD)
        and len(statement.args) == 3
        and not statement.kwargs
        and isinstance(statement.args[0], Node)
    )


def writes_directly(node: Node) -> bool:
    """Whether a node itself changes memory, as the statements of an untyped capture do."""
    if node._op not in ("call_function", "call_method") or node._target is builtins.print:
        return False
    if node.bodies or (node.op == "call_function" and not node._input_nodes):
        return False  # what is in bodies is asked for itself; what is given no value has none to write to
    if node.op == "call_function" and node.meta.get("handed"):
        return False  # what it was given is written later by `written` alone, and what it gives may share all of that
    return node.is_impure(impure_random=False) and not (
        is_check(node) or changes_list(node) or holds(node) or draws(node)
    )


def changes_list(node: Node) -> bool:
    """Whether a node changes a list by a method that no array has: it writes into no array."""
    return node.op == "call_method" and node.target in _LIST_METHODS and not node.kwargs


def holds(node: Node) -> bool:
    """Whether a node lets an object of Python's hold what it is given."""
    return node.op == "call_function" and getattr(node.target, HOLDS, False)


def is_check(node: Node) -> bool:
    from weft.graph import _control

    if node.target in (_control.check, _control.fail) or getattr(node.target, CHECKS, False):
        return True
    return str(getattr(node.target, "__module__", None)).startswith("numpy.testing")


def draws(node: Node) -> bool:
    """Whether a node draws random numbers, and writes them into none of the arrays it is given."""
    return bool(getattr(node.target, DRAWS, False)) and "out" not in node.kwargs and len(node.args) <= _WITHOUT_OUT
