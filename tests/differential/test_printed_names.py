"""The number that each library prints by a name of `Convention.prints`, if the library is installed."""

import os
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.metrics.conventions import CONVENTIONS

SIZES = [12, 20, 12, 30, 16]
CUTOFFS = (1, 3, 10)
INSTALLED = ["lightgbm", "xgboost", "catboost", "sklearn", "trec_eval"]
"""Other tests of this folder have the ties, empty queries and weights of these libraries."""
FURTHER = ["ignite", "keras_rs", "recommenders", "lenskit", "torchmetrics"]
pytestmark = pytest.mark.filterwarnings("ignore")


def import_library(name):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def join(queries):
    """Return labels, scores and sizes of queries."""
    labels, scores = (np.concatenate(column) for column in zip(*queries, strict=True))
    return labels, scores, [len(labels) for labels, _ in queries]


def evaluate_lightgbm(printed, queries):
    lgb = import_library("lightgbm")
    labels, scores, sizes = join(queries)
    quiet, (name, _, k) = {"verbose": -1, "num_threads": 1}, printed.partition("@")
    data = lgb.Dataset(np.zeros((len(labels), 1)), labels, group=sizes, init_score=scores, params=quiet)
    options = {"objective": "lambdarank", "metric": name, "eval_at": [int(k)], **quiet}
    return {name: value for _, name, value, _ in lgb.Booster(options, data).eval_train()}[printed]


def evaluate_xgboost(printed, queries):
    xgb = import_library("xgboost")
    labels, scores, sizes = join(queries)
    data = xgb.DMatrix(np.zeros((len(labels), 1)), labels if printed.startswith("ndcg") else labels > 0, nthread=1)
    data.set_group(sizes)
    data.set_base_margin(scores.astype(np.float32))
    metric, *more = printed.split(", ")
    if more and xgb.__version__ < "3":
        pytest.skip("the built-in ndcg of XGBoost 2 does not know ndcg_exp_gain")
    options = dict(option.split("=") for option in more)
    booster = xgb.Booster({"objective": "rank:ndcg", "eval_metric": [metric], "nthread": 1, **options}, [data])
    return float(re.search(r"data-[^:]+:(\S+)", booster.eval_set([(data, "data")]))[1])


def evaluate_catboost(printed, queries):
    labels, scores, sizes = join(queries)
    query = np.repeat(np.arange(len(sizes)), sizes)
    return import_library("catboost.utils").eval_metric(labels, scores, printed, group_id=query)[0]


def evaluate_sklearn(printed, queries):
    name, _, arguments = printed.partition("(")
    metric, options = getattr(import_library("sklearn.metrics"), name), eval(f"dict({arguments}")
    return np.mean([metric([labels], [scores], **options) for labels, scores in queries])


def evaluate_trec_eval(printed, queries):
    qrels, run = {}, {}
    for number, (labels, scores) in enumerate(queries):
        ids = [f"d{row:02}" for row in range(len(labels))]
        qrels[f"q{number}"] = dict(zip(ids, labels.astype(int).tolist(), strict=True))
        run[f"q{number}"] = dict(zip(ids, scores.tolist(), strict=True))
    measure = re.sub(r"_(\d+)$", r".\1", printed)
    values = import_library("pytrec_eval").RelevanceEvaluator(qrels, {measure}).evaluate(run)
    return np.mean([found[printed] for found in values.values()])


def evaluate_ignite(printed, queries):
    rec_sys = import_library("ignite.metrics.rec_sys")
    torch = import_library("torch")
    metric = eval(printed, vars(rec_sys))
    for labels, scores in queries:
        metric.update((torch.tensor(scores)[None], torch.tensor(labels)[None]))
    return metric.compute()[0]


def evaluate_keras_rs(printed, queries):
    metric = eval(printed, vars(import_library("keras_rs").metrics))
    for labels, scores in queries:
        metric.update_state(np.float32(labels)[None], np.float32(scores)[None])
    return float(metric.result())


def evaluate_torchmetrics(printed, queries):
    torch, retrieval = import_library("torch"), import_library("torchmetrics.retrieval")
    metric = eval(printed, vars(retrieval))
    for number, (labels, scores) in enumerate(queries):
        target = torch.tensor(labels).long()
        rows = torch.full(target.shape, number)
        metric.update(torch.tensor(scores), target if "DCG" in printed else target > 0, rows)
    return float(metric.compute())


def evaluate_recommenders(printed, queries):
    module = import_library("recommenders.evaluation.python_evaluation")
    users = [np.full(len(labels), user) for user, (labels, _) in enumerate(queries)]
    labels, scores, _ = join(queries)
    frame = pd.DataFrame({"userID": np.concatenate(users), "itemID": np.arange(len(labels))})
    truth, predicted = frame.assign(rating=labels)[labels > 0], frame.assign(prediction=scores)
    name, _, arguments = printed.partition("(")
    options = eval(f"dict({arguments}")
    return getattr(module, name)(truth, predicted, **options)


def evaluate_lenskit(printed, queries):
    ranking, data = import_library("lenskit.metrics.ranking"), import_library("lenskit.data")
    metric, values = eval(printed, vars(ranking)), []
    for labels, scores in queries:
        ids = np.arange(len(labels))
        order = np.argsort(-scores, kind="stable")
        test = data.ItemList(item_ids=ids[labels > 0], rating=labels[labels > 0])
        values.append(metric.measure_list(data.ItemList(item_ids=ids[order], ordered=True), test))
    return np.nanmean(values)


@pytest.mark.parametrize(
    ("library", "case"),
    [*((library, "distinct") for library in INSTALLED),
     *((library, case) for library in FURTHER for case in ("distinct", "ties", "empty", "binary"))],
)  # fmt: skip
def test_the_library_prints_the_number_of_its_convention(library, case):
    rng = np.random.default_rng(SIZES)
    labels = rng.integers(0, 2 if case == "binary" else 5, sum(SIZES)) * rng.integers(0, 2, sum(SIZES)) * 1.0
    labels[np.cumsum(SIZES) - 3] = 1.0
    scores = rng.permutation(sum(SIZES)) / 32
    if case == "ties" and library in ("ignite", "recommenders", "lenskit"):
        scores = np.floor(scores)
    if case == "empty":
        labels[: SIZES[0]] = 0
    cuts = np.cumsum(SIZES)[:-1]
    queries = list(zip(np.split(labels, cuts), np.split(scores, cuts), strict=True))
    excluded = {"ties": "HitRate", "empty": "AveragePrecision"}.get(case, "-")  # Unstable sort, division by zero.
    prints = {ours: theirs for ours, theirs in CONVENTIONS[library].prints.items() if not theirs.startswith(excluded)}
    judgments = gw.Judgments(labels, group=SIZES)
    for ours, theirs in prints.items():
        for k in CUTOFFS:
            expected = globals()[f"evaluate_{library}"](theirs.format(k=k), queries)
            (found,) = gw.evaluate(ours.format(k=k), judgments, scores, convention=library).mean.values()
            assert found == pytest.approx(expected, rel=1e-9 if library in INSTALLED else 2e-6), (ours, theirs, k)
