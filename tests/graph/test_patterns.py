"""replace_pattern: what matches, what it becomes, and that results stay right."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rewrites import X, Y, lines, rewritten

import weft
from weft import patterns
from weft.errors import GraphError

sin, cos, exp = weft.sin, weft.cos, weft.exp


def test_one_match_and_its_report() -> None:
    gm = weft.symbolic_trace(lambda x, y: cos(sin(x) + y))
    pattern = weft.symbolic_trace(lambda a, b: sin(a) + b)
    (match,) = weft.replace_pattern(gm, pattern, lambda a, b: exp(a) * b)
    gm.graph.lint()
    assert lines(gm) == ["exp = weft.exp(x)", "mul = exp * y", "cos = weft.cos(mul)", "return cos"]
    np.testing.assert_allclose(gm(X, Y), np.cos(np.exp(X) * Y))
    assert match.anchor.name == "add"
    assert match.anchor.graph is pattern.graph
    assert {mine.name: theirs.name for mine, theirs in match.nodes_map.items()} == {
        "add": "add",
        "sin": "sin",
        "a": "x",
        "b": "y",
    }
    assert {name: node.name for name, node in match.bindings.items()} == {"a": "x", "b": "y"}


def test_pattern_as_graph_and_as_module() -> None:
    pattern, replacement = weft.symbolic_trace(lambda a: sin(a)), weft.symbolic_trace(lambda a: cos(a))
    for old, new in [(pattern, replacement), (pattern.graph, replacement.graph)]:
        assert rewritten(lambda x: sin(x), old, new)[0] == ["cos = weft.cos(x)", "return cos"]


def test_a_graph_can_be_edited_without_a_module() -> None:
    graph = weft.symbolic_trace(lambda x: sin(x)).graph.clone()
    assert len(weft.replace_pattern(graph, lambda a: sin(a), lambda a: cos(a))) == 1
    graph.lint()


# As torch.fx has it


def test_chained_matches_feed_each_other() -> None:
    code, matches = rewritten(lambda x: sin(sin(sin(sin(x)))), lambda a: sin(sin(a)), lambda a: -a)
    assert code == ["neg = -x", "neg_1 = -neg", "return neg_1"]
    assert [str(match.bindings["a"]) for match in matches] == ["x", "neg"]


def test_of_overlapping_matches_the_first_wins() -> None:
    code, matches = rewritten(lambda x: sin(sin(sin(x))), lambda a: sin(sin(a)), lambda a: -a)
    assert code == ["neg = -x", "sin_2 = weft.sin(neg)", "return sin_2"]
    assert len(matches) == 1


def test_a_value_used_outside_prevents_a_match() -> None:
    def program(x: Any) -> Any:
        inner = sin(x)
        return inner + 1, inner * 2

    assert rewritten(program, lambda a: sin(a) + 1, lambda a: a)[1] == []
    _, matches = rewritten(program, lambda a: (sin(a) + 1, sin(a) * 2), lambda a: (a, a))
    assert matches == []  # the pattern computes sin twice, the program once


def test_several_results() -> None:
    def shared(x: Any) -> Any:
        inner = sin(x)
        return inner + 1, inner * 2

    code, matches = rewritten(lambda x: shared(x + 1), shared, lambda a: (exp(a), cos(a)))
    assert code == ["add = x + 1", "exp = weft.exp(add)", "cos = weft.cos(add)", "return (exp, cos)"]
    assert len(matches) == 1


def test_several_results_without_common_nodes() -> None:
    code, _ = rewritten(lambda x, y: sin(x) * sin(y), lambda a, b: (sin(a), sin(b)), lambda a, b: (a, b))
    assert code == ["mul = x * y", "return mul"]


def test_results_in_a_dict() -> None:
    code, _ = rewritten(lambda x: sin(x) + cos(x), lambda a: {"s": sin(a), "c": [cos(a)]}, lambda a: (a, -a))
    assert code == ["neg = -x", "add = x + neg", "return add"]


def test_a_parameter_is_the_same_wherever_it_stands() -> None:
    assert len(rewritten(lambda x, y: x * y, lambda a: a * a, lambda a: a)[1]) == 0
    assert len(rewritten(lambda x, y: x * x, lambda a: a * a, lambda a: a)[1]) == 1
    assert len(rewritten(lambda x, y: x * x, lambda a, b: a * b, lambda a, b: a)[1]) == 1


def test_a_parameter_is_not_what_the_pattern_computes() -> None:
    def program(x: Any) -> Any:
        inner = sin(x)
        return inner + inner

    assert rewritten(program, lambda a, b: sin(a) + b, lambda a, b: a)[1] == []


def test_constants_of_the_pattern_have_to_be_equal() -> None:
    for written, count in [(2, 1), (3, 0), (2.0, 0), (True, 0)]:
        assert len(rewritten(lambda x, c=written: x * 1 if c is None else x * c, lambda a: a * 2, lambda a: a)[1]) == 0
        assert len(rewritten(_times(written), lambda a: a * 2, lambda a: a)[1]) == count
        assert len(rewritten(_times(written), lambda a: a * 2, lambda a: a, ignore_literals=True)[1]) == 1


def _times(constant: Any) -> Callable[[Any], Any]:
    return lambda x: x * constant


def test_structured_constants() -> None:
    program = lambda x: x[1:, None, ...]  # noqa: E731
    assert len(rewritten(program, lambda a: a[1:, None, ...], lambda a: a)[1]) == 1
    assert len(rewritten(program, lambda a: a[2:, None, ...], lambda a: a)[1]) == 0
    assert len(rewritten(program, lambda a: a[1:, None], lambda a: a)[1]) == 0
    (match,) = rewritten(program, lambda a, s: a[s:, None, ...], lambda a, s: a[s])[1]
    assert match.bindings["s"] == 1


def test_filters_and_callbacks() -> None:
    gm = weft.symbolic_trace(lambda x: sin(x) * 1 + sin(x) * 2)
    seen = []

    def even(match: Any, graph: Any, pattern: Any) -> bool:
        seen.append((match.bindings["c"], graph is gm.graph, len(pattern.nodes)))
        return match.bindings["c"] % 2 == 0

    def make(match: Any, graph: Any, pattern: Any) -> weft.Graph:
        constant = match.bindings["c"] * 10
        return weft.symbolic_trace(lambda a, c: a + constant).graph

    (done,) = weft.replace_pattern_with_filters(
        gm, lambda a, c: sin(a) * c, match_filters=[even], replacement_callback=make
    )
    gm.graph.lint()
    assert seen == [(1, True, 5), (2, True, 5)]
    assert [node.name for node in done.replacements] == ["add_1"]
    assert "add_1 = x + 20" in lines(gm)
    with pytest.raises(GraphError, match="a replacement or a replacement_callback"):
        weft.replace_pattern_with_filters(gm, lambda a: sin(a))


def test_methods_attributes_and_modules() -> None:
    class Net(weft.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = weft.nn.Parameter(np.ones(4))

        def forward(self, x: Any) -> Any:
            return (x * self.w).clip(0, 1).shape

    gm = weft.symbolic_trace(Net())
    assert len(weft.replace_pattern(gm, lambda a: a.clip(0, 1).shape, lambda a: a.size)) == 1
    gm.graph.lint()
    assert lines(gm)[-2:] == ["getattr_2 = mul.size", "return getattr_2"]


# Beyond torch.fx


def test_constants_are_bound_and_used_again() -> None:
    code, matches = rewritten(
        lambda x: (x * 3) * 4, lambda a, m, n: (a * m) * n, lambda a, m, n: a * (m * n), where=None
    )
    assert code == ["mul_2 = 3 * 4", "mul_3 = x * mul_2", "return mul_3"]
    assert matches[0].bindings["m"] == 3


def test_whole_arguments_are_bound() -> None:
    code, _ = rewritten(
        lambda x, y: weft.concat([x, y], axis=0),
        lambda parts, axis: weft.concat(parts, axis=axis),
        lambda parts, axis: weft.stack(parts, axis=axis),
    )
    assert code == ["stack = weft.stack([x, y], axis = 0)", "return stack"]


def test_guards_and_where() -> None:
    def count(**options: Any) -> int:
        return len(rewritten(lambda x: x * 3 + x * -2, lambda a, c: a * c, lambda a, c: a - c, **options)[1])

    assert count() == 2
    assert count(guards={"c": lambda c: c > 0}) == 1
    assert count(where=lambda match: match.bindings["c"] == -2) == 1
    assert count(guards={"c": lambda c: False}) == 0
    with pytest.raises(GraphError, match="guards names 'd', which is not a parameter of the pattern: a, c"):
        count(guards={"d": bool})


def with_constant(a: Any, c: patterns.constant) -> Any:
    return a * c


def with_value(a: Any, c: patterns.value) -> Any:
    return a * c


def with_number(a: Any, c: patterns.number) -> Any:
    return a * c


@pytest.mark.parametrize(
    ("pattern", "found"),
    [(with_constant, [2, (1,)]), (with_value, ["y"]), (with_number, [2])],
    ids=["constant", "value", "number"],
)
def test_restricted_parameters(pattern: Any, found: list[Any]) -> None:
    matches = rewritten(lambda x, y: (x * 2, x * y, x * (1,)), pattern, lambda a, c: a)[1]
    assert [str(m.bindings["c"]) for m in matches] == [str(value) for value in found]


def test_restrictions_are_not_lost() -> None:
    from weft.patterns import constant  # out of reach for the annotation: that is the test

    def pattern(a: Any, c: constant) -> Any:
        return a * c

    with pytest.raises(GraphError, match="annotation 'constant' of 'c' could not be evaluated"):
        rewritten(lambda x: x * 2, pattern, lambda a, c: a)


def test_restriction_and_guard_together() -> None:
    program = lambda x, y: (x * 2, x * y, x * 5)  # noqa: E731
    matches = rewritten(program, with_number, lambda a, c: a, guards={"c": lambda c: c > 3})[1]
    assert [m.bindings["c"] for m in matches] == [5]


def test_one_of_binds_the_op_found() -> None:
    wave = patterns.one_of(sin, cos, "clip")
    code, matches = rewritten(
        lambda x: sin(x * 2) + cos(x * 3) + exp(x * 4) + (x * 5).clip(0),
        lambda a, c: wave(a * c),
        lambda a, c: wave(a) * c,
    )
    assert len(matches) == 2  # (x * 5).clip(0) has an argument more
    assert code[:4] == ["sin_1 = weft.sin(x)", "mul_4 = sin_1 * 2", "cos_1 = weft.cos(x)", "mul_5 = cos_1 * 3"]


def test_one_of_with_methods() -> None:
    either = patterns.one_of(weft.abs, "conjugate")
    code, matches = rewritten(lambda x: weft.abs(x).conjugate(), lambda a: either(a), lambda a: either(-a))
    assert len(matches) == 2
    assert code == [
        "neg = -x",
        "abs_2 = weft.abs(neg)",
        "neg_1 = -abs_2",
        "conjugate_1 = neg_1.conjugate()",
        "return conjugate_1",
    ]


def test_one_of_is_one_choice_a_match() -> None:
    wave = patterns.one_of(sin, cos)
    program = lambda x: (sin(sin(x)), sin(cos(-x)))  # noqa: E731
    assert len(rewritten(program, lambda a: wave(wave(a)), lambda a: a)[1]) == 1
    other = patterns.one_of(sin, cos)
    assert len(rewritten(program, lambda a: wave(other(a)), lambda a: a)[1]) == 2


def test_one_of_outside_a_pattern() -> None:
    with pytest.raises(GraphError, match="stands for a function in a pattern"):
        patterns.one_of(sin)(1.0)
    with pytest.raises(TypeError, match="at least one"):
        patterns.one_of()
    with pytest.raises(GraphError, match=r"calls one_of\(sin\), which is not in the pattern"):
        rewritten(lambda x: cos(x), lambda a: cos(a), lambda a: patterns.one_of(sin)(a))


def test_commutative_ops() -> None:
    pattern, replacement = (lambda a, b: sin(a) + b), (lambda a, b: a - b)
    program = lambda x, y: y + sin(x)  # noqa: E731
    assert rewritten(program, pattern, replacement)[1] == []
    code, _ = rewritten(program, pattern, replacement, commutative=True)
    assert code == ["sub = x - y", "return sub"]
    assert rewritten(lambda x, y: y - sin(x), lambda a, b: sin(a) - b, replacement, commutative=True)[1] == []


def test_commutative_ops_backtrack() -> None:
    pattern = lambda a, b: (a * b) + (sin(a) * 2)  # noqa: E731
    gm = weft.symbolic_trace(lambda x, y: (2 * sin(y)) + (x * y))
    (match,) = weft.replace_pattern(gm, pattern, lambda a, b: a - b, commutative=True)
    assert {name: str(node) for name, node in match.bindings.items()} == {"a": "y", "b": "x"}


def test_spellings_of_an_op_are_one() -> None:
    programs = [lambda x, y: x + y, lambda x, y: np.add(x, y), lambda x, y: weft.add(x, y)]
    for pattern in programs:
        for program in programs:
            assert len(rewritten(program, pattern, lambda a, b: a * b)[1]) == 1
    assert len(rewritten(programs[2], programs[0], lambda a, b: a * b, same_ops=False)[1]) == 0


def test_spellings_of_methods_and_keywords() -> None:
    programs = [
        lambda x: x.sum(0),
        lambda x: x.sum(axis=0),
        lambda x: weft.sum(x, axis=0),
        lambda x: weft.sum(x, axis=0, keepdims=False),
        lambda x: np.sum(x, 0),
    ]
    for pattern in programs:
        for program in programs:
            assert len(rewritten(program, pattern, lambda a: -a)[1]) == 1
        assert rewritten(lambda x: x.sum(1), pattern, lambda a: -a)[1] == []
        assert rewritten(lambda x: x.sum(0, keepdims=True), pattern, lambda a: -a)[1] == []


def test_joining_tuples_is_no_addition() -> None:
    program = lambda x: (operator.add(x.shape, (1,)), x.shape + x.shape)  # noqa: E731
    assert rewritten(program, lambda a, b: weft.add(a, b), lambda a, b: a)[1] == []
    graph = weft.symbolic_trace(lambda x, y: x + y).graph
    next(iter(graph.nodes)).meta["type"] = (weft.spec((2,)), weft.spec((3,)))
    assert weft.replace_pattern(graph, lambda a, b: weft.add(a, b), lambda a, b: a) == []


def test_a_replacement_may_take_fewer_parameters_by_name() -> None:
    assert rewritten(lambda x, y: x * y, lambda a, b: a * b, lambda b: sin(b))[0] == ["sin = weft.sin(y)", "return sin"]


def test_a_replacement_may_be_a_constant_or_a_parameter() -> None:
    assert rewritten(lambda x: cos(x * 0) + x, lambda a: a * 0, lambda a: 0.0)[0][0] == "cos = weft.cos(0.0)"
    assert rewritten(lambda x: cos(x * 1), lambda a, c: a * c, lambda a, c: c)[0][0] == "cos = weft.cos(1)"
    assert rewritten(lambda x: x * 1, lambda a: a * 1, lambda a: a)[0] == ["return x"]


def test_origins_are_kept() -> None:
    def program(x: Any) -> Any:
        inner = sin(x)
        return inner + 1

    gm = weft.symbolic_trace(program)
    weft.replace_pattern(gm, lambda a: sin(a) + 1, lambda a: cos(a))
    (node,) = gm.graph.find_nodes(op="call_function")
    assert {origin.name for origin in node.meta["from"]} == {"sin", "add"}
    assert node.location is not None
    assert node.location.text in ("inner = sin(x)", "return inner + 1")


def test_arrays_in_pattern_and_replacement() -> None:
    one, two = np.ones(4), np.full(4, 2.0)
    gm = weft.symbolic_trace(lambda x: sin(x * one) + cos(x * two))
    assert len(weft.replace_pattern(gm, lambda a: a * two, lambda a: a * np.full(4, 7.0))) == 1
    gm.graph.lint()
    np.testing.assert_allclose(gm(X), np.sin(X) + np.cos(X * 7))
    assert len(weft.replace_pattern(gm, lambda a: a * one, lambda a: a * two)) == 1
    np.testing.assert_allclose(gm(X), np.sin(X * 2) + np.cos(X * 7))


def test_matches_may_share_an_attribute() -> None:
    two = np.full(4, 2.0)
    graph = weft.Tracer().trace(lambda x, y: (sin(x * two), y * two, x - two))
    (shared, *others) = graph.find_nodes(op="get_attr")
    for node in others:
        node.replace_all_uses_with(shared)
        graph.erase_node(node)
    graph.lint()
    assert len(weft.replace_pattern(graph, lambda a: a * two, lambda a: a + a)) == 2
    graph.lint()
    assert [user.name for user in shared.users] == ["sub"]


def test_modules_of_the_replacement_come_along() -> None:
    class Scale(weft.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = weft.nn.Module()
            self.inner.w = weft.nn.Parameter(np.full(4, 3.0))

        def forward(self, a: Any) -> Any:
            return a * self.inner.w

    gm = weft.symbolic_trace(lambda x: sin(x))
    weft.replace_pattern(gm, lambda a: sin(a), Scale())
    gm.graph.lint()
    np.testing.assert_allclose(np.asarray(gm(X).data), X * 3)
