"""Run the benchmarks that compare and write what they print to RESULTS.md.

python benchmarks/run.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

REPORTS = {
    "One evaluation against the built-in metrics": ["evaluation.py"],
    "Whole trainings": ["training.py"],
    "Against other packages": ["peers.py"],
}


def main() -> None:
    """Write the results."""
    parts = ["# Benchmarks\n\nRatios of runs that took turns; below 1 ours is faster. Repeat them with `make bench`.\n"]
    for title, command in REPORTS.items():
        print(title, flush=True)
        done = subprocess.run(
            [sys.executable, *command], cwd=HERE, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if not line.startswith("[LightGBM]")]
        parts.append(f"## {title}\n\n`python benchmarks/{' '.join(command)}`\n\n" + "\n".join(lines).strip() + "\n")
    (HERE / "RESULTS.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
