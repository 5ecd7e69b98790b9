"""Recurrent layers over sequences, and the single cells they repeat.

Input is (steps, batch, features), (batch, steps, features) with `batch_first`, or (steps, features) for one sequence.

    >>> import numpy as np
    >>> output, (h, c) = LSTM(3, 5, num_layers=2)(np.zeros((7, 4, 3), np.float32))
    >>> output.shape, h.shape, c.shape
    ((7, 4, 5), (2, 4, 5), (2, 4, 5))
"""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar

from weft import ops
from weft._module import Module
from weft.nn import init
from weft.nn._make import check_device, check_sizes, parameter

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNCell"]


class _Recurrent(Module):
    """What recurrent layers share: sizes, parameters by torch's names, first values, text."""

    gates: ClassVar[int]
    settings: ClassVar[tuple[tuple[str, Any], ...]] = (
        ("proj_size", 0),
        ("num_layers", 1),
        ("bias", True),
        ("batch_first", False),
        ("dropout", 0.0),
        ("bidirectional", False),
    )

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_device(device)
        self._check(input_size, hidden_size, num_layers, dropout, proj_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        for layer, names in enumerate(self._names()):
            for name in names:
                shape = self._shape(name.split("_l")[0], layer // (2 if bidirectional else 1))
                self.register_parameter(name, parameter(*shape, dtype=dtype))
        self.reset_parameters()

    def _check(self, input_size: int, hidden_size: int, num_layers: int, dropout: float, proj_size: int) -> None:
        own = type(self).__name__
        check_sizes(self, 1, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(f"{own}: dropout must be a number between 0 and 1, got {dropout!r}")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(
                f"{own}: proj_size must be at least 0 and below hidden_size {hidden_size}, got {proj_size}"
            )
        if dropout and num_layers == 1:
            level = 3 if type(self).__init__ is _Recurrent.__init__ else 4  # the user's line
            warnings.warn(f"{own}: dropout works between layers, and there is only one", stacklevel=level)

    def _has(self, kind: str) -> bool:
        return self.proj_size > 0 if kind == "weight_hr" else self.bias or not kind.startswith("bias")

    def _shape(self, kind: str, layer: int) -> tuple[int, ...]:
        state, width = self.proj_size or self.hidden_size, self.gates * self.hidden_size
        below = state * (2 if self.bidirectional else 1) if layer else self.input_size
        shapes = {"weight_ih": (width, below), "weight_hh": (width, state), "weight_hr": (state, self.hidden_size)}
        return shapes.get(kind, (width,))

    def _names(self) -> list[list[str]]:
        """The names of the parameters of each layer and direction."""
        ends = ("", "_reverse") if self.bidirectional else ("",)
        kinds = [kind for kind in _KINDS if self._has(kind)]
        return [[f"{kind}_l{layer}{end}" for kind in kinds] for layer in range(self.num_layers) for end in ends]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names()]

    def flatten_parameters(self) -> None:
        """Nothing to do here: it is there for programs that call it."""

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self._parameters.values():
            init.uniform_(weight, -bound, bound)

    def _values(self, input: Any, states: Any) -> tuple[Any, ...]:
        """What the op of the layer is called with."""
        weights = [weight for weights in self.all_weights for weight in weights]
        how = (self.num_layers, self.dropout, self.training, self.bidirectional, self.batch_first)
        return (input, states, weights, *how)

    def _arguments(self) -> dict[str, Any]:
        """What to build another one with."""
        return {"input_size": self.input_size, "hidden_size": self.hidden_size} | {
            name: getattr(self, name) for name, usual in self.settings if getattr(self, name) != usual
        }

    def extra_repr(self) -> str:
        """Sizes, and what differs from the usual."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in self.settings:
            value = getattr(self, name)
            text += "" if value == usual else f", {name}={value}"
        return text


_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


class RNN(_Recurrent):
    """Plain cells: h = tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh), or relu in place of tanh.

    Called as `rnn(input, h_0=zeros)`; gives (output, h_n).
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _check_nonlinearity("RNN", nonlinearity)
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "nonlinearity": self.nonlinearity}

    def forward(self, input: Any, hx: Any = None) -> Any:
        """All outputs of the last layer, and the last state of every layer and direction."""
        found = ops.rnn(*self._values(input, None if hx is None else [hx]), self.nonlinearity)
        return found[0], found[1]


class LSTM(_Recurrent):
    """Cells with a memory (Hochreiter and Schmidhuber, 1997), behind input, forget and output gates.

    Called as `lstm(input, (h_0, c_0)=zeros)`; gives (output, (h_n, c_n)). With `proj_size` states are projected.
    """

    gates = 4

    def forward(self, input: Any, hx: Any = None) -> Any:
        """All outputs of the last layer, and the last state and cell of every layer and direction."""
        if isinstance(hx, (list, tuple)) and len(hx) != 2:
            raise TypeError(f"LSTM: expected two first states (h_0, c_0), got {len(hx)}")
        found = ops.lstm(*self._values(input, hx))
        return found[0], (found[1], found[2])


class GRU(_Recurrent):
    """Cells with a reset and an update gate (Cho et al., 2014).

    Called as `gru(input, h_0=zeros)`; gives (output, h_n).
    """

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )

    def forward(self, input: Any, hx: Any = None) -> Any:
        """All outputs of the last layer, and the last state of every layer and direction."""
        found = ops.gru(*self._values(input, None if hx is None else [hx]))
        return found[0], found[1]


class _Cell(Module):
    """One step of a recurrent layer: input (batch, features) or (features,), states alike."""

    gates: ClassVar[int]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        check_device(device)
        check_sizes(self, input_size=input_size, hidden_size=hidden_size)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        width = self.gates * hidden_size
        self.weight_ih = parameter(width, input_size, dtype=dtype)
        self.weight_hh = parameter(width, hidden_size, dtype=dtype)
        self.register_parameter("bias_ih", parameter(width, dtype=dtype) if bias else None)
        self.register_parameter("bias_hh", parameter(width, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0.0
        for weight in self._parameters.values():
            if weight is not None:
                init.uniform_(weight, -bound, bound)

    def _arguments(self) -> dict[str, Any]:
        """What to build another one with."""
        return {"input_size": self.input_size, "hidden_size": self.hidden_size, "bias": self.bias}

    def _weights(self) -> list[Any]:
        biases = [self.bias_ih, self.bias_hh] if self.bias else []
        return [self.weight_ih, self.weight_hh, *biases]

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """One plain cell; `cell(input, h=zeros)` gives the next h."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _check_nonlinearity("RNNCell", nonlinearity)
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def _arguments(self) -> dict[str, Any]:
        return {**super()._arguments(), "nonlinearity": self.nonlinearity}

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        return ops.rnn_cell(input, hx, self._weights(), self.nonlinearity)

    def extra_repr(self) -> str:
        """Sizes, and the nonlinearity where it is not tanh."""
        return super().extra_repr() + ("" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}")


class LSTMCell(_Cell):
    """One LSTM cell; `cell(input, (h, c)=zeros)` gives the next (h, c)."""

    gates = 4

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state and the next cell."""
        found = ops.lstm_cell(input, hx, self._weights())
        return found[0], found[1]


class GRUCell(_Cell):
    """One GRU cell; `cell(input, h=zeros)` gives the next h."""

    gates = 3

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state."""
        return ops.gru_cell(input, hx, self._weights())


def _check_nonlinearity(name: str, nonlinearity: str) -> None:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"{name}: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
