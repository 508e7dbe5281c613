"""What an experiment consists of, and whether a directory holds results of the same one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._common.cached import cached_property
from ..comparison.data import validate_alpha, validate_margin, validate_primary, validate_seed
from .candidates import Candidate, check_names
from .folds import Fold
from .own_metrics import named_again, origins
from .rounds import BALANCED, EACH, balanced_round, best_rounds, check_stop_by, rising
from .runs import ONCE, Runs, resample, seed_of
from .serialization import slug

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..data import RankingData
    from ..metrics.base import Metric
    from .folds import Parts

FORMAT = 4
"""Version of what is written to the directory. In format 1 every metric had the candidates at a round of its own, in
format 2 every candidate was trained once, in format 3 arrays were Parquet files."""

MOST_DRAWS = 10_000_000
"""More would tell nothing, and not fit into memory once all trainings are done."""


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work: one run of one candidate on one fold.

    Run 0 has the candidate's own seed; the others have seeds of their own, and may be trained on resampled queries.
    """

    candidate: Candidate
    fold: Fold
    run: int = 0
    resampled: bool = False

    @property
    def trained(self) -> Candidate:
        """The candidate with the seed of this run."""
        return replace(self.candidate, seed=seed_of(self.candidate, self.run))

    def data(self, parts: Parts) -> tuple[RankingData, RankingData]:
        """Return training and validation data."""
        train = self.fold.training_data(parts)
        return (resample(train, self.trained.seed or 0) if self.resampled else train), parts[self.fold.valid]

    @property
    def slug(self) -> str:
        """The name of its folder: safe whatever candidate and fold are called."""
        fold = re.sub(r"[^a-z0-9]+", "-", self.fold.name)
        run = f"{'sample' if self.resampled else 'run'}-{self.run}" if self.run else ""
        return ".".join([slug(self.candidate.name), *filter(None, (fold, run))])

    def __str__(self) -> str:
        run = f"run {self.run}{' on resampled queries' if self.resampled else ''}" if self.run else ""
        where = ", ".join(filter(None, (self.fold.name, run)))
        return f"{self.candidate.name} ({where})" if where else self.candidate.name


@dataclass(frozen=True)
class Plan:
    """Everything that a result depends on.

    Attributes
    ----------
    candidates : tuple of Candidate
        With nothing left open.
    folds : tuple of Fold
        How the data are divided.
    data : dict of part to str
        Fingerprints.
    metrics : tuple of Metric
        What is evaluated.
    primary : tuple of two str, or None
        The two between which disagreement is looked for.
    alpha, margin, draws, seed : float, float, int, int
        Of the verdict.
    stop_by : str
        At which round candidates are compared: "balanced", "each" or the name of a metric.
    runs : Runs
        How often each candidate is trained.
    clusters : tuple of str, or None
        The cluster of each query of test, folds one after the other.
    segments : dict of column to tuple of str, or None
        Their segments.
    """

    candidates: tuple[Candidate, ...]
    folds: tuple[Fold, ...]
    data: Mapping[str, str]
    metrics: tuple[Metric, ...]
    primary: tuple[str, str] | None
    alpha: float
    margin: float
    draws: int
    seed: int
    stop_by: str = BALANCED
    runs: Runs = ONCE
    clusters: tuple[str, ...] | None = None
    segments: Mapping[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if self.stop_by == EACH:
            check_each(candidate.name for candidate in self.candidates)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(map(str, self.metrics))

    @property
    def judges(self) -> tuple[str, ...]:
        """The metrics that choose rounds: the two primary ones, or the only one."""
        return self.primary or self.names[:2]

    def round_by(self, curves: Floats, stop_by: str) -> int:
        """Return the round of one candidate on one fold that "balanced" or a metric chooses on valid."""
        curves = rising(curves, self.metrics)
        if stop_by == BALANCED:
            return balanced_round(curves, [self.names.index(metric) for metric in self.judges])
        return best_rounds(curves)[self.names.index(stop_by)]

    def compared_rounds(self, curves: Floats) -> list[int]:
        """Return, ascending, the rounds of one candidate that are compared on the fold with these curves."""
        choosers = self.judges if self.stop_by == EACH else (self.stop_by,)
        return sorted({self.round_by(curves, stop_by) for stop_by in choosers})

    def runs_of(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the numbers of the runs that are compared."""
        if self.runs.count == 1 or candidate.name in self.runs.fixed:
            return (0,)
        return tuple(range(1, self.runs.count + 1))

    def compared_units(self, candidate: Candidate) -> list[Unit]:
        """Return the trainings of a candidate that are compared: run after run, in each the folds."""
        resampled = self.runs.vary == "queries"
        return [
            Unit(candidate, fold, run, resampled and run > 0) for run in self.runs_of(candidate) for fold in self.folds
        ]

    def full_units(self, candidate: Candidate) -> list[Unit]:
        """Return the trainings on all training queries, where those that are compared are on resampled ones."""
        return [Unit(candidate, fold, 1) for fold in self.folds] if self.runs.vary == "queries" else []

    def first_units(self) -> list[Unit]:
        """Return what is to be trained at first, candidate by candidate: all, or what chooses finalists."""
        if self.runs.finalists:
            return [Unit(candidate, fold) for candidate in self.candidates for fold in self.folds]
        return self.final_units([candidate.name for candidate in self.candidates])

    def final_units(self, names: Iterable[str]) -> list[Unit]:
        """Return what is trained of these candidates to be compared."""
        chosen = set(names)
        return [
            unit
            for candidate in self.candidates
            if candidate.name in chosen
            for unit in (*self.compared_units(candidate), *self.full_units(candidate))
        ]

    def units(self) -> Iterator[Unit]:
        """Yield all pieces of work that there may be."""
        everything = [*self.first_units(), *self.final_units(candidate.name for candidate in self.candidates)]
        yield from {unit.slug: unit for unit in everything}.values()

    def identity(self, unit: Unit) -> dict[str, Any]:
        """Return all that the outcome of a unit depends on, as JSON knows it."""
        return {
            "candidate": unit.trained.to_dict(),
            "run": unit.run,
            "resampled": unit.resampled,
            "fold": unit.fold.to_dict(),
            "data": {part: self.data[part] for part in unit.fold.parts()},
            "metrics": list(self.names),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {
            "format": FORMAT,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "folds": [fold.to_dict() for fold in self.folds],
            "data": dict(self.data),
            "metrics": list(self.names),
            "origins": origins(self.metrics),
            "primary": None if self.primary is None else list(self.primary),
            "alpha": self.alpha,
            "margin": self.margin,
            "draws": self.draws,
            "seed": self.seed,
            "stop_by": self.stop_by,
            "runs": self.runs.to_dict(),
            "clusters": None if self.clusters is None else list(self.clusters),
            "segments": self.segments and {name: list(labels) for name, labels in self.segments.items()},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Plan:
        """Return the plan that `to_dict` wrote.

        Raises
        ------
        UndefinedMetricError
            Where a metric of the user's is not defined now.
        ValueError, LookupError, TypeError, ArithmeticError, RecursionError
            Where `to_dict` cannot have written it.
        """
        metrics = named_again(stored["metrics"], stored.get("origins", {}))
        names = [str(metric) for metric in metrics]
        if names != stored["metrics"]:
            raise ValueError(f"metrics are {shortened(stored['metrics'])} instead of {shortened(names)}")
        primary = None if stored["primary"] is None else validate_primary(stored["primary"], names)
        alpha = validate_alpha(stored["alpha"])
        seed, draws = validate_seed(stored["seed"], stored["draws"], alpha)
        plan = cls(
            candidates=check_names(Candidate.from_dict(candidate) for candidate in stored["candidates"]),
            folds=tuple(Fold.from_dict(fold) for fold in stored["folds"]),
            data=dict(stored["data"]),
            metrics=metrics,
            primary=primary,
            alpha=alpha,
            margin=validate_margin(stored["margin"]),
            draws=draws,
            seed=seed,
            stop_by=check_stop_by(stored["stop_by"], metrics),
            runs=Runs.from_dict(stored["runs"], [candidate["name"] for candidate in stored["candidates"]]),
            clusters=None if stored["clusters"] is None else tuple(map(str, stored["clusters"])),
            segments=stored["segments"] and {name: tuple(map(str, its)) for name, its in stored["segments"].items()},
        )
        names = [fold.name for fold in plan.folds]
        if not names or len(set(names)) < len(names):
            raise ValueError("it has no folds, or two of one name")
        for fold in plan.folds:
            if not set(fold.parts()) <= set(plan.data):
                raise ValueError(f"fold {shortened(fold.name)} has parts that are not among the data")
        return plan

    def conflicts(self, earlier: Plan) -> list[str]:
        """Say what keeps this plan from going on where `earlier` left off.

        More, fewer or reordered candidates do not, nor does what a verdict can be reached with afresh: `primary`,
        `stop_by`, `alpha`, `margin` and `draws`; and runs have folders of their own, so that there may be more of them.
        """
        found = differences(
            {"metrics": list(earlier.names), "seed": earlier.seed}, {"metrics": list(self.names), "seed": self.seed}
        )
        if earlier.data.keys() == self.data.keys():
            found += [f"the data of {part} are others" for part in self.data if self.data[part] != earlier.data[part]]
        else:
            found.append(
                f"the data were divided into {', '.join(sorted(earlier.data))}, now into {', '.join(sorted(self.data))}"
            )
        known = {candidate.name: candidate for candidate in earlier.candidates}
        for candidate in self.candidates:
            if candidate.name in known:
                changes = differences(known[candidate.name].to_dict(), candidate.to_dict())
                found += [f"candidate {candidate.name!r}: {change}" for change in changes]
        return found


def check_each(names: Iterable[str]) -> None:
    """Raise where a candidate is called as another one is whose rounds have models of their own."""
    names = list(names)
    for name in names:
        stem = re.fullmatch(r"(.+) (?:@\d+|by .+)", name, re.DOTALL)
        if stem and stem[1] in names:
            raise ValueError(
                f"candidate {name!r} is called like a model of candidate {stem[1]!r}, of which stop_by='each' makes "
                f"one per round: give it another name"
            )


def differences(before: Any, now: Any, place: str = "") -> list[str]:
    """Return in words where two JSON documents differ.

    Examples
    --------
    >>> differences({"seed": 1, "params": {"num_leaves": 31}}, {"seed": 1, "params": {"num_leaves": 63, "max_bin": 9}})
    ['params.num_leaves was 31, is 63', 'params.max_bin was not there, is 9']
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        found = []
        for key in dict.fromkeys([*before, *now]):
            name = str(key) if str(key).isprintable() else shortened(str(key))
            where = f"{place}.{name}" if place else name
            if key not in now:
                found.append(f"{where} was {shortened(before[key])}, is not there")
            elif key not in before:
                found.append(f"{where} was not there, is {shortened(now[key])}")
            else:
                found += differences(before[key], now[key], where)
        return found
    same = type(before) is type(now) and before == now
    return [] if same else [f"{place} was {shortened(before)}, is {shortened(now)}"]


def shortened(value: Any) -> str:
    """Return the representation of a value, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:97]}…"
