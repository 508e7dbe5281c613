"""How verdicts and comparisons show themselves in a notebook: short, and with every name escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .names import isolated

if TYPE_CHECKING:
    from ..comparison.verdict import Verdict
    from ..harness import Comparison

__all__ = ["comparison_html", "verdict_html"]


def verdict_html(verdict: Verdict) -> str:
    """Return the kind of the verdict and its paragraph."""
    return f"<p><strong>{escape(verdict.kind)}</strong></p>\n<p>{escape(isolated(verdict.text, verdict.models))}</p>"


def comparison_html(comparison: Comparison) -> str:
    """Return the means of all models under all metrics, and the verdict."""
    board = comparison.leaderboard[[*comparison.metrics, *comparison.shown_shares]]
    text = comparison.primary is not None and len(comparison.models) > 1
    said = [f"{note}." for note in comparison.notes]
    if comparison.holes is not None and not text:
        said += comparison.holes.text(comparison.models)
    notes = "".join(f"\n<p>{escape(isolated(note, comparison.models))}</p>" for note in said)
    table = board.to_html(float_format="{:.4f}".format) + notes
    return table + (f"\n{verdict_html(comparison.verdict)}" if text else "")
