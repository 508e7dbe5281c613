"""The best round of a curve under each of two metrics, and what stopping at another round loses on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container

    import pandas as pd


def best_rounds(curves: pd.DataFrame, metrics: tuple[str, str], lower_is_better: Container[str] = ()) -> pd.DataFrame:
    """Read the best rounds off the curves.

    Parameters
    ----------
    curves : DataFrame
        Columns `candidate`, `round`, `metric`, `value`, `fold` where there are several, and maybe `compared`: whether a
        model that is compared is as of this round.
    metrics, lower_is_better : names of metrics
        The two, and those of which a lower value is better.

    Returns
    -------
    DataFrame
        One row per candidate and fold, without candidates that lack one of the metrics: `candidate`, `fold`, and for
        each metric M `round M`, the first round with the best value of M, `best M`, that value, and `loss M`, how much
        worse M is at the other's best round. Where the curves say what is compared also `compared`, the list of these
        rounds, and `compared loss M`, how much worse M is at the one that is best for it.

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
            f"curves need the columns candidate, round, metric and value; missing: {', '.join(sorted(missing))}"
        )
    folds, rows = curves if "fold" in curves.columns else curves.assign(fold=""), []
    for (candidate, fold), part in folds.groupby(["candidate", "fold"], sort=False):
        row: dict[str, Any] = {"candidate": candidate, "fold": fold}
        turned = {metric: -1.0 if metric in lower_is_better else 1.0 for metric in metrics}
        lines = {metric: turned[metric] * curve_of(part, metric) for metric in metrics}
        if any(line.empty for line in lines.values()):
            continue
        for metric, line in lines.items():
            row |= {
                f"round {metric}": int(line.index[int(line.to_numpy().argmax())]),
                f"best {metric}": turned[metric] * float(line.max()),
            }
        for metric, other in (metrics, metrics[::-1]):
            there = float(lines[metric].get(row[f"round {other}"], float("nan")))
            row[f"loss {metric}"] = float(lines[metric].max()) - there
        if "compared" in part.columns:
            row["compared"] = sorted(set(part.loc[part["compared"], "round"]))
            for metric, line in lines.items():
                row[f"compared loss {metric}"] = float(line.max() - line.reindex(row["compared"]).max())
        rows.append(row)
    columns = [f"{what} {metric}" for what in ("round", "best", "loss") for metric in metrics]
    if "compared" in curves.columns:
        columns += ["compared", *(f"compared loss {metric}" for metric in metrics)]
    return pd.DataFrame(rows, columns=["candidate", "fold", *columns])


def curve_of(curves: pd.DataFrame, metric: str) -> pd.Series[float]:
    """Return the values of one metric by round, ascending, without rounds where there is none."""
    line = curves[curves["metric"] == metric].set_index("round")["value"].dropna().sort_index()
    if not line.index.is_unique:
        twice = line.index[line.index.duplicated()][0]
        raise ValueError(f"curves have round {twice} of {metric} more than once: give each fold a name in column fold")
    return line


def most_torn(best: pd.DataFrame, metrics: tuple[str, str]) -> str:
    """Return the candidate that loses most by the other metric's best round, under the metric that loses more."""
    losses = best.groupby("candidate", sort=False)[[f"loss {metric}" for metric in metrics]].mean().max(axis=1)
    return str(losses.fillna(0.0).idxmax())  # 0 where neither metric has a value at the other's best round
