"""Symbolic sizes: arithmetic, proofs and decisions, against plain integers."""

from __future__ import annotations

import copy
import itertools
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import UnknownShape
from weft.ops._dim import Atom, Dim, Guard, Sizes, dim_max, dim_min, same_shape

FUNCTIONS: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": dim_min,
    "max": dim_max,
}
RELATIONS: dict[str, Any] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def expressions() -> st.SearchStrategy[Any]:
    """Trees of operations over three leaves and small numbers; what is divided by is positive."""
    leaf = st.one_of(st.sampled_from("abc"), st.integers(-3, 4))
    divisor = st.one_of(st.integers(1, 4), st.tuples(st.just("+"), st.sampled_from("abc"), st.just(1)))

    def larger(inner: Any) -> Any:
        plain = st.tuples(st.sampled_from(["+", "-", "*", "min", "max"]), inner, inner)
        return st.one_of(plain, st.tuples(st.sampled_from(["//", "%"]), inner, divisor))

    return st.recursive(leaf, larger, max_leaves=6)


def value_of(tree: Any, leaves: dict[str, Any]) -> Any:
    if isinstance(tree, tuple):
        return FUNCTIONS[tree[0]](value_of(tree[1], leaves), value_of(tree[2], leaves))
    return leaves[tree] if isinstance(tree, str) else tree


def assignments(limit: int = 5) -> list[dict[str, int]]:
    return [dict(zip("abc", values, strict=True)) for values in itertools.product(range(limit), repeat=3)]


def leaves_of(env: Sizes, hints: tuple[int | None, ...]) -> dict[str, Dim]:
    return {name: env.size(name, hint) for name, hint in zip("abc", hints, strict=True)}


def by_atom(leaves: dict[str, Dim], values: dict[str, int]) -> dict[Atom, int]:
    found = {}
    for name, dim in leaves.items():
        assert dim.atom is not None
        found[dim.atom] = values[name]
    return found


# --- arithmetic ---


@given(expressions())
@settings(max_examples=200, deadline=None)
def test_arithmetic_is_that_of_integers(tree: Any) -> None:
    leaves = leaves_of(Sizes(), (None, None, None))
    result = value_of(tree, leaves)
    for values in assignments():
        expected = value_of(tree, values)
        atoms = by_atom(leaves, values)
        assert (result.evaluate(atoms) if isinstance(result, Dim) else result) == expected
        if isinstance(result, Dim):
            assert eval(result.expression(), {}, values) == expected


@given(expressions(), st.tuples(*[st.integers(0, 6)] * 3))
@settings(max_examples=100, deadline=None)
def test_hint_is_the_value_at_the_hints(tree: Any, hints: tuple[int, int, int]) -> None:
    result = value_of(tree, leaves_of(Sizes(), hints))
    assert weft.ops._dim.hint_of(result) == value_of(tree, dict(zip("abc", hints, strict=True)))


def test_canonical_form() -> None:
    env = Sizes()
    n, m = env.size("n", 8), env.size("m", 3)
    assert (n + 1 - 1).key == (2 * n - n).key == (n * m // m).key == n.key
    assert ((n * m - m) // (n - 1)).key == m.key
    assert (4 * n + 1) // 2 == 2 * n and (n + 2) // 2 == n // 2 + 1
    assert (n // 2).key == (n // 2).key != (n // 3).key
    assert (-(-n // 2)).key == ((n + 1) // 2).key
    assert (2 * n + 1) % 2 == 1 and n % n == 0 and n // n == 1 and n**2 == n * n and n**0 == 1
    assert n - n == 0 and isinstance(n - n, int)
    assert env.guards == []


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda n, m: n - 1, "n - 1"),
        (lambda n, m: -n, "-n"),
        (lambda n, m: 1 - n, "1 - n"),
        (lambda n, m: 2 * n * m - 3, "2*n*m - 3"),
        (lambda n, m: (n + 1) // 2 * 3, "3*((n + 1) // 2)"),
        (lambda n, m: n % (m + 1), "n % (m + 1)"),
        (lambda n, m: dim_max(0, n - 2), "max(0, n - 2)"),
        (lambda n, m: dim_min(m, n), "min(n, m)"),
        (lambda n, m: dim_max(m, dim_max(n, 7), 2), "max(7, n, m)"),
    ],
)
def test_expression(make: Any, text: str) -> None:
    env = Sizes()
    dim = make(env.size("n"), env.size("m"))
    assert str(dim) == repr(dim) == f"{dim}" == text
    assert f"{dim:>20}" == text.rjust(20)


def test_build_gives_each_operation_once() -> None:
    env = Sizes()
    n, m = env.size("n"), env.size("m")
    calls: list[Any] = []

    def combine(function: Any, operands: Any) -> str:
        calls.append((function, operands))
        return f"v{len(calls)}"

    assert (2 * n * m + n // 2 - 1).build(lambda atom: atom.name, combine) == "v5"
    assert calls == [
        (operator.mul, (2, "n")),
        (operator.mul, ("v1", "m")),
        (operator.floordiv, ("n", 2)),
        (operator.add, ("v2", "v3")),
        (operator.sub, ("v4", 1)),
    ]
    assert (n + m).expression({a: f"x.shape[{i}]" for i, a in enumerate((n + m).atoms())}) == "x.shape[0] + x.shape[1]"


def test_leaves() -> None:
    env = Sizes()
    source = object()
    n, again, k, i = env.size("n", 3, source), env.size("n"), env.fresh("k"), env.value("i", low=-2)
    assert n.atom is not None and n.atom.source is source and str(again) == "n_1"
    assert k.hint is None and k.atom is not None and k.atom.source is None
    assert (n + 1).atom is None and (n * k + n // 2).atoms() == [n.atom, k.atom]
    assert env.proved(">=", n, 0) and env.proved(">=", i, -2) and env.prove(">=", i, 0) is None
    assert copy.deepcopy(n) is n and hash(n + 1) == hash(1 + n)


def test_numbers_of_numpy_take_part() -> None:
    env = Sizes()
    n = env.size("n", 4)
    assert np.int64(2) + n == n + 2 and n * np.int32(3) == 3 * n and np.array(5) - n == 5 - n
    assert (np.int64(4) == n) is True and (np.int64(5) > n) is True
    product: Any = np.ones(3, np.float32) * n
    assert product == weft.spec(3, np.float32)


def test_what_is_no_integer_is_refused() -> None:
    n = Sizes().size("n", 4)
    for wrong in (lambda: n / 2, lambda: 1 / n, lambda: n * 0.5, lambda: n**-1):
        with pytest.raises(UnknownShape, match=r"integer arithmetic only(.|\n)*help: divide by //"):
            wrong()
    with pytest.raises(TypeError):
        n + "1"
    with pytest.raises(ZeroDivisionError):
        n // 0


def test_sizes_of_two_programs_do_not_mix() -> None:
    n, m = Sizes().size("n", 4), Sizes().size("m", 4)
    assert n != m and not same_shape((n,), (m,)) and n.env.guards == []
    with pytest.raises(UnknownShape, match="n and m belong to different programs"):
        n + m


# --- decisions ---


comparisons = st.lists(st.tuples(st.sampled_from(sorted(RELATIONS)), expressions(), expressions()), max_size=6)


@given(comparisons, st.tuples(*[st.integers(0, 4)] * 3))
@settings(max_examples=300, deadline=None)
def test_answers_hold_wherever_the_guards_do(asked: list[Any], hints: tuple[int, int, int]) -> None:
    """A comparison is true at the hints, and is the same for all other sizes that satisfy the guards."""
    env = Sizes()
    leaves = leaves_of(env, hints)
    answers = [RELATIONS[r](value_of(left, leaves), value_of(right, leaves)) for r, left, right in asked]
    assert env.assumed == []
    alike = [v for v in assignments() if all(guard.holds(by_atom(leaves, v)) for guard in env.guards)]
    assert dict(zip("abc", hints, strict=True)) in alike
    for values in alike:
        assert answers == [RELATIONS[r](value_of(left, values), value_of(right, values)) for r, left, right in asked]


@given(comparisons, comparisons)
@settings(max_examples=200, deadline=None)
def test_proofs_hold_wherever_the_facts_do(facts: list[Any], asked: list[Any]) -> None:
    env = Sizes()
    leaves = leaves_of(env, (None, None, None))
    for relation, left, right in facts:
        env.assume(relation, value_of(left, leaves), value_of(right, leaves))
    proofs = [env.prove(r, value_of(left, leaves), value_of(right, leaves)) for r, left, right in asked]
    for values in assignments():
        if all(RELATIONS[r](value_of(left, values), value_of(right, values)) for r, left, right in facts):
            for proof, (r, left, right) in zip(proofs, asked, strict=True):
                assert proof in (None, RELATIONS[r](value_of(left, values), value_of(right, values)))


SMALL: list[Any] = [
    *(0, 1, 3, "a", "b", ("+", "a", 1), ("-", "b", 2), ("+", "a", "b"), ("*", "a", "b"), ("*", 2, "a")),
    *(("//", "a", 2), ("*", 2, ("//", "a", 2)), ("//", ("+", "a", 1), 2), ("%", "a", 2), ("%", "a", ("+", "b", 1))),
    *(("//", "a", ("+", "b", 1)), ("min", "a", "b"), ("max", "a", "b"), ("max", 0, ("-", "a", "b"))),
]


@pytest.mark.parametrize("relation", RELATIONS)
def test_proofs_of_small_relations(relation: str) -> None:
    leaves = leaves_of(Sizes(), (None, None, None))
    env = leaves["a"].env
    for left, right in itertools.product(SMALL, repeat=2):
        proof = env.prove(relation, value_of(left, leaves), value_of(right, leaves))
        answers = {RELATIONS[relation](value_of(left, v), value_of(right, v)) for v in assignments(7) if not v["c"]}
        assert proof is None or answers == {proof}, (left, relation, right)
        assert proof is not None or left != right


def test_what_is_proved_leaves_no_guard() -> None:
    env = Sizes()
    n, m = env.size("n", 3), env.size("m", 3)
    assert n + 1 > n and n >= 0 and n != -1 and not n < 0 and n + m >= m and n // 2 <= n and n % 4 < 4
    assert dim_min(n, m) <= n and dim_max(n, m) >= m and n * m >= 0 and n + 1
    assert env.guards == [] and same_shape((n, 3), (n + 0, 3)) and not same_shape((n,), (m,))


def test_guards_are_noted_once_and_used() -> None:
    env = Sizes()
    n, m, k = env.size("n", 4), env.size("m", 4), env.size("k", 2)
    assert n == m and m == n and n + 1 == m + 1 and n * k == m * k and (n + 1) // 2 == (m + 1) // 2
    assert str(env.guards) == "[n == m]"
    assert k > 1 and k >= 2 and k > 0 and k != 1 and k
    assert str(env.guards) == "[n == m, k > 1]"
    assert m == 4 and n == 4 and n // 2 == 2 and int(n) == 4
    assert str(env.guards) == "[n == m, k > 1, m == 4]"
    assert n != 0 and str(env.guards) == "[n == m, k > 1, m == 4]"
    assert env.guards[1] == Guard(">", k, 1, True)


def test_an_equation_hands_on_what_was_known() -> None:
    env = Sizes()
    n, m = env.size("n", 7), env.size("m", 4)
    assert m == n - 3 and n >= 3 and n // 2 >= 1
    assert str(env.guards) == "[m == n - 3]"


def test_exact_division_is_remembered() -> None:
    env = Sizes()
    n, m = env.size("n", 6), env.size("m", 5)
    assert n % 2 == 0 and n // 2 * 2 == n and 2 * m * (n // 2) == n * m and not n % 2
    assert str(env.guards) == "[n % 2 == 0]"


def test_numbers_by_hint() -> None:
    env = Sizes()
    n = env.size("n", 3)
    assert list(range(n)) == [0, 1, 2] and str(env.guards) == "[n == 3]"
    assert int(n + 1) == 4 and float(n) == 3.0 and np.zeros(n).shape == (3,)
    assert str(env.guards) == "[n == 3]"


def test_a_guard_excludes_values_one_by_one() -> None:
    env = Sizes()
    n = env.size("n", 5)
    assert n != 1 and n != 0
    assert n > 1 and n >= 2 and str(env.guards) == "[n != 1, n != 0]"


def test_sizes_without_hint() -> None:
    env = Sizes()
    n, u, v = env.size("n", 3), env.fresh("u"), env.fresh("v")
    assert u != 0 and u != 1 and u > 1 and u and not u < 1
    assert u == v and u == n and v <= n and not u > v
    noted = ["u != 0", "u != 1", "u > 1", "u != 0", "u >= 1", "u == v", "u == n", "v <= n", "u <= v"]
    assert env.guards == [] and [str(a) for a in env.assumed] == noted
    assert not env.proved("==", u, v)  # what is assumed of one path proves nothing on another
    with pytest.raises(UnknownShape, match="the size w is known only when it runs"):
        int(env.fresh("w"))
    assert env.fresh("k") > 3 and not env.fresh("k") < 10 and not env.fresh("k") <= 100


def test_a_size_as_a_truth_value() -> None:
    env = Sizes()
    empty, full = env.size("e", 0), env.size("f", 2)
    assert not empty and full and str(env.guards) == "[e == 0, f != 0]"


def test_comparison_with_other_things() -> None:
    env = Sizes()
    n = env.size("n", 3)
    assert (n == None) is False and (n != "n") is True and n != 2.5 and n > 2.5 and n < float("inf")  # noqa: E711  # the operator is tested
    with pytest.raises(TypeError):
        n < "4"  # noqa: B015  # raises
    assert str(env.guards) == "[n > 2]"
    assert n == 3.0 and n in (1, 3)


def test_assumed_relations_serve_proofs() -> None:
    env = Sizes()
    n, i = env.size("n"), env.value("i")
    assert env.prove(">=", i, 0) is None and env.prove("<", i + 2, n) is None
    env.assume(">=", i, 0)
    env.assume("<=", i, n - 3)
    assert env.proved(">=", i, 0) and env.proved("<", i + 2, n) and env.proved(">=", n, 3)
    assert env.prove("<", i + 3, n) is None and env.guards == [] == env.assumed


def test_an_op_of_sizes_alone_is_abstract() -> None:
    n = Sizes().size("n", 3)
    assert weft.arange(n) == weft.spec((n,), np.int64) and weft.zeros((n, 2)) == weft.spec((n, 2))
    assert weft.eye(n + 1).shape == (n + 1, n + 1) and weft.full((n,), 2.0).dtype == np.float64
    assert weft.arange(2, n + 2).shape[0].key == n.key and n.env.guards == []
    x = weft.spec((n, 4), np.float32)
    assert (x / n).dtype == (x * n).dtype == (n - x).dtype == np.float32
    assert x.size.key == (4 * n).key and x.size(0) is n and x.numel().key == (4 * n).key
    assert n.env.guards == []


def test_whoever_traces_answers_for_sizes() -> None:
    class Traced(Sizes):
        def answer(self, op: Any, args: Any, kwargs: Any) -> Any:
            return op.name, args

        def number(self, function: Any, left: Any, right: Any) -> Any:
            return function, left, right

    n = Traced().size("n", 3)
    assert weft.arange(n) == ("arange", (n,))
    assert n / 2 == (operator.truediv, n, 2) and 0.5 * n == (operator.mul, 0.5, n)


def test_named_sizes_of_specs() -> None:
    x = weft.spec(("rows", 3), "float32")
    assert str(x) == "Spec(shape=(rows, 3), dtype='float32')" and x.shape[0] is weft.spec("rows").shape[0]
    assert weft.matmul(x, weft.spec((3, "columns"))).shape == (x.shape[0], weft.spec("columns").shape[0])
    with pytest.raises(weft.errors.ShapeError, match=r"\(rows, 3\) and \(columns,\) do not broadcast: 3 != columns"):
        x + weft.spec(("columns",))
    with pytest.raises(ValueError, match="a size is named as a variable is, got 'two words'"):
        weft.spec(("two words",))
