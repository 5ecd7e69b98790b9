"""Cases of `ops/recurrent.py`, against the textbook equations, one step of one sequence at a time."""

import numpy as np
from cases import case, normal
from scipy.special import expit


def steps(count, reverse):
    return reversed(range(count)) if reverse else range(count)


def rnn_sequence(operands, nonlinearity="tanh", reverse=False):
    gates, weight, first = operands
    y = np.empty(gates.shape, gates.dtype)
    for b in range(gates.shape[1]):
        h = first[b]
        for t in steps(len(gates), reverse):
            z = gates[t, b] + weight @ h
            y[t, b] = h = np.tanh(z) if nonlinearity == "tanh" else np.where(z > 0, z, 0)
    return y


def lstm_sequence(operands, reverse=False):
    gates, weight, h0, c0, *projection = operands
    y, cells, inner = (
        np.empty((*gates.shape[:2], n), gates.dtype) for n in (weight.shape[1], c0.shape[1], gates.shape[2])
    )
    for b in range(gates.shape[1]):
        h, c = h0[b], c0[b]
        for t in steps(len(gates), reverse):
            i, f, n, o = np.split(gates[t, b] + weight @ h, 4)
            i, f, n, o = expit(i), expit(f), np.tanh(n), expit(o)
            c = f * c + i * n
            h = o * np.tanh(c)
            h = projection[0] @ h if projection else h
            y[t, b], cells[t, b], inner[t, b] = h, c, np.concatenate([i, f, n, o])
    return y, cells, inner


def gru_sequence(operands, reverse=False):
    gates, weight, first, *bias = operands
    y, inner = (np.empty((*gates.shape[:2], n), gates.dtype) for n in (weight.shape[1], 4 * weight.shape[1]))
    for b in range(gates.shape[1]):
        h = first[b]
        for t in steps(len(gates), reverse):
            gr, gu, gn = np.split(gates[t, b], 3)
            hr, hu, hn = np.split(weight @ h + (bias[0] if bias else 0), 3)
            r, u = expit(gr + hr), expit(gu + hu)
            n = np.tanh(gn + r * hn)
            h = (1 - u) * n + u * h
            y[t, b], inner[t, b] = h, np.concatenate([r, u, n, hn])
    return y, inner


def stacked(cell, input, states, weights, num_layers, bidirectional, batch_first, kinds, widths):
    """Layers and directions one after another, each of them by its own loop over steps."""
    single = input.ndim == 2
    x = input[:, None] if single else np.moveaxis(input, 0, 1) if batch_first else input
    directions = 1 + bidirectional
    each = len(weights) // (num_layers * directions)
    if states is None:
        states = [np.zeros((num_layers * directions, x.shape[1], width)) for width in widths]
    elif single:
        states = [s[:, None] for s in states]
    ends = [[] for _ in range(kinds)]
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            found = cell(x, weights[k * each : (k + 1) * each], [s[k] for s in states], bool(direction))
            outputs.append(found[0])
            for kind in range(kinds):
                ends[kind].append(found[kind][0 if direction else -1])
        x = np.concatenate(outputs, -1)
    ends = [np.stack(e) for e in ends]
    if single:
        return (x[:, 0], *(e[:, 0] for e in ends))
    return (np.moveaxis(x, 0, 1) if batch_first else x, *ends)


def rnn(input, states, weights, num_layers=1, bidirectional=False, batch_first=False, nonlinearity="tanh"):
    def cell(x, w, first, reverse):
        gates = np.einsum("tbi,oi->tbo", x, w[0]) + (w[2] + w[3] if len(w) > 2 else 0)
        return (rnn_sequence([gates, w[1], *first], nonlinearity, reverse),)

    return stacked(cell, input, states, weights, num_layers, bidirectional, batch_first, 1, [weights[1].shape[1]])


def lstm(input, states, weights, num_layers=1, bidirectional=False, batch_first=False):
    def cell(x, w, first, reverse):
        gates = np.einsum("tbi,oi->tbo", x, w[0]) + (w[2] + w[3] if len(w) > 3 else 0)
        return lstm_sequence([gates, w[1], *first, *w[4 if len(w) > 3 else 2 :]], reverse)

    widths = [weights[1].shape[1], weights[1].shape[0] // 4]
    return stacked(cell, input, states, weights, num_layers, bidirectional, batch_first, 2, widths)


def gru(input, states, weights, num_layers=1, bidirectional=False, batch_first=False):
    def cell(x, w, first, reverse):
        gates = np.einsum("tbi,oi->tbo", x, w[0]) + (w[2] if len(w) > 2 else 0)
        return gru_sequence([gates, w[1], *first, *w[3:]], reverse)

    return stacked(cell, input, states, weights, num_layers, bidirectional, batch_first, 1, [weights[1].shape[1]])


def arrays(*shapes, dtype=np.float64):
    return [normal(*shape, dtype=dtype, seed=i) for i, shape in enumerate(shapes)]


for reverse in (False, True):
    for how in ("tanh", "relu"):
        case("rnn_sequence", arrays((3, 2, 2), (2, 2), (2, 2)), how, reverse, ref=rnn_sequence)
    case("lstm_sequence", arrays((3, 2, 8), (8, 2), (2, 2), (2, 2)), reverse, ref=lstm_sequence)
    case("lstm_sequence", arrays((2, 1, 8), (8, 1), (1, 1), (1, 2), (1, 2)), reverse, ref=lstm_sequence)
    case("gru_sequence", arrays((3, 2, 6), (6, 2), (2, 2), (6,)), reverse, ref=gru_sequence)
    case("gru_sequence", arrays((2, 1, 6), (6, 2), (1, 2)), reverse, ref=gru_sequence)

for dtype, rtol in ((np.float32, 1e-5), (np.float16, 2e-2)):
    single = {"_rtol": rtol}
    case("rnn_sequence", arrays((3, 2, 2), (2, 2), (2, 2), dtype=dtype), ref=rnn_sequence, **single)
    case("lstm_sequence", arrays((3, 2, 8), (8, 2), (2, 2), (2, 2), dtype=dtype), ref=lstm_sequence, **single)
    case("gru_sequence", arrays((3, 2, 6), (6, 2), (2, 2), (6,), dtype=dtype), ref=gru_sequence, **single)

# Nothing overflows: gates far out of range are at their limits.
FAR = 1e4 * np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0]).reshape(1, 1, 6)
case("lstm_sequence", [np.concatenate([FAR, FAR[..., :2]], -1), *arrays((8, 2), (1, 2), (1, 2))], ref=lstm_sequence)
case("gru_sequence", [FAR, *arrays((6, 2), (1, 2))], ref=gru_sequence)
case("rnn_sequence", [FAR, *arrays((6, 6), (1, 6))], ref=rnn_sequence)

case("rnn_sequence", arrays((2, 0, 2), (2, 2), (0, 2)), ref=rnn_sequence)
case("lstm_sequence", arrays((2, 0, 8), (8, 2), (0, 2), (0, 2)), ref=lstm_sequence)
case("gru_sequence", arrays((2, 0, 6), (6, 2), (0, 2)), ref=gru_sequence)

for name, gates, ref in (("rnn", 1, rnn), ("lstm", 4, lstm), ("gru", 3, gru)):
    kinds = 2 if name == "lstm" else 1

    def layer(inputs, hidden, bias=True, gates=gates, seed=0):
        shapes = [(gates * hidden, inputs), (gates * hidden, hidden), *[(gates * hidden,)] * (2 * bias)]
        return [normal(*shape, seed=seed + i) for i, shape in enumerate(shapes)]

    two = [*layer(2, 2), *layer(2, 2, seed=9)]
    both = [*layer(2, 1), *layer(2, 1, seed=9), *layer(2, 1, seed=18), *layer(2, 1, seed=27)]
    case(name, normal(3, 1, 2), None, layer(2, 2), ref=ref)
    case(name, normal(2, 1, 2), None, layer(2, 2, bias=False), ref=ref)
    case(name, normal(2, 1, 2), arrays(*[(2, 1, 2)] * kinds), two, num_layers=2, ref=ref)
    case(
        name,
        normal(1, 2, 2),
        arrays(*[(4, 1, 1)] * kinds),
        both,
        num_layers=2,
        bidirectional=True,
        batch_first=True,
        ref=ref,
    )
    case(name, normal(2, 2), arrays(*[(1, 2)] * kinds), layer(2, 2), ref=ref)
    case(name, normal(2, 2), None, layer(2, 2), batch_first=True, ref=ref)
case("rnn", normal(2, 1, 2), None, [normal(2, 2), normal(2, 2, seed=1)], nonlinearity="relu", ref=rnn)
PROJECTED = arrays((8, 3), (8, 1), (8,), (8,), (1, 2))
case("lstm", normal(2, 1, 3), arrays((1, 1, 1), (1, 1, 2)), PROJECTED, ref=lstm)
case("lstm", normal(2, 1, 3), None, [*PROJECTED[:2], PROJECTED[4]], ref=lstm)


def halved(result, input, states, weights, num_layers, dropout, training):
    """With identity-like layers, what the second layer sees is dropped or doubled."""
    assert set(np.round(result[0].ravel(), 12)) == {0.0, 2.0}
    assert abs((result[0] == 0).mean() - dropout) <= 5 * 0.5 / np.sqrt(result[0].size)


ONE = [np.eye(1), np.zeros((1, 1))]
case(
    "rnn",
    np.ones((40, 50, 1)),
    None,
    [*ONE, *ONE],
    2,
    0.5,
    True,
    _check=lambda y, *a, nonlinearity: halved(y, *a),
    nonlinearity="relu",
    _grad=False,
)


def one_step(layer):
    def ref(input, states, weights, **how):
        states = None if states is None else [s[None] for s in (states if isinstance(states, tuple) else [states])]
        return [end[0] for end in layer(input[None], states, weights, **how)[1:]]

    return ref


CELL = arrays((2, 3), (2, 2), (2,), (2,))
case("rnn_cell", normal(2, 3), normal(2, 2, seed=5), CELL, ref=lambda *a: one_step(rnn)(*a)[0])
case("rnn_cell", normal(3), None, CELL[:2], "relu", ref=lambda *a: one_step(rnn)(*a[:3], nonlinearity="relu")[0])
CELL = arrays((8, 3), (8, 2), (8,), (8,))
case("lstm_cell", normal(2, 3), (normal(2, 2, seed=5), normal(2, 2, seed=6)), CELL, ref=one_step(lstm))
case("lstm_cell", normal(3), None, CELL[:2], ref=one_step(lstm))
CELL = arrays((6, 3), (6, 2), (6,), (6,))
case("gru_cell", normal(2, 3), normal(2, 2, seed=5), CELL, ref=lambda *a: one_step(gru)(*a)[0])
case("gru_cell", normal(3), None, CELL[:2], ref=lambda *a: one_step(gru)(*a)[0])
