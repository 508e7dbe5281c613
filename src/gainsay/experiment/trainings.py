"""Results of trainings: curves on the validation set, values per query on the test set, and scores."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.names import natural_order
from ..comparison.rankings import Rankings
from ..judgments import Judgments

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from .plan import Plan

MIN_LIMIT, MAX_RATIO = 2**26, 200
"""An archive may expand to 64 MiB, or to 200 times its size if that is more. Scores compress far less."""


@dataclass(frozen=True)
class Archive(Mapping[str, Any]):
    """The arrays of an `.npz` file, read on access because the arrays of all candidates may not fit into memory."""

    path: Path

    def validate_sizes(self) -> None:
        """Raise `ValueError` if an array announces another size than its file, or all announce too much memory."""
        with zipfile.ZipFile(self.path) as archive:
            members = archive.infolist()
            limit = max(MIN_LIMIT, MAX_RATIO * self.path.stat().st_size)
            if sum(member.file_size for member in members) > limit:
                raise ValueError(f"it announces more than {limit} bytes")
            for member in members:
                with archive.open(member) as file:
                    version = np.lib.format.read_magic(file)
                    headers = np.lib.format
                    read = headers.read_array_header_1_0 if version == (1, 0) else headers.read_array_header_2_0
                    shape, _, dtype = read(file)
                    if dtype.hasobject or file.tell() + prod(shape) * dtype.itemsize != member.file_size:
                        raise ValueError(f"{member.filename!r} announces another size than it has")

    def __getitem__(self, name: str) -> Any:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return archive[name]
        except (OSError, ValueError, LookupError, zipfile.BadZipFile, zlib.error) as error:
            raise RuntimeError(f"{self.path} cannot be read ({error}). Run the experiment again.") from error

    def __iter__(self) -> Iterator[str]:
        with np.load(self.path, allow_pickle=False) as archive:
            return iter(archive.files)

    def __len__(self) -> int:
        return len(list(iter(self)))


@dataclass(frozen=True, eq=False)
class Training:
    """A candidate trained once on a fold.

    Attributes
    ----------
    fold : str
        Name of the fold.
    curves : ndarray, shape (rounds, metrics)
        Means on the validation set.
    test : mapping of int to ndarray, shape (queries, metrics)
        For every stored round, the values of all metrics for each test query.
    weights, query_ids : ndarray, shape (queries,)
        Weights and ids of the test queries.
    valid_weight : ndarray, shape (metrics,)
        Weight of all validation queries with a value, which is the weight of this fold in averages.
    documents : mapping of str to ndarray, shape (documents,)
        Test documents: "label", "query" (its position), and "score 7" after round 7, for the rounds of `test`.
    versions : mapping of str to str
        Versions of the packages that the training may depend on.
    """

    fold: str
    curves: Floats
    test: Mapping[int, Floats]
    weights: Floats
    valid_weight: Floats
    query_ids: Any = ()
    documents: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def to_arrays(self) -> dict[str, Any]:
        """Return everything but the versions as arrays by name."""
        values = {name: getattr(self, name) for name in ("curves", "weights", "valid_weight", "query_ids")}
        return {**values, "rounds": list(self.test), "test": np.stack(list(self.test.values())), **self.documents}

    @classmethod
    def from_archive(cls, fold: str, archive: Archive, versions: Mapping[str, str]) -> Training:
        """Return the training in an archive. Its documents are read on access."""
        test = dict(zip(archive["rounds"].tolist(), archive["test"], strict=True))
        weights, valid_weight, ids = archive["weights"], archive["valid_weight"], archive["query_ids"]
        if not (valid_weight > 0).all():
            raise ValueError("valid_weight must be positive")
        return cls(fold, archive["curves"], test, weights, valid_weight, ids, archive, versions)


@dataclass(frozen=True)
class ComparedModel:
    """A compared model: a candidate at one round, which can be deployed as it was compared.

    Attributes
    ----------
    name : str
        Name in the comparison.
    candidate : str
        Name of the candidate.
    stop_by : str
        Rule that chose the round: "balanced", a metric, or two metrics joined by " and " that chose the same round.
    rounds : tuple of int
        One round per training, counted from 1.
    """

    name: str
    candidate: str
    stop_by: str
    rounds: tuple[int, ...]


@dataclass(frozen=True)
class CandidateTrainings:
    """One candidate on all folds, in one or several repeats: repeat after repeat, with the folds of each."""

    trainings: Sequence[Training]
    repeats: int = 1

    @property
    def folds(self) -> Sequence[Training]:
        """Trainings of the first repeat."""
        return self.trainings[: len(self.trainings) // self.repeats]

    @property
    def are_identical(self) -> bool:
        """Whether several repeats have equal results, because another seed changes nothing."""
        folds = len(self.folds)
        pairs = [(training, self.trainings[at % folds]) for at, training in enumerate(self.trainings)]
        return self.repeats > 1 and all(
            np.array_equal(training.curves, first.curves)
            and all(
                np.array_equal(training.test[number], values, equal_nan=True) for number, values in first.test.items()
            )
            for training, first in pairs
        )

    def get_repeat(self, training: int) -> int:
        """Return the number of the repeat of a training, counted from 1, or 0 if there is only one."""
        return 0 if self.repeats == 1 else 1 + training // len(self.folds)

    @property
    def weights(self) -> Floats:
        """Weight of each query, folds one after the other."""
        return np.concatenate([fold.weights for fold in self.folds])

    def _select_fold(self, fold: int, rounds: Sequence[int]) -> list[tuple[Training, int]]:
        """Return the trainings of a fold, each with its round, from one round per training."""
        return list(zip(self.trainings, rounds, strict=True))[fold :: len(self.folds)]

    def collect_fold_values(self, fold: int, rounds: Sequence[int]) -> Floats:
        """Return all metrics on the test queries of a fold, shape (queries, metrics, repeats)."""
        return np.stack([training.test[number] for training, number in self._select_fold(fold, rounds)], axis=2)

    def collect_values(self, rounds: Sequence[int]) -> Floats:
        """Return all metrics on the test set at these rounds, shape (queries, metrics, repeats)."""
        return np.concatenate([self.collect_fold_values(fold, rounds) for fold in range(len(self.folds))])

    def average_fold_curves(self, fold: int, rounds: Sequence[int], metric: int) -> float:
        """Return the mean of a metric over repeats, on the validation set of a fold at these rounds."""
        pairs = self._select_fold(fold, rounds)
        return float(np.mean([training.curves[number - 1, metric] for training, number in pairs]))

    def average_curves(self, rounds: Sequence[int], metric: int) -> float:
        """Return the mean of a metric over repeats and folds, weighted by the validation queries of each fold."""
        values = [self.average_fold_curves(fold, rounds, metric) for fold in range(len(self.folds))]
        return float(np.average(values, weights=[fold.valid_weight[metric] for fold in self.folds]))


def select_screening(plan: Plan, trainings: Mapping[str, Training]) -> dict[str, Training]:
    """Return by candidate the trainings that choose finalists, or nothing if all candidates are repeated."""
    units = plan.list_first_units() if plan.repeats.finalists else []
    return {unit.candidate.name: trainings[unit.slug] for unit in units if unit.slug in trainings}


def create_finalist_table(plan: Plan, first: Mapping[str, Training]) -> pd.DataFrame:
    """Return by candidate `valid M` for each primary metric M, and `finalist`.

    A finalist is one of the best `keep` candidates on the validation set by a primary metric, at its compared round, or
    the baseline. The test set is not used.
    """
    import pandas as pd

    names = natural_order(first)
    table = pd.DataFrame(index=pd.Index(names, name="candidate"))
    finalists = {plan.repeats.baseline}
    for metric in plan.primary_metrics:
        column = plan.names.index(metric)
        values = {name: _compute_screening_value(plan, first[name], column) for name in names}
        higher = plan.metrics[column].higher_is_better
        finalists.update(sorted(names, key=values.__getitem__, reverse=higher)[: plan.repeats.keep])
        table[f"valid {metric}"] = pd.Series(values, dtype=float)
    table["finalist"] = [name in finalists for name in names]
    return table


def list_finalists(plan: Plan, first: Mapping[str, Training]) -> list[str]:
    """Return the names of the finalists."""
    table = create_finalist_table(plan, first)
    return [str(name) for name in table.index[table["finalist"]]]


def _compute_screening_value(plan: Plan, training: Training, column: int) -> float:
    """Return a metric on the validation set at the compared round, or of two rounds the metric's own."""
    rounds = plan.list_compared_rounds(training.curves)
    number = rounds[0] if len(rounds) == 1 else plan.choose_round(training.curves, plan.names[column])
    return float(training.curves[number - 1, column])


def create_rankings(
    candidates: Mapping[str, CandidateTrainings], models: Sequence[ComparedModel], has_value: Bools
) -> Rankings | None:
    """Return the rankings of models on the queries with a value, or None if scores were not stored."""
    trainings = next(iter(candidates.values()))
    if not all(fold.documents for fold in trainings.folds):
        return None
    labels = np.concatenate([fold.documents["label"] for fold in trainings.folds])
    starts = np.cumsum([0, *(len(fold.weights) for fold in trainings.folds)])
    queries = np.concatenate(
        [fold.documents["query"] + start for fold, start in zip(trainings.folds, starts, strict=False)]
    )
    names = _create_distinct_names(np.concatenate([fold.query_ids for fold in trainings.folds]).astype(str))
    scores = _Scores(candidates, {model.name: model for model in models})
    return Rankings(Judgments(labels, qid=names[queries]), scores, has_value, trainings.weights)


@dataclass(frozen=True, eq=False)
class _Scores(Mapping[str, Any]):
    """The scores of every model, folds one after the other. A recipe has a list with one array per repeat."""

    candidates: Mapping[str, CandidateTrainings]
    models: Mapping[str, ComparedModel]

    def __getitem__(self, name: str) -> Any:
        model = self.models[name]
        candidate = self.candidates[model.candidate]
        pairs = zip(candidate.trainings, model.rounds, strict=True)
        scores = [np.asarray(training.documents[f"score {number}"], dtype=np.float64) for training, number in pairs]
        folds = len(candidate.folds)
        repeats = [np.concatenate(scores[at : at + folds]) for at in range(0, len(scores), folds)]
        return repeats[0] if candidate.repeats == 1 else repeats

    def __iter__(self) -> Iterator[str]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)


def _create_distinct_names(names: Any) -> Any:
    """Return one name per query: its id, and its position if another query has the same id."""
    _, places, counts = np.unique(names, return_inverse=True, return_counts=True)
    numbered = [f"{name} (number {place})" for place, name in enumerate(names.tolist(), 1)]
    return np.where(counts[places] > 1, numbered, names)
