"""Chains of else-ifs as one choice among all their bodies, so that a derivative meets each body once.

    if a: y = f(x)                       at = (0 if a else (1 if b else (2 if c else 3)))
    else:                                y = switch(at, [f, g, h, k], x)
        if b: y = g(x)              →
        else:
            if c: y = h(x)
            else: y = k(x)

A chain is captured as branches within branches, of which a derivative copies each with all that is inside: the price
would grow as the square of the length. What decides stays nested, in its order, and is no part of the derivative. The
bodies are moved, not copied. A branch that computes more than what decides the next one ends its chain.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from weft.graph import Graph, Node
from weft.graph._arguments import nodes_in
from weft.graph._control import cond, switch

_SHORTEST = 8  # bodies of a chain that is rewritten; of fewer, the branches stay as the program has them


class _Own(NamedTuple):
    """The result of a body at a place."""

    at: int


class _Body(NamedTuple):
    """A body of a chain: what its inputs and all results of the chain are, as values of the graph around."""

    graph: Graph
    inputs: list[Any]
    results: list[Any]


def flat_chains(graph: Graph) -> None:
    """Rewrite the long chains of a graph and of its bodies."""
    waiting = [graph]
    while waiting:
        for node in list(waiting.pop().nodes):
            if node.target is cond:
                links = _links(node)
                node = _rewritten(links) if len(links) >= _SHORTEST - 1 else node
            waiting += node.bodies


def _links(node: Node) -> list[Node]:
    """The `cond` nodes of a chain, the outermost first."""
    links = [node]
    while (inner := _only_choice(links[-1])) is not None:
        links.append(inner)
    return links


def _only_choice(node: Node) -> Node | None:
    """The `cond` that is all that the second branch of another does, but for computing what decides it."""
    body = node.args[2]
    output, choices = body.output_node(), [each for each in body.nodes if each.target is cond]
    if len(choices) != 1 or not isinstance(output.args[0], tuple):
        return None
    choice = choices[0]
    inputs, items = set(body.find_nodes(op="placeholder")), set(choice.users)
    if not inputs.issuperset(nodes_in(choice.args[3:])) or not (inputs | items).issuperset(nodes_in(output.args[0])):
        return None
    if not all(item.target is operator.getitem and item.users.keys() <= {output} for item in items):
        return None
    deciding = {choice, output, *inputs, *items}
    waiting = list(nodes_in(choice.args[0]))
    while waiting:
        deciding.add(found := waiting.pop())
        waiting += [each for each in found.all_input_nodes if each not in deciding]
    return choice if deciding.issuperset(body.nodes) else None


def _bodies(links: list[Node]) -> list[_Body]:
    inputs = list(links[0].args[3:])
    results: list[Any] = [_Own(k) for k in range(len(links[0].meta["type"]))]
    found = []
    for link, inner in zip(links, [*links[1:], None], strict=True):
        taken, other = link.args[1:3]
        found.append(_Body(taken, inputs, results))
        if inner is not None:
            known = dict(zip(other.find_nodes(op="placeholder"), inputs, strict=True))
            known |= {item: _Own(item.args[1]) for item in inner.users}
            given = other.output_node().args[0]
            results = [_known(given[each.at], known) if isinstance(each, _Own) else each for each in results]
            inputs = [_known(each, known) for each in inner.args[3:]]
    return [*found, _Body(links[-1].args[2], inputs, results)]


def _known(value: Any, known: dict[Node, Any]) -> Any:
    return known[value] if isinstance(value, Node) else value


def _rewritten(links: list[Node]) -> Node:
    """Put a choice among all bodies in the place of a chain."""
    first, bodies = links[0], _bodies(links)
    operands = list(dict.fromkeys(node for body in bodies for node in nodes_in([body.inputs, body.results])))
    at = _number(links)
    with first.graph.inserting_before(first):
        made = first.graph.call_function(switch, (at, [body.graph for body in bodies], *operands), name=first.name)
    made._position, made._meta = first._position, first._meta
    for body in bodies:
        _take(body, operands)
    first.replace_all_uses_with(made)
    first.graph.erase_node(first)
    return made


def _take(body: _Body, operands: list[Node]) -> None:
    """Give a body all the operands for inputs, and all the results."""
    graph, output, made = body.graph, body.graph.output_node(), {}
    places = graph.find_nodes(op="placeholder")
    with graph.inserting_before(next(iter(graph.nodes))):
        for operand in operands:
            made[operand] = graph.placeholder(operand.name)
            made[operand]._meta = {"type": operand.meta.get("type")}
    for place, value in zip(places, body.inputs, strict=True):
        if isinstance(value, Node):
            made[value]._meta = place._meta  # its type speaks of sizes as the nodes of the body do
        place.replace_all_uses_with(_known(value, made))
        graph.erase_node(place)
    own = output.args[0]
    if isinstance(own, tuple):  # and does not raise
        output.args = (tuple(own[each.at] if isinstance(each, _Own) else _known(each, made) for each in body.results),)


def _number(links: list[Node]) -> Node:
    """The number of the body that is taken: the chain as it is, with numbers in the place of its bodies."""
    other = _giving(len(links), links[-1].args[2])
    for number, link in reversed(list(enumerate(links))):
        graph = link.graph
        with graph.inserting_before(link):
            args = (link.args[0], _giving(number, link.args[1]), other, *link.args[3:])
            chosen = graph.call_function(cond, args)
            item = graph.call_function(operator.getitem, (chosen, 0))
        chosen._meta, item._meta = {"type": (int,)}, {"type": int}
        chosen._position = item._position = link._position
        if number:
            graph.output_node().args = ((item,),)
            for gone in (*link.users, link):
                graph.erase_node(gone)
        other = graph
    return item


def _giving(number: int, body: Graph) -> Graph:
    """A body with the inputs of another one that gives a number."""
    made = Graph()
    for place in body.find_nodes(op="placeholder"):
        made.placeholder(place.name)._meta = dict(place._meta or {})
    made.output((number,))
    return made
