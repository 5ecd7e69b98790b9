"""`Sizes`: what is known of the sizes of one program, and every decision that was taken on them.

A comparison that can be proved is answered and leaves no trace. Any other goes by the hints, the sizes of the example,
and is noted as a guard: what was built on it holds for other sizes for which all guards come out the same.

    >>> sizes = Sizes()
    >>> n = sizes.size("n", 8)
    >>> n + 1 > n, n == 8, n * 2 == 16
    (True, True, True)
    >>> sizes.guards
    [n == 8]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from weft.errors import UnknownShape
from weft.ops._dim_algebra import Dim, from_factor
from weft.ops._dim_proof import Knowledge
from weft.ops._dim_terms import Atom

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_FLIP = str.maketrans("<>", "><")
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Guard(NamedTuple):
    """A decision on sizes: `left relation right` was taken to be `outcome`."""

    relation: str
    left: Any
    right: Any
    outcome: bool

    def expression(self, names: Mapping[Atom, str] | None = None) -> str:
        """Python text that is true where the decision holds."""
        left, right = (d.expression(names) if isinstance(d, Dim) else str(d) for d in (self.left, self.right))
        return f"{left} {self.relation if self.outcome else _OPPOSITE[self.relation]} {right}"

    def holds(self, values: Mapping[Atom, int]) -> bool:
        """Whether the decision comes out the same for other values of the leaves."""
        left, right = (d.evaluate(values) if isinstance(d, Dim) else d for d in (self.left, self.right))
        return _RELATIONS[self.relation](left, right) is self.outcome

    def __repr__(self) -> str:
        return self.expression()


class Sizes(Knowledge):
    """The environment that the leaves of one program share: it makes them, proves what it can, decides the rest.

    `guards` are decisions by hints, `assumed` those on sizes without one. Of such a size it assumes what is so in
    general: it is neither 0 nor 1, equals what it must equal, and is larger than a number it is compared to.
    """

    def __init__(self) -> None:
        super().__init__()
        self.guards: list[Guard] = []
        self.assumed: list[Guard] = []
        self.left_open = 0  # how often only running tells whether sizes broadcast
        self.stands_for: dict[Any, list[Any]] = {}  # the source of an atom → what has the same value elsewhere
        self.copies: dict[Atom, Any] = {}  # of a value that was computed once more → what it was the first time
        self.examples: dict[Any, int] = {}  # what nodes that are numbers were once, for estimates alone
        self._names: dict[str, int] = {}
        self._named: dict[str, Dim] = {}

    # --- leaves ---

    def size(self, name: str, hint: int | None = None, source: Any = None) -> Dim:
        """A new size, 0 or more; `hint` is an example of it. A name in use gets a number."""
        return from_factor(Atom(self._unique(name), hint, source, self))

    def value(self, name: str, hint: int | None = None, source: Any = None, low: int | None = None) -> Dim:
        """A new integer of any sign, or not below `low`: a bound of a slice, a counter."""
        return from_factor(Atom(self._unique(name), hint, source, self, low))

    def again(self, made: Dim, first: Any) -> Dim:
        """Note of a new size or integer that it is computed as another one was, and so is the same."""
        assert made.atom is not None
        self.copies[made.atom] = first
        return made

    def fresh(self, name: str) -> Dim:
        """A new size that only running can tell; its `atom.source` is None until whoever traces sets it."""
        return self.size(name)

    def named(self, name: str) -> Dim:
        """The size of a name, made at its first use, with a large prime for a hint."""
        if name not in self._named:
            self._named[name] = self.size(name, Imagined(_prime(len(self._named))))
        return self._named[name]

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if not count else self._unique(f"{name}_{count}")

    # --- decisions ---

    def compare(self, relation: str, left: Any, right: Any) -> bool:
        """The answer to a comparison: proved, or else decided and noted."""
        proof = self.prove(relation, left, right)
        return self.decide(relation, left, right) if proof is None else proof

    def known(self, relation: str, left: Any, right: Any) -> bool | None:
        """The answer where it can be proved or there are hints to decide by; None where it would be an assumption."""
        proof = self.prove(relation, left, right)
        if proof is None and hint_of(left) is not None and hint_of(right) is not None:
            return self.decide(relation, left, right)
        return proof

    def decide(self, relation: str, left: Any, right: Any) -> bool:
        """Answer a comparison that cannot be proved, and note the answer."""
        relation, left, right = _tidy(relation, left, right)
        hints = hint_of(left), hint_of(right)
        if None in hints:
            outcome, noted = _in_general(relation, left, right), self.assumed
        else:
            outcome, noted = _RELATIONS[relation](*hints), self.guards
        noted.append(Guard(relation, left, right, outcome))
        if noted is self.guards:  # what is only assumed proves nothing
            self.learn(relation if outcome else _OPPOSITE[relation], left, right)
        return outcome

    def assume(self, relation: str, left: Any, right: Any) -> None:
        """Take a relation for given, without noting it: a counter lies in its range, for instance."""
        self.learn(relation, left, right)

    def mark(self) -> tuple[Any, ...]:
        """What is known now, for `forget`."""
        known = (self._solved, self._facts, self._zero, self._nonzero, self._low, self._high)
        return (*map(dict, known), len(self.guards))

    def forget(self, mark: tuple[Any, ...]) -> None:
        """Go back to what was known at a mark, except for what guards noted since make sure of."""
        *known, count = mark
        self._solved, self._facts, self._zero, self._nonzero, self._low, self._high = map(dict, known)
        self._answers.clear()
        self._replaced.clear()
        for guard in self.guards[count:]:
            self.learn(guard.relation if guard.outcome else _OPPOSITE[guard.relation], guard.left, guard.right)

    def concrete(self, dim: Dim) -> int:
        """The number that a size is, by its hint where it may vary."""
        settled = self.resolve(dim)
        low, high = self.bounds(settled)
        if low is not None and low == high:
            return low
        if dim.hint is None:
            raise UnknownShape(
                f"the size {dim} is known only when it runs, and a plain integer is wanted here",
                help="use it in arithmetic and shapes, which take it as it is",
            )
        self.decide("==", dim, dim.hint)
        return dim.hint

    # --- what is not a size ---

    def answer(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of an op of sizes and plain values: what whoever traces makes of it, else abstract."""
        from weft.ops._spec import Spec  # which needs sizes first

        tracer = _tracer.get()
        if tracer is not None and _unknown.get() is None:  # which it is not while a shape rule runs
            return tracer.call(op, *args, **kwargs)
        return Spec(()).__weft_op__(op, args, kwargs)

    def number(self, function: Callable[..., Any], left: Any, right: Any) -> Any:
        """The result of arithmetic with sizes that gives no integer; whoever traces may make a node of it."""
        tracer = _tracer.get()
        if tracer is not None and _unknown.get() is None:
            return tracer.number(function, left, right)
        raise UnknownShape(
            f"{function.__name__} of {left} and {right}: a size not known yet takes part in integer arithmetic only",
            help="divide by //, or let an array take part: x / n in place of x * (1 / n)",
        )


def hint_of(value: Any) -> int | None:
    """An example of a size: its hint, or the number itself."""
    return value.hint if isinstance(value, Dim) else value


def _tidy(relation: str, left: Any, right: Any) -> tuple[str, Any, Any]:
    """The same comparison with a number on the right, and on the right alone: `n >= 1` for `0 <= n - 1`."""
    if not isinstance(left, Dim):
        relation, left, right = relation.translate(_FLIP), right, left
    constant = left.poly.get((), 0) if not isinstance(right, Dim) else 0
    return relation, left - constant, right - constant


def _in_general(relation: str, left: Any, right: Any) -> bool:
    """What is so of sizes of which nothing is known."""
    if isinstance(left, Dim) and isinstance(right, Dim):
        return relation in ("==", "<=", ">=")
    if relation in ("==", "!="):
        number = right if isinstance(left, Dim) else left
        return (number > 1) is (relation == "==")
    large = dict.fromkeys((left if isinstance(left, Dim) else right).atoms(), 1 << 40)
    return _RELATIONS[relation](*(v.evaluate(large) if isinstance(v, Dim) else v for v in (left, right)))


class Imagined(int):
    """A hint for a size of which only the name is known: no number to tell a person."""


def _prime(index: int) -> int:
    """The prime number at a position, counted from the first above 10000."""
    number = 10006
    for _ in range(index + 1):
        number += 1
        while any(number % k == 0 for k in range(2, int(number**0.5) + 1)):
            number += 1
    return number


NAMED = Sizes()
"""Of sizes that specs name by strings."""

_unknown: ContextVar[Sizes | None] = ContextVar("weft_unknown_sizes", default=None)


_tracer: ContextVar[Any] = ContextVar("weft_traced_sizes", default=None)


@contextmanager
def traced_sizes(tracer: Any) -> Iterator[None]:
    """Within it, ops of sizes and plain values, such as `arange(n)`, are recorded: `tracer.call(op, ...)`."""
    token = _tracer.set(tracer)
    try:
        yield
    finally:
        _tracer.reset(token)


class unknown_sizes:  # a context manager, entered for every op that is captured: a class is cheapest
    """Within it, a size that depends on values is a fresh Dim of `env` where it would be an UnknownShape otherwise."""

    __slots__ = ("_env", "_token")

    def __init__(self, env: Sizes) -> None:
        self._env = env

    def __enter__(self) -> None:
        self._token = _unknown.set(self._env)

    def __exit__(self, *exception: object) -> None:
        _unknown.reset(self._token)


def unknown_size(name: str, error: UnknownShape) -> Any:
    """A fresh size for what only running can tell; the error, where that is not asked for."""
    env = _unknown.get()
    if env is None:
        raise error
    return env.fresh(name)
