"""NDCG in both definitions, MAP, MRR and other ranking metrics for LightGBM and XGBoost.

`gainwise.lightgbm`, `gainwise.xgboost`, `gainwise.catboost` and `gainwise.sklearn` contain the training adapters,
`gainwise.data` reads and generates data, and `gainwise.dask` evaluates on a cluster. Each name is imported at its first
use (PEP 562), so that importing gainwise is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._common import __version__ as __version__

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
    from ._kernel.config import show_config as show_config
    from .comparison.compare import compare as compare
    from .comparison.compare import compare_runs as compare_runs
    from .comparison.compare import compare_table as compare_table
    from .comparison.comparison import Comparison as Comparison
    from .comparison.disagreement import disagreement_bound as disagreement_bound
    from .comparison.power import plan as plan
    from .comparison.verdict import Verdict as Verdict
    from .data import RankingData as RankingData
    from .evaluation.check import check as check
    from .evaluation.evaluator import Evaluation as Evaluation
    from .evaluation.evaluator import Evaluator as Evaluator
    from .evaluation.evaluator import GainLabelsWarning as GainLabelsWarning
    from .evaluation.evaluator import evaluate as evaluate
    from .evaluation.explain import explain as explain
    from .evaluation.identify import Identification as Identification
    from .evaluation.identify import identify as identify
    from .evaluation.trec_runs import evaluate_run as evaluate_run
    from .experiment import Candidate as Candidate
    from .experiment import Experiment as Experiment
    from .experiment import ExperimentResult as ExperimentResult
    from .experiment import grid as grid
    from .experiment import k_folds as k_folds
    from .judgments import Judgments as Judgments
    from .metrics import AP as AP
    from .metrics import DCG as DCG
    from .metrics import ERR as ERR
    from .metrics import NDCG as NDCG
    from .metrics import RBP as RBP
    from .metrics import RR as RR
    from .metrics import Hit as Hit
    from .metrics import Judged as Judged
    from .metrics import Metric as Metric
    from .metrics import Precision as Precision
    from .metrics import Recall as Recall
    from .metrics import RPrecision as RPrecision
    from .metrics import metric as metric
    from .metrics import parse_metrics as parse_metrics

_NAMES = {
    "_kernel.config": "show_config",
    "comparison.compare": "compare compare_runs compare_table",
    "comparison.comparison": "Comparison",
    "comparison.power": "plan",
    "comparison.disagreement": "disagreement_bound",
    "comparison.verdict": "Verdict",
    "data": "RankingData",
    "evaluation.check": "check",
    "evaluation.evaluator": "Evaluation Evaluator GainLabelsWarning evaluate",
    "evaluation.explain": "explain",
    "evaluation.identify": "Identification identify",
    "evaluation.trec_runs": "evaluate_run",
    "experiment": "Candidate Experiment ExperimentResult grid k_folds",
    "judgments": "Judgments",
    "metrics": "AP DCG ERR NDCG RBP RR Hit Judged Metric Precision Recall RPrecision metric parse_metrics",
}
"""The public names of each module."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_SUBPACKAGES = ("catboost", "comparison", "dask", "data", "experiment", "lightgbm", "report", "sklearn", "xgboost")
"""Not in `__all__`, so that a star import needs no library that may be missing."""

__all__ = list(_MODULES)


if not TYPE_CHECKING:  # Type checkers use the imports above, and report other names.

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            value = globals()[name] = getattr(import_module(f".{_MODULES[name]}", __name__), name)
            return value
        if name in (*_SUBPACKAGES, "evaluation", "judgments", "metrics"):
            return import_module(f".{name}", __name__)
        raise AttributeError(f"module 'gainwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBPACKAGES, "__version__"})
