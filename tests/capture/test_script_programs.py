"""Every program scripted does what it does as plain Python: result, arguments, printed text, exceptions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import weft
from capture._script_programs import PROGRAMS, outcome


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a division by zero is what a program wants to see
@pytest.mark.parametrize(("program", "arguments"), PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_as_plain_python(program: Callable[..., Any], arguments: tuple[tuple[Any, ...], ...]) -> None:
    module = weft.script(program)
    module.graph.lint()
    interpreter = weft.Interpreter(module)
    for given in arguments:
        expected = outcome(program, copy.deepcopy(given))
        assert outcome(module, copy.deepcopy(given)) == expected
        if "*" not in str([node.target for node in module.graph.nodes if node.op == "placeholder"]):
            assert outcome(interpreter.run, copy.deepcopy(given)) == expected


def test_keywords() -> None:
    programs = {program.__name__: program for program, _ in PROGRAMS}
    x = PROGRAMS[0][1][0][0]
    for name, keywords in (("defaults", {"k": 7}), ("defaults", {"n": 1}), ("variadic", {"bias": 7, "q": 9})):
        module = weft.script(programs[name])
        assert repr(module(x, **keywords)) == repr(programs[name](x, **keywords))
