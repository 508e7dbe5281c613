"""Measure how often `identify` finds the definition or the mistake behind a number: 200 cases each.

python -m tests.fuzz.identify
"""

from __future__ import annotations

from tests.evaluation.test_identify import count_identified_cases, count_identified_mistakes, count_unrelated_matches

CASES = 200

if __name__ == "__main__":
    lines, bare = count_identified_cases(CASES)
    print(f"line of a log: {lines} of {CASES} in the first line (at least 99 %)")
    print(f"bare number of four digits: {bare} of {CASES} in the first line (at least 95 %)")
    print(f"unrelated numbers: {count_unrelated_matches(CASES)} of {CASES} match without a warning (at most 5 %)")
    print(f"mistakes: {count_identified_mistakes(30)} of 30 (at least 27)")
