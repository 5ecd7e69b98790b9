"""Random numbers of NumPy's own in a captured program: drawn when the graph runs, in the program's order."""

from __future__ import annotations

import copy
import random
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.capture._layouts import is_contiguous
from weft.capture._numpy_calls import BoundMethod
from weft.capture._numpy_probe import Samples
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._values import Array
from weft.graph._effects import DRAWS, MEMORY, has_side_effect
from weft.ops import Spec
from weft.ops._op import OWN

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_MAKERS = frozenset({np.random.default_rng, np.random.RandomState, np.random.Generator})
_GENERATORS = (np.random.Generator, np.random.RandomState)
_SEEDED = frozenset({np.random.default_rng, np.random.RandomState})  # which need no argument
_DRAWING = frozenset(
    name for kind in _GENERATORS for name, value in vars(kind).items() if name[0] != "_" and callable(value)
)
_IN_PLACE = frozenset({"shuffle"})
_FILLING = {"random": 2, "standard_normal": 2, "standard_exponential": 3, "standard_gamma": 3, "permuted": 2}
"""Methods of generators that take `out`, an array to draw into → its position."""
_LIKE_GIVEN = frozenset({"permutation", "permuted"})  # the result lies in memory as the array that was given does


@has_side_effect
def draw(generator: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """Random numbers from a generator of NumPy's, None for its own: `generator.method(*args, **kwargs)`."""
    if method not in _DRAWING:  # a graph from a file could name anything
        raise ValueError(f"draw: {method!r} is no method that draws random numbers")
    return getattr(np.random if generator is None else generator, method)(*args, **kwargs)


@has_side_effect
def make_generator(maker: Any, *args: Any, **kwargs: Any) -> Any:
    """A generator of NumPy's: `maker(*args, **kwargs)`."""
    if maker not in _MAKERS:
        raise ValueError(f"make_generator: {maker!r} makes no generator of NumPy's")
    return maker(*args, **kwargs)


@has_side_effect
def shuffled(generator: Any, array: Any, **kwargs: Any) -> Any:
    """A copy of an array after `generator.shuffle(array)`."""
    result = np.array(array)
    (np.random if generator is None else generator).shuffle(result, **kwargs)
    return result


@has_side_effect
def filled(generator: Any, method: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """A copy of an array after `generator.method(*args, **kwargs, out=array)`."""
    result = np.array(array)
    draw(generator, method, *args, **kwargs, out=result)
    return result


for _function in (draw, make_generator, shuffled, filled):
    setattr(_function, DRAWS, True)
for _function in (shuffled, filled):
    setattr(_function, MEMORY, OWN)


class Drawn:
    """What NumPy's and Python's own random numbers are when a capture begins, which is to draw none of them."""

    def __init__(self) -> None:
        # Another thread may draw while this one captures: then nothing is compared.
        self.before = _states() if threading.active_count() == 1 else None

    def check(self, recorder: Recorder) -> None:
        """Refuse a capture in which random numbers were drawn: the graph would not draw them."""
        if self.before is None:
            return
        if _states() != self.before:
            recorder.refuse(
                "random numbers drawn by code that is not captured: they would be drawn once, when the program is "
                "captured",
                help="draw them in the function itself, or mark what draws them with weft.wrap",
            )
        self.before = None

    def __enter__(self) -> Drawn:
        return self

    def __exit__(self, *error: object) -> None:
        # What code that is not captured has drawn is put back.
        if self.before is not None and _states() != self.before:
            (kind, keys, *rest), python = self.before
            np.random.set_state((kind, np.frombuffer(keys, np.uint32), *rest))
            random.setstate(python)


def _states() -> tuple[Any, Any]:
    kind, keys, *rest = np.random.get_state(legacy=True)
    return (kind, np.asarray(keys).tobytes(), *rest), random.getstate()


def draws(function: Any, owner: Any) -> bool:
    """Whether a function of NumPy's draws random numbers, or makes a generator of them."""
    if isinstance(owner, _GENERATORS):
        return True
    if function in _MAKERS:
        return True
    return getattr(np.random, getattr(function, "__name__", ""), None) is function and callable(function)


def run_draw(recorder: Recorder, function: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A draw of the captured program."""
    if function in _MAKERS:
        node = recorder.create(make_generator, (function, *args), kwargs, None)
        if is_opaque((args, kwargs)):
            return Opaque(recorder, node, function() if function in _SEEDED else np.random.default_rng())
        sample = Samples()
        return Opaque(recorder, node, function(*sample.of(args), **sample.of(kwargs)))
    own = np.random.mtrand._rand  # the generator behind np.random.rand and its kin
    if not isinstance(owner, _GENERATORS) or owner is own:
        return _drawn(recorder, None, copy.deepcopy(own), function.__name__, args, kwargs)
    generator = _from_outside(recorder, owner)
    return _drawn(recorder, generator, generator.example, function.__name__, args, kwargs)


def _from_outside(recorder: Recorder, owner: Any) -> Opaque:
    """A generator that the program closes over: the graph draws from the very same."""
    graph = recorder.root.graph
    path = next((path for path, value in graph.constants.items() if value is owner), None)
    if path is None:
        path = f"_generator{len(graph.constants)}"
        graph.constants[path] = owner
    node = graph.create_node("get_attr", path, (), {})
    node._position = recorder.position()
    return Opaque(recorder, node, copy.deepcopy(owner))


def _drawn(recorder: Recorder, generator: Any, example: Any, name: str, args: Any, kwargs: Any) -> Any:
    if name in _IN_PLACE and args and isinstance(args[0], (Array, np.ndarray)):
        array = recorder.constant(args[0]) if isinstance(args[0], np.ndarray) else args[0]
        recorder.store(array, recorder.create(shuffled, (generator, array, *args[1:]), kwargs, array.spec))
        return None
    if name in _IN_PLACE and args and not isinstance(args[0], Opaque):
        recorder.refuse(
            f"{name}() of a {type(args[0]).__name__}: only arrays are shuffled in a graph",
            help="shuffle np.array(items), or take the items in the order rng.permutation(len(items))",
        )
    if name == "seed":
        recorder.create(draw, (generator, name, *args), kwargs, None)
        return None
    if recorder.untyped or is_opaque(args) or is_opaque(kwargs) or name == "spawn":
        return recorder.opaque(draw, (generator, name, *args), kwargs)
    method = getattr(example, name)
    type_ = recorder.numpy.probe(_PROBES[name](method) if name in _PROBES else method, args, kwargs)
    out = kwargs.get("out", next(iter(args[_FILLING[name] :]), None)) if name in _FILLING else None
    if out is not None:
        return _fill(recorder, out, generator, name, args[: _FILLING[name]], kwargs)
    type_ = _sized(recorder, type_, name, args, kwargs)
    node = recorder.create(draw, (generator, name, *args), kwargs, type_)
    ordered = name not in _LIKE_GIVEN or (isinstance(type_, Spec) and len(type_.shape) < 2)
    return recorder.wrap(node, type_, layout="C" if ordered else False)


def _fill(recorder: Recorder, out: Any, generator: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A draw into an array, which has to lie in order."""
    array = recorder.constant(out) if isinstance(out, np.ndarray) else out
    if not (is_contiguous(recorder, array) or is_contiguous(recorder, array, "F")):
        recorder.refuse(
            f"Generator.{name}() with out=, an array that may not lie in order",
            help=f"assign what it draws: a[...] = rng.{name}(size=a.shape)",
        )
    kwargs = {key: value for key, value in kwargs.items() if key != "out"}
    recorder.store(array, recorder.create(filled, (generator, name, array, *args), kwargs, array.spec))
    return array


def _choice(method: Any) -> Any:
    # What is chosen depends on the weights, and the type of it does not.
    return lambda a, size=None, replace=True, p=None, *rest, **kwargs: method(a, size, True, None, *rest, **kwargs)


def _multinomial(method: Any) -> Any:
    return lambda n, pvals, *rest, **kwargs: method(n, np.full(np.shape(pvals), 0.0), *rest, **kwargs)


def _integers(method: Any) -> Any:
    def of(low: Any, high: Any = None, *rest: Any, **kwargs: Any) -> Any:
        if high is None:
            return method(_like(low, 1), None, *rest, **kwargs)
        return method(_like(low, 0), _like(high, 1), *rest, **kwargs)

    return of


def _triangular(method: Any) -> Any:
    return lambda left, mode, right, *rest, **kwargs: method(
        _like(left, 0), _like(mode, 0.5), _like(right, 1), *rest, **kwargs
    )


def _first(value: float) -> Any:
    return lambda method: lambda a, *rest, **kwargs: method(_like(a, value), *rest, **kwargs)


def _like(sample: Any, value: float) -> Any:
    return np.full(np.shape(sample), value) if np.ndim(sample) else value


_PROBES: dict[str, Any] = {
    "choice": _choice,
    "multinomial": _multinomial,
    "randint": _integers,
    "integers": _integers,
    "triangular": _triangular,
    "logseries": _first(0.5),
    "zipf": _first(2.0),
}
"""Methods that take only some numbers → the method for samples, which are ones."""


def _sized(recorder: Recorder, type_: Any, name: str, args: Any, kwargs: Any) -> Any:
    """The type with its sizes where the call names them."""
    if not isinstance(type_, Spec):
        return type_
    if name in ("permutation", "permuted") and args and isinstance(args[0], Array):
        return Spec(args[0].spec.shape, type_.dtype)
    size = kwargs.get("size")
    if size is None and name in ("rand", "randn"):
        size = args
    if size is None and name in ("random", "random_sample", "standard_normal", "standard_exponential") and args:
        size = args[0]
    if size is None:
        size = next((a for a in reversed(args) if isinstance(a, tuple)), None)
    if size is None and args and len(type_.shape) == 1:
        size = args[-1]
    dims = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if size is None or len(dims) != len(type_.shape) or isinstance(size, Array):
        return type_
    return Spec([recorder.dim(d) for d in dims], type_.dtype)


def generator_method(recorder: Recorder, value: Opaque, name: str) -> Any:
    """A method of a generator that the captured program made."""
    if not isinstance(value.example, _GENERATORS) or (name not in _DRAWING and hasattr(value.example, name)):
        return recorder.opaque_member(value, name)
    if name not in _DRAWING or not hasattr(value.example, name):
        raise AttributeError(f"{type(value.example).__name__!r} object has no attribute {name!r}")
    return BoundMethod(value, name, lambda *args, **kwargs: _drawn(recorder, value, value.example, name, args, kwargs))
