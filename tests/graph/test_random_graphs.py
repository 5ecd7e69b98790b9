"""Properties over random graphs: code, copies, parts, orders and rewrites keep what a graph computes."""

from __future__ import annotations

import itertools
import operator
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import GraphError
from weft.graph._arguments import map_arg

quick = settings(derandomize=True, max_examples=200, deadline=None)
UNARY = [weft.sin, operator.neg, np.cos, "copy", "flip"]
BINARY = [operator.add, operator.mul, weft.maximum, np.add, weft.add]


@st.composite
def graphs(draw: Any, size: int = 14) -> weft.Graph:
    """A graph of a few inputs whose every node is an array of three numbers."""
    graph = weft.Graph()
    nodes = [graph.placeholder(f"x{i}") for i in range(draw(st.integers(1, 3)))]
    for _ in range(draw(st.integers(0, size))):
        picked = lambda: nodes[draw(st.integers(0, len(nodes) - 1))]  # noqa: E731  # draws anew each time
        target = draw(st.sampled_from([*UNARY, *BINARY, *BINARY]))
        if target == "copy":
            node = graph.call_method("copy", (picked(),))
        elif target == "flip":
            node = graph.call_function(operator.getitem, (picked(), slice(None, None, -1)))
        elif target in UNARY:
            node = graph.call_function(target, (picked(),))
        else:
            second = draw(st.sampled_from([2, -1.5])) if draw(st.booleans()) else picked()
            node = graph.call_function(target, (picked(), second))
        nodes.append(node)
    graph.output({"last": nodes[-1], "some": [nodes[draw(st.integers(0, len(nodes) - 1))] for _ in range(2)]})
    return graph


def inputs_for(graph: weft.Graph) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=3) for node in graph.nodes if node.op == "placeholder"]


def values(graph: weft.Graph, inputs: list[Any]) -> dict[str, Any]:
    """What every node of a graph computes, worked out here in the plainest way."""
    found: dict[weft.Node, Any] = {}
    remaining = iter(inputs)
    for node in graph.nodes:
        args, kwargs = map_arg(node.args, found.__getitem__), map_arg(node.kwargs, found.__getitem__)
        if node.op == "placeholder":
            found[node] = next(remaining)
        elif node.op == "call_function":
            found[node] = node.target(*args, **kwargs)
        elif node.op == "call_method":
            found[node] = getattr(args[0], node.target)(*args[1:], **kwargs)
        else:
            found[node] = args[0]
    return {node.name: value for node, value in found.items()}


def result(graph: weft.Graph) -> Any:
    return values(graph, inputs_for(graph))["output"]


def assert_same(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got["last"], expected["last"], rtol=1e-12, equal_nan=True)
    np.testing.assert_allclose(got["some"], expected["some"], rtol=1e-12, equal_nan=True)


def assert_consistent(graph: weft.Graph) -> None:
    """What lint checks of the edges, written again."""
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    assert len(graph.nodes) == len(nodes)
    for node in nodes:
        assert all(place[one] < place[node] for one in node.all_input_nodes)
        assert all(node in one.users for one in node.all_input_nodes)
        assert all(node in user.all_input_nodes for user in node.users)
        assert set(node.users) <= place.keys()
    assert sorted(nodes) == nodes
    graph.lint()


@quick
@given(graphs())
def test_code_computes_what_the_graph_says(graph: weft.Graph) -> None:
    code = graph.python_code()
    scope = dict(code.globals)
    exec(code.src, scope)
    with np.errstate(all="ignore"):
        assert_same(scope["forward"](None, *inputs_for(graph)), result(graph))


@quick
@given(graphs())
def test_copies_are_equal_and_apart(graph: weft.Graph) -> None:
    text, code = str(graph), graph.python_code().src
    for copied in (graph.clone(), pickle.loads(pickle.dumps(graph))):
        assert_consistent(copied)
        assert (str(copied), copied.python_code().src) == (text, code)
        copied.output_node().args = (None,)
        copied.eliminate_dead_code()
        assert all(node.op in ("placeholder", "output") for node in copied.nodes)
    assert str(graph) == text
    assert_consistent(graph)


@quick
@given(graphs(), st.randoms(use_true_random=False))
def test_topological_order_of_any_arrangement(graph: weft.Graph, rng: random.Random) -> None:
    expected = graph.levels()
    nodes = list(graph.nodes)
    rng.shuffle(nodes)
    for node in nodes:
        graph._root.prepend(node)
    assert list(graph.nodes) == nodes
    order = graph.topological_order()
    place = {node: i for i, node in enumerate(order)}
    assert sorted(order) == nodes
    assert all(place[one] < place[node] for node in order for one in node.all_input_nodes)
    assert graph.levels() == expected
    # Stable: of the nodes that may come next, always the one that stands first.
    done: set[weft.Node] = set()
    for node in order:
        ready = [n for n in nodes if n not in done and all(one in done for one in n.all_input_nodes)]
        assert node is ready[0]
        done.add(node)


@quick
@given(graphs(), st.data())
def test_levels_are_longest_paths(graph: weft.Graph, data: Any) -> None:
    levels = graph.levels()
    for node in graph.nodes:
        longest = [levels[one] for one in node.all_input_nodes]
        assert levels[node] == (max(longest) + 1 if longest else 0)


@quick
@given(graphs(), st.data())
def test_extracted_parts_compute_the_same(graph: weft.Graph, data: Any) -> None:
    nodes = [node for node in graph.nodes if node.op != "output"]
    inputs = data.draw(st.lists(st.sampled_from(nodes), unique=True, max_size=4))
    wanted = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=2))
    text = str(graph)
    found = values(graph, inputs_for(graph))
    try:
        part = graph.extract(inputs, wanted)
    except GraphError:
        assert not _determined(wanted, inputs)
    else:
        assert _determined(wanted, inputs)
        assert_consistent(part)
        got = values(part, [found[node.name] for node in inputs])["output"]
        for one, node in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, found[node.name])
    assert str(graph) == text


def _determined(wanted: list[weft.Node], inputs: list[weft.Node]) -> bool:
    """Whether the inputs are enough to compute what is wanted."""

    def enough(node: weft.Node) -> bool:
        return node in inputs or (node.op != "placeholder" and all(enough(one) for one in node.all_input_nodes))

    return all(enough(node) for node in wanted)


@quick
@given(graphs(), st.data())
def test_replacing_a_part_by_itself_changes_no_result(graph: weft.Graph, data: Any) -> None:
    nodes = [node for node in graph.nodes if node.op != "output"]
    inputs = data.draw(st.lists(st.sampled_from(nodes), unique=True, max_size=4))
    wanted = data.draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
    before, text = result(graph), str(graph)
    refused = not _determined(wanted, inputs) or bool(set(inputs) & set(wanted)) or _comes_back(wanted, inputs)
    new: list[weft.Node] | None
    try:
        new = graph.replace_subgraph(inputs, wanted, graph.extract(inputs, wanted))
    except GraphError:
        new = None
    assert (new is None) == refused
    if new is None:
        assert str(graph) == text
    else:
        assert all(node.graph is graph for node in new)
        assert_same(result(graph), before)
    assert_consistent(graph)


def _comes_back(wanted: list[weft.Node], inputs: list[weft.Node]) -> bool:
    part = _ancestors(wanted, set(inputs))
    return any(part & _ancestors([node], set()) for node in inputs)


def _ancestors(nodes: list[weft.Node], stop: set[weft.Node]) -> set[weft.Node]:
    found: set[weft.Node] = set()
    for node in nodes:
        if node not in stop and node not in found:
            found |= {node} | _ancestors(node.all_input_nodes, stop)
    return found


REWRITES = [
    (lambda a, b: weft.add(a, b), lambda a, b: b + a),
    (lambda a: weft.sin(a) * 2, lambda a: weft.sin(a) + weft.sin(a)),
    (lambda a, b: (a + b) * a, lambda a, b: a * b + a * a),
    (lambda a: operator.neg(operator.neg(a)), lambda a: a),
    (lambda a, c: a * c + a, lambda a, c: a * (c + 1)),
    (lambda a, b: (a * b, a + b), lambda a, b: (b * a, b + a)),
    (lambda a, b: (weft.sin(a), -b), lambda a, b: (weft.sin(a) + (b - b), (a - a) - b)),
    (lambda a: (lambda s: (s * 2, s + a))(weft.sin(a)), lambda a: (weft.sin(a) * 2, a + weft.sin(a))),
    (lambda a, b, c: (a + b, b + c), lambda a, b, c: (b + a, c + b)),
]


@quick
@given(graphs(size=20), st.sampled_from(range(len(REWRITES))), st.booleans())
def test_rewriting_by_something_equal_changes_no_result(graph: weft.Graph, which: int, commutative: bool) -> None:
    pattern, replacement = REWRITES[which]
    before = result(graph)
    matches = weft.replace_pattern(graph, pattern, replacement, commutative=commutative)
    assert_consistent(graph)
    for got, expected in zip(_flat(result(graph)), _flat(before), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    assert all(match.anchor.graph is not graph for match in matches)


def _flat(value: Any) -> list[Any]:
    return [value["last"], *value["some"]]


@quick
@given(graphs(size=20), st.booleans())
def test_every_match_is_found(graph: weft.Graph, commutative: bool) -> None:
    """Against a search through all pairs of nodes."""
    add = {operator.add, np.add, weft.add}
    pattern = weft.symbolic_trace(lambda a, b: weft.sin(a) + b).graph
    matcher = weft.patterns.SubgraphMatcher(pattern, remove_overlapping_matches=False, commutative=commutative)
    found = {(m.name_node_map["sin"], m.name_node_map["add"]) for m in matcher.match(graph)}
    expected = set()
    for inner, outer in itertools.product(graph.nodes, repeat=2):
        if inner.target is not weft.sin or outer.op != "call_function" or outer.target not in add:
            continue
        places = [0, 1] if commutative else [0]
        fits = any(outer.args[i] is inner and outer.args[1 - i] is not inner for i in places)
        if fits and set(inner.users) == {outer}:
            expected.add((inner, outer))
    assert found == expected


def test_the_generator_makes_what_it_should() -> None:
    """Matches occur often enough for the properties above to mean something."""
    counts = {"graphs": 0, "matches": 0, "parts": 0}

    @settings(derandomize=True, max_examples=60, deadline=None, database=None)
    @given(graphs(size=20))
    def look(graph: weft.Graph) -> None:
        counts["graphs"] += 1
        for pattern, replacement in REWRITES:
            counts["matches"] += len(weft.replace_pattern(graph.clone(), pattern, replacement))

    look()
    assert counts["matches"] > counts["graphs"]


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_keep_the_graph_consistent(seed: int) -> None:
    rng = random.Random(seed)
    graph = weft.Graph()
    nodes = [graph.placeholder("x")]
    for _ in range(300):
        action = rng.random()
        node = rng.choice(nodes)
        if action < 0.6 or len(nodes) < 3:
            with graph.inserting_after(max(node, nodes[0])):
                nodes.append(graph.call_function(operator.neg, (node,)))
        elif action < 0.8 and not node.users and node is not nodes[0]:
            graph.erase_node(node)
            nodes.remove(node)
        elif node is not nodes[0]:
            node.args = (nodes[0],)
        if _ % 50 == 0:
            graph.find_nodes(op="call_function", target=operator.neg)
    assert_consistent(graph)
    assert set(graph.nodes) == set(nodes)
