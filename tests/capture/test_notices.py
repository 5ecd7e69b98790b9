"""What a program tells its user at each call: warnings and log records, through every front end, in their order."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call
from weft.capture._notices import log
from weft.errors import CaptureError

LOG = logging.getLogger("weft.tests.notices")
X = np.array([3.0, -1.0, 2.0])


def warned_in_a_branch(x):
    if x[0] > 0:
        warnings.warn("positive", stacklevel=2)
    return x + 1


def warned_with_a_category(x):
    warnings.warn(f"the sum is {x.sum()}", DeprecationWarning, stacklevel=2)
    warnings.warn(RuntimeWarning("as an object"), stacklevel=2)
    return x


def warned_of_what_is_missing(x):
    missing = []
    if x[0] > 0:
        missing.append("first")
    if x[1] > 0:
        missing.append("second")
    text = "no room for %s: " + "the result is %s"
    warnings.warn(text % (" and ".join(missing), "NaN" if len(missing) == 2 else "inf"), RuntimeWarning, stacklevel=2)
    return x


def logged(x):
    LOG.info("start")
    for i in range(len(x)):
        if x[i] < 0:
            LOG.warning("negative at %d: %.2f", i, x[i])
    LOG.debug("not shown")
    LOG.log(logging.ERROR, f"{len(x)} done")
    print("between")
    logging.warning("of the root: %s", x[0])
    return x * 2


class Logging:
    """An object with a logger."""

    def __init__(self) -> None:
        self.logger = LOG

    def double(self, x):
        self.logger.info("mean %s", x.mean())
        return x * 2


class Printed(logging.Handler):
    """Prints each record."""

    def emit(self, record: logging.LogRecord) -> None:
        print(record.name, record.levelname, record.getMessage())


@pytest.fixture(autouse=True)
def printed() -> Iterator[None]:
    handler, level = Printed(), LOG.level
    logging.root.addHandler(handler)
    LOG.setLevel(logging.INFO)
    yield
    logging.root.removeHandler(handler)
    LOG.setLevel(level)


def told(function: Callable[..., Any], x: Any, capsys: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(x.copy())
    return result.tolist(), capsys.readouterr().out, [(str(one.message), one.category) for one in caught]


@pytest.mark.parametrize("make", [weft.compile, weft.script])
@pytest.mark.parametrize(
    "program", [warned_in_a_branch, warned_with_a_category, warned_of_what_is_missing, logged, Logging().double]
)
def test_each_call_tells_it(make: Any, program: Callable[..., Any], capsys: Any) -> None:
    made = make(program)
    assert told(program, X, capsys)[1:] != ("", []), "the program tells nothing"
    for x in (X, -X, X):
        assert told(made, x, capsys) == told(program, x, capsys)


def recorded(x):
    with warnings.catch_warnings(record=True) as seen:
        return np.log(x), len(seen)


def errors_changed(x):
    np.seterr(all="raise")
    return np.log(x)


def printed_shortly(x):
    with np.printoptions(precision=1):
        print(x)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (recorded, "`with` a catch_warnings: it would be entered once"),
        (errors_changed, "np.seterr(): it would be called once"),
        (printed_shortly, "`with` np.printoptions: it would be entered once"),
    ],
)
def test_settings_are_not_changed_once_for_all(program: Callable[..., Any], message: str) -> None:
    before = np.geterr(), list(warnings.filters)
    with pytest.raises(CaptureError) as caught:
        weft.compile(program)(X)
    assert message in caught.value.message
    assert (np.geterr(), list(warnings.filters)) == before


def always_raises(x):
    raise ValueError(f"no: {x[0]}")


@pytest.mark.parametrize("make", [weft.compile, weft.script])
def test_a_raise_with_a_traced_text(make: Any) -> None:
    made = make(always_raises)
    for x in (X, -X):
        with pytest.raises(ValueError, match="no") as caught:
            made(x)
        assert str(caught.value) == f"no: {x[0]}"


def test_a_plain_run_is_told_where_the_function_was_called() -> None:
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    with pytest.warns(UserWarning, match="ran as plain Python") as caught:
        assert weft.compile(fibonacci)(20) == 6765
    assert caught[0].filename == __file__


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_decorators_in_the_wrong_order(kind: Any) -> None:
    with pytest.raises(CaptureError) as caught:
        weft.compile(kind(logged))
    assert caught.value.message == f"logged is a {kind.__name__} already: the method itself is captured"


def test_only_what_logs_is_called() -> None:
    with pytest.raises(ValueError, match="'basicConfig' is none of"):
        log("root", "basicConfig", filename="never")


def test_dynamic_is_checked() -> None:
    with pytest.raises(ValueError, match="dynamic is None, True or False, got 'yes'"):
        weft.compile(logged, dynamic="yes")  # type: ignore[arg-type]  # that is the test


def within(x):
    with np.errstate(divide="ignore"):
        y = 1 / x
    return y, np.log(x)


def set_and_set_back(x):
    old = np.seterr(divide="ignore", invalid="ignore")
    y = np.log(x)
    np.seterr(**old)
    return y, np.sqrt(x - 1)


def set_for_good(x):
    if x[0] > 3:
        return x
    np.seterr(all="ignore")
    with np.errstate(invalid="warn"):
        y = np.log(x)
        np.seterr(divide="warn")
        z = 1 / x
    return y, z, np.sqrt(x - 1)


def set_in_a_loop(x):
    for k in range(len(x)):
        old = np.seterr(all="ignore")
        x[k] = 1 / x[k]
        np.seterr(**old)
    return x


@pytest.mark.parametrize("front_end", [weft.compile, weft.script])
@pytest.mark.parametrize("program", [within, set_and_set_back, set_for_good, set_in_a_loop])
def test_floating_point_errors_are_handled_as_the_caller_and_the_program_say(program: Any, front_end: Any) -> None:
    before = np.geterr()
    captured = front_end(program)
    assert np.geterr() == before
    for handling in ({}, {"all": "ignore"}, {"divide": "raise", "invalid": "raise"}, {"all": "warn"}):
        for x in (np.array([0.0, 2.0, 3.0]), np.array([-1.0, 0.0, 2.0]), np.array([4.0, 5.0])):
            seen = []
            for function in (program, captured):
                with np.errstate(**handling), warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    outcome = call(function, (x.copy(),))
                    seen.append((outcome, [str(warning.message) for warning in warned], np.geterr()))
            assert_same(seen[1][0], seen[0][0])
            assert seen[1][1:] == seen[0][1:]


def test_derivatives_of_a_program_that_sets_how_errors_are_handled() -> None:
    x = np.array([1.5, 2.5])
    np.testing.assert_allclose(weft.grad(lambda x: set_and_set_back(x)[0].sum())(x), 1 / x)
    np.testing.assert_array_equal(weft.vmap(set_in_a_loop)(np.stack([x, x])), 1 / np.stack([x, x]))
