"""Compute for a checkout what is recorded, and list the differences.

    python recordings/compare.py [--checkout PATH] [--only TOPIC ...] [--numbers] [--most N]

Every difference belongs to one of three kinds:

- number: a value, a name, or the shape of a document differs;
- text: a line differs, and so do the numbers in it;
- wording: a line differs, its numbers are the same.

Differences that `mapping.toml` declares as intended are counted, not listed. The exit code is 1 if any other
difference was found (with --numbers: any other than wording), else 0.
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

from record import HERE, TOPICS, compute, read, versions

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

    def renamed(self, value: Any) -> Any:
        """Return a recorded value with the names and texts of today."""
        if isinstance(value, dict):
            return {self.keys.get(key, key): self.renamed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.renamed(item) for item in value]
        if isinstance(value, str):
            for text in self.texts:
                value = value.replace(text["old"], text["new"])
        return value

    def is_intended(self, difference: Difference) -> bool:
        """Tell whether a difference is declared; count it if so."""
        for declared in self.intended:
            wanted = [key for key in Difference._fields if key in declared]
            if all(fnmatchcase(getattr(difference, key), declared[key]) for key in wanted):
                self.counts[f"{declared['path']}: {declared['reason']}"] += 1
                return True
        return False


def numbers(lines: list[str]) -> Counter[str]:
    """Return the numbers in some lines, in any order."""
    return Counter(number for line in lines for number in NUMBER.findall(line))


def is_text(value: Any) -> bool:
    """Tell whether a value is a list of lines."""
    return isinstance(value, list) and all(isinstance(line, str) for line in value)


def differences(path: str, old: Any, new: Any) -> Iterator[Difference]:
    """Yield the differences between two values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{path}/{key}"
            if key not in new or key not in old:
                yield Difference(place, "number", shown(old.get(key, "absent")), shown(new.get(key, "absent")))
            else:
                yield from differences(place, old[key], new[key])
        if list(old) != list(new) and sorted(old) == sorted(new):
            yield Difference(path, "number", f"keys in the order {', '.join(old)}", ", ".join(new))
    elif is_text(old) and is_text(new):
        yield from line_differences(path, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield Difference(path, "number", f"{len(old)} entries", f"{len(new)} entries")
        for at, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(f"{path}[{at}]", one, other)
    elif isinstance(old, str) and isinstance(new, str):
        if old != new:
            yield from line_differences(path, [old], [new])
    elif not same(old, new):
        yield Difference(path, "number", shown(old), shown(new))


def same(old: Any, new: Any) -> bool:
    """Tell whether two values are the same to the last bit and of the same type; NaN equals NaN."""
    if isinstance(old, float) and isinstance(new, float):
        return (math.isnan(old) and math.isnan(new)) or (old == new and math.copysign(1, old) == math.copysign(1, new))
    return type(old) is type(new) and old == new


def line_differences(path: str, old: list[str], new: list[str]) -> Iterator[Difference]:
    """Yield the blocks of lines that differ."""
    for what, *ends in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what != "equal":
            one, other = old[ends[0] : ends[1]], new[ends[2] : ends[3]]
            kind = "wording" if numbers(one) == numbers(other) else "text"
            sentence = any(" " in line for line in one + other)
            yield Difference(path, kind if sentence else "number", "\n".join(one), "\n".join(other))


def shown(value: Any) -> str:
    """Return a value, shortened."""
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=HERE.parent)
    parser.add_argument("--only", nargs="+", choices=TOPICS, default=list(TOPICS))
    parser.add_argument("--numbers", action="store_true", help="do not count differences of wording")
    parser.add_argument("--most", type=int, default=200, help="list so many differences of each topic")
    asked = parser.parse_args()
    mapping, total = Mapping(HERE / "mapping.toml"), 0
    for change in differences("versions", read("versions"), versions()):
        print(f"Warning: recorded with {change.path} {change.old}, now {change.new}")
    for topic in asked.only:
        old, new = mapping.renamed(read(topic)), compute(topic, asked.checkout.resolve())
        found = [each for each in differences(topic, old, new) if not mapping.is_intended(each)]
        if asked.numbers:
            found = [each for each in found if each.kind != "wording"]
        total += len(found)
        print(f"{topic}: {len(found)} differences {dict(Counter(each.kind for each in found)) or ''}", flush=True)
        for each in found[: asked.most]:
            print(f"  {each.kind} {each.path}")
            for sign, text in (("-", each.old), ("+", each.new)):
                print("".join(f"    {sign} {line}\n" for line in text.splitlines()), end="")
    for reason, count in mapping.counts.items():
        print(f"intended: {count} at {reason}")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
