"""Why a result does not vary with an input: said before zeros are returned for a derivative."""

from __future__ import annotations

from collections import deque
from typing import Any

from weft._where import warn_user
from weft.errors import NotDifferentiable
from weft.graph import Node
from weft.graph._control import CONTROL
from weft.transform._activity import activity, any_active, continuous
from weft.transform._calls import op_call, where_of

_FLAT = frozenset({"around", "fix", "heaviside"})  # composites of ops that are flat


def tell_independent(name: str, places: dict[Node, str], results: list[Any], strict: bool) -> None:
    """Warn, or raise where `strict`, that no result varies with some inputs, and why; each goes by a name."""
    for place, called in places.items():
        reason = why_independent(place, called, [result for result in results if isinstance(result, Node)])
        if reason is None:
            continue
        message, where = reason
        if strict:
            raise NotDifferentiable(f"{name}: {message}", where=where, help="leave strict out to get zeros")
        warn_user(f"{name}: {message}{f' ({where})' if where else ''}; its derivative is zero")


def why_independent(place: Node, called: str, results: list[Node]) -> tuple[str, str | None] | None:
    """What to say, and where in the program it comes from; None where a result does vary with the input."""
    graph = place.graph
    active = activity(graph.nodes, {place: True})
    behind = _behind(results)
    if any(any_active(active.get(result, False)) for result in results):
        flat = next((node for node in graph.nodes if node in behind and node in active and _is_flat(node)), None)
        if flat is None:
            return None
        return f"the result depends on {called} only through {_said(flat)}", where_of(flat)
    if place not in behind:
        return f"the result does not depend on {called}", None
    # The last node that varies on the way from the input to a result: what reads it there does not.
    seen, waiting = {place}, deque([place])
    while waiting:
        node = waiting.popleft()
        for user in node.users:
            if user not in behind or user in seen:
                continue
            seen.add(user)
            if not any_active(active.get(user, False)):
                return f"the result depends on {called} only through {_said(user)}", where_of(user)
            waiting.append(user)
    return f"the result does not depend on {called}", None


def _behind(results: list[Node]) -> set[Node]:
    found: set[Node] = set()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(node.all_input_nodes)
    return found


def _is_flat(node: Node) -> bool:
    """Whether a call has slope 0 wherever it has one."""
    called = op_call(node)
    if called is None:
        return False
    op, arguments = called
    if op.composite:
        return op.name in _FLAT
    types = [part.meta.get("type") if isinstance(part, Node) else part for part in arguments]
    rules = [rule for rule in op.vjp if callable(rule)]
    return bool(rules) and all(_zero(rule, types) for rule in rules)


def _zero(rule: Any, types: list[Any]) -> bool:
    """Whether a rule gives 0, whatever the values are: it is called with types in their place."""
    try:
        found = rule.slope(None, *types) if hasattr(rule, "slope") else rule(None, None, *types)
    except Exception:  # one that computes with what it is given
        return False
    return type(found) is int and found == 0


def _said(node: Node) -> str:
    called = op_call(node)
    name = called[0].name if called is not None else getattr(node.target, "__name__", str(node.target))
    if name == "stop_gradient":
        return "stop_gradient"
    if _is_flat(node):
        return f"{name}, which is flat"
    if not continuous(node.meta.get("type")):
        return f"{name}, whose result does not vary continuously"
    if node.target in CONTROL:
        return f"{name}, where it decides what runs or how much, and is in no number"
    return f"{name}, of which only the shape counts"
