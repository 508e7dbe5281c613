"""Ranking all queries at once: layout, exact stable order, and the ranked rows that metrics read."""
