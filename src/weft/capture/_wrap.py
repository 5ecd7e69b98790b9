"""`wrap`: make a function of your own one node of the graph instead of tracing into it."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from typing import Any

from weft import pytree
from weft.capture._proxy import Proxy


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Record calls of a function as one `call_function` node.

    As a decorator it returns the function; given a name, it rebinds that name in the calling module, which may be a
    builtin such as `len`. Called with ordinary values the function does what it always did.

    >>> import weft
    >>> @weft.wrap
    ... def half(x):
    ...     return x / 2 if x > 1 else x
    >>> print(weft.symbolic_trace(lambda x: half(x) + 1).graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %half : [num_users=1] = call_function[target=half](args = (%x,), kwargs = {})
        %add : [num_users=1] = call_function[target=operator.add](args = (%half, 1), kwargs = {})
        return add
    """
    if callable(fn_or_name):
        return _recorded(fn_or_name)
    if not isinstance(fn_or_name, str):
        raise TypeError(f"wrap takes a function or the name of one, not {type(fn_or_name).__name__}")
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>" and frame.f_locals is not frame.f_globals:
        raise RuntimeError("wrap('name') must be called at the top level of a module; use it as a decorator elsewhere")
    scope = frame.f_globals
    function = scope.get(fn_or_name, getattr(builtins, fn_or_name, None))
    if not callable(function):
        raise NameError(f"wrap: {fn_or_name!r} is not a function here; define or import it first")
    scope[fn_or_name] = _recorded(function)
    return fn_or_name


def is_wrapped(function: Any) -> bool:
    """Whether calls of a function are recorded whole."""
    return getattr(function, "_weft_wrapped", False) is True


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(function, "_weft_wrapped", False):
        return function

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        for leaf in pytree.leaves_of((args, kwargs)):
            if isinstance(leaf, Proxy):
                called = leaf.tracer.create_proxy("call_function", wrapped, args, kwargs)
                leaf.tracer._wrote = getattr(called, "node", None)
                return called
        return function(*args, **kwargs)

    wrapped._weft_wrapped = True  # type: ignore[attr-defined]  # functions take attributes
    return wrapped
