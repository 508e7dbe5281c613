"""Draw the picture of the page from the stored results: `python research/studies/figures.py`.

It writes a light and a dark version with a transparent background to `docs/_static`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PICTURES = HERE.parents[1] / "docs" / "_static"
CHOICES = {
    "exponential gain": "exponential instead of linear gain",
    "Järvelin & Kekäläinen's discount": "discount of Järvelin and Kekäläinen",
    "unjudged documents left out": "unjudged documents removed",
    "cutoff 5": "cutoff 5 instead of 10",
    "cutoff 20": "cutoff 20 instead of 10",
    "map": "MAP instead of NDCG",
    "another repeat of both": "another repeat or seed of both systems",
    "the other half of the queries": "the other half of the queries",
    "mrr": "MRR instead of NDCG",
}
MARKERS = "osD^"
THEMES = {
    "light": {"ink": "#1a1e24", "muted": "#5d6672", "grid": "#e6eaee", "shade": "#f1f4f8",
              "series": ("#1b6ab3", "#6397cb", "#d96400", "#8a5a2b")},
    "dark": {"ink": "#e9ecef", "muted": "#9da7b3", "grid": "#2a313a", "shade": "#1e242c",
             "series": ("#5aa9f0", "#a9c9ea", "#f5953d", "#c9a27a")},
}  # fmt: skip
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "gainwise", "font.family": "sans-serif", "font.size": 10}


def read_datasets() -> dict[str, dict[str, Any]]:
    """Return the results of each dataset by its title in the picture."""
    runs = json.loads((RESULTS / "trec-dl.json").read_text(encoding="utf-8"))["results"]
    datasets = {}
    for name, study in runs.items():
        size = f"{study['runs']} runs of {study['configurations']} systems, {study['queries']} queries"
        datasets[f"TREC DL 20{name[2:]}: {size}"] = study
    for name, title in {"lightgbm-lambdarank": "LightGBM's example", "clueweb09-ltr": "ClueWeb09"}.items():
        study = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]
        size = f"{len(study['recipes'])} recipes with {study['seeds']} seeds, {study['queries']} queries"
        datasets[f"{title}: {size}"] = study
    return datasets


def draw(datasets: dict[str, dict[str, Any]], theme: dict[str, Any]) -> Figure:
    """Draw the share of pairs of systems whose order each choice reverses."""
    figure = Figure(figsize=(9.2, 5.6), layout="constrained")
    axes = figure.add_subplot()
    count = len(datasets)
    for i, (marker, color, (title, study)) in enumerate(zip(MARKERS, theme["series"], datasets.items(), strict=True)):
        rows = [(row, study["choices"][choice]) for row, choice in enumerate(CHOICES) if choice in study["choices"]]
        heights = [row + (i - (count - 1) / 2) * 0.19 for row, _ in rows]
        shares, left, right = ([100 * value[key] for _, value in rows] for key in ("reversed", "lower", "upper"))
        axes.hlines(heights, left, right, color=color, alpha=0.55, linewidth=2.5)
        axes.plot(shares, heights, marker, color=color, markersize=6, label=title)
    axes.axhspan(-0.5, 0.5, color=theme["shade"], zorder=0)
    axes.axvline(50, color=theme["muted"], linestyle=(0, (4, 3)), linewidth=1)
    axes.annotate("a coin toss", (50, -0.42), (4, 0), textcoords="offset points", color=theme["muted"], fontsize=9)
    axes.set_yticks(range(len(CHOICES)), CHOICES.values(), color=theme["ink"])
    axes.set_ylim(len(CHOICES) - 0.5, -0.5)
    axes.set_xlim(0, 65)
    axes.xaxis.set_major_formatter("{x:.0f} %")
    axes.set_xlabel("share of pairs of systems whose order by linear NDCG@10 is reversed", color=theme["ink"])
    axes.tick_params(length=0, labelcolor=theme["ink"])
    axes.grid(axis="x", color=theme["grid"])
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, labelcolor=theme["ink"], fontsize=9)
    return figure


def main() -> None:
    """Write the pictures."""
    with mpl.rc_context(SETTINGS):
        for name, theme in THEMES.items():
            path = PICTURES / f"reversals-{name}.svg"
            draw(read_datasets(), theme).savefig(path, transparent=True, metadata={"Date": None})
            path.write_text("\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()) + "\n")
            print(path)


if __name__ == "__main__":
    main()
