"""Models of an experiment: files that load and predict, and models trained on all data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import RankingData
from .candidate import Candidate
from .folds import FeatureColumns, compute_fingerprint
from .trainers import get_trainer, get_versions, predict_scores
from .validation import StrictModel

if TYPE_CHECKING:
    from .._common.typing import Features, Floats


@dataclass(frozen=True)
class TrainedModel:
    """A model file with all its rounds, the number of rounds to use, and the columns of the features."""

    candidate: Candidate
    content: bytes
    rounds: int
    features: FeatureColumns

    def load(self) -> Any:
        """Return the model, cut at its rounds, as a booster of its library."""
        trainer = get_trainer(self.candidate.library)
        return trainer.load(trainer.cut(self.content, self.rounds))

    def predict(self, features: Features | RankingData) -> Floats:
        """Return one score per row. See `ExperimentResult.predict`."""
        if not isinstance(features, RankingData):
            table: Any = features
            rows = table.shape[0] if hasattr(table, "shape") else len(table)
            if not rows:
                return np.zeros(0)
            features = RankingData(table, np.zeros(rows), group=[rows])
        data = self.features.align("X", features)
        threads = self.candidate.threads or 1
        predict = get_trainer(self.candidate.library).create_predictor(self.content, data, threads)
        scores: Floats = predict_scores(predict, data, [self.rounds])[self.rounds]
        return scores


class Refit(StrictModel):
    """How a model was trained on all data.

    Attributes
    ----------
    candidate : dict
        The candidate.
    rounds : int
        Number of rounds.
    compared_rounds : list of int
        Rounds of the compared trainings, of which `rounds` is the mean unless you passed it.
    data : str
        Fingerprint of the data.
    queries, documents : int
        Size of the data.
    features : FeatureColumns
        Columns of the features.
    versions : dict of str to str
        Versions of the packages that the training may depend on.
    """

    candidate: dict[str, Any]
    rounds: int
    compared_rounds: list[int]
    data: str
    queries: int
    documents: int
    features: FeatureColumns
    versions: dict[str, str]


def train_on_all_data(
    candidate: Candidate,
    data: RankingData,
    features: FeatureColumns,
    compared_rounds: Sequence[int],
    rounds: int | None,
) -> tuple[bytes, Refit]:
    """Train a candidate once without a validation set. Return the model file and how it was trained."""
    data = replace(features.align("data", data, new_categories=True).contiguous(), document_ids=None)
    rounds = rounds or round(fmean(compared_rounds))
    candidate, trainer = replace(candidate, num_boost_round=rounds), get_trainer(candidate.library)
    content = trainer.train(candidate, trainer.bin_data(candidate, data, None), None)
    return trainer.cut(content, rounds), Refit(
        candidate=candidate.to_dict(),
        rounds=rounds,
        compared_rounds=list(compared_rounds),
        data=compute_fingerprint(data),
        queries=len(data.query_ids),
        documents=len(data.labels),
        features=FeatureColumns.from_data(data),
        versions=get_versions(candidate.library),
    )
