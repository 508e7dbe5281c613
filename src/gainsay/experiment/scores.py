"""The scores on test, kept beside the values: they say why two candidates differ, and on which queries."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison.rankings import Rankings
from ..judgments import Judgments

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Bools, Floats
    from .measured import Measured
    from .training import Trained

__all__ = ["check_scores", "rankings_of", "scores_frame"]

QUERY, LABEL = "query", "label"

Read = Callable[[str, str], bytes]
"""From candidate and fold to the file that `scores_frame` became."""


def scores_frame(trained: Trained) -> pd.DataFrame:
    """Return a row per document of test: the place of its query, its label, and its score after each chosen round."""
    import pandas as pd

    about = {QUERY: trained.qid.astype(np.int32), LABEL: trained.labels}
    return pd.DataFrame({**about, **{_column(number): scores for number, scores in trained.scores.items()}})


def check_scores(content: bytes, rounds: Sequence[int]) -> None:
    """Raise unless a file can be read and holds the scores after these rounds; nothing but its head is read."""
    parquet = import_module("pyarrow.parquet")  # which has no types
    found = parquet.read_schema(io.BytesIO(content)).names
    if found != [QUERY, LABEL, *map(_column, rounds)]:
        raise ValueError(f"it has the columns {', '.join(found)}")


def rankings_of(
    measured: Mapping[str, Measured], metrics: Sequence[str], first: str, counted: Bools, read: Read
) -> Rankings:
    """Return the rankings behind the values on test; each metric has the candidates as of the rounds that it chose.

    Parameters
    ----------
    measured : mapping of candidate to Measured
        All of one experiment.
    metrics : sequence of str
        Names, in the order of the values.
    first : str
        The metric whose rounds are taken where none is named.
    counted : ndarray of bool, shape (queries,)
        Which queries are compared.
    read : function
        See `Read`; scores are read when they are asked for, since those of all candidates may not fit into memory.
    """
    files = {
        name: _Files({fold.fold: fold.rounds for fold in candidate.folds}, read, name)
        for name, candidate in measured.items()
    }
    some = next(iter(measured.values()))
    labels, qid = next(iter(files.values())).judged()
    names = _names([fold.query_ids for fold in some.folds])
    judgments = Judgments(labels, qid=names[qid])
    by_metric = {name: _Scores(files, place) for place, name in enumerate(metrics)}
    return Rankings(judgments, by_metric[first], counted, some.weights, by_metric)


@dataclass(frozen=True)
class _Files:
    """The files of one candidate: its folds in order, each with the round of every metric."""

    folds: Mapping[str, Sequence[int]]
    read: Read
    name: str

    def judged(self) -> tuple[Floats, Any]:
        """Return labels and places of queries, folds one after the other."""
        labels, queries, before = [], [], 0
        for fold in self.folds:
            frame = self._frame(fold, [QUERY, LABEL])
            labels.append(frame[LABEL].to_numpy(np.float64))
            queries.append(frame[QUERY].to_numpy(np.int64) + before)
            before = int(queries[-1].max()) + 1
        return np.concatenate(labels), np.concatenate(queries)

    def scores(self, chooser: int) -> Floats:
        """Return the scores at the rounds that metric number `chooser` chose."""
        columns = {fold: _column(rounds[chooser]) for fold, rounds in self.folds.items()}
        return np.concatenate(
            [self._frame(fold, [column])[column].to_numpy(np.float64) for fold, column in columns.items()]
        )

    def _frame(self, fold: str, columns: list[str]) -> pd.DataFrame:
        import pandas as pd

        return pd.read_parquet(io.BytesIO(self.read(self.name, fold)), engine="pyarrow", columns=columns)


class _Scores(Mapping[str, Any]):
    """The scores of every candidate at the rounds of one metric, read when they are asked for."""

    def __init__(self, files: Mapping[str, _Files], chooser: int) -> None:
        self._files = files
        self._chooser = chooser

    def __getitem__(self, name: str) -> Floats:
        return self._files[name].scores(self._chooser)

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _column(number: int) -> str:
    return f"round {number}"


def _names(ids: Sequence[Any]) -> Any:
    """Return one name per query: its id, and its place too where another query has the same id."""
    names = np.concatenate(ids).astype(str)
    _, places, counts = np.unique(names, return_inverse=True, return_counts=True)
    numbered = [f"{name} (number {place})" for place, name in enumerate(names.tolist(), 1)]
    return np.where(counts[places] > 1, numbered, names)
