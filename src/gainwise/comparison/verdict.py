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
from .bounds import BoundKind, bound_mean, find_p_value, order_queries
from .choice import Choice, label_metrics
from .estimates import VarianceComponents, estimate_variance_components
from .flags import NO_EVIDENCE_FLAG, Flag, UnjudgedDocuments, find_flags, find_left_out_flags
from .inference import (
    MAX_MODELS,
    MAX_STEPS,
    JointEstimate,
    Sample,
    bound_regrets_from_above,
    estimate_detectable_difference,
    two_step_test,
)
from .panel import FEW_REPEATS, Vary

Kind: TypeAlias = Literal["genuine", "agree", "immaterial", "unresolved"]

SAMPLE = "The queries are the random sample and the models are fixed, so another training seed is not covered."
"""Sentence about fixed models."""

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
class Verdict(Settings, Scope, TextResult):
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
        Model with the smallest upper bound of its larger regret.
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
    metrics: tuple[str, str]
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
    def from_sample(cls, sample: Sample, names: tuple[str, str], margin: float) -> Verdict:
        """Compute a verdict from a validated sample."""
        alpha, counts = sample.alpha, sample.panel.counts(names)
        joint = sample.joint(names)
        panel, estimated, bootstrap = joint
        betting = sample.bounds == "betting"
        evidence = bet_on_models(sample, names, alpha) if betting else test_models(joint, alpha)
        models = np.array(panel.models, dtype=object)
        winner = estimated.tied.argmax(axis=1)
        is_enough = estimated.repeats is None or estimated.repeats.are_enough
        worst = np.maximum(0.0, estimated.difference.max(axis=2)).max(axis=0)
        risk = evidence.upper.max(axis=0) if np.isfinite(evidence.upper).all() else worst
        safe = int(np.argmax(risk <= risk.min() + estimated.tolerance.max()))
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
            if betting
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
        first, second = self.metrics
        tables = (self.means, self.regrets, self.regrets_upper)
        pairs = ((table[first][model], table[second][model]) for table in tables for model in self.models)
        return all(math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-12) for pair in pairs)

    @property
    def unit(self) -> str:
        """What is compared: "run" for TREC runs, "configuration" if every model is one, otherwise "model"."""
        return name_unit(self.repeats) if self.unjudged is None else "run"

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
        if self.shortage or self.unjudged is None:
            return self.shortage
        names = {model: names.get(model, model) for model in self.models}
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
        return f"{describe_sample(self.clusters, self.repeats, self.vary)}{describe_kind(self.bounds)}"

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
    both = two_step_test(estimated, bootstrap, alpha)
    # Either of two tied models may have the higher mean, so the error of naming one is twice that of a single test.
    single = [two_step_test(estimated, bootstrap, alpha / 2, rows=[row]) for row in (0, 1)]
    # A model that may be best under both may also be best under each.
    may_be_best = np.array([test.not_rejected | both.not_rejected for test in single])
    steps = MAX_STEPS if len(may_be_best[0]) <= MAX_MODELS else 0
    return Evidence(
        p_value=both.p_value,
        common_best=both.not_rejected,
        may_be_best=may_be_best,
        lower=np.where(may_be_best, 0.0, [test.bound_regrets(steps) for test in single]),
        upper=bound_regrets_from_above(bootstrap, alpha),
        price_lower=float(both.bound_regrets().min()) if not both.not_rejected.any() else 0.0,
    )


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
    if evidence.may_be_best[0].sum() == 1 and np.array_equal(*evidence.may_be_best):
        return "agree"
    return "immaterial" if within else "unresolved"


def format_question(verdict: Verdict) -> str:
    """Return the question that the headline answers, with the size of the sample."""
    number, unit = len(verdict.models), verdict.unit
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
    unit, choice = verdict.unit, _build_choice(verdict, names)
    if len(verdict.models) == 1:
        return f"One {unit}: add a second one to compare it with."
    if NO_EVIDENCE_FLAG in verdict.flags:
        return describe_no_evidence(unit)
    if verdict.searched is not None and not verdict.shortage:
        return choice.describe_search(verdict.winners, verdict.searched)
    if choice.obstacle:
        return choice.describe()
    if selected is not None:
        return choice.describe_selected(selected, searched)
    if verdict.kind == "genuine":
        return f"{_describe_conflict(verdict, names)}{choice.describe_compromise()}"
    if verdict.are_identical and verdict.kind != "agree":
        return choice.describe_identical(verdict.queries)
    return choice.describe()


def describe_no_evidence(unit: str) -> str:
    """Return that no query can distinguish two rankings."""
    return f"These queries cannot distinguish {unit}s: each has one document or equal labels."


def _build_choice(verdict: Verdict, names: Mapping[str, str]) -> Choice:
    """Return the bounds of both metrics of a verdict."""
    return Choice(
        names={model: names[model] for model in verdict.models},
        possible=verdict.common_best,
        lower=verdict.regrets_lower,
        upper=verdict.regrets_upper,
        best_mean={metric: verdict.means[metric][verdict.winners[metric]] for metric in verdict.metrics},
        safe=verdict.safe_choice,
        margin=verdict.margin,
        alpha=verdict.alpha,
        best=verdict.winners[verdict.metrics[0]] if verdict.kind == "agree" else None,
        unit=verdict.unit,
        merged=verdict.metrics_coincide,
        have_shares=not verdict.lower_is_better,
        obstacle=verdict.describe_obstacle(names),
    )


def _describe_conflict(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Return that no model is best, with the winners if each is the only one that may be best under its metric."""
    first, second = label_metrics(verdict.metrics)
    sets = [verdict.best_sets[metric] for metric in verdict.metrics]
    is_gain = first.long != first.name
    if any(len(models) > 1 for models in sets):
        both = "linear and by exponential gain" if is_gain else f"{first.name} and by {second.name}"
        return f"No {verdict.unit} is best by {both}."
    winners = [styled(f"n {style}", names[models[0]]) for models, style in zip(sets, "le", strict=True)]
    by, last = ("gain", second.long) if is_gain else ("metric", second.name)
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
    choice = _build_choice(verdict, names)
    if verdict.shortage:
        extreme, winners = "Best" if verdict.lower_is_better else "Highest", dict.fromkeys(verdict.winners.values())
        parts = [f"{extreme} mean in this sample: {join_names([styled('n', names[model]) for model in winners])}."]
        parts += choice.describe_disagreement(selected)
    elif verdict.searched is not None:
        parts = [choice.describe_uncovered(verdict.searched)]
    else:
        parts = [*choice.describe_disagreement(selected), *_describe_kind(verdict, choice, selected)]
        if not choice.is_bounded and not verdict.are_identical:
            parts.append(
                "The losses have no bound, because models differ on few queries, by an unknown range (ranges=)."
            )
    if verdict.metrics_coincide:
        parts.append("Both metrics have the same values on these data.")
    return " ".join(parts)


def _describe_kind(verdict: Verdict, choice: Choice, selected: str | None) -> Iterator[str]:
    """Yield sentences about the kind of the verdict."""
    margin = f"the margin of {format_exact(verdict.margin)}"
    within = f"Whichever metric you choose by, the loss is at most {margin}."
    if verdict.kind == "genuine":
        p_value = format_p_value(verdict.p_value).replace(" ", "\xa0")
        least = round_bound(verdict.price_lower, up=False)
        is_close = verdict.material and least == round_bound(verdict.margin, up=False)
        loss = f"more than {margin}" if is_close else f"at least {least}"
        yield f"Any choice loses {loss} by one of the two ({p_value})."
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
        yield from [_describe_distance(verdict)] if selected in (None, choice.best) else []
    elif verdict.kind == "immaterial":
        yield within
    elif not verdict.are_identical:
        detectable = ""
        if math.isfinite(verdict.detectable):
            size = round_bound(verdict.detectable, up=True)
            detectable = f"{pluralize(verdict.queries, 'query')} can show differences of about {size} or more."
        evidence = "queries and repeats" if verdict.repeats else "queries"
        yield from choice.describe_possible(selected, detectable, evidence)


def _describe_distance(verdict: Verdict) -> str:
    """Return the distance of the common winner from the next model under each metric, in this sample."""
    distances = []
    for label, style in zip(label_metrics(verdict.metrics)[: 1 if verdict.metrics_coincide else 2], "le", strict=False):
        distance = styled(style, format_size(sorted(verdict.regrets[label.name].values())[1]))
        distances.append(distance if verdict.metrics_coincide else f"{distance} ({label.long})")
    following = "The other one" if len(verdict.models) == 2 else "The next"
    return f"{following} is {' and '.join(distances)} behind in this sample."


def _describe_means(verdict: Verdict) -> str:
    """Return the means of the winners."""
    parts = []
    for metric in verdict.metrics:
        extreme, winner = "lowest" if metric in verdict.lower_is_better else "highest", verdict.winners[metric]
        parts.append(f"{winner} has the {extreme} mean {metric} ({format_mean(verdict.means[metric][winner])})")
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


def describe_sample(clusters: int | None, repeats: Mapping[str, int], vary: Vary | None) -> str:
    """Return the sentences about which parts are a sample, which are fixed, and whether retraining is covered.

    `clusters` is the number of clusters of queries, `repeats` the number of repeats of each model (0 for a fixed one,
    empty if all are fixed), and `vary` is the difference between repeats.
    """
    queries = "queries" if clusters is None else "clusters of queries"
    recipes = {model: number for model, number in repeats.items() if number}
    if not recipes:
        return SAMPLE.replace("queries", queries, 1)
    fewest, most = min(recipes.values()), max(recipes.values())
    times = f"{fewest} times" if fewest == most else f"{fewest} {'or' if most == fewest + 1 else 'to'} {most} times"
    if len(recipes) == 1:
        subject = f"{next(iter(recipes))} is a training configuration, trained {times}"
    else:
        names = "The models" if len(recipes) == len(repeats) else join_names(list(recipes))
        subject = f"{names} are training configurations, trained {times} each"
    coverage = {
        "seed": ". Another seed is covered, other training data are not",
        "queries": " on resampled training queries. Another seed and another such sample are covered, and all means "
        "are those of training on resampled queries",
        None: ". Another such repeat is covered, and every difference between repeats counts as random",
    }[vary]
    rest = ""
    if fixed := [model for model, number in repeats.items() if not number]:
        rest = f" {join_names(fixed)} {'is' if len(fixed) == 1 else 'are'} fixed, so retraining is not covered."
    failures = (
        f"Results are valid if no training failed: {fewest} repeats without a failure exclude failure rates above "
        f"{100 * (1 - 0.05 ** (1 / fewest)):.0f} %."
    )
    return f"The {queries} and the repeats are random samples. {subject}{coverage}.{rest} {failures}"


def describe_kind(bounds: BoundKind) -> str:
    """Return a sentence about bounds by betting after a blank, or an empty text."""
    if bounds == "asymptotic":
        return ""
    return " Bounds by betting also cover losses that the sample does not contain, at any number of queries."


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


def name_unit(repeats: Mapping[str, int]) -> str:
    """Return "configuration" if every model is a training configuration, otherwise "model"."""
    return "configuration" if repeats and all(repeats.values()) else "model"


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
