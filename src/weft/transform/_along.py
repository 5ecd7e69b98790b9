"""A rule that walks along sequences, in a graph: one loop over their steps, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.graph._control import fori_loop
from weft.ops import Spec
from weft.ops._op import TABLE
from weft.transform._batch_bodies import body_of
from weft.transform._bodies import close
from weft.transform._builder import Builder, Value


def along(
    builder: Builder,
    step: Callable[..., Any],
    carries: Any,
    rows: Sequence[Any],
    operands: Sequence[Any],
    reverse: bool,
) -> tuple[tuple[Any, ...], list[Any]]:
    """Record the loop that calls `step(carries, rows at one time, *operands)`; its last carries, and what it found."""
    carries, rows, operands = ([_value(builder, each) for each in part] for part in (carries, rows, operands))
    inner = body_of(builder)
    inner.position = builder.position
    at = _placed(inner, "t", int)
    held = [_placed(inner, "carry", carry.type) for carry in carries]
    with inner.recording():
        now = [inner.value(row.node)[at] for row in rows]
        carried, found = step(tuple(held), now, *(inner.value(each.node) for each in operands))
        length = rows[0].shape[0]
        starts = [builder.zeros(Spec((length, *each.shape), each.dtype)) for each in found]
        lists = [_placed(inner, "found", start.type) for start in starts]
        update = TABLE["index_update"]
        written = [inner.call(update, place, at, part) for place, part in zip(lists, found, strict=True)]
    result = inner.argument((*carried, *written))
    read = close(inner, [at.node, *(place.node for place in (*held, *lists))], result)
    init = (*carries, *starts)
    bounds, kwargs = ((length - 1, -1), {"step": -1}) if reverse else ((0, length), {})
    types = tuple(each.type for each in init)
    node = builder.create(fori_loop, (*bounds, inner.graph, init, *read), kwargs, types)
    items = [builder.item(node, k, type_) for k, type_ in enumerate(types)]
    return tuple(items[: len(carries)]), items[len(carries) :]


def _value(builder: Builder, value: Any) -> Value:
    made: Value = value if isinstance(value, Value) else builder.value(builder.argument(value))
    return made


def _placed(inner: Builder, name: str, type_: Any) -> Value:
    """A new input of the body."""
    place = inner.region.placeholder(name)
    place.meta["type"] = type_
    return Value(inner, place, type_)
