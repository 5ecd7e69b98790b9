"""Control flow in graphs: run, copied, saved, compared, cleaned; and writes that an output lists."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_graphs import (
    body,
    cond_graph,
    cond_python,
    fori_graph,
    fori_python,
    nested_graph,
    nested_python,
    scan_graph,
    scan_python,
    switch_graph,
    while_graph,
    while_python,
    writing_graph,
)
from safetensors import safe_open

import weft
from weft import _safetensors
from weft.errors import ControlError, FileError, GraphError
from weft.graph import Graph, GraphModule, Interpreter, Session
from weft.graph._control import check, fail
from weft.graph._same import same_graph
from weft.graph._save import digest

Same = Callable[[Graph, Graph], None]
RNG = np.random.default_rng(7)

CASES: list[tuple[Callable[[], Graph], Callable[..., Any], tuple[Any, ...]]] = [
    (cond_graph, cond_python, (np.array([1.0, 2.0]), np.array([5.0, 6.0]))),
    (cond_graph, cond_python, (np.array([-1.0, -2.0]), np.array([5.0, 6.0]))),
    (switch_graph, lambda k, x: [np.sin, np.cos, np.exp][min(max(k, 0), 2)](x), (-3, np.array([0.5]))),
    (switch_graph, lambda k, x: [np.sin, np.cos, np.exp][min(max(k, 0), 2)](x), (1, np.array([0.5]))),
    (switch_graph, lambda k, x: [np.sin, np.cos, np.exp][min(max(k, 0), 2)](x), (9, np.array([0.5]))),
    (while_graph, while_python, (2.0,)),
    (while_graph, while_python, (np.float64(1.0),)),
    (fori_graph, fori_python, (7, np.array([0.5, -1.0]))),
    (fori_graph, fori_python, (-1, np.array([0.5, -1.0]))),
    (scan_graph, scan_python, (np.zeros(2), RNG.normal(size=(5, 2)), np.arange(5), 0.5)),
    (
        lambda: scan_graph(reverse=True),
        lambda *a: scan_python(*a, reverse=True),
        (np.zeros(2), RNG.normal(size=(5, 2)), np.arange(5), 0.5),
    ),
    (nested_graph, nested_python, (6, np.array([0.25, 2.0]))),
]
GRAPHS = [cond_graph, switch_graph, while_graph, fori_graph, scan_graph, nested_graph, writing_graph]


def equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(equal, found, expected))
    a, b = np.asarray(found), np.asarray(expected)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def by_session(graph: Graph, *args: Any) -> Any:
    names = [node.name for node in graph.find_nodes(op="placeholder")]
    return Session(graph).run("output", dict(zip(names, args, strict=True)))


def by_interpreter(graph: Graph, *args: Any) -> Any:
    return Interpreter(None, graph=graph).run(*args)


def by_shape_prop(graph: Graph, *args: Any) -> Any:
    return weft.ShapeProp(None, graph=graph).propagate(*args)


@pytest.mark.parametrize("run", [by_interpreter, by_session, by_shape_prop])
@pytest.mark.parametrize(("build", "python", "args"), CASES)
def test_running(run: Any, build: Any, python: Any, args: Any, capsys: pytest.CaptureFixture[str]) -> None:
    graph = build()
    graph.lint()
    found, printed = run(graph, *args), capsys.readouterr().out
    assert equal(found, python(*args)), (found, python(*args))
    assert printed == capsys.readouterr().out


def test_rows_that_are_not_there() -> None:
    state, a, b = by_interpreter(scan_graph(), np.zeros(2), np.zeros((0, 2)), np.zeros(0, np.int32), 0.5)
    assert state.tolist() == [0.0, 0.0] and a.shape == (0, 2) and (b.shape, b.dtype) == ((0,), np.int32)


def test_a_carry_may_change_its_shape_where_types_are_not_asked_for() -> None:
    some = body("z", lambda call, z: call(operator.gt, call(len, z), 2))
    less = body("z", lambda call, z: (call(operator.getitem, z, slice(1, None)),))
    assert weft.while_loop(some, less, (np.arange(5),))[0].tolist() == [3, 4]


def test_what_a_body_raises_names_its_node_and_passes_through() -> None:
    graph = nested_graph()
    with pytest.raises(ValueError, match="too big") as caught:
        by_interpreter(graph, 4, np.array([40.0]))
    notes = "\n".join(caught.value.__notes__)
    assert "%fail" in notes and "%cond_1" in notes and "%fori_loop" in notes
    with pytest.raises(AssertionError, match="too many"):
        by_interpreter(graph, 102, np.array([0.0]))


def test_an_error_in_a_body_names_the_users_line() -> None:
    gm = weft.symbolic_trace(lambda x: weft.fori_loop(0, 2, lambda i, s: s @ x, x))  # the line that fails
    with pytest.raises(ValueError) as caught:
        by_interpreter(gm.graph, np.ones((2, 3)))
    assert any("%matmul" in note and "the line that fails" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("build", GRAPHS)
def test_copies(build: Callable[[], Graph], assert_same_graph: Same) -> None:
    graph = build()
    for copied in (graph.clone(), copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        copied.lint()
        assert_same_graph(graph, copied)
        assert same_graph(graph, copied)
        mine, theirs = ([b for n in g.nodes for b in n.bodies] for g in (graph, copied))
        assert all(a is not b for a, b in zip(mine, theirs, strict=True))
    other = Graph()
    other.graph_copy(graph, {})
    assert not {id(b) for n in graph.nodes for b in n.bodies} & {id(b) for n in other.nodes for b in n.bodies}


def test_a_clone_shares_no_facts_of_bodies() -> None:
    graph = cond_graph()
    first = graph.find_nodes(op="call_function", target=weft.cond)[0].bodies[0]
    next(iter(first.nodes)).meta["note"] = [1]
    copied = graph.clone().find_nodes(op="call_function", target=weft.cond)[0].bodies[0]
    next(iter(copied.nodes)).meta["note"].append(2)
    assert next(iter(first.nodes)).meta["note"] == [1]


def test_one_graph_as_two_bodies_stays_one_in_a_deepcopy() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    one = body("x", lambda call, x: (call(weft.sin, x),))
    graph.output(graph.call_function(weft.cond, (x, one, one, x)))
    copied = copy.deepcopy(graph).nodes[1].bodies
    assert copied[0] is copied[1] is not one


@pytest.mark.parametrize("build", GRAPHS)
def test_save_and_load(build: Callable[[], Graph], assert_same_graph: Same, tmp_path: Path) -> None:
    graph = build()
    graph.save(tmp_path / "g.weft")
    loaded = weft.load(tmp_path / "g.weft")
    assert_same_graph(graph, loaded)
    loaded.lint()


def test_a_module_with_bodies_is_saved(tmp_path: Path, assert_same_graph: Same) -> None:
    module = GraphModule({}, nested_graph())
    module.save(tmp_path / "m.weft")
    assert_same_graph(module.graph, weft.load(tmp_path / "m.weft").graph)


def test_saving_keeps_types_of_numbers_and_symbolic_sizes(tmp_path: Path) -> None:
    graph = while_graph()
    graph.infer(weft.spec(()))
    loop = graph.find_nodes(op="call_function", target=weft.while_loop)[0]
    placeholder = next(iter(graph.nodes))
    placeholder.meta["type"] = weft.spec(("n", 3), "float32")
    placeholder.meta["mine"] = {"kinds": [int, float, bool, complex]}
    graph.save(tmp_path / "g.weft")
    loaded = weft.load(tmp_path / "g.weft")
    again = loaded.find_nodes(op="call_function", target=weft.while_loop)[0]
    assert loop.meta["type"] == again.meta["type"] == (weft.spec(()), int)
    assert [n.meta.get("type") for n in loop.bodies[1].nodes] == [n.meta.get("type") for n in again.bodies[1].nodes]
    assert next(iter(loaded.nodes)).meta["type"].shape == ("n", 3)
    assert next(iter(loaded.nodes)).meta["mine"] == {"kinds": [int, float, bool, complex]}


def test_a_file_cannot_name_an_exception_that_ends_the_program(tmp_path: Path) -> None:
    graph = Graph()
    graph.output(graph.call_function(fail, (SystemExit, 3)))
    with pytest.raises(FileError, match="something else than a class of exceptions"):
        graph.save(tmp_path / "g.weft")
    graph = Graph()
    graph.output(graph.call_function(fail, (np.linalg.LinAlgError, "singular")))
    graph.save(tmp_path / "g.weft")
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        by_interpreter(weft.load(tmp_path / "g.weft"))


def test_an_op_of_the_same_name_is_another_function(tmp_path: Path) -> None:
    graph = cond_graph()
    x = next(iter(graph.nodes))
    with graph.inserting_before(graph.output_node()):
        graph.call_function(weft.linalg.cond, (x,), name="condition")
    graph.save(tmp_path / "g.weft")
    loaded = {node.name: node.target for node in weft.load(tmp_path / "g.weft").nodes}
    assert loaded["chosen"] is weft.cond and loaded["condition"] is weft.linalg.cond is not weft.cond


def test_a_graph_that_is_no_part_of_a_graph_is_not_saved(tmp_path: Path) -> None:
    module = GraphModule({}, cond_graph())
    module.other = cond_graph()
    with pytest.raises(FileError, match="a graph can only be saved as a body of a node"):
        module.save(tmp_path / "m.weft")
    assert not (tmp_path / "m.weft").exists()


def test_a_file_uses_each_body_once(tmp_path: Path) -> None:
    graph = Graph()
    x = graph.placeholder("x")
    one = body("x", lambda call, x: (call(weft.sin, x),))
    graph.output(graph.call_function(weft.cond, (x, one, one, x)))
    graph.save(tmp_path / "g.weft")
    bodies = weft.load(tmp_path / "g.weft").nodes[1].bodies
    assert same_graph(*bodies) and bodies[0] is not bodies[1]
    text = json.loads(safe_open(tmp_path / "g.weft", "np").metadata()["weft"])
    assert text["graphs"][-1]["nodes"][1][3][1:3] == [{"graph": 0}, {"graph": 1}]
    for numbers in ([0, 0], [0, 2], [0, 7], [0, "1"], [0, True]):
        text["graphs"][-1]["nodes"][1][3][1:3] = [{"graph": number} for number in numbers]
        altered = json.dumps(text)
        _safetensors.write(tmp_path / "bad.weft", {}, {"weft": altered, "weft_sha256": digest(altered, {})})
        with pytest.raises(FileError, match="a body does not come before its node, or is the body of another"):
            weft.load(tmp_path / "bad.weft")


def test_a_file_with_a_function_for_a_body_is_refused(tmp_path: Path) -> None:
    cond_graph().save(tmp_path / "g.weft")
    text = json.loads(safe_open(tmp_path / "g.weft", "np").metadata()["weft"])
    text["graphs"][-1]["nodes"][4][3][1:3] = [{"function": "print"}, {"function": "print"}]
    del text["graphs"][:2]
    text["root"] = {"graph": 0}
    altered = json.dumps(text)
    _safetensors.write(tmp_path / "bad.weft", {}, {"weft": altered, "weft_sha256": digest(altered, {})})
    with pytest.raises(FileError, match="true_fn must be a Graph, got"):
        weft.load(tmp_path / "bad.weft")


# Comparing, cleaning, printing, taking apart


def test_bodies_are_compared() -> None:
    assert same_graph(cond_graph(), cond_graph())
    other = cond_graph()
    node = other.find_nodes(op="call_function", target=weft.cond)[0]
    changed = node.bodies[1].find_nodes(op="call_function")[0]
    changed.target = operator.add
    assert not same_graph(cond_graph(), other)
    assert not same_graph(scan_graph(), scan_graph(reverse=True))
    plain, written = writing_graph(), writing_graph()
    written.output_node().kwargs = {}
    assert not same_graph(plain, written)


def test_dead_code_in_bodies_goes_and_effects_stay() -> None:
    graph = nested_graph()
    loop = graph.find_nodes(op="call_function", target=weft.fori_loop)[0]
    inside = loop.bodies[0]
    with inside.inserting_before(inside.output_node()):
        inside.call_function(weft.sin, (next(iter(inside.nodes)),), name="dead")
    for node in [graph.output_node(), graph.nodes[-2]]:
        graph.erase_node(node)
    graph.output(None)
    assert loop.is_impure() and graph.eliminate_dead_code() and not graph.eliminate_dead_code()
    assert loop in graph.nodes and "dead" not in [node.name for node in inside.nodes]
    assert {check, print} <= {node.target for node in inside.nodes if node.op == "call_function"}
    pure = cond_graph()
    chosen = pure.find_nodes(op="call_function", target=weft.cond)[0]
    assert not chosen.is_impure()
    draw = chosen.bodies[0]
    with draw.inserting_before(draw.output_node()):
        draw.call_function(np.random.rand)
    assert chosen.is_impure() and not chosen.is_impure(impure_random=False)


def test_printing_shows_bodies_by_size_and_writes() -> None:
    text = str(cond_graph())
    assert "%chosen : [num_users=2] = call_function[target=weft.cond]" in text
    assert "(args = (%gt, <graph 4 nodes>, <graph 4 nodes>, %x, %y), kwargs = {})" in text
    assert str(writing_graph()).splitlines()[-1].strip() == "return add; b[...] = index_update; a[...] = b"


def test_print_tabular(capsys: pytest.CaptureFixture[str]) -> None:
    graph = while_graph()
    graph.infer(weft.spec(()))
    graph.print_tabular()
    out = capsys.readouterr().out
    assert "(<graph 8 nodes>, <graph 8 nodes>, (a, 0), a)" in out and "(float64[], int)" in out


def test_extracting_and_replacing_parts() -> None:
    graph = cond_graph()
    chosen = graph.find_nodes(op="call_function", target=weft.cond)[0]
    x, y = graph.find_nodes(op="placeholder")
    part = graph.extract([x, y], graph.output_node())
    part.lint()
    assert same_graph(part, graph) and part.nodes[4].bodies[0] is not chosen.bodies[0]
    replacement = Graph()
    a, b = replacement.placeholder("a"), replacement.placeholder("b")
    branch = body("a b", lambda call, a, b: (call(operator.mul, a, b), 7))
    replacement.output(replacement.call_function(weft.cond, (True, branch, branch, a, b)))
    made = graph.replace_subgraph([x, y], chosen, replacement)
    graph.lint()
    assert made[0].bodies[0] is not branch
    assert equal(by_interpreter(graph, np.array([2.0]), np.array([3.0])), (np.array([6.0]), 7))


def test_the_whole_output_is_extracted_with_its_writes() -> None:
    graph = writing_graph()
    part = graph.extract(graph.find_nodes(op="placeholder"), graph.output_node())
    assert same_graph(part, graph)
    with pytest.raises(GraphError, match="the replacement writes to its input b"):
        graph.replace_subgraph(graph.find_nodes(op="placeholder"), graph.nodes[3], writing_graph())


def test_a_transformer_copies_bodies_and_keeps_writes() -> None:
    for build in (nested_graph, writing_graph):
        module = GraphModule({}, build())
        made = weft.Transformer(module).transform()
        made.graph.lint()
        assert same_graph(made.graph, module.graph)
        assert not {id(b) for n in module.graph.nodes for b in n.bodies} & {
            id(b) for n in made.graph.nodes for b in n.bodies
        }


# Writes


@pytest.mark.parametrize("run", [by_interpreter, by_session])
def test_writes_are_carried_out_at_the_end_and_at_once(run: Any) -> None:
    a, b = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    assert run(writing_graph(), a, b).tolist() == [11.0, 22.0]
    assert a.tolist() == [10.0, 20.0] and b.tolist() == [30.0, 2.0]


def test_shape_prop_writes_nothing() -> None:
    a, b = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    by_shape_prop(writing_graph(), a, b)
    assert a.tolist() == [1.0, 2.0] and b.tolist() == [10.0, 20.0]


def test_a_write_may_change_the_shape_and_an_unchanged_input_is_left_alone() -> None:
    graph = Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    graph.output(None, writes=[(a, graph.call_function(weft.reshape, (a, (3, 2)))), (b, b)])
    x, frozen = np.arange(6), np.arange(3)
    frozen.flags.writeable = False
    by_interpreter(graph, x, frozen)
    assert x.shape == (3, 2) and x.ravel().tolist() == list(range(6))


def test_writes_reach_attributes_and_tensors() -> None:
    graph = Graph()
    a = graph.placeholder("a")
    held = graph.get_attr("held")
    graph.output(None, writes=[(held, graph.call_function(operator.add, (held, a)))])
    module = GraphModule({"held": np.zeros(2)}, graph)
    Interpreter(module).run(np.array([1.0, 2.0]))
    assert module.held.tolist() == [1.0, 2.0]
    t, u = weft.tensor([1.0, 2.0]), weft.tensor([5.0, 6.0])
    by_interpreter(writing_graph(), t, u)
    assert t.tolist() == [5.0, 6.0] and u.tolist() == [11.0, 2.0]


# Called with graphs


def test_calls_with_graphs_are_checked() -> None:
    one = body("x", lambda call, x: (call(weft.sin, x),))
    with pytest.raises(ControlError, match="cond: true_fn has 1 placeholders and is given 2 values"):
        weft.cond(True, one, one, 1, 2)
    with pytest.raises(ControlError, match="fori_loop: body_fn gives 1 values where there are 2 carries"):
        weft.fori_loop(0, 1, body("i a b", lambda call, i, a, b: (a,)), (1, 2))
    with pytest.raises(ControlError, match="with Graphs as bodies init is a tuple of values"):
        weft.fori_loop(0, 1, body("i a", lambda call, i, a: (a,)), 1)
    with pytest.raises(ControlError, match=r"scan: f must give \(\(carries, …\), \(rows, …\)\), got a int"):
        weft.scan(body("c", lambda call, c: c), (1,), (), length=1)


def test_truth_in_a_graph_is_pythons() -> None:
    yes, no = body("", lambda call: (1,)), body("", lambda call: (2,))
    assert weft.cond([0], yes, no) == (1,) and weft.cond("", yes, no) == (2,) and weft.cond(None, yes, no) == (2,)
    assert weft.cond(np.array(3.0), yes, no) == (1,)


def test_check_is_kept() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.call_function(check, (x, "positive"))
    graph.output(x)
    graph.eliminate_dead_code()
    with pytest.raises(AssertionError, match="positive"):
        by_interpreter(graph, 0)
