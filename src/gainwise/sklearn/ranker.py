"""LightGBM's ranker with the query of each row, so that scikit-learn can split its data."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

try:
    import lightgbm as lgb
except ImportError as error:  # pragma: no cover - needs an environment without LightGBM
    raise ImportError("GroupedLGBMRanker requires LightGBM. Run: pip install lightgbm") from error

from .._common.validation import prefix_errors
from ..evaluation.prediction import count_columns, list_names, select_columns, validate_column_count
from ..judgments import Judgments
from .scoring import COLUMN, QuerySummary, drop_queries, get_column_names, get_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Integers


class GroupedLGBMRanker(lgb.LGBMRanker):
    """A `lightgbm.LGBMRanker` with the query of each row, `qid`, as in `xgboost.XGBRanker`.

    LightGBM's ranker requires the number of documents per query and contiguous queries, so scikit-learn cannot split
    its data. This ranker accepts rows in any order. The model is the one that LightGBM trains on the rows sorted by
    query, in the order of their first rows. Parameters, attributes, predictions and files are those of LightGBM.

    Parameters
    ----------
    **params
        The parameters of `lightgbm.LGBMRanker`.

    Attributes
    ----------
    training_queries_ : tuple
        The ids, sizes and sums of labels of the training queries. `scorer` uses them to detect split queries.

    See Also
    --------
    gainwise.sklearn.scorer : Score the ranker in searches and cross-validations.
    gainwise.lightgbm.eval_metric : Log ranking metrics in `fit`.

    Notes
    -----
    `fit` requests `qid`, validation data and callbacks by metadata routing, and weights after
    ``set_fit_request(sample_weight=True)``, as usual in scikit-learn. Without routing, X may be a frame with a column
    `qid`, which `predict` ignores.

    Examples
    --------
    >>> import numpy as np
    >>> from gainwise.data import simulate
    >>> from gainwise.sklearn import GroupedLGBMRanker
    >>> data = simulate(40, seed=1)
    >>> order = np.random.default_rng(0).permutation(len(data.labels))
    >>> ranker = GroupedLGBMRanker(n_estimators=5, n_jobs=1, verbose=-1)
    >>> ranker = ranker.fit(data.features[order], data.labels[order], qid=data.qid[order])
    >>> ranker.predict(data.features).shape == data.labels.shape
    True
    """

    # Requested by default, because these names have one meaning only.
    __metadata_request__fit = dict.fromkeys(
        (
            "qid", "eval_set", "eval_X", "eval_y", "eval_qid", "eval_sample_weight", "eval_init_score", "eval_columns",
            "eval_names", "eval_metric", "eval_at", "callbacks", "feature_name", "categorical_feature",
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
        eval_columns: Any = None,
        **options: Any,
    ) -> GroupedLGBMRanker:
        """Train.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (documents, features)
            The features. A frame may have the queries as a column `qid`.
        y : array-like, shape (documents,)
            Labels. If they are a pandas Series, other arguments with an index are matched by it. If the orders of X, y
            and qid differ, all arguments must have an index.
        sample_weight : array-like, shape (documents,) or (queries,), or mapping, optional
            One weight per row, or one per query: in the order of their first rows, or by query id in a mapping or a
            Series. Each row of a query has its weight.
        init_score : array-like, shape (documents,), optional
            The initial score of each row.
        qid : array-like, shape (documents,), optional
            The query of each row: numbers or strings. Required unless it is a column of X.
        eval_set : list of (X, y), optional
            Validation data. Alternatively, pass `eval_X` and `eval_y` for one set, or tuples of them for several.
        eval_qid : array-like, or list or tuple of these
            The queries of each validation set. Not required for frames with a column `qid`.
        eval_sample_weight, eval_init_score : array-like, or list or tuple of these, optional
            As `sample_weight` and `init_score`, for each validation set.
        eval_columns : mapping of str to array-like, or list or tuple of these, optional
            Further labels of each validation set, such as ``{"revenue": revenue}``, for metrics of
            `gainwise.lightgbm.eval_metric` with ``column=NAME``.
        eval_names, eval_metric, eval_at, feature_name, categorical_feature, callbacks, init_model
            See `lightgbm.LGBMRanker.fit`. `gainwise.lightgbm.eval_metric` creates metrics of gainwise.

        Returns
        -------
        GroupedLGBMRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If a query is missing or given twice, or if lengths, indexes or numbers of columns do not match. The message
            names the argument or the dataset.

        Notes
        -----
        In a `Pipeline`, use ``transform_input=["eval_X"]`` to transform validation data. In a search, pass a tuple even
        for one validation set. Otherwise, an array with as many rows as X is split like X.
        """
        _validate_categories(X, options.get("categorical_feature"))
        for name, ids in (("group", "qid"), ("eval_group", "eval_qid")):
            if options.pop(name, None) is not None:
                fix = "Pass the query of each row, such as np.repeat(np.arange(len(group)), group)."
                raise TypeError(f"{name} must be replaced by {ids}. {fix}")
        train = _group("", X, y, qid, sample_weight, init_score)
        sets = _group_validation(eval_set, eval_X, eval_y, eval_qid, eval_sample_weight, eval_init_score, eval_columns)
        for number, held_out in enumerate(sets):  # LightGBM reads missing columns as missing values.
            with prefix_errors(f"validation set {number}: "):
                validate_column_count(count_columns(train.features), count_columns(held_out.features))
                arranged = _arrange_columns(held_out.features, list_names(train.features))
                sets[number] = held_out._replace(features=arranged)
        if eval_columns is not None:
            options["eval_metric"] = _pass_columns(options.get("eval_metric"), sets)
        super().fit(
            train.features,
            train.labels,
            sample_weight=train.weight,
            init_score=train.init_score,
            group=train.group,
            **options,
            **_create_arguments(sets),
        )
        self.training_queries_ = train.summary
        return self

    def predict(self, X: Any, *args: Any, **options: Any) -> Any:  # noqa: N803
        """Return one score per row, as `lightgbm.LGBMRanker.predict` does.

        A column `qid` of a frame is ignored, and other columns are matched by name if they are those of the training.
        """
        if X is None:
            raise TypeError("X must be an array, a sparse matrix or a DataFrame with one row per document, got None")
        return super().predict(_arrange_columns(drop_queries(X), self.feature_name_), *args, **options)


def _arrange_columns(features: Any, names: Sequence[str] | None) -> Any:
    """Return the columns of a frame in the order of these names, or unchanged features if they have other names."""
    own = list_names(features)
    same = own and names and sorted(map(_replace_blanks, own)) == sorted(map(_replace_blanks, names))
    return select_columns(names, features, has_underscores=True).features if same else features


def _replace_blanks(name: str) -> str:
    return name.replace(" ", "_")  # as LightGBM does


class _Grouped(NamedTuple):
    """A dataset for LightGBM, with contiguous queries."""

    features: Any
    labels: Any
    group: Integers
    weight: Any
    init_score: Any
    columns: Any
    summary: QuerySummary


def _pass_columns(metrics: Any, sets: Sequence[_Grouped]) -> Any:
    """Return metrics of gainwise with the columns of the validation sets, and other metrics as they are."""
    metrics = metrics if isinstance(metrics, list) else [metrics]
    if not any(hasattr(metric, "with_columns") for metric in metrics):
        raise ValueError("eval_columns requires eval_metric=gainwise.lightgbm.eval_metric([…]), which uses them.")
    pairs = [(own.labels, own.columns) for own in sets]
    return [metric.with_columns(pairs) if hasattr(metric, "with_columns") else metric for metric in metrics]


def _validate_categories(features: Any, categorical: Any) -> None:
    """Reject categorical features by number if a column of the features is removed."""
    categories = categorical if isinstance(categorical, list | tuple) else ()
    if COLUMN in get_column_names(features) and any(isinstance(name, int | np.integer) for name in categories):
        raise ValueError(
            f"categorical_feature={list(categories)!r} counts columns of X, but 'qid' is left out: pass names instead, "
            "or qid= and X without it"
        )


def _group(
    name: str, features: Any, labels: Any, qid: Any, weight: Any, init_score: Any, columns: Any = None
) -> _Grouped:
    """Return a dataset with contiguous queries. Errors contain its `name`."""
    queries = get_queries(features, qid)
    if queries is None:
        argument = "eval_qid" if name else "qid"
        raise ValueError(
            f"{argument} is missing{name}: pass the query of each row, as {argument}= or as a column 'qid' of a frame. "
            "In a search of scikit-learn, call sklearn.set_config(enable_metadata_routing=True) before you pass qid="
        )
    try:
        judgments = Judgments(labels, qid=queries, negative_labels="allow", columns=columns)
        weights = None if weight is None else judgments.read_weights(weight, judgments.query_ids)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error}{name}") from None
    if weights is not None:
        is_by_query = len(weights) == judgments.queries
        weights = np.repeat(weights, judgments.sizes) if is_by_query else judgments.by_query(weights)
    try:
        features = judgments.align_features(
            drop_queries(features), y=labels, qid=queries, sample_weight=weight, init_score=init_score
        )
    except ValueError as error:
        raise ValueError(f"{error}{name}") from None
    order = judgments.by_query(np.arange(judgments.documents))
    rows = len(features) if not hasattr(features, "shape") else features.shape[0]
    for argument, length in (("X", rows), ("init_score", None if init_score is None else len(init_score))):
        if length not in (None, judgments.documents):
            raise ValueError(f"{argument} has {length} rows{name} but there are {judgments.documents} labels")
    init_score = judgments.in_row_order("init_score", init_score)
    if not np.array_equal(order, np.arange(len(order))):
        init_score = None if init_score is None else _safe_indexing(init_score, order)
        features, labels = _safe_indexing(features, order), _safe_indexing(labels, order)
    by_query = {column: judgments.by_query(values) for column, values in judgments.columns.items()}
    return _Grouped(features, labels, judgments.sizes, weights, init_score, by_query, QuerySummary.create(judgments))


def _group_validation(
    pairs: Any, features: Any, labels: Any, qid: Any, weight: Any, init_score: Any, columns: Any
) -> list[_Grouped]:
    """Return the validation data of both forms of arguments."""
    if pairs is not None and (features is not None or labels is not None):
        raise ValueError("pass validation data as eval_set=, or as eval_X= and eval_y=, not both")
    if (features is None) != (labels is None):
        missing = "eval_X" if features is None else "eval_y"
        raise ValueError(f"{missing} is missing: eval_X= and eval_y= belong together")
    if pairs is not None:
        pairs = [pairs] if isinstance(pairs, tuple) and len(pairs) == 2 and not isinstance(pairs[0], tuple) else pairs
        features, labels = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if features is None:
        return []
    is_single = pairs is None and not isinstance(features, tuple | list)
    arguments = {"eval_X": features, "eval_y": labels, "eval_qid": qid}
    arguments |= {"eval_sample_weight": weight, "eval_init_score": init_score, "eval_columns": columns}
    count = 1 if is_single else len(features)
    sets = {name: _list_values(name, values, is_single, count) for name, values in arguments.items()}
    return [
        _group(f" of validation set {number}", *parts) for number, parts in enumerate(zip(*sets.values(), strict=True))
    ]


def _list_values(name: str, values: Any, is_single: bool, number: int) -> list[Any]:
    """Return the values of an argument for each validation set."""
    if values is None:
        return [None] * number
    if is_single and not (isinstance(values, tuple | list) and len(values) == 1 and np.ndim(values[0])):
        return [values]
    if not isinstance(values, tuple | list) or len(values) != number:
        actual = len(values) if isinstance(values, tuple | list) else type(values).__name__
        raise ValueError(f"{name} must have an entry for each of {number} validation sets, in a list: got {actual}")
    return list(values)


def _create_arguments(sets: list[_Grouped]) -> dict[str, Any]:
    """Return the arguments for validation data: `eval_X` and `eval_y` since LightGBM 4.7, otherwise `eval_set`."""
    if not sets:
        return {}
    features, labels, groups, weights, init_scores, _, _ = map(list, zip(*sets, strict=True))
    rest = {"eval_group": groups, "eval_sample_weight": weights, "eval_init_score": init_scores}
    if "eval_X" in signature(lgb.LGBMRanker.fit).parameters:
        return {"eval_X": tuple(features), "eval_y": tuple(labels), **rest}
    return {"eval_set": list(zip(features, labels, strict=True)), **rest}
