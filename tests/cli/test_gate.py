"""`gainsay gate`: one sentence, JSON and an exit code, for what `Comparison.against` decides."""

from __future__ import annotations

import json

import pytest
from tests.cli.shell import as_json, json_of, output_of

import gainsay as gs

METRICS = ["ndcg_linear@10", "ndcg_exp@10"]
JUDGED = "gate --labels labels.npy --group group.npy --baseline old.npy"
CODES = {"ship": 0, "do not ship": 3, "undecided": 4}


@pytest.mark.parametrize(
    ("candidate", "decision"), [("better", "ship"), ("worse", "do not ship"), ("equal", "undecided")]
)
def test_sentence_code_and_json_are_those_of_against(files, tmp_path, candidate, decision):
    code = CODES[decision]
    sentence = output_of(f"{JUDGED} --candidate {candidate}.npy --rope 0.002 --json", tmp_path / "gate.json", code=code)
    content = json.loads((tmp_path / "gate.json").read_text())
    expected = files.compare("old", candidate, metrics=METRICS).against("old", 0.002)
    assert expected.decisions[candidate] == decision
    assert (content["schema"], content["exit_code"], content["decision"]) == (1, code, decision)
    assert content["metrics"] == as_json(expected.to_dict()["candidates"][candidate]["metrics"])
    assert content["sentence"] + "\n" == sentence == expected.sentence(candidate) + "\n"
    assert (content["baseline"], content["candidate"], content["rope"]) == ("old", candidate, 0.002)


def test_runs(files):
    found = output_of("gate --qrels qrels.txt --baseline first.txt --candidate new=second.txt --json -", code=4)
    assert (json.loads(found)["baseline"], json.loads(found)["candidate"]) == ("first", "new")


@pytest.mark.parametrize("judged", ["--labels labels.npy --group group.npy", "--table all.csv --clusters session"])
@pytest.mark.parametrize(("baseline", "candidate"), [("old", "A"), ("A", "old"), ("B", "A"), ("A", "B")])
def test_recipes(files, judged, baseline, candidate):
    end, options = ("", {"clusters": files.kinds["session"].tolist()}) if "table" in judged else (".npy", {})

    def argument(name):
        return name + end if name == "old" else f"{name}=" + ",".join(f"{name}{run}{end}" for run in (1, 2, 3))

    expected = files.compare(baseline, candidate, metrics=["map"], vary="seed", **options).against(baseline)
    code = CODES[expected.decisions[candidate]]
    models = f"--baseline {argument(baseline)} --candidate {argument(candidate)}"
    content = json.loads(output_of(f"gate {judged} {models} -m map --vary seed --json -", code=code))
    assert (content["baseline"], content["candidate"], list(content["metrics"])) == (baseline, candidate, ["map"])
    assert content["sentence"] == expected.sentence(candidate)
    assert (content["runs"], content["vary"]) == (expected.runs, "seed")
    assert content["clusters"] == (None if end else files.kinds["session"].nunique())


class TestPlan:
    """`gainsay plan`: from variances that are given, or from those of models."""

    def test_from_given_variances(self):
        found = json_of("plan --lead 0.02 --claim pair --query-sd 0.1 --power 0.9")
        assert found == as_json(gs.plan(0.02, 0.9, "pair", query=0.1).to_dict())
        options = "--query-sd 0.01 --run-sd 0.003 --query-run-sd 0.1 --correlation 0.5 --models 3 --alpha 0.1 --seed 2"
        expected = gs.plan(
            0.2, query=0.01, run=0.003, query_run=0.1, correlation=0.5, models=3, alpha=0.1, seed=2, runs=[4]
        )
        assert json_of(f"plan --lead 0.2 {options} --runs 4") == as_json(expected.to_dict())
        assert output_of(f"plan --lead 0.2 {options} --runs 4") == f"{expected.text}\n"

    def test_from_models(self, files):
        models = "--labels labels.npy --group group.npy old.npy equal.npy"
        found = json_of(f"plan --lead 0.05 --claim ship --rope 0.01 {models}")
        expected = files.compare("old", "equal", metrics=METRICS, rope=0.01).plan(0.05, claim="ship")
        assert found == as_json(expected.to_dict())

    def test_from_recipes_and_clusters(self, files):
        models = "--table all.csv --clusters session --score old --run A=A1,A2,A3 --run B=B1,B2,B3"
        found = json_of(f"plan --lead 0.5 --claim pair --runs 10 {models}")
        comparison = files.compare("old", "A", "B", metrics=METRICS, clusters=files.kinds["session"].tolist())
        assert found == as_json(comparison.plan(0.5, claim="pair", runs=[10]).to_dict())
        assert found["options"][0]["runs"] == 10
