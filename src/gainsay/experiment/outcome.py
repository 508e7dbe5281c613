"""What is told of trainings: of each round as it goes, and of the whole in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..training.history import Line
from .plan import Unit

__all__ = ["Follow", "Outcome"]

Follow = Callable[[Unit], Callable[[Sequence[float]], None] | None]
"""Asked at the start of a training that goes on in this process: whom to tell the values of each round."""


@dataclass(frozen=True)
class Outcome:
    """What is told of a unit; everything else is in the directory."""

    unit: Unit
    seconds: float
    rounds: int = 0
    failure: str | None = None
    lines: dict[str, Line] = field(default_factory=dict)
