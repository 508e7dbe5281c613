"""Draw the pictures at the top of README.md: ``python docs/verdict_picture.py``.

Three rankers score 3,000 simulated queries. The seeds are fixed, so the numbers are always the same. The picture has no
background, so that it fits any page.
"""

from __future__ import annotations

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
    alt = (
        f"Three rankers on {verdict.queries:,} simulated queries. {linear} is best by linear NDCG, {exponential} by "
        f"exponential NDCG, and {safe.model} is within {safe.outcome[1:]} of the best under both."
    )
    grades = {
        row.model: [int(label) for label in comparison.ranking(query, row.model)["label"][:10]] for row in chart.rows
    }
    return {
        "chart": chart,
        "grades": grades,
        "linear": linear,
        "exponential": exponential,
        "safe": safe.model,
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
        summary = f"Three rankers on {values['queries']} simulated queries. gainwise computes both. Safe choice: {safe}"
        drawing.text(0, 57, summary, 15, "muted")
        drawing.text(6, 104, "grades of the top 10, one query", 12, "muted")
        return 66
    for place, heading in enumerate((first, second)):
        drawing.text(0, 26 + 29 * place, heading, 21, weight=700)
    drawing.text(0, 82, f"Three rankers, {values['queries']} simulated queries.", color="muted")
    drawing.text(0, 102, f"gainwise computes both. Safe choice: {safe}", color="muted")
    drawing.text(0, 130, "Numbers in boxes: grades of the top 10, one query.", 12, "muted")
    return 146


def draw_rows(drawing: Drawing, values: dict[str, Any], base: float, height: float) -> None:
    """Write names, grades and the last column, and tint the row of the choice."""
    for place, row in enumerate(values["chart"].rows):
        y, star = base + place * height, "★ " * row.starred
        if row.starred:
            shape = f'x="0" y="{y:.1f}" width="{drawing.width}" height="{height:g}"'
            drawing.parts.append(f'<rect {shape} fill="{drawing.theme.shade}"/>')
        drawing.line(f"M0 {y:.1f}H{drawing.width}", "grid", 1)
        strong = {"weight": 700 if row.starred else 400, "anchor": "end"}
        top = y + 22 if drawing.narrow else y + height / 2 - 6
        drawing.text(6, top, star + escape(row.model), 16, weight=700 if row.starred else 600)
        if drawing.narrow:
            drawing.text(drawing.width - 6, top, f"{values['chart'].last} {row.outcome}", 13, **strong)
            drawing.strip(6, y + 31, values["grades"][row.model], 20)
        else:
            drawing.text(drawing.width - 6, y + height / 2 + 5, row.outcome, **strong)
            drawing.strip(6, y + height / 2 + 6, values["grades"][row.model], 18)


def draw_lanes(drawing: Drawing, chart: Any, left: float, wide: float, base: float, height: float) -> None:
    """Draw the grid, the bars and the marks of all rows, and the axis below them."""
    narrow, axis, bottom = drawing.narrow, chart.axis(), base + len(chart.rows) * height

    def at(value: float) -> float:
        return left + wide * axis.at(value) / 100

    for value, words in axis.ticks(3 if narrow else 5):
        if not narrow:
            drawing.line(f"M{at(value):.1f} {base:.1f}V{bottom:.1f}", "grid", 1)
        if abs(at(value) - at(0)) > 36 and at(value) - left > 17:
            drawing.text(at(value), bottom + 18, words, 12, "muted", anchor="middle")
    drawing.text(at(0), bottom + 18, chart.reference, 12, weight=700, anchor="middle")
    for place, row in enumerate(chart.rows):
        middle = base + place * height + (height - 26 if narrow else height / 2)
        reach, worst = (24 if narrow else height / 2), at(-row.worst)
        drawing.line(f"M{at(0):.1f} {middle - reach:.1f}V{middle + reach:.1f}", "ink")
        drawing.line(f"M{worst:.1f} {middle - 16:.1f}V{middle + 16:.1f}", "muted")
        for lane, (mark, side) in enumerate(zip(row.marks, ("first", "second"), strict=True)):
            y = middle + (8 if lane else -8)
            gap = 0.0 if mark.possible else 9.5
            for start, end in ((at(mark.lower), at(mark.value) - gap), (at(mark.value) + gap, at(mark.upper))):
                if end - start > 0.5:
                    drawing.line(f"M{start:.1f} {y:.1f}H{end:.1f}", f"{side}_bar", 5, "round")
            drawing.mark(lane, at(mark.value), y, 5.5, mark.possible)


def draw(values: dict[str, Any], theme: Theme, narrow: bool = False) -> str:
    """Return the picture as SVG, 880 pixels wide or, for phones, 360."""
    drawing, chart = Drawing(theme, narrow), values["chart"]
    top = draw_headings(drawing, values)
    base, height = top + 52, 108.0 if narrow else 64.0
    first, last = (8.0, 8.0) if narrow else (219.0, 96.0)
    x, y = (0, top + 12) if narrow else (first, base - 14)
    for lane, series in enumerate(chart.series):
        drawing.mark(lane, x + 8, y - 5, 5.5, filled=True)
        libraries = f'<tspan font-size="12" font-weight="400" fill="{theme.muted}">({series.libraries})</tspan>'
        words = series.caption if narrow else f"{series.caption} {libraries}"
        drawing.text(x + 22, y, words, 14, f"{('first', 'second')[lane]}_text", weight=650)
        x, y = (x, y + 22) if narrow else (x + 265, y)
    if not narrow:
        drawing.text(drawing.width - 6, base - 14, chart.last, 15, weight=650, anchor="end")
    draw_rows(drawing, values, base, height)
    drawing.line(f"M0 {base + len(chart.rows) * height:.1f}H{drawing.width}", "grid", 1)
    draw_lanes(drawing, chart, first, drawing.width - first - last, base, height)
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
