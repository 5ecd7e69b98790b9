"""`trace`: a function captured on abstract values, along the one path they allow.

>>> import numpy as np, weft
>>> gm = weft.trace(lambda x, w: np.tanh(x @ w).sum(axis=0), weft.spec((8, 3)), weft.spec((3, 2)))
>>> print(gm.code)
def forward(self, x, w):
    matmul = x @ w;  x = w = None
    tanh = weft.tanh(matmul);  matmul = None
    sum_1 = weft.sum(tanh, axis = 0);  tanh = None
    return sum_1
<BLANKLINE>
>>> gm.graph.output_node().args[0].meta["type"]
Spec(shape=(2,), dtype='float64')
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from weft._frames import without_frames
from weft._module import Module
from weft.capture._callables import check_callable, class_name
from weft.capture._captured import Captured, capture
from weft.capture._numpy_targets import take_tensors
from weft.errors import CaptureError
from weft.graph import Graph, GraphModule


@without_frames
def trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Capture what a function does with arguments of these shapes and dtypes; nothing is computed.

    Arguments are arrays, Tensors, `weft.spec`s, numbers, and containers of them; anything else is fixed. One path is
    recorded: a branch or a loop that a traced value decides is refused. Without arguments, `trace` is a decorator: the
    function it gives runs as before, and keeps the graph of its latest call in `.graph`.

    >>> import numpy as np, weft
    >>> print(weft.trace(lambda x: np.sin(x) * 2, weft.spec((3,))).code.strip())
    def forward(self, x):
        sin = weft.sin(x);  x = None
        mul = sin * 2;  sin = None
        return mul
    """
    check_callable("trace", function)
    if not args and not kwargs and _takes_arguments(function):
        return TracedFunction(function)
    return trace_call(function, args, kwargs)


def trace_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], shares: bool = False
) -> GraphModule:
    """The GraphModule of one call; `shares` where it is for that call alone, in which two arrays may be one."""
    return as_module(function, _captured(function, args, kwargs, shares).graph)


def _captured(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], shares: bool) -> Captured:
    """One call. Integers are fixed where the program cannot be captured without their values.

    A number that would decide the path is refused all the same: the graph would hold one side of it only.
    """
    how = {"branches": False, "dynamic": False, "numbers": True, "given_only": True, "shares": shares}
    try:
        return capture(function, args, kwargs, **how)
    except CaptureError as error:
        if error.decides_path:
            raise
        first: Exception = error
    except Exception as error:  # such as shapes that do not fit as far as is known without the numbers
        first = error
    try:
        return capture(function, args, kwargs, integers=False, **how)
    except CaptureError:
        raise first from None


def as_module(function: Any, graph: Graph) -> GraphModule:
    """A graph with the arrays it reads."""
    root: Any = function if isinstance(function, Module) else dict(graph.constants)
    if isinstance(function, Module):
        take_tensors(graph)
    return GraphModule(root, graph, class_name(function))


def _takes_arguments(function: Any) -> bool:
    code = getattr(getattr(function, "forward", function), "__code__", None)
    return code is None or bool(code.co_argcount or code.co_kwonlyargcount or code.co_flags & 12)


class TracedFunction:
    """A function that keeps the graph of its latest call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__weft_original__ = function
        self.module: GraphModule | None = None

    @without_frames
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.module = trace_call(self.__weft_original__, args, kwargs, shares=True)
        return self.module(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        name = getattr(self.__weft_original__, "__qualname__", type(self.__weft_original__).__qualname__)
        return f"<traced {name}{'' if self.module is not None else ', not called yet'}>"

    @property
    def graph(self) -> Graph:
        """The graph of the latest call."""
        if self.module is None:
            raise CaptureError("nothing was traced yet", help="call the function first")
        return self.module.graph

    @property
    def code(self) -> str:
        """The latest graph as Python, with the imports it needs."""
        return "" if self.module is None else self.module.source_code
