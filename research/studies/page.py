"""Write the page "Does the choice of NDCG matter?" with the figures of the stored results.

    python research/studies/page.py

The template `does_it_matter.md` contains the names of figures in double braces.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = HERE.parents[1] / "docs" / "concepts" / "does_it_matter.md"
NAMES = {"clueweb09-ltr": "clueweb", "lightgbm-lambdarank": "example"}
GAIN = "exponential gain"
CHOICES = {"gain": GAIN, "cutoff": "cutoff 5", "map": "map", "mrr": "mrr", "repeat": "another repeat of both"}
STANDARD_ERRORS = 3
LINEAR, EXPONENTIAL = "ndcg_linear@10", "ndcg_exp@10"


def read_results(name: str) -> dict[str, Any]:
    """Return the stored results of a dataset."""
    results: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]
    return results


def write_page() -> str:
    """Return the page, with figures in place of their names."""
    template = (HERE / PAGE.name).read_text(encoding="utf-8")
    figures = read_figures()
    return re.sub(r"{{ (\w+) }}", lambda name: figures[name[1]], template)


def read_figures() -> dict[str, str]:
    """Return all figures of the page by name."""
    figures: dict[str, str] = {}
    for name, study in read_results("trec-dl").items():
        figures |= {f"{name}_{key}": text for key, text in {**describe_common(study), **describe_runs(study)}.items()}
    for name, short in NAMES.items():
        study = read_results(name)
        described = {**describe_common(study), **describe_training(study)}
        figures |= {f"{short}_{key}": text for key, text in described.items()}
    simulated = json.loads((RESULTS / "simulated.json").read_text(encoding="utf-8"))["results"]
    power = [row["genuine"] for row in simulated if row["ratio"] == STANDARD_ERRORS]
    figures |= {"power_low": f"{100 * min(power):.0f}", "power_high": f"{100 * max(power):.0f} %"}
    example = read_results("trec-dl")["dl19"]["repeats"]["example"]
    means = example["means"][LINEAR]
    figures |= {"repeat_low": f"{min(means):.3f}", "repeat_high": f"{max(means):.3f}"}
    figures["repeat_p_value"] = f"{example['smallest_p_value_of_two_repeats'][LINEAR]:.3f}"
    record = json.loads((RESULTS / "trec-dl.json").read_text(encoding="utf-8"))
    figures["mslr_bound_two"] = f"{record['published_labels']['MSLR-WEB30K']['two_rankings']:.3f}"
    return figures


def describe_common(study: dict[str, Any]) -> dict[str, str]:
    """Return the figures that runs and trained models share."""
    choices = {key: study["choices"][name] for key, name in CHOICES.items() if name in study["choices"]}
    bound = study["labels"]
    return {
        "queries": f"{study['queries']:,}",
        **{f"{key}_share": format_share(row) for key, row in choices.items()},
        **{f"{key}_percent": f"{100 * row['reversed']:.1f} %" for key, row in choices.items()},
        "same_winner": "yes" if choices["gain"]["winner_changes"] == 0 else "no",
        "bound_above": f"{bound['one_ranking'][EXPONENTIAL]:.3f}",
        "bound_below": f"{bound['one_ranking'][LINEAR]:.3f}",
        "bound_two": f"{bound['two_rankings']:.3f}",
    }


def describe_runs(study: dict[str, Any]) -> dict[str, str]:
    """Return the figures of TREC runs."""
    gain = study["choices"][GAIN]
    spread = study["discordance"]["standard_deviation_of_differences"]
    averages = study["configurations_averaged"]
    return {
        "runs": str(study["runs"]),
        "systems": str(study["configurations"]),
        "reversed": f"{gain['reversed_pairs']:.0f} of {gain['pairs']:.0f}",
        "averages_reversed": f"{averages['reversed']:.0f} of {averages['pairs']:.0f}",
        "largest": f"{averages['largest_reversed_difference']:.4f}",
        "may_be_best": str(study["verdict"]["may_be_best_under_both"]),
        "kind": study["verdict"]["kind"],
        "discordance": f"{study['discordance']['median']:.4f}",
        "discordance_largest": f"{study['discordance']['largest']:.3f}",
        "significant_after_holm": str(study["discordance"]["significant_after_holm"]),
        "repeats_gain": f"{100 * study['repeats']['reversed_by_gain']['reversed']:.1f} %",
        "needed_100": f"{STANDARD_ERRORS * spread / 100**0.5:.3f}",
        "needed_10000": f"{STANDARD_ERRORS * spread / 10_000**0.5:.4f}",
    }


def describe_training(study: dict[str, Any]) -> dict[str, str]:
    """Return the figures of trained models."""
    stopping, training, selection = study["stopping"], study["training_gain"], study["selection"]
    recipes = len(study["recipes"])
    beyond = sum(stopping[metric]["recipes_beyond_noise"] for metric in (LINEAR, EXPONENTIAL))
    return {
        "recipes": str(recipes),
        "seeds": str(study["seeds"]),
        "models": str(study["models"]),
        "stop_linear": format_interval(stopping[LINEAR]),
        "stop_exponential": format_interval(stopping[EXPONENTIAL]),
        "stops_beyond_noise": f"{beyond} of {2 * recipes}",
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


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
