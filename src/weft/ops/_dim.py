"""Symbolic sizes: what shape rules need of them.

`Dim` is the size (`_dim_algebra`), `Sizes` what is known of the sizes of a program (`_dim_sizes`). Shape rules use
plain arithmetic and comparisons, and these functions where Python's own would ask for numbers:

    >>> sizes = Sizes()
    >>> n = sizes.size("n", 8)
    >>> slice_length(1, None, None, n), slice_length(None, None, 2, n), dim_max(0, sizes.fresh("k") - 2)
    (n - 1, (n + 1) // 2, max(0, k - 2))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.errors import IndexingError
from weft.ops._dim_algebra import REASONED, Dim, common_env, from_factor
from weft.ops._dim_sizes import NAMED, Guard, Sizes, hint_of, traced_sizes, unknown_size, unknown_sizes
from weft.ops._dim_terms import Atom, Term, fits_a_hint, sliced

__all__ = [
    "NAMED",
    "REASONED",
    "Atom",
    "Dim",
    "Guard",
    "Sizes",
    "Term",
    "agree",
    "broadcast_dim",
    "dim_max",
    "divides",
    "fits_a_hint",
    "dim_min",
    "fits_dim",
    "hint_of",
    "range_length",
    "same_shape",
    "shapes_agree",
    "slice_length",
    "sliced",
    "traced_sizes",
    "unknown_size",
    "unknown_sizes",
]


def dim_min(*values: Any) -> Any:
    """The least of some sizes, without a decision: a Dim of its own where that cannot be proved."""
    env = common_env(*values)
    return min(values) if env is None else env.extreme(min, *values)


def dim_max(*values: Any) -> Any:
    """The greatest of some sizes, without a decision: a Dim of its own where that cannot be proved."""
    env = common_env(*values)
    return max(values) if env is None else env.extreme(max, *values)


def same_shape(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two shapes are equal by proof alone: nothing is decided or noted."""
    return len(left) == len(right) and all(map(_same, left, right))


def _same(left: Any, right: Any) -> bool:
    if not isinstance(left, Dim) and not isinstance(right, Dim):
        return bool(left == right)
    dim = left if isinstance(left, Dim) else right
    other = right if dim is left else left
    return not (isinstance(other, Dim) and other.env is not dim.env) and dim.env.proved("==", left, right)


def broadcast_dim(name: str, a: Any, b: Any) -> Any:
    """The size that two sizes give where their arrays broadcast, None where they do not; `name` is the op's."""
    if a is b or (type(b) is int and b == 1):
        return a
    if type(a) is int and a == 1:
        return b
    env = common_env(a, b)
    if env is None:
        return b if a == 1 else a if b in (1, a) else None
    if isinstance(a, Dim) and isinstance(b, Dim) and a.key == b.key:
        return a
    if env.proved("==", a, 1):
        return b
    if env.proved("==", b, 1) or env.proved("==", a, b):
        return b if isinstance(a, Dim) and not isinstance(b, Dim) and b != 1 else a
    hints = hint_of(a), hint_of(b)
    if None not in hints:
        return _broadcast_hinted(env, a, b)
    env.left_open += 1
    for size in (a, b):  # of two sizes that fit, one that is not 1 is the result
        if env.proved("==", size, 0) or env.proved(">", size, 1):
            return size
    return env.fresh(name)


def _broadcast_hinted(env: Sizes, a: Any, b: Any) -> Any:
    if hint_of(a) == hint_of(b):
        env.compare("==", a, b)
        return a if isinstance(b, Dim) else b
    for one, other in ((a, b), (b, a)):
        if hint_of(one) == 1:
            env.compare("==", one, 1)
            return other
    env.compare("==", a, b)
    return None


def agree(size: Any, wanted: Any) -> bool:
    """Whether two sizes that have to be equal are; of sizes that only running tells that is assumed."""
    env = common_env(size, wanted)
    if env is None:
        return bool(size == wanted)
    proof = env.prove("==", size, wanted)
    if proof is None and None in (hint_of(size), hint_of(wanted)):
        env.assumed.append(Guard("==", size, wanted, True))  # of any size at all, 0 and 1 among them
        return True
    return env.decide("==", size, wanted) if proof is None else proof


def shapes_agree(shape: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether two shapes that have to be equal are, as `agree` tells of their sizes."""
    return len(shape) == len(wanted) and all(map(agree, shape, wanted))


def fits_dim(size: Any, wanted: Any) -> bool:
    """Whether an array of one size broadcasts to just the other."""
    env = common_env(size, wanted)
    if env is None:
        return bool(size in (1, wanted))
    if env.proved("==", size, 1):
        return True
    if None in (hint_of(size), hint_of(wanted)):
        return agree(size, wanted)
    if env.proved("==", size, wanted):
        return True
    stretched = hint_of(size) == 1 and hint_of(wanted) != 1
    return env.compare("==", size, 1 if stretched else wanted)


def divides(part: Any, size: Any) -> bool:
    """Whether a size is a multiple of another; of sizes that only running tells that is assumed."""
    return agree(size % part, 0)


def range_length(start: Any, stop: Any, step: Any) -> Any:
    """How many integers `range(start, stop, step)` holds."""
    env = common_env(start, stop, step)
    count = -((start - stop) // step)
    return max(count, 0) if env is None else _choose(env, max, 0, count)


def slice_length(start: Any, stop: Any, step: Any, size: Any) -> Any:
    """How many elements `[start:stop:step]` selects out of `size`; bounds are None, ints or Dims.

    Where a bound may lie inside or outside and there are hints, a guard decides; without hints the result says both.
    """
    plain = step is None or (not isinstance(step, Dim) and step == 1)
    if start is None and stop is None and plain:
        return size
    env = common_env(start, stop, step, size)
    if env is None:
        return sliced(start, stop, step, size)
    pace = 1 if step is None else step
    if not isinstance(pace, Dim) and pace == 0:
        raise IndexingError("a slice with step 0")
    forward = env.known(">", pace, 0) if isinstance(pace, Dim) else pace > 0
    bounds = None if forward is None else _first_last(env, start, stop, forward, size)
    if bounds is None:
        return from_factor(env.term(sliced, (start, stop, None if plain else step, size)))
    first, last = bounds
    length = _choose(env, max, 0, last - first if forward else first - last)
    stride = pace if forward else -pace
    return length if not isinstance(stride, Dim) and stride == 1 else (length + stride - 1) // stride


def _first_last(env: Sizes, start: Any, stop: Any, forward: bool, size: Any) -> tuple[Any, Any] | None:
    """Where a slice starts and ends, such that their distance counts, negative ones as 0; None where no telling.

    A bound is clipped only on the side where that changes the distance of a slice that selects something.
    """
    inclusive = size if forward else size - 1  # the largest place that a clipped bound can have
    signs = [None if bound is None else env.known("<", bound, 0) for bound in (start, stop)]
    if any(sign is None and bound is not None for sign, bound in zip(signs, (start, stop), strict=True)):
        return None
    places: list[Any] = []
    for bound, negative, low_side in zip((start, stop), signs, (forward, not forward), strict=True):
        if bound is None:
            places.append((0 if forward else -1) if low_side else inclusive)
        elif negative:
            place = bound + size
            places.append(_choose(env, max, 0 if forward else -1, place) if low_side else place)
        else:
            places.append(bound if low_side else _choose(env, min, bound, inclusive))
    return places[0], places[1]


def _choose(env: Sizes, function: Any, a: Any, b: Any) -> Any:
    """`min` or `max` of two sizes: by proof or by a guard where there are hints, else a Dim of its own."""
    second = env.known(">=", b, a)
    return env.extreme(function, a, b) if second is None else b if second is (function is max) else a
