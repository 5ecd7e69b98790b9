"""Dead code: what nothing reads and nobody would miss is removed, in bodies too.

    >>> import weft
    >>> graph = weft.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.call_function(weft.exp, (x,))
    >>> _ = graph.output(graph.call_function(weft.sin, (x,)))
    >>> eliminate_dead(graph)
    <Changes: dead code 1>
    >>> [node.name for node in graph.nodes]
    ['x', 'sin', 'output']

Results of `cond` and `switch` that nothing reads go, and so do carries of a loop that only feed themselves, rows that a
loop does not read, and operands that no body reads. What prints, checks, fails, draws or writes stays, in its order.
"""

from __future__ import annotations

import operator
from typing import Any

from weft.graph import Graph, Node
from weft.graph._arguments import nodes_in
from weft.graph._control import scan
from weft.ops._op import TABLE
from weft.passes._changes import Changes
from weft.passes._forms import Form, fails, form_of, placeholders, projections, renumber, result_of, without
from weft.passes._kinds import Visited, all_graphs, must_run

_UPDATE = TABLE["index_update"]


def eliminate_dead(graph: Graph, visited: Visited | None = None) -> Changes:
    """Remove every node, result, carry and operand that the result and the effects do not depend on."""
    changes = Changes()
    every = all_graphs(graph) if visited else ()
    clean = set(every).difference(all_graphs(graph, visited))
    _clean(graph, changes, clean)
    return changes


def _clean(graph: Graph, changes: Changes, clean: set[Graph]) -> None:
    if graph in clean:
        return
    known: dict[Graph, str] = {}
    for node in reversed(graph.nodes):
        if not node.users:
            needed = must_run(node, known)
            if needed and node._target is _UPDATE and len(node.args) == 3 and node.meta.get("raises") != "sizes":
                _only_look(node, changes)
                continue
            if not needed:
                changes.note("removed", "dead code", node)
                graph.erase_node(node)
                continue
        form = form_of(node)
        if form is None:
            continue
        for body in form.bodies:
            _clean(body, changes, clean)
        if _shrink(node, form, changes):
            known.clear()
            for body in form.bodies:
                _clean(body, changes, clean)
        _drop_operands(node, form, changes)


def _only_look(node: Node, changes: Changes) -> None:
    """Leave of a write that nothing reads what it may raise: that there is no such place.

    Where what is written may not fit, the write stays.
    """
    x, key, *_ = node.args
    with node.graph.inserting_before(node):
        look = node.graph.call_function(operator.getitem, (x, key))
    look.meta["raises"] = True
    look.inherit_origin(node)
    changes.note("replaced", "unread write", node, look)
    node.graph.erase_node(node)


def _shrink(node: Node, form: Form, changes: Changes) -> bool:
    """Take out what the readers of a control node do not need; True where something went."""
    if form.is_branch:
        return _shrink_branches(node, form, changes)
    if fails(form.step_body):
        return False
    return _shrink_scan(node, form, changes) if form.target is scan else _shrink_loop(node, form, changes)


def _shrink_branches(node: Node, form: Form, changes: Changes) -> bool:
    read = projections(node)
    results = [result_of(body) for body in form.bodies if not fails(body)]
    if read is None or not results or not all(isinstance(result, (tuple, list)) for result in results):
        return False
    count = len(results[0])
    kept = sorted(read)
    if any(len(result) != count for result in results) or len(kept) == count or (kept and kept[-1] >= count):
        return False
    for i, body in enumerate(form.bodies):
        if not fails(body):
            form.bodies[i] = without(body, (), tuple(result_of(body)[place] for place in kept))
    form.write_to(node)
    renumber(node, kept)
    _note(changes, node, "unused result", set(range(count)) - set(kept))
    return True


def _shrink_loop(node: Node, form: Form, changes: Changes) -> bool:
    read = projections(node)
    carried = result_of(form.step_body)
    if read is None or not _fits(carried, form.carries) or any(place >= len(form.carries) for place in read):
        return False
    kept = _needed(form, carried, list(read), [])
    if len(kept) == len(form.carries):
        return False
    _keep_carries(form, kept, tuple(carried[place] for place in kept))
    form.write_to(node)
    _note(changes, node, "unused carry", set(range(len(carried))) - set(kept))
    renumber(node, kept)
    return True


def _shrink_scan(node: Node, form: Form, changes: Changes) -> bool:
    result, parts = result_of(form.step_body), projections(node)
    if parts is None or not isinstance(result, (tuple, list)) or len(result) != 2 or not _fits(result[0], form.carries):
        return False
    read: list[dict[int, list[Node]]] = [{}, {}]
    for which, readers in parts.items():
        found = [projections(reader) for reader in readers]
        if which > 1 or any(one is None for one in found):
            return False
        read[which] = {place: [] for one in found for place in one or ()}
    carried, rows = result
    if not isinstance(rows, (tuple, list)) or any(
        max(r, default=-1) >= len(p) for r, p in zip(read, result, strict=True)
    ):
        return False
    ys = sorted(read[1])
    kept = _needed(form, carried, list(read[0]), [rows[place] for place in ys])
    if len(kept) == len(carried) and len(ys) == len(rows):
        return False
    outputs = tuple(carried[place] for place in kept), tuple(rows[place] for place in ys)
    _keep_carries(form, kept, outputs)
    form.write_to(node)
    _note(changes, node, "unused carry", set(range(len(carried))) - set(kept))
    _note(changes, node, "unused result", set(range(len(rows))) - set(ys))
    for which, readers in parts.items():
        for reader in readers:
            renumber(reader, (kept, ys)[which])
    for fact in ("type", "tensor_meta"):
        kinds = (node._meta or {}).get(fact)
        if isinstance(kinds, tuple) and len(kinds) == 2 and all(isinstance(kind, (tuple, list)) for kind in kinds):
            node.meta[fact] = tuple(kinds[0][place] for place in kept), tuple(kinds[1][place] for place in ys)
    return True


def _fits(result: Any, carries: list[Any]) -> bool:
    return isinstance(result, (tuple, list)) and len(result) == len(carries)


def _needed(form: Form, carried: Any, read: list[int], rows: list[Any]) -> list[int]:
    """The carries that what is read, the condition and the effects depend on, over any number of iterations."""
    count = len(form.carries)
    inputs = placeholders(form.step_body)[form.first_carry :][:count]
    places = {node: place for place, node in enumerate(inputs)}
    needed = set(read)
    for body in form.bodies[:-1]:  # the condition of a while_loop
        own = placeholders(body)[:count]
        reached = _reached(body, nodes_in(result_of(body)))
        needed |= {place for place, node in enumerate(own) if node in reached}
    pending = [*nodes_in(tuple(rows)), *(one for place in needed for one in nodes_in(carried[place]))]
    seen: set[Node] = set()
    while True:
        seen |= _reached(form.step_body, pending, seen)
        new = {places[node] for node in inputs if node in seen} - needed
        if not new:
            return sorted(needed)
        needed |= new
        pending = [one for place in new for one in nodes_in(carried[place])]


def _reached(body: Graph, starts: list[Node], seen: set[Node] | None = None) -> set[Node]:
    """All that some nodes, and the effects of a body, depend on; what was seen before is not looked at again."""
    found: set[Node] = set()
    pending = list(starts)
    if not seen:
        known: dict[Graph, str] = {}
        pending += [n for n in body.nodes if n.op not in ("placeholder", "output") and must_run(n, known)]
    while pending:
        node = pending.pop()
        if node not in found and not (seen and node in seen):
            found.add(node)
            pending += node._input_nodes
    return found


def _keep_carries(form: Form, kept: list[int], outputs: Any) -> None:
    dropped = [place for place in range(len(form.carries)) if place not in set(kept)]
    inputs = [form.first_carry + place for place in dropped]
    form.bodies[:-1] = [without(body, inputs, result_of(body)) for body in form.bodies[:-1]]
    form.bodies[-1] = without(form.step_body, inputs, outputs)
    form.carries = [form.carries[place] for place in kept]


def _drop_operands(node: Node, form: Form, changes: Changes) -> None:
    """Take out rows and operands that no body reads."""
    first = form.first_carry + len(form.carries)
    inputs = [placeholders(body) for body in form.bodies]
    unread = [i for i in range(first, len(inputs[0])) if not any(own[i].users for own in inputs)]
    rows = [i for i in unread if i < form.first_operand]
    if form.kwargs.get("length") is None and len(rows) == len(form.rows):
        unread = [i for i in unread if i not in rows[:1]]  # one is kept: it tells how often the loop runs
    if not unread:
        return
    gone = set(unread)
    form.bodies = [without(body, unread, result_of(body)) for body in form.bodies]
    form.operands = [value for i, value in enumerate(form.operands, form.first_operand) if i not in gone]
    form.rows = [value for i, value in enumerate(form.rows, first) if i not in gone]
    form.write_to(node)
    for i in unread:
        changes.note("removed", "unused operand", node, inputs[0][i].name)


def _note(changes: Changes, node: Node, rule: str, places: set[int]) -> None:
    for place in sorted(places):
        changes.note("removed", rule, node, f"[{place}]")
