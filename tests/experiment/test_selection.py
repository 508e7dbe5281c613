"""Selection on the validation set."""

import json
import re

import numpy as np
import pytest
from tests.experiment.helpers import METRICS, run

import gainwise as gw
from gainwise._common.text import as_text
from gainwise.data import RankingData
from gainwise.experiment import Candidate
from gainwise.experiment.result import ExperimentResult
from gainwise.experiment.storage import Training

TWO = [Candidate("a", "lightgbm"), Candidate("b", "xgboost")]


LOST = (gw.metric("lost_value", lambda *_: 0.0, higher_is_better=False), "mrr")


def select_by_hand(values):
    """Return the model with the smallest worst case. Ties are broken by name."""
    best = {metric: max(row[metric] for row in values.values()) for metric in METRICS[:2]}
    worst = {name: max(abs(best[metric] - row[metric]) for metric in best) for name, row in values.items()}
    return min(sorted(worst), key=worst.__getitem__)


class TestSelected:
    """The candidate is selected on the validation set by the rule that chooses rounds."""

    def test_smallest_larger_shortfall_at_the_compared_rounds(self, done):
        curves = done.result.curves[done.result.curves["compared"]]
        table = curves.pivot_table(index="candidate", columns="metric", values="value")
        values = {str(name): row for name, row in table.to_dict("index").items()}
        assert done.result.selected == select_by_hand(values)
        for name, row in done.result.compared.iterrows():
            assert {metric: row[f"valid {metric}"] for metric in METRICS} == values[name]

    @pytest.mark.parametrize(
        ("curves", "metrics", "expected"),
        [
            ({"a": (0.50, 0.20), "b": (0.45, 0.26), "c": (0.30, 0.30)}, METRICS[:2], "b"),
            ({"m10": (0.5, 0.5), "m2": (0.5, 0.5)}, METRICS[:2], "m2"),
            ({"a": (0.4,), "b": (0.6,)}, METRICS[:1], "b"),
            ({"a": (0.9, 0.4), "b": (0.8, 0.1)}, LOST, "a"),
        ],
        ids=["balanced", "equal", "one metric", "loss"],
    )
    def test_rule(self, make, curves, metrics, expected):
        trainings = {}
        for name, row in curves.items():
            arrays = {"rounds": np.array([1]), "test": np.zeros((1, 3, len(row))), "weights": np.ones(3)}
            trainings[name] = [[Training(fold="", curves=np.array([row]), valid_weight=np.ones(len(row)), **arrays)]]
        assert ExperimentResult(make(metrics=metrics).plan, trainings).selected == expected

    def test_test_set_does_not_matter(self, done, make, parts):
        turned = RankingData(parts.test.features, parts.test.labels[::-1], qid=parts.test.qid)
        assert run(make(test=turned)).selected == done.result.selected

    def test_summary_and_json_begin_with_it(self, done):
        result = done.result
        said = result.comparison.content.names.labels[result.selected]
        headline, _, advice = result.summary().partition("\n")[0].partition(". ")
        assert headline == "No choice yet: The sample has 25 queries, and a decision requires 30"
        assert f"Selected on the validation set: {said}." in advice
        assert str(result).splitlines() == [f"{headline}.", f"{advice}", repr(result)]
        assert json.loads(result.comparison.to_json())["selected"] == result.selected
        (starred,) = [row for row in result.comparison.content.chart.rows if row.starred]
        assert starred.model == result.selected

    def test_the_comparison_has_the_number_of_candidates(self, done):
        assert done.result.comparison.searched == len(done.result.plan.candidates) == len(done.result.candidates)

    @pytest.mark.parametrize("lead", [0.0, 0.05], ids=["unresolved", "agree"])
    @pytest.mark.parametrize("metrics", [METRICS[:2], METRICS[:1]], ids=["two metrics", "one metric"])
    @pytest.mark.parametrize("selected", ["A", "C"])
    def test_report_states_the_bound_and_what_the_test_set_favors(self, selected, metrics, lead):
        rng = np.random.default_rng(8)
        tables = {metric: rng.uniform(0.4, 0.6, (400, 3)) + np.array([lead, 0, 0]) for metric in metrics}
        comparison = gw.Comparison(tables, ["A", "B", "C"], selected=selected, draws=1000)
        table = comparison.standings.groupby("model")["regret_upper"].max()
        if len(metrics) == 2:
            table = {name: max(bounds[name] for bounds in comparison.verdict.regrets_upper.values()) for name in "ABC"}
        favored = comparison.verdict.safe_choice if len(metrics) == 2 else comparison.winners[metrics[0]]
        chart = comparison.content.chart
        (starred,) = [row.model for row in chart.rows if row.starred]
        assert starred == selected
        headline, advice = as_text(chart.headline), as_text(chart.advice)
        if not lead:
            stated = re.match(rf"Selected on the validation set: {selected}, at worst (0\.\d+)", headline)[1]
            assert table[selected] <= float(stated) < table[selected] + 0.001
        elif selected == "A":
            assert headline.startswith("★ Choose A, selected on the validation set: it is also the best of 3")
        else:
            stated = re.match(r"The test set rules out C, .* at least (0\.\d+) behind", headline)[1]
            assert 0 < float(stated) <= 0.05
        means = [dict(zip("ABC", tables[metric].mean(axis=0), strict=True)) for metric in metrics]
        is_ahead = favored != selected and all(mean[favored] > mean[selected] for mean in means)
        assert (f"The test set favors {favored}." in advice) == is_ahead
        assert ("smaller worst case" in advice) == (favored != selected and not is_ahead)
        assert ("a new one" in advice) == (lead > 0 and selected == "C")
        assert headline in re.sub("<[^>]+>", "", comparison._repr_html_())


def test_rows_in_any_order(make, parts):
    """The rows of a query need not be adjacent. The queries keep the order of their first appearance."""

    def scattered(data):
        rows = np.random.default_rng(0).permutation(len(data.labels))
        rows = np.concatenate([np.unique(data.qid, return_index=True)[1], rows])
        rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
        return RankingData(data.features[rows], data.labels[rows], qid=data.query_ids[data.qid[rows]])

    result, expected = (run(make(candidates=TWO, test=test)) for test in (scattered(parts.test), parts.test))
    np.testing.assert_allclose(result.comparison.values["mrr"], expected.comparison.values["mrr"], rtol=1e-12)
