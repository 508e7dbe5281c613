"""What the command line reads: judged data in its several formats, and the scores of models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._arrays import nearest
from .judgments import Judgments

if TYPE_CHECKING:
    import pandas as pd

    from .data import RankingData


@dataclass(frozen=True)
class Judged:
    """Judgments from a file, and the scores of models on them (or what these are to be read from)."""

    judgments: Judgments
    models: dict[str, Any]
    features: Any = None


def read_data(path: Path, features: int | None = None) -> RankingData:
    """Read LETOR data, or LightGBM's pair of files where a `.query` file lies beside it."""
    from .data import read_letor, read_lightgbm

    if path.with_name(path.name + ".query").exists():
        return read_lightgbm(path, features=features)
    return read_letor(path, features=features)


def named_files(sources: list[str]) -> dict[str, Path]:
    """Return files by name: `NAME=FILE`, or `FILE` under its name without suffixes."""
    files: dict[str, Path] = {}
    for source in sources:
        name, equals, file = source.partition("=")
        path = Path(file if equals else source)
        if not equals:
            name = path.name.partition(".")[0]
        if name in files:
            raise ValueError(f"two models are named {name!r}: name them, as NAME=FILE")
        if not path.is_file():
            raise ValueError(f"there is no file {str(path)!r} (model {name!r})")
        files[name] = path
    return files


def from_data(data: RankingData, sources: list[str]) -> Judged:
    """Return judged data with models read from score files or from the libraries' model files."""
    models = {name: _model(path) for name, path in named_files(sources).items()}
    return Judged(data.judgments(), models, data.features)


def _model(path: Path) -> Any:
    """Return a booster where the file is one, else the path, to be read as a score file."""
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(b"tree\n"):
        import lightgbm

        return lightgbm.Booster(model_file=path)
    if path.suffix in (".ubj", ".json"):
        import xgboost

        return xgboost.Booster(model_file=path)
    return path


def from_runs(qrels: Path, sources: list[str]) -> Judged:
    """Return judgments of all judged and all retrieved documents, with -inf where a run did not retrieve one."""
    from .data import read_qrels, read_run
    from .run_evaluation import align_runs

    judgments, scores = align_runs(
        {name: read_run(path) for name, path in named_files(sources).items()}, read_qrels(qrels)
    )
    return Judged(judgments, dict(scores))


def from_table(path: Path, label: str, query: str, scores: list[str]) -> Judged:
    """Return judgments and scores from the columns of a CSV, TSV or Parquet file."""
    table = read_table(path)
    labels, queries = column(table, label, path), column(table, query, path)
    chosen = scores or [str(name) for name in table if name not in (label, query) and table[name].dtype.kind in "fiu"]
    if not chosen:
        raise ValueError(f"{path} has no column of scores beside {label!r} and {query!r}")
    return Judged(Judgments(labels, qid=queries), {name: column(table, name, path).to_numpy() for name in chosen})


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file."""
    import pandas as pd

    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, sep="\t" if ".tsv" in path.suffixes else ",")


def column(table: pd.DataFrame, name: str, path: Path) -> pd.Series:
    """Return a column, or say which there are."""
    if name not in table:
        known = list(map(str, table.columns))
        raise ValueError(f"{path} has no column {name!r}{nearest(name, known)} (it has {', '.join(known)})")
    return table[name]
