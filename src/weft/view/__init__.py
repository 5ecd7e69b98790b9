"""Pictures of graphs: Graphviz text, SVG, and HTML for notebooks."""

from weft.view._dot import to_dot
from weft.view._html import repr_html, repr_svg
from weft.view._svg import to_svg

__all__ = ["repr_html", "repr_svg", "to_dot", "to_svg"]
