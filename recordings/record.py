"""Record the results of a checkout: numbers, JSON documents, reports and trainings, all with fixed seeds.

    python recordings/record.py [--checkout PATH] [--only TOPIC ...]

`compare.py` computes the same for another checkout and lists the differences. If a public name changes, edit the
section "The interface" below and nothing else.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import html.parser
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
MAIN_METRICS = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "map", "mrr"]


# The interface: all uses of the package with names that may change.


def compare_models(gw: Any, models: Any, judgments: Any, metrics: Any, *, margin: float = 0.0, **options: Any) -> Any:
    """Compare models on judgments."""
    return gw.compare(models, judgments, metrics, margin=margin, **options)


def compare_retrieved(gw: Any, runs: Any, qrels: Any, metrics: Any, **options: Any) -> Any:
    """Compare TREC runs."""
    return gw.compare_runs(runs, qrels, metrics, **options)


def decide_against(comparison: Any, baseline: str, margin: float) -> Any:
    """Decide about every other model whether it replaces the baseline."""
    return comparison.against(baseline, margin=margin)


def plan_queries(comparison: Any, difference: float, claim: str, repeats: int | None) -> Any:
    """Plan the number of queries from the variances of a comparison."""
    return comparison.plan(difference=difference, claim=claim, repeats=repeats)


def plan_from_deviations(gw: Any, difference: float, claim: str, *, repeats: int | None, **deviations: float) -> Any:
    """Plan the number of queries from given standard deviations."""
    return gw.plan(difference=difference, claim=claim, repeats=repeats, **deviations)


def load_trained(result: Any, candidate: str, stop_by: Any, *, repeat: int | None, fold: str | None) -> Any:
    """Load a model of an experiment."""
    return result.load_model(candidate, stop_by, repeat=repeat, fold=fold)


def run_experiment(gw: Any, candidates: Any, *parts: Any, repeats: Any = 1, margin: float = 0.0, **options: Any) -> Any:
    """Train the candidates of an experiment."""
    return gw.Experiment(candidates, *parts, repeats=repeats, margin=margin, **options).run(progress=False, jobs=1)


COMPARISON_TABLES = ("leaderboard", "standings", "pairs", "conflicts")
COMPARISON_VALUES = ("winners", "metric_queries", "repeat_counts", "repeat_distances", "ranges", "short_names")
EXPERIMENT_TABLES = (
    *("curves", "best_rounds", "compared", "choice_loss", "stopping_loss"),
    *("repeat_values", "finalists"),
)


def unjudged_documents(comparison: Any) -> Any:
    """Return the numbers of retrieved documents without a judgment."""
    return comparison.unjudged


# Values as JSON.


def to_json(value: Any) -> Any:
    """Return a value of types that JSON supports. Floats are exact."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        index = value.index.to_frame(index=False)
        names = index.columns.astype(str).tolist()
        return {
            "index": {f"{name}": to_json(index.iloc[:, place].tolist()) for place, name in enumerate(names)},
            "columns": {str(name): to_json(value[name].tolist()) for name in value.columns},
        }
    if hasattr(value, "_asdict"):
        return to_json(value._asdict())
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if hasattr(value, "to_dict"):
        return to_json(value.to_dict())
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    return str(value)


def attempt(compute: Callable[[], Any]) -> Any:
    """Return the result as JSON, or the type of the error without its message."""
    try:
        return to_json(compute())
    except Exception as error:
        return {"raises": type(error).__name__}


class VisibleText(html.parser.HTMLParser):
    """Collects the text of a page, one line per block, without styles, scripts and pictures.

    The text of a picture in a table is included.
    """

    HIDDEN = ("style", "script", "template")
    INLINE = ("a", "abbr", "b", "bdi", "code", "em", "i", "q", "s", "small", "span", "strong", "sub", "sup", "u")

    def __init__(self) -> None:
        super().__init__()
        self.hidden = self.tables = 0
        self.lines = [""]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Start a line at a block."""
        self.tables += tag == "table"
        self.hidden += tag in self.HIDDEN or (tag == "svg" and not self.tables)
        if tag not in self.INLINE:
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        """End a line at a block."""
        self.tables -= tag == "table"
        self.hidden -= tag in self.HIDDEN or (tag == "svg" and not self.tables)
        if tag not in self.INLINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        """Add text to the line."""
        if not self.hidden:
            self.lines[-1] += data


def extract_text(page: str) -> list[str]:
    """Return the visible lines of a page."""
    parser = VisibleText()
    parser.feed(page)
    lines = (re.sub(r"\s+", " ", line).strip() for line in parser.lines)
    return [line for line in lines if line]


def build_reports(comparison: Any, **options: Any) -> dict[str, Any]:
    """Return the visible text of the HTML report, the Markdown report, and the JSON document."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(comparison.to_html(Path(folder) / "report.html", **options))
        lines = extract_text(page.read_text(encoding="utf-8"))
    return {
        "html": lines,
        "markdown": comparison.to_markdown(**options).splitlines(),
        "json": json.loads(comparison.to_json(**options)),
    }


# Populations: comparisons of every kind.


def simulate_models(labels: Any, noises: dict[str, float], seed: int, decimals: int | None = None) -> dict[str, Any]:
    """Return scores that are the label plus noise, rounded to `decimals` if ties are required."""
    rng = np.random.default_rng(seed)
    scores = {name: labels + noise * rng.normal(size=len(labels)) for name, noise in noises.items()}
    return {name: values.round(decimals) for name, values in scores.items()} if decimals is not None else scores


def populations(gw: Any) -> dict[str, Callable[[], tuple[Any, dict[str, Any]]]]:
    """Return functions by name that make a comparison and the options for its examination."""
    from gainwise.data import simulate, simulate_rankers

    def three_rankers() -> Any:
        data = simulate(300, seed=4, mean_length=30)
        return compare_models(gw, simulate_rankers(data, seed=4), data.judgments(), None, draws=3000), {}

    def two_binary_with_ties() -> Any:
        rng = np.random.default_rng(1)
        sizes = rng.integers(2, 15, 150)
        labels = rng.integers(0, 2, sizes.sum())
        models = simulate_models(labels, {"new": 0.8, "old": 1.0}, 2, decimals=0)
        judgments = gw.Judgments(labels, group=sizes)
        metrics = ["map", "ndcg_linear@5", "precision@3", "recall@5", "hit@1", "rprec"]
        comparison = compare_models(gw, models, judgments, metrics, baseline="old", margin=0.01, draws=3000)
        return comparison, {"baseline": "old"}

    def six_weighted_clusters() -> Any:
        rng = np.random.default_rng(3)
        labels = rng.choice(5, 240 * 12, p=[0.5, 0.3, 0.12, 0.05, 0.03])
        noises = {f"m{number}": 0.9 + 0.05 * number for number in range(6)}
        weights = rng.uniform(0.2, 3.0, 240)
        clusters = rng.integers(0, 60, 240)
        judgments = gw.Judgments(labels, group=[12] * 240, weight=weights)
        models = simulate_models(labels, noises, 5)
        comparison = compare_models(
            gw, models, judgments, MAIN_METRICS, clusters=clusters, alpha=0.1, margin=0.002, draws=3000, seed=7
        )
        return comparison, {"baseline": "m3"}

    def thirty_models() -> Any:
        rng = np.random.default_rng(11)
        labels = rng.choice(4, 120 * 10, p=[0.55, 0.25, 0.15, 0.05])
        noises = {f"candidate {number}": 1.0 + 0.01 * number for number in range(30)}
        judgments = gw.Judgments(labels, group=[10] * 120)
        comparison = compare_models(
            gw,
            simulate_models(labels, noises, 12),
            judgments,
            ["ndcg_linear@5", "ndcg_exp@5", "err(max_label=3)@5"],
            draws=1500,
        )
        return comparison, {"gains": False}

    def segments() -> Any:
        rng = np.random.default_rng(21)
        sizes = rng.integers(3, 20, 260)
        labels = rng.choice(5, sizes.sum(), p=[0.45, 0.3, 0.15, 0.06, 0.04])
        ids = np.array([f"query {number:03}" for number in range(260)])
        columns = {
            "frequency": rng.choice(["head", "torso", "tail"], 260).tolist(),
            "market": rng.choice(["de", "fr"], 260).tolist(),
        }
        judgments = gw.Judgments(labels, qid=np.repeat(ids, sizes), texts={ids[0]: "red shoes", ids[5]: "desk <lamp>"})
        models = simulate_models(labels, {"linear": 1.0, "exp": 1.02, "blend": 1.01}, 22, decimals=1)
        metrics = ["ndcg_linear(empty=skip)@10", "ndcg_exp(empty=skip)@10", "mrr", "rbp(p=0.8)"]
        return compare_models(gw, models, judgments, metrics, segments=columns, draws=2000), {}

    def recipes() -> Any:
        rng = np.random.default_rng(31)
        labels = rng.choice(5, 200 * 10, p=[0.5, 0.25, 0.15, 0.06, 0.04])
        judgments = gw.Judgments(labels, group=[10] * 200)

        def simulate_repeats(noise: float, count: int, seed: int) -> list[Any]:
            own_rng = np.random.default_rng(seed)
            own = labels + noise * own_rng.normal(size=len(labels))
            return [own + 0.3 * own_rng.normal(size=len(labels)) for _ in range(count)]

        models = {
            "a": simulate_repeats(1.0, 4, 32),
            "b": simulate_repeats(1.05, 3, 33),
            "fixed": labels + rng.normal(size=len(labels)),
        }
        comparison = compare_models(gw, models, judgments, MAIN_METRICS[:3], vary="seed", draws=2000)
        return comparison, {"pair": ("a", "b"), "repeats": 5, "baseline": "fixed"}

    def retrieved() -> Any:
        rng = np.random.default_rng(41)
        qrels, runs = {}, {"bm25": {}, "dense": {}, "hybrid": {}}
        for query in range(60):
            judged = {
                f"d{number}": int(grade) for number, grade in enumerate(rng.choice(4, 15, p=[0.5, 0.3, 0.15, 0.05]))
            }
            qrels[f"t{query}"] = judged
            for name, share, noise in (("bm25", 0.9, 1.0), ("dense", 0.6, 0.8), ("hybrid", 0.8, 0.9)):
                documents = [name for name in judged if rng.random() < share]
                documents += [f"{name}-{number}" for number in range(rng.integers(0, 6))]
                if name == "dense" and query == 7:
                    continue
                runs[name][f"t{query}"] = {
                    document: float(judged.get(document, 0.5) + noise * rng.normal()) for document in documents
                }
        metrics = ["ndcg_linear@10", "ndcg_exp@10", "map", "judged@10"]
        return compare_retrieved(gw, runs, qrels, metrics, unjudged="drop", draws=2000), {"pair": ("bm25", "dense")}

    def loss() -> Any:
        class Bottom(gw.Precision):
            names = {"bottom_share": {}}  # noqa: RUF012
            higher_is_better = False

        rng = np.random.default_rng(51)
        labels = rng.integers(0, 3, 90 * 8)
        judgments = gw.Judgments(labels, group=[8] * 90)
        metrics = ["bottom_share@3", "ndcg_exp@3", "gap@5"]
        models = simulate_models(labels, {"x": 1.0, "y": 1.1, "z": 3.0}, 52)
        comparison = compare_models(gw, models, judgments, metrics, baseline="z", draws=2000)
        return comparison, {"baseline": "z", "gains": False}

    return {
        make.__name__: make
        for make in (
            *(three_rankers, two_binary_with_ties, six_weighted_clusters, thirty_models),
            *(segments, recipes, retrieved, loss),
        )
    }


def examine(
    comparison: Any,
    *,
    pair: tuple[str, str] | None = None,
    baseline: str | None = None,
    gains: bool = True,
    repeats: int | None = None,
) -> dict[str, Any]:
    """Return all results of a comparison."""
    first, second = pair or comparison.models[:2]
    baseline_name = baseline or comparison.models[-1]
    results: dict[str, Any] = {
        "to_dict": attempt(comparison.to_dict),
        "unjudged": attempt(lambda: unjudged_documents(comparison)),
        "variance": attempt(lambda: comparison.variance),
        "segments": attempt(lambda: comparison.segments.to_dict()),
        "segment_leaderboard": attempt(lambda: comparison.segments.leaderboard),
        "attribution": attempt(lambda: comparison.attribution(first, second).to_dict()),
        "largest_differences": attempt(lambda: comparison.largest_differences(first, second, most=5)),
        "contradictions": attempt(lambda: comparison.queries(first, second)),
        "ranking": attempt(lambda: comparison.ranking(comparison.query_ids[0], first)),
        "preferences": attempt(lambda: comparison.preferences(first, second)),
        "frame_head": attempt(lambda: comparison.frame().head(60)),
        "notes": to_json(comparison.notes),
    }
    panel = comparison.sample.panel
    derived = {
        "conflicts": lambda: comparison.pairs[comparison.pairs["conflict"]].reset_index(drop=True),
        "repeat_counts": lambda: {name: panel.repeat_counts[panel.models.index(name)] for name in comparison.models},
    }
    for name in (*COMPARISON_TABLES, *COMPARISON_VALUES):
        results[name] = attempt(derived.get(name, lambda name=name: getattr(comparison, name)))
    for margin in (0.0, 0.005):
        results[f"against margin {margin}"] = attempt(
            lambda margin=margin: decide_against(comparison, baseline_name, margin)
        )
    for claim in ("pair", "ship", "genuine"):
        results[f"plan {claim}"] = attempt(lambda claim=claim: plan_queries(comparison, 0.02, claim, repeats))
    if gains:
        results["gains"] = attempt(lambda: comparison.gains().to_dict())
        results["gains_table"] = attempt(lambda: comparison.gains([1, 1.5, 2, 3]).frame)
        results["gains_markdown"] = attempt(lambda: comparison.gains().to_markdown().splitlines())
    results["report"] = build_reports(comparison)
    if len(comparison.models) < 10 and comparison.baseline is None:
        results["report with baseline"] = build_reports(comparison, baseline=baseline_name)
    return results


def record_populations() -> dict[str, Any]:
    """Record all comparisons, fitted gains and plans."""
    import gainwise as gw

    results: dict[str, Any] = {}
    for name, make in populations(gw).items():
        comparison, options = make()
        results[name] = examine(comparison, **options)
        if name == "three_rankers":
            values = {metric: np.asarray(table) for metric, table in comparison.values.items()}
    rng = np.random.default_rng(61)
    labels = rng.choice(5, 40 * 6)
    judgments = gw.Judgments(labels, group=[6] * 40)
    first, second = labels + rng.normal(size=240), labels + 2 * rng.normal(size=240)
    preferences = (judgments, first, second, rng.choice(["a", "b", "tie"], 40, p=[0.6, 0.3, 0.1]))
    results["fitted gain"] = attempt(lambda: gw.fit_gain(preferences, metric="ndcg_linear@5").to_dict())
    results["verdict from values"] = attempt(
        lambda: gw.Comparison(values, ["a", "b", "c"], alpha=0.1, draws=2000, seed=3).verdict.to_dict()
    )
    for claim, options in (
        ("pair", {"query": 0.1}),
        ("ship", {"query": 0.12, "repeat": 0.004, "query_repeat": 0.05, "repeats": 5}),
        ("genuine", {"query": 0.1, "correlation": 0.8}),
    ):
        options = {"repeats": None, **options}
        results[f"plan from deviations {claim}"] = attempt(
            lambda claim=claim, options=options: plan_from_deviations(gw, 0.01, claim, **options)
        )
    return results


# Experiments.


def record_experiments() -> dict[str, Any]:
    """Record experiments with both libraries: single, folds, repeats, finalists."""
    import gainwise as gw
    from gainwise.data import simulate

    def build_candidates(rounds: int = 12, stopping: int = 4) -> list[Any]:
        common = {"num_boost_round": rounds, "early_stopping_rounds": stopping}
        trees = {"num_leaves": [4, 8], "min_data_in_leaf": 5, "learning_rate": 0.2}
        return [
            *gw.grid("lgb", "lightgbm", trees, training_gain=["linear", "exponential"], **common),
            *gw.grid("xgb", "xgboost", {"max_depth": 3, "eta": 0.3}, training_gain=["linear", "exponential"], **common),
        ]

    sampled = {"bagging_fraction": 0.7, "bagging_freq": 1, "min_data_in_leaf": 5, "num_leaves": 6}
    seeded = [
        *gw.grid("lgb", "lightgbm", sampled, training_gain=["linear", 1.5], num_boost_round=8),
        *gw.grid(
            "xgb", "xgboost", {"subsample": 0.7, "max_depth": 3}, training_gain=["exponential"], num_boost_round=8
        ),
    ]
    parts = simulate(150, seed=1, features=8, mean_length=12).split_queries(0.5, 0.25, 0.25, seed=1)
    kinds = {"kind": (["head", "tail", "tail"] * 100)[: len(parts[2].query_ids)]}
    pairs = (np.arange(len(parts[2].query_ids)) // 2).tolist()
    metrics = MAIN_METRICS[:2]

    def single(folder: Path) -> Any:
        return run_experiment(gw, build_candidates(), *parts, directory=folder, draws=2000, margin=0.001)

    def folds(folder: Path) -> Any:
        data = simulate(90, seed=2, features=8, mean_length=10)
        three_folds = gw.k_folds(data, 3, seed=5)
        return run_experiment(
            gw, build_candidates(8)[::2], metrics=[*metrics, "mrr"], folds=three_folds, draws=2000, directory=folder
        )

    def repeats(folder: Path) -> Any:
        options = {"vary": "queries", "clusters": pairs, "segments": kinds, "stop_by": "ndcg_exp@10"}
        return run_experiment(gw, seeded, *parts, metrics=metrics, repeats=3, draws=2000, directory=folder, **options)

    def finalists(folder: Path) -> Any:
        selection = {"finalists": 3, "keep": 1, "baseline": "xgb"}
        return run_experiment(gw, seeded, *parts, metrics=metrics, repeats=selection, draws=2000, directory=folder)

    results = {}
    for experiment in (single, folds, repeats, finalists):
        with tempfile.TemporaryDirectory() as folder:
            result = experiment(Path(folder) / "experiment")
            repeat = 2 if experiment in (repeats, finalists) else None
            results[experiment.__name__] = examine_experiment(result, parts[2], repeat)
            loaded = gw.Experiment.load(Path(folder) / "experiment")
            same = to_json(loaded.comparison.to_dict()) == to_json(result.comparison.to_dict())
            results[experiment.__name__]["loads the same"] = same
    return results


def examine_experiment(result: Any, test: Any, repeat: int | None) -> dict[str, Any]:
    """Return all results of an experiment."""
    results: dict[str, Any] = {
        "candidates": to_json(result.candidates),
        "to_dict": attempt(result.comparison.to_dict),
        "summary": result.summary().splitlines(),
        "notes": to_json(result.notes),
        "variance": attempt(lambda: result.comparison.variance),
        "gains": attempt(lambda: result.comparison.gains().to_dict()),
        "report": build_reports(result.comparison),
    }
    results |= {name: attempt(lambda name=name: getattr(result, name)) for name in EXPERIMENT_TABLES}
    name, by_fold = result.candidates[0], result.best_rounds.reset_index()
    place = {"fold": str(by_fold["fold"][0]) if "fold" in by_fold else None, "repeat": repeat}
    for stop_by in (None, "ndcg_exp@10", 2):
        results[f"predictions {stop_by}"] = attempt(
            lambda stop_by=stop_by: load_trained(result, name, stop_by, **place).predict(test.features[:20])
        )
    return results


# Metric values.

CUTOFFS = ("", "@1", "@3", "@10")
TIES = ("average", "order", "worst", "best")
METRICS = (
    *("map", "map(denominator=R)", "map(denominator=hits)", "rbp", "rbp(p=0.5)", "rbp(gain=graded)"),
    *("err(max_label=4)", "dcg_linear", "dcg_exp", "dcg_power(gain_base=1.5)", "dcg_jk", "cg", "cg_exp"),
    *("ndcg_linear", "ndcg_exp", "ndcg_power(gain_base=3)", "ndcg_jk", "ndcg(gain=0/1/3/7/15)", "gap", "judged"),
    *(
        "precision",
        "precision(denominator=min_k_n)",
        "precision(min_label=2)",
        "recall",
        "hit",
        "mrr",
        "mrr(min_label=2)",
    ),
    *("ndcg_exp(empty=skip)", "ndcg_linear(empty=1)", "map(empty=skip)", "mrr(scores=float32)", "rprec"),
)
CONVENTIONS = ("lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "torchmetrics", "ranx")
BY_CONVENTION = ("ndcg", "ndcg_exp", "dcg_linear", "map", "mrr", "precision", "recall", "hit", "rbp", "rprec")


def list_metrics() -> list[str]:
    """Return every metric, with and without cutoff, with every policy for ties."""
    results = []
    for name in METRICS:
        bare, _, options = name.rstrip(")").partition("(")
        for ties in TIES[1:] if "hits" in options else TIES:
            all_options = ",".join(filter(None, (options, f"ties={ties}")))
            results += [f"{bare}({all_options}){cutoff}" for cutoff in ("",) + CUTOFFS[1:] * (bare != "rprec")]
    return results


def make_judged_scores(gw: Any) -> dict[str, tuple[Any, Any]]:
    """Return judgments and scores by the kind of the dataset."""
    rng = np.random.default_rng(71)
    sizes = rng.integers(1, 25, 9)
    documents = int(sizes.sum())
    graded = rng.choice(5, documents, p=[0.45, 0.3, 0.15, 0.06, 0.04])
    scores = rng.normal(size=documents)
    shuffled = rng.permutation(np.repeat([f"q{number}" for number in range(9)], sizes))
    close = 1.0 + rng.integers(0, 3, documents) * 1e-9
    long_labels = rng.choice(5, 700, p=[0.8, 0.1, 0.05, 0.03, 0.02])
    judged = np.arange(40) % 3 > 0
    tens = [[10] * 4, rng.integers(0, 5, 40), rng.integers(0, 4, 40).astype(float)]
    return {
        "distinct scores": (gw.Judgments(graded, group=sizes), scores),
        "many ties": (gw.Judgments(graded, group=sizes), rng.integers(0, 3, documents).astype(float)),
        "all tied": (gw.Judgments(graded, group=sizes), np.zeros(documents)),
        "binary": (gw.Judgments((graded > 0).astype(int), group=sizes), scores.round(1)),
        "single documents": (gw.Judgments([0, 1, 2, 3, 4, 0], group=[1] * 6), np.arange(6.0)),
        "empty queries": (gw.Judgments([1, 0, 2, 0, 0], group=[0, 2, 0, 1, 2, 0]), [1.0, 2, 3, 4, 4]),
        "nothing relevant": (gw.Judgments(np.zeros(12, dtype=int), group=[4, 8]), np.arange(12.0) // 2),
        "weighted, scattered rows": (
            gw.Judgments(graded, qid=shuffled, weight={f"q{number}": 0.1 + number for number in range(9)}),
            scores.round(1),
        ),
        "large and fractional labels": (
            gw.Judgments([0, 31, 2.5, 0.25, 1, 1, 40, 0], group=[5, 3]),
            [3.0, 1, 2, 2, 5, 1, 1, 0],
        ),
        "scores close together": (gw.Judgments(graded, group=sizes), close),
        "long query": (gw.Judgments(long_labels, group=[700]), rng.normal(size=700).round(1)),
        "unjudged": (gw.Judgments(tens[1] * judged, group=tens[0], judged=judged), tens[2]),
    }


def record_metrics() -> dict[str, Any]:
    """Record the value of every metric on every query of every dataset."""
    import gainwise as gw

    metrics = [(name, None) for name in list_metrics()]
    for convention in CONVENTIONS:
        metrics += [(f"{name}{cutoff}", convention) for name in BY_CONVENTION for cutoff in ("", "@3")]
    results: dict[str, Any] = {}
    for data, (judgments, scores) in make_judged_scores(gw).items():
        results[data] = {}
        for name, convention in metrics:
            key = name if convention is None else f"{name} as {convention}"
            try:
                value = gw.evaluate(name, judgments, scores, convention=convention)
            except ValueError as error:
                results[data][key] = {"raises": type(error).__name__}
                continue
            (mean,) = value.mean.values()
            results[data][key] = to_json({"per_query": value.per_query[:, 0], "mean": mean})
    return results


# Trainings.

POOL = (
    *("ndcg_linear@5", "ndcg_exp@5", "ndcg_exp", "ndcg_jk@10", "map@5", "map", "mrr", "precision@3", "recall@5"),
    *("dcg_linear@3", "rbp(p=0.8)", "err(max_label=4)@5", "ndcg_linear(ties=worst)@5", "hit@3", "gap@5"),
)
TRAININGS = 50


def simulate_small(rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """Return features, labels, sizes of the queries, and weights or None."""
    sizes = rng.integers(2, 15, 25)
    features = rng.normal(size=(sizes.sum(), 5)).round(2)
    noise = rng.normal(size=sizes.sum())
    labels = np.clip(np.floor(features[:, 0] + 0.5 * features[:, 1] + noise + 1), 0, 4).astype(int)
    return features, labels, sizes, rng.uniform(0.5, 2, len(sizes)) if rng.random() < 0.3 else None


def record_lightgbm() -> dict[str, Any]:
    """Record trainings of LightGBM with random parameters."""
    import lightgbm as lgb

    from gainwise.lightgbm import early_stopping, feval

    results = {}
    for number in range(TRAININGS):
        rng = np.random.default_rng([81, number])
        params = {
            "objective": str(rng.choice(["lambdarank", "rank_xendcg"])),
            "metric": str(rng.choice(["None", "ndcg"])),
            "eval_at": [4],
            "num_leaves": int(rng.integers(3, 12)),
            "learning_rate": float(rng.choice([0.05, 0.2, 0.5])),
            "min_data_in_leaf": int(rng.integers(1, 8)),
            "bagging_fraction": float(rng.choice([0.7, 1.0])),
            "bagging_freq": 1,
            "seed": number,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbose": -1,
        }
        sets = []
        for _ in range(1 + int(rng.integers(1, 3))):
            features, labels, sizes, weights = simulate_small(rng)
            per_row = None if weights is None else np.repeat(weights, sizes)
            reference = sets[0] if sets else None
            sets.append(lgb.Dataset(features, labels, group=sizes, weight=per_row, reference=reference))
        metrics = [str(name) for name in rng.choice(POOL, int(rng.integers(1, 5)), replace=False)]
        every = int(rng.choice([1, 1, 2]))
        curves: dict[str, Any] = {}
        names = [f"valid {number}" for number in range(len(sets) - 1)]
        stopping = early_stopping(
            metrics[0], int(rng.integers(2, 6)), names[-1], float(rng.choice([0, 0.01])), verbose=False
        )
        booster = lgb.train(
            params,
            sets[0],
            int(rng.integers(5, 25)),
            valid_sets=sets[1:],
            valid_names=names,
            feval=feval(metrics, every=every),
            callbacks=[lgb.record_evaluation(curves), stopping],
        )
        results[str(number)] = {
            "curves": to_json(curves),
            "best_iteration": booster.best_iteration,
            "best_score": to_json(booster.best_score),
            "trees": booster.num_trees(),
            "model": hashlib.sha256(booster.model_to_string().encode()).hexdigest(),
        }
    return results


def record_xgboost() -> dict[str, Any]:
    """Record trainings of XGBoost with random parameters."""
    import xgboost as xgb

    from gainwise.xgboost import EvaluateRanking, custom_metric, early_stopping, full_precision

    results = {}
    for number in range(TRAININGS):
        rng = np.random.default_rng([91, number])
        params = {
            "objective": str(rng.choice(["rank:ndcg", "rank:pairwise", "reg:squarederror"])),
            "disable_default_eval_metric": True,
            "max_depth": int(rng.integers(2, 5)),
            "eta": float(rng.choice([0.05, 0.3, 0.6])),
            "subsample": float(rng.choice([0.7, 1.0])),
            "seed": number,
            "nthread": 1,
            "tree_method": "hist",
        }
        matrices = {}
        for name in ("train", "valid", "other")[: 2 + int(rng.integers(0, 2))]:
            features, labels, sizes, weights = simulate_small(rng)
            matrix = xgb.DMatrix(features, labels, nthread=1)
            matrix.set_group(sizes)
            if weights is not None and params["objective"].startswith("rank:"):
                matrix.set_weight(weights)
            matrices[name] = matrix
        metrics = [str(name) for name in rng.choice(POOL, int(rng.integers(1, 5)), replace=False)]
        save_best = bool(rng.random() < 0.4)
        stopping = early_stopping(
            metrics[0],
            int(rng.integers(2, 6)),
            "valid",
            float(rng.choice([0, 0.01])),
            save_best=save_best,
            verbose=False,
        )
        validation_sets = {name: matrix for name, matrix in matrices.items() if name != "train"}
        curves: dict[str, Any] = {}
        rounds = int(rng.integers(5, 25))
        kind = int(rng.integers(0, 3))
        metric_function = custom_metric(metrics)
        callbacks = {
            0: [EvaluateRanking(validation_sets, metrics, every=int(rng.choice([1, 1, 2]))), stopping],
            1: [stopping],
            2: [full_precision(metric_function), stopping],
        }[kind]
        booster = xgb.train(
            params,
            matrices["train"],
            rounds,
            evals=[] if kind == 0 else [(matrix, name) for name, matrix in validation_sets.items()],
            custom_metric=None if kind == 0 else metric_function,
            callbacks=callbacks,
            evals_result=curves,
            verbose_eval=False,
        )
        results[str(number)] = {
            "curves": to_json(curves),
            "best_iteration": to_json(booster.best_iteration),
            "best_score": to_json(booster.best_score),
            "rounds": booster.num_boosted_rounds(),
            "model": hashlib.sha256(bytes(booster.save_raw("json"))).hexdigest(),
        }
    return results


# Recording.

TOPICS: dict[str, Callable[[], dict[str, Any]]] = {
    "metrics": record_metrics,
    "metrics_numpy": record_metrics,
    "lightgbm": record_lightgbm,
    "xgboost": record_xgboost,
    "populations": record_populations,
    "experiments": record_experiments,
}


def find_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries, and the processor."""
    packages = ("numpy", "scipy", "pandas", "lightgbm", "xgboost", "jinja2", "matplotlib")
    return {"python": platform.python_version(), "machine": platform.machine(), **{it: version(it) for it in packages}}


def compute(topic: str, checkout: Path) -> dict[str, Any]:
    """Compute a topic in a process that imports the package from a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.json"
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout / "src"),
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "MPLCONFIGDIR": folder,
            "GAINWISE_KERNEL": "0" if topic == "metrics_numpy" else "1",
        }
        command = [sys.executable, str(HERE / "record.py"), "--into", str(file), "--only", topic]
        subprocess.run(command, env=environment, check=True)
        results: dict[str, Any] = json.loads(file.read_text())
    return results


def read(topic: str) -> dict[str, Any]:
    """Read a recording."""
    with gzip.open(DATA / f"{topic}.json.gz", "rt") as file:
        results: dict[str, Any] = json.load(file)
    return results


def write(topic: str, results: dict[str, Any]) -> None:
    """Write a recording. The bytes depend only on its content."""
    DATA.mkdir(exist_ok=True)
    text = json.dumps(results, indent=0, ensure_ascii=False)
    (DATA / f"{topic}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main() -> None:
    """Record the topics."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=HERE.parent)
    parser.add_argument("--only", nargs="+", choices=TOPICS, default=list(TOPICS))
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)  # how `compute` calls this file
    options = parser.parse_args()
    if options.into:
        warnings.simplefilter("ignore")
        options.into.write_text(json.dumps(TOPICS[options.only[0]](), ensure_ascii=False))
        return
    for topic in options.only:
        write(topic, compute(topic, options.checkout.resolve()))
        print(f"{topic}: {(DATA / f'{topic}.json.gz').stat().st_size:,} bytes", flush=True)
    write("versions", find_versions())


if __name__ == "__main__":
    main()
