"""Everything in full: reservations, the verdict word for word, tables of all numbers, the method, the terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .._common.shown import isolated, printable
from .._common.words import bare_p, confidence, count
from ..comparison.pairs import common_column
from ..comparison.wording import direction
from ..drawing.text import as_text
from .baseline import baseline_table
from .method import glossary, method
from .numbers import difference, mean
from .section import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.findings import Findings
    from .chosen import ChosenPair
    from .content import Content

__all__ = ["Detail", "details", "leaderboard", "notes", "pairs"]

MOST_PAIRS = 500
"""So many pairs of models stand in the report; all are in its JSON."""


class Detail(NamedTuple):
    """A part that is folded: its id, heading, sentences, tables, and terms with what they mean."""

    name: str
    title: str
    sentences: list[str] = []  # noqa: RUF012
    tables: list[Table] = []  # noqa: RUF012
    terms: tuple[tuple[str, str], ...] = ()


def details(content: Content) -> tuple[Detail, ...]:
    """Return what is folded at the end of a report."""
    comparison = content.comparison
    models, metrics = count(len(comparison.models), "model"), len(comparison.metrics)
    many = f"All {models}" if len(comparison.models) > 1 else "The model"
    under = (
        "its metric"
        if metrics == 1 and many == "The model"
        else f"all {metrics} metrics"
        if metrics > 1
        else "the metric"
    )
    found = []
    if comparison.primary is not None:
        text = isolated(comparison.verdict.text, comparison.short_names)
        found.append(Detail("verdict", "The verdict, word for word", [text]))
    found.append(Detail("models", f"{many} under {under}", scope(comparison), [leaderboard(comparison)]))
    if comparison.primary is not None and len(comparison.models) > 1:
        number = len(comparison.pairs)
        some = [] if number <= MOST_PAIRS else [f"The {MOST_PAIRS} clearest of {number:,} pairs; all are in the JSON."]
        found.append(Detail("pairs", f"Pairs of models ({number:,})", some, [pairs(comparison)]))
    if content.against is not None:
        text = isolated(content.against.text, comparison.short_names)
        found.append(Detail("against", "The decisions, in numbers", [text], [baseline_table(content, content.against)]))
    if content.attribution is not None:
        assert content.pair is not None
        sentences, tables = _why(content.attribution)
        sentences.insert(0, _leads(content.attribution, content.pair, content.names.said))
        found.append(Detail("parts", "Why, in numbers", sentences, tables))
    if comparison.segment_labels and comparison.primary is not None:
        text = isolated(comparison.segments.text, comparison.short_names)
        found.append(Detail("by-segment", "Segments, word for word", [text]))
    if content.rounds is not None:
        found.append(Detail("rounds", "Best rounds", [], [_best_rounds(content, content.rounds)]))
    found.append(Detail("method", "Method and scope", method(content)))
    found.append(Detail("glossary", "Glossary", terms=glossary(comparison)))
    return tuple(found)


def notes(content: Content) -> list[str]:
    """Return reservations, who is missing, and what became of queries and documents: below the chart."""
    comparison = content.comparison
    found = []
    if content.against is not None and comparison.primary is not None and len(comparison.models) > 2:
        found.append(f"Do the two metrics disagree about the best? {as_text(content.standing.headline)}")
    found += comparison.missing
    if comparison.primary is not None and len(comparison.models) > 1:
        verdict = comparison.verdict
        found += [verdict.about] if verdict.runs or verdict.clusters is not None else []
        found += [flag.message for flag in verdict.flags]
    found += direction(comparison.lower_is_better)
    if comparison.holes is not None:
        found += comparison.holes.text(comparison.models)
    found += [f"{note}." for note in comparison.notes]
    return [isolated(sentence, comparison.short_names) for sentence in found]


def scope(comparison: Findings) -> list[str]:
    """Return on what the means are: queries of each metric, rounds of boosters."""
    text, queries = [], comparison.metric_queries
    if len(set(queries.values())) > 1:
        own = ", ".join(f"{printable(metric)} on {number:,}" for metric, number in queries.items())
        text.append(f"Each metric is compared on the queries that it has: {own}.")
        if comparison.primary is not None and any(comparison.verdict.left_out.values()):
            both = " and ".join(map(printable, comparison.primary))
            text[-1] += (
                f" What is said of {both} together (chart, verdict, opposite order, which queries) is on "
                f"the {count(comparison.verdict.queries, 'query')} that both have."
            )
    if comparison.iterations:
        short = comparison.short_names
        used = "; ".join(f"{short[name]} with {iteration}" for name, iteration in comparison.iterations.items())
        text.append(f"Boosters predict at their best iteration, if not told otherwise: {used}.")
    return text


def over(comparison: Findings) -> str:
    """Return what the means are over."""
    alike = len(set(comparison.metric_queries.values())) == 1
    return count(comparison.query_count, "query") if alike else "the queries that each metric has"


def leaderboard(comparison: Findings) -> Table:
    """Return every model: means under all metrics, and what it loses under the primary ones."""
    board, names = comparison.leaderboard, comparison.names
    models = list(map(str, board.index))
    losses = comparison.lower_is_better
    columns, rows = [Column("model", numeric=False)], []
    cells = [[Cell(names.short[model], full=names.full[model]) for model in models]]
    for metric in comparison.metrics:
        order = ("ascending" if metric in losses else "descending") if metric == comparison.metrics[0] else ""
        columns.append(Column(metric, low=metric in losses, order=order))
        written = [list(map(mean, board[column])) for column in (metric, f"{metric} lower", f"{metric} upper")]
        best = (board[f"{metric} rank"] == 1).tolist()
        between = [f"{low} to {high}" for low, high in zip(*written[1:], strict=True)]
        notes = zip(written[0], between, best, strict=True)
        cells.append([Cell(text, note, "", top) for text, note, top in notes])
    if comparison.primary is not None:
        verdict = comparison.verdict
        for label, by in (("worst regret", verdict.regrets), ("at most", verdict.regrets_upper)):
            columns.append(Column(label, low=True))
            worst = [max(by[metric][model] for metric in verdict.metrics) for model in models]
            cells.append(list(map(Cell, map(mean, worst))))
        columns.append(Column("best under both?", numeric=False))
        cells.append([Cell("possible" if model in verdict.common_best else "ruled out") for model in models])
    for name, shares in comparison.shown_shares.items():
        columns.append(Column(name))
        cells.append(list(map(Cell, map(mean, map(shares.__getitem__, models)))))
    if comparison.iterations:
        sizes = [comparison.iterations[model].size if model in comparison.iterations else "\u2013" for model in models]
        columns.append(Column("rounds", numeric=False))
        cells.append(list(map(Cell, sizes)))
    rows = [list(row) for row in zip(*cells, strict=True)]
    level = confidence(comparison.alpha)
    caption = f"Means over {over(comparison)}, with simultaneous {level} confidence intervals{comparison.condensed}"
    return Table(caption, columns, rows)


def pairs(comparison: Findings) -> Table:
    """Return pairs of models, the clearest conflicts first: both differences with intervals, p-value, counts."""
    metrics, names = comparison.verdict.metrics, comparison.names
    table = comparison.pairs
    table = table.sort_values(["conflict", "p_holm"], ascending=[False, True], kind="stable").head(MOST_PAIRS)
    columns = [Column("model", numeric=False), Column("against", numeric=False)]
    cells = [
        [Cell(names.short[model], full=names.full[model]) for model in table[column]]
        for column in ("model_x", "model_y")
    ]
    for metric in metrics:
        columns.append(Column(f"\u0394 {metric}"))
        cells.append(_differences(comparison, table, metric))
    sure = (table["p_holm"] <= comparison.alpha).tolist()
    conflict = table["conflict"].tolist()
    columns += [Column("opposite order", numeric=False), Column("p (Holm)", low=True)]
    words = ["proven" if it else "maybe by chance" for it in sure]
    cells.append(
        [Cell("yes", word, "", it) if yes else Cell("no") for yes, word, it in zip(conflict, words, sure, strict=True)]
    )
    flags = [_flag(flag, number) for flag, number in zip(table["flag"], table["differing"], strict=True)]
    cells.append([Cell(text, flag) for text, flag in zip(map(bare_p, table["p_holm"]), flags, strict=True)])
    for metric in metrics:
        columns.append(Column(f"wins, ties, losses {metric}"))
        counts = zip(*(table[f"{what} {metric}"] for what in ("wins", "ties", "losses")), strict=True)
        cells.append([Cell(f"{wins:,} \u00b7 {ties:,} \u00b7 {losses:,}") for wins, ties, losses in counts])
    return Table("Model minus the one against it", columns, [list(row) for row in zip(*cells, strict=True)])


def _differences(comparison: Findings, table: pd.DataFrame, metric: str) -> list[Cell]:
    """Return a cell for every pair: the difference, its interval, and that on the queries of both where it differs."""
    columns = [f"{what} {metric}" for what in ("difference", "lower", "upper")]
    written = [list(map(difference, table[column])) for column in columns]
    joint = [""] * len(table)
    if comparison.verdict.left_out[metric]:
        common = map(difference, table[common_column(table, columns[0])])
        joint = [f"; {text} on the queries of both" for text in common]
    return [Cell(text, f"{lower} to {upper}{more}") for text, lower, upper, more in zip(*written, joint, strict=True)]


def _flag(flag: str, differing: float) -> str:
    return "never differ" if flag == "identical" else f"differ on {count(round(differing), 'query')}" if flag else ""


def _leads(attribution: Attribution, pair: ChosenPair, said: Mapping[str, str]) -> str:
    """Say which two models are explained, and which of them leads under each metric."""
    leads = []
    for metric, value in attribution.difference.items():
        ahead = (value > 0) != (metric in attribution.lower_is_better)
        verb = f"{'leads' if ahead else 'trails'} by {abs(value):.4f}" if value else "is level"
        leads.append(f"by {metric} {said[pair.first]} {verb}")
    return f"{said[pair.first]} against {said[pair.second]} ({pair.reason}): {', '.join(leads)}."


def _why(attribution: Attribution) -> tuple[list[str], list[Table]]:
    """Return by discount and gain, by grade and rank, and by class of queries what adds to the difference."""
    sentences, tables = [], []
    for metric in attribution.metrics:
        part = attribution.grades_by_ranks.loc[metric]
        cells = part.to_numpy(float)
        columns = [
            Column("grade", numeric=False),
            *(Column(f"rank {band}") for band in part.columns),
            Column("all ranks"),
        ]
        rows = [
            [Cell(str(grade)), *map(Cell, map(difference, [*row, row.sum()]))]
            for grade, row in zip(part.index[::-1], cells[::-1], strict=True)
        ]
        total = difference(attribution.difference[metric])
        rows.append([Cell("all"), *map(Cell, map(difference, cells.sum(axis=0))), Cell(total, strong=True)])
        tables.append(Table(f"{metric}: {total} in all", columns, rows))
    parts = attribution.parts
    if {"gain", "discount"} <= set(parts.index):
        change, ends = parts["change"], parts.loc["total", ["from", "to"]]
        sentences.append(
            f"From {ends['from']} to {ends['to']} the difference changes by {difference(change['total'])}: "
            f"{difference(change['discount'])} by the discount, {difference(change['gain'])} by the gain."
        )
    sentences += [attribution.parts_note] if attribution.parts_note else []
    names = ["before", "after", "change"]
    columns = [Column(label, numeric=False) for label in ("what changes", "from", "to")] + list(map(Column, names))
    numbers = [list(map(difference, parts[name])) for name in names]
    texts = zip(map(str, parts.index), parts["from"], parts["to"], *numbers, strict=True)
    tables.append(Table("From one definition to the other", columns, [list(map(Cell, row)) for row in texts]))
    classes = attribution.by_query_class
    columns = [Column(f"documents of grade {attribution.top_grade}", numeric=False), Column("queries")]
    columns += list(map(Column, attribution.metrics))
    sizes = [f"{number:,}" for number in classes["queries"]]
    numbers = [list(map(difference, classes[metric])) for metric in attribution.metrics]
    texts = zip(map(str, classes.index), sizes, *numbers, strict=True)
    tables.append(Table("What each class of queries adds", columns, [list(map(Cell, row)) for row in texts]))
    return sentences, tables


def _best_rounds(content: Content, best: pd.DataFrame) -> Table:
    """Return the best round of every candidate under both metrics, and what stopping elsewhere loses."""
    comparison, names = content.comparison, content.names
    metrics = comparison.verdict.metrics
    columns = [Column("candidate", numeric=False)]
    called = [str(name) for name in best["candidate"]]
    cells = [[Cell(names.short.get(name, printable(name)), full=names.full.get(name, "")) for name in called]]

    def add(label: str, texts: list[str], numeric: bool = True) -> None:
        columns.append(Column(label, numeric))
        cells.append(list(map(Cell, texts)))

    def changes(column: str, metric: str) -> list[str]:
        sign = 1 if metric in comparison.lower_is_better else -1
        return list(map(difference, sign * best[column] + 0.0))

    if len(set(best["fold"].astype(str))) > 1:
        add("fold", [printable(str(fold)) for fold in best["fold"]], False)
    for metric in metrics:
        add(f"best round by {metric}", [str(int(number)) for number in best[f"round {metric}"]])
    for metric in metrics:
        add(f"{metric} at the other's round", changes(f"loss {metric}", metric))
    if "compared" in best.columns:
        add("compared at round", [", ".join(map(str, rounds)) for rounds in best["compared"]])
        for metric in metrics:
            add(f"{metric} there", changes(f"compared loss {metric}", metric))
    return Table("Best rounds on the validation set", columns, [list(row) for row in zip(*cells, strict=True)])
