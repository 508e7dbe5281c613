"""Run the benchmarks that compare and write what they print to RESULTS.md.

    python benchmarks/run.py [--only sizes peers …] [--output RESULTS.md] [--limit 600]

The file is written after each of them. Sections of other scripts stay.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from gainsay.ranking import compiled

HERE = Path(__file__).parent

REPORTS = {
    "evaluation": "One evaluation against the built-in metrics",
    "rounds": "During training",
    "training": "Whole trainings",
    "peers": "Against other packages",
    "files": "From files to numbers",
    "sizes": "Sizes and shapes",
    "threads": "Threads",
    "ranking": "Ranking alone",
    "memory": "Memory",
    "report": "HTML report",
    "models": "Many models",
    "importing": "Import",
    "curves": "Curves while training",
    "experiments": "Whole experiments",
}
"""Title by script."""

ONE_PATH = ("peers", "sizes", "ranking", "memory", "report")
"""Scripts that evaluate by one path: where that is the compiled core, they run once more without it."""

INTRODUCTION = """# Benchmarks

Ratios of runs that took turns; below 1 ours is faster. Repeat them with `make bench`.
"""


def printed(name: str, limit: float, **environment: str) -> str:
    """Return how a script is called and what it prints, or what it says when it fails."""
    command = [sys.executable, f"{name}.py"]
    settings = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
    try:
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, env=settings, timeout=limit)
        text = done.stdout if done.returncode == 0 else f"{done.stdout}\nFailed:\n\n```\n{done.stderr[-2000:]}\n```"
    except subprocess.TimeoutExpired as error:
        found = error.stdout or b""
        text = f"{found.decode() if isinstance(found, bytes) else found}\nStopped after {limit:.0f} s."
    lines = [line for line in text.splitlines() if not line.startswith("[LightGBM]")]
    call = " ".join([*(f"{key}={value}" for key, value in environment.items()), f"python benchmarks/{name}.py"])
    return f"`{call}`\n\n" + "\n".join(lines).strip() + "\n"


def section(name: str, limit: float) -> str:
    """Return what a script prints, by either path, as a section."""
    parts = [printed(name, limit)]
    if name in ONE_PATH and compiled.core() is not None:
        parts.append(printed(name, limit, GAINSAY_KERNEL="0"))
    return f"## {REPORTS[name]}\n\n" + "\n".join(parts)


def read_sections(path: Path) -> dict[str, str]:
    """Return the sections of an earlier file by script."""
    if not path.exists():
        return {}
    names = {title: name for name, title in REPORTS.items()}
    parts = path.read_text(encoding="utf-8").split("\n## ")[1:]
    return {names[part.partition("\n")[0]]: f"## {part.rstrip()}\n" for part in parts}


def main() -> None:
    """Write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=REPORTS, default=list(REPORTS), help="scripts to run, in order")
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for each")
    arguments = parser.parse_args()
    results = read_sections(arguments.output)
    for name in arguments.only:
        start = time.perf_counter()
        results[name] = section(name, arguments.limit)
        print(f"{REPORTS[name]}: {time.perf_counter() - start:.0f} s", flush=True)
        page = [INTRODUCTION, *(results[report] for report in REPORTS if report in results)]
        arguments.output.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
