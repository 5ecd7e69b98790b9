"""The op table: each op declared whole, once. See `_op` for the form and `_families` for what members share."""

from types import ModuleType as _ModuleType

# Namespaces of their own: weft.fft, weft.linalg, weft.random.
from weft._listing import listing as _listing
from weft.ops import (
    _masked,
    _masked_nans,
    _numpy_forms,
    _ufunc_methods,
    choices,
    fft,
    linalg_decompositions,
    linalg_solvers,
    linalg_systems,
    random,
)
from weft.ops._op import TABLE, Op, op_of
from weft.ops._spec import Spec, spec, spec_of
from weft.ops.activation import *
from weft.ops.adaptive import *
from weft.ops.assembling import *
from weft.ops.attention import *
from weft.ops.averages import *
from weft.ops.binning import *
from weft.ops.blends import *
from weft.ops.constants import *
from weft.ops.contraction import *
from weft.ops.convolution import *
from weft.ops.creation import *
from weft.ops.cumulative import *
from weft.ops.dtypes import *
from weft.ops.elementwise import *
from weft.ops.gammas import *
from weft.ops.gelus import *
from weft.ops.grids import *
from weft.ops.indexing import *
from weft.ops.joining import *
from weft.ops.layers import *
from weft.ops.linalg import *
from weft.ops.logic import *
from weft.ops.losses import *
from weft.ops.manipulation import *
from weft.ops.nans import *
from weft.ops.normalization import *
from weft.ops.numbers import *
from weft.ops.padding import *
from weft.ops.polynomials import *
from weft.ops.pooling import *
from weft.ops.quantiles import *
from weft.ops.recurrent import *
from weft.ops.reductions import *
from weft.ops.searching import *
from weft.ops.selecting import *
from weft.ops.signal import *
from weft.ops.softmaxes import *
from weft.ops.sorting import *
from weft.ops.special import *
from weft.ops.statistics import *
from weft.ops.transcendental import *

_OWN = {"TABLE", "Op", "op_of", "spec_of"}  # for those who build on the table, not for those who call ops
__all__ = [
    name
    for name, value in vars().items()
    if not (name.startswith("_") or name in _OWN or isinstance(value, _ModuleType))
]

__dir__ = _listing(__name__)
