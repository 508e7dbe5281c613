"""Compute the coverage of each subpackage, and compare it with the recorded totals.

make coverage && coverage combine && coverage json -o coverage.json
python recordings/coverage_totals.py coverage.json            # exit code 1 if a subpackage lost coverage
python recordings/coverage_totals.py coverage.json --record
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

RECORDED = Path(__file__).resolve().parent / "data" / "coverage.json"
TOTALS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def sum_by_package(report: Path) -> dict[str, dict[str, int]]:
    """Return the numbers of lines and branches of every subpackage."""
    totals: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(TOTALS, 0))
    for name, file in json.loads(report.read_text())["files"].items():
        inside = Path(name).parts[Path(name).parts.index("gainwise") + 1 :]
        for package in ("all", inside[0] if len(inside) > 1 else "top level"):
            for total in TOTALS:
                totals[package][total] += file["summary"][total]
    return dict(sorted(totals.items()))


def compute_share(totals: dict[str, int]) -> float:
    """Return the covered share of lines and branches, as coverage does."""
    reached = totals["covered_lines"] + totals["covered_branches"]
    return reached / max(1, totals["num_statements"] + totals["num_branches"])


def count_missed(totals: dict[str, int]) -> int:
    """Return the number of branches that no test covers."""
    return totals["num_branches"] - totals["covered_branches"]


def main() -> None:
    """Compare or record the totals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    totals = sum_by_package(options.report)
    if options.record:
        RECORDED.write_text(json.dumps(totals, indent=1) + "\n")
    recorded, worse = json.loads(RECORDED.read_text()), False
    print(f"{'subpackage':<14}{'recorded':>10}{'now':>10}{'branches missed, recorded':>28}{'now':>6}")
    for package, before in recorded.items():
        now = totals.get(package, dict.fromkeys(TOTALS, 0))
        lower = compute_share(now) < compute_share(before) - 1e-12
        worse |= lower
        shares = f"{compute_share(before):>10.2%}{compute_share(now):>10.2%}"
        line = f"{package:<14}{shares}{count_missed(before):>28}{count_missed(now):>6}"
        print(line + (" lower" if lower else ""))
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
