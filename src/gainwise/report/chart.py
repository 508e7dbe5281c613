"""The main chart, computed once: HTML, notebooks, Matplotlib, terminals and Markdown only draw it.

All metrics share one lane. Right is better, always. A value is the mean of a model minus that of the reference, which
is the best model or the baseline, with the sign turned for a loss. A mark is hollow if its model is ruled out under
that metric.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .._common.text import (
    MINUS,
    format_confidence,
    format_difference,
    format_exact,
    format_interval,
    format_mean,
    format_size,
    join_names,
    printable,
    round_bound,
    styled,
)
from ..comparison.baseline import describe_replacement, rank_candidates
from ..comparison.metric_labels import label_metrics
from ..comparison.verdict import (
    format_advice,
    format_headline,
    format_question,
)

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from .._common.names import Names
    from ..comparison.baseline import BaselineComparison, CandidateDecision
    from ..comparison.metric_labels import MetricLabel
    from ..comparison.verdict import Verdict

STAR = "\N{BLACK STAR}"
SIGNS = ("●○", "◆◇")
"""Filled and hollow marks of both metrics."""

STYLES = "le"
"""Styles of both metrics in text with emphasis."""

MAX_LISTED_REPEATS = 10

MAX_ROWS = 12
"""Models in a chart. The others are counted."""


@dataclass(frozen=True)
class Mark:
    """One model under one metric: its difference to the reference, with a simultaneous interval.

    `description` states everything in words, and `repeats` are the differences of the repeats of a configuration.
    """

    value: float
    lower: float
    upper: float
    possible: bool
    highest: bool
    mean: float
    description: str
    repeats: tuple[float, ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether the interval has two finite ends."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)


@dataclass(frozen=True)
class Row:
    """One model: its marks and the text of the last column, which is `worst` in words, or a decision."""

    model: str
    marks: tuple[Mark, ...]
    outcome: str
    worst: float
    starred: bool = False
    remark: str = ""
    is_reference: bool = False


@dataclass(frozen=True)
class Series:
    """One metric: its label, its caption, and the libraries that print this number."""

    label: MetricLabel
    caption: str
    libraries: str = ""
    lower_is_better: bool = False

    @property
    def key(self) -> str:
        """The caption with the libraries and the direction."""
        lower = "lower is better" if self.lower_is_better else ""
        remark = ", ".join(filter(None, (self.libraries, lower)))
        return f"{self.caption} ({remark})" if remark else self.caption


@dataclass(frozen=True)
class Axis:
    """A linear scale."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return the position of a value in percent of the width of a lane."""
        inside = min(max(value, self.low), self.high)
        return round(2 + 96 * (inside - self.low) / (self.high - self.low), 2)

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
    names : Names
        Names of the models.
    series : tuple of Series
        One per primary metric, or a single one if both metrics are the same number.
    rows : tuple of Row
        In the order of the first metric. Empty if there is one model.
    level : str
        Confidence of the intervals, such as "95 %".
    margin : float
        Half-width of the shaded band, 0 for none.
    reference, last : str
        Name of the line at 0, "best" or "baseline", and head of the last column.
    star : str
        Sentence about the star, empty if the headline has it.
    remarks : tuple of str
        Further sentences of the legend.
    scale : str
        The unit of differences in words after a blank, if they are not in the units of the metrics.
    margin_text : str
        The margin in words, if it is not the exact number.
    """

    question: str
    headline: str
    advice: str
    names: Names
    series: tuple[Series, ...] = ()
    rows: tuple[Row, ...] = ()
    level: str = ""
    margin: float = 0.0
    reference: str = "best"
    last: str = "at worst"
    star: str = ""
    remarks: tuple[str, ...] = ()
    scale: str = ""
    margin_text: str = ""

    def axis(self, rows: Sequence[Row] = ()) -> Axis:
        """Return the scale that fits `rows`, by default all, and the margin unless it is much larger."""
        marks = [mark for row in rows or self.rows for mark in row.marks]
        ends = (end for mark in marks for end in (mark.value, mark.lower, mark.upper, *mark.repeats))
        finite = [0.0, *filter(math.isfinite, ends)]
        low, high = min(finite), max(finite)
        if 0 < self.margin <= 2 * (high - low):
            low, high = min(low, -self.margin), max(high, self.band[1])
        space = 0.02 * (high - low)
        return Axis(low - (space or 0.01), high + (space if high > 0 else 0.0))

    @property
    def band(self) -> tuple[float, float]:
        """The differences within the margin."""
        return -self.margin, (0.0 if self.reference == "best" else self.margin)

    @property
    def stated_margin(self) -> str:
        """The margin in words."""
        return self.margin_text or format_exact(self.margin)

    @property
    def measure(self) -> str:
        """The name of the number with its cutoff, such as "NDCG@10", or of both metrics."""
        if self.series and self.series[0].label.measure:
            return self.series[0].label.measure
        return " and ".join(series.caption for series in self.series)

    @property
    def caption(self) -> str:
        """The numbers of the chart in words."""
        is_loss = any(series.lower_is_better for series in self.series)
        change = "improvement over the baseline" if is_loss else "change against the baseline"
        difference = "gap to the best" if self.reference == "best" else change
        return f"{self.measure}: {difference}{self.scale}, with {self.level} intervals"

    @property
    def keys(self) -> list[str]:
        """The mark and the caption of each metric, in its color."""
        return [
            styled(style, f"{sign[0]} {series.caption}") + series.key.removeprefix(series.caption)
            for style, sign, series in zip(STYLES, SIGNS, self.series, strict=False)
        ]

    def describe_marks(self, band: str = "Shaded") -> list[str]:
        """Return sentences about the marks. `band` names the part of a lane within the margin."""
        is_best, margin = self.reference == "best", "" if self.scale else f" of {self.stated_margin}"
        worse = f"worse by more than the margin{margin}" if self.margin else "worse"
        states = ("may be best", "ruled out") if is_best else (f"not shown to be {worse}", f"shown to be {worse}")
        sentences = [f"Filled: {states[0]}. Hollow: {states[1]} ({self.level})."]
        sentences += ["Bar: the interval of the difference. Right is better."]
        sentences += [f"{band}: within the margin{margin}."] if self.margin else []
        sentences += [f"All names also have: {self.names.shared}."] if self.names.shared else []
        return [*sentences, *filter(None, [self.star]), *self.remarks]

    @property
    def legend(self) -> list[str]:
        """Sentences about the marks of a picture."""
        first, *others = self.describe_marks()
        worst = ["Gray end: at worst, the number at the right."] if self.reference == "best" else []
        return [first, *worst, *others]

    def fold(self, limit: int = MAX_ROWS) -> tuple[tuple[Row, ...], str]:
        """Return at most `limit` rows and the other rows in words.

        The choice, the winners and the baseline come first, then the models with the smallest worst case.
        """

        def rank(row: Row) -> tuple[bool, float]:
            is_needed = row.starred or row.is_reference or any(mark.highest for mark in row.marks)
            return not is_needed, row.worst

        chosen = sorted(self.rows, key=rank)[:limit]
        rest = [row for row in self.rows if row not in chosen]
        if not rest:
            return self.rows, ""
        if self.reference != "best":
            counts = Counter(row.outcome for row in rest)
            state = ", ".join(f"{number} {outcome}" for outcome, number in counts.items())
        elif number := sum(any(mark.possible for mark in row.marks) for row in rest):
            state = f"{number} of them may be best{' by one metric or both' if len(self.series) > 1 else ''}"
        else:
            state = "ruled out" if len(self.series) < 2 else "ruled out under both"
        return tuple(row for row in self.rows if row in chosen), f"{len(rest)} more, {state}"


def build_verdict_chart(
    verdict: Verdict, names: Names, selected: str | None = None, searched: int | None = None
) -> Chart:
    """Return the chart of a verdict, best under the first metric first.

    The star is on the model that a validation set selected, or on the safe choice if the headline names it. The legend
    explains it unless the headline does.
    """
    merged = verdict.metrics_coincide
    metrics = verdict.metrics[:1] if merged else verdict.metrics
    chart = Chart(
        question=format_question(verdict),
        headline=format_headline(verdict, names.labels, selected, searched),
        advice=format_advice(verdict, names.labels, selected),
        names=names,
        series=_build_series(verdict.metrics, verdict.lower_is_better, merged),
        level=format_confidence(verdict.alpha),
        margin=verdict.margin,
    )
    if len(verdict.models) == 1:
        return chart
    remarks: dict[str, list[str]] = {}
    for flag in verdict.flags:
        for model in flag.models if len(flag.models) < len(verdict.models) else ():
            remarks.setdefault(model, []).append(names.rewrite(flag.message))
    rows = _build_gap_rows(verdict, metrics, selected or verdict.named_choice, remarks)
    star = ""
    if STAR not in chart.headline and any(row.starred for row in rows):
        star = f"{STAR}: {'selected on the validation set' if selected else 'the safe choice'}."
    return replace(chart, rows=rows, star=star, remarks=(_describe_means(rows, chart.series, names),))


def build_baseline_chart(
    result: BaselineComparison, names: Names, means: Mapping[str, Mapping[Any, float]], merged: bool
) -> Chart:
    """Return the chart of every candidate against a baseline, highest under the first metric first."""
    question, answer, advice = describe_replacement(result, names.labels)
    metrics = result.leading[:1] if merged else result.leading[:2]
    first, baseline, decisions = rank_candidates(result)[0].candidate, result.baseline, result.decisions
    starred = first if decisions[first] == "ship" else baseline
    rows = []
    for change in result.candidates:
        model = change.candidate
        marks = tuple(_build_mark(result, change, metric, means[metric][model]) for metric in metrics)
        worst = -min(mark.lower for mark in marks)
        rows.append(Row(model, marks, decisions[model], worst, model == starred))
    marks = tuple(Mark(0.0, 0.0, 0.0, True, False, means[m][baseline], f"{m}: the baseline") for m in metrics)
    outcome = "keep" if starred == baseline else "baseline"
    rows.append(Row(baseline, marks, outcome, 0.0, starred == baseline, is_reference=True))
    series = _build_series(result.leading[:2], result.lower_is_better, merged)
    return Chart(
        question=question,
        headline=answer,
        advice=advice,
        names=names,
        series=series,
        rows=tuple(sorted(rows, key=lambda row: -row.marks[0].value)),
        level=format_confidence(result.alpha),
        margin=result.margins[metrics[0]],
        margin_text=result.format_margin(metrics[0]),
        reference="baseline",
        last="decision",
        remarks=(_describe_means(rows[-1:], series, names),),
    )


def add_repeats(chart: Chart, distances: Mapping[str, Mapping[str, Sequence[float]]]) -> Chart:
    """Return a chart with every repeat of training configurations. `distances` to the best are by metric and model."""
    rows = []
    for row in chart.rows:
        marks = []
        for mark, series in zip(row.marks, chart.series, strict=True):
            gaps = distances.get(series.label.name, {}).get(row.model, ())
            if len(gaps):
                shift = mark.value + sum(gaps) / len(gaps)  # The mean of the repeats is at the mark.
                repeats = tuple(float(shift - gap) for gap in gaps)
                numbers = ", ".join(map(format_difference, repeats[:MAX_LISTED_REPEATS]))
                more = " …" if len(repeats) > MAX_LISTED_REPEATS else ""
                text = f"{mark.description}; its repeats: {numbers}{more}"
                mark = replace(mark, repeats=repeats, description=text)
            marks.append(mark)
        rows.append(replace(row, marks=tuple(marks)))
    remarks = ("Small ticks: single repeats, their mean is the mark.", *chart.remarks)
    return replace(chart, rows=tuple(rows), remarks=remarks)


def scale_by_margins(chart: Chart, margins: Mapping[str, float]) -> Chart:
    """Return a chart whose differences are multiples of the margin of their metric, if the margins are different."""
    units = [margins[series.label.name] for series in chart.series]
    if len(set(units)) < 2:
        return chart
    rows = []
    for row in chart.rows:
        marks = tuple(_scale_mark(mark, unit) for mark, unit in zip(row.marks, units, strict=True))
        worst = 0.0 if row.is_reference else -min(mark.lower for mark in marks)
        rows.append(replace(row, marks=marks, worst=worst))
    sizes = [f"{unit:.4g} ({series.label.short})" for unit, series in zip(units, chart.series, strict=True)]
    scale = f" in units of the margins {join_names(sizes)}"
    return replace(chart, rows=tuple(rows), margin=1.0, margin_text="", scale=scale)


def _scale_mark(mark: Mark, unit: float) -> Mark:
    ends = {name: getattr(mark, name) / unit for name in ("value", "lower", "upper")}
    return replace(mark, **ends, repeats=tuple(value / unit for value in mark.repeats))


def _build_series(metrics: tuple[str, ...], losses: Container[str], merged: bool) -> tuple[Series, ...]:
    labels, libraries = label_metrics(metrics), dict[str, str]()
    if merged:
        first, second = labels
        if not first.measure:
            return (Series(first, first.name, f"the same as {second.name}", first.name in losses),)
        return (Series(first, first.measure, "linear = exponential"),)
    if labels[0].name.startswith("ndcg"):
        libraries = {"linear": "scikit-learn, trec_eval", "exponential": "LightGBM, XGBoost"}
    return tuple(
        Series(label, printable(label.long), libraries.get(label.short, ""), label.name in losses) for label in labels
    )


def _build_gap_rows(
    verdict: Verdict, metrics: Sequence[str], starred: str | None, remarks: Mapping[str, Sequence[str]]
) -> tuple[Row, ...]:
    """Return a row per model, best under the first metric first."""
    marks: dict[str, list[Mark]] = {model: [] for model in verdict.models}
    possible = [{*verdict.best_sets[metric], *verdict.common_best} for metric in metrics]
    for metric, models in zip(metrics, possible, strict=True):
        regrets, means = verdict.regrets[metric], verdict.means[metric]
        winner = min(marks, key=regrets.__getitem__)
        for model in marks:
            lower, upper, ends = verdict.regrets_lower[metric][model], verdict.regrets_upper[metric][model], ""
            if upper < math.inf:
                texts = (round_bound(end, up, verdict.margin) for end, up in ((lower, False), (upper, True)))
                ends = f", interval {' to '.join(texts)}"
            description = (
                f"{metric}: mean {format_mean(means[model])}, {format_size(regrets[model])} behind the best{ends}; "
                f"{'may be best' if model in models else 'ruled out as best'}"
            )
            ends_of_bar, highest = (0.0 - upper, 0.0 - lower), model == winner
            mark = Mark(0.0 - regrets[model], *ends_of_bar, model in models, highest, means[model], description)
            marks[model].append(mark)
    rows = []
    for model, own in marks.items():
        worst = 0.0 - min(mark.lower for mark in own)
        if all(len(models) == 1 for models in possible) and all(mark.highest for mark in own):
            outcome, worst = "best", 0.0  # The verdict shows it. The bounds belong to another family.
        elif not math.isfinite(worst):
            outcome = "no bound"
        else:
            outcome = f"{MINUS}{round_bound(worst, up=True, limit=verdict.margin)}" if worst else "0"
        rows.append(Row(model, tuple(own), outcome, worst, model == starred, " ".join(remarks.get(model, ()))))
    return tuple(sorted(rows, key=lambda row: -row.marks[0].value))


def _build_mark(result: BaselineComparison, decided: CandidateDecision, metric: str, mean: float) -> Mark:
    """Return the mark of a candidate next to its baseline."""
    sign = -1.0 if metric in result.lower_is_better else 1.0
    lower, upper = sorted((sign * decided.lower[metric], sign * decided.upper[metric]))
    value, possible = sign * decided.difference[metric], metric not in decided.excessive_losses
    if math.isfinite(lower) and math.isfinite(upper):
        state = "shown to be worse" if not possible else "not shown to be worse"
        state += f" by more than the margin of {result.format_margin(metric)}" if result.margins[metric] else ""
        bounds = f"interval {format_interval(lower, upper, result.margins[metric])}; {state}"
    else:
        bounds = "without bounds"
    return Mark(value, lower, upper, possible, False, mean, f"{metric}: {format_difference(value)}, {bounds}")


def _describe_means(rows: Sequence[Row], series: Sequence[Series], names: Names) -> str:
    """Return the means at the line: those of the winners, or of the baseline if `rows` is its row."""
    texts = []
    for lane, part in enumerate(series):
        (row,) = [row for row in rows if row.marks[lane].highest] or rows[:1]
        gain = f", {part.label.short}" if len(series) > 1 else ""
        texts.append(f"{format_mean(row.marks[lane].mean)} ({names.labels[row.model]}{gain})")
    return f"Mean{'s' if len(texts) > 1 else ''} at the line: {' and '.join(texts)}."
