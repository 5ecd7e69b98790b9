"""`script`: a function captured from its source alone, with both sides of its branches and its loops as loops.

    >>> import weft
    >>> @weft.script
    ... def collatz(n):
    ...     steps = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         steps += 1
    ...     return steps
    >>> collatz(27)
    111

Nothing is known of the arguments, so nodes have no types, and writes stay what they are: nodes that run in their order.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from weft._collector import paused_collector
from weft._frames import without_frames
from weft._module import Module
from weft._recursion import deep_recursion
from weft.autograd import Tensor
from weft.capture._branch import PathEnded
from weft.capture._budget import Allowance, OverBudget
from weft.capture._callables import check_callable, check_gives_at_once
from weft.capture._captured import bound_keywords, original_function
from weft.capture._libraries import is_init
from weft.capture._loaded_inside import refuse_edited
from weft.capture._numpy_special import called_poly1d, traced_in
from weft.capture._once import check_given_back
from weft.capture._opaque import Opaque
from weft.capture._placeholders import _without_variadics
from weft.capture._present import check_order, has_missing
from weft.capture._recorder import Recorder
from weft.capture._signatures import passes_on
from weft.capture._trace import as_module
from weft.capture._wrap import wrap_later_names
from weft.errors import CaptureError
from weft.graph import Graph, GraphModule

_BUDGET = 3.0  # a script is captured once, and cannot run as plain Python instead
_WAYS_OUT = "write a recursion as a loop, mark a function with weft.wrap so that it stays a call, or use weft.compile"
_VARIADIC: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


class ScriptRecorder(Recorder):
    """Records a program of which no type is known."""

    def __init__(self) -> None:
        super().__init__(branches=True, boundary=sys._getframe(1))
        self.untyped = True

    def constant(self, value: Any) -> Any:
        """An array the program closes over."""
        known = self.constants.get(id(value))
        if known is None:
            path = self.constant_path(value)
            node = self.root.graph.create_node("get_attr", path, (), {})
            node._position = self.position()
            known = self.constants[id(value)] = (value, Opaque(self, node))
        return known[1]

    def run_numpy(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of NumPy's: it happens when the graph runs, unless it is only about numbers."""
        function, args = called_poly1d(function, args)
        if isinstance(function, np.poly1d):
            return self.numpy.untyped(np.polyval, (function.coeffs, *args), kwargs)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, (np.ndarray, Tensor)):
            return getattr(self.constant(owner), function.__name__)(*args, **kwargs)
        from weft.capture._draws import draws, run_draw

        if draws(function, owner):
            return run_draw(self, function, owner, args, kwargs)
        other = isinstance(function, type) and not issubclass(function, (np.generic, np.ndarray))
        if (other or is_init(function)) and not traced_in(args, kwargs):
            return function(*args, **kwargs)  # a dtype, an errstate and the like: no part of a graph
        self.libraries.derived(function, args)
        return self.numpy.untyped(function, args, kwargs)


@without_frames
def script(function: Callable[..., Any] | Module) -> GraphModule:
    """Capture a function from its source: `if`, `while` and `for` become nodes with both branches and bodies.

    The result is called as the function is, and does what it does, the writes into its arguments included.

    >>> import weft
    >>> def halvings(n):
    ...     count = 0
    ...     while n > 1:
    ...         n, count = n // 2, count + 1
    ...     return count
    >>> weft.script(halvings)(40)
    5
    """
    check_callable("script", function)
    wrap_later_names()
    plain, held = original_function(function)
    if getattr(plain, "_edits", False):
        refuse_edited(plain)
    check_gives_at_once(plain)
    recorder = ScriptRecorder()
    recorder.allowance = Allowance(_BUDGET)
    code = getattr(plain, "__code__", None)
    recorder.start = None if code is None else (code, 0, None)
    if isinstance(function, Module):
        recorder.paths = {id(value): name for name, value in [*function.named_parameters(), *function.named_buffers()]}
    try:
        with deep_recursion(), paused_collector(), np.errstate():
            _run(recorder, plain, held, bound_keywords(function))
    except OverBudget:
        raise CaptureError(f"script: {recorder.allowance.told()}", help=_WAYS_OUT) from None
    graph = recorder.root.graph
    graph.eliminate_dead_code()
    made = as_module(function, graph)
    if isinstance(function, FunctionType):
        # Each GraphModule has a class of its own: this one alone is bound to objects, where it stands in a class.
        type(made).__get__ = _bound_to  # type: ignore[attr-defined]  # as above
    return made


def _bound_to(module: GraphModule, instance: Any, owner: Any = None) -> Any:
    return module if instance is None else functools.partial(module, instance)


_LATE = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _run(recorder: ScriptRecorder, plain: Any, held: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    from weft import pytree

    parameters = list(inspect.signature(plain).parameters.values())
    given: dict[str, Any] = {}
    _check_variadics(plain, parameters, len(held), keywords)
    parameters = parameters[len(held) :]
    if passes_on(plain):  # a decorator that takes *args is given what has no default, as in a call
        parameters = [p for p in parameters if p.default is p.empty and p.name not in keywords]
        keywords, given = {}, keywords
    if keywords:  # they are defaults, which a call may still replace
        parameters = list(inspect.signature(functools.partial(plain, *held, **keywords)).parameters.values())
    values = [_placeholder(recorder, parameter) for parameter in parameters]
    bound = recorder.bind(plain)
    if any(parameter.kind in _VARIADIC for parameter in parameters):
        ranked = sorted(
            zip(parameters, values, strict=True),
            key=lambda pair: 1 + _LATE.index(pair[0].kind) if pair[0].kind in _LATE else 0,
        )
        values = [value for _, value in ranked]
        bound, named = _without_variadics(bound, len(held) + len(values)), {}
    else:
        named = {p.name: v for p, v in zip(parameters, values, strict=True) if p.kind is inspect.Parameter.KEYWORD_ONLY}
        values = [v for p, v in zip(parameters, values, strict=True) if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    graph: Graph = recorder.root.graph
    try:
        result = bound(*held, *values, **named, **given)
        if recorder.refused is not None:
            raise recorder.refused
    except PathEnded:
        graph.output(recorder.root.failed)
        return
    except Exception as error:
        # Python, or a handler of the program, may have put a text of its own in place of a refusal.
        if recorder.refused is None or isinstance(error, CaptureError):
            raise
        raise recorder.refused from error
    recorder.giving_back = plain
    check_order(recorder, result)
    check_given_back(recorder, result)
    leaves, tree = pytree.flatten(result, is_leaf=lambda v: recorder.lists.get(v) is not None or has_missing(v))
    graph.output(recorder.in_structure(tree, [recorder.arg(leaf) for leaf in leaves]))


def _check_variadics(plain: Any, parameters: list[inspect.Parameter], held: int, keywords: dict[str, Any]) -> None:
    """Refuse a function whose `*args` or `**kwargs` would hide which argument is which; `held` are bound already."""
    if any(parameter.kind in _VARIADIC for parameter in parameters[:held]):
        raise CaptureError(
            f"script: {plain.__name__} takes its object in {parameters[0]}, which hides what else it takes",
            help="name its parameters, self first; or capture a call of it with weft.trace or weft.compile",
        )
    if not any(parameter.kind in _VARIADIC for parameter in parameters):
        return
    if passes_on(plain):
        raise CaptureError(
            f"script: {plain.__name__} takes *args or **kwargs, and so does the decorator around it",
            help="capture a call of it with weft.trace or weft.compile",
        )
    if keywords:
        raise CaptureError(
            f"script: a partial with keyword arguments of {plain.__name__}, which takes *args or **kwargs",
            help="write a function that calls it",
        )


def _placeholder(recorder: ScriptRecorder, parameter: inspect.Parameter) -> Opaque:
    stars = _VARIADIC.get(parameter.kind, "")
    default = {} if parameter.default is parameter.empty else {"default_value": parameter.default}
    node = recorder.root.graph.placeholder(stars + parameter.name, **default)
    node._position = recorder.start
    return Opaque(recorder, node)
