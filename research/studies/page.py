"""Write the pages about real data with the figures of the stored results, and insert figures into other pages.

    python research/studies/page.py

The templates contain the names of figures in double braces. `sentences.py` has the sentences of other pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from records import read_results
from release_figures import describe_release
from sentences import ROOT, SENTENCES, insert_figures
from survey import CUTOFF, CUTOFFS, PROPERTIES

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
NAMES = {"clueweb09-ltr": "clueweb", "lightgbm-lambdarank": "example", "cranfield": "cranfield"}
NAMES_OF_STUDIES = {
    "dl19": "TREC Deep Learning 2019",
    "dl20": "TREC Deep Learning 2020",
    "clueweb": "ClueWeb09",
    "example": "LightGBM's example",
    "cranfield": "Cranfield",
}
GAIN = "exponential gain"
CHOICES = {
    "gain": GAIN,
    "cutoff": "cutoff 5",
    "map": "map",
    "repeat": "another repeat of both",
    "unjudged": "unjudged documents left out",
}
STANDARD_ERRORS = 3
LINEAR, EXPONENTIAL = METRICS = ("ndcg_linear@10", "ndcg_exp@10")


def write_page(name: str) -> str:
    """Return a page, with figures in place of their names."""
    template = (HERE / f"{name}.md").read_text(encoding="utf-8")
    figures = PAGES[name][1]()
    return re.sub(r"{{ (\w+) }}", lambda figure: figures[figure[1]], template)


def read_figures() -> dict[str, str]:
    """Return all figures of the page about the choice of NDCG by name."""
    figures: dict[str, str] = {}
    studies = {**read_results("trec-dl"), **{short: read_results(name) for name, short in NAMES.items()}}
    for name, study in studies.items():
        described = {**describe_common(study), **(describe_runs if name.startswith("dl") else describe_training)(study)}
        figures |= {f"{name}_{key}": text for key, text in described.items()}
    simulated = read_results("simulated")
    power = [row["genuine"] for row in simulated if row["ratio"] == STANDARD_ERRORS]
    figures |= {"power_low": f"{100 * min(power):.0f}", "power_high": f"{100 * max(power):.0f} %"}
    return figures | describe_all(studies) | describe_survey() | describe_cranfield(studies["cranfield"])


def describe_all(studies: dict[str, Any]) -> dict[str, str]:
    """Return sentences about all datasets, which depend on their results."""
    changed = {name: study for name, study in studies.items() if study["choices"][GAIN]["winner_changes"]}
    same = len(studies) - len(changed)
    stops = [study["stopping"][metric] for study in studies.values() if "stopping" in study for metric in METRICS]
    worst = max(stops, key=lambda row: row["mean"])
    selections = [study["selection"] for study in studies.values() if "selection" in study]
    shares = {key: [100 * row[f"another_by_{key}"] for row in selections] for key in ("the_other_gain", "another_seed")}
    return {
        "same_winners": f"on {same} of {len(studies)} datasets" if same < len(studies) else f"on all {same} datasets",
        "stop_worst": format_interval(worst).removeprefix("+"),
        "changed_winners": " ".join(describe_changed(NAMES_OF_STUDIES[name], study) for name, study in changed.items()),
        "selections_by_gain": format_range(shares["the_other_gain"]),
        "selections_by_seed": format_range(shares["another_seed"]),
    }


def describe_changed(title: str, study: dict[str, Any]) -> str:
    """Return a sentence about the two configurations that win under one gain each."""
    means = {metric: np.array(study["means"][metric]).mean(axis=1) for metric in METRICS}
    first, second = (int(means[metric].argmax()) for metric in METRICS)
    costs = [abs(means[metric][first] - means[metric][second]) for metric in METRICS]
    names = [study["recipes"][number] for number in (first, second)]
    return (
        f"On {title}, `{names[0]}` is best under linear NDCG, and `{names[1]}` under exponential NDCG. The "
        f"wrong choice of the two costs {costs[0]:.4f} of linear or {costs[1]:.4f} of exponential NDCG."
    )


def format_range(percent: list[float]) -> str:
    """Return the lowest and highest share in percent."""
    return f"{min(percent):.0f} to {max(percent):.0f} %"


def describe_cranfield(study: dict[str, Any]) -> dict[str, str]:
    """Return the counts of Cranfield."""
    counts = study["counts"]
    return {
        "cranfield_missed": f"{counts['relevant_not_retrieved']:,}",
        "cranfield_judgments": f"{counts['judgments']:,}",
    }


def describe_survey() -> dict[str, str]:
    """Return the figures of the survey of public collections."""
    results = read_results("survey")
    rows = list(results["collections"].values())
    bounds = np.array([row["two_rankings"][str(CUTOFF)] for row in rows])
    grades = np.array([row["properties"]["positive grades"] for row in rows])
    by_property = {row["property"]: row for row in results["correlations"]}
    within = [row for row in results["correlations_of_two_grades"] if row["property"] != "positive grades"]
    clear = [row["property"] for row in within if row["lower"] * row["upper"] > 0]
    news = [row for row in rows if row["labels_are_gains"]]
    published = [row["as_published"]["two_rankings"][str(CUTOFF)] for row in news]

    def span(values: Any) -> str:
        return f"{min(values):.3f} to {max(values):.3f}"

    return {
        "survey_collections": str(len(rows)),
        "survey_families": str(len({row["family"] for row in rows})),
        "survey_bounds": span(bounds),
        "survey_properties": str(len(by_property)),
        "survey_correlation": format_correlation(by_property["positive grades"]),
        "survey_two_grades": span(bounds[grades == 2]),
        "survey_more_grades": span(bounds[grades > 2]),
        "survey_within": describe_clear(clear, int((grades == 2).sum())),
        "survey_news_grades": span([row["two_rankings"][str(CUTOFF)] for row in news]),
        "survey_news_published": span(published),
        "survey_table": format_survey(rows),
        "survey_correlations": format_correlations(results),
        "survey_findings": format_findings(rows),
    }


def describe_clear(properties: list[str], collections: int) -> str:
    """Return a sentence about the properties that predict the bound of collections with two positive grades."""
    if properties:
        return f"Among the {collections} collections with two positive grades, {', '.join(properties)} predict it."
    return (
        f"Among the {collections} collections with two positive grades, no property predicts it: every interval of "
        "a rank correlation contains 0."
    )


def format_correlation(row: dict[str, float]) -> str:
    """Return a correlation with its interval."""
    text = f"{row['correlation']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})"
    return text.replace("-", "−")


def format_correlations(results: dict[str, Any]) -> str:
    """Return the table of properties."""
    within = {row["property"]: format_correlation(row) for row in results["correlations_of_two_grades"]}
    within["positive grades"] = "–"
    lines = ["| Property | All collections | Two positive grades |", "|---|---|---|"]
    for row in results["correlations"]:
        name = row["property"]
        lines.append(f"| {PROPERTIES[name]} | {format_correlation(row)} | {within[name]} |")
    return "\n".join(lines)


def format_findings(rows: list[dict[str, Any]]) -> str:
    """Return the table of the findings of `check`."""
    titles: dict[str, list[str]] = {}
    for row in rows:
        for code in row["findings"]:
            titles.setdefault(code, []).append(row["title"])
    lines = ["| Finding | Collections |", "|---|---|"]
    for code, names in sorted(titles.items(), key=lambda item: -len(item[1])):
        lines.append(f"| {code} | {'all' if len(names) == len(rows) else '; '.join(names)} |")
    return "\n".join(lines)


def format_survey(rows: list[dict[str, Any]]) -> str:
    """Return the table of all collections."""
    lines = [
        "| Collection | Queries | Equal gains | Labels | " + " | ".join(f"@{k}" for k in CUTOFFS) + " | Random order |",
        "|---|---:|---:|---|" + "---:|" * (len(CUTOFFS) + 1),
    ]
    for row in sorted(rows, key=lambda row: -row["two_rankings"][str(CUTOFF)]):
        labels = ", ".join(label.replace("-", "−") for label in row["documents_by_label"])
        bounds = " | ".join(f"{row['two_rankings'][str(k)]:.3f}" for k in CUTOFFS)
        equal = f"{100 * row['queries_with_equal_gains'] / row['queries']:.0f} %"
        chance = f"{row['chance'][LINEAR]:.3f}"
        lines.append(f"| {row['title']} | {row['queries']} | {equal} | {labels} | {bounds} | {chance} |")
    return "\n".join(lines)


def describe_common(study: dict[str, Any]) -> dict[str, str]:
    """Return the figures that runs and trained models share."""
    choices = {key: study["choices"][name] for key, name in CHOICES.items() if name in study["choices"]}
    return {
        "queries": f"{study['queries']:,}",
        **{f"{key}_share": format_share(row) for key, row in choices.items()},
        **{f"{key}_percent": f"{100 * row['reversed']:.1f} %" for key, row in choices.items()},
        "same_winner": "yes" if choices["gain"]["winner_changes"] == 0 else "no",
        "bound_two": f"{study['labels']['two_rankings']:.3f}",
    }


def describe_runs(study: dict[str, Any]) -> dict[str, str]:
    """Return the figures of TREC runs."""
    spread = study["discordance"]["standard_deviation_of_differences"]
    return {
        "runs": str(study["runs"]),
        "systems": str(study["configurations"]),
        "needed_100": f"{STANDARD_ERRORS * spread / 100**0.5:.3f}",
        "needed_10000": f"{STANDARD_ERRORS * spread / 10_000**0.5:.4f}",
    }


def describe_training(study: dict[str, Any]) -> dict[str, str]:
    """Return the figures of trained models."""
    stopping, training, selection = study["stopping"], study["training_gain"], study["selection"]
    return {
        "recipes": str(len(study["recipes"])),
        "seeds": str(study["seeds"]),
        "stop_linear": format_interval(stopping[LINEAR]),
        "stop_exponential": format_interval(stopping[EXPONENTIAL]),
        "training_linear": format_interval(training[LINEAR]),
        "training_exponential": format_interval(training[EXPONENTIAL]),
        "selected_by_gain": f"{100 * selection['another_by_the_other_gain']:.0f} %",
        "selected_by_seed": f"{100 * selection['another_by_another_seed']:.0f} %",
    }


def format_share(row: dict[str, Any]) -> str:
    """Return a share with its interval in percent."""
    return f"{100 * row['reversed']:.1f} % ({100 * row['lower']:.0f} to {100 * row['upper']:.0f})"


def format_interval(row: dict[str, float]) -> str:
    """Return a mean with its half-width."""
    sign = "−" if row["mean"] < 0 else "+"
    return f"{sign}{abs(row['mean']):.4f} ± {row['half_width']:.4f}"


PAGES = {
    "does_it_matter": (DOCS / "concepts", read_figures),
    "real_release": (DOCS / "concepts", describe_release),
    "collections": (HERE / "results", describe_survey),
}
"""Folder and figures of each page."""

if __name__ == "__main__":
    for page, (folder, _) in PAGES.items():
        (folder / f"{page}.md").write_text(write_page(page), encoding="utf-8")
    for page in SENTENCES:
        (ROOT / page).write_text(insert_figures(page), encoding="utf-8")
