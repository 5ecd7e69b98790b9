"""Parameters in a list and in a dict, so that a module finds them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from weft._module import Module, is_parameter
from weft.autograd import Parameter, Tensor

__all__ = ["ParameterDict", "ParameterList"]


class _Parameters(Module):
    """Parameters under names; a plain tensor becomes a parameter."""

    def __len__(self) -> int:
        return len(self._parameters)

    def _put(self, name: str, value: Any) -> None:
        if not is_parameter(value):
            if not isinstance(value, Tensor):
                owner = type(self).__name__
                raise TypeError(f"{owner}: expected a Parameter or a Tensor, got {type(value).__name__}")
            value = Parameter(value)
        self._check_new(name, "_parameters")
        self._parameters[name] = value

    def _repr_children(self) -> list[tuple[str, str]]:
        """One line a parameter, its dtype and shape."""
        return [(name, f"Parameter of {p.dtype} and shape {tuple(p.shape)}") for name, p in self._parameters.items()]


class ParameterList(_Parameters):
    """A list of parameters, under the names "0", "1" and so on.

    >>> import weft
    >>> held = ParameterList([weft.nn.Parameter([1.0, 2.0]), weft.nn.Parameter([[3.0]])])
    >>> len(held), [name for name, _ in held.named_parameters()]
    (2, ['0', '1'])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList(list(self)[index])
        return self.__getattr__(self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._name(index), value)

    def append(self, value: Any) -> ParameterList:
        """Add a parameter at the end."""
        self._put(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add parameters at the end."""
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def _name(self, index: int) -> str:
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"index {at} is out of range for {len(self)} parameters")
        return str(at % len(self))


class ParameterDict(_Parameters):
    """A dict of parameters.

    >>> import weft
    >>> held = ParameterDict({"left": weft.nn.Parameter([1.0]), "right": weft.nn.Parameter([2.0])})
    >>> "left" in held, list(held)
    (True, ['left', 'right'])
    """

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def __getitem__(self, key: str) -> Any:
        if key not in self._parameters:
            raise KeyError(key)
        return self.__getattr__(key)  # a parameter may be called `keys` or `forward`

    def __setitem__(self, key: str, value: Any) -> None:
        self._put(key, value)

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._parameters.keys()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and parameters."""
        return self._parameters.items()

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of a name, or a default."""
        return self[key] if key in self._parameters else default

    def pop(self, key: str) -> Any:
        """Take a parameter out and return it."""
        value = self[key]
        del self[key]
        return value

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add parameters by name."""
        for key, value in parameters.items() if isinstance(parameters, Mapping) else parameters:
            self[key] = value
