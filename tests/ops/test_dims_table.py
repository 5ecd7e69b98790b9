"""The shape rule of every op on symbolic sizes, over the cases of the table.

Each size of each array becomes a symbol with the true size for a hint. The result must have the true shape, and where
the rule left a size open, the shape it states must be right for other sizes too: for all that satisfy the guards.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cases import Case, by_op
from test_table import EVERY

from each import each
from weft.ops import TABLE, Spec, spec_of
from weft.ops._dim import Dim, Sizes

GROWN: list[Callable[[int], int]] = [lambda n: n + 1, lambda n: 2 * n, lambda n: 3 * n, lambda n: 2 * n + 1]


class Symbols:
    """Sizes as symbols: each its own, or one for each number."""

    def __init__(self, shared: bool) -> None:
        self.env, self.shared = Sizes(), shared
        self.made: dict[int, Dim] = {}

    def of(self, size: int) -> Dim:
        if self.shared and size in self.made:
            return self.made[size]
        self.made[size] = self.env.size("n", size)
        return self.made[size]

    def abstract(self, value: Any) -> Any:
        """Specs with symbols in place of arrays."""
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(map(self.abstract, value))
        if isinstance(value, np.ndarray):
            return Spec([self.of(n) for n in value.shape], value.dtype)
        return spec_of(value)


def arguments_of(case: Case, change: Callable[[Any], Any]) -> list[Any]:
    """The arguments of a case, the arrays among them changed."""
    op = TABLE[case.op]
    names = list(op.__signature__.parameters)
    return [change(a) if n in op.arrays else a for n, a in zip(names, op.bind(case.args, case.kwargs), strict=True)]


def shapes_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [shapes_of(v) for v in value]
    return tuple(getattr(value, "shape", ()))


def at(shapes: Any, values: dict[Any, int]) -> Any:
    """Shapes with numbers in place of symbols."""
    if isinstance(shapes, (list, tuple)):
        return type(shapes)(at(s, values) for s in shapes)
    return shapes.evaluate(values) if isinstance(shapes, Dim) else shapes


@pytest.mark.parametrize("shared", [False, True], ids=["apart", "shared"])
@by_op(case for case in EVERY if case.infer)
def test_symbolic_shape(cases: list[Case], shared: bool) -> None:
    each(cases, lambda case: _check_symbolic_shape(case, shared))


def _check_symbolic_shape(case: Case, shared: bool) -> None:
    op = TABLE[case.op]
    symbols = Symbols(shared)
    arguments = arguments_of(case, symbols.abstract)
    predicted = shapes_of(op.infer(*arguments))
    atoms = sorted({a for d in dims_in(arguments) for a in d.atoms()}, key=lambda a: a.serial)
    assert not symbols.env.assumed
    assert at(predicted, {a: a.hint for a in atoms}) == shapes_of(op(*case.args, **case.kwargs))
    for values in other_sizes(atoms, symbols.env):
        note = predicted, symbols.env.guards, values
        assert at(predicted, values) == plain_shape(op, arguments, values), note
        real = real_shape(case, arguments, values)
        assert real is None or at(predicted, values) == real, note


def dims_in(value: Any) -> Iterator[Dim]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from dims_in(part)
    elif isinstance(value, Spec):
        yield from (d for d in value.shape if isinstance(d, Dim))


def holds(guard: Any, values: dict[Any, int]) -> bool:
    """Whether a guard comes out the same; not where it asks for an integer that only the program itself computes."""
    asked = {a for side in (guard.left, guard.right) if isinstance(side, Dim) for a in side.atoms()}
    return asked <= values.keys() and guard.holds(values)


def other_sizes(atoms: list[Any], env: Sizes) -> Iterator[dict[Any, int]]:
    """Other sizes for which every guard comes out the same: all changed at once, else one by one."""
    found = 0
    alone = [[a] for a in atoms]
    for which, grow in itertools.product([atoms, *alone], GROWN):
        values = {a: grow(a.hint) if a in which else a.hint for a in atoms}
        if any(values[a] != a.hint for a in atoms) and all(holds(guard, values) for guard in env.guards):
            yield values
            found += 1
        if which is atoms and found == 2:
            return


def plain_shape(op: Any, arguments: list[Any], values: dict[Any, int]) -> Any:
    def concrete(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(concrete, value))
        return Spec(at(value.shape, values), value.dtype) if isinstance(value, Spec) else value

    return shapes_of(op.infer(*map(concrete, arguments)))


def resized(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The array repeated to another shape; one that was sorted stays sorted, as edges and tables must."""
    if not array.size:
        return np.zeros(shape, array.dtype)
    result = array[np.ix_(*(np.arange(n) % old for n, old in zip(shape, array.shape, strict=True)))]
    if array.ndim == 1 and array.dtype.kind != "c" and np.array_equal(array, np.sort(array)):
        return np.sort(result)
    return np.sort(result)[::-1] if array.ndim == 1 and np.array_equal(array, np.sort(array)[::-1]) else result


def real_shape(case: Case, arguments: list[Any], values: dict[Any, int]) -> Any:
    """Shapes of the op evaluated on arrays of other sizes, the case's own repeated; None where no such matrix does."""

    def grown(given: Any, abstract: Any) -> Any:
        if isinstance(given, (list, tuple)) and not hasattr(given, "_fields"):
            return type(given)(map(grown, given, abstract))
        return resized(given, at(abstract.shape, values)) if isinstance(given, np.ndarray) else given

    op = TABLE[case.op]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    bound = op.bind(case.args, case.kwargs)
    for parameter, given, abstract in zip(op.__signature__.parameters.values(), bound, arguments, strict=True):
        value = grown(given, abstract) if parameter.name in op.arrays else given
        if parameter.kind is parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # repeated rows make singular matrices and empty means, which warn
        try:
            return shapes_of(op(*args, **kwargs))
        except np.linalg.LinAlgError:
            return None
