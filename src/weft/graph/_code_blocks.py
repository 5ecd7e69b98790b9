"""Graphs with control flow and writes as Python: `if`, `while` and `for` statements, `x[key] = value`, `assert`.

    def forward(self, x, n):
        s = 0
        for i in range(n):
            getitem = x[i]
            s = s + getitem
        return s

`_code_program` gives the statements, `_storage` says which updates may happen in place, `_code_names` which values
share a variable. Here they become lines. Values are released after their last use outside loops and branches only.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from weft.graph import _control, _control_scan, _writes
from weft.graph._arguments import map_arg
from weft.graph._code import PythonCode, Writer
from weft.graph._code_names import Variables
from weft.graph._code_program import INDEX_ADD, Program
from weft.graph._code_values import Block, Carry, Choice, Gather, Loop, Mark, Plain, Result, Value
from weft.graph._literals import Literals
from weft.graph._node import Node
from weft.graph._print import known_type, one_line
from weft.graph._storage import Storage, add_item, write_item
from weft.graph._storage_kinds import OTHER, is_spec, sharing
from weft.ops._dim import same_shape
from weft.ops._op import TABLE, VIEW, op_of

if TYPE_CHECKING:
    from weft.graph._graph import Graph

_LONG = 60  # characters of a condition that is written in the `while` line itself


class _Names(Literals):
    """Literals in which a node stands for its variable, or for an expression written in its place."""

    def __init__(self, local_names: Iterable[str], program: Program, variables: Variables) -> None:
        super().__init__(local_names)
        self.inline: dict[Node, str] = {}
        self._program = program
        self._variables = variables

    def __call__(self, value: Any) -> str:
        if type(value) is not Node:
            return super().__call__(value)
        if value in self.inline:
            return self.inline[value]
        if value in self._program.constants:
            return self(self._program.constants[value])
        return self._variables.name(self._program.values[value])


class BlockWriter(Writer):
    """Writes a graph as a structured program."""

    def __init__(self, graph: Graph, root_module: str, verbose: bool, in_place: bool) -> None:
        super().__init__(graph, root_module, verbose)
        self.program = Program(graph)
        self.storage = Storage(self.program, in_place)
        taken = self.reserved - {node.name for node in self.placeholders}
        self.variables = Variables(self.program, self.storage, taken)
        self.literal: _Names = _Names(self.reserved | self.variables.names(), self.program, self.variables)

    def write(self) -> PythonCode:
        """The function, its globals, and the node of each line."""
        self._begin()
        first = len(self.lines)
        top = self.program.top
        self.last = self._last_positions()
        self.ending: dict[int, list[str]] = {}  # position → variables that nothing needs after it
        for variable, at in self.last.items():
            self.ending.setdefault(at, []).append(variable.name)
        self._block(top, "    ")
        if self.program.output is not None and not top.fails:
            self._return(self.program.output)
        if len(self.lines) == first:
            self._add("    ", "pass")
        return PythonCode("\n".join(self.lines) + "\n", self.literal.globals, self.line_nodes)

    def _add(self, indent: str, text: str, node: Node | None = None) -> None:
        self.lines.append(f"{indent}{text}")
        if node is not None:
            self.line_nodes[len(self.lines)] = self.program.original.get(node, node)

    # Statements

    def _block(self, block: Block, indent: str, start: int = 0, stop: int | None = None) -> None:
        for statement in block.statements[start:stop]:
            if isinstance(statement, Mark):
                continue
            if self.verbose and not (isinstance(statement, Plain) and statement.node in self.literal.inline):
                self._source_comment(statement.node, indent)
            if isinstance(statement, Plain):
                self._plain(statement, indent)
                if statement.node.target is _control.fail:
                    return  # nothing after it is reached
            elif isinstance(statement, Gather):
                self._add(indent, f"{self._name(statement.value)} = {self._gathered(statement.parts)}", statement.node)
            elif isinstance(statement, Choice):
                self._choice(statement, indent)
            else:
                self._loop(statement, indent)
            if block is self.program.top and not isinstance(statement, Plain):
                self._release_after(statement)

    def _name(self, value: Value) -> str:
        return self.variables.name(value)

    def _plain(self, statement: Plain, indent: str) -> None:
        node = statement.node
        if node in self.literal.inline:
            return
        text = self._text(statement)
        if statement.block is self.program.top and (free := self._freed(statement)):
            release = f"{' = '.join(free)} = None"
            text = f"{text};  {release}" if text else release
        if not text:
            return
        if self.verbose and (shape := known_type(node)):
            text += f"  # {one_line(shape)}"
        self._add(indent, text, node)

    def _text(self, statement: Plain) -> str:
        node, name = statement.node, self._name(statement.value)
        target = node.target if node.op == "call_function" else None
        if statement in self.storage.in_place:
            return self._update(statement, name)
        if target is _control.check and len(statement.args) + len(statement.kwargs) <= 2 and statement.args:
            message = statement.kwargs.get("message", statement.args[1] if len(statement.args) > 1 else None)
            said = "" if message is None else f", {self.literal(message)}"
            done = f";  {name} = None" if node.users else ""
            # A tuple in brackets after `assert` would always be true.
            return f"assert {self.literal(statement.args[0])}{said}{done}"
        if target is print and not node.users:
            return self._expression(node, statement.args, statement.kwargs)
        if target is _control.fail and not statement.kwargs and not isinstance(statement.args[0], Node):
            return self._raise(statement.args)
        return self._line(node, name, statement.args, statement.kwargs)

    def _raise(self, args: tuple[Any, ...]) -> str:
        kind, *rest = args
        text = self.literal(kind)
        if isinstance(kind, BaseException) and not rest:
            return f"raise {text}"
        return f"raise {text}({self._arguments(rest, {})})"

    def _update(self, statement: Plain, name: str) -> str:
        """An update in place, and its variable where that is another one than the array's."""
        array, key, value = statement.args
        held = self.literal(array)
        parts = []
        if statement not in self.storage.silent:
            keys, adds = self.storage.keys, statement.node.target is INDEX_ADD
            if keys.adds_simply(array, key, value) if adds else keys.is_simple(key):
                sign = "+=" if adds else "="
                parts.append(f"{held}[{self.literal.subscript(key)}] {sign} {self.literal(value)}")
            else:
                helper = add_item if adds else write_item
                written = self.literal.bound(helper, helper.__name__)
                parts.append(f"{written}({held}, {self.literal(key)}, {self.literal(value)})")
        if name != held:
            parts.append(f"{name} = {held}")
        return ";  ".join(parts)

    def _gathered(self, parts: Any) -> str:
        if isinstance(parts, Value):
            return self._name(parts)
        inner = ", ".join(self._gathered(part) for part in parts)
        return f"({inner},)" if len(parts) == 1 else f"({inner})"

    # Moves

    def _moves(self, pairs: list[tuple[Value, Any, bool]], indent: str, node: Node) -> None:
        """Give values to variables, as if at once; each is a variable, what it gets, and whether that is copied."""
        waiting: list[tuple[str, str, set[str]]] = []
        for value, source, copied in pairs:
            name, text = self._name(value), self.literal(source)
            reads = {self._name(read) for read in self.program.read_by(source)}
            if copied:
                text = f"{self.literal.function(TABLE['copy'])}({text})"
            if text != name:
                waiting.append((name, text, reads))
        while waiting:
            ready = [move for move in waiting if not any(move[0] in other[2] for other in waiting if other is not move)]
            if not ready:
                targets, texts = ", ".join(m[0] for m in waiting), ", ".join(m[1] for m in waiting)
                self._add(indent, f"{targets} = {texts}", node)
                return
            self._add(indent, f"{ready[0][0]} = {ready[0][1]}", node)
            waiting.remove(ready[0])

    # Branches

    def _choice(self, choice: Choice, indent: str, word: str = "if") -> None:
        tests = self._tests(choice)
        for k, (branch, test) in enumerate(zip(choice.branches, tests, strict=True)):
            last = k == len(choice.branches) - 1
            if last and k and self._is_chain(choice, branch):
                *leading, inner = branch.statements
                if self._inlined(inner.test, leading) is not None:  # type: ignore[union-attr]  # _is_chain has looked
                    self._choice(inner, indent, "elif")  # type: ignore[arg-type]  # as above
                    return
            if test is None and not k:
                self._branch(choice, k, indent)  # one branch only
                return
            self._add(indent, f"{'else' if test is None else f'{word} {test}'}:", choice.node)
            word = "elif"
            before = len(self.lines)
            self._branch(choice, k, f"{indent}    ")
            if len(self.lines) == before:
                if test is None:
                    self.line_nodes.pop(len(self.lines), None)
                    self.lines.pop()
                else:
                    self._add(f"{indent}    ", "pass")

    def _tests(self, choice: Choice) -> list[str | None]:
        """The condition of each branch; None for the last, which is taken otherwise."""
        text = self.literal(choice.test)
        count = len(choice.branches)
        if choice.node.target is _control.cond:
            return [text, None]
        return [*(f"{text} {'<=' if k == 0 else '=='} {k}" for k in range(count - 1)), None]

    def _branch(self, choice: Choice, k: int, indent: str) -> None:
        branch = choice.branches[k]
        self._block(branch, indent)
        if not branch.fails:
            moves = [
                (result.value, result.sources[k], False) for result in choice.results if result.value and result.read
            ]
            self._moves(moves, indent, choice.node)

    def _is_chain(self, choice: Choice, branch: Block) -> bool:
        """Whether a branch does nothing but choose again, so that it is written `elif`."""
        if not branch.statements or branch.fails:
            return False
        inner = branch.statements[-1]
        if not isinstance(inner, Choice) or len(inner.branches) < 2:
            return False
        if len(branch.statements) > 1 and inner.node.target is not _control.cond:
            return False  # its test is written more than once
        k = choice.branches.index(branch)
        moved = [(result.value, result.sources[k]) for result in choice.results if result.read]
        return all(self._name(value) == self.literal(source) for value, source in moved if value is not None)

    # Loops

    def _loop(self, loop: Loop, indent: str) -> None:
        carries = [carry for carry in loop.carries if carry.used]
        copied = self.storage.copied
        self._moves([(carry.value, carry.init, carry in copied) for carry in carries], indent, loop.node)
        stacked = [(result, self.variables.rows[result]) for result in loop.stacked if result.read]
        count = self._row_count(loop) if loop.node.target is _control.scan else ""
        for _, rows in stacked:
            self._add(indent, f"{rows} = []", loop.node)
        inner = f"{indent}    "
        if loop.node.target is _control.while_loop:
            self._while(loop, carries, indent)
            return
        assert loop.index is not None, "a loop over numbers has an index"
        self._add(indent, f"for {self._name(loop.index)} in {count or self._range(loop)}:", loop.node)
        for row, source in loop.rows:
            self._add(inner, f"{self._name(row)} = {self._row_of(source)}[{self._name(loop.index)}]", loop.node)
        self._end(loop, carries, inner, stacked)
        for result, rows in stacked:
            self._stack(loop, result, rows, indent)

    def _end(self, loop: Loop, carries: list[Carry], inner: str, stacked: Iterable[tuple[Result, str]] = ()) -> None:
        """The body of a loop, after its condition."""
        before = len(self.lines)
        self._block(loop.body, inner, loop.test_at)
        if not loop.body.fails:
            for result, rows in stacked:
                text = self.literal(result.sources[0])
                if result in self.storage.kept_rows:
                    text = f"{self.literal.function(TABLE['copy'])}({text})"
                self._add(inner, f"{rows}.append({text})", loop.node)
            self._moves([(carry.value, carry.out, False) for carry in carries], inner, loop.node)
        if len(self.lines) == before and not loop.rows:
            self._add(inner, "pass")

    def _range(self, loop: Loop) -> str:
        lower, upper, step = loop.bounds
        given = [upper] if lower == 0 and type(lower) is int else [lower, upper]
        if step != 1 or type(step) is not int:
            given = [lower, upper, step]
        return f"{self.literal.builtin('range')}({', '.join(map(self.literal, given))})"

    def _while(self, loop: Loop, carries: list[Carry], indent: str) -> None:
        statements = loop.body.statements[: loop.test_at]
        text = self._inlined(loop.test, statements)
        test = loop.test if isinstance(loop.test, Node) and loop.test.op == "call_function" else loop.node
        if text is not None:
            self._add(indent, f"while {text}:", test)
            self._end(loop, carries, f"{indent}    ")
            return
        self._add(indent, "while True:", loop.node)
        inner = f"{indent}    "
        self._block(loop.body, inner, stop=loop.test_at)
        self._add(inner, f"if not {self._operand(loop.test)}:", test)
        self._add(f"{inner}    ", "break", test)
        self._end(loop, carries, inner)

    def _inlined(self, test: Any, statements: list[Any]) -> str | None:
        """The condition as one expression, where it is made of operators each read once and is not long."""
        wanted = {test}
        for statement in reversed(statements):
            if statement.node not in wanted:
                return None  # what the condition does not read is read later, when what it reads may have changed
            wanted.update(statement.node.all_input_nodes)
        for statement in statements:
            simple = isinstance(statement, Plain) and statement.node.op == "call_function" and not statement.kwargs
            if not simple or len(statement.value.reads) != 1 or statement.node.is_impure():
                break
            text = self._operator(statement.node.target, statement.args)
            if text is None or len(text) > _LONG:
                break
            bare = statement.node.target in (getattr, operator.getitem) or statement.node is test
            self.literal.inline[statement.node] = text if bare else f"({text})"
        else:
            return self.literal(test)
        for statement in statements:
            self.literal.inline.pop(statement.node, None)
        return None

    # Scans

    def _row_of(self, source: Any) -> str:
        return self._receiver(source)

    def _row_count(self, loop: Loop) -> str:
        length, reverse, *_ = loop.bounds
        xs = [source for _, source in loop.rows]
        if len(xs) == 1 and length is None and is_spec(_type(self.program, xs[0])):
            count = f"{self._row_of(xs[0])}.shape[0]"
        elif not xs and type(length) is int and length >= 0:
            count = str(length)
        else:
            paths = tuple(f"xs[{i}]" for i in range(len(xs)))
            function = self.literal.function(_control_scan.row_count)
            count = f"{function}({self.literal(tuple(xs))}, {self.literal(paths)}, {self.literal(length)})"
        numbers = self.literal.builtin("range")
        return f"{self.literal.builtin('reversed')}({numbers}({count}))" if reverse else f"{numbers}({count})"

    def _stack(self, loop: Loop, result: Result, rows: str, indent: str) -> None:
        assert result.value is not None, "only results that are read are stacked"
        _, reverse, *_ = loop.bounds
        if reverse:
            self._add(indent, f"{rows}.reverse()", loop.node)
        known = _type(self.program, result.sources[0])
        stack = self.literal.function(TABLE["stack"] if is_spec(known) else _control_scan._stack)
        text = f"{self._name(result.value)} = {stack}({rows}) if {rows} else {self._no_rows(loop, result, known)}"
        self._add(indent, text, loop.node)

    def _no_rows(self, loop: Loop, result: Result, known: Any) -> str:
        """What is stacked where there are no rows: by its type, else as the body would give it."""
        if is_spec(known) and all(type(dim) is int for dim in known.shape):
            shape, dtype = self.literal((0, *known.shape)), self.literal(known.dtype)
            return f"{self.literal.function(TABLE['zeros'])}({shape}, dtype = {dtype})"
        _, _, body, operands = loop.bounds
        # Where nothing ran, each carry still has its initial value.
        held = [self._name(carry.value) if carry.used else self.literal(carry.init) for carry in loop.carries]
        given = self._arguments(([source for _, source in loop.rows], *operands), {})
        empty = self.literal.bound(_NoRows(body, loop.stacked.index(result)), "no_rows")
        return f"{empty}([{', '.join(held)}], {given})"

    # The end

    def _return(self, output: Node) -> None:
        if self.verbose:
            self._source_comment(output)
        values = self.program.values
        left = [(t, v) for t, v in output.kwargs.get("writes", ()) if not self.storage.is_same(values[t], v)]
        apart = all(not self.storage.may_share(v, t) for k, (_, v) in enumerate(left) for t, _ in left[:k])
        if apart and all(_same_shape(values[t], _type(self.program, v)) for t, v in left):
            for target, value in left:
                self._add("    ", f"{self.literal(target)}[...] = {self.literal(value)}", output)
        elif left:
            written = self.literal.bound(_writes.carry_out, "carry_out")
            pairs = ", ".join(f"({self.literal(target)}, {self.literal(value)})" for target, value in left)
            self._add("    ", f"{written}([{pairs}])", output)
        for target, value in left:
            # Whoever gets what was written gets the array it was written to.
            if value.op not in ("placeholder", "get_attr") and _same_type(values[target], _type(self.program, value)):
                self.literal.inline[value] = self.literal(target)
        if left:
            map_arg(output.args, self._of_written)
        self._add("    ", f"return {self.literal(output.args[0] if output.args else None)}", output)

    def _view(self, node: Node) -> Plain | None:
        """The statement that gives a node which may show its first argument, and is told how by numbers alone."""
        value = self.program.values[node]
        if value.block is not self.program.top or not 0 <= value.at < value.block.end:
            return None
        found = value.block.statements[value.at]
        if not isinstance(found, Plain) or not found.args or not isinstance(found.args[0], Node):
            return None
        shows = sharing(found, self.storage.keys) in (VIEW, OTHER) and op_of(node.target) is not None
        return found if shows and all(_type(self.program, each) is int for each in node.all_input_nodes[1:]) else None

    def _of_written(self, node: Node) -> bool:
        """Let a view of what was written be one of the array it was written to; whether a node is one."""
        if node in self.literal.inline:
            return True
        view = self._view(node)
        if view is None or not self._of_written(view.args[0]):
            return False
        self.literal.inline[node] = self._expression(node, view.args, view.kwargs)
        return True

    # Lifetimes

    def _last_positions(self) -> dict[Any, int]:
        """For each variable, the last statement of the function that needs it."""
        top = self.program.top
        last: dict[Any, int] = {}
        for variable in self.variables.all:
            ends = [max(value.at, value.uses.get(top, -1)) for value in variable.members if value.block is top]
            if ends:
                last[variable] = max(ends)
            elif any(is_spec(value.type) and value.type.shape for value in variable.members):
                last[variable] = max(_place_in(top, value.block) for value in variable.members)  # of a body: an array
        writes = self.program.output.kwargs.get("writes", ()) if self.program.output is not None else ()
        for target, _ in writes:
            last[self.variables.variable(self.program.values[target])] = top.end
        if writes and self.program.output is not None:
            map_arg(self.program.output.args, lambda node: self._keep(node, last))
        return last

    def _keep(self, node: Node, last: dict[Any, int]) -> None:
        """Keep the numbers that say how a result shows what was written: see `_of_written`."""
        while (view := self._view(node)) is not None:
            for each in node.all_input_nodes[1:]:
                last[self.variables.variable(self.program.values[each])] = self.program.top.end
            node = view.args[0]

    def _freed(self, statement: Plain) -> list[str]:
        """The variables that nothing needs after a statement."""
        if statement.node.target is _control.fail:
            return []
        named = [] if self._is_item_write(statement.node) and not statement.node.users else [statement.value]
        if statement.node.target in (_control.check, print) and not statement.node.users:
            named = []
        if statement.at not in self.ending:
            return []
        found = dict.fromkeys(self.variables.variable(value) for value in (*statement.reads, *named))
        return [variable.name for variable in found if self.last.get(variable) == statement.at]

    def _release_after(self, statement: Choice | Loop | Gather) -> None:
        following = self.program.top.statements[statement.at + 1 : statement.at + 4]
        if len(following) < 3 and all(isinstance(later, Gather) for later in following):
            return  # the function ends here anyway
        if free := self.ending.get(statement.at):
            self._add("    ", f"{' = '.join(free)} = None", statement.node)


class _NoRows:
    """What a scan stacks where there are no rows: arrays of no rows, as its body would give them."""

    def __init__(self, body: Graph, number: int) -> None:
        self.body = body
        self.number = number

    def __call__(self, carries: list[Any], xs: list[Any], *operands: Any) -> Any:
        return _control_scan.scan_graph(self.body, carries, xs, operands, 0, False)[1][self.number]


def _place_in(top: Block, block: Block) -> int:
    """The position of the statement of the function that a block is in."""
    while block.parent is not top:
        assert block.parent is not None
        block = block.parent
    return block.at


def _type(program: Program, argument: Any) -> Any:
    if isinstance(argument, Node) and argument in program.values:
        return program.values[argument].type
    return None


def _same_type(target: Value, known: Any) -> bool:
    return _same_shape(target, known) and target.type.dtype == known.dtype


def _same_shape(target: Value, known: Any) -> bool:
    own = target.type
    return is_spec(own) and is_spec(known) and same_shape(own.shape, known.shape)
