"""Symbolic tracing: what is recorded, and what is refused with the user's line."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import operator
import re
import threading
from typing import Any

import numpy as np
import pytest

import weft
from weft.capture import _tracer_base
from weft.errors import TraceError

Point = collections.namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


def targets(gm: weft.GraphModule) -> list[Any]:
    return [node.target for node in gm.graph.nodes if node.op not in ("placeholder", "output")]


def names(gm: weft.GraphModule) -> list[str]:
    return [node.name for node in gm.graph.nodes]


x3 = np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: x - x3,
        lambda x: x3 - x,
        lambda x: x * 2 / 3 // 0.5 % 7,
        lambda x: 2**x,
        lambda x: x**2,
        lambda x: -x,
        lambda x: +x,
        lambda x: abs(x),
        lambda x: x @ x,
        lambda x: x3 @ x,
        lambda x: (x > 0) & (x < 2) | (x >= 3) ^ (x <= -2),
        lambda x: ~(x == 1),
        lambda x: x != 1,
        lambda x: x[0],
        lambda x: x[1:],
        lambda x: x[None, ..., ::2],
        lambda x: x[x > 0],
        lambda x: x[np.array([0, 2])],
        lambda x: divmod(x, 2),
        lambda x: x.sum(),
        lambda x: x.reshape(3, 1).T,
        lambda x: x.shape[0] * x,
        lambda x: np.sin(x) + np.cos(x),
        lambda x: np.sum(x, axis=0),
        lambda x: np.concatenate([x, x3]),
        lambda x: np.stack([x, x], axis=1),
        lambda x: np.where(x > 0, x, 0.0),
        lambda x: np.interp(x, [0.0, 1.0], [2.0, 3.0]),
        lambda x: np.add(x, 1, dtype=np.float64),
        lambda x: weft.where(x > 0, x, 0.0),
        lambda x: weft.concat([x, x3, x]),
        lambda x: round(x, 1) if False else x,
    ],
)
def test_recorded_equals_plain(f: Any) -> None:
    gm = weft.symbolic_trace(f)
    gm.graph.lint()
    got, expected = gm(x3), f(x3)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(weft.Interpreter(gm).run(x3), expected)


def test_kinds_and_names_as_torch_fx_gives_them() -> None:
    def f(x: Any, y: Any = 2) -> Any:
        a = weft.relu(x)
        b = weft.relu(a + y)
        return (a + b).sum().T

    gm = weft.symbolic_trace(f)
    assert names(gm) == ["x", "y", "relu", "add", "relu_1", "add_1", "sum_1", "getattr_1", "output"]
    assert targets(gm) == [weft.relu, operator.add, weft.relu, operator.add, "sum", getattr]
    assert [n.op for n in gm.graph.nodes][-3:] == ["call_method", "call_function", "output"]


def test_numpy_functions_become_the_op_that_means_the_same() -> None:
    gm = weft.symbolic_trace(lambda x: np.linalg.inv(np.exp(x)) + np.fft.fft(x))
    assert targets(gm) == [weft.exp, weft.linalg.inv, weft.fft.fft, operator.add]


def test_a_numpy_call_the_op_does_not_take_stays_a_numpy_call() -> None:
    gm = weft.symbolic_trace(lambda x: np.concatenate([x, x], dtype=np.float32, casting="same_kind"))
    assert targets(gm) == [np.concatenate]
    assert gm(x3).dtype == np.float32


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: 1 if x > 0 else 2, "a branch on a traced value"),
        (lambda x: x and 1, "a branch on a traced value"),
        (lambda x: not x, "a branch on a traced value"),
        (lambda x: len(x), "len() of a traced value"),
        (lambda x: [i + 1 for i in x], "a loop over a traced value"),
        (lambda x: list(x), "a loop over a traced value"),
        (lambda x: int(x), "int() of a traced value"),
        (lambda x: float(x), "float() of a traced value"),
        (lambda x: complex(x), "complex() of a traced value"),
        (lambda x: range(x), "used as an index or a count"),
        (lambda x: [1, 2][x], "used as an index or a count"),
        (lambda x: 3 in x, "`in` on a traced value"),
        (lambda x: np.asarray(x), "converted to a NumPy array"),
        (lambda x: math.sin(x), "float() of a traced value"),
        (lambda x: dict(**x), "** of a traced value"),
        (lambda x: operator.setitem(x, 0, 1), "item assignment"),
        (lambda x: np.add(x, 1, out=np.zeros(3)), "out="),
        (lambda x: np.subtract.reduce(x), "np.subtract.reduce"),
    ],
)
def test_what_needs_the_value_is_refused_with_the_line(f: Any, text: str) -> None:
    with pytest.raises(TraceError) as caught:
        weft.symbolic_trace(f)
    message = str(caught.value)
    assert text in message
    assert f"test_symbolic_trace.py:{f.__code__.co_firstlineno}" in message
    assert "help:" in message


def test_a_branch_marks_the_condition_and_says_what_to_write() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(TraceError) as caught:
        weft.symbolic_trace(f)
    line, caret = str(caught.value).splitlines()[2:4]
    assert line.strip() == "if x.sum() > 0:"
    assert caret.strip() == "^" * len("x.sum() > 0")
    assert caret.index("^") == line.index("x.sum()")
    assert "weft.where(condition, a, b)" in str(caught.value)


def test_unpacking_of_known_length() -> None:
    def f(x: Any) -> Any:
        a, b, c = x
        (d, e), g = weft.topk(x, 2)[0], c
        return a + b * c, d, e, g

    gm = weft.symbolic_trace(f)
    np.testing.assert_allclose(gm(x3), (1 + -6.0, 3.0, 1.0, 3.0))


def test_signature_is_kept() -> None:
    def f(a: Any, /, b: int, c: Any = 3, *args: Any, d: Any, e: Any = 5, **kw: Any) -> Any:
        return a + b * c + args[0] + d * e + kw["k"]

    gm = weft.symbolic_trace(f)
    assert gm(1, 2, 3, 10, d=4, e=6, k=100) == f(1, 2, 3, 10, d=4, e=6, k=100)
    assert gm(1, 2, 3, 10, d=4, k=100) == f(1, 2, 3, 10, d=4, k=100)


def test_bound_methods_partials_callables_and_decorated_functions() -> None:
    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        def __call__(self, x: Any) -> Any:
            return x * self.k

        def method(self, x: Any, *rest: Any) -> Any:
            return x * self.k + rest[0]

    def plain(k: float, x: Any) -> Any:
        return x * k

    @functools.wraps(plain)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs) + 1

    assert weft.symbolic_trace(Scale(3.0))(2.0) == 6.0
    assert weft.symbolic_trace(Scale(3.0).method)(2.0, 1.0) == 7.0
    assert weft.symbolic_trace(functools.partial(plain, 3.0))(2.0) == 6.0
    assert weft.symbolic_trace(decorated)(3.0, 2.0) == 7.0
    assert weft.symbolic_trace(weft.exp)(0.0) == 1.0


def test_containers_as_outputs() -> None:
    def f(x: Any) -> Any:
        return {"p": Point(x, x + 1), "q": [x, (x * 2, None)], "r": Pair(x, x * 3)}

    result = weft.symbolic_trace(f)(2.0)
    assert result == {"p": Point(2.0, 3.0), "q": [2.0, (4.0, None)], "r": Pair(2.0, 6.0)}
    assert isinstance(result["p"], Point) and isinstance(result["r"], Pair)


def test_containers_as_inputs_by_use() -> None:
    def f(d: Any, p: Any, r: Any) -> Any:
        return d["a"] + d["b"][0] * p.x + r.left

    args = ({"a": 1.0, "b": [2.0]}, Point(3.0, 4.0), Pair(5.0, 6.0))
    assert weft.symbolic_trace(f)(*args) == f(*args)


def test_containers_as_inputs_by_structure() -> None:
    def f(d: Any, k: Any) -> Any:
        return {key: value * k for key, value in d.items()}

    ph = weft.PH
    gm = weft.symbolic_trace(f, concrete_args={"d": {"a": ph, "b": ph}})
    assert [n.name for n in gm.graph.find_nodes(op="placeholder")] == ["d_1", "d_2", "k"]
    assert gm({"a": 1.0, "b": 2.0}, 3.0) == {"a": 3.0, "b": 6.0}
    assert weft.Interpreter(gm).run({"a": 1.0, "b": 2.0}, 3.0) == {"a": 3.0, "b": 6.0}
    with pytest.raises(weft.errors.GraphError, match="d: expected"):
        gm({"a": 1.0}, 3.0)


def test_named_tuples_and_dataclasses_as_inputs_by_structure() -> None:
    def f(p: Any) -> Any:
        total = p.left
        for part in p.right:
            total = total + part
        return total

    ph = weft.PH
    gm = weft.symbolic_trace(f, concrete_args={"p": Pair(ph, Point(ph, ph))})
    assert gm(Pair(1.0, Point(2.0, 3.0))) == 6.0


def test_concrete_args_take_the_branch_and_are_checked() -> None:
    def f(x: Any, flip: bool = False) -> Any:
        return -x if flip else x

    gm = weft.symbolic_trace(f, concrete_args={"flip": True})
    assert targets(gm) == [operator.neg]
    assert gm(2.0, True) == -2.0
    with pytest.raises(weft.errors.GraphError, match="flip: True was fixed"):
        gm(2.0, False)
    with pytest.raises(TraceError, match="'nope', which is not a parameter"):
        weft.symbolic_trace(f, concrete_args={"nope": 1})


def test_closed_over_arrays_become_one_constant_each() -> None:
    k = np.arange(3.0)
    gm = weft.symbolic_trace(lambda x: x * k + k)
    reads = [n.target for n in gm.graph.find_nodes(op="get_attr")]
    assert set(reads) == {"_tensor_constant0"}
    np.testing.assert_array_equal(gm(x3), x3 * k + k)


def test_round_takes_digits() -> None:
    gm = weft.symbolic_trace(lambda x: round(x, 2) + round(x))
    assert gm(1.126) == round(1.126, 2) + round(1.126)


def test_numpy_functions_are_arguments() -> None:
    gm = weft.symbolic_trace(lambda x: np.apply_along_axis(np.sum, 0, x))
    np.testing.assert_array_equal(gm(np.ones((2, 3))), [2, 2, 2])


def test_an_error_inside_numpy_names_the_line_of_the_program() -> None:
    for f, text in ((lambda x: np.c_[x, x], "np.c_[x, x]"), (lambda x: np.full((2, 2), x), "np.full((2, 2), x)")):
        with pytest.raises(TraceError, match="converted to a NumPy array") as caught:
            weft.symbolic_trace(f)
        where, line, caret = str(caught.value).splitlines()[1:4]
        assert where.startswith(f"  at {__file__}:")
        assert text in line
        assert caret.strip() == "^" * len(text)


def test_an_error_on_a_line_without_source_shows_no_empty_line() -> None:
    with pytest.raises(TraceError) as caught:
        weft.symbolic_trace(eval("lambda x: len(x)"))
    assert str(caught.value).splitlines()[1] == "  at <string>:1, in <lambda>"
    assert str(caught.value).splitlines()[2].startswith("  help: ")


def test_the_class_of_a_module_is_refused() -> None:
    with pytest.raises(
        TraceError, match=r"ReLU is the class of a Module, not one that was made\n  help: give an object of it"
    ):
        weft.symbolic_trace(weft.nn.ReLU)


def test_every_refusal_points_at_what_exists() -> None:
    assert _tracer_base._HELP.keys() == _tracer_base._WHY.keys()
    for text in _tracer_base._HELP.values():
        assert all(hasattr(weft, name) for name in re.findall(r"weft\.(\w+)", text)), text


def test_values_that_cannot_be_arguments_are_named() -> None:
    with pytest.raises(TraceError, match=r"type builtins\.object cannot be an argument"):
        weft.symbolic_trace(lambda x: weft.add(x, object()))
    with pytest.raises(TraceError, match="key of a dict"):
        weft.symbolic_trace(lambda x: {x: 1})


def test_proxies_of_another_trace_are_refused() -> None:
    def outer(x: Any) -> Any:
        return weft.symbolic_trace(lambda y: x + y)(1)

    with pytest.raises(TraceError, match="belongs to another trace"):
        weft.symbolic_trace(outer)


def test_tracing_inside_tracing() -> None:
    def outer(x: Any) -> Any:
        inner = weft.symbolic_trace(lambda y: y * 2)
        return inner(x) + 1

    gm = weft.symbolic_trace(outer)
    assert gm(3) == 7


def test_threads_trace_at_the_same_time() -> None:
    barrier = threading.Barrier(4)
    graphs: dict[int, Any] = {}

    def work(number: int) -> None:
        def f(x: Any) -> Any:
            for i in range(200):
                if i % 50 == 0:
                    barrier.wait()
                x = x + number
            return x

        graphs[number] = weft.symbolic_trace(f)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, gm in graphs.items():
        gm.graph.lint()
        assert len(gm.graph.nodes) == 202
        assert gm(0) == 200 * number


def test_nothing_is_patched_while_tracing() -> None:
    before = (weft.nn.Module.__call__, weft.nn.Module.__getattr__, len, math.sqrt, np.sin)
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append((weft.nn.Module.__call__, weft.nn.Module.__getattr__, len, math.sqrt, np.sin))
        return x

    weft.symbolic_trace(f)
    assert seen == [before]


def test_editing_by_computing_with_proxies() -> None:
    gm = weft.symbolic_trace(lambda x: weft.relu(x) + 1)
    relu = gm.graph.find_nodes(op="call_function", target=weft.relu)[0]
    with gm.graph.inserting_before(relu):
        x = weft.Proxy(relu.args[0])
        leaky = weft.where(x > 0, x, x * 0.5)
        relu.replace_all_uses_with(leaky.node)
    gm.graph.erase_node(relu)
    gm.graph.lint()
    gm.recompile()
    np.testing.assert_array_equal(gm(x3), np.where(x3 > 0, x3, x3 * 0.5) + 1)


def test_array_defaults_are_kept() -> None:
    def f(x: Any, w: Any = x3) -> Any:
        return x * w

    gm = weft.symbolic_trace(f)
    np.testing.assert_array_equal(gm(2.0), x3 * 2)
    np.testing.assert_array_equal(weft.Interpreter(gm).run(2.0), x3 * 2)


def test_refusals_point_at_script() -> None:
    for f in (lambda x: 1 if x else 2, lambda x: len(x), lambda x: [i + 1 for i in x], lambda x: int(x)):
        with pytest.raises(TraceError, match=r"help: .*weft\.script"):
            weft.symbolic_trace(f)


def test_wrong_keywords_fail_while_tracing() -> None:
    with pytest.raises(TypeError, match=r"^sum\(x, axis=None, dtype=None, keepdims=False\): .*'axes'"):
        weft.symbolic_trace(lambda x: weft.sum(x, axes=1))
