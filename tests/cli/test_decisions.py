"""`gainwise gate`, `plan`, `sensitivity`, `gains` and `bound` print the results of Python for the same files."""

import json
import math

import numpy as np
import pytest
from tests.cli.shell import as_json, json_of, output_of

import gainwise as gw

pytestmark = pytest.mark.slow

METRICS = ["ndcg_linear@10", "ndcg_exp@10"]
JUDGED = "gate --labels labels.npy --group group.npy --baseline old.npy"
CODES = {"ship": 0, "do not ship": 3, "undecided": 4}


@pytest.mark.parametrize(
    ("candidate", "decision"), [("better", "ship"), ("worse", "do not ship"), ("equal", "undecided")]
)
def test_sentence_code_and_json_are_those_of_against(files, tmp_path, candidate, decision):
    code = CODES[decision]
    sentence = output_of(
        f"{JUDGED} --candidate {candidate}.npy --margin 0.002 --json", tmp_path / "gate.json", code=code
    )
    content = json.loads((tmp_path / "gate.json").read_text())
    expected = files.compare("old", candidate, metrics=METRICS).against("old", 0.002)
    assert expected.decisions[candidate] == decision
    assert (content["schema"], content["exit_code"], content["decision"]) == (3, code, decision)
    assert content["metrics"] == as_json(expected.to_dict()["candidates"][candidate]["metrics"])
    assert output_of(f"{JUDGED} --candidate {candidate}.npy --margin 0.002", code=code) == sentence
    assert content["sentence"] + "\n" == sentence == expected.sentence(candidate) + "\n"
    assert (content["baseline"], content["candidate"]) == ("old", candidate)
    assert content["margins"] == dict.fromkeys(METRICS, 0.002)


def test_looks_and_requirements_are_those_of_against(files, tmp_path):
    call = f"{JUDGED} --candidate equal.npy --margin 0.2 --require no-loss --json -"
    options = {"margin": 0.2, "require": "no_loss"}
    judgments = gw.Judgments(np.load("labels.npy"), group=np.load("group.npy"))  # Betting depends on the query ids.
    comparison = gw.compare({name: np.load(f"{name}.npy") for name in ("old", "equal")}, judgments, METRICS)
    record = tmp_path / "first.json"
    for extra, settings in (
        (" --looks 120,240", {"looks": (120, 240)}),
        (" --bounds betting", {"bounds": "betting"}),
        ("", {}),
    ):
        expected = comparison.against("old", **options, **settings)
        content = json.loads(output_of(call + extra, code=CODES[expected.decisions["equal"]]))
        fields = ("looks", "earlier", "bounds", "size", "level", "require", "queries", "alpha")
        assert {name: content[name] for name in fields} == as_json({name: getattr(expected, name) for name in fields})
        assert content["metrics"] == as_json(expected.to_dict()["candidates"]["equal"]["metrics"])
        if "looks" in settings:
            record.write_text(json.dumps(content))
    again = json.loads(output_of(f"{call} --earlier {record}", code=CODES[content["decision"]]))
    assert (again["looks"], again["earlier"], again["history"]) == ([120, 240], [], [])


def test_the_decision_of_an_earlier_look_counts(files, tmp_path):
    """A candidate that an earlier look has shipped exits with 0, although this look shows a loss."""
    call = f"{JUDGED} --candidate worse.npy --margin 0.002 --looks 60,120 --json -"
    now = json.loads(output_of(call, code=CODES["do not ship"]))
    record = tmp_path / "first.json"
    record.write_text(json.dumps({**now, "queries": 60, "earlier": [], "decision": "ship"}))
    again = json.loads(output_of(f"{call} --earlier {record}", code=CODES["ship"]))
    assert (again["decision"], again["exit_code"], again["excessive_losses"]) == ("ship", 0, METRICS)
    first = "An earlier look has decided: ship worse. The first decision counts."
    assert again["sentence"].startswith(first)
    page = output_of(f"{call[:-2]} {tmp_path / 'again.json'} --earlier {record} --markdown", code=CODES["ship"])
    assert page.startswith(f"### {first}")


class TestGuards:
    """Margins by metric, segments and Markdown."""

    margins = {"ndcg_linear@10": 0.2, "map": "30%", "mrr": 0.3}
    call = "gate --table all.csv --baseline old --candidate equal -m ndcg_linear@10 -m map=30% -m mrr=0.3 --margin 0.2"

    @pytest.mark.parametrize(
        ("extra", "options"),
        [
            ("", {}),
            (" --gain map --gain mrr", {"gain": ["map", "mrr"]}),
            (" --segments kind --require no-loss", {"segments": "kind", "require": "no_loss"}),
            (" --segments kind --bounds betting", {"segments": "kind", "bounds": "betting"}),
        ],
    )
    def test_are_those_of_against(self, files, extra, options):
        labels = {"segments": "kind"} if "segments" in options else {}
        comparison = files.compare("old", "equal", metrics=list(self.margins), **labels)
        expected = comparison.against("old", self.margins, **options)
        content = json.loads(output_of(f"{self.call}{extra} --json -", code=CODES[expected.decisions["equal"]]))
        result = expected.to_dict()
        wanted = result | result.pop("candidates")["equal"]
        assert {name: content[name] for name in wanted if name != "text"} == as_json(
            {name: value for name, value in wanted.items() if name != "text"}
        )
        assert len(content["by_segment"]) == 6 * len(labels)

    def test_markdown_has_about_ten_lines_with_the_numbers(self, files, tmp_path):
        expected = files.compare("old", "equal", metrics=list(self.margins), segments="kind").against(
            "old", self.margins, segments="kind"
        )
        record, code = tmp_path / "gate.json", CODES[expected.decisions["equal"]]
        text = output_of(f"{self.call} --segments kind --markdown --json {record}", code=code)
        content, lines = json.loads(record.read_text()), text.splitlines()
        assert len(lines) <= 14
        assert lines[0].startswith(f"### {content['sentence'].partition(':')[0]}")
        (row,) = (line.split(" | ") for line in lines if line.startswith("| map |"))
        bound = math.floor(content["metrics"]["map"]["at_least"] * 1000) / 1000
        assert row[2] == f"{bound:+.3f}".replace("-", "\N{MINUS SIGN}")
        assert row[4] == f"{content['margins']['map']:.4g}"

    def test_decisions_on_the_same_queries_are_counted(self, files, tmp_path):
        sentences, earlier = [], ""
        for number in range(3):
            record = tmp_path / f"{number}.json"
            call = f"{JUDGED} --candidate equal.npy --margin 0.002 --json {record}{earlier}"
            sentences.append(output_of(call, code=CODES["undecided"]))
            earlier = f" --earlier {record}"
        assert [test["decisions"] for test in json.loads(record.read_text())["history"]] == [{"equal": "undecided"}] * 2
        assert [("have decided 3 times" in sentence) for sentence in sentences] == [False, False, True]
        call = f"{JUDGED} --candidate equal.npy --margin 0.002 --earlier {tmp_path / '1.json'} --markdown"
        assert "have decided 3 times" in output_of(call, code=CODES["undecided"])

    def test_one_metric_in_segments(self, files):
        call = "gate --table all.csv --baseline old --candidate better -m map=0.5 --segments kind --require no-loss"
        assert "every segment within the margin of each metric" in output_of(call)


@pytest.mark.parametrize("judged", ["--labels labels.npy --group group.npy", "--table all.csv --clusters session"])
@pytest.mark.parametrize(("baseline", "candidate"), [("A", "old"), ("A", "B")])
def test_gate_of_recipes(files, judged, baseline, candidate):
    end, options = ("", {"clusters": "session"}) if "table" in judged else (".npy", {})

    def argument(name):
        return name + end if name == "old" else f"{name}=" + ",".join(f"{name}{run}{end}" for run in (1, 2, 3))

    expected = files.compare(baseline, candidate, metrics=["map"], **options).against(baseline)
    code = CODES[expected.decisions[candidate]]
    models = f"--baseline {argument(baseline)} --candidate {argument(candidate)}"
    content = json.loads(output_of(f"gate {judged} {models} -m map --json -", code=code))
    assert (content["baseline"], content["candidate"], list(content["metrics"])) == (baseline, candidate, ["map"])
    assert content["sentence"] == expected.sentence(candidate)
    assert content["repeats"] == expected.repeats
    assert content["clusters"] == (None if end else files.kinds["session"].nunique())


class TestPlan:
    """`gainwise plan` with given variances, or with those of models."""

    def test_from_given_variances(self):
        content = json_of("plan --difference 0.02 --claim pair --query-sd 0.1 --power 0.9")
        assert content == as_json(gw.plan(0.02, 0.9, "pair", query=0.1).to_dict())
        content = json_of("plan --difference 0.01 --claim ship --query-sd 0.1 --require no-loss --margin 0.01")
        ship = {"claim": "ship", "query": 0.1, "require": "no_loss", "margin": 0.01}
        assert content == as_json(gw.plan(0.01, **ship).to_dict())
        expected = gw.plan(0.2, query=0.1, alpha=0.1, seed=2)
        call = "plan --difference 0.2 --query-sd 0.1 --alpha 0.1 --seed 2"
        assert json_of(call) == as_json(expected.to_dict())
        assert output_of(call) == f"{expected.text}\n"

    def test_from_models(self, files):
        models = "--labels labels.npy --group group.npy old.npy equal.npy"
        content = json_of(f"plan --difference 0.05 --claim ship --margin 0.01 {models}")
        expected = files.compare("old", "equal", metrics=METRICS, margin=0.01).plan(0.05, claim="ship")
        assert content == as_json(expected.to_dict())

    def test_from_recipes_and_clusters(self, files):
        models = "--table all.csv --clusters session --scores old --configuration A=A1,A2,A3 --configuration B=B1,B2,B3"
        content = json_of(f"plan --difference 0.5 --claim pair {models}")
        comparison = files.compare("old", "A", "B", metrics=METRICS, clusters="session")
        assert content == as_json(comparison.plan(0.5, claim="pair").to_dict())


def test_gains_are_those_of_the_comparison(files):
    content = json_of("gains --table two.csv -m ndcg_exp@5 --alpha 0.1 --seed 3")
    comparison = files.compare("old", "better", metrics=["ndcg_exp@5"], alpha=0.1, seed=3)
    assert content == as_json(comparison.gains(metric="ndcg_exp@5").to_dict())


def test_tables(files):
    expected = files.compare("old", "better", metrics=["ndcg_linear@10"]).gains()
    shown = output_of("gains --table two.csv")
    assert expected.text in shown
    assert f"{expected.frame().set_index(['base', 'model']).loc[(1.0, 'old'), 'regret']:.4f}" in shown


def test_bound(files):
    expected = gw.disagreement_bound("qrels.txt", 2)
    shown = output_of("bound --qrels qrels.txt -k 2")
    assert expected.text in shown
    assert f"{expected.two_rankings:.4f}" in shown
    assert json_of("bound --qrels qrels.txt -k 2") == as_json(expected.to_dict())
    expected = pytest.approx(gw.disagreement_bound(files.judgments, 2).two_rankings)
    for source in ("--data data.txt", "--labels labels.npy --group group.npy", "--table all.csv"):
        assert json_of(f"bound -k 2 {source}")["two_rankings"] == expected


def test_sensitivity(files):
    expected = files.compare("old", "better").sensitivity()
    assert json_of("sensitivity --table two.csv") == as_json(expected.to_dict())
    shown = output_of("sensitivity --table two.csv")
    assert expected.text in shown
    assert "cutoff 5" in shown
