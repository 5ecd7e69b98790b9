"""The project keeps its own promises: files, sizes, licence, a light import, a complete wheel."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import weft

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src/weft").rglob("*.py"))
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = DECLARED["project"]


def test_the_licence_is_the_one_declared() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_knows_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(weft.__version__)}\b", text, re.MULTILINE)


def test_contributing_covers_what_a_contributor_does_first() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for heading in ("Set up", "Add an op", "Add a pass", "Tests"):
        assert re.search(rf"^## {heading}", text, re.MULTILINE), f"no section {heading!r}"


def test_the_two_commands_come_first() -> None:
    screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:50]
    assert "make demo" in "\n".join(screen)
    assert "make test" in "\n".join(screen)


def test_the_readme_says_what_a_newcomer_asks_first() -> None:
    opening, *sections = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## ")
    for said in (
        "weft.compile(energy)",
        "weft.grad(energy)",
        "compiled.code",
        "](docs/pictures/",
        "What is not there yet: ",
        "blocks on this page run from a file",
        "The name `weft` on PyPI belongs to another project",
    ):
        assert said in opening, said
    for front_end in ("compile(f)", "script(f)", "trace(f, *args)", "symbolic_trace(f)"):
        assert f"\n| `weft.{front_end}` |" in opening
    assert [section.partition("\n")[0] for section in sections[:2]] == [
        "Compile NumPy as it is",
        "Trace, as torch.fx does",
    ]
    assert PROJECT["name"] == "pyweft" and f"distribution is called `{PROJECT['name']}`" in opening
    assert PROJECT["readme"] == "README.md", "PyPI shows it"


def test_what_is_refused_comes_before_what_is_tested() -> None:
    text = (ROOT / "docs/captured.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "What is refused, and what to write instead",
        "What programs may contain",
        "How this is tested",
    ]
    counted = re.search(r"\b\d{3} whole NumPy programs", text)
    assert counted is not None and counted.start() > text.index("## How this is tested")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = len(text.splitlines())
    limit = 70 if path.name == "__init__.py" else 700
    assert lines <= limit, f"{lines} lines, at most {limit}"
    assert ast.get_docstring(tree), "no module docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = _length(node)
            assert length <= 50, f"{node.name} has {length} lines, at most 50"


def test_what_tests_share_is_found_by_its_name() -> None:
    folders = [ROOT / folder for folder in DECLARED["tool"]["pytest"]["ini_options"]["pythonpath"]]
    found = [path.name for folder in folders for path in folder.glob("*.py")]
    names = [name for name in found if not name.startswith(("test_", "conftest"))]
    assert sorted(names) == sorted(set(names))


def test_import_is_light() -> None:
    """weft alone costs at most 0.15 s beyond NumPy, and loads nothing heavier than NumPy."""
    weft = "import numpy, time; t = time.process_time(); import weft; print(time.process_time() - t)"
    # Processor time, and the best of several runs: the test measures the import, not what else the machine does.
    assert min(float(_python(weft)) for _ in range(5)) < 0.15
    loaded = _python("import weft, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))").split()
    assert not {"scipy", "igraph", "safetensors", "torch", "jax", "hypothesis", "pytest"} & set(loaded)


def test_the_wheel_is_complete(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {str(path.relative_to(ROOT / "src")) for path in SOURCES} <= names
    assert "weft/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body, its signature and documentation not counted."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


def _python(code: str) -> str:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return done.stdout
