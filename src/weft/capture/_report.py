"""What is known of captured programs, in words: `Explanation`, which `explain` gives of functions and of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weft import _where
from weft._module import Module
from weft._objects import delete_state, set_for_now, set_state
from weft.capture._checks import short
from weft.capture._draws import draw, filled, make_generator, shuffled
from weft.capture._wrap import is_wrapped
from weft.graph import Graph, Node
from weft.graph._control import cond, fori_loop, scan, switch, while_loop
from weft.ops import Spec

if TYPE_CHECKING:
    from weft.capture._survey import Problem

_LOOPS = (fori_loop, while_loop, scan)
_BRANCHES = (cond, switch)
_DRAWS = (draw, filled, make_generator, shuffled)
_EACH = 3  # guards of a family that are told one by one


@dataclass(frozen=True, repr=False)
class GraphReport:
    """One captured graph: its `inputs`, its `guards`, which are what must hold of a call, and all else that it prints.

    `fixed` says that sizes and numbers count as they were, `because` what was different from the graphs before it.
    """

    graph: Graph
    inputs: list[str]
    guards: list[str]
    fixed: bool
    because: str | None
    _counts: str
    _sections: dict[str, list[str]]

    @property
    def _way(self) -> str:
        return " with its sizes and numbers fixed" if self.fixed else ""

    def _text(self, head: str) -> str:
        lines = [f"{head}: {self._counts}"]
        for title, told in self._sections.items():
            lines += [f"  {title}", *(f"    {line}" for line in told)] if told else []
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self._text(f"graph{self._way}")


@dataclass(frozen=True, repr=False)
class Explanation:
    """What was captured of a function, what was not, and why; it prints as text.

    `graphs` has a report of each graph, `problems` everything that could not be captured, in the order of the
    program's lines. Both are there where only sizes, numbers or types had to be fixed. `plain` tells why calls ran
    as plain Python, and how many did; of a call that was not made, that it would.
    """

    name: str
    graphs: tuple[GraphReport, ...] = ()
    problems: tuple[Problem, ...] = ()
    plain: Mapping[str, int] = field(default_factory=dict)
    _stopped: str | None = None  # what ended the search for problems early
    _way: tuple[str, str] = ("with its sizes and numbers fixed", "with open sizes and numbers")  # captured, and not

    @property
    def captured(self) -> bool:
        """Whether there is a graph."""
        return bool(self.graphs)

    @property
    def graph(self) -> Graph | None:
        """The latest graph; None where there is none."""
        return self.graphs[-1].graph if self.graphs else None

    def __repr__(self) -> str:
        parts = []
        if len(self.graphs) == 1:
            (one,) = self.graphs
            parts.append(one._text(f"{self.name} is captured{f' {self._way[0]}' if self.problems else one._way}"))
        elif self.graphs:
            parts.append(f"{self.name} is captured as {len(self.graphs)} graphs")
            parts += [one._text(f"graph {number}{one._way}") for number, one in enumerate(self.graphs, 1)]
        if self.problems:
            head = self._way[1] if self.graphs else f"{self.name} cannot be captured"
            parts.append(f"{head}: {_many(len(self.problems), 'problem')}")
            parts += [_numbered(number, problem) for number, problem in enumerate(self.problems, 1)]
        if self._stopped is not None:
            parts.append(self._stopped)
        for why, count in self.plain.items():
            ran = f"{self.name} runs" if not count else f"{_many(count, 'call')} of {self.name} ran"
            parts.append(f"{ran} as plain Python: {why}")
        if not parts:
            told = f"{self.name} was not called yet"
            parts.append(f"{told}; weft.explain(f, *args) tells what a call would be captured as")
        return "\n\n".join(parts)


def _numbered(number: int, problem: Problem) -> str:
    first, *rest = str(problem).splitlines()
    return "\n".join([f"{number}. {first}", *(f"   {line}" for line in rest)])


def report(entry: Any, because: str | None = None) -> GraphReport:
    """What there is to tell of one captured graph, or of one that was loaded."""
    graph, captured = entry.graph, getattr(entry, "captured", None)
    nodes = list(all_nodes(graph))
    loops = [node for node in nodes if node.target in _LOOPS]
    branches = [node for node in nodes if node.target in _BRANCHES]
    counts = [_many(len(nodes), "node"), _many(len(loops), "loop"), _many(len(branches), "branch", "branches")]
    writes = graph.output_node().kwargs.get("writes", ())
    changes = [
        _at(node, "changes an object") for node in nodes if node.target in (set_state, set_for_now, delete_state)
    ]
    written = [_name(target) for target, _ in writes if target.op != "call_function"]
    guards = _guards(entry.checks.conditions)
    sections = {
        "captured because": [] if because is None else [because],
        "inputs": entry.told,
        "control flow": _control([*loops, *branches], {} if captured is None else captured.recorder.written_out),
        "writes": [*written, *changes],
        "random numbers": [_at(node, "drawn") for node in nodes if node.target in _DRAWS],
        "run as Python": _opaque(nodes),
        "the function itself runs where": [_doubted(doubt) for doubt in getattr(entry, "doubts", ())],
        "valid while": guards,
        "passes": [] if captured is None else _passes(entry.report),
    }
    sections = {title: list(dict.fromkeys(lines)) for title, lines in sections.items()}
    return GraphReport(graph, entry.told, guards, entry.static, because, ", ".join(counts), sections)


def _doubted(doubt: Any) -> str:
    """Where the function itself may have to run, and why."""
    where = (doubt.where or "").partition("\n")[0]
    return f"{where}: {doubt.message}" if where else str(doubt.message)


def _guards(conditions: list[Any]) -> list[str]:
    """What guards say beside the types of inputs; many about the same are told as one."""
    told = [one for one in conditions if not one.basic]
    many = Counter(one.family for one in told)
    says = [one.family if one.family and many[one.family] > _EACH else one.says for one in told]
    return list(dict.fromkeys(says))


def all_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of the bodies in it."""
    for node in graph.nodes:
        yield node
        for body in node.bodies:
            yield from all_nodes(body)


def _many(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def inputs(entry: Any) -> list[str]:
    """What the graph is for: the names and types of its inputs, and what other arguments are fixed to."""
    lines = []
    for leaf in entry.captured.arguments.leaves:
        if leaf.node is not None:
            lines.append(f"{entry.guards.labels[leaf.node]}: {_type(leaf.node.meta.get('type'), leaf.value)}")
        elif not isinstance(leaf.value, Module):
            lines.append(f"{leaf.parameter}: fixed, {short(leaf.value)}")
    for one in entry.captured.recorder.state.inputs.values():
        types = [_type(leaf.node.meta.get("type"), leaf.value) for leaf in one.leaves if leaf.node is not None]
        lines.append(f"{one.label}: {', '.join(types) or 'the same array as another'}")
    return lines


def _type(found: Any, value: Any) -> str:
    if isinstance(found, Spec):
        return f"{found.dtype}[{', '.join(map(str, found.shape))}]" if found.shape else f"{found.dtype}"
    return found.__name__ if isinstance(found, type) else type(value).__name__


def _control(nodes: list[Node], written_out: dict[Any, Any]) -> list[str]:
    """Loops and branches by line: those that are nodes, and loops that were written out."""
    found: list[tuple[int, str]] = []
    for node in nodes:
        kind = "a loop" if node.target in _LOOPS else "both sides kept"
        place = _place(node)
        found.append((place.line if place else 0, _at(node, f"{kind} ({node.target.__name__})")))
    for site, (steps, failure) in written_out.items():
        if _where.is_own_file(site.file):
            continue  # a layer's or an optimiser's loop over its parts
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
