"""Decide in a pipeline: exit code 0 (ship), 3 (do not ship) or 4 (undecided)."""

import subprocess
import sys

import numpy as np

# A training job saves labels, documents per query, and the scores of both models.
rng = np.random.default_rng(0)
group = rng.integers(5, 25, 2000)
labels = rng.choice(5, group.sum(), p=[0.52, 0.30, 0.13, 0.03, 0.02])
noise = rng.normal(size=(2, len(labels)))
production, tonight = labels + 2 * noise[0], labels + 1.9 * noise[0] + 0.3 * noise[1]
for name, array in {"labels": labels, "group": group, "production": production, "tonight": tonight}.items():
    np.save(f"{name}.npy", array)

# The pipeline runs this command.
command = (
    "gate --labels labels.npy --group group.npy --baseline production.npy --candidate tonight.npy"
    " --require no-loss --margin 0.002 --json gate.json"
)
gate = subprocess.run([sys.executable, "-m", "gainsay", *command.split()])
print({0: "ship", 3: "do not ship", 4: "ask a person"}[gate.returncode])
