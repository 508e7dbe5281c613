"""Shared code of the adapters: metrics bound to datasets, partitions of queries, live curves and predictions."""
