"""Input files of the commands, all with the same queries."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gainwise as gw
from gainwise.data import RankingData, simulate, write_run

if TYPE_CHECKING:
    from pathlib import Path

RUNS = (1, 2, 3)


class Files(NamedTuple):
    """The folder, and the content of its files."""

    folder: Path
    data: RankingData
    scores: dict[str, Any]
    """By model: scores by row, for A and B of three runs each."""
    kinds: pd.DataFrame
    """Labels of queries."""
    qrels: dict[str, dict[str, int]]
    retrieved: dict[str, dict[str, dict[str, float]]]

    @property
    def judgments(self) -> gw.Judgments:
        return self.data.judgments()

    def compare(self, *names: str, metrics: Any = None, **options: Any) -> Any:
        """Compare these models in Python. Segments and clusters are names of columns of `kinds`."""
        if "segments" in options:
            options["segments"] = {options["segments"]: self.kinds[options["segments"]].tolist()}
        if "clusters" in options:
            options["clusters"] = self.kinds[options["clusters"]].tolist()
        return gw.compare({name: self.scores[name] for name in names}, self.judgments, metrics, **options)


def write_letor(data, path):
    rows = zip(data.labels, np.repeat(data.query_ids, data.group), data.features, strict=True)
    lines = [
        f"{label:g} qid:{query} " + " ".join(f"{at}:{value!r}" for at, value in enumerate(row.tolist(), start=1))
        for label, query, row in rows
    ]
    path.write_text("\n".join(lines) + "\n")


def write_qrels(qrels, path):
    lines = [f"{query} 0 {name} {label}\n" for query, documents in qrels.items() for name, label in documents.items()]
    path.write_text("".join(lines))


@pytest.fixture(scope="session")
def all_files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("cli"), np.random.default_rng(0)
    made = simulate(120, seed=11, mean_length=12, features=4)
    ids = rng.permutation(200)[:120]  # unsorted, as in real files
    data = RankingData(made.features, made.labels, qid=np.repeat(ids.astype(str), made.group))
    labels, count = data.labels, len(data.labels)
    noise = rng.normal(size=count)
    scores = {"old": labels + 2 * noise, "better": labels + 1.4 * noise, "worse": labels + 4 * noise}
    scores["equal"] = labels + 2 * rng.normal(size=count)
    scores |= {name: [labels + size * rng.normal(size=count) for _ in RUNS] for name, size in (("A", 1.0), ("B", 3.0))}
    columns = {name: values for name, values in scores.items() if not isinstance(values, list)}
    columns |= {f"{name}{run}": scores[name][run - 1] for name in "AB" for run in RUNS}

    write_letor(data, folder / "data.txt")
    np.save(folder / "labels.npy", labels)
    np.save(folder / "group.npy", data.group)
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values)
    np.savetxt(folder / "worse.csv", columns["worse"])
    np.savetxt(folder / "run:1.csv", columns["old"])
    pd.DataFrame(columns).to_csv(folder / "columns.csv")
    pd.DataFrame(columns).to_parquet(folder / "columns.parquet")
    np.savez(folder / "columns.npz", **columns)

    kinds = pd.DataFrame({"query": ids.astype(str), "kind": np.where(ids % 3, "head", "tail"), "session": ids // 2})
    kinds.iloc[::-1].to_csv(folder / "kinds.csv", index=False)
    rows = kinds.loc[np.repeat(np.arange(len(ids)), data.group)].reset_index(drop=True)
    table = pd.concat([rows, pd.DataFrame({"label": labels, **columns})], axis=1)
    table.to_csv(folder / "all.csv", index=False)
    table[["query", "label", "old", "better"]].to_csv(folder / "two.csv", index=False)
    renamed = table.rename(columns={"query": "topic", "label": "grade"})[["topic", "grade", "old", "better"]]
    interleaved = renamed.groupby("topic").cumcount().argsort(kind="stable")
    renamed.iloc[interleaved].to_parquet(folder / "renamed.parquet")

    qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1, "y": 0}}
    retrieved = {
        "first": {"q1": {"a": 3.0, "n": 2.0}, "q2": {"y": 1.0}},
        "second": {"q1": {"c": 1.0}, "q2": {"x": 1.0}},
    }
    write_qrels(qrels, folder / "qrels.txt")
    for name, run in retrieved.items():
        write_run(run, folder / f"{name}.txt")

    train = lgb.Dataset(data.features, labels, group=data.group)
    params = {"objective": "lambdarank", "verbose": -1, "num_threads": 1}
    model = lgb.train(params, train, 3).save_model(folder / "lgb.txt")
    scores |= {"lgb": model.predict(data.features)}
    matrix = xgb.DMatrix(data.features, label=labels, qid=data.qid)
    booster = xgb.train({"objective": "rank:ndcg", "nthread": 1}, matrix, 3)
    booster.save_model(folder / "xgb.json")
    scores |= {"xgb": booster.predict(matrix)}
    return Files(folder, data, scores, kinds, qrels, retrieved)


@pytest.fixture
def files(all_files, monkeypatch):
    """Files that tests do not change, in the current directory."""
    monkeypatch.chdir(all_files.folder)
    return all_files


@pytest.fixture(autouse=True)
def import_path(monkeypatch):
    """Restore the import path after each test, and remove the current folder from it."""
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
