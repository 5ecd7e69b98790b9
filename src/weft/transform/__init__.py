"""Derivatives of functions, and functions of many examples: graphs made of graphs.

Reverse mode is in `_reverse`, forward mode in `_forward`, many examples in `_batch`; what each does with control flow
in files of the same names. `_partition` splits the graph of forward and backward in two.
"""

from weft.transform._custom import custom_jvp, custom_vjp
from weft.transform._gradient import grad, value_and_grad
from weft.transform._jacobian import hessian, jacfwd, jacrev
from weft.transform._jvp import hvp, jvp
from weft.transform._partition_joint import joint_graph
from weft.transform._vjp import linearize, vjp
from weft.transform._vmap import vmap

__all__ = [
    "custom_jvp",
    "custom_vjp",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "joint_graph",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]
