"""The verdict: whether two metrics disagree about which model is best, or only seem to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from numpy.typing import ArrayLike

from .._common.cached import cached_property
from .._common.checks import refuse_unordered
from .._common.shown import Spoken
from .._common.typing import Ids
from .decide import Kind, Outcome, decide
from .flags import Flag
from .inputs import check_level, check_margin, check_seed, read_panel
from .recipes import VarianceParts
from .runs import Vary, recipes_of
from .sample import Sample
from .unjudged import UnjudgedDocuments, uneven_judging
from .wording import about, paragraph

__all__ = ["Kind", "Verdict"]


@dataclass(frozen=True, repr=False)
class Verdict(Spoken, Outcome):
    """What two metrics, measured on the same queries, say together about which model is best.

    Made by `from_values`. Queries are the random sample, or clusters of them. Models are fixed, and then nothing here
    covers what another training seed would have given; or they are recipes of which several runs are there, and then
    everything here is about a recipe's mean over queries and runs, and covers another run. All mappings and tuples are
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
        Of runs: how much of what each model retrieved was judged, and what became of the rest.
    lower_is_better : tuple of str
        Those of the two metrics of which a lower value is better.
    clusters : int or None
        In how many clusters the queries come; None where they are independent.
    runs : dict of model to int
        How often each recipe was trained, 0 for a fixed model; empty where all are fixed.
    vary : {"seed", "queries"} or None
        What differed between the runs, where that was said.
    variance : dict of metric name to VarianceParts
        Where the variance of a lead between two recipes comes from: queries, runs, and both together. So one sees what
        more queries or more runs would buy. Empty where all models are fixed.

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

    Two recipes, each trained five times: another run would differ by more than the lead that one run of each shows.

    >>> runs = linear[:, :, None] + rng.normal(0, 0.05, size=(2, 5)) + rng.normal(0, 0.1, size=(500, 2, 5))
    >>> Verdict.from_values(runs, runs - [[[0.10], [0.0]]], models=["A", "B"]).kind
    'unresolved'
    """

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
        first, second : array, shape (queries, models) or (queries, models, runs); or a list of arrays
            Values of the two metrics. Any two metrics may take these places. A query that a metric skips is NaN for
            every model. Recipes have their runs in a third dimension; where their numbers differ, or some models are
            fixed, give a list with an array for each model, (queries, runs) for a recipe and (queries,) for a fixed
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
            What differs between runs, for the words of the verdict: the training seed, or the training queries as well
            (resampled in every run).

        Raises
        ------
        ValueError
            If shapes differ, a value is infinite, or NaN for some models and not for others, no query has a value under
            both metrics, names repeat, a weight is negative, a query has no cluster, a recipe has fewer than three runs
            or not the same under both metrics, or a setting is out of range.
        TypeError
            If a name is not a string, or a number is not a number.
        """
        names = _two_names(metric_names)
        level, width = check_level(alpha), check_margin(margin)
        seed, draws = check_seed(seed, draws, level)
        labels = dict(zip(names, ("first", "second"), strict=True))
        losses = _losses(names, higher_is_better)
        values, runs = recipes_of(dict(zip(names, (first, second), strict=True)), labels, models)
        panel = read_panel(values, models, weights, labels, losses, runs, clusters, vary)
        return cls.of(Sample(panel, level, draws, seed), names, width)

    @classmethod
    def of(cls, sample: Sample, metrics: tuple[str, str], margin: float) -> Verdict:
        """Reach a verdict from a sample that was read already."""
        return cls(**vars(decide(sample, metrics, margin)))

    def with_unjudged(self, unjudged: UnjudgedDocuments | None) -> Verdict:
        """Return the same verdict, which says how much of what the models retrieved was judged."""
        if unjudged is None:
            return self
        return replace(self, unjudged=unjudged, flags=(*self.flags, *uneven_judging(unjudged, self.in_question)))

    @cached_property
    def text(self) -> str:
        """A paragraph for whoever has to choose, with numbers."""
        return paragraph(self)

    @property
    def about(self) -> str:
        """One sentence: what is a sample here, what is fixed, and so what is covered."""
        return about(self)

    def _repr_html_(self) -> str:
        from ..report.notebook import verdict_html

        return verdict_html(self)

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
    return _plain(value.to_dict()) if isinstance(value, Flag | UnjudgedDocuments | VarianceParts) else value


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
