"""Which tracer, if any, is recording in this thread of execution.

Kept in a context variable, so several threads (or tasks) trace at the same time without seeing each other.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

current_tracer: ContextVar[Any] = ContextVar("weft_current_tracer", default=None)
"""The tracer that module calls and parameter reads report to; None when nothing is being traced."""

current_recorder: ContextVar[Any] = ContextVar("weft_current_recorder", default=None)
"""The recorder of the program that is being captured; None when none is."""
