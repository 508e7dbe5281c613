"""The options that several commands share, and the judgments and models that commands read from files."""

from __future__ import annotations

import atexit
import os
import re
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

from .._common.sources import Source, parse_source
from .._common.text import printable
from .._common.validation import validate_distinct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from ..comparison.comparison import Comparison
    from ..data import RankingData
    from ..judgments import Judgments
    from ..metrics.names import MetricLike

MIN_ROWS = 5
"""Columns of smaller tables are not tested for ids."""

REQUIRED = {
    "label": "table",
    "query": "table",
    "column": "table",
    "scores": "table",
    "features": "data",
    "unjudged": "qrels",
}
"""Options that have no effect without another option."""


class MissingFileError(ValueError):
    """An input file does not exist. The exit code is 2."""


def open_input(path: str | Path) -> Path:
    """Return the path of an existing file, or of a temporary copy of a pipe, or for `-` of standard input.

    Pipes are copied because readers read a file twice. Standard input, and a pipe whose name has no suffix, are text.
    """
    from ..data.text import read_chunks

    path = Path(path)
    if str(path) == "-":
        if sys.stdin is None or sys.stdin.closed:
            raise ValueError("Standard input (-) is closed, or was read before. Pass a file for one of the options.")
        name, source = "stdin", sys.stdin.buffer
    elif path.is_file():
        return path
    elif path.is_dir() or not path.exists():
        raise MissingFileError(f"no file {str(path)!r}.")
    else:
        name, source = path.name, path.open("rb")
    with source as stream:
        content = stream.read()
    folder = TemporaryDirectory(prefix="gainwise-")
    atexit.register(folder.cleanup)
    copy = Path(folder.name, name)
    copy.write_bytes(content)
    if path.suffix:
        return copy
    has_tabs = any(b"\t" in chunk.text.partition(b"\n")[0] for chunk in islice(read_chunks(copy, cells=True), 1))
    return copy.rename(f"{copy}{'.tsv' if has_tabs else '.csv'}")


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

Metrics = Annotated[
    list[str] | None,
    Option("--metric", "-m", metavar="METRIC", help="A metric, for example ndcg_exp@10. Repeatable."),
]
Imports = Annotated[
    list[str] | None,
    Option("--import", metavar="MODULE", help="Module or .py file that defines custom metrics. Repeatable."),
]
Unjudged = Annotated[str, Option(help="Unjudged documents: 'irrelevant', or 'drop' to remove them (condensed lists).")]
Alpha = Annotated[float, Option(help="Significance level.")]
Margin = Annotated[float, Option(help="Largest difference that you tolerate, in units of the metrics.")]
Require = Annotated[str, Option(metavar="gain|no-loss", help="Ship a gain only, or every candidate without a loss.")]
Seed = Annotated[int, Option(help="Seed of the bootstrap draws.")]
AllowIncomplete = Annotated[
    bool, Option("--allow-incomplete", help="Leave out models that cannot be read or trained, instead of an error.")
]
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of tables.")]
Open = Annotated[bool, Option("--open", help="Open the report in the browser.")]


@dataclass(frozen=True)
class InputOptions:
    """The models that a command compares, and the judgments that it compares them on."""

    models: Annotated[
        list[str] | None,
        Argument(help="NAME=FILE, FILE or FILE:COLUMN: scores by row, a LightGBM or XGBoost model, or a TREC run."),
    ] = None
    data: Annotated[Path | None, InputFile(help="LETOR data, or LightGBM data next to its .query file.")] = None
    qrels: Annotated[Path | None, InputFile(help="TREC qrels, or CSV of query, document, rating.")] = None
    table: Annotated[Path | None, InputFile(help="Table with columns for label, query and scores.")] = None
    labels: Annotated[Path | None, InputFile(help="Labels, one per row (NumPy, CSV, Parquet). Needs --group.")] = None
    group: Annotated[Path | None, InputFile(help="With --labels: number of rows of each query.")] = None
    label: Annotated[str, Option(help="With --table: column of labels.")] = "label"
    query: Annotated[str, Option(help="With --table: column of query ids.")] = "query"
    column: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="With --table: further labels, for metrics such as cg(column=NAME). Repeatable."),
    ] = None
    scores: Annotated[
        list[str] | None,
        Option(metavar="COLUMN,COLUMN", help="With --table: columns of scores, all by default. Repeatable."),
    ] = None
    features: Annotated[int | None, Option(help="With --data: number of features, if rows omit zeros.")] = None
    unjudged: Unjudged = "irrelevant"
    segments: Annotated[
        list[str] | None,
        Option(
            metavar="FILE[:COLUMN]",
            help="Kinds of queries, compared separately, or a column of --table. Repeatable.",
        ),
    ] = None
    configuration: Annotated[
        list[str] | None,
        Option(metavar="NAME=FILE,FILE,FILE", help="Repeats of a training configuration, three or more. Repeatable."),
    ] = None
    clusters: Annotated[
        str | None,
        Option(
            metavar="FILE[:COLUMN]",
            help="Clusters of dependent queries, such as sessions, or a column of --table.",
        ),
    ] = None
    allow_incomplete: AllowIncomplete = False
    allow_misaligned: Annotated[
        bool, Option("--allow-misaligned", help="Compare scores that seem to be off by one row, without an error.")
    ] = False


def parse_model(text: str, *, columns: bool = True) -> tuple[str, Source]:
    """Return the name and the file of a model, from `NAME=FILE` or `FILE`, with `columns` also `FILE:COLUMN`.

    The default name is the column, or the file name without its suffixes.
    """
    name, equals, file = text.partition("=")
    source = parse_source(file if equals else text, columns=columns)
    if not equals:
        name = source.column or ("stdin" if text == "-" else source.path.name.partition(".")[0])
    return decode_name(name), source


def parse_recipe(text: str) -> tuple[str, list[str]]:
    """Return the name and the repeats of a training configuration, from `NAME=A,B,C`.

    >>> parse_recipe("A=a1.txt,a2.txt,a3.txt")
    ('A', ['a1.txt', 'a2.txt', 'a3.txt'])
    """
    name, equals, files = text.partition("=")
    repeats = files.split(",")
    if not equals or not all(repeats):
        raise ValueError(f"A configuration must have the form NAME=FILE,FILE,FILE, got {text!r}.")
    validate_distinct(f"Repeats of configuration {name!r}", repeats)
    return decode_name(name), repeats


def is_recipe(text: str) -> bool:
    """Return whether a text names a configuration, `NAME=A,B,C`, and not a file with a comma in its name."""
    return "," in text and not parse_source(text.partition("=")[2] or text).path.is_file()


def parse_numbers(place: str, text: str) -> list[float]:
    """Return the numbers in a text. `place` names the text in errors."""
    from ..data.text import to_number

    try:
        return [to_number(part.encode()) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{place} must be numbers separated by commas, got {text!r}.") from None


def read_comparison(options: InputOptions, metrics: Sequence[MetricLike] | None, **settings: Any) -> Comparison:
    """Read judgments and models, and compare them. `settings` are further arguments of `gainwise.compare`."""
    from ..comparison.compare import compare_scores
    from ..comparison.scored_models import read_models, read_query_columns, read_runs

    recipes = [parse_recipe(text) for text in options.configuration or []]
    _validate_source(options)
    if options.table is None and not options.models and not recipes:
        raise ValueError("Pass at least one model as NAME=FILE.")
    incomplete: Any = {"allow_incomplete": options.allow_incomplete}
    aligned: Any = {**incomplete, "allow_misaligned": options.allow_misaligned}
    settings["unjudged"] = options.unjudged
    if options.table is not None:
        models, judgments, table = load_table(options, recipes)
        labels = read_query_columns(table, options.segments or [], options.clusters, str(options.table))
        return compare_scores(read_models(models, judgments, **aligned), metrics, **labels, **settings)
    labels = _read_query_labels(options)
    if options.qrels is not None:
        runs = _read_models(options, recipes, lambda source: source.path)
        scored = read_runs(runs, options.qrels, unjudged=settings["unjudged"], **incomplete)
    else:
        scored = read_models(*_read_rows(options, recipes), **aligned)
    return compare_scores(scored, metrics, **labels, **settings)


def _read_rows(
    options: InputOptions, recipes: Sequence[tuple[str, list[str]]]
) -> tuple[dict[str, Any], Judgments, Any]:
    """Return models, judgments and features of --data, or of --labels and --group."""
    features, width = None, None
    if options.data is not None:
        data = read_data(options.data, options.features)
        judgments, features, width = data.judgments(), data.features, data.features.shape[1]
    else:
        judgments = _read_labels(options.labels, options.group)
    return _read_models(options, recipes, lambda source: _read_model(source, width)), judgments, features


def read_scored_judgments(options: InputOptions) -> tuple[Judgments, Any, Any]:
    """Return judgments, the scores or the model to evaluate on them, and its features. There must be one model."""
    from ..comparison.scored_models import read_runs

    _validate_source(options)
    models: dict[str, Any] = {}
    judgments, features = None, None
    if options.table is not None:
        models, judgments, _ = load_table(options, [])
    elif options.qrels is None:
        models, judgments, features = _read_rows(options, [])
    elif options.models:
        scored = read_runs(_read_models(options, [], lambda source: source.path), options.qrels)
        models, judgments = scored.scores, scored.judgments
    if len(models) != 1 or judgments is None:
        names = ", ".join(map(printable, models)) or "none"
        raise ValueError(f"Pass exactly one model or column of --scores, got {names}.")
    (scores,) = models.values()
    return judgments, scores, features


def read_judgments(options: InputOptions) -> Judgments | Path:
    """Read judgments without models. Qrels are returned as their path."""
    from ..data.tables import get_column, read_table
    from ..judgments import Judgments

    _validate_source(options)
    if options.qrels is not None:
        return options.qrels
    if options.data is not None:
        return read_data(options.data, options.features).judgments()
    if options.table is None:
        return _read_labels(options.labels, options.group)
    table = read_table(options.table, [options.query])
    labels = get_column(table, options.label, options.table, "label")
    return Judgments(labels, qid=get_column(table, options.query, options.table, "query"))


def _validate_source(options: InputOptions) -> None:
    """Raise an error unless there is one source of judgments, with its own options only."""
    if sum(path is not None for path in (options.data, options.qrels, options.table, options.labels)) != 1:
        raise ValueError(
            "Pass the judgments as exactly one of --data, --qrels, --table and --labels. A file with labels and scores "
            "is a --table."
        )
    if (options.labels is None) != (options.group is None):
        raise ValueError("--labels and --group must be given together: all labels, and the number of rows per query.")
    if options.table is not None:
        reject_options("with --table, whose models are columns (--scores)", models=options.models)
    if options.qrels is not None:
        reject_options("with --qrels, which matches documents by id", allow_misaligned=options.allow_misaligned)
    for option, required in REQUIRED.items():
        value = getattr(options, option)
        if value != getattr(InputOptions, option) and not getattr(options, required):
            reject_options(f"without --{required}", **{option: value})


def read_data(path: Path, features: int | None = None) -> RankingData:
    """Read LETOR data, or LightGBM data if there is a `.query` file next to it."""
    from ..data import read_letor, read_lightgbm

    read = read_lightgbm if path.with_name(f"{path.name}.query").exists() else read_letor
    return read(path, features=features)


def _read_labels(labels: Any, group: Any) -> Judgments:
    from ..data import read_scores
    from ..judgments import Judgments

    try:
        return Judgments(read_scores(labels), group=read_scores(group))
    except (ValueError, TypeError) as error:
        raise ValueError(f"--labels {labels} and --group {group} (one number per query): {error}") from None


def _read_models(
    options: InputOptions, recipes: Sequence[tuple[str, list[str]]], read_model: Callable[[Source], Any]
) -> dict[str, Any]:
    """Return the models by name, and the list of repeats of each configuration."""
    from ..evaluation.prediction import Unreadable

    columns = options.qrels is None

    def read(name: str, source: Source) -> Any:
        try:
            return read_model(source._replace(path=open_input(source.path)))
        except (ValueError, OSError) as error:
            if options.allow_incomplete:
                return Unreadable(str(error))
            kind = MissingFileError if isinstance(error, MissingFileError) else ValueError
            raise kind(f"model {name!r}: {error}") from None

    sources = [parse_model(text, columns=columns) for text in options.models or []]
    validate_distinct("Names of models (NAME=FILE)", [name for name, _ in (*sources, *recipes)])
    models = {name: read(name, source) for name, source in sources}
    for name, files in recipes:
        models[name] = [read(name, parse_source(file, columns=columns)) for file in files]
    return models


def _read_model(source: Source, width: int | None) -> Any:
    """Return scores or a booster. A booster must have been trained on `width` features."""
    from ..data import read_scores

    path, column = source
    model: Any = _load_model(path) if column is None else read_scores(path, column=column)
    if not hasattr(model, "predict"):
        return model
    if width is None:
        raise ValueError(f"{path} is a booster, which predicts from features. Pass --data.")
    trained = model.num_feature() if hasattr(model, "num_feature") else model.num_features()
    if trained != width:
        raise ValueError(f"{path} has {trained} features, but the data have {width}. Pass --features={trained}.")
    return model


def _load_model(path: Path) -> Any:
    """Return the booster in a file, or the path of any other file, which is then read as scores."""
    with path.open("rb") as file:
        is_lightgbm = file.read(5) in (b"tree\n", b"tree\r")
        # LightGBM ends the process if a model is cut within its trees.
        if is_lightgbm and b"\nend of trees\n" not in file.read():
            raise ValueError(f"{path} is a damaged model of lightgbm. Copy it again, without changing its line ends.")
    if not is_lightgbm and path.suffix not in (".ubj", ".json"):
        return path
    library = import_module("lightgbm" if is_lightgbm else "xgboost")
    try:
        return library.Booster(model_file=path)
    except Exception as error:  # Of a class of the library.
        first_line = str(error).strip().partition("\n")[0]
        raise ValueError(f"{path} is not a model of {library.__name__} ({first_line}).") from None


def _read_query_labels(options: InputOptions) -> dict[str, Any]:
    """Return the arguments `segments` and `clusters` of a comparison from the files of these options."""
    clusters = _read_label_files("--clusters", [options.clusters] if options.clusters else [])
    if len(clusters) > 1:
        raise ValueError(f"--clusters must be one column, got {', '.join(clusters)}. Pass FILE:COLUMN.")
    segments = _read_label_files("--segments", options.segments or [])
    return {"segments": segments or None, "clusters": next(iter(clusters.values()), None)}


def _read_label_files(option: str, texts: Sequence[str]) -> dict[str, dict[Any, str]]:
    """Return labels by query id for each column, from `FILE` (all columns) or `FILE:COLUMN`.

    An id that is a whole number is in the result as text and as a number, because only the judgments determine its
    type.
    """
    from .._common.arrays import nearest
    from ..comparison.query_labels import read_segment_file

    labels: dict[str, dict[Any, str]] = {}
    for text in texts:
        path, column = parse_source(text)
        try:
            columns = read_segment_file(open_input(path))
        except MissingFileError as error:
            raise MissingFileError(f"{option}: {error}") from None
        if column is not None:
            if column not in columns:
                raise ValueError(f"{option}: {path} has no column {column!r}{nearest(column, columns)}.")
            columns = {column: columns[column]}
        validate_distinct(f"Columns of {option}", [*labels, *columns])
        for name, by_id in columns.items():
            numbers = {int(query): label for query, label in by_id.items() if re.fullmatch("0|[1-9][0-9]*", query)}
            labels[name] = by_id | numbers
    return labels


def load_table(
    options: InputOptions, recipes: Sequence[tuple[str, list[str]]]
) -> tuple[dict[str, Any], Judgments, pd.DataFrame]:
    """Return the models, the judgments and the whole table of --table."""
    from ..comparison.scored_models import read_columns
    from ..data.tables import read_table

    path, label, query = options.table or Path(), options.label, options.query
    table = read_table(path, [query, options.clusters, *(options.segments or [])])
    # A column with a comma in its name takes precedence.
    scores = [name for text in options.scores or [] for name in ([text] if text in table else text.split(","))]
    if options.scores is None:
        repeats = [column for _, columns in recipes for column in columns]
        others = {label, query, options.clusters, *(options.segments or []), *(options.column or []), *repeats}
        scores = _select_scores(path, table[[name for name in table if name not in others]])
    validate_distinct("Columns of scores and names of configurations", [*scores, *(name for name, _ in recipes)])
    if not scores and not recipes:
        raise ValueError(f"{path} has no column of scores besides {label!r} and {query!r}.")
    columns = {name: name for name in scores} | dict(recipes)
    return *read_columns(table, columns, {"query": query, "label": label}, str(path), options.column or []), table


def _is_numeric_text(cells: pd.Series[Any]) -> bool:
    from ..data.tables import is_mostly_numeric

    return cells.dtype.kind not in "fiub" and is_mostly_numeric(cells)


def _select_scores(path: Path, table: pd.DataFrame) -> list[str]:
    """Return the columns of numbers, or raise an error if one of them identifies rows. Warn of the other columns.

    A column with a few cells of text counts, so that it does not disappear from the comparison.
    """
    names = [str(name) for name, cells in table.items() if cells.dtype.kind in "fiu" or _is_numeric_text(cells)]
    for name in names:
        if len(table) >= MIN_ROWS and table[name].dtype.kind in "iu" and table[name].is_unique:
            raise ValueError(
                f"{path}: column {name!r} has a different integer in every row, so it may identify rows. Select the "
                "columns of scores with --scores."
            )
    others = [str(name) for name in table if str(name) not in names]
    if names and others:
        warnings.warn(f"{path}: not all cells are numbers in unused columns: {', '.join(others)}.", stacklevel=3)
    return names
