"""`weft.cond`, `weft.while_loop` and their kin on traced values: captured as the statements that mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
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
    return recorder.bind(_STATEMENTS[primitive])(*args, **kwargs)


# Captured themselves, as the program's own statements are.


def branch(pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
    """`weft.cond`."""
    if pred:
        return true_fn(*operands)
    else:  # the two sides of one branch
        return false_fn(*operands)


def choose(index: Any, branches: Any, *operands: Any) -> Any:
    """`weft.switch`."""
    if len(branches) == 1:
        return branches[0](*operands)
    if index <= 0:
        return branches[0](*operands)
    return choose(index - 1, branches[1:], *operands)


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


_STATEMENTS = {cond: branch, switch: choose, while_loop: repeat_while, fori_loop: repeat_for}


def _scan(
    recorder: Recorder, f: Any, init: Any, xs: Any = None, *operands: Any, length: Any = None, reverse: bool = False
) -> Any:
    from weft.capture._collect import Stack

    leaves, tree = pytree.flatten(xs) if xs is not None else ([], None)
    rows = [recorder.numpy.function(np.asarray, (leaf,), {}) for leaf in leaves]
    count = rows[0].shape[0] if rows else length

    def step(state: Any, k: Any) -> Any:
        row = None if tree is None else tree.unflatten([recorder.getitem(r, k) for r in rows])
        return recorder.run(f, (state, row, *operands), {})

    stack = Stack.of(recorder, count, lambda k: step(init, k)[1])
    state = recorder.bind(scan_backward if reverse else scan_forward)(count, step, init, stack.write)
    return state, stack.tree.unflatten(stack.arrays)
