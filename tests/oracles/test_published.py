"""Published worked examples: 12 digits of the recomputed value, and what the source printed."""

from __future__ import annotations

import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pytest

import gainsay as gs


@pytest.fixture(scope="module")
def examples():
    """Published examples: what they print, and their values computed anew with 50 digits."""
    return json.loads(Path(__file__).with_name("oracles.json").read_text(encoding="utf-8"))["examples"]


def ranked(labels, names, not_retrieved=()):
    """The values of metrics for labels listed by rank, then those of documents that were not retrieved."""
    scores = [*range(len(labels), 0, -1), *[-np.inf] * len(not_retrieved)]
    judgments = gs.Judgments([*labels, *not_retrieved], group=[len(scores)])
    return gs.evaluate(names, judgments, scores).per_query[0]


def ideal(labels, names):
    return ranked(sorted(labels, reverse=True), names)


def printed_as(value, text):
    """Round a value to as many decimals as the text shows."""
    places = len(text.partition(".")[2])
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def assert_12_digits(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12)


class TestJarvelinKekalainen2002:
    """The article's ranking has ten documents; its ideal holds documents that were not retrieved."""

    at = range(1, 11)

    @pytest.fixture
    def example(self, examples):
        return examples["jk2002"]

    @pytest.fixture
    def not_retrieved(self, example):
        missing = list(example["ideal_gains"])
        for label in example["gains"]:
            if label in missing:
                missing.remove(label)
        return missing

    def test_cumulated_gain(self, example):
        found = ranked(example["gains"], [f"cg@{k}" for k in self.at])
        assert found.tolist() == example["expected"]["cg"] == example["published"]["cg"]

    def test_ideal_cumulated_gain(self, example):
        found = ranked(example["ideal_gains"], [f"cg@{k}" for k in self.at])
        assert found.tolist() == example["expected"]["ideal_cg"]

    def test_dcg(self, example):
        found = ranked(example["gains"], [f"dcg_jk@{k}" for k in self.at])
        assert_12_digits(found, example["expected"]["dcg"])

    def test_dcg_as_printed(self, example):
        found = ranked(example["gains"], [f"dcg_jk@{k}" for k in self.at])
        for value, text in zip(found, example["published"]["dcg"], strict=True):
            assert printed_as(value, text) == Decimal(text)

    def test_ideal_dcg(self, example):
        found = ranked(example["ideal_gains"], [f"dcg_jk@{k}" for k in self.at])
        assert_12_digits(found, example["expected"]["ideal_dcg"])

    def test_ndcg(self, example, not_retrieved):
        found = ranked(example["gains"], [f"ndcg_jk@{k}" for k in self.at], not_retrieved)
        assert_12_digits(found, example["expected"]["ndcg"])

    def test_ndcg_as_printed(self, example, not_retrieved):
        found = ranked(example["gains"], [f"ndcg_jk@{k}" for k in self.at], not_retrieved)
        for value, text in zip(found, example["published"]["ndcg"], strict=True):
            assert printed_as(value, text) == Decimal(text)

    def test_ndcg_with_its_own_ideal(self, examples):
        example = examples["jk2002_own_ideal"]
        found = ranked(example["gains"], [f"ndcg_jk@{k}" for k in self.at])
        assert_12_digits(found, example["expected"]["ndcg"])


@pytest.mark.parametrize("ranking", range(3))
@pytest.mark.parametrize(
    ("definition", "name"), [("ndcg1", "jk"), ("ndcg2", "exp"), ("ndcg_linear_log", "linear")], ids=lambda text: text
)
class TestTwoDefinitions:
    """Rankings on which the two definitions disagree."""

    @pytest.fixture
    def example(self, examples, ranking, definition):
        ranking = examples["article1"]["rankings"][ranking]
        return ranking["labels"], ranking[definition]

    def test_ndcg(self, example, name):
        labels, expected = example
        assert_12_digits(ranked(labels, f"ndcg_{name}"), expected["ndcg"])

    def test_dcg(self, example, name):
        labels, expected = example
        assert_12_digits(ranked(labels, f"dcg_{name}"), expected["dcg"])

    def test_ideal_dcg(self, example, name):
        labels, expected = example
        assert_12_digits(ideal(labels, f"dcg_{name}"), expected["ideal_dcg"])


@pytest.mark.parametrize("ranking", range(3))
@pytest.mark.parametrize(("definition", "name"), [("ndcg1", "ndcg_jk"), ("ndcg2", "ndcg_exp")])
def test_two_definitions_as_printed(examples, ranking, definition, name):
    example = examples["article1"]["rankings"][ranking]
    (value,) = ranked(example["labels"], name)
    assert printed_as(value, example[definition]["published"]) == Decimal(example[definition]["published"])


@pytest.mark.parametrize(
    "example", [("labels_2401", None), ("five_documents", 0), ("five_documents", 1)], ids=["2401", "51324", "53421"]
)
class TestExponentialGain:
    @pytest.fixture
    def numbers(self, examples, example):
        name, ranking = example
        whole = examples[name]
        one = whole if ranking is None else whole["rankings"][ranking]
        return one["labels"], whole["k"], one.get("expected", one), one["published"]

    def test_12_digits(self, numbers):
        labels, k, expected, _ = numbers
        found = ranked(labels, [f"dcg_exp@{k}", f"ndcg_exp@{k}"])
        assert_12_digits(found, [expected["dcg"], expected["ndcg"]])

    def test_ideal(self, numbers):
        labels, k, expected, _ = numbers
        assert_12_digits(ideal(labels, f"dcg_exp@{k}"), expected["ideal_dcg"])

    def test_as_printed(self, numbers):
        labels, k, _, published = numbers
        dcg, ndcg = ranked(labels, [f"dcg_exp@{k}", f"ndcg_exp@{k}"])
        for value, text in ((dcg, published["dcg"]), (ndcg, published["ndcg"])):
            if len(text) <= 12:  # 14 printed decimals are more than a double's sum is sure of
                assert printed_as(value, text) == Decimal(text)
            else:
                assert value == pytest.approx(float(text), rel=1e-14, abs=0)


class TestDocumentsThatWereNotRetrieved:
    @pytest.fixture
    def example(self, examples):
        return examples["wikipedia_dcg"]

    @staticmethod
    def found(example, *names):
        return ranked(
            example["retrieved_labels"], [f"{name}@{example['k']}" for name in names], example["unretrieved_labels"]
        )

    def test_linear(self, example):
        expected = example["expected"]
        assert_12_digits(self.found(example, "dcg_linear", "ndcg_linear"), [expected["dcg"], expected["ndcg"]])

    def test_exponential(self, example):
        expected = example["derived"]["exp"]
        assert_12_digits(self.found(example, "dcg_exp", "ndcg_exp"), [expected["dcg"], expected["ndcg"]])

    def test_cumulated_gain(self, example):
        assert self.found(example, "cg") == [example["cg"]] == [float(example["published"]["cg"])]

    def test_ideal(self, example):
        found = ideal([*example["retrieved_labels"], *example["unretrieved_labels"]], f"dcg_linear@{example['k']}")
        assert_12_digits(found, example["expected"]["ideal_dcg"])

    @pytest.mark.parametrize("name", ["dcg", "ndcg"])
    def test_as_printed(self, example, name):
        (value,) = self.found(example, f"{name}_linear")
        assert printed_as(value, example["published"][name]) == Decimal(example["published"][name])

    def test_ideal_of_the_retrieved_only(self, example):
        found = ranked(example["retrieved_labels"], f"ndcg_linear@{example['k']}")
        assert_12_digits(found, example["derived"]["ideal_of_retrieved_only"]["ndcg"])


def test_reciprocal_rank(examples):
    example = examples["rr"]
    found = ranked(example["labels"], ["mrr", "mrr@1", "mrr@2"])
    assert found.tolist() == [example["expected"][name] for name in ("rr", "rr_at_1", "rr_at_2")]


def test_average_precision(examples):
    example = examples["ap"]
    assert ranked(example["labels"], "map") == [example["expected"]["ap"]]


@pytest.mark.parametrize("denominator", ["min_R_k", "R", "hits"])
@pytest.mark.parametrize("k", [1, 3])
def test_average_precision_at_a_cutoff(examples, k, denominator):
    example = examples["ap"]
    found = ranked(example["labels"], f"map(denominator={denominator})@{k}")
    assert found == [example["expected"][f"ap_at_{k}"][f"denominator_{denominator}"]]
