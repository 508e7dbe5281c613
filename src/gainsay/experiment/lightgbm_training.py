"""Candidates trained by LightGBM."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import lightgbm as _adapter  # noqa: F401
from .._common.arrays import nearest
from ..metrics.gains import power
from .candidates import check_given_once
from .libraries import as_number

# After the adapter, which says what to install where there is no LightGBM.
import lightgbm as lgb  # isort: skip

if TYPE_CHECKING:
    from ..data import RankingData
    from .candidates import Candidate, Gain
    from .libraries import Predict
    from .rounds import Watch

_XENDCG = ("rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")
_JSON = '",:[]{}'

_TRAINING_ONLY = frozenset(
    [
        "bagging_by_query",
        "bagging_fraction",
        "bagging_freq",
        "bagging_seed",
        "boost_from_average",
        "boosting",
        "cat_l2",
        "cat_smooth",
        "data_sample_strategy",
        "deterministic",
        "extra_seed",
        "extra_trees",
        "feature_fraction",
        "feature_fraction_bynode",
        "feature_fraction_seed",
        "lambda_l1",
        "lambda_l2",
        "lambdarank_norm",
        "lambdarank_truncation_level",
        "learning_rate",
        "linear_lambda",
        "max_cat_threshold",
        "max_cat_to_onehot",
        "max_delta_step",
        "max_depth",
        "min_data_per_group",
        "min_gain_to_split",
        "min_sum_hessian_in_leaf",
        "neg_bagging_fraction",
        "num_leaves",
        "objective",
        "objective_seed",
        "other_rate",
        "path_smooth",
        "pos_bagging_fraction",
        "sigmoid",
        "top_rate",
        "verbosity",
    ]
)
"""Parameters that LightGBM looks at once data are binned."""

_SETTING_UP = threading.Lock()
"""Held while a booster is set up: LightGBM then writes its gains into a table of the whole process and works out the
ideal DCG of every query from it, so two threads that train on different gains would spoil each other's trees."""


class Binned(NamedTuple):
    """Data as LightGBM trains on them, and their largest label."""

    train: lgb.Dataset
    valid: lgb.Dataset
    max_label: float


def version() -> str:
    """Return the version of LightGBM."""
    return str(lgb.__version__)


def check(candidate: Candidate) -> None:
    """Raise `ValueError` for a parameter that LightGBM would pass over in silence: it knows none such, or another."""
    known = _main_names()
    for name in candidate.params:
        if known and name not in known:
            raise ValueError(f"params.{name} is not a parameter of LightGBM{nearest(name, known)}")
    check_given_once("LightGBM", candidate, known)


def uses_seed(candidate: Candidate, documents: int) -> bool:
    """Return whether another seed can give another model.

    Everything random in LightGBM has a seed of its own, which `seed` sets where it is not given.
    """
    number = partial(_number, candidate)

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
    names = {name, *_alias_table().get(name, ())}
    return next((value for alias, value in candidate.params.items() if alias in names), default)


def _number(candidate: Candidate, name: str, default: float) -> float:
    return as_number(_given(candidate, name, default), default)


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


def binning(candidate: Candidate, documents: int) -> dict[str, Any]:
    """Return all of a candidate that may decide how LightGBM bins data.

    That is every parameter but those of which it is known that only trees and objectives look at them; with
    `feature_pre_filter` features are left out that no leaf could split, so `min_data_in_leaf` counts; and what is drawn
    to find the bins of many documents depends on the seed.
    """
    unfiltered = _given(candidate, "feature_pre_filter", True) is False
    passed_over = _TRAINING_ONLY | ({"min_data_in_leaf"} if unfiltered else set())
    main_names = _main_names()
    about = {name: value for name, value in candidate.params.items() if main_names.get(name, name) not in passed_over}
    if documents >= _number(candidate, "bin_construct_sample_cnt", 200_000):
        about["seed"] = candidate.seed
    return {"params": about, "threads": candidate.threads}


def binned(candidate: Candidate, train: RankingData, valid: RankingData) -> Binned:
    """Return training and validation data as LightGBM bins them; boosters only read these."""
    params = parameters(candidate, 1)
    train_set = _dataset(train, params).construct()
    valid_set = _dataset(valid, params, reference=train_set).construct()
    return Binned(train_set, valid_set, float(max(train.labels.max(), valid.labels.max())))


def train(candidate: Candidate, data: Binned, watch: Watch) -> bytes:
    """Train, showing `watch` the scores of every round; return the model as LightGBM's text.

    The loop is that of `lightgbm.train`. It is written out because the booster must be set up under a lock.
    """
    params = parameters(candidate, data.max_label)

    def look(scores: Any, _: Any) -> list[Any]:
        watch.look(scores)
        return []

    with _SETTING_UP:
        booster = lgb.Booster(params, data.train)
    booster.add_valid(data.valid, "valid")
    while len(watch.rounds) < params["num_iterations"] and not watch.exhausted:
        booster.update()
        booster.eval_valid(look)
    return booster.model_to_string(num_iteration=-1).encode()


def cut(model: bytes, rounds: int) -> bytes:
    """Return the first rounds of a model, as LightGBM's text: what reads it has no others to predict with."""
    return lgb.Booster(model_str=model.decode()).model_to_string(num_iteration=rounds).encode()


def load(model: bytes) -> lgb.Booster:
    """Return the booster that LightGBM's text describes, its last round as `best_iteration`, which no text holds."""
    booster = lgb.Booster(model_str=model.decode())
    booster.best_iteration = booster.current_iteration()
    return booster


def predictor(model: bytes, data: RankingData, threads: int) -> Predict:
    """Return a function from some rows and numbers of rounds to the scores of these documents after each."""
    booster = load(model)

    def predict(rows: slice, rounds: Sequence[int]) -> list[Any]:
        features = data.feature_frame(rows) if data.categories else data.features[rows]
        return [booster.predict(features, num_iteration=number, num_threads=threads) for number in rounds]

    return predict


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
        params["label_gain"] = _table(candidate.training_gain, levels)
    return {**params, **candidate.params}


def _table(gain: Gain, levels: range) -> list[float]:
    if gain == "linear":
        return list(levels)
    if gain == "exponential":
        return [2**level - 1 for level in levels]
    return [float(worth) for worth in power(np.array(levels, dtype=np.float64), float(gain))]


def _dataset(data: RankingData, params: dict[str, Any], reference: lgb.Dataset | None = None) -> lgb.Dataset:
    weight = data.weight
    if weight is not None and len(weight) != len(data.labels):
        weight = weight[data.qid]  # LightGBM wants one per document
    return lgb.Dataset(
        data.feature_frame() if data.categories else data.features,
        data.labels,
        group=data.group,
        weight=weight,
        reference=reference,
        params=params,
        feature_name="auto" if data.categories or data.feature_names is None else list(data.feature_names),
    )


def _main_names() -> dict[str, str]:
    """Return the main name of every name that a parameter of LightGBM has; nothing where it does not tell."""
    return {name: main for main, aliases in _alias_table().items() for name in (main, *aliases)}


def _alias_table() -> dict[str, Any]:
    """Return all parameters that LightGBM knows, each with its other names; nothing where it does not tell."""
    aliases = getattr(lgb.basic, "_ConfigAliases", None)
    if aliases is None or not hasattr(aliases, "get"):
        return {}
    aliases.get("objective")  # fills the table
    return dict(aliases.aliases or {})
