"""The scores behind the values on test: why two candidates differ, and on which queries."""

from __future__ import annotations

import itertools
import pickle
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gainsay as gs
from gainsay.experiment import Candidate, Experiment, k_folds
from gainsay.experiment.serialization import slug
from gainsay.experiment.trainings import _distinct_names

METRICS = ("ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "mrr")


@pytest.fixture(scope="module")
def torn(make, tmp_path_factory):
    """An experiment whose metrics choose different rounds; not to be changed."""
    directory = tmp_path_factory.mktemp("torn") / "run"
    return make(directory, metrics=METRICS, num_boost_round=40).run(progress=False)


def predicted(result, data, name, balanced, fold=None):
    """Scores at the balanced round of the stored model with all its rounds, from the library itself."""
    curves = result.curves if fold is None else result.curves[result.curves["fold"] == fold]
    booster = result.load_model(name, int(curves["round"].max()), fold=fold)
    best = balanced(curves, name)
    if name.startswith("lgb"):
        return booster.predict(data.features, num_iteration=best, num_threads=1)
    booster.set_param({"nthread": 1})
    return booster.predict(xgb.DMatrix(data.features, nthread=1), iteration_range=(0, best))


def by_hand(result, data, balanced, metrics=METRICS):
    """The comparison of all candidates at their balanced rounds."""
    scores = {name: predicted(result, data, name, balanced) for name in result.candidates}
    judgments = gs.Judgments(data.labels, qid=data.query_ids[data.qid], weight=data.weight)
    return gs.compare(scores, judgments, metrics, draws=1000)


def pairs_of(result):
    return itertools.combinations(result.candidates, 2)


class TestAttribution:
    def test_the_metrics_do_choose_different_rounds(self, torn):
        assert (torn.best_rounds["ndcg_linear@10"] != torn.best_rounds["ndcg_exp@10"]).any()

    def test_is_that_of_the_models_that_are_compared(self, torn, parts, balanced):
        alone = by_hand(torn, parts.test, balanced)
        for pair in pairs_of(torn):
            found, expected = torn.comparison.attribution(*pair), alone.attribution(*pair)
            pd.testing.assert_frame_equal(found.grades_by_ranks, expected.grades_by_ranks, rtol=0, atol=1e-12)
            pd.testing.assert_frame_equal(found.parts, expected.parts, rtol=0, atol=1e-12)
            assert found.difference == pytest.approx(expected.difference, abs=1e-12)

    def test_cells_sum_to_what_the_leaderboard_shows(self, torn):
        board = torn.leaderboard
        for one, other in pairs_of(torn):
            found = torn.comparison.attribution(one, other)
            for metric in METRICS[:3]:
                shown = board.loc[one, metric] - board.loc[other, metric]
                assert found.difference[metric] == pytest.approx(shown, abs=1e-12)
                assert found.grades_by_ranks.loc[metric].to_numpy().sum() == pytest.approx(shown, abs=1e-12)
                assert found.by_query_class[metric].sum() == pytest.approx(shown, abs=1e-12)

    def test_a_metric_that_is_not_compared(self, torn, parts, balanced):
        pair = torn.candidates[:2]
        found = torn.comparison.attribution(*pair, ["ndcg_exp@3"])
        expected = by_hand(torn, parts.test, balanced).attribution(*pair, ["ndcg_exp@3"])
        assert found.difference == pytest.approx(expected.difference, abs=1e-12)


class TestQueries:
    def test_have_both_models_as_they_are_compared(self, torn, parts, balanced):
        alone = by_hand(torn, parts.test, balanced, METRICS[:2])
        rows = 0
        for pair in pairs_of(torn):
            found, expected = torn.comparison.queries(*pair, 100), alone.queries(*pair, 100)
            pd.testing.assert_frame_equal(found, expected, rtol=0, atol=1e-12)
            rows += len(found)
        assert rows > 0

    def test_of_another_primary_metric(self, make, parts, torn, balanced):
        """The balanced round is then that of the other two metrics, and no training is needed to know it."""
        primary = ("ndcg_jk@10", "mrr")
        result = make(torn.directory, metrics=METRICS, num_boost_round=40, primary=primary).run(progress=False)
        alone = by_hand(result, parts.test, partial(balanced, metrics=primary), primary)
        for pair in pairs_of(torn):
            pd.testing.assert_frame_equal(
                result.comparison.queries(*pair, 100), alone.queries(*pair, 100), rtol=0, atol=1e-12
            )
        make(torn.directory, metrics=METRICS, num_boost_round=40).run(progress=False)


@pytest.fixture(scope="module")
def weighted(parts):
    weights = np.random.default_rng(3).integers(1, 4, len(parts.train.query_ids)).astype(float)
    return replace(parts.train, weight=weights)


@pytest.fixture(scope="module")
def folded(make, weighted, tmp_path_factory):
    directory = tmp_path_factory.mktemp("folds") / "run"
    folds = {"train": None, "valid": None, "test": None, "folds": k_folds(weighted, 3, seed=1)}
    return make(directory, **folds).run(progress=False)


class TestFolds:
    def test_queries_and_differences(self, folded, weighted, metrics, balanced):
        folds = k_folds(weighted, 3, seed=1)
        scores = {
            name: np.concatenate(
                [predicted(folded, fold, name, balanced, f"fold {i}") for i, fold in enumerate(folds, 1)]
            )
            for name in folded.candidates
        }
        judgments = gs.Judgments(
            np.concatenate([fold.labels for fold in folds]),
            qid=np.concatenate([fold.query_ids[fold.qid] for fold in folds]),
            weight=np.concatenate([fold.weight for fold in folds]),
        )
        alone = gs.compare(scores, judgments, metrics, draws=1000)
        one, other = folded.candidates[0], folded.candidates[3]
        found, expected = folded.comparison.attribution(one, other), alone.attribution(one, other)
        assert found.difference == pytest.approx(expected.difference, abs=1e-12)
        pd.testing.assert_frame_equal(
            folded.comparison.queries(one, other, 100), alone.queries(one, other, 100), rtol=0, atol=1e-12
        )

    def test_equal_ids_stay_different_queries(self):
        names = _distinct_names(np.array(["a", "b", "b", "c"]))
        assert names.tolist() == ["a", "b (number 2)", "b (number 3)", "c"]


class TestKeeping:
    def test_queries_that_a_metric_skips_are_left_out_of_joint_statements(self, make, parts):
        empty = parts.test.labels.copy()
        empty[parts.test.qid < 4] = 0
        result = make(
            test=replace(parts.test, labels=empty),
            metrics=["ndcg_exp(empty=skip)@10", "ndcg_linear@10"],
            candidates=[Candidate("a", "lightgbm"), Candidate("b", "xgboost")],
        ).run(progress=False)
        found = result.comparison.attribution("a", "b")
        assert found.queries == 25 - 4
        assert found.left_out == 4
        for metric in result.metrics:
            both = result.comparison.verdict.means[metric]
            assert found.difference[metric] == pytest.approx(both["a"] - both["b"], abs=1e-12)

    def test_without_a_directory_they_are_kept_in_memory(self, done, make):
        result = make().run(progress=False)
        pair = result.candidates[0], result.candidates[2]
        assert repr(result.comparison.attribution(*pair)) == repr(done.result.comparison.attribution(*pair))

    @pytest.mark.parametrize("way", [lambda result: result, lambda result: Experiment.load(result.directory)])
    def test_results_can_be_pickled(self, torn, way):
        again = pickle.loads(pickle.dumps(way(torn)))
        pair = torn.candidates[:2]
        assert repr(again.comparison.attribution(*pair)) == repr(torn.comparison.attribution(*pair))

    def test_a_resumed_run_explains_as_one_without_a_break(self, done, copy, make):
        shutil.rmtree(copy / "candidates" / slug("xgb gain=linear"))
        result = make(copy).run(progress=False)
        for pair in pairs_of(result):
            assert repr(result.comparison.attribution(*pair)) == repr(done.result.comparison.attribution(*pair))

    def test_report_says_why_and_which_queries(self, torn, tmp_path):
        text = torn.comparison.to_markdown()
        assert "## Why" in text
        assert "Made from values alone" not in text
        assert "at the rounds at which they are compared" in text
        page = torn.comparison.to_html(tmp_path / "report.html").read_text()
        assert "What documents of each grade, at each rank, add" in page


class TestDamaged:
    def test_scores_that_vanish_after_loading(self, copy):
        comparison = Experiment.load(copy).comparison
        (copy / "candidates" / slug("xgb gain=linear") / "arrays.npz").unlink()
        with pytest.raises(RuntimeError, match=r"the scores cannot be read .*run the experiment again"):
            comparison.attribution("xgb gain=linear", "lgb gain=linear")
