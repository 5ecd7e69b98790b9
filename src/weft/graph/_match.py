"""`SubgraphMatcher`: find where a small graph, the pattern, occurs in a larger one.

A match maps every node of the pattern to a node of the graph that does the same to the same inputs, and every parameter
of the pattern to whatever stands there, a node or a constant. Candidates come from the graph's table by target, so a
search costs what its candidates cost. A match is closed: no value inside it, its results excepted, is used outside, so
it can be replaced.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.errors import GraphError
from weft.graph._arguments import nodes_in
from weft.graph._graph import Graph
from weft.graph._node import Node
from weft.graph._same import Spellings, parts_of, same_constant
from weft.graph._subgraph import leaves_of, reentry
from weft.graph._wildcards import OneOf, Restriction

_Pending = tuple[Any, Any, "_Pending"] | None  # a linked list: pattern part, graph part, the rest


@dataclass
class InternalMatch:
    """One occurrence of a pattern. Keys are nodes of the pattern; values are nodes of the graph, or constants."""

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    ops: dict[OneOf, Any] = field(default_factory=dict)

    @property
    def graph(self) -> Graph:
        """The graph that it was found in: that of the program, or the body of a loop or branch."""
        return next(node.graph for node in self.returning_nodes)

    @property
    def bindings(self) -> dict[str, Any]:
        """What each parameter of the pattern matched, by name."""
        return {node.target: value for node, value in self.nodes_map.items() if node.op == "placeholder"}

    @property
    def name_node_map(self) -> dict[str, Any]:
        """What each node of the pattern matched, by the pattern's name for it."""
        return {node.name: value for node, value in self.nodes_map.items()}


class _Partial:
    """A match under construction."""

    __slots__ = ("nodes", "ops", "taken")

    def __init__(self, nodes: dict[Node, Any], taken: set[Node], ops: dict[OneOf, Any]) -> None:
        self.nodes, self.taken, self.ops = nodes, taken, ops

    def copy(self) -> _Partial:
        return _Partial(dict(self.nodes), set(self.taken), dict(self.ops))


class SubgraphMatcher:
    """Finds the occurrences of `pattern`.

    `ignore_literals` lets a constant of the pattern match any constant. `commutative` tries both orders of the operands
    of ops that are commutative. `same_ops` treats the spellings of one op (`x + y`, `np.add`, `weft.add`) as the same.
    `guards` are conditions on what a parameter matched, by name; `where` is one on the whole match.
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
        *,
        commutative: bool = False,
        same_ops: bool = True,
        guards: Mapping[str, Callable[[Any], bool]] | None = None,
        where: Callable[[InternalMatch], bool] | None = None,
    ) -> None:
        self.pattern = pattern
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        self.where = where
        self.parameters = [node for node in pattern.nodes if node.op == "placeholder"]
        self.outputs = _outputs_of(pattern)
        inside = {node for node in pattern.nodes if node.op not in ("placeholder", "output")}
        sinks = [node for node in self.outputs if not any(user in inside for user in node.users)]
        self.anchors = [pattern.output_node()] if match_output else sinks
        self.guards = self._all_guards(guards or {})
        self._spellings = Spellings(same_ops, commutative)
        self._used: set[Node] = set()
        self._merged: dict[Node, list[Node]] = {}
        self._spans: list[tuple[int, int]] = []

    def match(self, graph: Graph) -> list[InternalMatch]:
        """All matches, in the order of the graph; of overlapping ones the first."""
        self._used, self._merged, self._spans = set(), {}, []
        found: list[InternalMatch] = []
        for candidate in self._candidates(graph, self.anchors[0]):
            if candidate in self._used:
                continue
            start: _Pending = (self.anchors[0], candidate, None)
            solutions = (self._finish(each) for each in self._solve(graph, start, _Partial({}, set(), {})))
            match = next((each for each in solutions if each is not None), None)
            if match is not None:
                found.append(match)
                self._settle(match)
        return found

    # Searching

    def _candidates(self, graph: Graph, anchor: Node) -> list[Node]:
        keys = self._spellings.keys(anchor)
        found = (graph.find_nodes(op=op, target=target, sort=False, bodies=False) for op, target in keys)
        return sorted(node for nodes in found for node in nodes)

    def _solve(self, graph: Graph, pending: _Pending, partial: _Partial) -> Iterator[_Partial]:
        """Every way to complete a partial match. Recurses where there is a choice only."""
        while pending is not None:
            mine, theirs, pending = pending
            if not isinstance(mine, Node):
                parts = self._parts(mine, theirs)
                if parts is None:
                    return
                pending = _push(parts, pending)
            elif mine.op == "placeholder":
                if not self._bind(partial, mine, theirs):
                    return
            elif mine in partial.nodes:
                if partial.nodes[mine] is not theirs:
                    return
            else:
                if not isinstance(theirs, Node) or theirs in partial.taken or theirs in self._used:
                    return
                ways = self._spellings.ways(mine, theirs, partial.ops)
                if not ways:
                    return
                partial.nodes[mine] = theirs
                if mine.op != "get_attr":
                    # Reading an attribute computes nothing: others may share the read.
                    partial.taken.add(theirs)
                if len(ways) > 1:
                    for way in ways:
                        yield from self._solve(graph, _push(way, pending), partial.copy())
                    return
                pending = _push(ways[0], pending)
        anchor = next((node for node in self.anchors if node not in partial.nodes), None)
        if anchor is None:
            yield partial
            return
        for candidate in self._related(graph, anchor, partial):
            yield from self._solve(graph, (anchor, candidate, None), partial.copy())

    def _parts(self, mine: Any, theirs: Any) -> list[tuple[Any, Any]] | None:
        """What has to match for two arguments to match; None where they cannot."""
        parts = parts_of(mine, theirs)
        if parts is not None:
            return parts
        if nodes_in(theirs):
            return None
        return [] if self.ignore_literals or same_constant(mine, theirs) else None

    def _bind(self, partial: _Partial, parameter: Node, value: Any) -> bool:
        if parameter in partial.nodes:
            return _same_value(partial.nodes[parameter], value)
        if self.match_placeholder and not (isinstance(value, Node) and value.op == "placeholder"):
            return False
        partial.nodes[parameter] = value
        return True

    def _related(self, graph: Graph, anchor: Node, partial: _Partial) -> list[Node]:
        """Candidates for a further anchor: users of what is matched already, where the pattern ties it to that."""
        came: dict[Node, Node | None] = {anchor: None}
        queue = [anchor]
        for node in queue:
            bound = partial.nodes.get(node)
            if isinstance(bound, Node):
                frontier = {bound}
                step = came[node]
                while step is not None:
                    frontier = {user for one in frontier for user in one.users if self._spellings.alike(step, user)}
                    step = came[step]
                return sorted(node for node in frontier if node not in self._used)
            for one in node._input_nodes:
                if one not in came:
                    came[one] = node
                    queue.append(one)
        return self._candidates(graph, anchor)

    # Accepting

    def _finish(self, partial: _Partial) -> InternalMatch | None:
        """The match, if it is closed and every condition holds."""
        taken = partial.taken
        bound = [partial.nodes[node] for node in self.parameters if node in partial.nodes]
        if any(one in taken for value in bound for one in nodes_in(value)):
            return None
        results = frozenset(self.outputs)
        for mine, theirs in partial.nodes.items():
            inner = mine.op not in ("placeholder", "get_attr") and mine not in results
            if inner and any(user not in taken for user in theirs.users):
                return None
        match = InternalMatch(
            list(self.anchors), dict(partial.nodes), bound, [partial.nodes[node] for node in self.outputs], partial.ops
        )
        if len(self.outputs) > 1 and self._comes_back(match, taken):
            return None
        bindings = match.bindings
        if not all(guard(bindings[name]) for name, guard in self.guards.items() if name in bindings):
            return None
        return match if self.where is None or self.where(match) else None

    def _comes_back(self, match: InternalMatch, taken: set[Node]) -> bool:
        """Whether an input of the match depends on its results, counting the matches accepted before as replaced."""
        low = min(node._label for node in taken)
        at = bisect_right(self._spans, (low, low)) - 1
        if at >= 0 and self._spans[at][1] >= low:
            low = min(low, self._spans[at][0])
        inputs = [one for value in match.placeholder_nodes for one in nodes_in(value)]
        return reentry(taken, inputs, self._merged, low) is not None

    def _settle(self, match: InternalMatch) -> None:
        """Note what a match takes up, for those after it."""
        taken = [node for mine, node in match.nodes_map.items() if mine.op not in ("placeholder", "get_attr")]
        if self.remove_overlapping_matches:
            self._used.update(taken)
        if len(self.outputs) > 1:
            # Once replaced, each of its results may depend on each of its inputs.
            inputs = [one for value in match.placeholder_nodes for one in nodes_in(value)]
            self._merged.update(dict.fromkeys(taken, inputs))
            labels = [node._label for node in (*taken, *inputs)]
            self._spans = _with_span(self._spans, min(labels), max(labels))

    def _all_guards(self, guards: Mapping[str, Callable[[Any], bool]]) -> dict[str, Callable[[Any], bool]]:
        names = {node.target: node for node in self.parameters}
        for name in guards:
            if name not in names:
                raise GraphError(f"guards names {name!r}, which is not a parameter of the pattern: {', '.join(names)}")
        checks: dict[str, Callable[[Any], bool]] = dict(guards)
        for name, node in names.items():
            if isinstance(node.type, Restriction):
                checks[name] = _both(node.type, guards[name]) if name in guards else node.type
        return checks


def _outputs_of(pattern: Graph) -> list[Node]:
    leaves = leaves_of(pattern.output_node().args[0])
    for leaf in leaves:
        if not isinstance(leaf, Node) or leaf.op == "placeholder":
            raise GraphError(
                f"a pattern returns results of calls; this one returns {leaf!r}",
                help="leave out of the pattern's result what the pattern does not compute",
            )
    if not leaves:
        raise GraphError("the pattern is empty: it returns nothing", help="return the values it computes")
    if len(set(leaves)) != len(leaves):
        raise GraphError("the pattern returns one value twice")
    return leaves


def _with_span(spans: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """Disjoint intervals, in order, with one more merged in. Matches come in order, so the work is at the end."""
    tail = len(spans)
    while tail > 0 and spans[tail - 1][1] >= low:
        tail -= 1
    after = tail
    while after < len(spans) and spans[after][0] <= high:
        low, high = min(low, spans[after][0]), max(high, spans[after][1])
        after += 1
    spans[tail:after] = [(low, high)]
    return spans


def _push(parts: Sequence[tuple[Any, Any]], pending: _Pending) -> _Pending:
    for mine, theirs in reversed(parts):
        pending = (mine, theirs, pending)
    return pending


def _both(first: Callable[[Any], bool], second: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: first(value) and second(value)


def _same_value(a: Any, b: Any) -> bool:
    """Whether two arguments are the same: the same nodes in the same places, equal constants."""
    pending = [(a, b)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, Node) or isinstance(other, Node):
            if one is not other:
                return False
            continue
        parts = parts_of(one, other)
        if parts is not None:
            pending += parts
        elif not same_constant(one, other):
            return False
    return True
