"""Measure the statements of verdict, pairs, gate and plan in populations that are hard for a bound.

    python research/calibration/claims_bounds.py --samples 4000

Losses are rare, skewed, or related to weights or clusters, repeats are few, or metrics disagree. The true means are
exact. Each study counts violations of statements of the public interface. The result is
`research/calibration/claims/bounds.json`. The claims without a target are limits of the method that the documentation
states.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from claims import Study, at_least, at_most, run_studies
from claims_inference import draw_repeats, draw_values
from differences import (
    BASELINE,
    CANDIDATE,
    DRAWS,
    METRICS,
    Generator,
    Lognormal,
    compare,
    draw_clustered,
    draw_rare,
    draw_weighted,
)
from scipy.special import ndtri

from gainwise import Comparison

ALPHA = 0.05
MARGIN = 0.01
BETTING = {"bounds": "betting"}
LOOKS = tuple(round(40 * 1.25**number) for number in range(13))
Result = dict[str, bool | None]


def decide(comparison: Comparison, margin: float = MARGIN, **options: Any) -> str:
    """Return the decision whether the candidate is not worse than the baseline by more than the margin."""
    return comparison.against(BASELINE, margin, require="no_loss", **options).candidates[0].decision


def covers_difference(comparison: Comparison, true: float) -> bool:
    """Return whether the intervals of the pair contain the true difference, candidate − baseline, of both metrics."""
    pair = comparison.pairs.iloc[0]
    value = true if pair["model_x"] == CANDIDATE else -true
    return all(pair[f"lower {metric}"] <= value <= pair[f"upper {metric}"] for metric in METRICS)


def covers_safe_loss(comparison: Comparison, true: float) -> bool:
    """Return whether the upper bound of the safe choice's loss covers the true loss."""
    verdict = comparison.verdict
    loss = max(0.0, -true if verdict.safe_choice == CANDIDATE else true)
    return bool(verdict.safe_regret_upper >= loss - 1e-12)


# Row 1: verdict and gate state the same.


def bound_identical_queries(rng: Generator) -> Result:
    """Compare the bounds of verdict and gate on identical queries."""
    comparison = compare(np.zeros(rng.integers(30, 1000)))
    lower = min(comparison.against(BASELINE, MARGIN, require="no_loss").candidates[0].at_least.values())
    return {"the verdict excludes more than the gate": comparison.verdict.safe_regret_upper < -lower - 1e-12}


def contradict_gate(rng: Generator) -> Result:
    """Compare the decisions of verdict and gate about rare, skewed or normal differences, with a random margin."""
    queries, margin = int(rng.integers(50, 2000)), float(rng.uniform(0.001, 0.03))
    differences = (
        draw_rare(rng, queries, 0.002),
        draw_rare(rng, queries, 0.002, 0.0005),
        Lognormal(float(rng.normal(0, 0.01))).draw(rng, queries).clip(-1, 1),
        rng.normal(rng.normal(0, 0.01), 0.1, (queries, 2)).clip(-1, 1),
    )[rng.integers(4)]
    comparison = compare(differences, margin=margin)
    verdict, decision = comparison.verdict, decide(comparison, margin)
    gain = comparison.against(BASELINE, 0.0).candidates[0].decision
    is_negligible = verdict.safe_choice == CANDIDATE and verdict.safe_regret_upper < margin
    is_best = verdict.kind == "agree" and verdict.winners[METRICS[0]]
    return {
        "the candidate's loss is within the margin, but the gate does not ship": is_negligible and decision != "ship",
        "one model is better, but the gate decides otherwise": (is_best == CANDIDATE and gain != "ship")
        or (is_best == BASELINE and gain == "ship"),
    }


# Rows 2 to 5: rare losses.


def lose_rarely(others: float, noise: float, **options: Any) -> Callable[[Generator], Result]:
    """Return a trial with 1,000 queries: the candidate loses 1 on 0.1 % of the queries, and is worse on average."""
    true = 0.999 * others - 0.001

    def trial(rng: Generator) -> Result:
        differences = draw_rare(rng, 1000, 0.001, others, noise)
        first, second = (compare(differences, margin=margin, **options) for margin in (0.0, 0.0005))
        verdicts = (first.verdict, second.verdict)
        chosen = [verdict.winners[METRICS[0]] for verdict in verdicts]
        immaterial = [
            verdict.kind == "immaterial" and name == CANDIDATE and -true > verdict.margin
            for verdict, name in zip(verdicts, chosen, strict=True)
        ]
        return {
            "the upper bound of the safe choice's loss covers": covers_safe_loss(first, true),
            "`immaterial` at margin 0, but the winner loses more": immaterial[0],
            "`immaterial` at margin .0005, but the winner loses more": immaterial[1],
            "`agree` names the worse model": verdicts[0].kind == "agree" and chosen[0] == CANDIDATE,
        }

    return trial


RARE_TARGETS = {
    "the upper bound of the safe choice's loss covers": at_least(0.95),
    "`immaterial` at margin 0, but the winner loses more": at_most(ALPHA),
    "`immaterial` at margin .0005, but the winner loses more": at_most(ALPHA),
    "`agree` names the worse model": at_most(ALPHA),
}


def cover_rare_pair(share: float) -> Callable[[Generator], Result]:
    """Return a trial: do the intervals of a pair with rare losses cover?"""

    def trial(rng: Generator) -> Result:
        return {"intervals of the pair cover": covers_difference(compare(draw_rare(rng, 3000, share)), -share)}

    return trial


def cover_mixed_pairs(rng: Generator) -> Result:
    """Compare two models that differ on 0.1 % of 3,000 queries, and two others that differ on all queries."""
    differences = np.stack([draw_rare(rng, 3000, 0.001), *rng.normal(0.0, 0.1, (2, 3000)).clip(-0.5, 0.5)], axis=1)
    comparison = compare(np.stack([differences, differences], axis=1) / 2)
    means = {BASELINE: 0.0, f"{CANDIDATE} 1": -0.0005, f"{CANDIDATE} 2": 0.0, f"{CANDIDATE} 3": 0.0}
    true = comparison.pairs["model_x"].map(means) - comparison.pairs["model_y"].map(means)
    covers = [
        (comparison.pairs[f"lower {metric}"] <= true) & (true <= comparison.pairs[f"upper {metric}"])
        for metric in METRICS
    ]
    return {"all intervals of 4 models cover": bool(np.all(covers))}


# Rows 6 to 8: skewed losses, and losses that no sample shows, at the margin of the gate.


def ship_skewed(queries: int) -> Callable[[Generator], Result]:
    """Return a trial: statements about a candidate that loses exactly the margin, with a lognormal tail of losses."""

    def trial(rng: Generator) -> Result:
        comparison = compare(Lognormal(-MARGIN).draw(rng, queries), bounded=False)
        return {
            "false ship": decide(comparison) == "ship",
            "intervals of the pair cover": covers_difference(comparison, -MARGIN),
        }

    return trial


def ship_hidden_losses(queries: int, **options: Any) -> Callable[[Generator], Result]:
    """Return a trial: does a candidate ship that loses exactly the margin, a tenth of it by losses of 1?"""
    others = (0.001 - MARGIN) / 0.999

    def trial(rng: Generator) -> Result:
        differences = draw_rare(rng, queries, 0.001, others, 0.02)
        return {"false ship": decide(compare(differences), **options) == "ship"}

    return trial


def ship_at_some_number(*, records: bool = True, **options: Any) -> Callable[[Generator], Result]:
    """Return a trial: does a skewed candidate ship at one of 13 growing numbers of queries?

    With `records`, each test has the record of the test before it.
    """
    population = Lognormal(-MARGIN, 0.05, 1.0, 18.0)

    def trial(rng: Generator) -> Result:
        differences, earlier, ships = population.draw(rng, LOOKS[-1]), None, False
        for queries in LOOKS:
            comparison = compare(differences[:queries])
            result = comparison.against(BASELINE, MARGIN, require="no_loss", earlier=earlier, **options)
            ships |= result.candidates[0].decision == "ship"
            earlier = result.to_dict() if records else None
        return {"false ship at any of them": ships}

    return trial


# Rows 9 to 11: weights, clusters, and few repeats.


def state_weighted(queries: int, deviation: float) -> Callable[[Generator], Result]:
    """Return a trial: statements about a weighted mean, if heavy queries lose more."""

    def trial(rng: Generator) -> Result:
        differences, weights = draw_weighted(rng, queries, deviation, -MARGIN)
        return state_at_margin(compare(differences, weights=weights))

    return trial


def state_clustered(clusters: int, largest: int, power: float) -> Callable[[Generator], Result]:
    """Return a trial: statements about queries in clusters, if large clusters lose more."""

    def trial(rng: Generator) -> Result:
        differences, labels = draw_clustered(rng, clusters, largest, power, -MARGIN)
        return state_at_margin(compare(differences, clusters=labels))

    return trial


def state_at_margin(comparison: Comparison) -> Result:
    """Return the statements about a candidate that loses exactly the margin."""
    decision = decide(comparison)
    return {
        "false ship": decision == "ship",
        "undecided": decision == "undecided",
        "intervals of the pair cover": covers_difference(comparison, -MARGIN),
    }


AT_MARGIN_TARGETS = {
    "false ship": at_most(ALPHA / 2),
    "undecided": at_most(),
    "intervals of the pair cover": at_least(1 - ALPHA),
}


def state_repeats(counts: tuple[int, ...]) -> Callable[[Generator], Result]:
    """Return a trial: statements about equal recipes whose error is mostly that of the repeats, under equal metrics.

    `counts` are the numbers of repeats, 0 for a fixed model.
    """

    def trial(rng: Generator) -> Result:
        values = dict.fromkeys(METRICS, draw_repeats(rng, counts)[METRICS[0]])
        comparison = Comparison(values, [BASELINE, CANDIDATE], draws=DRAWS)
        result = comparison.against(BASELINE, 0.0).candidates[0]
        covers = [result.lower[metric] <= 0 <= result.upper[metric] for metric in METRICS]
        return {
            "intervals of the gate cover": all(covers),
            "false ship": result.decision == "ship",
            "`agree`": comparison.verdict.kind == "agree",
        }

    return trial


# Row 12: plans.


def plan_from_pilot(deviation: float) -> Callable[[Generator], Result]:
    """Return a trial: is the upper end of a plan from 400 queries at least the number that ships with 80 %?

    The true number n solves the power of the test of a mean with this deviation σ and skewness g/√n:
    (δ + margin) √n / σ = q + z + g (2q² + 1) / (6 √n), with q = 1.96 and z = 0.84.
    """
    difference, scale = 0.002, 0.05
    population = Lognormal(difference, scale, deviation)
    sigma, skewness = population.compute_moments() if deviation else (scale, 0.0)
    critical, z = ndtri(0.975), ndtri(0.8)
    root = np.roots([(difference + MARGIN) / sigma, -(critical + z), skewness * (2 * critical**2 + 1) / 6]).max()

    def trial(rng: Generator) -> Result:
        pilot = population.draw(rng, 400) if deviation else rng.normal(difference, scale, 400)
        plan = compare(pilot, bounded=False).plan(difference, claim="ship", margin=MARGIN, require="no_loss")
        upper = plan.queries_upper
        return {"the upper end is sufficient": upper is None or upper >= root**2}

    return trial


# Rows 14 to 16: flags, conflicts, and named winners.


def flag_healthy(deviations: tuple[float, float]) -> Callable[[Generator], Result]:
    """Return a trial: is a training of two healthy recipes flagged, if their repeats have these deviations?"""

    def trial(rng: Generator) -> Result:
        base = rng.beta(2, 2, (200, 1))
        recipes = [base + rng.normal(0, sd, 5) + rng.normal(0, 0.05, (200, 5)) for sd in deviations]
        verdict = Comparison(dict.fromkeys(METRICS, recipes), [BASELINE, CANDIDATE], draws=200).verdict
        return {"a failed training is flagged": any(flag.code == "outlying repeats" for flag in verdict.flags)}

    return trial


def find_false_conflict(rng: Generator) -> Result:
    """Test the conflict of two metrics whose differences have mean 0 and a correlation of −.99."""
    differences = rng.multivariate_normal([0, 0], [[1, -0.99], [-0.99, 1]], 300) * 0.1
    pair = compare(differences, bounded=False).pairs.iloc[0]
    return {"p-value of a conflict ≤ .05": pair["p_value"] <= ALPHA}


WINNERS = re.compile(r"pick different \w+: (m\d) and (m\d)\.|: (m\d) is best by \w+, (m\d) by")


def name_winners(rng: Generator) -> Result:
    """Compare six models. Three nearly tie at the top of each metric, far above the other three."""
    near = np.array([0.0005, 0.0, 0.0])
    truth = np.stack([np.concatenate([near, near - 0.05]), np.concatenate([near - 0.05, near])])
    names = [f"m{number}" for number in range(1, 7)]
    verdict = Comparison(draw_values(rng, 1000, 6, truth), names, draws=DRAWS).verdict
    match = WINNERS.search(verdict.text)
    named = match and [name for name in match.groups() if name]
    best = [names[row.argmax()] for row in truth]
    only = [models[0] if len(models) == 1 else None for models in verdict.best_sets.values()]
    is_genuine = verdict.kind == "genuine"
    return {
        "`genuine` names winners": bool(named) if is_genuine else None,
        "a named winner is not the best model": named != best if is_genuine and named else False,
        "the only model that may be best under its metric is not": any(
            name not in (None, true) for name, true in zip(only, best, strict=True)
        ),
    }


# Power, and consistency of sets and kinds.


def gain_power(queries: int, deviation: float, **options: Any) -> Callable[[Generator], Result]:
    """Return a trial: does a normal difference of 2.8 standard errors above the margin ship?"""
    mean = 2.8 * deviation / queries**0.5 - 0.05

    def trial(rng: Generator) -> Result:
        differences = rng.normal(mean, deviation, queries).clip(-1, 1)
        return {"ships": decide(compare(differences), 0.05, **options) == "ship"}

    return trial


def meet_unresolved(rng: Generator) -> Result:
    """Compare two models with a difference near the limit of detection."""
    differences = rng.normal(0.0065, 0.1, (1000, 2)).clip(-1, 1)
    verdict = compare(differences).verdict
    sets = {verdict.best_sets[metric] for metric in METRICS}
    return {
        "one model may be best, but the kind is `unresolved`": verdict.kind == "unresolved"
        and len(sets) == 1
        and all(len(best) == 1 for best in sets)
    }


def build_rare_studies() -> list[Study]:
    """Return the studies of rows 1 to 5."""
    identical = {"the verdict excludes more than the gate": at_most(0.0)}
    consistent = {
        "the candidate's loss is within the margin, but the gate does not ship": at_most(0.0),
        "one model is better, but the gate decides otherwise": at_most(0.0),
    }
    rates = dict.fromkeys(RARE_TARGETS, at_most())
    text = "1 of 1,000 queries loses 1"
    studies = [
        Study("1", "30 to 1,000 identical queries", bound_identical_queries, identical, 4),
        Study("1", "verdict and gate, same data and margin", contradict_gate, consistent, 2),
        Study("2, 3", f"{text}, the others are identical", lose_rarely(0.0, 0.0), RARE_TARGETS),
        Study("4", f"{text}, +.0005 on the others", lose_rarely(0.0005, 0.0), RARE_TARGETS),
        Study("3", f"{text}, noise on the others", lose_rarely(0.0, 0.003), rates),
        Study("4", f"{text}, +.0005 and noise on the others", lose_rarely(0.0005, 0.005), rates),
        Study("3", f"{text}, noise on the others, betting", lose_rarely(0.0, 0.003, **BETTING), RARE_TARGETS, 2),
        Study(
            "4",
            f"{text}, +.0005 and noise on the others, betting",
            lose_rarely(0.0005, 0.005, **BETTING),
            RARE_TARGETS,
            2,
        ),
    ]
    covers = {"intervals of the pair cover": at_least(1 - ALPHA)}
    studies += [
        Study("5", f"{number} of 3,000 queries lose 1", cover_rare_pair(number / 3000), covers) for number in (3, 10)
    ]
    mixed = {"all intervals of 4 models cover": at_least(1 - ALPHA)}
    return [*studies, Study("5", "one pair differs on 0.1 % of 3,000 queries", cover_mixed_pairs, mixed)]


def build_margin_studies() -> list[Study]:
    """Return the studies of rows 6 to 8."""
    limits = {50: None, 100: None, 300: 0.04, 1000: 0.035}
    studies = [
        Study("6", f"loss of the margin, lognormal tail of losses, {n:,} queries", ship_skewed(n),
              {"false ship": at_most(limit), "intervals of the pair cover": at_least()})
        for n, limit in limits.items()
    ]  # fmt: skip
    for n in (500, 1000, 3000, 5000):
        setting = f"loss of the margin, losses of 1 on 0.1 % of {n:,} queries, noise on the others"
        studies += [
            Study("7", setting, ship_hidden_losses(n), {"false ship": at_most()}),
            Study("7", f"{setting}, betting", ship_hidden_losses(n, **BETTING), {"false ship": at_most(ALPHA / 2)}, 4),
        ]
    setting = "loss of the margin, lognormal tail of losses, 13 tests from 40 to 582 queries"
    target, rate = ({"false ship at any of them": at_most(value)} for value in (ALPHA / 2, None))
    return [
        *studies,
        Study("8", f"{setting}, planned looks", ship_at_some_number(looks=LOOKS), rate, 4),
        Study("8", f"{setting}, betting", ship_at_some_number(**BETTING), target, 4),
        Study("8", f"{setting}, betting with planned looks", ship_at_some_number(looks=LOOKS, **BETTING), target, 4),
        Study("8", f"{setting}, betting without records of earlier tests",
              ship_at_some_number(records=False, **BETTING), rate, 4),
    ]  # fmt: skip


def build_evidence_studies() -> list[Study]:
    """Return the studies of rows 9 to 11: weights, clusters and repeats."""
    studies = [
        Study("9", f"loss grows with the weight, lognormal({deviation:g}) weights, {n:,} queries",
              state_weighted(n, deviation), AT_MARGIN_TARGETS)
        for deviation, n in ((0.5, 300), (0.5, 3000), (1.0, 1000), (1.0, 3000), (1.5, 300), (1.5, 3000), (2.0, 3000))
    ]  # fmt: skip
    studies += [
        Study("10", f"large clusters lose more, 200 clusters of 1 to {largest} queries, P(size) ∝ 1/size^{power:g}",
              state_clustered(200, largest, power), AT_MARGIN_TARGETS)
        for largest, power in ((8, 0.0), (16, 0.0), (16, 1.0), (64, 1.0), (64, 2.0))
    ]  # fmt: skip
    names = {0: "a fixed model"}
    for counts in ((0, 3), (10, 3), (3, 3), (0, 5), (10, 5), (5, 5), (0, 10)):
        first, second = (names.get(count, f"{count} repeats") for count in counts)
        few = min(filter(None, counts)) < 5
        targets = {
            "intervals of the gate cover": at_least(1 - ALPHA),
            "false ship": at_most(ALPHA / 2),
            "`agree`": at_most(0.0 if few else ALPHA),
        }
        studies.append(Study("11", f"{first} against {second}, equal, repeats cause most of the error",
                             state_repeats(counts), targets, 4 if few else 1))  # fmt: skip
    return studies


def build_further_studies() -> list[Study]:
    """Return the studies of rows 12 to 16, of power and of consistency."""
    tails = {0.0: "normal differences", 1.0: "lognormal(1) tail of losses", 1.5: "lognormal(1.5) tail of losses"}
    studies = [
        Study("12", f"plan from a pilot of 400 queries, {tail}", plan_from_pilot(deviation),
              {"the upper end is sufficient": at_least(None if deviation else 0.8)}, 4)
        for deviation, tail in tails.items()
    ]  # fmt: skip
    studies += [
        Study("14", f"two healthy recipes of 5 repeats, deviations {first:g} and {second:g}",
              flag_healthy((first, second)), {"a failed training is flagged": at_most(0.01)})
        for first, second in ((0.005, 0.005), (0.002, 0.02))
    ]  # fmt: skip
    studies += [
        Study("15", "two metrics with correlation −.99, no difference", find_false_conflict,
              {"p-value of a conflict ≤ .05": at_most(ALPHA)}),
        Study("16", "three near-ties at the top of each metric", name_winners,
              {"`genuine` names winners": at_most(), "a named winner is not the best model": at_most(ALPHA),
               "the only model that may be best under its metric is not": at_most(ALPHA)}, 2),
        Study("18", "two models near the limit of detection", meet_unresolved,
              {"one model may be best, but the kind is `unresolved`": at_most(0.0)}),
    ]  # fmt: skip
    for n, deviation, betting in ((500, 0.1, 0.51), (500, 0.2, 0.67), (3000, 0.1, 0.64)):
        setting = f"power at 2.8 standard errors, {n:,} queries, deviation {deviation:g}"
        target = {"ships": at_least(betting - 0.02)}
        studies += [
            Study("19", setting, gain_power(n, deviation), {"ships": at_least(0.77)}),
            Study("19", f"{setting}, betting", gain_power(n, deviation, **BETTING), target, 4),
        ]
    return studies


STUDIES = [*build_rare_studies(), *build_margin_studies(), *build_evidence_studies(), *build_further_studies()]


if __name__ == "__main__":
    run_studies(__doc__, "bounds", STUDIES)
