"""LightGBM's ranker by the query of each row, so that scikit-learn can cut its data."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

try:
    import lightgbm as lgb
except ImportError as error:  # pragma: no cover - needs an environment without LightGBM
    raise ImportError("GroupedLGBMRanker needs LightGBM: pip install 'gainsay-ltr[lightgbm]'") from error

from ..judgments import Judgments
from .queries import COLUMN, columns_of, queries_of, without_queries

if TYPE_CHECKING:
    from .._common.typing import Integers


class GroupedLGBMRanker(lgb.LGBMRanker):
    """`lightgbm.LGBMRanker` that takes the query of each row, `qid`, as `xgboost.XGBRanker` does.

    LightGBM's own takes numbers of documents by query and wants the rows of a query to stand together, which no search
    or cross-validation of scikit-learn can cut. Here rows stand in any order; the model is the one that LightGBM trains
    on the rows sorted by query, in order of their first rows. Parameters, attributes, predictions and files are
    LightGBM's.

    `fit` asks for `qid`, for what belongs to validation data, and for callbacks by metadata routing; weights go by
    scikit-learn's rule (`set_fit_request(sample_weight=True)`). Where routing is not turned on, X may be a frame with a
    column `qid`, which `predict` leaves out as well.

    Parameters
    ----------
    **params
        As of `lightgbm.LGBMRanker`.

    Examples
    --------
    >>> import numpy as np
    >>> from gainsay.data import simulate
    >>> from gainsay.sklearn import GroupedLGBMRanker
    >>> data = simulate(40, seed=1)
    >>> anyhow = np.random.default_rng(0).permutation(len(data.labels))
    >>> ranker = GroupedLGBMRanker(n_estimators=5, n_jobs=1, verbose=-1)
    >>> ranker = ranker.fit(data.features[anyhow], data.labels[anyhow], qid=data.qid[anyhow])
    >>> ranker.predict(data.features).shape == data.labels.shape
    True
    """

    # Asked for from the start: nothing else could be meant by these names.
    __metadata_request__fit = dict.fromkeys(
        (
            "qid", "eval_set", "eval_X", "eval_y", "eval_qid", "eval_sample_weight", "eval_init_score", "eval_names",
            "eval_metric", "eval_at", "callbacks", "feature_name", "categorical_feature",
        ),
        True,
    )  # fmt: skip

    def fit(  # type: ignore[override]  # by qid instead of group
        self,
        X: Any,  # noqa: N803
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        *,
        qid: Any = None,
        eval_set: Any = None,
        eval_X: Any = None,  # noqa: N803
        eval_y: Any = None,
        eval_qid: Any = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_names: Any = None,
        eval_metric: Any = None,
        eval_at: list[int] | tuple[int, ...] = (1, 2, 3, 4, 5),
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Any = None,
        init_model: Any = None,
    ) -> GroupedLGBMRanker:
        """Train.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (documents, features)
            As LightGBM takes it; a frame may hold the queries as a column `qid`.
        y : array-like, shape (documents,)
            Labels. Where they are a pandas Series, all that stands by row and has an index is matched by it.
        sample_weight : array-like, shape (documents,) or (queries,), or mapping, optional
            One weight per row as LightGBM takes them, or one per query: in order of their first rows, or by query id
            in a mapping or a Series whose index holds the ids. A query's weight goes to each of its rows.
        init_score : array-like, shape (documents,), optional
            By row.
        qid : array-like, shape (documents,), optional
            The query of each row: numbers or strings. Needed unless it is a column of X.
        eval_set : list of (X, y), optional
            Validation data; or in `eval_X` and `eval_y`, either of one set or tuples of several. (A `Pipeline` brings
            `eval_X` through its steps by `transform_input=["eval_X"]`. In a search write a tuple even for one set: an
            array that has as many rows as X is cut as X is.)
        eval_qid : array-like, or list or tuple of them
            The queries of the validation data, of each set; not needed where their frames have a column `qid`.
        eval_sample_weight, eval_init_score : array-like, or list or tuple of them, optional
            As `sample_weight` and `init_score`, of each set.
        eval_names, eval_metric, eval_at, feature_name, categorical_feature, callbacks, init_model
            As of `lightgbm.LGBMRanker.fit`. Metrics of ours: `gainsay.lightgbm.eval_metric`.

        Returns
        -------
        GroupedLGBMRanker
            Itself.

        Raises
        ------
        ValueError
            Where a query is missing or given twice, or lengths or indexes do not fit; the message names the argument.
        """
        _refuse_places(X, categorical_feature)
        train = _grouped("", X, y, qid, sample_weight, init_score)
        sets = _validation(eval_set, eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score)
        super().fit(
            train.features,
            train.labels,
            sample_weight=train.weight,
            init_score=train.init_score,
            group=train.group,
            eval_names=eval_names,
            eval_metric=eval_metric,
            eval_at=eval_at,
            feature_name=feature_name,
            categorical_feature=categorical_feature,
            callbacks=callbacks,
            init_model=init_model,
            **_as_lightgbm_takes(sets),
        )
        return self

    def predict(
        self,
        X: Any,  # noqa: N803
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Return one score per row, as `lightgbm.LGBMRanker.predict`; a column `qid` of a frame is left out."""
        return super().predict(
            without_queries(X),
            raw_score=raw_score,
            start_iteration=start_iteration,
            num_iteration=num_iteration,
            pred_leaf=pred_leaf,
            pred_contrib=pred_contrib,
            validate_features=validate_features,
            **kwargs,
        )


class _Grouped(NamedTuple):
    """A data set as LightGBM takes it: the rows of each query stand together."""

    features: Any
    labels: Any
    group: Integers
    weight: Any
    init_score: Any


def _refuse_places(features: Any, categorical: Any) -> None:
    """Refuse categorical features by place where LightGBM gets the features without one of their columns."""
    given = categorical if isinstance(categorical, list | tuple) else ()
    if COLUMN in columns_of(features) and any(isinstance(one, int | np.integer) for one in given):
        raise ValueError(
            f"categorical_feature={list(given)!r} counts columns of X, of which 'qid' is left out: name them instead, "
            "or give qid= and X without it"
        )


def _grouped(name: str, features: Any, labels: Any, qid: Any, weight: Any, init_score: Any) -> _Grouped:
    """Return a data set by query; errors call its parts by `name` and what they are."""
    queries = queries_of(features, qid)
    if queries is None:
        argument = "eval_qid" if name else "qid"
        raise ValueError(
            f"{argument} is missing{name}: give the query of each row, as {argument}= or as a column 'qid' of a frame. "
            "In a search of scikit-learn, qid= reaches fit after sklearn.set_config(enable_metadata_routing=True)"
        )
    try:
        judgments = Judgments(labels, qid=queries, negative_labels="allow")
        weights = None if weight is None else judgments.read_weights(weight, judgments.query_ids)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error}{name}") from None
    if weights is not None and len(weights) == judgments.queries:
        weights = np.repeat(weights, judgments.sizes)
    elif weights is not None:
        weights = judgments.by_query(weights)
    features = judgments.in_row_order("X", without_queries(features))
    order = judgments.by_query(np.arange(judgments.documents))
    rows = len(features) if not hasattr(features, "shape") else features.shape[0]
    for what, given in (("X", rows), ("init_score", judgments.documents if init_score is None else len(init_score))):
        if given != judgments.documents:
            raise ValueError(f"{what} has {given} rows{name} but there are {judgments.documents} labels")
    init_score = judgments.in_row_order("init_score", init_score)
    if np.array_equal(order, np.arange(len(order))):
        return _Grouped(features, labels, judgments.sizes, weights, init_score)
    init_score = None if init_score is None else _safe_indexing(init_score, order)
    return _Grouped(
        _safe_indexing(features, order), _safe_indexing(labels, order), judgments.sizes, weights, init_score
    )


def _validation(pairs: Any, features: Any, labels: Any, qid: Any, weight: Any, init_score: Any) -> list[_Grouped]:
    """Return the validation data, however they were given."""
    if pairs is not None and (features is not None or labels is not None):
        raise ValueError("give validation data as eval_set=, or as eval_X= and eval_y=, not both")
    if (features is None) != (labels is None):
        missing = "eval_X" if features is None else "eval_y"
        raise ValueError(f"{missing} is missing: eval_X= and eval_y= belong together")
    if pairs is not None:
        pairs = [pairs] if isinstance(pairs, tuple) and len(pairs) == 2 and not isinstance(pairs[0], tuple) else pairs
        features, labels = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if features is None:
        return []
    alone = pairs is None and not isinstance(features, tuple | list)
    given = {"eval_X": features, "eval_y": labels, "eval_qid": qid}
    given |= {"eval_sample_weight": weight, "eval_init_score": init_score}
    sets = {name: _each(name, values, alone, 1 if alone else len(features)) for name, values in given.items()}
    return [
        _grouped(f" of validation set {number}", *parts)
        for number, parts in enumerate(zip(*sets.values(), strict=True))
    ]


def _each(name: str, values: Any, alone: bool, number: int) -> list[Any]:
    """Return what was given for each validation set."""
    if values is None:
        return [None] * number
    if alone and not (isinstance(values, tuple | list) and len(values) == 1 and np.ndim(values[0])):
        return [values]
    if not isinstance(values, tuple | list) or len(values) != number:
        found = len(values) if isinstance(values, tuple | list) else type(values).__name__
        raise ValueError(f"{name} must have an entry for each of {number} validation sets, in a list: got {found}")
    return list(values)


def _as_lightgbm_takes(sets: list[_Grouped]) -> dict[str, Any]:
    """Return validation data as arguments: `eval_X` and `eval_y` since LightGBM 4.7, before that `eval_set`."""
    if not sets:
        return {}
    features, labels, groups, weights, init_scores = map(list, zip(*sets, strict=True))
    rest = {
        "eval_group": groups,
        "eval_sample_weight": None if all(weight is None for weight in weights) else weights,
        "eval_init_score": None if all(init_score is None for init_score in init_scores) else init_scores,
    }
    if "eval_X" in signature(lgb.LGBMRanker.fit).parameters:
        return {"eval_X": tuple(features), "eval_y": tuple(labels), **rest}
    return {"eval_set": list(zip(features, labels, strict=True)), **rest}
