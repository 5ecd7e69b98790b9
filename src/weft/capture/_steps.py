"""Whole training steps: `loss.backward()`, `.grad`, and what optimisers do, in a captured program.

Gradients become nodes of the program's own graph. What the step changes outside (gradients, parameters, buffers, what
optimisers remember) is changed at the very end of the graph, once everything is computed; the options of an optimiser
are read when the graph runs, so that a schedule may change them between two calls.

    backward     the gradients of all leaves, written behind the nodes so far (weft.transform._backward)
    p.grad       a traced value that the capture keeps; set_grad(p, value) in the end
    opt.step()   the optimiser's own `_update`, captured; put(p, value) and remember(...) in the end
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy.lib.array_utils import byte_bounds

from weft._step import Holder, advance, grad_of, put, set_grad, set_mode
from weft.autograd import Tensor
from weft.capture._opaque import Opaque
from weft.capture._step_state import Stepped, traced_blocks
from weft.capture._values import Array
from weft.errors import AutogradError
from weft.graph import Node
from weft.ops import Spec
from weft.ops._dim import same_shape
from weft.ops._op import TABLE
from weft.ops.indexing import index_update

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder
    from weft.capture._region import Buffer


_AFTER = "read it outside of the captured function; or before that step, where a new value is a new graph"


class Grad:
    """The gradient of one leaf in the course of a step: None, or a traced Tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.value: Any = None
        self.first: Node | None = None  # what it was when the step began
        self.asked = False  # whether it mattered what the leaf had when the step began
        self.keeps = False  # whether the Tensor that was there stays
        self.changed = False


class Training:
    """What one capture does with gradients and optimisers."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.used = False
        self.by_hints = False  # whether numbers known in this call decide, under a guard: the options of an optimiser
        self.inputs: dict[Node, Any] = {}  # input of the graph → the array or Tensor of this call
        self.grads: dict[int, Grad] = {}
        self.detached: set[Node] = set()  # gradients: nothing flows back through them
        self.walked: set[Node] = set()  # calls whose derivative was taken, and not kept for once more
        self.before: dict[Node, Node] = {}  # what an optimiser wrote into a leaf → what was there
        self.optimizers: dict[int, Stepped] = {}
        self.objects: dict[int, Node] = {}  # by id, optimisers and schedules
        self.modes: dict[int, tuple[Any, bool]] = {}  # by id, modules that the program sets to training or evaluation
        self.holders: dict[int, Holder] = {}
        self.advanced: set[int] = set()  # ids of schedules that have made a step, and of their optimisers
        self._known: dict[int, tuple[Tensor, Buffer]] | None = None
        self._owners: dict[Buffer, Tensor] = {}
        self._seen = 0  # of the arrays from outside

    def begin(self, what: str) -> None:
        """Refuse where a step cannot be captured."""
        recorder = self.recorder
        if recorder.untyped or not recorder.keeps_raising:
            recorder.refuse(f"{what}: only weft.compile captures whole steps", help="use weft.compile")
        if recorder.region is not recorder.root:
            recorder.refuse(
                f"{what} inside a captured branch, loop or derivative", help="call it in the function itself"
            )
        self.used = True

    # Leaves

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
        for value, buffer in self.buffers().values():
            if not value._requires_grad:
                continue
            if value._step is not None:
                self.recorder.refuse(
                    "backward() through a Tensor that was computed outside of the captured function",
                    help="compute it inside, or give it detached",
                )
            if value._hooks:
                self.recorder.refuse("backward() to a Tensor with hooks", help="remove them: handle.remove()")
            node: Any = self.recorder.root.held[buffer]
            while isinstance(node, Node):
                found[node] = value
                if node is buffer.target:
                    break
                node = self.before.get(node) or (node.args[0] if node.target is index_update else None)
        return found

    # Gradients

    def backward(
        self,
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: Any = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """`weft.autograd.backward`, and `loss.backward()`."""
        self.begin("backward()")
        if create_graph:
            self.recorder.refuse("backward(create_graph=True)", help="use weft.autograd.grad, or weft.grad")
        leaves = self._leaves()
        found = self._walk("backward", tensors, grad_tensors, leaves, bool(retain_graph))
        chosen = None if inputs is None else self._chosen(inputs)
        arrived: dict[int, tuple[Tensor, Any]] = {}
        for node, value in found.items():
            tensor = leaves[node]
            if chosen is None or id(tensor) in chosen:
                known = arrived.get(id(tensor))
                arrived[id(tensor)] = (tensor, value if known is None else known[1] + value)
        for tensor, value in arrived.values():
            self.accumulate(tensor, self._traced(value))

    def gradients(
        self,
        outputs: Any,
        inputs: Any,
        grad_outputs: Any = None,
        retain_graph: Any = None,
        create_graph: bool = False,
        allow_unused: Any = None,
        materialize_grads: bool = False,
    ) -> tuple[Any, ...]:
        """`weft.autograd.grad`."""
        self.begin("weft.autograd.grad")
        recorder = self.recorder
        wanted = [one if isinstance(one, Array) else recorder.constant(one) for one in _listed(inputs)]
        for one in wanted:
            outside = self.tensor_of(one)
            if outside is not None and not outside._requires_grad:
                raise AutogradError("grad: an input does not require a gradient")
        retain = create_graph if retain_graph is None else retain_graph
        computed = [one.node for one in wanted if self.tensor_of(one) is None]
        found = self._walk("grad", outputs, grad_outputs, self._leaves(), bool(retain), computed)
        results: list[Any] = []
        for i, one in enumerate(wanted):
            value = found.get(one.node)
            if value is not None:
                results.append(self._traced(value, detached=not create_graph))
            elif materialize_grads:
                results.append(self._zeros(one))
            elif allow_unused:
                results.append(None)
            else:
                raise AutogradError(f"grad: the outputs do not depend on input {i}")
        return tuple(results)

    def _traced(self, value: Any, detached: bool = True) -> Any:
        if detached:
            self.detached.add(value.node)
        return self.recorder.wrap(value.node, value.type, array=True, tensor=True)

    def _walk(
        self, name: str, tensors: Any, gradients: Any, leaves: Any, retain: bool, computed: Any = ()
    ) -> dict[Node, Any]:
        """The gradients of tensors at leaves, and at values that are computed on the way."""
        given = _listed(tensors)
        seeds = [None] * len(given) if gradients is None else _listed(gradients)
        results: dict[Node, Node | None] = {}
        for one, seed in zip(given, seeds, strict=True):
            if not isinstance(one, Array):
                raise AutogradError(f"{name}: this tensor does not require a gradient")
            if seed is None and not all(isinstance(d, int) and d == 1 for d in one.spec.shape):
                raise AutogradError(f"{name}: the gradient of a tensor of shape {one.spec.shape} has to be given")
            if one.node in results:
                self.recorder.refuse(f"{name} of one tensor given twice")
            results[one.node] = self._seed(one, seed)
        # Derivatives are made in a room above this one, which is therefore imported by name and only when needed.
        walk = import_module("weft.transform._backward").leaf_gradients
        held = {grad.value.node for grad in self.grads.values() if grad.value is not None}
        made = walk(self.recorder, results, leaves, self.detached | held, computed)
        if made is None:
            raise AutogradError(f"{name}: this tensor does not require a gradient and nothing was recorded for it")
        found, walked = made
        if not self.walked.isdisjoint(walked - leaves.keys()):
            raise AutogradError(f"{name}: the values it needs were freed by an earlier backward")
        if not retain:
            self.walked |= walked - leaves.keys()
        return dict(found)

    def _seed(self, result: Any, gradient: Any) -> Node | None:
        if gradient is None:
            return None
        given = gradient if isinstance(gradient, Array) else self.recorder.constant(gradient)
        if not same_shape(given.spec.shape, result.spec.shape):
            raise AutogradError(f"backward: a tensor of {result.spec.shape} got a gradient of {given.spec.shape}")
        if given.spec.dtype != result.spec.dtype:
            given = self.recorder.call_op(TABLE["astype"], (given, result.spec.dtype), {})
        node: Node = given.node
        return node

    def _chosen(self, inputs: Any) -> set[int]:
        found = [self.tensor_of(one) if isinstance(one, Array) else one for one in _listed(inputs)]
        if not all(isinstance(one, Tensor) for one in found):
            self.recorder.refuse("backward(inputs=...) of computed Tensors", help="name leaves")
        return {id(one) for one in found}

    def accumulate(self, tensor: Tensor, gradient: Any) -> None:
        """Add to the gradient of a leaf."""
        held = self._grad(tensor)
        if held.value is not None:
            held.value = held.value + gradient
            self.detached.add(held.value.node)
        else:
            held.value, held.keeps = gradient, False
        held.changed = True

    def _grad(self, tensor: Tensor, asks: bool = True) -> Grad:
        known = self.grads.get(id(tensor))
        if known is not None:
            return known
        recorder = self.recorder
        made = self.grads[id(tensor)] = Grad(tensor)
        if not asks:
            return made
        made.asked = True
        present = tensor.grad
        if present is not None:
            if present._requires_grad:
                recorder.refuse("a gradient that has a gradient itself", help="set it to None first: zero_grad()")
            spec = Spec(present.shape, present.dtype)
            made.first = recorder.create(grad_of, (self.target_of(tensor),), {}, spec)
            self.detached.add(made.first)
            made.value, made.keeps = recorder.wrap(made.first, spec, array=True, tensor=True), True
        return made

    def grad(self, tensor: Tensor) -> Any:
        """`tensor.grad`."""
        self.begin("the gradient of a Tensor from outside")
        return self._grad(tensor).value

    def set_grad(self, tensor: Tensor, value: Any) -> None:
        """`tensor.grad = value`."""
        self.begin("setting the gradient of a Tensor from outside")
        if value is not None and not isinstance(value, (Array, Tensor)):
            raise TypeError(f".grad holds a tensor or None, not {type(value).__name__}")
        held = self._grad(tensor, asks=False)
        if value is held.value and value is not None:
            return  # `p.grad *= 0.5` has written it already
        held.value = self.recorder.constant(value) if isinstance(value, Tensor) else value
        held.keeps, held.changed = False, True

    def grad_of(self, array: Array) -> Any:
        """`.grad` of a traced Tensor."""
        return self.grad(self._outside(array, ".grad"))

    def set_grad_of(self, array: Array, value: Any) -> None:
        """`.grad = value` of a traced Tensor."""
        self.set_grad(self._outside(array, ".grad"), value)

    def _outside(self, array: Array, what: str) -> Tensor:
        tensor = self.tensor_of(array)
        if tensor is None:
            self.recorder.refuse(f"{what} of a Tensor that the program computes", help="use weft.grad")
        return tensor

    # Optimisers

    def step(self, optimizer: Any, closure: Any = None) -> Any:
        """`optimizer.step(closure)`."""
        self.begin("an optimiser's step")
        loss = None if closure is None else self.recorder.run(closure, (), {})
        self._stepped(optimizer).step()
        return loss

    def blocks(self, parameter: Tensor, state: tuple[Any, ...], scratch: int) -> Iterator[list[Any]]:
        """What an optimiser computes with: see `weft.optim._blocks`."""
        return traced_blocks(self.recorder, parameter, state, scratch)

    def _stepped(self, optimizer: Any) -> Stepped:
        known = self.optimizers.get(id(optimizer))
        if known is None:
            known = self.optimizers[id(optimizer)] = Stepped(self, optimizer)
        return known

    def zero_grad(self, optimizer: Any, set_to_none: bool) -> None:
        """`optimizer.zero_grad(set_to_none)`."""
        self.begin("zero_grad()")
        self._stepped(optimizer)
        self.zero_all((one for group in optimizer.param_groups for one in group["params"]), set_to_none)

    def zero_all(self, parameters: Iterable[Tensor], set_to_none: bool) -> None:
        """Forget the gradients of parameters, or fill them with zeros."""
        self.begin("zero_grad()")
        for parameter in parameters:
            if set_to_none or self.grad(parameter) is None:
                self.set_grad(parameter, None)
            else:
                held = self._grad(parameter)
                held.value, held.changed = self._zeros(held.value), True

    def _zeros(self, value: Any) -> Any:
        made = self.recorder.call_op(TABLE["zeros_like"], (value,), {})
        self.detached.add(made.node)
        return made

    def advance(self, schedule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """`schedule.step(*args)`: it runs when the graph does."""
        self.begin("a schedule's step")
        self.recorder.create(advance, (self.held(schedule, "schedule"), *args), kwargs, None)
        self.advanced |= {id(schedule), id(getattr(schedule, "optimizer", schedule))}

    def check_read(self, owner: Any, name: str) -> None:
        """Refuse to read from a schedule or an optimiser what the step has changed: it is known when the graph runs."""
        stepped = self.optimizers.get(id(owner))
        changed = stepped is not None and bool(stepped.states) and name == "state"
        if id(owner) in self.advanced:
            is_schedule = hasattr(type(owner), "__weft_effects__")
            changed = name not in ("step", "optimizer") if is_schedule else name in ("param_groups", "state")
        if changed:
            after = "the schedule" if id(owner) in self.advanced else "the optimiser"
            self.recorder.refuse(f".{name} of a {type(owner).__name__}, read after {after} made a step", help=_AFTER)

    def set_mode(self, module: Any, mode: bool) -> bool:
        """`module.train(mode)`: when the graph runs; False where it is to happen at once."""
        recorder = self.recorder
        if recorder.untyped or not recorder.keeps_raising or recorder.region is not recorder.root:
            return False
        if recorder.reads._made(module):
            return False
        for part in module.modules():
            self.modes[id(part)] = (part, mode)
        holder = self.holders.setdefault(id(module), Holder(module))
        recorder.create(set_mode, (self.held(holder, "module"), mode), {}, None)
        return True

    def held(self, value: Any, name: str) -> Node:
        """The node by which the graph reads an object of Python's."""
        known = self.objects.get(id(value))
        if known is None:
            graph = self.recorder.root.graph
            path = name if name not in graph.constants else f"{name}{len(graph.constants)}"
            graph.constants[path] = value
            known = self.objects[id(value)] = graph.create_node("get_attr", path, (), {})
        return known

    def write(self, tensor: Tensor, value: Node) -> None:
        """Let a leaf hold another value, as an optimiser does."""
        buffer = self.recorder.constant(tensor).buffer
        root = self.recorder.root
        self.before[value] = root.held[buffer]
        root.write(buffer, value)

    # The end

    def _only_writes(self, results: list[Any]) -> bool:
        """Whether the program writes leaves and nothing else; that it differentiates nothing is known."""
        held, recorder = self.recorder.root.held, self.recorder
        leaves = [(value, buffer) for value, buffer in self.buffers().values() if value._requires_grad]
        written = [buffer for _, buffer in leaves if held[buffer] is not buffer.target]
        if not written or not recorder.keeps_raising:
            return False
        varies = import_module("weft.transform._backward").varies
        nodes = [leaf.node for leaf in results if getattr(type(leaf), "_is_tensor", False)]
        if varies(recorder, nodes, self._leaves()):
            recorder.refuse(
                f"a program that writes {written[0].name}, and returns what is to be differentiated with respect to it",
                help="write parameters in a function of its own, or call backward() in the same",
            )
        self.used = True
        return True

    def finish(self, results: list[Any]) -> None:
        """Append what the step changes outside; `results` are what the program returns."""
        if not self.used and not self._only_writes(results):
            return
        recorder, root = self.recorder, self.recorder.root
        for grad in self.grads.values():
            value = None if grad.value is None else grad.value.node
            if grad.changed or value is not grad.first:
                place = self.target_of(grad.tensor)
                recorder.create(set_grad, (place, value, *((True,) if grad.keeps else ())), {}, None)
        for stepped in self.optimizers.values():
            stepped.finish()
        self._check_sharing()
        for _, buffer in self.buffers().values():
            target: Any = buffer.target
            node: Any = root.held[buffer]
            while isinstance(node, Node) and node.target is index_update and node.args[1] is ...:
                node = node.args[2]  # all of it is overwritten, so this is what it holds
            if node is not target:
                recorder.create(put, (target, node), {}, None)
                root.held[buffer] = target

    def _check_sharing(self) -> None:
        """Refuse to write a Tensor that shares memory with another: the graph takes each for itself."""
        held = self.recorder.root.held
        known = [(value._array, buffer) for value, buffer in self.buffers().values() if value._array.size]
        spans = [(*byte_bounds(array), held[buffer] is not buffer.target, buffer.name) for array, buffer in known]
        reach, any_written, name = 0, False, ""  # of the arrays before that lie one over the other
        for begin, end, written, other in sorted(spans):
            if begin >= reach:
                any_written = False
            elif written or any_written:
                self.recorder.refuse(
                    f"{name} and {other} share memory, and the step writes it",
                    help="copy one of them; parameters and buffers themselves, not what state_dict() gives, are one",
                )
            any_written = any_written or written
            reach, name = (end, other) if end > reach else (reach, name)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
