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
    import pandas as pd

    from ..data import RankingData


@dataclass(frozen=True)
class Judged:
    """Judgments from a file, and the scores of models on them (or what these are to be read from)."""

    judgments: Judgments
    models: dict[str, Any]
    features: Any = None


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


def from_table(path: Path, label: str, query: str, scores: list[str]) -> Judged:
    """Return judgments and scores from the columns of a CSV, TSV or Parquet file."""
    from ..data._text import one_line

    table = read_table(path)
    labels, queries = column(table, label, path), column(table, query, path)
    chosen = scores or [str(name) for name in table if name not in (label, query) and table[name].dtype.kind in "fiu"]
    if not chosen:
        raise ValueError(f"{path} has no column of scores beside {label!r} and {query!r}")
    try:
        judgments = Judgments(labels, qid=queries)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {one_line(error)}") from None
    return Judged(judgments, {name: column(table, name, path).to_numpy() for name in chosen})


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file; text may be compressed with gzip, whatever its name."""
    from ..data._parquet import read_frame
    from ..data._text import read_chunks

    if path.suffix == ".parquet":
        return read_frame(path)
    text = io.BytesIO()
    for chunk in read_chunks(path):
        text.write(chunk.text)
    text.seek(0)
    return _parsed(path, text, "\t" if ".tsv" in path.suffixes else ",")


def _parsed(path: Path, text: io.BytesIO, separator: str) -> pd.DataFrame:
    """Return the table in a text, or raise with file and line what keeps pandas from reading it."""
    import pandas as pd

    from ..data._text import at_line, one_line

    try:
        with warnings.catch_warnings():
            # index_col=False: pandas would take the first column for an index where rows have one more than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            exact = _exact_floats(pd.__version__)
            table: pd.DataFrame = pd.read_csv(text, sep=separator, index_col=False, low_memory=False, **exact)
            return table
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path}: the file is empty") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path}: rows have more columns than the header") from None
    except (ValueError, OverflowError) as error:
        said = one_line(error).removeprefix("Error tokenizing data. C error: ")
        line = re.search(r" in line (\d+), ", said)
        raise at_line(path, int(line[1]), said) if line else ValueError(f"{path}: {said}") from None


def _exact_floats(version: str) -> dict[str, Any]:
    """Return what makes pandas read decimal numbers as Python does; from 3.1 on nothing, and asking is deprecated.

    >>> _exact_floats("2.1.4"), _exact_floats("3.1.0rc0")
    ({'float_precision': 'round_trip'}, {})
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def column(table: pd.DataFrame, name: str, path: Path) -> pd.Series:
    """Return a column, or say which there are."""
    from ..data._text import shown

    if name not in table:
        known = list(map(str, table.columns))
        listed = ", ".join(map(shown, known[:20])) + (", …" if len(known) > 20 else "")
        raise ValueError(f"{path} has no column {name!r}{nearest(name, known)} (it has {listed})")
    return table[name]
