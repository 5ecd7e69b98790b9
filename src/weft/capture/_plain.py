"""Hooks that do exactly what Python does.

Converted code (see `weft.capture._convert`) runs under them with the meaning of the source it came from. They also say,
method by method, what capturing hooks have to provide.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from types import FunctionType
from typing import Any

from weft.capture._convert_site import Site
from weft.capture._matching import Matcher
from weft.graph._looping import unpacker

UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "@=": operator.imatmul,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda item, container: item in container,
    "not in": lambda item, container: item not in container,
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
SIGNS: dict[Any, str] = {
    function: sign
    for sign, function in (*OPERATORS.items(), *UPDATES.items(), *COMPARISONS.items())
    if sign not in ("in", "not in", "is", "is not")
}
"""The functions of `operator`, and how the operators are written."""
_CONVERSIONS: dict[str | None, Callable[[Any], Any]] = {"r": repr, "s": str, "a": ascii, None: lambda value: value}


class Undefined:
    """Stands in a converted function's variable for "no value yet"; reading it raises what Python raises."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name} has no value>"


class Untouched:
    """A context manager that lets everything pass."""

    __slots__ = ()

    def __enter__(self) -> Untouched:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


class Key:
    """Gives the key it is asked for: converted code needs slices as objects."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return key


class PlainIf(Untouched):
    """One side of an `if`, run once."""

    __slots__ = ("taken",)

    def __init__(self, taken: bool) -> None:
        self.taken = taken

    def leave(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The variables as the side left them."""
        return values


_SIDES = {True: (PlainIf(True),), False: (PlainIf(False),)}


class PlainWhile(Untouched):
    """A `while` loop, iterated as Python does."""

    __slots__ = ("going", "values")

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values
        self.going = True

    def __iter__(self) -> PlainWhile:
        return self

    def __next__(self) -> PlainWhile:
        if not self.going:
            raise StopIteration
        return self

    def enter(self) -> tuple[Any, ...]:
        """The variables as an iteration finds them."""
        return self.values

    def test(self, value: Any) -> bool:
        """Whether the body runs; where not, the loop is over."""
        self.going = bool(value)
        return self.going

    def leave(self, values: tuple[Any, ...], stop: Any) -> None:
        """The variables as an iteration leaves them, and whether it broke out of the loop."""
        self.values = values
        if stop:
            self.going = False

    def result(self) -> tuple[Any, ...]:
        """The variables after the loop."""
        return self.values


class PlainFor(Untouched):
    """A `for` loop, iterated as Python does."""

    __slots__ = ("current", "going", "iterator", "values")

    def __init__(self, iterable: Iterable[Any], values: tuple[Any, ...]) -> None:
        self.iterator = iter(iterable)
        self.values = values
        self.current: Any = None
        self.going = True

    def __iter__(self) -> PlainFor:
        return self

    def __next__(self) -> PlainFor:
        if not self.going:
            raise StopIteration
        self.current = next(self.iterator)
        return self

    def enter(self) -> tuple[Any, ...]:
        """The variables as an iteration finds them."""
        return self.values

    def item(self) -> Any:
        """The iteration's item."""
        item, self.current = self.current, None
        return item

    def leave(self, values: tuple[Any, ...], stop: Any) -> None:
        """The variables as an iteration leaves them, and whether it broke out of the loop."""
        self.values = values
        if stop:
            self.going = False

    def result(self) -> tuple[Any, ...]:
        """The variables after the loop."""
        return self.values


class _Names:
    """Variables, attributes, items and assignments."""

    sites: tuple[Site, ...] = ()
    globals: dict[str, Any]
    key = Key()

    def undefined(self, name: str) -> Any:
        """The value of a variable that has none."""
        return Undefined(name)

    def read(self, value: Any, free: bool = False) -> Any:
        """A variable that may have no value; `free` where a nested function reads it."""
        if type(value) is not Undefined:
            return value
        if free:
            what = f"cannot access free variable '{value.name}' where it is not associated with a value in"
            raise NameError(f"{what} enclosing scope", name=value.name)
        what = f"cannot access local variable '{value.name}' where it is not associated with a value"
        raise UnboundLocalError(what, name=value.name)

    def outer(self, name: str, value: Any) -> Any:
        """A global, or a variable of a function around the converted one."""
        return value

    def set_global(self, name: str, value: Any) -> None:
        """`global name; name = value`."""
        self.globals[name] = value

    def assign(self, name: str, value: Any) -> Any:
        """What `name = value` stores."""
        return value

    def assign_nonlocal(self, name: str, value: Any, cell: Any) -> Any:
        """What `nonlocal name; name = value` stores."""
        return value

    def makes(self, cells: Any) -> None:
        """Take down the variables of a function that begins, of those that functions inside of it assign."""

    def collects(self, keywords: dict[str, Any]) -> None:
        """Take down the dict that Python makes of a call's keywords: `def f(**keywords)`."""

    def update(self, name: str, value: Any, op: str, by: Any) -> Any:
        """What `name += by` stores."""
        return UPDATES[op](value, by)

    def attr(self, value: Any, name: str) -> Any:
        """`value.name`."""
        return getattr(value, name)

    def setattr(self, target: Any, name: str, value: Any) -> None:
        """`target.name = value`."""
        setattr(target, name, value)

    def update_attr(self, target: Any, name: str, op: str, by: Any) -> None:
        """`target.name += by`."""
        setattr(target, name, UPDATES[op](getattr(target, name), by))

    def update_attr_late(self, target: Any, name: str, op: str, by: Callable[[], Any]) -> None:
        """`target.name += by()`, where the attribute is read before `by` runs."""
        current = getattr(target, name)
        setattr(target, name, UPDATES[op](current, by()))

    def delattr(self, target: Any, name: str) -> None:
        """`del target.name`."""
        delattr(target, name)

    def evaluated(self, text: Any, spaces: bool = False) -> Any:
        """What a call of `eval` or `exec` runs; `spaces` says that it is given its variables."""
        return text

    def getitem(self, value: Any, key: Any) -> Any:
        """`value[key]`."""
        return value[key]

    def setitem(self, target: Any, key: Any, value: Any) -> None:
        """`target[key] = value`."""
        target[key] = value

    def update_item(self, target: Any, key: Any, op: str, by: Any) -> None:
        """`target[key] += by`."""
        target[key] = UPDATES[op](target[key], by)

    def update_item_late(self, target: Any, key: Any, op: str, by: Callable[[], Any]) -> None:
        """`target[key] += by()`, where the item is read before `by` runs."""
        current = target[key]
        target[key] = UPDATES[op](current, by())

    def delitem(self, target: Any, key: Any) -> None:
        """`del target[key]`."""
        del target[key]

    def spread(self, value: Any) -> Any:
        """What `*value` in a call or a display takes the items of."""
        return value

    def held(self, value: Any) -> Any:
        """The value of `a = b.c = value`, as an object holds it."""
        return value

    def display(self, value: Any) -> Any:
        """A tuple, list or set that was written with stars."""
        return value

    def keywords(self, value: Any, count: int) -> Any:
        """What `**value` in a call takes the items of, the one of such a number in it."""
        return value

    def unpack(self, value: Any, before: int, after: int, starred: bool) -> Sequence[Any]:
        """The items `a, *b, c = value` stores, one for each target."""
        if not starred and type(value) in (tuple, list) and len(value) == before:
            items: Sequence[Any] = value
            return items
        return unpacker(before, after, starred)(value)


class PlainHooks(_Names):
    """What each hook of converted code means when nothing is captured."""

    def bound_to(self, converted: Any, function: FunctionType) -> Any:
        """The hooks for one function: these, with its sites and globals."""
        made = copy(self)
        made.sites = converted.sites
        made.globals = function.__globals__
        return made

    def if_(self, site: int, test: Any, values: tuple[Any, ...], cells: Any = None) -> Iterable[PlainIf]:
        """The sides to run, one after the other."""
        return _SIDES[True] if test else _SIDES[False]

    def while_(self, site: int, values: tuple[Any, ...], cells: Any = None) -> PlainWhile:
        """A loop with the variables it stores."""
        return PlainWhile(values)

    def for_(self, site: int, iterable: Any, values: tuple[Any, ...], cells: Any = None) -> PlainFor:
        """A loop over something with the variables it stores."""
        return PlainFor(iterable, values)

    def truth(self, site: int, value: Any) -> bool:
        """The truth of a test that stays in Python's own form."""
        return bool(value)

    def iterate(self, iterable: Any) -> Any:
        """What a loop or comprehension in Python's own form runs over."""
        return iterable

    def if_expression(self, site: int, test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """`body if test else orelse`."""
        return body() if test else orelse()

    def and_(self, site: int, value: Any, *rest: Callable[[], Any]) -> Any:
        """`value and rest[0]() and …`."""
        for operand in rest:
            if not value:
                return value
            value = operand()
        return value

    def or_(self, site: int, value: Any, *rest: Callable[[], Any]) -> Any:
        """`value or rest[0]() or …`."""
        for operand in rest:
            if value:
                return value
            value = operand()
        return value

    def not_(self, value: Any) -> Any:
        """`not value`."""
        return not value

    def contains(self, item: Any, container: Any) -> Any:
        """`item in container`."""
        return item in container

    def not_contains(self, item: Any, container: Any) -> Any:
        """`item not in container`."""
        return item not in container

    def is_(self, left: Any, right: Any) -> Any:
        """`left is right`."""
        return left is right

    def is_not(self, left: Any, right: Any) -> Any:
        """`left is not right`."""
        return left is not right

    def compare(self, op: str, left: Any, right: Any) -> Any:
        """`left < right`."""
        return COMPARISONS[op](left, right)

    def operate(self, op: str, left: Any, right: Any) -> Any:
        """`left + right`."""
        return OPERATORS[op](left, right)

    def unary(self, op: str, value: Any) -> Any:
        """`-value`."""
        return UNARY[op](value)

    def match(
        self, site: int, subject: Any, pattern: tuple[Any, ...], names: tuple[str, ...], *values: Callable[[], Any]
    ) -> tuple[Any, ...]:
        """Whether a pattern of a `match` fits, and what it captures by its names; `values` are expressions in it."""
        found: dict[str, Any] = {}
        fits = Matcher(self, site, values).fits(pattern, subject, found)
        return fits, *(found.get(name) for name in names)

    def is_open(self, value: Any) -> bool:
        """Whether the value is known only when the graph runs."""
        return False

    def is_constant(self, value: Any, constant: Any) -> Any:
        """`value is constant`, where that is True, False or None."""
        return value is constant

    def known_class(self, value: Any, pattern: str) -> type:
        """The class of a value, which a pattern that takes values apart has to know."""
        return type(value)

    def chain(self, site: int, left: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
        """`left < a() < b()`: each operand once, and only as far as needed."""
        for index, (op, operand) in enumerate(rest, 1):
            right = operand()
            result = COMPARISONS[op](left, right)
            if index == len(rest) or not result:
                return result
            left = right
        return left

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`function(*args, **kwargs)`."""
        return function(*args, **kwargs)

    def definition(self) -> Any:
        """What Python calls with the function that a `def` has made, before its decorators."""
        return lambda function: function

    def decorator(self, decorate: Any) -> Any:
        """What Python calls for `@decorate`."""
        return decorate

    def assert_(self, site: int, condition: Any, message: Callable[[], Any] | None) -> None:
        """`assert condition, message()`."""
        if not condition:
            raise AssertionError() if message is None else AssertionError(message())

    def raise_(self, site: int, exception: Any, cause: Any) -> Any:
        """What a `raise` raises; the statement itself sets the cause."""
        return exception

    def merged(self, *parts: Any) -> Any:
        """`{**a, "x": 1, **b}`: the dicts it is made of."""
        made: dict[Any, Any] = {}
        for part in parts:
            made = {**made, **part}
        return made

    def percent(self, text: str, values: Any) -> str:
        """`text % values` of a literal text."""
        return str(text % values)

    def fstring(self, *parts: Any) -> str:
        """An f-string of literal strings and (value, conversion or None, parts of the format)."""
        if len(parts) == 1 and isinstance(parts[0], tuple):
            return self._formatted(*parts[0])
        return "".join([part if isinstance(part, str) else self._formatted(*part) for part in parts])

    def _formatted(self, value: Any, conversion: str | None, spec: tuple[Any, ...]) -> str:
        return format(_CONVERSIONS[conversion](value), self.fstring(*spec) if spec else "")

    def context(self, manager: Any) -> Any:
        """The context manager of a `with`."""
        return manager

    @property
    def own_ways(self) -> tuple[Any, ...]:
        """Exceptions that no handler of the program is to see."""
        return ()

    def try_(self, site: int, swallows: bool = False, named: bool = False, caught: Any = None) -> Any:
        """A context manager around what a `try` catches the exceptions of; all of them where `swallows`.

        `caught` gives the classes that the handlers name.
        """
        return _UNTOUCHED

    def final(self) -> Any:
        """A context manager, made before the body of a `try`, around its `finally`."""
        return _UNTOUCHED

    def comprehension(
        self,
        site: int,
        kind: str,
        iterable: Any,
        element: Callable[[Any], Any],
        condition: Callable[[Any], Any] | None,
    ) -> Any:
        """A list, generator or set of `element(item)` for the items that meet the condition; or a dict of pairs."""
        if kind.startswith("nested"):
            whole: list[Any] = []
            self.comprehension(site, "over", iterable, element(whole), condition)
            return self.comprehension(site, kind.removeprefix("nested "), whole, _itself, None)
        if kind not in ("list", "over"):
            found = _generated(iter(iterable), element, condition)
            if kind in ("generator", "first"):
                return found
            if kind == "set":
                return {item for item in found}  # noqa: C416  # as written: Python says the same of what has no hash
            return {key: value for key, value in found}  # noqa: C416  # as above
        if condition is None:
            return [element(item) for item in iterable]
        return [element(item) for item in iterable if condition(item)]


_UNTOUCHED = Untouched()


def _itself(item: Any) -> Any:
    return item


def _generated(
    iterator: Iterator[Any], element: Callable[[Any], Any], condition: Callable[[Any], Any] | None
) -> Iterator[Any]:
    for item in iterator:
        if condition is None or condition(item):
            yield element(item)
