"""Modules that hold modules: in a row, in a list, in a dict."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from weft._module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _Row(Module):
    """Modules under the names "0", "1", …; names stay in order when some are inserted or deleted."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __contains__(self, module: object) -> bool:
        return any(held is module for held in self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(index)
        return self._modules[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        gone = set(names[index]) if isinstance(index, slice) else {self._name(index)}
        self._renumber([(name, module) for name, module in self._modules.items() if name not in gone])

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(self._next_name(), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before a place."""
        items: list[tuple[str, Any]] = list(self._modules.items())
        items.insert(index, (self._next_name(), module))
        self._renumber(items)
        return self

    def pop(self, index: int = -1) -> Any:
        """Take a module out and return it."""
        module = self[index]
        del self[index]
        return module

    def _name(self, index: int) -> str:
        names = list(self._modules)
        at = operator.index(index)
        if not -len(names) <= at < len(names):
            raise IndexError(f"index {at} is out of range for {len(names)} modules")
        return names[at]

    def _next_name(self) -> str:
        number = len(self._modules)
        while str(number) in self._modules:
            number += 1
        return str(number)

    def _part(self, index: slice) -> Any:
        raise NotImplementedError

    def _renumber(self, items: list[tuple[str, Any]]) -> None:
        """Number the modules again; names given by the user stay."""
        self._modules.clear()
        for number, (name, module) in enumerate(items):
            self._modules[str(number) if name.isdigit() else name] = module


class Sequential(_Row):
    """Modules one after another, each fed what the one before gives.

    >>> from weft import nn
    >>> nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    Sequential(  # 49 parameters
      (0): Linear(in_features=4, out_features=8, bias=True)  # 40 parameters
      (1): ReLU()
      (2): Linear(in_features=8, out_features=1, bias=True)  # 9 parameters
    )
    """

    _is_container = True

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)

    def _part(self, index: slice) -> Sequential:
        items = list(self._modules.items())[index]
        named = any(not name.isdigit() for name, _ in items)
        return Sequential(dict(items)) if named else Sequential(*(module for _, module in items))

    def forward(self, input: Any) -> Any:
        """The input through every module in turn."""
        for module in self:
            input = module(input)
        return input

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            return NotImplemented
        return Sequential(*self, *other)


class ModuleList(_Row):
    """A list of modules, so that the parameters of each are found."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def _part(self, index: slice) -> ModuleList:
        return ModuleList(list(self)[index])

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, other: Iterable[Module]) -> Any:
        return self.extend(other)

    def _repr_children(self) -> list[tuple[str, str]]:
        """Submodules that look the same, one after another, in one line."""
        rows: list[tuple[int, int, str]] = []
        for number, module in enumerate(self):
            text = repr(module)
            if rows and rows[-1][2] == text:
                rows[-1] = (rows[-1][0], number, text)
            else:
                rows.append((number, number, text))
        return [(str(a), text) if a == b else (f"{a}-{b}", f"{b - a + 1} x {_for_each(text)}") for a, b, text in rows]


class ModuleDict(Module):
    """A dict of modules, so that the parameters of each are found."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()

    def pop(self, key: str) -> Any:
        """Take a module out and return it."""
        return self._modules.pop(key)

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules by name."""
        for key, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[key] = module


def _for_each(text: str) -> str:
    """The text of one of several modules: the number of its parameters is that of each."""
    return re.sub(r"^(.*  # [\d,]+ parameters?)", r"\1 each", text, count=1)
