"""Replace sigmoid by tanh and negate every method's result: a Transformer rebuilds the graph as it would run."""

from __future__ import annotations

import numpy as np

import weft


def program(x):
    """Two kinds of call: a function and a method."""
    return weft.sigmoid(x).sum() - weft.sigmoid(weft.sin(x)).mean()


class SigmoidToTanh(weft.Transformer):
    """Calls tanh where sigmoid was called; what methods return turns negative."""

    def call_function(self, target, args, kwargs):
        if target is weft.sigmoid:
            return weft.tanh(*args, **kwargs)
        return super().call_function(target, args, kwargs)

    def call_method(self, target, args, kwargs):
        return -super().call_method(target, args, kwargs)


class Swapping(weft.Interpreter):
    """The same change made while running: the graph stays as it is."""

    def call_function(self, target, args, kwargs):
        return super().call_function(weft.tanh if target is weft.sigmoid else target, args, kwargs)

    def call_method(self, target, args, kwargs):
        return -super().call_method(target, args, kwargs)


def main() -> None:
    traced = weft.symbolic_trace(program)
    print("Before:")
    print(traced.code.strip())

    transformed = SigmoidToTanh(traced).transform()
    print("\nAfter:")
    print(transformed.code.strip())

    x = np.linspace(0.0, 1.0, 5)
    expected = -np.tanh(x).sum() + np.tanh(np.sin(x)).mean()
    print("\nTransformer gives", round(float(transformed(x)), 6))
    print("Interpreter gives", round(float(Swapping(traced).run(x)), 6))
    print("By hand          ", round(float(expected), 6))
    print("The first graph is as it was:", np.isclose(traced(x), program(x)))


if __name__ == "__main__":
    main()
