"""The same values for arrays of any layout and type, and for columns of pandas, polars and pyarrow."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from tests.differential.random_queries import examples, queries

import gainwise as gw

PANEL = ["ndcg_linear@10", "ndcg_exp", "ndcg_jk(ties=worst)@5", "map", "mrr(ties=order)", "rbp(ties=best)"]


def polars_series(values):
    return pytest.importorskip("polars").Series(values)


def pyarrow_array(values):
    return pytest.importorskip("pyarrow").array(np.ascontiguousarray(values))


def pyarrow_chunks(values):
    arrow = pytest.importorskip("pyarrow")
    return arrow.chunked_array([arrow.array(part) for part in np.array_split(np.ascontiguousarray(values), 3)])


def arrow_in_pandas(values):
    arrow = pytest.importorskip("pyarrow")
    return pd.Series(values, dtype=pd.ArrowDtype(arrow.array(values[:0]).type))


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


HOLDERS = {
    "strided": lambda values: np.repeat(values, 3)[::3],
    "reversed": lambda values: np.ascontiguousarray(values[::-1])[::-1],
    "column of a C-ordered matrix": lambda values: np.column_stack((values, values, values))[:, 1],
    "row of a Fortran-ordered matrix": lambda values: np.asfortranarray(np.stack((values, values)))[1],
    "other byte order": lambda values: values.astype(values.dtype.newbyteorder()),
    "unaligned": lambda values: np.frombuffer(b"x" + values.tobytes(), dtype=np.uint8)[1:].view(values.dtype),
    "read only": read_only,
    "list": np.ndarray.tolist,
    "pandas": lambda values: pd.Series(values, index=np.arange(len(values))[::-1]),
    "nullable pandas": lambda values: pd.Series(values).astype(values.dtype.name.capitalize()),
    "arrow in pandas": arrow_in_pandas,
    "polars": polars_series,
    "pyarrow": pyarrow_array,
    "pyarrow in chunks": pyarrow_chunks,
}


@pytest.mark.parametrize("holder", HOLDERS)
@examples(5)
@given(data=queries(most=4))
def test_any_holder_gives_the_same_values_to_the_last_bit(holder, data):
    hold = HOLDERS[holder]
    expected = data.evaluate(PANEL)
    qid = np.repeat(np.arange(len(data.sizes)), data.sizes)
    weight = None if data.weights is None else hold(data.weights)
    by_group = gw.Judgments(hold(data.labels), group=hold(np.array(data.sizes)), weight=weight)
    found = gw.evaluate(PANEL, by_group, hold(data.scores))
    assert np.array_equal(found.per_query, expected.per_query)
    assert found.mean == expected.mean
    by_qid = gw.Judgments(hold(data.labels), qid=hold(qid))
    found = gw.evaluate(PANEL, by_qid, hold(data.scores))
    assert np.array_equal(found.per_query, expected.per_query[np.array(data.sizes) > 0])
