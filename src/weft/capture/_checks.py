"""Conditions on a call as data, and the fast function that checks them.

An expression is an `Expr`: a form of the closed vocabulary `FORMS` and its parts, which are expressions, numbers or, in
a `held`, any value. Python text is printed from it, in which every value goes by a name, so no text of anybody else's
is ever run; a saved file holds the same expressions.

    >>> x = argument(0)
    >>> print(Checks([], 1, ()).text(both(same(kind(x), held(float)), equal(form("ndim", x), 2))))
    ((type(p0) is float_0) and (p0.ndim == 2))
"""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from weft._where import package_name
from weft.autograd._mode import anomaly
from weft.capture._reads import Shown, unchanged
from weft.ops._dim import Dim, fits_a_hint, sliced

MISS: Any = object()
"""What an entry answers where it does not apply."""


class Expr(NamedTuple):
    """An expression over the arguments of a call."""

    form: str
    parts: tuple[Any, ...]


FORMS: dict[str, tuple[str, int]] = {
    # what is looked at: the text, and how many expressions stand in it; -1 is any number of them
    "type": ("type({})", 1),
    "length": ("len({})", 1),
    "keys": ("(*{},)", 1),
    "values": ("{}.values()", 1),
    "dtype": ("{}.dtype", 1),
    "ndim": ("{}.ndim", 1),
    "strides": ("{}.strides", 1),
    "contiguous": ("{}.flags.c_contiguous", 1),
    "owns": ("{}.flags.owndata", 1),
    "array": ("{}._array", 1),
    "requires_grad": ("{}._requires_grad", 1),
    "step": ("{}._step", 1),
    "hooks": ("{}._hooks", 1),
    "name": ("{}.__name__", 1),
    "cell": ("{}.cell_contents", 1),
    "code": ("{}.__code__", 1),
    "get": ("{}.get({}, MISS)", 2),
    "attribute": ("getattr({}, {}, MISS)", 2),
    "unchanged": ("unchanged({}, {})", 2),
    "may_share": ("may_share({}, {})", 2),
    "call": ("{}({})", -1),
    # tests and arithmetic
    "is": ("({} is {})", 2),
    "is not": ("({} is not {})", 2),
    "==": ("({} == {})", 2),
    "!=": ("({} != {})", 2),
    "<": ("({} < {})", 2),
    "<=": ("({} <= {})", 2),
    ">": ("({} > {})", 2),
    ">=": ("({} >= {})", 2),
    "+": ("({} + {})", 2),
    "-": ("({} - {})", 2),
    "*": ("({} * {})", 2),
    "//": ("({} // {})", 2),
    "%": ("({} % {})", 2),
    "neg": ("(-{})", 1),
    "min": ("min({}, {})", 2),
    "max": ("max({}, {})", 2),
    "sliced": ("sliced({}, {}, {}, {})", 4),
    "not": ("(not {})", 1),
    "and": (" and ", -1),
    "or": (" or ", -1),
    # words for a person
    "repr": ("repr({})", 1),
    "sizes": ("sizes({})", -1),
}
_NUMBERED = {"argument": "p{}", "variable": "v{}"}
"""Forms whose only part is a number."""
_PLACED = {"size": "{}.shape[{}]", "part": "{}[{}]"}
"""Forms of an expression and a number."""


def argument(number: int) -> Expr:
    """The value of a parameter of the entry."""
    return Expr("argument", (number,))


def held(value: Any) -> Expr:
    """A value that the function finds under a name of its own; None, truth values and integers are written out."""
    return Expr("held", (value,))


def form(name: str, *parts: Any) -> Expr:
    """An expression of a form; parts that are no expressions are held."""
    assert FORMS[name][1] in (-1, len(parts)), name
    return Expr(name, tuple([part if type(part) is Expr else Expr("held", (part,)) for part in parts]))


def size(array: Expr, axis: int) -> Expr:
    """A size of an array."""
    return Expr("size", (array, axis))


def part(values: Expr, number: int) -> Expr:
    """An item of a list."""
    return Expr("part", (values, number))


def kind(value: Expr) -> Expr:
    """The class of a value."""
    return Expr("type", (value,))


def same(one: Any, other: Any) -> Expr:
    """Whether two are one object."""
    return form("is", one, other)


def equal(one: Any, other: Any) -> Expr:
    """Whether two are equal."""
    return form("==", one, other)


def both(*tests: Expr) -> Expr:
    """Whether all tests hold."""
    return Expr("and", tests)


def call(function: Callable[..., Any], *args: Any) -> Expr:
    """The result of a function."""
    return form("call", function, *args)


def of_size(dim: Any, leaf: Callable[[Any], Expr]) -> Expr:
    """The expression that computes a size; `leaf` gives those of the sizes it is made of."""
    if not isinstance(dim, Dim):
        return held(dim)

    def combine(function: Any, operands: tuple[Any, ...]) -> Expr:
        found = form(_ARITHMETIC[function], *operands[: FORMS[_ARITHMETIC[function]][1]])
        for more in operands[len(found.parts) :]:  # of min and max there may be more than two
            found = form(_ARITHMETIC[function], found, more)
        return found

    made: Expr = dim.build(leaf, combine)
    return made


_ARITHMETIC: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.neg: "neg",
    min: "min",
    max: "max",
    sliced: "sliced",
}


@dataclass(frozen=True)
class Condition:
    """One guard: a test, and what it says to a person.

    `plain` where a call that only fails here cannot be captured either and runs as the function itself. `basic` where
    it says no more than the type of an input does. `outside` where it asks about no argument, but about what a program
    reads from outside. `family` is what conditions of one kind say together. `told` says what a call that fails here is
    like: the words before and after the present value, which the expression `now` gives. `alone` where an argument has
    to be one object or function.
    """

    test: Expr
    says: str
    plain: bool = False
    basic: bool = False
    outside: bool = False
    alone: bool = False
    family: str | None = None
    now: Expr | None = None
    told: tuple[str, ...] = ()
    reached: int = 0  # where it has failed, how many steps came before it
    learns: Any = None  # the place outside that it is about, as `weft.capture._state_places.Known` has it

    def failed(self, now: Any) -> str:
        """What a call is like that does not meet it."""
        return short(now, str).join(self.told) if self.told else f"no longer: {self.says}"


class Assigned(NamedTuple):
    """Variables that are given a value: the one numbered `first`, or so `many` from there on, one for each item."""

    first: int
    value: Expr
    many: int | None = None


Step = Condition | Assigned


class Checks:
    """Conditions in the order they are checked, and the function that does it.

    The function has the parameters p0, p1, … and the variables v0, v1, …: whatever names a captured function uses,
    they hide none of the others. `inputs` are the expressions whose values are handed on.
    """

    def __init__(self, steps: list[Step], parameters: int, inputs: Sequence[Expr]) -> None:
        self.steps, self.parameters, self.inputs = steps, parameters, inputs
        self.space: dict[str, Any] = {
            "__name__": __name__,  # so that the line of a call is the caller's
            "MISS": MISS,
            "may_share": np.may_share_memory,
            "repr": shown,
            "sizes": _told_sizes,
            "sliced": sliced,
            "unchanged": unchanged,
        }
        self._names: dict[int, str] = {}  # by id of a value, what the function calls it
        self._teller: Any = None

    @property
    def conditions(self) -> list[Condition]:
        """The conditions alone."""
        return [step for step in self.steps if type(step) is Condition]

    def text(self, expression: Expr) -> str:
        """An expression as Python over the names of `space`."""
        name, parts = expression
        if name == "held":
            return self._held(parts[0])
        if name in _NUMBERED:
            return _NUMBERED[name].format(int(parts[0]))
        if name in _PLACED:
            return _PLACED[name].format(self.text(parts[0]), int(parts[1]))
        texts = [self.text(one) for one in parts]
        if name in ("and", "or"):
            return f"({FORMS[name][0].join(texts)})"
        if name in ("call", "sizes"):
            first, rest = (texts[0], texts[1:]) if name == "call" else ("sizes", texts)
            return f"{first}({', '.join(rest)})"
        return FORMS[name][0].format(*texts)

    def _held(self, value: Any) -> str:
        if value is None or value is True or value is False or (type(value) is int and fits_a_hint(value)):
            return str(value)
        known = self._names.get(id(value))
        if known is None:
            hint = getattr(value, "__name__", "") if isinstance(value, type) else ""
            name = f"{hint if hint.isidentifier() and hint.isascii() else 'c'}_{len(self._names)}"
            known = self._names[id(value)] = name
            self.space[name] = value
        return known

    def entry(self, run: Any, watched: Any) -> Any:
        """A function of the captured function's parameters: the result of `run`, or MISS.

        Inside `detect_anomaly` it is the result of `watched`.
        """
        self.space |= {"run": run, "watched": watched, "anomaly": anomaly.get}
        lines = []
        for conditions, group in itertools.groupby(self.steps, lambda step: type(step) is Condition):
            if conditions:
                tests = " and ".join([f"({self.text(step.test)})" for step in group])  # type: ignore[union-attr]
                lines += [f"if not ({tests}):", "    return MISS"]
            else:
                lines += [self._assigned(step) for step in group]  # type: ignore[arg-type]
        inputs = ", ".join(map(self.text, self.inputs))
        return self._function("entry", [*lines, f"return watched({inputs}) if anomaly() else run({inputs})"])

    def failing(self, values: tuple[Any, ...]) -> Condition | None:
        """The first guard that does not hold of a call, and what it says of that call; None where all hold."""
        if self._teller is None:
            lines = []
            for number, step in enumerate(self.steps):
                if type(step) is Assigned:
                    lines.append(self._assigned(step))
                else:
                    now = "None" if step.now is None else self.text(step.now)  # type: ignore[union-attr]
                    lines += [f"if not ({self.text(step.test)}):", f"    return {number}, {now}"]  # type: ignore[union-attr]
            self._teller = self._function("failing", [*lines, "return None"])
        failed = self._teller(*values)
        if failed is None:
            return None
        found = self.steps[failed[0]]
        assert type(found) is Condition
        return replace(found, says=found.failed(failed[1]), reached=failed[0])

    def _assigned(self, step: Assigned) -> str:
        if step.many is None:
            return f"v{int(step.first)} = {self.text(step.value)}"
        names = [f"v{number}" for number in range(step.first, step.first + step.many)]
        return f"{', '.join(names)}, = {self.text(step.value)}"

    def _function(self, name: str, lines: list[str]) -> Any:
        parameters = ", ".join([f"p{number}" for number in range(self.parameters)])
        exec("\n    ".join([f"def {name}({parameters}):", *lines]), self.space)
        return self.space[name]


def _told_sizes(*parts: Any) -> str:
    """What sizes are and were: parts are the name of one, what it is, and what it was, and so on for others."""
    each = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return ", ".join([f"{name} is {shown(now)}, was {was}" for name, now, was in each])


_SHOWN = frozenset(
    {
        *(bool, int, float, complex, str, bytes, type(None), type(...), range),
        *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType),
    }
)


def shown(value: Any) -> str:
    """A value as Python shows it, as far as that calls no code of the program: of its objects, the class is told.

    Integers of thousands of digits are told by their length: Python refuses to write them out.
    """
    kind = type(value)
    if kind is int and not fits_a_hint(value):
        return f"{value.bit_length()} bits long"
    if kind in _SHOWN or (isinstance(value, (np.generic, np.dtype)) and package_name(kind) == "numpy"):
        return repr(value)
    if kind is Shown:
        return str(value)
    if kind in (list, tuple):
        inside = ", ".join(map(shown, value))
        return f"[{inside}]" if kind is list else f"({inside}{',' if len(value) == 1 else ''})"
    if kind is dict:
        return f"{{{', '.join(f'{shown(key)}: {shown(part)}' for key, part in value.items())}}}"
    if kind is set and value:
        return f"{{{', '.join(map(shown, value))}}}"
    if isinstance(value, type):
        return type.__repr__(value)
    return f"a {kind.__name__}"


def short(value: Any, show: Any = shown) -> str:
    """A value as a text that is not too long."""
    text = show(value)
    return text if len(text) < 40 else f"{text[:37]}..."
