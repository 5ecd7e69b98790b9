"""Names for nodes: valid, readable, unique in their graph, and the same every time.

`add`, `add_1`, `add_2`; a name that Python or its builtins own gets a number at once (`sum_1`). A name once given is
not given again, even after its node is erased: whoever wrote it down still means that node. Which number comes next
follows torch.fx: the one after the number last given out with the same base, or the next that is free.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.+)_(\d{1,18})$")  # more digits than that are part of the name
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
RESERVED = frozenset({*keyword.kwlist, *dir(builtins), "self", "inf", "nan", "NoneType"})


@lru_cache(maxsize=4096)
def _read(candidate: str) -> tuple[str, str, int | None]:
    """A name made legal, its base, and the number at its end."""
    if not candidate.isidentifier() or not candidate.isascii():
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
    numbered = _NUMBERED.match(candidate) if candidate[-1].isdigit() else None
    return (candidate, numbered.group(1), int(numbered.group(2))) if numbered else (candidate, candidate, None)


class Names:
    """Hands out names, each once."""

    __slots__ = ("_beyond", "_last", "_used")

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._last: dict[str, int] = {}  # base → the number last given out with it
        self._beyond: dict[str, int] = {}  # a name in use, of a base and a number → the first number after its run

    def create(self, candidate: str) -> str:
        """The candidate made legal and unique."""
        if candidate in self._used and candidate in self._last and not candidate[-1].isdigit():
            return self._numbered(candidate)
        candidate, base, number = _read(candidate)
        last = self._last.setdefault(base, 0)
        if candidate in self._used or candidate in RESERVED:
            return self._numbered(base)
        self._last[base] = last if number is None else number
        self._used.add(candidate)
        return candidate

    def _numbered(self, base: str) -> str:
        number = self._last[base] + 1
        first = name = f"{base}_{number}"
        while name in self._used:
            number = self._beyond.get(name, number + 1)
            name = f"{base}_{number}"
        if name is not first:
            self._beyond[first] = number + 1  # or the next to come this way would look at each of them again
        self._last[base] = number
        self._used.add(name)
        return name

    @classmethod
    def having(cls, names: Iterable[str]) -> Names:
        """The names of a graph that others have named."""
        made = cls()
        made._used.update(names)
        return made

    def copy(self) -> Names:
        copied = Names()
        copied._used = set(self._used)
        copied._last = dict(self._last)
        copied._beyond = dict(self._beyond)
        return copied


def candidate_name(target: Any) -> str:
    """What to call a node by its target: `layer.0.relu` → layer_0_relu, `operator.add` and `__add__` → add."""
    if not isinstance(target, str):
        target = getattr(target, "__name__", None) or type(target).__name__
    elif target.startswith("*"):
        return "_" + target.lstrip("*")
    if target.startswith("__") and target.endswith("__"):
        target = target[2:-2]
    return snake_case(target)


def snake_case(text: str) -> str:
    """`BatchNorm2d` → batch_norm2d."""
    return text if text.islower() else _CAPITAL.sub(r"_\1", text).lower()
