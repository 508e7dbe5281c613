"""The code of the page about Spark in a local session, compared with gw.evaluate on all rows."""

from __future__ import annotations

import os
import re
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gainwise as gw

pytest.importorskip("pyspark", reason="Spark's way is run where PySpark is installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # warnings of PySpark about pandas and sockets
]

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "spark.md"
METRICS = ["ndcg_linear@10", "ndcg_exp(ties=worst)@10", "map(empty=skip)", "mrr", "rbp(p=0.9)"]


@pytest.fixture(scope="module")
def page():
    (code,) = re.findall(
        r"<!-- the test of this page runs this block -->\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.S
    )
    module = types.ModuleType("__main__")  # Spark sends functions of this module by value, and others by name.
    exec(compile(code, str(PAGE), "exec"), vars(module))
    return module


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv(
            "PYTHONPATH", os.pathsep.join([str(Path(gw.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        )
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.shuffle.partitions", "5")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "700")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
        yield spark
        spark.stop()


def judged(documents, queries, seed=0):
    """Rows of queries in any order, with ties, queries without relevant documents, and weights."""
    rng = np.random.default_rng(seed)
    qid = rng.integers(0, queries, documents)
    labels = rng.choice([0, 0, 0, 1, 2, 3, 4], documents) * (qid % 7 != 0)
    frame = {"qid": qid, "label": labels.astype(float), "prediction": rng.normal(size=documents).round(1)}
    return pd.DataFrame({**frame, "weight": 1.0 + qid % 3})


@pytest.mark.parametrize("weight", [None, "weight"])
def test_means_are_those_of_all_rows_at_once(page, session, weight):
    frame = judged(20_000, 600)
    scored = session.createDataFrame(frame).repartition(7)
    values = page.values_by_query(scored, METRICS, weight=weight)
    judgments = gw.Judgments.from_frame(frame, query="qid", weight=weight)
    expected = gw.evaluate(METRICS, judgments, frame["prediction"])
    found = page.means(values)
    assert list(found) == METRICS
    for name, mean in expected.mean.items():
        assert found[name] == pytest.approx(mean, rel=1e-12, abs=0)
    collected = values.toPandas().set_index("qid").loc[judgments.query_ids]
    assert np.array_equal(collected.iloc[:, : len(METRICS)].to_numpy(), expected.per_query, equal_nan=True)


def test_text_for_queries_and_partitions_without_rows(page, session):
    frame = judged(300, 3).assign(qid=lambda rows: "q " + rows["qid"].astype(str))
    found = page.means(page.values_by_query(session.createDataFrame(frame), METRICS))
    expected = gw.evaluate(METRICS, gw.Judgments.from_frame(frame, query="qid"), frame["prediction"]).mean
    assert found == pytest.approx(expected, rel=1e-12, abs=0)
