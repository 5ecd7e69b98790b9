"""Objects of dataclasses that finish themselves in a `__post_init__`: it is the program's own, and is captured.

The `__init__` of such a class has no source. It is given an object that keeps what it assigns, and the program's object
takes that up.
"""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, Any

from weft.capture._changes import Watch

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


class _Assigned:
    """What the `__init__` of a dataclass assigns to an object, and gives its `__post_init__`."""

    def __post_init__(self, *given: Any) -> None:
        object.__setattr__(self, "", given)


def finishes_itself(cls: Any) -> bool:
    """Whether a class has the `__init__` of dataclasses, which calls a method of the program's."""
    owner = next((base for base in cls.__mro__ if "__init__" in vars(base)), object)
    params: Any = vars(owner).get("__dataclass_params__")
    own = isinstance(getattr(cls, "__post_init__", None), types.FunctionType) and cls.__new__ is object.__new__
    generated = params is not None and params.init and cls.__init__.__code__.co_filename == "<string>"
    return own and generated and (params.frozen or cls.__setattr__ is object.__setattr__)


def construct(recorder: Recorder, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`cls(*args, **kwargs)`."""
    assigned = _Assigned()
    cls.__init__(assigned, *args, **kwargs)
    values = vars(assigned)
    given = values.pop("", ())
    made = cls.__new__(cls)
    recorder.made(made)
    known = {id(value) for value in (*args, *kwargs.values())}
    for field in dataclasses.fields(cls):
        if field.default_factory is not dataclasses.MISSING and id(values.get(field.name)) not in known:
            for value, _ in Watch(recorder, values.get(field.name)).objects.values():
                recorder.made(value)
    for name, value in values.items():
        if cls.__dataclass_params__.frozen:
            object.__setattr__(made, name, value)
        else:
            recorder.hooks.setattr(made, name, value)
    recorder.call(cls.__post_init__, (made, *given), {})
    return made
