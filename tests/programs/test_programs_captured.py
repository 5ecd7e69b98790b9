"""Every program of the corpus, captured in every way, does what the plain call does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import Outcome, assert_same, run
from programs._program import Program, programs
from weft import pytree
from weft.ops import Spec

PROGRAMS = programs()
each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
scripted = pytest.mark.parametrize("program", [p for p in PROGRAMS if p.script], ids=lambda program: program.name)
traced = pytest.mark.parametrize("program", [p for p in PROGRAMS if p.trace], ids=lambda program: program.name)


def check(program: Program, function: Callable[..., Any], which: int, expected: list[Outcome]) -> None:
    """The function does with one maker's arguments what the program does."""
    assert_same(run(program, function, which), expected[which], identity=True)


def plain_outcomes(program: Program) -> list[Outcome]:
    return [run(program, which=which) for which in range(len(program.makers))]


def check_compiled(program: Program, dynamic: bool | None) -> None:
    """One compiled function for all makers' arguments, forth and back: a graph is never taken for other arguments."""
    expected = plain_outcomes(program)
    compiled = weft.compile(program.function, dynamic=dynamic)
    plainly = runs_as_plain_python(compiled)
    for which in range(len(program.makers)):
        check(program, compiled, which, expected)
        assert not plainly or expected[which].exception is not None, f"was not captured: {plainly[0]!r}"
        plainly.clear()
    captured = compiled.cache_info().misses
    for which in reversed(range(len(program.makers))):
        check(program, compiled, which, expected)
    assert compiled.cache_info().misses == captured, compiled.why_recompiled()
    for entry in compiled._entries:
        entry.graph.lint()


def runs_as_plain_python(compiled: Any) -> list[Any]:
    """A list that notes each call that runs the function itself, with the reason."""
    noted: list[Any] = []
    run_plainly = compiled._plainly

    def plainly(args: Any, kwargs: Any, given_up: Any, why: str) -> Any:
        noted.append(why)
        return run_plainly(args, kwargs, given_up, why)

    compiled._plainly = plainly
    return noted


@each
def test_compiled(program: Program) -> None:
    check_compiled(program, None)


@each
def test_compiled_with_fixed_sizes(program: Program) -> None:
    check_compiled(program, False)


@scripted
def test_scripted(program: Program) -> None:
    expected = plain_outcomes(program)
    module = weft.script(program.function)
    module.graph.lint()
    for which in range(len(program.makers)):
        check(program, module, which, expected)


@traced
def test_traced(program: Program) -> None:
    for which, expected in enumerate(plain_outcomes(program)):
        arguments = program.arguments(which)
        module = weft.trace(program.function, *arguments)
        module.graph.lint()
        if expected.exception is None:
            assert repr(arguments) == repr(program.arguments(which)), "tracing changed its arguments"
        assert_same(run(program, module, which), expected, identity=True)


@traced
def test_traced_on_specs(program: Program) -> None:
    """Only shapes and dtypes of arrays count."""
    expected = run(program)
    module = weft.trace(program.function, *pytree.map(as_spec, program.arguments()))
    assert_same(run(program, module), expected, identity=True)


def as_spec(value: Any) -> Any:
    return Spec(value.shape, value.dtype) if isinstance(value, np.ndarray) and value.dtype.kind in "biufc" else value
