"""Experiments: train candidates once or several times, choose on validation data, compare on test data.

`Experiment` trains and compares candidates, `Experiment.from_toml` reads an experiment from a file, and
`Experiment.load` reads a result. The guide "Experiments" describes files and options.

>>> from gainwise.experiment import Candidate, Experiment, grid
"""

from __future__ import annotations

try:
    import filelock  # noqa: F401
    import pydantic  # noqa: F401
except ImportError as missing:  # pragma: no cover - needs an environment without pydantic
    raise ImportError("Experiments require pydantic and filelock. Run: pip install pydantic filelock") from missing

from .config import Candidate, grid
from .experiment import Experiment
from .plan import k_folds
from .result import ExperimentResult

__all__ = ["Candidate", "Experiment", "ExperimentResult", "grid", "k_folds"]
