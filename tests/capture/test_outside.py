"""What a program did not make is not changed behind its back, and what answers anew at each call is not asked once."""

from __future__ import annotations

import datetime as dt
import functools
import operator
import os
import random
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import call
from weft.errors import CaptureError

STORE: dict[str, Any] = {"inner": {"a": 1}, "list": [1, 2]}
SEEN: list[Any] = []


class Holder:
    """An object that was there before."""

    def __init__(self) -> None:
        self.items: list[Any] = []


HOLDER = Holder()
SCALE = 2.0
SHIFTS = [1.0]
X = np.array([1.0, 2.0])


def own_containers(x):
    def fresh():
        return [x[0]]

    items = fresh()
    other = items
    other.append(x[1])
    table = {"items": items}
    inner = table["items"]
    inner.append(x.sum())
    holder = Holder()
    mine = holder.items
    mine.append(len(items))
    return items, holder.items


def test_containers_of_the_program_may_be_changed_under_any_name() -> None:
    compiled = weft.compile(own_containers)
    for x in (X, X * 3):
        assert repr(compiled(x)) == repr(own_containers(x))
    assert compiled.cache_info().misses == 1


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (time.time, "time.time"),
        (time.perf_counter_ns, "time.perf_counter_ns"),
        (lambda: time.sleep(0), "time.sleep"),
        (random.random, "random.random"),
        (lambda: random.gauss(0, 1), "random.gauss"),
        (lambda: dt.datetime.now(), "datetime.now"),
        (lambda: dt.date.today(), "date.today"),
        (lambda: os.urandom(2), "os.urandom"),
        (lambda: secrets.token_hex(2), "secrets.token_hex"),
        (lambda: open("/dev/null"), "open"),  # noqa: SIM115  # never opened
        (lambda: np.load("/dev/null"), "np.load"),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else "",
)
def test_what_answers_anew_is_refused(call: Any, name: str) -> None:
    def program(x: Any) -> Any:
        return x, call()

    with pytest.raises(CaptureError) as caught:
        weft.compile(program)(X)
    assert caught.value.message == f"{name}(): it would be called once, when the program is captured"
    assert caught.value.help


def test_what_a_path_finds_is_asked_at_each_call(tmp_path: Path) -> None:
    def program(x: Any, folder: str, name: str) -> Any:
        file = Path(folder).resolve() / name
        return x * float(file.read_text()) if file.exists() else x

    compiled = weft.compile(program)
    for text in ("3", "4", None):
        (tmp_path / "a").write_text(text) if text else (tmp_path / "a").unlink()
        np.testing.assert_array_equal(compiled(X, str(tmp_path), "a"), X * float(text or 1))
    assert compiled.cache_info().misses == 1


def test_a_path_may_be_given_to_code_that_is_not_captured(tmp_path: Path) -> None:
    read = weft.wrap(lambda path: float(path.read_text()))

    def program(x: Any, folder: str) -> Any:
        path = Path(folder) / "a"
        return x * read(path), path

    compiled = weft.compile(program)
    for text in ("3", "4"):
        (tmp_path / "a").write_text(text)
        scaled, path = compiled(X, str(tmp_path))
        np.testing.assert_array_equal(scaled, X * float(text))
        assert path == tmp_path / "a"
    assert compiled.cache_info().misses == 1


def test_nothing_is_saved_while_capturing(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"

    def program(x: Any) -> Any:
        np.save(path, x)
        return x

    with pytest.raises(CaptureError, match="save them outside"):
        weft.compile(program)(X)
    assert list(tmp_path.iterdir()) == []


def seeded(x):
    return x * random.Random(3).random()


def test_a_generator_of_the_programs_own_gives_the_same_each_time() -> None:
    compiled = weft.compile(seeded)
    for x in (X, X + 1):
        np.testing.assert_array_equal(compiled(x), seeded(x))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: len({int(v): 1 for v in x}),
        lambda x: {float(v): 1 for v in x},
        lambda x: {1.0: "one", "two": 2.0}[float(x[0])],
    ],
)
def test_traced_values_are_no_keys(program: Any) -> None:
    with pytest.raises(CaptureError):
        weft.compile(program)(X)


def test_known_numbers_are_keys_under_a_guard() -> None:
    compiled = weft.compile(lambda x, k: x * {1: 10.0, 2: 20.0}[k])
    for k in (1, 2, 1):
        np.testing.assert_array_equal(compiled(X, k), X * 10 * k)


def climb(path):
    total = 0.0
    for i in range(len(path) - 1):
        step = path[i + 1] - path[i]
        if step > 0:
            total = total + step**2
    return total


def test_a_number_becomes_a_tensor_in_a_branch() -> None:
    compiled = weft.compile(climb)
    for values in ([1.0, 3.0, 2.0, 6.0], [3.0, 2.0], [1.0]):
        tensors = [weft.tensor(values, requires_grad=True) for _ in range(2)]
        got, expected = compiled(tensors[0]), climb(tensors[1])
        assert type(got) is type(expected)
        assert float(got) == float(expected)
        if isinstance(expected, weft.Tensor):
            got.backward()
            expected.backward()
            np.testing.assert_array_equal(tensors[0].grad.numpy(), tensors[1].grad.numpy())
    # A loop that makes no turn gives its argument no gradient: that is a graph of its own.
    assert compiled.cache_info() == (1, 2, 2), "it was not captured"


@functools.lru_cache
def kept_list():
    return [1.0]


def default_list(found=[1.0]):  # noqa: B006  # what is tested
    return found


def named_default_list(*, found=[1.0]):  # noqa: B006  # what is tested
    return found


def of_a_cache(x):
    found = kept_list()
    found.append(2.0)
    return x * len(found)


def of_a_getter(x):
    found = operator.attrgetter("items")(HOLDER)
    found.append(2.0)
    return x * len(found)


def of_a_default(x):
    found = default_list()
    found.append(2.0)
    return x * len(found)


def of_a_named_default(x):
    found = named_default_list()
    found.append(2.0)
    return x * len(found)


@pytest.mark.parametrize(
    ("program", "lists"),
    [
        (of_a_cache, kept_list),
        (of_a_getter, lambda: HOLDER.items),
        (of_a_default, default_list),
        (of_a_named_default, named_default_list),
    ],
)
def test_a_list_that_was_there_before_is_not_changed_at_capture(program: Any, lists: Any) -> None:
    before = list(lists())
    with pytest.raises(CaptureError, match=r"changes a (list that|default argument of)"):
        weft.compile(program)(X)
    assert lists() == before


def test_a_default_that_is_read_is_captured() -> None:
    compiled = weft.compile(lambda x: x * default_list()[0])
    np.testing.assert_array_equal(compiled(X), X)
    assert not compiled._ran_plainly


class Settings:
    """Gives a new dict each time it is asked."""

    @property
    def options(self):
        return {"rate": 0.5}

    def chosen(self):
        return [0.5]


def of_a_property(x):
    Settings().options["rate"] = x.sum()
    return x * Settings().options["rate"]


def of_a_method(x):
    Settings().chosen().append(x.sum())
    return x * len(Settings().chosen())


@pytest.mark.parametrize("program", [of_a_property, of_a_method])
def test_what_a_function_of_the_program_makes_may_be_changed_at_once(program: Any) -> None:
    compiled = weft.compile(program)
    np.testing.assert_array_equal(compiled(X), program(X))
    assert not compiled._ran_plainly


def scaled(x):
    return x * globals()["SCALE"]


def shifted(x):
    shifts = globals()["SHIFTS"]
    shifts.append(2.0)
    return x + sum(shifts)


def test_items_of_the_globals_are_globals(monkeypatch: Any) -> None:
    for program in (scaled, shifted):
        compiled, results = weft.compile(program), []
        for function in (compiled, program):
            monkeypatch.setitem(globals(), "SCALE", 2.0)
            monkeypatch.setitem(globals(), "SHIFTS", [1.0])
            first = function(X)
            monkeypatch.setitem(globals(), "SCALE", 3.0)
            results.append([first.tolist(), function(X).tolist(), SHIFTS])
        assert results[0] == results[1]


ASKED = {
    "get": lambda x: x * globals().get("SCALE", 5.0),
    "__getitem__": lambda x: x * globals().__getitem__("SCALE"),
    "in": lambda x: x * 2 if "SCALE" in globals() else x,
    "not in": lambda x: x * 2 if "SCALE" not in globals() else x,
    "__contains__": lambda x: x * 2 if globals().__contains__("SCALE") else x,
    "vars": lambda x: x * vars(sys.modules[__name__]).get("SCALE", 5.0),
    "hasattr": lambda x: x * 2 if hasattr(sys.modules[__name__], "SCALE") else x,
    "getattr": lambda x: x * getattr(sys.modules[__name__], "SCALE", 5.0),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("values", [(2.0, 3.0, None, 3.0), (None, 2.0, None)])
def test_globals_that_are_asked_for_by_name_are_those_of_the_call(name: str, values: Any, monkeypatch: Any) -> None:
    program, results = ASKED[name], []
    compiled = weft.compile(program)
    for function in (compiled, program):
        for value in values:
            monkeypatch.setitem(globals(), "SCALE", value)
            if value is None:
                monkeypatch.delitem(globals(), "SCALE")
            results.append(repr(call(function, (X,))))
    assert results[: len(values)] == results[len(values) :]


@pytest.mark.parametrize(
    "program", [lambda x: x * len(globals()), lambda x: x * len([name for name in globals() if name == "SCALE"])]
)
def test_globals_are_not_read_as_a_whole(program: Any) -> None:
    with pytest.raises(CaptureError, match=r"all that globals\(\) holds is read at once"):
        weft.compile(program)(X)
