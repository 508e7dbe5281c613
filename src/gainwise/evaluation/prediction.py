"""Scores from arrays, score files and models, which predict from the columns of features that they were trained on.

Boosters predict with the rounds up to their best iteration.

LightGBM's boosters use their best iteration by default. XGBoost's boosters use all rounds by default.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.arrays import columns_of, nearest, numbers
from .._common.sources import parse_source
from .._common.text import agree, join_names, pluralize, printables
from .._common.validation import validate_distinct, validate_mapping, validate_name
from ..data import RankingData, read_scores
from ..data.ranking_data import as_matrix, is_sparse
from ..data.text import one_line
from .groups import AlignedScores

if TYPE_CHECKING:
    from .._common.typing import Features, Floats, Frame, Predictor, Scores
    from ..judgments import Judgments


LIBRARIES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
"""The libraries of boosted trees by the names of their packages."""

UNNAMED_FEATURES = "takes the features by position, because they have no names"
UNNAMED_MODEL = "takes the features by position, because it has no feature names"


class Iteration(NamedTuple):
    """The number of boosting rounds that a model predicted with.

    Attributes
    ----------
    used : int
        The number of rounds of the prediction.
    held : int
        The number of rounds of the model.
    reason : {"best", "all"}
        The prediction used the best iteration of the model or all rounds. A linear booster always uses all rounds.
    """

    used: int
    held: int
    reason: Literal["best", "all"]

    @property
    def size(self) -> str:
        """The two numbers of rounds as text.

        >>> Iteration(41, 95, "best").size, Iteration(95, 95, "all").size
        ('41 of 95 rounds', 'all 95 rounds')
        """
        return f"{self.used:,} of {self.held:,} rounds" if self.used < self.held else f"all {self.held:,} rounds"

    def __str__(self) -> str:
        return f"{self.size} (its best iteration)" if self.reason == "best" else self.size


@dataclass(frozen=True)
class Unreadable:
    """A model whose file or column of scores could not be read, and the reason."""

    reason: str


class Prediction(NamedTuple):
    """The scores of a model, its number of rounds if it is a booster, and remarks on what it predicted from."""

    scores: Any
    iteration: Iteration | None = None
    remarks: tuple[str, ...] = ()


def read_predictions(
    models: Mapping[str, Scores] | Frame,
    judgments: Judgments,
    features: Features | None = None,
    all_rounds: bool = False,
    allow_incomplete: bool = False,
) -> tuple[dict[str, Prediction], dict[str, str]]:
    """Return the scores of each model, the number of rounds of each booster, and remarks.

    With `allow_incomplete`, models without scores are in the second mapping, with the reason. Otherwise they raise.

    `models` maps names to scores, paths (FILE or FILE:COLUMN, read with `gainwise.data.read_scores`) or objects with a
    `predict` method, or is a DataFrame with one column per model. Boosters predict from `features`, one row per
    document and matched by index, with the rounds up to their best iteration, or with `all_rounds`. Errors contain the
    name of the model.
    """
    if hasattr(models, "columns") and not isinstance(models, Mapping):
        columns = columns_of(models)
        validate_distinct("names of models", [name for name, _ in columns])  # A mapping would contain one of them only.
        models = dict(columns)
    validate_mapping("models", models, "scores, a path or a model")
    for name in models:
        validate_name("the name of a model", name)
    features = _align_features(judgments, features)
    predictions, missing = {}, {}
    for name, source in models.items():
        try:
            predictions[name] = _predict_documents(source, judgments, features, all_rounds)
            if allow_incomplete:
                AlignedScores(judgments, predictions[name].scores).validate()
        except (ValueError, TypeError, OSError) as error:
            if not allow_incomplete:
                raise _add_name(error, name) from error.__cause__
            predictions.pop(name, None)
            missing[name] = one_line(error)
    return predictions, missing


def _add_name(error: Exception, name: str) -> Exception:
    """Return an error of the same type with the name of the model, or a ValueError if the type has other arguments.

    >>> _add_name(TypeError("no numbers"), "a"), _add_name(UnicodeDecodeError("ascii", b"", 0, 1, "no"), "a")
    (TypeError("model 'a': no numbers"), ValueError("model 'a': 'ascii' codec can't decode bytes in position 0-0: no"))
    """
    text = f"model {name!r}: {error}"
    try:
        return type(error)(text)
    except Exception:  # For example UnicodeDecodeError.
        return ValueError(text)


def _predict_documents(source: Any, judgments: Judgments, features: Any, all_rounds: bool) -> Prediction:
    """Return the scores of one model, one per document. Raise a ValueError for other errors of a model."""
    try:
        prediction = _read_scores(source, features, all_rounds)
        scores = numbers("scores", judgments.align_scores(prediction.scores)).astype(np.float64)
    except (ValueError, TypeError, OSError, MemoryError):
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0].lstrip("_") in LIBRARIES:
            raise ValueError(str(error)) from error  # LightGBM and CatBoost have their own errors.
        if isinstance(source, str | PathLike) or not hasattr(source, "predict"):
            raise
        message = f": {error}" if str(error) else ""
        raise ValueError(f"its prediction failed with {type(error).__name__}{message}") from error
    if len(scores) != judgments.documents:
        raise ValueError(
            f"it has {pluralize(len(scores), 'score')}, but there {agree(judgments.documents, 'are')} "
            f"{pluralize(judgments.documents, 'document')}"
        )
    longest = int(judgments.sizes.max())
    return prediction._replace(scores=scores, remarks=(*prediction.remarks, *_describe_scores(scores, longest)))


def _describe_scores(scores: Floats, longest: int) -> Iterator[str]:
    """Yield remarks on infinite scores, which may be an overflow, and on two different scores, which may be classes.

    Ranks of two documents have two values, too. `longest` is the number of documents of the longest query.

    >>> list(_describe_scores(np.array([0.5, np.inf, -1.0]), 3)), list(_describe_scores(np.array([0.0, 1.0, 1.0]), 3))
    (['has 1 infinite score, which ranks first'], ['has only the scores 0 and 1, like predicted classes'])
    """
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    if high == np.inf:
        number = int(np.isposinf(scores).sum())
        yield f"has {pluralize(number, 'infinite score')}, which {agree(number, 'rank')} first"
    elif longest > 2 and -np.inf < low < high and ((scores == low) | (scores == high)).all():
        yield f"has only the scores {low:g} and {high:g}, like predicted classes"


def _align_features(judgments: Judgments, features: Any) -> Any:
    """Return features in the order of the labels, matched by index, or raise if the indexes differ."""
    if not isinstance(features, RankingData):
        return judgments.in_row_order("features", features)
    if features.index is None or judgments.index is None or features.index.equals(judgments.index):
        return features
    import pandas as pd

    rows = judgments.in_row_order("features", pd.Series(np.arange(len(features.labels)), index=features.index))
    names, categories = features.feature_names, features.categories
    matrix, zeros = features.features[rows.to_numpy()], np.zeros(len(rows))
    return RankingData(matrix, zeros, group=[len(rows)], feature_names=names, categories=categories)


def _read_scores(source: Any, features: Any, all_rounds: bool) -> Prediction:
    """Return unconverted scores, and the number of rounds of a booster."""
    if isinstance(source, Unreadable):
        raise ValueError(source.reason)
    if isinstance(source, str | PathLike):
        path, column = parse_source(fspath(source))
        return Prediction(read_scores(path, column=column))
    if hasattr(source, "predict"):
        if features is None:
            raise ValueError("it is a model, which predicts from features. Pass features=, one row per document")
        return predict(source, features, all_rounds)
    if np.ndim(source) == 0:
        raise TypeError(
            f"it is neither scores nor a path nor a model with a predict method, but {type(source).__name__}"
        )
    return Prediction(source)


class _Booster(NamedTuple):
    """A boosted model: its number of rounds, its best number, and the argument of `predict` for a number."""

    total: int
    best: int | None
    argument: Literal["num_iteration", "iteration_range", "ntree_end"] | None
    """None for a linear booster, which always predicts with all rounds."""

    def choose_rounds(self, all_rounds: bool) -> Iteration:
        """Return the rounds of a prediction: those up to the best iteration, or all."""
        used = self.total if all_rounds or self.best is None else min(self.best, self.total)
        return Iteration(used, self.total, "best" if used == self.best else "all")


def predict(model: Predictor, features: Features, all_rounds: bool = False) -> Prediction:
    """Return the scores of a model, and the number of rounds, which is None for models that are not boosters.

    Boosters and estimators of LightGBM, XGBoost and CatBoost predict with the rounds up to their best iteration, or
    with `all_rounds`. Columns are matched by name, see `select_columns`.
    """
    selected, booster = select_columns_of(model, features), _read_booster(model)
    features, options, iteration = _convert_features(model, selected.features), dict[str, Any](), None
    if booster is not None:
        iteration = booster.choose_rounds(all_rounds)
        if booster.argument is not None:
            used = iteration.used
            options[booster.argument] = (0, used) if booster.argument == "iteration_range" else used
    prediction = predict_scores(model, features, **options)
    return Prediction(prediction.scores, iteration, (*selected.remarks, *prediction.remarks))


def predict_scores(model: Any, features: Any, **options: Any) -> Prediction:
    """Return the predictions of a ranker or a regressor, or the scores of a classifier for the positive class."""
    method = next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), "predict")
    scores = getattr(model, method)(features, **options)
    if method == "predict":
        return Prediction(scores)
    shape, classes = np.shape(scores), getattr(model, "classes_", (0, 1))
    positive = classes[1] if len(classes) > 1 else None  # A tree that was trained on one class has no positive one.
    if method == "decision_function" and len(shape) == 1:
        return Prediction(scores, remarks=(f"is scored by its decision function for class {positive}",))
    if method == "decision_function" or len(shape) != 2 or shape[1] != 2:
        raise ValueError(
            f"it is a classifier whose {method} returns the shape {shape}, so it has no single score. Pass one score "
            "per document, for example the expected label."
        )
    return Prediction(np.asarray(scores)[:, 1], remarks=(f"is scored by the probability of class {positive}",))


def describe_remarks(remarks: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return one sentence, without its period, for each distinct remark, with the models that it applies to.

    >>> describe_remarks({"old": ["does not use the column b"], "new": [], "next": ["does not use the column b"]})
    ('Each of old and next does not use the column b',)
    """
    models: dict[str, list[str]] = {}
    for name, own in remarks.items():
        for remark in own:
            models.setdefault(remark, []).append(name)
    return tuple(
        f"{'Each of ' if len(names) > 1 else ''}{join_names(names)} {remark}" for remark, names in models.items()
    )


def _read_booster(model: Any) -> _Booster | None:
    """Return the rounds of a boosted model, or None for other models."""
    library, booster = find_booster(model)
    if library == "catboost" and getattr(model, "tree_count_", None) is not None:
        return _Booster(model.tree_count_, _find_best_of_catboost(model), "ntree_end")
    if booster is None:
        return None
    if library == "lightgbm":
        best = booster.best_iteration if (booster.best_iteration or 0) > 0 else None
        return _Booster(booster.current_iteration(), best, "num_iteration")
    total, best = booster.num_boosted_rounds(), booster.attr("best_iteration")
    if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
        return _Booster(total, None, None)
    return _Booster(total, None if best is None else int(best) + 1, "iteration_range")


def _convert_features(model: Any, features: Any) -> Any:
    """Return features in the form of the model. XGBoost's boosters require a DMatrix, with names if they exist."""
    names = None
    if is_sparse(features):
        features = as_matrix(features)  # LightGBM does not support csr_array
    if isinstance(features, RankingData):
        names = features.feature_names
        named = names is not None and not is_sparse(features.features)
        features = features.feature_frame() if named else features.features
    if hasattr(type(model), "num_boosted_rounds"):
        import xgboost

        if isinstance(features, xgboost.DMatrix):
            return features
        if not hasattr(features, "columns"):  # the names of an array cannot differ from those of the model
            options = {"feature_names": names or model.feature_names, "feature_types": model.feature_types}
            return xgboost.DMatrix(features, **options, enable_categorical=True)
        validate_categories(model, features)
        return xgboost.DMatrix(features, enable_categorical=True)
    if hasattr(type(model), "get_booster"):
        validate_categories(model.get_booster(), features)
    return features


def _find_best_of_catboost(model: Any) -> int | None:
    """Return the number of rounds up to the best one, or None.

    CatBoost counts the rounds of the last training, which may continue a model (`init_model`).
    """
    best = model.get_best_iteration()
    if best is None:
        return None
    total, params = model.tree_count_, model.get_all_params()
    if params.get("use_best_model"):  # already cut, with all rounds of the continued model
        return int(total)
    logged = max((len(curve) for curves in model.get_evals_result().values() for curve in curves.values()), default=0)
    is_sparse_log = params.get("metric_period", 1) != 1
    trained = min(total, params.get("iterations", total)) if is_sparse_log or not logged else logged
    return int(total - trained + best + 1)


def find_trees(content: Any) -> Any:
    """Return the part of an XGBoost model in JSON that has the trees and their categories, or None.

    The categories are under "cats". Versions before 3.1 do not store them.
    """
    booster = content["learner"]["gradient_booster"]
    return booster.get("model", booster.get("gbtree", {}).get("model"))


def validate_categories(booster: Any, features: Any) -> None:
    """Raise an error if a frame has categories and the booster has lost those of its training.

    XGBoost would use the codes of the frame without an error, although the categories may have another order.
    """
    if "c" not in (booster.feature_types or ()) or not _has_categories(features):
        return
    trees = find_trees(json.loads(bytes(booster.save_raw("json"))))
    if not ((trees or {}).get("cats") or {}).get("enc"):
        raise ValueError(
            "it splits by category, but the model does not contain its categories (as with XGBoost before 3.1, slices "
            "before 3.4, and training on codes). Pass its scores, or features as an array with the codes of its "
            "training, or train it on a DataFrame with XGBoost 3.1 or newer"
        )


def _has_categories(features: Any) -> bool:
    """Return whether a frame of pandas or Polars, or a table of Arrow, has a categorical column."""
    types = getattr(features, "dtypes", getattr(getattr(features, "schema", None), "types", ()))
    prefixes = ("categor", "enum", "dictionary")
    return hasattr(features, "columns") and any(str(kind).lower().startswith(prefixes) for kind in types)


# Columns of features


class SelectedColumns(NamedTuple):
    """Features in the order of a model's training, and remarks on columns that are unused or used by position."""

    features: Any
    remarks: tuple[str, ...] = ()


def select_columns(
    model_names: Sequence[str] | None, features: Any, *, has_underscores: bool = False
) -> SelectedColumns:
    """Return the columns of features with the names of a model, in its order.

    Names that a library made from positions, such as ``Column_0``, count as no names, unless the other side has the
    same ones in another order or among others. Without names on one of the two sides, features are used by position.
    With `has_underscores`, underscores in `model_names` match blanks, because LightGBM replaces them.
    """
    names, wanted = list_names(features) or [], list(model_names or [])
    size, are_made, are_made_by_model = len(names), are_positions(names), are_positions(wanted)
    if (are_made and are_made_by_model) or not set(wanted) <= set(names):
        names, wanted = [] if are_made else names, [] if are_made_by_model else wanted
    if not names:
        renamed = _rename_columns(features, wanted) if wanted and size == len(wanted) else features
        return SelectedColumns(renamed, (UNNAMED_FEATURES,) if wanted else ())
    if not wanted:
        return SelectedColumns(features, (UNNAMED_MODEL,))
    places = match_columns(names, wanted, has_underscores)
    if places == list(range(len(names))):
        return SelectedColumns(features)
    unused = [names[place] for place in sorted(set(range(len(names))) - set(places))]
    columns = f"{'column' if len(unused) == 1 else 'columns'} {join_names(printables(unused), most=10)}"
    return SelectedColumns(_take_columns(features, places), (f"does not use the {columns}",) if unused else ())


def are_positions(names: Sequence[str]) -> bool:
    """Return whether names are only positions: 0, 1, … as in a DataFrame of an array, or Column_0, … of LightGBM."""
    return any(all(name == f"{prefix}{place}" for place, name in enumerate(names)) for prefix in ("", "Column_"))


def list_names(features: Any) -> list[str] | None:
    """Return the names of the columns of a frame, an Arrow table or RankingData, or None for other features."""
    if isinstance(features, RankingData):
        return None if features.feature_names is None else list(features.feature_names)
    names = getattr(features, "column_names", getattr(features, "columns", None))
    return None if names is None or callable(names) else list(map(str, names))


def match_columns(names: Sequence[str], wanted: Sequence[str], has_underscores: bool) -> list[int]:
    """Return the positions of the wanted names. Raise an error if one is missing or ambiguous."""

    def simplify(name: str) -> str:
        return name.replace(" ", "_") if has_underscores else name

    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(simplify(name), []).append(place)
    missing = [name for name in wanted if simplify(name) not in places]
    if missing:
        hint, are = nearest(missing[0], list(names)), agree(len(missing), "are")
        raise ValueError(
            "features must have the columns that the model was trained on, but "
            f"{join_names(printables(missing), most=5)} {are} missing{hint}."
        )
    for name in wanted:
        if len(places[simplify(name)]) > 1:
            same = [names[place] for place in places[simplify(name)]]
            raise ValueError(
                f"features must have one column {name!r}, got {join_names(list(map(repr, same)))}. Rename one of them."
            )
    return [places[simplify(name)][0] for name in wanted]


def _take_columns(features: Any, places: Sequence[int]) -> Any:
    """Return columns by position, of the same kind."""
    if isinstance(features, RankingData):
        names = features.feature_names or ()
        chosen = tuple(names[place] for place in places)
        categories: Mapping[str, Any] = features.categories or {}
        kept = {name: values for name, values in categories.items() if name in chosen} or None
        return replace(features, features=features.features[:, places], feature_names=chosen, categories=kept)
    if hasattr(features, "iloc"):
        return features.iloc[:, places]
    if hasattr(features, "column_names"):
        return features.select(places)
    return features[:, places]  # polars


def find_booster(model: Any) -> tuple[str, Any]:
    """Return the library of a model of LightGBM or XGBoost and its booster, or the library of another model and None.

    An estimator that is not fitted raises the error of its library.
    """
    modules = (kind.__module__.partition(".")[0] for kind in type(model).__mro__)
    library, kind = next((module for module in modules if module in LIBRARIES), ""), type(model)
    if library == "lightgbm":
        own_booster = model if hasattr(kind, "current_iteration") else None
        return library, model.booster_ if hasattr(kind, "booster_") else own_booster
    if library == "xgboost":
        own_booster = model if hasattr(kind, "num_boosted_rounds") else None
        return library, model.get_booster() if hasattr(kind, "get_booster") else own_booster
    return library, None


def _rename_columns(features: Any, names: Sequence[str]) -> Any:
    """Return a frame of pandas, an Arrow table or RankingData with other names, and other features unchanged."""
    if isinstance(features, RankingData):
        return features if features.categories else replace(features, feature_names=tuple(names))
    if hasattr(features, "set_axis"):
        return features.set_axis(list(names), axis=1)
    return features.rename_columns(list(names)) if hasattr(features, "rename_columns") else features


def find_feature_names(model: Any) -> list[str] | None:
    """Return the names of the features that a model was trained on, or None."""
    library, booster = find_booster(model)
    if booster is not None:
        names = booster.feature_name() if library == "lightgbm" else booster.feature_names
    else:
        names = getattr(model, "feature_names_" if library == "catboost" else "feature_names_in_", None)
    return None if names is None else list(map(str, names))


def select_columns_of(model: Any, features: Any) -> SelectedColumns:
    """Return the columns of features that a model of any library was trained on, in its order."""
    names, number = find_feature_names(model), count_features(model)
    if names is None and number is None:
        return SelectedColumns(features)  # The model may select columns itself.
    if hasattr(features, "get_label"):
        return SelectedColumns(features)  # XGBoost compares the names of a DMatrix.
    selected = select_columns(names, features, has_underscores=find_booster(model)[0] == "lightgbm")
    validate_column_count(number, count_columns(selected.features))
    return selected


def validate_column_count(trained: int | None, given: int | None) -> None:
    """Raise if features have another number of columns than in the training of a model. None is unknown.

    XGBoost predicts from fewer columns as if the values of the others were missing.
    """
    if trained is not None and given is not None and trained != given:
        columns = pluralize(trained, "column")
        raise ValueError(f"features must have {columns}, as in the training of the model, got {given}.")


def count_features(model: Any) -> int | None:
    """Return the number of features that a model was trained on, or None if it is unknown."""
    library, booster = find_booster(model)
    if booster is not None:
        return int(booster.num_feature() if library == "lightgbm" else booster.num_features())
    size = getattr(model, "n_features_in_", None)  # 0 for a continued model of CatBoost.
    return size or None if isinstance(size, int) else None


def count_columns(features: Any) -> int | None:
    """Return the number of columns of features, or None if it is unknown."""
    shape = getattr(features.features if isinstance(features, RankingData) else features, "shape", None)
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 else None


def warn_of_remarks(subject: str, remarks: Iterable[str]) -> None:
    """Warn once of each remark about a model or a dataset."""
    for remark in remarks:
        warnings.warn(f"{subject} {remark}.", UserWarning, stacklevel=3)
