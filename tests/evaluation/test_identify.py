"""`identify` finds the definition and the mistake that gave a number, and matches few unrelated numbers."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.evaluation.printed_numbers import parse_printed
from gainwise.metrics.conventions import CONVENTIONS

LOGGED = [("lightgbm", "ndcg_exp@{k}"), ("sklearn", "ndcg_linear@{k}"), ("trec_eval", "map@{k}")]
KINDS = ("ties", "empty", "weights", "binary", "unjudged")


def make_data(kind, seed, queries=120):
    """Return judgments and scores of graded documents, with ties, or with empty queries, weights and so on."""
    rng = np.random.default_rng((KINDS.index(kind), seed))
    sizes = rng.integers(8, 40, queries)
    grades = [0, 1] if kind == "binary" else [0, 1, 2, 3, 4]
    labels = rng.choice(grades, sizes.sum(), p=[0.8, 0.2] if kind == "binary" else [0.6, 0.18, 0.12, 0.06, 0.04]) * 1.0
    if kind == "empty":
        labels *= np.repeat(rng.random(queries) > 0.15, sizes)
    scores = labels * 0.4 + rng.normal(size=len(labels))
    if kind == "unjudged":
        judged = rng.random(len(labels)) < 0.7
        scores = np.where(rng.random(len(labels)) < 0.3, -np.inf, scores)
        return gw.Judgments(np.where(judged, labels, 0), group=sizes, judged=judged), scores
    weight = rng.integers(1, 9, queries) if kind == "weights" else None
    return gw.Judgments(labels, group=sizes, weight=weight), np.round(scores, 1) if kind == "ties" else scores


def evaluate(metric, judgments, scores, convention=None):
    (value,) = gw.evaluate(metric, judgments, scores, convention=convention).mean.values()
    return value


def list_printed(judgments, cutoffs):
    """Yield library, its name of a metric, and the metric."""
    graded = judgments.levels[-1] > 1
    for library, convention in CONVENTIONS.items():
        for own, printed in convention.prints.items():
            (metric,) = gw.parse_metrics(own.format(k=5), convention=library)
            if not (graded and convention.binary_only and hasattr(metric, "min_label")):
                for k in cutoffs if "{k}" in own else (None,):
                    yield library, printed.format(k=k), own.format(k=k)


def finds(result, library, printed):
    first = result.matches[result.matches["line"] == 0]
    return ((first["library"] == CONVENTIONS[library].title) & (first["name"] == printed)).any()


def plant_mistakes(judgments, scores):
    """Yield the word that the advice must contain, and the data after a mistake."""
    labels, sizes, weights = judgments.labels, judgments.sizes, judgments.weights
    rows = np.arange(len(scores))

    def rebuild(labels=labels, group=sizes, weight=weights):
        return gw.Judgments(labels, group=group, weight=weight)

    yield "direction", judgments, -scores
    yield "order", judgments, -rows
    yield "row", judgments, np.roll(scores, 1)
    yield "row", judgments, np.roll(scores, -1)
    yield "groups", rebuild(group=[len(scores)], weight=None), scores
    yield "first query", gw.Judgments(labels[: sizes[0]], group=sizes[:1]), scores[: sizes[0]]
    yield "mean over documents", rebuild(weight=sizes), scores
    if weights is not None:
        yield "weights", rebuild(weight=None), scores
    if judgments.levels[-1] > 1:
        yield "gains", rebuild(2.0**labels - 1), scores


def count_identified_cases(count, seed=1):
    """Return the numbers of cases, of those found with the line of a log, and of those found with the bare number."""
    rng = np.random.default_rng(seed)
    found = np.zeros(2, dtype=int)
    for number in range(count):
        judgments, scores = make_data(KINDS[number % len(KINDS)], number)
        printed = list(list_printed(judgments, (1, 3, 5, 10, 20, 50)))
        library, name, own = printed[rng.integers(len(printed))]
        value = f"{evaluate(own, judgments, scores, library):.4f}"
        texts = (f"{CONVENTIONS[library].title} {name}: {value}", value)
        found += [finds(gw.identify(text, judgments, scores), library, name) for text in texts]
    return found


def count_unrelated_matches(count, seed=2):
    """Return the number of unrelated numbers, half of them with a name, that match without a warning."""
    rng = np.random.default_rng(seed)
    matches = 0
    for number in range(count):
        value = f"{rng.uniform(0.1, 0.95):.4f}"
        text = value if number % 2 else f"NDCG@10 = {value}"
        result = gw.identify(text, *make_data(KINDS[number % len(KINDS)], number))
        matches += bool(len(result.matches)) and "may be" not in result.text
    return matches


def count_identified_mistakes(count, seed=3):
    """Return the number of mistakes that are found with the line of a log."""
    rng = np.random.default_rng(seed)
    found, planted = 0, 0
    while planted < count:
        judgments, scores = make_data(KINDS[planted % 4], planted)
        mistakes = list(plant_mistakes(judgments, scores))
        word, other, changed = mistakes[(planted // 4) % len(mistakes)]
        library, own = LOGGED[rng.integers(len(LOGGED))]
        name, k = CONVENTIONS[library].prints[own], rng.choice([5, 10, 20])
        value = evaluate(own.format(k=k), other, changed, library)
        text = f"{CONVENTIONS[library].title} {name.format(k=k)}: {value:.4f}"
        result = gw.identify(text, judgments, scores)
        found += len(result.matches) > 0 and word in result.matches["check"].iloc[0]
        planted += 1
    return found


class TestIdentify:
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_number_of_every_convention(self, kind):
        judgments, scores = make_data(kind, 5)
        for library, name, own in list_printed(judgments, (10,)):
            value = evaluate(own, judgments, scores, library)
            result = gw.identify(f"{CONVENTIONS[library].title} {name}: {value:.4f}", judgments, scores)
            assert finds(result, library, name), (library, name)
            reproduced = evaluate(result.matches["metric"].iloc[0], judgments, scores)
            assert reproduced == pytest.approx(value, abs=5.1e-5)

    @pytest.mark.filterwarnings("error")
    def test_no_warning_of_labels_that_the_search_made(self):
        judgments, scores = make_data("ties", 5)  # grades, whose gains are labels after a mistake
        value = evaluate("ndcg_linear@5", gw.Judgments(2**judgments.labels - 1, group=judgments.sizes), -scores)
        gw.identify(f"{value:.4f}", judgments, scores)

    def test_several_numbers_restrict_the_search(self):
        judgments, scores = make_data("ties", 1)
        values = {k: evaluate(f"ndcg_linear@{k}", judgments, scores) for k in (3, 7)}
        result = gw.identify({f"ndcg@{k}": round(value, 3) for k, value in values.items()}, judgments, scores)
        assert "ndcg_score(k=3), ndcg_score(k=7)" in set(result.matches["name"])
        assert gw.identify({"ndcg@3": values[3], "ndcg@7": values[7] + 0.01}, judgments, scores).matches.empty

    def test_weights_of_empty_queries_in_lightgbm(self):
        """LightGBM adds 1 for a query without relevant documents, whatever its weight is."""
        lgb = pytest.importorskip("lightgbm")
        judgments, scores = make_data("empty", 2)
        weights = np.random.default_rng(0).integers(1, 9, judgments.queries)
        rows = np.repeat(weights, judgments.sizes)
        quiet = {"verbose": -1, "num_threads": 1, "objective": "lambdarank", "metric": "ndcg", "eval_at": [10]}
        features = np.zeros((len(rows), 1))
        data = lgb.Dataset(
            features, judgments.labels, group=judgments.sizes, weight=rows, init_score=scores, params=quiet
        )
        value = lgb.Booster(quiet, data).eval_train()[0][2]
        weighted = gw.Judgments(judgments.labels, group=judgments.sizes, weight=weights)
        result = gw.identify(f"valid_0's ndcg@10: {value:.5f}", weighted, scores, metric="ndcg_exp@10")
        assert finds(result, "lightgbm", "ndcg@10")
        assert result.steps["effect"].sum() == pytest.approx(
            value - evaluate("ndcg_exp@10", weighted, scores), abs=1e-6
        )

    @pytest.mark.parametrize("metric", ["ndcg@10-", "ndcg-"])
    def test_xgboost_counts_queries_without_relevant_documents_as_0_on_request(self, metric):
        xgb = pytest.importorskip("xgboost")
        judgments, scores = make_data("empty", 2)
        data = xgb.DMatrix(np.zeros((len(scores), 1)), judgments.labels, base_margin=scores.astype(np.float32))
        data.set_group(judgments.sizes)
        booster = xgb.Booster({"objective": "rank:ndcg", "eval_metric": [metric]}, [data])
        result = gw.identify(booster.eval_set([(data, "valid")]), judgments, scores)
        assert finds(result, "xgboost", metric)

    def test_several_numbers_are_compared_with_your_metric_at_its_cutoff(self):
        judgments, scores = make_data("empty", 3)
        values = {k: evaluate(f"ndcg@{k}", judgments, scores, "lightgbm") for k in (5, 10)}
        line = " ".join(f"valid_0's ndcg@{k}: {value:.6f}" for k, value in values.items())
        result = gw.identify(line, judgments, scores, metric="ndcg_linear@10")
        assert list(result.steps["option"][result.steps["effect"] != 0]) == ["gain", "empty"]
        difference = values[10] - evaluate("ndcg_linear@10", judgments, scores)
        assert result.steps["effect"].sum() == pytest.approx(difference, abs=1e-6)
        assert "Changes to ndcg@10: gain linear → exponential" in result.text

    def test_parts_lead_from_your_metric_to_the_number(self):
        judgments, scores = make_data("empty", 3)
        value = evaluate("ndcg@5", judgments, scores, "xgboost")
        result = gw.identify(value, judgments, scores, metric="ndcg_linear@10")
        difference = value - evaluate("ndcg_linear@10", judgments, scores)
        assert result.steps["effect"].sum() == pytest.approx(difference, abs=1e-14)
        assert set(result.steps["option"]) >= {"k", "gain", "empty"}

    def test_data_and_iterations_after_a_mistake(self):
        lgb = pytest.importorskip("lightgbm")
        train, valid = gw.data.simulate(150, seed=3).split_queries(0.5, 0.5, seed=1)
        data = lgb.Dataset(train.features, train.labels, group=train.group)
        booster = lgb.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1}, data, 30)
        booster.best_iteration = 5
        judgments = valid.judgments()
        value = evaluate("ndcg@10", judgments, booster.predict(valid.features, num_iteration=30), "lightgbm")
        result = gw.identify(f"valid's ndcg@10: {value:.5f}", judgments, booster, features=valid.features)
        assert "all 30 rounds instead of 5" in result.matches["check"].iloc[0]
        value = evaluate("ndcg@10", train.judgments(), booster.predict(train.features, num_iteration=5), "lightgbm")
        others = {"train": (train.judgments(), train.features)}
        result = gw.identify(f"ndcg@10: {value:.5f}", judgments, booster, features=valid.features, data=others)
        assert "'train'" in result.matches["check"].iloc[0]

    def test_run_without_results_for_some_queries(self):
        """trec_eval leaves out queries without results, and with -c they count as 0."""
        judgments, scores = make_data("ties", 4)
        scores[judgments.query_of_rows < 9] = -np.inf
        kept = judgments.query_of_rows >= 9
        part = gw.Judgments(judgments.labels[kept], group=judgments.sizes[9:])
        for options, value in (("missing='skip'", evaluate("map", part, scores[kept], "trec_eval")),
                               ("", evaluate("map", judgments, scores, "trec_eval"))):  # fmt: skip
            result = gw.identify(f"map all {value:.4f}", judgments, scores)
            assert options in set(result.matches.loc[result.matches["library"] == "trec_eval", "options"])


@pytest.mark.slow
class TestUnusualData:
    """Every search ends with a result, whatever the labels, scores, groups and weights are."""

    @pytest.mark.parametrize(
        ("labels", "scores", "options", "number"),
        [
            ([2, -1, 0, 1], [1, 2, 3, 4], {"group": [2, 2], "negative_labels": "allow"}, None),
            ([2, -1, 0, 1], [1, 2, 3, 4], {"group": [2, 2], "negative_labels": "allow"}, "-0.5"),
            ([0.5, 0.25, 0, 1.5], [1, 2, 2, 1], {"group": [2, 2]}, None),
            ([1, 0, 0, 2], [1, 2, 3, 4], {"group": [0, 2, 0, 2]}, None),
            ([1], [1], {"group": [1]}, None),
            ([0, 0, 0], [1, 2, 3], {"group": [3]}, None),
            ([0, 0, 0], [1, 2, 3], {"group": [3]}, 0.4321),
            ([0, 1, 0], [-np.inf] * 3, {"group": [3]}, 0.4321),
            ([0, 1, 0, 1], [np.inf, 1, -np.inf, 2], {"qid": [7, 8, 7, 8]}, None),
            ([0, 1000, 3], [3, 2, 1], {"group": [3]}, 0.4321),
            ([1, 0, 1, 0], [1, 2, -np.inf, -np.inf], {"group": [2, 2], "weight": [0, 1]}, None),
        ],
    )
    def test_a_result(self, labels, scores, options, number):
        """A number is the reciprocal rank, or has no match in most cases."""
        judgments = gw.Judgments(labels, **options)
        wanted = evaluate("mrr", judgments, scores) if number is None else number
        result = gw.identify(wanted, judgments, scores, metric="ndcg_linear@2")
        assert result.text
        assert number is not None or len(result.matches)
        correct = result.matches[(result.matches["check"] == "") & (result.matches["options"] == "")]
        for name, value in zip(correct["metric"], correct["value"], strict=True):
            assert evaluate(name, judgments, scores) == pytest.approx(value, abs=1e-9)


class TestText:
    """Sentences for numbers that many definitions, none, or only a share in percent give."""

    DATA = make_data("ties", 6)

    def test_percent(self):
        value = evaluate("ndcg_linear@10", *self.DATA)
        for number in (f"NDCG@10 = {100 * value:.2f} %", f"NDCG@10 = {100 * value:.2f}"):
            result = gw.identify(number, *self.DATA)
            assert finds(result, "sklearn", "ndcg_score(k=10)")
            assert ("Check the unit" in result.text) == ("%" not in number)

    def test_few_digits(self):
        result = gw.identify("0.5", *self.DATA)
        assert f"0.5 matches {result.lines:,} values" in result.text
        assert result.matches["line"].max() == 9
        lines = result.text.splitlines()
        assert lines[0].endswith("Pass more digits.")
        assert lines[1].startswith("For example, 0.5 may be LightGBM's map@10")
        assert [line.startswith("or ") for line in lines[2:]] == [True] * 9 + [False] * 2
        assert result.lines > 100 < result.accidental
        assert f"expected by accident: {result.accidental:.0f}, among" in result.text

    def test_no_match(self):
        result = gw.identify(-3.5, *self.DATA, metric="ndcg_exp@10")
        assert result.matches.empty
        assert len(result.nearest) == 5
        assert result.nearest["difference"].abs().is_monotonic_increasing
        assert "All values of the search are between" in result.text
        assert f"ndcg_exp@10 is {evaluate('ndcg_exp@10', *self.DATA):.4f}" in result.text

    def test_denominators_in_words(self):
        judgments, scores = make_data("binary", 1)
        value = evaluate("map@3", judgments, scores, "lightgbm")
        result = gw.identify(f"valid_0's map@3: {value:.6f}", judgments, scores)
        assert "divided by min(R, k)" in result.matches["definition"].iloc[0]

    def test_dcg_above_1(self):
        value = evaluate("dcg_exp@10", *self.DATA)
        assert gw.identify(f"DCG@10 {value:.4f}", *self.DATA).matches["metric"].iloc[0].startswith("dcg_exp")

    def test_equal_labels(self):
        assert "All labels are equal" in gw.identify(1.0, gw.Judgments([1, 1, 1], group=[3]), [3, 2, 1]).text

    def test_forms_of_the_result(self):
        result = gw.identify("ndcg@10 0.5", *self.DATA)
        assert json.loads(json.dumps(result.to_dict()))["lines"] == result.lines
        assert "<table" in result._repr_html_()
        assert repr(result) == result.text
        assert result.nearest["value"].between(0, 1).sum() == 5
        shared = re.findall(r"(.*) \(the same number", result.text)
        assert len(shared) == sum(" and " in names for names in shared) > 0


@pytest.mark.slow
class TestRates:
    """Shares of correct answers. `python -m tests.fuzz.identify` repeats them with 200 cases."""

    def test_numbers_of_libraries(self):
        assert (count_identified_cases(10) >= [10, 9]).all()

    @pytest.mark.nightly
    def test_unrelated_numbers(self):
        assert count_unrelated_matches(20) <= 1

    def test_mistakes(self):
        assert count_identified_mistakes(30) >= 27


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("auc: 0.75", "'auc'"),
        ("[3]\tv-auc:0.75", "'v-auc'"),
        ({"auc": 0.75, "gauc@5": 0.75}, "'auc' and 'gauc'"),
        ("mrr: 0.75", None),
        ("LightGBM: 0.75", None),
        ("0.75", None),
        (0.75, None),
    ],
)
def test_an_unknown_name_is_not_used(text, names):
    result = gw.identify(text, gw.Judgments([1, 0, 0, 1], group=[2, 2]), [2, 1, 2, 1])
    assert ("The search ignored" in result.text) is (names is not None)
    if names is not None:
        assert f"The search ignored {names}, because no known metric has such a name." in result.text


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("valid_0's auc: 0.7312\tvalid_0's ndcg@10: {}", "'auc' (0.7312)"),
        ("valid_0's ndcg@10: {}\tvalid_0's auc: 0.7312", "'auc' (0.7312)"),
        ("loss=0.7312 auc=0.9 LightGBM ndcg@10={}", "'loss' (0.7312) and 'auc' (0.9)"),
        ({"auc": 0.7312, "LightGBM ndcg@10": "{}"}, "'auc' (0.7312)"),
        ("LightGBM ndcg@10: {}, gauc@10: 0.7, gauc@5: 0.6", "'gauc' (0.7) and 'gauc' (0.6)"),
    ],
)
def test_numbers_with_unknown_names_do_not_decide(text, left_out):
    judgments, scores = make_data("ties", 1)
    value = f"{evaluate('ndcg_exp(ties=order,empty=1)@10', judgments, scores):.6f}"
    if isinstance(text, str):
        text = text.format(value)
    else:
        text = {name: value if printed == "{}" else printed for name, printed in text.items()}
    result = gw.identify(text, judgments, scores)
    assert finds(result, "lightgbm", "ndcg@10")
    assert result.text.startswith(f"The search left out {left_out}, because no known metric has such a name.\n")
    assert f"ndcg@10 {value} is consistent with LightGBM's" in result.text


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (
            "Epoch 4: 100%|██████████| 20/20 [00:01<00:00, 15.2it/s, v_num=3, loss=0.5123, LightGBM ndcg@10={}]",
            ["'loss' (0.5123), because no known metric has such a name", "100 %, because it has no name"],
        ),
        ("{{'val/loss': 0.5123, 'LightGBM ndcg@10': {}}}", ["'val/loss' (0.5123), because"]),
        ('{{"auc": 0.7, "LightGBM ndcg@10": {}}}', ["'auc' (0.7), because"]),
        ("2024-01-01 12:00:00.123 LightGBM ndcg@10: {}", ["00.123, because it has no name"]),
        ("lightgbm 4.5 ndcg@10: {}", ["4.5, because it has no name"]),
        ("LightGBM ndcg@10 | {} | 0.6 |", ["0.6, because it has no name"]),
        ("| loss | 0.5130 |\n| LightGBM ndcg@10 | {} |", ["'loss' (0.5130), because"]),
    ],
)
def test_numbers_without_names_do_not_decide_next_to_one_with_a_name(text, sentences):
    judgments, scores = make_data("ties", 1)
    value = f"{evaluate('ndcg_exp(ties=order,empty=1)@10', judgments, scores):.6f}"
    result = gw.identify(text.format(value), judgments, scores)
    assert finds(result, "lightgbm", "ndcg@10")
    lines = result.text.splitlines()
    for line, sentence in zip(lines, sentences, strict=False):
        assert line.startswith(f"The search left out {sentence}")
    assert lines[len(sentences)].startswith(f"ndcg@10 {value} is consistent with LightGBM's")


def test_the_same_number_with_two_unknown_names_is_one_number():
    """CatBoost repeats the value of the test set as the best one."""
    judgments, scores = make_data("ties", 1)
    value = f"{evaluate('ndcg_linear@10', judgments, scores):.7f}"
    result = gw.identify(f"0:\ttest: {value}\tbest: {value} (0)\ttotal: 52ms", judgments, scores)
    assert result.accidental == gw.identify(value, judgments, scores).accidental > 0
    assert result.text.startswith("The search ignored 'test' and 'best', because no known metric has such a name.")


def test_all_numbers_are_searched_if_no_name_is_known():
    judgments, scores = make_data("ties", 1)
    values = {k: round(evaluate(f"ndcg_linear@{k}", judgments, scores), 6) for k in (3, 7)}
    result = gw.identify({"first": values[3], "second": values[3]}, judgments, scores)
    assert "The search ignored 'first' and 'second'" in result.text
    assert "left out" not in result.text
    assert len(result.matches)
    with pytest.raises(ValueError, match="one value per metric"):
        gw.identify({"first": values[3], "second": values[7]}, judgments, scores)


@pytest.mark.parametrize(
    ("text", "name", "k"),
    [
        ("mean_average_precision@7: 0.5", "map", 7),
        ("average-precision 0.5", "map", None),
        ("normalized_discounted_cumulative_gain@7 = 0.5", "ndcg", 7),
        ("Expected Reciprocal Rank@7: 0.5", "err", 7),
        ("RBP(0.8): 0.5", "rbp", None),
        ("mean_reciprocal_rank 0.5", "mrr", None),
        ("rank-biased precision: 0.5", "rbp", None),
        ("AP(rel=2)@7 0.5", "map", 7),
        ("nDCG(dcg='exp-log2')@7 0.5", "ndcg", 7),
        ("ndcg_linear(ties=order,empty=1)@7: 0.5", "ndcg_linear", 7),
        ("rbp(p=0.8): 0.5", "rbp", None),
        ("NDCG(top_k=[7], gain_function='linear_rank'): 0.5", "ndcg", 7),
        ("nDCG@7: 0.5 (95 % CI 0.48 to 0.52)", "ndcg", 7),
        ("ndcg@7 (0.5)", "ndcg", 7),
        ("The NDCG@7 was 0.5.", "ndcg", 7),
        ("P@7: 0.5", "precision", 7),
        ("P_7 all 0.5", "precision", 7),
        ("P(rel=2)@7 0.5", "precision", 7),
        ("P(k=7): 0.5", "precision", 7),
        ("val_p@7: 0.5", "precision", 7),
        ("pre@7: 0.5", "precision", 7),
        ("test_set_ndcg@7: 0.5", "ndcg", 7),
    ],
)
def test_names_and_options_around_a_number(text, name, k):
    (number,) = parse_printed(text)
    assert (number.value, number.name, number.k) == (0.5, name, k)


@pytest.mark.parametrize("text", ["judged@5: 1.0", "ndcg_power(gain_base=3)@5: 0.5"])
def test_a_metric_that_is_not_searched(text):
    result = gw.identify(text, *make_data("ties", 1))
    assert "The search has no definition of this name with a value on these data." in result.text
    assert "between" not in result.text
    assert len(result.matches) == len(result.nearest) == 0


@pytest.mark.parametrize("metric", ["ndcg_linear(ties=worst,empty=1)@3", "rbp(ties=best,p=0.5)@3"])
def test_a_value_under_its_own_name(metric):
    judgments, scores = make_data("ties", 1)
    mean = gw.evaluate(metric, judgments, scores).mean
    found = gw.identify(mean, judgments, scores).matches.loc[0, "metric"]
    assert evaluate(found, judgments, scores) == pytest.approx(mean[metric], rel=1e-9)


def test_the_deviation_that_xgboost_prints(capsys):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.arange(60.0)[:, None], np.arange(60) % 3, group=[6] * 10)
    parameters = {"objective": "rank:ndcg", "eval_metric": "ndcg@3"}
    table = xgboost.cv(parameters, data, 1, nfold=2, seed=1, verbose_eval=1)
    (number,) = parse_printed(capsys.readouterr().out.strip().rpartition("\t")[2])
    assert number.value == pytest.approx(table["test-ndcg@3-mean"].item(), abs=1e-5)
    assert (number.name, number.k, number.library) == ("ndcg", 3, "xgboost")


@pytest.mark.parametrize("deviation", ["+- 0.01", "+/- 0.01", "+/−0.01", "± 0.01", "+ 0.01", "(+/- 0.01)"])
def test_a_deviation_is_not_a_second_number(deviation):
    (number,) = parse_printed(f"ndcg@10: 0.8113 {deviation}")
    assert (number.value, number.k) == (0.8113, 10)


@pytest.mark.parametrize(
    "interval",
    [
        "[0.80, 0.82]",
        "[0.80; 0.82]",
        "[0.80–0.82]",
        "[0.80 to 0.82]",
        "[95 % CI: 0.80, 0.82]",
        ", 95% CI [0.80, 0.82]",
        ", 95% CI: (0.80, 0.82)",
        "95% confidence interval [8.0e-1, 8.2e-1]",
        "± 0.01 [0.80, 0.82]",
        "[0.80, 0.82, 0.81]",
        "(0.80, 0.82)",
    ],
)
def test_an_interval_is_not_a_second_number(interval):
    (number,) = parse_printed(f"ndcg@10 0.8113 {interval}")
    assert (number.value, number.k) == (0.8113, 10)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("ndcg@10: 0.8113 [0.80, 0.82], map: 0.5 [0.4, 0.6]", [0.8113, 0.5]),
        ("ndcg@10: 1 [0.98, 1.00]", [1.0]),
        ("ndcg@10: 81.13 % [80.0 %, 82.0 %]", [0.8113]),
        ("ndcg@10: [0.8113]", [0.8113]),
        ("ndcg@10 [0.8113]", [0.8113]),
        ("ndcg@10 [0.80, 0.82]", [0.80, 0.82]),
        ("ndcg@5: 0.59 [map: 0.61]", [0.59, 0.61]),
        ("10/10 [00:01<00:00, 9.93it/s, ndcg@10=0.8113]", [0.8113]),
    ],
)
def test_other_brackets(text, values):
    assert [number.value for number in parse_printed(text)] == pytest.approx(values)


def test_a_value_without_decimals_that_lightgbm_prints(capfd):
    lgb = pytest.importorskip("lightgbm")
    labels, sizes = np.tile([3.0, 2.0, 1.0, 0.0], 10), [4] * 10
    params = {"objective": "lambdarank", "eval_at": [1, 4], "verbose": 1, "num_threads": 1, "min_data_in_leaf": 1}
    data = lgb.Dataset(labels[:, None], labels, group=sizes)
    lgb.train(params, data, 3, valid_sets=[data], valid_names=["valid_0"], callbacks=[lgb.log_evaluation(3)])
    (line,) = (line for line in capfd.readouterr().out.splitlines() if line.startswith("[3]"))
    assert line.endswith("ndcg@4: 1")
    numbers = parse_printed(line)
    assert [(number.name, number.k, number.value) for number in numbers] == [("ndcg", 1, 1.0), ("ndcg", 4, 1.0)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("valid_0's ndcg@5: 0.987\tvalid_0's ndcg@10: 1", [("ndcg", 5, 0.987), ("ndcg", 10, 1.0)]),
        ("valid_0's auc: 0.7312\tvalid_0's ndcg@10: 1", [(None, None, 0.7312), ("ndcg", 10, 1.0)]),
        ("valid_0's map@10: 0\tvalid_0's ndcg@10: 0.5", [("map", 10, 0.0), ("ndcg", 10, 0.5)]),
        ("eval-ndcg@10-:1\teval-map@5:0.5", [("ndcg", 10, 1.0), ("map", 5, 0.5)]),
        ("ndcg@10: nan, auc: 0.7", [(None, None, 0.7)]),
        ("ndcg@10: nan, map: 0.7", [("map", None, 0.7)]),
        ("NDCG@1: 0.5, MRR: 12.3", [("ndcg", 1, 0.5), ("mrr", None, 12.3)]),
        ("ndcg at k=1: 0.5", [("ndcg", 1, 0.5)]),
        ("ndcg_score(k=1) = 0.5", [("ndcg", 1, 0.5)]),
        ("NDCG:top=1;type=Exp: 0.5", [("ndcg_exp", 1, 0.5)]),
    ],
)
def test_values_without_decimals_next_to_others(text, values):
    assert [(number.name, number.k, number.value) for number in parse_printed(text)] == values


@pytest.mark.parametrize(
    "text", ["p = 0.03", "p < 0.05", "p=0.03", "p-value: 0.03", "p_value: 0.03", "P 0.03", "test_p: 0.03"]
)
def test_a_probability_is_not_a_precision(text):
    first, second = parse_printed(f"nDCG@10 = 0.613, {text}")
    assert (first.name, first.k, second.name) == ("ndcg", 10, None)


@pytest.mark.parametrize("size", ["(n=5)", "(n=1000 queries)", "± 0.0123 (n=5)"])
def test_a_number_of_queries_is_not_a_name_of_lenskit(size):
    (number,) = parse_printed(f"NDCG@10: 0.6123 {size}")
    assert number.library is None


def test_the_output_of_trec_eval():
    """All measures of `-m official`. gm_map and precision at recall levels have names that contain other names."""
    judgments, scores = make_data("ties", 1)
    names = {"map": "map", "Rprec": "rprec", "recip_rank": "mrr"} | {f"P_{k}": f"precision@{k}" for k in (5, 10, 100)}
    values = {printed: evaluate(own, judgments, scores, "trec_eval") for printed, own in names.items()}
    rows = {"runid": "bm25", "num_q": 120, "num_ret": 2345, "num_rel": 800, "num_rel_ret": 800}
    rows |= {"map": values.pop("map"), "gm_map": 0.2345, "Rprec": values.pop("Rprec"), "bpref": 0.1234}
    rows |= {"recip_rank": values.pop("recip_rank")}
    rows |= {f"iprec_at_recall_{share:.2f}": 0.9 - share for share in (0.0, 0.1, 0.5)} | values
    text = "\n".join(
        f"{name:<22}\tall\t{value:6.4f}" if isinstance(value, float) else f"{name:<22}\tall\t{value}"
        for name, value in rows.items()
    )
    result = gw.identify(text, judgments, scores)
    assert result.matches["library"][0] == "trec_eval"
    assert result.matches["name"][0] == "map, Rprec, recip_rank, P_5, P_10, P_100"
    left_out = ["'gm_map' (0.2345)", "'bpref' (0.1234)", "'iprec_at_recall_0.00' (0.9000)",
                "'iprec_at_recall_0.10' (0.8000)", "'iprec_at_recall_0.50' (0.4000)"]  # fmt: skip
    assert result.text.startswith(f"The search left out {', '.join(left_out[:-1])} and {left_out[-1]}, because")


@pytest.mark.parametrize("kind", ["ties", "empty", "weights"])
def test_both_gains_in_one_log(kind):
    judgments, scores = make_data(kind, 1)
    names = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_exp@5", "map@10", "mrr"]
    values = {name: round(evaluate(name, judgments, scores), 6) for name in names}
    for text in (values, "  ".join(f"valid_0 {name}: {value}" for name, value in values.items())):
        result = gw.identify(text, judgments, scores)
        assert ", ".join(names) in set(result.matches["metric"])
        first = result.matches.loc[0, "metric"].split(", ")
        assert [evaluate(name, judgments, scores) for name in first] == pytest.approx(list(values.values()), abs=1e-6)
    assert "linear gain" not in result.text.partition("yours")[0].partition("next:")[0]
    for own in names[:2]:
        others = gw.identify(values, judgments, scores, metric=own.replace("@", "(empty=1,ties=worst)@"))
        assert "gain" not in set(others.steps["option"][others.steps["effect"] != 0])
    wrong = values | {"ndcg_exp@5": values["ndcg_exp@5"] + 0.01}
    assert gw.identify(wrong, judgments, scores).matches.empty


def test_numbers_of_one_name_have_one_gain():
    judgments, scores = make_data("ties", 1)
    linear, exponential = (round(evaluate(f"ndcg_{gain}", judgments, scores), 6) for gain in ("linear@10", "exp@5"))
    assert gw.identify({"ndcg@10": linear, "ndcg@5": exponential}, judgments, scores).matches.empty


def test_the_best_scores_of_catboost(tmp_path, monkeypatch):
    catboost = pytest.importorskip("catboost")
    monkeypatch.chdir(tmp_path)  # eval_metrics writes files.
    data = gw.data.simulate(60, seed=3)
    pool = catboost.Pool(data.features, data.labels, group_id=data.qid)
    options = {"loss_function": "YetiRank", "iterations": 5, "thread_count": 1, "verbose": False}
    names = ["NDCG:top=10", "NDCG:top=10;type=Exp", "DCG:type=Exp", "NDCG:top=5;type=Exp"]
    model = catboost.CatBoost(options | {"allow_writing_files": False}).fit(pool)
    values = {name: curve[-1] for name, curve in model.eval_metrics(pool, names).items()}
    scores = model.predict(data.features)
    for text in (values, str(values), {name.replace("top=10;type=Base", "top=10"): v for name, v in values.items()}):
        result = gw.identify(text, data.judgments(), scores)
        assert result.matches.loc[0, "library"] == "CatBoost"
        assert result.matches.loc[0, "value"] == pytest.approx(next(iter(values.values())), rel=1e-6)


@pytest.mark.parametrize(
    ("mean", "spread"),
    [
        ("mean_test_ndcg", "std_test_ndcg"),
        ("valid ndcg@10-mean", "ndcg@10-stdv"),
        ("test-ndcg@10-mean", "test-ndcg@10-std"),
        ("ndcg@10", "ndcg@10_std"),
        ("test-NDCG:top=10;type=Exp-mean", "test-NDCG:top=10;type=Exp-std"),
    ],
)
def test_a_standard_deviation_over_folds_is_left_out(mean, spread):
    """The names of scikit-learn's cv_results_ and of the cv functions of LightGBM, XGBoost and CatBoost."""
    for text in (
        {mean: 0.6123, spread: 0.0123},
        f"{mean}: 0.6123 {spread}: 0.0123",
        f"{mean} 0.6123\n{spread}  0.0123",
    ):
        numbers = parse_printed(text)
        assert [(number.value, number.name is None) for number in numbers] == [(0.6123, False), (0.0123, True)]


def test_the_name_of_a_standard_deviation_is_listed():
    result = gw.identify({"test-ndcg@10-mean": 0.75, "test-ndcg@10-std": 0.01}, *make_data("ties", 1))
    assert result.text.startswith("The search left out 'test-ndcg@10-std' (0.01), because no known metric has such a")


@pytest.mark.parametrize(
    "write",
    [
        lambda frame: frame.to_string(),
        lambda frame: frame.to_string(index=False),
        lambda frame: frame.to_csv(),
        lambda frame: frame.to_csv(index=False, sep="\t"),
        lambda frame: "| epoch | ndcg@10 | loss | map@5 |\n|---|---|---|---|\n| 3 | 0.6486 | 0.5123 | 0.559 |",
    ],
    ids=["string", "without index", "csv", "tsv", "markdown"],
)
def test_a_table_with_one_row(write):
    frame = pd.DataFrame({"epoch": [3], "ndcg@10": [0.6486], "loss": [0.5123], "map@5": [0.559]})
    found = [(number.value, number.name, number.k, number.unknown_name) for number in parse_printed(write(frame))]
    expected = [
        (3.0, None, None, "epoch"),
        (0.6486, "ndcg", 10, ""),
        (0.5123, None, None, "loss"),
        (0.559, "map", 5, ""),
    ]
    assert found == expected


def test_a_whole_number_of_lightgbm_has_six_digits():
    """LightGBM prints 1 for 1.000000, which 0.826 does not print as."""
    judgments, line = gw.Judgments([0, 2, 1], group=[3]), "[10]\tvalid_0's ndcg@2: 1"
    assert finds(gw.identify(line, judgments, [1, 3, 2]), "lightgbm", "ndcg@2")
    assert gw.identify(line, judgments, [2, 3, 1]).matches.empty


@pytest.mark.parametrize("form", [dict, pd.Series])
def test_values_by_name(form):
    """Values that are not finite are left out, as in a text."""
    numbers = parse_printed(form({"ndcg@10": 0.6486, "auc": float("nan"), "map@5": 0.559}))
    assert [(number.name, number.k, number.value) for number in numbers] == [("ndcg", 10, 0.6486), ("map", 5, 0.559)]


def test_two_rows_of_a_table_have_two_values():
    with pytest.raises(ValueError, match="one value per metric"):
        gw.identify("ndcg@5 map@5\n0.61 0.5\n0.62 0.51", *make_data("ties", 1))
