"""Functions that the program makes and gives away: as its result, or to an object that keeps them.

The graph makes each when it runs, from the code as it is written and what its variables hold: those that the program
has finished with, as nobody could see it assign them later. What they hold is the caller's from then on.

    def scaled_by(k):
        return lambda x: x * k          # made anew by each call of the compiled `scaled_by`
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from weft.capture._convert import is_converted
from weft.graph import Node

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_NAMED = ("__module__", "__name__", "__qualname__", "__doc__")
_ASSIGNING = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"})


class GivenFunctions:
    """The functions that one capture gives away."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._made: dict[int, tuple[Any, Node]] = {}  # by id, functions and the nodes that make them
        self._cells: list[tuple[Any, types.CellType, Any]] = []  # variables of theirs, and what they held
        self._making: list[Any] = []

    def node(self, function: Any) -> Node | None:
        """The node that makes a function of the program's; None of what is none."""
        recorder = self.recorder
        if type(function) is not types.FunctionType or recorder.state.known is None or not is_converted(function):
            return None
        known = self._made.get(id(function))
        if known is not None and recorder.region.sees(known[1]):
            return recorder.region.lift(known[1])
        if known is not None or any(one is function for one in self._making):
            self._refuse(function, "calls itself, or is given away in several branches or loops")
        self._making.append(function)
        try:
            node = self._make(function)
        finally:
            self._making.remove(function)
        self._made[id(function)] = (function, node)
        return node

    def _make(self, function: Any) -> Node:
        template = self._template(function)
        held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        values = []
        for name in template.__code__.co_freevars:
            if name not in held:
                self._refuse(function, f"reads {name}, which is no variable of the program any more")
            try:
                values.append(held[name].cell_contents)
            except ValueError:
                self._refuse(function, f"reads {name} before it is assigned")
            self._cells.append((function, held[name], values[-1]))
        state = self.recorder.state
        values = [*state.handed(tuple(values))]
        defaults = state.handed(function.__defaults__ or ())
        keywords, attributes = (
            dict(zip(own, state.handed(tuple(own.values())), strict=True))
            for own in (function.__kwdefaults__ or {}, vars(function))
        )
        attributes.update({name: getattr(function, name) for name in _NAMED})
        args = (template, defaults, keywords, attributes, *values)
        return self.recorder.create(made_function, args, {}, None, function.__name__.strip("<>_") or None)

    def _template(self, function: Any) -> types.FunctionType:
        """A function of the code as the program has it, with empty variables."""
        wanted = _mark(function.__code__)
        found = {}
        for original, _ in self.recorder.bound:
            for code in _codes_in(original.__code__):
                if _mark(code) == wanted:
                    found[code] = original.__globals__
        if len(found) > 1:
            own = _body(function.__code__)
            found = {code: space for code, space in found.items() if _body(code) and _body(code) <= own}
        if len(found) != 1:
            self._refuse(function, "is one of several on its line")
        ((code, space),) = found.items()
        stored = {one.argval for one in dis.get_instructions(code) if one.opname in _ASSIGNING}
        if not stored <= set(code.co_cellvars):
            self._refuse(function, "assigns variables of the functions around it, or globals")
        return types.FunctionType(code, space, code.co_name, None, tuple(types.CellType() for _ in code.co_freevars))

    def check(self) -> None:
        """Refuse what the program has assigned to variables of functions that it had given away by then."""
        for function, cell, value in self._cells:
            try:
                same = cell.cell_contents is value
            except ValueError:
                same = False
            if not same:
                self._refuse(function, "reads a variable that is assigned after it was given away")

    def _refuse(self, function: Any, why: str) -> NoReturn:
        self.recorder.refuse(
            f"{function.__name__}, a function that the program makes and gives away, {why}",
            help="let it read only arguments, and variables that are not assigned again; or define it outside",
        )


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes_in(part)


def _mark(code: types.CodeType) -> tuple[Any, ...]:
    return code.co_filename, code.co_firstlineno, code.co_name


def _body(code: types.CodeType) -> set[Any]:
    """Where the expressions of a function stand."""
    return {place for place in code.co_positions() if None not in place and place[2]}


def made_function(template: Any, defaults: Any, keywords: Any, attributes: dict[str, Any], *held: Any) -> Any:
    """A function like the template, of which the variables from around hold these values."""
    cells = tuple(map(types.CellType, held))
    made = types.FunctionType(
        template.__code__, template.__globals__, template.__name__, tuple(defaults) or None, cells
    )
    made.__kwdefaults__ = dict(keywords) or None
    for name, value in attributes.items():
        setattr(made, name, value)
    return made
