"""Typical code of users passes mypy and runs. `make lint` checks this file like the package."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from scipy import sparse

import gainwise as gw
from gainwise.data import from_frame, simulate
from gainwise.lightgbm import early_stopping as stopping_in_lightgbm
from gainwise.xgboost import EvaluateRanking
from gainwise.xgboost import early_stopping as stopping_in_xgboost

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

LABELS = [1, 0, 2, 0]
SCORES = np.array([0.5, 0.1, 0.7, 0.2], dtype=np.float32)
SIZES = np.array([2, 2], dtype=np.int32)
FRAME = pd.DataFrame(
    {"query": ["a", "a", "b", "b"], "label": LABELS, "score": [0.5, 0.1, 0.7, 0.2], "weight": [1.0, 1.0, 2.0, 2.0]}
)


def test_judgments_and_scores() -> None:
    table = pl.from_pandas(FRAME)
    judgments = [
        gw.Judgments(LABELS, group=[2, 2]),
        gw.Judgments(np.array(LABELS), group=SIZES),
        gw.Judgments(FRAME["label"], qid=FRAME["query"], weight=FRAME["weight"]),
        gw.Judgments(table["label"], qid=table["query"]),
        gw.Judgments([Decimal(label) for label in LABELS], qid=["a", "a", 7, 7], weight={"a": 0.5, 7: 0.5}),
        gw.Judgments([1, 0, 2, float("nan")], group=[2, 2], judged=[True, True, True, False]),
        *(gw.Judgments.from_frame(frame, weight="weight") for frame in (FRAME, table)),
    ]
    for one in judgments:
        evaluator = gw.Evaluator([gw.NDCG(gain="exponential", k=10), "mrr"], one)
        for scores in (SCORES, FRAME["score"].tolist(), pl.Series([0.5, 0.1, 0.7, 0.2])):
            per_query: NDArray[np.float64] = evaluator(scores).per_query
            assert per_query.shape == (2, 2)
    assert len(gw.explain(FRAME["label"], FRAME["score"], qid=FRAME["query"])) > 1


def test_ranking_data() -> None:
    dense = np.eye(4, 3)
    data = [
        gw.RankingData(dense, LABELS, group=SIZES),
        gw.RankingData(dense.tolist(), LABELS, qid=FRAME["query"], weight={"a": 1, "b": 2}),
        gw.RankingData(sparse.csr_array(dense), np.array(LABELS), qid=["a", "a", "b", "b"]),
        gw.RankingData(pl.from_pandas(FRAME[["score"]]), LABELS, group=[2, 2], document_ids=range(4)),
        from_frame(pl.from_pandas(FRAME), label="label", query="query", features=["score"]),
    ]
    assert {one.judgments().queries for one in data} == {2}


def test_comparisons() -> None:
    judgments = gw.Judgments(LABELS, qid=FRAME["query"])
    runs = [SCORES, SCORES[::-1], FRAME["score"].to_numpy()]
    kinds = FRAME.groupby("query")["query"].first()
    comparisons = [
        gw.compare({"a": SCORES, "b": runs}, judgments, segments={"a": "head", "b": "tail"}, clusters=["x", "y"]),
        gw.compare(FRAME[["score", "weight"]], judgments, ["mrr", "map"], segments=kinds, clusters={"a": 1, "b": 2}),
        gw.compare({"a": SCORES.tolist(), "b": pl.Series(LABELS)}, judgments, segments={"kind": [1, 2]}),
        gw.compare_runs({"a": {"q": {"d": 1.0}}, "b": {"q": {"e": 2}}}, {"q": {"d": 1, "e": 0}}),
    ]
    assert [len(one.models) for one in comparisons] == [2, 2, 2, 2]
    values = np.array([[0.1, 0.2], [0.3, 0.1]])
    assert gw.Comparison({"x": values, "y": values.tolist()}, ["a", "b"], clusters=FRAME["query"][::2]).counts.any == 2


def test_training() -> None:
    matrix = xgb.DMatrix(np.eye(4), label=LABELS, group=SIZES)
    rows = {"arrays": (np.eye(4), LABELS, [1, 1, 2, 2]), "frame": (FRAME[["score"]], FRAME["label"], FRAME["query"])}
    assert EvaluateRanking({**rows, "valid": matrix}, ["mrr", "map"], every=2).every == 2
    assert stopping_in_lightgbm("mrr", 5, dataset="valid").dataset == "valid"
    assert stopping_in_xgboost(gw.NDCG(gain="linear"), rounds=5, dataset="valid", save_best=True).dataset == "valid"


def test_models_and_results(tmp_path: Path) -> None:
    train, valid, test = simulate(60, seed=1, mean_length=15).split_queries(0.5, 0.25, 0.25, seed=1)
    parameters: dict[str, Any] = {"num_leaves": [4, 8]}
    candidates = [*gw.grid("lgb", "lightgbm", parameters, training_gain=["linear", "exponential"])]
    candidates += gw.grid("xgb", "xgboost", {"max_depth": [2, 3]})
    result = gw.Experiment(candidates, train, valid, test, num_boost_round=5, directory=tmp_path).run(progress=False)
    model = result.load_model()
    if isinstance(model, lgb.Booster):
        assert len(model.feature_importance("gain").tolist()) == 30
    else:
        assert isinstance(model, xgb.Booster)
        assert model.get_score(importance_type="gain")
    model.save_model(tmp_path / f"model_{model.best_iteration}")
    decision = result.comparison.against(result.candidates[0], require="no_loss", margin=0.01)
    assert all(isinstance(one.decision, str) for one in decision.candidates)
    metrics: list[str | gw.Metric] = [gw.NDCG(gain="linear", k=10), "mrr"]
    evaluation = gw.evaluate(metrics, test.judgments(), result.predict(test))
    worst: pd.Series[float] = evaluation.frame()["mrr"].nsmallest(3)
    table: pd.DataFrame = result.leaderboard
    assert (len(worst), len(table)) == (3, len(candidates))


def test_what_mypy_refuses() -> None:
    """If one of these calls were valid, mypy would report an unused comment."""
    judgments = gw.Judgments(LABELS, group=SIZES)
    with pytest.raises(TypeError):
        gw.evaluate("mrr", SCORES, judgments)  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError)):
        gw.Judgments(LABELS, group=object())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        stopping_in_xgboost("mrr", stopping_rounds=5)  # type: ignore[call-arg]


def reject_members_of_one_library(result: gw.ExperimentResult) -> None:
    """If a loaded model were `Any`, mypy would report an unused comment."""
    result.load_model().num_trees()  # type: ignore[attr-defined]
    result.refit(gw.RankingData(np.eye(2), [0, 1], group=[2])).num_trees()  # type: ignore[attr-defined]
