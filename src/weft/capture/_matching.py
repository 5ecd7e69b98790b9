"""Patterns of `match`: whether one fits a value, and what it captures.

On plain values this is Python's own meaning. Of a traced value, its class is known and decides; only literals compare
when the graph runs. What is of unknown type can be compared, and captured whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.capture._plain import PlainHooks

# Classes whose one positional pattern takes the value itself.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_SEQUENCE = 1 << 5  # a flag of classes: what sequence patterns match, not texts, and from NumPy 2.5 on arrays
_ABSENT = object()
Captured = dict[str, Any]


class Matcher:
    """One pattern of a case, with what evaluates the expressions in it."""

    def __init__(self, hooks: PlainHooks, site: int, values: tuple[Any, ...]) -> None:
        self.hooks, self.site, self.values = hooks, site, values

    def fits(self, pattern: tuple[Any, ...], subject: Any, found: Captured) -> Any:
        """Whether the pattern fits, a truth value that may be traced; `found` gets what it captures."""
        return getattr(self, f"_{pattern[0]}")(subject, found, *pattern[1:])

    def _value(self, subject: Any, found: Captured, value: int) -> Any:
        fits = self.hooks.compare("==", subject, self.values[value]())
        return fits if self.hooks.is_open(fits) else bool(fits)

    def _singleton(self, subject: Any, found: Captured, value: Any) -> Any:
        return self.hooks.is_constant(subject, value)

    def _as(self, subject: Any, found: Captured, inner: Any, name: str | None) -> Any:
        fits = True if inner is None else self.fits(inner, subject, found)
        if name is not None:
            found[name] = subject
        return fits

    def _or(self, subject: Any, found: Captured, patterns: tuple[Any, ...]) -> Any:
        result: Any = False
        for pattern in patterns:
            own: Captured = {}
            fits = self.fits(pattern, subject, own)
            if fits is False:
                continue
            for name, value in own.items():
                found[name] = value if result is False else self._either(result, found[name], value)
            if fits is True:
                return True
            result = fits if result is False else self._any(result, fits)
        return result

    def _any(self, one: Any, other: Any) -> Any:
        return self.hooks.or_(self.site, one, lambda: other)

    def _either(self, test: Any, one: Any, other: Any) -> Any:
        return one if one is other else self.hooks.if_expression(self.site, test, lambda: one, lambda: other)

    def _sequence(self, subject: Any, found: Captured, patterns: tuple[Any, ...]) -> Any:
        kind = self.hooks.known_class(subject, "sequence")
        if not kind.__flags__ & _SEQUENCE:
            return False
        count, stars = len(subject), [k for k, each in enumerate(patterns) if each[0] == "star"]
        if not stars:
            return count == len(patterns) and self._all(patterns, [subject[k] for k in range(count)], found)
        before, after = stars[0], len(patterns) - stars[0] - 1
        if count < before + after:
            return False
        name = patterns[before][1]
        if name is not None:
            found[name] = [subject[k] for k in range(before, count - after)]
        places = [*range(before), *range(count - after, count)]
        return self._all(patterns[:before] + patterns[before + 1 :], [subject[k] for k in places], found)

    def _mapping(self, subject: Any, found: Captured, keys: Any, patterns: Any, rest: str | None) -> Any:
        if not issubclass(self.hooks.known_class(subject, "mapping"), Mapping):
            return False
        names = [self.values[key]() for key in keys]
        if len(set(names)) < len(names):
            twice = next(name for k, name in enumerate(names) if name in names[:k])
            raise ValueError(f"mapping pattern checks duplicate key ({twice!r})")
        items = [subject.get(name, _ABSENT) for name in names]
        if any(item is _ABSENT for item in items):
            return False
        if rest is not None:
            found[rest] = {key: value for key, value in subject.items() if key not in names}
        return self._all(patterns, items, found)

    def _class(self, subject: Any, found: Captured, cls: int, patterns: Any, names: Any, by_name: Any) -> Any:
        kind = self.values[cls]()
        if not isinstance(kind, type):
            match subject:
                case kind():  # raises, in the words of the Python at hand
                    return False
        fits = self.hooks.call(isinstance, subject, kind)
        if fits is False:
            return False
        whole = issubclass(kind, _WHOLE) and not hasattr(kind, "__match_args__")
        if self.hooks.is_open(fits) and (names or len(patterns) > whole):
            self.hooks.known_class(subject, "class")
        if whole and len(patterns) == 1:
            return self._both(fits, self.fits(patterns[0], subject, found))
        wanted = (*_positional(kind, len(patterns), names, whole), *names)
        items = []
        for name in wanted:
            try:
                items.append(self.hooks.attr(subject, name))
            except AttributeError:
                return False
        return self._both(fits, self._all((*patterns, *by_name), items, found))

    def _all(self, patterns: tuple[Any, ...], items: list[Any], found: Captured) -> Any:
        result: Any = True
        for pattern, item in zip(patterns, items, strict=True):
            result = self._both(result, self.fits(pattern, item, found))
            if result is False:
                return False
        return result

    def _both(self, one: Any, other: Any) -> Any:
        if one is True or other is False:
            return other
        return self.hooks.and_(self.site, one, lambda: other)


def _positional(kind: type, count: int, names: tuple[str, ...], whole: bool) -> tuple[str, ...]:
    """The attributes that a class's positional patterns stand for."""
    known = getattr(kind, "__match_args__", ())
    allowed = 1 if whole else len(known)
    if not isinstance(known, tuple):
        raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {type(known).__name__})")
    if count > allowed:
        plural = "" if allowed == 1 else "s"
        raise TypeError(f"{kind.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)")
    for name in known[:count]:
        if not isinstance(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
        if name in names:
            raise TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {name!r}")
    return known[:count]
