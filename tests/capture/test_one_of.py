"""What is done with a function, a class or an object that a traced value chooses is done with the one that it is."""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError


class Shape:
    """What all shapes have."""

    def __init__(self, size: Any) -> None:
        self.size, self.steps = size, 0

    def area(self) -> Any:
        return self.size * self.size

    def grow(self, by: Any) -> Any:
        self.size = self.size * by
        self.steps += 1
        return self

    @property
    def twice(self) -> Any:
        return 2 * self.area()


class Circle(Shape):
    def __init__(self, radius: Any) -> None:
        super().__init__(radius)
        self.radius = radius

    def area(self) -> Any:
        return np.pi * self.radius**2


class Square(Shape):
    corners = 4

    def __add__(self, other: Any) -> Any:
        return self.size + other

    def __getitem__(self, k: Any) -> Any:
        return self.size * k

    def __len__(self) -> int:
        return 4

    def __call__(self, x: Any) -> Any:
        return self.size * x


class Triangle(Shape):
    corners = 3

    def __init__(self, size: Any) -> None:
        super().__init__(size)
        self.height = size / 2

    def __add__(self, other: Any) -> Any:
        return self.size - other

    def __getitem__(self, k: Any) -> Any:
        return self.size - k

    def __len__(self) -> int:
        return 3

    def __call__(self, x: Any) -> Any:
        return self.size - x


class Holder:
    def __init__(self) -> None:
        self.square, self.triangle, self.present = Square(3.0), Triangle(2.0), None


def a_ufunc(x: Any) -> Any:
    wave = np.sin if x[0] > 0 else np.cos
    return wave(x), [wave(v) for v in x], list(map(wave, x)), wave.__name__


def a_function_of_numpy(x: Any) -> Any:
    if x[0] > 0:
        least, name = np.nanmin, "nanmin"
    else:
        least, name = np.min, "min"
    return least(x), least(x, axis=0, keepdims=True), least.__name__ == name


def one_of_three(x: Any) -> Any:
    if x[0] > 2:
        change = np.sin
    elif x[1] > 0:
        change = lambda v: v * 7  # noqa: E731  # as people write it
    else:
        change = np.exp
    return change(x) + change(x[1])


def one_of_operator(x: Any) -> Any:
    combine = operator.add if x[0] > 0 else operator.sub
    return functools.reduce(combine, list(x)), combine(x, 1)


def one_of_builtins(x: Any) -> Any:
    total = 0.0
    for v in x:
        pick = max if v > 1.5 else min
        total = pick(total, v) + total
    return total


def in_a_list(x: Any) -> Any:
    return [np.sin, np.cos, np.tan][int(x[1])](x)


def in_a_list_from_behind(x: Any) -> Any:
    return [np.sin, np.cos, np.tan][-1 - int(abs(x[1]))](x)


def in_a_dict(x: Any) -> Any:
    return {0: np.sin, 1: np.cos, 3: np.tan}[abs(int(x[0]))](x)


def a_class(x: Any) -> Any:
    kind = Circle if x[0] > 0 else Square
    return kind(x[1]).area(), kind(2.0).steps


def an_object(x: Any) -> Any:
    if x[0] > 0:
        shape: Any = Circle(x[0])
    elif x[1] > 0:
        shape = Square(x[1])
    else:
        shape = Triangle(x[1])
    return shape.area(), shape.twice, shape.steps


def changes_and_operators(x: Any) -> Any:
    shape: Any = Square(x[0]) if x[0] > 0 else Triangle(x[1])
    shape.grow(2.0)
    shape.size = shape.size + 1
    return shape.area(), shape.size, shape.steps, shape.corners, len(shape), shape + 1.0, shape[2], shape(3.0)


def known_by_other_names(x: Any) -> Any:
    square, triangle = Square(x[0]), Triangle(x[1])
    shape: Any = square if x[0] > 0 else triangle
    shape.size = shape.size + 10
    return square.size, triangle.size, shape.size, shape is square, shape is triangle


def none_or_an_object(x: Any) -> Any:
    shape = None
    if x[0] > 0:
        shape = Square(x[0])
    return -1.0 if shape is None else shape.area()


def asked_for_its_class(x: Any) -> Any:
    shape: Any = Square(x[0]) if x[0] > 0 else Triangle(x[1])
    return isinstance(shape, Square), isinstance(shape, Shape), type(shape) is Triangle, type(shape).__name__


def in_a_loop(x: Any) -> Any:
    shape: Any = Square(x[0])
    for v in x:
        if v > 1.5:
            shape = Triangle(v)
    return shape.area()


def the_largest(x: Any) -> Any:
    shapes: Any = [Square(x[0]), Triangle(x[1]), Circle(x[2])]
    best = shapes[0]
    for shape in shapes[1:]:
        if shape.area() > best.area():
            best = shape
    return best.area(), best is shapes[1]


def chosen_again(x: Any) -> Any:
    shape: Any = Square(x[0]) if x[0] > 0 else Triangle(x[1])
    other = shape if x[1] > 0 else Circle(x[2])
    return other.area(), other.steps


def given_back(x: Any) -> Any:
    return Square(x[0]) if x[0] > 0 else Triangle(x[1])


def made_of_no_traced_values(x: Any) -> Any:
    shape: Any = Square(3.0) if x[0] > 0 else Triangle(2.0)
    other, shape.size = shape, shape.size + 1
    for v in x:
        shape = Circle(1.0) if v > 1.5 else shape
        shape.steps += 1
    return shape.grow(x[1]).size, shape.steps, other is shape, other.steps


def lists_in_objects(x: Any) -> Any:
    shape: Any = Square([1.0, 2.0]) if x[0] > 0 else Triangle([[2.0]] * 2)
    shape.size.append(x[1])
    return len(shape.size), shape.size[2]


def copied(x: Any) -> Any:
    shape: Any = Square(x[:1]) if x[0] > 0 else Triangle(x[1:2])
    first, second = copy.copy(shape), copy.deepcopy(shape)
    first.steps, second.size[0] = 5, 7.0
    return shape.steps, shape.size[0], first.steps, first.size[0], second.size, second is shape


def one_of_a_library(x: Any) -> Any:
    kind: Any = Square if np.all(np.diff(x) > 0) else np.polynomial.Polynomial
    shape = kind(x)
    same = isinstance(shape, Square), isinstance(shape, Shape), type(shape).__name__, hasattr(shape, "coef")
    return shape(x[1]), shape(x), (shape + 1.0)(2.0) if same[3] else shape.area(), same


def one_of_a_library_in_an_object(x: Any) -> Any:
    inner: Any = np.polynomial.Polynomial(x) if x[0] > 0 else Square(x[1])
    outer: Any = Circle(inner) if x[1] > 0 else Square(None)
    if outer.size is None:
        outer.size = Triangle(x[2])
    return outer.size(2.0), outer.steps


def a_function_given_back(x: Any) -> Any:
    return np.sin if x[0] > 0 else np.cos


PROGRAMS = [
    a_ufunc, a_function_of_numpy,
    one_of_three, one_of_operator, one_of_builtins, in_a_list, in_a_list_from_behind, in_a_dict, a_class,
    an_object, changes_and_operators, known_by_other_names, none_or_an_object, asked_for_its_class, in_a_loop,
    the_largest, chosen_again, given_back, made_of_no_traced_values, lists_in_objects, copied,
    one_of_a_library, one_of_a_library_in_an_object, a_function_given_back,
]  # fmt: skip
X = np.array([3.0, 1.0, 2.0])
CALLS = [X, -X, np.array([-1.0, 1.0, 1.0]), np.array([-1.0, -1.0, 4.0]), X / 3, X]


def seen(value: Any) -> Any:
    """What a value is, objects by their attributes."""
    if isinstance(value, (Shape, Holder)):
        return type(value).__name__, {name: seen(part) for name, part in vars(value).items()}
    return repr(value)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return seen(function(*args))
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_in_the_plain_call(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in CALLS:
        assert outcome(compiled, x) == outcome(program, x)
    assert not compiled._ran_plainly
    assert compiled.cache_info().misses == 1


def changed_outside(holder: Any, x: Any) -> Any:
    shape = holder.square if x[0] > 0 else holder.triangle
    shape.size = shape.size + x[1]
    return shape.area()


def kept_outside(holder: Any, x: Any) -> Any:
    holder.present = holder.square if x[0] > 0 else holder.triangle
    holder.present.size = 99.0
    return holder.square.size, holder.triangle.size


def kept_when_made_inside(holder: Any, x: Any) -> Any:
    holder.present = Square(x[0]) if x[0] > 0 else Triangle(x[1])
    return holder.present.area()


def kept_on_one_side(holder: Any, x: Any) -> Any:
    if x[0] > 0:
        shape: Any = Square(x[1])
        holder.present = shape
    else:
        shape = Triangle(x[1])
    shape.grow(2.0)
    return shape.area(), shape.steps, holder.present is shape


def kept_on_the_side_that_goes_on(holder: Any, x: Any) -> Any:
    if x[0] <= 0:
        raise ValueError("none")
    if x[1] > 0:
        shape: Any = Shape(Square(x[1]))
        holder.present = shape.size
    else:
        raise TypeError("none")
    holder.present.grow(3.0)
    return shape.size.size, shape.steps, shape.size is holder.present


def kept_in_a_loop(holder: Any, x: Any) -> Any:
    for v in x:
        holder.present = shape = Square(v) if v > 0 else Square(-v)
        shape.grow(2.0)
        holder.present.steps += 2
    return shape.steps, shape.area(), holder.present is shape


@pytest.mark.parametrize(
    "program",
    [
        *(changed_outside, kept_outside, kept_when_made_inside),
        *(kept_on_one_side, kept_on_the_side_that_goes_on, kept_in_a_loop),
    ],
)
def test_objects_from_outside(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in CALLS:
        holders = Holder(), Holder()
        assert outcome(compiled, holders[0], x) == outcome(program, holders[1], x)
        assert seen(holders[0]) == seen(holders[1])
        which = [[h.present is h.square, h.present is h.triangle] for h in holders]
        assert which[0] == which[1]
    assert not compiled._ran_plainly


@pytest.mark.parametrize("program", [one_of_three, an_object, changes_and_operators, chosen_again, the_largest])
def test_derivatives(program: Callable[..., Any]) -> None:
    def loss(x: Any) -> Any:
        found = program(x)
        return found[0] if isinstance(found, tuple) else found.sum()

    for x in (X + 0.125, -X, np.array([-1.0, 1.25, 1.0])):
        steps = np.eye(3) * 1e-6
        expected = [(loss(x + d) - loss(x - d)) / 2e-6 for d in steps]
        np.testing.assert_allclose(weft.grad(loss)(x), expected, rtol=1e-6, atol=1e-6)


def numbers(x: Any, weights: Any) -> Any:
    return weights[int(x[0])], weights.get(int(x[1]), -1.0), x * weights[int(x[0])]


def of_tuples(x: Any, moves: Any) -> Any:
    step = moves[int(x[0])]
    return x[step[0]], step


def floats(x: Any, names: Any) -> Any:
    return names.get(float(x[0])), names.get(x[1], "none")


@pytest.mark.parametrize(
    ("program", "mapping"),
    [
        (numbers, {1: 0.5, 2: 0.25, 3: 0.125, -3: 7.0}),
        (numbers, {True: 0.5, 3: 2.5, 0: 4.0}),
        (of_tuples, {3: (0, 1), -3: (2, 0), 0: (1, 1)}),
        (floats, {3.0: "three", 1.0: "one", -0.0: "zero"}),
    ],
)
def test_numbers_as_keys(program: Any, mapping: Any) -> None:
    def inside(x: Any) -> Any:
        return program(x, dict(mapping))

    compiled = weft.compile(inside)
    for x in (*CALLS, np.array([np.nan, -0.0, 1.0]), np.array([1.0, np.nan, 2.0])):
        assert outcome(compiled, x.copy()) == outcome(inside, copy.copy(x))


def copied_in_a_list(x: Any) -> Any:
    shape: Any = Square(x[0]) if x[0] > 0 else Triangle(x[1])
    first, second = copy.deepcopy([shape, shape])
    first.size = 3.0
    return second.size


def test_a_deep_copy_of_what_holds_one_of_several_is_refused() -> None:
    with pytest.raises(CaptureError, match="copy the parts one by one"):
        weft.compile(copied_in_a_list)(X)


def test_what_leaves_a_derivative_is_refused() -> None:
    with pytest.raises(CaptureError, match="one of several functions or objects"):
        weft.vjp(a_function_given_back, X)


class Nearest:
    """Keeps the mean of each class under the number that `np.unique` gives for it."""

    def fit(self, x: Any, y: Any) -> None:
        self.classes, self.means, self.counts = np.unique(y), {}, {}
        for c in self.classes:
            self.means[c] = x[y == c].mean(axis=0)
            self.counts[c] = (y == c).sum()

    def predict(self, x: Any) -> Any:
        return np.array([self.nearest(row) for row in x])

    def nearest(self, row: Any) -> Any:
        distances = [np.sum((row - self.means[c]) ** 2) / self.counts.get(c, 1) for c in self.classes]
        return self.classes[np.argmin(distances)]


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.float64, bool])
def test_items_by_numbers_of_numpy(dtype: Any) -> None:
    x, y = np.random.default_rng(0).standard_normal((9, 2)), (np.arange(9) % 3).astype(dtype)
    model = Nearest()
    weft.compile(model.fit)(x, y)
    compiled = weft.compile(model.predict)
    for rows in (x, x[:1], -x):
        np.testing.assert_array_equal(compiled(rows), model.predict(rows), strict=True)
    assert compiled.cache_info().misses == 1
    model.classes = model.classes + np.ones(1, model.classes.dtype) * 7
    with pytest.raises(KeyError):
        compiled(x)


def wide_enough(x, most):
    if most > 100:
        return np.int64
    return np.int64 if (x > 3).any() else np.int32


def made_of_a_chosen_class(x, most):
    kind = wide_enough(x, most)
    return np.arange(4, dtype=kind), np.zeros(2, kind), np.asarray(x, dtype=kind), np.cumsum(x, dtype=kind), kind(3)


def asked_about_a_chosen_class(x, most):
    kind = wide_enough(x, most)
    told = np.iinfo(kind).max, np.dtype(kind).itemsize, np.result_type(kind, np.int8), np.can_cast(kind, np.int32)
    return told, np.issubdtype(kind, np.integer), kind is np.int32, x.astype(kind)


def cast_to_a_chosen_class(x, most):
    kind = wide_enough(x, most)
    whole = np.arange(3)
    same = whole.astype(kind, copy=False)
    same[0] = 7
    whole[1] = 9
    x[0] = 2
    return same, whole, x.astype(kind, copy=False), x.sum(dtype=kind), np.cumsum(x, 0, kind)


def chosen_among_what_running_tells(x, most):
    found = np.asarray(x, dtype=wide_enough(x, most)).dtype if most > 3 else np.float32
    kind = found if x[0] > 1 else np.float64
    return np.zeros(2, dtype=kind), x.astype(kind)


@pytest.mark.parametrize(
    "program",
    [made_of_a_chosen_class, asked_about_a_chosen_class, cast_to_a_chosen_class, chosen_among_what_running_tells],
)
def test_classes_that_a_branch_chooses_are_dtypes(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (np.arange(3.0), np.arange(6.0)):
        for most in (7, 1000):
            assert seen(compiled(x, most)) == seen(program(x, most))
    assert not compiled._ran_plainly


class Split:
    """A part of a tree, which has two parts of its own or none."""

    def __init__(self) -> None:
        self.left: Any = None
        self.right: Any = None
        self.value: Any = 0.0

    def grow(self, x: Any, depth: int) -> None:
        if depth == 0 or x.sum() <= 0:
            self.value = x.mean()
        else:
            self.left, self.right = Split(), Split()
            self.left.grow(x[1:], depth - 1)
            self.right.grow(x[:1], depth - 1)


class Full:
    """An object that says itself whether it is true."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return bool(self.value > 2)


def either_is_there(x):
    top = Split()
    top.grow(x, 1)
    if top.left or top.right is not None:
        return top.left.value + top.right.value
    return top.value


def both_are_there(x):
    top = Split()
    top.grow(x, 1)
    return top.left.value + top.right.value if top.left and top.right else top.value


def one_is_missing(x):
    top = Split()
    top.grow(x, 1)
    if not top.left or not top.right:
        return top.value
    return top.left.value - top.right.value


def both_say_it(x):
    first = Full(x[0]) if x.sum() > 0 else None
    second = Full(x[1]) if x.sum() > 1 else None
    if first and second:
        return first.value
    if first or second:
        return second.value if second is not None else first.value
    return x[2]


@pytest.mark.parametrize("program", [either_is_there, both_are_there, one_is_missing, both_say_it])
def test_objects_that_may_be_there_are_operands_of_a_test(program: Callable[..., Any]) -> None:
    compiled = weft.compile(program)
    for x in (np.arange(4.0), -np.arange(4.0) - 0.5, np.arange(4.0) * 5 + 1, np.array([5.0, -4.0, -0.5, 0.2])):
        assert compiled(x) == program(x)
