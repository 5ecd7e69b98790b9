"""`weft.explain`, and what compiled functions report of themselves."""

from __future__ import annotations

import decimal
import functools
import re
import textwrap
from typing import Any

import numpy as np
import pytest

import weft


@pytest.fixture
def program(tmp_path: Any) -> Any:
    """A function that takes a text to the functions defined in it, and to a text with its file's name cut short."""

    class Program(dict[str, Any]):
        def explain(self, name: str, *args: Any, **kwargs: Any) -> weft.capture._explain.Explanation:
            return weft.explain(self[name], *args, **kwargs)

        def shown(self, text: Any) -> str:
            return str(text).replace(str(tmp_path / "program.py"), "program.py")

    def made(source: str) -> Program:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(source))
        space = Program(np=np, weft=weft, __name__="program")
        exec(compile(file.read_text(), str(file), "exec"), space)
        return space

    return made


def reasons(explanation: Any) -> list[tuple[int, str]]:
    return [(problem.line, problem.reason) for problem in explanation.problems]


SEVERAL = """\
# Five lines of it cannot be captured.

def several(x, n):
    unused = 0
    order = {v: 1 for v in x}
    open("a file")
    if x.sum() > 0:
        y = x[0]
        z = x
    else:
        y = x
        z = x.astype(int)
    total = 0
    for i in range(n):
        total = [total, x[i]]
    return order[0] + y + total, z
"""

GOLDEN = """\
several cannot be captured: 5 problems

1. program.py:5, in several
       order = {v: 1 for v in x}
               ^^^^^^^^^^^^^^^^^
   a dict by traced values
   help: use an array, or np.unique

2. program.py:6, in several
       open("a file")
       ^^^^^^^^^^^^^^
   open(): it would be called once, when the program is captured
   help: call it outside, and pass what it gives as an argument

3. program.py:7, in several
       if x.sum() > 0:
       ^^^^^^^^^^^^^^
   the two sides of the branch at line 7 disagree on y: a number of type float64 and an array float64[x_0] \
(at line 8 and at line 11)
   help: give it the same shape and dtype on both sides

4. program.py:7, in several
       if x.sum() > 0:
       ^^^^^^^^^^^^^^
   the two sides of the branch at line 7 disagree on z: an array float64[x_0] and an array int64[x_0] \
(at line 9 and at line 12)
   help: give it the same shape and dtype on both sides

5. program.py:14, in several
       for i in range(n):
       ^^^^^^^^^^^^^^^^^
   the loop at line 14 changes what total is: a number of type int before it, a list of 2 after an iteration (line 15)
   help: start with total of the type it has in the loop"""


def test_all_problems_are_told_at_once(program: Any) -> None:
    made = program(SEVERAL)
    found = made.explain("several", np.ones(3), 4)
    assert made.shown(found) == GOLDEN
    assert not found.captured
    assert found.graph is None
    first = found.problems[0]
    assert (first.line, first.column, first.text) == (5, 13, "order = {v: 1 for v in x}")
    assert first.help == "use an array, or np.unique"


def test_what_follows_from_a_problem_is_none(program: Any) -> None:
    made = program("""
        def f(x):
            key = hash(x)
            table = {key: x}
            for item in key:
                if item > 0:
                    break
            x[key] = 1
            a, *b = key
            while key > a:
                key -= 1
            return float(key), len(b), np.sum(key), f"{key}", table[key], key.shape[0] + {v: 1 for v in x}[0]
    """)
    found = made.explain("f", np.ones(3))
    assert [line for line, _ in reasons(found)] == [3, 12]
    assert reasons(found)[1][1] == "a dict by traced values"


def test_problems_in_helpers_comprehensions_and_expressions(program: Any) -> None:
    made = program("""
        def helper(v):
            return v.data, hash(v)

        def f(x):
            a, b = helper(x)
            c = [open(v) for v in x]
            return a + b, c, (open(x) if x[0] > 0 else "none"), x[0] > 0 and open(x)
    """)
    found = made.explain("f", np.ones(3))
    assert [(p.line, p.function, p.text[p.column - 5 :][:7]) for p in found.problems][1:3] == [
        (3, "helper", "hash(v)"),
        (7, "f", "open(v)"),
    ]
    assert [p.line for p in found.problems] == [3, 3, 7, 8, 8]


def test_one_problem_stands_for_a_whole_try(program: Any) -> None:
    made = program("""
        def f(x):
            try:
                a = x[0] + 1
                b = a * 2
            except ValueError:
                b = 0
            return b + hash(x)
    """)
    assert [line for line, _ in reasons(made.explain("f", np.ones(3)))] == [4, 8]


def test_a_variable_assigned_on_one_side_is_told_once(program: Any) -> None:
    made = program("""
        def f(x):
            if x[0] > 0:
                y = x
            z = y + 1
            return y + z + hash(x)
    """)
    found = reasons(made.explain("f", np.ones(3)))
    assert [line for line, _ in found] == [5, 6]
    assert found[0][1].startswith("y is assigned on one side of a branch only: at line 4")


def test_a_loop_that_can_be_written_out_is_no_problem(program: Any) -> None:
    made = program("""
        def f(x):
            parts = [x, x[0], 3.0]
            total = 0.0
            for k in range(20):
                total = [total, parts[k % 3]][1]
            return np.sum(total)

        def g(x):
            out = []
            for k in range(100):
                out.append(open(x[k]))
            return out

        def h(x):
            return f(x) + hash(x)
    """)
    found = made.explain("f", np.ones(3))
    assert found.problems == ()
    assert "line 5: for k in range(20):  written out, 20 steps, because: " in str(found)
    assert [line for line, _ in reasons(made.explain("g", np.ones(100)))] == [12]
    assert [line for line, _ in reasons(made.explain("h", np.ones(3)))] == [16]


def test_what_only_fixed_sizes_allow(program: Any) -> None:
    made = program("""
        def f(x, n):
            for i in range(n):
                x = [x, i]
            return x
    """)
    found = made.explain("f", np.ones(3), 2)
    assert found.captured
    assert [line for line, _ in reasons(found)] == [3]
    assert str(found).startswith("f is captured with its sizes and numbers fixed: ")
    assert "\n\nwith open sizes and numbers: 1 problem\n\n1. " in str(found)
    compiled = weft.compile(made["f"])
    assert compiled(np.ones(3), 2)[1] == 1
    assert str(compiled.explain()).startswith("f is captured with its sizes and numbers fixed: ")


CAPTURED = """\
@weft.wrap
def slow(x):
    return x

def program(x, n, out, mode="fast"):
    total = 0.0
    for i in range(n):
        total += x[i] ** 2
        if total > 3:
            break
    for k in range(3):
        out[k] = total
    if n > 3:
        total = total + np.random.rand()
    return slow(x) * total
"""

CAPTURED_GOLDEN = """\
  inputs
    x: float64[x_0]
    n: int
    out: float64[out_0]
    mode: fixed, 'fast'
  control flow
    line 7: for i in range(n):  a loop (while_loop)
    line 11: for k in range(3):  written out, 3 steps
  writes
    out
  random numbers
    line 14: total = total + np.random.rand()  drawn
  run as Python
    line 15: return slow(x) * total  slow, by weft.wrap
  valid while
    n > 3
    slow is the same object
    x and out are not one array
    x and out share no memory"""


def test_what_was_captured(program: Any) -> None:
    made = program(CAPTURED)
    x, out = np.ones(30), np.zeros(3)
    state = np.random.get_state()[1].tolist()
    found = made.explain("program", x, 4, out)
    assert found.captured
    assert found.problems == ()
    assert found.graph is not None
    lines = str(found).splitlines()
    assert lines[0].startswith("program is captured: ")
    told = [line for line in "\n".join(lines[1:]).split("\n  passes")[0].splitlines() if "both sides" not in line]
    assert "\n".join(told) == CAPTURED_GOLDEN
    assert out.tolist() == [0, 0, 0]
    assert np.random.get_state()[1].tolist() == state


def test_specs_are_arguments_too() -> None:
    found = weft.explain(lambda x: x.sum(), weft.spec((3, 4), np.float32))
    assert found.captured
    assert "x: float32[x_0, x_1]" in str(found)


def test_functions_that_cannot_be_captured_at_all(program: Any) -> None:
    made = program("""
        async def waits(x):
            return x

        def gives(x):
            yield x

        def fails(x):
            raise ValueError("no")

        def wrong(x):
            return x @ x[:, :2]
    """)
    waits = "a coroutine, which runs when it is awaited"
    gives = "a generator, which gives one value after the other"
    for name, line, what in (("waits", 2, waits), ("gives", 5, gives)):
        found = made.explain(name, np.ones(3))
        assert reasons(found) == [(line, f"{name} is {what}: a graph gives its result at once")]
    assert reasons(made.explain("fails", np.ones(3))) == [(9, "capturing it raises ValueError: no")]
    (line, reason), *_ = reasons(made.explain("wrong", np.ones((3, 4))))
    assert line == 12
    assert "ShapeError" in reason
    with pytest.raises(weft.errors.CaptureError, match="no source to capture"):
        weft.explain(len, [1])
    with pytest.raises(TypeError, match="fails"):
        made.explain("fails", 1, 2, 3)


def test_an_exception_of_code_that_takes_no_traced_values_is_a_problem(program: Any) -> None:
    made = program("""
        import decimal

        def f(x, n):
            exact = decimal.Decimal(n)
            return exact, hash(x)
    """)
    found = reasons(made.explain("f", np.ones(3), 3))
    assert [line for line, _ in found] == [5, 6]
    assert found[0][1] == "decimal.Decimal() of traced values, which it does not take"


# Compiled functions


def test_why_a_function_was_captured_again() -> None:
    @weft.compile
    def f(x: Any, n: int = 4, mode: str = "a", options: Any = ()) -> Any:
        y = x * n if n > 3 else x
        return y + len(options) + (mode == "a")

    x = np.ones((2, 3))
    f(x)
    f(x.astype(np.float32))
    f(x[0])
    f(x, n=2)
    f(x, mode="b")
    f(x, options=(1, 2))
    f(x, n=4.0)
    assert f.why_recompiled() == [
        "x has dtype float32, was float64",
        "ndim of x is 1, was 2",
        "n is 2, was 4: n > 3 no longer holds",
        "mode is 'b', was 'a'",
        "the structure of options is another",
        "the class of n is float, was int",
    ]


def test_why_names_sizes_that_were_fixed() -> None:
    f = weft.compile(lambda x: x * 2, dynamic=False)
    f(np.ones(3))
    f(np.ones(4))
    assert f.why_recompiled() == ["size 0 of x is 4, was 3"]


def test_a_default_before_a_container_of_several() -> None:
    @weft.compile
    def f(x: Any, n: int = 4, options: Any = ()) -> Any:
        return x * n + sum(options)

    assert f(np.ones(2), options=(1, 2)).tolist() == [7, 7]


def test_why_names_globals_closures_and_attributes(program: Any) -> None:
    made = program("""
        scale = 2.0

        class Model:
            rate = 0.1

        def build(offset):
            model = Model()

            def f(x):
                return x * scale + offset + model.rate

            def move(to):
                nonlocal offset
                offset = to

            return f, model, move
    """)
    plain, model, move = made["build"](1)
    f = weft.compile(plain)
    x = np.ones(2)
    f(x)
    made["scale"] = 3.0
    f(x)
    move(7)
    f(x)
    model.rate = 0.5
    np.testing.assert_array_equal(f(x), x * 3.0 + 7 + 0.5)
    assert f.why_recompiled() == [
        "scale is 3.0, was 2.0",
        "offset is 7, was 1",
        ".rate of a Model is 0.5, was 0.1",
    ]


def test_of_several_graphs_the_closest_is_compared_with() -> None:
    @weft.compile
    def f(x: Any, mode: str) -> Any:
        return x + (mode == "a")

    f(np.ones(3), "a")
    f(np.ones(3, np.float32), "a")
    f(np.ones(3), "b")
    assert f.why_recompiled()[1] == "mode is 'b', was 'a'"


def test_hits_and_misses() -> None:
    @weft.compile
    def f(x: Any) -> Any:
        return x * 2

    assert f.cache_info() == (0, 0, 0)
    for _ in range(5):
        f(np.ones(3))
    f(np.ones(3, np.float32))
    f(np.ones(3))
    assert f.cache_info() == (5, 2, 2)


def test_a_compiled_function_explains_its_graphs(program: Any) -> None:
    made = program(CAPTURED)
    f = weft.compile(made["program"])
    assert str(f.explain()).startswith("program was not called yet; weft.explain(f, *args) tells")
    x, out = np.ones(30), np.zeros(3)
    f(x, 4, out)
    f(x.astype(np.float32), 4, out)
    told = str(f.explain())
    assert told.startswith("program is captured as 2 graphs\n\ngraph 1: ")
    assert "\n\ngraph 2: " in told
    assert "  captured because\n    x has dtype float32, was float64\n  inputs\n    x: float32[x_0]" in told
    assert weft.explain(f, x, 4, out).captured


def test_calls_that_ran_as_plain_python_are_told() -> None:
    @weft.compile
    def f(x: Any, y: Any) -> Any:
        return x @ y

    for _ in range(2):
        with pytest.raises(ValueError, match="matmul"):
            f(np.ones((2, 3)), np.ones((2, 3)))
    told = str(f.explain())
    assert told.startswith("2 calls of f ran as plain Python: ShapeError: matmul: inner dimensions differ")
    assert "\n    return x @ y\n           ^^^^^\n" in told


def test_conditions_are_told_as_they_hold() -> None:
    f = weft.compile(lambda x, n: x[:n].sum() if n > 2 else x.sum())
    f(np.ones(6), 1), f(np.ones(6), 3)
    first, second = f.explain().graphs
    assert first.guards == ["n <= 2"] and second.guards[0] == "n > 2"
    assert f.why_recompiled() == ["n is 3, was 1: n > 2 holds now"]


# One kind of object, of whatever is asked


SCALE = 3.0
LAYER, RECURRENT = weft.nn.Linear(3, 2), weft.nn.LSTM(3, 2)


@weft.custom_vjp
def clipped(x: Any) -> Any:
    return np.clip(x, 0, 1)


clipped.defvjp(lambda x: (clipped(x), None), lambda kept, g: (g,))


def through_layers(x: Any) -> Any:
    hidden, _ = RECURRENT(x)
    return weft.nn.functional.mse_loss(weft.nn.functional.dropout(LAYER(x), 0.5), hidden)


def scanned(x: Any) -> Any:
    carry, rows = weft.scan(lambda c, v: (c + v, c * SCALE), np.zeros(3, np.float32), x[0])
    return carry.sum() + rows.sum()


def training_step(name: str) -> Any:
    optimizer = getattr(weft.optim, name)(LAYER.parameters(), lr=0.1)
    schedule = weft.optim.lr_scheduler.StepLR(optimizer, 2)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (LAYER(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    return step


def layers() -> dict[str, Any]:
    nn = weft.nn
    norms = (nn.BatchNorm1d(4), nn.LayerNorm(3), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4))
    many = (nn.Linear(3, 2), nn.LSTM(3, 2), nn.GRU(3, 2), nn.Conv1d(4, 2, 2), nn.Dropout(0.5), nn.AvgPool1d(2), *norms)
    attending = nn.TransformerEncoder(nn.TransformerEncoderLayer(3, 1, 4), 2)
    return {type(one).__name__: one for one in (*many, attending, nn.Sequential(nn.Linear(3, 3), nn.ReLU()))}


EXPLAINED: dict[str, Any] = {
    "function": lambda x: np.sin(x) * SCALE,
    "through layers": through_layers,
    "scan": scanned,
    "custom_vjp": lambda x: clipped(x).sum(),
    "loop": lambda x: weft.fori_loop(0, 5, lambda i, a: a + i, x),
    "apply_along_axis": lambda x: np.apply_along_axis(lambda row: row.sum(), 0, x),
    "grad of a scan": weft.grad(scanned),
    "grad of custom_vjp": weft.grad(lambda x: clipped(x).sum()),
    "grad through layers": weft.grad(through_layers),
    "vmap of grad": weft.vmap(weft.grad(lambda x: (x**SCALE).sum())),
    "checkpoint": weft.grad(lambda x: weft.autograd.checkpoint(lambda y: np.sin(y).sum(), x)),
    **{name: training_step(name) for name in ("SGD", "Adam", "RMSprop", "Adagrad", "Lion")},
    **layers(),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_explanations_are_of_one_kind_and_name_no_line_of_weft(name: str) -> None:
    function, x = EXPLAINED[name], np.ones((4, 4, 3), np.float32)
    given = weft.tensor(x) if isinstance(function, weft.nn.Module) or "step" in str(function) else x
    compiled = weft.compile(function)
    with np.errstate(all="ignore"):
        compiled(given)
    beforehand, afterwards = weft.explain(function, given), compiled.explain()
    assert type(beforehand) is type(afterwards) is type(weft.explain(compiled))
    assert afterwards.captured and beforehand.captured and not afterwards.plain
    assert repr(afterwards) == str(afterwards) and afterwards.graph is compiled.graph
    with open(__file__) as file:
        lines = {number: line.strip() for number, line in enumerate(file, 1)}
    for told in (beforehand, afterwards):
        text = str(told)
        for number, shown in re.findall(r"^ +line (\d+): (.*)", text, re.MULTILINE):
            assert shown.startswith(lines[int(number)]), shown
        assert not re.search(r"src/weft|\b_\w+ (of|is)\b|\b(move|Spec|no_grad|blocks) is the same", text), text
        guards = told.graphs[0].guards
        assert guards == list(dict.fromkeys(guards)) and len(guards) < 20
        assert all(f"    {guard}" in text for guard in guards)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (weft.grad(scanned), "grad of scanned"),
        (weft.vmap(weft.grad(scanned)), "vmap of grad of scanned"),
        (LAYER, "Linear"),
        (functools.partial(scanned), "scanned"),
        (lambda x: x, "<lambda>"),
    ],
)
def test_explanations_call_a_function_by_its_name(function: Any, name: str) -> None:
    assert weft.compile(function).explain().name == name
    assert str(weft.compile(function).explain()).startswith(f"{name} was not called yet")


def test_a_call_that_ran_plainly_is_told_with_its_line() -> None:
    @weft.compile
    def exact(x: Any) -> Any:
        return decimal.Decimal(x[0]) * 2

    with pytest.warns(UserWarning, match="exact was not captured"):
        assert exact(np.ones(2)) == 2
    ((why, count),) = exact.explain().plain.items()
    assert count == 1 and why.startswith("TypeError: ") and ", in exact\n    return decimal.Decimal(x[0]) * 2" in why


def test_a_loaded_function_is_explained_as_others(tmp_path: Any) -> None:
    f = weft.compile(lambda x: x + SCALE)
    f(np.ones(3)), f(1)
    f.save(tmp_path / "f.weft")
    loaded = weft.load(tmp_path / "f.weft")
    assert [one.inputs for one in loaded.explain().graphs] == [["x: float64[x_0]"], ["x: int"]]
    assert weft.explain(loaded, 2).captured
    (problem,) = weft.explain(loaded, 2.0).problems
    assert "no saved graph is for this call" in problem.reason


def test_wrong_input_of_a_layer_is_told_at_the_line_that_asks() -> None:
    (problem,) = weft.explain(LAYER, np.ones((2, 5), np.float32)).problems
    assert problem.text.startswith("(problem,) = weft.explain(LAYER")


# Random numbers from outside, which a report lists


GENERATOR = np.random.default_rng(0)


def draws(x: Any) -> Any:
    total = np.random.rand()
    for i in range(len(x)):
        total += x[i] * np.random.normal() + GENERATOR.random()
    np.random.shuffle(x)
    return total + GENERATOR.standard_normal(3)


def test_generators_from_outside_draw_in_every_call() -> None:
    def outcome(function: Any) -> list[Any]:
        np.random.seed(5)
        GENERATOR.bit_generator.state = state
        arrays = [np.arange(4.0) for _ in range(3)]
        return [*(function(array) for array in arrays), *arrays]

    state = GENERATOR.bit_generator.state
    compiled = weft.compile(draws)
    for got, wanted in zip(outcome(compiled), outcome(draws), strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert compiled.cache_info().misses == 1


def test_conditions_are_told_as_a_person_says_them() -> None:
    class Filter:
        gain = 2.0

        def __call__(self, x: Any, *, order: int = 3) -> Any:
            return x * self.gain * order

    told = str(weft.explain(Filter(), np.ones(3)))
    assert "    self.gain is 2.0" in told and "    the default of order is 3" in told
    layer = weft.nn.Linear(3, 2)
    for optimiser, said in (
        (weft.optim.SGD(layer.parameters(), lr=0.1), "bool(weight_decay) is False"),
        (weft.optim.AdamW(layer.parameters()), "!= 1 is True"),
    ):

        @weft.compile
        def step(x: Any, optimiser: Any = optimiser) -> Any:
            optimiser.zero_grad()
            loss = layer(x).sum()
            loss.backward()
            optimiser.step()
            return loss

        step(weft.tensor(np.ones((4, 3), np.float32)))
        told = str(step.explain())
        assert said in told and "not_" not in told and "ne is" not in told, told
