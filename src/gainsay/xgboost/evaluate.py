"""A callback that evaluates data sets after every round."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import xgboost as xgb

from .._bound import Panel, clash, positive_int
from .._parts import Part
from .binding import REMEDY, BoundMatrix, Logger, sums_of
from .workers import means_over_workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike


class EvaluateRanking(Logger):
    """A callback that evaluates data sets after every round and logs full precision.

    It writes into the history that XGBoost prints, returns as `evals_result`, and looks at for early stopping. Works
    in `xgboost.train` and `XGBRanker`; in `xgboost.cv` and
    `xgboost.dask.train`, where each fold or worker has data of its own, take `custom_metric`. Workers that each make
    their own, with the data that they hold, log the means over the queries of all.

    Parameters
    ----------
    datasets : mapping of str to DMatrix, QuantileDMatrix, or tuple (X, y, qid) or (X, y, qid, weight)
        What to evaluate, by the name in the history. Weights are one per query.
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    every : int
        Evaluate in every n-th round only, counted from the first: 1, 1 + every, 1 + 2 * every, …; in the others nothing
        is logged.
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
        convention: str | None = None,
        negative_labels: NegativeLabels = "refuse",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__()
        if not datasets:
            raise ValueError("datasets is empty: name at least one, for example {'valid': dvalid}")
        self.panel = Panel(metrics, convention, negative_labels, n_jobs)
        self.every = positive_int("every", every, "rounds")
        self._bound = {name: self._bind(name, data) for name, data in datasets.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "EvaluateRanking holds its data and cannot go to another process; in xgboost.dask.train take "
            "custom_metric, with full_precision where six digits are too few"
        )

    def _bind(self, name: str, data: Any) -> tuple[xgb.DMatrix, Part]:
        if "-" in name or any(letter.isspace() for letter in name):
            raise ValueError(
                f"the name {name!r} of a data set must hold no '-' and no blank: XGBoost splits names there"
            )
        try:
            if isinstance(data, xgb.DMatrix):
                return data, BoundMatrix(self.panel, data).part
            if isinstance(data, tuple) and len(data) in (3, 4):
                features, labels, qid, *weight = data
                whole = not xgb.collective.is_distributed()
                part = Part(self.panel, labels, qid=qid, weight=weight[0] if weight else None, whole=whole)
                return xgb.DMatrix(features, enable_categorical=True), part
        except ValueError as error:
            raise ValueError(f"data set {name!r}: {error}") from None
        raise TypeError(
            f"data set {name!r} must be a DMatrix, a QuantileDMatrix, or (X, y, qid) or (X, y, qid, weight), "
            f"got {type(data).__name__}"
        )

    def before_training(self, model: Any) -> Any:
        """Refuse cross-validation, which has data sets of its own."""
        if not isinstance(model, xgb.Booster):
            raise ValueError("EvaluateRanking evaluates the data sets given to it; in xgboost.cv take custom_metric")
        return super().before_training(model)

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Evaluate and log."""
        if epoch % self.every:
            return
        for data_name, (data, part) in self._bound.items():
            history = evals_log.setdefault(data_name, {})
            sums = partial(sums_of, part, model.predict(data), epoch + 1, f" on {data_name!r}")
            values = means_over_workers(sums, len(self.panel.names))
            for name, value in zip(self.panel.names, values, strict=True):
                curve = history.setdefault(name, [])
                if len(curve) != epoch // self.every:
                    raise clash(name, "XGBoost", REMEDY)
                curve.append(value)
