"""The path of gains: how far each model is behind the best at each base, and who may be best where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from ...drawing.gain_path import (
    by_lead,
    coloured,
    gain_text,
    labelled_bases,
    notable,
    ranged,
    scale_of,
    stroke_of,
    with_room,
)
from .labels import beside
from .style import finish, looks, start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from ...comparison.gains import Gains
    from ...drawing.gain_path import PathData
    from ...drawing.palette import Theme
    from .picture import Picture

__all__ = ["plot_gains"]

MOST_BARS = 12
"""Models whose range is drawn below; of more the first by base."""


def plot_gains(gains: Gains, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw how far each model is behind the best mean along the base of the gain.

    Down is worse, the line at the top is the best mean at each base, and its band is coloured by who leads. A line is
    thick where the model may be best (all bases together), and the same stands as bars below. Models that neither lead
    nor may be best are hairlines. The linear gain is b = 1 and the exponential one b = 2; the base that preferences say
    is a shaded stretch.

    Parameters
    ----------
    gains : Gains
        From `Comparison.gains`.
    ax : Axes, optional
        Where to draw; by default on a new figure of which pyplot knows nothing.
    theme : {"light", "dark"}

    Raises
    ------
    ValueError
        Where the path has a single base.

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
        raise ValueError("a path of a single base has nothing to draw: give gains(bases) two or more")
    path = gains.drawn()
    names = ranged(path)[:MOST_BARS]
    ax, colours = start(ax, theme, (7.6, 4.2 + 0.15 * len(names)))
    colour = {name: str(getattr(colours, slot)) for name, slot in coloured(path).items()}
    most, _ = scale_of(path)
    row = 0.055 * most
    lowest = most + row * (1.2 + len(names))
    _lines(ax, colours, path, colour, 1.15 * row)
    _leads(ax, colours, path, colour, row)
    for place, name in enumerate(names):
        y = most + row * (1.2 + place)
        for owner, low, high in path["ranges"]:
            if owner == name:
                ax.plot([low, high], [y, y], color=colour.get(name, colours.ink), lw=5, solid_capstyle="butt")
        beside(ax, name, (1.01, y), xycoords=("axes fraction", "data"), ha="left", colour=colours.ink, size=8)
    _axes(ax, colours, path, lowest)
    _fit(ax, colours, path)
    base = "gain base b, gain of grade l = (b^l − 1)/(b − 1)"
    return finish(ax, colours, gains.headline, f"{gains.headline}. {gains.text}", x=base, y="behind the best")


def _lines(ax: Axes, theme: Theme, path: PathData, colour: Mapping[str, str], gap: float) -> None:
    """Draw the lines, each with its name where it ends, `gap` apart; names without room stand beside bars only."""
    bases, strong, (most, _) = np.array(path["bases"]), notable(path), scale_of(path)
    ends: dict[str, float] = {}
    for name in sorted(path["regrets"], key=lambda name: (name in strong, name in colour)):
        values = np.array(path["regrets"][name])
        shown = np.where(values <= most, values, np.nan)
        own = colour.get(name, theme.ink)
        if name not in strong:
            ax.plot(bases, shown, color=theme.muted, lw=0.6, alpha=0.5)
            continue
        ax.plot(bases, shown, color=own, lw=1.4)
        for owner, low, high in path["ranges"]:
            within = (bases >= low) & (bases <= high)
            if owner == name:
                ax.plot(bases[within], shown[within], color=own, lw=stroke_of(path), solid_capstyle="round")
        last = int(np.flatnonzero(np.isfinite(shown))[-1])
        if last == len(bases) - 1:
            ends[name] = float(shown[last])
        else:
            beside(ax, name, (bases[last], shown[last]), colour=own, size=9, ha="left", weight="bold")
    for name, y in with_room(by_lead(path, ends), gap, most).items():
        beside(ax, name, (1.01, y), xycoords=("axes fraction", "data"), colour=colour.get(name, theme.ink), size=9,
               ha="left", weight="bold")  # fmt: skip


def _leads(ax: Axes, theme: Theme, path: PathData, colour: Mapping[str, str], row: float) -> None:
    """Draw who leads as a band above the best."""
    width = np.log(path["bases"][-1] / path["bases"][0])
    for place, (name, low, high) in enumerate(path["leads"]):
        ax.fill_between([low, high], -1.7 * row, -0.4 * row, color=colour.get(name, theme.ink), lw=0)
        if place:
            ax.axvline(low, color=theme.muted, lw=0.8, ls=":")
        if np.log(high / low) / width > 0.018 * len(name) + 0.02:
            ax.text(np.sqrt(low * high), -1.05 * row, name, ha="center", va="center", fontsize=8, weight="bold",
                    color=theme.face, parse_math=False)  # fmt: skip


def _axes(ax: Axes, theme: Theme, path: PathData, lowest: float) -> None:
    most, step = scale_of(path)
    first, last = path["bases"][0], path["bases"][-1]
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ax.set_ylim(lowest, -1.9 * 0.055 * most)
    bases = labelled_bases(path["bases"])
    worth = [" ".join(gain_text(base, grade) for grade in path["grades"][:5]) for base in bases]
    named = {1.0: "1: linear", 2.0: "2: exponential"}
    ax.xaxis.set_major_locator(FixedLocator(bases))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticklabels([f"{named.get(base, f'{base:g}')}\n{own}" for base, own in zip(bases, worth, strict=True)])
    ax.yaxis.set_major_locator(FixedLocator([step * number for number in range(int(most / step) + 1)]))
    ax.yaxis.grid(True, color=theme.grid, lw=0.8)
    ax.axhline(0, color=theme.ink, lw=1)
    for base, look in zip((1.0, 2.0), looks(theme), strict=True):
        if first <= base <= last:
            ax.vlines(base, 0, lowest, color=look.colour, lw=1.2)


def _fit(ax: Axes, theme: Theme, path: PathData) -> None:
    if path["fit"] is None:
        return
    low, best, high = (min(max(base, path["bases"][0]), path["bases"][-1]) for base in path["fit"])
    ax.axvspan(low, high, color=theme.ink, alpha=0.09, lw=0)
    if best == path["fit"][1]:
        ax.axvline(best, color=theme.ink, lw=1, ls="--")
    ax.annotate(
        f"your users: {path['fit'][1]:.2f}", (best, 0.985), xycoords=("data", "axes fraction"), fontsize=8, va="top",
        ha="center", color=theme.ink, bbox={"facecolor": theme.face, "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
