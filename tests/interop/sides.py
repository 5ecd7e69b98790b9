"""torch.fx and weft behind the same names, and a log of what a program written against them did.

A scenario is a function of a library and a log. It is run once with each library, and the logs must be equal, entry by
entry. Where weft means to differ, the scenario says so with `log.differs`, which states what each of the two gives.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.fx
import torch.fx.proxy
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.subgraph_rewriter import replace_pattern_with_filters

import weft
import weft.capture
import weft.patterns

SCENARIOS: dict[str, Callable[[Any, Log], None]] = {}


class Library:
    """A tensor library with its `fx`; any other name is the library's own (`lib.relu`, `lib.nn`)."""

    def __init__(self, name: str, package: Any, fx: Any) -> None:
        self.name = name
        self.package = package
        self.fx = fx

    def __getattr__(self, name: str) -> Any:
        return getattr(self.package, name)

    def array(self, value: Any, dtype: Any = np.float32) -> Any:
        array = np.asarray(value, dtype)
        return torch.from_numpy(array.copy()) if self.package is torch else array

    def parameter(self, value: Any) -> Any:
        return self.nn.Parameter(self.array(value))

    def seeded(self, make: Callable[[], Any]) -> Any:
        """A module with the same state on both sides."""
        module = make()
        random = np.random.default_rng(0)
        state = {}
        for name, value in module.state_dict().items():
            shape = tuple(value.shape)
            drawn = random.uniform(0.5, 1.5, shape) if "var" in name else random.standard_normal(shape) * 0.5
            state[name] = self.array(drawn, np.int64 if "num_batches" in name else np.float32)
        module.load_state_dict(state)
        return module


TORCH = Library(
    "torch",
    torch,
    SimpleNamespace(
        **{name: getattr(torch.fx, name) for name in dir(torch.fx) if not name.startswith("_")},
        Attribute=torch.fx.proxy.Attribute,
        TracerBase=torch.fx.proxy.TracerBase,
        GraphAppendingTracer=torch.fx.proxy.GraphAppendingTracer,
        replace_pattern_with_filters=replace_pattern_with_filters,
        SubgraphMatcher=SubgraphMatcher,
    ),
)
WEFT = Library(
    "weft",
    weft,
    SimpleNamespace(
        **{name: getattr(weft.capture, name) for name in weft.capture.__all__},
        **{name: getattr(weft.graph, name) for name in weft.graph.__all__},
        has_side_effect=weft.has_side_effect,
        SubgraphMatcher=weft.patterns.SubgraphMatcher,
    ),
)


class Log:
    """What a scenario did, as plain data that does not name the library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.entries: list[tuple[str, Any]] = []

    def __call__(self, label: str, value: Any) -> None:
        """Note a value; it has to be the same on both sides."""
        self.entries.append((label, plain(value)))

    def raises(self, label: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Note that a call raises, and the builtin class its error belongs to."""
        self.entries.append((label, error_of(function, *args, **kwargs)))

    def differs(self, label: str, value: Any, *, torch: Any, weft: Any) -> None:
        """Note a value that is not the same on both sides, and is known not to be."""
        expected = torch if self.library is TORCH else weft
        assert plain(value) == expected, label
        self.entries.append((label, "differs"))

    def close(self, label: str, value: Any) -> None:
        """Note numbers, which have to agree to float32's accuracy."""
        self.entries.append((label, Numbers(value)))


class Numbers:
    """Arrays in a container; equal when close."""

    def __init__(self, value: Any) -> None:
        self.value = arrays(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and _close(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.value)


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and _close(list(a.values()), list(b.values()))
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, np.ndarray):
        # float32 sums of up to a hundred terms, in another order.
        return isinstance(b, np.ndarray) and a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-5)
    return bool(a == b)


def arrays(value: Any) -> Any:
    """A result with NumPy arrays in place of tensors."""
    if isinstance(value, torch.Tensor | weft.Tensor):
        return np.array(value.detach().numpy())
    if isinstance(value, dict):
        return {key: arrays(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(map(arrays, value))
    return np.array(value) if isinstance(value, np.generic | np.ndarray) else value


def error_of(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """'raises' and the builtin class of the error a call gives; 'returns' where it gives none."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        kind = next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return f"raises {kind.__name__}"
    return "returns"


def scenario(function: Callable[[Any, Log], None]) -> Callable[[Any, Log], None]:
    """Make a function one of the scenarios."""
    assert function.__name__ not in SCENARIOS
    SCENARIOS[function.__name__] = function
    return function


# Plain data


def plain(value: Any) -> Any:
    """A value without the library's own objects."""
    if isinstance(value, torch.fx.Node | weft.Node):
        return value.name
    if isinstance(value, torch.fx.Graph | weft.Graph):
        return [row(node) for node in value.nodes]
    if isinstance(value, torch.fx.GraphModule | weft.GraphModule):
        return [*plain(value.graph), text(value.code)]
    if isinstance(value, torch.Tensor | weft.Tensor | np.ndarray | np.generic):
        return arrays(value).tolist()
    if isinstance(value, dict):
        return {plain(key): plain(part) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (type(value).__name__, *map(plain, value))
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        return list(map(plain, value))
    if isinstance(value, slice):
        return ("slice", plain(value.start), plain(value.stop), plain(value.step))
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int | float | complex | bool | type(None) | type(...)):
        return value
    if isinstance(value, type) and value.__module__ == "builtins":
        return value.__name__
    return target(value)


def row(node: Any) -> tuple[Any, ...]:
    """Everything about a node."""
    inputs, users = [plain(one) for one in node.all_input_nodes], [plain(one) for one in node.users]
    return node.op, node.name, plain(node.target), plain(node.args), plain(node.kwargs), inputs, users, plain(node.type)


def target(function: Any) -> str:
    """A function by name, in neither library's namespace."""
    name = getattr(function, "__name__", type(function).__name__)
    if getattr(operator, name, None) is function:
        return f"operator.{name}"
    return str(name).removeprefix("_")


def text(written: str) -> str:
    """Generated text without the name of the library and without empty lines."""
    lines = [line.rstrip() for line in written.splitlines() if line.strip()]
    return re.sub(
        r"\b(?:torch\.nn\.functional|weft\.nn\.functional|torch\._C\._nn|torch|weft)\.", "lib.", "\n".join(lines)
    )


def names(nodes: Sequence[Any]) -> list[str]:
    return [node.name for node in nodes]


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether a call raises."""
    return error_of(function, *args, **kwargs) != "returns"


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call returns, or 'raises'."""
    try:
        return function(*args, **kwargs)
    except Exception:
        return "raises"


def traced(lib: Library, function: Callable[..., Any]) -> Any:
    """The graph of a function, or 'raises'."""
    return outcome(lambda: lib.fx.symbolic_trace(function).graph)
