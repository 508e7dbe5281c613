"""A callback that keeps the model and the curves if training fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lightgbm as lgb

from ..training.bound_metrics import factory
from .common import Callback, register_names

if TYPE_CHECKING:
    from lightgbm.callback import CallbackEnv


@factory("callbacks=[checkpoint()]")
def checkpoint() -> Checkpoint:
    """Create a callback that keeps the model and the curves in case training fails.

    `lightgbm.train`, `lightgbm.cv` and `LGBMRanker.fit` return nothing if a model diverges (its scores are NaN), if a
    callback raises an error, or if you press Ctrl-C. With this callback, the result of the completed rounds is still
    available.

    Returns
    -------
    Checkpoint
        `rounds` is the number of rounds that are complete, evaluation included, as the booster counts them. `booster`
        is the `Booster`, the `CVBooster` of all folds, or None before the first round is complete. It may have one tree
        more, so predict and save with ``num_iteration=checkpoint.rounds``. `curves` are the values of the complete
        rounds, in the form of `lightgbm.record_evaluation`.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainsay.data import simulate
    >>> from gainsay.lightgbm import feval, checkpoint
    >>> data = simulate(30, seed=1)
    >>> train = lgb.Dataset(data.features, data.labels, group=data.group)
    >>> params = {"objective": "regression_l1", "learning_rate": 1e100, "metric": "None", "verbose": -1}
    >>> saved = checkpoint()
    >>> try:
    ...     lgb.train(params, train, valid_sets=[train], feval=feval("mrr"), callbacks=[saved])
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    in boosting round 5 on 'training'
    >>> saved.rounds, len(saved.curves["training"]["mrr"])
    (4, 4)
    >>> saved.booster.predict(data.features, num_iteration=saved.rounds).shape == data.labels.shape
    True
    """
    return Checkpoint()


class Checkpoint(Callback):
    """A callback for LightGBM, created by `checkpoint`."""

    _name = "checkpoint"

    def __init__(self) -> None:
        self.order = 20  # with the recording callbacks, before any callback that may stop training
        self.before_iteration = False
        self._start()

    def _start(self) -> None:
        self.rounds = 0
        self.booster: lgb.Booster | lgb.CVBooster | None = None
        self.curves: dict[str, dict[str, list[float]]] = {}
        self._record = lgb.record_evaluation(self.curves)

    def finish_round(self, env: CallbackEnv) -> None:
        """Record a round."""
        if env.iteration == env.begin_iteration:
            self._start()
            register_names(env.model)
        self._record(env)
        self.booster, self.rounds = env.model, env.iteration + 1
