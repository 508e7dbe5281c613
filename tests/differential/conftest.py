"""What was compared with each oracle, shown at the end of a run in one process."""

from __future__ import annotations

from typing import Any

from random_queries import TALLY


def pytest_terminal_summary(terminalreporter: Any) -> None:
    oracles = sorted({oracle for oracle, _ in TALLY})
    if oracles:
        terminalreporter.section("compared with oracles")
    for oracle in oracles:
        numbers = ", ".join(f"{TALLY[oracle, what]} {what}" for what in ("examples", "queries", "values"))
        terminalreporter.write_line(f"{oracle}: {numbers}")
