"""`checkpoint` in a captured program: the nodes of the call are marked, for whoever makes a backward of the graph."""

from __future__ import annotations

from typing import Any


def run_checkpoint(recorder: Any, function: Any, /, *args: Any, preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """A call whose values a backward computes again: `meta["checkpoint"]` of its nodes is the number of the call.

    Random numbers are drawn once, whatever `preserve_rng_state` says: a backward reads those of the forward.
    """
    graph = recorder.region.graph
    before = graph._root._prev
    recorder.checkpoints += 1
    number = recorder.checkpoints
    result = recorder.run(function, args, kwargs)
    node = graph._root._prev
    while node is not before:
        if node.op == "call_function":
            node.meta["checkpoint"] = number  # of calls within calls, that of the outermost
        node = node._prev
    return result
