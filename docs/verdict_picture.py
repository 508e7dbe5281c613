"""Draw the pictures at the top of README.md: ``python docs/verdict_picture.py``.

Three rankers score 3,000 simulated queries. The seeds are fixed, so the numbers are always the same. The picture has no
background, so that it fits any page.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import gainwise as gw
from gainwise._common.theme import DARK, LIGHT, Theme
from gainwise.data import simulate, simulate_rankers

HERE = Path(__file__).parent
FONT = "system-ui,'Segoe UI','Noto Sans',Roboto,Helvetica,Arial,sans-serif"
SHADES = (0.05, 0.13, 0.28, 0.6, 1.0)
"""Opacity of the box of each grade."""


def compare_rankers() -> gw.Comparison:
    """Compare a ranker that finds fair documents, one that finds excellent ones, and one that finds some of both."""
    data = simulate(3000, seed=4, mean_length=40)
    return gw.compare(simulate_rankers(data, seed=4), data.judgments())


def select_query(comparison: gw.Comparison) -> Any:
    """Return the query with the largest contradiction for which the safe choice is between the two winners."""
    verdict = comparison.verdict
    ordered = [verdict.winners[metric] for metric in verdict.metrics]
    by_query = comparison.frame()[list(verdict.metrics)]
    for query in comparison.queries(*ordered, 200)["query"]:
        first, safe, second = (by_query.loc[query, model] for model in (ordered[0], verdict.safe_choice, ordered[1]))
        if ((first - safe) * (safe - second) > 0).all():
            return query
    raise LookupError("The safe choice is not between the two winners on any query.")


def collect_values(comparison: gw.Comparison) -> dict[str, Any]:
    """Return the chart, the grades of the top 10 of one query, and the names and numbers in the text."""
    verdict, chart, query = comparison.verdict, comparison.content.chart, select_query(comparison)
    linear, exponential = verdict.winners.values()
    (safe,) = (row for row in chart.rows if row.starred)
    worst = math.ceil(1000 * verdict.safe_regret_upper) / 1000
    alt = (
        f"Three rankers on {verdict.queries:,} simulated queries. {linear} is best by linear NDCG, {exponential} by "
        f"exponential NDCG, and {safe.name} is within {worst:.3f} of the best under both."
    )
    grades = {
        row.model: [int(label) for label in comparison.ranking(query, row.model)["label"][:10]] for row in chart.rows
    }
    return {
        "chart": chart,
        "grades": grades,
        "linear": linear,
        "exponential": exponential,
        "safe": safe.name,
        "queries": f"{verdict.queries:,}",
        "alt": alt,
    }


@dataclass
class Drawing:
    """An SVG that grows piece by piece."""

    theme: Theme
    narrow: bool
    parts: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """The width in pixels."""
        return 360 if self.narrow else 880

    def text(self, x: float, y: float, words: str, size: float = 14, color: str = "ink", **look: Any) -> None:
        """Write text; `look` has attributes such as `weight` and `anchor`."""
        weight, anchor = look.get("weight", 400), look.get("anchor", "start")
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" font-weight="{weight}" text-anchor="{anchor}" '
            f'fill="{getattr(self.theme, color)}">{words}</text>'
        )

    def line(self, path: str, color: str, width: float = 1.5, cap: str = "butt") -> None:
        """Draw a line along a path."""
        stroke = f'stroke="{getattr(self.theme, color)}" stroke-width="{width:g}" stroke-linecap="{cap}"'
        self.parts.append(f'<path d="{path}" {stroke}/>')

    def mark(self, lane: int, x: float, y: float, size: float, filled: bool) -> None:
        """Draw a circle for the first metric, a diamond for the second."""
        color = (self.theme.first, self.theme.second)[lane]
        look = f'fill="{color if filled else "none"}" stroke="{color}" stroke-width="2"'
        side = size + 1.5
        shape = f'<path d="M{x:.1f} {y - side:.1f}l{side} {side}-{side} {side}-{side}-{side}z" {look}/>'
        self.parts.append(shape if lane else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {look}/>')

    def strip(self, x: float, y: float, grades: list[int], cell: int) -> None:
        """Draw the grades of a ranking in boxes."""
        for place, grade in enumerate(grades):
            left, color = x + place * (cell + 2), "face" if grade > 2 else "ink"
            self.parts.append(
                f'<rect x="{left}" y="{y:.1f}" width="{cell}" height="{cell}" rx="3" fill="{self.theme.ink}" '
                f'fill-opacity="{SHADES[grade]}"/>'
            )
            self.text(left + cell / 2, y + 0.72 * cell, str(grade), 0.62 * cell, color, weight=600, anchor="middle")


def draw_headings(drawing: Drawing, values: dict[str, Any]) -> float:
    """Write the lines above the chart, and return where it begins."""
    theme, bold = drawing.theme, f'font-weight="700" fill="{drawing.theme.ink}"'
    first = f'scikit-learn’s NDCG picks <tspan fill="{theme.first_text}">{escape(values["linear"])}.</tspan>'
    second = f'LightGBM’s picks <tspan fill="{theme.second_text}">{escape(values["exponential"])}.</tspan>'
    safe = f"<tspan {bold}>★ {escape(values['safe'])}</tspan>."
    if not drawing.narrow:
        drawing.text(0, 30, f"{first} {second}", 26, weight=700)
        summary = (
            f"Three rankers on {values['queries']} simulated queries. gainwise computes both and recommends {safe}"
        )
        drawing.text(0, 57, summary, 15, "muted")
        drawing.text(0, 120, "grades of the top 10, one query", 12, "muted")
        return 82
    for place, heading in enumerate((first, second)):
        drawing.text(0, 26 + 29 * place, heading, 21, weight=700)
    drawing.text(0, 82, f"Three rankers, {values['queries']} simulated queries.", color="muted")
    drawing.text(0, 102, f"gainwise computes both and recommends {safe}", color="muted")
    drawing.text(0, 130, "Numbers in boxes: grades of the top 10, one query.", 12, "muted")
    return 146


def draw_rows(drawing: Drawing, values: dict[str, Any], base: float, height: float) -> None:
    """Write names, grades and the last column."""
    for place, row in enumerate(values["chart"].rows):
        y, star = base + place * height, "★ " * row.starred
        if place:
            drawing.line(f"M0 {y:.1f}H{drawing.width}", "grid", 1)
        strong = {"weight": 700 if row.starred else 400, "anchor": "end"}
        if drawing.narrow:
            drawing.text(0, y + 22, star + escape(row.name), 16, weight=700)
            color = "ink" if row.starred else "muted"
            drawing.text(drawing.width, y + 22, f"worst case {row.outcome}", 13, color, **strong)
            drawing.strip(0, y + 31, values["grades"][row.model], 20)
        else:
            drawing.text(0, y + height / 2 - 6, star + escape(row.name), 16, weight=700 if row.starred else 600)
            drawing.text(drawing.width, y + height / 2 + 5, star + row.outcome, **strong)
            drawing.strip(0, y + height / 2 + 6, values["grades"][row.model], 18)


def draw_panel(drawing: Drawing, chart: Any, lane: int, left: float, wide: float, base: float, height: float) -> None:
    """Draw one metric: its caption, and the cell of every row."""
    side, narrow, axis = ("first", "second")[lane], drawing.narrow, chart.axis()
    bottom, room = base + len(chart.rows) * height, wide - (62 if narrow else 76)

    def at(value: float) -> float:
        return left + room * axis.at(value) / 100

    drawing.mark(lane, left + 8, base - 38, 5.5, filled=True)
    drawing.text(left + 22, base - 33, chart.panels[lane].caption, 15, f"{side}_text", weight=650)
    drawing.text(left, base - 14, chart.panels[lane].libraries, 12, "muted")
    for value, words in axis.ticks(3):
        if not narrow:
            drawing.line(f"M{at(value):.1f} {base - 2:.1f}V{bottom:.1f}", "grid", 1)
        if abs(at(value) - at(0)) > 36 and at(value) - left > 17:
            drawing.text(at(value), bottom + 18, words, 12, "muted", anchor="middle")
    for place, row in enumerate(chart.rows):
        cell, size = row.cells[lane], 7.5 if row.cells[lane].highest else 5.5
        y = base + place * height + (height - 20 if narrow else height / 2)
        tall = 28.0 if narrow else height - 4
        if cell.possible:
            fill = getattr(drawing.theme, f"{side}_tint")
            shape = f'x="{left:.1f}" y="{y - tall / 2:.1f}" width="{wide:.1f}" height="{tall:g}" rx="5"'
            drawing.parts.append(f'<rect {shape} fill="{fill}"/>')
        gap = 0.0 if cell.possible else size + 4.5
        for start, end in ((at(cell.lower), at(cell.value) - gap), (at(cell.value) + gap, at(cell.upper))):
            if end - start > 0.5:
                drawing.line(f"M{start:.1f} {y:.1f}H{end:.1f}", f"{side}_bar", 5, "round")
        reach = tall / 2 + 1 if narrow else height / 2
        drawing.line(f"M{at(0):.1f} {y - reach:.1f}V{y + reach:.1f}", "ink")
        drawing.mark(lane, at(cell.value), y, size, cell.possible)
        color = f"{side}_text" if cell.possible else "muted"
        weight = 700 if cell.highest else 400
        drawing.text(left + wide - 7, y + 5, cell.text, 14, color, weight=weight, anchor="end")
    drawing.text(at(0), bottom + 18, chart.reference, 12, weight=700, anchor="middle")


def draw(values: dict[str, Any], theme: Theme, narrow: bool = False) -> str:
    """Return the picture as SVG, 880 pixels wide or, for phones, 360."""
    drawing, chart = Drawing(theme, narrow), values["chart"]
    top = draw_headings(drawing, values)
    base, height = top + 52, 98.0 if narrow else 64.0
    first, last, gap = (0.0, 0.0, 12.0) if narrow else (219.0, 130.0, 20.0)
    if not narrow:
        drawing.text(drawing.width, top + 19, chart.last[0], 15, weight=650, anchor="end")
        drawing.text(drawing.width, top + 38, chart.last[1], 12, "muted", anchor="end")
    drawing.line(f"M0 {base - 4:.1f}H{drawing.width}", "ink")
    draw_rows(drawing, values, base, height)
    wide = (drawing.width - first - last - gap) / 2
    for lane in range(2):
        draw_panel(drawing, chart, lane, first + lane * (wide + gap), wide, base, height)
    full = round(base + len(chart.rows) * height + 28)
    size = f'viewBox="0 0 {drawing.width} {full}" width="{drawing.width}" height="{full}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} fill="none" font-family="{FONT}" '
        f'style="font-variant-numeric:tabular-nums" role="img" aria-label="{escape(values["alt"])}">'
        f"{''.join(drawing.parts)}</svg>\n"
    )


if __name__ == "__main__":
    comparison = compare_rankers()
    values = collect_values(comparison)
    for theme in (LIGHT, DARK):
        for name, narrow in ((f"hero-{theme.name}", False), (f"hero-narrow-{theme.name}", True)):
            (HERE / "_static" / f"{name}.svg").write_text(draw(values, theme, narrow), encoding="utf-8")
    print(comparison.verdict.text)
