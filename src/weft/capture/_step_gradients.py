"""`loss.backward()`, `weft.autograd.grad` and `.grad` in a captured program.

Gradients are nodes of the program's own graph. `.grad` of a leaf is a traced value that the capture keeps. Where a
branch or loop decides whether a gradient comes to a leaf at all, a traced truth value says so.
"""

from __future__ import annotations

import operator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft._step import grad_of
from weft.autograd import Tensor, tensor
from weft.capture._refusals import known_sizes
from weft.capture._step_leaves import Leaves
from weft.capture._tensor_calls import TENSOR_CALLS
from weft.capture._values import Array, Scalar
from weft.errors import AutogradError
from weft.graph import Node
from weft.ops import Spec
from weft.ops._dim import same_shape
from weft.ops._op import TABLE

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


class Grad:
    """The gradient of one leaf in the course of a step: None, or a traced Tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.value: Any = None
        self.first: Node | None = None  # what it was when the step began
        self.asked = False  # whether it mattered what the leaf had when the step began
        self.keeps = False  # whether the Tensor that was there stays
        self.came: Any = True  # whether there is one after all; traced where only running the graph tells
        self.changed = False


class Gradients(Leaves):
    """The part of a capture of a step that differentiates."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self.grads: dict[int, Grad] = {}
        self.detached: set[Node] = set()  # gradients: nothing flows back through them
        self.walked: set[Node] = set()  # calls whose derivative was taken, and not kept for once more

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
        found, came = self._walk("backward", tensors, grad_tensors, leaves, bool(retain_graph))
        chosen = None if inputs is None else self._chosen(inputs)
        arrived: dict[int, tuple[Tensor, Any, Any]] = {}
        for node, value in found.items():
            tensor = leaves[node]
            if chosen is None or id(tensor) in chosen:
                _, before, or_before = arrived.get(id(tensor), (None, None, False))
                value = value if before is None else before + value
                arrived[id(tensor)] = (tensor, value, self._either(or_before, self._told(came.get(node))))
        for tensor, value, told in arrived.values():
            self.accumulate(tensor, self._hooked(tensor, self._traced(value)), told)

    def _hooked(self, leaf: Tensor, gradient: Any, detached: bool = True) -> Any:
        """A gradient after the hooks of a Tensor have seen it, and changed it or returned another."""
        recorder = self.recorder
        for hook in [*(leaf._hooks or {}).values()]:
            shown = recorder.call_op(TABLE["copy"], (gradient,), {})
            changed = recorder.run(hook, (shown,), {})
            made = shown if changed is None else changed
            if not getattr(type(made), "_is_tensor", False):
                made = TENSOR_CALLS[tensor](recorder, made)
            if not same_shape(made.spec.shape, gradient.spec.shape):
                shapes = known_sizes((made.spec.shape, gradient.spec.shape))
                raise AutogradError(f"a hook returned a gradient of shape {shapes[0]}, not {shapes[1]}")
            if made.spec.dtype != gradient.spec.dtype:
                made = recorder.call_op(TABLE["astype"], (made, gradient.spec.dtype), {})
            gradient = made
            if detached:
                self.detached.add(made.node)
        return gradient

    def _told(self, value: Any) -> Any:
        """Whether a gradient has come: True, or a traced truth value."""
        return True if value is None else self.recorder.wrap(value.node, value.type)

    @staticmethod
    def _either(one: Any, other: Any) -> Any:
        if one is True or other is True:
            return True
        return other if one is False else one | other

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
        found, came = self._walk("grad", outputs, grad_outputs, self._leaves(), bool(retain), computed)
        results: list[Any] = []
        for i, one in enumerate(wanted):
            value = found.get(one.node)
            if one.node in came and not materialize_grads:
                self.recorder.refuse(
                    f"grad: whether the outputs depend on input {i} is known only when the graph runs",
                    help="materialize_grads=True gives zeros where they do not",
                )
            if value is not None:
                traced, leaf = self._traced(value, detached=not create_graph), self.tensor_of(one)
                results.append(traced if leaf is None else self._hooked(leaf, traced, detached=not create_graph))
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
    ) -> tuple[dict[Node, Any], dict[Node, Any]]:
        """The gradients of tensors at leaves, and at values that are computed on the way; and whether they came."""
        given = _listed(tensors)
        seeds = [None] * len(given) if gradients is None else _listed(gradients)
        results: dict[Node, Node | None] = {}
        for one, seed in zip(given, seeds, strict=True):
            if not isinstance(one, Array):
                raise AutogradError(f"{name}: this tensor does not require a gradient")
            if seed is None and not all(isinstance(d, int) and d == 1 for d in one.spec.shape):
                shape = known_sizes(one.spec.shape)
                raise AutogradError(f"{name}: the gradient of a tensor of shape {shape} has to be given")
            if one.node in results:
                self.recorder.refuse(f"{name} of one tensor given twice")
            results[one.node] = self._seed(one, seed)
        # Derivatives are made in a room above this one, which is therefore imported by name and only when needed.
        walk = import_module("weft.transform._backward").leaf_gradients
        held = {grad.value.node for grad in self.grads.values() if grad.value is not None}
        made = walk(self.recorder, results, leaves, self.detached | held, computed)
        if made is None:
            raise AutogradError(f"{name}: this tensor does not require a gradient and nothing was recorded for it")
        found, came, walked = made
        if not self.walked.isdisjoint(walked - leaves.keys()):
            raise AutogradError(f"{name}: the values it needs were freed by an earlier backward")
        if not retain:
            self.walked |= walked - leaves.keys()
        return dict(found), came

    def _seed(self, result: Any, gradient: Any) -> Node | None:
        if gradient is None:
            return None
        given = gradient if isinstance(gradient, Array) else self.recorder.constant(gradient)
        if not same_shape(given.spec.shape, result.spec.shape):
            shapes = known_sizes((result.spec.shape, given.spec.shape))
            raise AutogradError(f"backward: a tensor of {shapes[0]} got a gradient of {shapes[1]}")
        if given.spec.dtype != result.spec.dtype:
            given = self.recorder.call_op(TABLE["astype"], (given, result.spec.dtype), {})
        node: Node = given.node
        return node

    def _chosen(self, inputs: Any) -> set[int]:
        found = [self.tensor_of(one) if isinstance(one, Array) else one for one in _listed(inputs)]
        if not all(isinstance(one, Tensor) for one in found):
            self.recorder.refuse("backward(inputs=...) of computed Tensors", help="name leaves")
        return {id(one) for one in found}

    def accumulate(self, tensor: Tensor, gradient: Any, came: Any = True) -> None:
        """Add to the gradient of a leaf; `came` says whether there is anything to add."""
        held = self._grad(tensor)
        if held.value is not None:
            # Who has the Tensor sees it change, as on the tape.
            self.recorder.store(held.value, (held.value + gradient).node)
            held.came = self._either(held.came, came)
            self.detached.add(held.value.node)
        else:
            held.value, held.keeps, held.came = gradient, False, came
        held.changed = True

    def _grad(self, tensor: Tensor, asks: bool = True) -> Grad:
        known = self.grads.get(id(tensor))
        if known is not None:
            return known
        recorder = self.recorder
        if self.region is not recorder.root:
            recorder.refuse(
                "a gradient that a closure reads or sets, but not in its first call",
                help="let all its calls differentiate the same parameters",
            )
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

    def came(self, tensor: Tensor) -> Any:
        """Whether a Tensor has the gradient that it seems to have: True, or a traced truth value."""
        return self._grad(tensor).came

    def is_none(self, value: Any) -> Any:
        """`value is None`: of a gradient that may be missing, a traced truth value.

        To weft's own functions, which measure and clip gradients, one that is missing is one of zeros.
        """
        active = self.recorder.active
        own = bool(active) and str(active[-1].__module__).startswith("weft.")
        for grad in self.grads.values() if isinstance(value, Array) and not own else ():
            if grad.value is value and grad.came is not True:
                missing = self.recorder.create(operator.not_, (grad.came,), {}, bool)
                return Scalar(self.recorder, bool, missing)
        return value is None

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
        if value is not None and held.came is not True:
            self.recorder.refuse(
                "setting a gradient where only running the graph tells whether there is one",
                help="change it in place: p.grad.mul_(factor)",
            )
        held.value = self.recorder.constant(value) if isinstance(value, Tensor) else value
        held.keeps, held.changed, held.came = False, True, True

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

    def _zeros(self, value: Any) -> Any:
        made = self.recorder.call_op(TABLE["zeros_like"], (value,), {})
        self.detached.add(made.node)
        return made


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
