"""What the command line reads: judged data in its several formats, and the scores of models."""

from __future__ import annotations

import io
import re
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._common.arrays import is_missing, nearest
from .._common.names import check_name
from ..comparison.runs import check_run_count
from ..data import read_letor, read_lightgbm, read_scores
from ..data.arrow import read_parquet
from ..data.text import at_line, exact_floats, one_line, read_chunks, shown
from ..judgments import Judgments
from .options import Sources, said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from ..data import RankingData
    from ..harness import Comparison


class Judged(NamedTuple):
    """Judgments from a file, and the scores of models on them (or what these are to be read from)."""

    judgments: Judgments
    models: dict[str, Any]
    features: Any = None
    kinds: Mapping[str, Any] = {}
    """Columns of labels of queries, for segments and clusters."""


class Source(NamedTuple):
    """A file, and the column of it that is meant where that was said."""

    path: Path
    column: str | None = None


def read_data(path: Path, features: int | None = None) -> RankingData:
    """Read LETOR data, or LightGBM's pair of files where a `.query` file lies beside it."""
    if path.with_name(path.name + ".query").exists():
        return read_lightgbm(path, features=features)
    return read_letor(path, features=features)


def named_files(sources: list[str], *, columns: bool = False) -> dict[str, Source]:
    """Return files by name: `NAME=FILE`, or `FILE` under its name without suffixes.

    With `columns` also `FILE:COLUMN`, under the name of the column unless another is given.
    """
    files: dict[str, Source] = {}
    for text in sources:
        name, equals, file = text.partition("=")
        source = _source(file if equals else text, columns)
        if not equals:
            name = source.column or source.path.name.partition(".")[0]
        check_name(f"the name in {text!r}", name)
        if name in files:
            raise ValueError(f"two models are named {name!r}: name them, as NAME=FILE")
        _check_there(source, f"model {name!r}")
        files[name] = source
    return files


def _source(text: str, columns: bool) -> Source:
    """Return a file, with a column where there is no file of this very name but one of what stands before a colon."""
    file, colon, column = text.rpartition(":")
    if columns and colon and column and not Path(text).is_file() and Path(file).is_file():
        return Source(Path(file), column)
    return Source(Path(text))


def _check_there(source: Source, of: str) -> None:
    if not source.path.is_file():
        raise ValueError(f"there is no file {str(source.path)!r} ({of})")


def read_comparison(
    models: list[str],
    sources: Sources,
    metric: list[str] | None,
    *,
    segments: Sequence[str] = (),
    run: Sequence[str] = (),
    clusters: str | None = None,
    **options: Any,
) -> Comparison:
    """Read judgments and models as the options of `gainsay compare` name them, and compare them.

    `models` are `NAME=FILE` or `FILE`, and none with a table, whose columns they are; `options` are those that
    `gainsay.compare` and `gainsay.compare_runs` share.
    """
    from ..harness import compare, compare_runs

    options["iteration"], recipes = iterations(sources.iteration or []), listed_runs(run)
    for name, runs in recipes.items():
        alone = f"name it like any other: {name}={runs[0]}" if sources.table is None else "its column is one by itself"
        check_run_count(name, len(runs), alone)
    if sources.table is None:
        options |= {"segments": segments_of(segments, sources.query)}
        options |= {"clusters": clusters_of(clusters, sources.query)}
    if sum(source is not None for source in sources[:4]) != 1:
        raise ValueError("give the judgments as one of --data, --qrels, --table and --labels")
    if (sources.labels is None) != (sources.group is None):
        raise ValueError("--labels and --group belong together: the labels of all rows, and how many each query has")
    _refuse_others(sources, queries=bool(segments) or clusters is not None)
    if sources.table is not None:
        if models:
            raise ValueError(f"with --table the models are its columns (--score names them), got {models[0]!r} too")
        apart = [*segments, *([] if clusters is None else [clusters])]
        judged = from_table(sources.table, sources.label, sources.query, sources.score, apart, recipes)
        options |= {"segments": {name: judged.kinds[name] for name in segments} or None}
        options |= {"clusters": None if clusters is None else judged.kinds[clusters]}
    elif not models and not recipes:
        raise ValueError("name at least one model, as NAME=FILE")
    elif sources.qrels is not None:
        listed = _read(models, recipes, lambda _, source: source.path, columns=False)
        return compare_runs(listed, sources.qrels, metric, **options)
    elif sources.data is not None:
        data = read_data(sources.data, sources.features)
        read = partial(_scores_or_model, width=data.features.shape[1])
        judged = Judged(data.judgments(), _read(models, recipes, read), data.features)
    else:
        judgments = _judgments_of(sources.labels, sources.group)
        judged = Judged(judgments, _read(models, recipes, _scores_alone))
    return compare(judged.models, judged.judgments, metric, features=judged.features, **options)


def _refuse_others(sources: Sources, *, queries: bool) -> None:
    """Raise for an option that says how another kind of file is to be read; `queries`: `--query` is needed anyhow."""
    kinds = {"table": ("label", "score", *(() if queries else ("query",))), "data": ("features",)}
    for kind, names in kinds.items():
        others = said(Sources(**{name: getattr(sources, name) for name in names}))
        if getattr(sources, kind) is None and others:
            raise ValueError(f"{others[0]} belongs to --{kind}, which is not given: leave it out")


def listed_runs(given: Sequence[str]) -> dict[str, list[str]]:
    """Return what the runs of each recipe are: `NAME=A,B,C`.

    >>> listed_runs(["A=a1.txt,a2.txt,a3.txt"])
    {'A': ['a1.txt', 'a2.txt', 'a3.txt']}
    """
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, runs = text.partition("=")
        if not equals or not all(runs.split(",")):
            raise ValueError(f"--run holds {text!r}: name a recipe and its runs, as NAME=FILE,FILE,FILE")
        check_name(f"the name in --run {text!r}", name)
        if name in found:
            raise ValueError(f"--run names {name!r} twice: list all its runs after one name")
        found[name] = runs.split(",")
        twice = next((one for at, one in enumerate(found[name]) if one in found[name][:at]), None)
        if twice is not None:
            raise ValueError(f"--run {text!r} names {twice!r} twice: each run is a training of its own")
    return found


def is_recipe(text: str) -> bool:
    """Whether this names a recipe and its runs, `NAME=A,B,C`, and not a file with a comma in its name."""
    _, equals, runs = text.partition("=")
    if "," not in text or _source(runs if equals else text, True).path.is_file():
        return False
    if not equals:
        raise ValueError(f"{text!r} lists several runs: name the recipe, as NAME=FILE,FILE,FILE")
    return True


def _read(
    models: list[str], recipes: dict[str, list[str]], read: Callable[[str, Source], Any], *, columns: bool = True
) -> dict[str, Any]:
    """Return by name what `read` makes of the file of each model, and of each run of a recipe."""
    found = {name: read(name, source) for name, source in named_files(models, columns=columns).items()}
    for name, runs in recipes.items():
        if name in found:
            raise ValueError(f"two models are named {name!r}: name them, as NAME=FILE and --run NAME=FILE,FILE,FILE")
        files = [_source(text, columns) for text in runs]
        for source in files:
            _check_there(source, f"--run {name!r}")
        found[name] = [read(f"{name}, run {number}", source) for number, source in enumerate(files, 1)]
    return found


def clusters_of(source: str | None, query: str) -> dict[Any, Any] | None:
    """Return the clusters of queries by id from `FILE:COLUMN`, or `FILE` where there is one column beside the ids."""
    if source is None:
        return None
    found = segments_of([source], query, "--clusters")
    assert found is not None
    if len(found) > 1:
        raise ValueError(f"--clusters: {source} has the columns {', '.join(found)}: say which, as FILE:COLUMN")
    return next(iter(found.values()))


def iterations(given: list[str]) -> int | dict[str, int] | None:
    """Return with how many boosting rounds models are to predict: `ROUNDS` for all, or `NAME=ROUNDS` for each named."""
    found: dict[str, int] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        if not re.fullmatch("-?[0-9]{1,9}", number):
            raise ValueError(f"--iteration holds {text!r}: give a whole number of rounds, or NAME=ROUNDS")
        rounds = int(number)
        if not equals:
            if len(given) > 1:
                raise ValueError(f"--iteration {text} is for all models: give it alone, or NAME=ROUNDS for each")
            return rounds
        if name in found:
            raise ValueError(f"--iteration names {name!r} twice")
        found[name] = rounds
    return found or None


def _judgments_of(labels: Any, group: Any) -> Judgments:
    """Return judgments from a file of labels and one of the sizes of queries."""
    try:
        return Judgments(read_scores(labels), group=read_scores(group))
    except (ValueError, TypeError) as error:
        said = str(error).replace("(did you mean qid=?)", "(give one number a query, not one a row)")
        raise ValueError(f"--labels {str(labels)!r} and --group {str(group)!r}: {said}") from None


def _scores_alone(name: str, source: Source) -> Any:
    """Return scores; a model has nothing to predict from where there are labels alone."""
    found = _scores_or_model(name, source)
    if hasattr(found, "predict"):
        raise ValueError(f"model {name!r}: {source.path} is a model, which predicts from features: give them by --data")
    return found


def _scores_or_model(name: str, source: Source, width: int | None = None) -> Any:
    """Return the scores in a column, or what a file without one is taken for: a model must know `width` features."""
    if source.column is None:
        found = _model(source.path)
        if width is not None and hasattr(found, "predict"):
            known = found.num_feature() if hasattr(found, "num_feature") else found.num_features()
            if known != width:
                raise ValueError(
                    f"model {name!r} was trained on {known} features, and the data have {width}: where rows leave out "
                    f"zeros, say by --features how many there are"
                )
        return found
    try:
        return read_scores(source.path, column=source.column)
    except ValueError as error:
        raise ValueError(f"model {name!r}: {error}") from None


def _model(path: Path) -> Any:
    """Return a booster where the file is one, else the path, to be read as a score file."""
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(b"tree\n"):
        import lightgbm

        return _loaded(path, lightgbm.Booster, lightgbm.basic.LightGBMError)
    if path.suffix in (".ubj", ".json"):
        import xgboost

        return _loaded(path, xgboost.Booster, xgboost.core.XGBoostError)
    return path


def _loaded(path: Path, booster: Any, error: type[Exception]) -> Any:
    """Return the model in a file, or raise a ValueError that names it."""
    try:
        return booster(model_file=path)
    except (error, ValueError) as problem:
        first = str(problem).strip().partition("\n")[0]
        raise ValueError(f"{path}: no model of {booster.__module__.partition('.')[0]} ({first})") from None


def segments_of(sources: Sequence[str], query: str, option: str = "--segments") -> dict[str, dict[Any, Any]] | None:
    """Return labels by query id from `FILE`, all its columns, or `FILE:COLUMN`; the column `query` has the ids.

    Ids that are whole numbers are known as numbers and as text, since it is the judgments that say which they are.
    """
    found: dict[str, dict[Any, Any]] = {}
    for text in sources:
        source = _source(text, columns=True)
        _check_there(source, option)
        table = read_table(source.path, text=query)
        ids = column(table, query, source.path).astype(object).map(str, na_action="ignore").tolist()
        for name in [source.column] if source.column else [str(name) for name in table if name != query]:
            if name in found:
                raise ValueError(f"{option} has two columns {name!r}")
            found[name] = _by_id(name, ids, column(table, name, source.path).tolist(), source.path)
        if len(table.columns) < 2:
            raise ValueError(f"{option}: {source.path} has no column beside {query!r}")
    return found or None


def _by_id(name: str, ids: list[Any], labels: list[Any], path: Path) -> dict[Any, Any]:
    """Return labels by query id, or raise where a query has two."""
    found: dict[Any, Any] = {}
    for query, label in zip(ids, labels, strict=True):
        first = found.setdefault(query, label)
        if (None if _no_label(first) else first) != (None if _no_label(label) else label):
            raise ValueError(f"{path}: query {query!r} has two labels in column {name!r}, {first!r} and {label!r}")
    numbers = {
        int(query): label for query, label in found.items() if str(query).isdecimal() and str(int(query)) == query
    }
    return found | numbers


def _no_label(value: Any) -> bool:
    return is_missing(value) or value != value


def from_table(
    path: Path,
    label: str,
    query: str,
    scores: Sequence[str] | None,
    kinds: Sequence[str] = (),
    recipes: dict[str, list[str]] | None = None,
) -> Judged:
    """Return judgments, scores and labels of queries from the columns of a CSV, TSV or Parquet file."""
    table = read_table(path, text=query)
    labels, queries = column(table, label, path), column(table, query, path)
    twice = next((name for at, name in enumerate(scores or ()) if name in (scores or ())[:at]), None)
    if twice is not None:
        raise ValueError(f"--score names {twice!r} twice: one column is one model")
    runs = [name for names in (recipes or {}).values() for name in names]
    taken = (label, query, *kinds, *runs)
    others = [str(name) for name in table if name not in taken and table[name].dtype.kind in "fiu"]
    if scores is None:
        _warn_of_text(path, table[[name for name in table if name not in taken]])
    chosen = others if scores is None else scores
    if not chosen and not runs:
        raise ValueError(f"{path} has no column of scores beside {label!r} and {query!r}")
    try:
        judgments = Judgments(labels, qid=queries)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {one_line(error)}") from None
    models: dict[str, Any] = {name: column(table, name, path).to_numpy() for name in chosen}
    for name, columns in (recipes or {}).items():
        if name in models:
            raise ValueError(f"--run names {name!r}, which is a column of scores too: name it otherwise")
        models[name] = [column(table, run, path).to_numpy() for run in columns]
    return Judged(judgments, models, kinds={name: column(table, name, path).tolist() for name in kinds})


def _warn_of_text(path: Path, others: pd.DataFrame) -> None:
    """Say which columns are no scores though they hold numbers: for a few cells, or for how they are stored."""
    import pandas as pd

    for name, cells in others.items():
        if cells.dtype.kind not in "fiub":
            wrong = cells.notna() & pd.to_numeric(cells.astype(object), errors="coerce").isna()
            if cells.notna().any() and not wrong.any():
                kind = type(cells[cells.notna()].iloc[0]).__name__
                warnings.warn(
                    f"{path}: column {name!r} is left out: its numbers are stored as values of type {kind} "
                    f"({cells.dtype}); store them as floats where they are scores",
                    stacklevel=3,
                )
            elif 0 < wrong.sum() < len(cells) / 2:
                row = int(wrong.to_numpy().argmax())
                warnings.warn(
                    f"{path}: column {name!r} is left out: it holds {shown(str(cells.iloc[row]))} in row {row} (from "
                    "0), and numbers elsewhere",
                    stacklevel=3,
                )


def read_table(path: Path, text: str | None = None) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file; where `text` names a column of ids, CSV and TSV have them as they are written.

    Ids are "01" and "NA" then, and None where a cell is empty; blanks around them do not count. Text may be compressed
    with gzip, whatever its name.
    """
    if path.suffix == ".parquet":
        return read_parquet(path)
    content = io.BytesIO()
    for chunk in read_chunks(path, cells=True):
        content.write(chunk.text)
    content.seek(0)
    return _parsed(path, content, "\t" if ".tsv" in path.suffixes else ",", text)


def _parsed(path: Path, text: io.BytesIO, separator: str, ids: str | None) -> pd.DataFrame:
    """Return the table in a text, or raise with file and line what keeps pandas from reading it."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            # index_col=False: pandas would take the first column for an index where rows have one more than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            _refuse_twice(pd.read_csv(text, sep=separator, header=None, nrows=1, dtype=str).iloc[0].dropna())
            text.seek(0)
            exact = exact_floats(pd.__version__)
            marked = {} if ids is None else {ids: lambda cell: f"={cell.strip()}"}  # lest "NA" be taken for missing
            table: pd.DataFrame = pd.read_csv(
                text, sep=separator, index_col=False, low_memory=False, converters=marked, **exact
            )
            if ids in table:
                table[ids] = [cell[1:] or None for cell in table[ids]]
            return table
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path}: the file is empty") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path}: rows have more columns than the header") from None
    except (ValueError, OverflowError) as error:
        said = one_line(error).removeprefix("Error tokenizing data. C error: ")
        line = re.search(r" in line (\d+), ", said)
        raise at_line(path, int(line[1]), said) if line else ValueError(f"{path}: {said}") from None


def _refuse_twice(header: pd.Series) -> None:
    """Raise where two columns have one name, of which pandas changes the second."""
    if header.duplicated().any():
        raise ValueError(f"two columns are named {header[header.duplicated()].iloc[0]!r}: rename one of them")


def column(table: pd.DataFrame, name: str, path: Path) -> pd.Series:
    """Return a column, or say which there are."""
    if name not in table:
        known = list(map(str, table.columns))
        listed = ", ".join(map(shown, known[:20])) + (", …" if len(known) > 20 else "")
        raise ValueError(f"{path} has no column {name!r}{nearest(name, known)} (it has {listed})")
    return table[name]
