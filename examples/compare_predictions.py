"""Compare models from saved predictions: who is best under which definition, and is the disagreement real?"""

import tempfile
from pathlib import Path

import numpy as np

import gainsay as gs
from gainsay.data import simulate

data = simulate(400, seed=4)
rng = np.random.default_rng(4)

# Three score files, as three models may have left them: one finds fair documents, one the few excellent ones.
folder = Path(tempfile.mkdtemp())
fair = np.minimum(data.labels, 2) + rng.normal(size=len(data.labels))
excellent = np.maximum(data.labels - 2, 0) * 2 + rng.normal(size=len(data.labels)) * 0.9
np.save(folder / "fair.npy", fair)
np.savetxt(folder / "excellent.csv", excellent, header="score", comments="")
np.save(folder / "both.npy", fair + excellent)

comparison = gs.compare(
    {"fair": folder / "fair.npy", "excellent": folder / "excellent.csv", "both": folder / "both.npy"}, data.judgments()
)
print(comparison.leaderboard[["ndcg_linear@10", "ndcg_exp@10", "map"]].round(4), end="\n\n")
for metric, model in comparison.winners.items():
    print(f"{metric:15} picks {model}")
print(f"\n{comparison.verdict.text}")
