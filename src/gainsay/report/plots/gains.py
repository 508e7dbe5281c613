"""The gain path: the regret of each model at each base, and the ranges of bases that may make it best."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from ...comparison.gain_path import select_labelled_bases
from .style import annotate_beside, column_width, finish, looks, start

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ...comparison.gain_path import GainPath
    from .style import Picture

MAX_NAMES = 12
"""Maximum number of names next to the lines, those of the leaders first."""

CROWD = 6
"""Maximum number of models with thick lines."""

ROW = 0.055
"""Height of the band of leaders, as a share of the scale."""


def plot_gains(gains: GainPath, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the regret of each model along the base of the gain.

    Down is worse. The line at the top is the highest mean at each base, and the band above it has the color of the
    leading model. A line is thick if the model may be best at this base (simultaneously over all bases). Models that
    neither lead nor may be best are thin lines. The linear gain is b = 1, the exponential one b = 2. The base fitted to
    preferences is a shaded range.

    Parameters
    ----------
    gains : GainPath
        From `Comparison.gains`.
    ax : Axes, optional
        The axes to draw on, by default those of a new figure that pyplot does not manage.
    theme : {"light", "dark"}

    Raises
    ------
    ValueError
        If the path has a single base.

    Examples
    --------
    >>> import gainsay as gs
    >>> judgments = gs.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    >>> scores = {"top": [3, 1, 2, 4] * 40, "broad": [1, 4, 3, 2] * 40}
    >>> comparison = gs.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"])
    >>> plot_gains(comparison.gains()).ax.get_xscale()
    'log'
    """
    if len(gains.bases) < 2:
        raise ValueError("A plot of gains requires two bases, got 1. Pass more to gains(bases).")
    ax, colors = start(ax, theme, (7.6, 4.2))
    # Models that lead somewhere, then those that may be best somewhere.
    notable = list(dict.fromkeys([*gains.winners["model"], *gains.best_ranges["model"]]))
    largest = dict(zip(gains.models, gains.regret.max(axis=0).tolist(), strict=True))
    scale = 1.05 * max(1e-9, *sorted(largest.values())[:2], *(largest[model] for model in notable))
    line_colors = _choose_colors(gains, colors)
    _draw_lines(ax, colors, gains, notable, line_colors, scale)
    _draw_leaders(ax, colors, gains, line_colors, scale)
    _draw_axes(ax, colors, gains, scale)
    _draw_fitted_base(ax, colors, gains)
    base = "gain base b, gain of grade l = (bˡ − 1)/(b − 1)"
    return finish(ax, colors, gains.headline, f"{gains.headline}. {gains.text}", base, "regret")


def _choose_colors(gains: GainPath, theme: Theme) -> dict[str, str]:
    """Return the colors of the leaders at base 1 and base 2, or no colors if they are the same model."""
    leaders = {
        model: color
        for base, color in ((1.0, theme.first), (2.0, theme.second))
        for model, start, stop in gains.winners.itertuples(index=False)
        if start <= base <= stop
    }
    return leaders if len(leaders) == 2 else {}


def _draw_lines(
    ax: Axes, theme: Theme, gains: GainPath, notable: list[str], line_colors: Mapping[str, str], scale: float
) -> None:
    """Draw the lines, thick where the model may be best, with names at their ends."""
    bases, ranges = np.array(gains.bases), gains.best_ranges
    regrets = dict(zip(gains.models, gains.regret.T, strict=True))
    width = 4.5 if ranges["model"].nunique() <= CROWD else 2.8
    for model in sorted(gains.models, key=lambda model: (model in notable, model in line_colors)):
        regret, color = regrets[model], line_colors.get(model, theme.ink)
        thin: dict[str, Any] = {"color": theme.muted, "lw": 0.6, "alpha": 0.5}
        look = {"color": color, "lw": 1.4} if model in notable else thin
        ax.plot(bases, np.where(regret <= scale, regret, np.nan), **look)
        for low, high in ranges.loc[ranges["model"] == model, ["from", "to"]].to_numpy(float).tolist():
            x = np.array([low, *bases[(bases > low) & (bases < high)], high])
            ax.plot(x, np.interp(x, bases, regret), color=color, lw=width, solid_capstyle="round")
    named = sorted(notable[:MAX_NAMES], key=lambda model: min(regrets[model][-1], scale))
    ends = _spread([min(regrets[model][-1], scale) for model in named], 1.15 * ROW * scale, scale)
    for model, y in zip(named, ends, strict=True):
        annotate_beside(ax, gains.short_names[model], (1.01, y), 0, color=line_colors.get(model, theme.ink), size=9,
                        weight="bold", ha="left", xycoords=("axes fraction", "data"))  # fmt: skip


def _spread(places: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Move ascending positions until they are `gap` apart, and those beyond the bottom back again.

    >>> [round(place, 1) for place in _spread([1, 1.1, 5, 9.5, 9.6], 1, 10)]
    [1, 2, 5, 9, 10]
    """
    moved = accumulate(places, lambda before, place: max(place, before + gap))
    return [min(place, bottom - gap * (len(places) - 1 - index)) for index, place in enumerate(moved)]


def _draw_leaders(ax: Axes, theme: Theme, gains: GainPath, line_colors: Mapping[str, str], scale: float) -> None:
    """Draw the leading models as a band above the best."""
    width, row = np.log(gains.bases[-1] / gains.bases[0]), ROW * scale
    for place, (model, low, high) in enumerate(gains.winners.itertuples(index=False)):
        ax.fill_between([low, high], -1.7 * row, -0.4 * row, color=line_colors.get(model, theme.ink), lw=0)
        if place:
            ax.axvline(low, color=theme.muted, lw=0.8, ls=":")
        name = gains.short_names[model]
        if np.log(high / low) / width > 0.018 * len(name) + 0.02:
            ax.text(np.sqrt(low * high), -1.05 * row, name, ha="center", va="center", fontsize=8, weight="bold",
                    color=theme.face, parse_math=False)  # fmt: skip


def _draw_axes(ax: Axes, theme: Theme, gains: GainPath, scale: float) -> None:
    first, last = gains.bases[0], gains.bases[-1]
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ax.set_ylim(1.02 * scale, -1.9 * ROW * scale)
    room = 0.14 if column_width(ax) > 6.5 else 0.28
    bases, named = select_labelled_bases(gains.bases, room), {1.0: "1: linear", 2.0: "2: exponential"}
    grade_gains = [" ".join(format_gain(base, grade) for grade in gains.grades[:5]) for base in bases]
    labels = [f"{named.get(base, f'{base:g}')}\n{text}" for base, text in zip(bases, grade_gains, strict=True)]
    ax.set_xticks(bases, labels)
    ax.minorticks_off()
    ax.yaxis.set_major_locator(MaxNLocator(6))
    ax.yaxis.grid(True, color=theme.grid, lw=0.8)
    ax.axhline(0, color=theme.ink, lw=1)
    for base, look in zip((1.0, 2.0), looks(theme), strict=True):
        if first <= base <= last:
            ax.vlines(base, 0, 1.02 * scale, color=look.color, lw=1.2)


def _draw_fitted_base(ax: Axes, theme: Theme, gains: GainPath) -> None:
    if gains.fit is None or not gains.fit.has_base:
        return
    low, best, high = np.clip([gains.fit.lower, gains.fit.base, gains.fit.upper], gains.bases[0], gains.bases[-1])
    ax.axvspan(low, high, color=theme.ink, alpha=0.09, lw=0)
    if best == gains.fit.base:
        ax.axvline(best, color=theme.ink, lw=1, ls="--")
    ax.annotate(
        f"your users: {gains.fit.base:.2f}", (best, 0.985), xycoords=("data", "axes fraction"), fontsize=8, va="top",
        ha="center", color=theme.ink, bbox={"facecolor": theme.face, "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip


def format_gain(base: float, grade: float) -> str:
    """Return the gain of a grade with three digits, "inf" beyond the range of floats."""
    with np.errstate(over="ignore"):
        return f"{grade if base == 1 else (np.float64(base) ** grade - 1) / (base - 1):.3g}"
