"""What is to be done about candidates for the place of the model that is deployed, in numbers and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._common.shown import Spoken, plain
from .._common.words import amount, confidence, count, listed
from ..drawing.notebook import table_cell
from .inequalities import FEWEST
from .rankings import check_model
from .wording import about, direction

if TYPE_CHECKING:
    import pandas as pd

    from .runs import Vary
    from .shares import Share

Decision: TypeAlias = Literal["ship", "do not ship", "undecided"]


@dataclass(frozen=True)
class Standing:
    """How one candidate stands against the baseline.

    Attributes
    ----------
    candidate : str
        Its name.
    decision : {"ship", "do not ship", "undecided"}
        What follows from the bounds.
    difference, lower, upper : dict of metric name to float
        Mean of the candidate minus that of the baseline in the metric's own unit and sign, and its bounds; infinite
        (or the ends of the metric's range) where the two differ on fewer than 30 queries.
    differing : dict of metric name to float
        On how many queries the two differ; under weights their effective number.
    shares : dict of metric name to dict of {"better", "worse", "same"} to Share
        Of the queries, or of their weight.
    queries_needed, runs_needed : int or None
        How many queries, with as many runs as there are, and how many runs of either recipe, with as many queries,
        would decide with 80 % probability, if the true differences are those measured. More runs are taken not to
        lessen what varies by query, to be on the safe side. None where it is decided, or no number of them would do.
    """

    candidate: str
    decision: Decision
    difference: dict[str, float]
    lower: dict[str, float]
    upper: dict[str, float]
    differing: dict[str, float]
    shares: dict[str, dict[str, Share]]
    queries_needed: int | None
    runs_needed: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it; an infinite bound becomes None."""
        return {
            "decision": self.decision,
            "metrics": {
                metric: {
                    "difference": difference,
                    "lower": plain(self.lower[metric]),
                    "upper": plain(self.upper[metric]),
                    "differing": self.differing[metric],
                    "shares": {name: share._asdict() for name, share in self.shares[metric].items()},
                }
                for metric, difference in self.difference.items()
            },
            "queries_needed": self.queries_needed,
            "runs_needed": self.runs_needed,
        }


@dataclass(frozen=True, repr=False)
class Against(Spoken):
    """Every candidate against a baseline, under one metric or both primary ones; made by `Comparison.against`.

    *Ship*: under no metric is the candidate proven worse than the baseline by more than `margin`, in the strict sense
    that every lower bound of candidate − baseline lies above −`margin`, and at least one above 0. *Do not ship*: some
    upper bound lies below −`margin`. Otherwise *undecided*. (For a loss read these with the sign turned.)

    All bounds of all candidates and metrics hold together with probability 1 − `alpha`: difference ± c · error, with c
    the 1 − `alpha` quantile of the largest absolute studentised error over candidates and metrics (max-T). So with that
    probability no decision is wrong, however many candidates there are. A metric under which two models differ on fewer
    than 30 queries decides nothing about them.

    The shares of queries have Goodman's intervals: the three of one candidate under one metric hold together, each such
    set by itself.

    Attributes
    ----------
    baseline : str
        What the others are set against.
    metrics : tuple of str
        Under which.
    lower_is_better : tuple of str
        Those of the metrics that are losses.
    queries : int
        On how many queries, those that all `metrics` have.
    alpha, margin, draws, seed : float, float, int, int
        As given.
    runs : dict of model to int
        How often each model was trained, where there are recipes; 0 for a fixed one. The decisions are then about
        recipes, and another such run is covered.
    clusters : int or None
        How many clusters the queries are in; None where they are independent.
    vary : {"seed", "queries"} or None
        What differs between runs.
    standings : tuple of Standing
        One for each candidate, in natural order of their names.
    """

    baseline: str
    metrics: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    queries: int
    alpha: float
    margin: float
    draws: int
    seed: int
    runs: dict[str, int]
    clusters: int | None
    vary: Vary | None
    standings: tuple[Standing, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The baseline, and all candidates."""
        return (self.baseline, *(one.candidate for one in self.standings))

    @property
    def decisions(self) -> dict[str, Decision]:
        """What is to be done about each candidate."""
        return {one.candidate: one.decision for one in self.standings}

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate.

        `decision`, `queries needed`, `runs needed` (missing where it is decided or none would do), and for each metric
        M `difference M`, `lower M`, `upper M`, `differing M`, and of a thousand queries how many get better, worse and
        stay, `better M`, `better lower M`, `better upper M`, and so on for `worse` and `same`.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "decision": [one.decision for one in self.standings],
            "queries needed": pd.array([one.queries_needed for one in self.standings], dtype="Int64"),
            "runs needed": pd.array([one.runs_needed for one in self.standings], dtype="Int64"),
        }
        for metric in self.metrics:
            for name in ("difference", "lower", "upper", "differing"):
                columns[f"{name} {metric}"] = [getattr(one, name)[metric] for one in self.standings]
            for name in ("better", "worse", "same"):
                of = [one.shares[metric][name] for one in self.standings]
                columns[f"{name} {metric}"] = [1000 * share.value for share in of]
                columns[f"{name} lower {metric}"] = [1000 * share.lower for share in of]
                columns[f"{name} upper {metric}"] = [1000 * share.upper for share in of]
        index = pd.Index([one.candidate for one in self.standings], name="candidate")
        return pd.DataFrame(columns, index=index)

    def sentence(self, candidate: str) -> str:
        """Return what is to be done about one candidate, and why, in one sentence."""
        check_model(candidate, self.decisions)
        one = next(one for one in self.standings if one.candidate == candidate)
        changes = listed([f"{metric} changes by {self.bounded(one, metric)}" for metric in self.metrics])
        heads = {"ship": "Ship", "do not ship": "Do not ship", "undecided": "Undecided about"}
        clusters = "" if self.clusters is None else f" in {count(self.clusters, 'cluster')}"
        size = f"{count(self.queries, 'query')}{clusters}, {confidence(self.alpha)} confidence"
        return f"{heads[one.decision]} {candidate}: against {self.baseline} {changes} ({size}){self._reason(one)}."

    @property
    def text(self) -> str:
        """A paragraph for whoever has to decide, with numbers."""
        said = [self._about(one) for one in self.standings]
        tolerated = f"A loss up to {amount(self.margin)} is tolerated" if self.margin > 0 else "No loss is tolerated"
        rule = (
            f"{tolerated}; bounds of differences hold all together, those of shares for one candidate and metric at a "
            "time."
        )
        return " ".join([*said, rule, *direction(self.lower_is_better), about(self)])

    def to_dict(self) -> dict[str, Any]:
        """Return everything, `text` included, as JSON knows it."""
        found: dict[str, Any] = plain({name: value for name, value in vars(self).items() if name != "standings"})
        candidates = {one.candidate: one.to_dict() for one in self.standings}
        return found | {"candidates": candidates, "text": self.text}

    def _repr_html_(self) -> str:
        rows = [
            (one.candidate, one.decision, *(self.bounded(one, metric) for metric in self.metrics))
            for one in self.standings
        ]
        size = f"{count(self.queries, 'query')}; differences with {confidence(self.alpha)} bounds, all at once"
        return table_cell(f"Against {self.baseline}", ("candidate", "decision", *self.metrics), rows, size)

    def _about(self, one: Standing) -> str:
        """Return the sentences about one candidate: the decision, and how many queries change."""
        parts = []
        for metric in self.metrics:
            better, worse, same = (thousands(one.shares[metric][name]) for name in ("better", "worse", "same"))
            parts.append(f"{metric} gets better on {better}, worse on {worse} and stays on {same}")
        return f"{self.sentence(one.candidate)} Of 1,000 queries {'; '.join(parts)}."

    def bounded(self, one: Standing, metric: str) -> str:
        """Return a difference with its bounds."""
        difference, lower, upper = one.difference[metric], one.lower[metric], one.upper[metric]
        if one.differing[metric] < FEWEST:
            return f"{signed(difference)} (no bounds: the two differ on fewer than {FEWEST} queries)"
        return f"{signed(difference)} ({signed(lower)} to {signed(upper)})"

    def _reason(self, one: Standing) -> str:
        """Return what made the decision, or what it would take."""
        if one.decision == "ship":
            sure = all(one.upper[it] < 0 if it in self.lower_is_better else one.lower[it] > 0 for it in self.metrics)
            return "" if sure else f", at worst a loss within the {amount(self.margin)} tolerated"
        if one.decision == "do not ship":
            return f", a loss beyond the {amount(self.margin)} tolerated" if self.margin > 0 else ""
        ways = [
            f"about {count(number, thing)}{extra}"
            for number, thing, extra in (
                (one.queries_needed, "query", ""),
                (one.runs_needed, "run", " of each recipe on these queries"),
            )
            if number is not None
        ]
        if not ways:
            nothing = "neither more queries nor more runs alone" if self.runs else "no number of queries"
            return f"; if the true differences are these, {nothing} will decide it"
        return f"; if the true differences are these, {' or '.join(ways)} will decide it four times in five"


def signed(value: float) -> str:
    """Write a change with its sign.

    >>> signed(0.0123), signed(-0.002), signed(0.0)
    ('+0.0123', '−0.0020', '0')
    """
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{amount(abs(value))}"


def thousands(share: Share) -> str:
    """Write a share of 1,000 queries with its bounds."""
    return f"{1000 * share.value:.0f} ({1000 * share.lower:.0f} to {1000 * share.upper:.0f})"
