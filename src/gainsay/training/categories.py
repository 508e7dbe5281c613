"""Whether a model of XGBoost knows which categories the codes of its features stand for."""

from __future__ import annotations

import json
from typing import Any


def trees_of(content: Any) -> Any:
    """Return what holds the trees in a model's JSON, None where that is not as we know it.

    It holds the categories too, under "cats"; versions of XGBoost before 3.1 keep none.
    """
    held = content["learner"]["gradient_booster"]
    return held.get("model", held.get("gbtree", {}).get("model"))


def refuse_unknown_categories(booster: Any, features: Any) -> None:
    """Raise where a frame has categories, and a booster that splits by category does not know those of its training.

    It would take the codes of the frame for those of the training, without a word, though the categories may stand in
    another order or be others.
    """
    if "c" not in (booster.feature_types or ()) or not _has_categories(features):
        return
    trees = trees_of(json.loads(bytes(booster.save_raw("json"))))
    if not ((trees or {}).get("cats") or {}).get("enc"):
        raise ValueError(
            "it splits by category, but does not know which categories its codes stand for, as models of XGBoost "
            "before 3.1, slices of models and models trained on bare codes do not: pass its scores, or features as an "
            "array with the codes of its training, or train it on a DataFrame with XGBoost 3.1 or newer"
        )


def _has_categories(features: Any) -> bool:
    """Whether a column of a frame of pandas or Polars, or of a table of Arrow, is categorical."""
    kinds = getattr(features, "dtypes", getattr(getattr(features, "schema", None), "types", ()))
    named = ("categor", "enum", "dictionary")
    return hasattr(features, "columns") and any(str(kind).lower().startswith(named) for kind in kinds)
