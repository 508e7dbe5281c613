"""What would waste a training, seen before the time is spent: one warning for each kind."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .._common.arrays import nearest
from .._common.words import count, listed
from .libraries import library_of
from .serialization import canonical_json

if TYPE_CHECKING:
    from .candidates import Candidate
    from .folds import Fold, Parts
    from .runs import Runs

MOST_NAMES, MOST_GROUPS = 4, 2
"""So many names, and groups of them, stand in a warning."""


def with_fixed(runs: Runs, candidates: Sequence[Candidate], folds: Sequence[Fold], parts: Parts) -> Runs:
    """Return the runs with the names of the candidates that another seed does not change, so one training is enough.

    Raises
    ------
    ValueError
        Where that is so of all.
    """
    if runs.count == 1 or runs.vary == "queries":
        return runs
    documents = _documents(folds, parts)
    fixed = [it for it in candidates if not library_of(it.library).uses_seed(it, documents)]
    if len(fixed) == len(candidates):
        raise ValueError(
            f"runs={runs.count} would train the same models {runs.count} times, for another seed changes none of them: "
            f"nothing in their parameters is random; sample documents or features ({_remedies(fixed)}), or vary the "
            "training queries too, vary='queries'"
        )
    return replace(runs, fixed=tuple(candidate.name for candidate in fixed))


def _documents(folds: Sequence[Fold], parts: Parts) -> int:
    return max(sum(len(parts[name].labels) for name in fold.train) for fold in folds)


def warn_of_waste(candidates: Sequence[Candidate], folds: Sequence[Fold], parts: Parts, runs: Runs) -> None:
    """Warn of queries with nothing to rank, of candidates that will be one model, and of parameters without effect."""
    features = next(iter(parts.values())).features.shape[1]
    for text in (
        _single_documents(parts),
        _duplicates(candidates),
        _seeds(candidates, _documents(folds, parts)),
        _fixed(candidates, runs),
        _unused(candidates, features),
    ):
        if text:
            warnings.warn(text, stacklevel=3)


def _single_documents(parts: Parts) -> str:
    single = [name for name, part in parts.items() if len(part.labels) == len(part.query_ids)]
    if not single:
        return ""
    return (
        f"every query of {listed(single, MOST_NAMES)} has one document: there is nothing to rank, so all models are "
        "alike there; does qid number the rows instead of the queries?"
    )


def _duplicates(candidates: Sequence[Candidate]) -> str:
    groups = _alike(candidates, "name")
    if not groups:
        return ""
    return (
        f"candidates with other names but the same parameters will be the same model: {_groups(groups)}; "
        "leave out all but one"
    )


def _seeds(candidates: Sequence[Candidate], documents: int) -> str:
    groups = [
        group
        for group in _alike(candidates, "name", "seed")
        if len({candidate.seed for candidate in group}) > 1
        and not library_of(group[0].library).uses_seed(group[0], documents)
    ]
    if not groups:
        return ""
    some = _remedies([group[0] for group in groups])
    return (
        f"candidates that differ by their seed alone will be the same model, since nothing in their parameters is "
        f"random: {_groups(groups)}; sample documents or features ({some}), or leave out all but one"
    )


def _remedies(candidates: Sequence[Candidate]) -> str:
    remedies = {"lightgbm": "bagging_freq with bagging_fraction, or feature_fraction", "xgboost": "subsample"}
    return " or ".join(remedies[library] for library in dict.fromkeys(candidate.library for candidate in candidates))


def _fixed(candidates: Sequence[Candidate], runs: Runs) -> str:
    fixed = [candidate for candidate in candidates if candidate.name in runs.fixed]
    if not fixed:
        return ""
    return (
        f"another seed changes nothing in {_quoted(fixed)}, since nothing in the parameters is random: trained "
        f"once, and compared as a fixed model; sample documents or features ({_remedies(fixed)}), or vary the training "
        "queries too, vary='queries'"
    )


def _unused(candidates: Sequence[Candidate], features: int) -> str:
    found: dict[str, list[Candidate]] = {}
    hints: dict[str, str] = {}
    for candidate in candidates:
        unused, known = library_of(candidate.library).unused(candidate, features)
        for parameter in unused:
            found.setdefault(parameter, []).append(candidate)
            hints[parameter] = nearest(parameter, known)
    if not found:
        return ""
    said = "; ".join(f"{parameter} (of {_quoted(its)}){hints[parameter]}" for parameter, its in found.items())
    return f"XGBoost passes over parameters that it does not know, or does not use with these others: {said}"


def _alike(candidates: Sequence[Candidate], *but: str) -> list[list[Candidate]]:
    """Return the groups of several candidates that are equal but for these arguments."""
    groups: dict[bytes, list[Candidate]] = {}
    for candidate in candidates:
        about = candidate.to_dict() | dict.fromkeys(but)
        groups.setdefault(canonical_json(about), []).append(candidate)
    return [group for group in groups.values() if len(group) > 1]


def _groups(groups: Sequence[Sequence[Candidate]]) -> str:
    shown = ", and ".join(map(_quoted, groups[:MOST_GROUPS]))
    more = len(groups) - MOST_GROUPS
    return shown + (f", and {count(more, 'more group')}" if more > 0 else "")


def _quoted(candidates: Sequence[Candidate]) -> str:
    return listed([repr(candidate.name) for candidate in candidates], MOST_NAMES)
