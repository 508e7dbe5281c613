"""One ranking under the conventions of all libraries."""

from itertools import pairwise
from math import log2

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import gainwise as gw
from gainwise.evaluation.explain import build_judgments, decompose, distinct_numbers

LABELS = [0, 3, 1, 0, 2, 0]
SCORES = [2.0, 1.0, 1.0, 1.0, 0.5, 0.1]


class TestExplain:
    def test_libraries_and_their_ndcg(self):
        table = gw.explain(LABELS, SCORES)
        names = {
            "both, by name": ["gainwise", "ranx"],
            "ndcg_exp": ["lightgbm", "xgboost", "ignite", "keras_rs"],
            "ndcg_linear": ["catboost", "sklearn", "trec_eval", "torchmetrics"],
            "ndcg(gain=binary)": ["recommenders"],
            "ndcg(gain=binary,discount=jk)": ["lenskit"],
        }
        assert table["calls NDCG"].to_dict() == {library: name for name, group in names.items() for library in group}
        assert np.array_equal(table["mrr@10"], gw.explain(np.array(LABELS), np.float32(SCORES))["mrr@10"])

    def test_scikit_learn(self):
        expected = ndcg_score([LABELS], [SCORES], k=3)
        assert gw.explain(LABELS, SCORES, k=3).loc["sklearn", "ndcg_linear@3"] == pytest.approx(expected, rel=1e-12)

    def test_libraries_differ_on_ties(self):
        table = gw.explain(LABELS, SCORES, k=2)["ndcg_linear@2"]
        ideal = 3 + 2 / log2(3)
        assert table["lightgbm"] == pytest.approx(3 / log2(3) / ideal, rel=1e-12)  # order of the file: label 3 first
        assert table["catboost"] == 0.0  # lowest label first
        assert table["gainwise"] == pytest.approx((3 + 1 + 0) / 3 / log2(3) / ideal, rel=1e-12)

    @pytest.mark.parametrize("weight", [None, [1.0, 0.5]])
    def test_note_on_the_weights_of_empty_queries(self, weight):
        """LightGBM and XGBoost ignore the weight of a query without relevant documents."""
        note = gw.explain([1, 0, 0, 0], [4, 3, 2, 1], group=[2, 2], weight=weight)["note"]
        for library in ("lightgbm", "xgboost"):
            assert ("weight" in note[library]) == (weight is not None)

    @pytest.mark.parametrize("label", [-1, 961])
    def test_labels_without_an_exponential_gain(self, label):
        table = gw.explain([1, label], [2, 1], negative_labels="allow")
        assert not [column for column in table if column.startswith("ndcg_exp")]
        numbers = distinct_numbers(build_judgments([1, label], negative_labels="allow"), [2, 1], 10)
        assert not [name for number in numbers for name in number.names if name.startswith("ndcg_exp")]


class TestParts:
    """The difference to another definition in parts, one option at a time."""

    JUDGMENTS = gw.Judgments([0, 3, 1, 0, 2, 0, 0, 0, 2], group=[6, 2, 1], weight=[2, 1, 1])
    SCORES = [2.0, 1.0, 1.0, 1.0, 0.5, 0.1, 2.0, 1.0, 1.0]
    NAMES = (
        "ndcg_linear@3", "map@2", "map(ties=order,denominator=hits)", "dcg_exp", "mrr(empty=skip)", "rbp(p=0.5)@4",
        "ndcg_exp(ties=worst,empty=1,weights=ignore)@2", "precision(min_label=2)@3", "ndcg(gain=binary,discount=jk)",
    )  # fmt: skip

    @pytest.mark.parametrize("end", NAMES)
    @pytest.mark.parametrize("start", NAMES)
    def test_parts_add_up(self, start, end):
        first, last = gw.parse_metrics(start)[0], gw.parse_metrics(end)[0]

        def evaluate(metric):
            (value,) = gw.evaluate(metric, self.JUDGMENTS, self.SCORES).mean.values()
            return value

        steps = decompose(first, last, evaluate)
        assert sum(step.effect for step in steps) == pytest.approx(evaluate(last) - evaluate(first), abs=1e-14)
        assert len({step.option for step in steps}) == len(steps)
        assert all(step.before != step.after for step in steps)
        assert ("metric" in {step.option for step in steps}) == (type(first) is not type(last))

    def test_a_function_has_its_name(self):
        (step,) = decompose(gw.NDCG(gain=np.square), gw.NDCG(gain="linear"), lambda metric: 0.0)
        assert str(step) == "gain square → linear"

    def test_one_option_is_changed_at_a_time(self):
        table = gw.explain(self.JUDGMENTS, self.SCORES, k=3, metric="ndcg_exp@3")
        catboost, skipped = table.loc["catboost"], table.loc["gainwise"]
        linear, worst, one = (
            next(iter(gw.evaluate(name, self.JUDGMENTS, self.SCORES).mean.values()))
            for name in ("ndcg_linear@3", "ndcg_linear(ties=worst)@3", "ndcg_linear(ties=worst,empty=1)@3")
        )
        assert catboost["effect of ties"] == pytest.approx(worst - linear)
        assert catboost["effect of empty"] == pytest.approx(one - worst)
        assert catboost["effect of weights"] == 0
        assert np.isnan(skipped["effect of ties"])


class TestDistinctNumbers:
    def numbers(self, labels=LABELS, scores=SCORES, k=10):
        return distinct_numbers(build_judgments(labels), scores, k)

    def test_each_name_gives_its_number(self):
        for number in self.numbers(k=3):
            for name in number.names:
                (value,) = gw.evaluate(name, gw.Judgments(LABELS, group=[6]), SCORES).mean.values()
                assert value == pytest.approx(number.value, abs=1e-9)

    def test_numbers_of_a_heading_are_distinct_and_list_their_libraries(self):
        numbers = self.numbers(k=2)
        for heading in {number.heading for number in numbers}:
            values = sorted(number.value for number in numbers if number.heading == heading)
            assert all(after - before > 1e-9 for before, after in pairwise(values))
        ndcg = {number.value: number.printed_by for number in numbers if number.heading == "NDCG@2"}
        table = gw.explain(LABELS, SCORES, k=2)
        for library, name in (("lightgbm", "LightGBM"), ("catboost", "CatBoost"), ("sklearn", "scikit-learn")):
            (value,) = [value for value, programs in ndcg.items() if name in programs]
            assert value == pytest.approx(table.loc[library, "NDCG@2"], abs=1e-9)

    def test_binary_labels_have_one_number_for_both_gains(self):
        names = ("ndcg_exp@10", "ndcg_linear@10", "ndcg(gain=binary)@10")
        (both,) = [number for number in self.numbers([0, 1, 1], [3, 2, 1]) if number.names == names]
        assert len(both.printed_by) == 10
        assert not any(" " in program for program in both.printed_by)

    @pytest.mark.parametrize(("labels", "prints"), [([0, 1, 1], True), ([0, 1, 2], False)])
    def test_a_library_that_rejects_the_labels_has_no_number(self, labels, prints):
        map_numbers = [number for number in self.numbers(labels, [3, 2, 1]) if number.heading == "MAP@10"]
        assert any("XGBoost" in number.printed_by for number in map_numbers) == prints
