"""Layers and what they are made of, under the names of `torch.nn`. See `Module` and `functional`."""

from weft._listing import listing as _listing
from weft._module import Module
from weft.autograd import Parameter
from weft.nn import _backward_hooks, functional, init, utils
from weft.nn.activation import *
from weft.nn.attention import *
from weft.nn.containers import *
from weft.nn.conv import *
from weft.nn.distance import *
from weft.nn.dropout import *
from weft.nn.embedding import *
from weft.nn.instance_norm import *
from weft.nn.linear import *
from weft.nn.loss import *
from weft.nn.normalization import *
from weft.nn.padding import *
from weft.nn.parameters import *
from weft.nn.pooling import *
from weft.nn.recurrent import *
from weft.nn.serialization import *
from weft.nn.shape import *
from weft.nn.transformer import *

__dir__ = _listing(__name__, namespaces=("functional", "init", "utils"))
