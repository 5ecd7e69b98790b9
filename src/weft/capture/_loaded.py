"""A compiled function that came from a file: its graphs, what each holds for, and their state, without the program.

It is called as the function was. A call that none of its graphs is for is an error: there is nothing to capture.
"""

from __future__ import annotations

import inspect
from typing import Any

from weft._frames import hide_frames
from weft._objects import Space
from weft._tracing import current_recorder
from weft.capture._checks import MISS, Checks
from weft.capture._compile import CompiledFunction, Guarded, Runner
from weft.capture._loaded_inside import call_inside
from weft.capture._object_files import owner_of
from weft.capture._recorder import Recorder
from weft.errors import NotCovered
from weft.graph import Graph

_SHOWN = 5  # graphs that a message tells of


class LoadedEntry(Guarded):
    """One graph of a loaded function, and the function that runs it where its conditions hold."""

    def __init__(self, graph: Graph, checks: Checks, runner: Runner, told: list[str], static: bool, step: bool) -> None:
        self.graph, self.checks, self.told = graph, checks, told
        self.static, self.step = static, step
        self.use(runner)
        graph.holds_while = tuple(c.says for c in checks.conditions if not c.basic)


class LoadedFunction(CompiledFunction):
    """A function that `weft.load` read; see the module's documentation.

    `state` has what its graphs read from outside, by name: arrays, parameters and buffers, optimisers, counters. It is
    what they use and change, not a copy.
    """

    def __init__(
        self,
        name: str,
        qualname: str,
        about: str,
        signature: inspect.Signature,
        held: tuple[Any, ...],
        entries: list[LoadedEntry],
        state: dict[str, Any],
    ) -> None:
        self.__name__, self.__qualname__, self._made_of = name, qualname, about
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[len(held) :])
        self._all = signature
        self._held, self._saved = held, state
        super().__init__(self, "numpy", None)
        del self.__dict__["__wrapped__"], self.__dict__["__weft_original__"]  # there is no function inside
        self._entries = entries  # type: ignore[assignment]  # they answer what is asked of a loaded function
        self._runs = tuple(entry.run for entry in entries)
        for entry in entries:
            entry.graph._watch(self, entry)

    @property
    def state(self) -> dict[str, Any]:
        """What the graphs read from outside, by name; counters as a dict of numbers."""
        found = {name: owner_of(value) for name, value in self._saved.items()}
        return {name: vars(value) if type(value) is Space else value for name, value in found.items()}

    def _resolve(self) -> None:
        self._plain = self
        self._defaults = self._keywords = None
        self._call = self._dispatcher()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder = current_recorder.get()
        if recorder is not None:
            return call_inside(self, recorder, args, kwargs)
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def __weft_captured__(self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_inside(self, recorder, args, kwargs)

    def _miss(self, values: tuple[Any, ...]) -> Any:
        with self._lock:
            if any(entry.edited for entry in self._entries):
                self._follow_edits()
        failing = []
        for entry in self._entries:
            failed = entry.checks.failing(values)
            if failed is None:  # it was edited, or what it reads was changed by another thread
                result = entry.run(*values)
                if result is not MISS:
                    return result
            else:
                failing.append((entry, failed.says))
        raise self.not_covered(failing)

    def _guarded(self, entry: Any) -> Any:
        return entry.run

    def not_covered(self, failing: list[tuple[Any, str]]) -> NotCovered:
        """The error of a call that no graph is for: what it is like, and what was saved."""
        lines = [f"{says}; it was saved for {', '.join(entry.told) or 'no arguments'}" for entry, says in failing]
        help = "call the function itself in such a way before it is saved, or give what it was saved for"
        if len(lines) == 1:
            return NotCovered(f"{self.__name__}: no saved graph is for this call: {lines[0]}", help=help)
        shown = [f"  graph {number}: {line}" for number, line in enumerate(lines[:_SHOWN], 1)]
        shown += [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        return NotCovered("\n".join([f"{self.__name__}: no saved graph is for this call", *shown]), help=help)

    # Files

    def _about(self) -> str:
        return self._made_of

    def _parameters(self) -> list[inspect.Parameter]:
        return list(self._all.parameters.values())

    def _saved_parameters(self) -> list[inspect.Parameter]:
        return self._parameters()

    def _state(self) -> dict[str, Any]:
        return self._saved

    def _live(self) -> dict[int, Any]:
        return {}

    def __reduce__(self) -> str:
        raise TypeError(f"{self.__name__} came from a file and is not pickled: save it, f.save(path)")

    def __repr__(self) -> str:
        count = len(self._entries)
        return f"<loaded {self._made_of}{self.__signature__}, {count} graph{'s' * (count > 1)}>"

    def _described(self) -> str:
        return self._made_of


__all__ = ["LoadedEntry", "LoadedFunction"]
