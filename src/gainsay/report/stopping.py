"""When to stop: the rounds that each metric would choose, and the curves where they are furthest apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .._common.shown import printable
from .._common.words import amount
from ..comparison.headline import labels_of
from ..drawing.text import styled
from .section import Section

if TYPE_CHECKING:
    import pandas as pd

    from .content import Content


def stopping_section(content: Content) -> Section | None:
    """Return the section of best rounds; None where nothing was trained."""
    best, curves = content.rounds, content.comparison.curves
    if best is None or curves is None:
        return None
    names, called = content.names, best["candidate"].astype(str)
    columns = [f"round {label.name}" for label in labels_of(content.comparison.verdict.metrics)]
    gap = best[columns[0]].sub(best[columns[1]]).abs()
    apart = gap.groupby(called, sort=False).max()
    torn = str(apart.idxmax())
    metrics, losses = content.comparison.verdict.metrics, content.comparison.lower_is_better

    def figure(most: int) -> str:
        if not gap.any():
            return ""
        from .plots.curves import plot_best_rounds, plot_curves
        from .plots.picture import embedded

        lines = curves.assign(candidate=curves["candidate"].astype(str))
        left = embedded(
            lambda theme: plot_curves(
                lines, metrics, None, theme, candidate=torn, names=names.short, lower_is_better=losses
            )
        )
        right = embedded(lambda theme: plot_best_rounds(best, metrics, None, theme, names=names.short))
        return f'<div class="two">{left}{right}</div>'

    note = "On the validation set. Each curve is drawn minus its own best." if gap.any() else ""
    if note and len(set(best["fold"].astype(str))) > 1:
        note += " One line and one mark per fold."
    own = best[called == torn]
    here = own.iloc[int(gap[called == torn].to_numpy().argmax())]
    said = _words(content, here, apart, folds=len(own))
    if "compared" in best.columns:
        said = f"{said} Every other number here is of the candidates at the rounds at which they are compared."
    return Section("when", "When to stop", said, figure, note)


def _words(content: Content, here: pd.Series[Any], apart: pd.Series[float], folds: int) -> str:
    """Return on how many candidates both agree, and what is lost where they are furthest apart: `here`."""
    labels, total, same = labels_of(content.comparison.verdict.metrics), len(apart), int((apart == 0).sum())
    if same == total:
        return f"{'Each candidate' if total > 1 else 'The candidate'} has the same best round under both metrics."
    have = "have" if same > 1 else "has"
    lead = f"{same or 'None'} of {total} candidates {have} the same best round under both. They are furthest apart for"
    fold = printable(str(here["fold"])) if folds > 1 else ""
    fold = fold and f" ({fold})" if "fold" in fold or not fold else f" (fold {fold})"
    rounds = [str(int(here[f"round {label.name}"])) for label in labels]
    one, other = (styled(f"b {it}", number) for it, number in zip("le", rounds, strict=True))
    name = styled("n", content.names.said[str(here["candidate"])])
    start = f"{lead if total > 1 else 'They are apart for'} {name}{fold}: rounds {one} and {other}"
    lost = [float(here[f"loss {label.name}"]) for label in labels]
    if not all(map(math.isfinite, lost)):
        return f"{start}, where not both metrics have a value, so what stopping there loses is not known."
    first, second = (styled(it, amount(loss)) for it, loss in zip("le", lost, strict=True))
    return (
        f"{start}. On the validation set, stopping at the other metric's round is {first} worse by {labels[0].by} and "
        f"{second} by {labels[1].by}."
    )
