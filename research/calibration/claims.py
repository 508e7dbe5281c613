"""Write the table of all statistical claims from the measured rates.

    python research/calibration/claims.py

The script reads `research/calibration/claims/*.json`, which the scripts `claims_*.py` write, and writes
`research/calibration/CLAIMS.md`. An error rate meets its target if the rate minus two standard errors does, a coverage
or power if the rate plus two standard errors does.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
TITLES = {
    "gate": "Release gate and plans",
    "inference": "Intervals, segments, clusters and repeats",
    "gain_fit": "Fitted gains",
    "evidence": "Sensitivity and discordance",
}
HEAD = "| Row | Claim | Target | Before | Now | Samples | Within target |\n|---|---|---|---|---|---:|---|\n"


class Claim(NamedTuple):
    """A claim, its target, and a simulation that returns the results without and with the method of the claim."""

    row: int | str
    claim: str
    direction: str
    target: float
    simulate: Callable[[int], tuple[float, float]]


def simulate_claims(description: str | None, name: str, claims: Sequence[Claim]) -> None:
    """Simulate claims, and write their rates to a JSON file after each of them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--output", type=Path, default=HERE / "claims" / f"{name}.json")
    options = parser.parse_args()
    rows = []
    for claim in claims:
        results = np.array([claim.simulate(sample) for sample in range(options.samples)], dtype=float)
        before, after = (
            {"rate": round(rate, 4), "se": round(math.sqrt(rate * (1 - rate) / options.samples), 4)}
            | {"samples": options.samples}
            for rate in results.mean(axis=0).tolist()
        )
        content = {"row": claim.row, "claim": claim.claim, "direction": claim.direction, "target": claim.target}
        rows.append(content | {"before": before, "after": after})
        options.output.write_text(json.dumps(rows, indent=1) + "\n")
        print(rows[-1], flush=True)


def format_rate(result: dict[str, Any] | None) -> str:
    """Return a rate with its standard error."""
    if not result:
        return "–"
    return f"{result['rate']:.3f}" + (f" ± {result['se']:.3f}" if result["se"] is not None else "")


def is_within(row: dict[str, Any]) -> bool:
    """Return whether a rate meets its target, up to two standard errors."""
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
