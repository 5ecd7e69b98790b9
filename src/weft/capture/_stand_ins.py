"""What stands for one object or another where paths of a program meet.

A branch or a loop leaves a variable with one list, dict or object of the program's or with another; a list is indexed
by a traced value. The capture goes on with a new one, a stand-in, each part of which is chosen by itself. A change of
it would be lost for those it stands for, and theirs for it: so none of them changes from then on, and which of them it
is, is not asked for. Only where the two sides of a branch have made one each, which nothing else holds, the stand-in is
simply that object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft import pytree
from weft.capture._state_places import attributes, is_object
from weft.capture._values import MaybeUnbound, PartlyDefined, Traced
from weft.pytree import LEAF, Tree

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder
    from weft.capture._region import Region


_MOST = 500  # leaves of objects that hold each other


class ObjectTree(Tree):
    """The structure of an object of the program's own class: its attributes by name."""

    def _build(self, leaves: Iterator[Any]) -> Any:
        return build(self, [child._build(leaves) for child in self.children])


class SliceTree(Tree):
    """The structure of a slice: its bounds and its step."""

    def _build(self, leaves: Iterator[Any]) -> Any:
        return slice(*[child._build(leaves) for child in self.children])


def _taken_apart(value: Any) -> tuple[Any, Any] | None:
    """The parts of a container and its context; those of a slice too, which to users of trees is a leaf."""
    return ((value.start, value.stop, value.step), None) if type(value) is slice else pytree.parts_of(value)


def build(tree: Tree, parts: list[Any]) -> Any:
    """A container or an object of given parts."""
    if isinstance(tree, SliceTree):
        return slice(*parts)
    if not isinstance(tree, ObjectTree):
        return pytree.from_parts(tree.kind, tree.context, parts)
    kind: Any = tree.kind
    made: Any = object.__new__(kind)
    for name, part in zip(tree.context, parts, strict=True):
        object.__setattr__(made, name, part)
    return made


def parts_of(value: Any) -> list[Any]:
    """The parts of a container or an object, as its tree has them."""
    opened = _taken_apart(value)
    return [getattr(value, name) for name in attributes(value)] if opened is None else list(opened[0])


def opens(recorder: Recorder, value: Any) -> bool:
    """Whether an object is one that the program has made, and can be made again of its attributes."""
    cls: Any = type(value)
    return (
        is_object(value)
        and recorder._home(value) is not None
        and cls.__new__ is object.__new__
        and not hasattr(cls, "__del__")
        and id(value) not in recorder.state.owners
    )


def flatten(recorder: Recorder, value: Any, objects: bool = True) -> tuple[list[Any], Tree]:
    """The leaves of a nested value, and its structure; objects of the program's are taken apart too, where `objects`.

    A list of the running graph is a leaf.
    """
    leaves: list[Any] = []
    return leaves, _flatten(recorder, value, leaves, objects, ())


def _flatten(recorder: Recorder, value: Any, leaves: list[Any], objects: bool, around: tuple[int, ...]) -> Tree:
    if isinstance(value, Traced):
        leaves.append(value)
        return LEAF
    known = recorder.lists.grown and recorder.lists.get(value) is not None
    opened = None if known or (not objects and has_identity(value)) else _taken_apart(value)
    kind: Any = SliceTree if type(value) is slice else Tree
    if opened is None and not known and objects and len(leaves) < _MOST and opens(recorder, value):
        if id(value) in around:
            leaves.append(value)
            return LEAF
        names = tuple(attributes(value))
        opened, kind = ([getattr(value, name) for name in names], names), ObjectTree
        around = (*around, id(value))
    if opened is None:
        leaves.append(value)
        return LEAF
    children = tuple([_flatten(recorder, part, leaves, objects, around) for part in opened[0]])
    made: Tree = kind(type(value), opened[1], children)
    return made


def fill(recorder: Recorder, tree: Tree, value: Any, leaves: Iterator[Any]) -> Any:
    """Give an object other leaves: one that can change is that very object, which other names have as well."""
    if tree.kind is None:
        return next(leaves)
    before = parts_of(value)
    parts = [fill(recorder, child, part, leaves) for child, part in zip(tree.children, before, strict=True)]
    if all(part is was for part, was in zip(parts, before, strict=True)):
        return value
    if type(value) is list:
        value[:] = parts
    elif type(value) is dict:
        value.update(zip(value, parts, strict=True))
    elif has_identity(value):
        for name, part in zip(tree.context, parts, strict=True):
            object.__setattr__(value, name, part)
    else:
        made = build(tree, parts)
        recorder.stand_ins.note(made, value, why="a branch has gone on")
        return made
    recorder.made(value)
    return value


def has_identity(value: Any) -> bool:
    """Whether a value is an object of a class of the program's own, whatever its attributes."""
    return is_object(value) and not pytree.is_registered(type(value))


def with_parts(value: Any) -> Iterator[Any]:
    """A container or an object, and those it holds."""
    seen: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen and _opened(one):
            seen[id(one)] = one
            waiting += parts_of(one)
    return iter(seen.values())


class StandIns:
    """The stand-ins of one capture, and what they stand for."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.groups: dict[int, list[Any]] = {}  # by id, why, and all that may be one object
        self.fixed: set[int] = set()  # ids of those that do not change any more
        self._log: list[tuple[int, Any, bool, bool]] = []  # ids, the group before, whether fixed, whether a stand-in

    def note(self, made: Any, *sources: Any, why: str, fixed: bool = True) -> None:
        """From now on `made` stands for one of `sources`, and so do their parts; with `fixed`, none of them changes."""
        others = [source for source in sources if source is not made and type(source) is type(made)]
        if id(made) in self.groups or not _opened(made):
            return
        self.recorder.made(made)
        self.join(made, others, why, fixed)
        parts: list[Any] = parts_of(made)
        inner = list(map(parts_of, others))
        for k, part in enumerate(parts):
            self.note(part, *(found[k] for found in inner if len(found) == len(parts)), why=why, fixed=fixed)

    def join(self, made: Any, others: list[Any], why: str, fixed: bool = True) -> None:
        """The same of the objects alone."""
        group: list[Any] = [why]
        for value in (made, *others):
            known = self.groups.get(id(value), [why, value])
            group += [part for part in known[1:] if not any(part is there for there in group[1:])]
        for value in group[1:]:
            self._log.append((id(value), self.groups.get(id(value)), id(value) in self.fixed, value is made))
            self.groups[id(value)] = group
        self.fixed.update(map(id, group[1:] if fixed else [made]))

    def fix(self, sources: list[Any], why: str) -> None:
        """From now on one of some lists, dicts or sets is known by another name: none of them changes."""
        if sources:
            self.join(object(), sources, why)

    def mark(self) -> int:
        return len(self._log)

    def go_back(self, mark: int) -> None:
        """What has been captured since a mark is captured anew, in another way."""
        while len(self._log) > mark:
            key, group, fixed, _ = self._log.pop()
            if group is None:
                del self.groups[key]
            else:
                self.groups[key] = group
            if not fixed:
                self.fixed.discard(key)

    def leave(self, mark: int, values: tuple[Any, ...]) -> None:
        """A loop that has changed no object is over: what it leaves are these variables, and no other of its stand-ins.

        Where none of them is one, or holds one, those they stood for may change again.
        """
        made = {key for key, _, _, stands in self._log[mark:] if stands}
        left = [value.value if isinstance(value, (MaybeUnbound, PartlyDefined)) else value for value in values]
        if made and not self.recorder.untyped and not any(id(part) in made for part in with_parts(left)):
            self.go_back(mark)

    def check_change(self, target: Any, what: str) -> None:
        """Refuse to change what has a stand-in, or is one."""
        if id(target) in self.fixed:
            why = self.groups[id(target)][0]
            self.recorder.refuse(
                f"{what} changes a {type(target).__name__} after {why} with this one or another: which of them "
                "changes, only running tells",
                help="change it before, on each side, or change a copy",
            )

    def check_same(self, left: Any, right: Any) -> None:
        """Refuse to tell whether two objects that may be one are the same."""
        group = self.groups.get(id(left))
        if group is not None and left is not right and any(right is value for value in group[1:]):
            self.recorder.refuse(
                f"`is` of a {type(left).__name__} after {group[0]} with one or another: which one it is, is known only "
                "when the graph runs",
                help="keep a flag or a number that tells which one it is",
            )

    def check_out(self, value: Any) -> None:
        """Refuse to make two objects, when the graph runs, that may be one."""
        group = self.groups.get(id(value), [])
        if any(id(other) in self.recorder.state.owners for other in group[1:]):
            self.recorder.refuse(
                f"two of a {type(value).__name__} leave the program after {group[0]} with one or another: whether they "
                "are one object, only running tells",
                help="give away a copy, or numbers and arrays",
            )

    def check_found(self, value: Any) -> None:
        """Refuse to look for an object in a container, where it is found by which one it is."""
        for part in with_parts(value) if self.groups else ():
            cls: Any = type(part)
            if id(part) in self.groups and cls.__eq__ is object.__eq__:
                self.recorder.refuse(
                    f"a {type(part).__name__} is looked for after {self.groups[id(part)][0]} with this one or another",
                    help="give it a number or a text of its own, and look for that",
                )


def _opened(value: Any) -> bool:
    return _taken_apart(value) is not None or is_object(value)


class Meeting:
    """Two sides of a branch, whose variables meet: which objects of the one are objects of the other."""

    def __init__(self, recorder: Recorder, regions: list[Region], why: str) -> None:
        self.recorder, self.regions, self.why = recorder, regions, why
        self.partners: tuple[dict[int, set[int]], dict[int, set[int]]] = ({}, {})
        self.known: dict[tuple[int, int], Any] = {}  # by the ids of both, what stands for them

    def pair(self, a: Any, b: Any) -> None:
        """Two values of a variable: their objects at one place are partners."""
        if not (_opened(a) or _opened(b)):
            return
        for one, other, partners in ((a, b, self.partners[0]), (b, a, self.partners[1])):
            found = partners.setdefault(id(one), set())
            if id(other) in found:
                return
            found.add(id(other))
        first, second = (parts_of(value) if _opened(value) else [] for value in (a, b))
        alike = type(a) is type(b) and len(first) == len(second)
        apart = [*((x, None) for x in first), *((None, y) for y in second)]
        pairs = zip(first, second, strict=True) if alike else apart
        for x, y in pairs:
            self.pair(x, y)

    def build(self, tree: Tree, a: Any, b: Any, leaves: Iterator[Any]) -> Any:
        """What stands for two values of one structure, given the leaves of it."""
        if tree.kind is None:
            return next(leaves)
        children = zip(tree.children, parts_of(a), parts_of(b), strict=True)
        return self.built(tree, [self.build(child, x, y, leaves) for child, x, y in children], a, b)

    def built(self, tree: Tree, parts: list[Any], a: Any, b: Any) -> Any:
        """The same, given the parts."""
        if a is b:
            return a
        key = id(a), id(b)
        if key not in self.known:
            self.known[key] = self._made(build(tree, parts), a, b)
        return self.known[key]

    def _made(self, made: Any, a: Any, b: Any) -> Any:
        recorder = self.recorder
        owners, held = recorder.state.owners, recorder.lists.held
        pairs = zip((a, b), self.regions, strict=True)
        own = all(id(v) in region.made and id(v) not in owners and id(v) not in held for v, region in pairs)
        alone = all(len(partners.get(id(v), ())) == 1 for v, partners in zip((a, b), self.partners, strict=True))
        if own and alone and id(a) not in recorder.stand_ins.groups and id(b) not in recorder.stand_ins.groups:
            recorder.made(made)
        else:
            recorder.made(made)
            recorder.stand_ins.join(made, [a, b], self.why)
        return made
