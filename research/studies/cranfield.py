"""Read the Cranfield collection with degrees of relevance, and compute features of queries and abstracts.

Codes of relevance 1 to 4 become grades 4 to 1. The candidates of a query are the abstracts with the best scores of
BM25. Abstracts without a judgment have grade 0. Relevant abstracts that are not among the candidates are counted, but
left out, because a model would recognize them by their low scores.
"""

from __future__ import annotations

import gzip
import re
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from movies import split_words
from numpy.typing import NDArray

import gainwise as gw

Floats = NDArray[np.float64]
ABSTRACTS, QUERIES, JUDGMENTS = FILES = ("cran.all.1400.gz", "cran.qry", "cranqrel")
SIZES = {"abstracts": 1_400, "queries": 225, "judgments": 1_837}
"""Sizes of the complete files."""

GRADES = {1: 4, 2: 3, 3: 2, 4: 1}
"""Grades of the codes of relevance."""

DEPTH = 100
"""Candidates per query by BM25."""

FIELDS = {"title": "T", "authors": "A", "text": "W"}
FEATURES = (
    *(f"bm25_{field}" for field in (*FIELDS, "all")),
    "share_of_query_in_title",
    "share_of_query_in_text",
    "share_of_title_in_query",
    "pairs_of_words_in_text",
    "title_length",
    "text_length",
    "query_length",
    "year",
)


class Cranfield(NamedTuple):
    """Ranking data, and counts of everything that was left out."""

    data: gw.RankingData
    counts: dict[str, int]


def read_cranfield(folder: Path) -> Cranfield:
    """Read all files. Query numbers of the judgments are positions in the file of queries, not its ids."""
    for name in FILES:
        if not (folder / name).is_file():
            raise SystemExit(f"--data: {folder / name} does not exist. Pass the folder with {', '.join(FILES)}.")
    try:
        with gzip.open(folder / ABSTRACTS, "rt", encoding="latin-1") as file:
            abstracts = read_records(file.read())
    except (OSError, EOFError) as error:
        raise SystemExit(f"--data: {folder / ABSTRACTS} cannot be read ({error}). Copy the file again.") from error
    queries = read_records((folder / QUERIES).read_text(encoding="latin-1"))
    judgments = pd.read_csv(folder / JUDGMENTS, sep=r"\s+", names=["query", "abstract", "code"])
    sizes = {"abstracts": len(abstracts), "queries": len(queries), "judgments": len(judgments)}
    for name, expected in SIZES.items():
        if sizes[name] != expected:
            raise SystemExit(f"--data: expected {expected:,} {name}, got {sizes[name]:,}. Copy the files again.")
    known = judgments["query"].between(1, len(queries)) & judgments["abstract"].between(1, len(abstracts))
    graded = judgments["code"].isin(GRADES)
    used = judgments[known & graded].drop_duplicates(["query", "abstract"])
    counts = {
        **sizes,
        "judgments_of_unknown_documents": int((~known).sum()),
        "judgments_with_another_code": int((known & ~graded).sum()),
        "repeated_judgments": int((known & graded).sum()) - len(used),
        "queries_without_relevant": len(queries) - used["query"].nunique(),
    }
    data = build_data(abstracts, queries, used)
    counts["relevant_not_retrieved"] = len(used) - int((data.labels > 0).sum())
    counts["queries_without_retrieved_relevant"] = len(queries) - len(np.unique(data.qid[data.labels > 0]))
    return Cranfield(data, counts)


def read_records(text: str) -> list[dict[str, str]]:
    r"""Return the fields of each record by letter.

    >>> read_records(".I 1\n.T\nheat\nflow\n.W\nslabs\n")
    [{'T': 'heat flow', 'W': 'slabs'}]
    """
    records = []
    for record in re.split(r"^\.I \d+\s*$", text, flags=re.MULTILINE)[1:]:
        parts = re.split(r"^\.([TABW])\s*$", record, flags=re.MULTILINE)
        records.append({key: " ".join(body.split()) for key, body in zip(parts[1::2], parts[2::2], strict=True)})
    return records


def build_data(
    abstracts: list[dict[str, str]], queries: list[dict[str, str]], judgments: pd.DataFrame
) -> gw.RankingData:
    """Return the candidates of each query with their features and grades."""
    words = {field: [split_words(record.get(key, "")) for record in abstracts] for field, key in FIELDS.items()}
    words["all"] = [list(chain(*fields)) for fields in zip(*words.values(), strict=True)]
    asked = [split_words(record["W"]) for record in queries]
    scores = {field: score_all(texts, asked) for field, texts in words.items()}
    years = [int(found[1]) if (found := re.search(r"\b(19\d\d)\b", record.get("B", ""))) else 0 for record in abstracts]
    sets = {field: [set(text) for text in texts] for field, texts in words.items()}
    neighbors = [set(pairwise(text)) for text in words["text"]]
    rows, labels, qid, documents = [], [], [], []
    for query, query_words in enumerate(asked):
        grades = judgments[judgments["query"] == query + 1].set_index("abstract")["code"].map(GRADES)
        best = np.argsort(-scores["all"][query], kind="stable")[:DEPTH]
        distinct = set(query_words)
        pairs = set(pairwise(query_words))
        for abstract in np.sort(best).tolist():
            title, text = sets["title"][abstract], sets["text"][abstract]
            rows.append(
                [
                    *(scores[field][query, abstract] for field in (*FIELDS, "all")),
                    len(distinct & title) / max(len(distinct), 1),
                    len(distinct & text) / max(len(distinct), 1),
                    len(distinct & title) / max(len(title), 1),
                    len(pairs & neighbors[abstract]),
                    len(words["title"][abstract]),
                    len(words["text"][abstract]),
                    len(query_words),
                    years[abstract],
                ]
            )
            labels.append(float(grades.get(abstract + 1, 0)))
            qid.append(query + 1)
            documents.append(str(abstract + 1))
    features = np.array(rows, dtype=np.float32)
    return gw.RankingData(features, labels, qid=qid, document_ids=documents, feature_names=FEATURES)


def score_all(texts: list[list[str]], queries: list[list[str]]) -> Floats:
    """Return the score of BM25 of each query and text."""
    import bm25s

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(texts, show_progress=False)
    known = [[word for word in query if word in index.vocab_dict] for query in queries]
    return np.stack([index.get_scores(query) if query else np.zeros(len(texts)) for query in known]).astype(float)
