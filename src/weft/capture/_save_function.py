"""`f.save(path)`: a compiled function in a file of data: its graphs, what each holds for, and the state they share.

The file is that of a graph (see `weft.graph._save`), with `"function": {…}` beside the graphs:

    name, qualname, about   what it is called, and what it was made of
    parameters              [name, kind, default or null] of each; defaults are in a list of one
    held                    arguments that are bound to it
    objects                 optimisers, schedules, counters, generators: what is neither array nor number
    state                   [name, value] of all that the graphs read from outside, and may change
    grads                   [tensor, array] of the Tensors in it that have a gradient
    entries                 of each graph: its number, the conditions on a call, how it is run

What the program read from outside counts as it is when the function is saved: a graph that was captured while a global
was another is left out. Conditions on the arguments are in the file, and so are those on the state.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from weft import _where
from weft._module import Module
from weft._objects import MISSING, Space, own_value
from weft._step import Holder
from weft.autograd import Tensor
from weft.capture._checks import MISS, Assigned, Checks, Condition, Expr, form
from weft.capture._guards import CHECKED
from weft.capture._object_files import describe, is_object, owner_of, parts_of, space
from weft.capture._state_places import is_space
from weft.errors import FileError, WeftError
from weft.graph import Graph
from weft.graph._encode import Unsupported
from weft.graph._save import FUNCTION_FORMAT, Writer, write

_NUMBERS = ("argument", "variable")
_PLACES = ("attribute", "get", "cell")
Live = dict[int, tuple[Any, dict[str, None]]]
"""By id, objects that graphs change, and the names of what they read and change of them."""


def save_function(function: Any, path: str | os.PathLike[str], sources: bool) -> None:
    """Write a compiled or a loaded function to a file, whole or not at all."""
    writer = _FunctionWriter(function, sources)
    with writer.files.nested():
        described = writer.describe()
        write(path, writer.files, {"function": 0}, format=FUNCTION_FORMAT, function=described)


class _FunctionWriter:
    """Gathers what goes into the file of one function."""

    def __init__(self, function: Any, sources: bool) -> None:
        self.function = function
        self.name, self.qualname = function._names()
        self.held = tuple(function._held)
        self.files = Writer(sources)
        self.encoder = self.files.encoder
        self.encoder.object = self._object
        self.objects: list[Any] = []
        self.live: Live = function._live()
        self._numbers: dict[int, int] = {}
        self._keep: list[Any] = []

    def describe(self) -> dict[str, Any]:
        entries, state = self._entries(), self.function._state()
        self._check_state(state, entries)
        described: dict[str, Any] = {
            "name": self.name,
            "qualname": self.qualname,
            "about": self.function._about(),
            "parameters": [self._parameter(one) for one in self.function._saved_parameters()],
        }
        described["state"] = [[name, self._value(value, name)] for name, value in state.items()]
        described["entries"] = [self._entry(number, *kept) for number, kept in enumerate(entries)]
        described["held"] = [self._bound(number, value, entries) for number, value in enumerate(self.held)]
        described["grads"] = list(self._grads(state)) if any(entry.step for entry, _ in entries) else []
        described["objects"] = self.objects
        return described

    def _fail(self, what: str, help: str | None = None, where: str | None = None) -> FileError:
        return FileError(f"save: {self.name}: {what}", where=where, help=help)

    # Which graphs, and which of their conditions

    def _entries(self) -> list[tuple[Any, list[Any]]]:
        """The graphs that hold for what the program reads from outside now, each with the conditions that are left."""
        if not self.function._entries:
            raise WeftError(f"{self.name} was not called yet, so there is nothing to save", help="call it first")
        kept, others = [], []
        for entry in self.function._entries:
            own, outside = _split(entry.checks, len(self.held), self.live)
            values = (*self.held, *(None,) * (entry.checks.parameters - len(self.held)))
            failed = Checks(outside, entry.checks.parameters, ()).failing(values)
            if failed is None:
                kept.append((entry, own))
            else:
                others.append(failed.says)
        if not kept:
            raise self._fail(f"no graph is for what it reads from outside now: {others[-1]}", "call it, then save it")
        return kept

    def _entry(self, number: int, entry: Any, steps: list[Any]) -> dict[str, Any]:
        path, runner = f"graph{number + 1}", entry.runner
        if entry.doubts:
            doubt = entry.doubts[0]
            what = f"the function itself has to run for some calls: {doubt.message}"
            raise self._fail(what, doubt.help, doubt.where)
        self._check_constants(entry.graph)
        return {
            "graph": self.files.graph(entry.graph, path),
            "parameters": entry.checks.parameters,
            "steps": [self._step(step) for step in steps],
            "inputs": [self._expression(one, "an input") for one in entry.checks.inputs],
            "told": list(entry.told),
            "static": entry.static,
            "step": entry.step,
            "arrays": runner.arrays,
            "off_tape": runner.off_tape,
            "taped": None if runner.taped is None else self._taped(runner.taped, path),
        }

    def _step(self, step: Any) -> Any:
        if type(step) is Assigned:
            return [step.first, step.many, self._expression(step.value, "an argument")]
        says = step.says
        return {
            "test": self._expression(step.test, says),
            "says": says,
            "now": None if step.now is None else self._expression(step.now, says),
            "told": list(step.told),
            "plain": step.plain,
            "basic": step.basic,
        }

    def _cannot_tell(self, says: str, why: Any) -> FileError:
        return self._fail(
            f"it holds while {says}, and that cannot be told in another process: {why}",
            "let what decides be an array, a number, a text, or a container of them",
            self._place(),
        )

    def _expression(self, given: Expr, says: str, asks_identity: bool = False) -> Any:
        name, parts = _plain_place(given, self.live)
        if name in _NUMBERS:
            return [name, parts[0]]
        if name != "held":
            is_test = name in ("is", "is not", "unchanged")
            return [name, *(self._expression(one, says, is_test) if type(one) is Expr else one for one in parts)]
        if parts[0] is MISSING or parts[0] is MISS:
            return {"missing": None}
        if asks_identity and (id(parts[0]) in self.live or is_object(parts[0]) or type(parts[0]) is Space):
            raise self._cannot_tell(says, f"it is a {type(parts[0]).__name__}")
        known = CHECKED.get(parts[0]) if callable(parts[0]) and not isinstance(parts[0], Tensor) else None
        if known is not None:
            return {"check": known}
        try:
            return {"held": self.encoder.value(parts[0])}
        except Unsupported as error:
            raise self._cannot_tell(says, error) from None

    def _taped(self, taped: Any, path: str) -> dict[str, Any]:
        described = {key: self._value(value, "its backward") for key, value in taped.facts().items()}
        for name, module in taped.modules().items():
            self._check_constants(module.graph)
            described[name] = self.files.graph(module.graph, f"{path}.{name}")
        return described

    # What it is called with

    def _parameter(self, parameter: Any) -> list[Any]:
        default = parameter.default
        if default is parameter.empty:
            return [parameter.name, int(parameter.kind), None]
        return [parameter.name, int(parameter.kind), [self._value(default, f"the default of {parameter.name}")]]

    def _bound(self, number: int, value: Any, entries: list[tuple[Any, list[Any]]]) -> Any:
        """What is bound to the function, where a graph asks for it."""
        asked = any(
            ("argument", number) in _atoms((*_expressions(steps), *entry.checks.inputs)) for entry, steps in entries
        )
        return self._value(value, "an argument that is bound to it") if asked else None

    # State

    def _check_state(self, state: dict[str, Any], entries: Iterable[tuple[Any, Any]]) -> None:
        for name, value in state.items():
            if isinstance(value, Tensor) and value._step is not None:
                raise self._fail(
                    f"{name} is a Tensor that was computed outside, and its gradient would end here", "detach it"
                )
            if isinstance(value, Tensor) and value._hooks and not all(entry.step for entry, _ in entries):
                raise self._fail(f"{name} has hooks, which cannot be saved", "remove them: handle.remove()")

    def _check_constants(self, graph: Graph) -> None:
        """Refuse a graph that reads an object which is no data, at the line that reads it."""
        for name, value in graph.constants.items():
            try:
                self.encoder.hint = name
                self.encoder.value(value)
            except Unsupported as error:
                reads = next((node for node in graph.nodes if node.op == "get_attr" and node.target == name), None)
                node = next(iter(reads.users), reads) if reads is not None else None
                place = None if node is None or node.location is None else str(node.location)
                raise self._fail(f"it reads {name} from outside: {error}", "give it as an argument", place) from None

    def _value(self, value: Any, what: str) -> Any:
        self.encoder.hint = what
        try:
            return self.encoder.value(value)
        except Unsupported as error:
            raise self._fail(f"{what}: {error}", where=self._place()) from None

    def _place(self) -> str | None:
        code = getattr(self.function._plain, "__code__", None)
        return None if code is None else str(_where.locate((code, 0, None)))

    def _object(self, value: Any) -> int | None:
        """The number of an object; what it is made of comes before it."""
        is_space = id(value) in self.live or type(value) is Space
        if not is_space and not is_object(value):
            return None
        known = self._numbers.get(id(value))
        if known is None:
            described = space(self._held_by(value), self.encoder) if is_space else describe(value, self.encoder)
            known = self._numbers[id(value)] = len(self.objects)
            self.objects.append(described)
            self._keep.append(value)
        return known

    def _held_by(self, owner: Any) -> dict[str, Any]:
        """What an object that the graphs change holds now, as far as they know of it."""
        if type(owner) is Space:
            return dict(vars(owner))
        found = {name: own_value(owner, name) for name in self.live[id(owner)][1]}
        return {name: value for name, value in found.items() if value is not MISSING}

    def _grads(self, state: dict[str, Any]) -> Iterator[list[Any]]:
        seen: set[int] = set()
        for name, value in state.items():
            for one in parts_of(value):
                if one.grad is not None and id(one) not in seen:
                    seen.add(id(one))
                    yield [self._value(one, name), self._value(one.grad._array, f"{name}.grad")]


def _split(checks: Checks, held: int, live: Live) -> tuple[list[Any], list[Any]]:
    """The conditions on calls and on the state, and those on what is read from outside or bound to the function."""
    bound = {("argument", number) for number in range(held)}
    state: set[tuple[str, int]] = set()
    own: list[Any] = []
    outside: list[Any] = []
    for step in checks.steps:
        given = step.value if isinstance(step, Assigned) else step.test
        of_state = _reads(given, live, True) or not state.isdisjoint(_atoms((given,)))
        if isinstance(step, Assigned):
            names = _names(step)
            if of_state:
                state |= names
            elif _reads(given, live, False) or _only(given, bound):
                bound |= names
                outside.append(step)
            own.append(step)
        else:
            (outside if not of_state and (step.outside or _only(given, bound)) else own).append(step)
    used = _atoms((*_expressions([step for step in own if type(step) is Condition]), *checks.inputs))
    kept: list[Any] = []
    for step in reversed(own):  # of variables, those that a condition or an input asks for
        if type(step) is Assigned:
            if _names(step).isdisjoint(used):
                continue
            used |= _atoms((step.value,))
        kept.append(step)
    return kept[::-1], outside


def _names(step: Assigned) -> set[tuple[str, int]]:
    return {("variable", number) for number in range(step.first, step.first + (step.many or 1))}


def _expressions(steps: Iterable[Any]) -> Iterator[Expr]:
    for step in steps:
        if type(step) is Assigned:
            yield step.value
        else:
            yield step.test
            if step.now is not None:
                yield step.now


def _atoms(expressions: Iterable[Expr]) -> set[tuple[str, int]]:
    """The arguments and variables that expressions are made of."""
    found: set[tuple[str, int]] = set()
    waiting = list(expressions)
    while waiting:
        form, parts = waiting.pop()
        if form in _NUMBERS:
            found.add((form, parts[0]))
        elif form != "held":
            waiting += [one for one in parts if type(one) is Expr]
    return found


def _only(given: Expr, bound: set[tuple[str, int]]) -> bool:
    """Whether an expression asks for what is bound to the function, and for nothing else."""
    atoms = _atoms((given,))
    return bool(atoms) and atoms <= bound


def _reads(given: Expr, live: Live, state: bool) -> bool:
    """Whether an expression reads a place from outside: one that graphs change, where `state`, else any other."""
    if given.form in (*_PLACES, "code") and (given.form in _PLACES and _owner(given, live) is not None) is state:
        return True
    if state and _plain_place(given, live) is not given:
        return True
    return given.form != "held" and any(_reads(one, live, state) for one in given.parts if type(one) is Expr)


def _owner(given: Expr, live: Live) -> Any:
    """The object of which an expression reads a place, where that is one that graphs change."""
    holder = given.parts[0]
    if type(holder) is not Expr or holder.form != "held":
        return None
    owner = holder.parts[0]
    if type(owner) is Space:
        return owner, {}
    known = live.get(id(owner))
    return known if known is not None and (given.form == "cell" or given.parts[1].parts[0] in known[1]) else None


def _plain_place(given: Expr, live: Live) -> Expr:
    """A place of an object that graphs change, as the attribute that it is in a file."""
    asked = given.form == "call" and given.parts[0].parts[0] is own_value and len(given.parts) == 3
    place = Expr("attribute", given.parts[1:]) if asked else given
    known = _owner(place, live) if place.form in _PLACES else None
    if known is None:
        return given
    name = next(iter(known[1])) if place.form == "cell" else place.parts[1].parts[0]
    return form("attribute", known[0], name)


def state_names(entries: Iterable[Any], held: Iterable[Any] = ()) -> dict[str, Any]:
    """What captured graphs read from outside, by the names a person knows: `model.0.weight`, `W`, `optimizer`.

    What is `held` is the module that was compiled, or the object of a method: its own go by their names alone.
    """
    called: dict[int, str] = {}
    for module in held:
        _call(called, "", module)
    entries = list(entries)
    for entry in entries:
        recorder = entry.captured.recorder
        called.update({key: name for key, name in recorder.paths.items() if key not in called})
        for _, name, was in recorder.reads.names.values():
            if was[0] == "same":
                _call(called, name, was[1])
        for leaf in entry.captured.arguments.leaves:
            if leaf.node is None:
                _call(called, leaf.parameter, leaf.value)
        for owner, name, was in recorder.reads.attributes.values():
            if was[0] == "same" and not isinstance(owner, (type, Module)):
                _call(called, f"{called[id(owner)]}.{name}" if id(owner) in called else name, was[1])
        called.update({key: name for key, name in recorder.reads.called.items() if key not in called})
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for entry in entries:
        for path, value in _constants(entry):
            owner = owner_of(value)
            if id(owner) not in seen:
                seen.add(id(owner))
                found[_free(called.get(id(owner), path), found)] = value
    for owner, names in live_places(entries).values():
        if id(owner) not in seen:
            path = next(iter(names), "variable") if is_space(owner) else type(owner).__name__
            found[_free(called.get(id(owner), path), found)] = owner
    return found


def live_places(entries: Iterable[Any]) -> Live:
    """The objects that captured graphs change."""
    found: Live = {}
    for entry in entries:
        state = entry.captured.recorder.state
        for one in state.inputs.values():
            found.setdefault(id(one.owner), (one.owner, {}))[1][one.name] = None
        for owner, _ in state.owners.values():
            found.setdefault(id(owner), (owner, {}))
        for key, name in state.written:
            if key in found:
                found[key][1][name] = None
        for value in entry.graph.constants.values():
            if type(value) is Holder:
                found.setdefault(id(value.value), (value.value, {}))[1]["training"] = None
    return found


def _constants(entry: Any) -> Iterator[tuple[str, Any]]:
    yield from entry.graph.constants.items()
    taped = entry.runner.taped
    if taped is not None:
        yield from ((f"array{k}", value) for k, value in enumerate(taped.held))
    for module in () if taped is None else taped.modules().values():
        yield from module.graph.constants.items()


def _call(called: dict[int, str], name: str, value: Any) -> None:
    if name:
        called.setdefault(id(value), name)
    if isinstance(value, Module):
        for path, one in [*value.named_parameters(), *value.named_buffers()]:
            called.setdefault(id(one), f"{name}.{path}" if name else path)


def _free(name: str, taken: dict[str, Any]) -> str:
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}#{number}"
    return found


__all__ = ["live_places", "save_function", "state_names"]
