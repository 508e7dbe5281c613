"""Experiments: many candidates trained once each, then chosen on valid and compared on test under every metric."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .._common.checks import check_whole
from .._common.words import count
from ..comparison.inputs import check_level, check_rope, check_seed
from ..evaluation.evaluator import shared_weights
from ..harness import DEFAULT_METRICS
from ..metrics.judged import refuse_judged
from ..metrics.names import MetricLike, parse_metrics
from .candidates import Candidate, check_most, check_names
from .collecting import check_unchanged, collect, result_of
from .files import DamagedError, need_parquet
from .finished import COLUMNS
from .folds import divided, fingerprint
from .foreseen import warn_of_waste
from .own_metrics import check_lasting
from .plan import MOST_DRAWS, Plan, Unit
from .progress import progress_of
from .result import ExperimentResult
from .rounds import BALANCED, EACH, check_stop_by
from .store import Store
from .training import check_library, check_weights, counted_weight, library_of
from .work import Outcome, in_other_processes, perform_all

if TYPE_CHECKING:
    from ..data import RankingData
    from ..metrics.base import Metric

__all__ = ["Experiment"]


class Experiment:
    """Train candidates once each, choose a round of each on valid, and compare them on test under every metric.

    Every metric is evaluated on valid after every round. What is compared is one model per candidate, the candidate at
    the round that `stop_by` chooses, so that whatever wins can be deployed as it is: `ExperimentResult.load_model`
    gives it. What each metric would choose by itself is kept and reported beside it.

    Parameters
    ----------
    candidates : iterable of Candidate
        What to train; see `Candidate` and `grid`.
    train, valid, test : RankingData
        To train on, to choose rounds and candidates on, to compare on. Not with `folds`.
    metrics : str, Metric, or an iterable of them, optional
        See `gainsay.parse_metrics`; by default those of `gainsay.compare`. One of your own must be defined at the top
        level of a module where there is a directory or an executor of processes, so that these and a later run can
        import it. A loss is minimised throughout: by early stopping, and where rounds and candidates are chosen.
    directory : path, optional
        Where everything is kept: models, curves, per-query values, and what failed. A run that was interrupted, however
        hard, goes on from there and ends with the same result. Without one nothing is kept but the result.
    folds : sequence of RankingData, optional
        Instead of train, valid and test, LETOR's cross-validation: fold i is tested on, fold i + 1 validated on, the
        others trained on, for each i. See `k_folds` for making them.
    primary : two metrics, optional
        The two between which disagreement is looked for; by default the first two.
    stop_by : "balanced", "each" or metric
        At which round a candidate is compared. "balanced": the first round with the smallest worst shortfall, which is
        the larger of the distances of the two primary metrics from their own best values on valid. A metric: its own
        best round. "each": where the best rounds of the two primary metrics differ, two models, called `… @70` and
        `… @83` after the rounds (with folds, `… by ndcg_exp@10`); near twins crowd the test, so this costs power.
        To decide otherwise later needs no training. With one metric all of these are its best round.
    seed : int
        Of the draws behind the verdict, and of the training of candidates that give none.
    alpha, rope, draws
        See `gainsay.Verdict.from_values`.
    num_boost_round : int
        Rounds of candidates that do not say.
    early_stopping_rounds : int
        For candidates that do not say: stop once *no* metric has improved for this many rounds; 0: train all rounds.
        Each metric so sees at least what it would see if one stopped by it alone.
    threads : int
        Threads of each training where a candidate does not say. It is one because many trainings that run side by side
        use processors best so, and fixed because sums of floating-point numbers depend on how they are divided.

    Raises
    ------
    ValueError, TypeError
        For arguments that are not as said, labels that do not suit a metric, or parameters that LightGBM does not know.
    ImportError
        Where LightGBM, XGBoost or pyarrow is needed and missing; the message names the extra to install.

    Warns
    -----
    UserWarning
        Of what would waste the time that training takes: data in which every query has one document, candidates that
        differ in name alone, or in a seed that changes nothing, parameters that XGBoost passes over, and valid and test
        data that are the same.

    Notes
    -----
    The same candidates, data, metrics, seeds, library versions and kind of processor give the same verdict to the last
    digit, whatever the executor and however often a run was interrupted. What that takes: a seed for every candidate,
    LightGBM's `deterministic` with row-wise histograms, and a fixed number of threads. All of these are set here.

    Examples
    --------
    >>> from gainsay.data import simulate
    >>> from gainsay.experiment import Experiment, grid
    >>> train, valid, test = simulate(60, seed=1, mean_length=20).split_queries(0.5, 0.25, 0.25, seed=1)
    >>> candidates = grid("lgb", "lightgbm", {"num_leaves": 7}, training_gain=["linear", "exponential"])
    >>> experiment = Experiment(candidates, train, valid, test, ["ndcg_linear@10", "ndcg_exp@10"], num_boost_round=5)
    >>> result = experiment.run(progress=False)
    >>> result.candidates
    ('lgb gain=linear', 'lgb gain=exponential')
    >>> result.best_rounds.shape, result.verdict.queries
    ((2, 2), 15)
    """

    def __init__(
        self,
        candidates: Iterable[Candidate],
        train: RankingData | None = None,
        valid: RankingData | None = None,
        test: RankingData | None = None,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        directory: str | PathLike[str] | None = None,
        *,
        folds: Sequence[RankingData] | None = None,
        primary: Sequence[MetricLike] | None = None,
        stop_by: MetricLike = BALANCED,
        seed: int = 0,
        alpha: float = 0.05,
        rope: float = 0.0,
        draws: int = 10_000,
        num_boost_round: int = 100,
        early_stopping_rounds: int = 0,
        threads: int = 1,
    ) -> None:
        need_parquet()
        level = check_level(alpha)
        seed, draws = check_seed(seed, draws, level)
        check_most("draws", draws, MOST_DRAWS)
        chosen = parse_metrics(DEFAULT_METRICS if metrics is None else metrics)
        _check_metrics(chosen, directory is not None)
        resolved = [
            candidate.resolved(
                num_boost_round=check_whole("num_boost_round", num_boost_round, 1),
                early_stopping_rounds=check_whole("early_stopping_rounds", early_stopping_rounds, 0),
                seed=seed,
                threads=check_whole("threads", threads, 1),
            )
            for candidate in check_names(candidates)
        ]
        for candidate in resolved:
            check_library(candidate)
        self._parts, made = divided(train, valid, test, folds)
        self.directory = None if directory is None else Path(directory)
        self.plan = Plan(
            candidates=tuple(resolved),
            folds=made,
            data={name: fingerprint(part) for name, part in self._parts.items()},
            metrics=chosen,
            primary=_primary(chosen, primary),
            alpha=level,
            rope=check_rope(rope),
            draws=draws,
            seed=seed,
            stop_by=check_stop_by(stop_by, chosen),
        )
        self._check_data()
        warn_of_waste(resolved, made, self._parts)

    @classmethod
    def from_toml(
        cls,
        path: str | PathLike[str],
        directory: str | PathLike[str] | None = None,
        *,
        stop_by: MetricLike | None = None,
    ) -> Experiment:
        """Return the experiment that a TOML file describes; see `gainsay.experiment.config` for the format.

        Parameters
        ----------
        path : path
            The file. Paths in it are relative to its folder.
        directory : path, optional
            Where everything is kept, instead of where the file says.
        stop_by : "balanced", "each" or metric, optional
            At which round candidates are compared, instead of what the file says.

        Raises
        ------
        ValueError
            For what is wrong with the file; the message names key and value.
        """
        from .config import read_toml

        arguments = read_toml(path, directory)
        return cls(**(arguments if stop_by is None else {**arguments, "stop_by": stop_by}))

    @staticmethod
    def load(directory: str | PathLike[str]) -> ExperimentResult:
        """Return the result of the experiment in a directory, without training anything.

        Candidates that are not finished are among its `failures`.

        Raises
        ------
        FileNotFoundError
            Where there is no experiment.
        ValueError
            Where it cannot be read, or a metric of your own is not defined, or has changed since.
        RuntimeError
            Where no candidate is finished.
        """
        store = Store(Path(directory))
        try:
            plan = store.read_plan()
        except DamagedError as error:
            raise ValueError(f"{directory}: experiment.json cannot be read: {error}") from None
        if plan is None:
            raise FileNotFoundError(f"{directory} holds no experiment: it has no experiment.json")
        found = collect(store, plan, plan.units())
        check_unchanged(store, plan, found)
        return result_of(store, plan, found, store.directory)

    def run(self, executor: Executor | None = None, progress: bool = True) -> ExperimentResult:
        """Train what is not finished yet, and return what all candidates together show.

        Parameters
        ----------
        executor : concurrent.futures.Executor, optional
            Where to train: threads, processes, or a cluster's (Dask: `client.get_executor()`; the directory must then
            be one that all workers reach). Without one, here, one candidate after the other. Processes should be
            started by "spawn" or "forkserver": OpenMP, which both libraries use, does not survive a fork.
        progress : bool
            Whether to tell on stderr how far it is.

        Raises
        ------
        ValueError
            Where the directory is that of another experiment (the message says what differs), the executor's
            processes could not import a metric of your own, or one has changed since the directory was written.
        RuntimeError
            Where another process runs in the directory, the executor lost a worker, or every candidate failed (the
            error's `failures` then holds their tracebacks).
        OSError
            Where results cannot be written (a full disk). As after any interruption, running again goes on from there.
        """
        if in_other_processes(executor):
            check_lasting(self.plan.metrics, "so no other process could evaluate it")
        with self._workplace() as store, store.locked():
            self._admit(store)
            store.tidy()
            libraries: set[str] = {candidate.library for candidate in self.plan.candidates}
            current = {name: library_of(name).version() for name in libraries}
            found = collect(store, self.plan, self.plan.units(), current)
            check_unchanged(store, self.plan, found)
            pending = [unit for unit in self.plan.units() if unit.slug not in found]
            self._train(store, pending, executor, progress, len(found))
            found |= collect(store, self.plan, pending)
            return result_of(store, self.plan, found, self.directory)

    @contextmanager
    def _workplace(self) -> Iterator[Store]:
        if self.directory is not None:
            yield Store(self.directory)
            return
        with tempfile.TemporaryDirectory(prefix="gainsay-", ignore_cleanup_errors=True) as folder:
            yield Store(Path(folder))

    def _admit(self, store: Store) -> None:
        """Refuse the directory of another experiment; write down what this one is."""
        try:
            earlier = store.read_plan()
        except DamagedError as error:
            warnings.warn(f"{store.directory}: experiment.json is written anew ({error})", stacklevel=3)
            earlier = None
        changes = [] if earlier is None else self.plan.conflicts(earlier)
        if changes:
            raise ValueError(
                f"{store.directory} holds another experiment: {'; '.join(changes)}. Take another directory, or another "
                "name for a candidate that has changed"
            )
        if earlier != self.plan:
            store.write_plan(self.plan)

    def _train(self, store: Store, pending: Sequence[Unit], executor: Executor | None, wanted: bool, done: int) -> None:
        progress = progress_of(wanted)
        left = len(pending)

        def report(outcome: Outcome) -> None:
            nonlocal left
            left -= 1
            progress.advance(outcome)

        progress.start(done + len(pending), done)
        try:
            perform_all(store, self.plan, pending, self._parts, executor, report)
        except BaseException as error:
            if self.directory is not None:
                some = "1 training is" if left == 1 else f"{left} trainings are"
                error.add_note(f"{some} left; the others are in {self.directory}. Run the same again to go on.")
            raise
        finally:
            progress.stop()

    def _check_data(self) -> None:
        """Raise now where data do not suit the metrics or the libraries, rather than after hours of training."""
        for name, part in self._parts.items():
            check_weights(name, part)
        names = next(iter(self._parts.values())).feature_names
        for library in dict.fromkeys(candidate.library for candidate in self.plan.candidates):
            library_of(library).check_features(names or ())
        for name in dict.fromkeys(part for fold in self.plan.folds for part in (fold.valid, fold.test)):
            try:
                counted_weight(self.plan.metrics, self._parts[name])
                shared_weights(self.plan.metrics, self._parts[name].judgments())
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        for fold in self.plan.folds:
            if self.plan.data[fold.valid] == self.plan.data[fold.test]:
                warnings.warn(
                    f"{fold.valid} and {fold.test} are the same data: what is chosen on test looks better there than "
                    "it is",
                    stacklevel=3,
                )

    def __repr__(self) -> str:
        folds = f", {len(self.plan.folds)} folds" if len(self.plan.folds) > 1 else ""
        size = f"{count(len(self.plan.candidates), 'candidate')}{folds}"
        return f"Experiment({size}, metrics {', '.join(self.plan.names)})"


def _check_metrics(metrics: Sequence[Metric], kept: bool) -> None:
    """Raise where metrics do not suit an experiment, whose results are `kept` or not."""
    refuse_judged(metrics)
    for metric in metrics:
        if str(metric) in (*COLUMNS, BALANCED, EACH):
            raise ValueError(f"an experiment calls something else {str(metric)!r}: give the metric another name")
    if kept:
        check_lasting(metrics, "so no later run could find it to go on in the directory")


def _primary(metrics: Sequence[Metric], primary: Sequence[MetricLike] | None) -> tuple[str, str] | None:
    if primary is None:
        return None
    pair = parse_metrics(primary)
    if len(pair) != 2:
        raise ValueError(f"primary must name two metrics, got {len(pair)}")
    for metric in pair:
        if metric not in metrics:
            known = ", ".join(map(str, metrics))
            raise ValueError(f"primary names {str(metric)!r}, which is not among the metrics: {known}")
    return str(pair[0]), str(pair[1])
