"""What a call gives a function: its own parameters, and those of a function inside a decorator."""

from __future__ import annotations

import functools
import inspect
from types import FunctionType, MethodType
from typing import Any

_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def call_signature(function: Any) -> inspect.Signature:
    """The parameters that a function itself takes; what `functools.wraps` tells of the one inside is not asked.

    A decorator that takes `*args` is given what the caller gives: no default of the function inside is among that.
    """
    inner = function
    while not isinstance(inner, (FunctionType, MethodType)) and "__signature__" not in getattr(inner, "__dict__", {}):
        if not hasattr(inner, "__wrapped__"):
            break
        inner = inner.__wrapped__
    if isinstance(inner, FunctionType) and "__signature__" in inner.__dict__:  # what it shows is not what it takes
        shown, inner = inner, FunctionType(inner.__code__, inner.__globals__, closure=inner.__closure__)
        inner.__defaults__, inner.__kwdefaults__ = shown.__defaults__, shown.__kwdefaults__
    return inspect.signature(inner, follow_wrapped=False)


def passes_on(function: Any) -> bool:
    """Whether a call comes to a decorator that takes `*args` or `**kwargs` for the function inside."""
    while isinstance(function, functools.partial) or hasattr(function, "__weft_original__"):
        function = function.func if isinstance(function, functools.partial) else function.__weft_original__
    if not hasattr(function, "__wrapped__"):
        return False
    own = function if isinstance(function, (FunctionType, MethodType)) else getattr(type(function), "__call__", None)  # noqa: B004  # the function itself is wanted
    return isinstance(own, (FunctionType, MethodType)) and _is_variadic(inspect.signature(own, follow_wrapped=False))


def _is_variadic(signature: inspect.Signature) -> bool:
    return any(parameter.kind in _STARS for parameter in signature.parameters.values())


def signature_of_one_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], held: int) -> inspect.Signature:
    """What one call of a function gives it: of a decorator that takes `*args`, by the names of the function inside.

    So it is where the first `held` arguments, which are bound to the function, stand among `*args`.
    """
    own = call_signature(function)
    names = _positional(inspect.signature(function) if passes_on(function) else own)
    if not passes_on(function) and (len(names) >= held or not _is_variadic(own)):
        return own
    names = [*names[: len(args)], *(f"args_{number}" for number in range(len(names) + 1, len(args) + 1))]
    if not kwargs.keys().isdisjoint(names):
        return own
    positional = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    return inspect.Signature([*positional, *(inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in kwargs)])


def _positional(signature: inspect.Signature) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]


def markers(parameters: list[inspect.Parameter], shown: list[str]) -> list[str]:
    """The parameters with `/` and `*` where Python wants them."""
    made: list[str] = []
    kinds = [p.kind for p in parameters]
    for k, text in enumerate(shown):
        if kinds[k] is inspect.Parameter.KEYWORD_ONLY and not any(
            kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_POSITIONAL) for kind in kinds[:k]
        ):
            made.append("*")
        made.append(text)
        last = k + 1 == len(shown) or kinds[k + 1] is not inspect.Parameter.POSITIONAL_ONLY
        if kinds[k] is inspect.Parameter.POSITIONAL_ONLY and last:
            made.append("/")
    return made
