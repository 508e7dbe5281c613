"""The verdict by segment of queries, such as head and tail, with the error held over all segments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.shown import Spoken, plain
from .._common.typing import Bools
from .._common.words import amount, confidence, count, listed
from ..drawing.notebook import table_cell
from .inference import MIN_QUERIES
from .labels import Labels, list_labels
from .pairs import build_leaderboard
from .resampling import Sample, critical_value
from .verdict import Verdict
from .wording import describe_losses

if TYPE_CHECKING:
    import pandas as pd

    from .resampling import JointEstimate

SHOWN = 8
"""So many contrasts, and so many segments of a column, a text names."""

NO_CONTRAST = "No model is proven best in one segment and beaten in another."


@dataclass(frozen=True, eq=False)
class Segment:
    """What is said of the queries of one segment.

    Attributes
    ----------
    column, label : str
        Which segment.
    queries : int
        Of positive weight, with a value under both primary metrics.
    units : int
        Independent pieces of evidence among them: clusters, or queries where these are independent.
    share : float
        Of all such queries' weight.
    verdict : Verdict or None
        At the level of one segment; None without queries. Below 30 queries it is never decided.
    leaderboard : DataFrame or None
        See `Comparison.standings`, at that level.
    leads : ndarray of bool, shape (metrics, M, M)
        ``leads[m, k, j]``: that model j is better than model k under metric m is proven, together with all else that
        is of all segments.
    """

    column: str
    label: str
    queries: int
    units: int
    share: float
    verdict: Verdict | None
    leaderboard: pd.DataFrame | None
    leads: Bools

    @property
    def decided(self) -> bool:
        """Whether there are queries, or clusters of them, enough to decide anything."""
        return self.units >= MIN_QUERIES

    @property
    def where(self) -> str:
        """Say which queries these are."""
        return f"where {self.column} is {self.label}"


@dataclass(frozen=True)
class Contrast:
    """A model that is proven best in one segment and proven not to be in others of the same column.

    Attributes
    ----------
    model : str
        Which.
    metrics : tuple of str
        Under which metrics, both or one, all of this holds.
    column, best_in : str
        Where it beats every other model.
    trails_in : tuple of str
        Segments in which some other model beats it under each of the metrics.
    """

    model: str
    metrics: tuple[str, ...]
    column: str
    best_in: str
    trails_in: tuple[str, ...]

    @property
    def text(self) -> str:
        """Say it in one sentence."""
        under = "both metrics" if len(self.metrics) == 2 else self.metrics[0]
        elsewhere = listed(list(self.trails_in), word="or")
        return (
            f"Under {under} {self.model} is best where {self.column} is {self.best_in}, "
            f"and trails where {self.column} is {elsewhere}."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Segments(Spoken):
    """Leaderboard, verdict and safe choice of every segment of the queries; made by `Comparison.segments`.

    The error is held over all S segments of all columns: each is judged at level `alpha` / S, with draws enough to
    show that level. Columns are not crossed. So with probability 1 − `alpha` no verdict of any segment is a false
    alarm; the contrasts between segments, in turn, all hold together with that probability. A segment of fewer than 30
    queries is reported and never decided.

    Attributes
    ----------
    alpha, level : float
        Of all segments together, and of each.
    draws : int
        For each segment: as many as asked for, or more, so that draws · level / 10 is 25 at least.
    metrics : tuple of two str
        The primary ones.
    models : tuple of str
        In natural order.
    whole : Verdict
        Of all queries.
    parts : tuple of Segment
        By column, labels in natural order. `segments["tail"]` or `segments["kind", "tail"]` is one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from gainsay import Comparison
    >>> values = np.random.default_rng(0).normal(0.5, 0.05, (1000, 2))
    >>> values[:600, 0] += 0.03
    >>> values[600:, 1] += 0.03
    >>> kinds = ["head"] * 600 + ["tail"] * 400
    >>> segments = Comparison({"ndcg_linear@10": values, "ndcg_exp@10": values}, ["A", "B"], segments=kinds).segments
    >>> print(segments.contrasts[1].text)
    Under both metrics B is best where segment is tail, and trails where segment is head.
    """

    alpha: float
    level: float
    draws: int
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    whole: Verdict
    parts: tuple[Segment, ...]

    def __getitem__(self, key: str | tuple[str, str]) -> Segment:
        """Return a segment by its label, or by column and label where there are several columns."""
        found = [part for part in self.parts if key in (part.label, (part.column, part.label))]
        if len(found) == 1:
            return found[0]
        known = listed([f"{part.column} {part.label}" for part in self.parts], most=12)
        problem = "there is no segment" if not found else "more than one column has a segment"
        raise KeyError(f"{problem} {key!r}; name it as (column, label), there are {known}")

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """The models that are proven best in one segment and proven not to be in another of the same column."""
        found: list[Contrast] = []
        for here in self.parts:
            others = [part for part in self.parts if part.column == here.column and part is not here]
            told: set[tuple[int, str]] = set()
            for rows in ([0, 1], [0], [1]):
                beaten = here.leads[rows].all(axis=0).sum(axis=0)  # how many each beats under all of the metrics
                for best in np.flatnonzero(beaten == len(self.models) - 1).tolist():  # one, or none
                    trails = [part.label for part in others if part.leads[rows, best].any(axis=1).all()]
                    trails = [label for label in trails if (best, label) not in told]
                    told |= {(best, label) for label in trails}
                    if trails:
                        metrics = tuple(self.metrics[row] for row in rows)
                        found.append(Contrast(self.models[best], metrics, here.column, here.label, tuple(trails)))
        return tuple(found)

    def frame(self) -> pd.DataFrame:
        """Return one row per segment, under the levels `column` and `segment`.

        `queries`, `share` of the weight, `decided` (30 queries or more), `kind` of the verdict, `safe choice`, its
        `regret` and `regret upper`, `price lower`; for each primary metric M `winner M` in this sample and `differs M`,
        whether it is another than that of all queries.
        """
        import pandas as pd

        rows = []
        for part in self.parts:
            verdict = part.verdict
            row: dict[str, Any] = {"queries": part.queries, "share": part.share, "decided": part.decided}
            row |= {
                "kind": None if verdict is None else verdict.kind,
                "safe choice": None if verdict is None else verdict.safe_choice,
                "regret": math.nan if verdict is None else verdict.safe_regret,
                "regret upper": math.nan if verdict is None else verdict.safe_regret_upper,
                "price lower": math.nan if verdict is None else verdict.price_lower,
            }
            for metric in self.metrics:
                winner = None if verdict is None else verdict.winners[metric]
                row |= {
                    f"winner {metric}": winner,
                    f"differs {metric}": winner is not None and winner != self.whole.winners[metric],
                }
            rows.append(row)
        names = [(part.column, part.label) for part in self.parts]
        return pd.DataFrame(rows, index=pd.MultiIndex.from_tuples(names, names=["column", "segment"]))

    def leaderboard(self) -> pd.DataFrame:
        """Return the leaderboards of all segments below each other, under the levels `column` and `segment`."""
        import pandas as pd

        tables = {(part.column, part.label): part.leaderboard for part in self.parts if part.leaderboard is not None}
        return pd.concat(tables, names=["column", "segment"]).droplevel(-1)

    @property
    def text(self) -> str:
        """A paragraph: the contrasts first, then each segment, with numbers."""
        contrasts = [contrast.text for contrast in self.contrasts]
        if len(contrasts) > SHOWN:
            contrasts = [*contrasts[:SHOWN], f"There are {len(contrasts) - SHOWN} more such contrasts."]
        opening = contrasts or [NO_CONTRAST]
        decided, small = ([part for part in self.parts if part.decided is it] for it in (True, False))
        told = [_told(part) for part in decided[:SHOWN]]
        if len(decided) > SHOWN:
            told.append(f"{len(decided) - SHOWN} more segments stand in the table.")
        if small:
            named = listed([f"{part.column} {part.label} ({part.units})" for part in small])
            told.append(f"Of fewer than {MIN_QUERIES} {self._evidence}, and so not decided: {named}.")
        held = (
            f"The error is held over all {count(len(self.parts), 'segment')} "
            f"({confidence(self.alpha)} confidence for all, level {self.level:.2g} each)."
        )
        return " ".join([*opening, *told, held, *describe_losses(self.whole.lower_is_better), self.whole.about])

    @property
    def _evidence(self) -> str:
        """What is counted as independent."""
        return "queries" if self.whole.clusters is None else "clusters"

    def to_dict(self) -> dict[str, Any]:
        """Return everything, `text` included, as JSON knows it."""
        return {
            "alpha": self.alpha,
            "level": self.level,
            "draws": self.draws,
            "segments": [
                {
                    "column": part.column,
                    "segment": part.label,
                    "queries": part.queries,
                    "share": part.share,
                    "decided": part.decided,
                    "verdict": None if part.verdict is None else part.verdict.to_dict(),
                    "leaderboard": None if part.leaderboard is None else plain(part.leaderboard.to_dict("records")),
                }
                for part in self.parts
            ],
            "contrasts": [vars(one) | {"text": one.text} for one in self.contrasts],
            "text": self.text,
        }

    def _repr_html_(self) -> str:
        head = ("segment", "queries", "verdict", *(f"winner {metric}" for metric in self.metrics), "safe choice")
        rows = [
            (
                f"{part.column}: {part.label}",
                f"{part.queries:,}",
                "–" if part.verdict is None else part.verdict.kind if part.decided else f"too few {self._evidence}",
                *("–" if part.verdict is None else part.verdict.winners[metric] for metric in self.metrics),
                "–" if part.verdict is None else part.verdict.safe_choice,
            )
            for part in self.parts
        ]
        first, *others = [contrast.text for contrast in self.contrasts[:SHOWN]] or [NO_CONTRAST]
        return table_cell(first, head, rows, *others)


def compute_segments(
    sample: Sample, labels: Labels, metrics: tuple[str, str], margin: float, whole: Verdict
) -> Segments:
    """Judge every segment of a sample at its share of the level; `labels` are of its queries, `whole` is of all."""
    named = [(column, label) for column, of in labels.items() for label in list_labels(of)]
    level = sample.alpha / len(named)
    draws = max(sample.draws, math.ceil(25 * 10 / level - 1e-9))
    weights = np.ones(sample.panel.queries) if sample.panel.weights is None else sample.panel.weights
    rows = [sample.panel.metrics.index(metric) for metric in metrics]
    counted = ~np.isnan(sample.panel.values[rows, 0]).any(axis=0)
    parts = []
    for column, label in named:
        here: Bools = np.asarray(labels[column] == label, dtype=bool)
        share = float(weights[here & counted].sum() / weights[counted].sum())
        part = Sample(sample.panel.subset(here), level, draws, sample.seed, sample.ranges)
        parts.append(_segment(part, (column, label), share, metrics, margin))
    return Segments(sample.alpha, level, draws, metrics, sample.panel.models, whole, tuple(parts))


def _segment(part: Sample, name: tuple[str, str], share: float, metrics: tuple[str, str], margin: float) -> Segment:
    """Judge one segment; the draws, which may be many, are forgotten after it."""
    panel = part.panel
    queries = panel.counts(metrics).common
    if not queries:
        shape = (len(metrics), len(panel.models), len(panel.models))
        return Segment(*name, 0, 0, 0.0, None, None, np.zeros(shape, dtype=bool))
    joint = part.joint(metrics)
    valued = [metric for metric in panel.metrics if panel.counts([metric]).common]
    verdict, board = Verdict.from_sample(part, metrics, margin), build_leaderboard(part, valued)
    return Segment(*name, queries, joint.panel.units, share, verdict, board, _leads(joint, part.alpha))


def _leads(joint: JointEstimate, level: float) -> Bools:
    """Return which model is proven better than which, under all metrics at once: max-T over all ordered pairs."""
    estimated, bootstrap = joint.estimated, joint.bootstrap
    critical = float(critical_value(bootstrap.max_t.max(axis=(0, 1)), 1 - level))
    has_support = (estimated.support >= MIN_QUERIES) & np.isfinite(estimated.error)
    reach = estimated.difference - critical * np.where(has_support, estimated.error, 0.0)
    return np.asarray(has_support & (reach > 0))


def _told(part: Segment) -> str:
    """Return what is said of one segment in a sentence."""
    verdict = part.verdict
    assert verdict is not None
    first, second = verdict.metrics
    one, other = verdict.winners[first], verdict.winners[second]
    picks = f"both put {one} first" if one == other else f"{first} puts {one} first, {second} {other}"
    says = {
        "genuine": f"no model is best under both metrics ({picks})",
        "agree": f"{one} is best under both metrics",
        "immaterial": f"it does not matter which metric one chooses by ({picks})",
        "unresolved": f"it is open which model is best ({picks})",
    }[verdict.kind]
    where = f"{part.where[0].upper()}{part.where[1:]} ({count(part.queries, 'query')}): {says}"
    if verdict.kind == "agree":
        return f"{where}."
    upper = verdict.safe_regret_upper
    bound = f", at most {amount(upper)} behind the best" if math.isfinite(upper) else ""
    return f"{where}; the safest choice is {verdict.safe_choice}{bound}."
