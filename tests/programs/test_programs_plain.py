"""The corpus itself: every program runs, twice the same, and has the features it is listed under."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from programs._compare import assert_same, run
from programs._features import DESCRIPTIONS
from programs._program import Program, families, programs
from programs._seen import DECLARED, parts
from programs._watched import WATCHED, watched

PROGRAMS = programs()
HERE = Path(__file__).parent
FAMILIES = """
    stencils linalg_dense linalg_loops sparse fractals graphs_dp ml rnn_conv kalman_filters ode_physics nbody
    monte_carlo sorting image signal statistics bits_crc histograms cellular strings_of_numbers control_flow mutation
    views creation shapes scalars modules_classes simulations of_weft
""".split()
# What a declared feature cannot do without.
NEEDS: dict[str, tuple[type[ast.AST], ...]] = {
    "traced slice bounds": (ast.Slice,),
    "trip count is an argument": (ast.For, ast.While),
    "shrinking array": (ast.For, ast.While),
    "overlap": (ast.Subscript,),
    "narrowing write": (ast.Subscript, ast.AugAssign),
    "integer wrap-around": (ast.BinOp, ast.AugAssign, ast.Call),
}
# A program that can be traced has no loop that a traced value ends.
NOT_TRACED = {"while", "break", "traced range bounds", "trip count is an argument", "shrinking array"}

each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 90
    assert set(families()) == set(FAMILIES)
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
def test_watching_changes_nothing(program: Program) -> None:
    for which in range(len(program.makers)):
        assert_same(run(program, watched(program)[0], which), run(program, which=which), rtol=0.0, identity=True)


@each
def test_makers_differ(program: Program) -> None:
    seen_arguments = {repr(program.arguments(which)) for which in range(len(program.makers))}
    assert len(seen_arguments) == len(program.makers)


@each
def test_declares_what_only_its_author_knows(program: Program) -> None:
    assert set(program.declared) <= DECLARED
    assert len(set(program.declared)) == len(program.declared)
    nodes = [node for _, tree in parts(program.function) for node in ast.walk(tree)]
    for feature in program.declared:
        if feature in NEEDS:
            assert any(isinstance(node, NEEDS[feature]) for node in nodes), feature
        if feature.startswith("write through"):
            assert "writes argument" in program.features or feature == "write through a view"
    if program.trace:
        assert not NOT_TRACED & set(program.features)


def test_every_feature_has_a_program() -> None:
    shown = {feature for program in PROGRAMS for feature in program.features}
    assert sorted(shown - set(DESCRIPTIONS)) == []
    assert sorted(set(DESCRIPTIONS) - shown) == []
    assert set(DESCRIPTIONS) >= DECLARED | WATCHED


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.name)
def test_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    assert ast.get_docstring(ast.parse(text))
    if path.stem in families() and path.stem != "of_weft":
        assert "weft" not in text


@each
def test_programs_are_small(program: Program) -> None:
    _, tree = next(parts(program.function))
    assert isinstance(tree, ast.FunctionDef)
    assert tree.body[-1].end_lineno is not None
    assert tree.body[-1].end_lineno - tree.lineno + 1 <= 60
