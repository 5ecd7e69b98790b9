"""Runs the Python blocks of a Markdown page and compares what they print with what the page says.

A page's blocks run in order in one namespace. A `text` block right after a `python` block is what that block prints, to
the letter; a Python block without one prints nothing. Blocks keep the page's line numbers, so a traceback, and a node's
source line, point into the page. After a change, see what differs, then let the page say what is printed now:

    python tests/docs/pages.py README.md
    python tests/docs/pages.py README.md --write
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    line: int  # of the first line of code, counted from one
    code: str
    prints: str
    stated: tuple[int, int] | None = None  # where the page says what it prints


def blocks(text: str) -> list[Block]:
    """The Python blocks of a page, each with the output stated after it."""
    found: list[Block] = []
    fences = list(FENCE.finditer(text))
    for i, fence in enumerate(fences):
        if fence[1] != "python":
            continue
        after = fences[i + 1] if i + 1 < len(fences) else None
        stated = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        line = text.count("\n", 0, fence.start(2)) + 1
        found.append(Block(line, fence[2], after[2], after.span(2)) if after and stated else Block(line, fence[2], ""))
    return found


def run(text: str, name: str) -> list[str]:
    """Run a page; the differences between what it states and what it prints, one text a block."""
    differences = []
    for block, printed in _printed(text, name):
        stated, real = _trimmed(block.prints), _trimmed(printed)
        if stated != real:
            found = difflib.unified_diff(stated, real, f"{name}:{block.line} says", "but prints", lineterm="", n=99)
            differences.append("\n".join(found))
    return differences


def written(text: str, name: str) -> str:
    """The page with what its blocks print now, where it states anything; once more where lines have moved."""
    for block, printed in reversed(list(_printed(text, name))):
        if block.stated is not None:
            start, end = block.stated
            text = text[:start] + "".join(f"{line}\n" for line in _trimmed(printed)) + text[end:]
    return text


def _printed(text: str, name: str) -> Iterator[tuple[Block, str]]:
    """Each block of a page, and what it prints."""
    # Pages are not modules: this is how their lines are found by whoever shows source.
    linecache.cache[name] = (len(text), None, _python(text), name)
    # The page is the program: functions it defines are found where they say they are.
    sys.modules["__main__"] = program = ModuleType("__main__")
    for block in blocks(text):
        code = compile("\n" * (block.line - 1) + block.code, name, "exec")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, vars(program))
        yield block, printed.getvalue()


def _python(text: str) -> list[str]:
    """The lines of a page, those of its words left empty: what remains is Python, in which lambdas are found, too."""
    lines = ["\n"] * (text.count("\n") + 1)
    for block in blocks(text):
        code = block.code.splitlines(keepends=True)
        lines[block.line - 1 : block.line - 1 + len(code)] = code
    return lines


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


if __name__ == "__main__":
    page = Path(sys.argv[1])
    content = page.read_text(encoding="utf-8")
    if "--write" in sys.argv:
        page.write_text(written(content, page.name), encoding="utf-8")
    else:
        sys.exit("\n\n".join(run(content, page.name)) or 0)
