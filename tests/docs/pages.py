"""Runs the Python blocks of a Markdown page and compares what they print with what the page says.

A page's blocks run in order in one namespace. A `text` block right after a `python` block is what that block prints, to
the letter; a Python block without one prints nothing. Blocks keep the page's line numbers, so a traceback, and a node's
source line, point into the page. After a change, see what differs with:

    python tests/docs/pages.py README.md
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    line: int  # of the first line of code, counted from one
    code: str
    prints: str


def blocks(text: str) -> list[Block]:
    """The Python blocks of a page, each with the output stated after it."""
    found: list[Block] = []
    fences = list(FENCE.finditer(text))
    for i, fence in enumerate(fences):
        if fence[1] != "python":
            continue
        after = fences[i + 1] if i + 1 < len(fences) else None
        stated = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        found.append(Block(text.count("\n", 0, fence.start(2)) + 1, fence[2], after[2] if after and stated else ""))
    return found


def run(text: str, name: str) -> list[str]:
    """Run a page; the differences between what it states and what it prints, one text a block."""
    # Pages are not modules: this is how their lines are found by whoever shows source.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    # The page is the program: functions it defines are found where they say they are.
    sys.modules["__main__"] = program = ModuleType("__main__")
    differences = []
    for block in blocks(text):
        code = compile("\n" * (block.line - 1) + block.code, name, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, vars(program))
        stated, real = _trimmed(block.prints), _trimmed(printed.getvalue())
        if stated != real:
            found = difflib.unified_diff(stated, real, f"{name}:{block.line} says", "but prints", lineterm="", n=99)
            differences.append("\n".join(found))
    return differences


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


if __name__ == "__main__":
    page = Path(sys.argv[1])
    found = run(page.read_text(encoding="utf-8"), page.name)
    sys.exit("\n\n".join(found) or 0)
