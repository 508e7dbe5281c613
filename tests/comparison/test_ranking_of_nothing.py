"""A query without documents has a ranking without rows."""

import gainsay as gs


def test_a_query_without_documents():
    judgments = gs.Judgments([1, 0, 2], group=[2, 0, 1])
    comparison = gs.compare({"A": [2, 1, 3], "B": [1, 2, 3]}, judgments, ["ndcg_linear@2", "ndcg_exp@2"], draws=200)
    empty, full = (comparison.ranking(query, "A") for query in (1, 0))
    assert len(empty) == 0
    assert list(empty.columns) == list(full.columns)
