"""Labels of queries that carry an index (segments, clusters, preferences): matched by id, or refused."""

import numpy as np
import pandas as pd
import pytest

import gainsay as gs

RNG = np.random.default_rng(0)
QUERIES, SIZE = 40, 4
IDS = np.arange(100, 100 + QUERIES)
LABELS = RNG.integers(0, 3, QUERIES * SIZE)
JUDGMENTS = gs.Judgments(LABELS, qid=np.repeat(IDS, SIZE))
MODELS = {"A": LABELS + RNG.normal(size=len(LABELS)), "B": RNG.normal(size=len(LABELS))}
KINDS = pd.Series(np.where(IDS % 3 == 0, "head", "tail"), index=IDS)
SHUFFLED = KINDS.sample(frac=1, random_state=0)


def kinds(segments):
    found = gs.compare(MODELS, JUDGMENTS, ["map", "mrr"], segments=segments, draws=200)
    return found.segment_labels["segment"].tolist()


@pytest.mark.parametrize(
    "segments",
    [SHUFFLED, SHUFFLED.rename(float), SHUFFLED.to_dict(), KINDS.reset_index(drop=True), KINDS.to_numpy(), [*KINDS]],
)
def test_segments_are_matched_by_id_or_stand_in_order(segments):
    assert kinds(segments) == KINDS.tolist()


@pytest.mark.parametrize(
    "clusters",
    [[2**63, 2**63 + 1, -1], [2**53, 2**53 + 1, 0.5], [True, 1, "1"], ["a", "a\0", "b"], [(1, 2), (1, 3), (2, 2)]],
)
def test_clusters_that_differ_stay_apart(clusters):
    values = RNG.random((60, 2))
    verdict = gs.Verdict.from_values(values, values, clusters=clusters * 20, draws=200)
    assert verdict.clusters == 3


def test_clusters_are_alike_whatever_integer_they_are():
    values = RNG.random((60, 2))
    assert gs.Verdict.from_values(values, values, clusters=[np.int64(1), 1, np.int8(2)] * 20, draws=200).clusters == 2


@pytest.fixture(scope="module")
def preferences():
    """Return 300 queries, two rankings of each as scores, and which of them was preferred, by query id."""
    rng, ids = np.random.default_rng(1), np.arange(300) + 7
    judgments = gs.Judgments(rng.choice(4, 1800, p=[0.4, 0.3, 0.2, 0.1]), qid=np.repeat(ids, 6))
    scores = rng.normal(size=(2, 1800))
    lead = np.subtract(*(gs.evaluate("ndcg_exp@10", judgments, one).per_query[:, 0] for one in scores))
    preferred = np.where(rng.random(300) < 1 / (1 + np.exp(-5 * lead)), "a", "b")
    return judgments, *scores, pd.Series(preferred, index=ids)


def test_preferences_are_matched_by_id(preferences):
    *rankings, preferred = preferences
    shuffled = preferred.sample(frac=1, random_state=0)
    found = [gs.fit_gain((*rankings, one)) for one in (preferred.to_numpy(), shuffled, shuffled.to_dict())]
    assert len({(one.base, one.slope) for one in found}) == 1
