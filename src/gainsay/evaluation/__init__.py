"""Metrics over whole data sets: one set of scores, many metrics; TREC runs; one ranking explained."""
