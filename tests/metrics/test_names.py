"""Names of metrics: reading, printing, and the errors on the way."""

from __future__ import annotations

import inspect
import math
import pickle
import re
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any, ClassVar
from xml.etree import ElementTree

import hypothesis.strategies as st
import pytest
from hypothesis import given

import gainsay as gs
from gainsay.metrics.names import BUILT_IN, KNOWN_ELSEWHERE

finite = st.floats(-1e6, 1e6, allow_nan=False)
gains = st.one_of(
    st.sampled_from(["linear", "exponential"]),
    st.lists(finite, min_size=1, max_size=5).map(tuple),
    st.dictionaries(finite, finite, min_size=1, max_size=5),
)
common = {
    "k": st.one_of(st.none(), st.integers(1, 10**9)),
    "ties": st.sampled_from(["average", "order", "worst", "best"]),
    "empty": st.sampled_from([0.0, 1.0, "skip"]),
    "scores": st.sampled_from(["float64", "float32"]),
    "weights": st.sampled_from(["query", "float32", "float32_mean", "ignore"]),
}
binary = {**common, "min_label": st.floats(allow_nan=False)}
with_base = st.tuples(st.sampled_from(["log2", "log", "jk"]), st.floats(1.001, 1e9))
without_base = st.tuples(st.sampled_from(["reciprocal", "none"]), st.just(2.0))


powers = st.floats(1, 1e9)


def with_power_gain(make):
    """Metrics with a power gain; those of base 1 and 2 go by another name."""
    return st.builds(make, gain=st.just("power"), gain_base=powers, **common)


def discounted(make):
    """Metrics with gain and discount; only discounts with a logarithm take a base."""
    return st.builds(
        lambda discount, **options: make(discount=discount[0], base=discount[1], **options),
        discount=st.one_of(with_base, without_base),
        gain=gains,
        **common,
    )


any_metric = st.one_of(
    discounted(gs.NDCG),
    discounted(gs.DCG),
    st.builds(gs.CG, gain=gains, **common),
    with_power_gain(gs.NDCG),
    with_power_gain(gs.DCG),
    with_power_gain(gs.CG),
    st.builds(gs.AP, denominator=st.sampled_from(["min_R_k", "R", "hits"]), **binary),
    st.builds(
        gs.GAP,
        thresholds=st.one_of(st.just("equal"), st.lists(st.floats(1e-9, 1), min_size=1, max_size=5)),
        denominator=st.sampled_from(["min_R_k", "R"]),
        **common,
    ),
    st.builds(gs.RPrecision, **binary),
    st.builds(gs.RR, **binary),
    st.builds(gs.Precision, denominator=st.sampled_from(["k", "min_k_n"]), **binary),
    st.builds(gs.Recall, **binary),
    st.builds(gs.Hit, **binary),
    st.builds(gs.RBP, p=st.floats(1e-9, 1 - 1e-9), gain=st.sampled_from(["binary", "graded"]), **binary),
    st.builds(gs.Judged, **common),
    st.builds(gs.ERR, max_label=st.floats(0, 1023), **common),
)

NAMED = {
    "ndcg_linear": gs.NDCG(gain="linear"),
    "ndcg_exp@10": gs.NDCG(gain="exponential", k=10),
    "ndcg_jk": gs.NDCG(gain="linear", discount="jk"),
    "ndcg_jk(base=10)@5": gs.NDCG(gain="linear", discount="jk", base=10, k=5),
    "ndcg_exp(discount=jk)": gs.NDCG(gain="exponential", discount="jk"),
    "ndcg_linear(ties=worst,empty=1)@5": gs.NDCG(gain="linear", ties="worst", empty=1, k=5),
    "ndcg(gain=0/1/3.5)": gs.NDCG(gain=(0, 1, 3.5)),
    "ndcg(gain=-1>0/2>1)@3": gs.NDCG(gain={2: 1, -1: 0}, k=3),
    "dcg_exp": gs.DCG(gain="exponential"),
    "dcg_jk@10": gs.DCG(gain="linear", discount="jk", k=10),
    "cg": gs.CG(),
    "cg_exp@3": gs.CG(gain="exponential", k=3),
    "map@10": gs.AP(k=10),
    "map(denominator=R)": gs.AP(denominator="R"),
    "gap@10": gs.GAP(k=10),
    "gap(thresholds=0.2/0.8)": gs.GAP(thresholds=(0.2, 0.8)),
    "gap(thresholds=1,denominator=R)": gs.GAP(thresholds=[1], denominator="R"),
    "rprec(min_label=2)": gs.RPrecision(min_label=2),
    "mrr": gs.RR(),
    "mrr(min_label=2)@10": gs.RR(min_label=2, k=10),
    "precision@5": gs.Precision(k=5),
    "recall@100": gs.Recall(k=100),
    "judged@10": gs.Judged(k=10),
    "judged(ties=order,empty=skip)": gs.Judged(ties="order", empty="skip"),
    "hit(empty=skip)@1": gs.Hit(empty="skip", k=1),
    "rbp": gs.RBP(p=0.8),
    "rbp(p=0.95,gain=graded)": gs.RBP(p=0.95, gain="graded"),
    "err(max_label=4)@20": gs.ERR(max_label=4, k=20),
    "map(scores=float32,weights=float32_mean)": gs.AP(scores="float32", weights="float32_mean"),
}


class TestValues:
    @given(any_metric)
    def test_name_reads_back_as_an_equal_metric(self, metric):
        assert gs.parse_metrics(str(metric)) == (metric,)

    @given(any_metric)
    def test_names_hold_no_colon_and_no_blank(self, metric):
        assert not set(str(metric)) & set(": \t\n")

    @given(any_metric)
    def test_repr_makes_an_equal_metric(self, metric):
        assert eval(repr(metric), vars(gs)) == metric

    @pytest.mark.parametrize(
        ("metric", "text"),
        [
            (gs.NDCG(gain="exponential", k=10), "NDCG(gain='exponential', k=10)"),
            (gs.NDCG(gain="linear", discount="jk", ties="worst"), "NDCG(gain='linear', discount='jk', ties='worst')"),
            (gs.NDCG(gain=(0, 1, 3)), "NDCG(gain=(0.0, 1.0, 3.0))"),
            (gs.AP(), "AP()"),
            (gs.RR(min_label=math.inf), "RR(min_label=float('inf'))"),
            (gs.ERR(max_label=4, k=20, empty="skip"), "ERR(max_label=4.0, k=20, empty='skip')"),
        ],
    )
    def test_repr_says_what_is_not_as_by_default(self, metric, text):
        assert repr(metric) == text

    def test_repr_of_a_metric_of_the_users_own(self):
        @dataclass(frozen=True, kw_only=True)
        class Own(gs.Metric):
            """Own: <i>everything</i> & more."""

            note: str = "a"

            names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"own": {}}

        assert repr(Own(note="<b>", k=3)) == "Own(note='<b>', k=3)"
        page = Own(note="<b>", k=3)._repr_html_()
        assert "<b>" not in page
        assert "<i>" not in page
        assert "own(note=&lt;b&gt;)@3" in page
        assert "Own: &lt;i&gt;everything&lt;/i&gt; &amp; more." in page

    @given(any_metric)
    def test_html_says_name_formula_and_every_option(self, metric):
        page = ElementTree.fromstring(f"<div>{metric._repr_html_()}</div>")
        assert page.findtext("div/p/strong") == str(metric)
        assert page.findtext("div/p[2]") == inspect.getdoc(type(metric)).splitlines()[0]
        shown = {row.findtext("td[1]"): row.findtext("td[2]") for row in page.iterfind("div/table/tbody/tr")}
        assert set(shown) == {field.name for field in fields(metric)}
        assert shown["ties"] == metric.ties
        assert shown["k"] == ("all ranks" if metric.k is None else str(metric.k))

    @given(any_metric)
    def test_pickle(self, metric):
        assert pickle.loads(pickle.dumps(metric)) == metric

    @given(any_metric | st.sampled_from(list(NAMED.values())), st.sampled_from(list(NAMED.values())))
    def test_equal_exactly_where_the_names_are(self, one, other):
        assert (one == other) == (str(one) == str(other))

    @given(any_metric)
    def test_equal_metrics_have_equal_hashes(self, metric):
        assert hash(gs.parse_metrics(str(metric))[0]) == hash(metric)

    @pytest.mark.parametrize("metric", NAMED.values(), ids=str)
    def test_immutable(self, metric):
        for field in fields(metric):
            with pytest.raises(FrozenInstanceError):
                setattr(metric, field.name, 1)

    @pytest.mark.parametrize(("name", "metric"), NAMED.items())
    def test_printing(self, name, metric):
        assert str(metric) == name

    @pytest.mark.parametrize(("name", "metric"), NAMED.items())
    def test_reading(self, name, metric):
        assert gs.parse_metrics(name) == (metric,)

    def test_metrics_of_different_kinds_differ(self):
        assert gs.DCG(gain="linear", discount="none") != gs.CG()

    def test_replace_checks_again(self):
        with pytest.raises(ValueError, match="k must be a whole number"):
            replace(gs.RR(k=3), k=0)


class TestReading:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            (" ndcg_exp@10 ", "ndcg_exp@10"),
            ("ndcg_linear( ties = worst , empty = 1 )@5", "ndcg_linear(ties=worst,empty=1)@5"),
            ("map()", "map"),
            ("map(denominator=min_R_k)", "map"),
            ("ndcg(gain=exponential)", "ndcg_exp"),
            ("ndcg_linear(discount=jk)", "ndcg_jk"),
            ("ndcg_linear(base=10)", "ndcg_linear(discount=log,base=10)"),
            ("rbp(p=.8)", "rbp"),
            ("mrr(empty=1.0)@010", "mrr(empty=1)@10"),
            ("ndcg_exp(gain=exponential)", "ndcg_exp"),
        ],
    )
    def test_one_metric_has_one_name(self, text, name):
        assert str(*gs.parse_metrics(text)) == name

    def test_strings_metrics_and_lists_of_them(self):
        found = gs.parse_metrics("mrr", [gs.AP(), ("hit@1", iter(["recall@5"]))])
        assert [str(metric) for metric in found] == ["mrr", "map", "hit@1", "recall@5"]

    def test_one_string_is_one_metric(self):
        assert gs.evaluate("mrr", gs.Judgments([1], group=[1]), [0]).mean == {"mrr": 1.0}

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_every_known_name_makes_its_kind_of_metric(self, name):
        power = "(gain_base=1.5)"
        needed = {"ndcg": "(gain=linear)", "dcg": "(gain=linear)", "ndcg_power": power, "dcg_power": power}
        options = {**needed, "err": "(max_label=4)"}.get(name, "")
        assert type(*gs.parse_metrics(name + options)) is BUILT_IN[name]


class TestErrors:
    def test_bare_ndcg_names_the_choices(self):
        expected = (
            r"'ndcg@10' does not say which NDCG: take 'ndcg_linear@10' .*'ndcg_exp@10' .*'ndcg_jk@10' .*or give gain="
        )
        with pytest.raises(ValueError, match=expected):
            gs.parse_metrics("ndcg@10")

    def test_bare_ndcg_keeps_its_options(self):
        with pytest.raises(ValueError, match=r"take 'ndcg_linear\(ties=worst\)@10'"):
            gs.parse_metrics("ndcg(ties=worst)@10")

    def test_bare_dcg(self):
        with pytest.raises(ValueError, match="'dcg' does not say which DCG: take 'dcg_linear'"):
            gs.parse_metrics("dcg")

    def test_err_needs_its_scale(self):
        with pytest.raises(ValueError, match=r"needs the highest grade of the scale: write err\(max_label=4\)@10"):
            gs.parse_metrics("err@10")

    def test_err_needs_its_scale_and_keeps_its_options(self):
        with pytest.raises(ValueError, match=r"write err\(max_label=4,ties=worst\)$"):
            gs.parse_metrics("err(ties=worst)")

    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            ("ndgc_exp", "ndcg_exp"),
            ("precison@5", "precision"),
            ("NDCG_EXP@10", "ndcg_exp"),
            ("Map", "map"),
            *((name, meant) for name, meant in KNOWN_ELSEWHERE.items()),
            ("P@10", "precision"),
            ("RR", "mrr"),
        ],
    )
    def test_did_you_mean_this_metric(self, text, meant):
        with pytest.raises(ValueError, match=f"unknown metric .* did you mean '{meant}'"):
            gs.parse_metrics(text)

    def test_unknown_metric_lists_the_known_ones(self):
        with pytest.raises(
            ValueError, match=r"unknown metric 'auc' in 'auc'.*known: .*ndcg, ndcg_exp, ndcg_jk, ndcg_linear"
        ):
            gs.parse_metrics("auc")

    @pytest.mark.parametrize(
        "text",
        ["", "  ", "@10", "map(", "map)", "map(denominator=R", "map@1@2", "map 10", "map-1", "(p=1)", "map(a(b))"],
    )
    def test_what_is_not_a_name(self, text):
        with pytest.raises(ValueError, match=r"cannot read the metric .*write name"):
            gs.parse_metrics(text)

    @pytest.mark.parametrize("cutoff", ["0", "-1", "1.5", "", "ten", "1e2", " "])
    def test_cutoff(self, cutoff):
        with pytest.raises(ValueError, match=f"the cutoff of 'map@{cutoff}' must be a whole number of at least 1"):
            gs.parse_metrics(f"map@{cutoff}")

    def test_unknown_option(self):
        expected = "unknown option 'tie' in 'map\\(tie=order\\)'; did you mean 'ties'.*known: ties, empty"
        with pytest.raises(ValueError, match=expected):
            gs.parse_metrics("map(tie=order)")

    def test_option_of_another_metric(self):
        with pytest.raises(ValueError, match="unknown option 'denominator' in"):
            gs.parse_metrics("mrr(denominator=R)")

    def test_cutoff_as_an_option(self):
        with pytest.raises(ValueError, match="unknown option 'k' in 'map\\(k=5\\)'; write the cutoff as @5"):
            gs.parse_metrics("map(k=5)")

    @pytest.mark.parametrize("options", ["ties", "ties=", "=order", "ties=order,", ",", "ties order"])
    def test_options_are_written_with_an_equals_sign(self, options):
        with pytest.raises(ValueError, match=r"cannot read .* options are written option=value|unknown option ''"):
            gs.parse_metrics(f"map({options})")

    @pytest.mark.parametrize(
        ("text", "remedy"),
        [
            ("ndcg_exp(gain=linear)", "ndcg(gain=linear)"),
            ("ndcg_jk(discount=log2)@5", "ndcg(discount=log2)"),
            ("dcg_linear(gain=0/1/3)", "dcg(gain=0/1/3)"),
        ],
    )
    def test_an_option_that_contradicts_the_name(self, text, remedy):
        with pytest.raises(ValueError, match=f"contradicts itself: .* Write {re.escape(remedy)}, or another of"):
            gs.parse_metrics(text)

    def test_a_cutoff_of_thousands_of_digits(self):
        with pytest.raises(ValueError, match=r"must be a whole number of at least 1, got '9{40}'"):
            gs.parse_metrics("ndcg_exp@" + "9" * 5000)

    def test_option_twice(self):
        with pytest.raises(ValueError, match=r"option 'ties' stands twice in 'map\(ties=order,ties=worst\)'"):
            gs.parse_metrics("map(ties=order,ties=worst)")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("map(ties=wurst)", "ties must be one of 'average', .* got 'wurst'; did you mean 'worst'"),
            ("map(ties=1)", r"ties must be one of .* got 1\.0"),
            ("map(empty=2)", r"empty must be 0, 1 or 'skip', got 2\.0"),
            ("map(empty=no)", "empty must be 0, 1 or 'skip', got 'no'"),
            ("map(empty=nan)", "empty must be 0, 1 or 'skip', got nan"),
            ("map(scores=float16)", "scores must be one of 'float64', 'float32', got 'float16'"),
            ("map(weights=none)", "weights must be one of 'query'"),
            ("map(denominator=r)", "denominator must be one of"),
            ("ndcg(gain=cubic)", "gain must be 'linear'"),
            ("ndcg_exp(discount=log3)", "discount must be one of .* did you mean"),
            ("rbp(p=2)", "p must lie between 0 and 1"),
            ("rbp(gain=linear)", "gain must be one of 'binary', 'graded'"),
        ],
    )
    def test_bad_value_of_an_option_names_the_metric(self, text, message):
        with pytest.raises(ValueError, match=message) as caught:
            gs.parse_metrics(text)
        assert str(caught.value).startswith(repr(text))

    def test_option_that_must_be_a_number(self):
        with pytest.raises(TypeError, match=r"'rbp\(p=high\)': p must be a number, got 'high'"):
            gs.parse_metrics("rbp(p=high)")

    @pytest.mark.parametrize("again", ["map@5", gs.AP(k=5), "map(denominator=min_R_k)@5"], ids=str)
    def test_metric_given_twice(self, again):
        with pytest.raises(ValueError, match="metrics names map@5 twice"):
            gs.parse_metrics(["mrr", "map@5", again])

    @pytest.mark.parametrize("metrics", [[], ((), [])])
    def test_no_metric(self, metrics):
        with pytest.raises(ValueError, match="metrics is empty: name at least one"):
            gs.parse_metrics(metrics)

    @pytest.mark.parametrize("metric", [3, None, gs.AP])
    def test_what_is_no_metric(self, metric):
        with pytest.raises(TypeError, match="a metric must be a name such as 'ndcg_exp@10' or a Metric"):
            gs.parse_metrics([metric])


class TestCutoffs:
    @pytest.mark.parametrize("k", [10, 10.0])
    def test_whole_numbers(self, k):
        assert str(gs.RR(k=k)) == "mrr@10"

    @pytest.mark.parametrize("k", [0, -3, 2.5, math.nan, math.inf, 10**18, 1e300])
    def test_not_a_rank(self, k):
        with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
            gs.RR(k=k)

    @pytest.mark.parametrize("k", ["10", True, [10]])
    def test_not_a_number(self, k):
        with pytest.raises(TypeError, match="k must be a whole number of at least 1"):
            gs.RR(k=k)
