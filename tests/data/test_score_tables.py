"""Comparisons of models whose scores are columns of a table."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"query": np.repeat(["01", "NA", "c"], 20), "label": RNG.integers(0, 4, 60).astype(float)})
TABLE = TABLE.assign(document=np.tile(np.arange(20), 3), weight=1.0, device=np.repeat(["phone", "phone", "tv"], 20))
TABLE = TABLE.assign(**{name: TABLE["label"] + RNG.normal(size=60) for name in ("a", "b", "c1", "c2", "c3")})
compare = partial(gw.compare_table, scores=["a", "b"], draws=200)


def expected():
    judgments = gw.Judgments(TABLE["label"], qid=TABLE["query"])
    return gw.compare({name: TABLE[name] for name in ("a", "b")}, judgments, draws=200).to_dict()


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "csv", "CSV", "tsv.gz", "TSV", "parquet", "PARQUET"])
def test_forms_of_a_table(form, tmp_path):
    table = TABLE.sample(frac=1, random_state=1).sort_values("query", kind="stable")
    table = TABLE if form != "pandas" else TABLE.set_index(table.index)
    path = tmp_path / f"table.{form}"
    if form == "polars":
        table = pytest.importorskip("polars").DataFrame(TABLE.to_dict("list"))
    elif form == "arrow":
        table = pytest.importorskip("pyarrow").table(TABLE.to_dict("list"))
    elif form.lower() == "parquet":
        pytest.importorskip("pyarrow")
        TABLE.to_parquet(path)
        table = path
    elif form != "pandas":
        TABLE.to_csv(path, sep="\t" if form.lower().startswith("tsv") else ",", index=False)
        table = path
    assert compare(table).to_dict() == expected()


def test_roles_of_columns():
    comparison = compare(
        TABLE, scores={"A": "a", "recipe": ["c1", "c2", "c3"]}, segments="device", weight="weight", margin=0.01
    )
    assert sorted(comparison.models) == ["A", "recipe"]
    assert "phone" in comparison.segments.text


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz"])
@pytest.mark.parametrize(
    ("role", "texts"),
    [("clusters", ["01", "1", "NA"]), ("segments", ["01", "1", "NA"]), ("segments", ["1", "1.0", "null"])],
)
def test_ids_in_files_are_read_as_written(role, texts, suffix, tmp_path):
    """01 and 1 are two ids, and NA is one."""
    table = TABLE.assign(kind=np.repeat(texts, 20))
    table.to_csv(tmp_path / f"table.{suffix}", sep="\t" if suffix == "tsv.gz" else ",", index=False)
    assert (
        compare(tmp_path / f"table.{suffix}", **{role: "kind"}).to_dict() == compare(table, **{role: "kind"}).to_dict()
    )


def test_documents_in_files_are_read_as_written(tmp_path):
    """01 and 1 are two documents of a query, and NA is one."""
    documents = ["01", "1", "NA", "1.0", *map(str, range(10, 26))]
    TABLE.assign(document=documents * 3).to_csv(tmp_path / "table.csv", index=False)
    comparison = compare(tmp_path / "table.csv", document="document")
    assert set(comparison.ranking("NA", "a")["document"]) == set(documents)


def bad(argument, words, *arguments, exception=ValueError, **options):
    call = partial(compare, *(arguments or (TABLE,)), **options)
    return BadInput(f"{argument} {words}", call, argument, exception, words)


@bad_inputs(
    [
        bad("'query'", "no column", TABLE.rename(columns={"query": "qid"})),
        bad("'bb'", "did you mean", scores=["a", "bb"]),
        bad("query, label", "'label' at 0", query="label"),
        bad("label", "missing value", TABLE.assign(label=TABLE["label"].where(TABLE.index != 7))),
        bad("document", "again in row", pd.concat([TABLE, TABLE[:1]]), document="document"),
        bad("query", "row 7", TABLE.assign(query=TABLE["query"].where(TABLE.index != 7))),
        bad("'label'", "the label column", scores=["a", "label"]),
        bad("'copy'", "equal to the", TABLE.assign(copy=TABLE["label"]), scores=["a", "copy"]),
        bad("'device'", "", scores=["a", "device"], exception=(TypeError, ValueError)),
        bad("'a'", "NaN", TABLE.assign(a=np.nan)),
        bad("scores", "at least one", scores=[]),
        bad("scores", "must be distinct", scores=["a", "b", "a"]),
        bad("scores", "a list", scores="a", exception=TypeError),
        bad("label", "negative", TABLE.assign(label=-1.0)),
    ]
)
def test_bad_inputs(case):
    case.check()
