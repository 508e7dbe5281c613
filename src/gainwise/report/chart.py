"""The main chart, computed once: HTML, notebooks, Matplotlib, terminals and Markdown only draw it.

Right is better, always. A value is the mean of a model minus that of the reference, which is the best model or the
baseline, with the sign turned for a loss. A cell is tinted if its model is not ruled out under that metric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._common.text import format_confidence, format_mean, format_number, pluralize, round_bound, styled
from ..comparison.baseline import describe_replacement, rank_candidates
from ..comparison.verdict import (
    describe_selection,
    format_advice,
    format_choice,
    format_headline,
    format_open_question,
    format_question,
    label_metrics,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    import pandas as pd

    from ..comparison.baseline import BaselineComparison, CandidateDecision
    from ..comparison.comparison import Comparison
    from ..comparison.verdict import MetricLabel, Verdict

STAR = "\N{BLACK STAR}"
MAX_LISTED_REPEATS = 10

MAX_ROWS = 60
"""Models in a chart, even if more may be best."""


@dataclass(frozen=True)
class Cell:
    """One model under one metric: its difference to the reference, with a simultaneous interval.

    `text` is printed next to the mark, `description` states everything in words, and `repeats` are the differences of
    the repeats of a training recipe.
    """

    value: float
    lower: float
    upper: float
    possible: bool
    highest: bool
    text: str
    mean: float
    description: str
    repeats: tuple[float, ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether the interval has two finite ends."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)


@dataclass(frozen=True)
class Row:
    """One model: its name, short name, a cell for each panel, and the text of the last column."""

    model: str
    name: str
    cells: tuple[Cell, ...]
    outcome: str
    worst: float
    starred: bool = False
    remark: str = ""

    @property
    def in_question(self) -> bool:
        """Whether the model is starred or tinted in some panel. Such rows are never folded."""
        return self.starred or any(cell.possible for cell in self.cells)


@dataclass(frozen=True)
class Panel:
    """One metric: its caption, and the libraries that print this number."""

    label: MetricLabel
    caption: str
    libraries: str
    lower_is_better: bool = False


@dataclass(frozen=True)
class Axis:
    """A linear scale that all panels of a chart share."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the position of a value in percent of the width of a lane."""
        inside = min(max(value, self.low), self.high)
        return round(3 + 94 * (inside - self.low) / (self.high - self.low), 2)

    def ticks(self, limit: int) -> list[tuple[float, str]]:
        """Return at most about `limit` round values with their labels, without 0, which has the reference's name.

        >>> Axis(-0.05, 0.0).ticks(5)
        [(-0.05, '−0.05'), (-0.04, '−0.04'), (-0.03, '−0.03'), (-0.02, '−0.02'), (-0.01, '−0.01')]
        """
        rough = (self.high - self.low) / (limit + 0.5)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [round(number * step, places) for number in range(first, last + 1) if number]
        plus = self.high > -self.low / 10
        return [(value, format_mean(value, places, plus)) for value in values]


@dataclass(frozen=True)
class Chart:
    """A question, its answer, advice, and one row per model.

    Attributes
    ----------
    question, headline, advice : str
        Text with emphasis, see `gainwise._common.text`.
    panels : tuple of Panel
        One per primary metric, or a single one if both metrics are the same number.
    rows : tuple of Row
        In the order of the first metric. Empty if there is one model.
    level : str
        Confidence of the intervals, such as "95 %".
    reference : str
        The name of the line at 0: "best" or "baseline".
    last : tuple of two str
        The head of the last column and its second line.
    notes : tuple of str
        Sentences of the legend.
    """

    question: str
    headline: str
    advice: str
    panels: tuple[Panel, ...] = ()
    rows: tuple[Row, ...] = ()
    level: str = ""
    reference: str = "best"
    last: tuple[str, str] = ("worst case", "")
    notes: tuple[str, ...] = ()

    def axis(self, rows: Sequence[Row] = ()) -> Axis:
        """Return the scale that fits `rows`, by default all."""
        cells = [cell for row in rows or self.rows for cell in row.cells]
        ends = (end for cell in cells for end in (cell.value, cell.lower, cell.upper, *cell.repeats))
        finite = [0.0, *filter(math.isfinite, ends)]
        low, high = min(finite), max(finite)
        room = 0.02 * (high - low)
        return Axis(low - (room or 0.01), high + (room if high > 0 else 0.0))

    def folded(self, limit: int) -> tuple[tuple[Row, ...], str]:
        """Return at most `limit` rows and the number of other rows in words. Rows in question always remain."""
        room = max(limit - sum(row.in_question for row in self.rows), 0)
        optional = [row for row in self.rows if not row.in_question][:room]
        shown = tuple(row for row in self.rows if row.in_question or row in optional)
        if len(shown) > MAX_ROWS:
            return shown[:MAX_ROWS], f"{len(self.rows) - MAX_ROWS} more, some of them {self.legend}"
        rest = len(self.rows) - len(shown)
        under = " under both" if len(self.panels) > 1 else ""
        return shown, f"{rest} more, {self.excluded}{under}" if rest else ""

    @property
    def legend(self) -> str:
        """The state of a tinted cell in words."""
        return "may be best" if self.reference == "best" else "not proven worse"

    @property
    def excluded(self) -> str:
        """The state of a cell that is not tinted in words."""
        return "ruled out" if self.reference == "best" else "proven worse"


def build_verdict_chart(verdict: Verdict, names: Mapping[str, str], selected: str | None = None) -> Chart:
    """Return the chart of a verdict, best under the first metric first.

    The star is on the model that a validation set selected, or on the safe choice.
    """
    import pandas as pd

    merged, level = verdict.metrics_coincide, format_confidence(verdict.alpha)
    metrics = verdict.metrics[:1] if merged else verdict.metrics
    chart = Chart(
        question=format_question(verdict),
        headline=format_headline(verdict, names),
        advice=format_advice(verdict, names, selected),
        panels=_build_panels(verdict.metrics, verdict.lower_is_better, merged),
        level=level,
        last=("worst case", level if merged else f"under either, {level}"),
    )
    if len(verdict.models) == 1:
        return chart
    tables = {}
    for metric in metrics:
        columns = ("regrets", "regrets_lower", "regrets_upper", "means")
        tables[metric] = pd.DataFrame({name: getattr(verdict, name)[metric] for name in columns}, list(verdict.models))
        tables[metric]["may_be_best"] = tables[metric].index.isin([*verdict.best_sets[metric], *verdict.common_best])
    remarks: dict[str, list[str]] = {}
    for flag in verdict.flags:
        for model in flag.models if len(flag.models) < len(verdict.models) else ():
            remarks.setdefault(model, []).append(flag.message)
    rows = _build_regret_rows(tables, verdict.lower_is_better, names, selected or verdict.safe_choice, remarks)
    return replace(chart, rows=rows, notes=_describe_verdict_chart(verdict, metrics, level))


def build_metric_chart(comparison: Comparison) -> Chart:
    """Return the chart of a comparison under a single metric."""
    (metric,), names, level = comparison.metrics, comparison.short_names, format_confidence(comparison.settings.alpha)
    winner, selected, total = comparison.winners[metric], comparison.selected, len(comparison.models)
    standings = comparison.standings.set_index("model")
    possible = standings.index[standings["may_be_best"]].tolist()
    standings.loc[possible, "regret_lower"] = 0.0
    bounds: dict[str, float] = dict(zip(standings.index, standings["regret_upper"], strict=True))
    choice = format_choice("Choose", names[winner])
    if total == 1:
        headline, advice = "One model: add a second one to compare it with.", ""
    elif len(possible) == 1:
        headline, bounds[winner] = f"{styled('n l', names[winner])} is best under {metric}.", 0.0
        distance = format_number(sorted(standings["regret"])[1])
        advice = f"{choice}: it is proven better than every other model ({level}). The next is {distance} behind."
    else:
        headline = format_open_question([names[model] for model in possible], total, "model", f" under {metric}")
        worst = f": at worst {round_bound(bounds[winner], up=True)} behind the best ({level})"
        worst = worst if math.isfinite(bounds[winner]) else ""
        advice = f"{choice}{worst}. {styled('b', 'Add queries, not models.')}"
    if selected is not None and total > 1:
        advice = describe_selection(selected, winner, bounds, names, f" under {metric}", level)
    tables = {metric: standings[["regret", "regret_lower", "regret_upper", "mean", "may_be_best"]]}
    losses = comparison.lower_is_better
    size = f"{pluralize(total, 'model')}, {pluralize(comparison.counts.any, 'query')}"
    return Chart(
        question=f"Which model is best under {metric}? {size}.",
        headline=headline,
        advice=advice,
        panels=_build_panels((metric,), losses, merged=False),
        rows=_build_regret_rows(tables, losses, names, selected or winner) if total > 1 else (),
        level=level,
        last=("worst case", level),
        notes=_describe_marks(False, level) if total > 1 else (),
    )


def build_baseline_chart(
    result: BaselineComparison, names: Mapping[str, str], means: Mapping[str, Mapping[Any, float]], merged: bool
) -> Chart:
    """Return the chart of every candidate against a baseline, highest under the first metric first."""
    question, answer, advice = describe_replacement(result, names)
    metrics, level = (result.metrics[:1] if merged else result.metrics), format_confidence(result.alpha)
    first, baseline = rank_candidates(result)[0], result.baseline
    starred = first.candidate if first.decision == "ship" else baseline
    places = _count_places(abs(decided.difference[metric]) for decided in result.candidates for metric in metrics)
    rows = []
    for decided in result.candidates:
        model = decided.candidate
        cells = tuple(_build_cell(result, decided, metric, means[metric][model], places) for metric in metrics)
        worst = -min(cell.lower for cell in cells)
        rows.append(Row(model, names[model], cells, decided.decision, worst, model == starred))
    cells = tuple(
        Cell(0.0, 0.0, 0.0, True, True, "baseline", means[metric][baseline], f"{metric}: the baseline")
        for metric in metrics
    )
    outcome = "keep" if starred == baseline else "baseline"
    rows.append(Row(baseline, names[baseline], cells, outcome, 0.0, starred == baseline))
    tolerance = f" by more than {format_number(result.margin, 3)}" if result.margin else ""
    return Chart(
        question=question,
        headline=answer,
        advice=advice,
        panels=_build_panels(result.metrics, result.lower_is_better, merged),
        rows=tuple(sorted(rows, key=lambda row: -row.cells[0].value)),
        level=level,
        reference="baseline",
        last=("decision", level if len(metrics) < 2 else f"under both, {level}"),
        notes=(
            f"Tinted: not proven worse{tolerance} under this metric ({level}).",
            "Bar: the difference that may be true.",
            "Right is better.",
        ),
    )


def add_repeats(chart: Chart, distances: Mapping[str, Mapping[str, Sequence[float]]]) -> Chart:
    """Return a chart with every repeat of training recipes. `distances` to the best are by metric and model."""
    rows = []
    for row in chart.rows:
        cells = []
        for cell, panel in zip(row.cells, chart.panels, strict=True):
            gaps = distances[panel.label.name].get(row.model, ())
            if len(gaps):
                shift = cell.value + sum(gaps) / len(gaps)  # The mean of the repeats is at the mark.
                repeats = tuple(float(shift - gap) for gap in gaps)
                numbers = ", ".join(map(format_mean, repeats[:MAX_LISTED_REPEATS]))
                more = " …" if len(repeats) > MAX_LISTED_REPEATS else ""
                text = f"{cell.description}; its repeats: {numbers}{more}"
                cell = replace(cell, repeats=repeats, description=text)
            cells.append(cell)
        rows.append(replace(row, cells=tuple(cells)))
    notes = (*chart.notes, "Small ticks: single repeats, their mean is the mark.")
    return replace(chart, rows=tuple(rows), notes=notes)


def _build_panels(metrics: tuple[str, ...], losses: Container[str], merged: bool) -> tuple[Panel, ...]:
    labels, libraries = label_metrics(metrics), dict[str, str]()
    if merged:
        first, second = labels
        if first.long == first.name:
            return (Panel(first, first.name, f"the same as {second.name}", first.name in losses),)
        family, _, options = first.name.partition("_")
        cutoff = "".join(options.partition("@")[1:])
        return (Panel(first, family.upper() + cutoff, "linear = exponential"),)
    if labels[0].name.startswith("ndcg"):
        libraries = {"linear": "scikit-learn, trec_eval", "exponential": "LightGBM, XGBoost"}
    return tuple(Panel(label, label.long, libraries.get(label.short, ""), label.name in losses) for label in labels)


def _count_places(values: Iterable[float]) -> int:
    """Return the decimal places, at least three, that show the largest value with two digits."""
    largest = max(values, default=0.0)
    return 3 if not 0 < largest < 0.01 else min(9, 1 + math.ceil(-math.log10(largest)))


def _build_regret_rows(
    tables: Mapping[str, pd.DataFrame],
    losses: Container[str],
    names: Mapping[str, str],
    starred: str,
    remarks: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Row, ...]:
    """Return a row per model, best under the first metric first.

    The table of each metric has five columns: regret, its lower and upper bound, mean, and whether it may be best.
    """
    places = _count_places(regret for table in tables.values() for regret in table.iloc[:, 0])
    cells_of_models: dict[str, list[Cell]] = {}
    for metric, table in tables.items():
        # The winner is called the best only if no other model may be.
        top = "best" if table["may_be_best"].sum() == 1 else "lowest" if metric in losses else "highest"
        winner = table.iloc[:, 0].idxmin()
        for model, regret, lower, upper, mean, possible in table.itertuples(name=None):
            ends = f", in truth between {format_number(lower)} and {format_number(upper)}" if upper < math.inf else ""
            description = (
                f"{metric}: mean {format_number(mean)}, {format_number(regret)} behind the best{ends}; "
                f"{'may be best' if possible else 'ruled out as best'}"
            )
            text = top if model == winner else format_mean(0.0 - regret, places)
            cell = Cell(0.0 - regret, 0.0 - upper, 0.0 - lower, possible, model == winner, text, mean, description)
            cells_of_models.setdefault(model, []).append(cell)
    rows = []
    for model, cells in cells_of_models.items():
        worst = 0.0 - min(cell.lower for cell in cells)
        if all(cell.text == "best" for cell in cells):  # The verdict proves it. The bounds belong to another family.
            outcome, worst = "best", 0.0
        elif not math.isfinite(worst):
            outcome = "no bound"
        else:
            outcome = f"{round_bound(worst, up=True)} behind" if worst else "0 behind"
        remark = " ".join((remarks or {}).get(model, ()))
        rows.append(Row(model, names[model], tuple(cells), outcome, worst, model == starred, remark))
    return tuple(sorted(rows, key=lambda row: -row.cells[0].value))


def _build_cell(result: BaselineComparison, decided: CandidateDecision, metric: str, mean: float, places: int) -> Cell:
    """Return the cell of a candidate next to its baseline."""
    sign = -1.0 if metric in result.lower_is_better else 1.0
    lower, upper = sorted((sign * decided.lower[metric], sign * decided.upper[metric]))
    value, possible = sign * decided.difference[metric], metric not in decided.excessive_losses
    if math.isfinite(lower) and math.isfinite(upper):
        ends = " to ".join(format_mean(end, plus=True) for end in (lower, upper))
        bounds = f"in truth {ends}; {'not proven worse' if possible else 'proven worse'}"
    else:
        bounds = "without bounds"
    description = f"{metric}: {format_mean(value, plus=True)}, {bounds}"
    return Cell(value, lower, upper, possible, False, format_mean(value, places, plus=True), mean, description)


def _describe_marks(two: bool, level: str) -> tuple[str, ...]:
    both = " Tinted on both sides: may be best under both." if two else ""
    return (
        f"Tinted: may be best under this metric ({level}).{both}",
        "Bar: how far behind the best it may truly be.",
        "Right is better.",
    )


def _describe_verdict_chart(verdict: Verdict, metrics: tuple[str, ...], level: str) -> tuple[str, ...]:
    notes = _describe_marks(len(metrics) > 1, level)
    if verdict.kind == "genuine" and len(metrics) > 1:
        notes = ("No row is tinted on both sides: no model is best under both.", *notes)
    means = [format_mean(verdict.means[metric][verdict.winners[metric]]) for metric in metrics]
    if len(metrics) == 1:
        return (*notes, f"Mean at the line: {means[0]}.")
    labeled = [f"{mean} ({label.long})" for mean, label in zip(means, label_metrics(metrics), strict=True)]
    return (*notes, f"Means at the line: {' and '.join(labeled)}.")
