"""The Tensors from outside that a captured program reads, and those of them that gradients arrive at."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from weft.autograd import Tensor
from weft.capture._opaque import Opaque
from weft.capture._values import Array
from weft.graph import Node
from weft.ops.indexing import index_update

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder
    from weft.capture._region import Buffer


class Leaves:
    """The part of a capture of a step that knows the Tensors from outside."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.used = False  # whether the program is a step
        self.region = recorder.region  # where one is captured: in the program itself, or in a closure that is repeated
        self.inputs: dict[Node, Any] = {}  # input of the graph → the array or Tensor of this call
        self.before: dict[Node, Node] = {}  # what an optimiser wrote into a leaf → what was there
        self._known: dict[int, tuple[Tensor, Buffer]] | None = None
        self._owners: dict[Buffer, Tensor] = {}
        self._seen = 0  # of the arrays from outside

    def begin(self, what: str) -> None:
        """Refuse where a step cannot be captured."""
        recorder = self.recorder
        if recorder.untyped or not recorder.keeps_raising:
            recorder.refuse(f"{what}: only weft.compile captures whole steps", help="use weft.compile")
        if recorder.region is not self.region:
            recorder.refuse(
                f"{what} inside a captured branch, loop or derivative", help="call it in the function itself"
            )
        self.used = True

    def buffers(self) -> dict[int, tuple[Tensor, Buffer]]:
        """By id, the Tensors that come from outside and the memory that stands for each."""
        constants = self.recorder.constants
        if self._known is None:
            held = {buffer.target: buffer for buffer in self.recorder.root.held if buffer.target is not None}
            tensors = ((node, value) for node, value in self.inputs.items() if isinstance(value, Tensor))
            self._known = {id(value): (value, held[node]) for node, value in tensors if node in held}
            self._seen = 0
        for value, traced in itertools.islice(constants.values(), self._seen, None):
            if isinstance(value, Tensor) and not isinstance(traced, Opaque):
                self._known.setdefault(id(value), (value, traced.buffer))
        self._seen = len(constants)
        return self._known

    def tensor_of(self, array: Array) -> Tensor | None:
        """The Tensor from outside that a traced one stands for; None where it is computed."""
        if array.path or array.buffer.target is None:
            return None
        return self.of_buffer(array.buffer)

    def of_buffer(self, buffer: Buffer) -> Tensor | None:
        """The Tensor from outside whose memory a buffer stands for."""
        known = self.buffers()
        for value, _ in itertools.islice(known.values(), len(self._owners), None):
            self._owners[known[id(value)][1]] = value
        return self._owners.get(buffer)

    def target_of(self, tensor: Tensor) -> Node:
        """The node by which the graph reads a Tensor itself, whatever was written into it."""
        known = self.buffers().get(id(tensor))
        buffer = self.recorder.constant(tensor).buffer if known is None else known[1]
        target: Any = buffer.target
        assert isinstance(target, Node)
        return target

    def _leaves(self) -> dict[Node, Tensor]:
        """The nodes at which gradients arrive: what leaves hold, and held before they were written."""
        found: dict[Node, Tensor] = {}
        given = {id(value) for value in self.inputs.values()}
        for value, buffer in self.buffers().values():
            if not value._requires_grad:
                continue
            if value._step is not None:
                self.recorder.refuse(
                    "backward() through a Tensor that was computed outside of the captured function",
                    help="compute it inside, or give it detached",
                )
            if value._hooks and id(value) in given:
                self.recorder.refuse("backward() to an argument with hooks", help="remove them: handle.remove()")
            node: Any = self.region.held.get(buffer)  # None where a closure does not read it
            while isinstance(node, Node):
                found[node] = value
                if node is buffer.target:
                    break
                node = self.before.get(node) or (node.args[0] if node.target is index_update else None)
        return found
