"""Write the results of a study as JSON, with the versions and settings that produced them."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gainwise as gw

SCHEMA = 1
RESULTS = Path(__file__).parent / "results"


def write_record(output: Path, dataset: str, packages: tuple[str, ...], content: dict[str, Any]) -> None:
    """Write the results of a dataset, with the versions of gainwise and of these packages."""
    record = {
        "schema": SCHEMA,
        "dataset": dataset,
        "python": platform.python_version(),
        "versions": {"gainwise": gw.__version__, **{package: version(package) for package in packages}},
        **content,
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_results(name: str) -> Any:
    """Return the stored results of a dataset."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]
