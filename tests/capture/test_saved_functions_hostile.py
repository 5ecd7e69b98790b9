"""Files of functions that somebody has changed: a sound function or a FileError, and nothing of the file is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from weft import _safetensors, nn, optim
from weft.errors import FileError
from weft.graph._save import digest

_watched: list[str] | None = None
_EVENTS = frozenset(
    {
        *("import", "open", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.remove", "os.rename", "os.putenv"),
        *("subprocess.Popen", "socket.connect", "shutil.rmtree", "ctypes.dlopen", "pickle.find_class", "marshal.loads"),
    }
)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _watched is not None and event in _EVENTS and not (event == "open" and args[1] in ("r", "rb")):
        _watched.append(f"{event} {args!r}")


sys.addaudithook(_audit)


@contextmanager
def nothing_reaches_out() -> Iterator[None]:
    """Fails where something was imported, a process started, or a file written or removed."""
    global _watched
    _watched = []
    try:
        yield
    finally:
        events, _watched = _watched, None
    assert events == []


def refused(path: Path, says: str) -> None:
    with nothing_reaches_out(), pytest.raises(FileError, match=says):
        weft.load(path)


class Counter:
    def __init__(self) -> None:
        self.steps = 0


def functions() -> list[Any]:
    """A function with branches on its arguments, one of Tensors with a backward, and a training step."""
    counter, rng, weights = Counter(), np.random.default_rng(0), np.arange(3.0)

    @weft.compile
    def plain(x, how="sum", *rest):
        counter.steps += 1
        if len(x) > 2 and how == "sum":
            x[0] = rng.normal()
        return {"a": x[:3] @ weights, "b": (rest, counter.steps)}

    plain(np.ones(3))
    plain(np.ones(4), "sum", {"c": [np.ones(2), None]})

    @weft.compile
    def taped(x):
        total = 0.0
        for i in range(len(x)):
            total = total + x[i] ** 2
        return total

    taped(weft.tensor([1.0, 2.0], requires_grad=True))
    model = nn.Linear(2, 1)
    optimizer = optim.Adam(model.parameters())
    schedule = optim.lr_scheduler.StepLR(optimizer, 2)

    @weft.compile
    def step(x):
        model.train()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    for _ in range(2):  # the second time there are gradients
        step(weft.tensor(np.ones((1, 2), np.float32)))
    return [plain, taped, step]


CALLS: list[Callable[[Any], Any]] = [
    lambda f: f(np.ones(3)),
    lambda f: f(weft.tensor([1.0, 2.0], requires_grad=True)),
    lambda f: f(weft.tensor(np.ones((1, 2), np.float32))),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, dict[str, Any]]]:
    """The structure and the arrays of each."""
    found = []
    for function, call in zip(functions(), CALLS, strict=True):
        path = tmp_path_factory.mktemp("saved") / "f.weft"
        function.save(path)
        call(weft.load(path))  # so that everything that loading and running import is there
        arrays, metadata = _safetensors.read(path)
        found.append((json.loads(metadata["weft"]), arrays))
    return found


def write(path: Path, structure: Any, arrays: dict[str, Any]) -> None:
    text = json.dumps(structure)
    _safetensors.write(path, arrays, {"weft": text, "weft_sha256": digest(text, arrays)})


def condition(test: Any) -> dict[str, Any]:
    return {"test": test, "says": "it", "now": None, "told": [], "plain": False, "basic": False}


def called(name: str, *args: Any) -> Any:
    return condition(["call", {"held": {"function": name}}, *args])


X, NAME = ["argument", 0], {"held": "__class__"}
CONDITIONS = [
    (called("os:system", {"held": "true"}), "os:system is not part of weft"),
    (called("builtins:eval", {"held": "1"}), "was not allowed"),
    (called("getattr", X, NAME), "private"),
    (called("getattr", X, {"held": "base"}), "harmless attribute"),
    (called("getattr", X, X), "one name that is known"),
    (called("setattr", X, NAME, X), "setattr writes"),
    (called("str.format", {"held": "{0.x}"}, X), "may read attributes"),
    (called("numpy.ndarray", {"held": 3}), "not a function to be called"),
    (called("weft.state.delete", X, {"held": "__dict__"}), "no public name"),
    (called("weft.state.set", X, X, X), "no public name"),
    (called("weft.state.set", X, {"held": "__class__"}, X), "no public name"),
    (condition(["call", {"held": 3}, X]), "what is no function"),
    (condition(["call", X, X]), "should be dict"),
    (condition(["call", {"check": "exec"}, X]), "what is no function"),
    (condition(["call"]), "0 parts"),
    (condition(["attribute", X, NAME]), "should be dict"),
    (condition(["attribute", {"held": 1}, {"held": "real"}]), "did not come with the file"),
    (condition(["attribute", {"held": {"object": 0}}, NAME]), "did not come with the file"),
    (condition(["attribute", {"held": {"object": 0}}]), "1 parts"),
    (condition(["get", X, NAME]), "unknown form"),
    (condition(["cell", X]), "unknown form"),
    (condition(["code", X]), "unknown form"),
    (condition(["x.__class__", X]), "unknown form"),
    (condition(["argument", 99]), "unknown argument"),
    (condition(["argument", "0"]), "unknown argument"),
    (condition(["argument", True]), "unknown argument"),
    (condition(["variable", 99]), "unknown variable"),
    (condition(["variable", "0 or print()"]), "unknown variable"),
    (condition(["size", X, "0"]), "impossible part"),
    (condition(["part", X, -1]), "impossible part"),
    (condition(["==", X]), "has 1 parts"),
    (condition("p0"), "should be list"),
    (condition({"held": {"function": "os:system"}}), "was not allowed"),
    (condition({"text": "p0"}), "unknown form"),
    ({"test": X}, "parts it should have"),
    ([0, None, ["argument", 7]], "unknown argument"),
    ([-1, None, X], "impossible number"),
    (["x", None, X], "impossible number"),
    ([0, 10**9, X], "impossible number"),
]


@pytest.mark.parametrize(("step", "says"), CONDITIONS)
def test_conditions_are_of_a_closed_vocabulary(step: Any, says: str, saved: Any, tmp_path: Path) -> None:
    structure, arrays = json.loads(json.dumps(saved[0][0])), saved[0][1]
    structure["function"]["entries"][0]["steps"].insert(0, step)
    write(tmp_path / "f", structure, arrays)
    refused(tmp_path / "f", says)


def test_conditions_are_not_nested_without_end(saved: Any, tmp_path: Path) -> None:
    structure, arrays = json.loads(json.dumps(saved[0][0])), saved[0][1]
    test: Any = X
    for _ in range(300):
        test = ["not", test]
    structure["function"]["entries"][0]["steps"].append(condition(test))
    write(tmp_path / "f", structure, arrays)
    refused(tmp_path / "f", "nested too deeply")


CHANGES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda f: f["parameters"][0].__setitem__(0, "x=print()"), "is not a name"),
    (lambda f: f["parameters"][0].__setitem__(0, "_weft_run"), "is no parameter"),
    (lambda f: f["parameters"][0].__setitem__(0, "how"), "not those of a function"),
    (lambda f: f["parameters"][0].__setitem__(1, 7), "is no parameter"),
    (lambda f: f["parameters"][1].__setitem__(2, [{"function": "os:system"}]), "was not allowed"),
    (lambda f: f["held"].extend([1] * 9), "more is bound to it"),
    (lambda f: f.__setitem__("name", 3), "should be str"),
    (lambda f: f.__setitem__("about", "\x1b[31m"), "no text for people"),
    (lambda f: f.__setitem__("more", 1), "parts it should have"),
    (lambda f: f["entries"].clear(), "has no graph|a graph that nothing uses"),
    (lambda f: f["entries"].append(f["entries"][0]), "missing, or is that of another"),
    (lambda f: f["entries"][0]["inputs"].pop(), "do not fit the placeholders"),
    (lambda f: f["entries"][0].__setitem__("parameters", 1), "other parameters"),
    (lambda f: f["state"].append(["s", {"object": 99}]), "there is no object 99"),
    (lambda f: f["objects"].append({"kind": "exec"}), "unknown kind"),
    (lambda f: f["objects"].append({"kind": "object", "class": "os:system", "attributes": {}}), "was not allowed"),
    (lambda f: f["objects"].append({"kind": "object", "class": "dict", "attributes": {}}), "neither an optimiser"),
    (lambda f: f["objects"].append({"kind": "space", "values": {"a b": 1}}), "is not a name"),
    (lambda f: f["objects"].append({"kind": "space", "values": {"__class__": 1}}), "holds what it cannot"),
    (lambda f: f["objects"].append({"kind": "generator", "state": {"bit_generator": "Generator"}}), "unknown kind"),
    (lambda f: f["objects"].append({"kind": "holder", "of": 3}), "holds what it cannot"),
    (lambda f: f["objects"].append({"kind": "was", "parts": {"tuple": []}}), "parts it should have"),
]


@pytest.mark.parametrize(("change", "says"), CHANGES)
def test_what_a_function_is_made_of(change: Any, says: str, saved: Any, tmp_path: Path) -> None:
    structure, arrays = json.loads(json.dumps(saved[0][0])), saved[0][1]
    change(structure["function"])
    write(tmp_path / "f", structure, arrays)
    refused(tmp_path / "f", says)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"_update": {"function": "print"}}, "cannot be held"),
        ({"__class__": 1}, "cannot be the name"),
        ({"step": 1}, "cannot be held"),
        ({"param_groups": {"list": [{"dict": [["params", {"list": [1]}]]}]}}, "does not hold what it should"),
        ({}, "does not hold what it should"),
    ],
)
def test_optimisers_hold_data(attributes: Any, says: str, saved: Any, tmp_path: Path) -> None:
    structure, arrays = json.loads(json.dumps(saved[2][0])), saved[2][1]
    structure["function"]["objects"].append({"kind": "object", "class": "weft.optim.SGD", "attributes": attributes})
    write(tmp_path / "f", structure, arrays)
    refused(tmp_path / "f", says)


WORDS = ["getattr", "os:system", "print", "x", "__class__", "argument", "held", "call", "weft.step.put", "numpy.sin"]
numbers = st.integers(-3, 9) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=2),
    max_leaves=8,
)


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from paths_in(part, (*path, key))


@given(st.data())
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_no_structure_gets_anything_but_a_function_or_a_file_error(
    saved: Any, tmp_path: Path, capfd: Any, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, 2), label="of")
    structure, arrays = json.loads(json.dumps(saved[number][0])), saved[number][1]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([one for one in paths_in(structure) if one[0] == "function"]), label="at")
        place = structure
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = data.draw(json_values, label="becomes")
    write(tmp_path / "f", structure, arrays)
    with nothing_reaches_out():
        try:
            loaded = weft.load(tmp_path / "f")
        except FileError:
            return
        for graph in loaded.graphs:
            graph.lint()
        with suppress(Exception):  # whatever it holds, it computes, or raises
            CALLS[number](loaded)
