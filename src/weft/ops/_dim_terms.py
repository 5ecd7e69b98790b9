"""The atoms that sizes are made of, and how operations on them read as Python."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping
from typing import Any

_WIDEST = 1024  # bits of an example of a size

_serials = itertools.count()
HEAVIEST = 1 << 20  # weights are not counted further than that


def fits_a_hint(value: Any) -> bool:
    """Whether an integer is short enough to be the example that decisions go by."""
    return bool(value.bit_length() <= _WIDEST)


class Atom:
    """A leaf: a size, or another integer, that a program finds out when it runs.

    `source` says where it comes from, in words of whoever made it; None as long as nobody has said. `hint` is an
    example of its value, None where there is none. `low` is the least it can be, None where it may be anything.
    """

    __slots__ = ("env", "hint", "low", "name", "serial", "source")
    weight = 1

    def __init__(self, name: str, hint: int | None, source: Any, env: Any, low: int | None = 0) -> None:
        self.name, self.hint, self.source, self.env, self.low = name, hint, source, env, low
        self.serial = next(_serials)

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: Any) -> Atom:
        return self


class Term:
    """A function of sizes with no polynomial form: `//`, `%`, `min`, `max`, `sliced`, or a product that is too long."""

    __slots__ = ("_hint", "args", "env", "function", "serial", "weight")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], env: Any) -> None:
        self.function, self.args, self.env = function, args, env
        self.serial = next(_serials)
        self.weight = min(1 + sum(getattr(arg, "weight", 0) for arg in args), HEAVIEST)

    @property
    def hint(self) -> int | None:
        """Its value where every leaf has its hint; None where one has none."""
        try:
            return self._hint
        except AttributeError:
            hints = [arg.hint if hasattr(arg, "hint") else arg for arg in self.args]
            known = all(hint is not None or arg is None for hint, arg in zip(hints, self.args, strict=True))
            self._hint: int | None = self.function(*hints) if known else None
            return self._hint

    def __deepcopy__(self, memo: Any) -> Term:
        return self


Factor = Atom | Term
Monomial = tuple[Factor, ...]  # in order of serial numbers; () stands for 1
Poly = Mapping[Monomial, int]


def sliced(start: int | None, stop: int | None, step: int | None, size: int) -> int:
    """How many elements `[start:stop:step]` selects out of `size`: the plain integers' form of `slice_length`."""
    return len(range(size)[start:stop:step])


_SYMBOLS: dict[Any, tuple[str, int]] = {
    operator.add: (" + ", 1),
    operator.sub: (" - ", 1),
    operator.mul: ("*", 2),
    operator.floordiv: (" // ", 2),
    operator.mod: (" % ", 2),
}


def combine_text(function: Any, operands: tuple[Any, ...]) -> tuple[str, int]:
    """Text of an operation, with how tightly it binds."""
    texts = [
        o if isinstance(o, tuple) else ("" if o is None else str(o), 9 if o is None or o >= 0 else 0) for o in operands
    ]
    if function in _SYMBOLS:
        symbol, level = _SYMBOLS[function]
        left = texts[0][0] if texts[0][1] >= level else f"({texts[0][0]})"
        right = texts[1][0] if texts[1][1] > level else f"({texts[1][0]})"
        return left + symbol + right, level
    if function is operator.neg:
        return "-" + (texts[0][0] if texts[0][1] > 2 else f"({texts[0][0]})"), 0
    if function is sliced:
        start, stop, step, size = (text for text, _ in texts)
        return f"len(range({size})[{start}:{stop}{':' + step if step not in ('', '1') else ''}])", 9
    return f"{function.__name__}({', '.join(text for text, _ in texts)})", 9


def _plain_text(operand: int | None) -> tuple[str, int]:
    return ("", 9) if operand is None else (str(operand), 9 if operand >= 0 else 0)
