"""Random numbers of the usual distributions; users find them in `weft.random`.

What has usual parameters takes the shape first (`normal((2, 3))`), what needs some takes those first (`poisson(rate)`).
Without a shape the parameters give it. Numbers come from `generator`, or from the current one. The parameters that only
shift or stretch may be tensors that require gradients. What the bits are is said in `_words`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from weft import _generator
from weft.errors import DtypeError
from weft.ops import _samplers, _words
from weft.ops._drawing import RandomOp
from weft.ops._families import _doc, usual
from weft.ops._matrices import put_in
from weft.ops._op import TABLE, Facts, Rules, independent, no_gradient
from weft.ops._parameters import (
    as_dtype,
    counted,
    float_dtype,
    full_shape,
    is_number,
    number,
    plain_shape,
    values,
)
from weft.ops._raises import BAD_VALUES
from weft.ops._spec import Spec, dtype_of, shape_of, size_of

__all__ = [
    "bernoulli",
    "beta",
    "exponential",
    "gamma",
    "gumbel",
    "integers",
    "normal",
    "poisson",
    "rand_like",
    "randn_like",
    "standard_exponential",
    "standard_gamma",
    "standard_gumbel",
    "standard_normal",
    "standard_uniform",
    "truncated_normal",
    "uniform",
]

_DOUBLE = np.dtype(np.float64)


def drawing(
    *,
    infer: Callable[..., Any],
    arrays: Sequence[str] = (),
    vjp: Any = None,
    composite: bool = False,
    **facts: Unpack[Facts],
) -> Callable[[Callable[..., Any]], RandomOp]:
    """Declare an op that draws. A composite has its derivatives from its body, but its shape rule draws nothing.

    The parameters of many a distribution may have values that it is not defined for.
    """

    def declare(function: Callable[..., Any]) -> RandomOp:
        rule = no_gradient(f"{function.__name__} is a composite: differentiate its body") if composite else vjp
        rules: Rules = (rule,) * len(arrays)
        return RandomOp(
            function.__name__,
            eval=function,
            infer=infer,
            vjp=rules,
            arrays=arrays,
            doc=_doc(function),
            body=function if composite else None,
            random=True,
            **usual({"raises": BAD_VALUES, **facts}),
        )

    return declare


def source(name: str, generator: Any) -> _generator.Generator:
    """The generator to draw from."""
    if generator is None:
        return _generator.current()
    if not isinstance(generator, _generator.Generator):
        raise TypeError(f"{name}: generator is a weft.random.Generator or None, got {type(generator).__name__}")
    return generator


# ── Without parameters ────────────────────────────────────────────────────────────────────────────────────────────────


def _standard_spec(name: str) -> Callable[..., Spec]:
    return lambda shape, dtype, generator: Spec(plain_shape(name, shape), float_dtype(name, dtype))


@drawing(infer=_standard_spec("standard_uniform"), always_array=True)
def standard_uniform(shape: Any = (), dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers drawn evenly from [0, 1)."""
    shape, dtype = plain_shape("standard_uniform", shape), float_dtype("standard_uniform", dtype)
    count = size_of(shape)
    words = source("standard_uniform", generator).words(_words.words_for(count, dtype))
    return _words.uniform(words, count, dtype).reshape(shape)


@drawing(infer=_standard_spec("standard_normal"), always_array=True)
def standard_normal(shape: Any = (), dtype: Any = None, *, generator: Any = None) -> Any:
    """Normally distributed numbers of mean 0 and standard deviation 1."""
    shape, dtype = plain_shape("standard_normal", shape), float_dtype("standard_normal", dtype)
    count = size_of(shape)
    words = source("standard_normal", generator).words(_words.normal_words(count, dtype))
    return _words.normal(words, count, dtype).reshape(shape)


@drawing(infer=_standard_spec("standard_exponential"), always_array=True)
def standard_exponential(shape: Any = (), dtype: Any = None, *, generator: Any = None) -> Any:
    """Exponentially distributed numbers of mean 1."""
    shape, dtype = plain_shape("standard_exponential", shape), float_dtype("standard_exponential", dtype)
    words = source("standard_exponential", generator).words(size_of(shape))
    return _words.exponential(words).astype(dtype, copy=False).reshape(shape)


@drawing(infer=_standard_spec("standard_gumbel"), always_array=True)
def standard_gumbel(shape: Any = (), dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers of the Gumbel distribution with location 0 and scale 1."""
    shape, dtype = plain_shape("standard_gumbel", shape), float_dtype("standard_gumbel", dtype)
    words = source("standard_gumbel", generator).words(size_of(shape))
    return _words.gumbel(words).astype(dtype, copy=False).reshape(shape)


# ── Shifted and stretched ─────────────────────────────────────────────────────────────────────────────────────────────


def _moved_spec(name: str) -> Callable[..., Spec]:
    def infer(shape: Any, first: Any, second: Any, dtype: Any, generator: Any) -> Spec:
        return Spec(full_shape(name, shape, first, second), float_dtype(name, dtype, first, second))

    return infer


def _moved(noise: Any, factor: Any, offset: Any) -> Any:
    """Noise * factor + offset, the array's own memory used where nothing else can see it."""
    if is_number(factor) and is_number(offset):
        if factor == 1 and offset == 0:
            return noise
        if type(noise) is np.ndarray:
            noise *= factor
            noise += offset
            return noise
    return noise * factor + offset


@drawing(arrays=("low", "high"), infer=_moved_spec("uniform"), composite=True)
def uniform(shape: Any = None, low: Any = 0.0, high: Any = 1.0, dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers drawn evenly from [low, high), as u * (high - low) + low, which rounding may carry to `high` itself."""
    shape, dtype = full_shape("uniform", shape, low, high), float_dtype("uniform", dtype, low, high)
    low, high = as_dtype("uniform", low, dtype), as_dtype("uniform", high, dtype)
    bounds = values(low), values(high)
    if all(b is not None for b in bounds) and not np.all(bounds[0] <= bounds[1]):
        raise ValueError(f"uniform: low must not exceed high, got {low} and {high}")
    return _moved(standard_uniform(shape, dtype, generator=generator), high - low, low)


@drawing(arrays=("mean", "std"), infer=_moved_spec("normal"), composite=True)
def normal(shape: Any = None, mean: Any = 0.0, std: Any = 1.0, dtype: Any = None, *, generator: Any = None) -> Any:
    """Normally distributed numbers, as noise * std + mean."""
    shape, dtype = full_shape("normal", shape, mean, std), float_dtype("normal", dtype, mean, std)
    mean, std = as_dtype("normal", mean, dtype), as_dtype("normal", std, dtype)
    _at_least_zero("normal", "std", std)
    return _moved(standard_normal(shape, dtype, generator=generator), std, mean)


@drawing(arrays=("loc", "scale"), infer=_moved_spec("gumbel"), composite=True)
def gumbel(shape: Any = None, loc: Any = 0.0, scale: Any = 1.0, dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers of the Gumbel distribution: the largest of many; `argmax(logits + noise)` picks by softmax(logits)."""
    shape, dtype = full_shape("gumbel", shape, loc, scale), float_dtype("gumbel", dtype, loc, scale)
    loc, scale = as_dtype("gumbel", loc, dtype), as_dtype("gumbel", scale, dtype)
    _at_least_zero("gumbel", "scale", scale)
    return _moved(standard_gumbel(shape, dtype, generator=generator), scale, loc)


def _exponential_spec(shape: Any, scale: Any, dtype: Any, generator: Any) -> Spec:
    return Spec(full_shape("exponential", shape, scale), float_dtype("exponential", dtype, scale))


@drawing(arrays=("scale",), infer=_exponential_spec, composite=True)
def exponential(shape: Any = None, scale: Any = 1.0, dtype: Any = None, *, generator: Any = None) -> Any:
    """Exponentially distributed numbers of mean `scale`."""
    shape, dtype = full_shape("exponential", shape, scale), float_dtype("exponential", dtype, scale)
    scale = as_dtype("exponential", scale, dtype)
    _at_least_zero("exponential", "scale", scale)
    return _moved(standard_exponential(shape, dtype, generator=generator), scale, 0)


def _like_spec(x: Any, dtype: Any, generator: Any) -> Spec:
    return Spec(shape_of(x), float_dtype("a random array like another", dtype_of(x) if dtype is None else dtype))


@drawing(arrays=("x",), vjp=independent, infer=_like_spec)
def rand_like(x: Any, /, dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers drawn evenly from [0, 1) in the shape and dtype of another array."""
    return standard_uniform.eval(shape_of(x), _like_spec(x, dtype, generator).dtype, generator=generator)


@drawing(arrays=("x",), vjp=independent, infer=_like_spec)
def randn_like(x: Any, /, dtype: Any = None, *, generator: Any = None) -> Any:
    """Standard normal numbers in the shape and dtype of another array."""
    return standard_normal.eval(shape_of(x), _like_spec(x, dtype, generator).dtype, generator=generator)


# ── Other distributions ───────────────────────────────────────────────────────────────────────────────────────────────


def _truncated_spec(shape: Any, mean: Any, std: Any, low: Any, high: Any, dtype: Any, generator: Any) -> Spec:
    return Spec(plain_shape("truncated_normal", shape), float_dtype("truncated_normal", dtype))


@drawing(infer=_truncated_spec)
def truncated_normal(
    shape: Any = (),
    mean: float = 0.0,
    std: float = 1.0,
    low: float = -2.0,
    high: float = 2.0,
    dtype: Any = None,
    *,
    generator: Any = None,
) -> Any:
    """Normally distributed numbers, those outside [low, high] left out; the parameters are numbers."""
    shape, dtype = plain_shape("truncated_normal", shape), float_dtype("truncated_normal", dtype)
    named = {"mean": mean, "std": std, "low": low, "high": high}
    mean, std, low, high = (number("truncated_normal", name, value) for name, value in named.items())
    if not (std > 0 and low < high):
        raise ValueError(f"truncated_normal: expected std > 0 and low < high, got {std}, {low} and {high}")
    words = source("truncated_normal", generator).words(size_of(shape))
    y = _samplers.truncated_normal(words, (low - mean) / std, (high - mean) / std) * std + mean
    return np.clip(y.astype(dtype), low, high).reshape(shape)


_JUMPS = "a draw jumps from one number to another; weft.random.gumbel or uniform noise makes a relaxation of it"
_REFUSES = "numbers are proposed and refused; only scale moves them smoothly"


def _parameter_spec(name: str) -> Callable[..., Spec]:
    def infer(parameter: Any, shape: Any, dtype: Any, generator: Any) -> Spec:
        return Spec(full_shape(name, shape, parameter), float_dtype(name, dtype, parameter))

    return infer


def _spread(parameter: Any, shape: Any) -> Any:
    """A parameter as float64, one value for each element drawn."""
    return np.broadcast_to(np.asarray(parameter, np.float64), shape).reshape(-1)


@drawing(arrays=("p",), vjp=no_gradient(_JUMPS), infer=_parameter_spec("bernoulli"))
def bernoulli(p: Any, shape: Any = None, dtype: Any = None, *, generator: Any = None) -> Any:
    """Ones with probability p, zeros otherwise."""
    shape, dtype = full_shape("bernoulli", shape, p), float_dtype("bernoulli", dtype, p)
    chances = _spread(p, shape)
    if not np.all((chances >= 0) & (chances <= 1)):
        raise ValueError(f"bernoulli: p must be between 0 and 1, got {p}")
    words = source("bernoulli", generator).words(size_of(shape))
    return (_words.uniform(words, len(words), _DOUBLE) < chances).astype(dtype).reshape(shape)


@drawing(arrays=("rate",), vjp=no_gradient(_JUMPS), infer=_parameter_spec("poisson"))
def poisson(rate: Any, shape: Any = None, dtype: Any = None, *, generator: Any = None) -> Any:
    """How many of many rare things happen, `rate` of them on average."""
    shape, dtype = full_shape("poisson", shape, rate), float_dtype("poisson", dtype, rate)
    rates = _spread(rate, shape)
    if not np.all((rates >= 0) & (rates < 2.0**50)):
        raise ValueError(f"poisson: rate must be at least 0 and below 2**50, got {rate}")
    return _samplers.poisson(source("poisson", generator), rates).astype(dtype).reshape(shape)


@drawing(arrays=("concentration",), vjp=no_gradient(_REFUSES), infer=_parameter_spec("standard_gamma"))
def standard_gamma(concentration: Any, shape: Any = None, dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers of the gamma distribution with scale 1."""
    shape = full_shape("standard_gamma", shape, concentration)
    dtype = float_dtype("standard_gamma", dtype, concentration)
    shapes = _positive("standard_gamma", "concentration", concentration, shape)
    drawn = _words.exp(_samplers.log_gamma(source("standard_gamma", generator), shapes))
    return drawn.astype(dtype, copy=False).reshape(shape)


def _gamma_spec(concentration: Any, scale: Any, shape: Any, dtype: Any, generator: Any) -> Spec:
    return Spec(full_shape("gamma", shape, concentration, scale), float_dtype("gamma", dtype, concentration, scale))


@drawing(arrays=("concentration", "scale"), infer=_gamma_spec, composite=True)
def gamma(concentration: Any, scale: Any = 1.0, shape: Any = None, dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers of the gamma distribution: of mean concentration * scale."""
    shape = full_shape("gamma", shape, concentration, scale)
    dtype = float_dtype("gamma", dtype, concentration, scale)
    scale = as_dtype("gamma", scale, dtype)
    _at_least_zero("gamma", "scale", scale)
    return _moved(standard_gamma(concentration, shape, dtype, generator=generator), scale, 0)


def _beta_spec(a: Any, b: Any, shape: Any, dtype: Any, generator: Any) -> Spec:
    return Spec(full_shape("beta", shape, a, b), float_dtype("beta", dtype, a, b))


@drawing(arrays=("a", "b"), vjp=no_gradient("numbers are proposed and refused"), infer=_beta_spec)
def beta(a: Any, b: Any, shape: Any = None, dtype: Any = None, *, generator: Any = None) -> Any:
    """Numbers of the beta distribution: between 0 and 1, of mean a / (a + b)."""
    shape, dtype = full_shape("beta", shape, a, b), float_dtype("beta", dtype, a, b)
    first, second = (_positive("beta", name, x, shape) for name, x in (("a", a), ("b", b)))
    drawn = source("beta", generator)
    logs = [_samplers.log_gamma(drawn, each) for each in (first, second)]
    with np.errstate(over="ignore"):
        return (1 / (1 + _words.exp(logs[1] - logs[0]))).astype(dtype, copy=False).reshape(shape)


def _integers_spec(low: Any, high: Any, shape: Any, dtype: Any, generator: Any) -> Spec:
    return Spec(plain_shape("integers", shape), np.int64 if dtype is None else dtype)


@drawing(infer=_integers_spec, always_array=True)
def integers(low: int, high: int | None = None, shape: Any = (), dtype: Any = None, *, generator: Any = None) -> Any:
    """Whole numbers from `low` (0 where only one bound is given) up to, not including, `high`."""
    first, last = (
        counted("integers", "low", 0 if high is None else low),
        counted("integers", "high", low if high is None else high),
    )
    shape, dtype = plain_shape("integers", shape), np.dtype(np.int64 if dtype is None else dtype)
    if dtype.kind not in "iu":
        raise DtypeError(f"integers: dtype must be a dtype of whole numbers, got {dtype}")
    limits = np.iinfo(dtype)
    if not (first < last and limits.min <= first and last - 1 <= limits.max):
        raise ValueError(f"integers: expected low < high within {dtype}, got {first} and {last}")
    span, count = last - first, size_of(shape)
    words = source("integers", generator).words(_words.integer_words(count, span))
    y = _words.integers(words, span)
    y += np.uint64(first % (1 << 64))
    return y.astype(dtype).reshape(shape)


def _at_least_zero(name: str, what: str, value: Any) -> None:
    known = values(value)
    if known is not None and not np.all(known >= 0):
        raise ValueError(f"{name}: {what} must not be negative, got {value}")


def _positive(name: str, what: str, value: Any, shape: Any) -> Any:
    spread = _spread(value, shape)
    if not np.all((spread > 0) & np.isfinite(spread)):
        raise ValueError(f"{name}: {what} must be above 0, got {value}")
    return spread


put_in("weft.random", *(TABLE[name] for name in __all__))
