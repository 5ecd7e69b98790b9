"""Writes docs/captured.md from the tests' programs: `.venv/bin/python docs/captured.py`. A test keeps them in step."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
PAGE = Path(__file__).with_name("captured.md")

# A program to show for each heading; what else has a feature is named in the tables.
SHOWN = {
    "Control flow": "monte_carlo.gambler",
    "Mutation": "linalg_loops.lu",
    "Creation": "creation.finite_difference_matrix",
    "NumPy functions": "histograms.azimuthal",
    "Python": "scalars.exp_series",
    "Sizes": "sparse.spmv_csr",
    "Calls": "ode_physics.integrals",
}
NAMED = 4  # programs that a table names for a feature; the rest are counted
TABLE = "| | compile | script | trace | for example |\n|---|---|---|---|---|\n"

INTRODUCTION = """\
# What can be captured

This page lists [what is refused, and what to write instead](#what-is-refused-and-what-to-write-instead), then
[what programs may contain](#what-programs-may-contain). [capture.md](capture.md) is the guide.

```python
import math

import numpy as np
```

## What is refused, and what to write instead

A program that cannot be captured raises `weft.errors.CaptureError` when it is captured: one error, with the line, the
reason, and what to write instead. Nothing was changed then. `weft.explain(f, *args)` lists all such places of a program
at once. Code that must stay as it is goes into a function of its own, marked with `weft.wrap`: a call of it becomes a
node that runs as Python.

Each program below is a test: the error is the one shown, with lines counted from `def`. The program that follows
*Instead* is captured and gives what the first one gives.
"""

CONTENTS = """
## What programs may contain

A yes says that the tests hold programs with the feature that go through that front end. `trace` takes one path, so it
is tried on programs in which no traced value decides the path; `script` on those that need to know nothing of their
arguments.
"""

NOTES = {
    "weft.trace changes nothing outside": """
`weft.compile` captures the programs of this section: after a call, what lies outside is what the plain call leaves.
`weft.trace`, `weft.script` and derivatives refuse to change what the program did not make.
""",
}

TESTED = """
## How this is tested

{compile} whole NumPy programs stand in [tests/programs](../tests/programs). The tests run each as plain Python and
through `weft.compile`, {script} of them through `weft.script`, and {trace} through `weft.trace`. Results, dtypes,
arrays changed in place, printed text and exceptions must be the same.

This page is made from those tests by `docs/captured.py`.
"""


def page() -> str:
    """The whole page as Markdown."""
    from programs._features import FEATURES
    from programs._program import programs

    every = programs()
    known = {program.name: program for program in every}
    parts = [INTRODUCTION, *_refusals(), CONTENTS]
    for heading, features in FEATURES.items():
        parts.append(f"\n### {heading}\n\n{TABLE}")
        for name, text in features.items():
            having = [program for program in every if name in program.features]
            ways = ["yes" if count else "" for count in _counts(having).values()]
            cells = [_feature(name, text), *ways, _programs(having)]
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
        shown = known[SHOWN[heading]]
        parts.append(f"\n`{shown.name}`:\n\n```python\n{_source(shown.function)}```\n")
    return "".join([*parts, TESTED.format(**_counts(every))])


def _counts(programs: Sequence[Any]) -> dict[str, int]:
    """How many programs run through each front end."""
    script, trace = sum(p.script for p in programs), sum(p.trace for p in programs)
    return {"compile": len(programs), "script": script, "trace": trace}


def _feature(name: str, text: str) -> str:
    """A feature in words, after its code where the words show none."""
    is_code = "`" not in text and re.search(r"[=.\[]", name) and not re.search("[a-z] [a-z]", name)
    return f"`{name}`: {text}" if is_code else text


def _programs(programs: list[Any]) -> str:
    """The shortest programs."""
    shortest = sorted(programs, key=lambda program: (len(inspect.getsource(program.function)), program.name))[:NAMED]
    return ", ".join(f"[{p.function.__name__}](../tests/programs/{p.family}.py)" for p in shortest)


def _source(function: Callable[..., Any]) -> str:
    """A function's source without its decorators."""
    text = textwrap.dedent(inspect.getsource(function))
    first = ast.parse(text).body[0].lineno
    return "".join(text.splitlines(keepends=True)[first - 1 :])


def _refusals() -> Iterator[str]:
    """The small programs that are refused, by group."""
    for module in ("refused_flow", "refused_things"):
        importlib.import_module(module)
    from refused import REFUSED

    # In the order of the files, and once: a test run may import them in another order, and under two names.
    places = {(p.function.__code__.co_filename, p.function.__code__.co_firstlineno): p for p in REFUSED}
    refused = [places[place] for place in sorted(places)]
    groups = dict.fromkeys(program.group for program in refused)
    for group in sorted(groups, key=lambda group: group.startswith("weft.")):  # what one front end alone refuses, last
        yield f"\n### {group}\n{NOTES.get(group, '')}"
        for program in refused:
            if program.group == group:
                yield _refusal(program)


def _refusal(program: Any) -> str:
    error = program.capture()
    lines = [program.relative(error.message), *(error.where or "").splitlines()[1:]]
    lines += [f"help: {error.help}"] if error.help else []
    shown = "\n".join(lines)
    text = f"\n{_sentence(program.title)}:\n\n```python\n{_source(program.function)}```\n\n```\n{shown}\n```\n"
    if program.instead is not None:
        text += f"\nInstead:\n\n```python\n{_source(program.instead)}```\n"
    return text


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _find_tests() -> None:
    for folder in (TESTS, TESTS / "capture"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


_find_tests()

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
