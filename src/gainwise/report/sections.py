"""The sections of a report between its chart and its details, and their figures as HTML.

To add one, write a function from `Content` to a `Section`, or None if there is nothing to show, and call it in
`build_sections`. Its figure is HTML whose classes are in ``report.css``. Its tables are in `gainwise.report.tables`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._common.text import (
    as_html,
    format_difference,
    format_size,
    join_names,
    pluralize,
    printable,
    styled,
)
from ..comparison.metric_labels import assign_styles, label_metrics
from ..comparison.segments import NO_CONTRAST
from ..comparison.verdict import describe_possible
from .chart import build_verdict_chart
from .content import MAX_RANKS, name_training
from .tables import Section

if TYPE_CHECKING:
    import jinja2
    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.verdict import Verdict
    from .chart import Chart
    from .content import Appendix, Content, Queries

TEMPLATES = Path(__file__).parent / "templates"

NARROW = 5.1
"""Width in inches of a picture that takes half of the page."""

MAX_SEGMENT_ROWS = 5
MAX_SEGMENTS = 12


@cache
def get_environment() -> jinja2.Environment:
    """Return the environment of all templates, which escapes everything by default."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("Reports require Jinja2. Run: pip install jinja2") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "size": format_size,
        "difference": format_difference,
        "emphasis": as_html,
        "printable": printable,
    }
    return environment


def build_chart(chart: Chart, *, link: str = "") -> str:
    """Return the chart as a table. `link` is the target of the rows that it leaves out."""
    rows, rest = chart.fold()
    return _render("chart_table", chart, rows, chart.axis(rows), rest=rest, link=link)


def _render(macro: str, *arguments: object, **options: object) -> str:
    """Return the HTML of a figure, a macro of the template of figures."""
    module = get_environment().get_template("figures.html.j2").module
    return str(getattr(module, macro)(*arguments, **options))


def _embed(plot: str, *arguments: Any, **options: Any) -> str:
    """Return HTML with a plot of `gainwise.report.plots` in both themes."""
    from ..drawing import embed
    from . import plots

    return embed(getattr(plots, plot), *arguments, **options)


def build_why_section(content: Content) -> Section | None:
    """Return why the explained pair differs, or None unless the queries show a difference."""
    attribution = content.attribution
    if attribution is None or not content.is_shown:
        return None
    text = _explain_pair(content, attribution)
    missing = [metric for metric in content.comparison.verdict.metrics if metric not in attribution.metrics]
    if missing and not content.merged:
        text += f" {missing[0]} has no split by grade, because it is not a sum of gains of the labels."
    scope = f"On the {attribution.queries:,} queries that all these metrics have."
    note = f"{scope} {attribution.left_out:,} more are left out." if attribution.left_out else ""
    size = (NARROW, 1.4 + 0.3 * len(attribution.grades_by_ranks.loc[attribution.metrics[0]]))
    primary = content.comparison.verdict.metrics
    figure = partial(_embed, "plot_attribution", attribution, size=size, names=content.names.labels, primary=primary)
    return Section("why", "Why", text, figure, note, narrow=True)


def _explain_pair(content: Content, attribution: Attribution) -> str:
    """Return on which grades the first model gains and loses against the second, under each metric."""
    assert content.pair is not None
    first, second = (styled("n", content.names.labels[model]) for model in content.pair[:2])
    sentences = list[str]()
    styles = assign_styles(attribution.metrics, content.comparison.verdict.metrics, "le")
    for label in label_metrics(attribution.metrics):
        net = attribution.grades_by_ranks.loc[[label.name]].droplevel(0).sum(axis=1)
        if label.name in attribution.lower_is_better:
            net = -net
        changes = []
        for verb, selected in (("gains", net > 0), ("loses", net < 0)):
            if selected.any():
                size = styled(f"b {styles[label.name]}", format_size(float(net[selected].sum())))
                changes.append(f"{verb} {size} on {_format_grades(list(map(str, net.index[selected])), len(net))}")
        change = " and ".join(changes) or "neither gains nor loses"
        subject = f"Against {second}, {first} {change} by {label.long}."
        sentences.append(f"By {label.long}, it {change}." if sentences else subject)
    return " ".join(sentences)


def _format_grades(names: list[str], number: int) -> str:
    """Write some of a number of grades."""
    if any(" to " in name for name in names):
        return f"{len(names)} of {number} ranges of grades"
    return f"grade{'s' if len(names) > 1 else ''} {join_names(names)}"


def build_rounds_section(content: Content) -> Section | None:
    """Return the section of best rounds, or None if nothing was trained or all best rounds are the same."""
    comparison, best, curves = content.comparison, content.rounds, content.comparison.curves
    if best is None or curves is None:
        return None
    metrics, names = comparison.verdict.metrics, content.names.labels
    gaps = best[f"round {metrics[0]}"].sub(best[f"round {metrics[1]}"]).abs()
    if not gaps.any():
        return None
    largest = best.iloc[int(gaps.to_numpy().argmax())]
    text = _describe_rounds(content, best, gaps, largest)
    if "compared" in best.columns:
        text += " All other numbers are those of the compared rounds."
    note = "On the validation set. Each curve is drawn minus its own best."
    if len(set(best["fold"])) > 1:
        note += " One line and one mark per training."

    options = {"candidate": largest["candidate"], "lower_is_better": comparison.lower_is_better, "names": names}
    return Section("when", "When to stop", text, partial(_embed, "plot_curves", curves, metrics, **options), note)


def _describe_rounds(content: Content, best: pd.DataFrame, gaps: pd.Series[Any], largest: pd.Series[Any]) -> str:
    """Return the number of candidates with equal rounds, and the losses of the candidate with the largest gap."""
    total, different = best["candidate"].nunique(), best.loc[gaps > 0, "candidate"].nunique()
    labels = list(zip("le", label_metrics(content.comparison.verdict.metrics), strict=True))
    has_folds = (best["candidate"] == largest["candidate"]).sum() > 1
    fold = f" ({printable(name_training(str(largest['fold'])))})" if has_folds else ""
    rounds = " and ".join(styled(f"b {style}", str(largest[f"round {label.name}"])) for style, label in labels)
    name = f"{styled('n', content.names.labels[largest['candidate']])}{fold}: rounds {rounds}"
    text, same = f"The best rounds differ for {name}.", total - different
    if total > 1:
        text = (
            f"{same or 'None'} of {total} candidates {'have' if same > 1 else 'has'} the same best round under both. "
            f"The largest gap is that of {name}."
        )
    losses = [(styled(style, format_size(largest[f"loss {label.name}"])), label.short) for style, label in labels]
    if not all(math.isfinite(largest[f"loss {label.name}"]) for _, label in labels):
        return f"{text} A metric has no value there, so the loss of stopping there is unknown."
    worse = " and ".join(f"{loss} worse by {label}" for loss, label in losses)
    return f"{text} On the validation set, stopping at the other metric's round is {worse}."


def build_gains_section(content: Content) -> Section | None:
    """Return the section of the gain path, or None unless the best model changes with the gain."""
    path = content.path
    if path is None or content.merged or len(path.winners) < 2:
        return None
    text = content.names.rewrite(f"{path.headline}.")
    figure = partial(_embed, "plot_gains", path, size=(NARROW, 3.4), names=content.names.labels)
    return Section("gains", "At which gain", text, figure, narrow=True)


def build_sensitivity_section(content: Content) -> Section | None:
    """Return the choices that would reverse pairs of models, or None without any."""
    sensitivity = content.sensitivity
    if sensitivity is None or not sensitivity.table["reversed"].any():
        return None
    text = content.names.rewrite(sensitivity.text)
    note = "Lines are intervals for other models of the same kind on the same queries."
    figure = partial(_embed, "plot_sensitivity", sensitivity)
    return Section("sensitivity", "What would change the answer", text, figure, note)


def build_queries_section(content: Content, max_queries: int) -> Section | None:
    """Return the section of queries, or None without the scores of the models."""
    queries = content.queries
    if queries is None:
        return None
    has_weight, number = queries.preferences.weights > 0, queries.contradictory
    total = pluralize(int(has_weight.sum()), "query")
    first, second = (styled("n", content.names.labels[model]) for model in queries.pair[:2])
    differing = int((queries.preferences.leads.any(axis=0) & has_weight).sum())
    text = f"On {number:,} of {total} the two metrics prefer different ones of {first} and {second}."
    if content.merged:
        text = f"{first} and {second} differ on {differing:,} of {total}."
    elif not number:
        text = f"On no query do the two metrics prefer different ones of {first} and {second}, which differ on "
        text += f"{differing:,} of {total}."
    upper, lower = label_metrics(content.comparison.verdict.metrics)
    note = "Grades from rank 1 on, stronger shades are higher, a dot is grade 0. Bars: the difference on this query"
    note += "." if content.merged else f", by {upper.short} above and by {lower.short} below."
    note += " The strongest come first. They are not typical, unlike the random sample." if number else ""
    if any(content.comparison.verdict.repeats.get(model) for model in queries.pair[:2]):
        note += " Rankings are those of a configuration's first repeat, bars those of the mean of all its repeats."
    return Section("queries", "Which queries", text, partial(_draw_queries, content, queries, max_queries), note)


def _draw_queries(content: Content, queries: Queries, most: int) -> str:
    lists, lanes = queries.select(most), 1 if content.merged else 2
    names = [content.names.labels[model] for model in queries.pair[:2]]
    if not lists:
        return ""
    largest = {
        part.name: max(abs(lead) for entry in part.entries for lead in entry.leads[:lanes]) or 1.0 for part in lists
    }
    options = {"grades": queries.grades, "most": most, "lanes": lanes, "largest": largest, "ranks": MAX_RANKS}
    return _render("query_lists", lists, names, **options)


def build_segments_section(content: Content) -> Section | None:
    """Return a small chart for each segment, all on one scale, or None without segments."""
    comparison = content.comparison
    if comparison.segments is None or content.pair is None:
        return None
    segments, order = comparison.segments, [row.model for row in content.chart.rows]
    parts = [
        (part, _build_segment_chart(content, part.verdict)) for part in segments.parts if part.verdict is not None
    ][:MAX_SEGMENTS]
    selections = []
    for _, chart in parts:
        selections.append(sorted(chart.fold(MAX_SEGMENT_ROWS)[0], key=lambda row: order.index(row.model)))
    level, axis = parts[0][1].level, parts[0][1].axis([row for selection in selections for row in selection])

    def draw() -> str:
        figures = [
            f"<div><h3>{escape(part.column)}: {escape(part.label)} "
            f'<span class="m">({pluralize(part.queries, "query")}, {100 * part.share:.0f} %)</span></h3>'
            f'<p class="mini">{as_html(chart.headline)}</p>'
            f"{_render('chart_table', chart, rows, axis, kind='small')}</div>"
            for (part, chart), rows in zip(parts, selections, strict=True)
        ]
        return f'<div class="two">{"".join(figures)}</div>'

    contrasts = " ".join(contrast.text for contrast in segments.contrasts)
    text = contrasts or NO_CONTRAST
    note = f"All on one scale, in the order of the chart above. Each interval has {level} confidence."
    more = len(segments.parts) - len(parts)
    note += f" {pluralize(more, 'segment')} more." if more else ""
    return Section("segments", "Segments", content.names.rewrite(text), draw, note)


def _build_segment_chart(content: Content, verdict: Verdict) -> Chart:
    """Return the chart of a segment, without a recommendation if there is none for all queries."""
    chart = build_verdict_chart(verdict, content.names)
    if not content.comparison.verdict.is_open or verdict.shortage:
        return chart
    rows = tuple(replace(row, starred=False) for row in chart.rows)
    return replace(chart, headline=describe_possible(verdict), rows=rows)


def build_appendix(appendix: Appendix) -> Section:
    """Return the chart of another comparison with its answer and advice, why its winners differ, and when to stop."""
    content, chart = appendix.content, appendix.content.chart

    def draw() -> str:
        sections = (build_why_section(content) if content.is_shown else None, build_rounds_section(content))
        text = " ".join(section.text for section in sections if section)
        return f'{build_chart(chart)}<p class="mini">{as_html(text)}</p>'

    text = f"{chart.headline} {chart.advice}"
    return Section(appendix.name, appendix.title, text, draw, f"{appendix.data}. {' '.join(chart.remarks)}")


def build_sections(content: Content, max_queries: int = 25) -> tuple[Section, ...]:
    """Return the sections that have something to state, in order."""
    sections = (
        build_why_section(content),
        build_gains_section(content),
        build_queries_section(content, max_queries),
        build_segments_section(content),
        build_sensitivity_section(content),
        build_rounds_section(content),
    )
    return (*(section for section in sections if section), *map(build_appendix, content.appendices))
