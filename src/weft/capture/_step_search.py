"""`optimizer.step(closure)` of LBFGS in a captured program: a `while` loop with the closure as its body.

    loss = closure()                       the first call, as any other code of the program
    search = begin_search(optimizer, …)
    going = tell(search, loss, gradients)
    while going:                           captured as the program's own loops are
        parameters = point_of(search)
        loss = closure()
        going = tell(search, loss, gradients)
    parameters = point_of(search)

The loop carries what one call of the closure leaves to the next: buffers and gradients.
"""

from __future__ import annotations

import operator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft._step import begin_search, point_of, tell
from weft.autograd import Tensor
from weft.capture._opaque import Opaque
from weft.capture._primitives import record
from weft.capture._values import Array, Scalar
from weft.graph import Node
from weft.graph._control import while_loop
from weft.ops import Spec
from weft.ops.elementwise import stop_gradient

if TYPE_CHECKING:
    from weft.capture._steps import Training


class Closure:
    """A closure that an optimiser calls as often as it likes."""

    def __init__(self, training: Training, optimizer: Any, closure: Any) -> None:
        self.training, self.closure = training, closure
        self.recorder = training.recorder
        self.stepped = training.stepped(optimizer)
        self.parameters: tuple[Tensor, ...] = self.stepped.groups[0]
        self.specs = tuple(Spec(p.shape, p.dtype) for p in self.parameters)
        self.searched: Any = None
        self.held: set[Node] = set()  # what the parameters are at the end of a call

    def search(self) -> Any:
        """Record the step; the loss of the first call is its result."""
        training, recorder, root = self.training, self.recorder, self.recorder.root
        first = self._call()
        buffers = [recorder.constant(p).buffer for p in self.parameters]
        starts = [root.read(buffer) for buffer in buffers]
        given = (self.stepped.node, tuple(starts), self.stepped.search)
        node = recorder.create(begin_search, given, {}, None, "search")
        self.searched = self.stepped.search = Opaque(recorder, node)
        going, before = self._tell(first), self._state()
        leaves, last = training._leaves(), root.graph._root._prev
        try:
            _, *after = record(recorder, while_loop, (_goes_on, self._turn, (going, *before)), {})
        finally:
            training.region = root
        self._check(last, leaves)
        self._take_up(tuple(after), before)
        for buffer, start in zip(buffers, starts, strict=True):
            training.before[root.read(buffer)] = start
        self._move()
        return first

    def _turn(self, state: Any) -> Any:
        training = self.training
        training.region = self.recorder.region
        _, *carried = state
        self._set(*carried)
        self._move()
        going = self._tell(self._call())
        self.held = {training.region.read(self.recorder.constant(p).buffer) for p in self.parameters}
        return (going, *self._state())

    def _call(self) -> Any:
        recorder = self.recorder
        before, recorder.no_grad = recorder.no_grad, False
        try:
            loss = recorder.run(self.closure, (), {})
        finally:
            recorder.no_grad = before
        if not isinstance(loss, (Array, Scalar, Tensor, int, float)):
            raise TypeError(f"LBFGS.step: the closure has to return the loss, not {type(loss).__name__}")
        return loss

    def _tell(self, loss: Any) -> Any:
        training, recorder = self.training, self.recorder
        values = tuple(training.region.read(recorder.constant(p).buffer) for p in self.parameters)
        gradients = tuple(training.grad(p) for p in self.parameters)
        for p, gradient in zip(self.parameters, gradients, strict=True):
            if gradient is not None:
                self.stepped.check(p, gradient)
        came = tuple(training.came(p) for p in self.parameters)
        told = () if all(one is True for one in came) else (came,)
        node = recorder.create(tell, (self.searched, loss, values, gradients, *told), {}, bool, "going")
        return recorder.wrap(node, bool)

    def _move(self) -> None:
        """Let the parameters be where the search is."""
        recorder = self.recorder
        point = recorder.create(point_of, (self.searched,), {}, self.specs, "point")
        for k, (p, spec) in enumerate(zip(self.parameters, self.specs, strict=True)):
            name = recorder.constant(p).buffer.name
            self.training.write(p, recorder.create(operator.getitem, (point, k), {}, spec, name))

    # What one call leaves to the next

    def _state(self) -> tuple[Any, ...]:
        training = self.training
        grads = training.grads.values()
        came = tuple(grad.came for grad in grads if grad.came is not True)
        return tuple(grad.value for grad in grads), came

    def _set(self, gradients: Any, came: Any) -> None:
        training = self.training
        told = iter(came)
        for grad, value in zip(training.grads.values(), gradients, strict=True):
            grad.value, grad.came = value, True if grad.came is True else next(told)

    def _take_up(self, after: tuple[Any, ...], before: tuple[Any, ...]) -> None:
        """What the loop has left, each gradient in memory of its own."""
        recorder, training = self.recorder, self.training
        gradients, came = after
        own = []
        for value, was in zip(gradients, before[0], strict=True):
            if value is not None and value is not was:
                value = recorder.wrap(value.node, value.spec, array=True, tensor=True)
                training.detached.add(value.node)
            own.append(value)
        self._set(own, came)

    def _check(self, last: Any, leaves: Any) -> None:
        """Refuse derivatives that the loop would lose: of what a closure is given, or leaves to its next call."""
        recorder = self.recorder
        varies = import_module("weft.transform._backward").varies
        node = last.next
        while node is not recorder.root.graph._root:
            if node.target is while_loop:
                _, body, inits, *operands = node.args
                places = body.find_nodes(op="placeholder")[len(inits) :]
                for value, place in zip(operands, places, strict=True):
                    detached = all(user.target is stop_gradient for user in place.users)
                    if value not in leaves and not detached and varies(recorder.root.graph, [value], leaves):
                        self._refuse(f"{value.name}, which is computed from parameters before the step")
                points = [point for point in body.nodes if point.target is point_of]
                inside = {item: None for point in points for item in point.users}
                for value, start in zip(body.output_node().args[0], inits, strict=True):
                    if value not in self.held and varies(body, [value], inside, self.training.detached):
                        name = getattr(start, "name", value.name)
                        self._refuse(f"{name}, which the closure computes from parameters")
            node = node.next

    def _refuse(self, what: str) -> None:
        self.recorder.refuse(
            f"{what}, and which is read in another call of the closure, or after the step",
            help="compute it where it is read, or give it detached: value.detach()",
        )


def _goes_on(state: Any) -> Any:
    return state[0]
