"""What an experiment shows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from ..comparison.inputs import natural_key
from ..comparison.verdict import Verdict
from ..harness import Comparison
from .measured import Measured, paired_loss
from .scores import rankings_of
from .store import Store
from .training import library_of

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from ..comparison.rankings import Rankings
    from .plan import Plan
    from .scores import Read

__all__ = ["ExperimentResult", "last_line"]


class ExperimentResult:
    """What an experiment shows; made by `Experiment.run` and `Experiment.load`.

    Candidate and round are chosen on valid and compared on test, for each metric by itself.

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
        Those that are compared.
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
        self.plan = plan
        self.measured = dict(measured)
        self.candidates = tuple(self.measured)
        self.metrics = plan.metrics
        self.failures = dict(failures or {})
        self.directory = directory
        self._read_scores = scores

    @cached_property
    def comparison(self) -> Comparison:
        """All candidates on test; under each metric every candidate is as of the round that this metric chose on valid.

        With folds each query is in it once, from the fold in which it is tested. Queries that a metric skips for want
        of relevant documents are left out.

        `attribution` splits what each metric says of the candidates as of its own rounds; `queries` has them as of the
        rounds of the first primary metric.
        """
        return Comparison(
            {
                metric: np.stack([self._test(name, place)[:, place] for name in self.candidates], axis=1)
                for place, metric in enumerate(self.metrics)
            },
            self.candidates,
            weights=None if (self._weights == self._weights[0]).all() else self._weights,
            primary=self.plan.primary,
            rankings=self._rankings(),
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

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Every metric after every round on valid: columns `candidate`, `fold`, `round`, `metric`, `value`."""
        import pandas as pd

        frames = []
        for name, measured in self.measured.items():
            for fold in measured.folds:
                rounds, metrics = fold.curves.shape
                frames.append(
                    pd.DataFrame(
                        {
                            "candidate": name,
                            "fold": fold.fold,
                            "round": np.tile(np.arange(1, rounds + 1), metrics),
                            "metric": np.repeat(np.array(self.metrics, dtype=object), rounds),
                            "value": fold.curves.T.ravel(),
                        }
                    )
                )
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def best_rounds(self) -> pd.DataFrame:
        """The round, counted from 1, that each metric (column) chooses on valid: the first one with the largest value.

        One row per candidate; with folds one per candidate and fold.
        """
        import pandas as pd

        rows = {(name, fold.fold): fold.rounds for name, measured in self.measured.items() for fold in measured.folds}
        index = pd.MultiIndex.from_tuples(list(rows), names=["candidate", "fold"])
        frame = pd.DataFrame(list(rows.values()), index=index, columns=list(self.metrics))
        return frame.droplevel("fold") if len(self.plan.folds) == 1 else frame

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """What one would choose on valid by each metric (row), and how that does on test.

        `candidate` is the one with the largest value on valid, `rounds` its round (one per fold), `valid` that value;
        for each metric M, `test M` is the mean over the queries of test. With folds, one candidate is chosen by the
        mean over all queries of valid, while rounds are chosen in each fold.
        """
        import pandas as pd

        rows = []
        for place, metric in enumerate(self.metrics):
            name = self._choice(place)
            means = np.average(self._test(name, place), axis=0, weights=self._weights)
            rows.append(
                {
                    "metric": metric,
                    "candidate": name,
                    "rounds": self.measured[name].rounds(place),
                    "valid": self.measured[name].best_on_valid(place),
                    **{f"test {other}": mean for other, mean in zip(self.metrics, means.tolist(), strict=True)},
                }
            )
        return pd.DataFrame(rows).set_index("metric")

    @cached_property
    def choice_loss(self) -> pd.DataFrame:
        """What choosing candidate and round on valid by another metric loses on test.

        One row per ordered pair: `metric` judges; `candidate` is what it chooses itself, `chosen_by` another metric and
        `other` what that one chooses. `loss` is the mean over queries of the one minus the other, negative where the
        other choice does better, with a paired confidence interval from `lower` to `upper` at level 1 − alpha, for each
        row by itself.
        """
        import pandas as pd

        rows = []
        for judge, chooser in itertools.permutations(range(len(self.metrics)), 2):
            own, other = self._choice(judge), self._choice(chooser)
            rows.append(
                {
                    "metric": self.metrics[judge],
                    "chosen_by": self.metrics[chooser],
                    "candidate": own,
                    "other": other,
                    **self._loss(self._test(own, judge)[:, judge], self._test(other, chooser)[:, judge]),
                }
            )
        return pd.DataFrame(rows, columns=["metric", "chosen_by", "candidate", "other", "loss", "lower", "upper"])

    @cached_property
    def stopping_loss(self) -> pd.DataFrame:
        """What stopping at the best round of another metric loses on test, for each candidate and ordered pair.

        `metric` judges and `stopped_by` chose the round on valid; `loss`, `lower` and `upper` as in `choice_loss`.
        """
        import pandas as pd

        rows = [
            {
                "candidate": name,
                "metric": self.metrics[judge],
                "stopped_by": self.metrics[chooser],
                **self._loss(self._test(name, judge)[:, judge], self._test(name, chooser)[:, judge]),
            }
            for name in self.candidates
            for judge, chooser in itertools.permutations(range(len(self.metrics)), 2)
        ]
        return pd.DataFrame(rows, columns=["candidate", "metric", "stopped_by", "loss", "lower", "upper"])

    def load_model(self, candidate: str, fold: str | None = None) -> Any:
        """Return a trained model, all its rounds, as a `lightgbm.Booster` or `xgboost.Booster`.

        Parameters
        ----------
        candidate : str
            Its name.
        fold : str, optional
            Of which fold, where there are several.

        Raises
        ------
        KeyError
            Where there is no such candidate or fold.
        ValueError
            Where the experiment was run without a directory.
        """
        if self.directory is None:
            raise ValueError("the models were not kept: give the experiment a directory")
        folds = [self.plan.folds[0].name] if fold is None and len(self.plan.folds) == 1 else [fold]
        for unit in self.plan.units():
            if unit.candidate.name == candidate and unit.fold.name in folds:
                finished = Store(self.directory).load(self.plan, unit)
                if finished is not None:
                    return library_of(unit.candidate.library).load(finished.model)
        known = ", ".join(f"{unit}" for unit in self.plan.units() if unit.candidate.name in self.candidates)
        raise KeyError(f"no model of candidate {candidate!r}, fold {fold!r}; there are: {known}")

    @property
    def missing(self) -> list[str]:
        """One line for each candidate that is not compared, with why."""
        from ..report.names import printable

        return [printable(f"Not compared: {name} ({last_line(text)})") for name, text in self.failures.items()]

    def summary(self) -> str:
        """Return the outcome in words, one finding a line."""
        from .wording import summary

        return summary(self)

    def __repr__(self) -> str:
        from .._common.words import count

        failed = f", {len(self.failures)} failed" if self.failures else ""
        size = f"{count(len(self.candidates), 'candidate')}{failed}, {count(len(self._weights), 'query')}"
        return f"ExperimentResult({size}, metrics {', '.join(self.metrics)})"

    def _choice(self, metric: int) -> str:
        """Return the candidate with the largest value on valid; of equal ones the first by name."""
        names = sorted(self.candidates, key=natural_key)
        return max(names, key=lambda name: self.measured[name].best_on_valid(metric))

    @cached_property
    def _counted(self) -> Bools:
        """Which queries have a value under every metric; that depends on their labels alone."""
        counted: Bools = np.logical_not(np.isnan(self.measured[self.candidates[0]].test(0)).any(axis=1))
        if not counted.any():
            raise ValueError("no query of test has a value under every metric: all are skipped")
        return counted

    @cached_property
    def _weights(self) -> Floats:
        return self.measured[self.candidates[0]].weights[self._counted]

    def _rankings(self) -> Rankings | None:
        if self._read_scores is None:
            return None
        first = self.plan.primary[0] if self.plan.primary else self.metrics[0]
        return rankings_of(self.measured, self.metrics, first, self._counted, self._read_scores)

    def _test(self, name: str, chooser: int) -> Floats:
        return self.measured[name].test(chooser)[self._counted]

    def _loss(self, own: Floats, other: Floats) -> dict[str, float]:
        loss = paired_loss(own - other, self._weights, self.plan.alpha)
        return {"loss": loss.loss, "lower": loss.lower, "upper": loss.upper}


def last_line(text: str) -> str:
    """Return what a traceback or another reason comes down to."""
    return text.strip().splitlines()[-1]
