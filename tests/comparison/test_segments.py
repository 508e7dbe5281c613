"""Segments: each has its own queries and its share of the level, and labels are matched to queries."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from tests.comparison.tables import verdict_of

import gainwise as gw
from gainwise import Comparison

pytestmark = pytest.mark.slow

FIRST, SECOND = METRICS = ("ndcg_linear@10", "ndcg_exp@10")
KINDS = np.array(["head"] * 400 + ["tail"] * 300 + ["rare"] * 12)


def values_of(seed=0, lead=0.03, models=3):
    """A is best on head queries and B on tail queries, under both metrics. C is never best."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.3, 0.6, (len(KINDS), 1)) + rng.normal(0, 0.07, (len(KINDS), models))
    base[KINDS == "head", 0] += lead
    base[KINDS == "tail", 1] += lead
    return {metric: base + rng.normal(0, 0.03, (len(KINDS), models)) for metric in METRICS}


def compared(values=None, segments=KINDS, **options):
    return Comparison(
        values or values_of(), ["A", "B", "C"], ranges={}, segments=segments, **{"draws": 2000, **options}
    )


class TestSegments:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_are_judged_as_their_queries_alone_at_a_share_of_the_level(self, weighted):
        values = values_of()
        weights = np.random.default_rng(1).integers(0, 3, len(KINDS)).astype(float) if weighted else None
        found = compared(values, weights=weights, alpha=0.06).segments
        assert (found.level, found.draws) == (pytest.approx(0.02), 2000)
        for kind in ("head", "tail", "rare"):
            here = np.equal(KINDS, kind)
            expected = verdict_of(
                *(values[metric][here] for metric in METRICS),
                models=["A", "B", "C"],
                weights=None if weights is None else weights[here],
                alpha=found.level,
                draws=20_000,
            )
            got = found[kind].verdict
            assert got.kind == expected.kind
            assert got.p_value == pytest.approx(expected.p_value, rel=0.15, abs=0.001)
            assert got.safe_regret_upper == pytest.approx(expected.safe_regret_upper, rel=0.03)
            assert got.means[FIRST] == pytest.approx(expected.means[FIRST], rel=1e-12)
            positive = here if weights is None else here & (weights > 0)
            assert found[kind].queries == got.queries == positive.sum()

    def test_the_level_is_divided_over_all_columns(self):
        columns = {"kind": KINDS, "parity": np.arange(len(KINDS)) % 2}
        found = compared(segments=columns).segments
        assert found.level == pytest.approx(0.05 / 5)
        assert [(part.column, part.label) for part in found.parts] == [
            *(("kind", kind) for kind in ("head", "rare", "tail")), ("parity", "0"), ("parity", "1"),
        ]  # fmt: skip
        assert found["parity", "1"].queries == 356
        assert sum(part.share for part in found.parts) == pytest.approx(2)

    def test_a_single_segment(self):
        assert " The segment has 95 % confidence." in compared(segments={"kind": ["a"] * len(KINDS)}).segments.text
        assert "All 3 segments together have 95 %" in compared(segments={"kind": KINDS}).segments.text

    def test_too_few_queries_are_reported_and_never_decided(self):
        values = values_of()
        for table in values.values():
            table[KINDS == "rare"] = [0.9, 0.1, 0.1]
            table[KINDS == "rare"] += np.random.default_rng(0).normal(0, 0.001, (12, 3))
        found = compared(values).segments
        rare = found["rare"]
        assert (rare.queries, rare.decided, rare.verdict.kind) == (12, False, "unresolved")
        assert not rare.is_better.any()
        assert "rare (12)" in found.text
        assert found.frame()["decided"].tolist() == [True, False, True]

    def test_a_disagreement_within_a_segment_is_stated(self):
        values = values_of(lead=0.0)
        for place, metric in enumerate(METRICS):
            values[metric][KINDS == "tail", place] += 0.1
        found = compared(values).segments
        assert found["tail"].verdict.kind == "genuine"
        assert "Where segment is tail (300 queries), no model is best under both metrics" in found.text

    def test_a_segment_that_a_metric_skips(self):
        values = values_of()
        values[SECOND][KINDS == "tail"] = np.nan
        values["witness"] = values[FIRST].copy()
        values["witness"][KINDS == "head"] = np.nan
        found = compared(values).segments
        assert (found["tail"].queries, found["tail"].units, found["tail"].verdict) == (0, 0, None)
        assert set(found["head"].leaderboard["metric"]) == set(METRICS)
        assert found["head"].share == pytest.approx(400 / 412)
        json.dumps(found.to_dict(), allow_nan=False)
        assert "<th>tail</th>" in found._repr_html_()
        assert found.frame()["kind"].isna().tolist() == [False, False, True]

    def test_leaderboards_are_those_of_their_queries(self):
        values = values_of()
        board = compared(values).segments.leaderboard()
        found = board.loc[("segment", "tail")].query("model == 'B' and metric == @SECOND")["mean"]
        assert found.tolist() == pytest.approx([values[SECOND][KINDS == "tail", 1].mean()])


class TestContrasts:
    def test_name_who_is_best_where_and_where_it_trails(self):
        found = compared(values_of(lead=0.04)).segments
        assert [contrast.metrics for contrast in found.contrasts] == [METRICS, METRICS]
        for contrast, names in zip(found.contrasts, ("A head tail", "B tail head"), strict=True):
            assert re.findall(r"\b(?:A|B|C|head|tail|rare)\b", contrast.text) == names.split()
            assert contrast.text in found.text
        assert compared(values_of(lead=0.0)).segments.contrasts == ()
        assert found.frame()[f"differs {FIRST}"].tolist()[::2].count(True) == 1

    def test_under_one_metric_where_only_that_proves_it(self):
        values = values_of(lead=0.04)
        values[SECOND] = values_of(seed=5, lead=0.0)[SECOND]
        found = compared(values).segments
        assert {contrast.metrics for contrast in found.contrasts} == {(FIRST,)}
        assert FIRST in found.contrasts[0].text

    def test_leads_are_those_of_plain_normal_draws_over_all_pairs_and_metrics(self):
        values = values_of(lead=0.012)
        found = compared(values, draws=60_000).segments
        for kind in ("head", "tail"):
            here = np.concatenate([values[metric][np.equal(KINDS, kind)] for metric in METRICS], axis=1)
            pairs = [(m, k, j) for m in (0, 1) for k in range(3) for j in range(3) if j != k]
            contrast = np.zeros((len(pairs), 6))
            for row, (m, k, j) in enumerate(pairs):
                contrast[row, 3 * m + j], contrast[row, 3 * m + k] = 1, -1
            covariance = contrast @ np.cov(here.T) @ contrast.T / len(here)
            error = np.sqrt(np.diag(covariance))
            draws = np.random.default_rng(1).multivariate_normal(np.zeros(6), np.cov(here.T) / len(here), 300_000)
            critical = np.quantile((draws @ contrast.T / error).max(axis=1), 1 - 0.05 / 3)
            t = contrast @ here.mean(axis=0) / error
            clear = np.abs(t - critical) > 0.03  # Both quantiles are simulated.
            got = np.array([found[kind].is_better[pair] for pair in pairs])
            assert clear.sum() >= 10
            assert (got[clear] == (t > critical)[clear]).all()


def test_the_decision_names_segments_in_which_the_baseline_is_better():
    values = values_of(lead=0.0)
    for table in values.values():  # B gains on head queries, and loses on tail queries.
        table[:, 1] = table[:, 0] + np.where(KINDS == "head", 0.06, -0.04) + 0.02 * np.arange(len(KINDS)) % 0.01
    comparison, text = compared(values, baseline="A", margin=0.005), "But A is better than B where segment is tail."
    assert str(comparison).startswith("★ Ship B instead of A")
    assert text in str(comparison)
    assert text in comparison.to_markdown()
    # It is true of the gate with segments, which then needs no such sentence, and of no other data.
    gate = comparison.against("A", segments="segment")
    assert gate.decisions["B"] == "do not ship"
    for table in values.values():
        table[KINDS == "tail", 1] += 0.07
    assert "But" not in str(compared(values, baseline="A", margin=0.005))


class TestLabels:
    def test_a_label_that_names_no_single_segment_is_rejected(self):
        columns = pd.DataFrame({"kind": KINDS, "traffic": np.where(KINDS == "head", "head", "other")})
        segments = compared(segments=columns, draws=1000).segments
        assert segments["kind", "head"].queries == segments["traffic", "head"].queries == 400
        with pytest.raises(KeyError, match="Several columns have a segment named 'head'"):
            segments["head"]
        with pytest.raises(KeyError, match=r"No segment is named 'heads'.* kind head, kind rare, kind tail"):
            segments["heads"]

    def test_compare_takes_them_beside_queries_that_all_metrics_skip(self):
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 3, 400)
        labels[:20] = 0  # the first two queries
        judgments = gw.Judgments(labels, group=[10] * 40)
        kinds = pd.DataFrame({"kind": ["x", "y"] * 20, "size": [1.0] * 40})
        metrics = ["ndcg_linear(empty=skip)@10", "ndcg_exp(empty=skip)@10"]
        models = {"A": rng.random(400), "B": rng.random(400)}
        found = gw.compare(models, judgments, metrics, segments=kinds, draws=1000)
        assert found.segments["kind", "x"].queries == 19
        assert found.segments["size", "1"].queries == 38
        assert found.segments["kind", "y"].verdict.means[metrics[0]]["B"] == pytest.approx(
            found.frame().xs("B", level="model").loc[3::2, metrics[0]].mean()
        )
        assert found.to_dict()["segments"]["segments"][0]["segment"] == "x"
