"""A metric on one query."""

import gainwise as gw


def value(metric, labels, scores=None, **options):
    """Return the value of a metric. Without scores, documents are ranked as listed."""
    scores = range(len(labels), 0, -1) if scores is None else scores
    return gw.evaluate([metric], gw.Judgments(labels, group=[len(labels)], **options), scores).per_query[0, 0]
