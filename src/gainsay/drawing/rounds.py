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

__all__ = ["STYLE", "Drawn", "curves_svg", "last_tick", "ticks"]

FLOOR = 0.04
"""So far below its best a curve is drawn; this share of its best where that is beyond 1."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 616.0, 22.0, 212.0
_MOST_POINTS = 280
_SIZES = tuple(int(f"1{'0' * power}") for power in range(1, 12))
_FONT = 'font-family="Inter,system-ui,sans-serif" font-size="12"'


@dataclass(frozen=True)
class Drawn:
    """One curve, and what stands beside it.

    Attributes
    ----------
    role : Role
        Colour and mark.
    label : str
        Its name.
    rounds, values : sequences
        Larger values are better.
    best_round : int
        Where its best value is.
    now : str
        The value of the last round, as it is written large.
    notes : sequence of str
        Lines below that.
    """

    role: Role
    label: str
    rounds: Sequence[int]
    values: Sequence[float]
    best_round: int
    now: str
    notes: Sequence[str] = ()


def curves_svg(curves: Sequence[Drawn], last: int, label: str, stops: tuple[str, int, int, Role] | None = None) -> str:
    """Return curves over the rounds 1 to `last` as SVG, 900 by 250 units, as wide as its place.

    Parameters
    ----------
    curves : sequence of Drawn
        One at least.
    last : int
        The round at the right end of the axis.
    label : str
        What the picture says, for who does not see it.
    stops : (str, int, int, Role), optional
        By what training will be stopped, after how many more rounds, how many are waited at most, and in whose colour.
    """
    bests = [_best(curve) for curve in curves]
    parts = [_grid(), _rounds(last)]
    spans = [FLOOR * max(1.0, abs(best)) if best == best else FLOOR for best in bests]
    for curve, best, span in zip(curves, bests, spans, strict=True):
        parts.append(_curve(curve, best, span, last))
    for place, (curve, best, span) in enumerate(zip(curves, bests, spans, strict=True)):
        beside = [at for at, other in enumerate(curves) if other.best_round == curve.best_round]
        aside = 11.0 * (beside.index(place) - (len(beside) - 1) / 2)  # marks in one place stand side by side
        parts.append(_points(curve, best, span, last, aside))
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


def _best(curve: Drawn) -> float:
    return max((value for value in curve.values if value == value), default=math.nan)


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
            + _text(48, y + 4, text, end=True)
        )
    return "".join(lines)


def _rounds(last: int) -> str:
    return "".join(
        f'<text class="gs-mute" x="{_x(tick, last):.1f}" y="232" {_FONT} fill="{LIGHT.muted}" '
        f'text-anchor="middle">{tick:,}</text>'
        for tick in ticks(last)
    )


def _curve(curve: Drawn, best: float, span: float, last: int) -> str:
    """Return the line; breaks where there is no value."""
    points = _thinned(list(zip(curve.rounds, curve.values, strict=False)))
    pieces: list[list[str]] = [[]]
    for number, value in points:
        if value != value:
            pieces.append([])
        else:
            pieces[-1].append(f"{_x(number, last):.1f},{_y(best - value, span):.1f}")
    look = f'class="gs-line-{curve.role}" fill="none" stroke="{INKS[curve.role]}" stroke-width="1.8"'
    return "".join(f'<polyline {look} points="{" ".join(piece)}"/>' for piece in pieces if piece)


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return few points with the same outline: the highest and the lowest of equally many."""
    each = -(-len(points) // (_MOST_POINTS // 2))
    if each <= 2:
        return points
    kept: list[tuple[int, float]] = []
    for start in range(0, len(points), each):
        part = points[start : start + each]
        ends = {min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])}
        kept += sorted(ends, key=lambda point: point[0])
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


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
    head = (
        mark(curve.role, 656, y - 4.5)
        + f'<text class="gs-text-{curve.role}" x="668" y="{y:g}" {_FONT.replace("12", "13")} font-weight="650" '
        f'fill="{_TEXTS[curve.role]}">{escape(curve.label)}</text>'
    )
    if not high:
        return head + _text(650, y + 17, ", ".join([curve.now, *curve.notes[:1]]))
    value = (
        f'<text class="gs-ink" x="650" y="{y + 28:g}" {_FONT.replace("12", "25")} font-weight="650" '
        f'fill="{LIGHT.ink}">{escape(curve.now)}</text>'
    )
    return head + value + "".join(_text(650, y + 47 + 16 * step, note) for step, note in enumerate(curve.notes))


def _countdown(metric: str, left: int, waits: int, role: Role) -> str:
    share = min(max(1 - left / waits, 0.0), 1.0)
    return (
        _text(650, 222, f"stops on {metric} in {left:,} of {waits:,} rounds")
        + f'<rect class="gs-bar" x="650" y="230" width="190" height="6" rx="3" fill="{LIGHT.grid}"/>'
        + f'<rect class="gs-{role}" x="650" y="230" width="{190 * share:.1f}" height="6" rx="3" fill="{INKS[role]}"/>'
    )


def _text(x: float, y: float, text: str, end: bool = False) -> str:
    anchor = ' text-anchor="end"' if end else ""
    return f'<text class="gs-mute" x="{x:g}" y="{y:g}" {_FONT} fill="{LIGHT.muted}"{anchor}>{escape(text)}</text>'


_TEXTS: dict[Role, str] = {
    "first": LIGHT.first_text,
    "second": LIGHT.second_text,
    "third": LIGHT.third,
    "fourth": LIGHT.third,
}


def _rules(scope: str, theme: Theme) -> str:
    """Return the colours of a theme, for everything within the scope."""
    fills = {
        ".gs-first": theme.first,
        ".gs-second": theme.second,
        ".gs-third,SCOPE .gs-fourth,SCOPE .gs-text-third,SCOPE .gs-text-fourth": theme.third,
        ".gs-text-first": theme.first_text,
        ".gs-text-second": theme.second_text,
        ".gs-mute": theme.muted,
        ".gs-ink": theme.ink,
        ".gs-bar": theme.grid,
        ".gs-hollow": theme.face,
    }
    strokes = {
        ".gs-line-first": theme.first,
        ".gs-line-second": theme.second,
        ".gs-line-third,SCOPE .gs-line-fourth": theme.third,
        ".gs-grid": theme.grid,
    }
    rules = [f"SCOPE {name}{{fill:{colour}}}" for name, colour in fills.items()]
    rules += [f"SCOPE {name}{{stroke:{colour}}}" for name, colour in strokes.items()]
    words = {
        "": theme.ink,
        " .gs-quiet": theme.muted,
        " .gs-word-first": theme.first_text,
        " .gs-word-second": theme.second_text,
    }
    rules += [f"SCOPE{name}{{color:{colour}}}" for name, colour in words.items()]
    return "".join(rules).replace("SCOPE", scope)


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
