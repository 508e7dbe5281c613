"""Custom metrics in a module that other processes can import."""

import gainwise as gw


class Missed(gw.NDCG):
    """1 - NDCG: a loss."""

    names = {"missed": {}, "missed_linear": {"gain": "linear"}, "missed_exp": {"gain": "exponential"}}
    higher_is_better = False

    def score(self, rows, facts, cutoffs):
        return 1 - super().score(rows, facts, cutoffs)


class Halved(gw.NDCG):
    """NDCG / 2."""

    names = {"halved": {}, "halved_exp": {"gain": "exponential"}}

    def score(self, rows, facts, cutoffs):
        return super().score(rows, facts, cutoffs) / 2


def gap(labels, scores):
    """Return the difference between the best label and that of the first document."""
    return float(labels.max() - labels[scores.argmax()])


def squared(labels):
    return labels**2


GAP = gw.metric("first_gap", gap, higher_is_better=False)
SQUARED = gw.NDCG(gain=squared, name="ndcg_squared", k=5)
