"""Invalid metrics, options and names, invalid custom metrics, and labels that do not suit a metric."""

import pickle
import types
from dataclasses import replace
from functools import partial
from math import inf, nan

import numpy as np
import pytest
from tests.bad_inputs import BadInput, bad_inputs
from tests.metrics.one_query import value

import gainwise as gw
from gainwise.metrics import safe_name
from gainwise.metrics.base import METRICS
from gainwise.metrics.names import OTHER_NAMES, parse_metric


def quadratic(labels):
    return labels**2


def zero(labels, scores):
    return 0.0


def make_function(name):
    """Return a function of this name that no other process could import."""

    def within(values):
        return values / values

    within.__name__ = name
    return within


OWN = gw.metric("own_zero", zero)
gw.NDCG(gain=quadratic)
gw.NDCG(gain=lambda labels: labels, name="contradicted")

NAMES = [  # argument in the message, its words, and names of metrics
    ("'ndcg_linear@10'", "ambiguous", "ndcg@10"),
    ("'dcg_linear'", "ambiguous", "dcg"),
    ("ndcg(gain=power,gain_base=1.5)", "no gain", "ndcg(gain_base=1.5)@10"),
    ("err(max_label=4)@10", "highest grade", "err@10"),
    ("name(option=value", "cannot parse", "", "@10", "map(", "map)", "map@1@2", "map 10", "(p=1)", "map(a(b))"),
    ("cutoff", "at least 1", "map@0", "map@1.5", "map@1,", "map@" + "9" * 5000),
    ("'tie'", "'ties'", "map(tie=order)"),
    ("'denominator'", "unknown option", "mrr(denominator=R)"),
    ("cannot parse", "option=value", "map(ties)", "map(ties order)"),
    ("unknown option ''", "map(", "map(=order)"),
    ("'ties'", "twice", "map(ties=order,ties=worst)"),
    ("ndcg(gain=linear)", "contradicts", "ndcg_exp(gain=linear)"),
    ("contradicted has", "contradicts", "contradicted(gain=linear)"),
    ("ties", "'worst'", "map(ties=wurst)", "map(ties=1)"),
    ("empty", "0, 1 or", "map(empty=2)", "map(empty=no)", "map(empty=nan)"),
    ("ties", "denominator='hits'", "map(denominator=hits)@3", "map(ties=average,denominator=hits)"),
    ("cg", "dcg(gain=power,discount=none)", "cg(gain=power)"),
    ("denominator", "'R'", "map(denominator=r)"),
    ("gain", "mean 'exponential'", "ndcg(gain=exponentiel)"),
    ("gain", "'0/1/3/7'", "ndcg(gain=0/a)", "ndcg(gain=1>2>3)", "ndcg(gain=1>2/3)", "ndcg(gain=>)", "ndcg(gain=0//1)"),
    ("gain", "Import", "ndcg(gain=of_my_shop)"),
    ("discount", "mean 'reciprocal'", "ndcg_exp(discount=reciprocl)"),
    ("discount", "rank 2", "ndcg_linear(discount=1/-0.5)"),
    ("base", "finite", "ndcg_linear(base=inf)@5"),
    ("p", "0 and 1", "rbp(p=2)"),
    ("gain", "'graded'", "rbp(gain=linear)"),
    ("k", "no effect", "own_zero@10"),
    ("'ties'", "unknown option", "own_zero(ties=order)"),
    ("'auc'", "(known: ", "auc"),
    ("'ndcg_exp@10'", "did you mean", "ndgc_exp@10", "NDCG_EXP@10"),
    ("'ndcg_linear@10'", "did you mean", "ndcg_cut_10", "ndcg_cut.10"),
    ("'precision@5,10'", "did you mean", "P.5,10"),
    ("'precision@10'", "did you mean", "P_10"),
    ("'map@10'", "did you mean", "map_cut_10"),
    ("did you mean 'ndcg_linear' or 'ndcg_exp'?", "unknown", "NDCG", "Ndgc"),
    ("did you mean 'ndcg_linear@10' or 'ndcg_exp@10'?", "unknown", "NDCG@10"),
    ("did you mean 'ndcg_exp@10'?", "10_exp", "ndcg@10_exp", "NDCG@10_exp"),
    ("'auc'", "--import", "auc"),
    ("['ndcg_linear@10', 'mrr']", "Pass a list", "ndcg_linear@10, mrr"),
    ("['map@5', 'map@10']", "Pass a list", "map@5, map@10"),
    *((f"mean '{meant}'", "unknown metric", name, name.upper()) for name, meant in OTHER_NAMES.items()),
]
CALLS = [  # argument in the message, exception, words of the message, and calls
    ("k", ValueError, "at least 1", "RR(k=0)", "RR(k=2.5)", "RR(k=nan)", "RR(k=10**18)", "replace(RR(k=3), k=0)"),
    ("min_label", TypeError, "number", "AP(min_label='1')", "AP(min_label=True)"),
    ("min_label", ValueError, "NaN", "AP(min_label=nan)"),
    ("p", ValueError, "between 0", "RBP(p=-0.1)", "RBP(p=1.1)", "RBP(p=nan)"),
    ("p", ValueError, "both excluded", "RBP(p=0)", "RBP(p=1)"),
    ("'rbp(p=high)': p", TypeError, "'high'", "parse_metrics('rbp(p=high)')"),
    ("max_label", ValueError, "1023", "ERR(max_label=-1)", "ERR(max_label=1024)", "ERR(max_label=nan)"),
    ("gain", TypeError, "", "NDCG()", "DCG(gain=3)", "DCG(gain=None)", "DCG(gain=dict)"),
    ("gain", ValueError, "finite", "DCG(gain=())", "DCG(gain={})", "DCG(gain=(0, inf))", "DCG(gain={0: nan})"),
    ("gain", ValueError, "one gain per", "DCG(gain=[(0, 1), (0, 2)])"),
    ("gain_base", ValueError, "requires", "NDCG(gain='power')"),
    ("gain_base", ValueError, "at least 1", "NDCG(gain='power', gain_base=0.9)", "NDCG(gain='power', gain_base=nan)"),
    ("gain_base", ValueError, "finite", "NDCG(gain='power', gain_base=inf)"),
    ("gain_base=1.5", ValueError, "without gain='power'", "NDCG(gain='linear', gain_base=1.5)"),
    ("gain", ValueError, "name='ndcg_custom'", "NDCG(gain=lambda labels: labels)", "NDCG(gain=partial(np.power, 2.0))"),
    ("discount", ValueError, "name='ndcg_custom'", "NDCG(gain='linear', discount=lambda ranks: ranks)"),
    ("'exponential'", ValueError, "built-in gain", "NDCG(gain=make_function('exponential'))"),
    ("'quadratic'", ValueError, "used by", "NDCG(gain=make_function('quadratic'))"),
    ("'ndcg_exp'", ValueError, "built-in metric", "NDCG(gain=quadratic, name='ndcg_exp')"),
    ("name", ValueError, "an option", "NDCG(gain='linear', name='ties')", "RR(name='min_label')", "RR(name='k')"),
    ("'map'", ValueError, "built-in metric", "RR(name='map')", "NDCG(gain='linear', k=3, name='map@3')"),
    ("'own_zero'", ValueError, "used by", "RR(name='own_zero')"),
    ("'a b'", ValueError, "letters, digits", "RR(name='a b')", "RR(column='a b')", "RR(k=3, name='a b@3')"),
    ("'clicks@5'", ValueError, "letters, digits", "RR(k=3, name='clicks@5')"),
    ("column", TypeError, "got 3", "RR(column=3)"),
    ("discount", TypeError, "", "DCG(gain='linear', discount=3)", "DCG(gain='linear', discount=None)"),
    ("base", ValueError, "at least 1", "DCG(gain='linear', base=0.5)", "DCG(gain='linear', base=nan)"),
    ("base=3", ValueError, "discount='none'", "DCG(gain='linear', discount='none', base=3)"),
    ("discount", ValueError, "0.75 for rank", "DCG(gain='linear', discount=[1, 0.5, 0.75])"),
    ("discount", ValueError, "0 for rank", "DCG(gain='linear', discount=[0, 0])"),
    ("discount", ValueError, "needs 3 ranks", "value(NDCG(gain='linear', discount=[1, 0.5]), [1, 0, 2])"),
    ("discount", ValueError, "table", "DCG(gain='linear', discount=[])", "DCG(gain='linear', discount=[[1, 0.5]])"),
    ("metrics", ValueError, "at least one", "parse_metrics([])", "parse_metrics(((), []))"),
    ("a metric", TypeError, "must be", "parse_metrics([3])", "parse_metrics(None)", "parse_metrics(AP)"),
    ("metrics", TypeError, "an order", "parse_metrics({'map', 'mrr'})", "parse_metrics(['map', frozenset(['mrr'])])"),
    ("map@5", ValueError, "twice", "parse_metrics('map@5', 'mrr', 'map@5')", "parse_metrics('map@5', AP(k=5))"),
    ("half_in_cell", ValueError, "twice", "parse_metrics(define(HALF), define(HALF))"),
    ("'ndcg'", ValueError, "ambiguous", "parse_metrics('ndcg', convention='ranx')"),
    ("convention", ValueError, "mean 'lightgbm'", "parse_metrics('mrr', convention='lgbm')"),
    ("'clicks@5'", ValueError, "restored as", "safe_name('clicks_at_5')"),
    ("worth.com", ValueError, "restored as", "safe_name('ndcg(gain=worth_dot_com)')"),
    ("'two words'", ValueError, "safe name", "safe_name('two words')"),
    ("'own_zero'", ValueError, "used by", "metric('own_zero', quadratic)"),
    ("'mrr'", ValueError, "built-in metric", "metric('mrr', zero)"),
    ("must consist of", ValueError, "", "metric('own@10', zero)", "metric('my loss', zero)", "metric('', zero)"),
    ("'ndcg_exp@1,3'", TypeError, "names 2", "parse_metric('ndcg_exp@1,3')"),
    ("ndcg_exp@3", ValueError, "twice", "parse_metrics('ndcg_exp@3,3')", "parse_metrics('ndcg_exp@1,3', 'ndcg_exp@3')"),
    ("higher_is_better", TypeError, "'no'", "metric('own', zero, higher_is_better='no')"),
    ("own_zero", ValueError, "no effect", "replace(OWN, k=10)", "replace(OWN, ties='order')", "replace(OWN, empty=1)"),
]


def evaluate_gain(function, labels=(0, 1, 2, 3)):
    function.__name__ = function.__qualname__ = "own"  # the same function, defined again
    return value(gw.NDCG(gain=function, name="own_gain"), labels)


def evaluate_discount(function):
    function.__name__ = function.__qualname__ = "own"
    return value(gw.NDCG(gain="linear", discount=function, name="own_discount"), [1] * 5)


def evaluate_function(function):
    function.__qualname__ = "bad"
    judgments = gw.Judgments([1, 0, 2], qid=["shoes", "shoes", "hats"])
    return gw.evaluate(gw.metric("bad", function), judgments, [1, 2, 3])


def evaluate_returned(returned, documents=2):
    return evaluate_function(lambda labels, scores: returned if len(labels) == documents else 0.0)


def experiment(metric):
    data = gw.data.simulate(queries=4, seed=0)
    return gw.Experiment([gw.Candidate("a", "lightgbm", {})], data, data, data, metrics=["ndcg_exp@3", metric])


UNJUDGED = gw.Judgments([1, 0], group=[2], judged=[True, False])
EVALUATIONS = [
    ("got 5", "max_label", lambda: value("err(max_label=4)", [0, 5])),
    ("got -1", "max_label", lambda: value("err(max_label=4)", [-1, 2], negative_labels="allow")),
    ("10000 documents", "k=10", lambda: value("err(max_label=1)", [0, 1] * 5000, [0] * 10_000)),
    ("lowest: -2", "negative_labels='zero'", lambda: value("ndcg_exp", [-2, 1], negative_labels="allow")),
    ("(query 0)", "got label 961", lambda: value("ndcg_exp", [2, 961, 0])),
    ("(query 0)", "got label 5000", lambda: value("dcg_power(gain_base=1.5)", [5000, 2])),
    ("label 1e+300", "Divide the labels", lambda: value("ndcg_linear", [1, 1e300])),
    ("only for 0", "gain has no entry", lambda: value("dcg(gain=7)@2", [0, 1])),
    ("label 0.5,", "gain", lambda: value("ndcg(gain=0/1)", [0, 0.5])),
    ("nan for label", "gain 'own'", lambda: evaluate_gain(lambda labels: np.where(labels == 2, nan, labels))),
    ("inf for label", "gain 'own'", lambda: evaluate_gain(lambda labels: np.where(labels == 2, inf, labels))),
    ("among others", "gain 'own'", lambda: evaluate_gain(lambda labels: 1e-9 * (labels + len(labels)))),
    ("shape ()", "gain 'own'", lambda: evaluate_gain(lambda labels: labels[0])),
    ("-1.0 for rank", "discount 'own'", lambda: evaluate_discount(lambda ranks: 2 - ranks)),
    ("shape (2,)", "discount 'own'", lambda: evaluate_discount(lambda ranks: [1, 0.5])),
    ("hats (1 document)", "got nan", lambda: evaluate_returned(nan, 1)),
    ("shoes (2 documents)", "ndarray of shape (2,)", lambda: evaluate_returned(np.ones(2))),
    ("hats (1 document)", "ZeroDivisionError", lambda: evaluate_function(lambda y, _: 1 / (len(y) - 1))),
    ("all documents", "judged@3", lambda: value("judged@3", [1, 0])),
    ("all documents", "judged@3", lambda: experiment("judged@3")),
    ("1 unjudged", "unjudged='drop'", lambda: gw.evaluate("precision(min_label=0)@1", UNJUDGED, [1, 2])),
]


def define(code, module="notebook"):
    """Run the code of a notebook cell and return what it names `made`, or else the module."""
    found = types.ModuleType(module)
    exec("import gainwise as gw\n" + code, found.__dict__)
    return vars(found).get("made", found)


HALF = "class Half(gw.RR):\n names = {'half_in_cell': {}}\n def score(self, *a): return 0\nmade = Half()"
SCORE = "def score(self, rows, facts, cutoffs): return 0"
SUBCLASSES = [  # argument in the message, exception, words of the message, and code
    ("names = {'own': {}}", TypeError, "has no names", f"class Own(gw.NDCG):\n {SCORE}"),
    ("Base()", TypeError, "no name", f"class Base(gw.Metric, abstract=True):\n {SCORE}\nstr(Base())"),
    ("Base(", TypeError, "no name", f"class Base(gw.NDCG, abstract=True):\n {SCORE}\nstr(Base(gain='linear'))"),
    (
        "o_exp",
        TypeError,
        "no name",
        "class O(gw.DCG): names = {'o_exp': {'gain': 'exponential'}}\nstr(O(gain='linear'))",
    ),
    ("'ndcg_exp'", ValueError, "built-in metric", "class Own(gw.RR): names = {'ndcg_exp': {}}"),
    *(("Own.names", TypeError, "must map", f"class Own(gw.RR): names = {n}") for n in ("{}", "'own'", "{'own': None}")),
    *(
        (repr(name), ValueError, "must consist of", f"class Own(gw.RR): names = {{{name!r}: {{}}}}")
        for name in ("1st", "a-b", "", "own@10", "größe")
    ),
]

USED = {"parse_metric": parse_metric, "pickle": pickle, "replace": replace, "safe_name": safe_name}
NAMESPACE = {**globals(), **{name: getattr(gw, name) for name in gw.__all__}, **USED}
CASES = [
    *(
        BadInput(f"name {text[:40]!r}", partial(gw.parse_metrics, text), argument, ValueError, words)
        for argument, words, *texts in NAMES
        for text in texts
    ),
    *(
        BadInput(call, partial(eval, call, NAMESPACE), argument, exception, words)
        for argument, exception, words, *calls in CALLS
        for call in calls
    ),
    *(BadInput(f"{argument} {words}", call, argument, ValueError, words) for words, argument, call in EVALUATIONS),
    *(BadInput(code, partial(define, code), argument, error, words) for argument, error, words, code in SUBCLASSES),
]


@bad_inputs(CASES)
def test_bad_inputs(case):
    before = METRICS["ndcg_exp"]
    case.check()
    assert METRICS["ndcg_exp"] is before


def test_an_error_of_a_function_is_the_cause_of_the_message():
    with pytest.raises(ValueError, match="'bad' failed") as caught:
        evaluate_function(lambda labels, scores: 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_class_from_elsewhere_does_not_take_a_name():
    mine = define("class Mine(gw.RR): names = {'taken': {}}").Mine
    with pytest.raises(ValueError, match=r"used by notebook\.Mine.*other\.Mine"):
        define("class Mine(gw.RR): names = {'taken': {}}", "other")
    with pytest.raises(ValueError, match=r"used by notebook\.Mine.*notebook\.Yours"):
        define("class Yours(gw.RR): names = {'free': {}, 'taken': {}}")
    assert type(*gw.parse_metrics("taken")) is mine
    assert "free" not in METRICS
