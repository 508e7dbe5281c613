"""The columns of features that a model was trained on, by name if the model and the features have names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .._common.arrays import nearest
from .._common.text import join_names, printables
from ..data import RankingData

LIBRARIES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
"""The libraries of boosted trees by the names of their packages."""

UNNAMED_FEATURES = "takes the features by position, because they have no names"
UNNAMED_MODEL = "takes the features by position, because it has no feature names"


class SelectedColumns(NamedTuple):
    """Features in the order of a model's training, and remarks on columns that are unused or used by position."""

    features: Any
    remarks: tuple[str, ...] = ()


def select_columns(
    model_names: Sequence[str] | None, features: Any, *, has_underscores: bool = False
) -> SelectedColumns:
    """Return the columns of features with the names of a model, in its order.

    Names that a library made from positions, such as ``Column_0``, count as no names. Without names on one of the two
    sides, features are used by position. With `has_underscores`, underscores in `model_names` match blanks, because
    LightGBM replaces them.
    """
    names = list_names(features)
    wanted = None if model_names is None or are_positions(model_names) else list(model_names)
    if names is None or are_positions(names):
        has_names = wanted is not None and names is not None and len(names) == len(wanted)
        renamed = _rename_columns(features, wanted) if has_names and wanted is not None else features
        return SelectedColumns(renamed, (UNNAMED_FEATURES,) if wanted else ())
    if wanted is None:
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
        hint = nearest(missing[0], list(names))
        raise ValueError(
            f"features must have the columns of its training, but {join_names(printables(missing), most=5)} "
            f"{'is' if len(missing) == 1 else 'are'} missing{hint}."
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
    library, booster = find_booster(model)
    names, number = find_feature_names(model), _count_features(model, library, booster)
    if names is None and number is None:
        return SelectedColumns(features)  # The model may select columns itself.
    if hasattr(features, "get_label"):
        return SelectedColumns(features)  # XGBoost compares the names of a DMatrix.
    selected = select_columns(names, features, has_underscores=library == "lightgbm")
    given = _count_columns(selected.features)
    if None not in (number, given) and number != given:
        raise ValueError(f"features must have {number} columns, as in its training, got {given}.")
    return selected


def _count_features(model: Any, library: str, booster: Any) -> int | None:
    """Return the number of features that a model was trained on, or None if it is unknown."""
    if booster is not None:
        return int(booster.num_feature() if library == "lightgbm" else booster.num_features())
    size = getattr(model, "n_features_in_", None)  # 0 for a continued model of CatBoost.
    return size or None if isinstance(size, int) else None


def _count_columns(features: Any) -> int | None:
    """Return the number of columns of features, or None if it is unknown."""
    shape = getattr(features.features if isinstance(features, RankingData) else features, "shape", None)
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 else None


def warn_of_remarks(subject: str, remarks: Iterable[str]) -> None:
    """Warn once of each remark about a model or a dataset."""
    for remark in remarks:
        warnings.warn(f"{subject} {remark}.", UserWarning, stacklevel=3)
