"""Scores that are off by one row raise an error. Scores of poor models, and rows in any order, do not."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainwise, output_of

import gainwise as gw
from gainwise.comparison.scored_models import MAX_QUERIES

METRICS = ["ndcg_linear@10", "ndcg_exp@10"]
ORDERS = ["random", "labels up", "labels down", "scores up", "scores down", "shuffled"]


def sample(seed, queries=150, offset=0.0):
    """Return labels, ids and scores of a useful model, with a level of scores by query."""
    generator = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), generator.integers(4, 20, queries))
    relevance = generator.normal(size=len(query))
    levels = offset * generator.normal(size=queries)
    scores = relevance + generator.normal(scale=0.7, size=len(query)) + levels[query]
    return pd.DataFrame({"label": np.digitize(relevance, [0.3, 0.9, 1.5, 2.1]), "query": query, "score": scores})


def arrange(frame, order, seed=0):
    noise = np.random.default_rng(seed).random(len(frame))
    keys = {"random": noise, "shuffled": noise}
    keys |= {"labels up": frame["label"], "labels down": -frame["label"]}
    keys |= {"scores up": frame["score"], "scores down": -frame["score"]}
    by_query = () if order == "shuffled" else (frame["query"],)
    return frame.iloc[np.lexsort((keys[order], *by_query))].reset_index(drop=True)


def compare(frame, scores, **options):
    judgments = gw.Judgments(frame["label"].to_numpy(), qid=frame["query"].to_numpy())
    return gw.compare({"own": frame["score"].to_numpy(), "old": np.asarray(scores)}, judgments, METRICS, **options)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_a_shift_of_a_useful_model_is_found_in_every_order_of_the_rows(order, offset):
    for seed, queries in ((1, 150), (8, 600), (2, MAX_QUERIES + 500)):
        frame = arrange(sample(seed, queries, offset), order)
        for shift, direction in ((1, "up"), (-1, "down")):
            with pytest.raises(ValueError, match=rf"'old'.*one row further {direction}.*allow_misaligned=True"):
                compare(frame, np.roll(frame["score"], shift))
    assert compare(frame, np.roll(frame["score"], 1), allow_misaligned=True).models == ("own", "old")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_aligned_scores_of_any_quality_raise_no_error(order, offset):
    for seed, queries in ((3, 30), (9, 300), (4, 500), (5, MAX_QUERIES + 500)):
        frame = arrange(sample(seed, queries, offset), order)
        generator, score = np.random.default_rng(seed), frame["score"].to_numpy()
        levels = offset * generator.normal(size=queries)[frame["query"]]
        columns = [-score, np.zeros(len(score)), generator.normal(size=len(score)) + levels, np.arange(len(score))]
        columns += [-np.arange(len(score)), score + 5 * generator.normal(size=len(score)), generator.permutation(score)]
        for column in columns:
            compare(frame, column)


@pytest.mark.parametrize("order", ["scores up", "scores down"])
@pytest.mark.parametrize("threshold", [1.5, 2.5])
def test_classes_in_rows_sorted_by_their_scores_raise_no_error(order, threshold):
    for seed in (8, 9):
        frame = arrange(sample(seed, 400), order)
        compare(frame, frame["score"] > threshold)


@pytest.mark.parametrize("direction", [1, -1])
def test_rows_sorted_by_relevance_raise_no_error(direction):
    generator = np.random.default_rng(11)
    query = np.repeat(np.arange(1500), generator.integers(20, 60, 1500))
    relevance = generator.normal(size=len(query))
    relevance = relevance[np.lexsort((direction * relevance, query))]
    scores = relevance + generator.normal(size=(2, len(query)))
    frame = pd.DataFrame({"label": np.digitize(relevance, [0.3, 0.9, 1.5, 2.1]), "query": query, "score": scores[0]})
    compare(frame, scores[1])


@pytest.mark.parametrize("order", ["random", "labels down"])
@pytest.mark.parametrize("queries", [400, MAX_QUERIES + 500])
def test_a_row_that_is_repeated_or_missing_in_the_middle_is_found(order, queries):
    frame = arrange(sample(10, queries), order)
    scores, half = frame["score"].to_numpy(), len(frame) // 2
    with pytest.raises(ValueError, match=r"'old'.*one row further up"):
        compare(frame, np.insert(scores, half, 0.0)[:-1])
    with pytest.raises(ValueError, match=r"'old'.*one row further down"):
        compare(frame, np.append(np.delete(scores, half), 0.0))


def evaluate_shift(frame, scores):
    """Return the NDCG of the scores one row further up, and of the scores, in rows whose successor has their query."""
    inner = frame["query"].to_numpy() == np.roll(frame["query"], -1)
    judgments = gw.Judgments(frame["label"][inner].to_numpy(), qid=frame["query"][inner].to_numpy())
    metric = "ndcg_linear(empty=skip)"
    return [gw.evaluate(metric, judgments, values[inner]).mean[metric] for values in (np.roll(scores, -1), scores)]


def test_the_message_names_the_first_query_and_the_means_from_there():
    frame = arrange(sample(10, 400), "random")
    old, half = frame["score"].to_numpy(), len(frame) // 2
    old = np.insert(old, half, 0.0)[:-1]
    with pytest.raises(ValueError, match="one row further up") as caught:
        compare(frame, old)
    first = int(str(caught.value).partition("from query ")[2].partition(" ")[0])
    assert abs(first - frame["query"][half]) < 10
    part = (frame["query"] >= first).to_numpy()
    moved, own = evaluate_shift(frame[part], old[part])
    assert f"their NDCG from query {first} on is {moved:.4f} instead of {own:.4f}" in str(caught.value)


def test_few_queries_raise_no_error():
    frame = sample(6, 29)
    compare(frame, np.roll(frame["score"], 1))


@pytest.mark.slow
def test_the_means_in_the_message_are_those_of_the_shifted_scores(tmp_path):
    frame = arrange(sample(7), "random")
    frame["old"] = np.roll(frame["score"], 1)
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(ValueError, match="one row further up") as caught:
        gw.compare_table(path, ["score", "old"], METRICS)
    moved, own = evaluate_shift(frame, frame["old"].to_numpy())
    assert f"their NDCG is {moved:.4f} instead of {own:.4f}" in str(caught.value)
    for command in ("compare", "gate"):
        models = "--scores score,old" if command == "compare" else "--baseline old --candidate score"
        assert "--allow-misaligned" in gainwise(f"{command} --table {path} {models}").stderr
        allowed = f"{command} --table {path} {models} --allow-misaligned --json" + " -" * (command == "gate")
        assert json.loads(output_of(allowed))
