"""`gainsay score` and `gainsay explain`: one run, and one ranking."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.cli.shell import as_json, json_of, output_of

import gainsay as gs


class TestScore:
    def test_ties_and_counts_as_trec_eval(self, tmp_path):
        """Tied documents are in descending order of their names, so that b comes before a."""
        rows = ["1 Q0 a 1 2.0 t", "1 Q0 b 2 2.0 t", "1 Q0 c 3 1.0 t", "2 Q0 a 1 1.0 t", "3 Q0 a 1 1.0 t"]
        (tmp_path / "run").write_text("\n".join(rows))
        (tmp_path / "qrels").write_text("1 0 a 1\n1 0 c 2\n1 0 d 1\n2 0 a 0\n2 0 b 1\n")
        found = json_of("score -m map --convention trec_eval -q", tmp_path / "run", tmp_path / "qrels")
        (name,) = found["mean"]
        assert found["mean"][name] == pytest.approx((1 / 2 + 2 / 3) / 3 / 2)
        assert set(found["per_query"]) == {"1", "2"}

    def test_equals_the_golden_output_of_trec_eval(self, shared_data):
        folder = shared_data / "trec-eval"
        files = (folder / "results.test", folder / "qrels.test")
        found = json_of("score -m map --convention trec_eval -q", *files)
        assert f"{found['mean']['map(ties=order,denominator=R)']:.4f}" == "0.1785"
        assert set(found["per_query"]) == {"301", "302", "303"}

    def test_counts_missing_queries_if_asked_for(self, tmp_path):
        (tmp_path / "run").write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
        (tmp_path / "qrels").write_text("1 0 a 0\n1 0 b 1\n2 0 b 1\n")
        files = (tmp_path / "run", tmp_path / "qrels")
        assert output_of("score -m mrr -q", *files).count("0.5000") == 2
        assert "0.2500" in output_of("score -m mrr -c", *files)

    def test_unjudged_documents(self, tmp_path):
        (tmp_path / "run").write_text("1 Q0 x 1 3.0 t\n1 Q0 a 2 2.0 t\n3 Q0 a 1 1.0 t\n")
        (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
        call = ("score -m mrr -m judged@10", tmp_path / "run", tmp_path / "qrels")
        found = json_of(*call, "-q")
        assert found["mean"] == {"mrr": 0.5, "judged@10": 0.5}
        assert found["per_query"] == {"1": {"mrr": 0.5, "judged@10": 0.5}}
        found = json_of(*call, "--unjudged", "drop")
        assert found["mean"] == {"mrr": 1.0, "judged@10": 0.5}
        assert found["coverage"] == {
            "retrieved": 2, "unjudged": 1, "handling": "drop", "not_retrieved": ["2"], "not_judged": ["3"],
            "missing": "skip",
        }  # fmt: skip
        shown = output_of(*call, "--unjudged", "drop")
        assert "1 of 2" in shown
        assert "1 ('2')" in shown
        assert "1 ('3')" in shown


class TestExplain:
    RANKING = "5,0,0,0,0,3,3,3,3,3"

    def test_labels_in_ranked_order(self):
        found = json_of("explain --labels", self.RANKING)
        expected = gs.explain([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], range(10, 0, -1))
        assert found["conventions"] == as_json(expected.to_dict("index"))
        assert round(found["conventions"]["lightgbm"]["ndcg_exp@10"], 2) == 0.89
        assert round(found["conventions"]["lightgbm"]["ndcg_jk@10"], 2) == 0.73
        assert (found["k"], found["queries"]) == (10, 1)
        called = [number for number in found["numbers"] if number["heading"] == "NDCG@10"]
        assert called[0]["printed_by"][:2] == ["LightGBM", "XGBoost"]
        assert len(called) == len({round(number["value"], 9) for number in called}) == 3

    def test_a_file(self, tmp_path):
        table = pd.DataFrame({"label": [3, 1, 0, 2], "score": [1, 2, 2, 1], "q": ["a", "a", "b", "b"]})
        table.to_csv(tmp_path / "f.csv", index=False)
        assert json_of("explain -k 1", tmp_path / "f.csv")["conventions"]["gainsay"]["mrr@1"] == 0.5
        found = json_of("explain --query q", tmp_path / "f.csv")
        assert (found["queries"], found["conventions"]["gainsay"]["mrr@10"]) == (2, 0.75)
        assert "2 queries" in output_of("explain --query q", tmp_path / "f.csv")

    def test_begins_with_the_numbers_that_are_called_ndcg(self):
        lines = output_of("explain --labels", self.RANKING).splitlines()
        numbers = [line.split()[:2] for line in lines if line.startswith("0.")]
        assert numbers[:2] == [["0.8946", "ndcg_exp@10"], ["0.8213", "ndcg_linear@10"]]
        assert max(map(len, lines)) <= 80
