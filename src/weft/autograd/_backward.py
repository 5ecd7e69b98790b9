"""`backward` and `grad`: asking the tape for gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft._frames import without_frames
from weft.autograd._tape import AccumulateGrad, Source
from weft.autograd._tensor import Tensor
from weft.autograd._walk import pull_back, run_hooks
from weft.errors import AutogradError


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | Tensor | None = None,
) -> None:
    """Add the gradients of `tensors` to `.grad` of the leaves they depend on, or of `inputs` alone.

    >>> import weft
    >>> x = weft.tensor([1.0, 2.0], requires_grad=True)
    >>> backward([x.sum(), (x * x).sum()])
    >>> x.grad
    tensor([3., 5.])
    """
    outputs = _list("backward", "outputs", tensors)
    wanted = None if inputs is None else _list("backward", "inputs", inputs)
    if wanted is not None and not wanted:
        raise AutogradError("backward: inputs is empty", help="leave it out to reach every leaf")
    _check_wanted("backward", wanted or [])
    retain = create_graph if retain_graph is None else retain_graph
    start = _start("backward", outputs, grad_tensors, create_graph)
    found = pull_back(outputs, start, inputs=wanted, retain=retain, create=create_graph)
    receivers = {} if wanted is None else {tensor._source(): tensor for tensor in wanted}
    for source, g in found.items():
        tensor = source.variable if wanted is None and isinstance(source, AccumulateGrad) else receivers[source]
        if isinstance(source, AccumulateGrad):
            if not tensor._requires_grad:  # it did when it was used, and was told not to since
                continue
            if tensor._hooks:
                g = run_hooks(tensor._hooks, g, create_graph)
        elif _retained(source, tensor):  # added by the walk already
            continue
        tensor._accumulate(g)


@without_frames
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to each of `inputs`; `.grad` is left alone.

    >>> import weft
    >>> x = weft.tensor(3.0, requires_grad=True)
    >>> (first,) = grad(x**3, x, create_graph=True)
    >>> (second,) = grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)
    """
    ends, wanted = _list("grad", "outputs", outputs), _list("grad", "inputs", inputs)
    _check_wanted("grad", wanted)
    retain = create_graph if retain_graph is None else retain_graph
    start = _start("grad", ends, grad_outputs, create_graph)
    found = pull_back(ends, start, inputs=wanted, retain=retain, create=create_graph)
    results: list[Tensor | None] = []
    for i, tensor in enumerate(wanted):
        source = tensor._source()
        if source in found:
            g = found[source]
            if isinstance(source, AccumulateGrad) and tensor._hooks:
                g = run_hooks(tensor._hooks, g, create_graph)
            results.append(g if isinstance(g, Tensor) else Tensor(g))
        elif materialize_grads:
            results.append(Tensor(np.zeros(tensor.shape, tensor.dtype)))
        elif allow_unused:
            results.append(None)
        else:
            raise AutogradError(
                f"grad: the outputs do not depend on input {i}",
                help="pass allow_unused=True to get None for it, or materialize_grads=True to get zeros",
            )
    return tuple(results)


def _retained(source: Source, tensor: Tensor) -> bool:
    """Whether the walk leaves the gradient of a computed value with this tensor."""
    step, slot = source if type(source) is tuple else (source, 0)
    reference = (step.retained or {}).get(slot)  # type: ignore[union-attr]  # a Step: leaves are told apart before
    return reference is not None and reference() is tensor


def _list(name: str, what: str, tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    given: list[Any] = list(tensors) if _is_list(tensors) else [tensors]
    for one in given:
        if not isinstance(one, Tensor):
            raise TypeError(f"{name}: {what} are tensors; got {type(one).__name__}")
    return given


def _check_wanted(name: str, wanted: list[Tensor]) -> None:
    for i, tensor in enumerate(wanted):
        if not tensor.requires_grad:
            raise AutogradError(
                f"{name}: input {i} does not require a gradient", help="make it with requires_grad=True"
            )


def _start(name: str, outputs: list[Tensor], gradients: Any, create: bool) -> list[Any]:
    """What the walk begins with: the gradients given, or 1 for a single number."""
    given = [None] * len(outputs) if gradients is None else list(gradients) if _is_list(gradients) else [gradients]
    if len(given) != len(outputs):
        raise AutogradError(f"{name}: {len(outputs)} outputs but {len(given)} gradients")
    started: list[Any] = []
    for output, g in zip(outputs, given, strict=True):
        if not output.requires_grad:
            raise AutogradError(
                f"{name}: this tensor does not require a gradient and nothing was recorded for it",
                help="compute it from tensors made with requires_grad=True, outside no_grad()",
            )
        if g is None and output.numel() != 1:
            raise AutogradError(
                f"{name}: the gradient of a tensor of shape {output.shape} has to be given: only a single number has 1",
                help="reduce it first, for example with .sum(), or pass gradient=weft.ones_like(t)",
            )
        value = Tensor(np.ones(output.shape, output.dtype)) if g is None else g if isinstance(g, Tensor) else Tensor(g)
        if value.shape != output.shape:
            raise AutogradError(f"{name}: a tensor of shape {output.shape} got a gradient of shape {value.shape}")
        if value.dtype.kind == "c" and output.dtype.kind != "c":
            raise AutogradError(f"{name}: a tensor of {output.dtype} got a complex gradient")
        if value.dtype != output.dtype:
            value = value.astype(output.dtype)
        started.append(value if create else value._array)
    return started


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))
