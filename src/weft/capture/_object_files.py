"""Objects in the file of a function: optimisers, schedules, counters and generators, as data and back.

A file names classes of weft's own, or such as the loader allows; what an object holds is put into it without running
any code of its class.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from weft._objects import Space
from weft._step import Holder
from weft.autograd import Tensor
from weft.capture._step_guards import Was
from weft.graph._decode import Decoder, expect, refuse
from weft.graph._encode import Encoder, Unsupported
from weft.graph._save import shadows
from weft.graph._trusted import check_attribute, check_name, name_of

_BITS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_GENERATORS = (np.random.Generator, np.random.RandomState)


def owner_of(value: Any) -> Any:
    """What a Holder holds; anything else as it is."""
    return value.value if type(value) is Holder else value


def is_object(value: Any) -> bool:
    """Whether a value goes to a file as an object of its own."""
    return isinstance(value, (Holder, Space, Was, *_GENERATORS)) or _family(type(value)) is not None


def parts_of(value: Any) -> Iterator[Tensor]:
    """The Tensors among the state of a function whose gradients belong to it."""
    if isinstance(value, Tensor):
        yield value
    elif hasattr(value, "param_groups"):
        for group in value.param_groups:
            yield from group["params"]


@functools.cache
def _classes() -> dict[str, type]:
    """The optimisers and schedules that every file may name."""
    found: dict[str, type] = {}
    for room in ("weft.optim", "weft.optim.lr_scheduler"):  # by name: captured steps know no optimiser
        found |= {f"{room}.{name}": one for name, one in vars(import_module(room)).items() if isinstance(one, type)}
    return found


def _family(cls: type) -> type | None:
    """`Optimizer` or `LRScheduler`, where a class is one."""
    bases = (_classes()["weft.optim.Optimizer"], _classes()["weft.optim.lr_scheduler.LRScheduler"])
    return next((base for base in bases if issubclass(cls, base)), None)


def space(values: dict[str, Any], encoder: Encoder) -> dict[str, Any]:
    """What graphs read and change of an object, as data."""
    for name, value in values.items():
        try:
            encoder.value(value)
        except Unsupported as error:
            raise Unsupported(f".{name} of an object that it changes: {error}") from None
    return {"kind": "space", "values": {name: encoder.value(value) for name, value in values.items()}}


def describe(value: Any, encoder: Encoder) -> dict[str, Any]:
    """An object as data."""
    if type(value) is Holder:
        return {"kind": "holder", "of": encoder.value(value.value)}
    if isinstance(value, Was):
        states = [
            (parameter, dict(kinds), frozenset(begun), dict(plain)) for parameter, kinds, begun, plain in value.states
        ]
        parts = (value.optimizer, tuple(value.parameters), dict(value.fixed), states)
        return {"kind": "was", "parts": encoder.value(parts)}
    if isinstance(value, np.random.Generator):
        state = value.bit_generator.state
        if type(value) is not np.random.Generator or state["bit_generator"] not in _BITS:
            raise Unsupported(f"a generator over {type(value.bit_generator).__name__} cannot be saved")
        return {"kind": "generator", "state": _state(encoder, state)}
    if isinstance(value, np.random.RandomState):
        return {"kind": "random_state", "state": _state(encoder, value.get_state(legacy=False))}
    cls = type(value)
    name = next((name for name, one in _classes().items() if one is cls), None)
    attributes = {key: one for key, one in value.__dict__.items() if key != "state"}
    described: dict[str, Any] = {"kind": "object", "class": name or name_of(cls, _unsupported)}
    for key in attributes:
        if shadows(cls, key):
            raise Unsupported(f"attribute {key!r} of {cls.__name__} replaces a method of its class")
    described["attributes"] = {key: encoder.value(one) for key, one in attributes.items()}
    if "state" in value.__dict__:
        entries = [[encoder.value(key), encoder.value(dict(one))] for key, one in value.state.items()]
        described["state"] = entries
    return described


def _state(encoder: Encoder, state: Any) -> Any:
    """The state of a generator: dicts, numbers, and arrays of them as lists."""
    if isinstance(state, dict):
        return {key: _state(encoder, part) for key, part in state.items()}
    if isinstance(state, np.ndarray):
        return {"words": [state.dtype.str, *map(str, state.tolist())]}
    return encoder.value(state if isinstance(state, str) else int(state) if isinstance(state, np.integer) else state)


def build(data: Any, decoder: Decoder) -> Any:
    """The object that was described."""
    kind = expect(data, dict, "an object").get("kind")
    builder = _BUILDERS.get(kind) if isinstance(kind, str) else None
    if builder is None:
        refuse(f"an object of unknown kind {str(kind)[:80]!r}")
    return builder(data, decoder)


def _space(data: dict[str, Any], decoder: Decoder) -> Space:
    values = expect(data.get("values"), dict, "what an object holds")
    if any(name.startswith("__") for name in values):
        refuse("an object holds what it cannot")
    return Space({check_name(name, refuse): decoder.value(value) for name, value in values.items()})


def _holder(data: dict[str, Any], decoder: Decoder) -> Holder:
    owner = decoder.value(data.get("of"))
    if type(owner) is not Space:
        refuse("it holds what it cannot")
    return Holder(owner)


def _built_was(data: dict[str, Any], decoder: Decoder) -> Was:
    parts = decoder.value(data.get("parts"))
    if type(parts) is not tuple or len(parts) != 4 or _family(type(parts[0])) is None:
        refuse("what an optimiser was like does not have the parts it should have")
    optimizer, parameters, fixed, states = parts
    rows = [one for one in expect(states, list, "the states of an optimiser") if type(one) is tuple and len(one) == 4]
    fits = all(
        isinstance(a, Tensor) and type(b) is dict and type(c) is frozenset and type(d) is dict for a, b, c, d in rows
    )
    if len(rows) != len(states) or not fits or type(fixed) is not dict or type(parameters) is not tuple:
        refuse("what an optimiser was like does not have the parts it should have")
    return Was(optimizer, [*parameters], fixed, rows)


def _generator(data: dict[str, Any], decoder: Decoder) -> Any:
    state = _plain_state(data.get("state"), decoder)
    bits = state.get("bit_generator") if isinstance(state, dict) else None
    if bits not in _BITS:
        refuse(f"a generator of unknown kind {str(bits)[:80]!r}")
    made = getattr(np.random, bits)(0)
    made.state = state
    return np.random.Generator(made)


def _random_state(data: dict[str, Any], decoder: Decoder) -> Any:
    made = np.random.RandomState(0)
    made.set_state(_plain_state(data.get("state"), decoder))
    return made


def _plain_state(data: Any, decoder: Decoder) -> Any:
    if isinstance(data, dict) and data.keys() == {"words"}:
        name, *words = expect(data["words"], list, "the words of a generator")
        if name not in ("<u4", "<u8") or len(words) > 10_000:
            refuse("the words of a generator are not its own")
        return np.array([int(expect(word, str, "a word")[:30]) for word in words], np.dtype(name))
    if isinstance(data, dict) and not data.keys() & {"int", "float"}:
        return {key: _plain_state(part, decoder) for key, part in data.items()}
    return decoder.value(data)


def _object(data: dict[str, Any], decoder: Decoder) -> Any:
    name = data.get("class")
    cls = _classes().get(name) if isinstance(name, str) else None
    cls = decoder.function(name) if cls is None else cls
    family = _family(cls) if isinstance(cls, type) else None
    if family is None:
        refuse(f"{str(name)[:80]!r} is neither an optimiser nor a schedule")
    made: Any = object.__new__(cls)
    for key, value in expect(data.get("attributes"), dict, "the attributes of an object").items():
        check_attribute(key, refuse)
        if shadows(cls, key):
            refuse(f"{key!r} cannot be held by a {cls.__name__}")
        made.__dict__[key] = decoder.value(value)
    if "state" in data:
        state: dict[Any, dict[str, Any]] = defaultdict(dict)
        made.__dict__["state"] = state
        for entry in expect(data["state"], list, "the state of an optimiser"):
            parameter, held = (decoder.value(part) for part in expect(entry, list, "a state")[:2])
            if not isinstance(parameter, Tensor) or type(held) is not dict:
                refuse("the state of an optimiser is not that of its parameters")
            state[parameter] = held
    return _checked(made, family)


def _checked(made: Any, family: type) -> Any:
    """Refuse an object without what every one of its kind has."""
    if family is _classes()["weft.optim.Optimizer"]:
        groups = made.__dict__.get("param_groups")
        fits = type(groups) is list and all(
            type(group) is dict and all(isinstance(one, Tensor) for one in group.get("params", (None,)))
            for group in groups
        )
        fits = fits and type(made.__dict__.get("state")) is defaultdict and type(made.__dict__.get("defaults")) is dict
    else:
        fits = _family(type(made.__dict__.get("optimizer"))) is _classes()["weft.optim.Optimizer"]
    if not fits:
        refuse(f"a {type(made).__name__} does not hold what it should")
    return made


def _unsupported(reason: str) -> Any:
    raise Unsupported(reason)


_BUILDERS: dict[str, Callable[[dict[str, Any], Decoder], Any]] = {
    "space": _space,
    "holder": _holder,
    "was": _built_was,
    "generator": _generator,
    "random_state": _random_state,
    "object": _object,
}
