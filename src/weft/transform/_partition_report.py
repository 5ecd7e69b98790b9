"""What a partition says of itself: the memory it takes, the arithmetic it repeats, the largest values it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.graph import Node
from weft.ops import Spec
from weft.ops._dim import Dim
from weft.transform._partition_memory import Peak
from weft.transform._tape import Tape, Tapes

if TYPE_CHECKING:
    from weft.transform._partition_choice import Choice
    from weft.transform._partition_measure import Measured

_SHOWN = 8


@dataclass(frozen=True)
class Kept:
    """A value that the forward keeps: what it is called, its type and bytes, and the line it comes from."""

    name: str
    type: Any
    bytes: float
    line: str | None
    estimated: bool  # whether only running tells how many bytes they are

    @classmethod
    def of(cls, node: Node, choice: Choice) -> Kept:
        storage = choice.storage
        location = node.location
        type_ = node.meta.get("type")
        open_ = isinstance(type_, (Tape, Tapes)) or (
            isinstance(type_, Spec) and any(isinstance(d, Dim) for d in type_.shape)
        )
        return cls(node.name, type_, storage.bytes(storage.base(node)), _line(location), open_)

    def __str__(self) -> str:
        about = "about " if self.estimated else ""
        line = "" if self.line is None else f"  {self.line}"
        return f"{self.name}: {_type(self.type)}, {about}{shown(self.bytes)}{line}"


@dataclass(frozen=True)
class Report:
    """Bytes are those of arrays other than arguments, parameters, results and gradients. Peaks are predicted."""

    policy: str
    forward_peak: Peak
    backward_peak: Peak
    kept_bytes: float
    everything_bytes: float
    everything_peak: float
    recomputed: int
    extra: float
    arithmetic: float
    budget: float | None
    kept: list[Kept]
    measured: Measured | None

    @property
    def peak(self) -> float:
        """The most bytes at once, as predicted."""
        return max(self.forward_peak.most, self.backward_peak.most)

    @property
    def overhead(self) -> float:
        """How much more arithmetic there is than without computing anything again."""
        return self.extra / self.arithmetic if self.arithmetic else 0.0

    @property
    def met(self) -> bool:
        """Whether the budget is met, as predicted; true where none was given."""
        return self.budget is None or self.peak <= self.budget

    def __str__(self) -> str:
        lines = [
            f"policy {self.policy}",
            f"kept: {shown(self.kept_bytes)} in {len(self.kept)} values (keeping everything: "
            f"{shown(self.everything_bytes)})",
            f"peak of the forward: {shown(self.forward_peak.most)}{_at(self.forward_peak)}",
            f"peak of the backward: {shown(self.backward_peak.most)}{_at(self.backward_peak)}",
            f"computed again: {self.recomputed} nodes, {_count(self.extra)} operations, "
            f"{100 * self.overhead:.1f}% more arithmetic",
        ]
        if self.budget is not None:
            lines.append(self._budget())
        if self.measured is not None:
            lines.append(
                f"measured: {shown(self.measured.forward)} in the forward, {shown(self.measured.backward)} in the "
                f"backward, {shown(self.measured.kept)} kept"
            )
        if self.kept:
            lines.append("largest kept:")
            lines += [f"  {each}" for each in self.kept[:_SHOWN]]
        if any(each.estimated for each in self.kept):
            lines.append("sizes known only at run time are estimated: of unknown numbers of turns, 16")
        return "\n".join(lines)

    def _budget(self) -> str:
        assert self.budget is not None
        if self.met:
            return f"budget: {shown(self.budget)}, met"
        return (
            f"budget: {shown(self.budget)}, not met: {shown(self.peak)} is the least that was found "
            f"(keeping everything: {shown(self.everything_peak)})"
        )


def shown(amount: float) -> str:
    """Bytes as people write them.

    >>> shown(512), shown(200_000_000)
    ('512 B', '200 MB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= size:
            return f"{amount / size:.3g} {unit}"
    return f"{amount:.0f} B"


def _count(amount: float) -> str:
    return f"{amount:.3g}" if amount < 1e3 else f"{amount:.2e}"


def _at(peak: Peak) -> str:
    if peak.at is None:
        return ""
    line = _line(peak.at.location)
    return f", at {peak.at.name}" + (f" ({line})" if line else "")


def _line(location: Any) -> str | None:
    return None if location is None else str(location)


def _type(type_: Any) -> str:
    if isinstance(type_, Spec):
        return f"{type_.dtype}[{', '.join(map(str, type_.shape))}]"
    if isinstance(type_, (Tape, Tapes)):
        return "the tape of a loop or branch"
    return getattr(type_, "__name__", str(type_))
