"""What a pass reports: one `Change` for each thing it did, each with the node's name and the user's line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from weft import _where
from weft.graph import Node


@dataclass(frozen=True)
class Change:
    """One thing a pass did: `verb` (folded, merged, removed, rewrote), the rule, the node, and what became of it."""

    verb: str
    rule: str
    node: str
    became: str
    position: _where.Position | None = None

    @property
    def location(self) -> _where.Location | None:
        """The place in the user's program that the node came from; None where unknown."""
        return None if self.position is None else _where.locate(self.position)

    def __str__(self) -> str:
        text = f"{self.verb} {self.node} ({self.rule})" + (f" → {self.became}" if self.became else "")
        return text if self.location is None else f"{text}  at {self.location}"


class Changes:
    """All that one run of a pass changed, in order; empty, and false, where it changed nothing."""

    def __init__(self) -> None:
        self._all: list[Change] = []

    def note(self, verb: str, rule: str, node: Node, became: Any = "") -> None:
        """Record a change of a node; `became` is the node or the constant that stands for it now."""
        text = became if isinstance(became, str) else became.name if isinstance(became, Node) else short(became)
        self._all.append(Change(verb, rule, node.name, text, node._position))

    def __iter__(self) -> Iterator[Change]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, index: int) -> Change:
        return self._all[index]

    @property
    def rules(self) -> Counter[str]:
        """How often each rule was applied."""
        return Counter(change.rule for change in self._all)

    def __repr__(self) -> str:
        return f"<Changes: {', '.join(f'{rule} {n}' for rule, n in self.rules.items()) or 'none'}>"


def short(value: Any) -> str:
    """A constant as text, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
