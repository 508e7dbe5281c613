"""Unjudged documents in a comparison: shares, flag, condensed lists, and reports."""

import json

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise._common.text import as_text
from gainwise.comparison.flags import UnjudgedDocuments, find_uneven_judging
from gainwise.report.exports import build_gate_markdown

pytestmark = pytest.mark.slow

METRICS = ["ndcg_linear@10", "ndcg_exp@10", "mrr"]
QUERIES = 60


@pytest.fixture(scope="module")
def data():
    """An old run with judged documents, and a new one that also has an unjudged document after each of them."""
    rng = np.random.default_rng(5)
    qrels, old, new = {}, {}, {}
    for at in range(QUERIES):
        query, ids = f"q{at}", [f"d{document:02}" for document in range(20)]
        labels = rng.integers(0, 4, 20)
        qrels[query] = dict(zip(ids, labels.tolist(), strict=True))
        old[query] = dict(zip(ids, (labels + rng.normal(0, 2, 20)).tolist(), strict=True))
        better = labels + rng.normal(0, 1, 20)
        new[query] = dict(zip(ids, better.tolist(), strict=True))
        new[query] |= {f"new{document:02}": score + 1e-9 for document, score in enumerate(better)}
    return {"old": old, "new": new}, qrels


@pytest.fixture(scope="module")
def kept(data):
    return gw.compare_runs(*data, METRICS)


@pytest.fixture(scope="module")
def dropped(data):
    return gw.compare_runs(*data, METRICS, unjudged="drop")


class TestShares:
    def test_are_those_of_evaluate_run(self, data, kept, dropped):
        runs, qrels = data
        shares = {name: gw.evaluate_run("judged@10", run, qrels).mean["judged@10"] for name, run in runs.items()}
        assert shares == kept.leaderboard["judged@10"].to_dict() == {"old": 1, "new": 0.5}
        for found in (kept, dropped):
            assert found.unjudged.shares == {"judged@10": shares}
            assert found.unjudged.retrieved == {"old": 20 * QUERIES, "new": 40 * QUERIES}
            assert found.unjudged.unjudged == {"old": 0, "new": 20 * QUERIES}

    def test_queries_without_results_do_not_count(self):
        runs = {"A": {"a": {"d1": 2.0, "x": 1.0}}, "B": {"a": {"d1": 1.0}, "b": {"d1": 1.0, "x": 0.5, "y": 0.1}}}
        qrels = {"a": {"d1": 1, "d2": 0}, "b": {"d1": 1, "d3": 0}}
        expected = {"A": 1 / 2, "B": (1 + 1 / 3) / 2}
        found = gw.compare_runs(runs, qrels, ["ndcg_linear@9", "map@9"])
        assert found.leaderboard["judged@9"].to_dict() == found.unjudged.shares["judged@9"] == expected
        for missing in ("skip", "zero"):
            assert gw.evaluate_run("judged@9", runs["A"], qrels, missing=missing).mean["judged@9"] == 1 / 2

    def test_cutoffs_and_ties_of_both_primary_metrics(self, data):
        metrics = ["mrr", "ndcg_linear@3", "ndcg_exp(ties=worst)@5", "ndcg_exp@5"]
        found = gw.compare_runs(*data, metrics, primary=metrics[1:3])
        assert list(found.unjudged.shares) == ["judged@3", "judged(ties=worst)@5"]
        assert list(gw.compare_runs(*data, "mrr").unjudged.shares) == ["judged"]

    @pytest.mark.parametrize("unjudged", ["irrelevant", "drop"])
    def test_a_compared_metric_is_of_the_runs_as_they_were_and_in_the_leaderboard_once(self, data, unjudged):
        found = gw.compare_runs(*data, ["ndcg_linear@10", "judged@10"], unjudged=unjudged)
        assert found.verdict.metrics == ("ndcg_linear@10", "judged@10")
        assert found.unjudged.additional_shares(found.metrics) == {}
        assert list(found.leaderboard).count("judged@10") == 1
        assert found.leaderboard["judged@10"].to_dict() == {"old": 1, "new": 0.5}
        assert found.winners["judged@10"] == "old"

    def test_of_judgments_with_and_without_a_mask(self):
        scores = {"a": [3, 2, 1], "b": [1, 2, 3]}
        assert gw.compare(scores, gw.Judgments([1, 0, 0], group=[3])).unjudged is None
        judgments = gw.Judgments([1, 0, 0], group=[3], judged=[True, True, False])
        found = gw.compare(scores, judgments, ["ndcg_linear@1", "mrr"])
        assert found.unjudged.shares == {"judged@1": {"a": 1, "b": 0}, "judged": {"a": 2 / 3, "b": 2 / 3}}


def test_condensed_lists_are_those_of_runs_without_unjudged_documents(data, dropped):
    runs, qrels = data
    without = {
        name: {query: {d: s for d, s in found.items() if d in qrels[query]} for query, found in run.items()}
        for name, run in runs.items()
    }
    expected = gw.compare_runs(without, qrels, METRICS)
    for metric in METRICS:
        np.testing.assert_array_equal(dropped.values[metric], expected.values[metric])
    assert expected.unjudged.shares["judged@10"] == {"old": 1, "new": 1}
    pd.testing.assert_frame_equal(dropped.queries("old", "new"), expected.queries("old", "new"))
    assert dropped.attribution("old", "new").difference == expected.attribution("old", "new").difference


class TestFlag:
    def flags(self, *shares, among=None, handling="irrelevant"):
        names = "abcdefgh"[: len(shares)]
        counts = dict.fromkeys(names, 100), dict.fromkeys(names, 9)
        unjudged = UnjudgedDocuments({"judged@10": dict(zip(names, shares, strict=True))}, *counts, handling)
        return tuple(find_uneven_judging(unjudged, among or names))

    @pytest.mark.parametrize(
        ("shares", "among", "pairs"),
        [
            ((0.9, 0.85), "ab", []),
            ((0.9, 0.8499), "ab", ["ab"]),
            ((0.9, 0.5, 0.91), "abc", ["ab", "bc"]),
            ((0.9, 0.86, 0.94, 0.9), "a", []),
            ((0.9, 0.86, 0.94, 0.9), "ad", []),
            ((0.9, 0.86, 0.94, 0.9), "b", ["bc"]),
        ],
    )
    def test_pairs_with_a_model_in_question_that_differ_by_more_than_5_percent(self, shares, among, pairs):
        flags = self.flags(*shares, among=among)
        assert [flag.pairs for flag in flags] == [tuple(map(tuple, pairs))] * bool(pairs)
        for flag in flags:
            assert flag.models == tuple(sorted(set("".join(pairs))))
            assert all(f"{shares['abcd'.index(name)]:.4f}" in flag.message for name in flag.models)

    def test_in_the_verdict(self, kept, dropped):
        assert kept.verdict.in_question == ("old",)
        for found in (kept, dropped):
            flag = found.verdict.flags[-1]
            assert (flag.code, set(flag.pairs[0])) == ("uneven judging", {"old", "new"})
            assert flag.message in found.verdict.text


class TestOtherHandling:
    def test_means_are_those_of_the_other_comparison(self, kept, dropped):
        for found, other in ((kept, dropped), (dropped, kept)):
            means = {metric: other.leaderboard[metric].to_dict() for metric in METRICS[:2]}
            assert set(found.unjudged.other_means) == set(means)
            for metric, by_model in means.items():
                assert found.unjudged.other_means[metric] == pytest.approx(by_model, rel=1e-12)

    def test_means_of_weighted_queries_and_repeats(self):
        rng = np.random.default_rng(1)
        judged, labels = rng.random(300) < 0.7, rng.integers(0, 4, 300)
        judgments = gw.Judgments(labels * judged, group=[10] * 30, judged=judged, weight=np.arange(30))
        repeats = {name: list(rng.random((3, 300))) for name in ("old", "new")}
        found, other = (gw.compare(repeats, judgments, METRICS, unjudged=how) for how in ("irrelevant", "drop"))
        assert found.unjudged.other_means["ndcg_exp@10"] == pytest.approx(other.leaderboard["ndcg_exp@10"].to_dict())

    @pytest.mark.parametrize("metrics", [METRICS[:2], METRICS[:1]])
    @pytest.mark.parametrize("how", ["irrelevant", "drop"])
    def test_no_run_is_recommended_if_it_changes_the_winner(self, data, metrics, how):
        found = gw.compare_runs(*data, metrics, unjudged=how)
        assert found.winners[METRICS[0]] == ("old" if how == "irrelevant" else "new")
        chart = found.content.chart
        best = "new" if how == "irrelevant" else "old"
        assert "No choice yet: Unjudged documents decide" in as_text(chart.headline)
        assert f"{best} has the highest mean {METRICS[0]}" in as_text(chart.headline)
        if len(metrics) == 2:
            assert f"{best.upper()} has" in as_text(found.verdict.describe_obstacle({"old": "OLD", "new": "NEW"}))
        assert not any(row.starred for row in chart.rows)
        assert ("left out" in chart.headline) == (how == "irrelevant")
        assert "The other one is" not in chart.advice  # the headline names another model than the best of this sample

    def test_a_run_is_recommended_if_its_documents_do_not_matter(self, data):
        runs, qrels = data
        poor = {query: {name: -score for name, score in run.items()} for query, run in runs["new"].items()}
        found = gw.compare_runs({"old": runs["old"], "poor": poor}, qrels, METRICS)
        assert found.unjudged.unjudged["poor"] > 0
        assert as_text(found.content.chart.headline).startswith("Run old is better than poor")

    def test_no_means_without_unjudged_documents(self, data):
        runs, qrels = data
        assert gw.compare_runs({"old": runs["old"]}, qrels, METRICS).unjudged.other_means == {}


def test_decisions_have_a_flag_of_more_unjudged_documents(data):
    found = gw.compare_runs(*data, METRICS, baseline="old")
    result = found.against("old")
    (flag,) = result.flags
    assert (flag.code, flag.models) == ("more unjudged", ("new", "old"))
    for text in (result.sentence("new"), result.text, found.to_markdown(), build_gate_markdown(result, "new")):
        assert flag.message in text
    assert json.loads(found.to_json())["against"]["flags"][0]["message"] == flag.message
    assert found.against("new").flags == ()


def test_queries_that_do_not_meet_are_in_the_notes():
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    runs = {"one": {"q1": {"a": 2.0, "b": 1.0}}, "two": {"q1": {"b": 1.0}, "q2": {"a": 1.0}, "q9": {"a": 1.0}}}
    found = gw.compare_runs(runs, qrels, METRICS)
    assert found.counts.any == 2
    assert [(note[:3], "'q2'" in note, "'q9'" in note) for note in found.notes] == [
        ("one", True, False),
        ("two", False, True),
    ]
    for note in found.notes:
        assert note in found.to_markdown()
        assert note in json.loads(found.to_json())["notes"]
        assert note.replace("'", "&#x27;") in found._repr_html_()
