"""The inputs of a traced function: one placeholder per parameter, or per leaf where an input is a pytree."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from weft import pytree
from weft.capture._signatures import passes_on
from weft.errors import TraceError
from weft.graph import Inputs
from weft.pytree import LEAF, Tree

if TYPE_CHECKING:
    from weft.capture._tracer import Tracer

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_EXAMPLES = {tuple: "concrete_args={'args': (PH, 3)}", dict: "concrete_args={'kwargs': {'scale': PH}}"}
Arguments = list[tuple[inspect.Parameter, Any]]


class _Placeholder:
    """Marks a leaf of `concrete_args` that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = _Placeholder()


def placeholders_for(
    tracer: Tracer, function: Callable[..., Any], concrete_args: dict[str, Any] | None
) -> tuple[Arguments, inspect.Signature]:
    """Create the placeholders and return the arguments to run the function with."""
    signature = _signature(function)
    parameters = _ordered(signature, skip_self=not is_free(tracer, function))
    fixed = _by_name(concrete_args, parameters)
    if passes_on(function):
        # A decorator that takes *args tells a default from an argument: it is given what has none, as in a call.
        parameters = [
            p if p.name not in fixed or p.default is p.empty else p.replace(kind=p.KEYWORD_ONLY) for p in parameters
        ]
        parameters = [p for p in parameters if p.default is p.empty or p.name in fixed]
    arguments: Arguments = []
    trees: list[Tree] = []
    constants: dict[int, Any] = {}
    flat = 0
    for parameter in parameters:
        if fixed.get(parameter.name, PH) is PH:
            arguments.append((parameter, _plain(tracer, parameter)))
            trees.append(LEAF)
            flat += 1
            continue
        leaves, tree = pytree.flatten(fixed[parameter.name])
        values = []
        for number, leaf in enumerate(leaves, 1):
            if leaf is PH:
                name = parameter.name if tree is LEAF else f"{parameter.name}_{number}"
                values.append(tracer.create_proxy("placeholder", name, (), {}))
            else:
                constants[flat] = leaf
                values.append(leaf)
            flat += 1
        arguments.append((parameter, tree.unflatten(values)))
        trees.append(tree)
    if fixed:
        names = (_stars(p) + p.name if tree != LEAF else p.name for p, tree in zip(parameters, trees, strict=True))
        tracer.graph.signature = Inputs(tuple(names), tuple(trees), constants)
    return arguments, signature


def prepare_call(
    function: Callable[..., Any], arguments: Arguments, root: Any
) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """What to call, and with what, so that `*args` and `**kwargs` receive their proxy whole."""
    values = [] if root is None else [root]
    if not any(parameter.kind in _VARIADIC for parameter, _ in arguments):
        positional = [v for p, v in arguments if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        named = {p.name: v for p, v in arguments if p.kind is inspect.Parameter.KEYWORD_ONLY}
        return function, values + positional, named
    if isinstance(function, MethodType):
        values, function = [function.__self__], function.__func__
    if not isinstance(function, FunctionType):
        raise TraceError(
            f"{function!r} takes *args or **kwargs and is not a Python function: its inputs are not known",
            help="wrap it in a function with named parameters",
        )
    # The order in which a code object keeps them: keyword-only parameters stand before *args.
    order = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    ranked = sorted(arguments, key=lambda item: 1 + order.index(item[0].kind) if item[0].kind in order else 0)
    names = tuple(parameter.name for parameter, _ in ranked)
    if function.__code__.co_varnames[len(values) : len(values) + len(names)] != names:
        raise TraceError(
            f"{function.__name__} declares other parameters than it has, *args or **kwargs among them",
            help="trace a function with named parameters",
        )
    values += [value for _, value in ranked]
    return _without_variadics(function, len(values)), values, {}


def _without_variadics(function: FunctionType, count: int) -> Callable[..., Any]:
    """The same function taking `args` and `kwargs` as two ordinary parameters, so that a proxy can stand for each."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    code = code.replace(co_flags=flags, co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0)
    return FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        signature = inspect.signature(function, eval_str=True)
        if hasattr(function, "__wrapped__") and any(p.kind in _VARIADIC for p in signature.parameters.values()):
            # What a decorated function passes on to is told by the one inside; what reaches it, by itself alone.
            signature = inspect.signature(function, eval_str=True, follow_wrapped=False)
        return signature
    except (ValueError, TypeError, NameError, SyntaxError):
        pass
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        raise TraceError(
            f"{function!r} has no signature, so its inputs are not known",
            help="wrap it in a function with named parameters: lambda x: f(x)",
        ) from None
    # Annotations that name things out of reach stay out of the graph.
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return signature.replace(parameters=bare, return_annotation=signature.empty)


def _ordered(signature: inspect.Signature, skip_self: bool) -> list[inspect.Parameter]:
    parameters = list(signature.parameters.values())
    if skip_self and parameters and parameters[0].kind in _VARIADIC:
        raise TraceError(
            f"the traced method takes its module in {parameters[0]}, which hides what else it takes",
            help="name its parameters, self first; or capture a call of it with weft.trace or weft.compile",
        )
    return parameters[skip_self:]


def is_free(tracer: Tracer, function: Callable[..., Any]) -> bool:
    """Whether the function is the root itself, rather than the `forward` of the root's class."""
    return getattr(type(tracer.root), tracer.traced_func_name, None) is not function


def _by_name(concrete_args: Any, parameters: list[inspect.Parameter]) -> dict[str, Any]:
    if concrete_args is None:
        return {}
    if isinstance(concrete_args, tuple):
        concrete_args = dict(zip((p.name for p in parameters), concrete_args, strict=False))
    known = {p.name: p for p in parameters}
    for name in concrete_args:
        if name not in known:
            raise TraceError(
                f"concrete_args names {name!r}, which is not a parameter", help=f"parameters: {', '.join(known)}"
            )
        wanted = dict if known[name].kind is inspect.Parameter.VAR_KEYWORD else tuple
        if (
            known[name].kind in _VARIADIC
            and concrete_args[name] is not PH
            and not isinstance(concrete_args[name], wanted)
        ):
            raise TraceError(
                f"concrete_args fixes {_stars(known[name])}{name} to {concrete_args[name]!r}",
                help=f"give a {wanted.__name__} with PH for what stays an input: {_EXAMPLES[wanted]}",
            )
    return dict(concrete_args)


def annotation_of(annotation: Any) -> Any:
    """The type a node gets from an annotation; None from one that says nothing."""
    return None if annotation is inspect.Signature.empty or annotation is Any else annotation


def _stars(parameter: inspect.Parameter) -> str:
    return "*" * (1 + _VARIADIC.index(parameter.kind)) if parameter.kind in _VARIADIC else ""


def _plain(tracer: Tracer, parameter: inspect.Parameter) -> Any:
    stars = _stars(parameter)
    args = () if parameter.default is parameter.empty else (parameter.default,)
    annotation = None if stars else annotation_of(parameter.annotation)
    # Straight to the node: a default is kept as it is, where an argument would be taken apart.
    return tracer.proxy(tracer.create_node("placeholder", stars + parameter.name, args, {}, None, annotation))
