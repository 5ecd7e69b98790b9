"""Steps on arrays, against indexing by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft import data
from weft.data import pipeline

quick = settings(derandomize=True, deadline=None, max_examples=50)
LEADING = [(), (3,), (2, 3)]


def image(*shape: int) -> Any:
    return np.arange(np.prod(shape)).reshape(shape)


@pytest.mark.parametrize("leading", LEADING)
def test_crop(leading: tuple[int, ...]) -> None:
    x = image(*leading, 5, 8)
    np.testing.assert_array_equal(data.crop(x, (3, 4)), x[..., 1:4, 2:6])
    np.testing.assert_array_equal(data.crop(x, 2), x[..., 1:3, 3:5])
    np.testing.assert_array_equal(data.crop(x, (5, 8)), x)
    np.testing.assert_array_equal(data.crop(x, (2, 3), at=(3, 5)), x[..., 3:, 5:])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.crop(image(3, 3), 4), r"crop: \(4, 4\) is larger than the image, \(3, 3\)\n  help: pad"),
        (lambda: data.crop(image(3, 3), 2, at=(2, 0)), r"\(2, 2\) at \(2, 0\) is not inside an image of \(3, 3\)"),
        (lambda: data.crop(image(3, 3), 2, at=(0, -1)), "is not inside"),
        (lambda: data.crop(image(3, 3), 2, at="corner"), "at is 'centre' or"),
        (lambda: data.crop(image(3, 3), -1), "not negative"),
        (lambda: data.crop(image(3), 1), r"at least two axes \(height, width\), got shape \(3,\)"),
        (lambda: data.pad(image(3), 1), "pad: an image has at least two axes"),
        (lambda: data.flip(image(3)), "flip: an image has at least two axes"),
        (lambda: data.pad(image(3, 3), (1, 2, 3)), "1, 2 or 4 numbers"),
        (lambda: data.normalise(image(2, 3, 3), [1, 2, 3], 1), r"mean has shape \(3,\), expected one number, or one a"),
        (lambda: data.normalise(image(3, 3), 0, [1, 2, 3]), r"std has shape \(3,\)"),
        (lambda: data.normalise(image(3, 3), 0, 0), "std has a zero"),
        (lambda: data.one_hot([0, 3], 3), "labels from 0 to 3 for 3 classes"),
        (lambda: data.one_hot([-1], 3), "labels from -1 to -1"),
        (lambda: data.one_hot([0.5], 3), "labels are whole numbers, got float64"),
    ],
)
def test_what_does_not_fit(call: Any, message: str) -> None:
    with pytest.raises((ValueError, IndexError, TypeError), match=message):
        call()


@pytest.mark.parametrize("leading", LEADING)
def test_pad(leading: tuple[int, ...]) -> None:
    x = image(*leading, 2, 3)
    around = np.full((*leading, 4, 5), 9)
    around[..., 1:3, 1:4] = x
    np.testing.assert_array_equal(data.pad(x, 1, value=9), around)
    rows = np.zeros((*leading, 6, 3))
    rows[..., 2:4, :] = x
    np.testing.assert_array_equal(data.pad(x, (2, 0)), rows)
    sides = np.zeros((*leading, 3, 8))
    sides[..., 1:, 2:5] = x
    np.testing.assert_array_equal(data.pad(x, (1, 0, 2, 3)), sides)
    np.testing.assert_array_equal(data.pad(x, (0, 1), mode="edge"), x[..., [0, 0, 1, 2, 2]])
    assert data.pad(x, 1).dtype == x.dtype


def test_flip_and_tile() -> None:
    x = image(2, 3, 4)
    np.testing.assert_array_equal(data.flip(x), x[..., ::-1])
    np.testing.assert_array_equal(data.flip(x, -2), x[..., ::-1, :])
    np.testing.assert_array_equal(data.flip(x, (-2, -1)), x[..., ::-1, ::-1])
    np.testing.assert_array_equal(data.tile(x, 2), np.concatenate([x, x], -1))
    np.testing.assert_array_equal(data.tile(x, (3, 1)), np.concatenate([x] * 3, -2))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.float16])
def test_normalise(dtype: Any) -> None:
    x = image(2, 3, 4, 5).astype(dtype)
    out = data.normalise(x, [1, 2, 3], [4, 5, 6])
    assert out.dtype == (np.float32 if dtype is np.uint8 else dtype)
    for channel in range(3):
        by_hand = (x[:, channel].astype(np.float64) - (channel + 1)) / (channel + 4)
        np.testing.assert_allclose(out[:, channel], by_hand, rtol=2e-3 if dtype is np.float16 else 1e-6)
    np.testing.assert_allclose(data.normalise(x[0, 0], 2, 4), (x[0, 0].astype(float) - 2) / 4, rtol=1e-6)


@quick
@given(st.lists(st.integers(0, 6), max_size=5), st.integers(7, 9))
def test_one_hot(labels: list[int], classes: int) -> None:
    rows = data.one_hot(np.array(labels, int), classes)
    assert rows.shape == (len(labels), classes) and rows.dtype == np.float32
    assert rows.argmax(1).tolist() == labels and (rows.sum(1) == 1).all()
    assert data.one_hot(3, 4, dtype=bool).tolist() == [False, False, False, True]


def test_tensors_are_taken_too() -> None:
    t = weft.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert type(data.flip(t)) is np.ndarray
    assert data.crop(t, 1).tolist() == [[1]]
    assert data.one_hot(weft.tensor([1]), 2).tolist() == [[0, 1]]


# As steps


@quick
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32), st.integers(0, 3))
def test_random_crops(height: int, width: int, seed: int, epoch: int) -> None:
    x = image(2, 6, 6)
    steps = pipeline([x] * 5).crop((height, width), at="random", seed=seed)
    out = list(steps.at_epoch(epoch))
    for part in out:
        # The first number says where the part was taken from.
        top, left = divmod(int(part[0, 0, 0]), 6)
        np.testing.assert_array_equal(part, x[:, top : top + height, left : left + width])
    np.testing.assert_array_equal(out, list(steps.at_epoch(epoch)))
    assert len(steps) == 5


def test_random_steps_reach_everything_evenly() -> None:
    x = image(3, 4)
    corners = [tuple(part.ravel()) for part in pipeline([x] * 1200).crop((2, 2), at="random", seed=0)]
    # 200 expected of each of the six places, standard deviation 13: five of them allowed.
    assert len(set(corners)) == 6
    assert all(abs(corners.count(corner) - 200) < 65 for corner in set(corners))
    flipped = [part[0, 0] == 3 for part in pipeline([x] * 1000).flip(p=0.3, seed=0)]
    # 300 expected, standard deviation 14.5.
    assert abs(sum(flipped) - 300) < 75
    assert all(part[0, 0] == 3 for part in pipeline([x] * 10).flip())
    assert all(part[0, 0] == 0 for part in pipeline([x] * 10).flip(p=0.0))


def test_a_draw_belongs_to_the_element() -> None:
    x = image(8, 8)
    steps = pipeline([x] * 20).crop(2, at="random", seed=4)
    whole = [part.tolist() for part in steps]
    assert [part.tolist() for part in steps.skip(7)] == whole[7:]
    assert [part.tolist() for part in steps.prefetch(3)] == whole
    assert [part.tolist() for part in steps.at_epoch(1)] != whole
    assert [part.tolist() for part in pipeline([x] * 20).crop(2, at="random", seed=5)] != whole
    twice = pipeline([x] * 100).flip(-1, p=0.5, seed=4).flip(-2, p=0.5, seed=4)
    assert len({part[0, 0] for part in twice}) == 4, "two steps of one seed draw on their own"


def test_an_image_and_its_mask_are_changed_alike() -> None:
    x = image(8, 8)
    pairs = [{"image": x, "mask": x + 100, "label": i} for i in range(20)]
    steps = pipeline(pairs).crop(3, at="random", seed=1, on=("image", "mask")).flip(p=0.5, seed=2, on=("image", "mask"))
    for number, element in enumerate(steps):
        np.testing.assert_array_equal(element["image"] + 100, element["mask"])
        assert element["label"] == number


def test_the_whole_row_of_steps() -> None:
    rng = np.random.default_rng(0)
    digits, labels = rng.integers(256, size=(10, 1, 8, 8), dtype=np.uint8), rng.integers(10, size=10)
    steps = (
        pipeline(data.ArrayDataset(digits, labels))
        .pad(2, on=0)
        .crop(8, on=0)
        .tile((2, 1), on=0)
        .flip(on=0)
        .normalise(127.5, 127.5, on=0)
        .one_hot(10, on=1)
        .batch(4)
    )
    x, y = (np.concatenate(column) for column in zip(*steps, strict=True))
    by_hand = np.concatenate([digits, digits], -2)[..., ::-1]
    np.testing.assert_allclose(x, by_hand / 127.5 - 1, atol=1e-6)
    np.testing.assert_array_equal(y, np.eye(10)[labels])
    assert x.dtype == y.dtype == np.float32 and len(steps) == 3
