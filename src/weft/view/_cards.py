"""What a picture says of a node: its kind, its name, what it does, its shape, and where it was written."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from weft.graph import Graph, Node
from weft.graph._code import _INFIX as INFIX
from weft.graph._control import cond, fori_loop, switch, while_loop
from weft.graph._print import format_value, known_type, one_line, target_name

MAX_TEXT = 36  # characters a row shows; the tooltip has the rest


class Card(NamedTuple):
    """The texts of one node; `rows` holds what is known of it beyond its name."""

    kind: str
    name: str
    rows: tuple[str, ...]
    tooltip: str


def card_of(node: Node) -> Card:
    """Describe a node for a picture."""
    does = _DOES[node.op](node) if node.op in _DOES else str(node.target)
    shape = known_type(node)
    rows = tuple(shorten(text) for text in (does, shape, _place(node)) if text)
    return Card(node.op, node.name, rows, _tooltip(node, does, shape))


def shorten(text: str, limit: int = MAX_TEXT) -> str:
    """One printable line of at most `limit` characters."""
    text = one_line(" ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _placeholder(node: Node) -> str:
    stars = f" {node.target}" if str(node.target).startswith("*") else ""
    return f"input{stars}" + (f" = {_value(node.args[0])}" if node.args else "")


def _call_module(node: Node) -> str:
    module = _find_module(node.graph, str(node.target))
    return f"self.{node.target}" if module is None else repr(module)


def _call_function(node: Node) -> str:
    target, args = node.target, node.args
    if node.bodies and len(args) > 2 and target in _STATEMENTS:
        return _STATEMENTS[target](node)
    if len(args) == 2 and not node.kwargs:
        if target is getattr:
            return f"{_value(args[0])}.{args[1]}"
        if target is operator.getitem:
            return f"{_value(args[0])}[{_key(args[1])}]"
        sign = next((sign for function, sign in INFIX.items() if function is target), None)
        if sign is not None:
            return f"{_value(args[0])} {sign} {_value(args[1])}"
    return f"{target_name(target)}({_arguments(args, node.kwargs)})"


def _for(node: Node) -> str:
    lower, upper = node.args[:2]
    step = "" if node.kwargs.get("step", 1) == 1 else f", {_value(node.kwargs['step'])}"
    counter = next(iter(node.bodies[0].nodes), None)  # the body counts in its first input
    return f"for {counter} in range({_value(lower)}, {_value(upper)}{step})"


def _while(node: Node) -> str:
    tests = [_value(each.args[0]) for each in node.bodies[0].nodes if each.op == "output" and each.args]
    return " ".join(["while", *tests])


_STATEMENTS: dict[Any, Callable[[Node], str]] = {
    fori_loop: _for,
    while_loop: _while,
    cond: lambda node: f"if {_value(node.args[0])}",
    switch: lambda node: f"switch {_value(node.args[0])}",
}


def _call_method(node: Node) -> str:
    owner = _value(node.args[0]) if node.args else ""
    return f"{owner}.{node.target}({_arguments(node.args[1:], node.kwargs)})"


_DOES: dict[str, Callable[[Node], str]] = {
    "placeholder": _placeholder,
    "get_attr": lambda node: f"self.{node.target}",
    "call_function": _call_function,
    "call_method": _call_method,
    "call_module": _call_module,
    "output": lambda node: f"return {_value(node.args[0])}" if node.args else "return",
}


def _arguments(args: Any, kwargs: Any) -> str:
    return ", ".join([*map(_value, args), *(f"{key}={_value(value)}" for key, value in kwargs.items())])


def _value(value: Any) -> str:
    return shorten(format_value(value, percent=False), 400)


def _key(key: Any) -> str:
    """What stands between brackets: `1:, None, ...`."""
    if type(key) is tuple and key:
        return ", ".join(map(_key, key))
    if isinstance(key, slice):
        start, stop, step = ("" if part is None else _value(part) for part in (key.start, key.stop, key.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
    return "..." if key is ... else _value(key)


def _place(node: Node) -> str:
    """File, line and variable: `hidden · model.py:12`."""
    place = node.location
    if place is None:
        return ""
    text = f"{os.path.basename(place.file)}:{place.line}"
    return f"{place.variable} · {text}" if place.variable not in (None, node.name) else text


def _tooltip(node: Node, does: str, shape: str) -> str:
    lines = [f"{node.name} ({node.op})", shorten(does, 400)]
    if shape:
        lines.append(shape)
    place = node.location
    if place is not None:
        lines.append(f"{place.file}:{place.line}, in {place.function}")
        lines += [f"    {place.text}"] if place.text else []
    return "\n".join(lines)


def _find_module(graph: Graph, path: str) -> Any:
    found = graph.owning_module
    for part in path.split("."):
        found = None if found is None else getattr(found, "_modules", {}).get(part)
    return found
