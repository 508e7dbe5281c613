"""Find small changes of the code that no test detects (mutation testing).

`make` writes a list of mutants, made by the operators of mutmut. `try` runs the tests on each. `report` counts
outcomes.

    python tools/mutation make mutants.json src/gainwise/metrics src/gainwise/comparison
    python tools/mutation try mutants.json results.jsonl --jobs 2
    python tools/mutation report results.jsonl

The tests are imported and collected once. The process then forks for each mutant. The child replaces the code and runs
the tests that reach the changed statement, the fastest first, until one fails. If a change affects the import (a
default, a constant, a field), the child imports the package and its nearest tests again. An interrupted run continues.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from mutant import Mutant

KEYS = [field.name for field in fields(Mutant)]
DETECTED = ("killed", "timeout")


def read_results(files: list[Path]) -> list[dict[str, Any]]:
    """Read results. If a mutant was tried several times, its last result counts."""
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return list({tuple(line[key] for key in KEYS): line for line in lines}.values())


def print_report(results: list[dict[str, Any]]) -> None:
    """Print the numbers by package and by module, then every mutant that no test detected."""
    for get_group in (lambda result: str(Path(result["file"]).parent), lambda result: result["file"]):
        for key in sorted({get_group(result) for result in results}):
            count = Counter(result["outcome"] for result in results if get_group(result) == key)
            detected = sum(count[outcome] for outcome in DETECTED)
            print(f"{key:<50} {detected:>5} / {count.total():<5} {detected / count.total():6.1%}  {dict(count)}")
    for result in sorted(results, key=lambda result: (result["file"], result["start"])):
        if result["outcome"] not in DETECTED:
            print(f"{result['file']}:{result['line']} {result['outcome']}\n    {result['old']!r} -> {result['new']!r}")


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("make")
    command.add_argument("file", type=Path)
    command.add_argument("sources", type=Path, nargs="+", help="modules, or folders of modules")
    command.add_argument("--share", type=float, default=1.0, help="share of the mutants, drawn at random with seed 0")
    command = commands.add_parser("try")
    command.add_argument("file", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--jobs", type=int, default=1)
    command.add_argument("--sample", type=int, help="number of mutants, drawn at random with seed 0")
    command.add_argument("--budget", type=float, default=15.0, help="CPU seconds of tests for one mutant")
    command.add_argument("--tests", nargs="+", help="tests to run instead of the usual ones")
    command = commands.add_parser("report")
    command.add_argument("results", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "make":
        from making import make_mutants

        files = [file for source in options.sources for file in (sorted(source.glob("[a-z]*.py")) or [source])]
        mutants = [asdict(mutant) for file in files for mutant in make_mutants(file, options.share)]
        options.file.write_text(json.dumps(mutants, indent=0))
        print(f"{len(mutants)} mutants")
    elif options.command == "try":
        from trying import TESTS, run

        out = options.out.resolve()
        mutants = [Mutant(**entry) for entry in json.loads(options.file.read_text())]
        random.Random(0).shuffle(mutants)
        tried = {Mutant(**{key: line[key] for key in KEYS}) for line in read_results([out])} if out.exists() else set()
        untried = [mutant for mutant in mutants[: options.sample] if mutant not in tried]
        sys.exit(run(untried, out, options.jobs, options.budget, options.tests or TESTS))
    else:
        print_report(read_results(options.results))


if __name__ == "__main__":
    main()
