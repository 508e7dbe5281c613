"""Every metric against its definition in plain Python, on queries of all kinds, up to 3000 documents long."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from tests.differential.averages import AVERAGES, expected_reciprocal_rank
from tests.differential.random_queries import cutoffs, examples, queries

import gainwise as gw

LARGEST = {"binary": 1, "grades": 4, "rarely relevant": 4, "to 30": 30, "to 960": 960, "fractions": 4}


def chosen(definitions, label_kind):
    """Return the metrics that support such labels. Tables contain labels 0 to 4, and ERR has a scale."""
    tables = ("ndcg(gain=", "dcg(gain=")
    names = [name for name in definitions.METRICS if not name.startswith((*tables, "err"))]
    if label_kind in ("binary", "grades", "rarely relevant"):
        names += [name for name in definitions.METRICS if name.startswith(tables)]
    found = {name: definitions.METRICS[name] for name in names}
    scale = LARGEST[label_kind]
    err = definitions.METRICS["err(max_label=4)"]
    found[f"err(max_label={scale})"] = type(err)(err.func, max_label=scale)
    return found


SHORT = st.one_of(st.integers(0, 12), st.integers(0, 60), st.sampled_from([127, 128, 129, 300]))


@examples(15)
@given(data=queries(most=4, lengths=SHORT), k=cutoffs)
def test_ties_that_are_settled(definitions, data, k):
    found_by = chosen(definitions, data.label_kind)
    settled = [(name, ties) for name in found_by for ties in ("order", "worst", "best")]
    metrics = [replace(gw.parse_metrics(name)[0], ties=ties, k=k) for name, ties in settled]
    found = data.evaluate(metrics).per_query
    for row, (labels, scores) in zip(found, data.columns(), strict=True):
        rankings = {ties: rank(labels, scores) for ties, rank in definitions.RANKINGS.items()}
        expected = [found_by[name](rankings[ties], labels, k) if labels else 0.0 for name, ties in settled]
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-16)


@examples(15)
@given(data=queries(most=5), k=cutoffs)
def test_ties_that_are_averaged(definitions, data, k):
    metrics = [replace(gw.parse_metrics(name)[0], k=k) for name in AVERAGES]
    found = data.evaluate(metrics).per_query
    for row, (labels, scores) in zip(found, data.columns(), strict=True):
        runs = definitions.runs(labels, scores)
        expected = [average(runs, labels, k) for average in AVERAGES.values()]
        np.testing.assert_allclose(row, expected, rtol=1e-12, atol=1e-16)


@examples(15)
@given(data=queries(most=5, lengths=st.integers(0, 150)), k=cutoffs)
def test_err_of_ties_that_are_averaged(definitions, data, k):
    scale = LARGEST[data.label_kind]
    found = data.evaluate([gw.ERR(max_label=scale, k=k)]).per_query[:, 0]
    expected = [
        expected_reciprocal_rank(definitions.runs(labels, scores), labels, k, max_label=scale)
        for labels, scores in data.columns()
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@examples(20)
@given(data=queries(most=4, lengths=st.integers(0, 6), labels=["grades"]), k=st.one_of(st.none(), st.integers(1, 7)))
def test_closed_forms_are_the_mean_over_all_orders(definitions, data, k):
    plain = {**AVERAGES, "err(max_label=4)": lambda *args: expected_reciprocal_rank(*args, max_label=4)}
    for labels, scores in data.columns():
        for name, average in plain.items():
            definition = definitions.METRICS[name]
            expected = definitions.expectation(definition, labels, scores, k) if labels else 0.0
            found = average(definitions.runs(labels, scores), labels, k)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
