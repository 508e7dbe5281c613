"""Published examples: 12 digits of the recomputed value, and the printed value."""

import json
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pytest

import gainwise as gw

EXAMPLES = json.loads(Path(__file__).with_name("oracles.json").read_text(encoding="utf-8"))["examples"]
"""Published examples: what they print, and their values computed anew with 50 digits."""


def ranked(labels, names, not_retrieved=()):
    """Return the values of metrics. Labels are listed by rank, then those of documents that were not retrieved."""
    scores = [*range(len(labels), 0, -1), *[-np.inf] * len(not_retrieved)]
    judgments = gw.Judgments([*labels, *not_retrieved], group=[len(scores)])
    return gw.evaluate(names, judgments, scores).per_query[0]


def ideal(labels, names):
    return ranked(sorted(labels, reverse=True), names)


def assert_12_digits(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def assert_as_printed(values, texts):
    """Compare values, rounded to the decimals of the texts."""
    for value, text in zip(values, texts, strict=True):
        places = len(text.partition(".")[2])
        if len(text) <= 12:
            assert Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP) == Decimal(text)
        else:  # A sum of doubles has fewer exact decimals than the 14 printed ones.
            assert value == pytest.approx(float(text), rel=1e-14, abs=0)


class TestJarvelinKekalainen2002:
    """The ranking of the article has ten documents. Its ideal contains documents that were not retrieved."""

    example = EXAMPLES["jk2002"]

    @staticmethod
    def at_ranks(name):
        return [f"{name}@{k}" for k in range(1, 11)]

    def test_cumulated_gain(self):
        expected, gains = self.example["expected"], self.example["gains"]
        assert ranked(gains, self.at_ranks("cg")).tolist() == expected["cg"] == self.example["published"]["cg"]
        assert ranked(self.example["ideal_gains"], self.at_ranks("cg")).tolist() == expected["ideal_cg"]

    def test_dcg(self):
        found = ranked(self.example["gains"], self.at_ranks("dcg_jk"))
        assert_12_digits(found, self.example["expected"]["dcg"])
        assert_as_printed(found, self.example["published"]["dcg"])
        found = ranked(self.example["ideal_gains"], self.at_ranks("dcg_jk"))
        assert_12_digits(found, self.example["expected"]["ideal_dcg"])

    def test_ndcg(self):
        missing = Counter(self.example["ideal_gains"]) - Counter(self.example["gains"])
        found = ranked(self.example["gains"], self.at_ranks("ndcg_jk"), list(missing.elements()))
        assert_12_digits(found, self.example["expected"]["ndcg"])
        assert_as_printed(found, self.example["published"]["ndcg"])

    def test_ndcg_with_its_own_ideal(self):
        example = EXAMPLES["jk2002_own_ideal"]
        assert_12_digits(ranked(example["gains"], self.at_ranks("ndcg_jk")), example["expected"]["ndcg"])


@pytest.mark.parametrize("ranking", range(3))
@pytest.mark.parametrize(("definition", "name"), [("ndcg1", "jk"), ("ndcg2", "exp"), ("ndcg_linear_log", "linear")])
def test_rankings_on_which_the_two_definitions_disagree(ranking, definition, name):
    example = EXAMPLES["article1"]["rankings"][ranking]
    labels, expected = example["labels"], example[definition]
    found = ranked(labels, [f"ndcg_{name}", f"dcg_{name}"])
    assert_12_digits(found, [expected["ndcg"], expected["dcg"]])
    assert_12_digits(ideal(labels, f"dcg_{name}"), expected["ideal_dcg"])
    if name != "linear":
        assert_as_printed(found[:1], [expected["published"]])


@pytest.mark.parametrize(("name", "ranking"), [("labels_2401", None), ("five_documents", 0), ("five_documents", 1)])
def test_exponential_gain(name, ranking):
    whole = EXAMPLES[name]
    example = whole if ranking is None else whole["rankings"][ranking]
    labels, k, expected, published = (
        example["labels"],
        whole["k"],
        example.get("expected", example),
        example["published"],
    )
    found = ranked(labels, [f"dcg_exp@{k}", f"ndcg_exp@{k}"])
    assert_12_digits(found, [expected["dcg"], expected["ndcg"]])
    assert_12_digits(ideal(labels, f"dcg_exp@{k}"), expected["ideal_dcg"])
    assert_as_printed(found, [published["dcg"], published["ndcg"]])


def test_documents_that_were_not_retrieved():
    example = EXAMPLES["wikipedia_dcg"]
    expected, published, exponential = example["expected"], example["published"], example["derived"]["exp"]
    labels, others, k = example["retrieved_labels"], example["unretrieved_labels"], example["k"]
    linear = ranked(labels, [f"dcg_linear@{k}", f"ndcg_linear@{k}"], others)
    assert_12_digits(linear, [expected["dcg"], expected["ndcg"]])
    assert_as_printed(linear, [published["dcg"], published["ndcg"]])
    found = ranked(labels, [f"dcg_exp@{k}", f"ndcg_exp@{k}"], others)
    assert_12_digits(found, [exponential["dcg"], exponential["ndcg"]])
    assert ranked(labels, f"cg@{k}", others) == [example["cg"]] == [float(published["cg"])]
    assert_12_digits(ideal([*labels, *others], f"dcg_linear@{k}"), expected["ideal_dcg"])
    of_retrieved = example["derived"]["ideal_of_retrieved_only"]["ndcg"]
    assert_12_digits(ranked(labels, f"ndcg_linear@{k}"), of_retrieved)


def test_reciprocal_rank():
    example = EXAMPLES["rr"]
    found = ranked(example["labels"], ["mrr", "mrr@1", "mrr@2"])
    assert found.tolist() == [example["expected"][name] for name in ("rr", "rr_at_1", "rr_at_2")]


def test_average_precision():
    example = EXAMPLES["ap"]
    assert ranked(example["labels"], "map") == [example["expected"]["ap"]]
    for k in (1, 3):
        for denominator in ("min_R_k", "R", "hits"):
            found = ranked(example["labels"], f"map(ties=order,denominator={denominator})@{k}")
            assert found == [example["expected"][f"ap_at_{k}"][f"denominator_{denominator}"]]
