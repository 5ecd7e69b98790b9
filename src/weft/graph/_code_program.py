"""A graph as a structured program: blocks of statements, with the bodies of control flow in place of their nodes.

What a body reads from outside is the outer value itself; a projection `getitem(loop, k)` is the k-th result itself. So
bodies need no parameters, and results no tuples.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from weft.errors import GraphError
from weft.graph import _control
from weft.graph._arguments import map_arg, nodes_in
from weft.graph._code_values import Block, Carry, Choice, Gather, Loop, Mark, Plain, Result, Value
from weft.graph._node import Node
from weft.ops._op import TABLE

if TYPE_CHECKING:
    from weft.graph._graph import Graph

INDEX_UPDATE, INDEX_ADD = TABLE["index_update"], TABLE["index_add"]
GETITEMS = (operator.getitem, TABLE["getitem"])
_STRUCTURED = frozenset(map(id, (*_control.CONTROL, _control.check, _control.fail, INDEX_UPDATE, INDEX_ADD)))


def is_structured(graph: Graph) -> bool:
    """Whether a graph holds control flow, checks, or writes: anything that is not one line for each node."""
    ids = _STRUCTURED
    return any(
        id(node._target) in ids if node._op == "call_function" else node._op == "output" and node._kwargs
        for node in graph.nodes
    )


class Program:
    """The statements of a graph, and what each of its nodes (those of bodies included) stands for."""

    def __init__(self, graph: Graph) -> None:
        self.top = Block()
        self.values: dict[Node, Value] = {}
        self.constants: dict[Node, Any] = {}  # placeholders of bodies that are given no value of the program
        self.original: dict[Node, Node] = {}  # nodes of a body that is used twice → those of the graph it copies
        self.output: Node | None = None
        self._bodies: set[int] = set()
        self._projected: set[Node] = set()
        for node in graph.nodes:
            if node.op == "placeholder":
                self.values[node] = Value(node, self.top, -1)
        self._statements(graph, self.top)
        self._read(self.output, self.top, self.top.end)

    # What a node stands for

    def given(self, argument: Any) -> Any:
        """An argument with the constants that placeholders of bodies stand for in their place."""
        return map_arg(argument, lambda node: self.constants.get(node, node)) if self.constants else argument

    def read_by(self, argument: Any) -> Iterator[Value]:
        """The values an argument reads."""
        for node in nodes_in(argument):
            if node in self.constants:
                yield from self.read_by(self.constants[node])
            else:
                yield self.values[node]

    def use(self, argument: Any, block: Block, at: int) -> None:
        """Note that an argument is read at a position."""
        self._use(self.read_by(argument), block, at)

    def _use(self, values: Iterable[Value], block: Block, at: int) -> None:
        for value in values:
            value.reads.append((block, at))
            here, position = block, at
            while True:
                if value.uses.get(here, -1) < position:
                    value.uses[here] = position
                if here is value.block or here.parent is None:
                    break
                here, position = here.parent, here.at

    def _read(self, output: Node | None, block: Block, at: int) -> None:
        # The target of a write is kept by whoever prints it, but its old value is not read.
        if output is not None:
            self.use((output.args, [value for _, value in output.kwargs.get("writes", ())]), block, at)

    # Building

    def _statements(self, graph: Graph, block: Block) -> Any:
        """Add the statements of a graph to a block; what its output gives."""
        for node in graph.nodes:
            kind = node.op
            if kind == "placeholder" or node in self._projected:
                continue
            if kind == "output":
                if block.parent is None:
                    self.output = node
                return node.args[0] if node.args else None
            if kind == "call_function" and id(node.target) in _BUILDERS:
                _BUILDERS[id(node.target)](self, node, block)
                continue
            args, kwargs = self.given(node.args), self.given(node.kwargs)
            at = len(block.statements)
            value = self.values[node] = Value(node, block, at)
            if self.constants:
                reads = list(self.read_by((args, kwargs)))
            else:
                reads = [self.values[read] for read in node._input_nodes]
            statement = Plain(node, block, at, args, kwargs, value, reads)
            self._use(reads, block, at)
            value.number = is_integer(statement, self)
            block.statements.append(statement)
            if node.target is _control.fail:
                block.fails = True
        return None

    def _body(self, graph: Any) -> Graph:
        """The graph of a body, copied where it has been used before, so that each of its nodes stands in one place."""
        from weft.graph._graph import Graph

        if not isinstance(graph, Graph):
            raise GraphError(
                f"python_code: the body of control flow is a Graph, got {type(graph).__name__}",
                help="capture the function that the node holds",
            )
        if id(graph) not in self._bodies:
            self._bodies.add(id(graph))
            return graph
        copied = graph.clone()
        for old, new in zip(graph.nodes, copied.nodes, strict=True):
            self.original[new] = self.original.get(old, old)
        return copied

    def _bind(self, node: Node, graph: Graph, values: list[Any]) -> None:
        """Let the placeholders of a body stand for values of the program, or for constants."""
        placeholders = [one for one in graph.nodes if one.op == "placeholder"]
        if len(placeholders) != len(values):
            raise GraphError(
                f"python_code: {node.name} gives {len(values)} values to a body of {len(placeholders)} placeholders"
            )
        for placeholder, value in zip(placeholders, values, strict=True):
            if isinstance(value, Value):
                self.values[placeholder] = value
            elif isinstance(value, Node) and value not in self.constants:
                self.values[placeholder] = self.values[value]
            else:
                self.constants[placeholder] = self.given(value)

    def _results(self, node: Node, tree: Any) -> bool:
        """Let the projections of a node stand for its results; whether all of it is read as one."""
        if isinstance(tree, Result):
            tree.nodes.append(node)
            tree.used = tree.used or bool(node.users)
            return False
        whole = False
        for user in node.users:
            k = _projection(user, node, len(tree))
            if k is None:
                whole = True
                continue
            self._projected.add(user)
            if self._results(user, tree[k]):
                self._gathers.append((user, tree[k]))
        if whole:
            for result in _leaves(tree):
                result.used = True
        return whole

    _gathers: list[tuple[Node, Any]]

    def _open(self, node: Node, tree: Any) -> list[tuple[Node, Any]]:
        """Find what reads the results of a node; returns the tuples that have to be built."""
        self._gathers = []
        if self._results(node, tree) and not isinstance(tree, Result):
            self._gathers.append((node, tree))
        return self._gathers

    def _close(self, statement: Choice | Loop, results: list[Result], gathers: list[tuple[Node, Any]]) -> None:
        """Add a statement, define its results, and build the tuples of them that are read."""
        block = statement.block
        if isinstance(statement, Loop):
            self.use([carry.init for carry in statement.carries if carry.used], block, statement.at)
        block.statements.append(statement)
        for result in results:
            if result.used:
                first = result.nodes[0] if result.nodes else statement.node
                value = result.value = Value(first, block, statement.at)
                value.names = [node.name for node in result.nodes] or [f"{first.name}_1"]
                self.values.update(dict.fromkeys(result.nodes, value))
        for node, tree in gathers:
            at = block.end
            parts = _values(tree)
            value = self.values[node] = Value(node, block, at)
            gather = Gather(node, block, at, parts, value)
            for result in _leaves(tree):
                _use_value(result.value, block, at)
            block.statements.append(gather)

    def _branch(self, choice: Choice, graph: Any, operands: list[Any]) -> Any:
        block = choice.block.inside(choice.at)
        choice.branches.append(block)
        body = self._body(graph)
        self._bind(choice.node, body, operands)
        return self._statements(body, block)

    def _choice(self, node: Node, block: Block, test: Any, graphs: list[Any], operands: list[Any]) -> None:
        choice = Choice(node, block, block.end, self.given(test))
        self.use(choice.test, block, choice.at)
        outputs = [self._branch(choice, graph, operands) for graph in graphs]
        given = [out for out, branch in zip(outputs, choice.branches, strict=True) if not branch.fails]
        tuples = {len(out) if type(out) is tuple else None for out in given}
        count = tuples.pop() if len(tuples) == 1 else None
        choice.results = [Result() for _ in range(1 if count is None else count)]
        gathers = self._open(node, choice.results[0] if count is None else tuple(choice.results))
        for out, branch in zip(outputs, choice.branches, strict=True):
            parts = (out,) if count is None else out
            for k, result in enumerate(choice.results):
                source = None if branch.fails else self.given(parts[k])
                result.sources.append(source)
                if result.used and not branch.fails:
                    self.use(source, branch, branch.end)
        self._close(choice, choice.results, gathers)

    def _cond(self, node: Node, block: Block) -> None:
        test, true, false, *operands = _arguments(node, 3)
        self._choice(node, block, test, [true, false], operands)

    def _switch(self, node: Node, block: Block) -> None:
        index, branches, *operands = _arguments(node, 2)
        self._choice(node, block, index, list(branches), operands)

    def _carried(self, node: Node, block: Block, body: Graph, first: int, inits: Any, loop_block: Block) -> Loop:
        """A loop with its carries, whose placeholders in the body start at number `first`."""
        if not isinstance(inits, (tuple, list)):
            raise GraphError(f"python_code: {node.name}: the carries of a loop are a tuple of values")
        loop = Loop(node, block, block.end, loop_block)
        placeholders = [one for one in body.nodes if one.op == "placeholder"][first : first + len(inits)]
        if len(placeholders) != len(inits):
            raise GraphError(f"python_code: {node.name} has {len(inits)} carries, its body takes {len(placeholders)}")
        for init, placeholder in zip(inits, placeholders, strict=True):
            loop.carries.append(Carry(self.given(init), Value(placeholder, loop_block, -1)))
        return loop

    def _head(self, loop: Loop) -> None:
        """The point where the loop may end: what it then gives is read here."""
        at = loop.body.end
        loop.body.statements.append(Mark(loop.body, at))
        for carry in loop.carries:
            if carry.result.used:
                _use_value(carry.value, loop.body, at)

    def _outputs(self, loop: Loop, outputs: Any) -> None:
        if loop.body.fails:
            return
        if not isinstance(outputs, (tuple, list)) or len(outputs) != len(loop.carries):
            raise GraphError(f"python_code: the body of {loop.node.name} gives other values than its carries")
        for carry, out in zip(loop.carries, outputs, strict=True):
            carry.out = self.given(out)
        # What only goes from one iteration into the next, and is never read there, is not carried at all.
        waiting = [carry for carry in loop.carries if carry.used]
        moved: set[int] = set()
        while waiting:
            carry = waiting.pop()
            if id(carry) not in moved:
                moved.add(id(carry))
                fresh = [other for other in loop.carries if not other.used]
                self.use(carry.out, loop.body, loop.body.end)
                waiting.extend(other for other in fresh if other.used)

    def _while(self, node: Node, block: Block) -> None:
        condition, body, inits, *operands = _arguments(node, 3)
        inner = block.inside(block.end, loop=True)
        condition, body = self._body(condition), self._body(body)
        loop = self._carried(node, block, body, 0, inits, inner)
        gathers = self._open(node, tuple(carry.result for carry in loop.carries))
        values = [carry.value for carry in loop.carries]
        for graph in (condition, body):
            self._bind(node, graph, [*values, *operands])
        loop.test = self.given(self._statements(condition, inner))
        loop.test_at = inner.end
        self.use(loop.test, inner, inner.end)
        self._head(loop)
        self._outputs(loop, self._statements(body, inner))
        self._close(loop, [carry.result for carry in loop.carries], gathers)

    def _for(self, node: Node, block: Block) -> None:
        lower, upper, body, inits, *operands = _arguments(node, 4)
        inner = block.inside(block.end, loop=True)
        body = self._body(body)
        loop = self._carried(node, block, body, 1, inits, inner)
        loop.bounds = self.given((lower, upper, node.kwargs.get("step", 1)))
        first = next(one for one in body.nodes if one.op == "placeholder")
        loop.index = Value(first, inner, -1, number=True)
        gathers = self._open(node, tuple(carry.result for carry in loop.carries))
        self._head(loop)
        # Read after the carries have got their initial values; counted as read in the loop to keep them apart.
        self.use(loop.bounds, inner, 0)
        self._bind(node, body, [loop.index, *(carry.value for carry in loop.carries), *operands])
        self._outputs(loop, self._statements(body, inner))
        self._close(loop, [carry.result for carry in loop.carries], gathers)

    def _scan(self, node: Node, block: Block) -> None:
        body, inits, xs, *operands = _arguments(node, 3)
        inner = block.inside(block.end, loop=True)
        body = self._body(body)
        loop = self._carried(node, block, body, 0, inits, inner)
        loop.bounds = (self.given(node.kwargs.get("length")), node.kwargs.get("reverse", False), body, operands)
        xs = xs or ()
        rows = [one for one in body.nodes if one.op == "placeholder"][len(inits) : len(inits) + len(xs)]
        loop.rows = [(Value(row, inner, -1), self.given(x)) for row, x in zip(rows, xs, strict=True)]
        loop.index = Value(node, inner, -1, number=True)
        loop.index.names = ["i"]
        stacked = body.output_node().args[0]
        loop.stacked = [Result() for _ in stacked[1]]
        results = tuple(carry.result for carry in loop.carries)
        gathers = self._open(node, (results, tuple(loop.stacked)))
        self._head(loop)
        self.use((loop.bounds[0], [x for _, x in loop.rows], operands), inner, 0)
        self._bind(node, body, [*(c.value for c in loop.carries), *(row for row, _ in loop.rows), *operands])
        outputs = self._statements(body, inner)
        if not inner.fails:
            for result, source in zip(loop.stacked, outputs[1], strict=True):
                result.sources = [self.given(source)]
                if result.used:
                    self.use(result.sources, inner, inner.end)
            outputs = outputs[0]
        self._outputs(loop, outputs)
        # Where there are no rows, what the rows would be is found out from these.
        self.use([carry.init for carry in loop.carries if not carry.used], inner, 0)
        self._close(loop, [*results, *loop.stacked], gathers)


_BUILDERS: dict[int, Any] = {
    id(_control.cond): Program._cond,
    id(_control.switch): Program._switch,
    id(_control.while_loop): Program._while,
    id(_control.fori_loop): Program._for,
    id(_control.scan): Program._scan,
}
_NAMES: dict[int, tuple[str, ...]] = {
    id(_control.cond): ("pred", "true_fn", "false_fn"),
    id(_control.switch): ("index", "branches"),
    id(_control.while_loop): ("cond_fn", "body_fn", "init"),
    id(_control.fori_loop): ("lower", "upper", "body_fn", "init"),
    id(_control.scan): ("f", "init", "xs"),
}


def _arguments(node: Node, count: int) -> tuple[Any, ...]:
    """Positional arguments, with those given by name in their places."""
    named = _NAMES[id(node.target)][len(node.args) :]
    args = [*node.args, *(node.kwargs.get(name) for name in named)]
    if len(args) < count:
        raise GraphError(f"python_code: {node.name} has {len(args)} arguments, expected {count} or more")
    return tuple(args)


def _projection(user: Node, node: Node, count: int) -> int | None:
    """Which item of a node another node reads; None where it reads anything else."""
    if user.op != "call_function" or user.target not in GETITEMS or user.kwargs or len(user.args) != 2:
        return None
    k = user.args[1]
    if user.args[0] is not node or type(k) is not int or not -count <= k < count:
        return None
    return k % count


def _leaves(tree: Any) -> Iterator[Result]:
    if isinstance(tree, Result):
        yield tree
    else:
        for part in tree:
            yield from _leaves(part)


def _values(tree: Any) -> Any:
    return tree.value if isinstance(tree, Result) else tuple(_values(part) for part in tree)


def _use_value(value: Value | None, block: Block, at: int) -> None:
    assert value is not None, "a result that is read has a value"
    value.uses[block] = max(value.uses.get(block, -1), at)
    value.reads.append((block, at))


_INTEGER_IDS = frozenset(id(getattr(operator, name)) for name in "add sub mul floordiv mod neg".split())


def is_integer(statement: Plain, program: Program) -> bool:
    """Whether a statement computes with indices of loops and gives an integer, though no type is noted for it."""
    target, args = statement.node.target, statement.args
    if (statement.node._meta and "type" in statement.node._meta) or statement.node.op != "call_function":
        return False
    if target is len or target is int:
        return True
    if id(target) not in _INTEGER_IDS or any(type(arg) is not int and type(arg) is not Node for arg in args):
        return False
    return all(program.values[arg].type is int for arg in args if type(arg) is Node)
