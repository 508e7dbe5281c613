"""When to stop: the rounds that each metric would choose, and the curves where they are furthest apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._common.shown import printable
from .._common.words import amount
from ..comparison.headline import labels_of
from ..drawing.curves import Curve, curve_figure, dots_figure
from .rounds import curve_of
from .section import Section

if TYPE_CHECKING:
    import pandas as pd

    from ..drawing.text import Words
    from .content import Content

__all__ = ["stopping_section"]

MOST_CANDIDATES = 40
"""So many candidates have a line in the picture of best rounds; all are in the table."""


def stopping_section(content: Content) -> Section | None:
    """Return the section of best rounds; None where nothing was trained."""
    best = content.rounds
    if best is None:
        return None
    metrics = content.comparison.verdict.metrics
    apart = _apart(best, metrics)
    torn = str(apart.idxmax())
    labels = labels_of(metrics)
    names = content.names
    title = f"{_short(content, torn)}: below its own best, on valid"
    left = curve_figure(title, _curves(content, torn), [label.head for label in labels])
    order = list(dict.fromkeys(map(str, best["candidate"])))[:MOST_CANDIDATES]
    columns = [f"round {metric}" for metric in metrics]
    rows = [
        (
            _short(content, name),
            names.full.get(name, printable(name)),
            best.loc[best["candidate"] == name, columns].to_numpy(int).tolist(),
        )
        for name in order
    ]
    last = int(content.comparison.curves["round"].max())  # type: ignore[index]
    right = dots_figure("Best round of every candidate", f"1 to {last}; grey: the same under both", rows, last)
    note = "On the validation set; a curve minus its own best, so that both begin at one line."
    if len(set(best["fold"].astype(str))) > 1:
        note += " One line and one mark a fold."
    figure = f'<div class="two">{left}{right}</div>'
    return Section("when", "When to stop", _words(content, best, torn, int(apart.max())), lambda most: figure, note)


def _short(content: Content, name: str) -> str:
    return content.names.short.get(name, printable(name))


def _apart(best: pd.DataFrame, metrics: tuple[str, str]) -> pd.Series[float]:
    """Return for each candidate how far apart its best rounds are, in the fold in which they are furthest."""
    gap = (best[f"round {metrics[0]}"] - best[f"round {metrics[1]}"]).abs()
    return gap.groupby(best["candidate"], sort=False).max()


def _curves(content: Content, candidate: str) -> list[list[Curve]]:
    """Return for each metric the curves of a candidate, one a fold, minus their own best."""
    comparison = content.comparison
    curves = comparison.curves
    assert curves is not None
    part = curves[curves["candidate"] == candidate]
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


def _words(content: Content, best: pd.DataFrame, torn: str, gap: int) -> Words:
    metrics = content.comparison.verdict.metrics
    labels = labels_of(metrics)
    apart = _apart(best, metrics)
    same, total = int((apart == 0).sum()), len(apart)
    start = f"{same or 'None'} of {total} candidates has the same best round under both." if total > 1 else ""
    start = start.replace("has", "have") if same > 1 else start
    if not gap:
        every = f"{'Each candidate' if total > 1 else 'The candidate'} has the same best round under both metrics."
        return (("", every), *_compared(best))
    rows = best[best["candidate"] == torn]
    here = rows.iloc[int((rows[f"round {metrics[0]}"] - rows[f"round {metrics[1]}"]).abs().to_numpy().argmax())]
    fold = printable(str(here["fold"])) if len(rows) > 1 else ""
    fold = fold and f" ({fold})" if "fold" in fold or not fold else f" (fold {fold})"
    said = content.names.said.get(torn, printable(torn))
    rounds = [int(here[f"round {metric}"]) for metric in metrics]
    losses = [amount(float(here[f"loss {metric}"])) for metric in metrics]
    lead = f"{start} They are furthest apart for " if start else "They are apart for "
    return (
        ("", lead), ("n", said), ("", f"{fold}: rounds "), ("b l", str(rounds[0])), ("", " and "),
        ("b e", str(rounds[1])), ("", ". On the validation set, stopping at the other metric's round is "),
        ("l", losses[0]), ("", f" worse by {labels[0].by} and "), ("e", losses[1]), ("", f" by {labels[1].by}."),
        *_compared(best),
    )  # fmt: skip


def _compared(best: pd.DataFrame) -> Words:
    if "compared" not in best.columns:
        return ()
    return (("", " Every other number here is of the candidates at the rounds at which they are compared."),)
