"""Everything a report shows, gathered once; HTML and Markdown only lay it out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._common.shown import isolated, printable
from .._common.version import __version__
from .._common.words import amount, count
from ..report import tables, words
from .chosen import Explained, explain
from .rounds import candidate_of, most_torn

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.findings import Findings
    from .tables import Table

__all__ = ["Content", "Contradiction", "gather"]

MOST_CONFLICTS = 20
"""So many conflicts stand above the table of all pairs."""

MOST_CELLS = 20
"""So many ranks of a query are shown."""


@dataclass(frozen=True)
class Strip:
    """The grades of one ranking from rank 1 on, each with its place among all grades.

    `full` is the whole name of the model where `model` is short for it.
    """

    model: str
    cells: list[tuple[str, int]]
    more: int
    full: str = ""


@dataclass(frozen=True)
class Contradiction:
    """A query on which the two metrics prefer different models."""

    query: str
    preferences: list[str]
    strips: list[Strip]
    about: str


@dataclass(frozen=True)
class Content:
    """What a report shows."""

    title: str
    answer: str
    advice: str
    kind: str
    paragraph: str
    missing: list[str]
    scope: list[str]
    facts: list[words.Fact]
    leaderboard: Table
    conflicts: Table | None
    pairs: Table | None
    attribution: Attribution | None = field(repr=False)
    why: list[str]
    why_tables: list[Table]
    no_why: str
    contradictions: list[Contradiction] = field(repr=False)
    contradiction_count: int
    contradiction_table: pd.DataFrame | None = field(repr=False)
    no_queries: str
    grades: int
    rounds: Table | None
    when: str
    torn: list[str]
    method: list[str]
    glossary: tuple[tuple[str, str], ...]
    version: str = __version__


def gather(comparison: Findings, queries: int) -> Content:
    """Gather what a report shows, with at most so many contradictory queries."""
    both = comparison.primary is not None
    explained = explain(comparison)
    attribution, table, best = explained.attribution, explained.queries, explained.rounds
    levels = [] if comparison.rankings is None else comparison.rankings.judgments.levels.tolist()
    some = both and len(comparison.models) > 1
    conflicts = comparison.conflicts if some else None
    best = None if best is None or best.empty else best
    return Content(
        title=words.question(comparison),
        answer=printable(words.answer(comparison)),
        advice=printable(words.advice(comparison)) if some else "",
        kind=comparison.verdict.kind if both else "single",
        paragraph=_paragraph(comparison),
        missing=[printable(sentence) for sentence in comparison.missing],
        scope=words.scope(comparison),
        facts=words.facts(comparison) if both else [],
        leaderboard=tables.leaderboard(comparison),
        conflicts=None if conflicts is None or conflicts.empty else _strongest(comparison, conflicts),
        pairs=tables.pairs(comparison, comparison.pairs, _all_pairs(len(comparison.pairs))) if some else None,
        attribution=attribution,
        why=_why(comparison, explained),
        why_tables=[] if attribution is None else _why_tables(attribution),
        no_why=explained.no_attribution,
        contradictions=[] if table is None else _strips(table.head(queries), comparison, levels),
        contradiction_count=0 if table is None else len(table),
        contradiction_table=table,
        no_queries=explained.no_queries,
        grades=len(levels),
        rounds=None if best is None else tables.best_rounds(best, comparison),
        when="" if best is None else words.when(best),
        torn=[] if best is None else _torn(comparison, best),
        method=words.method(comparison),
        glossary=words.glossary(comparison),
    )


def _all_pairs(number: int) -> str:
    return "The only pair of models" if number == 1 else f"All {count(number, 'pair')} of models"


def _paragraph(comparison: Findings) -> str:
    if comparison.primary is None:
        return (
            f"{printable(comparison.metrics[0])} is the only metric here, so there is none for it to disagree with. "
            f"{count(len(comparison.models), 'model')} on {count(comparison.query_count, 'query')}."
        )
    return isolated(comparison.verdict.text, comparison.short_names)


def _why(comparison: Findings, explained: Explained) -> list[str]:
    pair, attribution = explained.pair, explained.attribution
    if pair is None or attribution is None:
        return []
    text = words.why_sentences(attribution, comparison.short_names, pair.reason)
    left = [metric for metric in comparison.verdict.metrics if metric not in attribution.metrics]
    if left:
        text.append(f"There is no split of {left[0]}, which is not a sum over documents.")
    return text


def _why_tables(attribution: Attribution) -> list[Table]:
    cells = [tables.grades_by_ranks(attribution, metric) for metric in attribution.metrics]
    return [*cells, tables.parts(attribution), tables.query_classes(attribution)]


def _strongest(comparison: Findings, conflicts: pd.DataFrame) -> Table:
    ordered = conflicts.sort_values("p_holm", kind="stable").head(MOST_CONFLICTS)
    some = f"The {MOST_CONFLICTS} clearest of {len(conflicts)} pairs" if len(conflicts) > MOST_CONFLICTS else "Pairs"
    return tables.pairs(comparison, ordered, f"{some} in opposite order")


def _strips(table: pd.DataFrame, comparison: Findings, levels: list[float]) -> list[Contradiction]:
    metrics = comparison.verdict.metrics
    models = [str(name).removeprefix("labels ") for name in table.columns if str(name).startswith("labels ")]
    short = comparison.short_names
    full = dict(zip(models, map(printable, models), strict=True))
    place = {level: number for number, level in enumerate(levels)}
    found = []
    for row in table.to_dict("records"):
        strips = []
        for model in models:
            labels = row[f"labels {model}"]
            cells = [(f"{grade:g}", place[float(grade)]) for grade in labels[:MOST_CELLS]]
            whole = "" if short[model] == full[model] else full[model]
            strips.append(Strip(short[model], cells, max(0, len(labels) - MOST_CELLS), whole))
        preferred = models if row["pull"] > 0 else models[::-1]
        preferences = [
            f"{metric} prefers {short[model]} by {amount(abs(row[f'difference {metric}']))}"
            for metric, model in zip(metrics, preferred, strict=True)
        ]
        about = f"{count(row['documents'], 'document')}, {row['top grades']:,} of the top grade"
        if comparison.weights is not None:
            about += f", weight {row['weight']:g}"
        found.append(Contradiction(printable(str(row["query"]))[:80], preferences, strips, about))
    return found


def _torn(comparison: Findings, best: pd.DataFrame) -> list[str]:
    """Return whose curves are shown: the winners, and who loses most by the other metric's best round."""
    known = list(map(str, best["candidate"]))
    names = [candidate_of(model, known) for model in comparison.verdict.winners.values()]
    names.append(most_torn(best, comparison.verdict.metrics))
    return [name for name in dict.fromkeys(names) if name]
