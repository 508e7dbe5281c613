"""Run the benchmarks and write their output to RESULTS.md.

    python research/benchmarks/run.py [--only sizes threads …] [--output RESULTS.md] [--limit 600]

The file is written after each script. Sections of other scripts remain.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from gainwise.ranking import compiled

HERE = Path(__file__).parent

TITLES = {
    "evaluation": "One evaluation, compared with the built-in metrics",
    "rounds": "Evaluation during training",
    "training": "Whole training runs",
    "other_packages": "Other packages",
    "files": "Evaluation from files",
    "sizes": "Number of documents and length of queries",
    "threads": "Threads",
    "ranking": "Ranking only",
    "memory": "Memory",
    "report": "HTML report",
    "models": "Many models",
    "import_time": "Import time",
    "curves": "Curves during training",
    "experiments": "Experiments",
}
"""Title by script."""

SINGLE_IMPLEMENTATION = ("other_packages", "sizes", "ranking", "memory", "report", "models")
"""Scripts that use one implementation. If that is the compiled core, they also run without it."""

INTRODUCTION = """# Benchmarks

Ratios are medians of interleaved runs. If a ratio is below 1, gainwise is faster. `make bench` repeats them.
"""


def run_script(name: str, limit: float, **environment: str) -> str:
    """Return the command of a script and its output, or its error."""
    command = [sys.executable, f"{name}.py"]
    settings = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
    try:
        process = subprocess.run(command, cwd=HERE, capture_output=True, text=True, env=settings, timeout=limit)
        text = process.stdout
        if process.returncode:
            text += f"\nFailed:\n\n```\n{process.stderr[-2000:]}\n```"
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        text = f"{output.decode() if isinstance(output, bytes) else output}\nStopped after {limit:.0f} s."
    lines = [line for line in text.splitlines() if not line.startswith("[LightGBM]")]
    call = " ".join(
        [*(f"{key}={value}" for key, value in environment.items()), f"python research/benchmarks/{name}.py"]
    )
    return f"`{call}`\n\n" + "\n".join(lines).strip() + "\n"


def build_section(name: str, limit: float) -> str:
    """Run a script, with each implementation if necessary, and return its section."""
    parts = [run_script(name, limit)]
    if name in SINGLE_IMPLEMENTATION and compiled.core() is not None:
        parts.append(run_script(name, limit, GAINWISE_KERNEL="0"))
    return f"## {TITLES[name]}\n\n" + "\n".join(parts)


def read_sections(path: Path) -> dict[str, str]:
    """Return the sections of an existing file by script."""
    if not path.exists():
        return {}
    names = {title: name for name, title in TITLES.items()}
    parts = path.read_text(encoding="utf-8").split("\n## ")[1:]
    return {names[part.partition("\n")[0]]: f"## {part.rstrip()}\n" for part in parts}


def main() -> None:
    """Write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=TITLES, default=list(TITLES), help="scripts to run, in order")
    parser.add_argument("--output", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--limit", type=float, default=3600, help="seconds per script")
    arguments = parser.parse_args()
    sections = read_sections(arguments.output)
    for name in arguments.only:
        start = time.perf_counter()
        sections[name] = build_section(name, arguments.limit)
        print(f"{TITLES[name]}: {time.perf_counter() - start:.0f} s", flush=True)
        page = [INTRODUCTION, *(sections[script] for script in TITLES if script in sections)]
        arguments.output.write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
