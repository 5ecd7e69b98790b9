"""Whole training steps: `loss.backward()`, `.grad`, and what optimisers do, in a captured program.

Gradients become nodes of the program's own graph. What the step changes outside (gradients, parameters, buffers, what
optimisers remember) is changed at the very end of the graph, once everything is computed; the options of an optimiser
are read when the graph runs, so that a schedule may change them between two calls.

    backward     the gradients of all leaves, written behind the nodes so far (weft.transform._backward)
    p.grad       a traced value that the capture keeps; set_grad(p, value) in the end
    opt.step()   the optimiser's own `_update`, captured; put(p, value) and remember(...) in the end
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from numpy.lib.array_utils import byte_bounds

from weft._step import Holder, advance, last_rate, put, set_grad, set_mode
from weft.autograd import Tensor
from weft.capture._step_gradients import Gradients
from weft.capture._step_search import Closure
from weft.capture._step_state import Stepped, traced_blocks
from weft.capture._values import Scalar
from weft.graph import Node
from weft.ops._op import TABLE
from weft.ops.indexing import index_update

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


_AFTER = "read it outside of the captured function; or before that step, where a new value is a new graph"


class Training(Gradients):
    """What one capture does with gradients and optimisers."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self.by_hints = False  # whether numbers known in this call decide, under a guard: the options of an optimiser
        self.write_if: Any = True  # whether what an optimiser writes is written; traced where a gradient may be missing
        self.put: set[int] = set()  # ids of Tensors that the step writes
        self.optimizers: dict[int, Stepped] = {}
        self.objects: dict[int, Node] = {}  # by id, optimisers and schedules
        self.modes: dict[int, tuple[Any, bool]] = {}  # by id, modules that the program sets to training or evaluation
        self.holders: dict[int, Holder] = {}
        self.advanced: set[int] = set()  # ids of schedules that have made a step, and of their optimisers
        self.changed_outside: dict[int, Any] = {}  # by id, parameter groups that a schedule has changed

    # Optimisers

    def step(self, optimizer: Any, closure: Any = None) -> Any:
        """`optimizer.step(closure)`."""
        self.begin("an optimiser's step")
        loss = None if closure is None else self.recorder.run(closure, (), {})
        self.stepped(optimizer).step()
        return loss

    def search(self, optimizer: Any, closure: Any) -> Any:
        """`optimizer.step(closure)` of an optimiser that calls the closure as often as it likes."""
        self.begin("an optimiser's step")
        return Closure(self, optimizer, closure).search()

    def blocks(self, parameter: Tensor, state: tuple[Any, ...], scratch: int) -> Iterator[list[Any]]:
        """What an optimiser computes with: see `weft.optim._blocks`."""
        return traced_blocks(self.recorder, parameter, state, scratch)

    def stepped(self, optimizer: Any) -> Stepped:
        known = self.optimizers.get(id(optimizer))
        if known is None:
            known = self.optimizers[id(optimizer)] = Stepped(self, optimizer)
        return known

    def zero_grad(self, optimizer: Any, set_to_none: bool) -> None:
        """`optimizer.zero_grad(set_to_none)`."""
        self.begin("zero_grad()")
        self.stepped(optimizer)
        self.zero_all((one for group in optimizer.param_groups for one in group["params"]), set_to_none)

    def zero_all(self, parameters: Iterable[Tensor], set_to_none: bool) -> None:
        """Forget the gradients of parameters, or fill them with zeros."""
        self.begin("zero_grad()")
        for parameter in parameters:
            if set_to_none or self.grad(parameter) is None:
                self.set_grad(parameter, None)
            else:
                held = self._grad(parameter)
                self.recorder.store(held.value, self._zeros(held.value).node)
                held.changed = True

    def param_groups(self, optimizer: Any) -> Any:
        """`optimizer.param_groups`; None where it counts as it is at capture."""
        captured = self.recorder.keeps_raising and not self.recorder.untyped
        return self.stepped(optimizer).param_groups() if captured else None

    def of_schedule(self, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`schedule.step(*args)` and `schedule.get_last_lr()`: they run when the graph does."""
        schedule, recorder = method.__self__, self.recorder
        self.begin(f"a schedule's {method.__name__}()")
        node, optimizer = self.held(schedule, "schedule"), schedule.optimizer
        stepped = self.stepped(optimizer)
        if method.__name__ == "get_last_lr":
            places = range(len(stepped.groups))
            return [Scalar(recorder, float, recorder.create(last_rate, (node, k), {}, float)) for k in places]
        recorder.create(advance, (node, *args), kwargs, None)
        self.advanced |= {id(schedule), id(optimizer)}
        stepped.forget_options()
        for value in (optimizer.param_groups, *optimizer.param_groups):
            self.changed_outside[id(value)] = optimizer
            if id(value) in recorder.reads.outside:
                self.check_outside(value)
        return None

    def check_outside(self, value: Any) -> None:
        """Refuse parameter groups that a variable holds, where a schedule changes them."""
        optimizer = self.changed_outside.get(id(value))
        if optimizer is not None:
            self.recorder.refuse(
                f"a parameter group of {type(optimizer).__name__} in a variable, and a schedule that changes it",
                help="read it from the optimiser where it is needed: optimizer.param_groups",
            )

    def check_read(self, owner: Any, name: str) -> None:
        """Refuse to read from a schedule or an optimiser what the step has changed: it is known when the graph runs."""
        stepped = self.optimizers.get(id(owner))
        changed = stepped is not None and stepped.stepped and name == "state"
        if id(owner) in self.advanced:
            is_schedule = hasattr(type(owner), "__weft_effects__")
            changed = name not in ("step", "get_last_lr", "optimizer") if is_schedule else name == "state"
        if changed:
            after = "the schedule" if id(owner) in self.advanced else "the optimiser"
            self.recorder.refuse(f".{name} of a {type(owner).__name__}, read after {after} made a step", help=_AFTER)

    def set_mode(self, module: Any, mode: bool) -> bool:
        """`module.train(mode)`: when the graph runs; False where it is to happen at once."""
        recorder = self.recorder
        if recorder.untyped or not recorder.keeps_raising or recorder.region is not self.region:
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
        return self.recorder.region.lift(known)

    def write(self, tensor: Tensor, value: Node) -> None:
        """Let a leaf hold another value, as an optimiser does."""
        buffer = self.recorder.constant(tensor).buffer
        region = self.region
        if self.write_if is not True:
            both = [self.recorder.wrap(node, buffer.spec, array=True) for node in (value, region.read(buffer))]
            value = self.recorder.call_op(TABLE["where"], (self.write_if, *both), {}).node
        self.before[value] = region.read(buffer)
        region.write(buffer, value)

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
        if varies(recorder.root.graph, nodes, self._leaves()):
            recorder.refuse(
                f"a program that writes {written[0].name}, and returns what is to be differentiated with respect to it",
                help="write the parameters in another function, or call backward() in this one",
            )
        self.used = True
        return True

    def finish(self, results: list[Any]) -> None:
        """Append what the step changes outside; `results` are what the program returns."""
        if not self.used and not self._only_writes(results):
            return
        recorder, root = self.recorder, self.recorder.root
        for grad in self.grads.values():
            gradient = None if grad.value is None else grad.value.node
            if grad.changed or gradient is not grad.first:
                how = (False, grad.came) if grad.came is not True else (True,) if grad.keeps else ()
                recorder.create(set_grad, (self.target_of(grad.tensor), gradient, *how), {}, None)
        for stepped in self.optimizers.values():
            stepped.finish()
        self._check_sharing()
        for value, buffer in self.buffers().values():
            target: Any = buffer.target
            node: Any = root.held[buffer]
            while isinstance(node, Node) and node.target is index_update and node.args[1] is ...:
                node = node.args[2]  # all of it is overwritten, so this is what it holds
            if node is not target:
                recorder.create(put, (target, node), {}, None)
                root.held[buffer] = target
                self.put.add(id(value))

    def _check_sharing(self) -> None:
        """Refuse to write a Tensor that shares memory with another: the graph takes each for itself.

        Of arguments, a guard sees to it.
        """
        held, given = self.recorder.root.held, {id(value) for value in self.inputs.values()}
        tensors = [(value, buffer) for value, buffer in self.buffers().values() if id(value) not in given]
        known = [(value._array, buffer) for value, buffer in tensors if value._array.size]
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
