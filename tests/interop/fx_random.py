"""Scenarios: random edits and random programs, drawn the same way for both libraries."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

from sides import Library, Log, scenario


class Editor:
    """A graph, and edits that a random number generator chooses."""

    def __init__(self, lib: Library, seed: int) -> None:
        self.lib = lib
        self.draw = random.Random(seed)
        self.graph = lib.fx.Graph()
        for name in ("x", "y", "x"):
            self.graph.placeholder(name)
        self.functions = [lib.sin, lib.cos, operator.add, lib.relu, lib.sum, getattr]
        self.edits: list[Callable[[], Any]] = [
            *(self.create, self.create_before, self.create_after, self.move, self.erase, self.replace_uses),
            *(self.replace_some, self.replace_input, self.set_args, self.set_kwargs, self.update, self.insert),
            *(self.copy, self.retarget, self.dead_code),
        ]

    def node(self) -> Any:
        return self.draw.choice(list(self.graph.nodes))

    def argument(self, depth: int = 0) -> Any:
        kind = self.draw.randrange(9 if depth < 3 else 5)
        if kind < 4:
            return self.node()
        if kind == 4:
            return self.draw.choice([1, 2.5, None, "text", ..., True])
        parts = [self.argument(depth + 1) for _ in range(self.draw.randrange(3))]
        if kind == 5:
            return tuple(parts)
        if kind == 6:
            return parts
        if kind == 7:
            return dict(zip("abc", parts, strict=False))
        return slice(self.argument(3), None, self.argument(3))

    def arguments(self) -> tuple[Any, ...]:
        return tuple(self.argument() for _ in range(self.draw.randrange(4)))

    def create(self) -> Any:
        kind = self.draw.randrange(5)
        if kind == 0:
            return self.graph.call_method(self.draw.choice(["sum", "relu"]), self.arguments(), {"k": self.argument()})
        if kind == 1:
            return self.graph.call_module(self.draw.choice(["net.0", "layer"]), self.arguments())
        if kind == 2:
            return self.graph.get_attr(self.draw.choice(["w", "net.w"]))
        return self.graph.call_function(self.draw.choice(self.functions), self.arguments())

    def create_before(self) -> Any:
        with self.graph.inserting_before(self.node()):
            return self.create()

    def create_after(self) -> Any:
        with self.graph.inserting_after(self.node()):
            return self.create()

    def move(self) -> Any:
        one, other = self.node(), self.node()
        if one is not other:
            (one.append if self.draw.random() < 0.5 else one.prepend)(other)

    def erase(self) -> Any:
        unused = [node for node in self.graph.nodes if not node.users]
        if unused:
            self.graph.erase_node(self.draw.choice(unused))

    def replace_uses(self) -> Any:
        return self.node().replace_all_uses_with(self.node())

    def replace_some(self) -> Any:
        kept = self.node()
        return self.node().replace_all_uses_with(self.node(), delete_user_cb=lambda user: user is not kept)

    def replace_input(self) -> Any:
        # Not where it is not read: torch.fx then puts the node last among the users of all its inputs.
        node = self.node()
        read = sorted(node.all_input_nodes, key=lambda one: one.name)
        return node.replace_input_with(self.draw.choice(read), self.node()) if read else None

    def set_args(self) -> Any:
        self.node().args = self.arguments()

    def set_kwargs(self) -> Any:
        self.node().kwargs = dict(zip("pqr", self.arguments(), strict=False))

    def update(self) -> Any:
        node = self.node()
        if node.args and self.draw.random() < 0.5:
            node.update_arg(self.draw.randrange(len(node.args)), self.argument())
        else:
            node.update_kwarg(self.draw.choice("pq"), self.argument())

    def insert(self) -> Any:
        node = self.node()
        node.insert_arg(self.draw.randrange(len(node.args) + 1), self.argument())

    def copy(self) -> Any:
        given = self.node()
        return self.graph.node_copy(self.node(), lambda n: given)

    def retarget(self) -> Any:
        node = self.node()
        if node.op == "call_function":
            node.target = self.draw.choice(self.functions)
        return self.graph.find_nodes(op="call_function", target=self.draw.choice(self.functions))

    def dead_code(self) -> Any:
        # Node by node: eliminate_dead_code would refuse most of these graphs for their order.
        for node in reversed(self.graph.nodes):
            if not node.users and node.op in ("call_function", "call_method", "get_attr") and not node.is_impure():
                self.graph.erase_node(node)


def facts(node: Any) -> tuple[Any, ...]:
    # Inputs as a set: after insert_arg torch.fx has them in the order they came, weft in the order they stand.
    return (
        node.op,
        node.name,
        node.target,
        node.args,
        node.kwargs,
        sorted(map(str, node.all_input_nodes)),
        list(node.users),
    )


@scenario
def random_edits(lib: Library, log: Log) -> None:
    for seed in range(60):
        editor = Editor(lib, seed)
        for step in range(40):
            edit = editor.draw.choice(editor.edits)
            if len(editor.graph.nodes) < 2:
                break
            log(f"{seed}/{step} {edit.__name__} gives", edit())
            log(f"{seed}/{step} {edit.__name__}", [facts(node) for node in editor.graph.nodes])
        log(f"{seed} order", sorted(editor.graph.nodes) == list(editor.graph.nodes))


def program(lib: Library, seed: int) -> Callable[..., Any]:
    """A random function of two arrays."""

    def f(x, y=2):
        draw = random.Random(seed)
        values = [x, y]
        unary = [lib.sin, lib.cos, lib.exp, lib.relu, lib.tanh, operator.neg, lib.abs, lib.sqrt, lib.sigmoid]
        signs = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.eq]
        signs += [operator.mod, operator.floordiv, operator.and_, operator.matmul]
        binary = [*signs, lib.maximum, lib.minimum, lib.matmul]
        for _ in range(draw.randrange(3, 25)):
            kind, one = draw.randrange(7), draw.choice(values)
            if kind == 0:
                values.append(draw.choice(unary)(one))
            elif kind == 1:
                values.append(draw.choice(binary)(one, draw.choice(values)))
            elif kind == 2:
                values.append(draw.choice(signs)(one, draw.choice([2, 0.5])))
            elif kind == 3:
                values.append(draw.choice(signs)(draw.choice([2, 0.5]), one))
            elif kind == 4:
                values.append(one[draw.choice([0, -1])])
            elif kind == 5:
                values.append(draw.choice([one.sum(), one.reshape(-1), one.T + 1, one.shape[0]]))
            else:
                a, b = one.shape
                values += [a, b]
        return {"last": values[-1], "some": [values[-2], (values[0], 1)]}

    return f


@scenario
def random_programs(lib: Library, log: Log) -> None:
    for seed in range(80):
        gm = lib.fx.symbolic_trace(program(lib, seed))
        log(f"{seed}", gm)
        log(f"{seed} printed", str(gm.graph).replace("'", ""))
        log(f"{seed} dead", gm.graph.eliminate_dead_code())
        gm.recompile()
        log(f"{seed} rest", gm)
        log(f"{seed} transformed", lib.fx.Transformer(gm).transform())


def expression(lib: Library, draw: random.Random, leaves: list[Any], depth: int) -> Any:
    """A random expression over some values."""
    kind = draw.randrange(10)
    if depth == 0 or kind < 2:
        return draw.choice(leaves)
    if kind < 5:
        return draw.choice([lib.sin, lib.cos, lib.relu])(expression(lib, draw, leaves, depth - 1))
    sign = draw.choice([operator.add, operator.mul, operator.sub])
    left = expression(lib, draw, leaves, depth - 1)
    return sign(left, expression(lib, draw, leaves, depth - 1) if kind < 8 else draw.choice([1, 2]))


def searched(lib: Library, seed: int) -> Callable[..., Any]:
    """A random function whose values are used more than once."""

    def f(x, y):
        draw = random.Random(seed)
        values = [x, y]
        for _ in range(draw.randrange(3, 14)):
            values.append(expression(lib, draw, values[-4:], draw.randrange(1, 3)))
        return values[-1] + values[-2] * values[-3]

    return f


def pattern(lib: Library, seed: int) -> tuple[Any, Any]:
    """A random pattern, which takes what it uses, and a replacement for it."""
    graph = lib.fx.Graph()
    draw = random.Random(-seed)
    inputs = [graph.placeholder("a"), graph.placeholder("b")]
    leaves = [lib.fx.Proxy(node) for node in inputs]
    result = leaves[0]
    while any(result is leaf for leaf in leaves):
        result = expression(lib, draw, leaves, draw.randrange(1, 3))
    graph.output(result.node)
    graph.eliminate_dead_code()
    used = [node for node in inputs if node.users]
    for node in inputs:
        if node not in used:
            graph.erase_node(node)
    replacement = (lambda a, b: lib.exp(a) - b) if len(used) == 2 else (lambda a: lib.exp(a))
    return lib.fx.GraphModule({}, graph), lib.fx.symbolic_trace(replacement)


def written(value: Any) -> str:
    """What a node computes, in one line."""
    if not hasattr(value, "op"):
        return repr(value)
    name = value.name if value.op == "placeholder" else getattr(value.target, "__name__", value.target)
    return f"{name}({', '.join(map(written, value.args))})"


@scenario
def random_patterns(lib: Library, log: Log) -> None:
    def apart(match: Any) -> bool:
        # torch.fx does not let two parameters match one node; see patterns_that_do_not_match.
        bound = [value for value in match.bindings.values() if hasattr(value, "op")]
        return len(set(bound)) == len(bound)

    options = {} if lib.name == "torch" else {"where": apart}
    found = 0
    for seed in range(200):
        gm = lib.fx.symbolic_trace(searched(lib, seed))
        matches = lib.fx.replace_pattern(gm, *pattern(lib, seed), **options)
        found += len(matches)
        gm.graph.lint()
        log(f"{seed}", (len(matches), written(gm.graph.output_node().args[0])))
    log("enough of them", found > 100)
