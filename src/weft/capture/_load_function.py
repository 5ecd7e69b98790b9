"""A compiled function from a file, believing nothing the file says: see `weft.graph._load` and `_save_function`.

Conditions are built from the closed vocabulary of `_checks`. What they hold are values; what they call is one of the
functions of guards, or one that a graph in a file may call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from weft._objects import Space
from weft.autograd import Tensor
from weft.capture._checks import FORMS, MISS, Assigned, Checks, Condition, Expr
from weft.capture._compile import Runner
from weft.capture._guards import CHECKED
from weft.capture._loaded import LoadedEntry, LoadedFunction
from weft.capture._object_files import build
from weft.graph import Graph
from weft.graph._decode import Decoder, expect, refuse, row
from weft.graph._trusted import check_call, check_name
from weft.pytree import Tree

_PARTS = frozenset(
    {"name", "qualname", "about", "parameters", "held", "objects", "state", "grads", "entries"},
)
_ENTRY = frozenset(
    {"graph", "parameters", "steps", "inputs", "told", "static", "step", "arrays", "off_tape", "taped"},
)
_MOST = 100_000  # variables and arguments of one entry
_LONGEST = 10_000  # characters of a text
_DEEPEST = 100
_CHECKS = {name: function for function, name in CHECKED.items()}
_FACTS: dict[str, type] = {
    **dict.fromkeys(("held", "are_tensors", "reached", "counted", "slots", "shared", "written"), list),
    "needs": tuple,
    "tree": Tree,
    "draws": bool,
}
_GRAPHS = ("joint", "forward", "backward")


class FunctionReader:
    """Reads the part of a file that is about a function; its objects first, as graphs have them for constants."""

    def __init__(self, decoder: Decoder, data: dict[str, Any]) -> None:
        if data.keys() != _PARTS:
            refuse("the function does not have the parts it should have")
        self.decoder, self.data = decoder, data
        decoder.types = True
        for one in expect(data["objects"], list, "the objects"):
            decoder.objects.append(build(one, decoder))
        decoder.types = False

    def read(self, take: Callable[[Any], Graph]) -> LoadedFunction:
        """The function; `take` gives the graph of a number."""
        data, self.take = self.data, take
        self.decoder.types = True  # classes are what conditions compare with
        parameters = [self._parameter(one) for one in expect(data["parameters"], list, "the parameters")]
        try:
            signature = inspect.Signature(parameters)
        except ValueError as error:
            refuse(f"its parameters are not those of a function: {error}")
        held = tuple(self.decoder.value(one) for one in expect(data["held"], list, "what is bound to it"))
        if len(held) > len(parameters):
            refuse("more is bound to it than it takes")
        state: dict[str, Any] = {}
        for entry in expect(data["state"], list, "the state"):
            name, value = row(entry, 2, "a part of the state")
            state[_text(name)] = self.decoder.value(value)
        entries = [self._entry(one, len(parameters)) for one in expect(data["entries"], list, "the graphs")]
        if not entries:
            refuse("it has no graph")
        for entry in expect(data["grads"], list, "the gradients"):
            tensor, array = (self.decoder.value(part) for part in row(entry, 2, "a gradient"))
            if not isinstance(tensor, Tensor) or not isinstance(array, np.ndarray) or tensor.shape != array.shape:
                refuse("a gradient is not that of a tensor")
            tensor.grad = Tensor(array)
        self.decoder.types = False
        name, qualname, about = (_text(data[part]) for part in ("name", "qualname", "about"))
        return LoadedFunction(name, qualname, about, signature, held, entries, state)

    def _parameter(self, data: Any) -> inspect.Parameter:
        name, kind, default = row(data, 3, "a parameter")
        check_name(name, refuse)
        if name.startswith("_weft_") or type(kind) is not int or not 0 <= kind <= 4:
            refuse(f"{str(name)[:80]!r} is no parameter")
        kinds = {int(one): one for one in inspect._ParameterKind}
        value = inspect.Parameter.empty
        if default is not None:
            value = self.decoder.value(row(default, 1, "a default")[0])
        return inspect.Parameter(name, kinds[kind], default=value)

    # Graphs

    def _entry(self, data: Any, parameters: int) -> LoadedEntry:
        if expect(data, dict, "an entry").keys() != _ENTRY:
            refuse("an entry does not have the parts it should have")
        for flag in ("static", "step", "arrays", "off_tape"):
            expect(data[flag], bool, flag)
        graph = self.take(data["graph"])
        if data["parameters"] != parameters:
            refuse("an entry takes other parameters than the function")
        self._parameters, self._known = parameters, set[int]()
        steps = [self._step(one) for one in expect(data["steps"], list, "the conditions")]
        inputs = tuple(self._expression(one) for one in expect(data["inputs"], list, "the inputs"))
        if len(inputs) != len(graph.find_nodes(op="placeholder")):
            refuse("the inputs do not fit the placeholders")
        told = [_text(one) for one in expect(data["told"], list, "what it is for")]
        taped = None if data["taped"] is None else self._taped(expect(data["taped"], dict, "the backward"))
        runner = Runner(graph, data["arrays"], data["off_tape"], taped)
        return LoadedEntry(graph, Checks(steps, parameters, inputs), runner, told, data["static"], data["step"])

    def _step(self, data: Any) -> Any:
        if type(data) is list:
            first, many, value = row(data, 3, "a variable")
            count = 1 if many is None else many
            if type(first) is not int or type(count) is not int or not (0 <= first < _MOST and 0 < count < _MOST):
                refuse("a variable of impossible number")
            made = Assigned(first, self._expression(value), many)
            self._known |= set(range(first, first + count))
            return made
        keys = {"test", "says", "now", "told", "plain", "basic"}
        if expect(data, dict, "a condition").keys() != keys:
            refuse("a condition does not have the parts it should have")
        told = tuple(_text(one) for one in expect(data["told"], list, "the words of a condition"))
        now = None if data["now"] is None else self._expression(data["now"])
        plain, basic = (expect(data[name], bool, name) for name in ("plain", "basic"))
        return Condition(self._expression(data["test"]), _text(data["says"]), plain, basic, now=now, told=told)

    def _expression(self, data: Any, depth: int = 0) -> Expr:
        if depth > _DEEPEST:
            refuse("a condition is nested too deeply")
        if type(data) is dict:
            return Expr("held", (MISS if data.keys() == {"missing"} else self._held(data),))
        name, *parts = expect(data, list, "an expression") or [None]
        if name == "argument" or name == "variable":
            known = range(self._parameters) if name == "argument" else self._known
            if len(parts) != 1 or type(parts[0]) is not int or parts[0] not in known:
                refuse(f"an expression of an unknown {name}")
            return Expr(name, (parts[0],))
        if name == "size" or name == "part":
            inner, number = row(parts, 2, "an expression of a part")
            if type(number) is not int or not 0 <= number < _MOST:
                refuse("an expression of an impossible part")
            return Expr(name, (self._expression(inner, depth + 1), number))
        if not isinstance(name, str) or name not in _READ:
            refuse(f"a condition of unknown form {str(name)[:80]!r}")
        count = FORMS[name][1]
        if count not in (-1, len(parts)) or not parts:
            refuse(f"a condition {name!r} has {len(parts)} parts")
        if name == "call":
            return self._call(parts, depth)
        if name == "attribute":
            self._check_place(parts)
        return Expr(name, tuple([self._expression(one, depth + 1) for one in parts]))

    def _held(self, data: dict[str, Any]) -> Any:
        if data.keys() != {"held"}:
            refuse("a condition holds something of unknown form")
        return self.decoder.value(data["held"])

    def _check_place(self, parts: list[Any]) -> None:
        """Refuse to read an attribute of anything but an object that came with the file."""
        held = [expect(one, dict, "a part of a place") for one in row(parts, 2, "a place")]
        owner, name = (self._held(one) for one in held)
        if type(owner) is not Space or not isinstance(name, str) or name.startswith("__"):
            refuse("a condition reads an attribute of what did not come with the file")

    def _call(self, parts: list[Any], depth: int) -> Expr:
        """A call of a function of guards, or of one that graphs may call, as they may call it."""
        target = expect(parts[0], dict, "the function of a condition")
        given = [self._expression(one, depth + 1) for one in parts[1:]]
        name = target.get("check")
        if isinstance(name, str) and name in _CHECKS:
            return Expr("call", (Expr("held", (_CHECKS[name],)), *given))
        named = target.get("held")
        if type(named) is not dict or named.keys() != {"function"}:
            refuse("a condition calls what is no function")
        function = self.decoder.function(named["function"])
        args = tuple([one.parts[0] if one.form == "held" else one for one in given])
        check_call(function, args, {}, self.decoder.allowed.methods, refuse)
        return Expr("call", (Expr("held", (function,)), *given))

    def _taped(self, data: dict[str, Any]) -> Any:
        if data.keys() != {*_FACTS, *_GRAPHS}:
            refuse("the backward does not have the parts it should have")
        facts = {name: self.decoder.value(data[name]) for name in _FACTS}
        if not all(isinstance(facts[name], kind) for name, kind in _FACTS.items()):
            refuse("the backward does not have the parts it should have")
        graphs = {name: self.take(data[name]) for name in _GRAPHS}
        # Derivatives are made in a room above this one, which is therefore imported by name and only when needed.
        return import_module("weft.transform._taped").Taped.restored(facts, graphs)


_READ = frozenset(FORMS) - {"cell", "get", "code"}
"""The forms that a file may hold: of what was read from outside, what came with it."""


def _text(value: Any) -> str:
    text: str = expect(value, str, "a text")
    if len(text) > _LONGEST or any(ord(c) < 32 and c not in "\n\t" for c in text):
        refuse("a text that is no text for people")
    return text
