"""Every rule of simplify: where it holds it applies, where it does not it stays away, and no bit changes."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from typed_graphs import build, run, same_bits, targets

import weft
from each import each
from weft.graph import Graph
from weft.passes import simplify
from weft.passes._rules import RULES

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -3.7, np.nan, np.inf, -np.inf, 1e-320, 1e300, -6e4]
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int32",
    "uint64",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
ALL, REAL, NUMBERS, WHOLE = "biufc", "biuf", "iufc", "iu"

f = Graph.call_function


def array(dtype: str, shape: tuple[int, ...]) -> Any:
    kind = np.dtype(dtype).kind
    size = int(np.prod(shape))
    with np.errstate(all="ignore"):
        if kind == "b":
            return (np.arange(size) % 2 == 0).reshape(shape)
        if kind in "iu":
            limits = np.iinfo(dtype)
            some = np.array([0, 1, 2, limits.max, limits.min, 7], dtype)
            return np.resize(some, shape)
        some = np.array(SPECIAL)
        whole = some.astype(dtype)
        if kind == "c":
            whole = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL], dtype)
        return np.resize(whole, shape)


# (rule, the kinds of dtype for which it holds, the expression)
CASES: list[tuple[str, str, Any]] = [
    ("times one", "iuf", lambda g, x: f(g, weft.multiply, (x, 1))),
    ("times one", "iuf", lambda g, x: f(g, operator.mul, (1, x))),
    ("times one", "f", lambda g, x: f(g, np.multiply, (x, 1.0))),
    ("divided by one", "f", lambda g, x: f(g, weft.divide, (x, 1))),
    ("whole division by one", "iu", lambda g, x: f(g, weft.floor_divide, (x, 1))),
    ("plus zero", "iu", lambda g, x: f(g, weft.add, (x, 0))),
    ("plus zero", "iu", lambda g, x: f(g, weft.add, (0, x))),
    ("plus zero", "f", lambda g, x: f(g, weft.add, (x, -0.0))),
    ("plus zero", "f", lambda g, x: f(g, operator.add, (-0.0, x))),
    ("minus zero", "iufc", lambda g, x: f(g, weft.subtract, (x, 0))),
    ("minus zero", "fc", lambda g, x: f(g, weft.subtract, (x, 0.0))),
    ("minus zero", "", lambda g, x: f(g, weft.subtract, (x, -0.0))),
    ("power of one", "iuf", lambda g, x: f(g, weft.pow, (x, 1))),
    ("square", "iuF", lambda g, x: f(g, weft.pow, (x, 2))),
    ("square", "iuF", lambda g, x: f(g, operator.pow, (x, 2))),
    ("as it is", "iufc", lambda g, x: f(g, weft.positive, (x,))),
    ("twice negated", "iufc", lambda g, x: f(g, weft.negative, (f(g, operator.neg, (x,)),))),
    ("twice inverted", "biu", lambda g, x: f(g, weft.bitwise_invert, (f(g, operator.invert, (x,)),))),
    ("not not", "b", lambda g, x: f(g, weft.logical_not, (f(g, weft.logical_not, (x,)),))),
    ("absolute twice", "biufc", lambda g, x: f(g, weft.abs, (f(g, weft.abs, (x,)),))),
    ("conjugate of real", "iuf", lambda g, x: f(g, weft.conj, (x,))),
    ("real of real", "biuf", lambda g, x: f(g, weft.real, (x,))),
    ("either is the same", ALL, lambda g, x: f(g, weft.where, (f(g, weft.equal, (x, x)), x, x))),
    ("both are the same", ALL, lambda g, x: f(g, weft.maximum, (x, x))),
    ("both are the same", ALL, lambda g, x: f(g, weft.minimum, (x, x))),
    ("both are the same", "biu", lambda g, x: f(g, operator.and_, (x, x))),
    ("both are the same", "biu", lambda g, x: f(g, weft.bitwise_or, (x, x))),
    ("difference from itself", "biu", lambda g, x: f(g, weft.bitwise_xor, (x, x))),
    ("difference from itself", "iu", lambda g, x: f(g, weft.subtract, (x, x))),
    ("plus a negative", NUMBERS, lambda g, x: f(g, weft.add, (x, f(g, operator.neg, (_read(g, x, 2),))))),
    ("plus a negative", NUMBERS, lambda g, x: f(g, operator.add, (f(g, weft.negative, (x,)), _read(g, x, 2)))),
    ("plus a negative", NUMBERS, lambda g, x: f(g, np.subtract, (x, f(g, weft.negative, (_read(g, x, 2),))))),
    ("plus a negative", "", lambda g, x: f(g, weft.add, (x, f(g, weft.abs, (_read(g, x, 2),))))),
    *(
        ("comparison with itself", "biu", lambda g, x, op=op: f(g, op, (x, x)))
        for op in (weft.equal, operator.ne, weft.less, operator.le, weft.greater, weft.greater_equal)
    ),
    ("same type", "d", lambda g, x: f(g, weft.astype, (x, np.dtype("float64")))),
    ("same type", ALL, lambda g, x: f(g, weft.broadcast_to, (x, (12, 3)))),
    *(
        ("spread anyway", kinds, lambda g, x, op=op, key=key: f(g, op, (x, _spread(g, _read(g, x, key), (12, 3)))))
        for op, kinds in (
            (weft.add, ALL),
            (operator.sub, NUMBERS),
            (np.multiply, ALL),
            (weft.divide, ALL),
            (weft.maximum, ALL),
            (weft.minimum, ALL),
        )
        for key in (7, slice(2, 3))
    ),
    ("spread anyway", ALL, lambda g, x: f(g, weft.multiply, (_spread(g, _single(g, x), (12, 3)), x))),
    ("spread anyway", ALL, lambda g, x: f(g, weft.where, (_spread(g, _read(g, x, 1), (12, 3)), x, 1))),
    ("spread anyway", "", lambda g, x: f(g, weft.add, (_read(g, x, 1), _spread(g, _read(g, x, 1), (12, 3))))),
    ("spread anyway", "", lambda g, x: f(g, weft.add, (_spread(g, _read(g, x, 1), (2, 12, 3)), x))),
    ("same shape again", ALL, lambda g, x: f(g, weft.reshape, (x, (12, 3)))),
    ("same shape again", ALL, lambda g, x: f(g, weft.reshape, (f(g, weft.reshape, (x, (36,))), (12, -1)))),
    ("same shape again", ALL, lambda g, x: f(g, weft.squeeze, (f(g, weft.expand_dims, (x, 1)), 1))),
    ("reshape of reshape", ALL, lambda g, x: f(g, weft.reshape, (f(g, weft.reshape, (x, (36,))), (6, -1)))),
    ("reshape of reshape", ALL, lambda g, x: f(g, weft.reshape, (f(g, weft.expand_dims, (x, 1)), (6, 6)))),
    ("transposed back", ALL, lambda g, x: f(g, weft.permute_dims, (f(g, weft.permute_dims, (x,)), (-1, 0)))),
    ("transposed back", ALL, lambda g, x: f(g, weft.permute_dims, (x, (0, 1)))),
    ("exchanged back", ALL, lambda g, x: f(g, weft.matrix_transpose, (f(g, weft.matrix_transpose, (x,)),))),
    ("exchanged back", ALL, lambda g, x: f(g, weft.swapaxes, (f(g, weft.swapaxes, (x, 0, 1)), 0, 1))),
    ("one part", ALL, lambda g, x: f(g, weft.concat, ([x],))),
    ("item of a tuple", ALL, lambda g, x: f(g, operator.getitem, ((x, 1), 0))),
    ("read in full", ALL, lambda g, x: f(g, operator.getitem, (x, Ellipsis))),
    ("read in full", ALL, lambda g, x: f(g, weft.getitem, (x, slice(None)))),
    ("read in full", ALL, lambda g, x: f(g, weft.getitem, (x, (slice(0, 12, 1), Ellipsis)))),
    ("read in full", ALL, lambda g, x: f(g, weft.getitem, (x, (Ellipsis, slice(None, 99))))),
    ("read in full", "", lambda g, x: f(g, weft.getitem, (x, (slice(1, None),)))),
    ("read in full", "", lambda g, x: f(g, weft.getitem, (x, slice(None, None, -1)))),
    ("read in full", "", lambda g, x: f(g, weft.getitem, (x, (slice(0, 11),)))),
    ("written as it was", ALL, lambda g, x: _update(g, x, 2, f(g, operator.getitem, (x, 2)))),
    ("written as it was", "", lambda g, x: _update(g, x, 2, f(g, operator.getitem, (x, 3)))),
    ("written twice", ALL, lambda g, x: _update(g, _update(g, x, slice(0, 2), 0), slice(0, 2), 1)),
    ("written twice", "", lambda g, x: _update(g, _update(g, x, slice(0, 2), 0), slice(0, 3), 1)),
    ("read after write", ALL, lambda g, x: _read(g, _update(g, x, slice(0, 4), _read(g, x, slice(4, 8))), slice(0, 4))),
    ("read after write", "", lambda g, x: _read(g, _update(g, x, slice(0, 4), 1), slice(0, 4))),
    ("read after write", "", lambda g, x: _read(g, _update(g, x, [0, 0], _read(g, x, [2, 4])), [0, 0])),
]


def _update(graph: Graph, x: Any, key: Any, value: Any) -> Any:
    return graph.call_function(weft.index_update, (x, key, value))


def _read(graph: Graph, x: Any, key: Any) -> Any:
    return graph.call_function(weft.getitem, (x, key))


def _spread(graph: Graph, x: Any, shape: tuple[int, ...]) -> Any:
    return graph.call_function(weft.broadcast_to, (x, shape))


def _single(graph: Graph, x: Any) -> Any:
    return graph.call_function(weft.reshape, (_read(graph, x, (3, 1)), (1, 1)))


def _holds(kinds: str, dtype: np.dtype[Any]) -> bool:
    letters = kinds.replace("F", "")
    return dtype.kind in letters or ("F" in kinds and dtype.char in "fd") or ("d" in kinds and dtype.char == "d")


@pytest.mark.parametrize(("name", "kinds", "expression"), CASES, ids=[f"{n} {i}" for i, (n, *_) in enumerate(CASES)])
def test_a_rule_holds_where_it_says(name: str, kinds: str, expression: Any) -> None:
    each(DTYPES, lambda dtype: _check_rule(name, kinds, expression, array(dtype, (12, 3))))


def _check_rule(name: str, kinds: str, expression: Any, x: np.ndarray) -> None:
    try:
        # Stacked, so that the result is an array of its own whatever the rule makes of it.
        graph = build(lambda g, a: f(g, weft.stack, ([expression(g, a)],)), x)
    except (TypeError, ValueError, np.exceptions.ComplexWarning):
        assert not _holds(kinds, x.dtype)
        return
    before = run(graph, x)
    changes = simplify(graph)
    graph.lint()
    assert (name in changes.rules) == _holds(kinds, x.dtype), changes
    assert same_bits(run(graph, x), before)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_tested(name: str) -> None:
    assert {rule.name for rule in RULES[name]} <= {case[0] for case in CASES}


@pytest.mark.parametrize("expression", [e for *_, e in CASES], ids=[f"{n} {i}" for i, (n, *_) in enumerate(CASES)])
def test_results_keep_type_and_memory_of_their_own(expression: Any) -> None:
    """Returned directly: the same number or array, and no array that an argument shares unless it did before."""
    shapes: list[tuple[int, ...]] = [(), (3,), (0, 2), (2, 1, 3)]
    each(itertools.product(DTYPES, shapes), lambda case: _check_memory(expression, *case))


def _check_memory(expression: Any, dtype: str, shape: tuple[int, ...]) -> None:
    inputs = [array(dtype, shape), *([array(dtype, shape)[()], array(dtype, shape)[()].item()] if shape == () else [])]
    for x in inputs:
        try:
            graph = build(lambda g, a: (a_result := expression(g, a), expression(g, a_result))[1:], x)
        except (TypeError, ValueError, IndexError, OverflowError, np.exceptions.ComplexWarning):
            continue  # NumPy does not take it
        (before,) = run(graph, x)
        shared = np.shares_memory(before, x)
        simplify(graph)
        (after,) = run(graph, x)
        assert same_bits(after, before), type(x)
        assert np.shares_memory(after, x) <= shared


@settings(derandomize=True, max_examples=25, deadline=None)
@given(st.data())
@pytest.mark.parametrize("place", range(len(CASES)))
def test_any_values(place: int, data: Any) -> None:
    name, kinds, expression = CASES[place]
    dtype = np.dtype(data.draw(st.sampled_from([d for d in DTYPES if _holds(kinds or ALL, np.dtype(d))])))
    x = data.draw(hnp.arrays(dtype, (12, 3)))
    graph = build(lambda g, a: f(g, weft.stack, ([expression(g, a)],)), x)
    before = run(graph, x)
    changes = simplify(graph)
    assert same_bits(run(graph, x), before)
    assert name in changes.rules or not kinds


def test_powers_of_two_and_one_are_what_numpy_computes() -> None:
    """Many values, layouts and lengths: the vector loops and their tails."""
    rng = np.random.default_rng(0)
    for dtype, bits in (("float32", "uint32"), ("float64", "uint64")):
        x = rng.integers(0, np.iinfo(bits).max, 200_001, bits).view(dtype)
        for part in (x, x[::3], x[:7], x[:1], x[:200_000].reshape(-1, 8).T):
            with np.errstate(all="ignore"):
                assert same_bits(np.power(part, 2), part * part)
                assert same_bits(weft.pow(part, 1), part)
                assert same_bits(part**1, part)


@pytest.mark.parametrize(
    ("expression", "value", "rule"),
    [
        (lambda g, x: f(g, operator.not_, (f(g, operator.not_, (x,)),)), True, "not not"),
        (lambda g, x: f(g, operator.not_, (f(g, operator.not_, (x,)),)), 3, None),
        (lambda g, x: f(g, operator.not_, (f(g, operator.not_, (x,)),)), np.True_, None),
        (lambda g, x: f(g, max, (x, x)), 3.0, "both are the same"),
        (lambda g, x: f(g, min, (x, x)), 3, "both are the same"),
        (lambda g, x: f(g, operator.mul, (x, 1)), 3, "times one"),
        (lambda g, x: f(g, operator.mul, (x, 1)), -0.0, "times one"),
        (lambda g, x: f(g, operator.mul, (x, 1)), True, None),
        (lambda g, x: f(g, operator.mul, (x, 1.0)), 3, None),
        (lambda g, x: f(g, operator.mul, (x, 1)), 1j, None),
        (lambda g, x: f(g, weft.multiply, (x, 1)), 3, None),
        (lambda g, x: f(g, operator.mul, (x, 1)), "text", None),
        (lambda g, x: f(g, operator.pow, (x, 2)), 3, "square"),
        (lambda g, x: f(g, operator.pow, (x, 2)), 1e100, None),
        (lambda g, x: f(g, operator.xor, (x, x)), 5, "difference from itself"),
        (lambda g, x: f(g, operator.xor, (x, x)), True, "difference from itself"),
        (lambda g, x: f(g, operator.eq, (x, x)), 5, "comparison with itself"),
        (lambda g, x: f(g, operator.eq, (x, x)), float("nan"), None),
        (lambda g, x: f(g, operator.lt, (x, x)), np.int8(5), "comparison with itself"),
        (lambda g, x: f(g, weft.add, (f(g, weft.add, (x, 2)), 0)), np.int8(5), "plus zero"),
    ],
)
def test_numbers_of_python_and_numpy(expression: Any, value: Any, rule: str | None) -> None:
    graph = build(lambda g, x: (expression(g, x), 1), value)
    before = run(graph, value)
    changes = simplify(graph)
    assert list(changes.rules) == ([] if rule is None else [rule])
    assert same_bits(run(graph, value), before)


def test_without_types_nothing_is_rewritten() -> None:
    traced = weft.symbolic_trace(lambda x: abs(abs(x)) * 1)
    assert not simplify(traced.graph)


def test_writes_in_place_keep_it_away() -> None:
    def make(g: Graph, x: Any) -> Any:
        y = f(g, weft.multiply, (x, 1))
        f(g, operator.setitem, (x, 0, 9.0))
        return f(g, weft.stack, ([y, x],))

    graph = build(make, np.zeros(3))
    before = run(graph, np.zeros(3))
    assert not simplify(graph)
    assert same_bits(run(graph, np.zeros(3)), before)


def test_an_element_written_and_read() -> None:
    def make(g: Graph, x: Any) -> Any:
        value = f(g, weft.add, (_read(g, x, 0), 1.0))
        return (f(g, weft.multiply, (_read(g, _update(g, x, (1,), value), (1,)), 2)),)

    graph = build(make, np.arange(3.0))
    assert "read after write" in simplify(graph).rules
    assert same_bits(run(graph, np.arange(3.0)), (np.float64(2.0),))


def test_results_stay_apart() -> None:
    """Of two results that would become one array the first alone is rewritten."""
    graph = build(lambda g, x: (f(g, weft.exp, (x,)), f(g, weft.multiply, (f(g, weft.exp, (x,)), 1))), np.ones(3))
    weft.passes.optimize(graph)
    a, b = run(graph, np.ones(3))
    assert not np.shares_memory(a, b)


def test_a_view_of_a_result_is_a_result() -> None:
    graph = build(
        lambda g, x: f(g, weft.permute_dims, (_read(g, f(g, weft.multiply, (x, 1)), slice(1, None)),)), np.ones(3)
    )
    given = np.ones(3)
    simplify(graph)
    assert not np.shares_memory(run(graph, given), given)


def test_names_places_and_origins_stay() -> None:
    def program(x: Any) -> Any:
        doubled = x * 2
        same = doubled * 1
        return same + 1

    traced = weft.symbolic_trace(program)
    traced.graph.infer(weft.spec((3,)))
    changes = simplify(traced.graph)
    assert [(c.verb, c.rule, c.became) for c in changes] == [("rewrote", "times one", "mul")]
    assert "same = doubled * 1" in str(changes[0])
    mul = next(node for node in traced.graph.nodes if node.name == "mul")
    assert mul.variable == "doubled"
    assert targets(traced.graph) == [operator.mul, operator.add]
