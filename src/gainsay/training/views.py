"""What is to be seen of a training at one moment, as lines of a terminal, as a picture, and in words."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import printable
from ..drawing.marks import Role, character
from ..drawing.rounds import STYLE, Drawn, curves_svg, last_tick
from ..drawing.sparkline import sparkline
from ..drawing.terminal import columns
from .bound import metric_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .history import Line

__all__ = ["Shown", "View", "chosen_pair", "label_of", "view_of"]

FLOOR = 0.03
"""So far below its best the lowest block of a sparkline stands, where values are at most 1."""

LEAST_TITLE = 20
"""So many columns of a title are worth more than what else may stand in the last line."""

_ROLES: tuple[Role, ...] = ("first", "second", "third", "fourth")
_COLOURS: dict[Role, str] = {"first": "38;5;33", "second": "38;5;208"}


@dataclass(frozen=True)
class Shown:
    """One metric of those that are shown: its name as it is logged, what it is called here, colour and mark, values.

    `loss` is how much worse it is at another one's best round, `at`; NaN where there is no other.
    """

    name: str
    label: str
    role: Role
    line: Line
    loss: float = math.nan
    at: int = 0


@dataclass(frozen=True)
class View:
    """A training at one moment; the total of rounds and the seconds that it took only where they are known.

    `stops` says on which metric it will be stopped, in how many rounds, and how many are waited.
    """

    title: str
    dataset: str
    shown: Sequence[Shown]
    last_round: int
    total: int | None = None
    seconds: float | None = None
    stops: tuple[str, int, int] | None = None

    @property
    def differ(self) -> bool:
        """Whether the best rounds differ."""
        return len({shown.line.best_round for shown in self.shown} - {None}) > 1

    @property
    def _round(self) -> str:
        return f"round {self.last_round}{f'/{self.total}' if self.total else ''}"

    def block(self, width: int, *, ascii_only: bool = False, colour: bool = False) -> list[str]:
        """Return the lines of a terminal: one head, and one for each metric, none wider than `width`."""
        label = max((len(shown.label) for shown in self.shown), default=0)
        marks = [character(shown.role, ascii_only) for shown in self.shown]
        lefts = [
            f" {mark} {shown.label:<{label}} {_value(shown.line)}  best {_best(shown, ' at ')}"
            for mark, shown in zip(marks, self.shown, strict=True)
        ]
        rights = [_loss(shown, ascii_only) for shown in self.shown]
        left, right = (max(map(len, texts), default=0) for texts in (lefts, rights))
        if left + right + 2 > width:  # rather none than one that is cut
            rights, right = ["" for _ in rights], 0
        room = min(24, width - left - right - 4)
        lines = [self._head(width, ascii_only)]
        for shown, text, loss in zip(self.shown, lefts, rights, strict=True):
            line = shown.line
            span = FLOOR * max(1.0, abs(line.best) if line.best == line.best else 1.0)
            curve = sparkline(line.risen(), span, room, ascii_only) if room >= 6 else ""
            plain = f"{text:<{left}}  {curve:<{max(room, 0)}}  {loss}"[:width].rstrip()
            lines.append(_in_colour(plain, shown.role, curve) if colour else plain)
        return [f"\x1b[1m{lines[0]}\x1b[0m" if colour else lines[0], *lines[1:]]

    def _head(self, width: int, ascii_only: bool) -> str:
        right = self._round
        if self.stops is not None:
            metric, left, _ = self.stops
            marks = [character(shown.role, ascii_only) for shown in self.shown if shown.name == metric]
            right += f"  {marks[0] if marks else label_of(metric)} stops in {left}"
        if self.seconds is not None:
            right += f"  {self.seconds:.0f} s"
        title = _fitting(self.title, width - len(right) - 3, ascii_only)
        return f"{title}   {right}"[:width]

    def final_line(
        self, width: int | None = None, *, ascii_only: bool = False, colour: bool = False, running: bool = False
    ) -> str:
        """Return all in one line, as it stands when training has ended, or while it is `running`."""
        marks = [(shown, f"{character(shown.role, ascii_only)} {_best(shown, ' @')}") for shown in self.shown]
        plain = "  ".join(text for _, text in marks)
        tails = [f"  {self._round}"] if running else self._tails(ascii_only)
        title, tail = printable(self.title), tails[0]
        if width is not None:
            rooms = {text: width - len(plain) - len(text) - 2 for text in tails}
            cut = [text for text in tails[1:] if rooms[text] >= LEAST_TITLE] or tails[-1:]
            tail = next((text for text in tails if columns(title) <= rooms[text]), cut[0])
            title = _fitting(title, max(rooms[tail], 8), ascii_only)
        elif ascii_only:
            title = _fitting(title, None, True)
        if colour:
            plain = "  ".join(f"{_coloured(text[0], shown.role)}{text[1:]}" for shown, text in marks)
        return f"{title}  {plain}{tail}"

    def _tails(self, ascii_only: bool) -> list[str]:
        """Return what may stand at the end of the last line, by how much room there is."""
        seconds = f"  {self.seconds:.1f} s" if self.seconds is not None else ""
        said = self._differing(ascii_only)
        if not said:
            return [seconds]
        return [f"{seconds}  {said}", f"{seconds}  best rounds differ", f"{seconds}  rounds differ", "  rounds differ"]

    def _differing(self, ascii_only: bool) -> str:
        """Return that the best rounds differ and what is lost at each other's; nothing where they do not."""
        losses = ", ".join(filter(None, (_loss(shown, ascii_only) for shown in self.shown)))
        return "" if not self.differ else f"best rounds differ: {losses}" if losses else "best rounds differ"

    def row(self) -> str:
        """Return what the last line says as a row of a table in HTML."""
        marks = [
            f'<span class="gs-word-{shown.role}">{character(shown.role)}</span> {_best(shown, " @")}'
            for shown in self.shown
        ]
        seconds = f"{self.seconds:.1f} s" if self.seconds is not None else ""
        cells = [escape(printable(self.title)), *marks, seconds, self._differing(False)]
        return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

    def picture(self, *, style: bool = True) -> str:
        """Return a picture as HTML that stands alone."""
        of = f" of {self.total:,}" if self.total else ""
        quiet = f"{self.dataset}, " if self.dataset != self.title else ""
        head = (
            f"<p><b>{escape(printable(self.title))}</b> "
            f'<span class="gs-quiet">{escape(printable(quiet))}round {self.last_round:,}{of}</span></p>'
        )
        drawn = [self._drawn(shown) for shown in self.shown]
        svg = curves_svg(drawn, last_tick(self.last_round, self.total), self.sentences(), self._stops())
        large = [shown.label for shown in self.shown if abs(shown.line.best) > 1]
        scale = f" Of {' and '.join(large)} 0.01 stands for 1 % of the best." if large else ""
        turned = [shown.label for shown in self.shown if shown.line.higher_is_better is False]
        below = " Lower values of " + " and ".join(turned) + " are better: drawn upwards." if turned else ""
        foot = (
            '<p class="gs-quiet">Each curve is drawn from its own best, at one scale. Filled: best so far, at the '
            f"first round with that value.{escape(scale + below)}</p>"
        )
        return f'{STYLE if style else ""}<div class="gs-live">{head}{svg}{foot}</div>'

    def _stops(self) -> tuple[str, int, int, Role] | None:
        if self.stops is None:
            return None
        metric, left, waits = self.stops
        of = [shown for shown in self.shown if shown.name == metric]
        return (of[0].label, left, waits, of[0].role) if of else (label_of(metric), left, waits, "third")

    def _drawn(self, shown: Shown) -> Drawn:
        line = shown.line
        if line.best_round is None:
            return Drawn(shown.role, _long(shown), line.rounds, line.risen(), 1, _value(line))
        ago = self.last_round - line.best_round
        many = len(self.shown) > 2
        when = f", {f'{ago:,} ago' if ago else 'now'}"
        notes = [f"best {line.best:.4f} at round {line.best_round:,}{'' if many else when}"]
        if shown.loss > 0:
            notes.append(f"{_signed(shown)} at {shown.at:,}, the other's best")
        return Drawn(shown.role, _long(shown), line.rounds, line.risen(), line.best_round, _value(line), notes)

    def sentences(self) -> str:
        """Return best rounds and what stopping at the other's loses, in words."""
        known = [shown for shown in self.shown if shown.line.best_round is not None]
        if not known:
            return f"No metric has a value on {printable(self.dataset)} in {self.last_round:,} rounds."
        bests = ", ".join(
            f"{shown.name} {'is best ' if not place else ''}at round {shown.line.best_round:,} ({shown.line.best:.4f})"
            for place, shown in enumerate(known)
        )
        rounds = f"{self.last_round:,} round{'' if self.last_round == 1 else 's'}"
        said = f"{bests}, on {printable(self.dataset)} over {rounds}."
        if len(known) == 1:
            return said
        if not self.differ:
            return f"{said}\nThe best rounds are the same."
        which = "the other's" if len(known) == 2 else "another's"
        losses = " and ".join(f"{shown.loss:.4f} of {shown.name}" for shown in known if shown.loss == shown.loss)
        unknown = " and ".join(shown.name for shown in known if shown.loss != shown.loss)
        if losses:
            said += f"\nStopping at {which} best round loses {losses}."
        return said + (
            f"\nWhat is lost of {unknown} at {which} best round is not known: no value there." * bool(unknown)
        )


def view_of(
    lines: Mapping[str, Line],
    *,
    title: str,
    dataset: str,
    last_round: int,
    total: int | None = None,
    seconds: float | None = None,
    stops: tuple[str, int, int] | None = None,
) -> View:
    """Return what is to be seen of some metrics."""
    labels = _labels(list(lines))
    roles = _roles(list(lines))
    shown = []
    for name, line in lines.items():
        others = [other.best_round for other in lines.values() if other is not line and other.best_round is not None]
        loss, at = math.nan, 0
        for best_round in others:
            there = line.loss(best_round)
            if there > loss or loss != loss:  # NaN where it has no value then
                loss, at = there, best_round
        shown.append(Shown(name, labels[name], roles[name], line, loss, at))
    return View(title, dataset, shown, last_round, total, seconds, stops)


def chosen_pair(names: Sequence[str]) -> list[str]:
    """Return which metrics are shown where nobody says: linear and exponential NDCG at one cutoff, else the first two.

    >>> chosen_pair(["mrr", "ndcg_exp@10", "ndcg_linear@5", "ndcg_linear@10"])
    ['ndcg_linear@10', 'ndcg_exp@10']
    >>> chosen_pair(["mrr", "map@10", "ndcg_exp@10"])
    ['mrr', 'map@10']
    """
    by_metric = {metric_name(name): name for name in names}
    for metric, name in by_metric.items():
        if metric.startswith("ndcg_linear"):
            other = metric.replace("ndcg_linear", "ndcg_exp", 1)
            if other in by_metric:
                return [name, by_metric[other]]
    return list(names[:2])


def label_of(name: str) -> str:
    """Return what a metric is called beside its mark.

    >>> label_of("ndcg_linear@10"), label_of("ndcg_exp_at_10"), label_of("map@10")
    ('linear', 'exp', 'map@10')
    """
    gain = re.fullmatch(r"ndcg_(linear|exp)(@\d+)?", metric_name(name))
    return gain[1] if gain else printable(name)


def _labels(names: list[str]) -> dict[str, str]:
    labels = {name: label_of(name) for name in names}
    cutoffs = {metric_name(name).partition("@")[2] for name in names}
    unlike = len(set(labels.values())) < len(names) or len(cutoffs) > 1
    return {name: printable(name) for name in names} if unlike else labels


def _roles(names: list[str]) -> dict[str, Role]:
    """Return colours and marks: linear gain is always the first, exponential always the second."""
    own: dict[str, Role] = {"linear": "first", "exp": "second"}
    taken: dict[str, Role] = {}
    for name in names:
        role = own.get(label_of(name))
        if role is not None and role not in taken.values():
            taken[name] = role
    for name in names:
        left = [role for role in _ROLES if role not in taken.values()]
        taken.setdefault(name, left[0] if left else "fourth")
    return taken


def _value(line: Line) -> str:
    return f"{line.values[-1]:.4f}" if line.values else "–"


def _best(shown: Shown, joined: str) -> str:
    line = shown.line
    return "–" if line.best_round is None else f"{line.best:.4f}{joined}{line.best_round}"


def _signed(shown: Shown, minus: str = "−") -> str:
    """Write by how much a metric is worse: below its best, or above it where it is a loss."""
    return f"{minus if shown.line.higher_is_better is not False else '+'}{shown.loss:.4f}"


def _loss(shown: Shown, ascii_only: bool) -> str:
    if not shown.loss > 0:
        return ""
    return f"{_signed(shown, '-' if ascii_only else '−')} at {shown.at}"


def _long(shown: Shown) -> str:
    gains = {"linear": "linear gain", "exp": "exponential gain"}
    name = metric_name(shown.name)
    cutoff = name.partition("@")[2]
    return f"{gains[shown.label]}, NDCG{f'@{cutoff}' if cutoff else ''}" if shown.label in gains else shown.label


def _fitting(title: str, room: int | None, ascii_only: bool) -> str:
    """Return a title that has room, its end left out where it is too long."""
    text = printable(title)
    if ascii_only:
        text = text.encode("ascii", "replace").decode()
    if room is None or columns(text) <= room:
        return text
    mark = "..." if ascii_only else "…"
    while text and columns(text) > room - len(mark):
        text = text[:-1]
    return text + mark


def _in_colour(line: str, role: Role, curve: str) -> str:
    """Colour the mark of a line and its curve."""
    mark, rest = line[1], line[2:]
    if curve and curve in rest:
        rest = rest.replace(curve, _coloured(curve, role), 1)
    return f" {_coloured(mark, role)}{rest}"


def _coloured(text: str, role: Role) -> str:
    code = _COLOURS.get(role)
    return f"\x1b[{code}m{text}\x1b[0m" if code else text
