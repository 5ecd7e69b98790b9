"""Front ends: ways a Python program becomes a graph."""

from weft.capture._placeholders import PH
from weft.capture._proxy import Attribute, Proxy
from weft.capture._replace import replace_pattern, replace_pattern_with_filters
from weft.capture._tracer import Tracer, symbolic_trace
from weft.capture._tracer_base import GraphAppendingTracer, TracerBase
from weft.capture._transformer import Transformer
from weft.capture._wrap import ProxyableClassMeta, wrap

__all__ = [
    "PH",
    "Attribute",
    "GraphAppendingTracer",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "TracerBase",
    "Transformer",
    "replace_pattern",
    "replace_pattern_with_filters",
    "symbolic_trace",
    "wrap",
]
