"""Experiments: train many candidates, choose on the validation set, and compare on the test set."""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from pydantic import ValidationError

from .._common.arrays import format_id, index_of, only_counts
from .._common.text import describe_missing, join_names, pluralize
from .._common.typing import Columns, FilePath, OfQueries
from .._common.validation import prefix_errors, validate_integer
from ..comparison.query_labels import read_by_query, read_clusters, validate_labels
from ..data import RankingData
from ..data.text import one_line
from ..evaluation.evaluator import Evaluator, shared_weights
from ..evaluation.parts import find_shared_queries, read_part
from ..judgments import Judgments
from ..metrics.names import MetricLike
from .config import BALANCED, Candidate, ExperimentConfig, parse_config
from .execution import compute_total_weights, get_last_line, perform_all, uses_other_processes
from .experiment_file import read_toml
from .plan import (
    ExperimentPlan,
    FeatureColumns,
    Parts,
    Unit,
    compute_fingerprint,
    divide,
    find_import_paths,
    validate_importable,
)
from .progress import Progress
from .result import ExperimentResult, RepeatedTrainings, Selection
from .storage import EXPERIMENT, LOST, SELECTION, UNTRAINED, DamagedError, Storage, Training
from .trainers import get_trainer, get_versions


class IncompleteError(RuntimeError):
    """An experiment is not complete.

    Attributes
    ----------
    failures : mapping of candidate to str
        The traceback or another reason of each candidate that is not finished.
    result : ExperimentResult or None
        The result of the others. None if no candidate is finished.
    """

    def __init__(self, message: str, failures: Mapping[str, str], result: ExperimentResult | None = None) -> None:
        super().__init__(message)
        self.failures, self.result = failures, result


class Experiment:
    """Train candidates, choose their rounds on the validation set, and compare them on the test set.

    The best of many candidates on a test set looks better than it is. An experiment therefore selects rounds and a
    candidate on the validation set, and uses the test set only to compare them. Every metric is evaluated after every
    round, and a directory lets an interrupted run continue. The reference page "Experiments" describes all options.

    Parameters
    ----------
    candidates : iterable of Candidate
        Models to train. See `Candidate` and `grid`.
    train, valid, test : RankingData
        Training, validation and test set. Omit them if you pass `folds`.
    metrics : str, Metric, or an iterable of them, optional
        Metrics to evaluate. Defaults to those of `gainwise.compare`.
    directory : path, optional
        Directory for models and results, in which an interrupted run continues. By default, they stay in memory.
    folds : sequence of RankingData, optional
        Parts for cross-validation: test on fold i, validate on fold i + 1, train on the others. See `k_folds`.
    primary : sequence of two metrics, optional
        The two metrics to test for disagreement. Defaults to the first two.
    stop_by : "balanced" or metric, default "balanced"
        Compared round: the smallest worst gap of the two primary metrics to their best values, or the best round of a
        metric.
    seed : int, default 0
        Seed of the verdict, and of candidates without a seed.
    alpha, margin, draws
        Settings of the verdict. See `gainwise.Comparison`.
    num_boost_round : int, default 100
        Rounds of candidates without their own number.
    early_stopping_rounds : int, default 0
        Stop if *no* metric has improved for this many rounds. 0 trains all rounds.
    threads : int, default 1
        Threads of each training. Several trainings run at a time.
    repeats : int or mapping, default 1
        Number of trainings of each candidate, 1 or at least 3. A mapping such as ``{"finalists": 5, "keep": 3}``
        repeats only the best candidates on the validation set.
    vary : {"seed", "queries"}, default "seed"
        Difference between repeats: the seed, or the seed and a bootstrap sample of the training queries.
    groups : str, optional
        A key of the data, such as ``"user"``, whose values must not be in two parts. Test queries with the same value
        are treated as dependent, unless you pass `clusters`.
    clusters : mapping or pandas Series by query id, or sequence, optional
        Cluster of each test query. Queries in a cluster are treated as dependent.
    segments : as clusters, or mapping of name to such, or DataFrame, optional
        Kinds of test queries, compared separately in `Comparison.segments`.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, labels do not suit a metric, a parameter is unknown, or a query has all or most of
        its rows in two parts.
    ImportError
        If a required package is missing. The message names the extra to install.

    Warns
    -----
    UserWarning
        If every query of a part has one document, or queries of two parts have the same id but other rows.

    See Also
    --------
    gainwise.Candidate : One training configuration.
    gainwise.grid : Create candidates from combinations of parameters.
    gainwise.compare : Compare models that are already trained.

    Examples
    --------
    >>> from gainwise.data import simulate
    >>> from gainwise.experiment import Experiment, grid
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
        directory: FilePath | None = None,
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
        repeats: int | Mapping[str, int | str] = 1,
        vary: str = "seed",
        groups: str | None = None,
        clusters: OfQueries | None = None,
        segments: Columns | None = None,
    ) -> None:
        arguments = {key: value for key, value in locals().items() if key in ExperimentConfig.model_fields}
        config = parse_config(ExperimentConfig, arguments)
        if directory is not None:
            validate_importable(config.metrics, "later runs in the directory")
            if Path(directory).is_file():
                raise NotADirectoryError(f"directory must be a directory, got the file {os.fspath(directory)!r}.")
        defaults = config.model_dump(include={"num_boost_round", "early_stopping_rounds", "seed", "threads"})
        resolved = tuple(
            replace(candidate, **{name: value for name, value in defaults.items() if getattr(candidate, name) is None})
            for candidate in config.candidates
        )
        for candidate in resolved:
            with prefix_errors(f"candidate {candidate.name!r}: ", TypeError):
                get_trainer(candidate.library).validate_parameters(candidate)
        self._parts, divided = divide(train, valid, test, folds, groups)
        if config.repeats.finalists and len(divided) > 1:
            raise ValueError("repeats.finalists must be None with folds. Pass repeats=5 to repeat all candidates.")
        self.directory = None if directory is None else Path(directory)
        tests = [self._parts[fold.test] for fold in divided]
        ids = [name for part in tests for name in part.query_ids.tolist()]
        labels = _align_labels(clusters, segments, ids)
        if groups is not None and clusters is None:
            labels["clusters"] = tuple(str(value) for part in tests for value in part.keys[groups].tolist())
        self.plan = ExperimentPlan(
            **{**dict(config), "candidates": resolved},
            folds=divided,
            data={name: compute_fingerprint(part) for name, part in self._parts.items()},
            features=FeatureColumns.from_data(next(iter(self._parts.values()))),
            **labels,
        )
        _validate_data(self.plan, self._parts)

    @classmethod
    def from_toml(cls, path: FilePath, directory: FilePath | None = None, **changes: Any) -> Experiment:
        """Return the experiment in a TOML file. The page "Experiment file" of the documentation describes it.

        Parameters
        ----------
        path : path
            The file. Paths in it are relative to its directory.
        directory : path, optional
            Directory of the experiment. Defaults to the one in the file.
        **changes
            Arguments of `Experiment` that replace values in the file.

        Returns
        -------
        Experiment

        Raises
        ------
        ValueError
            If the file is invalid. The message names key and value.
        """
        return cls(**{**read_toml(path, directory), **changes})

    @staticmethod
    def load(directory: FilePath, *, allow_incomplete: bool = False) -> ExperimentResult:
        """Return the result of the experiment in a directory, without training.

        The selected candidate is the one that `run` has recorded.

        Parameters
        ----------
        directory : path
            Directory of an experiment.
        allow_incomplete : bool, default False
            Load the finished candidates of an experiment that is not complete. The others are in `failures`. If the
            selected candidate is not among the finished ones, none is selected.

        Returns
        -------
        ExperimentResult

        Raises
        ------
        FileNotFoundError
            If the directory contains no experiment.
        ValueError
            If the experiment cannot be read, or a custom metric is not defined or has changed.
        RuntimeError
            If candidates are not finished, damaged or lost, the run was not completed, or no candidate is finished.
        """
        storage = Storage(Path(directory))
        try:
            plan = storage.read_plan()
        except DamagedError as error:
            raise ValueError(f"{directory}: experiment.json cannot be read: {error}") from None
        if plan is None:
            raise FileNotFoundError(f"{directory} contains no experiment, because it has no experiment.json.")
        units = [*plan.list_first_units(), *plan.list_units()]
        trainings, damage = _load_trainings(storage, plan, units)
        _validate_unchanged(plan, trainings)
        result = create_result(storage, plan, trainings, storage.directory, damage)
        _load_selection(storage, result)
        if not allow_incomplete and (result.failures or result.unselected):
            reasons = describe_missing(result.missing) or [f"No candidate is selected: {result.unselected}."]
            fix = "Run the experiment again, or pass allow_incomplete=True to load the other candidates"
            raise IncompleteError(f"{directory} is not complete. {' '.join(reasons)} {fix}.", result.failures, result)
        return result

    def run(
        self,
        executor: Executor | None = None,
        progress: bool = True,
        *,
        jobs: int | None = None,
        allow_incomplete: bool = False,
    ) -> ExperimentResult:
        """Train the unfinished candidates, and return the result of all. The selection is recorded in the directory.

        Parameters
        ----------
        executor : concurrent.futures.Executor, optional
            Where to train: threads, processes, or a cluster (Dask: `client.get_executor()`) whose workers share the
            directory. Start processes by "spawn" or "forkserver", because OpenMP does not survive a fork.
        progress : bool, default True
            Show the progress: bars in a terminal, curves in a notebook, and one line per finished training.
        jobs : int, optional
            Number of simultaneous trainings without an executor. Defaults to CPUs divided by threads. The result does
            not depend on it.
        allow_incomplete : bool, default False
            Return the result of the other candidates if some fail, and select among them.

        Returns
        -------
        ExperimentResult

        Raises
        ------
        ValueError
            If the directory contains another experiment, or processes could not import a custom metric.
        RuntimeError
            If the directory is in use, a worker was lost, or a candidate failed. Everything else is stored: `failures`
            of the error contains the reasons, and `result` the result of the other candidates.
        OSError
            If results cannot be written. Run again to continue.
        """
        if jobs is not None:
            validate_integer("jobs", jobs, 1)
            if executor is not None:
                raise ValueError(f"jobs must be None with an executor, got jobs={jobs}. Set the executor's workers.")
        if uses_other_processes(executor):
            validate_importable(self.plan.metrics, "other processes")
        folder: Any = nullcontext(self.directory)
        if self.directory is None:
            folder = tempfile.TemporaryDirectory(prefix="gainwise-", ignore_cleanup_errors=True)
        with folder as directory, Storage(Path(directory)).lock():
            storage = Storage(Path(directory))
            self._write_plan(storage)
            storage.remove_leftovers()
            first = self.plan.list_first_units()
            trainings = self._train(storage, first, executor, jobs, progress) if first else {}
            curves = {unit.candidate.name: trainings[unit.slug].curves for unit in first if unit.slug in trainings}
            units = self.plan.list_units(self.plan.list_finalists(curves))
            trainings |= self._train(storage, units, executor, jobs, progress)
            result = create_result(storage, self.plan, trainings, self.directory)
            if result.failures and not allow_incomplete:
                place = "`result` of this error" if self.directory is None else self.directory
                fix = f"The others are in {place}. Run again, or pass allow_incomplete=True to compare the others"
                raise IncompleteError(f"{' '.join(describe_missing(result.missing))} {fix}.", result.failures, result)
            result.selection = result.record_selection(result.selected)
            storage.write_document(SELECTION, result.selection.model_dump(mode="json"))
            return result

    def _write_plan(self, storage: Storage) -> None:
        """Write the plan, or raise if the directory contains another experiment."""
        try:
            earlier = storage.read_plan()
        except DamagedError as error:
            warnings.warn(f"{storage.directory}: experiment.json is written again ({error})", stacklevel=3)
            earlier = None
        conflicts = [] if earlier is None else self.plan.find_conflicts(earlier)
        if conflicts:
            fix = "Use another directory, or another name for a changed candidate."
            raise ValueError(f"{storage.directory} contains another experiment: {', '.join(conflicts)}. {fix}")
        if earlier != self.plan:
            (storage.directory / SELECTION).unlink(missing_ok=True)
            storage.write_document(EXPERIMENT, self.plan.to_document())

    def _train(
        self, storage: Storage, units: Sequence[Unit], executor: Executor | None, jobs: int | None, show: bool
    ) -> dict[str, Training]:
        """Train the unfinished units, and return the results of all."""
        trainings, damage = _load_trainings(storage, self.plan, units)
        for unit in units:
            if unit.slug in damage:
                warnings.warn(f"{storage.get_folder(unit)}: {damage[unit.slug]}. {unit} is trained again", stacklevel=3)
            if unit.slug in trainings:
                _warn_of_other_version(unit, trainings[unit.slug])
                storage.write_compared_model(self.plan, unit, trainings[unit.slug].curves)
        _validate_unchanged(self.plan, trainings)
        pending = [unit for unit in units if unit.slug not in trainings]
        with Progress(self.plan, len(units), len(trainings), show) as progress:
            try:
                perform_all(storage, self.plan, pending, self._parts, progress, executor, jobs)
            except BaseException as error:
                if self.directory is not None:
                    remaining = pluralize(progress.total - progress.done, "training")
                    error.add_note(f"{remaining} left. The others are in {self.directory}. Run again to continue.")
                raise
        return trainings | _load_trainings(storage, self.plan, pending)[0]

    def __repr__(self) -> str:
        return f"Experiment({pluralize(len(self.plan.candidates), 'candidate')}, metrics {', '.join(self.plan.names)})"


def _load_trainings(
    storage: Storage, plan: ExperimentPlan, units: Iterable[Unit]
) -> tuple[dict[str, Training], dict[str, str]]:
    """Return the finished trainings by slug, and the damage of those whose files differ from what was written."""
    trainings, damage = {}, {}
    for unit in units:
        try:
            training = storage.load(plan, unit)
        except DamagedError as error:
            damage[unit.slug] = str(error)
            continue
        if training is not None:
            trainings[unit.slug] = training
    return trainings, damage


def _load_selection(storage: Storage, result: ExperimentResult) -> None:
    """Set the recorded selection of a result, or why there is none."""
    try:
        record = storage.read_document(SELECTION)
        selection = None if record is None else Selection(**record)
    except (DamagedError, ValidationError) as error:
        result.unselected = f"its record is damaged, {one_line(error)}"
        return
    if selection is None:
        result.unselected = "the run was not completed"
    else:
        result.selection, result.unselected = selection, result.find_mismatch(selection)


def _warn_of_other_version(unit: Unit, training: Training) -> None:
    """Warn if another version of the library trained a finished unit."""
    library = unit.candidate.library
    version, earlier = get_versions(library)[library], training.versions.get(library)
    if earlier != version:
        fix = "Use another directory for results of one version."
        warnings.warn(f"{unit} was trained by {library} {earlier}, but this is {version}. {fix}", stacklevel=4)


def _validate_unchanged(plan: ExperimentPlan, trainings: Mapping[str, Training]) -> None:
    """Raise `ValueError` if a custom metric has changed: evaluate it again on the stored scores of one training."""
    custom = [metric for metric in plan.metrics if find_import_paths([metric])]
    if not custom or not trainings:
        return
    training = next(iter(trainings.values()))
    number = training.rounds[0]
    columns = dict(zip(plan.columns, training.documents["columns"], strict=True))
    judgments = Judgments(training.documents["label"], qid=training.documents["query"], columns=columns)
    judgments.gains_are_known = True
    evaluated = Evaluator(custom, judgments)(training.documents[f"score {number}"]).per_query
    for metric, now in zip(custom, evaluated.T, strict=True):
        before = training.test[0][:, plan.metrics.index(metric)]
        if not np.allclose(before, now, rtol=1e-9, atol=1e-12, equal_nan=True):
            fix = "Restore it, or use another directory."
            raise ValueError(f"{metric} has changed since candidates were trained, or is random. {fix}")


def _align_labels(clusters: Any, segments: Any, ids: Sequence[str]) -> dict[str, Any]:
    """Return clusters and segments of the test queries, from labels by query id or in the order of the ids."""
    # Several folds may have a query of the same id.
    judgments = Judgments(np.zeros(len(set(ids))), qid=list(dict.fromkeys(ids)))
    places = {name: place for place, name in enumerate(judgments.query_ids.tolist())}
    aligned: dict[str, Any] = {}
    if clusters is not None:
        labels = read_by_query("clusters", _use_text_ids(clusters), judgments)
        read_clusters(labels, len(labels), judgments)  # Raises if a label is missing.
        aligned["clusters"] = tuple(str(labels[places[query]]) for query in ids)
    if segments is not None:
        columns = validate_labels(_use_text_ids(segments), judgments.query_ids, judgments)
        aligned["segments"] = {name: tuple(values[places[query]] for query in ids) for name, values in columns.items()}
    return aligned


def _use_text_ids(labels: Any) -> Any:
    """Return labels with text as ids, because `RankingData` stores ids as text."""
    if isinstance(labels, Mapping):
        return {format_id(key): _use_text_ids(value) for key, value in labels.items()}
    index = index_of(labels)
    return labels if index is None or only_counts(index) else labels.set_axis(index.map(format_id))


def _validate_data(plan: ExperimentPlan, parts: Parts) -> None:
    """Raise before hours of training if data do not suit the metrics, or parts share queries. Warn of poor ids."""
    for name in dict.fromkeys(part for fold in plan.folds for part in (fold.valid, fold.test)):
        with prefix_errors(f"{name}: ", TypeError):
            judgments = parts[name].judgments()
            compute_total_weights(Evaluator(plan.metrics, judgments))
            shared_weights(plan.metrics, judgments)

    single = [name for name, part in parts.items() if len(part.labels) == len(part.query_ids)]
    if single:
        fix = "Does qid number the rows instead of the queries?"
        message = f"every query of {join_names(single, 4)} has one document, so there is nothing to rank. {fix}"
        warnings.warn(message, stacklevel=3)
    for first, second in itertools.combinations([read_part(name, part) for name, part in parts.items()], 2):
        for code, _, text in find_shared_queries(first, second).describe(first, second):
            if code == "leak":
                raise ValueError(f"{text} Remove them from one of the parts.")
            warnings.warn(f"{text} Give different queries different ids.", stacklevel=3)


def create_result(
    storage: Storage,
    plan: ExperimentPlan,
    trainings: Mapping[str, Training],
    directory: Path | None,
    damage: Mapping[str, str] = MappingProxyType({}),
) -> ExperimentResult:
    """Return the result of the candidates whose trainings are all finished, or raise.

    Parameters
    ----------
    storage, plan : Storage, ExperimentPlan
        Directory and plan.
    trainings : mapping of slug to Training
        Finished trainings.
    directory : Path or None
        Directory that remains. None for a temporary one, whose scores and models are read now.
    damage : mapping of slug to str
        The damage of other trainings.
    """
    models: dict[str, bytes] = {}
    if directory is None:
        models = {unit.slug: storage.read_model(unit) for unit in plan.list_units() if unit.slug in trainings}
        trainings = {
            slug: replace(training, documents=training.read_documents()) for slug, training in trainings.items()
        }
    candidates: dict[str, RepeatedTrainings] = {}
    failures: dict[str, str] = {}
    first_units = {unit.candidate.name: unit for unit in plan.list_first_units()}
    first = {name: trainings[unit.slug].curves for name, unit in first_units.items() if unit.slug in trainings}
    finalists = plan.list_finalists(first)
    for name in (candidate.name for candidate in plan.candidates):
        units = plan.list_units([name]) if name in finalists else [first_units[name]]
        missing = [unit for unit in units if unit.slug not in trainings]
        if missing:
            reasons = [damage.get(unit.slug) or storage.describe_unfinished(unit) for unit in missing]
            pairs = zip(missing, reasons, strict=True)
            failures[name] = "\n".join(f"{unit}: {reason.strip()}" for unit, reason in pairs)
            if len(missing) > 1 and len(set(reasons)) == 1 and reasons[0] in (LOST, UNTRAINED):
                failures[name] = f"{reasons[0]}, {len(missing)} of {len(units)} trainings"
        elif name in finalists:
            compared, folds = [trainings[unit.slug] for unit in units], len(plan.folds)
            candidates[name] = [compared[place : place + folds] for place in range(0, len(compared), folds)]
    if not candidates:
        lines = {name: get_last_line(text) for name, text in failures.items()}
        reason = "; ".join(line if line.startswith(name) else f"{name}: {line}" for name, line in lines.items())
        raise IncompleteError(f"no candidate is finished: {reason}", failures)
    return ExperimentResult(plan, candidates, failures, directory, first=first, model_files=models)
