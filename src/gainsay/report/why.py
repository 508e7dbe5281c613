"""Why two models differ: what documents of each grade add to the difference, in a sentence and as bars."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._common.words import listed
from ..comparison.headline import labels_of
from ..drawing.text import styled
from .numbers import bare
from .section import Section

if TYPE_CHECKING:
    from ..comparison.attribution import Attribution
    from .content import Content


def why_section(content: Content) -> Section | None:
    """Return why the two models that matter differ: only a sentence unless a difference is proven, None without any."""
    attribution, pair = content.attribution, content.pair
    if attribution is None or pair is None:
        return None
    if not content.proven:
        first, second = (styled("n", content.names.said[model]) for model in pair[:2])
        said = f"The difference between {first} and {second} is not proven, so there is nothing to explain yet."
        return Section("why", "Why", said, lambda most: "")
    table, losses = attribution.grades_by_ranks, attribution.lower_is_better
    cells = [(-1.0 if it in losses else 1.0) * table.loc[it].to_numpy(float) for it in attribution.metrics]
    note = "What documents of each grade, at each rank, add to the difference."
    left = [metric for metric in content.comparison.verdict.metrics if metric not in attribution.metrics]
    said = _words(content, attribution, [cell.sum(axis=1) for cell in cells])
    if left and not content.merged:
        said += f" There is no split of {left[0]}, which is not a sum over documents."
    if attribution.left_out:
        note += (
            f" On the {attribution.queries:,} queries that all these metrics have; {attribution.left_out:,} more are "
            "left out."
        )

    def figure(most: int) -> str:
        from .plots.attribution import plot_attribution
        from .plots.picture import embedded

        names = content.comparison.short_names
        return embedded(lambda theme: plot_attribution(attribution, None, theme, names=names))

    return Section("why", "Why", said, figure, note)


def _words(content: Content, attribution: Attribution, nets: list[np.ndarray]) -> str:
    """Return one sentence: what the one gains and the other, under both metrics."""
    pair = content.pair
    assert pair is not None
    verdict, said = content.comparison.verdict, content.names.said
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
            f"{labels[0].long}; {labels[1].long}{worth} turns that into {later} against {against}."
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
    """Return what the grades that gain and those that lose come to under both metrics; None where one turns over."""
    won = [sum(value for it, value in zip(grades, net, strict=True) if it in gains) for net in nets]
    lost = [-sum(value for it, value in zip(grades, net, strict=True) if it in losses) for net in nets]
    if min(won + lost) < 0:
        return None
    return [bare(value, 3) for value in (won[0], lost[0], won[1], lost[1])]


def _grades(names: list[str], every: list[str]) -> str:
    """Write grades as a range where they are neighbours.

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
