"""What is wrong is said with the options of the command line, not with the arguments of Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """LETOR data of 40 queries and scores of them, the same as a table, files with one flaw each, and TREC's files."""
    rng = np.random.default_rng(0)
    query, label = np.repeat(np.arange(40), 3), rng.integers(0, 3, 120)
    (tmp_path / "data.txt").write_text("".join(f"{it} qid:{q} 1:{it}\n" for q, it in zip(query, label, strict=True)))
    (tmp_path / "far.txt").write_text("1 qid:1 999999999:1\n" + "0 qid:1 1:2\n" * 9)
    (tmp_path / "from0.txt").write_text("1 qid:1 0:1\n")
    (tmp_path / "negative.txt").write_text("-1 qid:1 1:1\n")
    scores = {name: rng.random(120) for name in ("a", "b")}
    for name, values in scores.items():
        np.savetxt(tmp_path / f"{name}.txt", values)
    pd.DataFrame({"query": query, "label": label, **scores}).to_csv(tmp_path / "all.csv", index=False)
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 t\n2 Q0 x 1 1.0 t\n")
    np.savetxt(tmp_path / "labels.txt", label)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("compare --data data.txt --run A=a.txt", "in question, name it like any other: A=a.txt"),
        ("compare --table all.csv --run A=a", "in question, its column is one by itself"),
        ("gate --data data.txt --baseline a.txt --candidate N=a.txt,b.txt", "name it like any other: N=a.txt"),
        ("compare --data data.txt a.txt --unjudged drop", "do not say so: take runs with --qrels"),
        ("score run qrels -m map(min_label=0)", "nobody judged them; give --unjudged drop, or ask for judged@k"),
        ("compare --data data.txt a.txt -m judged@10", "that it was judged. Take runs with --qrels"),
        ("compare --data far.txt a.txt", "give the number of columns as --features to find a mistaken index"),
        ("compare --data data.txt a.txt --features 0", "features must be a whole number of at least 1"),
        ("score run run", "expected 'topic iteration document grade'; it is a run"),
        ("compare --data from0.txt a.txt", "in Python pass zero_based=True where a file counts from 0"),
        ("compare --data negative.txt a.txt", "in Python pass negative_labels='zero' to count them as 0"),
        ("compare --data data.txt a.txt --iteration 5", "as --iteration NAME=ROUNDS"),
        ("compare --qrels qrels run --iteration 5", "model 'run': it is scores, from which no boosting round can be"),
        ("compare --labels labels.txt --group labels.txt a.txt", "(give one number a query, not one a row)"),
        ("plan --lead 0.1 --query-sd 0", "--query-sd, --run-sd and --query-run-sd are all 0"),
        ("plan --lead 0.1 --query-sd -1", "--query-sd must be at least 0"),
        ("plan --lead 0.1 --query-sd 1 --query-run-sd -1", "--query-run-sd must be at least 0"),
        ("plan --lead 0.1 --query-sd 1 --runs 5", "give --run-sd or --query-run-sd, by how much"),
        ("plan --lead 0.1 --table all.csv --runs 5", "are fixed: give --query-sd and --run-sd instead"),
        ("plan --lead 0.1 --qrels qrels run r=run", "no variance is to be had: give --query-sd instead"),
        ("plan --lead 0.1 --data data.txt a.txt c=a.txt", "differ by nothing that varies: name two other models"),
        ("plan --lead 0.1 --table all.csv -m mrr", "--claim genuine is about two metrics"),
        ("gains --table all.csv -m map", "such as --metric ndcg_linear@10"),
    ],
)
def test_remedies(folder, call, says):
    found = gainsay(*call.split())
    assert (found.exit_code, found.stdout) == (1, "")
    assert says in found.stderr.replace("\n", " ")
    assert found.stderr.count("\n") == 1


def test_an_experiment_speaks_as_its_file_does(tmp_path):
    (tmp_path / "from0.txt").write_text("1 qid:1 0:1\n")
    (tmp_path / "experiment.toml").write_text(
        'directory = "kept"\n[data]\nformat = "letor"\ntrain = "from0.txt"\nvalid = "from0.txt"\ntest = "from0.txt"\n'
        '[[candidates]]\nname = "lgb"\nlibrary = "lightgbm"\n'
    )
    found = gainsay("run", tmp_path / "experiment.toml")
    assert "pass zero_based=True where a file counts from 0" in found.stderr
    assert "in Python" not in found.stderr
