"""Draws in captured graphs: recorded, never constants, with the eager numbers, kept by every edit, saved and loaded."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft import nn, random
from weft.errors import FileError
from weft.ops import TABLE, spec_of
from weft.random import Generator

x = np.arange(6.0).reshape(3, 2)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda x: x + random.uniform((3, 2)),
    "float32": lambda x: x + random.uniform((3, 2), -1, 1, dtype=np.float32),
    "normal": lambda x: x + random.normal(x.shape),
    "a dimension": lambda x: random.normal((x.shape[0], 4), dtype="float32"),
    "parameters": lambda x: random.normal(mean=x, std=2.0) * random.uniform(None, x, x + 1),
    "an array": lambda x: x * random.normal(mean=np.ones(2)),
    "a tensor": lambda x: x * random.bernoulli(weft.tensor([0.5, 0.5]), (3, 2)),
    "like": lambda x: weft.rand_like(x) + weft.randn_like(x),
    "torch": lambda x: weft.rand(3, 2) * x + weft.randn(2) + weft.randint(5, (2,)),
    "nothing traced": lambda x: (random.exponential((3,)), random.gumbel((2,)), random.truncated_normal((4,))),
    "others": lambda x: (random.gamma(2.0, shape=(3,)), random.beta(1.0, 2.0), random.poisson(30.0, (2,))),
    "of traced": lambda x: (random.gamma(x + 1), random.poisson(x), random.bernoulli(x / 6)),
    "orders": lambda x: (random.permutation(x, 0), random.permutation(5), weft.randperm(x.shape[0])),
    "choices": lambda x: (random.choice(x, (2,)), random.choice(4, (2,), False, p=np.ones(4)), random.choice(3)),
    "rows": lambda x: (weft.multinomial(x + 1, 1), random.categorical(x, (4,)), random.integers(0, 9, (3,))),
    "dropout": lambda x: weft.dropout(x, 0.5),
    "dropout of a constant": lambda x: x * weft.dropout(np.ones((3, 2)), 0.5),
    "attention": lambda x: weft.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
}


def same(found: Any, expected: Any) -> None:
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
        assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_draws_what_the_program_draws(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    with random.isolated(0):
        before = random.get_state()
        captured = weft.symbolic_trace(program)
        assert random.get_state().tolist() == before.tolist(), "nothing is drawn while tracing"
    captured.graph.lint()
    drawing = [n for n in captured.graph.nodes if n.op == "call_function" and getattr(n.target, "random", False)]
    assert drawing and all(node.is_impure() for node in drawing)
    captured.save(tmp_path / "saved")
    ways = [captured, weft.load(tmp_path / "saved"), copy.deepcopy(captured), pickle.loads(pickle.dumps(captured))]
    ways.append(weft.Interpreter(captured).run)
    with random.isolated(7):
        expected = [program(x), program(x)]
        end = random.current().position
    same_twice = all(np.array_equal(a, b) for a, b in zip(*map(np.atleast_1d, map(_first, expected)), strict=True))
    assert not same_twice, "each run draws anew"
    for run in ways:
        with random.isolated(7):
            same(run(x), expected[0])
            same(run(x), expected[1])
            assert random.current().position == end


def _first(result: Any) -> Any:
    return np.concatenate(
        [np.asarray(r, float).reshape(-1) for r in (result if isinstance(result, tuple) else [result])]
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_describing_draws_nothing(name: str) -> None:
    captured = weft.symbolic_trace(PROGRAMS[name])
    with random.isolated(7):
        described = captured.graph.infer(weft.spec((3, 2)))
        assert random.current().position == 0
        drawn = captured(x)
    as_specs = lambda v: tuple(map(spec_of, v)) if isinstance(v, tuple) else spec_of(v)  # noqa: E731  # said once
    assert as_specs(described) == as_specs(drawn)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_function_draws_what_the_program_draws(name: str) -> None:
    compiled = weft.compile(PROGRAMS[name])
    with random.isolated(7):
        expected = [PROGRAMS[name](x), PROGRAMS[name](x)]
        end = random.current().position
    with random.isolated(7):
        same(compiled(x), expected[0])
        same(compiled(x), expected[1])
        assert random.current().position == end


def test_a_gradient_draws_anew_in_each_call() -> None:
    slope = weft.grad(lambda x: (x * weft.randn(3, 2)).sum())
    with random.isolated(7):
        found = [slope(x), slope(x)]
    with random.isolated(7):
        same(tuple(found), (weft.randn(3, 2), weft.randn(3, 2)))


def test_a_draw_nobody_reads_is_kept() -> None:
    def program(x: Any) -> Any:
        random.normal((3,))
        return x + random.normal((3, 2))

    captured = weft.symbolic_trace(program)
    captured.graph.eliminate_dead_code()
    captured.recompile()
    with random.isolated(1):
        expected = program(x)
    with random.isolated(1):
        np.testing.assert_array_equal(captured(x), expected)


def test_the_code_says_what_is_drawn() -> None:
    captured = weft.symbolic_trace(lambda x: x + random.normal((3,), 0.0, 2.0))
    assert "normal = weft.random.normal((3,), 0.0, 2.0)" in captured.code
    (node,) = captured.graph.find_nodes(op="call_function", target=random.normal)
    assert "test_captured.py" in str(node.location)


def test_with_a_generator_of_its_own(tmp_path: Path) -> None:
    mine = Generator(3)
    captured = weft.symbolic_trace(lambda x: x * random.normal((2,), generator=mine))
    assert mine.position == 0
    with random.isolated(0):
        first, second = captured(np.ones(2)), captured(np.ones(2))
        assert random.current().position == 0
    assert mine.position == 4
    again = Generator(3)
    np.testing.assert_array_equal(first, random.normal((2,), generator=again))
    np.testing.assert_array_equal(second, random.normal((2,), generator=again))
    np.testing.assert_array_equal(copy.deepcopy(captured)(np.ones(2)), random.normal((2,), generator=again))
    pickled = pickle.loads(pickle.dumps(captured))
    np.testing.assert_array_equal(pickled(np.ones(2)), captured(np.ones(2)))
    with pytest.raises(FileError, match=r"node normal .*weft\.random\.Generator cannot be saved"):
        captured.save(tmp_path / "saved")


def test_modules_made_while_tracing_are_constants() -> None:
    def program(x: Any) -> Any:
        return nn.Linear(2, 2)(x)

    with random.isolated(1):
        captured = weft.symbolic_trace(program)
        assert not any(getattr(n.target, "random", False) for n in captured.graph.nodes)


def test_what_does_not_draw_is_computed_while_tracing() -> None:
    captured = weft.symbolic_trace(lambda x: x * weft.dropout(np.ones((3, 2)), 0.5, training=False))
    assert not [n for n in captured.graph.nodes if n.target is weft.dropout]


def test_wrong_arguments_fail_on_their_line() -> None:
    with pytest.raises(TypeError, match="spread"):
        weft.symbolic_trace(lambda x: x + random.normal((3,), spread=2))


def test_every_op_of_the_room_says_that_it_draws() -> None:
    ops = [op for op in TABLE.values() if op.__module__ == "weft.random"]
    assert len(ops) == 23
    assert all(op.random is True for op in ops)


def test_seeding_in_a_compiled_function_happens_each_time() -> None:
    @weft.compile
    def program(x: Any) -> Any:
        weft.manual_seed(3)
        return x + random.uniform((2,))

    with random.isolated(1):
        first = program(np.zeros(2))
        weft.manual_seed(9)
        np.testing.assert_array_equal(program(np.zeros(2)), first)
        weft.manual_seed(3)
        np.testing.assert_array_equal(random.uniform((2,)), first)


def test_a_generator_for_a_part_of_a_compiled_function_is_refused() -> None:
    @weft.compile
    def program(x: Any) -> Any:
        with random.isolated(3):
            return x + random.uniform((2,))

    with pytest.raises(weft.errors.CaptureError, match=r"(?s)isolated would take effect when .* captured.*around"):
        program(np.zeros(2))
