"""Insert measured figures into sentences and tables of hand-written pages. `page.py` calls it.

Each entry has a text of the page, with `{}` in place of each figure. A line break of the page counts as a space.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from records import read_results

ROOT = Path(__file__).parents[2]
CALIBRATION = ROOT / "research" / "calibration"
BENCHMARKS = ROOT / "research" / "benchmarks" / "RESULTS.md"
FIGURE = r"(\d[\d,]*(?:\.\d+)?)"
STUDIES = ("clueweb09-ltr", "lightgbm-lambdarank", "cranfield")

TAIL = "loss of the margin, lognormal tail of losses"
RARE = "loss of the margin, losses of 1 on 0.1 % of {} queries, noise on the others"
AT_MARGIN = f"no_loss: loss of exactly the margin.*|{TAIL}, 1,000 queries: false ship"
POWER = "power at 2.8 standard errors, [^:]* deviation [.0-9]+"
PILOT = "plan from a pilot of 400 queries, {}: the upper end is sufficient"
BETTING = f"{POWER}, betting: ships"


def insert_figures(page: str) -> str:
    """Return the text of a page with its measured figures."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for sentence, find in SENTENCES[page]:
        pattern = FIGURE.join(re.escape(part).replace(r"\ ", r"\s+") for part in sentence.split("{}"))
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise ValueError(f"{page} must contain the sentence {sentence!r} once, but does {len(found)} times.")
        places, figures = [found[0].span(number + 1) for number in range(len(found[0].groups()))], find()
        for (start, end), figure in reversed(list(zip(places, figures, strict=True))):
            text = text[:start] + figure + text[end:]
    return text


def read_claims(version: str = "after") -> Iterator[tuple[str, float]]:
    """Yield the claims and their rates, of this version or of the one "before"."""
    for path in sorted((CALIBRATION / "claims").glob("*.json")):
        entries = json.loads(path.read_text(encoding="utf-8"))
        for entry in entries if isinstance(entries, list) else ():
            if entry[version]:
                yield entry["claim"], entry[version]["events"] / entry[version]["samples"]


def find_rates(*claims: str, version: str = "after") -> list[str]:
    """Return the rates of claims in percent, in ascending order for each of the patterns."""
    return list(chain.from_iterable(map(format_percent, sorted(match_rates(claim, version))) for claim in claims))


def find_spans(*claims: str) -> list[str]:
    """Return the lowest and the highest rate in percent of the claims that match a pattern, for each pattern."""
    return list(chain.from_iterable(span(match_rates(claim)) for claim in claims))


def match_rates(claim: str, version: str = "after") -> list[float]:
    """Return the rates of the claims that match a regular expression."""
    rates = [rate for name, rate in read_claims(version) if re.fullmatch(claim, name)]
    if not rates:
        raise ValueError(f"there is no claim {claim!r}.")
    return rates


def format_percent(rate: float) -> str:
    """Return a rate in percent, with one decimal below 4.

    >>> [format_percent(rate) for rate in (0.0, 0.004, 0.0385, 0.04, 0.81)]
    ['0', '0.4', '3.8', '4', '81']
    """
    return f"{100 * rate:.{1 if 0 < rate < 0.04 else 0}f}"


def span(rates: Sequence[float]) -> list[str]:
    """Return the lowest and the highest rate in percent."""
    return [format_percent(min(rates)), format_percent(max(rates))]


def read_cells(name: str, start: str) -> list[dict[str, Any]]:
    """Return the rates of the cells of a calibration whose key begins with some text."""
    cells = json.loads((CALIBRATION / f"{name}.json").read_text(encoding="utf-8"))["cells"]
    return [rates for key, rates in cells.items() if key.startswith(start)]


def find_naive_rates() -> list[str]:
    """Return the rates of disagreements where a third model ties with both winners: two t-tests, and the verdict."""
    tied = read_cells("CALIBRATION", "fixed | a third ties both winners")
    return [*span([rates["t_tests"] for rates in tied]), f"{100 * max(rates['genuine'] for rates in tied):.1f}"]


def find_trainings() -> list[str]:
    """Return how often a configuration differs from itself: single models, and configurations with five repeats."""
    cells = read_cells("CALIBRATION_RUNS", "real runs | queries | 5000 | 2 |")
    names = ("one run each: pair", "recipes: pair")
    return [f"{100 * sum(cell[name] for cell in cells) / len(cells):.0f}" for name in names]


def find_repeats() -> list[str]:
    """Return the lowest and the highest mean of a repeated system, and the p-value of the two."""
    example = read_results("trec-dl")["dl19"]["repeats"]["example"]
    means = example["means"]["ndcg_linear@10"]
    p_value = example["smallest_p_value_of_two_repeats"]["ndcg_linear@10"]
    return [f"{min(means):.3f}", f"{max(means):.3f}", f"{p_value:.3f}"]


def find_chance() -> list[str]:
    """Return the lowest and the highest NDCG of random order on the judgments of public collections."""
    chance = [row["chance"]["ndcg_linear@10"] for row in read_results("survey")["collections"].values()]
    return [f"{min(chance):.2f}", f"{max(chance):.2f}"]


def find_selections() -> list[str]:
    """Return how often the other gain, and another seed, selects another candidate, lowest and highest each."""
    selections = [read_results(name)["selection"] for name in STUDIES]
    shares = ([row[f"another_by_{key}"] for row in selections] for key in ("the_other_gain", "another_seed"))
    return [f"{100 * end(share):.0f}" for share in shares for end in (min, max)]


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
    rows = [read_row("Evaluation during", "scores", scores)[4].split(" / ")[::-1] for scores in ("untied", "round 1")]
    trainings = [read_row("Whole training", "training with", f"both NDCGs, {name}") for name in ("compiled", "NumPy")]
    return [f"{float(ratio):.2f}" for ratio in (*chain.from_iterable(rows), *(row[-1] for row in trainings))]


def find_memory() -> list[str]:
    """Return the additional bytes of an evaluator per document, with queries of about 100 documents and short ones."""
    rows = [read_row("Memory", "documents", "10,000,000", queries, "untied") for queries in ("MSLR-like", "short")]
    return [f"{float(row[3]):.0f}" for row in rows]


Find = Callable[[], list[str]]
SENTENCES: dict[str, list[tuple[str, Find]]] = {
    "README.md": [
        ("| Both NDCGs at four cutoffs, no ties | {} | {} | "
         "| Both NDCGs at four cutoffs, scores of round 1 (many ties) | {} | {} | "
         "| A whole training, 60 rounds | {} | {} |", find_performance),
        ("selects in {} to {} % of the cases, and another seed in {} to {} %", find_selections),
    ],
    "docs/guides/dask.md": [
        ("adds {} bytes of peak memory per document for queries of about 100 documents, and {} bytes for short queries",
         find_memory),
    ],
    "docs/guides/faq.md": [("whose NDCG@10 is {} to {} on the judgments", find_chance)],
    "docs/guides/configuration_or_seed.md": [
        ("in {} % of the comparisons of single models, and in {} % with five repeats each", find_trainings),
        ("The mean `ndcg_linear@10` was between {} and {}. A paired t-test of the best and the worst repeat returns "
         "p = {}.", find_repeats),
    ],
    "docs/concepts/verdict.md": [
        ("in {} to {} % of the samples, and the verdict in at most {} %", find_naive_rates),
    ],
    "docs/guides/gate.md": [
        ("less often: in {} to {} % of the simulated samples, if the default ships it in {} to {} %.",
         partial(find_spans, BETTING, f"{POWER}: ships")),
        ("a loss of exactly the margin shipped in {} to {} % of the samples", partial(find_spans, AT_MARGIN)),
    ],
    "docs/background/calibration.md": [
        ("ships a loss of the margin in {} to {} % of the samples instead of 2.5 %",
         partial(find_spans, RARE.format("(500|1,000)") + ": false ship")),
        ("worse model in {} % instead of 5 %", partial(find_rates, r".*\+\.0005 and noise on the others: `agree`.*")),
        ("and the gate shipped in {} to {} %.", partial(find_spans, RARE.format("[0-9,]+") + ", betting: false ship")),
        ("power: {} to {} % instead of {} to {} % for", partial(find_spans, BETTING, f"{POWER}: ships")),
        ("the gate shipped it in {} to {} % of the samples, instead of 2.5 %.", partial(find_spans, AT_MARGIN)),
        ("in {} % of the samples of 50 queries, {} % of 100, {} % of 300 and {} % of 1,000",
         partial(find_rates, *(f"{TAIL}, {size} queries: false ship" for size in ("50", "100", "300", "1,000")))),
        ("from 40 to 582 queries, it was {} %.", partial(find_rates, f"{TAIL}, 13 tests .*, planned looks: .*")),
        ("simultaneous intervals miss in {} %, instead of 5 %",
         partial(find_rates, "fixed baseline against 5 repeats with twice .*: miss")),
        ("are not both the best ones in {} % of the samples",
         partial(find_rates, "three near-ties .* a named winner is not the best model", version="before")),
        ("may be best, which was wrong in {} %.", partial(find_rates, "three near-ties .* the only model that .*")),
        ("is sufficient in {} % of pilots of 400 queries", partial(find_rates, PILOT.format("normal differences"))),
        ("With a lognormal tail of losses, it is sufficient in {} to {} %.",
         partial(find_spans, PILOT.format(".*tail of losses"))),
    ],
}  # fmt: skip
"""Texts of each page, and the functions that return their figures."""
