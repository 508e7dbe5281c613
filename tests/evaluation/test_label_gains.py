"""Labels that are gains or amounts: one warning per dataset if a metric has an exponential gain."""

import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from tests.cli.shell import gainwise

import gainwise as gw
from gainwise.data import simulate
from gainwise.evaluation.evaluator import describe_gains
from gainwise.lightgbm import feval
from gainwise.xgboost import EvaluateRanking

GAINS = [
    (0, 1, 3, 7, 15),
    (0, 1, 10, 100),
    (0, 2, 4, 8, 16),
    (0, 1, 3, 7),
    (1, 9, 81, 729),
    (0, 3, 9, 27),
    (0, 1, 2.0**500),
]
AMOUNTS = [
    tuple(np.arange(40) * 1.25),
    (*range(33), 2.0**959),
    (0, 5, 50),
    (0, 50, 500),
    (0, 25, 50, 100),
    (0, 100, 200, 300, 400),
    (0, 19.99, 49.5, 120),
    (0, 1, 32),
]
GRADES = [
    (0, 1),
    (0, 1, 3),
    (0, 1, 2, 3, 4),
    (0, 1, 2, 4),
    (0, 1, 2),
    (0, 2, 4),
    tuple(range(11)),
    tuple(range(32)),
    (0, 2, 31),
    (1, 3, 5, 6.5),
    (-2, 0, 1, 3),
    (0, 0.5, 1, 1.5),
    (0, 100),
]


def judge(labels):
    return gw.Judgments([*labels] * 2, group=[len(labels)] * 2, negative_labels="zero")


def list_warnings(call):
    """Return the warnings about gains of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught if issubclass(warning.category, gw.GainLabelsWarning)]


def simulate_gains():
    """Return data with the labels 0, 1, 3, 7 and 15."""
    data = simulate(40, seed=1)
    return gw.RankingData(data.features, 2**data.labels - 1, group=data.group)


@pytest.mark.parametrize("labels", [*GAINS, *AMOUNTS])
def test_gains(labels):
    judgments = judge(labels)
    scores = range(judgments.documents)
    assert list_warnings(lambda: gw.evaluate("ndcg_linear@10", judgments, scores)) == []
    if max(labels) < 900:
        (message,) = list_warnings(lambda: gw.evaluate(["ndcg_linear@10", "ndcg_exp@10"], judgments, scores))
        assert "look like" in message
        assert list_warnings(lambda: gw.evaluate("err(max_label=999)", judgments, scores)) == []
    else:  # The exponential gain overflows, which is an error.
        assert describe_gains(judgments.levels) is not None


@pytest.mark.parametrize("labels", GRADES)
def test_grades(labels):
    judgments = judge(labels)
    assert list_warnings(lambda: gw.evaluate("ndcg_exp@10", judgments, range(judgments.documents))) == []


def test_the_warning_names_the_line_of_the_caller():
    with pytest.warns(gw.GainLabelsWarning, match="labels 0, 1, 10 and 100 look like gains") as caught:
        gw.evaluate("ndcg_exp", judge((0, 1, 10, 100)), range(8))
    assert caught[0].filename == __file__


def train_lightgbm(data):
    train = lgb.Dataset(data.features, data.labels, group=data.group)
    parameters = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    lgb.train(parameters, train, 3, valid_sets=[train], feval=feval(["ndcg_linear@10", "ndcg_exp@10"]))


def train_xgboost(data):
    names = [f"x{number}" for number in range(data.features.shape[1])]
    features = pd.DataFrame(data.features, columns=names)
    train = xgb.DMatrix(features, data.labels, qid=data.qid)
    evaluate = EvaluateRanking({"valid": (features, data.labels, data.qid)}, ["ndcg_exp@10", "ndcg_linear@10"])
    xgb.train({"objective": "rank:pairwise", "nthread": 1}, train, 3, callbacks=[evaluate], verbose_eval=False)


@pytest.mark.parametrize(
    "call",
    [
        train_lightgbm,
        train_xgboost,
        lambda data: gw.compare({"A": data.features[:, 0], "B": data.features[:, 1]}, data.judgments()).verdict,
        lambda data: gw.compare({"A": data.features[:, 0], "B": data.features[:, 1]}, data.judgments()).sensitivity(),
        lambda data: gw.disagreement_bound(data.judgments()),
        lambda data: gw.evaluate("ndcg_exp", data.judgments(), data.features[:, 0]),
        lambda data: gw.Evaluator("err(max_label=15)", data.judgments()),
    ],
)
def test_every_function_warns_once_per_dataset(call):
    assert len(list_warnings(lambda: call(simulate_gains()))) == 1
    assert list_warnings(lambda: call(simulate(40, seed=1))) == []


@pytest.mark.slow
def test_an_experiment_warns_once_per_evaluated_part():
    train, valid, test = simulate_gains().split_queries(0.5, 0.25, 0.25, seed=1)
    candidates = [gw.Candidate(name, "lightgbm", {"num_leaves": leaves}) for name, leaves in (("A", 4), ("B", 8))]

    def run():
        result = gw.Experiment(candidates, train, valid, test, num_boost_round=2).run(progress=False)
        result.comparison.content  # noqa: B018

    assert len(list_warnings(run)) == 2


@pytest.mark.slow
def test_commands_warn(tmp_path):
    path = tmp_path / "table.csv"
    rows = {"query": [0] * 4 + [1] * 4, "label": [0, 1, 10, 100] * 2, "a": np.linspace(0, 1, 8)}
    pd.DataFrame(rows).to_csv(path, index=False)
    for command in ("compare", "bound"):
        result = gainwise(f"{command} --table {path}")
        assert (result.exit_code, result.stderr.count("look like gains")) == (0, 1), result.stderr
