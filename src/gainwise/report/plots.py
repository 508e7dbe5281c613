"""Pictures of a comparison, drawn with Matplotlib.

Functions take a comparison (or one of its tables), `ax` and `theme`, and return a `Picture`. `comparison.plot` has them
as methods. They change no global state: pyplot does not manage the figures, and no `rcParams` are set.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from ..drawing import (  # Before Matplotlib, because its error names the missing package.
    ROLES,
    DistanceCurve,
    Picture,
    annotate_beside,
    column_width,
    draw_curves,
    draw_legend_below,
    finish,
    looks,
    measure_text,
    mix_colors,
    number_long_names,
    remove_frame,
    start,
    wrap_letters,
)

# isort: split
from matplotlib.legend_handler import HandlerTuple
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation

from .._common.names import split_names
from .._common.text import MINUS, as_text, format_difference, format_mean, format_size, pieces, pluralize, printable
from .._common.theme import LIGHT
from .._common.validation import validate_choice, validate_integer
from ..comparison.gain_path import select_labelled_bases
from ..comparison.metric_labels import assign_styles, label_metrics
from .chart import STAR
from .content import best_rounds, choose_pair, name_training, select_curve

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from .._common.theme import Theme
    from .._common.typing import Floats
    from ..comparison.attribution import Attribution
    from ..comparison.comparison import Comparison
    from ..comparison.gain_path import GainPath
    from ..comparison.sensitivity import Sensitivity
    from ..drawing import Look
    from .chart import Chart, Row

MAX_GRADES = 20
"""Up to this number of grades, the colors of queries are those of all grades in the data."""


class Plots:
    """Pictures of a comparison. Every method returns a `Picture`, which notebooks display and `Picture.save` writes.

    All accept `ax`, the axes to draw on (by default those of a new figure that pyplot does not manage), and `theme`,
    ``"light"`` or ``"dark"``.

    Parameters
    ----------
    comparison : Comparison
        The comparison to draw.

    Examples
    --------
    >>> import numpy as np
    >>> import gainwise as gw
    >>> labels, rng = np.tile([0, 1, 2, 4], 250), np.random.default_rng(0)
    >>> models = {name: labels + rng.normal(0, spread, 1000) for name, spread in [("a", 1), ("b", 2), ("c", 3)]}
    >>> picture = gw.compare(models, gw.Judgments(labels, group=[20] * 50)).plot.leaderboard()
    >>> picture.title.startswith("a is better than the 2 others by linear and by exponential gain (95 %)")
    True
    """

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def __repr__(self) -> str:
        methods = [f".{name}()" for name in vars(Plots) if not name.startswith("_")]
        return f"Pictures of {self._comparison!r}: {', '.join(methods)}"

    def leaderboard(self, ax: Axes | None = None, theme: str = "light") -> Picture:
        """Draw the main chart, every model next to the best under both metrics: see `plot_leaderboard`."""
        return plot_leaderboard(self._comparison, ax, theme)

    def attribution(
        self, first: str | None = None, second: str | None = None, ax: Axes | None = None, theme: str = "light"
    ) -> Picture:
        """Draw why two models differ, grade by rank: see `plot_attribution`. By default the pair of `choose_pair`."""
        content = self._comparison.content
        attribution = content.attribute(*self._choose_pair(first, second))
        primary = self._comparison.primary or ()
        return plot_attribution(attribution, ax, theme, names=content.names.labels, primary=primary)

    def queries(
        self,
        first: str | None = None,
        second: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
        *,
        most: int = 6,
    ) -> Picture:
        """Draw the most contradictory queries of two models: see `plot_queries`. By default those of `choose_pair`."""
        queries = self._comparison.queries(*self._choose_pair(first, second), most=most)
        rankings = self._comparison.rankings
        levels = () if rankings is None else rankings.judgments.levels.tolist()
        grades = levels if len(levels) <= MAX_GRADES else None
        return plot_queries(queries, ax, theme, most=most, names=self._comparison.content.names.labels, grades=grades)

    def curves(self, candidate: str | None = None, ax: Axes | None = None, theme: str = "light") -> Picture:
        """Draw both metrics over the rounds of training: see `plot_curves`.

        Raises
        ------
        ValueError
            If the comparison has no curves. Only results of experiments have them.
        """
        comparison = self._comparison
        if comparison.curves is None:
            raise ValueError("this comparison has no curves: they come with the results of an experiment")
        options: dict[str, Any] = {
            "names": comparison.content.names.labels,
            "lower_is_better": comparison.lower_is_better,
        }
        return plot_curves(comparison.curves, comparison.verdict.metrics, ax, theme, candidate=candidate, **options)

    def gains(self, ax: Axes | None = None, theme: str = "light", **options: Any) -> Picture:
        """Draw the best model for each gain: see `plot_gains`. Further options are those of `Comparison.gains`."""
        return plot_gains(self._comparison.gains(**options), ax, theme, names=self._comparison.content.names.labels)

    def sensitivity(self, ax: Axes | None = None, theme: str = "light") -> Picture:
        """Draw which choices reverse pairs of models: see `plot_sensitivity`."""
        return plot_sensitivity(self._comparison.sensitivity(), ax, theme)

    def _choose_pair(self, first: str | None, second: str | None) -> tuple[str, str]:
        if first is not None and second is not None:
            return first, second
        if first is not None or second is not None:
            raise ValueError("name both models, or none")
        pair = choose_pair(self._comparison)
        if pair is None:
            raise ValueError("there is one model only: nothing is compared")
        return pair.first, pair.second


WIDTH = 8.5
"""Inches of a new figure."""

SIZE = 10.0
HEADLINE = 12.0
"""Points of the font."""

PAD, SPACE = 8.0, 14.0
"""Points around the chart, and between its columns."""

MIN_LANE = 0.4
"""Smallest share of the width for the lane. Longer names wrap."""

LETTER_WIDTH = 0.54
"""Width of a letter in a text, as a share of the size of the font."""

CAPTIONS, TICKS, ROW = 34.0, 22.0, 26.0
"""Points of height above and below the rows, and of a row with one line."""


def plot_leaderboard(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the difference of at most twelve models to the best. Right is better.

    Both metrics share one lane. A filled mark means that the model may be best under this metric, a hollow mark that it
    is ruled out. The bar is the simultaneous interval, the last column the worst case under either metric, and the star
    marks the model that the advice names. With a baseline, differences are to the baseline.

    Parameters
    ----------
    comparison : Comparison
        The models to draw.
    ax : Axes, optional
        Axes to draw on, by default those of a new figure that pyplot does not manage. All texts have sizes in points,
        so the axes need a width of 8 inches.
    theme : {"light", "dark"}
        Colors.
    """
    content = comparison.content
    chart, (rows, rest) = content.chart, content.chart.fold()
    is_new = ax is None
    text_width = 72 * (WIDTH if ax is None else _measure_axes(ax)[0]) - 2 * PAD
    names = _wrap_names(chart, rows, text_width)
    heights = [max(ROW, 12.0 * max(map(len, cells)) + 8) for cells in names]
    advice = _wrap(as_text(chart.advice), 9.5, text_width)
    keys = [as_text(key) for key in chart.keys]
    legend = [*([f"{rest}."] if rest else []), *chart.legend, *content.same_number] if rows else []
    notes = _wrap(" ".join(legend), 7.5, text_width)
    headline = _wrap_headline(chart.headline, text_width)
    start_of_advice = 25.0 + 17 * len(headline)
    top = start_of_advice - 10 + 15 * len(advice) + (8 if advice else 0)
    body = CAPTIONS + sum(heights) + TICKS if rows else 16.0 * len(comparison.metrics)
    pixels = round((top + body + 12 * len(notes) + 10) * 96 / 72)  # whole ones, for notebooks
    ax, colors = start(ax, theme, (WIDTH, pixels / 96))
    if is_new:
        ax.figure.set_layout_engine("none")  # type: ignore[union-attr]
        ax.set_position((0, 0, 1, 1))
    width, height = (72 * inches for inches in _measure_axes(ax))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    painter = _Painter(ax, colors, chart, rows, width)
    painter.write_headline(headline)
    for number, line in enumerate(advice):
        painter.write(PAD, start_of_advice + 15 * number, line, colors.muted, 9.5, va="baseline")
    for number, line in enumerate(reversed(notes)):
        painter.write(PAD, height - 8 - 12 * number, line, colors.muted, 7.5)
    if rows:
        available = height - top - CAPTIONS - TICKS - 12 * len(notes) - 10
        painter.write(PAD, top + 8, f"{chart.caption}.   {'   '.join(keys)}", colors.muted, 8)
        painter.draw_rows(top, names, [h * min(1.0, available / sum(heights)) for h in heights])
    else:
        for number, (metric, mean) in enumerate(comparison.leaderboard[list(comparison.metrics)].iloc[0].items()):
            painter.write(PAD, top + 16 * number, f"{metric}: {format_mean(mean)}", colors.ink)
    title = printable(as_text(chart.headline)).removesuffix(".")
    ax.set_title(title, loc="left", parse_math=False).set_visible(False)  # for the file and its text alternative
    labels = chart.names.labels
    descriptions = (f"{labels[row.model]}: {'; '.join(mark.description for mark in row.marks)}." for row in rows)
    return Picture(ax, printable(" ".join((as_text(chart.advice), *descriptions))))


def _wrap_headline(text: str, width: float) -> list[list[tuple[str, str]]]:
    """Return the lines of text with emphasis, each as pieces with their style. A word may have several styles."""
    tokens = [(style, token) for style, part in pieces(text) for token in re.findall(r"\S+\s*|\s+", printable(part))]
    lines, line, word = list[list[tuple[str, str]]](), list[tuple[str, str]](), list[tuple[str, str]]()
    for number, (style, token) in enumerate(tokens, start=1):
        word.append((style, token))
        if token[-1].isspace() or number == len(tokens):
            whole = "".join(part for _, part in (*line, *word))
            if line and measure_text([whole.rstrip()], HEADLINE, bold=True) > 0.96 * width:
                lines.append(line)
                line = []
            line, word = [*line, *word], []
    return [*lines, line]


def _wrap_names(chart: Chart, rows: Sequence[Row], width: float) -> list[list[list[str]]]:
    """Return the lines of every name, by row and column, so that names leave enough space for the lane."""
    available = width * (1 - MIN_LANE) / len(chart.names.heads) - 1.6 * SPACE
    return [[_wrap(cell, SIZE, available) or [""] for cell in chart.names.cells[row.model]] for row in rows]


class _Painter:
    """Text and marks of a chart at positions in points from the upper left corner."""

    def __init__(self, ax: Axes, colors: Theme, chart: Chart, rows: Sequence[Row], width: float) -> None:
        self.ax, self.colors, self.chart, self.rows, self.width = ax, colors, chart, rows, width
        self.axis = chart.axis(rows)
        self.left = self.lane = 0.0

    def write(self, x: float, y: float, text: str, color: str, size: float = SIZE, **look: Any) -> None:
        """Write text, by default centered on `y`."""
        weight = "bold" if look.pop("bold", False) else "normal"
        look = {"va": "center_baseline", "fontsize": size, "fontweight": weight, **look}
        self.ax.text(x, y, text, color=color, parse_math=False, **look)

    def write_headline(self, lines: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Write the lines of the headline with winners in the color of their metric, smaller if a name is too long."""
        colors, texts = self.colors, ["".join(part for _, part in line) for line in lines]
        size = HEADLINE * min(1.0, 0.96 * (self.width - 2 * PAD) / max(measure_text(texts, HEADLINE, bold=True), 1.0))
        for number, line in enumerate(lines):
            boxes = list[Any]()
            for style, part in line:
                color = colors.first_text if "l" in style else colors.second_text if "e" in style else colors.ink
                look = {"color": color, "fontsize": size, "fontweight": "bold", "parse_math": False}
                boxes.append(TextArea(part, textprops=look))
            packed = HPacker(children=boxes, pad=0, sep=0, align="baseline")
            place = (PAD, 20 + 17 * number)
            self.ax.add_artist(
                AnnotationBbox(packed, place, box_alignment=(0, 0.3), frameon=False, pad=0, annotation_clip=False)
            )

    def draw_rows(self, top: float, names: Sequence[Sequence[Sequence[str]]], heights: Sequence[float]) -> None:
        """Draw heads, names, lanes and the last column from `top` down."""
        colors, chart, right, base = self.colors, self.chart, self.width - PAD, top + CAPTIONS
        x, lefts = PAD + SPACE, []
        for place, head in enumerate(chart.names.heads):
            lefts.append(x)
            x += measure_text([head, *(line for cells in names for line in cells[place])], SIZE, bold=True) + SPACE
            self.write(lefts[-1], base - 9, head, colors.muted, 8)
        self.left = x
        self.lane = right - x - measure_text([chart.last, *(row.outcome for row in self.rows)], SIZE, bold=True) - SPACE
        self.write(right, base - 9, chart.last, colors.ink, bold=True, ha="right")
        bottom = base + sum(heights)
        self.draw_grid(base, bottom)
        y = base
        for row, cells, height in zip(self.rows, names, heights, strict=True):
            middle, color = y + height / 2, colors.ink if any(mark.possible for mark in row.marks) else colors.muted
            if row.starred:
                box = Rectangle((0, y), self.width, height, facecolor=colors.shade, edgecolor="none", zorder=-3)
                self.ax.add_patch(box)
                self.write(PAD, middle, STAR, colors.ink)
            self.ax.hlines(y, PAD, right, color=colors.grid, linewidth=0.6, zorder=-1)
            for left, lines in zip(lefts, cells, strict=True):
                for number, line in enumerate(lines):
                    offset = 12.0 * (number - (len(lines) - 1) / 2)
                    self.write(left, middle + offset, line, color, bold=row.starred)
            self.write(right, middle, row.outcome, color, bold=row.starred, ha="right")
            self.draw_lane(row, middle, min(height, ROW))
            y += height
        self.ax.hlines(bottom, PAD, right, color=colors.grid, linewidth=0.6, zorder=-1)

    def locate(self, value: float) -> float:
        """Return the horizontal position of a difference."""
        return self.left + self.lane * self.axis.at(value) / 100

    def draw_grid(self, base: float, bottom: float) -> None:
        """Draw the band of the margin, the grid, and the axis below the rows."""
        colors, ax, chart, zero = self.colors, self.ax, self.chart, self.locate(0)
        if chart.margin:
            low, high = map(self.locate, chart.band)
            box = Rectangle((low, base), high - low, bottom - base, facecolor=colors.band, edgecolor="none", zorder=-2)
            ax.add_patch(box)
        for value, text in self.axis.ticks(max(2, int(self.lane // 50))):
            x = self.locate(value)
            ax.vlines(x, base, bottom, color=colors.grid, linewidth=0.8, zorder=-1)
            if abs(x - zero) > 6 + (measure_text([text], 7.5) + measure_text([chart.reference], 7.5, bold=True)) / 2:
                self.write(x, bottom + 12, text, colors.muted, 7.5, ha="center")
        ax.vlines(zero, base, bottom + 3, color=colors.ink, linewidth=1.2, zorder=2)
        self.write(zero, bottom + 12, chart.reference, colors.ink, 7.5, bold=True, ha="center")

    def draw_lane(self, row: Row, middle: float, height: float) -> None:
        """Draw the marks of a row, their intervals and repeats, and the end of the worst case."""
        colors, ax = self.colors, self.ax
        places = (-0.19 * height, 0.19 * height) if len(row.marks) > 1 else (0.0,)
        if self.chart.reference == "best" and 0 < row.worst < np.inf:
            reach = 0.36 * height
            worst, top, bottom = self.locate(-row.worst), middle - reach, middle + reach
            ax.vlines(worst, top, bottom, color=colors.muted, linewidth=1.2, zorder=3)
        bars = (colors.first_bar, colors.second_bar)
        for mark, shift, look, bar in zip(row.marks, places, looks(colors), bars, strict=False):
            y = middle + shift
            if mark.bounded:
                ends = [self.locate(mark.lower), self.locate(mark.upper)]
                line: dict[str, Any] = {"linewidth": 3.2, "solid_capstyle": "round", "zorder": 3}
                ax.plot(ends, (y, y), color=bar, alpha=1.0 if mark.possible else 0.65, **line)
            repeats = [self.locate(repeat) for repeat in mark.repeats]
            ax.vlines(repeats, y + 1.3 * shift - 3, y + 1.3 * shift + 3, color=look.text, linewidth=1.1, zorder=4)
            fill = look.color if mark.possible else ax.get_facecolor()
            edge: dict[str, Any] = {"markeredgewidth": 1.4, "markeredgecolor": look.color, "markersize": 5.5}
            ax.plot(self.locate(mark.value), y, look.marker, markerfacecolor=fill, zorder=6, **edge)


def _measure_axes(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in inches."""
    box = ax.get_position()
    width, height = ax.figure.canvas.figure.get_size_inches()
    return box.width * width, box.height * height


def _wrap(text: str, size: float, width: float) -> list[str]:
    """Return a text in lines of about the given width in points."""
    return wrap_letters(printable(text), int(width / (LETTER_WIDTH * size)))


def plot_sensitivity(sensitivity: Sensitivity, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the share of reversed pairs for each choice, with its interval.

    Parameters
    ----------
    sensitivity : Sensitivity
        From `Comparison.sensitivity`.
    ax, theme
        As for `plot_leaderboard`.

    Raises
    ------
    ValueError
        If the comparison has no other choice.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    >>> orders = [[3, 1, 2, 4], [1, 4, 3, 2], [4, 1, 3, 2], [1, 2, 4, 3], [2, 4, 3, 1]]
    >>> scores = {f"model {number}": order * 40 for number, order in enumerate(orders)}
    >>> gw.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"]).plot.sensitivity()
    <Picture: The largest effect of 7 choices: exponential gain reverses 20.0 % of the pairs of models.>
    """
    table = sensitivity.table.iloc[::-1]
    if not len(table):
        raise ValueError("The comparison has no other choice to draw. Compare models with scores.")
    ax, colors = start(ax, theme, (7.6, 1.3 + 0.32 * len(table)))
    remove_frame(ax, colors, 7)
    ax.set_yticks(range(len(table)), table["choice"], parse_math=False)
    ax.tick_params(axis="y", pad=7)  # Half a mark at 0 is outside the axes.
    for row, (choice, label) in enumerate(zip(table.to_dict("records"), ax.get_yticklabels(), strict=True)):
        color = colors.ink if choice["kind"] == "gain" else colors.muted
        label.set(color=color, weight="bold" if choice["kind"] == "gain" else "normal")
        if np.isfinite(choice["lower"]):
            ends = [100 * choice["lower"], 100 * choice["upper"]]
            ax.plot(ends, [row, row], color=color, lw=2.4, alpha=0.45, solid_capstyle="round")
        ax.plot([100 * choice["reversed"]], [row], marker="o", markersize=6.5, color=color, clip_on=False)
    ax.set_xlim(left=0)
    x = f"reversed pairs of models in the order of {sensitivity.reference}, in percent"
    labels = 0.065 * table["choice"].str.len().max()  # Inches beside the axes.
    left = min(0.4, labels / max(1.0, column_width(ax) - labels - 0.4))
    return finish(ax, colors, sensitivity.headline, sensitivity.text, x, left=left)


LANES = (-0.2, 0.2)
HEIGHT = 0.34
"""Positions of the bars of the two metrics in the row of a grade, and their height."""

STRENGTHS = (1.0, 0.72, 0.48, 0.28)
"""Strength of the color of each band of ranks."""

MAX_DESCRIBED = 12
"""Parts of each metric in the text alternative."""


def plot_attribution(
    attribution: Attribution,
    ax: Axes | None = None,
    theme: str = "light",
    *,
    names: Mapping[str, str] | None = None,
    primary: Sequence[str] = (),
) -> Picture:
    """Draw the parts of the difference between two models by grade, metric and band of ranks.

    Each grade has a row, each metric a bar, each band of ranks a segment of the bar. Segments to the right favor the
    first model and have the color of their metric. Segments to the left favor the second model and are gray. Higher
    ranks have stronger colors. The number is the sum of the grade, the last row the whole difference. Grades without
    any effect are left out.

    Parameters
    ----------
    attribution : Attribution
        Result of `Comparison.attribution`. Its first two metrics are drawn.
    ax, theme
        As for `plot_leaderboard`.
    names : mapping of model to str, optional
        Labels of the models, by default their names.
    primary : sequence of str, optional
        The first and the second metric of the comparison, which determine the colors. By default, they are the two
        metrics that are drawn.
    """
    metrics = attribution.metrics[:2]
    blocks = {metric: _get_block(attribution, metric) for metric in metrics}
    grades = list(map(str, blocks[metrics[0]].index))
    ax, colors = start(ax, theme, (7.4, 1.9 + 0.44 * (len(grades) + 1)))
    bottom = len(grades) + 0.25
    metric_looks = assign_styles(metrics, primary, looks(colors))
    for (metric, block), lane in zip(blocks.items(), LANES if len(metrics) > 1 else (0.0,), strict=True):
        look = metric_looks[metric]
        cells = block.to_numpy(float)
        for row, values in enumerate(cells):
            _stack_pieces(ax, colors, row + lane, values, look)
        _stack_pieces(ax, colors, bottom + lane, np.array([cells.sum()]), look, weight="bold")
    ax.axvline(0, color=colors.ink, linewidth=1.2, zorder=4)
    ax.axhline(len(grades) - 0.38, color=colors.rule, linewidth=1, zorder=0)
    # The sums beside the bars need half an inch on both sides of the axes, which long names of grades make narrower.
    width = column_width(ax) - 0.085 * max(len(f"grade {grade}") for grade in grades)
    ax.margins(x=max(0.16, 0.5 / max(1.0, width - 1.4)))
    ax.set_ylim(bottom + 0.55, -0.95)
    ax.set_yticks([*range(len(grades)), bottom], [*(f"grade {grade}" for grade in grades), "total"])
    ax.get_yticklabels()[-1].set(weight="bold", color=colors.ink)
    remove_frame(ax, colors, 7)
    labels = split_names(attribution.models).labels if names is None else names
    first, second = (labels[name] for name in attribution.models)
    numbers, key = number_long_names(labels, attribution.models, ax)
    _label_sides(ax, colors, (0, -0.66), *(numbers[name] for name in attribution.models[::-1]), size=9, va="center")
    bands = list(map(str, blocks[metrics[0]].columns))
    _draw_band_legend(ax, colors, metric_looks, bands, 0.42 + 0.17 * key.count("\n"))
    note = f"contribution of a grade to {f' {MINUS} '.join(numbers[name] for name in attribution.models)}"
    note += f" (reversed for a loss){key}" if attribution.lower_is_better else key
    totals = {metric: format_difference(float(block.to_numpy().sum())) for metric, block in blocks.items()}
    title = f"{first} {MINUS} {second}: {', '.join(f'{total} under {metric}' for metric, total in totals.items())}"
    alt = [f"Bars: contributions of documents of each grade at each rank to {first} minus {second}."]
    for metric, block in blocks.items():
        parts = [(value, grade, band) for grade, row in block.iterrows() for band, value in row.items()]
        largest = sorted(parts, key=lambda cell: -abs(cell[0]))[:MAX_DESCRIBED]
        texts = (f"grade {grade} at rank {band} {format_difference(value)}" for value, grade, band in largest)
        alt.append(f"{metric}: {totals[metric]} in total. {', '.join(texts)}.")
    return finish(ax, colors, title, " ".join(alt), note, wide=0.85)


def _get_block(attribution: Attribution, metric: str) -> pd.DataFrame:
    """Return the grades that matter by bands of ranks, the highest first. Values above 0 favor the first model."""
    cells = attribution.grades_by_ranks
    matters = cells.abs().groupby(level=1).sum().sum(axis=1) > 0
    block = cells.loc[cells.index.get_level_values(0) == metric].droplevel(0).iloc[::-1]
    block = block[matters.loc[block.index].to_numpy()] if matters.any() else block
    return -1.0 * block if metric in attribution.lower_is_better else block


def _stack_pieces(ax: Axes, colors: Theme, y: float, pieces: Floats, look: Look, weight: str = "normal") -> None:
    """Draw segments outwards from 0, the first ranks nearest to it, and write their sum at the longer side."""
    ends = {True: 0.0, False: 0.0}
    for piece, strength in zip(pieces.tolist(), [*STRENGTHS, *[STRENGTHS[-1]] * len(pieces)], strict=False):
        if piece:
            shade = mix_colors(colors.face, look.color if piece > 0 else colors.muted, strength)
            ax.barh(y, piece, HEIGHT, ends[piece > 0], color=shade, edgecolor=colors.face, linewidth=0.5, zorder=3)
            ends[piece > 0] += piece
    net = float(pieces.sum())
    annotate_beside(ax, format_difference(net), (ends[net >= 0], y), 4 if net >= 0 else -4, color=look.text, size=8,
                    weight=weight)  # fmt: skip


def _draw_band_legend(
    ax: Axes, colors: Theme, metric_looks: Mapping[str, Look], bands: Sequence[str], below: float
) -> None:
    """Draw the legend of metrics and ranks some inches below the axes."""
    metric_colors = [look.color for look in metric_looks.values()]
    handles: list[Any] = [Patch(facecolor=color) for color in metric_colors]
    labels = [*metric_looks]
    for place, (band, strength) in enumerate(zip(bands, STRENGTHS, strict=False), 1):
        shades = [mix_colors(colors.face, color, strength) for color in (*metric_colors, colors.muted)]
        handles.append(tuple(Patch(facecolor=shade) for shade in shades))
        labels.append(f"rank {band}{' and beyond' if len(bands) > len(STRENGTHS) == place else ''}")
    columns = 6 if column_width(ax) > 6.5 else 3
    shifted = ax.transAxes + ScaledTranslation(0, -below, ax.figure.dpi_scale_trans)
    draw_legend_below(ax, colors, bbox_to_anchor=(0.5, 0), bbox_transform=shifted, handles=handles, labels=labels,
                      ncols=columns, handlelength=1.4, handletextpad=0.4, columnspacing=1.1,
                      handler_map={tuple: HandlerTuple(None, pad=0)})  # fmt: skip


def _label_sides(ax: Axes, theme: Theme, at: tuple[float, float], left: str, right: str, **look: Any) -> None:
    """Label the left and the right side of a line."""
    for words, ha in ((f"◂ {left}\u00a0", "right"), (f"\u00a0{right} ▸", "left")):
        ax.text(*at, words, ha=ha, color=theme.muted, parse_math=False, **look)


MAX_RANKS = 20
"""Ranks of a query that are drawn."""

STEP = 2.75
"""Distance from one query to the next, in rows of cells."""

BARS = 9.0
"""Width of the bars next to the strips, in cells."""

GRADE_STRENGTHS = (0.0, 0.11, 0.27, 0.64, 1.0)
"""Strength of the cell of a document for five grades."""


def plot_queries(
    queries: pd.DataFrame,
    ax: Axes | None = None,
    theme: str = "light",
    *,
    most: int = 6,
    grades: Iterable[float] | None = None,
    names: Mapping[str, str] | None = None,
) -> Picture:
    """Draw the most contradictory queries as pairs of strips: the grades of the documents from rank 1 on.

    Cells of higher grades have stronger shades, and grade 0 is a dot. Bars to the right show the difference under each
    metric.

    Parameters
    ----------
    queries : DataFrame
        Result of `Comparison.queries`.
    ax, theme
        As for `plot_leaderboard`.
    most : int
        Number of queries.
    grades : sequence of numbers, optional
        All grades of the data in ascending order, so that colors do not depend on the selected queries. By default the
        grades of `queries`.
    names : mapping of model to str, optional
        Labels of the models, by default their names.

    Raises
    ------
    ValueError
        If the table has no rows, because the metrics contradict each other on no query.
    """
    columns = [str(column) for column in queries.columns]
    models, metrics = (
        [column.removeprefix(prefix) for column in columns if column.startswith(prefix)]
        for prefix in ("labels ", "difference ")
    )
    if len(models) != 2 or len(metrics) != 2:
        raise ValueError(f"queries must be a table made by Comparison.queries: got columns {', '.join(columns)}")
    if not len(queries):
        raise ValueError(f"queries has no rows: {metrics[0]} and {metrics[1]} contradict each other on no query.")
    rows = queries.head(validate_integer("most", most)).to_dict("records")
    drawn_grades = {grade for model in models for labels in queries[f"labels {model}"] for grade in labels}
    levels = sorted(drawn_grades | set(grades or ()))
    depth = max([10, *(min(len(row[f"labels {model}"]), MAX_RANKS) for row in rows for model in models)])
    ax, colors = start(ax, theme, (4.6 + 0.33 * depth, 1.5 + 0.8 * len(rows)))
    shades = dict(zip(levels, choose_grade_colors(len(levels), colors), strict=True))
    labels = split_names(models).labels if names is None else names
    short, key = number_long_names(labels, models, ax)
    width = depth + 1.0 + BARS
    middle = width - BARS / 2
    scale = (BARS / 2 - 1.6) / (max(abs(row[f"difference {metric}"]) for row in rows for metric in metrics) or 1.0)
    for number, row in enumerate(rows):
        top = STEP * number
        ax.text(0, top - 0.1, f"query {printable(str(row['query']))[:32]}", fontsize=8.5, weight="bold", va="bottom",
                color=colors.ink, parse_math=False)  # fmt: skip
        for line, (model, metric, look) in enumerate(zip(models, metrics, looks(colors), strict=True)):
            _draw_strip(ax, row[f"labels {model}"], top + line, shades, colors)
            y, size = top + line + 0.5, abs(row[f"difference {metric}"])
            ax.text(-0.2, y, short[model], ha="right", va="center", fontsize=9, color=colors.ink, parse_math=False)
            # The first metric prefers the first model, and the second metric the other one, or the reverse.
            side = 1 if (row["contradiction strength"] > 0) == (line == 0) else -1
            end = middle + side * size * scale
            ax.barh(y, end - middle, 0.56, middle, color=look.color, zorder=3, label=None if number else metric)
            annotate_beside(ax, format_size(size), (end, y), 4 * side, color=colors.ink, size=8)
    ax.plot([middle, middle], [-0.1, STEP * len(rows) - 0.75], color=colors.ink, linewidth=1.2, zorder=4)
    _label_sides(ax, colors, (middle, -0.25), short[models[1]], short[models[0]], size=8.5, va="bottom")
    draw_legend_below(ax, colors, bbox_to_anchor=(middle / width, 0.0), ncols=2, handlelength=1.2, handletextpad=0.4)
    ax.set(xlim=(0, width), ylim=(STEP * len(rows) - 0.6, -0.8), yticks=[])
    ax.set_xticks(np.arange(depth) + 0.5, [str(rank) for rank in range(1, depth + 1)])
    ax.tick_params(length=0, labelsize=8)
    ax.spines[:].set_visible(False)
    title = f"{pluralize(len(rows), 'query')} with the strongest contradiction of {metrics[0]} and {metrics[1]}"
    alt = _describe_strips(rows, models, metrics, labels)
    picture = finish(ax, colors, title, alt, f"rank (cells: grade of the document){key}", wide=0.7)
    ax.xaxis.label.set_multialignment("left")
    ax.xaxis.label.set_horizontalalignment("left")
    ax.xaxis.set_label_coords(0, -0.05 - 0.12 / len(rows))
    return picture


def _describe_strips(
    rows: Sequence[Mapping[Hashable, Any]], models: Sequence[str], metrics: Sequence[str], short: Mapping[str, str]
) -> str:
    first, second = (short[model] for model in models)
    alt = [f"Strips of grades from rank 1 on, {first} above {second}. Differences are the first minus the second."]
    for row in rows:
        strips = (f"{short[model]} {_join_grades(row[f'labels {model}'])}" for model in models)
        signs = ", ".join(f"{metric} {format_difference(row[f'difference {metric}'])}" for metric in metrics)
        alt.append(f"Query {row['query']}: {', '.join(strips)}. {signs}.")
    return " ".join(alt)


def _join_grades(labels: Sequence[float]) -> str:
    more = f" and {len(labels) - MAX_RANKS} more" if len(labels) > MAX_RANKS else ""
    return " ".join(f"{grade:g}" for grade in labels[:MAX_RANKS]) + more


def _draw_strip(
    ax: Axes, labels: Sequence[float], top: float, shades: Mapping[float, tuple[str, str]], colors: Theme
) -> None:
    """Draw one row of colored cells that contain their grades."""
    for place, grade in enumerate(labels[:MAX_RANKS]):
        shade, ink = shades[grade] if grade else (shades[grade][0], colors.muted)
        edge = colors.rule if shade == colors.face else shade
        cell = Rectangle((place + 0.05, top + 0.07), 0.9, 0.86, facecolor=shade, edgecolor=edge, linewidth=0.8)
        ax.add_patch(cell)
        text = f"{grade:g}" if grade else "·"
        ax.text(place + 0.5, top + 0.5, text, ha="center", va="center_baseline", fontsize=8, color=ink)
    if len(labels) > MAX_RANKS:
        ax.text(MAX_RANKS + 0.05, top + 0.5, "…", va="center", fontsize=9, color=colors.ink)


def choose_grade_colors(count: int, theme: Theme = LIGHT) -> list[tuple[str, str]]:
    """Return the color of the cell and of its text for `count` grades, lowest first.

    >>> choose_grade_colors(2)
    [('#ffffff', '#1a1e24'), ('#1a1e24', '#ffffff')]
    """
    shares = np.interp(np.linspace(0, 1, max(count, 2))[:count], np.linspace(0, 1, 5), GRADE_STRENGTHS).tolist()
    return [(mix_colors(theme.face, theme.ink, share), theme.ink if share < 0.5 else theme.face) for share in shares]


MAX_NAMES = 12
"""Maximum number of names next to the lines, those of the leaders first."""

CROWD = 6
"""Maximum number of models with thick lines."""

BAND = 0.055
"""Height of the band of leaders, as a share of the scale."""


def plot_gains(
    gains: GainPath, ax: Axes | None = None, theme: str = "light", *, names: Mapping[str, str] | None = None
) -> Picture:
    """Draw the regret of each model along the base of the gain.

    Down is worse. The line at the top is the highest mean at each base, and the band above it names the leading model.
    A line is thick if the model may be best at this base (simultaneously over all bases). Models that
    neither lead nor may be best are thin lines. The linear gain is b = 1, the exponential one b = 2.

    Parameters
    ----------
    gains : GainPath
        From `Comparison.gains`.
    ax, theme
        As for `plot_leaderboard`.
    names : mapping of model to str, optional
        Names to display, by default the names themselves.

    Raises
    ------
    ValueError
        If the path has a single base.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    >>> scores = {"top": [3, 1, 2, 4] * 40, "broad": [1, 4, 3, 2] * 40}
    >>> comparison = gw.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"])
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
    split = split_names(gains.models)
    labels = split.labels if names is None else names
    labels, key = number_long_names(labels, notable[:MAX_NAMES], ax)
    _draw_lines(ax, colors, gains, notable, labels, scale)
    _draw_leaders(ax, colors, gains, labels, scale)
    _draw_axes(ax, colors, gains, scale)
    base = f"gain base b, gain of grade l = (bˡ − 1)/(b − 1){key}"
    title = split.rewrite(gains.headline)
    return finish(ax, colors, title, f"{title}. {gains.text}", base, "regret")


def _draw_lines(
    ax: Axes, theme: Theme, gains: GainPath, notable: list[str], labels: Mapping[str, str], scale: float
) -> None:
    """Draw the lines, thick where the model may be best, with names at their ends."""
    bases, ranges = np.array(gains.bases), gains.best_ranges
    regrets = dict(zip(gains.models, gains.regret.T, strict=True))
    width = 4.5 if ranges["model"].nunique() <= CROWD else 2.8
    for model in sorted(gains.models, key=notable.__contains__):
        regret, color = regrets[model], theme.ink
        thin: dict[str, Any] = {"color": theme.muted, "lw": 0.6, "alpha": 0.5}
        look = {"color": color, "lw": 1.4} if model in notable else thin
        ax.plot(bases, np.where(regret <= scale, regret, np.nan), **look)
        for low, high in ranges.loc[ranges["model"] == model, ["from", "to"]].to_numpy(float).tolist():
            x = np.array([low, *bases[(bases > low) & (bases < high)], high])
            ax.plot(x, np.interp(x, bases, regret), color=color, lw=width, solid_capstyle="round")
    named = sorted(notable[:MAX_NAMES], key=lambda model: min(regrets[model][-1], scale))
    texts = [labels[model] for model in named]
    ends = _spread([min(regrets[model][-1], scale) for model in named], 1.15 * BAND * scale, scale)
    for text, y in zip(texts, ends, strict=True):
        annotate_beside(ax, text, (1.01, y), 0, color=theme.ink, size=9, weight="bold",
                        xycoords=("axes fraction", "data"))  # fmt: skip


def _spread(places: Sequence[float], gap: float, bottom: float) -> list[float]:
    """Move ascending positions until they are `gap` apart, and those beyond the bottom back again.

    >>> [round(place, 1) for place in _spread([1, 1.1, 5, 9.5, 9.6], 1, 10)]
    [1, 2, 5, 9, 10]
    """
    moved = accumulate(places, lambda before, place: max(place, before + gap))
    return [min(place, bottom - gap * (len(places) - 1 - index)) for index, place in enumerate(moved)]


def _draw_leaders(ax: Axes, theme: Theme, gains: GainPath, labels: Mapping[str, str], scale: float) -> None:
    """Draw the leading models as a band above the best, with their names if they fit."""
    width, row = np.log(gains.bases[-1] / gains.bases[0]), BAND * scale
    points = 72 * 0.7 * column_width(ax)  # about the width of the axes
    for place, (model, low, high) in enumerate(gains.winners.itertuples(index=False)):
        ax.fill_between([low, high], -1.7 * row, -0.4 * row, color=theme.third if place % 2 else theme.ink, lw=0)
        if place:
            ax.axvline(low, color=theme.muted, lw=0.8, ls=":")
        if points * np.log(high / low) / width > measure_text([labels[model]], 8, bold=True) + 4:
            ax.text(np.sqrt(low * high), -1.05 * row, labels[model], ha="center", va="center", fontsize=8,
                    weight="bold", color=theme.face, parse_math=False)  # fmt: skip


def _draw_axes(ax: Axes, theme: Theme, gains: GainPath, scale: float) -> None:
    first, last = gains.bases[0], gains.bases[-1]
    ax.set_xscale("log")
    ax.set_xlim(first, last)
    ax.set_ylim(1.02 * scale, -1.9 * BAND * scale)
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


def format_gain(base: float, grade: float) -> str:
    """Return the gain of a grade with three digits, "inf" beyond the range of floats."""
    with np.errstate(over="ignore"):
        return f"{grade if base == 1 else (np.float64(base) ** grade - 1) / (base - 1):.3g}"


def plot_curves(
    curves: pd.DataFrame,
    metrics: Sequence[str],
    ax: Axes | None = None,
    theme: str = "light",
    *,
    candidate: str | None = None,
    names: Mapping[str, str] | None = None,
    lower_is_better: Container[str] = (),
) -> Picture:
    """Draw the curves of one candidate under two metrics, as distances from their best values.

    Distances make two metrics comparable on one axis. Each curve is 0 at its best round, which has a filled marker. A
    hollow marker shows its value at the best round of the other metric. The thick line between 0 and the hollow marker
    is the loss from stopping at that round. Each fold has separate lines.

    Parameters
    ----------
    curves : DataFrame
        Columns `candidate`, `round`, `metric` and `value`. Optional columns are `fold`, the name of the fold, and
        `compared`, which is True at the rounds of the models in the comparison. Gray lines show these rounds.
    metrics : tuple of two str
        The first metric has blue circles and solid lines, the second has orange diamonds and dashed lines.
    ax, theme
        As for `plot_leaderboard`.
    candidate : str, optional
        The candidate to draw. Defaults to the one with the largest loss at the best round of the other metric.
    names : mapping of candidate to str, optional
        Names to display, by default the names themselves.
    lower_is_better : container of str, optional
        The names of metrics with better lower values. Their curves are negated, so that worse values are below 0.

    Raises
    ------
    ValueError
        If the candidate lacks a curve under one of the metrics.
    """
    best = best_rounds(curves, metrics, lower_is_better)
    curves = curves.assign(candidate=curves["candidate"].astype(str), fold=curves.get("fold", ""))
    if best.empty:
        raise ValueError(
            f"curves must have a candidate with both metrics, got no curves under {metrics[0]} and {metrics[1]}"
        )
    if candidate is None:
        losses = best.groupby("candidate", sort=False)[[f"loss {metric}" for metric in metrics]].mean().max(axis=1)
        # A loss is missing if the metric has no value at the best round of the other metric.
        candidate = str(losses.fillna(0.0).idxmax())
    validate_choice("candidate", str(candidate), best["candidate"].unique().tolist())
    rows = best[best["candidate"] == str(candidate)].to_dict("records")
    ax, colors = start(ax, theme, (6.8, 4.2))
    lines = []
    for row in rows:
        part = curves[(curves["candidate"] == row["candidate"]) & (curves["fold"] == row["fold"])]
        for role, label, other in zip(ROLES, label_metrics(metrics), metrics[::-1], strict=False):
            line, number = select_curve(part, label.name), row[f"round {label.name}"]
            losses = np.abs(line.to_numpy(float) - row[f"best {label.name}"])
            name = label.name if row is rows[0] else ""
            text = f"{label.short}: round {number}" if len(rows) == 1 else ""
            loss, at = row[f"loss {label.name}"], row[f"round {other}"]
            lines.append(DistanceCurve(name, text, role, line.index, losses, number, loss, at))
    for place, number in enumerate(rows[0].get("compared", []) if len(rows) == 1 else []):
        ax.axvline(number, color=colors.muted, linewidth=1.2, zorder=0, label=None if place else "compared here")
    draw_curves(ax, colors, lines)
    name = (split_names(curves["candidate"].unique()).labels if names is None else names)[rows[0]["candidate"]]
    title = f"{name}: {_describe_rounds(rows, metrics)}"
    alt = " ".join(_describe_fold(row, metrics, lower_is_better) for row in rows)
    alt = f"Curves of {name} over rounds, as distance from the best. {alt}"
    return finish(ax, colors, title, alt, "round", "distance from its own best", pad=22 if len(rows) == 1 else 10)


def _describe_rounds(rows: Sequence[Mapping[Any, Any]], metrics: Sequence[str]) -> str:
    differing = sum(row[f"round {metrics[0]}"] != row[f"round {metrics[1]}"] for row in rows)
    if len(rows) > 1:
        return f"the best rounds differ in {differing} of {len(rows)} trainings"
    rounds, losses = ([rows[0][f"{column} {metric}"] for metric in metrics] for column in ("round", "loss"))
    if not differing:
        return f"both metrics are best at round {rounds[0]}"
    text = f"best at round {rounds[0]} by {metrics[0]}, at {rounds[1]} by {metrics[1]}"
    if not np.isfinite(losses).all():  # a metric has no value at the best round of the other one
        return text
    sizes = [format_size(loss) for loss in losses]
    return f"{text} (stopping by the other loses {sizes[0]} and {sizes[1]})"


def _describe_fold(row: Mapping[Any, Any], metrics: Sequence[str], lower_is_better: Container[str]) -> str:
    parts = []
    for metric in metrics:
        difference = row[f"loss {metric}"] * (1 if metric in lower_is_better else -1)
        loss = f"differs by {format_difference(difference)}" if np.isfinite(difference) else "has no value"
        best = f"{metric} is best at round {row[f'round {metric}']} ({format_mean(row[f'best {metric}'])})"
        parts.append(f"{best} and {loss} at the other's best round")
    fold = f"In {name_training(str(row['fold']))}, " if row["fold"] != "" else ""
    rounds = " and ".join(map(str, row.get("compared", [])))
    return f"{fold}{', '.join(parts)}.{f' Compared at round {rounds}.' if rounds else ''}"
