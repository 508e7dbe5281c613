"""The figures of the page about the release, from the stored results."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from records import read_results
from scipy.stats import norm

CALIBRATION = Path(__file__).parents[1] / "calibration" / "CALIBRATION_REAL.json"
SHOWN_SIZES = (100, 500, 2_000)
CLAIMS = {
    ("covered", "-0.005"): "95 % intervals of a pair contain both differences",
    ("ships without a loss", "-0.005"): "`no-loss` gate ships a model that loses the margin",
    ("ships with a gain", "0.0"): "`gain` gate ships a model without a gain",
}
POWER = 0.8
SHOWN_CANDIDATES = 3
METRICS = {"ndcg": "ndcg_linear@10", "map": "map", "mrr": "mrr"}
TITLES = {"ndcg_linear@10": "NDCG@10", "map": "MAP", "mrr": "MRR"}


def describe_release() -> dict[str, str]:
    """Return all figures of the page by name."""
    results = read_results("release")
    counts, queries, selected = results["data"], results["queries"], results["selected"]
    whole = results["random_split"]["queries"]
    final = results["decisions"][-1]
    figures = {
        "judgments": f"{counts['judgments']:,}",
        "queries": f"{counts['queries']:,}",
        "movies": f"{counts['movies']:,}",
        "features": str(len(results["features"])),
        "production_features": str(len(results["production_features"])),
        "test_queries": f"{queries['test']:,}",
        "train_queries": f"{queries['train']:,}",
        "validation_queries": f"{queries['validation']:,}",
        "removed": f"{sum(whole.values()) - sum(queries.values()):,}",
        "leaks": describe_leaks(results["random_split"]["check"]),
        "candidates": str(len(results["candidates"])),
        "seeds": str(results["seeds"]),
        "selected": f"{selected['candidate']}, seed {selected['seed']}",
        "decision": final["decision"],
        "bounds": find_bounds(final["text"]),
        "directors": f"{results['directors']:,}",
        "decision_with_clusters": results["decision_with_clusters"]["decision"],
        "margin": f"{results['margin']:g}",
        "selected_by_seed": f"{100 * results['selection']['another_candidate_by_another_seed']:.0f} %",
        "verdict": describe_verdict(results["among_candidates"], len(results["candidates"])),
        "candidates_table": format_candidates(results),
    }
    for short, metric in METRICS.items():
        difference = results["differences"][metric]
        old = results["production_means"][metric]
        figures[f"chance_{short}"] = f"{results['chance'][metric]:.3f}"
        figures[f"production_{short}"] = f"{old:.4f}"
        figures[f"new_{short}"] = f"{old + difference['mean']:.4f}"
        half = norm.ppf(0.975) * difference["standard_error"]
        figures[f"difference_{short}"] = f"{format_signed(difference['mean'])} ± {half:.4f}"
    return figures | describe_calibration()


def read_calibration() -> dict[tuple[str, str, int], list[dict[str, float]]]:
    """Return the rates of all pairs of models by true difference, design and number of queries."""
    cells = json.loads(CALIBRATION.read_text(encoding="utf-8"))["cells"]
    pairs: dict[tuple[str, str, int], list[dict[str, float]]] = {}
    for key, rates in cells.items():
        kind, *settings = key.split(" | ")
        if kind == "pair":
            pairs.setdefault((settings[2], settings[3], int(settings[4])), []).append(rates)
    return pairs


def describe_calibration() -> dict[str, str]:
    """Return the error rates on real queries, and the number of queries that a gain needs."""
    pairs = read_calibration()
    lines = ["| Statement | " + " | ".join(f"{size:,} queries" for size in SHOWN_SIZES) + " |"]
    lines.append("|---|" + "---:|" * len(SHOWN_SIZES))
    for (name, difference), title in CLAIMS.items():
        cells = [[rates[name] for rates in pairs[difference, "queries", size]] for size in SHOWN_SIZES]
        texts = [f"{100 * np.mean(r):.1f} % ({100 * min(r):.0f} to {100 * max(r):.0f})" for r in cells]
        lines.append(f"| {title} | {' | '.join(texts)} |")
    needed = {}
    for gain in (0.002, 0.005, 0.01, 0.02):
        sizes = sorted(size for difference, design, size in pairs if (difference, design) == (f"{gain:g}", "queries"))
        power = [np.mean([r["ships with a gain"] for r in pairs[f"{gain:g}", "queries", size]]) for size in sizes]
        enough = [size for size, rate in zip(sizes, power, strict=True) if rate >= POWER]
        needed[f"needed_{gain:g}".replace(".", "_")] = f"{enough[0]:,}" if enough else f"more than {sizes[-1]:,}"
    shown = pairs["0.01", "queries", SHOWN_SIZES[0]]
    nulls = pairs["0.0", "queries", SHOWN_SIZES[0]]
    counts = {
        "pairs_with_production": str(len(shown)),
        "calibration_pairs": str(len(nulls)),
        "calibration_samples": f"{nulls[0]['repetitions']:,}",
    }
    return {"calibration_table": "\n".join(lines), **counts, **needed}


def find_bounds(text: str) -> str:
    """Return the sentence of a decision about its bounds."""
    (sentence,) = re.findall(r"The improvement is .*?\)\.", text)
    return str(sentence)


def describe_leaks(findings: list[dict[str, str]]) -> str:
    """Return a sentence about the test queries that share most of their rows with each other part."""
    found = (re.match(r"([\d,]+) of [\d,]+ queries of test .* rows in (\w+),", row["text"]) for row in findings)
    counts = {match[2]: match[1] for match in found if match}
    return (
        f"{counts['train']} test queries share most of their rows with a training query, and {counts['validation']} "
        "with a validation query."
    )


def describe_verdict(verdict: dict[str, Any], candidates: int) -> str:
    """Return a sentence about the configurations that may be best."""
    counts = {TITLES[metric]: len(models) for metric, models in verdict["may_be_best"].items()}
    parts = " and ".join(f"{count} by {title}" for title, count in counts.items())
    return f"Of {candidates} configurations, {parts} may be best in the mean over seeds, at level 95 %."


def format_signed(value: float) -> str:
    """Return a number with its sign."""
    return f"{'−' if value < 0 else '+'}{abs(value):.4f}"


def format_candidates(results: dict[str, Any]) -> str:
    """Return the table of the best configurations and production."""
    lines = ["| Configuration | NDCG@10 | MAP | MRR |", "|---|---:|---:|---:|"]
    means = {name: np.array(values) for name, values in results["test_means"].items()}
    for name, values in sorted(means.items(), key=lambda item: -item[1][:, 0].mean())[:SHOWN_CANDIDATES]:
        cells = [f"{column.mean():.4f} ± {column.std(ddof=1):.4f}" for column in values.T]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    old = [f"{results['production_means'][metric]:.4f}" for metric in METRICS.values()]
    return "\n".join([*lines, f"| production | {' | '.join(old)} |"])
