"""Verdicts by segment of queries, such as head and tail, adjusted for the number of segments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._common.lazy import pandas as pd
from .._common.text import (
    TextResult,
    agree,
    count_all,
    format_confidence,
    join_names,
    pluralize,
    printable,
    round_bound,
)
from .._common.typing import Bools
from .estimates import MIN_QUERIES
from .inference import Sample
from .pairs import build_leaderboard
from .query_labels import Labels, list_segments
from .verdict import Verdict, describe_losses

MAX_SHOWN = 8
"""A text contains so many contrasts, and so many segments."""

VERDICT_COLUMNS = {
    "kind": "kind", "safe choice": "safe_choice", "regret": "safe_regret", "regret upper": "safe_regret_upper",
    "price lower": "price_lower",
}  # fmt: skip
"""Columns of the table of segments, and the attributes of their verdicts."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Results for the queries of one segment.

    Attributes
    ----------
    column, label : str
        Column and label of the segment.
    queries : int
        Queries of positive weight with a value under both primary metrics.
    units : int
        Number of clusters among them, or of queries if these are independent.
    share : float
        Share of the weight of all such queries.
    verdict : Verdict or None
        Verdict at the level of one segment. None without queries. Always unresolved below 30 queries.
    leaderboard : DataFrame or None
        See `Comparison.standings`.
    is_better : ndarray of bool, shape (metrics, M, M)
        ``is_better[m, k, j]``: model j is better than model k under metric m, simultaneously for all segments.
    """

    column: str
    label: str
    queries: int
    units: int
    share: float
    verdict: Verdict | None
    leaderboard: pd.DataFrame | None
    is_better: Bools

    @property
    def decided(self) -> bool:
        """Whether there are enough queries, or clusters of queries, to decide."""
        return self.verdict is not None and not self.verdict.shortage


NO_CONTRAST = "No model is shown to be best in one segment and worse than another model in a different segment."
"""Sentence if there are no contrasts."""


@dataclass(frozen=True)
class Contrast:
    """Model that is the best in one segment and worse than another in others of the same column, at level `alpha`.

    Attributes
    ----------
    model : str
        Name of the model.
    metrics : tuple of str
        The metrics of the statement, both or one.
    column, best_in : str
        Column, and label of the segment with this best model.
    trails_in : tuple of str
        Labels of the segments with a better model under each of the metrics.
    """

    model: str
    metrics: tuple[str, ...]
    column: str
    best_in: str
    trails_in: tuple[str, ...]

    @property
    def text(self) -> str:
        """One sentence."""
        metrics = "both metrics" if len(self.metrics) == 2 else self.metrics[0]
        others = join_names(list(self.trails_in), word="or")
        return (
            f"Under {metrics}, {self.model} is best where {self.column} is {self.best_in}, "
            f"but not where {self.column} is {others}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Segments(TextResult):
    """Leaderboard, verdict and safe choice of every segment of queries. `Comparison.segments` creates it.

    Each of the S segments of all columns is tested at level `alpha` / S. With probability 1 − `alpha`, no verdict of
    any segment is a false alarm, and all contrasts are correct. Columns are not crossed.

    Attributes
    ----------
    alpha, level : float
        Level of all segments together, and of each segment.
    draws : int
        Bootstrap draws for each segment. Most of them are large ones with small weights, so that few are precise at
        this level.
    metrics : tuple of two str
        Primary metrics.
    models : tuple of str
        Names in natural order.
    whole : Verdict
        Verdict on all queries.
    parts : tuple of Segment
        Segments by column, labels in natural order. `segments["tail"]` or `segments["kind", "tail"]` returns one.

    Examples
    --------
    >>> import numpy as np
    >>> from gainwise import Comparison
    >>> values = np.random.default_rng(0).normal(0.5, 0.05, (1000, 2))
    >>> values[:600, 0] += 0.03
    >>> values[600:, 1] += 0.03
    >>> kinds = ["head"] * 600 + ["tail"] * 400
    >>> segments = Comparison({"ndcg_linear@10": values, "ndcg_exp@10": values}, ["A", "B"], segments=kinds).segments
    >>> print(segments.contrasts[1].text)
    Under both metrics, B is best where segment is tail, but not where segment is head.
    """

    alpha: float
    level: float
    draws: int
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    whole: Verdict
    parts: tuple[Segment, ...]

    def __getitem__(self, key: Any) -> Segment:
        """Return a segment by its label, or by column and label if there are several columns.

        Labels that are not text, such as numbers, are compared as text.
        """
        name = tuple(map(str, key)) if isinstance(key, tuple) else str(key)
        matches = [part for part in self.parts if name in (part.label, (part.column, part.label))]
        if len(matches) == 1:
            return matches[0]
        names = join_names([f"{part.column} {part.label}" for part in self.parts], most=12)
        problem = "No segment is named" if not matches else "Several columns have a segment named"
        raise KeyError(f"{problem} {key!r}. Use (column, label) of one of the segments {names}.")

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Models that are the best in one segment and not in another one of the same column, at level `alpha`."""
        contrasts: list[Contrast] = []
        for part in self.parts:
            others = [other for other in self.parts if other.column == part.column and other is not part]
            reported: set[tuple[int, str]] = set()
            for rows in ([0, 1], [0], [1]):
                metrics = tuple(self.metrics[row] for row in rows)
                beaten = part.is_better[rows].all(axis=0).sum(axis=0)
                for best in np.flatnonzero(beaten == len(self.models) - 1).tolist():
                    trailing = [other.label for other in others if other.is_better[rows, best].any(axis=1).all()]
                    if labels := tuple(label for label in trailing if (best, label) not in reported):
                        reported |= {(best, label) for label in labels}
                        contrasts.append(Contrast(self.models[best], metrics, part.column, part.label, labels))
        return tuple(contrasts)

    def frame(self) -> pd.DataFrame:
        """Return one row per segment, with the index levels `column` and `segment`.

        Columns are `queries`, `share` of the weight, `decided` (enough queries to decide), `kind` of the verdict, `safe
        choice`, its `regret` and `regret upper`, and `price lower`. For each primary metric M, they are `winner M` and
        `differs M`, whether it is different from the winner on all queries.
        """
        rows = []
        for part in self.parts:
            row: dict[str, Any] = {"queries": part.queries, "share": part.share, "decided": part.decided}
            row |= {column: getattr(part.verdict, name, None) for column, name in VERDICT_COLUMNS.items()}
            for metric, winner in self.whole.winners.items():
                own = None if part.verdict is None else part.verdict.winners[metric]
                row |= {f"winner {metric}": own, f"differs {metric}": own is not None and own != winner}
            rows.append(row)
        names = [(part.column, part.label) for part in self.parts]
        return pd.DataFrame(rows, index=pd.MultiIndex.from_tuples(names, names=["column", "segment"]))

    def leaderboard(self) -> pd.DataFrame:
        """Return the leaderboards of all segments, with the index levels `column` and `segment`."""
        tables = {(part.column, part.label): part.leaderboard for part in self.parts if part.leaderboard is not None}
        return pd.concat(tables, names=["column", "segment"]).droplevel(-1)

    @property
    def text(self) -> str:
        """One paragraph: the contrasts, then each segment with numbers."""
        contrasts = [contrast.text for contrast in self.contrasts]
        decided, small = ([part for part in self.parts if part.decided is group] for group in (True, False))
        sentences = contrasts[:MAX_SHOWN] or [NO_CONTRAST]
        if more := len(contrasts[MAX_SHOWN:]):
            sentences.append(f"There {agree(more, 'are')} {pluralize(more, 'more such contrast')}.")
        sentences += map(_describe_segment, decided[:MAX_SHOWN])
        if more := len(decided[MAX_SHOWN:]):
            sentences.append(f"The table contains {pluralize(more, 'more segment')}.")
        if small:
            names = join_names([f"{part.column} {part.label} ({part.units})" for part in small])
            units = "queries" if self.whole.clusters is None else "clusters"
            sentences.append(
                f"Segments with fewer than {MIN_QUERIES} {units}, or too few degrees of freedom or repeats, are not "
                f"decided: {names}."
            )
        number = len(self.parts)
        level = f"{format_confidence(self.alpha)} confidence (level {self.level:.2g} each)"
        sentences.append(
            f"{count_all(number, 'segment').capitalize()} together have {level}."
            if number > 1
            else f"The segment has {format_confidence(self.alpha)} confidence."
        )
        return printable(" ".join([*sentences, *describe_losses(self.whole.lower_is_better), self.whole.about]))

    def to_dict(self) -> dict[str, Any]:
        """Return all results and `text` as plain values for JSON."""
        names = ("queries", "share", "decided", "verdict", "leaderboard")
        return self._export(
            ("alpha", "level", "draws", "segments", "contrasts", "text"),
            segments=[
                {"column": part.column, "segment": part.label} | {name: getattr(part, name) for name in names}
                for part in self.parts
            ],
            contrasts=[vars(contrast) | {"text": contrast.text} for contrast in self.contrasts],
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.text)}</p>{self.frame().to_html()}"


def compute_segments(
    sample: Sample, labels: Labels, metrics: tuple[str, str], margin: float, whole: Verdict
) -> Segments:
    """Test every segment of a sample at its share of the level. `labels` are those of its queries."""
    names = list_segments(labels)
    level = sample.alpha / len(names)
    weights = np.ones(sample.panel.queries) if sample.panel.weights is None else sample.panel.weights
    counted, parts = sample.panel.find_common_queries(metrics), []
    for column, label in names:
        mask: Bools = np.asarray(labels[column] == label, dtype=bool)
        share = float(weights[mask & counted].sum() / weights[counted].sum())
        # The draws of a segment are released with its sample.
        part = Sample(sample.panel.subset(mask), level, sample.draws, sample.seed, sample.ranges, tail=True)
        if not part.panel.counts(metrics).common:
            shape = (len(metrics), len(part.panel.models), len(part.panel.models))
            parts.append(Segment(column, label, 0, 0, 0.0, None, None, np.zeros(shape, dtype=bool)))
            continue
        panel, _, bootstrap = part.joint(metrics)
        # Models are better under all metrics simultaneously: max-T over all ordered pairs.
        is_better = np.asarray(bootstrap.bound_pairs(level) > 0)
        defined = [metric for metric in part.panel.metrics if part.panel.counts([metric]).common]
        verdict, board = Verdict.from_sample(part, metrics, margin), build_leaderboard(part, defined)
        parts.append(Segment(column, label, panel.queries, panel.units, share, verdict, board, is_better))
    return Segments(sample.alpha, level, sample.draws, metrics, sample.panel.models, whole, tuple(parts))


def _describe_segment(part: Segment) -> str:
    verdict = part.verdict
    assert verdict is not None
    first, second = (verdict.winners[metric] for metric in verdict.metrics)
    ranks = f"both rank {first} first"
    if first != second:
        ranks = f"{verdict.metrics[0]} ranks {first} first, {verdict.metrics[1]} {second}"
    result = {
        "genuine": f"no model is best under both metrics ({ranks})",
        "agree": f"{first} is best under both metrics",
        "immaterial": f"the loss is within the margin by either metric ({ranks})",
        "unresolved": f"no model is shown to be the best ({ranks})",
    }[verdict.kind]
    sentence = f"Where {part.column} is {part.label} ({pluralize(part.queries, 'query')}), {result}."
    if verdict.kind == "agree":
        return sentence
    upper = verdict.safe_regret_upper
    size = round_bound(upper, up=True, limit=verdict.margin)
    bound = f", at most {size} from the best" if math.isfinite(upper) else ""
    return f"{sentence} The safe choice is {verdict.safe_choice}{bound}."
