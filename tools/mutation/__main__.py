"""Mutation testing: which small changes of the code do the tests not notice?

`make` writes a list of mutants, made by the operators of mutmut; `try` runs the tests on each; `report` counts.

    python tools/mutation make mutants.json src/gainsay/metrics src/gainsay/comparison
    python tools/mutation try mutants.json results.jsonl --jobs 2
    python tools/mutation report results.jsonl

The tests are imported and collected once. The process then forks for each mutant: the child puts the changed code in
place and runs the tests that reach the changed statement, the quickest first, until one fails. Where a change takes
effect on import (a default, a constant, a field), the child imports the package and its nearest tests anew. A run that
was interrupted goes on where it was.
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
NOTICED = ("killed", "timeout")


def results_of(files: list[Path]) -> list[dict[str, Any]]:
    """Read results; what was tried twice counts as it came out last."""
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return list({tuple(line[key] for key in KEYS): line for line in lines}.values())


def report(results: list[dict[str, Any]]) -> None:
    """Print the numbers by package and by module, then every mutant that no test noticed."""
    for part in (lambda result: str(Path(result["file"]).parent), lambda result: result["file"]):
        for key in sorted({part(result) for result in results}):
            count = Counter(result["outcome"] for result in results if part(result) == key)
            noticed = sum(count[outcome] for outcome in NOTICED)
            print(f"{key:<50} {noticed:>5} / {count.total():<5} {noticed / count.total():6.1%}  {dict(count)}")
    for result in sorted(results, key=lambda result: (result["file"], result["start"])):
        if result["outcome"] not in NOTICED:
            print(f"{result['file']}:{result['line']} {result['outcome']}\n    {result['old']!r} -> {result['new']!r}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("make")
    command.add_argument("file", type=Path)
    command.add_argument("sources", type=Path, nargs="+", help="modules, or folders of modules")
    command.add_argument("--share", type=float, default=1.0, help="the share to keep, drawn at random with seed 0")
    command = commands.add_parser("try")
    command.add_argument("file", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--jobs", type=int, default=1)
    command.add_argument("--sample", type=int, help="so many of the mutants, drawn at random with seed 0")
    command.add_argument("--budget", type=float, default=15.0, help="CPU seconds of tests for one mutant")
    command.add_argument("--tests", nargs="+", help="the tests to try, in place of the usual ones")
    command = commands.add_parser("report")
    command.add_argument("results", type=Path, nargs="+")
    asked = parser.parse_args()
    if asked.command == "make":
        from making import mutants_of

        files = [file for source in asked.sources for file in (sorted(source.glob("[a-z]*.py")) or [source])]
        found = [asdict(mutant) for file in files for mutant in mutants_of(file, asked.share)]
        asked.file.write_text(json.dumps(found, indent=0))
        print(f"{len(found)} mutants")
    elif asked.command == "try":
        from trying import TESTS, run

        out = asked.out.resolve()
        mutants = [Mutant(**found) for found in json.loads(asked.file.read_text())]
        random.Random(0).shuffle(mutants)
        tried = {Mutant(**{key: line[key] for key in KEYS}) for line in results_of([out])} if out.exists() else set()
        wanted = [mutant for mutant in mutants[: asked.sample] if mutant not in tried]
        sys.exit(run(wanted, out, asked.jobs, asked.budget, asked.tests or TESTS))
    else:
        report(results_of(asked.results))


if __name__ == "__main__":
    main()
