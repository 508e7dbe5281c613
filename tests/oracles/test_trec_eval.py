"""Every golden value of trec_eval 10 that concerns our metrics, to its four decimals."""

from __future__ import annotations

import functools
import re

import pandas as pd
import pytest

import gainsay as gs

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


def our_name(measure: str, level: int) -> str | None:
    """Return the name of our metric for a measure of trec_eval, None where there is none."""
    if measure == "ndcg_1=3,2=9,4=4.5":
        return "ndcg(gain=0>0/1>3/2>9/4>4.5)"
    plain = {"map": "map", "recip_rank": "mrr", "Rprec": "rprec", "ndcg": "ndcg_linear", "rbp": "rbp"}.get(measure)
    cut = re.fullmatch(r"(P|recall|success|map_cut|ndcg_cut)_(\d+)", measure)
    name, k = (CUT[cut[1]], f"@{cut[2]}") if cut else (plain, "")
    if name is None:
        return None
    of_level = "" if measure in GRADED or measure.startswith("ndcg") or level == 1 else f"(min_label={level})"
    return f"{name}{of_level}{k}"


def read(path, columns, value):
    rows = [line.split()[: len(columns)] for line in path.read_text().splitlines()]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.assign(**{value: frame[value].astype(float)})


def golden_values(folder, output):
    for line in (folder / output).read_text().splitlines():
        measure, topic, value = line.split()
        yield measure, topic, value


@pytest.fixture(scope="module")
def folder(shared_data):
    return shared_data / "trec-eval"


@pytest.fixture(scope="module")
def evaluated(folder):
    @functools.cache
    def evaluate(output):
        qrels_file, run_file, options = OUTPUTS[output]
        qrels = read(folder / qrels_file, ["query", "iteration", "document", "label"], "label")
        run = read(folder / run_file, ["query", "q0", "document", "rank", "score"], "score")
        if "first" in options:
            run = run.sort_values(["query", "score", "document"], ascending=[True, False, False])
            run = run.groupby("query").head(options["first"])
        level = options.get("level", 1)
        names = {m: our_name(m, level) for m, _, _ in golden_values(folder, output)}
        names = {measure: name for measure, name in names.items() if name is not None}
        metrics = gs.parse_metrics(list(dict.fromkeys(names.values())), convention="trec_eval")
        result = gs.evaluate_run(metrics, run, qrels, missing=options.get("missing", "skip"))
        columns = dict(zip(dict.fromkeys(names.values()), (str(metric) for metric in metrics), strict=True))
        return result, {measure: columns[name] for measure, name in names.items()}

    return evaluate


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_value_agrees_to_four_decimals(folder, evaluated, output):
    result, columns = evaluated(output)
    frame = result.frame()
    wrong, checked = [], 0
    for measure, topic, value in golden_values(folder, output):
        if measure not in columns:
            continue
        checked += 1
        column = columns[measure]
        ours = result.mean[column] if topic == "all" else frame.loc[topic, column]
        if f"{ours:.4f}" != value:
            wrong.append((measure, topic, value, ours))
    assert checked > 0
    assert not wrong


def test_no_golden_value_of_our_metrics_is_left_out(folder, evaluated):
    ours = re.compile(r"ndcg(_cut_\d+|_1=.*)?|map(_cut_\d+)?|recip_rank|Rprec|(P|recall|success)_\d+|rbp")
    for output in OUTPUTS:
        measures = {measure for measure, _, _ in golden_values(folder, output) if ours.fullmatch(measure)}
        assert set(evaluated(output)[1]) == measures
