"""`gainwise score`, `gainwise explain` and `gainwise identify`: one run, one ranking, and one number."""

import pandas as pd
import pytest
from tests.cli.shell import as_json, json_of, output_of

import gainwise as gw

RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 2.0 t\n1 Q0 x 3 1.0 t\n2 Q0 a 1 1.0 t\n3 Q0 a 1 1.0 t\n"
QRELS = "1 0 a 1\n1 0 b 0\n1 0 d 1\n2 0 a 0\n2 0 b 1\n4 0 a 1\n"
RANKING = "5,0,0,0,0,3,3,3,3,3"


@pytest.mark.parametrize(
    ("call", "metrics", "options"),
    [
        ("-m map --convention trec_eval", ["map"], {"convention": "trec_eval"}),
        ("-m mrr -m rprec -c", ["mrr", "rprec"], {"missing": "zero"}),
        ("-m mrr -m judged@10 --unjudged drop", ["mrr", "judged@10"], {"unjudged": "drop"}),
    ],
)
def test_score_is_that_of_evaluate_run(tmp_path, monkeypatch, call, metrics, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text(QRELS)
    expected = gw.evaluate_run(metrics, "run", "qrels", **options)
    content = json_of(f"score run qrels {call} -q")
    assert (content["queries"], content["mean"]) == (expected.judgments.queries, expected.mean)
    assert content["per_query"] == as_json(expected.frame().to_dict("index"))
    assert content["coverage"] == as_json(expected.coverage)
    assert set(json_of(f"score run qrels {call}")) == {"queries", "mean", "coverage"}
    assert "By query" not in output_of(f"score run qrels {call}")
    shown = output_of(f"score run qrels {call} -q")
    assert "By query" in shown
    assert all(f"{value:.4f}" in shown for value in expected.mean.values())
    assert all(" ".join(note.split()) in " ".join(shown.split()) for note in expected.coverage.sentences)


def test_score_equals_the_golden_output_of_trec_eval(shared_data):
    folder = shared_data / "trec-eval"
    content = json_of("score -m map --convention trec_eval -q", folder / "results.test", folder / "qrels.test")
    assert f"{content['mean']['map(ties=order,denominator=R)']:.4f}" == "0.1785"
    assert set(content["per_query"]) == {"301", "302", "303"}


def test_explain_labels_in_ranked_order():
    content = json_of("explain --labels", RANKING)
    expected = gw.explain([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], range(10, 0, -1))
    assert content["conventions"] == as_json(expected.to_dict("index"))
    assert round(content["conventions"]["lightgbm"]["ndcg_exp@10"], 2) == 0.89
    assert round(content["conventions"]["lightgbm"]["ndcg_jk@10"], 2) == 0.73
    assert (content["k"], content["queries"]) == (10, 1)
    numbers = [number for number in content["numbers"] if number["heading"] == "NDCG@10"]
    assert numbers[0]["printed_by"][:2] == ["LightGBM", "XGBoost"]
    assert len(numbers) == len({round(number["value"], 9) for number in numbers}) == 5
    lines = output_of("explain --labels", RANKING).splitlines()
    shown = [line.split()[:2] for line in lines if line.startswith("0.")]
    assert shown[:2] == [["0.8946", "ndcg_exp@10"], ["0.8213", "ndcg_linear@10"]]
    assert max(map(len, lines)) <= 80


def test_explain_a_file(tmp_path):
    table = pd.DataFrame({"label": [3, 1, 0, 2], "score": [1, 2, 2, 1], "q": ["a", "a", "b", "b"]})
    table.to_csv(tmp_path / "f.csv", index=False)
    assert json_of("explain -k 1", tmp_path / "f.csv")["conventions"]["gainwise"]["mrr@1"] == 0.5
    content = json_of("explain --query q", tmp_path / "f.csv")
    assert (content["queries"], content["conventions"]["gainwise"]["mrr@10"]) == (2, 0.75)
    assert "2 queries" in output_of("explain --query q", tmp_path / "f.csv")


def test_identify_a_number_of_each_kind_of_input(files):
    def expect(metric, convention, judgments, scores):
        (value,) = gw.evaluate(metric, judgments, scores, convention=convention).mean.values()
        return f"{value:.5f}"

    value = expect("ndcg@5", "lightgbm", files.judgments, files.scores["lgb"])
    content = json_of("identify -m ndcg_exp@5 --data data.txt", f"valid_0's ndcg@5: {value}", "lgb.txt")
    assert (content["matches"][0]["library"], content["matches"][0]["name"]) == ("LightGBM", "ndcg@5")
    value = expect("map@10", "catboost", files.judgments, files.scores["old"])
    for source in ("--table all.csv --scores old", "--labels labels.npy --group group.npy"):
        model = [] if "table" in source else ["old.npy"]
        assert "CatBoost's MAP:top=10" in output_of(f"identify {source}", f"MAP:top=10 {value}", *model)
    (value,) = gw.evaluate_run("map", files.retrieved["first"], files.qrels, convention="trec_eval").mean.values()
    assert "consistent with trec_eval's" in output_of("identify --qrels qrels.txt", f"map all {value:.5f}", "first.txt")
