"""Lists that a loop takes from, puts to and replaces: searches through graphs, as they are written every day."""

# these are the ways of writing that are to be captured

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from programs._compare import assert_same, call


def edges(n: int, seed: int) -> Any:
    return (np.random.default_rng(seed).random((n, n)) < 0.4).astype(int)


def first_taken_by_a_slice(links, start):
    seen, queue = np.zeros(len(links)), [start]
    while queue:
        node = queue[0]
        for v in np.where(links[node])[0]:
            if seen[v] == 0:
                seen[v] = seen[node] + 1
                queue.append(v)
        queue = queue[1:]
    return seen


def first_taken_by_unpacking(links, start):
    seen, queue = np.zeros(len(links)), [start]
    while queue:
        node, *queue = queue
        for v in range(len(links)):
            if links[node, v] and seen[v] == 0:
                seen[v] = seen[node] + 1
                queue.append(v)
    return seen


def filtered(links, start):
    seen, queue = np.zeros(len(links)), [start]
    while queue:
        node = queue[0]
        queue = [v for v in queue if v != node]
        for v in range(len(links)):
            if links[node, v] and seen[v] == 0:
                seen[v] = seen[node] + 1
                queue.append(v)
    return seen


def one_front_after_another(links, start):
    seen, front, distance = np.zeros(len(links)), [start], 0
    while front:
        following = []
        for node in front:
            for v in range(len(links)):
                if links[node, v] and seen[v] == 0:
                    seen[v] = distance + 1
                    following.append(v)
        front = following
        distance += 1
    return seen, distance


def depth_first(links, start):
    seen, order, stack = [False] * len(links), [], [(start, 0)]
    while stack:
        node, depth = stack.pop()
        if not seen[node]:
            seen[node] = True
            order.append((node, depth))
            stack.extend([(v, depth + 1) for v in range(len(links)) if links[node][v]])
    return order


def added_at_once(links, start):
    seen, queue = np.zeros(len(links)), [start]
    while queue:
        node = queue[-1]
        del queue[-1]
        new = [v for v in range(len(links)) if links[node, v] and seen[v] == 0]
        for v in new:
            seen[v] = seen[node] + 1
        queue += new
    return seen


@pytest.mark.parametrize(
    "program",
    [first_taken_by_a_slice, first_taken_by_unpacking, filtered, one_front_after_another, depth_first, added_at_once],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("how", [weft.compile, weft.script])
def test_searches_are_captured(how: Any, program: Callable[..., Any]) -> None:
    captured = how(program)
    for given in ((edges(5, 3), 0), (edges(5, 3), 2), (edges(7, 1), 4), (np.zeros((1, 1), int), 0)):
        assert_same(call(captured, given), call(program, given))
    if how is weft.compile:
        assert not captured._ran_plainly


def reached(room: Any, start: int, kind: Any) -> tuple[int, int]:
    """How many places are reached from one; what is put has no part in what a loop that was given up has put."""
    waiting, turns = kind(), 0
    seen = [False for _ in range(len(room))]
    seen[start] = True
    waiting.put(start)
    while waiting.qsize() and turns < 50:
        at = waiting.get()
        turns += 1
        for to in range(len(room)):
            if not seen[to] and room[at][to] > 0:
                seen[to] = True
                waiting.put(to)
    return turns, sum(seen)


@pytest.mark.parametrize("kind", [queue.Queue, queue.LifoQueue, queue.PriorityQueue])
@pytest.mark.parametrize("dynamic", [None, True, False])
def test_what_a_queue_holds_is_put_back(kind: Any, dynamic: Any) -> None:
    room = [[0, 1, 1, 0, 0], [0, 0, 2, 8, 0], [0, 0, 0, 9, 0], [0, 0, 0, 0, 0], [3, 0, 0, 0, 0]]
    compiled = weft.compile(reached, dynamic=dynamic)
    for start in (0, 2, 4):
        assert compiled(room, start, kind) == reached(room, start, kind)
