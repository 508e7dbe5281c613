"""Path of gains: the best model under each gain between linear and exponential, and beyond."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.cached import cached_property
from .._common.shown import TextResult, plain, printable, short_names
from .._common.typing import Bools, Floats
from .._common.validation import validate_real
from .._common.words import format_confidence, format_exact, format_p_value, join_names, pluralize
from ..evaluation.evaluator import shared_weights
from .gain_values import estimate_gains, find_template, name_path
from .inference import compute_regret_band, critical_value, two_step_test

if TYPE_CHECKING:
    import pandas as pd

    from ..metrics.base import Metric
    from ..metrics.dcg import DCG
    from ..metrics.names import MetricLike
    from .gain_fit import GainFit
    from .inference import JointEstimate, Sample
    from .rankings import Rankings


DEFAULT_BASES = tuple(np.round(np.geomspace(1, 4, 25), 6).tolist())
"""25 bases from 1 (linear) over 2 (exponential) to 4, evenly spaced in log b."""

AXIS_BASES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 64.0)
"""Bases to label on an axis if there is room."""

FINE_STEPS = 48
"""Steps between two bases in which means are interpolated."""

Kind = Literal["genuine", "agree", "unresolved"]


class GainsVerdict(NamedTuple):
    """Verdict on whether some model is best under every gain.

    Attributes
    ----------
    kind : {"genuine", "agree", "unresolved"}
        No model is best at every base (proven), one model is best at every base (proven), or neither.
    p_value : float
        P-value of the hypothesis that some model is best at every base. At most alpha exactly if the kind is
        ``"genuine"``.
    always_best : tuple of str
        Models that may be best at every base. Empty if the kind is ``"genuine"``.
    """

    kind: Kind
    p_value: float
    always_best: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class GainPath(TextResult):
    """Means of all models under the gains (b^l − 1)/(b − 1) for a range of bases b. `Comparison.gains` creates it.

    Base 1 is linear gain, base 2 exponential gain. Each grade adds b times the gain that the grade below adds. Cutoff,
    discount, ties and weights are those of the metric.

    Attributes
    ----------
    metric : str
        The metric as a function of b.
    bases : tuple of float
        Bases in ascending order.
    models : tuple of str
        Names in natural order.
    queries : int
        Number of queries of positive weight with a value.
    grades : tuple of float
        Labels in the data, at most nine of them.
    winners : DataFrame
        One row per range of b with the same best model: `model`, `from`, `to`. Means are exact at the
        bases, and interpolated by cubic splines in log b between them.
    best_sets : dict of base to tuple of str
        Models that may be best at each base. All sets together contain the best model of every base with probability
        1 − alpha, so they may be larger than those of a verdict.
    best_ranges : DataFrame
        The same by model: `model`, `from`, `to`.
    swaps : DataFrame
        One row for each change of order: `first` is better below `base`, `second` above. `lower` to `upper` is a
        confidence interval of that base, simultaneous for all pairs. At the first or last base, it may continue.
    verdict : GainsVerdict
        Whether some model is best at every base: the test of `Verdict` with all bases as its metrics.
    fit : GainFit or None
        The base that fits the preferences of your users, if it was passed.
    lower_is_better : bool
        Whether the metric is a loss.
    alpha, draws, seed : float, int, int
        Settings.

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

        `regret` is the gap to the best model at that base. `lower` to `upper` is its band, simultaneous for all bases
        and models. `lower` is positive exactly if the model is not in `best_sets`.
        """
        import pandas as pd

        base, model = np.meshgrid(self.bases, np.array(self.models, dtype=object), indexing="ij")
        columns: dict[str, Any] = {"base": base.ravel(), "model": model.ravel()}
        for name in ("mean", "regret", "lower", "upper"):
            columns[name] = getattr(self, name).ravel()
        return pd.DataFrame(columns)

    @cached_property
    def short_names(self) -> dict[str, str]:
        """Distinct names of the models for figures, 28 characters at most."""
        return short_names(self.models)

    @cached_property
    def text(self) -> str:
        """Two sentences with numbers, and one about preferences if there is a `fit`."""
        sentences = [self._describe_winners(), self._describe_verdict()]
        return printable(" ".join(sentences if self.fit is None else [*sentences, self._describe_fit(self.fit)]))

    @property
    def _ends(self) -> tuple[str, str]:
        return format_exact(self.bases[0]), format_exact(self.bases[-1])

    @property
    def _best(self) -> str:
        return "lowest" if self.lower_is_better else "highest"

    def _describe_winners(self) -> str:
        size = f"{pluralize(len(self.models), 'model')} on {pluralize(self.queries, 'query')}"
        low, high = self._ends
        *changing, (last, _, _) = self.winners.itertuples(index=False)
        opening = f"Under {self.metric} with gain (b^l - 1)/(b - 1),"
        if not changing:
            return f"{opening} {last} has the {self._best} mean at every base b from {low} to {high} ({size})."
        parts = [f"{model} to b = {format_base(stop)}" for model, _, stop in changing]
        if len(parts) > 5:
            parts = [*parts[:2], f"{len(parts) - 4} further changes", *parts[-2:]]
        path = ", then ".join([*parts, f"{last} to b = {high}"])
        return f"{opening} the model with the {self._best} mean from b = {low} is {path} ({size})."

    def _describe_verdict(self) -> str:
        kind, p, always = self.verdict
        level = format_confidence(self.alpha)
        if len(self.models) == 1:
            return f"{self.models[0]} is the only model."
        if kind == "agree":
            return f"{always[0]} is proven best at every base ({level})."
        if kind == "unresolved":
            names = _list_names(always)
            return f"One model may be best at every base ({format_p_value(p)}). If so, it is {names} ({level})."
        first, last = (_list_names(self.best_sets[self.bases[place]]) for place in (0, -1))
        low, high = self._ends
        ends = f"at b = {low} it is {first}, at b = {high} it is {last}"
        return f"No model is best at every base ({format_p_value(p)}): {ends} ({level}, simultaneous)."

    def _describe_fit(self, fit: GainFit) -> str:
        if not fit.has_base:
            return fit.text
        base, low, high = map(format_base, (fit.base, fit.lower, fit.upper))
        sentence = f"Preferences fit base {base} ({low} to {high}, {format_confidence(fit.alpha)})"
        winners = [
            model
            for model, start, stop in self.winners.itertuples(index=False)
            if start <= fit.upper and stop >= fit.lower
        ]
        if not winners:
            return f"{sentence}, which is outside these bases."
        return f"{sentence}. In that interval, {_list_names(dict.fromkeys(winners))} has the {self._best} mean."

    def to_dict(self) -> dict[str, Any]:
        """Return all results and `text` as plain values for JSON. Infinite bounds become None."""
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
            "verdict": self.verdict._asdict() | {"always_best": list(self.verdict.always_best)},
            "fit": None if self.fit is None else self.fit.to_dict(),
            "lower_is_better": self.lower_is_better,
            "alpha": self.alpha,
            "draws": self.draws,
            "seed": self.seed,
            "text": self.text,
        }

    @cached_property
    def headline(self) -> str:
        """One short sentence."""
        changes, (low, high) = len(self.winners) - 1, self._ends
        winner, bases = self.short_names[self.winners["model"].iloc[0]], f"at every gain from b = {low} to {high}"
        if self.verdict.kind == "agree":
            return f"{winner} is best {bases}"
        if not changes:
            return f"{winner} has the {self._best} mean {bases}, but is not proven best"
        times = {1: "once", 2: "twice"}.get(changes, f"{changes} times")
        proof = "no model is best at every gain" if self.verdict.kind == "genuine" else "one may be best at every gain"
        return f"The model with the {self._best} mean changes {times} between b = {low} and {high}, {proof}"


def _list_names(models: Iterable[str]) -> str:
    return join_names(list(models), word="or")


def format_base(base: float) -> str:
    """Return a base with two decimals.

    >>> format_base(1.2034), format_base(2.0), format_base(float("inf"))
    ('1.20', '2', 'infinity')
    """
    if math.isinf(base):
        return "infinity"
    return format_exact(base) if float(base).is_integer() else f"{base:.2f}"


def select_labelled_bases(bases: Sequence[float], distance: float = 0.14) -> list[float]:
    """Return the bases to label on an axis, at least the share `distance` of its length apart.

    >>> select_labelled_bases([1.0, 2.0, 4.0])
    [1.0, 1.5, 2.0, 3.0, 4.0]
    """
    inside = [base for base in AXIS_BASES if bases[0] <= base <= bases[-1]]
    room = distance * math.log(bases[-1] / bases[0])
    labels: list[float] = []
    for base in sorted({bases[0], *inside, bases[-1]}, key=lambda base: (base not in (1.0, 2.0), base not in bases)):
        if all(abs(math.log(base / label)) >= room for label in labels):
            labels.append(base)
    return sorted(labels)


def validate_bases(bases: Iterable[float] | None) -> tuple[float, ...]:
    """Return the bases in ascending order, or the default ones. Raise for invalid and for duplicate bases."""
    if bases is None:
        return DEFAULT_BASES
    if isinstance(bases, str) or not isinstance(bases, Iterable):
        raise TypeError(f"bases must be a list of numbers such as [1, 1.5, 2], got {bases!r}.")
    numbers = [validate_real(f"bases[{place}]", base, 1.0) for place, base in enumerate(bases)]
    if not numbers:
        raise ValueError("bases is empty. Pass at least one base, for example [1, 1.5, 2].")
    for place, base in enumerate(numbers):
        if math.isinf(base) or base in numbers[:place]:
            raise ValueError(f"bases must be finite and distinct, got {base:g} as bases[{place}].")
    return tuple(sorted(numbers))


def build_gain_path(
    rankings: Rankings,
    sample: Sample,
    compared: Mapping[str, Metric],
    primary: Sequence[str],
    bases: tuple[float, ...],
    metric: MetricLike | None = None,
) -> GainPath:
    """Compare all models at validated bases. `Comparison.gains` describes the arguments."""
    template = find_template(compared, primary, metric)
    shared_weights([*compared.values(), template], rankings.judgments)  # Raises if a metric ignores the weights.
    joint = estimate_gains(rankings, sample, template, bases)
    return read_gain_path(joint, template, bases, sample, tuple(rankings.judgments.levels[:9].tolist()))


def read_gain_path(
    joint: JointEstimate, template: DCG, bases: tuple[float, ...], sample: Sample, grades: tuple[float, ...]
) -> GainPath:
    """Return the path of a joint estimate with one metric per base."""
    import pandas as pd

    estimated, models, at = joint.estimated, joint.panel.models, np.array(bases)
    band = compute_regret_band(estimated, joint.bootstrap, sample.alpha)
    names = np.array(models, dtype=object)
    test = two_step_test(estimated, joint.bootstrap, sample.alpha)
    winners = find_leaders(models, at, estimated.mean)
    ranges: list[tuple[str, float, float]] = [
        (model, *stretch)
        for model, may_be_best in zip(models, band.may_be_best.T, strict=True)
        for stretch in find_stretches(at, may_be_best)
    ]
    ranges.sort(key=lambda row: row[1:])
    critical = float(critical_value(joint.bootstrap.max_t.max(axis=(0, 1)), 1 - sample.alpha))
    swaps = find_crossings(models, at, estimated.difference, estimated.error, estimated.tolerance, critical)
    is_alone = band.may_be_best.sum() == len(bases) and winners["model"].nunique() == 1 < len(models)
    kind: Kind = "genuine" if not test.not_rejected.any() else "agree" if is_alone else "unresolved"
    always = (winners["model"].iloc[0],) if kind == "agree" else tuple(names[test.not_rejected])
    loss = not template.higher_is_better
    return GainPath(
        metric=name_path(template),
        bases=bases,
        models=models,
        queries=joint.panel.queries,
        grades=grades,
        mean=0.0 - estimated.mean if loss else estimated.mean,
        regret=np.maximum(0.0, estimated.difference.max(axis=2)),
        lower=band.lower,
        upper=band.upper,
        winners=winners,
        best_sets={base: tuple(names[row]) for base, row in zip(bases, band.may_be_best, strict=True)},
        best_ranges=pd.DataFrame(ranges, columns=["model", "from", "to"]),
        swaps=swaps,
        verdict=GainsVerdict(kind, test.p_value, always),
        fit=None,
        lower_is_better=loss,
        alpha=sample.alpha,
        draws=sample.draws,
        seed=sample.seed,
    )


def find_leaders(models: Sequence[str], bases: Floats, mean: Floats) -> pd.DataFrame:
    """Return the model with the largest mean in each range of bases. Of tied models, it is the first.

    `mean` has shape (bases, models), with ascending bases. Means are interpolated by cubic splines in log b.
    """
    import pandas as pd

    fine, between = _interpolate(bases, mean)
    winner = between.argmax(axis=1)
    starts = [0, *(np.flatnonzero(np.diff(winner)) + 1).tolist()]
    edges = [float(bases[0])]
    for start in starts[1:]:
        rows = between[start - 1 : start + 1]
        edges.append(_find_zero(fine[start - 1], fine[start], rows[:, winner[start]] - rows[:, winner[start - 1]]))
    edges.append(float(bases[-1]))
    return pd.DataFrame({"model": [models[winner[start]] for start in starts], "from": edges[:-1], "to": edges[1:]})


def find_crossings(
    models: Sequence[str], bases: Floats, difference: Floats, error: Floats, tolerance: Floats, critical: float
) -> pd.DataFrame:
    """Return every change of order of two models by base, with the bases that a band allows.

    `difference` and `error`, (bases, models, models), and `tolerance`, (bases,), are those of an estimate with one
    metric per base. The band is ``difference ± critical · error``. The order may change where it contains 0. An
    interval that ends at the first or last base may continue there. See `GainPath.swaps` for the columns.
    """
    import pandas as pd

    first, second = np.triu_indices(len(models), 1)
    gap, size = difference[:, first, second], error[:, first, second]
    turns = (np.abs(gap) > tolerance[:, None]).any(axis=0) & (gap.min(axis=0) <= 0) & (gap.max(axis=0) >= 0)
    gap, size, first, second = gap[:, turns], size[:, turns], first[turns], second[turns]
    finite = (np.isfinite(size) & (size > 0)).all(axis=0)
    fine, fine_gap = _interpolate(bases, gap)
    _, fine_size = _interpolate(bases, np.where(finite, size, 1.0))
    inside = (np.abs(fine_gap) <= critical * fine_size) | ~finite
    crossings = []
    for pair, places in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        pair_gap = fine_gap[:, pair]
        sign = np.sign(pair_gap)
        for before, after in itertools.pairwise(np.flatnonzero(sign).tolist()):
            if sign[before] != sign[after]:
                base = _find_zero(fine[before], fine[after], pair_gap[[before, after]])
                ordered = places if sign[before] < 0 else places[::-1]
                crossings.append((base, *ordered, *_extend(fine, inside[:, pair], before, after)))
    rows = [(models[first], models[second], base, *interval) for base, first, second, *interval in sorted(crossings)]
    return pd.DataFrame(rows, columns=["first", "second", "base", "lower", "upper"])


def _extend(fine: Floats, inside: Bools, start: int, stop: int) -> tuple[float, float]:
    """Return the ends of the range inside the band around two neighboring bases."""
    while start > 0 and inside[start]:
        start -= 1
    while stop < len(fine) - 1 and inside[stop]:
        stop += 1
    return float(fine[start]), float(fine[stop])


def find_stretches(bases: Floats, mask: Bools) -> list[tuple[float, float]]:
    """Return the ranges of bases with an uninterrupted mask of True.

    >>> import numpy as np
    >>> find_stretches(np.array([1.0, 1.5, 2.0, 3.0]), np.array([True, True, False, True]))
    [(1.0, 1.5), (3.0, 3.0)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(float(bases[start]), float(bases[stop - 1])) for start, stop in edges.reshape(-1, 2)]


def _interpolate(bases: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return many bases, including the given ones, and the values there."""
    if len(bases) == 1:
        return bases, values
    from scipy.interpolate import CubicSpline

    at = np.log(bases)
    steps = (np.linspace(a, b, FINE_STEPS, endpoint=False) for a, b in itertools.pairwise(at))
    fine = np.concatenate([*steps, at[-1:]])
    between: Floats = CubicSpline(at, values)(fine)
    between[::FINE_STEPS] = values
    return np.exp(fine), between


def _find_zero(start: float, stop: float, gap: Floats) -> float:
    """Return the zero of a difference between two close bases by linear interpolation."""
    share = gap[0] / (gap[0] - gap[1]) if gap[0] != gap[1] else 0.5
    return float(start + (stop - start) * share)
