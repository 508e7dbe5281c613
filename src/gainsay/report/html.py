"""The report as one HTML file that needs nothing else, with its data beside it."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:  # pragma: no cover - needs an environment without Jinja2
    raise ImportError("reports need Jinja2: pip install 'gainsay[report]'") from error

from .._common.checks import check_whole
from .._common.outputs import check_output
from .._common.shown import printable
from .._common.version import __version__
from ..drawing.palette import DARK, LIGHT
from ..drawing.text import as_html, as_text
from .board import board
from .content import Content
from .document import to_json
from .full import details, notes
from .queries import csv_rows, grade_rules
from .sections import sections

if TYPE_CHECKING:
    import os

    from ..drawing.palette import Theme

TEMPLATES = Path(__file__).parent / "templates"


def write_html(content: Content, path: str | os.PathLike[str], *, queries: int = 25) -> Path:
    """Write the report: question, answer, advice and chart, why, which queries, when to stop, everything in full.

    That the path can be written is tried before the work. Which two models are explained is said in
    `gainsay.report.content.chosen_pair`. Of each list of queries at most `queries` are in the file. The data stand
    beside it: all of the comparison as JSON, of the same name with the ending ``.json``, and where more queries
    contradict than are shown all of them as CSV, with the ending ``.queries.csv``. The same comparison gives the same
    bytes.

    Parameters
    ----------
    content : Content
        What is reported.
    path : path
        The HTML file; written anew if it is there, like the files beside it.
    queries : int
        How many queries of each list to show.

    Returns
    -------
    Path
        The HTML file.

    Raises
    ------
    ImportError
        Without Jinja2: install ``gainsay[report]``.
    OSError
        Where a file cannot be written: its folder is missing or may not be written to, or it is a folder itself; or
        where the file for the data is there and is no report's, such as a model of the same name.
    ValueError
        Where `queries` is below 0.
    """
    queries, target = check_whole("queries", queries, 0), check_output("path", path)
    data = data_beside(target)
    beside, found = None, content.queries
    if found is not None and found.contradictory > queries:
        beside = check_output("path", target.with_name(f"{target.stem}.queries.csv"))
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(csv_rows(found.table))
        beside.write_bytes(written.getvalue().encode("utf-8", "replace"))
    to_json(content, data, queries=queries)
    target.write_bytes(_page(content, queries, data, beside).encode("utf-8", "replace"))
    return target


def data_beside(target: Path) -> Path:
    """Return where the data of a report go, or raise where that is another's file: nobody has named it."""
    data = check_output("path", target.with_name(f"{target.stem}.json"))
    if data.is_file():
        with data.open("rb") as file:
            start = file.read(64)
        if start.strip() and not start.removeprefix(b"{").lstrip().startswith(b'"gainsay"'):
            raise FileExistsError(
                f"path {str(target)!r}: the data of the report go to {str(data)!r}, and what is there is no report's; "
                f"name the report otherwise"
            )
    return data


def _page(content: Content, queries: int, data: Path, beside: Path | None) -> str:
    style = _ours("\n" + _style())
    script = _ours("\n" + (TEMPLATES / "report.js").read_text("utf-8"))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    chart = content.chart
    return environment.get_template("report.html.j2").render(
        title=as_text(chart.headline),
        question=_ours(as_html(chart.question)),
        headline=_ours(as_html(chart.headline)),
        advice=_ours(as_html(chart.advice)),
        searches=content.searches,
        board=_ours(board(content)),
        notes=notes(content),
        sections=[(it, _ours(as_html(it.said)), _ours(it.figure(queries))) for it in sections(content)],
        details=details(content),
        version=__version__,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        files=[(quote(file.name), printable(file.name)) for file in (data, beside) if file is not None],
    )


def _ours(text: str) -> Markup:
    """Return text that stays as it is: files of this package, and markup in which every text was escaped."""
    return Markup(text)  # nosec B704


def _style() -> str:
    """Return the style sheet: both themes, the page's own rules, the grades."""

    def rules(theme: Theme) -> str:
        return "".join(f"--{slot}:{colour};" for slot, colour in theme.colours().items())

    themes = (
        f":root{{color-scheme:light dark;{rules(LIGHT)}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{rules(DARK)}}}}}\n"
    )
    return themes + (TEMPLATES / "report.css").read_text("utf-8") + grade_rules()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
