"""Cross-validation: training, validation and test folds, and their combined results."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from tests.experiment.helpers import METRICS, balanced_by_hand, facts, predict

import gainwise as gw
from gainwise.data import RankingData, simulate
from gainwise.experiment import Experiment, k_folds
from gainwise.experiment.plan import rotate

ROUNDS = 12


@pytest.fixture(scope="module")
def data():
    return simulate(40, seed=2, mean_length=15)


def per_query(data, scores):
    return gw.evaluate(METRICS, data.judgments(), scores).per_query


@pytest.mark.parametrize("count", [3, 4, 5])
def test_rotation_is_that_of_letor(data, count):
    parts, made = rotate(k_folds(data, count))
    assert [fold.test for fold in made] == [f"fold {i + 1}" for i in range(count)]
    assert [fold.valid for fold in made] == [f"fold {(i + 1) % count + 1}" for i in range(count)]
    for fold in made:
        assert set(fold.parts) == set(parts)
        assert len(fold.parts) == count


def test_k_folds_divide_the_queries_at_random(data):
    parts, again, other = (k_folds(data, 3, seed=seed) for seed in (7, 7, 8))
    assert sorted(name for part in parts for name in part.query_ids) == sorted(data.query_ids)
    assert sum(len(part.labels) for part in parts) == len(data.labels)
    first = [made[0].query_ids.tolist() for made in (parts, again, other)]
    assert first[0] == first[1] != first[2]


def test_each_query_is_tested_once_by_models_trained_on_other_folds(folded, folds):
    """The fold that chooses the round is not trained on either."""
    result = folded.result
    tables = {name: [] for name in result.candidates}
    scores = {name: [] for name in result.candidates}
    for i, test in enumerate(folds):
        name = f"fold {i + 1}"
        curves = result.curves[result.curves["fold"] == name]
        train = RankingData.concatenate([fold for j, fold in enumerate(folds) if j not in (i, (i + 1) % 4)])
        model = result.load_model("xgb", ROUNDS, fold=name)
        model.set_param({"nthread": 1})
        params = {"objective": "rank:ndcg", "max_depth": 2, "nthread": 1, "seed": 3, "disable_default_eval_metric": 1}
        matrix = xgb.DMatrix(train.features, train.labels, qid=train.qid, weight=train.weight, nthread=1)
        assert model.get_dump() == xgb.train(params, matrix, ROUNDS).get_dump()
        for candidate in result.candidates:
            compared = balanced_by_hand(curves, candidate)
            assert result.compared.loc[candidate, "rounds"][i] == compared
            model = result.load_model(candidate, ROUNDS, fold=name)
            scores[candidate].append(predict(model, test, compared))
            cut = predict(result.load_model(candidate, fold=name), test)
            np.testing.assert_array_equal(cut, scores[candidate][-1])
            tables[candidate].append(per_query(test, cut))
    for at, candidate in enumerate(result.candidates):
        for place, metric in enumerate(METRICS):
            expected = np.concatenate([table[:, place] for table in tables[candidate]])
            np.testing.assert_array_equal(result.comparison.values[metric][:, at], expected)
    labels, qid, weight = (
        np.concatenate([getattr(fold, name) if name != "qid" else fold.query_ids[fold.qid] for fold in folds])
        for name in ("labels", "qid", "weight")
    )
    models = {name: np.concatenate(values) for name, values in scores.items()}
    alone = gw.compare(models, gw.Judgments(labels, qid=qid, weight=weight), METRICS, draws=1000)
    pair = result.candidates[0], result.candidates[2]
    found, expected = (it.attribution(*pair).difference for it in (result.comparison, alone))
    assert found == pytest.approx(expected, abs=1e-12)
    pd.testing.assert_frame_equal(result.comparison.queries(*pair, 100), alone.queries(*pair, 100), rtol=0, atol=1e-12)


def test_selected_has_the_best_mean_over_folds(folded, folds):
    """Folds count by the weights of their validation queries."""
    result, weights = folded.result, [folds[(i + 1) % 4].weight.sum() for i in range(4)]
    curves = result.curves[result.curves["compared"]].set_index(["candidate", "metric", "fold"])["value"].sort_index()
    for name, row in result.compared.iterrows():
        for metric in METRICS:
            assert row[f"valid {metric}"] == pytest.approx(np.average(curves[name, metric], weights=weights), rel=1e-12)
    table = result.compared[[f"valid {metric}" for metric in METRICS[:2]]]
    assert result.selected == (table.max() - table).max(axis=1).idxmin()


def test_tables_and_notes_name_the_folds(folded):
    result = folded.result
    assert result.best_rounds.index.names == ["candidate", "fold"]
    assert set(result.curves["fold"]) == {"fold 1", "fold 2", "fold 3", "fold 4"}
    text = result.summary()
    assert "4 folds" in text
    assert "4 folds" in result.comparison.notes[-1]
    assert facts(Experiment.load(folded.directory)) == facts(result)
