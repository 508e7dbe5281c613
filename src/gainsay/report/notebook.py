"""How comparisons show themselves in a notebook: short, and with every name escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .._common.shown import isolated
from ..comparison.wording import direction

if TYPE_CHECKING:
    from ..comparison.findings import Findings

__all__ = ["comparison_html"]


def comparison_html(comparison: Findings) -> str:
    """Return the means of all models under all metrics, and the verdict."""
    board = comparison.leaderboard[[*comparison.metrics, *comparison.shown_shares]]
    text = comparison.primary is not None and len(comparison.models) > 1
    said = [f"{note}." for note in comparison.notes]
    if not text:  # or else the verdict says it
        said += direction(comparison.lower_is_better)
        said += [] if comparison.holes is None else comparison.holes.text(comparison.models)
    notes = "".join(f"\n<p>{escape(isolated(note, comparison.short_names))}</p>" for note in said)
    table = board.to_html(float_format="{:.4f}".format) + notes
    return table + (f"\n{comparison.verdict._repr_html_()}" if text else "")
