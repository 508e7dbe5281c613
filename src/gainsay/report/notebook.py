"""How comparisons show themselves in a notebook: short, and with every name escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..drawing.notebook import chart_cell
from .full import notes

if TYPE_CHECKING:
    from .content import Content


def comparison_html(content: Content) -> str:
    """Return the answer, the advice, the first models with their distances to the best, and reservations."""
    comparison = content.comparison
    said = notes(content)
    if len(comparison.models) == 1:
        means = (f"{metric} {comparison.leaderboard[metric].iloc[0]:.4f}" for metric in comparison.metrics)
        said.insert(0, f"Means: {', '.join(means)}.")
    call = 'comparison.to_html("report.html")'
    return chart_cell(content.chart, said, call, call if content.queries is not None else "")
