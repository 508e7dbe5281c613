"""The colors of all pictures in two themes, and HTML for the cells of notebooks in the colors of the notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from .validation import validate_choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Theme:
    """Colors, by default those of the light theme.

    Blue is the first metric, orange the second, gray any other. Every color comes with a marker or a sign.

    `bar` is the color of intervals, `rule` of lines between parts, `grid` of faint lines, `shade` of distinct areas,
    `band` of differences within the margin, `hover` of selected controls.
    """

    name: str = "light"
    face: str = "#ffffff"
    ink: str = "#1a1e24"
    muted: str = "#5d6672"
    rule: str = "#dfe3e8"
    grid: str = "#e6eaee"
    shade: str = "#f1f4f8"
    hover: str = "#e3e9f0"
    band: str = "#e9f1e9"
    first: str = "#1b6ab3"
    second: str = "#d96400"
    third: str = "#4a525d"
    fourth: str = "#858e99"
    first_text: str = "#15599a"
    second_text: str = "#a84c00"
    first_bar: str = "#6397cb"
    second_bar: str = "#d9823c"

    def build_rules(self, prefixes: str | tuple[str, ...] = "") -> str:
        """Return the colors whose names start with one of the prefixes as custom properties of a style sheet."""
        colors = {name.replace("_", "-"): color for name, color in vars(self).items() if name != "name"}
        return "".join(f"--{name}:{color};" for name, color in colors.items() if name.startswith(prefixes))


LIGHT = Theme()
DARK = Theme(
    name="dark",
    face="#14171c",
    ink="#e9ecef",
    muted="#9da7b3",
    rule="#333a43",
    grid="#2a313a",
    shade="#1e242c",
    hover="#2a323c",
    band="#1c2a1f",
    first="#5aa9f0",
    second="#f5953d",
    third="#b3bcc6",
    fourth="#737e8b",
    first_text="#7dbcf5",
    second_text="#f8ac66",
    first_bar="#4a80b3",
    second_bar="#b3743a",
)


def theme_named(theme: str) -> Theme:
    """Return the light or the dark theme, or raise an error for other names."""
    validate_choice("theme", theme, ("light", "dark"))
    return LIGHT if theme == "light" else DARK


def choose_terminal_colors(color_system: str | None) -> dict[str, str]:
    """Return the colors of both metrics as text in a terminal, with a contrast of 3:1 or more on black and white.

    Terminals with 16 colors choose the colors of names. Blue and yellow of some of them are illegible.
    """
    if color_system in ("standard", "windows"):
        return {"first": "bright_blue", "second": "magenta"}
    return {"first": "#2d80c9", "second": "#cb5f0e"}


_METRICS = ("first", "second")
_STYLE = (
    ".gainwise{--ink:var(--jp-content-font-color1,var(--vscode-editor-foreground,currentColor));"
    "--muted:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#6b7480));"
    "--face:var(--jp-layout-color0,var(--vscode-editor-background,var(--colab-primary-surface-color,#fff)));"
    f"--grid:#8883;--shade:#8881;--band:#3a32;{LIGHT.build_rules(_METRICS)}"
    "max-width:880px;color:var(--ink);font:13px/1.35 var(--jp-content-font-family,system-ui,sans-serif);"
    "font-variant-numeric:tabular-nums}"
    '[data-jp-theme-light="false"] .gainwise,body.vscode-dark .gainwise,html[theme="dark"] .gainwise,'
    f'html[data-theme="dark"] .gainwise{{{DARK.build_rules(_METRICS)}}}'
    ".gainwise p{margin:0}.gainwise .a{font-size:16px}.gainwise .l{color:var(--first-text)}"
    ".gainwise .e{color:var(--second-text)}.gainwise .m{color:var(--muted)}"
    # JupyterLab styles tables with a fixed layout, stripes and right alignment. `.gainwise.gainwise` has priority.
    ".gainwise.gainwise table{table-layout:auto;border-collapse:collapse;border:0;margin:2px 0 0;font-size:13px}"
    ".gainwise.gainwise tbody tr:nth-child(n){background:none}"
    ".gainwise.gainwise table tr>*{padding:0 10px 0 0;border:0;white-space:nowrap;text-align:left;font-weight:400;"
    "line-height:inherit;vertical-align:middle}.gainwise.gainwise table.t tr>*{padding:1px 20px 1px 0}"
    ".gainwise.gainwise table.t thead th{color:var(--muted)}"
    ".gainwise svg{display:block;overflow:visible}"
)


def scoped(inner: str, style: str = "") -> str:
    """Return HTML with the styles of all cells of gainwise and additional rules."""
    return f'<div class="gainwise"><style>{_STYLE}{style}</style>{inner}</div>'


def table_cell(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], *notes: str) -> str:
    """Return a small table as HTML, between its title and notes."""

    def row(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    table = f'<table class="t"><thead>{row(head, "th")}</thead><tbody>{body}</tbody></table>'
    text = "".join(f'<p class="m">{escape(note)}</p>' for note in notes if note)
    return scoped(f'<p class="a"><strong>{escape(title)}</strong></p>{table}{text}')
