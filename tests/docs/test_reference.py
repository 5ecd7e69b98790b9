"""docs/reference/ is what docs/reference.py makes of the docstrings, and the index leads to every page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import weft

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_are_up_to_date() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md")}
    assert written == _generator().pages(), "run .venv/bin/python docs/reference.py"


def test_public_names_have_entries_that_say_something() -> None:
    pages = _generator().pages()
    for page, names in {"nn.md": dir(weft.nn), "optim.md": dir(weft.optim), "graph.md": dir(weft.graph)}.items():
        classes = [name for name in names if name[0].isupper()]
        assert not [name for name in classes if f".{name}" not in pages[page]], page
    empty = [title for text in pages.values() for title in re.findall(r"^### (.+)\n\n\n(?=#)", text, re.MULTILINE)]
    assert not empty
    assert not re.search("0x[0-9a-f]{6}", "".join(pages.values()))


def test_the_index_leads_to_every_page() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\]\(([^)#]+)\)", index))
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - {"README.md"}
    assert targets == pages | {"../README.md"}


def test_the_pictures_are_up_to_date() -> None:
    made = _generator("pictures").pictures()
    assert {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "pictures").iterdir()} == made
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/pictures/{name}" in readme for name in made)


def _generator(name: str = "reference") -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
