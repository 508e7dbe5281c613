"""Experiments: candidates trained once or several times, chosen on validation data, compared on test data.

>>> from gainsay.experiment import Candidate, Experiment, grid

`Experiment(candidates, train, valid, test, directory=…).run()` trains and compares; `Experiment.from_toml` reads all of
it from a file, whose format `gainsay.experiment.config` describes; `Experiment.load` reads a result back.
"""

from __future__ import annotations

from .candidates import Candidate, grid
from .folds import k_folds
from .result import ExperimentResult
from .run import Experiment

__all__ = ["Candidate", "Experiment", "ExperimentResult", "grid", "k_folds"]
