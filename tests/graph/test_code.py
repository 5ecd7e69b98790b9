"""Generated code: its text, and that it means what the graph means."""

from __future__ import annotations

import dataclasses
import enum
import keyword
import math
import operator
from collections import namedtuple
from collections.abc import Callable
from typing import Any, Literal, Optional

import numpy as np
import pytest

import weft
from weft.errors import GraphError

Pair = namedtuple("Pair", "a b")


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 0


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass(frozen=True)
class Box:
    size: int
    inside: Any


def compiled(graph: weft.Graph, root: str = "self") -> Callable[..., Any]:
    code = graph.python_code(root)
    scope = dict(code.globals)
    exec(compile(code.src, "<test>", "exec", dont_inherit=True), scope)
    return scope["forward"]


def body(graph: weft.Graph) -> list[str]:
    return [line.strip() for line in graph.python_code().src.splitlines()[1:]]


def call(function: Any, *args: Any, **kwargs: Any) -> weft.Graph:
    """A graph that calls a function with its input and some constants."""
    graph = weft.Graph()
    graph.output(graph.call_function(function, (graph.placeholder("x"), *args), kwargs))
    return graph


def keep(x: Any, *args: Any, **kwargs: Any) -> Any:
    return args, kwargs


# Text


def test_everything_at_once() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x", type_expr=np.ndarray)
    y = graph.placeholder("y", default_value=2)
    args, kwargs = graph.placeholder("*args"), graph.placeholder("**kwargs")
    param = graph.get_attr("layer.0.weight")
    add = graph.call_function(operator.add, (x, param))
    called = graph.call_module("layer.0", (add,), {"scale": y})
    relu = graph.call_method("clip", (called, 0.0), {"max": math.inf})
    sin = graph.call_function(weft.sin, (relu,), type_expr=float)
    inv = graph.call_function(weft.linalg.inv, (sin,))
    interp = graph.call_function(np.interp, (inv, [1, 2], [3, 4]))
    shape = graph.call_function(getattr, (interp, "shape"))
    item = graph.call_function(operator.getitem, (interp, (slice(1, None), None, ..., slice(None, None, 2))))
    graph.call_function(print, (args,))
    graph.output((item, shape, {"k": kwargs}), type_expr=tuple)
    assert graph.python_code().src == (
        "def forward(self, x : numpy.ndarray, y = 2, *args, **kwargs) -> tuple:\n"
        "    _args = args\n"
        "    _kwargs = kwargs\n"
        '    layer_0_weight = getattr(self.layer, "0").weight\n'
        "    add = x + layer_0_weight;  x = layer_0_weight = None\n"
        '    layer_0 = getattr(self.layer, "0")(add, scale = y);  add = y = None\n'
        "    clip = layer_0.clip(0.0, max = inf);  layer_0 = None\n"
        "    sin : float = weft.sin(clip);  clip = None\n"
        "    inv = weft.linalg.inv(sin);  sin = None\n"
        "    interp = numpy.interp(inv, [1, 2], [3, 4]);  inv = None\n"
        "    getattr_1 = interp.shape\n"
        "    getitem = interp[1:, None, ..., ::2];  interp = None\n"
        "    print_1 = print(_args);  _args = print_1 = None\n"
        "    return (getitem, getattr_1, {'k': _kwargs})\n"
    )


def test_empty_graphs() -> None:
    graph = weft.Graph()
    assert graph.python_code("root").src == "def forward(root):\n    pass\n"
    graph.output(None)
    assert graph.python_code().src == "def forward(self):\n    return None\n"


def test_lines_lead_back_to_nodes() -> None:
    gm = weft.symbolic_trace(lambda x: weft.sin(x) + 1)
    code = gm.graph.python_code(verbose=True)
    lines = code.src.splitlines()
    assert {node.name for node in code.lines.values()} == {"sin", "add", "output"}
    for number, node in code.lines.items():
        assert lines[number - 1].strip().startswith("return" if node.op == "output" else f"{node.name} = ")


def test_verbose_shows_source_and_shape() -> None:
    def program(x: Any) -> Any:
        y = weft.sin(x)
        return y + 1

    gm = weft.symbolic_trace(program)
    gm.graph.find_nodes(op="call_function")[0].meta["type"] = weft.spec((2,), "float32")
    text = gm.graph.python_code(verbose=True).src
    assert "in program: y = weft.sin(x)\n    sin = weft.sin(x);  x = None  # float32[2]\n" in text
    assert text.count("in program: return y + 1\n") == 1


# Meaning


INFIX = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"]
COMPARE = ["lt", "le", "eq", "ne", "gt", "ge", "contains", "is_", "is_not"]


class Recorder:
    """Answers every operator by saying which one it was."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _record(name: str) -> Any:
    return lambda self, *args: (name, *(None if isinstance(a, Recorder) else a for a in args))


for _name in INFIX:
    _plain = _name.rstrip("_")
    for _prefix in ("", "r", "i"):
        setattr(Recorder, f"__{_prefix}{_plain}__", _record(_prefix + _plain))
for _name in ("neg", "pos", "invert", "lt", "le", "eq", "ne", "gt", "ge", "getitem"):
    setattr(Recorder, f"__{_name}__", _record(_name))
Recorder.__contains__ = lambda self, item: item == 3  # type: ignore[attr-defined]
Recorder.__hash__ = object.__hash__  # type: ignore[method-assign]


@pytest.mark.parametrize("name", [*INFIX, *COMPARE, *(f"i{name.rstrip('_')}" for name in INFIX), "getitem"])
@pytest.mark.parametrize("other", [3, -3, None])
@pytest.mark.parametrize("swap", [False, True])
def test_operators(name: str, other: Any, swap: bool) -> None:
    function = getattr(operator, name)
    args = (Recorder(), other)
    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(function, (other, x) if swap else (x, other)))
    try:
        expected = function(*(args[::-1] if swap else args))
    except TypeError:
        with pytest.raises(TypeError):
            compiled(graph)(None, args[0])
        return
    assert compiled(graph)(None, args[0]) == expected


@pytest.mark.parametrize("name", ["neg", "pos", "invert", "not_", "truth", "index", "abs"])
@pytest.mark.parametrize("value", [5, -5])
def test_prefix_operators(name: str, value: int) -> None:
    function = getattr(operator, name)
    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(function, (x,)), graph.call_function(function, (value,))))
    assert compiled(graph)(None, value) == (function(value), function(value))


def test_powers_of_negative_constants() -> None:
    graph = call(operator.pow, 2)
    graph.find_nodes(op="call_function")[0].args = (-1, graph.find_nodes(op="placeholder")[0])
    assert body(graph)[0] == "pow_1 = (-1) ** x;  x = None"
    assert compiled(graph)(None, 2) == 1


def test_in_place_operators_leave_the_name_alone() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(operator.iadd, (x, 2)), x))
    assert compiled(graph)(None, 1) == (3, 1)
    array = np.ones(2)
    changed, same = compiled(graph)(None, array)
    assert changed is array is same
    assert array.tolist() == [3, 3]


def test_setitem() -> None:
    graph = weft.Graph()
    x = graph.placeholder("x")
    done = graph.call_function(operator.setitem, (x, (slice(1, None),), 5))
    graph.output((x, done))
    assert body(graph)[0] == "x[1:,] = 5;  setitem = None"
    assert compiled(graph)(None, np.zeros(3))[0].tolist() == [0, 5, 5]
    graph.output_node().args = (x,)
    assert body(graph)[0] == "x[1:,] = 5"


LITERALS = [
    *(0, -1, 10**30, -(2**5000), True, None, ..., NotImplemented),
    *(0.1, -0.0, 1e300, math.inf, -math.inf),
    *(1 + 2j, complex(-0.0, -1), complex(math.inf, 0)),
    *("", 'it\'s "quoted"\n\\', "é\u2028\ud800", "'); import os #", b"a\x00'"),
    *((), (1,), (1, (2, [3])), [], [[]], {}, {"a": {"b": [1]}, (1, 2): 3, None: 4}),
    *({1, 2}, set(), {"b", "a"}, frozenset(), frozenset({1})),
    *(slice(1, None), slice(None), range(3), range(5, 0, -2)),
    *(int, list, np.float32, np.ndarray, Pair, type(None), list[int], tuple[int, ...], Literal["a"]),
    *(np.float32(0.1), np.float16(3), np.int64(-2), np.uint8(255), np.bool(True), np.complex64(1 - 2j)),
    *(np.str_("s"), np.datetime64("2020-01-01"), np.float64(math.inf), np.longdouble(1) / 3),
    *(np.dtype("float32"), np.dtype(">i4"), np.dtype("bool"), np.dtype([("a", "f4")]), np.dtype("S3")),
    *(Colour.RED, Level.LOW, Access.READ | Access.WRITE, Access(0)),
    *(Pair(1, Pair("a", None)), Box(1, [Box(2, None)])),
    *(len, operator.add, np.sin, np.linalg.inv, weft.sin, math.sqrt, keep, np.maximum),
]


@pytest.mark.parametrize("value", LITERALS, ids=lambda value: type(value).__name__)
def test_literals_keep_value_and_type(value: Any) -> None:
    graph = call(keep, value, [value], key={"k": (value,)})
    args, kwargs = compiled(graph)(None, 0)
    for got in (args[0], args[1][0], kwargs["key"]["k"][0]):
        assert type(got) is type(value)
        # The text of a set follows its order, which changes from run to run.
        assert repr(got) == repr(value) or isinstance(value, set | frozenset)
        assert got == value or got != got


def test_nan() -> None:
    ((got,), _) = compiled(call(keep, math.nan))(None, 0)
    assert math.isnan(got)


def test_values_without_a_spelling_are_bound_as_they_are() -> None:
    array, thing = np.arange(3), object()
    graph = call(keep, array, thing, lambda: 1)
    args, _ = compiled(graph)(None, 0)
    assert args[0] is array
    assert args[1] is thing
    assert args[2]() == 1


def test_containers_arrive_mutable() -> None:
    args, _ = compiled(call(keep, [1], {"a": 1}))(None, 0)
    assert type(args[0]) is list
    assert type(args[1]) is dict


def test_nodes_inside_containers() -> None:
    graph = weft.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    graph.output(graph.call_function(keep, (0, [x, (y,)], {"k": slice(x, y)}, Pair(x, 1), Box(2, y))))
    args, _ = compiled(graph)(None, 5, 6)
    assert args == ([5, (6,)], {"k": slice(5, 6)}, Pair(5, 1), Box(2, 6))


@pytest.mark.parametrize("name", ["plain", "with space", "lambda", "a'b", "__private", "0", "né", "\ufb01", "x\n", ""])
def test_odd_names_of_keywords_methods_and_attributes(name: str) -> None:
    class Loose:
        def __getattribute__(self, asked: str) -> Any:
            return lambda *args: (asked, args)

    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output(
        (
            graph.call_function(keep, (x,), {name: 1}),
            graph.call_method(name, (x, 2)),
            graph.call_function(getattr, (x, name)),
        )
    )
    (_, kwargs), method, attribute = compiled(graph)(None, Loose())
    assert kwargs == {name: 1}
    assert method == (name, (2,))
    assert attribute()[0] == name


@pytest.mark.parametrize("target", ["a", "a.b", "layer.0", "a.with space.b", "a.class", "a.__secret", "it's.x"])
def test_paths(target: str) -> None:
    class Root:
        pass

    root = owner = Root()
    *path, last = target.split(".")
    for part in path:
        setattr(owner, part, Root())
        owner = getattr(owner, part)
    setattr(owner, last, lambda x: x + 1)
    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output((graph.get_attr(target), graph.call_module(target, (x,))))
    attribute, called = compiled(graph)(root, 1)
    assert attribute(1) == called == 2


@pytest.mark.parametrize(
    "name", ["weft", "numpy", "inf", "getattr", "range", "slice", "len", "keep", "math", "input_1"]
)
def test_names_of_inputs_shadow_nothing(name: str) -> None:
    graph = weft.Graph()
    x, y = graph.placeholder("input"), graph.placeholder(name)
    used = graph.call_function(keep, (x, math.inf, range(2), slice(1), np.float32(2), complex(0, 1)))
    rest = [graph.call_function(f, (y,)) for f in (weft.sin, np.cos, len, math.sqrt)]
    odd = graph.call_function(getattr, (y, "not valid", 7))
    graph.output((used, rest[:2], odd, y, x))
    for node in rest[2:]:
        graph.erase_node(node)
    (args, _), (sin, cos), seven, same, first = compiled(graph)(None, "in", 0.5)
    assert args == (math.inf, range(2), slice(1), np.float32(2), 1j)
    assert (float(sin), float(cos)) == (math.sin(0.5), math.cos(0.5))
    assert (seven, same, first) == (7, 0.5, "in")


def test_two_functions_of_one_name() -> None:
    def make(value: int) -> Callable[[Any], int]:
        def function(x: Any) -> int:
            return value

        return function

    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output([graph.call_function(make(i), (x,)) for i in range(3)])
    assert compiled(graph)(None, 0) == [0, 1, 2]


def test_a_function_does_not_take_the_name_of_a_builtin() -> None:
    def mine(x: Any) -> str:
        return "mine"

    mine.__name__ = mine.__qualname__ = "len"
    mine.__module__ = None  # type: ignore[assignment]
    graph = weft.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(mine, (x,)), graph.call_function(len, (x,))))
    assert "len(x)" in body(graph)[1]
    assert "= len(x)" not in body(graph)[0]
    assert compiled(graph)(None, "abc") == ("mine", 3)


def test_code_is_the_same_every_time() -> None:
    graph = call(keep, {"b", "a", "c"}, lambda: 0, lambda: 1)
    assert graph.python_code().src == graph.clone().python_code().src


@pytest.mark.parametrize("name", ["a b", "x; import os", "x=1", *keyword.kwlist[:3], "", "self", "\ufb01"])
def test_names_that_are_no_names_are_refused(name: str) -> None:
    graph = call(keep)
    graph.find_nodes(op="call_function")[0].name = name
    with pytest.raises(GraphError, match="cannot name a variable"):
        graph.python_code()


def test_inputs_that_are_no_names_are_refused() -> None:
    graph = weft.Graph()
    graph.placeholder("x=print('gotcha')")
    with pytest.raises(GraphError, match="cannot name a parameter"):
        graph.python_code()
    with pytest.raises(GraphError, match="cannot name a parameter"):
        weft.Graph().python_code("self, x")


def test_duplicates_are_refused() -> None:
    graph = weft.Graph()
    graph.placeholder("x").target = graph.placeholder("y").target
    with pytest.raises(GraphError, match="placeholders y and x are both called 'y'"):
        graph.python_code()
    graph = call(keep)
    graph.find_nodes(op="call_function")[0].name = "x"
    with pytest.raises(GraphError, match="two nodes are named 'x'"):
        graph.python_code()


def test_comments_cannot_be_left() -> None:
    graph = call(operator.neg)
    source = "x = 1\n" * 3
    code = compile(source, "evil\nimport os.py", "exec")
    node = graph.find_nodes(op="call_function")[0]
    node._position = (code, 0, None)
    text = graph.python_code(verbose=True).src
    assert len(text.splitlines()) == 4
    compile(text, "<test>", "exec")


# Inputs


def test_a_function_may_have_a_parameter_self() -> None:
    graph = weft.Graph()
    graph.output(graph.placeholder("self"))
    assert compiled(graph)("root", "value") == "value"


def test_inputs_without_default_after_those_with_one() -> None:
    graph = weft.Graph()
    x, y, z = graph.placeholder("x"), graph.placeholder("y", default_value=2), graph.placeholder("z")
    graph.output((x, y, z))
    assert graph.python_code().src.startswith("def forward(self, x, y = 2, *, z):")
    assert compiled(graph)(None, 1, z=3) == (1, 2, 3)


def test_keyword_only_after_starred() -> None:
    def program(x: Any, y: Any = 2, *args: Any, k: Any, **kwargs: Any) -> Any:
        return x, y, args[0], k, kwargs["z"]

    gm = weft.symbolic_trace(program)
    assert gm(1, 5, 6, k=7, z=8) == program(1, 5, 6, k=7, z=8)


ANNOTATIONS = [int, np.ndarray, list[int], int | None, "np.ndarray", Literal["a"], None, tuple[()], int | list[str]]
ANNOTATIONS += [Callable[[int], str], Optional[Literal["a"]], dict[str, tuple[int, ...]]]  # noqa: UP045  # the old way


@pytest.mark.parametrize("annotation", ANNOTATIONS, ids=str)
def test_annotations_evaluate(annotation: Any) -> None:
    graph = weft.Graph()
    x = graph.placeholder("x", type_expr=annotation)
    graph.output(graph.call_function(keep, (x,), type_expr=annotation), type_expr=annotation)
    expected = {} if annotation is None else {"x": annotation, "return": annotation}
    assert compiled(graph).__annotations__ == expected


# Memory


def test_values_are_released_after_their_last_use() -> None:
    alive: list[int] = []
    count = 0

    class Value:
        def __init__(self) -> None:
            nonlocal count
            count += 1

        def __del__(self) -> None:
            nonlocal count
            count -= 1

    def step(x: Any) -> Value:
        alive.append(count)
        return Value()

    graph = weft.Graph()
    node = graph.placeholder("x")
    for _ in range(6):
        node = graph.call_function(step, (node,))
    graph.output(node)
    compiled(graph)(None, None)
    assert max(alive) <= 1
