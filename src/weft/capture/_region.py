"""Regions: the graph now being written, and those around it; and buffers, the memory a program writes into.

A branch or a loop body is captured into a graph of its own. What it reads from outside becomes a placeholder there and
an operand of the control-flow node. Nodes are pure, so a write gives the buffer a new value: each region knows the
present value of the buffers it has read or written, and a region that ends hands its writes to the one around it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from weft import _where
from weft._objects import new_object
from weft.errors import CaptureError
from weft.graph import Graph, Node
from weft.ops import Spec


class Buffer:
    """A block of memory that arrays of the program share. What it holds is known to regions only.

    `target` is the placeholder or get_attr node of a buffer that belongs to the caller, None for one made here.
    `stale` says why it can no longer be read, where that is so. `maybe` names the buffers of which this may be one
    where a branch chose between them; those have it among their `shadows`. Neither may then be written any more.
    `layout` says how its elements lie: see `weft.capture._layouts`.
    `origins` are the buffers that `maybe` names; `unless` is a condition under which it is none of them.
    `joined` says that paths of the program have met here: which array it is depends on the way that was gone.
    `handed` says that code nothing is known of was given it, and may have kept its memory.
    `choice` is a condition and two arrays: then it is one or the other of them, and holds nothing itself.
    `either` is the same of a buffer that holds its value until it is written: see `untie`.
    `alone` says that nothing but a choice reads it: where the other array is chosen, it may hold anything.
    `made_by` is the op that gave it, None where none did.
    """

    __slots__ = (
        *(
            "__weakref__",
            "alone",
            "choice",
            "either",
            "handed",
            "joined",
            "layout",
            "listed",
            "made_by",
            "maybe",
            "name",
            "origins",
            "shadows",
            "spec",
            "stale",
        ),
        *("target", "unless"),
    )

    def __init__(self, spec: Spec, name: str, target: Node | None = None, layout: Any = False) -> None:
        self.spec = spec
        self.name = name
        self.target = target
        self.layout = layout
        self.made_by: Any = None
        self.stale: str | None = None
        self.maybe: tuple[str, ...] = ()
        self.listed = (
            ""  # what else holds it, as a value and not as memory: a list that changes in a loop, for instance
        )
        self.choice: tuple[Any, Any, Any] | None = None
        self.either: tuple[Any, Any, Any] | None = None
        self.alone = False
        self.shadows: list[Buffer] = []
        self.origins: tuple[Buffer, ...] = ()
        self.unless: Any = None
        self.joined = False
        self.handed = False


def _refuse_ended(node: Node) -> NoReturn:
    what = f"{node.name} was computed in a branch or loop that has ended, or in another capture"
    help = "assign it to a variable on every path, or pass it as an argument"
    if node.target is new_object:
        cls: Any = node.args[0]
        what = f"a {cls.__name__} made before a branch or loop is changed and given away in it, and used after it"
        help = "give it away before or after the branch or loop, or make another there"
    raise CaptureError(what, where=_where.user_line(), help=help)


class NotArithmetic(BaseException):
    """Ends the trial of an expression that turns out to need a branch; no handler of the program is to see it."""


class Region:
    """A graph under construction."""

    def __init__(self, parent: Region | None = None, *, virtual: bool = False) -> None:
        self.graph = Graph()
        if parent is not None:
            self.graph._candidates = parent.graph._candidates  # what to call a node by its target is the same in both
        self.parent = parent
        self.trial = False  # whether what is recorded counts only as long as it reads no memory
        self.straight = parent is None  # whether what is recorded here runs whenever the program does, and once
        self.virtual = virtual  # whether it holds placeholders only: those that the parts of a loop share
        self.inputs: dict[Node, Node] = {}  # node of the region around → placeholder here
        self.lifted: dict[Node, Node] = parent.lifted if parent is not None else {}  # the other way, for all regions
        self.entered: dict[Buffer, Node] = {}  # buffer from outside → placeholder of what it held on entry
        self.held: dict[Buffer, Node] = {}  # buffer → its present value
        self.written: dict[Buffer, None] = {}  # buffers from outside that were written here
        self.views: dict[Buffer, dict[Any, Node]] = {}  # parts of buffers read since they were last written
        self.sizes: dict[Any, Node] = {}
        self.made: set[int] = set()  # ids of containers made here, which code of this region may change
        self.kept: list[Any] = []  # what those ids belong to, so that they stay theirs
        # Of a branch, loop or the like, the ids of variables shared with other functions that it looks after itself.
        self.own_cells: frozenset[int] | None = None
        self.failed: Node | None = None  # the node that raises, where this path ends in one

    @property
    def depth(self) -> int:
        """How many regions are around this one."""
        depth, region = 0, self.parent
        while region is not None:
            depth, region = depth + 1, region.parent
        return depth

    def contains(self, region: Region | None) -> bool:
        """Whether a region is this one, or inside of it."""
        while region is not None and region is not self:
            region = region.parent
        return region is self

    # Values

    def lift(self, node: Node) -> Node:
        """The node by which this region reads a value."""
        if node.graph is self.graph:
            return node
        known = self.inputs.get(node)
        if known is not None:
            return known
        if self.parent is None:
            _refuse_ended(node)
        outer = self.parent.lift(node)
        known = self.inputs.get(outer)
        if known is None:
            known = self.inputs[outer] = self.placeholder(outer._name, outer)
            self.lifted[known] = outer
        return known

    def placeholder(self, name: str, like: Node | None = None) -> Node:
        """A new input of this region's graph, with the type and place of another node."""
        node = self.graph.create_node("placeholder", name, (), {}, name)
        if node._name != name:
            node.target = node._name
        if like is not None:
            node._position = like._position
            if like._meta is not None and "type" in like._meta:
                node._meta = {key: like._meta[key] for key in ("type", "mixed") if key in like._meta}
        return node

    # Memory

    def knows(self, buffer: Buffer) -> bool:
        """Whether the buffer exists here or in a region around."""
        if buffer.choice is not None:
            test, *arrays = buffer.choice
            return self.sees(getattr(test, "_node", None)) and all(self.knows(array.buffer) for array in arrays)
        region: Region | None = self
        while region is not None:
            if buffer in region.held:
                return True
            region = region.parent
        return False

    def sees(self, node: Node | None) -> bool:
        """Whether a node is of this region's graph or of one around it; None is."""
        region: Region | None = self
        while region is not None and node is not None:
            if node.graph is region.graph:
                return True
            region = region.parent
        return node is None

    def read(self, buffer: Buffer) -> Node:
        """The node of what a buffer holds now."""
        node = self.held.get(buffer)
        if node is not None and buffer.stale is None:
            return node
        if buffer.stale is not None or self.parent is None:
            raise CaptureError(
                buffer.stale or f"{buffer.name} was made in a branch or loop that has ended, or in another capture",
                where=_where.user_line(),
                help="assign it to a variable on every path, or copy it: b = a.copy()",
            )
        if self.trial:
            raise NotArithmetic
        outer = self.parent.read(buffer)
        node = self.inputs.get(outer) if self.parent.virtual else None
        if node is None:
            node = self.placeholder(buffer.name, outer)
            if self.parent.virtual:
                self.inputs[outer] = node
        self.entered[buffer] = self.held[buffer] = node
        return node

    def write(self, buffer: Buffer, node: Node) -> None:
        """Let a buffer hold another value from now on."""
        if buffer.maybe:
            raise CaptureError(
                f"a write to {_spoken(buffer)}, which is {' or '.join(buffer.maybe)} depending on a branch or loop",
                where=_where.user_line(),
                help=f"write on each side of the branch, or copy it first: {buffer.name} = {buffer.name}.copy()",
            )
        if buffer.listed:
            raise CaptureError(
                f"a write to {_spoken(buffer)}, which {buffer.listed} holds as well",
                where=_where.user_line(),
                help=f"let the list have a copy: items.append({buffer.name}.copy())",
            )
        for shadow in buffer.shadows:
            shadow.stale = f"{buffer.name} was written after a branch or loop made {shadow.name} that array or another"
        if buffer not in self.held:
            self.read(buffer)
        self.held[buffer] = node
        self.views.pop(buffer, None)
        if buffer in self.entered:
            self.written[buffer] = None

    def make(self, buffer: Buffer, node: Node) -> None:
        """Take up a buffer made here."""
        self.held[buffer] = node

    # Going back

    def mark(self) -> tuple[Any, ...]:
        """What is needed to take back everything recorded from now on."""
        return (self.graph._root._prev, dict(self.held), dict(self.written), dict(self.sizes))

    def go_back(self, mark: tuple[Any, ...]) -> None:
        """Take back everything recorded since a mark; constants stay."""
        last, held, written, sizes = mark
        for node in reversed(self.graph.nodes):
            if node is last:
                break
            if node.op not in ("get_attr", "placeholder"):
                self.graph.erase_node(node)
        kept = {buffer: node for buffer, node in self.held.items() if buffer not in held and buffer.target is not None}
        entered = {buffer: node for buffer, node in self.entered.items() if buffer not in held}
        self.held, self.written = {**held, **kept, **entered}, written
        self.sizes = {
            key: node for key, node in self.sizes.items() if key in sizes or not getattr(node, "_erased", False)
        }
        self.views.clear()
        self.failed = None

    # The end

    def operands(self) -> dict[Node | Buffer, Node]:
        """What this region reads of the one around it, nodes and buffers, each with its placeholder."""
        found: dict[Any, Node] = {}
        found.update(self.inputs)
        found.update(self.entered)
        return found


def _spoken(buffer: Buffer) -> str:
    return "an array" if buffer.name.startswith("_weft") else buffer.name
