"""Writes docs/reference/ from the docstrings: `.venv/bin/python docs/reference.py`. A test keeps the two in step."""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

from weft.ops import Op

FOLDER = Path(__file__).with_name("reference")

# Each page, the namespaces on it, and what it leaves to another page.
PAGES: dict[str, tuple[str, ...]] = {
    "weft": ("weft",),
    "autograd": ("weft.autograd",),
    "data": ("weft.data",),
    "errors": ("weft.errors",),
    "graph": ("weft.graph", "weft.patterns"),
    "nn": ("weft.nn", "weft.nn.functional", "weft.nn.init", "weft.nn.utils"),
    "optim": ("weft.optim", "weft.optim.lr_scheduler"),
    "passes": ("weft.passes",),
    "pytree": ("weft.pytree",),
    "random": ("weft.random",),
}


def pages() -> dict[str, str]:
    """The text of each page, by the name of its file."""
    return {f"{name}.md": _page(namespaces) for name, namespaces in PAGES.items()}


def _page(namespaces: tuple[str, ...]) -> str:
    parts = [f"# `{namespaces[0]}`\n\nMade from the docstrings by `docs/reference.py`; [all pages](../README.md).\n"]
    for namespace in namespaces:
        module = importlib.import_module(namespace)
        title = f"\n## `{namespace}`\n" if namespace != namespaces[0] else ""
        parts.append(f"{title}\n{_text(module)}\n")
        parts += [_entry(namespace, name, getattr(module, name)) for name in _names(module)]
    return "".join(parts)


def _names(module: ModuleType) -> list[str]:
    """The public names of a module that have something to read; ops have a page of their own."""
    found = [name for name in dir(module) if not name.startswith("_")]
    values = {name: getattr(module, name) for name in found}
    return [name for name, value in values.items() if callable(value) and not _elsewhere(module, value)]


def _elsewhere(module: ModuleType, value: Any) -> bool:
    if isinstance(value, Op) or not (getattr(value, "__module__", None) or "").startswith("weft"):
        return True
    homes = {space for names in PAGES.values() for space in names} - {"weft"}
    if module.__name__ != "weft":
        return False
    return any(getattr(importlib.import_module(home), _name(value), None) is value for home in homes)


def _name(value: Any) -> str:
    return str(getattr(value, "__name__", ""))


def _entry(namespace: str, name: str, value: Any) -> str:
    entry = f"\n### `{namespace.removeprefix('weft.')}.{name}{_signature(value)}`\n\n{_text(value)}\n"
    return entry + _methods(value) if isinstance(value, type) else entry


def _methods(cls: type) -> str:
    rows = []
    for name, value in vars(cls).items():
        function = getattr(value, "__func__", value)
        if isinstance(function, property):
            rows.append((f"`.{name}`", _text(function)))
        elif inspect.isfunction(function) and not name.startswith("_"):
            rows.append((f"`.{name}{_signature(function, bound=True)}`", _text(function)))
    rows = [(what, " ".join(text.partition("\n\n")[0].split())) for what, text in rows if text]
    if not rows:
        return ""
    table = "".join(f"| {_cell(what)} | {_cell(text)} |\n" for what, text in rows)
    return f"\n| | |\n|---|---|\n{table}"


def _cell(text: str) -> str:
    return text.replace("|", "&#124;")


def _signature(value: Any, bound: bool = False) -> str:
    init = vars(value).get("__init__") if isinstance(value, type) else None
    try:
        signature = inspect.signature(value if init is None else init)
    except (TypeError, ValueError):
        return ""
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    shown = str(inspect.Signature(parameters[1:] if (bound or init is not None) and parameters else parameters))
    return re.sub(r"<(?:.*? at 0x[0-9a-f]+|factory|class '[^']*'|object object[^>]*)>", "…", shown)


def _text(value: Any) -> str:
    """A docstring as Markdown: examples become blocks."""
    lines = (inspect.getdoc(value) or "").splitlines() if not _inherits_its_text(value) else []
    made: list[str] = []
    inside = False
    for line in lines:
        starts = line.lstrip().startswith(">>>")
        if starts and not inside:
            made.append("```pycon")
            inside = True
        elif inside and not line.strip():
            made.append("```")
            inside = False
        made.append(line.strip() if starts else line)
    return "\n".join([*made, "```"] if inside else made)


def _inherits_its_text(value: Any) -> bool:
    return isinstance(value, type) and not value.__dict__.get("__doc__")


def main() -> None:
    """Write every page anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
