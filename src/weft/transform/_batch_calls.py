"""Batching of calls that are no ops: Python's own functions on numbers, parts of tuples and tapes, checks."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from weft._generator import manual_seed, seed, set_state
from weft.capture._draws import draw, filled, shuffled
from weft.graph import Node
from weft.graph._arguments import map_arg
from weft.graph._control import check, fail
from weft.graph._effects import is_impure
from weft.graph._looping import before_end, together, trip_count
from weft.ops import Op, Spec
from weft.ops._raises import EMPTY
from weft.transform._batch import Batch, Rows, TapeRows, Unbatchable, is_plain
from weft.transform._batch_layouts import from_layout, joined, laid, layout_of, type_in
from weft.transform._builder import Value
from weft.transform._calls import op_call
from weft.transform._tape import record


def draws(node: Node) -> bool:
    """Whether a node draws random numbers: each example then has its own."""
    if node.op != "call_function":
        return False
    if node.bodies:
        return any(draws(inner) for body in node.bodies for inner in body.nodes)
    if isinstance(node.target, Op):
        return node.target.draws(node.args, node.kwargs)
    return node.target in (draw, filled, shuffled) or (is_impure(node) and not is_impure(node, impure_random=False))


def seeds(node: Node) -> bool:
    """Whether a node sets what is drawn after it, which it would then do once for all examples."""
    if node.bodies:
        return any(seeds(inner) for body in node.bodies for inner in body.nodes)
    if node.target is draw:
        return bool(node.args[1] == "seed")
    return node.target in (manual_seed, seed, set_state)


_DIVIDE = frozenset({operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod, pow})
_SAFE_CALLS: frozenset[Any] = frozenset(
    {operator.getitem, getattr, operator.not_, operator.truth, min, max, len, float, bool, complex, int}
    | {trip_count, before_end, record, together}
)
# Ops whose rules keep what is read or written within the array.
_KEPT_WITHIN = frozenset({"getitem", "index_update", "index_add"})
_GUARDED_OPS = frozenset(
    "take take_along_axis scatter_add solve inv pinv matrix_rank cholesky eigh eigvalsh eig eigvals qr svd"
    " svdvals".split()
)


def may_raise(node: Node, varies: bool) -> bool:
    """Whether a node may raise, or do something else, that it must not for examples that do not come there."""
    if is_impure(node):
        return True
    if isinstance(node.target, type) and issubclass(node.target, np.generic):
        return False
    called = op_call(node)
    if called is None or node.target is operator.getitem:
        return node.target not in _SAFE_CALLS
    op, arguments = called
    if op.composite:
        return False  # its body is looked at
    if op.name in _GUARDED_OPS:
        return not varies  # where it varies its rule sees to it
    if op.domain is None:
        if op.raises in (None, EMPTY) or op.name in _KEPT_WITHIN:  # all examples are of one shape
            return False
        return op.raises.when(*map_arg(arguments, lambda each: each.meta.get("type")))
    if not varies and _of_numbers(node):
        by_number = isinstance(arguments[-1], (int, float)) and arguments[-1] != 0
        if getattr(math, op.name, None) is node.target or (node.target in _DIVIDE and not by_number):
            return True
    if op.name == "pow" and _integers(node.meta.get("type")):
        return not (isinstance(arguments[1], int) and arguments[1] >= 0)
    return False


def _of_numbers(node: Node) -> bool:
    return not any(isinstance(each.meta.get("type"), Spec) for each in node.all_input_nodes)


def _integers(type_: Any) -> bool:
    return type_ is int or (isinstance(type_, Spec) and type_.dtype.kind in "iu")


def _one(batch: Batch, entry: Any) -> Value:
    """The numbers of entries of one element each."""
    value = batch.front(entry)
    return value if len(value.shape) == 1 else batch.call("reshape", value, (batch.size,))


def _item(batch: Batch, node: Node) -> Any:
    """`values[k]` of several results, or of a tape; of an array the op does it."""
    source, key = node.args
    whole = batch.known[source] if isinstance(source, Node) else source
    if isinstance(whole, TapeRows):
        tape = whole.value
        if key == 0:
            type_ = tape.type
            made = batch.builder.create(operator.getitem, (tape, 0), {}, type_, "tape")
            return TapeRows(Value(batch.builder, made, type_), whole.parts, whole.late)
        type_, layout = tape.type.types[key - 1], whole.parts[key - 1]
        made = batch.builder.create(operator.getitem, (tape, key), {}, type_, node.name)
        return from_layout(batch.builder.wrap(made, type_), layout, batch.type_of(node))
    if isinstance(whole, tuple) and isinstance(key, int):
        return whole[key]
    if isinstance(source, (tuple, list)) and isinstance(key, int):
        return batch.known[source[key]] if isinstance(source[key], Node) else source[key]
    if isinstance(whole, Rows):
        return NotImplemented
    if isinstance(source, Node) and not isinstance(source.meta.get("type"), Spec):
        raise Unbatchable("an item of a value of no known type", node)
    return NotImplemented


def _record(batch: Batch, node: Node) -> Any:
    tape, *values = node.args
    onto = batch.held(tape)
    entries = [batch.held(value) for value in values]
    parts, late = tuple(map(layout_of, entries)), None
    if isinstance(onto, TapeRows):
        # What is recorded lies as the tape does, so that all its links are alike.
        parts = tuple(map(joined, onto.parts, parts)) if onto.parts else parts
        onto, late = onto.value, onto.late
    example = batch.type_of(node)
    given = [laid(batch, *each) for each in zip(entries, parts, example.types, strict=True)]
    type_ = type_in(batch, ("tape", parts, late), example)
    made = batch.builder.create(record, (onto, *given), {}, type_, "tape")
    return TapeRows(Value(batch.builder, made, type_), parts, late)


def _attribute(batch: Batch, node: Node) -> Any:
    entry, name = batch.known[node.args[0]], node.args[1]
    if not isinstance(entry, Rows):
        return NotImplemented
    if name == "shape":
        return tuple(batch.builder.argument(d) for d in entry.shape)
    if name == "ndim":
        return entry.ndim
    if name == "dtype":
        return entry.dtype
    return NotImplemented


def _cast(dtype: Any) -> Callable[[Batch, Node], Any]:
    def rule(batch: Batch, node: Node) -> Any:
        if len(node.args) != 1 or node.kwargs:
            return NotImplemented
        entry = batch.entry(node.args[0])
        type_ = batch.type_of(node)
        shape = type_.shape if isinstance(type_, Spec) else ()
        if shape and entry.shape != shape:
            return NotImplemented
        value = entry.value if shape else _one(batch, entry)
        return Rows(batch.call("astype", value, dtype), type_)

    return rule


def _not(batch: Batch, node: Node) -> Any:
    return Rows(batch.call("logical_not", _one(batch, batch.entry(node.args[0]))), bool)


def _length(batch: Batch, node: Node) -> Any:
    entry = batch.known[node.args[0]]
    return batch.builder.argument(entry.shape[0]) if isinstance(entry, Rows) and entry.ndim else NotImplemented


def _extreme(comparison: str) -> Callable[[Batch, Node], Any]:
    """`min(a, b)` of numbers: the first, unless a later one is better; so does Python, also for nan."""

    def rule(batch: Batch, node: Node) -> Any:
        type_ = batch.type_of(node)
        if len(node.args) < 2 or node.kwargs or isinstance(type_, (tuple, list)):
            return NotImplemented
        entries = batch.entries(node.args)
        if any(getattr(each, "shape", ()) != () for each in entries):
            return NotImplemented
        best, *others = [_one(batch, each) for each in entries]
        for other in others:
            best = batch.call("where", batch.call(comparison, other, best), other, best)
        return batch.finished(best, type_, comparison)

    return rule


def _turns(batch: Batch, node: Node) -> Any:
    return Rows(turns(batch, *batch.entries(node.args)), int)


def turns(batch: Batch, lower: Any, upper: Any, step: Any) -> Value:
    """How many numbers the range of each example has."""
    lower, upper = _one(batch, lower), _one(batch, upper)
    step = _one(batch, step) if isinstance(step, Rows) else step
    return batch.call("maximum", -((lower - upper) // step), 0)  # type: ignore[no-any-return]  # a Value


def _before(batch: Batch, node: Node) -> Any:
    index, end, step = batch.entries(node.args)
    index, end = _one(batch, index), _one(batch, end)
    if isinstance(step, int):
        return Rows(index < end if step > 0 else index > end, bool)
    step = _one(batch, step)
    return Rows(batch.call("where", step > 0, index < end, index > end), bool)


def _check(batch: Batch, node: Node) -> Any:
    condition, *message = node.args
    if node.kwargs or any(isinstance(each, Node) and not is_plain(batch.known[each]) for each in message):
        return NotImplemented
    entry = batch.known[condition]
    if not isinstance(entry, Rows):
        return NotImplemented
    shown = batch.builder.argument(batch.entries(tuple(message)))
    batch.builder.create(check, (batch.call("all", entry.value), *shown), {}, None)
    return None


def _fail(batch: Batch, node: Node) -> Any:
    """It raises for the first example already."""
    from weft.transform._batch_rows import row_of

    args = [batch.known[each] if isinstance(each, Node) else each for each in node.args]
    return batch.builder.create(fail, tuple(row_of(batch.builder, each, 0) for each in args), {}, None)


def _generator_made(batch: Batch, node: Node) -> Any:
    """A draw from a generator that the graph makes: each example makes its own, which all draw the same."""
    for each in node.all_input_nodes:
        if each.meta.get("type") is None and _is_made(batch, each):
            raise Unbatchable("a draw from a generator that each example makes", node)
    return NotImplemented


def _is_made(batch: Batch, node: Node) -> bool:
    """Whether the program makes an object, and is not given it; a body is given what is made around it."""
    entry, region = batch.known[node], batch.builder.region
    while isinstance(entry, Node) and entry.op == "placeholder":
        outer = next((each for each, place in region.inputs.items() if place is entry), None)
        if outer is None or region.parent is None:
            return False
        entry, region = outer, region.parent
    return isinstance(entry, Node) and entry.op != "get_attr"


def changes_object(node: Node) -> bool:
    """Whether a node changes an object that it reads, a list for one, or may."""
    if node.bodies:
        return any(changes_object(inner) for body in node.bodies for inner in body.nodes)
    if node.op in ("placeholder", "output") or not is_impure(node, impure_random=False):
        return False
    return any(each.meta.get("type") is None for each in node.all_input_nodes)


def _refusing(batch: Batch, node: Node) -> Any:
    raise Unbatchable("a value that is changed in place", node)


SPECIAL: dict[Any, Callable[[Batch, Node], Any]] = {
    operator.getitem: _item,
    getattr: _attribute,
    record: _record,
    together: lambda batch, node: tuple(batch.held(each) for each in node.args),
    check: _check,
    fail: _fail,
    draw: _generator_made,
    shuffled: _generator_made,
    filled: _generator_made,
    trip_count: _turns,
    before_end: _before,
    operator.not_: _not,
    operator.truth: _cast(np.bool_),
    len: _length,
    builtins.min: _extreme("less"),
    builtins.max: _extreme("greater"),
    operator.setitem: _refusing,
    operator.delitem: _refusing,
    **{kind: _cast(kind) for kind in (bool, int, float, complex)},
    **{kind: _cast(kind) for kind in {np.dtype(code).type for code in "?bhilqBHILQefdFD"}},
}
