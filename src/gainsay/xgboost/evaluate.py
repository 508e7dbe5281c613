"""A callback that evaluates data sets after every round."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xgboost as xgb

from .._common.checks import check_whole
from ..training.bound import Panel, clash
from ..training.parts import Part
from .binding import REMEDY, BoundMatrix, Logger, sums_of
from .workers import means_over_workers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike


class _Evaluated(NamedTuple):
    """A data set to predict on, with its metrics; `bound` where labels, groups and weights are those of a DMatrix."""

    data: xgb.DMatrix
    part: Part
    bound: BoundMatrix | None = None


class EvaluateRanking(Logger):
    """A callback that evaluates data sets after every round and logs full precision.

    It writes into the history that XGBoost prints, returns as `evals_result`, and looks at for early stopping. Works
    in `xgboost.train` and `XGBRanker`; in `xgboost.cv` and
    `xgboost.dask.train`, where each fold or worker has data of its own, take `custom_metric`. Workers that each make
    their own, with the data that they hold, log the means over the queries of all.

    A pickle of it (that of an `XGBRanker` with its callbacks, say) does not hold the data, and cannot train again.

    Parameters
    ----------
    datasets : mapping of str to DMatrix, QuantileDMatrix, or tuple (X, y, qid) or (X, y, qid, weight)
        What to evaluate, by the name in the history. Weights are one per query. Labels, groups and weights of a matrix
        are read when a training starts.
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    every : int
        Evaluate in every n-th round only, counted from the first: 1, 1 + every, 1 + 2 * every, …; in the others nothing
        is logged.
    missing : float
        The value in X that stands for a missing one, as the `missing` of `XGBRanker`; a matrix has its own.
    convention, negative_labels, n_jobs
        See `custom_metric`.

    Raises
    ------
    ValueError
        At once for unknown metrics, a data set without groups, or labels that do not suit the metrics; in the first
        round for a name that a built-in metric has too; in any round for NaN scores (`keep` then has the model and the
        rounds before).

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import EvaluateRanking, early_stopping
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> ranker = xgb.XGBRanker(n_estimators=5, callbacks=[
    ...     EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_exp@10", "mrr"]),
    ...     early_stopping("mrr", data_name="valid", rounds=2, verbose=False)])
    >>> ranker = ranker.fit(train.features, train.labels, qid=train.qid, verbose=False)
    >>> list(ranker.evals_result()["valid"])
    ['ndcg_exp@10', 'mrr']
    """

    def __init__(
        self,
        datasets: Mapping[str, Any],
        metrics: MetricLike | Iterable[MetricLike],
        *,
        every: int = 1,
        missing: float = np.nan,
        convention: str | None = None,
        negative_labels: NegativeLabels = "refuse",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(datasets, Mapping):
            raise TypeError(
                f"datasets must map names to data, for example {{'valid': dvalid}}, got {type(datasets).__name__}"
            )
        if not datasets:
            raise ValueError("datasets is empty: name at least one, for example {'valid': dvalid}")
        self.panel = Panel(metrics, convention, negative_labels, n_jobs)
        self.every = check_whole("every", every, unit="rounds")
        self.missing = missing
        self._bound = {name: self._bind(name, data) for name, data in datasets.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return _without_data, (self.panel, self.every)

    def __copy__(self) -> EvaluateRanking:
        copy = _without_data(self.panel, self.every)
        copy.missing, copy._bound = self.missing, dict(self._bound)
        return copy

    def __deepcopy__(self, memo: Any) -> EvaluateRanking:
        """Return a callback of its own on the same data, which are only read."""
        return self.__copy__()

    def _bind(self, name: str, data: Any) -> _Evaluated:
        if not isinstance(name, str):
            raise TypeError(f"the names of data sets must be strings, got {name!r}")
        if "-" in name or any(letter.isspace() for letter in name):
            raise ValueError(
                f"the name {name!r} of a data set must hold no '-' and no blank: XGBoost splits names there"
            )
        try:
            if isinstance(data, xgb.DMatrix):
                bound = BoundMatrix(self.panel, data)
                return _Evaluated(data, bound.part, bound)
            if isinstance(data, tuple) and len(data) in (3, 4):
                features, labels, qid, *weight = data
                whole = not xgb.collective.is_distributed()
                part = Part(self.panel, labels, qid=qid, weight=weight[0] if weight else None, whole=whole)
                return _Evaluated(xgb.DMatrix(features, missing=self.missing, enable_categorical=True), part)
        except ValueError as error:
            raise ValueError(f"data set {name!r}: {error}") from None
        raise TypeError(
            f"data set {name!r} must be a DMatrix, a QuantileDMatrix, or (X, y, qid) or (X, y, qid, weight), "
            f"got {type(data).__name__}"
        )

    def before_training(self, model: Any) -> Any:
        """Refuse cross-validation, which has data sets of its own; read what has been set anew in a matrix."""
        if not self._bound:
            raise ValueError(
                "this EvaluateRanking came out of a pickle, which does not hold its data: make a new one; in "
                "xgboost.dask.train take custom_metric, with full_precision where six digits are too few"
            )
        if not isinstance(model, xgb.Booster):
            raise ValueError("EvaluateRanking evaluates the data sets given to it; in xgboost.cv take custom_metric")
        for name, (data, _, bound) in self._bound.items():
            if bound is not None and bound.outdated(data):
                self._bound[name] = self._bind(name, data)
        return super().before_training(model)

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Evaluate and log."""
        if epoch % self.every:
            return
        for data_name, (data, part, _) in self._bound.items():
            history = evals_log.setdefault(data_name, {})
            sums = partial(sums_of, part, model.predict(data), epoch + 1, f" on {data_name!r}")
            values = means_over_workers(sums, len(self.panel.names))
            for name, value in zip(self.panel.names, values, strict=True):
                curve = history.setdefault(name, [])
                if len(curve) != epoch // self.every:
                    raise clash(name, "XGBoost", REMEDY)
                curve.append(value)


def _without_data(panel: Panel, every: int) -> EvaluateRanking:
    """Return what is left of a callback in a pickle."""
    callback = EvaluateRanking.__new__(EvaluateRanking)
    Logger.__init__(callback)
    callback.panel, callback.every, callback.missing, callback._bound = panel, every, np.nan, {}
    return callback
