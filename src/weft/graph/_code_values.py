"""The parts of a structured program: values, blocks and statements, and how long a value lives.

A `Value` knows the block and the position where it is defined and, for each block, the last position that reads it (a
read deeper inside counts at the statement that holds it). Positions start at -1 for what a block begins with; its
length stands for its end, where results and carries move on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weft.graph._node import Node


class Value:
    """What one statement, or the beginning of a block, defines."""

    __slots__ = ("at", "block", "names", "node", "number", "reads", "uses")

    def __init__(self, node: Node, block: Block, at: int, number: bool = False) -> None:
        self.node = node
        self.block = block
        self.at = at
        self.names = [node._name]
        self.number = number  # known to be a number without a type noted, such as the index of a loop
        self.uses: dict[Block, int] = {}
        self.reads: list[tuple[Block, int]] = []

    @property
    def type(self) -> Any:
        """What is known of it: a Spec, a Python type, or None."""
        known = None if self.node._meta is None else self.node._meta.get("type")
        return int if known is None and self.number else known

    def __repr__(self) -> str:
        return f"Value({self.names[0]})"


@dataclass(eq=False, slots=True)
class Block:
    """Statements in order; the body of a loop, a branch, or the whole program."""

    parent: Block | None = None
    at: int = 0  # of the statement that holds this block, in the parent
    loop: bool = False
    statements: list[Statement] = field(default_factory=list)
    depth: int = 0
    fails: bool = False  # ends by raising
    _places: dict[Block, int] | None = None

    @property
    def end(self) -> int:
        return len(self.statements)

    def inside(self, at: int, loop: bool = False) -> Block:
        return Block(self, at, loop, depth=self.depth + 1)

    def place_in(self, around: Block) -> int | None:
        """The position of the statement of another block that holds this one; None where none does."""
        if self._places is None:
            self._places, block = {}, self
            while block.parent is not None:
                self._places[block.parent] = block.at
                block = block.parent
        return self._places.get(around)


@dataclass(eq=False, slots=True)
class Plain:
    """One node, written as one line."""

    node: Node
    block: Block
    at: int
    args: Any
    kwargs: Any
    value: Value
    reads: list[Value]


@dataclass(eq=False, slots=True)
class Gather:
    """Results of control flow that are read as one tuple."""

    node: Node
    block: Block
    at: int
    parts: Any  # nested tuples of Values
    value: Value


@dataclass(eq=False, slots=True)
class Result:
    """A result of branches or a loop. Of a choice, what each branch gives; None where that branch raises."""

    used: bool = False
    nodes: list[Node] = field(default_factory=list)
    value: Value | None = None
    sources: list[Any] = field(default_factory=list)

    @property
    def read(self) -> bool:
        """Whether anything reads it in the end; known when the whole program is."""
        return self.value is not None and bool(self.value.uses)


@dataclass(eq=False, slots=True)
class Choice:
    """`cond` and `switch`."""

    node: Node
    block: Block
    at: int
    test: Any
    branches: list[Block] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Carry:
    """A variable of a loop: its initial value, its value in an iteration, and the one for the next."""

    init: Any
    value: Value
    out: Any = None
    result: Result = field(default_factory=Result)

    @property
    def used(self) -> bool:
        return bool(self.value.uses)


@dataclass(eq=False, slots=True)
class Loop:
    """`while_loop`, `fori_loop` and `scan`; the condition of a while stands at the beginning of its block."""

    node: Node
    block: Block
    at: int
    body: Block
    carries: list[Carry] = field(default_factory=list)
    test: Any = None  # of a while, read at body.statements[test_at]
    test_at: int = 0
    index: Value | None = None
    bounds: tuple[Any, ...] = ()
    rows: list[tuple[Value, Any]] = field(default_factory=list)  # of a scan: a row, and the array it comes from
    stacked: list[Result] = field(default_factory=list)  # of a scan: each with its row as the one source


@dataclass(eq=False, slots=True)
class Mark:
    """The point of a loop where it ends or goes on."""

    block: Block
    at: int


Statement = Plain | Gather | Choice | Loop | Mark


# Lifetimes


def live_after(value: Value, block: Block, at: int) -> bool:
    """Whether a value defined before is read after a position, in this iteration or the next."""
    while True:
        if value.uses.get(block, -1) > at:
            return True
        if block is value.block:
            return False
        if block.loop and block in value.uses:
            return True
        if block.parent is None:
            return False
        block, at = block.parent, block.at


def live_at(value: Value, other: Value) -> bool:
    """Whether a value is live right after another is defined."""
    nested = other.block is not value.block
    at = other.block.place_in(value.block) if nested else other.at
    if at is None or value.at > at or (nested and value.at == at):
        return False
    return live_after(value, other.block, other.at)
