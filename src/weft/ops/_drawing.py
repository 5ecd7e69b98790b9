"""`RandomOp`: an op that draws, and is therefore recorded while a program is traced even without a traced argument.

Any other call on plain values is computed while tracing, and its result is a constant of the graph. A draw is not: the
graph draws anew each time it runs.
"""

from __future__ import annotations

from typing import Any

from weft._tracing import current_tracer
from weft.ops._op import Op, _handler
from weft.ops._spec import Spec


class RandomOp(Op):
    """An op whose calls draw random numbers; see `Op.draws`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = current_tracer.get()
        if tracer is not None:
            handler = _handler((*args, *kwargs.values()), None)
            answered = isinstance(handler, Spec) or getattr(type(handler), "_is_proxy", False)
            if not answered and self.draws(args, kwargs):
                self.bind(args, kwargs)  # a wrong keyword fails here, on its line
                return tracer.create_proxy("call_function", self, args, kwargs)
        return super().__call__(*args, **kwargs)
