"""What an experiment shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.words import count
from ..comparison.verdict import Verdict
from ..harness import Comparison
from .choices import Choices
from .files import DamagedError
from .measured import rankings_of
from .rounds import EACH, check_stop_by
from .store import Store
from .training import library_of
from .wording import last_line, summary

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.verdict import Verdict
    from ..metrics.names import MetricLike
    from .measured import Measured, Read
    from .plan import Plan, Unit

__all__ = ["ExperimentResult"]


class ExperimentResult(Choices):
    """What an experiment shows; made by `Experiment.run` and `Experiment.load`.

    Compared on test, and given by `load_model`, are models: candidates at one round each, which valid chose (see
    `compared`). Beside that stands what each metric would choose by itself: `best_rounds`, `chosen`, and what differs
    by it, `choice_loss` and `stopping_loss`.

    Parameters
    ----------
    plan : Plan
        What the experiment consists of.
    measured : mapping of candidate to Measured
        What was measured of the candidates that are finished on all folds.
    failures : mapping of candidate to str
        Why the others are not.
    directory : Path, optional
        Where the models are.
    scores : function, optional
        From candidate and fold to its file of scores on test; without it nothing can be explained.

    Attributes
    ----------
    candidates : tuple of str
        Those that are finished.
    metrics : tuple of str
        Their names.
    failures : dict of candidate to str
        Candidates without a result, each with the traceback.
    directory : Path or None
        Where everything lies.
    """

    def __init__(
        self,
        plan: Plan,
        measured: Mapping[str, Measured],
        failures: Mapping[str, str] | None = None,
        directory: Path | None = None,
        scores: Read | None = None,
    ) -> None:
        super().__init__(plan, measured)
        self.candidates = tuple(measured)
        self.metrics = plan.names
        self.failures = dict(failures or {})
        self.directory = directory
        self._read_scores = scores

    @cached_property
    def comparison(self) -> Comparison:
        """All models on test, each the same under every metric: see `compared`.

        With folds each query is in it once, from the fold in which it is tested.
        """
        values, counted = self._compared_values()
        weights = self._weights[counted]
        read = self._read_scores
        return Comparison(
            values,
            [model.name for model in self.artefacts],
            weights=None if (weights == weights[0]).all() else weights,
            primary=self.plan.primary,
            metrics=dict(zip(self.plan.names, self.plan.metrics, strict=True)),
            rankings=read and rankings_of(self.measured, self.artefacts, counted, read),
            curves=self.curves,
            missing=self.missing,
            alpha=self.plan.alpha,
            rope=self.plan.rope,
            draws=self.plan.draws,
            seed=self.plan.seed,
        )

    @property
    def verdict(self) -> Verdict:
        """That of the comparison."""
        return self.comparison.verdict

    @property
    def leaderboard(self) -> pd.DataFrame:
        """That of the comparison."""
        return self.comparison.leaderboard

    @property
    def pairs(self) -> pd.DataFrame:
        """Those of the comparison."""
        return self.comparison.pairs

    @property
    def winners(self) -> dict[str, str]:
        """Those of the comparison: best on test."""
        return self.comparison.winners

    def load_model(self, candidate: str, stop_by: MetricLike | int | None = None, *, fold: str | None = None) -> Any:
        """Return a trained model as a `lightgbm.Booster` or `xgboost.Booster`, cut at one round.

        By default it is the very model that was compared: its `predict`, without being told of rounds, gives the scores
        from which every number on test was computed, to the last bit. The same model lies in the directory as
        `model.txt` (of LightGBM) or `model.ubj` (of XGBoost).

        Parameters
        ----------
        candidate : str
            Its name, or that of a model (see `compared`).
        stop_by : "balanced", metric or int, optional
            Cut where this would have stopped instead, or after so many rounds.
        fold : str, optional
            Of which fold, where there are several.

        Returns
        -------
        lightgbm.Booster or xgboost.Booster
            Its `best_iteration` is its last round.

        Raises
        ------
        KeyError
            Where there is no such candidate or fold.
        ValueError
            Where the experiment was run without a directory, two models of the candidate were compared and neither is
            named, or there is no such round.
        """
        if self.directory is None:
            raise ValueError("the models were not kept: give the experiment a directory")
        unit, rounds = self._cut(candidate, stop_by, fold)
        try:
            finished = Store(self.directory).load(self.plan, unit)
        except DamagedError as error:
            raise RuntimeError(f"{unit}: {error}; run the experiment again") from error
        if finished is None:
            raise RuntimeError(f"{unit} is no longer in {self.directory}; run the experiment again")
        library = library_of(unit.candidate.library)
        return library.load(library.cut(finished.model, rounds))

    def _cut(self, name: str, stop_by: MetricLike | int | None, fold: str | None) -> tuple[Unit, int]:
        """Return which training a model is of, and after how many rounds it is cut."""
        named = [model for model in self.artefacts if model.name == name]
        models = named or [model for model in self.artefacts if model.candidate == name]
        units = [unit for unit in self.plan.units() if models and unit.candidate.name == models[0].candidate]
        wanted = [
            (at, unit) for at, unit in enumerate(units) if unit.fold.name == fold or (not fold and len(units) == 1)
        ]
        if not wanted:
            known = ", ".join(f"{unit}" for unit in self.plan.units() if unit.candidate.name in self.candidates)
            raise KeyError(f"no model of candidate {name!r}, fold {fold!r}; there are: {known}")
        ((at, unit),) = wanted
        if stop_by is None:
            if len({model.rounds[at] for model in models}) > 1:
                names = " and ".join(repr(model.name) for model in models)
                raise ValueError(f"{name!r} was compared at two rounds, as {names}: name one of them, or give stop_by")
            return unit, models[0].rounds[at]
        if isinstance(stop_by, int | np.integer):
            most = len(self.measured[unit.candidate.name].folds[at].curves)
            if check_whole("stop_by", stop_by, 1) > most:
                raise ValueError(f"stop_by must be at most {most}, the rounds of {unit}: got {stop_by}")
            return unit, int(stop_by)
        chooser = check_stop_by(stop_by, self.plan.metrics)
        if chooser == EACH:
            raise ValueError("stop_by='each' names no round: give 'balanced', a metric, or a number of rounds")
        return unit, self._rounds(unit.candidate.name, chooser)[at]

    @property
    def missing(self) -> list[str]:
        """One line for each candidate that is not compared, with why."""
        from .._common.shown import printable

        return [printable(f"Not compared: {name} ({last_line(text)})") for name, text in self.failures.items()]

    def summary(self) -> str:
        """Return the outcome in words, one finding a line."""
        head = [self.verdict.text] if len(self.metrics) > 1 else []
        return "\n".join([*head, *summary(self, self.comparison), *self.missing])

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        size = f"{count(len(self.candidates), 'candidate')}{failed}, {count(len(self._weights), 'query')}"
        return f"ExperimentResult({size}, metrics {', '.join(self.metrics)})"
