"""Capture Python programs as graphs you can read, edit, differentiate, compile and ship."""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

import weft.fft as fft
import weft.linalg as linalg
from weft import autograd, errors, nn, patterns, pytree, random
from weft._listing import listing as _listing
from weft._torch_names import *
from weft._version import __version__
from weft.autograd import Parameter, Tensor, enable_grad, inference_mode, no_grad, set_grad_enabled, tensor
from weft.capture import (
    PH,
    GraphAppendingTracer,
    Proxy,
    ProxyableClassMeta,
    Tracer,
    Transformer,
    replace_pattern,
    replace_pattern_with_filters,
    symbolic_trace,
    wrap,
)
from weft.graph import Graph, GraphModule, Interpreter, Node, Session, ShapeProp, load, map_arg
from weft.graph._control import check as _assert
from weft.graph._control import cond, fori_loop, scan, switch, while_loop
from weft.graph._effects import has_side_effect
from weft.ops import *
from weft.ops import Spec, spec
from weft.ops.constants import __array_api_version__, __array_namespace_info__
from weft.random import bernoulli, manual_seed, multinomial, rand, rand_like, randint, randn, randn_like, randperm

if _TYPE_CHECKING:
    from weft import data, optim, passes
    from weft.capture._compile import compile
    from weft.capture._explain import explain
    from weft.capture._script import script
    from weft.capture._trace import trace
    from weft.transform import *
else:
    # What not every program needs is imported when it is asked for.
    _ROOMS = ("data", "optim", "passes")
    _LATER = {name: f"weft.capture._{name}" for name in ("compile", "explain", "script", "trace")}
    _DERIVED = "grad value_and_grad vjp jvp linearize hvp jacfwd jacrev hessian vmap custom_vjp custom_jvp joint_graph"
    _LATER |= dict.fromkeys(_DERIVED.split(), "weft.transform")

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return _importlib.import_module(f"weft.{name}")
        if name in _LATER:
            found = getattr(_importlib.import_module(_LATER[name]), name)
            globals()[name] = found
            return found
        # With `name` and `obj` Python says "Did you mean ...?"
        raise AttributeError(
            f"module 'weft' has no attribute {name!r}", name=name, obj=_importlib.import_module("weft")
        )

    _NAMESPACES = (*_ROOMS, "autograd", "errors", "fft", "graph", "linalg", "nn", "ops", "patterns", "pytree", "random")
    __dir__ = _listing(__name__, later=(*_LATER, *_ROOMS), namespaces=_NAMESPACES)
