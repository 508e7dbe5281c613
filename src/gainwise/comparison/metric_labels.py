"""Names of metrics in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class MetricLabel(NamedTuple):
    """Names of a metric: the full name, and two for sentences, such as "linear gain" and "linear".

    `measure` is the one that two metrics are variants of, such as "NDCG@10". It is empty for other metrics.
    """

    name: str
    long: str
    short: str
    measure: str = ""


def label_metrics(metrics: Sequence[str]) -> tuple[MetricLabel, ...]:
    """Return names of metrics for sentences. Two metrics that differ only in their gain are named after it.

    >>> [label.long for label in label_metrics(("ndcg_linear@10", "ndcg_exp@10"))]
    ['linear gain', 'exponential gain']
    >>> label_metrics(("ndcg_linear(empty=skip)@5", "ndcg_exp(empty=skip)@5"))[0].measure
    'NDCG@5'
    >>> [label.short for label in label_metrics(("map", "mrr"))]
    ['map', 'mrr']
    """
    matches = [re.fullmatch(r"(n?dcg)_(linear|exp)(\W.*)?", metric) for metric in metrics]
    families = {match and (match[1], match[3]) for match in matches}
    if len(metrics) != 2 or len(families) > 1 or None in families:
        return tuple(MetricLabel(metric, metric, metric) for metric in metrics)
    gains = ["linear" if match and match[2] == "linear" else "exponential" for match in matches]
    family, _, options = metrics[0].partition("_")
    measure = family.upper() + "".join(options.partition("@")[1:])
    return tuple(
        MetricLabel(metric, f"{gain} gain", gain, measure) for metric, gain in zip(metrics, gains, strict=True)
    )


def assign_styles(metrics: Sequence[str], primary: Sequence[str], styles: Sequence[T]) -> dict[str, T]:
    """Return the styles of metrics: those of the primary metrics, or in their own order if one of them is not primary.

    >>> assign_styles(["ndcg_exp@10"], ["loss", "ndcg_exp@10"], ["blue", "orange"])
    {'ndcg_exp@10': 'orange'}
    >>> assign_styles(["cg", "ndcg_exp@10"], ["loss", "ndcg_exp@10"], ["blue", "orange"])
    {'cg': 'blue', 'ndcg_exp@10': 'orange'}
    """
    by_metric = dict(zip(primary if {*metrics} <= {*primary} else metrics, styles, strict=False))
    return {metric: by_metric[metric] for metric in metrics}
