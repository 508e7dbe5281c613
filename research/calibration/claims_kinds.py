"""Measure how many verdicts about ordinary queries have the same kind as in another version of the package.

    PYTHONPATH=OTHER/src python research/calibration/claims_kinds.py --store
    python research/calibration/claims_kinds.py

The first command stores the kinds in `research/calibration/claims/kinds.json`, the second one prints the share of equal
kinds for each scenario of `populations.py`, at 3,000 queries.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from populations import SCENARIOS, compare, draw_rows, simulate, tilt

STORED = Path(__file__).parent / "claims" / "kinds.json"
QUERIES = 3000

_population = np.empty(0)


def find_kinds(task: tuple[int, int]) -> str:
    """Return the first letters of the kinds of all samples of a scenario."""
    place, samples = task
    probabilities = tilt(_population, SCENARIOS[place].truth)
    kinds = []
    for seed in range(samples):
        rows = _population[draw_rows(np.random.default_rng([place, seed]), probabilities, QUERIES)]
        kinds.append(compare(np.moveaxis(rows, 1, 0), seed).verdict.kind[0])
    return "".join(kinds)


def main() -> None:
    """Store the kinds, or compare them with the stored ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=200, help="samples per scenario")
    parser.add_argument("--store", action="store_true", help="store the kinds")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    global _population
    _population = simulate(60_000, 0)
    tasks = [(place, options.samples) for place in range(len(SCENARIOS))]
    with ProcessPoolExecutor(options.workers, get_context("fork")) as pool:
        kinds = dict(zip((scenario.name for scenario in SCENARIOS), pool.map(find_kinds, tasks), strict=True))
    if options.store:
        STORED.write_text(json.dumps(kinds, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    stored, total = json.loads(STORED.read_text(encoding="utf-8")), []
    for name, letters in kinds.items():
        equal = [first == second for first, second in zip(letters, stored[name], strict=False)]
        total += equal
        print(f"{np.mean(equal):.3f} of {len(equal)}  {name}")
    print(f"{np.mean(total):.4f} of {len(total)}  all scenarios")


if __name__ == "__main__":
    main()
