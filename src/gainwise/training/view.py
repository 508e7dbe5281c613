"""A training at one moment, as lines of a terminal and as a table of a notebook, with curves as blocks."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from .._common.arrays import find_best
from .._common.text import pluralize, printable
from .._common.theme import scoped
from .logged_metrics import canonical_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Role = Literal["first", "second", "third", "fourth"]
"""The color and mark of a metric: linear gain is the first, exponential gain the second, all others are gray."""
Segments = list[tuple[str, str]]
"""Pieces of a line, each with a style of rich."""

MARKS: dict[Role, str] = {"first": "●", "second": "◆", "third": "▲", "fourth": "■"}
TERMINAL_COLORS: dict[Role, str] = {"first": "first", "second": "second"}
"""Styles of `gainwise._common.theme.choose_terminal_colors`."""
NDCG_ROLES: dict[str, Role] = {"linear": "first", "exp": "second"}
BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = str.maketrans("●◆▲■▁▂▃▄▅▆▇█−…", "ox^#_.:-=+*#-~")
SPARKLINE_RANGE = 0.03
"""The lowest block of a sparkline is this far below the best value, for values up to 1."""
MAX_SPARKLINE, MIN_SPARKLINE = 24, 6
PICTURE_NOTE = (
    "A full block is the best value. The lowest block is 0.03 or more from it, relative to the best value if it is "
    "above 1. A long curve shows the best of several rounds in each block."
)
TEXT_CLASSES: dict[Role, str] = {"first": "l", "second": "e", "third": "", "fourth": "m"}


@dataclass(eq=False, slots=True)
class MetricCurve:
    """One metric on one dataset over the rounds."""

    higher_is_better: bool | None
    rounds: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, round_number: int, value: float) -> None:
        """Append the value of a round."""
        self.rounds.append(round_number)
        self.values.append(value)

    def _find_best(self) -> int | None:
        return None if self.higher_is_better is None else find_best(self.values, self.higher_is_better)

    @property
    def best_round(self) -> int | None:
        """The first round with the best value, or None if all are NaN or the direction of the metric is unknown."""
        best = self._find_best()
        return None if best is None else self.rounds[best]

    @property
    def best(self) -> float:
        """The best value, or NaN without a best round."""
        best = self._find_best()
        return math.nan if best is None else self.values[best]

    def get(self, round_number: int) -> float:
        """Return the value of a round, or NaN if the metric was not evaluated in it."""
        index = bisect_left(self.rounds, round_number)
        return self.values[index] if self.rounds[index : index + 1] == [round_number] else math.nan

    def compute_loss(self, round_number: int) -> float:
        """Return how much worse the metric is in a round than at its best."""
        difference = self.best - self.get(round_number)
        return difference if self.higher_is_better else -difference


@dataclass(frozen=True)
class ShownMetric:
    """A metric in a view: its logged name, its label, color and mark, and its curve.

    `loss` is how much worse it is at `loss_round`, the best round of another metric. It is NaN without another metric.
    """

    name: str
    label: str
    role: Role
    curve: MetricCurve
    loss: float = math.nan
    loss_round: int = 0

    @property
    def mark(self) -> tuple[str, str]:
        """The mark and its color in a terminal."""
        return MARKS[self.role], TERMINAL_COLORS.get(self.role, "")

    def format_best(self, separator: str) -> str:
        """Return the best value and its round."""
        return "n/a" if self.curve.best_round is None else f"{self.curve.best:.4f}{separator}{self.curve.best_round}"

    def format_loss(self) -> str:
        """Return the loss: below the best value, or above it if a lower value is better."""
        sign = "+" if self.curve.higher_is_better is False else "−"
        return f"{sign}{self.loss:.4f} at {self.loss_round}" if self.loss > 0 else ""


class SelectedRound(NamedTuple):
    """The round that a model predicts with after early stopping, and the monitored metric with its value, if known."""

    round: int
    value: float = math.nan
    metric: str = ""

    def __str__(self) -> str:
        value = f": {self.value:.4f} ({printable(self.metric)})" if self.value == self.value else ""
        return f"kept round {self.round:,}{value}"


@dataclass(frozen=True)
class View:
    """A training at one moment. The total of rounds and the seconds are optional.

    `patience` is the metric of early stopping, the rounds left and the rounds of patience. `is_over` is whether another
    callback has ended the training, and `Curves` was not called after that.
    """

    title: str
    dataset: str
    shown: Sequence[ShownMetric]
    last_round: int
    total: int | None = None
    seconds: float | None = None
    patience: tuple[str, int, int] | None = None
    selected_round: SelectedRound | None = None
    is_over: bool = False

    def create_lines(self, width: int) -> list[Segments]:
        """Return a title and one line per metric. Lines that do not fit into `width` columns are longer."""
        label_width = max((len(shown.label) for shown in self.shown), default=0)
        values = [
            f" {shown.label:<{label_width}} {shown.curve.values[-1]:.4f}  best {shown.format_best(' at ')}"
            for shown in self.shown
        ]
        losses = [shown.format_loss() for shown in self.shown]
        left, right = (max(map(len, texts), default=0) for texts in (values, losses))
        room = min(MAX_SPARKLINE, width - left - right - 6)
        lines: list[Segments] = [[(self._format_head(width), "bold")]]
        for shown, value, loss in zip(self.shown, values, losses, strict=True):
            line = [(" ", ""), shown.mark, (f"{value:<{left}}", "")]
            if room >= MIN_SPARKLINE:
                line.append((f"  {draw_sparkline(shown.curve, room):<{room}}", shown.mark[1]))
            lines.append([*line, (f"  {loss}".rstrip(), "")])
        return lines

    def _format_head(self, width: int) -> str:
        from rich.cells import cell_len, set_cell_size

        right = f"   round {self.last_round}{f'/{self.total}' if self.total else ''}"
        if self.patience is not None:
            metric, left, _ = self.patience
            marks = [shown.mark[0] for shown in self.shown if shown.name == metric]
            right += f"  {marks[0] if marks else label_metric(metric)} stops in {left}"
        if self.seconds is not None:
            right += f"  {self.seconds:.0f} s"
        title, room = printable(self.title), width - len(right)
        if cell_len(title) > room:
            title = set_cell_size(title, max(room - 1, 0)) + "…"
        return title + right

    def create_final_line(self) -> str:
        """Return one line, for a training that has ended."""
        seconds = "" if self.seconds is None else f" {self.seconds:.1f} s"
        return printable(f"{self.title}: {self.describe()}{seconds}")

    def describe(self) -> str:
        """Return the best rounds, and the losses at the best round of the other metric, in words."""
        shown = [shown for shown in self.shown if shown.curve.best_round is not None]
        if not shown:
            return f"No metric has a value on {printable(self.dataset)} in {self.last_round:,} rounds."
        best = ", ".join(f"{printable(m.name)} at round {m.curve.best_round:,} ({m.curve.best:.4f})" for m in shown)
        best = best.replace(" at round", " is best at round", 1)
        text = f"{best}, on {printable(self.dataset)} over {pluralize(self.last_round, 'round')}."
        if self.selected_round is not None:
            text += f"\nEarly stopping {self.selected_round}."
        if len(shown) == 1:
            return text
        if len({metric.curve.best_round for metric in shown}) == 1:
            return f"{text}\nThe best rounds are the same."
        other = "the other's" if len(shown) == 2 else "another's"
        losses = " and ".join(f"{m.loss:.4f} of {printable(m.name)}" for m in shown if m.loss == m.loss)
        return f"{text}\nStopping at {other} best round loses {losses}." if losses else text


def create_shown(curves: Mapping[str, MetricCurve]) -> list[ShownMetric]:
    """Return metrics with their labels, colors and losses."""
    labels = {name: label_metric(name) for name in curves}
    cutoffs = {canonical_name(name).partition("@")[2] for name in curves}
    are_ambiguous = len(set(labels.values())) < len(curves) or len(cutoffs) > 1
    roles, shown = _assign_roles(list(curves)), []
    for name, curve in curves.items():
        rounds = [other.best_round for other in curves.values() if other is not curve and other.best_round is not None]
        losses = {number: loss for number in rounds if (loss := curve.compute_loss(number)) == loss}
        loss_round = max(losses, key=losses.__getitem__, default=0)
        label = printable(name) if are_ambiguous else labels[name]
        shown.append(ShownMetric(name, label, roles[name], curve, losses.get(loss_round, math.nan), loss_round))
    return shown


def choose_metrics(names: Sequence[str]) -> list[str]:
    """Return the default metrics: linear and exponential NDCG at one cutoff, otherwise the first two.

    >>> choose_metrics(["mrr", "ndcg_exp@10", "ndcg_linear@5", "ndcg_linear@10"])
    ['ndcg_linear@10', 'ndcg_exp@10']
    >>> choose_metrics(["mrr", "map@10", "ndcg_exp@10"])
    ['mrr', 'map@10']
    """
    logged_names = {canonical_name(name): name for name in names}
    for metric, name in logged_names.items():
        exponential = metric.replace("ndcg_linear", "ndcg_exp", 1)
        if metric.startswith("ndcg_linear") and exponential in logged_names:
            return [name, logged_names[exponential]]
    return list(names[:2])


def label_metric(name: str) -> str:
    """Return the short name of a metric.

    >>> label_metric("ndcg_linear@10"), label_metric("ndcg_exp_at_10"), label_metric("map@10")
    ('linear', 'exp', 'map@10')
    """
    gain = re.fullmatch(r"ndcg_(linear|exp)(@\d+)?", canonical_name(name))
    return gain[1] if gain else printable(name)


def draw_sparkline(curve: MetricCurve, width: int) -> str:
    """Return a curve as blocks, at most `width` columns wide. Better values are higher, and NaN is blank.

    If there are more values than columns, each column is the best of equally many values.
    """
    values = np.array(curve.values) * (-1 if curve.higher_is_better is False else 1)
    step = max(-(-len(values) // width), 1)
    columns = np.fmax.reduceat(values, np.arange(0, len(values), step))
    best = np.fmax.reduce(columns)
    span = SPARKLINE_RANGE * max(1.0, abs(best) if best == best else 1.0)
    heights = (7 * (1 - (best - columns) / span)).tolist()
    return "".join(" " if height != height else BLOCKS[max(0, round(height))] for height in heights)


def to_ascii(text: str) -> str:
    """Return a text for terminals that write only ASCII."""
    return text.translate(ASCII).encode("ascii", "replace").decode()


def _assign_roles(names: list[str]) -> dict[str, Role]:
    """Return colors and marks: linear gain is always the first, exponential gain always the second."""
    roles: dict[str, Role] = {}
    for name in sorted(names, key=lambda name: label_metric(name) not in NDCG_ROLES):
        free = [role for role in MARKS if role not in roles.values()]
        preferred = NDCG_ROLES.get(label_metric(name))
        roles[name] = preferred if preferred in free else free[0] if free else "fourth"
    return roles


def create_picture(view: View) -> str:
    """Return a view as HTML for a notebook: one row per metric, with its curve as blocks."""
    total = f" of {view.total:,}" if view.total else ""
    dataset = f"{view.dataset}, " if view.dataset != view.title else ""
    head = (
        f"<p><b>{escape(printable(view.title))}</b> "
        f'<span class="m">{escape(printable(dataset))}round {view.last_round:,}{total}</span></p>'
    )
    names = ("metric", "rounds", "value", "best", "at the best round of another metric")
    columns = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_create_row(metric, view) for metric in view.shown)
    table = f'<table class="t"><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>'
    return scoped(f'{head}{table}<p>{escape(_describe_stop(view))}</p><p class="m">{PICTURE_NOTE}</p>')


def _create_row(metric: ShownMetric, view: View) -> str:
    curve = metric.curve
    value = curve.values[-1] if view.selected_round is None else curve.get(view.selected_round.round)
    name = escape(f"{MARKS[metric.role]} {printable(metric.name)}")
    texts = (f"{value:.4f}" if value == value else "–", metric.format_best(" at round "), metric.format_loss())
    colored = "".join(
        f'<td class="{TEXT_CLASSES[metric.role]}">{text}</td>' for text in (name, draw_sparkline(curve, MAX_SPARKLINE))
    )
    return f"<tr>{colored}{''.join(f'<td>{text}</td>' for text in texts)}</tr>"


def _describe_stop(view: View) -> str:
    """Return the round that the model predicts with, or the rounds left until early stopping."""
    if view.selected_round is not None:
        return str(view.selected_round)
    if view.patience is None:
        return ""
    name, left, patience = view.patience
    label = next((metric.label for metric in view.shown if metric.name == name), label_metric(name))
    return f"stops on {label} in {left:,} of {patience:,} rounds"
