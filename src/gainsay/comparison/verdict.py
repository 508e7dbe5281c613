"""The verdict: whether two metrics disagree about which model is best, or only seem to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._common.cached import cached_property
from .._common.checks import refuse_unordered
from .._common.shown import Names, Spoken, isolated
from .._common.typing import Floats, Ids
from ..drawing.notebook import chart_cell
from .data import Vary, read_panel, split_repeats, validate_alpha, validate_margin, validate_seed
from .estimates import VarianceComponents, estimate_variance_components
from .flags import Flag, UnjudgedDocuments, find_flags, left_out_flags, uneven_judging
from .inference import (
    MIN_QUERIES,
    BestTest,
    detectable_difference,
    price_lower,
    regret_lower,
    regret_upper,
    two_step_test,
)
from .pairs import best_in_draws
from .resampling import JointEstimate, Sample
from .standing import chart_of
from .wording import about, paragraph

Kind: TypeAlias = Literal["genuine", "agree", "immaterial", "unresolved"]
PerMetric: TypeAlias = dict[str, float]
PerModel: TypeAlias = dict[str, dict[str, float]]


@dataclass(frozen=True, repr=False)
class Verdict(Spoken):
    """What two metrics, measured on the same queries, say together about which model is best.

    Made by `from_values`. Queries are the random sample, or clusters of them. Models are fixed, and then nothing here
    covers what another training seed would have given; or they are recipes of which several repeats are there, and then
    everything here is about a recipe's mean over queries and repeats, and covers another repeat. All mappings and tuples are
    in natural order of the models' names.

    ``kind`` is the first of these that holds:

    1. ``"genuine"``: no model is best under both metrics, at level `alpha`. `material` says whether that still holds
       when leads up to `margin` do not count. The disagreement comes first even where it is small, for it answers the
       question that was asked; how much it costs stands beside it, in `price` and `within_margin`.
    2. ``"agree"``: one and the same model beats every rival under each metric, at level `alpha` over the choice of the
       model that is named: where two tie at the top either may come out ahead, so each is tested at half that level.
    3. ``"immaterial"``: whichever of the two metrics one chooses by, the regret of that choice under either metric is
       at most `margin`, by its upper bound, on 30 queries or more. (Models that never differ have regret 0.)
    4. ``"unresolved"``: none of these. `common_best` lists who may be best under both.

    Attributes
    ----------
    kind : {"genuine", "agree", "immaterial", "unresolved"}
        The answer.
    material : bool
        Whether it is proven that no model is within `margin` of the best under both metrics.
    within_margin : bool
        Whether the third condition holds, whatever the kind.
    metrics : tuple of str
        The two metrics.
    models : tuple of str
        All models.
    queries : int
        Queries of positive weight that have a value under both metrics; all else here is about them.
    left_out : dict of metric name to int
        For each metric how many further queries it has, on which the other one has no value (``empty=skip``). Where
        there are any, a flag says so.
    winners : dict of metric name to model
        The model with the best mean; the first by name where several tie (then a flag says so).
    common_best : tuple of str
        The confidence set of models that are best under both metrics: each such model is in it with probability
        1 − `alpha` or more.
    common_within_margin : tuple of str
        The same for being within `margin` of the best under both.
    best_sets : dict of metric name to tuple of str
        For each metric alone, the confidence set of best models; who is in `common_best` is in both.
    p_value : float
        Of the hypothesis that some model is best under both. Never 0, and at most `alpha` exactly where the kind is
        ``"genuine"``.
    margin_p_value : float
        Of the hypothesis that some model is within `margin` of the best under both.
    price : float
        Price of disagreement: what choosing one model costs at least, the smallest worst-metric regret of any model.
    price_lower : float
        With probability 1 − `alpha` or more, the true price is at least this; positive exactly where the kind is
        ``"genuine"``.
    safe_choice : str
        The model whose worst-metric regret is smallest.
    safe_regret : float
        That regret (which is `price`).
    safe_regret_upper : float
        With probability 1 − `alpha` or more, its true regret is at most this, the choice among all models included.
        Infinite below 30 queries. Models that never differ in the sample count as one.
    winner_regrets : dict of metric name to float
        What the winner under this metric loses under the *other* one.
    winner_regrets_upper : dict of metric name to float
        Their upper bounds, which hold together with all others.
    means, regrets, regrets_lower, regrets_upper : dict of metric name to dict of model to float
        Mean, distance to the best mean (0 or more, for a loss too), and the bounds of that distance. A lower bound
        holds by itself with probability 1 − `alpha` or more, and is above 0 exactly where the model is not in
        `best_sets`; the upper bounds hold all together.
    detectable : float
        The smallest true lead of one model over another, among those in question (`common_best` and the winners),
        that this many queries show with about 80 % probability: (c + 0.84) · e, with c the critical value when every
        inequality binds and e the largest standard error of a difference. Infinite where no pair varies on enough
        queries to decide anything.
    best_probability : dict of metric name to dict of model to float
        Description: in what share of draws the model is best (ties shared). Not a test.
    winners_differ_probability : float
        Description: in what share of draws no model is best under both. Not a test, and no evidence of disagreement
        by itself: it comes near 1 where two models tie under one metric.
    flags : tuple of Flag
        Reservations.
    alpha, margin, draws, seed : float, float, int, int
        As given.
    unjudged : UnjudgedDocuments or None
        Of repeats: how much of what each model retrieved was judged, and what became of the rest.
    lower_is_better : tuple of str
        Those of the two metrics of which a lower value is better.
    clusters : int or None
        In how many clusters the queries come; None where they are independent.
    repeats : dict of model to int
        How often each recipe was trained, 0 for a fixed model; empty where all are fixed.
    vary : {"seed", "queries"} or None
        What differed between the repeats, where that was said.
    variance : dict of metric name to VarianceComponents
        Where the variance of a lead between two recipes comes from: queries, repeats, and both together. So one sees what
        more queries or more repeats would buy. Empty where all models are fixed.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> linear = rng.uniform(0.3, 0.6, size=(500, 1)) + rng.normal(0, 0.1, size=(500, 2)) + [0.05, 0.0]
    >>> exponential = linear + [-0.10, 0.0]
    >>> verdict = Verdict.from_values(linear, exponential, models=["A", "B"])
    >>> verdict.kind, verdict.winners
    ('genuine', {'ndcg_linear@10': 'A', 'ndcg_exp@10': 'B'})
    >>> 0 < verdict.price_lower < verdict.price
    True

    Two recipes, each trained five times: another repeat would differ by more than the lead that one repeat of each shows.

    >>> repeats = linear[:, :, None] + rng.normal(0, 0.05, size=(2, 5)) + rng.normal(0, 0.1, size=(500, 2, 5))
    >>> Verdict.from_values(repeats, repeats - [[[0.10], [0.0]]], models=["A", "B"]).kind
    'unresolved'
    """

    kind: Kind
    material: bool
    within_margin: bool
    metrics: tuple[str, str]
    models: tuple[str, ...]
    queries: int
    left_out: dict[str, int]
    winners: dict[str, str]
    common_best: tuple[str, ...]
    common_within_margin: tuple[str, ...]
    best_sets: dict[str, tuple[str, ...]]
    p_value: float
    margin_p_value: float
    price: float
    price_lower: float
    safe_choice: str
    safe_regret: float
    safe_regret_upper: float
    winner_regrets: PerMetric
    winner_regrets_upper: PerMetric
    means: PerModel
    regrets: PerModel
    regrets_lower: PerModel
    regrets_upper: PerModel
    detectable: float
    best_probability: PerModel
    winners_differ_probability: float
    flags: tuple[Flag, ...]
    alpha: float
    margin: float
    draws: int
    seed: int
    unjudged: UnjudgedDocuments | None = None
    lower_is_better: tuple[str, ...] = ()
    clusters: int | None = None
    repeats: dict[str, int] = field(default_factory=dict)
    vary: Vary | None = None
    variance: dict[str, VarianceComponents] = field(default_factory=dict)

    @classmethod
    def from_values(
        cls,
        first: ArrayLike | Sequence[ArrayLike],
        second: ArrayLike | Sequence[ArrayLike],
        models: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        clusters: Ids | None = None,
        alpha: float = 0.05,
        margin: float = 0.0,
        draws: int = 10_000,
        seed: int = 0,
        metric_names: Sequence[str] = ("ndcg_linear@10", "ndcg_exp@10"),
        higher_is_better: Sequence[bool] = (True, True),
        vary: Vary | None = None,
    ) -> Verdict:
        """Reach a verdict from per-query values.

        Parameters
        ----------
        first, second : array, shape (queries, models) or (queries, models, repeats); or a list of arrays
            Values of the two metrics. Any two metrics may take these places. A query that a metric skips is NaN for
            every model. Recipes have their repeats in a third dimension; where their numbers differ, or some models are
            fixed, give a list with an array for each model, (queries, repeats) for a recipe and (queries,) for a fixed
            one.
        models : sequence of str, optional
            Distinct names of the columns; ``model 1``, ``model 2``, … by default.
        weights : array, shape (queries,), optional
            Query weights, 0 or more. Only their ratios count.
        clusters : array, shape (queries,), optional
            One label per query: near duplicates, queries of one session or of one user have the same. Clusters are then
            what is independent, and what is counted as evidence.
        alpha : float
            Level of every test and bound, in (0, 0.5).
        margin : float
            Region of practical equivalence: a difference of means up to this does not matter to you.
        draws : int
            Draws of the Gaussian multiplier bootstrap, ``10 / alpha`` or more.
        seed : int
            The same seed gives the same verdict to the last digit, in whatever order the models come.
        metric_names : sequence of two str
            What to call the two metrics.
        higher_is_better : sequence of two bool
            False for a metric that is a loss.
        vary : {"seed", "queries"}, optional
            What differs between repeats, for the words of the verdict: the training seed, or the training queries as well
            (resampled in every repeat).

        Raises
        ------
        ValueError
            If shapes differ, a value is infinite, or NaN for some models and not for others, no query has a value under
            both metrics, names repeat, a weight is negative, a query has no cluster, a recipe has fewer than three repeats
            or not the same under both metrics, or a setting is out of range.
        TypeError
            If a name is not a string, or a number is not a number.
        """
        names = _two_names(metric_names)
        level, width = validate_alpha(alpha), validate_margin(margin)
        seed, draws = validate_seed(seed, draws, level)
        labels = dict(zip(names, ("first", "second"), strict=True))
        losses = _losses(names, higher_is_better)
        values, repeats = split_repeats(dict(zip(names, (first, second), strict=True)), labels, models)
        panel = read_panel(values, models, weights, labels, losses, repeats, clusters, vary)
        return cls.of(Sample(panel, level, draws, seed), names, width)

    @classmethod
    def of(cls, sample: Sample, metrics: tuple[str, str], margin: float) -> Verdict:
        """Reach a verdict from a sample that was read already."""
        return decide(sample, metrics, margin)

    def with_unjudged(self, unjudged: UnjudgedDocuments | None) -> Verdict:
        """Return the same verdict, which says how much of what the models retrieved was judged."""
        if unjudged is None:
            return self
        return replace(self, unjudged=unjudged, flags=(*self.flags, *uneven_judging(unjudged, self.in_question)))

    @property
    def in_question(self) -> tuple[str, ...]:
        """The models that matter to the choice: who may be best under both metrics, the winners, the safe choice."""
        chosen = {*self.common_best, *self.winners.values(), self.safe_choice}
        return tuple(model for model in self.models if model in chosen)

    @cached_property
    def text(self) -> str:
        """A paragraph for whoever has to choose, with numbers."""
        return paragraph(self)

    @property
    def about(self) -> str:
        """One sentence: what is a sample here, what is fixed, and so what is covered."""
        return about(self)

    def _repr_html_(self) -> str:
        names = Names.of(self.models)
        flags = [isolated(flag.message, names.short) for flag in self.flags]
        return chart_cell(chart_of(self, names), flags, "verdict.regrets")

    def to_dict(self) -> dict[str, Any]:
        """Return everything, `text` included, as JSON knows it; an infinite bound becomes None.

        Examples
        --------
        >>> import json, numpy as np
        >>> verdict = Verdict.from_values(np.zeros((1, 2)), np.zeros((1, 2)))
        >>> json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["kind"]
        'unresolved'
        """
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)} | {"text": self.text}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return _plain(value.to_dict()) if isinstance(value, Flag | UnjudgedDocuments | VarianceComponents) else value


def _losses(names: tuple[str, str], higher_is_better: Sequence[bool]) -> list[str]:
    refuse_unordered("higher_is_better", higher_is_better)
    said = tuple(higher_is_better) if isinstance(higher_is_better, Iterable) else ()
    if len(said) != 2 or not all(higher in (True, False) for higher in said):
        raise TypeError(f"higher_is_better must be True or False for each of two metrics, got {higher_is_better!r}")
    return [name for name, higher in zip(names, said, strict=True) if not higher]


def _two_names(metric_names: Sequence[str]) -> tuple[str, str]:
    refuse_unordered("metric_names", metric_names)
    given = isinstance(metric_names, Iterable) and not isinstance(metric_names, str)
    names = tuple(metric_names) if given else ()
    if len(names) != 2 or names[0] == names[1] or not all(isinstance(name, str) for name in names):
        raise ValueError(f"metric_names must be two different strings: got {metric_names!r}")
    return names[0], names[1]


def decide(sample: Sample, names: tuple[str, str], margin: float) -> Verdict:
    """Test, bound and describe what two metrics of a sample say together."""
    alpha, counts = sample.alpha, sample.panel.counts(names)
    joint = sample.joint(names)
    panel, estimated, bootstrap = joint
    both_test = two_step_test(estimated, bootstrap, alpha)
    margin_test = both_test.inequalities.tested(margin) if margin > 0 else both_test
    single_tests = [two_step_test(estimated, bootstrap, alpha, rows=[row]) for row in (0, 1)]
    models = np.array(panel.models, dtype=object)
    level = estimated.mean.max(axis=1, keepdims=True)
    top = estimated.mean >= level - estimated.tolerance[:, None]
    winner = top.argmax(axis=1)
    regret = np.maximum(0.0, estimated.difference.max(axis=2))
    # Who may be best under both may be best under each: its own test, made without the other metric, gives way.
    best = np.array([test.not_rejected | both_test.not_rejected for test in single_tests])
    lower = np.array([regret_lower(test) for test in single_tests])
    upper = regret_upper(estimated, bootstrap, alpha)
    worst = regret.max(axis=0)
    safe = int(np.argmax(worst <= worst.min() + estimated.tolerance.max()))
    within = estimated.units >= MIN_QUERIES and bool((upper[:, winner] <= margin).all())
    kind: Kind = "immaterial" if within else "unresolved"
    if not both_test.not_rejected.any():
        kind = "genuine"
    elif _beats_all(joint, alpha, single_tests):
        kind = "agree"
    kept_within_margin = (
        both_test.not_rejected | margin_test.not_rejected
    )  # who may be best may be within the margin of the best
    material = not kept_within_margin.any()
    best_shares, differ = best_in_draws(estimated, bootstrap)

    def by_model(table: Floats) -> PerModel:
        return {
            name: dict(zip(panel.models, row.tolist(), strict=True)) for name, row in zip(names, table, strict=True)
        }

    return Verdict(
        kind=kind,
        material=material,
        within_margin=within,
        metrics=names,
        models=panel.models,
        queries=panel.queries,
        left_out=counts.left_out,
        winners={name: models[place] for name, place in zip(names, winner, strict=True)},
        common_best=tuple(models[both_test.not_rejected]),
        common_within_margin=tuple(models[kept_within_margin]),
        best_sets={name: tuple(models[not_rejected]) for name, not_rejected in zip(names, best, strict=True)},
        p_value=both_test.p_value,
        margin_p_value=max(both_test.p_value, margin_test.p_value),
        price=float(worst[safe]),
        price_lower=price_lower(margin_test, margin) if material else price_lower(both_test, 0.0),
        safe_choice=models[safe],
        safe_regret=float(worst[safe]),
        safe_regret_upper=float(upper[:, safe].max()),
        winner_regrets={names[row]: float(regret[1 - row, winner[row]]) for row in (0, 1)},
        winner_regrets_upper={names[row]: float(upper[1 - row, winner[row]]) for row in (0, 1)},
        means=by_model(np.array([panel.in_unit(*one) for one in zip(names, estimated.mean, strict=True)])),
        regrets=by_model(regret),
        regrets_lower=by_model(np.where(best, 0.0, lower)),
        regrets_upper=by_model(upper),
        detectable=detectable_difference(estimated, bootstrap, alpha, both_test.not_rejected, winner),
        best_probability=by_model(best_shares),
        winners_differ_probability=differ,
        flags=left_out_flags(counts)
        + find_flags(panel, estimated, {name: tuple(models[row]) for name, row in zip(names, top, strict=True)}, alpha),
        alpha=alpha,
        margin=margin,
        draws=sample.draws,
        seed=sample.seed,
        lower_is_better=tuple(metric for metric in names if metric in panel.lower_is_better),
        clusters=None if panel.clusters is None else panel.units,
        repeats={} if panel.repeats is None else dict(zip(panel.models, panel.repeat_counts, strict=True)),
        vary=panel.vary,
        variance=estimate_variance_components(panel, estimated.repeats),
    )


def _beats_all(joint: JointEstimate, alpha: float, single_tests: list[BestTest]) -> bool:
    """Whether one model beats every rival under each metric, at level α over the choice of the model that is named.

    Who is alone in the set of best models beats every rival: had one tied, it would be in the set as well. But of two
    that tie at the top either may come out ahead, and each would be named where the other is ruled out: twice the level
    of one test. So tests are made at α/2, where those at α leave one model. Alone under both metrics is a claim on both
    at once, for which no further correction is due.
    """
    first, second = (test.not_rejected for test in single_tests)
    if first.sum() != 1 or not np.array_equal(first, second):
        return False
    return all(
        two_step_test(joint.estimated, joint.bootstrap, alpha / 2, rows=[row]).not_rejected.sum() == 1 for row in (0, 1)
    )
