"""Arguments brought into the form of a signature: defaults filled in, names instead of positions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.graph._arguments import freeze

if TYPE_CHECKING:
    from weft.graph._node import Node

_SIMPLE = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgsKwargsPair(NamedTuple):
    """Normalised arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def normalized_arguments(
    node: Node, root: Any = None, normalize_to_only_use_kwargs: bool = False
) -> ArgsKwargsPair | None:
    """The node's arguments by its target's signature, or None where that is not known or the arguments do not fit it.

    Arguments given by position stay so unless `normalize_to_only_use_kwargs`; defaults are added by name. Targets with
    positional-only or starred parameters have no such form.
    """
    signature = _signature_of(node, root)
    if signature is None or any(p.kind not in _SIMPLE for p in signature.parameters.values()):
        return None
    try:
        bound = signature.bind(*node.args, **node.kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    positions = 0 if normalize_to_only_use_kwargs else len(node.args)
    names = list(signature.parameters)
    values: Mapping[str, Any] = bound.arguments
    args = tuple(values[name] for name in names[:positions])
    return ArgsKwargsPair(freeze(args), {name: freeze(values[name]) for name in names[positions:]})


def signature_of(function: Any) -> inspect.Signature | None:
    """The signature of anything callable; None where Python knows none."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None


def _signature_of(node: Node, root: Any) -> inspect.Signature | None:
    if node.op == "call_function":
        return signature_of(node.target)
    if node.op != "call_module":
        return None
    module = node.graph.owning_module if root is None else root
    for part in node.target.split("."):
        module = getattr(module, part, None)
    forward = getattr(module, "forward", None)
    return None if forward is None else signature_of(forward)
