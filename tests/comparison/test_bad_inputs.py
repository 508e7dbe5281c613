"""Invalid values, settings, names and labels in comparisons, verdicts and plans."""

import math

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression
from tests.bad_inputs import BadInput, bad_inputs
from tests.custom_metrics import Halved

import gainwise as gw

RNG = np.random.default_rng(0)
GOOD, OTHER = RNG.random((2, 40, 3))
RUNS = [RNG.random((40, 3)), RNG.random((40, 3))]
THREE = {"x": GOOD, "y": OTHER, "z": OTHER}
HALVES = ["a", "b"] * 20
LOSS = gw.metric("loss_of_bad_inputs", lambda labels, scores: 0.0, higher_is_better=False)
FRAMES = [pd.DataFrame(values, columns=["A", "B", "C"]) for values in (GOOD, OTHER)]
GRADES = RNG.choice(5, size=(40, 10), p=[0.4, 0.3, 0.15, 0.1, 0.05])
IDS = np.arange(100, 140)
KINDS = pd.Series(np.where(IDS % 3 == 0, "head", "tail"), index=IDS)
SKIPPED = np.where(np.arange(40)[:, None] < 10, np.nan, GOOD)
UNSKIPPED = np.where(np.isnan(SKIPPED), 1, np.nan)
SWAPPED = FRAMES[1][["B", "A", "C"]]
TWICE = pd.concat([KINDS[:-1], KINDS[:1]])
BY_ROW = np.repeat(KINDS, 4)[1:]
MISSING = (None, math.nan, pd.NaT, pd.NA)
IGNORING = "ndcg_linear(weights=ignore)@5"


LOOK = {
    "looks": [20, 60], "earlier": [], "queries": 20, "baseline": "A",
    "candidates": {"B": {"decision": "undecided"}, "C": {"decision": "undecided"}},
    "metrics": ["x", "y"], "alpha": 0.05, "margins": {"x": 0.0, "y": 0.0}, "shares": {}, "gain": ["x", "y"],
    "require": "gain", "repeats": {}, "bounds": "asymptotic", "segments": [],
}  # fmt: skip
"""Record of a look at 20 queries."""

ONCE = {**LOOK, "looks": []}
"""Record of a test without a plan."""

BET = {**LOOK, "looks": [], "bounds": "betting", "size": 20, "order": "".join(f"{place:016x}" for place in range(3))}
"""Record of bounds by betting on unknown queries."""


def changed_at(values, place, value):
    """Return a copy of an array with one changed value."""
    copy = np.array(values, dtype=float)
    copy[place] = value
    return copy


def values(tables=None, models=("A", "B", "C"), **options):
    tables = {"x": GOOD, "y": OTHER} if tables is None else tables
    return gw.Comparison(tables, models, **{"draws": 200} | options)


def gate(*margin, **options):
    return values().against("A", *margin, **options)


def bet(**options):
    return values(**{"bounds": "betting", "ranges": {"x": (0, 1), "y": (0, 1)}} | options)


def verdict(first=GOOD, second=OTHER, **options):
    return values({"first": first, "second": second}, **options)


def recipes(first=RUNS, second=RUNS, models=("A", "B"), **options):
    return verdict(first, second, models=models, **options)


def scores(models=None, metrics=("ndcg_linear@10", "ndcg_exp@10", "map"), weight=None, lowest=0, **options):
    judgments = gw.Judgments([2, 1, lowest, 1], group=[3, 1], weight=weight, negative_labels="allow")
    models = {"A": [3, 2, 1, 1], "B": [1, 2, 3, 1]} if models is None else models
    return gw.compare(models, judgments, metrics, **options)


THREE_MODELS = {name: [3, 2, 1, 1] for name in "ABC"}


def by_name(**options):
    """Return a comparison whose only metric has no definition."""
    return gw.Comparison({"loss": [[0.1, 0.2], [0.3, 0.4]]}, ["A", "B"], **options)


def equal_labels():
    return gw.compare({"A": [3, 2, 1, 1], "B": [1, 2, 3, 1]}, gw.Judgments([1, 1, 1, 1], group=[3, 1]))


def labelled(**options):
    judgments = gw.Judgments(GRADES[:, :4].ravel(), qid=np.repeat(IDS, 4))
    return gw.compare({name: RNG.random(160) for name in "AB"}, judgments, ["map", "mrr"], draws=200, **options)


def named(**options):
    judgments = gw.Judgments([1, 0, 2, 0, 1, 1], qid=["b", "a", "b", "c", "a", "c"])
    return gw.compare({name: RNG.random(6) for name in "AB"}, judgments, ["map", "mrr"], draws=200, **options)


def plan(difference=0.01, **options):
    return gw.plan(difference, **{"query": 0.1} | options)


V, T = ValueError, TypeError

VERDICTS = [
    ("shapes", lambda: verdict(second=OTHER[:39]), "values['first'], (40, 3)", V, "(39, 3)"),
    ("one dimension", lambda: verdict(first=GOOD[:, 0]), "values['first']", V, "two dimensions"),
    ("no queries", lambda: verdict(first=GOOD[:0], second=GOOD[:0]), "values['first']", V, "one query"),
    ("NaN", lambda: verdict(second=changed_at(OTHER, (5, 1), np.nan)), "query 5", V, "'B'"),
    ("infinite", lambda: verdict(first=changed_at(GOOD, (7, 0), np.inf)), "values['first']", V, "query 7"),
    ("text", lambda: verdict(first=GOOD.astype(str)), "values['first']", T, "<U32"),
    ("huge integers", lambda: verdict(first=np.full((40, 3), 2**53 + 1)), "values['first']", V, "2**53"),
    ("masked", lambda: verdict(first=np.ma.masked_equal(GOOD, GOOD[3, 0])), "values['first']", V, "query 3"),
    ("rows in another order", lambda: verdict(first=FRAMES[0], second=FRAMES[1][::-1]), "values['second']", V, "rows"),
    ("weights in another order", lambda: verdict(first=FRAMES[0], weights=FRAMES[0]["A"][::-1]), "weights", V, "rows"),
    ("weights of text", lambda: verdict(weights=["1"] * 40), "weights", T, "<U1"),
    ("a masked weight", lambda: verdict(weights=np.ma.masked_equal(np.arange(40.0), 7)), "weights[7]", V),
    ("a negative weight", lambda: verdict(weights=changed_at(np.ones(40), 7, -2)), "weights[7]", V, "-2"),
    ("weights of zero", lambda: verdict(weights=np.zeros(40)), "weights", V, "zero"),
    ("too few weights", lambda: verdict(weights=np.ones(39)), "weights", V, "(40,)"),
    ("one name twice", lambda: verdict(models=["x", "y", "x"]), "models", V, "'x' at 2"),
    ("a name that is a number", lambda: verdict(models=["x", 2, "y"]), "models[1]", T, "int"),
    ("too few names", lambda: verdict(models=["x"]), "models", V, "3 columns"),
    ("a set of names", lambda: verdict(models={"x", "y", "z"}), "models", T, "an order"),
    ("alpha 0", lambda: verdict(alpha=0), "alpha", V, "0.5"),
    ("alpha 0.5", lambda: verdict(alpha=0.5), "alpha", V, "0.5"),
    ("a negative margin", lambda: verdict(margin=-1e-9), "margin", V, "finite"),
    ("alpha as text", lambda: verdict(alpha="0.05"), "alpha", T, "'0.05'"),
    ("a margin that is true", lambda: verdict(margin=True), "margin", T, "True"),
    ("199 draws", lambda: verdict(draws=199), "draws", V, "at least 200"),
    ("half a draw", lambda: verdict(draws=200.5), "draws must", V, "200.5"),
    ("a negative seed", lambda: verdict(seed=-1), "seed", V, "at least 0"),
    ("a fraction for a seed", lambda: verdict(seed=1.5), "seed", V, "1.5"),
    ("what varies", lambda: recipes(vary="seeds"), "vary", V, "did you mean"),
    *(
        (f"cluster {one}", lambda one=one: verdict(clusters=["a", one] * 20), "clusters[1]", V, "missing")
        for one in MISSING
    ),
    ("a masked cluster", lambda: verdict(clusters=np.ma.masked_equal(np.arange(40), 4)), "clusters[4]", V, "missing"),
    ("too few clusters", lambda: verdict(clusters=[1, 2]), "clusters", V, "(40,)"),
    ("a table of clusters", lambda: verdict(clusters=np.zeros((40, 2))), "clusters", V, "one label"),
    ("clusters in one text", lambda: verdict(clusters="abc"), "clusters", V, "shape ()"),
    ("a mapping of clusters", lambda: verdict(clusters=dict.fromkeys(range(40), 1)), "clusters", V),
    ("clusters of lists", lambda: verdict(clusters=[[1], [2]] * 20), "clusters", V, "one label"),
    ("one repeat", lambda: recipes(first=[RUNS[0], RUNS[1][:, :1]], models=["a", "b"]), "model 'b'", V, "1 repeat"),
    ("repeats under one metric", lambda: recipes(second=GOOD[:, :2]), "values['second']", V, "same repeats"),
    ("other repeats", lambda: recipes(second=[np.ones((40, 4)), RUNS[1]]), "'A'", V, "same repeats"),
    ("a cube of repeats", lambda: recipes(first=[RUNS[0], GOOD[..., None, None]]), "'B'", V, "(40, 3, 1,"),
    ("other queries of a model", lambda: recipes(first=[RUNS[0], RUNS[1][:-1]]), "values['first']", V, "39 queries"),
    ("NaN", lambda: recipes(second=[RUNS[0], changed_at(RUNS[1], (17, 2), np.nan)]), "values['second']", V, "query 17"),
]

VALUES = [
    ("no metric", lambda: values({}), "values", V, "no metric"),
    ("NaN only", lambda: values({"x": GOOD, "y": GOOD * np.nan}), "values['y']", V, "NaN"),
    ("no positive weight", lambda: values({"x": GOOD, "y": SKIPPED}, weights=np.arange(40) < 10), "y", V, "No query"),
    ("no common query", lambda: values({"x": SKIPPED, "y": UNSKIPPED}), "x, y", V),
    ("columns in another order", lambda: values({"x": FRAMES[0], "y": SWAPPED}), "values['y']", V, "'B' at place"),
    ("a misspelt metric", lambda: values(metrics={"Y": LOSS}), "metrics", V, "'Y'"),
    ("a misspelt range", lambda: values(ranges={"Y": (0, 1)}), "ranges", V, "'Y'"),
    ("no metric object", lambda: values(metrics={"x": "mrr"}), "metrics", T, "'mrr'"),
    ("beyond the range", lambda: values(ranges={"x": (0, 0.5)}), "ranges", V, "beyond"),
    ("equal primary metrics", lambda: values(primary=["x", "x"]), "primary", V, "two different"),
    ("an unknown primary metric", lambda: values(primary=["x", "w"]), "primary", V, "'x', 'y'"),
    ("three primary metrics", lambda: values(primary="xyx"), "primary", V, "two different"),
    ("no second metric", lambda: values({"x": GOOD}).verdict, "x", V, "two metrics"),
    ("segments of few", lambda: values(segments=["a"] * 5), "segments", V, "40 queries"),
    ("segments as text", lambda: values(segments="kind"), "segments", V, "4 labels"),
    ("segments without a name", lambda: values(segments={"": HALVES}), "segments", V, "names of columns"),
    ("segments of a table without a name", lambda: values(segments=pd.DataFrame({"": HALVES})), "segments", V, "''"),
    ("segments by id", lambda: values(segments=dict.fromkeys(range(40), "a")), "segments", T, "map"),
    ("too many segments", lambda: values(segments={name: range(40) for name in "xy"}), "segments", V, "more than 50"),
    ("no such segment", lambda: values(segments=["a"] * 20 + ["b"] * 20).segments["c"], "'c'", KeyError),
    ("no such baseline", lambda: values(models=["prod", "B", "C"]).against("pro"), "baseline must", V, "mean 'prod'"),
    ("a selected model that is not compared", lambda: values(selected="D"), "selected", V, "'A', 'B', 'C'"),
    ("fewer candidates than models", lambda: values(selected="A", searched=2), "2", V, "(3)"),
    ("a baseline after a search here", lambda: values(searched=30, baseline="A"), "searched=30", V, "selected="),
    ("a decision after a search here", lambda: values(searched=30).against("A"), "searched=30", V, "other queries"),
    ("half a candidate", lambda: values(selected="A", searched=3.5), "3.5", V, "searched"),
    ("a baseline alone", lambda: values({"x": GOOD[:, :1]}, ["A"]).against("A"), "'A'", V, "no candidate"),
    ("no such candidate", lambda: gate().sentence("D"), "'D'", V, "must be one"),
    ("no_loss without margin", lambda: gate(require="no_loss"), "require='no_loss'", V, "got 0"),
    ("a margin above the range", lambda: scores(metrics="mrr").against("A", 2.0), "margin", V, "below 1, got"),
    ("requirement", lambda: gate(require="noloss"), "'noloss'", V, "did you mean"),
    ("looks that decrease", lambda: gate(looks=(20, 10)), "looks", V, "increasing"),
    ("no looks", lambda: gate(looks=()), "looks", V, "increasing"),
    ("half a look", lambda: gate(looks=(10.5, 20)), "looks", V, "whole number"),
    ("before the first look", lambda: gate(looks=(50, 60)), "40 queries", V, "first planned look"),
    ("bounds", lambda: values(bounds="bets"), "bounds", V, "betting"),
    ("bounds of a gate", lambda: gate(bounds="bets"), "bounds", V, "betting"),
    ("bets without a range", lambda: values(bounds="betting"), "bounds='betting'", V, "ranges="),
    ("bets without one range", lambda: gate(bounds="betting"), "bounds='betting'", V, "range of x"),
    ("bets on repeats", lambda: recipes(bounds="betting"), "bounds='betting'", V, "repeats"),
    ("bets on clusters", lambda: bet(clusters=np.arange(40) // 2), "bounds='betting'", V, "clusters"),
    ("bets on weights", lambda: bet(weights=np.r_[2, np.ones(39)]), "bounds='betting'", V, "weights"),
    ("bets beyond the range", lambda: bet(ranges={"x": (0, 0.5), "y": (0, 1)}), "Values of x", V, "range"),
    ("bets on other queries", lambda: bet().against("A", earlier=BET), "3 queries", V, "missing"),
    ("a record of other bounds", lambda: bet().against("A", looks=(20, 60), earlier=LOOK), "bounds", V, "earlier look"),
    ("other looks", lambda: gate(looks=(20, 50), earlier=LOOK), "looks", V, "earlier look"),
    ("another margin", lambda: gate(0.1, earlier=LOOK), "margin", V, "earlier look"),
    ("fewer queries", lambda: gate(earlier={**LOOK, "queries": 50}), "50 queries", V, "earlier looks"),
    ("the last", lambda: gate(earlier={**LOOK, "looks": [20, 30], "queries": 30}), "30", V, "last"),
    (
        "another requirement",
        lambda: gate(0.1, require="no_loss", earlier={**LOOK, "margins": {"x": 0.1, "y": 0.1}}),
        "require must",
        V,
        "earlier look",
    ),
    ("a damaged decision", lambda: gate(earlier={**LOOK, "candidates": {"B": {"decision": "x"}}}), "'B'", V, "'ship'"),
    ("no record", lambda: gate(earlier={"looks": []}), "earlier", V, "JSON of"),
    ("looks after a test", lambda: gate(looks=(20, 60), earlier=ONCE), "looks", V, "new queries"),
    ("margin of another", lambda: gate({"z": 0.1}), "'z'", V, "metric of margin"),
    ("no margin in a mapping", lambda: gate({}), "margin", V, "no metric"),
    ("a negative margin of one", lambda: gate({"x": -0.1}), "margin of x", V, "-0.1"),
    ("a zero margin of one", lambda: gate({"x": 0.1, "y": 0}), "margin of y", V, "above 0"),
    ("a share of nothing", lambda: gate("0%"), "margin of x", V, "'0%'"),
    ("a negative share", lambda: gate({"y": "-1%"}), "margin of y", V, "percentage"),
    ("a share without percent", lambda: gate({"y": "0.01"}), "margin of y", V, "'0.01'"),
    ("a margin of another type", lambda: gate({"y": None}), "margin of y", T, "None"),
    ("a share of 0", lambda: values({"x": 0 * GOOD}).against("A", {"x": "1%"}), "margin of x", V, "of A is"),
    (
        "above one range",
        lambda: scores(metrics=["mrr", "cg"]).against("A", {"mrr": 2, "cg": 2}),
        "margin",
        V,
        "below 1",
    ),
    ("a gain without a margin", lambda: gate({"x": 0.1}, gain="y"), "gain", V, "with a margin"),
    ("no gain", lambda: gate(0.1, gain=()), "gain is empty", V),
    ("guards only", lambda: values(THREE).against("A", {"z": 0.1}), "gain", V, "no primary"),
    ("a gain that is not required", lambda: gate(0.1, gain="x", require="no_loss"), "gain", V, "'x'"),
    ("segments that are not compared", lambda: gate(0.1, segments="kind"), "segments", V, "'kind'"),
    (
        "no segment",
        lambda: values(segments={"kind": HALVES}).against("A", 0.1, segments=["kin"]),
        "segments",
        V,
        "kind",
    ),
    ("no margin", lambda: values(segments=HALVES).against("A", segments="segment"), "margin", V, "for segments"),
    (
        "other segments",
        lambda: values(segments=HALVES).against(
            "A", 0.1, segments="segment", earlier={**LOOK, "margins": {"x": 0.1, "y": 0.1}}
        ),
        "segments",
        V,
        "earlier look",
    ),
    (
        "a guard without a range",
        lambda: bet(tables=THREE).against("A", {"x": 0.1, "z": 0.1}),
        "range of z",
        V,
        "ranges=",
    ),
    ("a number as the earlier look", lambda: gate(earlier=3), "earlier", T, "to_dict()"),
    ("a number as the gain", lambda: gate(0.1, gain=3), "gain", T, "got 3"),
    ("no file of a look", lambda: gate(earlier="no.json"), "'no.json'", V, "JSON file"),
    ("decisions of other values", lambda: values().to_markdown(baseline=values({"x": OTHER}).against("A")), "'A'", V),
    ("ragged values", lambda: verdict([[0.1], [0.2, 0.3]]), "values['first']", V, "different lengths"),
    ("a ranking of values", lambda: values().ranking(0, "A"), "ranking", V, "scores"),
    ("queries of values", lambda: values().queries("A", "B"), "queries", V, "scores"),
    ("gains of values", lambda: values().gains(), "gains", V, "scores"),
    ("attribution of values", lambda: values().attribution("A", "B"), "attribution", V, "scores"),
]

SCORES = [
    ("no models", lambda: scores({}), "models", V, "got none"),
    ("sparse scores", lambda: scores({"a": csr_matrix(np.ones((4, 1)))}), "model 'a'", V, "sparse matrix"),
    ("sparse repeats", lambda: scores({"a": [csr_matrix(np.ones((4, 1)))] * 3}), "repeat 1", V, "sparse matrix"),
    ("too few scores", lambda: scores({"a": [1.0, 2.0]}), "model 'a'", V, "2 scores"),
    ("NaN", lambda: scores({"a": [1.0, 2.0, 3.0, math.nan]}), "model 'a'", V, "query 1"),
    ("no file", lambda: scores({"a": "no/such/file.npy"}), "model 'a'", OSError),
    ("no features", lambda: scores({"a": LinearRegression()}), "features=", V, "model 'a'"),
    ("baseline first", lambda: scores({"a": LinearRegression()}, baseline="B"), "baseline must", V, "got 'B'"),
    ("files without a format", lambda: scores({"a": [__file__] * 3}), "model 'a, repeat 1'", V, "format"),
    ("text among scores", lambda: scores({"a": [1.0, "y", 3.0, 4.0]}), "model 'a'", T),
    ("a number for a name", lambda: scores({1: [1.0, 2.0, 3.0, 4.0]}), "models", T, "got 1"),
    ("scores alone", lambda: scores([1.0, 2.0, 3.0, 4.0]), "models", T, "got list"),
    ("no model", lambda: scores({"a": object()}), "model 'a'", T, "object"),
    ("a blank name", lambda: scores({" ": [1, 2, 3, 4], "b": [1, 2, 3, 4]}), "model", V, "blank"),
    ("two columns of one name", lambda: scores(pd.DataFrame(np.ones((4, 2)), columns=["a", "a"])), "models", V, "'a'"),
    ("names that print the same", lambda: scores({"A": [1, 2, 3, 4], "A ": [4, 3, 2, 1]}), "'A '", V, "when printed"),
    ("names on two lines", lambda: scores({"a\nb": [1, 2, 3, 4], "a b": [4, 3, 2, 1]}), "'a b'", V, "when printed"),
    ("names of runs", lambda: gw.compare_runs({"A": {}, " A": {}}, {"q": {"a": 1}}), "' A'", V, "when printed"),
    ("names of values", lambda: values(models=["A", "A ", "C"]), "models", V, "when printed"),
    ("two repeats", lambda: scores({"a": [np.arange(4.0)] * 2}), "model 'a'", V, "2 repeats"),
    ("repeats in one array", lambda: scores({"a": np.ones((3, 4))}), "'a'", V, "list of arrays"),
    ("short repeat", lambda: scores({"a": [np.ones(4), np.ones(3), np.ones(4)]}), "model 'a, repeat 2'", V, "3 scores"),
    ("the name of a repeat", lambda: scores({"a": [np.ones(4)] * 3, "a, repeat 2": np.ones(4)}), "'a, repeat 2'", V),
    ("a set of metrics", lambda: scores(metrics={"map", "mrr"}), "metrics", T, "an order"),
    ("a set of primary metrics", lambda: scores(primary={"map", "ndcg_exp@10"}), "primary", T, "an order"),
    ("no query left", lambda: scores(metrics="mrr(empty=skip,min_label=3)"), "mrr", V, "no query"),
    ("margin of one metric", lambda: scores(metrics="mrr", margin=-1), "margin", V),
    ("seed of one metric", lambda: scores(metrics="mrr", seed=-3), "seed", V),
    ("weights that one metric ignores", lambda: scores(metrics=["map", IGNORING], weight=[1, 2]), IGNORING, V, "map"),
    ("weights that attribution ignores", lambda: scores(weight=[1, 2]).attribution("A", "B", IGNORING), IGNORING, V),
    ("weights that gains ignore", lambda: scores(weight=[1, 2]).gains(metric=IGNORING), IGNORING, V),
    ("judgments of every document", lambda: scores(unjudged="drop"), "unjudged='drop'", V),
    ("runs in a list", lambda: gw.compare_runs(["r1.txt"], {"q": {"a": 1}}), "runs", T, "got list"),
    ("one run", lambda: gw.compare_runs("r1.txt", {"q": {"a": 1}}), "runs", T, "got str"),
    ("no runs", lambda: gw.compare_runs({}, {"q": {"a": 1}}), "runs", V, "got none"),
    ("a NaN repeat", lambda: gw.compare_runs({"one": {"q": {"a": math.nan}}}, {"q": {"a": 1}}), "run 'one'", V, "'q'"),
    ("no such query", lambda: scores().ranking(7, "A"), "7", V, "no query"),
    ("queries of nobody", lambda: scores().queries("A", "D"), "'D'", V, "'A', 'B'"),
    ("queries of one metric", lambda: scores(metrics="map").queries("A", "B"), "two metrics", V),
    ("no losses", lambda: scores().losses("A", "B", most=0), "most", V, "whole number"),
    ("no evidence", lambda: equal_labels().against("A"), "--label", V, "distinguish two rankings"),
    ("ranking by a name", lambda: by_name(rankings=scores().rankings).ranking(0, "A"), "loss", V, "name only"),
    ("losses of three", lambda: scores(THREE_MODELS).losses("A"), "candidate", V, "3 models"),
    ("losses of itself", lambda: scores().losses("A", "A"), "'A'", V, "two different"),
    ("no contradictions", lambda: scores().queries("A", "B", most=0), "most", V, "whole number"),
    ("a split of MAP", lambda: scores().attribution("A", "B", ["ndcg_exp@10", "map"]), "names map", V, "sum"),
    ("a split of a half", lambda: scores().attribution("A", "B", Halved(gain="linear")), "Halved", V, "not a sum"),
    ("nothing to split", lambda: scores(metrics=["map", "mrr"]).attribution("A", "B"), "(map, mrr)", V, "sum"),
    ("a split of itself", lambda: scores().attribution("A", "A"), "'A'", V, "itself"),
    ("a split of nothing", lambda: scores().attribution("A", "B", "ndcg(gain=0/0/0,empty=skip)"), "query", V, "weight"),
    ("gains below 1", lambda: scores().gains([0.5, 2]), "bases[0]", V, "at least 1"),
    ("infinite gains", lambda: scores().gains([1, math.inf]), "bases[1]", V, "finite"),
    ("equal gains", lambda: scores().gains([1, 2, 1.0]), "bases[2]", V, "distinct"),
    ("no gains", lambda: scores().gains([]), "bases", V, "empty"),
    ("gains as text", lambda: scores().gains("12"), "bases[0]", T, "number"),
    ("text among gains", lambda: scores().gains([1, "2"]), "bases[1]", T, "number"),
    ("gains of MAP", lambda: scores(metrics=["map", "mrr"]).gains(), "gains(metric=", V, "NDCG"),
    ("gains of a named metric", lambda: scores().gains(metric="map@5"), "map@5", V, "sum of gains"),
    ("gains of other discounts", lambda: scores(metrics=["ndcg_jk", "ndcg_exp"]).gains(), "'ndcg_jk'", V, "differ"),
    ("gains of negative labels", lambda: scores(metrics="ndcg_linear", lowest=-1).gains(), "negative labels", V),
    ("a picture of one base", lambda: scores().plot.gains(bases=[1]), "gains(bases)", V, "two bases"),
]

LABELS = [
    ("segments by other ids", lambda: labelled(segments=KINDS.rename(str)), "segments", V, "first is 100"),
    ("segments without an id", lambda: labelled(segments=KINDS.rename({105: 999})), "segments", V, "first is 105"),
    ("other ids", lambda: labelled(segments=KINDS.rename(str).to_frame("kind")), "'kind'", V, "first is 100"),
    ("segments with an id twice", lambda: labelled(segments=TWICE), "segments", V, "more than once"),
    ("clusters without an id", lambda: labelled(clusters=KINDS.rename({105: 999})), "clusters", V, "first is 105"),
    *(
        (f"segment {one}", lambda one=one: labelled(segments=[one, *BY_ROW]), "segments", V, "query 100")
        for one in MISSING
    ),
    *(
        (f"later {one}", lambda one=one: labelled(segments=[KINDS[100], one, *BY_ROW[1:]]), "segments", V, "query 100")
        for one in MISSING
    ),
    ("a query without a label", lambda: labelled(segments=[None, *KINDS[1:]]), "segments", V, "query 100"),
    ("NaN for a query", lambda: labelled(segments=KINDS.mask(KINDS.index == 105)), "segments", V, "query 105"),
    ("NaN objects", lambda: labelled(segments=np.array([math.nan, *KINDS[1:]], object)), "segments", V, "query 100"),
    ("two columns of one name", lambda: labelled(segments=pd.DataFrame({1: KINDS, "1": KINDS})), "segments", V, "'1'"),
    ("too few labels", lambda: named(segments=["tail", "head"]), "segments", V, "2 labels"),
    ("too few by id", lambda: named(segments={"a": "head", "b": "tail"}), "segments", V, "first is 'c'"),
    ("two labels of a query", lambda: named(segments=["x", "y", "z", "z", "y", "z"]), "segments", V, "query 'b'"),
    ("an empty label", lambda: named(segments=["", "head", "tail"]), "segments", V, "query b"),
    ("a table of labels", lambda: named(segments=np.full((3, 2), "x")), "segments", V, "(3, 2)"),
    ("too few clusters by id", lambda: named(clusters={"a": 1}), "clusters", V, "first is 'b'"),
    ("no cluster of a query", lambda: named(clusters=[1, 2, None]), "clusters", V, "'c'"),
    ("an empty cluster", lambda: named(clusters={"a": "x", "b": "y", "c": ""}), "clusters", V, "'c'"),
]

PLANS = [
    ("no difference", lambda: plan(0), "difference", V, "above 0"),
    ("power", lambda: plan(power=1.0), "power", V, "0 and 1"),
    ("seed", lambda: plan(seed=-1), "seed", V, "at least 0"),
    ("correlation", lambda: plan(correlation=1.5), "correlation", V, "1.5"),
    ("claim", lambda: plan(claim="pairs"), "claim", V, "did you mean"),
    ("a share above 1", lambda: plan(differing=1.5), "differing", V, "1.5"),
    ("no share that differs", lambda: plan(differing=0), "differing", V, "above 0"),
    ("a loss", lambda: plan(-0.02, claim="ship", require="no_loss", margin=0.01), "difference", V, "above -0.01"),
    ("no variance", lambda: plan(query=0), "query", V, "all 0"),
    ("repeats of fixed models", lambda: plan(repeats=5), "repeats=5", V, "repeats that differ"),
    ("two repeats", lambda: plan(repeat=0.01, repeats=[5, 2]), "repeats", V, "at least 3"),
    ("no repeats", lambda: plan(repeat=0.01, repeats=[]), "repeats", V, "empty"),
    ("an infinite deviation", lambda: plan(query=math.inf), "query", V, "finite, got inf"),
    ("a negative deviation", lambda: plan(query=-1), "query", V, "at least 0"),
    ("repeats of compared models", lambda: values().plan(0.01, repeats=5), "repeats=5", V, "models with repeats"),
    ("one of two", lambda: values().plan(0.01, models=["A"]), "models", V, "two models"),
    ("few queries", lambda: values({"x": GOOD[:20], "y": OTHER[:20]}).plan(0.01), "20 queries", V),
    ("equal models", lambda: values({"x": GOOD[:, [0, 0]], "y": GOOD[:, [1, 1]]}, ["A", "B"]).plan(0.01), "A and B", V),
    ("one model", lambda: values({"x": GOOD[:, :1]}, ["A"]).plan(0.01, claim="pair"), "one model", V),
    ("one metric", lambda: values({"x": GOOD}).plan(0.02), "got 1 (x)", V, "two metrics"),
    ("one model in another order", lambda: values({"x": GOOD[:, :1]}, ["A"]).sensitivity(), "two models", V, "got 1"),
]

BOUNDS = [
    ("three gains", lambda: gw.disagreement_bound(JUDGMENTS, 10, ["linear"] * 3), "gains", V, "two gains"),
    ("one name of a gain", lambda: gw.disagreement_bound(JUDGMENTS, 10, "linear"), "gains", V, "two gains"),
    ("a misspelled gain", lambda: gw.disagreement_bound(JUDGMENTS, 10, ("linear", "exp")), "gain", V, "'exp'"),
    ("a short table of gains", lambda: gw.disagreement_bound(JUDGMENTS, 10, (1, [0, 1])), "label 2", V, "no entry"),
    ("cutoff 0", lambda: gw.disagreement_bound(JUDGMENTS, 0), "k must", V, "at least 1"),
    ("a negative base", lambda: gw.disagreement_bound(JUDGMENTS, 10, (1, -2)), "gain_base", V, "at least 1"),
]
JUDGMENTS = gw.Judgments([2, 1, 0], group=[3])


@bad_inputs([BadInput(*row) for row in (*VERDICTS, *VALUES, *SCORES, *LABELS, *PLANS, *BOUNDS)])
def test_bad_inputs(case):
    case.check()
