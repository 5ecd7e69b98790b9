"""Random numbers whose parameters take only some values: captured, drawn as the plain call draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from seen_state import seen

import weft
from programs._compare import assert_same, call

X = np.arange(1.0, 5.0)
PROGRAMS = {
    "choice with weights": lambda x: np.random.choice(x, p=x / x.sum()),
    "choice by position": lambda x: np.random.choice(len(x), 4, True, x / x.sum()),
    "choice without replacement": lambda x: np.random.choice(x, size=2, replace=False, p=x / x.sum()),
    "choice from a list": lambda x: np.random.choice([1, 2, 3, 4], p=list(x / x.sum())),
    "choice along an axis": lambda x: np.random.default_rng(3).choice(np.eye(4), 2, p=x / x.sum(), axis=1),
    "multinomial": lambda x: np.random.multinomial(5, x / x.sum(), size=3),
    "randint of arrays": lambda x: np.random.randint(x.astype(int), x.astype(int) + 5),
    "randint of numbers": lambda x: np.random.randint(int(x[0]), int(x[1]) + 9, size=(2, 3)),
    "integers": lambda x: np.random.default_rng(3).integers(x.astype(int), x.astype(int) + 5),
    "triangular": lambda x: np.random.triangular(x, x + 1, x + 2),
    "logseries": lambda x: np.random.logseries(x / 10),
    "zipf": lambda x: np.random.zipf(x + 1),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_draws_are_those_of_the_plain_call(program):
    compiled = weft.compile(program)
    for seed in (1, 2):
        np.random.seed(seed)
        expected = call(program, (X,))
        np.random.seed(seed)
        assert_same(call(compiled, (X,)), expected)
    assert not compiled._ran_plainly


@pytest.mark.filterwarnings("ignore:.*ran as plain Python")
def test_a_run_that_is_given_up_draws_again_from_where_it_began():
    def walk(steps):
        place = [np.random.rand(2) for _ in range(steps)]
        return np.array(place), np.random.rand()

    compiled = weft.compile(walk)
    for steps in (3, 2, 0, 4):
        np.random.seed(1)
        expected = call(walk, (steps,))
        np.random.seed(1)
        assert_same(call(compiled, (steps,)), expected)


def test_weights_that_do_not_fit_raise_as_in_the_plain_call():
    program = lambda x: np.random.choice(x, p=x)  # noqa: E731
    with pytest.raises(ValueError, match="probabilities do not sum to 1"):
        weft.compile(program)(X)


def scattered(x, state=None):
    if state is None:
        state = np.random
    return x + state.random_sample(2)


def scattered_in_one_line(x, state=None):
    state = np.random if state is None else state
    return x + state.uniform(0.0, 2.0)


@pytest.mark.parametrize("program", [scattered, scattered_in_one_line])
def test_a_generator_that_is_given_is_not_missing(program: Any) -> None:
    compiled = weft.compile(program)
    for seed in (3, None, 4):
        drawn = []
        for function in (program, compiled):
            np.random.seed(7)
            given = None if seed is None else np.random.RandomState(seed)
            drawn.append((function(np.ones(2), given), np.random.random(), given and given.random_sample()))
        np.testing.assert_array_equal(drawn[0][0], drawn[1][0])
        assert drawn[0][1:] == drawn[1][1:]


def whole_numbers(generator):
    if isinstance(generator, np.random.Generator):
        return generator.integers(9, size=3), hasattr(generator, "randint"), type(generator).__name__
    return generator.randint(9, size=3), hasattr(generator, "integers"), type(generator).__name__


def state_kept(generator):
    before = generator.bit_generator.state
    drawn = generator.random(2)
    generator.bit_generator.state = before
    return drawn, generator.random(2), generator._bit_generator.state["bit_generator"]


def of_children(generator):
    return [child.random(2) for child in generator.spawn(2)], generator.random()


def lacking(generator):
    try:
        return generator.numbers(3)
    except AttributeError:
        return generator.random(3)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_asked_what_they_are(make: Any) -> None:
    compiled = weft.compile(whole_numbers)
    within = weft.compile(lambda seed: whole_numbers(make(seed)))
    for seed in (0, 1):
        wanted = whole_numbers(make(seed))
        assert seen(compiled(make(seed))) == seen(wanted) == seen(within(seed))
        assert seen(compiled(np.random.RandomState(seed))) == seen(whole_numbers(np.random.RandomState(seed)))
    assert not compiled._ran_plainly
    assert not within._ran_plainly


@pytest.mark.parametrize("program", [state_kept, of_children, lacking])
def test_generators_have_what_is_theirs(program: Any) -> None:
    compiled = weft.compile(program)
    for seed in (0, 1):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        assert seen(compiled(one)) == seen(program(other))
        assert one.random() == other.random()
    assert not compiled._ran_plainly


def drawn_weights(x):
    weights = np.random.uniform(-1, 1, x.size).reshape(x.shape)
    for k in range(len(weights)):
        weights[k] += x[k]
    return weights


def drawn_row(x):
    row = np.random.default_rng(3).standard_normal((2, x.size)).reshape(-1)
    row[0] = x.sum()
    return row


def shuffled_numbers(x):
    table = np.random.permutation(x.size).reshape(x.shape)
    table[0] = 7
    return table


@pytest.mark.parametrize("program", [drawn_weights, drawn_row, shuffled_numbers])
def test_what_is_drawn_lies_in_order(program: Any) -> None:
    compiled = weft.compile(program)
    x = np.arange(4.0).reshape(2, 2)
    np.random.seed(1)
    expected = call(program, (x,))
    np.random.seed(1)
    assert_same(call(compiled, (x,)), expected)
    assert not compiled._ran_plainly


def shuffled_columns(x):
    flat = np.random.default_rng(3).permutation(x, axis=1).reshape(-1)
    flat[0] = 7
    return flat


def test_a_permutation_of_a_table_may_lie_otherwise() -> None:
    with pytest.raises(weft.errors.CaptureError, match="was reshaped before"):
        weft.compile(shuffled_columns)(np.arange(4.0).reshape(2, 2))


def drawn_into(x):
    drawn = np.random.default_rng(3).random(out=x)
    drawn[0] = 9
    return x.sum()


def drawn_into_by_position(x):
    np.random.default_rng(3).standard_normal(None, np.float64, x)
    return x.sum()


def permuted_in_place(x):
    np.random.default_rng(3).permuted(x, out=x)
    return x[0]


@pytest.mark.parametrize("program", [drawn_into, drawn_into_by_position, permuted_in_place])
@pytest.mark.parametrize("front_end", [weft.compile, weft.script])
def test_a_draw_into_an_array_changes_it(program: Any, front_end: Any) -> None:
    captured = front_end(program)
    for x in (np.arange(4.0), np.ones(6)):
        assert_same(call(captured, (x.copy(),)), call(program, (x.copy(),)), identity=True)


def test_a_draw_into_an_array_that_is_not_in_order_is_refused() -> None:
    x = np.arange(8.0)
    with pytest.raises(weft.errors.CaptureError, match="an array that may not lie in order"):
        weft.compile(drawn_into)(x[::2])
    assert x.tolist() == list(range(8))
