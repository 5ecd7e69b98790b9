"""Control flow as functions: `cond`, `switch`, `while_loop`, `fori_loop`, `scan`; and `check` and `fail`.

On values they run at once, and gradients flow through whatever ran. In a graph each is one `call_function` node whose
bodies are Graphs of their own, given where a program gives functions; then carries, rows and operands are flat tuples,
and each body takes one placeholder for each value. Bodies are closed: what they read from outside is an operand.

Traced values: before anything runs, each function looks among its arguments (in loops also at the condition and the
state a body returns) for a value whose class has a method `__weft_control__`. Of several the highest
`__weft_priority__` counts. Its `__weft_control__(function, args, kwargs)` is then the result: `function` is the one
called and the rest are its arguments as they were given, bodies included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from weft._tracing import current_tracer
from weft.graph._control_checks import Carry, Runner, are_graphs, integer, refuse, traced, truth
from weft.graph._control_scan import scan_function, scan_graph
from weft.graph._effects import has_side_effect
from weft.graph._graph import Graph
from weft.graph._interpreter import RUNS_BODIES

Body = Callable[..., Any] | Graph


def cond(pred: Any, true_fn: Body, false_fn: Body, *operands: Any) -> Any:
    """Call one of two functions: `true_fn(*operands)` if `pred` is true, else `false_fn(*operands)`.

    >>> import weft
    >>> weft.cond(3 > 2, lambda x: x + 1, lambda x: x * 10, 5)
    6
    """
    if (value := traced(pred, *operands)) is not None:
        return value.__weft_control__(cond, (pred, true_fn, false_fn, *operands), {})
    graphs = are_graphs("cond", {"true_fn": true_fn, "false_fn": false_fn})
    role, chosen = ("true_fn", true_fn) if truth("cond", "pred", pred, not graphs) else ("false_fn", false_fn)
    return _branch("cond", role, chosen, operands)


def switch(index: Any, branches: Sequence[Body], *operands: Any) -> Any:
    """Call one of several functions: `branches[index](*operands)`, the first or last where `index` is out of range.

    >>> import weft
    >>> [weft.switch(i, [lambda x: -x, lambda x: x * x], -3) for i in (-1, 0, 1, 7)]
    [3, 3, 9, 9]
    """
    if (value := traced(index, *operands)) is not None:
        return value.__weft_control__(switch, (index, branches, *operands), {})
    if not isinstance(branches, (list, tuple)) or not branches:
        raise refuse(f"switch: branches is a list of functions, at least one, got {branches!r}")
    are_graphs("switch", {f"branches[{i}]": branch for i, branch in enumerate(branches)})
    chosen = min(max(integer("switch", "index", index), 0), len(branches) - 1)
    return _branch("switch", f"branches[{chosen}]", branches[chosen], operands)


def _branch(name: str, role: str, body: Any, operands: tuple[Any, ...]) -> Any:
    if isinstance(body, Graph):
        return Runner(name, role, body, len(operands))(list(operands))
    return body(*operands)


def while_loop(cond_fn: Body, body_fn: Body, init: Any, *operands: Any) -> Any:
    """Replace a state by `body_fn(state, *operands)` as long as `cond_fn(state, *operands)` is true; the last state.

    The state starts as `init`, any nested value; its structure and the shape and dtype of its leaves stay the same.

    >>> import weft
    >>> weft.while_loop(lambda s: s["n"] < 100, lambda s: {"n": s["n"] * 2, "i": s["i"] + 1}, {"n": 1, "i": 0})
    {'n': 128, 'i': 7}
    """
    args = (cond_fn, body_fn, init, *operands)
    if (value := traced(init, *operands)) is not None:
        return value.__weft_control__(while_loop, args, {})
    if are_graphs("while_loop", {"cond_fn": cond_fn, "body_fn": body_fn}):
        return _while_graphs(cond_fn, body_fn, init, operands)
    state, carry, undo = init, Carry("while_loop", "init", "body_fn", init), _undo_point()
    while True:
        decision = cond_fn(state, *operands)
        if (value := traced(decision)) is not None:
            undo()
            return value.__weft_control__(while_loop, args, {})
        if not truth("while_loop", "the result of cond_fn", decision):
            return state
        state = body_fn(state, *operands)
        if (value := traced(state)) is not None:
            undo()
            return value.__weft_control__(while_loop, args, {})
        carry.check(state)


def _while_graphs(condition: Any, body: Any, init: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    carries = _flat("while_loop", "init", init)
    count = len(carries)
    decide = Runner("while_loop", "cond_fn", condition, count + len(operands))
    step = Runner("while_loop", "body_fn", body, count + len(operands))
    while truth("while_loop", "the result of cond_fn", decide([*carries, *operands]), strict=False):
        carries = step.carries([*carries, *operands], count)
    return tuple(carries)


def fori_loop(lower: Any, upper: Any, body_fn: Body, init: Any, *operands: Any, step: Any = 1) -> Any:
    """Replace a state by `body_fn(i, state, *operands)` for each `i` of `range(lower, upper, step)`; the last state.

    The state starts as `init`, any nested value; its structure and the shape and dtype of its leaves stay the same.

    >>> import weft
    >>> weft.fori_loop(1, 6, lambda i, product: product * i, 1)
    120
    """
    args, kwargs = (lower, upper, body_fn, init, *operands), {"step": step}
    if (value := traced(lower, upper, step, init, *operands)) is not None:
        return value.__weft_control__(fori_loop, args, kwargs)
    graphs = are_graphs("fori_loop", {"body_fn": body_fn})
    bounds = [integer("fori_loop", role, v) for role, v in (("lower", lower), ("upper", upper), ("step", step))]
    if bounds[2] == 0:
        raise ValueError("fori_loop: step is 0, so the loop would never end")
    if graphs:
        return _for_graph(range(*bounds), body_fn, init, operands)
    state, carry, undo = init, Carry("fori_loop", "init", "body_fn", init), _undo_point()
    for i in range(*bounds):
        state = body_fn(i, state, *operands)
        if (value := traced(state)) is not None:
            undo()
            return value.__weft_control__(fori_loop, args, kwargs)
        carry.check(state)
    return state


def _for_graph(numbers: range, body: Any, init: Any, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    carries = _flat("fori_loop", "init", init)
    count = len(carries)
    step = Runner("fori_loop", "body_fn", body, 1 + count + len(operands))
    for i in numbers:
        carries = step.carries([i, *carries, *operands], count)
    return tuple(carries)


def scan(
    f: Body, init: Any, xs: Any = None, *operands: Any, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Carry a state along the rows of arrays: `state, y = f(state, x, *operands)` for each row x; (last state, all y).

    `xs` is an array, or a nested value of arrays of one length, each read row by row; the results y are stacked in the
    same way. Without `xs`, `f` gets None and `length` says how often. With `reverse` the last row comes first. Where
    there are no rows, `f` is called once on zeros to learn what y would be, and what it returns is not used.

    >>> import weft
    >>> total, sums = weft.scan(lambda s, x: (s + x, s + x), 0.0, weft.arange(1.0, 4.0))
    >>> print(total, sums)
    6.0 [1. 3. 6.]
    """
    args, kwargs = (f, init, xs, *operands), {"length": length, "reverse": reverse}
    if (value := traced(init, xs, length, *operands)) is not None:
        return value.__weft_control__(scan, args, kwargs)  # type: ignore[no-any-return]  # a traced value's own answer
    if are_graphs("scan", {"f": f}):
        return scan_graph(f, _flat("scan", "init", init), _flat("scan", "xs", xs), operands, length, reverse)
    undo = _undo_point()
    found = scan_function(f, init, xs, operands, length, reverse)
    if (value := traced(found)) is not None:
        undo()
        return value.__weft_control__(scan, args, kwargs)  # type: ignore[no-any-return]  # as above
    return found


def _undo_point() -> Callable[[], None]:
    """What takes back the effects that a loop, begun as Python, has recorded until a traced value turned up in it."""
    make = getattr(current_tracer.get(), "undo_point", None)
    undo: Callable[[], None] = _nothing if make is None else make()
    return undo


def _nothing() -> None:
    return None


def _flat(name: str, role: str, values: Any) -> list[Any]:
    if not isinstance(values, (tuple, list)):
        raise refuse(f"{name}: with Graphs as bodies {role} is a tuple of values, got {type(values).__name__}")
    return list(values)


@has_side_effect
def check(condition: Any, message: Any = None) -> None:
    """What an `assert` of a captured program does when it runs: AssertionError(message) unless the condition is true.

    >>> check(1 + 1 == 2, "arithmetic")
    >>> check(1 + 1 == 3, "arithmetic")
    Traceback (most recent call last):
        ...
    AssertionError: arithmetic
    """
    if (value := traced(condition, message)) is not None:
        value.__weft_control__(check, (condition, message), {})
    elif not condition:
        raise AssertionError() if message is None else AssertionError(message)


@has_side_effect
def fail(exception_type: Any, *args: Any) -> NoReturn:
    """What a `raise` of a captured program does when it runs: raises `exception_type(*args)`; never returns.

    >>> fail(ValueError, "no root in", (0, 1))
    Traceback (most recent call last):
        ...
    ValueError: ('no root in', (0, 1))
    """
    if isinstance(exception_type, BaseException) and not args:
        raise exception_type
    if not isinstance(exception_type, type) or not issubclass(exception_type, BaseException):
        raise TypeError(f"exceptions must derive from BaseException, got {exception_type!r}")
    raise exception_type(*args)


def exception(kind: Any, args: tuple[Any, ...], attributes: dict[str, Any], cause: Any = None) -> BaseException:
    """An exception of a class with a constructor of its own, which is not called again.

    >>> exception(ValueError, ("too small",), {"limit": 3}).limit
    3
    """
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        raise TypeError(f"exceptions must derive from BaseException, got {kind!r}")
    made: BaseException = kind.__new__(kind, *args)
    made.args = args
    made.__dict__.update(attributes)
    if cause is not None:
        made.__cause__ = cause
    return made


CONTROL = (cond, switch, while_loop, fori_loop, scan)
"""The functions whose nodes hold bodies."""

for _function in CONTROL:
    _function.__module__ = "weft"  # where programs and generated code find them
    setattr(_function, RUNS_BODIES, True)
