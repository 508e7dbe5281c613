"""The result of every plot, the look of all pictures, and curves as distances from their best values.

Requires Matplotlib.
"""

from __future__ import annotations

import base64
import io
import itertools
import re
import textwrap
import unicodedata
import warnings
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._common.text import format_difference, printable
from ._common.theme import theme_named
from ._common.validation import validate_output

try:
    from matplotlib.backend_bases import FigureCanvasBase
    from matplotlib.colors import to_hex, to_rgb
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.textpath import text_to_path
except ImportError as error:
    raise ImportError("Pictures require Matplotlib. Run: pip install matplotlib") from error

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.axes import Axes

    from ._common.theme import Theme
    from ._common.typing import Floats

SHARP = 2
"""Pixels of the image per pixel of the notebook, for screens with a high resolution."""

MARGIN = 0.12
"""Inches to the left and the right of a picture, because letters are wider in some fonts and resolutions."""

LETTERS = 11.5
"""Letters of a title in an inch."""

DESCRIPTIONS = {".png": "Description", ".svg": "Description", ".pdf": "Subject"}
"""The metadata field of the text alternative in each format."""


class Picture:
    """A drawn picture: the last line of a notebook's cell shows it, `save` writes it to a file.

    The methods of `comparison.plot` return it. Use its Matplotlib axes to change the picture or to add to it.

    Attributes
    ----------
    ax : Axes
        The axes of the picture.
    alt : str
        Text alternative: the content of the picture in words and numbers. Files and notebooks contain it.
    """

    def __init__(self, ax: Axes, alt: str) -> None:
        self.ax, self.alt = ax, alt

    @property
    def figure(self) -> Figure:
        """The figure that the axes are part of."""
        return self.ax.figure.canvas.figure

    @property
    def title(self) -> str:
        """The finding of the picture as a sentence."""
        return self.ax.get_title(loc="left").replace("\n", " ")

    def save(self, path: str | os.PathLike[str], *, dpi: float = 150) -> Path:
        """Write the whole figure to a file. The extension selects the format: .png, .svg, .pdf or another one.

        PNG, SVG and PDF files also contain the title and the text alternative.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced.
        dpi : float
            Dots per inch of an image.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            If Matplotlib does not support the extension.
        OSError
            If the file cannot be written.
        """
        file, formats = Path(path), FigureCanvasBase.get_supported_filetypes()
        if file.suffix.lower().removeprefix(".") not in formats:
            raise ValueError(f"path {str(file)!r} must end in an extension of a picture: {', '.join(sorted(formats))}.")
        validate_output("path", file)
        described = DESCRIPTIONS.get(file.suffix.lower())
        metadata = {"Title": self.title, described: self.alt} if described else None
        self.figure.savefig(file, dpi=dpi, metadata=metadata)
        return file

    def to_svg(self) -> str:
        """Return the whole figure as deterministic SVG text that uses the fonts of the viewer."""
        from matplotlib import rc_context

        written = io.StringIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "gainwise"}):
            look: dict[str, Any] = {"transparent": True, "bbox_inches": "tight", "pad_inches": 0.05}
            self.figure.savefig(written, format="svg", metadata={"Date": None}, **look)
        svg = re.sub(r"'DejaVu Sans'[^;\"]*", "Inter, system-ui, sans-serif", written.getvalue())
        # Blanks between elements, empty groups and thousandths of a point are invisible, and half of the file.
        svg = re.sub(r"[ \n]+", " ", re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL))
        svg = re.sub(r'<g id="\w+"/>| transform="rotate\(-0 [^"]*\)"|(?<=<g) id="[^"]*"(?=>)', "", svg)
        svg = svg.replace("> <", "><").replace("<g></g>", "")
        return re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), svg)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the picture for notebooks, except for figures of pyplot, which pyplot displays itself."""
        data: dict[str, Any] = {"text/plain": repr(self)}
        figure = self.figure
        if figure.canvas.manager is not None:
            return data, {}
        written = io.BytesIO()
        figure.savefig(written, format="png", dpi=SHARP * 96, metadata={"Software": None})
        data["image/png"] = base64.b64encode(written.getvalue()).decode("ascii")
        width, height = (round(96 * inches) for inches in figure.get_size_inches())
        return data, {"image/png": {"width": width, "height": height, "alt": self.alt}}

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"


def embed(plot: Callable[..., Picture], *inputs: Any, size: tuple[float, float] | None = None, **options: Any) -> str:
    """Return HTML with a plot in both themes, without its title, optionally with a width and height in inches."""
    sources = []
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # The browser of the reader has more fonts.
        for theme in ("light", "dark"):
            ax = None if size is None else start(None, theme, size)[0]
            picture = plot(*inputs, ax=ax, theme=theme, **options)
            title = escape(picture.title)
            picture.ax.set_title("", loc="left")
            content = base64.b64encode(picture.to_svg().encode()).decode("ascii")
            sources.append(f"data:image/svg+xml;base64,{content}")
    alt = f"{title}. {escape(picture.alt)}"
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}"><picture>'
        f'<source media="screen and (prefers-color-scheme: dark)" srcset="{sources[1]}">'
        f'<img src="{sources[0]}" alt="{alt}"></picture></div>'
    )


class Look(NamedTuple):
    """Marker and colors of a metric."""

    marker: str
    color: str
    text: str


def looks(theme: Theme) -> tuple[Look, Look]:
    """Return the looks of the first and the second metric."""
    return Look("o", theme.first, theme.first_text), Look("D", theme.second, theme.second_text)


def start(ax: Axes | None, name: str, size: tuple[float, float]) -> tuple[Axes, Theme]:
    """Return the theme and the axes to draw on: `ax`, or those of a new figure (inches) outside of pyplot."""
    theme = theme_named(name)
    if ax is None:
        ax = Figure(figsize=size, facecolor=theme.face, layout=ConstrainedLayoutEngine(w_pad=MARGIN)).add_subplot()
    ax.set_facecolor(theme.face)
    ax.spines[:].set(color=theme.muted, linewidth=0.8, visible=False)
    ax.spines[["left", "bottom"]].set_visible(True)
    ax.tick_params(colors=theme.muted, labelcolor=theme.muted, labelsize=9, width=0.8)
    ax.set_axisbelow(True)
    return ax, theme


def finish(
    ax: Axes,
    theme: Theme,
    title: str,
    alt: str,
    x: str = "",
    y: str = "",
    *,
    pad: float = 10,
    wide: float = 0.8,
    left: float = 0.0,
) -> Picture:
    """Set the title (the finding) and the labels of the axes, and return the picture.

    The title is wrapped for axes with the share `wide` of the width of their column in the figure. It begins the share
    `left` of the axes' width to the left of them.
    """
    letters = max(24, int(wide * column_width(ax) * LETTERS))
    title = "\n".join(wrap_letters(printable(title).replace("p = ", "p\u00a0=\u00a0"), letters))
    ax.set_title(title, loc="left", fontsize=11, weight="bold", color=theme.ink, parse_math=False, pad=pad, x=-left)
    if "\n" in x and isinstance(ax.figure, Figure) and ax.figure.canvas.manager is None:  # a key of long names
        ax.figure.set_figheight(ax.figure.get_figheight() + 0.17 * x.count("\n"))
    ax.set_xlabel(x, fontsize=9.5, color=theme.muted, parse_math=False)
    ax.set_ylabel(y, fontsize=9.5, color=theme.muted, parse_math=False)
    return Picture(ax, printable(alt))


def column_width(ax: Axes) -> float:
    """Return the width in inches of the column of the figure that contains the axes."""
    width = ax.figure.get_figwidth() if isinstance(ax.figure, Figure) else 6.0
    place = ax.get_subplotspec()
    return width if place is None else width * len(place.colspan) / place.get_gridspec().ncols


def annotate_beside(
    ax: Axes, text: str, at: tuple[float, float], right: float, up: float = 0, *, color: str, size: float, **look: Any
) -> None:
    """Write a text some points right of and above a position, growing to that side. It is not parsed as a formula."""
    look = {"ha": "left" if right >= 0 else "right", "va": "center", "textcoords": "offset points", **look}
    ax.annotate(text, at, (right, up), fontsize=size, color=color, parse_math=False, **look)


def draw_legend_below(ax: Axes, theme: Theme, below: float = 0.13, **look: Any) -> None:
    """Write the legend below the axes."""
    look = {"bbox_to_anchor": (0.5, -below), "fontsize": 8, "ncols": 3, **look}
    legend = ax.legend(loc="upper center", frameon=False, labelcolor=theme.ink, **look)
    for text in legend.get_texts():
        text.set_parse_math(False)


def wrap_letters(text: str, letters: int) -> list[str]:
    """Return a printable text in lines of at most this number of letters. Wide ones, as in Chinese, count as two.

    >>> wrap_letters("a longer title", 9), wrap_letters("\u65b0\u3057\u3044\u540d\u524d", 6)
    (['a longer', 'title'], ['\u65b0\u3057\u3044', '\u540d\u524d'])
    """
    filler = "\ue000"  # A private character, which is not printable.
    doubled = (letter + filler * (unicodedata.east_asian_width(letter) in "WF") for letter in text)
    return [line.replace(filler, "") for line in textwrap.wrap("".join(doubled), letters)]


def measure_text(texts: Iterable[str], size: float, bold: bool = False) -> float:
    """Return the width of the widest text in points."""
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawing warns of it anyway
        return max((text_to_path.get_text_width_height_descent(text, font, False)[0] for text in texts), default=0.0)


def number_long_names(labels: Mapping[str, str], shown: Sequence[str], ax: Axes) -> tuple[dict[str, str], str]:
    """Return the texts of `shown` names in a picture, and a key below it.

    If a name takes more than a third of the width, the texts are numbers, and the key has the names.
    """
    width = 72 * column_width(ax)
    if measure_text([labels[name] for name in shown], 9, bold=True) <= width / 3:
        return dict(labels), ""
    numbers = {name: str(number) for number, name in enumerate(shown, start=1)}
    lines = [wrap_letters(f"{number}: {printable(labels[name])}", int(width / 7)) for name, number in numbers.items()]
    return dict.fromkeys(labels, "") | numbers, "\n".join(["", *itertools.chain.from_iterable(lines)])


def remove_frame(ax: Axes, theme: Theme, max_ticks: int) -> None:
    """Keep only the tick labels below the axes and vertical grid lines."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.locator_params(axis="x", nbins=max_ticks)
    ax.grid(axis="x", color=theme.grid, linewidth=0.8)


def mix_colors(face: str, color: str, share: float) -> str:
    """Mix a share of a color with the background.

    >>> mix_colors("#ffffff", "#000000", 0.5)
    '#808080'
    """
    start, end = np.array(to_rgb(face)), np.array(to_rgb(color))
    red, green, blue = (start + share * (end - start)).tolist()
    return to_hex((red, green, blue))


ROLES = {"first": ("o", "-"), "second": ("D", (0, (5, 1.5))), "third": ("^", ":"), "fourth": ("s", "-.")}
"""Marker and line of each color of a theme."""


class DistanceCurve(NamedTuple):
    """A curve to draw as distances from its best value, which are 0 at `best_round`.

    `text` is written above the best round. `loss` is the distance at round `at`, the best round of another metric.
    """

    label: str
    text: str
    role: str
    rounds: Any
    losses: Floats
    best_round: int
    loss: float
    at: int


def draw_curves(ax: Axes, colors: Theme, curves: Sequence[DistanceCurve]) -> None:
    """Draw curves as distances from their best values, with a filled mark at 0 and a hollow one at `at`."""
    if not curves:
        raise ValueError("curves must have a value other than NaN, got none. Check the values of the metrics.")
    rightmost = max(reversed(curves), key=lambda curve: curve.best_round)
    for curve in curves:
        color, (marker, style) = getattr(colors, curve.role), ROLES[curve.role]
        mark: dict[str, Any] = {"marker": marker, "linestyle": "", "color": color, "markersize": 6.5}
        width = 1.8 if curve.text else 1.1
        ax.plot(curve.rounds, -curve.losses, color=color, linestyle=style, linewidth=width, label=curve.label or None)
        if curve.loss > 0:
            ax.vlines(curve.at, -curve.loss, 0, color=color, linewidth=4, alpha=0.45, zorder=3)
        ax.plot([curve.at], [-curve.loss], markerfacecolor=ax.get_facecolor(), zorder=4, **mark)
        ax.plot([curve.best_round], [0.0], zorder=5, clip_on=False, **mark)
        text_color = getattr(colors, f"{curve.role}_text", color)
        annotate_beside(ax, curve.text, (curve.best_round, 1), 2 if curve is rightmost else -2, 3, color=text_color,
                        size=8.5, xycoords=("data", "axes fraction"), va="baseline", weight="bold")  # fmt: skip
    lowest = max(1e-6, *(max(2.5 * np.nan_to_num(c.loss), np.nanquantile(c.losses, 0.8)) for c in curves))
    ax.set_ylim(-1.1 * lowest, 0.08 * lowest)
    if max(np.nanmax(curve.losses) for curve in curves) > 1.1 * lowest:
        note = f"values below {format_difference(-1.1 * lowest)} are not shown"
        ax.text(0.99, 0.02, note, transform=ax.transAxes, fontsize=8, color=colors.muted, ha="right",
                bbox={"facecolor": colors.face, "edgecolor": "none", "pad": 1.5})  # fmt: skip
    ax.grid(axis="y", color=colors.grid, linewidth=0.6)
    ax.locator_params(axis="x", integer=True)
    draw_legend_below(ax, colors, 0.14, fontsize=9)
