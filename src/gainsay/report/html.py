"""The report as one self-contained HTML file, with its data in a JSON file next to it."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from .._common import __version__
from .._common.shown import as_html, as_text, printable
from .._common.theme import DARK, LIGHT
from .._common.validation import validate_integer, validate_output
from .content import Content
from .document import to_json
from .environment import TEMPLATES, build_chart, get_environment, trusted
from .queries import build_grade_rules
from .sections import build_sections
from .tables import build_details, build_leaderboard, list_notes

if TYPE_CHECKING:
    import datetime
    import os
    from pathlib import Path

    from .._common.theme import Theme


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

    `gainsay.report.content.choose_pair` chooses the two models that the report explains. All numbers are in a ``.json``
    file next to it.

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
    queries, target = validate_integer("queries", queries, 0), validate_output("path", path)
    data = find_data_path(target)
    to_json(content, data, queries=queries)
    target.write_bytes(_build_page(content, queries, heading or Heading(), data).encode("utf-8", "replace"))
    return target


def find_data_path(target: Path) -> Path:
    """Return the path of the data of a report, or raise if a file of the user has this name.

    An existing file is only replaced if it begins like the data of a report.
    """
    path = validate_output("path", target.with_suffix(".json"))
    if path.is_file():
        with path.open("rb") as file:
            start = file.read(256)
        if start.strip() and not re.match(rb'\s*\{\s*"gainsay"', start):
            raise FileExistsError(
                f"path {str(target)!r}: data of the report go to {str(path)!r}, but this file is not from a report. "
                "Choose another name for the report."
            )
    return path


def _build_page(content: Content, queries: int, heading: Heading, data: Path) -> str:
    style = trusted("\n" + _style())
    script = trusted("\n" + (TEMPLATES / "report.js").read_text("utf-8"))
    chart = content.chart
    return (
        get_environment()
        .get_template("report.html.j2")
        .render(
            page_title=as_text(heading.title or chart.headline),
            title=printable(heading.title) if heading.title else "",
            question=trusted(as_html(chart.question)),
            data=_end_sentence(printable(heading.data)) if heading.data else "",
            date=heading.written_date,
            headline=trusted(as_html(chart.headline)),
            advice=trusted(as_html(chart.advice)),
            chart=trusted(build_chart(chart, MAX_ROWS, link="#models")) if chart.rows else "",
            legend=[*chart.notes, *content.same_number],
            means=None if chart.rows else build_leaderboard(content.comparison),
            notes=list_notes(content),
            sections=[
                (section, trusted(as_html(section.text)), trusted(section.draw(queries) if section.draw else ""))
                for section in build_sections(content)
            ],
            details=build_details(content),
            version=__version__,
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
            file=(quote(data.name), printable(data.name)),
        )
    )


def _end_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _style() -> str:
    """Return the style sheet: both themes, the page's own rules, the grades."""

    def rules(theme: Theme) -> str:
        return "".join(f"--{slot}:{colour};" for slot, colour in theme.colours().items())

    themes = (
        f":root{{color-scheme:light dark;{rules(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{rules(DARK)}}}}}\n"
    )
    return (
        themes
        + "".join((TEMPLATES / name).read_text("utf-8") for name in ("chart.css", "report.css"))
        + build_grade_rules()
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
