"""What the adapters of training libraries share: metrics bound to their data sets, parts of queries, predictions."""
