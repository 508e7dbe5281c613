"""Everything a report shows, gathered once; HTML and Markdown only lay it out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .._common.shown import isolated, printable
from .._common.version import __version__
from .._common.words import amount, count
from ..comparison.attribution import splittable
from ..report import tables, words
from .chosen import ChosenPair, chosen_pair
from .rounds import best_rounds, candidate_of, most_torn

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.findings import Findings
    from .tables import Table

__all__ = ["Content", "Contradiction", "gather", "why_pair"]

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
    conflict_count: int
    pair: ChosenPair | None
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
    pair = chosen_pair(comparison) if both else None
    attribution, no_why = _attribution(comparison, pair)
    table, no_queries = _contradictions(comparison, pair)
    levels = [] if comparison.rankings is None else comparison.rankings.judgments.levels.tolist()
    some = both and len(comparison.models) > 1
    conflicts = comparison.conflicts if some else None
    best = None
    if comparison.curves is not None and both:
        best = best_rounds(comparison.curves, comparison.verdict.metrics, comparison.lower_is_better)
        best = None if best.empty else best
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
        conflict_count=0 if conflicts is None else len(conflicts),
        pair=pair,
        attribution=attribution,
        why=[] if attribution is None or pair is None else _why(comparison, attribution, pair.reason),
        why_tables=[] if attribution is None else _why_tables(attribution),
        no_why=no_why,
        contradictions=[] if table is None else _strips(table.head(queries), comparison, levels),
        contradiction_count=0 if table is None else len(table),
        contradiction_table=table,
        no_queries=no_queries,
        grades=len(levels),
        rounds=None if best is None else tables.best_rounds(best, comparison),
        when="" if best is None else words.when(best),
        torn=[] if best is None else _torn(comparison, best),
        method=words.method(comparison),
        glossary=words.glossary(comparison),
    )


def _all_pairs(number: int) -> str:
    return "The only pair of models" if number == 1 else f"All {count(number, 'pair')} of models"


def why_pair(comparison: Findings) -> tuple[ChosenPair | None, Attribution | None]:
    """Return the pair that is explained, and its attribution where there can be one."""
    pair = chosen_pair(comparison) if comparison.primary is not None else None
    return pair, _attribution(comparison, pair)[0]


def _paragraph(comparison: Findings) -> str:
    if comparison.primary is None:
        return (
            f"{printable(comparison.metrics[0])} is the only metric here, so there is none for it to disagree with. "
            f"{count(len(comparison.models), 'model')} on {count(comparison.query_count, 'query')}."
        )
    return isolated(comparison.verdict.text, comparison.short_names)


def _attribution(comparison: Findings, pair: ChosenPair | None) -> tuple[Attribution | None, str]:
    if pair is None:
        return None, "There are no two models or no two metrics to explain."
    if comparison.rankings is None:
        return None, "Made from values alone: without the scores of the models nothing can be said about ranks."
    split = [name for name, metric in comparison.definitions.items() if splittable([metric])]
    wanted = [name for name in comparison.verdict.metrics if name in split] or split[:2]
    if not wanted:
        return None, "No compared metric is a sum over documents (NDCG, DCG), so there is no exact split."
    return comparison.attribution(pair.first, pair.second, wanted), ""


def _why(comparison: Findings, attribution: Attribution, reason: str) -> list[str]:
    text = words.why_sentences(attribution, comparison.short_names, reason)
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


def _contradictions(comparison: Findings, pair: ChosenPair | None) -> tuple[pd.DataFrame | None, str]:
    if pair is None:
        return None, "There are no two models or no two metrics to set against each other."
    if comparison.rankings is None:
        return None, "Made from values alone: without the scores of the models no ranking can be shown."
    table = comparison.queries(pair.first, pair.second, most=comparison.query_count)
    return table, "" if len(table) else "On no query do the two metrics prefer different ones of these models."


def _strips(table: pd.DataFrame, comparison: Findings, levels: list[float]) -> list[Contradiction]:
    metrics = comparison.verdict.metrics
    models = [str(name).removeprefix("labels ") for name in table.columns if str(name).startswith("labels ")]
    short = comparison.short_names
    place = {level: number for number, level in enumerate(levels)}
    found = []
    for row in table.to_dict("records"):
        strips = []
        for model in models:
            labels = row[f"labels {model}"]
            cells = [(f"{grade:g}", place[float(grade)]) for grade in labels[:MOST_CELLS]]
            full = "" if short[model] == printable(model) else printable(model)
            strips.append(Strip(short[model], cells, max(0, len(labels) - MOST_CELLS), full))
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
