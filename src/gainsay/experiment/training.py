"""One candidate trained on one fold: every metric at every round on valid, every query's values on test."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.version import __version__
from ..evaluation.evaluator import Evaluator, shared_weights
from .libraries import Predict, library_of
from .rounds import Watch, kept_rounds, rising
from .serialization import canonical_json
from .trainings import Training

if TYPE_CHECKING:
    from ..data import RankingData
    from ..judgments import Judgments
    from ..metrics.base import Metric
    from .candidates import Candidate
    from .folds import Parts
    from .plan import Unit
    from .progress import Follow

DOCUMENTS_AT_A_TIME = 65_536
"""Predicted on at once."""


class CalledOffError(Exception):
    """The run that asked for a training has ended meanwhile."""


class Workbench:
    """What trainings have in common that run one after the other or side by side in threads of this process.

    Each data set is binned once for all `units` that would bin it alike, and let go after the last of them; what is not
    among these has one of its own. `follow` is asked at the start of every training whom to tell the values of rounds.
    """

    def __init__(self, parts: Parts, units: Sequence[Unit] = (), follow: Follow | None = None) -> None:
        self.parts = parts
        self.follow: Follow = follow or (lambda unit: None)
        self._called_off = threading.Event()
        self._lock = threading.Lock()
        self._judgments: dict[str, Judgments] = {}
        self._keys = {unit.slug: self._key(unit) for unit in units}
        self._left = Counter(self._keys.values())
        self._binned: dict[bytes, _Binned] = {}

    def ordered(self, units: Iterable[Unit]) -> list[Unit]:
        """Return units such that those which share data follow each other."""
        places = {key: place for place, key in enumerate(dict.fromkeys(self._keys.values()))}
        return sorted(units, key=lambda unit: places[self._keys[unit.slug]])

    def call_off(self) -> None:
        """Have every training end at its next round, with an error."""
        self._called_off.set()

    def check(self) -> None:
        """Raise `CalledOffError` where trainings are called off."""
        if self._called_off.is_set():
            raise CalledOffError

    def judgments(self, part: str) -> Judgments:
        """Return the judgments of a part, the same to all who ask, for metrics are bound to them once."""
        with self._lock:
            if part not in self._judgments:
                self._judgments[part] = self.parts[part].judgments()
            return self._judgments[part]

    @contextmanager
    def binned(self, unit: Unit) -> Iterator[Any]:
        """Hand out training and validation data as the unit's library takes them."""
        key = self._keys.get(unit.slug, b"")
        with self._lock:
            shared = self._binned.setdefault(key, _Binned()) if key else _Binned()
        try:
            with shared.lock:
                self.check()
                if shared.data is None:
                    shared.data = library_of(unit.candidate.library).binned(unit.trained, *unit.data(self.parts))
            yield shared.data
        finally:
            with self._lock:
                self._left[key] -= 1
                if self._left[key] <= 0:
                    self._binned.pop(key, None)

    def _key(self, unit: Unit) -> bytes:
        """Return what is equal for units whose data are binned alike."""
        documents = sum(len(self.parts[name].labels) for name in unit.fold.train)
        about = library_of(unit.candidate.library).binning(unit.trained, documents)
        alone = about is None or unit.resampled
        return canonical_json([unit.candidate.library, unit.fold.name, unit.slug if alone else about])


class _Binned:
    """A data set that whoever comes first makes, while others wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.data: Any = None


def train_candidate(
    candidate: Candidate, unit: Unit, metrics: Sequence[Metric], bench: Workbench
) -> tuple[bytes, Training]:
    """Train a candidate once and evaluate what can be chosen; return the model, in the library's own format, too.

    The scores on test come from the model as it is stored, not from the one in memory.
    """
    library, threads = library_of(candidate.library), candidate.threads or 1
    on_valid, on_test = (
        Evaluator(metrics, bench.judgments(part), threads) for part in (unit.fold.valid, unit.fold.test)
    )
    watch = Watch(on_valid, candidate.early_stopping_rounds or 0, bench.check, bench.follow(unit))
    with bench.binned(unit) as data:
        model = library.train(candidate, data, watch)
    curves = np.array(watch.rounds, dtype=np.float64)
    test = bench.parts[unit.fold.test]
    scores = _scores(library.predictor(model, test, threads), test, kept_rounds(rising(curves, metrics)))
    weights = shared_weights(on_test.metrics, on_test.judgments)
    return model, Training(
        unit.fold.name,
        curves,
        {number: on_test(predicted).per_query for number, predicted in scores.items()},
        np.ones(len(test.query_ids)) if weights is None else weights,
        np.array(counted_weight(on_valid)),
        test.query_ids,
        {
            "label": test.labels,
            "query": test.qid.astype(np.int32),
            **{f"score {number}": predicted for number, predicted in scores.items()},
        },
        {"gainsay": __version__, "numpy": np.__version__, candidate.library: library.version()},
    )


def _scores(predict: Predict, data: RankingData, rounds: Sequence[int]) -> dict[int, Any]:
    """Return the scores of all documents after each of these rounds, some documents at a time.

    Both libraries copy what they predict on, XGBoost into twice the memory.
    """
    starts = range(0, len(data.labels), DOCUMENTS_AT_A_TIME)
    pieces = [predict(slice(start, start + DOCUMENTS_AT_A_TIME), rounds) for start in starts]
    return {number: np.concatenate(scores) for number, scores in zip(rounds, zip(*pieces, strict=True), strict=True)}


def check_weights(name: str, data: RankingData) -> None:
    """Raise where weights lie beyond the 32-bit floats that both libraries keep, so that they would train on others."""
    if data.weight is None or not data.weight.any():
        return
    limits = np.finfo(np.float32)
    smallest, largest = data.weight[data.weight > 0].min(), data.weight.max()
    if largest > limits.max or smallest < limits.tiny:
        wrong = largest if largest > limits.max else smallest
        raise ValueError(
            f"{name} has a weight of {wrong:g}, and LightGBM and XGBoost keep weights as 32-bit floats, from "
            f"{limits.tiny:.0e} to {limits.max:.0e}: multiply the weights of all data by the same number"
        )


def counted_weight(evaluator: Evaluator) -> list[float]:
    """Return for each metric the total weight of the queries that have a value under it.

    Raises
    ------
    ValueError
        For a metric under which no query has a value.
    """
    values = evaluator(np.zeros(evaluator.judgments.documents)).per_query
    of_queries, found = evaluator.judgments.weights, []
    for metric, counted in zip(evaluator.metrics, ~np.isnan(values.T), strict=True):
        if of_queries is None or metric.weights == "ignore":
            weight = float(np.count_nonzero(counted))
        else:
            weight = float(of_queries[counted].sum())
        if not weight > 0:
            raise ValueError(f"no query has a value under {metric}: all are skipped for want of relevant documents")
        found.append(weight)
    return found
