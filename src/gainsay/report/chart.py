"""The main chart, computed once: HTML, notebooks, Matplotlib, terminals and Markdown only draw it.

Right is better, always. A value is the mean of a model minus that of the reference, which is the best model or the
baseline, with the sign turned for a loss. A cell is tinted if its model is not ruled out under that metric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._common.shown import printable
from .._common.words import confidence, count
from ..comparison.headline import (
    advice,
    advice_of_metric,
    describe_selection,
    headline,
    headline_of_metric,
    is_one_number,
    labels_of,
    leading,
    question,
    replacing,
    rounded,
)
from .numbers import MINUS, format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..comparison.baseline import BaselineComparison, CandidateDecision
    from ..comparison.comparison import Comparison
    from ..comparison.headline import Label
    from ..comparison.verdict import Verdict

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
    """One model: its names, a cell for each panel, and the text of the last column."""

    model: str
    name: str
    full: str
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

    label: Label
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
        return [(value, format_signed(value, places, plus)) for value in values]


@dataclass(frozen=True)
class Chart:
    """A question, its answer, advice, and one row per model.

    Attributes
    ----------
    question, headline, advice : str
        Text with emphasis, see `gainsay._common.markup`.
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
        ends = [
            end for cell in cells for end in (cell.value, cell.lower, cell.upper, *cell.repeats) if math.isfinite(end)
        ]
        low, high = min([0.0, *ends]), max([0.0, *ends])
        room = 0.02 * (high - low)
        return Axis(low - (room or 0.01), high + (room if high > 0 else 0.0))

    def folded(self, limit: int) -> tuple[tuple[Row, ...], str]:
        """Return at most `limit` rows and the number of other rows in words. Rows in question always remain."""
        needed = sum(row.in_question for row in self.rows)
        room, shown = max(limit - needed, 0), list[Row]()
        for row in self.rows:
            if row.in_question or room > 0 or len(self.rows) <= limit:
                room -= not row.in_question
                shown.append(row)
        if len(shown) > MAX_ROWS:
            return tuple(shown[:MAX_ROWS]), f"{len(self.rows) - MAX_ROWS} more, some of them {self.legend}"
        rest = len(self.rows) - len(shown)
        under = " under both" if len(self.panels) > 1 else ""
        return tuple(shown), f"{rest} more, {self.excluded}{under}" if rest else ""

    @property
    def legend(self) -> str:
        """The state of a tinted cell in words."""
        return "may be best" if self.reference == "best" else "not proven worse"

    @property
    def excluded(self) -> str:
        """The state of a cell that is not tinted in words."""
        return "ruled out" if self.reference == "best" else "proven worse"

    @property
    def has_repeats(self) -> bool:
        """Whether some row has repeats."""
        return any(cell.repeats for row in self.rows for cell in row.cells)


def format_signed(value: float, places: int, plus: bool = False) -> str:
    """Write a difference with `places` decimals and a real minus sign.

    >>> format_signed(-0.0139, 3), format_signed(0.0139, 3, plus=True), format_signed(-0.0001, 3)
    ('−0.014', '+0.014', '0.000')
    """
    text = f"{abs(value):.{places}f}"
    if not float(text):
        return text
    return (MINUS if value < 0 else "+" if plus else "") + text


def chart_of(verdict: Verdict, names: Mapping[str, str], selected: str | None = None) -> Chart:
    """Return the chart of a verdict, best under the first metric first.

    The star is on the model that a validation set selected, or on the safe choice.
    """
    merged = is_one_number(verdict)
    metrics = verdict.metrics[:1] if merged else verdict.metrics
    single = len(verdict.models) < 2
    level = confidence(verdict.alpha)
    return Chart(
        question=question(verdict),
        headline=headline(verdict, names),
        advice=advice(verdict, names, selected),
        panels=_panels(verdict.metrics, verdict.lower_is_better, merged),
        rows=() if single else _verdict_rows(verdict, names, metrics, selected or verdict.safe_choice),
        level=level,
        last=("worst case", level if merged else f"under either, {level}"),
        notes=() if single else _verdict_notes(verdict, metrics, level),
    )


def chart_of_metric(comparison: Comparison) -> Chart:
    """Return the chart of a comparison under a single metric."""
    (metric,), names, level = comparison.metrics, comparison.short_names, confidence(comparison.alpha)
    table, winner = comparison.standings, comparison.winners[comparison.metrics[0]]
    models = list(map(str, table["model"]))
    best = [model for model, possible in zip(models, table["may_be_best"], strict=True) if possible]
    regret, lower, upper, mean = (
        {metric: dict(zip(models, table[column].tolist(), strict=True))}
        for column in ("regret", "regret_lower", "regret_upper", "mean")
    )
    lower[metric].update(dict.fromkeys(best, 0.0))
    cells = _regret_cells(
        metric, winner, best, regret, lower, upper, mean, places=_places(regret), losses=comparison.lower_is_better
    )
    starred = comparison.selected or winner
    rows = [_row(model, names, (cells[model],), upper[metric][model], model == starred) for model in models]
    size = f"{count(len(rows), 'model')}, {count(comparison.query_count, 'query')}"
    bound, lead = upper[metric][winner], sorted(regret[metric].values())[1] if len(rows) > 1 else 0.0
    advice_text = advice_of_metric(names[winner], len(best), len(rows), lead, bound, level)
    if comparison.selected is not None and len(rows) > 1:
        bounds = {model: 0.0 if best == [model] else upper[metric][model] for model in models}
        under = f" under {metric}"
        advice_text = describe_selection(comparison.selected, winner, bounds, regret[metric], names, under, level)
    return Chart(
        question=f"Which model is best under {metric}? {size}.",
        headline=headline_of_metric(names[winner], metric, len(best), len(rows)),
        advice=advice_text,
        panels=_panels((metric,), comparison.lower_is_better, merged=False),
        rows=tuple(rows) if len(rows) > 1 else (),
        level=level,
        last=("worst case", level),
        notes=_legend_notes(False, level) if len(rows) > 1 else (),
    )


def chart_of_baseline(
    found: BaselineComparison, names: Mapping[str, str], means: Mapping[str, Mapping[str, float]], merged: bool
) -> Chart:
    """Return the chart of every candidate against a baseline, highest under the first metric first."""
    asked, answer, told = replacing(found, names)
    metrics, level = (found.metrics[:1] if merged else found.metrics), confidence(found.alpha)
    turned = {metric: -1.0 if metric in found.lower_is_better else 1.0 for metric in metrics}
    differences = {it: {one.candidate: one.difference[it] for one in found.candidates} for it in metrics}
    places = _places(differences)
    first = leading(found)[0]
    starred = first.candidate if first.decision == "ship" else found.baseline
    rows = [_candidate_row(found, one, names, means, turned, places, starred) for one in found.candidates]
    own = tuple(
        Cell(0.0, 0.0, 0.0, True, True, "baseline", means[it][found.baseline], f"{it}: the baseline") for it in metrics
    )
    keep = "keep" if starred == found.baseline else "baseline"
    rows.append(
        Row(found.baseline, names[found.baseline], printable(found.baseline), own, keep, 0.0,
            starred == found.baseline)
    )  # fmt: skip
    rows.sort(key=lambda row: -row.cells[0].value)
    tolerance = f" by more than {format_number(found.margin, 3)}" if found.margin else ""
    notes = (
        f"Tinted: not proven worse{tolerance} under this metric ({level}).",
        "Bar: the difference that may be true.",
        "Right is better.",
    )
    return Chart(
        asked, answer, told, _panels(found.metrics, found.lower_is_better, merged), tuple(rows), level, "baseline",
        ("decision", level if len(metrics) < 2 else f"under both, {level}"), notes,
    )  # fmt: skip


def with_repeats(chart: Chart, distances: Mapping[str, Mapping[str, Sequence[float]]]) -> Chart:
    """Return a chart with every repeat of training recipes. `distances` to the best are by metric and model."""

    def marked(row: Row, lane: int) -> Cell:
        metric, cell = chart.panels[lane].label.name, row.cells[lane]
        behind = distances[metric].get(row.model, ())
        if not len(behind):
            return cell
        shift = cell.value + sum(behind) / len(behind)  # the mean of the repeats is at the mark
        repeats = tuple(float(shift - distance) for distance in behind)
        listed = ", ".join(format_signed(value, 4) for value in repeats[:MAX_LISTED_REPEATS])
        more = " …" * (len(repeats) > MAX_LISTED_REPEATS)
        return replace(cell, repeats=repeats, description=f"{cell.description}; its repeats: {listed}{more}")

    rows = tuple(
        replace(row, cells=tuple(marked(row, lane) for lane in range(len(chart.panels)))) for row in chart.rows
    )
    return replace(chart, rows=rows, notes=(*chart.notes, "Small ticks: single repeats, their mean is the mark."))


def _panels(metrics: tuple[str, ...], losses: Iterable[str], merged: bool) -> tuple[Panel, ...]:
    labels, low = labels_of(metrics), set(losses)
    if merged:
        first, second = labels
        if first.long == first.name:
            return (Panel(first, first.name, f"the same as {second.name}", first.name in low),)
        kind, _, cutoff = first.name.partition("_")
        return (Panel(first, kind.upper() + cutoff[len(cutoff.partition("@")[0]) :], "linear = exponential"),)
    printed = {"linear": "scikit-learn, trec_eval", "exponential": "LightGBM, XGBoost"}
    return tuple(
        Panel(it, it.long, printed.get(it.by, "") if it.name.startswith("ndcg") else "", it.name in low)
        for it in labels
    )


def _places(values: Mapping[str, Mapping[str, float]]) -> int:
    """Return the decimal places, at least three, that show the largest value with two digits."""
    largest = max((abs(value) for by in values.values() for value in by.values()), default=0.0)
    return 3 if not 0 < largest < 0.01 else min(9, 1 + math.ceil(-math.log10(largest)))


def _regret_cells(
    metric: str,
    winner: str,
    best: Sequence[str],
    regrets: Mapping[str, Mapping[str, float]],
    lower: Mapping[str, Mapping[str, float]],
    upper: Mapping[str, Mapping[str, float]],
    means: Mapping[str, Mapping[str, float]],
    *,
    places: int,
    losses: Iterable[str],
) -> dict[str, Cell]:
    """Return the cell of every model under one metric."""
    top = "lowest" if metric in losses else "highest"
    cells = {}
    for model, regret in regrets[metric].items():
        low, high, possible = lower[metric][model], upper[metric][model], model in best
        text = ("best" if len(best) == 1 else top) if model == winner else format_signed(-regret, places)
        between = f", in truth between {format_number(low)} and {format_number(high)}" if math.isfinite(high) else ""
        mean = means[metric][model]
        description = (
            f"{metric}: mean {format_number(mean)}, {format_number(regret)} behind the best{between}; "
            f"{'may be best' if possible else 'ruled out as best'}"
        )
        cells[model] = Cell(0.0 - regret, 0.0 - high, 0.0 - low, possible, model == winner, text, mean, description)
    return cells


def _row(
    model: str, names: Mapping[str, str], cells: tuple[Cell, ...], worst: float, starred: bool, remark: str = ""
) -> Row:
    if all(cell.text == "best" for cell in cells):  # The verdict proves it. The bounds belong to another family.
        outcome, worst = "best", 0.0
    elif not math.isfinite(worst):
        outcome = "no bound"
    else:
        outcome = f"{rounded(worst, up=True)} behind" if worst else "not behind"
    return Row(model, names[model], printable(model), cells, outcome, worst, starred, remark)


def _verdict_rows(
    verdict: Verdict, names: Mapping[str, str], metrics: tuple[str, ...], starred: str
) -> tuple[Row, ...]:
    remarks: dict[str, list[str]] = {}
    for flag in verdict.flags:
        for model in flag.models if len(flag.models) < len(verdict.models) else ():
            remarks.setdefault(model, []).append(flag.message)
    regrets = {metric: verdict.regrets[metric] for metric in metrics}
    cells = [
        _regret_cells(
            metric, verdict.winners[metric],
            [model for model in verdict.models if model in {*verdict.best_sets[metric], *verdict.common_best}],
            regrets, verdict.regrets_lower, verdict.regrets_upper, verdict.means,
            places=_places(regrets), losses=verdict.lower_is_better,
        )
        for metric in metrics
    ]  # fmt: skip
    order = sorted(verdict.models, key=verdict.regrets[metrics[0]].__getitem__)
    return tuple(
        _row(
            model, names, tuple(own[model] for own in cells),
            max(verdict.regrets_upper[metric][model] for metric in metrics),
            model == starred, " ".join(remarks.get(model, ())),
        )
        for model in order
    )  # fmt: skip


def _legend_notes(two: bool, level: str) -> tuple[str, ...]:
    both = " Tinted on both sides: may be best under both." if two else ""
    return (
        f"Tinted: may be best under this metric ({level}).{both}",
        "Bar: how far behind the best it may truly be.",
        "Right is better.",
    )


def _verdict_notes(verdict: Verdict, metrics: tuple[str, ...], level: str) -> tuple[str, ...]:
    notes = _legend_notes(len(metrics) > 1, level)
    if verdict.kind == "genuine" and len(metrics) > 1:
        notes = ("No row is tinted on both sides: no model is best under both.", *notes)
    tops = [
        f"{verdict.means[metric][verdict.winners[metric]]:.4f}".replace("-", MINUS)
        + (f" ({label.long})" if len(metrics) > 1 else "")
        for metric, label in zip(metrics, labels_of(verdict.metrics), strict=False)
    ]
    what = "Mean" if verdict.lower_is_better or len(tops) < 2 else "Means"
    return (*notes, f"{what} at the line: {' and '.join(tops)}.")


def _candidate_row(
    found: BaselineComparison,
    one: CandidateDecision,
    names: Mapping[str, str],
    means: Mapping[str, Mapping[str, float]],
    turned: Mapping[str, float],
    places: int,
    starred: str,
) -> Row:
    cells = []
    for metric, sign in turned.items():
        lower, upper = sorted((sign * one.lower[metric], sign * one.upper[metric]))
        value, possible = sign * one.difference[metric], metric not in one.excessive_losses
        description = (
            f"{metric}: {format_signed(value, 4, plus=True)}, in truth {format_signed(lower, 4, plus=True)} to "
            f"{format_signed(upper, 4, plus=True)}; {'not proven worse' if possible else 'proven worse'}"
            if math.isfinite(lower) and math.isfinite(upper)
            else f"{metric}: {format_signed(value, 4, plus=True)}, without bounds"
        )
        cells.append(
            Cell(value, lower, upper, possible, False, format_signed(value, places, plus=True),
                 means[metric][one.candidate], description)
        )  # fmt: skip
    worst = -min(cell.lower for cell in cells)
    return Row(one.candidate, names[one.candidate], printable(one.candidate), tuple(cells), one.decision, worst,
               one.candidate == starred)  # fmt: skip
