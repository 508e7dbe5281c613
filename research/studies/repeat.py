"""Repeat all studies of real data whose data are there, and write the pages and pictures.

    python research/studies/repeat.py --data DIR --cache DIR [--calibration]

DIR contains the folders `qrels-survey`, `trec-dl`, `clueweb09-ltr`, `lightgbm-lambdarank`, `cranfield` and `msrd`. A
study whose data are missing is skipped, with a message. The cache is outside the project.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
CALIBRATION = HERE.parent / "calibration"


def list_steps(data: Path, cache: Path, jobs: int, calibration: bool) -> list[tuple[str, list[str]]]:
    """Return the folder of the data and the command of each study, in their order."""
    run, trainings = str(HERE / "run.py"), ["--jobs", str(jobs), "--cache", str(cache / "folds")]
    steps = [
        ("qrels-survey", [str(HERE / "survey.py"), "--data", str(data / "qrels-survey")]),
        ("trec-dl", [run, "--data", str(data / "trec-dl")]),
        *((name, [run, "--data", str(data / name), *trainings]) for name in ("lightgbm-lambdarank", "clueweb09-ltr")),
        ("cranfield", [run, "--data", str(data / "cranfield"), *trainings]),
        ("msrd", [str(HERE / "release.py"), "--data", str(data / "msrd"), "--cache", str(cache)]),
    ]
    if calibration:
        page = ["--output", str(CALIBRATION / "CALIBRATION.md"), "--workers", str(jobs)]
        values = ["--values", str(cache / "values.npz")]
        steps.append(("msrd", [str(CALIBRATION / "calibration_real.py"), *values, *page]))
    return steps


def main() -> None:
    """Run all steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of all datasets")
    parser.add_argument("--cache", type=Path, required=True, help="folder for features and values, outside the project")
    parser.add_argument("--jobs", type=int, default=2, help="processes of studies that use several (default: 2)")
    parser.add_argument("--calibration", action="store_true", help="also sample the real queries, which takes hours")
    options = parser.parse_args()
    for folder, command in list_steps(options.data, options.cache, options.jobs, options.calibration):
        name, start = f"{Path(command[0]).stem} on {folder}", time.perf_counter()
        if not (options.data / folder).is_dir():
            print(f"{name}: SKIPPED, because {options.data / folder} does not exist", flush=True)
            continue
        print(f"{name} …", flush=True)
        subprocess.run([sys.executable, *command], check=True)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    for script in ("figures.py", "page.py"):
        subprocess.run([sys.executable, str(HERE / script)], check=True)


if __name__ == "__main__":
    main()
