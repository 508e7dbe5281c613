"""From estimates to a decision: tests, bounds and descriptions of what two metrics say together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from .._common.typing import Floats
from .bounds import detectable_lead, regret_upper
from .descriptions import best_in_draws
from .flags import Flag, find_flags, left_out_flags
from .inequalities import FEWEST, BestTest, price_lower, regret_lower, two_step_test
from .recipes import VarianceParts, variance_parts
from .runs import Vary
from .sample import Family, Sample
from .unjudged import UnjudgedDocuments

__all__ = ["Kind", "Outcome", "decide"]

Kind: TypeAlias = Literal["genuine", "agree", "immaterial", "unresolved"]
PerMetric: TypeAlias = dict[str, float]
PerModel: TypeAlias = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Outcome:
    """The numbers of a verdict; `Verdict` says what each of them means."""

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
    runs: dict[str, int] = field(default_factory=dict)
    vary: Vary | None = None
    variance: dict[str, VarianceParts] = field(default_factory=dict)

    @property
    def in_question(self) -> tuple[str, ...]:
        """The models that matter to the choice: who may be best under both metrics, the winners, the safe choice."""
        chosen = {*self.common_best, *self.winners.values(), self.safe_choice}
        return tuple(model for model in self.models if model in chosen)


def decide(sample: Sample, names: tuple[str, str], margin: float) -> Outcome:
    """Test, bound and describe what two metrics of a sample say together."""
    alpha, counts = sample.alpha, sample.panel.counts(names)
    family = sample.family(names)
    panel, estimated, noise = family
    joint = two_step_test(estimated, noise, alpha)
    margin_test = joint.inequalities.tested(margin) if margin > 0 else joint
    single = [two_step_test(estimated, noise, alpha, rows=[row]) for row in (0, 1)]
    models = np.array(panel.models, dtype=object)
    level = estimated.mean.max(axis=1, keepdims=True)
    top = estimated.mean >= level - estimated.tolerance[:, None]
    winner = top.argmax(axis=1)
    regret = np.maximum(0.0, estimated.difference.max(axis=2))
    # Who may be best under both may be best under each: its own test, made without the other metric, gives way.
    best = np.array([test.kept | joint.kept for test in single])
    lower = np.array([regret_lower(test) for test in single])
    upper = regret_upper(estimated, noise, alpha)
    worst = regret.max(axis=0)
    safe = int(np.argmax(worst <= worst.min() + estimated.tolerance.max()))
    within = estimated.units >= FEWEST and bool((upper[:, winner] <= margin).all())
    kind: Kind = "immaterial" if within else "unresolved"
    if not joint.kept.any():
        kind = "genuine"
    elif _beats_all(family, alpha, single):
        kind = "agree"
    kept_within_margin = joint.kept | margin_test.kept  # who may be best may be within the margin of the best
    material = not kept_within_margin.any()
    best_shares, differ = best_in_draws(estimated, noise)

    def by_model(table: Floats) -> PerModel:
        return {
            name: dict(zip(panel.models, row.tolist(), strict=True)) for name, row in zip(names, table, strict=True)
        }

    return Outcome(
        kind=kind,
        material=material,
        within_margin=within,
        metrics=names,
        models=panel.models,
        queries=panel.queries,
        left_out=counts.left_out,
        winners={name: models[place] for name, place in zip(names, winner, strict=True)},
        common_best=tuple(models[joint.kept]),
        common_within_margin=tuple(models[kept_within_margin]),
        best_sets={name: tuple(models[kept]) for name, kept in zip(names, best, strict=True)},
        p_value=joint.p_value,
        margin_p_value=max(joint.p_value, margin_test.p_value),
        price=float(worst[safe]),
        price_lower=price_lower(margin_test, margin) if material else price_lower(joint, 0.0),
        safe_choice=models[safe],
        safe_regret=float(worst[safe]),
        safe_regret_upper=float(upper[:, safe].max()),
        winner_regrets={names[row]: float(regret[1 - row, winner[row]]) for row in (0, 1)},
        winner_regrets_upper={names[row]: float(upper[1 - row, winner[row]]) for row in (0, 1)},
        means=by_model(np.array([panel.in_unit(*one) for one in zip(names, estimated.mean, strict=True)])),
        regrets=by_model(regret),
        regrets_lower=by_model(np.where(best, 0.0, lower)),
        regrets_upper=by_model(upper),
        detectable=detectable_lead(estimated, noise, alpha, joint.kept, winner),
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
        runs={} if panel.runs is None else dict(zip(panel.models, panel.run_counts, strict=True)),
        vary=panel.vary,
        variance=variance_parts(panel, estimated.runs),
    )


def _beats_all(family: Family, alpha: float, single: list[BestTest]) -> bool:
    """Whether one model beats every rival under each metric, at level α over the choice of the model that is named.

    Who is alone in the set of best models beats every rival: had one tied, it would be in the set as well. But of two
    that tie at the top either may come out ahead, and each would be named where the other is ruled out: twice the level
    of one test. So tests are made at α/2, where those at α leave one model. Alone under both metrics is a claim on both
    at once, for which no further correction is due.
    """
    first, second = (test.kept for test in single)
    if first.sum() != 1 or not np.array_equal(first, second):
        return False
    return all(two_step_test(family.estimated, family.noise, alpha / 2, rows=[row]).kept.sum() == 1 for row in (0, 1))
