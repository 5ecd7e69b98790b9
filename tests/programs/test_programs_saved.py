"""Every program of the corpus, saved and loaded: what the plain call does, or a refusal that says what was saved."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import weft
from programs._compare import Outcome, assert_same, run
from programs._program import Program, programs
from weft.errors import NotCovered

PROGRAMS = programs()
each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def saved(program: Program, path: Path) -> Any:
    """The program called with all its makers' arguments, saved; None where nothing was captured."""
    compiled = weft.compile(program.function)
    for which in range(len(program.makers)):
        run(program, compiled, which)
    if not compiled.graphs:
        return None
    compiled.save(path)
    return compiled


def own_functions(program: Program) -> list[str]:
    """What the program calls by `weft.wrap`, or compares with: the loader's to allow."""
    return {
        "of_weft.rounded_by_text": ["programs.of_weft:digits_of"],
        "simulations.way_out": ["programs.simulations:Cell"],
    }.get(program.name, [])


@each
def test_saved_and_loaded(program: Program, tmp_path: Path) -> None:
    """After the first call, and again after all of them: what was captured is covered, all else right or refused."""
    expected = [run(program, which=which) for which in range(len(program.makers))]
    compiled = weft.compile(program.function)
    path, again, allow = tmp_path / "p.weft", tmp_path / "q.weft", own_functions(program)
    for called in range(1, len(program.makers) + 1):
        run(program, compiled, called - 1)
        if called not in (1, len(program.makers)) or not compiled.graphs:
            continue
        compiled.save(path)
        weft.load(path, allow=allow).save(again)
        assert again.read_bytes() == path.read_bytes()
        loaded = weft.load(path, allow=allow)
        for which in range(len(program.makers)):
            got = run(program, loaded, which)
            if not isinstance(got.exception, NotCovered):
                assert_same(got, expected[which], identity=True)
                continue
            # A call that raises may have run as plain Python.
            assert which >= called or expected[which].exception is not None, got.exception
            assert str(got.exception).startswith(f"{program.function.__name__}: no saved graph is for this call")
            nothing = Outcome(None, program.arguments(which), None, "", ())
            assert_same(Outcome(None, got.arguments, None, got.printed, ()), nothing)


_CHILD = """
import pickle, sys
import weft

calls = pickle.load(sys.stdin.buffer)
results = []
for path, arguments in calls:
    loaded = weft.load(path)
    try:
        result = loaded(*arguments)
    except Exception as error:
        result = type(error).__name__
    results.append((result, arguments))
sys.stdout.buffer.write(pickle.dumps(results))
"""


def test_a_process_without_the_programs_loads_and_runs_them(tmp_path: Path) -> None:
    chosen = [one for one in PROGRAMS if not own_functions(one) and one.family not in ("modules_classes", "of_weft")]
    calls: list[tuple[str, Any]] = []
    expected: list[Outcome] = []
    for program in chosen[::6]:
        path = tmp_path / f"{program.name}.weft"
        if saved(program, path) is None:
            continue
        for which in range(len(program.makers)):
            outcome = run(program, which=which)
            if outcome.exception is None and not outcome.printed:
                calls.append((str(path), program.arguments(which)))
                expected.append(outcome)
    assert len(calls) > 40
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_CHILD)],
        input=pickle.dumps(calls),
        capture_output=True,
        cwd=tmp_path,
        check=True,
    )
    for (result, arguments), outcome in zip(pickle.loads(child.stdout), expected, strict=True):
        assert_same(Outcome(result, arguments, None, "", outcome.returned), outcome)
