"""The study of TREC runs: do the winners differ, and is a difference due to the system or to the repeat?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from labels import describe_labels
from numpy.typing import NDArray
from reversals import ALPHA, BASE, OTHER, describe_choices
from scipy.stats import t as student

import gainwise as gw

Floats = NDArray[np.float64]
CUTOFFS = (5, 10, 20, 100)
DATE = re.compile(r"_(dl\d\d_)?\d{4}-\d\d-\d\dT[\d.-]+$")


def study_runs(folder: Path, qrels: Path, seed: int) -> dict[str, Any]:
    """Return all results for a folder of TREC runs. Runs whose names differ only in the date are repeats."""
    paths = {path.name.removesuffix(".gz").removesuffix(".txt"): path for path in sorted(folder.iterdir())}
    names = list(paths)
    configurations, systems = np.unique([DATE.sub("", name) for name in names], return_inverse=True)
    judged = gw.data.read_qrels(qrels)
    runs = {name: gw.data.read_run(path) for name, path in paths.items()}
    near_identical = find_near_identical(runs)
    suspect = [systems[names.index(run)] for pair in near_identical for run in (pair["first"], pair["second"])]
    ndcgs = [f"{name}@{k}" for name in ("ndcg_linear", "ndcg_exp", "ndcg_jk") for k in CUTOFFS]
    comparison = gw.compare_runs(runs, qrels, list(dict.fromkeys([BASE, OTHER, *ndcgs, "map", "mrr"])), seed=seed)
    condensed = gw.compare_runs(runs, qrels, [BASE, OTHER], unjudged="drop", seed=seed)
    values = {metric: np.asarray(comparison.values[metric]) for metric in (BASE, OTHER)}
    return {
        "runs": len(names),
        "configurations": len(configurations),
        "queries": len(values[BASE]),
        "labels": describe_labels(judged, judged["label"].to_numpy(dtype=float)),
        "winners": {
            metric: configurations[systems[names.index(winner)]] for metric, winner in comparison.winners.items()
        },
        "winner_without_unjudged": configurations[systems[names.index(condensed.winners[BASE])]],
        "verdict": describe_verdict(comparison.verdict),
        "choices": describe_choices(comparison, systems, suspect),
        "configurations_averaged": compare_averages(values, systems),
        "discordance": describe_discordance(values[BASE], values[OTHER]),
        "repeats": study_repeats(values, systems, list(configurations), suspect),
        "near_identical": near_identical,
    }


def describe_verdict(verdict: gw.Verdict) -> dict[str, Any]:
    """Return the attributes of the verdict that the page uses."""
    return {
        "kind": verdict.kind,
        "price": verdict.price,
        "price_lower": verdict.price_lower,
        "may_be_best_under_both": len(verdict.common_best),
        "detectable": verdict.detectable,
    }


def compare_averages(values: dict[str, Floats], systems: NDArray[np.int64]) -> dict[str, Any]:
    """Compare configurations by the means of their repeats: the number of reversed pairs."""
    linear, exponential = (average_repeats(values[metric], systems) for metric in (BASE, OTHER))
    first, second = np.triu_indices(linear.shape[1], 1)
    by_linear, by_exponential = (table[:, first] - table[:, second] for table in (linear, exponential))
    means = by_linear.mean(axis=0), by_exponential.mean(axis=0)
    is_reversed = means[0] * means[1] < 0
    smaller = np.minimum(np.abs(means[0]), np.abs(means[1]))
    return {
        "pairs": len(first),
        "reversed": int(is_reversed.sum()),
        "largest_reversed_difference": float(np.max(smaller, where=is_reversed, initial=0.0)),
    }


def describe_discordance(linear: Floats, exponential: Floats) -> dict[str, Any]:
    """Return how strongly the two gains disagree about the difference of each pair of runs.

    The discordance of a pair is its difference under exponential gain minus its difference under linear gain.
    """
    first, second = np.triu_indices(linear.shape[1], 1)
    by_linear = linear[:, first] - linear[:, second]
    discordance = (exponential[:, first] - exponential[:, second]) - by_linear
    p_values = np.sort(compute_p_values(discordance))
    holm = np.maximum.accumulate(p_values * np.arange(len(p_values), 0, -1))
    mean = np.abs(discordance.mean(axis=0))
    return {
        "pairs": len(first),
        "median": float(np.median(mean)),
        "largest": float(mean.max()),
        "standard_deviation_median": float(np.median(discordance.std(axis=0, ddof=1))),
        "standard_deviation_of_differences": float(np.median(by_linear.std(axis=0, ddof=1))),
        "significant": int((p_values < ALPHA).sum()),
        "significant_after_holm": int((holm < ALPHA).sum()),
    }


def average_repeats(values: Floats, systems: NDArray[np.int64]) -> Floats:
    """Return the means over the repeats of each system, shape (queries, systems)."""
    return np.stack([values[:, systems == system].mean(axis=1) for system in np.unique(systems)], axis=1)


def compute_p_values(differences: Floats) -> Floats:
    """Return two-sided p-values of t-tests over queries, one per column. A column of zeros has p-value 1."""
    n = len(differences)
    error = differences.std(axis=0, ddof=1) / np.sqrt(n)
    statistic = np.abs(differences.mean(axis=0)) / np.where(error > 0, error, 1.0)
    return np.asarray(2 * student.sf(statistic, n - 1))


def study_repeats(
    values: dict[str, Floats], systems: NDArray[np.int64], names: list[str], suspect: list[int]
) -> dict[str, Any]:
    """Compare repeats of one configuration with each other, and configurations with and without the repeats' noise.

    Configurations with a run that is nearly identical to a run of another one are left out, because a file may have the
    wrong name.
    """
    table = values[BASE]
    repeated = np.setdiff1d(np.flatnonzero(np.bincount(systems) > 1), suspect)
    inside = np.flatnonzero(np.isin(systems, repeated))
    models = {metric: values[metric][:, inside] for metric in (BASE, OTHER)}
    gain = describe_choices(gw.Comparison(models, [str(run) for run in inside]), systems[inside])["exponential gain"]
    within = [compare_repeats(table[:, systems == system]) for system in repeated]
    between = [
        compare_with_repeats(table[:, systems == first], table[:, systems == second])
        for i, first in enumerate(repeated)
        for second in repeated[:i]
    ]
    return {
        "configurations": len(repeated),
        "reversed_by_gain": gain,
        "within_one_configuration": {
            "pairs": sum(row["pairs"] for row in within),
            "called_different": sum(row["called_different"] for row in within),
            "largest_difference": max(row["largest_difference"] for row in within),
        },
        "between_configurations": {
            "pairs": len(between),
            "one_run_each_may_be_called_different": sum(row["single"] > 0 for row in between),
            "different_with_repeats": sum(row["with_repeats"] for row in between),
            "different_by_single_runs_but_not_with_repeats": sum(
                row["single"] > 0 and not row["with_repeats"] for row in between
            ),
        },
        "variance": describe_variance(table, systems, repeated),
        "example": describe_example(values, systems, names),
    }


def compare_repeats(values: Floats) -> dict[str, Any]:
    """Compare all pairs of repeats of one configuration as if they were two systems."""
    first, second = np.triu_indices(values.shape[1], 1)
    differences = values[:, first] - values[:, second]
    return {
        "pairs": len(first),
        "called_different": int((compute_p_values(differences) < ALPHA).sum()),
        "largest_difference": float(np.abs(differences.mean(axis=0)).max()),
    }


def compare_with_repeats(first: Floats, second: Floats) -> dict[str, Any]:
    """Compare two configurations by each pair of single runs, and by their means with the variance of repeats."""
    pairs = (first[:, :, None] - second[:, None, :]).reshape(len(first), -1)
    difference = first.mean(axis=1) - second.mean(axis=1)
    variance = difference.var(ddof=1) / len(difference)
    for values in (first, second):
        variance += values.mean(axis=0).var(ddof=1) / values.shape[1]
    statistic = abs(difference.mean()) / np.sqrt(variance)
    return {
        "single": float((compute_p_values(pairs) < ALPHA).mean()),
        "with_repeats": bool(2 * student.sf(statistic, len(first) - 1) < ALPHA),
    }


def describe_variance(table: Floats, systems: NDArray[np.int64], repeated: NDArray[np.int64]) -> dict[str, float]:
    """Return the standard deviation of a mean between repeats and due to the sample of queries (medians)."""
    between = [table[:, systems == system].mean(axis=0).std(ddof=1) for system in repeated]
    queries = [table[:, systems == system].mean(axis=1).std(ddof=1) / np.sqrt(len(table)) for system in repeated]
    means = table.mean(axis=0)
    first, second = np.triu_indices(len(means), 1)
    return {
        "between_repeats": float(np.median(between)),
        "between_queries": float(np.median(queries)),
        "median_difference_of_runs": float(np.median(np.abs(means[first] - means[second]))),
    }


def describe_example(values: dict[str, Floats], systems: NDArray[np.int64], names: list[str]) -> dict[str, Any]:
    """Return the means of the repeats of the configuration with the most repeats."""
    system = int(np.bincount(systems).argmax())
    members = systems == system
    p_values = {}
    for metric in (BASE, OTHER):
        table = values[metric][:, members]
        first, second = np.triu_indices(table.shape[1], 1)
        p_values[metric] = float(compute_p_values(table[:, first] - table[:, second]).min())
    return {
        "configuration": names[system],
        "means": {metric: values[metric][:, members].mean(axis=0).tolist() for metric in (BASE, OTHER)},
        "smallest_p_value_of_two_repeats": p_values,
    }


def find_near_identical(runs: dict[str, Any]) -> list[dict[str, Any]]:
    """Return pairs of runs with different names of systems and the same first ten documents on most queries."""
    tops = {}
    for name, frame in runs.items():
        ranked = frame.sort_values(["query", "score"], ascending=[True, False], kind="stable")
        tops[name] = ranked.groupby("query")["document"].apply(lambda column: tuple(column.head(10))).to_dict()
    pairs, names = [], list(runs)
    for i, first in enumerate(names):
        for second in names[:i]:
            if DATE.sub("", first) == DATE.sub("", second):
                continue
            shared = tops[first].keys() & tops[second].keys()
            same = float(np.mean([tops[first][query] == tops[second][query] for query in shared]))
            if same > 0.5:
                pairs.append({"first": first, "second": second, "same_first_ten": same})
    return pairs
