"""The settings of an experiment, and experiments in TOML files.

`ExperimentConfig` validates the arguments of `Experiment`, the keys of a TOML file and the content of
`experiment.json`. The guide "Experiments" of the documentation describes the file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

from .._common.arrays import nearest
from .._common.text import join_names
from ..comparison.compare import DEFAULT_METRICS
from ..comparison.data import validate_primary, validate_seed
from ..comparison.labels import read_cluster_file, read_segment_file
from ..data import RankingData, read_letor, read_lightgbm, simulate
from ..data.text import one_line
from ..metrics.base import Metric
from ..metrics.binary import validate_without_judged
from ..metrics.names import parse_metric, parse_metrics
from .candidate import Candidate, CandidateValues, Patience, Rounds, Seed, Threads, grid, validate_candidates
from .folds import k_folds
from .trainers import get_trainer
from .validation import Integer, Real, StrictModel, prefix_errors, validate_model

# After the check of `validation` that pydantic is installed.
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator  # isort: skip

BALANCED = "balanced"
Vary = Literal["seed", "queries"]

MAX_DRAWS, MAX_REPEATS = 10_000_000, 1000
MAX_BYTES = 2**20
"""Limit on the size of a TOML file, which is written by hand."""
MAX_KEY_PARTS = 64
"""Limit on the parts of a dotted key. No valid key has more than four."""


def validate_stop_by(stop_by: Any, metrics: Sequence[Metric]) -> str:
    """Return "balanced" or the full name of one of the metrics, or raise `ValueError`."""
    names = [BALANCED, *map(str, metrics)]
    if str(stop_by) in names:
        return str(stop_by)
    with suppress(ValueError, TypeError):
        metric = parse_metric(stop_by)
        if metric in metrics:
            return str(metric)
    raise ValueError(f"stop_by must be one of {', '.join(names)}, got {str(stop_by)!r}{nearest(str(stop_by), names)}")


def _validate_count(count: int) -> int:
    if count != 1 and not 3 <= count <= MAX_REPEATS:
        raise ValueError(f"must be 1, or from 3 to {MAX_REPEATS}, got {count}. Use 5, or 10 for differences near 0.01.")
    return count


class Repeats(StrictModel):
    """How often each candidate is trained.

    Attributes
    ----------
    count : int
        Repeats of each candidate. 1 trains every candidate once with its own seed.
    finalists : int or None
        Repeats of the finalists only. Every candidate is trained once first.
    keep : int
        Number of the best candidates on the validation set, by each primary metric, that are finalists.
    baseline : str or None
        Candidate that is always a finalist.
    """

    count: Annotated[Integer, AfterValidator(_validate_count)] = 1
    finalists: Annotated[Integer, Field(ge=3, le=MAX_REPEATS)] | None = None
    keep: Annotated[Integer, Field(ge=1)] = 3
    baseline: str | None = None

    @model_validator(mode="after")
    def _validate_finalists(self) -> Repeats:
        if self.finalists is None and (self.keep != 3 or self.baseline is not None):
            raise ValueError("repeats.finalists is missing. Write {'finalists': 5} for five repeats of each finalist.")
        return self

    @property
    def number(self) -> int:
        """Repeats of each compared candidate."""
        return self.finalists or self.count


def parse_repeats(text: str) -> Any:
    """Return the repeats in an option of the command line: "5", or "finalists=5,keep=2,baseline=NAME".

    Examples
    --------
    >>> parse_repeats("5"), parse_repeats("finalists=5,baseline=in use")
    (5, {'finalists': 5, 'baseline': 'in use'})
    """
    if "=" not in text:
        return int(text) if text.isdecimal() else text
    pairs = [pair.partition("=") for pair in text.split(",")]
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise ValueError(f"repeats must contain each key once, got {text!r}.")
    return {key: int(value) if value.isdecimal() and key != "baseline" else value for key, _, value in pairs}


def _read_repeats(value: Any) -> Any:
    """Return a number of repeats as a table."""
    if isinstance(value, Mapping):
        return dict(value)
    return value if isinstance(value, Repeats) else {"count": value}


class ExperimentConfig(StrictModel):
    """The settings that Python, TOML files and `experiment.json` share. See `Experiment` for their meaning."""

    candidates: Annotated[Any, BeforeValidator(validate_candidates)]
    metrics: Annotated[Any, Field(validate_default=True)] = None
    primary: Any = None
    stop_by: Any = BALANCED
    seed: Seed = 0
    alpha: Annotated[Real, Field(gt=0, lt=0.5)] = 0.05
    margin: Annotated[Real, Field(ge=0)] = 0.0
    draws: Annotated[Integer, Field(ge=1, le=MAX_DRAWS)] = 10_000
    num_boost_round: Rounds = 100
    early_stopping_rounds: Patience = 0
    threads: Threads = 1
    repeats: Annotated[Repeats, BeforeValidator(_read_repeats)] = Repeats()
    vary: Vary = "seed"

    @field_validator("metrics", "primary", "stop_by", mode="before")
    @classmethod
    def _validate_metric_names(cls, value: Any, info: ValidationInfo) -> Any:
        if info.field_name == "metrics":
            parsed = parse_metrics(DEFAULT_METRICS if value is None else value)
            validate_without_judged(parsed)
            return parsed
        metrics = info.data.get("metrics")
        if value is None or metrics is None:  # The metrics are invalid, which is reported.
            return value
        if info.field_name == "stop_by":
            return validate_stop_by(value, metrics)
        return validate_primary([str(metric) for metric in parse_metrics(value)], [str(metric) for metric in metrics])

    @model_validator(mode="after")
    def _validate_together(self) -> ExperimentConfig:
        validate_seed(self.seed, self.draws, self.alpha)
        if self.vary != "seed" and self.repeats.number == 1:
            raise ValueError(f"vary must be 'seed' without repeats, got {self.vary!r}. Pass repeats=5, for example.")
        names, baseline = [candidate.name for candidate in self.candidates], self.repeats.baseline
        if baseline is not None and baseline not in names:
            hint = nearest(baseline, names) or f" (candidates: {join_names(names)})"
            raise ValueError(f"repeats.baseline must be a candidate, got {baseline!r}{hint}")
        return self


Files = Annotated[
    list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value), Field(min_length=1)
]
Share = Annotated[float, Field(gt=0, lt=1)]
FeatureCount = Annotated[int, Field(ge=1, le=10**7)]


READ_OPTIONS = {"format", "features", "zero_based", "shared_ids"}
DATA_SOURCES: list[tuple[set[str], set[str]]] = [
    ({"train", "valid", "test"}, READ_OPTIONS),
    ({"folds"}, READ_OPTIONS),
    ({"files", "k_folds"}, {*READ_OPTIONS, "seed"}),
    ({"simulate"}, set()),
    ({"simulate", "k_folds"}, {"seed"}),
]
"""Keys of the table `data` that belong together, and the keys that are optional then."""


class SimulateTable(StrictModel):
    """Table `data.simulate` of a TOML file."""

    queries: Annotated[int, Field(ge=1, le=10**7)]
    seed: Seed
    split: Annotated[list[Share], Field(min_length=3, max_length=3)] | None = None
    features: FeatureCount = 30
    mean_length: Annotated[float, Field(ge=1)] = 120
    signal: float = 1.0


class DataTable(StrictModel):
    """Table `data` of a TOML file."""

    train: Files | None = None
    valid: Files | None = None
    test: Files | None = None
    folds: Annotated[list[str], Field(min_length=3)] | None = None
    files: Files | None = None
    k_folds: Annotated[int, Field(ge=3)] | None = None
    seed: Seed | None = None
    simulate: SimulateTable | None = None
    format: Literal["letor", "lightgbm"] = "letor"
    features: FeatureCount | None = None
    zero_based: bool | None = None
    shared_ids: Literal["refuse", "separate", "join"] | None = None
    clusters: str | None = None
    segments: str | None = None

    @model_validator(mode="after")
    def _validate_together(self) -> DataTable:
        keys = self.model_fields_set - {"clusters", "segments"}
        if not any(required <= keys <= required | optional for required, optional in DATA_SOURCES):
            raise ValueError(
                "data must have either train, valid and test, or folds, or files and k_folds, or simulate. format, "
                "features, zero_based and shared_ids require files, and seed requires k_folds, got "
                f"{' and '.join(sorted(keys)) or 'none of them'}"
            )
        if self.simulate is not None and (self.simulate.split is None) == (self.k_folds is None):
            raise ValueError("data requires either simulate.split = [0.6, 0.2, 0.2] or k_folds = 5")
        return self


class CandidateTable(CandidateValues):
    """A table of `candidates` in a TOML file. Some values may be lists."""

    params: dict[str, Any] = Field({})
    training_gain: Any = None
    seed: Any = None


def _expand_candidates(tables: Sequence[CandidateTable]) -> tuple[Candidate, ...]:
    """Return the candidates of all tables, with one candidate for each combination of listed values."""
    candidates: list[Candidate] = []
    for place, table in enumerate(tables):
        with prefix_errors(f"candidates[{place}]."):
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


def read_toml(path: str | os.PathLike[str], directory: str | os.PathLike[str] | None = None) -> dict[str, Any]:
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
    with open(source, "rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{source}: the file must have at most {MAX_BYTES} bytes")
    with _located(source, "not TOML: "):
        text = content.decode().replace("\r\n", "\n")
        _validate_keys(text)
        document = tomllib.loads(text)
    with _located(source):
        table = validate_model(ExperimentFile, document)
        labels = {
            key: read(_find_files(source, table.data, key)[0])
            for key, read in (("clusters", read_cluster_file), ("segments", read_segment_file))
            if getattr(table.data, key) is not None
        }
        data = _read_data(source, table.data, table.seed)
    if directory is None:
        directory = source.parent / (table.directory or f"{source.stem}-run")
    arguments = {key: value for key, value in table if key != "data"}
    return {**arguments, "directory": directory, **labels, **data}


@contextmanager
def _located(source: Path, prefix: str = "") -> Iterator[None]:
    """Put the path of the file before the message of an error, which becomes printable text."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = "\n".join(map(one_line, str(error).split("\n")))
    except RecursionError:
        message = "tables or lists are nested too deeply"
    except MemoryError:
        message = "data must fit into memory. Use less data or fewer features."
    else:
        return
    raise ValueError(f"{source}: {prefix}{message}")


def _validate_keys(text: str) -> None:
    """Raise if a key has so many parts that tomllib, which takes quadratic time, would not return."""
    for number, line in enumerate(text.split("\n"), 1):
        pieces = re.split(r"[,=\[\]{}]", "".join(line.split()))  # The dots of a key may have blanks around them.
        if not line.lstrip().startswith("#") and max(piece.count(".") for piece in pieces) >= MAX_KEY_PARTS:
            raise ValueError(f"keys must have at most {MAX_KEY_PARTS} parts (line {number})")


def _read_data(source: Path, table: DataTable, seed: int) -> dict[str, Any]:
    """Return the arguments of `Experiment` that contain the data."""
    if table.simulate is not None:
        with prefix_errors("data.simulate: "):
            everything = simulate(**table.simulate.model_dump(exclude={"split"}))
            if table.simulate.split is not None:
                parts = everything.split_queries(*table.simulate.split, seed=table.simulate.seed)
                return dict(zip(("train", "valid", "test"), parts, strict=True))
    else:
        paths = {key: _find_files(source, table, key) for key in ("train", "valid", "test", "folds", "files")}
        if table.folds is not None:
            return {"folds": [_read_files([path], table) for path in paths["folds"]]}
        if table.files is None:
            return {key: _read_files(paths[key], table) for key in ("train", "valid", "test")}
        everything = _read_files(paths["files"], table)
    with prefix_errors("data.k_folds: "):
        return {"folds": k_folds(everything, table.k_folds or 0, seed=seed if table.seed is None else table.seed)}


def _find_files(source: Path, table: DataTable, key: str) -> list[Path]:
    """Return the paths under a key, relative to the directory of the TOML file."""
    names = getattr(table, key) or ()
    paths = [source.parent / name for name in ([names] if isinstance(names, str) else names)]
    for place, path in enumerate(paths):
        if not os.path.isfile(path):
            name = str(path) if str(path).isprintable() else repr(str(path))
            key = key if isinstance(names, str) else f"{key}[{place}]"
            raise FileNotFoundError(f"{source}: data.{key} must be a file, got {name[:300]}")
    return paths


def _read_files(paths: Sequence[Path], table: DataTable) -> RankingData:
    options = table.model_dump(include=READ_OPTIONS - {"format"}, exclude_unset=True)
    if table.format == "letor":
        return read_letor(paths, **options)
    return RankingData.concatenate([read_lightgbm(path, **options) for path in paths])
