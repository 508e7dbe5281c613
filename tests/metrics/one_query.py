"""A metric on one query."""

from __future__ import annotations

import gainsay as gs


def value(metric, labels, scores=None, **options):
    """The value of a metric, of documents ranked as listed unless scores say otherwise."""
    scores = range(len(labels), 0, -1) if scores is None else scores
    return gs.evaluate([metric], gs.Judgments(labels, group=[len(labels)], **options), scores).per_query[0, 0]
