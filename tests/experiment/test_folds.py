"""Cross-validation: which parts train, validate and test, and how folds are joined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xgboost as xgb

import gainsay as gs
from gainsay.data import RankingData, simulate
from gainsay.experiment import Candidate, Experiment, grid, k_folds
from gainsay.experiment.folds import fingerprint, rotation


@pytest.fixture(scope="module")
def data():
    return simulate(40, seed=2, mean_length=15)


@pytest.fixture(scope="module")
def folds(data):
    return k_folds(data, 4, seed=1)


@pytest.fixture(scope="module")
def crossed(make, folds, tmp_path_factory):
    directory = tmp_path_factory.mktemp("folds") / "run"
    candidates = [*grid("lgb", "lightgbm", {"num_leaves": [4, 8]}), Candidate("xgb", "xgboost", {"max_depth": 2})]
    experiment = make(directory, candidates=candidates, train=None, valid=None, test=None, folds=folds)
    return experiment.run(progress=False), directory


class TestRotation:
    @pytest.mark.parametrize("count", [3, 4, 5])
    def test_is_that_of_letor(self, data, count):
        parts, made = rotation(k_folds(data, count))
        assert [fold.test for fold in made] == [f"fold {i + 1}" for i in range(count)]
        assert [fold.valid for fold in made] == [f"fold {(i + 1) % count + 1}" for i in range(count)]
        for fold in made:
            assert set(fold.parts()) == set(parts)
            assert len(fold.parts()) == count

    def test_too_few(self, folds):
        with pytest.raises(ValueError, match=r"folds must be at least three.*got 2"):
            rotation(folds[:2])

    def test_a_single_data_set(self, data):
        with pytest.raises(TypeError, match="divide it with k_folds"):
            rotation(data)

    def test_weights_for_some_only(self, folds):
        weighted = replace(folds[0], weight=np.ones(len(folds[0].query_ids)))
        with pytest.raises(ValueError, match="fold 2 has no weight but other folds have"):
            rotation([weighted, *folds[1:]])

    def test_together_with_a_split(self, make, folds):
        with pytest.raises(ValueError, match="either train, valid and test, or folds"):
            make(folds=folds)


class TestKFolds:
    def test_every_query_in_exactly_one(self, data):
        parts = k_folds(data, 3, seed=7)
        assert sorted(name for part in parts for name in part.query_ids) == sorted(data.query_ids)
        assert sum(len(part.labels) for part in parts) == len(data.labels)

    def test_seed(self, data):
        first, again, other = (k_folds(data, 3, seed=seed)[0].query_ids.tolist() for seed in (7, 7, 8))
        assert first == again != other

    def test_more_folds_than_queries(self, data):
        with pytest.raises(ValueError, match="2 queries cannot be divided into 3 folds"):
            k_folds(data.take_queries([0, 1]), 3)


class TestJoined:
    def test_each_query_once_where_it_is_tested(self, crossed, folds, metrics, balanced):
        """Fold after fold, by models that were trained neither on it nor on the fold that chose the round."""
        result, _ = crossed
        for place, metric in enumerate(metrics):
            expected = []
            for i, test in enumerate(folds):
                valid = folds[(i + 1) % 4]
                others = [fold for place, fold in enumerate(folds) if place not in (i, (i + 1) % 4)]
                train = RankingData.concatenate(others)
                model = result.load_model("xgb", 12, fold=f"fold {i + 1}")
                model.set_param({"nthread": 1})
                assert model.get_dump() == self.trained(train).get_dump()
                curve = [self.mean(model, valid, metric, n) for n in range(1, 13)]
                best = 1 + int(np.argmax(curve))
                assert result.best_rounds.loc[("xgb", f"fold {i + 1}"), metric] == best
                compared = balanced(result.curves[result.curves["fold"] == f"fold {i + 1}"], "xgb")
                assert result.compared.loc["xgb", "rounds"][i] == compared
                scores = model.predict(xgb.DMatrix(test.features, nthread=1), iteration_range=(0, compared))
                expected.append(gs.evaluate(metrics, test.judgments(), scores).per_query[:, place])
            found = result.comparison.values[metric][:, result.candidates.index("xgb")]
            np.testing.assert_array_equal(found, np.concatenate(expected))

    @staticmethod
    def trained(data):
        params = {"objective": "rank:ndcg", "max_depth": 2, "nthread": 1, "seed": 3, "disable_default_eval_metric": 1}
        return xgb.train(params, xgb.DMatrix(data.features, data.labels, qid=data.qid, nthread=1), 12)

    @staticmethod
    def mean(model, data, metric, rounds):
        scores = model.predict(xgb.DMatrix(data.features, nthread=1), iteration_range=(0, rounds))
        return gs.evaluate(metric, data.judgments(), scores).mean[metric]

    def test_a_candidate_is_chosen_in_each_fold_by_its_own_valid_queries(self, crossed, folds, metrics):
        """As LETOR's protocol has it: the queries that are tested in a fold have no say in it."""
        result, _ = crossed
        curves = result.curves
        several = 0
        for metric in metrics:
            its = curves[curves["metric"] == metric]
            table = its.pivot(index=["candidate", "round"], columns="fold", values="value")
            best = table.groupby(level="candidate").max()
            chosen = tuple(best.idxmax())
            several += len(set(chosen)) > 1
            row = result.chosen.loc[metric]
            assert row["candidate"] == chosen
            assert row["rounds"] == tuple(
                table.loc[name, fold].idxmax() for name, fold in zip(chosen, table.columns, strict=True)
            )
            assert row["valid"] == pytest.approx(best.max().mean(), rel=1e-12)  # all folds have ten queries
            values = []
            for test, name, fold in zip(folds, chosen, table.columns, strict=True):
                model = result.load_model(name, metric, fold=fold)
                features = xgb.DMatrix(test.features) if name == "xgb" else test.features
                values.append(gs.evaluate(metrics, test.judgments(), model.predict(features)).per_query)
            expected = dict(zip(metrics, np.concatenate(values).mean(axis=0), strict=True))
            assert {other: row[f"test {other}"] for other in metrics} == pytest.approx(expected, rel=1e-12)
        assert several  # or the mean over all folds would have chosen the same

    def test_losses_are_those_of_what_each_fold_chose(self, crossed, metrics):
        result, _ = crossed
        for row in result.choice_loss.to_dict("records"):
            judge = row["metric"]
            own, other = (result.chosen.loc[chooser, f"test {judge}"] for chooser in (judge, row["chosen_by"]))
            assert row["loss"] == pytest.approx(own - other, abs=1e-12)

    def test_words(self, crossed):
        result, _ = crossed
        text = result.summary()
        assert (
            "The 4 folds are pooled: what is said of a candidate is about the average of 4 models, trained on" in text
        )
        assert result.comparison.notes[-1].startswith("The 4 folds are pooled")
        names = result.chosen.loc["ndcg_exp@10", "candidate"]
        for name in set(names):
            places = [str(place) for place, it in enumerate(names, 1) if it == name]
            assert f"{name} in fold{'s' if len(places) > 1 else ''} {', '.join(places)}" in text or len(set(names)) == 1

    def test_folds_of_unequal_size_count_by_their_queries(self, make, data):
        unequal = [data.take_queries(range(a, b)) for a, b in ((0, 5), (5, 10), (10, 40))]
        result = make(
            candidates=[Candidate("a", "lightgbm")], train=None, valid=None, test=None, folds=unequal, num_boost_round=3
        ).run(progress=False)
        best = result.curves.query("metric == 'mrr'").groupby("fold")["value"].max()
        sizes = {"fold 1": 5, "fold 2": 30, "fold 3": 5}  # of the folds that validate them
        assert result.chosen.loc["mrr", "valid"] == pytest.approx(sum(best[f] * n for f, n in sizes.items()) / 40)

    def test_frames_name_the_fold(self, crossed):
        result, _ = crossed
        assert result.best_rounds.index.names == ["candidate", "fold"]
        assert set(result.curves["fold"]) == {"fold 1", "fold 2", "fold 3", "fold 4"}
        with pytest.raises(KeyError, match=r"there are: .*xgb \(fold 2\)"):
            result.load_model("xgb")

    def test_read_back(self, crossed, facts):
        result, directory = crossed
        assert facts(Experiment.load(directory)) == facts(result)


class TestFingerprint:
    @pytest.mark.parametrize("field", ["features", "labels", "query_ids", "weight"])
    def test_sees_every_change(self, data, field):
        weighted = replace(data, weight=np.ones(len(data.query_ids)))
        values = getattr(weighted, field).copy()
        values[3] = "x" if field == "query_ids" else values[3] + 1
        assert fingerprint(replace(weighted, **{field: values})) != fingerprint(weighted)

    def test_sees_missing_weights(self, data):
        assert fingerprint(replace(data, weight=np.ones(len(data.query_ids)))) != fingerprint(data)

    def test_does_not_see_how_the_array_lies(self, data):
        assert fingerprint(replace(data, features=np.asfortranarray(data.features))) == fingerprint(data)
