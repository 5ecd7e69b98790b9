"""docs/ops.md is what docs/ops.py makes of the op table."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from weft.ops import TABLE

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date() -> None:
    assert (DOCS / "ops.md").read_text(encoding="utf-8") == _generator().page(), "run .venv/bin/python docs/ops.py"


def test_every_public_op_has_a_row() -> None:
    generator = _generator()
    page = generator.page()
    public = [op.name.removeprefix("linalg_") for op in TABLE.values() if generator.is_public(op)]
    assert len(public) > 280
    assert not [name for name in public if not re.search(rf"^\| `(\w+\.)?{name}\(", page, re.MULTILINE)]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_ops", DOCS / "ops.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
