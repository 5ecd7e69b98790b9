"""`weft.script`: what the graph holds, what its code says, and what may be scripted."""

from __future__ import annotations

import functools
import math
import operator
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn
from weft.errors import CaptureError

RATE = 0.5
WEIGHTS = np.array([1.0, 2.0, 3.0])


def targets(graph: weft.Graph) -> list[Any]:
    """The targets of all nodes, bodies included."""
    found = []
    for node in graph.nodes:
        found.append(node.target)
        for body in node.bodies:
            found += targets(body)
    return found


def branching(x, n):
    if n > 2:
        y = np.sin(x)
    else:
        y = np.cos(x)
    return y


def looping(x, n):
    total = 0.0
    for i in range(10):
        total += x * i
    for _ in range(3):
        total = total + 1
    for j in range(n):
        total -= j
    while total > 100:
        total = total / 2
    return total


def test_both_branches_are_there() -> None:
    module = weft.script(branching)
    found = targets(module.graph)
    assert weft.cond in found
    assert np.sin in found
    assert np.cos in found
    assert "if " in module.code
    assert "else:" in module.code


def test_loops_stay_loops() -> None:
    module = weft.script(looping)
    found = targets(module.graph)
    assert found.count(weft.fori_loop) == 3
    assert found.count(weft.while_loop) == 1
    for line in ("for i in range(10):", "in range(3):", "for j in range(n):", "while "):
        assert line in module.code
    assert module(2.0, 4) == looping(2.0, 4)


def test_a_loop_is_written_out_where_its_number_is_needed() -> None:
    layers = [np.sin, np.cos, np.tanh]

    def chosen(x):
        for i in range(3):
            x = layers[i](x)
        return x

    module = weft.script(chosen)
    assert [t for t in targets(module.graph) if t in layers] == layers
    assert module(0.3) == chosen(0.3)


def test_plain_control_flow_keeps_its_path() -> None:
    debug, depth = False, 2

    def chosen(x):
        if debug:
            print(x)
        k = 0
        while k < depth:
            x = x * RATE
            k += 1
        return x if depth > 1 else -x

    module = weft.script(chosen)
    assert targets(module.graph) == ["x", operator.mul, operator.mul, "output"]
    assert module(8.0) == 2.0


def test_names_and_places() -> None:
    def named(x):
        hidden = x @ x
        if hidden > 0:
            loss = hidden * 2
        else:
            loss = -hidden
        return loss

    module = weft.script(named)
    names = [node.name for node in module.graph.nodes]
    assert "hidden" in names
    assert "loss" in names
    node = next(node for node in module.graph.nodes if node.name == "hidden")
    assert node.stack_trace is not None
    assert "hidden = x @ x" in node.stack_trace


def test_code_runs_when_pasted() -> None:
    def program(x, n):
        out = []
        for i, v in enumerate(x):
            if v > n:
                break
            out.append(v * i)
        return np.array(out), n

    module = weft.script(program)
    space: dict[str, Any] = {"weft": weft, "numpy": np, "operator": operator}
    exec("import weft.graph._looping\n" + module.code, space)
    x = np.arange(5.0)
    assert repr(space["forward"](module, x, 3)) == repr(program(x, 3))
    assert "for " in module.code or "while " in module.code


def test_saved_and_loaded(tmp_path: Path) -> None:
    def program(xs, n=4):
        total = 0.0
        for a, b in zip(xs, xs[::-1], strict=True):
            total += a * b if a > 1 else b
        while total > n:
            total /= 2
        rows, columns = np.shape(WEIGHTS * total), len(xs)
        return total, rows, columns

    module = weft.script(program)
    module.save(tmp_path / "program.weft")
    loaded = weft.load(tmp_path / "program.weft")
    for xs in (np.arange(6.0), [1.0, 2.0], [5.0]):
        assert repr(loaded(xs)) == repr(module(xs)) == repr(program(xs))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.steps = 2

    def forward(self, x):
        for _ in range(self.steps):
            x = x * RATE
        y = self.linear(x)
        if y.sum() > 0:
            return y
        return -y


def test_modules() -> None:
    model = Model()
    module = weft.script(model)
    assert {"linear.weight", "linear.bias"} <= {n.target for n in module.graph.nodes if n.op == "get_attr"}
    for sign in (1.0, -1.0):
        x = weft.tensor(np.array([1.0, -2.0, 3.0], np.float32) * sign)
        assert np.array_equal(module(x).numpy(), model(x).numpy())


class Counter:
    scale = 3

    def __init__(self) -> None:
        self.w = WEIGHTS

    def method(self, x):
        return x * self.w * self.scale if x.sum() > 3 else x

    def __call__(self, x):
        return self.method(x) + 1

    @staticmethod
    def static(x):
        return x if x[0] > 0 else -x

    @classmethod
    def of_class(cls, x):
        return x * cls.scale


@pytest.mark.parametrize("factor", [-1.0, 5.0])
def test_methods(factor: float) -> None:
    counter, x = Counter(), np.array([1.0, 2.0, 3.0]) * factor
    for function in (counter.method, counter, Counter.static, Counter.of_class, counter.of_class):
        assert np.array_equal(weft.script(function)(x), function(x))


def test_arrays_from_outside_are_read_when_it_runs() -> None:
    weights = np.ones(3)

    def program(x):
        return x * weights if x[0] > 0 else x

    module = weft.script(program)
    weights[:] = 4.0
    assert module(np.ones(3)).tolist() == [4.0] * 3


def test_calls_of_unknown_functions_and_methods_stay() -> None:
    seen: list[Any] = []

    def program(report, rng, x):
        report(x)
        rng.shuffle(x)
        rng.normal()
        x.sum()
        return rng.normal()

    module = weft.script(program)
    x = np.arange(5)
    result = module(seen.append, np.random.default_rng(3), x)
    rng, y = np.random.default_rng(3), np.arange(5)
    assert result == program(seen.append, rng, y)
    assert np.array_equal(x, y)
    assert len(seen) == 2
    assert "sum" not in targets(module.graph)  # it gives nothing but its result


def test_exceptions_inside_loops_leave_the_writes() -> None:
    def program(x, n):
        for i in range(n):
            x[i] = -1.0
            if i == 2:
                raise KeyError("two")
        return x

    module = weft.script(program)
    got, expected = np.arange(5.0), np.arange(5.0)
    for function, x in ((module, got), (program, expected)):
        with pytest.raises(KeyError, match="two"):
            function(x, 4)
    assert np.array_equal(got, expected)


def test_primitives_on_unknown_values() -> None:
    def program(x, k):
        sums = weft.scan(lambda s, v: (s + v, s * v), 0.0, x)
        rows = {"a": x, "b": x * 2}
        back = weft.scan(lambda s, v: ((s[0] + v["a"], s[1] * k), v["b"]), (0.0, 1.0), rows, reverse=True)
        chosen = weft.switch(k, [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x)
        return sums, back, chosen, weft.cond(k > 1, np.sin, np.cos, x), weft.fori_loop(0, k, lambda i, s: s + i, 0)

    module = weft.script(program)
    assert targets(module.graph).count(weft.scan) == 2
    for n, k in ((4, 0), (4, 2), (3, 5)):
        x = np.arange(float(n))
        assert repr(module(x, k)) == repr(program(x, k))


def test_an_empty_scan() -> None:
    module = weft.script(lambda x: weft.scan(lambda s, v: (s + v, s), 0.0, x))
    state, rows = module(np.zeros(0))
    assert state == 0.0
    assert rows.shape == (0,)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(a):\n    try:\n        return 1 / a\n    except ValueError:\n        return 0", "inside a `try`"),
        ("def f(n):\n    return 1 if n < 2 else f(n - 1)", "calls itself without end"),
        ("def f(xs, k):\n    return sorted(xs, key=lambda v: v - k)", "reads variables from outside"),
        ("def f(n):\n    if n > 2:\n        z = 1\n    return z", "z is assigned on one side .* at line 3"),
        ("def f(xss):\n    return [x for xs in xss for x in xs]", "nested comprehension whose number of steps"),
    ],
)  # fmt: skip
def test_refusals_name_the_line(source: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(source)
    module = types.ModuleType("program")
    exec(compile(source, str(file), "exec"), module.__dict__)
    with pytest.raises(CaptureError, match=said) as caught:
        weft.script(module.f)
    assert f"{file}:" in str(caught.value)
    assert "help:" in str(caught.value)


def test_what_has_no_source() -> None:
    with pytest.raises(CaptureError, match="no source to capture"):
        weft.script(len)


def test_partials() -> None:
    x = np.arange(1.0, 4.0)

    def scaled(k: Any, x: Any, shift: Any = 0.0, *, power: Any) -> Any:
        if shift > 0:
            return (x * k + shift) ** power
        return x * k

    for function in (
        functools.partial(scaled, 3, power=2),
        functools.partial(functools.partial(scaled, 2.0, power=1), shift=5.0),
        functools.partial(scaled, k=2.0, power=3),
    ):
        made = weft.script(function)
        for given in ({}, {"shift": 2.0}, {"power": 2, "shift": 1.0}):
            assert np.array_equal(made(x=x, **given), function(x=x, **given))

    def open_ended(x: Any, *rest: Any, k: Any = 1) -> Any:
        return x * k + sum(rest)

    assert weft.script(functools.partial(open_ended, 2.0))(3.0, 4.0, k=2) == 11.0
    with pytest.raises(CaptureError, match="a partial with keyword arguments of open_ended"):
        weft.script(functools.partial(open_ended, k=3))


def test_a_method_in_a_class_body_is_bound_to_its_object() -> None:
    x = np.arange(1.0, 4.0)

    class Scale:
        def __init__(self, k: float) -> None:
            self.k, self.calls = k, 0

        @weft.script
        def scaled(self, x: Any, shift: Any = 0.0) -> Any:
            self.calls += 1
            return x * self.k if x.sum() > 0 else x - shift

        @staticmethod
        @weft.script
        def doubled(x: Any) -> Any:
            return x * 2

        model = weft.script(nn.Linear(2, 2))

    for k in (2.0, 3.0):
        scale = Scale(k)
        assert np.array_equal(scale.scaled(x), x * k)
        assert np.array_equal(scale.scaled(-x, shift=1.0), -x - 1.0)
        assert np.array_equal(Scale.scaled(scale, x), x * k)
        assert scale.calls == 3
        assert np.array_equal(scale.doubled(x), x * 2)
    assert isinstance(Scale.scaled, weft.GraphModule)
    assert scale.model is Scale.model  # a module is no function
    scale.alone = Scale.scaled  # of the object itself: not bound, as a function would not be
    assert np.array_equal(scale.alone(scale, x), x * 3.0)


def everything_imported(x, n):
    total = math.sqrt(n) + 0.0
    for i in range(n):
        if x[i] > 0:
            total = total + np.sin(x[i])
        else:
            total = operator.add(total, -np.inf if n > 100 else 1.0)
    return total, np.linalg.norm(x), sorted([x[0], x[1]], key=lambda v: -v), f"{n}", weft.relu(x)


def test_the_source_code_runs_in_a_file_of_its_own() -> None:
    x = np.array([0.5, -1.0, 2.0])
    compiled, traced = weft.compile(everything_imported), weft.trace(lambda x: np.tanh(x).sum(axis=0))
    expected = repr(compiled(x, 3)), repr(traced(x))
    modules = {
        weft.script(everything_imported): ((x, 3), expected[0]),
        compiled._latest().module: ((x, 3), expected[0]),
        traced.module: ((x,), expected[1]),
    }
    for module, (args, wanted) in modules.items():
        assert module.source_code.endswith(module.code)
        space: dict[str, Any] = {}
        exec(module.source_code, space)
        assert repr(space["forward"](module, *args)) == wanted
    assert compiled.code == compiled._latest().module.source_code
    assert traced.code == traced.module.source_code
    assert traced.code.startswith("import weft\n\ndef forward(self, x):\n")


def test_nan_to_num_in_place_stays() -> None:
    def program(x, copied):
        ratio = x / x
        np.nan_to_num(ratio, copy=copied, nan=1.5)
        other = x / x
        np.nan_to_num(other, False)
        return ratio, np.nan_to_num(other)

    scripted, compiled, x = weft.script(program), weft.compile(program), np.array([0.0, 2.0])
    with np.errstate(invalid="ignore"):
        for copied in (False, True):
            np.testing.assert_array_equal(scripted(x, copied), program(x, copied))
            np.testing.assert_array_equal(compiled(x, copied), program(x, copied))
