"""The public namespace derives from the table, and holds nothing by accident."""

from __future__ import annotations

import copy
import importlib
import pickle
import types

import pytest

import weft
from weft.ops import TABLE
from weft.ops._families import unary

ROOMS = set(
    "autograd capture data errors fft graph linalg nn ops optim passes patterns pytree random transform view".split()
)


@pytest.mark.parametrize("name", TABLE)
def test_an_op_is_found_where_it_says_it_is(name: str) -> None:
    op = TABLE[name]
    assert getattr(importlib.import_module(op.__module__), op.__name__) is op
    assert pickle.loads(pickle.dumps(op)) is op
    assert copy.deepcopy(op) is op
    assert op.__doc__ and op.__doc__.splitlines()[0].endswith(".")


def test_no_stray_modules() -> None:
    modules = {n for n, v in vars(weft).items() if isinstance(v, types.ModuleType) and not n.startswith("_")}
    assert modules <= ROOMS


def test_the_table_refuses_what_is_not_whole() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        unary("sin", eval=abs, derivative=lambda y, x: 1, doc="Again.")
    with pytest.raises(ValueError, match="either derivative= or vjp="):
        unary("brand_new", eval=abs, doc="No rule.")
    with pytest.raises(ValueError, match="no documentation"):
        unary("brand_new", eval=abs, derivative=lambda y, x: 1, doc="")
    assert "brand_new" not in TABLE


@pytest.mark.parametrize("name", TABLE)
def test_binding_is_what_the_signature_says(name: str) -> None:
    op = TABLE[name]
    parameters = op.__signature__.parameters.values()
    needed = [p for p in parameters if p.default is p.empty]
    args = [object() for p in needed if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    kwargs = {p.name: object() for p in needed if p.kind is p.KEYWORD_ONLY}
    bound = op.__signature__.bind(*args, **kwargs)
    bound.apply_defaults()
    assert op.bind(args, kwargs) == tuple(bound.arguments.values())
    with pytest.raises(TypeError, match=f"^{name}[(]"):
        op.bind(args, {**kwargs, "no_such_parameter": 1})
