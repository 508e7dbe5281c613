"""The verdict: whether two metrics disagree about the best model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .._common import cached_property
from .._common.text import (
    TextResult,
    as_text,
    format_confidence,
    format_exact,
    format_mean,
    format_p_value,
    format_size,
    join_names,
    plain,
    pluralize,
    printable,
    round_bound,
    styled,
)
from .._common.typing import Bools, Floats
from .bounds import UNKNOWN_RANGE, BoundKind, bound_mean, find_p_value, order_queries
from .estimates import Estimate, VarianceComponents, estimate_variance_components
from .flags import NO_EVIDENCE_FLAG, Flag, UnjudgedDocuments, find_flags, find_left_out_flags
from .inference import (
    MAX_MODELS,
    MAX_STEPS,
    BestTest,
    BootstrapDraws,
    JointEstimate,
    Sample,
    bound_regrets_from_above,
    estimate_detectable_difference,
)
from .metric_labels import MetricLabel, label_metrics
from .panel import FEW_REPEATS, Vary

MAX_NAMED = 3
"""Models that may be best and are named. More are counted, and the chart shows them."""

Kind: TypeAlias = Literal["genuine", "agree", "immaterial", "unresolved"]

SAMPLE = "The queries are the random sample and the models are fixed, so another training seed is not covered."
"""Sentence about fixed models."""

BETTING = " Bounds by betting also cover losses that the sample does not contain, at any number of queries."
"""Sentence about bounds by betting after a blank."""

PerModel: TypeAlias = dict[str, dict[str, float]]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of all tests and bounds.

    Attributes
    ----------
    alpha : float
        Level.
    margin : float
        Largest difference of means that is tolerated.
    draws, seed : int
        Number of bootstrap draws, and the random seed.
    """

    alpha: float
    margin: float
    draws: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What statements are about: the sample of queries and repeats.

    Attributes
    ----------
    queries : int
        Number of queries of positive weight with a value under all metrics.
    clusters : int or None
        Number of clusters of queries. None if queries are independent.
    repeats : dict of model to int
        Number of repeats of each configuration, 0 for a fixed model. Empty if all models are fixed.
    vary : {"seed", "queries"} or None
        What differs between repeats.
    lower_is_better : tuple of str
        Metrics whose lower values are better.
    """

    queries: int
    clusters: int | None = None
    repeats: dict[str, int] = field(default_factory=dict)
    vary: Vary | None = None
    lower_is_better: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Verdict(TextResult, Settings, Scope):
    """Verdict of a statistical test on whether two metrics disagree about the best model.

    `Comparison.verdict` creates it. ``kind`` is the first of these that applies:

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
    left_out : dict of metric name to int
        Number of further queries with a value under this metric only.
    winners : dict of metric name to model
        Model with the best mean.
    common_best : tuple of str
        Models that may be best under both metrics. A confidence set at level 1 − `alpha`.
    best_sets : dict of metric name to tuple of str
        Models that may be best under each metric.
    p_value : float
        P-value of the hypothesis that some model is best under both metrics.
    price, price_lower : float
        Price of disagreement and its lower confidence bound. Whichever model you choose, at least one metric is this
        far below its best.
    safe_choice : str
        Model with the smallest upper bound of its larger regret among `common_best`, or among all if there are none.
    safe_regret, safe_regret_upper : float
        Larger regret of the safe choice and its upper confidence bound, which is infinite below 30 queries.
    means, regrets, regrets_lower, regrets_upper : dict of metric name to dict of model to float
        Mean, regret (gap to the best mean) and its confidence bounds. Upper bounds are simultaneous.
    detectable : float
        Smallest true difference that this number of queries reveals with 80 % probability.
    flags : tuple of Flag
        Reasons to be careful.
    bounds : {"asymptotic", "betting"}
        Kind of the bounds.
    shortage : str
        Sentence about why the verdict is unresolved in any case, or an empty text.
    unjudged : UnjudgedDocuments or None
        Share of unjudged documents of each model, for TREC runs.
    searched : int or None
        Number of candidates of a search on these queries, if not all of them are compared.
    variance : dict of metric name to VarianceComponents
        Variance of the difference of two configurations by source. Empty if all models are fixed.

    queries, clusters, repeats, vary, lower_is_better
        Sample of queries and repeats. See `Scope`.
    alpha, margin, draws, seed : float, float, int, int
        Settings of the test. See `Settings`.

    See Also
    --------
    gainwise.Comparison : The comparison that contains the verdict.
    gainwise.plan : Plan the number of queries that a verdict needs.

    Notes
    -----
    Queries, or clusters of queries, are the random sample. The verdict on fixed models does not cover retraining. The
    verdict on configurations covers a further repeat, if no training failed. `p_value` is at most `alpha`, and
    `price_lower` positive, exactly if the kind is ``"genuine"``. The page "Statistical methods" defines the tests.

    Examples
    --------
    >>> import numpy as np
    >>> from gainwise import Comparison
    >>> rng = np.random.default_rng(1)
    >>> linear = rng.uniform(0.3, 0.6, size=(500, 1)) + rng.normal(0, 0.1, size=(500, 2)) + [0.05, 0.0]
    >>> exponential = linear + [-0.10, 0.0]
    >>> verdict = Comparison({"ndcg_linear@10": linear, "ndcg_exp@10": exponential}, ["A", "B"]).verdict
    >>> verdict.kind, verdict.winners
    ('genuine', {'ndcg_linear@10': 'A', 'ndcg_exp@10': 'B'})
    """

    kind: Kind
    material: bool
    within_margin: bool
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    left_out: dict[str, int]
    winners: dict[str, str]
    common_best: tuple[str, ...]
    best_sets: dict[str, tuple[str, ...]]
    p_value: float
    price: float
    price_lower: float
    safe_choice: str
    safe_regret: float
    safe_regret_upper: float
    means: PerModel
    regrets: PerModel
    regrets_lower: PerModel
    regrets_upper: PerModel
    detectable: float
    flags: tuple[Flag, ...]
    bounds: BoundKind = "asymptotic"
    shortage: str = ""
    unjudged: UnjudgedDocuments | None = None
    searched: int | None = None
    variance: dict[str, VarianceComponents] = field(default_factory=dict)

    @classmethod
    def from_sample(cls, sample: Sample, names: tuple[str, ...], margin: float) -> Verdict:
        """Compute a verdict from a validated sample. Reports of a single metric use the verdict on that metric."""
        alpha, counts = sample.alpha, sample.panel.counts(names)
        joint = sample.joint(names)
        panel, estimated, bootstrap = joint
        betting, is_single = sample.bounds == "betting", len(names) == 1
        evidence = bet_on_models(sample, names, alpha) if betting else test_models(joint, alpha)
        models = np.array(panel.models, dtype=object)
        winner = estimated.tied.argmax(axis=1)
        is_enough = estimated.repeats is None or estimated.repeats.are_enough
        worst = np.maximum(0.0, estimated.difference.max(axis=2)).max(axis=0)
        risk = evidence.upper.max(axis=0) if is_single or np.isfinite(evidence.upper).all() else worst
        # A model that another one is shown to be better than is no choice, even if its own loss has a smaller bound.
        risk = np.where(evidence.common_best, risk, np.inf) if evidence.common_best.any() else risk
        safe = int(np.argmax(risk <= risk.min() + estimated.tolerance.max()))
        safe = int(winner[0]) if is_single and risk[winner[0]] == risk.min() else safe
        within = bool((evidence.upper[:, winner] <= margin).all())

        def by_model(table: Any) -> PerModel:
            rows = (dict(zip(panel.models, row.tolist(), strict=True)) for row in table)
            return dict(zip(names, rows, strict=True))

        return cls(
            kind=_find_kind(evidence, within and is_enough),
            material=evidence.price_lower > margin,
            within_margin=within,
            metrics=names,
            models=panel.models,
            queries=panel.queries,
            left_out=counts.left_out,
            winners={name: models[place] for name, place in zip(names, winner, strict=True)},
            common_best=tuple(models[evidence.common_best]),
            best_sets={name: tuple(models[row]) for name, row in zip(names, evidence.may_be_best, strict=True)},
            p_value=evidence.p_value,
            price=float(worst.min()),
            price_lower=evidence.price_lower,
            safe_choice=models[safe],
            safe_regret=float(worst[safe]),
            safe_regret_upper=float(evidence.upper[:, safe].max()),
            means=by_model(map(panel.in_unit, names, estimated.mean)),
            regrets=by_model(np.maximum(0.0, estimated.difference.max(axis=2))),
            regrets_lower=by_model(evidence.lower),
            regrets_upper=by_model(evidence.upper),
            detectable=math.inf
            if betting or is_single
            else estimate_detectable_difference(bootstrap, alpha, evidence.common_best, winner),
            flags=(*find_left_out_flags(counts), *find_flags(panel, estimated, alpha)),
            bounds=sample.bounds,
            shortage="" if betting else estimated.shortage or describe_few_repeats(panel.evidence["repeats"]),
            variance=estimate_variance_components(panel, estimated.repeats),
            **sample.describe(margin),
            **panel.evidence,
        )

    @property
    def in_question(self) -> tuple[str, ...]:
        """Models that matter to the choice: those that may be best under both, the winners and the safe choice."""
        relevant = {*self.common_best, *self.winners.values(), self.safe_choice}
        return tuple(model for model in self.models if model in relevant)

    @cached_property
    def metrics_coincide(self) -> bool:
        """Whether both metrics have the same values, as both NDCGs have with labels 0 and 1."""
        first, *others = self.metrics
        tables = (self.means, self.regrets, self.regrets_upper)
        pairs = [
            (table[first][model], table[name][model]) for table in tables for name in others for model in self.models
        ]
        return bool(pairs) and all(math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-12) for pair in pairs)

    @property
    def unit(self) -> str:
        """What is compared: "run" for TREC runs, "configuration" if every model is one, otherwise "model"."""
        if self.unjudged is not None:
            return "run"
        return "configuration" if self.repeats and all(self.repeats.values()) else "model"

    @property
    def are_identical(self) -> bool:
        """Whether all models have the same values on every query."""
        pairs = len(self.models) * (len(self.models) - 1) // 2
        return any(flag.code == "identical models" and len(flag.pairs) == pairs for flag in self.flags)

    @property
    def is_open(self) -> bool:
        """Whether no model is recommended, whatever the bounds are."""
        return self.searched is not None or bool(self.describe_obstacle({}))

    @property
    def named_choice(self) -> str | None:
        """The safe choice if the first sentence names it, because its loss is bounded or it is the best, or None."""
        is_unbounded = self.are_identical or math.isinf(self.safe_regret_upper)
        if self.is_open or (is_unbounded and self.kind != "agree"):
            return None
        return self.safe_choice

    def describe_obstacle(self, names: Mapping[str, str]) -> str:
        """Return why no model is recommended, whatever the bounds are, or an empty text. `names` are for sentences."""
        names = {model: names.get(model, model) for model in self.models}
        if self.shortage and self.shortage == describe_few_repeats(self.repeats):
            return describe_few_repeats({names[model]: number for model, number in self.repeats.items()})
        if self.shortage or self.unjudged is None:
            return self.shortage
        return self.unjudged.describe_obstacle(self.winners, self.lower_is_better, names)

    @cached_property
    def text(self) -> str:
        """One paragraph: the question, its answer, advice, and the numbers behind them."""
        names = {model: printable(model) for model in self.models}
        parts = (format_question(self), format_headline(self, names), format_advice(self, names))
        text = [as_text(part).removeprefix("★ ") for part in parts if part] + [_describe_means(self)]
        if self.winners[self.metrics[0]] != self.winners[self.metrics[1]]:
            text.append(_describe_cost(self))
        text += describe_losses(self.lower_is_better)
        if self.unjudged is not None:
            relevant = self.in_question
            text += self.unjudged.text([*relevant, *(model for model in self.models if model not in relevant)])
        text += [flag.message for flag in self.flags if flag.code != "one model" and flag.message != self.shortage]
        return printable(" ".join([*text, self.about]))

    @property
    def about(self) -> str:
        """Sentences about which parts are a sample and which are fixed, and for which losses bounds are valid."""
        return describe_sample(self, self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON. Infinite bounds become None."""
        content: dict[str, Any] = plain({item.name: getattr(self, item.name) for item in fields(self)})
        return content | {"text": self.text}


class Evidence(NamedTuple):
    """Results of the tests and bounds of a verdict.

    Attributes
    ----------
    p_value : float
        P-value of the hypothesis that some model is best under both metrics.
    common_best : ndarray of bool, shape (M,)
        Models that may be best under both metrics.
    may_be_best : ndarray of bool, shape (2, M)
        Models that may be best under each metric.
    lower, upper : ndarray, shape (2, M)
        Bounds of regrets.
    price_lower : float
        Lower bound of the price of disagreement.
    """

    p_value: float
    common_best: Bools
    may_be_best: Bools
    lower: Floats
    upper: Floats
    price_lower: float


def test_models(joint: JointEstimate, alpha: float) -> Evidence:
    """Test which models may be best, and bound the regrets."""
    _, estimated, bootstrap = joint
    if len(estimated.mean) == 1:
        return _test_single_metric(estimated, bootstrap, alpha)
    both = BestTest(estimated, bootstrap, alpha)
    # Either of two tied models may have the higher mean, so the error of naming one is twice that of a single test.
    single = [BestTest(estimated, bootstrap, alpha / 2, rows=[row]) for row in (0, 1)]
    # A model that may be best under both may also be best under each.
    may_be_best = np.array([test.not_rejected | both.not_rejected for test in single])
    steps = MAX_STEPS if len(may_be_best[0]) <= MAX_MODELS else 0
    return Evidence(
        p_value=both.p_value,
        common_best=both.not_rejected,
        may_be_best=may_be_best,
        lower=np.where(may_be_best, 0.0, [test.bound_regrets(steps) for test in single]),
        upper=bound_regrets_from_above(bootstrap.bound_pairs(alpha)),
        price_lower=float(both.bound_regrets().min()) if not both.not_rejected.any() else 0.0,
    )


def _test_single_metric(estimated: Estimate, bootstrap: BootstrapDraws, alpha: float) -> Evidence:
    """Test which models may be best under a single metric. Its regrets have the bounds of `Comparison.standings`."""
    (bounds,) = bootstrap.bound_pairs(alpha)
    test = BestTest(estimated, bootstrap, alpha / 2)
    lower = np.where(test.not_rejected, 0.0, np.maximum(0.0, bounds.max(axis=1)))[None]
    upper = np.minimum(bound_regrets_from_above(bounds), estimated.widths[0])[None]
    return Evidence(test.p_value, test.not_rejected, test.not_rejected[None], lower, upper, 0.0)


def bet_on_models(sample: Sample, names: tuple[str, ...], alpha: float) -> Evidence:
    """Bound the regrets by betting, with simultaneous bounds of the differences to the winner of each metric.

    All ordered pairs under both metrics share the level, so the selection of the winners needs no further correction.
    """
    panel, estimated, _ = sample.joint(names)
    values = panel.values[:, :, order_queries(sample.compute_digests(names))]
    metrics, models, queries = values.shape
    level, winner = alpha / max(1, metrics * models * (models - 1)), estimated.tied.argmax(axis=1)
    lower, upper, p_values = np.zeros((metrics, models)), np.zeros((metrics, models)), np.ones((metrics, models))
    for row, width in enumerate(estimated.widths.tolist()):
        for k in np.flatnonzero(np.arange(models) != winner[row]).tolist():
            behind = values[row, winner[row]] - values[row, k]
            lower[row, k] = bound_mean(behind, width, level, queries)
            upper[row, k] = -bound_mean(-behind, width, level, queries)
            p_values[row, k] = min(1.0, find_p_value(behind, width, level, queries) * alpha / level)
    # The winner may be behind a model by the negative lower bound of that model, and all others by as much more.
    upper += np.maximum(0.0, -lower.min(axis=1))[:, None]
    lower = np.maximum(0.0, lower)
    largest = lower.max(axis=0)
    return Evidence(
        float(p_values.min(axis=0).max()), largest == 0, lower == 0, lower, np.maximum(0.0, upper), float(largest.min())
    )


def _find_kind(evidence: Evidence, within: bool) -> Kind:
    """Return the kind of the verdict.

    If a single model may be best under each metric, it beats all others, because a model that ties would be in the set
    as well. The claim is about both metrics at once and needs no further correction.
    """
    if not evidence.common_best.any():
        return "genuine"
    if evidence.may_be_best[0].sum() == 1 and (evidence.may_be_best == evidence.may_be_best[0]).all():
        return "agree"
    return "immaterial" if within else "unresolved"


@dataclass(frozen=True)
class Choice:
    """Sentences about the model to choose. The regret of a model is its larger one under the metrics.

    `names` are the names of the models for sentences.
    """

    verdict: Verdict
    names: Mapping[str, str]

    @property
    def best(self) -> str | None:
        """Model that is better than every other one under every metric, at level `alpha`."""
        return self.verdict.winners[self.verdict.metrics[0]] if self.verdict.kind == "agree" else None

    @cached_property
    def obstacle(self) -> str:
        """Sentence about why no model is recommended whatever the bounds are, or an empty text."""
        return self.verdict.describe_obstacle(self.names)

    @cached_property
    def labels(self) -> tuple[MetricLabel, ...]:
        """Names of the metrics for sentences, of one if all have the same values."""
        labels = label_metrics(self.verdict.metrics)
        return labels[:1] if self.verdict.metrics_coincide else labels

    @property
    def level(self) -> str:
        """Confidence of the bounds."""
        return format_confidence(self.verdict.alpha)

    @property
    def is_bounded(self) -> bool:
        """Whether the regret of the safe choice has an upper bound."""
        return math.isfinite(self.verdict.safe_regret_upper)

    @property
    def is_within_margin(self) -> bool:
        """Whether the safe choice is within the margin of the best."""
        return self.is_bounded and self.verdict.safe_regret_upper <= self.verdict.margin

    @property
    def is_undecided(self) -> bool:
        """Whether the bounds recommend no model, although nothing else prevents a recommendation."""
        excludes_some = len(self.verdict.common_best) < len(self.verdict.models)
        is_narrowed = self.is_bounded and not self.verdict.margin and excludes_some
        return not self.obstacle and self.best is None and not self.is_within_margin and not is_narrowed

    @property
    def under(self) -> str:
        """The two metrics after a blank, such as " by linear and by exponential gain". Empty for a single number."""
        return f" by {self.labels[0].short} and by {self.labels[1].long}" if len(self.labels) > 1 else ""

    @property
    def details(self) -> str:
        """The confidence of a bound, after the two metrics if the bound does not name them."""
        return f"{f',{self.under}' if self.under and self.measure else ''} ({self.level})"

    @property
    def measure(self) -> str:
        """The measure that both metrics are variants of. Empty for other metrics, whose units may differ."""
        return self.labels[0].measure

    def _join_leads(self, leads: Mapping[str, float]) -> str:
        """Return lower bounds with their measures: the smaller one of two variants, otherwise one for each metric."""
        margin = self.verdict.margin
        if self.measure:
            return f"{round_bound(min(leads.values()), False, margin)} {self.measure}"
        return " and ".join(f"{round_bound(leads[name], False, margin)} {printable(name)}" for name, *_ in self.labels)

    def _format_share(self, bounds: Mapping[str, float]) -> str:
        """Return the largest share that upper bounds have of the best mean after a blank, or an empty text."""
        best = {metric: means[self.verdict.winners[metric]] for metric, means in self.verdict.means.items()}
        if self.verdict.lower_is_better or min(best[metric] for metric in bounds) <= 0:
            return ""
        percent = max(100 * bound / best[metric] for metric, bound in bounds.items())
        if percent >= 50:  # Larger shares are not informative, and look like the confidence that follows.
            return ""
        places = 1 if percent < 10 else 0
        return f" ({math.ceil(percent * 10**places - 1e-6) / 10**places:.{places}f} %)"

    def _bound_regrets(self, model: str, behind: str = "") -> str:
        """Return the upper bounds of the regrets of a model: the larger one of two variants, or one by each metric.

        `behind` follows the first bound. An example is " behind the best".
        """
        upper = self.verdict.regrets_upper

        def bound(metrics: Sequence[str], measure: str = "") -> str:
            bounds = {metric: upper[metric][model] for metric in metrics}
            size = round_bound(max(bounds.values()), up=True, limit=self.verdict.margin)
            return f"{size}{measure}{self._format_share(bounds)}"

        names = [label.name for label in self.labels]
        if self.measure or len(names) == 1:
            return f"{bound(self.verdict.metrics, f' {self.measure or printable(names[0])}')}{behind}"
        first, second = sorted(names, key=lambda metric: upper[metric][model] == 0)
        rest = "not behind" if behind and upper[second][model] == 0 else bound([second])
        return f"{bound([first])}{behind} by {printable(first)} and {rest} by {printable(second)}"

    def _find_worst(self, model: str) -> float:
        """Return the upper bound of the larger regret of a model."""
        return max(bounds[model] for bounds in self.verdict.regrets_upper.values())

    def _describe_worst(self, model: str, among: str = "") -> str:
        """Return how far a model is behind the best at worst, or that it is not. `among` describes the models."""
        behind = f" behind the best{among}"
        if self._find_worst(model):
            return f"at worst {self._bound_regrets(model, behind)}"
        return f"not{behind}{'' if self.measure else self.under}"

    def describe(self) -> str:
        """Return the model to choose or the safest one, if the queries do not show that the metrics disagree."""
        verdict, total, possible = self.verdict, len(self.verdict.models), self.verdict.common_best
        if self.obstacle:
            return f"No choice yet: {self.obstacle}"
        if self.best is not None:
            return self._describe_best(self.best)
        safe, name = verdict.safe_choice, self.names[verdict.safe_choice]
        if self.is_within_margin:
            margin = f", within the margin of {format_exact(verdict.margin)}" if verdict.margin else ""
            worst = self._describe_worst(safe, f" of {total}")
            return f"{format_choice('Choose', name)}: {worst}{self.details}{margin}."
        if not self.is_undecided:
            least = min(map(self._find_worst, verdict.models))
            is_safest = math.isclose(self._find_worst(safe), least, rel_tol=1e-6, abs_tol=1e-12)
            among = f"{total}" if is_safest else f"the {len(possible)} that may be best"
            return f"Safest of {among}: {styled('b n', name)}, {self._describe_worst(safe)}{self.details}."
        subject = f"{len(possible)} of {total} {verdict.unit}s"
        if len(possible) == 1:
            subject = f"only {styled('b n', self.names[possible[0]])}"
        text = f"No choice yet: {subject} may be best{self.under}."
        if not self.is_bounded:
            return text
        margin = f", more than the margin of {format_exact(verdict.margin)}" if verdict.margin else ""
        start = "It" if possible == (safe,) else f"{styled('b n', name)}, the safest,"
        return f"{text} {start} may be up to {self._bound_regrets(safe, ' behind')} ({self.level}){margin}."

    def _describe_best(self, best: str) -> str:
        """Return by how much a model is better than all others.

        This is below the bound of the next model, which is valid at half the level. The other half is the probability
        that the best model is rejected.
        """
        others, name = [model for model in self.verdict.models if model != best], styled("b n", self.names[best])
        rest = f"the {len(others)} others" if len(others) > 1 else styled("n", self.names[others[0]])
        subject = f"Run {name}" if self.verdict.unit == "run" else name
        under = self.under if self.measure else ""
        leads = {metric: min(map(lower.__getitem__, others)) for metric, lower in self.verdict.regrets_lower.items()}
        return f"{subject} is better than {rest}{under} ({self.level}): by at least {self._join_leads(leads)}."

    def describe_possible(self, selected: str | None, detectable: str = "") -> Iterator[str]:
        """Yield the models that may be best, and what to do if there are several.

        They are not repeated if the first sentence has stated them. `detectable` is a sentence about small differences.
        """
        possible, unit = self.verdict.common_best, self.verdict.unit
        number, is_stated = len(possible), self.is_undecided and selected is None
        subject = join_names([styled("n", self.names[model]) for model in possible], word="or")
        if number > MAX_NAMED:
            subject = f"{number} of {len(self.verdict.models)} {unit}s"
        if not is_stated or 1 < number <= MAX_NAMED:
            both = " by both metrics" if self.under else ""
            yield f"{'Only ' if number == 1 else ''}{subject} may be best{both}."
        if number > 1:
            yield from filter(None, [detectable])
            evidence = "queries and repeats" if self.verdict.repeats else "queries"
            yield styled("b", f"Add {evidence}, not {unit}s.")

    def describe_identical(self) -> str:
        """Return that all models have the same values, and the difference that remains possible."""
        subject = join_names([styled("n", self.names[model]) for model in self.verdict.models])
        text = f"{subject} have the same values on all {self.verdict.queries:,} queries."
        bound = self._bound_regrets(self.verdict.safe_choice) if self.is_bounded else ""
        return f"{text} A difference up to {bound} remains possible." if bound else text

    def describe_search(self) -> str:
        """Return the models with the best means, after a search on these queries.

        The bounds do not include candidates that are not compared, so no model is recommended.
        """
        leaders = [styled("b n", self.names[self.verdict.winners[label.name]]) for label in self.labels]
        text = leaders[0]
        if len(set(leaders)) > 1:
            text = " and ".join(f"{leader} by {label.long}" for leader, label in zip(leaders, self.labels, strict=True))
        return (
            f"Leading on the validation set: {text}, selected here from {self.verdict.searched:,} candidates. "
            "Confirm the choice on a test set."
        )

    def describe_uncovered(self, searched: int) -> str:
        """Return how many candidates of a search the bounds do not cover."""
        rest = searched - len(self.verdict.models)
        return f"The bounds do not cover the search, because {rest:,} of its candidates are not compared."

    def describe_compromise(self) -> str:
        """Return the safe choice of two metrics that disagree after a blank, or an empty text without a bound."""
        if not self.is_bounded:
            return ""
        safe, either = self.verdict.safe_choice, " by either" if self.measure else ""
        return f" Compromise: {styled('b n', self.names[safe])}, {self._describe_worst(safe)}{either} ({self.level})."

    def describe_selected(self, selected: str, searched: int | None = None) -> str:
        """Return whether the test set confirms a model that a validation set selected from `searched` candidates.

        It rules out a model that is shown to be behind the best, unless the model is within the margin.
        """
        among = "" if searched is None else f" from {searched:,} candidates"
        name, total = styled("b n", self.names[selected]), len(self.verdict.models)
        behind = {metric: lower[selected] for metric, lower in self.verdict.regrets_lower.items()}
        farthest = max(label_metrics(self.verdict.metrics), key=lambda label: behind[label.name])
        bound, margin = self._find_worst(selected), self.verdict.margin
        if behind[farthest.name] and bound > margin:
            by = f" by {farthest.long}" if self.under else ""
            return (
                f"The test set rules out {name}, which the validation set selected{among}: it is at least "
                f"{round_bound(behind[farthest.name], False, margin)} behind the best{by} ({self.level})."
            )
        choice = f"{format_choice('Choose', self.names[selected])}, selected on the validation set{among}"
        if selected == self.best:
            return f"{choice}: it is also the best of {total} on the test set{self.details}."
        worst = f"{self._describe_worst(selected, f' of {total} on the test set')}{self.details}"
        if bound <= margin:
            return f"{choice}: {worst}{f', within the margin of {format_exact(margin)}' if margin else ''}."
        choice = f"Selected on the validation set{among}: {name}"
        if not math.isfinite(bound):
            return f"{choice}. The test set does not bound its distance from the best."
        return f"{choice}, {worst}."

    def describe_disagreement(self, selected: str | None) -> Iterator[str]:
        """Yield what to do if the validation set and the test set choose different models."""
        if selected is not None and self.obstacle:
            yield f"Selected on the validation set: {styled('n', self.names[selected])}."
            return
        if selected is None or selected == self.verdict.safe_choice:
            return
        favored, gaps = styled("n", self.names[self.verdict.safe_choice]), self.verdict.regrets.values()
        ahead = [regrets[selected] - regrets[self.verdict.safe_choice] for regrets in gaps]
        if min(ahead) >= 0 and max(ahead) > 0:
            yield f"The test set favors {favored}."
        elif self._find_worst(self.verdict.safe_choice) < self._find_worst(selected):
            yield f"On the test set, {favored} has a smaller worst case."
        if self.best == self.verdict.safe_choice:
            yield f"{favored} is better than every other {self.verdict.unit} ({self.level})."
        if any(lower[selected] > 0 for lower in self.verdict.regrets_lower.values()):
            yield "To choose by the test set, confirm the choice on a new one."
            yield "A larger validation set or folds select more reliably."


def format_choice(verb: str, name: str) -> str:
    """Return a recommendation, such as "★ Choose blend", with emphasis."""
    return f"{styled('b', f'★ {verb} ')}{styled('b n', name)}"


def format_question(verdict: Verdict) -> str:
    """Return the question that the headline answers, with the size of the sample."""
    number, unit = len(verdict.models), verdict.unit
    if len(verdict.metrics) == 1:
        size = f"{pluralize(number, unit)}, {format_sample_size(verdict.queries, verdict.clusters)}"
        return f"Which {unit} is best under {verdict.metrics[0]}? {size}."
    question = f"Which of {number} {unit}s is {'better' if number == 2 else 'best'}?"
    question = question if number > 1 else f"How good is this {unit}?"
    return f"{question} {format_sample_size(verdict.queries, verdict.clusters)}, {style_metrics(verdict.metrics)}."


def format_headline(
    verdict: Verdict, names: Mapping[str, str], selected: str | None = None, searched: int | None = None
) -> str:
    """Return which model to choose, and how sure this is, in a sentence that is true for every set of models.

    `names` are the names of models for sentences. A model that was selected on a validation set is the choice, unless
    the test set rules it out. `searched` is the number of candidates of that selection.
    """
    unit, choice = verdict.unit, Choice(verdict, names)
    if len(verdict.models) == 1:
        return f"One {unit}: add a second one to compare it with."
    if NO_EVIDENCE_FLAG in verdict.flags:
        return f"These queries cannot distinguish {unit}s: each has one document or equal labels."
    obstacle = verdict.shortage if len(verdict.metrics) > 1 else choice.obstacle
    if verdict.searched is not None and not obstacle:
        return choice.describe_search()
    if choice.obstacle:
        return choice.describe()
    if selected is not None:
        return choice.describe_selected(selected, searched)
    if verdict.kind == "genuine":
        return f"{_describe_conflict(verdict, names)}{choice.describe_compromise()}"
    if verdict.are_identical and verdict.kind != "agree":
        return choice.describe_identical()
    return choice.describe()


def _describe_conflict(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Return that no model is best, with the winners if each is the only one that may be best under its metric."""
    first, second = label_metrics(verdict.metrics)
    sets = [verdict.best_sets[metric] for metric in verdict.metrics]
    if any(len(models) > 1 for models in sets):
        both = "linear and by exponential gain" if first.measure else f"{first.name} and by {second.name}"
        return f"No {verdict.unit} is best by {both}."
    winners = [styled(f"n {style}", names[models[0]]) for models, style in zip(sets, "le", strict=True)]
    by, last = ("gain", second.long) if first.measure else ("metric", second.name)
    return f"It depends on the {by}: {winners[0]} is best by {first.short}, {winners[1]} by {last}."


def describe_agreement(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Return whether the metrics disagree about the best model, for pages with another first sentence."""
    question = "Do the two metrics disagree about the best?"
    if verdict.kind == "genuine":
        return f"{question} Yes: {_describe_conflict(verdict, names)}"
    if verdict.kind == "agree":
        level = format_confidence(verdict.alpha)
        return f"{question} No: {names[verdict.winners[verdict.metrics[0]]]} is best by both ({level})."
    return f"{question} Not shown: {describe_possible(verdict)}"


def describe_possible(verdict: Verdict) -> str:
    """Return how many models may be best under both metrics, without a recommendation."""
    number = len(verdict.common_best)
    subject = f"{number} of {len(verdict.models)} {verdict.unit}s may be" if number else f"No {verdict.unit} is"
    return f"{subject} best by both metrics ({format_confidence(verdict.alpha)})."


def format_advice(verdict: Verdict, names: Mapping[str, str], selected: str | None = None) -> str:
    """Return the evidence behind the headline: the p-value, the models that may be best, what the queries can show."""
    if len(verdict.models) == 1:
        return ""
    if NO_EVIDENCE_FLAG in verdict.flags:
        return "Check the query ids and the labels."
    choice = Choice(verdict, names)
    if len(verdict.metrics) == 1:
        return " ".join(_describe_single(verdict, choice, selected))
    if verdict.shortage:
        extreme, winners = "Best" if verdict.lower_is_better else "Highest", dict.fromkeys(verdict.winners.values())
        parts = [f"{extreme} mean in this sample: {join_names([styled('n', names[model]) for model in winners])}."]
        parts += choice.describe_disagreement(selected)
    elif verdict.searched is not None:
        parts = [choice.describe_uncovered(verdict.searched)]
    else:
        parts = [*choice.describe_disagreement(selected), *_describe_kind(verdict, choice, selected)]
        if not choice.is_bounded and not verdict.are_identical:
            missing = "" if verdict.repeats else f", by an {UNKNOWN_RANGE}"
            parts.append(f"The losses have no bound, because models differ on few queries{missing}.")
    if verdict.metrics_coincide:
        parts.append("Both metrics have the same values on these data.")
    return " ".join(parts)


def _describe_single(verdict: Verdict, choice: Choice, selected: str | None) -> Iterator[str]:
    """Yield sentences about the models that may be best under a single metric."""
    if verdict.searched is not None and not choice.obstacle:
        yield choice.describe_uncovered(verdict.searched)
    elif choice.obstacle or choice.best is not None or selected is not None or not verdict.are_identical:
        yield from choice.describe_disagreement(selected)
        yield from choice.describe_possible(selected) if choice.best is None and not choice.obstacle else ()


def _describe_kind(verdict: Verdict, choice: Choice, selected: str | None) -> Iterator[str]:
    """Yield sentences about the kind of the verdict."""
    margin = f"the margin of {format_exact(verdict.margin)}"
    within = f"Whichever metric you choose by, the loss is at most {margin}."
    if verdict.kind == "genuine":
        least = round_bound(verdict.price_lower, up=False)
        is_close = verdict.material and least == round_bound(verdict.margin, up=False)
        loss = f"more than {margin}" if is_close else f"at least {least}"
        yield f"Any choice loses {loss} by one of the two (p\xa0=\xa0{format_p_value(verdict.p_value)})."
        if not verdict.margin or is_close:
            return
        if verdict.material:
            yield f"That exceeds {margin}."
        elif verdict.within_margin:
            yield within
        elif choice.is_within_margin:
            yield f"The compromise is within {margin}."
        else:
            yield f"It is open whether the loss exceeds {margin}."
    elif verdict.kind == "agree":
        # With an obstacle, the headline does not name the best model alone, so "the next" would be ambiguous.
        yield from [_describe_distance(verdict)] if selected in (None, choice.best) and not choice.obstacle else []
    elif verdict.kind == "immaterial":
        yield within
    elif not verdict.are_identical:
        detectable = ""
        if math.isfinite(verdict.detectable):
            size = round_bound(verdict.detectable, up=True)
            either = "" if choice.measure or len(choice.labels) < 2 else " by either metric"
            detectable = f"{pluralize(verdict.queries, 'query')} can show differences of about {size} or more{either}."
        yield from choice.describe_possible(selected, detectable)


def _describe_distance(verdict: Verdict) -> str:
    """Return the distance of the common winner from the next model under each metric, in this sample."""
    distances = []
    for label, style in zip(label_metrics(verdict.metrics)[: 1 if verdict.metrics_coincide else 2], "le", strict=False):
        distance = styled(style, format_size(sorted(verdict.regrets[label.name].values())[1]))
        distances.append(distance if verdict.metrics_coincide else f"{distance} ({label.long})")
    following = "The other one" if len(verdict.models) == 2 else "The next"
    return f"{following} is {' and '.join(distances)} behind in this sample."


def _describe_means(verdict: Verdict) -> str:
    """Return the means of the winners, or of the only model."""
    parts, previous = [], ""
    for metric in verdict.metrics:
        extreme, winner = "lowest " if metric in verdict.lower_is_better else "highest ", verdict.winners[metric]
        subject = "" if winner == previous else f"{winner} has "
        mean = f"{extreme if len(verdict.models) > 1 else ''}mean {metric}"
        parts.append(f"{subject}the {mean} ({format_mean(verdict.means[metric][winner])})")
        previous = winner
    return f"{' and '.join(parts)}."


def _describe_cost(verdict: Verdict) -> str:
    """Return the cost of choosing by one metric under the other."""
    parts = []
    for metric, other in (verdict.metrics, verdict.metrics[::-1]):
        winner = verdict.winners[metric]
        regret = format_size(verdict.regrets[other][winner])
        cost = f"adds {regret} to {other}" if other in verdict.lower_is_better else f"costs {regret} of {other}"
        parts.append(f"choosing {winner} {cost}")
    return f"In this sample {parts[0]}, and {parts[1]}."


def describe_sample(scope: Scope, bounds: BoundKind) -> str:
    """Return the sentences about which parts are a sample, which are fixed, and whether retraining is covered.

    Bounds by betting require fixed models. They also cover losses that the sample does not contain.
    """
    queries = "queries" if scope.clusters is None else "clusters of queries"
    recipes = {model: number for model, number in scope.repeats.items() if number}
    if not recipes:
        return SAMPLE.replace("queries", queries, 1) + (BETTING if bounds == "betting" else "")
    fewest, most = min(recipes.values()), max(recipes.values())
    times = f"{fewest} times" if fewest == most else f"{fewest} {'or' if most == fewest + 1 else 'to'} {most} times"
    if len(recipes) == 1:
        subject = f"{next(iter(recipes))} is a training configuration, trained {times}"
    else:
        names = "The models" if len(recipes) == len(scope.repeats) else join_names(list(recipes))
        subject = f"{names} are training configurations, trained {times} each"
    coverage = {
        "seed": ". Another seed is covered, other training data are not",
        "queries": " on resampled training queries. Another seed and another such sample are covered, and all means "
        "are those of training on resampled queries",
        None: ". Another such repeat is covered, and every difference between repeats counts as random",
    }[scope.vary]
    rest = ""
    if fixed := [model for model, number in scope.repeats.items() if not number]:
        rest = f" {join_names(fixed)} {'is' if len(fixed) == 1 else 'are'} fixed, so retraining is not covered."
    failures = (
        f"Results are valid if no training failed: {fewest} repeats without a failure exclude failure rates above "
        f"{100 * (1 - 0.05 ** (1 / fewest)):.0f} %."
    )
    return f"The {queries} and the repeats are random samples. {subject}{coverage}.{rest} {failures}"


def describe_few_repeats(repeats: Mapping[str, int]) -> str:
    """Return the sentence that some configurations have too few repeats, or an empty text.

    >>> describe_few_repeats({"A": 3, "B": 0, "C": 5})
    'A has 3 repeats. Statements about several models require 5.'
    """
    few = [model for model, number in repeats.items() if 0 < number < FEW_REPEATS]
    if not few:
        return ""
    verb = "has" if len(few) == 1 else "have"
    numbers = sorted({repeats[model] for model in few})
    return (
        f"{join_names(few)} {verb} {join_names(list(map(str, numbers)), word='or')} repeats. Statements about several "
        f"models require {FEW_REPEATS}."
    )


def format_sample_size(queries: int, clusters: int | None) -> str:
    """Return the number of queries, and of their clusters."""
    in_clusters = "" if clusters is None else f" in {pluralize(clusters, 'cluster')}"
    return f"{pluralize(queries, 'query')}{in_clusters}"


def describe_losses(losses: Sequence[str]) -> list[str]:
    """Return a sentence that names the metrics whose lower values are better, if there are any.

    >>> describe_losses(["shortfall"])
    ['A lower value of shortfall is better.']
    >>> describe_losses(["shortfall", "lost@10"])
    ['Lower values of shortfall and lost@10 are better.']
    """
    if len(losses) < 2:
        return [f"A lower value of {metric} is better." for metric in losses]
    return [f"Lower values of {join_names(losses, most=len(losses))} are better."]


def style_metrics(metrics: tuple[str, ...]) -> str:
    """Return the names of metrics in their colors."""
    return " and ".join(styled(style, metric) for style, metric in zip("le", metrics, strict=False))
