"""What only the capture cannot do is no exception that a program catches."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, MutableMapping
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.errors import CaptureError

X = np.array([1.0, 2.0, 3.0])


def handler(x: Any) -> Any:
    try:
        return np.squeeze(x[x > 1]).sum()
    except Exception:
        return -1.0


def suppressed(x: Any) -> Any:
    with contextlib.suppress(ValueError):
        return np.squeeze(x[x > 1]).sum()
    return -1.0


class Swallows:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: Any) -> bool:
        return True


def swallowed(x: Any) -> Any:
    with Swallows():
        return np.squeeze(x[x > 1]).sum()
    return -1.0  # type: ignore[unreachable]


def objects(x: Any) -> Any:
    try:
        return x + None
    except TypeError:
        return -1.0


def then_a_loop(x: Any) -> Any:
    total = handler(x)
    for i in range(2):
        total = total + x[0] * i
    return total


@pytest.mark.parametrize("function", [handler, suppressed, swallowed, objects, then_a_loop])
def test_it_is_not_caught(function: Callable[..., Any]) -> None:
    with pytest.raises(CaptureError):
        weft.script(function)(X)
    with pytest.raises(CaptureError):
        weft.grad(function)(X)
    compiled = weft.compile(function)
    for x in (X, X[:2], X[:1], X):
        assert compiled(x) == function(x)


def of_wrong_shape(x: Any) -> Any:
    try:
        return x @ np.ones(7)
    except ValueError:
        return -1.0


def of_wrong_type(x: Any) -> Any:
    try:
        return np.add(x, "a")
    except TypeError:
        return -1.0


def without_such_an_attribute(x: Any) -> Any:
    try:
        return x.rows
    except AttributeError:
        return -1.0


def without_a_length(x: Any) -> Any:
    try:
        return len(x.sum())
    except TypeError:
        return -1.0


@pytest.mark.parametrize("function", [of_wrong_shape, of_wrong_type, without_such_an_attribute, without_a_length])
def test_what_the_plain_program_catches_is_caught(function: Callable[..., Any]) -> None:
    compiled = weft.compile(function)
    assert compiled(X) == function(X) == compiled(X) == -1.0


def solved(a: Any, b: Any) -> Any:
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(a, b, rcond=None)[0]


def checked_only(a: Any, b: Any) -> Any:
    positive = True
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError as error:
        positive = str(error) == ""
    return positive, b


def in_a_loop(a: Any, b: Any) -> Any:
    total, missed = 0.0, 0
    for value in b:
        try:
            total = total + b[int(value)] + a[0, 0]
        except IndexError:
            missed += 1
    return total, missed


def of_an_error_under_a_condition(a: Any, b: Any) -> Any:
    try:
        y = b @ np.ones(7) if b[0] > 0 else b.sum()
    except ValueError:
        y = -1.0
    return y


def drawn(a: Any, b: Any) -> Any:
    factor = np.random.rand()
    try:
        return np.linalg.inv(a) * factor * np.random.rand()
    except np.linalg.LinAlgError:
        return b * factor


def a_size_that_may_be_one(a: Any, b: Any) -> Any:
    return np.squeeze(b[b > 0.5])


REGULAR, SINGULAR, B = np.eye(3) * 2 + 0.1, np.ones((3, 3)), np.array([1.0, 2.0, 7.0])
CALLS = [(REGULAR, B), (SINGULAR, B), (REGULAR, -B), (SINGULAR, np.array([0.0, 1.0, 0.0])), (REGULAR, B)]


@pytest.mark.parametrize(
    "program", [solved, checked_only, in_a_loop, of_an_error_under_a_condition, drawn, a_size_that_may_be_one]
)
def test_the_function_itself_runs_where_something_is_raised(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for given in CALLS:
        np.random.seed(3)
        expected, state = program(*given), np.random.get_state()[2]
        np.random.seed(3)
        assert repr(compiled(*given)) == repr(expected)
        assert np.random.get_state()[2] == state
    assert compiled.cache_info().misses == 1
    assert 0 < sum(compiled._ran_plainly.values()) < len(CALLS)
    assert "the function itself runs where" in str(weft.explain(program, REGULAR, B))


def test_what_is_not_caught_is_raised_as_ever() -> None:
    compiled = weft.compile(solved)
    compiled(REGULAR, B)
    with pytest.raises(ValueError, match="solve"):
        compiled(REGULAR, np.ones(4))


def test_a_program_that_leaves_something_behind_is_refused() -> None:
    def writes(a: Any, b: Any) -> Any:
        b[0] = 5.0
        return solved(a, b)

    def prints(a: Any, b: Any) -> Any:
        print("solving")
        return solved(a, b)

    class Holder:
        count = 0

    def changes(holder: Any, a: Any, b: Any) -> Any:
        holder.count += 1
        return solved(a, b)

    holder, b = Holder(), B.copy()
    for program, given in ((writes, (SINGULAR, b)), (prints, (SINGULAR, b)), (changes, (holder, SINGULAR, b))):
        with pytest.raises(CaptureError, match="inside a `try`"):
            weft.compile(program)(*given)
    assert holder.count == 0
    assert b[0] == 1.0


def test_such_a_function_is_not_saved(tmp_path: Any) -> None:
    compiled = weft.compile(solved)
    compiled(REGULAR, B)
    with pytest.raises(weft.errors.FileError, match="the function itself has to run for some calls"):
        compiled.save(tmp_path / "solved.weft")


class _Bare:
    pass


class _Answering:
    def __getattr__(self, name):
        if name == "answer":
            return 3.0
        raise AttributeError(name)


def attribute_or_default(owner, x):
    try:
        scale = owner.scale
    except AttributeError:
        scale = 2.0
    return x * scale


def attribute_made_where_it_lacks(owner, x):
    owner.asked = 1
    try:
        scale = owner.scale
    except AttributeError:
        owner.scale = scale = 2.0
    return x * scale


def attribute_suppressed(owner, x):
    with contextlib.suppress(AttributeError):
        x = x * owner.scale
    return x


def global_or_default(owner, x):
    try:
        scale = LACKING  # type: ignore[name-defined]  # that is what is tested
    except NameError:
        scale = 2.0
    return x * scale


def global_suppressed(owner, x):
    with contextlib.suppress(NameError):
        x = x * LACKING  # type: ignore[name-defined]  # noqa: F821  # as above
    return x


OR_DEFAULT = [
    *(attribute_or_default, attribute_made_where_it_lacks, attribute_suppressed),
    *(global_or_default, global_suppressed),
]


@pytest.mark.parametrize("kind", [_Bare, _Answering])
@pytest.mark.parametrize("program", OR_DEFAULT)
def test_what_lacks_may_be_there_later(program: Any, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, owner, same = weft.compile(program), kind(), kind()
    for value in (None, 5.0, 6.0):
        if value is not None:
            owner.scale = same.scale = value
            monkeypatch.setitem(globals(), "LACKING", value)
        np.testing.assert_array_equal(compiled(owner, np.ones(2)), program(same, np.ones(2)))
        assert vars(owner) == vars(same)
    assert not compiled._ran_plainly


def test_assertions_of_numpy_that_the_program_catches() -> None:
    def whole(x):
        rest = np.asarray(x) % 1
        if rest.ndim > 0:
            rest[rest > 0.5] = 1 - rest[rest > 0.5]
        try:
            np.testing.assert_allclose(rest, 0, atol=1e-3)
        except AssertionError:
            raise ValueError("no whole numbers") from None
        return np.round(x).astype(np.int64)

    compiled = weft.compile(whole)
    for x in (np.array([1.0, 2.0]), np.array([3.0001, 3.9999])):
        np.testing.assert_array_equal(compiled(x), whole(x))
    assert not compiled._ran_plainly
    with pytest.raises(ValueError, match="no whole numbers"):
        compiled(np.array([1.0, 2.5]))


def test_handlers_of_the_program_are_not_for_what_capturing_cannot_do() -> None:
    def refused(x):
        try:
            return x * _read_by_library(x)
        except TypeError:
            return x * 0

    x = np.array([1.0, -2.0])
    with pytest.raises(CaptureError, match="over"):
        weft.compile(refused)(x)


def _read_by_library(x: Any) -> Any:
    raise CaptureError("what a loop that is over computed")


def test_floating_point_errors_that_a_program_asks_for_are_caught() -> None:
    def periods(rate: Any, payment: Any) -> Any:
        none = False
        with np.errstate(divide="raise"):
            try:
                factor = payment * (1 + rate) / rate
            except FloatingPointError:
                none = True
        return payment if none else np.log(factor) / np.log(1 + rate)

    compiled, before = weft.compile(periods), np.geterr()
    for rate in (np.array(0.05), np.array(0.0), np.array([0.1, 0.2]), np.array([0.1, 0.0])):
        assert_same(call(compiled, (rate, 150.0)), call(periods, (rate, 150.0)))
        assert np.geterr() == before
    assert compiled.cache_info().currsize


def test_the_call_that_may_raise_is_named() -> None:
    @weft.wrap
    def total(parts):
        return sum(parts.values())

    def caught(x):
        parts = {"a": 1.0, "b": x[0]}
        try:
            return total(parts) + x[1]
        except ValueError:
            return 0.0

    with pytest.raises(CaptureError, match=r"total\(\) inside a `try` or `with`"):
        weft.compile(caught)(np.ones(2))


class Scaler:
    """An object that is asked before it knows what it is to answer."""

    def __init__(self) -> None:
        self.mean: Any = None

    def scale(self, x: Any) -> Any:
        if self.mean is None:
            raise RuntimeError("not fitted", 3)
        return x - self.mean


def told_what_was_caught(x: Any) -> Any:
    scaler = Scaler()
    try:
        scaler.scale(x)
    except RuntimeError as error:
        print("caught", error, repr(error), error.args)
        text = f"{error} {error!r}" + str(error)
    scaler.mean = np.mean(x)
    return np.sum(scaler.scale(x) ** 2) + len(text)


@pytest.mark.parametrize("how", [weft.compile, weft.script, lambda f: weft.trace(f, X)])
def test_the_text_of_a_caught_exception(how: Any) -> None:
    captured = how(told_what_was_caught)
    assert_same(call(captured, (X,)), call(told_what_was_caught, (X,)))
    assert how is not weft.compile or not captured._ran_plainly


def test_a_derivative_of_a_program_that_catches(capsys: Any) -> None:
    np.testing.assert_allclose(weft.grad(told_what_was_caught)(X), 2 * (X - X.mean()))
    assert capsys.readouterr().out.startswith("caught ('not fitted', 3)")


def checked(x: Any) -> Any:
    if x.ndim != 2:
        raise ValueError(f"two dimensions are wanted, not {x.ndim}")
    assert x.shape[0] > 1, "more rows are wanted"
    return np.sum(x)


def test_a_derivative_raises_what_the_program_raises() -> None:
    for derivative in (weft.grad(checked), weft.compile(lambda x: weft.grad(checked)(x))):
        with pytest.raises(ValueError, match="two dimensions are wanted, not 1"):
            derivative(X)
        with pytest.raises(AssertionError, match="more rows are wanted"):
            derivative(np.ones((1, 2)))


def marked_functions(x: Any) -> Any:
    def twice(t: Any) -> Any:
        twice.calls += 1  # type: ignore[attr-defined]
        return 2 * t

    twice.calls = 0  # type: ignore[attr-defined]
    rule = lambda t: t  # noqa: E731
    rule.slope = lambda t: 0 * t  # type: ignore[attr-defined]
    return np.sum(twice(twice(x)) + rule(x) + rule.slope(x)) * twice.calls  # type: ignore[attr-defined]


def test_a_derivative_of_a_program_that_gives_its_functions_attributes() -> None:
    np.testing.assert_array_equal(weft.grad(marked_functions)(X), np.full(3, 10.0))


def asked_for_none_inside(x: Any, rate: Any = None) -> Any:
    try:
        scale = 2.0 if rate is not None else 1.0
    except ZeroDivisionError:
        scale = 0.0
    return x * scale


def test_a_script_asks_for_none_inside_a_try() -> None:
    scripted = weft.script(asked_for_none_inside)
    np.testing.assert_array_equal(scripted(X), X)
    np.testing.assert_array_equal(scripted(X, 3), X * 2)


class Nearest:
    def __init__(self, centers: Any) -> None:
        self.centers = centers * 2

    def of(self, row: Any) -> Any:
        return np.argmin(np.sum((self.centers - row) ** 2, axis=1))


def rows_given_to_a_method(x: Any) -> Any:
    return np.apply_along_axis(Nearest(x[:2]).of, 1, x)


def test_a_method_that_a_script_gives_away_is_called_by_its_name() -> None:
    with pytest.raises(CaptureError, match=r"^of, a method of an object that the program made") as found:
        weft.script(rows_given_to_a_method)
    assert "call it in a loop or a comprehension" in str(found.value)


def windows(x, size):
    try:
        return np.lib.stride_tricks.sliding_window_view(x, size).sum(axis=-1)[0]
    except ValueError:
        return "short"


def windows_of_a_hundred(x, size):
    try:
        return np.lib.stride_tricks.sliding_window_view(x, 100).shape
    except ValueError:
        return "short"


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("program", [windows, windows_of_a_hundred])
def test_what_a_function_raises_for_some_sizes_is_not_taken_for_what_it_always_raises(program, dynamic) -> None:
    compiled = weft.compile(program, dynamic=dynamic)
    for length in (1000, 70, 300):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = call(compiled, (np.ones(length), 256))
        if isinstance(got.exception, CaptureError):
            assert dynamic is True
        else:
            assert_same(got, call(program, (np.ones(length), 256)))


class Settings(MutableMapping):
    """A mapping whose other methods, those of the standard library, catch what its own ones raise."""

    def __init__(self, held):
        self.held = held

    def __getitem__(self, key):
        return self.held[key]

    def __setitem__(self, key, value):
        self.held[key] = value

    def __delitem__(self, key):
        del self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


def asks_for_what_is_missing(settings, x):
    return settings.get("rate", x), "rate" in settings, settings.pop("rate", x)


def puts_what_is_missing(settings, x):
    settings.setdefault("rate", x)
    return x


def puts_and_asks(settings, x):
    settings["step"] = x
    return settings.get("rate", x)


@pytest.mark.parametrize("held", [{"step": 1.0}, {"rate": 3.0}])
@pytest.mark.parametrize("program", [asks_for_what_is_missing, puts_what_is_missing, puts_and_asks])
def test_what_the_standard_library_catches(program, held) -> None:
    given, expected = Settings(dict(held)), Settings(dict(held))
    got = call(weft.compile(program), (given, 2.0))
    if isinstance(got.exception, CaptureError):
        assert program in (puts_and_asks, asks_for_what_is_missing)
        assert "that may catch what it raises" in str(got.exception)
        assert given.held == held
    else:
        assert_same(got, call(program, (expected, 2.0)))
        assert given.held == expected.held
