"""Values as Python source, and the names of everything that cannot be written down.

`Literals` writes a constant so that evaluating the text gives the same value. What has no exact spelling (an array, an
object of the user's) is bound to a global of its own. A name is taken by one thing only: not by a local variable of the
function being written, not by another object, not by a builtin, so no name or string in a graph can change what the
code means.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import keyword
import math
import re
import sys
import types
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from weft import pytree
from weft.graph._arguments import ImmutableDict, ImmutableList
from weft.graph._names import snake_case
from weft.graph._node import Node
from weft.graph._print import where_defined
from weft.ops._op import Op

# Libraries whose functions are written as they are imported; the functions of others are bound by value.
_LIBRARIES = frozenset({"weft", "numpy", "scipy", "math", "cmath", "operator"})
_NOT_IN_NAMES = re.compile(r"\W+", re.ASCII)
_PLAIN = (int, float, bool, str, bytes, type(None), type(...))
_SIMPLE_SCALARS = "?bhilqBHILQefdFD"


class Literals:
    """Writes values, collecting the globals that the text needs."""

    def __init__(self, local_names: Iterable[str]) -> None:
        self.globals: dict[str, Any] = {}
        self._taken = set(local_names)
        self._names: dict[int, str] = {}
        self._functions: dict[Any, str] = {}  # a graph calls few functions many times

    def __call__(self, value: Any) -> str:
        kind = type(value)
        if kind is Node:
            return str(value.name)
        if kind is float:
            return self._float(value)
        if kind is int:
            # Python refuses to print integers of thousands of digits in decimal.
            return repr(value) if -(1 << 64) < value < (1 << 64) else hex(value)
        if kind in _PLAIN:
            return "..." if value is ... else repr(value)
        writer = next((write for base, write in _WRITERS if isinstance(value, base)), None)
        text = None if writer is None else writer(self, value)
        if text is not None:
            return text
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        return self.bound(value)

    def _dataclass(self, value: Any) -> str:
        # A constructor that does more than set the fields must not do it again on what it made of them.
        plain = pytree.made_of_fields(value)
        held = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)}
        held = held if plain else {**getattr(value, "__dict__", {}), **held}
        fields = ", ".join(f"{name}={self(part)}" for name, part in held.items())
        cls = self.function(type(value))
        return f"{cls}({fields})" if plain else f"{self.function(pytree.build)}({cls}, {fields})"

    # Names

    def bound(self, value: Any, hint: str | None = None) -> str:
        """A global that holds the value itself."""
        if id(value) not in self._names:
            self._names[id(value)] = self._free(hint or f"_{snake_case(type(value).__name__)}", value)
            self.globals[self._names[id(value)]] = value
        return self._names[id(value)]

    def function(self, function: Any) -> str:
        """The name to call a function or class by."""
        try:
            return self._functions[function]
        except KeyError:
            self._functions[function] = name = self._function(function)
            return name
        except TypeError:
            return self._function(function)

    def builtin(self, name: str) -> str:
        """A builtin function, whatever the locals are called."""
        return self.bound(getattr(builtins, name), name)

    def library(self, name: str) -> str:
        """An imported module."""
        return self.bound(sys.modules[name], name)

    def _function(self, function: Any) -> str:
        module, name = where_defined(function)
        if module == "builtins":
            return self.bound(function, name)
        root, _, rest = (module or "").partition(".")
        if root in _LIBRARIES:
            path = [part for part in (*rest.split("."), *name.split(".")) if part]
            if _reached(root, path) is function and all(part.isidentifier() for part in path):
                return ".".join([self.library(root), *path])
        # No leading underscores: inside a class Python would rename __main___f.
        return self.bound(function, f"{getattr(function, '__module__', None) or ''}_{name}".lstrip("_"))

    def _free(self, hint: str, value: Any) -> str:
        name = _NOT_IN_NAMES.sub("_", hint) or "_value"
        name = f"_{name}" if name[0].isdigit() else name
        number, candidate = 0, name
        while self._is_taken(candidate, value):
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def _is_taken(self, name: str, value: Any) -> bool:
        if name in self._taken or name in self.globals or keyword.iskeyword(name):
            return True
        return hasattr(builtins, name) and getattr(builtins, name) is not value

    # Values

    def _float(self, value: float) -> str:
        if math.isfinite(value):
            return repr(value)
        # Every inf is the same number, whichever object holds it.
        name = self.bound(math.nan, "nan") if math.isnan(value) else self.bound(math.inf, "inf")
        return f"-{name}" if math.copysign(1, value) < 0 else name

    def _complex(self, value: complex) -> str:
        return f"{self.builtin('complex')}({self._float(value.real)}, {self._float(value.imag)})"

    def _enum(self, value: enum.Enum) -> str:
        cls = self.function(type(value))
        name: Any = value.name  # None for a combination of flags
        if isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) and type(value)[name] is value:
            return f"{cls}.{name}"
        return f"{cls}({self(value.value)})"

    def _scalar(self, value: np.generic) -> str | None:
        if value.dtype.char not in _SIMPLE_SCALARS or not value.dtype.isnative:
            return None
        return f"{self.function(type(value))}({self(value.item())})"

    def _dtype(self, value: np.dtype[Any]) -> str | None:
        if value.char not in _SIMPLE_SCALARS:
            return None
        return f"{self.library('numpy')}.dtype({(value.name if value.isnative else value.str)!r})"

    def _tuple(self, value: tuple[Any, ...]) -> str | None:
        parts = ", ".join(self(part) for part in value)
        if hasattr(value, "_fields"):
            cls = self.function(type(value))
            # A constructor of the program's own must not do again what it did to these.
            plain = pytree.made_of_parts(type(value))
            return f"{cls}({parts})" if plain else f"{self.function(pytree.from_parts)}({cls}, None, [{parts}])"
        if type(value) is not tuple:
            return None
        return f"({parts},)" if len(value) == 1 else f"({parts})"

    def _list(self, value: list[Any]) -> str | None:
        if type(value) not in (list, ImmutableList):
            return None
        return f"[{', '.join(self(part) for part in value)}]"

    def _dict(self, value: dict[Any, Any]) -> str | None:
        if type(value) not in (dict, ImmutableDict):
            return None
        return "{" + ", ".join(f"{self(key)}: {self(part)}" for key, part in value.items()) + "}"

    def _set(self, value: set[Any]) -> str | None:
        if type(value) is not set:
            return None
        # Sets of strings iterate in another order in every process; the text should not.
        return "{" + ", ".join(sorted(self(part) for part in value)) + "}" if value else f"{self.builtin('set')}()"

    def _frozenset(self, value: frozenset[Any]) -> str | None:
        return None if type(value) is not frozenset else f"{self.builtin('frozenset')}({self._set(set(value))})"

    def _slice(self, value: slice) -> str:
        return f"{self.builtin('slice')}({self(value.start)}, {self(value.stop)}, {self(value.step)})"

    def _range(self, value: range) -> str:
        step = "" if value.step == 1 else f", {self(value.step)}"
        return f"{self.builtin('range')}({self(value.start)}, {self(value.stop)}{step})"

    def subscript(self, key: Any) -> str:
        """What stands between the brackets of `x[…]`."""
        if type(key) is tuple and key:
            parts = [self._subscript_part(part) for part in key]
            return ", ".join(parts) + ("," if len(parts) == 1 else "")
        return self._subscript_part(key)

    def _subscript_part(self, key: Any) -> str:
        if type(key) is not slice:
            return self(key)
        start, stop, step = ("" if part is None else self(part) for part in (key.start, key.stop, key.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    def annotation(self, annotation: Any) -> str:
        """A type annotation; text stays text."""
        if isinstance(annotation, str):
            return repr(annotation)
        if annotation is None or annotation is type(None):
            return "None"
        if type(annotation) is types.GenericAlias:  # list[int]; Callable[[int], str] is of a class derived from it
            inner = ", ".join("..." if arg is ... else self.annotation(arg) for arg in annotation.__args__)
            return f"{self.annotation(annotation.__origin__)}[{inner or '()'}]"
        if isinstance(annotation, type):
            return self.function(annotation)
        if isinstance(annotation, types.UnionType) and all(type(arg) is type for arg in annotation.__args__):
            return " | ".join(self.annotation(arg) for arg in annotation.__args__)
        return self.bound(annotation, "_type")


# A kind comes before those it derives from: an IntEnum is an int, a named tuple a tuple, numpy.float64 a float.
_WRITERS: tuple[tuple[Any, Callable[[Literals, Any], str | None]], ...] = (
    (enum.Enum, Literals._enum),
    (np.generic, Literals._scalar),
    (np.dtype, Literals._dtype),
    (tuple, Literals._tuple),
    (list, Literals._list),
    (dict, Literals._dict),
    (slice, Literals._slice),
    (range, Literals._range),
    (frozenset, Literals._frozenset),
    (set, Literals._set),
    (types.GenericAlias, lambda self, value: self.annotation(value)),
    ((type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, Op), Literals.function),
    (complex, lambda self, value: self._complex(value) if type(value) is complex else None),
)


def _reached(module: str, path: list[str]) -> Any:
    found: Any = sys.modules.get(module)
    for part in path:
        found = getattr(found, part, None)
    return found


def is_variable(text: Any) -> bool:
    """Whether text can name a variable or parameter. Python normalises other spellings of a letter, so they cannot."""
    return (
        isinstance(text, str)
        and text.isidentifier()
        and not keyword.iskeyword(text)
        and text != "__debug__"  # the one name that is no keyword and still cannot be assigned to
        and (text.isascii() or unicodedata.is_normalized("NFKC", text))
    )


def is_name(text: Any) -> bool:
    """Whether text can stand after a dot, or before `=` in a call, where a class renames __private names."""
    return is_variable(text) and not (text.startswith("__") and not text.endswith("__"))
