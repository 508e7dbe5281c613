"""Metrics of the user's own: a subclass is known by being defined, and no two numbers go by one name."""

from __future__ import annotations

import copy
import pickle
import types
from dataclasses import dataclass, replace

import numpy as np
import pytest

import gainsay as gs
from gainsay.metrics.base import Facts
from gainsay.metrics.registry import METRICS

JUDGMENTS = gs.Judgments([3, 2, 0, 1, 4, 0, 2, 0, 0], group=[4, 3, 2])
SCORES = (1, 2, 3, 3, 5, 4, 4, 0, 1)


class Halved(gs.NDCG):
    """NDCG / 2."""

    names = {"halved": {}, "halved_exp": {"gain": "exponential"}}

    def score(self, rows, facts, cutoffs):
        return super().score(rows, facts, cutoffs) / 2


@dataclass(frozen=True, kw_only=True)
class FirstRelevantRank(gs.metrics.relevance.BinaryMetric):
    """Rank of the first relevant document, or one beyond the last: lower is better."""

    scale: float = 1.0

    names = {"first_rank": {}}
    higher_is_better = False

    def score(self, rows, facts, cutoffs):
        relevant = facts.at_ranks(rows)
        first = np.where(relevant.any(axis=1), relevant.argmax(axis=1), rows.sizes) + 1
        return np.stack([self.scale * np.minimum(first, np.inf if k is None else k + 1) for k in cutoffs], axis=1)


def defined(code, module="notebook"):
    """Run a cell of a notebook, say, and return what it defines."""
    found = types.ModuleType(module)
    exec("import gainsay as gs\nfrom dataclasses import dataclass\n" + code, found.__dict__)
    return found


HALF = """
class Half(gs.NDCG):
    names = {"half_in_cell": {}}
    def score(self, rows, facts, cutoffs):
        return super().score(rows, facts, cutoffs) / %s
"""


class TestSubclasses:
    @pytest.mark.parametrize(
        ("metric", "name"),
        [
            (Halved(gain="exponential", k=3), "halved_exp@3"),
            (Halved(gain="linear"), "halved(gain=linear)"),
            (Halved(gain=(0, 1, 3, 7, 20), ties="order"), "halved(ties=order,gain=0/1/3/7/20)"),
            (FirstRelevantRank(k=2, scale=0.5), "first_rank(scale=0.5)@2"),
        ],
    )
    def test_name_reads_back_as_an_equal_metric(self, metric, name):
        assert str(metric) == name
        assert gs.parse_metrics(name) == (metric,)
        assert gs.parse_metrics(name)[0] != gs.NDCG(gain="exponential", k=3)
        assert pickle.loads(pickle.dumps(metric)) == metric
        assert copy.deepcopy(metric) is metric

    @pytest.mark.parametrize("k", [1, 2, 3, None])
    @pytest.mark.parametrize("gain", ["linear", "exponential"])
    def test_half_of_ndcg_under_a_name_of_its_own(self, gain, k):
        own, ndcg = Halved(gain=gain, k=k), gs.NDCG(gain=gain, k=k)
        found = gs.evaluate([own, ndcg], JUDGMENTS, SCORES)
        np.testing.assert_array_equal(found.per_query[:, 0], found.per_query[:, 1] / 2)
        assert list(found.mean) == [str(own), str(ndcg)]

    def test_a_loss_says_so(self):
        assert not FirstRelevantRank().higher_is_better
        assert all(metric.higher_is_better for metric in gs.parse_metrics("ndcg_exp", "map", "mrr", "err(max_label=4)"))

    def test_a_name_that_needs_its_gain(self):
        with pytest.raises(ValueError, match=r"'halved@10' needs a gain: write halved\(gain=linear\)@10"):
            gs.parse_metrics("halved@10")
        assert gs.parse_metrics("halved@10", convention="lightgbm")[0].gain == "exponential"

    def test_conventions_set_the_options_that_it_has(self):
        (metric,) = gs.parse_metrics("first_rank", convention="lightgbm")
        assert (metric.ties, metric.empty, metric.min_label) == ("order", 1.0, np.nextafter(0.5, 1))

    def test_unknown_name_says_when_one_is_known(self):
        with pytest.raises(ValueError, match=r"unknown metric 'halve' .*did you mean 'halved'.* is imported"):
            gs.parse_metrics("halve@10")


class TestRefusals:
    @pytest.mark.parametrize(
        "body",
        [
            "    def score(self, rows, facts, cutoffs): return 0",
            "    def bind(self, judgments, cutoffs): return 0",
            "    def _gains(self, judgments, cutoffs): return 0",
            "    is_ratio = False",
            "    higher_is_better = False",
            "    k: int = 10",
            "    ties = 'order'",
            "    factor: float = 2.0",
            "    def __post_init__(self): pass",
        ],
    )
    def test_another_number_needs_another_name(self, body):
        with pytest.raises(TypeError, match=r"Own has .* of its own but no names of its own: .*names = {'own': {}}"):
            defined(f"class Own(gs.NDCG):\n{body}\n")

    def test_a_metric_from_scratch_needs_a_name(self):
        with pytest.raises(TypeError, match="Own has bind, score of its own but no names"):
            defined(
                "class Own(gs.Metric):\n"
                "    def bind(self, judgments, cutoffs): return 0\n"
                "    def score(self, rows, facts, cutoffs): return 0"
            )

    def test_another_number_from_a_class_beside(self):
        """What a mixin overrides changes the number too."""
        with pytest.raises(TypeError, match="Own has score of its own but no names"):
            defined(
                "class Beside:\n    def score(self, rows, facts, cutoffs): return 0\nclass Own(Beside, gs.NDCG): pass"
            )
        assert str(defined("class Beside: pass\nclass Own(Beside, gs.RR): pass").Own()) == "mrr"

    def test_the_same_number_needs_none(self):
        own = defined('class Own(gs.NDCG):\n    """NDCG."""\n    def about(self): return "it"\n').Own(gain="linear")
        assert str(own) == "ndcg_linear"

    def test_a_base_for_others(self):
        base = defined(
            "class Base(gs.Metric, abstract=True):\n    def score(self, rows, facts, cutoffs): return 0\n"
        ).Base
        with pytest.raises(TypeError, match=r"Base\(\) has no name: its class has none"):
            str(base())

    def test_a_base_does_not_go_by_the_names_of_its_own_base(self):
        base = "class Base(gs.NDCG, abstract=True):\n    def score(self, rows, facts, cutoffs): return 0\n"
        module = defined(base + "class Own(Base):\n    names = {'of_a_base': {}}\n")
        with pytest.raises(TypeError, match="has no name: its class has none"):
            str(module.Base(gain="linear"))
        assert str(module.Own(gain="linear")) == "of_a_base(gain=linear)"

    def test_names_that_fit_not_all_options(self):
        own = defined("class Own(gs.NDCG):\n    names = {'own_exp': {'gain': 'exponential'}}\n").Own
        assert str(own(gain="exponential")) == "own_exp"
        with pytest.raises(TypeError, match=r"Own\(gain='linear'\) has no name: none of its names, own_exp, fits"):
            str(own(gain="linear"))

    @pytest.mark.parametrize("name", ["ndcg_exp", "map", "mrr"])
    def test_a_name_of_gainsays_own(self, name):
        before = METRICS[name]
        with pytest.raises(ValueError, match=f"'{name}' is the name of a metric of gainsay's own"):
            defined(f"class Own(gs.RR):\n    names = {{'{name}': {{}}}}")
        assert METRICS[name] is before

    @pytest.mark.parametrize("names", ["{}", "('own',)", "'own'", "{'own': None}"])
    def test_names_of_another_kind(self, names):
        with pytest.raises(TypeError, match=r"Own.names must map each name to the options"):
            defined(f"class Own(gs.RR):\n    names = {names}")

    @pytest.mark.parametrize("name", ["1st", "a-b", "a b", "", "own@10", "größe"])
    def test_what_is_no_name(self, name):
        with pytest.raises(ValueError, match="a metric is named with letters, digits and _"):
            defined(f"class Own(gs.RR):\n    names = {{{name!r}: {{}}}}")


class TestDefinedAnew:
    def test_a_cell_that_is_run_again_replaces(self):
        first, second = defined(HALF % 2), defined(HALF % 4)
        (metric,) = gs.parse_metrics("half_in_cell(gain=linear)")
        assert type(metric) is second.Half
        values = gs.evaluate([metric, "ndcg_linear"], JUDGMENTS, SCORES).per_query
        np.testing.assert_array_equal(values[:, 0], values[:, 1] / 4)
        with pytest.raises(ValueError, match=r"metrics names half_in_cell.* twice, once as it was before"):
            gs.parse_metrics(first.Half(gain="linear"), metric)

    def test_classes_that_one_function_makes_keep_their_names(self):
        module = defined(
            "def make(number):\n    class Own(gs.RR):\n        names = {f'own_{number}': {}}\n    return Own\n"
        )
        first, second = module.make(1), module.make(2)
        assert [type(metric) for metric in gs.parse_metrics("own_1", "own_2")] == [first, second]

    def test_another_class_does_not_take_the_name(self):
        mine = defined("class Mine(gs.RR):\n    names = {'taken': {}}").Mine
        with pytest.raises(ValueError, match=r"'taken' is taken by notebook\.Mine, and cannot go to other\.Mine too"):
            defined("class Mine(gs.RR):\n    names = {'taken': {}}", module="other")
        with pytest.raises(
            ValueError, match=r"'taken' is taken by notebook\.Mine, and cannot go to notebook\.Yours too"
        ):
            defined("class Yours(gs.RR):\n    names = {'free': {}, 'taken': {}}")
        assert type(*gs.parse_metrics("taken")) is mine
        assert "free" not in METRICS

    def test_a_dataclass_with_slots_is_one_class(self):
        own = defined("@dataclass(frozen=True, slots=True)\nclass Own(gs.RR):\n    names = {'with_slots': {}}").Own
        assert type(*gs.parse_metrics("with_slots")) is own


class Wrong(gs.RR):
    names = {"wrong": {}}

    shape = "rows"

    def score(self, rows, facts, cutoffs):
        right = super().score(rows, facts, cutoffs)
        kinds = {"rows": right[:, 0], "one": right[:, :1], "nan": np.where(rows.queries[:, None] == 1, np.nan, right)}
        return kinds[self.shape]


class TestWhatScoreReturns:
    @pytest.mark.parametrize("shape", ["rows", "one"])
    def test_another_shape(self, monkeypatch, shape):
        monkeypatch.setattr(Wrong, "shape", shape)
        with pytest.raises(
            ValueError, match=r"Wrong\.score returned shape \(3,.*\) for . rows and 2 cutoffs|for 1 rows"
        ):
            gs.evaluate(["wrong", "wrong@2"], JUDGMENTS, SCORES)

    def test_nan_names_the_query(self, monkeypatch):
        monkeypatch.setattr(Wrong, "shape", "nan")
        judgments = gs.Judgments(JUDGMENTS.labels, qid=list("aaaabbbcc"))
        with pytest.raises(ValueError, match=r"wrong@2 is nan for query b \(3 documents\): Wrong\.score must return"):
            gs.evaluate([Wrong(k=2)], judgments, SCORES)

    def test_skipped_queries_may_be_nan(self):
        assert np.isnan(gs.evaluate([Halved(gain="linear", empty="skip")], JUDGMENTS, SCORES).per_query[2, 0])

    def test_a_metric_without_labels(self):
        """Sum of the squares of ranks, whatever stands there: bind says only which queries are empty."""
        module = defined(
            "class Ranks(gs.Metric):\n"
            "    names = {'sum_of_squares': {}}\n"
            "    def bind(self, judgments, cutoffs): return Facts(np.zeros((judgments.queries, 1), bool))\n"
            "    def score(self, rows, facts, cutoffs):\n"
            "        return np.stack([(np.arange(1, rows.width + 1)[:k] ** 2 * (rows.codes[:, :k] < 7)).sum(axis=1)\n"
            "                         for k in cutoffs], axis=1)\n"
        )
        module.np, module.Facts = np, Facts
        found = gs.evaluate(["sum_of_squares", "sum_of_squares@2"], JUDGMENTS, range(9)).per_query
        assert found.tolist() == [[30, 5], [14, 5], [5, 5]]


def test_replace_keeps_the_class():
    assert replace(Halved(gain="linear"), k=3) == Halved(gain="linear", k=3)
