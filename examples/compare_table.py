"""Compare two columns of scores in a table, for example an export of production logs."""

import numpy as np
import pandas as pd

import gainwise as gw
from gainwise.data import simulate

data = simulate(500, seed=4, mean_length=30)
noise = np.random.default_rng(4).normal(size=(2, len(data.labels)))
table = pd.DataFrame(
    {
        "query_id": data.qid,
        "label": data.labels,
        "production": np.minimum(data.labels, 2) + 1.3 * noise[0],
        "candidate": 0.5 * data.labels + 1.1 * noise[1],
    }
)  # replace with your DataFrame or with the path of a CSV or Parquet file

comparison = gw.compare_table(table, query="query_id", label="label", scores=["production", "candidate"])
print(comparison.leaderboard[list(comparison.metrics)].round(4), end="\n\n")
print(comparison.verdict.text)
comparison.to_html("report.html", title="Production or candidate?")
