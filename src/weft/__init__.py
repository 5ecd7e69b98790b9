"""Capture Python programs as graphs you can read, edit, differentiate, compile and ship."""

import weft.fft as fft
import weft.linalg as linalg
from weft import errors, nn, patterns, pytree, random
from weft.autograd import Parameter, Tensor, tensor
from weft.capture import (
    PH,
    GraphAppendingTracer,
    Proxy,
    Tracer,
    Transformer,
    replace_pattern,
    replace_pattern_with_filters,
    symbolic_trace,
    wrap,
)
from weft.graph import Graph, GraphModule, Interpreter, Node, Session, ShapeProp, load, map_arg
from weft.graph._effects import has_side_effect
from weft.ops import *
from weft.ops import Spec, spec
from weft.ops.constants import __array_api_version__, __array_namespace_info__
