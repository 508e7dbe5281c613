"""Compute how far the two NDCGs can disagree on the judgments of 42 public collections.

    python research/studies/survey.py --data PATH [--only NAME …] [--output research/studies/results/survey.json]

PATH is the folder of qrels, one gzip file per collection, with the names of castorini/anserini-tools. Collections that
are missing or unreadable are listed in the results. The results contain no judgments.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from records import RESULTS, write_record
from scipy.stats import spearmanr

import gainwise as gw

Floats = NDArray[np.float64]
CUTOFFS = (5, 10, 20, 100)
CUTOFF = 10
"""The cutoff of the picture and of the correlations."""

RESAMPLES = 4_000
GAIN_LABELS = {0: 0, 2: 1, 4: 2, 8: 3, 16: 4}
"""Labels of TREC News, which are gains, and their grades."""


class Collection(NamedTuple):
    """Title of a collection, and the family that shares its judging guidelines."""

    title: str
    family: str


LANGUAGES = {"fa": "Persian", "ru": "Russian", "zh": "Chinese"}
COLLECTIONS = {
    "adhoc.451-550": Collection("TREC Web 2000–2001", "WT10g"),
    **{f"backgroundlinking{y}": Collection(f"TREC News 20{y}", "News") for y in (18, 19, 20)},
    **{f"core{y}": Collection(f"TREC Common Core 20{y}", "Common Core") for y in (17, 18)},
    "covid-complete": Collection("TREC-COVID, all rounds", "COVID"),
    **{f"covid-round{r}": Collection(f"TREC-COVID, round {r}", "COVID") for r in (3, 4, 5)},
    "dbpedia-entity": Collection("DBpedia-Entity", "DBpedia"),
    **{
        f"dl{y}-{code}": Collection(f"TREC Deep Learning 20{y}, {kind}", "Deep Learning")
        for y in (19, 20, 21, 23)
        for code, kind in (("doc", "documents"), ("passage", "passages"))
    },
    **{f"hc4-neuclir22-{code}": Collection(f"HC4 on NeuCLIR 2022, {name}", "HC4") for code, name in LANGUAGES.items()},
    **{f"hc4-v1.0-{code}": Collection(f"HC4, {name}", "HC4") for code, name in LANGUAGES.items()},
    **{f"microblog{y}": Collection(f"TREC Microblog {y}", "Microblog") for y in range(2011, 2015)},
    **{f"neuclir22-{code}": Collection(f"TREC NeuCLIR 2022, {name}", "NeuCLIR") for code, name in LANGUAGES.items()},
    "rag24": Collection("TREC RAG 2024", "RAG"),
    "robust05": Collection("TREC Robust 2005", "Robust"),
    **{
        f"terabyte{y:02}.{topics}": Collection(f"TREC Terabyte 20{y:02}", "Terabyte")
        for y, topics in ((4, "701-750"), (5, "751-800"), (6, "801-850"))
    },
    **{
        f"web.{topics}": Collection(f"TREC Web {y}", "Web")
        for y, topics in enumerate(("51-100", "101-150", "151-200", "201-250", "251-300"), start=2010)
    },
}

PROPERTIES = {
    "positive grades": "number of positive grades in use",
    "highest grade": "highest grade",
    "queries": "number of queries",
    "judged per query": "judged documents per query (median)",
    "relevant per query": "relevant documents per query (median)",
    "share relevant": "share of relevant documents among the judged ones",
    "share highest": "share of the highest grade among relevant documents",
    "different grades": "probability that two relevant documents of a query have different grades",
    "different top": f"probability that two of the {CUTOFF} best documents of a query have different grades",
}
"""Properties of the labels that may predict the largest conflict."""


def study_collection(name: str, qrels: pd.DataFrame) -> dict[str, Any]:
    """Return all results of a collection. Labels that are gains are studied as published and as grades."""
    labels = qrels["label"].to_numpy(dtype=float)
    values, counts = np.unique(labels, return_counts=True)
    check = gw.check(qrels, document="document")
    result: dict[str, Any] = {
        "title": COLLECTIONS[name].title,
        "family": COLLECTIONS[name].family,
        "documents_by_label": {f"{value:g}": int(count) for value, count in zip(values, counts, strict=True)},
        "findings": {found.code: found.text for found in check.findings},
    }
    are_gains = "gains" in result["findings"]
    if are_gains:
        result["as_published"] = compute_bounds(qrels)
        qrels = qrels.assign(label=[GAIN_LABELS[label] for label in labels])
    return {**result, "labels_are_gains": are_gains, **compute_bounds(qrels), "properties": measure(qrels)}


def compute_bounds(qrels: pd.DataFrame) -> dict[str, Any]:
    """Return the bounds and the values of random order at all cutoffs, with negative labels as 0."""
    grades = qrels["label"].to_numpy(dtype=float)
    judgments = gw.Judgments(grades, qid=qrels["query"].to_numpy(), negative_labels="zero")
    metrics = [f"{name}@{k}" for k in CUTOFFS for name in ("ndcg_linear", "ndcg_exp")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gw.GainLabelsWarning)  # The finding of `check` is part of the results.
        chance = gw.evaluate(metrics, judgments, np.zeros(len(grades)), n_jobs=1).mean
        bounds = {k: gw.disagreement_bound(qrels, k) for k in CUTOFFS}
    by_query = qrels.assign(label=np.maximum(grades, 0)).groupby("query")["label"]
    highest = by_query.max()
    return {
        "queries": len(highest),
        "queries_without_relevant": int((highest == 0).sum()),
        "queries_with_equal_gains": int((highest == by_query.min()).sum()),
        "two_rankings": {str(k): bound.two_rankings for k, bound in bounds.items()},
        "one_ranking": {name: value for bound in bounds.values() for name, value in bound.one_ranking.items()},
        "queries_without_conflict": {str(k): bound.queries - bound.possible for k, bound in bounds.items()},
        "chance": chance,
    }


def measure(qrels: pd.DataFrame) -> dict[str, float]:
    """Return the properties of the labels that may predict the largest conflict."""
    labels = np.maximum(qrels["label"].to_numpy(dtype=float), 0)
    queries = [group.to_numpy() for _, group in pd.Series(labels).groupby(qrels["query"].to_numpy())]
    relevant = [np.sort(query[query > 0])[::-1] for query in queries]
    positive, highest = labels[labels > 0], labels.max()
    return {
        "positive grades": float(len(np.unique(positive))),
        "highest grade": float(highest),
        "queries": float(len(queries)),
        "judged per query": float(np.median([len(query) for query in queries])),
        "relevant per query": float(np.median([len(query) for query in relevant])),
        "share relevant": float((labels > 0).mean()),
        "share highest": float((positive == highest).mean()),
        "different grades": average_difference(relevant),
        "different top": average_difference([query[:CUTOFF] for query in relevant]),
    }


def average_difference(queries: list[Floats]) -> float:
    """Return the mean over queries of the probability that two different documents have different labels.

    A query with fewer than two documents counts 0.

    >>> round(average_difference([np.array([2.0, 1.0, 1.0]), np.array([1.0])]), 3)
    0.333
    """
    shares = []
    for labels in queries:
        counts, n = np.unique(labels, return_counts=True)[1], len(labels)
        shares.append(1 - float((counts * (counts - 1)).sum()) / (n * (n - 1)) if n > 1 else 0.0)
    return float(np.mean(shares))


def correlate(collections: dict[str, dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Return the rank correlation of each property with the largest conflict, the strongest first.

    Intervals resample families, because the collections of one family share judges, guidelines and topics.
    """
    rows = list(collections.values())
    conflict = np.array([row["two_rankings"][str(CUTOFF)] for row in rows])
    families = pd.factorize(np.array([row["family"] for row in rows]))[0]
    members = [np.flatnonzero(families == family) for family in range(families.max() + 1)]
    rng = np.random.default_rng(seed)
    samples = [
        np.concatenate([members[family] for family in rng.integers(len(members), size=len(members))])
        for _ in range(RESAMPLES)
    ]
    report = []
    for name in PROPERTIES:
        values = np.array([row["properties"][name] for row in rows])
        draws = [correlate_ranks(values[sample], conflict[sample]) for sample in samples]
        lower, upper = np.quantile(draws, [0.025, 0.975])
        rank = correlate_ranks(values, conflict)
        report.append({"property": name, "correlation": rank, "lower": float(lower), "upper": float(upper)})
    return sorted(report, key=lambda row: -abs(row["correlation"]))


def correlate_ranks(first: Floats, second: Floats) -> float:
    """Return Spearman's rank correlation, 0 if one of the variables is constant."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(spearmanr(first, second).statistic)


def read_collections(folder: Path, names: list[str]) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Return the qrels of each collection, and the reasons for which others could not be read."""
    if not folder.is_dir():
        raise SystemExit(f"--data: {folder} is not a directory. Pass the folder with the qrels of the collections.")
    read, unreadable = {}, {}
    for name in names:
        path = folder / f"{name}.txt.gz"
        try:
            read[name] = gw.data.read_qrels(path)
        except FileNotFoundError:
            unreadable[name] = "the file is missing"
        except (EOFError, OSError, ValueError) as error:
            unreadable[name] = str(error).replace(str(path), path.name)
    return read, unreadable


def main() -> None:
    """Run the survey."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of qrels")
    parser.add_argument("--only", nargs="+", choices=list(COLLECTIONS), metavar="NAME", help="names of collections")
    parser.add_argument("--output", type=Path, default=RESULTS / "survey.json")
    parser.add_argument("--seed", type=int, default=1, help="seed of the resampling (default: 1)")
    arguments = parser.parse_args()
    start = time.perf_counter()
    names = arguments.only or list(COLLECTIONS)
    qrels, unreadable = read_collections(arguments.data, names)
    for name, reason in unreadable.items():
        print(f"{name}: not studied, because {reason}", file=sys.stderr)
    if not qrels:
        raise SystemExit(f"--data: {arguments.data} contains none of the {len(names)} collections.")
    collections = {}
    for name, frame in qrels.items():
        collections[name] = study_collection(name, frame)
        print(f"{name}: {collections[name]['two_rankings'][str(CUTOFF)]:.4f}", flush=True)
    results = {
        "expected": len(names),
        "unreadable": unreadable,
        "collections": collections,
        "correlations": correlate(collections, arguments.seed),
        "correlations_of_two_grades": correlate(
            {name: row for name, row in collections.items() if row["properties"]["positive grades"] == 2},
            arguments.seed,
        ),
    }
    content = {"seed": arguments.seed, "resamples": RESAMPLES, "cutoffs": CUTOFFS, "results": results}
    write_record(arguments.output, "qrels-survey", ("numpy", "scipy", "pandas"), content)
    print(f"{arguments.output}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
