"""`replace_pattern`: find a piece of program in a graph and put another in its place, both written as functions.

    >>> import weft
    >>> gm = weft.symbolic_trace(lambda x: weft.sin(x) * 3 + weft.sin(x) * 4)
    >>> matches = weft.replace_pattern(gm, lambda x, c: weft.sin(x) * c, lambda x, c: weft.cos(x) * (c + 1))
    >>> [match.bindings["c"] for match in matches]
    [3, 4]

See `weft.patterns` for parameters that match only constants, choices of ops, and conditions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.capture._tracer import symbolic_trace
from weft.errors import GraphError
from weft.graph import Graph, GraphModule
from weft.graph._match import InternalMatch, SubgraphMatcher
from weft.graph._rewrite import Match, ReplacedPatterns, places, rewrite
from weft.graph._wildcards import Restriction

Piece = Callable[..., Any] | Graph | GraphModule
Filter = Callable[[InternalMatch, Graph, Graph], bool]


def replace_pattern(
    gm: GraphModule | Graph,
    pattern: Piece,
    replacement: Piece,
    *,
    guards: Mapping[str, Callable[[Any], bool]] | None = None,
    where: Callable[[InternalMatch], bool] | None = None,
    ignore_literals: bool = False,
    commutative: bool = False,
    same_ops: bool = True,
    bodies: bool = True,
) -> list[Match]:
    """Replace every occurrence of `pattern` by `replacement`; returns what was matched.

    Pattern and replacement are functions, modules or graphs. They take the same parameters and return as many values.
    A parameter matches a node or a constant, and is the same wherever it stands. A match is replaced if no value inside
    it is used outside; of matches that overlap, the first is. `guards` are conditions on parameters by name, `where` is
    one on the whole match. With `commutative`, `x + y` matches in both orders for ops that allow it; with `same_ops`
    the ways to spell an op are one. Matches are looked for in the bodies of loops and branches too, unless `bodies` is
    False or the replacement reads attributes or calls modules, which a body cannot. On an error the graph is as it was.

    >>> import weft
    >>> gm = weft.symbolic_trace(lambda x: (x * 1) + (x * 2))
    >>> _ = weft.replace_pattern(gm, lambda x, c: x * c, lambda x: x, guards={"c": lambda c: c == 1})
    >>> print(gm.code)
    def forward(self, x):
        mul_1 = x * 2
        add = x + mul_1;  x = mul_1 = None
        return add
    <BLANKLINE>
    """
    replacement_graph = graph_of(replacement)
    replaced = _replace(
        gm,
        pattern,
        lambda match: replacement_graph,
        where=where,
        ignore_literals=ignore_literals,
        guards=guards,
        commutative=commutative,
        same_ops=same_ops,
        bodies=bodies and not _reads_module(replacement_graph),
    )
    return [Match(each.anchor, each.nodes_map) for each in replaced]


def replace_pattern_with_filters(
    gm: GraphModule | Graph,
    pattern: Piece,
    replacement: Piece | None = None,
    match_filters: Sequence[Filter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    *,
    guards: Mapping[str, Callable[[Any], bool]] | None = None,
    where: Callable[[InternalMatch], bool] | None = None,
    commutative: bool = False,
    same_ops: bool = True,
    bodies: bool = True,
) -> list[ReplacedPatterns]:
    """As `replace_pattern`, for the matches that every filter accepts; returns the new nodes too.

    A filter is called with the match, the graph it was found in, and the pattern's graph. `replacement_callback`,
    called the same way, makes a replacement for each match; give it or `replacement`. `ignore_literals` lets a constant
    in the pattern match any constant.
    """
    if (replacement is None) == (replacement_callback is None):
        raise GraphError("replace_pattern_with_filters takes a replacement or a replacement_callback, not both")
    pattern_graph = graph_of(pattern)
    fixed = None if replacement is None else graph_of(replacement)
    filters = list(match_filters or ())

    def accepts(match: InternalMatch) -> bool:
        fits = all(each(match, match.graph, pattern_graph) for each in filters)
        return fits and (where is None or where(match))

    def replacement_for(match: InternalMatch) -> Graph:
        if fixed is not None:
            return fixed
        assert replacement_callback is not None
        return graph_of(replacement_callback(match, match.graph, pattern_graph))

    return _replace(
        gm,
        pattern_graph,
        replacement_for,
        where=accepts,
        ignore_literals=ignore_literals,
        guards=guards,
        commutative=commutative,
        same_ops=same_ops,
        bodies=bodies and (fixed is None or not _reads_module(fixed)),
    )


def _replace(
    gm: GraphModule | Graph,
    pattern: Piece,
    replacement_for: Callable[[InternalMatch], Graph],
    bodies: bool,
    **options: Any,
) -> list[ReplacedPatterns]:
    graph = _target(gm)
    pattern_graph = graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, **options)
    found = [(one, match) for one in (places(graph) if bodies else [graph]) for match in matcher.match(one)]
    replaced = rewrite(pattern_graph, found, replacement_for)
    if replaced and isinstance(gm, GraphModule):
        gm.delete_all_unused_submodules()
    return replaced


def _reads_module(graph: Graph) -> bool:
    return any(node.op in ("get_attr", "call_module") for node in graph.nodes)


def graph_of(piece: Any) -> Graph:
    """The graph of a pattern or replacement, tracing it where it is a function."""
    if isinstance(piece, Graph):
        return piece
    if isinstance(piece, GraphModule):
        return piece.graph
    if not callable(piece):
        raise TypeError(f"a pattern is a function, a module or a graph, not {type(piece).__name__}")
    graph = symbolic_trace(piece).graph
    _check_restrictions(piece, graph)
    return graph


def _target(gm: Any) -> Graph:
    if isinstance(gm, Graph):
        return gm
    if not isinstance(gm, GraphModule):
        raise TypeError(f"replace_pattern edits a GraphModule or a Graph, not {type(gm).__name__}")
    return gm.graph


def _check_restrictions(function: Any, graph: Graph) -> None:
    """Refuse a pattern whose annotation could not be evaluated: a condition must not be lost without a word."""
    try:
        written = inspect.signature(function).parameters
    except (ValueError, TypeError):
        return
    for node in graph.find_nodes(op="placeholder"):
        annotation = written[node.target].annotation if node.target in written else None
        if not isinstance(annotation, str) or isinstance(node.type, Restriction):
            continue
        if re.fullmatch(r"(\w+\.)*(constant|value|number)", annotation):
            raise GraphError(
                f"the annotation {annotation!r} of {node.target!r} could not be evaluated",
                help="import weft.patterns at the top of the module, or give the condition in guards",
            )
