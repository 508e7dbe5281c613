"""What a training library does for an experiment, and where to find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from ..data import RankingData
    from .candidates import Candidate
    from .rounds import Watch

Predict = Callable[[slice, Sequence[int]], list[Any]]
"""From rows and numbers of rounds to the scores of these documents after each."""


class Library(Protocol):
    """What a training library does for an experiment; `lightgbm_training` and `xgboost_training` are such modules."""

    def check(self, candidate: Candidate) -> None:
        """Raise where the library does not know a parameter of the candidate."""

    def uses_seed(self, candidate: Candidate, documents: int) -> bool:
        """Return whether another seed can give another model, as far as the parameters tell."""

    def unused(self, candidate: Candidate, features: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return the parameters of the candidate that the library would pass over, and all that it knows."""

    def check_features(self, names: tuple[str, ...]) -> None:
        """Raise where the library does not take a name of a feature."""

    def version(self) -> str:
        """Return the version of the library."""

    def binning(self, candidate: Candidate, documents: int) -> Mapping[str, Any] | None:
        """Return all of a candidate that may decide what `binned` makes of so many documents.

        Candidates of which this is equal are trained on the same object, maybe side by side. None: on one of their own.
        """

    def binned(self, candidate: Candidate, train: RankingData, valid: RankingData) -> Any:
        """Return training and validation data as the library takes them; nothing of `train` and `valid` is held."""

    def train(self, candidate: Candidate, data: Any, watch: Watch) -> bytes:
        """Train, showing `watch` the scores of every round on valid; return the model in the library's own format."""

    def cut(self, model: bytes, rounds: int) -> bytes:
        """Return the model without what was added after so many rounds, in the library's own format.

        Whatever reads it gets the scores of `predictor` at this round, to the last bit, without having to say which.
        """

    def load(self, model: bytes) -> Any:
        """Return the model of the library that these bytes hold, which predicts with all its rounds."""

    def predictor(self, model: bytes, data: RankingData, threads: int) -> Predict:
        """Return a function from some rows and numbers of rounds to the scores of these documents after each."""


def library_of(name: str) -> Library:
    """Return the module that trains with this library.

    Raises
    ------
    ImportError
        Where the library is not installed; the message names the extra to install.
    """
    return cast("Library", import_module(f".{name}_training", __package__))


def check_library(candidate: Candidate) -> None:
    """Raise where the candidate's library is not installed or does not know one of its parameters."""
    library = library_of(candidate.library)
    try:
        library.check(candidate)
    except ValueError as error:
        raise ValueError(f"candidate {candidate.name!r}: {error}") from None


def as_number(value: Any, default: float) -> float:
    """Return a parameter as a number, which both libraries read from text too; `default` where it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return default
