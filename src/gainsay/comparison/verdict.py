"""The verdict: do two metrics disagree about the best model, or could it be chance?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .._common import cached_property
from .._common.text import (
    TextResult,
    as_text,
    format_amount,
    format_confidence,
    format_number,
    format_p_value,
    join_names,
    plain,
    pluralize,
    printable,
    round_bound,
    styled,
)
from .._common.typing import Ids
from .._common.validation import validate_ordered
from .data import Values, Vary, read_panel, validate_alpha, validate_margin, validate_seed
from .estimates import VarianceComponents, estimate_variance_components
from .flags import NO_EVIDENCE_FLAG, Flag, UnjudgedDocuments, find_flags, find_left_out_flags, find_uneven_judging
from .inference import (
    MIN_QUERIES,
    BestTest,
    JointEstimate,
    Sample,
    bound_price,
    bound_regrets_from_above,
    bound_regrets_from_below,
    estimate_best_probabilities,
    estimate_detectable_difference,
    estimate_optimism,
    limit_draws,
    two_step_test,
)
from .wording import (
    describe_losses,
    describe_sample,
    describe_selection,
    format_choice,
    format_open_question,
    format_sample_size,
    label_metrics,
    name_unit,
    style_metrics,
)

Kind: TypeAlias = Literal["genuine", "agree", "immaterial", "unresolved"]
MIN_OPTIMISM = 0.00005
"""A smaller optimism under both metrics is not mentioned."""

PerMetric: TypeAlias = dict[str, float]
PerModel: TypeAlias = dict[str, dict[str, float]]


@dataclass(frozen=True, repr=False)
class Verdict(TextResult):
    """Verdict of a statistical test on whether two metrics disagree about the best model.

    `from_values` creates it. ``kind`` is the first of these that applies:

    1. ``"genuine"``: no model is best under both metrics, at level `alpha`. Check `price`, because the disagreement
       may be small.
    2. ``"agree"``: one model beats every other model under both metrics, at level `alpha`.
    3. ``"immaterial"``: whichever of the two metrics you choose by, you lose at most `margin` under either metric.
    4. ``"unresolved"``: none of these could be shown. `common_best` lists the models that may be best under both.

    Attributes
    ----------
    kind : {"genuine", "agree", "immaterial", "unresolved"}
        The verdict.
    material : bool
        Whether no model is within `margin` of the best under both metrics, at level `alpha`.
    within_margin : bool
        Whether the condition of ``"immaterial"`` applies, for any kind.
    metrics, models : tuple of str
        The two metrics, and all models in natural order of their names.
    queries : int
        Number of queries of positive weight with a value under both metrics.
    left_out : dict of metric name to int
        Number of further queries with a value under this metric only.
    winners : dict of metric name to model
        Model with the best mean.
    common_best, common_within_margin : tuple of str
        Models that may be best, or within `margin` of the best, under both metrics. Confidence sets at level
        1 − `alpha`.
    best_sets : dict of metric name to tuple of str
        Models that may be best under each metric.
    p_value, margin_p_value : float
        P-values of the hypotheses that some model is best, or within `margin` of the best, under both metrics.
    price, price_lower : float
        Price of disagreement and its lower confidence bound. Whichever model you choose, at least one metric is this
        far below its best.
    safe_choice : str
        Model with the smallest upper bound of its larger regret.
    safe_regret, safe_regret_upper : float
        Larger regret of the safe choice and its upper confidence bound, which is infinite below 30 queries.
    winner_regrets, winner_regrets_upper : dict of metric name to float
        Regret of the winner under this metric when measured by the *other* metric, and its upper bound.
    means, regrets, regrets_lower, regrets_upper : dict of metric name to dict of model to float
        Mean, regret (gap to the best mean) and its confidence bounds. Upper bounds are simultaneous.
    detectable : float
        Smallest true difference that this number of queries reveals with 80 % probability.
    optimism : dict of metric name to float
        Part of the mean of the winner that is due to selecting the best of five or more models.
    best_probability : dict of metric name to dict of model to float
        Share of bootstrap draws with the model as the best. A description, not a test.
    winners_differ_probability : float
        Share of bootstrap draws without a model that is best under both metrics. A description, not a test.
    flags : tuple of Flag
        Reasons to be careful.
    alpha, margin, draws, seed : float, float, int, int
        Settings of the test.
    unjudged : UnjudgedDocuments or None
        Share of unjudged documents of each model, for TREC runs.
    lower_is_better : tuple of str
        Metrics whose lower values are better.
    clusters : int or None
        Number of clusters of queries. None if queries are independent.
    repeats : dict of model to int
        Number of repeats of each recipe, 0 for a fixed model. Empty if all models are fixed.
    vary : {"seed", "queries"} or None
        What differs between repeats.
    variance : dict of metric name to VarianceComponents
        Variance of the difference of two recipes by source. Empty if all models are fixed.

    Notes
    -----
    Queries, or clusters of queries, are the random sample. The verdict on fixed models does not cover retraining. The
    verdict on recipes covers a further repeat, if no training failed. `p_value` is at most `alpha`, and `price_lower`
    positive, exactly if the kind is ``"genuine"``. The page "Statistical methods" defines the tests.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> linear = rng.uniform(0.3, 0.6, size=(500, 1)) + rng.normal(0, 0.1, size=(500, 2)) + [0.05, 0.0]
    >>> exponential = linear + [-0.10, 0.0]
    >>> verdict = Verdict.from_values(linear, exponential, models=["A", "B"])
    >>> verdict.kind, verdict.winners
    ('genuine', {'ndcg_linear@10': 'A', 'ndcg_exp@10': 'B'})
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
    optimism: PerMetric
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
        first: Values,
        second: Values,
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
        """Compute a verdict from per-query values.

        Parameters
        ----------
        first, second : array, shape (queries, models) or (queries, models, repeats), or list of arrays
            Values of any two metrics. A query that a metric skips is NaN for every model. Recipes have a third
            dimension for their repeats. If their numbers differ, or some models are fixed, pass a list with one array
            per model: (queries, repeats) for a recipe and (queries,) for a fixed model.
        models : sequence of str, optional
            Distinct names of the columns. Defaults to ``model 1``, ``model 2``, …
        weights : array, shape (queries,), optional
            Query weights, 0 or more. Only their ratios count.
        clusters : array, shape (queries,), optional
            Cluster of each query. Queries of a cluster are treated as dependent.
        alpha : float, default 0.05
            Level of all tests and bounds, between 0 and 0.5.
        margin : float, default 0.0
            Largest difference of means that you consider negligible.
        draws : int, default 10000
            Number of bootstrap draws, at least ``10 / alpha``. With more than 100 models, ``100 / models`` of them are
            used, so that the cost does not grow with the square of the number of models, and the bounds in
            `regrets_lower` are valid but less tight.
        seed : int, default 0
            Random seed. The same seed returns the same verdict, for any order of the models.
        metric_names : sequence of two str
            Names of the two metrics.
        higher_is_better : sequence of two bool
            False for a loss.
        vary : {"seed", "queries"}, optional
            What differs between repeats: the training seed, or the training queries as well (resampled for each
            repeat). It changes only the text.

        Raises
        ------
        ValueError
            If shapes differ, a value is infinite or NaN for some models only, no query has a value under both metrics,
            names are not distinct, a weight is negative, a query has no cluster, a recipe has fewer than three repeats,
            or a setting is out of range.
        TypeError
            If a name is not a string or a number has another type.
        """
        names = _read_metric_names(metric_names)
        level, width = validate_alpha(alpha), validate_margin(margin)
        seed, draws = validate_seed(seed, draws, level)
        labels = dict(zip(names, ("first", "second"), strict=True))
        losses = _read_losses(names, higher_is_better)
        values = dict(zip(names, (first, second), strict=True))
        panel = read_panel(values, models, weights, labels, losses, clusters, vary)
        return cls.from_sample(Sample(panel, level, limit_draws(draws, len(panel.models), level), seed), names, width)

    @classmethod
    def from_sample(cls, sample: Sample, names: tuple[str, str], margin: float) -> Verdict:
        """Compute a verdict from a validated sample."""
        alpha, counts = sample.alpha, sample.panel.counts(names)
        joint = sample.joint(names)
        panel, estimated, bootstrap = joint
        both = two_step_test(estimated, bootstrap, alpha)
        single = [two_step_test(estimated, bootstrap, alpha, rows=[row]) for row in (0, 1)]
        up_to_margin = both.inequalities.test(margin) if margin > 0 else both
        # A model that may be best under both may also be best under each, and within the margin.
        may_be_best = np.array([test.not_rejected | both.not_rejected for test in single])
        common_within_margin = both.not_rejected | up_to_margin.not_rejected
        material = not common_within_margin.any()
        models = np.array(panel.models, dtype=object)
        winner = estimated.tied.argmax(axis=1)
        regret = np.maximum(0.0, estimated.difference.max(axis=2))
        upper = bound_regrets_from_above(estimated, bootstrap, alpha)
        worst = regret.max(axis=0)
        risk = upper.max(axis=0) if np.isfinite(upper).all() else worst
        safe = int(np.argmax(risk <= risk.min() + estimated.tolerance.max()))
        within = estimated.units >= MIN_QUERIES and bool((upper[:, winner] <= margin).all())
        best_shares, differ = estimate_best_probabilities(estimated, bootstrap)

        def by_model(table: Any) -> PerModel:
            rows = (dict(zip(panel.models, row.tolist(), strict=True)) for row in table)
            return dict(zip(names, rows, strict=True))

        return cls(
            kind=_find_kind(joint, both, single, alpha, within),
            material=material,
            within_margin=within,
            metrics=names,
            models=panel.models,
            queries=panel.queries,
            left_out=counts.left_out,
            winners={name: models[place] for name, place in zip(names, winner, strict=True)},
            common_best=tuple(models[both.not_rejected]),
            common_within_margin=tuple(models[common_within_margin]),
            best_sets={name: tuple(models[row]) for name, row in zip(names, may_be_best, strict=True)},
            p_value=both.p_value,
            margin_p_value=max(both.p_value, up_to_margin.p_value),
            price=float(worst.min()),
            price_lower=bound_price(up_to_margin, margin) if material else bound_price(both, 0.0),
            safe_choice=models[safe],
            safe_regret=float(worst[safe]),
            safe_regret_upper=float(upper[:, safe].max()),
            winner_regrets={names[row]: float(regret[1 - row, winner[row]]) for row in (0, 1)},
            winner_regrets_upper={names[row]: float(upper[1 - row, winner[row]]) for row in (0, 1)},
            means=by_model(map(panel.in_unit, names, estimated.mean)),
            regrets=by_model(regret),
            regrets_lower=by_model(np.where(may_be_best, 0.0, [bound_regrets_from_below(test) for test in single])),
            regrets_upper=by_model(upper),
            detectable=estimate_detectable_difference(estimated, bootstrap, alpha, both.not_rejected, winner),
            optimism=dict(zip(names, estimate_optimism(estimated, bootstrap).tolist(), strict=True)),
            best_probability=by_model(best_shares),
            winners_differ_probability=differ,
            flags=find_left_out_flags(counts) + find_flags(panel, estimated, alpha),
            alpha=alpha,
            margin=margin,
            draws=sample.draws,
            seed=sample.seed,
            variance=estimate_variance_components(panel, estimated.repeats),
            **panel.evidence,
        )

    def with_unjudged(self, unjudged: UnjudgedDocuments | None) -> Verdict:
        """Return the verdict with the shares of unjudged documents, and a flag if they differ."""
        if unjudged is None:
            return self
        return replace(self, unjudged=unjudged, flags=(*self.flags, *find_uneven_judging(unjudged, self.in_question)))

    @property
    def in_question(self) -> tuple[str, ...]:
        """Models that matter to the choice: those that may be best under both, the winners and the safe choice."""
        relevant = {*self.common_best, *self.winners.values(), self.safe_choice}
        return tuple(model for model in self.models if model in relevant)

    @cached_property
    def metrics_coincide(self) -> bool:
        """Whether both metrics have the same values, as both NDCGs have with labels 0 and 1."""
        first, second = self.metrics
        pairs = (
            (table[first][model], table[second][model]) for table in (self.means, self.regrets) for model in self.models
        )
        return all(math.isclose(*pair, rel_tol=1e-12) for pair in pairs)

    @cached_property
    def text(self) -> str:
        """One paragraph: the question, its answer, advice, and the numbers behind them."""
        names = {model: printable(model) for model in self.models}
        parts = (format_question(self), format_headline(self, names), format_advice(self, names))
        text = [as_text(part).removeprefix("★ ") for part in parts if part] + [_describe_means(self)]
        if self.kind == "unresolved" and 1 < len(self.common_best) < len(self.models):
            text.append(f"The best under both may be {join_names(list(self.common_best), word='or')}.")
        if self.winners[self.metrics[0]] != self.winners[self.metrics[1]]:
            text.append(_describe_cost(self))
        text += describe_losses(self.lower_is_better)
        if self.unjudged is not None:
            relevant = self.in_question
            text += self.unjudged.text([*relevant, *(model for model in self.models if model not in relevant)])
        text += [flag.message for flag in self.flags if flag.code != "one model"]
        return printable(" ".join([*text, self.about]))

    @property
    def about(self) -> str:
        """Sentences about which parts are a sample and which are fixed."""
        return describe_sample(self.clusters, self.repeats, self.vary)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON. Infinite bounds become None.

        Examples
        --------
        >>> import json, numpy as np
        >>> verdict = Verdict.from_values(np.zeros((1, 2)), np.zeros((1, 2)))
        >>> json.loads(json.dumps(verdict.to_dict(), allow_nan=False))["kind"]
        'unresolved'
        """
        content: dict[str, Any] = plain({item.name: getattr(self, item.name) for item in fields(self)})
        return content | {"text": self.text}


def _find_kind(joint: JointEstimate, both: BestTest, single: Sequence[BestTest], alpha: float, within: bool) -> Kind:
    """Return the kind of the verdict, from the tests under both metrics and under each.

    If a single model is in the set of best models under each metric, it beats all others, because a model that ties
    would be in the set as well. However, if two models tie at the top, either may have the higher mean, so the error of
    naming one is twice that of a single test. For this reason, each metric is tested at α/2. The claim is about both
    metrics at once and needs no further correction.
    """
    if not both.not_rejected.any():
        return "genuine"
    first, second = (test.not_rejected for test in single)
    if first.sum() == 1 and np.array_equal(first, second):
        tests = (two_step_test(joint.estimated, joint.bootstrap, alpha / 2, rows=[row]) for row in (0, 1))
        if all(test.not_rejected.sum() == 1 for test in tests):
            return "agree"
    return "immaterial" if within else "unresolved"


def _read_losses(names: tuple[str, str], higher_is_better: Sequence[bool]) -> list[str]:
    validate_ordered("higher_is_better", higher_is_better)
    directions = tuple(higher_is_better) if isinstance(higher_is_better, Iterable) else ()
    if len(directions) != 2 or not all(higher in (True, False) for higher in directions):
        raise TypeError(f"higher_is_better must contain True or False for each metric, got {higher_is_better!r}.")
    return [name for name, higher in zip(names, directions, strict=True) if not higher]


def _read_metric_names(metric_names: Sequence[str]) -> tuple[str, str]:
    validate_ordered("metric_names", metric_names)
    several = isinstance(metric_names, Iterable) and not isinstance(metric_names, str)
    names = tuple(metric_names) if several else ()
    if len(names) != 2 or names[0] == names[1] or not all(isinstance(name, str) for name in names):
        raise ValueError(f"metric_names must be two different strings, got {metric_names!r}.")
    return names[0], names[1]


def format_question(verdict: Verdict) -> str:
    """Return the question that the headline answers, with the size of the sample."""
    number, unit = len(verdict.models), name_unit(verdict.repeats)
    question = f"Which of {number} {unit}s is {'better' if number == 2 else 'best'}?"
    question = question if number > 1 else f"How good is this {unit}?"
    return f"{question} {format_sample_size(verdict.queries, verdict.clusters)}, {style_metrics(verdict.metrics)}."


def format_headline(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Return the answer in one line. `names` are the names of models for sentences."""
    first, second = (names[verdict.winners[metric]] for metric in verdict.metrics)
    total, unit, label = len(verdict.models), name_unit(verdict.repeats), label_metrics(verdict.metrics)[0]
    family = "metrics" if label.long == label.name else f"{label.name.partition('_')[0].upper()}s"
    both = "" if verdict.metrics_coincide else f" under both {family}"
    if total == 1:
        return f"One {unit}: add a second one to compare it with."
    if NO_EVIDENCE_FLAG in verdict.flags:
        return f"These queries cannot distinguish {unit}s: each has one document or equal labels."
    if verdict.kind == "genuine":
        subject = " and ".join(verdict.metrics) if family == "metrics" else f"The two {family}"
        return f"{subject} pick different {unit}s: {styled('n l', first)} and {styled('n e', second)}."
    if verdict.kind == "agree":
        rest = [names[model] for model in verdict.models if names[model] != first]
        best = f"better than {styled('n', rest[0])}" if len(rest) == 1 else "best"
        return f"{styled('n', first)} is {best}{both}."
    if verdict.kind == "immaterial":
        return "The choice does not matter: every loss is negligible."
    return format_open_question([names[model] for model in verdict.common_best], total, unit, both)


def format_advice(verdict: Verdict, names: Mapping[str, str], selected: str | None = None) -> str:
    """Return which model to choose, and the largest loss that this may mean.

    A model that was selected on a validation set is the choice. The advice then states its gap to the best model.
    """
    if len(verdict.models) == 1:
        return ""
    if NO_EVIDENCE_FLAG in verdict.flags:
        return "Check the query ids and the labels."
    level, safe = format_confidence(verdict.alpha), names[verdict.safe_choice]
    under = "" if verdict.metrics_coincide else " under either metric"
    units = verdict.clusters or verdict.queries
    if units < MIN_QUERIES:
        scarce = "queries" if verdict.clusters is None else "clusters of queries"
        choice = "" if selected is None else f"{format_choice('Selected on the validation set:', names[selected])}. "
        extreme = "Best" if verdict.lower_is_better else "Highest"
        return (
            f"{choice}{styled('b', f'Too few {scarce} to decide')}: {units}. At least {MIN_QUERIES} are needed. "
            f"{extreme} mean in this sample: {styled('n', safe)}."
        )
    if selected is not None:
        bounds = {model: max(upper[model] for upper in verdict.regrets_upper.values()) for model in verdict.models}
        if verdict.kind == "agree":
            bounds[verdict.safe_choice] = 0.0
        selection = describe_selection(selected, verdict.safe_choice, bounds, names, under, level)
        return selection + _describe_certainty(verdict)
    choice = format_choice("Choose", safe)
    if verdict.kind == "agree":
        return f"{choice}: {_describe_distance(verdict, level)}"
    worst = f"at worst {round_bound(verdict.safe_regret_upper, up=True)} behind the best"
    bound = f"{worst if verdict.safe_regret_upper else 'not behind any other'}{under} ({level})"
    if verdict.kind == "immaterial":
        margin = f", no more than your margin of {format_amount(verdict.margin)}" if verdict.margin else ""
        return f"{choice}: {bound}{margin}."
    safe_choice = f"{styled('b', '★ ')}{styled('b n', safe)} is the safe choice"
    advice = f"{choice} if both matter" if verdict.kind == "genuine" else safe_choice
    return f"{advice}: {bound}.{_describe_certainty(verdict)}"


def _describe_certainty(verdict: Verdict) -> str:
    """Return how sure a genuine disagreement is, or how to resolve an unresolved verdict, after a blank."""
    if verdict.kind == "genuine":
        certainty = format_p_value(verdict.p_value).replace(" ", "\u00a0")
        text = (
            f" The disagreement is not chance ({certainty}). Any choice loses at least "
            f"{round_bound(verdict.price_lower, up=False)} under one of the two."
        )
        if not verdict.margin:
            return text
        relation = "That is within" if verdict.within_margin else "It is open whether that exceeds"
        relation = "That exceeds" if verdict.material else relation
        return f"{text} {relation} your margin of {format_amount(verdict.margin)}."
    if verdict.kind != "unresolved" or len(verdict.common_best) < 2:
        return ""
    detectable = ""
    if math.isfinite(verdict.detectable):
        size = round_bound(verdict.detectable, up=True)
        detectable = f" {pluralize(verdict.queries, 'query')} can prove differences of about {size} or more."
    evidence = "queries and repeats" if verdict.repeats else "queries"
    return f"{detectable} {styled('b', f'Add {evidence}, not {name_unit(verdict.repeats)}s.')}"


def _describe_distance(verdict: Verdict, level: str) -> str:
    """Return that the common winner is proven, and its distance from the next model under each metric."""
    distances = []
    for label, style in zip(label_metrics(verdict.metrics)[: 1 if verdict.metrics_coincide else 2], "le", strict=False):
        distance = styled(style, format_number(sorted(verdict.regrets[label.name].values())[1], 3))
        distances.append(distance if verdict.metrics_coincide else f"{distance} ({label.long})")
    rest, following = f"every other {name_unit(verdict.repeats)}", "The next"
    if len(verdict.models) == 2:
        rest, following = "the other one", "The other one"
    return f"it is proven better than {rest} ({level}). {following} is {' and '.join(distances)} behind."


def _describe_means(verdict: Verdict) -> str:
    """Return the means of the winners, and how much of them is due to selection."""
    parts = []
    for metric in verdict.metrics:
        extreme, winner = "lowest" if metric in verdict.lower_is_better else "highest", verdict.winners[metric]
        parts.append(f"{winner} has the {extreme} mean {metric} ({verdict.means[metric][winner]:.4f})")
    text = f"{' and '.join(parts)}."
    if max(verdict.optimism.values()) < MIN_OPTIMISM:
        return text
    optimism = " and ".join(f"{format_amount(value)} of {metric}" for metric, value in verdict.optimism.items())
    number = f"{len(verdict.models)} {name_unit(verdict.repeats)}s"
    return f"{text} About {optimism} is due to selecting the best of {number}."


def _describe_cost(verdict: Verdict) -> str:
    """Return the cost of choosing by one metric under the other."""
    parts = []
    for metric, other in (verdict.metrics, verdict.metrics[::-1]):
        regret = format_amount(verdict.winner_regrets[metric])
        cost = f"adds {regret} to {other}" if other in verdict.lower_is_better else f"costs {regret} of {other}"
        parts.append(f"choosing {verdict.winners[metric]} {cost}")
    return f"In this sample {parts[0]}, and {parts[1]}."
