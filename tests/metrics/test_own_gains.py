"""Gains and discounts of the user's own: tables, mappings and functions."""

from __future__ import annotations

import itertools
import math
import pickle
from functools import partial

import numpy as np
import pytest

import gainsay as gs
from gainsay.data import simulate
from gainsay.metrics.discounts import discounts
from gainsay.metrics.gains import gains_of

LABELS = [3, 0, 2, 1, 4, 0, 2, 1, 1, 0]
JUDGMENTS = gs.Judgments(LABELS, group=[5, 3, 2])
SCORES = [1, 2, 3, 3, 5, 4, 4, 0, 1, 2]


def burges(labels):
    return 2.0**labels - 1


def squared(labels):
    return labels**2


def shelves(ranks):
    """Four products a shelf, each shelf is half as likely to be looked at."""
    return 0.5 ** ((ranks - 1) // 4)


def halving(ranks):
    return 0.5**ranks


def by_formula(labels, scores, gain, discount, k):
    """The mean of NDCG over all orders of ties, from the definition."""

    def dcg(order):
        return sum(gain(label) * discount(rank) for rank, label in enumerate(order[:k], start=1))

    ideal = max(map(dcg, itertools.permutations(labels)))
    orders = [
        order
        for order in itertools.permutations(range(len(labels)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return sum(dcg([labels[at] for at in order]) for order in orders) / len(orders) / ideal if ideal else 0.0


def queries():
    ends = np.cumsum(JUDGMENTS.sizes)
    return [(LABELS[a:b], SCORES[a:b]) for a, b in zip(ends - JUDGMENTS.sizes, ends, strict=True)]


@pytest.fixture(scope="module")
def data():
    return simulate(200, seed=2, mean_length=30)


@pytest.fixture(scope="module")
def scores(data):
    return np.random.default_rng(0).normal(size=len(data.labels)).round(1)  # with ties


class TestValues:
    def per_query(self, data, scores, *metrics):
        return gs.evaluate(metrics, data.judgments(), scores).per_query.T

    @pytest.mark.parametrize("kind", [gs.NDCG, gs.DCG])
    @pytest.mark.parametrize("k", [1, 10, None])
    def test_gains_that_are_built_in_too(self, data, scores, kind, k):
        metrics = [
            kind(gain=gain, k=k)
            for gain in ("exponential", burges, (0, 1, 3, 7, 15), {4: 15, 3: 7, 2: 3, 1: 1, 0: 0, 9: -5})
        ]
        expected, *found = self.per_query(data, scores, *metrics)
        for values in found:
            np.testing.assert_array_equal(values, expected)

    @pytest.mark.parametrize("k", [1, 10, None])
    def test_discounts_that_are_built_in_too(self, data, scores, k):
        def logarithmic(ranks):
            return 1 / np.log2(ranks + 1)

        metrics = [
            gs.NDCG(gain="exponential", discount=discount, k=k)
            for discount in ("log2", logarithmic, discounts("log2", 2, 200))
        ]
        expected, *found = self.per_query(data, scores, *metrics)
        for values in found:
            np.testing.assert_array_equal(values, expected)

    def test_none_is_cumulated_gain(self, data, scores):
        metrics = gs.DCG(gain="linear", discount=lambda ranks: np.ones(len(ranks)), name="cumulated"), gs.CG()
        np.testing.assert_array_equal(*self.per_query(data, scores, *metrics))

    @pytest.mark.parametrize("k", [1, 2, 3, None])
    @pytest.mark.parametrize("gain", [squared, lambda labels: np.where(labels == 1, 5.0, labels)], ids=["up", "down"])
    @pytest.mark.parametrize("discount", [shelves, halving])
    def test_against_all_orders(self, gain, discount, k):
        metric = gs.NDCG(gain=gain, discount=discount, k=k, name=f"{discount.__name__}_{gain(np.ones(1))[0]:g}")
        found = gs.evaluate(metric, JUDGMENTS, SCORES).per_query[:, 0]
        one = lambda function: lambda value: float(function(np.array([float(value)]))[0])  # noqa: E731
        expected = [by_formula(*query, one(gain), one(discount), k) for query in queries()]
        np.testing.assert_allclose(found, expected, rtol=1e-13)

    @pytest.mark.parametrize("k", [1, 2, 3, None])
    def test_a_table_of_discounts_against_all_orders(self, k):
        table = (1, 0.9, 0.9, 0.25, 0)
        found = gs.evaluate(gs.NDCG(gain=squared, discount=table, k=k), JUDGMENTS, SCORES).per_query[:, 0]
        expected = [by_formula(*query, lambda l: l**2, lambda r: table[r - 1], k) for query in queries()]  # noqa: E741
        np.testing.assert_allclose(found, expected, rtol=1e-13)

    def test_a_gain_that_does_not_ascend_has_its_own_ideal(self):
        """Nothing is worth more than label 1."""
        metric = gs.NDCG(gain={0: 0, 1: 5, 2: 3}, k=1)
        assert gs.evaluate(metric, gs.Judgments([2, 1], group=[2]), [1, 0]).mean[str(metric)] == 0.6


class TestNames:
    @pytest.mark.parametrize(
        ("metric", "name"),
        [
            (gs.NDCG(gain=squared, k=10), "ndcg(gain=squared)@10"),
            (gs.DCG(gain="linear", discount=shelves), "dcg_linear(discount=shelves)"),
            (gs.CG(gain=squared, ties="order"), "cg(ties=order,gain=squared)"),
            (gs.NDCG(gain="linear", discount=[1, 0.5, 0.25], k=3), "ndcg_linear(discount=1/0.5/0.25)@3"),
            (gs.NDCG(gain="exponential", discount=[1], k=1), "ndcg_exp(discount=1)@1"),
            (gs.NDCG(gain=lambda labels: labels * 3, name="tripled", k=5), "tripled@5"),
            (gs.NDCG(gain=squared, discount=shelves, name="shop", empty=1), "shop(empty=1)"),
            (gs.NDCG(gain="linear", discount=partial(np.power, 0.9), name="patient"), "patient"),
        ],
    )
    def test_read_back_as_an_equal_metric(self, metric, name):
        assert str(metric) == name
        assert gs.parse_metrics(name) == (metric,)
        assert hash(gs.parse_metrics(name)[0]) == hash(metric)
        assert str(metric) in metric._repr_html_()

    def test_repr(self):
        assert repr(gs.NDCG(gain=squared, discount=shelves, k=3)) == "NDCG(gain=squared, discount=shelves, k=3)"
        assert repr(gs.NDCG(gain="linear", discount=(1, 0.5))) == "NDCG(gain='linear', discount=(1.0, 0.5))"

    @pytest.mark.parametrize("option", ["gain", "discount"])
    @pytest.mark.parametrize("function", [lambda values: values, partial(np.power, 2.0)], ids=["lambda", "partial"])
    def test_what_has_no_name_needs_one(self, option, function):
        with pytest.raises(ValueError, match=rf"{option} is (a lambda|an object without a name).*name='ndcg_own'"):
            gs.NDCG(**{"gain": "linear", option: function})

    def test_a_name_of_gainsays_own(self):
        def exponential(labels):
            return labels

        def log2(ranks):
            return ranks

        with pytest.raises(ValueError, match="'exponential' is the name of a gain of gainsay's own"):
            gs.NDCG(gain=exponential)
        with pytest.raises(ValueError, match="'log2' is the name of a discount of gainsay's own"):
            gs.NDCG(gain="linear", discount=log2)
        with pytest.raises(ValueError, match="'ndcg_exp' is the name of a metric of gainsay's own"):
            gs.NDCG(gain=exponential, name="ndcg_exp")

    def test_another_function_does_not_take_the_name(self):
        def other():
            def squared(labels):
                return labels

            return squared

        gs.NDCG(gain=squared)
        with pytest.raises(
            ValueError, match=r"the gain name 'squared' is taken by .*\.squared, and cannot go to .*other"
        ):
            gs.NDCG(gain=other())

    def test_defined_anew_in_the_same_place(self):
        def make(power):
            def in_a_cell(labels):
                return labels**power

            return gs.NDCG(gain=in_a_cell)

        make(1)
        second = make(3)
        assert gs.parse_metrics("ndcg(gain=in_a_cell)") == (second,)

    @pytest.mark.parametrize("options", [{}, {"gain": (0, 1, 3)}, {"discount": (1, 0.5)}])
    def test_a_name_for_what_has_one(self, options):
        with pytest.raises(ValueError, match="name='own' is for a gain or discount that is a function"):
            gs.NDCG(**{"gain": "linear", **options}, name="own")

    def test_options_that_contradict_the_name(self):
        gs.NDCG(gain=lambda labels: labels, name="contradicted")
        with pytest.raises(ValueError, match=r"contradicts itself: contradicted says gain=<lambda>"):
            gs.parse_metrics("contradicted(gain=linear)")

    @pytest.mark.parametrize("option", ["gain", "discount"])
    def test_a_function_that_is_not_known(self, option):
        text = f"ndcg({option}=of_my_shop)" if option == "gain" else "ndcg_exp(discount=of_my_shop)"
        with pytest.raises(
            ValueError, match=rf"{option} must be .*got 'of_my_shop'; a function is known by its name once"
        ):
            gs.parse_metrics(text)

    @pytest.mark.parametrize("option", ["gain", "discount"])
    @pytest.mark.parametrize("value", [dict, 3, None])
    def test_other_types(self, option, value):
        with pytest.raises(TypeError, match=f"{option} must be"):
            gs.NDCG(**{"gain": "linear", option: value})


class TestPickling:
    @pytest.mark.parametrize(
        "metric",
        [gs.NDCG(gain=squared, k=3), gs.DCG(gain=squared, discount=halving, name="both"), gs.NDCG(gain=(0, 1, 3))],
        ids=str,
    )
    def test_functions_of_a_module(self, metric):
        assert pickle.loads(pickle.dumps(metric)) == metric

    @pytest.mark.parametrize("option", ["gain", "discount"])
    def test_a_lambda_is_refused_with_the_remedy(self, option):
        metric = gs.NDCG(**{"gain": "linear", option: lambda values: values}, name=f"lambda_{option}")
        with pytest.raises(TypeError, match=f"its {option}, .*<lambda>, .*Define it with def at the top level"):
            pickle.dumps(metric)


class TestBadGains:
    def message(self, gain, labels=(0, 1, 2, 3)):
        with pytest.raises(ValueError, match=r"^gain ") as caught:
            gains_of(gain, np.array(labels, dtype=float))
        return str(caught.value)

    @pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
    def test_not_a_gain(self, value):
        def off(labels):
            return np.where(labels == 2, value, labels)

        assert self.message(off) == f"gain 'off' returned {value} for label 2: it must be finite and not negative"

    def test_one_number_for_all(self):
        def first(labels):
            return labels[0]

        assert "gain 'first' returned shape () for 4 labels (labels 0, 1, 2, 3)" in self.message(first)

    def test_a_function_of_one_label(self):
        def scalar(label):
            return 1 if label > 2 else 0

        message = self.message(scalar, labels=range(9))
        assert message.startswith("gain 'scalar' failed on the labels 0, 1, 2, 3, 4, 5, …: ValueError: The truth value")
        assert message.endswith("it is given an array of labels and returns an array of as many numbers")

    def test_text(self):
        def text(labels):
            return ["much"] * len(labels)

        assert "gain 'text' failed on the labels 0, 1, 2, 3: ValueError: could not convert" in self.message(text)

    def test_a_gain_that_depends_on_the_other_labels(self):
        def relative(labels):
            return labels / labels.max()

        message = self.message(relative, labels=[1, 2, 4])
        assert message.startswith("gain 'relative' gives label 1 0.25 among other labels but 1 alone")

    def test_a_gain_that_changes_its_argument_spoils_nothing(self):
        def careless(labels):
            labels *= 2
            return labels

        assert gains_of(careless, np.array([1.0, 2.0])).tolist() == [2, 4]

    def test_it_is_said_while_binding(self):
        with pytest.raises(ValueError, match="for label 4: it must be finite"):
            gs.Evaluator([gs.NDCG(gain=lambda labels: 3 - labels, name="sinking")], JUDGMENTS)


class TestBadDiscounts:
    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ([1, -0.5], "discount must be finite and not negative, got -0.5 for rank 2"),
            ([1, math.nan], "discount must be finite and not negative, got nan for rank 2"),
            ([1, 0.5, 0.75], "discount rises from 0.5 at rank 2 to 0.75 at rank 3"),
            ([0, 0], "discount is 0 for rank 1: no rank would count"),
            ([], "discount must be a table of one number for each rank"),
            ([[1, 0.5]], "discount must be a table of one number for each rank"),
        ],
    )
    def test_tables(self, table, message):
        with pytest.raises(ValueError, match=message):
            gs.NDCG(gain="linear", discount=table)
        if table and np.ndim(table) == 1:
            text = "/".join(map(str, table))
            with pytest.raises(ValueError, match=f"discount={text}.*{message}" if "nan" not in text else message):
                gs.parse_metrics(f"ndcg_linear(discount={text})")

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda ranks: 2 - ranks, "returned -1.0 for rank 3: it must be finite and not negative"),
            (lambda ranks: ranks, "'<lambda>' rises from 1 at rank 1 to 2 at rank 2"),
            (lambda ranks: ranks * 0, "'<lambda>' is 0 for rank 1"),
            (lambda ranks: [1, 0.5], "returned shape \\(2,\\) for 5 ranks \\(ranks 1, 2, 3, 4, 5\\)"),
            (lambda ranks: 1 / ranks / len(ranks), "gives rank 1 0.2 among other ranks but 1 alone"),
        ],
    )
    def test_functions(self, function, message):
        with pytest.raises(ValueError, match=message):
            discounts(function, 2, 5)

    def test_too_short_for_the_ranks_that_are_needed(self):
        metric = gs.NDCG(gain="linear", discount=(1, 0.5, 0.25))
        expected = (
            "discount has entries for ranks 1 to 3, but the metric looks at 5 ranks: add the missing ones, or give"
        )
        with pytest.raises(ValueError, match=expected):
            gs.evaluate(metric, JUDGMENTS, SCORES)

    @pytest.mark.parametrize("group", [[5, 5], [3, 3, 4]])
    def test_long_enough_for_the_cutoff_or_the_longest_query(self, group):
        table = [1, 0.5, 0.25, 0.125]
        metric = gs.DCG(gain="linear", discount=table, k=4 if max(group) > 4 else 10)
        found = gs.evaluate(metric, gs.Judgments(LABELS, group=group), range(10, 0, -1)).per_query[0, 0]
        assert found == sum(d * label for d, label in zip(table, LABELS[: min(group[0], 4)], strict=False))

    def test_a_base_has_no_meaning(self):
        with pytest.raises(ValueError, match="base=3 has no meaning for discount="):
            gs.NDCG(gain="linear", discount=(1, 0.5), base=3)

    def test_cumulated_gain_has_none(self):
        with pytest.raises(ValueError, match="cumulated gain has no discount"):
            gs.CG(discount=shelves)
