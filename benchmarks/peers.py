"""The cost of one evaluation against other packages, on the same scores; conversion from flat arrays does not count.

    python benchmarks/peers.py [--documents 1000000] [--repeats 5] [--threads 2]

What is not installed is left out, and said. Each peer computes what it can of: both NDCGs, MAP, reciprocal rank.
"""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from evaluation import CUTOFFS, NDCGS, PANEL, Data, make_data, ours, xgboost_builtin
from timing import interleaved, machine, milliseconds, ratio

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable

Contest = dict[str, tuple["Callable[[], object]", "Callable[[], object]"]]
"""By what is compared: theirs, and ours computing the same."""


def naive_loop(data: Data, scores: np.ndarray[Any, Any]) -> Callable[[], object]:
    """Return a loop over queries that sorts each and computes one NDCG with NumPy."""
    ends = np.cumsum(data.sizes)
    discount = 1 / np.log2(np.arange(2, 12))
    gains = 2.0**data.labels - 1

    def ndcg(gain: np.ndarray[Any, Any], by: np.ndarray[Any, Any]) -> float:
        k = min(10, len(gain))
        ideal = np.sort(gain)[::-1][:k] @ discount[:k]
        return float(gain[np.argsort(-by)[:k]] @ discount[:k] / ideal) if ideal > 0 else 0.0

    return lambda: np.mean(
        [ndcg(gains[end - n : end], scores[end - n : end]) for end, n in zip(ends, data.sizes, strict=True)]
    )


def sklearn_ndcg(data: Data, scores: np.ndarray[Any, Any]) -> Callable[[], object]:
    """Return scikit-learn's ndcg_score of queries padded to one matrix, ties ignored."""
    from sklearn.metrics import ndcg_score

    width = int(data.sizes.max())
    place = np.arange(width) < data.sizes[:, None]
    labels, by = np.zeros(place.shape), np.full(place.shape, scores.min() - 1)
    labels[place], by[place] = data.labels, scores
    return lambda: ndcg_score(labels, by, k=10, ignore_ties=True)


def dictionaries(data: Data, scores: np.ndarray[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return qrels and run as the dictionaries that TREC-style packages take."""
    qrels, run, start = {}, {}, 0
    for query, n in enumerate(data.sizes.tolist()):
        names = [f"d{at}" for at in range(n)]
        labels, by = data.labels[start : start + n].tolist(), scores[start : start + n].tolist()
        qrels[f"q{query}"] = dict(zip(names, labels, strict=True))
        run[f"q{query}"] = dict(zip(names, by, strict=True))
        start += n
    return qrels, run


def contests(data: Data, threads: int) -> tuple[Contest, list[str]]:
    """Return whom to compare with, and whom not."""
    scores = data.scores["untied"]
    judgments = gs.Judgments(data.labels, group=data.sizes)

    def mine(*metrics: str) -> Callable[[], object]:
        return ours(list(metrics), judgments, scores, threads)

    found: Contest = {
        "naive NumPy loop, one NDCG": (naive_loop(data, scores), mine("ndcg_exp@10")),
        "XGBoost ndcg at four cutoffs": (
            xgboost_builtin(data, scores, [f"ndcg@{k}" for k in CUTOFFS], threads),
            mine(*NDCGS[:4]),
        ),
        "XGBoost ndcg at four cutoffs against the panel": (
            xgboost_builtin(data, scores, [f"ndcg@{k}" for k in CUTOFFS], threads),
            mine(*PANEL),
        ),
    }
    absent = []
    if find_spec("sklearn"):
        found["scikit-learn, one NDCG, ties ignored"] = (sklearn_ndcg(data, scores), mine("ndcg_linear@10"))
    else:
        absent.append("scikit-learn")
    if find_spec("pytrec_eval") or find_spec("ranx"):
        qrels, run = dictionaries(data, scores)
    if find_spec("pytrec_eval"):
        import pytrec_eval

        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"})
        found["pytrec_eval, three measures, dictionaries made before"] = (
            lambda: evaluator.evaluate(run),
            mine("ndcg_linear@10", "map", "mrr"),
        )
    else:
        absent.append("pytrec_eval-terrier")
    if find_spec("ranx"):
        os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
        import ranx

        theirs, their_run = ranx.Qrels(qrels), ranx.Run(run)
        measures = ["ndcg@10", "ndcg_burges@10", "map", "mrr"]
        found["ranx, four measures, data converted before"] = (
            lambda: ranx.evaluate(theirs, their_run, measures),
            mine("ndcg_linear@10", "ndcg_exp@10", "map", "mrr"),
        )
    else:
        absent.append("ranx")
    return found, absent


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    data = make_data(arguments.documents)
    print(f"{machine()}\n")
    print(f"{len(data.labels):,} documents in {len(data.sizes):,} queries, {arguments.threads} threads\n")
    print("| against | theirs, ms | ours, ms | ratio |\n|---|---:|---:|---:|")
    found, absent = contests(data, arguments.threads)
    for name, (theirs, own) in found.items():
        seconds = interleaved({"theirs": theirs, "ours": own}, arguments.repeats)
        their_ms, our_ms = milliseconds(seconds["theirs"]), milliseconds(seconds["ours"])
        print(f"| {name} | {their_ms:.1f} | {our_ms:.1f} | {ratio(seconds['ours'], seconds['theirs']):.3f} |")
    bind = interleaved({"bind": lambda: gs.Evaluator(PANEL, gs.Judgments(data.labels, group=data.sizes))}, 3)["bind"]
    print(f"\nBinding labels, groups, gains and ideals, once per data set: {milliseconds(bind):.0f} ms")
    print(f"Not installed, left out: {', '.join(absent) or 'none'}")


if __name__ == "__main__":
    main()
