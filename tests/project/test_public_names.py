"""`dir()` and tab completion show what is public, and nothing else."""

from __future__ import annotations

import collections
import importlib
import typing
from types import ModuleType

import pytest

import weft

MODULES = (
    "weft weft.autograd weft.data weft.errors weft.fft weft.graph weft.linalg weft.nn weft.nn.functional weft.nn.init"
    " weft.nn.utils weft.ops weft.optim weft.passes weft.patterns weft.pytree weft.random"
).split()


def _public(name: str) -> list[str]:
    return [key for key in dir(importlib.import_module(name)) if not key.startswith("_")]


@pytest.mark.parametrize("name", MODULES)
def test_names_are_there_and_are_not_borrowed(name: str) -> None:
    module = importlib.import_module(name)
    spaces = (typing, collections, collections.abc)
    borrowed = {id(value) for space in spaces for value in vars(space).values() if callable(value)}
    names = _public(name)
    assert names
    for key in names:
        value = getattr(module, key)
        assert id(value) not in borrowed and key != "annotations", f"{name}.{key}"
        if isinstance(value, ModuleType):
            assert value.__name__.startswith("weft."), f"{name}.{key}"
    assert "__doc__" in dir(module)


def test_what_is_imported_later_is_shown_before() -> None:
    shown = set(_public("weft"))
    assert shown >= set("compile explain script trace grad vmap joint_graph data optim passes nn Tensor load".split())
    assert not shown & {"capture", "transform", "view"}
    assert _public("weft.pytree") == ["Tree", "flatten", "map", "register"]
    assert "AdamW" in dir(weft.optim) and "Linear" in dir(weft.nn)


def test_what_reads_the_names_can_import_them_all() -> None:
    space: dict[str, object] = {}
    exec("from weft.pytree import *\nfrom weft.nn import *\nfrom weft.data import *", space)
    assert {"flatten", "Linear", "DataLoader"} <= space.keys()
