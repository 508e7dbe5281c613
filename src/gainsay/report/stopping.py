"""When to stop: the rounds that each metric would choose, and the curves where they are furthest apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.shown import printable
from .._common.words import amount
from ..drawing.curves import Curve, curve_figure, dots_figure
from .rounds import curve_of
from .section import Section

if TYPE_CHECKING:
    import pandas as pd

    from ..drawing.text import Words
    from .content import Content

MOST_CANDIDATES = 40
"""So many candidates have a line in the picture of best rounds; all are in the table."""


def stopping_section(content: Content) -> Section | None:
    """Return the section of best rounds; None where nothing was trained."""
    best, curves = content.rounds, content.comparison.curves
    if best is None or curves is None:
        return None
    names, called = content.names, best["candidate"].astype(str)
    columns = [f"round {label.name}" for label in content.chart.labels]
    gap = best[columns[0]].sub(best[columns[1]]).abs()
    apart = gap.groupby(called, sort=False).max()
    torn = str(apart.idxmax())
    left = curve_figure(
        f"{names.short[torn]}: below its own best, on valid",
        _curves(content, curves[curves["candidate"].astype(str) == torn]),
        [label.head for label in content.chart.labels],
    )
    rows = [
        (names.short[name], names.full[name], best.loc[called == name, columns].to_numpy(int).tolist())
        for name in apart.index[:MOST_CANDIDATES]
    ]
    last = int(curves["round"].max())
    right = dots_figure("Best round of every candidate", f"1 to {last}; grey: the same under both", rows, last)
    note = "On the validation set; a curve minus its own best, so that both begin at one line."
    if len(set(best["fold"].astype(str))) > 1:
        note += " One line and one mark a fold."
    own = best[called == torn]
    here = own.iloc[int(gap[called == torn].to_numpy().argmax())]
    said = _words(content, here, apart, folds=len(own))
    if "compared" in best.columns:
        said = (*said, ("", " Every other number here is of the candidates at the rounds at which they are compared."))
    return Section("when", "When to stop", said, lambda most: f'<div class="two">{left}{right}</div>', note)


def _curves(content: Content, part: pd.DataFrame) -> list[list[Curve]]:
    """Return for each metric the curves of a candidate, one a fold, minus their own best."""
    comparison = content.comparison
    folds = [own for _, own in part.groupby("fold", sort=False)] if "fold" in part.columns else [part]
    found: list[list[Curve]] = []
    for metric in comparison.verdict.metrics:
        lines = []
        for fold in folds:
            line = curve_of(fold, metric)
            values = (-1.0 if metric in comparison.lower_is_better else 1.0) * line.to_numpy(float)
            rounds = line.index.to_numpy(int)
            lines.append(Curve(rounds.tolist(), (values - values.max()).tolist(), int(rounds[int(np.argmax(values))])))
        found.append(lines)
    return found


def _words(content: Content, here: pd.Series[Any], apart: pd.Series[float], folds: int) -> Words:
    """Return on how many candidates both agree, and what is lost where they are furthest apart: `here`."""
    labels, total, same = content.chart.labels, len(apart), int((apart == 0).sum())
    if same == total:
        every = f"{'Each candidate' if total > 1 else 'The candidate'} has the same best round under both metrics."
        return (("", every),)
    have = "have" if same > 1 else "has"
    lead = f"{same or 'None'} of {total} candidates {have} the same best round under both. They are furthest apart for "
    lead = lead if total > 1 else "They are apart for "
    fold = printable(str(here["fold"])) if folds > 1 else ""
    fold = fold and f" ({fold})" if "fold" in fold or not fold else f" (fold {fold})"
    rounds = [str(int(here[f"round {label.name}"])) for label in labels]
    lost = [float(here[f"loss {label.name}"]) for label in labels]
    start: Words = (
        ("", lead), ("n", content.names.said[str(here["candidate"])]), ("", f"{fold}: rounds "), ("b l", rounds[0]),
        ("", " and "), ("b e", rounds[1]),
    )  # fmt: skip
    if not all(map(math.isfinite, lost)):
        return (*start, ("", ", where not both metrics have a value, so what stopping there loses is not known."))
    losses = list(map(amount, lost))
    return (
        *start, ("", ". On the validation set, stopping at the other metric's round is "),
        ("l", losses[0]), ("", f" worse by {labels[0].by} and "), ("e", losses[1]), ("", f" by {labels[1].by}."),
    )  # fmt: skip
