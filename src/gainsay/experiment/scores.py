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
    from .artefacts import Artefact
    from .measured import Measured
    from .training import Trained

__all__ = ["check_scores", "rankings_of", "scores_frame"]

QUERY, LABEL = "query", "label"

Read = Callable[[str, str], bytes]
"""From candidate and fold to the file that `scores_frame` became."""


def scores_frame(trained: Trained) -> pd.DataFrame:
    """Return a row per document of test: the place of its query, its label, its score after each of `kept_rounds`."""
    import pandas as pd

    about = {QUERY: trained.qid.astype(np.int32), LABEL: trained.labels}
    return pd.DataFrame({**about, **{_column(number): scores for number, scores in trained.scores.items()}})


def check_scores(content: bytes, rounds: Sequence[int]) -> None:
    """Raise unless a file can be read and holds the scores after these rounds; nothing but its head is read."""
    parquet = import_module("pyarrow.parquet")  # which has no types
    found = parquet.read_schema(io.BytesIO(content)).names
    if found != [QUERY, LABEL, *map(_column, rounds)]:
        raise ValueError(f"it has the columns {', '.join(found)}")


def rankings_of(measured: Mapping[str, Measured], compared: Sequence[Artefact], counted: Bools, read: Read) -> Rankings:
    """Return the rankings of the models that are compared.

    Parameters
    ----------
    measured : mapping of candidate to Measured
        All of one experiment.
    compared : sequence of Artefact
        The models.
    counted : ndarray of bool, shape (queries,)
        Which queries are compared.
    read : function
        See `Read`; scores are read when they are asked for, since those of all candidates may not fit into memory.
    """
    some = next(iter(measured.values()))
    folds = [fold.fold for fold in some.folds]
    files = {
        model.name: _Files(dict(zip(folds, model.rounds, strict=True)), read, model.candidate) for model in compared
    }
    labels, qid = next(iter(files.values())).judged()
    names = _names([fold.query_ids for fold in some.folds])
    return Rankings(Judgments(labels, qid=names[qid]), _Scores(files), counted, some.weights)


@dataclass(frozen=True)
class _Files:
    """The files of one model: its folds in order, each with the round."""

    folds: Mapping[str, int]
    read: Read
    candidate: str

    def judged(self) -> tuple[Floats, Any]:
        """Return labels and places of queries, folds one after the other."""
        labels, queries, before = [], [], 0
        for fold in self.folds:
            frame = self._frame(fold, [QUERY, LABEL])
            labels.append(frame[LABEL].to_numpy(np.float64))
            queries.append(frame[QUERY].to_numpy(np.int64) + before)
            before = int(queries[-1].max()) + 1
        return np.concatenate(labels), np.concatenate(queries)

    def scores(self) -> Floats:
        """Return the scores of all documents, folds one after the other."""
        columns = {fold: _column(number) for fold, number in self.folds.items()}
        return np.concatenate(
            [self._frame(fold, [column])[column].to_numpy(np.float64) for fold, column in columns.items()]
        )

    def _frame(self, fold: str, columns: list[str]) -> pd.DataFrame:
        import pandas as pd

        return pd.read_parquet(io.BytesIO(self.read(self.candidate, fold)), engine="pyarrow", columns=columns)


class _Scores(Mapping[str, Any]):
    """The scores of every model, read when they are asked for."""

    def __init__(self, files: Mapping[str, _Files]) -> None:
        self._files = files

    def __getitem__(self, name: str) -> Floats:
        return self._files[name].scores()

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
