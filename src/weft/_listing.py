"""`dir()` of the public modules: the names they offer, and nothing that they only use themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any


def listing(name: str, later: Iterable[str] = (), namespaces: Iterable[str] = ()) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module: its `__all__`, or what weft defines among its names.

    `later` are names that the module imports when they are asked for, `namespaces` the modules it offers.
    """
    shown = frozenset(namespaces)

    def __dir__() -> list[str]:
        module = sys.modules[name]
        names = getattr(module, "__all__", None)
        if names is None:
            names = [key for key, value in vars(module).items() if key in shown or _offered(key, value)]
        return sorted({*names, *later, *(key for key in vars(module) if key.startswith("__"))})

    return __dir__


def _offered(key: str, value: Any) -> bool:
    if key.startswith("_") or isinstance(value, ModuleType) or key == "annotations":
        return False
    where = getattr(value, "__module__", None) or "weft"
    return str(where).partition(".")[0] in ("weft", "numpy", "builtins")


__all__ = ["listing"]
