"""Plain lists, dicts, sets and texts of a captured program, asked with a traced key or value.

A traced value has no hash that means anything: looked up in a dict it would be found nowhere. What is known in this
call decides under a guard; what is of unknown type is looked up when the graph runs; anything else is refused.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import Counter, OrderedDict, deque
from typing import TYPE_CHECKING, Any

from weft import pytree
from weft.capture._changes import uncaptured
from weft.capture._chosen import chosen, refuse_missing
from weft.capture._iterables import Collected, Items, RangeItems
from weft.capture._lists import GrownList, containers_in
from weft.capture._missing import is_there, whole
from weft.capture._once import take
from weft.capture._one_of import get_of_key, item_of_key, number_keys
from weft.capture._opaque import Opaque, is_opaque
from weft.capture._own_operators import between
from weft.capture._plain import COMPARISONS
from weft.capture._present import key_asked
from weft.capture._raising import RULES
from weft.capture._values import Array, Scalar, Traced, Undefined, is_traced
from weft.ops._dim import Dim, hint_of

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_BY_HASH: dict[Any, frozenset[str]] = {
    dict: frozenset({"get", "pop", "setdefault"}),
    set: frozenset({"add", "discard", "remove"}),
}


def get(mapping: Any, key: Any, default: Any = None) -> Any:
    """`mapping.get(key, default)`."""
    return mapping.get(key, default)


def merge(*parts: Any) -> dict[Any, Any]:
    """`{**a, **b}`."""
    made: dict[Any, Any] = {}
    for part in parts:
        made = {**made, **part}
    return made


def call_sequence(sequence: Any, method: str, *args: Any) -> int:
    """`sequence.index(*args)` or `sequence.count(*args)`."""
    if not isinstance(sequence, (list, tuple, deque)) or method not in ("index", "count"):
        raise ValueError(f"call_sequence: {method!r} of a {type(sequence).__name__}")
    return int(getattr(sequence, method)(*args))


RULES[id(call_sequence)] = lambda args, _: args[1] == "index"


def call_text(text: Any, method: str, *args: Any, **kwargs: Any) -> Any:
    """A method of a text: `text.method(*args)`."""
    if not isinstance(text, str) or method.startswith(("_", "format")):  # a graph from a file could name anything
        raise ValueError(f"call_text: {method!r} of a {type(text).__name__}")
    return getattr(text, method)(*args, **kwargs)


def item_of(recorder: Recorder, value: Any, key: Any) -> Any:
    """`value[key]` of a plain container, where the key is traced."""
    if is_opaque(key):
        if hasattr(value, "__missing__") and not isinstance(value, Counter):
            refuse_missing(recorder, value)
        known = isinstance(value, (list, tuple, dict, deque))
        return chosen(recorder, value, key, list(value.values() if isinstance(value, dict) else value) if known else [])
    if recorder.untyped and isinstance(value, (list, tuple)) and is_traced(key):
        if any(callable(part) and not isinstance(part, Traced) for part in value):
            recorder.refuse(
                f"a {type(value).__name__} of functions indexed by a traced value",
                help="loop over it with `for`, or choose with weft.switch",
            )
        return chosen(recorder, value, key, list(value))
    if isinstance(value, dict) and isinstance(key, Traced):
        keys = _open_keys(recorder, value, key)
        if keys is not None:
            return item_of_key(recorder, value, keys, key)
        return value[_key_in(recorder, value, key)]
    return value[key]


def join_lists(recorder: Recorder, sign: str, left: Any, right: Any) -> tuple[Any] | None:
    """`left + right` or `items * count`, where only running tells how long the result is; None for anything else."""
    lists = [isinstance(each, (list, Collected)) for each in (left, right)]
    parts = (left, right) if lists[0] else (right, left)
    count = parts[1] if sign == "*" and isinstance(parts[1], (int, Scalar)) else None
    if (sign == "+") is not all(lists) or (sign == "*" and count is None):
        return None
    open_ = isinstance(count, Scalar) and recorder.branches and not recorder.can_decide(count)
    if open_ and isinstance(parts[0], list) and any(containers_in(item) for item in parts[0]):
        return None  # the same containers again and again
    if not open_ and not any(isinstance(each, (GrownList, Collected)) for each in recorder.lists.of(parts)):
        return None
    return (recorder._deeper(recorder.bind(joined if sign == "+" else repeated), parts, {}),)


def joined(left: Any, right: Any) -> list[Any]:
    """Two lists in one; captured, as the program's own code is."""
    made: list[Any] = []
    made.extend(left)
    made.extend(right)
    return made


def repeated(items: Any, count: Any) -> list[Any]:
    """A list several times over; captured likewise."""
    made: list[Any] = []
    for _ in range(count):
        made.extend(items)
    return made


def compare_sequences(recorder: Recorder, op: str, left: Any, right: Any) -> Any:
    """A comparison of containers: by Python when the graph runs, where they hold something traced."""
    if isinstance(left, (list, Collected)) and isinstance(right, (list, Collected)):
        left, right = (Opaque(recorder, v.as_list()) if isinstance(v, Collected) else v for v in (left, right))
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return recorder.opaque(COMPARISONS[op], tuple(map(_handle, recorder.lists.of((left, right)))), {})
    if type(left) is complex and isinstance(right, Traced):  # Python asks it first
        return between(COMPARISONS[op], left, right)
    if type(left) is not type(right) or isinstance(left, Traced):
        return COMPARISONS[op](left, right)
    if _compared_by_fields(left, op):
        left, right = _fields(left), _fields(right)
    recorder.stand_ins.check_found((left, right))
    both = recorder.lists.of((whole(recorder, left), whole(recorder, right)))
    grown = any(isinstance(each, GrownList) for each in both)
    if getattr(type(left), "__eq__", None) not in _COMPARING or not (grown or is_traced((left, right))):
        return COMPARISONS[op](left, right)
    if not grown and op in ("==", "!="):
        if len(left) != len(right) or (isinstance(left, dict) and not _same_keys(left, right)):
            return op == "!="
        if isinstance(left, dict):
            both = ([*left.values()], [right[key] for key in left])
    if isinstance(left, deque):
        both = (list(left), list(right))
    given = tuple(map(_handle, both))
    if recorder.untyped or is_opaque(given):
        return recorder.opaque(COMPARISONS[op], given, {})
    return Scalar(recorder, bool, recorder.create(COMPARISONS[op], given, {}, bool))


def _handle(value: Any) -> Any:
    return value.handle if isinstance(value, GrownList) else value


_METHODS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_COMPARING = tuple(kind.__eq__ for kind in (tuple, list, deque, dict, OrderedDict))


def _same_keys(left: Any, right: Any) -> bool:
    """Whether two dicts have the same keys, in the same order where that is part of what they are."""
    return bool(list(left) == list(right) if isinstance(left, OrderedDict) else left.keys() == right.keys())


def _compared_by_fields(value: Any, op: str) -> bool:
    """Whether an object is of a dataclass whose comparison is the one that dataclasses have."""
    method = getattr(type(value), f"__{_METHODS[op]}__", None) if dataclasses.is_dataclass(value) else None
    if op == "!=" and method is object.__ne__:
        method = getattr(type(value), "__eq__", None)
    return getattr(getattr(method, "__code__", None), "co_filename", None) == "<string>"


def _fields(value: Any) -> tuple[Any, ...]:
    return tuple(getattr(value, field.name) for field in dataclasses.fields(value) if field.compare)


def container(recorder: Recorder, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`list(x)`, `tuple(x)`, `set(x)`, `dict(x)`."""
    taken = [recorder.libraries.opened(take(recorder, value)) for value in args]
    args = recorder.lists.of(recorder.lists.whole(tuple(taken)))
    open_ = isinstance(args[0], Collected) and not recorder.can_decide(args[0].length) if args else False
    if args and type(args[0]) is RangeItems and args[0].traced:
        open_ = not recorder.can_decide(args[0].length)
    if args and isinstance(args[0], Array) and args[0].spec.shape:
        size = args[0].spec.shape[0]
        open_ = cls in (list, tuple) and isinstance(size, Dim) and hint_of(size) is None
    if open_ and (cls in (tuple, set, frozenset) or type(args[0]) in (RangeItems, Array)):
        return recorder.opaque(cls, args, kwargs)
    if args and isinstance(args[0], Items) and (args[0].untyped or args[0].uncounted):
        from weft.capture._collect import collect

        if not isinstance(args[0], GrownList):
            collected = collect(recorder, "list", args[0], lambda item: item)
            return collected if cls is list else recorder.opaque(cls, (collected,), kwargs)
    if is_opaque(args) or is_opaque(kwargs) or any(isinstance(value, GrownList) for value in args):
        return recorder.opaque(cls, args, kwargs)
    made = uncaptured(recorder, cls, args, kwargs)
    if issubclass(cls, (dict, set, frozenset)):
        made = _by_known(recorder, cls, made)
    recorder.made(made)
    recorder.reads.made(tuple(made.values() if isinstance(made, dict) else made))
    return made


def hashes_unknown(recorder: Recorder, cls: type, args: tuple[Any, ...]) -> bool:
    """Whether a set or a Counter is made of values known only when the graph runs: which are the same is, too."""
    if cls not in (set, frozenset, Counter) or len(args) != 1:
        return False
    [items] = recorder.lists.of(recorder.lists.whole(args))
    if isinstance(items, Array):
        return bool(items.spec.shape)
    if isinstance(items, (Collected, GrownList)) or is_opaque(items):
        return True
    leaves = pytree.leaves_of(items) if isinstance(items, (list, tuple)) else []
    unknown = any(isinstance(leaf, Scalar) and not recorder.can_decide(leaf) for leaf in leaves)
    return unknown and not any(isinstance(leaf, Array) for leaf in leaves)  # arrays have no hash


def _by_known(recorder: Recorder, cls: type, made: Any) -> Any:
    """A dict or a set by the values that traced keys have in this call."""
    if not any(isinstance(key, Traced) for key in made):
        return made
    what = "a key of a dict" if cls is dict else "an element of a set"
    keys = [known_key(recorder, key, what) if isinstance(key, Traced) else key for key in made]
    return cls(zip(keys, made.values(), strict=True)) if cls is dict else cls(keys)


def in_container(recorder: Recorder, item: Any, container: Any) -> Any:
    """`item in container`, where what is asked for, or what is asked, is of unknown type; None where neither is."""
    item = key_asked(recorder, container, item)
    if isinstance(container, dict) and not is_traced(item) and isinstance(container.get(item), Undefined):
        return is_there(recorder, container[item], f"a dict has the key {item!r}")
    if isinstance(container, GrownList):
        return container.holds(item)
    if not is_opaque((item, container)):
        return None
    plain = tuple(container) if isinstance(container, (set, frozenset, dict)) else container
    return recorder.opaque(operator.contains, (plain, item), {})


def method(recorder: Recorder, function: Any, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a plain container or text, given something traced."""
    name = function.__name__
    if isinstance(owner, str):
        if name == "format":
            return recorder.wrap(recorder.create(str.format, (owner, *args), kwargs, str), str)
        if name == "join":
            args = tuple(map(recorder.lists.taken, args))
        if is_opaque(args) or is_opaque(kwargs):
            return recorder.opaque(call_text, (owner, name, *args), kwargs)
    if isinstance(owner, (list, tuple, deque)) and name in ("index", "count"):
        return recorder.wrap(recorder.create(call_sequence, (owner, name, *args), {}, int), int)
    by_hash = _BY_HASH.get(type(owner), frozenset())
    if name in by_hash and args and isinstance(args[0], Traced):
        if name == "get" and is_opaque(args[0]):
            return chosen(recorder, owner, args[0], [*owner.values(), *args[1:]], get, *args[1:])
        keys = _open_keys(recorder, owner, args[0]) if name == "get" else None
        if keys is not None:
            return get_of_key(recorder, owner, keys, *args)
        args = (_key_in(recorder, owner, args[0]), *args[1:])
    elif isinstance(owner, (set, frozenset)) and is_traced(tuple(args)):
        recorder.refuse(f".{name}() of a set and traced values", help="use arrays: np.unique, np.isin, np.union1d")
    return uncaptured(recorder, function, args, kwargs)


def settle_keys(recorder: Recorder, value: Any) -> None:
    """Let the dicts in a value have numbers as keys in place of traced ones, whose values the guards tell."""
    if isinstance(value, dict):
        if any(isinstance(key, Traced) for key in value):
            items = [
                (known_key(recorder, k, "a key of a dict") if isinstance(k, Traced) else k, v) for k, v in value.items()
            ]
            own: Any = OrderedDict if isinstance(value, OrderedDict) else dict  # a Counter's own `update` counts
            own.clear(value)
            for key, part in items:
                own.__setitem__(value, key, part)
        for part in value.values():
            settle_keys(recorder, part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            settle_keys(recorder, part)


def _open_keys(recorder: Recorder, mapping: Any, key: Any) -> Any:
    """The keys of a plain dict of numbers, where only the running graph knows which of them is asked for; else None."""
    asked = isinstance(key, Scalar) and not recorder.can_decide(key) and not recorder.untyped
    return number_keys(mapping) if asked and type(mapping) in (dict, OrderedDict) else None


def _key_in(recorder: Recorder, container: Any, key: Any) -> Any:
    """The value that a traced key has in this call; what is from outside is asked when the graph runs where none is.

    Where numbers are inputs they are rather fixed, and the key with them: what an unknown key gives is of unknown type.
    """
    state = recorder.state
    if not (isinstance(key, Scalar) and recorder.can_decide(key)) and state.known is not None and state.known.fixed:
        state.changes(container)
    return known_key(recorder, key, "a key of a dict" if isinstance(container, dict) else "an element of a set")


def known_key(recorder: Recorder, key: Any, what: str = "a key of a dict") -> Any:
    """The value that a traced key has in this call, where that is known."""
    if isinstance(key, Scalar) and recorder.can_decide(key):
        return recorder.concrete(key, what)
    return recorder.refuse(
        f"{what} that is traced: which one it is, is known only when the graph runs",
        help="use an array indexed by the number, or compare with each key",
    )
