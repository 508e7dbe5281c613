"""What is known of trainings: curves on valid, values per query on test, and the scores behind these."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    from .rounds import Artefact


@dataclass(frozen=True)
class Archive(Mapping[str, Any]):
    """The arrays of an `.npz` file, each read when it is asked for: those of all candidates may not fit into memory."""

    path: Path

    def __getitem__(self, name: str) -> Any:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return archive[name]
        except (OSError, ValueError, LookupError, zipfile.BadZipFile, zlib.error) as error:
            raise RuntimeError(f"{self.path}: the scores cannot be read ({error}); run the experiment again") from error

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
        Its name.
    curves : ndarray, shape (rounds, metrics)
        Means on valid.
    test : mapping of int to ndarray, shape (queries, metrics)
        For every round of `kept_rounds`, the values of all metrics for each query of test.
    weights, query_ids : ndarray, shape (queries,)
        Of test.
    valid_weight : ndarray, one per metric
        The weight of all queries of valid that have a value: how much this fold counts where folds are averaged.
    documents : mapping of str to ndarray, shape (documents,)
        Of test: "label", "query" (its place), and "score 7" after round 7, for the rounds of `test`.
    versions : mapping of str to str
        Of the packages that it may depend on.
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
        """Return the training that `to_arrays` made an archive of; its documents are read when asked for."""
        test = dict(zip(archive["rounds"].tolist(), archive["test"], strict=True))
        weights, valid_weight, ids = archive["weights"], archive["valid_weight"], archive["query_ids"]
        return cls(fold, archive["curves"], test, weights, valid_weight, ids, archive, versions)


@dataclass(frozen=True)
class CandidateTrainings:
    """One candidate on all folds, in one run or several: run after run, in each the folds in their own order."""

    trainings: Sequence[Training]
    runs: int = 1

    @property
    def folds(self) -> Sequence[Training]:
        """The folds of the first run."""
        return self.trainings[: len(self.trainings) // self.runs]

    def run_of(self, training: int) -> int:
        """Return the number of the run of a training, counted from 1; 0 where there is but one."""
        return 0 if self.runs == 1 else 1 + training // len(self.folds)

    @property
    def weights(self) -> Floats:
        """The weight of each query, folds one after the other."""
        return np.concatenate([fold.weights for fold in self.folds])

    def _of_fold(self, fold: int, rounds: Sequence[int]) -> list[tuple[Training, int]]:
        """Return the trainings of a fold, each with its round; rounds are one per training."""
        return list(zip(self.trainings, rounds, strict=True))[fold :: len(self.folds)]

    def test_on(self, fold: int, rounds: Sequence[int]) -> Floats:
        """Return all metrics on the queries that a fold tests, shape (queries, metrics, runs)."""
        return np.stack([training.test[number] for training, number in self._of_fold(fold, rounds)], axis=2)

    def test_at(self, rounds: Sequence[int]) -> Floats:
        """Return all metrics on test at these rounds, shape (queries, metrics, runs)."""
        return np.concatenate([self.test_on(fold, rounds) for fold in range(len(self.folds))])

    def valid_on(self, fold: int, rounds: Sequence[int], metric: int) -> float:
        """Return a metric on a fold's valid at these rounds, the mean over runs."""
        return float(np.mean([one.curves[number - 1, metric] for one, number in self._of_fold(fold, rounds)]))

    def valid_at(self, rounds: Sequence[int], metric: int) -> float:
        """Return a metric on valid at these rounds: the mean over runs and folds, weighted by the queries of each."""
        values = [self.valid_on(fold, rounds, metric) for fold in range(len(self.folds))]
        return float(np.average(values, weights=[fold.valid_weight[metric] for fold in self.folds]))


def screening_of(plan: Plan, found: Mapping[str, Training]) -> dict[str, Training]:
    """Return by candidate the trainings, of those found by slug, that choose finalists; none where all are repeated."""
    units = plan.first_units() if plan.runs.finalists else []
    return {unit.candidate.name: found[unit.slug] for unit in units if unit.slug in found}


def screened(plan: Plan, first: Mapping[str, Training]) -> pd.DataFrame:
    """Return by candidate `valid M` for each primary metric M, when each was trained once, and `finalist`.

    A candidate is a finalist where it is among the best `keep` on valid by one of the primary metrics, at the round at
    which it would be compared, or where it is the baseline. Test is not looked at, nor is this training ever compared.
    """
    import pandas as pd

    names = natural_order(first)
    table = pd.DataFrame(index=pd.Index(names, name="candidate"))
    finalists = {plan.runs.baseline}
    for metric in plan.judges:
        column = plan.names.index(metric)
        values = {name: _screening_value(plan, first[name], column) for name in names}
        higher = plan.metrics[column].higher_is_better
        finalists.update(sorted(names, key=values.__getitem__, reverse=higher)[: plan.runs.keep])
        table[f"valid {metric}"] = pd.Series(values, dtype=float)
    table["finalist"] = [name in finalists for name in names]
    return table


def finalists_of(plan: Plan, first: Mapping[str, Training]) -> list[str]:
    """Return the names of the finalists."""
    table = screened(plan, first)
    return [str(name) for name in table.index[table["finalist"]]]


def _screening_value(plan: Plan, training: Training, column: int) -> float:
    """Return a metric on valid at the round at which a candidate is compared; of two rounds the metric's own."""
    rounds = plan.compared_rounds(training.curves)
    number = rounds[0] if len(rounds) == 1 else plan.round_by(training.curves, plan.names[column])
    return float(training.curves[number - 1, column])


def rankings_of(
    candidates: Mapping[str, CandidateTrainings], models: Sequence[Artefact], counted: Bools
) -> Rankings | None:
    """Return the rankings of models, of the queries that are `counted`; None where scores were not kept."""
    some = next(iter(candidates.values()))
    if not all(fold.documents for fold in some.folds):
        return None
    labels = np.concatenate([fold.documents["label"] for fold in some.folds])
    before = np.cumsum([0, *(len(fold.weights) for fold in some.folds)])
    queries = np.concatenate([fold.documents["query"] + start for fold, start in zip(some.folds, before, strict=False)])
    names = _distinct_names(np.concatenate([fold.query_ids for fold in some.folds]).astype(str))
    scores = _Scores(candidates, {model.name: model for model in models})
    return Rankings(Judgments(labels, qid=names[queries]), scores, counted, some.weights)


@dataclass(frozen=True, eq=False)
class _Scores(Mapping[str, Any]):
    """The scores of every model, folds one after the other; of a recipe a list, one array for each run."""

    candidates: Mapping[str, CandidateTrainings]
    models: Mapping[str, Artefact]

    def __getitem__(self, name: str) -> Any:
        model = self.models[name]
        candidate = self.candidates[model.candidate]
        pairs = zip(candidate.trainings, model.rounds, strict=True)
        scores = [np.asarray(one.documents[f"score {number}"], dtype=np.float64) for one, number in pairs]
        folds = len(candidate.folds)
        runs = [np.concatenate(scores[at : at + folds]) for at in range(0, len(scores), folds)]
        return runs[0] if candidate.runs == 1 else runs

    def __iter__(self) -> Iterator[str]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)


def _distinct_names(names: Any) -> Any:
    """Return one name per query: its id, and its place too where another query has the same id."""
    _, places, counts = np.unique(names, return_inverse=True, return_counts=True)
    numbered = [f"{name} (number {place})" for place, name in enumerate(names.tolist(), 1)]
    return np.where(counts[places] > 1, numbered, names)
