"""Sets of models with members that cannot be read: an error, or an entry in `missing` with `allow_incomplete`."""

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.data import simulate

DATA = simulate(12, seed=3, mean_length=8, features=2)
JUDGMENTS = DATA.judgments()
GOOD = DATA.features[:, 0].astype(float)
ROWS = len(GOOD)
WITH_NAN = np.where(np.arange(ROWS) == 5, np.nan, GOOD)
BAD = {
    "short": (GOOD[1:], f"it has {ROWS - 1} scores, but there are {ROWS} documents"),
    "nan": (WITH_NAN, "scores must not be NaN, got 1 NaN"),
    "text": (np.array(["x"] * ROWS), "scores must be numbers"),
    "file": ("no-such-file.npy", "no-such-file.npy"),
    "recipe": ([GOOD, GOOD + 1, GOOD[1:]], f"recipe, repeat 3: it has {ROWS - 1} scores"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_model_without_scores_raises_or_is_listed(name, tmp_path):
    scores, reason = BAD[name]
    models = {"a": GOOD, name: scores, "b": -GOOD}
    with pytest.raises((ValueError, TypeError, OSError), match=rf"model '{name}"):
        gw.compare(models, JUDGMENTS)
    found, expected = (
        gw.compare(models, JUDGMENTS, allow_incomplete=True),
        gw.compare({"a": GOOD, "b": -GOOD}, JUDGMENTS),
    )
    assert found.models == ("a", "b")
    assert list(found.missing) == [name]
    assert reason in found.missing[name]
    content = found.to_dict()
    assert content.pop("missing") == [{"model": name, "reason": found.missing[name]}]
    assert content == {key: value for key, value in expected.to_dict().items() if key != "missing"}
    for text in (str(found), found.to_markdown(), found.to_html(tmp_path / "report.html").read_text()):
        assert f"Not compared: {name}" in text.replace("<wbr>", "")


class Failing:
    """A model whose prediction raises an error."""

    def __init__(self, error):
        self.error = error

    def predict(self, features):
        raise self.error


class OwnError(Exception):
    """An error of a library, whose constructor has two arguments."""

    def __init__(self, code, text):
        super().__init__(f"{text} ({code})")


class OwnValueError(ValueError):
    """A ValueError whose constructor has two arguments."""

    def __init__(self, code, text):
        super().__init__(f"{text} ({code})")


@pytest.mark.parametrize(
    ("error", "reason", "kind"),
    [
        (ZeroDivisionError("division by zero"), "its prediction failed with ZeroDivisionError: division by zero", None),
        (KeyError("price"), "its prediction failed with KeyError: 'price'", None),
        (AssertionError(), "its prediction failed with AssertionError", None),
        (RuntimeError("two\nlines"), "its prediction failed with RuntimeError: two lines", None),
        (OwnError(3, "no device"), "its prediction failed with OwnError: no device (3)", None),
        (OwnValueError(3, "no device"), "no device (3)", None),
        (UnicodeDecodeError("ascii", b"", 0, 1, "no text"), "'ascii' codec can't decode", None),
        (TypeError("no numbers"), "no numbers", TypeError),
        (FileNotFoundError("no file"), "no file", FileNotFoundError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_model_that_cannot_predict_raises_or_is_listed(error, reason, kind):
    models = {"a": GOOD, "failing": Failing(error), "b": -GOOD}
    with pytest.raises(kind or ValueError, match="model 'failing': ") as caught:
        gw.compare(models, JUDGMENTS, features=DATA)
    assert type(caught.value) is (kind or ValueError)
    assert reason in " ".join(str(caught.value).split())
    found = gw.compare(models, JUDGMENTS, features=DATA, allow_incomplete=True)
    assert found.models == ("a", "b")
    assert found.missing["failing"].startswith(reason)
    assert f"Not compared: failing ({reason}" in found.to_markdown()


def test_errors_of_predict_have_the_original_error_as_cause():
    error = KeyError("price")
    with pytest.raises(ValueError, match="failing") as caught:
        gw.compare({"a": GOOD, "failing": Failing(error)}, JUDGMENTS, features=DATA)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("allow_incomplete", [False, True])
def test_interruptions_and_lack_of_memory_pass(kind, allow_incomplete):
    models = {"a": GOOD, "b": Failing(kind("stop"))}
    with pytest.raises(kind, match=r"^stop$"):
        gw.compare(models, JUDGMENTS, features=DATA, allow_incomplete=allow_incomplete)


def test_errors_remain_if_nothing_or_no_baseline_is_left():
    with pytest.raises(ValueError, match="no model can be compared, for example model 'x'"):
        gw.compare({"x": GOOD[1:], "y": WITH_NAN}, JUDGMENTS, allow_incomplete=True)
    with pytest.raises(ValueError, match="the baseline 'x' cannot be compared: it has"):
        gw.compare({"x": GOOD[1:], "y": GOOD}, JUDGMENTS, baseline="x", allow_incomplete=True)


def test_runs(tmp_path):
    qrels = {"q": {"a": 2, "b": 0}, "r": {"c": 1, "d": 0}}
    good = {"q": {"a": 2.0, "b": 1.0}, "r": {"d": 2.0, "c": 1.0}}
    path = tmp_path / "bad.run"
    path.write_text("q Q0 a 1 2.0 t\nq Q0 a 2 1.0 t\n")
    with pytest.raises(ValueError, match="line 2"):
        gw.compare_runs({"good": good, "bad": path}, qrels)
    found = gw.compare_runs({"good": good, "bad": path}, qrels, allow_incomplete=True)
    assert found.models == ("good",)
    assert "line 2" in found.missing["bad"]


@pytest.fixture
def frame():
    return pd.DataFrame({"query": JUDGMENTS.query_ids[DATA.qid], "label": DATA.labels, "old": GOOD, "new": -GOOD})


class TestTables:
    @pytest.mark.parametrize("cell", ["1,000", "0x10", "\u0663", "1_000", "n/d"])
    @pytest.mark.parametrize("form", ["frame", "file"])
    def test_a_cell_that_is_no_number_is_named(self, frame, tmp_path, cell, form):
        frame["old"] = frame["old"].astype(object)
        frame.loc[7, "old"] = cell
        table = frame
        if form == "file":
            table = tmp_path / "table.csv"
            frame.to_csv(table, index=False)
        with pytest.raises(ValueError, match="column 'old' must contain numbers only") as caught:
            gw.compare_table(table, ["old", "new"])
        assert f"got {cell!r} in row 7 (from 0)" in str(caught.value)
        found = gw.compare_table(table, ["old", "new"], allow_incomplete=True)
        assert (found.models, list(found.missing)) == (("new",), ["old"])

    @pytest.mark.parametrize("role", ["label", "weight"])
    def test_a_cell_of_labels_or_weights_is_always_an_error(self, frame, role):
        frame = frame.assign(weight=1.0).astype({role: object})
        frame.loc[7, role] = "1,5"
        with pytest.raises(ValueError, match=f"column '{role}' must contain numbers only, got '1,5' in row 7"):
            gw.compare_table(frame, ["old", "new"], weight="weight", allow_incomplete=True)

    @pytest.mark.parametrize(
        ("suffix", "separator", "words", "fix"),
        [
            ("csv", ";", "must be separated by commas (.csv)", "pandas.read_csv(path, sep=';')"),
            ("csv", "\t", "which contains tabs", "Rename it to .tsv."),
            ("tsv", ",", "which contains commas", "Rename it to .csv."),
            ("csv", "|", "which contains '|'", "pandas.read_csv(path, sep='|')"),
        ],
    )
    def test_another_separator_is_named(self, frame, tmp_path, suffix, separator, words, fix):
        path = tmp_path / f"table.{suffix}"
        frame.to_csv(path, index=False, sep=separator)
        with pytest.raises(ValueError, match="columns must be separated") as caught:
            gw.compare_table(path, ["old", "new"])
        assert words in str(caught.value)
        assert fix in str(caught.value)

    @pytest.mark.parametrize("name", ["", "  "])
    def test_an_empty_header_is_an_error(self, frame, tmp_path, name):
        path = tmp_path / "table.csv"
        frame.to_csv(path, index_label=name)
        with pytest.raises(ValueError, match=r"column 1 of 5 has none.*index=False"):
            gw.compare_table(path, ["old", "new"])
