"""Shared code for LightGBM: its evaluation results, and the names and evaluators of its datasets."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..training.bound_metrics import LibraryObject, WeakIdentityMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    import lightgbm as lgb
    from lightgbm.callback import CallbackEnv

    from ..evaluation.evaluator import Evaluator

REMEDY = "Remove it from params['metric'] (metric='None' disables the built-in metrics)"


class Callback(LibraryObject):
    """A callback for LightGBM. Subclasses override `finish_round`."""

    _library = "lightgbm"

    def __call__(self, env: Any, *arguments: Any, **options: Any) -> Any:
        """Call `finish_round`, or raise an error if the argument is not an environment of LightGBM."""
        if arguments or not hasattr(env, "evaluation_result_list"):
            raise self._create_misuse_error(env, *arguments)
        return self.finish_round(env)

    def finish_round(self, env: CallbackEnv) -> None:
        """Process a round."""


class Result(NamedTuple):
    """One evaluation result of LightGBM."""

    dataset: str
    metric: str
    value: float
    maximize: bool


def read_result(entry: Any) -> Result:
    """Return an evaluation result, which is an object since LightGBM 4.7 and a tuple in earlier versions."""
    if hasattr(entry, "dataset_name"):
        return Result(entry.dataset_name, entry.metric_name, float(entry.metric_value), bool(entry.maximize))
    dataset, metric, value, maximize = entry[:4]
    if dataset == "cv_agg":
        dataset, metric = metric.split(" ", 1)
    return Result(dataset, metric, float(value), bool(maximize))


def replace_value(entry: Any, value: float) -> Any:
    """Return an evaluation result of LightGBM with another value."""
    if hasattr(entry, "dataset_name"):
        return type(entry)(entry.dataset_name, entry.metric_name, value, entry.maximize)
    return (*entry[:2], value, *entry[3:])


dataset_names: WeakIdentityMap[str] = WeakIdentityMap()
"""The names of datasets by their labels. LightGBM passes them to callbacks but not to evaluation functions."""
_evaluators: WeakIdentityMap[list[tuple[weakref.ref[Evaluator], tuple[str, ...]]]] = WeakIdentityMap()
"""The evaluators of a dataset by its labels, each with the names of its metrics in the log."""
shown_curves: WeakIdentityMap[weakref.WeakKeyDictionary[Any, None]] = WeakIdentityMap()
"""The `Curves` of a training by its model. Early stopping ends them, because LightGBM calls no callback at the end."""


def register_names(model: Any) -> None:
    """Register the names of the datasets of a training or of the folds of a cross-validation."""
    folds = getattr(model, "boosters", None)
    for number, booster in enumerate([model] if folds is None else folds, start=1):
        suffix = "" if folds is None else f" of fold {number}"
        for name, dataset in _list_datasets(booster):
            labels = dataset.get_label()
            if labels is not None:
                dataset_names.set(labels, f"{name!r}{suffix}")


def _list_datasets(booster: lgb.Booster) -> Iterator[tuple[str, lgb.Dataset]]:
    """Yield the datasets of a training by name, the training data first."""
    names = [booster._train_data_name, *booster.name_valid_sets]
    for name, dataset in zip(names, [booster.train_set, *booster.valid_sets], strict=True):
        if dataset is not None:
            yield name, dataset


def register_evaluator(labels: Any, evaluator: Evaluator, names: tuple[str, ...]) -> None:
    """Register the evaluator of the dataset with these labels, for the names in the log."""
    others = [entry for entry in _evaluators.get(labels) or [] if entry[0]() not in (None, evaluator)]
    _evaluators.set(labels, [*others, (weakref.ref(evaluator), names)])


def compute_initial_values(booster: lgb.Booster) -> dict[tuple[str, str], float]:
    """Return the values of the continued model by dataset and metric, for registered evaluators.

    LightGBM passes the scores of the continued model to each dataset as initial scores.
    """
    values: dict[tuple[str, str], float] = {}
    for dataset_name, dataset in _list_datasets(booster):
        scores: Any = dataset.get_init_score()
        for reference, names in _evaluators.get(dataset.get_label()) or []:
            evaluator = reference()
            if scores is not None and evaluator is not None:
                means = evaluator(scores).mean.values()
                values |= {(dataset_name, name): mean for name, mean in zip(names, means, strict=True)}
    return values


def find_validation_set(env: CallbackEnv, results: list[Result]) -> str | None:
    """Return the first evaluated dataset that is not the training data."""
    training = "train" if hasattr(env.model, "boosters") else getattr(env.model, "_train_data_name", "training")
    return next((result.dataset for result in results if result.dataset != training), None)


def list_builtin_names(params: dict[str, Any]) -> set[str]:
    """Return the names of LightGBM's metrics in the log, if metrics of gainsay can have them."""
    params = {name: value for name, value in params.items() if value is not None}  # LightGBM ignores None
    metrics = next((params[alias] for alias in ("metric", "metrics", "metric_types") if alias in params), "")
    metrics = metrics.split(",") if isinstance(metrics, str) else metrics
    names = {str(name).strip().lower() for name in metrics} - {"custom"}  # a custom metric may have this name
    if not names & {"map", "mean_average_precision"}:
        return names
    aliases = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")
    cutoffs = next((params[alias] for alias in aliases if alias in params), (1, 2, 3, 4, 5))
    cutoffs = (
        cutoffs.split(",") if isinstance(cutoffs, str) else cutoffs if isinstance(cutoffs, Iterable) else [cutoffs]
    )
    return names | {f"map@{int(k)}" for k in cutoffs}
