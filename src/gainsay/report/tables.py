"""The tables and sentences that are folded at the end of a report, and the types of its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._common.markup import as_text
from .._common.shown import printable, shorten_names
from .._common.words import format_confidence, format_difference, format_mean, format_p_values, pluralize
from ..comparison.baseline import rank_candidates
from ..comparison.pairs import select_clearest_pairs
from ..comparison.wording import describe_losses
from .method import describe_method, list_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.baseline import BaselineComparison
    from ..comparison.comparison import Comparison
    from ..comparison.sensitivity import Sensitivity
    from .content import Content

MAX_PAIRS = 500
"""Pairs of models in a report and its JSON. `Comparison.pairs` contains all of them."""

MAX_MODELS = 200
"""Models in the table of a report. Its JSON contains all of them."""

NONE = "\u2013"
"""Replaces a missing entry."""


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
        columns = ([Cell(cell) if isinstance(cell, str) else cell for cell in column.cells] for column in self.columns)
        return list(zip(*columns, strict=True))


class Section(NamedTuple):
    """A part of a report with a heading, a sentence or two, and a figure.

    Attributes
    ----------
    name : str
        The id, the target of links.
    title : str
        The heading.
    text : str
        The text above the figure, with emphasis.
    draw : function of int, optional
        Return the figure as escaped HTML, with at most the given number of entries in each list.
    note : str
        The text below the figure.
    narrow : bool
        Whether the section may share the width of the page with the next narrow section.
    """

    name: str
    title: str
    text: str
    draw: Callable[[int], str] | None = None
    note: str = ""
    narrow: bool = False


class Detail(NamedTuple):
    """A folded part: id, heading, sentences, tables, and terms with their meaning."""

    name: str
    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    terms: Sequence[tuple[str, str]] = ()


def build_details(content: Content) -> tuple[Detail, ...]:
    """Return the folded parts at the end of a report."""
    comparison, short = content.comparison, content.comparison.short_names
    models, metrics, parts = len(comparison.models), len(comparison.metrics), list[Detail]()
    title = f"All {pluralize(models, 'model')}" if models > 1 else "The model"
    title += f" under all {metrics} metrics" if metrics > 1 else " under the metric"
    if comparison.primary is not None:
        parts.append(Detail("verdict", "The verdict, word for word", [shorten_names(comparison.verdict.text, short)]))
    parts.append(Detail("models", title, describe_scope(comparison), [build_leaderboard(comparison)]))
    if comparison.primary is not None and models > 1:
        parts.append(_build_pairs(comparison))
    if content.against is not None:
        text = shorten_names(content.against.text, short)
        parts.append(
            Detail("against", "The decisions, in numbers", [text], [build_decisions(content, content.against)])
        )
    if content.attribution is not None:
        parts.append(_build_attribution(content, content.attribution))
    if content.path is not None and not content.merged:
        text = shorten_names(content.path.text, short).replace("(b^l - 1)/(b - 1)", "(bˡ − 1)/(b − 1)")
        parts.append(Detail("by-gain", "At which gain, word for word", [text]))
    if comparison.segment_labels and comparison.primary is not None:
        parts.append(Detail("by-segment", "Segments, word for word", [shorten_names(comparison.segments.text, short)]))
    if comparison.last_sensitivity is not None:
        table = build_sensitivity(comparison.last_sensitivity)
        parts.append(Detail("choices", "Other choices, in numbers", tables=[table]))
    if content.rounds is not None:
        parts.append(Detail("rounds", "Best rounds", tables=[_build_best_rounds(comparison, content.rounds)]))
    parts.append(Detail("method", "Method and scope", describe_method(comparison)))
    return (*parts, Detail("glossary", "Glossary", terms=list_terms(comparison)))


def list_notes(content: Content) -> list[str]:
    """Return reservations, missing models, and changes to queries and documents, for the text below the chart."""
    comparison = content.comparison
    notes = list(comparison.missing)
    if comparison.primary is not None and len(comparison.models) > 1:
        verdict = comparison.verdict
        if content.against is not None and len(comparison.models) > 2:
            notes.insert(0, f"Do the two metrics disagree about the best? {as_text(content.standing.headline)}")
        notes += [verdict.about] if verdict.repeats or verdict.clusters is not None else []
        notes += [flag.message for flag in verdict.flags]
    notes += describe_losses(comparison.lower_is_better)
    if comparison.unjudged is not None:
        notes += comparison.unjudged.text(comparison.models)
    notes += [f"{note}." for note in comparison.notes]
    return [shorten_names(note, comparison.short_names) for note in notes]


def describe_scope(comparison: Comparison) -> list[str]:
    """Return the scope of the means: queries of each metric, rounds of boosters, and models that are left out."""
    text, queries = [], comparison.metric_queries
    if len(set(queries.values())) > 1:
        numbers = ", ".join(f"{printable(metric)} on {number:,}" for metric, number in queries.items())
        text.append(f"Each metric is compared on the queries with a value: {numbers}.")
        if comparison.primary is not None and any(comparison.verdict.left_out.values()):
            both = " and ".join(map(printable, comparison.primary))
            text[-1] += (
                f" Statements about {both} together (chart, verdict, opposite order, which queries) use "
                f"the {pluralize(comparison.verdict.queries, 'query')} of both."
            )
    if comparison.iterations:
        short = comparison.short_names
        used = ", ".join(f"{short[name]} with {iteration}" for name, iteration in comparison.iterations.items())
        text.append(f"Boosters predict at their best iteration unless you pass another: {used}.")
    if len(comparison.models) > MAX_MODELS:
        text.append(f"Reports show the {MAX_MODELS} best of {len(comparison.models):,} models. The JSON contains all.")
    return text


def build_leaderboard(comparison: Comparison) -> Table:
    """Return every model with its means under all metrics and its regrets under the primary ones."""
    board, losses = comparison.leaderboard.head(MAX_MODELS), comparison.lower_is_better
    models = list(map(str, board.index))
    columns = [_name_models("model", comparison.short_names, models)]
    for place, metric in enumerate(comparison.metrics):
        low = metric in losses
        order = "" if place else "ascending" if low else "descending"
        cells = _format_intervals(format_mean, board, (metric, f"{metric} lower", f"{metric} upper"))
        strong = [cell._replace(strong=rank == 1) for cell, rank in zip(cells, board[f"{metric} rank"], strict=True)]
        columns.append(Column(metric, strong, low=low, order=order))
    if comparison.primary is not None and len(models) > 1:
        verdict = comparison.verdict
        for label, by_metric in (("worst regret", verdict.regrets), ("at most", verdict.regrets_upper)):
            worst = [format_mean(max(regrets[model] for regrets in by_metric.values())) for model in models]
            columns.append(Column(label, worst, low=True))
        common = ["possible" if model in verdict.common_best else "ruled out" for model in models]
        columns.append(Column("best under both?", common, numeric=False))
    if comparison.unjudged is not None:
        for name, shares in comparison.unjudged.additional_shares(comparison.metrics).items():
            columns.append(Column(name, [format_mean(shares[model]) for model in models]))
    if comparison.iterations:
        sizes = [comparison.iterations[model].size if model in comparison.iterations else NONE for model in models]
        columns.append(Column("rounds", sizes, numeric=False))
    same = len(set(comparison.metric_queries.values())) == 1
    queries = pluralize(comparison.query_count, "query") if same else "the queries of each metric"
    level = format_confidence(comparison.alpha)
    caption = f"Means over {queries}, with simultaneous {level} confidence intervals{comparison.unjudged_remark}"
    return Table(caption, columns)


def _build_pairs(comparison: Comparison) -> Detail:
    """Return pairs of models, the clearest conflicts first: both differences with intervals, p-value, counts."""
    verdict, short = comparison.verdict, comparison.short_names
    table = select_clearest_pairs(comparison.pairs, MAX_PAIRS)
    number, sentences = len(comparison.pairs), []
    if len(comparison.models) > 2:
        sentences.append(
            "The tests of all pairs are adjusted for their number, so they prove less than the verdict, which only "
            "compares models with the best. Use the verdict to choose a model, and this table to compare two of them."
        )
    if number > MAX_PAIRS:
        sentences.append(f"These are the {MAX_PAIRS} clearest of {number:,} pairs. comparison.pairs contains them all.")
    columns = [_name_models("model", short, table["model_x"]), _name_models("against", short, table["model_y"])]
    for metric in verdict.metrics:
        cells = _format_intervals(
            format_difference, table, [f"{end} {metric}" for end in ("difference", "lower", "upper")]
        )
        columns.append(Column(f"\u0394 {metric}", cells))
    opposite, remarks = [], []
    for row in table.to_dict("records"):
        proven = row["p_holm"] <= comparison.alpha
        note = "proven" if proven else "maybe by chance"
        opposite.append(Cell("yes", note, strong=proven) if row["conflict"] else Cell("no"))
        differing = f"differ on {pluralize(round(row['differing']), 'query')}" if row["flag"] else ""
        remarks.append("never differ" if row["flag"] == "identical" else differing)
    columns.append(Column("opposite order", opposite, numeric=False))
    columns.append(Column("p (Holm)", list(map(Cell, format_p_values(table["p_holm"]), remarks)), low=True))
    for metric in verdict.metrics:
        counts = zip(*(table[f"{outcome} {metric}"] for outcome in ("wins", "ties", "losses")), strict=True)
        texts = [f"{wins:,} \u00b7 {ties:,} \u00b7 {losses:,}" for wins, ties, losses in counts]
        columns.append(Column(f"wins, ties, losses {metric}", texts))
    return Detail(
        "pairs", f"Pairs of models ({number:,})", sentences, [Table("Model minus the one against it", columns)]
    )


def build_sensitivity(sensitivity: Sensitivity) -> Table:
    """Return the share of reversed pairs and the winner under every other choice."""
    rows = sensitivity.table.to_dict("records")
    shares, pairs = [], []
    for row in rows:
        share, lower, upper = (f"{100 * row[key]:.1f} %" for key in ("reversed", "lower", "upper"))
        shares.append(Cell(share, f"{lower} to {upper}" if math.isfinite(row["lower"]) else ""))
        counted = row["pairs"] is not None and row["pairs"] == row["pairs"]
        pairs.append(f"{int(row['reversed_pairs']):,} of {int(row['pairs']):,}" if counted else NONE)
    level = format_confidence(sensitivity.alpha)
    return Table(
        f"Choices instead of {sensitivity.reference}, with {level} intervals over models",
        [
            Column("choice", [row["choice"] for row in rows], numeric=False),
            Column("reversed pairs", shares, low=True),
            Column("pairs", pairs),
            Column("largest reversed difference", [format_mean(row["largest"]) for row in rows]),
            Column("winner", [row["winner"] for row in rows], numeric=False),
        ],
    )


def build_decisions(content: Content, result: BaselineComparison) -> Table:
    """Return every candidate: decision, differences, changed queries of 1,000, and the queries that would decide."""
    decisions, short = rank_candidates(result), content.comparison.short_names
    columns = [
        _name_models("candidate", short, [decided.candidate for decided in decisions]),
        Column("decision", [decided.decision for decided in decisions], numeric=False),
        Column("deciding bounds", [result.describe_bounds(decided) for decided in decisions], numeric=False),
    ]
    for metric in result.metrics:
        differences, shares = [], []
        for decided in decisions:
            ends = (decided.difference, decided.lower, decided.upper)
            differences.append(_format_interval(format_difference, *(end[metric] for end in ends)))
            shares.append(" \u00b7 ".join(f"{1000 * share:.0f}" for share in decided.shares[metric].values()))
        columns.append(Column(f"\u0394 {metric}", differences))
        columns.append(Column(f"better, worse, same by {metric}", shares))
    needed = [str(decided.queries_needed or "") or NONE for decided in decisions]
    columns.append(Column("queries of a new experiment that ships", needed, low=True))
    return Table(f"Against {short[result.baseline]}. Better, worse and same: of 1,000 queries", columns)


def _build_attribution(content: Content, attribution: Attribution) -> Detail:
    """Return the parts of the difference by grade and rank, by discount and gain, and by class of queries."""
    assert content.pair is not None
    first, second = (content.comparison.short_names[model] for model in content.pair[:2])
    differences = ", ".join(f"{metric} {format_difference(value)}" for metric, value in attribution.difference.items())
    sentences = [f"{first} minus {second} ({content.pair.reason}): {differences}."]
    tables = []
    for metric, value in attribution.difference.items():
        grades = attribution.grades_by_ranks.loc[[metric]].droplevel(0)[::-1].add_prefix("rank ")
        grades.loc["all"] = grades.sum()
        grades["all ranks"] = grades.sum(axis=1)
        tables.append(_build_number_table(f"{metric}: {format_difference(value)} in all", "grade", grades))
    sentences += [attribution.parts_note] if attribution.parts_note else []
    tables.append(_build_number_table("From one definition to the other", "change", attribution.parts))
    classes = f"documents of grade {attribution.top_grade}"
    tables.append(_build_number_table("Contribution of each class of queries", classes, attribution.by_query_class))
    return Detail("parts", "Why, in numbers", sentences, tables)


def _build_best_rounds(comparison: Comparison, best: pd.DataFrame) -> Table:
    """Return the best round of every candidate under both metrics, and the loss of stopping at another round."""
    metrics, losses = comparison.verdict.metrics, comparison.lower_is_better
    columns = [_name_models("candidate", comparison.short_names, map(str, best["candidate"]))]
    if len(set(best["fold"])) > 1:
        columns.append(Column("fold", [printable(str(fold)) for fold in best["fold"]], numeric=False))
    columns += [Column(f"best round by {metric}", list(map(str, best[f"round {metric}"]))) for metric in metrics]
    kinds = [("at the other's round", "loss")]
    if "compared" in best.columns:
        columns.append(Column("compared at round", [", ".join(map(str, rounds)) for rounds in best["compared"]]))
        kinds.append(("there", "compared loss"))
    for label, kind in kinds:
        for metric in metrics:
            sign = 1 if metric in losses else -1
            values = [format_difference(sign * value) for value in best[f"{kind} {metric}"]]
            columns.append(Column(f"{metric} {label}", values))
    return Table("Best rounds on the validation set", columns)


def _name_models(label: str, names: Mapping[str, str], models: Iterable[str]) -> Column:
    """Return a column of models by their short names."""
    return Column(label, [Cell(names[model], full=printable(model)) for model in models], numeric=False)


def _build_number_table(caption: str, label: str, frame: pd.DataFrame) -> Table:
    """Return a table of a DataFrame, whose numbers with decimals are differences."""
    columns = [Column(label, list(map(str, frame.index)), numeric=False)]
    for name, values in frame.items():
        kind = values.dtype.kind
        texts = [
            format_difference(value) if kind == "f" else f"{value:,}" if kind == "i" else str(value) for value in values
        ]
        columns.append(Column(str(name), texts, numeric=kind in "fi"))
    return Table(caption, columns)


def _format_intervals(format_value: Callable[[float], str], frame: pd.DataFrame, names: Sequence[str]) -> list[Cell]:
    """Return a cell for each row, with its value and interval in the columns `names`."""
    return [_format_interval(format_value, *row) for row in zip(*(frame[name] for name in names), strict=True)]


def _format_interval(format_value: Callable[[float], str], value: float, lower: float, upper: float) -> Cell:
    return Cell(format_value(value), f"{format_value(lower)} to {format_value(upper)}")
