"""Phrases that verdicts and comparisons with a baseline share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .._common.words import count, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .data import Vary

SAMPLE = "The queries are the random sample and the models are fixed, so another training seed is not covered."


class Evidence(Protocol):
    """Queries, clusters and repeats that a result is based on."""

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""

    @property
    def queries(self) -> int:
        """Number of queries."""

    @property
    def clusters(self) -> int | None:
        """Number of clusters, if queries are dependent."""

    @property
    def repeats(self) -> Mapping[str, int]:
        """Number of repeats of each model."""

    @property
    def vary(self) -> Vary | None:
        """What differs between repeats."""


def describe_sample(evidence: Evidence) -> str:
    """Return the sentences about which parts are a sample, which are fixed, and whether retraining is covered."""
    queries = "queries" if evidence.clusters is None else "clusters of queries"
    recipes = {model: repeats for model, repeats in evidence.repeats.items() if repeats}
    if not recipes:
        return SAMPLE.replace("queries", queries, 1)
    fewest, most = min(recipes.values()), max(recipes.values())
    times = f"{fewest} times" if fewest == most else f"{fewest} {'or' if most == fewest + 1 else 'to'} {most} times"
    if len(recipes) == 1:
        subject = f"{next(iter(recipes))} is a recipe, trained {times}"
    else:
        names = "The models" if len(recipes) == len(evidence.models) else listed(list(recipes))
        subject = f"{names} are recipes, trained {times} each"
    coverage = {
        "seed": ". Another seed is covered, other training data are not",
        "queries": " on resampled training queries. Another seed and another such sample are covered, and all means "
        "are those of training on resampled queries",
        None: ". Another such repeat is covered, and every difference between repeats counts as chance",
    }[evidence.vary]
    fixed = [model for model in evidence.models if model not in recipes]
    rest = (
        f" {listed(fixed)} {'is' if len(fixed) == 1 else 'are'} fixed, so retraining is not covered." if fixed else ""
    )
    failures = (
        f"Results are valid if no training failed: {fewest} repeats without a failure exclude failure rates above "
        f"{100 * (1 - 0.05 ** (1 / fewest)):.0f} %."
    )
    return f"The {queries} and the repeats are random samples. {subject}{coverage}.{rest} {failures}"


def name_unit(evidence: Evidence) -> str:
    """Return "recipe" if every model is a recipe, otherwise "model"."""
    return "recipe" if evidence.repeats and all(evidence.repeats.values()) else "model"


def format_sample_size(evidence: Evidence) -> str:
    """Return the number of queries, and of their clusters."""
    clusters = "" if evidence.clusters is None else f" in {count(evidence.clusters, 'cluster')}"
    return f"{count(evidence.queries, 'query')}{clusters}"


def format_range(median: int, upper: int | None) -> str:
    """Return a number that is sufficient with 50 % confidence, and the one with 80 %.

    >>> format_range(1200, 3400), format_range(368, 368), format_range(1200, None)
    ('1,200 to 3,400', '368', '1,200 or many more')
    """
    if upper is None:
        return f"{median:,} or many more"
    return f"{median:,}" if upper == median else f"{median:,} to {upper:,}"


def describe_losses(losses: Sequence[str]) -> list[str]:
    """Return a sentence that names the metrics whose lower values are better, if there are any.

    >>> describe_losses(["shortfall"])
    ['A lower value of shortfall is better.']
    >>> describe_losses(["shortfall", "lost@10"])
    ['Lower values of shortfall and lost@10 are better.']
    """
    if len(losses) < 2:
        return [f"A lower value of {metric} is better." for metric in losses]
    return [f"Lower values of {listed(losses, most=len(losses))} are better."]
