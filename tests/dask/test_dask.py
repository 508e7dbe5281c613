"""Evaluation over partitions: exact whatever the cut, on clusters of any size, with workers that die."""

from __future__ import annotations

import inspect
import math
import os
import pickle
import signal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainsay as gs
from gainsay.data import simulate
from gainsay.training.parts import add_exactly, exact_sum, rounded

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import lightgbm as lgb  # noqa: E402
import xgboost as xgb  # noqa: E402
from xgboost import dask as dxgb  # noqa: E402
from xgboost.tracker import RabitTracker  # noqa: E402

from gainsay import dask as over_cluster  # noqa: E402
from gainsay.dask.rounds import Staged  # noqa: E402
from gainsay.xgboost import EvaluateRanking, custom_metric, early_stopping, full_precision  # noqa: E402

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@5", "map@10", "mrr", "precision@5"]
OPTIONS = [
    "ndcg_exp@10",
    "mrr(empty=skip)",
    "map(weights=ignore)",
    "ndcg_exp(weights=float32)@5",
    "map(weights=float32_mean,empty=skip)",
    "precision(empty=skip,weights=ignore,min_label=4)@3",
    "dcg_exp",
]
XGB = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 3}
LGB = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5, "num_leaves": 7}


class Data(NamedTuple):
    labels: np.ndarray
    scores: np.ndarray
    sizes: np.ndarray
    qid: np.ndarray
    features: np.ndarray

    @property
    def ends(self):
        return np.concatenate(([0], np.cumsum(self.sizes)))

    @property
    def judgments(self):
        return gs.Judgments(self.labels, group=self.sizes)

    def cut(self, cuts):
        """The same as Dask arrays, whose partitions end before the queries `cuts`."""
        at = [0, *cuts, len(self.sizes)]
        rows, queries = np.diff(self.ends[at]), np.diff(at)
        return Data(*map(chunked, self, (rows, rows, queries, rows, rows)))


@pytest.fixture(scope="module")
def data():
    made = simulate(60, seed=5, mean_length=20)
    labels = made.labels.copy()
    labels[made.qid % 7 == 6] = 0
    rng = np.random.default_rng(1)
    scores = np.round(rng.normal(size=len(labels)) + labels / 3, 1)  # full of ties
    return Data(labels, scores, made.group, made.qid, made.features)


def chunked(values, rows):
    """A Dask array with these rows in its chunks."""
    values = np.asarray(values)
    return da.from_array(values, chunks=(tuple(int(n) for n in rows), *((n,) for n in values.shape[1:])))


CUTS = [[], [30], [1, 2, 3, 59], [0, 0, 20, 20, 60], list(range(1, 60))]


class TestMeans:
    @pytest.mark.parametrize("cuts", CUTS)
    def test_equal_those_of_one_process(self, data, cuts):
        parts = data.cut(cuts)
        found = over_cluster.evaluate(PANEL, parts.labels, parts.scores, qid=parts.qid)
        assert found.mean == pytest.approx(gs.evaluate(PANEL, data.judgments, data.scores).mean, rel=1e-14)
        assert (found.queries, found.documents) == (len(data.sizes), len(data.labels))

    @pytest.mark.parametrize("per", ["sizes", "labels"], ids=["query", "document"])
    def test_do_not_depend_on_the_cut_under_any_rule_of_weighting(self, data, per):
        weight = np.random.default_rng(2).uniform(0.1, 3, len(getattr(data, per)))
        found = []
        for cuts in CUTS:
            parts = data.cut(cuts)
            weights = chunked(weight, getattr(parts, per).chunks[0])
            found.append(over_cluster.evaluate(OPTIONS, parts.labels, parts.scores, group=parts.sizes, weight=weights))
        assert all(other.sums == found[0].sums for other in found)
        judgments = gs.Judgments(data.labels, group=data.sizes, weight=weight)
        assert found[0].mean == pytest.approx(gs.evaluate(OPTIONS, judgments, data.scores).mean, rel=1e-13)

    def test_sums_are_exact(self, data):
        parts = data.cut([10])
        found = over_cluster.evaluate(["ndcg_exp"], parts.labels, parts.scores, qid=parts.qid)
        values = gs.evaluate("ndcg_exp", data.judgments, data.scores).per_query
        assert found.sums == {"ndcg_exp": (math.fsum(values[:, 0]), float(len(data.sizes)))}

    def test_partitions_whose_weights_are_all_0(self, data):
        weight = np.ones(len(data.sizes))
        weight[:20] = 0
        parts = data.cut([20, 40])
        weights = chunked(weight, parts.sizes.chunks[0])
        found = over_cluster.evaluate(OPTIONS, parts.labels, parts.scores, group=parts.sizes, weight=weights)
        judgments = gs.Judgments(data.labels, group=data.sizes, weight=weight)
        assert found.mean == pytest.approx(gs.evaluate(OPTIONS, judgments, data.scores).mean, rel=1e-13)

    def test_no_query_counts(self):
        labels = chunked(np.zeros(4), [2, 2])
        found = over_cluster.evaluate("mrr(empty=skip)", labels, labels, group=chunked([2, 2], [1, 1]))
        assert math.isnan(found.mean["mrr(empty=skip)"])

    def test_a_convention(self, data):
        parts = data.cut([30])
        found = over_cluster.evaluate("ndcg@5", parts.labels, parts.scores, group=parts.sizes, convention="lightgbm")
        whole = gs.evaluate("ndcg@5", data.judgments, data.scores, convention="lightgbm")
        assert found.mean == pytest.approx(whole.mean, rel=1e-14)

    def test_rows_of_a_query_may_be_scattered_within_a_partition(self, data):
        first = int(data.ends[30])
        order = np.concatenate([np.random.default_rng(3).permutation(first), np.arange(first, len(data.labels))])
        qid = np.char.add("q", data.qid.astype(str))
        parts = [chunked(values[order], [first, len(order) - first]) for values in (data.labels, data.scores, qid)]
        found = over_cluster.evaluate(PANEL, *parts[:2], qid=parts[2])
        assert found.mean == pytest.approx(gs.evaluate(PANEL, data.judgments, data.scores).mean, rel=1e-14)


class TestForms:
    def test_series(self, data):
        frame = pd.DataFrame({"label": data.labels, "score": data.scores, "query": data.qid.astype(str)})
        frame = dd.from_pandas(frame, sort=False, npartitions=1)
        found = over_cluster.evaluate(PANEL, frame["label"], frame["score"], qid=frame["query"])
        assert found.queries == len(data.sizes)
        found.frame().compute()

    def test_delayed_and_arrays_by_partition(self, data):
        cut = int(data.ends[30])
        labels = [dask.delayed(data.labels[:cut]), dask.delayed(data.labels[cut:])]
        scores = [data.scores[:cut], data.scores[cut:]]
        found = over_cluster.evaluate(PANEL, labels, scores, group=[data.sizes[:30], data.sizes[30:]])
        assert found.mean == pytest.approx(gs.evaluate(PANEL, data.judgments, data.scores).mean, rel=1e-14)

    def test_one_delayed(self, data):
        found = over_cluster.evaluate(
            "mrr", dask.delayed(data.labels), dask.delayed(data.scores), group=dask.delayed(data.sizes)
        )
        assert "Evaluation of 60 queries in 1 partition\n  mrr  0." in repr(found)


class TestByQuery:
    @pytest.mark.parametrize("by", ["qid", "group"])
    def test_values_and_ids(self, data, by):
        parts = data.cut([7, 7, 40])
        given = {"qid": parts.qid + 100} if by == "qid" else {"group": parts.sizes}
        found = over_cluster.evaluate(OPTIONS, parts.labels, parts.scores, **given)
        whole = gs.evaluate(OPTIONS, data.judgments, data.scores)
        assert found.per_query.shape == (len(data.sizes), len(OPTIONS))
        np.testing.assert_array_equal(found.per_query.compute(), whole.per_query)
        expected = whole.frame()
        expected.index += 100 if by == "qid" else 0
        pd.testing.assert_frame_equal(found.frame().compute(), expected)

    def test_ids_that_are_strings(self, data):
        parts = data._replace(qid=np.char.add("q", data.qid.astype(str))).cut([0, 30])
        found = over_cluster.evaluate("mrr", parts.labels, parts.scores, qid=parts.qid)
        assert found.frame().compute().index.tolist() == [f"q{n}" for n in range(60)]

    def test_nothing_is_computed_before_it_is_asked_for(self, data):
        calls = []

        def scores():
            calls.append(1)
            return data.scores

        found = over_cluster.evaluate("mrr", [data.labels], [dask.delayed(scores)()], group=[data.sizes])
        values, frame = found.per_query, found.frame()
        assert len(calls) == 1
        values.compute()
        frame.compute()
        assert len(calls) == 3


class TestSplitQueries:
    @pytest.mark.parametrize("kind", [np.int32, np.float64, "str", object])
    def test_are_refused_by_name(self, data, kind):
        qid = data.qid.astype(kind)
        rows = [5, len(qid) - 5]
        assert qid[4] == qid[5]
        with pytest.raises(ValueError, match=r"query 0(\.0)? lies in partitions 0 and 1: .* so that no query is split"):
            over_cluster.evaluate("mrr", chunked(data.labels, rows), chunked(data.scores, rows), qid=chunked(qid, rows))

    def test_far_apart_and_several(self):
        qid = chunked(np.repeat([3, 1, 2, 4, 5, 1, 2], 2), [2] * 7)
        with pytest.raises(ValueError, match=r"query 1 lies in partitions 1 and 5 \(and 1 more queries in several\)"):
            over_cluster.require_whole_queries(qid)

    def test_through_several_levels_of_the_tree(self):
        qid = np.arange(600)
        over_cluster.require_whole_queries(chunked(qid, [1] * 600))
        qid[-1] = 0
        with pytest.raises(ValueError, match="query 0 lies in partitions 0 and 599"):
            over_cluster.require_whole_queries(chunked(qid, [1] * 600))

    def test_ids_of_different_types_are_one_query(self):
        with pytest.raises(ValueError, match="query 2 lies in partitions 0 and 1"):
            over_cluster.require_whole_queries([np.array([1, 2], np.int32), np.array([2.0, 3.0])])
        with pytest.raises(ValueError, match=r"query 2\.0 lies in partitions 0 and 1"):
            over_cluster.require_whole_queries([np.array([0.5, 2.0]), np.array([2.0, 3.0])])

    def test_equal_hashes_are_no_proof(self, monkeypatch):
        monkeypatch.setattr("gainsay.dask.partitions.hashed", lambda ids: np.zeros(len(ids), np.uint64))
        over_cluster.require_whole_queries([np.array([1, 2]), np.array([3, 4])])
        with pytest.raises(ValueError, match="query 2 lies in partitions 0 and 1"):
            over_cluster.require_whole_queries([np.array([1, 2]), np.array([2, 4])])


class TestBadInput:
    @pytest.fixture
    def args(self, data):
        parts = data.cut([20])
        return {"labels": parts.labels, "scores": parts.scores, "group": parts.sizes}

    def test_data_in_memory(self, data, args):
        with pytest.raises(TypeError, match=r"scores must be a Dask array.*got ndarray; .* gainsay.evaluate"):
            over_cluster.evaluate("mrr", **{**args, "scores": data.scores})
        with pytest.raises(TypeError, match="labels is a list of numbers"):
            over_cluster.evaluate("mrr", **{**args, "labels": [0, 1]})

    def test_different_numbers_of_partitions(self, data, args):
        with pytest.raises(ValueError, match="scores has 1 partitions but labels has 2: they must be cut at the same"):
            over_cluster.evaluate("mrr", **{**args, "scores": chunked(data.scores, [len(data.scores)])})

    def test_partitions_that_do_not_match(self, data, args):
        moved = chunked(data.scores, [len(data.scores) - 3, 3])
        with pytest.raises(ValueError, match=r"in partition \d: scores has \d+ entries but the judgments have"):
            over_cluster.evaluate("mrr", **{**args, "scores": moved})

    def test_a_query_split_by_groups(self, data, args):
        moved = chunked(data.labels, [3, len(data.labels) - 3])
        with pytest.raises(ValueError, match=r"in partition \d: group sums to"):
            over_cluster.evaluate("mrr", **{**args, "labels": moved, "scores": moved})

    def test_bad_values_name_the_partition(self, data, args):
        bad = data.scores.copy()
        bad[-1] = np.nan
        with pytest.raises(ValueError, match="in partition 1: scores holds 1 NaN among"):
            over_cluster.evaluate("mrr", **{**args, "scores": chunked(bad, args["labels"].chunks[0])})
        with pytest.raises(TypeError, match="in partition 0: labels must be numbers"):
            over_cluster.evaluate("mrr", [np.array(["a"])], [np.array([1.0])], group=[np.array([1])])

    def test_queries_without_documents_in_an_empty_partition(self):
        empty = np.zeros(0)
        with pytest.raises(ValueError, match="in partition 0: group has 2 entries but there is no document"):
            over_cluster.evaluate("mrr", [empty], [empty], group=[np.array([0, 0])])
        with pytest.raises(ValueError, match="in partition 0: scores has 1 entries but there are no labels"):
            over_cluster.evaluate("mrr", [empty], [np.ones(1)], group=[empty])

    def test_nothing_at_all(self):
        empty = chunked(np.zeros(0), [0, 0])
        with pytest.raises(ValueError, match="labels is empty in all of 2 partitions"):
            over_cluster.evaluate("mrr", empty, empty, qid=empty)

    def test_weights_that_are_all_0(self, args):
        with pytest.raises(ValueError, match="weight is 0 for every query"):
            over_cluster.evaluate("mrr", **args, weight=da.zeros_like(args["group"]))

    def test_group_and_qid(self, args):
        with pytest.raises(ValueError, match=r"give exactly one of group= .* and qid= .*, got both"):
            over_cluster.evaluate("mrr", **args, qid=args["labels"])

    def test_features_cut_along_columns(self):
        with pytest.raises(ValueError, match=r"labels is cut into 2 chunks along its columns; .*labels.rechunk"):
            over_cluster.evaluate("mrr", da.zeros((4, 2), chunks=(4, 1)), da.zeros(4), group=da.ones(1))


class TestExactSum:
    @given(
        st.lists(st.floats(-1e100, 1e100, allow_subnormal=True), max_size=40),
        st.lists(st.integers(0, 40), max_size=5),
    )
    def test_any_numbers_any_cut(self, numbers, cuts):
        parts = np.split(np.array(numbers), sorted(cuts))
        total = add_exactly([exact_sum(part) for part in parts])
        assert sum(map(Fraction, total.tolist()), Fraction(0)) == sum(map(Fraction, numbers), Fraction(0))
        assert rounded(total) == math.fsum(numbers)

    def test_few_rows_for_many_numbers(self):
        assert len(exact_sum(np.random.default_rng(0).random(100_000))) <= 3

    def test_numbers_too_large(self):
        with pytest.raises(ValueError, match=r"values as large as 1e\+308 cannot be added up exactly"):
            exact_sum(np.array([1e308, 1.0]))


@pytest.fixture(scope="module")
def boosters(data):
    labels, sizes = data.labels, data.sizes
    of_lightgbm = lgb.train(LGB, lgb.Dataset(data.features, labels, group=sizes), num_boost_round=12)
    of_xgboost = xgb.train(XGB, xgb.DMatrix(data.features, label=labels, qid=data.qid), 12)
    return {"lightgbm": of_lightgbm, "xgboost": of_xgboost}


def predicted(booster, features, n):
    if isinstance(booster, lgb.Booster):
        return booster.predict(features, num_iteration=n, raw_score=True)
    return booster.predict(xgb.DMatrix(features), iteration_range=(0, n), output_margin=True)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
class TestRounds:
    def test_scores_equal_the_library_s_to_the_last_bit(self, data, boosters, library):
        for features in (data.features, data.features.astype(np.float64), pd.DataFrame(data.features)):
            staged = Staged(boosters[library], (1, 2, 5, 12))(features)
            for n, scores in zip((1, 2, 5, 12), staged, strict=True):
                np.testing.assert_array_equal(scores, predicted(boosters[library], features, n))

    def test_curves_equal_evaluations_one_by_one(self, data, boosters, library):
        parts = data.cut([10, 10, 45])
        curves = over_cluster.evaluate_rounds(PANEL, boosters[library], parts.features, parts.labels, qid=parts.qid)
        assert curves.rounds == tuple(range(1, 13))
        for n, values in zip(curves.rounds, curves.values, strict=True):
            expected = gs.evaluate(PANEL, data.judgments, predicted(boosters[library], data.features, n)).mean
            np.testing.assert_allclose(values, list(expected.values()), rtol=1e-14)
        curve = curves.frame()["mrr"]
        assert curves.best("mrr") == (curve.idxmax(), curve.max())

    def test_some_rounds_only(self, data, boosters, library):
        columns = [[values] for values in (data.features, data.labels)]
        every = over_cluster.evaluate_rounds("mrr", boosters[library], *columns, group=[data.sizes])
        some = over_cluster.evaluate_rounds("mrr", boosters[library], *columns, group=[data.sizes], rounds=[9, 3])
        assert some.rounds == (3, 9)
        np.testing.assert_array_equal(some.values, every.values[[2, 8]])

    def test_the_model_is_left_alone(self, data, boosters, library):
        before = pickle.dumps(boosters[library])
        columns = [[values] for values in (data.features, data.labels)]
        over_cluster.evaluate_rounds("mrr", boosters[library], *columns, group=[data.sizes])
        assert pickle.dumps(boosters[library]) == before


class TestRoundsBadInput:
    @pytest.fixture
    def args(self, data):
        return {"features": [data.features], "labels": [data.labels], "group": [data.sizes]}

    @pytest.mark.parametrize(("rounds", "bad"), [([0, 3], 0), ([13], 13)])
    def test_rounds_that_the_model_does_not_have(self, boosters, args, rounds, bad):
        with pytest.raises(ValueError, match=f"rounds must lie between 1 and 12, the rounds of the model, got {bad}"):
            over_cluster.evaluate_rounds("mrr", boosters["xgboost"], **args, rounds=rounds)

    def test_features_that_are_no_partitions(self, data, boosters, args):
        with pytest.raises(TypeError, match=r"features must be a Dask array.*got ndarray"):
            over_cluster.evaluate_rounds("mrr", boosters["xgboost"], **{**args, "features": data.features})
        features = da.from_array(data.features, chunks=(-1, 5))
        with pytest.raises(ValueError, match=r"features is cut into \d+ chunks along its columns; .*features\.rechunk"):
            over_cluster.evaluate_rounds("mrr", boosters["xgboost"], **{**args, "features": features})

    def test_categories_that_the_model_does_not_know(self, data):
        shop = pd.Series(np.where(data.labels > 1, "good", "bad"), dtype=pd.CategoricalDtype(["good", "bad"]))
        codes = shop.cat.codes.to_numpy()[:, None]
        matrix = xgb.DMatrix(codes, data.labels, qid=data.qid, feature_types=["c"], enable_categorical=True)
        booster = xgb.train(XGB, matrix, 2)
        other = [pd.DataFrame({"shop": shop.cat.reorder_categories(["bad", "good"])})]
        with pytest.raises(ValueError, match="in partition 0: it splits by category, but does not know which"):
            over_cluster.evaluate_rounds("mrr", booster, other, [data.labels], group=[data.sizes])

    def test_no_rounds(self, data, boosters, args):
        with pytest.raises(ValueError, match="rounds is empty"):
            over_cluster.evaluate_rounds("mrr", boosters["xgboost"], **args, rounds=[])
        with pytest.raises(ValueError, match="model has no trees"):
            over_cluster.evaluate_rounds("mrr", xgb.train(XGB, xgb.DMatrix(data.features), 0), **args)

    def test_another_library(self, args):
        with pytest.raises(TypeError, match=r"model must be a model of LightGBM or XGBoost.*got str"):
            over_cluster.evaluate_rounds("mrr", "model.txt", **args)

    @pytest.mark.parametrize("model", [lgb.LGBMRanker(), xgb.XGBRanker()])
    def test_a_ranker_that_was_not_fitted_says_so(self, args, model):
        with pytest.raises(ValueError, match="fit"):
            over_cluster.evaluate_rounds("mrr", model, **args)

    def test_the_best_of_an_unknown_metric(self, boosters, args):
        curves = over_cluster.evaluate_rounds(["mrr", "map@10"], boosters["xgboost"], **args, rounds=[1, 2])
        with pytest.raises(
            ValueError, match=r"metric must be one of mrr, map@10, got 'map@5'; did you mean 'map@10'\?"
        ):
            curves.best("map@5")
        with pytest.raises(ValueError, match="metric must be one of mrr, map@10, got None"):
            curves.best()


@pytest.mark.parametrize(
    "thing",
    [
        gs.NDCG(gain="exponential", k=10),
        gs.Judgments([3, 0, 1, 2, 0], qid=["a", "b", "a", "b", "a"], weight=[1, 2]),
        gs.Evaluator(PANEL, gs.Judgments([3, 0, 1, 2, 0], group=[3, 2])),
    ],
    ids=["Metric", "Judgments", "Evaluator"],
)
def test_what_tasks_are_made_of_can_be_pickled(thing):
    judgments = gs.Judgments([3, 0, 1, 2, 0], group=[3, 2])
    again = pickle.loads(pickle.dumps(thing))
    if isinstance(thing, gs.Metric):
        assert again == thing
    elif isinstance(thing, gs.Judgments):
        np.testing.assert_array_equal(again.labels, thing.labels)
        np.testing.assert_array_equal(again.weights, thing.weights)
    else:
        assert again([1, 2, 3, 4, 5]).mean == gs.evaluate(PANEL, judgments, [1, 2, 3, 4, 5]).mean


@pytest.fixture(scope="module")
def client(cluster_of):
    """One cluster for all."""
    with cluster_of(3) as client:
        assert len(client.nthreads()) == 3
        yield client


@pytest.fixture(params=[1, 3])
def workers(request, client):
    """Those that hold data: XGBoost trains on these alone."""
    return sorted(client.nthreads())[: request.param]


def placed(client, data, shares, workers=None):
    """Features, labels and qid as Dask arrays: each worker holds as many queries as `shares` says, in one partition."""
    workers = workers or sorted(client.nthreads())
    cuts = np.round(np.cumsum(np.array(shares[:-1]) / sum(shares)) * len(data.sizes)).astype(int).tolist()
    ends = data.ends[[0, *cuts, len(data.sizes)]]
    collections = []
    for values in (data.features, data.labels, data.qid):
        chunks = []
        for n, share in enumerate(shares):
            if share:
                part = values[ends[n] : ends[n + 1]]
                (future,) = client.scatter([part], workers=[workers[n % len(workers)]], hash=False)
                chunks.append(da.from_delayed(dask.delayed(future), shape=part.shape, dtype=part.dtype))
        collections.append(da.concatenate(chunks))
    return collections


def another():
    """Data to train on where those of the fixture are held out."""
    made = simulate(40, seed=8, mean_length=15)
    return Data(made.labels, None, made.group, made.qid, made.features)


def train_on_share(tracker, share):
    """Train together with others, each with its own documents, and evaluate with a callback made here."""
    features, labels, qid = share
    curves = {}
    with xgb.collective.CommunicatorContext(**tracker):
        dtrain = xgb.DMatrix(features, label=labels, qid=qid)
        callback = EvaluateRanking({"share": dtrain}, PANEL)
        booster = xgb.train(XGB, dtrain, 3, callbacks=[callback], evals_result=curves, verbose_eval=False)
    return curves, booster


@pytest.mark.slow
class TestClusters:
    def test_the_same_means_as_in_one_process(self, client, data):
        parts = data.cut([3, 3, 17, 40])
        found = over_cluster.evaluate(OPTIONS, parts.labels, parts.scores, qid=parts.qid)
        with dask.config.set(scheduler="synchronous"):
            alone = over_cluster.evaluate(OPTIONS, parts.labels, parts.scores, qid=parts.qid)
        assert found.sums == alone.sums
        np.testing.assert_array_equal(found.per_query.compute(), alone.per_query.compute())

    def test_an_executor_runs_small_tasks(self, client, data):
        evaluator = gs.Evaluator(PANEL, data.judgments, n_jobs=1)
        with client.get_executor(pure=False) as executor:
            jobs = [executor.submit(evaluator, data.scores * sign) for sign in (1, -1)]
            found = [job.result().mean for job in jobs]
        assert found == [gs.evaluate(PANEL, data.judgments, data.scores * sign).mean for sign in (1, -1)]

    @pytest.mark.parametrize("shares", [(1, 1, 1, 1), (7, 2, 1, 0)], ids=["even", "uneven"])
    def test_xgboost_logs_the_means_over_all_queries(self, client, workers, data, shares):
        dtrain = self.matrix(client, another(), (1, 1, 1, 1), workers)
        dvalid = self.matrix(client, data, shares, workers)
        log = custom_metric(PANEL)
        result = dxgb.train(
            client, XGB, dtrain, 30, evals=[(dtrain, "train"), (dvalid, "valid")], custom_metric=log,
            callbacks=[full_precision(log), early_stopping("mrr", rounds=4, dataset="valid", verbose=False)],
            verbose_eval=False,
        )  # fmt: skip
        history, booster = result["history"]["valid"], result["booster"]
        for n in (1, len(history["mrr"])):
            expected = gs.evaluate(PANEL, data.judgments, predicted(booster, data.features, n)).mean
            assert {name: history[name][n - 1] for name in PANEL} == pytest.approx(expected, rel=1e-12)
        assert booster.best_iteration == int(np.argmax(history["mrr"]))
        assert len(history["mrr"]) == min(30, booster.best_iteration + 1 + 4)
        assert len(result["history"]["train"]["mrr"]) == len(history["mrr"])

    def test_xgboost_on_workers_without_data(self, client, workers, data):
        dtrain = self.matrix(client, data, (1, 1, 1, 1), workers)
        dvalid = self.matrix(client, data, (0, 1, 0, 0), workers)
        log = custom_metric(PANEL)
        result = dxgb.train(
            client, XGB, dtrain, 3, evals=[(dvalid, "valid")], custom_metric=log, callbacks=[full_precision(log)],
            verbose_eval=False,
        )  # fmt: skip
        expected = gs.evaluate(PANEL, data.judgments, predicted(result["booster"], data.features, 3)).mean
        history = result["history"]["valid"]
        assert {name: history[name][2] for name in PANEL} == pytest.approx(expected, rel=1e-12)

    def test_callbacks_that_workers_make_themselves_count_all_queries(self, client, workers, data):
        tracker = RabitTracker(n_workers=len(workers), host_ip="127.0.0.1")
        tracker.start()
        cuts = np.append(np.linspace(0, 60, len(workers)).astype(int), 60)  # the last of several workers has no data
        ends = data.ends[cuts]
        shares = [tuple(v[a:b] for v in (data.features, data.labels, data.qid)) for a, b in pairwise(ends)]
        jobs = [
            client.submit(train_on_share, tracker.worker_args(), share, workers=[worker], pure=False)
            for worker, share in zip(workers, shares, strict=True)
        ]
        (history, model), *others = client.gather(jobs)
        assert all(other[0] == history for other in others)
        expected = gs.evaluate(PANEL, data.judgments, predicted(model, data.features, 3)).mean
        assert {name: history["share"][name][2] for name in PANEL} == pytest.approx(expected, rel=1e-12)

    def test_an_error_on_one_worker_ends_the_training_on_all(self, client, workers, data):
        labels = data.labels.copy()
        labels[0] = -1
        params = {**XGB, "objective": "reg:squarederror"}
        dtrain = self.matrix(client, data._replace(labels=labels), (1, 1, 1, 1), workers)
        with pytest.raises(ValueError, match="labels must not be negative: 1 of"):
            dxgb.train(client, params, dtrain, 3, evals=[(dtrain, "t")], custom_metric=custom_metric("mrr"))

    def test_curves_of_what_xgboost_returned(self, client, workers, data):
        features, labels, qid = placed(client, data, (1, 2, 3, 4), workers)
        dtrain = dxgb.DaskDMatrix(client, features, labels, qid=qid)
        result = dxgb.train(client, XGB, dtrain, 3)
        curves = over_cluster.evaluate_rounds(PANEL, result, features, labels, qid=qid)
        scores = over_cluster.evaluate(PANEL, labels, dxgb.predict(client, result, features), qid=qid)
        assert scores.mean == pytest.approx(dict(zip(PANEL, curves.values[-1], strict=True)), rel=1e-14)

    @staticmethod
    def matrix(client, data, shares, workers):
        features, labels, qid = placed(client, data, shares, workers)
        return dxgb.DaskDMatrix(client, features, labels, qid=qid)


class TestDaskRanker:
    """It takes callbacks, which go to every worker in a pickle, and no metric of ours."""

    def fit(self, client, data, evaluate=False, **options):
        features, labels, qid = placed(client, data, (2, 1))
        if "allow_group_split" in inspect.signature(dxgb.DaskXGBRanker).parameters:  # since XGBoost 3
            options["allow_group_split"] = True
        ranker = dxgb.DaskXGBRanker(n_estimators=12, max_depth=3, n_jobs=1, **options)
        ranker.client = client
        sets = {"eval_set": [(features, labels)], "eval_qid": [qid]} if evaluate else {}
        return ranker.fit(features, labels, qid=qid, **sets)

    def test_arrays_are_evaluated_on_every_worker(self, client, data):
        callbacks = [
            EvaluateRanking({"valid": (data.features, data.labels, data.qid)}, PANEL),
            early_stopping("mrr", rounds=4, save_best=True, verbose=False),
        ]
        ranker = self.fit(client, another(), callbacks=callbacks)
        booster, history = ranker.get_booster(), ranker.evals_result()["valid"]
        scores = predicted(booster, data.features, booster.num_boosted_rounds())
        expected = gs.evaluate(PANEL, data.judgments, scores).mean
        best = int(np.argmax(history["mrr"]))
        assert ranker.best_iteration == best == booster.num_boosted_rounds() - 1
        assert {name: history[name][best] for name in PANEL} == pytest.approx(expected, rel=1e-12)

    def test_what_does_not_work_says_what_does(self, client, data):
        works = (
            r"give XGBRanker a callback, EvaluateRanking\(.*with such arrays in memory, DaskXGBRanker .* take it too"
        )
        matrix = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
        with pytest.raises(ValueError, match=works):
            self.fit(client, data, callbacks=[EvaluateRanking({"valid": matrix}, PANEL)])
        with pytest.raises(TypeError, match=works):
            self.fit(client, data, evaluate=True, eval_metric=custom_metric(PANEL))

    def test_training_goes_on_from_what_is_no_worse(self, client, data):
        features, labels, qid = placed(client, data, (2, 1))
        dtrain = dxgb.DaskDMatrix(client, features, labels, qid=qid)
        start = dxgb.train(client, XGB, dtrain, 6)["booster"]
        log = custom_metric(PANEL)
        found = dxgb.train(
            client, {**XGB, "eta": 30.0}, dtrain, 5, evals=[(dtrain, "train")], custom_metric=log, xgb_model=start,
            callbacks=[full_precision(log), early_stopping("ndcg_exp@10", rounds=2, verbose=False)],
        )["booster"]  # fmt: skip
        before = gs.evaluate("ndcg_exp@10", data.judgments, predicted(start, data.features, 6)).mean["ndcg_exp@10"]
        assert found.best_iteration == 5
        assert found.best_score == pytest.approx(before, rel=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored:UserWarning")
def test_lightgbm_over_a_cluster(client, data):
    """Its own metrics are those of one worker; ours of the model that it trained are those of all."""
    parts = data.cut([20])
    features, labels, group = client.persist([parts.features, parts.labels, parts.sizes])
    ranker = lgb.DaskLGBMRanker(client=client, n_estimators=4, num_leaves=7, min_child_samples=5, verbose=-1)
    ranker.fit(features, labels, group=group)
    curves = over_cluster.evaluate_rounds(PANEL, ranker, features, labels, group=group)
    found = over_cluster.evaluate(PANEL, labels, ranker.predict(features), group=group)
    expected = gs.evaluate(PANEL, data.judgments, ranker.to_local().predict(data.features)).mean
    assert found.mean == pytest.approx(expected, rel=1e-13)
    assert dict(zip(PANEL, curves.values[-1], strict=True)) == pytest.approx(expected, rel=1e-13)


def die_once(values, marker):
    """End this worker's process the first time; return the values after that."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return values


@pytest.mark.posix
@pytest.mark.slow
def test_a_worker_that_is_killed_while_it_evaluates(client, data, tmp_path):
    parts = [np.split(values, data.ends[[10, 20, 30, 40]]) for values in (data.labels, data.scores, data.qid)]
    marker = tmp_path / "died"
    lazily = dask.delayed(die_once, pure=False)
    scores = [lazily(part, str(marker)) if n == 3 else part for n, part in enumerate(parts[1])]
    found = over_cluster.evaluate(PANEL, parts[0], scores, qid=parts[2])
    assert marker.exists()
    with dask.config.set(scheduler="synchronous"):
        assert found.sums == over_cluster.evaluate(PANEL, *parts[:2], qid=parts[2]).sums


class TestFullPrecision:
    def test_in_one_process(self, data):
        dtrain = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
        log, curves = custom_metric(PANEL), {}
        callbacks = [EvaluateRanking({"own": dtrain}, PANEL), full_precision(log)]
        xgb.train(
            XGB, dtrain, 3, evals=[(dtrain, "a"), (dtrain, "b")], custom_metric=log, callbacks=callbacks,
            evals_result=curves, verbose_eval=False,
        )  # fmt: skip
        assert curves["a"] == curves["b"] == curves["own"]
        assert not log._unread

    def test_another_log(self, data):
        dtrain = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
        callbacks = [full_precision(custom_metric("mrr"))]
        with pytest.raises(ValueError, match="give training the same log, as custom_metric="):
            xgb.train(
                XGB, dtrain, 1, evals=[(dtrain, "a")], custom_metric=custom_metric("mrr"), callbacks=callbacks,
                verbose_eval=False,
            )  # fmt: skip

    def test_something_else(self):
        with pytest.raises(TypeError, match=r"log must be what gainsay.xgboost.custom_metric returned, got list"):
            full_precision(["mrr"])

    def test_cv_is_refused(self, data):
        dtrain = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
        log = custom_metric("mrr")
        with pytest.raises(ValueError, match=r"full_precision has no meaning in xgboost.cv"):
            xgb.cv(XGB, dtrain, 2, custom_metric=log, callbacks=[full_precision(log)])

    def test_weights_that_are_all_0_are_refused_in_one_process(self, data):
        with pytest.raises(ValueError, match="weight is 0 for every query"):
            EvaluateRanking({"v": (data.features, data.labels, data.qid, np.zeros(len(data.sizes)))}, PANEL)
