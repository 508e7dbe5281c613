"""Model and curves at hand, however a training ends."""

from __future__ import annotations

from typing import Any

import xgboost as xgb
from xgboost.callback import TrainingCallback


def checkpoint() -> Keep:
    """Return a callback that keeps the model and the curves, for the case that training ends with an error.

    `xgboost.train`, `xgboost.cv` and `XGBRanker.fit` return nothing, and leave `evals_result` empty, where a model
    diverges (its scores are NaN), a callback raises, or somebody presses Ctrl-C. With this among their callbacks, what
    the rounds before have led to is still there.

    Returns
    -------
    Keep
        `rounds`: how many rounds are complete, evaluation included, as the booster counts them. `boosters`: the
        `Booster` in training, in `xgboost.cv` those of all folds; `booster` where there is one only. They may hold one
        round more, so predict and save with `kept.booster[:kept.rounds]`. `curves`: the values of the complete rounds,
        as `evals_result` has them.

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
    ...     return 1e30 * (-1) ** kept.rounds * (data.labels - 1.5), np.full(len(data.labels), 1e-30)
    >>> kept = checkpoint()
    >>> try:
    ...     xgb.train(params, train, obj=diverging, verbose_eval=False,
    ...               callbacks=[EvaluateRanking({"train": train}, "mrr"), kept])
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    in boosting round 2 on 'train'
    >>> kept.rounds, len(kept.curves["train"]["mrr"])
    (1, 1)
    >>> kept.booster[:kept.rounds].predict(train).shape == data.labels.shape
    True
    """
    return Keep()


class Keep(TrainingCallback):
    """A callback for XGBoost; made by `checkpoint`."""

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
        """The booster, None before training.

        Raises
        ------
        ValueError
            For a cross-validation, which has several.
        """
        if len(self.boosters) > 1:
            raise ValueError(f"there are {len(self.boosters)} boosters, one per fold: take .boosters")
        return self.boosters[0] if self.boosters else None

    @property
    def curves(self) -> dict[str, dict[str, list[Any]]]:
        """The values of the complete rounds, by data set and metric."""
        found: dict[str, dict[str, list[Any]]] = {}
        for (data_name, metric), length in self._lengths.items():
            found.setdefault(data_name, {})[metric] = self._history[data_name][metric][:length]
        return found

    def before_training(self, model: Any) -> Any:
        """Start anew."""
        self._start([model] if isinstance(model, xgb.Booster) else [fold.bst for fold in model.cvfolds])
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Note that everything before this round is complete; whatever logs has logged by now."""
        self._history = evals_log
        self._complete(epoch)
        return False

    def after_training(self, model: Any) -> Any:
        """Note that all is complete."""
        self._complete(self.boosters[0].num_boosted_rounds() - self._first_round)
        return model

    def _complete(self, rounds: int) -> None:
        self.rounds = self._first_round + rounds
        self._lengths = {
            (data_name, metric): len(curve)
            for data_name, history in self._history.items()
            for metric, curve in history.items()
        }
