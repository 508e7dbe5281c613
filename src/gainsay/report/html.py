"""A comparison as one HTML page that needs nothing else to be read: no network, no other file."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:  # pragma: no cover - needs an environment without Jinja2
    raise ImportError("reports need Jinja2: pip install 'gainsay[report]'") from error

from .._common.outputs import check_output
from .._common.shown import printable
from .content import Content, gather
from .plots.accessor import Plots
from .plots.heatmaps import plot_attribution
from .plots.style import grade_colours
from .svg import Picture, Pictures, theme_rules

if TYPE_CHECKING:
    import os

    import pandas as pd

    from ..comparison.findings import Findings

__all__ = ["write_html"]

TEMPLATES = Path(__file__).parent / "templates"

MOST_MODELS_IN_PICTURES = 60
"""Beyond so many models, pictures with a line or a row per model are left out."""


def write_html(comparison: Findings, path: str | os.PathLike[str], *, queries: int = 50) -> Path:
    """Write the report: verdict, leaderboard, pairs, why, which queries, when, method, glossary.

    That the path can be written is tried before the work. Which two models are explained is said in
    `gainsay.report.chosen.chosen_pair`. At most `queries` contradictory queries are in the file; where there are more,
    all of them are written to a CSV file beside it, of the same name with the ending ``.queries.csv``. The same
    comparison gives the same bytes.

    Parameters
    ----------
    comparison : Findings
        What is reported.
    path : path
        The HTML file; written anew if it is there.
    queries : int
        How many queries to show.

    Returns
    -------
    Path
        The HTML file.

    Raises
    ------
    ImportError
        Without Jinja2 or Matplotlib: install ``gainsay[report]``.
    OSError
        Where the file cannot be written: its folder is missing or may not be written to, or it is a folder itself.
    """
    target = check_output("path", path)
    content = gather(comparison, queries)
    beside = None
    if content.contradiction_table is not None and content.contradiction_count > len(content.contradictions):
        beside = check_output("path", target.with_name(f"{target.stem}.queries.csv"))
        beside.write_bytes(_csv(content.contradiction_table))
    page = _page(comparison, content, beside)
    target.write_bytes(page.encode("utf-8", "replace"))
    return target


def _page(comparison: Findings, content: Content, beside: Path | None) -> str:
    names = {name: short for name, short in comparison.short_names.items() if short != printable(name)}
    pictures, plots = Pictures(names), Plots(comparison)
    drawn = _pictures(pictures, plots, comparison, content)
    curves = [pictures.draw(partial(plots.curves, name)) for name in content.torn]
    style = _ours("\n" + _style(pictures, content))
    script = _ours("\n" + (TEMPLATES / "report.js").read_text("utf-8"))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        content=content,
        pictures={name: picture._replace(svg=_ours(picture.svg)) for name, picture in drawn.items()},
        curves=[picture._replace(svg=_ours(picture.svg)) for picture in curves],
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        beside=None if beside is None else (quote(beside.name), printable(beside.name)),
    )


def _ours(text: str) -> Markup:
    """Return text that stays as it is: files of this package, and pictures, whose text ElementTree has escaped."""
    return Markup(text)  # nosec B704


def _pictures(pictures: Pictures, plots: Plots, comparison: Findings, content: Content) -> dict[str, Picture]:
    if content.pairs is None:
        return {}
    drawn = {"regret": pictures.draw(plots.regret)}
    if len(comparison.models) <= MOST_MODELS_IN_PICTURES:
        drawn["ranks"] = pictures.draw(plots.ranks)
        drawn["pairs"] = pictures.draw(plots.pairs)
    drawn["conflict"] = pictures.draw(plots.conflict)
    attribution = content.attribution
    if attribution is not None:
        drawn["why"] = pictures.draw(partial(plot_attribution, attribution, names=comparison.short_names))
    return drawn


def _style(pictures: Pictures, content: Content) -> str:
    """Return the style sheet: the page's own, both themes, the grades, the pictures."""
    light, dark = theme_rules("light"), theme_rules("dark")
    grades = "".join(
        f".g{number}{{background:{shade};color:{ink}}}\n"
        for number, (shade, ink) in enumerate(grade_colours(content.grades) if content.grades <= 100 else [])
    )
    themes = (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
    return themes + (TEMPLATES / "report.css").read_text("utf-8") + grades + pictures.rules()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _csv(table: pd.DataFrame) -> bytes:
    """Return all contradictory queries as CSV; labels stand side by side, parted by blanks."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow([_harmless(printable(str(name))) for name in table.columns])
    for row in table.itertuples(index=False):
        rows.writerow([_cell(value) for value in row])
    return written.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return " ".join(f"{grade:g}" for grade in value)
    return _harmless(value) if isinstance(value, str) else value


def _harmless(text: str) -> str:
    """Return text that a spreadsheet takes for text, not for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
