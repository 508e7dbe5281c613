"""How often each candidate is trained, what varies from run to run, and who is repeated at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from .._common.arrays import nearest
from .._common.checks import check_whole
from .._common.words import listed
from .candidates import MOST_SEED

if TYPE_CHECKING:
    from ..data import RankingData
    from .candidates import Candidate

Vary = Literal["seed", "queries"]

FULL = "full"
"""What `load_model` calls the training on all training queries, where runs are trained on resampled ones."""

LEAST_RUNS, MOST_RUNS = 3, 1000
"""Two runs say next to nothing of how runs vary."""


@dataclass(frozen=True)
class Runs:
    """How often each candidate is trained.

    Attributes
    ----------
    count : int
        Runs of each candidate that is compared; 1: every candidate once, with its own seed.
    vary : {"seed", "queries"}
        What differs from run to run: the seed, or the seed and a bootstrap sample of whole training queries.
    finalists : bool
        Whether every candidate is trained once first, and only finalists are repeated.
    keep : int
        How many of the best on valid by each primary metric are finalists.
    baseline : str or None
        A candidate that is a finalist whatever valid says.
    fixed : tuple of str
        Candidates of which another seed gives the same model, so they are trained once.
    """

    count: int = 1
    vary: Vary = "seed"
    finalists: bool = False
    keep: int = 3
    baseline: str | None = None
    fixed: tuple[str, ...] = ()

    @staticmethod
    def from_text(text: str) -> int | dict[str, Any]:
        """Return what a shell says: "5", or "finalists=5,keep=2,baseline=NAME".

        Examples
        --------
        >>> Runs.from_text("5"), Runs.from_text("finalists=5,baseline=in use")
        (5, {'finalists': 5, 'baseline': 'in use'})
        """
        if "=" not in text:
            return _number("runs", text)
        pairs = [pair.partition("=") for pair in text.split(",")]
        keys = [key for key, _, _ in pairs]
        twice = next((key for at, key in enumerate(keys) if key in keys[:at]), None)
        if twice is not None:
            raise ValueError(f"runs names {twice!r} twice, got {text!r}: name it once")
        return {key: value if key == "baseline" else _number(f"runs: {key}", value) for key, _, value in pairs}

    @classmethod
    def read(cls, runs: int | Mapping[str, int | str], vary: str, names: Sequence[str]) -> Runs:
        """Return what the arguments of `Experiment` say.

        Raises
        ------
        ValueError, TypeError
            For two runs, or too many, and for keys and candidates that there are not.
        """
        if vary not in get_args(Vary):
            raise ValueError(f"vary must be 'seed' or 'queries', got {vary!r}{nearest(str(vary), get_args(Vary))}")
        if not isinstance(runs, Mapping):
            count = _checked("runs", runs)
            if count == 1 and vary != "seed":
                raise ValueError(f"vary={vary!r} needs several runs: give runs=5, say")
            return cls(count, vary)  # type: ignore[arg-type]
        known = ("finalists", "keep", "baseline")
        for key in runs:
            if key not in known:
                raise ValueError(f"runs has the key {key!r}{nearest(str(key), known)} (known: {', '.join(known)})")
        if "finalists" not in runs:
            raise ValueError('runs says nothing of finalists: write {"finalists": 5} for five runs of each')
        count = _checked("runs['finalists']", runs["finalists"])
        if count == 1:
            raise ValueError("runs['finalists'] must be at least 3, got 1: finalists are trained anew, several times")
        baseline = runs.get("baseline")
        if baseline is not None and baseline not in names:
            raise ValueError(
                f"runs['baseline'] names {baseline!r}, which is no candidate{nearest(str(baseline), names)} "
                f"(known: {listed(names, most=10)})"
            )
        keep = check_whole("runs['keep']", runs.get("keep", cls.keep), 1)
        return cls(count, vary, True, keep, baseline)  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {**asdict(self), "fixed": list(self.fixed)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], names: Sequence[str]) -> Runs:
        """Return what `to_dict` wrote; raise where it cannot have written it."""
        if set(stored) != {known.name for known in fields(cls)}:
            raise ValueError(f"runs has the keys {', '.join(map(str, stored))}")
        about = {key: stored[key] for key in ("finalists", "keep", "baseline")}
        if not isinstance(about["finalists"], bool) or not set(stored["fixed"]) <= set(names):
            raise ValueError("runs is not as it was written")
        about["finalists"] = stored["count"]
        made = cls.read(about if stored["finalists"] else stored["count"], stored["vary"], names)
        return cls(made.count, made.vary, made.finalists, made.keep, made.baseline, tuple(stored["fixed"]))


ONCE = Runs()
"""Every candidate once, with its own seed."""


def _number(argument: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise ValueError(f"{argument} must be a whole number, got {text!r}: write 5, or finalists=5")
    return int(text)


def _checked(argument: str, value: Any) -> int:
    count = check_whole(argument, value, 1)
    if 1 < count < LEAST_RUNS or count > MOST_RUNS:
        raise ValueError(
            f"{argument} must be 1, or from {LEAST_RUNS} to {MOST_RUNS}, got {count}: from fewer than three trainings "
            "nobody can tell how trainings vary; 5 are a good number, 10 for differences near .01"
        )
    return count


def seed_of(candidate: Candidate, run: int) -> int:
    """Return the seed of a run; that of run 0 is the candidate's own.

    Seeds of other candidates are others, for the runs of two recipes are taken to be independent. How many runs there
    are makes no difference, so that more can be added.

    Examples
    --------
    >>> from gainsay.experiment import Candidate
    >>> candidate = Candidate("a", "lightgbm", seed=7)
    >>> seed_of(candidate, 0), len({seed_of(candidate, run) for run in range(10)})
    (7, 10)
    """
    own = candidate.seed or 0
    if run == 0:
        return own
    digest = hashlib.sha256(f"{own}/{run}/{candidate.name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (MOST_SEED + 1)


def resample(data: RankingData, seed: int) -> RankingData:
    """Return as many queries as there are, drawn with replacement; labels and weights come along.

    Examples
    --------
    >>> from gainsay.data import simulate
    >>> data = simulate(1000, seed=1, mean_length=2)
    >>> drawn = resample(data, seed=4)
    >>> len(drawn.query_ids), round(len(set(drawn.query_ids.tolist())) / 1000, 1)
    (1000, 0.6)
    """
    queries = len(data.query_ids)
    return data.take_queries(np.sort(np.random.default_rng(seed).integers(queries, size=queries)))
