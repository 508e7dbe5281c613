"""What of LightGBM the adapters share: reading what it reports, and how it names data sets and metrics."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..training.bound import WeakIdentityMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lightgbm as lgb
    from lightgbm.callback import CallbackEnv

    from ..evaluation.evaluator import Evaluator
    from .curves import Curves

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


_evaluators: WeakIdentityMap[dict[str, tuple[weakref.ref[Evaluator], str]]] = WeakIdentityMap()
"""Who evaluates data sets, and what the metric is called there, by their labels and the name it is logged under."""


def note_names(model: Any) -> None:
    """Remember what the data sets of a training, or of each fold of a cross-validation, are called."""
    folds = getattr(model, "boosters", None)
    for number, booster in enumerate([model] if folds is None else folds, start=1):
        suffix = "" if folds is None else f" of fold {number}"
        for name, dataset in _datasets(booster):
            labels = dataset.get_label()
            if labels is not None:
                _names.set(labels, f"{name!r}{suffix}")


def _datasets(booster: lgb.Booster) -> Iterator[tuple[str, lgb.Dataset]]:
    """Yield the data sets of a training by name, that which is trained on first."""
    names = [booster._train_data_name, *booster.name_valid_sets]
    for name, dataset in zip(names, [booster.train_set, *booster.valid_sets], strict=True):
        if dataset is not None:
            yield name, dataset


def note_evaluator(labels: Any, evaluator: Evaluator, names: tuple[str, ...]) -> None:
    """Remember who evaluates the data set with these very labels, and logs its metrics under these names."""
    own = {name: (weakref.ref(evaluator), plain) for name, plain in zip(names, evaluator.names, strict=True)}
    _evaluators.set(labels, {**(_evaluators.get(labels) or {}), **own})


def starting_values(booster: lgb.Booster) -> dict[tuple[str, str], float]:
    """Return the values of the model that a training continues, by data set and metric, as far as we evaluate them.

    LightGBM hands each data set the scores of that model as its initial ones.
    """
    found: dict[tuple[str, str], float] = {}
    for name, dataset in _datasets(booster):
        scores: Any = dataset.get_init_score()
        known = _evaluators.get(dataset.get_label()) or {}
        means: dict[int, dict[str, float]] = {}
        for metric, (reference, plain) in known.items():
            evaluator = reference()
            if scores is not None and evaluator is not None:
                if id(evaluator) not in means:
                    means[id(evaluator)] = evaluator(scores).mean
                found[name, metric] = means[id(evaluator)][plain]
    return found


_watching: WeakIdentityMap[list[weakref.ref[Curves]]] = WeakIdentityMap()
"""Who wants to know when a training is stopped, by its model; LightGBM tells callbacks of no end."""


def watch(model: Any, callback: Curves) -> None:
    """Have a callback told when our early stopping ends a training."""
    _watching.set(model, [*(_watching.get(model) or []), weakref.ref(callback)])


def tell_stopped(model: Any) -> None:
    """Tell those who watch a training that this was its last round."""
    for reference in _watching.get(model) or []:
        callback = reference()
        if callback is not None:
            callback.stopped()


def name_of(labels: Any) -> str | None:
    """Return what the data set with these very labels is called, if a callback has seen its training."""
    return _names.get(labels)


def with_value(entry: Any, value: float) -> Any:
    """Return an evaluation result of LightGBM, one of a training, with another value."""
    if hasattr(entry, "dataset_name"):
        return type(entry)(entry.dataset_name, entry.metric_name, value, entry.maximize)
    return (*entry[:2], value, *entry[3:])


def first_validation_set(env: CallbackEnv, results: list[Result]) -> str | None:
    """Return the first data set that is evaluated and is not the training data."""
    training = "train" if hasattr(env.model, "boosters") else getattr(env.model, "_train_data_name", "training")
    return next((result.dataset for result in results if result.dataset != training), None)


def is_dart(env: CallbackEnv) -> bool:
    """Return whether dart is trained, with a warning."""
    given = (env.params.get(alias) for alias in ("boosting", "boosting_type", "boost"))
    if "dart" not in (str(boosting).lower() for boosting in given):  # LightGBM takes DART for it too
        return False
    warnings.warn("early stopping is not available with dart: later rounds change earlier trees", stacklevel=3)
    return True


def builtin_names(params: dict[str, Any]) -> set[str]:
    """Return under which names LightGBM itself logs metrics that may have the name of one of ours."""
    given = {name: value for name, value in params.items() if value is not None}  # LightGBM takes no notice of None
    metrics = next((given[alias] for alias in ("metric", "metrics", "metric_types") if alias in given), "")
    metrics = metrics.split(",") if isinstance(metrics, str) else metrics
    listed = {str(name).strip().lower() for name in metrics}
    names = listed - {"custom"}  # a metric of the user's may have any name but those of ours
    if not listed & {"map", "mean_average_precision"}:
        return names
    aliases = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")
    at = next((given[alias] for alias in aliases if alias in given), (1, 2, 3, 4, 5))
    cutoffs = at.split(",") if isinstance(at, str) else at if isinstance(at, Iterable) else [at]
    return names | {f"map@{int(k)}" for k in cutoffs}
