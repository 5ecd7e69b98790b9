"""Modules as arguments to differentiate by: what varies is their parameters, as a dict by name."""

from __future__ import annotations

from typing import Any

from weft._module import Module
from weft.capture._recorder import Recorder


def varying(value: Any) -> Any:
    """The parameters of a Module that require gradients, by name; of anything else, itself."""
    if not isinstance(value, Module):
        return value
    return {name: parameter for name, parameter in value.named_parameters() if parameter.requires_grad}


def open_modules(recorder: Recorder, function: Any, args: tuple[Any, ...], chosen: list[int]) -> Any:
    """A function of the parameters of the Modules among the chosen arguments, and the arguments for it."""
    modules = {at: args[at] for at in chosen if isinstance(args[at], Module)}
    if not modules:
        return function, args
    held = {at: varying(module) for at, module in modules.items()}
    given = tuple(held.get(at, value) for at, value in enumerate(args))

    def call(*values: Any, **kwargs: Any) -> Any:
        before = dict(recorder.constants)
        for at, parameters in held.items():
            for name, parameter in parameters.items():
                recorder.constants[id(parameter)] = (parameter, values[at][name])
        try:
            return recorder.run(function, tuple(modules.get(at, value) for at, value in enumerate(values)), kwargs)
        finally:
            for parameters in held.values():
                for parameter in parameters.values():
                    recorder.constants.pop(id(parameter), None)
            recorder.constants.update({key: value for key, value in before.items() if key not in recorder.constants})

    return call, given
