"""The report as one self-contained HTML file, with its data in a JSON file next to it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from .._common.checks import check_whole
from .._common.markup import as_html, as_text
from .._common.outputs import check_output
from .._common.palette import DARK, LIGHT
from .._common.shown import printable
from .._common.version import __version__
from .content import Content
from .document import to_json
from .environment import TEMPLATES, chart_html, environment, trusted
from .queries import csv_rows, grade_rules
from .sections import sections
from .tables import details, means_table, notes

if TYPE_CHECKING:
    import datetime
    import os
    from pathlib import Path

    from markupsafe import Markup

    from .._common.palette import Theme
    from .tables import Section


MAX_ROWS = 12
"""Rows of the chart; models in question always have one."""


class Heading(NamedTuple):
    """Title, description of the data, and date of a report. All are optional."""

    title: str = ""
    data: str = ""
    date: datetime.date | str = ""

    @property
    def written_date(self) -> str:
        """The date as a sentence, such as "Compared on 23 November 2026 with gainsay 1.0."."""
        day = self.date
        if not day:
            return ""
        text = day if isinstance(day, str) else f"{day.day} {day:%B %Y}"
        return f"Compared on {printable(text)} with gainsay {__version__}."


def write_html(
    content: Content, path: str | os.PathLike[str], *, queries: int = 25, heading: Heading | None = None
) -> Path:
    """Write the report as one HTML file.

    `gainsay.report.content.choose_pair` chooses the two models that the report explains. The data are in files next to
    it: the whole comparison as ``.json`` and, if more queries contradict than are shown, all of them as
    ``.queries.csv``.

    Parameters
    ----------
    content : Content
        The comparison to report.
    path : path
        The HTML file. Existing files are replaced.
    queries : int
        How many queries of each list to show.
    heading : Heading, optional
        Title, description of the data, and date. By default the title is the question and the date is omitted, so
        that the same comparison gives the same bytes.

    Returns
    -------
    Path
        The HTML file.

    Raises
    ------
    ImportError
        If Jinja2 is missing. Install ``gainsay-ltr[report]``.
    OSError
        If a file cannot be written, or if the file for the data exists and does not belong to a report.
    ValueError
        If `queries` is negative.
    """
    queries, target = check_whole("queries", queries, 0), check_output("path", path)
    data = find_data_path(target)
    beside, found = None, content.queries
    if found is not None and found.contradictory > queries:
        beside = find_queries_path(target)
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(csv_rows(found.table))
        beside.write_bytes(written.getvalue().encode("utf-8", "replace"))
    to_json(content, data, queries=queries)
    target.write_bytes(_page(content, queries, heading or Heading(), data, beside).encode("utf-8", "replace"))
    return target


def find_data_path(target: Path) -> Path:
    """Return the path of the data of a report, or raise if a file of the user has this name."""
    return _find_path(target, "json", rb'\s*\{\s*"gainsay"')


def find_queries_path(target: Path) -> Path:
    """Return the path of the contradictory queries of a report, or raise if a file of the user has this name."""
    return _find_path(target, "queries.csv", rb"query,contradiction strength,")


def _find_path(target: Path, suffix: str, start: bytes) -> Path:
    """Return the path of a file next to a report. An existing file is only replaced if it begins like our own."""
    path = check_output("path", target.with_name(f"{target.stem}.{suffix}"))
    if path.is_file():
        with path.open("rb") as file:
            content = file.read(256)
        if content.strip() and not re.match(start, content):
            raise FileExistsError(
                f"path {str(target)!r}: data of the report go to {str(path)!r}, but this file is not from a report. "
                "Choose another name for the report."
            )
    return path


def _page(content: Content, queries: int, heading: Heading, data: Path, beside: Path | None) -> str:
    style = trusted("\n" + _style())
    script = trusted("\n" + (TEMPLATES / "report.js").read_text("utf-8"))
    chart = content.chart
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            page_title=as_text(heading.title or chart.headline),
            title=printable(heading.title) if heading.title else "",
            question=trusted(as_html(chart.question)),
            data=_end_sentence(printable(heading.data)) if heading.data else "",
            date=heading.written_date,
            headline=trusted(as_html(chart.headline)),
            advice=trusted(as_html(chart.advice)),
            searches=content.searches,
            chart=trusted(chart_html(chart, MAX_ROWS, link="#models")) if chart.rows else "",
            legend=[*chart.notes, *content.same_number],
            metrics=None if chart.rows else means_table(content.comparison),
            notes=notes(content),
            rows=_section_rows(content, queries),
            details=details(content),
            version=__version__,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            files=[(quote(file.name), printable(file.name)) for file in (data, beside) if file is not None],
        )
    )


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _section_rows(content: Content, queries: int) -> list[list[tuple[Section, Markup, Markup]]]:
    """Return the sections with text and figure, row by row. Two narrow sections share a row."""
    rows: list[list[tuple[Section, Markup, Markup]]] = []
    for section in sections(content):
        entry = section, trusted(as_html(section.text)), trusted(section.figure(queries))
        previous = rows[-1] if rows else []
        if len(previous) == 1 and all(part.narrow for part, _, _ in (*previous, entry)):
            previous.append(entry)
        else:
            rows.append([entry])
    return rows


def _style() -> str:
    """Return the style sheet: both themes, the page's own rules, the grades."""

    def rules(theme: Theme) -> str:
        return "".join(f"--{slot}:{colour};" for slot, colour in theme.colours().items())

    themes = (
        f":root{{color-scheme:light dark;{rules(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{rules(DARK)}}}}}\n"
    )
    return (
        themes + "".join((TEMPLATES / name).read_text("utf-8") for name in ("chart.css", "report.css")) + grade_rules()
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
