"""Cases of `ops/layers.py` and `ops/attention.py`."""

import math

import numpy as np
from cases import case, integers, normal, uniform


def affine(x, w, b=0.0):
    return np.einsum("...i,oi->...o", x, w) + b


case("linear", normal(2, 3), normal(4, 3), normal(4), ref=affine)
case("linear", normal(2, 2, 3), normal(1, 3), ref=affine)
case("linear", normal(3), normal(4, 3), normal(4), ref=affine)
case("linear", normal(0, 3), normal(4, 3), ref=affine)
case("linear", normal(3), normal(3), ref=np.dot)
case("linear", normal(2, 3, dtype=complex), normal(2, 3, dtype=complex), ref=affine)
case(
    "linear",
    normal(2, 3, dtype=np.float32),
    normal(4, 3, dtype=np.float32),
    normal(4, dtype=np.float32),
    ref=affine,
    _rtol=1e-5,
)


def bilinear(x, y, w, b=0.0):
    return np.stack([np.sum((x @ each) * y, axis=-1) for each in w], axis=-1) + b


case("bilinear", normal(2, 2), normal(2, 3), normal(2, 2, 3), normal(2), ref=bilinear)
case("bilinear", normal(2), normal(3), normal(2, 2, 3), ref=bilinear)

case("embedding", integers(0, 4, 2, 3), normal(4, 2), ref=lambda i, w: w[i])
case("embedding", np.array(1), normal(4, 2), ref=lambda i, w: w[i])
case("embedding", integers(0, 4, 0), normal(4, 2), ref=lambda i, w: w[i])
case("embedding", np.array([3, 1], np.uint8), normal(4, 2, dtype=np.float16), ref=lambda i, w: w[i])
# Its gradient leaves out the padding row on purpose, so finite differences do not apply; see test_layers.py.
case("embedding", np.array([3, 1, 3]), normal(4, 2), padding_idx=3, ref=lambda i, w, padding_idx: w[i], _grad=False)

case("one_hot", integers(0, 4, 2, 3), 5, ref=lambda x, n: np.eye(n, dtype=int)[x])
case("one_hot", np.array(2), 3, ref=lambda x, n: np.eye(n, dtype=int)[x])
case("one_hot", integers(0, 4, 0), 2, ref=lambda x, n: np.eye(n, dtype=int)[x])
case("one_hot", np.array([0, 3, 1]), ref=lambda x: np.eye(4, dtype=int)[x], _infer=False)


def drawn(share, axes=()):
    """Every number of a mask is a boolean, shared along the axes, and about the right share is true."""

    def check(mask, x, p, axes=()):
        assert mask.dtype == bool
        assert mask.shape == tuple(1 if i - x.ndim in axes else d for i, d in enumerate(x.shape))
        # Five standard deviations of the mean of so many draws.
        assert abs(mask.mean() - share) <= 5 * math.sqrt(share * (1 - share) / max(mask.size, 1))

    return check


case("bernoulli_mask", np.zeros((100, 50)), 0.3, _check=drawn(0.3), _grad=False)
case("bernoulli_mask", np.zeros((40, 50, 3)), 0.9, (-1,), _check=drawn(0.9), _grad=False)
case("bernoulli_mask", np.zeros((4, 5)), 1.0, _check=drawn(1.0), _grad=False)
case("bernoulli_mask", np.zeros((4, 5)), 0.0, _check=drawn(0.0), _grad=False)


def dropped(shared=0):
    """Each element is dropped or scaled, alike along the last `shared` dimensions."""

    def check(y, x, p, training=True):
        assert y.shape == x.shape and y.dtype == x.dtype
        kept = y != 0
        np.testing.assert_allclose(y[kept], x[kept] / (1 - p), rtol=1e-6)
        rows = kept.reshape(*x.shape[: x.ndim - shared], -1)
        assert (rows == rows[..., :1]).all()
        assert abs(rows[..., 0].mean() - (1 - p)) <= 5 * math.sqrt(p * (1 - p) / rows[..., 0].size)

    return check


case("dropout", 1 + uniform(0, 1, 40, 50), 0.3, _check=dropped(), _grad=False)
case("dropout", 1 + uniform(0, 1, 40, 50, dtype=np.float32), 0.5, _check=dropped(), _grad=False)
case("dropout", normal(3, 4), 0.3, training=False, ref=lambda x, p, training: x)
case("dropout", normal(3, 4), 0.0, ref=lambda x, p: x)
case("dropout", normal(3, 4), 1.0, ref=lambda x, p: np.zeros_like(x))
for rank in (1, 2, 3):
    images = 1 + uniform(0, 1, 20, 30, *(2, 3, 2)[:rank])
    case(f"dropout{rank}d", images, 0.3, _check=dropped(rank), _grad=False)
    case(f"dropout{rank}d", images[0], 0.3, _check=dropped(rank), _grad=False)
    case(f"dropout{rank}d", normal(2, 3, *(2, 1, 2)[:rank]), 0.3, False, ref=lambda x, p, training: x)


def standard_still(y, x, p, training):
    assert abs(y.mean()) < 0.05 and abs(y.std() - 1) < 0.05


case("alpha_dropout", normal(100, 100), 0.2, True, _check=standard_still, _grad=False)
case("alpha_dropout", normal(3, 4), 0.2, ref=lambda x, p: x)
case("alpha_dropout", normal(3, 4), 1.0, True, ref=lambda x, p, training: np.zeros_like(x))


def normalized(x, p=2.0, axis=1, eps=1e-12):
    return x / np.maximum(np.linalg.norm(x, p, axis, keepdims=True), eps)


case("normalize", normal(2, 3), ref=normalized)
case("normalize", normal(2, 3), 1.0, axis=0, ref=normalized)
case("normalize", normal(2, 3), 3.0, axis=-1, ref=normalized)
case("normalize", normal(2, 3), math.inf, ref=normalized)
case("normalize", normal(2, 3), eps=5.0, ref=normalized)
case("normalize", normal(2, 3, dtype=np.float32), ref=normalized, _rtol=1e-6)


def pad(x, pad, mode="constant", value=0.0):
    pairs = [tuple(pad[i : i + 2]) for i in range(0, len(pad), 2)][::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    x = x[tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(x.shape, pairs, strict=True))]
    extra = {"constant_values": value} if mode == "constant" else {}
    mode = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    return np.pad(x, [(max(b, 0), max(a, 0)) for b, a in pairs], mode, **extra)


case("pad_trailing", normal(2, 3), (1, 2), ref=pad)
case("pad_trailing", normal(2, 3), (1, 0, 0, 2), value=4.0, ref=pad)
case("pad_trailing", normal(3, 4), [-1, 2, 1, -2], ref=pad)
for mode in ("reflect", "replicate", "circular"):
    case("pad_trailing", normal(3, 4), (2, 1, 1, 0), mode, ref=pad)


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """One query at a time, over the keys that it may see."""
    if enable_gqa:
        k, v = (np.repeat(a, q.shape[-3] // a.shape[-3], axis=-3) for a in (k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2])
    q, k, v = (np.broadcast_to(a, (*lead, *a.shape[-2:])) for a in (q, k, v))
    mask = None if attn_mask is None else np.broadcast_to(attn_mask, (*lead, q.shape[-2], k.shape[-2]))
    y = np.zeros((*q.shape[:-1], v.shape[-1]))
    for index in np.ndindex(*q.shape[:-1]):
        total = 0.0
        for j in range(k.shape[-2]):
            if (is_causal and j > index[-1]) or (mask is not None and mask.dtype == bool and not mask[(*index, j)]):
                continue
            added = mask[(*index, j)] if mask is not None and mask.dtype != bool else 0.0
            weight = math.exp(scale * np.dot(q[index], k[(*index[:-1], j)]) + added)
            total += weight
            y[index] += weight * v[(*index[:-1], j)]
        y[index] = y[index] / total if total else 0.0
    return y


SOME = np.array([[True, False, True], [False, False, False]])
Q, K, V = normal(2, 2), normal(3, 2, seed=1), normal(3, 3, seed=2)
NAME = "scaled_dot_product_attention"
case(NAME, Q, K, V, ref=attention)
case(NAME, Q, K, V, scale=0.3, ref=attention)
case(NAME, Q, K, V, is_causal=True, ref=attention)
case(NAME, Q, K, V, SOME, ref=attention)
case(NAME, Q, K, V, normal(2, 3, seed=3), ref=attention)
case(
    NAME,
    normal(2, 2, 1, 2),
    normal(2, 1, 3, 2, seed=1),
    normal(2, 1, 3, 1, seed=2),
    np.ones((1, 1, 1, 3), bool),
    ref=attention,
)
case(NAME, normal(2, 1, 2), normal(1, 2, 2), normal(1, 2, 2), enable_gqa=True, ref=attention)
case(
    NAME,
    *(a.astype(np.float32) for a in (Q, K, V)),
    is_causal=True,
    ref=lambda *a, **k: attention(*a, **k).astype(np.float32),
    _rtol=1e-5,
)


def multi_head(query, key, value, in_weights, in_bias, out_weight, out_bias, heads, **how):
    """One sample, head and query at a time; batches come second unless batch_first, or not at all."""
    first, single = how.get("batch_first", False), query.ndim == 2
    inputs = [x[None] if single else x if first else x.swapaxes(0, 1) for x in (query, key, value)]
    matrices = np.split(in_weights[0], 3) if len(in_weights) == 1 else in_weights
    biases = np.zeros((3, len(matrices[0]))) if in_bias is None else np.split(in_bias, 3)
    q, k, v = (np.einsum("bsi,oi->bso", x, w) + b for x, w, b in zip(inputs, matrices, biases, strict=True))
    for extra_k, extra_v in [
        *([(how["bias_k"], how["bias_v"])] if how.get("bias_k") is not None else []),
        *([(0.0, 0.0)] if how.get("add_zero_attn") else []),
    ]:
        k, v = (np.concatenate([a, np.zeros_like(a[:, :1]) + e], 1) for a, e in ((k, extra_k), (v, extra_v)))
    width, rows, seen = q.shape[-1] // heads, q.shape[1], inputs[1].shape[1]
    y, weights = np.zeros(q.shape), np.zeros((len(q), heads, rows, k.shape[1]))
    for b, h, i in np.ndindex(len(q), heads, rows):
        own = slice(h * width, (h + 1) * width)
        scores = k[b, :, own] @ q[b, i, own] / math.sqrt(width)
        scores[:seen] += added(b, h, i, heads, seen, single, **how)
        if not np.all(scores == -math.inf):
            weights[b, h, i] = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        y[b, i, own] = weights[b, h, i] @ v[b, :, own]
    y = np.einsum("bsi,oi->bso", y, out_weight) + (0.0 if out_bias is None else out_bias)
    y = y[0] if single else y if first else y.swapaxes(0, 1)
    if not how.get("need_weights"):
        return y
    shown = weights.mean(1) if how.get("average_weights", True) else weights
    return y, shown[0] if single else shown


def added(b, h, i, heads, seen, single, attn_mask=None, key_padding_mask=None, is_causal=False, **_):
    """What the masks add to the scores of one query."""
    total = np.where(np.arange(seen) > i, -math.inf, 0.0) if is_causal and attn_mask is None else np.zeros(seen)
    padding = key_padding_mask if key_padding_mask is None or single else key_padding_mask[b]
    row = attn_mask if attn_mask is None else attn_mask[i] if attn_mask.ndim == 2 else attn_mask[b * heads + h, i]
    for mask in (row, padding):
        if mask is not None:
            total = total + (np.where(mask, -math.inf, 0.0) if mask.dtype == bool else mask)
    return total


STACKED = [normal(12, 4)], normal(12), normal(4, 4, seed=4), normal(4, seed=5), 2
APART = [normal(4, 4), normal(4, 3, seed=1), normal(4, 2, seed=2)], None, normal(4, 4, seed=4), None, 2
STEPS = normal(3, 2, 4), normal(2, 2, 4, seed=1), normal(2, 2, 4, seed=2)
NARROW = normal(3, 2, 4), normal(2, 2, 3, seed=1), normal(2, 2, 2, seed=2)
NAME = "multi_head_attention"
case(NAME, *STEPS, *STACKED, ref=multi_head)
case(NAME, *NARROW, *APART, ref=multi_head)
case(NAME, *(x.swapaxes(0, 1).copy() for x in STEPS), *STACKED, batch_first=True, ref=multi_head)
case(NAME, *(x[:, 0].copy() for x in STEPS), *STACKED, need_weights=True, ref=multi_head)
case(NAME, *STEPS, *STACKED, need_weights=True, average_weights=False, is_causal=True, ref=multi_head)
case(NAME, *STEPS, *STACKED, attn_mask=np.array([[True, False], [True, True], [False, False]]), ref=multi_head)
case(NAME, *STEPS, *STACKED, attn_mask=normal(4, 3, 2, seed=6), ref=multi_head)
case(NAME, *STEPS, *STACKED, key_padding_mask=np.array([[True, False], [False, False]]), ref=multi_head)
case(
    NAME,
    *STEPS,
    *STACKED,
    bias_k=normal(4, seed=7),
    bias_v=normal(4, seed=8),
    add_zero_attn=True,
    attn_mask=normal(3, 2, seed=6),
    need_weights=True,
    ref=multi_head,
)
case("linear", normal(2, 3), normal(3), normal(), ref=lambda x, w, b: x @ w + b)
