"""The hooks of a survey: each part of a program that cannot be captured is noted where it stands, and passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from weft import _where
from weft.capture._branch import Branch, Join, PathEnded
from weft.capture._carry import Again, Carry
from weft.capture._convert_site import Site
from weft.capture._hooks import Hooks
from weft.capture._loop_for import ForLoop
from weft.capture._loop_while import WhileLoop
from weft.capture._plain import PlainIf
from weft.capture._raising import caught_classes
from weft.capture._survey import Surveyor
from weft.capture._values import MaybeUnbound, PartlyDefined, Undefined
from weft.errors import TraceError


class SurveyBranch(Branch):
    """A branch that notes every variable on which its sides disagree."""

    recorder: Surveyor

    def _join(self) -> tuple[Any, ...]:
        recorder = self.recorder
        if recorder.strict:
            return super()._join()
        names = (*self.site.names, *self.watched.names)
        for index, name in enumerate(names):
            if name in self.site.live or index >= len(self.site.names):
                self._check(index, name)
        try:
            return super()._join()
        except TraceError as error:
            recorder.note(error, _place(self.site))
            return tuple(recorder.missing if name in self.site.live else Undefined(name) for name in names)

    def _check(self, index: int, name: str) -> None:
        """Try to join a variable, and give up on it where that fails; what the try records is never used."""
        sides = [result[index] for result in self.results]
        try:
            Join(self.recorder, self.regions).value(name, sides[0], sides[1], self)
        except TraceError as error:
            if not self.recorder.is_missing(sides):
                self.recorder.note(error, _place(self.site))
            for side, result in enumerate(self.results):
                self.results[side] = (*result[:index], self.recorder.missing, *result[index + 1 :])


class SurveyHooks(Hooks):
    """Hooks that note a problem and go on."""

    recorder: Surveyor
    branch_class = SurveyBranch

    def _try(self, operands: Any, compute: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.recorder.attempt(operands, compute, *args, **kwargs)

    def _passed(self, compute: Callable[..., Any], *args: Any) -> Any:
        """The same for parts that run code of the program's own, which has noted its problems itself."""
        if self.recorder.strict:
            return compute(*args)
        region = self.recorder.region
        try:
            return compute(*args)
        except TraceError as error:
            self.recorder.region = region
            self.recorder.note(error)
            return self.recorder.missing

    # Control flow

    def if_(self, site: int, test: Any, values: tuple[Any, ...], cells: Any = None) -> Any:
        sides = self._passed(super().if_, site, test, values, cells)
        return (PlainIf(True),) if sides is self.recorder.missing else sides

    def while_(self, site: int, values: tuple[Any, ...], cells: Any = None) -> Any:
        return SurveyWhile(self.recorder, self.sites[site], values, cells)

    def for_(self, site: int, iterable: Any, values: tuple[Any, ...], cells: Any = None) -> Any:
        recorder, place = self.recorder, self.sites[site]
        if recorder.strict:
            return SurveyFor(recorder, place, iterable, values, cells)
        loop = self._passed(SurveyFor, recorder, place, iterable, values, cells)
        return SurveyFor(recorder, place, (recorder.missing,), values) if loop is recorder.missing else loop

    def truth(self, site: int, value: Any) -> bool:
        return bool(self._passed(super().truth, site, value))

    def if_expression(self, site: int, test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        return self._passed(super().if_expression, site, test, body, orelse)

    def contains(self, item: Any, container: Any) -> Any:
        return self._try((item, container), super().contains, item, container)

    def comprehension(self, site: int, kind: str, iterable: Any, element: Any, condition: Any) -> Any:
        recorder = self.recorder
        parts = recorder.of_program(element), recorder.of_program(condition)
        return self._try(iterable, super().comprehension, site, kind, iterable, *parts)

    # Statements

    def assert_(self, site: int, condition: Any, message: Callable[[], Any] | None) -> None:
        self._try(condition, super().assert_, site, condition, self.recorder.of_program(message))

    def raise_(self, site: int, exception: Any, cause: Any) -> Any:
        made = self._passed(super().raise_, site, exception, cause)
        if made is not self.recorder.missing:
            return made
        self.recorder.region.failed = made.node
        return PathEnded()

    def try_(self, site: int, swallows: bool = False, named: bool = False, caught: Any = None) -> Any:
        return _SurveyTry(self.recorder, swallows, caught)

    def context(self, manager: Any) -> Any:
        made = self._passed(super().context, manager)
        return nullcontext(made) if made is self.recorder.missing else made

    def fstring(self, *parts: Any) -> Any:
        return self._try(parts, super().fstring, *parts)

    # Names

    def read(self, value: Any, free: bool = False) -> Any:
        recorder = self.recorder
        if not isinstance(value, Undefined) or isinstance(value, MaybeUnbound) or recorder.strict:
            return super().read(value, free)
        try:
            return super().read(value, free)
        except TraceError as error:
            recorder.note(error, once=(value.name, value.why))
            return value.value if isinstance(value, PartlyDefined) else recorder.missing

    def set_global(self, name: str, value: Any) -> None:
        self._try((), super().set_global, name, value)

    def assign_nonlocal(self, name: str, value: Any, cell: Any) -> Any:
        return self._try((), super().assign_nonlocal, name, value, cell)

    def update(self, name: str, value: Any, op: str, by: Any) -> Any:
        return self._try((value, by), super().update, name, value, op, by)

    def attr(self, value: Any, name: str) -> Any:
        return self._try(value, super().attr, value, name)

    def setattr(self, target: Any, name: str, value: Any) -> None:
        self._try(target, super().setattr, target, name, value)

    def delattr(self, target: Any, name: str) -> None:
        self._try(target, super().delattr, target, name)

    # Items

    def getitem(self, value: Any, key: Any) -> Any:
        return self._try((value, key), super().getitem, value, key)

    def setitem(self, target: Any, key: Any, value: Any) -> None:
        self._try((target, key, value), super().setitem, target, key, value)

    def _update_item(self, target: Any, key: Any, op: str, by: Callable[[], Any]) -> None:
        by = self.recorder.of_program(by)
        self._try((target, key), super()._update_item, target, key, op, by)

    def delitem(self, target: Any, key: Any) -> None:
        self._try((target, key), super().delitem, target, key)

    def unpack(self, value: Any, before: int, after: int, starred: bool) -> Any:
        recorder = self.recorder
        items = self._try(value, super().unpack, value, before, after, starred)
        return [recorder.missing] * (before + after + starred) if items is recorder.missing else items

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self._try((function, args, kwargs), super().call, function, *args, **kwargs)


class _SurveyTry:
    """The body of a `try` with handlers: the first problem in it stands for all of its kind."""

    def __init__(self, recorder: Surveyor, swallows: bool, caught: Any) -> None:
        self.recorder = recorder
        self.around = recorder.trying
        self.caught = caught_classes(swallows, caught)

    def __enter__(self) -> None:
        self.around = self.recorder.trying
        self.recorder.trying = (*self.around, self.caught)

    def __exit__(self, *exception: object) -> None:
        self.recorder.trying = self.around


class SurveyCarry(Carry):
    """The variables of a loop; one that changes its type is noted, and of unknown type from then on."""

    recorder: Surveyor
    loop: Any = None

    def _disagree(self, name: str, before: Any, after: Any) -> Any:
        recorder = self.recorder
        if recorder.strict or self.loop.may_unroll:
            return super()._disagree(name, before, after)
        try:
            super()._disagree(name, before, after)
        except TraceError as error:
            if not recorder.is_missing((before, after)):
                recorder.note(error, _place(self.site))
        names = self.site.names
        self.start = tuple(recorder.missing if n == name else v for n, v in zip(names, self.start, strict=True))
        self.maybe.pop(name, None)
        self.whole.add(name)
        raise Again

    def _shared(self, name: str, other: str) -> Any:
        if self.recorder.strict or self.loop.may_unroll:
            return super()._shared(name, other)
        try:
            super()._shared(name, other)
        except TraceError as error:
            self.recorder.note(error, _place(self.site))


class _SurveyLoop:
    """What both kinds of loops do in a survey."""

    recorder: Surveyor
    carry_class = SurveyCarry
    attempting = False
    noted = 0

    def __iter__(self: Any) -> Iterator[Any]:
        self.noted = len(self.recorder.problems)
        for _ in super().__iter__():  # type: ignore[misc]  # a Loop
            yield self
            if self.given_up and len(self.recorder.problems) > self.noted:
                return  # further steps would run into the same

    def enter(self: Any) -> tuple[Any, ...]:
        values: tuple[Any, ...] = super().enter()  # type: ignore[misc]  # a Loop
        if self.carry is not None:
            self.carry.loop = self
        return values

    def __enter__(self: Any) -> Any:
        self.attempting = self.active and self.may_unroll
        self.recorder.strict += self.attempting
        return super().__enter__()  # type: ignore[misc]  # a Loop

    def __exit__(self: Any, kind: Any, error: Any, trace: Any) -> bool:
        self.recorder.strict -= self.attempting
        return bool(super().__exit__(kind, error, trace))  # type: ignore[misc]  # a Loop

    def leave(self: Any, values: tuple[Any, ...], stop: Any) -> None:
        recorder, region = self.recorder, self.recorder.region
        try:
            super().leave(values, stop)  # type: ignore[misc]  # a Loop
        except TraceError as error:
            if recorder.strict:
                raise
            recorder.region = region
            if not recorder.is_missing((values, stop)):
                recorder.note(error, _place(self.site))
            names = zip(self.site.names, values, strict=True)
            self.values = tuple(recorder.missing if n in self.site.live else v for n, v in names)
            self.done = True


class SurveyFor(_SurveyLoop, ForLoop):
    """A `for`."""

    recorder: Surveyor


class SurveyWhile(_SurveyLoop, WhileLoop):
    """A `while`."""

    recorder: Surveyor

    def test(self, value: Any) -> bool:
        recorder, region = self.recorder, self.recorder.region
        try:
            return super().test(value)
        except TraceError as error:
            if recorder.strict or not self.active:
                raise
            recorder.note(error)
            recorder.leave(region)
            self.test_value = recorder.missing.node
            self.body = recorder.enter(self.head)
            self.body.own_cells = self.cells
            return True


def _place(site: Site) -> _where.Location:
    """Where a statement stands."""
    text = _where._line(site.file, site.line)
    end = site.end_column if site.end_line == site.line else len(text.rstrip()) + 1
    return _where.Location(site.file, site.line, site.column, site.line, end, site.function, None, text.strip())
