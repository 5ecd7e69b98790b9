"""`load`: a Graph or GraphModule from a file, believing nothing the file says.

The container, the digest and the structure are checked in this order; then the graph is built from checked parts and
linted. Nothing of the file is run: functions come from the op table, a fixed list, or the caller's allow-list, and
modules are made without calling their constructors.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from weft import _safetensors, _where
from weft._frames import without_frames
from weft._module import Module, is_parameter
from weft.errors import FileError
from weft.graph._decode import Decoder, Invalid, expect, refuse, row
from weft.graph._graph import Graph
from weft.graph._module import GraphModule
from weft.graph._names import Names
from weft.graph._node import KINDS, Node, Origin
from weft.graph._save import (
    FORMAT,
    FUNCTION_FORMAT,
    GENERATED,
    HOOKS,
    OWN_STATE,
    digest,
    iter_targets,
    op_version,
    own_classes,
    shadows,
)
from weft.graph._trusted import (
    Allowed,
    check_attribute,
    check_call,
    check_method,
    check_name,
    check_target,
    takes_types,
)
from weft.ops._op import TABLE

MAX_BYTES = 1 << 34
HIDDEN = OWN_STATE | GENERATED | {*HOOKS}  # of a module, what no node may read and no attribute may be called

_SECTIONS = frozenset({"format", "weft", "root", "ops", "strings", "places", "tensors", "graphs", "modules"})
_MODULE_SECTIONS = frozenset(
    {"class", "training", "parameters", "buffers", "transient", "modules", "attributes", "name", "graph", "meta"}
)


@without_frames
def load(path: str | os.PathLike[str], *, allow: Iterable[Any] = (), max_bytes: int = MAX_BYTES) -> Any:
    """Read a Graph, a GraphModule or a compiled function that `save` wrote; nothing in the file is run.

    What is read can be called. A graph that calls functions or holds classes of your own needs them named in `allow`:
    the objects themselves, import paths such as `"package.module:function"`, or `".name"` for a method or an attribute
    to read. A file larger than `max_bytes` is refused unread.
    """
    allowed = Allowed(allow)
    arrays, metadata = _safetensors.read(path, max_bytes=max_bytes)
    text, given = metadata.get("weft"), metadata.get("weft_sha256")
    if text is None or given is None:
        _not_ours(path, metadata)
    if digest(text, arrays) != given:
        _fail(path, "damaged or altered: its content does not match its digest")
    reader = _Reader(allowed)
    try:
        return reader.read(text, arrays)
    except Exception as error:
        reason = str(error) if isinstance(error, Invalid) else f"its structure is not valid: {_first_line(error)}"
        where = f"{reader.where}: " if reader.where else ""
        raise FileError(f"{os.fspath(path)}: {where}{reason}", help=_help(reason)) from error


class _AsGiven(Names):
    """Gives every name that is asked for: a name may be one that weft itself would not have given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: set[str] = set()

    def create(self, candidate: str) -> str:
        """The candidate itself."""
        if candidate in self.given:
            refuse(f"two nodes are named {candidate!r}")
        self.given.add(candidate)
        return candidate


class _Reader:
    """Builds everything in one file, keeping note of what it is at for the error message."""

    def __init__(self, allowed: Allowed) -> None:
        self.allowed = allowed
        self.where = ""
        self.strings: list[str] = []
        self.places: list[_where.Position] = []
        self.modules: list[Module] = []

    def read(self, text: str, arrays: dict[str, Any]) -> Any:
        structure = _safetensors.parse_json(text)
        expect(structure, dict, "the structure")
        version = structure.get("format")
        if type(version) is int and version > FUNCTION_FORMAT:
            refuse(
                f"it is of format {version}; this version of weft reads formats up to {FUNCTION_FORMAT}: update weft"
            )
        if type(version) is not int or version < FORMAT:
            refuse(f"it is of format {version!r}; this version of weft reads formats {FORMAT} to {FUNCTION_FORMAT}")
        if structure.keys() != (_SECTIONS if version == FORMAT else _SECTIONS | {"function"}):
            refuse("its structure does not have the parts it should have")
        self._check_ops(expect(structure["ops"], dict, "the table of ops"))
        self.strings = expect(structure["strings"], list, "the table of strings")
        if not all(type(string) is str for string in self.strings):
            refuse("the table of strings holds something else")
        for number, place in enumerate(expect(structure["places"], list, "the table of places")):
            self.places.append(self._place(place, number))
        self.decoder = Decoder(arrays, structure["tensors"], structure["ops"], self.allowed)
        function = None
        if version == FUNCTION_FORMAT:
            # By name: the room of compiled functions stands above this one.
            read = importlib.import_module("weft.capture._load_function").FunctionReader
            function = read(self.decoder, expect(structure["function"], dict, "the function"))
        self.graphs: list[Graph] = []
        for number, data in enumerate(expect(structure["graphs"], list, "the table of graphs")):
            self.graphs.append(self._graph(data))
            self.decoder.bodies[number] = self.graphs[-1]
        self._unowned, self.decoder.bodies = self.decoder.bodies, {}  # those that are no bodies of others
        for number, data in enumerate(expect(structure["modules"], list, "the table of modules")):
            self.where = f"module {number}"
            self.modules.append(self._module(expect(data, dict, "a module")))
        self.where = ""
        found = self._root(structure["root"]) if function is None else self._function(structure["root"], function)
        if self.decoder.unused:
            refuse(f"array {self.decoder.unused[0]!r} is not used")
        return found

    def _function(self, root: Any, function: Any) -> Any:
        if root != {"function": 0} or self.modules:
            refuse("its root is missing")
        self._lint()
        found = function.read(self._take)
        if self._unowned:
            refuse("a graph that nothing uses")
        return found

    def _take(self, number: Any) -> Graph:
        """A graph of the function, each once, sure to read nothing but what it holds."""
        graph = self._unowned.pop(number, None) if type(number) is int else None
        if graph is None:
            refuse("a graph of the function is missing, or is that of another")
        for node, target in iter_targets(graph.nodes):
            if node.op != "get_attr" or target not in graph.constants or hasattr(GraphModule, target):
                refuse(f"{node.op} of {target!r}, which the function does not have")
        return graph

    def _root(self, root: Any) -> Any:
        last = len(self.graphs) - 1
        if root == {"graph": last} and [*self._unowned] == [last] and not self.modules:
            found: Any = self.graphs[last]
        elif self.modules and root == {"module": len(self.modules) - 1} and not self._unowned:
            found = self.modules[-1]
            if not isinstance(found, GraphModule):
                refuse("its root is not a GraphModule")
        else:
            refuse("its root is missing")
        self._lint()
        return found

    def _lint(self) -> None:
        for graph in self.graphs:
            graph.lint()

    def _check_ops(self, ops: dict[str, Any]) -> None:
        for name, version in ops.items():
            if name not in TABLE:
                refuse(f"it uses op {name!r}, which this version of weft does not have")
            if type(version) is not int or version != op_version(TABLE[name]):
                refuse(f"it uses version {version!r} of op {name!r}; this weft has version {op_version(TABLE[name])}")

    def _place(self, data: Any, number: int) -> _where.Position:
        file, line, column, end_line, end_column, function, variable, text, outer = row(
            data, 9, "a place in the source"
        )
        counts = [line, *(n for n in (column, end_line, end_column) if n is not None)]
        if not all(type(n) is int and 0 <= n < 1 << 31 for n in counts):
            refuse("a place in the source has impossible numbers")
        if outer is not None and (type(outer) is not int or not 0 <= outer < number):
            refuse("a place in the source is called from one that does not come before")
        named = None if variable is None else self._string(variable)
        place = _where.Location(
            self._string(file), line, column, end_line, end_column, self._string(function), named, self._string(text)
        )
        return (place, 0, None if outer is None else self.places[outer])

    def _string(self, number: Any) -> str:
        if type(number) is not int or not 0 <= number < len(self.strings):
            refuse("a string that is not in the table")
        return self.strings[number]

    def _place_numbered(self, number: Any) -> _where.Position:
        if type(number) is not int or not 0 <= number < len(self.places):
            refuse("a place in the source that is not in the table")
        return self.places[number]

    # Graphs

    def _graph(self, data: Any) -> Graph:
        expect(data, dict, "a graph")
        if not {"nodes"} <= data.keys() <= {"nodes", "inputs", "constants"}:
            refuse("a graph does not have the parts it should have")
        graph = Graph()
        names = graph._names = _AsGiven()
        nodes: list[Node] = []
        self.decoder.nodes = nodes
        for entry in expect(data["nodes"], list, "the nodes"):
            nodes.append(self._node(graph, entry))  # noqa: PERF401  # each node refers to those before it
        graph._names = Names.having(names.given)
        self.where = "the inputs"
        self.decoder.nodes = ()
        graph.signature = self.decoder.inputs(data.get("inputs"))
        if graph.signature is not None and graph.signature.leaf_count != sum(n.op == "placeholder" for n in nodes):
            refuse("the inputs do not fit the placeholders")
        for name, value in expect(data.get("constants", {}), dict, "the constants").items():
            self.where = f"constant {name!r}"
            graph.constants[check_attribute(name, refuse)] = self.decoder.value(value)
        self.where = ""
        return graph

    def _node(self, graph: Graph, data: Any) -> Node:
        op, name, target, args, kwargs, extras = row(data, 6, "a node")
        self.where = f"node {name if isinstance(name, str) and name.isprintable() else '?'}"[:200]
        if op not in KINDS:
            refuse(f"{op!r} is not a kind of node")
        check_name(name, refuse)
        decoder = self.decoder
        if op == "call_function":
            target = decoder.function(target)
        decoder.types = takes_types(op, target)
        values = tuple(decoder.value(arg) for arg in expect(args, list, "args"))
        named = {check_name(key, refuse): decoder.value(value) for key, value in expect(kwargs, dict, "kwargs").items()}
        decoder.types = False
        if op == "call_function":
            check_call(target, values, named, self.allowed.methods, refuse)
        elif op == "call_method":
            check_method(target, named, self.allowed.methods, refuse)
        else:
            check_target(op, target, refuse)
        node = graph.create_node(op, target, values, named, name)
        self._extras(node, expect(extras, dict, "extras"))
        return node

    def _extras(self, node: Node, extras: dict[str, Any]) -> None:
        if not extras:
            return
        if not extras.keys() <= {"type", "at", "from", "stack", "meta"}:
            refuse("a node has extras of unknown kind")
        node.type = self.decoder.annotation(extras.get("type"))
        if "at" in extras:
            node._position = self._place_numbered(extras["at"])
        meta: dict[str, Any] = {}
        if "stack" in extras:
            pairs = [row(pair, 2, "a module around a node") for pair in expect(extras["stack"], list, "the modules")]
            meta["nn_module_stack"] = {self._string(path): self._string(kind) for path, kind in pairs}
        for key, value in expect(extras.get("meta", {}), dict, "meta").items():
            if key in ("from", "nn_module_stack"):
                refuse(f"{key!r} among its own facts, where it has a place beside them")
            meta[key] = self.decoder.value(value)
        if "from" in extras:
            meta["from"] = tuple(self._origin(one) for one in expect(extras["from"], list, "origins"))
        if meta:
            node.meta = meta

    def _origin(self, data: Any) -> Origin:
        name, place = row(data, 2, "an origin")
        return Origin(
            expect(name, str, "the name of an origin"), None if place is None else self._place_numbered(place)
        )

    # Modules

    def _module(self, data: dict[str, Any]) -> Module:
        if not {"class", "training"} <= data.keys() <= _MODULE_SECTIONS:
            refuse("it does not have the parts it should have")
        name = data["class"]
        cls = own_classes().get(name) if isinstance(name, str) else None
        cls = self.decoder.function(name) if cls is None else cls
        if not isinstance(cls, type) or not issubclass(cls, Module):
            refuse(f"{name!r} is not a class of modules")
        module: Module = GraphModule.__new__(cls) if issubclass(cls, GraphModule) else object.__new__(cls)
        Module.__init__(module)
        module.__dict__["training"] = expect(data["training"], bool, "training")
        self._fill(module, data)
        if isinstance(module, GraphModule):
            self._adopt(module, data)
        elif "graph" in data or "name" in data:
            refuse("it has a graph but is not a GraphModule")
        return module

    def _fill(self, module: Module, data: dict[str, Any]) -> None:
        """Give a module what it holds, straight into its dicts: no setter of its class runs."""
        own = module.__dict__
        for section, kind in (("parameters", "_parameters"), ("buffers", "_buffers")):
            for name, value in expect(data.get(section, {}), dict, section).items():
                found = self.decoder.value(value)
                held = is_parameter(found) if section == "parameters" else _is_buffer(found)
                if found is not None and not held:
                    refuse(f"{name!r} is not one of {section}")
                own[kind][self._free(module, name)] = found
        for name in expect(data.get("transient", []), list, "transient"):
            if name not in own["_buffers"]:
                refuse("a buffer that does not exist is not persistent")
            own["_non_persistent_buffers"].add(name)
        for name, number in expect(data.get("modules", {}), dict, "modules").items():
            if number is not None and (type(number) is not int or not 0 <= number < len(self.modules)):
                refuse(f"submodule {name!r} does not come before it")
            own["_modules"][self._free(module, name)] = None if number is None else self.modules[number]
        for name, value in expect(data.get("attributes", {}), dict, "attributes").items():
            own[self._free(module, name)] = self.decoder.value(value)

    def _free(self, module: Module, name: Any) -> str:
        """The name of something a module holds: allowed, not taken, and hiding nothing of its class."""
        check_attribute(name, refuse)
        own = module.__dict__
        if name in own or name in HIDDEN or shadows(type(module), name):
            refuse(f"{name!r} cannot be held by a {type(module).__name__}")
        if any(name in own[kind] for kind in ("_parameters", "_buffers", "_modules")):
            refuse(f"{name!r} is held twice")
        return str(name)

    def _adopt(self, module: GraphModule, data: dict[str, Any]) -> None:
        number = data.get("graph")
        graph = self._unowned.pop(number, None) if type(number) is int else None
        if graph is None:
            refuse("it has no graph of its own")
        name = expect(data.get("name"), str, "its name")
        if not name or not name.isprintable() or len(name) > 1000:
            refuse("its name is not one")
        type(module).__name__ = type(module).__qualname__ = name
        meta = expect(data.get("meta", {}), dict, "its meta")
        module.__dict__["meta"] = {key: self.decoder.value(value) for key, value in meta.items()}
        # Before lint looks the names up with getattr, which could run a property.
        constants = {name for name in graph.constants if not hasattr(type(module), name) and name not in HIDDEN}
        for node, target in iter_targets(graph.nodes):
            if not _holds(module, target, node.op) and not (node.op == "get_attr" and target in constants):
                self.where = f"node {node.name}"
                refuse(f"{node.op} of {target!r}, which the module does not have")
        module.graph = graph


def _holds(module: Module, target: str, op: str) -> bool:
    """Whether something a module really holds goes by this name."""
    *path, name = target.split(".")
    owner: Any = module
    for part in path:
        owner = owner.__dict__["_modules"].get(part) if isinstance(owner, Module) else None
        if owner is None:
            return False
    own = owner.__dict__
    if own["_modules"].get(name) is not None:
        return True
    plain = name in own and name not in HIDDEN
    return op == "get_attr" and (plain or name in own["_parameters"] or name in own["_buffers"])


def _is_buffer(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) or hasattr(type(value), "requires_grad")


def _first_line(error: Exception) -> str:
    text = str(error).partition("\n")[0] or type(error).__name__
    return text if len(text) <= 200 else text[:197] + "…"


def _help(reason: str) -> str | None:
    if "was not allowed" in reason:
        path = reason.partition(" ")[0]
        return f"if you trust it, pass it or its path: weft.load(…, allow=[{path!r}])"
    if "known to be a harmless" in reason:
        name = reason.split("'")[1] if reason.count("'") >= 2 else "name"
        return f"if you trust it: weft.load(…, allow=[{'.' + name!r}])"
    return None


def _not_ours(path: Any, metadata: dict[str, str]) -> NoReturn:
    what = "a checkpoint that nn.save_state wrote" if "weft.state" in metadata else "a safetensors file of weights"
    _fail(path, f"{what}, no graph", "nn.load_state(path) reads it, and module.load_state_dict takes what that gives")


def _fail(path: Any, reason: str, help: str | None = None) -> NoReturn:
    raise FileError(f"{os.fspath(path)}: {reason}", help=help)
