"""Passes: functions that make a graph smaller and keep what it computes, and the manager that runs them.

`optimize(graph)` runs them all. Each is a function from a Graph to `Changes`, which it makes in place, in bodies too.
"""

from weft._listing import listing as _listing
from weft.passes._changes import Change, Changes
from weft.passes.const_fold import FoldedGraphModule, split_const_subgraphs
from weft.passes.cse import eliminate_common
from weft.passes.dce import eliminate_dead
from weft.passes.fold import fold_constants
from weft.passes.manager import DEFAULT, Pass, PassManager, Report, Run, optimize
from weft.passes.simplify import simplify
from weft.passes.split import split_module

__all__ = [
    "Change",
    "Changes",
    "DEFAULT",
    "FoldedGraphModule",
    "Pass",
    "PassManager",
    "Report",
    "Run",
    "eliminate_common",
    "eliminate_dead",
    "fold_constants",
    "optimize",
    "simplify",
    "split_const_subgraphs",
    "split_module",
]

__dir__ = _listing(__name__)
