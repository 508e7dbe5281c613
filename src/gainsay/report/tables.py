"""The tables and sentences that are folded at the end of a report, and the types of tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._common.markup import as_text
from .._common.shown import printable, shorten_names
from .._common.words import confidence, count, p_values
from ..comparison.headline import leading
from ..comparison.pairs import DISCORDANCE, select_common_column
from ..comparison.wording import describe_losses
from .method import glossary, method
from .numbers import format_differences, format_means

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.baseline import BaselineComparison
    from ..comparison.comparison import Comparison
    from ..comparison.sensitivity import Sensitivity
    from .content import Content
    from .entries import ChosenPair


class Cell(NamedTuple):
    """A cell: text, a smaller note, and the full name if the text is a shortened name."""

    text: str
    note: str = ""
    full: str = ""
    strong: bool = False


class Column(NamedTuple):
    """A column with its head. With `low`, a click on the head sorts the lowest numbers first."""

    label: str
    cells: Sequence[Cell | str]
    numeric: bool = True
    low: bool = False
    order: str = ""


class Table(NamedTuple):
    """A table. The first cell of each row is its heading."""

    caption: str
    columns: list[Column]

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        """The cells, row by row."""
        cells = ([Cell(it) if isinstance(it, str) else it for it in column.cells] for column in self.columns)
        return list(zip(*cells, strict=True))


def named(label: str, names: Mapping[str, str], models: Iterable[str]) -> Column:
    """Return a column of models by their short names."""
    return Column(label, [Cell(names[model], full=printable(model)) for model in models], numeric=False)


MAX_PAIRS = 500
"""Pairs of models in a report and its JSON. `Comparison.pairs` contains all of them."""

MAX_MODELS = 200
"""Models in the table of a report. Its JSON contains all of them."""

PAIRS_FAMILY = (
    "The tests of all pairs are adjusted for their number, so they prove less than the verdict, which only compares "
    "models with the best. Use the verdict to choose a model, and this table to compare two given ones."
)
"""Explanation of the difference between two families of tests."""


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading, a sentence or two, and a figure.

    Attributes
    ----------
    name : str
        The id, the target of links.
    title : str
        The heading.
    text : str
        The text above the figure.
    figure : function of int
        Return the figure as escaped HTML, with at most the given number of entries in each list.
    note : str
        The text below the figure.
    narrow : bool
        Whether the section may share the width of the page with the next narrow section.
    """

    name: str
    title: str
    text: str
    figure: Callable[[int], str] = field(repr=False)
    note: str = ""
    narrow: bool = False


class Detail(NamedTuple):
    """A folded part: id, heading, sentences, tables, and terms with their meaning."""

    name: str
    title: str
    sentences: list[str] = []  # noqa: RUF012
    tables: list[Table] = []  # noqa: RUF012
    terms: tuple[tuple[str, str], ...] = ()


def details(content: Content) -> tuple[Detail, ...]:
    """Return the folded parts at the end of a report."""
    comparison, short = content.comparison, content.comparison.short_names
    models, metrics = len(comparison.models), len(comparison.metrics)
    many = f"All {count(models, 'model')}" if models > 1 else "The model"
    under = f"all {metrics} metrics" if metrics > 1 else "the metric" if models > 1 else "its metric"
    found = []
    if comparison.primary is not None:
        text = shorten_names(comparison.verdict.text, short)
        found.append(Detail("verdict", "The verdict, word for word", [text]))
    sentences = scope(comparison)
    if models > MAX_MODELS:
        sentences.append(f"These are the {MAX_MODELS} best of {models:,} models. The JSON contains all of them.")
    found.append(Detail("models", f"{many} under {under}", sentences, [leaderboard(comparison)]))
    if comparison.primary is not None and models > 1:
        number = len(comparison.pairs)
        some = [PAIRS_FAMILY] if models > 2 else []
        if number > MAX_PAIRS:
            some.append(f"These are the {MAX_PAIRS} clearest of {number:,} pairs. comparison.pairs contains them all.")
        found.append(Detail("pairs", f"Pairs of models ({number:,})", some, [pairs(comparison)]))
    if content.against is not None:
        text = shorten_names(content.against.text, short)
        found.append(Detail("against", "The decisions, in numbers", [text], [_decisions(content, content.against)]))
    if content.attribution is not None:
        assert content.pair is not None
        sentences, tables = _why(content.attribution)
        sentences.insert(0, _leads(content.attribution, content.pair, comparison.short_names))
        found.append(Detail("parts", "Why, in numbers", sentences, tables))
    if content.path is not None and not content.merged:
        text = shorten_names(content.path.text, short).replace("(b^l - 1)/(b - 1)", "(bˡ − 1)/(b − 1)")
        found.append(Detail("by-gain", "At which gain, word for word", [text]))
    if comparison.segment_labels and comparison.primary is not None:
        text = shorten_names(comparison.segments.text, short)
        found.append(Detail("by-segment", "Segments, word for word", [text]))
    if comparison.last_sensitivity is not None:
        table = sensitivity_table(comparison.last_sensitivity)
        found.append(Detail("choices", "Other choices, in numbers", [], [table]))
    if content.rounds is not None:
        found.append(Detail("rounds", "Best rounds", [], [_best_rounds(content, content.rounds)]))
    found.append(Detail("method", "Method and scope", method(content)))
    found.append(Detail("glossary", "Glossary", terms=glossary(comparison)))
    return tuple(found)


def notes(content: Content) -> list[str]:
    """Return reservations, missing models, and changes to queries and documents, for the text below the chart."""
    comparison = content.comparison
    several = comparison.primary is not None and len(comparison.models) > 1
    found = []
    if content.against is not None and several and len(comparison.models) > 2:
        found.append(f"Do the two metrics disagree about the best? {as_text(content.standing.headline)}")
    found += comparison.missing
    if several:
        verdict = comparison.verdict
        found += [verdict.about] if verdict.repeats or verdict.clusters is not None else []
        found += [flag.message for flag in verdict.flags]
    found += describe_losses(comparison.lower_is_better)
    if comparison.unjudged is not None:
        found += comparison.unjudged.text(comparison.models)
    found += [f"{note}." for note in comparison.notes]
    short = comparison.short_names if found else {}
    return [shorten_names(sentence, short) for sentence in found]


def scope(comparison: Comparison) -> list[str]:
    """Return the scope of the means: queries of each metric, rounds of boosters."""
    text, queries = [], comparison.metric_queries
    if len(set(queries.values())) > 1:
        own = ", ".join(f"{printable(metric)} on {number:,}" for metric, number in queries.items())
        text.append(f"Each metric is compared on the queries with a value: {own}.")
        if comparison.primary is not None and any(comparison.verdict.left_out.values()):
            both = " and ".join(map(printable, comparison.primary))
            text[-1] += (
                f" Statements about {both} together (chart, verdict, opposite order, which queries) use "
                f"the {count(comparison.verdict.queries, 'query')} of both."
            )
    if comparison.iterations:
        short = comparison.short_names
        used = ", ".join(f"{short[name]} with {iteration}" for name, iteration in comparison.iterations.items())
        text.append(f"Boosters predict at their best iteration unless you pass another: {used}.")
    return text


def over(comparison: Comparison) -> str:
    """Return the queries that the means cover, in words."""
    is_same = len(set(comparison.metric_queries.values())) == 1
    return count(comparison.query_count, "query") if is_same else "the queries of each metric"


def leaderboard(comparison: Comparison) -> Table:
    """Return every model with its means under all metrics and its regrets under the primary ones."""
    board, losses = comparison.leaderboard.head(MAX_MODELS), comparison.lower_is_better
    models = list(map(str, board.index))
    columns = [named("model", comparison.short_names, models)]
    for place, metric in enumerate(comparison.metrics):
        low = metric in losses
        order = "" if place else "ascending" if low else "descending"
        best = (board[f"{metric} rank"] == 1).tolist()
        cells = _between(format_means, [board[column] for column in (metric, f"{metric} lower", f"{metric} upper")])
        strong = [cell._replace(strong=top) for cell, top in zip(cells, best, strict=True)]
        columns.append(Column(metric, strong, low=low, order=order))
    if comparison.primary is not None:
        verdict = comparison.verdict
        for label, by in (("worst regret", verdict.regrets), ("at most", verdict.regrets_upper)):
            worst = format_means(max(by[metric][model] for metric in verdict.metrics) for model in models)
            columns.append(Column(label, worst, low=True))
        common = ["possible" if model in verdict.common_best else "ruled out" for model in models]
        columns.append(Column("best under both?", common, numeric=False))
    unjudged = comparison.unjudged
    for name, shares in (unjudged.additional_shares(comparison.metrics) if unjudged else {}).items():
        columns.append(Column(name, format_means(map(shares.__getitem__, models))))
    if comparison.iterations:
        sizes = [comparison.iterations[model].size if model in comparison.iterations else "\u2013" for model in models]
        columns.append(Column("rounds", sizes, numeric=False))
    level = confidence(comparison.alpha)
    caption = f"Means over {over(comparison)}, with simultaneous {level} confidence intervals"
    return Table(f"{caption}{comparison.unjudged_remark}", columns)


def means_table(comparison: Comparison) -> Table:
    """Return the means of a single model under every metric, with their intervals."""
    rows = comparison.standings.to_dict("records")
    low = comparison.lower_is_better
    metrics = [Cell(row["metric"], "lower is better" if row["metric"] in low else "") for row in rows]
    cells = _between(format_means, [[row[end] for row in rows] for end in ("mean", "lower", "upper")])
    level = confidence(comparison.alpha)
    caption = f"Means over {over(comparison)}, with simultaneous {level} intervals{comparison.unjudged_remark}"
    return Table(caption, [Column("metric", metrics, numeric=False), Column("mean", cells)])


def select_clearest_pairs(comparison: Comparison) -> pd.DataFrame:
    """Return the first `MAX_PAIRS` rows of `Comparison.pairs`, the clearest conflicts first."""
    table = comparison.pairs
    return table.sort_values(["conflict", "p_holm"], ascending=[False, True], kind="stable").head(MAX_PAIRS)


def pairs(comparison: Comparison) -> Table:
    """Return pairs of models, the clearest conflicts first: both differences with intervals, p-value, counts."""
    metrics, names, table = comparison.verdict.metrics, comparison.short_names, select_clearest_pairs(comparison)
    columns = [named(label, names, table[column]) for label, column in (("model", "model_x"), ("against", "model_y"))]
    columns += [Column(f"\u0394 {metric}", _differences(comparison, table, metric)) for metric in metrics]
    opposite = [
        Cell("yes", "proven" if p <= comparison.alpha else "maybe by chance", strong=p <= comparison.alpha)
        if conflict
        else Cell("no")
        for conflict, p in zip(table["conflict"].tolist(), table["p_holm"].tolist(), strict=True)
    ]
    flags = map(_flag, table["flag"], table["differing"])
    columns.append(Column("opposite order", opposite, numeric=False))
    columns.append(Column("p (Holm)", list(map(Cell, p_values(table["p_holm"]), flags)), low=True))
    if DISCORDANCE in table:
        ends = [table[column] for column in (DISCORDANCE, f"{DISCORDANCE} lower", f"{DISCORDANCE} upper")]
        columns.append(Column(f"\u0394 {metrics[1]} \u2212 \u0394 {metrics[0]}", _between(format_differences, ends)))
    for metric in metrics:
        counts = zip(*(table[f"{what} {metric}"] for what in ("wins", "ties", "losses")), strict=True)
        cells = [f"{wins:,} \u00b7 {ties:,} \u00b7 {losses:,}" for wins, ties, losses in counts]
        columns.append(Column(f"wins, ties, losses {metric}", cells))
    return Table("Model minus the one against it", columns)


def _between(written: Callable[[Iterable[float]], list[str]], ends: Sequence[Iterable[float]]) -> list[Cell]:
    """Return a cell for each number with its interval. `ends` contains value, lower and upper end."""
    rows = np.reshape(written(chain(*ends)), (3, -1)).T.tolist()
    return [Cell(text, f"{low} to {high}") for text, low, high in rows]


def _differences(comparison: Comparison, table: pd.DataFrame, metric: str) -> list[Cell]:
    """Return a cell for every pair: the difference, its interval, and the value on common queries if it differs."""
    columns = [f"{what} {metric}" for what in ("difference", "lower", "upper")]
    cells = _between(format_differences, [table[column] for column in columns])
    if not comparison.verdict.left_out[metric]:
        return cells
    common = format_differences(table[select_common_column(table, columns[0])])
    return [
        cell._replace(note=f"{cell.note}, {text} on the common queries")
        for cell, text in zip(cells, common, strict=True)
    ]


def sensitivity_table(sensitivity: Sensitivity) -> Table:
    """Return the share of reversed pairs and the winner under every other choice."""
    rows = sensitivity.table.to_dict("records")

    def percent(value: float) -> str:
        return f"{100 * value:.1f} %"

    shares = [
        Cell(percent(row["reversed"]), f"{percent(row['lower'])} to {percent(row['upper'])}")
        if math.isfinite(row["lower"])
        else Cell(percent(row["reversed"]))
        for row in rows
    ]
    pairs = [
        "\u2013"
        if row["pairs"] != row["pairs"] or row["pairs"] is None
        else f"{int(row['reversed_pairs']):,} of {int(row['pairs']):,}"
        for row in rows
    ]
    return Table(
        f"Choices instead of {sensitivity.reference}, with {confidence(sensitivity.alpha)} intervals over models",
        [
            Column("choice", [row["choice"] for row in rows], numeric=False),
            Column("reversed pairs", shares, low=True),
            Column("pairs", pairs),
            Column("largest reversed difference", format_means([row["largest"] for row in rows])),
            Column("winner", [row["winner"] for row in rows], numeric=False),
        ],
    )


def _flag(flag: str, differing: float) -> str:
    return "never differ" if flag == "identical" else f"differ on {count(round(differing), 'query')}" if flag else ""


def _decisions(content: Content, found: BaselineComparison) -> Table:
    """Return every candidate: decision, differences, changed queries of 1,000, and the queries that would decide."""
    shown = leading(found)
    columns = [
        named("candidate", content.comparison.short_names, [one.candidate for one in shown]),
        Column("decision", [one.decision for one in shown], numeric=False),
        Column("deciding bounds", [found.describe_bounds(one) for one in shown], numeric=False),
    ]
    for metric in found.metrics:
        ends = [[getattr(one, what)[metric] for one in shown] for what in ("difference", "lower", "upper")]
        columns.append(Column(f"\u0394 {metric}", _between(format_differences, ends)))
        cells = []
        for one in shown:
            shares = [str(one.shares[metric][kind]).partition(" ") for kind in ("better", "worse", "same")]
            values, bounds = (" \u00b7 ".join(share[part] for share in shares) for part in (0, 2))
            cells.append(Cell(values, bounds.replace("(", "").replace(")", "")))
        columns.append(Column(f"better, worse, same by {metric}", cells))
    for what in ("queries", "repeats"):
        needed = [str(getattr(one, f"{what}_needed") or "\u2013") or "\u2013" for one in shown]
        columns.append(Column(f"{what} of a new experiment that ships", needed, low=True))
    told = f"Against {content.comparison.short_names[found.baseline]}. Better, worse and same: of 1,000 queries"
    return Table(shorten_names(told, content.comparison.short_names), columns)


def _leads(attribution: Attribution, pair: ChosenPair, said: Mapping[str, str]) -> str:
    """Return the two explained models and their difference under each metric."""
    leads = []
    for metric, value in attribution.difference.items():
        is_better = (value > 0) != (metric in attribution.lower_is_better)
        verb = f"is {'better' if is_better else 'worse'} by {abs(value):.4f}" if value else "is equal"
        leads.append(f"under {metric} {said[pair.first]} {verb}")
    return f"{said[pair.first]} against {said[pair.second]} ({pair.reason}): {', '.join(leads)}."


def _why(attribution: Attribution) -> tuple[list[str], list[Table]]:
    """Return the parts of the difference by discount and gain, by grade and rank, and by class of queries."""
    sentences, tables = [], []
    for metric in attribution.metrics:
        part = attribution.grades_by_ranks.loc[metric]
        values = part.to_numpy(float)
        ends = [*values.sum(axis=1)[::-1], attribution.difference[metric]]
        whole = np.column_stack([np.vstack([values[::-1], values.sum(axis=0)]), ends])
        *cells, every = np.reshape(format_differences(whole.ravel()), whole.shape).T.tolist()
        columns = [Column("grade", [*map(str, part.index[::-1]), "all"], numeric=False)]
        columns += [Column(f"rank {band}", own) for band, own in zip(part.columns, cells, strict=True)]
        columns.append(Column("all ranks", [*every[:-1], Cell(every[-1], strong=True)]))
        tables.append(Table(f"{metric}: {every[-1]} in all", columns))
    parts = attribution.parts
    if {"gain", "discount"} <= set(parts.index):
        names = parts.loc["total", ["from", "to"]]
        gain, discount, change = format_differences(parts["change"][["gain", "discount", "total"]])
        sentences.append(
            f"From {names['from']} to {names['to']} the difference changes by {change}: "
            f"{discount} by the discount, {gain} by the gain."
        )
    sentences += [attribution.parts_note] if attribution.parts_note else []
    texts = (("change", list(map(str, parts.index))), ("from", list(parts["from"])), ("to", list(parts["to"])))
    columns = [Column(label, cells, numeric=False) for label, cells in texts]
    columns += [Column(name, format_differences(parts[name])) for name in ("before", "after", "change")]
    tables.append(Table("From one definition to the other", columns))
    classes = attribution.by_query_class
    columns = [
        Column(f"documents of grade {attribution.top_grade}", list(map(str, classes.index)), numeric=False),
        Column("queries", [f"{number:,}" for number in classes["queries"]]),
        *(Column(metric, format_differences(classes[metric])) for metric in attribution.metrics),
    ]
    tables.append(Table("Contribution of each class of queries", columns))
    return sentences, tables


def _best_rounds(content: Content, best: pd.DataFrame) -> Table:
    """Return the best round of every candidate under both metrics, and the loss of stopping at another round."""
    comparison = content.comparison
    metrics, losses = comparison.verdict.metrics, comparison.lower_is_better
    columns = [named("candidate", content.comparison.short_names, map(str, best["candidate"]))]

    def lost(label: str, column: str) -> list[Column]:
        return [
            Column(
                f"{metric} {label}",
                format_differences((1 if metric in losses else -1) * best[f"{column} {metric}"] + 0.0),
            )
            for metric in metrics
        ]

    if len(set(best["fold"].astype(str))) > 1:
        columns.append(Column("fold", [printable(str(fold)) for fold in best["fold"]], numeric=False))
    for metric in metrics:
        columns.append(Column(f"best round by {metric}", [str(int(number)) for number in best[f"round {metric}"]]))
    columns += lost("at the other's round", "loss")
    if "compared" in best.columns:
        columns.append(Column("compared at round", [", ".join(map(str, rounds)) for rounds in best["compared"]]))
        columns += lost("there", "compared loss")
    return Table("Best rounds on the validation set", columns)
