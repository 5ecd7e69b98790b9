"""Random programs with views, writes, hooks, checkpoints and modes: weft's tape against torch's, action by action.

Values and flags are compared after every action, gradients at the end. Where torch refuses an action it is left out;
where torch alone refuses the gradient, or an action that weft can follow, weft's gradient is compared with differences.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch
from tape_programs import ACTIONS, SHAPES, Action, Draw, Side, checkpointed, hooked, kept, numpy, toggled, without_grad

import weft
from weft.autograd import numerical_diff

MODES = ["backward", "twice", "inputs", "grad", "second"]
NOT_SMOOTH = {hooked, toggled, without_grad, checkpointed}  # where differences do not see what the tape is told
# Both sides compute in double precision; a dozen steps in another order differ by far less.
TOLERANCE = 1e-10


def arrays(random: np.random.Generator, complex_numbers: bool) -> list[np.ndarray[Any, Any]]:
    shapes = [SHAPES[k] for k in random.permutation(len(SHAPES))[:4]]
    found = [np.asarray(random.uniform(0.4, 1.4, shape)) for shape in shapes]
    return [np.asarray(a + 1j * random.uniform(-0.5, 0.5, a.shape)) for a in found] if complex_numbers else found


def attempt(action: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return action(), None
    except Exception as error:  # that there is one is what is compared
        return None, error


def assert_close(got: Any, expected: Any, where: str) -> None:
    ours, theirs = numpy(got), numpy(expected)
    assert ours.dtype == theirs.dtype, where
    scale = max(1.0, float(np.abs(theirs).max(initial=0)))
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=where)


class Program:
    """A random program that both sides have run up to some point, and what it consists of."""

    def __init__(self, seed: int, complex_numbers: bool, actions: Any = ACTIONS) -> None:
        self.random = np.random.default_rng([seed, 1])
        self.inputs = arrays(self.random, complex_numbers)
        self.theirs, self.ours = Side(torch, self.inputs, 3), Side(weft, self.inputs, 3)
        self.actions: list[Action] = []
        self.refused: list[tuple[list[Action], Action]] = []  # what torch refuses, and what came before
        self.smooth = not complex_numbers
        self.over = False
        draw = Draw(seed, self.theirs)
        for _ in range(int(self.random.integers(4, 16))):
            if self.over:
                break
            self.take(draw.one(actions), draw)

    def take(self, kind: Callable[[Draw], Action], draw: Draw) -> None:
        """Run one more action on both sides, and compare all there is."""
        try:
            action = kind(draw)
        except LookupError:  # nothing there that it could work on
            return
        theirs, ours = self.theirs, self.ours
        versions = [v._version for v in theirs.values]
        expected, refusal = attempt(lambda: action(theirs))
        if refusal is not None:
            self.over = versions != [v._version for v in theirs.values]  # torch stopped half-way
            if self.smooth and kind not in NOT_SMOOTH and not constant(action):
                self.refused.append((self.actions.copy(), action))
            return
        self.smooth = self.smooth and kind not in NOT_SMOOTH and not constant(action)
        if kind is not kept:  # which changes no value
            self.actions.append(action)
        result = action(ours)
        for peer, mine in zip(parts(expected), parts(result), strict=True):
            theirs.values.append(peer)
            ours.values.append(mine)
            # Whether reshape gives a view depends on how each library lays out results in memory.
            self.over = self.over or alone(peer, theirs.values) != alone(mine, ours.values)
        for i, (peer, mine) in enumerate(zip(theirs.values, ours.values, strict=True)):
            flags, refusal = attempt(lambda peer=peer: (peer.requires_grad, peer.is_leaf))
            if refusal is not None:  # torch cannot follow views that came several at a time
                self.over = True
                return
            assert_close(mine, peer, f"value {i} after {kind.__name__}")
            assert (mine.requires_grad, mine.is_leaf) == flags, f"value {i} after {kind.__name__}"


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [] if result is None else [result]


def alone(value: Any, values: list[Any]) -> bool:
    """Whether a value shares no memory with others."""
    if isinstance(value, torch.Tensor):
        start = value.untyped_storage().data_ptr()
        return not any(other is not value and other.untyped_storage().data_ptr() == start for other in values)
    return not any(other is not value and np.may_share_memory(other.numpy(), value.numpy()) for other in values)


def loss(side: Side, picked: list[int], weights: list[Any]) -> Any:
    total: Any = 0
    for k in picked:
        one = (side[k] * side.constant(weights[k]).to(side[k].dtype)).sum()
        total = total + (one.real + one.imag * 0.5 if "complex" in str(one.dtype) else one)
    return total


def differentiate(side: Side, total: Any, mode: str, others: list[int]) -> list[Any]:
    """Ask for gradients in one of several ways; what is returned, beside what is left in `.grad`."""
    leaves = [v for v in side.leaves if v.requires_grad and v.is_leaf]
    if mode == "twice":
        total.backward(retain_graph=True)
    if mode == "inputs" and (others or leaves):
        total.backward(inputs=[side[k] for k in others] or leaves)
    elif mode == "grad" and others:
        return list(side.lib.autograd.grad(total, [side[k] for k in others], allow_unused=True))
    elif mode == "second" and leaves:
        first = side.lib.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        squares = [(g * g).sum().real if "complex" in str(g.dtype) else (g * g).sum() for g in first if g is not None]
        if any(one.requires_grad for one in squares):
            sum(squares).backward()
        return list(first)
    else:
        total.backward()
    return []


def same_gradient(got: Any, expected: Any, where: str) -> None:
    """A way that leads nowhere is no way to one of the two, and one with gradient zero to the other."""
    if got is None or expected is None:
        assert got is expected or not np.any(numpy(got if expected is None else expected)), where
    else:
        assert_close(got, expected, where)


def compare_gradients(program: Program) -> str:
    theirs, ours, random = program.theirs, program.ours, program.random
    weights = [random.uniform(0.5, 1.5, tuple(v.shape)) for v in theirs.values]
    wanted = [k for k, v in enumerate(theirs.values) if attempt(lambda v=v: v.requires_grad)[0]]
    picked = [k for k in wanted if random.random() < 0.6]
    mode = MODES[random.integers(len(MODES))]
    plain = [k for k in wanted if theirs[k]._base is None and not theirs[k]._backward_hooks]
    others = [k for k in plain if random.random() < 0.4]
    if not picked:
        return "nothing"
    expected, refusal = attempt(lambda: differentiate(theirs, loss(theirs, picked, weights), mode, others))
    if refusal is not None:
        got, error = attempt(lambda: differentiate(ours, loss(ours, picked, weights), mode, others))
        if error is None and program.smooth and mode == "backward":
            check_differences(program.inputs, program.actions, picked, weights)
        return "refused"
    got = differentiate(ours, loss(ours, picked, weights), mode, others)
    for k, (mine, peer) in enumerate(zip(got, expected, strict=True)):
        same_gradient(mine, peer, f"{mode}: result {k}")
    for k, (mine, peer) in enumerate(zip(ours.values, theirs.values, strict=True)):
        if attempt(lambda peer=peer: peer.is_leaf)[1] is not None:
            continue  # as above
        if peer.is_leaf or (peer.retains_grad and peer._base is None) or (mode == "inputs" and k in others):
            same_gradient(mine.grad, peer.grad, f"{mode}: value {k}")
    if mode != "second":  # there a rule may go by the result or by the arguments
        sums = [sorted(float(np.abs(g).sum()) for g in side.seen if np.any(g)) for side in (ours, theirs)]
        np.testing.assert_allclose(*sums, rtol=TOLERANCE)
    return mode


def run(inputs: Any, actions: list[Action], leaves: Any, picked: list[int] | None, weights: list[Any]) -> Any:
    """The loss of a program run with weft."""
    side = Side(weft, inputs, 0)
    side.values[:3] = leaves
    for action in actions:
        side.values += parts(action(side))
    floats = [k for k, v in enumerate(side.values) if k > 2 and v.dtype.kind == "f"]
    return sum((side[k] * (weights[k] if weights else 1.0)).sum() for k in (floats if picked is None else picked))


def gradient(inputs: Any, actions: list[Action], picked: list[int] | None = None, weights: Any = ()) -> Any:
    leaves = [weft.tensor(a, requires_grad=True) for a in inputs[:3]]
    total = run(inputs, actions, leaves, picked, weights)
    return weft.autograd.grad(total, leaves, materialize_grads=True) if total.requires_grad else ()


def check_differences(inputs: Any, actions: list[Action], picked: list[int] | None, weights: Any) -> None:
    """Compare weft's gradient of a program with central differences."""
    found = gradient(inputs, actions, picked, weights)
    slopes = numerical_diff(lambda *leaves: run(inputs, actions, leaves, picked, weights), *inputs[:3])
    for g, expected in zip(found, slopes, strict=False):
        # Central differences with a step of 1e-6 are good to about this.
        np.testing.assert_allclose(g.numpy(), expected, rtol=2e-5, atol=2e-6)


def constant(action: Any) -> bool:
    """Whether an action, or a function it calls, makes a constant of something."""
    inner = [cell.cell_contents for cell in action.__closure__ or ()]
    names = {"detach", "no_grad"} & set(action.__code__.co_names)
    return bool(names) or any(constant(one) for one in inner if isinstance(one, FunctionType))


@pytest.mark.parametrize("complex_numbers", [False, True])
@pytest.mark.parametrize("block", range(10))
def test_programs(block: int, complex_numbers: bool) -> None:
    done: dict[str, int] = {}
    for seed in range(block * 1000, block * 1000 + (50 if complex_numbers else 100)):
        try:
            outcome = compare_gradients(Program(seed, complex_numbers))
        except Exception as error:
            error.add_note(f"program {seed}{', complex' if complex_numbers else ''}")
            raise
        done[outcome] = done.get(outcome, 0) + 1
    assert all(done.get(mode, 0) >= 2 for mode in MODES), done
    assert done.get("refused", 0) < sum(done.values()) * 0.3, done


def test_what_torch_refuses_is_right_where_weft_takes_it() -> None:
    """Most of it is writing to one of several views that came together, and to values that a gradient needs."""
    taken = 0
    smooth = [kind for kind in ACTIONS if kind not in NOT_SMOOTH]
    for seed in range(800):
        program = Program(seed, False, smooth)
        for before, action in program.refused:
            if attempt(functools.partial(gradient, program.inputs, [*before, action]))[1] is None:
                taken += 1
                check_differences(program.inputs, [*before, action], None, [])
    assert taken >= 10
