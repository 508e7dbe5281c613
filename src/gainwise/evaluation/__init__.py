"""Metrics over whole datasets: evaluation of scores and TREC runs, and the explanation of one ranking."""
