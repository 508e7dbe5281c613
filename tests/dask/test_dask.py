"""Evaluation over partitions without a cluster, exact for any partitions."""

import math
import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from tests.adapters.drivers import LightGBMTrain, XGBoostTrain, make_part, xgb_matrix
from tests.bad_inputs import BadInput, bad_inputs
from tests.custom_metrics import GAP

import gainwise as gw
from gainwise.dask import evaluate, evaluate_rounds, predict_stages, validate_whole_queries

pytestmark = pytest.mark.slow

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
DATA = make_part(5, 60)
SCORES = np.round(np.random.default_rng(1).normal(DATA.labels / 3), 1)  # many ties
ENDS = np.concatenate(([0], np.cumsum(DATA.group)))
CUTS = [[], [30], [1, 2, 3, 59], [0, 0, 20, 20, 60], list(range(1, 60, 4))]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def chunked(values, rows):
    """Return a Dask array with these numbers of rows in its chunks."""
    values = np.asarray(values)
    return da.from_array(values, chunks=(tuple(int(n) for n in rows), *((n,) for n in values.shape[1:])))


def cut(values, cuts):
    """Return values by query or row as a Dask array. Its partitions end before the queries `cuts`."""
    at = [0, *cuts, len(DATA.group)]
    return chunked(values, np.diff(at if len(values) == len(DATA.group) else ENDS[at]))


def evaluated(metrics=PANEL, cuts=(30,), *, labels=DATA.labels, scores=SCORES, by="qid", **options):
    queries = {by: cut(getattr(DATA, by), cuts)}
    return evaluate(metrics, cut(labels, cuts), cut(scores, cuts), **queries, **options)


def expected(metrics=PANEL, weight=None, **options):
    return gw.evaluate(metrics, gw.Judgments(DATA.labels, group=DATA.group, weight=weight), SCORES, **options)


class TestMeans:
    @pytest.mark.parametrize("by", ["qid", "group"])
    @pytest.mark.parametrize(
        "weight", [None, *(np.random.default_rng(2).uniform(0.1, 3, n) for n in (60, len(SCORES)))]
    )
    def test_equal_those_of_one_process_for_any_cut(self, weight, by):
        results = []
        for cuts in CUTS:
            weights = None if weight is None else cut(weight, cuts)
            results.append(evaluated(OPTIONS, cuts, by=by, weight=weights))
        for result in results:
            assert result.mean == pytest.approx(expected(OPTIONS, weight).mean, rel=1e-13)
        assert (results[0].queries, results[0].documents) == (60, len(SCORES))

    def test_sums(self):
        values = expected("ndcg_exp").per_query
        assert evaluated(["ndcg_exp"]).sums["ndcg_exp"] == pytest.approx((math.fsum(values[:, 0]), 60.0), rel=1e-14)

    def test_partitions_whose_weights_are_all_0(self):
        weight = np.where(np.arange(60) < 20, 0.0, 1.0)
        result = evaluated(OPTIONS, [20, 40], weight=cut(weight, [20, 40]))
        assert result.mean == pytest.approx(expected(OPTIONS, weight).mean, rel=1e-13)

    def test_no_query_counts(self):
        labels = chunked(np.zeros(4), [2, 2])
        result = evaluate("mrr(empty=skip)", labels, labels, group=chunked([2, 2], [1, 1]))
        assert math.isnan(result.mean["mrr(empty=skip)"])

    def test_rows_of_a_query_may_be_scattered_within_a_partition(self):
        first = int(ENDS[30])
        order = np.concatenate([np.random.default_rng(3).permutation(first), np.arange(first, len(SCORES))])
        qid = np.char.add("q", DATA.qid.astype(str))
        labels, scores, qid = (chunked(v[order], [first, len(order) - first]) for v in (DATA.labels, SCORES, qid))
        assert evaluate(PANEL, labels, scores, qid=qid).mean == pytest.approx(expected().mean, rel=1e-14)

    def test_other_collections(self):
        frame = pd.DataFrame({"label": DATA.labels, "score": SCORES, "query": DATA.qid.astype(str)})
        frame = dd.from_pandas(frame, sort=False, npartitions=1)
        series = evaluate(PANEL, frame["label"], frame["score"], qid=frame["query"])
        first = int(ENDS[30])
        labels = [dask.delayed(DATA.labels[:first]), dask.delayed(DATA.labels[first:])]
        parts = evaluate(PANEL, labels, [SCORES[:first], SCORES[first:]], group=[DATA.group[:30], DATA.group[30:]])
        delayed = evaluate(PANEL, dask.delayed(DATA.labels), dask.delayed(SCORES), group=dask.delayed(DATA.group))
        for result in (series, parts, delayed):
            assert result.mean == pytest.approx(expected().mean, rel=1e-14)
        assert len(series.frame().compute()) == 60
        assert "60 queries in 1 partition\n" in repr(delayed)


class TestByQuery:
    @pytest.mark.parametrize("by", ["qid", "group"])
    def test_values_and_ids(self, by):
        result = evaluated(OPTIONS, [7, 7, 40], by=by)
        assert result.per_query.shape == (60, len(OPTIONS))
        np.testing.assert_array_equal(result.per_query.compute(), expected(OPTIONS).per_query)
        pd.testing.assert_frame_equal(result.frame().compute(), expected(OPTIONS).frame())

    def test_nothing_is_computed_too_early(self):
        calls = []

        def scores():
            calls.append(1)
            return SCORES

        result = evaluate("mrr", [DATA.labels], [dask.delayed(scores)()], group=[DATA.group])
        values, frame = result.per_query, result.frame()
        assert len(calls) == 1
        values.compute()
        frame.compute()
        assert len(calls) == 3


def ids(*values):
    return np.array(values, dtype=object)


class TestSplitQueries:
    @pytest.mark.parametrize("kind", [np.int32, np.float64, "str", object])
    def test_are_rejected_by_evaluate(self, kind):
        rows = [5, len(SCORES) - 5]
        labels, scores, qid = (chunked(values, rows) for values in (DATA.labels, SCORES, DATA.qid.astype(kind)))
        with pytest.raises(ValueError, match=r"partitions 0 and 1"):
            evaluate("mrr", labels, scores, qid=qid)

    @pytest.mark.parametrize(
        ("parts", "query", "places"),
        [
            (np.split(np.repeat([3, 1, 2, 4, 5, 1, 2], 2), 7), "1", "1 and 5 (2 queries"),
            ([*np.arange(40)[:, None], np.array([0])], "0", "0 and 40"),
            ([np.array([1, 2], np.int32), np.array([2.0, 3.0])], "2", "0 and 1"),
            ([np.array([0.5, 2.0]), np.array([2.0, 3.0])], "2.0", "0 and 1"),
            ([ids(1, "a"), np.array([2, 1])], "1", "0 and 1"),
            ([ids(1, "a"), np.array([1.0])], "1", "0 and 1"),
            ([ids(1, "a"), ids(1, "b")], "1", "0 and 1"),
            ([ids(2**70, 5), np.array([5])], "5", "0 and 1"),
        ],
    )
    def test_are_found_among_ids_of_any_kind(self, parts, query, places):
        with pytest.raises(ValueError, match=f"query {query} ") as caught:
            validate_whole_queries([dask.delayed(part) for part in parts])
        assert f"partitions {places}" in str(caught.value)

    def test_are_counted(self):
        with pytest.raises(ValueError, match=r"partitions 0 and 1 \(2 queries are split\)"):
            validate_whole_queries([ids(1, 2), ids(1, 2), ids(3)])

    def test_whole_queries(self):
        validate_whole_queries(list(np.arange(40)[:, None]))
        validate_whole_queries([ids(1, "a"), ids("1", 2), np.array([3])])


DRIVERS = {"lightgbm": LightGBMTrain(), "xgboost": XGBoostTrain()}
WHOLE = {"group": [DATA.group]}


@pytest.fixture(scope="module")
def boosters():
    return {library: driver.train(DATA, {}, None, 12).model for library, driver in DRIVERS.items()}


def predict(booster, number, features=DATA.features):
    """Return raw scores of the library after some rounds."""
    if isinstance(booster, lgb.Booster):
        return booster.predict(features, num_iteration=number, raw_score=True)
    return booster.predict(xgb.DMatrix(features), iteration_range=(0, number), output_margin=True)


@pytest.mark.parametrize("library", DRIVERS)
class TestRounds:
    def test_scores_equal_those_of_the_library_to_the_last_bit(self, boosters, library):
        for features in (DATA.features, DATA.features.astype(np.float32), pd.DataFrame(DATA.features)):
            booster, numbers = boosters[library], (1, 2, 5, 12)
            for number, scores in zip(numbers, predict_stages(booster, numbers, features), strict=True):
                np.testing.assert_array_equal(scores, predict(booster, number, np.asarray(features)))

    def test_curves_equal_evaluations_one_by_one(self, boosters, library):
        cuts, booster = [10, 10, 45], boosters[library]
        before = pickle.dumps(booster)
        metrics = [*PANEL, GAP]
        columns = (cut(DATA.features, cuts), cut(DATA.labels, cuts))
        curves = evaluate_rounds(metrics, booster, *columns, qid=cut(DATA.qid, cuts))
        assert curves.rounds == tuple(range(1, 13))
        for number, values in zip(curves.rounds, curves.values, strict=True):
            mean = gw.evaluate(metrics, DATA.judgments, predict(booster, number)).mean
            np.testing.assert_allclose(values, list(mean.values()), rtol=1e-14)
        frame = curves.frame()
        assert curves.best("mrr") == (frame["mrr"].idxmax(), frame["mrr"].max())
        lowest = frame["first_gap"].idxmin(), frame["first_gap"].min()
        assert curves.best(GAP) == curves.best("first_gap") == lowest
        some = evaluate_rounds(metrics, booster, [DATA.features], [DATA.labels], **WHOLE, rounds=[9, 3])
        assert some.rounds == (3, 9)
        np.testing.assert_allclose(some.values, curves.values[[2, 8]], rtol=1e-14)
        assert pickle.dumps(booster) == before


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_a_lambda_is_sent_to_other_processes(scheduler):
    with dask.config.set(scheduler=scheduler):
        assert evaluated(gw.metric("sent", lambda labels, scores: 1.0)).mean == {"sent": 1.0}


def test_an_error_names_partition_and_query():
    metric = gw.metric("fails", lambda labels, scores: 1 / (len(labels) - int(DATA.group[40])))
    with pytest.raises(ValueError, match=r"in partition \d: .*ZeroDivision"):
        evaluated(metric)


def of_categories(boosters):
    shop = pd.Series(np.where(DATA.labels > 1, "good", "bad"), dtype=pd.CategoricalDtype(["good", "bad"]))
    codes = shop.cat.codes.to_numpy()[:, None]
    matrix = xgb.DMatrix(codes, DATA.labels, qid=DATA.qid, feature_types=["c"], enable_categorical=True)
    frame = pd.DataFrame({"shop": shop.cat.reorder_categories(["bad", "good"])})
    return evaluate_rounds("mrr", xgb.train({"objective": "rank:ndcg"}, matrix, 2), [frame], [DATA.labels], **WHOLE)


def rounds_of(model, features=(DATA.features,), **options):
    return evaluate_rounds(["mrr", "map@10"], model, features, [DATA.labels], **WHOLE, **options)


def in_parts(labels=DATA.labels, scores=SCORES, rows=None, **queries):
    """Evaluate with partitions that end at row `rows` by default."""
    rows = int(ENDS[20]) if rows is None else rows
    parts = [values if isinstance(values, list) else np.split(values, [rows]) for values in (labels, scores)]
    return evaluate("mrr", *parts, **(queries or {"group": np.split(DATA.group, [20])}))


EMPTY, NAN_SCORES = np.zeros(0), np.append(SCORES[:-1], np.nan)
FEW = [SCORES[:3], SCORES[ENDS[20] :]]
NOTHING = [EMPTY, EMPTY]
COLUMNS = da.zeros((4, 2), chunks=(4, 1))
CASES = [
    BadInput("scores in memory", lambda _: evaluate("mrr", [[0]], EMPTY, qid=[[0]]), "scores", TypeError, "ndarray"),
    BadInput("numbers of partitions", lambda _: in_parts(scores=[SCORES]), "scores", ValueError, "1 partition for"),
    BadInput("too few", lambda _: in_parts(scores=FEW), "scores has 3", ValueError, "in partition 0:"),
    BadInput("a query split by groups", lambda _: in_parts(rows=3), "group must sum", ValueError, "in partition"),
    BadInput("NaN", lambda _: in_parts(scores=NAN_SCORES), "1 NaN", ValueError, "in partition 1:"),
    BadInput("texts", lambda _: in_parts([ids("a")], [ids(1.0)], group=[ids(1)]), "labels", TypeError, "partition 0:"),
    BadInput("no document", lambda _: in_parts([EMPTY], [EMPTY], group=[[0, 0]]), "2 entries", ValueError, "is empty"),
    BadInput("no label", lambda _: in_parts([EMPTY], [np.ones(1)], group=[EMPTY]), "scores", ValueError, "is empty"),
    BadInput("nothing", lambda _: in_parts(NOTHING, NOTHING, qid=NOTHING), "labels", ValueError, "in 2 partitions"),
    BadInput("weights of 0", lambda _: evaluated(weight=cut(np.zeros(60), [30])), "weight", ValueError, "every query"),
    BadInput("group and qid", lambda _: evaluated(group=cut(DATA.group, [30])), "qid=", ValueError, "got both"),
    BadInput(
        "columns", lambda _: evaluate("mrr", COLUMNS, COLUMNS, qid=COLUMNS), "labels.rechunk", ValueError, "chunks"
    ),
    BadInput("round 0", lambda models: rounds_of(models["xgboost"], rounds=[0, 3]), "rounds", ValueError, "got 0"),
    BadInput("round 13", lambda models: rounds_of(models["lightgbm"], rounds=[13]), "rounds", ValueError, "got 13"),
    BadInput("a round", lambda models: rounds_of(models["xgboost"], rounds=3), "rounds", TypeError, "rounds=[3]"),
    BadInput("no rounds", lambda models: rounds_of(models["xgboost"], rounds=[]), "rounds", ValueError, "is empty"),
    BadInput("array", lambda models: rounds_of(models["xgboost"], DATA.features), "features", TypeError, "got ndarray"),
    BadInput("blocks", lambda models: rounds_of(models["xgboost"], COLUMNS), "features.rechunk", ValueError, "2"),
    BadInput("categories", of_categories, "in partition 0", ValueError, "splits by category"),
    BadInput("no trees", lambda _: rounds_of(xgb.train({}, xgb_matrix(DATA), 0)), "model", ValueError, "no trees"),
    BadInput("a file", lambda _: rounds_of("model.txt"), "model", TypeError, "got str"),
    BadInput("LGBMRanker", lambda _: rounds_of(lgb.LGBMRanker()), "", ValueError, "fit"),
    BadInput("XGBRanker", lambda _: rounds_of(xgb.XGBRanker()), "", ValueError, "fit"),
    BadInput("best", lambda models: rounds_of(models["xgboost"]).best("map@5"), "'map@5'", ValueError, "'map@10'?"),
    BadInput("best of two", lambda models: rounds_of(models["xgboost"]).best(), "mrr, map@10", ValueError, "got None"),
]


@bad_inputs(CASES)
def test_bad_inputs(case, boosters):
    case.check(boosters)
