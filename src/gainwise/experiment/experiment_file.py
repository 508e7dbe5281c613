"""Experiments in TOML files. The page "Experiment file" of the documentation describes them."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from .._common.typing import FilePath
from .._common.validation import prefix_errors
from ..data import RankingData, from_frame, read_letor, read_lightgbm, simulate
from ..data.tables import read_table
from ..data.text import one_line
from .config import (
    CandidateValues,
    ExperimentConfig,
    Seed,
    StrictModel,
    grid,
    parse_config,
    validate_candidates,
)
from .plan import k_folds
from .trainers import get_trainer

Files = Annotated[
    list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value), Field(min_length=1)
]
Share = Annotated[float, Field(gt=0, lt=1)]
FeatureCount = Annotated[int, Field(ge=1, le=10**7)]


PARTS = ("train", "valid", "test")
TABLE_OPTIONS = {"label", "query", "weight", "columns", "feature_columns"}
"""Optional keys of the table `data` if it names tables."""
READ_OPTIONS = {"format", "features", "zero_based", "shared_ids"} | TABLE_OPTIONS
"""Optional keys of the table `data` if it names files."""
DATA_SOURCES = (
    {"train", "valid", "test"}, {"folds"}, {"files", "k_folds"}, {"files", "split"}, {"simulate"},
    {"simulate", "k_folds"},
)  # fmt: skip
"""Keys of the table `data` that belong together."""


class SimulateTable(StrictModel):
    """Table `data.simulate` of a TOML file."""

    queries: Annotated[int, Field(ge=1, le=10**7)]
    seed: Seed
    split: Annotated[list[Share], Field(min_length=3, max_length=3)] | None = None
    features: FeatureCount = 30
    mean_length: Annotated[float, Field(ge=1)] = 120
    signal: float = 1.0


class SplitTable(StrictModel):
    """Table `data.split` of a TOML file."""

    by: str
    at: Annotated[list[Any], Field(min_length=2, max_length=2)]


class DataTable(StrictModel):
    """Table `data` of a TOML file."""

    train: Files | None = None
    valid: Files | None = None
    test: Files | None = None
    folds: Annotated[list[str], Field(min_length=3)] | None = None
    files: Files | None = None
    k_folds: Annotated[int, Field(ge=3)] | None = None
    split: SplitTable | None = None
    seed: Seed | None = None
    simulate: SimulateTable | None = None
    groups: str | None = None
    format: Literal["letor", "lightgbm", "table"] = "letor"
    label: str = "label"
    query: str = "query"
    weight: str | None = None
    columns: list[str] = Field([])
    feature_columns: list[str] | None = None
    features: FeatureCount | None = None
    zero_based: bool | None = None
    shared_ids: Literal["refuse", "separate", "join"] | None = None

    @model_validator(mode="after")
    def _validate_together(self) -> DataTable:
        keys = self.model_fields_set
        is_useless = (keys & READ_OPTIONS and "simulate" in keys) or ("seed" in keys and "k_folds" not in keys)
        if keys - READ_OPTIONS - {"seed", "groups"} not in DATA_SOURCES or is_useless:
            raise ValueError(
                "data must have either train, valid and test, or folds, or files and k_folds or split, or simulate. "
                "format, features, zero_based, shared_ids and columns require files, and seed requires k_folds, got "
                f"{' and '.join(sorted(keys)) or 'none of them'}"
            )
        options = READ_OPTIONS - TABLE_OPTIONS - {"format"} if self.format == "table" else TABLE_OPTIONS
        if keys & options:
            need = "must not have" if self.format == "table" else "requires format = 'table' for"
            raise ValueError(f"data {need} {' and '.join(sorted(keys & options))}, got format = {self.format!r}")
        if self.split is not None and self.format != "table":
            raise ValueError(
                f"data.split requires format = 'table' with a column {self.split.by!r}, got {self.format!r}"
            )
        if self.simulate is not None and (self.simulate.split is None) == (self.k_folds is None):
            raise ValueError("data requires either simulate.split = [0.6, 0.2, 0.2] or k_folds = 5")
        return self


class CandidateTable(CandidateValues):
    """A table of `candidates` in a TOML file. Some values may be lists."""

    params: dict[str, Any] = Field({})
    training_gain: Any = None
    seed: Any = None


def _expand_candidates(tables: Sequence[CandidateTable]) -> tuple[Any, ...]:
    """Return the candidates of all tables, with one candidate for each combination of listed values."""
    candidates: list[Any] = []
    for place, table in enumerate(tables):
        with prefix_errors(f"candidates[{place}].", TypeError):
            expanded = grid(**dict(table))
            for candidate in expanded:
                get_trainer(candidate.library).validate_parameters(candidate)
        candidates += expanded
    return validate_candidates(candidates)


class ExperimentFile(ExperimentConfig):
    """A TOML file."""

    candidates: Annotated[list[CandidateTable], Field(min_length=1), AfterValidator(_expand_candidates)]
    directory: str | None = None
    data: DataTable


def read_toml(path: FilePath, directory: FilePath | None = None) -> dict[str, Any]:
    """Return the arguments of `Experiment` in a TOML file, with the data.

    Parameters
    ----------
    path : path
        The file.
    directory : path, optional
        Directory of the experiment. Defaults to the one in the file.

    Raises
    ------
    ValueError
        One line for each mistake, with its key and value.
    """
    source = Path(path)
    with prefix_errors(f"{source}: ", TypeError):
        table = parse_config(ExperimentFile, tomllib.loads(source.read_text("utf-8")))
        data = _read_data(source, table.data, table.seed)
    if directory is None:
        directory = source.parent / (table.directory or f"{source.stem}-run")
    arguments = {key: value for key, value in table if key != "data"}
    return {**arguments, "directory": directory, "groups": table.data.groups, **data}


def _read_data(source: Path, table: DataTable, seed: int) -> dict[str, Any]:
    """Return the arguments of `Experiment` that contain the data."""
    if table.simulate is not None:
        with prefix_errors("data.simulate: ", TypeError):
            everything = simulate(**table.simulate.model_dump(exclude={"split"}))
            if table.simulate.split is not None:
                fractions, own_seed = table.simulate.split, table.simulate.seed
                split = everything.split_queries(*fractions, seed=own_seed, groups=table.groups)
                return dict(zip(PARTS, split, strict=True))
    else:
        paths = {key: _find_files(source, table, key) for key in (*PARTS, "folds", "files")}
        if table.folds is not None:
            return {"folds": [_read_files([path], table) for path in paths["folds"]]}
        if table.files is None:
            return {key: _read_files(paths[key], table) for key in PARTS}
        everything = _read_files(paths["files"], table)
        if table.split is not None:
            with prefix_errors("data.split: ", TypeError):
                times = [str(value) if isinstance(value, date) else value for value in table.split.at]
                return dict(zip(PARTS, everything.split_queries(by=table.split.by, at=times), strict=True))
    with prefix_errors("data.k_folds: ", TypeError):
        own_seed = seed if table.seed is None else table.seed
        return {"folds": k_folds(everything, table.k_folds or 0, seed=own_seed, groups=table.groups)}


def _find_files(source: Path, table: DataTable, key: str) -> list[Path]:
    """Return the paths under a key, relative to the directory of the TOML file."""
    paths = [source.parent / name for name in getattr(table, key) or ()]
    for place, path in enumerate(paths):
        if not path.is_file():
            raise FileNotFoundError(f"{source}: data.{key}[{place}] must be a file, got {path}")
    return paths


def _read_files(paths: Sequence[Path], table: DataTable) -> RankingData:
    options = table.model_dump(include=READ_OPTIONS - {"format"}, exclude_unset=True)
    if table.format == "table":
        return RankingData.concatenate([_read_table(path, table) for path in paths])
    if table.format == "letor":
        return read_letor(paths, **options)
    return RankingData.concatenate([read_lightgbm(path, **options) for path in paths])


def _read_table(path: Path, table: DataTable) -> RankingData:
    """Return the data of a CSV, TSV or Parquet file, with numeric or categorical features."""
    keys = (table.groups, table.split and table.split.by)
    try:
        return from_frame(
            read_table(path, [table.query, table.groups]),
            label=table.label, query=table.query, weight=table.weight, features=table.feature_columns,
            columns=table.columns, keys=list(dict.fromkeys(key for key in keys if key)),
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {one_line(error)}") from None
