"""Tests that pass say nothing: what is left on the screen is what went wrong, and the closing line."""

from __future__ import annotations

import pytest

# Imported by the tests of ops; collected for doctests they would be imported twice, and every case tested twice.
collect_ignore_glob = ["ops/cases*.py"]


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    quiet = config.get_verbosity() < 0
    if quiet and report.passed and report.when == "call":
        return "passed", "", "PASSED"
    return None
