"""What a function of NumPy gives, learnt by calling it on small arrays in place of the traced ones."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from weft.capture._values import Array, Scalar, Traced
from weft.capture._views import Step, held
from weft.graph import Node
from weft.ops import Spec
from weft.ops._dim import Dim, hint_of
from weft.ops._spec import broadcast_shapes

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_NUMBERS = (bool, int, float, complex)
_MOST = 1 << 20  # elements of a sample


class _NotKnown(Exception):
    """No sample is as large as the array it stands for."""


class Samples:
    """Small arrays in place of traced ones, equal sizes for equal sizes: of ones, or of numbers that differ.

    With `as_given` they are as large as those of this call; `open` says whether others may be of other sizes then.
    """

    def __init__(self, differing: bool = False, as_given: bool = False) -> None:
        self.differing, self.as_given, self.open = differing, as_given, False
        self.made: list[tuple[Array, Any]] = []
        self._sizes: dict[Any, int] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, Array):
            self.made.append((value, self._array([self._size(d) for d in value.spec.shape], value.spec.dtype)))
            return self.made[-1][1]
        if isinstance(value, Scalar):
            if isinstance(value.kind, type):
                return value.kind(1) if value.hint is None else value.hint
            return value.kind.type(1)
        if type(value) in (tuple, list):
            return type(value)([self.of(part) for part in value])
        if type(value) is dict:
            return {key: self.of(part) for key, part in value.items()}
        if type(value) is slice:
            return slice(self.of(value.start), self.of(value.stop), self.of(value.step))
        return value

    def _array(self, shape: list[int], dtype: Any) -> Any:
        if self.as_given and math.prod(shape) > _MOST:
            raise _NotKnown
        if not self.differing:
            return np.ones(shape, dtype)
        return (np.arange(int(np.prod(shape, dtype=int))) % 7).reshape(shape).astype(dtype)

    def _size(self, dim: Any) -> int:
        if self.as_given:
            self.open = self.open or isinstance(dim, Dim)
            size = hint_of(dim)
            if size is None:
                raise _NotKnown
            return int(size)
        if not isinstance(dim, Dim):
            return int(dim) if dim <= 64 else self._sizes.setdefault(dim, 17 + 2 * len(self._sizes))
        if dim.hint is not None and dim.hint <= 64:
            return dim.hint
        return self._sizes.setdefault(dim.key, 17 + 2 * len(self._sizes))


class Shared(Step):
    """A view by a function without a rule: read as long as the array it is a view of is the same, never written."""

    __slots__ = ("called", "node")

    def __init__(self, node: Node, since: tuple[Node, ...], called: str) -> None:
        super().__init__(None, (), None, since)
        self.node = node
        self.called = called

    def apply(self, recorder: Recorder, x: Node, type_: Any = None) -> Node:
        """The node of what the function gave."""
        return recorder.region.lift(self.node)

    def refuse(self, recorder: Recorder) -> NoReturn:
        """Refuse a write: how the array lies in memory is not known."""
        recorder.refuse(
            f"a write to an array that shares memory with what {self.called} gave",
            help=f"copy what it gave: {self.called}(...).copy()",
        )


def sampled(recorder: Recorder, function: Any, args: Any, kwargs: Any, otherwise: Exception | None) -> Any:
    """What a function gives for samples of its arguments, and the samples.

    Where it raises, `otherwise` is raised if given. Else an error of types, or one of arrays as large as those of the
    calls that are captured, is the program's own; any other may be due to the samples, and the call is refused.
    """
    samples, error = Samples(), None
    try:
        return _called(function, samples, args, kwargs), samples
    except Exception as found:  # whatever it raises, the program's own call may not
        error = found
    if otherwise is not None:
        raise otherwise
    for samples in (Samples(differing=True), Samples(as_given=True)):
        try:
            return _called(function, samples, args, kwargs), samples
        except _NotKnown:
            break
        except Exception as found:  # as above
            same = type(found) is type(error) and str(found) == str(error)
            if isinstance(found, TypeError) or (samples.as_given and same and not samples.open):
                raise
    return recorder.refuse(
        f"{name_of(function)}: what it gives for these arguments cannot be told before it runs ({error})",
        help="put it in a function of your own and mark that with weft.wrap",
    )


def _called(function: Any, samples: Samples, args: Any, kwargs: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*samples.of(args), **samples.of(kwargs))


def elementwise_type(result: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """The type of what a ufunc gives, whose sizes are those of its arguments; None for other functions."""
    if not isinstance(function, np.ufunc) or function.signature is not None or "where" in kwargs:
        return None
    if not all(isinstance(a, (Array, Scalar, np.ndarray, np.generic, *_NUMBERS)) for a in args):
        return None
    shape = broadcast_shapes(function.__name__, *(_shape(a) for a in args))
    parts = result if isinstance(result, tuple) else (result,)
    if not shape or any(np.asarray(part).dtype.kind not in "biufc" for part in parts):
        return None
    types = tuple(Spec(shape, part.dtype) for part in parts)
    return types if isinstance(result, tuple) else types[0]


def _shape(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Array):
        return tuple(value.spec.shape)
    return () if isinstance(value, Scalar) else np.shape(value)


def type_of_sample(recorder: Recorder, result: Any, function: Any) -> Any:
    """The type of what a function gives, from an example; sizes are left open."""
    name = getattr(function, "__name__", "size")
    if type(result) is np.ndarray or isinstance(result, np.generic):
        if result.dtype.kind not in "biufc":
            recorder.refuse(f"{name_of(function)} gives {result.dtype} elements, which a graph does not compute with")
        return Spec([recorder.sizes.fresh(name) for _ in np.shape(result)], result.dtype)
    if type(result) in (*_NUMBERS, str, bytes):
        return type(result)
    if isinstance(result, (tuple, list)):
        parts = [type_of_sample(recorder, part, function) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, Traced):
        recorder.refuse(
            f"{name_of(function)} calls a function of the program inside NumPy, where it is not captured",
            help="call it in a loop of your own, or put the whole call in a function marked with weft.wrap",
        )
    return recorder.refuse(
        f"{name_of(function)} gives a {type(result).__name__}, which a graph cannot hold",
        help="compute with arrays, or put it in a function of your own and mark that with weft.wrap",
    )


def shared(recorder: Recorder, made: Any, result: Any, samples: Samples, function: Any) -> Any:
    """What a function gave, where parts that share memory with its arguments are views of those."""
    if isinstance(made, (tuple, list)):
        pairs = zip(made, result, strict=True)
        parts = [shared(recorder, one, part, samples, function) for one, part in pairs]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
    if not isinstance(made, Array):
        return made
    made.buffer.layout = [array for array, _ in samples.made] if result.flags.c_contiguous else False
    for array, sample in samples.made:
        if np.may_share_memory(result, sample):
            step = Shared(made.node, held(recorder, array.buffer), name_of(function))
            return recorder.view(array, step, made.spec)
    return made


def name_of(function: Any) -> str:
    """What the program calls a function of NumPy's."""
    module = str(getattr(function, "__module__", None) or "numpy")
    name = getattr(function, "__name__", type(function).__name__)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"np.{owner.__name__}.{name}"
    if isinstance(owner, (np.random.Generator, np.random.RandomState)):
        return f"{type(owner).__name__}.{name}"
    public = ".".join(part for part in module.split(".")[1:] if not part.startswith("_"))
    return f"np.{public}.{name}" if public else f"np.{name}"
