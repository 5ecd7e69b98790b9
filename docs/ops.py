"""Writes docs/ops.md from the op table: `.venv/bin/python docs/ops.py`. A test keeps the two in step."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType

import weft.ops
from weft.errors import NotDifferentiable
from weft.ops import TABLE, Op

PAGE = Path(__file__).with_name("ops.md")

INTRODUCTION = """\
# Ops

Every op of the table, by the file that declares it. Names and meaning follow the Python array API standard (2024.12)
and NumPy 2; what only torch has keeps torch's name. `weft` is itself an array API namespace: an op called on NumPy
arrays gives a NumPy array, on a traced value it adds a node to the graph.

```python
import numpy as np

import weft

print(weft.logsumexp(np.array([1.0, 2.0, 3.0])))
```

```text
3.4076059644443806
```

Under *derivative*: `yes`, a rule for every array argument; `through its body`, a composite of other ops; otherwise the
reason there is none, which is also what asking for one says.

This page is made from the table by `docs/ops.py`.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [INTRODUCTION]
    for module, ops in _sections().items():
        title = module.__name__.rpartition(".")[2].capitalize()
        summary = " ".join((inspect.getdoc(module) or "").partition("\n\n")[0].split())
        parts.append(f"\n## {title}\n\n{summary}\n\n| op | does | derivative |\n|---|---|---|\n")
        parts += [_row(op) for op in ops]
    return "".join(parts)


def _sections() -> dict[ModuleType, list[Op]]:
    """The public ops by the file that lists them as its own, or else holds them, in the order of the table."""
    homes: dict[str, ModuleType] = {}
    for module in _files():
        for value in vars(module).values():
            if isinstance(value, Op) and is_public(value):
                homes.setdefault(value.name, module)
    for module in _files():
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if isinstance(value, Op):
                homes[value.name] = module
    sections: dict[ModuleType, list[Op]] = {module: [] for module in _files()}
    for op in TABLE.values():
        if op.name in homes:
            sections[homes[op.name]].append(op)
    return {module: ops for module, ops in sections.items() if ops}


def _files() -> list[ModuleType]:
    names = sorted(info.name for info in pkgutil.walk_packages(weft.ops.__path__, "weft.ops."))
    return [importlib.import_module(name) for name in names if not name.rpartition(".")[2].startswith("_")]


def _row(op: Op) -> str:
    does = " ".join((op.__doc__ or "").partition("\n\n")[0].split())
    cells = (f"`{_public_name(op) or op.name}{_signature(op)}`", does, _derivative(op))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def is_public(op: Op) -> bool:
    """Whether users find the op in or under `weft`; the others serve as parts of derivative rules."""
    return _public_name(op) is not None


def _public_name(op: Op) -> str | None:
    for prefix, namespace in (("", weft), ("linalg.", weft.linalg), ("fft.", weft.fft), ("random.", weft.random)):
        for name in (op.name, op.name.removeprefix("linalg_")):
            if getattr(namespace, name, None) is op:
                return f"{prefix}{name}"
    return None


def _signature(op: Op) -> str:
    parameters = [p.replace(annotation=p.empty) for p in op.__signature__.parameters.values()]
    return str(inspect.Signature(parameters))


def _derivative(op: Op) -> str:
    if op.composite:
        return "through its body"
    reasons = [None if callable(rule) else rule for rule in op.vjp]
    if not any(reasons):
        return "yes" if op.vjp else ""
    words = [reason.message if isinstance(reason, NotDifferentiable) else "yes" for reason in reasons]
    if len(set(words)) == 1:
        return f"none: {words[0]}"
    return "; ".join(f"{name}: {word}" for name, word in zip(op.arrays, words, strict=True))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
