"""Repeats: number of trainings of each candidate, their seeds, and their training queries."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from .candidate import MAX_SEED, Candidate
from .validation import Integer, StrictModel

# After the check of `validation` that pydantic is installed.
from pydantic import AfterValidator, Field, model_validator  # isort: skip

if TYPE_CHECKING:
    from ..data import RankingData

Vary = Literal["seed", "queries"]

FULL = "full"
"""Name in `load_model` of the training on all training queries, if repeats are trained on resampled queries."""


def _validate_count(count: int | None) -> int | None:
    if count is not None and count != 1 and not 3 <= count <= 1000:
        raise ValueError(f"must be 1, or from 3 to 1000, got {count}. Use 5, or 10 for differences near 0.01.")
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
    finalists: Annotated[Integer, AfterValidator(_validate_count)] | None = None
    keep: Annotated[Integer, Field(ge=1)] = 3
    baseline: str | None = None

    @model_validator(mode="after")
    def _validate_finalists(self) -> Repeats:
        if self.finalists == 1:
            raise ValueError("repeats.finalists must be at least 3, got 1, because finalists are trained anew")
        if self.finalists is None and (self.keep != 3 or self.baseline is not None):
            raise ValueError("repeats.finalists is missing. Write {'finalists': 5} for five repeats of each finalist.")
        return self

    @property
    def number(self) -> int:
        """Repeats of each compared candidate."""
        return self.finalists or self.count


def parse_repeats(text: str) -> int | dict[str, Any]:
    """Return the repeats in an option of the command line: "5", or "finalists=5,keep=2,baseline=NAME".

    Examples
    --------
    >>> parse_repeats("5"), parse_repeats("finalists=5,baseline=in use")
    (5, {'finalists': 5, 'baseline': 'in use'})
    """
    if "=" not in text:
        return _parse_number("repeats", text)
    pairs = [pair.partition("=") for pair in text.split(",")]
    keys = [key for key, _, _ in pairs]
    repeated = next((key for at, key in enumerate(keys) if key in keys[:at]), None)
    if repeated is not None:
        raise ValueError(f"repeats must contain {repeated!r} once, got {text!r}")
    return {key: value if key == "baseline" else _parse_number(f"repeats.{key}", value) for key, _, value in pairs}


def _parse_number(argument: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise ValueError(f"{argument} must be a whole number, got {text!r}. Write 5, or finalists=5.")
    return int(text)


def compute_seed(candidate: Candidate, repeat: int) -> int:
    """Return the seed of a repeat. Repeat 0 has the seed of the candidate.

    The seeds of different candidates differ, because repeats of two recipes are treated as independent. A seed does not
    depend on the number of repeats, so you can add repeats later.

    Examples
    --------
    >>> from gainsay.experiment import Candidate
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
    >>> from gainsay.data import simulate
    >>> data = simulate(1000, seed=1, mean_length=2)
    >>> sample = resample(data, seed=4)
    >>> len(sample.query_ids), round(len(set(sample.query_ids.tolist())) / 1000, 1)
    (1000, 0.6)
    """
    queries = len(data.query_ids)
    return data.take_queries(np.sort(np.random.default_rng(seed).integers(queries, size=queries)))
