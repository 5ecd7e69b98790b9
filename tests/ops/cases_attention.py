"""Cases of `multi_head_attention`, each head of each sequence by itself, through the reference for a single head."""

import numpy as np
from cases import case, normal
from cases_layers import attention


def heads(
    q,
    k,
    v,
    in_weights,
    in_bias,
    out_weight,
    out_bias,
    num_heads,
    key_padding_mask=None,
    attn_mask=None,
    bias_k=None,
    bias_v=None,
    add_zero_attn=False,
    need_weights=False,
    average_weights=True,
    is_causal=False,
    batch_first=False,
):
    single = q.ndim == 2
    q, k, v = (x[None] if single else x if batch_first else np.moveaxis(x, 1, 0) for x in (q, k, v))
    matrices = np.split(in_weights[0], 3) if len(in_weights) == 1 else in_weights
    biases = np.zeros((3, 1)) if in_bias is None else np.split(in_bias, 3)
    q, k, v = (x @ w.T + b for x, w, b in zip((q, k, v), matrices, biases, strict=True))
    more = [(bias_k, bias_v)] if bias_k is not None else []
    more += [(0.0, 0.0)] if add_zero_attn else []
    length, width = k.shape[1], q.shape[-1] // num_heads
    for a, b in more:
        shape = (len(k), 1, k.shape[-1])
        k, v = (np.concatenate([x, np.broadcast_to(y, shape)], 1) for x, y in ((k, a), (v, b)))
    y, shown = np.zeros(q.shape), np.zeros((len(q), num_heads, q.shape[1], k.shape[1]))
    for n in range(len(q)):
        added = np.zeros((num_heads, q.shape[1], k.shape[1]))
        for mask in (attn_mask, None if key_padding_mask is None else np.reshape(key_padding_mask, (len(q), -1))[n]):
            if mask is not None:
                mask = mask.reshape(len(q), num_heads, *mask.shape[1:])[n] if mask.ndim == 3 else mask
                added[..., :length] += np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask
        if is_causal and attn_mask is None:
            added[..., :length] += np.where(np.tri(q.shape[1], length, dtype=bool), 0.0, -np.inf)
        for h in range(num_heads):
            part = slice(h * width, (h + 1) * width)
            y[n, :, part] = attention(q[n, :, part], k[n, :, part], v[n, :, part], added[h])
            shown[n, h] = attention(q[n, :, part], k[n, :, part], np.eye(k.shape[1]), added[h])
    y = y @ out_weight.T + (0 if out_bias is None else out_bias)
    y = y[0] if single else y if batch_first else np.moveaxis(y, 0, 1)
    shown = shown.mean(1) if average_weights else shown
    return (y, shown[0] if single else shown) if need_weights else y


NAME = "multi_head_attention"
TOGETHER, IN, OUT = [normal(12, 4)], normal(12), (normal(4, 4), normal(4))
APART = [normal(4, 2), normal(4, 3), normal(4, 2, seed=1)]
X, LONG = normal(3, 2, 4), normal(2, 3, 4, seed=1)
case(NAME, X, X, X, TOGETHER, IN, *OUT, 2, ref=heads)
case(NAME, X, X, X, TOGETHER, IN, *OUT, 2, need_weights=True, is_causal=True, ref=heads)
case(NAME, X[:2, :, :2], X[..., :3], X[..., 2:], APART, None, OUT[0], None, 4, ref=heads)
case(NAME, X[:1], X, X * 2, TOGETHER, IN, *OUT, 2, need_weights=True, average_weights=False, ref=heads)
case(NAME, X[0], X[0], X[0], TOGETHER, IN, *OUT, 1, np.array([True, False]), need_weights=True, ref=heads)
PADDED = np.array([[False, True, False], [False, False, True]])
case(NAME, LONG, LONG, LONG, TOGETHER, IN, *OUT, 2, PADDED, normal(3, 3), batch_first=True, ref=heads)
case(NAME, LONG, LONG, LONG, TOGETHER, IN, *OUT, 2, None, normal(4, 3, 3) > 0, batch_first=True, ref=heads)
EXTRA = (normal(1, 1, 4, seed=5), normal(1, 1, 4, seed=6))
case(NAME, X, X, X, TOGETHER, IN, *OUT, 2, PADDED, None, *EXTRA, True, need_weights=True, ref=heads)
