"""The corpus itself: every program runs, twice the same, and has the features it is listed under."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from programs._compare import assert_same, run
from programs._features import DESCRIPTIONS
from programs._program import Program, families, programs
from programs._seen import DECLARED, OBSERVED, seen
from programs._seen_calls import calls
from programs._seen_statements import statements

PROGRAMS = programs()
HERE = Path(__file__).parent
FAMILIES = """
    stencils linalg_dense linalg_loops sparse fractals graphs_dp ml rnn_conv kalman_filters ode_physics nbody monte_carlo
    sorting image signal statistics bits_crc histograms cellular strings_of_numbers control_flow mutation views creation
    shapes scalars modules_classes of_weft
"""
# What a declared feature cannot do without: a piece of syntax, or another feature.
NEEDS: dict[str, tuple[type[ast.AST], ...]] = {
    "traced range bounds": (ast.For,),
    "range with a negative step": (ast.For,),
    "for over an array": (ast.For,),
    "x += 1 on an array": (ast.AugAssign,),
    "traced slice bounds": (ast.Slice,),
    "trip count is an argument": (ast.For, ast.While),
    "mask selection": (ast.Subscript,),
    "shrinking array": (ast.For, ast.While),
    "array values bound a slice": (ast.Slice,),
}
STORES = {"a[i] = v", "a[mask] = v", "a[idx] = v"}
# A program that can be traced has no loop that a traced value ends.
NOT_TRACED = {"while", "break", "traced range bounds", "trip count is an argument", "shrinking array"}

each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 90
    assert set(families()) == set(FAMILIES.split())
    assert {program.family for program in PROGRAMS} == set(families())


@each
def test_runs_and_runs_the_same_again(program: Program) -> None:
    assert len(program.makers) >= 3
    failed = 0
    for which in range(len(program.makers)):
        once = run(program, which=which)
        assert_same(run(program, which=which), once, rtol=0.0, identity=True)
        if once.exception is not None:
            assert {"raise", "assert"} & set(program.features), once.exception
            failed += 1
    assert failed < len(program.makers)


@each
def test_makers_differ(program: Program) -> None:
    seen_arguments = {repr(program.arguments(which)) for which in range(len(program.makers))}
    assert len(seen_arguments) == len(program.makers)


@each
def test_declares_what_only_its_author_knows(program: Program) -> None:
    assert set(program.declared) <= DECLARED
    assert len(set(program.declared)) == len(program.declared)
    nodes = [node for part in _sources(program) for node in ast.walk(part)]
    for feature in program.declared:
        if feature in NEEDS:
            assert any(isinstance(node, NEEDS[feature]) for node in nodes), feature
        if feature in STORES:
            assert any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in nodes), feature
    if program.trace:
        assert not NOT_TRACED & set(program.features)


def test_every_feature_has_a_program() -> None:
    shown = {feature for program in PROGRAMS for feature in program.features}
    assert shown - set(DESCRIPTIONS) == set()
    assert set(DESCRIPTIONS) - shown == set()
    assert DECLARED | OBSERVED <= set(DESCRIPTIONS)


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.name)
def test_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    assert ast.get_docstring(ast.parse(text))
    if path.stem in families() and path.stem != "of_weft":
        assert "weft" not in text


@each
def test_programs_are_small(program: Program) -> None:
    tree = _sources(program)[0]
    assert isinstance(tree, ast.FunctionDef)
    assert tree.body[-1].end_lineno is not None
    assert tree.body[-1].end_lineno - tree.lineno + 1 <= 60


def _sources(program: Program) -> list[ast.AST]:
    """The program's own tree first, then its file: helpers may hold what it declares."""
    own = ast.parse(inspect.getsource(program.function)).body[0]
    file = ast.parse(inspect.getsource(inspect.getmodule(program.function)))  # type: ignore[arg-type]  # it has one
    reached = program.function.__code__.co_names
    return [own, *(node for node in file.body if isinstance(node, ast.FunctionDef) and node.name in reached)]


# One line of source, and exactly the features that the walk must find in it.
SNIPPETS = [
    ("if x: y = 1", {"if"}),
    ("if x: y = 1\nelif z: y = 2\nelse: y = 3", {"if", "elif", "else"}),
    ("if x:\n y = 1\nelse:\n if z: y = 2", {"if", "else"}),
    ("while x: break", {"while", "break"}),
    ("while x:\n for y in z: continue", {"while", "nested loops", "continue"}),
    ("for i in range(n):\n if i: a[i] = 1\nelse: b = 2", {"for over range", "if", "branch in a loop", "else on a loop"}
     | {"write in a loop", "write in a branch"}),
    ("for i in range(9, 0, -1): x", {"for over range", "range with a step"}),
    ("[x for x, y in zip(a, b)]", {"list comprehension", "for over zip"}),
    ("{k: 1 for k in reversed(a)}", {"dict comprehension", "for over reversed"}),
    ("any(x for i, x in enumerate(a))", {"generator expression", "for over enumerate"}),
    ("x = y if z and not w or v else 0", {"conditional expression", "and", "or", "not"}),
    ("0 < x < 1", {"chained comparison"}),
    ("0 < x", set()),
    ("assert x", {"assert"}),
    ("a[i, :j] += w", {"augmented assignment", "a[i] += v", "a[i, :j] += w"}),
    ("a[i] -= w", {"augmented assignment", "a[i] += v"}),
    ("a[:] = a[..., :] = 1", {"a[:] = v", "chained assignment"}),
    ("a[1:] = 1", {"a[i:j] = v"}),
    ("a[i] = 1", set()),
    ("x.shape = 3", {"x.shape ="}),
    ("a, *b = c", {"tuple unpacking", "starred unpacking"}),
    ("x <<= 2", {"augmented assignment", "bit arithmetic"}),
    ("n = x.shape[0] // 2", {"shape arithmetic"}),
    ("with f(): g(h := 1)", {"with", "walrus"}),
    ("def f(x):\n if x: return 1\n return 2", {"if", "early return"}),
    ("def f(x):\n return f(x - 1)", {"recursion"}),
    ("def f(x):\n def g(y=1): return y\n return g", {"nested function", "default argument"}),
    ("def f(x):\n g = lambda y: x + y\n return g(1)", {"lambda", "closure"}),
    ("np.add(x, y, out=z)", {"out="}),
    ("np.add.at(x, i, y)", {"np.add.at"}),
    ("np.add.outer(x, y)", {"np.add.outer"}),
    ("np.outer(x, y)", {"np.outer"}),
    ("x.sort()", {".sort()"}),
    ("np.sort(x)", {"sorting"}),
    ("np.array([1, 2])", set()),
    ("np.array([[x, 2]])", {"np.array of values"}),
    ("np.histogram(x, weights=w)", {"np.histogram", "np.histogram with weights"}),
    ("np.nanmean(x), np.nan", {"nan-functions"}),
    ("np.linalg.norm(x), np.fft.fft(x)", {"np.linalg", "np.fft"}),
    ("x[:, None], x @ y", {"broadcasting", "@"}),
    ("max(1j, int(z))", {"max", "int", "complex numbers"}),
    ("f(x=1), len(x), print(x, end=y)", {"keyword argument", "len", "print"}),
    ("math.sin(x)", {"math.*"}),
    ("try: x\nexcept KeyError: raise", {"try", "raise"}),
    ("f'{x}'", {"f-string"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), SNIPPETS, ids=[source for source, _ in SNIPPETS])
def test_what_the_walk_sees(source: str, expected: set[str]) -> None:
    tree = ast.parse(source)
    assert statements(tree) | calls(tree) == expected


def _helper(buffer, k):
    buffer[k] = LIMIT


def _caller(a):
    return _helper(a, 1), sorted(a, key=_helper)


LIMIT = 3


def test_the_walk_follows_helpers_and_constants() -> None:
    assert seen(_caller) == {"helper function", "write in a helper", "module constant", "function as argument"}
