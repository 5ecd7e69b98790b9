"""Capturing one call: from a function and its arguments to a typed graph."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft import pytree
from weft._collector import paused_collector
from weft._module import Module
from weft._recursion import deep_recursion
from weft._tracing import current_recorder
from weft.capture._arguments import Arguments, bind, placeholders
from weft.capture._branch import PathEnded
from weft.capture._budget import Allowance
from weft.capture._callables import check_gives_at_once, no_source
from weft.capture._convert import convert
from weft.capture._draws import Drawn
from weft.capture._lookups import settle_keys
from weft.capture._once import check_given_back
from weft.capture._present import check_order, has_missing
from weft.capture._raising import raises
from weft.capture._recorder import Recorder
from weft.capture._special import unrouted
from weft.capture._whole import StaysWhole, Whole
from weft.capture._wrap import wrap_later_names
from weft.errors import CaptureError, TraceError
from weft.graph import Graph, Node
from weft.ops import Op
from weft.ops._dim import Dim

_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass
class Captured:
    """A captured call: its graph, its arguments, and the recorder, which knows what the graph depends on."""

    graph: Graph
    arguments: Arguments
    recorder: Recorder


def original_function(function: Any) -> tuple[Any, tuple[Any, ...]]:
    """The Python function behind a callable, and what is bound to it."""
    if hasattr(type(function), "__weft_captured__") or getattr(function, "_edits", False):
        return function, ()  # it says itself what a call of it records
    if isinstance(function, Module):
        return original_function(function.forward)
    if isinstance(function, types.MethodType):
        plain, held = original_function(function.__func__)
        return plain, (*held, function.__self__)
    original = getattr(function, "__weft_original__", None)
    if original is not None:
        return original_function(original)
    if isinstance(function, types.FunctionType):
        return function, ()
    if isinstance(function, functools.partial):
        plain, held = original_function(function.func)
        return plain, (*held, *function.args)
    call = getattr(type(function), "__call__", None)  # noqa: B004  # the function itself is wanted, not whether there is one
    if isinstance(call, types.FunctionType) and not isinstance(function, Op):
        return unrouted(call), (function,)
    if isinstance(function, (staticmethod, classmethod)):
        kind = type(function).__name__
        raise CaptureError(
            f"{function.__func__.__qualname__} is a {kind} already: the method itself is captured",
            help=f"write the decorators the other way round, @{kind} first",
        )
    raise no_source(function)


def bound_keywords(function: Any) -> dict[str, Any]:
    """The keyword arguments that a `functools.partial` holds."""
    return {**bound_keywords(function.func), **function.keywords} if isinstance(function, functools.partial) else {}


def capture(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **how: Any) -> Captured:
    """Run a function on traced values and keep the graph of what it does: see `_capture`."""
    known = how.get("known")
    calls = Whole() if known is None else known.calls
    with deep_recursion(), paused_collector(), Drawn() as drawn:
        while True:
            try:
                captured = _capture(function, args, kwargs, calls=calls, **how)
                drawn.check(captured.recorder)
                return captured
            except StaysWhole as call:
                calls.add(call.function)


def _changing(known: Any, plain: Any, bound: inspect.BoundArguments, *, fixed: bool) -> dict[str, Any]:
    """What `placeholders` is told of the state outside that the program changes."""
    known.fixed = fixed
    parameters = bound.signature.parameters
    single = {k: v for k, v in bound.arguments.items() if parameters[k].kind not in _MANY}
    return {"changing": known.changing(plain, single), "objects": known.whole}


def _capture(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    branches: bool,
    dynamic: bool,
    numbers: bool,
    integers: bool = True,
    given_only: bool = False,
    shares: bool = True,
    keeps_raising: bool = False,
    whole: bool = False,
    joins: bool = False,
    budget: float | None = None,
    known: Any = None,
    itself: bool = False,
    calls: Any = None,
    make: Callable[..., Recorder] = Recorder,
) -> Captured:
    """Run a function on traced values and keep the graph of what it does.

    `numbers` says whether Python's numbers are inputs of the graph, or fixed; `integers` whether integers are, too.
    With `joins` branches and loops may leave a variable with values of different types. With `whole` a large container
    of plain data is one input. With `keeps_raising` the graph keeps what may raise, read or not. `make` makes the
    recorder. `known` is the state outside that the program changes, as far as attempts before found out; None where
    it may change none. With `itself` the graph is for the function to run, whatever graphs it has. `calls` are those of
    libraries that stay whole.
    """
    wrap_later_names()
    plain, held = original_function(function)
    check_gives_at_once(plain)
    keywords = bound_keywords(function)
    bound = bind(plain, (*held, *args), {**keywords, **kwargs}, len(held) if given_only else None)
    recorder = make(branches=branches, boundary=sys._getframe())
    recorder.keeps_raising, recorder.joins, recorder.libraries.whole = keeps_raising, joins, calls
    recorder.allowance = Allowance(budget)
    recorder.state.known = known
    recorder.itself = plain if itself else None
    code = getattr(plain, "__code__", None)
    recorder.start = None if code is None else (code, 0, None)
    if isinstance(function, Module):
        recorder.paths = {id(value): name for name, value in [*function.named_parameters(), *function.named_buffers()]}
    names = list(bound.signature.parameters)
    given = set(names) if not given_only else set(bound.signature.bind_partial(*held, *args, **kwargs).arguments)
    given -= {*names[: len(held)], *(keywords.keys() - kwargs.keys())}
    kinds = (float, complex, *((int,) if integers else ())) if numbers else ()
    bound_count = len(held) if given_only else None
    how: dict[str, Any] = {"held": bound_count, "shares": shares, "whole": whole}
    if known is not None:
        how.update(_changing(known, plain, bound, fixed=not numbers))
    made = placeholders(recorder, bound, dynamic=dynamic, numbers=kinds, given=given, **how)
    recorder.training.inputs = {leaf.node: leaf.value for leaf in made.leaves if leaf.node is not None}
    call_args, call_kwargs = made.call()
    if known is not None and not known.whole:
        recorder.state.begin(made.values)
    try:
        with _running(recorder), np.errstate():
            for name, value, kind in zip(made.names, made.values, made.kinds, strict=True):
                recorder.reads.from_outside(value, (plain, name) if kind not in _MANY else None)
            result = recorder.run(plain, tuple(call_args), call_kwargs)
            if recorder.refused is not None:
                raise recorder.refused
            recorder.giving_back = plain
            finish(recorder, result)
    except PathEnded:
        with recorder.within(recorder.root):
            recorder.state.take_back()
        recorder.root.graph.output(recorder.root.failed)
    except TraceError as error:
        error.attempt = Captured(recorder.root.graph, made, recorder)
        raise
    graph = recorder.root.graph
    graph.signature = made.inputs(bound_count or 0)
    decided = _decided(recorder)
    graph._sweep(lambda node: node in decided or node.is_impure() or (keeps_raising and raises(node)))
    return Captured(graph, made, recorder)


@contextmanager
def _running(recorder: Recorder) -> Iterator[None]:
    """While the program runs: calls come to the recorder; in the end all that it has changed is as before."""
    token = current_recorder.set(recorder)
    recorder.reads.special.active = True
    try:
        yield
    except Exception as error:
        if recorder.refused is None or isinstance(error, TraceError):
            raise
        raise recorder.refused from None  # which the program has caught, and made this of
    finally:
        current_recorder.reset(token)
        recorder.reads.special.end()
        recorder.state.undo()


def _decided(recorder: Recorder) -> set[Node]:
    """The nodes of numbers that decided something: guards are made of them, so they outlive what they decided."""
    sides = (side for guard in recorder.sizes.guards for side in (guard.left, guard.right) if isinstance(side, Dim))
    sources = (atom.source for side in sides for atom in side.atoms())
    return {*recorder.value_guards, *(source[1] for source in sources if source is not None and source[0] == "node")}


def _is_one(recorder: Recorder, value: Any) -> bool:
    """Whether a part of a result is not taken apart."""
    return recorder.lists.get(value) is not None or has_missing(value) or recorder.state.is_whole(value)


def finish(recorder: Recorder, result: Any) -> None:
    """End the graph: its result, and what it writes into the caller's arrays."""
    recorder.libraries.settle(result)
    settle_keys(recorder, result)
    check_given_back(recorder, result)
    if recorder.unordered:
        check_order(recorder, result)
    leaves, tree = pytree.flatten(result, is_leaf=lambda value: _is_one(recorder, value))
    recorder.given.check()
    recorder.state.take_back()
    recorder.training.finish(leaves)
    recorder.root.views.clear()  # a result that is a view is one of what the array is in the end
    nodes = [recorder.state.result(leaf) for leaf in leaves]
    recorder.result = (leaves, nodes, tree)
    values = recorder.in_structure(tree, nodes)
    writes: list[tuple[Node, Node]] = []
    root = recorder.root
    for buffer, node in root.held.items():
        if buffer.target is None:
            continue
        if buffer.stale is not None:
            recorder.refuse(
                f"{buffer.stale}; the caller's array has no one value to take", help="copy it before the loop"
            )
        reshaped = recorder.reshaped.get(buffer.target)
        if reshaped is not None:
            writes.append((buffer.target, recorder.read(reshaped)))
        elif node is not buffer.target:
            writes.append((buffer.target, node))
    root.graph.output(values, writes=tuple(writes))
    recorder.state.drop_owners()


__all__ = ["Captured", "capture", "convert"]
