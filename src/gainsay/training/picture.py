"""The picture of a training in a notebook, as HTML with SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from .._common.shown import printable
from .._common.theme import LIGHT, scoped
from .view import Role, ShownMetric, View, label_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["create_picture"]

RANGE = 0.04
"""The range of the vertical axis below the best value, for values up to 1. Otherwise a share of the best value."""
MAX_POINTS = 280
MAX_TICKS = 5
LEFT, RIGHT, TOP, BOTTOM = 56.0, 616.0, 22.0, 212.0
POWERS: list[int] = [10**power for power in range(12)]
# Viewers without style sheets, such as that of GitHub, show the light colors.
INK, MUTED, GRID = f"var(--ink,{LIGHT.ink})", f"var(--muted,{LIGHT.muted})", f"var(--grid,{LIGHT.grid})"
COLORS: dict[Role, str] = {
    "first": f"var(--first,{LIGHT.first})",
    "second": f"var(--second,{LIGHT.second})",
    "third": INK,
    "fourth": MUTED,
}
TEXT_COLORS: dict[Role, str] = {
    **COLORS,
    "first": f"var(--first-text,{LIGHT.first_text})",
    "second": f"var(--second-text,{LIGHT.second_text})",
}
MARKS: dict[Role, str] = {
    "first": "M-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z",
    "second": "M0-1.27 1.27 0 0 1.27-1.27 0z",
    "third": "M0-1.15 1.1 .85-1.1 .85z",
    "fourth": "M-.9-.9H.9V.9H-.9z",
}
DASHES: dict[Role, str] = {"first": "none", "second": "none", "third": "none", "fourth": "6 3"}


def create_picture(view: View) -> str:
    """Return a picture of a view as HTML."""
    total = f" of {view.total:,}" if view.total else ""
    dataset = f"{view.dataset}, " if view.dataset != view.title else ""
    head = (
        f"<p><b>{escape(printable(view.title))}</b> "
        f'<span class="m">{escape(printable(dataset))}round {view.last_round:,}{total}</span></p>'
    )
    notes = ["Each curve is drawn relative to its own best value. A mark is the first round with the best value."]
    for sentence, metrics in (
        ("A distance of 0.01 is 1 % of the best value", [m for m in view.shown if abs(m.curve.best) > 1]),
        ("Lower is better", [m for m in view.shown if m.curve.higher_is_better is False]),
        (f"Values more than {RANGE:g} below the best are at the bottom", [m for m in view.shown if _is_cut(m)]),
    ):
        if metrics:
            notes.append(f"{sentence}: {', '.join(metric.label for metric in metrics)}.")
    return scoped(f'{head}{_draw_view(view)}<p class="m">{escape(" ".join(notes))}</p>')


def _draw_view(view: View) -> str:
    """Return the curves and their values as SVG, 900 by 250 units."""
    last, parts = view.last_round, []
    for step in range(5):
        y = TOP + (BOTTOM - TOP) * step / 4
        parts += [
            _draw("line", x1=LEFT, x2=RIGHT, y1=y, y2=y, stroke=GRID),
            _write(44, y + 4, f"−{RANGE * step / 4:.2f}" if step else "best", text_anchor="end"),
        ]
    parts += [_write(round(_x(tick, last), 1), 232, f"{tick:,}", text_anchor="middle") for tick in list_ticks(last)]
    shown = [metric for metric in view.shown if metric.curve.best_round is not None]
    parts += [_draw_curve(metric, last) for metric in shown]
    for index, metric in enumerate(shown):
        marks_below = sum(earlier.curve.best_round == metric.curve.best_round for earlier in shown[:index])
        x = round(_x(metric.curve.best_round or 1, last), 1)
        parts += [
            _draw("line", x1=x, x2=x, y1=TOP, y2=BOTTOM + 2, stroke=COLORS[metric.role], stroke_dasharray="2 3"),
            _draw_mark(metric.role, x, TOP, max(7.0 - 2.5 * marks_below, 2.0)),
        ]
    parts += [_write_values(metric, view, 34 + index * min(64.0, 188 / len(view.shown)))
              for index, metric in enumerate(view.shown)]  # fmt: skip
    parts.append(_write(650, 240, _describe_stop(view), INK))
    inner = "".join(parts).replace("</text>", "</text> ")  # some viewers show only the text of pictures
    return (
        f'<svg viewBox="0 0 900 250" width="100%" role="img" aria-label="{escape(view.describe())}" '
        f'xmlns="http://www.w3.org/2000/svg">{inner}</svg>'
    )


def list_ticks(last: int) -> list[int]:
    """Return round numbers for an axis from 1 to `last`.

    >>> list_ticks(120), list_ticks(200), list_ticks(3), list_ticks(1)
    ([1, 50, 100], [1, 50, 100, 150, 200], [1, 2, 3], [1])
    """
    step = next(step * power for power in POWERS for step in (1, 2, 5) if last < step * power * MAX_TICKS)
    return list(dict.fromkeys([1, *range(step, last + 1, step)]))


def thin_points(points: Sequence[tuple[int, float]], most: int) -> Sequence[tuple[int, float]]:
    """Return about `most` points with the same outline: the highest and the lowest of each group of points."""
    size = -(-len(points) // (most // 2))
    if size <= 2:
        return points
    thinned: list[tuple[int, float]] = []
    for start in range(0, len(points), size):
        group = points[start : start + size]
        ends = {min(group, key=lambda point: point[1]), max(group, key=lambda point: point[1])}
        thinned += sorted(ends)
    return thinned if thinned[-1] == points[-1] else [*thinned, points[-1]]


def _x(number: float, last: int) -> float:
    return LEFT + (RIGHT - LEFT) * (number - 1) / max(last - 1, 1)


def _share(metric: ShownMetric, value: float) -> float:
    """Return the distance of a value from the best one, as a share of the vertical axis."""
    best = metric.curve.best
    return abs(best - value) / (RANGE * max(1.0, abs(best)))


def _is_cut(metric: ShownMetric) -> bool:
    """Return whether the curve leaves the picture at the bottom."""
    return any(_share(metric, value) > 1 + 1e-9 for value in metric.curve.values)


def _draw_curve(metric: ShownMetric, last: int) -> str:
    """Return the line of a metric, with gaps for missing values."""
    pieces: list[list[str]] = [[]]
    points = list(zip(metric.curve.rounds, metric.curve.values, strict=True))
    for number, value in thin_points(points, MAX_POINTS):
        if value != value:
            pieces.append([])
        else:
            y = TOP + (BOTTOM - TOP) * min(_share(metric, value), 1.0)
            pieces[-1].append(f"{_x(number, last):.1f},{y:.1f}")
    look: dict[str, Any] = {"stroke": COLORS[metric.role], "stroke_width": 1.8, "stroke_dasharray": DASHES[metric.role]}
    return "".join(_draw("polyline", points=" ".join(piece), fill="none", **look) for piece in pieces if piece)


def _write_values(metric: ShownMetric, view: View, y: float) -> str:
    """Return the label and the value of a metric, its best round, and its loss at the best round of another metric."""
    curve = metric.curve
    value = curve.values[-1] if view.kept is None else curve.get(view.kept.round)
    texts = [f"best {curve.best:.4f} at round {curve.best_round:,}" if curve.best_round else "no value"]
    if metric.loss > 0:
        texts.append(f"loses {metric.loss:.4f} at round {metric.at:,}")
    lines = texts[:1] if len(view.shown) > 4 else texts
    return (
        _draw_mark(metric.role, 656, y - 4.5, 5.5)
        + _write(668, y, printable(metric.name), TEXT_COLORS[metric.role], size=13)
        + _write(890, y, f"{value:.4f}" if value == value else "–", INK, size=16, text_anchor="end")
        + "".join(_write(668, y + 17 + 15 * index, line) for index, line in enumerate(lines))
    )


def _describe_stop(view: View) -> str:
    """Return the round that is kept, or the rounds left until early stopping."""
    if view.kept is not None:
        return str(view.kept)
    if view.patience is None:
        return ""
    name, left, patience = view.patience
    label = next((metric.label for metric in view.shown if metric.name == name), label_metric(name))
    return f"stops on {label} in {left:,} of {patience:,} rounds"


def _draw_mark(role: Role, x: float, y: float, size: float) -> str:
    transform = f"translate({x:g} {y:g}) scale({size:g})"
    return _draw("path", d=MARKS[role], fill=COLORS[role], transform=transform)


def _write(x: float, y: float, text: str, color: str = MUTED, size: int = 12, text_anchor: str = "start") -> str:
    weight = 650 if size > 12 else 400
    look: dict[str, Any] = {"font_size": size, "font_weight": weight, "fill": color, "text_anchor": text_anchor}
    return _draw("text", text, x=x, y=y, **look)


def _draw(tag: str, text: str = "", **attributes: object) -> str:
    """Return an element of SVG."""
    names = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<{tag}{names}>{escape(text)}</{tag}>"
