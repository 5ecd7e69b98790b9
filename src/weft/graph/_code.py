"""Graphs as Python: a `forward` function that does what the graph says.

    def forward(self, x, y = 2):
        param = self.param
        add = x + param;  x = param = None
        return add

The text is meant for reading and for running: compiled with the globals that come with it, it gives what running the
graph node by node gives. A value is released after its last use.
"""

from __future__ import annotations

import builtins
import operator
import sys
from dataclasses import dataclass, field
from itertools import takewhile
from types import ModuleType
from typing import TYPE_CHECKING, Any

from weft.errors import GraphError
from weft.graph._code_program import is_structured
from weft.graph._codegen import transformed
from weft.graph._effects import managers_of
from weft.graph._inputs import Inputs
from weft.graph._literals import Literals, is_name, is_variable
from weft.graph._node import Node
from weft.graph._print import known_type, one_line
from weft.ops.logic import choose
from weft.pytree import LEAF

if TYPE_CHECKING:
    from weft.graph._graph import Graph

_INFIX = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.lshift: "<<",
    operator.rshift: ">>",
    operator.lt: "<",
    operator.le: "<=",
    operator.eq: "==",
    operator.ne: "!=",
    operator.gt: ">",
    operator.ge: ">=",
}
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~", operator.not_: "not "}
_IN_PLACE = {
    getattr(operator, f"i{function.__name__.rstrip('_')}"): f"{sign}="
    for function, sign in _INFIX.items()
    if sign[0] not in "=!" and function not in (operator.lt, operator.le, operator.gt, operator.ge)
}
_MISSING: Any = object()

MAKES_TUPLE = "__weft_makes_tuple__"
"""The attribute of a function that does nothing but make a tuple of its arguments: it is written as one."""


@dataclass(frozen=True)
class PythonCode:
    """Source of a function, the globals it needs, and which node each line of it comes from."""

    src: str
    globals: dict[str, Any]
    lines: dict[int, Node] = field(default_factory=dict)

    @property
    def imports(self) -> str:
        """Lines that bring the globals into a file of its own; those that cannot be imported are left out."""
        made = []
        for name, value in sorted(self.globals.items()):
            if isinstance(value, ModuleType):
                made.append(f"import {name}" if value.__name__ == name else f"import {value.__name__} as {name}")
                continue
            if isinstance(value, float) and name in ("inf", "nan"):
                made.append(f"from math import {name}")
                continue
            owner = getattr(value, "__objclass__", None)
            if getattr(builtins, getattr(owner, "__name__", ""), None) is owner and owner is not None:
                made.append(f"{name} = {owner.__name__}.{value.__name__}")
                continue
            home = getattr(value, "__module__", None) or ""
            own = getattr(value, "__qualname__", "")
            if home in ("", "builtins", "__main__") or getattr(sys.modules.get(home), own, None) is not value:
                continue
            made.append(f"from {home} import {own}" + ("" if own == name else f" as {name}"))
        return "".join(f"{line}\n" for line in made)

    @property
    def text(self) -> str:
        """The function as the text of a file: with its imports above it."""
        return f"{self.imports}\n{self.src}" if self.imports else self.src


def python_code(graph: Graph, root_module: str = "self", *, verbose: bool = False, in_place: bool = True) -> PythonCode:
    """Write the graph as a function of `root_module` and its inputs.

    Updates of arrays are written in place where nothing can tell the difference, unless `in_place` is False.
    """
    if not is_structured(graph):
        writer = Writer(graph, root_module, verbose)
    else:
        from weft.graph._code_blocks import BlockWriter  # which builds on this file

        writer = BlockWriter(graph, root_module, verbose, in_place)
    code = writer.write()
    for manager in managers_of(graph):
        code = _within(code, writer.head, f"{writer.literal(manager)}()")
    return code if graph._body_transform is None else transformed(code, writer.head, graph._body_transform)


def _within(code: PythonCode, head: int, manager: str) -> PythonCode:
    """The code with all behind its first lines in a `with`."""
    lines = code.src.split("\n")
    inside = [f"    {line}" if line else line for line in lines[head:]]
    src = "\n".join([*lines[:head], f"    with {manager}:", *inside])
    return PythonCode(src, code.globals, {line + (line > head): node for line, node in code.lines.items()})


class Writer:
    """Writes a graph one line for each node."""

    def __init__(self, graph: Graph, root_module: str, verbose: bool) -> None:
        if not is_variable(root_module):
            raise GraphError(f"python_code: {root_module!r} cannot name a parameter")
        self.graph = graph
        self.root = root_module
        self.verbose = verbose
        self.nodes = list(graph.nodes)
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.inputs: Inputs | None = graph.signature
        self._check_names()
        parameters = [str(node.target).lstrip("*") for node in self.placeholders]
        self.reserved = {root_module, *parameters, *(self.inputs.names if self.inputs else ())}
        self.literal = Literals(self.reserved | {node._name for node in self.nodes})
        self.lines: list[str] = []
        self.line_nodes: dict[int, Node] = {}
        self.head = 1  # how many lines come before those of the graph
        self._said: tuple[str, int] | None = None

    def write(self) -> PythonCode:
        """The function, its globals, and the node of each line."""
        self._begin()
        released = self._last_uses()
        for node in self.nodes:
            if node.op == "placeholder":
                continue
            if self.verbose:
                self._source_comment(node)
            text = self._statement(node)
            free = released.get(node)
            if free:
                text += f";  {' = '.join(free)} = None"
            if self.verbose and node.op != "output" and (shape := known_type(node)):
                text += f"  # {one_line(shape)}"
            self.lines.append(f"    {text}")
            self.line_nodes[len(self.lines)] = node
        if len(self.lines) == 1:
            self.lines.append("    pass")
        return PythonCode("\n".join(self.lines) + "\n", self.literal.globals, self.line_nodes)

    def _begin(self) -> None:
        """The line with the parameters, and those that bring them under the names of their nodes."""
        parameters, opening = self._parameters() if self.inputs is None else self._nested_parameters(self.inputs)
        output = next((node for node in reversed(self.nodes) if node.op == "output"), None)
        returns = "" if output is None or output.type is None else f" -> {self.literal.annotation(output.type)}"
        if self.graph._codegen is None:
            first = [f"def forward({', '.join([self.root, *parameters])}){returns}:"]
        else:
            first = self.graph._codegen.gen_fn_def(parameters, returns).rstrip("\n").split("\n")
            self.literal.globals.update(self.graph._codegen.additional_globals())
        self.head = len(first)
        self.lines = [*first, *opening]

    # Inputs

    def _parameters(self) -> tuple[list[str], list[str]]:
        """The parameter list, and the lines that bring parameters under the names of their nodes."""
        parameters: list[str] = []
        renamed: dict[str, str] = {}  # node → parameter
        keyword_only = optional = False
        for node in self.placeholders:
            parameter = self._parameter_name(node)
            default = _default(node)
            stars = _stars(node)
            if not keyword_only and not stars and optional and default is _MISSING:
                # Python wants values without default first; what follows can only be given by name.
                parameters.append("*")
                keyword_only = True
            keyword_only = keyword_only or stars == "*"
            optional = optional or default is not _MISSING
            parameters.append(self._parameter(stars + parameter, node.type, default))
            if parameter != node.name:
                renamed[node.name] = parameter
        if renamed.keys() & set(renamed.values()):
            # One after the other, `input_1 = input` would overwrite a parameter input_1 before it is read.
            return parameters, [f"    {', '.join(renamed)} = {', '.join(renamed.values())}"]
        return parameters, [f"    {name} = {parameter}" for name, parameter in renamed.items()]

    def _nested_parameters(self, inputs: Inputs) -> tuple[list[str], list[str]]:
        """Parameters as the user wrote them, and the line that flattens them."""
        if inputs.leaf_count != len(self.placeholders):
            raise GraphError(
                f"python_code: {len(self.placeholders)} placeholders, but a signature of {inputs.leaf_count} leaves",
                help="set graph.signature to None to make every placeholder a parameter",
            )
        remaining = iter(self.placeholders)
        described: list[tuple[str, Any, Any, str]] = []
        for number, positions in inputs.leaves():
            nodes = [None if position in inputs.constants else next(remaining) for position in positions]
            name, annotation, default, stars = inputs.names[number].lstrip("*"), None, _MISSING, ""
            if inputs.trees[number] == LEAF and nodes[0] is not None:
                node = nodes[0]
                annotation, default, stars = node.type, _default(node), _stars(node)
            elif inputs.names[number].startswith("*"):
                stars = "*" * inputs.names[number].count("*")
            elif not any(nodes):
                default = inputs.trees[number].unflatten([inputs.constants[position] for position in positions])
            if not is_variable(name) or name == self.root:
                raise GraphError(f"python_code: {inputs.names[number]!r} cannot name a parameter")
            described.append((stars + name, annotation, default, name))
        parameters: list[str] = []
        for at, (label, annotation, default, _) in enumerate(described):
            positional = takewhile(lambda item: not item[0].startswith("*"), described[at + 1 :])
            by_name = any(item[0].startswith("*") for item in described[:at])
            required = not by_name and any(item[2] is _MISSING for item in positional)
            parameters.append(self._parameter(label, annotation, _MISSING if required else default))
        names = [name for *_, name in described]
        flatten = f"{self.literal.bound(inputs, '_inputs')}.flatten({', '.join(names)})"
        targets = ", ".join(node.name for node in self.placeholders)
        kept = {node.name for node in self.placeholders}
        spare = [name for name in names if name not in kept]
        line = f"    {targets}{',' if len(kept) == 1 else ''} = {flatten}" if kept else f"    {flatten}"
        return parameters, [line + (f";  {' = '.join(spare)} = None" if spare else "")]

    def _parameter(self, label: str, annotation: Any, default: Any) -> str:
        text = label if annotation is None else f"{label} : {self.literal.annotation(annotation)}"
        return text if default is _MISSING else f"{text} = {self.literal(default)}"

    def _parameter_name(self, node: Node) -> str:
        name = str(node.target).lstrip("*")
        return node.name if name == self.root else name

    def _check_names(self) -> None:
        seen: dict[str, Node] = {}
        targets: dict[str, Node] = {}
        for node in self.nodes:
            name = node._name
            if not is_variable(name) or name == self.root:
                raise GraphError(f"python_code: {name!r} cannot name a variable", help="rename the node")
            if name in seen:
                raise GraphError(f"python_code: two nodes are named {name!r}", help="rename one of them")
            seen[name] = node
        for node in self.placeholders:
            target = node.target.lstrip("*") if isinstance(node.target, str) else node.target
            if not is_variable(target):
                raise GraphError(f"python_code: placeholder {node.name}: {node.target!r} cannot name a parameter")
            if target in targets:
                raise GraphError(
                    f"python_code: placeholders {targets[target].name} and {node.name} are both called {target!r}"
                )
            targets[target] = node

    # Statements

    def _statement(self, node: Node) -> str:
        if node.op == "output":
            return f"return {self.literal(node.args[0] if node.args else None)}"
        return self._line(node, node.name, node.args, node.kwargs)

    def _line(self, node: Node, name: str, args: tuple[Any, ...], kwargs: Any) -> str:
        """The statement that gives a variable the value of a node."""
        if node.op == "call_function" and not kwargs:
            special = self._write_in_place(node, name, args)
            if special is not None:
                return special
        annotation = "" if node._type is None else f" : {self.literal.annotation(node._type)}"
        return f"{name}{annotation} = {self._expression(node, args, kwargs)}"

    @staticmethod
    def _is_item_write(node: Node) -> bool:
        """Whether the node is written `x[i] = v`."""
        args = node.args
        return node.target is operator.setitem and len(args) == 3 and isinstance(args[0], Node) and not node.kwargs

    def _write_in_place(self, node: Node, name: str, args: tuple[Any, ...]) -> str | None:
        """`x[i] = v` and `x += y`, which are statements; None for any other call."""
        target = node.target
        if self._is_item_write(node):
            value = f";  {name} = None" if node.users else ""
            return f"{self._receiver(args[0])}[{self.literal.subscript(args[1])}] = {self.literal(args[2])}{value}"
        sign = _IN_PLACE.get(target) if len(args) == 2 and _hashable(target) else None
        if sign is None:
            return None
        # Not `x += y`: where x cannot change in place, its own name must go on meaning the old value.
        before = self.literal(args[0])
        begin = "" if before == name else f"{name} = {before};  "
        return f"{begin}{name} {sign} {self.literal(args[1])}"

    def _expression(self, node: Node, args: tuple[Any, ...], kwargs: Any) -> str:
        if node.op == "get_attr":
            return self._path(node.target)
        if node.op == "call_module":
            return f"{self._path(node.target)}({self._arguments(args, kwargs)})"
        if node.op == "call_method":
            if not args:
                raise GraphError(f"python_code: call_method {node.name} has no object to call {node.target!r} of")
            method = self._attribute(self._receiver(args[0]), node.target)
            return f"{method}({self._arguments(args[1:], kwargs)})"
        if not kwargs:
            written = self._operator(node.target, args)
            if written is not None:
                return written
            if getattr(node.target, MAKES_TUPLE, False):
                return self.literal(tuple(args))
        return f"{self.literal.function(node.target)}({self._arguments(args, kwargs)})"

    def _operator(self, target: Any, args: tuple[Any, ...]) -> str | None:
        """The expression for a function that has its own notation; None where it has none."""
        if not _hashable(target):
            return None
        if len(args) == 2:
            if target in _INFIX:
                # Only a power binds tighter than a sign: (-1) ** x, but -1 * x and x ** -1.
                left = self._operand(args[0]) if target is operator.pow else self.literal(args[0])
                return f"{left} {_INFIX[target]} {self.literal(args[1])}"
            if target is operator.getitem and isinstance(args[0], Node):
                return f"{self.literal(args[0])}[{self.literal.subscript(args[1])}]"
            if target is getattr and is_name(args[1]):
                return self._attribute(self._receiver(args[0]), args[1])
            if target is operator.contains:
                return f"{self.literal(args[1])} in {self.literal(args[0])}"
            if target in (operator.is_, operator.is_not) and all(isinstance(a, Node) or a is None for a in args):
                return f"{self.literal(args[0])} {'is' if target is operator.is_ else 'is not'} {self.literal(args[1])}"
        if len(args) == 1 and target in _PREFIX:
            return f"{_PREFIX[target]}{self._operand(args[0])}"
        if target is choose:
            condition, one, other = map(self.literal, args)
            return f"{one} if {condition} else {other}"
        return None

    def _operand(self, value: Any) -> str:
        """A value after a sign or before a power, with its own sign in brackets."""
        text = self.literal(value)
        return f"({text})" if text.startswith("-") else text

    def _receiver(self, value: Any) -> str:
        """A value before a dot or a bracket."""
        text = self.literal(value)
        return text if isinstance(value, (Node, str, tuple, list, dict)) else f"({text})"

    def _arguments(self, args: Any, kwargs: Any) -> str:
        parts = [self.literal(arg) for arg in args]
        parts += [f"{key} = {self.literal(value)}" for key, value in kwargs.items() if is_name(key)]
        odd = {key: value for key, value in kwargs.items() if not is_name(key)}
        return ", ".join([*parts, f"**{self.literal(odd)}"] if odd else parts)

    def _attribute(self, receiver: str, name: str) -> str:
        if is_name(name):
            return f"{receiver}.{name}"
        quoted = f'"{name}"' if name.isalnum() and name.isascii() else repr(name)
        return f"{self.literal.builtin('getattr')}({receiver}, {quoted})"

    def _path(self, target: str) -> str:
        text = self.root
        for name in target.split(".") if target else ():
            text = self._attribute(text, name)
        return text

    # Comments and lifetimes

    def _source_comment(self, node: Node, indent: str = "    ") -> None:
        place = node.location
        if place is None or (place.file, place.line) == self._said:
            return
        self._said = (place.file, place.line)
        text = one_line(f"{place.file}:{place.line} in {place.function}: {place.text}".removesuffix(": "))
        self.lines += [f"{indent}# {text}"]

    def _last_uses(self) -> dict[Node, list[str]]:
        """For each node, the names that nothing reads after it."""
        released: dict[Node, list[str]] = {}
        seen: set[Node] = set()
        for node in reversed(self.nodes):
            names = [one.name for one in node._input_nodes if one not in seen]
            seen.update(node._input_nodes)
            if node.op in ("placeholder", "output"):
                continue
            if not node.users and not self._is_item_write(node):
                names.append(node.name)
            released[node] = names
        return released


def _default(node: Node) -> Any:
    return node.args[0] if node.args else _MISSING


def _stars(node: Node) -> str:
    target = str(node.target)
    return target[: len(target) - len(target.lstrip("*"))]


def _hashable(target: Any) -> bool:
    try:
        hash(target)
    except TypeError:
        return False
    return True
