"""Measure three claims about fitted gains on simulated preferences with a given gain.

    python research/calibration/claims_gain_fit.py --samples 4000

- Row 13: several judges see the same pair of rankings, and each pair has a separate effect.
- Row 14: people prefer the ranking that is shown first, and the new ranker always is.
- Row 15: users value the grades 0, 1, 2, 3, 4 with the gains 0, 1, 1, 1, 1.

"Before" is the same fit without clusters, without a side effect, or without a test of fit and bases below 1. The result
is `research/calibration/claims/gain_fit.json`. The script uses one process.
"""

from __future__ import annotations

import numpy as np
from claims import Claim, simulate_claims
from numpy.typing import NDArray
from scipy.special import expit

import gainwise as gw

SHARES = (0.40, 0.30, 0.15, 0.10, 0.05)
DISCOUNT = 1 / np.log2(np.arange(2, 12))
SLOPE, BASE, DOCUMENTS = 12.0, 1.5, 10
POWER = (BASE ** np.arange(5) - 1) / (BASE - 1)

Array = NDArray[np.float64]


class Pairs:
    """Pairs of rankings of the same documents, and their difference under a table of gains."""

    def __init__(self, rng: np.random.Generator, number: int, gains: Array, advantage: float = 0.0) -> None:
        self.labels = rng.choice(5, size=(number, DOCUMENTS), p=SHARES)
        # `advantage` makes the first ranking better than the second one on average.
        self.scores = [strength * self.labels + rng.normal(size=self.labels.shape) for strength in (advantage, 0.0)]
        ideal = gains[-np.sort(-self.labels, axis=1)] @ DISCOUNT
        values = [
            gains[np.take_along_axis(self.labels, np.argsort(-scores, axis=1), axis=1)] @ DISCOUNT
            for scores in self.scores
        ]
        self.difference = (values[0] - values[1]) / np.where(ideal > 0, ideal, 1.0)

    def fit_preferred(self, preferred: NDArray[np.str_], **options: object) -> gw.comparison.gain_fit.GainFit:
        """Fit the gain to these preferences."""
        judgments = gw.Judgments(self.labels.ravel(), group=[DOCUMENTS] * len(self.labels))
        return gw.fit_gain((judgments, *(scores.ravel() for scores in self.scores), preferred), **options)

    def repeat(self, times: int) -> None:
        """Show every pair to several judges."""
        self.labels, self.difference = np.repeat(self.labels, times, axis=0), np.repeat(self.difference, times)
        self.scores = [np.repeat(scores, times, axis=0) for scores in self.scores]


def judge_pairs(sample: int, deviation: float, rejections: bool = False) -> tuple[bool, bool]:
    """Return whether the interval covers the base without and with clusters, for ten judges per pair.

    If `rejections`, return whether the test of fit rejects the true form of the gain instead.
    """
    rng = np.random.default_rng([13, int(10 * deviation), sample])
    pairs = Pairs(rng, 100, POWER)
    effects = np.repeat(rng.normal(0, deviation, 100), 10)
    pairs.repeat(10)
    preferred = np.where(rng.random(1000) < expit(SLOPE * pairs.difference + effects), "a", "b")
    fits = [pairs.fit_preferred(preferred, clusters=clusters) for clusters in (None, np.repeat(np.arange(100), 10))]
    if rejections:
        return fits[0].fit_p_value <= fits[0].alpha, fits[1].fit_p_value <= fits[1].alpha
    return covers(fits[0]), covers(fits[1])


def show_first(sample: int) -> tuple[bool, bool]:
    """Return whether the interval contains the base without and with a side effect of .7."""
    rng = np.random.default_rng([14, sample])
    pairs = Pairs(rng, 1000, POWER, advantage=0.5)
    preferred = np.where(rng.random(1000) < expit(SLOPE * pairs.difference + 0.7), "a", "b")
    return covers(pairs.fit_preferred(preferred, side=np.zeros(1000))), covers(pairs.fit_preferred(preferred))


def value_steps(sample: int, number: int = 2000) -> tuple[bool, bool]:
    """Return whether the fit reveals that neither usual gain describes users with the gains 0, 1, 1, 1, 1."""
    rng = np.random.default_rng([15, sample])
    pairs = Pairs(rng, number, np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    preferred = np.where(rng.random(number) < expit(SLOPE * pairs.difference), "a", "b")
    before = pairs.fit_preferred(preferred, side=np.zeros(number), bases=(1.0, 4.0))
    after = pairs.fit_preferred(preferred)
    return before.lower > 1 and not before.lower <= 2 <= before.upper, after.verdict == "neither"


def judge_and_test(sample: int) -> tuple[bool, bool]:
    """Return whether the test of fit rejects without and with clusters, although the form of the gain is right."""
    return judge_pairs(sample, 1.0, rejections=True)


def covers(fit: gw.comparison.gain_fit.GainFit) -> bool:
    """Return whether the interval contains the base."""
    return fit.lower <= BASE <= fit.upper


CLAIMS = [
    Claim(
        13,
        "ten judges per pair, pair effect of SD 0.5: coverage",
        "at least",
        0.93,
        lambda sample: judge_pairs(sample, 0.5),
    ),
    Claim(
        13,
        "ten judges per pair, pair effect of SD 1: coverage",
        "at least",
        0.93,
        lambda sample: judge_pairs(sample, 1.0),
    ),
    Claim(
        13,
        "ten judges per pair, pair effect of SD 2: coverage",
        "at least",
        0.93,
        lambda sample: judge_pairs(sample, 2.0),
    ),
    Claim(14, "side effect 0.7, new ranker always first: coverage", "at least", 0.93, show_first),
    Claim(15, "users value grades 0/1/1/1/1, 2,000 preferences: 'neither' is reported", "at least", 0.95, value_steps),
    Claim(15, "the form is right, ten judges per pair, SD 1: the test of fit rejects", "at most", 0.05, judge_and_test),
]


if __name__ == "__main__":
    simulate_claims(__doc__, "gain_fit", CLAIMS)
