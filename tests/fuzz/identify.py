"""Measure how often `identify` finds the definition or the mistake behind a number: 200 new cases in each trial."""

from __future__ import annotations

from tests.evaluation.test_identify import count_identified_cases, count_identified_mistakes, count_unrelated_matches
from tests.fuzz.trials import run_trials


def check(seed: int, cases: int = 200) -> None:
    """Print the rates, and assert that they are sufficient."""
    lines, bare = count_identified_cases(cases, seed).tolist()
    unrelated, mistakes = count_unrelated_matches(cases, seed), count_identified_mistakes(30, seed)
    print(
        f"{cases} numbers: {lines} by lines of logs, {bare} by four digits. "
        f"Unrelated: {unrelated}. Mistakes: {mistakes}"
    )
    assert lines >= 0.99 * cases
    assert bare >= 0.95 * cases
    assert unrelated <= 0.05 * cases
    assert mistakes >= 27


if __name__ == "__main__":
    run_trials("identify", check)
