"""`Optimizer`: parameters in groups, each with its own options, and what an algorithm remembers of each parameter.

A subclass says how one parameter is changed; the loop over parameters is here:

    class Descent(Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, {"lr": lr})

        def _update(self, parameter, state, group):
            for p, g, t in blocks(parameter, scratch=1):
                np.multiply(g, float(group["lr"]), out=t)
                np.subtract(p, t, out=p)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from weft._module import Module
from weft._tracing import current_recorder
from weft.autograd import Tensor, enable_grad
from weft.errors import DtypeError, ShapeError, StateError
from weft.optim._state import load, pack

Group = dict[str, Any]


class Optimizer:
    """Base of all optimisers: it changes parameters in place, by the gradients that `backward` left in them.

    `params` is an iterable of tensors, of (name, tensor) pairs, or of dicts with "params" and options of their own.
    """

    _buffers: frozenset[str] = frozenset()  # state that has its parameter's shape
    __weft_outside__ = frozenset({"state_dict", "load_state_dict", "add_param_group"})  # not in captured programs
    _remembers: frozenset[str] | None = None  # every name a state may hold; None where anything may stand there

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = self._listed(params)
        if not groups:
            raise ValueError(f"{self._name}: there are no parameters to optimise")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; a `closure` is called first, and its loss returned."""
        recorder = current_recorder.get()
        if recorder is not None:
            return recorder.training.step(self, closure)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        # Everything is looked at before anything is changed.
        ready = list(self._ready())
        for parameter, _ in ready:
            self._check(parameter)
        for parameter, group in ready:
            state = self.state[parameter]
            self._prepare(parameter, state, group)
            self._update(parameter, state, group)
        return loss

    def _prepare(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        """Begin what is remembered of a parameter, where it is missing; what is not begun here, `_update` begins."""

    def _update(self, parameter: Tensor, state: dict[str, Any], group: Group) -> None:
        """Change one parameter by its gradient; subclasses define this, or `step` as a whole."""
        raise NotImplementedError(f"{self._name} defines neither step() nor _update()")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        recorder = current_recorder.get()
        if recorder is not None:
            recorder.training.zero_grad(self, set_to_none)
            return
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none or parameter.grad is None:
                    parameter.grad = None
                elif parameter.grad.requires_grad:
                    parameter.grad = Tensor(np.zeros_like(parameter.grad.numpy()))
                else:
                    # New memory, not zeros written over the old: two gradients may share theirs.
                    parameter.grad.data = np.zeros_like(parameter.grad.numpy())

    # Groups

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Add parameters with options of their own; options that are not given are the optimiser's defaults."""
        self._not_captured("an optimiser that gets parameters")
        if not isinstance(param_group, Mapping):
            raise TypeError(f"{self._name}: a parameter group is a dict, got {type(param_group).__name__}")
        if "params" not in param_group:
            raise ValueError(f"{self._name}: a parameter group needs 'params', got {sorted(param_group)}")
        given = param_group["params"]
        parameters = [given] if isinstance(given, Tensor) else self._listed(given)
        group: Group = {**param_group, "params": parameters}
        if any(isinstance(one, tuple) for one in parameters):
            group["param_names"], group["params"] = self._named(parameters)
        if self.param_groups and ("param_names" in group) != ("param_names" in self.param_groups[0]):
            raise ValueError(f"{self._name}: either all parameter groups have names or none has")
        self._check_parameters(group["params"])
        group |= {name: value for name, value in self.defaults.items() if name not in group}
        self._check_options(group)
        self.param_groups.append(group)

    def _check_options(self, group: Group) -> None:
        """Raise ValueError for options that make no sense."""

    def _check_parameters(self, parameters: list[Any]) -> None:
        seen = {id(held) for group in self.param_groups for held in group["params"]}
        for one in parameters:
            if not isinstance(one, Tensor):
                help = "\n  help: give its parameters: model.parameters()" if isinstance(one, Module) else ""
                raise TypeError(f"{self._name}: only tensors can be optimised, got {type(one).__name__}{help}")
            if one.dtype.kind not in "fc":
                raise TypeError(f"{self._name}: only floating-point and complex tensors can be optimised: {one.dtype}")
            if not one.is_leaf:
                raise ValueError(f"{self._name}: a computed tensor cannot be optimised, only a leaf")
            if id(one) in seen:
                raise ValueError(f"{self._name}: a parameter of shape {one.shape} is given twice")
            seen.add(id(one))

    def _listed(self, params: Any) -> list[Any]:
        if isinstance(params, Tensor):
            raise TypeError(f"{self._name}: params is an iterable of tensors or dicts, got one tensor; write [tensor]")
        if isinstance(params, (set, frozenset)):
            raise TypeError(f"{self._name}: a set has no order, and state is kept by position; give a list")
        if isinstance(params, Mapping) or not isinstance(params, Iterable):
            how = "; write model.parameters()" if callable(params) else ""
            raise TypeError(
                f"{self._name}: params is an iterable of tensors or dicts, got {type(params).__name__}{how}"
            )
        return list(params)

    def _named(self, pairs: list[Any]) -> tuple[list[str], list[Any]]:
        if not all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
            raise ValueError(f"{self._name}: either all parameters are (name, tensor) pairs or none is")
        return [name for name, _ in pairs], [value for _, value in pairs]

    def _not_captured(self, what: str) -> None:
        """Refuse what would happen once, when a program is captured."""
        recorder = current_recorder.get()
        if recorder is not None:
            recorder.refuse(f"{self._name}: {what}", help="do it outside of the captured function")

    # What a step needs

    def _ready(self) -> Iterator[tuple[Tensor, Group]]:
        """The parameters that have gradients, with their groups."""
        return ((p, group) for group in self.param_groups for p in group["params"] if p.grad is not None)

    def _check(self, parameter: Tensor) -> None:
        """Refuse a gradient or a state that does not fit its parameter."""
        array, gradient = parameter.numpy(), parameter.grad.numpy()  # type: ignore[union-attr]  # _ready has looked
        if gradient.shape != array.shape:
            message = f"{self._name}: a gradient of shape {gradient.shape} for a parameter of shape {array.shape}"
            raise ShapeError(message)
        if gradient.dtype.kind not in ("f" if array.dtype.kind == "f" else "fc"):
            raise DtypeError(f"{self._name}: a gradient of {gradient.dtype} for a parameter of {array.dtype}")
        for name, kept in self.state.get(parameter, {}).items():
            if name in self._buffers and kept is not None and kept.shape != array.shape:
                raise StateError(
                    f"{self._name}: {name} has shape {kept.shape}, its parameter now has {array.shape}",
                    help="make a new optimiser after changing the shape of a parameter",
                )

    # State

    def state_dict(self) -> dict[str, Any]:
        """State and options, with numbers in place of parameters: {"state": {0: …}, "param_groups": […]}.

        Tensors in it share memory with the optimiser; the next step changes them.
        """
        return pack(self.state, self.param_groups)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over a copy of what `state_dict` gave; what does not fit is reported whole, and nothing is changed."""
        self._not_captured("an optimiser that loads its state")
        groups, state = load(self, state_dict)
        self.param_groups, self.state = groups, state

    def _check_state(self, number: int, parameter: Tensor, entry: Mapping[str, Any]) -> list[str]:
        """What is wrong with a loaded state of one parameter, in words."""
        wrong = []
        strange = sorted(set(entry) - self._remembers) if self._remembers is not None else []
        if strange:
            wrong.append(f"state {number}: {', '.join(map(repr, strange))} is not what {self._name} remembers")
        for name in sorted(name for name in self._buffers if entry.get(name) is not None):
            shape = tuple(getattr(entry[name], "shape", ()))
            if shape != parameter.shape:
                wrong.append(f"state {number}: {name!r} has shape {shape}, its parameter has {parameter.shape}")
        return wrong

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": dict(self.state), "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.state = defaultdict(dict, state["state"])

    @property
    def _name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])
