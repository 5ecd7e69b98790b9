"""Programs of about 100 lines, as people write them over NumPy: what capturing is measured on."""

from __future__ import annotations

from typing import Any

import numpy as np


def simulate(u: Any, v: Any, mask: Any, dt: float, steps: int) -> Any:
    """Reaction and diffusion with boundaries, statistics of it, and a small system by conjugate gradients."""
    n, m = u.shape
    du, dv = 0.16, 0.08
    feed = 0.035
    kill = 0.065
    lap_u = np.zeros_like(u)
    lap_v = np.zeros_like(v)
    history = np.zeros((steps, 4))
    energy = 0.0
    for step in range(steps):
        lap_u[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        lap_v[1:-1, 1:-1] = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4.0 * v[1:-1, 1:-1]
        uvv = u * v * v
        u += dt * (du * lap_u - uvv + feed * (1.0 - u))
        v += dt * (dv * lap_v + uvv - (feed + kill) * v)
        u[0, :] = u[1, :]
        u[-1, :] = u[-2, :]
        u[:, 0] = u[:, 1]
        u[:, -1] = u[:, -2]
        v[0, :] = v[1, :]
        v[-1, :] = v[-2, :]
        v[:, 0] = v[:, 1]
        v[:, -1] = v[:, -2]
        np.clip(u, 0.0, 1.0, out=u)
        np.clip(v, 0.0, 1.0, out=v)
        mean_u = u.mean()
        mean_v = v.mean()
        if mean_u > 0.9:
            feed = feed * 0.99
        elif mean_u < 0.1:
            feed = feed * 1.01
        else:
            kill = kill * 1.0
        history[step, 0] = mean_u
        history[step, 1] = mean_v
        history[step, 2] = u.max() - u.min()
        history[step, 3] = v.max() - v.min()
        energy += np.sum(uvv) * dt
    best = -1
    best_value = -np.inf
    for i in range(steps):
        value = history[i, 2] * history[i, 3]
        if value > best_value:
            best_value = value
            best = i
    masked = np.where(mask, u, 0.0)
    row_sums = masked.sum(axis=1)
    col_sums = masked.sum(axis=0)
    total = row_sums.sum()
    if total > 0:
        row_sums = row_sums / total
        col_sums = col_sums / total
    entropy = 0.0
    for i in range(n):
        p = row_sums[i]
        if p > 0:
            entropy -= p * np.log(p)
    for j in range(m):
        p = col_sums[j]
        if p > 0:
            entropy -= p * np.log(p)
    a = history.T @ history
    a += np.eye(4) * 1e-3
    b = np.ones(4)
    x = np.zeros(4)
    residual = b - a @ x
    direction = residual.copy()
    rs_old = residual @ residual
    iterations = 0
    while rs_old > 1e-10 and iterations < 50:
        ad = a @ direction
        alpha = rs_old / (direction @ ad)
        x += alpha * direction
        residual -= alpha * ad
        rs_new = residual @ residual
        direction = residual + (rs_new / rs_old) * direction
        rs_old = rs_new
        iterations += 1
    order = np.argsort(history[:, 0])
    ranked = history[order]
    spread = np.zeros(steps)
    for k in range(1, steps):
        spread[k] = abs(ranked[k, 0] - ranked[k - 1, 0])
    smooth = np.convolve(spread, np.ones(3) / 3.0, mode="same")
    peak = np.argmax(smooth)
    weights = np.exp(-0.5 * (np.arange(steps) - peak) ** 2)
    weights /= weights.sum()
    score = weights @ history[:, 1]
    return energy, best, best_value, entropy, x, score, iterations


def _simulate_arguments() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    u, v = rng.random((32, 40)), rng.random((32, 40))
    return (u, v, u > 0.5, 0.5, 12)


def statistics(x: Any, y: Any, w: Any) -> Any:
    """Arrays, one line after another: regression, outliers, spectra."""
    n = x.shape[0]
    mx = x.mean(axis=0)
    my = y.mean()
    xc = x - mx
    yc = y - my
    sx = np.sqrt((xc**2).mean(axis=0))
    sy = np.sqrt((yc**2).mean())
    xs = xc / sx
    ys = yc / sy
    corr = xs.T @ ys / n
    cov = xs.T @ xs / n
    eye = np.eye(cov.shape[0])
    ridge = cov + 0.1 * eye
    beta = np.linalg.solve(ridge, corr)
    pred = xs @ beta
    resid = ys - pred
    sse = np.sum(resid**2)
    sst = np.sum(ys**2)
    r2 = 1 - sse / sst
    mad = np.median(np.abs(resid))
    scaled = resid / (1.4826 * mad)
    huber = np.where(np.abs(scaled) < 1.345, 1.0, 1.345 / np.maximum(np.abs(scaled), 1e-12))
    weighted = xs * huber[:, None]
    gram = weighted.T @ xs
    gram = gram + 0.1 * eye
    rhs = weighted.T @ ys
    beta2 = np.linalg.solve(gram, rhs)
    pred2 = xs @ beta2
    resid2 = ys - pred2
    lev = np.sum((xs @ np.linalg.inv(ridge)) * xs, axis=1) / n
    stud = resid2 / np.sqrt(np.maximum(1 - lev, 1e-9))
    top = np.argsort(np.abs(stud))[::-1]
    top5 = top[:5]
    worst = stud[top5]
    hist, edges = np.histogram(stud, bins=10)
    centers = 0.5 * (edges[1:] + edges[:-1])
    density = hist / hist.sum()
    mean_d = np.sum(density * centers)
    var_d = np.sum(density * (centers - mean_d) ** 2)
    skew_d = np.sum(density * (centers - mean_d) ** 3)
    kurt_d = np.sum(density * (centers - mean_d) ** 4)
    skew_d = skew_d / var_d**1.5
    kurt_d = kurt_d / var_d**2
    q25 = np.percentile(stud, 25)
    q75 = np.percentile(stud, 75)
    iqr = q75 - q25
    fences = np.array([q25 - 1.5 * iqr, q75 + 1.5 * iqr])
    outliers = (stud < fences[0]) | (stud > fences[1])
    count = outliers.sum()
    kept = np.where(outliers, 0.0, 1.0)
    ws = w * kept
    ws = ws / ws.sum()
    wm = np.sum(ws[:, None] * x, axis=0)
    wv = np.sum(ws[:, None] * (x - wm) ** 2, axis=0)
    z = (x - wm) / np.sqrt(wv + 1e-9)
    dist = np.sum(z * z, axis=1)
    near = np.argmin(dist)
    far = np.argmax(dist)
    gap = z[far] - z[near]
    unit = gap / np.linalg.norm(gap)
    proj = z @ unit
    lo = proj.min()
    hi = proj.max()
    scaled_p = (proj - lo) / (hi - lo)
    logits = np.log((scaled_p + 1e-6) / (1 - scaled_p + 1e-6))
    sig = 1 / (1 + np.exp(-logits))
    loss = -np.mean(sig * np.log(sig + 1e-9) + (1 - sig) * np.log(1 - sig + 1e-9))
    fft = np.fft.rfft(ys)
    power = np.abs(fft) ** 2
    power[0] = 0.0
    dominant = np.argmax(power)
    phase = np.angle(fft[dominant])
    freq = dominant / n
    t = np.arange(n)
    wave = np.cos(2 * np.pi * freq * t + phase)
    amp = 2 * np.sum(wave * ys) / n
    clean = ys - amp * wave
    lag = np.sum(clean[1:] * clean[:-1]) / np.sum(clean * clean)
    white = clean[1:] - lag * clean[:-1]
    dw = np.sum((white[1:] - white[:-1]) ** 2) / np.sum(white**2)
    cum = np.cumsum(white)
    rng = cum.max() - cum.min()
    hurst = np.log(rng / white.std()) / np.log(n)
    trend = np.polyfit(t, ys, 1)
    line = trend[0] * t + trend[1]
    detr = ys - line
    acf = np.zeros(5)
    for k in range(1, 5):
        acf[k] = np.sum(detr[k:] * detr[:-k]) / np.sum(detr * detr)
    acf[0] = 1.0
    summary = np.stack([r2, sse, sst, loss, hurst])
    diffs = np.diff(scaled_p)
    signs = np.sign(diffs)
    turns = np.sum(signs[1:] != signs[:-1])
    box = np.concatenate([wm, wv])
    outer = np.outer(beta, beta2)
    trace = np.trace(outer)
    det = np.linalg.det(ridge)
    final = np.tanh(summary) * trace + det
    return final, beta2, worst, count, skew_d, kurt_d, dw, acf, turns, box, hurst, line.sum()


def _statistics_arguments() -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return (rng.random((60, 5)), rng.random(60), rng.random(60))


def scalar_loops(a: Any, b: Any, c: Any, n: int) -> Any:
    """Loops over elements: LU, Gauss-Seidel, insertion sort, a common subsequence, counts."""
    lu = a.copy()
    for k in range(n - 1):
        for i in range(k + 1, n):
            lu[i, k] = lu[i, k] / lu[k, k]
            for j in range(k + 1, n):
                lu[i, j] -= lu[i, k] * lu[k, j]
    x = b.copy()
    for i in range(n):
        s = 0.0
        for j in range(i):
            s += lu[i, j] * x[j]
        x[i] = x[i] - s
    for i in range(n - 1, -1, -1):
        s = 0.0
        for j in range(i + 1, n):
            s += lu[i, j] * x[j]
        x[i] = (x[i] - s) / lu[i, i]
    y = np.zeros(n)
    err = 1.0
    sweeps = 0
    while err > 1e-8:
        err = 0.0
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= a[i, j] * y[j]
            new = s / a[i, i]
            d = abs(new - y[i])
            if d > err:
                err = d
            y[i] = new
        sweeps += 1
        if sweeps > 200:
            break
    order = np.arange(n)
    for i in range(1, n):
        j = i
        while j > 0 and x[order[j - 1]] > x[order[j]]:
            t = order[j]
            order[j] = order[j - 1]
            order[j - 1] = t
            j -= 1
    m = len(c)
    table = np.zeros((m + 1, n + 1), dtype=np.int64)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if c[i - 1] == order[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            elif table[i - 1, j] >= table[i, j - 1]:
                table[i, j] = table[i - 1, j]
            else:
                table[i, j] = table[i, j - 1]
    length = table[m, n]
    out = np.zeros(length, dtype=np.int64)
    i, j, k = m, n, length
    while i > 0 and j > 0:
        if c[i - 1] == order[j - 1]:
            k -= 1
            out[k] = c[i - 1]
            i -= 1
            j -= 1
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    counts = np.zeros(4)
    for i in range(n):
        v = x[i]
        if v < -1:
            counts[0] += 1
        elif v < 0:
            counts[1] += 1
        elif v < 1:
            counts[2] += 1
        else:
            counts[3] += 1
    best = x[0]
    where = 0
    for i in range(1, n):
        if x[i] > best:
            best = x[i]
            where = i
    norm = 0.0
    for i in range(n):
        norm += (x[i] - y[i]) ** 2
    norm = np.sqrt(norm)
    poly = 0.0
    for i in range(n):
        poly = poly * 0.5 + x[i]
    if norm > 1.0:
        return x, y, -1.0, where, counts
    return x, y, norm + poly, where, counts


def _scalar_loops_arguments() -> tuple[Any, ...]:
    rng, n = np.random.default_rng(0), 9
    return (rng.random((n, n)) + n * np.eye(n), rng.random(n), np.arange(n)[::-1].copy(), n)


PROGRAMS: list[tuple[Any, Any]] = [
    (simulate, _simulate_arguments),
    (statistics, _statistics_arguments),
    (scalar_loops, _scalar_loops_arguments),
]
