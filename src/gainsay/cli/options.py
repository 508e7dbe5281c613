"""Options that several commands share."""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from typer import Argument, BadParameter, Option


class MissingFileError(ValueError):
    """An input file does not exist. The exit code is 2."""


def open_input(path: str | Path) -> Path:
    """Return the path of an existing file, or for `-` the path of a temporary copy of standard input, which is text.

    Standard input is copied because readers read a file twice.
    """
    if str(path) != "-":
        if not Path(path).exists() or Path(path).is_dir():
            raise MissingFileError(f"no file {str(path)!r}.")
        return Path(path)
    if sys.stdin.closed:
        raise ValueError("Standard input (-) can be read only once. Pass a file for one of the options.")
    with sys.stdin.buffer as stream:
        content = stream.read()
    folder = TemporaryDirectory(prefix="gainsay-")
    atexit.register(folder.cleanup)
    copy = Path(folder.name, "stdin.tsv" if b"\t" in content.partition(b"\n")[0] else "stdin.csv")
    copy.write_bytes(content)
    return copy


def decode_name(text: str) -> str:
    """Return a name from the command line as Unicode. In the C locale, Python decodes its bytes as surrogates."""
    try:
        return os.fsencode(text).decode()
    except UnicodeError:
        return text


def reject_options(context: str, **options: object) -> None:
    """Raise an error if one of these options is given, which has no effect in this context.

    >>> reject_options("with --labels", query="qid")
    Traceback (most recent call last):
    ValueError: --query has no effect with --labels. Leave it out.
    """
    for name, value in options.items():
        if value:
            option = "MODELS" if name == "models" else f"--{name.replace('_', '-')}"
            raise ValueError(f"{option} has no effect {context}. Leave it out.")


def _parse_input(text: str) -> Path:
    try:
        return open_input(text)
    except ValueError as error:
        raise BadParameter(str(error)) from None


InputFile = partial(Option, parser=_parse_input, metavar="FILE")
InputArgument = partial(Argument, parser=_parse_input)

Metrics = Annotated[list[str] | None, Option("--metric", "-m", help="A metric, for example ndcg_exp@10. Repeatable.")]
Imports = Annotated[
    list[str] | None,
    Option("--import", metavar="MODULE", help="Module or .py file that defines custom metrics. Repeatable."),
]
Unjudged = Annotated[str, Option(help="Unjudged documents: 'irrelevant', or 'drop' to remove them (condensed lists).")]
Alpha = Annotated[float, Option(help="Significance level.")]
Margin = Annotated[float, Option(help="Largest difference that you consider negligible, in units of the metrics.")]
Require = Annotated[str, Option(metavar="gain|no-loss", help="Ship a gain only, or every candidate without a loss.")]
Seed = Annotated[int, Option(help="Seed of the bootstrap draws.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of tables.")]
Open = Annotated[bool, Option("--open", help="Open the report in the browser.")]
Data = Annotated[Path | None, InputFile(help="LETOR data, or LightGBM data next to its .query file.")]
Qrels = Annotated[Path | None, InputFile(help="TREC qrels, or CSV of query, document, rating.")]
Features = Annotated[int | None, Option(help="With --data: number of features, if rows omit zeros.")]


@dataclass(frozen=True)
class InputOptions:
    """The models that a command compares, and the judgments it compares them on."""

    models: Annotated[
        list[str] | None,
        Argument(help="NAME=FILE, FILE or FILE:COLUMN: scores by row, a LightGBM or XGBoost model, or a TREC run."),
    ] = None
    data: Data = None
    qrels: Qrels = None
    table: Annotated[Path | None, InputFile(help="Table with columns for label, query and scores.")] = None
    labels: Annotated[Path | None, InputFile(help="Labels, one per row (NumPy, CSV, Parquet). Needs --group.")] = None
    group: Annotated[Path | None, InputFile(help="With --labels: number of rows of each query.")] = None
    label: Annotated[str, Option(help="With --table: column of labels.")] = "label"
    query: Annotated[str, Option(help="With --table: column of query ids.")] = "query"
    document: Annotated[
        str | None, Option(help="With --table: column of document ids. A document may occur once in a query.")
    ] = None
    scores: Annotated[
        list[str] | None,
        Option(metavar="COLUMN,COLUMN", help="With --table: columns of scores, all by default. Repeatable."),
    ] = None
    features: Features = None
    unjudged: Unjudged = "irrelevant"
    segments: Annotated[
        list[str] | None,
        Option(help="Kinds of queries, compared separately: FILE[:COLUMN], or a column of --table. Repeatable."),
    ] = None
    recipe: Annotated[
        list[str] | None,
        Option(metavar="NAME=FILE,FILE,FILE", help="Repeats of a training recipe, three or more. Repeatable."),
    ] = None
    vary: Annotated[str | None, Option(help="Difference between repeats: seed or queries.")] = None
    clusters: Annotated[
        str | None,
        Option(help="Clusters of dependent queries, such as sessions: FILE[:COLUMN], or a column of --table."),
    ] = None

    def reject(self, context: str) -> None:
        """Raise an error if one of the options differs from its default.

        >>> InputOptions(scores=["a,b"]).reject("with --experiment")
        Traceback (most recent call last):
        ValueError: --scores has no effect with --experiment. Leave it out.
        """
        for field in fields(self):
            reject_options(context, **{field.name: getattr(self, field.name) != field.default})
