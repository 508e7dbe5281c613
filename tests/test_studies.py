"""The studies of real data: their estimates, one small run, and the figures of the page."""

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

import gainwise as gw

ROOT = Path(__file__).parents[1]
STUDIES = ROOT / "research" / "studies"


@pytest.fixture(autouse=True)
def path_of_studies(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))


def test_pairs_reversed_by_other_repeats():
    from reversals import find_reversed_by_repeats

    rng = np.random.default_rng(0)
    systems = np.array([0, 1, 1, 2, 2, 2, 3, 3])  # System 0 has no repeats.
    means = rng.normal(size=len(systems))
    shares = find_reversed_by_repeats(means, systems)
    for (i, first), (j, second) in product(enumerate((1, 2, 3)), repeat=2):
        if first == second:
            continue
        pairs = list(product(means[systems == first], means[systems == second]))
        expected = [(a - b) * (c - d) < 0 for a, b in pairs for c, d in pairs if a != c and b != d]
        assert shares[i, j] == pytest.approx(np.mean(expected))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("year", "expected"),
    [
        (19, {"exponential gain": 1.96, "Järvelin & Kekäläinen's discount": 1.77, "cutoff 5": 6.48,
              "unjudged documents left out": 4.17, "map": 12.52, "mrr": 30.42, "reversed_pairs": 15, "pairs": 861}),
        (20, {"exponential gain": 1.64, "Järvelin & Kekäläinen's discount": 1.23, "cutoff 5": 4.73,
              "unjudged documents left out": 1.84, "map": 6.99, "mrr": 28.25, "reversed_pairs": 13, "pairs": 703}),
    ],
)  # fmt: skip
def test_choices_of_trec_runs(trec_dl, year, expected):
    """Values of a separate implementation. Files of one configuration differ in their date."""
    from reversals import describe_choices

    runs = {path.name[:-7]: path for path in sorted((trec_dl / f"dl{year}").glob("*.txt.gz"))}
    systems = np.unique([re.sub(r"_dl\d\d_2023.*", "", name) for name in runs], return_inverse=True)[1]
    qrels = trec_dl / f"qrels.dl{year}-passage.txt"
    found = describe_choices(gw.compare_runs(runs, qrels, ["ndcg_linear@10"], draws=200), systems)
    gain = found["exponential gain"]
    for choice, value in expected.items():
        assert value == (gain[choice] if choice in gain else round(100 * found[choice]["reversed"], 2))


def test_interval_equals_a_t_test_if_seeds_or_queries_do_not_matter():
    from training import estimate_mean

    values = np.random.default_rng(1).normal(size=12)
    expected = ttest_1samp(values, 0).confidence_interval()
    for table in (np.tile(values, (4, 1)), np.tile(values[:, None], 30)):
        row = estimate_mean(table)
        assert row["mean"] - row["half_width"] == pytest.approx(expected.low)
        assert row["mean"] + row["half_width"] == pytest.approx(expected.high)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_study_of_a_letor_file(tmp_path):
    data = gw.data.simulate(60, seed=3, features=4, mean_length=8)
    rows = [
        f"{label:g} qid:{query} " + " ".join(f"{i + 1}:{value:.3f}" for i, value in enumerate(features))
        for label, query, features in zip(data.labels, data.qid, data.features, strict=True)
    ]
    (tmp_path / "small.txt").write_text("\n".join(rows))
    command = [sys.executable, "research/studies/run.py", "--data", str(tmp_path / "small.txt"), "--output"]
    options = [
        "--seeds",
        "2",
        "--rounds",
        "10",
        "--libraries",
        "lightgbm",
        "--jobs",
        "2",
        "--cache",
        str(tmp_path / "cache"),
    ]
    for name in ("first.json", "second.json"):  # The second one reads the cache.
        subprocess.run([*command, str(tmp_path / name), *options], cwd=ROOT, check=True, capture_output=True)
    texts = [(tmp_path / name).read_text("utf-8") for name in ("first.json", "second.json")]
    study = json.loads(texts[0])
    assert texts[0] == texts[1]
    assert (study["results"]["models"], study["results"]["queries"]) == (5 * 6 * 2, 60)
    assert 0 <= study["results"]["choices"]["exponential gain"]["reversed"] <= 1
    assert str(tmp_path) not in texts[0]
    small = subprocess.run([*command, "unused.json", "--memory", "1e-6"], cwd=ROOT, capture_output=True, text=True)
    assert small.returncode == 1
    assert small.stderr.startswith("--data: the study needs about")


def test_pages_contain_the_figures_of_the_results():
    from page import PAGES, write_page

    for name, (folder, _) in PAGES.items():
        assert (folder / f"{name}.md").read_text("utf-8") == write_page(name), "run: python research/studies/page.py"


def test_sentences_of_other_pages_contain_the_measured_figures():
    from sentences import SENTENCES, insert_figures

    for page in SENTENCES:
        assert (ROOT / page).read_text("utf-8") == insert_figures(page), "run: python research/studies/page.py"


def test_a_sentence_that_a_page_does_not_contain(monkeypatch):
    import sentences

    monkeypatch.setitem(sentences.SENTENCES, "README.md", [("gainwise takes {} seconds", lambda: ["1"])])
    with pytest.raises(ValueError, match=r"README\.md must contain the sentence 'gainwise takes \{\} seconds' once"):
        sentences.insert_figures("README.md")


def test_statements_of_the_pages_are_those_of_the_results():
    """Sentences without figures, which the templates contain."""
    from records import read_results

    survey = read_results("survey")
    assert survey["correlations"][0]["property"] == "positive grades"
    assert survey["expected"] == len(survey["collections"]) == 42
    release = read_results("release")
    assert release["data"]["queries_without_relevant"] == 0
    assert [finding["code"] for finding in release["check"] if finding["severity"] == "error"] == []
