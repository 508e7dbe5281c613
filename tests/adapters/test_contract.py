"""The behavior of all adapters: values, stopping rounds, returned models, copies and threads."""

import copy
import math
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from tests.adapters.drivers import (
    EVALUATORS,
    LIGHTGBM,
    TRAININGS,
    XGBOOST,
    XGBoostCustomMetric,
    curve_values,
    make_part,
)
from tests.custom_metrics import GAP, Missed

import gainwise as gw

pytestmark = pytest.mark.slow

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@5", "map@10", "mrr", "ndcg_power(gain_base=1.5)@10"]
OPTIONS = [
    *PANEL,
    "map(ties=worst,denominator=R)@10",
    "err(max_label=4)@10",
    "mrr(empty=skip)",
    "dcg_exp",
    "precision@5",
]
TRAIN, VALID, WEIGHTED = make_part(1, 50), make_part(6), make_part(7, weighted=True)
SETS = {"valid": VALID, "other": WEIGHTED}
ROUNDS = 25
FAR_TOO_LONG = 30.0
"""A learning rate that makes a good model a bad one."""


def pages(ranks):
    return 0.5 ** ((ranks - 1) // 4)


MISSED = Missed(gain="exponential", k=3)
CUSTOM = [GAP, MISSED, gw.NDCG(gain=(0, 1, 3, 7, 15), discount=pages, k=8)]
WATCHED = ["mrr", "ndcg_exp@10", GAP, MISSED]
"""Metrics of trainings that stop early."""

evaluators = pytest.mark.parametrize("adapter", EVALUATORS, ids=lambda adapter: adapter.id)
trainings = pytest.mark.parametrize("adapter", TRAININGS, ids=lambda adapter: adapter.id)


def some_trainings(*capabilities, of=TRAININGS):
    """Parametrize over the trainings that have all of these capabilities."""
    having = [adapter for adapter in of if all(getattr(adapter, name) for name in capabilities)]
    return pytest.mark.parametrize("adapter", having, ids=lambda adapter: adapter.id)


def make_scores(part, seed=0, distinct=6):
    """Scores with many ties that are not exact in binary."""
    return np.random.default_rng(seed).integers(-distinct, distinct, len(part.labels)) / 7


def expected_values(metrics, part, scores, **options):
    return gw.evaluate(metrics, part.judgments, scores, **options).mean


def close(values, tolerance):
    return pytest.approx(values, rel=tolerance, abs=0) if tolerance else values


# Values of given scores


@evaluators
@pytest.mark.parametrize("part", [VALID, WEIGHTED], ids=["unweighted", "weighted"])
def test_values_are_those_of_evaluate(adapter, part):
    metrics = [name for name in OPTIONS if name != "mrr(empty=skip)" or adapter.id != "CatBoostEvalMetric"]
    scores = make_scores(part)
    values = adapter.call(adapter.make(metrics, part), part, scores)
    assert values == close(expected_values(metrics, part, scores), adapter.tolerance)


@evaluators
@pytest.mark.parametrize("convention", ["lightgbm", "xgboost", "catboost"])
def test_conventions_read_names_as_the_library_does(adapter, convention):
    name = "map@5" if convention == "xgboost" else "ndcg@5"
    scores = make_scores(VALID)
    values = adapter.call(adapter.make([name, "map@3"], VALID, convention=convention), VALID, scores)
    assert values == close(expected_values([name, "map@3"], VALID, scores, convention=convention), adapter.tolerance)


@evaluators
def test_negative_labels_are_rejected_or_count_as_0(adapter):
    part = VALID._replace(labels=VALID.labels - 1)
    zero = VALID._replace(labels=np.maximum(part.labels, 0))
    scores = make_scores(VALID)
    with pytest.raises(ValueError, match="labels must not"):
        adapter.call(adapter.make(["mrr", "map"], part), part, scores)
    values = adapter.call(adapter.make(["mrr", "map"], part, negative_labels="zero"), part, scores)
    assert values == close(expected_values(["mrr", "map"], zero, scores), adapter.tolerance)


@evaluators
def test_custom_metrics(adapter):
    scores = make_scores(VALID)
    values = adapter.call(adapter.make(CUSTOM, VALID), VALID, scores)
    expected = expected_values(CUSTOM, VALID, scores)
    if adapter.id == "Scorer":
        expected = {f"neg_{name}" if at < 2 else name: -value if at < 2 else value
                    for at, (name, value) in enumerate(expected.items())}  # fmt: skip
    assert values == close(expected, adapter.tolerance)


@pytest.mark.parametrize("adapter", [one for one in EVALUATORS if one.safe_names], ids=lambda adapter: adapter.id)
def test_safe_names_have_the_same_values(adapter):
    metrics = ["ndcg_exp(ties=worst)@5", "mrr", "rbp(p=0.5)"]
    plain, safe = (
        adapter.call(adapter.make(metrics, VALID, names=names), VALID, make_scores(VALID))
        for names in ("plain", "safe")
    )
    assert list(plain) == metrics
    assert list(safe) == ["ndcg_exp__ties_is_worst_at_5", "mrr", "rbp__p_is_0_dot_5"]
    assert list(safe.values()) == list(plain.values())


@pytest.mark.parametrize("adapter", [one for one in EVALUATORS if one.pickles], ids=lambda adapter: adapter.id)
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_copies_and_pickles_return_the_same_values(adapter, duplicate):
    metrics, part = [*PANEL, *CUSTOM], WEIGHTED._replace(labels=WEIGHTED.labels - 1)
    made, scores = adapter.make(metrics, part, negative_labels="zero"), make_scores(part)
    assert adapter.call(duplicate(made), part, scores) == adapter.call(made, part, scores)
    assert adapter.call(duplicate(duplicate(made)), part, scores) == adapter.call(made, part, scores)


@pytest.mark.parametrize("adapter", [one for one in EVALUATORS if one.pickles], ids=lambda adapter: adapter.id)
def test_a_lambda_can_be_copied_but_not_pickled(adapter):
    metric = gw.metric("of_lambda", lambda labels, scores: float(scores.max()))
    made = adapter.make([metric], VALID)
    assert adapter.call(copy.deepcopy(made), VALID, make_scores(VALID)) == adapter.call(made, VALID, make_scores(VALID))
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(made)


@evaluators
def test_threads_share_an_adapter(adapter):
    """Each thread has separate data if several datasets share an adapter."""
    made = adapter.make(PANEL, VALID)
    parts = [VALID, make_part(5), WEIGHTED] if adapter.partial_data and adapter.id != "DaskEvaluate" else [VALID]
    tasks = [(part, make_scores(part, seed)) for seed in range(6) for part in parts]
    with ThreadPoolExecutor(6) as pool:
        values = list(pool.map(lambda task: adapter.call(made, *task), tasks))
    expected = [expected_values(PANEL, part, scores) for part, scores in tasks]
    assert all(one == close(other, adapter.tolerance) for one, other in zip(values, expected, strict=True))


@evaluators
def test_an_error_names_the_query_and_keeps_its_cause(adapter):
    metric = gw.metric("broken", lambda labels, scores: 1 / 0)
    with pytest.raises(ValueError, match="query 0") as caught:
        adapter.call(adapter.make([metric], VALID), VALID, make_scores(VALID))
    assert "ZeroDivisionError" in str(caught.value)


@evaluators
def test_nan_scores_are_rejected_with_row_and_query(adapter):
    scores = make_scores(VALID)
    scores[VALID.group[0] + 1] = np.nan
    with pytest.raises(ValueError, match="1 NaN") as caught:
        adapter.call(adapter.make(["mrr"], VALID), VALID, scores)
    assert f"row {VALID.group[0] + 1} (query 1)" in str(caught.value)


# Trainings


def metric_sets(adapter, metrics):
    return [metrics] if adapter.several_metrics else [[metric] for metric in metrics]


@cache
def whole(adapter, metrics=tuple(PANEL), rounds=ROUNDS):
    """A training without early stopping."""
    return adapter.train(TRAIN, SETS, list(metrics), rounds)


def train(adapter, metrics=PANEL, rounds=ROUNDS, part=TRAIN, sets=SETS, **options):
    return adapter.train(part, sets, metrics, rounds, **options)


def stopping_rule(curve, patience, total, *, higher=True, min_delta=0.0, every=1, before=None):
    """Return the best round and the last one, counted from 1. Round 0 is the model that is continued."""
    best_round, best, seen = 0, before, 0
    for number in range(1, total + 1):
        if (number - 1) % every == 0:
            seen, value = number, curve[(number - 1) // every]
            gain = math.inf if best is None else value - best if higher else best - value
            if gain > min_delta:
                best_round, best = number, value
        if seen > best_round and number - best_round >= patience:
            return best_round, number
    return best_round, total


@trainings
def test_every_round_has_the_values_of_the_model_with_so_many_rounds(adapter):
    for metrics in metric_sets(adapter, PANEL):
        run = train(adapter, metrics, 6)
        for name, part in SETS.items():
            assert list(run.curves[name]) == metrics
            for number in range(1, 7):
                scores = adapter.predict(run.model, part.features, number)
                values = {metric: run.curve(name, metric)[number - 1] for metric in metrics}
                assert values == pytest.approx(expected_values(metrics, part, scores), **adapter.tolerance)


@trainings
def test_the_model_is_the_one_that_the_library_trains_alone(adapter):
    alone = adapter.train(TRAIN, {}, None, 6)
    run = train(adapter, PANEL[:1], 6)
    for number in (1, 6):
        expected = adapter.predict(alone.model, VALID.features, number)
        np.testing.assert_array_equal(adapter.predict(run.model, VALID.features, number), expected)


def check_stop(adapter, run, full, dataset, metric, rule):
    """Compare a stopped training with the expected rounds and with the same training without early stopping."""
    best, last = rule
    curve = full.curve(dataset, metric)
    assert run.curves == {
        name: {key: values[:last] for key, values in history.items()} for name, history in full.curves.items()
    }
    assert run.best == best
    assert adapter.best_value(run, dataset, metric) == curve[best - 1]
    expected = adapter.predict(full.model, VALID.features, best)
    np.testing.assert_array_equal(adapter.predict(run.model, VALID.features, run.best), expected)


@trainings
@pytest.mark.parametrize("metric", WATCHED, ids=str)
def test_stops_at_the_first_best_round(adapter, metric):
    metrics = WATCHED if adapter.several_metrics else [metric]
    full = whole(adapter, tuple(metrics))
    higher = isinstance(metric, str)
    rule = stopping_rule(full.curve("other", str(metric)), 4, ROUNDS, higher=higher)
    run = train(adapter, metrics, stop={"metric": metric, "rounds": 4, "dataset": "other"})
    check_stop(adapter, run, full, "other", str(metric), rule)


@some_trainings("callbacks")
@pytest.mark.parametrize("metric", ["ndcg_exp@10", MISSED], ids=str)
@pytest.mark.parametrize(
    ("patience", "min_delta"), [(3, 0.005), (3, 0.5), (100, 0.0)], ids=["small gains", "no gain counts", "to the end"]
)
def test_stops_by_the_rule_of_min_delta(adapter, patience, min_delta, metric):
    full, options = whole(adapter, tuple(WATCHED)), {"rounds": patience, "dataset": "valid", "min_delta": min_delta}
    run = train(adapter, WATCHED, stop={"metric": metric, **options})
    higher = metric is not MISSED
    rule = stopping_rule(full.curve("valid", str(metric)), patience, ROUNDS, min_delta=min_delta, higher=higher)
    check_stop(adapter, run, full, "valid", str(metric), rule)


@some_trainings("every")
@pytest.mark.parametrize(("every", "patience"), [(3, 4), (10, 2), (4, 100)])
def test_every_evaluates_and_stops_by_boosting_rounds(adapter, every, patience):
    full, metric = whole(adapter), "mrr"
    sparse = {name: {key: curve[::every] for key, curve in history.items()} for name, history in full.curves.items()}
    assert train(adapter, every=every).curves == sparse
    best, last = stopping_rule(sparse["valid"][metric], patience, ROUNDS, every=every)
    run = train(adapter, every=every, stop={"metric": metric, "rounds": patience, "dataset": "valid"})
    assert run.best == best
    assert run.curve("valid", metric) == sparse["valid"][metric][: (last - 1) // every + 1]


@some_trainings("safe_names", "callbacks")
@pytest.mark.parametrize("names", ["plain", "safe"])
@pytest.mark.parametrize("metric", ["ndcg_exp@10", "ndcg_exp_at_10"])
def test_stops_on_either_name(adapter, names, metric):
    full = whole(adapter)
    rule = stopping_rule(full.curve("valid", "ndcg_exp@10"), 4, ROUNDS)
    run = train(adapter, names=names, stop={"metric": metric, "rounds": 4, "dataset": "valid"})
    logged = "ndcg_exp@10" if names == "plain" else "ndcg_exp_at_10"
    assert (run.best, len(run.curve("valid", logged))) == rule


@some_trainings("callbacks", of=[LIGHTGBM[0], *XGBOOST[:2]])
def test_one_stop_serves_several_trainings_and_threads(adapter):
    options = {"metric": "mrr", "rounds": 4, "dataset": "valid", "verbose": False}
    stop = adapter.module.early_stopping(**options)
    rates = [0.05, 0.3, 0.9]

    def outcome(eta, stop):
        run = train(adapter, rounds=12, eta=eta, stop=stop)
        return run.best, run.best_score, run.curves

    expected = [outcome(eta, options) for eta in rates]
    assert [outcome(eta, stop) for eta in rates] == expected
    assert [outcome(eta, pickle.loads(pickle.dumps(stop))) for eta in rates[:1]] == expected[:1]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda eta: outcome(eta, stop), rates)) == expected


# Continued trainings


@cache
def start(adapter, rounds=8):
    return adapter.train(TRAIN, {}, None, rounds)


def continued(
    adapter, metric, patience, rounds=6, start_rounds=8, sets=SETS, metrics=PANEL, eta=FAR_TOO_LONG, **options
):
    """Continue a model. Return the training, the values before it, and the scores of the initial model."""
    before = start(adapter, start_rounds)
    stop = {"metric": metric, "rounds": patience, "dataset": "valid", **options.pop("stopping", {})}
    run = train(adapter, metrics, rounds, sets=sets, stop=stop, start=adapter.booster(before.model), eta=eta, **options)
    scores = adapter.predict(before.model, VALID.features, start_rounds)
    return run, expected_values(metrics, VALID, scores), scores


@some_trainings("continues")
@pytest.mark.parametrize("metric", ["ndcg_exp@10", "map@10"])
def test_a_worse_model_than_the_continued_one_is_not_the_best(adapter, metric):
    run, before, scores = continued(adapter, metric, 3)
    assert max(run.curve("valid", metric)) < before[metric]
    assert len(run.curve("valid", metric)) == 3
    assert run.best == 8
    assert adapter.best_value(run, "valid", metric) == pytest.approx(before[metric], **adapter.tolerance)
    np.testing.assert_array_equal(adapter.predict(run.model, VALID.features, 8), scores)


@some_trainings("continues")
@pytest.mark.parametrize(("eta", "min_delta"), [(0.1, 0.0), (0.1, 0.9)], ids=["better", "not by min_delta"])
def test_a_continued_training_counts_all_rounds(adapter, eta, min_delta):
    metric = "ndcg_exp@10"
    run, before, _ = continued(adapter, metric, 100, 8, 2, eta=eta, stopping={"min_delta": min_delta})
    best, _ = stopping_rule(run.curve("valid", metric), 100, 8, min_delta=min_delta, before=before[metric])
    assert (best > 0) is (min_delta == 0)
    assert run.best == 2 + best


@some_trainings("continues", "safe_names")
def test_a_continued_training_with_safe_names_and_negative_labels(adapter):
    part = VALID._replace(labels=VALID.labels - 1, weight=0.5 + np.arange(len(VALID.group)) % 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # A warning would state that the initial model has no value.
        run, _, scores = continued(
            adapter, "ndcg_exp@10", 2, 3, sets={"valid": part}, names="safe", negative_labels="zero"
        )
    zero = part._replace(labels=np.maximum(part.labels, 0))
    assert run.best == 8
    expected = expected_values("ndcg_exp@10", zero, scores)["ndcg_exp@10"]
    assert adapter.best_value(run, "valid", "ndcg_exp_at_10") == pytest.approx(expected, **adapter.tolerance)


@some_trainings("callbacks")
@pytest.mark.parametrize("continues", [False, True])
def test_a_metric_without_values_warns_and_stops_nothing(adapter, continues):
    metric = gw.NDCG(gain="linear", k=10, empty="skip")
    sets = {"held_out": VALID._replace(labels=np.zeros(len(VALID.labels)))}
    before = adapter.booster(start(adapter).model) if continues else None
    with pytest.warns(UserWarning, match="only NaN"):
        run = train(adapter, [metric], 4, sets=sets, stop={"metric": metric, "rounds": 2}, start=before)
    assert not run.best
    assert adapter.rounds(run.model) == (12 if continues else 4)


# Curves


@some_trainings("callbacks")
def test_curves_have_every_value_and_change_no_training(adapter):
    full, curves = whole(adapter), adapter.module.Curves(show=False)
    run = train(adapter, callbacks=[curves])
    assert curve_values(curves.frame()) == run.curves == full.curves
    assert curves.rounds == ROUNDS
    for row in curves.best.itertuples():
        assert row.round == int(np.argmax(run.curves[row.dataset][row.metric])) + 1
    np.testing.assert_array_equal(
        adapter.predict(run.model, VALID.features), adapter.predict(full.model, VALID.features)
    )
    again = pickle.loads(pickle.dumps(curves))
    assert curve_values(again.frame()) == run.curves
    assert str(again) == str(curves)


@some_trainings("every", "callbacks")
def test_curves_know_the_rounds_that_were_evaluated(adapter):
    curves = adapter.module.Curves(show=False)
    train(adapter, ["mrr"], 11, every=5, callbacks=[curves])
    assert curves.frame()["round"].unique().tolist() == [1, 6, 11]
    assert curves.rounds == 11


@some_trainings("continues")
def test_curves_count_the_rounds_of_a_continued_model(adapter):
    curves = adapter.module.Curves(show=False)
    train(adapter, ["mrr"], 3, start=adapter.booster(start(adapter).model), callbacks=[curves])
    assert curves.frame()["round"].unique().tolist() == [9, 10, 11]


@some_trainings("callbacks")
@pytest.mark.parametrize("curves_first", [True, False])
def test_curves_count_down_to_the_stop(adapter, curves_first):
    stops, kind = [], adapter.module.Curves
    hook = "__call__" if adapter in LIGHTGBM else "after_iteration"

    def note(curves, *arguments):
        getattr(kind, hook)(curves, *arguments)
        stops.append(None if curves._model is None else curves._create_view().patience)
        return False

    curves = type("CountingDown", (kind,), {hook: note})(["ndcg_exp@10"], show=False)
    stop = adapter.module.early_stopping("mrr", 4, dataset="valid", verbose=False)
    run = train(adapter, callbacks=[curves, stop] if curves_first else [stop, curves])
    curve = run.curve("valid", "mrr")
    assert curves.rounds == len(curve) < ROUNDS
    assert curve_values(curves.frame()) == run.curves
    assert f"kept round {np.argmax(curve) + 1}: {max(curve):.4f} (mrr)" in curves._repr_html_()
    if adapter in LIGHTGBM or curves_first:
        for number, shown in list(enumerate(stops, start=1))[1:]:
            assert shown == ("mrr", 4 - (number - 1 - int(np.argmax(curve[:number]))), 4)


@some_trainings("callbacks")
@pytest.mark.parametrize("theirs", [False, True])
def test_one_line_comes_at_the_end_where_there_is_no_terminal(adapter, theirs, capsys):
    curves = adapter.module.Curves(name="small")
    stop = adapter.module.early_stopping("mrr", 3, dataset="valid", verbose=False)
    train(adapter, callbacks=[curves, *([] if theirs else [stop])])
    out, error = capsys.readouterr()
    best = curves.best[curves.best["dataset"] == "valid"].set_index("metric")
    linear, exp = best.loc["ndcg_linear@10"], best.loc["ndcg_exp@10"]
    assert out == ""
    values = (
        f"ndcg_linear@10 is best at round {linear['round']} ({linear.value:.4f}), "
        f"ndcg_exp@10 at round {exp['round']} ({exp.value:.4f}), on valid over {curves.rounds} rounds."
    )
    mrr = best.loc["mrr"]
    kept = "" if theirs else f" Early stopping kept round {mrr['round']}: {mrr.value:.4f} (mrr)."
    assert error.startswith(f"small: {values}{kept} ")
    assert error.count("\n") == 1
    train(adapter, rounds=3, callbacks=[adapter.module.Curves(show=False)])
    assert capsys.readouterr().err == ""


# Diverging trainings


DIVERGING = [
    (adapter, {"objective": "regression_l1"} if adapter in LIGHTGBM else {"lambda": 0, "min_child_weight": 0})
    for adapter in [*LIGHTGBM[:2], *XGBOOST]
]


@pytest.mark.parametrize(("adapter", "params"), DIVERGING, ids=[adapter.id for adapter, _ in DIVERGING])
@pytest.mark.parametrize("continues", [False, True])
def test_a_diverging_model_ends_with_its_round_and_dataset(adapter, params, continues):
    """An excessive learning rate makes scores NaN."""
    eta, options = (1e100 if adapter in LIGHTGBM else 3e38), {"params": params}
    if continues:
        options["start"] = adapter.booster(adapter.train(TRAIN, {}, None, 3, params=params, eta=0.1).model)
    with pytest.raises(ValueError, match="NaN among") as caught:
        train(adapter, rounds=20, eta=eta, callbacks=[adapter.module.Curves(show=False)], **options)
    assert str(caught.value).startswith("in boosting round ")
    has_no_name = adapter in LIGHTGBM or isinstance(adapter, XGBoostCustomMetric)  # The library passes no name.
    place = f"the dataset of {len(VALID.group)} queries" if has_no_name else "'valid'"
    assert f"on {place}" in str(caught.value)
    complete = int(str(caught.value).split()[3]) - 1
    assert len(train(adapter, rounds=complete, eta=eta, **options).curve("valid", "mrr")) == complete > 1
