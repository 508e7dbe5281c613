"""Decide in a pipeline: exit code 0 (ship), 3 (do not ship) or 4 (undecided)."""

import subprocess
import sys

import numpy as np
import pandas as pd

from gainwise.data import simulate

# A training job writes one row per document: the query, the label, and the scores of both models.
data = simulate(2000, seed=4, mean_length=15)
noise = np.random.default_rng(0).normal(size=(2, len(data.labels)))
table = pd.DataFrame({"query_id": data.qid, "label": data.labels})
table["old"] = data.labels + 2 * noise[0]
table["new"] = data.labels + 1.9 * noise[0] + 0.3 * noise[1]
table.to_csv("scores.csv", index=False)

# The pipeline runs this command.
command = (
    "gate --table scores.csv --query query_id --label label --baseline old --candidate new"
    " --require no-loss --margin 0.005 --json gate.json"
)
gate = subprocess.run([sys.executable, "-m", "gainwise", *command.split()])
print({0: "ship", 3: "do not ship", 4: "ask a person"}[gate.returncode])
