"""A graph does what the plain call does, in values, dtypes and types; a program for which it would not is refused."""

from __future__ import annotations

import contextlib
import copy
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
import pytest

import weft
from weft import Interpreter, Transformer
from weft.errors import TraceError

X = np.arange(12.0).reshape(3, 4) - 3
X32 = X.astype(np.float32)
SQUARE = X[:, :3] + 10 * np.eye(3)


def runs_of(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    module = weft.symbolic_trace(function)
    module.graph.lint()
    return [module, Interpreter(module).run, Transformer(module).transform()]


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype
        if expected.dtype == object:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-6)  # sums in another order
    else:
        assert found == expected


def check(function: Callable[..., Any], *args: Any) -> None:
    for run in runs_of(function):
        assert_same(run(*copy.deepcopy(args)), function(*copy.deepcopy(args)))


NUMPY_CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray[Any, Any]]] = {
    "out=None by position": (lambda x: [np.max(x, 0, None), np.sum(x, 0, None, None), np.all(x, 1, None)], X),
    "split gives a list": (lambda x: np.split(x, 3), X),
    "eig is real where it can be": (lambda x: np.linalg.eigvals(x @ x.T), SQUARE),
    "meshgrid flattens": (lambda x: np.meshgrid(x, 3), X),
    "other modes of pad": (lambda x: [np.pad(x, 1, mode) for mode in ("mean", "linear_ramp", "median")], X),
    "pad by a function": (lambda x: np.pad(x, 1, _pad_with_seven), X),
    "other modes of qr": (lambda x: [np.linalg.qr(x, "r"), np.linalg.qr(x, mode="raw")[1]], SQUARE),
    "dtype of var": (lambda x: [np.var(x, axis=0, dtype=np.int32), np.std(x, 0, complex)], X),
    "var of complex as real": (lambda x: np.var(x * (1 + 2j), 0, np.float64), X),
    "numbers of diff": (lambda x: [np.diff(x, prepend=0), np.diff(x, append=1.5)], X32),
    "numbers of dot": (lambda x: [np.dot(x, 2), np.inner(2.0, x)], X32),
    "cross without axis": (lambda x: np.cross(x, x[::-1], axis=None), SQUARE),
}


def _pad_with_seven(vector: Any, width: Any, axis: Any, kwargs: Any) -> None:
    vector[: width[0]] = vector[len(vector) - width[1] :] = 7


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("name", NUMPY_CALLS)
def test_numpy_calls_that_no_op_means(name: str) -> None:
    check(*NUMPY_CALLS[name])


def test_numpy_calls_that_an_op_means_are_recorded_as_the_op() -> None:
    graph = weft.symbolic_trace(lambda x: [np.max(x, axis=0), np.pad(x, 1), np.var(x, 0), np.dot(x, x)]).graph
    assert [node.target for node in graph.nodes][1:-1] == [weft.max, weft.pad, weft.var, weft.dot]


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "np.copyto": lambda x, out: np.copyto(out, x),
    "np.copyto in np.full_like": lambda x, out: np.full_like(out, x),
    "np.put": lambda x, out: np.put(out, [0], x),
    "np.putmask": lambda x, out: np.putmask(out, out > 0, x),
    "np.sum(…, out=…)": lambda x, out: np.sum(x, axis=0, out=out),
    "np.sum by position": lambda x, out: np.sum(x, 0, None, out),
    "np.max by position": lambda x, out: np.max(x, 0, out),
    "np.concatenate": lambda x, out: np.concatenate([x, x], 0, out),
    "np.dot": lambda x, out: np.dot(x, x, out),
    "np.median": lambda x, out: np.median(x, 0, out),
    "x.sum(…, out=…)": lambda x, out: x.sum(axis=0, out=out),
    "x.clip": lambda x, out: x.clip(0, 1, out),
    "np.nan_to_num(…, copy=False)": lambda x, out: np.nan_to_num(x, copy=False),
}


@pytest.mark.parametrize("name", WRITES)
def test_writing_into_an_array_is_refused(name: str) -> None:
    buffer = np.zeros(4)
    with pytest.raises(TraceError, match="writes into an array"):
        weft.symbolic_trace(lambda x: (WRITES[name](x, buffer), buffer * 2))


def test_arrays_changed_between_uses() -> None:
    def program(x: Any) -> Any:
        mask = np.zeros(4)
        mask[0] = 1
        first, part = x * mask, x[:, 1:] - mask[1:]
        mask[:] = [0, 1, 1, 0]
        second = x * mask
        mask[0] = 9
        return first, second, part

    check(program, X)


def test_arrays_of_objects_changed_between_uses() -> None:
    def program(x: Any) -> Any:
        table = np.array([1, 2.5], dtype=object)
        first = x[0, :2] * table
        table[0] = 7
        return first, x[0, :2] * table

    check(program, X)


def test_masked_arrays_changed_between_uses() -> None:
    wrapped = weft.wrap(_masked_sum)

    def recorded(x: Any) -> Any:
        table = np.ma.masked_array([1.0, 2.0], mask=[True, False])
        first = wrapped(x, table)
        table[0] = 7
        return first, wrapped(x, table)

    assert_same(weft.symbolic_trace(recorded)(X), recorded(X))
    assert_same(recorded(X)[0], np.array([-1.0, X[0, 1] + 2]))


def _masked_sum(x: Any, table: Any) -> Any:
    return (x[0, :2] + table).filled(-1)


def test_tensors_changed_between_uses() -> None:
    def program(x: Any) -> Any:
        mask = weft.tensor([1.0, 0.0, 0.0, 0.0])
        first = x * mask
        mask.numpy()[:] = 2.0
        return first, x * mask

    first, second = weft.symbolic_trace(program)(X)
    np.testing.assert_array_equal(first.numpy(), X * [1.0, 0, 0, 0])
    np.testing.assert_array_equal(second.numpy(), X * 2)


def test_an_array_that_stays_the_same_is_shared() -> None:
    weights = np.ones(4)
    module = weft.symbolic_trace(lambda x: x * weights + weights)
    assert list(module.graph.constants) == ["_tensor_constant0"]
    weights *= 3
    np.testing.assert_array_equal(module(X), X * 3 + 3)


def test_an_array_of_the_module_that_is_changed_after_its_use_is_refused() -> None:
    class Counting(weft.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", np.zeros(1))

        def forward(self, x: Any) -> Any:
            y = x * self.calls
            self.calls += 1
            return y

    with pytest.raises(TraceError, match="calls is an array of the module that the program used and then changed"):
        weft.symbolic_trace(Counting())


def _or_one(x: Any) -> Any:
    try:
        return len(x)
    except TypeError:
        return 1


def _suppressed(x: Any) -> Any:
    n = 0
    with contextlib.suppress(Exception):
        n = int(x[0])
    return n


@pytest.mark.parametrize(
    ("program", "what"),
    [(_or_one, "len"), (_suppressed, "int"), (lambda x: 2 if np.iterable(x) else 1, "a loop")],
)
def test_an_error_of_tracing_that_the_program_catches(program: Callable[[Any], Any], what: str) -> None:
    with pytest.raises(TraceError, match=what) as caught:
        weft.symbolic_trace(lambda x: x * program(x))
    assert "the program caught this error and went on" in str(caught.value)
    assert "test_as_the_plain_call.py" in str(caught.value)


def test_an_error_that_follows_from_one_of_tracing_tells_so() -> None:
    def program(x: Any) -> Any:
        buffer = np.zeros(4)
        buffer[0] = x[0, 0]
        return buffer

    with pytest.raises(Exception) as caught:  # which one is NumPy's affair
        weft.symbolic_trace(program)
    told = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert any("cannot be recorded" in text for text in told)


@pytest.mark.parametrize("lookup", [lambda n: n in {1, 3}, lambda n: {3: 10}.get(n, 0), lambda n: n in {3: 1}])
def test_looking_up_a_traced_value_is_refused(lookup: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match="key of a dict or a member of a set"):
        weft.symbolic_trace(lambda n: 1 if lookup(n) else 2)


def test_proxies_are_hashable_when_nothing_is_traced() -> None:
    graph = weft.symbolic_trace(lambda x: x + 1).graph
    x, y = (weft.Proxy(node) for node in list(graph.nodes)[:2])
    assert {x: 1, y: 2}[y] == 2


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_are_copies(copied: Callable[[Any], Any]) -> None:
    kept, made = weft.symbolic_trace(lambda x: (x, copied(x)))(X)
    np.testing.assert_array_equal(kept, made)
    assert kept is X
    assert not np.shares_memory(kept, made)


def test_operators_of_numbers() -> None:
    check(lambda n: [pow(n, 2, 5), divmod(20, n), divmod(n, 2), math.ceil(n), math.trunc(n), 2**n], 7)


class Shape(tuple[Any, ...]):
    __slots__ = ()


class Items(list[Any]):
    pass


@dataclass
class Doubled:
    value: Any
    more: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.value = self.value * 2
        self.more = self.value + 1


@dataclass
class Scaled:
    value: Any
    scale: InitVar[float]

    def __post_init__(self, scale: float) -> None:
        self.value = self.value * scale


@pytest.mark.parametrize(
    "made",
    [
        lambda x: OrderedDict(b=x, a=x + 1),
        lambda x: defaultdict(list, {"a": [x]}),
        lambda x: Counter({"a": x}),
        lambda x: Shape((x, x + 1)),
        lambda x: [Items([x])],
    ],
)
def test_containers_of_other_classes_keep_their_class(made: Callable[[Any], Any]) -> None:
    check(made, X)


def test_containers_that_cannot_be_made_again_are_refused() -> None:
    class Named(dict[str, Any]):
        def __init__(self, name: str) -> None:
            super().__init__(name=name)

    with pytest.raises(TraceError, match="Named"):
        weft.symbolic_trace(lambda x: Named(x))


@pytest.mark.parametrize("make", [Doubled, lambda x: Scaled(x, 3.0)])
def test_a_constructor_runs_once(make: Callable[[Any], Any]) -> None:
    for run in runs_of(make):
        found, expected = run(X), make(X)
        assert type(found) is type(expected)
        assert_same(vars(found), vars(expected))


def test_defaults_are_what_they_are() -> None:
    class Sevens(dict[str, Any]):
        def __missing__(self, key: str) -> int:
            return 7

    def program(x: Any, config: Any = Doubled(2.0), sevens: Any = Sevens()) -> Any:  # noqa: B008  # what is tested
        return x * config.value * sevens["any"]

    check(program, X)


def test_an_attribute_is_read_where_the_program_reads_it() -> None:
    class Cell:
        value = 1

        def step(self) -> None:
            self.value += 1

    def program(cell: Any) -> Any:
        before = cell.value
        cell.step()
        return before, cell.value

    check(program, Cell())


def test_a_tracer_may_answer_what_is_refused_otherwise() -> None:
    class Optimist(weft.Tracer):
        def to_bool(self, obj: Any) -> bool:
            try:
                return super().to_bool(obj)
            except TraceError:
                return True

    graph = Optimist().trace(lambda x: x + 1 if x > 0 else x - 1)
    assert [node.name for node in graph.nodes] == ["x", "gt", "add", "output"]


@pytest.mark.parametrize(
    "f",
    [lambda x: x.sort(), lambda x: x.fill(0), lambda x: x.put(0, 1), lambda x: x.resize(2), lambda x: x.partition(1)],
)
def test_methods_that_change_their_array_are_refused(f: Any) -> None:
    with pytest.raises(weft.errors.TraceError, match=r"changes x in place.*\n  at .*\n  help: use "):
        weft.symbolic_trace(f)
