"""Places in a program that its hooks are told about: where they are, and what is known of the variables there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Site:
    """One statement or expression of a converted function, as its hooks see it.

    Columns count characters from 1. `names` are the variables a region hands to its hooks, in the order of the tuple.
    `live` are those of them that may be read after the statement, or in a loop's next iteration before being stored.
    `live_body` and `live_orelse` are smaller than `live` where that side of an `if` always jumps or raises: what is
    not in them is never read on that path. `stores` gives, for each name, the line of its last store in the body and
    in the else.
    """

    kind: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    names: tuple[str, ...] = ()
    live: frozenset[str] = frozenset()
    live_body: frozenset[str] = frozenset()
    live_orelse: frozenset[str] = frozenset()
    stores: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    has_yield: bool = False
