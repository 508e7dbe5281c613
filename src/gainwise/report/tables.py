"""The tables and sentences that are folded at the end of a report, and the types of its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from .._common.text import (
    as_text,
    count_all,
    describe_missing,
    format_bound,
    format_confidence,
    format_difference,
    format_exact,
    format_interval,
    format_mean,
    format_p_value,
    format_size,
    join_names,
    pluralize,
    printable,
    round_bound,
)
from ..comparison.baseline import rank_candidates
from ..comparison.flags import format_range
from ..comparison.verdict import describe_agreement, describe_losses
from .chart import SIGNS, STAR

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from .._common.names import Names
    from ..comparison.baseline import BaselineComparison, CandidateDecision, Change
    from ..comparison.comparison import Comparison
    from ..comparison.sensitivity import Sensitivity
    from ..comparison.verdict import Verdict
    from .chart import Chart, Row
    from .content import Content

MAX_SHOWN_PAIRS = 100
"""Pairs of models in the table of a report. `Comparison.pairs` contains all of them."""

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
    muted: bool = False


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
    draw : function, optional
        Return the figure as escaped HTML.
    note : str
        The text below the figure.
    narrow : bool
        Whether the section may share the width of the page with the next narrow section.
    """

    name: str
    title: str
    text: str
    draw: Callable[[], str] | None = None
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
    comparison, rewrite = content.comparison, content.names.rewrite
    models, metrics, parts = len(comparison.models), len(comparison.metrics), list[Detail]()
    title = f"{count_all(models, 'model')} under {count_all(metrics, 'metric')}".capitalize()
    if comparison.primary is not None:
        parts.append(Detail("verdict", "The verdict, word for word", [rewrite(comparison.verdict.text)]))
    parts.append(Detail("models", title, describe_scope(content), [build_leaderboard(content)]))
    if comparison.primary is not None and models > 1:
        parts.append(_build_pairs(content))
    if content.against is not None:
        text, table = rewrite(content.against.text), build_decisions(content, content.against)
        tables = [table, *build_segment_decisions(content, content.against)]
        parts.append(Detail("against", "The decisions, in numbers", [text], tables))
    if content.losses is not None and len(content.losses):
        parts.append(_build_losses(content, content.losses))
    if content.sensitivity is not None:
        table = build_sensitivity(content.sensitivity)
        parts.append(Detail("choices", "Other choices, in numbers", tables=[table]))
    if content.rounds is not None:
        parts.append(Detail("rounds", "Best rounds", tables=[_build_best_rounds(content, content.rounds)]))
    return (*parts, Detail("method", "Method and scope", describe_method(content), terms=list_terms(comparison)))


def build_chart_table(chart: Chart, rows: Sequence[Row]) -> Table:
    """Return some rows of the main chart: the name, the difference with its interval by metric, and the outcome."""
    models = [row.model for row in rows]
    first, *others = name_models(chart.names, models)
    starred = [
        cell._replace(text=f"{STAR * row.starred} {cell.text}{' †' * bool(row.remark)}".strip(), strong=row.starred)
        for cell, row in zip(first.cells, rows, strict=True)
        if isinstance(cell, Cell)
    ]
    columns = [first._replace(cells=starred), *others]
    for lane, series in enumerate(chart.series):
        cells = []
        for mark, row in ((row.marks[lane], row) for row in rows):
            is_shown = mark.bounded and mark.lower < mark.upper
            note = format_interval(mark.lower, mark.upper, chart.margin) if is_shown else ""
            value = format_mean(mark.mean) if row.is_reference else format_difference(mark.value)
            cells.append(Cell(value, note, strong=row.starred, muted=row.is_reference))
        columns.append(Column(f"{SIGNS[lane][0]} {series.key}", cells))
    outcomes = [Cell(row.outcome, strong=row.starred) for row in rows]
    return Table(chart.caption, [*columns, Column(chart.last, outcomes, numeric=chart.reference == "best")])


def list_notes(content: Content) -> list[str]:
    """Return reservations, missing models, and changes to queries and documents, for the text below the chart."""
    comparison = content.comparison
    notes = describe_missing(comparison.missing)
    if len(comparison.models) > 1:
        verdict = comparison._standing
        if content.against is not None and comparison.primary is not None and len(comparison.models) > 2:
            notes.insert(0, as_text(describe_agreement(verdict, content.names.labels)))
        notes += [verdict.about] if verdict.repeats or verdict.clusters is not None else []
        notes += [flag.message for flag in verdict.flags]
    else:
        notes += [flag.message for flag in comparison._chance_flags]
    notes += describe_losses(comparison.lower_is_better)
    if comparison.unjudged is not None:
        notes += comparison.unjudged.text(comparison.models)
        notes += [] if content.against is None else [flag.message for flag in content.against.flags]
    notes += [f"{note}." for note in comparison.notes]
    return list(map(content.names.rewrite, notes))


def describe_leaders(content: Content) -> list[str]:
    """Return whether the leader of the primary metrics has the best mean in every segment and by other metrics."""
    comparison, labels = content.comparison, content.names.labels
    if comparison.primary is None or len(comparison.models) < 2:
        return []
    leaders = {comparison.verdict.winners[metric] for metric in comparison.verdict.metrics}
    if len(leaders) > 1:
        return []
    (leader,) = leaders
    segments = () if comparison.segments is None else comparison.segments.parts
    is_best = {
        f"in {part.column} {part.label} ({pluralize(part.queries, 'query')})": all(
            regrets[leader] == 0 for regrets in part.verdict.regrets.values()
        )
        for part in segments
        if part.verdict is not None
    }
    others = [metric for metric in comparison.metrics if metric not in comparison.primary]
    ranks = comparison.leaderboard.loc[leader]
    is_best |= {f"by {metric}": bool(ranks[f"{metric} rank"] == 1) for metric in others}
    groups = (
        ("has the best mean", "and", [place for place, best in is_best.items() if best]),
        ("does not have the best mean", "or", [place for place, best in is_best.items() if not best]),
    )
    parts = [f"{verb} {join_names(names, word=word)}" for verb, word, names in groups if names]
    return [printable(f"{labels[leader]} {', and '.join(parts)}.")] if parts else []


def describe_scope(content: Content) -> list[str]:
    """Return the scope of the means: queries of each metric, rounds of boosters, and models that are left out."""
    text, comparison, queries = [], content.comparison, content.comparison.counts.by_metric
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
        labels = content.names.labels
        used = ", ".join(f"{labels[name]} with {iteration}" for name, iteration in comparison.iterations.items())
        text.append(f"Boosters predict at their best iteration unless you pass another: {used}.")
    if len(comparison.models) > MAX_MODELS:
        text.append(f"Reports show the {MAX_MODELS} best of {len(comparison.models):,} models. The JSON contains all.")
    return text


def build_leaderboard(content: Content) -> Table:
    """Return every model with its means under all metrics and its regrets under the primary ones."""
    comparison = content.comparison
    board, losses = comparison.leaderboard.head(MAX_MODELS), comparison.lower_is_better
    models = list(map(str, board.index))
    columns = name_models(content.names, models)
    for place, metric in enumerate(comparison.metrics):
        low = metric in losses
        order = "" if place else "ascending" if low else "descending"
        rows = board[[metric, f"{metric} lower", f"{metric} upper", f"{metric} rank"]].itertuples(index=False)
        cells = [
            Cell(format_mean(mean), f"{format_mean(lower)} to {format_mean(upper)}", strong=rank == 1)
            for mean, lower, upper, rank in rows
        ]
        columns.append(Column(metric, cells, low=low, order=order))
    if comparison.primary is not None and len(models) > 1:
        verdict = comparison.verdict
        for label, by_metric, show in (
            ("worst regret", verdict.regrets, format_size),
            ("at most", verdict.regrets_upper, partial(round_bound, up=True, limit=verdict.margin)),
        ):
            worst = [show(max(regrets[model] for regrets in by_metric.values())) for model in models]
            columns.append(Column(label, worst, low=True))
        common = ["possible" if model in verdict.common_best else "ruled out" for model in models]
        columns.append(Column("best under both?", common, numeric=False))
    if comparison.unjudged is not None:
        for name, shares in comparison.unjudged.additional_shares(comparison.metrics).items():
            columns.append(Column(name, [format_mean(shares[model]) for model in models]))
    if comparison.iterations:
        sizes = [comparison.iterations[model].size if model in comparison.iterations else NONE for model in models]
        columns.append(Column("rounds", sizes, numeric=False))
    if comparison.chance:
        columns = _add_random_order(columns, comparison.chance)
    same = len(set(comparison.counts.by_metric.values())) == 1
    queries = pluralize(comparison.counts.any, "query") if same else "the queries of each metric"
    level = format_confidence(comparison.settings.alpha)
    remark = "" if comparison.unjudged is None else comparison.unjudged.remark
    caption = f"Means over {queries}, with simultaneous {level} confidence intervals{remark}"
    return Table(caption, columns)


def _add_random_order(columns: Sequence[Column], chance: Mapping[str, Mapping[str, float]]) -> list[Column]:
    """Return the columns with a last row, the value of random order under each metric."""
    texts = {columns[0].label: "random order"}
    texts |= {metric: format_range(levels.values()) for metric, levels in chance.items()}
    return [column._replace(cells=[*column.cells, Cell(texts.get(column.label, ""), muted=True)]) for column in columns]


def _build_pairs(content: Content) -> Detail:
    """Return pairs of models, the clearest conflicts first: both differences with intervals, p-value, counts."""
    comparison, verdict = content.comparison, content.comparison.verdict
    table = comparison._clearest_pairs.head(MAX_SHOWN_PAIRS)
    number, sentences = comparison._pair_count, []
    if len(comparison.models) > 2:
        sentences.append(
            "The tests of all pairs are adjusted for their number, so they show less than the verdict, which only "
            "compares models with the best. Use the verdict to choose a model, and this table to compare two of them."
        )
    if number > MAX_SHOWN_PAIRS:
        sentences.append(
            f"These are the {MAX_SHOWN_PAIRS} clearest of {number:,} pairs. comparison.pairs contains them all."
        )
    columns = [
        Column(head, [Cell(content.names.labels[model], full=printable(model)) for model in table[side]], numeric=False)
        for head, side in (("model", "model_x"), ("against", "model_y"))
    ]
    for metric in verdict.metrics:
        rows = table[[f"{end} {metric}" for end in ("difference", "lower", "upper")]].itertuples(index=False)
        cells = [_format_change(value, lower, upper, content.margins[metric]) for value, lower, upper in rows]
        columns.append(Column(f"\u0394 {metric}", cells))
    opposite, p_values = [], []
    for row in table.to_dict("records"):
        is_clear = row["p_adjusted"] <= comparison.settings.alpha
        note = "significant" if is_clear else ""
        opposite.append(Cell("yes", note, strong=is_clear) if row["conflict"] else Cell("no"))
        p_value = format_p_value(row["p_adjusted"]) if row["conflict"] else NONE
        p_values.append(Cell(p_value, _describe_support(row, verdict)))
    columns.append(Column("opposite order", opposite, numeric=False))
    columns.append(Column("p of opposite order", p_values, low=True))
    for metric in verdict.metrics:
        rows = table[[f"{outcome} {metric}" for outcome in ("wins", "ties", "losses")]].itertuples(index=False)
        texts = [" \u00b7 ".join(f"{count:,}" for count in counts) for counts in rows]
        columns.append(Column(f"wins, ties, losses {metric}", texts))
    tables = [Table("Model minus the one against it", columns)]
    return Detail("pairs", f"Pairs of models ({number:,})", sentences, tables)


def _describe_support(row: Mapping[Any, Any], verdict: Verdict) -> str:
    """Return on how many queries or clusters a pair of models differs, if these are few."""
    if row["flag"] in ("", "identical"):
        return "never differ" if row["flag"] else ""
    number = pluralize(round(row["differing"]), "query" if verdict.clusters is None else "cluster")
    differing = min(row[f"wins {metric}"] + row[f"losses {metric}"] for metric in verdict.metrics)
    is_shifted = verdict.clusters is None and differing > row["differing"]
    return f"differ by the same amount on all but {number}" if is_shifted else f"differ on {number}"


def build_sensitivity(sensitivity: Sensitivity) -> Table:
    """Return the share of reversed pairs and the winner under every other choice."""
    rows, level = sensitivity.table.to_dict("records"), format_confidence(sensitivity.alpha)
    shares, pairs = [], []
    for row in rows:
        share, lower, upper = (f"{100 * row[key]:.1f} %" for key in ("reversed", "lower", "upper"))
        shares.append(Cell(share, f"{lower} to {upper}" if math.isfinite(row["lower"]) else ""))
        counted = row["pairs"] is not None and row["pairs"] == row["pairs"]
        pairs.append(f"{int(row['reversed_pairs']):,} of {int(row['pairs']):,}" if counted else NONE)
    columns = [
        Column("choice", [row["choice"] for row in rows], numeric=False),
        Column("reversed pairs", shares, low=True),
        Column("pairs", pairs),
        Column("largest reversed difference", [format_size(row["largest"]) for row in rows]),
        Column("winner", [row["winner"] for row in rows], numeric=False),
    ]
    return Table(f"Choices instead of {sensitivity.reference}, with {level} intervals over models", columns)


def build_decisions(content: Content, result: BaselineComparison) -> Table:
    """Return every candidate: decision, differences, changed queries of 1,000, and the queries that would decide."""
    decisions = rank_candidates(result)
    columns = [
        *name_models(content.names, [decided.candidate for decided in decisions]),
        Column("decision", [result.decisions[decided.candidate] for decided in decisions], numeric=False),
        Column("deciding bounds", [result.describe_bounds(decided) for decided in decisions], numeric=False),
    ]
    for metric in result.metrics:
        ends = ((decided.difference[metric], decided.lower[metric], decided.upper[metric]) for decided in decisions)
        columns.append(Column(f"\u0394 {metric}", [_format_change(*row, result.margins[metric]) for row in ends]))
        shares = ([f"{1000 * share:.0f}" for share in decided.shares[metric].values()] for decided in decisions)
        columns.append(Column(f"better, worse, same by {metric}", list(map(" \u00b7 ".join, shares))))
    needed = [str(decided.queries_needed or "") or NONE for decided in decisions]
    columns.append(Column("queries of a new experiment that ships", needed, low=True))
    return Table(f"Against {content.names.labels[result.baseline]}. Better, worse and same: of 1,000 queries", columns)


def build_segment_decisions(content: Content, result: BaselineComparison) -> Iterator[Table]:
    """Yield a table per candidate with the changes in segments, if these decide."""
    for decided in rank_candidates(result) if result.segments else ():
        changes = [change for change in decided.changes if change.segment]
        columns = list_change_columns(result, decided, changes)
        yield Table(f"{content.names.labels[decided.candidate]} in segments", columns)


def list_change_columns(
    result: BaselineComparison, decided: CandidateDecision, changes: Sequence[Change]
) -> list[Column]:
    """Return changes of a candidate with their one-sided bounds, margins and status."""
    labels = [printable(" where ".join(filter(None, [change.metric, change.segment]))) for change in changes]
    return [
        Column("metric", labels, numeric=False),
        Column("change", [format_difference(change.difference) for change in changes]),
        Column("improvement at least", [format_bound(change.at_least, False, change.margin) for change in changes]),
        Column("at most", [format_bound(change.at_most, True, change.margin) for change in changes]),
        Column("margin", [result.format_margin(change.metric) for change in changes]),
        Column("status", [_describe_status(decided, change) for change in changes], numeric=False),
    ]


def _describe_status(decided: CandidateDecision, change: Change) -> str:
    """Return the status in words. An improvement is one that the simultaneous bounds of the gain show."""
    if change.status == "within":
        improves = not change.segment and (not change.margin or decided.gain_at_least.get(change.metric, 0.0) > 0)
        return "improves" if improves else "within the margin"
    if change.status == "loss":
        return "loses more than the margin"
    missing = change.least is not None and change.queries < change.least
    return f"open: {change.queries:,} of {change.least:,} queries" if missing else "open: may lose more than the margin"


def _build_losses(content: Content, losses: pd.DataFrame) -> Detail:
    """Return the queries that lose most against the baseline: differences, and both rankings."""
    assert content.against is not None
    columns = []
    for name, values in losses.items():
        kind, _, model = str(name).partition(" ")
        head = f"{kind} {content.names.labels[model]}" if kind in ("documents", "grades") else str(name)
        numeric = values.dtype.kind == "f"
        texts = list(map(format_difference, values)) if numeric else [printable(str(value)) for value in values]
        columns.append(Column(head, texts, numeric=numeric and kind != "query"))
    title = (
        f"The {pluralize(len(losses), 'query')} that lose most against {content.names.labels[content.against.baseline]}"
    )
    table = Table("Differences are candidate minus baseline. Documents are the first ten of each ranking", columns)
    return Detail("losses", title, tables=[table])


def _build_best_rounds(content: Content, best: pd.DataFrame) -> Table:
    """Return the best round of every candidate under both metrics, and the loss of stopping at another round."""
    metrics, losses = content.comparison.verdict.metrics, content.comparison.lower_is_better
    columns = name_models(content.names, list(map(str, best["candidate"])))
    if len(set(best["fold"])) > 1:
        columns.append(Column("training", [printable(str(fold)) for fold in best["fold"]], numeric=False))
    columns += [Column(f"best round by {metric}", list(map(str, best[f"round {metric}"]))) for metric in metrics]
    kinds = [("at the other's round", "loss")]
    if "compared" in best.columns:
        columns.append(Column("compared at round", [", ".join(map(str, rounds)) for rounds in best["compared"]]))
        kinds.append(("there", "compared loss"))
    for label, kind in kinds:
        for metric in metrics:
            values = best[f"{kind} {metric}"] * (1 if metric in losses else -1)
            columns.append(Column(f"{metric} {label}", list(map(format_difference, values))))
    return Table("Best rounds on the validation set", columns)


def name_models(names: Names, models: Sequence[str]) -> list[Column]:
    """Return the columns of the names of models."""
    return [
        Column(head, [Cell(names.cells[model][place], full=printable(model)) for model in models], numeric=False)
        for place, head in enumerate(names.heads)
    ]


def _format_change(value: float, lower: float, upper: float, margin: float) -> Cell:
    return Cell(format_difference(value), format_interval(lower, upper, margin))


def describe_method(content: Content) -> list[str]:
    """Return scope and method as sentences."""
    comparison = content.comparison
    level, verdict = format_confidence(comparison.settings.alpha), comparison._standing
    scope = [verdict.about]
    if comparison.primary is None:
        scope.append(f"{printable(comparison.metrics[0])} is the only metric, so no disagreement is tested.")
    if comparison.primary is None or len(comparison.models) < 2:
        means = f"Intervals of the means have simultaneous {level} confidence and are cut at the range of the metric."
        return [*scope, means]
    if verdict.bounds == "betting":
        method = [
            f"The verdict uses bounds by betting on the differences to the winner of each metric. The level of "
            f"{verdict.alpha:g} is divided by the number of ordered pairs of models under both metrics (Bonferroni).",
        ]
        regrets = "The interval of a regret excludes 0 exactly if its bound rules the model out as best."
    else:
        method = [
            f"The verdict is one joint test over both metrics of the hypothesis that some model is best under both "
            f"(two-step moment inequalities after Romano, Shaikh and Wolf, 2014, with a Gaussian multiplier bootstrap "
            f"of {verdict.draws:,} draws, seed {verdict.seed}, level {verdict.alpha:g}). Two t-tests between the two "
            f"winners cannot replace it: they show a conflict between two models, but a third may be best under both."
        ]
        regrets = (
            "The interval of a regret excludes 0 exactly if the two-step test of its metric rules the model out as "
            "best. The joint test may rule out further models."
        )
    tolerated = "No difference is tolerated (the margin is 0)."
    if content.against is not None and set(content.against.margins.values()) != {verdict.margin}:
        tolerated = content.against.describe_margins()
    elif verdict.margin > 0:
        tolerated = f"A difference up to the margin of {format_exact(verdict.margin)} is tolerated."
    return [
        *scope,
        *method,
        tolerated,
        f"Intervals have simultaneous {level} confidence: those of means over all models of a metric, those of "
        f"differences over all pairs and both metrics. They are cut at the range of the metric. p-values of pairs are "
        f"adjusted for their number (step-down max-T).",
        regrets,
    ]


JUDGED = (
    "judged@k",
    "The share of the first k retrieved documents with a judgment. The others count as irrelevant although they were "
    "never judged, or are removed from the lists (condensed lists).",
)
"""Additional term of a comparison of TREC runs."""


def list_terms(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the metrics of a report with their meaning."""
    terms = []
    for metric in comparison.definitions.values():
        if metric.meaning:
            lower = "" if metric.higher_is_better else " A lower value is better."
            terms.append((str(metric), printable(metric.meaning + lower)))
    return [*terms, *([] if comparison.unjudged is None else [JUDGED])]
