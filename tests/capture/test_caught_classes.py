"""A handler stands in the way only of what it may catch: by the classes that it names."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import PLAINLY, REFUSED, SAME, fates

import weft
from weft.errors import CaptureError

X = np.array([4.0, 2.0, 1.0])
PLACES = [(X, 1), (X, 10), (X, -1)]
LOCAL = (KeyError, NameError)


def raised_past_a_handler(x, k):
    try:
        if x[0] < 0:
            raise ValueError("negative")
        y = np.sqrt(x)
    except KeyError:
        y = x * 0
    return y + k


def raised_past_two_handlers(x, k):
    try:
        try:
            if x.sum() > 100:
                raise TypeError("large")
        except NameError:
            return x
        y = x * k
    except (KeyError, ImportError):
        y = x
    return y


def caught_further_out(x, k):
    try:
        try:
            if x.sum() > 100:
                raise ValueError("large")
        except NameError:
            return x
        y = x * k
    except ValueError:
        y = x - 1
    return y


def index_past_a_handler(x, k):
    try:
        return x[k] * 2
    except np.linalg.LinAlgError:
        return 0.0


def solved_past_a_handler(a, k):
    try:
        return np.linalg.solve(a, a[0]) + k
    except IndexError:
        return a[0] * 0


def divided_past_a_handler(x, k):
    try:
        return float(x[0]) / k
    except (ImportError, AttributeError):
        return -1.0


def division_that_is_caught(x, k):
    try:
        return float(x[0]) / float(x[k])
    except ZeroDivisionError:
        return -1.0


def suppressed_others(x, k):
    with contextlib.suppress(KeyError):
        return x[k]
    return 0.0


def by_a_local_name(x, k):
    kinds = KeyError, NameError
    try:
        return x[k]
    except kinds:
        return 0.0


def by_a_global_name(x, k):
    try:
        return x[k]
    except LOCAL:
        return 0.0


def by_a_name_not_bound_yet(x, k):
    try:
        y = x * k
        kinds = ValueError
        if y.sum() < 0:
            raise TypeError("negative")
    except kinds:
        y = x
    return y


def in_a_loop(x, k):
    total = 0.0
    for v in x:
        try:
            if v < 0:
                raise ValueError("negative")
            total += v
        except StopIteration:
            break
        finally:
            total += k
    return total


def with_a_finally(x, k):
    notes = []
    try:
        if x[0] > k:
            raise ValueError("large")
        notes.append(1)
    except KeyError:
        notes.append(2)
    finally:
        k = k + 1
    return x * k, notes


SIGNS = [(X, 1), (-X, 2), (X * 100, 3)]


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        *((p, SIGNS) for p in (raised_past_a_handler, raised_past_two_handlers, in_a_loop)),
        (with_a_finally, [(-X, 2), (X, 1), (X * 100, 3)]),
        *((p, PLACES) for p in (index_past_a_handler, suppressed_others, by_a_local_name, by_a_global_name)),
        (solved_past_a_handler, [(np.eye(3) * 2, 1.0), (np.zeros((3, 3)), 1.0)]),
        (divided_past_a_handler, [(X, 2.0), (X, 0.0), (X, 3)]),
    ],
)
def test_captured_where_no_handler_catches_it(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    compiled, _ = fates(program, *calls[:1])
    assert compiled == SAME
    assert fates(program, *calls)[0] in (SAME, PLAINLY)


@pytest.mark.parametrize(
    ("program", "calls"),
    [(caught_further_out, SIGNS), (division_that_is_caught, PLACES), (by_a_name_not_bound_yet, SIGNS)],
)
def test_runs_plainly_where_one_does(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    assert fates(program, *calls)[0] == PLAINLY


def number_of(x):
    try:
        return float(x)
    except TypeError:
        return -1.0


def root_of(x):
    try:
        return math.sqrt(x) if x.ndim else 0.0
    except TypeError as error:
        return str(error)


def whole_of(x):
    try:
        return int(x)
    except TypeError:
        return -1


def common(x):
    try:
        return math.gcd(x[0], 4)
    except TypeError:
        return -1


def unless_one(x):
    try:
        return float(x)
    except Exception as error:
        raise LookupError("no number: " + str(error)) from None


ALLOWED = [(SAME, PLAINLY), (SAME, PLAINLY, REFUSED)]


@pytest.mark.parametrize("program", [number_of, root_of, whole_of, common, unless_one])
@pytest.mark.parametrize("x", [X, X[:1], X.reshape(1, 3)], ids=["many", "one", "matrix"])
def test_what_no_array_of_many_can_be(program: Callable[..., Any], x: Any) -> None:
    assert fates(program, (x,))[0] in ALLOWED[program is common]


def truth(x):
    try:
        return 1 if x else 2
    except ValueError:
        return 3


def shown(x):
    try:
        return f"{x:.2f}"
    except TypeError:
        return "many"


def shown_by_percent(x):
    try:
        return "%.2f" % x  # noqa: UP031  # what is looked at
    except TypeError:
        return "many"


def formatted(x):
    try:
        return format(x, ".2f")
    except TypeError:
        return "many"


@pytest.mark.parametrize("program", [truth, shown, shown_by_percent, formatted])
def test_what_an_array_may_not_be(program: Callable[..., Any]) -> None:
    assert fates(program, (X,), (X[:1],), (X[0],))[0] in (SAME, PLAINLY, REFUSED)
    assert fates(program, (X[0],))[0] in (SAME, PLAINLY)


def masked(x):
    y = np.sqrt(x)
    try:
        y[y < 1.5] = 0.0
    except TypeError:
        y = y + 1
    return y


def test_a_number_has_no_items_to_write() -> None:
    assert fates(masked, (X[0],), (X,), (np.array(4.0),), (2.0,))[0] == SAME


def wrapped_refusal(x):
    try:
        return np.linalg.inv(np.outer(x, x) + np.eye(3))
    except Exception as error:
        raise RuntimeError(f"no inverse: {error}") from error


def test_a_refusal_that_the_program_catches_is_still_told() -> None:
    assert fates(wrapped_refusal, (X,)) == [SAME, REFUSED]
    with pytest.raises(CaptureError, match="inside a `try`"):
        weft.script(wrapped_refusal)
