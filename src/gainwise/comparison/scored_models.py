"""Scores of models on the same documents, read from arrays, files, boosters, TREC runs and columns of tables.

Columns of scores that belong to the rows above or below, because they are off by one row, raise an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.text import format_mean, join_names, pluralize
from .._common.typing import Floats, Integers, Listed
from .._common.validation import validate_distinct, validate_mapping
from ..data.tables import describe_text, get_column
from ..data.text import one_line
from ..evaluation.evaluator import Evaluator
from ..evaluation.prediction import Iteration, Prediction, Unreadable, describe_remarks, read_predictions
from ..evaluation.trec_runs import align_runs, find_unreadable
from ..judgments import Judgments, Unjudged
from ..metrics.dcg import NDCG
from .baseline import validate_baseline
from .estimates import MIN_QUERIES
from .panel import validate_repeat_count

if TYPE_CHECKING:
    import pandas as pd


MIN_ERRORS = 5
"""Standard errors by which the shifted scores must be better than the scores, and better than random order."""

TIE_ERRORS = 3
"""Standard errors by which they must be better than the scores with ties broken by the shifted scores."""

MIN_SHARE = 0.15
"""Share of the distance of the shifted scores from random order by which they must be better than the scores."""

MAX_QUERIES = 2000
"""Queries of the test, evenly spaced if there are more."""

SAMPLED_QUERIES = 300
"""Queries whose NDCG a shift must improve, before it is tested on all, if there are more than twice as many."""

MAX_FOREIGN = 0.75
"""If more rows than this share follow a row of another query, the rows are in an order that ignores queries."""

SHIFTED_METRIC = NDCG(gain="linear", empty="skip")
DIRECTIONS = {1: "down", -1: "up"}


@dataclass(frozen=True, eq=False)
class ScoredModels:
    """The scores of models on the same documents.

    Attributes
    ----------
    judgments : Judgments
        The labels of the documents by query.
    scores : dict of column to ndarray, shape (documents,)
        Scores in the order of the labels. Each repeat of a configuration has its own column.
    recipes : dict of model to list of str
        The columns of the repeats of each configuration.
    missing : dict of model to str
        Models without scores, and the reason.
    iterations : dict of model to Iteration
        Boosting round that each booster predicted with.
    notes : tuple of str
        Remarks on the scores for reports.
    """

    judgments: Judgments
    scores: dict[str, Floats]
    recipes: dict[str, list[str]]
    missing: dict[str, str] = field(default_factory=dict)
    iterations: dict[str, Iteration] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def group(self, by_column: Mapping[str, Any]) -> dict[str, Any]:
        """Return one entry per model, which is a list for a configuration."""
        recipe_of = {column: name for name, columns in self.recipes.items() for column in columns}
        names = dict.fromkeys(recipe_of.get(column, column) for column in by_column)
        return {
            name: [by_column[column] for column in self.recipes[name]] if name in self.recipes else by_column[name]
            for name in names
        }


def read_models(
    models: Any,
    judgments: Judgments,
    features: Any = None,
    *,
    baseline: str | None = None,
    allow_incomplete: bool = False,
    allow_misaligned: bool = False,
) -> ScoredModels:
    """Return the scores of arrays, files and models that predict. `compare` describes the arguments."""
    columns, recipes = expand_recipes(models)
    if baseline is not None and isinstance(models, Mapping):
        validate_baseline(baseline, list(models))  # Predictions may take long, so this error comes first.
    predictions, unreadable = read_predictions(columns, judgments, features, allow_incomplete=allow_incomplete)
    predictions, recipes, missing = _drop_missing(predictions, recipes, unreadable)
    scores = {name: prediction.scores for name, prediction in predictions.items()}
    if not allow_misaligned:
        validate_alignment(scores, judgments)
    return ScoredModels(judgments, scores, recipes, missing, *_describe_predictions(predictions, recipes))


def read_runs(
    runs: Mapping[str, Any], qrels: Listed, *, unjudged: Unjudged = "irrelevant", allow_incomplete: bool = False
) -> ScoredModels:
    """Return the scores of TREC runs on all documents that are judged or retrieved by a run."""
    validate_mapping("runs", runs, "a path, a mapping of queries or a DataFrame")
    columns, recipes = expand_recipes(runs)
    unreadable = find_unreadable(columns) if allow_incomplete else {}
    columns, recipes, missing = _drop_missing(columns, recipes, unreadable)
    judgments, scores, coverage = align_runs(columns, qrels, unjudged=unjudged)
    notes = tuple(f"{name}: {note}" for name, about in coverage.items() for note in about.queries)
    return ScoredModels(judgments, scores, recipes, missing, notes=notes)


def read_columns(
    table: pd.DataFrame,
    columns: Mapping[str, str | Sequence[str]],
    roles: Mapping[str, str | None],
    source: str,
    further: Sequence[str] = (),
) -> tuple[dict[str, Any], Judgments]:
    """Return models and judgments as `read_models` takes them.

    `columns` are the columns of scores by model, `roles` those of query, label, document and weight, and `further`
    those of further labels. `source` is the name of the table in errors.
    """
    if not columns:
        raise ValueError("scores must name at least one column, got none.")
    for name, repeats in columns.items():
        if not isinstance(repeats, str):
            validate_distinct(f"scores[{name!r}]", repeats)
    validate_distinct(f"{source}: columns of {join_names(list(roles))}", list(filter(None, roles.values())))
    cells = {role: get_column(table, name, source, role) for role, name in roles.items() if name is not None}
    for role, column in cells.items():
        missing = column.isna()
        if missing.any():
            raise ValueError(
                f"{source}: the {role} column {roles[role]!r} has {pluralize(int(missing.sum()), 'missing value')}, "
                f"the first in row {missing.to_numpy().argmax()} (from 0). Remove these rows or add the values."
            )
        problem = describe_text(source, roles[role], column) if role in ("label", "weight") else None
        if problem is not None:
            raise ValueError(f"{problem}.")
    if "document" in cells:
        repeated = table.duplicated([roles["query"], roles["document"]]).to_numpy()
        if repeated.any():
            row = int(repeated.argmax())
            query_id, document_id = (cells[role].tolist()[row] for role in ("query", "document"))
            raise ValueError(
                f"{source}: document {document_id!r} of query {query_id!r} occurs "
                f"again in row {row} (from 0). Keep one row per query and document."
            )
    arrays = {role: column.to_numpy() for role, column in cells.items()}
    other_roles = dict.fromkeys(further, "further label")
    other_roles |= {column: role for role, column in roles.items() if column is not None}

    def read_scores(name: str) -> Any:
        if name in other_roles:
            raise ValueError(f"scores must not contain {name!r}, which is the {other_roles[name]} column.")
        column, labels = get_column(table, name, source), arrays["label"]
        if not (column.isna().any() or (labels == labels[:1]).all()) and np.array_equal(column.to_numpy(), labels):
            raise ValueError(f"{source}: column {name!r} is equal to the label in every row, so it is not a score.")
        problem = describe_text(source, name, column)
        return column.to_numpy() if problem is None else Unreadable(problem)

    models = {
        name: read_scores(selected) if isinstance(selected, str) else [read_scores(column) for column in selected]
        for name, selected in columns.items()
    }
    weight, documents = arrays.get("weight"), arrays.get("document")
    labels = {name: get_column(table, name, source, "column").to_numpy() for name in further}
    try:
        return models, Judgments(
            arrays["label"], qid=arrays["query"], weight=weight, document_ids=documents, columns=labels
        )
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source}: {one_line(error)}") from None


def read_query_columns(
    table: pd.DataFrame, segments: Iterable[str], clusters: str | None, source: str
) -> dict[str, Any]:
    """Return the arguments `segments` and `clusters` of `compare_scores`, one label per row of the table."""
    return {
        "segments": {name: get_column(table, name, source).tolist() for name in segments} or None,
        "clusters": None if clusters is None else get_column(table, clusters, source).tolist(),
    }


def expand_recipes(models: Any) -> tuple[Any, dict[str, list[str]]]:
    """Return models with each repeat of a configuration as a separate model, and the names of repeats by configuration.

    A configuration is a list of arrays of scores, paths, mappings or models. A list of numbers is an array of scores.

    >>> expand_recipes({"A": ["a1.csv", "a2.csv", "a3.csv"], "B": [0.5, 0.2]})[1]
    {'A': ['A, repeat 1', 'A, repeat 2', 'A, repeat 3']}
    """
    if not isinstance(models, Mapping):
        return models, {}
    columns: dict[Any, Any] = {}
    recipes: dict[str, list[str]] = {}
    for name, model in models.items():
        if isinstance(model, np.ndarray) and model.ndim == 2 and len(model) > 1 and model.shape[1] > 2:
            raise ValueError(
                f"model {name!r}: scores must be one-dimensional, got shape {model.shape}. For a configuration, pass a "
                "list of arrays, one per repeat."
            )
        if not isinstance(name, str) or not _is_recipe(model):
            columns[name] = model
            continue
        validate_repeat_count(name, len(model), "pass it without a list")
        recipes[name] = [f"{name}, repeat {number}" for number in range(1, len(model) + 1)]
        columns |= dict(zip(recipes[name], model, strict=True))
    taken = [name for names in recipes.values() for name in names if name in models]
    if taken:
        raise ValueError(f"models must not contain {taken[0]!r}, which is the name of a repeat. Rename this model.")
    return columns, recipes


def _is_recipe(model: Any) -> bool:
    """Return whether this is a list of scores or of sources of scores, and not of numbers."""
    if not isinstance(model, list | tuple) or not model:
        return False
    first = model[0]
    is_source = isinstance(first, str | PathLike | Mapping | Unreadable) or hasattr(first, "predict")
    return is_source or np.ndim(first) > 0


def _drop_missing(
    columns: Mapping[str, Any], recipes: Mapping[str, list[str]], unreadable: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, list[str]], dict[str, str]]:
    """Return the columns and configurations of complete models, and the reason why each other model is missing.

    A configuration with an unreadable repeat is missing.
    """
    recipe_of = {repeat: name for name, repeats in recipes.items() for repeat in repeats}
    missing = {
        recipe_of.get(name, name): f"{name}: {reason}" if name in recipe_of else reason
        for name, reason in unreadable.items()
    }
    rest = {name: column for name, column in columns.items() if recipe_of.get(name, name) not in missing}
    if missing and not rest:
        name, reason = next(iter(missing.items()))
        raise ValueError(f"no model can be compared, for example model {name!r}: {reason}")
    return rest, {name: repeats for name, repeats in recipes.items() if name not in missing}, missing


def _describe_predictions(
    predictions: Mapping[str, Prediction], recipes: Mapping[str, list[str]]
) -> tuple[dict[str, Iteration], tuple[str, ...]]:
    """Return the rounds of each booster, and sentences about rounds of configurations and columns of features."""
    rounds = {name: each.iteration for name, each in predictions.items() if each.iteration is not None}
    of_recipes = tuple(
        f"The repeats of {name} predict with {join_names([rounds[repeat].size for repeat in repeats], most=10)}"
        for name, repeats in recipes.items()
        if all(repeat in rounds for repeat in repeats)
    )
    repeats = {repeat for names in recipes.values() for repeat in names}
    remarks = describe_remarks({name: prediction.remarks for name, prediction in predictions.items()})
    return {name: used for name, used in rounds.items() if name not in repeats}, (*of_recipes, *remarks)


class _Shifts(NamedTuple):
    """The rows of some queries before and after each shift, and values of the latter in random order."""

    queries: Integers
    rows: tuple[tuple[Integers, Integers], ...]
    evaluator: Evaluator
    chance: Floats

    def evaluate(
        self, scores: Floats, *, break_ties: bool = False
    ) -> dict[tuple[int, int], tuple[Floats, Floats, Floats, int]]:
        """Evaluate the scores and the shifted scores by shift and part: 0 for all queries, and 1 for the second half.

        Each part is the second half of the one before, if enough of its queries have a value. Return the values of the
        scores, of the shifted scores and of the latter in random order, and the first query. With `break_ties`, the
        shifted scores break the ties of the scores.
        """
        columns = []
        for rows, source in self.rows:
            columns += [_break_ties(scores[rows], scores[source]) if break_ties else scores[rows], scores[source]]
        pairs = self.evaluator(np.concatenate(columns)).per_query[:, 0].reshape(len(DIRECTIONS), 2, -1)
        results = {}
        for shift, pair, chance in zip(DIRECTIONS, pairs, self.chance, strict=True):
            counted = np.flatnonzero(~np.isnan(pair[0]))
            own, moved, random = pair[0, counted], pair[1, counted], chance[counted]
            start, part = 0, 0
            while len(counted) - start >= MIN_QUERIES:
                results[shift, part] = own[start:], moved[start:], random[start:], int(self.queries[counted[start]])
                start, part = start + (len(counted) - start) // 2, part + 1
        return results


def _compute_ratio(differences: Floats) -> float:
    """Return the mean of differences in standard errors, 0 if all are 0."""
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(len(differences))
    with np.errstate(divide="ignore"):
        return float(mean / error) if mean else 0.0


def _break_ties(scores: Floats, others: Floats) -> Floats:
    """Return numbers in the order of the scores, and of the others if scores are equal. -inf remains -inf."""
    ranks, inner = (np.unique(values, return_inverse=True)[1] for values in (scores, others))
    return np.where(np.isneginf(scores), -np.inf, ranks * (inner.max() + 1.0) + inner)


def validate_alignment(scores: Mapping[str, Floats], judgments: Judgments) -> None:
    """Raise `ValueError` if scores are much better after a shift by one row.

    The NDCG of the shifted scores must exceed that of the scores and that of random order, each by more than
    `MIN_ERRORS` standard errors of the paired difference. It must also exceed that of the negated scores, because any
    shift improves negated scores, and in short queries makes them better than random order.

    If rows are sorted by quality, a shift improves aligned scores. It breaks ties of scores of few levels, so the
    shifted scores must exceed the scores with ties broken by them by more than `TIE_ERRORS`. And it spreads the scores
    of the best documents, so the improvement must be more than `MIN_SHARE` of the distance to random order.

    The last half, quarter and so on of the queries are tested, too, because a row may be missing within the file.

    A shift leaves out rows whose shifted score belongs to another query, unless the rows are in an order that ignores
    queries. Otherwise, the first or last document of each query would have the level of the scores of another query,
    which improves the NDCG if rows are sorted by label.
    """
    if judgments.queries < MIN_QUERIES:
        return
    sample = _build_shifts(judgments, SAMPLED_QUERIES) if judgments.queries > 2 * SAMPLED_QUERIES else None
    tested = None
    for name, column in scores.items():
        if np.isnan(column).any():
            continue  # The evaluation raises an error with the name of the model and the row.
        if sample and all((moved - own).sum() <= 0 for own, moved, *_ in sample.evaluate(column).values()):
            continue
        tested = tested or _build_shifts(judgments, MAX_QUERIES)
        for (shift, part), (own, moved, chance, first) in tested.evaluate(column).items():
            if min(_compute_ratio(moved - own), _compute_ratio(moved - chance)) <= MIN_ERRORS:
                continue
            unequal = tested.evaluate(column, break_ties=True)[shift, part][0]
            negated = tested.evaluate(-column)[shift, part][0]
            gain, distance = (moved - own).mean(), (moved - chance).mean()
            is_shifted = negated.mean() < moved.mean() and gain > MIN_SHARE * distance
            if is_shifted and _compute_ratio(moved - unequal) > TIE_ERRORS:
                place = f" from query {judgments.query_ids[first]!s} on" if part else ""
                means = f"{format_mean(moved.mean())} instead of {format_mean(own.mean())}"
                raise ValueError(
                    f"scores of model {name!r} must belong to the rows of the labels, but one row further "
                    f"{DIRECTIONS[shift]}, their NDCG{place} is {means}. "
                    "Align them, or pass allow_misaligned=True (--allow-misaligned) to compare them unchanged."
                )


def _build_shifts(judgments: Judgments, queries: int) -> _Shifts:
    """Return the shifts of evenly spaced queries."""
    chosen = np.unique(np.linspace(0, judgments.queries - 1, queries).astype(np.int64))
    layout, sizes = judgments.layout, judgments.sizes[chosen]
    numbers = np.repeat(np.arange(len(chosen)), sizes)
    positions = np.arange(len(numbers)) + (layout.starts[chosen] - np.cumsum(sizes) + sizes)[numbers]
    labels = np.maximum(judgments.levels, 0.0)[layout.codes[positions]]
    rows = judgments.by_query(np.arange(judgments.documents))[positions]
    query_of_rows = judgments.query_of_rows
    parts, pairs = [], []
    for shift in DIRECTIONS:
        source = (rows - shift) % judgments.documents
        used = query_of_rows[source] == chosen[numbers]
        used |= used.mean() < 1 - MAX_FOREIGN
        parts += [np.flatnonzero(used)] * 2
        pairs.append((rows[used], source[used]))
    group = [np.bincount(numbers[part], minlength=len(chosen)) for part in parts]
    evaluator = Evaluator(SHIFTED_METRIC, Judgments(labels[np.concatenate(parts)], group=np.concatenate(group)), 1)
    chance = evaluator(np.zeros(sum(map(len, parts)))).per_query.reshape(len(DIRECTIONS), 2, -1)[:, 1]
    return _Shifts(chosen, tuple(pairs), evaluator, chance)
