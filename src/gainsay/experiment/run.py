"""Experiments: many candidates trained once each, then chosen on valid and compared on test under every metric."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from .._common.checks import check_whole
from .._common.words import count
from ..comparison.compare import DEFAULT_METRICS
from ..comparison.data import validate_alpha, validate_margin, validate_primary, validate_seed
from ..evaluation.evaluator import Evaluator, shared_weights
from ..metrics.judged import refuse_judged
from ..metrics.names import MetricLike, parse_metrics
from .candidates import Candidate, check_most, check_names
from .collecting import check_unchanged, collect, result_of
from .folds import divided, fingerprint
from .foreseen import warn_of_waste, with_fixed
from .labels import read_clusters, read_segments
from .libraries import check_library, library_of
from .own_metrics import check_lasting
from .plan import MOST_DRAWS, Plan, Unit
from .progress import Outcome, progress_of
from .result import ExperimentResult
from .rounds import BALANCED, EACH, check_stop_by
from .runs import Runs
from .storage import DamagedError, Storage
from .training import check_weights, counted_weight
from .trainings import finalists_of, screening_of
from .work import in_other_processes, perform_all

if TYPE_CHECKING:
    from .._common.typing import Columns, OfQueries
    from ..data import RankingData
    from ..metrics.base import Metric
    from .trainings import Training


class Experiment:
    """Train candidates, once each or several times, choose rounds on valid, and compare on test under every metric.

    Every metric is evaluated on valid after every round. What is compared is one model per candidate, the candidate at
    the round that `stop_by` chooses, so that whatever wins can be deployed as it is: `ExperimentResult.load_model`
    gives it. What each metric would choose by itself is kept and reported beside it.

    A candidate trained once is one model, and the verdict is about this model: another seed might give another winner.
    With `runs` a candidate is a recipe. Each run has a round of its own, values are means over runs, and the verdict
    covers what another run would have given.

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
    alpha, margin, draws
        See `gainsay.Verdict.from_values`.
    num_boost_round : int
        Rounds of candidates that do not say.
    early_stopping_rounds : int
        For candidates that do not say: stop once *no* metric has improved for this many rounds; 0: train all rounds.
        Each metric so sees at least what it would see if one stopped by it alone.
    threads : int
        Threads of each training where a candidate does not say. It is one because many trainings that run side by side
        use processors best so, and fixed because sums of floating-point numbers depend on how they are divided.
    runs : int or mapping
        How often each candidate is trained, 1 or at least 3; 5 are a good number, 10 for leads near .01. Each run has a
        seed of its own, drawn from the candidate's seed and name, and a folder of its own, so more can be added later.
        ``{"finalists": 5}`` trains every candidate once, and five times anew those that are among the best `keep` (3)
        on valid by one of the primary metrics, and the candidate `baseline` if one is named:
        ``{"finalists": 5, "keep": 2, "baseline": "in use"}``. Only the new runs are compared, since the first was
        chosen for its luck too; test is never asked. Not with folds, whose valid queries are the ones that are tested.
    vary : {"seed", "queries"}
        What differs between runs: the seed, or the seed and the training queries, of which each run has a bootstrap
        sample (as many, drawn with replacement, labels and weights with them). Models trained on such samples are
        worse: the verdict is about these, and one training of each candidate on all queries says by how much
        (`ExperimentResult.shift`).
    clusters : mapping or pandas Series by query id, or sequence, optional
        One label per query of test: near duplicates, queries of one session or of one user have the same. Clusters are
        then what is independent. A sequence stands in the order in which the queries first appear, fold by fold.
    segments : as clusters, or mapping of name to such, or DataFrame, optional
        Kinds of queries, each of which is judged by itself too: `Comparison.segments`.

    Raises
    ------
    ValueError, TypeError
        For arguments that are not as said, labels that do not suit a metric, or parameters that LightGBM does not know.
    ImportError
        Where LightGBM, XGBoost or filelock is needed and missing; the message names the extra to install.

    Warns
    -----
    UserWarning
        Of what would waste the time that training takes: data in which every query has one document, candidates that
        differ in name alone, or in a seed that changes nothing, parameters that XGBoost passes over, and train, valid
        or test data that are the same. A candidate of which another seed changes nothing is trained once, whatever
        `runs` is.

    Notes
    -----
    The same candidates, data, metrics, seeds, library versions and kind of processor give the same verdict to the last
    digit, whatever the executor, for any number of jobs, and however often a run was interrupted. What that
    takes: a seed for every candidate, LightGBM's `deterministic` with row-wise histograms, and a fixed number of
    threads. All of these are set here.

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
        margin: float = 0.0,
        draws: int = 10_000,
        num_boost_round: int = 100,
        early_stopping_rounds: int = 0,
        threads: int = 1,
        runs: int | Mapping[str, int | str] = 1,
        vary: str = "seed",
        clusters: OfQueries | None = None,
        segments: Columns | None = None,
    ) -> None:
        level = validate_alpha(alpha)
        seed, draws = validate_seed(seed, draws, level)
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
        repeated = Runs.read(runs, vary, [candidate.name for candidate in resolved])
        self._parts, made = divided(train, valid, test, folds)
        if repeated.finalists and len(made) > 1:
            raise ValueError(
                "runs={'finalists': …} needs train, valid and test: with folds the queries that would choose the "
                "finalists are the ones that these are tested on; give runs=5 for all, or one division"
            )
        self.directory = None if directory is None else Path(directory)
        tests = [self._parts[fold.test] for fold in made]
        self.plan = Plan(
            candidates=tuple(resolved),
            folds=made,
            data={name: fingerprint(part) for name, part in self._parts.items()},
            metrics=chosen,
            primary=None if primary is None else validate_primary(_named(primary), _named(chosen)),
            alpha=level,
            margin=validate_margin(margin),
            draws=draws,
            seed=seed,
            stop_by=check_stop_by(stop_by, chosen),
            runs=with_fixed(repeated, resolved, made, self._parts),
            clusters=None if clusters is None else read_clusters(clusters, tests),
            segments=None if segments is None else read_segments(segments, tests),
        )
        self._check_data()
        warn_of_waste(resolved, made, self._parts, self.plan.runs)

    @classmethod
    def from_toml(
        cls,
        path: str | PathLike[str],
        directory: str | PathLike[str] | None = None,
        *,
        stop_by: MetricLike | None = None,
        runs: int | Mapping[str, int | str] | None = None,
        vary: str | None = None,
        clusters: OfQueries | None = None,
        segments: Columns | None = None,
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
        runs, vary, clusters, segments : optional
            How often each candidate is trained, what varies, and what belongs to the queries of test, likewise.

        Raises
        ------
        ValueError
            For what is wrong with the file; the message names key and value.
        """
        from .config import read_toml

        given = {"stop_by": stop_by, "runs": runs, "vary": vary, "clusters": clusters, "segments": segments}
        arguments = {**read_toml(path, directory), **{key: value for key, value in given.items() if value is not None}}
        return cls(**arguments)

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
        storage = Storage(Path(directory))
        try:
            plan = storage.read_plan()
        except DamagedError as error:
            raise ValueError(f"{directory}: experiment.json cannot be read: {error}") from None
        if plan is None:
            raise FileNotFoundError(f"{directory} holds no experiment: it has no experiment.json")
        found = collect(storage, plan, plan.units())
        check_unchanged(plan, found)
        return result_of(storage, plan, found, storage.directory)

    def run(
        self, executor: Executor | None = None, progress: bool = True, *, jobs: int | None = None
    ) -> ExperimentResult:
        """Train what is not finished yet, and return what all candidates together show.

        Parameters
        ----------
        executor : concurrent.futures.Executor, optional
            Where to train: processes, or a cluster's (Dask: `client.get_executor()`; the directory must then be one
            that all workers reach). Without one, in threads of this process, which share the data. Processes should be
            started by "spawn" or "forkserver": OpenMP, which both libraries use, does not survive a fork.
        progress : bool
            Whether to show how far it is: on a terminal the curves of what trains in this process, in place, and a line
            for everything that has ended; in a notebook the same as one picture; elsewhere the lines, on stderr.
        jobs : int, optional
            Without an executor, how many trainings at a time; by default as many as the CPUs have threads for
            (CPUs // `Candidate.threads`). The result is the same for any number.

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
        if jobs is not None:
            check_whole("jobs", jobs, 1)
            if executor is not None:
                raise ValueError(f"jobs={jobs} is for trainings in this process: an executor has a number of its own")
        if in_other_processes(executor):
            check_lasting(self.plan.metrics, "so no other process could evaluate it")
        with self._workplace() as storage, storage.lock():
            self._admit(storage)
            storage.tidy()
            found = self._finish(storage, self.plan.first_units(), executor, jobs, progress)
            if self.plan.runs.finalists:
                names = finalists_of(self.plan, screening_of(self.plan, found))
                found |= self._finish(storage, self.plan.final_units(names), executor, jobs, progress)
            return result_of(storage, self.plan, found, self.directory)

    @contextmanager
    def _workplace(self) -> Iterator[Storage]:
        if self.directory is not None:
            yield Storage(self.directory)
            return
        with tempfile.TemporaryDirectory(prefix="gainsay-", ignore_cleanup_errors=True) as folder:
            yield Storage(Path(folder))

    def _admit(self, storage: Storage) -> None:
        """Refuse the directory of another experiment; write down what this one is."""
        try:
            earlier = storage.read_plan()
        except DamagedError as error:
            warnings.warn(f"{storage.directory}: experiment.json is written anew ({error})", stacklevel=3)
            earlier = None
        changes = [] if earlier is None else self.plan.conflicts(earlier)
        if changes:
            raise ValueError(
                f"{storage.directory} holds another experiment: {'; '.join(changes)}. Take another directory, or "
                "another name for a candidate that has changed"
            )
        if earlier != self.plan:
            storage.write_plan(self.plan)

    def _finish(
        self, storage: Storage, units: Sequence[Unit], executor: Executor | None, jobs: int | None, wanted: bool
    ) -> dict[str, Training]:
        """Train what is not finished of some units, and return what came of them."""
        current: dict[str, str] = {it.library: library_of(it.library).version() for it in self.plan.candidates}
        found = collect(storage, self.plan, units, current)
        check_unchanged(self.plan, found)
        pending = [unit for unit in units if unit.slug not in found]
        progress, left = progress_of(wanted), len(pending)

        def report(outcome: Outcome) -> None:
            nonlocal left
            left -= 1
            progress.advance(outcome)

        progress.start(self.plan, len(units), len(found))
        try:
            perform_all(storage, self.plan, pending, self._parts, report, executor, jobs, progress.follow)
        except BaseException as error:
            if self.directory is not None:
                some = "1 training is" if left == 1 else f"{left} trainings are"
                error.add_note(f"{some} left; the others are in {self.directory}. Run the same again to go on.")
            raise
        finally:
            progress.stop()
        return found | collect(storage, self.plan, pending)

    def _check_data(self) -> None:
        """Raise now where data do not suit the metrics or the libraries, rather than after hours of training."""
        for name, part in self._parts.items():
            check_weights(name, part)
        names = next(iter(self._parts.values())).feature_names
        for library in dict.fromkeys(candidate.library for candidate in self.plan.candidates):
            library_of(library).check_features(names or ())
        for name in dict.fromkeys(part for fold in self.plan.folds for part in (fold.valid, fold.test)):
            try:
                judgments = self._parts[name].judgments()
                counted_weight(Evaluator(self.plan.metrics, judgments))
                shared_weights(self.plan.metrics, judgments)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        for fold in self.plan.folds:
            pairs = [(fold.valid, fold.test, "what is chosen on test looks better there than it is")]
            for train in fold.train:
                pairs.append((train, fold.valid, "the rounds chosen on it are those that fit it most closely"))
                pairs.append((train, fold.test, "a model looks better on what it has learnt than it is"))
            for one, other, why in pairs:
                if self.plan.data[one] == self.plan.data[other]:
                    warnings.warn(f"{one} and {other} are the same data: {why}", stacklevel=3)

    def __repr__(self) -> str:
        folds = f", {len(self.plan.folds)} folds" if len(self.plan.folds) > 1 else ""
        runs = f", {self.plan.runs.count} runs" if self.plan.runs.count > 1 else ""
        size = f"{count(len(self.plan.candidates), 'candidate')}{folds}{runs}"
        return f"Experiment({size}, metrics {', '.join(self.plan.names)})"


def _check_metrics(metrics: Sequence[Metric], kept: bool) -> None:
    """Raise where metrics do not suit an experiment, whose results are `kept` or not."""
    refuse_judged(metrics)
    for metric in metrics:
        if str(metric) in (BALANCED, EACH):
            raise ValueError(f"an experiment calls something else {str(metric)!r}: give the metric another name")
    if kept:
        check_lasting(metrics, "so no later run could find it to go on in the directory")


def _named(metrics: Iterable[MetricLike]) -> list[str]:
    return [str(metric) for metric in parse_metrics(metrics)]
