"""How a run and its qrels fit together: what was retrieved and not judged, and queries that only one of them has."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..judgments import Unjudged

BECAME: dict[str, str] = {"irrelevant": "counted as irrelevant", "drop": "dropped (condensed lists)"}
"""What becomes of unjudged documents, in words."""

MOST_IDS = 6
"""So many query ids are named in a sentence; `Coverage` has them all."""


@dataclass(frozen=True)
class Coverage:
    """What qrels and a run say of each other.

    Attributes
    ----------
    retrieved : int
        Documents that the run retrieved for judged queries.
    unjudged : int
        Those of them that nobody judged.
    handling : {"irrelevant", "drop"}
        What became of these: they have label 0, or were taken out of the ranking.
    not_retrieved : tuple of str
        Judged queries for which the run has nothing.
    not_judged : tuple of str
        Queries of the run without judgments, which are left out.
    missing : {"skip", "zero"}
        What became of the judged queries for which the run has nothing: left out, or counted.
    """

    retrieved: int
    unjudged: int
    handling: Unjudged
    not_retrieved: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    missing: str = "skip"

    @property
    def documents(self) -> str:
        """How many documents nobody judged and what became of them, in words."""
        became = "" if not self.unjudged else f", {BECAME[self.handling]}"
        return f"unjudged: {self.unjudged:,} of {self.retrieved:,} retrieved documents{became}"

    @property
    def queries(self) -> list[str]:
        """What became of queries that only the run or only the qrels have, in words."""
        found = []
        if self.not_retrieved:
            left = "left out" if self.missing == "skip" else "counted, with nothing retrieved"
            found.append(f"judged queries without results: {_named(self.not_retrieved)}, {left}")
        if self.not_judged:
            found.append(f"queries of the run without judgments: {_named(self.not_judged)}, left out")
        return found

    @property
    def sentences(self) -> list[str]:
        """Everything worth saying, in words."""
        return [*([self.documents] if self.unjudged else []), *self.queries]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def _named(ids: tuple[str, ...]) -> str:
    """Return how many queries there are, and the first of them.

    >>> _named(("301", "302"))
    "2 ('301', '302')"
    """
    return f"{len(ids):,} ({', '.join(map(repr, ids[:MOST_IDS]))}{', …' if len(ids) > MOST_IDS else ''})"
