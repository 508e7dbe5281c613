"""Curves of a training with LightGBM, shown while it goes on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..training.bound import clash
from ..training.curves import CurvesBase
from .results import REMEDY, note_names, read, watch
from .stopping import waiting_of

if TYPE_CHECKING:
    from lightgbm.callback import CallbackEnv

    from ..training.history import Waiting

_HIGHER = ("auc", "auc_mu", "average_precision", "map", "mean_average_precision", "ndcg", "lambdarank")
_LOWER = (
    "l1", "l2", "rmse", "quantile", "mape", "huber", "fair", "poisson", "gamma", "gamma_deviance", "tweedie",
    "binary_logloss", "binary_error", "multi_logloss", "multi_error", "cross_entropy", "cross_entropy_lambda",
    "kullback_leibler",
)  # fmt: skip
_DIRECTIONS = {**dict.fromkeys(_HIGHER, True), **dict.fromkeys(_LOWER, False)}


class Curves(CurvesBase):
    """A callback that shows metrics while LightGBM trains, with their best rounds, and keeps every value.

    In a terminal two lines are rewritten in place, in a notebook one picture; elsewhere one line comes at the end, on
    stderr. Each metric is drawn from its own best, and beside it stands what it would lose by stopping at the other's
    best round. Goes among the callbacks of `lightgbm.train`, `lightgbm.cv` (means over the folds) and the scikit-learn
    estimators, beside any early stopping; with our `early_stopping` it counts down to the stop. One of these holds one
    training.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them, optional
        What to show, of what the training evaluates (see `feval`, `eval_metric`; built-in metrics by their names). By
        default linear and exponential NDCG at one cutoff, where both are there, else the first two. Everything that is
        evaluated is kept.
    dataset : str, optional
        The data set that is shown, as LightGBM names it; by default the first one that is not the training data.
    name : str, optional
        What to call the training, here and as `candidate` in `frame`; by default the data set stands in its place.
    higher_is_better : bool, or mapping of metric to bool, optional
        For `from_history` alone, of metrics that are neither ours nor built in: while training LightGBM tells.
    show : bool or {"terminal", "notebook", "line"}
        Where; True finds out, False shows nothing.
    names : {"plain", "safe"}
        "safe" writes metrics as `safe_name` has them in tables and files: letters, digits and underscores only.

    Raises
    ------
    TypeError, ValueError
        At once for what is not as said. In the first round where nothing is evaluated, or not that metric on that data
        set; the message lists what is. In a second training.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainsay.data import simulate
    >>> from gainsay.lightgbm import Curves, early_stopping, feval
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> train_set = lgb.Dataset(train.features, train.labels, group=train.group)
    >>> valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
    >>> curves = Curves(show=False)
    >>> booster = lgb.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbose": -1}, train_set, 20, valid_sets=[valid_set],
    ...     feval=feval(["ndcg_linear@10", "ndcg_exp@10"]), callbacks=[curves])
    >>> curves.frame().columns.tolist(), len(curves.frame())
    (['dataset', 'metric', 'round', 'value'], 40)
    >>> best = curves.best.set_index("metric")["round"]
    >>> bool(curves.losses().loc["ndcg_exp@10", "ndcg_linear@10"] >= 0)
    True
    """

    # It has no `order`: LightGBM calls such callbacks first, before any of its own and of ours that may stop training.
    _directions = _DIRECTIONS
    _training_name: str | None = None

    def __call__(self, env: CallbackEnv) -> None:
        """Take the values of a round."""
        if env.iteration == env.begin_iteration or self._model is not env.model:
            self._begin("lightgbm", env.end_iteration)
            self._model = env.model
            name = getattr(env.model, "_train_data_name", None)  # a CVBooster has a function of any name
            self._training_name = name if isinstance(name, str) else None
            note_names(env.model)
            watch(env.model, self)
        results = [read(entry) for entry in env.evaluation_result_list or []]
        twice = [metric for (_, metric), times in Counter(result[:2] for result in results).items() if times > 1]
        if twice:
            raise clash(twice[0], "LightGBM", REMEDY)
        self._record(env.iteration + 1, results)
        if env.iteration == env.end_iteration - 1:
            self._end()

    def stopped(self) -> None:
        """Hear from our early stopping that this was the last round."""
        self._end()

    def _training_names(self) -> tuple[str, ...]:
        return ("training", "train", *([self._training_name] if self._training_name else []))

    def _waiting(self) -> Waiting | None:
        return waiting_of(self._model)

    def _over(self) -> bool:
        best: Any = getattr(self._model, "best_iteration", 0)
        return isinstance(best, int) and best > 0

    def _remedy(self, metrics: list[str]) -> str:
        return f"pass valid_sets=[…] and feval=gainsay.lightgbm.feval({metrics})"
