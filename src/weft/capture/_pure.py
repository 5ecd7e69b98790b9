"""Trying out a part of an expression: where it is nothing but arithmetic that cannot fail, it needs no branch."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.capture._cells import Restart, Watched
from weft.capture._region import NotArithmetic, Region
from weft.capture._values import Scalar


def attempt_pure(recorder: Any, compute: Callable[[], Any]) -> tuple[Any] | None:
    """What a computation gives where it does nothing but arithmetic on numbers, which cannot fail; else None."""
    grown, watched, log = recorder.lists.mark(), Watched(recorder), recorder.places.log
    effects, refused = (recorder.python_effects, len(log)), recorder.refused
    region = recorder.enter()
    region.trial, region.own_cells = True, frozenset()
    try:
        value = compute()
        pure = isinstance(value, (Scalar, bool, np.bool_)) and (recorder.python_effects, len(log)) == effects
    except (Exception, NotArithmetic, Restart):  # whatever happens on this try happens again where it belongs
        recorder.refused = refused
        pure = False
    finally:
        recorder.leave(region)
    if pure and _is_arithmetic(region):
        return (_transplant(recorder, region, value),)
    recorder.lists.go_back(grown)
    watched.go_back()
    return None


def _transplant(recorder: Any, region: Region, value: Any) -> Any:
    """Take over the nodes of a region that was tried into the present one."""
    copies = {inner: outer_node for outer_node, inner in region.inputs.items()}
    for node in region.graph.nodes:
        if node.op != "placeholder":
            copies[node] = recorder.region.graph.node_copy(node, copies.__getitem__)
            copies[node].meta.pop("from", None)
    if isinstance(value, Scalar) and value._node is not None and value._node in copies:
        return Scalar(recorder, value.kind, copies[value._node], value.dim, value.hint, value.relation)
    return value


def _is_arithmetic(region: Region) -> bool:
    """Whether a region computes with numbers only, in ways that cannot fail."""
    if region.entered or region.failed:
        return False
    safe: set[Any] = {
        operator.add,
        operator.sub,
        operator.mul,
        operator.and_,
        operator.or_,
        operator.not_,
        operator.neg,
    }
    safe |= {operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, bool, min, max, abs}
    return all(node.target in safe or _divides(node) for node in region.graph.nodes if node.op != "placeholder")


def _divides(node: Any) -> bool:
    """Whether a node divides by a number that is not 0."""
    return node.target in (operator.floordiv, operator.mod) and type(node.args[1]) is int and node.args[1] != 0
