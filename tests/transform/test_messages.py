"""What is said of programs that have no derivative, and by `explain` of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import CaptureError, NotDifferentiable

X = np.array([1.0, 2.0, 3.0])


def written_in_a_branch(x: Any) -> Any:
    items = [0.0, 0.0]
    if x[0] > 0.5:
        items[0] = x[1] * 2
    return items[0] + items[1] + x.sum()


def written_in_a_loop(x: Any) -> Any:
    items = [0.0] * 3
    for i in range(len(x)):
        if x[i] > 1.5:
            items[i] = x[i] ** 2
    return sum(items)


def appended(x: Any) -> Any:
    items = []
    for i in range(len(x)):
        if x[i] > 1.5:
            items.append(x[i] ** 2)  # noqa: PERF401  # the loop is what is tried
    return sum(items)


@pytest.mark.parametrize("function", [written_in_a_branch, written_in_a_loop, appended])
def test_lists_that_change_with_values_are_no_constants(function: Any) -> None:
    for ask in (lambda: weft.grad(function)(X), lambda: weft.jvp(function, (X,), (X,))):
        with pytest.raises(
            NotDifferentiable, match=r"a value that varies is (written|given).* under a condition"
        ) as at:
            ask()
        assert "items" in str(at.value)


def test_lists_whose_places_are_known() -> None:
    def squares(x: Any) -> Any:
        items = [0.0] * 3
        for i in range(len(x)):
            items[i] = x[i] ** 2
        return items[0] + items[1]

    np.testing.assert_array_equal(weft.grad(squares)(X), [2.0, 4.0, 0.0])


def test_jacobian_of_a_result_whose_size_depends_on_values() -> None:
    def large(x: Any) -> Any:
        return x[x > 1.5] * 2

    with pytest.raises(CaptureError, match="jacrev of a result whose size depends on values") as caught:
        weft.jacrev(large)(X)
    assert "weft.jacfwd" in str(caught.value)
    np.testing.assert_array_equal(weft.jacfwd(large)(X), [[0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])


def test_explain_tells_what_hinders_a_derivative() -> None:
    def neighbours(x: Any) -> Any:
        step = np.nextafter(x, 2.0)
        return (step * x).sum()

    assert not weft.explain(neighbours, X).problems
    (problem,) = weft.explain(weft.grad(neighbours), X).problems
    assert problem.text == "step = np.nextafter(x, 2.0)"
    assert "which has no derivative" in problem.reason
    assert "neighbours" not in str(problem).splitlines()[0] and ", in" not in str(problem).splitlines()[0]
    (problem,) = weft.explain(weft.grad(appended), X).problems
    assert problem.text.startswith("items.append(x[i] ** 2)")
    assert "is captured" in str(weft.explain(weft.grad(lambda x: (x**2).sum()), X))


def test_objects_and_numbers_where_arrays_are_wanted() -> None:
    class Spring:
        def __init__(self) -> None:
            self.k = np.ones(3)

    with pytest.raises(NotDifferentiable, match=r"no derivative by spring: it is an object of class Spring") as found:
        weft.grad(lambda spring: (spring.k**2).sum())(Spring())
    assert "dataclass" in str(found.value)
    assert "weft.pytree.register" in str(found.value)
    with pytest.raises(NotDifferentiable, match="no derivative by n: it is one int") as found:
        weft.grad(lambda n: n * 2)(3)
    assert "register" not in str(found.value)
    with pytest.raises(CaptureError, match="vmap: x is one float, which has no axis") as refused:
        weft.vmap(lambda x: x * 2)(3.0)
    assert "give an array of examples" in str(refused.value)
    with pytest.raises(CaptureError, match="vmap: x is an array of float64 without dimensions"):
        weft.vmap(lambda x: x * 2)(np.array(3.0))


class Spring:
    """An object of the program."""

    def __init__(self, k: float) -> None:
        self.k = k


def with_its_spring(x: Any, spring: Any) -> Any:
    return spring.k * x, spring


@pytest.mark.parametrize("name", ["vjp", "linearize", "grad", "value_and_grad", "jacrev", "jacfwd"])
def test_objects_that_are_arguments_and_results(name: str) -> None:
    spring = Spring(2.0)
    direct = name in ("vjp", "linearize")
    derivative: Any = getattr(weft, name)
    with pytest.raises(CaptureError, match="the function returns an object of class Spring, which has no derivative"):
        derivative(with_its_spring, 3.0, spring) if direct else derivative(with_its_spring)(3.0, spring)
    if direct:
        found = derivative(with_its_spring, 3.0, spring, has_aux=True)[-1]
    else:
        found = derivative(with_its_spring, has_aux=True)(3.0, spring)
        found = found[0][1] if name == "value_and_grad" else found[1]
    assert found is spring


def appended_on_each_side(x: Any) -> Any:
    products: list[Any] = []
    falls: list[Any] = []
    for i in range(len(x)):
        if i > 0:
            products.append(products[i - 1] * x[i])
        else:
            products.append(x[i])
        if products[i] < 1.5:
            falls.append(1.5 - products[i])
    return sum(falls) + products[-1]


def test_a_list_that_is_read_before_it_is_known_to_grow_is_no_error_of_the_program() -> None:
    with pytest.raises(NotDifferentiable, match=r"a value that varies is given to \.append"):
        weft.grad(appended_on_each_side)(X)
