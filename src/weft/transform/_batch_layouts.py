"""How values of many examples lie in nodes: layouts of carries, of results of branches and of what tapes hold.

A layout is False where all examples have the same value and True for Rows. Of a tape it is `("tape", layouts of what a
link holds, late)`; of a tape that one of several branches has left `("tapes", a layout for each)`; and
`("chosen", a layout for each)` where each example takes its own branch, so that there is a tape of each branch: they
are held together by a tape of one link.
"""

from __future__ import annotations

from typing import Any

from weft.ops import Spec
from weft.transform._batch import Batch, Chosen, Rows, TapeRows, TapesRows, Unbatchable, is_plain, kind_dtype
from weft.transform._builder import Value
from weft.transform._tape import EMPTY, Tape, Tapes, record


def named_layout(layout: Any, *names: str) -> bool:
    """Whether a layout is one of those that are named."""
    return isinstance(layout, tuple) and bool(layout) and isinstance(layout[0], str) and layout[0] in names


def layout_of(entry: Any) -> Any:
    """How an entry lies."""
    if isinstance(entry, TapeRows):
        return ("tape", entry.parts, entry.late)
    if isinstance(entry, TapesRows):
        return ("tapes", entry.layouts)
    if isinstance(entry, Chosen):
        return ("chosen", tuple(map(layout_of, entry.entries)))
    if isinstance(entry, tuple) and not is_plain(entry):
        return tuple(map(layout_of, entry))
    return isinstance(entry, Rows)


def from_layout(value: Any, layout: Any, type_: Any) -> Any:
    """The entry of a value that lies so, of which one example has this type."""
    if named_layout(layout, "tape"):
        return TapeRows(value, layout[1], layout[2])
    if named_layout(layout, "tapes"):
        return TapesRows(value, layout[1])
    if named_layout(layout, "chosen"):
        parts = [value.builder.item(value.node, k, kind) for k, kind in enumerate(value.type.types, 1)]
        return Chosen(tuple(from_layout(*each) for each in zip(parts, layout[1], type_.types, strict=True)))
    if isinstance(layout, tuple):
        kinds = type_ if isinstance(type_, (tuple, list)) else (None,) * len(layout)
        return tuple(from_layout(*each) for each in zip(value, layout, kinds, strict=True))
    if layout:
        return Rows(value, type_)
    return value.node if isinstance(value, Value) else value


def joined(a: Any, b: Any) -> Any:
    """The layout that holds what two hold."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return a if isinstance(a, tuple) else b if isinstance(b, tuple) else a or b
    if named_layout(a, "tape") and named_layout(b, "tape"):
        return ("tape", tuple(map(joined, a[1], b[1])) if a[1] and b[1] else a[1] or b[1], a[2] or b[2])
    if named_layout(a, "tapes", "chosen") and named_layout(b, "tapes", "chosen"):
        return (min(a[0], b[0]), tuple(map(joined, a[1], b[1])))  # "chosen" of the two
    if named_layout(a, "tape", "tapes", "chosen") or named_layout(b, "tape", "tapes", "chosen"):
        raise Unbatchable("tapes that lie differently")
    return tuple(map(joined, a, b))


def as_rows(batch: Batch, entry: Any, type_: Any) -> Any:
    """An entry with a row for each example."""
    if isinstance(entry, Rows):
        return entry
    if isinstance(type_, (Tape, Tapes)) or type_ is None or not is_plain(entry):
        raise Unbatchable("a value that has no rows")
    value = batch.front(batch.builder.value(entry))
    dtype = kind_dtype(type_)
    return Rows(value if value.dtype == dtype else batch.call("astype", value, dtype), type_)


def laid(batch: Batch, entry: Any, layout: Any, type_: Any) -> Any:
    """An entry in a layout, as what a node takes or gives."""
    if named_layout(layout, "tape", "tapes"):
        return entry.value if isinstance(entry, (TapeRows, TapesRows)) else entry
    if named_layout(layout, "chosen"):
        if not isinstance(entry, Chosen):
            raise Unbatchable("tapes that lie differently")
        tapes = [laid(batch, *each) for each in zip(entry.entries, layout[1], type_.types, strict=True)]
        return batch.builder.create(record, (EMPTY, *tapes), {}, type_in(batch, layout, type_), "tapes")
    if isinstance(layout, tuple):
        parts = entry if isinstance(entry, tuple) else batch.builder.value(entry)
        kinds = type_ if isinstance(type_, (tuple, list)) else (None,) * len(layout)
        return tuple(laid(batch, *each) for each in zip(parts, layout, kinds, strict=True))
    return as_rows(batch, entry, type_).value if layout else entry


def type_in(batch: Batch, layout: Any, type_: Any) -> Any:
    """The type of a value of a layout, of which one example has this type."""
    if named_layout(layout, "tape"):
        parts = layout[1] or (False,) * len(type_.types)
        return Tape(tuple(type_in(batch, *each) for each in zip(parts, type_.types, strict=True)), type_.places)
    if named_layout(layout, "tapes"):
        return Tapes(tuple(type_in(batch, *each) for each in zip(layout[1], type_.types, strict=True)))
    if named_layout(layout, "chosen"):
        tapes = tuple(type_in(batch, *each) for each in zip(layout[1], type_.types, strict=True))
        gradients = any(tape.places is not None for tape in tapes)
        return Tape(tapes, tuple(range(1, len(tapes) + 1)) if gradients else None)
    if isinstance(layout, tuple):
        return tuple(type_in(batch, *each) for each in zip(layout, type_, strict=True))
    if not layout:
        return type_
    shape = type_.shape if isinstance(type_, Spec) else ()
    return Spec((batch.size, *shape), kind_dtype(type_))


def side(entry: Any, number: int) -> Any:
    """What one of several branches sees of a tape that one of them has left."""
    if isinstance(entry, Chosen):
        return entry.entries[number]
    if isinstance(entry, TapesRows):
        value = entry.value
        own = Value(value.builder, value.node, value.type.types[number])
        return from_layout(own, entry.layouts[number], None)
    return entry
