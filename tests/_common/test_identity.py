"""Query ids and numbers that are different stay different, or are refused: nothing is merged on the way to an array."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainsay as gs
from gainsay.data import RankingData

BEYOND = 2**53 + 1
"""The first integer that is no float64."""


def ids_of(qid):
    return gs.Judgments([0] * len(qid), qid=qid).query_ids.tolist()


class TestQueries:
    @pytest.mark.parametrize(
        "qid",
        [
            [-1, 2**63, 2**63 + 1],
            [1, 1.5, 2**53, BEYOND],
            [1, "1"],
            ["a", "a\0"],
            [b"a", b"a\0"],
            [b"a", "a"],
            [2**64, 2**64 + 1],
            [Decimal(BEYOND), Decimal(2**53)],
            [Fraction(1, 3), 1 / 3],
        ],
        ids=str,
    )
    @pytest.mark.parametrize("container", [list, tuple])
    def test_stay_apart(self, qid, container):
        assert ids_of(container(qid)) == qid

    @pytest.mark.parametrize("kind", [object, "str", "string", "category"])
    def test_stay_apart_in_pandas(self, kind):
        texts = pd.Series(["a", "a\0", "a"], dtype=object)
        if kind == "category":  # of codes: old versions of pandas merge the two as they make categories of texts
            found = pd.Series(pd.Categorical.from_codes([0, 1, 0], ["a", "a\0"]))
        else:
            found = texts.astype(kind)
        assert ids_of(found) == ["a", "a\0"]

    def test_stay_apart_in_arrow(self):
        arrow = pytest.importorskip("pyarrow")
        assert ids_of(arrow.array(["a", "a\0"])) == ["a", "a\0"]
        assert ids_of(pd.Series(["a", "a\0"], dtype=pd.ArrowDtype(arrow.string()))) == ["a", "a\0"]

    def test_stay_apart_in_polars(self):
        polars = pytest.importorskip("polars")
        assert ids_of(polars.Series(["a", "a\0"])) == ["a", "a\0"]
        assert ids_of(polars.Series([2**65, 2**65 + 1], dtype=polars.Int128)) == [2**65, 2**65 + 1]

    def test_what_is_equal_is_one_query(self):
        assert ids_of([1, 1.0, True]) == [1]
        assert ids_of([BEYOND, 0.5, BEYOND]) == [BEYOND, 0.5]

    @given(
        st.lists(
            st.one_of(
                st.integers(),
                st.sampled_from(
                    [2**53, BEYOND, float(2**53), 2**63, 2**63 + 1, -1, 1, 1.0, True, "1", "a", "a\0", b"a"]
                ),
                st.floats(allow_nan=False),
                st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
                st.decimals(allow_nan=False),
                st.fractions(),
            ),
            min_size=1,
            max_size=20,
        )
    )
    def test_as_python_tells_them_apart(self, qid):
        assert ids_of(qid) == list(dict.fromkeys(qid))

    @pytest.mark.parametrize("kind", [np.float64, np.float32])
    def test_floats_that_may_be_several_integers(self, kind):
        largest = 2 ** (np.finfo(kind).nmant + 1)
        assert ids_of(np.array([largest - 1, 5], dtype=kind)) == [largest - 1, 5]
        with pytest.raises(ValueError, match=f"qid holds the {kind.__name__} .* in row 1: from {largest} on"):
            ids_of(np.array([5, largest + 1], dtype=kind))

    def test_missing_among_texts(self):
        with pytest.raises(ValueError, match="qid is missing for 1 of 2 documents, the first at row 1"):
            ids_of(["a", float("nan")])


def _series(kind):
    return lambda values: pd.Series(values, dtype=kind)


def _arrow(values):
    arrow = pytest.importorskip("pyarrow")
    return pd.Series(
        values, dtype=pd.ArrowDtype(arrow.int64() if isinstance(values[0], int) else arrow.decimal128(30, 1))
    )


def _polars(values):
    return pytest.importorskip("polars").Series(values)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (list, [BEYOND, 0.5]),
        (tuple, [BEYOND, 0.5]),
        (list, [-1, 2**63]),
        (list, [10**400, 0.5]),
        (list, [Decimal(BEYOND), Decimal("0.5")]),
        (list, [Fraction(BEYOND), 0.5]),
        (lambda values: np.array(values, dtype=object), [BEYOND, 0.5]),
        (lambda values: np.array(values, dtype=object), [Decimal(BEYOND), 1]),
        (_series(object), [BEYOND, 0.5]),
        (_series(object), [Decimal(BEYOND), 1]),
        (_series("Int64"), [BEYOND, 1]),
        (_arrow, [BEYOND, 1]),
        (_arrow, [Decimal(BEYOND), Decimal("0.5")]),
        (_polars, [BEYOND, 1]),
        (_polars, [Decimal(BEYOND), Decimal("0.5")]),
        (
            lambda values: pytest.importorskip("polars").Series(values, dtype=pytest.importorskip("polars").Int128),
            [2**65, 1],
        ),
    ],
)
def test_scores_that_no_float_holds(make, values):
    judgments = gs.Judgments([0, 1], group=[2])
    with pytest.raises(
        ValueError, match=r"scores must lie between -2\*\*53 and 2\*\*53 where they are integers, got .* in row"
    ):
        gs.evaluate("mrr", judgments, make(values))
    with pytest.raises(ValueError, match="labels must lie between"):
        gs.Judgments(make([abs(value) for value in values]), group=[2])


@pytest.mark.parametrize("scores", [[2**53, 0.5], [-(2**53), 0.5], [1e300, 0.5], [Decimal("Infinity"), 1], [np.inf, 1]])
def test_scores_that_floats_hold(scores):
    expected = 0.5 if scores[0] > 0 else 1.0
    assert gs.evaluate("mrr", gs.Judgments([0, 1], group=[2]), scores).mean == {"mrr": expected}


class TestRuns:
    @pytest.mark.parametrize("listed", [{"q": {"a": 1, "a\0": 0}}, {"q": {"a": 1}, "q\0": {"a": 1}}])
    def test_ids_that_end_with_nul(self, listed):
        scores = {query: {document: float(label) for document, label in of.items()} for query, of in listed.items()}
        assert gs.evaluate_run("mrr", listed, scores).per_query.tolist() == [[1.0]] * len(listed)

    def test_integers_beyond_floats(self):
        with pytest.raises(ValueError, match="run's score must lie between"):
            gs.evaluate_run("mrr", {"q": {"a": BEYOND, "b": 0.5}}, {"q": {"a": 1, "b": 0}})

    def test_queries_that_are_one_text(self):
        with pytest.raises(ValueError, match="run has the queries 1 and '1', which are one id as text"):
            gs.evaluate_run("mrr", {1: {"a": 1}, "1": {"b": 2}}, {"1": {"a": 1, "b": 0}})


class Tensor:
    """What the checks see of a tensor of PyTorch."""

    def __init__(self, requires_grad=False, device="cpu", dtype="torch.float32"):
        self.requires_grad, self.device, self.dtype = requires_grad, device, dtype

    def detach(self):
        """Return a tensor without its history."""

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return np.array([2.0, 1.0])


class OnGpu:
    """What the checks see of an array of CuPy."""

    __cuda_array_interface__ = {"shape": (2,)}
    __module__ = "cupy"

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def get(self):
        """Return the array in this process's memory."""


class TestNotReadyForNumpy:
    """One line that says what to do, whatever the argument."""

    @pytest.mark.parametrize(
        ("options", "steps"),
        [
            ({"requires_grad": True}, r"\.detach\(\)"),
            ({"device": "cuda:0"}, r"\.cpu\(\)"),
            ({"requires_grad": True, "device": "mps:0"}, r"\.detach\(\)\.cpu\(\)"),
            ({"dtype": "torch.bfloat16"}, r"\.float\(\)"),
        ],
    )
    def test_tensors(self, options, steps):
        for argument, call in self.calls(Tensor(**options)).items():
            with pytest.raises(
                TypeError, match=rf"{argument} is a tensor .*: pass {argument.split()[-1]}{steps}\.numpy\(\)$"
            ):
                call()

    def test_a_tensor_that_is_ready(self):
        assert gs.evaluate("mrr", gs.Judgments(Tensor(), group=[2]), Tensor()).mean == {"mrr": 1.0}

    def test_arrays_of_cupy(self):
        for argument, call in self.calls(OnGpu()).items():
            with pytest.raises(
                TypeError, match=rf"{argument} is on the GPU \(a cupy.OnGpu\): pass {argument.split()[-1]}\.get\(\)"
            ):
                call()

    def test_lazy_frames_of_polars(self):
        lazy = pytest.importorskip("polars").LazyFrame({"label": [1, 0], "query": [1, 1]})
        for argument, call in self.calls(lazy).items():
            with pytest.raises(
                TypeError, match=rf"{argument} is a lazy frame of polars, .*pass {argument.split()[-1]}\.collect\(\)"
            ):
                call()
        with pytest.raises(TypeError, match=r"frame is a lazy frame of polars, .*pass frame\.collect\(\)"):
            gs.Judgments.from_frame(lazy)

    @staticmethod
    def calls(values):
        judgments = gs.Judgments([0, 1], group=[2])
        return {
            "labels": lambda: gs.Judgments(values, group=[2]),
            "qid": lambda: gs.Judgments([0, 1], qid=values),
            "weight": lambda: gs.Judgments([0, 1], group=[1, 1], weight=values),
            "group": lambda: gs.Judgments([0, 1], group=values),
            "scores": lambda: gs.evaluate("mrr", judgments, values),
            "model 'm': scores": lambda: gs.compare({"m": values}, judgments, ["mrr", "map"]),
            "features": lambda: RankingData(values, [0, 1], group=[2]),
        }
