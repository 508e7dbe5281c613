"""Simulate statistical claims, store their rates, and write the table of all claims.

    python research/calibration/claims.py

The scripts `claims_*.py` list studies. `run_studies` simulates them and stores the rates in
`research/calibration/claims/*.json` after each chunk of samples, so an interrupted calibration continues. This script
writes `research/calibration/CLAIMS.md` from these files. An error rate meets its target if the rate minus two standard
errors does, a coverage or power if the rate plus two standard errors does.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
TITLES = {
    "bounds": "One bound for every statement",
    "gate": "Release gate and plans",
    "guards": "Release gate with guards and segments",
    "inference": "Intervals, segments, clusters and repeats",
    "evidence": "Sensitivity and discordance",
}
HEAD = "| Row | Claim | Target | Before | Now | Samples | Within target |\n|---|---|---|---|---|---:|---|\n"
CHUNK = 50
"""So many samples are drawn before the results are stored."""


class Target(NamedTuple):
    """Direction, "at most" or "at least", and rate of a target. A rate of None is only informative."""

    direction: str
    rate: float | None


def at_most(rate: float | None = None) -> Target:
    """Return the target of an error rate."""
    return Target("at most", rate)


def at_least(rate: float | None = None) -> Target:
    """Return the target of a coverage or power."""
    return Target("at least", rate)


class Study(NamedTuple):
    """Claims about the same samples.

    Attributes
    ----------
    row : str
        Row in the table.
    setting : str
        Population and size of a sample.
    trial : callable
        It draws a sample with the generator, and returns for each claim whether the sample is an event that the claim
        counts. None means that the sample does not count.
    targets : mapping of str to Target
        Target of each claim.
    divisor : int
        The number of samples is divided by this number, if they take long.
    """

    row: str
    setting: str
    trial: Callable[[np.random.Generator], Mapping[str, bool | None]]
    targets: Mapping[str, Target]
    divisor: int = 1

    def draw(self, numbers: Sequence[int]) -> Counter[tuple[str, bool]]:
        """Return how often the claims were true and false in the samples with these numbers."""
        counts: Counter[tuple[str, bool]] = Counter()
        for number in numbers:
            result = self.trial(np.random.default_rng([zlib.crc32(self.setting.encode()), number]))
            counts.update((claim, bool(event)) for claim, event in result.items() if event is not None)
        return counts


class Rates:
    """Stored rates of one script: one entry per study and claim, with the columns `before` and `after`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        entries = json.loads(path.read_text("utf-8")) if path.exists() else []
        self.entries = {entry["claim"]: entry for entry in entries}

    def count_drawn(self, study: Study, column: str) -> int:
        """Return how many samples of a study are stored in a column."""
        results = (self.entries.get(f"{study.setting}: {claim}", {}).get(column) for claim in study.targets)
        return min((result["drawn"] if result else 0) for result in results)

    def add(self, study: Study, column: str, drawn: int, counts: Mapping[tuple[str, bool], int]) -> None:
        """Store the counts of a number of samples."""
        for claim, target in study.targets.items():
            text = f"{study.setting}: {claim}"
            events, samples = counts[claim, True], counts[claim, True] + counts[claim, False]
            head = {"row": study.row, "claim": text, "direction": target.direction, "target": target.rate}
            result = {"events": events, "samples": samples, "drawn": drawn}
            columns = {"before": None, "after": None} | self.entries.get(text, {})
            self.entries[text] = columns | head | {column: result}
        temporary = self.path.with_suffix(".part")
        temporary.write_text(json.dumps(list(self.entries.values()), indent=1) + "\n", "utf-8")
        os.replace(temporary, self.path)

    def read_counts(self, study: Study, column: str) -> Counter[tuple[str, bool]]:
        """Return the stored counts of a study."""
        counts: Counter[tuple[str, bool]] = Counter()
        for claim in study.targets:
            result = (self.entries.get(f"{study.setting}: {claim}") or {}).get(column)
            if result:
                counts[claim, True] = result["events"]
                counts[claim, False] = result["samples"] - result["events"]
        return counts

    def keep(self, studies: Sequence[Study]) -> None:
        """Sort the entries as the studies, and drop those that are no longer simulated."""
        texts = [f"{study.setting}: {claim}" for study in studies for claim in study.targets]
        self.entries = {text: self.entries[text] for text in texts if text in self.entries}


_studies: Sequence[Study] = ()


def _draw(task: tuple[int, Sequence[int]]) -> Counter[tuple[str, bool]]:
    return _studies[task[0]].draw(task[1])


@contextmanager
def _start_processes(studies: Sequence[Study], workers: int) -> Iterator[Callable[..., Any]]:
    """Yield a function like `map` that uses several processes, which inherit the studies."""
    global _studies
    _studies = studies
    if workers == 1:
        yield map
        return
    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        yield pool.map


def run_studies(description: str | None, name: str, studies: Sequence[Study]) -> None:
    """Simulate the studies of a script, and store their rates."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4000, help="samples per study, fewer if they take long")
    parser.add_argument("--rows", nargs="*", help="simulate only these rows")
    parser.add_argument("--settings", default="", help="simulate only settings with this text")
    parser.add_argument("--column", choices=["before", "after"], default="after", help="column of the rates")
    parser.add_argument("--fresh", action="store_true", help="do not continue from the stored samples")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, default=HERE / "claims" / f"{name}.json")
    options = parser.parse_args()
    rates = Rates(options.output)
    rates.keep(studies)
    with _start_processes(studies, options.workers) as draw:
        for place, study in enumerate(studies):
            if (options.rows is None or study.row in options.rows) and options.settings in study.setting:
                _run_study(study, place, options, rates, draw)


def _run_study(study: Study, place: int, options: argparse.Namespace, rates: Rates, draw: Callable[..., Any]) -> None:
    """Draw the samples of a study that are missing, and store the rates after each chunk."""
    start, last = time.perf_counter(), max(1, options.samples // study.divisor)
    first = 0 if options.fresh else rates.count_drawn(study, options.column)
    counts = rates.read_counts(study, options.column) if first else Counter[tuple[str, bool]]()
    chunks = [range(number, min(number + CHUNK, last)) for number in range(first, last, CHUNK)]
    for chunk, drawn in zip(chunks, draw(_draw, [(place, chunk) for chunk in chunks]), strict=True):
        counts.update(drawn)
        rates.add(study, options.column, chunk[-1] + 1, counts)
    if not chunks:
        return
    for claim in study.targets:
        entry = rates.entries[f"{study.setting}: {claim}"]
        print(format_row(entry).strip(), f"({time.perf_counter() - start:.0f} s)", flush=True)


def estimate_rate(result: Mapping[str, Any]) -> tuple[float, float]:
    """Return a rate and its standard error."""
    rate, samples = result["events"] / result["samples"], result["samples"]
    return rate, math.sqrt(rate * (1 - rate) / samples)


def format_rate(result: Mapping[str, Any] | None) -> str:
    """Return a rate with its standard error."""
    if not result:
        return "–"
    if not result["samples"]:
        return "no case"
    rate, error = estimate_rate(result)
    return f"{rate:.3f} ± {error:.3f}"


def is_within(entry: Mapping[str, Any]) -> bool:
    """Return whether a rate meets its target, up to two standard errors."""
    rate, error = estimate_rate(entry["after"])
    if entry["direction"] == "at least":
        return bool(rate + 2 * error >= entry["target"])
    return bool(rate - 2 * error <= entry["target"])


def format_row(entry: Mapping[str, Any]) -> str:
    """Return the row of one claim. Without a target, the rate is only informative."""
    target, result = entry["target"], entry["after"]
    sign = "≥" if entry["direction"] == "at least" else "≤"
    has_outcome = target is not None and result and result["samples"]
    outcome = "–" if not has_outcome else "yes" if is_within(entry) else "**no**"
    cells = [
        entry["row"],
        entry["claim"],
        "–" if target is None else f"{sign} {target:g}",
        format_rate(entry["before"]),
        format_rate(result),
        f"{result['samples']:,}" if result else "not measured",
        outcome,
    ]
    return f"| {' | '.join(cells)} |\n"


def build_table() -> str:
    """Return the content of the page."""
    parts = ["# Claims\n"]
    for name, title in TITLES.items():
        entries = json.loads((HERE / "claims" / f"{name}.json").read_text("utf-8"))
        entries.sort(key=lambda entry: [int(part) for part in re.findall(r"\d+", entry["row"])])
        parts.append(f"## {title}\n\n{HEAD}{''.join(map(format_row, entries))}")
    return "\n".join(parts)


if __name__ == "__main__":
    (HERE / "CLAIMS.md").write_text(build_table(), encoding="utf-8")
