"""`weft.pytree`: every container comes back as it was, whatever its constructor takes or does."""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

import pytest

from weft import pytree


class Pair(NamedTuple):
    x: Any
    y: Any


class Scaled(Pair):
    def __new__(cls, x: Any, y: Any = 2) -> Scaled:
        return super().__new__(cls, x * 10, y)


class Keyword(dict[str, Any]):
    def __init__(self, *, only: Any) -> None:
        super().__init__(only=only)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any = dataclasses.field(default=1, kw_only=True)


@dataclasses.dataclass
class Late:
    a: Any
    b: Any = dataclasses.field(init=False, default=7)


CONTAINERS: list[tuple[Any, list[Any]]] = [
    ({"b": 1, "a": [2, (3,)]}, [1, 2, 3]),
    (OrderedDict(b=1, a=2), [1, 2]),
    (defaultdict(list, a=1, b=2), [1, 2]),
    (Counter("aab"), [2, 1]),
    (Keyword(only=3), [3]),
    (Pair(1, 2), [1, 2]),
    (Scaled(1), [10, 2]),
    (Frozen(1), [1, 1]),
    (Late(1), [1, 7]),
    ([(), {}, None], [None]),
    (deque([1], 3), [1]),
    ({1, 2}, [{1, 2}]),
]


@pytest.mark.parametrize(("value", "leaves"), CONTAINERS, ids=lambda v: f"{v!r}"[:30])
def test_containers_come_back(value: Any, leaves: list[Any]) -> None:
    found, tree = pytree.flatten(value)
    assert found == leaves
    assert tree.leaf_count == len(leaves)
    built = tree.unflatten(found)
    assert built == value
    assert type(built) is type(value)
    assert pytree.flatten(built)[1] == tree
    assert hash(pytree.flatten(built)[1]) == hash(tree)


def test_a_defaultdict_keeps_its_factory_and_an_ordered_dict_its_order() -> None:
    counts = pytree.map(lambda n: n + 1, defaultdict(int, a=1))
    assert counts["new"] == 0
    ordered = pytree.map(lambda n: n + 1, OrderedDict(b=1, a=2))
    ordered.move_to_end("b")
    assert list(ordered.items()) == [("a", 3), ("b", 2)]


def test_a_field_that_is_not_set_yet() -> None:
    @dataclasses.dataclass
    class Open:
        a: Any
        b: Any = dataclasses.field(init=False)

    leaves, tree = pytree.flatten(Open(1))
    assert leaves == [1]
    assert not hasattr(tree.unflatten([5]), "b")


class Items(dict[str, Any]):
    """A dict whose items are its attributes as well."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Hidden(tuple[Any, ...]):
    """A tuple with names, whose `__dict__` is what the class says."""

    names: list[str]

    def __new__(cls, values: Any, names: Any = ()) -> Hidden:
        return tuple.__new__(cls, values)

    def __init__(self, values: Any, names: Any = ()) -> None:
        self.names = list(names)

    __dict__ = property(lambda self: dict(zip(self.names, self, strict=True)))  # type: ignore[assignment]  # as found


def test_a_dict_whose_attributes_are_its_items() -> None:
    built = pytree.map(lambda n: n + 1, Items(a=1, b=2))
    built.c = 5
    assert (built, vars(built) is built, built.a) == ({"a": 2, "b": 3, "c": 5}, True, 2)


def test_attributes_that_a_class_hides_come_back() -> None:
    found, tree = pytree.flatten(Hidden((1, 2), "ab"))
    assert found == [1, 2, "a", "b"]
    built = tree.unflatten([5, 6, "a", "b"])
    assert (type(built), tuple(built), built.names, vars(built)) == (Hidden, (5, 6), ["a", "b"], {"a": 5, "b": 6})
