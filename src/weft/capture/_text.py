"""Text made of traced values: put together when the graph runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.capture._values import is_traced

if TYPE_CHECKING:
    from weft.capture._recorder import Recorder


def has_traced(parts: tuple[Any, ...]) -> bool:
    """Whether an f-string shows a traced value."""
    return any(isinstance(part, tuple) and (is_traced(part[0]) or has_traced(part[2])) for part in parts)


def captured_text(recorder: Recorder, parts: tuple[Any, ...]) -> Any:
    """An f-string as a call of `str.format`."""
    values: list[Any] = []
    template = _template(parts, values)
    return recorder.wrap(recorder.create(str.format, (template, *values), {}, str), str)


def captured_percent(recorder: Recorder, text: Any, values: Any) -> Any:
    """`text % values`, put together when the graph runs."""
    return recorder.wrap(recorder.create(percent, (text, values), {}, str), str)


def percent(text: str, values: Any) -> str:
    """`text % values`."""
    return text % values


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
