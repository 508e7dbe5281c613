"""The command `gainwise check`: checks of data before training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from .._common.validation import validate_choice, validate_distinct
from .app import command
from .inputs import AsJson, open_input, parse_model, read_data, reject_options
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
    from ..data.tables import read_table
    from ..data.text import file_suffix
    from ..evaluation.check import SEVERITIES
    from ..evaluation.check import check as check_data

    validate_choice("--fail-on", fail_on, SEVERITIES)
    sources = [parse_model(text, columns=False) for text in files]
    validate_distinct("Names of parts (NAME=FILE)", [name for name, _ in sources])
    paths = {name: open_input(source.path) for name, source in sources}
    tables = {name for name, path in paths.items() if file_suffix(path) in TABLES}
    if not tables:
        changed = {"query": query != "query", "label": label != "label"}
        reject_options("if no file is a table", **changed, document=document, clusters=clusters)
    if tables == paths.keys():
        reject_options("if all files are tables", features=features is not None)
    parts: dict[str, Any] = {
        name: read_table(path, [query, document, clusters]) if name in tables else read_data(path, features)
        for name, path in paths.items()
    }
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
