"""A curve in one line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["sparkline"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII = "_.:-=+*#"


def sparkline(values: Sequence[float], span: float, width: int, ascii_only: bool = False) -> str:
    """Return a curve, of which larger is better, as blocks in at most `width` columns; NaN is left blank.

    The lowest block stands for everything at least `span`, above 0, below the highest value. Where there are more
    values than columns each column is the highest of equally many, so that the best one is seen.

    >>> sparkline([0.50, 0.51, 0.52, 0.53, 0.525], 0.03, 24)
    '▁▃▆█▇'
    >>> sparkline(list(range(10)), 9, 5, ascii_only=True)
    '.:=+#'
    """
    each = max(-(-len(values) // width), 1)
    highest = [_highest(values[start : start + each]) for start in range(0, len(values), each)]
    best = _highest(highest)
    blocks = _ASCII if ascii_only else _BLOCKS
    top = len(blocks) - 1
    return "".join(
        " " if value != value else blocks[max(0, round(top * (1 - (best - value) / span)))] for value in highest
    )


def _highest(values: Sequence[float]) -> float:
    return max((value for value in values if value == value), default=float("nan"))
