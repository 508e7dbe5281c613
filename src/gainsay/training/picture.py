"""The picture of a training in a notebook: curves as SVG, above a table of their values."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .._common.text import printable
from .._common.theme import LIGHT, scoped
from .view import MARKS, label_metric

if TYPE_CHECKING:
    from .view import Role, ShownMetric, View

RANGE = 0.04
"""The range of the vertical axis below the best value, for values up to 1. Otherwise a share of the best value."""
NOTE = (
    "Each curve is the distance from its own best value, relative to that value if it is above 1. A mark is the first "
    "round with the best value. Distances above 0.04 are at the bottom."
)
MAX_POINTS = 280
LEFT, RIGHT, TOP, BOTTOM = 56.0, 616.0, 22.0, 212.0
# Viewers without style sheets, such as that of GitHub, show the light colors.
MUTED, GRID = f"var(--muted,{LIGHT.muted})", f"var(--grid,{LIGHT.grid})"
COLORS: dict[Role, str] = {
    "first": f"var(--first,{LIGHT.first})",
    "second": f"var(--second,{LIGHT.second})",
    "third": f"var(--ink,{LIGHT.ink})",
    "fourth": MUTED,
}
TEXT_CLASSES: dict[Role, str] = {"first": "l", "second": "e", "third": "", "fourth": "m"}


def create_picture(view: View) -> str:
    """Return a picture of a view as HTML."""
    total = f" of {view.total:,}" if view.total else ""
    dataset = f"{view.dataset}, " if view.dataset != view.title else ""
    head = (
        f"<p><b>{escape(printable(view.title))}</b> "
        f'<span class="m">{escape(printable(dataset))}round {view.last_round:,}{total}</span></p>'
    )
    names = ("metric", "value", "best", "at the best round of another metric")
    columns = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_create_row(metric, view) for metric in view.shown)
    table = f'<table class="t"><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>'
    return scoped(f'{head}{_draw_curves(view)}{table}<p>{escape(_describe_stop(view))}</p><p class="m">{NOTE}</p>')


def _create_row(metric: ShownMetric, view: View) -> str:
    curve = metric.curve
    value = curve.values[-1] if view.selected_round is None else curve.get(view.selected_round.round)
    name = escape(f"{MARKS[metric.role]} {printable(metric.name)}")
    values = (f"{value:.4f}" if value == value else "–", metric.format_best(" at round "), metric.format_loss())
    cells = "".join(f"<td>{text}</td>" for text in values)
    return f'<tr><td class="{TEXT_CLASSES[metric.role]}">{name}</td>{cells}</tr>'


def _describe_stop(view: View) -> str:
    """Return the round that the model predicts with, or the rounds left until early stopping."""
    if view.selected_round is not None:
        return str(view.selected_round)
    if view.patience is None:
        return ""
    name, left, patience = view.patience
    label = next((metric.label for metric in view.shown if metric.name == name), label_metric(name))
    return f"stops on {label} in {left:,} of {patience:,} rounds"


def _draw_curves(view: View) -> str:
    """Return the curves as SVG, 640 by 240 units."""
    last, parts = view.last_round, []
    for step in range(5):
        y, label = TOP + (BOTTOM - TOP) * step / 4, f"−{RANGE * step / 4:.2f}" if step else "best"
        parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}" stroke="{GRID}"/>')
        parts.append(_write(44, y + 4, label, MUTED, "end"))
    parts += [_write(_x(tick, last), 232, f"{tick:,}", MUTED) for tick in {1, last}]
    marks: dict[int, int] = {}
    for metric in view.shown:
        best_round, color = metric.curve.best_round, COLORS[metric.role]
        if best_round is not None:
            x, number = _x(best_round, last), marks.get(best_round, 0)
            marks[best_round] = number + 1
            ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM + 2}"'
            parts += [_draw_curve(metric, last), f'<line {ends} stroke="{color}" stroke-dasharray="2 3"/>']
            parts.append(_write(x + 12 * number, TOP - 4, MARKS[metric.role], color))
    return (
        f'<svg viewBox="0 0 640 240" width="640" role="img" aria-label="{escape(view.describe())}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _x(number: float, last: int) -> float:
    return LEFT + (RIGHT - LEFT) * (number - 1) / max(last - 1, 1)


def _share(metric: ShownMetric, value: float) -> float:
    """Return the distance of a value from the best one, as a share of the vertical axis."""
    best = metric.curve.best
    return abs(best - value) / (RANGE * max(1.0, abs(best)))


def _draw_curve(metric: ShownMetric, last: int) -> str:
    """Return the line of a metric, with gaps for missing values. Long curves have only some points and the best one."""
    curve, pieces = metric.curve, [""]
    step = -(-len(curve.values) // MAX_POINTS)
    for place, (number, value) in enumerate(zip(curve.rounds, curve.values, strict=True)):
        if value != value:
            pieces.append("")
        elif place % step == 0 or number in (curve.best_round, last):
            pieces[-1] += f"{_x(number, last):.1f},{TOP + (BOTTOM - TOP) * min(_share(metric, value), 1.0):.1f} "
    look = f'fill="none" stroke="{COLORS[metric.role]}" stroke-width="1.8"'
    return "".join(f'<polyline points="{piece.strip()}" {look}/>' for piece in pieces if piece)


def _write(x: float, y: float, text: str, color: str, anchor: str = "middle") -> str:
    look = f'font-size="12" fill="{color}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{text}</text> '  # some viewers show only the text of pictures
