"""Derivatives of one's own: `custom_vjp`, `custom_jvp`, and `Function` in captured programs.

A captured call is one node, `custom_call`, which holds the graph of the function and those of its rule. A derivative
uses the rule; where none is asked for, the function's own graph is what runs.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from weft import pytree
from weft._tracing import current_recorder
from weft.autograd import Function, Tensor
from weft.autograd._function import Context
from weft.capture._compile import called
from weft.capture._memory import is_tensor
from weft.capture._recorder import Recorder
from weft.errors import NotDifferentiable
from weft.graph import Graph, Node
from weft.transform._bodies import close
from weft.transform._custom_nodes import custom_call
from weft.transform._section import Abstract, Section, is_leaf, wrapped
from weft.transform._transformed import Transformed


class _Custom:
    """A function with a rule of its own, None until it is given; `_record` records a call of it."""

    __defaults__ = __kwdefaults__ = None  # a compiled function asks its function for them
    __name__: str  # set by update_wrapper
    rule: Any = None
    _give: str  # how the rule is given

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.fixed = tuple(nondiff_argnums)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {called(self.function)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder = current_recorder.get()
        if recorder is not None:
            return self.__weft_captured__(recorder, args, kwargs)
        if any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in pytree.leaves_of((args, kwargs))):
            return _on_tape(self, args, kwargs)
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __weft_captured__(self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self in recorder.opened:  # its own rule calls it
            return recorder.run(self.function, args, kwargs)
        if self.rule is None:
            raise NotDifferentiable(f"{self.__name__} has no rule yet", help=f"call {self._give}")
        with _opened(recorder, self):
            return self._record(recorder, args, kwargs)

    def _record(self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError


class custom_vjp(_Custom):  # used as a decorator, and named as in JAX
    """A function with a gradient of its own: `f.defvjp(forward, backward)` gives it.

    `forward(*args)` returns the value and whatever `backward(kept, gradient)` needs, which returns a tuple with the
    gradient of each argument, None for one that has none. Arguments at `nondiff_argnums` have no gradient; `backward`
    gets them in front.

    >>> import weft
    >>> @weft.custom_vjp
    ... def halved(x):
    ...     return x * x
    >>> halved.defvjp(lambda x: (x * x, x), lambda x, g: (g * x,))
    >>> weft.grad(halved)(3.0)
    np.float64(3.0)
    """

    _give = "defvjp(forward, backward)"

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Give the rule."""
        self.rule = (forward, backward)

    def _record(self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        forward, backward = self.rule
        varied, join = _apart(args, self.fixed)
        held = tuple(args[k] for k in self.fixed)
        return record_vjp(
            recorder,
            lambda *given: recorder.run(self.function, join(given), kwargs),
            lambda *given: recorder.run(forward, join(given), kwargs),
            lambda kept, g: recorder.run(backward, (*held, kept, g), {}),
            varied,
        )


class custom_jvp(_Custom):  # used as a decorator, and named as in JAX
    """A function with a forward derivative of its own: `f.defjvp(rule)` gives it.

    `rule(primals, tangents)` returns the value and its tangent, which is linear in the tangents. It serves reverse
    mode, too, transposed. Arguments at `nondiff_argnums` do not vary; the rule gets them in front.

    >>> import weft
    >>> @weft.custom_jvp
    ... def halved(x):
    ...     return x * x
    >>> halved.defjvp(lambda primals, tangents: (primals[0] ** 2, primals[0] * tangents[0]))
    >>> weft.grad(halved)(3.0)
    np.float64(3.0)
    """

    _give = "defjvp(rule)"

    def defjvp(self, rule: Callable[..., Any]) -> None:
        """Give the rule."""
        self.rule = rule

    def _record(self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        varied, join = _apart(args, self.fixed)
        held = tuple(args[k] for k in self.fixed)
        return record_jvp(
            recorder,
            lambda *given: recorder.run(self.function, join(given), kwargs),
            lambda primals, tangents: recorder.run(self.rule, (*held, primals, tangents), {}),
            varied,
        )


@contextmanager
def _opened(recorder: Recorder, custom: Any) -> Iterator[None]:
    """While a function and its rule are captured, calls of it inside them are calls of the function itself."""
    recorder.opened.add(custom)
    try:
        yield
    finally:
        recorder.opened.discard(custom)


def _apart(args: tuple[Any, ...], fixed: Sequence[int]) -> tuple[tuple[Any, ...], Callable[..., tuple[Any, ...]]]:
    """The arguments that vary, and what puts all together again."""
    places = [k for k in range(len(args)) if k not in fixed]

    def join(given: Sequence[Any]) -> tuple[Any, ...]:
        made = list(args)
        for place, value in zip(places, given, strict=True):
            made[place] = value
        return tuple(made)

    return tuple(args[k] for k in places), join


def _on_tape(custom: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call on Tensors that require gradients: captured, and put on the tape as one step."""
    compiled = vars(custom).get("_compiled")
    if compiled is None:
        name = getattr(custom, "__name__", type(custom).__name__)
        compiled = Transformed(
            custom.function, lambda recorder, _, a, k: custom.__weft_captured__(recorder, a, k), name
        )
        vars(custom)["_compiled"] = compiled
    return compiled(*args, **kwargs)


# Nodes


def _closed(section: Section, leaves: Sequence[Any]) -> tuple[Graph, tuple[Any, ...]]:
    """The graph of a section as a body; its operands are what it reads from outside."""
    own = [place for place in section.places if place is not None]
    region = section.region
    for buffer, place in region.entered.items():
        outer = section.recorder.region.read(buffer)
        known = region.inputs.setdefault(outer, place)
        if known is not place:
            place.replace_all_uses_with(known)
            section.graph.erase_node(place)
    operands = close(section.builder, own, tuple(leaves))
    return section.graph, tuple(operands)


def _types(section: Section, leaves: Sequence[Any]) -> list[Any]:
    return [leaf.meta["type"] if isinstance(leaf, Node) else leaf for leaf in leaves]


def _abstract(section: Section) -> list[Abstract]:
    """What stands for the results of a call before there are any."""
    return [
        Abstract(leaf.meta["type"], is_tensor(like), leaf.name) if isinstance(leaf, Node) else leaf
        for leaf, like in zip(section.leaves, section.results, strict=True)
    ]


def _inputs(section: Section) -> list[Any]:
    return [leaf.node for leaf, place in zip(section.given, section.places, strict=True) if place is not None]


def record_vjp(recorder: Recorder, function: Any, forward: Any, backward: Any, args: tuple[Any, ...]) -> Any:
    """Record a call of a function with a reverse rule."""
    primal = Section(recorder, function, args, {})
    first = Section(recorder, forward, args, {})
    if first.tree.kind is not tuple or len(first.tree.children) != 2 or first.tree.children[0] != primal.tree:
        recorder.refuse("the forward of a custom_vjp returns a pair: the value of the function, and what is kept")
    count = primal.tree.leaf_count
    made = _abstract(first)
    kept = first.tree.children[1].unflatten(made[count:])
    gradients = primal.tree.unflatten([_gradient(leaf) for leaf in made[:count]])
    second = Section(recorder, backward, (kept, gradients), {})
    leaves, places = _per_input(recorder, second, args, primal)
    given = _inputs(primal)
    graph, outside = _closed(primal, primal.leaves)
    rules = (
        _with_inputs(_closed(first, first.leaves), given),
        _closed(second, leaves),
    )
    return _call(recorder, "vjp", primal, graph, (*given, *outside), rules, places)


def _gradient(leaf: Any) -> Any:
    from weft.transform._split import gradient_type

    return Abstract(gradient_type(leaf.type), leaf.tensor, f"d_{leaf.name}") if isinstance(leaf, Abstract) else None


def _with_inputs(closed: tuple[Graph, tuple[Any, ...]], given: Sequence[Any]) -> tuple[Graph, tuple[Any, ...]]:
    return closed[0], (*given, *closed[1])


def _per_input(recorder: Recorder, second: Section, args: Any, primal: Section) -> tuple[list[Any], list[int]]:
    """The gradient that a rule gives for each input, and the numbers of the inputs that get one."""
    found = second.tree.unflatten(second.leaves)
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(args):
        recorder.refuse(f"the backward of a custom_vjp gives {len(found)} gradients for {len(args)} arguments")
    leaves: list[Any] = []
    places: list[int] = []
    number = 0
    inputs = iter(range(len(primal.places)))
    for gradient, argument in zip(found, args, strict=True):
        flat = pytree.flatten(argument, is_leaf=is_leaf)[0]
        parts = [None] * len(flat) if gradient is None else pytree.flatten(gradient, is_leaf=lambda v: v is None)[0]
        if len(parts) != len(flat):
            recorder.refuse("a gradient that a custom_vjp gives has another structure than its argument")
        for part in parts:
            if primal.places[next(inputs)] is None:
                continue
            if part is not None:
                leaves.append(part)
                places.append(number)
            number += 1
    return leaves, places


def record_jvp(recorder: Recorder, function: Any, rule: Any, args: tuple[Any, ...]) -> Any:
    """Record a call of a function with a forward rule."""
    primal = Section(recorder, function, args, {})
    tree = pytree.flatten(args, is_leaf=is_leaf)[1]
    tangents = [
        _gradient(Abstract(place.meta["type"], is_tensor(leaf), place.name))
        if place is not None and _continuous(place)
        else None
        for leaf, place in zip(primal.given, primal.places, strict=True)
    ]
    inputs = [
        Abstract(place.meta["type"], is_tensor(leaf), place.name) if place is not None else leaf
        for leaf, place in zip(primal.given, primal.places, strict=True)
    ]
    second = Section(recorder, rule, (tree.unflatten(inputs), tree.unflatten(tangents)), {})
    if second.tree.kind is not tuple or len(second.tree.children) != 2:
        recorder.refuse("the rule of a custom_jvp returns a pair: the value, and its tangent")
    given = _inputs(primal)
    graph, outside = _closed(primal, primal.leaves)
    places = [k for k, place in enumerate([p for p in primal.places if p is not None]) if _continuous(place)]
    return _call(recorder, "jvp", primal, graph, (*given, *outside), (_closed(second, second.leaves),), places)


def _continuous(place: Node) -> bool:
    from weft.transform._activity import continuous

    return continuous(place.meta["type"])


def _call(
    recorder: Recorder, kind: str, primal: Section, graph: Graph, operands: Any, rules: Any, places: Sequence[int]
) -> Any:
    types = tuple(_types(primal, primal.leaves))
    node = recorder.create(custom_call, (kind, graph, operands, rules), {}, types)
    node.meta["inputs"], node.meta["count"] = tuple(places), sum(place is not None for place in primal.places)
    recorder.custom = True
    leaves = []
    for k, (leaf, like) in enumerate(zip(primal.leaves, primal.results, strict=True)):
        if not isinstance(leaf, Node):
            leaves.append(leaf)
            continue
        item = recorder.create(operator.getitem, (node, k), {}, leaf.meta["type"])
        leaves.append(wrapped(recorder, item, leaf.meta["type"], like))
    return primal.tree.unflatten(leaves)


# Function


def record_function(recorder: Recorder, cls: type[Function], args: tuple[Any, ...]) -> Any:
    """`Function.apply` in a captured program."""

    def forward(*given: Any) -> Any:
        ctx = Context(tuple(is_tensor(arg) for arg in given))
        recorder.made(ctx)
        result = recorder.run(cls.forward, (ctx, *given), {})
        state = {key: value for key, value in vars(ctx).items() if not key.startswith("_")}
        return result, (ctx._saved, state)

    def function(*given: Any) -> Any:
        return forward(*given)[0]

    def backward(saved: Any, gradient: Any) -> Any:
        ctx = Context(tuple(is_tensor(arg) for arg in args))
        ctx._saved, state = saved
        vars(ctx).update(state)
        recorder.made(ctx)
        given = gradient if isinstance(gradient, tuple) else (gradient,)
        found = recorder.run(cls.backward, (ctx, *given), {})
        return found if isinstance(found, tuple) else (found,)

    return record_vjp(recorder, function, forward, backward, args)
