"""The command `gainwise check`: checks of data before training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from .._common.validation import validate_choice, validate_distinct
from .app import command
from .inputs import AsJson, open_input, parse_model, read_data
from .outputs import Terminal, print_json

if TYPE_CHECKING:
    from ..evaluation.check import Library

TABLES = {".csv", ".tsv", ".parquet"}
FAILED = 3
"""Exit code if a finding reaches --fail-on."""


@command(
    "check train=train.txt valid=valid.txt --library lightgbm",
    "check logs.parquet --query session --label clicked --document item --fail-on warning",
    imports=False,
)
def check(
    files: Annotated[
        list[str], Argument(metavar="NAME=FILE…", help="Parts: LETOR or LightGBM data, or tables (CSV, TSV, Parquet).")
    ],
    library: Annotated[
        str | None, Option(metavar="NAME", help="Library to train with: lightgbm, xgboost, catboost.")
    ] = None,
    fail_on: Annotated[str, Option(metavar="SEVERITY", help="Exit with 3 on an error, warning or info.")] = "error",
    ignore: Annotated[list[str] | None, Option(metavar="CODE", help="A code to leave out. Repeatable.")] = None,
    query: Annotated[str, Option(help="Of tables: column of query ids.")] = "query",
    label: Annotated[str, Option(help="Of tables: column of labels.")] = "label",
    document: Annotated[str | None, Option(help="Of tables: column of document ids.")] = None,
    clusters: Annotated[str | None, Option(help="Of tables: column of clusters, such as users.")] = None,
    features: Annotated[int | None, Option(help="Of other files: number of features, if rows omit zeros.")] = None,
    as_json: AsJson = False,
) -> int:
    """Check data before training: leaks, labels, groups and features. Exit code 3 if a finding reaches --fail-on."""
    from ..evaluation.check import SEVERITIES
    from ..evaluation.check import check as check_data

    validate_choice("--fail-on", fail_on, SEVERITIES)
    sources = [parse_model(text, columns=False) for text in files]
    validate_distinct("Names of parts (NAME=FILE)", [name for name, _ in sources])
    parts = {name: _read_part(open_input(source.path), query, features) for name, source in sources}
    chosen: Library | None = library  # type: ignore[assignment]  # validated by check_data
    result = check_data(
        parts, library=chosen, query=query, label=label, document=document, clusters=clusters, ignore=ignore or ()
    )
    if as_json:
        print_json(result.to_dict())
    else:
        terminal = Terminal()
        for line in result.text.split("\n"):
            terminal.print_text(line)
    return FAILED if result.reaches(fail_on) else 0


def _read_part(path: Path, query: str, features: int | None) -> Any:
    """Return the content of a file: a table, or LETOR or LightGBM data."""
    from ..data.tables import read_table

    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    return read_table(path, text=query) if suffixes and suffixes[-1] in TABLES else read_data(path, features)
