"""Names in letters, digits and underscores: every metric has one of its own, and it reads back."""

from __future__ import annotations

import re
from itertools import product

import pytest

import gainsay as gs
from gainsay.metrics import plain_name, safe_name
from gainsay.metrics.registry import METRICS

SAFE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

WITH_OPTIONS = [
    "ndcg_exp(ties=worst)@10",
    "ndcg_linear(ties=order,empty=skip,weights=float32_mean)@3",
    "ndcg(gain=0/1/3.5/7)@5",
    "ndcg(gain=0>0/1>0.5/2>1e-09)@5",
    "ndcg_linear(discount=1/0.5/0.2)",
    "ndcg_jk(base=3)@10",
    "rbp(p=1e-07)",
    "rbp(p=0.95,min_label=2)@100",
    "map(denominator=R,min_label=-1)@10",
    "map(ties=order,denominator=hits)",
    "precision(denominator=min(R,k))",
    "err(max_label=4)@20",
    "gap(thresholds=0.25/0.5/0.25)",
    "cg(gain=0/1e+20)@1000",
]


def metrics():
    names = [*METRICS, *(f"{name}@{k}" for name, k in product(METRICS, (1, 10))), *WITH_OPTIONS]
    for name in names:
        try:
            (metric,) = gs.parse_metrics(name)
        except (ValueError, TypeError):  # needs an option, or knows no cutoff
            continue
        yield str(metric)


NAMES = list(dict.fromkeys(metrics()))


def test_there_are_enough():
    assert len(NAMES) > 50
    assert sum("(" in name for name in NAMES) >= 9


@pytest.mark.parametrize("name", NAMES)
def test_it_is_safe_and_reads_back(name):
    safe = safe_name(name)
    assert SAFE.fullmatch(safe)
    assert plain_name(safe) == name
    assert gs.parse_metrics(plain_name(safe)) == gs.parse_metrics(name)


def test_no_two_have_the_same():
    assert len({safe_name(name) for name in NAMES}) == len(NAMES)


def test_examples_by_hand():
    assert safe_name("ndcg_exp@10") == "ndcg_exp_at_10"
    assert safe_name(gs.NDCG(gain="linear", k=5, ties="worst")) == "ndcg_linear__ties_is_worst_at_5"
    assert safe_name("map(min_label=-1)@10") == "map__min_label_is_minus_1_at_10"


@pytest.mark.parametrize("name", ["l2", "rmse", "auc", "multi_logloss", "_at_", "valid_0", "a__b"])
def test_what_is_no_safe_name_comes_back_as_it_is(name):
    assert plain_name(name) == name


def test_a_name_that_would_read_back_as_another_is_refused():
    with pytest.raises(ValueError, match=r"cannot write 'clicks_at_5': 'clicks_at_5' would read back as 'clicks@5'"):
        safe_name("clicks_at_5")
    with pytest.raises(ValueError, match="would read back as"):
        safe_name("ndcg(gain=worth_dot_com)")
    with pytest.raises(ValueError, match="cannot write 'two words' as a safe name"):
        safe_name("two words")
