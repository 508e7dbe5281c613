"""Model and curves at hand, however a training ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lightgbm as lgb

from .results import note_names

if TYPE_CHECKING:
    from lightgbm.callback import CallbackEnv


def checkpoint() -> Keep:
    """Return a callback that keeps the model and the curves, for the case that training ends with an error.

    `lightgbm.train`, `lightgbm.cv` and `LGBMRanker.fit` return nothing where a model diverges (its scores are NaN), a
    callback raises, or somebody presses Ctrl-C. With this among their callbacks, what the rounds before have led to is
    still there.

    Returns
    -------
    Keep
        `rounds`: how many rounds are complete, evaluation included, as the booster counts them. `booster`: the
        `Booster`, or `CVBooster` of all folds; None before the first round is complete. It may hold one tree more, so
        predict and save with `num_iteration=kept.rounds`. `curves`: the values of the complete rounds, as
        `lightgbm.record_evaluation` has them.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainsay.data import simulate
    >>> from gainsay.lightgbm import feval, checkpoint
    >>> data = simulate(30, seed=1)
    >>> train = lgb.Dataset(data.features, data.labels, group=data.group)
    >>> params = {"objective": "regression_l1", "learning_rate": 1e100, "metric": "None", "verbose": -1}
    >>> kept = checkpoint()
    >>> try:
    ...     lgb.train(params, train, valid_sets=[train], feval=feval("mrr"), callbacks=[kept])
    ... except ValueError as error:
    ...     print(str(error).partition(":")[0])
    in boosting round 5 on 'training'
    >>> kept.rounds, len(kept.curves["training"]["mrr"])
    (4, 4)
    >>> kept.booster.predict(data.features, num_iteration=kept.rounds).shape == data.labels.shape
    True
    """
    return Keep()


class Keep:
    """A callback for LightGBM; made by `checkpoint`."""

    def __init__(self) -> None:
        self.order = 20  # with the recording callbacks, before any that may stop training
        self.before_iteration = False
        self._start()

    def _start(self) -> None:
        self.rounds = 0
        self.booster: lgb.Booster | lgb.CVBooster | None = None
        self.curves: dict[str, dict[str, list[float]]] = {}
        self._record = lgb.record_evaluation(self.curves)

    def __call__(self, env: CallbackEnv) -> None:
        """Take what a round has led to."""
        if env.iteration == env.begin_iteration:
            self._start()
            note_names(env.model)
        self._record(env)
        self.booster, self.rounds = env.model, env.iteration + 1
