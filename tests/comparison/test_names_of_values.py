"""What is said of values by the name of a metric has to be of one of them, and decisions about a baseline of them."""

import numpy as np
import pytest

import gainsay as gs
from gainsay import Comparison

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.random((2, 60, 2))
GAP = gs.metric("gap_by_a_misspelt_name", lambda labels, scores: 0.0, higher_is_better=False)


@pytest.mark.parametrize(("argument", "given"), [("metrics", {"Gap": GAP}), ("ranges", {"Gap": (0, 1)})])
def test_a_misspelt_name_is_refused(argument, given):
    with pytest.raises(ValueError, match=f"{argument} names 'Gap', of which there are no values; did you mean 'gap'"):
        Comparison({"gap": FIRST, "b": SECOND}, ["A", "B"], **{argument: given})


def test_decisions_of_another_comparison_are_refused(tmp_path):
    one, other = (Comparison({"a": of, "b": SECOND}, ["A", "B"], draws=200) for of in (FIRST, FIRST[:, ::-1]))
    renamed = Comparison({"a": FIRST, "b": SECOND}, ["A", "C"], draws=200)
    for found in (other.against("A"), renamed.against("A")):
        with pytest.raises(ValueError, match="decisions about 'A' that were made from other values"):
            one.to_markdown(baseline=found)
        with pytest.raises(ValueError, match="decisions about 'A' that were made from other values"):
            one.to_html(tmp_path / "report.html", baseline=found)
    assert one.to_markdown(baseline=one.against("A", rope=0.01)) != one.to_markdown(baseline="A")
    assert one.to_json(baseline=one.against("A")) == one.to_json(baseline="A")
