"""The pass manager: runs passes in turn until none changes anything, lints in between, and keeps a record.

>>> import weft
>>> def program(x):
...     return weft.exp(x) * weft.exp(x) + 0 * weft.sin(2.0)
>>> report = weft.passes.optimize(weft.symbolic_trace(program))
>>> [change.rule for change in report.changes]
['same call']
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.errors import GraphError
from weft.graph import Graph, GraphModule
from weft.passes._changes import Change, Changes
from weft.passes._kinds import Visited, node_count
from weft.passes.cse import eliminate_common
from weft.passes.dce import eliminate_dead
from weft.passes.fold import fold_constants
from weft.passes.simplify import simplify

Pass = Callable[[Graph], Changes]
"""A pass edits a graph in place, keeps what it computes, and says what it changed."""

DEFAULT: tuple[Pass, ...] = (fold_constants, simplify, eliminate_common, eliminate_dead)


@dataclass(frozen=True)
class Run:
    """One run of one pass: the round, the number of nodes before and after, what changed, and the time it took."""

    name: str
    round: int
    before: int
    after: int
    changes: Changes
    seconds: float


@dataclass
class Report:
    """What a pass manager did: every run of a pass, in order. It prints as a table."""

    runs: list[Run] = field(default_factory=list)
    settled: bool = True  # False where the rounds were used up before nothing changed any more

    @property
    def changes(self) -> list[Change]:
        """Everything that was changed, in order."""
        return [change for run in self.runs for change in run.changes]

    @property
    def before(self) -> int:
        """The number of nodes at the start, those of bodies included."""
        return self.runs[0].before if self.runs else 0

    @property
    def after(self) -> int:
        """The number of nodes at the end, those of bodies included."""
        return self.runs[-1].after if self.runs else 0

    @property
    def rules(self) -> Counter[str]:
        """How often each rule was applied."""
        return Counter(change.rule for change in self.changes)

    def __str__(self) -> str:
        head = ("round", "pass", "nodes", "ms", "changes")
        rows = [head]
        for run in self.runs:
            rules = ", ".join(f"{rule} {count}" for rule, count in run.changes.rules.items())
            rows.append((str(run.round), run.name, f"{run.before} → {run.after}", f"{run.seconds * 1e3:.2f}", rules))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join([*map(str.ljust, row[:4], widths), row[4]]).rstrip() for row in rows]
        return "\n".join(lines)

    def explain(self) -> str:
        """One line for each change: what was done to which node by which rule, and the user's line."""
        return "\n".join(map(str, self.changes))


class PassManager:
    """Runs passes over a graph and its bodies, in rounds, until a whole round changes nothing.

    With `lint` the graph is checked after each pass. A pass that fails, or breaks the graph, is named in the error, and
    the graph is as it was before that pass; without `restore`, which takes a copy of the graph, it is left as it is.
    """

    def __init__(
        self, passes: Sequence[Pass] = DEFAULT, *, lint: bool = True, max_rounds: int = 10, restore: bool = True
    ) -> None:
        if max_rounds < 1:
            raise ValueError(f"PassManager: at least one round is needed, got max_rounds={max_rounds}")
        self.passes = tuple(passes)
        for one in self.passes:
            if not callable(one):
                raise TypeError(f"PassManager: a pass is a function of a graph, got {one!r}")
        self.lint = lint
        self.max_rounds = max_rounds
        self.restore = restore

    def run(self, graph: Graph | GraphModule) -> Report:
        """Run the passes; a module then runs the new graph."""
        if not isinstance(graph, (Graph, GraphModule)):
            raise TypeError(f"PassManager: a Graph or a GraphModule is expected, got {type(graph).__name__}")
        target = graph.graph if isinstance(graph, GraphModule) else graph
        if self.lint:
            target.lint()
        start = target.clone() if self.restore else None
        report = Report()
        self._rounds(target, start, report)
        return report

    def _rounds(self, graph: Graph, start: Graph | None, report: Report) -> None:
        clean = 0  # passes in a row that found nothing to do
        # A pass does not look again at what nobody has edited; passes of others may change facts in `meta`, too.
        visited: dict[Pass, Visited] = {one: {} for one in self.passes} if set(self.passes) <= set(DEFAULT) else {}
        nodes = node_count(graph)
        for number in range(1, self.max_rounds + 1):
            for one in self.passes:
                began = time.perf_counter()
                changes = self._one(one, graph, visited.get(one), start, report)
                seconds = time.perf_counter() - began
                after = node_count(graph) if changes else nodes
                report.runs.append(Run(_name(one), number, nodes, after, changes, seconds))
                nodes = after
                clean = 0 if changes else clean + 1
                if clean == len(self.passes):
                    return
        report.settled = clean == len(self.passes) or not self.passes

    def _one(self, one: Any, graph: Graph, visited: Visited | None, start: Graph | None, report: Report) -> Changes:
        try:
            changes = one(graph) if visited is None else one(graph, visited)
            if not isinstance(changes, Changes):
                raise TypeError(f"it returned {type(changes).__name__}; a pass returns Changes")
            # A pass of others may have changed more than it says.
            if self.lint and (changes or one not in DEFAULT):
                graph.lint()
        except Exception as error:  # named with the pass, and raised again
            if start is not None:
                self._restore(graph, start, len(report.runs))
            message = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
            raise GraphError(
                f"pass {_name(one)}: {message}",
                where=getattr(error, "where", None),
                help="the graph is as it was before this pass" if start is not None else None,
            ) from error
        return changes

    def _restore(self, graph: Graph, start: Graph, runs: int) -> None:
        """Bring a graph back to where it was after some runs: passes do the same again to what they did it to."""
        for i in range(runs):
            self.passes[i % len(self.passes)](start)
        graph.__dict__.update({key: value for key, value in vars(start).items() if key != "owning_module"})
        graph._root.graph = graph
        for node in graph.nodes:
            node.graph = graph


def optimize(graph: Graph | GraphModule) -> Report:
    """Run the default passes: constant folding, safe algebra, common subexpressions, dead code.

    The graph is edited in place; a GraphModule is compiled again. Results keep every bit, shape and dtype, and effects
    their order.
    """
    return PassManager().run(graph)


def _name(one: Pass) -> str:
    return getattr(one, "__name__", None) or type(one).__name__
