"""`GraphModule`: a graph with the parameters and submodules it uses, callable as the code it prints.

Every instance has a class of its own, whose `forward` is the generated function. Code is generated when it is needed
(a call, a read of `code`), and an edit of the graph throws it away: what runs and what is shown is the present graph.
"""

from __future__ import annotations

import itertools
import linecache
import os
import weakref
from collections.abc import Mapping
from copy import copy, deepcopy
from importlib import import_module
from types import FunctionType
from typing import Any

from weft._frames import hide_frames, tell_user_lines
from weft._module import Module, is_parameter
from weft._recursion import deep_recursion
from weft.errors import GraphError
from weft.graph._code import PythonCode
from weft.graph._graph import Graph
from weft.graph._interpreter import note_node

_numbers = itertools.count(1)
_gone: list[str] = []  # files of modules that are no more: they leave the cache when nobody can be looking through it
_OWN = "_class_of_one_instance"


class _LazyForward:
    """Stands where `forward` will be, and puts it there when somebody looks."""

    def __get__(self, instance: GraphModule | None, owner: type) -> Any:
        found = owner.__dict__["_instance"]() if instance is None else instance
        found.recompile()
        return getattr(owner if instance is None else instance, "forward")  # noqa: B009  # a new lookup, not this one


class GraphModule(Module):
    """A module whose `forward` runs a graph. `root` is a Module, or a dict from dotted names to what the graph uses."""

    _graph: Graph
    meta: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Make a class for this one instance, so that `forward` is a real method of it."""
        base = next(c for c in cls.__mro__ if _OWN not in c.__dict__)
        own = type(cls.__name__, (base,), {_OWN: True, "__module__": base.__module__, "__doc__": base.__doc__})
        made: GraphModule = super().__new__(own)
        own._instance = weakref.ref(made)  # type: ignore[attr-defined]  # an attribute of this class alone
        return made

    def __init__(self, root: Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"GraphModule: the graph is a Graph, got {type(graph).__name__}")
        super().__init__()
        type(self).__name__ = type(self).__qualname__ = class_name
        self.training = getattr(root, "training", True)
        meta = getattr(root, "meta", None)
        self.meta = dict(meta) if isinstance(meta, dict) else {}
        _copy_used(root, graph, self)
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph. Assigning another one makes the code out of date, so that it is generated anew."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"GraphModule.graph must be a Graph, got {type(graph).__name__}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self._graph_edited()

    def _graph_edited(self) -> None:
        self.__dict__["_generated"] = None
        type(self).forward = _LazyForward()  # type: ignore[assignment,method-assign]  # becomes a function when looked up

    # Code

    @property
    def code(self) -> str:
        """The Python source of `forward`."""
        return self._python_code().src

    @property
    def source_code(self) -> str:
        """The code with the imports it needs: it runs when it is put into a file."""
        return self._python_code().text

    def _python_code(self) -> PythonCode:
        generated: PythonCode | None = self.__dict__["_generated"]
        return self.recompile() if generated is None else generated

    def recompile(self) -> PythonCode:
        """Generate the code now. Otherwise it is generated when it is next needed after an edit."""
        with deep_recursion():
            generated: PythonCode = self._graph.python_code("self")
        self._graph._watch(self)
        filename = self.__dict__.get("_filename")
        if filename is None:
            filename = self.__dict__["_filename"] = f"<weft {type(self).__name__.strip('<>')} {next(_numbers)}>"
            weakref.finalize(self, _gone.append, filename)
        while _gone:
            linecache.cache.pop(_gone.pop(), None)
        scope = dict(generated.globals)
        try:
            with deep_recursion():
                exec(compile(generated.src, filename, "exec", dont_inherit=True), scope)
        except (SyntaxError, RecursionError) as error:  # of indentation, for one, Python allows 100 levels
            raise GraphError(
                f"branches and loops are nested too deeply to be written as Python: {error.args[0]}",
                help="let a part of the program be a function that is marked with weft.wrap",
            ) from None
        # No modification time: linecache then never looks for the file on disk.
        linecache.cache[filename] = (len(generated.src), None, generated.src.splitlines(keepends=True), filename)
        function: FunctionType = scope["forward"]
        function.__qualname__ = f"{type(self).__name__}.forward"
        if self.__dict__.get("_in_user_lines"):
            tell_user_lines(function, {line: node._position for line, node in generated.lines.items()})
        type(self).forward = function  # type: ignore[method-assign]  # each GraphModule has a class of its own
        self.__dict__["_generated"] = generated
        return generated

    def _told_in_user_lines(self) -> GraphModule:
        """Let the code raise and warn as the captured program would, in its lines; gives the module itself."""
        self.__dict__["_in_user_lines"] = True
        self._graph_edited()
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            self._explain(error)
            hide_frames(error)
            raise

    def _explain(self, error: Exception) -> None:
        """Add to an error from the generated code which node it was, and where the user wrote it."""
        generated, function = self.__dict__["_generated"], type(self).__dict__["forward"]
        if generated is None or not isinstance(function, FunctionType):
            return
        trace, line = error.__traceback__, None
        while trace is not None:
            if trace.tb_frame.f_code is function.__code__:
                line = trace.tb_lineno
            trace = trace.tb_next
        node = None if line is None else generated.lines.get(line)
        if node is not None:
            note_node(error, node)

    def print_readable(self, print_output: bool = True) -> str:
        """The module as a class with the source line and shape of each value; printed unless told otherwise."""
        from weft.graph._print import readable

        nested = {
            name: child.print_readable(print_output=False)
            for name, child in self.named_modules()
            if name and isinstance(child, GraphModule)
        }
        text = readable(type(self).__name__, self._graph.python_code("self", verbose=True).src, nested)
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write a package: a class `module_name` in Python, its state in safetensors. Importing it needs weft alone."""
        from weft.graph._folder import to_folder

        to_folder(self, folder, module_name)

    def save(self, path: str | os.PathLike[str], *, sources: bool = True) -> None:
        """Write graph, parameters and submodules to a file that holds data only; `weft.load` reads it.

        Without `sources` the lines that nodes came from, and the names of their files, stay out of it.
        """
        from weft.graph._save import save

        save(self, path, sources=sources)

    def _repr_html_(self) -> str:
        # By name: the room of pictures stands above this one.
        return str(import_module("weft.view").repr_html(self))

    # Submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module under a dotted name, with empty modules on the way; False if something else has the name."""
        *prefix, name = target.split(".")
        owner: Module = self
        for part in prefix:
            child = getattr(owner, part, None)
            if child is None:
                owner.add_module(part, child := Module())
            if not isinstance(child, Module):
                return False
            owner = child
        if not isinstance(getattr(owner, name, Module()), Module):
            return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the module under a dotted name; False if there is none."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(owner._modules.get(name), Module):
            return False
        del owner._modules[name]
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete every submodule that the graph neither calls nor reads from."""
        called = {node.target for node in self._graph.find_nodes(op="call_module", sort=False)}
        used = set(called)
        for target in called | {node.target for node in self._graph.find_nodes(op="get_attr", sort=False)}:
            parts = target.split(".")
            used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
        for name, _ in list(self.named_modules(remove_duplicate=False)):
            parts = name.split(".")
            inside = any(".".join(parts[:i]) in called for i in range(1, len(parts)))
            if name and name not in used and not inside:
                self.delete_submodule(name)

    # Copying and showing

    def __copy__(self) -> GraphModule:
        copied = _blank(type(self))
        held = {
            k: copy(v) if isinstance(v, (dict, set)) else v for k, v in self.__dict__.items() if k not in _GENERATED
        }
        copied.__dict__.update(held)
        copied.graph = self._graph
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        copied = _blank(type(self))
        memo[id(self)] = copied
        copied.__dict__.update({k: deepcopy(v, memo) for k, v in self.__dict__.items() if k not in _GENERATED})
        copied.graph = deepcopy(self._graph, memo)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in self.__dict__.items() if key not in _GENERATED}
        base = next(c for c in type(self).__mro__ if _OWN not in c.__dict__)
        return (_restore, (base, type(self).__name__, self._graph), state, None, None, _set_state)

    def __str__(self) -> str:
        return f"{super().__repr__()}\n\n{self.code}"


_GENERATED = frozenset({"_graph", "_generated", "_filename", "_in_user_lines"})
_OWN_STATE = _GENERATED | {"meta"}


def _blank(cls: type[GraphModule]) -> GraphModule:
    made = cls.__new__(cls)
    type(made).__name__ = type(made).__qualname__ = cls.__name__
    return made


def _restore(base: type[GraphModule], name: str, graph: Graph) -> GraphModule:
    made = base.__new__(base)
    type(made).__name__ = type(made).__qualname__ = name
    made.graph = graph
    return made


def _set_state(module: GraphModule, state: dict[str, Any]) -> None:
    module.__dict__.update(state)


def _copy_used(root: Module | Mapping[str, Any], graph: Graph, to: Module) -> None:
    """Give a module everything the graph refers to, under the same dotted names; the things themselves are shared."""
    used = {node.target: node for node in graph.nodes if node.op in ("get_attr", "call_module")}
    owners = {"": to}
    sources: dict[str, Any] = {"": root}
    # Of a dict, shorter names first, so that `block` is there before `block.weight` is put in it. What a module holds
    # keeps the order in which the graph uses it: a `block` that comes later has the same `weight`.
    for target in sorted(used, key=lambda name: name.count(".")) if isinstance(root, Mapping) else used:
        path, _, name = target.rpartition(".")
        _check_free(target.partition(".")[0], used[target])
        owner = owners[path] if path in owners else _owner(owners, path)
        child = _submodule(sources, path, name)
        if child is not None:
            owner._modules[name] = child
            continue
        value, persistent = _find(root, graph, target, used[target])
        if isinstance(value, Module):
            if owner._modules.get(name) is not value:
                owner._claim(name, "_modules")[name] = value
        elif value is not None and (owner._parameters.get(name) is value or owner._buffers.get(name) is value):
            continue
        elif _is_array(value) and not is_parameter(value):
            owner.register_buffer(name, value, persistent)
        else:
            setattr(owner, name, value)


def _check_free(name: str, node: Any) -> None:
    if name in _OWN_STATE or (name in GraphModule.__dict__ and name not in Module.__dict__):
        raise GraphError(
            f"node {node.name} ({node.op}) refers to {node.target!r}, but {name!r} is a name of GraphModule's own",
            where=None if node.location is None else str(node.location),
            help=f"call the attribute of your module something else than {name!r}",
        )


def _submodule(sources: dict[str, Any], path: str, name: str) -> Module | None:
    """A submodule of the root, without the search that other attributes need; None for anything else."""
    if path not in sources:
        above, _, last = path.rpartition(".")
        sources[path] = _submodule(sources, above, last)
    held = getattr(sources[path], "_modules", None)
    return None if held is None else held.get(name)


def _owner(owners: dict[str, Module], path: str) -> Module:
    """The module at a path below `owners[""]`, made where there is none; found ones are remembered in `owners`."""
    above, _, name = path.rpartition(".")
    parent = owners[above] if above in owners else _owner(owners, above)
    child = parent._modules.get(name)
    if child is None:
        parent.add_module(name, child := Module().train(owners[""].training))
    owners[path] = child
    return child


def _find(root: Module | Mapping[str, Any], graph: Graph, target: str, node: Any) -> tuple[Any, bool]:
    """What a name refers to, and whether it belongs in the state."""
    if isinstance(root, Mapping):
        if target in root:
            return root[target], True
        where = "the dict given as root"
    else:
        where = type(root).__name__
        path, _, name = target.rpartition(".")
        try:
            owner: Any = root
            for part in path.split(".") if path else ():
                owner = _attribute(owner, part)
            persistent = not isinstance(owner, Module) or name not in owner._non_persistent_buffers
            return _attribute(owner, name), persistent
        except AttributeError:
            pass
    if target in graph.constants:
        return graph.constants[target], True
    raise GraphError(
        f"node {node.name} ({node.op}) refers to {target!r}, which {where} does not have",
        where=None if node.location is None else str(node.location),
    )


def _attribute(owner: Any, name: str) -> Any:
    """`getattr`; of what a module holds, the thing itself: a tracer that asks for modules is not told of this read."""
    if isinstance(owner, Module):
        for held in (owner._modules, owner._parameters, owner._buffers):
            if held.get(name) is not None:
                return held[name]
    return getattr(owner, name)


def _is_array(value: Any) -> bool:
    return not isinstance(value, Module) and hasattr(value, "dtype") and hasattr(value, "shape")
