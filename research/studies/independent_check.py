"""Compute figures of the survey and of the release again, without gainwise and without the code of the studies.

    python research/studies/independent_check.py --qrels PATH --movies PATH

The script reads the data and the stored results, and uses scikit-learn, pytrec_eval, LightGBM, XGBoost and SciPy. It
prints both values of each figure, and ends with an error if one of them differs by more than its tolerance.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytrec_eval
import xgboost as xgb
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import nhypergeom, spearmanr
from sklearn.feature_extraction.text import CountVectorizer, strip_accents_unicode
from sklearn.metrics import ndcg_score

Floats = NDArray[np.float64]
RESULTS = Path(__file__).parent / "results"
EXACT = 1e-6
RETRAINED = 1e-3
"""Tolerance of means of trained models, because features that differ in the last digit may change a split of a tree."""

ROUNDED = 20
"""Tolerance of the number of training queries, because rounded scores of BM25 differ in rare cases."""

BOOTSTRAPS = 2_000


class Figure(NamedTuple):
    """A figure of the stored results, computed again."""

    name: str
    stored: float
    computed: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether both values are equal up to the tolerance."""
        return abs(self.stored - self.computed) <= self.tolerance


def read_stored(name: str) -> Any:
    """Return stored results."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def read_qrels(path: Path) -> dict[str, dict[str, float]]:
    """Return the labels of each query and document, with negative labels as 0."""
    qrels: dict[str, dict[str, float]] = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                query, _, document, label = line.split()
                qrels[query][document] = max(float(label), 0.0)
    return qrels


def compute_spreads(labels: Floats, t: float, k: int) -> tuple[float, float]:
    """Return the largest and smallest sum of discounted values of the first k of many documents.

    The value of a document is t times its linear gain minus 1 − t times its exponential gain, each divided by the ideal
    DCG of the query. There are k further documents without relevance.
    """
    discounts = 1 / np.log2(np.arange(2, k + 2))
    labels = np.sort(np.concatenate([labels, np.zeros(k)]))[::-1]
    linear, exponential = (g / max(g[:k] @ discounts, 1e-300) for g in (labels, 2**labels - 1))
    values = np.sort(t * linear - (1 - t) * exponential)
    return float(values[::-1][:k] @ discounts), float(values[:k] @ discounts)


def compute_two_rankings(queries: list[Floats], k: int) -> float:
    """Return the largest conflict of linear and exponential NDCG@k, by a search over t."""

    def spread(t: float) -> float:
        ends = [compute_spreads(labels, t, k) for labels in queries]
        return float(np.mean([high - low for high, low in ends]))

    return float(minimize_scalar(spread, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).fun)


def compute_chance(queries: list[Floats], k: int, exponential: bool) -> float:
    """Return NDCG@k of random order of the judged documents, as scikit-learn averages it over ties."""
    values = []
    for labels in queries:
        gains = 2**labels - 1 if exponential else labels
        values.append(ndcg_score([gains], [np.zeros(len(gains))], k=k) if len(gains) > 1 else float(gains.sum() > 0))
    return float(np.mean(values))


def rank_with_trec_eval(qrels: dict[str, dict[str, float]], k: int) -> float:
    """Return linear minus exponential NDCG@k of the ranking that is best for this difference, by trec_eval."""
    gains = {"linear": lambda label: int(label), "exponential": lambda label: int(2**label - 1)}
    run: dict[str, dict[str, float]] = {}
    discounts = 1 / np.log2(np.arange(2, k + 2))
    for query, judged in qrels.items():
        labels = np.array(list(judged.values()))
        ideal = [np.sort(g)[::-1][:k] @ discounts[: len(g)] or np.inf for g in (labels, 2**labels - 1)]
        differences = labels / ideal[0] - (2**labels - 1) / ideal[1]
        run[query] = {name: float(d) for name, d in zip(judged, differences, strict=True) if d > 0}
        run[query] |= {f"unjudged {i}": 0.0 for i in range(k)}
        run[query] |= {name: float(d) for name, d in zip(judged, differences, strict=True) if d < 0}
    means = []
    for gain in gains.values():
        integers = {q: {d: gain(label) for d, label in judged.items()} for q, judged in qrels.items()}
        values = pytrec_eval.RelevanceEvaluator(integers, {f"ndcg_cut.{k}"}).evaluate(run)
        means.append(np.mean([row[f"ndcg_cut_{k}"] for row in values.values()]))
    return float(means[0] - means[1])


def check_survey(folder: Path) -> Iterator[Figure]:
    """Yield figures of the survey."""
    results = read_stored("survey")["results"]
    collections = results["collections"]
    for name in ("dl20-doc", "web.151-200", "core17", "hc4-v1.0-fa"):
        qrels = read_qrels(folder / f"{name}.txt.gz")
        queries = [np.array(list(judged.values())) for judged in qrels.values()]
        stored = collections[name]
        bound = compute_two_rankings(queries, 10)
        yield Figure(f"{name}: largest conflict @10", stored["two_rankings"]["10"], bound, EXACT)
        for gain in ("linear", "exp"):
            chance = compute_chance(queries, 10, gain == "exp")
            yield Figure(f"{name}: random order, {gain}", stored["chance"][f"ndcg_{gain}@10"], chance, EXACT)
        above = rank_with_trec_eval(qrels, 10)
        yield Figure(f"{name}: linear above exponential", stored["one_ranking"]["ndcg_linear@10"], above, EXACT)
    grades = [row["properties"]["positive grades"] for row in collections.values()]
    bounds = [row["two_rankings"]["10"] for row in collections.values()]
    (stored,) = (r["correlation"] for r in results["correlations"] if r["property"] == "positive grades")
    yield Figure("rank correlation with the number of grades", stored, spearmanr(grades, bounds).statistic, EXACT)


FIELDS = ("title", "overview", "actors", "characters", "director", "genres", "tags")


class Movies(NamedTuple):
    """Judgments with row numbers of movies, and the movies."""

    judgments: pd.DataFrame
    movies: pd.DataFrame
    unknown: int


def read_movies(folder: Path) -> Movies:
    """Read both files, without judgments of unknown movies."""
    judgments = pd.read_csv(folder / "movies-judgments.tsv.gz", sep="\t", dtype=str, keep_default_na=False)
    with gzip.open(folder / "movies-corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        movies = pd.DataFrame(map(json.loads, lines))
    number = {name: i for i, name in enumerate(movies["id"])}
    known = judgments[judgments["doc_id"].isin(number)].copy()
    known["movie"] = known["doc_id"].map(number).astype(int)
    known["grade"] = known["grade"].astype(float)
    return Movies(known.reset_index(drop=True), movies, len(judgments) - len(known))


def make_vectorizer() -> CountVectorizer:
    """Return a vectorizer that counts words in lower case, without accents."""
    return CountVectorizer(preprocessor=lambda text: strip_accents_unicode(text.casefold()), token_pattern=r"[a-z0-9]+")


def compute_features(data: Movies) -> NDArray[np.float32]:
    """Return the features in the order of the stored results."""
    movies, judgments = data.movies, data.judgments
    texts = {
        field: [" ".join(value) if isinstance(value, list) else value for value in movies[field]] for field in FIELDS
    }
    texts["all"] = [" ".join(parts) for parts in zip(*texts.values(), strict=True)]
    codes, queries = pd.factorize(judgments["query"])
    movie = judgments["movie"].to_numpy()
    columns: dict[str, Any] = {}
    split = make_vectorizer().build_analyzer()
    for field, documents in texts.items():
        vectorizer = make_vectorizer()
        counts = vectorizer.fit_transform(documents).tocoo()
        lengths = np.bincount(counts.row, weights=counts.data, minlength=len(documents))
        frequency = np.bincount(counts.col, minlength=counts.shape[1])
        idf = np.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
        norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        counts.data = idf[counts.col] * counts.data / (counts.data + norm[counts.row])
        weights, asked = counts.tocsr(), vectorizer.transform(queries).tocsr()
        scores = np.asarray(asked[codes].multiply(weights[movie]).sum(axis=1)).ravel()
        columns[f"bm25_{field}"] = np.round(scores, 3)
    rows = []
    words = {field: [split(text) for text in texts[field]] for field in ("title", "actors", "characters", "overview")}
    sets = {field: [set(text) for text in part] for field, part in words.items()}
    sets["all"] = [set(split(text)) for text in texts["all"]]
    asked_words = [split(query) for query in queries]
    asked_years = [{int(year) for year in re.findall(r"(?:19|20)\d\d", query)} for query in queries]
    years = movies["year"].to_numpy()
    for code, place in zip(codes, movie, strict=True):
        query, title = asked_words[code], words["title"][place]
        distinct = set(query)
        inside = f" {' '.join(title)} " in f" {' '.join(query)} " and bool(title)
        share = {field: len(distinct & sets[field][place]) / max(len(distinct), 1) for field in sets}
        year = 0 if not asked_years[code] else 1 if years[place] in asked_years[code] else -1
        rows.append((
            query == title, inside, f" {' '.join(query)} " in f" {' '.join(title)} ",
            len(distinct & sets["title"][place]) / max(len(sets["title"][place]), 1),
            share["title"], share["actors"], share["characters"], share["all"], year,
            years[place], len(title), len(words["overview"][place]), len(query),
        ))  # fmt: skip
    table = np.array(rows, dtype=float)
    logs = [np.log1p(movies[name].to_numpy(dtype=float))[movie] for name in ("votes", "popularity", "budget")]
    numbers = [*table[:, :10].T, *logs[:2], movies["rating"].to_numpy()[movie], logs[2], *table[:, 10:].T]
    return np.column_stack([*columns.values(), *numbers]).astype(np.float32)


def split_queries(data: Movies, features: NDArray[np.float32], seed: int) -> dict[str, NDArray[np.int64]]:
    """Return the rows of training, validation and test set, without near copies of queries."""
    codes, ids = pd.factorize(data.judgments["query_id"])
    order = np.random.default_rng(seed).permutation(len(ids))
    parts = {"test": order[:8_000], "validation": order[8_000:10_500], "train": order[10_500:]}
    keys = np.array([row.tobytes() for row in features + np.float32(0)])
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    counts = [Counter(keys[own].tolist()) for own in rows]
    parts["validation"] = remove_near_copies(parts["validation"], [parts["test"]], counts)
    parts["train"] = remove_near_copies(parts["train"], [parts["validation"], parts["test"]], counts)
    return {name: np.concatenate([rows[query] for query in queries]) for name, queries in parts.items()}


def remove_near_copies(
    part: NDArray[np.int64], others: list[NDArray[np.int64]], counts: list[Counter[bytes]]
) -> NDArray[np.int64]:
    """Remove queries with more than half of their rows, and two rows that no third query has, in another part."""
    while True:
        shared: set[int] = set()
        own = find_rows_of_one_query(part, counts)
        for other in others:
            distinctive = find_rows_of_one_query(other, counts)
            pairs = Counter((own[key], distinctive[key]) for key in own.keys() & distinctive.keys())
            for (query, copy), number in pairs.items():
                shorter = min(counts[query].total(), counts[copy].total())
                if number >= 2 and 2 * (counts[query] & counts[copy]).total() > shorter:
                    shared.add(query)
        if not shared:
            return part
        part = np.array([query for query in part if query not in shared])


def find_rows_of_one_query(part: NDArray[np.int64], counts: list[Counter[bytes]]) -> dict[bytes, int]:
    """Return the rows that occur in one query of a part only, with this query."""
    first: dict[bytes, int] = {}
    several = set()
    for query in part.tolist():
        for key in counts[query]:
            if first.setdefault(key, query) != query:
                several.add(key)
    return {key: query for key, query in first.items() if key not in several}


def compute_random_order(labels: Floats) -> tuple[float, float]:
    """Return the expected average precision and reciprocal rank of random order, for labels 0 and 1."""
    n, relevant = len(labels), int(labels.sum())
    ranks = np.arange(1, n + 1)
    precision = ((relevant - 1) / max(n - 1, 1) * (ranks - 1) / ranks + 1 / ranks).mean()
    before_first = np.arange(n - relevant + 1)
    chances = nhypergeom(n, n - relevant, 1).pmf(before_first)
    return float(precision), float((chances / (before_first + 1)).sum())


def evaluate(labels: Floats, scores: Floats, groups: list[NDArray[np.int64]]) -> Floats:
    """Return NDCG@10 by scikit-learn, and average precision and reciprocal rank by trec_eval, shape (3, queries)."""
    ndcg = [ndcg_score([labels[g]], [scores[g]], k=10) if len(g) > 1 else float(labels[g].sum() > 0) for g in groups]
    qrels = {str(q): {str(row): int(labels[row]) for row in g} for q, g in enumerate(groups)}
    run = {str(q): {str(row): float(scores[row]) for row in g} for q, g in enumerate(groups)}
    values = pytrec_eval.RelevanceEvaluator(qrels, {"map", "recip_rank"}).evaluate(run)
    other = [[values[str(q)][name] for q in range(len(groups))] for name in ("map", "recip_rank")]
    return np.array([ndcg, *other])


def train(
    name: str, features: NDArray[np.float32], labels: Floats, queries: NDArray[np.int64], seed: int, rounds: int
) -> Iterator[Any]:
    """Yield a function that returns scores of rows, after every fifth round of a candidate."""
    size = np.unique(queries, return_counts=True)[1]
    large = name.endswith("large")
    rate = 0.15 if large else 0.3
    if name.startswith("LightGBM"):
        _, objective, *top, _ = name.split(", ")
        params = {
            "objective": objective, "learning_rate": rate, "num_leaves": 31 if large else 7, "min_data_in_leaf": 50,
            "bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.7, "seed": seed, "num_threads": 1,
            "deterministic": True, "force_row_wise": True, "verbose": -1,
        }  # fmt: skip
        params |= {"lambdarank_truncation_level": int(top[0].removeprefix("top "))} if top else {}
        booster = lgb.train(params, lgb.Dataset(features, labels, group=size), rounds)
        for end in range(5, rounds + 1, 5):
            yield end, lambda rows, end=end: booster.predict(rows, num_iteration=end, num_threads=1)
        return
    params = {
        "objective": name.split(", ")[1], "eta": rate, "max_depth": 6 if large else 3, "min_child_weight": 1,
        "subsample": 0.8, "colsample_bytree": 0.7, "seed": seed, "nthread": 1, "verbosity": 0,
    }  # fmt: skip
    model = xgb.train(params, xgb.QuantileDMatrix(features, labels, qid=queries, nthread=1), rounds)
    for end in range(5, rounds + 1, 5):
        yield end, lambda rows, end=end: model.inplace_predict(rows, iteration_range=(0, end), predict_type="margin")


def train_and_evaluate(
    name: str, features: NDArray[np.float32], data: Movies, parts: dict[str, NDArray[np.int64]], seed: int, rounds: int
) -> Floats:
    """Train a model, stop it by NDCG@10 of the validation set, and return its values on the test set."""
    grades = data.judgments["grade"].to_numpy()
    # Queries are numbered in the order of each part, because the libraries train on rows in this order.
    queries = {key: number_queries(data, rows) for key, rows in parts.items()}
    groups = {key: np.split(np.arange(len(q)), np.flatnonzero(np.diff(q)) + 1) for key, q in queries.items()}
    columns = {key: features[rows] for key, rows in parts.items()}
    labels = {key: grades[rows] for key, rows in parts.items()}
    best, scores = -1.0, np.zeros(0)
    for _, predict in train(name, columns["train"], labels["train"], queries["train"], seed, rounds):
        predicted = predict(columns["validation"])
        values = [
            ndcg_score([labels["validation"][g]], [predicted[g]], k=10) if len(g) > 1 else 1.0
            for g in groups["validation"]
        ]
        if np.mean(values) > best:
            best, scores = float(np.mean(values)), predict(columns["test"])
    return evaluate(labels["test"], scores, groups["test"])


def number_queries(data: Movies, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the query of each row, in order of first appearance."""
    return pd.factorize(data.judgments["query_id"].to_numpy()[rows])[0]


def check_release(folder: Path) -> Iterator[Figure]:
    """Yield figures of the release."""
    record = read_stored("release")
    results, rounds, seed = record["results"], record["rounds"], record["seed"]
    data = read_movies(folder)
    features = compute_features(data)
    parts = split_queries(data, features, seed)
    yield Figure("judgments of unknown movies", results["data"]["judgments_of_unknown_movies"], data.unknown, 0)
    for name, rows in parts.items():
        number = data.judgments["query_id"].iloc[rows].nunique()
        yield Figure(f"queries, {name}", results["queries"][name], number, 0 if name == "test" else ROUNDED)
    test = data.judgments["grade"].to_numpy()[parts["test"]]
    groups = np.split(test, np.flatnonzero(np.diff(number_queries(data, parts["test"]))) + 1)
    random = np.array([compute_random_order(labels) for labels in groups]).mean(axis=0)
    yield Figure("random order, NDCG@10", results["chance"]["ndcg_linear@10"], compute_chance(groups, 10, False), EXACT)
    yield Figure("random order, MAP", results["chance"]["map"], random[0], EXACT)
    yield Figure("random order, MRR", results["chance"]["mrr"], random[1], EXACT)
    places = [results["features"].index(name) for name in results["production_features"]]
    old = train_and_evaluate("LightGBM, lambdarank, top 5, small", features[:, places], data, parts, 1, rounds)
    chosen = results["selected"]
    new = train_and_evaluate(chosen["candidate"], features, data, parts, chosen["seed"], rounds)
    rng = np.random.default_rng(0)
    for row, metric in enumerate(("ndcg_linear@10", "map", "mrr")):
        yield Figure(f"production, {metric}", results["production_means"][metric], old[row].mean(), RETRAINED)
        stored, difference = results["differences"][metric], new[row] - old[row]
        yield Figure(f"difference, {metric}", stored["mean"], difference.mean(), RETRAINED)
        drawn = rng.integers(len(difference), size=(BOOTSTRAPS, len(difference)))
        error = difference[drawn].mean(axis=1).std(ddof=1)
        yield Figure(f"standard error, {metric}", stored["standard_error"], error, 5 * error / (2 * BOOTSTRAPS) ** 0.5)


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qrels", type=Path, help="folder of the qrels of the survey")
    parser.add_argument("--movies", type=Path, help="folder of the movie queries")
    options = parser.parse_args()
    if options.qrels is None and options.movies is None:
        parser.error("Pass --qrels or --movies.")
    figures = [*(check_survey(options.qrels) if options.qrels else ())]
    figures += [*(check_release(options.movies) if options.movies else ())]
    for figure in figures:
        mark = "equal" if figure.agrees else "DIFFERENT"
        print(f"{figure.name:45} stored {figure.stored:12.6f}  computed {figure.computed:12.6f}  {mark}")
    if not all(figure.agrees for figure in figures):
        raise SystemExit("Some figures differ by more than their tolerance.")


if __name__ == "__main__":
    main()
