"""The path of gains: which model is best at each gain between linear and exponential, and beyond."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.cached import cached_property
from .._common.checks import check_real
from .._common.shown import Spoken, plain, short_names
from .._common.typing import Bools, Floats
from .._common.words import confidence, count, listed, number_text, p_value
from ..evaluation.evaluator import shared_weights
from .gain_values import estimate_gains, find_template, path_name
from .inference import compute_regret_band, two_step_test
from .resampling import critical_value

if TYPE_CHECKING:
    import os

    import pandas as pd
    from matplotlib.axes import Axes

    from ..metrics.base import Metric
    from ..metrics.dcg import DCG
    from ..metrics.names import MetricLike
    from ..report.plots import Picture
    from .gain_fit import GainFit
    from .rankings import Rankings
    from .resampling import JointEstimate, Sample


DEFAULT_BASES = tuple(np.round(np.geomspace(1, 4, 25), 6).tolist())
"""25 bases from 1 (linear) over 2 (exponential) to 4, evenly spaced in log b."""

MARKED = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 64.0)
"""Bases that an axis names where it has room."""

Kind = Literal["genuine", "agree", "unresolved"]


class GainsVerdict(NamedTuple):
    """Whether some model is best whatever the gain.

    Attributes
    ----------
    kind : {"genuine", "agree", "unresolved"}
        No model is best at every base (proven); one and the same model beats all others at every base (proven); or
        neither.
    p_value : float
        Of the hypothesis that some model is best at every base; at most alpha exactly where the kind is ``"genuine"``.
    always_best : tuple of str
        The confidence set of models that are best at every base; empty where the kind is ``"genuine"``.
    """

    kind: Kind
    p_value: float
    always_best: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class GainPath(Spoken):
    """Means of all models under every gain (b^l − 1)/(b − 1) of a range of bases b; made by `Comparison.gains`.

    Base 1 is the linear gain, base 2 the exponential one. Each grade adds b times what the grade below it added, so b
    says how steep the scale of grades is. The metric's cutoff, discount, ties and weights stay as they are.

    Attributes
    ----------
    metric : str
        The metric as a function of b.
    bases : tuple of float
        Ascending.
    models : tuple of str
        In natural order.
    queries : int
        Queries of positive weight that have a value.
    grades : tuple of float
        The labels that occur, up to nine of them.
    winners : DataFrame
        One row per stretch of b in which one model has the best mean: `model`, `from`, `to`. Between the bases means
        are interpolated by cubic splines in log b; at the bases they are exact.
    best_sets : dict of base to tuple of str
        Who may be best at each base. With probability 1 − alpha or more the best model of *every* base is in its set:
        so a set may hold more models than the verdict's, which has_support of one metric alone.
    best_ranges : DataFrame
        The same by model: `model`, `from`, `to`.
    swaps : DataFrame
        One row for each change of places: `first` is ahead below `base`, `second` above; `lower` to `upper` is the
        confidence interval of that base, for all pairs together. Where it ends with the bases, it may go on.
    verdict : GainsVerdict
        Whether some model is best at every base: the two-step test of the verdict with all bases as its metrics.
    fit : GainFit or None
        Which base your users' preferences say, where it was given.
    lower_is_better : bool
        Whether the metric is a loss.
    alpha, draws, seed : float, int, int
        As given.

    Examples
    --------
    >>> import gainsay as gs
    >>> from gainsay.data import simulate
    >>> data = simulate(200, seed=1)
    >>> labels = data.labels
    >>> scores = {"fair": (labels > 0) + 0.1 * labels, "excellent": 1.0 * (labels == labels.max())}
    >>> gains = gs.compare(scores, data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"]).gains([1, 1.5, 2, 3])
    >>> gains.winners
      model  from   to
    0  fair   1.0  3.0
    >>> gains.verdict.kind
    'agree'
    """

    metric: str
    bases: tuple[float, ...]
    models: tuple[str, ...]
    queries: int
    grades: tuple[float, ...]
    mean: Floats = field(repr=False)
    regret: Floats = field(repr=False)
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    winners: pd.DataFrame = field(repr=False)
    best_sets: dict[float, tuple[str, ...]] = field(repr=False)
    best_ranges: pd.DataFrame = field(repr=False)
    swaps: pd.DataFrame = field(repr=False)
    verdict: GainsVerdict
    fit: GainFit | None
    lower_is_better: bool
    alpha: float
    draws: int
    seed: int

    def frame(self) -> pd.DataFrame:
        """Return one row per base and model: `base`, `model`, `mean`, `regret`, `lower`, `upper`.

        `regret` is the distance to the best mean at that base; `lower` to `upper` is its band, which holds for all
        bases and models together with probability 1 − alpha or more. `lower` is above 0 exactly where the model is not
        in `best_sets`.
        """
        import pandas as pd

        base, model = np.meshgrid(self.bases, np.array(self.models, dtype=object), indexing="ij")
        columns: dict[str, Any] = {"base": base.ravel(), "model": model.ravel()}
        for name in ("mean", "regret", "lower", "upper"):
            columns[name] = getattr(self, name).ravel()
        return pd.DataFrame(columns)

    @cached_property
    def short_names(self) -> dict[str, str]:
        """What each model is called in figures: at most 28 characters, no two alike."""
        return short_names(self.models)

    @cached_property
    def text(self) -> str:
        """Two sentences, with numbers; one more where preferences were given."""
        return " ".join([self._led_by(), self._proven(), *([] if self.fit is None else [self._fitted()])])

    def _led_by(self) -> str:
        size = f"{count(len(self.models), 'model')} on {count(self.queries, 'query')}"
        low, high = number_text(self.bases[0]), number_text(self.bases[-1])
        rows = list(self.winners.itertuples(index=False))
        name = f"Under {self.metric}, gain (b^l - 1)/(b - 1),"
        if len(rows) == 1:
            return f"{name} {rows[0][0]} has the best mean at every base b from {low} to {high} ({size})."
        parts = [f"{model} to b = {base_text(stop)}" for model, _, stop in rows[:-1]]
        if len(parts) > 5:
            parts = [*parts[:2], f"{len(parts) - 4} further changes", *parts[-2:]]
        along = ", then ".join([*parts, f"{rows[-1][0]} to b = {high}"])
        return f"{name} the best mean from b = {low} on is that of {along} ({size})."

    def _proven(self) -> str:
        kind, p, always = self.verdict
        sure = confidence(self.alpha)
        if len(self.models) == 1:
            return "There is one model only: nothing is compared."
        if kind == "genuine":
            ends = [
                f"at b = {number_text(base)} it is {listed(list(self.best_sets[base]), word='or')}"
                for base in (self.bases[0], self.bases[-1])
            ]
            return f"No model is best at every base ({p_value(p)}): {', '.join(ends)} ({sure}, all bases together)."
        if kind == "agree":
            return f"That {always[0]} is best at every one of them is proven ({sure})."
        return (
            f"That one model is best at every base is not ruled out ({p_value(p)}); if so, it is "
            f"{listed(list(always), word='or')} ({sure})."
        )

    def _fitted(self) -> str:
        assert self.fit is not None
        low, high = max(self.fit.lower, self.bases[0]), min(self.fit.upper, self.bases[-1])
        rows = list(self.winners.itertuples(index=False))
        within = [model for model, start, stop in rows if start <= high and stop >= low]
        found = f"Preferences put the base at {base_text(self.fit.base)} ({base_text(self.fit.lower)} to "
        found += f"{base_text(self.fit.upper)}, {confidence(self.fit.alpha)})"
        if low > high or not within:
            return f"{found}, beyond these bases."
        first = next((it for it, start, stop in rows if start <= self.fit.base <= stop), None)
        others = [model for model in dict.fromkeys(within) if model != first]
        if first is None:
            return f"{found}: there {listed(others, word='or')} has the best mean."
        also = f", elsewhere in that interval {listed(others, word='or')}" if others else " throughout"
        return f"{found}: there {first} has the best mean{also}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it; an infinite bound becomes None."""
        return {
            "metric": self.metric,
            "bases": list(self.bases),
            "models": list(self.models),
            "queries": self.queries,
            "path": plain(self.frame().to_dict("records")),
            "winners": self.winners.to_dict("records"),
            "best_sets": [{"base": base, "models": list(models)} for base, models in self.best_sets.items()],
            "best_ranges": self.best_ranges.to_dict("records"),
            "swaps": self.swaps.to_dict("records"),
            "verdict": {**self.verdict._asdict(), "always_best": list(self.verdict.always_best)},
            "fit": None if self.fit is None else self.fit.to_dict(),
            "lower_is_better": self.lower_is_better,
            "alpha": self.alpha,
            "draws": self.draws,
            "seed": self.seed,
            "text": self.text,
        }

    @cached_property
    def headline(self) -> str:
        """What the path says, in a few words."""
        changes = len(self.winners) - 1
        low, high = number_text(self.bases[0]), number_text(self.bases[-1])
        if self.verdict.kind == "agree":
            best = self.short_names[self.verdict.always_best[0]]
            return f"{best} is best at every gain from b = {low} to {high}"
        if changes == 0:
            leader = self.short_names[self.winners["model"].iloc[0]]
            return f"{leader} leads at every gain from b = {low} to {high}; that it is best is not proven"
        times = {1: "once", 2: "twice"}.get(changes, f"{changes} times")
        proof = "no model is best at every gain" if self.verdict.kind == "genuine" else "one may be best throughout"
        return f"The leader changes {times} between b = {low} and {high}; {proof}"

    def plot(
        self, ax: Axes | None = None, theme: str = "light", *, path: str | os.PathLike[str] | None = None
    ) -> Picture:
        """Draw who is best at which gain: see `gainsay.report.plots.plot_gains`; `path` saves it to a file."""
        from ..report.plots.gains import plot_gains
        from ..report.plots.picture import drawn

        return drawn(path, lambda: plot_gains(self, ax, theme))

    def _repr_html_(self) -> str:
        from html import escape

        from ..drawing.notebook import scoped

        try:
            from ..report.plots.picture import embedded
        except ImportError:  # without Matplotlib the words alone
            picture = ""
        else:
            picture = embedded(lambda theme: self.plot(theme=theme)) if len(self.bases) > 1 else ""
        return scoped(f'<p class="a"><strong>{escape(self.headline)}</strong></p>{picture}<p>{escape(self.text)}</p>')

    def to_markdown(self) -> str:
        """Return heading, text and tables as Markdown: see `gainsay.report.gains.gains_markdown`."""
        from ..report.gains import gains_markdown

        return gains_markdown(self)


def base_text(base: float) -> str:
    """Return a base to two places, as sentences have it.

    >>> base_text(1.2034), base_text(2.0), base_text(float("inf"))
    ('1.20', '2', 'infinity')
    """
    if math.isinf(base):
        return "infinity"
    return number_text(base) if float(base).is_integer() else f"{base:.2f}"


def select_labelled_bases(bases: Sequence[float]) -> list[float]:
    """Return the bases to name below an axis.

    >>> select_labelled_bases([1.0, 2.0, 4.0])
    [1.0, 1.5, 2.0, 3.0, 4.0]
    """
    inside = [base for base in MARKED if bases[0] <= base <= bases[-1]]
    room = 0.14 * math.log(bases[-1] / bases[0])
    found: list[float] = []
    for base in sorted({bases[0], *inside, bases[-1]}, key=lambda base: (base not in (1.0, 2.0), base not in bases)):
        if all(abs(math.log(base / other)) >= room for other in found):
            found.append(base)
    return sorted(found)


def validate_bases(bases: Iterable[float] | None) -> tuple[float, ...]:
    """Return the bases, ascending, or the default ones; raise for what is no base, and for one that comes twice."""
    if bases is None:
        return DEFAULT_BASES
    if isinstance(bases, str) or not isinstance(bases, Iterable):
        raise TypeError(f"bases must be a list of numbers such as [1, 1.5, 2], got {bases!r}")
    found = [check_real(f"bases[{place}]", base, 1.0) for place, base in enumerate(bases)]
    if not found:
        raise ValueError("bases is empty: give at least one, for example [1, 1.5, 2]")
    for place, base in enumerate(found):
        if math.isinf(base):
            raise ValueError(f"bases[{place}] must be finite, got {base}")
        if base in found[:place]:
            raise ValueError(f"bases holds {base:g} twice")
    return tuple(sorted(found))


def build_gain_path(
    rankings: Rankings,
    sample: Sample,
    compared: Mapping[str, Metric],
    primary: Sequence[str],
    bases: tuple[float, ...],
    metric: MetricLike | None = None,
) -> GainPath:
    """Follow all models along bases that `validate_bases` returned: see `Comparison.gains`."""
    template = find_template(compared, primary, metric)
    shared_weights(
        [*compared.values(), template], rankings.judgments
    )  # which refuses one that ignores what others count
    path = estimate_gains(rankings, sample, template, bases)
    return read_gain_path(path, template, bases, sample, tuple(rankings.judgments.levels[:9].tolist()))


def read_gain_path(
    path: JointEstimate, template: DCG, bases: tuple[float, ...], sample: Sample, grades: tuple[float, ...]
) -> GainPath:
    """Return what a family says whose metrics are the bases."""
    import pandas as pd

    band = compute_regret_band(path.estimated, path.bootstrap, sample.alpha)
    estimated, models = path.estimated, path.panel.models
    at = np.array(bases)
    names = np.array(models, dtype=object)
    tested = two_step_test(estimated, path.bootstrap, sample.alpha)
    may_be_best = band.may_be_best
    led = find_leaders(at, estimated.mean)
    spans = [
        (model, *stretch)
        for column, model in enumerate(models)
        for stretch in find_stretches(at, may_be_best[:, column])
    ]
    ranges = sorted(spans, key=lambda span: span[1:])
    wide = float(critical_value(path.bootstrap.max_t.max(axis=(0, 1)), 1 - sample.alpha))
    swapped = find_crossings(at, estimated.difference, estimated.error, estimated.tolerance, wide)
    one = may_be_best.sum() == len(bases) and len({lead.model for lead in led}) == 1 and len(models) > 1
    kind: Kind = "genuine" if not tested.not_rejected.any() else "agree" if one else "unresolved"
    always = (models[led[0].model],) if kind == "agree" else tuple(names[tested.not_rejected])
    loss = not template.higher_is_better
    return GainPath(
        metric=path_name(template),
        bases=bases,
        models=models,
        queries=path.panel.queries,
        grades=grades,
        mean=0.0 - estimated.mean if loss else estimated.mean,
        regret=np.maximum(0.0, estimated.difference.max(axis=2)),
        lower=band.lower,
        upper=band.upper,
        winners=pd.DataFrame(
            [(models[lead.model], lead.start, lead.stop) for lead in led], columns=["model", "from", "to"]
        ),
        best_sets={base: tuple(names[row]) for base, row in zip(bases, may_be_best, strict=True)},
        best_ranges=pd.DataFrame(ranges, columns=["model", "from", "to"]),
        swaps=pd.DataFrame(
            [(models[it.first], models[it.second], it.base, it.lower, it.upper) for it in swapped],
            columns=["first", "second", "base", "lower", "upper"],
        ),
        verdict=GainsVerdict(kind, tested.p_value, always),
        fit=None,
        lower_is_better=loss,
        alpha=sample.alpha,
        draws=sample.draws,
        seed=sample.seed,
    )


FINE = 48
"""Steps between two bases, in which the means are interpolated."""


class Lead(NamedTuple):
    """From where to where a model leads."""

    model: int
    start: float
    stop: float


class Crossing(NamedTuple):
    """Where the second of two models overtakes the first, which is ahead below, and between which bases that may be."""

    first: int
    second: int
    base: float
    lower: float
    upper: float


def find_leaders(bases: Floats, mean: Floats) -> list[Lead]:
    """Return which model has the largest mean from where to where, the means interpolated by cubic splines in log b.

    `mean` has shape (bases, models), with ascending bases; of models that tie, the first leads.
    """
    fine, between = _interpolated(bases, mean)
    winner = between.argmax(axis=1)
    starts = [0, *(np.flatnonzero(np.diff(winner)) + 1).tolist()]
    edges = [float(bases[0])]
    for start in starts[1:]:
        gap = between[[start - 1, start], winner[start]] - between[[start - 1, start], winner[start - 1]]
        edges.append(_zero(fine[start - 1], fine[start], gap))
    edges.append(float(bases[-1]))
    return [Lead(int(winner[start]), edges[at], edges[at + 1]) for at, start in enumerate(starts)]


def find_crossings(
    bases: Floats, difference: Floats, error: Floats, tolerance: Floats, critical: float
) -> list[Crossing]:
    """Return every change of places of two models, by base, with the bases at which a band allows it.

    `difference` and `error`, (bases, models, models), and `tolerance`, (bases,), are those of an estimate whose rows
    are the bases. The band is ``difference ± critical · error``; where it holds 0 the two may change places. An
    interval that ends where the bases end may go on there.
    """
    first, second = np.triu_indices(difference.shape[1], 1)
    lead, size = difference[:, first, second], error[:, first, second]
    turns = (np.abs(lead) > tolerance[:, None]).any(axis=0) & (lead.min(axis=0) <= 0) & (lead.max(axis=0) >= 0)
    lead, size, first, second = lead[:, turns], size[:, turns], first[turns], second[turns]
    known = (np.isfinite(size) & (size > 0)).all(axis=0)
    fine, leads_there = _interpolated(bases, lead)
    _, sizes_there = _interpolated(bases, np.where(known, size, 1.0))
    inside = (np.abs(leads_there) <= critical * sizes_there) | ~known
    found = []
    for pair, models in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        own = leads_there[:, pair]
        sign = np.sign(own)
        for before, after in itertools.pairwise(np.flatnonzero(sign).tolist()):
            if sign[before] != sign[after]:
                base = _zero(fine[before], fine[after], own[[before, after]])
                ordered = models if sign[before] < 0 else models[::-1]
                found.append(Crossing(*ordered, base, *_around(fine, inside[:, pair], before, after)))
    return sorted(found, key=lambda crossing: (crossing.base, crossing.first, crossing.second))


def _around(fine: Floats, inside: Bools, start: int, stop: int) -> tuple[float, float]:
    """Return the ends of the stretch inside the band around two neighbours."""
    while start > 0 and inside[start]:
        start -= 1
    while stop < len(fine) - 1 and inside[stop]:
        stop += 1
    return float(fine[start]), float(fine[stop])


def find_stretches(bases: Floats, within: Bools) -> list[tuple[float, float]]:
    """Return from which base to which a property holds without a gap.

    >>> import numpy as np
    >>> find_stretches(np.array([1.0, 1.5, 2.0, 3.0]), np.array([True, True, False, True]))
    [(1.0, 1.5), (3.0, 3.0)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], within, [False]]).astype(int)))
    return [(float(bases[start]), float(bases[stop - 1])) for start, stop in edges.reshape(-1, 2)]


def _interpolated(bases: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return many bases, the given ones among them, and the values there."""
    if len(bases) == 1:
        return bases, values
    from scipy.interpolate import CubicSpline

    at = np.log(bases)
    fine = np.concatenate([*(np.linspace(a, b, FINE, endpoint=False) for a, b in itertools.pairwise(at)), at[-1:]])
    between: Floats = CubicSpline(at, values)(fine)
    between[::FINE] = values
    return np.exp(fine), between


def _zero(start: float, stop: float, gap: Floats) -> float:
    """Return where a difference between two near bases is 0, on the straight line."""
    share = gap[0] / (gap[0] - gap[1]) if gap[0] != gap[1] else 0.5
    return float(start + (stop - start) * share)
