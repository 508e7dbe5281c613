"""Gains: names, tables, mappings, and how they are written."""

from __future__ import annotations

from decimal import Decimal, getcontext

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import gainsay as gs
from gainsay._common.words import number_text
from gainsay.metrics.gains import canonical_gain, exponential, gain_text, gains_of

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
        with pytest.raises(ValueError, match="gain must be 'linear', 'exponential', a table such as"):
            canonical_gain(text)

    def test_did_you_mean(self):
        with pytest.raises(ValueError, match="did you mean 'exponential'"):
            canonical_gain("exponentiel")

    def test_label_with_two_gains(self):
        with pytest.raises(ValueError, match="gain must give each label once"):
            canonical_gain([(0, 1), (0, 2)])

    @pytest.mark.parametrize("gain", [None, 3, dict])
    def test_other_types(self, gain):
        with pytest.raises(TypeError, match="gain must be 'linear', 'exponential', a table or a mapping"):
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
