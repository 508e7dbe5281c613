"""Phrases that verdicts, comparisons with a baseline and reports share."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from .._common.text import join_names, pluralize, round_bound, styled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .data import Vary

SAMPLE = "The queries are the random sample and the models are fixed, so another training seed is not covered."


def describe_sample(clusters: int | None, repeats: Mapping[str, int], vary: Vary | None) -> str:
    """Return the sentences about which parts are a sample, which are fixed, and whether retraining is covered.

    `clusters` is the number of clusters of queries, `repeats` the number of repeats of each model (0 for a fixed one,
    empty if all are fixed), and `vary` is the difference between repeats.
    """
    queries = "queries" if clusters is None else "clusters of queries"
    recipes = {model: number for model, number in repeats.items() if number}
    if not recipes:
        return SAMPLE.replace("queries", queries, 1)
    fewest, most = min(recipes.values()), max(recipes.values())
    times = f"{fewest} times" if fewest == most else f"{fewest} {'or' if most == fewest + 1 else 'to'} {most} times"
    if len(recipes) == 1:
        subject = f"{next(iter(recipes))} is a recipe, trained {times}"
    else:
        names = "The models" if len(recipes) == len(repeats) else join_names(list(recipes))
        subject = f"{names} are recipes, trained {times} each"
    coverage = {
        "seed": ". Another seed is covered, other training data are not",
        "queries": " on resampled training queries. Another seed and another such sample are covered, and all means "
        "are those of training on resampled queries",
        None: ". Another such repeat is covered, and every difference between repeats counts as chance",
    }[vary]
    rest = ""
    if fixed := [model for model, number in repeats.items() if not number]:
        rest = f" {join_names(fixed)} {'is' if len(fixed) == 1 else 'are'} fixed, so retraining is not covered."
    failures = (
        f"Results are valid if no training failed: {fewest} repeats without a failure exclude failure rates above "
        f"{100 * (1 - 0.05 ** (1 / fewest)):.0f} %."
    )
    return f"The {queries} and the repeats are random samples. {subject}{coverage}.{rest} {failures}"


def name_unit(repeats: Mapping[str, int]) -> str:
    """Return "recipe" if every model is a recipe, otherwise "model"."""
    return "recipe" if repeats and all(repeats.values()) else "model"


def format_sample_size(queries: int, clusters: int | None) -> str:
    """Return the number of queries, and of their clusters."""
    in_clusters = "" if clusters is None else f" in {pluralize(clusters, 'cluster')}"
    return f"{pluralize(queries, 'query')}{in_clusters}"


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
    return [f"Lower values of {join_names(losses, most=len(losses))} are better."]


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


def style_metrics(metrics: tuple[str, ...]) -> str:
    """Return the names of metrics in their colors."""
    return " and ".join(styled(style, metric) for style, metric in zip("le", metrics, strict=False))


def format_choice(verb: str, name: str) -> str:
    """Return a recommendation, such as "★ Choose blend", with emphasis."""
    return f"{styled('b', f'★ {verb} ')}{styled('b n', name)}"


def format_open_question(possible: Sequence[str], total: int, unit: str, under: str) -> str:
    """Return how many of all models may be best, with the name if it is one. `under` is such as " under both"."""
    if len(possible) == 1:
        return f"Only {styled('n', possible[0])} may be best{under}."
    number = f"{len(possible)} of {total}"
    if len(possible) == total:
        number = f"either {unit}" if total == 2 else f"any of the {total} {unit}s"
    return f"Too close to call: {number} may be best{under}."


def describe_selection(
    selected: str, favored: str, bounds: Mapping[str, float], names: Mapping[str, str], under: str, level: str
) -> str:
    """Return the selection of the validation set, and its results on the test set.

    Parameters
    ----------
    selected, favored : str
        Models that the validation set and the test set choose.
    bounds : mapping of model to float
        Upper bound of the larger gap to the best model. A bound of 0 means that the model is best.
    names : mapping of model to str
        Names for sentences.
    under : str
        Metrics, such as " under either metric".
    level : str
        Confidence of the bounds.
    """

    def describe_gap(bound: float) -> str:
        if not math.isfinite(bound):
            return "too uncertain for a bound"
        return f"at most {round_bound(bound, up=True)} from the best" if bound else "proven best"

    if bounds[selected] == 0:
        under = under.replace("either metric", "both metrics")
    text = f"{format_choice('Selected on the validation set:', names[selected])}. On the test set, "
    text += f"{styled('n', names[selected])} is {describe_gap(bounds[selected])}{under} ({level})."
    if favored != selected:
        text += f" The test set favors {styled('n', names[favored])}, which is {describe_gap(bounds[favored])}."
    return text
