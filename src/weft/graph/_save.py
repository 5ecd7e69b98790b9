"""`save`: a Graph or GraphModule in one file that holds data only.

The file is a valid safetensors file: any reader of that format can list its arrays. Its metadata has two texts, `weft`
(the structure, as JSON) and `weft_sha256` (a digest of the structure and every array). The structure is

    {"format": 1, "weft": "0.1.0", "root": {"graph": 0} or {"module": 4}, "ops": {"relu": 1}, "strings": […],
     "places": […], "tensors": […], "graphs": [{"nodes": [[kind, name, target, args, kwargs, extras], …], …}],
     "modules": [{"class": "weft.nn.Linear", "parameters": {…}, …}]}

where `_encode` says how values are written. Functions are named, never stored. Of a node's `meta` the type, the origin,
the modules around it and plain data of your own are kept.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from weft import _safetensors, _where
from weft._module import Module
from weft._version import __version__
from weft.errors import FileError, GraphError
from weft.graph._encode import Encoder, Unsupported
from weft.graph._graph import Graph
from weft.graph._module import GraphModule
from weft.graph._node import Node
from weft.graph._trusted import (
    check_attribute,
    check_call,
    check_method,
    check_name,
    check_target,
    name_of,
    own_named_tuple,
)
from weft.ops._op import TABLE

FORMAT = 1  # of a graph or a module
FUNCTION_FORMAT = 2  # of a function with its guards and its state; the rest is as in a file of format 1
OWN_STATE = frozenset({"training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers"})
HOOKS = ("_forward_hooks", "_forward_pre_hooks")
GENERATED = frozenset({"_graph", "_generated", "_filename"})


def save(obj: Graph | GraphModule, path: str | os.PathLike[str], *, sources: bool = True) -> None:
    """Write a Graph or GraphModule to a file, whole or not at all; `weft.load` reads it.

    What cannot be saved (a lambda, an object of a class of your own) is an error before the file is touched. Without
    `sources` the lines that nodes came from, and the names of their files, stay out of it.
    """
    if not isinstance(obj, (Graph, GraphModule)):
        raise TypeError(f"save: a Graph or GraphModule is needed, not {type(obj).__name__}")
    graph = obj if isinstance(obj, Graph) else obj.graph
    if graph.holds_while:
        raise FileError(
            f"save: the graph holds while {' and '.join(graph.holds_while[:3])}, which a graph's file does not say",
            help="save the compiled function, f.save(path): its file has all graphs, and what each holds for",
        )
    writer = Writer(sources)
    with writer.nested():
        root = {"graph": writer.graph(obj)} if isinstance(obj, Graph) else {"module": writer.module(obj, "")}
        write(path, writer, root)


def write(path: str | os.PathLike[str], writer: Writer, root: dict[str, Any], **more: Any) -> None:
    """Write what was gathered."""
    text = json.dumps({**writer.structure(root), **more}, separators=(",", ":"), allow_nan=False)
    arrays = writer.encoder.arrays
    _safetensors.write(path, arrays, {"weft": text, "weft_sha256": digest(text, arrays)})


def digest(text: str, arrays: dict[str, Any]) -> str:
    """SHA-256 of the structure and of every array's name, dtype, shape and content."""
    from hashlib import sha256

    state = sha256()
    _feed(state, text.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = np.asarray(arrays[name], arrays[name].dtype.newbyteorder("<"), order="C")
        _feed(state, f"{name}\n{array.dtype.str}\n{array.shape}".encode("utf-8", "surrogatepass"))
        _feed(state, array.reshape(-1).view(np.uint8))
    return state.hexdigest()


def _feed(state: Any, data: Any) -> None:
    """Add data with its length, so that no two sequences of parts look alike."""
    state.update(len(data).to_bytes(8, "little"))
    state.update(data)


def op_version(op: Any) -> int:
    """Which meaning of an op a file is written for."""
    return int(getattr(op, "version", 1))


class Writer:
    """Gathers everything that goes into one file."""

    def __init__(self, sources: bool = True) -> None:
        self.sources = sources
        self.encoder = Encoder()
        self.graphs: list[Any] = []
        self.modules: list[Any] = []
        self.strings: dict[str, int] = {}
        self.places: dict[tuple[Any, ...], int] = {}
        self._place_numbers: dict[tuple[int, int, int | None], int] = {}
        self._module_numbers: dict[int, int | None] = {}
        self._keep: list[Any] = []

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Say in one sentence that something is nested too deeply."""
        try:
            yield
        except RecursionError:
            raise FileError("save: modules or arguments are nested too deeply") from None

    def structure(self, root: dict[str, Any]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "weft": __version__,
            "root": root,
            "ops": {name: op_version(TABLE[name]) for name in sorted(self.encoder.ops)},
            "strings": list(self.strings),
            "places": [list(place) for place in self.places],
            "tensors": self.encoder.tensors,
            "graphs": self.graphs,
            "modules": self.modules,
        }

    # Graphs

    def graph(self, graph: Graph, path: str = "") -> int:
        """Add a graph; returns its number."""
        try:
            graph.lint()
        except GraphError as error:
            raise FileError(f"save: the graph is not sound, so it cannot be saved: {error.message}") from error
        nodes = list(graph.nodes)
        encoder = self.encoder
        outer, encoder.numbers = encoder.numbers, {node: i for i, node in enumerate(nodes)}
        outside, encoder.body = encoder.body, lambda body: self._body(body, encoder.hint)
        described: dict[str, Any] = {"nodes": [self._node(node, path) for node in nodes]}
        try:
            if graph.signature is not None:
                encoder.hint = _joined(path, "inputs")
                described["inputs"] = encoder.inputs(graph.signature)
            if graph.constants:
                described["constants"] = {}
                for name, value in graph.constants.items():
                    encoder.hint = _joined(path, name)
                    described["constants"][_attribute(name)] = encoder.value(value)
        except Unsupported as error:
            raise FileError(f"save: {encoder.hint}: {error}") from None
        encoder.numbers, encoder.body = outer, outside
        self.graphs.append(described)
        return len(self.graphs) - 1

    def _body(self, body: Graph, hint: str) -> int:
        """Add a graph that a node runs: it stands before the graph of that node, and belongs to it alone."""
        number = self.graph(body, hint)
        self.encoder.hint = hint
        return number

    def _node(self, node: Node, path: str) -> list[Any]:
        encoder = self.encoder
        encoder.hint = _joined(path, f"nodes.{node.name}")
        try:
            check_name(node.name, _unsupported)
            target = self._target(node)
            args = [encoder.value(arg) for arg in node.args]
            kwargs = {check_name(key, _unsupported): encoder.value(value) for key, value in node.kwargs.items()}
            return [node.op, node.name, target, args, kwargs, self._extras(node)]
        except Unsupported as error:
            raise FileError(
                f"save: node {node.name} ({node.op}): {error}",
                where=None if node.location is None else str(node.location),
                help=_help(node, str(error)),
            ) from None

    def _target(self, node: Node) -> str:
        if node.op == "call_function":
            check_call(node.target, node.args, node.kwargs, None, _unsupported)
            return self.encoder.name(node.target)
        if node.op == "call_method":
            # A method of your own is the loader's to allow.
            check_attribute(node.target, _unsupported)
            check_method(node.target, node.kwargs, (node.target,), _unsupported)
        else:
            check_target(node.op, node.target, _unsupported)
        return str(node.target)

    def _extras(self, node: Node) -> dict[str, Any]:
        """What is known of a node beyond what it does."""
        extras: dict[str, Any] = {}
        annotation = self.encoder.annotation(node.type)
        if annotation is not None:
            extras["type"] = annotation
        if node._position is not None and self.sources:
            extras["at"] = self._place(node._position, node.location)
        meta = node._meta
        if not meta:
            return extras
        if "from" in meta:
            extras["from"] = [
                [origin.name, self._place(origin.position) if origin.position is not None and self.sources else None]
                for origin in meta["from"]
            ]
        if "nn_module_stack" in meta:
            stack = meta["nn_module_stack"]
            pairs = stack.items() if isinstance(stack, dict) else [(part, "") for part in stack]
            extras["stack"] = [[self._string(str(name)), self._string(_class_name(kind))] for name, kind in pairs]
        kept = self._plain({key: value for key, value in meta.items() if key not in ("from", "nn_module_stack")})
        if kept:
            extras["meta"] = kept
        return extras

    def _plain(self, meta: dict[Any, Any]) -> dict[str, Any]:
        """The entries that are plain data; others (and arrays) are no part of a graph's meaning and stay behind."""
        kept = {}
        for key, value in meta.items():
            try:
                data = Encoder(facts=True).value(value)
            except (Unsupported, RecursionError):
                continue
            if isinstance(key, str) and not _needs_more(data):
                kept[key] = data
        return kept

    def _place(self, position: _where.Position, found: _where.Location | None = None) -> int:
        """A place in the source (`found`, where it is known already) and the calls that led there, each stored once."""
        chain: list[_where.Position] = []
        rest: _where.Position | None = position
        while rest is not None:
            chain.append(rest)
            rest = rest[2]
        number: int | None = None
        for one in chain[:0:-1]:
            key = (id(one[0]), one[1], number)
            if key not in self._place_numbers:
                self._keep.append(one)
                self._place_numbers[key] = self._add_place(_where.locate(one), number)
            number = self._place_numbers[key]
        return self._add_place(found or _where.locate(position), number)

    def _add_place(self, place: _where.Location, outer: int | None) -> int:
        # The name of the file alone: where it lay is nobody else's business, and elsewhere it lies elsewhere.
        texts = (re.split(r"[/\\]", place.file)[-1], place.function, place.variable, place.text)
        file, function, variable, text = (None if t is None else self._string(t) for t in texts)
        span = (place.line, place.column, place.end_line, place.end_column)
        return self.places.setdefault((file, *span, function, variable, text, outer), len(self.places))

    def _string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    # Modules

    def module(self, module: Module, path: str) -> int:
        """Add a module and those below it; returns its number. One that is shared is added once."""
        if id(module) in self._module_numbers:
            number = self._module_numbers[id(module)]
            if number is None:
                raise FileError(f"save: module {path!r} contains itself")
            return number
        self._module_numbers[id(module)] = None
        described = self._describe(module, path)
        number = self._module_numbers[id(module)] = len(self.modules)
        self.modules.append(described)
        return number

    def _describe(self, module: Module, path: str) -> dict[str, Any]:
        own = module.__dict__
        where = f"module {path!r}" if path else "the module"
        for kind in HOOKS:
            if own.get(kind):
                raise FileError(
                    f"save: {where} has hooks, which cannot be saved", help="remove them first: handle.remove()"
                )
        try:
            described: dict[str, Any] = {"class": class_name(module), "training": bool(module.training)}
        except Unsupported as error:
            raise FileError(f"save: {where}: {error}", help="define the class at the top level of a module") from None
        for kind in ("_parameters", "_buffers"):
            held = {}
            for name, value in own[kind].items():
                self.encoder.hint = _joined(path, name)
                held[_attribute(name)] = self._state(value, f"{where}: {name}")
            if held:
                described[kind[1:]] = held
        if module._non_persistent_buffers:
            described["transient"] = sorted(module._non_persistent_buffers)
        children = {
            _attribute(name): None if child is None else self.module(child, _joined(path, name))
            for name, child in own["_modules"].items()
        }
        if children:
            described["modules"] = children
        if isinstance(module, GraphModule):
            described["name"] = type(module).__name__
            described["meta"] = self._plain(module.meta)
            described["graph"] = self.graph(module.graph, path)
        attributes = self._attributes(module, path, where)
        if attributes:
            described["attributes"] = attributes
        return described

    def _attributes(self, module: Module, path: str, where: str) -> dict[str, Any]:
        skipped = OWN_STATE | set(HOOKS) | (GENERATED | {"meta"} if isinstance(module, GraphModule) else set())
        attributes = {}
        for name, value in module.__dict__.items():
            if name in skipped:
                continue
            self.encoder.hint = _joined(path, str(name))
            if shadows(type(module), name):
                raise FileError(
                    f"save: {where}: attribute {name!r} replaces a method of its class, which cannot be saved"
                )
            attributes[_attribute(name)] = self._state(value, f"{where}: attribute {name!r}")
        return attributes

    def _state(self, value: Any, where: str) -> Any:
        try:
            return self.encoder.value(value)
        except Unsupported as error:
            raise FileError(f"save: {where}: {error}") from None


def class_name(module: Module) -> str:
    """How the class of a module is written: weft's own by public name, any other by import path."""
    cls = type(module)
    if isinstance(module, GraphModule):
        cls = next(base for base in cls.__mro__ if "_class_of_one_instance" not in base.__dict__)
    for name, known in own_classes().items():
        if known is cls:
            return name
    return name_of(cls, _unsupported)


def own_classes() -> dict[str, type[Module]]:
    """The classes of modules every file may name."""
    # Imported by name: the room of modules stands above this one.
    nn = importlib.import_module("weft.nn")
    found: dict[str, type[Module]] = {"weft.Module": Module, "weft.GraphModule": GraphModule}
    for name, value in vars(nn).items():
        own = isinstance(value, type) and issubclass(value, Module) and value.__module__.startswith("weft.nn")
        if own and not name.startswith("_"):
            found[f"weft.nn.{name}"] = value
    return found


def shadows(cls: type, name: str) -> bool:
    """Whether an attribute of this name would hide a method or property of the class.

    Of weft's own classes it may hide plain defaults only: from a tuple of names, say, the class reads attributes.
    """
    found = getattr(cls, name, None)
    if callable(found) or hasattr(type(found), "__get__"):
        return True
    own = cls.__module__.partition(".")[0] == "weft"
    return own and not isinstance(found, (int, float, str, type(None)))


def _attribute(name: Any) -> str:
    try:
        return check_attribute(name, _unsupported)
    except Unsupported as error:
        raise FileError(f"save: {error}") from None


def _needs_more(data: Any) -> bool:
    """Whether encoded data is not complete by itself: it names functions or classes, or refers to arrays or nodes."""
    if isinstance(data, list):
        return True  # a node
    if not isinstance(data, dict):
        return False
    ((tag, content),) = data.items()
    if tag == "struct":
        name, fields = content
        return own_named_tuple(name) is None or any(_needs_more(value) for _, value in fields)
    if tag == "dict":
        return any(_needs_more(part) for entry in content for part in entry)
    if tag in ("tuple", "list", "slice", "range", "complex"):
        return any(_needs_more(part) for part in content)
    return tag in ("array", "tensor", "enum", "function")


def _class_name(kind: Any) -> str:
    return kind if isinstance(kind, str) else str(getattr(kind, "__name__", ""))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _help(node: Node, reason: str) -> str | None:
    if "import path" in reason:
        return "define the function at the top level of a module and mark it with weft.wrap"
    return None


def _unsupported(reason: str) -> NoReturn:
    raise Unsupported(reason)


def iter_targets(nodes: Iterable[Node]) -> Iterable[tuple[Node, str]]:
    """Nodes that read or call something of their module, with the dotted name of it."""
    return ((node, str(node.target)) for node in nodes if node.op in ("get_attr", "call_module"))
