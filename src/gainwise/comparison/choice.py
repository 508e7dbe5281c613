"""The sentence that answers which model to choose, from the bounds of one or two metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .._common import cached_property
from .._common.text import format_confidence, format_exact, join_names, printable, round_bound, styled

MAX_NAMED = 3
"""Models that may be best and are named. More are counted, and the chart shows them."""


class MetricLabel(NamedTuple):
    """Names of a metric: the full name, and two for sentences, such as "linear gain" and "linear"."""

    name: str
    long: str
    short: str


def label_metrics(metrics: tuple[str, ...]) -> tuple[MetricLabel, ...]:
    """Return names of metrics for sentences. Two metrics that differ only in their gain are named after it.

    >>> [label.long for label in label_metrics(("ndcg_linear@10", "ndcg_exp@10"))]
    ['linear gain', 'exponential gain']
    >>> [label.short for label in label_metrics(("map", "mrr"))]
    ['map', 'mrr']
    """
    matches = [re.fullmatch(r"(n?dcg)_(linear|exp)(\W.*)?", metric) for metric in metrics]
    families = {match and (match[1], match[3]) for match in matches}
    if len(metrics) != 2 or len(families) > 1 or None in families:
        return tuple(MetricLabel(metric, metric, metric) for metric in metrics)
    gains = ["linear" if match and match[2] == "linear" else "exponential" for match in matches]
    return tuple(MetricLabel(metric, f"{gain} gain", gain) for metric, gain in zip(metrics, gains, strict=True))


def name_family(metric: str) -> str:
    """Return the family of a metric with its cutoff.

    >>> name_family("ndcg_linear(empty=skip)@5")
    'NDCG@5'
    """
    family, _, options = metric.partition("_")
    return family.upper() + "".join(options.partition("@")[1:])


def format_choice(verb: str, name: str) -> str:
    """Return a recommendation, such as "★ Choose blend", with emphasis."""
    return f"{styled('b', f'★ {verb} ')}{styled('b n', name)}"


@dataclass(frozen=True)
class Choice:
    """Bounds that decide which model to choose, and sentences about them.

    The regret of a model is its larger one under the metrics.

    Attributes
    ----------
    names : mapping of model to str
        Names of the models for sentences.
    possible : sequence of str
        Models that may be best under every metric.
    lower, upper, best_mean : dict of metric name to mapping of model to float, dict of metric name to float
        Bounds of the regrets, and the best means.
    safe : str
        Model with the smallest upper bound.
    margin, alpha : float
        Tolerated difference, and error probability of the bounds.
    best : str, optional
        Model that is better than every other one under every metric, at level `alpha`.
    unit : str
        What is compared, such as "model".
    merged : bool
        Whether all metrics have the same values.
    have_shares : bool
        Whether a regret is a share of the best mean. It is not for a loss.
    obstacle : str
        Sentence about why no model is recommended whatever the bounds are, or an empty text.
    """

    names: Mapping[str, str]
    possible: Sequence[str]
    lower: Mapping[str, Mapping[str, float]]
    upper: Mapping[str, Mapping[str, float]]
    best_mean: Mapping[str, float]
    safe: str
    margin: float
    alpha: float
    best: str | None = None
    unit: str = "model"
    merged: bool = False
    have_shares: bool = True
    obstacle: str = ""

    @cached_property
    def labels(self) -> tuple[MetricLabel, ...]:
        """Names of the metrics for sentences, of one if all have the same values."""
        labels = label_metrics(tuple(self.upper))
        return labels[:1] if self.merged else labels

    def find_bound(self, model: str) -> float:
        """Return the upper bound of the larger regret of a model."""
        return max(bounds[model] for bounds in self.upper.values())

    @property
    def is_bounded(self) -> bool:
        """Whether the regret of the safe choice has an upper bound."""
        return math.isfinite(self.find_bound(self.safe))

    @property
    def is_within_margin(self) -> bool:
        """Whether the safe choice is within the margin of the best."""
        return self.is_bounded and self.find_bound(self.safe) <= self.margin

    @property
    def is_undecided(self) -> bool:
        """Whether the bounds recommend no model, although nothing else prevents a recommendation."""
        is_narrowed = self.is_bounded and not self.margin and len(self.possible) < len(self.names)
        return not self.obstacle and self.best is None and not self.is_within_margin and not is_narrowed

    def find_lead(self, metric: str) -> float:
        """Return the lower bound of the distance of the best model to the next.

        It is below the bound of the next model, which is valid at half the level. The other half is the probability
        that the best model is rejected.
        """
        return min(bound for model, bound in self.lower[metric].items() if model != self.best)

    @property
    def under(self) -> str:
        """The two metrics after a blank, such as " by linear and by exponential gain". Empty for a single number."""
        return f" by {self.labels[0].short} and by {self.labels[1].long}" if len(self.labels) > 1 else ""

    @property
    def scope(self) -> str:
        """The two metrics after a bound, if it does not name them."""
        return f",{self.under}" if self.under and self.has_one_measure else ""

    @property
    def has_one_measure(self) -> bool:
        """Whether the two metrics are variants of one measure. Otherwise their units may differ."""
        return self.labels[0].long != self.labels[0].name

    def _join_bounds(self, bounds: Mapping[str, float], *, up: bool) -> str:
        """Return bounds with their measures: the weaker one of two variants, otherwise one bound for each metric."""
        if self.has_one_measure:
            weaker = (max if up else min)(bounds, key=bounds.__getitem__)
            share = self._format_share(bounds) if up else ""
            return f"{round_bound(bounds[weaker], up=up)} {name_family(weaker)}{share}"
        parts = []
        for label in self.labels:
            share = self._format_share({label.name: bounds[label.name]}) if up else ""
            parts.append(f"{round_bound(bounds[label.name], up=up)} {printable(label.name)}{share}")
        return " and ".join(parts)

    def _format_share(self, bounds: Mapping[str, float]) -> str:
        """Return the largest share that upper bounds have of the best mean after a blank, or an empty text."""
        if not self.have_shares or min(self.best_mean[metric] for metric in bounds) <= 0:
            return ""
        percent = max(100 * bound / self.best_mean[metric] for metric, bound in bounds.items())
        if percent >= 50:  # Larger shares are not informative, and look like the confidence that follows.
            return ""
        places = 1 if percent < 10 else 0
        return f" ({math.ceil(percent * 10**places - 1e-6) / 10**places:.{places}f} %)"

    def format_bound(self, model: str) -> str:
        """Return the upper bounds of the regrets of a model, with the measures and the shares of the best means."""
        return self._join_bounds({metric: bounds[model] for metric, bounds in self.upper.items()}, up=True)

    def describe(self) -> str:
        """Return the model to choose or the safest one, if the queries do not show that the metrics disagree."""
        if self.obstacle:
            return f"No choice yet: {self.obstacle}"
        total, level, name = len(self.names), format_confidence(self.alpha), styled("b n", self.names[self.safe])
        if self.best is not None:
            best = styled("b n", self.names[self.best])
            rest = f"the {total - 1} others" if total > 2 else self._name_other(self.best)
            subject = f"Run {best}" if self.unit == "run" else best
            under = self.under if self.has_one_measure else ""
            lead = self._join_bounds({metric: self.find_lead(metric) for metric in self.lower}, up=False)
            return f"{subject} is better than {rest}{under} ({level}): by at least {lead}."
        details = f"{self.scope} ({level})"
        if self.is_within_margin:
            margin = f", within the margin of {format_exact(self.margin)}" if self.margin else ""
            choice = format_choice("Choose", self.names[self.safe])
            return f"{choice}: {self._describe_worst(self.safe)} behind the best of {total}{details}{margin}."
        if not self.is_undecided:
            return f"Safest of {total}: {name}, {self._describe_worst(self.safe)} behind the best{details}."
        subject = f"{len(self.possible)} of {total} {self.unit}s"
        if len(self.possible) == 1:
            subject = f"only {styled('b n', self.names[self.possible[0]])}"
        text = f"No choice yet: {subject} may be best{self.under}."
        if not self.is_bounded:
            return text
        margin = f", more than the margin of {format_exact(self.margin)}" if self.margin else ""
        start = "It" if self.safe in self.possible and len(self.possible) == 1 else f"{name}, the safest,"
        return f"{text} {start} may be up to {self.format_bound(self.safe)} behind ({level}){margin}."

    def describe_possible(self, selected: str | None, detectable: str = "", evidence: str = "queries") -> Iterator[str]:
        """Yield the models that may be best, and what to do if there are several.

        They are not repeated if the first sentence has stated them. `detectable` is a sentence about small differences.
        """
        number, is_stated = len(self.possible), self.is_undecided and selected is None
        subject = join_names([styled("n", self.names[model]) for model in self.possible], word="or")
        if number > MAX_NAMED:
            subject = f"{number} of {len(self.names)} {self.unit}s"
        if not is_stated or 1 < number <= MAX_NAMED:
            both = " by both metrics" if self.under else ""
            yield f"{'Only ' if number == 1 else ''}{subject} may be best{both}."
        if number > 1:
            yield from filter(None, [detectable])
            yield styled("b", f"Add {evidence}, not {self.unit}s.")

    def describe_identical(self, queries: int) -> str:
        """Return that all models have the same values, and the difference that remains possible."""
        subject = join_names([styled("n", name) for name in self.names.values()])
        text = f"{subject} have the same values on all {queries:,} queries."
        return (
            f"{text} A difference up to {self.format_bound(self.safe)} remains possible." if self.is_bounded else text
        )

    def describe_search(self, winners: Mapping[str, str], searched: int) -> str:
        """Return the models with the best means, after a search of `searched` candidates on these queries.

        The bounds do not include candidates that are not compared, so no model is recommended.
        """
        leaders = [styled("b n", self.names[winners[label.name]]) for label in self.labels]
        text = leaders[0]
        if len(set(leaders)) > 1:
            text = " and ".join(f"{leader} by {label.long}" for leader, label in zip(leaders, self.labels, strict=True))
        return (
            f"Leading on the validation set: {text}, selected here from {searched:,} candidates. "
            "Confirm the choice on a test set."
        )

    def describe_uncovered(self, searched: int) -> str:
        """Return how many candidates of a search the bounds do not cover."""
        rest = searched - len(self.names)
        return f"The bounds do not cover the search, because {rest:,} of its candidates are not compared."

    def describe_compromise(self) -> str:
        """Return the safe choice of two metrics that disagree after a blank, or an empty text without a bound."""
        if not self.is_bounded:
            return ""
        name, level = styled("b n", self.names[self.safe]), format_confidence(self.alpha)
        either = " by either" if self.has_one_measure else ""
        return f" Compromise: {name}, {self._describe_worst(self.safe)} behind the best{either} ({level})."

    def describe_selected(self, selected: str, searched: int | None = None) -> str:
        """Return whether the test set confirms a model that a validation set selected from `searched` candidates."""
        among = "" if searched is None else f" from {searched:,} candidates"
        level, name = format_confidence(self.alpha), styled("b n", self.names[selected])
        metric = max(self.lower, key=lambda metric: self.lower[metric][selected])
        if behind := self.lower[metric][selected]:
            by = f" by {dict(zip(self.lower, label_metrics(tuple(self.lower)), strict=True))[metric].long}"
            return (
                f"The test set rules out {name}, which the validation set selected{among}: it is at least "
                f"{round_bound(behind, up=False)} behind the best{by if self.under else ''} ({level})."
            )
        details = f"{self.scope} ({level})"
        choice = f"{format_choice('Choose', self.names[selected])}, selected on the validation set{among}"
        if selected == self.best:
            return f"{choice}: it is also the best of {len(self.names)} on the test set{details}."
        bound = self.find_bound(selected)
        if bound > self.margin:
            choice = f"Selected on the validation set{among}: {name}"
        if not math.isfinite(bound):
            return f"{choice}. The test set does not bound its distance from the best."
        joint = ", " if bound > self.margin else ": "
        total = len(self.names)
        return f"{choice}{joint}{self._describe_worst(selected)} behind the best of {total} on the test set{details}."

    def describe_disagreement(self, selected: str | None) -> Iterator[str]:
        """Yield what to do if the validation set and the test set choose different models."""
        if selected is not None and self.obstacle:
            yield f"Selected on the validation set: {styled('n', self.names[selected])}."
            return
        if selected is None or selected == self.safe:
            return
        favored = styled("n", self.names[self.safe])
        yield f"The test set favors {favored}."
        if self.best == self.safe:
            yield f"{favored} is better than every other {self.unit} ({format_confidence(self.alpha)})."
        if any(lower[selected] > 0 for lower in self.lower.values()):
            yield "To choose by the test set, confirm the choice on a new one."
            yield "A larger validation set or folds select more reliably."

    def _describe_worst(self, model: str) -> str:
        """Return "at worst" and the upper bound of the larger regret of a model, or "not" if it is 0."""
        return f"at worst {self.format_bound(model)}" if self.find_bound(model) else "not"

    def _name_other(self, model: str) -> str:
        (other,) = set(self.names) - {model}
        return styled("n", self.names[other])
