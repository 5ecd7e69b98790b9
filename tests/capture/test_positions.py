"""Every node knows its line, column and variable; it costs a tuple until somebody asks."""

from __future__ import annotations

# ruff: noqa: RET504, E702  # variables assigned and lines shared on purpose: they are what is tested
import inspect
from typing import Any

import weft


def helper(v: Any) -> Any:
    return v * 3


class Inner(weft.nn.Module):
    def forward(self, x: Any) -> Any:
        squared = x * x
        return squared


class Outer(weft.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: Any) -> Any:
        y = self.inner(x)
        return helper(y) + 1


def by_name(gm: weft.GraphModule) -> dict[str, Any]:
    return {node.name: node for node in gm.graph.nodes}


def line_of(function: Any, text: str) -> int:
    lines, start = inspect.getsourcelines(function)
    return next(start + i for i, line in enumerate(lines) if text in line)


def test_line_column_and_text() -> None:
    def f(x: Any) -> Any:
        é = weft.sin(x); late = weft.cos(é) + 2  # fmt: skip
        return late

    nodes = by_name(weft.symbolic_trace(f))
    line = line_of(f, "late = ")
    for name, text in [("sin", "weft.sin(x)"), ("cos", "weft.cos(é)"), ("add", "weft.cos(é) + 2")]:
        place = nodes[name].location
        source = inspect.getsource(f).splitlines()[1]
        assert (place.line, place.end_line) == (line, line)
        assert source[place.column - 1 : place.end_column - 1] == text
        assert place.file == __file__
        assert place.function == "f"
    assert nodes["sin"].variable == "é"
    assert nodes["cos"].variable is None
    assert nodes["add"].variable == "late"


def test_multi_line_expressions() -> None:
    def f(x: Any) -> Any:
        y = weft.add(
            x,
            1,
        )
        return y

    place = by_name(weft.symbolic_trace(f))["add"].location
    assert place.line == line_of(f, "weft.add(")
    assert place.end_line == place.line + 3
    assert place.variable == "y"


def test_variables_of_every_kind_of_assignment() -> None:
    class Box:
        value: Any = None

    box = Box()

    def f(x: Any) -> Any:
        plain = x + 1
        box.value = plain + 2
        plain += 3
        first, second = plain
        if (walrus := first - second) is None:
            return None
        annotated: Any = walrus * 2
        cell = annotated * 4
        return (lambda: cell)()

    gm = weft.symbolic_trace(f)
    found = [n.variable for n in gm.graph.nodes if n.op == "call_function"]
    assert found == ["plain", "box.value", "plain", "first", "second", "walrus", "annotated", "cell"]


def test_inputs_and_output_have_places_too() -> None:
    def f(
        first: Any,
        *rest: Any,
    ) -> Any:
        return first + rest[0]

    nodes = by_name(weft.symbolic_trace(f))
    assert nodes["first"].variable == "first" and nodes["_rest"].variable == "rest"
    assert nodes["first"].location.line == line_of(f, "def f(")
    assert nodes["output"].location.line == line_of(f, "return first")


def test_stack_goes_through_modules_and_helpers() -> None:
    gm = weft.symbolic_trace(Outer())
    nodes = by_name(gm)
    squared = nodes["mul"]
    assert squared.variable == "squared"
    assert squared.stack_trace is not None
    first, second = [i for i, text in enumerate(squared.stack_trace.splitlines()) if "File" in text]
    assert "in forward" in squared.stack_trace.splitlines()[first]
    assert squared.stack_trace.splitlines()[first + 1].strip() == "y = self.inner(x)"
    assert squared.stack_trace.splitlines()[second + 1].strip() == "squared = x * x"
    tripled = nodes["mul_1"].stack_trace
    assert tripled is not None
    assert [line.strip() for line in tripled.splitlines()[1::2]] == ["return helper(y) + 1", "return v * 3"]
    assert list(squared.meta["nn_module_stack"]) == ["inner"]


def test_a_users_tracer_is_not_the_program() -> None:
    class Mine(weft.Tracer):
        def create_node(self, *args: Any, **kwargs: Any) -> Any:
            return super().create_node(*args, **kwargs)

        def create_proxy(self, *args: Any, **kwargs: Any) -> Any:
            return super().create_proxy(*args, **kwargs)

    def f(x: Any) -> Any:
        y = weft.exp(x)
        return y

    graph = Mine().trace(f)
    place = next(n for n in graph.nodes if n.target is weft.exp).location
    assert place is not None
    assert (place.line, place.variable) == (line_of(f, "weft.exp"), "y")


def test_edits_keep_the_origin() -> None:
    def f(x: Any) -> Any:
        hidden = weft.relu(x)
        return hidden + 1

    gm = weft.symbolic_trace(f)
    relu = by_name(gm)["relu"]
    with gm.graph.inserting_after(relu):
        gelu = gm.graph.call_function(weft.gelu, (relu.args[0],))
    relu.replace_all_uses_with(gelu)
    gm.graph.erase_node(relu)
    assert gelu.location is not None and gelu.location.variable == "hidden"
    (origin,) = gelu.meta["from"]
    assert origin.name == "relu"
    assert origin.location is not None and origin.location.line == line_of(f, "hidden =")


def test_copies_keep_the_origin() -> None:
    def f(x: Any) -> Any:
        hidden = weft.relu(x)
        return hidden

    gm = weft.symbolic_trace(f)
    copy = weft.Graph()
    copy.output(copy.graph_copy(gm.graph, {}))
    relu = next(n for n in copy.nodes if n.name == "relu")
    assert relu.variable == "hidden"
    assert [o.name for o in relu.meta["from"]] == ["relu"]


@weft.wrap
def halved(x):
    return x / 2


def test_the_variable_of_a_call_of_a_python_function():
    def f(x):
        half = halved(x)
        return half

    assert [node.variable for node in weft.symbolic_trace(f).graph.nodes] == ["x", "half", None]


def test_an_attribute_stands_where_it_was_read():
    def f(x):
        turned = x.T
        rows, columns = x.shape
        return rows, columns, turned

    nodes = {node.name: node for node in weft.symbolic_trace(f).graph.nodes}
    turned = next(node for node in nodes.values() if "T" in node.args)
    shape = next(node for node in nodes.values() if "shape" in node.args)
    assert (turned.variable, turned.location.text) == ("turned", "turned = x.T")
    assert (shape.variable, shape.location.text) == (None, "rows, columns = x.shape")
    assert nodes["getitem"].variable == "rows"


def test_columns_without_source():
    scope = {}
    exec("def f(x):\n    y = x + 1\n    return y\n", scope)
    place = list(weft.symbolic_trace(scope["f"]).graph.nodes)[1].location
    assert (place.line, place.column, place.end_column, place.text) == (2, 9, 14, "")
