"""The chart of a comparison by one metric, and how two models or one stand under every metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._common.words import amount, confidence, count
from ..comparison.headline import labels_of, rounded
from ..drawing.lanes import Chart, Row, mark_of

if TYPE_CHECKING:
    from ..comparison.findings import Findings
    from ..drawing.text import Words

__all__ = ["chart_of_one_metric"]


def chart_of_one_metric(comparison: Findings) -> Chart:
    """Return how far every model is behind the best by the only metric, and what that comes down to."""
    (metric,), names = comparison.metrics, comparison.names
    labels, level = labels_of((metric,)), confidence(comparison.alpha)
    rows = []
    for row in comparison.standings.to_dict("records"):
        model, regret, lower, upper = (row[name] for name in ("model", "regret", "regret_lower", "regret_upper"))
        best = model == comparison.winners[metric]
        low = 0.0 if row["may_be_best"] else lower
        mark = mark_of(metric, regret, low, upper, row["may_be_best"], row["mean"])
        tags: Words = (("l", "best"),) if best else ()
        rows.append(Row(model, names.cells[model], names.full[model], tags, (mark,), row["may_be_best"], (best,)))
    size = f"{count(len(rows), 'model')}, {count(comparison.query_count, 'query')}"
    possible = sum(row.shaded for row in rows)
    best_name = names.said[comparison.winners[metric]]
    headline: Words = (("n l", best_name), ("", f" is the best by {metric}."))
    next_one = sorted(row.marks[0].value for row in rows)[1:2]
    advice: Words = (("b", "\u2605 Choose "), ("b n", best_name))
    if len(rows) == 1:
        direction = "lower is better" if comparison.lower_is_better else "higher is better"
        headline, advice = (("", "One model: there is nothing to compare."),), (("", f"Of {metric} {direction}."),)
    elif possible == 1:
        advice = (*advice, ("", ": ahead of the next by "), ("l", amount(next_one[0])), ("", f", proven ({level})."))
    else:
        every = f"any of the {len(rows)}" if possible == len(rows) else f"{possible} of {len(rows)}"
        headline = (("", f"Not proven: {every} models may be best by {metric}."),)
        bound = comparison.standings["regret_upper"].iloc[0]
        most = f": in truth at most {rounded(bound, up=True)} behind the best ({level})" if math.isfinite(bound) else ""
        advice = (("b", "\u2605 Take "), ("b n", best_name), ("", f"{most}. More queries decide it, not more models."))
    return Chart(
        (("", "Which model is best by "), ("b l", metric), ("", f"? {size}")),
        headline, advice, labels, names.heads, names.alike, tuple(rows) if len(rows) > 1 else (), level,
        f"may be best ({possible} of {len(rows)})",
    )  # fmt: skip
