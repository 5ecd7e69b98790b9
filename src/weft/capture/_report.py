"""What a captured graph holds, in words: inputs, loops and branches, what it writes, draws and runs as Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from weft import _where
from weft._objects import delete_state, set_state
from weft.capture._checks import short
from weft.capture._draws import draw, make_generator, shuffled
from weft.capture._wrap import is_wrapped
from weft.graph import Graph, Node
from weft.graph._control import cond, fori_loop, scan, switch, while_loop
from weft.ops import Spec

_LOOPS = (fori_loop, while_loop, scan)
_BRANCHES = (cond, switch)
_DRAWS = (draw, make_generator, shuffled)


def report(entry: Any) -> list[str]:
    """The lines that tell of one captured graph; the first is a count."""
    graph = entry.graph
    nodes = list(all_nodes(graph))
    loops = [node for node in nodes if node.target in _LOOPS]
    branches = [node for node in nodes if node.target in _BRANCHES]
    counts = [_many(entry.report.after, "node"), _many(len(loops), "loop"), _many(len(branches), "branch", "branches")]
    lines = [", ".join(counts)]
    lines += _section("inputs", inputs(entry))
    lines += _section("control flow", _control([*loops, *branches], entry.captured.recorder))
    writes = graph.output_node().kwargs.get("writes", ())
    changes = [_at(node, "changes an object") for node in nodes if node.target in (set_state, delete_state)]
    written = [_name(target) for target, _ in writes if target.op != "call_function"]
    lines += _section("writes", [*written, *changes])
    lines += _section("random numbers", [_at(node, "drawn") for node in nodes if node.target in _DRAWS])
    lines += _section("run as Python", _opaque(nodes))
    lines += _section("valid while", [c.says for c in entry.checks.conditions if not c.basic])
    lines += _section("passes", _passes(entry.report))
    return lines


def all_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the bodies in it."""
    for node in graph.nodes:
        yield node
        for body in node.bodies:
            yield from all_nodes(body)


def _section(title: str, lines: list[str]) -> list[str]:
    return [f"  {title}", *(f"    {line}" for line in dict.fromkeys(lines))] if lines else []


def _many(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def inputs(entry: Any) -> list[str]:
    """What the graph is for: the names and types of its inputs, and what other arguments are fixed to."""
    lines = []
    for leaf in entry.captured.arguments.leaves:
        if leaf.node is not None:
            lines.append(f"{entry.guards.labels[leaf.node]}: {_type(leaf.node.meta.get('type'), leaf.value)}")
        else:
            lines.append(f"{leaf.parameter}: fixed, {short(leaf.value)}")
    for one in entry.captured.recorder.state.inputs.values():
        types = [_type(leaf.node.meta.get("type"), leaf.value) for leaf in one.leaves if leaf.node is not None]
        lines.append(f"{one.label}: {', '.join(types) or 'the same array as another'}")
    return lines


def _type(found: Any, value: Any) -> str:
    if isinstance(found, Spec):
        return f"{found.dtype}[{', '.join(map(str, found.shape))}]" if found.shape else f"{found.dtype}"
    return found.__name__ if isinstance(found, type) else type(value).__name__


def _control(nodes: list[Node], recorder: Any) -> list[str]:
    """Loops and branches by line: those that are nodes, and loops that were written out."""
    found: list[tuple[int, str]] = []
    for node in nodes:
        kind = "a loop" if node.target in _LOOPS else "both sides kept"
        place = _place(node)
        found.append((place.line if place else 0, _at(node, f"{kind} ({node.target.__name__})")))
    for site, (steps, failure) in recorder.written_out.items():
        text = _where._line(site.file, site.line).strip()
        why = "" if failure is None else f", because: {getattr(failure, 'message', failure)}"
        found.append((site.line, f"line {site.line}: {text}  written out, {_many(steps, 'step')}{why}"))
    return [line for _, line in sorted(found, key=lambda pair: pair[0])]


def _opaque(nodes: list[Node]) -> list[str]:
    wrapped = [node for node in nodes if node.op == "call_function" and is_wrapped(node.target)]
    return [_at(node, f"{getattr(node.target, '__name__', node.target)}, by weft.wrap") for node in wrapped]


def _passes(made: Any) -> list[str]:
    rules = [f"{rule} {count}" for rule, count in made.rules.items()]
    return [f"{made.before} nodes before, {made.after} after: {', '.join(rules)}"] if rules else []


def _place(node: Node) -> _where.Location | None:
    return None if node._position is None else _where.locate(node._position)


def _at(node: Node, what: str) -> str:
    place = _place(node)
    return what if place is None else f"line {place.line}: {place.text}  {what}"


def _name(target: Any) -> str:
    return str(target.target)
