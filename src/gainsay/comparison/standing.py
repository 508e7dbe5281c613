"""How every model stands under two metrics: a verdict as rows of a chart, with what it comes down to above them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from .._common.words import confidence, count
from ..drawing.lanes import Chart, Row, bare, marks_of
from .headline import advice, headline, labels_of, question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._common.shown import Names
    from ..drawing.lanes import Label, Mark
    from .verdict import Verdict

__all__ = ["STAR", "chart_of", "with_runs"]

MAX_RUNS = 10
"""So many runs are listed in words; all are drawn."""

STAR = "\u2605"
"""Marks the safe choice."""


def chart_of(verdict: Verdict, names: Names, models: Sequence[str] = ()) -> Chart:
    """Return what a verdict says as a chart, best under the first metric first.

    `models`, where they are given, are all in the order given: of two the question is whether to replace the first by
    the second.
    """
    common, total = len(verdict.common_best), len(verdict.models)
    if verdict.kind == "agree":
        shading = "best under both, proven"
    elif verdict.kind == "genuine":
        shading = "none may be best under both"
    else:
        shading = f"may be best under both ({common} of {total})"
    return Chart(
        question=question(verdict, models, names.said),
        headline=headline(verdict, names.said, models[0] if models else ""),
        advice=advice(verdict, names.said),
        labels=labels_of(verdict.metrics),
        heads=names.heads,
        alike=names.alike,
        rows=_rows(verdict, names) if total > 1 else (),
        level=confidence(verdict.alpha),
        shading=shading,
        price=verdict.price if verdict.kind == "genuine" else math.nan,
        ruler=verdict.detectable if verdict.kind == "unresolved" else math.inf,
        ruler_says=f"smallest lead that {count(verdict.queries, 'query')} show",
    )


def with_runs(chart: Chart, distances: Mapping[str, Mapping[str, Sequence[float]]]) -> Chart:
    """Return a chart that shows every run of recipes: `distances` says by metric and model how far each is behind."""

    def marked(row: Row, lane: int, metric: str) -> Mark:
        mark, runs = row.marks[lane], tuple(distances[metric].get(row.key, ()))
        if not runs:
            return mark
        listed = ", ".join(map(bare, runs[:MAX_RUNS])) + " \u2026" * (len(runs) > MAX_RUNS)
        return mark._replace(runs=runs, said=f"{mark.said}; its runs: {listed}")

    metrics = [label.name for label in chart.labels]
    rows = (
        row._replace(marks=tuple(marked(row, lane, metric) for lane, metric in enumerate(metrics)))
        for row in chart.rows
    )
    return replace(chart, rows=tuple(rows))


def _rows(verdict: Verdict, names: Names) -> tuple[Row, ...]:
    labels, first = labels_of(verdict.metrics), verdict.metrics[0]
    flagged: dict[str, list[str]] = {}
    for flag in verdict.flags:
        for model in flag.models if len(flag.models) < len(verdict.models) else ():
            flagged.setdefault(model, []).append(flag.message)
    order = sorted(verdict.models, key=verdict.regrets[first].__getitem__)
    marks = []
    for metric in verdict.metrics:
        regrets, means = verdict.regrets[metric], verdict.means[metric]
        may = {*verdict.best_sets[metric], *verdict.common_best}
        lower, upper = verdict.regrets_lower[metric], verdict.regrets_upper[metric]
        marks.append(marks_of(metric, [(regrets[it], lower[it], upper[it], it in may, means[it]) for it in order]))
    rows = []
    for model, own in zip(order, zip(*marks, strict=True), strict=True):
        best = tuple(verdict.winners[metric] == model for metric in verdict.metrics)
        remark, shaded = " ".join(flagged.get(model, ())), model in verdict.common_best
        tags = _tags(model == verdict.safe_choice, best, labels)
        rows.append(Row(model, names.cells[model], names.full[model], tags, own, shaded, best, remark))
    return tuple(rows)


def _tags(safe: bool, best: tuple[bool, ...], labels: tuple[Label, ...]) -> tuple[tuple[str, str], ...]:
    if all(best):
        return (("", f"{STAR} best by both" if safe else "best by both"),)
    tags = [(style, f"best by {label.head}") for style, label, it in zip("le", labels, best, strict=True) if it]
    return (*tags, *([("", f"{STAR}\u200asafe")] if safe else []))
