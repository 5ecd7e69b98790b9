"""`GraphModule.to_folder`: a package anyone can import, read and change, with no trace of how it was captured.

    net/__init__.py         from .module import Net
    net/module.py           class Net: builds its layers, reads its state, and has the graph's code as `forward`
    net/state.safetensors   parameters and buffers

Importing runs that code and reads arrays; nothing is unpickled.
"""

from __future__ import annotations

import inspect
import json
import keyword
import os
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import _safetensors
from weft._module import Module, as_array, is_parameter
from weft.errors import GraphError
from weft.graph._literals import Literals
from weft.graph._module import GraphModule

if TYPE_CHECKING:
    from pathlib import Path

STATE_FILE = "state.safetensors"
_INIT = '''"""{name}, a module captured by weft."""

from .module import {name}

__all__ = ["{name}"]
'''
_HEAD = '''"""{title}, written by weft's GraphModule.to_folder. The state beside it is data only."""

{imports}


class {name}({base}):
    def __init__(self):
        super().__init__()
        state = {read}({path}(__file__).with_name("{file}"))
{body}

{forward}'''


def to_folder(module: GraphModule, folder: str | os.PathLike[str], module_name: str) -> None:
    """Write the package; see the top of this file."""
    if not module_name.isidentifier() or keyword.iskeyword(module_name):
        raise GraphError(f"to_folder: {module_name!r} cannot name a class")
    writer = _Writer(module, module_name)
    source = writer.source()
    from pathlib import Path  # which takes long to import

    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for name, (child, class_name) in writer.packages.items():
        to_folder(child, path / name, class_name)
    (path / "module.py").write_text(source, encoding="utf-8")
    (path / "__init__.py").write_text(_INIT.format(name=module_name), encoding="utf-8")
    write_state(path / STATE_FILE, writer.state)


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Write named arrays; complex ones, which the format lacks, as pairs of floats."""
    arrays = {name: np.ascontiguousarray(as_array(value)).reshape(value.shape) for name, value in state.items()}
    pairs = {n: np.stack([a.real, a.imag], axis=-1) for n, a in arrays.items() if a.dtype.kind == "c"}
    _safetensors.write(path, {**arrays, **pairs}, {"complex": json.dumps(sorted(pairs))})


def read_state(path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Read named arrays."""
    arrays, metadata = _safetensors.read(path)
    for name in _safetensors.parse_json(metadata.get("complex", "[]")):
        pair = arrays[name]
        arrays[name] = pair.view(np.result_type(pair.dtype, np.complex64))[..., 0]
    return arrays


class _Writer:
    """Writes one class; `state` and `packages` fill as it goes."""

    def __init__(self, module: GraphModule, name: str) -> None:
        self.module = module
        self.name = name
        self.state: dict[str, Any] = {}
        self.keys: dict[int, str] = {}  # of arrays in the state, so that one is stored once
        self.packages: dict[str, tuple[GraphModule, str]] = {}  # subfolder → submodule and its class
        self._folders: set[str] = set()
        self.imports: dict[str, str] = {}  # name → the line that binds it
        self.values: dict[str, str] = {}  # name → an expression, for globals that are values
        self.reads: dict[str, dict[str, None]] = {}  # path of a module → names the graph reads from it
        for node in module.graph.find_nodes(op="get_attr"):
            path, _, attribute = node.target.rpartition(".")
            self.reads.setdefault(path, {})[attribute] = None
        generated = module.graph.python_code("self")
        if name in generated.globals:
            raise GraphError(f"to_folder: the code uses {name!r} already; give the class another name")
        self.taken = {*generated.globals, name, "self", "state"}
        self.path, self.nn = _free("Path", self.taken), _free("nn", self.taken)
        self.read, self.tensor = _free("read_state", self.taken), _free("Tensor", self.taken)
        self.literal = Literals(self.taken)
        self.imports[self.path] = _import("pathlib", "Path", self.path)
        self.imports[self.nn] = _import("weft", "nn", self.nn)
        self.imports[self.read] = _import("weft.graph", "read_state", self.read)
        self.code = generated.src
        for bound, value in generated.globals.items():
            self._bind(bound, value)

    def source(self) -> str:
        body = [*self._layers(), *self._ties(), *self._flags()]
        for bound, value in list(self.literal.globals.items()):
            self._bind(bound, value)
        lines = [*dict.fromkeys(self.imports.values()), *(f"{name} = {text}" for name, text in self.values.items())]
        return _HEAD.format(
            title=self.name,
            imports="\n".join(lines),
            name=self.name,
            base=f"{self.nn}.Module",
            read=self.read,
            path=self.path,
            file=STATE_FILE,
            body="\n".join(f"        {line}" for line in body) or "        del state",
            forward="\n".join(f"    {line}" if line else line for line in self.code.splitlines()) + "\n",
        )

    # Globals

    def _bind(self, name: str, value: Any) -> None:
        if name in self.imports or name in self.values or name == "__builtins__":
            return
        if isinstance(value, types.ModuleType):
            path = value.__name__
            self.imports[name] = f"import {path}" if path.split(".")[0] == name else f"import {path} as {name}"
            return
        home, qualified = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if home == "builtins" and getattr(sys.modules["builtins"], qualified, None) is value:
            if name != qualified:
                self.values[name] = qualified
        elif home not in (None, "__main__") and getattr(sys.modules.get(home or ""), qualified, None) is value:
            self.imports[name] = _import(str(home), qualified, name)
        else:
            text = self.literal(value)
            if text in self.literal.globals and self.literal.globals[text] is value:
                raise GraphError(
                    f"to_folder: {name} = {value!r} cannot be written as Python",
                    help="define functions in a module that can be imported, keep arrays in attributes of the module",
                )
            for inner, part in list(self.literal.globals.items()):
                self._bind(inner, part)
            self.values[name] = text

    # Layers and state

    def _layers(self) -> Iterator[str]:
        """Lines that build the submodules in order, and register what they do not bring with them."""
        seen: dict[int, str] = {}
        layered: list[str] = []
        for path, module in self.module.named_modules(remove_duplicate=False):
            if any(path.startswith(f"{done}.") for done in layered):
                continue
            owner, _, name = path.rpartition(".")
            place = "self" if not owner else f"self.get_submodule({owner!r})"
            if path and id(module) in seen:
                yield f"{place}.add_module({name!r}, self.get_submodule({seen[id(module)]!r}))"
                layered.append(path)
                continue
            seen[id(module)] = path
            if path:
                yield f"{place}.add_module({name!r}, {self._build(path, module)})"
            if path and isinstance(module, GraphModule):
                layered.append(path)
            elif not path or type(module) is Module:
                yield from self._tensors(path, module)
            else:
                yield from self._load(path, module)

    def _tensors(self, path: str, module: Module) -> Iterator[str]:
        place = "self" if not path else f"self.get_submodule({path!r})"
        for name, value in module._parameters.items():
            made = "None"
            if value is not None:
                made = f"{self.nn}.Parameter({self._stored(path, name, value)}, requires_grad={value.requires_grad})"
            yield f"{place}.register_parameter({name!r}, {made})"
        for name, value in module._buffers.items():
            made = "None" if value is None else self._stored(path, name, value)
            if value is not None and not isinstance(value, np.ndarray):
                made = f"{self.tensor}({made})"
                self.imports[self.tensor] = _import("weft", "Tensor", self.tensor)
            kept = "" if name not in module._non_persistent_buffers else ", persistent=False"
            yield f"{place}.register_buffer({name!r}, {made}{kept})"
        for name in self.reads.get(path, ()):
            if name in module.__dict__:
                yield f"setattr({place}, {name!r}, {self.literal(module.__dict__[name])})"

    def _stored(self, path: str, name: str, value: Any) -> str:
        """The expression for an array of the state, putting it there."""
        key = self.keys.setdefault(id(value), f"{path}.{name}" if path else name)
        self.state[key] = value
        return f"state[{key!r}]"

    def _ties(self) -> Iterator[str]:
        """Lines that make one tensor of those that are one under several names."""
        first: dict[int, str] = {}
        for path, module in self.module.named_modules():
            for kind, held in (("parameter", module._parameters), ("buffer", module._buffers)):
                for name, value in held.items():
                    full = f"{path}.{name}" if path else name
                    if value is not None and first.setdefault(id(value), full) != full:
                        place = f"self.get_submodule({path!r})" if path else "self"
                        yield f"setattr({place}, {name!r}, self.get_{kind}({first[id(value)]!r}))"

    def _load(self, path: str, module: Module) -> Iterator[str]:
        """Lines that fill a layer its constructor has made."""
        own = {**dict(module.named_parameters(recurse=False)), **dict(module.named_buffers(recurse=False))}
        if not own:
            return
        place = f"self.get_submodule({path!r})"
        state = ", ".join(f"{name!r}: {self._stored(path, name, value)}" for name, value in own.items())
        partly = ", strict=False" if module._modules else ""  # what its own submodules hold comes with them
        yield f"{place}.load_state_dict({{{state}}}{partly}, assign=True)"
        for name, value in own.items():
            if is_parameter(value) and not value.requires_grad:
                yield f"{place}.get_parameter({name!r}).requires_grad = False"

    def _build(self, path: str, module: Module) -> str:
        """The expression that makes a submodule."""
        if isinstance(module, GraphModule):
            folder = "".join(c if c.isalnum() and c.isascii() else "_" for c in f"sub_{path}")
            while folder.lower() in self._folders:  # a.b and a_b; A and a are one where case does not count
                folder += "_"
            self._folders.add(folder.lower())
            class_name = _free("".join(part.capitalize() for part in folder.split("_")), self.taken)
            self.packages[folder] = (module, class_name)
            self.imports[class_name] = f"from .{folder} import {class_name}"
            return f"{class_name}()"
        cls = type(module)
        library = sys.modules.get("weft.nn")
        if cls is not Module and getattr(library, cls.__name__, None) is not cls:
            raise GraphError(
                f"to_folder: submodule {path!r} is a {cls.__qualname__}, which weft does not know how to write down",
                help="trace into it (Tracer.is_leaf_module), so that its code becomes part of the graph",
            )
        holds_others = hasattr(cls, "__len__")  # a container: built empty, then filled
        arguments = {} if cls is Module or holds_others else _arguments(module)
        return f"{self.nn}.{cls.__name__}({', '.join(f'{k}={self.literal(v)}' for k, v in arguments.items())})"

    def _flags(self) -> Iterator[str]:
        if not self.module.training:
            yield "self.eval()"
        for path, module in self.module.named_modules():
            if module.training != self.module.training:
                yield f"self.get_submodule({path!r}).training = {module.training}"


def _import(module: str, name: str, bound: str) -> str:
    return f"from {module} import {name}" + ("" if name == bound else f" as {bound}")


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that nothing has; taken from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _arguments(layer: Module) -> dict[str, Any]:
    """What to build a layer of weft.nn with: its attributes of the parameters' names, except defaults."""
    if hasattr(layer, "_arguments"):
        given: dict[str, Any] = layer._arguments()
        return given
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(type(layer).__init__).parameters.items():
        if name in ("self", "device", "dtype") or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        value = getattr(layer, name)
        if name == "bias":
            value = value is not None
        if value is not None and hasattr(value, "dtype"):
            raise GraphError(
                f"to_folder: argument {name} of {type(layer).__name__} is an array, which code cannot hold"
            )
        if value != parameter.default:
            found[name] = value
    return found
