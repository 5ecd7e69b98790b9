"""Every op of the table, batched: each of its arrays alone and all together, against a loop over the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from batching import by_rows, graph_of, run_batched
from cases import Case, load_all
from test_table import ROUNDINGS, pointwise_cases

from weft import pytree
from weft.errors import CaptureError, UnknownShape
from weft.graph import Graph
from weft.ops import TABLE, Op, Spec
from weft.ops._dim import Dim

MOST = 12  # cases of one op, but of those that take keys: there all differ
KEYED = ("getitem", "index_update", "index_add", "place_at", "take")
CASES: dict[str, list[Case]] = {}
for _case in [*pointwise_cases(), *(each for cases in load_all().values() for each in cases)]:
    CASES.setdefault(_case.op, []).append(_case)
# What is drawn cannot be compared, nor what memory held; split's sections, given as an array, are known by value only.
NAMES = sorted(name for name in CASES if not TABLE[name].random and TABLE[name].arrays and name != "empty_like")


def call_of(case: Case) -> tuple[list[np.ndarray], Callable[..., Any]]:
    """The arrays among the arguments of a case, and the call as a function of them."""
    op = TABLE[case.op]
    leaves: list[np.ndarray] = []

    def lift(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            leaves.append(value)
            return len(leaves) - 1, "leaf"
        if type(value) in (list, tuple):
            return [lift(part) for part in value], type(value)
        return value, "constant"

    def lower(item: Any, arrays: Any) -> Any:
        value, kind = item
        if kind == "leaf":
            return arrays[value]
        return value if kind == "constant" else kind(lower(part, arrays) for part in value)

    parameters = list(op.__signature__.parameters.values())
    bound = op.bind(case.args, case.kwargs)
    template = [
        lift(value) if parameter.name in op.arrays else (value, "constant")
        for parameter, value in zip(parameters, bound, strict=True)
    ]

    def call(*arrays: Any) -> Any:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter, item in zip(parameters, template, strict=True):
            value = lower(item, arrays)
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.extend(value)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return op(*args, **kwargs)

    return leaves, call


def examples(x: np.ndarray, size: int) -> np.ndarray:
    """Arrays like one, of which an op of integers takes the elements in any order."""

    def one(k: int) -> np.ndarray:
        if x.dtype.kind in "fc":
            return x + (0.01 * k * np.where(np.isfinite(x), x, 0)).astype(x.dtype)
        return x[..., ::-1] if k % 2 and x.ndim and x.dtype.kind != "b" else x

    return np.stack([one(k) for k in range(size)]) if size else np.zeros((0, *x.shape), x.dtype)


def sized_by_values(graph: Graph) -> bool:
    """Whether the size of a result, or of a value on the way to it, is known only when it runs."""
    specs = [leaf for node in graph.nodes for leaf in pytree.leaves_of(node.meta.get("type"))]
    return any(isinstance(spec, Spec) and any(isinstance(d, Dim) for d in spec.shape) for spec in specs)


def found_or_refused(graph: Graph, given: list[Any], along: list[bool], size: int) -> list[np.ndarray] | None:
    """The result, None where examples may have results of different sizes."""
    try:
        return run_batched(graph, given, along, size)
    except CaptureError as error:
        if "size may differ between examples" not in str(error):
            raise
        return None


def spaced(cases: list[Case]) -> list[Case]:
    return cases if len(cases) <= MOST or cases[0].op in KEYED else [cases[k * len(cases) // MOST] for k in range(MOST)]


def masks(count: int) -> list[list[bool]]:
    alone = [[i == j for i in range(count)] for j in range(count)] if count > 1 else []
    return [[True] * count, *alone]


def check(case: Case, size: int) -> None:
    leaves, call = call_of(case)
    if not leaves:
        return
    try:
        graph = graph_of(call, leaves)
    except UnknownShape:  # what no graph holds
        return
    dtypes = [leaf.dtype for leaf in leaves]
    for along in masks(len(leaves)):
        given = [examples(leaf, size) if has else leaf for leaf, has in zip(leaves, along, strict=True)]
        try:
            wanted = by_rows(call, given, along, size, leaves)
        except (ValueError, ArithmeticError, IndexError, RuntimeError):  # not for these numbers, or not of one size
            continue
        if sized_by_values(graph):
            found = found_or_refused(graph, given, along, size)
        else:
            found = run_batched(graph, given, along, size)
        if found is None:
            continue
        for got, want in zip(found, wanted, strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype), (case.name, along)
            rtol = max(1e-9, *(ROUNDINGS.get(dtype, 0) for dtype in [*dtypes, got.dtype]))
            np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * 1e-2, err_msg=f"{case.name} {along}")


@pytest.mark.parametrize("name", NAMES)
def test_op(name: str) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # of numbers that cases do not have, such as 0 / 0
        for case in spaced(CASES[name]):
            if case.name != "split-5":
                check(case, 3)


@pytest.mark.parametrize("name", NAMES)
def test_one_example_and_none(name: str) -> None:
    case = next((case for case in CASES[name] if case.infer), None)
    if case is None:
        return
    leaves, call = call_of(case)
    if not leaves:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        check(case, 1)
        graph = graph_of(call, leaves)
        if sized_by_values(graph):
            return
        found = run_batched(graph, [examples(leaf, 0) for leaf in leaves], [True] * len(leaves), 0)
    results = pytree.leaves_of(call(*leaves))
    for got, like in zip(found, results, strict=True):
        assert (got.shape, got.dtype) == ((0, *np.shape(like)), np.asarray(like).dtype)


LOOPED = (  # which run for one example after the other, whatever differs between them
    *(
        "embedding",
        "conv_weight",
        "meshgrid",
        "convolve",
        "bincount",
        "histc",
        "lexsort",
        "nll",
        "nll_input",
        "polyval",
    ),
    *("rnn_sequence", "lstm_sequence", "gru_sequence", "array_equal", "array_equiv", "all_close", "unravel_index"),
)


def test_few_ops_run_for_one_example_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ops of daily use have rules: a loop would be right, but slow."""
    from weft.transform import _batch_rows

    seen: set[str] = set()
    whole = _batch_rows.each_row

    def noted(batch: Any, nodes: Any, result: Any) -> Any:
        seen.update(node.target.name for node in nodes if isinstance(node.target, Op))
        return whole(batch, nodes, result)

    monkeypatch.setattr(_batch_rows, "each_row", noted)
    names = (
        *("add", "where", "clip", "sum", "mean", "var", "std", "max", "argmax", "logsumexp", "cumulative_sum", "sort"),
        *("reshape", "permute_dims", "concat", "stack", "split", "tile", "roll", "flip", "pad", "matmul", "tensordot"),
        *("einsum", "outer", "solve", "inv", "det", "cholesky", "eigh", "svd", "norm", "fft", "softmax", "log_softmax"),
        *(
            "take",
            "take_along_axis",
            "mse_loss",
            "layer_norm",
            "batch_norm",
            "max_pool2d",
            "avg_pool2d",
            "linear_recurrence",
        ),
    )
    for name in names:
        for case in spaced(CASES[name]):
            leaves, call = call_of(case)
            if leaves and case.infer:
                graph = graph_of(call, leaves)
                with np.errstate(all="ignore"):
                    run_batched(graph, [np.stack([leaf, leaf]) for leaf in leaves], [True] * len(leaves), 2)
    assert seen <= {*LOOPED, "clip"}, seen
