"""Pictures of a view: SVG for notebooks, and a figure of Matplotlib."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.palette import DARK, LIGHT, Theme, theme_named
from .._common.shown import printable
from .bound_metrics import canonical_name
from .view import ROLES, Role, ShownMetric, View, label_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["STYLE", "create_picture", "plot_view"]

RANGE = 0.04
"""The range of the vertical axis below the best value, for values up to 1. Otherwise a share of the best value."""
MAX_POINTS = 280
LEFT, RIGHT, TOP, BOTTOM = 56.0, 616.0, 22.0, 212.0
POWERS: list[int] = [10**power for power in range(12)]
MARKS = {
    "second": "M0-1.27 1.27 0 0 1.27-1.27 0z",
    "third": "M0-1.15 1.1 .85-1.1 .85z",
    "fourth": "M-.9-.9H.9V.9H-.9z",
}
DASHES = {"fourth": ' stroke-dasharray="6 3"'}
MARKERS: dict[Role, str] = {"first": "o", "second": "D", "third": "^", "fourth": "s"}
LINES: dict[Role, str] = {"first": "-", "second": "--", "third": ":", "fourth": "-."}


def create_picture(view: View, *, style: bool = True) -> str:
    """Return a picture of a view as HTML."""
    total = f" of {view.total:,}" if view.total else ""
    dataset = f"{view.dataset}, " if view.dataset != view.title else ""
    head = (
        f"<p><b>{escape(printable(view.title))}</b> "
        f'<span class="gs-quiet">{escape(printable(dataset))}round {view.last_round:,}{total}</span></p>'
    )
    notes = [
        "Each curve is drawn relative to its own best value. A filled mark is the first round with the best value."
    ]
    large = [shown.label for shown in view.shown if abs(shown.curve.best) > 1]
    if large:
        notes.append(f"For {' and '.join(large)}, 0.01 is 1 % of the best value.")
    negated = [shown.label for shown in view.shown if shown.curve.higher_is_better is False]
    if negated:
        notes.append(f"Lower values of {' and '.join(negated)} are better and drawn higher.")
    if any(_is_cut(shown) for shown in view.shown):
        notes.append(f"Values more than {RANGE:g} below the best are drawn at the bottom.")
    foot = f'<p class="gs-quiet">{escape(" ".join(notes))}</p>'
    return f'{STYLE if style else ""}<div class="gs-live">{head}{_create_svg(view)}{foot}</div>'


def _create_svg(view: View) -> str:
    """Return the curves as SVG, 900 by 250 units."""
    is_over = view.kept is not None or (view.total is None and view.seconds is None)
    last = view.last_round if is_over else find_axis_end(view.last_round, view.total)
    shown = [metric for metric in view.shown if metric.curve.best_round is not None]
    parts = []
    for step in range(5):
        y = TOP + (BOTTOM - TOP) * step / 4
        line = f'<line class="gs-grid" x1="{LEFT:g}" x2="{RIGHT:g}" y1="{y:g}" y2="{y:g}" stroke="{LIGHT.grid}"/>'
        parts += [line, _write(44, y + 4, f"−{RANGE * step / 4:.2f}" if step else "best", anchor="end")]
    parts += [_write(round(_x(tick, last), 1), 232, f"{tick:,}", anchor="middle") for tick in list_ticks(last)]
    parts += [_draw_curve(metric, last) for metric in shown]
    for index, metric in enumerate(shown):
        marks_below = sum(other.curve.best_round == metric.curve.best_round for other in shown[:index])
        parts.append(_draw_best_round(metric, last, size=max(7.0 - 2.5 * marks_below, 2.0)))
    parts += [_write_values(view, index) for index in range(len(view.shown))]
    parts.append(_draw_stop(view))
    inner = "".join(parts).replace("</text>", "</text> ")  # some viewers show only the text of pictures
    return (
        f'<svg viewBox="0 0 900 250" width="100%" role="img" aria-label="{escape(view.describe())}" '
        f'xmlns="http://www.w3.org/2000/svg">{inner}</svg>'
    )


def list_ticks(last: int, most: int = 5) -> list[int]:
    """Return round numbers for an axis from 1 to `last`.

    >>> list_ticks(120), list_ticks(200), list_ticks(3), list_ticks(1)
    ([1, 30, 60, 90, 120], [1, 50, 100, 150, 200], [1, 2, 3], [1])
    """
    step = next(step * power for power in POWERS for step in (1, 2, 3, 5) if last <= step * power * (most - 1))
    inner = [tick for tick in range(step, last + 1, step) if tick > 1 and (tick == last or last - tick >= 0.6 * step)]
    return list(dict.fromkeys([1, *(tick for tick in inner if tick - 1 >= 0.3 * step), last]))


def find_axis_end(current: int, total: int | None) -> int:
    """Return the end of the axis, which grows in steps up to `total`.

    >>> find_axis_end(110, 120), find_axis_end(110, 1000), find_axis_end(3, None)
    (120, 200, 10)
    """
    end = next(step * power for power in POWERS[1:] for step in (1, 2, 5) if current <= step * power)
    return end if total is None or current > total else min(end, total)


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


def _y(metric: ShownMetric, value: float) -> float:
    """Return the place of a value, negated if a lower value is better."""
    best = metric.curve.best if metric.curve.higher_is_better else -metric.curve.best
    return TOP + (BOTTOM - TOP) * min((best - value) / (RANGE * max(1.0, abs(best))), 1.0)


def _is_cut(metric: ShownMetric) -> bool:
    bottom = abs(metric.curve.best)
    limit = RANGE * max(1.0, bottom) * (1 + 1e-9)
    return any(abs(metric.curve.best - value) > limit for value in metric.curve.values if value == value)


def _draw_curve(metric: ShownMetric, last: int) -> str:
    """Return the line of a metric, with gaps for missing values, and a hollow mark at its end."""
    pieces: list[list[str]] = [[]]
    points = list(zip(metric.curve.rounds, metric.curve.get_upward_values(), strict=True))
    for number, value in thin_points(points, MAX_POINTS):
        if value != value:
            pieces.append([])
        else:
            pieces[-1].append(f"{_x(number, last):.1f},{_y(metric, value):.1f}")
    look = f'class="gs-line-{metric.role}" fill="none" stroke="{getattr(LIGHT, metric.role)}" stroke-width="1.8"'
    lines = [f'<polyline {look}{DASHES.get(metric.role, "")} points="{" ".join(piece)}"/>' for piece in pieces if piece]
    number, value = points[-1]
    if number != metric.curve.best_round and value == value:
        lines.append(_draw_mark(metric.role, round(_x(number, last), 1), round(_y(metric, value), 1), 4, hollow=True))
    return "".join(lines)


def _draw_best_round(metric: ShownMetric, last: int, size: float) -> str:
    x = round(_x(metric.curve.best_round or 1, last), 1)
    return (
        f'<line class="gs-line-{metric.role}" x1="{x}" x2="{x}" y1="{TOP:g}" y2="{BOTTOM + 2:g}" '
        f'stroke="{getattr(LIGHT, metric.role)}" stroke-dasharray="2 3"/>' + _draw_mark(metric.role, x, TOP, size)
    )


def _draw_mark(role: Role, x: float, y: float, size: float, *, hollow: bool = False) -> str:
    """Return a mark in the colors of the light theme, which the style sheet replaces."""
    color = getattr(LIGHT, role)
    look = f'class="gs-{role}" fill="{color}"'
    if hollow:
        look = f'class="gs-line-{role} gs-hollow" fill="{LIGHT.face}" stroke="{color}" stroke-width="2"'
    if role == "first":
        return f'<circle {look} cx="{x:g}" cy="{y:g}" r="{size:g}"/>'
    transform = f'transform="translate({x:g} {y:g}) scale({size:g})" vector-effect="non-scaling-stroke"'
    return f'<path {look} d="{MARKS[role]}" {transform}/>'


def _write_values(view: View, index: int) -> str:
    """Return the texts next to the picture: large values for one or two metrics, small ones for more."""
    metric, count = view.shown[index], len(view.shown)
    curve, is_large = metric.curve, count <= 2
    gains = {"linear": "linear gain", "exp": "exponential gain"}
    cutoff = canonical_name(metric.name).partition("@")[2]
    suffix = f", NDCG{f'@{cutoff}' if cutoff else ''}"
    label = gains[metric.label] + suffix if metric.label in gains else metric.label
    value = curve.get(view.kept.round) if view.kept else curve.values[-1] if curve.values else math.nan
    number = f"{value:.4f}" if value == value else "n/a"
    notes = []
    if curve.best_round is not None:
        rounds_ago = view.last_round - curve.best_round
        age = "" if view.kept or not is_large else f", {rounds_ago:,} ago" if rounds_ago else ", now"
        notes.append(f"best {curve.best:.4f} at round {curve.best_round:,}{age}")
    if metric.loss > 0:
        sign = "+" if curve.higher_is_better is False else "−"
        notes.append(f"{sign}{metric.loss:.4f} at {metric.at:,}, the other's best")
    y = 34 + index * (92 if is_large else 184 / count)
    head = _draw_mark(metric.role, 656, y - 4.5, 5.5) + _write(668, y, label, f"text-{metric.role}", size=13)
    if not is_large:
        return head + _write(650, y + 17, ", ".join([number, *notes[:1]]))
    head += _write(650, y + 28, number, "ink", size=25)
    if view.kept is not None:
        head += _write(750, y + 28, f"in round {view.kept.round:,}, which is kept")
    return head + "".join(_write(650, y + 47 + 16 * step, note) for step, note in enumerate(notes))


def _draw_stop(view: View) -> str:
    """Return the rounds left until early stopping, or the round that is kept."""
    if view.kept is not None:
        return _write(650, 222, str(view.kept), "ink")
    if view.patience is None:
        return ""
    name, left, patience = view.patience
    metric = next((shown for shown in view.shown if shown.name == name), None)
    role, label = ("third", label_metric(name)) if metric is None else (metric.role, metric.label)
    width, color = 190 * min(max(1 - left / patience, 0.0), 1.0), getattr(LIGHT, role)
    return (
        _write(650, 222, f"stops on {label} in {left:,} of {patience:,} rounds")
        + f'<rect class="gs-bar" x="650" y="230" width="190" height="6" rx="3" fill="{LIGHT.grid}"/>'
        + f'<rect class="gs-{role}" x="650" y="230" width="{width:.1f}" height="6" rx="3" fill="{color}"/>'
    )


def _write(x: float, y: float, text: str, kind: str = "mute", size: int = 12, anchor: str = "") -> str:
    colors = {"mute": LIGHT.muted, "ink": LIGHT.ink, "text-first": LIGHT.first_text, "text-second": LIGHT.second_text}
    font = f'font-family="Inter,system-ui,sans-serif" font-size="{size}"' + ' font-weight="650"' * (size > 12)
    align = f' text-anchor="{anchor}"' if anchor else ""
    color = colors.get(kind, LIGHT.third)
    return f'<text class="gs-{kind}" x="{x}" y="{y:g}" {font} fill="{color}"{align}>{escape(text)}</text>'


def _list_rules(scope: str, theme: Theme) -> str:
    """Return the colors of a theme for everything in the scope."""
    looks = [("fill", getattr(theme, role), f".gs-{role}") for role in ROLES]
    looks += [("stroke", getattr(theme, role), f".gs-line-{role}") for role in ROLES]
    looks += [
        ("fill", theme.first_text, ".gs-text-first"),
        ("fill", theme.second_text, ".gs-text-second"),
        ("fill", theme.third, ".gs-text-third,.gs-text-fourth"),
        ("fill", theme.muted, ".gs-mute"),
        ("fill", theme.ink, ".gs-ink"),
        ("fill", theme.grid, ".gs-bar"),
        ("fill", theme.face, ".gs-hollow"),
        ("stroke", theme.grid, ".gs-grid"),
        ("color", theme.ink, ""),
        ("color", theme.muted, ".gs-quiet"),
        ("color", theme.first_text, ".gs-word-first"),
        ("color", theme.second_text, ".gs-word-second"),
    ]
    return "".join(
        f"{','.join(f'{scope} {name}'.rstrip() for name in names.split(','))}{{{kind}:{color}}}"
        for kind, color, names in looks
    )


def _create_style() -> str:
    """Return the style sheet, with dark colors if the system or the notebook is dark."""
    base = (
        ".gs-live{max-width:900px;font:13px/1.45 var(--jp-content-font-family,Inter,system-ui,sans-serif);"
        "font-variant-numeric:tabular-nums}.gs-live p{margin:0 0 4px}.gs-live svg{display:block;overflow:visible}"
        ".gs-live+.gs-live{margin-top:12px}"
        # `.gs-live.gs-live` has priority over the tables of JupyterLab with stripes and right alignment
        ".gs-live.gs-live table{table-layout:auto;border-collapse:collapse;border:0;margin:0 0 4px}"
        ".gs-live.gs-live tr:nth-child(n){background:none}.gs-live.gs-live td{border:0;padding:1px 16px 1px 0;"
        "text-align:left;white-space:nowrap;font-size:13px}"
        ".gs-live svg text{font-variant-numeric:tabular-nums}"
    )
    dark = f"@media(prefers-color-scheme:dark){{{_list_rules('.gs-live', DARK)}}}"
    notebooks = {
        "body[data-jp-theme-light=true] .gs-live": LIGHT,
        "body.vscode-light .gs-live": LIGHT,
        "html[theme=light] .gs-live": LIGHT,
        "body[data-jp-theme-light=false] .gs-live": DARK,
        "body.vscode-dark .gs-live": DARK,
        "html[theme=dark] .gs-live": DARK,
    }
    rules = "".join(_list_rules(scope, theme) for scope, theme in notebooks.items())
    return base + _list_rules(".gs-live", LIGHT) + dark + rules


STYLE = f"<style>{_create_style()}</style>"
"""The colors of the picture in both themes. Without it, the picture is light."""


def plot_view(view: View, ax: Axes | None, theme: str) -> Axes:
    """Draw the curves of a view as distances from their best values, with the losses at another best round."""
    colors = theme_named(theme)
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need Matplotlib: pip install 'gainsay-ltr[report]'") from error
        _, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
    ax.figure.set_facecolor(colors.face)
    ax.set_facecolor(colors.face)
    limit = deepest = 0.0
    for shown in view.shown:
        curve, color = shown.curve, getattr(colors, shown.role)
        if curve.best_round is None:
            continue
        distances = np.array(curve.get_upward_values()) - (curve.best if curve.higher_is_better else -curve.best)
        ax.plot(curve.rounds, distances, color=color, linestyle=LINES[shown.role], linewidth=1.6, label=shown.name)
        look: dict[str, Any] = {"color": color, "linestyle": "none", "zorder": 4, "clip_on": False, "markersize": 7}
        ax.plot([curve.best_round], [0.0], marker=MARKERS[shown.role], **look)
        if shown.loss > 0:
            ax.plot([shown.at], [-shown.loss], marker=MARKERS[shown.role], fillstyle="none", **look)
        loss = shown.loss if shown.loss > 0 else 0.0
        limit = max(limit, 3 * loss, float(np.nanquantile(-distances, 0.8)))
        deepest = max(deepest, float(np.nanmax(-distances)))
    bottom = 1.1 * (limit or 0.01)
    ax.set_ylim(-bottom, bottom / 14)
    if deepest > bottom:
        text = f"values below −{bottom:.{max(2, 2 - math.floor(math.log10(bottom)) - 1)}f} are not shown"
        ax.text(0.99, 0.02, text, transform=ax.transAxes, fontsize=8, color=colors.muted, ha="right")
    ax.grid(axis="y", color=colors.grid, linewidth=0.6)
    for spine in ax.spines.values():
        spine.set_color(colors.rule)
    ax.tick_params(colors=colors.muted, labelsize=9)
    ax.set_xlabel("round", color=colors.muted, fontsize=9)
    ax.set_ylabel("distance from its own best", color=colors.muted, fontsize=9)
    ax.set_title(view.title, loc="left", color=colors.ink, fontsize=10.5)
    above = {"bbox_to_anchor": (1, 1), "borderaxespad": 0.2, "ncols": len(view.shown)}
    legend = ax.legend(loc="lower right", fontsize=9, frameon=False, labelcolor=colors.ink, **above)
    legend.set_zorder(5)
    ax.set_gid("curves")
    return ax
