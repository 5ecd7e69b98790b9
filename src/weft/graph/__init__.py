"""The graph: nodes, editing, checking, printing, running and saving. See `Graph` and `Node`."""

from weft._listing import listing as _listing
from weft.graph._arguments import ImmutableDict as immutable_dict
from weft.graph._arguments import ImmutableList as immutable_list
from weft.graph._arguments import map_aggregate, map_arg
from weft.graph._codegen import CodeGen
from weft.graph._control import check, cond, fail, fori_loop, scan, switch, while_loop
from weft.graph._folder import read_state
from weft.graph._graph import Graph
from weft.graph._inputs import Inputs
from weft.graph._interpreter import Interpreter
from weft.graph._load import load
from weft.graph._module import GraphModule
from weft.graph._node import Node, Origin
from weft.graph._session import Session
from weft.graph._shapes import ShapeProp

__all__ = [
    "CodeGen",
    "Graph",
    "GraphModule",
    "Inputs",
    "Interpreter",
    "Node",
    "Origin",
    "Session",
    "ShapeProp",
    "check",
    "cond",
    "fail",
    "fori_loop",
    "immutable_dict",
    "immutable_list",
    "load",
    "map_aggregate",
    "map_arg",
    "read_state",
    "scan",
    "switch",
    "while_loop",
]

__dir__ = _listing(__name__)
