"""Captured programs inside `detect_anomaly`: a NaN made of values that are none is an error that names its line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import pytree
from weft.autograd import Tensor
from weft.autograd._mode import NAN_CAUSES, anomaly
from weft.errors import AutogradError
from weft.graph import GraphModule, Interpreter, Node
from weft.ops._op import op_of


class _Watching(Interpreter):
    """Runs a graph, and the bodies in it, node by node, and looks at what each gives."""

    def run_node(self, n: Node) -> Any:
        """Run one node, whose warnings are those of its line; raise if it made a NaN."""
        place = None if n.bodies else n.location
        with warnings.catch_warnings(record=place is not None) as met:
            if place is not None:
                warnings.simplefilter("always")
            result = super().run_node(n)
        for warning in met or ():
            assert place is not None
            warnings.warn_explicit(warning.message, warning.category, place.file, place.line)
        if n.op.startswith("call") and not n.bodies and _has_nan(result):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            if not _has_nan((args, kwargs)):
                _refuse(n)
        return result


def watched(module: GraphModule) -> Callable[..., Any]:
    """The graph of a module as a function that raises at the first NaN."""
    return lambda *values: _Watching(module).run(*values, enable_io_processing=False)


def run_module(module: GraphModule, *values: Any) -> Any:
    """Run the code of a module, or inside `detect_anomaly` its nodes one by one."""
    return watched(module)(*values) if anomaly.get() else module.forward(*values)


def _refuse(node: Node) -> None:
    op = op_of(node.target)
    called = op.name if op is not None else getattr(node.target, "__name__", str(node.target))
    of = "the derivative of this line: " if node.name.startswith("d_") else ""
    raise AutogradError(
        f"{of}{called} gave NaN",
        where=None if node.location is None else str(node.location),
        help=NAN_CAUSES,
    )


def _has_nan(value: Any) -> bool:
    leaves = pytree.flatten(value)[0]
    return any(map(_is_nan, leaves))


def _is_nan(value: Any) -> bool:
    array = value._array if isinstance(value, Tensor) else value
    if isinstance(array, (float, complex)):
        return bool(array != array)
    return isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind in "fc" and bool(np.isnan(array).any())


__all__ = ["run_module", "watched"]
