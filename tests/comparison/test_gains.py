"""The gain path: every point is the metric, the draws have its errors, and the sentences have its numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest

import gainwise as gw
from gainwise import Comparison
from gainwise.comparison import gain_path
from gainwise.comparison.gain_path import estimate_gains, find_crossings, find_leaders
from gainwise.comparison.inference import BestTest

BASES = [1, 1.2, 1.5, 2, 3, 4]
BOTH = ["ndcg_linear@5", "ndcg_exp@5"]


def data(queries=60, seed=0, labels=5, **options):
    """Queries of 1 to 12 documents, some of them empty, and three models with many ties. One model omits documents."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 13, queries)
    label = rng.choice(labels, sizes.sum(), p=np.array([8, 4, 2, 1, 1][:labels]) / sum([8, 4, 2, 1, 1][:labels]))
    label[: sizes[:5].sum()] = 0
    judgments = gw.Judgments(label, group=sizes, **options)
    scores = {name: np.round(label * pull + rng.normal(0, 1, len(label)), 0) for name, pull in [("a", 0.5), ("b", 1)]}
    scores["c"] = np.where(rng.random(len(label)) < 0.2, -np.inf, rng.normal(size=len(label)))
    return judgments, scores


def weighted(queries=60, seed=5):
    return {"weight": np.random.default_rng(seed).integers(0, 4, queries).astype(float)}


class TestPoints:
    @pytest.mark.parametrize("options", [{}, weighted()], ids=["equal", "weighted"])
    @pytest.mark.parametrize(
        "name",
        [
            "ndcg_linear@5",
            "ndcg_linear(ties=order)",
            "ndcg_linear(ties=worst,empty=1)@3",
            "ndcg_linear(empty=skip)@5",
            "ndcg_linear(scores=float32,discount=reciprocal)@10",
            "dcg_linear@5",
            "dcg_linear(empty=skip)@2",
            "ndcg_jk(base=3)@7",
            "cg@4",
        ],
    )
    def test_equal_the_metric_of_that_base(self, name, options):
        judgments, scores = data(**options)
        comparison = gw.compare(scores, judgments, BOTH)
        path = comparison.gains(BASES, metric=name).frame().pivot(index="base", columns="model", values="mean")
        (metric,) = gw.parse_metrics(name)
        for base in BASES:
            gain = {label: label if base == 1 else (base**label - 1) / (base - 1) for label in range(5)}
            of_table = gw.DCG(discount="none", gain=gain, k=4) if name == "cg@4" else replace(metric, gain=gain)
            for model, one in scores.items():
                (expected,) = gw.evaluate(of_table, judgments, one).mean.values()
                assert path.loc[base, model] == pytest.approx(expected, rel=1e-12, abs=1e-15)

    @pytest.mark.filterwarnings("ignore::gainwise.GainLabelsWarning")
    @pytest.mark.parametrize("limit", [None, 0, 1000])
    @pytest.mark.parametrize("kind", ["amounts", "large"])
    def test_labels_that_are_amounts_or_large(self, kind, limit, monkeypatch):
        judgments, scores = data(20)
        labels = np.random.default_rng(1).gamma(1.0, 2.0, judgments.documents)
        judged = gw.Judgments(labels if kind == "amounts" else judgments.labels * 100.0, group=judgments.sizes)
        if limit is not None:
            monkeypatch.setattr(gain_path, "MAX_GRADES", limit)
        path = gw.compare(scores, judged, BOTH).gains(BASES).frame().set_index(["base", "model"])["mean"]
        for base in BASES:
            metric = gw.NDCG(gain="power", gain_base=base, k=5)
            expected = {name: gw.evaluate(metric, judged, one).mean[str(metric)] for name, one in scores.items()}
            assert path.loc[base].to_dict() == pytest.approx(expected, rel=1e-12)

    def test_a_discount_without_a_name_is_followed_too(self):
        judgments, scores = data()
        own = gw.NDCG(gain="linear", discount=lambda ranks: 1 / ranks**0.5, name="ndcg_slow", k=5)
        path = gw.compare(scores, judgments, [own]).gains([1, 3]).frame().set_index(["base", "model"])["mean"]
        expected = gw.evaluate(own, judgments, scores["a"]).mean["ndcg_slow@5"]
        assert path[1.0, "a"] == pytest.approx(expected, rel=1e-12)


class TestErrors:
    @pytest.mark.parametrize("limit", [None, "MAX_GRADES", "MAX_VALUES"])
    def test_draws_have_the_errors_of_the_points(self, limit, monkeypatch):
        """Draws between nodes are interpolated, with errors below a millionth of the standard error.

        Grades are counted or each base is evaluated separately, with all bases estimated together or separately.
        """
        judgments, scores = data(400, seed=3)
        comparison = gw.compare(scores, judgments, BOTH)
        if limit is not None:
            monkeypatch.setattr(gain_path, limit, 0)
        bases = gain_path.DEFAULT_BASES
        family = estimate_gains(comparison.rankings, comparison._sample, gw.NDCG(gain="linear", k=5), bases)
        estimated = family.estimated
        assert len(family.panel.metrics) < len(bases)
        blocks = estimated.root.reshape(len(estimated.root), len(bases), 3)
        implied = np.sqrt(((blocks[:, :, :, None] - blocks[:, :, None, :]) ** 2).sum(axis=0))
        np.testing.assert_allclose(implied, estimated.error, rtol=2e-5, atol=1e-12)
        both = [bases.index(1.0), bases.index(2.0)]
        direct = comparison._sample.joint(BOTH).estimated
        np.testing.assert_allclose(estimated.error[both], direct.error, rtol=1e-12)
        np.testing.assert_allclose(estimated.widths[both], direct.widths, rtol=1e-12)
        covariance = np.einsum("rm,rk->mk", blocks[:, both[0]], blocks[:, both[1]])
        np.testing.assert_allclose(covariance, (direct.root.T @ direct.root)[:3, 3:], rtol=1e-4, atol=1e-10)

    def test_verdict_of_the_two_ends_is_the_comparisons(self):
        judgments, scores = data(400, seed=3)
        comparison = gw.compare(scores, judgments, BOTH)
        ends = comparison.gains([1, 2]).verdict
        assert ends.p_value == pytest.approx(comparison.verdict.p_value, abs=0.02)
        assert set(ends.always_best) == set(comparison.verdict.common_best)


@pytest.fixture(scope="module")
def changing():
    """An excellent document at rank 2, or two fair ones: both have the same value at base log2(3)."""
    labels = np.tile([2, 1, 1, 0], 300)
    rng = np.random.default_rng(0)
    scores = {"broad": np.tile([1, 4, 3, 2], 300), "top": np.tile([3, 1, 2, 4], 300)}
    noise = rng.random(300) < 0.1
    scores["top"] = np.where(np.repeat(noise, 4), scores["broad"], scores["top"])
    return gw.compare(scores, gw.Judgments(labels, group=[4] * 300), ["ndcg_linear@2", "ndcg_exp@2"]).gains()


class TestSaid:
    def test_the_change_is_where_arithmetic_has_it(self, changing):
        assert changing.winners["model"].tolist() == ["broad", "top"]
        assert changing.winners["to"].iloc[0] == pytest.approx(math.log2(3), abs=1e-5)
        (swap,) = changing.swaps.to_dict("records")
        assert (swap["first"], swap["second"]) == ("broad", "top")
        assert swap["lower"] <= swap["base"] <= swap["upper"]

    def test_sets_band_and_verdict_agree(self, changing):
        for base, part in changing.frame().groupby("base"):
            assert set(part["model"][part["lower"] == 0]) == set(changing.best_sets[base])
            assert (part["lower"] <= part["regret"]).all()
            assert (part["regret"] <= part["upper"]).all()
        assert changing.verdict.kind == "genuine"
        assert changing.verdict.always_best == ()
        assert 0 < changing.verdict.p_value <= 0.05

    def test_few_clusters_bound_no_regret(self):
        """With fewer than 50 degrees of freedom all models may be best, as in a verdict."""
        judgments, scores = data(300)
        for clusters, bounded in ((50, False), (60, True)):
            comparison = gw.compare(scores, judgments, BOTH, clusters=np.arange(300) % clusters)
            path = comparison.gains([1, 2])
            assert np.isfinite(path.frame()["upper"]).all() == np.isfinite(path.upper).all() == bounded
            assert np.isfinite(comparison.verdict.safe_regret_upper) == bounded


def test_a_loss_is_won_by_the_lowest():
    class Regretted(gw.NDCG):
        higher_is_better = False
        names = {"ndcg_regretted": {}}

    judgments, scores = data(200)
    metric = Regretted(gain="linear", k=5)
    path = gw.compare(scores, judgments, [metric, "mrr"]).gains(BASES)
    plain = gw.compare(scores, judgments, BOTH).gains(BASES)
    assert path.lower_is_better
    np.testing.assert_allclose(path.mean, plain.mean, rtol=1e-13)
    lowest = plain.frame().sort_values("mean").groupby("base")["model"].first()
    assert path.winners["model"].iloc[0] == lowest.iloc[0]
    assert (path.regret == 0).any(axis=1).all()


def test_runs_and_clusters_follow():
    """Values of recipes are means over repeats. Errors are those of a verdict on the same values."""
    judgments, scores = data(300, seed=7)
    rng = np.random.default_rng(8)
    runs = {model: [one + rng.normal(0, 0.3, len(one)) for _ in range(3)] for model, one in scores.items()}
    values = {metric: {} for metric in BOTH}
    for model, several in runs.items():
        found = [gw.evaluate(BOTH, judgments, one).per_query for one in several]
        for place, metric in enumerate(BOTH):
            values[metric][model] = np.stack([one[:, place] for one in found], axis=1)
    clusters = np.arange(300) // 3
    rankings = replace(gw.compare(scores, judgments, BOTH).rankings, scores=runs)
    tables = {metric: [by[model] for model in runs] for metric, by in values.items()}
    found = Comparison(tables, list(runs), rankings=rankings, clusters=clusters)
    family = estimate_gains(rankings, found._sample, gw.NDCG(gain="linear", k=5), (1.0, 1.5, 2.0))
    direct = found._sample.joint(BOTH)
    for name in ("mean", "error", "support"):
        expected = getattr(direct.estimated, name)
        np.testing.assert_allclose(getattr(family.estimated, name)[[0, 2]], expected, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(family.estimated.repeats.variance[[0, 2]], direct.estimated.repeats.variance, rtol=1e-12)
    ours = BestTest(family.estimated, family.bootstrap, 0.05, rows=[0, 2])
    assert ours.p_value == pytest.approx(BestTest(direct.estimated, direct.bootstrap, 0.05).p_value, abs=0.03)
    assert found.gains([1, 1.5, 2]).verdict.kind in ("genuine", "agree", "unresolved")


class TestCrossings:
    AT = np.geomspace(1, 4, 9)

    def test_a_lead_between_two_bases_is_found(self):
        at = np.array([1.0, 2.0, 3.0, 4.0])
        mean = np.stack([-np.log(at), np.log(at) - 2 * math.log(1.2), 0 * at - math.log(1.2) + 0.02], axis=1)
        assert find_leaders("abc", at, mean)["model"].tolist() == ["a", "c", "b"]

    @pytest.mark.parametrize(("sign", "order"), [(1, ("a", "b")), (-1, ("b", "a"))])
    def test_interval_is_where_the_band_holds_zero(self, sign, order):
        """Its ends are the first evaluated bases outside, or the ends of the path."""
        lead = sign * np.log(self.AT / 2)
        difference = np.zeros((9, 2, 2))
        difference[:, 0, 1], difference[:, 1, 0] = lead, -lead
        error = np.full((9, 2, 2), 0.1)
        step = 4 ** (1 / 8 / gain_path.FINE_STEPS)
        for critical, end in ((2.0, math.exp(0.2)), (20.0, 2)):
            (found,) = find_crossings("ab", self.AT, difference, error, np.zeros(9), critical).itertuples()
            assert (found.first, found.second) == order
            assert found.base == pytest.approx(2, rel=1e-4)
            for ratio in (found.upper / 2, 2 / found.lower):
                assert end - 1e-9 <= ratio <= end * step + 1e-9


def test_labels_that_are_all_0_have_the_same_mean_at_every_base():
    judgments = gw.Judgments(np.zeros(240), group=[4] * 60)
    scores = {"a": np.arange(240.0), "b": -np.arange(240.0)}
    path = gw.compare(scores, judgments, ["ndcg_linear@3", "ndcg_exp@3"], draws=200).gains([1, 2, 4])
    assert not path.mean.any()
    assert path.verdict.always_best == ("a", "b")
