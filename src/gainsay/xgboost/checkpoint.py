"""A callback that keeps the model and the curves if training fails."""

from __future__ import annotations

from typing import Any

import xgboost as xgb

from .common import Callback


def checkpoint() -> Checkpoint:
    """Create a callback that keeps the model and the curves in case training fails.

    `xgboost.train`, `xgboost.cv` and `XGBRanker.fit` return nothing and leave `evals_result` empty if a model diverges
    (its scores are NaN), if a callback raises an error, or if you press Ctrl-C. With this callback, the result of the
    completed rounds is still available.

    Returns
    -------
    Checkpoint
        `rounds` is the number of rounds that are complete, evaluation included, as the booster counts them. `boosters`
        are the `Booster` in training, or those of all folds in `xgboost.cv`. `booster` is the only one. They may have
        one round more, so predict and save with ``checkpoint.booster[:checkpoint.rounds]``. `curves` are the values of
        the complete rounds, in the form of `evals_result`.

    Examples
    --------
    >>> import numpy as np
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import EvaluateRanking, checkpoint
    >>> data = simulate(30, seed=1)
    >>> train = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
    >>> params = {"min_child_weight": 0, "lambda": 0, "disable_default_eval_metric": True}
    >>> def diverging(predictions, matrix):
    ...     return 1e30 * (-1) ** saved.rounds * (data.labels - 1.5), np.full(len(data.labels), 1e-30)
    >>> saved = checkpoint()
    >>> try:
    ...     xgb.train(params, train, obj=diverging, verbose_eval=False,
    ...               callbacks=[EvaluateRanking({"train": train}, "mrr"), saved])
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    in boosting round 2 on 'train'
    >>> saved.rounds, len(saved.curves["train"]["mrr"])
    (1, 1)
    >>> saved.booster[:saved.rounds].predict(train).shape == data.labels.shape
    True
    """
    return Checkpoint()


class Checkpoint(Callback):
    """A callback for XGBoost, created by `checkpoint`."""

    _name = "checkpoint"

    def __init__(self) -> None:
        super().__init__()
        self._start([])

    def _start(self, boosters: list[xgb.Booster]) -> None:
        self.boosters = boosters
        self.rounds = self._first_round = boosters[0].num_boosted_rounds() if boosters else 0
        self._history: Any = {}
        self._lengths: dict[tuple[str, str], int] = {}

    @property
    def booster(self) -> xgb.Booster | None:
        """The booster, or None before training.

        Raises
        ------
        ValueError
            After a cross-validation, which has several boosters.
        """
        if len(self.boosters) > 1:
            raise ValueError(f"there are {len(self.boosters)} boosters, one per fold: use .boosters")
        return self.boosters[0] if self.boosters else None

    @property
    def curves(self) -> dict[str, dict[str, list[Any]]]:
        """The values of the complete rounds, by dataset and metric."""
        curves: dict[str, dict[str, list[Any]]] = {}
        for (data_name, metric), length in self._lengths.items():
            curves.setdefault(data_name, {})[metric] = self._history[data_name][metric][:length]
        return curves

    def before_training(self, model: Any) -> Any:
        """Start again."""
        self._start([model] if isinstance(model, xgb.Booster) else [fold.bst for fold in model.cvfolds])
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Record that all rounds before this one are complete."""
        self._history = evals_log
        self._complete(epoch)
        return False

    def after_training(self, model: Any) -> Any:
        """Record that all rounds are complete."""
        self._complete(self.boosters[0].num_boosted_rounds() - self._first_round)
        return model

    def _complete(self, rounds: int) -> None:
        self.rounds = self._first_round + rounds
        self._lengths = {
            (data_name, metric): len(curve)
            for data_name, history in self._history.items()
            for metric, curve in history.items()
        }
