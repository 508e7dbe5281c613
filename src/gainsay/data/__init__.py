"""Ranking data: readers of LETOR, LightGBM, TREC and score files, DataFrames, and simulated sets.

Importing this package loads NumPy alone; pandas is loaded by the functions that take or return DataFrames.
"""

from __future__ import annotations

from .frames import from_frame
from .letor import read_letor, read_lightgbm
from .ranking_data import RankingData
from .scores import read_scores
from .simulate import simulate, simulate_rankers
from .trec import read_qrels, read_run, write_run

__all__ = [
    "RankingData",
    "from_frame",
    "read_letor",
    "read_lightgbm",
    "read_qrels",
    "read_run",
    "read_scores",
    "simulate",
    "simulate_rankers",
    "write_run",
]
