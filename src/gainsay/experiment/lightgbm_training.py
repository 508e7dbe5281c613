"""Candidates trained by LightGBM."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import lightgbm as adapter
from .._common.arrays import nearest

# After the adapter, which says what to install where there is no LightGBM.
import lightgbm as lgb  # isort: skip

if TYPE_CHECKING:
    from ..data import RankingData
    from .candidates import Candidate
    from .training import Watch

_SETTING_UP = threading.Lock()
"""Held while a booster is set up: LightGBM then writes its gains into a table of the whole process and works out the
ideal DCG of every query from it, so two threads that train on different gains would spoil each other's trees."""


def version() -> str:
    """Return the version of LightGBM."""
    return str(lgb.__version__)


def check(candidate: Candidate) -> None:
    """Raise `ValueError` for a parameter that LightGBM does not know: it would pass over it in silence."""
    known = _known_parameters()
    for name in candidate.params:
        if known and name not in known:
            raise ValueError(f"params.{name} is not a parameter of LightGBM{nearest(name, known)}")


def train(candidate: Candidate, train: RankingData, valid: RankingData, watch: Watch) -> bytes:
    """Train, telling `watch` of every round; return the model as LightGBM's text.

    The loop is that of `lightgbm.train`. It is written out because the booster must be set up under a lock.
    """
    params = parameters(candidate, max(train.labels.max(), valid.labels.max()))
    train_set = _dataset(train, params)
    valid_set = _dataset(valid, params, reference=train_set)
    log = adapter.feval(watch.metrics, n_jobs=params["num_threads"])

    def record(scores: Any, dataset: Any) -> Any:
        results = log(scores, dataset)
        watch.record([value for _, value, _ in results])
        return results

    train_set.construct()
    with _SETTING_UP:
        booster = lgb.Booster(params, train_set)
    booster.add_valid(valid_set, "valid")
    while len(watch.rounds) < params["num_iterations"] and not watch.exhausted:
        booster.update()
        booster.eval_valid(record)
    return booster.model_to_string(num_iteration=-1).encode()


def load(model: bytes) -> lgb.Booster:
    """Return the booster that LightGBM's text describes."""
    return lgb.Booster(model_str=model.decode())


def predictor(model: bytes, data: RankingData, threads: int) -> Callable[[int], Any]:
    """Return a function from a number of rounds to the scores of the documents."""
    booster = load(model)
    return lambda rounds: booster.predict(data.features, num_iteration=rounds, num_threads=threads)


def parameters(candidate: Candidate, max_label: float) -> dict[str, Any]:
    """Return what LightGBM is given.

    With `deterministic` LightGBM promises the same trees whatever the number of threads, provided that it does not time
    row-wise against column-wise histograms to take the faster, which is why one is fixed.
    """
    params: dict[str, Any] = {
        "objective": candidate.objective,
        "metric": "None",
        "verbosity": -1,
        "seed": candidate.seed,
        "num_threads": candidate.threads,
        "num_iterations": candidate.num_boost_round,
        "deterministic": True,
    }
    if not candidate.params.get("force_col_wise"):
        params["force_row_wise"] = True
    if candidate.training_gain is not None:
        levels = range(max(int(max_label), 1) + 1)
        params["label_gain"] = (
            list(levels) if candidate.training_gain == "linear" else [2**level - 1 for level in levels]
        )
    return {**params, **candidate.params}


def _dataset(data: RankingData, params: dict[str, Any], reference: lgb.Dataset | None = None) -> lgb.Dataset:
    weight = data.weight
    if weight is not None and len(weight) != len(data.labels):
        weight = weight[data.qid]  # LightGBM wants one per document
    return lgb.Dataset(data.features, data.labels, group=data.group, weight=weight, reference=reference, params=params)


def _known_parameters() -> set[str]:
    """Return all parameters and aliases that LightGBM knows; nothing where it does not tell."""
    aliases = getattr(lgb.basic, "_ConfigAliases", None)
    if aliases is None or not hasattr(aliases, "get"):
        return set()
    aliases.get("objective")  # fills the table
    return set().union(*({name, *others} for name, others in (aliases.aliases or {}).items()))
