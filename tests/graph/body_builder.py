"""Short ways to build graphs with bodies, for tests."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import weft


class Body:
    """A graph with placeholders of these names; a pair gives the type too."""

    def __init__(self, *inputs: str | tuple[str, Any]) -> None:
        self.graph = weft.Graph()
        self.inputs = []
        for given in inputs:
            name, known = (given, None) if isinstance(given, str) else given
            node = self.graph.placeholder(name)
            if known is not None:
                node.meta["type"] = known
            self.inputs.append(node)

    def call(self, function: Any, *args: Any, name: str | None = None, type: Any = None, **kwargs: Any) -> weft.Node:
        node = self.graph.call_function(function, args, kwargs, name=name)
        if type is not None:
            node.meta["type"] = type
        return node

    def item(self, node: Any, key: Any, **options: Any) -> weft.Node:
        return self.call(operator.getitem, node, key, **options)

    def update(self, array: Any, key: Any, value: Any, **options: Any) -> weft.Node:
        return self.call(weft.index_update, array, key, value, type=array.meta.get("type"), **options)

    def gives(self, result: Any, writes: Any = ()) -> weft.Graph:
        self.graph.output(result, writes=writes)
        return self.graph


def body(*inputs: str | tuple[str, Any]) -> tuple[Any, ...]:
    """A body and its placeholders."""
    made = Body(*inputs)
    return (made, *made.inputs)


def compiled(graph: weft.Graph, **options: Any) -> Callable[..., Any]:
    from weft.graph._code import python_code

    code = python_code(graph, **options)
    scope = dict(code.globals)
    exec(compile(code.src, "<test>", "exec", dont_inherit=True), scope)
    return lambda *args: scope["forward"](None, *args)


def text(graph: weft.Graph) -> str:
    return "\n" + graph.python_code().src


def f8(*shape: int) -> weft.Spec:
    return weft.spec(shape, "float64")
