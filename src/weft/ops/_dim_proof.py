"""What can be proved of sizes: equality by substitution, order by intervals and by the relations already known.

Proofs are sound, not complete: an answer is right for every value of the leaves that satisfies what was learned; None
means that no proof was found.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from weft.ops._dim_algebra import Dim, all_factors, from_factor, from_poly
from weft.ops._dim_terms import Atom, Factor, Monomial, Term, sliced

Bounds = tuple[int | None, int | None]
_KEPT = 10_000  # answers to keep at most


class Knowledge:
    """Relations between sizes, learned one by one, and what follows from them."""

    def __init__(self) -> None:
        self._terms: dict[Any, Term] = {}
        self._solved: dict[Factor, Any] = {}  # what stands for a leaf or Term, by an equation
        self._facts: dict[Any, Dim] = {}  # each of them is 0 or more
        self._zero: dict[Any, Dim] = {}  # equations not solved for anything
        self._nonzero: dict[Any, Dim] = {}
        self._low: dict[Factor, int] = {}
        self._high: dict[Factor, int] = {}
        self._answers: dict[Any, bool | None] = {}  # what was asked since something was learned last
        self._replaced: dict[Factor, Any] = {}  # what stands for a leaf or Term, as found since the latest equation

    def term(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Term:
        """The Term of a function of sizes, the same object each time."""
        key = _term_key(function, args)
        if key not in self._terms:
            self._terms[key] = Term(function, args, self)
        return self._terms[key]

    def _depth(self) -> int:
        """How many known relations and Terms a proof may use: fewer where there are many to try."""
        return 3 if len(self._facts) <= 8 else 2 if len(self._facts) <= 64 else 1

    # --- answers ---

    def prove(self, relation: str, left: Any, right: Any) -> bool | None:
        """Whether a relation holds for all sizes, True or False; None where that depends, or is not found out."""
        key = (relation, left.key if isinstance(left, Dim) else left, right.key if isinstance(right, Dim) else right)
        try:
            return self._answers[key]
        except KeyError:
            if len(self._answers) >= _KEPT:
                self._answers.clear()
            answer = self._answers[key] = self._prove(relation, left, right)
            return answer

    def _prove(self, relation: str, left: Any, right: Any) -> bool | None:
        if relation in ("==", "!="):
            equal = self._equal(self.resolve(left - right))
            return equal if equal is None or relation == "==" else not equal
        difference = self.resolve(_excess(relation, left, right))
        if self._nonnegative(difference):
            return True
        return False if self._nonnegative(-difference - 1) else None

    def proved(self, relation: str, left: Any, right: Any) -> bool:
        """Whether a relation provably holds."""
        return self.prove(relation, left, right) is True

    def _equal(self, difference: Any) -> bool | None:
        """Whether a size is 0."""
        if not isinstance(difference, Dim):
            return bool(difference == 0)
        if difference.key in self._nonzero:
            return False
        if difference.key in self._zero or self._cleared(difference) == 0:
            return True
        if self._nonnegative(difference - 1) or self._nonnegative(-difference - 1):
            return False
        both = self._nonnegative(difference) and self._nonnegative(-difference)
        return True if both else None

    def bounds(self, value: Any) -> Bounds:
        """The least and the greatest a size can be, None where there is no bound."""
        if not isinstance(value, Dim):
            return value, value
        low: int | None = 0
        high: int | None = 0
        for monomial, coefficient in value.poly.items():
            least, most = self._monomial_bounds(monomial)
            if coefficient < 0:
                least, most = most, least
            low = None if low is None or least is None else low + coefficient * least
            high = None if high is None or most is None else high + coefficient * most
        return low, high

    def _monomial_bounds(self, monomial: Monomial) -> Bounds:
        each = [self._factor_bounds(factor) for factor in monomial]
        if len(each) == 1:
            return each[0]
        if any(low is None or low < 0 for low, _ in each):
            return None, None
        highs = [high for _, high in each]
        return math.prod(low or 0 for low, _ in each), None if None in highs else math.prod(h or 0 for h in highs)

    def _factor_bounds(self, factor: Factor) -> Bounds:
        low, high = (factor.low, None) if isinstance(factor, Atom) else self._term_bounds(factor)
        learned = self._low.get(factor), self._high.get(factor)
        return _strictest(max, low, learned[0]), _strictest(min, high, learned[1])

    def _term_bounds(self, term: Term) -> Bounds:
        if term.function is sliced:
            return 0, self.bounds(term.args[3])[1]
        each = [self.bounds(operand) for operand in term.args]
        lows, highs = [low for low, _ in each], [high for _, high in each]
        if term.function is min:
            return None if None in lows else min(lows), min((h for h in highs if h is not None), default=None)  # type: ignore[type-var]  # no None left
        if term.function is operator.mul:
            if any(low is None or low < 0 for low in lows):
                return None, None
            return math.prod(low or 0 for low in lows), None if None in highs else math.prod(h or 0 for h in highs)
        if term.function is max:
            return max((low for low in lows if low is not None), default=None), None if None in highs else max(highs)  # type: ignore[type-var]  # no None left
        (low, high), (least, most) = each
        if least is None or least < 1 or (most is not None and most < 1):  # the last: by facts that contradict
            return None, None
        if term.function is operator.mod:
            return 0, None if most is None else most - 1
        if low is not None:
            low = low // least if low < 0 else 0 if most is None else low // most
        if high is not None:
            high = high // least if high >= 0 else -1 if most is None else high // most
        return low, high

    def _nonnegative(self, value: Any, depth: int | None = None) -> bool:
        """Whether a size is provably 0 or more, by no more than `depth` known relations and Terms."""
        if not isinstance(value, Dim):
            return bool(value >= 0)
        low, high = self.bounds(value)
        if low is not None and low >= 0:
            return True
        depth = self._depth() if depth is None else depth
        if depth == 0 or (high is not None and high < 0):
            return False
        for fact in list(self._facts.values()):
            helps = any(m and value.poly.get(m, 0) * c > 0 for m, c in fact.poly.items())
            if helps and self._nonnegative(value - fact, depth - 1):
                return True
        return any(self._relaxed(value, term, depth - 1) for term in _single_terms(value))

    def _relaxed(self, value: Dim, term: Term, depth: int) -> bool:
        """Whether a size is 0 or more by what bounds one Term in it."""
        coefficient = value.poly[(term,)]
        rest = value - coefficient * from_factor(term)
        if term.function is sliced:
            return coefficient < 0 and self._nonnegative(rest + coefficient * term.args[3], depth)
        if term.function in (min, max):
            every = all if (term.function is min) is (coefficient > 0) else any
            return every(self._nonnegative(rest + coefficient * operand, depth) for operand in term.args)
        if term.function is operator.mul:
            return False
        p, q = term.args
        if not self._nonnegative(q - 1, depth):
            return False
        if term.function is operator.mod:
            return self._nonnegative(rest + (coefficient * (q - 1) if coefficient < 0 else 0), depth)
        rounded = 0 if coefficient < 0 or self._divides(p, q) else q - 1
        return self._nonnegative(q * rest + coefficient * (p - rounded), depth)

    def _divides(self, p: Any, q: Any) -> bool:
        """Whether p % q == 0 has been learned."""
        found = self._terms.get(_term_key(operator.mod, _remainder_operands(p, q)))
        return found is not None and type(rest := self._solved.get(found)) is int and rest == 0

    def _cleared(self, value: Dim) -> Any:
        """A multiple of a size in which no exact quotient is left: 0 only where the size is."""
        result: Any = value
        for term in {f for monomial in value.poly for f in monomial if isinstance(f, Term)}:
            if not isinstance(result, Dim) or term.function is not operator.floordiv or not self._divides(*term.args):
                continue
            p, q = term.args
            total: Any = 0
            for monomial, c in result.poly.items():
                at = monomial.count(term)
                if at > 1:
                    return value
                rest = from_poly({tuple(f for f in monomial if f is not term): c}, self)
                total = total + rest * (p if at else q)
            result = total
        return result if not isinstance(result, Dim) else 1

    # --- learning ---

    def learn(self, relation: str, left: Any, right: Any) -> None:
        """Take a relation to hold from now on."""
        if relation not in ("==", "!="):
            self._learn_fact(self.resolve(_excess(relation, left, right)))
        elif isinstance(difference := self.resolve(left - right), Dim):
            (self._learn_zero if relation == "==" else self._learn_nonzero)(difference)
        self._answers.clear()

    def _learn_fact(self, value: Any) -> None:
        while isinstance(value, Dim) and value.key in self._nonzero:
            value = value - 1
        if not isinstance(value, Dim):
            return
        self._facts[value.key] = value
        self._answers.clear()
        if len(value.poly) > 2 or (len(value.poly) == 2 and () not in value.poly):
            return
        constant = value.poly.get((), 0)
        ((monomial, slope),) = ((m, c) for m, c in value.poly.items() if m)
        if len(monomial) == 1 and slope > 0:
            self._low[monomial[0]] = max(-(constant // slope), self._low.get(monomial[0], -(constant // slope)))
        elif len(monomial) == 1:
            self._high[monomial[0]] = min(constant // -slope, self._high.get(monomial[0], constant // -slope))

    def _learn_nonzero(self, value: Dim) -> None:
        for side in (value, -value):
            self._nonzero[side.key] = side
        for side in (value, -value):
            if self._nonnegative(side):
                self._learn_fact(side)

    def _learn_zero(self, value: Dim) -> None:
        """Solve an equation for one of its leaves or Terms, and put what it equals in its place everywhere."""
        divisor = math.gcd(*value.poly.values())
        value = from_poly({m: c // divisor for m, c in value.poly.items()}, self)
        factor = _unknown_of(value)
        if factor is None:
            for side in (value, -value):
                self._zero[side.key] = side
            return
        one = from_factor(factor)
        solution = one - value if value.poly[(factor,)] == 1 else one + value
        low, high = self._factor_bounds(factor)
        self._solved[factor] = solution
        self._replaced.clear()
        self._refresh()
        for bound, relation in ((low, ">="), (high, "<=")):
            if bound is not None:
                self.learn(relation, solution, bound)

    def _refresh(self) -> None:
        """Write everything known in terms of what the latest equation left."""
        self._answers.clear()
        self._replaced.clear()
        solved, self._solved = self._solved, {}
        facts, nonzero, zero = self._facts, self._nonzero, self._zero
        self._facts, self._nonzero, self._zero = {}, {}, {}
        self._solved = {**solved}
        again: list[Any] = []
        for factor, solution in solved.items():
            settled = self._solved[factor] = self.resolve(solution)
            if settled is not solution:
                self._replaced.clear()
            if isinstance(factor, Term):
                remade = self._remade(factor)
                if remade is not None:
                    again.append(remade - self._solved[factor])
        for fact in facts.values():
            self._learn_fact(self.resolve(fact))
        for different in nonzero.values():
            value = self.resolve(different)
            if isinstance(value, Dim):
                self._nonzero[value.key] = value
        for equation in [*again, *zero.values()]:
            self.learn("==", equation, 0)

    # --- substitution ---

    def resolve(self, value: Any) -> Any:
        """A size with everything solved for replaced by what it equals."""
        if not self._solved or not isinstance(value, Dim):
            return value
        total: Any = 0
        changed = False
        for monomial, coefficient in value.poly.items():
            product: Any = coefficient
            for factor in monomial:
                new = self._replacement(factor)
                changed = changed or new is not None
                product = product * (from_factor(factor) if new is None else new)
            total = total + product
        return total if changed else value

    def _replacement(self, factor: Factor) -> Any:
        """What stands for a leaf or Term, None where it stands for itself."""
        if factor in self._solved:
            return self._solved[factor]
        if not isinstance(factor, Term):
            return None
        try:
            return self._replaced[factor]
        except KeyError:
            found = self._replaced[factor] = self._remade(factor)
            return found

    def _remade(self, term: Term) -> Any:
        """A Term over what its operands equal, None where they stayed as they are."""
        args = tuple(map(self.resolve, term.args))
        if all(new is old for new, old in zip(args, term.args, strict=True)):
            return None
        if term.function in (min, max):
            return self.extreme(term.function, *args)
        if term.function in (operator.floordiv, operator.mod) and not isinstance(args[1], Dim) and not args[1]:
            return None  # by equations that contradict: no size is divided by 0
        if term.function is sliced and any(isinstance(a, Dim) for a in args):
            return from_factor(self.term(sliced, args))
        return term.function(*args)

    def extreme(self, function: Callable[..., Any], *values: Any) -> Any:
        """`min` or `max` of sizes: one of them where that can be proved, else a Term."""
        relation = "<=" if function is min else ">="
        flat: list[Any] = []
        for value in values:
            factor = value.factor if isinstance(value, Dim) else None
            nested = isinstance(factor, Term) and factor.function is function
            flat.extend(factor.args if nested else [value])  # type: ignore[union-attr]  # a Term, where nested
        kept: list[Any] = []
        for value in flat:
            if any(self.proved(relation, other, value) for other in kept):
                continue
            kept = [other for other in kept if not self.proved(relation, value, other)]
            kept.append(value)
        if len(kept) == 1:
            return kept[0]
        kept.sort(key=lambda v: (isinstance(v, Dim), v.key if isinstance(v, Dim) else ()))
        return from_factor(self.term(function, tuple(kept)))


def _term_key(function: Any, args: tuple[Any, ...]) -> Any:
    return function, *(a.key if isinstance(a, Dim) else a for a in args)


def _remainder_operands(p: Any, q: Any) -> tuple[Any, Any]:
    """The operands of the Term for p % q, which leaves out multiples of a constant q."""
    if isinstance(q, Dim) or not isinstance(p, Dim):
        return p, q
    return from_poly({m: c % q for m, c in p.poly.items()}, p.env), q


def _excess(relation: str, left: Any, right: Any) -> Any:
    """What is 0 or more exactly where an ordering holds."""
    excess = left - right if relation in (">", ">=") else right - left
    return excess if "=" in relation else excess - 1


def _strictest(choose: Callable[[int, int], int], first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return choose(first, second)


def _single_terms(value: Dim) -> Iterator[Term]:
    """The Terms that a size is linear in."""
    for monomial in value.poly:
        if len(monomial) == 1 and isinstance(monomial[0], Term):
            yield monomial[0]


def _unknown_of(value: Dim) -> Factor | None:
    """The leaf or Term to solve an equation for: one without a hint, else the newest; None where there is none."""
    found: list[Factor] = []
    for monomial, c in value.poly.items():
        if len(monomial) == 1 and abs(c) == 1:
            rest = from_poly({m: k for m, k in value.poly.items() if m != monomial}, value.env)
            inside = monomial[0].args if isinstance(monomial[0], Term) else ()
            if all(f is not monomial[0] for operand in (rest, *inside) for f in all_factors(operand)):
                found.append(monomial[0])
    return max(found, key=lambda f: (from_factor(f).hint is None, f.serial), default=None)
