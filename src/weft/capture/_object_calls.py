"""Functions of Python's that read or change attributes by name: `getattr`, `setattr`, `vars`, `__dict__` and their kin.

They mean what the statements mean. A `__dict__` is a dict of the present attributes; to change that is to change them.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft._module import Module
from weft._objects import dict_of, of_class
from weft.autograd import Tensor
from weft.capture._state_places import is_own, is_own_module
from weft.capture._values import Traced, Undefined

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_SLOTS = (types.WrapperDescriptorType, types.MethodWrapperType)
_NONE: Any = object()
_NOT_THERE: Any = object()


def object_call(
    recorder: Recorder, function: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any] | None:
    """The result of such a call; None of any other."""
    rule: Any = _RULES.get(function) if function.__class__ is types.BuiltinFunctionType else None
    if rule is None and isinstance(function, _SLOTS):
        rule = _SPECIAL.get(function.__name__)
        if rule is not None and isinstance(function, types.MethodWrapperType):
            args = (owner, *args)
    if rule is None and function is vars:
        rule = _vars
    if rule is None:
        whose = recorder.state.dicts.get(id(owner))
        return None if whose is None else _of_dict(recorder, function, whose[0], whose[1], args, kwargs)
    if kwargs or not args or isinstance(args[0], Traced):
        return None
    return rule(recorder, *args)  # type: ignore[no-any-return]  # each says what it gives


def own_dict(recorder: Recorder, owner: Any) -> dict[str, Any]:
    """`owner.__dict__`: a dict of what there is now."""
    state = recorder.state
    for name in recorder.touched.attributes:
        recorder.touched.check_attribute(owner, name)
    recorder.touched.check_missing(owner, ".__dict__")
    home = recorder._home(owner)
    if home is not None and id(owner) not in state.owners:
        home.made.add(id(owner.__dict__))
        home.kept.append(owner.__dict__)
        state.dicts[id(owner.__dict__)] = (owner.__dict__, owner)
        return owner.__dict__  # type: ignore[no-any-return]  # a dict
    if not state.may_have(owner) or state.known is None:
        return recorder.attribute(owner, "__dict__")  # type: ignore[no-any-return]  # a dict
    recorder.reads.keys(owner)
    made = {name: recorder.attribute(owner, name) for name in owner.__dict__}
    recorder.made(made)
    state.dicts[id(made)] = (made, owner)
    return made


def set_in_dict(recorder: Recorder, mapping: Any, key: Any, value: Any) -> bool:
    """`owner.__dict__[key] = value`; False of another dict."""
    found = recorder.state.dicts.get(id(mapping))
    if found is None:
        return False
    recorder.reads.made(value)
    if not recorder.state.set(found[1], key, value):
        recorder.change_place(found[1], key, f".{key}")
    mapping[key] = recorder.hooks.held(value)
    return True


def update_dict(recorder: Recorder, mapping: Any, other: Any) -> bool:
    """`owner.__dict__ |= other`; False of another dict."""
    if id(mapping) not in recorder.state.dicts:
        return False
    for key, value in dict(other).items():
        set_in_dict(recorder, mapping, key, value)
    return True


def delete_in_dict(recorder: Recorder, mapping: Any, key: Any) -> bool:
    """`del owner.__dict__[key]`; False of another dict."""
    found = recorder.state.dicts.get(id(mapping))
    if found is None:
        return False
    del mapping[key]
    if not recorder.state.delete(found[1], key):
        recorder.change_object(found[1], f"del .{key}")
    return True


def _of_dict(
    recorder: Recorder, function: Any, mapping: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any] | None:
    name = function.__name__
    if name == "update":
        update_dict(recorder, mapping, {**dict(*args), **kwargs})
        return (None,)
    if name == "setdefault":
        if args[0] not in mapping:
            set_in_dict(recorder, mapping, args[0], args[1] if len(args) > 1 else None)
        return (mapping[args[0]],)
    if name == "pop":
        if args[0] not in mapping and len(args) > 1:
            return (args[1],)
        value = mapping[args[0]]
        delete_in_dict(recorder, mapping, args[0])
        return (value,)
    if name in ("clear", "popitem"):
        recorder.refuse(f".{name}() of the __dict__ of a {type(owner).__name__}", help="delete the attributes by name")
    return None


def _is_plain(recorder: Recorder, owner: Any, name: Any) -> bool:
    """Whether an attribute is one that is read as `owner.name` is."""
    return isinstance(name, str) and not isinstance(owner, Traced)


def _missing(recorder: Recorder, owner: Any, name: str) -> bool:
    """Whether there is no such attribute, which the graph then takes for granted."""
    state = recorder.state
    recorder.touched.check_attribute(owner, name)
    if not hasattr(owner, name):
        recorder.touched.check_missing(owner, f".{name}")
    readable = state.may_have(owner) or (isinstance(owner, types.ModuleType) and is_own_module(owner.__name__))
    if (id(owner), name) in state.written or (id(owner), name) in state.inputs or not readable:
        return not hasattr(owner, name)
    if hasattr(owner, name):
        if not hasattr(type(owner), name):
            recorder.reads.present(owner, name)
        return False
    recorder.reads.missing(owner, name)
    return True


def _getattr(recorder: Recorder, owner: Any, name: Any, default: Any = _NONE) -> tuple[Any] | None:
    if not _is_plain(recorder, owner, name):
        return None
    if default is not _NONE and recorder.reads.computing(owner, name) is not None:
        try:
            return (recorder.attribute(owner, name),)
        except AttributeError:
            return (default,)
    if default is not _NONE and _missing(recorder, owner, name):
        return (default,)
    value = recorder.attribute(owner, name)
    return None if isinstance(value, Undefined) else (value,)


def _hasattr(recorder: Recorder, owner: Any, name: Any) -> tuple[Any] | None:
    if not _is_plain(recorder, owner, name) or isinstance((dict_of(owner) or {}).get(name), Undefined):
        return None
    if recorder.reads.computing(owner, name) is not None:  # Python runs it, to see whether it raises
        found: Any = _getattr(recorder, owner, name, _NOT_THERE)
        return (found[0] is not _NOT_THERE,)
    return (not _missing(recorder, owner, name),)


def _setattr(recorder: Recorder, owner: Any, name: Any, value: Any) -> tuple[Any] | None:
    if not _is_plain(recorder, owner, name):
        return None
    recorder.set_attribute(owner, name, value)
    return (None,)


def by_class(recorder: Recorder, owner: Any, name: str, special: str, *value: Any) -> bool:
    """Assign or delete an attribute as the class of an object says, by a descriptor of its own; False where none does.

    `special` is the name that the method of a descriptor has for that.
    """
    found = of_class(type(owner), name)
    if isinstance(owner, (type, Module, Tensor)) or found is None:
        return False
    if isinstance(found, property):
        function = found.fset if value else found.fdel
        if function is None:
            getattr(object, "__setattr__" if value else "__delattr__")(owner, name, *value)  # raises
        if isinstance(function, types.FunctionType) and is_own(function):
            recorder.run(function, (owner, *value), {})
            return True
    method = getattr(type(found), special, None)
    if isinstance(method, types.FunctionType) and is_own(method):
        recorder.run(method, (found, owner, *value), {})
        return True
    return False


def by_method(recorder: Recorder, owner: Any, name: str, special: str, *value: Any) -> bool:
    """The same by `__setattr__` or `__delattr__` of the class, and else by a descriptor."""
    method = None if isinstance(owner, (type, Module, Tensor)) else getattr(type(owner), special)
    if isinstance(method, types.FunctionType) and is_own(method) and method.__code__.co_filename != "<string>":
        recorder.run(method, (owner, name, *value), {})
        return True
    if isinstance(method, types.WrapperDescriptorType) and method.__name__ in _OF_ITEMS:  # as `dict.__setitem__` is
        _OF_ITEMS[method.__name__](recorder.hooks, owner, name, *value)
        return True
    return by_class(recorder, owner, name, "__set__" if value else "__delete__", *value)


_OF_ITEMS: dict[str, Callable[..., Any]] = {
    "__setitem__": lambda hooks, owner, name, value: hooks.setitem(owner, name, value),
    "__delitem__": lambda hooks, owner, name: hooks.delitem(owner, name),
}


def _delattr(recorder: Recorder, owner: Any, name: Any) -> tuple[Any] | None:
    if not _is_plain(recorder, owner, name):
        return None
    recorder.hooks.delattr(owner, name)
    return (None,)


def _delete_plainly(recorder: Recorder, owner: Any, name: Any) -> tuple[Any] | None:
    """`object.__delattr__(owner, name)`."""
    if not by_class(recorder, owner, name, "__delete__") and not recorder.state.delete(owner, name):
        recorder.change_object(owner, f"del .{name}")
        object.__delattr__(owner, name)
    return (None,)


def _set_plainly(recorder: Recorder, owner: Any, name: Any, value: Any) -> tuple[Any] | None:
    """`object.__setattr__(owner, name, value)`."""
    if not by_class(recorder, owner, name, "__set__", value) and not recorder.state.set(owner, name, value):
        recorder.change_place(owner, name, f".{name}")
        recorder.reads.made(value)
        object.__setattr__(owner, name, value)
    return (None,)


def _vars(recorder: Recorder, owner: Any = _NONE) -> tuple[Any] | None:
    return None if owner is _NONE or dict_of(owner) is None else (own_dict(recorder, owner),)


_RULES: dict[Any, Callable[..., Any]] = {
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _setattr,
    delattr: _delattr,
    vars: _vars,
}
_SPECIAL: dict[str, Callable[..., Any]] = {
    "__setattr__": _set_plainly,
    "__delattr__": _delete_plainly,
    "__getattribute__": _getattr,
}
