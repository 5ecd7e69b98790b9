"""docs/captured.md is what docs/captured.py makes of the programs of the tests."""

from __future__ import annotations

import functools
import importlib.util
import re
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date() -> None:
    page = (DOCS / "captured.md").read_text(encoding="utf-8")
    assert page == _page(), "run .venv/bin/python docs/captured.py"


def test_every_feature_has_programs_and_every_refusal_a_place() -> None:
    page = _page()
    from refused import REFUSED

    from programs._features import DESCRIPTIONS

    rows = re.findall(r"^\| .+ \| yes \| (?:yes)? ?\| (?:yes)? ?\| \[", page, re.MULTILINE)
    assert len(rows) == len(DESCRIPTIONS)
    assert not [program.name for program in REFUSED if f"def {program.name}(" not in page]
    # What one front end alone refuses stands under its name: a reader takes the rest for what compile refuses.
    assert not [p.name for p in REFUSED if p.front_end != "compile" and not p.group.startswith("weft.")]


@functools.cache
def _page() -> str:
    return str(_generator().page())


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_captured", DOCS / "captured.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
