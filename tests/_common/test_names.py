"""Names of models in columns: no part is lost, and different names stay different in any order."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainwise._common.names import MAX_COLUMNS, split_names
from gainwise._common.text import printable

LETTERS = st.text(st.sampled_from("ab12.-e, …#=\n\x00א"), max_size=40)
PAIRS = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from(["1", "0.5", "x y"]), max_size=8)
KEYED = st.builds(
    lambda word, pairs: " ".join([word, *(f"{key}={value}" for key, value in pairs.items())]),
    st.sampled_from(["lgb", "xgb", ""]),
    PAIRS,
)


@given(st.lists(LETTERS | KEYED, unique=True, max_size=6), st.randoms())
def test_any_names_in_any_order(names, random):
    result = split_names(names)
    shuffled = split_names(random.sample(names, len(names)))
    assert shuffled.labels == result.labels
    assert list(result.cells) == list(result.labels) == names
    assert len(set(result.labels.values())) == len(set(result.cells.values())) == len(names)
    assert {len(cells) for cells in result.cells.values()} <= {len(result.heads)}
    assert len(result.heads) <= MAX_COLUMNS


@given(st.lists(KEYED, unique=True, min_size=2, max_size=6))
def test_columns_and_the_shared_parts_have_every_part_of_a_name(names):
    result = split_names(names)
    shared = set(result.shared.split())
    for name in names:
        cells = zip(result.heads, result.cells[name], strict=True)
        parts = {word for head, cell in cells for word in (cell if head == "model" else f"{head}={cell}").split()}
        assert set(printable(name).split()) <= parts | shared


class TestColumns:
    def test_shared_parts_are_left_out(self):
        names = [f"lgb leaves={n} rate=0.1 gain={g}" for n in (7, 63) for g in ("linear", "exponential")]
        result = split_names(names)
        assert result.heads == ("leaves", "gain")
        assert result.shared == "lgb rate=0.1"
        assert result.cells[names[1]] == ("7", "exponential")
        assert result.labels[names[1]] == "leaves=7 gain=exponential"

    def test_a_baseline_without_keys_has_a_column(self):
        result = split_names(["lgb leaves=7", "lgb leaves=15", "production"])
        assert result.heads == ("model", "leaves")
        assert result.cells["production"] == ("production", "")
        assert result.labels["lgb leaves=7"] == "lgb leaves=7"

    def test_values_may_have_blanks(self):
        assert split_names(["a x=[1, 0] y=2", "a x=[0, 1] y=2"]).cells["a x=[1, 0] y=2"] == ("[1, 0]",)

    @pytest.mark.parametrize(
        "names",
        [
            ["new", "old"],
            ["lgb leaves=7", "production", "other"],
            ["a x=1 x=2", "a x=1 x=3"],
            [" ".join(f"k{place}={value}" for place in range(40)) for value in (1, 2)],
            ["x" * 299 + "a", "x" * 299 + "b"],
        ],
        ids=["words", "one with a key", "a key twice", "40 parts", "300 characters"],
    )
    def test_other_names_stay_whole(self, names):
        result = split_names(names)
        assert result.heads == ("model",)
        assert result.labels == {name: name for name in names}


def test_names_that_look_the_same_are_numbered():
    assert set(split_names(["a b", "a\nb", "a  b"]).labels.values()) == {"a b", "a b #2", "a b #3"}


class TestSentences:
    NAMES = split_names(["lgb leaves=7 gain=linear", "lgb leaves=75 gain=linear"])

    def test_whole_names_become_labels(self):
        text = self.NAMES.rewrite("lgb leaves=75 gain=linear is better than lgb leaves=7 gain=linear.")
        assert text == "leaves=75 is better than leaves=7."

    def test_a_name_within_a_word_is_not_a_name(self):
        assert self.NAMES.rewrite("lgb leaves=7 gain=linear2") == "lgb leaves=7 gain=linear2"

    def test_right_to_left_names_are_isolated(self):
        assert re.fullmatch("\u2068מודל\u2069 is best\\.", split_names(["מודל", "b"]).rewrite("מודל is best."))
