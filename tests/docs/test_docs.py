"""Every Python block of README.md, CONTRIBUTING.md and docs/ runs and prints what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).with_name("pages.py")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path, tmp_path: Path) -> None:
    done = _run(page, tmp_path)
    assert done.returncode == 0, done.stderr


LINKING = [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs/reference").glob("*.md"))]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in _links(page):
        file = page.parent / target if target else page
        assert file.exists(), target
        if anchor:
            assert anchor in {_anchor(title) for title in re.findall(r"^#+ (.+)$", _prose(file), re.MULTILINE)}, anchor


def _prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def _links(page: Path) -> list[tuple[str, str]]:
    text = re.sub(r"`[^`\n]*`", "", _prose(page))
    return re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", text)


def _anchor(title: str) -> str:
    """The name that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nprint(1)\n```\n\n```text\n1\n```\nwords\n```python\nx = 1\n```\nthen\n```text\nno\n```\n", None),
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "-2\n+1"),
        ("words\n```python\nprint(1)\n```\nwords\n```text\n1\n```\n", "+1"),
        ("words\n\n```python\nx = 1\n1 / 0\n```\n", "line 5"),
        ("```python\nimport warnings\nwarnings.warn('old')\n```\n", "UserWarning"),
    ],
)
def test_the_runner_sees_what_is_wrong(text: str, message: str | None, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    done = _run(page, tmp_path)
    assert (done.returncode == 0) == (message is None)
    assert (message or "") in done.stderr


def test_a_page_can_be_brought_up_to_date(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n3\n```\n\n```python\nx = 1\n```\n", encoding="utf-8")
    assert _run(page, tmp_path, "--write").returncode == 0
    assert page.read_text(encoding="utf-8") == "```python\nprint(1)\n```\n\n```text\n1\n```\n\n```python\nx = 1\n```\n"
    assert _run(page, tmp_path).returncode == 0


def _run(page: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a page in a process and a folder of its own: a page may declare ops and write files."""
    command = [sys.executable, "-W", "error", str(RUNNER), str(page), *options]
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=120)
