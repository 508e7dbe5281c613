"""The plan of an experiment: its folds and data, everything else a result depends on, and its trainings."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from .._common.arrays import find_best
from .._common.lazy import pandas as pd
from .._common.text import agree, join_names, natural_order, printable
from .._common.typing import Floats
from .._common.validation import validate_integer
from ..data import RankingData
from ..data.ranking_data import is_sparse, parts_of, same_features
from ..evaluation.prediction import select_columns, warn_of_remarks
from ..metrics.base import Metric, list_metric_columns, origin_of
from ..metrics.names import parse_metrics
from .config import BALANCED, MAX_SEED, Candidate, ExperimentConfig, StrictModel, parse_config

Parts = Mapping[str, RankingData]
"""The data of an experiment, in parts that folds name."""


class Fold(StrictModel):
    """The parts of the data that one training uses.

    Attributes
    ----------
    name : str
        Empty if there is one division only.
    train : tuple of str
        Parts to train on, concatenated.
    valid, test : str
        Part to choose rounds and candidates on, and part to compare on.
    """

    name: str
    train: Annotated[tuple[str, ...], Field(strict=False)]
    valid: str
    test: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of all its parts."""
        return (*self.train, self.valid, self.test)


class FeatureColumns(StrictModel):
    """The columns of the features: how many, whether they are sparse, and the names and categories, if any."""

    number: int
    sparse: bool
    names: Annotated[tuple[str, ...], Field(strict=False)] | None
    categories: dict[str, Annotated[tuple[Any, ...], Field(strict=False)]] | None

    @classmethod
    def from_data(cls, data: RankingData) -> FeatureColumns:
        """Return the columns of a dataset."""
        categories = None if data.categories is None else dict(data.categories)
        columns, sparse = data.features.shape[1], is_sparse(data.features)
        return cls(number=columns, sparse=sparse, names=data.feature_names, categories=categories)

    def validate_kind(self, argument: str, data: RankingData) -> None:
        """Raise `ValueError` if data have another number of features, or are sparse and these are not."""
        number = data.features.shape[1]
        if number != self.number:
            fix = "If you read files, pass features= to the reader."
            raise ValueError(f"{argument} must have {self.number} features, as the training data, got {number}. {fix}")
        if is_sparse(data.features) != self.sparse:
            kind, other_kind = ("sparse", "dense") if self.sparse else ("dense", "sparse")
            raise ValueError(f"The features of {argument} must be {kind}, as in the training data, got {other_kind}.")

    def align(self, argument: str, data: RankingData, *, new_categories: bool = False) -> RankingData:
        """Return data with the codes of these categories, or raise `ValueError` if the columns differ.

        Columns are matched by name if both have names, and further columns are ignored with a warning. With
        `new_categories`, categories that these columns lack follow theirs.
        """
        if self.names is not None and data.feature_names not in (None, self.names):
            selected = select_columns(self.names, data)
            warn_of_remarks(f"{argument}: the model", selected.remarks)
            data = selected.features
        self.validate_kind(argument, data)
        if not (self.categories or data.categories) and None in (self.names, data.feature_names):
            return replace(data, feature_names=self.names)
        reference = RankingData(
            np.zeros((1, self.number)), [0], group=[1], feature_names=self.names, categories=self.categories
        )
        data = same_features([reference, data], ["the training data", argument])[1]
        for name, values in ({} if new_categories else self.categories or {}).items():
            codes = data.features[:, (data.feature_names or ()).index(name)]
            if (codes >= len(values)).any():
                new = (data.categories or {})[name][int(codes[codes >= len(values)][0])]
                fix = "Make it a missing value, or refit with data that contain it."
                raise ValueError(f"{argument} must have trained categories, got {new!r} of feature {name!r}. {fix}")
        return data if new_categories else replace(data, categories=self.categories)


def divide(
    train: RankingData | None,
    valid: RankingData | None,
    test: RankingData | None,
    folds: Sequence[RankingData] | None,
    groups: str | None = None,
) -> tuple[Parts, tuple[Fold, ...]]:
    """Return the parts and folds of one division, or of a rotation, whose parts share no value of the key `groups`."""
    if folds is not None:
        if not (train is None and valid is None and test is None):
            raise ValueError("Pass either train, valid and test, or folds, not both.")
        return rotate(folds, groups)
    if train is None or valid is None or test is None:
        missing = [name for name, part in (("train", train), ("valid", valid), ("test", test)) if part is None]
        are = agree(len(missing), "are")
        raise ValueError(f"{join_names(missing)} {are} missing. Pass train, valid and test, or folds.")
    parts = _prepare_parts({"train": train, "valid": valid, "test": test}, groups)
    return parts, (Fold(name="", train=("train",), valid="valid", test="test"),)


def rotate(folds: Sequence[RankingData], groups: str | None = None) -> tuple[Parts, tuple[Fold, ...]]:
    """Return the parts and folds of LETOR's cross-validation: test on fold i, validate on fold i + 1, train on others.

    Raises
    ------
    ValueError
        If there are fewer than three folds, or some have weights and others not.
    """
    if isinstance(folds, RankingData):
        raise TypeError("folds must be a sequence of RankingData, got a single one. Use k_folds(data, k).")
    count = len(folds)
    if count < 3:
        raise ValueError(f"folds must have at least three entries (test, validation, training), got {count}")
    names = [f"fold {number}" for number in range(1, count + 1)]
    parts = _prepare_parts(dict(zip(names, folds, strict=True)), groups)
    unweighted = [name for name, part in parts.items() if part.weight is None]
    if unweighted and len(unweighted) < count:
        raise ValueError(f"{unweighted[0]} has no weight, but other folds have. Use weights in all folds or in none.")
    rotated = []
    for name, valid in zip(names, [*names[1:], names[0]], strict=True):
        train = tuple(part for part in names if part not in (name, valid))
        rotated.append(Fold(name=name, train=train, valid=valid, test=name))
    return parts, tuple(rotated)


def k_folds(data: RankingData, k: int = 5, *, seed: int = 0, groups: str | None = None) -> list[RankingData]:
    """Divide the queries of a dataset at random into k parts of equal size.

    Parameters
    ----------
    data : RankingData
        Dataset to divide. A query is never split.
    k : int, default 5
        Number of parts, at least 3. Sizes differ by one query at most.
    seed : int, default 0
        Seed of the division.
    groups : str, optional
        A key of the data, such as ``"user"``. All queries with the same value are in the same part, and the parts
        have similar numbers of queries.

    Returns
    -------
    list of RankingData

    Raises
    ------
    ValueError
        If there are fewer queries or groups than parts.

    Examples
    --------
    >>> from gainwise.data import simulate
    >>> [len(fold.query_ids) for fold in k_folds(simulate(17, seed=1, mean_length=5), 5, seed=3)]
    [4, 4, 3, 3, 3]
    """
    k = validate_integer("k_folds", k, 3)
    number = data.group_queries(groups)
    sizes = np.bincount(number)
    if len(sizes) < k:
        units = "queries" if groups is None else f"values of {groups!r}"
        raise ValueError(f"{len(sizes)} {units} cannot be divided into {k} folds")
    shuffled = np.random.default_rng(validate_integer("seed", seed, 0)).permutation(len(sizes))
    if groups is None:
        return [data.take_queries(np.sort(codes)) for codes in np.array_split(shuffled, k)]
    totals, fold_of_group = [0] * k, np.empty(len(sizes), dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of_group[group] = fold = totals.index(min(totals))
        totals[fold] += int(sizes[group])
    return [data.take_queries(np.flatnonzero(fold_of_group[number] == fold)) for fold in range(k)]


def compute_fingerprint(data: RankingData) -> str:
    """Return a digest of everything in the data that training and evaluation use."""
    digest = hashlib.sha256()
    columns = (value for name in sorted(data.columns) for value in (np.array(name), data.columns[name]))
    for array in (*parts_of(data.features).values(), data.labels, data.qid, data.query_ids, data.weight, *columns):
        if array is None:
            digest.update(b"none")
            continue
        digest.update(f"{array.dtype.str} {array.shape};".encode())
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.dtype.kind != "U" else array.tobytes())
    if data.feature_names is not None:
        categories = {name: list(values) for name, values in (data.categories or {}).items()}
        digest.update(json.dumps([data.feature_names, categories]).encode())
    return digest.hexdigest()


def validate_data(name: str, data: Any) -> None:
    """Raise unless this is a dataset whose weights fit into the 32-bit floats of both libraries."""
    if not isinstance(data, RankingData):
        raise TypeError(
            f"{name} must be RankingData, got {type(data).__name__}. Use gainwise.RankingData(X, y, qid=query_ids), "
            "gainwise.data.from_frame(frame, label=…, query=…) or gainwise.data.read_letor(path)."
        )
    limits, weights = np.finfo(np.float32), np.zeros(0) if data.weight is None else data.weight
    outside = weights[(weights > limits.max) | ((weights < limits.tiny) & (weights > 0))]
    if len(outside):
        raise ValueError(
            f"{name} has a weight of {outside[0]:g}, but LightGBM and XGBoost use 32-bit floats ({limits.tiny:.0e} to "
            f"{limits.max:.0e}). Multiply all weights by the same number."
        )


def _prepare_parts(parts: Mapping[str, Any], groups: str | None) -> Parts:
    """Validate the parts, and return them with adjacent rows for each query and one code per category."""
    for name, part in parts.items():
        validate_data(name, part)
    columns = FeatureColumns.from_data(next(iter(parts.values())))
    for name, part in parts.items():
        columns.validate_kind(name, part)
        missing = {column for other in parts.values() for column in other.columns} - part.columns.keys()
        if missing:
            raise ValueError(f"{name} has no column {min(missing)!r}, but other parts have. Read it in all parts.")
    for first, second in itertools.combinations(parts if groups is not None else (), 2):
        shared = np.intersect1d(*(parts[name].get_key(groups) for name in (first, second)))
        if len(shared):
            raise ValueError(
                f"{len(shared)} values of key {groups!r} are in {first} and in {second} (the first is "
                f"{shared.tolist()[0]!r}). Split the data with split_queries(…, groups={groups!r}) or k_folds."
            )
    aligned = same_features(list(parts.values()), list(parts))
    prepared = {}
    for name, part in zip(parts, aligned, strict=True):
        keys = {} if groups is None else {groups: part.keys[groups]}
        prepared[name] = replace(part.contiguous(), document_ids=None, keys=keys)
    return prepared


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work: one repeat of one candidate on one fold.

    Repeat 0 has the seed of the candidate. The others have their own seeds, and may train on resampled queries.
    """

    candidate: Candidate
    fold: Fold
    repeat: int = 0
    resampled: bool = False

    @property
    def seeded_candidate(self) -> Candidate:
        """Candidate with the seed of this repeat."""
        return replace(self.candidate, seed=compute_seed(self.candidate, self.repeat))

    def select_data(self, parts: Parts) -> tuple[RankingData, RankingData]:
        """Return training and validation data."""
        pieces = [parts[name] for name in self.fold.train]
        train = pieces[0] if len(pieces) == 1 else RankingData.concatenate(pieces)
        if self.resampled:
            train = resample(train, compute_seed(self.candidate, self.repeat))
        return train, parts[self.fold.valid]

    @property
    def slug(self) -> str:
        """Name of its folder, which is safe for all names of candidates and folds."""
        fold = re.sub(r"[^a-z0-9]+", "-", self.fold.name)
        repeat = f"{'sample' if self.resampled else 'repeat'}-{self.repeat}" if self.repeat else ""
        return ".".join([create_slug(self.candidate.name), *filter(None, (fold, repeat))])

    def __str__(self) -> str:
        repeat = f"repeat {self.repeat}{' on resampled queries' if self.resampled else ''}" if self.repeat else ""
        details = ", ".join(filter(None, (self.fold.name, repeat)))
        return f"{self.candidate.name} ({details})" if details else self.candidate.name


class ExperimentPlan(ExperimentConfig):
    """Settings, folds and data: everything that a result depends on.

    Attributes
    ----------
    folds : tuple of Fold
        Division of the data.
    data : dict of part to str
        Fingerprints of the data.
    features : FeatureColumns
        Columns of the features, which are the same in all parts.
    clusters : tuple of str, or None
        Cluster of each test query, folds one after the other.
    segments : dict of column to tuple of str, or None
        Segments of each test query.
    """

    folds: Annotated[tuple[Fold, ...], Field(strict=False, min_length=1)]
    data: dict[str, str]
    features: FeatureColumns
    clusters: Annotated[tuple[str, ...], Field(strict=False)] | None = None
    segments: dict[str, Annotated[tuple[str, ...], Field(strict=False)]] | None = None

    @model_validator(mode="after")
    def _validate_folds(self) -> ExperimentPlan:
        if not {part for fold in self.folds for part in fold.parts} <= self.data.keys():
            raise ValueError("folds must consist of parts of the data")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return tuple(map(str, self.metrics))

    @property
    def definitions(self) -> list[str]:
        """Names of the metrics that any process can parse."""
        return [metric.definition for metric in self.metrics]

    @property
    def columns(self) -> list[str]:
        """Names of the columns that the metrics use."""
        return list_metric_columns(self.metrics)

    @property
    def primary_metrics(self) -> tuple[str, ...]:
        """Metrics that choose rounds: the two primary metrics, or the only metric."""
        return self.primary or self.names[:2]

    def choose_round(self, curves: Floats, stop_by: str | None = None) -> int:
        """Return the round of one training that "balanced" or a metric, by default `stop_by`, chooses on valid."""
        stop_by = stop_by or self.stop_by
        curves = orient(curves, self.metrics)
        if stop_by == BALANCED:
            return find_balanced_round(curves, [self.names.index(metric) for metric in self.primary_metrics])
        return find_best_rounds(curves)[self.names.index(stop_by)]

    def list_first_units(self) -> list[Unit]:
        """Return the trainings that choose finalists, if any."""
        return [Unit(candidate, self.folds[0]) for candidate in self.candidates if self.repeats.finalists]

    def list_units(self, names: Container[str] | None = None) -> list[Unit]:
        """Return the compared trainings of all or some candidates: repeat after repeat, with the folds of each."""
        number, resampled = self.repeats.number, self.vary == "queries"
        repeats = range(1, number + 1) if number > 1 else (0,)
        return [
            Unit(candidate, fold, repeat, resampled)
            for candidate in self.candidates
            if names is None or candidate.name in names
            for repeat in repeats
            for fold in self.folds
        ]

    def list_finalists(self, curves: Mapping[str, Floats]) -> list[str]:
        """Return the names of the candidates to compare: the finalists, or all without finalists."""
        if not self.repeats.finalists:
            return [candidate.name for candidate in self.candidates]
        table = self.create_finalist_table(curves)
        return [str(name) for name in table.index[table["finalist"]]]

    def create_finalist_table(self, curves: Mapping[str, Floats]) -> pd.DataFrame:
        """Return by candidate `valid M` for each primary metric M, and `finalist`, from the curves of all candidates.

        A finalist is one of the best `keep` candidates on the validation set by a primary metric, at its compared
        round, or the baseline. The test set is not used.
        """
        names = natural_order(curves)
        table = pd.DataFrame(index=pd.Index(names, name="candidate"))
        finalists = {self.repeats.baseline}
        for metric in self.primary_metrics:
            column = self.names.index(metric)
            values = {name: curves[name][self.choose_round(curves[name]) - 1, column] for name in names}
            table[f"valid {metric}"] = pd.Series(values, dtype=float)
            best = sorted(names, key=values.__getitem__, reverse=self.metrics[column].higher_is_better)
            finalists.update(best[: self.repeats.keep])
        table["finalist"] = [name in finalists for name in names]
        return table

    def describe_unit(self, unit: Unit) -> dict[str, Any]:
        """Return everything that the result of a training depends on, as JSON values."""
        return {
            "candidate": asdict(unit.seeded_candidate),
            "repeat": unit.repeat,
            "resampled": unit.resampled,
            "fold": unit.fold.model_dump(mode="json"),
            "data": {part: self.data[part] for part in unit.fold.parts},
            "metrics": self.definitions,
        }

    def to_document(self) -> dict[str, Any]:
        """Return the content of `experiment.json`."""
        return {
            **self.model_dump(mode="json", exclude={"candidates", "metrics"}),
            "candidates": [asdict(candidate) for candidate in self.candidates],
            "metrics": self.definitions,
            "import_paths": find_import_paths(self.metrics),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ExperimentPlan:
        """Return the plan in `experiment.json`.

        Raises
        ------
        ValueError
            If a metric is not defined now. The message names the module to import.
        """
        modules = dict.fromkeys(module for places in dict(document["import_paths"]).values() for module, _ in places)
        settings = {key: value for key, value in document.items() if key != "import_paths"}
        try:
            settings["metrics"] = parse_metrics(document["metrics"])
        except ValueError as error:
            if not modules:
                raise
            fix = f"Import {' and '.join(modules)} (on the command line: --import {' --import '.join(modules)})."
            raise ValueError(f"{fix} {error}") from error
        settings["candidates"] = [Candidate(**candidate) for candidate in document["candidates"]]
        return parse_config(cls, settings)

    def find_conflicts(self, earlier: ExperimentPlan) -> list[str]:
        """Return why this plan cannot continue an earlier one in the same directory.

        Other candidates, more repeats and settings of the verdict (`primary`, `stop_by`, `alpha`, `margin`, `draws`) do
        not conflict.
        """
        names = {candidate.name for candidate in self.candidates} & {candidate.name for candidate in earlier.candidates}
        before, now = (
            {
                "metrics": plan.definitions,
                "seed": plan.seed,
                "parts of the data": sorted(plan.data),
                **{f"candidate {own.name!r}": asdict(own) for own in plan.candidates if own.name in names},
            }
            for plan in (earlier, self)
        )
        parts = [part for part, fingerprint in self.data.items() if earlier.data.get(part, fingerprint) != fingerprint]
        return [*find_differences(before, now), *(f"the data of {part} differ" for part in parts)]


def orient(curves: Floats, metrics: Sequence[Metric]) -> Floats:
    """Return curves, shape (rounds, metrics), with the sign of losses changed, so that larger is better."""
    signs: Floats = np.array([1.0 if metric.higher_is_better else -1.0 for metric in metrics])
    return curves * signs


def find_best_rounds(curves: Floats) -> list[int]:
    """Return for each column of (rounds, metrics) the first round, counted from 1, with the largest value.

    Examples
    --------
    >>> find_best_rounds(np.array([[0.1, 0.5], [0.3, 0.4], [0.3, 0.2]]))
    [2, 1]
    """
    return [(find_best(curve) or 0) + 1 for curve in curves.T]


def find_balanced_round(curves: Floats, columns: Sequence[int]) -> int:
    """Return the first round, counted from 1, with the smallest worst shortfall.

    The shortfall of a metric at a round is the gap to its best value at any round. The worst shortfall is the largest
    over the metrics in `columns`.

    Examples
    --------
    >>> curves = np.array([[0.50, 0.20], [0.49, 0.25], [0.40, 0.26]])
    >>> find_best_rounds(curves), find_balanced_round(curves, [0, 1])
    ([1, 3], 2)
    """
    selected = curves[:, list(columns)]
    return int((selected.max(axis=0) - selected).max(axis=1).argmin()) + 1


def find_stored_rounds(curves: Floats) -> list[int]:
    """Return, ascending, the best round of each metric and the balanced round of each pair of metrics.

    With the values at these rounds, other primary metrics and another `stop_by` require no training.
    """
    pairs = itertools.combinations(range(curves.shape[1]), 2)
    return sorted({*find_best_rounds(curves), *(find_balanced_round(curves, pair) for pair in pairs)})


def compute_seed(candidate: Candidate, repeat: int) -> int:
    """Return the seed of a repeat. Repeat 0 has the seed of the candidate.

    The seeds of different candidates differ, because repeats of two configurations are treated as independent. A seed
    does not depend on the number of repeats, so you can add repeats later.

    Examples
    --------
    >>> from gainwise.experiment import Candidate
    >>> candidate = Candidate("a", "lightgbm", seed=7)
    >>> compute_seed(candidate, 0), len({compute_seed(candidate, repeat) for repeat in range(10)})
    (7, 10)
    """
    own = candidate.seed or 0
    if repeat == 0:
        return own
    digest = hashlib.sha256(f"{own}/{repeat}/{candidate.name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (MAX_SEED + 1)


def resample(data: RankingData, seed: int) -> RankingData:
    """Draw as many queries as there are, with replacement, with their labels and weights.

    Examples
    --------
    >>> from gainwise.data import simulate
    >>> data = simulate(1000, seed=1, mean_length=2)
    >>> sample = resample(data, seed=4)
    >>> len(sample.query_ids), round(len(set(sample.query_ids.tolist())) / 1000, 1)
    (1000, 0.6)
    """
    queries = len(data.query_ids)
    return data.take_queries(np.sort(np.random.default_rng(seed).integers(queries, size=queries)))


def create_slug(name: str) -> str:
    """Return a folder name for any text: readable, short and different for different texts.

    Examples
    --------
    >>> create_slug("../LightGBM: 31 leaves")
    'lightgbm-31-leaves-1d3192426c4c'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    readable = re.sub(r"[^a-z0-9]+", "-", plain)[:60].strip("-")
    return f"{readable or 'candidate'}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def find_differences(before: Any, now: Any, place: str = "") -> list[str]:
    """Return the differences between two JSON documents in words.

    Examples
    --------
    >>> find_differences({"seed": 1, "params": {"num_leaves": 31}}, {"seed": 1, "params": {"max_bin": 9}})
    ['params.num_leaves was 31, is missing', 'params.max_bin was missing, is 9']
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = dict.fromkeys([*before, *now])
        differences: list[str] = []
        for key in keys:
            differences += find_differences(before.get(key), now.get(key), f"{place}.{key}".removeprefix("."))
        return differences
    same = type(before) is type(now) and before == now
    return [] if same else [printable(f"{place} was {shorten(before)}, is {shorten(now)}")]


def shorten(value: Any) -> str:
    """Return the representation of a value in at most 98 characters, or "missing" for None."""
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 100 else f"{text[:97]}…"


def find_import_paths(metrics: Sequence[Metric]) -> dict[str, list[list[str]]]:
    """Return for each custom metric where the metric and its functions are defined.

    Examples
    --------
    >>> import gainwise as gw
    >>> find_import_paths([*gw.parse_metrics("mrr"), gw.NDCG(gain=abs, name="by_abs")])
    {'by_abs': [['builtins', 'abs']]}
    """
    paths = {str(metric): _find_paths(metric) for metric in metrics}
    return {name: places for name, places in paths.items() if places}


def _find_paths(metric: Metric) -> list[list[str]]:
    values = (getattr(metric, field.name) for field in fields(metric))
    places = [origin_of(type(metric)), *(origin_of(value) for value in values if callable(value))]
    return [list(place) for place in places if place[0].partition(".")[0] != "gainwise"]


def validate_importable(metrics: Sequence[Metric], user: str) -> None:
    """Raise `ValueError` if a metric cannot be imported by its `user`, which is another process or a later run."""
    for metric in metrics:
        for module, name in _find_paths(metric):
            if module == "__main__" or "<" in name:  # <lambda>, <locals>
                fix = "Define it with class or def at the top level of a module."
                raise ValueError(f"{metric} must be importable by {user}, but uses {module}.{name}. {fix}")
        if parse_metrics(str(metric)) != (metric,):
            raise ValueError(f"{metric} was defined again, so {user} would use another one. Create the metric again.")
