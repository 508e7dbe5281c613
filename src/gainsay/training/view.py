"""A training at one moment, as lines of text and as a row of a table in HTML."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

from .._common.shown import printable
from .bound_metrics import canonical_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .history import MetricCurve

__all__ = [
    "KeptRound",
    "Role",
    "Segments",
    "ShownMetric",
    "View",
    "choose_metrics",
    "count_columns",
    "create_view",
    "label_metric",
]

Role = Literal["first", "second", "third", "fourth"]
"""The color and mark of a metric: linear gain is the first, exponential gain the second, all others are gray."""
Segments = list[tuple[str, str]]
"""Pieces of a line, each with a style of rich."""

ROLES: tuple[Role, ...] = ("first", "second", "third", "fourth")
CHARACTERS: dict[Role, tuple[str, str]] = {
    "first": ("●", "o"),
    "second": ("◆", "x"),
    "third": ("▲", "^"),
    "fourth": ("■", "#"),
}
TERMINAL_COLORS: dict[Role, str] = {"first": "color(33)", "second": "color(208)"}
SPARKLINE_RANGE = 0.03
"""The lowest block of a sparkline is this far below the best value, for values up to 1."""
MIN_TITLE = 12
"""The last line shortens its other parts before it shortens a title to fewer columns."""


@dataclass(frozen=True)
class ShownMetric:
    """A metric in a view: its logged name, its label, color and mark, and its curve.

    `loss` is how much worse it is at `at`, the best round of another metric. It is NaN without another metric.
    """

    name: str
    label: str
    role: Role
    curve: MetricCurve
    loss: float = math.nan
    at: int = 0


class KeptRound(NamedTuple):
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

    `patience` is the metric of early stopping, the rounds left and the rounds of patience.
    """

    title: str
    dataset: str
    shown: Sequence[ShownMetric]
    last_round: int
    total: int | None = None
    seconds: float | None = None
    patience: tuple[str, int, int] | None = None
    kept: KeptRound | None = None

    @property
    def differ(self) -> bool:
        """Whether the best rounds differ."""
        return len({shown.curve.best_round for shown in self.shown} - {None}) > 1

    @property
    def _round(self) -> str:
        return f"round {self.last_round}{f'/{self.total}' if self.total else ''}"

    def create_lines(self, width: int, *, ascii_only: bool = False) -> list[Segments]:
        """Return a title and one line per metric, at most `width` columns wide."""
        labels = [_shorten(shown.label, None, ascii_only) for shown in self.shown]
        label_width = max(map(len, labels), default=0)
        values = [
            f" {label:<{label_width}} {_format_value(shown.curve)}  best {_format_best(shown, ' at ')}"
            for label, shown in zip(labels, self.shown, strict=True)
        ]
        losses = [_format_loss(shown, ascii_only) for shown in self.shown]
        left, right = (max(map(len, texts), default=0) for texts in (values, losses))
        if left + right + 4 > width:
            losses, right = ["" for _ in losses], 0
        room = min(24, width - left - right - 6)
        lines: list[Segments] = [[(self._format_head(width, ascii_only), "bold")]]
        for shown, value, loss in zip(self.shown, values, losses, strict=True):
            color = TERMINAL_COLORS.get(shown.role, "")
            line = [(" ", ""), (CHARACTERS[shown.role][ascii_only], color)]
            if room >= 6:
                sparkline = draw_sparkline(shown.curve, room, ascii_only)
                line += [(f"{value:<{left}}  ", ""), (f"{sparkline:<{room}}", color), (f"  {loss}", "")]
            else:
                line += [(_cut(f"{value:<{left}}  {loss}".rstrip(), width - 2, ascii_only), "")]
            lines.append(line)
        return lines

    def _format_head(self, width: int, ascii_only: bool) -> str:
        right = self._round
        if self.patience is not None:
            metric, left, _ = self.patience
            marks = [CHARACTERS[shown.role][ascii_only] for shown in self.shown if shown.name == metric]
            right += f"  {marks[0] if marks else label_metric(metric)} stops in {left}"
        if self.seconds is not None:
            right += f"  {self.seconds:.0f} s"
        title = _shorten(self.title, max(width - len(right) - 3, 1), ascii_only)
        return _cut(f"{title}   {right}", width, ascii_only)

    def create_final_line(
        self, width: int | None = None, *, ascii_only: bool = False, running: bool = False
    ) -> Segments:
        """Return one line, for a training that has ended or is still running."""
        title = _shorten(self.title, None, ascii_only)
        for names in ([shown.name for shown in self.shown], [shown.label for shown in self.shown]):
            marks = [
                [
                    ("  ", ""),
                    (CHARACTERS[shown.role][ascii_only], TERMINAL_COLORS.get(shown.role, "")),
                    (f" {_shorten(name, None, ascii_only)} {_format_best(shown, ' @')}", ""),
                ]
                for name, shown in zip(names, self.shown, strict=True)
            ]
            values = [segment for mark in marks for segment in mark]
            used = sum(count_columns(text) for text, _ in values)
            for tail in self._list_tails(running, ascii_only):
                room = math.inf if width is None else width - used - len(tail)
                if count_columns(title) <= room or room >= MIN_TITLE:
                    short = title if room == math.inf else _shorten(title, int(room), ascii_only)
                    return [(short, ""), *values, (tail, "")]
        line = _cut(f"{title}{''.join(text for text, _ in values)}", width, ascii_only)
        return [(line, "")]

    def format_final_line(self, ascii_only: bool = False) -> str:
        """Return the last line of a training for a log file."""
        return "".join(text for text, _ in self.create_final_line(ascii_only=ascii_only))

    def _list_tails(self, running: bool, ascii_only: bool) -> list[str]:
        """Return the possible ends of the last line, longest first."""
        if running:
            return [f"  {self._round}"]
        kept = f"  {_shorten(str(self.kept), None, ascii_only)}" if self.kept else ""
        seconds = f"  {self.seconds:.1f} s" if self.seconds is not None else ""
        difference = self._describe_difference(ascii_only)
        longer = [f"{kept}{seconds}  {difference}", f"{kept}{seconds}  best rounds differ"] if difference else []
        return [*longer, f"{kept}{seconds}", kept, f"  {KeptRound(self.kept.round)}" if self.kept else ""]

    def _describe_difference(self, ascii_only: bool) -> str:
        """Return the losses at the best round of the other metric, or nothing if the best rounds are equal."""
        losses = ", ".join(filter(None, (_format_loss(shown, ascii_only) for shown in self.shown)))
        return "" if not self.differ else f"best rounds differ: {losses}" if losses else "best rounds differ"

    def create_row(self) -> str:
        """Return the last line as a row of a table in HTML."""
        marks = [
            f'<span class="gs-word-{shown.role}">{CHARACTERS[shown.role][0]}</span> {escape(printable(shown.name))} '
            f"{_format_best(shown, ' @')}"
            for shown in self.shown
        ]
        seconds = f"{self.seconds:.1f} s" if self.seconds is not None else ""
        cells = [
            escape(printable(self.title)),
            *marks,
            escape(str(self.kept or "")),
            seconds,
            self._describe_difference(False),
        ]
        return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

    def describe(self) -> str:
        """Return the best rounds, and the losses at the best round of the other metric, in words."""
        shown = [shown for shown in self.shown if shown.curve.best_round is not None]
        if not shown:
            return f"No metric has a value on {printable(self.dataset)} in {self.last_round:,} rounds."
        best = ", ".join(
            f"{metric.name} {'is best ' if not index else ''}at round {metric.curve.best_round:,} "
            f"({metric.curve.best:.4f})"
            for index, metric in enumerate(shown)
        )
        rounds = f"{self.last_round:,} round{'' if self.last_round == 1 else 's'}"
        text = f"{best}, on {printable(self.dataset)} over {rounds}."
        if self.kept is not None:
            text += f"\nEarly stopping {self.kept}."
        if len(shown) == 1:
            return text
        if not self.differ:
            return f"{text}\nThe best rounds are the same."
        other = "the other's" if len(shown) == 2 else "another's"
        losses = " and ".join(f"{metric.loss:.4f} of {metric.name}" for metric in shown if metric.loss == metric.loss)
        missing = " and ".join(metric.name for metric in shown if metric.loss != metric.loss)
        if losses:
            text += f"\nStopping at {other} best round loses {losses}."
        if missing:
            text += f"\nThe loss of {missing} at {other} best round is not known, because it has no value there."
        return text


def create_view(
    curves: Mapping[str, MetricCurve],
    *,
    title: str,
    dataset: str,
    last_round: int,
    total: int | None = None,
    seconds: float | None = None,
    patience: tuple[str, int, int] | None = None,
    kept: KeptRound | None = None,
) -> View:
    """Return a view of some metrics."""
    labels, roles, shown = _create_labels(list(curves)), _assign_roles(list(curves)), []
    for name, curve in curves.items():
        rounds = [other.best_round for other in curves.values() if other is not curve and other.best_round is not None]
        loss, at = math.nan, 0
        for best_round in rounds:
            candidate = curve.compute_loss(best_round)
            if candidate > loss or loss != loss:
                loss, at = candidate, best_round
        shown.append(ShownMetric(name, labels[name], roles[name], curve, loss, at))
    return View(title, dataset, shown, last_round, total, seconds, patience, kept)


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


def draw_sparkline(curve: MetricCurve, width: int, ascii_only: bool = False) -> str:
    """Return a curve as blocks, at most `width` columns wide. Better values are higher, and NaN is blank.

    If there are more values than columns, each column is the best of equally many values.
    """
    span = SPARKLINE_RANGE * max(1.0, abs(curve.best) if curve.best == curve.best else 1.0)
    values = curve.get_upward_values()
    step = max(-(-len(values) // width), 1)
    columns = [_find_highest(values[start : start + step]) for start in range(0, len(values), step)]
    best = _find_highest(columns)
    blocks = "_.:-=+*#" if ascii_only else "▁▂▃▄▅▆▇█"
    heights = (7 * (1 - (best - value) / span) if value == value else math.nan for value in columns)
    return "".join(" " if height != height else blocks[max(0, round(height))] for height in heights)


def _find_highest(values: Iterable[float]) -> float:
    return max((value for value in values if value == value), default=math.nan)


def count_columns(text: str) -> int:
    """Return the number of columns of a text in a terminal.

    >>> count_columns("31 leaves"), count_columns("模型")
    (9, 4)
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _create_labels(names: list[str]) -> dict[str, str]:
    labels = {name: label_metric(name) for name in names}
    cutoffs = {canonical_name(name).partition("@")[2] for name in names}
    are_ambiguous = len(set(labels.values())) < len(names) or len(cutoffs) > 1
    return {name: printable(name) for name in names} if are_ambiguous else labels


def _assign_roles(names: list[str]) -> dict[str, Role]:
    """Return colors and marks: linear gain is always the first, exponential gain always the second."""
    own: dict[str, Role] = {"linear": "first", "exp": "second"}
    roles: dict[str, Role] = {}
    for name in names:
        role = own.get(label_metric(name))
        if role is not None and role not in roles.values():
            roles[name] = role
    for name in names:
        free = [role for role in ROLES if role not in roles.values()]
        roles.setdefault(name, free[0] if free else "fourth")
    return roles


def _format_value(curve: MetricCurve) -> str:
    return f"{curve.values[-1]:.4f}" if curve.values else "n/a"


def _format_best(shown: ShownMetric, separator: str) -> str:
    curve = shown.curve
    return "n/a" if curve.best_round is None else f"{curve.best:.4f}{separator}{curve.best_round}"


def _format_loss(shown: ShownMetric, ascii_only: bool) -> str:
    """Return the loss of a metric: below its best value, or above it if a lower value is better."""
    if not shown.loss > 0:
        return ""
    sign = "+" if shown.curve.higher_is_better is False else "-" if ascii_only else "−"
    return f"{sign}{shown.loss:.4f} at {shown.at}"


def _shorten(name: str, width: int | None, ascii_only: bool) -> str:
    """Return a name without control characters, with at most `width` columns."""
    text = printable(name)
    return _cut(text.encode("ascii", "replace").decode() if ascii_only else text, width, ascii_only)


def _cut(text: str, width: int | None, ascii_only: bool) -> str:
    """Return a text with at most `width` columns. A shortened text ends with an ellipsis."""
    if width is None or count_columns(text) <= width:
        return text
    ellipsis = "..." if ascii_only else "…"
    while text and count_columns(text) > width - len(ellipsis):
        text = text[:-1]
    return (text + ellipsis)[: max(width, 0)]
