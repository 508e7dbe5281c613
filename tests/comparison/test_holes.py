"""Unjudged documents in a comparison: shares, flag, condensed lists, and where all of it is said."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import gainsay as gs
from gainsay.comparison.holes import Holes, uneven_judging

METRICS = ["ndcg_linear@10", "ndcg_exp@10", "mrr"]
QUERIES = 60


@pytest.fixture(scope="module")
def data():
    """An old run, all of it judged; one with the same documents and a new, unjudged one between each two of them."""
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
    return gs.compare_runs(*data, METRICS)


@pytest.fixture(scope="module")
def dropped(data):
    return gs.compare_runs(*data, METRICS, unjudged="drop")


class TestShares:
    def test_are_those_of_evaluate_run(self, data, kept, dropped):
        runs, qrels = data
        for found in (kept, dropped):
            assert found.holes.shares == {
                "judged@10": {
                    name: gs.evaluate_run("judged@10", run, qrels).mean["judged@10"] for name, run in runs.items()
                }
            }
            assert found.holes.shares["judged@10"] == {"old": 1, "new": 0.5}
            assert (found.holes.retrieved, found.holes.unjudged) == (
                {"old": 20 * QUERIES, "new": 40 * QUERIES},
                {"old": 0, "new": 20 * QUERIES},
            )

    def test_cutoffs_and_ties_of_both_primary_metrics(self, data):
        metrics = ["mrr", "ndcg_linear@3", "ndcg_exp(ties=worst)@5", "ndcg_exp@5"]
        found = gs.compare_runs(*data, metrics, primary=metrics[1:3])
        assert list(found.holes.shares) == ["judged@3", "judged(ties=worst)@5"]
        assert list(gs.compare_runs(*data, "mrr").holes.shares) == ["judged"]

    def test_a_compared_metric_stands_there_once(self, data):
        found = gs.compare_runs(*data, ["ndcg_linear@10", "ndcg_exp@10", "judged@10"])
        assert found.shown_shares == {}
        assert list(found.leaderboard).count("judged@10") == 1
        assert found.leaderboard["judged@10"].to_dict() == found.holes.shares["judged@10"]
        assert found.winners["judged@10"] == "old"

    def test_a_compared_metric_is_of_the_runs_as_they_were(self, data):
        found = gs.compare_runs(*data, ["ndcg_linear@10", "judged@10"], unjudged="drop")
        assert found.leaderboard["judged@10"].to_dict() == {"old": 1, "new": 0.5}
        assert found.verdict.metrics == ("ndcg_linear@10", "judged@10")

    def test_judgments_from_labels_have_none(self):
        judgments = gs.Judgments([1, 0], group=[2])
        assert gs.compare({"a": [1, 2], "b": [2, 1]}, judgments).holes is None
        with pytest.raises(ValueError, match="unjudged='drop' needs to know"):
            gs.compare({"a": [1, 2], "b": [2, 1]}, judgments, unjudged="drop")

    def test_judgments_that_know(self):
        judgments = gs.Judgments([1, 0, 0], group=[3], judged=[True, True, False])
        found = gs.compare({"a": [3, 2, 1], "b": [1, 2, 3]}, judgments, ["ndcg_linear@1", "mrr"])
        assert found.holes.shares == {"judged@1": {"a": 1, "b": 0}, "judged": {"a": 2 / 3, "b": 2 / 3}}


class TestCondensedLists:
    def test_are_those_of_runs_without_unjudged_documents(self, data, dropped):
        runs, qrels = data
        without = {
            name: {query: {d: s for d, s in found.items() if d in qrels[query]} for query, found in run.items()}
            for name, run in runs.items()
        }
        expected = gs.compare_runs(without, qrels, METRICS)
        for metric in METRICS:
            np.testing.assert_array_equal(dropped.values[metric], expected.values[metric])
        assert expected.holes.shares["judged@10"] == {"old": 1, "new": 1}
        pd.testing.assert_frame_equal(dropped.queries("old", "new"), expected.queries("old", "new"))
        assert dropped.attribution("old", "new").difference == expected.attribution("old", "new").difference

    def test_may_turn_the_verdict_round(self, kept, dropped):
        """The new system ranks the judged documents better, and loses by what nobody judged."""
        assert kept.verdict.winners == dict.fromkeys(METRICS[:2], "old")
        assert dropped.verdict.winners == dict.fromkeys(METRICS[:2], "new")
        assert kept.verdict.kind == dropped.verdict.kind == "agree"


class TestFlag:
    def holes(self, *shares, handling="irrelevant"):
        names = "abcdefgh"[: len(shares)]
        by_model = dict(zip(names, shares, strict=True))
        return Holes({"judged@10": by_model}, dict.fromkeys(names, 100), dict.fromkeys(names, 9), handling), names

    @pytest.mark.parametrize(("shares", "flagged"), [((0.9, 0.85), False), ((0.9, 0.8499), True), ((0.1, 0.1), False)])
    def test_from_a_difference_above_5_percent(self, shares, flagged):
        assert bool(uneven_judging(*self.holes(*shares))) == flagged

    def test_stands_in_the_verdict(self, kept, dropped):
        for found in (kept, dropped):
            flag = found.verdict.flags[-1]
            assert (flag.code, set(flag.models)) == ("uneven judging", {"old", "new"})
            assert flag.message in found.verdict.text

    def test_also_of_a_model_that_its_holes_took_out_of_the_question(self, kept):
        assert kept.verdict.in_question == ("old",)
        assert kept.verdict.flags[-1].pairs == (("old", "new"),)

    def test_not_between_models_that_are_both_out_of_the_question(self):
        holes, _ = self.holes(0.9, 0.86, 0.94, 0.9)
        assert uneven_judging(holes, ["a"]) == uneven_judging(holes, ["a", "d"]) == ()
        assert uneven_judging(holes, ["b"])[0].pairs == (("b", "c"),)


class TestWhatIsSaid:
    def test_in_json(self, kept, dropped):
        for found, handling in ((kept, "irrelevant"), (dropped, "drop")):
            content = json.loads(found.to_json())
            assert content["holes"] == found.holes.to_dict() == content["verdict"]["holes"]
            assert content["holes"]["handling"] == handling
            assert found.to_dict()["holes"]["handling"] == handling
            assert content["leaderboard"]["new"]["judged@10"] == 0.5

    def test_queries_that_do_not_meet(self):
        qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
        runs = {"one": {"q1": {"a": 2.0, "b": 1.0}}, "two": {"q1": {"b": 1.0}, "q2": {"a": 1.0}, "q9": {"a": 1.0}}}
        found = gs.compare_runs(runs, qrels, METRICS)
        assert found.notes == (
            "one: judged queries without results: 1 ('q2'), counted, with nothing retrieved",
            "two: queries of the run without judgments: 1 ('q9'), left out",
        )
        assert found.query_count == 2
        for note in found.notes:
            assert note in found.to_markdown()
            assert note in json.loads(found.to_json())["notes"]
            assert note.replace("'", "&#x27;") in found._repr_html_()
