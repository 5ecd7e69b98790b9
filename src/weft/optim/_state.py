"""The state of an optimiser as plain data: parameters become numbers, counted through the groups in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.autograd import Tensor
from weft.errors import StateError

if TYPE_CHECKING:
    from weft.optim._optimizer import Optimizer

Groups = list[dict[str, Any]]
State = dict[Any, dict[str, Any]]


def pack(state: State, groups: Groups) -> dict[str, Any]:
    """State and groups, with numbers in place of parameters."""
    numbers: dict[int, int] = {}
    for group in groups:
        for parameter in group["params"]:
            numbers[id(parameter)] = len(numbers)
    packed = {numbers.get(id(key), key): dict(entry) for key, entry in state.items() if entry}
    plain = [{**group, "params": [numbers[id(p)] for p in group["params"]]} for group in groups]
    return {
        "state": packed,
        "param_groups": [{**_without(group, "params"), "params": group["params"]} for group in plain],
    }


def load(optimizer: Optimizer, state_dict: Mapping[str, Any]) -> tuple[Groups, State]:
    """Groups and state of an optimiser after loading, made without changing it."""
    name = type(optimizer).__name__
    saved = _saved_groups(name, state_dict)
    own = optimizer.param_groups
    wrong = []
    if len(saved) != len(own):
        wrong.append(f"{len(saved)} parameter groups given, {len(own)} expected")
    for i, (theirs, ours) in enumerate(zip(saved, own, strict=False)):
        if len(theirs["params"]) != len(ours["params"]):
            wrong.append(f"group {i}: {len(theirs['params'])} parameters given, {len(ours['params'])} expected")
    _refuse(name, wrong)
    parameters: dict[Any, Tensor] = {}
    for theirs, ours in zip(saved, own, strict=True):
        parameters.update(zip(theirs["params"], ours["params"], strict=True))
    for number, entry in state_dict["state"].items():
        if not isinstance(entry, Mapping):
            wrong.append(f"state {number!r}: a dict is expected, got {type(entry).__name__}")
        elif number in parameters:
            wrong += optimizer._check_state(number, parameters[number], entry)
        elif isinstance(number, int):
            wrong.append(f"state {number}: no parameter group has a parameter {number}")
    groups = [_merged(optimizer.defaults, theirs, ours) for theirs, ours in zip(saved, own, strict=True)]
    for i, group in enumerate(groups):
        try:
            optimizer._check_options(group)
        except (TypeError, ValueError) as error:
            wrong.append(f"group {i}: {error}")
    _refuse(name, wrong)
    state: State = defaultdict(dict)
    for number, entry in state_dict["state"].items():
        parameter = parameters.get(number)
        key = number if parameter is None else parameter
        state[key] = {name: _own(value, _dtype(optimizer, parameter, name), name) for name, value in entry.items()}
    return groups, state


def _saved_groups(name: str, state_dict: Any) -> Groups:
    if not isinstance(state_dict, Mapping) or not {"state", "param_groups"} <= state_dict.keys():
        _refuse(name, ["a dict with 'state' and 'param_groups' is expected"])
    groups, state = state_dict["param_groups"], state_dict["state"]
    listed = isinstance(groups, (list, tuple)) and all(isinstance(g, Mapping) and "params" in g for g in groups)
    if not listed or not isinstance(state, Mapping):
        _refuse(name, ["'param_groups' is a list of dicts with 'params', and 'state' a dict"])
    return [dict(group) for group in groups]


def _merged(defaults: dict[str, Any], saved: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The saved options; defaults where an older file knows nothing of an option; always our own parameters."""
    options = {**defaults, **deepcopy(_without(saved, "params"))}
    if "param_names" in own:
        options["param_names"] = own["param_names"]
    return {**options, "params": own["params"]}


def _dtype(optimizer: Optimizer, parameter: Tensor | None, name: str) -> np.dtype[Any] | None:
    """The dtype of a state that follows its parameter's; None for one that keeps its own."""
    follows = optimizer._remembers is None or name in optimizer._buffers
    return parameter.dtype if follows and parameter is not None else None


def _own(value: Any, dtype: np.dtype[Any] | None, name: str) -> Any:
    """A copy with memory of its own; a count of steps is an int here, and a tensor in torch."""
    if isinstance(value, (list, tuple)):
        return type(value)(_own(part, dtype, name) for part in value)
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return deepcopy(value)
    array = np.asarray(value)
    if name == "step" and array.ndim == 0:
        return int(array)
    follows = dtype is not None and dtype.kind == array.dtype.kind
    return Tensor(np.array(array, dtype if follows else array.dtype, order="C"))


def _without(group: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in group.items() if key != name}


def _refuse(name: str, wrong: list[str]) -> None:
    if wrong:
        lines = [
            f"load_state_dict: the state does not fit {name}; nothing was changed",
            *(f"  {line}" for line in wrong),
        ]
        raise StateError("\n".join(lines))
