"""A callback that evaluates data sets after every round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xgboost as xgb

from .._common.checks import check_whole
from ..training.bound import Panel, clash
from ..training.parts import Part
from .binding import REMEDY, BoundMatrix, Logger, in_estimators, means_over_workers, sums_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._common.typing import Floats
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike
    from ..metrics.safe import Names


class _Evaluated(NamedTuple):
    """A data set to predict on, with its metrics; `bound` where labels, groups and weights are those of a DMatrix."""

    data: xgb.DMatrix
    part: Part
    bound: BoundMatrix | None = None


class EvaluateRanking(Logger):
    """A callback that evaluates data sets after every round and logs full precision.

    It writes into the history that XGBoost prints, returns as `evals_result`, and looks at for early stopping. Works
    in `xgboost.train` and `XGBRanker`, and with arrays in memory in `DaskXGBRanker` and `SparkXGBRanker`, where every
    worker evaluates all of them. In `xgboost.cv` and `xgboost.dask.train`, where each fold or worker has data of its
    own, take `custom_metric`. Workers that each make their own, with the data that they hold, log the means over the
    queries of all.

    Before version 3.2 XGBoost calls callbacks in any order: `early_stopping` has this one log first, but a stopping of
    XGBoost's own (`early_stopping_rounds`) may look before it has, and then ends the training with an error. Beside
    that, log with `custom_metric` there.

    Given as `(X, y, qid)` it can be copied, cloned and pickled, and evaluates the same data afterwards: in searches of
    scikit-learn with several processes, or on the workers of a cluster. The pickle of a ranker that has it among its
    callbacks holds these data then (`ranker.set_params(callbacks=None)` leaves them out, `save_model` writes the model
    alone). They are read when it is made: do not change them in place. XGBoost cannot pickle a matrix.

    Parameters
    ----------
    datasets : mapping of str to DMatrix, QuantileDMatrix, or tuple (X, y, qid) or (X, y, qid, weight)
        What to evaluate, by the name in the history. Weights are one per query. Where y is a pandas Series, X and the
        others are matched by its index. Labels, groups and weights of a matrix are read when a training starts.
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    every : int
        Evaluate in every n-th round only, counted from the first: 1, 1 + every, 1 + 2 * every, …; in the others nothing
        is logged.
    missing : float
        The value in X that stands for a missing one, as the `missing` of `XGBRanker`; a matrix has its own.
    convention, negative_labels, n_jobs, names
        See `custom_metric`.

    Raises
    ------
    ValueError
        At once for unknown metrics, a data set without groups, or labels that do not suit the metrics; in the first
        round for a name that a built-in metric has too; in any round for NaN scores (`checkpoint` then has the
        model and the rounds before).

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import EvaluateRanking, early_stopping
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> ranker = xgb.XGBRanker(n_estimators=5, callbacks=[
    ...     EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_exp@10", "mrr"]),
    ...     early_stopping("mrr", dataset="valid", rounds=2, verbose=False)])
    >>> ranker = ranker.fit(train.features, train.labels, qid=train.qid, verbose=False)
    >>> list(ranker.evals_result()["valid"])
    ['ndcg_exp@10', 'mrr']
    """

    def __init__(
        self,
        datasets: Mapping[str, xgb.DMatrix | tuple[Any, ...]],
        metrics: MetricLike | Iterable[MetricLike],
        *,
        every: int = 1,
        missing: float = np.nan,
        convention: str | None = None,
        negative_labels: NegativeLabels = "refuse",
        n_jobs: int | None = None,
        names: Names = "plain",
    ) -> None:
        super().__init__()
        if not isinstance(datasets, Mapping):
            raise TypeError(
                f"datasets must map names to data, for example {{'valid': dvalid}}, got {type(datasets).__name__}"
            )
        if not datasets:
            raise ValueError("datasets is empty: name at least one, for example {'valid': dvalid}")
        self.panel = Panel(metrics, convention, negative_labels, n_jobs, names)
        self.every = check_whole("every", every, unit="rounds")
        self.missing = missing
        self._given: dict[str, Any] = dict(datasets)
        self._bound = {name: self._bind(name, data) for name, data in datasets.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        given = {name: None if isinstance(data, xgb.DMatrix) else data for name, data in self._given.items()}
        return _again, (self.panel, self.every, self.missing, given)

    def __repr__(self) -> str:
        return self.panel.call(EvaluateRanking, list(self._given), every=self.every)

    def __copy__(self) -> EvaluateRanking:
        copy = _again(self.panel, self.every, self.missing, dict(self._given))
        copy._bound = dict(self._bound)
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
                if part.evaluator is not None:
                    features = part.evaluator.judgments.in_row_order("X", features)
                return _Evaluated(xgb.DMatrix(features, missing=self.missing, enable_categorical=True), part)
        except ValueError as error:
            raise ValueError(f"data set {name!r}: {error}") from None
        raise TypeError(
            f"data set {name!r} must be a DMatrix, a QuantileDMatrix, or (X, y, qid) or (X, y, qid, weight), "
            f"got {type(data).__name__}"
        )

    def before_training(self, model: Any) -> Any:
        """Refuse cross-validation, which has data sets of its own; read what has been set anew in a matrix."""
        lost = next((name for name, data in self._given.items() if data is None), None)
        if lost is not None:
            raise ValueError(
                f"data set {lost!r} was a matrix and this EvaluateRanking came out of a pickle, which cannot hold it: "
                f"{in_estimators(list(self.panel.names))}; in xgboost.dask.train take custom_metric, with "
                "full_precision where six digits are too few"
            )
        if not isinstance(model, xgb.Booster):
            raise ValueError("EvaluateRanking evaluates the data sets given to it; in xgboost.cv take custom_metric")
        for name, data in self._given.items():
            known = self._bound.get(name)
            if known is None or (known.bound is not None and known.bound.outdated(data)):
                self._bound[name] = self._bind(name, data)
        return super().before_training(model)

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Evaluate and log."""
        if epoch % self.every:
            return
        for data_name in self._bound:
            history = evals_log.setdefault(data_name, {})
            for name, value in zip(self.panel.names, self._values(model, data_name, epoch + 1), strict=True):
                curve = history.setdefault(name, [])
                if len(curve) != epoch // self.every:
                    raise clash(name, "XGBoost", REMEDY)
                curve.append(value)

    def value_after(self, model: Any, rounds: int, data_name: str, metric: str) -> float | None:
        """Return the value of the model cut after some rounds, if it is this callback that logs it."""
        if data_name not in self._bound or metric not in self.panel.names:
            return None
        values = self._values(model, data_name, rounds, iteration_range=(0, rounds))
        return values[self.panel.names.index(metric)]

    def _values(self, model: Any, data_name: str, number: int, **cut: Any) -> list[float]:
        """Return the mean of each metric on a data set; an error names this round."""
        data, part, _ = self._bound[data_name]

        def sums() -> Floats:
            return sums_of(part, model.predict(data, **cut), number, f" on {data_name!r}")

        return means_over_workers(sums, len(self.panel.names))


def _again(panel: Panel, every: int, missing: float, given: dict[str, Any]) -> EvaluateRanking:
    """Return a callback whose data are read when a training starts; None stands for a matrix that was lost."""
    callback = EvaluateRanking.__new__(EvaluateRanking)
    Logger.__init__(callback)
    callback.panel, callback.every, callback.missing = panel, every, missing
    callback._given, callback._bound = given, {}
    return callback
