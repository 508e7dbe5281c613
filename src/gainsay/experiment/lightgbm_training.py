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

_XENDCG = ("rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")
_JSON = '",:[]{}'

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


def uses_seed(candidate: Candidate, documents: int) -> bool:
    """Return whether another seed can give another model.

    Everything random in LightGBM has a seed of its own, which `seed` sets where it is not given.
    """

    def number(name: str, default: float) -> float:
        value = _given(candidate, name, default)
        return float(value) if isinstance(value, bool | int | float) else default

    boosting, objective = _given(candidate, "boosting", "gbdt"), candidate.objective
    bagged = number("bagging_fraction", 1) < 1
    if objective == "binary":
        bagged = bagged or number("pos_bagging_fraction", 1) < 1 or number("neg_bagging_fraction", 1) < 1
    goss = "goss" in (boosting, _given(candidate, "data_sample_strategy", "bagging"))
    columns = number("feature_fraction", 1) < 1 or number("feature_fraction_bynode", 1) < 1
    return any(
        random and seed not in candidate.params
        for random, seed in (
            (goss or (number("bagging_freq", 0) > 0 and bagged), "bagging_seed"),
            (columns, "feature_fraction_seed"),
            (number("extra_trees", 0), "extra_seed"),
            (objective in _XENDCG, "objective_seed"),
            (documents > number("bin_construct_sample_cnt", 200_000), "data_random_seed"),
            (number("use_quantized_grad", 0) and number("stochastic_rounding", 1), "seed"),
        )
    )


def _given(candidate: Candidate, name: str, default: Any) -> Any:
    """Return the value of a parameter, by whatever alias it is given."""
    names = {name, *(alias for alias in candidate.params if alias in _aliases(name))}
    return next((candidate.params[alias] for alias in candidate.params if alias in names), default)


def unused(candidate: Candidate, features: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return nothing: `check` has refused what LightGBM does not know."""
    return (), ()


def check_features(names: tuple[str, ...]) -> None:
    """Raise `ValueError` for names of features that LightGBM does not take, or that it would write alike."""
    written: dict[str, str] = {}
    for name in names:
        if any(character in _JSON for character in name):
            raise ValueError(f"the feature {name!r} has one of {_JSON} in its name, which LightGBM refuses; rename it")
        plain = "_".join(name.split(" "))
        if plain in written:
            raise ValueError(
                f"the features {written[plain]!r} and {name!r} are one to LightGBM, which writes blanks as '_'; rename "
                "one of them"
            )
        written[plain] = name


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


def cut(model: bytes, rounds: int) -> bytes:
    """Return the first rounds of a model, as LightGBM's text: what reads it has no others to predict with."""
    return lgb.Booster(model_str=model.decode()).model_to_string(num_iteration=rounds).encode()


def load(model: bytes) -> lgb.Booster:
    """Return the booster that LightGBM's text describes, its last round as `best_iteration`, which no text holds."""
    booster = lgb.Booster(model_str=model.decode())
    booster.best_iteration = booster.current_iteration()
    return booster


def predictor(model: bytes, data: RankingData, threads: int) -> Callable[[int], Any]:
    """Return a function from a number of rounds to the scores of the documents."""
    booster = load(model)
    features, _ = _features(data)
    return lambda rounds: booster.predict(features, num_iteration=rounds, num_threads=threads)


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
    features, names = _features(data)
    return lgb.Dataset(
        features,
        data.labels,
        group=data.group,
        weight=weight,
        reference=reference,
        params=params,
        feature_name=names,
    )


def _features(data: RankingData) -> tuple[Any, Any]:
    """Return features as LightGBM takes them, and their names: it knows categories by the columns of a DataFrame."""
    if data.categories:
        return data.feature_frame(), "auto"
    return data.features, "auto" if data.feature_names is None else list(data.feature_names)


def _known_parameters() -> set[str]:
    """Return all parameters and aliases that LightGBM knows; nothing where it does not tell."""
    aliases = _alias_table()
    return set().union(*({name, *others} for name, others in aliases.items()))


def _aliases(name: str) -> set[str]:
    """Return other names of a parameter."""
    return set(_alias_table().get(name, ()))


def _alias_table() -> dict[str, Any]:
    aliases = getattr(lgb.basic, "_ConfigAliases", None)
    if aliases is None or not hasattr(aliases, "get"):
        return {}
    aliases.get("objective")  # fills the table
    return dict(aliases.aliases or {})
