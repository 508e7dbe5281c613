"""A comparison as a file: one self-contained HTML page, Markdown or JSON. Also the cell of a notebook.

The JSON document is one object. All keys are present unless stated otherwise, and missing values are null. Numbers
that are not finite (bounds from a single query) are null.

- ``gainwise``: version that wrote the document. ``schema``: 4, increased if a key changes its meaning or is removed.
- ``kernel``: "compiled" or "numpy", how this process evaluates metrics. Both give the same values.
- ``models``, ``metrics``: lists of names. ``primary``: the two metrics that may disagree, or null if
  there is a single metric. ``lower_is_better``: the metrics that are losses.
- ``missing``: list of sentences, one for each model that could not be compared.
- ``unjudged``: object of ``shares`` (by metric judged@k and model), ``retrieved`` and ``unjudged`` (by model), and
  ``handling``, or null without TREC runs. ``notes``: list of sentences about queries that only the runs or only the
  judgments contain. A share that is not a metric is also in ``leaderboard``, without rank.
- ``selected``: name of the model selected on a validation set, or null.
- ``searched``: number of candidates that it was selected from, or that these queries selected the models from if
  ``selected`` is null. Present only if it was passed.
- ``queries``: number with a value under some metric. ``metric_queries``: the number for each metric.
- ``iterations``: object by model of ``used``, ``held``, ``reason`` for every booster: the boosting rounds used, the
  rounds of the model, and the reason (``best``, ``all``).
- ``settings``: object of ``alpha``, ``margin``, ``draws``, ``seed``.
- ``chance``: object by metric of the mean in random order, by model.
- ``leaderboard``: object by model of, for each metric M, ``M``, ``M rank``, ``M lower``, ``M upper``, ``M queries``.
- ``winners``: object by metric.
- ``verdict``: object, see `Verdict`. ``text`` is its paragraph.
- ``pairs``: list of objects, see `Comparison.pairs`. If there are more than 500 pairs, the 500 clearest conflicts and
  differences, with the columns of the primary metrics only. ``pairs_left_out``: how many pairs are left out. ``flags``
  of a verdict have at most 50 pairs each, and ``pairs_left_out``.
- ``why``: object of ``pair`` (first, second), ``reason``, and ``attribution`` (see `Attribution.to_dict`, or null).
- ``contradictions``: object of ``count`` and ``queries``, the strongest of them: a list of objects, see
  `contradictory_queries`.
- ``against``: object, see `BaselineComparison.to_dict`: decisions about a baseline, or null without one.
- ``segments``: object, see `Segments.to_dict`, or null without them. ``gains``: object, see `GainPath.to_dict`, or null
  if the metrics are not two gains of one NDCG, or if the comparison is too large for a default path.
- ``sensitivity``: object, see `Sensitivity.to_dict`, or null with fewer than five models or 30 queries, or if the
  comparison is too large.
- ``appendices``: other comparisons in the report, by name, each an object like this one, or null.
- ``curves``: list of objects ``candidate``, ``fold``, ``round``, ``metric``, ``value``. ``best_rounds``: list of
  objects, see `gainwise.report.content.best_rounds`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import asdict
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from .._common import __version__
from .._common.text import agree, as_html, as_text, format_mean, plain, pluralize, printable
from .._common.theme import DARK, LIGHT, scoped, table_cell
from .._common.validation import validate_integer, validate_output
from .._kernel.config import find_library
from ..comparison.baseline import format_decision
from ..comparison.verdict import format_sample_size
from .sections import TEMPLATES, build_chart, build_sections, get_environment
from .tables import (
    Table,
    build_chart_table,
    build_details,
    build_leaderboard,
    describe_leaders,
    list_change_columns,
    list_notes,
)

if TYPE_CHECKING:
    import datetime
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from .._common.typing import FilePath
    from ..comparison.baseline import BaselineComparison
    from .content import Content

SCHEMA = 4

MAX_GATE_ROWS = 4
"""Changes in segments in the Markdown of a decision."""

MAX_MARKDOWN_ROWS = 12
"""Rows of each table in Markdown for a pull request."""

LONG_DETAILS = ("verdict", "against")
"""Details that Markdown contains only in full."""

MAX_FLAG_PAIRS = 50
"""Pairs of models in a flag. There may be hundreds of thousands."""


def write_html(
    content: Content, path: FilePath, queries: int = 25, title: str = "", data: str = "", date: datetime.date | str = ""
) -> Path:
    """Write the report as one HTML file.

    `gainwise.report.content.choose_pair` chooses the two models that the report explains. All numbers are in a
    ``.json`` file next to it.

    Parameters
    ----------
    content : Content
        The comparison to report.
    path : path
        The HTML file. Existing files are replaced.
    queries : int
        How many queries of each list to show.
    title, data, date : optional
        Title, description of the data, and date. By default the title is the question and the date is omitted, so
        that the same comparison gives the same bytes.

    Returns
    -------
    Path
        The HTML file.

    Raises
    ------
    ImportError
        If Jinja2 is missing.
    OSError
        If a file cannot be written, or if the file for the data exists and does not belong to a report.
    ValueError
        If `queries` is negative.
    """
    template = get_environment().get_template("report.html.j2")
    queries, target = validate_integer("queries", queries, 0), validate_output("path", path)
    numbers = find_data_path(target)
    to_json(content, numbers, queries=queries)
    style, chart = _build_style(), content.chart
    script = "\n" + (TEMPLATES / "report.js").read_text("utf-8")
    day = date or "" if isinstance(date, str | None) else f"{date.day} {date:%B %Y}"
    data = printable(data or "")
    page = template.render(
        chart=chart,
        page_title=as_text(title or chart.headline),
        title=printable(title or ""),
        data=data if data.endswith((".", "!", "?")) or not data else f"{data}.",
        date=f"Compared on {printable(day)} with gainwise {__version__}." if day else "",
        figure=build_chart(chart, link="#models") if chart.rows else "",
        legend=[*chart.legend, *content.same_number] if chart.rows else [],
        means=None if chart.rows else build_leaderboard(content),
        notes=list_notes(content),
        sections=build_sections(content, queries),
        details=build_details(content),
        version=__version__,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        file=(quote(numbers.name), printable(numbers.name)),
    )
    target.write_bytes(page.encode("utf-8", "replace"))
    return target


def find_data_path(target: Path) -> Path:
    """Return the path of the data of a report, or raise if a file of the user has this name.

    An existing file is only replaced if it begins like the data of a report.
    """
    path = validate_output("path", target.with_suffix(".json"))
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(256)
        if start.strip() and not re.match(rb'\s*\{\s*"gainwise"', start):
            raise FileExistsError(
                f"path {str(target)!r}: data of the report go to {str(path)!r}, but this file is not from a report. "
                "Choose another name for the report."
            )
    return path


def _build_style() -> str:
    """Return the style sheet: both themes, the page's own rules, the grades."""
    themes = (
        f"\n:root{{color-scheme:light dark;{LIGHT.build_rules()}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{DARK.build_rules()}}}}}\n"
    )
    rules = "".join((TEMPLATES / name).read_text("utf-8") for name in ("chart.css", "report.css"))
    return themes + rules + _build_grade_rules()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _build_grade_rules() -> str:
    """Return the style of grades: 21 strengths without medium ones, because text on them would not be legible."""
    rules = []
    for step in range(21):
        ink = float(np.interp(step / 20, [0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 11.0, 27.0, 64.0, 100.0]))
        ink = 64.0 if 46 < ink < 64 else ink
        light = "" if ink < 50 else ";color:var(--face)"
        rules.append(f".gr .g{step}{{background:color-mix(in srgb,var(--ink) {ink:.0f}%,var(--face)){light}}}")
    return "\n".join(rules) + "\n.gr .g0{color:var(--muted);font-weight:400;box-shadow:inset 0 0 0 1px var(--rule)}\n"


def build_notebook_cell(content: Content) -> str:
    """Return the answer, the chart and reservations."""
    comparison, chart = content.comparison, content.chart
    notes = [*content.same_number, *list_notes(content)]
    if len(comparison.models) == 1:
        means = (f"{metric} {format_mean(comparison.leaderboard[metric].iloc[0])}" for metric in comparison.metrics)
        notes.insert(0, f"Means: {', '.join(means)}.")
    try:
        figure = build_chart(chart) if chart.rows else ""
    except ImportError:
        table = build_chart_table(chart, chart.fold()[0])
        rows = [[f"{cell.text} ({cell.note})" if cell.note else cell.text for cell in row] for row in table.rows]
        heads = [column.label for column in table.columns]
        return table_cell(as_text(chart.headline), heads, rows, as_text(chart.advice), *notes)
    lines = [escape(" ".join(chart.legend))] if figure else []
    lines += [*map(escape, notes), 'All models, pairs and queries: <code>comparison.to_html("report.html")</code>']
    advice = f'<p class="d">{as_html(chart.advice)}</p>' if chart.advice else ""
    text = "".join(f'<p class="m">{line}</p>' for line in lines)
    return scoped(f'<p class="a"><strong>{as_html(chart.headline)}</strong></p>{advice}{figure}{text}', _chart_style())


@cache
def _chart_style() -> str:
    """Return the rules of the chart, nested for cells of notebooks only.

    JupyterLab styles tables with more specific selectors, so the class of the cell is repeated.
    """
    rules = (TEMPLATES / "chart.css").read_text("utf-8").replace("\n", "")
    return f".gainwise.gainwise{{{rules}.d{{margin:2px 0 10px}}& p.m{{margin-top:4px}}}}"


def to_markdown(content: Content, path: FilePath | None = None, *, full: bool = False) -> str:
    """Return the report as Markdown for a pull request, and write it to `path` if there is one.

    It contains the decision, the chart as a table, and folded tables of limited length. With `full`, all models, all
    tables and all sections are included.

    Raises
    ------
    OSError
        If the file cannot be written, which is checked first.
    """
    target = None if path is None else validate_output("path", path)
    text = "\n".join(_write_markdown(content, full)) + "\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _write_markdown(content: Content, full: bool) -> Iterator[str]:
    chart, notes = content.chart, list_notes(content)
    yield f"### {escape_markdown(as_text(chart.headline))}"
    yield from ["", escape_markdown(as_text(chart.advice))] if chart.advice else []
    if chart.rows:
        rows, rest = (chart.rows, "") if full else chart.fold()
        yield from _write_table(build_chart_table(chart, rows))
        legend = [*filter(None, [rest and f"{rest}.", chart.star])]
        legend += [f"All names also have: {chart.names.shared}."] if chart.names.shared else []
        yield f"\n{escape_markdown(' '.join([*legend, *describe_leaders(content), *content.same_number]))}".rstrip()
    yield from ["", *(f"- {escape_markdown(note)}" for note in notes)] if notes else []
    details = build_details(content)
    if not full:
        details = tuple(detail for detail in details if detail.name not in LONG_DETAILS)
        titles = ", ".join(detail.title for detail in details)
        yield f"\n<details><summary>{escape(titles)}</summary>"
    for section in build_sections(content):
        yield f"\n#### {escape_markdown(section.title)}\n\n{escape_markdown(as_text(section.text))}"
    for detail in details:
        yield f"\n#### {detail.title}" + ("\n" if detail.sentences else "")
        yield from ["\n\n".join(map(escape_markdown, detail.sentences))] if detail.sentences else []
        for table in detail.tables:
            yield from _write_table(table, None if full else MAX_MARKDOWN_ROWS)
        yield from (f"- **{escape_markdown(term)}**: {escape_markdown(meaning)}" for term, meaning in detail.terms)
    yield from [] if full else ["\n</details>"]
    comparison = content.comparison
    yield f"\n<sub>{escape(as_text(chart.question))} gainwise {__version__}, seed {comparison.settings.seed}</sub>"


def build_gate_markdown(result: BaselineComparison, candidate: str) -> str:
    """Return the decision about a candidate as about ten lines of Markdown for a pull request.

    The table contains all metrics, and the segments in which a loss is not excluded.
    """
    decided = result.find_candidate(candidate)
    names = {name: name for name in (result.baseline, candidate)}
    whole = [change for change in decided.changes if not change.segment]
    inside = [change for change in result.list_changes(decided) if change.segment]
    unsafe = sorted((change for change in inside if change.status != "within"), key=lambda one: -one.excess)
    shown = [*whole, *unsafe[:MAX_GATE_ROWS]]
    size = format_sample_size(result.queries, result.clusters)
    caption = f"{candidate} minus {result.baseline}, {size}, one-sided bounds at {result.one_sided_confidence} each"
    sentences = [result.describe_margins()]
    if result.segments:
        number = len(result.segments) - len({change.segment for change in unsafe})
        sentences.append(f"A loss beyond the margins is excluded in {number} of {len(result.segments)} segments.")
    is_repeatable = result.looks or result.bounds == "betting"
    sentences.append(result.describe_next_step(decided) if is_repeatable else result.describe_needs(decided))
    flags = (flag.message for flag in result.flags if candidate in flag.models)
    sentences += [result.describe_repeated_tests(), *flags]
    return "\n".join(
        [
            f"### {escape_markdown(printable(as_text(format_decision(result, decided, names))))}",
            *_write_table(Table(printable(caption), list_change_columns(result, decided, shown))),
            f"\n{escape_markdown(printable(' '.join(sentences)))}".rstrip(),
        ]
    )


def _write_table(table: Table, limit: int | None = None) -> Iterator[str]:
    """Yield the first rows of a table below its caption. Notes of cells follow in parentheses."""
    yield f"\n*{escape_markdown(table.caption)}*\n"
    yield _row(escape_markdown(column.label) for column in table.columns)
    yield _row("---:" if column.numeric else ":---" for column in table.columns)
    for cells in table.rows[:limit]:
        texts = (f"**{escape_markdown(cell.text)}**" if cell.strong else escape_markdown(cell.text) for cell in cells)
        notes = (f" ({escape_markdown(cell.note)})" if cell.note else "" for cell in cells)
        yield _row(text + note for text, note in zip(texts, notes, strict=True))
    more = 0 if limit is None else len(table.rows) - limit
    if more > 0:
        yield f"\n{pluralize(more, 'more row')} {agree(more, 'are')} in the HTML report."


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    r"""Escape everything in a text that Markdown or HTML would interpret.

    >>> print(escape_markdown("a|b <i>_c_</i>"))
    a\|b &lt;i&gt;\_c\_&lt;/i&gt;
    >>> print(escape_markdown("https://example.org"))
    https&#58;//example.org
    """
    text = re.sub(r"([\\`*_{}\[\]|#~$])", r"\\\1", escape(text, quote=False))
    # GitHub makes links of bare addresses.
    return re.sub(r"(?i)(?<=\bwww)\.", "&#46;", text.replace("://", "&#58;//"))


def to_json(content: Content, path: FilePath | None = None, *, queries: int = 50) -> str:
    """Return a comparison as JSON, and write it to `path` if there is one.

    Parameters
    ----------
    content : Content
        The report to write.
    path : path, optional
        The JSON file.
    queries : int
        How many contradictory queries to list.

    Raises
    ------
    OSError
        If the file cannot be written, which is checked first.
    ValueError
        If `queries` is negative.
    """
    queries = validate_integer("queries", queries, 0)
    target = None if path is None else validate_output("path", path)
    text = _encode(build_document(content, queries)) + "\n"
    if target is not None:
        target.write_bytes(text.encode("utf-8", "replace"))
    return text


def _encode(value: Any, levels: int = 2) -> str:
    """Return a value as JSON with one line per entry of the outer levels.

    Deeper levels are not indented: Python's indenting encoder is ten times slower than its C encoder.
    """
    if levels and value and isinstance(value, list):
        return "[\n" + ",\n".join(_encode(item, levels - 1) for item in value) + "\n]"
    if levels and value and isinstance(value, dict):
        lines = (f"{_encode(key)}: {_encode(item, levels - 1)}" for key, item in value.items())
        return "{\n" + ",\n".join(lines) + "\n}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def build_document(content: Content, queries: int = 50) -> dict[str, Any]:
    """Return the document as plain dicts, lists, strings and numbers."""
    comparison, pair = content.comparison, content.pair
    head = {
        "gainwise": __version__,
        "schema": SCHEMA,
        "kernel": find_library().path,
        "primary": comparison.primary,
        "lower_is_better": comparison.lower_is_better,
        "verdict": None,
        "pairs": None,
        "pairs_left_out": 0,
        "segments": None,
        "selected": None,
    }
    explanations = {
        "settings": asdict(comparison.settings),
        "why": None if pair is None else {"pair": pair[:2], "reason": pair.reason, "attribution": content.attribution},
        "contradictions": None,
        "against": content.against,
        "gains": content.path,
        "sensitivity": content.sensitivity,
        "appendices": None,
        "curves": comparison.curves,
        "best_rounds": content.rounds,
    }
    document: dict[str, Any] = {**plain(head), **comparison.to_dict(all_pairs=False), **plain(explanations)}
    if comparison.primary is not None:
        limit_flags(document["verdict"])
        document["pairs_left_out"] = comparison._pair_count - len(document["pairs"])
    for segment in (document["segments"] or {"segments": ()})["segments"]:
        if segment["verdict"] is not None:
            limit_flags(segment["verdict"])
    if content.queries is not None and pair is not None:
        strongest = comparison.queries(pair.first, pair.second, most=max(1, queries)).head(queries)
        document["contradictions"] = {"count": content.queries.contradictory, "queries": plain(strongest)}
    if content.appendices:
        document["appendices"] = {part.name: build_document(part.content, queries) for part in content.appendices}
    return document


def limit_flags(verdict: dict[str, Any]) -> None:
    """Limit the pairs of models in the flags of a verdict, in place, and add how many are left out."""
    for flag in verdict["flags"]:
        flag["pairs_left_out"] = max(0, len(flag["pairs"]) - MAX_FLAG_PAIRS)
        flag["pairs"] = flag["pairs"][:MAX_FLAG_PAIRS]
