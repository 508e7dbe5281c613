"""Whether to ship: every candidate against the baseline, its bounds, and how many queries get better and worse."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import isolated
from .._common.words import amount, confidence
from ..comparison.against import thousands
from ..comparison.headline import labels_of
from ..comparison.replacing import leading, needs
from ..drawing.lanes import TEXTS, Axis, difference_strip, drawing, text_at
from .numbers import difference
from .section import Cell, Column, Section, Table

if TYPE_CHECKING:
    from ..comparison.against import Against, Decision, Standing
    from ..drawing.text import Words
    from .content import Content

__all__ = ["baseline_section", "baseline_table"]

MOST_ROWS = 12
SIGNS = {"ship": "\u2713", "do not ship": "\u2715", "undecided": "?"}
"""Stand before a decision."""


def baseline_section(content: Content) -> Section | None:
    """Return every candidate with its decision; None without a baseline."""
    found = content.against
    if found is None:
        return None
    rest = len(found.standings) - MOST_ROWS
    note = f"A candidate minus {content.names.said[found.baseline]}; right is better. The intervals of differences "
    note += f"hold all together ({confidence(found.alpha)})."
    note += f" Dashed: the loss of {amount(found.rope)} that is tolerated." if found.rope else ""
    note += f" {rest} more stand in full below." if rest > 0 else ""
    title = f"Replace {content.names.short[found.baseline]}?"
    return Section("baseline", title, _said(found), lambda most: _figure(content, found), note)


def _said(found: Against) -> Words:
    decided = list(found.decisions.values())
    heads: dict[Decision, str] = {"ship": "to ship", "undecided": "undecided", "do not ship": "not to ship"}
    told = [f"{decided.count(decision)} {head}" for decision, head in heads.items() if decision in decided]
    start = f"Of {len(decided)} candidates: {', '.join(told)}. " if len(decided) > 1 else ""
    loss = f"a loss up to {amount(found.rope)} is tolerated" if found.rope else "no loss is tolerated"
    rule = "One ships that is proven no worse by either metric, and better by one"
    if len(found.metrics) == 1:
        rule = "One ships that is proven better"
    return (("", f"{start}{rule}; {loss}."),)


def _turned(found: Against, one: Standing, metric: str) -> tuple[float, float, float]:
    """Return low, middle and high of a difference, to the right where it is better."""
    ends = one.lower[metric], one.difference[metric], one.upper[metric]
    return (-ends[2], -ends[1] + 0.0, -ends[0]) if metric in found.lower_is_better else ends


def _figure(content: Content, found: Against) -> str:
    shown, labels = leading(found)[:MOST_ROWS], labels_of(found.metrics)
    lanes = [[_turned(found, one, label.name) for label in labels] for one in shown]
    known = [end for row in lanes for triple in row for end in triple if math.isfinite(end)]
    low, high = min(0.0, -found.rope, *known), max(0.0, *known)
    reach = high - low or 0.01
    axis = Axis.of(low - 0.03 * reach, high + 0.03 * reach)
    height = 24 + 13 * len(labels)
    rows = "".join(_row(content, found, one, own, axis, height) for one, own in zip(shown, lanes, strict=True))
    heads = "".join(
        f'<th scope="col" class="v {colour}">{escape(label.head)}</th>'
        for colour, label in zip(TEXTS, labels, strict=False)
    )
    head = (
        f'<tr><th scope="col">candidate</th><td class="w"></td>{heads}'
        '<th scope="col" class="v">of 1,000 searches</th></tr>'
    )
    ticks = [
        text_at(axis.at(tick), 18, axis.written(tick, signed=True) if tick else "equal", anchor="middle",
                style="" if tick else "s b")
        for tick in axis.ticks
    ]  # fmt: skip
    foot = drawing("".join(ticks), 24, "ax")
    return (
        f'<table class="chart by-candidate"><thead>{head}</thead><tbody>{rows}</tbody><tfoot><tr><td></td>'
        f'<td class="w">{foot}</td><td colspan="{len(labels) + 1}"></td></tr></tfoot></table>'
    )


def _row(
    content: Content,
    found: Against,
    one: Standing,
    lanes: list[tuple[float, float, float]],
    axis: Axis,
    height: float,
) -> str:
    names, labels = content.names, labels_of(found.metrics)
    said: list[str] = []
    values, shares = [], []
    for label, colour in zip(labels, TEXTS, strict=False):
        it = label.name
        between = f"{difference(one.lower[it])} to {difference(one.upper[it])}"
        said.append(f"{it}: {difference(one.difference[it])}, in truth {between}")
        value = f"<strong>{difference(one.difference[it])}</strong><small>{between}</small>"
        values.append(f'<td class="v {colour}">{value}</td>')
        kinds = {kind: thousands(share) for kind, share in one.shares[it].items()}
        exact = escape(f"{it}: " + ", ".join(f"{kind} {text}" for kind, text in kinds.items()))
        better, worse = (kinds[kind].split(" ")[0] for kind in ("better", "worse"))
        shares.append(f'<span class="{colour}" title="{exact}">{better} better, {worse} worse</span>')
    picture = difference_strip(lanes, axis, height, -found.rope, said)
    why = f"needs {needs(one)}" if needs(one) else "no number of queries decides"
    why = f'<small class="m">{why}</small>' if one.decision == "undecided" else ""
    sign = f'<span aria-hidden="true">{SIGNS[one.decision]} </span>'
    full = escape(names.full[one.candidate])
    return (
        f'<tr{" class=may" * (one.decision == "ship")}><th scope="row" class="n" title="{full}">'
        f'<bdi>{escape(names.short[one.candidate])}</bdi><span class="tag">{sign}{one.decision}</span>{why}</th>'
        f'<td class="w">{picture}</td>{"".join(values)}<td class="v">{"<br>".join(shares)}</td></tr>'
    )


def baseline_table(content: Content, found: Against) -> Table:
    """Return every candidate: decision, differences, of 1,000 queries how many change, and what would decide."""
    names = content.names
    columns = [Column("candidate", numeric=False), Column("decision", numeric=False)]
    for metric in found.metrics:
        columns += [Column(f"\u0394 {metric}"), Column(f"better, worse, same by {metric}")]
    columns += [Column("queries that decide", low=True), Column("runs that decide", low=True)]
    rows = []
    for one in leading(found):
        row = [Cell(names.short[one.candidate], full=names.full[one.candidate]), Cell(one.decision)]
        for it in found.metrics:
            between = f"{difference(one.lower[it])} to {difference(one.upper[it])}"
            row.append(Cell(difference(one.difference[it]), between))
            shares = [thousands(one.shares[it][kind]).partition(" ") for kind in ("better", "worse", "same")]
            values, bounds = (" \u00b7 ".join(share[part] for share in shares) for part in (0, 2))
            row.append(Cell(values, bounds.replace("(", "").replace(")", "")))
        row += [Cell("\u2013" if it is None else f"{it:,}") for it in (one.queries_needed, one.runs_needed)]
        rows.append(row)
    told = f"Against {names.said[found.baseline]}; of 1,000 queries how many are better, worse and the same"
    return Table(isolated(told, content.comparison.short_names), columns, rows)
