"""What a notebook shows for a graph or a GraphModule: its picture, and its code folded below."""

from __future__ import annotations

from typing import Any

from weft.graph import Graph
from weft.view._layout import igraph_or_explain
from weft.view._svg import escape, to_svg

PICTURE_LIMIT = 2000  # nodes; a larger picture takes seconds to lay out and nobody reads it


def repr_svg(graph: Graph) -> str | None:
    """The picture, or None where it cannot be drawn or would be too large: the notebook then shows text."""
    if len(graph.nodes) > PICTURE_LIMIT:
        return None
    try:
        igraph_or_explain()
    except ImportError:
        return None
    return to_svg(graph)


def repr_html(module: Any) -> str:
    """A GraphModule: its name, its picture in a frame that scrolls, its code."""
    graph = module.graph
    name = type(module).__name__
    title = f"<b>{escape(name)}</b>: {len(graph.nodes)} nodes, {sum(1 for _ in module.parameters())} parameters"
    picture = repr_svg(graph)
    shown = f'<div style="overflow:auto;max-height:40em">{picture}</div>' if picture is not None else ""
    return (
        f"<div>{title}{shown}<details{'' if shown else ' open'}><summary>code</summary>"
        f"<pre>{escape(module.code)}</pre></details></div>"
    )
