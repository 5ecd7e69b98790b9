"""Graphs as text for people: a line per node, a table, the code of a GraphModule with shapes and source lines.

graph():
    %x : [num_users=1] = placeholder[target=x]
    %mul : [num_users=1] = call_function[target=operator.mul](args = (%x, 2), kwargs = {})
    return mul
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.graph._arguments import nodes_in
from weft.graph._node import Node

if TYPE_CHECKING:
    from weft.graph._graph import Graph


def format_node(
    node: Node,
    placeholder_names: list[str] | None = None,
    maybe_return_typename: list[str] | None = None,
    include_tensor_metadata: bool = False,
) -> str | None:
    """One line for a node, as in `print(graph)`.

    A non-empty `placeholder_names` collects placeholders instead of describing them; a non-empty
    `maybe_return_typename` receives the type of the output in its first item.
    """
    kind = "" if node.type is None else f"{type_name(node.type)} "
    if include_tensor_metadata and (shown := known_type(node)):
        kind += f"{shown} "
    head = f"%{node.name} : {kind}[num_users={len(node.users)}] = {node.op}"
    if node.op == "placeholder":
        if placeholder_names:
            placeholder_names.append(f"{node.name}: {kind}".rstrip(" :"))
            return None
        default = f"(default={format_value(node.args[0])})" if node.args else ""
        return f"{head}[target={target_name(node.target)}]{default}"
    if node.op == "get_attr":
        return f"{head}[target={target_name(node.target)}]"
    if node.op == "output":
        if node.type is not None and maybe_return_typename:
            maybe_return_typename[0] = f" -> {type_name(node.type)}"
        return f"return {format_value(node.args[0] if node.args else None, percent=False)}{_writes(node)}"
    return (
        f"{head}[target={target_name(node.target)}](args = {format_value(node.args)}, kwargs = {_named(node.kwargs)})"
    )


def format_graph(graph: Graph, bodies: bool = True) -> str:
    """All nodes, one line each; those of bodies indented under the node that runs them."""
    lines = ["graph():"]
    for node in graph.nodes:
        lines.append(f"    {format_node(node) or ''}")
        for role, body in roles(node) if bodies else ():
            first, *rest = format_graph(body).splitlines()
            lines += [f"        {role}: {first}", *(f"        {line}" for line in rest)]
    return "\n".join(lines)


_ROLES = {
    "cond": ("true_fn", "false_fn"),
    "while_loop": ("cond_fn", "body_fn"),
    "fori_loop": ("body_fn",),
    "scan": ("f",),
}


def roles(node: Node) -> list[tuple[str, Graph]]:
    """The bodies of a node, each with what it is for the node's function."""
    bodies = node.bodies
    names = _ROLES.get(getattr(node.target, "__name__", ""), ()) if bodies else ()
    return [(names[k] if len(names) == len(bodies) else f"branches[{k}]", body) for k, body in enumerate(bodies)]


def format_table(graph: Graph, bodies: bool = True) -> str:
    """One row a node: kind, name, target, args and kwargs; shape and source line where any node knows them."""
    rows = [["opcode", "name", "target", "args", "kwargs", "shape", "source"], *_rows(graph, bodies, "")]
    known = [i for i in range(len(rows[0])) if i < 5 or any(row[i] for row in rows[1:])]
    return align([[row[i] for i in known] for row in rows])


def _rows(graph: Graph, bodies: bool, indent: str) -> Iterator[list[str]]:
    for node in graph.nodes:
        yield [
            indent + node.op,
            indent + node.name,
            target_name(node.target),
            format_value(node.args, percent=False),
            format_value(dict(node.kwargs), percent=False),
            known_type(node),
            source_line(node),
        ]
        for role, body in roles(node) if bodies else ():
            yield [f"{indent}  {role}", "", "", "", "", "", ""]
            yield from _rows(body, bodies, f"{indent}    ")


def align(rows: list[list[str]]) -> str:
    """Rows in columns, the first row as the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def readable(class_name: str, code: str, nested: dict[str, str] | None = None) -> str:
    """A GraphModule as the class a person would have written; `nested` holds the text of submodules by name."""
    lines = [f"class {_identifier(class_name)}(weft.nn.Module):", *_indented(code)]
    for name, text in (nested or {}).items():
        lines += ["", f"    # {one_line(name)}", *_indented(text)]
    return "\n".join(lines) + "\n"


# Parts of a line


def target_name(target: Any) -> str:
    """What a node calls or reads, by the name a reader would look it up under."""
    if isinstance(target, str):
        return one_line(target)
    module, name = where_defined(target)
    if module is None:
        return one_line(name)
    return f"{module}.{name}"


def where_defined(obj: Any) -> tuple[str | None, str]:
    """The module and name under which a function or class can be found; no module where it cannot."""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or type(obj).__name__
    module = getattr(obj, "__module__", None)
    if module is None and isinstance(obj, np.ufunc):  # older NumPy does not say
        module = "numpy"
    module = {"_operator": "operator"}.get(module, module) if isinstance(module, str) else None
    if module is not None and module != "__main__" and _resolves(module, name, obj):
        return module, name
    return None, str(name).rpartition(".<locals>.")[2]


def _resolves(module: str, name: str, obj: Any) -> bool:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is obj


def type_name(annotation: Any) -> str:
    """A type annotation as text."""
    if isinstance(annotation, str):
        return one_line(annotation)
    if isinstance(annotation, type) and not hasattr(annotation, "__args__"):
        module, name = annotation.__module__, annotation.__qualname__
        return name if module in ("builtins", "__main__") else f"{module}.{name}"
    return one_line(repr(annotation))


def known_type(node: Node) -> str:
    """Shape and dtype of a node's value, such as `float32[8, 3]`; empty where not known."""
    meta = node._meta
    return "" if not meta or "type" not in meta else spec_text(meta["type"])


def spec_text(spec: Any) -> str:
    """A Spec, or a container of them, in few characters."""
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{key}: {spec_text(part)}" for key, part in spec.items()) + "}"
    if isinstance(spec, (tuple, list)):
        return "(" + ", ".join(spec_text(part) for part in spec) + ")"
    if hasattr(spec, "shape") and hasattr(spec, "dtype"):
        return f"{spec.dtype}[{', '.join(str(dim) for dim in spec.shape)}]"
    return "?" if spec is None else spec.__name__ if isinstance(spec, type) else type(spec).__name__


def source_line(node: Node) -> str:
    """File, line and text that made the node; empty where not known."""
    place = node.location
    if place is None:
        return ""
    return one_line(f"{place.file.replace(chr(92), '/').rpartition('/')[2]}:{place.line}  {place.text}".rstrip())


def described(node: Node) -> str:
    """A node by name and, where known, source line: for messages that name several."""
    place = node.location
    return one_line(node.name if place is None else f"{node.name} ({place.file}:{place.line})")


def one_line(text: str) -> str:
    """Text with everything that would end a line, or does not print, escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def format_value(value: Any, percent: bool = True) -> str:
    """An argument: nodes by name, containers opened, anything else by repr, on one line."""
    if isinstance(value, Node):
        return f"%{value.name}" if percent else value.name
    if type(value) is int and value.bit_length() > 64:
        return hex(value)  # Python refuses to print integers of thousands of digits in decimal
    if type(value) in (int, float, bool, type(None)):
        return repr(value)
    if isinstance(value, str):
        return repr(value)
    inside: Callable[[Any], str] = lambda part: format_value(part, percent)  # noqa: E731  # short for this function only
    if isinstance(value, tuple):
        parts = ", ".join(inside(part) for part in value)
        if hasattr(value, "_fields"):
            return f"{type(value).__name__}({parts})"
        return f"({parts},)" if len(value) == 1 else f"({parts})"
    if isinstance(value, list):
        return f"[{', '.join(inside(part) for part in value)}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inside(key)}: {inside(part)}" for key, part in value.items()) + "}"
    if isinstance(value, slice):
        return f"slice({inside(value.start)}, {inside(value.stop)}, {inside(value.step)})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and nodes_in(value):
        fields = (f"{f.name}={inside(getattr(value, f.name))}" for f in dataclasses.fields(value))
        return f"{type(value).__name__}({', '.join(fields)})"
    if callable(value) and hasattr(value, "__name__"):
        return target_name(value)
    if hasattr(type(value), "output_node"):  # a Graph: the class itself would be a circular import
        return f"<graph {len(value.nodes)} node{'s' * (len(value.nodes) != 1)}>"
    return one_line(" ".join(repr(value).split()))


def _writes(node: Node) -> str:
    """What an output writes besides: `; a[...] = index_update`."""
    pairs = node.kwargs.get("writes", ())
    return "".join(f"; {target.name}[...] = {value.name}" for target, value in pairs)


def _named(kwargs: Any) -> str:
    return "{" + ", ".join(f"{one_line(str(key))}: {format_value(value)}" for key, value in kwargs.items()) + "}"


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "GraphModule"


def _indented(text: str) -> list[str]:
    return [f"    {line}" if line else "" for line in text.strip("\n").split("\n")]
