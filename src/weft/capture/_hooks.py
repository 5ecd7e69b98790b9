"""`Hooks`: what the parts of a converted program do while it is captured.

On plain values each does what Python does; on traced values it records. Objects of Python's that exist outside the
capture are not changed: the change would happen once, at capture, and not in the calls after it.
"""

from __future__ import annotations

import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from types import FunctionType, MappingProxyType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft import pytree
from weft._objects import dict_of
from weft.autograd import Tensor
from weft.capture._branch import Branch, PathEnded, end_path
from weft.capture._calls import call, updated
from weft.capture._cells import has_places
from weft.capture._changes import refuse_advance, uncaptured
from weft.capture._chosen import Joined
from weft.capture._convert_site import Site
from weft.capture._evaluated import check_text
from weft.capture._generators import Generated
from weft.capture._identity import same_object
from weft.capture._iterables import Collected, Items
from weft.capture._lookups import join_lists, known_key, merge
from weft.capture._loop_for import ForLoop
from weft.capture._loop_while import WhileLoop
from weft.capture._missing import bound, held_item, is_there, own_attributes, unassigned, whole
from weft.capture._object_calls import by_method, delete_in_dict, own_dict, set_in_dict
from weft.capture._once import check_asked
from weft.capture._one_of import OneOf
from weft.capture._opaque import Opaque
from weft.capture._own_methods import begun, run_own
from weft.capture._own_operators import PLAIN, between, defines, is_own_class, operate, operate_one
from weft.capture._plain import COMPARISONS, OPERATORS, UNARY, PlainHooks, PlainIf
from weft.capture._present import key_asked, note_assigned
from weft.capture._python_calls import asked, attribute, python_class
from weft.capture._region import NotArithmetic
from weft.capture._spread import call_spread, display, has_spread, keywords_of, spread
from weft.capture._state_places import is_own
from weft.capture._values import Array, MaybeUnbound, Scalar, Traced, Unassigned, Undefined, is_traced, shows_traced
from weft.graph._control import check

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder

_SIDES = {True: (PlainIf(True),), False: (PlainIf(False),)}
_WITH_ITEMS = frozenset({list, tuple, dict, str, bytes, range})  # where an index or a key does nothing but to look up
_JOINING = frozenset({"+", "*"})  # what is done with lists, too
_LISTS = frozenset({list, Collected})
_NAMED = {"in": "contains", "not in": "not_contains", "is": "is_", "is not": "is_not"}
_UNCHANGEABLE = (tuple, str, bytes, frozenset, range, MappingProxyType)
_NOTHING = object()


class Hooks(PlainHooks):
    """The hooks of one function in one capture."""

    branch_class = Branch

    def __init__(self, recorder: Recorder, sites: tuple[Site, ...], space: dict[str, Any]) -> None:
        self.recorder = recorder
        self.sites = sites
        self.globals = space
        self.cells: dict[str, Any] = {}  # variables of functions around the one that was converted

    # Control flow

    def if_(self, site: int, test: Any, values: tuple[Any, ...], cells: Any = None) -> Iterable[Any]:
        test = self._tested(test)
        if not isinstance(test, Traced):
            return _SIDES[bool(test)]
        recorder, place = self.recorder, self.sites[site]
        if self._goes_by(test):
            return _SIDES[recorder.decide(test)]
        self._no_yield(place)
        return self.branch_class(recorder, place, recorder.truth(test), values, cells)

    def while_(self, site: int, values: tuple[Any, ...], cells: Any = None) -> Any:
        return WhileLoop(self.recorder, self.sites[site], values, cells)

    def for_(self, site: int, iterable: Any, values: tuple[Any, ...], cells: Any = None) -> Any:
        refuse_advance(self.recorder, iterable)
        iterable = begun(self.recorder, whole(self.recorder, self.held(iterable)))
        return ForLoop(self.recorder, self.sites[site], iterable, values, cells)

    def _no_yield(self, site: Site) -> None:
        if site.has_yield:
            self.recorder.refuse(
                f"a `yield` under a traced condition (line {site.line})",
                help="append to a list; or make the generator a function of the module, and take list(...) of it",
            )

    def _tested(self, value: Any) -> Any:
        """What a test of a value goes by: of a list of the running graph, whether it has elements."""
        value = self.held(value)
        grown = value if isinstance(value, Items) else self.recorder.lists.get(value)
        if grown is not None:
            return grown.filled
        own = run_own(self.recorder, bool, (value,))
        return whole(self.recorder, value) if own is None else own[0]

    def truth(self, site: int, value: Any) -> bool:
        value = self._tested(value)
        if not isinstance(value, Traced):
            return bool(value)
        if self.recorder.branches and not self.recorder.can_decide(value):
            self._no_yield(self.sites[site])
        return self.recorder.decide(value)

    def if_expression(self, site: int, test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        test = self._tested(test)
        if not isinstance(test, Traced):
            return body() if test else orelse()
        recorder = self.recorder
        if self._goes_by(test):
            return body() if recorder.decide(test) else orelse()
        value: Any = Undefined("_weft_value")
        place = replace(self.sites[site], names=("_weft_value",), live=frozenset({"_weft_value"}))
        for side in self.branch_class(recorder, place, recorder.truth(test), (value,)):
            with side:
                value = body() if side.taken else orelse()
            (value,) = side.leave((value,))
        return value

    def and_(self, site: int, value: Any, *rest: Callable[[], Any]) -> Any:
        value, rest = self._operands(site, value, rest)
        for index, operand in enumerate(rest):
            if not is_own_class(type(value)):
                value = self._tested(value)
            if isinstance(value, Traced) and not self._goes_by(value):
                found = self._at_once(value, lambda: self.and_(site, rest[index](), *rest[index + 1 :]), operator.and_)  # noqa: B023  # called at once
                if found is not None:
                    return found
                value = self.if_expression(site, value, operand, lambda: value)  # noqa: B023  # called at once
                continue
            test = self._truth_of(value)
            if isinstance(test, Traced) and test is not value:
                value = self.if_expression(site, test, operand, lambda: value)  # noqa: B023  # called at once
                continue
            if not (self.recorder.decide(test) if isinstance(test, Traced) else test):
                return value
            value = operand()
        return value

    def or_(self, site: int, value: Any, *rest: Callable[[], Any]) -> Any:
        value, rest = self._operands(site, value, rest)
        for index, operand in enumerate(rest):
            value = self.operand(value)
            if self.recorder.lists.get(value) is not None:
                self.recorder.refuse(
                    "a list that changes under a traced condition, as an operand of `or`",
                    help="test its length: len(items) > 0 or ...",
                )
            whole(self.recorder, value)
            if isinstance(value, Traced) and not self._goes_by(value):
                found = self._at_once(value, lambda: self.or_(site, rest[index](), *rest[index + 1 :]), operator.or_)  # noqa: B023  # called at once
                if found is not None:
                    return found
                value = self.if_expression(site, value, lambda: value, operand)  # noqa: B023  # called at once
                continue
            test = self._truth_of(value)
            if isinstance(test, Traced) and test is not value:
                value = self.if_expression(site, test, lambda: value, operand)  # noqa: B023  # called at once
                continue
            if self.recorder.decide(test) if isinstance(test, Traced) else test:
                return value
            value = operand()
        return value

    def _operands(self, site: int, value: Any, rest: tuple[Callable[[], Any], ...]) -> tuple[Any, tuple[Any, ...]]:
        """The operands of `and` or `or`: in a test, what their truth goes by."""
        if "test" not in self.sites[site].kind:
            return value, rest
        asked: Any = lambda operand: lambda: self._truth_of(self._tested(operand()))  # noqa: E731
        return self._truth_of(self._tested(value)), tuple(map(asked, rest))

    def _truth_of(self, value: Any) -> Any:
        """What the truth of an object goes by, where its class says it; the value itself where not."""
        if type(value) is OneOf:
            return self.recorder.truth(value)
        own = None if type(value) in PLAIN else run_own(self.recorder, bool, (value,))
        return own[0] if own is not None else value.filled if isinstance(value, Items) else value

    def _goes_by(self, value: Any) -> bool:
        """Whether the program goes by what a traced value is now, and captures no branch."""
        return self.recorder.goes_by(value) or not self.recorder.branches

    def _at_once(self, value: Any, rest: Callable[[], Any], function: Callable[[Any, Any], Any]) -> Any:
        """All operands of `and` or `or` without a branch, where those that follow the first only compute; else None."""
        other = self.recorder.attempt_pure(rest) if _is_truth(value) else None
        if other is not None and _is_truth(other[0]):
            return function(value, other[0])
        if self.recorder.region.trial:  # this is part of such an attempt, which a branch would end
            raise NotArithmetic
        return None

    def not_(self, value: Any) -> Any:
        value = self._tested(value)
        return self.recorder.negation(value) if isinstance(value, Traced) else not value

    def contains(self, item: Any, container: Any) -> Any:
        container = self.held(container)
        refuse_advance(self.recorder, container)
        check_asked(self.recorder, container)
        self.recorder.stand_ins.check_found(item)
        grown = self.recorder.lists.get(container)
        if grown is not None:
            return grown.holds(item)
        special = self.recorder.reads.special
        found = special.contains(container, item) if special.methods else None
        if found is not None:
            return found[0]
        own = run_own(self.recorder, operator.contains, (container, item))
        own = self.recorder.libraries.asked(operator.contains, (container, item), {}) if own is None else own
        if own is not None:
            return self.not_(self.not_(own[0]))
        return self.recorder.python.contains(item, container)

    def not_contains(self, item: Any, container: Any) -> Any:
        return self.not_(self.contains(item, container))

    def is_(self, left: Any, right: Any) -> Any:
        return same_object(self.recorder, left, right)

    def is_not(self, left: Any, right: Any) -> Any:
        return self.not_(self.is_(left, right))

    def compare(self, op: str, left: Any, right: Any) -> Any:
        from weft.capture._lookups import compare_sequences

        left, right = self.operand(left), self.operand(right)
        if _is_own(left, right) and defines(op, left, right):
            return operate(self.recorder, op, left, right)
        if isinstance(left, np.dtype) and isinstance(right, Opaque):  # NumPy would ask it whether it is a dtype
            return self.recorder.opaque(COMPARISONS[op], (left, right), {})
        return compare_sequences(self.recorder, op, left, right)

    def operate(self, op: str, left: Any, right: Any) -> Any:
        left, right = self.operand(left), self.operand(right)
        if op in _JOINING and (type(left) in _LISTS or type(right) in _LISTS):
            found = join_lists(self.recorder, op, left, right)
            if found is not None:
                return found[0]
        if op == "%" and isinstance(left, str) and shows_traced(right):
            return self.percent(left, right)
        if (type(left) in PLAIN and type(right) in PLAIN) or not _is_own(left, right):
            return between(OPERATORS[op], left, right) if isinstance(right, Traced) else OPERATORS[op](left, right)
        return operate(self.recorder, op, left, right)

    def unary(self, op: str, value: Any) -> Any:
        value = self.operand(value)
        found = None if type(value) in PLAIN else operate_one(self.recorder, op, value)
        return UNARY[op](value) if found is None else found[0]

    def is_open(self, value: Any) -> bool:
        return isinstance(value, Traced)

    def is_constant(self, value: Any, constant: Any) -> Any:
        return self.is_(value, constant)

    def known_class(self, value: Any, pattern: str) -> type:
        unknown = isinstance(value, (Opaque, Items)) or self.recorder.lists.get(value) is not None
        if unknown:
            self.recorder.refuse(
                f"a {pattern} pattern on a value of which the type or the length is known only when the graph runs",
                help="take its parts first, as in `a, b = value`, and write the cases as `if` and `elif`",
            )
        return asked(value, python_class(value)) if isinstance(value, Traced) else type(value)

    def chain(self, site: int, left: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
        (op, operand), *others = rest
        right = operand()
        named = _NAMED.get(op)
        result = self.compare(op, left, right) if named is None else getattr(self, named)(left, right)
        if not others:
            return result
        return self.and_(site, result, lambda: self.chain(site, right, *others))

    def comprehension(
        self, site: int, kind: str, iterable: Any, element: Callable[[Any], Any], condition: Callable[[Any], Any] | None
    ) -> Any:
        from weft.capture._collect import collect

        refuse_advance(self.recorder, iterable)
        return collect(self.recorder, kind, begun(self.recorder, whole(self.recorder, iterable)), element, condition)

    # Statements that end or test

    def assert_(self, site: int, condition: Any, message: Callable[[], Any] | None) -> None:
        condition = self._tested(condition)
        if not isinstance(condition, Traced):
            if not condition:
                raise self.raise_(site, AssertionError() if message is None else AssertionError(message()), None)
            return
        recorder = self.recorder
        assigned = len(recorder.places.log)
        text = None if message is None else message()
        recorder.places.undo(assigned)  # the program gets there only where it is over
        recorder.create(
            check, (recorder.truth(condition),) if text is None else (recorder.truth(condition), text), {}, None
        )

    def raise_(self, site: int, exception: Any, cause: Any) -> Any:
        recorder = self.recorder
        caught = recorder.catches(exception if isinstance(exception, type) else type(exception))
        traced = recorder.untyped and not caught and is_traced(getattr(exception, "args", ()))
        if recorder.region.straight and not traced:
            return exception
        if cause is not None:
            exception = exception() if isinstance(exception, type) else exception
            exception.__cause__ = cause() if isinstance(cause, type) else cause
        if caught:
            recorder.doubt("a `raise` under a traced condition, inside a `try` that may catch it")
        end_path(recorder, exception)
        return PathEnded()

    def try_(self, site: int, swallows: bool = False, named: bool = False, caught: Any = None) -> Any:
        from weft.capture._contexts import Trying

        return Trying(self.recorder, swallows, named, caught)

    def final(self) -> Any:
        from weft.capture._contexts import Final

        return Final(self.recorder)

    @property
    def own_ways(self) -> tuple[Any, ...]:
        from weft.capture._contexts import OWN

        return OWN

    def context(self, manager: Any) -> Any:
        from weft.capture._contexts import captured_context

        return captured_context(self, manager)

    def merged(self, *parts: Any) -> Any:
        parts = tuple(map(self._of_graph, parts))
        if not any(isinstance(whole(self.recorder, part), Opaque) for part in parts):
            return super().merged(*parts)
        return self.recorder.opaque(merge, parts, {})

    def percent(self, text: Any, values: Any) -> Any:
        from weft.capture._text import captured_percent

        return captured_percent(self.recorder, text, values) if shows_traced((text, values)) else text % values

    def fstring(self, *parts: Any) -> Any:
        from weft.capture._text import captured_text, has_traced, with_shown

        if self.recorder.reads.special.methods:
            parts = tuple(map(self._own_text, parts))
        parts = with_shown(self.recorder, parts)
        return captured_text(self.recorder, parts) if has_traced(parts) else super().fstring(*parts)

    def _own_text(self, part: Any) -> Any:
        """A part of an f-string with the text of an object, where its class says what that is."""
        if isinstance(part, str) or part[1] is not None or not all(isinstance(one, str) for one in part[2]):
            return part
        found = self.recorder.reads.special.run(part[0], ("__format__",), "".join(part[2]))
        return part if found is None else (found[0], None, ())

    # Names

    def undefined(self, name: str) -> Any:
        return Undefined(name)

    def read(self, value: Any, free: bool = False) -> Any:
        if not isinstance(value, Undefined):
            return value
        if isinstance(value, MaybeUnbound):
            return bound(self.recorder, value)
        if value.why is None and free:
            what = f"cannot access free variable '{value.name}' where it is not associated with a value in"
            raise NameError(f"{what} enclosing scope", name=value.name)
        if isinstance(value, Unassigned) and self.recorder.region.parent is not value.head:
            unassigned(self.recorder, value)
        return self.recorder.undefined(value)

    def outer(self, name: str, value: Any) -> Any:
        return self.recorder.outer_value(self.cells.get(name, self.globals), name, value)

    def set_global(self, name: str, value: Any) -> None:
        self.recorder.state.set_variable(self.globals, name, value)

    def assign(self, name: str, value: Any) -> Any:
        if isinstance(value, Traced):
            self.recorder.name(value, name)
        elif isinstance(value, (np.ndarray, Tensor)):
            return self.recorder.met(value)
        else:
            self.recorder.reads.made(value)
        return value

    def assign_nonlocal(self, name: str, value: Any, cell: Any) -> Any:
        if name in self.cells:
            self.recorder.state.set_variable(self.cells[name], name, value)
            return value
        self.recorder.places.assigned(cell.__closure__[0], name)
        return self.assign(name, value)

    def makes(self, cells: Any) -> None:
        self.recorder.places.makes(cells.__closure__)

    def collects(self, keywords: dict[str, Any]) -> None:
        self.recorder.made(keywords)

    def update(self, name: str, value: Any, op: str, by: Any) -> Any:
        if isinstance(value, (np.ndarray, Tensor)):
            value = self.recorder.constant(value)
        return self.assign(name, updated(self.recorder, op, value, by))

    def attr(self, value: Any, name: str) -> Any:
        value = self.held(value)
        if isinstance(value, Traced):
            return value.attribute(name) if type(value) is OneOf else attribute(value, name)
        if name == "__dict__":
            own_attributes(self.recorder, value)
            return own_dict(self.recorder, value)
        if isinstance(value, Items) and not hasattr(value, name):
            self.recorder.refuse(f".{name} of a loop over traced values", help="use next(…), or loop with `for`")
        return self._held(value, self.recorder.attribute(value, name))

    def setattr(self, target: Any, name: str, value: Any) -> None:
        if isinstance(target, Opaque):
            target.assign(name, value)
            return
        if isinstance(target, OneOf):
            target.set_attribute(name, value)
            return
        if isinstance(target, Traced):
            setattr(target, name, value)
            return
        if isinstance(target, np.ndarray) or (isinstance(target, Tensor) and name in ("grad", "data")):
            setattr(self.recorder.constant(target), name, value)
            return
        if _is_item(target, name):
            self.setitem(target, name, value)
            return
        self.recorder.set_attribute(target, name, value)

    def held(self, value: Any) -> Any:
        given = self.recorder.state.handed_over
        return given[id(value)][1] if given and id(value) in given else value

    def update_attr(self, target: Any, name: str, op: str, by: Any) -> None:
        self.setattr(target, name, updated(self.recorder, op, self.attr(target, name), by))

    def update_attr_late(self, target: Any, name: str, op: str, by: Callable[[], Any]) -> None:
        current = self.attr(target, name)
        self.setattr(target, name, updated(self.recorder, op, current, by()))

    def _held(self, owner: Any, value: Any) -> Any:
        """What an object holds by a name, which may be missing."""
        return bound(self.recorder, value, owner) if isinstance(value, MaybeUnbound) else self.read(value)

    def delattr(self, target: Any, name: str) -> None:
        if isinstance(target, Opaque):
            target.delete(name)
            return
        if _is_item(target, name) and name in target:
            self.delitem(target, name)
            return
        if by_method(self.recorder, target, name, "__delattr__") or self.recorder.state.delete(target, name):
            return
        self._held(target, (dict_of(target) or {}).get(name))
        self.recorder.change_object(target, f"del .{name}")
        delattr(target, name)

    def evaluated(self, text: Any, spaces: bool = False) -> Any:
        if self.recorder.region is not self.recorder.root:
            self.recorder.refuse(
                "eval or exec in a branch or loop: what the text does is not captured", help="write it as code"
            )
        check_text(self.recorder, text, sys._getframe(1), spaces)
        return text

    # Items

    def getitem(self, value: Any, key: Any) -> Any:
        value = self.held(value)
        grown = self.recorder.lists.get(value)
        if grown is not None:
            return grown[key]
        if isinstance(value, dict):
            self.recorder.stand_ins.check_found(key)
            key = key_asked(self.recorder, value, key)
        found = self._own_item(value, ("__getitem__",), key)
        if found is not None:
            return found[0]
        if isinstance(value, Traced) or not (is_traced(key) or isinstance(value, (np.ndarray, Items))):
            grid = self.recorder.grid(value, key)
            if grid is not None:
                return grid
            plain: Any = value
            if isinstance(plain, defaultdict):
                self._make_default(plain, key)
            known = type(value) in _WITH_ITEMS or isinstance(value, (Traced, defaultdict))
            found = (
                self._held_by(plain, key) if known else uncaptured(self.recorder, operator.getitem, (value, key), {})
            )
            return self.read(self.recorder.met(found))
        return self.recorder.run_getitem(value, key)

    def _held_by(self, value: Any, key: Any) -> Any:
        try:
            return self.recorder.reads.item(value, key)
        except (LookupError, TypeError) as error:
            if not isinstance(value, Traced):
                self.recorder.programs_error = error
            raise

    def _own_item(self, value: Any, names: tuple[str, ...], *args: Any) -> tuple[Any] | None:
        """What a method of the class of an object does with an item, in a tuple; None where it has none."""
        special = self.recorder.reads.special
        return special.run(value, names, *args) if special.methods else None

    def _make_default(self, target: defaultdict[Any, Any], key: Any) -> None:
        """What a defaultdict holds by a key that it is asked for and has not."""
        held = dict.get(target, key, _NOTHING)
        if isinstance(held, Undefined) and target.default_factory is not None:
            is_there(self.recorder, Undefined(held.name), f"a defaultdict has the key {key!r}")
        if held is _NOTHING and target.default_factory is not None:
            made = self.recorder.run(target.default_factory, (), {})
            self.recorder.reads.made(made)
            self.setitem(target, key, made)

    def setitem(self, target: Any, key: Any, value: Any) -> None:
        if isinstance(target, (np.ndarray, Tensor)):
            target = self.recorder.constant(target)
        if isinstance(target, Scalar) and target.kind is not None:
            operator.setitem(python_class(target)(), 0, value)  # raises, whatever the index is
        if isinstance(target, (Traced, Collected)):
            target[key] = value  # type: ignore[index]  # an Array; anything else raises as it should
            return
        if isinstance(target, dict):
            self.recorder.stand_ins.check_found(key)
        grown = self.recorder.lists.grown_by(target)
        if grown is not None:
            grown.set(key, value)
            return
        if self._own_item(target, ("__setitem__",), key, value) is not None:
            return
        if isinstance(target, _UNCHANGEABLE):
            target[key] = value  # type: ignore[index]  # raises
        grown = self.recorder.lists.changed_at(target, key)
        if grown is not None:
            grown.set(key, value)
            return
        if isinstance(key, Traced):
            if self.recorder._home(target) is None:
                self.recorder.state.changes(target)
            key = known_key(self.recorder, key) if isinstance(target, dict) else operator.index(key)
        if set_in_dict(self.recorder, target, key, value):
            return
        self.recorder.reads.made(value)
        if has_places(target):
            note_assigned(self.recorder, target, key)
            self.recorder.change_place(target, key, f"[{key!r}]")
        elif type(target) not in _WITH_ITEMS:
            uncaptured(self.recorder, operator.setitem, (target, key, value), {})
            return
        else:
            self.recorder.change_object(target, "[...] = ...")
        target[key] = value

    def update_item(self, target: Any, key: Any, op: str, by: Any) -> None:
        self._update_item(target, key, op, lambda: by)

    def update_item_late(self, target: Any, key: Any, op: str, by: Callable[[], Any]) -> None:
        self._update_item(target, key, op, by)

    def _update_item(self, target: Any, key: Any, op: str, by: Callable[[], Any]) -> None:
        current = self.getitem(target, key)
        if isinstance(current, (np.ndarray, Tensor)):
            current = self.recorder.constant(current)
        new = updated(self.recorder, op, current, by())
        if new is current and isinstance(new, Array) and (new.path or not isinstance(target, Array)):
            return  # a view, or an array that a container holds: what was written into it is there already
        self.setitem(target, key, new)

    def delitem(self, target: Any, key: Any) -> None:
        if isinstance(target, Joined):
            target.refuse_change("del")
        if isinstance(target, Opaque):
            self.recorder.create(operator.delitem, (target, key), {}, None)
            return
        if isinstance(target, Collected):
            target.changed("del")
        if isinstance(target, Traced):
            raise ValueError("cannot delete array elements")
        grown = self.recorder.lists.grown_by(target)
        grown = self.recorder.lists.held_by(target, key) if grown is None else grown
        grown = self.recorder.lists.changed_at(target, key) if grown is None else grown
        if grown is not None:
            grown.delete(key)
            return
        key = key_asked(self.recorder, target, key)
        self.read(held_item(target, key))  # raises where it may be missing, and is
        if delete_in_dict(self.recorder, target, key) or self._own_item(target, ("__delitem__",), key) is not None:
            return
        if type(target) not in _WITH_ITEMS:
            uncaptured(self.recorder, operator.delitem, (target, key), {})
            return
        self.recorder.change_object(target, "del")
        del target[key]

    def spread(self, value: Any) -> Any:
        refuse_advance(self.recorder, value)
        value = self._of_graph(self.recorder.lists.taken(begun(self.recorder, value)))
        return spread(self.recorder, value)

    def display(self, value: Any) -> Any:
        return display(self.recorder, value)

    def keywords(self, value: Any, count: int) -> Any:
        return keywords_of(whole(self.recorder, self._of_graph(value)), count)

    def _of_graph(self, value: Any) -> Any:
        grown = self.recorder.lists.get(value)
        return self.held(value) if grown is None else grown.handle

    def operand(self, value: Any) -> Any:
        grown = self.recorder.lists.get(value)
        return grown if isinstance(grown, Opaque) else self.held(value)

    def unpack(self, value: Any, before: int, after: int, starred: bool) -> Any:
        refuse_advance(self.recorder, value)
        value = begun(self.recorder, self.held(value))
        if isinstance(value, Generated):
            value = value.settled()
        if isinstance(value, (Array, Collected)) and not starred:
            value = self.recorder.unpacked(value, before)
        elif self.recorder.lists.get(value) is not None:
            return self.recorder.unpacked_unknown(self.recorder.lists.get(value), before, after, starred)
        elif isinstance(value, Opaque):
            return self.recorder.unpacked_unknown(value, before, after, starred)
        return [self.recorder.met(item) for item in super().unpack(value, before, after, starred)]

    def iterate(self, iterable: Any) -> Any:
        recorder = self.recorder
        refuse_advance(recorder, iterable)
        iterable = begun(recorder, self.held(iterable))
        grown = recorder.lists.get(iterable)
        items = iterable if grown is None else grown
        length = items.length if isinstance(items, Items) and items.traced else None
        if isinstance(items, Opaque) or (length is not None and not recorder.can_decide(length)):
            recorder.refuse(
                "a loop in a generator or in a nested comprehension whose number of steps is traced",
                help="write it as a `for` that appends to a list",
            )
        return items

    # Calls

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.recorder.state.handed_over:
            args, kwargs = tuple(map(self.held, args)), {name: self.held(value) for name, value in kwargs.items()}
        if has_spread(args) or has_spread(kwargs.values()):
            return call_spread(self.recorder, function, args, kwargs)
        return call(self.recorder, function, args, kwargs)

    def definition(self) -> Any:
        return self._defined

    def _defined(self, function: Any) -> Any:
        self.recorder.made(function)
        return function

    def decorator(self, decorate: Any) -> Any:
        own = isinstance(decorate, (FunctionType, MethodType, type)) and is_own(decorate)
        return partial(self.call, decorate) if own else decorate


def _is_item(target: Any, name: str) -> bool:
    """Whether an attribute is an item: of a dict that has `self.__dict__ = self`."""
    return pytree.has_items_as_attributes(target) and not hasattr(type(target), name)


def _is_own(left: Any, right: Any) -> bool:
    """Whether one of two operands is of a class of the program's own."""
    return is_own_class(type(left)) or is_own_class(type(right))


def _is_truth(value: Any) -> bool:
    return (
        type(value) is bool
        or isinstance(value, np.bool_)
        or (isinstance(value, Scalar) and (value.kind is bool or value.kind == np.bool_))
    )
