"""Shortest paths, components, and tables filled by dynamic programming."""

from __future__ import annotations

import numpy as np

from programs._program import program


def _weights(n, dtype=np.float64):
    def make(rng):
        w = rng.integers(1, 20, (n, n)).astype(dtype)
        np.fill_diagonal(w, 0)
        return (w,)

    return make


@program(
    arguments=_weights(7),
    others=[_weights(1), _weights(4, np.int64), lambda rng: (np.full((3, 3), np.inf),)],
)
def floyd_warshall(path):
    """In place, one vertex to pass through at a time."""
    for k in range(len(path)):
        np.minimum(path, np.add.outer(path[:, k], path[k]), out=path)


@program(
    arguments=_weights(5),
    others=[_weights(2, np.int32), lambda rng: (np.array([[0.0, np.inf], [1.0, 0.0]]),)],
)
def floyd_warshall_scalar(distance):
    """Three loops, and the next vertex on each path."""
    n = len(distance)
    d = distance.copy()
    following = np.tile(np.arange(n), (n, 1))
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
                    following[i, j] = following[i, k]
    return d, following


@program(
    arguments=lambda rng: (rng.integers(0, 4, 8), rng.integers(0, 4, 6)),
    others=[
        lambda rng: (np.zeros(0, np.int64), rng.integers(0, 4, 3)),
        lambda rng: (np.arange(4, dtype=np.uint8), np.arange(4, dtype=np.uint8)),
        lambda rng: (np.array([1]), np.array([2])),
    ],
)
def edit_distance(a, b):
    m, n = len(a), len(b)
    table = np.zeros((m + 1, n + 1), dtype=int)
    table[:, 0] = np.arange(m + 1)
    table[0, :] = np.arange(n + 1)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[m, n]


@program(
    arguments=lambda rng: (rng.integers(0, 3, 7), rng.integers(0, 3, 9)),
    others=[
        lambda rng: (np.array([1, 2]), np.array([3, 4])),
        lambda rng: (np.zeros(0, np.int64), np.zeros(0, np.int64)),
        lambda rng: (np.arange(5), np.arange(5)),
    ],
)
def longest_common_subsequence(a, b):
    """Its elements, read back from the table with while and elif."""
    m, n = a.size, b.size
    table = np.zeros((m + 1, n + 1), np.int64)
    for i in range(m):
        for j in range(n):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    length = table[m, n]
    result = np.empty(length, a.dtype)
    i, j = m, n
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            length -= 1
            result[length] = a[i - 1]
            i, j = i - 1, j - 1
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return result


@program(
    arguments=lambda rng: (rng.integers(1, 8, 5), rng.integers(1, 30, 5), 15),
    others=[
        lambda rng: (np.array([20]), np.array([5]), 10),
        lambda rng: (np.zeros(0, np.int64), np.zeros(0, np.int64), 4),
        lambda rng: (rng.integers(1, 4, 3), rng.random(3), 0),
    ],
)
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=values.dtype)
    for w, v in zip(weights, values, strict=True):
        for c in range(capacity, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[-1]


@program(
    arguments=lambda rng: (rng.integers(0, 4, 9),),
    others=[
        lambda rng: (np.array([0]),),
        lambda rng: (np.array([0, 3, 1, 2, 0, 3]),),
        lambda rng: (np.zeros(5, np.int8),),
    ],
)
def nussinov(bases):
    """Most base pairs in a folded strand: 0 with 3, 1 with 2, and never two neighbours."""
    n = len(bases)
    best = np.zeros((n, n), dtype=np.int32)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            top = max(best[i + 1, j], best[i, j - 1])
            if j - i > 1 and bases[i] + bases[j] == 3:
                top = max(top, best[i + 1, j - 1] + 1)
            for k in range(i + 1, j):
                top = max(top, best[i, k] + best[k + 1, j])
            best[i, j] = top
    return best


@program(
    arguments=lambda rng: (rng.integers(2, 12, 6),),
    others=[lambda rng: (rng.integers(2, 12, 2),), lambda rng: (rng.integers(2, 12, 4).astype(np.int32),)],
)
def matrix_chain(sizes):
    """The cheapest order of a product of matrices."""
    n = len(sizes) - 1
    cost = np.zeros((n, n))
    split = np.full((n, n), -1)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = np.inf
            for k in range(i, j):
                total = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if total < cost[i, j]:
                    cost[i, j], split[i, j] = total, k
    return cost[0, n - 1], split


@program(
    arguments=lambda rng: (8, rng.integers(0, 8, (6, 2))),
    others=[
        lambda rng: (3, np.zeros((0, 2), np.int64)),
        lambda rng: (4, np.array([[0, 1], [1, 2], [2, 3], [3, 0]])),
    ],
)
def union_find(n, edges):
    """Components of a graph: paths are halved on the way up."""
    parent = np.arange(n)
    rank = np.zeros(n, int)

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    components = n
    for a, b in edges:
        ra, rb = find(a), find(b)
        if ra == rb:
            continue
        if rank[ra] < rank[rb]:
            ra, rb = rb, ra
        parent[rb] = ra
        rank[ra] += rank[ra] == rank[rb]
        components -= 1
    return components, np.array([find(i) for i in range(n)])


@program(
    arguments=lambda rng: (rng.random((6, 6)), 0),
    others=[
        lambda rng: (np.where(np.eye(4, k=1) > 0, 1.0, np.inf), 0),
        lambda rng: (np.full((3, 3), np.inf), 2),
        lambda rng: (rng.integers(1, 9, (4, 4)), 3),
    ],
)
def dijkstra(weights, start):
    """Without a queue: the nearest open vertex is looked up each time; what cannot be reached stays infinite."""
    n = weights.shape[0]
    distance = np.full(n, np.inf)
    distance[start] = 0
    done = np.zeros(n, dtype=bool)
    while not done.all():
        open_distance = np.where(done, np.inf, distance)
        here = np.argmin(open_distance)
        if np.isinf(open_distance[here]):
            break
        done[here] = True
        through = distance[here] + weights[here]
        better = (through < distance) & ~done
        distance[better] = through[better]
    return distance


@program(
    arguments=lambda rng: ((rng.random((7, 7)) < 0.25), 0),
    others=[
        lambda rng: (np.zeros((3, 3), bool), 1),
        lambda rng: (np.ones((4, 4), bool), 2),
        lambda rng: (np.eye(5, k=1, dtype=bool), 0),
    ],
)
def breadth_first(adjacent, start):
    """Levels of a search that goes on while the frontier is not empty."""
    level = np.full(len(adjacent), -1)
    frontier = np.zeros(len(adjacent), dtype=bool)
    frontier[start] = True
    depth = 0
    while frontier.any():
        level[frontier] = depth
        frontier = adjacent[frontier].any(axis=0) & (level < 0)
        depth += 1
    return level


@program(
    arguments=lambda rng: (np.array([1, 5, 10, 25]), 43),
    others=[
        lambda rng: (np.array([5]), 3),
        lambda rng: (np.array([2, 3], np.int32), 0),
        lambda rng: (np.array([7, 4]), 18),
    ],
)
def coin_change(coins, amount):
    """Fewest coins and number of ways; -1 coins where there is no way."""
    fewest = np.full(amount + 1, amount + 1)
    ways = np.zeros(amount + 1, dtype=np.int64)
    fewest[0] = 0
    ways[0] = 1
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
            fewest[total] = min(fewest[total], fewest[total - coin] + 1)
    return int(fewest[amount]) if fewest[amount] <= amount else -1, int(ways[amount])
