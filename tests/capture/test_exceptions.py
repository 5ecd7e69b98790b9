"""What a program does with exceptions is captured, refused, or left to the plain call.

An exception that is known at capture takes Python's own way. What may raise only when the graph runs cannot be caught
there; so it is refused wherever the program might catch it: in a `try` with handlers, under a `finally` that returns,
within `contextlib.suppress` and context managers that swallow.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from alike import PLAINLY, REFUSED, SAME, fates

import weft

X = np.array([1.0, 2.0, 3.0])
PLACES = [(X, 1), (X, 10), (X, -1), (X, -7), (X, 2)]
NUMBERS = [(7, 2), (7, 0), (7.0, 0.0), (0, 0.0), (7.5, 2.0)]
SIGNS = [(X,), (-X,), (X * 0,)]


class Sw:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        return True


class Quiet:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.seen += 1
        return kind is not None and issubclass(kind, self.kinds)


class Timer:
    def __init__(self):
        self.n = 0

    def __enter__(self):
        self.n += 1
        return self

    def __exit__(self, *e):
        self.n += 10


class Either(Timer):
    def __exit__(self, kind, error, trace):
        return kind is IndexError or False


class Replacing(Timer):
    def __exit__(self, kind, error, trace):
        if kind is not None:
            raise KeyError("replaced") from error


class Falsy(Timer):
    def __exit__(self, kind, error, trace):
        if kind is None:
            return None
        self.n += 10
        return False


class MyErr(Exception):
    def __init__(self, code, what):
        super().__init__(what)
        self.code = code


@contextlib.contextmanager
def quiet():
    with contextlib.suppress(IndexError):
        yield 5


@contextlib.contextmanager
def loud():
    yield 5


def suppressed(x, i):
    with contextlib.suppress(IndexError):
        return x[i]
    return -1.0


def suppressed_after_an_assignment(x, i):
    y = 0.0
    with contextlib.suppress(IndexError, KeyError):
        y = 1.0
        y = x[i] * 2
    return y


def swallowed_by_exit(x, i):
    with Sw():
        return x[i]
    return 7.0


def swallowed_by_kind(x, i):
    q = Quiet(IndexError)
    y = 0.0
    with q:
        y = x[i]
    return y, q.seen


def swallowed_by_a_generator(x, i):
    with quiet() as k:
        return x[i] * k
    return 7.0


def passed_by_a_generator(x, i):
    with loud() as k:
        return x[i] * k


def timed(x, i):
    t = Timer()
    with t:
        y = x[i]
    return y, t.n


def swallowed_by_an_expression(x, i):
    with Either():
        return x[i]
    return 7.0


def replaced_by_exit(x, i):
    with Replacing():
        return x[i]


def let_through(x, y):
    f = Falsy()
    with np.errstate(divide="ignore", invalid="ignore"), Timer() as t, f, loud() as k:
        z = x / y * k
    return z, t.n, f.n


def returns_finally(x, i):
    try:
        x[i]
    finally:
        return 5  # noqa: B012  # which is what is tested


def appends_finally(x, i):
    a = []
    try:
        y = x[i]
        a.append(1)
    finally:
        a.append(2)
    return y, a


def writes_finally(x, i):
    try:
        y = x[i]
    finally:
        x[0] = 9
    return y


def prints_finally(x, i):
    try:
        y = x[i]
    finally:
        print("done")
    return y


def with_all_parts(x, i):
    try:
        y = x[i]
    except IndexError:
        y = -1.0
    else:
        y = y * 2
    finally:
        z = 1
    return y + z


def reads_the_message(x, i):
    try:
        return x[i], ""
    except IndexError as e:
        return 0.0, str(e)


def nested(x, i):
    out = []
    try:
        try:
            out.append(x[i])
        except KeyError:
            out.append("key")
        finally:
            out.append("fin")
    except IndexError:
        out.append("idx")
    return out


def reads_the_cause(x, i):
    try:
        try:
            return x[i]
        except IndexError as e:
            raise ValueError("bad") from e
    except ValueError as v:
        return type(v.__cause__).__name__


def raises_from(x, i):
    try:
        return x[i]
    except IndexError as e:
        raise ValueError("bad") from e


def divided(n, m):
    try:
        return n // m
    except ZeroDivisionError as e:
        return str(e)


def divided_floats(n, m):
    try:
        return n / m
    except ZeroDivisionError:
        return 0.0


def compared(n):
    try:
        if n > 3:
            return n
        raise ValueError("small")
    except ValueError as e:
        return str(e)


def compared_in_a_loop(x):
    c = 0
    for i in range(len(x)):
        try:
            if i > 1:
                c += i
            else:
                c -= 1
        except ValueError:
            c = 100
    return c


def arithmetic(x):
    try:
        return (x * 2 + 1).sum()
    except ValueError:
        return 0.0


def multiplied(a, b):
    try:
        return a @ b
    except ValueError:
        return None


def looked_up(x, d):
    try:
        k = d["z"]
    except KeyError:
        k = 2.0
    return x * k


def groups(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        y = x + 1
    except* TypeError:
        y = x + 2
    return y


def own_constructor(x):
    if x[0] > 0:
        raise MyErr(3, "pos")
    return x


def with_a_cause(x):
    if x[0] > 0:
        raise ValueError("pos") from KeyError("k")
    return x


def raised_under_a_condition(x):
    try:
        if x[0] > 0:
            raise ValueError("pos")
        y = 1.0
    except ValueError:
        y = 2.0
    return y


def with_notes(x):
    if x[0] > 0:
        e = ValueError("a")
        e.add_note("n")
        e.extra = 4
        raise e
    return x


def bare_around_a_branch(x):
    y = x[0]
    for _i in range(20):
        try:
            if y > 3:
                y = y - 1
            else:
                y = y + 2
        except:  # noqa: E722  # which is what is tested
            y = -1.0
    return y


def bare_around_a_list(x):
    items = []
    for i in range(20):
        try:
            if x[0] > i:
                items.append(i)
        except:  # noqa: E722  # which is what is tested
            items = ["bad"]
    return items


def bare_around_an_object(x):
    class Counter:
        pass

    o = Counter()
    o.n = 0
    for v in x:
        try:
            if v > 0:
                o.n += 1
        except:  # noqa: E722  # which is what is tested
            o.n = -5
    return o.n


def floating_point_error(x):
    with np.errstate(all="raise"):
        try:
            return 1 / x
        except FloatingPointError:
            return x


def singular(x):
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return x


def converted(s, x):
    try:
        k = float(s)
    except ValueError:
        k = 1.0
    return x * k


def closed(x):
    def g():
        try:
            yield x[0]
            yield x[1]
        finally:
            out.append("closed")

    out = []
    it = g()
    a = next(it)
    it.close()
    return a, out


def thrown_into(x):
    def g():
        try:
            yield x[0]
        except ValueError:
            yield x[1]

    it = g()
    a = next(it)
    b = it.throw(ValueError("z"))
    return a, b


def break_in_a_handler(x, n):
    t = 0.0
    for i in range(n):
        try:
            t = t + x[i]
        except IndexError:
            break
    return t


def endless_until_caught(x):
    i = 0
    t = 0.0
    while True:
        try:
            t += x[i]
        except IndexError:
            break
        i += 1
    return t


def asserted(x):
    try:
        assert x[0] > 0, "neg"
    except AssertionError:
        return 1.0
    return 2.0


def stack_of_contexts(x, i):
    with contextlib.ExitStack() as st:
        st.callback(print, "bye")
        return x[i]


def stack_that_swallows(x, i):
    with contextlib.ExitStack() as st:
        st.enter_context(contextlib.suppress(IndexError))
        return x[i]
    return 9.0


def no_attribute(x):
    try:
        return x.foo
    except AttributeError:
        return x + 1


def whole_number(x):
    try:
        return int(x[0])
    except (ValueError, OverflowError):
        return -1


def domain(r):
    try:
        return math.sqrt(r)
    except ValueError:
        return -1.0


def first_of(items):
    try:
        return next(v for v in items if v > 5)
    except StopIteration:
        return None


def _asks(kind):
    return kind is IndexError


def _fails():
    raise RuntimeError("helper")


class ByAFunction:
    """Lets a function decide."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return _asks(kind)


class FailsByAFunction(ByAFunction):
    def __exit__(self, kind, error, trace):
        if kind is not None:
            _fails()


class FailsByAMethod(ByAFunction):
    def __exit__(self, kind, error, trace):
        self.close(kind)

    def close(self, kind):
        if kind is not None:
            self.fail()

    def fail(self):
        raise RuntimeError("method")


class FailsByAnother(ByAFunction):
    def __init__(self):
        self.held = FailsByAMethod()

    def __exit__(self, kind, error, trace):
        self.held.close(kind)


class Closes(ByAFunction):
    """Calls a method that raises nothing."""

    closed = 0

    def __exit__(self, kind, error, trace):
        self.close()

    def close(self):
        self.closed = 1


def _managed(manager):
    def program(x, i):
        y = 0.0
        if x[0] > -5:
            with manager():
                y = x[i] * 2
        return y

    return program


EITHER = {SAME, PLAINLY}


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        *(
            (program, PLACES)
            for program in (
                suppressed,
                suppressed_after_an_assignment,
                swallowed_by_exit,
                swallowed_by_kind,
                swallowed_by_an_expression,
                replaced_by_exit,
                swallowed_by_a_generator,
                passed_by_a_generator,
                timed,
                returns_finally,
                appends_finally,
                writes_finally,
                prints_finally,
                with_all_parts,
                reads_the_message,
                nested,
            )
        ),
        *((program, PLACES) for program in (reads_the_cause, raises_from)),
        *((program, NUMBERS) for program in (divided, divided_floats)),
        (compared, [(2,), (5,)]),
        *(
            (program, SIGNS)
            for program in (
                compared_in_a_loop,
                arithmetic,
                groups,
                own_constructor,
                with_a_cause,
                with_notes,
                bare_around_a_branch,
                bare_around_an_object,
            )
        ),
        *((program, SIGNS) for program in (closed, thrown_into, endless_until_caught, no_attribute)),
        (multiplied, [(np.eye(3), X), (np.eye(2), X)]),
        (looked_up, [(X, {"z": 3.0}), (X, {})]),
        (converted, [("3", X), ("z", X)]),
        (break_in_a_handler, [(X, 2), (X, 20)]),
        (domain, [(2.0,), (-2.0,)]),
        (first_of, [([1.0, 9.0],), ([1.0],)]),
        *((program, SIGNS) for program in (bare_around_a_list, whole_number)),
        (whole_number, [(np.array([2.5]),), (np.array([np.nan]),), (np.array([np.inf]),)]),
    ],
)
def test_as_in_the_plain_call(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    compiled, _ = fates(program, *calls)
    assert compiled in EITHER


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        *((program, SIGNS) for program in (raised_under_a_condition, asserted)),
        (singular, [(np.eye(2),), (np.zeros((2, 2)),)]),
    ],
)
def test_the_function_itself_runs_where_something_is_raised(
    program: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    assert fates(program, *calls) == [PLAINLY, REFUSED]
    compiled = weft.compile(program)
    for given in calls:
        compiled(*given)
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize(
    ("program", "calls"),
    [
        *((program, PLACES) for program in (stack_of_contexts, stack_that_swallows)),
    ],
)
def test_refused(program: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    assert fates(program, *calls) == [REFUSED, REFUSED]


def test_floating_point_errors_that_the_program_asks_for() -> None:
    assert fates(floating_point_error, *SIGNS) == [PLAINLY, REFUSED]


def test_managers_that_let_exceptions_through_are_captured() -> None:
    assert fates(let_through, (X, X), (X, np.zeros(3))) == [SAME, SAME]


@pytest.mark.parametrize("manager", [ByAFunction, FailsByAFunction, FailsByAMethod, FailsByAnother])
def test_what_an_exit_calls_may_swallow_or_raise(manager: Any) -> None:
    assert fates(_managed(manager), *PLACES)[0] in EITHER


def test_an_exit_that_calls_what_raises_nothing_is_captured() -> None:
    compiled = weft.compile(_managed(Closes))
    assert compiled(X, 1) == X[1] * 2
    assert compiled(X, 2) == X[2] * 2
    assert compiled.cache_info().misses == 1


def test_exceptions_under_a_condition_are_whole() -> None:
    with pytest.raises(MyErr) as caught:
        weft.compile(own_constructor)(X)
    assert (caught.value.args, caught.value.code) == (("pos",), 3)
    with pytest.raises(ValueError, match="pos") as caused:
        weft.compile(with_a_cause)(X)
    assert isinstance(caused.value.__cause__, KeyError)
    with pytest.raises(ValueError, match="a") as noted:
        weft.compile(with_notes)(X)
    assert (vars(noted.value)["__notes__"], vars(noted.value)["extra"]) == (["n"], 4)


def number_or_array(x):
    try:
        return float(x) * 2
    except TypeError:
        return np.sum(x)


def sine_of_number_or_array(x):
    try:
        return math.sin(x)
    except TypeError:
        return np.sin(x)


def length_or_number(x):
    try:
        count = int(x)
    except (TypeError, ValueError):
        count = len(x)
    return count


@pytest.mark.parametrize("program", [number_or_array, sine_of_number_or_array, length_or_number])
def test_arrays_where_a_number_is_wanted_raise_at_once(program: Any) -> None:
    assert fates(program, (X,), (np.ones((2, 3)),), (np.zeros(0),))[0] == SAME
