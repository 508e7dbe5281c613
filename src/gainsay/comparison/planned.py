"""What a plan says: queries, and runs, that would prove a claim."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .._common.shown import Spoken
from .._common.words import amount, count, listed
from ..drawing.notebook import table_cell

if TYPE_CHECKING:
    import pandas as pd

Claimed: TypeAlias = Literal["genuine", "pair", "ship"]


@dataclass(frozen=True)
class PlannedRuns:
    """How many queries it takes with so many runs of each recipe.

    Attributes
    ----------
    runs : int or None
        None for fixed models.
    queries : int or None
        None where no number of queries suffices.
    first_guess : int or None
        What the formula says, which knows nothing of other models and of estimated variances.
    chance : float
        With which the claim is proven with that many queries; without an end of queries where none suffices.
    """

    runs: int | None
    queries: int | None
    first_guess: int | None
    chance: float


@dataclass(frozen=True, repr=False)
class Plan(Spoken):
    """How many queries, and runs, prove a claim with a wanted probability; made by `Comparison.plan` or `gainsay.plan`.

    Attributes
    ----------
    claim : {"genuine", "pair", "ship"}
        What is to be proven; see `gainsay.plan`.
    lead : float
        The true lead, in the metrics' unit.
    power : float
        The wanted probability.
    options : tuple of PlannedRuns
        One for each number of runs; one where models are fixed.
    deviations : dict of metric name to dict of {"query", "run", "query_run"} to float
        Standard deviations of the difference of the two models from which all follows.
    models : tuple of two str
        Which two; for `ship` the baseline first.
    rivals : int
        How many models there are in all.
    present : tuple of (int, int or None, float), or None
        Queries and runs that there are, and the probability with which they prove the claim.
    alpha, margin, seed : float, float, int
        As given.
    """

    claim: Claimed
    lead: float
    power: float
    options: tuple[PlannedRuns, ...]
    deviations: dict[str, dict[str, float]]
    models: tuple[str, str]
    rivals: int
    present: tuple[int, int | None, float] | None
    alpha: float
    margin: float
    seed: int

    @property
    def queries(self) -> int | None:
        """How many queries: of fixed models, or with the fewest runs that suffice at all. None where none do."""
        return self._first.queries

    @property
    def runs(self) -> int | None:
        """How many runs belong to `queries`; None where models are fixed."""
        return self._first.runs

    @property
    def _first(self) -> PlannedRuns:
        return next((option for option in self.options if option.queries is not None), self.options[-1])

    def frame(self) -> pd.DataFrame:
        """Return one row per number of runs: `queries`, `first guess` and `chance`; missing where none suffices."""
        import pandas as pd

        return pd.DataFrame(
            {
                "queries": pd.array([option.queries for option in self.options], dtype="Int64"),
                "first guess": pd.array([option.first_guess for option in self.options], dtype="Int64"),
                "chance": [option.chance for option in self.options],
            },
            index=pd.Index([option.runs for option in self.options], dtype=object, name="runs"),
        )

    @property
    def text(self) -> str:
        """A paragraph, with numbers."""
        return " ".join([self._wanted(), self._takes(), *self._has(), self._covers()])

    def to_dict(self) -> dict[str, Any]:
        """Return everything, `text` included, as JSON knows it."""
        return {**asdict(self), "queries": self.queries, "runs": self.runs, "text": self.text}

    def _repr_html_(self) -> str:
        rows = [
            (
                "fixed models" if one.runs is None else f"{one.runs}",
                "none suffice" if one.queries is None else f"{one.queries:,}",
                f"{one.chance:.2f}",
            )
            for one in self.options
        ]
        return table_cell(self._takes(), ("runs of each recipe", "queries", "power"), rows, self._wanted())

    def _wanted(self) -> str:
        first, second = self.models
        what = {
            "genuine": f"that no model is best under both metrics, where {first} and {second} each lead all others by "
            f"{amount(self.lead)} under one metric and are level with them under the other ({self.rivals} models)",
            "pair": f"that {second} is ahead of {first} where it leads by {amount(self.lead)}, by the interval of this "
            "pair and one metric alone",
            "ship": f"that {second} is to take the place of {first} where it leads by {amount(self.lead)} under every "
            f"metric ({count(self.rivals - 1, 'candidate')}, margin {amount(self.margin)})",
        }[self.claim]
        return f"Wanted is a proof, with probability {100 * self.power:g} % and at level {self.alpha:g}, {what}."

    def _takes(self) -> str:
        if self.options[0].runs is None:
            size = "more than a billion queries" if self.queries is None else f"about {count(self.queries, 'query')}"
            return f"It takes {size}."
        said = [
            f"with {one.runs} runs of each recipe "
            + ("no number of queries suffices" if one.queries is None else f"it takes about {one.queries:,} queries")
            for one in self.options
        ]
        text = listed(said, most=len(said))
        return f"{text[0].upper()}{text[1:]}."

    def _has(self) -> list[str]:
        if self.present is None:
            return []
        queries, runs, chance = self.present
        of_runs = "" if runs is None else f" and {runs} runs"
        return [f"With the {queries:,} queries{of_runs} that there are it is proven with probability {chance:.2f}."]

    def _covers(self) -> str:
        if self.options[0].runs is None:
            return (
                "The models are fixed: how much another training run would change them is not known, and more queries "
                "do not tell."
            )
        return "More queries cannot make up for too few runs: what one run is lucky by, it has on all queries."
