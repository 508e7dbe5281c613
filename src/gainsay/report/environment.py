"""The templates, and the main chart as HTML, which reports, notebooks and segments share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:  # pragma: no cover - needs an environment without Jinja2
    raise ImportError("reports need Jinja2: pip install 'gainsay-ltr[report]'") from error

from .._common.words import format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .chart import Axis, Chart, Row

TEMPLATES = Path(__file__).parent / "templates"


@cache
def get_environment() -> jinja2.Environment:
    """Return the environment of all templates, which escapes everything by default."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    return environment


def trusted(text: str) -> Markup:
    """Mark text as safe: files of this package, and markup whose texts are escaped already."""
    return Markup(text)  # nosec B704


def build_chart(chart: Chart, limit: int, *, link: str = "", height: int = 0) -> str:
    """Return the chart as a table of `limit` rows and all rows in question. `link` is the target of the rest."""
    rows, rest = chart.folded(limit)
    height = height or (42 if len(rows) <= 4 else 34)
    return render("chart.html.j2", "chart_table", chart, rows, chart.axis(rows), height, rest=rest, link=link)


def build_small_chart(chart: Chart, rows: Sequence[Row], axis: Axis) -> str:
    """Return some rows of a chart as a small table without a head, on the given axis."""
    return render("chart.html.j2", "chart_table", chart, rows, axis, 26, heads=False, kind="small")


def render(template: str, macro: str, *arguments: object, **options: object) -> str:
    """Return the text of a macro of a template."""
    module = get_environment().get_template(template).module
    return str(getattr(module, macro)(*arguments, **options))
