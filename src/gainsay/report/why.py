"""Why two models differ: what documents of each grade add to the difference, in a sentence and as bars."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._common.words import listed
from ..comparison.headline import labels_of
from ..drawing.bars import Bars, bar_key, bars
from ..drawing.lanes import bare
from .numbers import difference
from .section import Section

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..comparison.attribution import Attribution
    from ..drawing.text import Words
    from .content import Content

__all__ = ["why_section"]


def why_section(content: Content) -> Section | None:
    """Return the section that explains the two models that matter; None where there is nothing exact to say."""
    attribution = content.attribution
    if attribution is None:
        return None
    panels = _panels(content, attribution)
    note = "What documents of each grade, at each rank, add to the difference."
    left = [metric for metric in content.comparison.verdict.metrics if metric not in attribution.metrics]
    said = _words(content, attribution)
    if left:
        said = (*said, ("", f" There is no split of {left[0]}, which is not a sum over documents."))
    if attribution.left_out:
        note += (
            f" On the {attribution.queries:,} queries that all these metrics have; {attribution.left_out:,} more are "
            "left out."
        )
    bands = [f"rank {band}" for band in attribution.grades_by_ranks.columns]
    lanes = [panel.lane for panel in panels]
    figure = f'<div class="two">{"".join(map(bars, panels, [_limits(panels)] * 2))}</div>{bar_key(bands, lanes)}'
    return Section("why", "Why", said, lambda most: figure, note)


def _panels(content: Content, attribution: Attribution) -> list[Bars]:
    primary = content.comparison.primary or ()
    labels = {label.name: label for label in labels_of(tuple(primary))}
    tables = [attribution.grades_by_ranks.loc[metric] for metric in attribution.metrics]
    signs = [-1.0 if metric in attribution.lower_is_better else 1.0 for metric in attribution.metrics]
    cells = [sign * table.to_numpy(float) for sign, table in zip(signs, tables, strict=True)]
    there = np.abs(np.stack(cells)).max(axis=(0, 2)) > 0
    order = [row for row in range(len(there))[::-1] if there[row]]
    grades = [f"grade {tables[0].index[row]}" for row in order]
    panels = []
    for metric, sign, cell in zip(attribution.metrics, signs, cells, strict=True):
        nets = sign * cell[order].sum(axis=1)
        total = attribution.difference[metric]
        panels.append(
            Bars(
                labels[metric].long if metric in labels else metric,
                primary.index(metric) if metric in primary else 2,
                content.called[::-1],
                grades,
                cell[order].tolist(),
                [f"{net:+.3f}".replace("-", "\u2212") if abs(net) >= 0.0005 else difference(net) for net in nets],
                sign * total,
                difference(total),
                [f"rank {band}" for band in tables[0].columns],
            )
        )
    return panels


def _limits(panels: list[Bars]) -> tuple[float, float]:
    """Return the ends of the scale that all panels share."""
    sums = [sum(min(0.0, value) for value in row) for panel in panels for row in panel.cells]
    tops = [sum(max(0.0, value) for value in row) for panel in panels for row in panel.cells]
    totals = [panel.total for panel in panels]
    return min(0.0, *sums, *totals), max(0.0, *tops, *totals) or 1e-9


def _words(content: Content, attribution: Attribution) -> Words:
    """Return one sentence: what the one gains and the other, under both metrics."""
    comparison, pair = content.comparison, content.pair
    assert pair is not None
    verdict, said = comparison.verdict, content.names.said
    first, second = pair.first, pair.second
    both = attribution.metrics == verdict.metrics
    labels = labels_of(attribution.metrics)
    tables = [attribution.grades_by_ranks.loc[metric] for metric in attribution.metrics]
    nets = [table.to_numpy(float).sum(axis=1) for table in tables]
    nets = [
        -net if it in attribution.lower_is_better else net for it, net in zip(attribution.metrics, nets, strict=True)
    ]
    grades = list(map(str, attribution.grades_by_ranks.loc[attribution.metrics[0]].index))
    lead = content.lead if both else None
    if lead is not None and (lead[:, 1] <= 0).all() and (lead[:, 2] >= 0).all():
        values = [difference(value) for value in lead[:, 0]]
        winners = len(set(verdict.winners.values())) > 1
        start = "Between the two winners" if winners else f"Against {said[second]}, its nearest rival,"
        if content.against is not None or len(verdict.models) == 2:
            start = f"Between {said[first]} and {said[second]}"
        parts = " The parts below mostly cancel." if min(_cancelled(net) for net in nets) > 3 else ""
        return (
            ("", f"{start} nothing is larger than chance: "),
            ("b l", values[0]),
            ("", f" under {labels[0].long}, "),
            ("b e", values[1]),
            ("", f" under {labels[1].long}.{parts}"),
        )
    gains, losses = ([it for it, net in zip(grades, nets[0], strict=True) if sign * net > 0] for sign in (1, -1))
    turns = len({net.sum() > 0 for net in nets}) > 1  # each metric prefers the other model
    if both and turns and gains and losses:
        found = _turned(nets, grades, gains, losses)
        if found is not None:
            worth = _worth(content)
            style = (("b l", "b e"), ("", ""))[labels[0].name not in verdict.metrics]
            won, lost, later, against = found
            return (
                ("n", said[first]),
                ("", " gains "),
                (style[0], won),
                ("", f" on {_grades(gains, grades)} and loses "),
                (style[0], lost),
                (
                    "",
                    f" on {_grades(losses, grades)} under {labels[0].long}; {labels[1].long}{worth} turns that into ",
                ),
                (style[1], later),
                ("", " against "),
                (style[1], against),
                ("", "."),
            )
    leads = [_grades([it for it, value in zip(grades, net, strict=True) if value > 0], grades) for net in nets]
    rival = "the next best" if verdict.kind == "agree" else "its nearest rival"
    two = len(verdict.models) == 2
    against_whom: Words = (("", f"Against {rival}, "), ("n", said[second]), ("", ", it leads"))
    if len(set(verdict.winners.values())) > 1 or content.against is not None:
        against_whom = (("n", said[first]), ("", ", against "), ("n", said[second]), ("", ", leads"))
    elif two:
        against_whom = (("n", said[first]), ("", " leads"))
    if len(set(leads)) == 1:
        which = ", whichever gain counts it" if labels[0].by != labels[0].name else ", under both metrics"
        return (*against_whom, ("", f" on {leads[0]}{which if len(nets) > 1 else ''}."))
    told = " and ".join(f"on {lead} by {label.by}" for lead, label in zip(leads, labels, strict=True))
    return (*against_whom, ("", f" {told}."))


def _turned(
    nets: list[np.ndarray],
    grades: list[str],
    gains: list[str],
    losses: list[str],
) -> tuple[str, ...] | None:
    """Return what the grades that gain and those that lose come to under both metrics; None where one turns over."""
    won = [sum(value for it, value in zip(grades, net, strict=True) if it in gains) for net in nets]
    lost = [-sum(value for it, value in zip(grades, net, strict=True) if it in losses) for net in nets]
    if min(won + lost) < 0:
        return None
    return tuple(bare(value, 3) for value in (won[0], lost[0], won[1], lost[1]))


def _worth(content: Content) -> str:
    """Say what the top grade is worth to the second metric, where the two differ by their gain."""
    labels = labels_of(content.comparison.verdict.metrics)
    attribution = content.attribution
    assert attribution is not None
    top = attribution.top_grade
    if labels[0].head != "linear" or not isinstance(top, int) or not 1 < top < 30:
        return ""
    return f", which counts grade {top} as {2**top - 1:,} instead of {top},"


def _cancelled(net: np.ndarray) -> float:
    total = abs(net.sum())
    return float("inf") if total == 0 else float(np.abs(net).sum() / total)


def _grades(some: Iterable[str], every: list[str]) -> str:
    """Write grades as a range where they are neighbours.

    >>> _grades(["1", "2"], ["0", "1", "2", "4"]), _grades(["1", "4"], ["0", "1", "2", "4"]), _grades(["4"], ["4"])
    ('grades 1–2', 'grades 1 and 4', 'grade 4')
    """
    names = list(some)
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
