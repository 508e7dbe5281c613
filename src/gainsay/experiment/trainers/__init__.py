"""Training libraries: the functions that an experiment uses of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

if TYPE_CHECKING:
    from ...data import RankingData
    from ..candidate import Candidate
    from ..rounds import Watch

DOCUMENTS_PER_PREDICTION = 65_536
"""Both libraries copy the features they predict on, XGBoost into twice the memory."""

Predict = Callable[[slice, Sequence[int]], list[Any]]
"""Maps rows and numbers of rounds to the scores of these documents after each."""


class Trainer(Protocol):
    """The functions of a module that trains with a library."""

    def validate_parameters(self, candidate: Candidate) -> None:
        """Raise `ValueError` for an unknown parameter of the candidate."""

    def validate_features(self, names: tuple[str, ...]) -> None:
        """Raise `ValueError` if the library does not accept the name of a feature."""

    def get_version(self) -> str:
        """Return the version of the library."""

    def get_bin_settings(self, candidate: Candidate, documents: int) -> Mapping[str, Any] | None:
        """Return all settings of a candidate that may change the result of `bin_data`.

        Candidates with equal settings train on the same object. None requires a separate object.
        """

    def bin_data(self, candidate: Candidate, train: RankingData, valid: RankingData | None) -> Any:
        """Return training and validation data in the form of the library, without a reference to the arguments."""

    def train(self, candidate: Candidate, data: Any, watch: Watch | None) -> bytes:
        """Train, pass the validation scores of every round to `watch`, and return the model file."""

    def cut(self, model: bytes, rounds: int) -> bytes:
        """Return the model file with the first rounds only.

        Its predictions are those of `create_predictor` at this round, to the last bit.
        """

    def load(self, model: bytes) -> Any:
        """Return the booster in a model file, which predicts with all its rounds."""

    def create_predictor(self, model: bytes, data: RankingData, threads: int) -> Predict:
        """Return a function from rows and numbers of rounds to scores."""


def get_trainer(library: str) -> Trainer:
    """Return the module that trains with a library.

    Raises
    ------
    ImportError
        If the library is not installed. The message names the extra to install.
    """
    return cast("Trainer", import_module(f".{library}", __name__))


def predict_scores(predict: Predict, data: RankingData, rounds: Sequence[int]) -> dict[int, Any]:
    """Return the scores of all documents after each of these rounds."""
    starts = range(0, len(data.labels), DOCUMENTS_PER_PREDICTION)
    pieces = [predict(slice(start, start + DOCUMENTS_PER_PREDICTION), rounds) for start in starts]
    return {number: np.concatenate(scores) for number, scores in zip(rounds, zip(*pieces, strict=True), strict=True)}


def validate_aliases(library: str, candidate: Candidate, main_names: Mapping[str, str]) -> None:
    """Raise `ValueError` if a parameter has two of its names."""
    names: dict[str, str] = {}
    for name in candidate.params:
        first = names.setdefault(main_names.get(name, name), name)
        if first != name:
            raise ValueError(f"params.{first} and params.{name} are one parameter of {library}. Remove one of them.")
