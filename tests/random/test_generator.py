"""Generators: the stream against a Philox written here, splitting, states, threads, contexts, processes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from scipy import stats

import weft
from weft import random
from weft.random import Generator

WORD = (1 << 64) - 1


def philox(key: list[int], counter: int) -> list[int]:
    """One block of Philox 4x64-10 (Salmon et al., 2011), in Python's integers."""
    x = [counter >> (64 * i) & WORD for i in range(4)]
    k = list(key)
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * x[0], 0xCA5A826395121157 * x[2]
        x = [(b >> 64) ^ x[1] ^ k[0], b & WORD, (a >> 64) ^ x[3] ^ k[1], a & WORD]
        k = [(k[0] + 0x9E3779B97F4A7C15) & WORD, (k[1] + 0xBB67AE8584CAA73B) & WORD]
    return x


def key_of(seed: int) -> list[int]:
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(2, np.uint64)]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1, 2**128 - 1])
def test_the_stream_is_the_one_documented(seed: int) -> None:
    expected = [word for block in (1, 2, 3) for word in philox(key_of(seed), block)]
    assert Generator(seed).words(12).tolist() == expected


def test_golden_words() -> None:
    assert Generator(0).words(2).tolist() == [259491006799949737, 4754966410622352325]


def test_derived_generators_are_the_ones_documented() -> None:
    g = Generator(5)
    key = key_of(5)
    for tag, made in ((1, g.split(3)), (2, [g.fold_in(i) for i in range(3)])):
        for i, child in enumerate(made):
            low, high = philox(key, (i + 1) | tag << 192)[:2]
            assert child.initial_seed() == low | high << 64


def test_splitting_leaves_the_stream_alone_and_never_repeats() -> None:
    g = Generator(5)
    before = g.words(3)
    first, second = g.split(2), g.split(2)
    assert len({child.initial_seed() for child in (*first, *second)}) == 4
    plain = Generator(5)
    plain.words(3)
    np.testing.assert_array_equal(g.words(3), plain.words(3))
    assert [c.initial_seed() for c in Generator(5).split(4)] == [c.initial_seed() for c in (*first, *second)]
    assert before.tolist() == Generator(5).words(3).tolist()
    first[0].words(10)
    assert second[0].position == 0


def test_folding_in_depends_on_the_seed_and_the_number_alone() -> None:
    g = Generator(5)
    made = g.fold_in(3)
    g.words(9)
    g.split(2)
    assert g.fold_in(3).initial_seed() == made.initial_seed()
    assert len({g.fold_in(i).initial_seed() for i in (0, 1, 2, WORD, WORD + 1, 2**128 - 1)}) == 6
    assert made.fold_in(1).initial_seed() != g.fold_in(1).initial_seed()


def test_split_streams_are_independent() -> None:
    parent = Generator(1)
    drawn = np.stack([random.normal((4000,), generator=g) for g in (parent, *parent.split(6), parent.fold_in(0))])
    correlation = np.corrcoef(drawn)[np.triu_indices(8, 1)]
    # Correlations of independent samples have a standard deviation of 1 / sqrt(4000): five of them.
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)
    assert stats.kstest(drawn.sum(0) / np.sqrt(8), "norm").pvalue > 1e-4
    # Across children as along one: the first number of each of many is as random.
    first = [float(random.uniform((), generator=g)) for g in Generator(2).split(4000)]
    assert stats.kstest(first, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 5 / np.sqrt(4000)


@pytest.mark.parametrize("already", range(6))
@pytest.mark.parametrize("skipped", [0, 1, 2, 3, 4, 5, 1000, 2**70])
def test_jumping_is_drawing_and_forgetting(already: int, skipped: int) -> None:
    g = Generator(3)
    g.words(already)
    expected = [philox(key_of(3), 1 + i // 4)[i % 4] for i in range(already + skipped, already + skipped + 9)]
    assert g.jump(skipped) is g and g.position == already + skipped
    assert g.words(9).tolist() == expected
    assert g.position == already + skipped + 9


def test_half_a_word_of_numpys_is_kept() -> None:
    g, plain = Generator(3), Generator(3)
    halves = [g.numpy.random(dtype=np.float32), g.jump(5).numpy.random(dtype=np.float32)]
    assert halves == plain.numpy.random(2, dtype=np.float32).tolist()
    assert g.words(1)[0] == Generator(3).words(7)[6]


@pytest.mark.parametrize("drawn", range(6))
def test_a_state_goes_on_bit_for_bit(drawn: int) -> None:
    g = Generator(9)
    g.split(2)
    g.words(drawn)
    g.numpy.random(dtype=np.float32)  # leaves half a word
    state = g.get_state()
    assert state.dtype == np.uint64 and state.ndim == 1
    expected = (g.numpy.random(3, dtype=np.float32).tolist(), g.words(5).tolist(), g.split(1)[0].initial_seed())
    others = [Generator(1), pickle.loads(pickle.dumps(g)), copy.deepcopy(g), g.clone()]
    for other in others:
        assert other.get_state().tolist() == g.get_state().tolist() or other is others[0]
        other.set_state(state)
        found = (other.numpy.random(3, dtype=np.float32).tolist(), other.words(5).tolist())
        assert (*found, other.split(1)[0].initial_seed()) == expected
        assert other.initial_seed() == 9
        other.set_state(state.tolist())  # as a file may give it
        assert other.get_state().tolist() == state.tolist()


def test_a_state_that_is_none_is_refused_and_changes_nothing() -> None:
    g = Generator(9)
    state = g.get_state()
    bad: list[Any] = [state[:-1], state.astype(np.float64), np.zeros(13, np.uint64), "state", None]
    for field, value in ((0, 9), (9, 7), (9, 2), (10, 5), (11, 1 << 40)):
        damaged = state.copy()
        damaged[field] = value
        bad.append(damaged)
    for wrong in bad:
        with pytest.raises(ValueError, match="set_state"):
            g.set_state(wrong)
        assert g.get_state().tolist() == state.tolist()


def test_a_state_survives_a_file(tmp_path: Any) -> None:
    with random.isolated(4):
        random.normal((3,))
        np.save(tmp_path / "state.npy", random.get_state())
        expected = random.normal((3,))
        random.manual_seed(1)
        random.set_state(np.load(tmp_path / "state.npy"))
        np.testing.assert_array_equal(random.normal((3,)), expected)


def test_seeding() -> None:
    g = Generator(4)
    held = g.numpy
    first = g.words(3).tolist()
    assert g.manual_seed(4) is g and g.words(3).tolist() == first and g.numpy is held
    assert g.manual_seed(np.int64(5)).initial_seed() == 5 and type(g.initial_seed()) is int
    assert g.seed() == g.initial_seed() != 5
    assert Generator().initial_seed() != Generator().initial_seed()
    assert repr(Generator(3)) == "Generator(seed=3, position=0)"
    for wrong in (-1, 2**128):
        with pytest.raises(ValueError, match="seed is at least 0 and below 2"):
            Generator(wrong)
    for wrong in (1.0, "1", True):
        with pytest.raises(TypeError, match="seed is a whole number"):
            g.manual_seed(wrong)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ValueError, match="number of generators"):
        g.split(-1)
    with pytest.raises(ValueError, match="data is at least 0"):
        g.fold_in(-1)


def test_numpy_draws_from_the_same_stream() -> None:
    with random.isolated(2) as held:
        assert held is random.generator() and held is random.current().numpy
        a = random.generator().random(3)
        b = random.uniform((3,))
    with random.isolated(2):
        np.testing.assert_array_equal(np.concatenate([a, b]), random.uniform((6,)))
    np.testing.assert_array_equal(np.random.Generator(np.random.Philox(2)).random(3), a)


def test_the_current_generator() -> None:
    with random.isolated(1):
        assert random.initial_seed() == 1
        weft.manual_seed(2)
        assert random.initial_seed() == 2 and [g.initial_seed() for g in random.split(2)] == [
            g.initial_seed() for g in Generator(2).split(2)
        ]
        assert random.seed() == random.initial_seed()
    mine = Generator(8)
    with random.isolated(mine):
        assert random.current() is mine
        random.normal((3,))
    assert mine.position == 4


def test_threads_that_share_a_generator_share_no_numbers() -> None:
    drawn: list[Any] = []
    with random.isolated(0):
        shared = random.current()
        start = threading.Barrier(4)

        def draw() -> None:
            start.wait()
            for _ in range(50):
                drawn.append(random.uniform((100,), generator=shared))
                random.gamma(2.0, shape=(3,), generator=shared)  # sets words aside
                shared.split(2)

        threads = [threading.Thread(target=draw) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(np.unique(np.concatenate(drawn))) == 4 * 50 * 100
    reserved = 3 + 16 * (4 + 3)
    assert shared.position == 4 * 50 * (100 + reserved)
    assert shared.get_state()[-1] == 4 * 50 * 2


def test_threads_isolated_do_not_disturb_each_other() -> None:
    found: dict[int, Any] = {}
    start = threading.Barrier(3)

    def draw(seed: int) -> None:
        with random.isolated(seed):
            start.wait()
            found[seed] = [random.normal((5,)) for _ in range(40)]

    threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in range(3):
        with random.isolated(seed):
            np.testing.assert_array_equal(found[seed], [random.normal((5,)) for _ in range(40)])


def test_another_process_draws_the_same() -> None:
    code = "import weft; weft.manual_seed(3); print(weft.randn(3).tobytes().hex(), weft.randint(9, (3,)).tolist())"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    with random.isolated(3):
        assert printed.strip() == f"{weft.randn(3).tobytes().hex()} {weft.randint(9, (3,)).tolist()}"
