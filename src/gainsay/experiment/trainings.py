"""Results of trainings: curves on the validation set and their best rounds, values and scores on the test set."""

from __future__ import annotations

import itertools
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..metrics.base import Metric

MIN_LIMIT, MAX_RATIO = 2**26, 200
"""An archive may expand to 64 MiB, or to 200 times its size if that is more. Scores compress far less."""

STORED = ("curves", "weights", "valid_weight", "query_ids")
"""The fields of a `Training` that an archive contains as they are."""


@dataclass(frozen=True)
class Archive:
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
                    np.lib.format.read_magic(file)
                    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
                    if dtype.hasobject or file.tell() + prod(shape) * dtype.itemsize != member.file_size:
                        raise ValueError(f"{member.filename!r} announces another size than it has")

    def __getitem__(self, name: str) -> Any:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return archive[name]
        except (OSError, ValueError, LookupError, zipfile.BadZipFile, zlib.error) as error:
            raise RuntimeError(f"{self.path} cannot be read ({error}). Run the experiment again.") from error


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
    documents : Archive or mapping of str to ndarray, shape (documents,)
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
    documents: Archive | Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def read_documents(self) -> dict[str, Any]:
        """Return all arrays of `documents`."""
        return {name: self.documents[name] for name in ("label", "query", *(f"score {number}" for number in self.test))}

    def to_arrays(self) -> dict[str, Any]:
        """Return everything but the versions as arrays by name."""
        values = {name: getattr(self, name) for name in STORED}
        return {
            **values,
            "rounds": list(self.test),
            "test": np.stack(list(self.test.values())),
            **self.read_documents(),
        }

    @classmethod
    def from_archive(cls, fold: str, archive: Archive, versions: Mapping[str, str]) -> Training:
        """Return the training in an archive. Its documents are read on access."""
        test = dict(zip(archive["rounds"].tolist(), archive["test"], strict=True))
        values = {name: archive[name] for name in STORED}
        if not (values["valid_weight"] > 0).all():
            raise ValueError("valid_weight must be positive")
        return cls(fold, test=test, documents=archive, versions=versions, **values)


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
        return self.repeats > 1 and all(
            np.array_equal(training.curves, first.curves)
            and all(
                np.array_equal(training.test[number], values, equal_nan=True) for number, values in first.test.items()
            )
            for training, first in zip(self.trainings, itertools.cycle(self.folds), strict=False)
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
    rounds: list[int] = (curves.argmax(axis=0) + 1).tolist()
    return rounds


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
