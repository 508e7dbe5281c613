"""Figures in the sentences of pages are those of the stored results. Studies write their own pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLAIMS = ROOT / "research" / "calibration" / "CLAIMS.md"


def read_page(name):
    """Return the text of a page without line breaks."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def read_rates(claim):
    """Return the least and the largest measured rate, in percent, of the claims that match a pattern."""
    pattern = r"^\| [^|]+ \| ([^|]+) \| [^|]+ \| [^|]+ \| ([\d.]+) ± "
    rows = re.findall(pattern, CLAIMS.read_text(encoding="utf-8"), re.MULTILINE)
    rates = [100 * float(rate) for name, rate in rows if re.fullmatch(claim, name)]
    assert rates, claim
    return min(rates), max(rates)


GATE, LIMITS = "docs/guides/gate.md", "docs/background/calibration.md"
TAIL = "loss of the margin, lognormal tail of losses"
RARE = "loss of the margin, losses of 1 on 0.1 % of {} queries, noise on the others{}: false ship"
AT_MARGIN = f"no_loss: loss of exactly the margin.*|{TAIL}, 1,000 queries: false ship"
POWER = "power at 2.8 standard errors, [^:]*{}: ships"
PILOT = "plan from a pilot of 400 queries, {}: the upper end is sufficient"


@pytest.mark.parametrize(
    ("page", "words", "claim"),
    [
        (GATE, "of exactly the margin shipped in {:.1f} to {:.1f} % of", AT_MARGIN),
        (GATE, "{:.0f} to {:.0f} % of the simulated samples", POWER.format("betting")),
        (GATE, "ships it in {:.0f} to {:.0f} %.", POWER.format(r"deviation 0\.\d")),
        (LIMITS, "the gate shipped it in {:.1f} to {:.1f} %", AT_MARGIN),
        (LIMITS, "{:.0f} to {:.0f} % instead of", POWER.format("betting")),
        (LIMITS, "instead of {:.0f} to {:.0f} % for", POWER.format(r"deviation 0\.\d")),
        (LIMITS, "in {:.0f} to {:.0f} % of the samples instead", RARE.format("(500|1,000)", "")),
        (LIMITS, "gate shipped in {:.0f} to {:.1f} %", RARE.format("[0-9,]+", ", betting")),
        (LIMITS, "worse model in {:.0f} % instead of 5 %", r".*\+\.0005 and noise.*others: `agree`.*"),
        (LIMITS, "in {:.0f} % of the samples of 50 queries", f"{TAIL}, 50 queries: false ship"),
        (LIMITS, "{:.0f} % of 100, ", f"{TAIL}, 100 queries: false ship"),
        (LIMITS, "{:.0f} % of 300 and", f"{TAIL}, 300 queries: false ship"),
        (LIMITS, "and {:.0f} % of 1,000", f"{TAIL}, 1,000 queries: false ship"),
        (LIMITS, "582 queries, it was {:.0f} %", f"{TAIL}, 13 tests .*, planned looks: .*"),
        (LIMITS, "miss in {:.0f} %", "fixed baseline against 5 repeats with twice .*: miss"),
        (LIMITS, "which was wrong in {:.1f} %", ".*the only model that may be best.* is not"),
        (LIMITS, "in {:.0f} % of pilots", PILOT.format("normal differences")),
        (LIMITS, "sufficient in {1:.0f} and {0:.0f} %.", PILOT.format(".*tail of losses")),
    ],
)
def test_claims(page, words, claim):
    assert words.format(*read_rates(claim)) in read_page(page)


def read_rows(path, start):
    """Return the cells of all rows of tables that begin with some text."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith(start)]
    assert rows, start
    return rows


def test_error_rates_of_the_verdict():
    rows = read_rows("research/calibration/CALIBRATION.md", "| a third ties both winners")
    columns = zip(*(row for row in rows if len(row) == 16), strict=True)  # the table of fixed models
    rates = [[100 * float(rate) for rate in column] for number, column in enumerate(columns) if number in (4, 9)]
    genuine, tests = max(rates[0]), (min(rates[1]), max(rates[1]))
    words = "in {:.0f} to {:.0f} % of the samples, and the verdict in at most {:.1f} %"
    assert words.format(*tests, genuine) in read_page("docs/concepts/verdict.md")


def test_a_configuration_that_differs_from_itself():
    (row,) = read_rows("research/calibration/CALIBRATION.md", "| resampled queries | 2 | 5000 | 23 ")
    repeats, single = (100 * float(rate.split()[0]) for rate in row[10:12])
    words = f"in {single:.0f} % of the comparisons of single models, and in {repeats:.0f} %"
    assert words in read_page("docs/guides/configuration_or_seed.md")


def test_random_order_of_public_collections():
    rows = read_rows("research/studies/results/collections.md", "| ")
    values = [float(row[-1]) for row in rows if re.fullmatch(r"0\.\d{3}", row[-1])]
    assert len(values) == 42
    words = f"NDCG@10 is {min(values):.2f} to {max(values):.2f} on the judgments"
    assert words in read_page("docs/guides/faq.md")


def test_selections_in_the_readme():
    study = read_page("docs/concepts/does_it_matter.md")
    gain, seed = re.search(r"in (\d+ to \d+ %) of the cases, another seed in (\d+ to \d+ %)", study).groups()
    assert f"in {gain} of the cases, and another seed in {seed}" in read_page("README.md")


def test_benchmarks():
    results, readme = "research/benchmarks/RESULTS.md", read_page("README.md")
    pairs = [read_rows(results, f"| {scores} ")[0][5].split(" / ") for scores in ("untied", "round 1")]
    rows = [read_rows(results, f"| both NDCGs, {kind}")[0][-1] for kind in ("NumPy", "compiled")]
    for numpy, compiled in [*pairs, rows]:
        assert f"| {float(compiled):.2f} | {float(numpy):.2f} |" in readme, "refresh README.md from RESULTS.md"
    short, usual = (
        max(float(row[6]) for row in read_rows(results, f"| 10,000,000 | {length} "))
        for length in ("short", "MSLR-like")
    )
    words = f"{usual:.0f} bytes of peak memory per document for queries of about 100 documents, and {short:.0f} bytes"
    assert words in read_page("docs/guides/dask.md")
