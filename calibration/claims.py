"""Write the table of all statistical claims, from the rates that the other scripts measured.

    python calibration/claims.py

It reads `calibration/claims/*.json` and writes `calibration/CLAIMS.md`, which the documentation shows. An error rate is
within its target if it minus two standard errors is, a coverage or power if it plus two standard errors is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TITLES = {
    "gate": "Release gate and plans",
    "inference": "Intervals, segments, clusters and repeats",
    "gain_fit": "Fitted gains",
    "evidence": "Sensitivity and discordance",
}
HEAD = "| Row | Claim | Target | Before | Now | Samples | Within target |\n|---|---|---|---|---|---:|---|\n"


def format_rate(result: dict[str, Any] | None) -> str:
    """Return a rate with its standard error."""
    if not result:
        return "–"
    return f"{result['rate']:.3f}" + (f" ± {result['se']:.3f}" if result["se"] is not None else "")


def is_within(row: dict[str, Any]) -> bool:
    """Return whether the rate meets its target, up to two standard errors."""
    result, target = row["after"], row["target"]
    if row.get("direction") == "at least":
        return bool(result["rate"] + 2 * result["se"] >= target)
    return bool(result["rate"] - 2 * result["se"] <= target)


def format_row(row: dict[str, Any]) -> str:
    """Return the row of one claim. Without a target, the rate is only informative."""
    target, result = row["target"], row["after"]
    sign = "≥" if row.get("direction") == "at least" else "≤"
    outcome = "–" if target is None or not result else "yes" if is_within(row) else "**no**"
    cells = [
        str(row["row"]).replace("evidence", "–"),
        row["claim"],
        "–" if target is None else f"{sign} {target:g}",
        format_rate(row.get("before")),
        format_rate(result),
        f"{result['samples']:,}" if result else "not measured",
        outcome,
    ]
    return f"| {' | '.join(cells)} |\n"


def build_table() -> str:
    """Return the content of the page."""
    parts = ["# Claims\n"]
    for name, title in TITLES.items():
        rows = json.loads((HERE / "claims" / f"{name}.json").read_text("utf-8"))
        rows.sort(key=lambda row: [int(part) for part in re.findall(r"\d+", str(row["row"]))])
        parts.append(f"## {title}\n\n{HEAD}{''.join(map(format_row, rows))}")
    return "\n".join(parts)


if __name__ == "__main__":
    (HERE / "CLAIMS.md").write_text(build_table(), encoding="utf-8")
