"""Whether to ship: every candidate against the baseline, its bounds, and how many queries get better and worse."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from .._common.words import amount, confidence
from ..comparison.headline import labels_of
from ..comparison.replacing import leading, needs
from ..drawing.lanes import TEXTS, Axis, difference_strip, drawing, ticks_below
from .numbers import differences
from .section import Section

if TYPE_CHECKING:
    from ..comparison.baseline import BaselineComparison, CandidateDecision, Decision
    from ..drawing.lanes import Label
    from .content import Content

MOST_ROWS = 12
SIGNS = {"ship": "\u2713", "do not ship": "\u2715", "undecided": "?"}
"""Stand before a decision."""


def baseline_section(content: Content) -> Section | None:
    """Return every candidate with its decision; None without a baseline."""
    found = content.against
    if found is None:
        return None
    rest = len(found.candidates) - MOST_ROWS
    note = f"A candidate minus {content.names.said[found.baseline]}; right is better. The intervals of differences "
    note += f"hold all together ({confidence(found.alpha)})."
    note += f" Dashed: the loss of {amount(found.margin)} that is tolerated." if found.margin else ""
    note += f" {rest} more stand in full below." if rest > 0 else ""
    title = f"Replace {content.names.short[found.baseline]}?"
    return Section("baseline", title, _said(found), lambda most: _figure(content, found), note)


def _said(found: BaselineComparison) -> str:
    decided = list(found.decisions.values())
    heads: dict[Decision, str] = {"ship": "to ship", "undecided": "undecided", "do not ship": "not to ship"}
    told = [f"{decided.count(decision)} {head}" for decision, head in heads.items() if decision in decided]
    start = f"Of {len(decided)} candidates: {', '.join(told)}. " if len(decided) > 1 else ""
    loss = f"a loss up to {amount(found.margin)} is tolerated" if found.margin else "no loss is tolerated"
    rule = "One ships that is proven no worse by either metric, and better by one"
    if len(found.metrics) == 1:
        rule = "One ships that is proven better"
    return f"{start}{rule}; {loss}."


def _turned(found: BaselineComparison, one: CandidateDecision, metric: str) -> tuple[float, float, float]:
    """Return low, middle and high of a difference, to the right where it is better."""
    ends = one.lower[metric], one.difference[metric], one.upper[metric]
    return (-ends[2], -ends[1] + 0.0, -ends[0]) if metric in found.lower_is_better else ends


def _figure(content: Content, found: BaselineComparison) -> str:
    shown, labels = leading(found)[:MOST_ROWS], labels_of(found.metrics)
    lanes = [[_turned(found, one, label.name) for label in labels] for one in shown]
    known = [end for row in lanes for triple in row for end in triple if math.isfinite(end)]
    low, high = min(0.0, -found.margin, *known), max(0.0, *known)
    reach = high - low or 0.01
    axis = Axis.of(low - 0.03 * reach, high + 0.03 * reach)
    rows = [_row(content, found, one, own, labels, axis) for one, own in zip(shown, lanes, strict=True)]
    heads = "".join(
        f'<th scope="col" class="v {colour}">{escape(label.head)}</th>'
        for colour, label in zip(TEXTS, labels, strict=False)
    )
    head = (
        f'<tr><th scope="col">candidate</th><td class="w"></td>{heads}'
        '<th scope="col" class="v">of 1,000 searches</th></tr>'
    )
    foot = drawing(ticks_below(axis, pair=True), 24, "ax")
    return (
        f'<table class="chart by-candidate"><thead>{head}</thead><tbody>{"".join(rows)}</tbody><tfoot><tr><td></td>'
        f'<td class="w">{foot}</td><td colspan="{len(labels) + 1}"></td></tr></tfoot></table>'
    )


def _row(
    content: Content,
    found: BaselineComparison,
    one: CandidateDecision,
    lanes: list[tuple[float, float, float]],
    labels: tuple[Label, ...],
    axis: Axis,
) -> str:
    names, said = content.names, list[str]()
    values, shares = [], []
    for label, colour in zip(labels, TEXTS, strict=False):
        it = label.name
        value, low, high = differences([one.difference[it], one.lower[it], one.upper[it]])
        said.append(f"{it}: {value}, in truth {low} to {high}")
        values.append(f'<td class="v {colour}"><strong>{value}</strong><small>{low} to {high}</small></td>')
        kinds = {kind: str(share) for kind, share in one.shares[it].items()}
        exact = escape(f"{it}: " + ", ".join(f"{kind} {text}" for kind, text in kinds.items()))
        better, worse = (kinds[kind].split(" ")[0] for kind in ("better", "worse"))
        shares.append(f'<span class="{colour}" title="{exact}">{better} better, {worse} worse</span>')
    picture = difference_strip(lanes, axis, 24 + 13 * len(labels), -found.margin, said)
    wanted = needs(one)
    why = f"needs {wanted}" if wanted else "no number of queries decides"
    why = f'<small class="m">{why}</small>' if one.decision == "undecided" else ""
    sign = f'<span aria-hidden="true">{SIGNS[one.decision]} </span>'
    full = escape(names.full[one.candidate])
    return (
        f'<tr{" class=may" * (one.decision == "ship")}><th scope="row" class="n" title="{full}">'
        f'<bdi>{escape(names.short[one.candidate])}</bdi><span class="tag">{sign}{one.decision}</span>{why}</th>'
        f'<td class="w">{picture}</td>{"".join(values)}<td class="v">{"<br>".join(shares)}</td></tr>'
    )
