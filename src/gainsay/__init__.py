"""Both NDCG definitions, MAP, MRR and their kin while LightGBM and XGBoost train.

`gainsay.lightgbm`, `gainsay.xgboost` and `gainsay.catboost` hold the training adapters, `gainsay.data` readers and a
generator, `gainsay.dask` evaluates over a cluster, `gainsay.sklearn` scores in searches of scikit-learn. Every name is
loaded when it is first used, so that a program pays for what it asks for (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._common.version import __version__ as __version__

if TYPE_CHECKING:
    from . import catboost as catboost
    from . import comparison as comparison
    from . import dask as dask
    from . import data as data
    from . import experiment as experiment
    from . import lightgbm as lightgbm
    from . import report as report
    from . import sklearn as sklearn
    from . import xgboost as xgboost
    from ._kernel.config import show_config
    from .comparison.compare import compare, compare_runs
    from .comparison.comparison import Comparison
    from .comparison.disagreement import disagreement_bound
    from .comparison.gain_fit import fit_gain
    from .comparison.power import plan
    from .comparison.tables import compare_table
    from .comparison.verdict import Verdict
    from .data import RankingData
    from .evaluation.evaluator import Evaluation, Evaluator, evaluate
    from .evaluation.explain import explain
    from .evaluation.trec_runs import evaluate_run
    from .experiment import Candidate, Experiment, ExperimentResult, grid, k_folds
    from .judgments import Judgments
    from .metrics import (
        AP,
        CG,
        DCG,
        ERR,
        GAP,
        NDCG,
        RBP,
        RR,
        Hit,
        Judged,
        Metric,
        Precision,
        Recall,
        RPrecision,
        metric,
        parse_metrics,
    )

__all__ = [
    "AP",
    "CG",
    "DCG",
    "ERR",
    "GAP",
    "NDCG",
    "RBP",
    "RR",
    "Candidate",
    "Comparison",
    "Evaluation",
    "Evaluator",
    "Experiment",
    "ExperimentResult",
    "Hit",
    "Judged",
    "Judgments",
    "Metric",
    "Precision",
    "RPrecision",
    "RankingData",
    "Recall",
    "Verdict",
    "compare",
    "compare_runs",
    "compare_table",
    "disagreement_bound",
    "evaluate",
    "evaluate_run",
    "explain",
    "fit_gain",
    "grid",
    "k_folds",
    "metric",
    "parse_metrics",
    "plan",
    "show_config",
]

_HELD_BY = {
    name: module
    for module, names in {
        "_kernel.config": ("show_config",),
        "comparison.disagreement": ("disagreement_bound",),
        "comparison.gain_fit": ("fit_gain",),
        "comparison.power": ("plan",),
        "comparison.verdict": ("Verdict",),
        "data": ("RankingData",),
        "evaluation.evaluator": ("Evaluation", "Evaluator", "evaluate"),
        "evaluation.explain": ("explain",),
        "evaluation.trec_runs": ("evaluate_run",),
        "experiment": ("Candidate", "Experiment", "ExperimentResult", "grid", "k_folds"),
        "comparison.compare": ("compare", "compare_runs"),
        "comparison.tables": ("compare_table",),
        "comparison.comparison": ("Comparison",),
        "judgments": ("Judgments",),
        "metrics": (
            *("AP", "CG", "DCG", "ERR", "GAP", "NDCG", "RBP", "RR", "Hit", "Judged", "Metric", "Precision", "Recall"),
            *("RPrecision", "metric", "parse_metrics"),
        ),
    }.items()
    for name in names
}
"""The module of each public name."""

_SUBPACKAGES = ("catboost", "comparison", "dask", "data", "experiment", "lightgbm", "report", "sklearn", "xgboost")
"""Not in `__all__`, so that a star import needs no library that may be missing."""


if not TYPE_CHECKING:  # type checkers know all names from above, and complain of others

    def __getattr__(name: str) -> Any:
        if name in _HELD_BY:
            value = globals()[name] = getattr(import_module(f".{_HELD_BY[name]}", __name__), name)
            return value
        if name in (*_SUBPACKAGES, "evaluation", "judgments", "metrics"):
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module 'gainsay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBPACKAGES, "__version__"})
