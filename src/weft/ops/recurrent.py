"""Recurrent layers over whole sequences.

Each kind of cell has one primitive that runs it along the first dimension, given the inputs' share of the gates (one
matrix product for all steps); `rnn`, `lstm` and `gru` put layers and directions together out of them. A primitive takes
its arrays as one list, `operands`, because one walk back along the sequence gives the gradients of them all. It returns
the values of its gates besides its states, so that the walk back computes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from weft.errors import DtypeError, ShapeError
from weft.ops._families import composite, op
from weft.ops._spec import Spec, dtype_of, shape_of
from weft.ops.creation import zeros
from weft.ops.elementwise import add
from weft.ops.joining import concat, stack, unstack
from weft.ops.layers import dropout as drop
from weft.ops.layers import linear
from weft.ops.linalg import matmul, matrix_transpose
from weft.ops.logic import greater
from weft.ops.manipulation import expand_dims, permute_dims, reshape
from weft.ops.reductions import sum
from weft.ops.transcendental import tanh

__all__ = [
    "gru",
    "gru_cell",
    "gru_sequence",
    "lstm",
    "lstm_cell",
    "lstm_sequence",
    "rnn",
    "rnn_cell",
    "rnn_sequence",
]


# --- what the primitives share ---


def _checked(name: str, operands: Any, gates: int, states: int, extra: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """(steps, batch, hidden) and the dtype of the result; an error where the operands do not fit together."""
    count = 2 + states
    if not isinstance(operands, (list, tuple)) or not count <= len(operands) <= count + extra:
        raise TypeError(f"{name}: expected a list of {count} to {count + extra} arrays")
    shapes = [shape_of(o) for o in operands]
    dtype = np.result_type(*map(dtype_of, operands))
    if dtype.kind != "f":
        raise DtypeError(
            f"{name}: expected real floating-point numbers, got {', '.join(str(dtype_of(o)) for o in operands)}"
        )
    if len(shapes[0]) != 3 or len(shapes[1]) != 2 or shapes[0][2] != shapes[1][0] or shapes[0][2] % gates:
        raise ShapeError(
            f"{name}: gates {shapes[0]} and weight {shapes[1]} do not fit",
            help=f"expected (steps, batch, {gates} * hidden) and ({gates} * hidden, state)",
        )
    steps, batch, width = shapes[0]
    if steps < 1:
        raise ShapeError(f"{name}: the sequence is empty: gates have shape {shapes[0]}")
    if shapes[2] != (batch, shapes[1][1]):
        raise ShapeError(f"{name}: expected a first state of shape {(batch, shapes[1][1])}, got {shapes[2]}")
    return (steps, batch, width // gates), dtype


def _times(steps: int, reverse: bool) -> Iterator[int]:
    return iter(range(steps - 1, -1, -1) if reverse else range(steps))


def _before(states: Any, first: Any, reverse: bool) -> Any:
    """For each step the state it started from."""
    first = expand_dims(first, 0)
    return concat([states[1:], first]) if reverse else concat([first, states[:-1]])


def _flat(x: Any) -> Any:
    """Steps and batch as one dimension."""
    steps, batch, width = shape_of(x)
    return reshape(x, (steps * batch, width))


def _by_gate(gates: Any, count: int) -> tuple[Any, ...]:
    """Each gate by itself, for all steps."""
    steps, batch, width = shape_of(gates)
    parts: tuple[Any, ...] = tuple(unstack(reshape(gates, (steps, batch, count, width // count)), 2))
    return parts


def _along(
    step: Callable[..., Any], carries: tuple[Any, ...], rows: Sequence[Any], operands: Sequence[Any], reverse: bool
) -> tuple[tuple[Any, ...], list[Any]]:
    """Take carries along sequences: `step(carries, what the sequences hold at one time, *operands)`.

    A step gives the next carries and what it found; the result is the last carries, and all that was found, stacked.
    In a graph it is one loop, however long the sequences are.
    """
    loop = getattr(rows[0], "__weft_along__", None)
    if loop is not None:
        made: tuple[tuple[Any, ...], list[Any]] = loop(step, carries, rows, operands, reverse)
        return made
    times = [unstack(row) for row in rows]
    found: list[Any] = [None] * len(times[0])
    for t in _times(len(found), reverse):
        carries, found[t] = step(carries, [row[t] for row in times], *operands)
    return carries, [stack(list(each)) for each in zip(*found, strict=True)]


def _start(state: Any, like: Any) -> Any:
    """Gradients before anything has come to a state, of the dtype of all states."""
    return zeros(shape_of(state), dtype=dtype_of(like))


def _weight_gradient(gates: Any, states: Any) -> Any:
    return matmul(matrix_transpose(_flat(gates)), _flat(states))


def _unused(g: Any) -> bool:
    """Whether a gradient is known to be zero: that of results nobody used."""
    return getattr(g, "is_nothing", False) or (isinstance(g, np.ndarray) and not g.any())


def _sigmoid(x: np.ndarray) -> None:
    """1 / (1 + exp(-x)) in place; exp may overflow to infinity, which gives the limit."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def _in(dtype: np.dtype[Any], operands: Any) -> list[np.ndarray]:
    return [np.asarray(o).astype(dtype, copy=False) for o in operands]


# --- plain cells: h = activation(gate + weight @ h) ---


def _rnn_spec(operands: Any, nonlinearity: str = "tanh", reverse: bool = False) -> Spec:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"rnn_sequence: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
    return Spec(*_checked("rnn_sequence", operands, 1, 1, 0))


def _rnn_back(g: Any, y: Any, operands: Any, nonlinearity: str, reverse: bool) -> list[Any]:
    _, weight, first = operands
    slopes = 1 - y * y if nonlinearity == "tanh" else greater(y, 0)

    def step(carries: Any, rows: Any, weight: Any) -> Any:
        found = (rows[0] + carries[0]) * rows[1]
        return (matmul(found, weight),), (found,)

    (back,), (gates,) = _along(step, (_start(first, y),), [g, slopes], [weight], not reverse)
    return [gates, _weight_gradient(gates, _before(y, first, reverse)), back]


@op(arrays=("operands",), infer=_rnn_spec, vjp=(_rnn_back,))
def rnn_sequence(operands: Any, nonlinearity: str = "tanh", reverse: bool = False) -> Any:
    """States of a plain recurrent cell after each step: operands are gates, recurrent weight and first state."""
    result = _rnn_spec(operands, nonlinearity, reverse)
    gates, weight, h = _in(result.dtype, operands)
    states, back = gates.copy(), weight.T
    for t in _times(len(states), reverse):
        state = states[t]
        state += h @ back
        h = np.tanh(state, out=state) if nonlinearity == "tanh" else np.maximum(state, 0, out=state)
    return states


# --- LSTM cells: gates i, f, n, o; c = f * c + i * n; h = o * tanh(c), projected where there is a projection ---


def _lstm_spec(operands: Any, reverse: bool = False) -> tuple[Spec, Spec, Spec]:
    (steps, batch, hidden), dtype = _checked("lstm_sequence", operands, 4, 2, 1)
    state, cell = shape_of(operands[1])[1], shape_of(operands[3])
    if cell != (batch, hidden):
        raise ShapeError(f"lstm_sequence: expected a first cell of shape {(batch, hidden)}, got {cell}")
    projection = (state, hidden)
    if len(operands) == 5 and shape_of(operands[4]) != projection:
        raise ShapeError(f"lstm_sequence: expected a projection of shape {projection}, got {shape_of(operands[4])}")
    if len(operands) == 4 and state != hidden:
        raise ShapeError(
            f"lstm_sequence: the weight takes states of {state}, the cell has {hidden}: a projection is missing"
        )
    widths = (state, hidden, 4 * hidden)
    return tuple(Spec((steps, batch, width), dtype) for width in widths)  # type: ignore[return-value]  # three of them


def _lstm_back(g: Any, y: Any, operands: Any, reverse: bool) -> list[Any]:
    _, weight, h0, c0, *projection = operands
    h, c, gates = y
    parts = _by_gate(gates, 4)
    from_gates = [] if _unused(g[2]) else [g[2]]

    # A step at a time, though most of it could be done for all at once: so its values stay in the cache.
    def step(carries: Any, rows: Any, weight: Any, *projection: Any) -> Any:
        back, carry = carries
        from_h, from_c, cell, before, i, f, n, o, *from_gates = rows
        squashed = tanh(cell)
        state = output = from_h + back
        if projection:
            output = matmul(output, projection[0])
        inner = from_c + carry + output * o * (1 - squashed * squashed)
        found = concat([inner * n, inner * before, inner * i, output * squashed], 1)
        if from_gates:
            found = found + from_gates[0]
        found = found * concat([i * (1 - i), f * (1 - f), 1 - n * n, o * (1 - o)], 1)
        return (matmul(found, weight), inner * f), (found, state) if projection else (found,)

    rows = [g[0], g[1], c, _before(c, c0, reverse), *parts, *from_gates]
    (back, carry), (inner, *states) = _along(
        step, (_start(h0, h), _start(c0, h)), rows, [weight, *projection], not reverse
    )
    gradients = [inner, _weight_gradient(inner, _before(h, h0, reverse)), back, carry]
    return [*gradients, _weight_gradient(states[0], tanh(c) * parts[3])] if projection else gradients


@op(arrays=("operands",), infer=_lstm_spec, vjp=(_lstm_back,))
def lstm_sequence(operands: Any, reverse: bool = False) -> tuple[Any, Any, Any]:
    """States, cells and gates of an LSTM cell after each step.

    Operands are gates, recurrent weight, first state, first cell and, where states are projected, that weight.
    """
    spec = _lstm_spec(operands, reverse)
    gates, weight, h, c, *projection = _in(spec[0].dtype, operands)
    states, cells = (np.empty(s.shape, s.dtype) for s in spec[:2])
    gates, back, hidden = gates.copy(), weight.T, spec[1].shape[2]
    with np.errstate(over="ignore"):
        for t in _times(len(states), reverse):
            step = gates[t]
            step += h @ back
            i, f, n, o = (step[:, k * hidden : (k + 1) * hidden] for k in range(4))
            _sigmoid(step[:, : 2 * hidden])
            np.tanh(n, out=n)
            _sigmoid(o)
            c = np.multiply(f, c, out=cells[t])
            c += i * n
            output = np.tanh(c)
            output *= o
            h = states[t]
            h[...] = output @ projection[0].T if projection else output
    return states, cells, gates


# --- GRU cells: gates r, u, n with n = tanh(gate + r * m), m = weight @ h + bias; h = n + u * (h - n) ---


def _gru_spec(operands: Any, reverse: bool = False) -> tuple[Spec, Spec]:
    shape, dtype = _checked("gru_sequence", operands, 3, 1, 1)
    if shape_of(operands[1])[1] != shape[2]:
        raise ShapeError(
            f"gru_sequence: expected a weight of shape {(3 * shape[2], shape[2])}, got {shape_of(operands[1])}"
        )
    if len(operands) == 4 and shape_of(operands[3]) != (3 * shape[2],):
        raise ShapeError(f"gru_sequence: expected a bias of shape {(3 * shape[2],)}, got {shape_of(operands[3])}")
    return Spec(shape, dtype), Spec((*shape[:2], 4 * shape[2]), dtype)


def _gru_back(g: Any, y: Any, operands: Any, reverse: bool) -> list[Any]:
    _, weight, h0, *bias = operands
    h, gates = y
    before = _before(h, h0, reverse)
    from_gates = () if _unused(g[1]) else _by_gate(g[1], 4)

    def step(carries: Any, rows: Any, weight: Any) -> Any:
        from_h, before, r, u, n, m, *from_gates = rows
        state = from_h + carries[0]
        to_r, to_u, to_n, to_m = from_gates or (0, 0, 0, 0)
        new = (state * (1 - u) + to_n) * (1 - n * n)
        first = concat([(new * m + to_r) * (r * (1 - r)), (state * (before - n) + to_u) * (u * (1 - u))], 1)
        inner, outer = concat([first, new * r + to_m], 1), concat([first, new], 1)
        return (state * u + matmul(inner, weight),), (inner, outer)

    # The gradient of the recurrent product, and that of the inputs' share, which differs in the gate n.
    (back,), (inner, outer) = _along(
        step, (_start(h0, h),), [g[0], before, *_by_gate(gates, 4), *from_gates], [weight], not reverse
    )
    gradients = [outer, _weight_gradient(inner, before), back]
    return [*gradients, sum(inner, axis=(0, 1))] if bias else gradients


@op(arrays=("operands",), infer=_gru_spec, vjp=(_gru_back,))
def gru_sequence(operands: Any, reverse: bool = False) -> tuple[Any, Any]:
    """States of a GRU cell after each step, and its gates: reset, update, new, and the recurrent share of new.

    Operands are gates, recurrent weight, first state and, where there is one, the bias of the recurrent product.
    """
    result, inner = _gru_spec(operands, reverse)
    gates, weight, h, *bias = _in(result.dtype, operands)
    states, values = np.empty(result.shape, result.dtype), np.empty(inner.shape, inner.dtype)
    back, hidden = weight.T, result.shape[2]
    with np.errstate(over="ignore"):
        for t in _times(len(states), reverse):
            product = h @ back
            if bias:
                product += bias[0]
            step = values[t]
            r, u, n, m = (step[:, k * hidden : (k + 1) * hidden] for k in range(4))
            np.add(gates[t, :, : 2 * hidden], product[:, : 2 * hidden], out=step[:, : 2 * hidden])
            _sigmoid(step[:, : 2 * hidden])
            m[...] = product[:, 2 * hidden :]
            np.multiply(r, m, out=n)
            n += gates[t, :, 2 * hidden :]
            np.tanh(n, out=n)
            h = np.subtract(h, n, out=states[t])
            h *= u
            h += n
    return states, values


# --- layers and directions ---

Run = Callable[[Any, Sequence[Any], Sequence[Any], bool], tuple[Any, ...]]
"""One layer in one direction: run(input, its weights, its first states, reverse) gives all states, then the last."""


def _stacked(
    name: str,
    run: Run,
    input: Any,
    states: Any,
    weights: Any,
    widths: tuple[int, ...],
    num_layers: int,
    dropout: float,
    training: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, ...]:
    """The output of the last layer, then each kind of last state, (layers * directions, batch, width)."""
    ndim = len(shape_of(input))
    if ndim not in (2, 3):
        raise ShapeError(
            f"{name}: expected (steps, batch, features), or (steps, features) for one sequence, got {shape_of(input)}"
        )
    directions = 2 if bidirectional else 1
    runs = num_layers * directions
    x = expand_dims(input, 1) if ndim == 2 else permute_dims(input, (1, 0, 2)) if batch_first else input
    features, wanted = shape_of(x)[2], shape_of(weights[0])[1]
    if features != wanted:
        raise ShapeError(f"{name}: input {shape_of(input)} has {features} features, the layer takes {wanted}")
    first = _first_states(name, states, [(runs, shape_of(x)[1], width) for width in widths], x, ndim == 2)
    each, last = len(weights) // runs, []
    for layer in range(num_layers):
        outputs = []
        for k in range(layer * directions, (layer + 1) * directions):
            parts = run(x, weights[k * each : (k + 1) * each], [s[k] for s in first], k % directions == 1)
            outputs.append(parts[0])
            last.append(parts[1:])
        x = concat(outputs, -1) if bidirectional else outputs[0]
        if dropout and layer < num_layers - 1:
            x = drop(x, dropout, training)
    ends = [stack(list(kind)) for kind in zip(*last, strict=True)]
    if ndim == 2:
        return (x[:, 0], *(end[:, 0] for end in ends))
    return (permute_dims(x, (1, 0, 2)) if batch_first else x, *ends)


def _first_states(name: str, states: Any, shapes: list[tuple[int, ...]], x: Any, single: bool) -> list[Any]:
    """The states a sequence starts from, zeros where none are given, each split by layer and direction."""
    if states is None or (isinstance(states, list) and all(state is None for state in states)):  # as a trace has it
        return [[zeros(shape[1:], dtype=dtype_of(x))] * shape[0] for shape in shapes]
    if not isinstance(states, (list, tuple)) or len(states) != len(shapes):
        raise TypeError(f"{name}: expected {len(shapes)} first states, got {states!r}")
    for state, shape in zip(states, shapes, strict=True):
        expected = (shape[0], shape[2]) if single else shape
        if shape_of(state) != expected:
            raise ShapeError(f"{name}: expected a first state of shape {expected}, got {shape_of(state)}")
    return [unstack(expand_dims(state, 1) if single else state) for state in states]


def _gates(x: Any, weight: Any, bias: Any) -> Any:
    """The inputs' share of the gates: one matrix product for all steps."""
    return reshape(linear(_flat(x), weight, bias), (*shape_of(x)[:2], shape_of(weight)[0]))


def _last(sequence: Any, reverse: bool) -> Any:
    return sequence[0 if reverse else -1]


def _drops(input: Any, states: Any, weights: Any, num_layers: int, dropout: float, training: bool, *_: Any) -> bool:
    return training and 0 < dropout < 1 and num_layers > 1


@composite(arrays=("input", "states", "weights"), random=_drops, memory=None)
def rnn(
    input: Any,
    states: Any,
    weights: Any,
    num_layers: int = 1,
    dropout: float = 0.0,
    training: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
    nonlinearity: str = "tanh",
) -> Any:
    """Layers of plain recurrent cells: (output, last states).

    `weights` lists, for each layer and direction, the weights of input and state, and their biases if there are any;
    `states` is a list of the first states, (layers * directions, batch, hidden), or None for zeros.
    """

    def run(x: Any, weights: Sequence[Any], first: Sequence[Any], reverse: bool) -> tuple[Any, ...]:
        bias = add(weights[2], weights[3]) if len(weights) > 2 else None
        h = rnn_sequence([_gates(x, weights[0], bias), weights[1], first[0]], nonlinearity, reverse)
        return h, _last(h, reverse)

    widths = (shape_of(weights[1])[1],)
    how = (num_layers, dropout, training, bidirectional, batch_first)
    return _stacked("rnn", run, input, states, weights, widths, *how)


@composite(arrays=("input", "states", "weights"), random=_drops, memory=None)
def lstm(
    input: Any,
    states: Any,
    weights: Any,
    num_layers: int = 1,
    dropout: float = 0.0,
    training: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
) -> Any:
    """Layers of LSTM cells: (output, last states, last cells). The gates are input, forget, cell and output.

    `weights` lists, for each layer and direction, the weights of input and state, their biases where there are any, and
    the projection of the states where there is one; `states` holds the first states and cells, or is None for zeros.
    """

    def run(x: Any, weights: Sequence[Any], first: Sequence[Any], reverse: bool) -> tuple[Any, ...]:
        bias = add(weights[2], weights[3]) if len(weights) > 3 else None
        projection = weights[-1:] if len(weights) % 2 else []
        h, c, _ = lstm_sequence([_gates(x, weights[0], bias), weights[1], *first, *projection], reverse)
        return h, _last(h, reverse), _last(c, reverse)

    widths = (shape_of(weights[1])[1], shape_of(weights[1])[0] // 4)
    how = (num_layers, dropout, training, bidirectional, batch_first)
    return _stacked("lstm", run, input, states, weights, widths, *how)


@composite(arrays=("input", "states", "weights"), random=_drops, memory=None)
def gru(
    input: Any,
    states: Any,
    weights: Any,
    num_layers: int = 1,
    dropout: float = 0.0,
    training: bool = False,
    bidirectional: bool = False,
    batch_first: bool = False,
) -> Any:
    """Layers of GRU cells: (output, last states). The gates are reset, update and new.

    `weights` lists, for each layer and direction, the weights of input and state, and their biases if there are any;
    `states` is a list of the first states, (layers * directions, batch, hidden), or None for zeros.
    """

    def run(x: Any, weights: Sequence[Any], first: Sequence[Any], reverse: bool) -> tuple[Any, ...]:
        gates = _gates(x, weights[0], weights[2] if len(weights) > 2 else None)
        h, _ = gru_sequence([gates, weights[1], *first, *weights[3:]], reverse)
        return h, _last(h, reverse)

    widths = (shape_of(weights[1])[1],)
    how = (num_layers, dropout, training, bidirectional, batch_first)
    return _stacked("gru", run, input, states, weights, widths, *how)


# --- single steps ---


def _one_step(name: str, run: Callable[..., Any], input: Any, states: Any, weights: Any, *how: Any) -> Any:
    """What a layer gives for a sequence of one step; input and states are (batch, width), or (width,) for one."""
    if len(shape_of(input)) not in (1, 2):
        raise ShapeError(f"{name}: expected (batch, features), or (features,) for one input, got {shape_of(input)}")
    first = None if states is None else [expand_dims(state, 0) for state in states]
    return run(expand_dims(input, 0), first, weights, *how)


@composite(arrays=("input", "state", "weights"))
def rnn_cell(input: Any, state: Any, weights: Any, nonlinearity: str = "tanh") -> Any:
    """The next state of a plain recurrent cell; its parameters are listed as for `rnn`."""
    how = (1, 0.0, False, False, False, nonlinearity)
    return _one_step("rnn_cell", rnn, input, None if state is None else [state], weights, *how)[0][0]


@composite(arrays=("input", "states", "weights"))
def lstm_cell(input: Any, states: Any, weights: Any) -> Any:
    """The next state and the next cell of an LSTM cell; its parameters are listed as for `lstm`."""
    output, _, cell = _one_step("lstm_cell", lstm, input, states, weights)
    return output[0], cell[0]


@composite(arrays=("input", "state", "weights"))
def gru_cell(input: Any, state: Any, weights: Any) -> Any:
    """The next state of a GRU cell; its parameters are listed as for `gru`."""
    return _one_step("gru_cell", gru, input, None if state is None else [state], weights)[0][0]
