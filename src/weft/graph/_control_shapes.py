"""Shapes through control flow: each body is run once on Specs, and what it gives must fit what goes round.

A number that a loop carries is `Unknown` inside it; of two branches each result must be of one type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft import pytree
from weft.errors import ControlError, ShapeError
from weft.graph._control import check, cond, fail, fori_loop, scan, switch, while_loop
from weft.graph._control_checks import leaf_paths
from weft.graph._control_scan import row_count
from weft.graph._graph import Graph
from weft.graph._inputs import describe
from weft.graph._print import spec_text
from weft.graph._unknown import NUMBERS, Unknown
from weft.ops._dim import same_shape
from weft.ops._spec import Spec, size_of, spec_of

Run = Callable[[Graph, list[Any]], Any]
"""Runs a body on Specs, noting types on its nodes."""


class Never:
    """What a body gives that only raises."""


NEVER = Never()


def is_effect(target: Any) -> bool:
    """Whether a call is there for what it does to the outside, so that without values nothing is to be done."""
    return any(target is function for function in (print, check, fail))


def effect(target: Any) -> Any:
    """What such a call gives."""
    return NEVER if target is fail else None


def has_rule(target: Any, args: tuple[Any, ...]) -> bool:
    """Whether a call is one of control flow in its form with graphs."""
    return any(target is function for function in _RULES) and any(
        isinstance(part, Graph) for arg in args for part in (arg if isinstance(arg, (list, tuple)) else (arg,))
    )


def infer_control(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Run) -> Any:
    """What a call of control flow gives, by the shapes its bodies give."""
    return next(rule for function, rule in _RULES.items() if function is target)(run, *args, **kwargs)


def _cond(run: Run, pred: Any, true_fn: Graph, false_fn: Graph, *operands: Any) -> Any:
    _decision("cond", "pred", pred)
    return _branches("cond", run, {"true_fn": true_fn, "false_fn": false_fn}, operands)


def _switch(run: Run, index: Any, branches: list[Graph], *operands: Any) -> Any:
    return _branches("switch", run, {f"branches[{i}]": branch for i, branch in enumerate(branches)}, operands)


def _decision(name: str, role: str, value: Any) -> None:
    shape = getattr(value, "shape", ())
    if all(type(dim) is int for dim in shape) and size_of(shape) != 1:
        help = "reduce it with .any() or .all()"
        raise ShapeError(f"{name}: {role} is one truth value, got an array of shape {tuple(shape)}", help=help)


def _branches(name: str, run: Run, bodies: dict[str, Graph], operands: tuple[Any, ...]) -> Any:
    joined: Any = NEVER
    first = ""
    for role, body in bodies.items():
        result = run(body, list(operands))
        if isinstance(result, Never):
            continue
        if isinstance(joined, Never):
            joined, first = result, role
        else:
            joined = _join(name, "its result", (first, joined), (role, result))
    return joined


Named = tuple[str, Any]


def _join(name: str, what: str, one: Named, other: Named) -> Any:
    """What holds of two values that come to one place; an error names the first leaf that differs."""
    (leaves, tree), (more, shape) = pytree.flatten(one[1]), pytree.flatten(other[1])
    if tree != shape:
        raise ControlError(f"{name}: {what} is {describe(tree)} in {one[0]}, {describe(shape)} in {other[0]}")
    paths = leaf_paths(tree, what)
    joined = []
    for path, a, b in zip(paths, leaves, more, strict=True):
        found = _meet(a, b)
        if found is _NOTHING:
            message = f"{name}: {path} is {_shown(a)} in {one[0]}, {_shown(b)} in {other[0]}"
            raise ControlError(message, help="convert one of them with astype or reshape")
        joined.append(found)
    return tree.unflatten(joined)


_NOTHING = object()


def _meet(a: Any, b: Any) -> Any:
    """The type that both values have, or a mark that there is none."""
    a, b = spec_of(a), spec_of(b)
    if isinstance(a, Spec) and isinstance(b, Spec):
        return a if a.dtype == b.dtype and same_shape(a.shape, b.shape) else _NOTHING
    kinds = _number(a), _number(b)
    if None not in kinds:
        if kinds[0] is not kinds[1]:
            return _NOTHING
        same = not isinstance(a, Unknown) and not isinstance(b, Unknown) and repr(a) == repr(b)
        return a if same else Unknown(kinds[0])  # type: ignore[arg-type]  # not None, as was asked above
    for scalar, number in ((a, kinds[1]), (b, kinds[0])):
        if isinstance(scalar, Spec) and number is not None and scalar.shape == ():
            letter = np.dtype(number).kind
            return scalar if scalar.dtype.kind.replace("u", "i") == letter else _NOTHING
    return a if type(a) is type(b) and not isinstance(a, Spec) and a == b else _NOTHING


def _number(value: Any) -> type | None:
    if isinstance(value, Unknown):
        return value.kind
    return type(value) if type(value) in NUMBERS else None


def _shown(value: Any) -> str:
    kind = _number(value)
    return kind.__name__ if kind is not None else spec_text(spec_of(value))


# Loops


def _round(name: str, body: Graph, start: list[Any], turn: Callable[[list[Any]], Any]) -> list[Any]:
    """The types of carries that are the same before and after a turn; `turn` runs the body on some."""
    names = [node.name for node in body.find_nodes(op="placeholder")]
    carries = [_varying(value) for value in start]
    for _ in range(2):
        result = turn(carries)
        if isinstance(result, Never):
            return carries
        if not isinstance(result, (tuple, list)) or len(result) != len(carries):
            raise ControlError(f"{name}: its body gives {describe(pytree.flatten(result)[1])}, not its carries")
        offset = 1 if name == "fori_loop" else 0
        joined = []
        for label, before, now in zip(names[offset:], carries, result, strict=False):
            what = f"the carry {label}"
            try:
                joined.append(_join(name, what, ("", before), ("", now)))
            except ControlError:
                message = f"{name}: {what} is {_shown(before)} before a turn and {_shown(now)} after it"
                help = "start with a value of the final shape and dtype, or convert inside with astype or reshape"
                raise ControlError(message, help=help) from None
        if all(_shown(a) == _shown(b) for a, b in zip(joined, carries, strict=True)):
            return joined
        carries = joined
    return carries


def _varying(value: Any) -> Any:
    return pytree.map(lambda leaf: Unknown(type(leaf)) if type(leaf) in NUMBERS else spec_of(leaf), value)


def _while(run: Run, cond_fn: Graph, body_fn: Graph, init: Any, *operands: Any) -> Any:
    carries = _round("while_loop", body_fn, list(init), lambda now: run(body_fn, [*now, *operands]))
    _decision("while_loop", "the result of cond_fn", run(cond_fn, [*carries, *operands]))
    return tuple(carries)


def _fori(run: Run, lower: Any, upper: Any, body_fn: Graph, init: Any, *operands: Any, step: Any = 1) -> Any:
    number = Unknown(int)
    return tuple(_round("fori_loop", body_fn, list(init), lambda now: run(body_fn, [number, *now, *operands])))


def _scan(
    run: Run, f: Graph, init: Any, xs: Any = (), *operands: Any, length: Any = None, reverse: bool = False
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    count = _rows(xs, length)
    first = [_row(spec_of(x)) for x in xs]
    ys: Any = ()

    def turn(now: list[Any]) -> Any:
        nonlocal ys
        result = run(f, [*now, *first, *operands])
        if isinstance(result, Never):
            return result
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise ControlError(f"scan: its body gives {describe(pytree.flatten(result)[1])}, not ((carries), (rows))")
        ys = result[1]
        return result[0]

    carries = _round("scan", f, list(init), turn)
    return tuple(carries), tuple(_stacked(count, y) for y in ys)


def _rows(xs: Any, length: Any) -> Any:
    if isinstance(length, Unknown):
        return length.dim
    symbolic = next((x.shape[0] for x in xs if getattr(x, "shape", ()) and type(x.shape[0]) is not int), None)
    return row_count(xs, [f"xs[{i}]" for i in range(len(xs))], length) if symbolic is None else symbolic


def _row(x: Any) -> Any:
    return Spec(x.shape[1:], x.dtype) if isinstance(x, Spec) else _varying(x[0])


def _stacked(count: Any, y: Any) -> Any:
    kind = _number(y)
    if kind is not None:
        return Spec((count,), kind)
    found = spec_of(y)
    return Spec((count, *found.shape), found.dtype) if isinstance(found, Spec) else found


_RULES: dict[Any, Any] = {
    cond: _cond,
    switch: _switch,
    while_loop: _while,
    fori_loop: _fori,
    scan: _scan,
}
