"""`compile`: a function that captures itself when it is called, and then runs the graph.

>>> import numpy as np, weft
>>> @weft.compile
... def norm(x):
...     total = 0.0
...     for i in range(len(x)):
...         total += x[i] ** 2
...     return np.sqrt(total)
>>> norm(np.array([3.0, 4.0]))
np.float64(5.0)
>>> norm.cache_info().misses
1
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft import _where, pytree
from weft._collector import paused_collector
from weft._frames import hide_frames, without_frames
from weft._recursion import deep_recursion
from weft._tracing import current_tracer
from weft._where import warn_user
from weft.capture._anomaly import watched
from weft.capture._arguments import large_data
from weft.capture._budget import GivenUp, Newcomers, OverBudget, Trial, kind_of_call, take_long, too_many
from weft.capture._callables import check_callable
from weft.capture._captured import Captured, bound_keywords, capture, original_function
from weft.capture._checks import MISS, Checks
from weft.capture._guards import Guards
from weft.capture._listed import draws, may_differ, may_not_fit, repeatable
from weft.capture._memory import is_tensor
from weft.capture._numpy_targets import ask_nobody, call_numpy
from weft.capture._proxy import Proxy
from weft.capture._refused_calls import Refusals
from weft.capture._signatures import call_signature, markers
from weft.capture._state_places import Known, Learned
from weft.capture._step_graph import of_traced_classes, on_arrays, settle, without_tape
from weft.capture._step_reuse import Reuse
from weft.errors import CaptureError, GraphError, TraceError, WeftError
from weft.graph import Graph, GraphModule, Node
from weft.graph._list_arrays import OtherArray
from weft.passes import PassManager

if TYPE_CHECKING:
    from weft.capture._report import Explanation

_BACKENDS = ("numpy",)
_ROUNDS = 500  # so many captures find out what a program changes outside


class CacheInfo(NamedTuple):
    """How often calls found a graph, how often one was captured, and how many there are."""

    hits: int
    misses: int
    currsize: int


class Runner:
    """The function that runs a graph.

    `arrays` says that all values are NumPy's, `off_tape` that nothing is left on the tape; `taped` runs the forward on
    arrays and leaves its backward on the tape as one step.
    """

    def __init__(
        self, graph: Graph, arrays: bool, off_tape: bool, taped: Any, module: GraphModule | None = None
    ) -> None:
        self.arrays, self.off_tape, self.taped = arrays, off_tape, taped
        made = GraphModule(dict(graph.constants), graph) if module is None else module
        self.module = made._told_in_user_lines()
        if arrays:
            ask_nobody(type(self.module).forward)
        self.run, self.watched = type(self.module).forward.__get__(self.module), watched(self.module)
        if taped is not None:
            taped.plainly, self.run, self.watched = self.run, taped, taped
        elif off_tape:
            self.run, self.watched = without_tape(self.run), without_tape(self.watched)


class Guarded:
    """A graph with what it holds for. Edits of the graph are followed: it is compiled again when it is next called."""

    graph: Graph
    checks: Checks
    step: bool
    runner: Runner
    run: Callable[..., Any]
    edited = False  # since it was last compiled
    edited_ever = False
    given_up: Any = None  # why the function itself is run where the conditions hold
    doubts: Any = ()  # why it may have to run for a call of this graph

    def use(self, runner: Runner) -> None:
        """Run the graph so, where the conditions hold."""
        self.runner, self.run, self.edited = runner, self.checks.entry(runner.run, runner.watched), False

    @property
    def module(self) -> GraphModule:
        """The graph as a module."""
        return self.runner.module

    def _graph_edited(self) -> None:
        self.edited = self.edited_ever = True

    def over_ops(self) -> GraphModule:
        """The graph as a module whose code is its own and calls the ops themselves: it can be captured."""
        owner = self.graph.owning_module
        made = GraphModule(dict(self.graph.constants), self.graph)
        self.graph.owning_module = owner
        return made

    def follow(self) -> None:
        """Run the graph as it is after edits: on Tensors that require gradients, each op is on the tape by itself."""
        self.graph.lint()
        inputs, wanted = len(self.graph.find_nodes(op="placeholder")), len(self.checks.inputs)
        if inputs != wanted:
            raise GraphError(
                f"the edited graph has {inputs} inputs, the function gives {wanted}",
                help="leave the placeholders of a captured graph as they are; or make a GraphModule of graph.clone()",
            )
        arrays = self.runner.arrays
        self.use(Runner(self.graph, arrays, self.step and not arrays, None, self.module))


class Entry(Guarded):
    """One captured graph, and the function that runs it where its guards hold."""

    def __init__(self, captured: Captured, static: bool) -> None:
        self.captured = captured
        self.graph = captured.graph
        self.static = static
        self.made_at = 0  # how many calls had found a graph when this one was made
        self.cost = 0.0  # seconds that its capture took
        self.graph.signature = None  # the guards take arguments apart, and give all of them
        for node in self.graph.nodes:
            if node.op == "placeholder":
                node.args = ()  # no default: in the code, inputs after it could be given by name only
        steps = captured.recorder.training.used
        arrays = not captured.recorder.tensors or (steps and on_arrays(captured))
        self.step = bool(steps)
        plain = steps or captured.recorder.state.used
        taped = self._taped() if captured.recorder.tensors and not plain else None
        if captured.recorder.tensors and not steps and taped is None:
            of_traced_classes(captured)
        ruled = captured.recorder.custom and not (arrays or steps)  # on the tape, rules are what is differentiated
        if captured.recorder.custom and not ruled:
            import_module("weft.transform._custom_call").open_calls(captured.graph)
        self.guards = Guards(captured)
        self.doubts = captured.recorder.doubts
        if self.doubts and (steps or not repeatable(captured.graph)):
            raise self.doubts[0]
        self.report = PassManager(restore=False, lint=False).run(captured.graph)
        self.graph.lint()
        call_numpy(self.graph, arrays)
        if ruled:
            import_module("weft.transform._custom_tape").rule_calls(self.graph)
        if steps:
            settle(self.graph, arrays)
            if arrays:
                Reuse(self.graph).run()
        off_tape = not arrays and (self.step or self._gives_arrays())
        self.checks = self.guards.checks
        self.given_up: str | None = None  # why the function itself runs where this graph would fit
        self.use(Runner(captured.graph, arrays, off_tape, taped))
        self.graph.holds_while = tuple(c.says for c in self.checks.conditions if not (c.basic or c.outside))

    @property
    def told(self) -> list[str]:
        """The inputs in words: their names and types, and what others are fixed to."""
        from weft.capture._report import inputs

        return inputs(self)

    def _gives_arrays(self) -> bool:
        """Whether all that is seen outside is known to be no Tensor: then the tape has nothing to know of."""
        leaves, results, _ = self.captured.recorder.result
        known = (not isinstance(node, Node) or node.meta.get("as_traced") for node in results)
        return all(known) and not is_tensor(leaves) and "writes" not in self.graph.output_node().kwargs

    def _taped(self) -> Any:
        """What runs the forward on arrays and leaves its backward on the tape as one step, where that can be had."""
        # Derivatives are made in a room above this one, which is therefore imported by name and only when needed.
        return import_module("weft.transform._taped").taped(self.captured)


def capture_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: bool, known: Known | None = None, **how: Any
) -> Captured:
    """Capture a call; where the program turns out to change something outside, once more."""
    known = known or Known()
    how.update(branches=True, dynamic=dynamic, numbers=dynamic, known=known)
    for _ in range(_ROUNDS):
        try:
            return capture(function, args, kwargs, **how)
        except Learned as found:
            known.learn(found)
            changed = found.told
    raise CaptureError(
        f"each capture finds another {changed} to change: an object that code which is not captured makes anew",
        help="make it in the program itself, or mark the function that makes it with weft.wrap",
    )


class CompiledFunction:
    """A function and the graphs it was captured as. It is called as the function is."""

    _made_by = "compiled"
    _of: Any = None  # what it was made of, where that is not the function it runs
    _edits = 0
    _keeps_raising = True  # whether what may raise stays where nothing reads it, as the plain call would raise
    _allowed: float | None  # how much one capture may record, as `Allowance` has it

    def __init__(
        self, function: Callable[..., Any], backend: str, dynamic: bool | None, budget: float | None = None
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__weft_original__ = function
        self._dynamic = dynamic
        self._budget = self._allowed = budget
        self.backend = backend
        self._plain: Any = None
        self._entries: list[Entry] = []
        self._runs: tuple[Any, ...] = ()
        self._misses = 0
        self._hits = 0
        self._reasons: list[str] = []
        self._ran_plainly: Counter[str] = Counter()
        self._given_up: dict[Any, GivenUp] = {}  # kind of call → why it runs plainly
        self._refused = Refusals()
        self._known = Known()
        self._newcomers = Newcomers()
        self._timed: float | None = None  # how long a plain call took, where captures were made in vain
        self._lock = threading.RLock()
        self._resolve()

    def _resolve(self) -> None:
        """Find the function to capture, with its parameters as they are now."""
        plain, self._held = original_function(self.__weft_original__)
        if plain is not self._plain:
            self._plain, self._entries, self._runs, self._reasons = plain, [], (), []
            self._given_up, self._refused = {}, Refusals()
        self._defaults = getattr(self._plain, "__defaults__", None)
        self._keywords = getattr(self._plain, "__kwdefaults__", None)
        self._by_class = bool(self._held) and not hasattr(self.__weft_original__, "__func__")
        self._call = self._dispatcher()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        plain = self._plain
        if (
            plain.__defaults__ is not self._defaults
            or plain.__kwdefaults__ is not self._keywords
            or (self._by_class and original_function(self.__weft_original__)[0] is not plain)
        ):
            self._resolve()
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return functools.partial(self, instance)

    def __reduce__(self) -> str:
        # By name, as functions are pickled; a copy is the function itself.
        return str(self._plain.__qualname__)

    def _dispatcher(self) -> Any:
        """A function with the parameters of the compiled one, which tries each entry."""
        parameters = self._takes = self._parameters()
        space: dict[str, Any] = {"_weft_miss": MISS, "_weft_compiled": self, "__name__": __name__}
        shown = []
        for parameter in parameters:
            text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
            if parameter.default is not parameter.empty:
                space[f"_weft_default_{parameter.name}"] = parameter.default
                text += f"=_weft_default_{parameter.name}"
            shown.append(text)
        given = markers(parameters, shown)
        names = ", ".join(p.name for p in parameters)
        name = self._plain.__name__ if self._plain.__name__.isidentifier() else "function"
        source = (
            f"def {name}({', '.join(given)}):\n"
            f"    for _weft_run in _weft_compiled._runs:\n"
            f"        _weft_result = _weft_run({names})\n"
            f"        if _weft_result is not _weft_miss:\n"
            f"            _weft_compiled._hits += 1\n"
            f"            return _weft_result\n"
            f"    return _weft_compiled._miss(({names}{',' if names else ''}))\n"
        )
        exec(source, space)
        made = space[name]
        if (made.__kwdefaults__ or {}).keys() == (self._keywords or {}).keys():
            made.__kwdefaults__ = self._keywords  # the dict itself: what is put into it counts
        made.__name__, made.__qualname__ = self._plain.__name__, self._plain.__qualname__  # Python's errors say it
        held, original = self._held, getattr(self, "__weft_original__", None)
        if isinstance(original, functools.partial):  # what is put into its keywords counts
            return lambda *args, **keywords: made(*held, *args, **{**bound_keywords(original), **keywords})
        return functools.partial(made, *held) if held else made

    def _miss(self, values: tuple[Any, ...]) -> Any:
        """Capture the call, keep the graph, and run it."""
        args, kwargs = _as_call(self._takes, values)
        if current_tracer.get() is not None and any(isinstance(leaf, Proxy) for leaf in pytree.leaves_of(values)):
            return self._symbolic(args, kwargs)
        if any(entry.edited for entry in self._entries):
            self._follow_edits()
        kind = kind_of_call(values)
        known = self._given_up.get(kind)
        if known is not None and known.holds:
            return self._plainly(args, kwargs, known, known.why)
        if self._waits_for(values):
            self._runs = () if self._hits < len(self._entries) else self._runs
            return self._plainly(args, kwargs, None, Newcomers.why)
        if self._timed is None and take_long(self._in_vain(), self._budget, 0.0):
            began = time.thread_time()
            try:
                return self._plainly(args, kwargs, None, "it is timed, as several captures were made in vain")
            finally:
                self._timed = time.thread_time() - began
        with self._lock:
            began = time.perf_counter()
            entry, error = self._entry_for(values, args, kwargs)
        result = MISS if entry is None else entry.run(*values)
        if result is not MISS:
            return result
        if error is None:  # a guard that may not hold of the very call it was made for: that arrays share no memory
            return self._plainly(args, kwargs, None, "arrays that share memory")
        given_up = self._given_up.setdefault(kind, GivenUp())
        given_up.failed(_said(error), time.perf_counter() - began)
        return self._plainly(args, kwargs, given_up, given_up.why)

    def _in_vain(self) -> list[Entry]:
        """The latest graphs that are for fixed numbers, which no call has come back to."""
        return [e for e in self._entries if e.static and e.made_at == self._hits and self._dynamic is not False]

    def _waits_for(self, values: tuple[Any, ...]) -> bool:
        """Whether a call is given an object that is only captured for when it is given again."""
        return self._budget is not None and self._newcomers.any_in(values)

    def _symbolic(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a call means in a symbolic trace: what the function does is recorded."""
        if self._edits:
            import_module("weft.capture._loaded_inside").refuse_edited(self)
        return self._plain(*args, **kwargs)

    def _entry_for(
        self, values: tuple[Any, ...], args: list[Any], kwargs: dict[str, Any]
    ) -> tuple[Entry | None, BaseException | None]:
        """The entry for a call that none was found for: a new one, or none and why."""
        failing = []
        for entry in self._entries:
            condition = entry.checks.failing(values)
            if condition is None and entry.given_up is not None:
                return None, OverBudget(entry.given_up)
            if condition is None:  # another thread captured it meanwhile, or it was not tried any more
                self._hits += 1
                if entry.run not in self._runs:
                    self._runs = (*self._runs, entry.run)
                return entry, None
            failing.append(condition)
            if condition.learns is not None:
                self._known.differs(*condition.learns)
        if any(condition.plain for condition in failing):
            return None, None
        beyond = too_many(len(self._entries), self._in_vain(), self._budget, self._timed)
        if beyond is not None:
            if self._hits < len(self._entries) <= len(self._runs):
                self._runs = ()  # hardly a call came again; those that do bring their graphs back
            return None, OverBudget(beyond)
        self._refused.raise_for(values)
        began = time.thread_time()
        try:
            with deep_recursion(), paused_collector():
                entry = self._capture(args, kwargs, values)
        except TraceError:
            raise
        except (Exception, OverBudget) as error:  # the plain call tells whether it is the program's own
            return None, error
        if failing:
            # Of several graphs the one that the call comes closest to, the latest of those.
            closest = max(reversed(failing), key=lambda condition: condition.reached)
            self._reasons.append(closest.says)
            self._newcomers.graphs += closest.alone
        self._misses += 1
        self._entries.append(entry)
        entry.made_at, entry.cost = self._hits, time.thread_time() - began
        entry.graph._watch(self, entry)
        self._take_up()
        return entry, None

    def _take_up(self) -> None:
        """Let calls try the graphs there are, save those that the function itself is quicker than."""
        self._runs = tuple(entry.run for entry in self._entries if entry.given_up is None)

    def _graph_edited(self) -> None:
        self._edits += 1  # captured programs that call this function have a guard on it
        self._runs = ()  # so that the next call comes to `_miss`

    def _follow_edits(self) -> None:
        with self._lock:
            for entry in self._entries:
                if entry.edited:
                    entry.follow()
                    entry.run = self._guarded(entry)
                    entry.graph._watch(self, entry)
                    if entry.given_up is not None:  # it is another graph now
                        entry.given_up = None
                        self._given_up.clear()
            self._take_up()

    def _plainly(self, args: list[Any], kwargs: dict[str, Any], given_up: GivenUp | None, why: str) -> Any:
        """Run the function itself: what the capture met, the call meets too."""
        self._ran_plainly[why] += 1
        if given_up is None:
            return self._plain(*args, **kwargs)
        result = given_up.run(self._plain, args, kwargs)
        if self._ran_plainly[why] == 1:
            warn_user(f"{self._plain.__name__} was not captured and ran as plain Python: {why}")
        return result

    def _capture(self, args: list[Any], kwargs: dict[str, Any], values: tuple[Any, ...] = ()) -> Entry:
        ladder = {None: (True, False), True: (True,), False: (False, True)}[self._dynamic]
        ways = [(dynamic, False, False) for dynamic in ladder]
        ways += [] if self._dynamic else [(dynamic, False, True) for dynamic in ladder]
        if self._dynamic is not False and large_data([*args, *kwargs.values()]):
            ways = [*((dynamic, True, joins) for dynamic, _, joins in ways), *ways]
        met: list[Exception] = []
        attempts: list[Exception] = []
        for dynamic, whole, joins in ways:
            how = {"keeps_raising": self._keeps_raising, "whole": whole, "joins": joins, "budget": self._allowed}
            try:
                captured = capture_call(self._plain, tuple(args), kwargs, dynamic, self._known, itself=True, **how)
                entry = Entry(captured, not dynamic)
                entry.run = self._guarded(entry)
                if self._budget is not None and not captured.recorder.training.used:
                    entry.run = self._tried(entry)
                return entry
            except Exception as error:  # whatever it is, the other way may do without
                met += [] if whole or joins else [error]
                attempts.append(error)
        told = next((error for error in met if not isinstance(error, TraceError)), met[0])
        if isinstance(told, TraceError):
            self._refused.remember(values, told, attempts)
        raise told

    def _guarded(self, entry: Entry) -> Callable[..., Any]:
        """A run that the function itself takes over where the graph turns out not to be right for the call."""
        run: Callable[..., Any] = entry.run
        sizes = may_not_fit(entry.graph)
        ends: type[Exception] = Exception if entry.doubts or sizes else OtherArray
        if not entry.doubts and not ((sizes or may_differ(entry.graph)) and repeatable(entry.graph)):
            return run
        drawn = draws(entry.graph)

        def run_or_plainly(*values: Any) -> Any:
            state = np.random.get_state() if drawn else None
            try:
                return run(*values)
            except ends as error:
                if state is not None:
                    np.random.set_state(state)
                args, kwargs = _as_call(self._takes, values)
                given_up, why = (None, str(entry.doubts[0])) if entry.doubts else (GivenUp(), _said(error))
                return self._plainly(args, kwargs, given_up, why)

        return run_or_plainly

    def _tried(self, entry: Entry) -> Callable[..., Any]:
        """A run that is compared with the function itself, and gives way to it where it is many times slower."""
        run = entry.run

        def fits(values: tuple[Any, ...]) -> bool:
            return not entry.edited and entry.checks.failing(values) is None

        def plain(values: tuple[Any, ...]) -> Any:
            args, kwargs = _as_call(self._takes, values)
            return self._plain(*args, **kwargs)

        def over(why: str | None, values: tuple[Any, ...]) -> None:
            with self._lock:
                if entry.run is not tried:
                    return
                entry.run = run
                if why is not None:
                    entry.given_up = why
                    self._given_up.setdefault(kind_of_call(values), GivenUp()).failed(why, float("inf"))
                    self._ran_plainly[why] += 1
                    warn_user(f"{self._plain.__name__} runs as plain Python: {why}")
                self._take_up()

        tried = Trial(run, MISS, fits, plain, over)
        return tried

    # What was captured

    @property
    def graph(self) -> Graph:
        """The graph of the latest capture."""
        return self._latest().graph

    @property
    def code(self) -> str:
        """The latest graph as Python, with the imports it needs: the text of a file."""
        return self._latest().module.source_code

    def _latest(self) -> Entry:
        if not self._entries:
            raise WeftError(f"{self._plain.__name__} was not called yet, so nothing is captured", help="call it first")
        return self._entries[-1]

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """All graphs, in the order in which a call looks for its own."""
        return tuple(entry.graph for entry in self._entries)

    def cache_info(self) -> CacheInfo:
        """How many graphs there are, and how many captures were needed."""
        return CacheInfo(self._hits, self._misses, len(self._entries))

    def why_recompiled(self) -> list[str]:
        """For each capture after the first, what was different: `x has dtype float32, was float64`."""
        return list(self._reasons)

    def explain(self) -> Explanation:
        """What each graph holds and depends on, why it was captured, and which calls ran as plain Python."""
        from weft.capture._report import Explanation, report

        because = dict(enumerate(self._reasons, 1))
        graphs = tuple([report(entry, because.get(number)) for number, entry in enumerate(self._entries)])
        return Explanation(called(self), graphs, plain=dict(self._ran_plainly))

    # Files

    def save(self, path: str | os.PathLike[str], *, sources: bool = True) -> None:
        """Write all graphs to a file of data, with what each holds for and the state they share; see `weft.load`.

        What the program reads from outside, such as globals, counts as it is now. Without `sources` the lines that
        nodes came from, and the names of their files, stay out of the file.
        """
        from weft.capture._save_function import save_function

        with self._lock:
            save_function(self, path, sources)

    def _about(self) -> str:
        """What it was made of, such as `grad of loss`."""
        return self._described().removeprefix("compiled ")

    def _names(self) -> tuple[str, str]:
        """What the function is called; of a module or another object with `__call__`, what its class is."""
        own = getattr(self, "__name__", None)
        if own is not None:
            return own, getattr(self, "__qualname__", own)
        named = self._plain if isinstance(self.__weft_original__, functools.partial) else type(self.__weft_original__)
        return named.__name__, named.__qualname__

    def _parameters(self) -> list[inspect.Parameter]:
        return list(call_signature(self._plain).parameters.values())

    def _saved_parameters(self) -> list[inspect.Parameter]:
        """The parameters that a file keeps: keyword arguments of a `functools.partial` are defaults there."""
        given = bound_keywords(self.__weft_original__)
        found, after = [], False
        for number, parameter in enumerate(self._parameters()):
            after = after or parameter.name in given
            if after and number >= len(self._held) and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                parameter = parameter.replace(kind=parameter.KEYWORD_ONLY)
            found.append(parameter.replace(default=given.get(parameter.name, parameter.default)))
        if given.keys() - {parameter.name for parameter in found}:
            raise WeftError(f"{self._names()[0]}: keywords of a partial that are no parameters cannot be saved")
        return found

    def _state(self) -> dict[str, Any]:
        """What the graphs read from outside, by name."""
        from weft.capture._save_function import state_names

        return state_names(self._entries, self._held)

    def _live(self) -> Any:
        """The objects that the graphs change, by id."""
        from weft.capture._save_function import live_places

        return live_places(self._entries)

    def __repr__(self) -> str:
        count = len(self._entries)
        return f"<{self._described()}, {count} graph{'s' * (count != 1)}>"

    def _described(self) -> str:
        """What the function was made by and of: `vmap of grad of loss`."""
        original = self._of or self.__weft_original__
        while isinstance(original, functools.partial):
            original = original.func
        if isinstance(original, CompiledFunction):
            return f"{self._made_by} {original._described()}"
        return f"{self._made_by} {called(original)}"


def called(function: Any) -> str:
    """What a person calls a function: `grad of loss`, and of a Module its class."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, CompiledFunction):
        name = function._about()
    else:
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return re.sub(r"\S*<locals>\.", "", name)


def _said(error: BaseException) -> str:
    """Why a call was not captured, with the line of the program that it is about."""
    if isinstance(error, OverBudget):
        return str(error)
    try:
        told = re.sub(r"\b0x[0-9a-fA-F]+", "0x…", f"{type(error).__name__}: {error}")
    except TraceError:  # the program raised it, with a text of traced values
        told = type(error).__name__
    if isinstance(error, WeftError) and error.where:
        return told
    place = import_module("weft.capture._survey").place_of(error)
    return told if place is None else f"{told}\n  at {_where._shown(place)}"


def _as_call(parameters: Any, values: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            kwargs.update(value)
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = value
        else:
            args.append(value)
    return args, kwargs


@without_frames
def compile(
    function: Callable[..., Any] | None = None,
    *,
    backend: str = "numpy",
    dynamic: bool | None = None,
    budget: float | None = 1.0,
) -> Any:
    """Make a function capture itself when it is called, and from then on run the optimised graph.

    The result, the arrays it writes and the exceptions it raises are those of the plain call. A graph is kept for each
    combination of what it depends on: dtypes, ranks, sizes and numbers that decided something, globals read. With
    `dynamic=True` sizes and numbers never count as fixed beforehand. With False they do, unless the program cannot be
    captured so; by default they are fixed only where it cannot be captured otherwise.

    `budget` is how much capturing may cost: 10 allows ten times as many operations and graphs as 1 does, None any
    number. A call that goes beyond it runs as plain Python, as does one whose graph is many times slower.

    >>> import numpy as np, weft
    >>> @weft.compile
    ... def positive(x):
    ...     return np.sum(x[x > 0])
    >>> positive(np.array([1.0, -2.0, 3.0])), positive.cache_info().currsize
    (np.float64(4.0), 1)
    """
    if backend not in _BACKENDS:
        raise ValueError(f"compile: backend is one of {', '.join(_BACKENDS)}, got {backend!r}")
    if dynamic not in (None, True, False):
        raise ValueError(f"compile: dynamic is None, True or False, got {dynamic!r}")
    given_budget: Any = budget
    if budget is not None and not (isinstance(given_budget, (int, float)) and budget > 0):
        raise ValueError(f"compile: budget is a number above 0 or None, got {budget!r}")
    if function is None:
        return functools.partial(compile, backend=backend, dynamic=dynamic, budget=budget)
    if isinstance(function, CompiledFunction):
        return function
    check_callable("compile", function)
    return CompiledFunction(function, backend, dynamic, budget)


__all__ = ["CacheInfo", "CaptureError", "CompiledFunction", "compile"]
