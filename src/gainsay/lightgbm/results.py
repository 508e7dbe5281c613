"""What of LightGBM the adapters share: reading what it reports, and how it names data sets and metrics."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ..training.bound import WeakIdentityMap

if TYPE_CHECKING:
    from lightgbm.callback import CallbackEnv

REMEDY = "Leave it out of params['metric'] (metric='None' turns the built-ins off)"


class Result(NamedTuple):
    """One value as LightGBM reports it to callbacks."""

    dataset: str
    metric: str
    value: float
    maximize: bool


def read(entry: Any) -> Result:
    """Read an evaluation result of LightGBM: an object since 4.7, before that a tuple."""
    if hasattr(entry, "dataset_name"):
        return Result(entry.dataset_name, entry.metric_name, float(entry.metric_value), bool(entry.maximize))
    dataset, metric, value, maximize = entry[:4]
    if dataset == "cv_agg":
        dataset, metric = metric.split(" ", 1)
    return Result(dataset, metric, float(value), bool(maximize))


_names: WeakIdentityMap[str] = WeakIdentityMap()
"""What data sets are called, by their labels; LightGBM does not tell an evaluation function, but it tells callbacks."""


def note_names(model: Any) -> None:
    """Remember what the data sets of a training, or of each fold of a cross-validation, are called."""
    folds = getattr(model, "boosters", None)
    for number, booster in enumerate([model] if folds is None else folds, start=1):
        suffix = "" if folds is None else f" of fold {number}"
        names = [booster._train_data_name, *booster.name_valid_sets]
        for name, dataset in zip(names, [booster.train_set, *booster.valid_sets], strict=True):
            labels = None if dataset is None else dataset.get_label()
            if labels is not None:
                _names.set(labels, f"{name!r}{suffix}")


def name_of(labels: Any) -> str | None:
    """Return what the data set with these very labels is called, if a callback has seen its training."""
    return _names.get(labels)


def first_validation_set(env: CallbackEnv, results: list[Result]) -> str | None:
    """Return the first data set that is evaluated and is not the training data."""
    training = "train" if hasattr(env.model, "boosters") else getattr(env.model, "_train_data_name", "training")
    return next((result.dataset for result in results if result.dataset != training), None)


def is_dart(env: CallbackEnv) -> bool:
    """Return whether dart is trained, with a warning."""
    if "dart" not in (env.params.get(alias) for alias in ("boosting", "boosting_type", "boost")):
        return False
    warnings.warn("early stopping is not available with dart: later rounds change earlier trees", stacklevel=3)
    return True


def builtin_names(params: dict[str, Any]) -> set[str]:
    """Return under which names LightGBM itself logs metrics that may have the name of one of ours."""
    metrics = next((params[alias] for alias in ("metric", "metrics", "metric_types") if alias in params), "")
    listed = {name.strip() for name in metrics.split(",")} if isinstance(metrics, str) else set(metrics)
    names = listed - {"custom"}  # a metric of the user's may have any name but those of ours
    if not listed & {"map", "mean_average_precision"}:
        return names
    aliases = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")
    at = next((params[alias] for alias in aliases if alias in params), (1, 2, 3, 4, 5))
    cutoffs = at.split(",") if isinstance(at, str) else at if isinstance(at, list | tuple) else [at]
    return names | {f"map@{int(k)}" for k in cutoffs}
