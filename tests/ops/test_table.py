"""Every op of the table, checked on every case: adding an op adds its tests, and an op without a case fails."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from cases import REFERENCES, Case, by_op, integers, load_all, normal, rng, uniform
from tape import Traced, gradients

import weft
from each import each
from weft import pytree
from weft.errors import NotDifferentiable, UnknownShape
from weft.ops import TABLE, Spec, _op, spec_of
from weft.ops._families import Reals
from weft.ops._op import ANY_ORDER, ORDER_KEPT, OWN, SHOWN, VIEW, Op
from weft.ops._raises import BAD_VALUES

CASES = load_all()
POINTWISE = [op for op in TABLE.values() if op.domain is not None]
ALL = [case for cases in CASES.values() for case in cases]


def pointwise_cases() -> list[Case]:
    """Broadcast, scalar and empty shapes for each pointwise op, sampled from its domain."""
    found = []
    for op in POINTWISE:
        domains = op.domain if isinstance(op.domain, tuple) else (op.domain,) * len(op.arrays)
        for shapes in [((3, 4), (4,), (3, 1)), ((), (), ()), ((2, 0), (1,), ()), ((2, 1, 3), (4, 1), (3,))]:
            args = tuple(sample(d, *s, seed=i) for i, (d, s) in enumerate(zip(domains, shapes, strict=False)))
            found.append(Case(op.name, args, {}, reference(op.name), name=f"{op.name}-{shapes}"))
        if all(d.complex for d in domains if d.kind == "f") and any(d.kind == "f" for d in domains):
            args = tuple(
                normal(3, dtype=complex, seed=i) if d.kind == "f" else sample(d, 3) for i, d in enumerate(domains)
            )
            found.append(Case(op.name, args, {}, reference(op.name), name=f"{op.name}-complex"))
    return found


def sample(domain: Reals, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of the kind an op works on, from the interval where it is defined and smooth."""
    if domain.kind == "f":
        return uniform(domain.low, domain.high, *shape, seed=seed)
    return integers(int(domain.low), int(domain.high), *shape, dtype={"i": int, "b": bool}[domain.kind], seed=seed)


def reference(name: str) -> Any:
    return REFERENCES.get(name) or getattr(np, name, None)  # without one, test_value says so


EVERY = pointwise_cases() + ALL


def test_every_op_has_cases() -> None:
    missing = sorted(set(TABLE) - set(CASES) - {op.name for op in POINTWISE})
    assert not missing, f"ops without a case: {missing}"


@by_op(EVERY)
def test_value(cases: list[Case]) -> None:
    each(cases, _check_value)


def _check_value(case: Case) -> None:
    args = _read_only(case.args)
    result = TABLE[case.op](*args, **case.kwargs)
    if case.check is not None:
        case.check(result, *args, **case.kwargs)
        return
    assert case.ref is not None, f"{case.name} has neither a reference nor a check"
    expected = case.ref(*args, **case.kwargs)
    _assert_same(result, expected, case.rtol)


@by_op(EVERY)
def test_memory(cases: list[Case]) -> None:
    """Results lie where the op says, however its arguments lie."""
    each(cases, _check_memory)


def _check_memory(case: Case) -> None:
    memory = TABLE[case.op].memory
    for laid in (np.copy, _by_columns, _with_gaps) if case.kwargs.get("copy") is not False else (np.copy,):
        args = _laid_out(case.args, laid)
        given, found = _arrays(args), _arrays(TABLE[case.op](*args, **case.kwargs))
        shared = [array for array in found if any(np.shares_memory(array, each) for each in given)]
        assert memory != OWN or not shared
        if memory in (OWN, VIEW):
            assert all(array.flags.writeable and 0 not in _strides(array) for array in found)
            assert not any(np.shares_memory(array, each) for array in shared for each in given[1:])


def _laid_out(value: Any, laid: Any) -> Any:
    return pytree.map(lambda leaf: laid(leaf) if isinstance(leaf, np.ndarray) else leaf, value)


def _by_columns(x: np.ndarray) -> np.ndarray:
    return np.array(x, order="F")


def _with_gaps(x: np.ndarray) -> np.ndarray:
    return np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x.copy()


def _arrays(value: Any) -> list[np.ndarray]:
    return [leaf for leaf in pytree.leaves_of(value) if isinstance(leaf, np.ndarray)]


def _strides(x: np.ndarray) -> list[int]:
    return [stride for stride, size in zip(x.strides, x.shape, strict=True) if size > 1 and x.size]


@by_op(EVERY)
def test_order(cases: list[Case]) -> None:
    """The axes of results lie as the op says, of arrays by rows and by columns."""
    each(cases, _check_order)


def _check_order(case: Case) -> None:
    op = TABLE[case.op]
    if op.memory == OWN and op.order != ANY_ORDER:
        assert all(array.flags.c_contiguous for array in _arrays(op(*_laid_out(case.args, np.copy), **case.kwargs)))
    if op.order == ORDER_KEPT and len({array.shape for array in _arrays(case.args)}) == 1:
        assert all(array.flags.f_contiguous for array in _arrays(op(*_laid_out(case.args, _by_columns), **case.kwargs)))


@by_op(EVERY)
def test_always_array(cases: list[Case]) -> None:
    """Results without dimensions are arrays or NumPy's scalars, as the op says, also of arrays without dimensions."""
    each(cases, _check_always_array)


def _check_always_array(case: Case) -> None:
    op = TABLE[case.op]
    for laid in (np.copy, _first_of):
        args, kwargs = _laid_out((case.args, case.kwargs), laid)
        if _error(op, *args, **kwargs) is not None:
            continue
        with _quiet():
            found = op(*args, **kwargs)
        if op.always_array:
            assert not [each for each in pytree.leaves_of(found) if isinstance(each, np.generic)]
        elif laid is np.copy and op.memory == OWN:
            assert all(array.ndim for array in _arrays(found))


def _first_of(x: np.ndarray) -> np.ndarray:
    """An array without dimensions."""
    return np.resize(x, 1).reshape(())


@by_op(case for case in EVERY if _arrays((case.args, case.kwargs)))
def test_raises(cases: list[Case]) -> None:
    """Values out of place raise what the op says, where the shape rule takes the call."""
    each(cases, _check_raises)


def _check_raises(case: Case) -> None:
    op = TABLE[case.op]
    for place, given in enumerate(_arrays((case.args, case.kwargs))):
        for instead in _out_of_place(given):
            others = iter(range(place + 1))
            args, kwargs = _laid_out((case.args, case.kwargs), lambda x: instead if next(others, -1) == place else x)  # noqa: B023
            arguments = _abstract(op, op.bind(args, kwargs))
            error = _error(op, *args, **kwargs)
            if error is not None and _error(op.infer, *arguments) is None:
                assert op.raises is not None and op.raises.when(*arguments), repr(error)
                assert isinstance(error, op.raises.classes)


def _error(function: Any, *args: Any, **kwargs: Any) -> Exception | None:
    """What a call raises."""
    with _quiet():
        try:
            function(*args, **kwargs)
        except Exception as error:
            return error
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _out_of_place(x: np.ndarray) -> list[np.ndarray]:
    """Arrays of the same shape and dtype, of values that many a function has no answer for."""
    values = {"b": (0, 1), "u": (0, 100), "i": (0, -1, 100)}.get(x.dtype.kind, (0, -1, 1e3, np.nan, np.inf))
    return [np.full_like(x, value) for value in values]


def _abstract(op: Op, arguments: tuple[Any, ...]) -> list[Any]:
    names = op.__signature__.parameters
    return [spec_of(a) if name in op.arrays else a for name, a in zip(names, arguments, strict=True)]


def test_an_op_that_says_nothing_may_do_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_op, "_ops", {})
    silent = Op("silent", eval=abs, infer=abs, vjp=(), arrays=(), doc="Nothing.")
    assert silent.memory is None
    assert silent.raises == BAD_VALUES
    assert {op.memory for op in TABLE.values()} == {OWN, VIEW, SHOWN, None}


def _evaluated_by_another(case: Case) -> bool:
    op = TABLE[case.op]
    return op.composite and op.eval is not op.body


# The body may sum in another order than NumPy: some roundings of the narrowest dtype among the arguments.
ROUNDINGS = {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 1e-5, np.dtype(np.complex64): 1e-5}


@by_op(case for case in EVERY if _evaluated_by_another(case))
def test_body(cases: list[Case]) -> None:
    """What is differentiated is what is evaluated; where there is no derivative the body may say so."""
    each(cases, _check_body)


def _check_body(case: Case) -> None:
    try:
        result = TABLE[case.op].body(*_read_only(case.args), **case.kwargs)
    except (NotDifferentiable, UnknownShape) as error:
        result, reason = None, str(error)
    else:
        reason = ""
    if result is None:
        assert len(reason) > 10, "the reason says nothing"
    elif case.check is None and case.same:
        kinds = [a.dtype for a in pytree.leaves_of((case.args, case.kwargs)) if isinstance(a, np.ndarray)]
        rtol = max(case.rtol, *(ROUNDINGS.get(kind, 0) for kind in [*kinds, None]))
        _assert_same(result, case.ref(*case.args, **case.kwargs), rtol)


@by_op(case for case in EVERY if case.infer)
def test_shape_rule(cases: list[Case]) -> None:
    each(cases, _check_shape_rule)


def _check_shape_rule(case: Case) -> None:
    op = TABLE[case.op]
    result = spec_of(op(*case.args, **case.kwargs))
    if isinstance(result, bool):  # as NumPy's questions about whole arrays answer
        result = Spec((), np.bool_)
    arguments = op.bind(case.args, case.kwargs)
    names = list(op.__signature__.parameters)
    abstract = [spec_of(a) if n in op.arrays else a for n, a in zip(names, arguments, strict=True)]
    assert _plain(op.infer(*abstract)) == _plain(result)


@by_op(case for case in EVERY if case.infer and case.grad and not TABLE[case.op].composite)
def test_derivative_rules_need_shapes_only(cases: list[Case]) -> None:
    """A rule runs on Specs as on arrays, and gives a gradient of the argument's shape and dtype."""
    each(cases, _check_derivative_rules)


def _check_derivative_rules(case: Case) -> None:
    op = TABLE[case.op]
    names = list(op.__signature__.parameters)
    arguments = op.bind(case.args, case.kwargs)
    abstract = [spec_of(a) if n in op.arrays else a for n, a in zip(names, arguments, strict=True)]
    y = op.infer(*abstract)
    for name, rule in zip(op.arrays, op.vjp, strict=True):
        x = abstract[names.index(name)]
        floats = [isinstance(v, Spec) and v.dtype.kind in "fc" for v in (x if isinstance(x, list | tuple) else [x])]
        if floats and all(floats) and not isinstance(rule, NotDifferentiable):
            assert _plain(spec_of(op.gradient(name, y, y, abstract))) == _plain(x)


def _smooth(call: Any, leaves: list[Traced]) -> bool:
    """Whether a rule exists; if not, differentiating must say why instead of giving zeros."""
    y = call(leaves)
    if not isinstance(y, tuple | list) and y.dtype.kind not in "fc":
        return False
    try:
        gradients(_scalar(y), leaves)
    except NotDifferentiable as error:
        reason = str(error)
    else:
        return True
    assert len(reason) > 10, "the reason says nothing"
    return False


def _differentiable(case: Case) -> tuple[list[Traced], Any]:
    """The float64 and complex128 arrays among the arguments, and the call as a function of them."""
    leaves: list[Traced] = []

    def lift(value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.dtype in (np.float64, np.complex128):
            leaves.append(Traced(value))
            return len(leaves) - 1, "leaf"
        if type(value) in (list, tuple):
            return [lift(v) for v in value], type(value)
        return value, "constant"

    arguments = TABLE[case.op].bind(case.args, case.kwargs)
    names = list(TABLE[case.op].__signature__.parameters)
    template = {
        n: lift(a) if n in TABLE[case.op].arrays else (a, "constant") for n, a in zip(names, arguments, strict=True)
    }

    def lower(item: Any, xs: list[Traced]) -> Any:
        value, kind = item
        if kind == "leaf":
            return xs[value]
        if kind == "constant":
            return value
        return kind(lower(v, xs) for v in value)

    def call(xs: list[Traced]) -> Any:
        args, kwargs = [], {}
        for parameter in TABLE[case.op].__signature__.parameters.values():
            value = lower(template[parameter.name], xs)
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.extend(value)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return TABLE[case.op](*args, **kwargs)

    return leaves, call


@by_op(case for case in EVERY if case.grad and _differentiable(case)[0])
def test_gradient(cases: list[Case]) -> None:
    each(cases, _check_gradient)


def _check_gradient(case: Case) -> None:
    op = TABLE[case.op]
    leaves, call = _differentiable(case)
    if not op.composite and any(isinstance(rule, NotDifferentiable) for rule in op.vjp) and not _smooth(call, leaves):
        return
    y = _scalar(call(leaves))
    first = gradients(y, leaves)
    _assert_close(first, _numerical(lambda xs: _scalar(call(xs)), leaves), case.name)
    if case.order < 2:
        return
    weights = [rng(case.name, i).standard_normal(x.shape) for i, x in enumerate(leaves)]

    def slope(xs: list[Traced]) -> Traced:
        total = Traced(0.0)
        for g, w in zip(gradients(_scalar(call(xs)), xs), weights, strict=True):
            total = total + weft.sum(weft.real(g * w))
        return total

    _assert_close(gradients(slope(leaves), leaves), _numerical(slope, leaves), case.name + " (second order)")


def _scalar(y: Any) -> Traced:
    """A real number that depends smoothly on every float result, so that one gradient tests all."""
    total: Any = Traced(0.0)
    for i, part in enumerate(y if isinstance(y, tuple | list) else (y,)):
        if not isinstance(part, Traced) or part.dtype.kind not in "fc":
            continue
        weight = rng("weight", i, part.shape).uniform(0.5, 1.5, part.shape)
        if part.dtype.kind == "c":
            total = total + weft.sum(weft.real(part) * weight) + weft.sum(weft.sin(weft.imag(part)) * weight)
        else:
            total = total + weft.sum(weft.sin(part) * weight)
    return total


def _numerical(f: Any, leaves: list[Traced], h: float = 1e-5) -> list[np.ndarray]:
    """Central differences of a real function, over real and imaginary parts."""
    found = []
    for i, leaf in enumerate(leaves):
        gradient = np.zeros(leaf.shape, leaf.dtype)
        for index in np.ndindex(leaf.shape):
            for step in (h, 1j * h) if leaf.dtype.kind == "c" else (h,):
                up, down = leaf.data.copy(), leaf.data.copy()
                up[index] += step
                down[index] -= step
                at = [Traced(up) if j == i else x for j, x in enumerate(leaves)]
                below = [Traced(down) if j == i else x for j, x in enumerate(leaves)]
                slope = (float(f(at).data) - float(f(below).data)) / (2 * h)
                gradient[index] += slope * (step / h)
        found.append(gradient)
    return found


def _assert_close(got: list[Traced], expected: list[np.ndarray], name: str) -> None:
    for g, e in zip(got, expected, strict=True):
        # Central differences with h = 1e-5 carry an error of about 1e-10 times the third derivative.
        np.testing.assert_allclose(g.data, e, rtol=2e-5, atol=2e-6, err_msg=name)


def _assert_same(result: Any, expected: Any, rtol: float) -> None:
    if isinstance(expected, tuple | list):
        assert len(result) == len(expected)
        for r, e in zip(result, expected, strict=True):
            _assert_same(r, e, rtol)
        return
    result, expected = np.asarray(result), np.asarray(expected)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=1e-14)


def _plain(value: Any) -> Any:
    return tuple(_plain(v) for v in value) if isinstance(value, tuple | list) else value


def _read_only(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.setflags(write=False)
        return value
    if type(value) in (list, tuple):
        return type(value)(_read_only(v) for v in value)
    return value
