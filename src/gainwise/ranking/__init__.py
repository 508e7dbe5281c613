"""Ranking of all queries at once: layout, exact stable order, and the ranked rows for metrics."""
