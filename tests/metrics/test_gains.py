"""Gains: names, tables, mappings, and how they are written."""

from __future__ import annotations

from decimal import Decimal, getcontext

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gainsay as gs
from gainsay._common.words import number_text
from gainsay.metrics.gains import canonical_gain, exponential, gain_text, gains_of, power

getcontext().prec = 60

finite = st.floats(allow_nan=False, allow_infinity=False)
tables = st.lists(finite, min_size=1, max_size=6).map(tuple)
mappings = st.dictionaries(finite, finite, min_size=1, max_size=6)


class TestExponential:
    def test_whole_labels_are_exact(self):
        assert exponential(np.arange(54.0)).tolist() == [2**label - 1 for label in range(54)]

    @pytest.mark.parametrize("label", [1e-12, 1e-3, 0.25, 0.5, 0.999, 1.5, 3.3, 30.7])
    def test_fractions_keep_full_relative_precision(self, label):
        expected = Decimal(2) ** Decimal(label) - 1
        assert exponential(np.array([label]))[0] == pytest.approx(float(expected), rel=1e-15, abs=0)

    def test_whole_labels_beside_fractions_are_exact(self):
        assert exponential(np.array([0.0, 1.0, 2.0, 0.5]))[:3].tolist() == [0, 1, 3]

    def test_equals_linear_on_binary_labels(self):
        assert exponential(np.array([0.0, 1.0])).tolist() == [0, 1]


class TestPower:
    @pytest.mark.parametrize("base", [1 + 2**-52, 1 + 1e-12, 1.001, 1.25, 1.5, 1.9999, 2.5, 4.0, 1e6])
    @pytest.mark.parametrize("label", [1e-6, 0.5, 1.0, 1.5, 2.0, 4.0, 31.0])
    def test_keeps_full_relative_precision(self, base, label):
        expected = (Decimal(base) ** Decimal(label) - 1) / (Decimal(base) - 1)
        assert power(np.array([label]), base)[0] == pytest.approx(float(expected), rel=4e-15, abs=0)

    @pytest.mark.parametrize("base", [1 + 1e-12, 1.1, 1.7, 3.0])
    def test_grade_0_is_worth_0_and_grade_1_is_worth_1(self, base):
        assert power(np.array([0.0, 1.0]), base).tolist() == [0.0, 1.0]

    @given(st.floats(1 + 1e-9, 8), st.integers(1, 30))
    def test_a_grade_adds_b_times_what_the_one_below_added(self, base, grade):
        below, at, above = power(np.array([grade - 1.0, grade, grade + 1.0]), base)
        assert above - at == pytest.approx(base * (at - below), rel=1e-9)

    @pytest.mark.parametrize("name", ["ndcg_power", "dcg_power"])
    @pytest.mark.parametrize(
        ("base", "canonical"), [(1, "linear"), (1.0, "linear"), (2, "exp"), (np.float64(2), "exp")]
    )
    def test_the_ends_are_the_metrics_of_that_name(self, name, base, canonical):
        (metric,) = gs.parse_metrics(f"{name}(gain_base={base},ties=worst)@5")
        (other,) = gs.parse_metrics(f"{name.replace('power', canonical)}(ties=worst)@5")
        assert (metric, hash(metric), str(metric)) == (other, hash(other), str(other))

    def test_is_continuous_where_the_names_change(self):
        rng = np.random.default_rng(1)
        judgments, scores = gs.Judgments(rng.integers(0, 5, 400), group=[20] * 20), rng.integers(0, 9, 400)
        for base, name in ((1 + 1e-12, "ndcg_linear@10"), (2 - 1e-12, "ndcg_exp@10"), (2 + 1e-12, "ndcg_exp@10")):
            near = gs.evaluate([gs.NDCG(gain="power", gain_base=base, k=10), name], judgments, scores).per_query
            np.testing.assert_allclose(near[:, 0], near[:, 1], rtol=2e-11)

    def test_huge_labels_are_exact(self):
        """By exact fractions: b = 3/2 of labels up to 5000 beside small ones, scaled query by query."""
        base, ranked = Decimal("1.5"), [[4998, 5000, 4990], [2, 0, 3]]

        def dcg(labels):
            return sum((base**label - 1) / Decimal(rank + 1).ln() for rank, label in enumerate(labels, start=1))

        judgments = gs.Judgments(np.concatenate(ranked), group=[3, 3])
        found = gs.evaluate("ndcg_power(gain_base=1.5)", judgments, [3, 2, 1] * 2).per_query[:, 0]
        expected = [float(dcg(labels) / dcg(sorted(labels, reverse=True))) for labels in ranked]
        np.testing.assert_allclose(found, expected, rtol=1e-13)

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"gain": "power"}, ValueError, "gain='power' needs its base, for example gain_base=1.5"),
            ({"gain": "power", "gain_base": 0.9}, ValueError, "gain_base must be at least 1, got 0.9"),
            ({"gain": "power", "gain_base": np.inf}, ValueError, "gain_base must be finite"),
            ({"gain": "power", "gain_base": np.nan}, ValueError, "gain_base"),
            ({"gain": "power", "gain_base": "big"}, TypeError, "gain_base must be a number, got 'big'"),
            ({"gain": "linear", "gain_base": 1.5}, ValueError, "gain_base=1.5 has no meaning for gain=linear"),
            ({"gain": (0, 1), "gain_base": 2}, ValueError, "gain_base=2 has no meaning for gain=0/1"),
        ],
    )
    def test_refuses(self, options, error, message):
        with pytest.raises(error, match=message):
            gs.NDCG(**options)

    def test_a_name_with_a_base_and_no_gain(self):
        with pytest.raises(ValueError, match=r"has a gain_base but no gain: write ndcg\(gain=power,gain_base=1.5\)"):
            gs.parse_metrics("ndcg(gain_base=1.5)@10")

    def test_negative_labels_are_refused(self):
        judgments = gs.Judgments([-1, 2], group=[2], negative_labels="allow")
        with pytest.raises(
            ValueError, match=r"cannot take negative labels \(the lowest is -1\): \(b\^l - 1\)/\(b - 1\)"
        ):
            gs.evaluate("ndcg_power(gain_base=1.5)", judgments, [1, 2])

    def test_dcg_that_overflows_is_refused(self):
        with pytest.raises(ValueError, match=r"overflows: 1.5\^5000 - 1 is too large for a float; take ndcg_power"):
            gs.evaluate("dcg_power(gain_base=1.5)", gs.Judgments([5000, 2], group=[2]), [1, 2])


class TestTables:
    def test_table_by_label(self):
        assert gains_of((0.0, 1.0, 4.0), np.array([2.0, 0.0])).tolist() == [4, 0]

    def test_mapping_takes_any_label(self):
        assert gains_of(((-1.0, -3.0), (0.5, 2.0)), np.array([0.5, -1.0])).tolist() == [2, -3]

    @pytest.mark.parametrize("gain", [(0.0, 1.0), ((0.0, 0.0), (1.0, 1.0))], ids=["table", "mapping"])
    @pytest.mark.parametrize(("label", "text"), [(2.0, "2"), (0.5, "0.5"), (-1.0, "-1")])
    def test_label_without_entry(self, gain, label, text):
        with pytest.raises(ValueError, match=f"gain has no entry for label {text}; it has entries for 0, 1"):
            gains_of(gain, np.array([0.0, label]))

    def test_error_reaches_the_caller(self):
        with pytest.raises(ValueError, match="gain has no entry for label 3"):
            gs.evaluate("ndcg(gain=0/1/2)", gs.Judgments([3, 0], group=[2]), [1, 2])


class TestCanonical:
    @pytest.mark.parametrize(
        "given_as",
        [(0, 1, 3), [0, 1, 3], np.array([0, 1, 3]), np.float32([0, 1, 3]), "0/1/3"],
        ids=["tuple", "list", "array", "float32", "text"],
    )
    def test_tables(self, given_as):
        assert canonical_gain(given_as) == (0.0, 1.0, 3.0)

    @pytest.mark.parametrize(
        "given_as",
        [{1: 3, 0: 1}, [(1, 3), (0, 1)], ((0, 1), (1, 3)), np.array([[0, 1], [1, 3]]), "1>3/0>1"],
        ids=["mapping", "pairs", "tuples", "array", "text"],
    )
    def test_mappings_are_sorted_by_label(self, given_as):
        assert canonical_gain(given_as) == ((0.0, 1.0), (1.0, 3.0))

    @pytest.mark.parametrize("gain", [(), {}, (0, np.nan), (0, np.inf), {0: np.nan}, {np.nan: 1}])
    def test_nothing_and_not_finite(self, gain):
        with pytest.raises(ValueError, match="gain must hold at least one entry, all of them finite"):
            canonical_gain(gain)

    @pytest.mark.parametrize("text", ["exponentiel", "", "0/a", "1>2>3", "1>2/3", ">", "0//1", "0>1/0>2"])
    def test_text_that_says_nothing(self, text):
        with pytest.raises(ValueError, match="gain must be 'linear', 'exponential', 'power', a table such as"):
            canonical_gain(text)

    def test_did_you_mean(self):
        with pytest.raises(ValueError, match="did you mean 'exponential'"):
            canonical_gain("exponentiel")

    def test_label_with_two_gains(self):
        with pytest.raises(ValueError, match="gain must give each label once"):
            canonical_gain([(0, 1), (0, 2)])

    @pytest.mark.parametrize("gain", [None, 3, dict])
    def test_other_types(self, gain):
        with pytest.raises(TypeError, match="gain must be 'linear', 'exponential', 'power', a table or a mapping"):
            canonical_gain(gain)


class TestText:
    @given(st.one_of(tables, mappings))
    def test_reads_back_as_the_same_gain(self, gain):
        assert canonical_gain(gain_text(canonical_gain(gain))) == canonical_gain(gain)

    @given(finite)
    def test_numbers_read_back(self, number):
        assert float(number_text(number)) == number

    @pytest.mark.parametrize(("number", "text"), [(3.0, "3"), (0.5, "0.5"), (-2.0, "-2"), (1e300, "1e+300")])
    def test_numbers_are_short(self, number, text):
        assert number_text(number) == text
