"""`Dim`: a size that is not known as a number, kept as a polynomial with integer coefficients over atoms.

    >>> from weft.ops._dim import Sizes
    >>> n = Sizes().size("n", 8)
    >>> (n + 1) * 2 - n - 2, (n + 1) // 2, n + 1 - n
    (n, (n + 1) // 2, 1)

An atom is a leaf (`Atom`) or a `Term`: a quotient, a remainder, a minimum, a maximum or the length of a slice that has
no polynomial form. Terms with the same operands are one object, so equal sizes have equal polynomials.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from weft.errors import UnknownShape
from weft.ops._dim_terms import HEAVIEST, Atom, Factor, Monomial, Poly, Term, combine_text, fits_a_hint

REASONED = 32  # an integer of a greater weight is a leaf of its own
_LONGEST = 64  # a product of more monomials is a Term


class Dim:
    """A symbolic integer, immutable. Arithmetic gives a Dim, or an int as soon as the value is constant.

    Comparisons give a bool: by proof where there is one, else by asking the atoms' common `env` (see `Sizes`), which
    may go by an example and note that it did. Hashing goes by the canonical form alone; two Dims that the environment
    has found equal may still hash differently, so do not use Dims of one environment as keys before all is decided.
    """

    __slots__ = ("_hint", "_key", "env", "poly")
    __weft_priority__ = 1
    __array_ufunc__ = None  # NumPy's numbers leave arithmetic with a Dim to the Dim

    def __init__(self, poly: Poly, env: Any) -> None:
        """Take a polynomial without zero coefficients that is not constant; `from_poly` makes an int of one that is."""
        self.poly, self.env = poly, env
        self._key: tuple[Any, ...] | None = None
        self._hint: Any = _unset

    # --- what it is made of ---

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for equal polynomials, and for no others."""
        key = self._key
        if key is None:
            # Most polynomials are of one or two monomials of one factor.
            pairs = [(tuple([f.serial for f in monomial]), c) for monomial, c in self.poly.items()]
            key = self._key = tuple(pairs) if len(pairs) == 1 else tuple(sorted(pairs))
        return key

    @property
    def hint(self) -> int | None:
        """Its value where every leaf has its hint; None where one has none."""
        if self._hint is _unset:
            total: int | None = 0
            for monomial, coefficient in self.poly.items():
                product: int | None = coefficient
                for factor in monomial:
                    product = None if product is None or factor.hint is None else product * factor.hint
                total = None if total is None or product is None else total + product
            self._hint = total if total is None or fits_a_hint(total) else None
        return self._hint

    @property
    def weight(self) -> int:
        """How long it is, written out: how many leaves and Terms, and words of its coefficients."""
        total = sum(1 + abs(c).bit_length() // 64 + sum(f.weight for f in m) for m, c in self.poly.items())
        return min(total, HEAVIEST)

    @property
    def atom(self) -> Atom | None:
        """The leaf that this is, None where it is computed from leaves."""
        factor = self.factor
        return factor if isinstance(factor, Atom) else None

    @property
    def factor(self) -> Factor | None:
        """The one leaf or Term that this is."""
        if len(self.poly) != 1:
            return None
        ((monomial, coefficient),) = self.poly.items()
        return monomial[0] if coefficient == 1 and len(monomial) == 1 else None

    def atoms(self) -> list[Atom]:
        """Every leaf it depends on, oldest first."""
        found = [factor for factor in all_factors(self) if isinstance(factor, Atom)]
        return found if len(found) < 2 else sorted(found, key=_serial)

    def build(
        self,
        leaf: Callable[[Atom], Any],
        combine: Callable[[Callable[..., Any], tuple[Any, ...]], Any],
        made: dict[Factor, Any] | None = None,
    ) -> Any:
        """Compute it: `leaf(atom)` gives leaves, `combine(function, operands)` applies a function to what was given.

        Functions are those of `operator` (add, sub, mul, floordiv, mod, neg), `min`, `max` and `sliced`; operands are
        what the two callbacks return, and plain ints (for `sliced` also None). `made` is what they gave.
        """
        made = {} if made is None else made
        total: Any = None
        for monomial, coefficient in sorted(self.poly.items(), key=_reading_order):
            size = abs(coefficient)
            value: Any = size if size != 1 or not monomial else None
            for factor in monomial:
                if factor not in made:
                    made[factor] = _build_factor(factor, leaf, combine, made)
                value = made[factor] if value is None else combine(operator.mul, (value, made[factor]))
            if total is None:
                total = value if coefficient > 0 else -value if not monomial else combine(operator.neg, (value,))
            else:
                total = combine(operator.add if coefficient > 0 else operator.sub, (total, value))
        return total

    def evaluate(self, values: Mapping[Atom, Any]) -> int:
        """Its value for given values of its leaves."""
        return self.build(values.__getitem__, lambda function, operands: function(*operands))

    def expression(self, names: Mapping[Atom, str] | None = None) -> str:
        """Python text that computes it; `names` are the leaves' own unless given."""
        leaf = (lambda atom: (atom.name, 9)) if names is None else (lambda atom: (names[atom], 9))
        return self.build(leaf, combine_text)[0]

    # --- arithmetic ---

    def __add__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.add, self, other) if number is None else _add(self, number, 1)

    def __radd__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.add, other, self) if number is None else _add(self, number, 1)

    def __sub__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.sub, self, other) if number is None else _add(self, number, -1)

    def __rsub__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.sub, other, self) if number is None else _add(-self, number, 1)

    def __neg__(self) -> Any:
        return Dim({m: -c for m, c in self.poly.items()}, self.env)

    def __pos__(self) -> Dim:
        return self

    def __mul__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.mul, self, other) if number is None else _multiply(self, number)

    def __rmul__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.mul, other, self) if number is None else _multiply(self, number)

    def __pow__(self, power: Any) -> Any:
        whole = isinstance(power, int) and power >= 0
        return math.prod([self] * power) if whole else _elsewhere(operator.pow, self, power)

    def __rpow__(self, base: Any) -> Any:
        return _elsewhere(operator.pow, base, self)

    def __floordiv__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.floordiv, self, other) if number is None else floor_divide(self, number)

    def __rfloordiv__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.floordiv, other, self) if number is None else floor_divide(number, self)

    def __mod__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.mod, self, other) if number is None else remainder(self, number)

    def __rmod__(self, other: Any) -> Any:
        number = integer(other)
        return _elsewhere(operator.mod, other, self) if number is None else remainder(number, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return _elsewhere(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _elsewhere(operator.truediv, other, self)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __round__(self, digits: int | None = None) -> Dim:
        return self

    def __floor__(self) -> Dim:
        return self

    __ceil__ = __trunc__ = __floor__

    # --- decisions ---

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Dim):
            return self.key == other.key or (self.env is other.env and self.env.compare("==", self, other))
        if isinstance(other, float):
            return other.is_integer() and self.env.compare("==", self, int(other))
        number = integer(other)
        if number is not None:
            return self.env.compare("==", self, number)
        return _elsewhere(operator.eq, self, other) if isinstance(other, np.ndarray) else NotImplemented

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return not equal if isinstance(equal, bool) else ~equal if equal is not NotImplemented else equal

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Any) -> Any:
        return self._ordered("<", operator.lt, other, math.ceil)

    def __le__(self, other: Any) -> Any:
        return self._ordered("<=", operator.le, other, math.floor)

    def __gt__(self, other: Any) -> Any:
        return self._ordered(">", operator.gt, other, math.floor)

    def __ge__(self, other: Any) -> Any:
        return self._ordered(">=", operator.ge, other, math.ceil)

    def _ordered(self, relation: str, function: Any, other: Any, rounded: Callable[[float], int]) -> Any:
        if isinstance(other, float):
            if not math.isfinite(other):
                return function(0.0, other)
            other = rounded(other)
        number = integer(other)
        if number is None:
            return _elsewhere(function, self, other) if isinstance(other, np.ndarray) else NotImplemented
        common_env(self, number)
        return self.env.compare(relation, self, number)

    def __bool__(self) -> bool:
        return not self.env.compare("==", self, 0)

    def __index__(self) -> int:
        return self.env.concrete(self)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    # --- the rest ---

    def __weft_op__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op of sizes and plain values, such as `arange(n)`, is the environment's to answer."""
        return self.env.answer(op, args, kwargs)

    def __repr__(self) -> str:
        return self.expression()

    def __format__(self, style: str) -> str:
        return format(str(self), style)

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: Any) -> Dim:
        return self


class _Unset:
    """Marks a hint that was not worked out yet."""


_unset = _Unset()


def integer(value: Any) -> Any:
    """The value as an int or a Dim; None where it is neither, nor an integer of NumPy's."""
    if isinstance(value, (int, Dim)):
        return value
    if isinstance(value, np.integer) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"
    ):
        return int(value)
    return None


def poly_of(value: Any) -> Poly:
    """The polynomial of a Dim or an int."""
    if isinstance(value, Dim):
        return value.poly
    return {(): int(value)} if value else {}


def from_poly(poly: Mapping[Monomial, int], env: Any) -> Any:
    """A Dim of a polynomial, or an int where it is constant."""
    cleaned = poly if all(poly.values()) else {monomial: c for monomial, c in poly.items() if c}
    if not cleaned:
        return 0
    return cleaned[()] if len(cleaned) == 1 and () in cleaned else Dim(cleaned, env)


def from_factor(factor: Factor) -> Dim:
    """The Dim of one leaf or Term."""
    return Dim({(factor,): 1}, factor.env)


def all_factors(value: Any) -> list[Factor]:
    """Every leaf and Term that a Dim is made of, those inside Terms included, each once."""
    found: dict[Factor, None] = {}
    left = [value]
    while left:
        size = left.pop()
        if isinstance(size, Dim):
            for monomial in size.poly:
                for factor in monomial:
                    if factor not in found:
                        found[factor] = None
                        if isinstance(factor, Term):
                            left += factor.args
    return list(found)


def common_env(*values: Any) -> Any:
    """The environment of the Dims among some values; an error where they have several."""
    found = None
    for value in values:
        if isinstance(value, Dim):
            if found is not None and value.env is not found:
                names = " and ".join(str(v) for v in values if isinstance(v, Dim))
                raise UnknownShape(
                    f"sizes {names} belong to different programs",
                    help="make all of them in one",
                )
            found = value.env
    return found


def _serial(factor: Factor) -> int:
    return factor.serial


def _add(left: Any, right: Any, sign: int) -> Any:
    if not isinstance(right, Dim):
        if not right:
            return left
        total = dict(left.poly)
        total[()] = total.get((), 0) + sign * right
        return from_poly(total, left.env)
    total = dict(poly_of(left))
    for monomial, c in right.poly.items():
        total[monomial] = total.get(monomial, 0) + sign * c
    return from_poly(total, common_env(left, right))


def _multiply(left: Dim, right: Any) -> Any:
    if isinstance(right, Dim) and _is_long(left, right):
        operands = tuple(sorted((left, right), key=lambda dim: dim.key))
        return from_factor(common_env(left, right).term(operator.mul, operands))
    total: dict[Monomial, int] = {}
    for first, a in left.poly.items():
        for second, b in poly_of(right).items():
            monomial = tuple(sorted(first + second, key=_serial))
            total[monomial] = total.get(monomial, 0) + a * b
    return from_poly(total, common_env(left, right))


def _is_long(left: Dim, right: Dim) -> bool:
    """Whether the product of two sizes is too long to be multiplied out."""
    return len(left.poly) * len(right.poly) > _LONGEST or sum(max(map(len, d.poly)) for d in (left, right)) > _LONGEST


def _elsewhere(function: Callable[..., Any], left: Any, right: Any) -> Any:
    """Arithmetic that does not stay among integers: with arrays it is an op, with other numbers the environment's."""
    dim, other = (left, right) if isinstance(left, Dim) else (right, left)
    if isinstance(other, (np.ndarray, np.generic)):
        from weft.ops._op import op_of  # ops need sizes first

        return op_of(function)(left, right)  # type: ignore[misc]  # every operator of arithmetic stands for an op
    plain = isinstance(other, (int, float, complex, Dim))
    return dim.env.number(function, left, right) if plain else NotImplemented


# --- quotients and remainders ---


def _order(monomial: Monomial) -> tuple[int, tuple[int, ...]]:
    """Graded lexicographic order: products respect it, so division by leading terms ends."""
    return len(monomial), tuple(f.serial for f in monomial)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """The monomial divided by another, None where that does not go."""
    rest = list(monomial)
    for factor in divisor:
        if factor not in rest:
            return None
        rest.remove(factor)
    return tuple(rest)


def exact_quotient(p: Any, q: Any) -> Any:
    """p / q where q divides p as a polynomial, else None."""
    left, divisor = dict(poly_of(p)), poly_of(q)
    lead = max(divisor, key=_order)
    quotient: dict[Monomial, int] = {}
    while left:
        top = max(left, key=_order)
        rest = _without(top, lead)
        if rest is None or left[top] % divisor[lead]:
            return None
        factor = left[top] // divisor[lead]
        quotient[rest] = quotient.get(rest, 0) + factor
        for monomial, c in divisor.items():
            product = tuple(sorted(monomial + rest, key=_serial))
            left[product] = left.get(product, 0) - c * factor
            if not left[product]:
                del left[product]
    return from_poly(quotient, common_env(p, q))


def floor_divide(p: Any, q: Any) -> Any:
    """p // q; what q divides is taken out, the rest becomes a Term."""
    env = common_env(p, q)
    if not isinstance(q, Dim) and q == 0:
        raise ZeroDivisionError(f"{p} // 0: division of a size by zero")
    exact = exact_quotient(p, q)
    if exact is not None:
        return exact
    if not isinstance(q, Dim):
        if q < 0:
            return floor_divide(-p, -q)
        poly = poly_of(p)
        if poly[max(poly, key=_order)] < 0:  # one form for both ways to round up: -(-n // 2) is (n + 1) // 2
            return -floor_divide(-p + (q - 1), q)
        whole = from_poly({m: c // q for m, c in poly.items()}, env)
        p = from_poly({m: c % q for m, c in poly.items()}, env)
        if not isinstance(p, Dim):
            return whole + p // q
        low, high = env.bounds(p)
        if low is not None and high is not None and low // q == high // q:
            return whole + low // q
        return whole + from_factor(env.term(operator.floordiv, (p, q)))
    if env.proved(">=", p, 0) and env.proved("<", p, q):
        return 0
    return from_factor(env.term(operator.floordiv, (p, q)))


def remainder(p: Any, q: Any) -> Any:
    """p % q; what q divides is left out, the rest becomes a Term."""
    env = common_env(p, q)
    if not isinstance(q, Dim) and q == 0:
        raise ZeroDivisionError(f"{p} % 0: division of a size by zero")
    if exact_quotient(p, q) is not None:
        return 0
    if not isinstance(q, Dim):
        p = from_poly({m: c % q for m, c in poly_of(p).items()}, env)
        if not isinstance(p, Dim):
            return p % q
    if env.proved(">=", p, 0) and env.proved("<", p, q):
        return p
    return from_factor(env.term(operator.mod, (p, q)))


# --- building and printing ---


def _reading_order(item: tuple[Monomial, int]) -> tuple[bool, int, tuple[int, ...]]:
    """Positive terms first, higher degrees first, older atoms first."""
    monomial, coefficient = item
    return coefficient < 0, -len(monomial), tuple(f.serial for f in monomial)


def _build_factor(factor: Factor, leaf: Any, combine: Any, made: dict[Factor, Any]) -> Any:
    if isinstance(factor, Atom):
        return leaf(factor)
    operands = tuple(a.build(leaf, combine, made) if isinstance(a, Dim) else a for a in factor.args)
    return combine(factor.function, operands)
