"""Nodes grouped by the module they came from: nested runs of neighbours, drawn as nested boxes.

A scope is an unbroken run of nodes under one module path. Contracting unbroken runs of a topological order can make no
cycle, so scopes always have a layered layout; a module called twice shows as two boxes. The bodies of a node of control
flow are boxes too, beside their node in a box that holds them all; no edge leads into a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from weft.graph import Graph, Node


@dataclass(eq=False)
class Scope:
    """One box: nodes and inner scopes in the order of the graph. The outermost has an empty path."""

    path: str
    label: str
    children: list[Scope | Node] = field(default_factory=list)

    def nodes(self) -> Iterator[Node]:
        """Every node in the scope and below."""
        for child in self.children:
            if isinstance(child, Scope):
                yield from child.nodes()
            else:
                yield child


def scopes_of(graph: Graph) -> Scope:
    """Group the nodes of a graph; returns the outermost scope."""
    root = Scope("", "")
    open_scopes = [root]
    for node in graph.nodes:
        wanted = _stack(node)
        depth = 0
        while depth < len(wanted) and depth + 1 < len(open_scopes) and open_scopes[depth + 1].path == wanted[depth][0]:
            depth += 1
        del open_scopes[depth + 1 :]
        for path, kind in wanted[depth:]:
            scope = Scope(path, _label(path, kind, open_scopes[-1].path))
            open_scopes[-1].children.append(scope)
            open_scopes.append(scope)
        open_scopes[-1].children.append(_with_bodies(node, open_scopes[-1].path) if node.bodies else node)
    return root


_ROLES = {"cond": ("true", "false"), "while_loop": ("condition", "body"), "fori_loop": ("body",), "scan": ("body",)}


def _with_bodies(node: Node, outer: str) -> Scope:
    """A node of control flow and its bodies: a box around the node and one box for each body."""
    path = f"{outer}.{node.name}" if outer else node.name
    whole = Scope(path, node.name, [node])
    bodies = node.bodies
    roles = _ROLES.get(getattr(node.target, "__name__", ""), ())
    for number, body in enumerate(bodies):
        role = roles[number] if len(roles) == len(bodies) else f"branch {number}"
        inside = scopes_of(body)
        whole.children.append(Scope(f"{path}.{role}", role, inside.children))
    return whole


def _stack(node: Node) -> list[tuple[str, str]]:
    """(path, class name) of the modules around a node, the outermost first."""
    recorded = node._meta.get("nn_module_stack") if node._meta else None
    if recorded:
        own = node.target if node.op == "call_module" else ""  # the module that is called is the node, no box around it
        if isinstance(recorded, dict):
            return [(str(path), _class_name(kind)) for path, kind in recorded.items() if path not in ("", own)]
        return [(str(path), "") for path in recorded if path not in ("", own)]
    if node.op != "call_module":
        return []
    parts = str(node.target).split(".")[:-1]
    return [(".".join(parts[: i + 1]), "") for i in range(len(parts))]


def _class_name(kind: Any) -> str:
    if isinstance(kind, tuple) and kind:  # torch.fx writes (path, class)
        kind = kind[-1]
    return kind if isinstance(kind, str) else getattr(kind, "__name__", "")


def _label(path: str, kind: str, outer: str) -> str:
    inner = path[len(outer) + 1 :] if outer and path.startswith(outer + ".") else path
    return f"{inner} · {kind}" if kind else inner
