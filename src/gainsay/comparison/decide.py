"""From estimates to a decision: tests, bounds and descriptions of what two metrics say together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from .bounds import detectable_lead, price_lower, regret_upper
from .descriptions import best_probabilities, winners_differ
from .flags import Flag, find_flags, left_out_flags
from .holes import Holes
from .inequalities import FEWEST, BestTest, two_step_test
from .inputs import FloatArray
from .sample import Sample

__all__ = ["Kind", "Outcome", "decide"]

Kind: TypeAlias = Literal["genuine", "agree", "immaterial", "unresolved"]
PerMetric: TypeAlias = dict[str, float]
PerModel: TypeAlias = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Outcome:
    """The numbers of a verdict; `Verdict` says what each of them means."""

    kind: Kind
    material: bool
    within_rope: bool
    metrics: tuple[str, str]
    models: tuple[str, ...]
    queries: int
    left_out: dict[str, int]
    winners: dict[str, str]
    common_best: tuple[str, ...]
    common_within_rope: tuple[str, ...]
    best_sets: dict[str, tuple[str, ...]]
    p_value: float
    rope_p_value: float
    price: float
    price_lower: float
    safe_choice: str
    safe_regret: float
    safe_regret_upper: float
    winner_regrets: PerMetric
    winner_regrets_upper: PerMetric
    means: PerModel
    regrets: PerModel
    regrets_upper: PerModel
    detectable: float
    best_probability: PerModel
    winners_differ_probability: float
    flags: tuple[Flag, ...]
    alpha: float
    rope: float
    draws: int
    seed: int
    holes: Holes | None = None
    lower_is_better: tuple[str, ...] = ()

    @property
    def in_question(self) -> tuple[str, ...]:
        """The models that matter to the choice: who may be best under both metrics, the winners, the safe choice."""
        chosen = {*self.common_best, *self.winners.values(), self.safe_choice}
        return tuple(model for model in self.models if model in chosen)


def decide(sample: Sample, metrics: tuple[str, str], rope: float) -> Outcome:
    """Test, bound and describe what two metrics of a sample say together."""
    names, counts = metrics, sample.panel.counts(metrics)
    panel, alpha = sample.family(metrics).panel, sample.alpha
    estimated, noise = sample.family(metrics).estimated, sample.family(metrics).noise
    joint = two_step_test(estimated, noise, alpha)
    roped = two_step_test(estimated, noise, alpha, margin=rope) if rope > 0 else joint
    single = [two_step_test(estimated, noise, alpha, rows=[row]) for row in (0, 1)]
    models = np.array(panel.models, dtype=object)
    level = estimated.mean.max(axis=1, keepdims=True)
    top = estimated.mean >= level - estimated.tolerance[:, None]
    winner = top.argmax(axis=1)
    regret = np.maximum(0.0, estimated.difference.max(axis=2))
    upper = regret_upper(estimated, noise, alpha)
    worst = regret.max(axis=0)
    safe = int(np.argmax(worst <= worst.min() + estimated.tolerance.max()))
    within = panel.queries >= FEWEST and bool((upper[:, winner] <= rope).all())
    genuine = not joint.kept.any()
    kept_within_rope = joint.kept | roped.kept  # who may be best may be within the ROPE of the best
    material = not kept_within_rope.any()

    def by_model(table: FloatArray) -> PerModel:
        return {
            name: dict(zip(panel.models, row.tolist(), strict=True)) for name, row in zip(names, table, strict=True)
        }

    return Outcome(
        kind=_kind(genuine, single, within),
        material=material,
        within_rope=within,
        metrics=names,
        models=panel.models,
        queries=panel.queries,
        left_out=counts.left_out,
        winners={name: models[place] for name, place in zip(names, winner, strict=True)},
        common_best=tuple(models[joint.kept]),
        common_within_rope=tuple(models[kept_within_rope]),
        best_sets={name: tuple(models[test.kept]) for name, test in zip(names, single, strict=True)},
        p_value=joint.p_value,
        rope_p_value=max(joint.p_value, roped.p_value),
        price=float(worst[safe]),
        price_lower=price_lower(estimated, noise, alpha, *((roped, rope) if material else (joint, 0.0))),
        safe_choice=models[safe],
        safe_regret=float(worst[safe]),
        safe_regret_upper=float(upper[:, safe].max()),
        winner_regrets={names[row]: float(regret[1 - row, winner[row]]) for row in (0, 1)},
        winner_regrets_upper={names[row]: float(upper[1 - row, winner[row]]) for row in (0, 1)},
        means=by_model(np.array([panel.in_unit(*one) for one in zip(names, estimated.mean, strict=True)])),
        regrets=by_model(regret),
        regrets_upper=by_model(upper),
        detectable=detectable_lead(estimated, noise, alpha, joint.kept, winner),
        best_probability=by_model(best_probabilities(estimated, noise)),
        winners_differ_probability=winners_differ(estimated, noise),
        flags=left_out_flags(counts)
        + find_flags(panel, estimated, {name: tuple(models[row]) for name, row in zip(names, top, strict=True)}, alpha),
        alpha=alpha,
        rope=rope,
        draws=sample.draws,
        seed=sample.seed,
        lower_is_better=tuple(metric for metric in names if metric in panel.lower_is_better),
    )


def _kind(genuine: bool, single: list[BestTest], within: bool) -> Kind:
    if genuine:
        return "genuine"
    # Who is alone in the set of best models beats every rival: had one tied, it would be in the set as well. Alone
    # under both metrics is a claim on both at once, so each may be tested at the full level.
    first, second = (test.kept for test in single)
    if first.sum() == 1 and np.array_equal(first, second):
        return "agree"
    return "immaterial" if within else "unresolved"
