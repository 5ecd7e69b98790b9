"""Values put into lists by generated code: they stay as they are, whatever is written in place around them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from body_builder import compiled, f8

import weft


def typed(graph: weft.Graph, function: Any, *args: Any) -> Any:
    node = graph.call_function(function, args)
    node.meta["type"] = f8(4)
    return node


def start() -> tuple[weft.Graph, Any, Any]:
    graph = weft.Graph()
    x = graph.placeholder("x")
    x.meta["type"] = f8(4)
    row = typed(graph, operator.mul, x, 2)
    return graph, row, graph.call_function(list, ([],), name="items")


def same(graph: weft.Graph) -> Any:
    graph.lint()
    expected = weft.Interpreter(None, graph=graph).run(np.arange(4.0))
    found = compiled(graph)(np.arange(4.0))
    np.testing.assert_equal(found, expected)
    return found


def test_a_value_is_written_in_place_until_it_is_listed() -> None:
    graph, row, items = start()
    first = typed(graph, weft.index_update, row, 0, 9.0)
    graph.call_method("append", (items, first))
    second = typed(graph, weft.index_update, first, 1, 8.0)
    graph.output((graph.call_function(np.array, (items,)), second))
    listed, last = same(graph)
    assert listed.tolist() == [[9, 2, 4, 6]] and last.tolist() == [9, 8, 4, 6]
    code = graph.python_code().src
    assert "mul[0] = 9.0" in code and code.count("index_update(") == 1


def loop(body: weft.Graph, row: Any, items: Any) -> Any:
    graph: weft.Graph = row.graph
    node = graph.call_function(weft.fori_loop, (0, 4, body, (row,), items))
    node.meta["type"] = (f8(4),)
    return typed(graph, operator.getitem, node, 0)


def test_a_carry_that_is_listed_is_not_written_in_the_next_iteration() -> None:
    graph, row, items = start()
    body = weft.Graph()
    i, carried, inner = (body.placeholder(name) for name in ("i", "carried", "inner"))
    i.meta["type"], carried.meta["type"] = int, f8(4)
    updated = typed(body, weft.index_update, carried, i, -1.0)
    body.call_method("append", (inner, updated))
    body.output((updated,))
    last = loop(body, row, items)
    graph.output((graph.call_function(np.array, (items,)), last))
    listed, _ = same(graph)
    assert listed[0].tolist() == [-1, 2, 4, 6] and listed[3].tolist() == [-1, -1, -1, -1]


def test_what_was_listed_before_a_loop_is_not_what_the_loop_writes() -> None:
    graph, row, items = start()
    graph.call_method("append", (items, row))
    body = weft.Graph()
    i, carried, _ = (body.placeholder(name) for name in ("i", "carried", "inner"))
    i.meta["type"], carried.meta["type"] = int, f8(4)
    body.output((typed(body, weft.index_update, carried, i, -1.0),))
    last = loop(body, row, items)
    graph.output((graph.call_function(np.array, (items,)), last))
    listed, last = same(graph)
    assert listed.tolist() == [[0, 2, 4, 6]] and last.tolist() == [-1, -1, -1, -1]
