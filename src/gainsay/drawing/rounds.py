"""Curves over rounds as SVG: each as its distance from its own best, at one scale, with the best points marked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from .marks import INKS, Role, mark
from .palette import DARK, LIGHT, Theme

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["STYLE", "Drawn", "curves_svg", "last_tick", "thinned", "ticks"]

FLOOR = 0.04
"""So far below its best a curve is drawn; this share of its best where that is beyond 1."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 616.0, 22.0, 212.0
_MOST_POINTS = 280
_SIZES: tuple[int, ...] = tuple(10**power for power in range(1, 12))


@dataclass(frozen=True)
class Drawn:
    """One curve, of which larger values are better, and what stands beside it.

    The role gives colour and mark; `now` is the value of the last round, as it is written large, and `notes` are the
    lines below that.
    """

    role: Role
    label: str
    rounds: Sequence[int]
    values: Sequence[float]
    best_round: int
    now: str
    notes: Sequence[str] = ()

    def scale(self) -> tuple[float, float]:
        """Return the best value, and how far below it the curve is drawn."""
        best = max((value for value in self.values if value == value), default=math.nan)
        return best, FLOOR * max(1.0, abs(best)) if best == best else FLOOR


def curves_svg(curves: Sequence[Drawn], last: int, label: str, stops: tuple[str, int, int, Role] | None = None) -> str:
    """Return one curve or more over the rounds 1 to `last` as SVG, 900 by 250 units, as wide as its place.

    The label is what the picture says, for who does not see it; `stops` says by what training will be stopped, after
    how many more rounds, how many are waited at most, and in whose colour.
    """
    scales = [curve.scale() for curve in curves]
    parts = [_grid(), _rounds(last)]
    parts += [_curve(curve, *scale, last) for curve, scale in zip(curves, scales, strict=True)]
    for place, (curve, scale) in enumerate(zip(curves, scales, strict=True)):
        beside = [at for at, other in enumerate(curves) if other.best_round == curve.best_round]
        aside = 11.0 * (beside.index(place) - (len(beside) - 1) / 2)  # marks in one place stand side by side
        parts.append(_points(curve, *scale, last, aside))
    parts += [_beside(curve, place, len(curves)) for place, curve in enumerate(curves)]
    if stops is not None:
        parts.append(_countdown(*stops))
    inner = "".join(parts).replace("</text>", "</text> ")  # some viewers leave of pictures nothing but their text
    return (
        f'<svg viewBox="0 0 900 250" width="100%" role="img" aria-label="{escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">{inner}</svg>'
    )


def ticks(last: int, most: int = 5) -> list[int]:
    """Return round numbers for an axis from 1 to `last`: 1, multiples of a round step, and the last.

    >>> ticks(120), ticks(200), ticks(3), ticks(1)
    ([1, 30, 60, 90, 120], [1, 50, 100, 150, 200], [1, 2, 3], [1])
    """
    step = next(step * size for size in (1, *_SIZES) for step in (1, 2, 3, 5) if last <= step * size * (most - 1))
    inner = [at for at in range(step, last + 1, step) if at > 1 and (at == last or last - at >= 0.6 * step)]
    return list(dict.fromkeys([1, *(at for at in inner if at - 1 >= 0.3 * step), last]))


def last_tick(now: int, total: int | None) -> int:
    """Return where an axis ends that grows with the rounds by steps: at `total` at the latest.

    >>> last_tick(110, 120), last_tick(110, 1000), last_tick(3, None)
    (120, 200, 10)
    """
    grown = next(step * size for size in _SIZES for step in (1, 2, 5) if now <= step * size)
    return grown if total is None or now > total else min(grown, total)


def thinned(points: Sequence[tuple[int, float]], most: int) -> Sequence[tuple[int, float]]:
    """Return about `most` points with the same outline: the highest and the lowest of equally many."""
    each = -(-len(points) // (most // 2))
    if each <= 2:
        return points
    kept: list[tuple[int, float]] = []
    for start in range(0, len(points), each):
        part = points[start : start + each]
        ends = {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
        kept += sorted(ends, key=lambda point: point[0])
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def _x(number: float, last: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (number - 1) / max(last - 1, 1)


def _y(behind: float, span: float) -> float:
    return _TOP + (_BOTTOM - _TOP) * min(behind, span) / span


def _grid() -> str:
    lines = []
    for step in range(5):
        y = _TOP + (_BOTTOM - _TOP) * step / 4
        text = f"−{FLOOR * step / 4:.2f}" if step else "best"
        lines.append(
            f'<line class="gs-grid" x1="{_LEFT:g}" x2="{_RIGHT:g}" y1="{y:g}" y2="{y:g}" stroke="{LIGHT.grid}"/>'
            + _text(48, y + 4, text, anchor="end")
        )
    return "".join(lines)


def _rounds(last: int) -> str:
    return "".join(_text(f"{_x(tick, last):.1f}", 232, f"{tick:,}", anchor="middle") for tick in ticks(last))


def _curve(curve: Drawn, best: float, span: float, last: int) -> str:
    """Return the line; breaks where there is no value."""
    pieces: list[list[str]] = [[]]
    for number, value in thinned(list(zip(curve.rounds, curve.values, strict=False)), _MOST_POINTS):
        if value != value:
            pieces.append([])
        else:
            pieces[-1].append(f"{_x(number, last):.1f},{_y(best - value, span):.1f}")
    look = f'class="gs-line-{curve.role}" fill="none" stroke="{INKS[curve.role]}" stroke-width="1.8"'
    return "".join(f'<polyline {look} points="{" ".join(piece)}"/>' for piece in pieces if piece)


def _points(curve: Drawn, best: float, span: float, last: int, aside: float) -> str:
    """Return where the best value is, filled, and where the curve ends, hollow."""
    x = _x(curve.best_round, last)
    parts = [
        f'<line class="gs-line-{curve.role}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP:g}" y2="{_BOTTOM + 2:g}" '
        f'stroke="{INKS[curve.role]}" stroke-dasharray="2 3"/>',
        mark(curve.role, round(x + aside, 1), _TOP),
    ]
    if curve.rounds and curve.rounds[-1] != curve.best_round and curve.values[-1] == curve.values[-1]:
        end = round(_x(curve.rounds[-1], last), 1)
        parts.append(mark(curve.role, end, round(_y(best - curve.values[-1], span), 1), 4, hollow=True))
    return "".join(parts)


def _beside(curve: Drawn, place: int, count: int) -> str:
    """Return what is written beside the picture: large values of two curves, small ones of more."""
    high = count <= 2
    y = 34 + place * (92 if high else 184 / count)
    head = mark(curve.role, 656, y - 4.5)
    head += _text(668, y, curve.label, f"text-{curve.role}", size=13)
    if not high:
        return head + _text(650, y + 17, ", ".join([curve.now, *curve.notes[:1]]))
    head += _text(650, y + 28, curve.now, "ink", size=25)
    return head + "".join(_text(650, y + 47 + 16 * step, note) for step, note in enumerate(curve.notes))


def _countdown(metric: str, left: int, waits: int, role: Role) -> str:
    share = min(max(1 - left / waits, 0.0), 1.0)
    return (
        _text(650, 222, f"stops on {metric} in {left:,} of {waits:,} rounds")
        + f'<rect class="gs-bar" x="650" y="230" width="190" height="6" rx="3" fill="{LIGHT.grid}"/>'
        + f'<rect class="gs-{role}" x="650" y="230" width="{190 * share:.1f}" height="6" rx="3" fill="{INKS[role]}"/>'
    )


def _text(x: float | str, y: float, text: str, kind: str = "mute", size: int = 12, anchor: str = "") -> str:
    font = f'font-family="Inter,system-ui,sans-serif" font-size="{size}"' + ' font-weight="650"' * (size > 12)
    how = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="gs-{kind}" x="{x}" y="{y:g}" {font} fill="{_FILLS[kind]}"{how}>{escape(text)}</text>'


_FILLS = {
    "mute": LIGHT.muted,
    "ink": LIGHT.ink,
    "text-first": LIGHT.first_text,
    "text-second": LIGHT.second_text,
    "text-third": LIGHT.third,
    "text-fourth": LIGHT.third,
}


def _rules(scope: str, theme: Theme) -> str:
    """Return the colours of a theme, for everything within the scope."""
    looks = (
        ("fill", theme.first, ".gs-first"),
        ("fill", theme.second, ".gs-second"),
        ("fill", theme.third, ".gs-third", ".gs-fourth", ".gs-text-third", ".gs-text-fourth"),
        ("fill", theme.first_text, ".gs-text-first"),
        ("fill", theme.second_text, ".gs-text-second"),
        ("fill", theme.muted, ".gs-mute"),
        ("fill", theme.ink, ".gs-ink"),
        ("fill", theme.grid, ".gs-bar"),
        ("fill", theme.face, ".gs-hollow"),
        ("stroke", theme.first, ".gs-line-first"),
        ("stroke", theme.second, ".gs-line-second"),
        ("stroke", theme.third, ".gs-line-third", ".gs-line-fourth"),
        ("stroke", theme.grid, ".gs-grid"),
        ("color", theme.ink, ""),
        ("color", theme.muted, ".gs-quiet"),
        ("color", theme.first_text, ".gs-word-first"),
        ("color", theme.second_text, ".gs-word-second"),
    )
    return "".join(
        f"{','.join(f'{scope} {name}'.rstrip() for name in names)}{{{what}:{colour}}}" for what, colour, *names in looks
    )


def _sheet() -> str:
    """Return the style sheet of live pictures: light, and dark where the system or the notebook is."""
    base = (
        ".gs-live{max-width:900px;font:13px/1.45 var(--jp-content-font-family,Inter,system-ui,sans-serif);"
        "font-variant-numeric:tabular-nums}.gs-live p{margin:0 0 4px}.gs-live svg{display:block;overflow:visible}"
        ".gs-live+.gs-live{margin-top:12px}"
        # twice .gs-live comes before the striped tables of JupyterLab with their cells at the right
        ".gs-live.gs-live table{table-layout:auto;border-collapse:collapse;border:0;margin:0 0 4px}"
        ".gs-live.gs-live tr:nth-child(n){background:none}.gs-live.gs-live td{border:0;padding:1px 16px 1px 0;"
        "text-align:left;white-space:nowrap;font-size:13px}"
        ".gs-live svg text{font-variant-numeric:tabular-nums}"
    )
    light = _rules(".gs-live", LIGHT)
    dark = f"@media(prefers-color-scheme:dark){{{_rules('.gs-live', DARK)}}}"
    told = {
        "body[data-jp-theme-light=true] .gs-live": LIGHT,
        "body.vscode-light .gs-live": LIGHT,
        "html[theme=light] .gs-live": LIGHT,
        "body[data-jp-theme-light=false] .gs-live": DARK,
        "body.vscode-dark .gs-live": DARK,
        "html[theme=dark] .gs-live": DARK,
    }
    return base + light + dark + "".join(_rules(scope, theme) for scope, theme in told.items())


STYLE = f"<style>{_sheet()}</style>"
"""Colours of the picture in both themes; without it the picture is a light one."""
