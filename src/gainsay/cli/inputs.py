"""What the command line reads: judged data in its several formats, and the scores of models."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._common.arrays import nearest
from .._common.names import check_name
from ..judgments import Judgments

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    import pandas as pd

    from ..data import RankingData
    from ..harness import Comparison
    from .options import Sources


@dataclass(frozen=True)
class Judged:
    """Judgments from a file, and the scores of models on them (or what these are to be read from)."""

    judgments: Judgments
    models: dict[str, Any]
    features: Any = None
    segments: dict[str, Any] | None = None


def read_data(path: Path, features: int | None = None) -> RankingData:
    """Read LETOR data, or LightGBM's pair of files where a `.query` file lies beside it."""
    from ..data import read_letor, read_lightgbm

    if path.with_name(path.name + ".query").exists():
        return read_lightgbm(path, features=features)
    return read_letor(path, features=features)


class Source(NamedTuple):
    """A file, and the column of it that is meant where that was said."""

    path: Path
    column: str | None = None


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
        if not source.path.is_file():
            raise ValueError(f"there is no file {str(source.path)!r} (model {name!r})")
        files[name] = source
    return files


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
    """Read judgments and models, and compare them.

    Parameters
    ----------
    models : list of str
        ``NAME=FILE`` or ``FILE``; none with a table, whose columns they are.
    sources : Sources
        The judgments.
    segments, run, clusters
        Of the queries and of models, as the options of `gainsay compare` have them.
    metric : list of str, optional
        See `gainsay.compare`.
    **options
        Of `gainsay.compare` and `gainsay.compare_runs` alike.

    Raises
    ------
    ValueError
        Where it is not said what the judgments are, or too much is said.
    """
    from ..harness import compare, compare_runs

    rounds, recipes = iterations(sources.iteration or []), listed_runs(run)
    if sources.table is None:
        options |= {"segments": segments_of(segments, sources.query)}
        options |= {"clusters": clusters_of(clusters, sources.query)}
    if sum(source is not None for source in (sources.data, sources.qrels, sources.table, sources.labels)) != 1:
        raise ValueError("give the judgments as one of --data, --qrels, --table and --labels")
    if (sources.labels is None) != (sources.group is None):
        raise ValueError("--labels and --group belong together: the labels of all rows, and how many each query has")
    if sources.table is not None:
        if models:
            raise ValueError(f"with --table the models are its columns (--score names them), got {models[0]!r} too")
        apart = [*segments, *([] if clusters is None else [clusters])]
        judged = from_table(sources.table, sources.label, sources.query, sources.score, apart, recipes)
        kinds = judged.segments or {}
        options |= {"segments": {name: kinds[name] for name in segments} or None}
        options |= {"clusters": None if clusters is None else kinds[clusters]}
    elif not models and not recipes:
        raise ValueError("name at least one model, as NAME=FILE")
    elif sources.qrels is not None:
        runs: dict[str, Any] = {name: source.path for name, source in named_files(models).items()}
        for name, files in recipe_files(recipes, runs, columns=False).items():
            runs[name] = [source.path for source in files]
        return compare_runs(runs, sources.qrels, metric, **options)
    elif sources.data is not None:
        judged = from_data(read_data(sources.data, sources.features), models)
        _add_recipes(judged.models, recipes, _scores_or_model)
    else:
        assert sources.labels is not None
        assert sources.group is not None
        judged = from_labels(sources.labels, sources.group, models)
        _add_recipes(judged.models, recipes, _scores_alone)
    return compare(judged.models, judged.judgments, metric, features=judged.features, iteration=rounds, **options)


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
    return found


def is_recipe(text: str) -> bool:
    """Whether this names a recipe and its runs, `NAME=A,B,C`, and not a file with a comma in its name."""
    _, equals, runs = text.partition("=")
    if "," not in text or _source(runs if equals else text, True).path.is_file():
        return False
    if not equals:
        raise ValueError(f"{text!r} lists several runs: name the recipe, as NAME=FILE,FILE,FILE")
    return True


def recipe_files(recipes: dict[str, list[str]], others: Container[str], *, columns: bool) -> dict[str, list[Source]]:
    """Return the files of every run; `others` are the names of the models that stand beside them."""
    found: dict[str, list[Source]] = {}
    for name, runs in recipes.items():
        if name in others:
            raise ValueError(f"two models are named {name!r}: name them, as NAME=FILE and --run NAME=FILE,FILE,FILE")
        found[name] = [_source(text, columns) for text in runs]
        for source in found[name]:
            if not source.path.is_file():
                raise ValueError(f"there is no file {str(source.path)!r} (--run {name!r})")
    return found


def _add_recipes(models: dict[str, Any], recipes: dict[str, list[str]], read: Callable[[str, Source], Any]) -> None:
    """Add to models the scores, or what these are read from, of every run of recipes."""
    for name, files in recipe_files(recipes, models, columns=True).items():
        models[name] = [read(f"{name}, run {number}", source) for number, source in enumerate(files, 1)]


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
        try:
            rounds = int(number)
        except ValueError:
            raise ValueError(f"--iteration holds {text!r}: give a whole number of rounds, or NAME=ROUNDS") from None
        if not equals:
            if len(given) > 1:
                raise ValueError(f"--iteration {text} is for all models: give it alone, or NAME=ROUNDS for each")
            return rounds
        if name in found:
            raise ValueError(f"--iteration names {name!r} twice")
        found[name] = rounds
    return found or None


def _source(text: str, columns: bool) -> Source:
    """Return a file, with a column where there is no file of this very name but one of what stands before a colon."""
    file, colon, column = text.rpartition(":")
    if columns and colon and column and not Path(text).is_file() and Path(file).is_file():
        return Source(Path(file), column)
    return Source(Path(text))


def from_data(data: RankingData, sources: list[str]) -> Judged:
    """Return judged data with models read from score files or from the libraries' model files."""
    files = named_files(sources, columns=True)
    models = {name: _scores_or_model(name, source) for name, source in files.items()}
    return Judged(data.judgments(), models, data.features)


def from_labels(labels: Path, group: Path, sources: list[str]) -> Judged:
    """Return judgments from a file of labels and one of sizes of queries, with models read from score files."""
    from ..data import read_scores

    try:
        judgments = Judgments(read_scores(labels), group=read_scores(group))
    except (ValueError, TypeError) as error:
        raise ValueError(f"--labels {str(labels)!r} and --group {str(group)!r}: {error}") from None
    return Judged(judgments, {name: _scores_alone(name, it) for name, it in named_files(sources, columns=True).items()})


def _scores_alone(name: str, source: Source) -> Any:
    """Return scores; a model has nothing to predict from where there are labels alone."""
    found = _scores_or_model(name, source)
    if hasattr(found, "predict"):
        raise ValueError(f"model {name!r}: {source.path} is a model, which predicts from features: give them by --data")
    return found


def _scores_or_model(name: str, source: Source) -> Any:
    """Return the scores in a column, or what a file without one is taken for."""
    if source.column is None:
        return _model(source.path)
    from ..data import read_scores

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
        if not source.path.is_file():
            raise ValueError(f"there is no file {str(source.path)!r} ({option})")
        table = read_table(source.path, text=query)
        ids = column(table, query, source.path).tolist()
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
        if found.setdefault(query, label) != label and label == label:
            raise ValueError(
                f"{path}: query {query!r} has two labels in column {name!r}, {found[query]!r} and {label!r}"
            )
    numbers = {
        int(query): label for query, label in found.items() if str(query).isdecimal() and str(int(query)) == query
    }
    return found | numbers


def from_table(
    path: Path,
    label: str,
    query: str,
    scores: Sequence[str] | None,
    segments: list[str] | None = None,
    recipes: dict[str, list[str]] | None = None,
) -> Judged:
    """Return judgments, scores and labels of queries from the columns of a CSV, TSV or Parquet file."""
    from ..data._text import one_line

    table = read_table(path)
    labels, queries = column(table, label, path), column(table, query, path)
    runs = [name for names in (recipes or {}).values() for name in names]
    taken = (label, query, *(segments or ()), *runs)
    others = [str(name) for name in table if name not in taken and table[name].dtype.kind in "fiu"]
    chosen = others if scores is None else list(scores)
    if not chosen and not runs:
        raise ValueError(f"{path} has no column of scores beside {label!r} and {query!r}")
    try:
        judgments = Judgments(labels, qid=queries)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {one_line(error)}") from None
    kinds = {name: column(table, name, path).tolist() for name in segments or ()}
    models: dict[str, Any] = {name: column(table, name, path).to_numpy() for name in chosen}
    for name, columns in (recipes or {}).items():
        if name in models:
            raise ValueError(f"--run names {name!r}, which is a column of scores too: name it otherwise")
        models[name] = [column(table, run, path).to_numpy() for run in columns]
    return Judged(judgments, models, segments=kinds or None)


def read_table(path: Path, text: str | None = None) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, one column as text where that is asked for.

    Text may be compressed with gzip, whatever its name.
    """
    from ..data._parquet import read_frame
    from ..data._text import read_chunks

    if path.suffix == ".parquet":
        frame = read_frame(path)
        return frame.astype({text: str}) if text in frame else frame
    content = io.BytesIO()
    for chunk in read_chunks(path):
        content.write(chunk.text)
    content.seek(0)
    return _parsed(path, content, "\t" if ".tsv" in path.suffixes else ",", {} if text is None else {text: str})


def _parsed(path: Path, text: io.BytesIO, separator: str, types: dict[str, Any]) -> pd.DataFrame:
    """Return the table in a text, or raise with file and line what keeps pandas from reading it."""
    import pandas as pd

    from ..data._text import at_line, exact_floats, one_line

    try:
        with warnings.catch_warnings():
            # index_col=False: pandas would take the first column for an index where rows have one more than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            exact = exact_floats(pd.__version__)
            table: pd.DataFrame = pd.read_csv(
                text, sep=separator, index_col=False, low_memory=False, dtype=types, **exact
            )
            return table
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path}: the file is empty") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path}: rows have more columns than the header") from None
    except (ValueError, OverflowError) as error:
        said = one_line(error).removeprefix("Error tokenizing data. C error: ")
        line = re.search(r" in line (\d+), ", said)
        raise at_line(path, int(line[1]), said) if line else ValueError(f"{path}: {said}") from None


def column(table: pd.DataFrame, name: str, path: Path) -> pd.Series:
    """Return a column, or say which there are."""
    from ..data._text import shown

    if name not in table:
        known = list(map(str, table.columns))
        listed = ", ".join(map(shown, known[:20])) + (", …" if len(known) > 20 else "")
        raise ValueError(f"{path} has no column {name!r}{nearest(name, known)} (it has {listed})")
    return table[name]
