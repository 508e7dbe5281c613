"""Ids of documents from every source are in rankings, and the order of documents within queries changes nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

import gainwise as gw
from gainwise.data import RankingData, simulate

DATA = simulate(40, seed=1, mean_length=12, features=2)
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "query": DATA.query_ids[DATA.qid],
        "label": DATA.labels,
        "document": [f"d{row}" for row in range(len(DATA.labels))],
        "a": RNG.random(len(DATA.labels)),
        "b": DATA.labels + RNG.normal(size=len(DATA.labels)),
    }
)


def test_rankings_show_the_ids_of_tables_and_datasets():
    data = RankingData(DATA.features, DATA.labels, qid=FRAME["query"], document_ids=FRAME["document"])
    sources = [
        gw.compare_table(FRAME, ["a", "b"], document="document"),
        gw.compare(FRAME[["a", "b"]], data.judgments()),
    ]
    for place, query in enumerate(DATA.query_ids):
        rows = FRAME[DATA.qid == place]
        expected = rows.sort_values("b", ascending=False, kind="stable")["document"].tolist()
        for comparison in sources:
            name = comparison.frame().index.get_level_values("query").unique()[place]
            assert str(name) == str(query)
            assert comparison.ranking(name, "b")["document"].tolist() == expected


def test_the_order_of_documents_within_queries_changes_nothing():
    mixed = FRAME.sample(frac=1, random_state=3).set_index("query").loc[DATA.query_ids].reset_index()
    assert mixed["document"].tolist() != FRAME["document"].tolist()
    documents = [
        json.loads(gw.compare_table(frame, ["a", "b"], document="document").to_json(queries=40))
        for frame in (FRAME, mixed)
    ]
    assert documents[0] == documents[1]
