"""The best round of a training under each of two metrics, and the loss at the best round of the other metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container

    import pandas as pd


def best_rounds(curves: pd.DataFrame, metrics: tuple[str, str], lower_is_better: Container[str] = ()) -> pd.DataFrame:
    """Find the best rounds of curves under two metrics.

    Parameters
    ----------
    curves : DataFrame
        Columns `candidate`, `round`, `metric` and `value`. Optional columns are `fold`, the name of the fold, and
        `compared`, which is True at the rounds of the models in the comparison.
    metrics : tuple of two str
        The names of the metrics.
    lower_is_better : container of str
        The names of metrics with better lower values.

    Returns
    -------
    DataFrame
        One row per candidate and fold. Candidates without values of both metrics are left out. Columns are
        `candidate`, `fold`, and for each metric M:

        - `round M`, the first round with the best value of M,
        - `best M`, this value,
        - `loss M`, the difference between this value and M at the best round of the other metric.

        If the curves have a column `compared`, the result also has `compared`, the list of these rounds, and
        `compared loss M`, the loss of M at the best of these rounds.

    Examples
    --------
    >>> import pandas as pd
    >>> values = {"a": [0.1, 0.3, 0.2], "b": [0.5, 0.4, 0.4]}
    >>> curves = pd.concat(
    ...     pd.DataFrame({"candidate": "c", "round": [1, 2, 3], "metric": metric, "value": value})
    ...     for metric, value in values.items()
    ... )
    >>> best_rounds(curves, ("a", "b"))[["round a", "round b", "loss a", "loss b"]].round(6).values.tolist()
    [[2.0, 1.0, 0.2, 0.1]]
    """
    import pandas as pd

    missing = {"candidate", "round", "metric", "value"} - {str(column) for column in curves.columns}
    if missing:
        raise ValueError(
            "curves must have the columns candidate, round, metric and value. Missing columns: "
            f"{', '.join(sorted(missing))}"
        )
    folds, rows = curves if "fold" in curves.columns else curves.assign(fold=""), []
    signs = {metric: -1.0 if metric in lower_is_better else 1.0 for metric in metrics}
    for (candidate, fold), part in folds.groupby(["candidate", "fold"], sort=False):
        lines = {metric: signs[metric] * select_curve(part, metric) for metric in metrics}
        if any(line.empty for line in lines.values()):
            continue
        row: dict[str, Any] = {"candidate": candidate, "fold": fold}
        if "compared" in part.columns:
            row["compared"] = sorted(set(part.loc[part["compared"], "round"]))
        for metric, other in (metrics, metrics[::-1]):
            line, best = lines[metric], float(lines[metric].max())
            row[f"round {metric}"] = int(line.index[int(line.to_numpy().argmax())])
            row[f"best {metric}"] = signs[metric] * best
            row[f"loss {metric}"] = best - float(line.get(lines[other].idxmax(), float("nan")))
            if "compared" in row:
                row[f"compared loss {metric}"] = float(best - line.reindex(row["compared"]).max())
        rows.append(row)
    columns = [f"{column} {metric}" for column in ("round", "best", "loss") for metric in metrics]
    if "compared" in curves.columns:
        columns += ["compared", *(f"compared loss {metric}" for metric in metrics)]
    return pd.DataFrame(rows, columns=["candidate", "fold", *columns])


def select_curve(curves: pd.DataFrame, metric: str) -> pd.Series[float]:
    """Return the values of one metric by round, in ascending order. Rounds without a value are left out."""
    line = curves[curves["metric"] == metric].set_index("round")["value"].dropna().sort_index()
    if not line.index.is_unique:
        duplicate = line.index[line.index.duplicated()][0]
        raise ValueError(
            f"curves must have each round once, got round {duplicate} of {metric} more than once. "
            "Name the folds in a column fold"
        )
    return line


def choose_candidate(best: pd.DataFrame, metrics: tuple[str, str]) -> str:
    """Return the candidate with the largest loss of a metric at the best round of the other metric."""
    losses = best.groupby("candidate", sort=False)[[f"loss {metric}" for metric in metrics]].mean().max(axis=1)
    return str(losses.fillna(0.0).idxmax())  # 0 if neither metric has a value at the best round of the other one
