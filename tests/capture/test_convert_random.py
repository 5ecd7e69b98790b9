"""Random structured programs behave the same converted: events, results, exceptions, lines of tracebacks."""

from __future__ import annotations

import linecache
import random
import traceback
import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from weft.capture._convert import convert
from weft.capture._plain import PlainHooks

_NUMBERS = count()
VARIABLES = ["p", "q", "r", "s"]


class Enough(BaseException):
    """The program has run for long enough."""


class Trouble(Exception):
    """What programs raise."""


class Events:
    """Records what a program does and decides, from a seed, what it sees."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seen: list[Any] = []

    def __call__(self, *what: Any) -> int:
        self.seen.append(repr(what))
        if len(self.seen) > 300:
            raise Enough
        if self.random.random() < 0.03:
            raise Trouble(len(self.seen))
        return self.random.randrange(4)

    def context(self, *what: Any) -> Context:
        return Context(self, what)


class Context:
    """A context manager that sometimes swallows, sometimes raises."""

    def __init__(self, events: Events, what: Any) -> None:
        self.events, self.what = events, what

    def __enter__(self) -> int:
        return self.events("enter", self.what)

    def __exit__(self, kind: Any, *rest: object) -> bool:
        swallow = self.events("exit", self.what, kind) == 0
        return kind is not None and swallow and kind is not Enough


class Writer:
    """Writes a random function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.labels = count()
        self.loops = 0
        self.finals = 0
        self.nested = 0
        self.classes = 0

    def program(self) -> str:
        generator = self.random.random() < 0.08
        self.lines = ["def program(e, p):"]
        self.block(1, 3)
        if generator:
            self.line(1, f"yield {self.value()}")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def label(self) -> int:
        return next(self.labels)

    def variable(self) -> str:
        return self.random.choice(VARIABLES)

    def call(self, *names: str) -> str:
        return f"e({', '.join([str(self.label()), *names])})"

    def value(self, depth: int = 2) -> str:
        if depth == 0:
            return self.random.choice([self.call(), self.variable(), "1"])
        one, two, three = (self.value(depth - 1) for _ in range(3))
        choices = [
            self.call(), self.call(self.variable()), self.variable(), f"({one} + {two})",
            f"({one} and {two} and {three})", f"({one} or {two})", f"(not {one})", f"({one} if {two} else {three})",
            f"({one} < {two} <= {three})",
            f"[{one} for t in range({two} % 3) if {three}]", f"sum(t + {one} for t in range(2))",
            f"({self.variable()} := {one})",
            f"f'{{{self.call()}!r:>{{{self.call()}}}}}'", f"(lambda u=1: u + {self.variable()})()", f"{one} is {two}",
            "[(t, u) for t in range(2) for u in range(t + 1)]", f"(0 or ({self.variable()} := {two}))",
        ]  # fmt: skip
        return self.random.choice(choices)

    def test(self) -> str:
        return self.random.choice([f"{self.call()} > 1", self.call(), f"{self.call()} == {self.call()}", self.value(1)])

    def block(self, depth: int, size: int) -> None:
        for _ in range(self.random.randint(1, size)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        simple = [self.assign, self.update, self.use, self.jump, self.jump, self.unpack, self.remove, self.trouble]
        compound = [
            self.if_,
            self.if_,
            self.while_,
            self.for_,
            self.for_,
            self.try_,
            self.with_,
            self.match_,
            self.def_,
        ]
        deep = depth > 5 or self.random.random() < 0.45
        self.random.choice(simple if deep else compound)(depth)

    def assign(self, depth: int) -> None:
        self.line(depth, f"{self.variable()} = {self.value()}")

    def update(self, depth: int) -> None:
        self.line(depth, f"{self.variable()} += {self.call()}")

    def unpack(self, depth: int) -> None:
        self.line(
            depth, f"{self.variable()}, ({self.variable()}, *{self.variable()}) = {self.call()}, [1, {self.call()}]"
        )

    def use(self, depth: int) -> None:
        self.line(depth, f"e({self.label()}, {self.variable()})")

    def remove(self, depth: int) -> None:
        self.line(depth, f"del {self.variable()}" if self.random.random() < 0.4 else f"e({self.label()})")

    def trouble(self, depth: int) -> None:
        cause = self.random.choice(["", " from None", " from ValueError(1)"])
        choices = [
            f"raise KeyError({self.label()}){cause}",
            f"assert {self.test()}, {self.call()}",
            f"e({self.label()})",
        ]
        self.line(depth, self.random.choice(choices))

    def jump(self, depth: int) -> None:
        kinds = ["return " + self.value(1), "return"] * (not self.classes) + ["break", "continue"] * (
            2 * (self.loops > 0)
        )
        if not kinds or (self.finals and self.random.random() < 0.8):
            kinds = ["pass"]
        self.line(depth, self.random.choice(kinds))

    def if_(self, depth: int) -> None:
        self.line(depth, f"if {self.test()}:")
        self.block(depth + 1, 3)
        while self.random.random() < 0.3:
            self.line(depth, f"elif {self.test()}:")
            self.block(depth + 1, 2)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, 3)

    def while_(self, depth: int) -> None:
        self.line(depth, f"while {self.random.choice([self.test(), self.test(), 'True'])}:")
        self.line(depth + 1, self.call())
        self.loop(depth)

    def for_(self, depth: int) -> None:
        target = self.random.choice(["i", self.variable(), "(i, p)", "q"])
        items = f"[({self.call()}, {self.label()})] * 3" if target[0] == "(" else f"range({self.call()})"
        self.line(depth, f"for {target} in {items}:")
        self.loop(depth)

    def loop(self, depth: int) -> None:
        self.loops += 1
        self.block(depth + 1, 4)
        self.loops -= 1
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, 2)

    def try_(self, depth: int) -> None:
        self.line(depth, "try:")
        self.block(depth + 1, 3)
        handled = self.random.random() < 0.7
        if handled:
            name = self.random.choice(["", "", " as z", " as p"])
            self.line(depth, f"except (Trouble, KeyError, NameError, TypeError, ValueError){name}:")
            self.line(depth + 1, f"e({self.label()}, str({name[4:]}))" if name else f"e({self.label()})")
            self.block(depth + 1, 2)
            if self.random.random() < 0.4:
                self.line(depth, "else:")
                self.block(depth + 1, 2)
        if not handled or self.random.random() < 0.3:
            self.line(depth, "finally:")
            self.finals += 1
            self.block(depth + 1, 2)
            self.finals -= 1

    def with_(self, depth: int) -> None:
        name = self.random.choice(["", f" as {self.variable()}"])
        self.line(depth, f"with e.context({self.label()}){name}:")
        self.block(depth + 1, 3)

    def match_(self, depth: int) -> None:
        self.line(depth, f"match {self.call()}:")
        for pattern in ("0", f"1 if {self.test()}", self.random.choice(["_", "2", f"{self.variable()}"])):
            self.line(depth + 1, f"case {pattern}:")
            self.block(depth + 2, 2)

    def def_(self, depth: int) -> None:
        if self.nested:
            return self.assign(depth)
        name = f"g{self.label()}"
        self.line(depth, f"def {name}(a=1):")
        kept, self.loops, self.nested = (self.loops, self.finals), 0, 1
        if self.random.random() < 0.6:
            self.line(depth + 1, f"nonlocal {self.random.choice(VARIABLES[1:])}")
        self.finals = 0
        self.block(depth + 1, 2)
        (self.loops, self.finals), self.nested = kept, 0
        self.line(depth, f"e({self.label()}, {name}())")
        return None


def define(text: str, name: str = "program", **names: Any) -> tuple[Callable[..., Any], str]:
    """A function from source text that Python keeps, and the file it is filed under."""
    file = f"<written {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"Trouble": Trouble, **names}
    exec(compile(text, file, "exec"), space)
    return space[name], file


def plain(function: Any) -> Any:
    """The function converted, under plain hooks."""
    return convert(function).bind(function, PlainHooks())


def outcome(function: Callable[..., Any], file: str, seed: int) -> tuple[Any, ...]:
    """Everything a run shows: events, and the result, or the exception with its message, cause and lines."""
    events = Events(seed)
    try:
        result = function(events, 1)
        result = list(result) if hasattr(result, "__next__") else result
    except (Exception, Enough) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        # Deeply nested code is moved into a function of its own, called on the line of its first statement.
        moved = [after.name.startswith("_weft_") for after in frames[1:]] + [False]
        lines = [frame.lineno for frame, called in zip(frames, moved, strict=True) if not called]
        lines = [line for line, before in zip(lines, [None, *lines], strict=False) if line != before]
        if isinstance(error, UnboundLocalError):
            # Once warm, CPython 3.11 runs a store and the load after it as one, and blames the store's line.
            lines = lines[:-1]
        context = (repr(error.__cause__), error.__suppress_context__, repr(error.__context__))
        return events.seen, type(error), str(error), context, lines
    return events.seen, repr(result)


@pytest.mark.parametrize("batch", range(20))
def test_random_programs(batch: int) -> None:
    ran = 0
    for seed in range(batch * 60, batch * 60 + 60):
        # Every program stores these, perhaps: nested functions may declare them nonlocal.
        text = (
            Writer(seed).program().replace("def program(e, p):\n", "def program(e, p):\n    if e(-1): q = r = s = 0\n")
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            try:
                function, file = define(text)
            except SyntaxError:  # a name both parameter and nonlocal, a case that can never be reached
                continue
            made = plain(function)
        ran += 1
        for run in range(4):
            assert outcome(made, file, run) == outcome(function, file, run), text
    assert ran > 50
