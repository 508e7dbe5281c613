"""All golden values of trec_eval 10 for gainwise's metrics, to four decimals."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import gainwise as gw

OUTPUTS = {  # golden output: qrels, run, options of trec_eval
    "out.test": ("qrels.test", "results.test", {}),
    "out.test.a": ("qrels.test", "results.test", {}),
    "out.test.aq": ("qrels.test", "results.test", {}),
    "out.test.aqc": ("qrels.test", "results.trunc", {"missing": "zero"}),
    "out.test.aqcM": ("qrels.test", "results.trunc", {"missing": "zero", "first": 100}),
    "out.test.aql": ("qrels.rel_level", "results.test", {"level": 2}),
    "out.test.meas_params": ("qrels.test", "results.test", {}),
}
CUT = {"P": "precision", "recall": "recall", "success": "hit", "map_cut": "map", "ndcg_cut": "ndcg_linear"}
GRADED = ("ndcg", "ndcg_cut", "rbp")
"""Measures that use the grades and ignore the relevance level."""


MEASURES = re.compile(r"(ndcg|map|recip_rank|Rprec|rbp)|(P|recall|success|map_cut|ndcg_cut)_(\d+)|ndcg_1=.*")


def our_name(measure: str, level: int) -> str | None:
    """Return gainwise's metric for a measure of trec_eval, or None."""
    match = MEASURES.fullmatch(measure)
    if match is None:
        return None
    if measure == "ndcg_1=3,2=9,4=4.5":
        return "ndcg(gain=0>0/1>3/2>9/4>4.5)"
    name = {"recip_rank": "mrr", "Rprec": "rprec", "ndcg": "ndcg_linear", **CUT}.get(match[1] or match[2], match[1])
    option = "" if level == 1 or measure.startswith(GRADED) else f"(min_label={level})"
    return f"{name}{option}" + (f"@{match[3]}" if match[3] else "")


def read(path, columns, value):
    rows = [line.split()[: len(columns)] for line in path.read_text().splitlines()]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(**{value: frame[value].astype(float)})


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_value_agrees_to_four_decimals(shared_data, output):
    folder = shared_data / "trec-eval"
    qrels_file, run_file, options = OUTPUTS[output]
    qrels = read(folder / qrels_file, ["query", "iteration", "document", "label"], "label")
    run = read(folder / run_file, ["query", "q0", "document", "rank", "score"], "score")
    if "first" in options:
        run = run.sort_values(["query", "score", "document"], ascending=[True, False, False])
        run = run.groupby("query").head(options["first"])
    golden = [line.split() for line in (folder / output).read_text().splitlines()]
    golden = [(our_name(measure, options.get("level", 1)), *rest) for measure, *rest in golden]
    names = list(dict.fromkeys(name for name, *_ in golden if name is not None))
    assert names
    metrics = gw.parse_metrics(names, convention="trec_eval")
    result = gw.evaluate_run(metrics, run, qrels, missing=options.get("missing", "skip"))
    column, frame = dict(zip(names, map(str, metrics), strict=True)), result.frame()
    for name, topic, value in golden:
        if name is not None:
            ours = result.mean[column[name]] if topic == "all" else frame.loc[topic, column[name]]
            assert f"{ours:.4f}" == value, (name, topic)
