"""What was measured of the candidates: curves on valid, values per query on test, and the scores behind these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.names import natural_order
from ..comparison.rankings import Rankings
from ..judgments import Judgments
from .files import from_parquet
from .finished import score_column

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from .finished import Finished
    from .plan import Plan
    from .rounds import Artefact

Read = Callable[[str, int], bytes]
"""From candidate and number of its training, counted from 0, to the file that `scores_frame` became."""


@dataclass(frozen=True)
class OnFold:
    """One training: a candidate on a fold, in one run."""

    fold: str
    curves: Floats
    test: Mapping[int, Floats]
    weights: Floats
    valid_weight: Floats
    query_ids: Any = ()

    @classmethod
    def from_finished(cls, fold: str, finished: Finished, names: Sequence[str]) -> OnFold:
        """Take from the files what results are made of."""
        test = {}
        for number in finished.test["round"].unique().tolist():
            rows = finished.test[finished.test["round"] == number].sort_values("query")
            test[int(number)] = rows[list(names)].to_numpy(np.float64)
            weights, ids = rows["weight"].to_numpy(np.float64), rows["query_id"].to_numpy()
        curves = finished.curves.sort_values("round")[list(names)].to_numpy(np.float64)
        valid_weight = np.array(finished.manifest["valid_weight"], dtype=np.float64)
        return cls(fold, curves, test, weights, valid_weight, ids)


@dataclass(frozen=True)
class Measured:
    """One candidate on all folds, in one run or several.

    Attributes
    ----------
    trainings : sequence of OnFold
        Run after run, in each the folds in their own order and not in that of their completion.
    runs : int
        How many.
    """

    trainings: Sequence[OnFold]
    runs: int = 1

    @property
    def folds(self) -> Sequence[OnFold]:
        """The folds of the first run."""
        return self.trainings[: len(self.trainings) // self.runs]

    def run_of(self, training: int) -> int:
        """Return the number of the run of a training, counted from 1; 0 where there is but one."""
        return 0 if self.runs == 1 else 1 + training // len(self.folds)

    @property
    def weights(self) -> Floats:
        """The weight of each query, folds one after the other."""
        return np.concatenate([fold.weights for fold in self.folds])

    def test_on(self, fold: int, rounds: Sequence[int]) -> Floats:
        """Return all metrics on the queries that a fold tests; rounds are one per training.

        The shape is (queries, metrics, runs).
        """
        of_fold = slice(fold, None, len(self.folds))
        pairs = zip(self.trainings[of_fold], rounds[of_fold], strict=True)
        return np.stack([training.test[number] for training, number in pairs], axis=2)

    def test_at(self, rounds: Sequence[int]) -> Floats:
        """Return all metrics on test at these rounds, one per training; shape (queries, metrics, runs)."""
        return np.concatenate([self.test_on(fold, rounds) for fold in range(len(self.folds))])

    def valid_on(self, fold: int, rounds: Sequence[int], metric: int) -> float:
        """Return a metric on a fold's valid at these rounds, the mean over runs."""
        of_fold = slice(fold, None, len(self.folds))
        pairs = zip(self.trainings[of_fold], rounds[of_fold], strict=True)
        return float(np.mean([training.curves[number - 1, metric] for training, number in pairs]))

    def valid_at(self, rounds: Sequence[int], metric: int) -> float:
        """Return a metric on valid at these rounds: the mean over runs and folds, weighted by the queries of each."""
        values = [self.valid_on(fold, rounds, metric) for fold in range(len(self.folds))]
        return float(np.average(values, weights=[fold.valid_weight[metric] for fold in self.folds]))


def first_of(plan: Plan, found: Mapping[str, OnFold]) -> dict[str, OnFold]:
    """Return by candidate the trainings, of those found by slug, that choose finalists; none where all are repeated."""
    units = plan.first_units() if plan.runs.finalists else []
    return {unit.candidate.name: found[unit.slug] for unit in units if unit.slug in found}


def screened(plan: Plan, first: Mapping[str, OnFold]) -> pd.DataFrame:
    """Return by candidate `valid M` for each primary metric M, when each was trained once, and `finalist`.

    A candidate is a finalist where it is among the best `keep` on valid by one of the primary metrics, at the round at
    which it would be compared, or where it is the baseline. Test is not looked at, nor is this training ever compared.
    """
    import pandas as pd

    names = natural_order(first)
    table = pd.DataFrame(index=pd.Index(names, name="candidate"))
    through = {plan.runs.baseline}
    for judge in plan.judges:
        place = plan.names.index(judge)
        values = {name: _value(plan, first[name], place) for name in names}
        rising = plan.metrics[place].higher_is_better
        through.update(sorted(names, key=values.__getitem__, reverse=rising)[: plan.runs.keep])
        table[f"valid {judge}"] = pd.Series(values, dtype=float)
    table["finalist"] = [name in through for name in names]
    return table


def finalists_of(plan: Plan, first: Mapping[str, OnFold]) -> list[str]:
    """Return the names of the finalists."""
    return [str(name) for name, through in screened(plan, first)["finalist"].items() if through]


def _value(plan: Plan, training: OnFold, place: int) -> float:
    """Return a metric on valid at the round at which a candidate is compared; of two rounds the metric's own."""
    rounds = plan.compared_rounds(training.curves)
    number = rounds[0] if len(rounds) == 1 else plan.round_by(training.curves, plan.names[place])
    return float(training.curves[number - 1, place])


def rankings_of(measured: Mapping[str, Measured], compared: Sequence[Artefact], counted: Bools, read: Read) -> Rankings:
    """Return the rankings of the models that are compared, of the queries that are `counted`.

    Scores are read when they are asked for, since those of all candidates may not fit into memory.
    """
    some = next(iter(measured.values()))
    runs = {name: one.runs for name, one in measured.items()}
    scores = _Scores({model.name: model for model in compared}, runs, read)
    labels, queries, before = [], [], 0
    for frame in scores.frames(compared[0], 0, [["query", "label"]] * len(some.folds)):
        labels.append(frame["label"].to_numpy(np.float64))
        queries.append(frame["query"].to_numpy(np.int64) + before)
        before = int(queries[-1].max()) + 1
    names = _names([fold.query_ids for fold in some.folds])
    judgments = Judgments(np.concatenate(labels), qid=names[np.concatenate(queries)])
    return Rankings(judgments, scores, counted, some.weights)


@dataclass(frozen=True, eq=False)
class _Scores(Mapping[str, Any]):
    """The scores of every model, folds one after the other, read when they are asked for.

    Of a recipe they are a list, one array for each run.
    """

    models: Mapping[str, Artefact]
    runs: Mapping[str, int]
    read: Read

    def frames(self, model: Artefact, run: int, columns: Sequence[list[str]]) -> Iterator[pd.DataFrame]:
        """Yield columns of the file of scores of each fold of a run, counted from 0."""
        for fold, some in enumerate(columns):
            yield from_parquet(self.read(model.candidate, run * len(columns) + fold), some)

    def __getitem__(self, name: str) -> Any:
        model = self.models[name]
        runs = self.runs[model.candidate]
        folds = len(model.rounds) // runs
        of_runs = []
        for run in range(runs):
            columns = [[score_column(number)] for number in model.rounds[run * folds : (run + 1) * folds]]
            frames = self.frames(model, run, columns)
            of_runs.append(np.concatenate([frame.to_numpy(np.float64)[:, 0] for frame in frames]))
        return of_runs[0] if runs == 1 else of_runs

    def __iter__(self) -> Iterator[str]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)


def _names(ids: Sequence[Any]) -> Any:
    """Return one name per query: its id, and its place too where another query has the same id."""
    names = np.concatenate(ids).astype(str)
    _, places, counts = np.unique(names, return_inverse=True, return_counts=True)
    numbered = [f"{name} (number {place})" for place, name in enumerate(names.tolist(), 1)]
    return np.where(counts[places] > 1, numbered, names)
