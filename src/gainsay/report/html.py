"""The report as one self-contained HTML file, with its data in a JSON file next to it."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from .._common import __version__
from .._common.text import as_html, as_text, printable
from .._common.theme import DARK, LIGHT
from .._common.validation import validate_integer, validate_output
from .document import to_json
from .rendering import TEMPLATES, build_chart, get_environment
from .sections import build_sections
from .tables import build_details, build_leaderboard, list_notes

if TYPE_CHECKING:
    import datetime
    import os
    from pathlib import Path

    from .content import Content


MAX_ROWS = 12
"""Rows of the chart; models in question always have one."""


def write_html(
    content: Content,
    path: str | os.PathLike[str],
    *,
    queries: int = 25,
    title: str = "",
    data: str = "",
    date: datetime.date | str = "",
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
        If Jinja2 is missing. Install ``gainsay-ltr[report]``.
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
        page_title=as_text(title or chart.headline),
        title=printable(title or ""),
        question=as_html(chart.question),
        data=data if data.endswith((".", "!", "?")) or not data else f"{data}.",
        date=f"Compared on {printable(day)} with gainsay {__version__}." if day else "",
        headline=as_html(chart.headline),
        advice=as_html(chart.advice),
        chart=build_chart(chart, MAX_ROWS, link="#models") if chart.rows else "",
        legend=[*chart.notes, *content.same_number],
        means=None if chart.rows else build_leaderboard(content.comparison),
        notes=list_notes(content),
        sections=[
            (section, as_html(section.text), section.draw() if section.draw else "")
            for section in build_sections(content, queries)
        ],
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
        if start.strip() and not re.match(rb'\s*\{\s*"gainsay"', start):
            raise FileExistsError(
                f"path {str(target)!r}: data of the report go to {str(path)!r}, but this file is not from a report. "
                "Choose another name for the report."
            )
    return path


def _build_style() -> str:
    """Return the style sheet: both themes, the page's own rules, the grades."""
    light, dark = ("".join(f"--{slot}:{color};" for slot, color in theme.colours().items()) for theme in (LIGHT, DARK))
    themes = (
        f"\n:root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
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
