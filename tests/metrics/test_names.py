"""Names of metrics: reading, printing, safe names of letters, digits and underscores, and other views of a metric."""

import pickle
import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

import gainwise as gw
from gainwise.metrics import plain_name, safe_name
from gainwise.metrics.names import BUILT_IN as OURS

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
    "column": st.sampled_from([None, "revenue", "inf"]),
}
binary = {**common, "min_label": st.floats(allow_nan=False)}
with_base = st.tuples(st.sampled_from(["log2", "log", "jk"]), st.floats(1.001, 1e9))
without_base = st.tuples(st.sampled_from(["reciprocal", "none"]), st.just(2.0))


def discounted(make):
    """Metrics with gain and discount. Only logarithmic discounts have a base."""
    return st.builds(
        lambda discount, **options: make(discount=discount[0], base=discount[1], **options),
        discount=st.one_of(with_base, without_base),
        gain=gains,
        **common,
    )


any_metric = st.one_of(
    *(discounted(make) for make in (gw.NDCG, gw.DCG)),
    *(st.builds(make, gain=st.just("power"), gain_base=st.floats(1, 1e9), **common) for make in (gw.NDCG, gw.DCG)),
    st.builds(gw.AP, denominator=st.sampled_from(["min_R_k", "R"]), **binary),
    *(st.builds(make, **binary) for make in (gw.RPrecision, gw.RR, gw.Recall, gw.Hit)),
    st.builds(gw.Precision, denominator=st.sampled_from(["k", "min_k_n"]), **binary),
    st.builds(gw.RBP, p=st.floats(1e-9, 1 - 1e-9), gain=st.sampled_from(["binary", "graded"]), **binary),
    st.builds(gw.Judged, **common),
    st.builds(gw.ERR, max_label=st.floats(0, 1023), **common),
)

NAMED = {
    "ndcg_linear": gw.NDCG(gain="linear"),
    "ndcg_exp@10": gw.NDCG(gain="exponential", k=10),
    "ndcg_jk(base=10)@5": gw.NDCG(gain="linear", discount="jk", base=10, k=5),
    "ndcg_exp(discount=jk)": gw.NDCG(gain="exponential", discount="jk"),
    "ndcg_linear(ties=worst,empty=1)@5": gw.NDCG(gain="linear", ties="worst", empty=1, k=5),
    "ndcg(gain=0/1/3.5)": gw.NDCG(gain=(0, 1, 3.5)),
    "ndcg(gain=-1>0/2>1)@3": gw.NDCG(gain={2: 1, -1: 0}, k=3),
    "dcg(gain=7)@2": gw.DCG(gain=(7.0,), k=2),
    "dcg_jk@10": gw.DCG(gain="linear", discount="jk", k=10),
    "cg_exp@3": gw.DCG(gain="exponential", discount="none", k=3),
    "map(ties=worst,denominator=hits)": gw.AP(ties="worst", denominator="hits"),
    "map@10": gw.AP(k=10),
    "map(scores=float32,weights=float32_mean)": gw.AP(scores="float32", weights="float32_mean"),
    "rprec(min_label=2)": gw.RPrecision(min_label=2),
    "mrr(min_label=2)@10": gw.RR(min_label=2, k=10.0),
    "recall@100": gw.Recall(k=100),
    "judged(ties=order,empty=0)": gw.Judged(ties="order", empty=0.0),
    "hit(empty=skip)@1": gw.Hit(empty="skip", k=1),
    "rbp(p=0.95,gain=graded)": gw.RBP(p=0.95, gain="graded"),
    "err(max_label=4)@20": gw.ERR(max_label=4, k=20),
}


@pytest.mark.parametrize(("name", "metric"), NAMED.items())
def test_printing_and_reading(name, metric):
    assert str(metric) == name
    assert gw.parse_metrics(name) == (metric,)
    assert str(metric.without_cutoff()) == name.partition("@")[0]
    for field in fields(metric):
        with pytest.raises(FrozenInstanceError):
            setattr(metric, field.name, 1)


@given(any_metric)
def test_every_view_of_a_metric(metric):
    name = str(metric)
    assert not set(name) & set(": \t\n")
    assert gw.parse_metrics(name) == (metric,)
    assert hash(gw.parse_metrics(name)[0]) == hash(metric)
    assert eval(repr(metric), {each: getattr(gw, each) for each in gw.__all__}) == metric
    assert pickle.loads(pickle.dumps(metric)) == metric


@given(any_metric | st.sampled_from(list(NAMED.values())), st.sampled_from(list(NAMED.values())))
def test_metrics_are_equal_exactly_if_their_names_are(one, other):
    assert (one == other) == (str(one) == str(other))


@given(any_metric)
def test_safe_names_read_back(metric):
    safe = safe_name(metric)
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", safe)
    assert plain_name(safe) == str(metric)


@pytest.mark.parametrize(
    ("plain", "safe"),
    [
        ("ndcg_exp@10", "ndcg_exp_at_10"),
        ("ndcg_linear(ties=worst)@5", "ndcg_linear__ties_is_worst_at_5"),
        ("map(min_label=-1)@10", "map__min_label_is_minus_1_at_10"),
        *((name, name) for name in ("l2", "auc", "multi_logloss", "_at_", "valid_0", "a__b")),
    ],
)
def test_safe_names_by_hand(plain, safe):
    assert plain_name(safe) == plain
    if plain != safe:
        assert safe_name(plain) == safe


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" ndcg_exp@10 ", "ndcg_exp@10"),
        ("ndcg_linear( ties = worst , empty = 1 )@5", "ndcg_linear(ties=worst,empty=1)@5"),
        ("map()", "map"),
        ("ndcg(gain=exponential)", "ndcg_exp"),
        ("ndcg_linear(discount=jk)", "ndcg_jk"),
        ("ndcg_linear(base=10)", "ndcg_linear(discount=log,base=10)"),
        ("rbp(p=.8)", "rbp"),
        ("mrr(empty=1.0)@010", "mrr(empty=1)@10"),
        ("ndcg_exp(gain=exponential)", "ndcg_exp"),
    ],
)
def test_one_metric_has_one_name(text, name):
    assert str(*gw.parse_metrics(text)) == name


def test_strings_metrics_and_lists_of_them():
    metrics = gw.parse_metrics("mrr", [gw.AP(), ("hit@1", iter(["recall@5"]))])
    assert [str(metric) for metric in metrics] == ["mrr", "map", "hit@1", "recall@5"]
    assert gw.evaluate("mrr", gw.Judgments([1], group=[1]), [0]).mean == {"mrr": 1.0}


class TestShortNames:
    def test_a_short_name_stands_for_formula_and_column(self):
        revenue = gw.DCG(gain="linear", discount="none", k=10, column="revenue", name="revenue@10")
        assert str(revenue) == "revenue@10"
        assert gw.parse_metrics("revenue@10") == (revenue,)
        assert list(map(str, gw.parse_metrics("revenue@1,3"))) == ["revenue@1", "revenue@3"]
        assert gw.parse_metrics(revenue.definition) == (revenue,)
        assert revenue.definition == "cg(column=revenue,name=revenue)@10"
        assert eval(repr(revenue), vars(gw)) == revenue
        assert pickle.loads(pickle.dumps(revenue)) == revenue
        assert plain_name(safe_name(revenue)) == "revenue@10"

    def test_other_options_remain_visible(self):
        clicks = gw.RR(column="clicked", ties="worst", name="clicks")
        assert str(clicks) == "clicks(ties=worst)"
        assert gw.parse_metrics("clicks(ties=worst)") == (clicks,)
        (of_library,) = gw.parse_metrics("clicks@3", convention="lightgbm")
        assert (of_library.min_label, of_library.ties, of_library.column) == (1, "order", "clicked")

    def test_another_formula_loses_the_name(self):
        sales = gw.NDCG(gain="linear", column="sold", k=5, name="sales")
        assert str(sales.change(ties="order", k=3)) == "sales(ties=order)@3"
        assert str(sales.change(gain="exponential")) == "ndcg_exp(column=sold)@5"
        assert gw.parse_metrics("sales@5") == (sales,)

    def test_a_name_can_be_used_again(self):
        gw.RR(column="clicked", name="reused")
        later = gw.RR(column="bought", name="reused")
        assert gw.parse_metrics("reused") == (later,)


ROOT = Path(__file__).parents[2]
DEFINED_APART = {"judged": "tests/metrics/test_judged.py"}
"""Metrics that need more than labels and scores, and where they are held against a plain definition."""


def page(path):
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OURS)
def test_there_is_a_definition_in_plain_python(name, definitions):
    """Values, expectations over ties and random queries are compared with it."""
    if name in DEFINED_APART:
        assert "def test_" in page(DEFINED_APART[name])
        return
    assert name in {re.match(r"\w+", defined)[0] for defined in definitions.METRICS}


@pytest.mark.parametrize("metric", sorted({metric.__name__ for metric in OURS.values()}))
def test_the_class_is_public_and_has_an_entry_in_the_reference(metric):
    assert metric in gw.__all__
    assert metric in gw.metrics.__all__
    entries = page("docs/api/index.md").partition("\n## Metrics\n")[2].partition("\n## ")[0]
    assert f"- `{metric}`" in entries.splitlines()
