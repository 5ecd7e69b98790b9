"""`Module`: parameters, buffers and submodules under names, with a `forward`; torch.nn.Module's everyday behaviour.

A value is a parameter when its class says so (`_is_parameter = True`), so this file knows no tensor class. Tracing
needs no patching: a call, and a read of anything registered, goes to the tracer of the current context if there is one.

    class Scale(Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = Parameter(factor)      # registered: named_parameters(), state_dict(), …
        def forward(self, x):
            return x * self.factor
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from weft import _hooks
from weft._casting import check_device, wanted_dtype
from weft._frames import hide_frames
from weft._hooks import HookHandle, add_hook
from weft._state import LoadReport, check_mapping, fill, misfit, mismatch_message
from weft._state import as_array as as_array
from weft._tracing import current_recorder, current_tracer
from weft._where import located
from weft.errors import StateError

Self = TypeVar("Self", bound="Module")

KINDS = ("_modules", "_parameters", "_buffers")
"""Where a module holds its parts: most reads are of submodules."""


class Module:
    """Base class of everything with parameters: assign them, and submodules, as attributes; define `forward`."""

    _is_container = False  # True where the module only holds others: tracing goes into it rather than stopping at it
    _fixed_when_traced: tuple[str, ...] = ()  # parameters of `forward` that decide what the root of a trace does

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Module | None]
    _non_persistent_buffers: set[str]
    _forward_hooks: dict[int, tuple[Callable[..., Any], bool, bool]]  # hook, with_kwargs, always_call
    _forward_pre_hooks: dict[int, tuple[Callable[..., Any], bool]]  # hook, with_kwargs

    def __init__(self) -> None:
        # Straight into __dict__: assigning would ask __setattr__, which needs these to exist.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _modules={},
            _non_persistent_buffers=set(),
            _forward_hooks={},
            _forward_pre_hooks={},
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; every subclass defines its own."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward()")

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = current_tracer.get()
        if tracer is not None:
            return tracer.call_module(self, self._call, args, kwargs)
        try:
            return self._call(*args, **kwargs)
        except Exception as error:
            hide_frames(located(error))
            raise

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        """`forward` with the hooks around it."""
        if not self._forward_hooks and not self._forward_pre_hooks:
            return self.forward(*args, **kwargs)
        result = None
        done = set()
        try:
            for hook, with_kwargs in list(self._forward_pre_hooks.values()):
                args, kwargs = _before(hook, with_kwargs, self, args, kwargs)
            result = self.forward(*args, **kwargs)
            for key, (hook, with_kwargs, _) in list(self._forward_hooks.items()):
                done.add(key)
                changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
                result = result if changed is None else changed
        except Exception:  # whatever it is, it is raised again after the hooks that want to be called in any case
            for key, (hook, with_kwargs, always) in list(self._forward_hooks.items()):
                if always and key not in done:
                    _ = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            raise
        return result

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """Call `hook(module, args, result)` after every `forward`; what it returns, if not None, becomes the result."""
        return add_hook(self._forward_hooks, (hook, with_kwargs, always_call), prepend)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook(module, args)` before every `forward`; what it returns, if not None, becomes the arguments."""
        return add_hook(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Call `hook(module, grad_input, grad_output)` in backward; what it returns, if not None, is `grad_input`."""
        return _hooks.full_backward_hook(self, hook, prepend)

    # Attributes

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for kind in KINDS:
            held = own.get(kind)
            if held is not None and name in held:
                value = held[name]
                tracer = current_tracer.get()
                return value if tracer is None else tracer.module_getattr(self, name, value)
        if name in Module.__annotations__ and "_modules" not in own:
            raise AttributeError(_no_init(self), name=name, obj=self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Module):
            self._claim(name, "_modules")[name] = value
        elif is_parameter(value):
            self._claim(name, "_parameters")[name] = value
        elif "_modules" not in own:
            super().__setattr__(name, value)
        elif name in own["_buffers"]:
            self._buffers[name] = _checked(name, value, "a buffer", _is_array)
        elif name in own["_parameters"]:
            self._parameters[name] = _checked(name, value, "a Parameter", is_parameter)
        elif name in own["_modules"]:
            self._modules[name] = _checked(name, value, "a Module", lambda v: isinstance(v, Module))
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        for kind in KINDS:
            if name in self.__dict__[kind]:
                del self.__dict__[kind][name]
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _claim(self, name: str, kind: str) -> dict[str, Any]:
        """The dict that is to hold `name`, after taking the name out of every other place."""
        own = self.__dict__
        if kind not in own:
            raise AttributeError(f"cannot assign {name!r}: {_no_init(self)}", name=name, obj=self)
        for place in (own, *(own[other] for other in KINDS if other != kind)):
            place.pop(name, None)
        self._non_persistent_buffers.discard(name)
        held: dict[str, Any] = own[kind]
        return held

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter under a name; None marks a parameter that is absent, such as a bias left out."""
        self._check_new(name, "_parameters")
        if param is not None and not is_parameter(param):
            raise TypeError(f"register_parameter: {name!r} must be a Parameter or None, got {type(param).__name__}")
        self._claim(name, "_parameters")[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add an array that is state but not a parameter; a non-persistent one stays out of `state_dict`."""
        self._check_new(name, "_buffers")
        if tensor is not None and not _is_array(tensor):
            raise TypeError(f"register_buffer: {name!r} must be an array or None, got {type(tensor).__name__}")
        self._claim(name, "_buffers")[name] = tensor
        if not persistent:
            self._non_persistent_buffers.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name."""
        self._check_new(name, "_modules")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"add_module: {name!r} must be a Module or None, got {type(module).__name__}; "
                "a function is called in forward(), or has a layer, such as nn.ReLU()"
            )
        self._claim(name, "_modules")[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _check_new(self, name: str, kind: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name must be a string, got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"the name {name!r} must not be empty and must not contain a dot")
        if name not in self.__dict__.get(kind, ()) and hasattr(self, name):
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already")

    # Walking the tree

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """The module itself and every one below it, with dotted names; a module shared under two names comes once."""
        memo = set() if memo is None else memo
        waiting: list[tuple[str, Module]] = [(prefix, self)]
        while waiting:
            path, module = waiting.pop()
            if remove_duplicate:
                if id(module) in memo:
                    continue
                memo.add(id(module))
            yield path, module
            start = f"{path}." if path else ""
            waiting += [(start + name, child) for name, child in reversed(module._modules.items()) if child is not None]

    def modules(self) -> Iterator[Module]:
        """The module itself and every one below it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The direct submodules, each once."""
        seen: set[int] = set()
        for name, child in self._modules.items():
            if child is not None and id(child) not in seen:
                seen.add(id(child))
                yield name, child

    def children(self) -> Iterator[Module]:
        """The direct submodules, each once, without names."""
        return (child for _, child in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Every parameter with its dotted name; a shared one comes once."""
        return self._read("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Every parameter, each once."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Every buffer with its dotted name; a shared one comes once."""
        return self._read("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """Every buffer, each once."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def _read(self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        """What the program is to see of them: for a tracer, this is a read of each."""
        for name, value in self._named(kind, prefix, recurse, remove_duplicate):
            tracer = current_tracer.get()
            yield name, value if tracer is None else tracer.module_getattr(self, name, value)

    def _named(self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in getattr(module, kind).items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def get_submodule(self, target: str) -> Module:
        """The submodule under a dotted name; the module itself under the empty one."""
        found: Any = self
        for part in target.split(".") if target else ():
            child = found.__dict__["_modules"].get(part)
            if child is None:
                where = type(found).__name__
                raise AttributeError(
                    f"get_submodule({target!r}): {where} has no submodule {part!r}", name=part, obj=found
                )
            found = child
        return found  # type: ignore[no-any-return]  # only modules are reached

    def get_parameter(self, target: str) -> Any:
        """The parameter under a dotted name."""
        return self._get("get_parameter", "_parameters", target)

    def get_buffer(self, target: str) -> Any:
        """The buffer under a dotted name."""
        return self._get("get_buffer", "_buffers", target)

    def _get(self, verb: str, kind: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if name not in owner.__dict__[kind]:
            what = kind.strip("_").removesuffix("s")
            raise AttributeError(
                f"{verb}({target!r}): {type(owner).__name__} has no {what} {name!r}", name=name, obj=owner
            )
        return owner.__dict__[kind][name]

    def num_parameters(self, trainable_only: bool = False) -> int:
        """How many numbers the parameters hold, shared ones counted once."""
        every = (p for _, p in self._named("_parameters", "", True, True))
        return sum(int(np.prod(p.shape)) for p in every if not trainable_only or p.requires_grad)

    # State

    def state_dict(self, destination: dict[str, Any] | None = None, prefix: str = "") -> dict[str, Any]:
        """Every parameter and persistent buffer by dotted name, sharing memory with the module."""
        result = {} if destination is None else destination
        for path, module in self.named_modules(prefix=prefix.removesuffix("."), remove_duplicate=False):
            for name, value in (*module._parameters.items(), *module._buffers.items()):
                if value is not None and name not in module._non_persistent_buffers:
                    result[f"{path}.{name}" if path else name] = value.detach() if hasattr(value, "detach") else value
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> LoadReport:
        """Copy values into the parameters and buffers of the same names (`assign` keeps the values' own dtype).

        What does not fit is reported all at once, and then nothing is changed. With `strict=False` names that are
        missing or unexpected are returned instead; a shape that differs is an error even then.
        """
        check_mapping(state_dict)
        places = {}
        for path, module in self.named_modules(remove_duplicate=False):
            for kind in ("_parameters", "_buffers"):
                for name, value in module.__dict__[kind].items():
                    if value is not None and name not in module._non_persistent_buffers:
                        places[f"{path}.{name}" if path else name] = (module, kind, name, value)
        report = LoadReport([n for n in places if n not in state_dict], [n for n in state_dict if n not in places])
        found = {name: as_array(state_dict[name]) for name in places if name in state_dict}
        wrong = [text for name, new in found.items() if (text := misfit(name, places[name][3], new)) is not None]
        if wrong or (strict and (report.missing_keys or report.unexpected_keys)):
            raise StateError(mismatch_message(type(self).__name__, report if strict else LoadReport([], []), wrong))
        for name, new in found.items():
            module, kind, attribute, old = places[name]
            module.__dict__[kind][attribute] = fill(old, new, keep_dtype=not assign)
        return report

    def to(self: Self, *args: Any, dtype: Any = None, device: Any = None) -> Self:
        """Cast the floating-point and complex parameters and buffers, in place, to a dtype; "cpu" is where they are."""
        wanted = wanted_dtype("Module.to", args, dtype, device)
        if wanted is None:
            return self
        if wanted.kind not in "fc":
            raise TypeError(f"Module.to: only floating-point and complex dtypes are possible, got {wanted}")
        for module in self.modules():
            for held in (module._parameters, module._buffers):
                for name, value in held.items():
                    if value is not None and np.dtype(value.dtype).kind in "fc":
                        held[name] = fill(value, as_array(value).astype(wanted), keep_dtype=False)
        return self

    def float(self: Self) -> Self:
        """Cast to float32."""
        return self.to(np.float32)

    def double(self: Self) -> Self:
        """Cast to float64."""
        return self.to(np.float64)

    def half(self: Self) -> Self:
        """Cast to float16."""
        return self.to(np.float16)

    def cpu(self: Self) -> Self:
        """The module itself: the CPU is where it is."""
        return self

    def cuda(self, device: Any = None) -> None:
        """Refused: there is no such device."""
        check_device(type(self).__name__, "cuda")

    def train(self: Self, mode: bool = True) -> Self:
        """Set training mode for this module and all below; dropout and batch normalisation ask for it."""
        if not isinstance(mode, bool):
            raise TypeError(f"train: mode must be True or False, got {mode!r}")
        recorder = current_recorder.get()
        if recorder is not None and recorder.training.set_mode(self, mode):
            return self
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self: Self) -> Self:
        """Set evaluation mode: `train(False)`."""
        return self.train(False)

    def apply(self: Self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` on every submodule and then on this module."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Say whether gradients are wanted for the parameters."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        recorder = current_recorder.get()
        if recorder is not None:
            recorder.training.zero_all(self.parameters(), set_to_none)
            return
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else parameter.grad * 0

    # Text

    def extra_repr(self) -> str:
        """What to show between the parentheses of the module's repr."""
        return ""

    def _repr_children(self) -> list[tuple[str, str]]:
        """Label and text of each submodule."""
        return [(name, repr(child)) for name, child in self._modules.items()]

    def __repr__(self) -> str:
        extra = self.extra_repr()
        name = self._get_name()
        children = [f"({label}): " + text.replace("\n", "\n  ") for label, text in self._repr_children()]
        if not children and "\n" not in extra:
            return f"{name}({extra}){self._count()}"
        lines = [line for line in extra.split("\n") if line] + children
        return f"{name}({self._count()}\n" + "".join(f"  {line}\n" for line in lines) + ")"

    def _count(self) -> str:
        """How many numbers the parameters hold, as a comment to the module's line of text."""
        total, trainable = self.num_parameters(), self.num_parameters(trainable_only=True)
        if not total:
            return ""
        text = f"  # {total:,} parameter{'' if total == 1 else 's'}"
        return text if trainable == total else f"{text}, {f'{trainable:,}' if trainable else 'none'} trainable"

    def _get_name(self) -> str:
        return type(self).__name__


def is_parameter(value: Any) -> bool:
    """Whether a value's class declares itself a parameter."""
    return getattr(type(value), "_is_parameter", False)


def _is_array(value: Any) -> bool:
    # A proxy has any attribute it is asked for; kept as a buffer, it would outlive the trace it belongs to.
    return hasattr(value, "dtype") and hasattr(value, "shape") and not getattr(type(value), "_is_proxy", False)


def _before(hook: Callable[..., Any], with_kwargs: bool, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments after a pre-hook has seen them."""
    changed = hook(module, args, kwargs) if with_kwargs else hook(module, args)
    if changed is None:
        return args, kwargs
    if not with_kwargs:
        return (changed if isinstance(changed, tuple) else (changed,)), kwargs
    if isinstance(changed, tuple) and len(changed) == 2:
        return changed
    raise RuntimeError(f"a forward pre-hook with kwargs must return None or (args, kwargs), got {changed!r}")


def _no_init(module: Module) -> str:
    return f"{type(module).__name__} has not called super().__init__() yet; call it first in __init__"


def _checked(name: str, value: Any, wanted: str, fits: Callable[[Any], bool]) -> Any:
    if value is not None and not fits(value):
        how = "; write nn.Parameter(...)" if wanted == "a Parameter" else ""
        raise TypeError(f"cannot assign {type(value).__name__} to {name!r}: {wanted} or None is expected{how}")
    return value


@contextmanager
def exchanged(module: Module, values: Any, strict: bool = False) -> Iterator[None]:
    """Let a module have other parameters and buffers meanwhile, given by dotted name (or several such dicts)."""
    given: dict[str, Any] = {}
    for part in values if isinstance(values, (tuple, list)) else (values,):
        given.update(part)
    held = {**dict(module._named("_parameters", "", True, False)), **dict(module._named("_buffers", "", True, False))}
    if unknown := [name for name in given if name not in held]:
        raise KeyError(f"functional_call: {type(module).__name__} has no parameter or buffer {unknown[0]!r}")
    if strict and (missing := [name for name in held if name not in given]):
        raise KeyError(f"functional_call: no value is given for {missing[0]!r}")
    before = []
    try:
        for name, value in given.items():
            for other in [key for key, each in held.items() if each is held[name]]:  # what is shared stays so
                path, _, last = other.rpartition(".")
                owner = module.get_submodule(path)
                place = owner._parameters if last in owner._parameters else owner._buffers
                before.append((place, last, place[last]))
                place[last] = value
        yield
    finally:
        for place, last, value in reversed(before):
            place[last] = value


def functional_call(
    module: Module, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *, strict: bool = False
) -> Any:
    """Call a module with other parameters and buffers, given by dotted name; those of its own stay as they are.

    Gradients go to what is given, so that `weft.grad` of a function of the parameters is that of the module.

    >>> import numpy as np
    >>> from weft import nn
    >>> layer = nn.Linear(2, 1, bias=False)
    >>> functional_call(layer, {"weight": np.array([[2.0, 3.0]])}, np.array([1.0, 10.0]))
    array([32.])
    """
    values = () if args is None else args if isinstance(args, tuple) else (args,)
    with exchanged(module, parameters_and_buffers, strict):
        return module(*values, **(kwargs or {}))
