"""Capture Python programs as graphs you can read, edit, differentiate, compile and ship."""

from weft.ops import *
from weft.ops import Spec, spec
from weft.ops.constants import __array_api_version__, __array_namespace_info__
import weft.fft as fft  # after the ops, whose own modules of these names must not stand for the namespaces
import weft.linalg as linalg
from weft import errors, nn, pytree, random
from weft.autograd import Parameter, Tensor, tensor
from weft.capture import PH, GraphAppendingTracer, Proxy, Tracer, symbolic_trace, wrap
from weft.capture import replace_pattern, replace_pattern_with_filters
from weft.graph import Graph, GraphModule, Interpreter, Node, Session, ShapeProp, load
from weft.graph._effects import has_side_effect
from weft import patterns
