"""The section of queries: contradictory ones, or the largest differences, and a random sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.shown import printable
from .._common.words import MINUS, pluralize
from ..comparison.wording import label_metrics
from .entries import MAX_RANKS
from .tables import Section

if TYPE_CHECKING:
    from .content import Content
    from .entries import Queries

DOT = "\u00b7"
"""Replaces grade 0."""

VISIBLE = 3
"""Visible queries of each list. A click shows the others. The style sheet contains the same number."""


def build_queries_section(content: Content) -> Section | None:
    """Return the section of queries, or None without the scores of the models."""
    queries = content.queries
    if queries is None:
        return None
    total, number = pluralize(len(queries.preferences.queries), "query"), queries.contradictory
    text = (
        f"On {number:,} of {total} the two metrics prefer different models. The strongest come first. They are not "
        "typical, the random sample is."
    )
    if content.merged:
        text = "The queries with the largest differences, and a random sample."
    elif not number:
        text = f"The two metrics prefer the same model on each of {total}."
    upper, lower = label_metrics(content.comparison.verdict.metrics)
    note = "Grades from rank 1 on, darker ones are higher, a dot is grade 0. Bars: the difference on this query"
    note += "." if content.merged else f", by {upper.short} above and by {lower.short} below."
    if any(content.comparison.verdict.repeats.get(model) for model in queries.pair[:2]):
        note += " Rankings are those of a recipe's first repeat, bars those of the mean of all its repeats."
    return Section("queries", "Which queries", text, lambda most: _draw_queries(content, queries, most), note)


def _draw_queries(content: Content, queries: Queries, most: int) -> str:
    from .environment import render

    assert content.comparison.rankings is not None
    lists, lanes = queries.select(most), 1 if content.merged else 2
    if not lists:
        return ""
    largest = {
        part.name: max(abs(lead) for entry in part.entries for lead in entry.leads[:lanes]) or 1.0 for part in lists
    }
    return render(
        "queries.html.j2",
        "figure",
        lists=lists,
        names=content.labels,
        full=list(map(printable, queries.pair[:2])),
        grades=_describe_grades(content.comparison.rankings.judgments.levels.tolist()),
        most=most,
        lanes=lanes,
        largest=largest,
        visible=VISIBLE,
        ranks=MAX_RANKS,
    )


def _describe_grades(levels: list[float]) -> dict[float, dict[str, Any]]:
    """Return the text of each grade, the full text if it is shortened, and the strength of its color."""
    grades = {}
    for place, level in enumerate(levels):
        full = f"{level:g}".replace("-", MINUS)
        text = full if len(full) <= 3 else f"{float(f'{level:.2g}'):g}".replace("-", MINUS)
        strength = round(20 * place / max(len(levels) - 1, 1))
        grades[level] = {"text": text if level else DOT, "full": "" if text == full else full, "strength": strength}
    return grades


def build_grade_rules() -> str:
    """Return the style of grades: 21 strengths without medium ones, because text on them would not be legible."""
    rules = []
    for step in range(21):
        ink = float(np.interp(step / 20, [0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 11.0, 27.0, 64.0, 100.0]))
        ink = 64.0 if 46 < ink < 64 else ink
        light = "" if ink < 50 else ";color:var(--face)"
        rules.append(f".gr .g{step}{{background:color-mix(in srgb,var(--ink) {ink:.0f}%,var(--face)){light}}}")
    return "\n".join(rules) + "\n.gr .g0{color:var(--muted);font-weight:400;box-shadow:inset 0 0 0 1px var(--rule)}\n"
