"""Draw the pictures at the top of README.md: ``python docs/verdict_picture.py``.

Three rankers of different character score 3,000 simulated queries; the seeds are fixed, so that everybody gets the same
numbers. The notebook ``which_model_is_best`` takes them apart, and a fourth.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import gainsay as gs
from gainsay.data import simulate

FOLDER = Path(__file__).parent / "_static"
SHADES = {"light": ("#ffffff", "#1b1e23"), "dark": ("#14171c", "#e9ebee")}


def compared() -> gs.Comparison:
    """Compare a ranker that finds fair documents, one that finds excellent ones, and one that finds some of both."""
    data = simulate(3000, seed=4, mean_length=40)
    passable, outstanding = np.minimum(data.labels, 2), np.maximum(data.labels - 2, 0)
    noise = np.random.default_rng(4).normal(size=(3, len(data.labels)))
    models = {
        "fair": passable + 1.25 * noise[0],
        "excellent": 0.4 * passable + 1.5 * outstanding + 0.9 * noise[1],
        "blend": 0.7 * passable + 0.75 * outstanding + 1.1 * noise[2],
    }
    return gs.compare(models, data.judgments())


def draw(comparison: gs.Comparison, theme: str) -> Figure:
    """Draw regrets and reasons side by side, the verdict above them."""
    face, ink = SHADES[theme]
    figure = Figure(figsize=(10, 4.9), dpi=140, facecolor=face, layout="constrained")
    left, right = figure.subplots(1, 2)
    comparison.plot.regret(left, theme)
    comparison.plot.conflict(right, theme)
    answer, _, _ = comparison.verdict.text.partition(" (p")
    figure.suptitle(answer, color=ink, weight="bold", fontsize=13)
    return figure


if __name__ == "__main__":
    found = compared()
    for shade in SHADES:
        draw(found, shade).savefig(FOLDER / f"verdict-{shade}.png", metadata={"Software": None})
    print(found.verdict.text)
