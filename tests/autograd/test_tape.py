"""The tape against an independent one, finite differences, and what it promises about memory, order and errors."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from cases import Case, by_op, load_all
from tape import Traced, gradients

import weft
from each import each
from weft.autograd import backward, grad
from weft.errors import AutogradError, NotDifferentiable
from weft.ops import TABLE

CASES = [case for cases in load_all().values() for case in cases if case.grad]


def t(*values: float) -> weft.Tensor:
    return weft.tensor(np.array(values), requires_grad=True)


def _lift(value: Any, kind: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.complex128):
        return weft.tensor(value, requires_grad=True) if kind is weft.Tensor else kind(value)
    if type(value) in (list, tuple):
        return type(value)(_lift(part, kind) for part in value)
    return value


def _leaves(value: Any, kind: Any) -> list[Any]:
    if isinstance(value, kind):
        return [value]
    return [leaf for part in value for leaf in _leaves(part, kind)] if type(value) in (list, tuple) else []


def _loss(result: Any, kind: Any) -> Any:
    """A real number that depends on every float result."""
    total = kind(0.0)
    for i, part in enumerate(result if isinstance(result, tuple | list) else (result,)):
        if isinstance(part, kind) and part.dtype.kind in "fc":
            weight = np.random.default_rng(i).uniform(0.5, 1.5, part.shape)
            total = total + weft.sum(weft.real(part) * weight)
            if part.dtype.kind == "c":
                total = total + weft.sum(weft.imag(part) * weight * 0.7)
    return total


@by_op(CASES)
def test_every_op_gives_the_gradient_of_the_small_tape(cases: list[Case]) -> None:
    each(cases, _check_gradient)


def _check_gradient(case: Case) -> None:
    op = TABLE[case.op]
    names = list(op.__signature__.parameters)

    def run(kind: Any) -> tuple[list[Any], Any]:
        bound = dict(zip(names, op.bind(case.args, case.kwargs), strict=True))
        lifted = {n: _lift(v, kind) if n in op.arrays else v for n, v in bound.items()}
        args, kwargs = [], {}
        for p in op.__signature__.parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                args += list(lifted[p.name])
            elif p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = lifted[p.name]
            else:
                args.append(lifted[p.name])
        leaves = [leaf for n in op.arrays for leaf in _leaves(lifted[n], kind)]
        return leaves, _loss(op(*args, **kwargs), kind)

    xs, loss = run(Traced)
    try:
        expected = gradients(loss, xs) if xs else []
    except NotDifferentiable:
        ys, loss = run(weft.Tensor)
        with pytest.raises(NotDifferentiable):
            loss.backward()
        return
    ys, loss = run(weft.Tensor)
    if not loss.requires_grad:
        assert all(not np.any(e.data) for e in expected)
        return
    loss.backward()
    for y, e in zip(ys, expected, strict=True):
        got = np.zeros(y.shape) if y.grad is None else y.grad.numpy()
        np.testing.assert_allclose(got, e.data, rtol=1e-12, atol=1e-14)


def test_gradients_of_several_paths_are_summed_and_leaves_accumulate() -> None:
    x = t(1.0, 2.0)
    (x * x + x * 3 + x).sum().backward()
    np.testing.assert_array_equal(x.grad, [6.0, 8.0])
    x.sum().backward()
    np.testing.assert_array_equal(x.grad, [7.0, 9.0])


def test_a_computed_value_used_several_times_gets_the_sum() -> None:
    x = t(1.0, 2.0)
    y = x * x
    (y * 3 + weft.sin(y) + y).sum().backward()
    square = np.array([1.0, 4.0])
    np.testing.assert_allclose(x.grad, (4 + np.cos(square)) * 2 * np.array([1.0, 2.0]), rtol=1e-14)
    z = t(4.0, 1.0, 3.0)
    parts = weft.split(z * 1.0, 3)  # several results of one step, one of them used twice
    (parts[0] * 2 + parts[0] * 5 + parts[2]).sum().backward()
    np.testing.assert_array_equal(z.grad, [7.0, 0.0, 1.0])


def test_leaf_gradients_have_memory_of_their_own() -> None:
    a, b = t(1.0, 2.0), t(3.0, 4.0)
    seed = np.ones(2)
    (a + b).backward(seed)
    a.grad.numpy()[0] = 100.0
    np.testing.assert_array_equal(b.grad, [1.0, 1.0])
    np.testing.assert_array_equal(seed, [1.0, 1.0])
    c = t(1.0, 2.0)
    c.reshape(2, 1).sum().backward()
    c.grad.numpy()[0] = 5.0


def test_any_order() -> None:
    x = t(0.7)
    value = weft.sin(x * x)
    for _ in range(3):
        (value,) = grad(value.sum(), x, create_graph=True)
    s, c, v = np.sin(0.49), np.cos(0.49), 0.7
    np.testing.assert_allclose(value.item(), -12 * v * s - 8 * v**3 * c, rtol=1e-12)


def test_backward_with_create_graph_leaves_a_gradient_that_can_be_differentiated() -> None:
    x = t(2.0)
    (x**3).sum().backward(create_graph=True)
    x.grad.sum().backward(inputs=[x])
    np.testing.assert_allclose(x.grad.item(), 3 * 4 + 6 * 2)


def test_only_what_leads_to_the_inputs_runs() -> None:
    x, y = t(2.0), t(3.0)
    seen: list[str] = []
    side = y * 5
    side.register_hook(lambda g: seen.append("side"))
    middle = x * 2
    out = (middle * 3 + side).sum()
    (g,) = grad(out, middle, retain_graph=True)
    assert g.item() == 3.0 and not seen
    out.backward(inputs=[x])
    assert x.grad.item() == 6.0 and y.grad is None and not seen


def test_grad_meets_computed_values_in_the_middle_of_a_chain() -> None:
    x, w = weft.tensor([1.0, 2.0], requires_grad=True), weft.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    z = y.sin()
    total = (z * z).exp().sum()
    expected = grad(total, [x, w], retain_graph=True)
    for wanted in ([y], [z], [z, y], [x, y], [w, z, y, x], [total, y]):
        found = grad(total, wanted, retain_graph=True)
        for tensor, g in zip(wanted, found, strict=True):
            later = weft.tensor(tensor.numpy(), requires_grad=True)
            if tensor is x or tensor is w:
                assert g.tolist() == expected[tensor is w].tolist()
            elif tensor is y:
                again = later.sin()
                assert g.tolist() == grad((again * again).exp().sum(), later)[0].tolist()
            elif tensor is z:
                assert g.tolist() == grad((later * later).exp().sum(), later)[0].tolist()
            else:
                assert g.item() == 1.0


@pytest.mark.parametrize("leaves", [1, 100], ids=["chain", "many leaves"])
def test_grad_makes_hardly_more_calls_than_backward(leaves: int) -> None:
    given = [weft.tensor([0.5, 0.7], requires_grad=True) for _ in range(leaves)]
    total = weft.tensor(1.0)
    for k in range(100):
        total = total * given[k % leaves] + 0.1
    total = total.sum()

    def calls(of: Any) -> int:
        count = 0

        def note(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(note)
        try:
            of()
        finally:
            sys.setprofile(None)
        return count

    back = calls(lambda: total.backward(retain_graph=True))
    assert calls(lambda: grad(total, given, retain_graph=True)) <= 1.25 * back + 20


class Doubled(weft.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def drawn(value: Any) -> tuple[set[str], set[tuple[str, str]], list[Any]]:
    """A tape's nodes and edges by the names of their classes, and its leaves, read as torchviz reads them."""
    nodes: dict[int, str] = {}
    edges, leaves, kept = set(), [], []

    def add(step: Any) -> None:
        if id(step) in nodes:
            return
        kept.append(step)
        nodes[id(step)] = type(step).__name__
        assert step.name() == type(step).__name__
        if hasattr(step, "variable"):
            leaves.append(step.variable)
        for source, slot in step.next_functions:
            assert isinstance(slot, int)
            if source is not None:
                edges.add((type(source).__name__, type(step).__name__))
                add(source)

    def add_base(tensor: Any) -> None:
        if tensor.grad_fn:
            add(tensor.grad_fn)
        if tensor._is_view():
            add_base(tensor._base)

    add_base(value)
    return set(nodes.values()), edges, leaves


def test_a_tape_can_be_drawn() -> None:
    x, w = weft.tensor([1.0, 2.0, 3.0], requires_grad=True), weft.tensor([3.0, 4.0, 5.0], requires_grad=True)
    first, second = weft.split(weft.sin(x) * w + x, [1])
    compiled = weft.compile(lambda a: np.exp(a) * a)
    total = Doubled.apply(first).sum() + compiled(second).sum() + weft.concat([x, w]).sum()
    nodes, edges, leaves = drawn(total)
    assert nodes == {
        f"{name}Backward" for name in ("Add", "Sum", "Sin", "Multiply", "Doubled", "Graph", "Split", "Concat")
    } | {"AccumulateGrad"}
    assert {
        ("SinBackward", "MultiplyBackward"),
        ("AccumulateGrad", "SinBackward"),
        ("SplitBackward", "GraphBackward"),
    } <= edges
    assert len(leaves) == 2 and {id(leaf) for leaf in leaves} == {id(x), id(w)}
    assert repr(total).endswith("grad_fn=<AddBackward>)") and drawn(x)[0] == set()
    names, _, (leaf,) = drawn(x[1:])
    assert leaf is x and names == {"GetitemBackward", "AccumulateGrad"} and x[1:]._base is x
    total.backward()  # having been shown changes nothing
    expected = np.cos([1, 2, 3]) * w.numpy() + 1
    y = np.sin([1, 2, 3]) * w.numpy() + [1, 2, 3]
    outer = np.append(2, np.exp(y[1:]) * (1 + y[1:]))
    np.testing.assert_allclose(x.grad.numpy(), outer * expected + 1, rtol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), outer * np.sin([1, 2, 3]) + 1, rtol=1e-12)


def test_values_are_freed_and_a_second_backward_says_so() -> None:
    x = t(1.0, 2.0)
    big = weft.exp(x * np.ones((1000, 2)))
    saved = weakref.ref(big.grad_fn.result.base if big.grad_fn.result.base is not None else big.grad_fn.result)
    loss = big.sum()
    del big
    assert saved() is not None
    loss.backward()
    gc.collect()
    assert saved() is None
    with pytest.raises(AutogradError, match="freed by an earlier backward") as caught:
        loss.backward()
    assert "test_tape.py" in str(caught.value) and "retain_graph=True" in str(caught.value)


def test_what_no_rule_reads_is_not_kept() -> None:
    x = t(*map(float, range(2000)))
    y = x * 2.0
    reference = weakref.ref(y.numpy())
    z = (y + 1.0).sum()
    del y
    assert reference() is None
    z.backward()
    np.testing.assert_array_equal(x.grad, np.full(2000, 2.0))


def test_a_long_chain_neither_recurses_nor_leaks() -> None:
    x = t(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    step = weakref.ref(y.grad_fn)
    y.backward()
    assert x.grad.item() == 1.0
    del y
    assert step() is None


def test_no_grad_detach_and_modes_nest() -> None:
    x = t(1.0)
    with weft.no_grad():
        assert not (x * 2).requires_grad
        with weft.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad

    @weft.no_grad
    def inside() -> Any:
        return x * 2

    assert not inside().requires_grad and (x * 2).requires_grad
    assert not x.detach().requires_grad
    with weft.set_grad_enabled(False):
        assert not weft.autograd.is_grad_enabled()


def test_hooks_change_gradients_and_come_off() -> None:
    x = t(1.0)
    y = x * 2
    doubled = y.register_hook(lambda g: g * 10)
    leaf = x.register_hook(lambda g: g + 1)
    y.sum().backward(retain_graph=True)
    assert x.grad.item() == 21.0
    doubled.remove()
    leaf.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.item() == 2.0


def test_retain_grad() -> None:
    x = t(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    np.testing.assert_array_equal(y.grad, [6.0, 12.0])
    assert y.grad_fn is not None and not y.is_leaf and x.is_leaf


def test_numpy_functions_record() -> None:
    x = t(1.0, 2.0)
    np.sum(np.concatenate([np.sin(x), x])).backward()
    np.testing.assert_allclose(x.grad, np.cos([1.0, 2.0]) + 1)


def test_errors() -> None:
    x = t(1.0, 2.0)
    with pytest.raises(AutogradError, match=r"shape \(2,\) has to be given"):
        (x * 2).backward()
    with pytest.raises(AutogradError, match="does not require a gradient"):
        weft.tensor([1.0]).backward()
    with pytest.raises(AutogradError, match=r"got a gradient of shape \(3,\)"):
        (x * 2).backward(np.ones(3))
    with pytest.raises(AutogradError, match="do not depend on input 0"):
        grad((x * 2).sum(), t(1.0))
    assert grad((x * 2).sum(), t(1.0), allow_unused=True) == (None,)
    (zeros,) = grad((x * 2).sum(), t(1.0), materialize_grads=True)
    assert zeros.item() == 0.0
    with pytest.raises(TypeError, match="only floating-point"):
        weft.tensor([1, 2], requires_grad=True)
    with pytest.raises(AutogradError, match="cannot stop requiring"):
        (x * 2).requires_grad_(False)


def test_anomaly_names_the_line() -> None:
    x = t(0.0)
    y = weft.sqrt(x) * 0.0
    with (
        weft.autograd.detect_anomaly(),
        np.errstate(all="ignore"),
        pytest.raises(AutogradError, match="gave NaN") as caught,
    ):
        y.sum().backward()
    assert "weft.sqrt(x) * 0.0" in str(caught.value)


def test_threads_have_tapes_and_modes_of_their_own() -> None:
    results: dict[int, float] = {}
    barrier = threading.Barrier(2)

    def work(number: int) -> None:
        x = t(float(number))
        barrier.wait()
        for _ in range(50):
            x.grad = None
            y = x
            for _ in range(20):
                y = y * 1.0 + x
            y.sum().backward()
        results[number] = x.grad.item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    with weft.no_grad():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {0: 21.0, 1: 21.0}


def test_functional_saves_no_tape_for_constants() -> None:
    assert (weft.tensor([1.0]) * 2).grad_fn is None
    assert weft.argmax(t(1.0, 2.0)).grad_fn is None
    assert not (t(1.0) > 0).requires_grad
    backward([t(1.0) * 1.0])


def test_stop_gradient_is_a_constant() -> None:
    x = weft.tensor([2.0, 3.0], requires_grad=True)
    fixed = weft.stop_gradient(x * x)
    assert not fixed.requires_grad
    (fixed * x + weft.stop_gradient(x=x)).sum().backward()
    assert x.grad.tolist() == [4.0, 9.0]
    graph = weft.symbolic_trace(lambda x: weft.stop_gradient(x) * x)
    assert graph(x).tolist() == [4.0, 9.0]
    graph(x).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


def test_a_million_ops_in_a_row() -> None:
    """No recursion on the way back, none when the chain is dropped unused, and nothing left behind."""
    gc.collect()
    before = len(gc.get_objects())
    x = weft.tensor(np.array([0.5, 2.0]), requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y * 0.999999
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 0.999999**1_000_000, rtol=1e-9)
    y = x
    for _ in range(200_000):
        y = y[:]
    del y
    x.grad = None
    gc.collect()
    assert len(gc.get_objects()) < before + 1000


LETTING_GO = {
    "exp": lambda x: x.exp(),
    "add": lambda x: x + 1.0,
    "subtract": lambda x: 1.0 - x,
    "sum": lambda x: x.sum(),
    "concat": lambda x: weft.concat([x, x]),
    "reshape": lambda x: x.reshape(-1, 2),
    "mean": lambda x: weft.mean(x, 0),
    "np.tanh": lambda x: np.tanh(x),
    "relu": lambda x: weft.relu(x),
}


@pytest.mark.parametrize("function", LETTING_GO.values(), ids=LETTING_GO)
def test_what_no_derivative_reads_is_let_go(function: Any) -> None:
    leaf = weft.tensor(np.ones(10_000), requires_grad=True)
    x = leaf * 2
    memory = weakref.ref(x.numpy())
    y = function(x)
    if y.numpy().base is not None:
        y = y * 1  # a view holds the memory itself
    del x
    assert memory() is None
    y.sum().backward()
    assert leaf.grad is not None
