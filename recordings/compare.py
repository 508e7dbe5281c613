"""Compute the recorded results for a checkout, and list the differences.

    python recordings/compare.py [--checkout PATH] [--only TOPIC ...] [--numbers] [--most N]

There are three kinds of differences:

- number: a value, a name, or the shape of a document differs.
- text: a line and the numbers in it differ.
- wording: a line differs, but its numbers are the same.

Differences that `mapping.toml` declares as intended are counted, not listed. The exit code is 1 if there is any other
difference (with `--numbers`: of the kinds number and text), otherwise 0.
"""

from __future__ import annotations

import argparse
import difflib
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from record import HERE, TOPICS, compute, find_versions, read

NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


class Difference(NamedTuple):
    """One difference between the recording and the checkout."""

    path: str
    kind: str
    old: str
    new: str


class Mapping:
    """Renames and intended changes, read from `mapping.toml`."""

    def __init__(self, file: Path) -> None:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        self.keys: dict[str, str] = content.get("keys", {})
        self.texts: list[dict[str, str]] = content.get("texts", [])
        self.intended: list[dict[str, str]] = content.get("intended", [])
        self.counts: Counter[str] = Counter()

    def rename(self, value: Any) -> Any:
        """Return a recorded value with the current names and texts."""
        if isinstance(value, dict):
            return {self.keys.get(key, key): self.rename(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.rename(item) for item in value]
        if isinstance(value, str):
            for text in self.texts:
                value = value.replace(text["old"], text["new"])
        return value

    def is_intended(self, difference: Difference) -> bool:
        """Return whether a difference is declared. If it is, count it."""
        for declared in self.intended:
            keys = [key for key in Difference._fields if key in declared]
            if all(fnmatchcase(getattr(difference, key), declared[key]) for key in keys):
                self.counts[f"{declared['path']}: {declared['reason']}"] += 1
                return True
        return False


def count_numbers(lines: list[str]) -> Counter[str]:
    """Count the numbers in some lines."""
    return Counter(number for line in lines for number in NUMBER.findall(line))


def is_text(value: Any) -> bool:
    """Return whether a value is a list of lines."""
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def find_differences(path: str, old: Any, new: Any) -> Iterator[Difference]:
    """Yield the differences between two values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{path}/{key}"
            if key not in new or key not in old:
                yield Difference(place, "number", shorten(old.get(key, "absent")), shorten(new.get(key, "absent")))
            else:
                yield from find_differences(place, old[key], new[key])
        if list(old) != list(new) and sorted(old) == sorted(new):
            yield Difference(path, "number", f"keys in the order {', '.join(old)}", ", ".join(new))
    elif is_text(old) and is_text(new):
        yield from find_line_differences(path, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield Difference(path, "number", f"{len(old)} entries", f"{len(new)} entries")
        for index, pair in enumerate(zip(old, new, strict=False)):
            yield from find_differences(f"{path}[{index}]", *pair)
    elif isinstance(old, str) and isinstance(new, str):
        if old != new:
            yield from find_line_differences(path, [old], [new])
    elif not is_equal(old, new):
        yield Difference(path, "number", shorten(old), shorten(new))


def is_equal(old: Any, new: Any) -> bool:
    """Return whether two values are equal to the last bit and of the same type. NaN equals NaN."""
    if isinstance(old, float) and isinstance(new, float):
        return (math.isnan(old) and math.isnan(new)) or (old == new and math.copysign(1, old) == math.copysign(1, new))
    return type(old) is type(new) and old == new


def find_line_differences(path: str, old: list[str], new: list[str]) -> Iterator[Difference]:
    """Yield the blocks of lines that differ."""
    for operation, *ends in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation != "equal":
            old_lines, new_lines = old[ends[0] : ends[1]], new[ends[2] : ends[3]]
            kind = "wording" if count_numbers(old_lines) == count_numbers(new_lines) else "text"
            is_sentence = any(" " in line for line in old_lines + new_lines)
            yield Difference(path, kind if is_sentence else "number", "\n".join(old_lines), "\n".join(new_lines))


def shorten(value: Any) -> str:
    """Return the representation of a value, at most 200 characters of it."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def main() -> None:
    """Compare the topics."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=HERE.parent)
    parser.add_argument("--only", nargs="+", choices=TOPICS, default=list(TOPICS))
    parser.add_argument("--numbers", action="store_true", help="ignore differences of wording")
    parser.add_argument("--most", type=int, default=200, help="number of differences listed per topic")
    options = parser.parse_args()
    mapping, total = Mapping(HERE / "mapping.toml"), 0
    for change in find_differences("versions", read("versions"), find_versions()):
        print(f"Warning: recorded with {change.path} {change.old}, now {change.new}")
    for topic in options.only:
        old, new = mapping.rename(read(topic)), compute(topic, options.checkout.resolve())
        differences = [it for it in find_differences(topic, old, new) if not mapping.is_intended(it)]
        if options.numbers:
            differences = [it for it in differences if it.kind != "wording"]
        total += len(differences)
        kinds = dict(Counter(difference.kind for difference in differences))
        print(f"{topic}: {len(differences)} differences {kinds or ''}", flush=True)
        for difference in differences[: options.most]:
            print(f"  {difference.kind} {difference.path}")
            for sign, text in (("-", difference.old), ("+", difference.new)):
                print("".join(f"    {sign} {line}\n" for line in text.splitlines()), end="")
    for reason, count in mapping.counts.items():
        print(f"intended: {count} at {reason}")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
