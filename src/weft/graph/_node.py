"""`Node`: one value of a graph, and everything that can be done to it in place.

A node is one of six kinds (`op`): placeholder, get_attr, call_function, call_method, call_module, output. Its inputs
are whatever nodes stand in `args` and `kwargs`, at any depth; the other end of each such edge is kept in `users`. Both
ends are changed together, here and nowhere else.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from weft import _where
from weft.errors import GraphError
from weft.graph._arguments import LEAVES, NODES, Body, ImmutableDict, Value, freeze, graphs_in, map_arg, nodes_in

if TYPE_CHECKING:
    from weft.graph._graph import Graph

KINDS = frozenset({"placeholder", "get_attr", "call_function", "call_method", "call_module", "output"})

Target = Callable[..., Any] | str


class Origin(NamedTuple):
    """A node that an edit replaced: its name and where it was written."""

    name: str
    position: _where.Position | None

    @property
    def location(self) -> _where.Location | None:
        return None if self.position is None else _where.locate(self.position)


class Node(Value):
    """One value of a graph: an input, a parameter, the result of a call, or the output."""

    __slots__ = (
        "__dict__",  # for attributes of whoever works on the graph
        "__weakref__",
        "_args",
        "_erased",
        "_kwargs",
        "_label",
        "_meta",
        "_name",
        "_next",
        "_op",
        "_position",
        "_prev",
        "_target",
        "_type",
        "graph",
        "users",
    )

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        return_type: Any = None,
    ) -> None:
        self.graph = graph
        self._name = name
        self._op = op
        self._target = target
        self._type = return_type
        self.users: dict[Node, None] = {}
        self._meta: dict[str, Any] | None = None
        self._position: _where.Position | None = None
        self._erased = False
        self._prev = self._next = self
        self._label = 0
        self._args: tuple[Any, ...] = ()
        self._kwargs: Mapping[str, Any] = _NO_KWARGS
        for arg in args:
            if type(arg) not in _SIMPLE:
                break
        else:
            if not kwargs and type(args) is tuple:
                self._args = args
                for arg in args:
                    if type(arg) is Node:
                        arg.users[self] = None
                return
        self._set(args, kwargs)

    def _set(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Replace all arguments, keeping both ends of every edge."""
        new_args, new_kwargs = freeze(tuple(args)), freeze(dict(kwargs)) if kwargs else _NO_KWARGS
        if self._args or self._kwargs:
            for old in nodes_in((self._args, self._kwargs)):
                old.users.pop(self, None)
        for new in nodes_in((new_args, new_kwargs)):
            new.users[self] = None
        self._args, self._kwargs = new_args, new_kwargs
        self.graph._edited()

    def _let_go(self) -> None:
        """Read no node any more; constants stay, for whoever still holds this node."""
        for read in self._input_nodes:
            read.users.pop(self, None)
        self._args = tuple([None if type(arg) is Node else map_arg(arg, lambda node: None) for arg in self._args])
        if self._kwargs:
            self._kwargs = map_arg(self._kwargs, lambda node: None)

    # What it is

    @property
    def op(self) -> str:
        """The kind of node; one of six."""
        return self._op

    @op.setter
    def op(self, op: str) -> None:
        if op not in KINDS:
            raise GraphError(f"{op!r} is not a kind of node", help=f"use one of {', '.join(sorted(KINDS))}")
        self.graph._forget(self)
        self._op = op
        self.graph._remember(self)
        self.graph._edited()

    @property
    def target(self) -> Any:
        """What is called or read: a function, or the name of a method, module, attribute or input."""
        return self._target

    @target.setter
    def target(self, target: Target) -> None:
        self.graph._forget(self)
        self._target = target
        self.graph._remember(self)
        self.graph._edited()

    @property
    def name(self) -> str:
        """What the node is called in the graph and in its code."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name
        self.graph._edited()

    @property
    def type(self) -> Any:
        """The annotation of the value, where the program has one."""
        return self._type

    @type.setter
    def type(self, annotation: Any) -> None:
        self._type = annotation
        self.graph._edited()

    # Arguments

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional arguments. Nested lists and dicts are immutable: assign to change."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """Keyword arguments, immutable: assign, or use `update_kwarg`."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Mapping[str, Any]) -> None:
        self._set(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes this one reads, each once, in the order they appear in args and kwargs."""
        return list(self._input_nodes)

    @property
    def _input_nodes(self) -> dict[Node, None]:
        found: dict[Node, None] = {}
        for arg in self._args:
            kind = type(arg)
            if kind is Node:
                found[arg] = None
            elif kind not in _SIMPLE:
                for node in nodes_in(arg):
                    found[node] = None
        if self._kwargs:
            for node in nodes_in(self._kwargs):
                found[node] = None
        return found

    @property
    def bodies(self) -> list[Graph]:
        """The graphs among the arguments: what a node of control flow runs."""
        found: list[Any] = []
        for arg in self._args:
            if isinstance(arg, Body):
                found.append(arg)
            elif type(arg) not in _SIMPLE:
                found += graphs_in(arg)
        return found if not self._kwargs else [*found, *graphs_in(self._kwargs)]

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace one positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert a positional argument before position `idx`."""
        if not 0 <= idx <= len(self._args):
            raise GraphError(
                f"insert_arg: position {idx} is out of range for {self.name}, which has {len(self._args)} args"
            )
        new = freeze(arg)
        for node in nodes_in(new):
            node.users[self] = None
        self._args = (*self._args[:idx], new, *self._args[idx:])
        self.graph._edited()

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Set one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Read `new_input` wherever this node reads `old_input`."""
        if self not in old_input.users:
            return
        swap = lambda n: new_input if n is old_input else n  # noqa: E731  # one expression, used twice on the next line
        self._set(map_arg(self._args, swap), map_arg(self._kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Make every user of this node read `replace_with` instead, a node or a constant; returns the users changed.

        `delete_user_cb(user)` may keep a user as it is by returning False. `propagate_meta` copies `meta` to a
        replacement that has none. A replacement made by an edit inherits where this node came from.
        """
        if propagate_meta:
            if replace_with.meta:
                raise GraphError(
                    f"replace_all_uses_with: {replace_with.name} has its own meta; that of {self.name} cannot go there",
                    help="pass propagate_meta=False, or clear the replacement's meta first",
                )
            replace_with.meta.update(self.meta)
        if isinstance(replace_with, Node):
            replace_with.inherit_origin(self)
        changed = []
        for user in list(self.users):
            if delete_user_cb is None or delete_user_cb(user):
                user.replace_input_with(self, replace_with)
                changed.append(user)
        return changed

    # Position in the list

    @property
    def next(self) -> Node:
        """The node after this one; the graph's root after the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; the graph's root before the first."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move (or put) node `x` right before this one."""
        self.graph._place(x, before=self)

    def append(self, x: Node) -> None:
        """Move (or put) node `x` right after this one."""
        self.graph._place(x, before=self._next)

    def __lt__(self, other: Node) -> bool:
        """Whether this node stands before the other in their graph."""
        return self._label < other._label

    def __gt__(self, other: Node) -> bool:
        return self._label > other._label

    def __le__(self, other: Node) -> bool:
        return self._label <= other._label

    def __ge__(self, other: Node) -> bool:
        return self._label >= other._label

    # Where it came from

    @property
    def meta(self) -> dict[str, Any]:
        """Facts about the node: `type` (shape and dtype), `from` (what it replaced), and anything of yours."""
        if self._meta is None:
            self._meta = {}
        return self._meta

    @meta.setter
    def meta(self, meta: dict[str, Any]) -> None:
        self._meta = meta

    @property
    def location(self) -> _where.Location | None:
        """File, line, column, text and assigned variable of the code that made this node; None where unknown."""
        return None if self._position is None else _where.locate(self._position, self.variable)

    @property
    def variable(self) -> str | None:
        """The variable the program gave this value to at once, or the parameter's name; None where there is none."""
        if self._op == "placeholder":
            return str(self._target).lstrip("*")
        if self._position is None or self._op == "output":
            return None
        item = self._args[1] if self._target is operator.getitem and isinstance(self._args[1], int) else 0
        return _where.assigned_variable(self._position[0], self._position[1], item)

    @property
    def stack_trace(self) -> str | None:
        """The calls that led here, as a traceback prints them."""
        if self._meta is not None and "stack_trace" in self._meta:
            return str(self._meta["stack_trace"])
        if self._position is None:
            return None
        lines = []
        for place in _where.stack(self._position):
            lines.append(f'  File "{place.file}", line {place.line}, in {place.function}\n')
            if place.text:
                lines.append(f"    {place.text}\n")
        return "".join(lines)

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    @property
    def origins(self) -> tuple[Origin, ...]:
        """What this node stands for: the nodes it replaced, or itself."""
        found = None if self._meta is None else self._meta.get("from")
        return found or (Origin(self.name, self._position),)

    def inherit_origin(self, *replaced: Node) -> None:
        """Take over the origin of the nodes this one replaces, unless it was itself written by the user."""
        if self._position is not None or self.op == "placeholder":
            return
        origins = tuple(dict.fromkeys(origin for node in replaced for origin in node.origins))
        self.meta.setdefault("from", origins)
        self._position = next((node._position for node in replaced if node._position is not None), None)

    # Meaning

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether running the node matters even when nothing reads its result."""
        from weft.graph._effects import is_impure

        return is_impure(self, impure_random)

    def normalized_arguments(
        self, root: Any, arg_types: Any = None, kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False
    ) -> Any:
        """The arguments in the form the target's signature gives them: defaults filled in, names where positions were.

        Returns an (args, kwargs) pair, or None when the signature is not known. A target has one signature here, so
        `arg_types` and `kwarg_types`, which choose between several in torch.fx, are not needed.
        """
        from weft.graph._signatures import normalized_arguments

        return normalized_arguments(self, root, normalize_to_only_use_kwargs)

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """One line that describes the node, as `print(graph)` shows it."""
        from weft.graph._print import format_node

        return format_node(self, placeholder_names, maybe_return_typename, include_tensor_metadata)

    def __repr__(self) -> str:
        return self.name

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"node {self.name} is not iterable: its value does not exist yet; add getitem nodes instead")


_NO_KWARGS: Mapping[str, Any] = ImmutableDict()
LEAVES.add(Node)
NODES.add(Node)
_SIMPLE = frozenset(LEAVES)  # arguments that need no freezing
