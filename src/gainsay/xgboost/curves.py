"""Curves of a training with XGBoost, shown while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import xgboost as xgb
from xgboost.callback import TrainingCallback

from ..training.bound import clash
from ..training.curves import CurvesBase
from .binding import REMEDY, log_first
from .directions import DIRECTIONS
from .stopping import waiting_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..training.history import Waiting


class Curves(CurvesBase, TrainingCallback):
    """A callback that shows metrics while XGBoost trains, with their best rounds, and keeps every value.

    In a terminal two lines are rewritten in place, in a notebook one picture; elsewhere one line comes at the end, on
    stderr. Each metric is drawn from its own best, and beside it stands what it would lose by stopping at the other's
    best round. Goes among the callbacks of `xgboost.train`, `xgboost.cv` (means over the folds) and `XGBRanker`, beside
    whatever evaluates (`EvaluateRanking`, `custom_metric`, built-in metrics) and any early stopping; with our
    `early_stopping` it counts down to the stop. `verbose_eval=False` keeps XGBoost's own lines away. One of these
    holds one training. Rounds are counted from 1, those of a model that is continued included; `best_iteration` of
    XGBoost counts from 0.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them, optional
        What to show, of what the training evaluates. By default linear and exponential NDCG at one cutoff, where both
        are there, else the first two. Everything that is evaluated is kept.
    dataset : str, optional
        The data set that is shown, as it is named in `evals` or `EvaluateRanking`; by default the first one that is not
        called train or training.
    name : str, optional
        What to call the training, here and as `candidate` in `frame`; by default the data set stands in its place.
    higher_is_better : bool, or mapping of metric to bool, optional
        Of metrics that are neither ours nor built in, of which XGBoost does not tell it.
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
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import Curves, EvaluateRanking
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> matrix = xgb.DMatrix(train.features, label=train.labels, qid=train.qid)
    >>> log = EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_linear@10", "ndcg_exp@10"])
    >>> curves = Curves(show=False)
    >>> params = {"objective": "rank:ndcg", "disable_default_eval_metric": True}
    >>> booster = xgb.train(params, matrix, 20, callbacks=[log, curves], verbose_eval=False)
    >>> curves.frame().columns.tolist(), len(curves.frame())
    (['dataset', 'metric', 'round', 'value'], 40)
    """

    _directions = DIRECTIONS

    def before_training(self, model: Any) -> Any:
        """Begin."""
        if xgb.collective.get_rank() != 0:
            self.show = False  # the first worker shows what all of them log
        self._begin("xgboost")
        self._model = model
        self._first_round = model.num_boosted_rounds() if isinstance(model, xgb.Booster) else 0
        self._log: Any = {}
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Take the values of a round; never stops training."""
        log_first(model, epoch, evals_log)
        self._log = evals_log
        self._record(self._first_round + epoch + 1, self._new())
        return False

    def after_training(self, model: Any) -> Any:
        """Take what has been logged since, and show the end."""
        if self._model is not None:
            left = list(self._new())
            one = isinstance(self._model, xgb.Booster)
            last = self._model.num_boosted_rounds() if one else self.rounds + bool(left)
            if self._log and last > self.rounds:  # another callback stopped the training before this one was asked
                self._record(last, left)
        self._end()
        self._log = {}
        return model

    def _new(self) -> Iterator[tuple[str, str, float, bool | None]]:
        """Yield what has been logged since this was last asked."""
        for dataset, history in self._log.items():
            for metric, curve in history.items():
                line = self._history.lines.get((dataset, metric))
                seen = 0 if line is None else len(line.values)
                if len(curve) > seen + 1:
                    raise clash(metric, "XGBoost", REMEDY)
                if len(curve) > seen:
                    value = curve[-1][0] if isinstance(curve[-1], tuple) else curve[-1]
                    higher = self._direction(metric) if line is None else line.higher_is_better
                    yield dataset, metric, float(value), higher

    def _waiting(self) -> Waiting | None:
        return waiting_of(self._model)

    def _remedy(self, metrics: list[str]) -> str:
        return f"evaluate it with EvaluateRanking({{…}}, {metrics}) in callbacks, or with custom_metric"
