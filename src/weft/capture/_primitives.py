"""`weft.cond`, `weft.while_loop` and their kin on traced values: captured as the statements that mean the same."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.capture._memory import is_tensor
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._values import Traced
from weft.graph._control import check, cond, fori_loop, scan, switch, while_loop

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def record(recorder: Recorder, primitive: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a primitive on traced values."""
    if primitive is check:
        recorder.create(check, args, kwargs, None)
        return None
    if primitive is scan:
        return _scan(recorder, *args, **kwargs)
    if not recorder.branches:
        args = tuple(_body(recorder, arg) for arg in args)
        kwargs = {name: _body(recorder, arg) for name, arg in kwargs.items()}
    with _branches(recorder, True):
        if primitive is switch:
            return _switch(recorder, *args, **kwargs)
        return recorder._deeper(recorder.bind(_STATEMENTS[primitive]), args, kwargs)


def _switch(recorder: Recorder, index: Any, branches: Any, *operands: Any) -> Any:
    """`weft.switch`: one branch after the other, the last one for all that is left."""
    if len(branches) == 1:
        return recorder.run(branches[0], operands, {})

    def others(*operands: Any) -> Any:
        return _switch(recorder, index - 1, branches[1:], *operands)

    return recorder._deeper(recorder.bind(branch), (index <= 0, branches[0], others, *operands), {})


@contextmanager
def _branches(recorder: Recorder, captured: bool) -> Iterator[None]:
    """Capture the control flow of what runs inside, or refuse it."""
    before, recorder.branches = recorder.branches, captured
    try:
        yield
    finally:
        recorder.branches = before


def _body(recorder: Recorder, body: Any) -> Any:
    """A body given to a primitive where control flow of the program itself is refused: in it, too, it is."""
    if isinstance(body, (list, tuple)) and all(map(callable, body)):
        return [_body(recorder, one) for one in body]
    if not callable(body) or isinstance(body, Traced):
        return body

    def run(*args: Any, **kwargs: Any) -> Any:
        with _branches(recorder, False):
            return recorder.run(body, args, kwargs)

    return run


# Captured themselves, as the program's own statements are.


def branch(pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
    """`weft.cond`."""
    if pred:
        return true_fn(*operands)
    else:  # the two sides of one branch
        return false_fn(*operands)


def repeat_while(cond_fn: Any, body_fn: Any, init: Any, *operands: Any) -> Any:
    """`weft.while_loop`."""
    state = init
    while cond_fn(state, *operands):
        state = body_fn(state, *operands)
    return state


def repeat_for(lower: Any, upper: Any, body_fn: Any, init: Any, *operands: Any, step: Any = 1) -> Any:
    """`weft.fori_loop`."""
    state = init
    for i in range(lower, upper, step):
        state = body_fn(i, state, *operands)
    return state


def scan_forward(length: Any, step: Any, init: Any, write: Any) -> Any:
    """`weft.scan`: every row in its order."""
    state = init
    for k in range(length):
        state, result = step(state, k)
        write(k, result)
    return state


def scan_backward(length: Any, step: Any, init: Any, write: Any) -> Any:
    """`weft.scan` with `reverse=True`."""
    state = init
    for k in range(length - 1, -1, -1):
        state, result = step(state, k)
        write(k, result)
    return state


_STATEMENTS = {cond: branch, while_loop: repeat_while, fori_loop: repeat_for}


def _scan(
    recorder: Recorder, f: Any, init: Any, xs: Any = None, *operands: Any, length: Any = None, reverse: bool = False
) -> Any:
    from weft.capture._collect import Stack

    if recorder.untyped or is_opaque((init, xs, operands, length)):
        return _scan_unknown(recorder, f, init, xs, operands, length, reverse)
    leaves, tree = pytree.flatten(xs) if xs is not None else ([], None)
    leaves = [recorder.constant(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    rows = [leaf if is_tensor(leaf) else recorder.numpy.function(np.asarray, (leaf,), {}) for leaf in leaves]
    count = rows[0].shape[0] if rows else length

    captured = recorder.branches

    def step(state: Any, k: Any) -> Any:
        row = None if tree is None else tree.unflatten([recorder.getitem(r, k) for r in rows])
        with _branches(recorder, captured):
            return recorder.run(f, (state, row, *operands), {})

    structure: Any = None
    there: list[bool] = []  # of each part of a result, whether it is one: None stays None

    def parts(result: Any) -> list[Any]:
        nonlocal structure, there
        leaves, structure = pytree.flatten(result)
        there = [leaf is not None for leaf in leaves]
        return [leaf for leaf in leaves if leaf is not None]

    stack = Stack.of(recorder, count, lambda k: parts(step(init, k)[1]))
    with _branches(recorder, True):
        loop = recorder.bind(scan_backward if reverse else scan_forward)
        state = recorder._deeper(loop, (count, step, init, lambda k, result: stack.write(k, parts(result))), {})
    arrays = iter(stack.arrays)
    return state, structure.unflatten([next(arrays) if is_there else None for is_there in there])


def _scan_unknown(
    recorder: Recorder, f: Any, init: Any, xs: Any, operands: tuple[Any, ...], length: Any, reverse: Any
) -> Any:
    """A scan over values of unknown type: one node, whose body is captured once."""
    states, tree = pytree.flatten(init)
    rows, shape = pytree.flatten(xs) if xs is not None else ([], None)
    region = recorder.enter()
    try:
        own = [region.placeholder(name) for name in ["state"] * len(states) + ["row"] * len(rows)]
        values = [Opaque(recorder, node) for node in own]
        row = None if shape is None else shape.unflatten(values[len(states) :])
        state, result = recorder.run(f, (tree.unflatten(values[: len(states)]), row, *operands), {})
        finals, after = pytree.flatten(state)
        if after != tree:
            recorder.refuse("scan: f gives a state of another structure than init", help="keep its structure")
        results, made = pytree.flatten(result)
        output = (tuple(recorder.arg(leaf) for leaf in finals), tuple(recorder.arg(leaf) for leaf in results))
    finally:
        recorder.leave(region)
    graph = region.graph
    for node in reversed([*own, *region.inputs.values()]):
        first = next(iter(graph.nodes))
        if first is not node:
            first.prepend(node)
    graph.output(output)
    keywords = {} if length is None else {"length": length}
    if reverse is not False:
        keywords["reverse"] = reverse
    node = recorder.create(scan, (graph, tuple(states), tuple(rows), *region.inputs), keywords, None)
    parts = [recorder.create(operator.getitem, (node, k), {}, None) for k in range(2)]
    items = [
        [Opaque(recorder, recorder.create(operator.getitem, (part, k), {}, None)) for k in range(count)]
        for part, count in zip(parts, (len(states), len(results)), strict=True)
    ]
    return tree.unflatten(items[0]), made.unflatten(items[1])
