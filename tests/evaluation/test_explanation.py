"""One ranking under the conventions of all libraries."""

from math import log2

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import gainwise as gw
from gainwise.evaluation.explain import decompose

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
