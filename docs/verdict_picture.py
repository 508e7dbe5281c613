"""Draw the picture at the top of README.md: ``python docs/verdict_picture.py``.

Three rankers of different character score 3,000 simulated queries; the seeds are fixed, so that everybody gets the same
numbers. The notebook ``which_model_is_best`` takes them apart, and a fourth.
"""

import math
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import gainsay as gs
from gainsay.data import simulate, simulate_rankers
from gainsay.drawing.palette import DARK, LIGHT, Theme

HERE = Path(__file__).parent
BEST, SCALE = 378, 9308
"""Where the best stands, and how wide one unit of regret is; in units of the picture."""


def compared() -> gs.Comparison:
    """Compare a ranker that finds fair documents, one that finds excellent ones, and one that finds some of both."""
    data = simulate(3000, seed=4, mean_length=40)
    return gs.compare(simulate_rankers(data, seed=4), data.judgments())


def shown_query(comparison: gs.Comparison) -> Any:
    """Return the query that pulls the two winners apart most, of those on which the safe choice lies between them."""
    verdict = comparison.verdict
    ordered = [verdict.winners[metric] for metric in verdict.metrics]
    values = comparison.frame()[list(verdict.metrics)]
    for query in comparison.queries(*ordered, 200)["query"]:
        first, safe, second = (values.loc[query, model] for model in (ordered[0], verdict.safe_choice, ordered[1]))
        if ((first - safe) * (safe - second) > 0).all():
            return query
    raise LookupError("on no query does the safe choice lie between the two winners")


def content(comparison: gs.Comparison) -> dict[str, Any]:
    """Return what the picture says, best by the first metric first, with places on its axis."""
    verdict = comparison.verdict
    linear, exponential = verdict.winners.values()
    query = shown_query(comparison)

    def lane(metric: str, model: str) -> dict[str, Any]:
        return {
            "x": BEST + SCALE * verdict.regrets[metric][model],
            "lower": BEST + SCALE * verdict.regrets_lower[metric][model],
            "upper": BEST + SCALE * verdict.regrets_upper[metric][model],
            "possible": model in verdict.best_sets[metric],
            "wins": model == verdict.winners[metric],
        }

    order = comparison.leaderboard.index
    rows = [
        {
            "name": model,
            "y": 176 + 72 * place,
            "grades": [int(label) for label in comparison.ranking(query, model)["label"][:10]],
            "lanes": [lane(metric, model) for metric in verdict.metrics],
            "best": {linear: "first", exponential: "second"}.get(model),
            "safe": model == verdict.safe_choice,
        }
        for place, model in enumerate(order)
    ]
    ticks = [{"value": step, "x": BEST + SCALE * step / 100, "label": f"{step / 100:.2f}"} for step in range(6)]
    ticks[0]["label"], ticks[-1]["label"] = "best", "0.05 behind"
    bound = f"{math.ceil(1000 * verdict.safe_regret_upper) / 1000:.3f}"  # a bound is never rounded down
    alt = (
        f"Three rankers on {verdict.queries:,} queries. {linear} is best by linear NDCG, {exponential} by exponential "
        f"NDCG, and {verdict.safe_choice} is at most {bound} behind under both."
    )
    return {
        "linear": linear,
        "exponential": exponential,
        "safe": verdict.safe_choice,
        "queries": f"{verdict.queries:,}",
        "p": f"{verdict.p_value:.2g}",
        "bound": bound,
        "rows": rows,
        "ticks": ticks,
        "alt": alt,
    }


def draw(found: dict[str, Any], theme: Theme) -> str:
    """Return the picture as SVG."""
    environment = Environment(loader=FileSystemLoader(HERE / "_templates"), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("hero.svg.jinja").render(found, theme=theme) + "\n"


if __name__ == "__main__":
    comparison = compared()
    found = content(comparison)
    for shade in (LIGHT, DARK):
        (HERE / "_static" / f"hero-{shade.name}.svg").write_text(draw(found, shade), encoding="utf-8")
    print(comparison.verdict.text)
