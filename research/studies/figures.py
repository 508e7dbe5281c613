"""Draw the pictures of the pages from the stored results: `python research/studies/figures.py`.

Each picture has a light and a dark version with a transparent background in `docs/_static`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from records import RESULTS, read_results
from survey import CUTOFF, CUTOFFS

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "_static"
CALIBRATION = ROOT / "research" / "calibration" / "CALIBRATION_REAL.json"
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
MARKERS = "osD^v"
THEMES = {
    "light": {"ink": "#1a1e24", "muted": "#5d6672", "grid": "#e6eaee", "shade": "#f1f4f8",
              "series": ("#1b6ab3", "#6397cb", "#d96400", "#8a5a2b", "#4a525d")},
    "dark": {"ink": "#e9ecef", "muted": "#9da7b3", "grid": "#2a313a", "shade": "#1e242c",
             "series": ("#5aa9f0", "#a9c9ea", "#f5953d", "#c9a27a", "#b3bcc6")},
}  # fmt: skip
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "gainwise", "font.family": "sans-serif", "font.size": 10}


def read_datasets() -> dict[str, dict[str, Any]]:
    """Return the results of each dataset by its title in the picture."""
    runs = json.loads((RESULTS / "trec-dl.json").read_text(encoding="utf-8"))["results"]
    datasets = {}
    for name, study in runs.items():
        size = f"{study['runs']} runs of {study['configurations']} systems, {study['queries']} queries"
        datasets[f"TREC DL 20{name[2:]}: {size}"] = study
    titles = {"lightgbm-lambdarank": "LightGBM's example", "clueweb09-ltr": "ClueWeb09", "cranfield": "Cranfield"}
    for name, title in titles.items():
        study = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]
        size = f"{len(study['recipes'])} configurations with {study['seeds']} seeds, {study['queries']} queries"
        datasets[f"{title}: {size}"] = study
    return datasets


def draw_reversals(theme: dict[str, Any]) -> Figure:
    """Draw the share of pairs of systems whose order each choice reverses."""
    datasets = read_datasets()
    figure = Figure(figsize=(9.2, 6.2), layout="constrained")
    axes = figure.add_subplot()
    count = len(datasets)
    for i, (marker, color, (title, study)) in enumerate(zip(MARKERS, theme["series"], datasets.items(), strict=True)):
        rows = [(row, study["choices"][choice]) for row, choice in enumerate(CHOICES) if choice in study["choices"]]
        heights = [row + (i - (count - 1) / 2) * 0.16 for row, _ in rows]
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
    style_axes(axes, theme)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, labelcolor=theme["ink"], fontsize=9)
    return figure


def draw_survey(theme: dict[str, Any]) -> Figure:
    """Draw the largest possible conflict of the two NDCGs on the judgments of each collection."""
    collections = sorted(
        read_results("survey")["collections"].values(), key=lambda row: -row["two_rankings"][str(CUTOFF)]
    )
    figure = Figure(figsize=(9.2, 9.6), layout="constrained")
    axes = figure.add_subplot()
    labels = {2: "two positive grades", 3: "three positive grades", 4: "four positive grades"}
    for grades, color, marker in zip(labels, theme["series"][::2], MARKERS, strict=False):
        rows = [row for row, study in enumerate(collections) if study["properties"]["positive grades"] == grades]
        bounds = [[collections[row]["two_rankings"][str(k)] for k in CUTOFFS] for row in rows]
        axes.hlines(rows, [min(b) for b in bounds], [max(b) for b in bounds], color=color, alpha=0.45, linewidth=2.5)
        at_cutoff = [b[CUTOFFS.index(CUTOFF)] for b in bounds]
        axes.plot(at_cutoff, rows, marker, color=color, markersize=6, label=labels[grades])
    are_gains = [row for row, study in enumerate(collections) if study["labels_are_gains"]]
    published = [collections[row]["as_published"]["two_rankings"][str(CUTOFF)] for row in are_gains]
    hollow = {"markerfacecolor": "none", "markeredgecolor": theme["series"][4], "markersize": 6}
    axes.plot(published, are_gains, "D", label="labels are gains, used as grades by mistake", **hollow)
    axes.set_yticks(range(len(collections)), [study["title"] for study in collections], color=theme["ink"], fontsize=9)
    axes.set_ylim(len(collections) - 0.5, -0.5)
    axes.set_xlim(0, 0.36)
    axes.set_xlabel(f"largest possible conflict of linear and exponential NDCG@{CUTOFF}", color=theme["ink"])
    style_axes(axes, theme)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, labelcolor=theme["ink"], fontsize=9)
    return figure


def read_power() -> dict[float, dict[int, list[float]]]:
    """Return the shares of correct decisions to ship of all candidates, by true gain and number of queries."""
    cells = json.loads(CALIBRATION.read_text(encoding="utf-8"))["cells"]
    power: dict[float, dict[int, list[float]]] = {}
    for key, rates in cells.items():
        kind, *settings = key.split(" | ")
        if kind == "pair" and settings[0] == "0" and settings[3] == "queries" and float(settings[2]) > 0:
            by_size = power.setdefault(float(settings[2]), {})
            by_size.setdefault(int(settings[4]), []).append(rates["ships with a gain"])
    return {gain: dict(sorted(by_size.items())) for gain, by_size in sorted(power.items(), reverse=True)}


def draw_sizes(theme: dict[str, Any]) -> Figure:
    """Draw the share of correct release decisions by the number of queries."""
    figure = Figure(figsize=(9.2, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for (gain, by_size), color, marker in zip(read_power().items(), theme["series"], MARKERS, strict=False):
        sizes, rates = list(by_size), [[100 * rate for rate in row] for row in by_size.values()]
        axes.fill_between(
            sizes, [min(row) for row in rates], [max(row) for row in rates], color=color, alpha=0.18, lw=0
        )
        mean = [sum(row) / len(row) for row in rates]
        axes.plot(sizes, mean, color=color, marker=marker, markersize=5, label=f"true gain of {gain:g}")
    axes.axhline(80, color=theme["muted"], linestyle=(0, (4, 3)), linewidth=1)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(0, 100)
    axes.yaxis.set_major_formatter("{x:.0f} %")
    axes.set_xlabel("test queries", color=theme["ink"])
    axes.set_ylabel("share of samples in which the gate ships", color=theme["ink"])
    style_axes(axes, theme)
    axes.grid(axis="y", color=theme["grid"])
    figure.legend(loc="outside lower center", ncols=4, frameon=False, labelcolor=theme["ink"], fontsize=9)
    return figure


def style_axes(axes: Any, theme: dict[str, Any]) -> None:
    """Remove the frame of the axes, and draw vertical grid lines."""
    axes.tick_params(length=0, labelcolor=theme["ink"])
    axes.grid(axis="x", color=theme["grid"])
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)


DRAWINGS: dict[str, Callable[[dict[str, Any]], Figure]] = {
    "reversals": draw_reversals,
    "survey": draw_survey,
    "sizes": draw_sizes,
}


def main() -> None:
    """Write the pictures."""
    with mpl.rc_context(SETTINGS):
        for name, draw in DRAWINGS.items():
            for kind, theme in THEMES.items():
                path = PICTURES / f"{name}-{kind}.svg"
                draw(theme).savefig(path, transparent=True, metadata={"Date": None})
                lines = path.read_text(encoding="utf-8").splitlines()
                path.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")
                print(path)


if __name__ == "__main__":
    main()
