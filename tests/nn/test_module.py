"""`Module`: registration, walking, state, hooks, copying, text."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft._tracing import current_tracer
from weft.autograd import Tensor
from weft.errors import StateError


class Scale(nn.Module):
    def __init__(self, size: int = 3) -> None:
        super().__init__()
        self.factor = nn.Parameter(np.arange(1.0, size + 1))
        self.register_buffer("offset", np.zeros(size))
        self.register_buffer("scratch", np.ones(size), persistent=False)

    def forward(self, x: Any, *, twice: bool = False) -> Any:
        y = x * self.factor + self.offset
        return y * 2 if twice else y


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Scale()
        self.block = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        self.again = self.first

    def forward(self, x: Any) -> Any:
        return self.block(self.again(self.first(x)))


def test_attributes_register_by_what_they_are() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["first.factor", "block.0.weight", "block.0.bias"]
    assert [name for name, _ in net.named_parameters(remove_duplicate=False)][-1] == "again.factor"
    assert [name for name, _ in net.named_buffers()] == ["first.offset", "first.scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "block", "block.0", "block.1"]
    assert "again" in dict(net.named_modules(remove_duplicate=False))
    assert [name for name, _ in net.named_children()] == ["first", "block"]
    assert len(list(net.modules())) == 5 and len(list(net.children())) == 2
    assert [p.shape for p in net.parameters()] == [(3,), (2, 3), (2,)]
    assert list(net.first.parameters(recurse=False)) == list(net.first.parameters())
    assert list(net.parameters(recurse=False)) == []
    assert {"first", "block", "training"} <= set(dir(net))


def test_a_name_lives_in_one_place() -> None:
    module = nn.Module()
    module.x = 5
    module.x = nn.Parameter(np.ones(2))
    assert "x" not in vars(module) and list(dict(module.named_parameters())) == ["x"]
    module.x = nn.ReLU()
    assert list(module.parameters()) == [] and [n for n, _ in module.named_children()] == ["x"]
    del module.x
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'x'"):
        _ = module.x
    module.register_buffer("b", np.zeros(1), persistent=False)
    del module.b
    module.register_buffer("b", np.zeros(1))
    assert list(module.state_dict()) == ["b"]


def test_assignment_is_checked() -> None:
    module = Scale()
    with pytest.raises(TypeError, match=r"cannot assign ndarray to 'factor': a Parameter or None"):
        module.factor = np.ones(3)
    module.factor = None
    assert list(module.parameters()) == []
    with pytest.raises(TypeError, match="a buffer or None"):
        module.offset = "text"
    module.offset = np.ones(3)
    assert dict(module.named_buffers())["offset"][0] == 1
    net = Net()
    with pytest.raises(TypeError, match="a Module or None"):
        net.block = 3

    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(np.ones(1))

    with pytest.raises(AttributeError, match=r"Forgetful has not called super\(\).__init__\(\) yet"):
        Forgetful()


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module", "register_module"])
def test_registration_refuses_bad_names_and_values(register: str) -> None:
    module = Scale()
    call = getattr(module, register)
    with pytest.raises(KeyError, match="must not contain a dot"):
        call("a.b", None)
    with pytest.raises(KeyError, match="must not be empty"):
        call("", None)
    with pytest.raises(KeyError, match="has an attribute 'forward' already"):
        call("forward", None)
    with pytest.raises(TypeError, match="must be a string"):
        call(3, None)
    with pytest.raises(TypeError, match="got str"):
        call("fine", "text")
    call("fine", None)
    assert module.fine is None


def test_finding_by_dotted_name() -> None:
    net = Net()
    assert net.get_submodule("block.0") is net.block[0] and net.get_submodule("") is net
    assert net.get_parameter("block.0.weight") is net.block[0].weight
    assert net.get_buffer("first.offset") is net.first.offset
    with pytest.raises(AttributeError, match=r"get_submodule\('block.7.x'\): Sequential has no submodule '7'"):
        net.get_submodule("block.7.x")
    with pytest.raises(AttributeError, match=r"get_parameter\('first.offset'\): Scale has no parameter 'offset'"):
        net.get_parameter("first.offset")
    with pytest.raises(AttributeError, match="has no buffer 'factor'"):
        net.get_buffer("first.factor")
    assert net.num_parameters() == 3 + 6 + 2
    net.block.requires_grad_(False)
    assert net.num_parameters(trainable_only=True) == 3


def test_state_dict_names_and_memory() -> None:
    net = Net()
    state = net.state_dict()
    # Shared modules appear under both names, non-persistent buffers under none.
    assert list(state) == [
        "first.factor",
        "first.offset",
        "block.0.weight",
        "block.0.bias",
        "again.factor",
        "again.offset",
    ]
    state["block.0.bias"].numpy()[...] = 7
    assert net.block[0].bias.tolist() == [7, 7]
    assert not state["block.0.bias"].requires_grad
    assert list(net.block.state_dict(prefix="p.")) == ["p.0.weight", "p.0.bias"]


def test_load_state_dict_copies_in_place_and_keeps_dtype() -> None:
    source, target = Net(), Net()
    weight = target.block[0].weight
    report = target.load_state_dict({k: np.asarray(v, np.float64) for k, v in source.state_dict().items()})
    assert report.missing_keys == report.unexpected_keys == []
    assert target.block[0].weight is weight and weight.dtype == np.float32
    for name, value in source.state_dict().items():
        np.testing.assert_array_equal(target.state_dict()[name], value)
    target.block[0].weight.numpy()[...] = 0
    assert source.block[0].weight.numpy().any(), "values are copied, not shared"
    target.load_state_dict({k: np.asarray(v, np.float64) for k, v in source.state_dict().items()}, assign=True)
    assert target.block[0].weight is weight and weight.dtype == np.float64


def test_load_state_dict_reports_everything_and_changes_nothing() -> None:
    net = Net()
    before = {k: np.array(v) for k, v in net.state_dict().items()}
    bad = {k: v + 1 for k, v in before.items()}
    del bad["first.offset"]
    bad["stray"] = np.zeros(1)
    bad["block.0.weight"] = np.zeros((3, 2))
    bad["block.0.bias"] = np.zeros(2, complex)
    with pytest.raises(StateError) as caught:
        net.load_state_dict(bad)
    assert str(caught.value) == (
        "load_state_dict: the state does not fit Net; nothing was changed\n"
        "  missing:\n    first.offset\n"
        "  unexpected:\n    stray\n"
        "  does not fit:\n"
        "    block.0.weight: shape (3, 2) given, (2, 3) expected\n"
        "    block.0.bias: dtype complex128 given, float32 expected"
    )
    for name, value in net.state_dict().items():
        np.testing.assert_array_equal(value, before[name])
    with pytest.raises(StateError, match="shape"):
        net.load_state_dict({"block.0.weight": np.zeros(1)}, strict=False)
    report = net.load_state_dict({"stray": np.zeros(1), "first.offset": np.full(3, 4.0)}, strict=False)
    assert report.unexpected_keys == ["stray"] and "first.factor" in report.missing_keys
    assert net.first.offset.tolist() == [4, 4, 4]


def test_load_into_read_only_memory() -> None:
    module = Scale()
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    module.offset = frozen
    module.factor.data = frozen
    module.load_state_dict({"offset": np.ones(3), "factor": np.full(3, 2.0)})
    assert module.offset.tolist() == [1, 1, 1] and module.factor.tolist() == [2, 2, 2]
    assert frozen.tolist() == [0, 0, 0]


def test_modes_casts_and_visits() -> None:
    net = Net()
    assert net.training and net.eval() is net and not net.block[1].training
    net.train()
    assert net.block[1].training
    with pytest.raises(TypeError, match="True or False"):
        net.train("yes")  # type: ignore[arg-type]
    net.first.register_buffer("count", np.zeros(1, np.int64))
    assert net.to("float64") is net and net.to("cpu") is net
    assert net.block[0].weight.dtype == np.float64 and net.first.count.dtype == np.int64
    assert isinstance(net.block[0].weight, nn.Parameter)
    assert net.float().first.offset.dtype == np.float32
    assert net.half().block[0].bias.dtype == np.float16 and net.double().block[0].bias.dtype == np.float64
    with pytest.raises(TypeError, match="got int64"):
        net.to(np.int64)
    seen: list[str] = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Scale", "Linear", "ReLU", "Sequential", "Net"]
    for parameter in net.parameters():
        parameter.grad = Tensor(np.ones(parameter.shape))
    net.zero_grad(set_to_none=False)
    assert all(not p.grad.numpy().any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_overridden_train_is_respected() -> None:
    class Frozen(nn.BatchNorm1d):
        def train(self, mode: bool = True) -> Any:
            return super().train(False)

    net = nn.Sequential(Frozen(2), nn.ReLU())
    net.train()
    assert not net[0].training and net[1].training


def test_forward_hooks() -> None:
    module, seen = Scale(), []
    first = module.register_forward_hook(lambda m, args, y: seen.append((m, args)))
    module.register_forward_hook(lambda m, args, y: y + 1)
    module.register_forward_hook(lambda m, args, kwargs, y: y * (10 if kwargs.get("twice") else 1), with_kwargs=True)
    x = np.ones(3)
    np.testing.assert_array_equal(module(x), [2, 3, 4])
    np.testing.assert_array_equal(module(x, twice=True), [30, 50, 70])
    assert seen == [(module, (x,))] * 2
    first.remove()
    first.remove()
    module(x)
    assert len(seen) == 2
    with module.register_forward_hook(lambda m, a, y: seen.append("front"), prepend=True):
        module.register_forward_hook(lambda m, a, y: seen.append("back"))
        module(x)
    module(x)
    assert seen[2:] == ["front", "back", "back"]


def test_forward_pre_hooks() -> None:
    module = Scale()
    handle = module.register_forward_pre_hook(lambda m, args: args[0] * 2)
    np.testing.assert_array_equal(module(np.ones(3)), [2, 4, 6])
    handle.remove()
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"twice": True}), with_kwargs=True)
    np.testing.assert_array_equal(module(np.ones(3)), [2, 4, 6])
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"must return None or \(args, kwargs\), got 3"):
        module(np.ones(3))


def test_always_called_hooks_see_failures() -> None:
    module, seen = nn.Module(), []
    module.register_forward_hook(lambda m, args, y: seen.append("never"))
    module.register_forward_hook(lambda m, args, y: seen.append(y), always_call=True)
    with pytest.raises(NotImplementedError, match=r"Module does not define forward\(\)"):
        module(1)
    assert seen == [None]


def test_backward_hooks_see_both_ends() -> None:
    module, seen = nn.Bilinear(2, 3, 4, dtype=np.float64), []
    x, y = (weft.tensor(np.arange(1.0, n + 1), requires_grad=n == 3) for n in (2, 3))
    handle = module.register_full_backward_hook(lambda *args: seen.append(args))
    module(x, y).sum().backward()
    assert seen[0][0] is module and seen[0][1][0] is None and len(seen[0][1]) == 2
    np.testing.assert_array_equal(seen[0][1][1], y.grad)
    assert seen[0][2][0].tolist() == [1, 1, 1, 1]
    weight = module.weight.grad.numpy().copy()
    handle.remove()
    module(x, y).sum().backward()
    assert len(seen) == 1
    np.testing.assert_array_equal(module.weight.grad.numpy(), 2 * weight)
    with weft.no_grad(), module.register_full_backward_hook(lambda *args: seen.append(args)):
        assert not module(x, y).requires_grad


def test_backward_hooks_may_change_gradients_and_need_no_inputs() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.LSTM(3, 2))
    x = weft.tensor(np.ones((2, 1, 3), np.float32), requires_grad=True)
    net[1].register_full_backward_hook(lambda m, grad_input, grad_output: (grad_input[0] * 0,))
    net(x)[0].sum().backward()
    assert not x.grad.numpy().any() and net[1].weight_ih_l0.grad.numpy().any()
    seen: list[Any] = []
    net[0].register_full_backward_hook(lambda m, *ends: seen.append(ends))
    net(np.ones((2, 1, 3), np.float32))[1][0].sum().backward()
    assert seen[0][0] == (None,) and seen[0][1][0].shape == (2, 1, 3)
    layer = nn.Linear(3, 3)
    layer.register_full_backward_hook(lambda m, grad_input, grad_output: (None, None))
    with pytest.raises(RuntimeError, match="got 1 gradients of inputs and returned 2"):
        layer(x).sum().backward()
    with pytest.raises(ValueError, match="must end in the same size"):
        layer(np.ones(4, np.float32))
    assert weft.symbolic_trace(nn.Sequential(layer)).graph.find_nodes(op="call_module")


def test_copies_are_independent() -> None:
    net = Net()
    net.first.register_forward_hook(lambda m, a, y: y)
    twin = copy.deepcopy(net)
    assert twin.again is twin.first and twin.first is not net.first
    twin.first.factor.numpy()[...] = 0
    assert net.first.factor.numpy().any()
    x = np.ones((1, 3), np.float32)
    del net.first._forward_hooks  # lambdas cannot be pickled
    net.first.__dict__["_forward_hooks"] = {}
    loaded = pickle.loads(pickle.dumps(net))
    assert loaded.again is loaded.first and isinstance(loaded.first.factor, nn.Parameter)
    np.testing.assert_array_equal(loaded(x), net(x))
    assert list(loaded.state_dict()) == list(net.state_dict())


def test_repr_is_torch_like_with_numbers_of_parameters() -> None:
    net = Net()
    # What two modules share is counted for each of them, and once in all.
    assert repr(net) == (
        "Net(  # 11 parameters\n"
        "  (first): Scale()  # 3 parameters\n"
        "  (block): Sequential(  # 8 parameters\n"
        "    (0): Linear(in_features=3, out_features=2, bias=True)  # 8 parameters\n"
        "    (1): ReLU()\n"
        "  )\n"
        "  (again): Scale()  # 3 parameters\n"
        ")"
    )
    net.block.requires_grad_(False)
    assert repr(net).startswith("Net(  # 11 parameters, 3 trainable\n")
    assert repr(net.block[0]).endswith("  # 8 parameters, none trainable")
    assert repr(nn.PReLU()) == "PReLU(num_parameters=1)  # 1 parameter"
    assert repr(nn.Linear(1000, 1000)).endswith("  # 1,001,000 parameters")

    class Wordy(nn.Module):
        def extra_repr(self) -> str:
            return "a=1\nb=2"

    assert repr(Wordy()) == "Wordy(\n  a=1\n  b=2\n)"


def test_repr_while_tracing_reads_nothing() -> None:
    class Telling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = Scale()

        def forward(self, x: Any) -> Any:
            assert "3 parameters" in repr(self)
            return self.layer(x)

    assert [n.op for n in weft.symbolic_trace(nn.Sequential(Telling())).graph.nodes].count("get_attr") == 2


def test_calls_and_reads_go_to_the_current_tracer() -> None:
    module = Scale()
    log: list[Any] = []

    class Recorder:
        def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
            log.append(("call", m, args, kwargs))
            return forward(*args, **kwargs)

        def module_getattr(self, m: Any, name: str, value: Any) -> Any:
            log.append(("read", name))
            return 100.0 if name == "factor" else value

    token = current_tracer.set(Recorder())
    try:
        result = module(np.ones(3), twice=False)
    finally:
        current_tracer.reset(token)
    assert result.tolist() == [100.0] * 3
    assert log[0][:2] == ("call", module) and log[0][3] == {"twice": False}
    assert log[1:] == [("read", "factor"), ("read", "offset")]
    np.testing.assert_array_equal(module(np.ones(3)), [1, 2, 3])
