"""The sections of a report between its chart and its details.

To add one, write a function from `Content` to a `Section`, or None if there is nothing to show, and add it to
`SECTIONS`. Its figure is HTML whose classes are in ``report.css``. Its tables are in `gainsay.report.tables.details`.
"""

from __future__ import annotations

import math
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.markup import as_html, styled
from .._common.shown import printable, shorten_names
from .._common.words import amount, count, listed
from ..comparison.headline import labels_of
from .chart import chart_of
from .numbers import format_number
from .queries import queries_section
from .tables import Section

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.segments import Segment
    from .chart import Axis, Chart, Row
    from .content import Also, Content


def why_section(content: Content) -> Section | None:
    """Return why the explained pair differs. Unless a difference is proven, the section is only a sentence."""
    attribution, pair = content.attribution, content.pair
    if attribution is None or pair is None:
        return None
    if not content.proven:
        first, second = (styled("n", content.comparison.short_names[model]) for model in pair[:2])
        said = f"The difference between {first} and {second} is not proven, so there is nothing to explain yet."
        return Section("why", "Why", said, lambda most: "", narrow=True)
    table, losses = attribution.grades_by_ranks, attribution.lower_is_better
    cells = [(-1.0 if it in losses else 1.0) * table.loc[it].to_numpy(float) for it in attribution.metrics]
    note = ""
    left = [metric for metric in content.comparison.verdict.metrics if metric not in attribution.metrics]
    said = _explain_pair(content, attribution, [cell.sum(axis=1) for cell in cells])
    if left and not content.merged:
        said += f" {left[0]} has no split because it is not a sum over documents."
    if attribution.left_out:
        note = (
            f"On the {attribution.queries:,} queries that all these metrics have. {attribution.left_out:,} more are "
            "left out."
        )

    def figure(most: int) -> str:
        from .plots.explain import plot_attribution
        from .plots.picture import embedded
        from .plots.style import start

        names = content.comparison.short_names
        size = (NARROW, 1.1 + 0.3 * (len(attribution.grades_by_ranks.loc[attribution.metrics[0]]) + 1))
        return embedded(lambda theme: plot_attribution(attribution, start(None, theme, size)[0], theme, names=names))

    return Section("why", "Why", said, figure, note, narrow=True)


def _explain_pair(content: Content, attribution: Attribution, nets: list[np.ndarray]) -> str:
    """Return one sentence: gains and losses of the first model against the second under both metrics."""
    pair = content.pair
    assert pair is not None
    verdict, said = content.comparison.verdict, content.comparison.short_names
    first, second = styled("n", said[pair.first]), styled("n", said[pair.second])
    both, labels = attribution.metrics == verdict.metrics, labels_of(attribution.metrics)
    grades = list(map(str, attribution.grades_by_ranks.loc[attribution.metrics[0]].index))
    one_winner = len(set(verdict.winners.values())) == 1
    gains, losses = ([it for it, net in zip(grades, nets[0], strict=True) if sign * net > 0] for sign in (1, -1))
    turns = len({net.sum() > 0 for net in nets}) > 1  # each metric prefers the other model
    found = _turned(nets, grades, gains, losses) if both and turns and gains and losses else None
    if found is not None:
        won, lost, later, against = (styled(f"b {it}", text) for it, text in zip("llee", found, strict=True))
        top = attribution.top_grade
        worth = ""
        if labels[0].head == "linear" and isinstance(top, int) and 1 < top < 30:  # the two differ by their gain
            worth = f", which counts grade {top} as {2**top - 1:,} instead of {top},"
        return (
            f"{first} gains {won} on {_grades(gains, grades)} and loses {lost} on {_grades(losses, grades)} under "
            f"{labels[0].long}. Under {labels[1].long}{worth} these are {later} and {against}."
        )
    leads = [_grades([it for it, value in zip(grades, net, strict=True) if value > 0], grades) for net in nets]
    rival = "the next best" if verdict.kind == "agree" else "its nearest rival"
    start = f"Against {rival}, {second}, it leads"
    if not one_winner or content.against is not None:
        start = f"{first}, against {second}, leads"
    elif len(verdict.models) == 2:
        start = f"{first} leads"
    if len(set(leads)) == 1:
        which = ", whichever gain counts it" if labels[0].by != labels[0].name else ", under both metrics"
        return f"{start} on {leads[0]}{which if len(nets) > 1 else ''}."
    told = " and ".join(f"on {lead} by {label.by}" for lead, label in zip(leads, labels, strict=True))
    return f"{start} {told}."


def _turned(nets: list[np.ndarray], grades: list[str], gains: list[str], losses: list[str]) -> list[str] | None:
    """Return the sums of gaining and of losing grades under both metrics, or None if one of them changes its sign."""
    won = [sum(value for it, value in zip(grades, net, strict=True) if it in gains) for net in nets]
    lost = [-sum(value for it, value in zip(grades, net, strict=True) if it in losses) for net in nets]
    if min(won + lost) < 0:
        return None
    return [format_number(value, 3) for value in (won[0], lost[0], won[1], lost[1])]


def _grades(names: list[str], every: list[str]) -> str:
    """Write consecutive grades as a range.

    >>> _grades(["1", "2"], ["0", "1", "2", "4"]), _grades(["1", "4"], ["0", "1", "2", "4"]), _grades(["4"], ["4"])
    ('grades 1–2', 'grades 1 and 4', 'grade 4')
    """
    if not names:
        return "no grade"
    if len(names) == 1:
        return f"grade {names[0]}"
    if any(" to " in name for name in every):
        return f"{len(names)} of {len(every)} ranges of grades"
    places = [every.index(name) for name in names]
    if all(b == a + 1 for a, b in pairwise(places)):
        return f"grades {names[0]}\u2013{names[-1]}"
    return f"grades {listed(names)}"


def stopping_section(content: Content) -> Section | None:
    """Return the section of best rounds, or None if nothing was trained."""
    best, curves = content.rounds, content.comparison.curves
    if best is None or curves is None:
        return None
    names, called = content.comparison.short_names, best["candidate"].astype(str)
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
            lambda theme: plot_curves(lines, metrics, None, theme, candidate=torn, names=names, lower_is_better=losses)
        )
        right = embedded(lambda theme: plot_best_rounds(best, metrics, None, theme, names=names))
        return f'<div class="two">{left}{right}</div>'

    note = "On the validation set. Each curve is drawn minus its own best." if gap.any() else ""
    if note and len(set(best["fold"].astype(str))) > 1:
        note += " One line and one mark per fold."
    own = best[called == torn]
    here = own.iloc[int(gap[called == torn].to_numpy().argmax())]
    said = _describe_rounds(content, here, apart, folds=len(own))
    if "compared" in best.columns:
        said = f"{said} All other numbers belong to the rounds of the compared models."
    return Section("when", "When to stop", said, figure, note)


def _describe_rounds(content: Content, here: pd.Series[Any], apart: pd.Series[float], folds: int) -> str:
    """Return the number of candidates with equal rounds, and the losses of the largest gap, in row `here`."""
    labels, total, same = labels_of(content.comparison.verdict.metrics), len(apart), int((apart == 0).sum())
    if same == total:
        return f"{'Each candidate' if total > 1 else 'The candidate'} has the same best round under both metrics."
    have = "have" if same > 1 else "has"
    lead = f"{same or 'None'} of {total} candidates {have} the same best round under both. The largest gap is that of"
    fold = printable(str(here["fold"])) if folds > 1 else ""
    fold = fold and f" ({fold})" if "fold" in fold or not fold else f" (fold {fold})"
    rounds = [str(int(here[f"round {label.name}"])) for label in labels]
    one, other = (styled(f"b {it}", number) for it, number in zip("le", rounds, strict=True))
    name = styled("n", content.comparison.short_names[str(here["candidate"])])
    start = f"{lead if total > 1 else 'The best rounds differ for'} {name}{fold}: rounds {one} and {other}"
    lost = [float(here[f"loss {label.name}"]) for label in labels]
    if not all(map(math.isfinite, lost)):
        return f"{start}. A metric has no value there, so the loss of stopping there is unknown."
    first, second = (styled(it, amount(loss)) for it, loss in zip("le", lost, strict=True))
    return (
        f"{start}. On the validation set, stopping at the other metric's round is {first} worse by {labels[0].by} and "
        f"{second} by {labels[1].by}."
    )


NARROW = 5.1
"""Width in inches of a picture that takes half of the page."""

MOST_ROWS = 5
MOST_SEGMENTS = 12


def gains_part(content: Content) -> Section | None:
    """Return the section of the gain path, or None without a path."""
    path = content.path
    if path is None or content.merged:
        return None
    one_leader = len(path.winners) == 1
    said = shorten_names(f"{path.headline}.", content.comparison.short_names)

    def figure(most: int) -> str:
        from .plots.gains import plot_gains
        from .plots.picture import embedded
        from .plots.style import start

        if one_leader or len(path.bases) < 2:
            return ""
        size = (NARROW, 2.8 + 0.12 * len(set(path.best_ranges["model"])))
        return embedded(lambda theme: plot_gains(path, start(None, theme, size)[0], theme))

    return Section("gains", "At which gain", said, figure, narrow=True)


def sensitivity_part(content: Content) -> Section | None:
    """Return the choices that would reverse pairs of models if they were computed, otherwise None."""
    found = content.comparison.last_sensitivity
    if found is None or not len(found.table):
        return None

    def figure(most: int) -> str:
        from .plots.picture import embedded
        from .plots.sensitivity import plot_sensitivity

        return embedded(lambda theme: plot_sensitivity(found, None, theme))

    names = content.comparison.short_names | {name: name for name in found.models}
    note = "Lines are intervals for other models of the same kind on the same queries."
    return Section("sensitivity", "What would change the answer", shorten_names(found.text, names), figure, note)


def segments_part(content: Content) -> Section | None:
    """Return a small chart for each segment, all on one scale, or None without segments."""
    comparison = content.comparison
    if not comparison.segment_labels or content.pair is None:
        return None
    found = comparison.segments
    parts = [(part, part.verdict) for part in found.parts if part.verdict is not None][:MOST_SEGMENTS]
    if not parts:
        return None
    order = [row.model for row in content.chart.rows]
    charts, shown = [], []
    for _, verdict in parts:
        charts.append(chart_of(verdict, comparison.short_names))
        rows = sorted(charts[-1].rows, key=lambda row: order.index(row.model))
        some = [row for place, row in enumerate(rows) if place < MOST_ROWS or row.in_question]
        shown.append(some[: MOST_ROWS + 2])
    axis = charts[0].axis([row for own in shown for row in own])
    figure = "".join(_small(part, chart, own, axis) for (part, _), chart, own in zip(parts, charts, shown, strict=True))
    told = " ".join(contrast.text for contrast in found.contrasts)
    told = shorten_names(
        told or "No model is proven best in one segment and ruled out in another.", comparison.short_names
    )
    left = len(found.parts) - len(parts)
    note = f"All on one scale, in the order of the chart above. Each interval has {charts[0].level} confidence."
    note += f" {count(left, 'segment')} more." if left else ""
    return Section("segments", "Segments", told, lambda most: f'<div class="two">{figure}</div>', note)


def other_part(also: Also) -> Section:
    """Return the chart of another comparison with its answer and advice, why its winners differ, and when to stop."""
    content = also.content
    chart = content.chart
    said = f'<p class="mini"><strong>{as_html(chart.headline)}</strong> {as_html(chart.advice)}</p>'

    def drawn(most: int) -> str:
        from .environment import chart_html

        sentences = (section.text for section in (why_section(content), stopping_section(content)) if section)
        return "".join(
            (said, chart_html(chart, MOST_SEGMENTS, height=32), f'<p class="mini">{as_html(" ".join(sentences))}</p>')
        )

    return Section(also.name, also.title, "", drawn, f"{also.text}. {chart.notes[-1]}")


def _small(part: Segment, chart: Chart, rows: Sequence[Row], axis: Axis) -> str:
    from .environment import small_chart_html

    size = f"{count(part.queries, 'query')}, {100 * part.share:.0f} %"
    return (
        f'<div><h3>{escape(part.column)}: {escape(part.label)} <span class="m">({size})</span></h3>'
        f'<p class="mini">{as_html(chart.headline)}</p>{small_chart_html(chart, rows, axis)}</div>'
    )


SECTIONS: tuple[Callable[[Content], Section | None], ...] = (
    why_section,
    gains_part,
    queries_section,
    segments_part,
    sensitivity_part,
    stopping_section,
)
"""The sections in order."""


def sections(content: Content) -> tuple[Section, ...]:
    """Return the sections that have something to state."""
    own = [found for make in SECTIONS if (found := make(content)) is not None]
    return (*own, *map(other_part, content.also))
