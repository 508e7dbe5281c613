"""Read the Movie Search Ranking Dataset, and compute features of queries and movies from their texts.

The features are scores of BM25 for eight fields (bm25s), matches of words, and numbers of the movies.
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import gainwise as gw
from gainwise.evaluation.parts import find_shared_queries, read_part

Floats = NDArray[np.float64]
JUDGMENTS, CORPUS = "movies-judgments.tsv.gz", "movies-corpus.jsonl.gz"
SIZES = {"judgments": 384_755, "queries": 16_279, "movies": 9_750}
"""Sizes of the complete files."""

TEST_QUERIES, VALIDATION_QUERIES = 8_000, 2_500
TEXTS = ("title", "overview", "actors", "characters", "director", "genres", "tags")
FEATURES = (
    *(f"bm25_{field}" for field in (*TEXTS, "all")),
    "title_equals_query",
    "title_in_query",
    "query_in_title",
    "share_of_title",
    "share_of_query_in_title",
    "share_of_query_in_cast",
    "share_of_query_in_characters",
    "share_of_query_anywhere",
    "year_in_query",
    "year",
    "log_votes",
    "log_popularity",
    "rating",
    "log_budget",
    "title_length",
    "overview_length",
    "query_length",
)
YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True)
class Movies:
    """Judgments whose movies are known, the movies, and counts of everything that was left out."""

    judgments: pd.DataFrame
    movies: pd.DataFrame
    counts: dict[str, int]

    @cached_property
    def queries(self) -> pd.DataFrame:
        """One row per query: text, number of words, number of relevant movies, and its most voted relevant movie."""
        rows = self.judgments.assign(
            votes=self.movies["votes"].to_numpy()[self.judgments["movie"]] * self.judgments["grade"]
        )
        best = rows.loc[rows.sort_values("votes", kind="stable").groupby("query_id", sort=False)["votes"].idxmax()]
        movie = best.set_index("query_id")["movie"]
        table = rows.groupby("query_id", sort=False).agg(query=("query", "first"), relevant=("grade", "sum"))
        table["words"] = [len(split_words(text)) for text in table["query"]]
        table["movie"] = movie.reindex(table.index)
        return table


def read_movies(folder: Path) -> Movies:
    """Read both files, and leave out judgments of unknown movies and queries without a relevant movie.

    Files of another size than `SIZES` end the program, because results of a part would look like those of all queries.
    """
    judgments = read_judgments(folder / JUDGMENTS)
    movies = read_corpus(folder / CORPUS)
    sizes = {"judgments": len(judgments), "queries": judgments["query_id"].nunique(), "movies": len(movies)}
    for name, expected in SIZES.items():
        if sizes[name] != expected:
            raise SystemExit(f"--data: expected {expected:,} {name}, got {sizes[name]:,}. Copy the files again.")
    position = pd.Series(np.arange(len(movies)), index=movies["id"])
    number = judgments["doc_id"].map(position)
    known = judgments[number.notna()].assign(movie=number.dropna().astype(np.int64))
    relevant = known.groupby("query_id")["grade"].transform("sum") > 0
    counts = {
        **sizes,
        "judgments_of_unknown_movies": int(number.isna().sum()),
        "relevant_judgments_of_unknown_movies": int(judgments.loc[number.isna(), "grade"].sum()),
        "queries_without_relevant": sizes["queries"] - known.loc[relevant, "query_id"].nunique(),
        "judgments_used": int(relevant.sum()),
    }
    return Movies(known[relevant].reset_index(drop=True), movies, counts)


def read_judgments(path: Path) -> pd.DataFrame:
    """Read query id, query, movie and grade of all judgments."""
    try:
        return pd.read_csv(path, sep="\t", dtype={"doc_id": str, "query": str}, keep_default_na=False)
    except (OSError, EOFError, ValueError) as error:
        raise SystemExit(f"--data: {path} cannot be read ({error}). Copy the file again.") from error


def read_corpus(path: Path) -> pd.DataFrame:
    """Read the texts and numbers of all movies."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return pd.DataFrame([json.loads(line) for line in lines])
    except (OSError, EOFError, ValueError) as error:
        raise SystemExit(f"--data: {path} cannot be read ({error}). Copy the file again.") from error


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents.

    >>> split_words("Amélie: Part 2")
    ['amelie', 'part', '2']
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    return re.findall(r"[a-z0-9]+", "".join(letter for letter in plain if not unicodedata.combining(letter)))


def compute_features(movies: Movies) -> NDArray[np.float32]:
    """Return the features of all judgments, shape (judgments, features)."""
    texts = {
        field: [split_words(" ".join(text) if isinstance(text, list) else text) for text in movies.movies[field]]
        for field in TEXTS
    }
    texts["all"] = [list(chain(*fields)) for fields in zip(*texts.values(), strict=True)]
    groups = movies.judgments.groupby("query", sort=False)["movie"]
    rows = {query: group.to_numpy() for query, group in groups}
    columns = {f"bm25_{field}": score_field(words, rows) for field, words in texts.items()}
    columns |= match_words(texts, rows, movies.movies["year"].to_numpy())
    table = movies.movies.iloc[np.concatenate(list(rows.values()))]
    for name in ("votes", "popularity", "budget"):
        columns[f"log_{name}"] = np.log1p(table[name].to_numpy(dtype=float))
    columns |= {name: table[name].to_numpy(dtype=float) for name in ("rating", "year")}
    order = np.concatenate([group.index.to_numpy() for _, group in groups])
    values = np.empty((len(order), len(FEATURES)), dtype=np.float32)
    values[order] = np.stack([columns[name] for name in FEATURES], axis=1)
    return values


def score_field(words: list[list[str]], rows: dict[str, NDArray[np.int64]]) -> Floats:
    """Return the score of BM25 of each query and movie for one field.

    Scores have three decimals, so that queries with the same words in another order have equal scores.
    """
    import bm25s

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(words, show_progress=False)
    scores = []
    for query, movies in rows.items():
        known = [word for word in split_words(query) if word in index.vocab_dict]
        scores.append(index.get_scores(known)[movies] if known else np.zeros(len(movies)))
    return np.round(np.concatenate(scores).astype(float), 3)


def match_words(
    texts: dict[str, list[list[str]]], rows: dict[str, NDArray[np.int64]], years: NDArray[np.int64]
) -> dict[str, Floats]:
    """Return how far the words of query and movie agree, and the lengths of both."""
    titles = [" ".join(words) for words in texts["title"]]
    sets = {field: [set(words) for words in texts[field]] for field in ("title", "actors", "characters", "all")}
    matches: list[dict[str, float]] = []
    for query, movies in rows.items():
        words, text = split_words(query), " ".join(split_words(query))
        distinct, asked = set(words), [int(year) for year in YEAR.findall(query)]
        size = max(len(distinct), 1)
        for movie in movies:
            title = titles[movie]
            matches.append(
                {
                    "title_equals_query": title == text,
                    "title_in_query": bool(title) and f" {title} " in f" {text} ",
                    "query_in_title": f" {text} " in f" {title} ",
                    "share_of_title": len(distinct & sets["title"][movie]) / max(len(sets["title"][movie]), 1),
                    "share_of_query_in_title": len(distinct & sets["title"][movie]) / size,
                    "share_of_query_in_cast": len(distinct & sets["actors"][movie]) / size,
                    "share_of_query_in_characters": len(distinct & sets["characters"][movie]) / size,
                    "share_of_query_anywhere": len(distinct & sets["all"][movie]) / size,
                    "year_in_query": (1.0 if years[movie] in asked else -1.0) if asked else 0.0,
                    "title_length": len(texts["title"][movie]),
                    "overview_length": len(texts["overview"][movie]),
                    "query_length": len(words),
                }
            )
    return {name: column.to_numpy(dtype=float) for name, column in pd.DataFrame(matches).items()}  # type: ignore[misc]


def split_data(movies: Movies, features: NDArray[np.float32], seed: int) -> dict[str, gw.RankingData]:
    """Split the queries at random into training, validation and test set."""
    rows = movies.judgments
    names = {"document_ids": rows["doc_id"].to_numpy(), "feature_names": FEATURES}
    data = gw.RankingData(features, rows["grade"].to_numpy(dtype=float), qid=rows["query_id"].to_numpy(), **names)
    order = np.random.default_rng(seed).permutation(len(data.query_ids))
    test, validation, train = np.split(order, [TEST_QUERIES, TEST_QUERIES + VALIDATION_QUERIES])
    parts = {"train": train, "validation": validation, "test": test}
    return {name: data.take_queries(codes) for name, codes in parts.items()}


def remove_near_copies(parts: dict[str, gw.RankingData]) -> dict[str, gw.RankingData]:
    """Remove queries that share most of their rows with the test set, and from the training set those of validation.

    People search for one movie in many ways, such as "incredibles 2 imdb" and "incredibles 2 putlocker".
    """
    validation = _remove_shared(parts["validation"], parts["test"])
    train = _remove_shared(parts["train"], validation, parts["test"])
    return {"train": train, "validation": validation, "test": parts["test"]}


def _remove_shared(part: gw.RankingData, *others: gw.RankingData) -> gw.RankingData:
    # A row of several queries is no evidence. Without one of them, it may become evidence about another one.
    while True:
        rows = read_part("part", part)
        shared = np.concatenate([find_shared_queries(read_part("other", other), rows).leaks for other in others])
        if not len(shared):
            return part
        part = part.take_queries(np.setdiff1d(np.arange(len(part.query_ids)), shared))


def describe_queries(movies: Movies, query_ids: Any) -> pd.DataFrame:
    """Return segments, clusters and weights of queries: words, known item, director, and votes.

    The director is that of the most voted relevant movie. A movie without a director is a cluster of its own.
    """
    queries = movies.queries.loc[list(query_ids)]
    table = movies.movies.iloc[queries["movie"].to_numpy(dtype=np.int64)]
    words = np.select([queries["words"] <= 2, queries["words"] == 3], ["1–2 words", "3 words"], "4 or more words")
    directors = np.where(table["director"] == "", "movie " + table["id"], table["director"])
    return pd.DataFrame(
        {
            "length": words,
            "item": np.where(queries["relevant"] == 1, "known item", "several movies"),
            "cluster": directors,
            "weight": table["votes"].to_numpy(dtype=float) + 1,
        },
        index=queries.index,
    )
