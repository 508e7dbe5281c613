"""Insert measured figures into sentences and tables of hand-written pages. `page.py` calls it.

Each entry has a text of the page, with `{}` in place of each figure. A line break of the page counts as a space.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CALIBRATION = ROOT / "research" / "calibration"
BENCHMARKS = ROOT / "research" / "benchmarks" / "RESULTS.md"
FIGURE = r"(\d[\d,]*(?:\.\d+)?)"
ON_ONE_QUERY = "1 of 1,000 queries loses 1, +.0005 and noise on the others"


def insert_figures(page: str) -> str:
    """Return the text of a page with its measured figures."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for sentence, find in SENTENCES[page]:
        pattern = FIGURE.join(re.escape(part).replace(r"\ ", r"\s+") for part in sentence.split("{}"))
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise ValueError(f"{page} must contain the sentence {sentence!r} once, but does {len(found)} times.")
        (place,) = found
        figures = find()
        if len(figures) != len(place.groups()):
            raise ValueError(f"{sentence!r} has {len(place.groups())} figures, got {figures}.")
        for number in reversed(range(len(figures))):
            start, end = place.span(number + 1)
            text = text[:start] + figures[number] + text[end:]
    return text


def find_rates(name: str, claim: str, version: str = "after") -> list[float]:
    """Return the rates of the claims in a file that match a regular expression."""
    entries = json.loads((CALIBRATION / "claims" / f"{name}.json").read_text(encoding="utf-8"))
    counts = [entry[version] for entry in entries if re.search(claim, entry["claim"])]
    if not counts:
        raise ValueError(f"{name}.json contains no claim {claim!r}.")
    return [count["events"] / count["samples"] for count in counts]


def format_percent(rate: float) -> str:
    """Return a rate in percent, with one decimal below 4."""
    return f"{100 * rate:.{1 if 0 < rate < 0.04 else 0}f}"


def span(rates: Sequence[float]) -> list[str]:
    """Return the lowest and the highest rate in percent."""
    return [format_percent(min(rates)), format_percent(max(rates))]


def find_margin_rates() -> list[str]:
    """Return the lowest and highest rate at which a loss of exactly the margin ships."""
    return span(find_rates("gate", "no_loss: loss of exactly the margin"))


def find_power() -> list[str]:
    """Return the power with betting and of the default, lowest and highest each."""
    power = "power at 2.8 standard errors, .*deviation [.0-9]+"
    return [*span(find_rates("bounds", f"{power}, betting: ships")), *span(find_rates("bounds", f"{power}: ships"))]


def find_rare_losses() -> list[str]:
    """Return the rates of losses that the sample does not contain, and those with betting."""
    loss = r"loss of the margin, losses of 1 on 0.1 % of"
    gate = find_rates("bounds", f"{loss} (500|1,000) queries, noise on the others: false ship")
    (agree,) = find_rates("bounds", f"{re.escape(ON_ONE_QUERY)}: `agree` names the worse model")
    betting = find_rates("bounds", f"{loss} .* betting: false ship")
    return [*span(gate), format_percent(agree), *span(betting), *find_power()]


def find_skewed_losses() -> list[str]:
    """Return the rates of false ships by number of queries, and with planned looks."""
    tail = "loss of the margin, lognormal tail of losses"
    rates = find_rates("bounds", rf"{tail}, [\d,]+ queries: false ship")
    looks = find_rates("bounds", f"{tail}, 13 tests from 40 to 582 queries, planned looks")
    return [f"{100 * rate:.0f}" for rate in (*rates, *looks)]


def find_winners() -> list[str]:
    """Return the rates of winners by means that are not the best models, and of a wrong best model."""
    named = find_rates("bounds", "three near-ties .* a named winner is not the best model", "before")
    best = find_rates("bounds", "three near-ties .* the only model that may be best")
    return [format_percent(*named), format_percent(*best)]


def find_plans() -> list[str]:
    """Return how often the upper end of a plan is sufficient, by population."""
    return [format_percent(rate) for rate in find_rates("bounds", "plan from a pilot of 400 queries")]


def find_naive_rates() -> list[str]:
    """Return the rates of disagreements where a third model ties with both winners: two t-tests, and the verdict."""
    cells = json.loads((CALIBRATION / "CALIBRATION.json").read_text(encoding="utf-8"))["cells"]
    tied = [rates for key, rates in cells.items() if key.startswith("fixed | a third ties both winners")]
    genuine = max(rates["genuine"] for rates in tied)
    return [*span([rates["t_tests"] for rates in tied]), f"{100 * genuine:.1f}"]


def read_row(section: str, table: str, *start: str) -> list[str]:
    """Return the other cells of the row that begins with some cells, in a table of the benchmarks.

    The title of a section and the first cell of a table's head identify the table. If a section has two of them, the
    first one is that of the compiled core.
    """
    (text,) = (part for part in BENCHMARKS.read_text(encoding="utf-8").split("\n## ") if part.startswith(section))
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    first = next(number for number, cells in enumerate(lines) if cells[0] == table and len(cells) > 1)
    return next(row[len(start) :] for row in lines[first:] if row[: len(start)] == list(start))


def find_performance() -> list[str]:
    """Return the ratios of README's table: compiled core and NumPy, in each row."""
    times = [
        read_row("One evaluation", f"scores: {scores}", "both NDCGs", implementation)
        for scores in ("untied", "round 1")
        for implementation in ("compiled", "NumPy")
    ]
    trainings = [read_row("Whole training", "training with", f"both NDCGs, {name}") for name in ("compiled", "NumPy")]
    return [row[-1] for row in times] + [f"{float(row[-1]):.2f}" for row in trainings]


def find_memory() -> list[str]:
    """Return the additional bytes of an evaluator per document, with queries of about 100 documents and short ones."""
    rows = [read_row("Memory", "documents", "10,000,000", queries, "untied") for queries in ("MSLR-like", "short")]
    return [f"{float(row[3]):.0f}" for row in rows]


SENTENCES: dict[str, list[tuple[str, Callable[[], list[str]]]]] = {
    "README.md": [
        ("| Both NDCGs at four cutoffs, no ties | {} | {} | | Both NDCGs at four cutoffs, scores of round 1 (many ties) "
         "| {} | {} | | A whole training, 60 rounds | {} | {} |", find_performance),
    ],
    "docs/guides/dask.md": [
        ("adds {} bytes of peak memory per document for queries of about 100 documents, and {} bytes for short queries",
         find_memory),
    ],
    "docs/concepts/verdict.md": [
        ("two t-tests reported a disagreement in {} to {} % of samples, and the verdict in at most {} %", find_naive_rates),
    ],
    "docs/guides/gate.md": [
        ("less often: in {} to {} % of the simulated samples, if the default ships it in {} to {} %.", find_power),
        ("a loss of exactly the margin shipped in {} to {} % of the samples", find_margin_rates),
    ],
    "docs/background/calibration.md": [
        ("ships a loss of the margin in {} to {} % of the samples instead of 2.5 %, and `agree` names the worse model in "
         "{} % instead of 5 %. With `bounds=\"betting\"`, it never did in 1,000 samples, and the gate shipped in {} to "
         "{} %. The price is power: {} to {} % instead of {} to {} % for", find_rare_losses),
        ("the gate shipped it in {} to {} % of the samples, instead of 2.5 %.", find_margin_rates),
        ("in {} % of the samples of 50 queries, {} % of 100, {} % of 300 and {} % of 1,000, instead of 2.5 %. With 13 "
         "planned looks from 40 to 582 queries, it was {} %.", find_skewed_losses),
        ("are not both the best ones in {} % of the samples. A verdict calls a model *best* only if no other model may "
         "be best, which was wrong in {} %.", find_winners),
        ("is sufficient in {} % of pilots of 400 queries with normal differences, but in {} and {} % with", find_plans),
    ],
}  # fmt: skip
"""Texts of each page, and the functions that return their figures."""
