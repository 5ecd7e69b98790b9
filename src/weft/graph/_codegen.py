r"""How the code of a graph is written, for those who change it: `Graph.set_codegen` and `Graph.on_generate_code`.

    class Announced(CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            first = super().gen_fn_def(free_vars, maybe_return_annotation)
            return "\n".join([first, "    print('called')"])

    graph.set_codegen(Announced())

The graph itself stays as it is. A copy of it is written in the ordinary way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.graph._code import PythonCode
    from weft.graph._graph import Graph

Transform = Callable[[list[str]], list[str]]
"""From the lines of a function's body, without its indentation, to other ones."""


class CodeGen:
    """Writes the parts of a graph's code that a subclass may change."""

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that begins the function; lines after it, indented, come before the body."""
        return f"def forward({', '.join(['self', *free_vars])}){maybe_return_annotation}:"

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code of this class uses, and what they stand for."""
        return []

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders for the arguments of a call, where the graph is run node by node."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of a call for what the output node gives."""
        return outputs


def on_generate_code(
    graph: Graph, make_transformer: Callable[[Transform | None], Transform]
) -> AbstractContextManager[None]:
    """See `Graph.on_generate_code`."""
    before = graph._body_transform
    graph._body_transform = make_transformer(before)
    graph._edited()
    return _set_back(graph, before)


@contextmanager
def _set_back(graph: Graph, before: Transform | None) -> Iterator[None]:
    try:
        yield
    finally:
        graph._body_transform = before


def transformed(code: PythonCode, head: int, transform: Transform) -> PythonCode:
    """The code with another body; which line comes from which node is then not known."""
    lines = code.src.splitlines()
    body = transform([f"{line.removeprefix('    ')}\n" for line in lines[head:]])
    written = "".join(line if line.endswith("\n") else f"{line}\n" for line in body).splitlines()
    text = "\n".join([*lines[:head], *(f"    {line}" if line else "" for line in written)])
    return replace(code, src=f"{text}\n", lines={})
