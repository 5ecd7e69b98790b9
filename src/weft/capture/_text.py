"""Text made of traced values: put together when the graph runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from weft.capture._numpy_probe import Samples
from weft.capture._own_methods import shown
from weft.capture._values import shows_traced
from weft.graph._effects import has_side_effect

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def has_traced(parts: tuple[Any, ...]) -> bool:
    """Whether an f-string shows a traced value."""
    return any(isinstance(part, tuple) and (shows_traced(part[0]) or has_traced(part[2])) for part in parts)


def with_shown(recorder: Recorder, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The parts of an f-string, with the text of objects whose class says in the program what they show."""
    return tuple(part if isinstance(part, str) else _with_text(recorder, *part) for part in parts)


def _with_text(recorder: Recorder, value: Any, conversion: str | None, spec: tuple[Any, ...]) -> Any:
    text = value if spec and not conversion else shown(recorder, value, conversion)
    return (value, conversion, spec) if text is value else (text, None, spec)


def captured_text(recorder: Recorder, parts: tuple[Any, ...]) -> Any:
    """An f-string as a call of `str.format`."""
    values: list[Any] = []
    template = _template(parts, values)
    _check_fits(recorder, template.format, values)
    return recorder.wrap(recorder.create(str.format, (template, *values), {}, str), str)


def captured_percent(recorder: Recorder, text: Any, values: Any) -> Any:
    """`text % values`, put together when the graph runs."""
    _check_fits(recorder, lambda shown: percent(text, shown), [values])
    return recorder.wrap(recorder.create(percent, (text, values), {}, str), str)


def _check_fits(recorder: Recorder, put: Callable[..., str], values: Sequence[Any]) -> None:
    """Refuse a text that cannot be put together, `{x:.2f}` of an array, where the program would catch that."""
    if recorder.trying:
        try:
            put(*Samples().of(list(values)))
        except (TypeError, ValueError) as error:
            if recorder.catches(type(error)):
                recorder.try_anyway("a text of these values")


def percent(text: str, values: Any) -> str:
    """`text % values`."""
    return str(text % values)


@has_side_effect
def print_error(*values: Any, **how: Any) -> None:
    """`print(..., file=sys.stderr)`."""
    print(*values, file=sys.stderr, **how)  # noqa: T201  # as the program does


def captured_print(recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A call of `print`: in the graph it writes to what is standard output, or error, when it runs."""
    file = kwargs.get("file")
    if file is not None and file is not sys.stdout and file is not sys.stderr:
        recorder.refuse(
            f"print(..., file=...) into a {type(file).__name__}", help="return the text, and write it outside"
        )
    args = tuple(shown(recorder, value, "s") for value in args)
    how = {key: value for key, value in kwargs.items() if key != "file"}
    recorder.create(print_error if file is not None and file is sys.stderr else print, args, how, None)


def _template(parts: tuple[Any, ...], values: list[Any]) -> str:
    made = []
    for part in parts:
        if isinstance(part, str):
            made.append(part.replace("{", "{{").replace("}", "}}"))
            continue
        value, conversion, spec = part
        place = len(values)
        values.append(value)
        shown = f"!{conversion}" if conversion else ""
        format_spec = _spec(spec, values) if spec else ""
        made.append("{" + str(place) + shown + (f":{format_spec}" if format_spec else "") + "}")
    return "".join(made)


def _spec(parts: tuple[Any, ...], values: list[Any]) -> str:
    made = []
    for part in parts:
        if isinstance(part, str):
            made.append(part)
        else:
            made.append("{" + str(len(values)) + "}")
            values.append(part[0])
    return "".join(made)
