"""Attributes of traced values: those of what the value stands for, and none that the capture keeps on it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


def names_of_ours(thing):
    return thing.name, thing.node, thing.example, thing.owner, thing.recorder, thing.keep


def names_within(thing):
    inner = thing.inner
    return inner.name, inner.owner, inner.kept, inner.attribute, thing.inner.name


def dtype_name(x):
    return x.dtype.name, x.dtype.kind


def class_name(x):
    return x.__class__.__name__, x.__class__ is np.ndarray, type(x).__name__, x.sum().__class__.__name__


def no_path(x):
    return x.path


def no_kind(x):
    return x.sum().kind


def no_dim(x):
    return len(x).dim


def no_recorder(x):
    try:
        return x.recorder
    except AttributeError:
        return x + 1


THING = SimpleNamespace(name="a", node=1, example=2, owner=3, recorder=4, keep=5)
PROGRAMS = [
    (names_of_ours, THING),
    (names_within, SimpleNamespace(inner=SimpleNamespace(name="b", owner=1, kept=2, attribute=3))),
    *((program, np.ones(3)) for program in (dtype_name, class_name, no_path, no_kind, no_dim, no_recorder)),
]


@pytest.mark.parametrize(("program", "given"), PROGRAMS)
def test_compiled(program: Callable[..., Any], given: Any) -> None:
    assert_same(call(weft.compile(program), (given,)), call(program, (given,)))


@pytest.mark.parametrize(("program", "given"), [case for case in PROGRAMS if case[0] is not no_recorder])
def test_scripted(program: Callable[..., Any], given: Any) -> None:
    assert_same(call(weft.script(program), (given,)), call(program, (given,)))


class _Imported:
    """An attribute that is imported when it is asked for, as `six.moves` has them."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        raise ModuleNotFoundError("not on this machine")


class _Lazy(ModuleType):
    missing = _Imported()
    there = staticmethod(range)


LAZY = _Lazy("lazy")


def test_attributes_of_a_class_that_are_not_asked_for_stay_unread() -> None:
    def total(x: Any) -> Any:
        result = 0.0
        for i in LAZY.there(len(x)):
            result += x[i]
        return result

    assert weft.compile(total)(np.arange(4.0)) == 6.0
    assert weft.script(total)(np.arange(4.0)) == 6.0
